//! NVIDIA's formats: listing fat binaries, beside cuobjdump.
//!
//! `cuobjdump -lelf` unpacks the cubins of a file one after another, and prints a name for each. `unshade list`
//! unpacks and reads them, and prints a row for each function.
//!
//! | variable | meaning |
//! |---|---|
//! | `UNSHADE_CUOBJDUMP` | cuobjdump 13 or later: the others do not unpack Zstandard |
//! | `UNSHADE_NV_LIBRARY` | a library of a toolkit of the same version, with cubins packed with Zstandard |
//!
//! Without them only the time of our own list is measured. The three inputs have the same cubins, those of the
//! library: packed with Zstandard as they are, with LZ4, and not packed.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use unshade::carve::{Limits, carve};
use unshade::format::Format;
use unshade::nv::Fatbin;
use unshade::nv::compression::Compression;
use unshade::nv::fatbin::{Entry, EntryKind, Flags};

use super::{in_turn, milliseconds, peak_memory, program, ratio, verdict};
use crate::{corpus, sh};

/// Target size of the file.
const SIZE: usize = 100_000_000;

/// The maximum unpacked size of the cubins that are taken from the library.
const UNPACKED: usize = 400_000_000;

pub(crate) fn run(runs: usize) -> Result<()> {
    let mut is_met = true;
    match large_fatbin() {
        Ok(file) => is_met &= list_alone(&file, runs)?,
        Err(error) => println!("not measured: {error}"),
    }
    match (sh::env_path("UNSHADE_CUOBJDUMP"), sh::env_path("UNSHADE_NV_LIBRARY")) {
        (Some(cuobjdump), Some(library)) => is_met &= list_beside(&cuobjdump, &library, runs)?,
        _ => println!("not compared with cuobjdump: set UNSHADE_CUOBJDUMP and UNSHADE_NV_LIBRARY"),
    }
    ensure!(is_met, "not every target was met");
    Ok(())
}

/// Measures the list of a file whose cubins are not packed.
fn list_alone(file: &Path, runs: usize) -> Result<bool> {
    let size = fs::metadata(file)?.len();
    println!("input: {} ({})", file.display(), sh::megabytes(size));
    // With mangled names: demangling 15,000 names takes longer than parsing them.
    let times = in_turn(
        &mut [program().args(["list", "--mangled"]).arg(file), program().arg("list").arg(file)],
        runs,
    )?;
    let (list, demangled) = (&times[0], &times[1]);
    println!("     list with demangled names, best {}", milliseconds(demangled.best()));
    let memory = peak_memory(program().arg("list").arg(file))?;
    println!(
        "     list, median {}, peak memory with the mapped file {}",
        milliseconds(list.median()),
        sh::megabytes(memory)
    );
    let best = list.best();
    Ok(verdict(
        "list --mangled of a 100 MB fat binary, best",
        &milliseconds(best),
        "under 100 ms",
        best.as_secs_f64() < 0.1,
    ))
}

/// Compares the list with `cuobjdump -lelf`.
fn list_beside(cuobjdump: &Path, library: &Path, runs: usize) -> Result<bool> {
    let [zstd, lz4, unpacked] = compressed_forms(library)?;
    let library = library.to_path_buf();
    let inputs = [
        ("Zstandard, the whole library", library, 1.0),
        ("Zstandard", zstd, 1.0),
        ("LZ4", lz4, 0.3),
        ("not packed", unpacked, 0.3),
    ];
    let mut is_met = true;
    for (name, file, most) in inputs {
        let size = fs::metadata(&file)?.len();
        println!("input: {} ({})", file.display(), sh::megabytes(size));
        let times = in_turn(
            &mut [
                program().args(["list", "--mangled"]).arg(&file),
                Command::new(cuobjdump).arg("-lelf").arg(&file),
            ],
            runs,
        )?;
        let (ours, theirs) = (&times[0], &times[1]);
        println!("     median {}, cuobjdump {}", milliseconds(ours.median()), milliseconds(theirs.median()));
        let found = 1.0 / ratio(ours, theirs);
        is_met &= verdict(
            &format!("list --mangled, {name}: time relative to cuobjdump -lelf"),
            &format!("{found:.2}"),
            &format!("at most {most}"),
            found <= most,
        );
    }
    Ok(is_met)
}

