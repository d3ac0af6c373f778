//! Is the container sound?
//!
//! [`container`] checks everything: header and directory, the digest, each part by itself, and parts against each
//! other. The rules are listed in [`RULES`] and told in `docs/verify.md`. Nothing is executed and no bitcode is read;
//! what needs the module is for the caller (see [`features_of_module`]).

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

/// The rules that a container may break, with what each says.
pub const RULES: &[(&str, &str)] = &[
    ("dx-version", "The container's version is 1.0."),
    ("dx-size", "The size in the header is the real one."),
    ("dx-digest", "The digest is that of the bytes; a container without one is not signed."),
    ("dx-part-range", "Every part lies inside of the file, after the directory."),
    ("dx-part-overlap", "No two parts share a byte."),
    ("dx-part-order", "The parts follow each other in the order of the directory, without gaps."),
    ("dx-part-duplicate", "A part stands once, but for the functions of a library."),
    ("dx-part-missing", "The parts that a program needs are there."),
    ("dx-part-unknown", "A part that nobody has described."),
    ("dx-part-form", "A part has the form that its name calls for."),
    ("dx-program", "Programs are as large as their headers say, and of one kind and model."),
    ("dx-hash", "HASH is the MD5 of the bitcode."),
    ("dx-features", "SFI0 names features that are known, and those that the module needs."),
    (
        "dx-signature",
        "The elements of a signature have known types, masks of four bits, and registers of their own.",
    ),
    ("dx-psv", "PSV0 refers to texts and indices that are there, and has as many masks as it needs."),
    ("dx-psv-signature", "PSV0 and the signatures tell of the same elements."),
    ("dx-root-signature", "A root signature keeps the limits that D3D12 sets."),
    ("dx-rdat", "RDAT refers to texts, lists, bytes and records that are there."),
    ("dx-sources", "The sources can be inflated, and are as many as their names."),
    ("dx-info", "Names and versions have the sizes that their parts say."),
];

/// So many parts that can't be found are told one by one; of more the number is.
const MAX_MISPLACED: usize = 8;

/// Checks a container and those inside of it.
pub fn container(container: &Container<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    check(container, &mut diagnostics, MAX_DEPTH);
    diagnostics.sort_by_offset();
    diagnostics
}

/// A part with what it holds.
struct Read<'a> {
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
    parts::together(&read, diagnostics);
}

fn header(container: &Container<'_>, diagnostics: &mut Diagnostics) {
    let base = container.file().base();
    let header = container.header();
    if (header.major, header.minor) != (1, 0) {
        diagnostics.warning(
            "dx-version",
            Error::new(ErrorKind::BadValue, base.saturating_add(20), "unknown version of the container")
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
                "size in the header is not the real one",
            )
            .expected(format!("{real}"))
            .found(format!("{}", header.file_size))
            .hint(if cut { "the file is cut off" } else { "bytes follow the container" })
            .within("header"),
        );
    }
    digest(container, diagnostics);
}

fn digest(container: &Container<'_>, diagnostics: &mut Diagnostics) {
    let (found, computed) = (container.header().digest, container.computed_digest());
    let place = container.file().base().saturating_add(4);
    let error = |message: &'static str| Error::new(ErrorKind::BadChecksum, place, message).within("header");
    match found.sign() {
        None if found == computed => {}
        None => diagnostics.error(
            "dx-digest",
            error("digest is not that of the container")
                .expected(format!("{computed}"))
                .found(format!("{found}"))
                .hint("the container was changed after it was signed; `unshade sign` computes it anew"),
        ),
        Some("unsigned") => diagnostics.warning(
            "dx-digest",
            error("container is not signed")
                .expected(format!("{computed}"))
                .found("zeros")
                .hint("Windows refuses it outside of developer mode; `unshade sign` computes it"),
        ),
        Some(sign) => diagnostics.note(
            "dx-digest",
            error("digest is a sign that asks the runtime not to check it")
                .expected(format!("{computed}"))
                .found(format!("{sign}, {found}")),
        ),
    }
}

