//! Consistency checks of a container.
//!
//! [`container`] checks header and directory, the digest, each part by itself, and parts against each other.
//! [`RULES`] lists the rules; `docs/verify.md` explains them. Nothing is executed and no bitcode is parsed; checks
//! that need the module are up to the caller (see [`features_of_module`]).

mod parts;
mod psv0;
mod root_signature;

pub use parts::features_of_module;

use crate::container::{Container, PART_HEADER_SIZE, Part};
use crate::part::{self, MAX_DEPTH, PartData};
use crate::program::ProgramVersion;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, FourCc};

/// The rules and what each requires.
pub const RULES: &[(&str, &str)] = &[
    ("dx-version", "The container's version is 1.0."),
    ("dx-size", "The size in the header is that of the file."),
    ("dx-digest", "The digest matches the bytes; a container without one is unsigned."),
    ("dx-part-range", "Every part is inside the file, after the directory."),
    ("dx-part-overlap", "Parts do not overlap."),
    ("dx-part-order", "The parts follow each other in the order of the directory, without gaps."),
    ("dx-part-duplicate", "A part occurs once, except for library functions."),
    ("dx-part-missing", "The parts that a program needs exist."),
    ("dx-part-unknown", "The part is known."),
    ("dx-part-form", "The contents of a part fit its name."),
    ("dx-program", "Programs have the size in their headers, and all have one kind and model."),
    ("dx-hash", "HASH is the MD5 of the bitcode."),
    ("dx-features", "SFI0 lists known features, and those that the module needs."),
    (
        "dx-signature",
        "The elements of a signature have known types, masks of four bits, and registers of their own.",
    ),
    ("dx-psv", "PSV0 refers to existing strings and indices, and has the masks it needs."),
    ("dx-psv-signature", "PSV0 and the signatures describe the same elements."),
    ("dx-root-signature", "A root signature stays within the limits of D3D12."),
    ("dx-rdat", "RDAT refers to existing strings, lists, bytes and records."),
    ("dx-sources", "The sources can be decompressed, and each has a name."),
    ("dx-info", "Names and versions have the sizes in their parts."),
];

/// Maximum number of misplaced parts that are reported one by one; beyond that, only their number is.
const MAX_MISPLACED: usize = 8;

/// Checks a container and the containers nested in it.
pub fn container(container: &Container<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    check(container, &mut diagnostics, MAX_DEPTH);
    diagnostics.sort_by_offset();
    diagnostics
}

/// A parsed part.
struct ParsedPart<'a> {
    part: Part<'a>,
    data: PartData,
}

fn check(container: &Container<'_>, diagnostics: &mut Diagnostics, depth: usize) {
    header(container, diagnostics);
    let parts = directory(container, diagnostics);
    names(&parts, diagnostics);
    let read = read_parts(&parts, diagnostics, depth);
    required(container, &parts, &read, diagnostics);
    for found in &read {
        parts::part(found, diagnostics);
    }
    parts::cross_check(&read, diagnostics);
}

fn header(container: &Container<'_>, diagnostics: &mut Diagnostics) {
    let base = container.file().base();
    let header = container.header();
    if (header.major, header.minor) != (1, 0) {
        diagnostics.warning(
            "dx-version",
            Error::new(ErrorKind::BadValue, base.saturating_add(20), "unknown container version")
                .expected("1.0")
                .found(format!("{}.{}", header.major, header.minor))
                .within("header"),
        );
    }
    let real = container.file().data().len() as u64;
    if u64::from(header.file_size) != real {
        let cut = u64::from(header.file_size) > real;
        diagnostics.error(
            "dx-size",
            Error::new(
                ErrorKind::OutOfRange,
                base.saturating_add(24),
                "size in the header is not that of the file",
            )
            .expected(format!("{real}"))
            .found(format!("{}", header.file_size))
            .hint(if cut { "the file is truncated" } else { "bytes follow the container" })
            .within("header"),
        );
    }
    digest(container, diagnostics);
}

