//! `cargo xtask web`: the page as a folder of files that any static host serves, with `unshade` as WebAssembly beside it.
//!
//! The standard library is built with the module, for its size and without the words of panics: together that is a third
//! less to load. Its sources are rustup's component `rust-src`; where that is not there, Debian's `rust-web-src`, with the
//! compiler of `rustc-web` and the linker of `lld`. The glue between the page and the module is written by wasm-bindgen's
//! program, of exactly the version of the library that is locked.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::sh;

const TARGET: &str = "wasm32-unknown-unknown";

/// Where in a compiler's folder the sources of the standard library are.
const SOURCES: &str = "lib/rustlib/src/rust/library/std";

/// What stable compilers have to be asked for in this way: a panic, of which there should be none, ends the module at once
/// and without words, nor places of the source. The page says that it ended. Hashes are computed by loops, not by code for each of their rounds.
const FLAGS: &str =
    "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none --cfg sha2_backend_soft=\"compact\"";

/// The compiler of Debian's package `rustc-web`, and the sources of `rust-web-src`.
const DEBIAN: (&str, &str) = ("/usr/bin/rustc", "/usr/lib/rustlib/src/rust/library/std");

/// The linker of that compiler, a link into the package `lld` of the version of its LLVM.
const DEBIAN_LINKER: &str = "/usr/bin/rust-lld";

/// The most bytes that the module may have after gzip, which is what a visitor waits for.
const MAX_PACKED: u64 = 1_200_000;

/// Files that a visitor without one can try, of our own making, and what the page says of them.
const EXAMPLES: [(&str, &str); 5] = [
    ("metallib/vertex_fragment.metallib", "a Metal library"),
    ("metallib/sources_hsrc.metallib", "a Metal library with its source"),
    ("dxcontainer/pixel_1_6.dxbc", "DXIL"),
    ("dxcontainer/fxc_ps_5_1.dxbc", "Direct3D bytecode"),
    ("nvidia/calls_sm_35.cubin", "CUDA"),
];

/// Options of `cargo xtask web`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask web\n  cargo xtask web -o site && python3 -m http.server -d site\n\n\
                        Exit status: 0 if the page was made and is small enough, 1 otherwise."
)]
pub(crate) struct Args {
    /// The folder to write to [default: page, in the build folder].
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Builds the module and puts the page together.
pub(crate) fn run(args: &Args) -> Result<()> {
    let build = sh::target();
    let output = args.output.clone().unwrap_or_else(|| build.join("page"));
    fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    compile()?;
    let module = build.join(TARGET).join("web/unshade_web.wasm");
    let bindgen = wasm_bindgen(&build)?;
    let mut command = Command::new(bindgen);
    // Names are for people who debug; both sections are nothing that a visitor needs.
    command.args([
        "--target",
        "web",
        "--no-typescript",
        "--remove-name-section",
        "--remove-producers-section",
    ]);
    command.arg("--out-dir").arg(&output).arg(&module);
    sh::capture(&mut command)?;
    let module = output.join("unshade_web_bg.wasm");
    copy_page(&output)?;
    copy_examples(&output.join("examples"))?;
    let bytes = fs::read(&module)?;
    let packed = packed_size(&bytes)?;
    println!(
        "{}: {}, {} after gzip",
        output.display(),
        sh::megabytes(bytes.len() as u64),
        sh::megabytes(packed)
    );
    ensure!(packed <= MAX_PACKED, "the module has more than {} after gzip", sh::megabytes(MAX_PACKED));
    Ok(())
}

/// Compiles the module and the standard library with whatever compiler has its sources.
fn compile() -> Result<()> {
    let mut command = sh::cargo();
    command.args(["build", "--package", "unshade-web", "--profile", "web", "--target", TARGET]);
    command.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
    let (compiler, sources) = DEBIAN;
    if !has_sources() {
        let is_debian = Path::new(compiler).is_file() && Path::new(sources).is_dir();
        ensure!(
            is_debian || fetch_sources(),
            "no sources of the standard library: run `rustup component add rust-src`, or install Debian's packages \
             rustc-web, rust-web-src and lld"
        );
        if is_debian {
            ensure!(
                Path::new(DEBIAN_LINKER).is_file(),
                "{DEBIAN_LINKER} is missing: install Debian's package {}",
                fs::read_link(DEBIAN_LINKER).map_or("lld".into(), |linker| linker.display().to_string())
            );
            command.env("RUSTC", compiler);
        }
    }
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "the module does not compile");
    Ok(())
}

/// Whether the compiler has the sources of its standard library.
fn has_sources() -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let root = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    root.is_ok_and(|root| !root.is_empty() && Path::new(&root).join(SOURCES).is_dir())
}

/// Asks rustup for them.
fn fetch_sources() -> bool {
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", "rust-src"]).stdout(Stdio::null()).stderr(Stdio::null());
    rustup.status().is_ok_and(|status| status.success()) && has_sources()
}

/// The program of the locked version, which is installed into the build folder if it is nowhere.
fn wasm_bindgen(build: &Path) -> Result<PathBuf> {
    let version = locked_version("wasm-bindgen")?;
    let tools = build.join("tools");
    let is_right = |program: &OsStr| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(&version))
    };
    let own = tools.join("bin/wasm-bindgen");
    for program in [PathBuf::from("wasm-bindgen"), own.clone()] {
        if is_right(program.as_os_str()) {
            return Ok(program);
        }
    }
    eprintln!("web: installing wasm-bindgen {version} into {}", tools.display());
    let mut command = sh::cargo();
    command.args(["install", "wasm-bindgen-cli", "--bin", "wasm-bindgen", "--version", &version, "--debug"]);
    command.arg("--root").arg(&tools);
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "wasm-bindgen {version} can't be installed");
    Ok(own)
}

/// The version of a package in `Cargo.lock`.
fn locked_version(package: &str) -> Result<String> {
    let lock = fs::read_to_string(sh::root().join("Cargo.lock"))?;
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    match version {
        Some(version) => Ok(version.to_owned()),
        None => bail!("Cargo.lock has no {package}"),
    }
}

/// Copies the files of the page.
fn copy_page(output: &Path) -> Result<()> {
    for file in unshade_page::FILES {
        fs::write(output.join(file.name), file.bytes).with_context(|| file.name.to_owned())?;
    }
    Ok(())
}

/// Copies the examples, and writes the list of them that the page reads.
fn copy_examples(output: &Path) -> Result<()> {
    fs::create_dir_all(output)?;
    let mut list = Vec::new();
    for (path, says) in EXAMPLES {
        let name = path.rsplit('/').next().unwrap_or(path);
        fs::copy(sh::root().join("tests/fixtures").join(path), output.join(name)).context(path)?;
        list.push(format!("{{\"name\":{name:?},\"says\":{says:?}}}"));
    }
    fs::write(output.join("index.json"), format!("[{}]\n", list.join(",")))?;
    Ok(())
}

/// How many bytes a host sends.
fn packed_size(bytes: &[u8]) -> Result<u64> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes)?;
    Ok(packer.finish()?.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn versions_are_found() {
        let version = locked_version("wasm-bindgen").unwrap();
        assert!(version.split('.').count() == 3, "{version}");
        assert!(locked_version("no such package").is_err());
    }
}
