//! Verification of fat binaries, their entries, cubins and PTX.
//!
//! [`fatbin`], [`cubin`] and [`ptx`] check everything that does not need instructions to be decoded. [`RULES`]
//! lists the rules, and `docs/verify.md` explains them. Findings are in file order.

mod content;
mod sections;

use crate::compression::Compression;
use crate::cubin::{Cubin, OS_ABIS};
use crate::elf::Class;
use crate::fatbin::{Entry, EntryKind, Fatbin, Flags, HEADER_SIZE};
use crate::ptx::Ptx;
use alloc::format;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped, Reader, Result};

/// The rules, each with a one-line description.
pub const RULES: &[(&str, &str)] = &[
    ("nv-fatbin-header", "The container's version is 1, its header has 16 bytes."),
    ("nv-fatbin-size", "The size in the container's header matches the size of its entries."),
    ("nv-entry-header", "An entry's header has a known kind and version, and a sufficient size."),
    ("nv-entry-size", "The payload is complete and has the size that the header states."),
    ("nv-entry-flags", "The flags are known and do not contradict each other."),
    ("nv-entry-text", "Name and options are inside the entry's header."),
    ("nv-entry-data", "The payload decompresses to the size that the header states."),
    ("nv-entry-chip", "An entry names the same chip as its cubin."),
    (
        "nv-elf-header",
        "The ELF header has the record sizes of its class, and its tables are inside the file.",
    ),
    ("nv-elf-class", "A cubin is of the 64-bit class."),
    ("nv-toolkit", "ABI, version and flags are those of a known toolkit."),
    ("nv-section-range", "Every section is inside the file."),
    ("nv-section-overlap", "Sections do not overlap, except for those with identical ranges."),
    ("nv-section-name", "Every section has a name."),
    ("nv-section-link", "A section refers to existing sections and symbols, of its own function."),
    ("nv-segment-range", "Every segment is inside the file."),
    ("nv-symbol-table", "There is a symbol table, with complete entries."),
    ("nv-symbol", "A symbol has a name and is inside its section."),
    ("nv-relocation", "A relocation has a known type, an existing symbol, and an offset inside its section."),
    ("nv-info", "Records can be read, and refer to existing symbols and code."),
    ("nv-info-unknown", "An undocumented attribute."),
    ("nv-function", "A function has complete instructions, a register count, and its own records."),
    ("nv-parameters", "The parameters of a kernel are inside its constant bank and do not overlap."),
    ("nv-line-table", "The line table can be read, and refers to existing code."),
    ("nv-debug-info", "Names and types of the source code can be read."),
    ("nv-ptx", "PTX states its version and target, and is text."),
];

/// Checks a fat binary and everything in it.
pub fn fatbin(fatbin: &Fatbin<'_>) -> Diagnostics {
    let mut diagnostics = container(fatbin);
    for found in fatbin.entries() {
        if let Some(found) = diagnostics.take("nv-entry-header", found) {
            diagnostics.append(entry(&found));
        }
    }
    diagnostics
}

/// Checks the container of a fat binary, without its entries.
pub fn container(fatbin: &Fatbin<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let base = fatbin.file().base();
    if (fatbin.version, fatbin.header_size) != (1, HEADER_SIZE) {
        diagnostics.error(
            "nv-fatbin-header",
            Error::new(ErrorKind::BadValue, base.saturating_add(4), "unknown header version or size")
                .expected(format!("version 1, {HEADER_SIZE} bytes"))
                .found(format!("version {}, {} bytes", fatbin.version, fatbin.header_size))
                .within("header"),
        );
    }
    let real = (fatbin.file().data().len() as u64).saturating_sub(u64::from(fatbin.header_size));
    if fatbin.payload_size != real {
        let is_cut = fatbin.payload_size > real;
        let error =
            Error::new(ErrorKind::OutOfRange, base.saturating_add(8), "stated size of the entries is wrong")
                .expected(format!("{real}"))
                .found(format!("{}", fatbin.payload_size))
                .hint(if is_cut { "the file is truncated" } else { "bytes follow the container" })
                .within("header");
        diagnostics.error("nv-fatbin-size", error);
    }
    diagnostics
}

/// Checks an entry of a fat binary, and what is in it.
pub fn entry(entry: &Entry<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    check_entry(entry, &mut diagnostics);
    diagnostics
}

