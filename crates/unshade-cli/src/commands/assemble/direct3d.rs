//! Assembles token programs, into a copy of a container or alone.

use super::save;
use crate::Outcome;
use crate::args::{AssembleArgs, GlobalArgs};
use crate::commands::written::{one_program, refused};
use crate::input::shown;
use anyhow::{Context, Result, bail};
use unshade::dxcontainer::file::DxFile;
use unshade::edit::token_program::Programs;
use unshade::program::{Verb, Writable};

pub(super) fn run(args: &AssembleArgs, text: &str, global: &GlobalArgs) -> Result<Outcome> {
    let programs = match Programs::assemble(text).map_err(refused).with_context(|| shown(&args.listing)) {
        Ok(programs) => programs,
        Err(error) => {
            anstream::eprintln!("{}", Outcome::message_of(&error));
            return Ok(Outcome::Finding);
        }
    };
    let Some(into) = &args.into else {
        return match (&programs.direct3d9[..], &programs.direct3d10) {
            ([program], None) => written(args, &program.write()?, "a token program"),
            ([], _) => put(args, DxFile::default(), &programs),
            _ => bail!("several programs are assembled into a container: name it with --into"),
        };
    };
    one_program(into, Verb::AssembleInto, global, |writable, data| match writable {
        Writable::DxContainer => put(args, DxFile::parse(data.bytes)?, &programs),
        Writable::MetalLibrary | Writable::MetalUniversal | Writable::Bitcode => {
            bail!("{}: token programs are assembled into DXContainers", shown(into))
        }
    })
}

fn put(args: &AssembleArgs, mut file: DxFile, programs: &Programs) -> Result<Outcome> {
    programs.put(&mut file)?;
    written(args, &file.write_signed()?, "a DXContainer")
}

fn written(args: &AssembleArgs, data: &[u8], what: &str) -> Result<Outcome> {
    if !save(args, data)? {
        bail!("{what} is binary: name the file to write with -o");
    }
    Ok(Outcome::Done)
}
