//! Checks the reflection list and every buffer in it.
//!
//! What a table says is compared with the module elsewhere. Here it is only decoded, and written again: Apple's linker and
//! this project's writer lay out a table in one way, so bytes that differ were not written by either, such as padding that
//! is not zero, or a vtable with the size of another table.
//!
//! Knowledge: 36,268 real buffers, all of which are written again to the byte; the versions are those of the real libraries
//! at hand, each of which has only one.

use super::report_dangling;
use crate::function_list::Function;
use crate::library::{Library, reflection_buffer};
use crate::lists::Group;
use crate::reflection::Reflection;
use crate::reflection::schema::{KNOWN_VERSIONS, Version};
use crate::reflection::tables::OwnedTable;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

/// Returns all groups of the reflection list, including those that no function points to.
pub(super) fn list<'a>(library: &Library<'a>, diagnostics: &mut Diagnostics) -> Vec<Group<'a>> {
    let list = diagnostics.take("reflection", library.list(b"RLST")).flatten();
    let within = |error: Error| error.within("section RLST");
    list.into_iter()
        .flatten()
        .filter_map(|group| diagnostics.take("reflection", group.map_err(within)))
        .collect()
}

/// Checks that the reflection offsets of functions point to groups of the reflection list.
pub(super) fn offsets(
    library: &Library<'_>,
    functions: &[Function<'_>],
    groups: &[Group<'_>],
    diagnostics: &mut Diagnostics,
) {
    if library.extension().is_none_or(|extension| extension.section(b"RLST").is_none()) {
        report_dangling(functions, |function| function.reflection_offset, "reflection", "RFLT", diagnostics);
        return;
    }
    let Ok(Some(section)) = library.section(b"RLST") else { return };
    for function in functions {
        let Some(offset) = function.reflection_offset else { continue };
        let at = section.base().saturating_add(offset);
        // Groups are in file order, so they are sorted by offset.
        if groups.binary_search_by_key(&at, |group| group.range.start).is_err() {
            let error = Error::new(ErrorKind::OutOfRange, at, "RFLT does not point to a reflection");
            diagnostics.error("reflection", error.within(function.label()));
        }
    }
}

/// Decodes a whole buffer, and compares its bytes with those that the linker would write.
pub(super) fn buffer(group: &Group<'_>, diagnostics: &mut Diagnostics) {
    let decode = || {
        group.tags().check()?;
        let reflection = reflection_buffer(group)?;
        reflection.check().map(|()| reflection)
    };
    let decoded = decode().map_err(|error: Error| error.within("reflection"));
    let Some(reflection) = diagnostics.take("reflection", decoded) else { return };
    if let Err(error) = layout(&reflection) {
        diagnostics.note("reflection-layout", error.within("reflection"));
    }
}

/// Compares the bytes of a buffer with those of the same tables, written again.
fn layout(reflection: &Reflection<'_>) -> Result<()> {
    let found = reflection.flatbuffer();
    // Tables that can't be written again have parts that the schema does not describe.
    let Ok(expected) = OwnedTable::read(found).and_then(|root| root.write()) else { return Ok(()) };
    let same = found.iter().zip(&expected).take_while(|(found, expected)| found == expected).count();
    if same == found.len() && same == expected.len() {
        return Ok(());
    }
    let shown = |byte: Option<&u8>| byte.map_or_else(|| "the end".into(), |byte| format!("{byte:#04x}"));
    let message = "the reflection is laid out in another way than the linker's";
    Err(Error::new(ErrorKind::BadValue, reflection.buffer().offset_of(same), message)
        .expected(shown(expected.get(same)))
        .found(shown(found.get(same))))
}

/// Checks the versions of all buffers. Those that can't be decoded are reported elsewhere.
pub(super) fn versions(groups: &[Group<'_>], diagnostics: &mut Diagnostics) {
    let version = |group: &Group<'_>| reflection_buffer(group).ok().and_then(|buffer| buffer.version());
    let versions: Vec<Option<Version>> = groups.iter().map(version).collect();
    let mut counts: BTreeMap<Version, usize> = BTreeMap::new();
    for version in versions.iter().flatten() {
        let count = counts.entry(*version).or_default();
        *count = count.saturating_add(1);
    }
    // If two are as frequent, the newer one counts.
    let Some((&usual, _)) = counts.iter().max_by_key(|(_, count)| **count) else { return };
    for (group, version) in groups.iter().zip(versions) {
        let error = |message: &'static str| {
            Error::new(ErrorKind::BadValue, group.range.start, message).within("reflection")
        };
        match version {
            None => {
                diagnostics.warning(
                    "reflection-version",
                    error("the reflection has no version").expected(format!("{usual}")),
                );
            }
            Some(version) if version != usual => {
                let error = error("the reflection has another version than others of the library");
                diagnostics.warning(
                    "reflection-version",
                    error.expected(format!("{usual}")).found(format!("{version}")),
                );
            }
            Some(version) if !KNOWN_VERSIONS.contains(&version) => {
                let error = error("unknown version of the reflection");
                diagnostics
                    .note("reflection-version", error.expected("0.1.0 to 0.4.0").found(format!("{version}")));
            }
            Some(_) => {}
        }
    }
}