fn check_entry(entry: &Entry<'_>, diagnostics: &mut Diagnostics) {
    let label = entry.label();
    let at = |offset: u64| entry.offset().saturating_add(offset);
    let error =
        |kind, offset, message: &'static str| Error::new(kind, at(offset), message).within(label.clone());
    if entry.kind.name().is_none() || entry.version != 0x0101 {
        diagnostics.warning(
            "nv-entry-header",
            error(ErrorKind::BadValue, 0, "unknown kind or header version")
                .expected("kind 1, 2 or 8, version 0x101")
                .found(format!("kind {}, version {:#x}", entry.kind.0, entry.version)),
        );
    }
    let is_scrambled = entry.flags.has(Flags::SCRAMBLED);
    if entry.reserved != 0 && !is_scrambled {
        diagnostics.note(
            "nv-entry-header",
            error(ErrorKind::BadValue, 48, "reserved field is not 0")
                .expected("0")
                .found(format!("{:#x}", entry.reserved)),
        );
    }
    check_flags(entry, &error, diagnostics);
    let is_packed = entry.compression() != Compression::None;
    if is_packed && u64::from(entry.packed_size) > entry.padded_size {
        diagnostics.error(
            "nv-entry-size",
            error(ErrorKind::OutOfRange, 16, "compressed size is larger than the payload")
                .expected(format!("at most {}", entry.padded_size))
                .found(format!("{}", entry.packed_size)),
        );
    }
    let name = entry.header.part(u64::from(entry.name_offset), u64::from(entry.name_size)).map(|_| ());
    if let Err(error) = name.and(entry.options().map(|_| ())) {
        diagnostics.error("nv-entry-text", error.within(label.clone()));
    }
    let rule = if (entry.payload.data().len() as u64) < entry.padded_size {
        "nv-entry-size"
    } else {
        "nv-entry-data"
    };
    // What is scrambled can't be checked; that is no fault of the file.
    let is_complete = entry.payload.data().len() as u64 >= entry.padded_size;
    if is_scrambled && is_complete {
        return;
    }
    let data = match entry.data() {
        Ok(data) => data,
        Err(error) => {
            diagnostics.push(unshade_core::Diagnostic {
                severity: unshade_core::Severity::Error,
                rule,
                error,
            });
            return;
        }
    };
    if entry.kind == EntryKind::PTX {
        diagnostics.append(within(ptx(&entry.ptx(&data)), &label));
    } else if entry.kind == EntryKind::ELF
        && let Some(found) = diagnostics.take("nv-elf-header", entry.cubin(&data))
    {
        if found.arch() != entry.arch {
            diagnostics.error(
                "nv-entry-chip",
                error(ErrorKind::BadValue, 28, "entry and cubin name different chips")
                    .expected(format!("{}", found.arch()))
                    .found(format!("{}", entry.arch)),
            );
        }
        diagnostics.append(within(cubin(&found), &label));
    }
}

