//! `cargo xtask conformance FORMAT`: reads every real file at hand and prints counts; fails if one is not read right.

mod bitcode;
mod dxcontainer;
mod metallib;

use anyhow::Result;

/// Options of `cargo xtask conformance`.
#[derive(clap::Args)]
#[command(after_help = "Files come from `cargo xtask corpus` and from the folder in UNSHADE_CORPUS.")]
pub(crate) struct Args {
    /// What to read.
    #[arg(value_enum)]
    format: Format,
    /// Compare only so many AIR modules (bitcode).
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
}

/// The formats that are compared.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Bitcode,
    #[value(alias = "dx")]
    Dxcontainer,
    Metallib,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match args.format {
        Format::Bitcode => bitcode::run(args.sample),
        Format::Dxcontainer => dxcontainer::run(),
        Format::Metallib => metallib::run(),
    }
}
