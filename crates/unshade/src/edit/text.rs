//! Replaces programs and functions by their listings or YAML.

use super::machine_code::{self, CubinBytes};
use super::{Edited, MAX_FAULTS, Refusal, TextFault, container, library, token_program};
use crate::format::{Format, Kind, detect};
use unshade_core::Reader;
use unshade_dxcontainer::DxFile;
use unshade_llvm::assemble::{self, AssembleOptions, Version};
use unshade_llvm::{Module, bitstream};
use unshade_metallib::LibraryFile;
use unshade_nv::Cubin;
use unshade_sass::isa;

/// The name of the source of a module whose listing states none.
const SOURCE_NAME: &[u8] = b"listing.ll";

/// Makes a program from its YAML.
pub(super) fn from_yaml(text: &str) -> Result<Edited, Refusal> {
    let tag = text.lines().find_map(|line| line.strip_prefix("--- ")).unwrap_or_default();
    if tag.trim_end() == unshade_metallib::document::TAG {
        let file = unshade_metallib::document::from_yaml(text)?;
        return Ok(Edited::new(file.write()?.to_vec()));
    }
    let mut file = unshade_dxcontainer::document::from_yaml(text)?;
    Ok(Edited::new(file.write_signed()?).note("the digest is renewed"))
}

/// Replaces a function, or the whole program, by a listing.
pub(super) fn replace(
    program: &[u8],
    base: u64,
    function: Option<&str>,
    text: &str,
) -> Result<Edited, Refusal> {
    match detect(program) {
        Kind::Program(Format::Cubin) => machine_code(program, text),
        Kind::Program(Format::DxContainer) if token_program::is_listing(text) => {
            let mut file = DxFile::parse(program)?;
            token_program::Programs::assemble(text)?.put(&mut file)?;
            Ok(Edited::new(file.write_signed()?).note("the digest is renewed"))
        }
        Kind::Program(Format::DxContainer) => {
            let (bitcode, warnings) = module(text)?;
            let mut edited = container::put_bitcode(program, &bitcode)?;
            edited.notes.extend(warnings);
            Ok(edited.note("the digest and the parts that follow from the program are renewed"))
        }
        Kind::Program(Format::MetalLibrary) => {
            let function = function.ok_or_else(|| Refusal::new("which function?"))?;
            let (bitcode, mut notes) = module(text)?;
            let mut file = LibraryFile::parse(program)?;
            let lost = library::put_module(&mut file, function, &bitcode, "the listing")?;
            notes.extend(library::lost_notes(lost.as_ref()));
            library::written(file, notes)
        }
        Kind::Program(Format::Direct3d9) => {
            let programs = token_program::Programs::assemble(text)?;
            match (&programs.direct3d9[..], &programs.direct3d10) {
                ([program], None) => Ok(Edited::new(program.write()?)),
                _ => Err(Refusal::new("the listing is not that of one program of Shader Model 1 to 3")),
            }
        }
        _ if bitstream::locate(program, base).is_ok() => {
            if Module::parse_all(program, base)?.count() > 1 {
                return Err(Refusal::new(
                    "the bitcode has several modules; a listing would replace all of them",
                ));
            }
            let (bytes, notes) = module(text)?;
            Ok(Edited { bytes, notes })
        }
        _ => Err(Refusal::new("programs of this format are not assembled")),
    }
}

/// Assembles machine code into a copy of a cubin.
fn machine_code(program: &[u8], text: &str) -> Result<Edited, Refusal> {
    let cubin = Cubin::read(Reader::new(program))?;
    let chip = machine_code::chip(text).unwrap_or_else(|| cubin.arch());
    let isa = isa::by_architecture(chip)
        .ok_or_else(|| Refusal::new(format!("sm_{chip}: the encoding of this chip is not known")))?;
    let into = CubinBytes { cubin: &cubin, bytes: program };
    let functions = machine_code::assemble(isa, text, Some(into)).map_err(first_faults)?;
    if functions.iter().all(|function| function.words.is_empty()) {
        return Err(Refusal::NotFound("no instruction in the listing".into()));
    }
    Ok(Edited::new(machine_code::put(isa, into, &functions)?))
}

/// Assembles a module. Returns its bitcode, and warnings.
fn module(text: &str) -> Result<(Vec<u8>, Vec<String>), Refusal> {
    let options = AssembleOptions { version: Version::of(text.as_bytes()) };
    let assembled = assemble::bitcode(text.as_bytes(), SOURCE_NAME, &options).map_err(|errors| {
        let fault = |error: assemble::SyntaxError| TextFault {
            line: error.line,
            column: error.column,
            message: error.message,
        };
        first_faults(errors.into_iter().map(fault).collect())
    })?;
    Ok((assembled.bytes, assembled.warnings))
}

fn first_faults(mut faults: Vec<TextFault>) -> Refusal {
    faults.truncate(MAX_FAULTS);
    Refusal::Text(faults)
}
