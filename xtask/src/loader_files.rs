//! `cargo xtask loader-files`: writes test files for the loaders of Apple and Microsoft, with a manifest of the
//! expected results. The programs in `tests/loaders` pass them to the loader, on systems that have one.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use unshade_tests::loaders::{Loaded, direct3d_containers, metal_libraries};

/// Options of `cargo xtask loader-files`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask loader-files metal -o libraries && swift tests/loaders/metal/load.swift \
                  libraries\n  cargo xtask loader-files direct3d -o containers"
)]
pub(crate) struct Args {
    /// The loader.
    #[arg(value_enum)]
    loader: Loader,
    /// The folder to write to.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

/// A loader.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Loader {
    /// `MTLDevice.makeLibrary` of macOS.
    Metal,
    /// Direct3D 11 and 12 of Windows.
    Direct3d,
}

/// Writes the files and the manifest.
pub(crate) fn run(args: &Args) -> Result<()> {
    let files: Vec<Loaded> = match args.loader {
        Loader::Metal => metal_libraries(),
        Loader::Direct3d => direct3d_containers(),
    };
    fs::create_dir_all(&args.output).with_context(|| args.output.display().to_string())?;
    let mut manifest = String::new();
    for file in &files {
        fs::write(args.output.join(&file.name), &file.data).with_context(|| file.name.clone())?;
        manifest.push_str(&file.line());
        manifest.push('\n');
    }
    fs::write(args.output.join("manifest.tsv"), manifest)?;
    let taken = files.iter().filter(|file| file.is_taken).count();
    println!("{}: {} files, {taken} to be taken", args.output.display(), files.len());
    Ok(())
}
