//! DirectX containers: converting a large one to and from YAML, compared with LLVM's tools, and a folder of many.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use unshade::dxcontainer::Container;
use unshade::dxcontainer::program;

use super::{in_turn, milliseconds, program, ratio, verdict};
use crate::sh;

/// Size of the bitcode in the large container, like the largest shaders of games.
const LARGE: usize = 4_000_000;

/// Number of containers in the folder.
const MANY: usize = 1000;

/// The versions of LLVM's tools, newest first.
const VERSIONS: [u32; 3] = [24, 22, 19];

pub(crate) fn run(runs: usize) -> Result<()> {
    let shared = sh::env_path("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?;
    let containers = read_all(&shared.join("dx"))?;
    let folder = sh::root().join("target/bench/dxcontainer");
    fs::create_dir_all(&folder)?;
    let (large, yaml) = (folder.join("large.dxbc"), folder.join("large.yaml"));
    make_large(&containers, &folder.join("DXIL"), &large)?;
    sh::capture(program().arg("to-yaml").arg(&large).arg("--force").arg("-o").arg(&yaml))?;
    println!(
        "input: a program of {} of bitcode, {} as YAML",
        sh::megabytes(LARGE as u64),
        sh::megabytes(fs::metadata(&yaml)?.len())
    );
    let (version, obj2yaml, yaml2obj) = tools()?;
    let mut met = true;

    let times =
        in_turn(&mut [program().arg("to-yaml").arg(&large), Command::new(obj2yaml).arg(&large)], runs)?;
    let rate = ratio(&times[0], &times[1]);
    println!(
        "     to-yaml {}, obj2yaml {version} {}, medians",
        milliseconds(times[0].median()),
        milliseconds(times[1].median())
    );
    met &= verdict("to-yaml, to obj2yaml", &format!("{rate:.1} x"), "at least 5 x", rate >= 5.0);

    let written = |name: &str| folder.join(name);
    let times = in_turn(
        &mut [
            program().arg("from-yaml").arg(&yaml).arg("--force").arg("-o").arg(written("ours")),
            Command::new(yaml2obj).arg(&yaml).arg("-o").arg(written("theirs")),
        ],
        runs,
    )?;
    let rate = ratio(&times[0], &times[1]);
    println!(
        "     from-yaml {}, yaml2obj {version} {}, medians",
        milliseconds(times[0].median()),
        milliseconds(times[1].median())
    );
    met &= verdict("from-yaml, to yaml2obj", &format!("{rate:.1} x"), "at least 2 x", rate >= 2.0);
    ensure!(fs::read(written("ours"))? == fs::read(&large)?, "from-yaml writes a different container");

    let many = folder.join("many");
    make_many(&containers, &many)?;
    let scan = &in_turn(&mut [program().arg("scan").arg(&many)], runs)?[0];
    println!("     scan {} best, {} median", milliseconds(scan.best()), milliseconds(scan.median()));
    let best = scan.best().as_secs_f64();
    met &= verdict(
        &format!("listing a folder of {MANY} containers, best"),
        &milliseconds(scan.best()),
        "under 200 ms",
        best < 0.2,
    );
    ensure!(met, "not every target was met");
    Ok(())
}

/// Returns the newest available tools.
fn tools() -> Result<(u32, PathBuf, PathBuf)> {
    VERSIONS
        .into_iter()
        .find_map(|version| {
            let tool = |name: &str| sh::find_llvm_tool(&format!("{name}-{version}"));
            Some((version, tool("obj2yaml")?, tool("yaml2obj")?))
        })
        .context("no obj2yaml is on PATH or in a folder of UNSHADE_LLVM_BIN")
}

/// Returns all valid containers in a folder and its subfolders, sorted by path.
fn read_all(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    sh::files_below(folder, &mut paths)?;
    paths.sort();
    let mut containers = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "dxil" || end == "dxbc"))
    {
        let data = fs::read(path)?;
        if Container::parse(&data).is_ok() {
            containers.push(data);
        }
    }
    ensure!(!containers.is_empty(), "no containers in {}", folder.display());
    Ok(containers)
}

/// Builds a container whose bitcode repeats the bitcode of all programs until it is large enough.
fn make_large(containers: &[Vec<u8>], part: &Path, large: &Path) -> Result<()> {
    let mut bitcode = Vec::new();
    for data in containers.iter().cycle() {
        let container = Container::parse(data)?;
        // The corpus has damaged containers, too.
        let found = container.find(b"DXIL").and_then(|part| program::bitcode(part.data).ok());
        if let Some((_, found)) = found {
            bitcode.extend_from_slice(found.data());
        }
        if bitcode.len() >= LARGE {
            break;
        }
    }
    bitcode.truncate(LARGE);
    let size = u32::try_from(LARGE)?;
    // A compute shader of model 6.0, DXIL 1.0; the bitcode follows the 16 bytes of its own header.
    let words = [0x5_0060, size / 4 + 6, u32::from_le_bytes(*b"DXIL"), 0x100, 16, size];
    let header: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    fs::write(part, [header, bitcode].concat())?;
    let mut argument = std::ffi::OsString::from("DXIL=");
    argument.push(part);
    sh::capture(program().args(["build", "dxcontainer", "--force", "-o"]).arg(large).arg(argument))?;
    Ok(())
}

fn make_many(containers: &[Vec<u8>], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (index, data) in containers.iter().cycle().take(MANY).enumerate() {
        fs::write(folder.join(format!("{index:04}.dxbc")), data)?;
    }
    Ok(())
}