/// Checks where the parts are; returns those that can be found.
fn directory<'a>(container: &Container<'a>, diagnostics: &mut Diagnostics) -> Vec<Part<'a>> {
    let base = container.file().base();
    let mut parts = Vec::new();
    let mut misplaced = 0usize;
    for (index, found) in container.parts().enumerate() {
        let place = base.saturating_add(32).saturating_add((index as u64).saturating_mul(4));
        let offset = container.offsets().get(index).copied().unwrap_or_default();
        let error = |message: &'static str| {
            Error::new(ErrorKind::OutOfRange, place, message)
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
                    error("part's header is not in the file")
                        .expected(format!("at most {:#x}", container.file().data().len()))
                        .found(format!("{offset:#x}")),
                );
                continue;
            }
        };
        if inside {
            diagnostics.error(
                "dx-part-range",
                error("part starts inside of header or directory")
                    .expected(format!("at least {:#x}", container.directory_end()))
                    .found(format!("{offset:#x}")),
            );
            continue;
        }
        if part.is_truncated() {
            let place = base.saturating_add(u64::from(offset)).saturating_add(4);
            diagnostics.error(
                "dx-part-range",
                Error::new(ErrorKind::OutOfRange, place, "part leaves the file")
                    .expected(format!("at most {} bytes", part.data.data().len()))
                    .found(format!("{}", part.declared_size))
                    .hint("the file is cut off, or the size was changed")
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
                "directory names parts that are not there",
            )
            .expected("the number of parts")
            .found(format!("{}, of which {misplaced} can't be found", container.header().part_count))
            .hint("the number of parts in the header was changed, or the directory was overwritten")
            .within("header"),
        );
    }
    neighbours(container, &parts, diagnostics);
    parts
}

/// Checks that the parts follow each other.
fn neighbours(container: &Container<'_>, parts: &[Part<'_>], diagnostics: &mut Diagnostics) {
    let base = container.file().base();
    let mut sorted: Vec<&Part<'_>> = parts.iter().collect();
    sorted.sort_by_key(|part| part.offset);
    let mut at = container.directory_end();
    for part in &sorted {
        let range = part.range();
        let place = base.saturating_add(range.start);
        if range.start < at && range.start >= container.directory_end() {
            diagnostics.error(
                "dx-part-overlap",
                Error::new(ErrorKind::OutOfRange, place, "part overlaps the one before it")
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
                    "bytes before the part belong to nothing",
                )
                .found(format!("{} bytes", range.start.saturating_sub(at)))
                .hint("DXC refuses a container with gaps")
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
                "bytes after the last part belong to nothing",
            )
            .found(format!("{} bytes", end.saturating_sub(at))),
        );
    }
}

/// Names that may stand more than once.
fn may_repeat(name: FourCc) -> bool {
    matches!(&name.0, b"LIBF" | b"Aon9")
}

fn names(parts: &[Part<'_>], diagnostics: &mut Diagnostics) {
    let mut seen: alloc::collections::BTreeMap<FourCc, u32> = alloc::collections::BTreeMap::new();
    for part in parts {
        let error = |message: &'static str| Error::new(ErrorKind::BadValue, name_place(part), message);
        if let Some(first) = seen.get(&part.name)
            && !may_repeat(part.name)
        {
            diagnostics.error(
                "dx-part-duplicate",
                error("part stands twice")
                    .found(format!("also part {first}"))
                    .hint("DXC refuses such a container")
                    .within(part.label()),
            );
        }
        seen.entry(part.name).or_insert(part.index);
        if part::describe(part.name).is_none() {
            diagnostics.note("dx-part-unknown", error("nobody has described this part").within(part.label()));
        }
    }
}

fn name_place(part: &Part<'_>) -> u64 {
    part.data.base().saturating_sub(PART_HEADER_SIZE.into())
}

fn read_parts<'a>(parts: &[Part<'a>], diagnostics: &mut Diagnostics, depth: usize) -> Vec<Read<'a>> {
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
                        Error::new(
                            ErrorKind::BadValue,
                            part.data.base(),
                            "part is laid out in an unusual way",
                        )
                        .within(part.label()),
                    );
                }
                read.push(Read { part: part.clone(), data });
            }
            Err(fault) => diagnostics.error("dx-part-form", fault.within(part.label())),
        }
    }
    read
}

/// The parts that DXC's validator asks for, by the kind of program.
fn required_parts(version: ProgramVersion) -> &'static [&'static str] {
    use crate::program::ShaderKind;
    match version.kind() {
        ShaderKind::LIBRARY => &["RDAT"],
        _ => &["SFI0", "ISG1", "OSG1", "PSV0"],
    }
}

fn required(container: &Container<'_>, parts: &[Part<'_>], read: &[Read<'_>], diagnostics: &mut Diagnostics) {
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
                missing(name, format!("DXC's validator asks for it in a {} container", program.version()));
            }
        }
    } else if (has("PSV0") || has("RDAT"))
        && !["DXIL", "ILDB", "SHEX", "SHDR", "DXBC"].iter().any(|name| has(name))
    {
        missing("DXIL", "the other parts describe a program that is not there".into());
    }
}
