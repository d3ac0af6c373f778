//! Are a fat binary, its entries, a cubin and PTX sound?
//!
//! [`fatbin`], [`cubin`] and [`ptx`] check everything that can be told without decoding instructions. The rules are
//! listed in [`RULES`] and told in `docs/verify.md`. Findings are in file order.

mod content;
mod sections;

use crate::compression::Compression;
use crate::cubin::{Cubin, OS_ABIS};
use crate::elf::Class;
use crate::fatbin::{Entry, EntryKind, Fatbin, Flags, HEADER_SIZE};
use crate::ptx::Ptx;
use alloc::format;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped, Reader, Result};

/// The rules that a file may break, with what each says.
pub const RULES: &[(&str, &str)] = &[
    ("nv-fatbin-header", "The container's version is 1, its header has 16 bytes."),
    ("nv-fatbin-size", "The size in the container's header is that of its entries."),
    ("nv-entry-header", "An entry's header is of a known kind and version, and large enough."),
    ("nv-entry-size", "The payload is all there, and as large as the header says."),
    ("nv-entry-flags", "The flags are known and do not contradict each other."),
    ("nv-entry-text", "Name and options stand inside of the entry's header."),
    ("nv-entry-data", "The payload unpacks to the size that the header states."),
    ("nv-entry-chip", "An entry is for the chip that its cubin is for."),
    ("nv-elf-header", "The ELF header gives the sizes that its class has, and tables that are there."),
    ("nv-elf-class", "A cubin is of the 64-bit class."),
    ("nv-toolkit", "ABI, version and flags are those of a known toolkit."),
    ("nv-section-range", "Every section lies inside of the file."),
    ("nv-section-overlap", "Sections share no byte, but for those that are the same."),
    ("nv-section-name", "Every section has a name."),
    ("nv-section-link", "A section refers to sections and symbols that are there, and of its own function."),
    ("nv-segment-range", "Every segment lies inside of the file."),
    ("nv-symbol-table", "There is a table of symbols, of whole entries."),
    ("nv-symbol", "A symbol has a name, and lies inside of its section."),
    ("nv-relocation", "A relocation is of a known type, and refers to a symbol and a place that are there."),
    ("nv-info", "Records can be read, and refer to symbols and code that are there."),
    ("nv-info-unknown", "An attribute that nobody has described."),
    ("nv-function", "A function has whole instructions, registers, and records of its own."),
    ("nv-parameters", "The parameters of a kernel lie inside of its constant bank, and share no byte."),
    ("nv-line-table", "The line table can be read, and tells of code that is there."),
    ("nv-ptx", "PTX says its version and what it is for, and is text."),
];