/// Writes fat binaries with cubins of a library: packed with Zstandard, with LZ4, and not packed.
fn compressed_forms(library: &Path) -> Result<[PathBuf; 3]> {
    let bytes = fs::read(library).with_context(|| format!("can't read {}", library.display()))?;
    let mut forms = [const { Vec::new() }; 3];
    let mut size = 0;
    carve(&bytes, b"library", &Limits::default(), &mut |find| {
        if find.format == Format::Fatbin
            && let Ok(fatbin) = Fatbin::parse(find.data)
        {
            for entry in fatbin.entries().filter_map(Result::ok) {
                let is_wanted = entry.kind == EntryKind::ELF && entry.compression() == Compression::Zstd;
                let Some(data) = is_wanted.then(|| entry.data().ok()).flatten() else { continue };
                size += data.len();
                let [zstd, lz4, unpacked] = &mut forms;
                put(zstd, &entry, Flags::ZSTD, entry.packed().data(), data.len());
                put(lz4, &entry, Flags::LZ4, &lz4_flex::block::compress(&data), data.len());
                put(unpacked, &entry, 0, &data, 0);
            }
        }
        if size < UNPACKED { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
    });
    ensure!(size > 0, "{} has no cubin packed with Zstandard", library.display());
    let target = sh::root().join("target/bench");
    fs::create_dir_all(&target)?;
    let paths = ["zstd.fatbin", "lz4.fatbin", "unpacked.fatbin"].map(|name| target.join(name));
    for (path, entries) in paths.iter().zip(&forms) {
        let mut file = Vec::from([0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
        file.extend((entries.len() as u64).to_le_bytes());
        file.extend(entries);
        write_input(path, &file)?;
    }
    Ok(paths)
}

/// Appends an entry: the header of `entry` with another compression, and the payload with its padding.
fn put(to: &mut Vec<u8>, entry: &Entry<'_>, compression: u64, payload: &[u8], unpacked_size: usize) {
    let mut header = entry.header.data().to_vec();
    let padded = payload.len().next_multiple_of(8);
    let packed_size = if compression == 0 { 0 } else { payload.len() as u32 };
    let flags = entry.flags.0 & !(Flags::LZ4 | Flags::ZSTD) | compression;
    header[0x08..0x10].copy_from_slice(&(padded as u64).to_le_bytes());
    header[0x10..0x14].copy_from_slice(&packed_size.to_le_bytes());
    header[0x28..0x30].copy_from_slice(&flags.to_le_bytes());
    header[0x38..0x40].copy_from_slice(&(unpacked_size as u64).to_le_bytes());
    to.extend(header);
    to.extend(payload);
    to.resize(to.len() + padded - payload.len(), 0);
}

/// Concatenates fat binaries of TensorFlow's section `.nv_fatbin`, repeatedly, up to the target size.
fn large_fatbin() -> Result<PathBuf> {
    let folder = corpus::carved_folder(&corpus::cache_dir(None)?);
    let list = fs::read_dir(&folder).context("run `cargo xtask corpus --only tensorflow-gpu` first")?;
    let list = list.flatten().map(|entry| entry.path());
    let list =
        list.filter(|path| path.to_string_lossy().contains("tensorflow_gpu")).find(|path| path.is_file());
    let list = list.context("run `cargo xtask corpus --only tensorflow-gpu` first")?;
    let mut bytes = Vec::with_capacity(SIZE);
    let names = fs::read_to_string(&list)?;
    let mut files = names.lines().filter_map(|line| line.split('\t').next()).cycle();
    while bytes.len() < SIZE {
        let name = files.next().context("no fat binary in the list")?;
        bytes.extend(fs::read(folder.join(name))?);
    }
    let target = sh::root().join("target/bench");
    fs::create_dir_all(&target)?;
    let path = target.join("large.fatbin");
    write_input(&path, &bytes)?;
    Ok(path)
}

/// Writes an input to the disk. The system would otherwise do so while programs that read it are measured.
fn write_input(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    Ok(file.sync_all()?)
}
