//! Edits of Metal libraries.

use super::{Edited, Refusal, Stripped};
use crate::air;
use crate::bitcode_edit::{BitcodeEdit, Rename};
use crate::build::{self, LostMetadata};
use crate::select::Selector;
use std::ops::Range;
use unshade_core::{Error, Escaped};
use unshade_metallib::edit::Strip;
use unshade_metallib::{LibraryFile, LibraryType};

/// Keeps the functions that any of `keep` selects, all if there are none, and removes those of `remove`. Each selector has
/// to select at least one. Returns whether a function was removed.
///
/// # Errors
/// A selector is invalid or selects nothing.
pub fn choose(file: &mut LibraryFile<'_>, keep: &[String], remove: &[String]) -> Result<bool, Refusal> {
    let parse = |text: &String| Selector::parse(text).map_err(Refusal::new);
    let keep_parsed: Vec<Selector> = keep.iter().map(parse).collect::<Result<_, _>>()?;
    let remove_parsed: Vec<Selector> = remove.iter().map(parse).collect::<Result<_, _>>()?;
    for (selector, text) in keep_parsed.iter().chain(&remove_parsed).zip(keep.iter().chain(remove)) {
        let mut functions = file.functions.iter().enumerate();
        if !functions.any(|(index, one)| selects(selector, index, &one.name)) {
            return Err(Refusal::NotFound(format!("no function {text}")));
        }
    }
    let removed = file.keep_functions(|index, function| {
        let any = |selectors: &[Selector]| selectors.iter().any(|one| selects(one, index, &function.name));
        (keep_parsed.is_empty() || any(&keep_parsed)) && !any(&remove_parsed)
    });
    Ok(removed > 0)
}

fn selects(selector: &Selector, index: usize, name: &[u8]) -> bool {
    u32::try_from(index).is_ok_and(|index| selector.matches(index, name))
}

/// Returns the number of the only function that a selector selects.
fn one_function(file: &LibraryFile<'_>, text: &str) -> Result<usize, Refusal> {
    let selector = Selector::parse(text).map_err(Refusal::new)?;
    let functions = file.functions.iter().enumerate();
    let mut found = functions.filter(|(index, function)| selects(&selector, *index, &function.name));
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (None, _) => Err(Refusal::NotFound(format!("no function {text}"))),
        _ => Err(Refusal::new(format!("{text} means several functions"))),
    }
}

/// Renames a function and the symbol in its module, or else a symbol of any module. Returns a note if the module has no
/// such symbol.
///
/// # Errors
/// There is neither, the new name is taken, or the library is a dynamic one.
pub fn rename(file: &mut LibraryFile<'_>, old: &str, new: &str) -> Result<Option<String>, Refusal> {
    let found = match one_function(file, old) {
        Ok(index) => Some(index),
        Err(Refusal::NotFound(_)) => None,
        Err(refusal) => return Err(refusal),
    };
    let function = found.and_then(|index| file.functions.get(index));
    let module = function.map(|function| function.module);
    let old = function.map_or(old.into(), |function| Escaped(&function.name).to_string());
    let rename = Rename::new(&old, new);
    if let Some(index) = found {
        file.rename_function(index, rename.new_name().to_vec())?;
    }
    if file.header.library_type() == LibraryType::DYNAMIC {
        return Err(Refusal::new("symbols of a dynamic library are found by their names"));
    }
    let edit = BitcodeEdit { renames: vec![rename], ..BitcodeEdit::default() };
    let changes = edit.library(file, |index| module.is_none_or(|module| module == index))?;
    match (changes.renamed.first(), found) {
        (Some(0) | None, None) => Err(Refusal::NotFound(format!("no function or symbol {old}"))),
        (Some(0) | None, Some(_)) => {
            Ok(Some(format!("its module has no symbol {}", Escaped(old.as_bytes()).quoted())))
        }
        _ => Ok(None),
    }
}

/// Replaces the module of a function, and the metadata of its functions by that of the new module. `shown` names the module
/// in errors. Returns what reflections can't express.
///
/// # Errors
/// There is no such function, the bitcode can't be read, or lacks a function of the module that it replaces.
pub fn put_module(
    file: &mut LibraryFile<'_>,
    function: &str,
    bitcode: &[u8],
    shown: &str,
) -> Result<Option<LostMetadata>, Refusal> {
    let within = |error: Error| error.within(shown.to_owned());
    let known = air::functions(bitcode).map_err(within)?;
    let index = one_function(file, function)?;
    let module = file.functions.get(index).map_or(0, |function| function.module);
    for function in file.functions.iter_mut().filter(|function| function.module == module) {
        let Some(known) = known.iter().find(|known| known.name == function.name) else {
            let name = Escaped(&function.name);
            return Err(Refusal::new(format!("{shown}: module has no function {}", name.quoted())));
        };
        function.kind = known.kind;
        function.versions = known.versions;
        function.tessellation = known.tessellation;
        function.layer_type = known.layer_type;
        function.public.attributes.clone_from(&known.public.attributes);
        function.public.constants.clone_from(&known.public.constants);
    }
    file.replace_module(index, bitcode)?;
    Ok(build::renew_reflection(file, module)?)
}

/// Removes what is optional.
pub(super) fn strip(file: &mut LibraryFile<'_>, what: Stripped) -> Result<(), Refusal> {
    let stripped = match what {
        Stripped::Debug => {
            BitcodeEdit { strip_debug: true, ..BitcodeEdit::default() }.library(file, |_| true)?;
            Strip::DebugPaths
        }
        Stripped::Reflection => Strip::Reflection,
        Stripped::Private => Strip::PrivateMetadata,
        Stripped::Sources => Strip::Sources,
        Stripped::RootSignature => {
            return Err(Refusal::new("root signatures are parts of DirectX containers"));
        }
    };
    file.strip(stripped);
    Ok(())
}

/// Writes an edited library with a new UUID, if it had one.
pub(super) fn written(mut file: LibraryFile<'_>, mut notes: Vec<String>) -> Result<Edited, Refusal> {
    if file.uuid().is_some() {
        file.renew_uuid()?;
        notes.push("the UUID is renewed".into());
    }
    Ok(Edited { bytes: file.write()?.to_vec(), notes })
}

/// Renews the hashes of the functions whose module was overwritten in part, if they matched before.
pub(super) fn renewed(before: &[u8], bytes: Vec<u8>, changed: Range<usize>) -> Result<Edited, Refusal> {
    let library = unshade_metallib::Library::parse(before)?;
    let mut changed_modules = library.functions().flatten().filter_map(|function| {
        let module = library.module(&function).ok().flatten()?;
        let range = usize::try_from(module.range().start).ok()?..usize::try_from(module.range().end).ok()?;
        (range.start <= changed.start && changed.end <= range.end).then_some((function, module, range))
    });
    let Some((function, module, range)) = changed_modules.next() else { return Ok(Edited::new(bytes)) };
    if function.hash != Some(&module.sha256()) {
        return Ok(Edited::new(bytes).note("the hash of the module did not match before, and stays as it is"));
    }
    let mut file = LibraryFile::parse(before)?;
    file.replace_module(function.index as usize, bytes.get(range).unwrap_or_default())?;
    Ok(Edited::new(file.write()?.to_vec()).note("the hashes of the module's functions are renewed"))
}

/// Describes what reflections can't express, as notes.
pub(super) fn lost_notes(lost: Option<&LostMetadata>) -> Vec<String> {
    let findings = lost.into_iter().flat_map(|lost| lost.findings.iter());
    findings.map(|finding| format!("reflections can't express it: {}", finding.error)).collect()
}
