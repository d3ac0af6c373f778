//! Token programs of Shader Model 4 to 5.1, into the place of that of a container or by themselves.

use super::save;
use crate::Outcome;
use crate::args::{AssembleArgs, GlobalArgs};
use crate::commands::written::one_program;
use anyhow::{Context, Result, bail};
use unshade::dxcontainer::file::DxFile;
use unshade::format::Format;

/// Whether the first line of code names a shader model.
pub(super) fn is_listing(text: &str) -> bool {
    let code = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//"));
    let Some((kind, model)) = code.and_then(|line| line.split_once('_')) else { return false };
    matches!(kind, "ps" | "vs" | "gs" | "hs" | "ds" | "cs" | "lib")
        && model.starts_with(|c: char| c.is_ascii_digit())
}

pub(super) fn run(args: &AssembleArgs, text: &str, global: &GlobalArgs) -> Result<Outcome> {
    let program = unshade::dxbc::assemble(text).with_context(|| args.listing.clone())?;
    let Some(into) = &args.into else { return put(args, DxFile::default(), &program) };
    one_program(into, global, |format, data| match format {
        Format::DxContainer => put(args, DxFile::parse(data)?, &program),
        _ => bail!("{into}: token programs are assembled into DXContainers"),
    })
}

fn put(args: &AssembleArgs, mut file: DxFile, program: &unshade::dxbc::Program) -> Result<Outcome> {
    unshade::dxbc_build::put_program(&mut file, program)?;
    if !save(args, &file.write_signed()?)? {
        bail!("a DXContainer is binary: name the file to write with -o");
    }
    Ok(Outcome::Done)
}
