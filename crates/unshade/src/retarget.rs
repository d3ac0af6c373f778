//! Writes the target of a Metal library or module: platform and OS version, in the header and in the triples of the modules.
//!
//! A triple keeps its architecture, `air64` or `air64_v26`, and a module its versions of AIR and of the language: a later OS
//! reads what is written for an earlier one. An OS that does not read them needs other code, so the library is refused. All
//! targets have the same data layout.
//!
//! Knowledge: triples and headers of real libraries; the rules of [`crate::load_check`].

use crate::air;
use crate::bitcode_edit::{BitcodeEdit, Edited};
use crate::load_check::{LibraryFacts, Status, Target, check};
use unshade_air::target::triple;
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::Module;
use unshade_metallib::header::Version;
use unshade_metallib::target::{self, FIRST_WITH_PLATFORM};
use unshade_metallib::{Library, LibraryFile};

/// What was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retargeted {
    /// The number of modules with another triple than before.
    pub modules: usize,
    /// Whether the header has the OS version: older containers only say whether a library is for macOS.
    pub header_has_version: bool,
}

/// Returns a target in the form of headers and triples.
///
/// # Errors
/// If the minor version or the patch is greater than 255.
pub fn format_target(Target { platform, version }: Target) -> Result<target::Target> {
    let Version { major, minor, patch } = version;
    match (u8::try_from(minor), u8::try_from(patch)) {
        (Ok(minor), Ok(patch)) => Ok(target::Target { platform, os: (major, minor, patch) }),
        _ => Err(Error::without_offset(ErrorKind::BadValue, "OS version can't be stored")
            .expected("at most 255 each")),
    }
}

/// Writes the target of a library.
///
/// ```
/// use unshade::load_check::Target;
/// use unshade::metallib::{Library, LibraryFile};
///
/// let bytes = include_bytes!("../../../tests/fixtures/metallib/linker_1_2_7.metallib");
/// let mut file = LibraryFile::parse(bytes)?;
/// let target: Target = "ios-17.2".parse()?;
/// assert_eq!(unshade::retarget::library(&mut file, target)?.modules, 1);
/// let written = file.write()?.to_vec();
/// assert_eq!(Library::parse(&written)?.header().target(), "iOS 17.2");
///
/// let error = unshade::retarget::library(&mut file, "ios-16.0".parse()?).unwrap_err();
/// assert_eq!(error.message(), "the library needs other code for iOS 16.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a module can't be read, the platform has no triple, or the library would not load on the target. It may then be changed
/// in part.
pub fn library(file: &mut LibraryFile<'_>, target: Target) -> Result<Retargeted> {
    let format_target = format_target(target)?;
    let header_has_version = file.header.patch >= FIRST_WITH_PLATFORM;
    file.retarget(Some(target.platform), header_has_version.then_some(format_target.os))?;
    let edit = BitcodeEdit { target: Some(format_target), ..BitcodeEdit::default() };
    let modules = edit.library(file, |_| true)?.retargeted;
    let written = file.write()?.to_vec();
    refuse(&Library::parse(&written)?, target)?;
    Ok(Retargeted { modules, header_has_version })
}

/// Edits the modules in bitcode, whose first byte has the offset `base` in a file, and writes their target.
///
/// ```
/// use unshade::bitcode_edit::BitcodeEdit;
/// use unshade::retarget;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/air/reduce.bc");
/// # let bytes = std::fs::read(path)?;
/// let edited = retarget::bitcode(&BitcodeEdit::default(), &bytes, 0, "macos-15.0".parse()?)?;
/// assert!(unshade::llvm::Module::parse(&edited.bytes, 0)?.triple.ends_with(b"-apple-macosx15.0.0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the bitcode can't be read, an edit is not possible, no module is AIR, the platform has no triple, or the modules would not
/// load on the target.
pub fn bitcode(edit: &BitcodeEdit, bytes: &[u8], base: u64, target: Target) -> Result<Edited> {
    let edit = BitcodeEdit { target: Some(format_target(target)?), ..edit.clone() };
    let edited = edit.module(bytes, base)?;
    let modules = Module::parse_all(&edited.bytes, 0)?.collect::<Result<Vec<_>>>()?;
    if !modules.iter().any(air::is_air) {
        let message = "bitcode is not for Apple GPUs, so it names no OS that could be set";
        return Err(Error::without_offset(ErrorKind::Unsupported, message));
    }
    refuse_facts("module", &LibraryFacts::of_modules(&modules), target)?;
    Ok(edited)
}

/// Refuses a library that does not load on a target.
///
/// # Errors
/// The first rule that it breaks.
pub fn refuse(library: &Library<'_>, target: Target) -> Result<()> {
    refuse_facts("library", &LibraryFacts::read(library), target)
}

fn refuse_facts(what: &str, facts: &LibraryFacts, target: Target) -> Result<()> {
    let report = check(facts, target);
    match report.findings.into_iter().find(|finding| finding.status == Status::Fail) {
        None => Ok(()),
        Some(finding) => {
            let message = format!("the {what} needs other code for {target}");
            let mut error = Error::without_offset(ErrorKind::Unsupported, message).found(finding.found);
            if !finding.expected.is_empty() {
                error = error.expected(finding.expected);
            }
            Err(error.hint(format!(
                "compile its source for it; `unshade check --os {}` shows all rules",
                target.argument()
            )))
        }
    }
}

/// Returns the triple of a module for a target: its architecture stays.
///
/// # Errors
/// If the platform has no name in triples.
pub fn triple_for(old: &[u8], target: target::Target) -> Result<Vec<u8>> {
    let new = triple(target)?;
    let architecture = old.split(|byte| *byte == b'-').next().unwrap_or_default();
    match new.split_once('-') {
        Some((_, rest)) => Ok([architecture, b"-", rest.as_bytes()].concat()),
        None => Ok(new.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::{format_target, triple_for};

    #[test]
    fn architectures_stay() {
        let target = format_target("visionos-simulator-2.1".parse().unwrap()).unwrap();
        let new = triple_for(b"air64_v26-apple-macosx14.0.0", target).unwrap();
        assert_eq!(new, b"air64_v26-apple-xros2.1.0-simulator");
        assert!(
            triple_for(b"air64-apple-ios", format_target("driverkit-20.0".parse().unwrap()).unwrap())
                .is_err()
        );
    }
}
