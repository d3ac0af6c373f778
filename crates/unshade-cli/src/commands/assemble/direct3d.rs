//! Assembles token programs, into a copy of a container or alone.
//!
//! A listing may have several programs: that of a container for feature level 9 has a program of Shader Model 2 before
//! the one of Shader Model 4. Each starts with a line that consists of its shader model.

use super::save;
use crate::Outcome;
use crate::args::{AssembleArgs, GlobalArgs};
use crate::commands::written::one_program;
use crate::input::shown;
use anyhow::{Context, Result, bail};
use unshade::dxbc::d3d9;
use unshade::dxbc_build::{put_level9, put_program};
use unshade::dxcontainer::file::DxFile;
use unshade::program::{Verb, Writable};

/// Returns the major version of the shader model that a line names, if it names one.
fn model(line: &str) -> Option<u32> {
    let code = line.split("//").next().unwrap_or_default().trim();
    let (kind, model) = match code.strip_prefix("lib_4_0_") {
        Some(code) => code.split_once('_')?,
        None => code.split_once('_')?,
    };
    let is_kind = matches!(kind, "ps" | "vs" | "gs" | "hs" | "ds" | "cs" | "lib");
    let major = model.split('_').next()?.parse().ok()?;
    (is_kind && !code.contains(char::is_whitespace)).then_some(major)
}

/// Returns whether the first line of code names a shader model.
pub(super) fn is_listing(text: &str) -> bool {
    let code = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//"));
    code.is_some_and(|line| model(line).is_some())
}

/// The last shader model in the format of Direct3D 9.
const LAST_OF_DIRECT3D_9: u32 = 3;

/// The programs of a listing.
#[derive(Default)]
struct Programs {
    /// Programs of Shader Model 1 to 3.
    direct3d9: Vec<d3d9::Program>,
    /// The program of Shader Model 4 to 5.1.
    direct3d10: Option<unshade::dxbc::Program>,
}

impl Programs {
    fn assemble(text: &str) -> Result<Self> {
        let mut programs = Self::default();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let starts: Vec<usize> = (0..lines.len()).filter(|line| model(lines[*line]).is_some()).collect();
        for (place, start) in starts.iter().enumerate() {
            let end = starts.get(place + 1).copied().unwrap_or(lines.len());
            // Earlier lines become blank, so that line numbers in messages stay right.
            let text = format!("{}{}", "\n".repeat(*start), lines[*start..end].concat());
            if model(lines[*start]).is_some_and(|major| major <= LAST_OF_DIRECT3D_9) {
                programs.direct3d9.push(d3d9::assemble(&text)?);
            } else if programs.direct3d10.replace(unshade::dxbc::assemble(&text)?).is_some() {
                bail!(
                    "line {}: a second program; of those from Shader Model 4 on a container has one",
                    start + 1
                );
            }
        }
        Ok(programs)
    }

    fn put(&self, file: &mut DxFile) -> Result<()> {
        for (number, program) in self.direct3d9.iter().enumerate() {
            put_level9(file, number, program)?;
        }
        self.direct3d10.iter().try_for_each(|program| Ok(put_program(file, program)?))
    }
}

pub(super) fn run(args: &AssembleArgs, text: &str, global: &GlobalArgs) -> Result<Outcome> {
    let programs = match Programs::assemble(text).with_context(|| shown(&args.listing)) {
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
