//! Checks of parts, each by itself and against each other.

use super::{ParsedPart, psv0, root_signature};
use crate::digest::{Digest, md5};
use crate::part::PartData;
use crate::program::{Program, ProgramHeader, ProgramVersion};
use crate::rdat::{FieldKind, NULL, Rdat, RdatContent, RdatKind, field_kind, fields, selector};
use crate::scalar::Record;
use crate::signature::Signature;
use crate::simple_parts::{CompilerVersion, DebugName, FEATURES, FeatureInfo, ShaderHash};
use crate::source_info::{SectionContent, SourceInfo};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// Creates a finding in a part.
pub(super) fn finding(found: &ParsedPart<'_>, offset: u64, message: impl Into<String>) -> Error {
    let file_offset = found.part.data.base().saturating_add(offset);
    Error::new(ErrorKind::BadValue, file_offset, message.into()).within(found.part.label())
}

/// Checks a part by itself.
pub(super) fn part(found: &ParsedPart<'_>, diagnostics: &mut Diagnostics) {
    match &found.data {
        PartData::Program(data) => program(found, data, diagnostics),
        PartData::Hash(hash) => hash_flags(found, hash, diagnostics),
        PartData::DebugName(name) => debug_name(found, name, diagnostics),
        PartData::Version(version) => version_sizes(found, version, diagnostics),
        PartData::Features(features) => feature_bits(found, features, diagnostics),
        PartData::Signature(data) => signature(found, data, diagnostics),
        PartData::Psv0(data) => psv0::part(found, data, diagnostics),
        PartData::RootSignature(data) => root_signature::part(found, data, diagnostics),
        PartData::Rdat(data) => rdat(found, data, diagnostics),
        PartData::Sources(data) => sources(found, data, diagnostics),
        PartData::PdbInfo(info) => match info.rdat() {
            Ok(data) => rdat(found, &data, diagnostics),
            Err(error) => diagnostics.error("dx-sources", error.within(found.part.label())),
        },
        _ => {}
    }
}