fn digest(container: &Container<'_>, diagnostics: &mut Diagnostics) {
    let (found, computed) = (container.header().digest, container.computed_digest());
    let file_offset = container.file().base().saturating_add(4);
    let error =
        |message: &'static str| Error::new(ErrorKind::BadChecksum, file_offset, message).within("header");
    match found.marker() {
        None if found == computed => {}
        None => diagnostics.error(
            "dx-digest",
            error("digest does not match the container")
                .expected(format!("{computed}"))
                .found(format!("{found}"))
                .hint("the container was changed after it was signed; `unshade sign` updates the digest"),
        ),
        Some("unsigned") => diagnostics.warning(
            "dx-digest",
            error("container is not signed")
                .expected(format!("{computed}"))
                .found("zeros")
                .hint("Windows rejects it outside of developer mode; `unshade sign` signs it"),
        ),
        Some(sign) => diagnostics.note(
            "dx-digest",
            error("digest is a marker that asks the runtime to skip the check")
                .expected(format!("{computed}"))
                .found(format!("{sign}, {found}")),
        ),
    }
}

/// Checks the offsets of the parts; returns the parts inside the file.
fn directory<'a>(container: &Container<'a>, diagnostics: &mut Diagnostics) -> Vec<Part<'a>> {
    let base = container.file().base();
    let mut parts = Vec::new();
    let mut misplaced = 0usize;
    for (index, found) in container.parts().enumerate() {
        let file_offset = base.saturating_add(32).saturating_add((index as u64).saturating_mul(4));
        let offset = container.offsets().get(index).copied().unwrap_or_default();
        let error = |message: &'static str| {
            Error::new(ErrorKind::OutOfRange, file_offset, message)
                .within(format!("part {index}"))
                .within("directory")
        };
        let inside = u64::from(offset) < container.directory_end();
        if found.is_err() || inside {
            misplaced = misplaced.saturating_add(1);
            if misplaced > MAX_MISPLACED {
                continue;
            }
        }
        let part = match found {
            Ok(part) => part,
            Err(limit) if limit.kind() == ErrorKind::Limit => {
                diagnostics.error("dx-part-overlap", limit);
                continue;
            }
            Err(_) => {
                diagnostics.error(
                    "dx-part-range",
                    error("header of the part is outside of the file")
                        .expected(format!("at most {:#x}", container.file().data().len()))
                        .found(format!("{offset:#x}")),
                );
                continue;
            }
        };
        if inside {
            diagnostics.error(
                "dx-part-range",
                error("part starts inside the header or directory")
                    .expected(format!("at least {:#x}", container.directory_end()))
                    .found(format!("{offset:#x}")),
            );
            continue;
        }
        if part.is_truncated() {
            let file_offset = base.saturating_add(u64::from(offset)).saturating_add(4);
            diagnostics.error(
                "dx-part-range",
                Error::new(ErrorKind::OutOfRange, file_offset, "part extends past the end of the file")
                    .expected(format!("at most {} bytes", part.data.data().len()))
                    .found(format!("{}", part.declared_size))
                    .hint("the file is truncated, or the size was changed")
                    .within(part.label()),
            );
        }
        parts.push(part);
    }
    if misplaced > MAX_MISPLACED {
        diagnostics.error(
            "dx-part-range",
            Error::new(
                ErrorKind::OutOfRange,
                base.saturating_add(28),
                "directory lists parts outside of the file",
            )
            .expected("the number of parts")
            .found(format!("{}, of which {misplaced} are outside of the file", container.header().part_count))
            .hint("the number of parts in the header was changed, or the directory was overwritten")
            .within("header"),
        );
    }
    neighbours(container, &parts, diagnostics);
    parts
}

/// Checks that the parts follow each other without gaps.
fn neighbours(container: &Container<'_>, parts: &[Part<'_>], diagnostics: &mut Diagnostics) {
    let base = container.file().base();
    let mut sorted: Vec<&Part<'_>> = parts.iter().collect();
    sorted.sort_by_key(|part| part.offset);
    let mut at = container.directory_end();
    for part in &sorted {
        let range = part.range();
        let file_offset = base.saturating_add(range.start);
        if range.start < at && range.start >= container.directory_end() {
            diagnostics.error(
                "dx-part-overlap",
                Error::new(ErrorKind::OutOfRange, file_offset, "part overlaps the one before it")
                    .expected(format!("at least {at:#x}"))
                    .found(format!("{:#x}", range.start))
                    .within(part.label()),
            );
        } else if range.start > at {
            diagnostics.warning(
                "dx-part-order",
                Error::new(
                    ErrorKind::BadValue,
                    base.saturating_add(at),
                    "bytes before the part belong to no part",
                )
                .found(format!("{} bytes", range.start.saturating_sub(at)))
                .hint("DXC rejects containers with gaps")
                .within(part.label()),
            );
        }
        at = at.max(range.end);
    }
    if parts.windows(2).any(|pair| matches!(pair, [a, b] if a.offset > b.offset)) {
        diagnostics.warning(
            "dx-part-order",
            Error::new(
                ErrorKind::BadValue,
                base.saturating_add(32),
                "parts are not in the order of the directory",
            )
            .within("directory"),
        );
    }
    let end = u64::from(container.header().file_size).min(container.file().data().len() as u64);
    if at < end {
        diagnostics.warning(
            "dx-part-order",
            Error::new(
                ErrorKind::BadValue,
                base.saturating_add(at),
                "bytes after the last part belong to no part",
            )
            .found(format!("{} bytes", end.saturating_sub(at))),
        );
    }
}

