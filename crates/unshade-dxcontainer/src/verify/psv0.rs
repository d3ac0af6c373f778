//! Checks of PSV0, by itself and against the program and the signatures.

use super::ParsedPart;
use super::parts::{finding, profile};
use crate::part::PartData;
use crate::program::ProgramVersion;
use crate::psv0::{Element, GROUPS, Psv0, SIZES, SemanticKind, Stage};
use crate::signature::Signature;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Diagnostics;

/// Checks PSV0 by itself.
pub(super) fn part(found: &ParsedPart<'_>, psv0: &Psv0, diagnostics: &mut Diagnostics) {
    let size = psv0.info.size();
    if !SIZES.contains(&crate::bytes::len32(size)) && size < 60 {
        diagnostics.warning(
            "dx-psv",
            finding(found, 0, "size of the runtime information matches no version")
                .expected("24, 36, 48, 52, 56 or 60")
                .found(format!("{size}")),
        );
    }
    if !psv0.extra.0.is_empty() {
        let part_offset = found.part.data.data().len().saturating_sub(psv0.extra.0.len());
        diagnostics.error(
            "dx-psv",
            finding(found, part_offset as u64, "unexpected bytes after the last table")
                .found(format!("{} bytes", psv0.extra.0.len())),
        );
    }
    for (index, resource) in psv0.resources.iter().enumerate() {
        let binding = &resource.binding;
        if binding.lower_bound > binding.upper_bound {
            diagnostics.error(
                "dx-psv",
                finding(found, 0, "first register of a resource is after its last")
                    .found(format!("{} to {}", binding.lower_bound, binding.upper_bound))
                    .within(format!("resource {index}")),
            );
        }
        if binding.resource_type.name().is_none()
            || resource.kind.as_ref().is_some_and(|kind| kind.kind.name().is_none())
        {
            diagnostics.warning(
                "dx-psv",
                finding(found, 0, "unknown resource type or shape").within(format!("resource {index}")),
            );
        }
    }
    tables(found, psv0, diagnostics);
}

fn tables(found: &ParsedPart<'_>, psv0: &Psv0, diagnostics: &mut Diagnostics) {
    let Some(signatures) = &psv0.signatures else { return };
    if signatures.strings.0.len() % 4 != 0 {
        diagnostics.error(
            "dx-psv",
            finding(found, 0, "size of the string table is not a multiple of 4")
                .found(format!("{}", signatures.strings.0.len())),
        );
    }
    if let Some(offset) = psv0.info.entry_name
        && psv0.entry_name().is_none()
    {
        diagnostics.error(
            "dx-psv",
            finding(found, 0, "name of the entry point is outside of the string table")
                .found(format!("{offset:#x}")),
        );
    }
    for (elements, group) in signatures.elements.iter().zip(GROUPS) {
        for (index, element) in elements.iter().enumerate() {
            let label = || format!("{group} element {index}");
            if psv0.string(element.name_offset).is_none() {
                diagnostics.error(
                    "dx-psv",
                    finding(found, 0, "name is outside of the string table")
                        .found(format!("{:#x}", element.name_offset))
                        .within(label()),
                );
            }
            if psv0.indices(element).is_none() {
                diagnostics.error(
                    "dx-psv",
                    finding(found, 0, "semantic indices are outside of their table")
                        .expected(format!("at most {}", signatures.indices.len()))
                        .found(format!("{} from {}", element.rows, element.indices_offset))
                        .within(label()),
                );
            }
            if element.kind.name().is_none() || element.component_type.name().is_none() {
                diagnostics.warning(
                    "dx-psv",
                    finding(found, 0, "unknown semantic kind or component type").within(label()),
                );
            }
        }
    }
}