/// Checks parts against each other.
pub(super) fn cross_check(read: &[ParsedPart<'_>], diagnostics: &mut Diagnostics) {
    let programs: Vec<(&ParsedPart<'_>, &Program)> = read
        .iter()
        .filter_map(|found| match &found.data {
            PartData::Program(program) => Some((found, program)),
            _ => None,
        })
        .collect();
    let main = programs.iter().find(|(found, _)| found.part.name.0 == *b"DXIL").or(programs.first()).copied();
    if let Some((_, main)) = main {
        for (found, program) in &programs {
            if program.header.version != main.header.version {
                diagnostics.error(
                    "dx-program",
                    finding(
                        found,
                        0,
                        "program has another kind or shader model than the container's main program",
                    )
                    .expected(format!("{}", main.version()))
                    .found(format!("{}", program.version())),
                );
            }
        }
    }
    hash(read, &programs, diagnostics);
    psv0::cross_check(read, main.map(|(_, program)| program.version()), diagnostics);
}

fn program(found: &ParsedPart<'_>, program: &Program, diagnostics: &mut Diagnostics) {
    let header = &program.header;
    let size = found.part.data.data().len();
    if (header.size_in_words as usize).saturating_mul(4) != size {
        diagnostics.error(
            "dx-program",
            finding(found, 4, "size in the program header is not that of the part")
                .expected(format!("{} words", size / 4))
                .found(format!("{}", header.size_in_words)),
        );
    }
    if header.bitcode_offset != crate::program::BITCODE_HEADER_SIZE {
        diagnostics.warning(
            "dx-program",
            finding(found, 16, "bitcode does not directly follow its header")
                .expected("16")
                .found(format!("{}", header.bitcode_offset)),
        );
    }
    if program.version().kind().name().is_none() {
        diagnostics.error(
            "dx-program",
            finding(found, 0, "unknown program kind").found(format!("{}", program.version().kind())),
        );
    }
    if !program.bitcode.0.starts_with(b"BC\xc0\xde")
        && !program.bitcode.0.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
    {
        diagnostics.error(
            "dx-program",
            finding(found, ProgramHeader::SIZE as u64, "program is not LLVM bitcode").expected("BC c0 de"),
        );
    }
    if program.tail.0.iter().any(|byte| *byte != 0) || program.tail.0.len() > 3 {
        let part_offset = size.saturating_sub(program.tail.0.len());
        diagnostics.warning(
            "dx-program",
            finding(found, part_offset as u64, "unexpected bytes after the bitcode")
                .found(format!("{} bytes", program.tail.0.len())),
        );
    }
}

fn hash_flags(found: &ParsedPart<'_>, hash: &ShaderHash, diagnostics: &mut Diagnostics) {
    if hash.flags > ShaderHash::INCLUDES_SOURCE {
        diagnostics.note("dx-hash", finding(found, 0, "unknown flags").found(format!("{:#x}", hash.flags)));
    }
}

/// Compares HASH with the bitcode of DXIL. Without DXIL, it is the hash of a program that was stripped.
fn hash(read: &[ParsedPart<'_>], programs: &[(&ParsedPart<'_>, &Program)], diagnostics: &mut Diagnostics) {
    let dxil = programs.iter().find(|(found, _)| found.part.name.0 == *b"DXIL");
    for found in read {
        if let (PartData::Hash(hash), Some((_, program))) = (&found.data, dxil)
            && hash.flags & ShaderHash::INCLUDES_SOURCE == 0
        {
            let computed = md5(&program.bitcode.0);
            if Digest(hash.digest) != computed {
                diagnostics.error(
                    "dx-hash",
                    finding(found, 4, "hash does not match the bitcode")
                        .expected(format!("{computed}"))
                        .found(format!("{}", Digest(hash.digest))),
                );
            }
        }
    }
}

fn debug_name(found: &ParsedPart<'_>, name: &DebugName, diagnostics: &mut Diagnostics) {
    if name.tail.0.first() != Some(&0) || name.name.0.contains(&0) {
        diagnostics.error(
            "dx-info",
            finding(found, 2, "name does not end at its declared length")
                .found(format!("{}", name.name_length)),
        );
    }
}

fn version_sizes(found: &ParsedPart<'_>, version: &CompilerVersion, diagnostics: &mut Diagnostics) {
    let size = version.commit.0.len().saturating_add(version.version.0.len()).saturating_add(2);
    if version.content_size as usize != size {
        diagnostics.warning(
            "dx-info",
            finding(found, 12, "declared size of the strings is wrong")
                .expected(format!("{size}"))
                .found(format!("{}", version.content_size)),
        );
    }
}

fn feature_bits(found: &ParsedPart<'_>, features: &FeatureInfo, diagnostics: &mut Diagnostics) {
    for (bit, feature) in features.features() {
        if feature.is_none_or(|feature| feature.name == "RESERVED") {
            diagnostics
                .warning("dx-features", finding(found, 0, "unknown feature").found(format!("bit {bit}")));
        }
    }
}

/// The bits of SFI0 for the bits of the module's flags. [`features_of_module`] handles those that do not map one to
/// one.
const MODULE_BITS: &[(u32, u32)] = &[
    (2, 0),
    (17, 1),
    (16, 2),
    (15, 3),
    (6, 5),
    (7, 6),
    (14, 7),
    (12, 8),
    (11, 9),
    (10, 10),
    (13, 11),
    (18, 12),
    (9, 13),
    (19, 14),
    (20, 15),
    (21, 16),
    (22, 17),
    (24, 19),
    (25, 20),
    (26, 21),
    (27, 22),
    (28, 23),
    (29, 24),
    (30, 25),
    (31, 26),
    (36, 27),
    (32, 28),
    (34, 29),
    (35, 30),
    (37, 31),
    (38, 32),
    (41, 33),
];

/// Returns the feature flags that SFI0 must have for the flags of a module (`dx.entryPoints`, the property with tag
/// 0).
///
/// Low precision is bit 5 of the module; bit 23 says whether it is native.
pub fn features_of_module(flags: u64) -> u64 {
    let bit = |bit: u32| flags >> bit & 1;
    let mut features = MODULE_BITS.iter().fold(0, |all, (from, to)| all | bit(*from) << to);
    if bit(5) == 1 {
        features |= if bit(23) == 1 { 1 << 18 } else { 1 << 4 };
    }
    debug_assert!(FEATURES.len() > 32, "every bit has a name");
    features
}

fn signature(found: &ParsedPart<'_>, signature: &Signature, diagnostics: &mut Diagnostics) {
    let element_size = signature.form.element_size() as u64;
    let mut taken = BTreeSet::new();
    for (index, element) in signature.elements.iter().enumerate() {
        let part_offset =
            u64::from(signature.first_offset).saturating_add((index as u64).saturating_mul(element_size));
        let label = format!("element {index} \"{}\"", element.name);
        let mut warn = |message: &'static str, value: String| {
            let error = finding(found, part_offset, message).found(value);
            diagnostics.warning("dx-signature", error.within(label.clone()));
        };
        let core = &element.core;
        if core.mask > 15 {
            warn("mask with more than four components", format!("{:#x}", core.mask));
        }
        if core.component_type.name().is_none() {
            warn("unknown component type", format!("{}", core.component_type));
        }
        if core.system_value.name().is_none() {
            warn("unknown system value", format!("{}", core.system_value));
        }
        if element.min_precision.name().is_none() {
            warn("unknown precision", format!("{}", element.min_precision));
        }
        let components = (0..4u32).filter(|bit| core.mask >> bit & 1 == 1);
        let clash = core.register != u32::MAX
            && components.map(|bit| taken.insert((element.stream, core.register, bit))).any(|new| !new);
        if clash && found.part.name.0[0] != b'P' {
            warn(
                "components of the register are also used by another element",
                format!("register {}", core.register),
            );
        }
    }
}