/// Returns whether a part may occur more than once.
fn may_repeat(name: FourCc) -> bool {
    matches!(&name.0, b"LIBF" | b"Aon9")
}

fn names(parts: &[Part<'_>], diagnostics: &mut Diagnostics) {
    let mut seen: alloc::collections::BTreeMap<FourCc, u32> = alloc::collections::BTreeMap::new();
    for part in parts {
        let error = |message: &'static str| Error::new(ErrorKind::BadValue, name_offset(part), message);
        if let Some(first) = seen.get(&part.name)
            && !may_repeat(part.name)
        {
            diagnostics.error(
                "dx-part-duplicate",
                error("duplicate part")
                    .found(format!("also part {first}"))
                    .hint("DXC rejects such a container")
                    .within(part.label()),
            );
        }
        seen.entry(part.name).or_insert(part.index);
        if part::describe(part.name).is_none() {
            diagnostics.note("dx-part-unknown", error("unknown part").within(part.label()));
        }
    }
}

fn name_offset(part: &Part<'_>) -> u64 {
    part.data.base().saturating_sub(PART_HEADER_SIZE.into())
}

fn read_parts<'a>(parts: &[Part<'a>], diagnostics: &mut Diagnostics, depth: usize) -> Vec<ParsedPart<'a>> {
    let mut read = Vec::new();
    for part in parts {
        if part::is_container(part.name, part.data.data()) {
            match (Container::read(part.data), depth.checked_sub(1)) {
                (Ok(inner), Some(depth)) => check(&inner, diagnostics, depth),
                (Err(fault), _) => diagnostics.error("dx-part-form", fault.within(part.label())),
                (_, None) => diagnostics.error(
                    "dx-part-form",
                    Error::new(ErrorKind::Limit, part.data.base(), "containers are nested too deeply"),
                ),
            }
            continue;
        }
        match PartData::read(part.name, part.data) {
            Ok(data) => {
                if data.write().is_ok_and(|written| written != part.data.data()) {
                    diagnostics.warning(
                        "dx-part-form",
                        Error::new(ErrorKind::BadValue, part.data.base(), "part has a non-standard layout")
                            .within(part.label()),
                    );
                }
                read.push(ParsedPart { part: part.clone(), data });
            }
            Err(fault) => diagnostics.error("dx-part-form", fault.within(part.label())),
        }
    }
    read
}

/// Returns the parts that DXC's validator requires, by the kind of program.
fn required_parts(version: ProgramVersion) -> &'static [&'static str] {
    use crate::program::ShaderKind;
    match version.kind() {
        ShaderKind::LIBRARY => &["RDAT"],
        _ => &["SFI0", "ISG1", "OSG1", "PSV0"],
    }
}

fn required(
    container: &Container<'_>,
    parts: &[Part<'_>],
    read: &[ParsedPart<'_>],
    diagnostics: &mut Diagnostics,
) {
    let has = |name: &str| parts.iter().any(|part| part.name.0 == name.as_bytes());
    let base = container.file().base();
    let mut missing = |name: &str, why: String| {
        diagnostics.error(
            "dx-part-missing",
            Error::new(ErrorKind::BadValue, base.saturating_add(28), format!("part {name} is missing"))
                .hint(why)
                .within("directory"),
        );
    };
    let dxil = read.iter().find_map(|found| match &found.data {
        PartData::Program(program) if found.part.name.0 == *b"DXIL" => Some(program),
        _ => None,
    });
    if let Some(program) = dxil {
        for name in required_parts(program.version()) {
            if !has(name) {
                missing(name, format!("DXC's validator requires it in a {} container", program.version()));
            }
        }
    } else if (has("PSV0") || has("RDAT"))
        && !["DXIL", "ILDB", "SHEX", "SHDR", "DXBC"].iter().any(|name| has(name))
    {
        missing("DXIL", "the other parts describe a missing program".into());
    }
}
