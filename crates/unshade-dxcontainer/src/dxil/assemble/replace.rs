//! Replaces the program of a container, and renews the parts that follow from it.
//!
//! Parts that say nothing of the program stay: VERS, PRIV, the root signature, the subobjects of a library, and parts that
//! are not known. STAT stays but for its counters if the new program declares what the old one did, because the names in
//! it are in no other part.

use super::{Assembler, Options, assemble, finish};
use crate::file::{DxFile, OwnedPart};
use crate::part::PartData;
use crate::program::Program;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::Module;
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::write::{self, Version, WriteInput, WriteOptions};

/// Parts that are derived from the new program.
const DERIVED: [[u8; 4]; 12] = [
    *b"SFI0", *b"ISG1", *b"OSG1", *b"PSG1", *b"PSV0", *b"RDAT", *b"RTS0", *b"STAT", *b"ILDB", *b"ILDN",
    *b"HASH", *b"DXIL",
];

/// What the container had and the new one lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The debug information of the old program.
    DebugInfo,
    /// The names in the reflection of the old program, which declares something else.
    Reflection,
    /// The root signature: a library has none.
    RootSignature,
}

/// A container whose program was replaced.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replaced {
    /// The container, signed.
    pub bytes: Vec<u8>,
    /// What it lost.
    pub lost: Vec<Lost>,
}

/// Replaces the program of a container with bitcode, renews the parts that follow from it, and signs it.
///
/// # Errors
/// Fails if the container has no DXIL program, and as [`assemble`] does.
pub fn replace(container: &DxFile, bitcode: &[u8]) -> Result<Replaced> {
    let Some(old) = program_of(container, *b"DXIL") else {
        return Err(Error::new(ErrorKind::BadValue, 0, "container has no DXIL program to replace"));
    };
    let mut options = Options { reflection: true, split_debug: true, ..Options::default() };
    for part in &container.parts {
        match (&part.name.0, &part.data) {
            (b"RTS0", _) => options.root_signature = Some(part.data.write()?),
            (_, PartData::Rdat(rdat)) => options.subobjects = Some(rdat.clone()),
            (name, _) if !DERIVED.contains(name) => options.parts.push(part.clone()),
            _ => {}
        }
    }
    let mut lost = Vec::new();
    if let Some(statistics) = program_of(container, *b"STAT") {
        match renewed(statistics, old, bitcode)? {
            Some(renewed) => options.parts.push(OwnedPart::new(*b"STAT", PartData::Program(renewed))),
            None => lost.push(Lost::Reflection),
        }
    } else {
        options.reflection = false;
    }
    let file = assemble(bitcode, &options)?;
    let has = |file: &DxFile, name: &[u8; 4]| file.parts.iter().any(|part| part.name.0 == *name);
    for (name, what) in [(b"ILDB", Lost::DebugInfo), (b"RTS0", Lost::RootSignature)] {
        if has(container, name) && !has(&file, name) {
            lost.push(what);
        }
    }
    Ok(Replaced { bytes: finish(file)?, lost })
}

fn program_of(container: &DxFile, name: [u8; 4]) -> Option<&Program> {
    container.parts.iter().find(|part| part.name.0 == name).and_then(|part| match &part.data {
        PartData::Program(program) => Some(program),
        _ => None,
    })
}

/// Returns STAT with the counters of the new program; `None` if that declares something else than the old one.
fn renewed(statistics: &Program, old: &Program, bitcode: &[u8]) -> Result<Option<Program>> {
    let (before, after) = (Module::parse(&old.bitcode.0, 0)?, Module::parse(bitcode, 0)?);
    let (before, after) = (Assembler::new(&before)?, Assembler::new(&after)?);
    if declarations(&before)? != declarations(&after)? {
        return Ok(None);
    }
    let mut module = Module::parse(&statistics.bitcode.0, 0)?;
    after.set_counters(&mut module)?;
    let options = WriteOptions { version: Version::Dxc, ..WriteOptions::default() };
    let written = write::module(&WriteInput::new(&module, &[]), &options)?;
    Ok(Some(after.program(&written)))
}

/// Returns the text of what a program declares.
fn declarations(assembler: &Assembler<'_, '_>) -> Result<String> {
    let mut module = assembler.module.clone();
    module.remove_bodies();
    let mut text = String::new();
    let options = PrintOptions { dialect: Dialect::Dxc, ..PrintOptions::default() };
    print::module(&module, &options, &mut text);
    Ok(text)
}