/// Checks PSV0 against the program and the signatures.
pub(super) fn cross_check(
    read: &[ParsedPart<'_>],
    program: Option<ProgramVersion>,
    diagnostics: &mut Diagnostics,
) {
    for found in read {
        let PartData::Psv0(psv0) = &found.data else { continue };
        if let (Some(stage), Some(program)) = (psv0.stage(), program)
            && stage != Stage::from(program.kind())
        {
            diagnostics.error(
                "dx-psv",
                finding(found, 28, "stage differs from that of the program")
                    .expected(profile(program))
                    .found(format!("{stage}")),
            );
        }
        let names: [&[&[u8; 4]]; 3] =
            [&[b"ISG1", b"ISGN"], &[b"OSG1", b"OSG5", b"OSGN"], &[b"PSG1", b"PCSG"]];
        let Some(signatures) = &psv0.signatures else { continue };
        for ((elements, names), group) in signatures.elements.iter().zip(names).zip(GROUPS) {
            let signature = read.iter().find_map(|part| match &part.data {
                PartData::Signature(signature) if names.contains(&&part.part.name.0) => Some(signature),
                _ => None,
            });
            compare(found, psv0, elements, signature, group, diagnostics);
        }
    }
}

/// A row of an element: stream, name, semantic index, register, mask.
type ElementRow = (u32, String, u32, u32, u8);

fn compare(
    found: &ParsedPart<'_>,
    psv0: &Psv0,
    elements: &[Element],
    signature: Option<&Signature>,
    group: &str,
    diagnostics: &mut Diagnostics,
) {
    let Some(signature) = signature else {
        if !elements.is_empty() {
            diagnostics.error(
                "dx-psv-signature",
                finding(found, 0, format!("there are {group} elements, but no signature part for them"))
                    .found(format!("{} elements", elements.len())),
            );
        }
        return;
    };
    let own: BTreeSet<ElementRow> = elements.iter().flat_map(|element| rows(psv0, element)).collect();
    let system = |name: &str| elements.iter().all(|e| psv0.string(e.name_offset) != Some(name.as_bytes()));
    let theirs: BTreeSet<ElementRow> = signature
        .elements
        .iter()
        .map(|element| {
            let name = element.name.to_string_lossy();
            let name = if system(&name) { String::new() } else { name };
            (element.stream, name, element.core.index, element.core.register, element.core.mask)
        })
        .collect();
    let describe = |row: &ElementRow| {
        let (stream, name, index, register, mask) = row;
        let name = if name.is_empty() { "system value" } else { name };
        format!(
            "{} {index}, register {}, mask {mask:#x}, stream {stream}",
            unshade_core::Escaped(name.as_bytes()),
            register.cast_signed()
        )
    };
    let only_own: Vec<String> = own.difference(&theirs).map(describe).collect();
    let only_theirs: Vec<String> = theirs.difference(&own).map(describe).collect();
    if !only_own.is_empty() || !only_theirs.is_empty() {
        let list = |rows: &[String]| if rows.is_empty() { "nothing more".into() } else { rows.join("; ") };
        diagnostics.error(
            "dx-psv-signature",
            finding(found, 0, format!("PSV0 and the signature describe different {group} elements"))
                .expected(format!("as in the signature: {}", list(&only_theirs)))
                .found(list(&only_own)),
        );
    }
}

/// Returns the rows of an element; a signature has an entry for each.
fn rows<'a>(psv0: &'a Psv0, element: &'a Element) -> impl Iterator<Item = ElementRow> + 'a {
    let indices = psv0.indices(element).unwrap_or_default();
    let arbitrary = element.kind == SemanticKind::ARBITRARY;
    let name = psv0.string(element.name_offset).filter(|_| arbitrary).unwrap_or_default();
    let mask =
        ((1u8 << element.cols().min(4)).wrapping_sub(1)).wrapping_shl(u32::from(element.start_col())) & 15;
    indices.iter().zip(0u32..).map(move |(index, row)| {
        let register =
            if element.allocated() { u32::from(element.start_row).saturating_add(row) } else { u32::MAX };
        (u32::from(element.stream()), String::from_utf8_lossy(name).into_owned(), *index, register, mask)
    })
}