fn sources(found: &ParsedPart<'_>, info: &SourceInfo, diagnostics: &mut Diagnostics) {
    let label = || found.part.label();
    if info.header.size as usize != found.part.data.data().len() {
        diagnostics.error(
            "dx-sources",
            finding(found, 0, "declared size of the sources is not that of the part")
                .expected(format!("{}", found.part.data.data().len()))
                .found(format!("{}", info.header.size)),
        );
    }
    let (mut names, mut contents) = (None, None);
    for section in &info.sections {
        match &section.content {
            SectionContent::Names(_, found) => names = Some(found.len()),
            SectionContent::Contents(found) => match found.entries() {
                Ok(entries) => contents = Some(entries.len()),
                Err(error) => diagnostics.error("dx-sources", error.within(label())),
            },
            _ => {}
        }
    }
    if let (Some(names), Some(contents)) = (names, contents)
        && names != contents
    {
        diagnostics.error(
            "dx-sources",
            finding(found, 0, "number of names differs from number of sources")
                .expected(format!("{contents}"))
                .found(format!("{names}")),
        );
    }
}

fn rdat(found: &ParsedPart<'_>, rdat: &Rdat, diagnostics: &mut Diagnostics) {
    if rdat.version != crate::rdat::VERSION {
        diagnostics.error(
            "dx-rdat",
            finding(found, 0, "unknown RDAT version").expected("0x10").found(format!("{:#x}", rdat.version)),
        );
    }
    for part in &rdat.parts {
        let part_offset = u64::from(part.offset);
        if part.kind.name().is_none() {
            diagnostics.note(
                "dx-rdat",
                finding(found, part_offset, "unknown table").found(format!("{}", part.kind)),
            );
        }
        let RdatContent::Table(table) = &part.content else { continue };
        for (index, row) in table.rows.iter().enumerate() {
            let start = part_offset
                .saturating_add(16)
                .saturating_add((index as u64).saturating_mul(table.stride.into()));
            let mut offset = start;
            let selected = row.values.get(selector(part.kind)).copied().unwrap_or_default();
            for (number, (field, value)) in fields(part.kind).iter().zip(&row.values).enumerate() {
                let next = row.values.get(number.saturating_add(1)).copied();
                let kind = field_kind(part.kind, number, selected);
                if let Some(fault) = reference_fault(rdat, kind, *value, next) {
                    let error = finding(found, offset, fault).found(format!("{value:#x}"));
                    diagnostics
                        .error("dx-rdat", error.within(field.name).within(format!("{} {index}", part.kind)));
                }
                offset = offset.saturating_add(field.size as u64);
            }
        }
    }
}

/// Returns what is wrong with a reference.
fn reference_fault(rdat: &Rdat, kind: FieldKind, value: u32, next: Option<u32>) -> Option<&'static str> {
    let rows = |table: RdatKind| rdat.table(table).map_or(0, |table| table.rows.len());
    if value == NULL {
        return None;
    }
    match kind {
        FieldKind::Number | FieldKind::Hex => None,
        FieldKind::Name(names) => (value as usize >= names.len()).then_some("unknown enum value"),
        FieldKind::Text => rdat.text(value).is_none().then_some("string is outside of the string buffer"),
        FieldKind::NumberArray => rdat.list(value).is_none().then_some("list is outside of the index arrays"),
        FieldKind::TextArray => match rdat.list(value) {
            None => Some("list is outside of the index arrays"),
            Some(list) => list
                .iter()
                .any(|text| rdat.text(*text).is_none())
                .then_some("list refers to a string outside of the string buffer"),
        },
        FieldKind::Record(table) => {
            (value as usize >= rows(table)).then_some("record is outside of its table")
        }
        FieldKind::RecordArray(table) => match rdat.list(value) {
            None => Some("list is outside of the index arrays"),
            Some(list) => {
                let count = rows(table);
                list.iter()
                    .any(|row| *row as usize >= count)
                    .then_some("list refers to a record outside of its table")
            }
        },
        FieldKind::BytesOffset => {
            let size = next.unwrap_or_default();
            (size > 0 && rdat.raw_bytes(value, size).is_none())
                .then_some("bytes are outside of the raw byte buffer")
        }
    }
}

/// Returns the profile of a program, for messages.
pub(super) fn profile(version: ProgramVersion) -> String {
    format!("{version}")
}