fn check_flags(
    entry: &Entry<'_>,
    error: &dyn Fn(ErrorKind, u64, &'static str) -> Error,
    diagnostics: &mut Diagnostics,
) {
    if entry.flags.has(Flags::LZ4) && entry.flags.has(Flags::ZSTD) {
        diagnostics.error(
            "nv-entry-flags",
            error(ErrorKind::BadValue, 40, "flags name two kinds of compression")
                .expected("LZ4 or Zstandard")
                .found(format!("{:#x}", entry.flags.0)),
        );
    }
    // Toolkits 8 and 9 set it; its meaning is unknown.
    const SEEN: u64 = 0x4;
    let unknown = Flags::NAMED.iter().fold(entry.flags.0, |rest, (flag, _)| rest & !flag) & !SEEN;
    if unknown != 0 {
        diagnostics.note(
            "nv-entry-flags",
            error(ErrorKind::BadValue, 40, "undocumented flags").found(format!("{unknown:#x}")),
        );
    }
}

/// Prefixes the path of each finding with `label`.
fn within(findings: Diagnostics, label: &str) -> Diagnostics {
    let mut all = Diagnostics::new();
    for finding in &findings {
        let mut finding = finding.clone();
        finding.error = finding.error.within(alloc::string::String::from(label));
        all.push(finding);
    }
    all
}

/// Checks PTX.
pub fn ptx(ptx: &Ptx<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let base = ptx.file().base();
    for (directive, value) in [(".version", ptx.version()), (".target", ptx.target())] {
        if value.is_none() {
            let error = Error::new(ErrorKind::BadValue, base, "required directive is missing");
            diagnostics.error("nv-ptx", error.expected(directive).within("PTX"));
        }
    }
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\n' | b'\r' | b'\t');
    if let Some(index) = ptx.text().iter().position(is_control) {
        let byte = ptx.text().get(index..).and_then(|rest| rest.get(..1)).unwrap_or_default();
        let error =
            Error::new(ErrorKind::BadValue, base.saturating_add(index as u64), "control character in text");
        diagnostics.error("nv-ptx", error.found(format!("{}", Escaped(byte))).within("PTX"));
    }
    diagnostics
}

/// Checks a cubin.
pub fn cubin(cubin: &Cubin<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    header(cubin, &mut diagnostics);
    sections::check(cubin, &mut diagnostics);
    content::check(cubin, &mut diagnostics);
    diagnostics.sort_by_offset();
    diagnostics
}

fn header(cubin: &Cubin<'_>, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    let header = elf.header();
    let base = elf.file().base();
    let error = |offset: u64, message: &'static str| {
        Error::new(ErrorKind::BadValue, base.saturating_add(offset), message).within("ELF header")
    };
    let sizes = elf.class().sizes();
    let found = (header.header_size, header.section_size, header.segment_size);
    // A missing table needs no entry size.
    let is_right = header.header_size == sizes.header
        && (header.sections_offset == 0 || header.section_size == sizes.section)
        && (header.segment_count == 0 || header.segment_size == sizes.segment);
    if !is_right || header.data != 1 {
        diagnostics.error(
            "nv-elf-header",
            error(0x28, "wrong byte order, header size or entry size for this class")
                .expected(format!("order 1, {}, {}, {}", sizes.header, sizes.section, sizes.segment))
                .found(format!("order {}, {}, {}, {}", header.data, found.0, found.1, found.2)),
        );
    }
    for (name, declared, present, offset) in [
        ("sections", elf.declared_sections(), elf.section_count(), header.sections_offset),
        ("segments", u32::from(header.segment_count), u32::from(elf.segment_count()), header.segments_offset),
    ] {
        if present < declared {
            let error = Error::new(
                ErrorKind::Truncated,
                base.saturating_add(offset),
                "table extends beyond the file",
            );
            diagnostics.error(
                "nv-elf-header",
                error.expected(format!("{declared} {name}")).found(format!("{present}")).within("ELF header"),
            );
        }
    }
    if elf.class() == Class::Elf32 {
        let error = error(4, "32-bit cubin, which toolkit 12 no longer supports");
        diagnostics.warning("nv-elf-class", error.expected("2").found("1"));
    }
    toolkit(cubin, &error, diagnostics);
}

/// The toolkit versions times ten that produced cubins of ABI 7.
const TOOLKITS: core::ops::RangeInclusive<u32> = 40..=129;

/// Known chips.
const CHIPS: core::ops::RangeInclusive<u32> = 10..=129;

fn toolkit(cubin: &Cubin<'_>, error: &dyn Fn(u64, &'static str) -> Error, diagnostics: &mut Diagnostics) {
    let header = cubin.elf().header();
    let [old, new] = OS_ABIS;
    let is_known = match (header.os_abi, header.abi_version) {
        (abi, 0..=7) if abi == old => TOOLKITS.contains(&header.version),
        (abi, 8) if abi == new => header.version == 1,
        _ => false,
    };
    if !is_known {
        diagnostics.warning(
            "nv-toolkit",
            error(7, "unknown combination of ABI and toolkit version")
                .expected(format!("{old:#x}, 7 and 40 to 129, or {new:#x}, 8 and 1"))
                .found(format!("{:#x}, {} and {}", header.os_abi, header.abi_version, header.version)),
        );
    }
    if !CHIPS.contains(&cubin.arch()) {
        let flags_at = if cubin.elf().class() == Class::Elf64 { 48 } else { 36 };
        diagnostics.warning(
            "nv-toolkit",
            error(flags_at, "flags name an unknown chip").expected("10 to 129").found(format!(
                "sm_{} in {:#x}",
                cubin.arch(),
                header.flags
            )),
        );
    }
}

/// Returns whether `size` bytes at `offset` end at or before `limit`.
fn is_inside(offset: u64, size: u64, limit: u64) -> bool {
    offset.checked_add(size).is_some_and(|end| end <= limit)
}

/// Converts a name that can't be read to an error at `base`.
fn unreadable_name(name: Result<&[u8]>, base: u64) -> Option<Error> {
    match name {
        Ok(_) => None,
        Err(error) => Some(
            Error::new(ErrorKind::OutOfRange, base, "name is outside the string table")
                .found(format!("{error}")),
        ),
    }
}

fn no_bytes<'a>() -> Reader<'a> {
    Reader::new(&[])
}