/// Checks a fat binary and everything in it.
pub fn fatbin(fatbin: &Fatbin<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let base = fatbin.file().base();
    if (fatbin.version, fatbin.header_size) != (1, HEADER_SIZE) {
        diagnostics.error(
            "nv-fatbin-header",
            Error::new(ErrorKind::BadValue, base.saturating_add(4), "unknown version or size of the header")
                .expected(format!("version 1, {HEADER_SIZE} bytes"))
                .found(format!("version {}, {} bytes", fatbin.version, fatbin.header_size))
                .within("header"),
        );
    }
    let real = (fatbin.file().data().len() as u64).saturating_sub(u64::from(fatbin.header_size));
    if fatbin.payload_size != real {
        let is_cut = fatbin.payload_size > real;
        let error = Error::new(
            ErrorKind::OutOfRange,
            base.saturating_add(8),
            "size of the entries is not the real one",
        )
        .expected(format!("{real}"))
        .found(format!("{}", fatbin.payload_size))
        .hint(if is_cut { "the file is cut off" } else { "bytes follow the container" })
        .within("header");
        diagnostics.error("nv-fatbin-size", error);
    }
    for entry in fatbin.entries() {
        if let Some(entry) = diagnostics.take("nv-entry-header", entry) {
            check_entry(&entry, &mut diagnostics);
        }
    }
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
            error(ErrorKind::BadValue, 0, "unknown kind or version of the header")
                .expected("kind 1 or 2, version 0x101")
                .found(format!("kind {}, version {:#x}", entry.kind.0, entry.version)),
        );
    }
    if entry.reserved != 0 {
        diagnostics.note(
            "nv-entry-header",
            error(ErrorKind::BadValue, 48, "a field that is 0 in all real files")
                .expected("0")
                .found(format!("{:#x}", entry.reserved)),
        );
    }
    check_flags(entry, &error, diagnostics);
    let is_packed = entry.compression() != Compression::None;
    if is_packed && u64::from(entry.packed_size) > entry.padded_size {
        diagnostics.error(
            "nv-entry-size",
            error(ErrorKind::OutOfRange, 16, "packed size is more than there is room for")
                .expected(format!("at most {}", entry.padded_size))
                .found(format!("{}", entry.packed_size)),
        );
    }
    let texts = entry.header.part(u64::from(entry.name_offset), u64::from(entry.name_size)).map(|_| ());
    if let Err(fault) = texts.and(entry.options().map(|_| ())) {
        diagnostics.error("nv-entry-text", fault.within(label.clone()));
    }
    let rule = if (entry.payload.data().len() as u64) < entry.padded_size {
        "nv-entry-size"
    } else {
        "nv-entry-data"
    };
    let data = match entry.data() {
        Ok(data) => data,
        Err(fault) => {
            diagnostics.push(unshade_core::Diagnostic {
                severity: unshade_core::Severity::Error,
                rule,
                error: fault,
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
                error(ErrorKind::BadValue, 28, "the cubin is for another chip than its entry says")
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
            error(ErrorKind::BadValue, 40, "flags of two kinds of compression")
                .expected("LZ4 or Zstandard")
                .found(format!("{:#x}", entry.flags.0)),
        );
    }
    // Toolkits 8 and 9 set it; nobody knows what for.
    const SEEN: u64 = 0x4;
    let unknown = Flags::NAMED.iter().fold(entry.flags.0, |rest, (flag, _)| rest & !flag) & !SEEN;
    if unknown != 0 {
        diagnostics.note(
            "nv-entry-flags",
            error(ErrorKind::BadValue, 40, "flags that nobody has described").found(format!("{unknown:#x}")),
        );
    }
}

/// Puts the name of the surrounding thing before each path.
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
            let error = Error::new(ErrorKind::BadValue, base, "a directive that every file has is missing");
            diagnostics.error("nv-ptx", error.expected(directive).within("PTX"));
        }
    }
    let is_odd = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\n' | b'\r' | b'\t');
    if let Some(place) = ptx.text().iter().position(is_odd) {
        let byte = ptx.text().get(place..).and_then(|rest| rest.get(..1)).unwrap_or_default();
        let error = Error::new(
            ErrorKind::BadValue,
            base.saturating_add(place as u64),
            "a character that can't stand in text",
        );
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
    // A table that is not there needs no size.
    let is_right = header.header_size == sizes.header
        && (header.sections_offset == 0 || header.section_size == sizes.section)
        && (header.segment_count == 0 || header.segment_size == sizes.segment);
    if !is_right || header.data != 1 {
        diagnostics.error(
            "nv-elf-header",
            error(0x28, "byte order, or sizes of headers and entries, are not those of its class")
                .expected(format!("order 1, {}, {}, {}", sizes.header, sizes.section, sizes.segment))
                .found(format!("order {}, {}, {}, {}", header.data, found.0, found.1, found.2)),
        );
    }
    for (name, declared, there, place) in [
        ("sections", elf.declared_sections(), elf.section_count(), header.sections_offset),
        ("segments", u32::from(header.segment_count), u32::from(elf.segment_count()), header.segments_offset),
    ] {
        if there < declared {
            let error = Error::new(ErrorKind::Truncated, base.saturating_add(place), "table leaves the file");
            diagnostics.error(
                "nv-elf-header",
                error.expected(format!("{declared} {name}")).found(format!("{there}")).within("ELF header"),
            );
        }
    }
    if elf.class() == Class::Elf32 {
        let error = error(4, "a cubin of the 32-bit class, which toolkit 12 gave up");
        diagnostics.warning("nv-elf-class", error.expected("2").found("1"));
    }
    toolkit(cubin, &error, diagnostics);
}

/// The toolkits times ten that made cubins of ABI 7.
const TOOLKITS: core::ops::RangeInclusive<u32> = 40..=129;

/// The chips that have been.
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
            error(7, "ABI and version of an unknown toolkit")
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

/// Whether a range is inside of a section.
fn is_inside(offset: u64, size: u64, limit: u64) -> bool {
    offset.checked_add(size).is_some_and(|end| end <= limit)
}

/// The result of reading a name, where an empty offset means that there is none to read.
fn name_fault(name: Result<&[u8]>, base: u64) -> Option<Error> {
    match name {
        Ok(_) => None,
        Err(error) => Some(
            Error::new(ErrorKind::OutOfRange, base, "name lies outside of the section of names")
                .found(format!("{error}")),
        ),
    }
}

/// No bytes.
fn nothing<'a>() -> Reader<'a> {
    Reader::new(&[])
}
