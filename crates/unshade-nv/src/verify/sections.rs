//! Checks of sections and segments: their ranges and references.

use super::is_inside;
use crate::cubin::{Cubin, INDEX_MASK, Role};
use crate::elf::{Section, SectionType};
use crate::symbol::SymbolType;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped};

pub(super) fn check(cubin: &Cubin<'_>, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    let size = elf.file().data().len() as u64;
    let names = elf.section(elf.names_index()).ok();
    let mut ranges: Vec<(u64, u64, u32)> = Vec::new();
    for section in elf.sections() {
        let header = section.header_range.0;
        let label = label(&section);
        if section.has_bytes() && !is_inside(section.offset, section.size, size) {
            let error = Error::new(ErrorKind::OutOfRange, header, "section extends beyond the file")
                .expected(format!("at most {size:#x}"))
                .found(format!("{:#x} bytes at {:#x}", section.size, section.offset))
                .within(label.clone());
            diagnostics.error("nv-section-range", error);
        } else if section.has_bytes() {
            ranges.push((section.offset, section.offset.saturating_add(section.size), section.index));
        }
        let has_name = match &names {
            Some(names) => elf.string(names, section.name_offset).is_ok(),
            None => false,
        };
        if !has_name {
            let error = Error::new(ErrorKind::OutOfRange, header, "section name is outside the string table");
            diagnostics.error(
                "nv-section-name",
                error.found(format!("{:#x}", section.name_offset)).within(label.clone()),
            );
        }
        links(cubin, &section, &label, diagnostics);
    }
    overlaps(cubin, ranges, diagnostics);
    for (index, segment) in elf.segments().enumerate() {
        if segment.file_size > 0 && !is_inside(segment.offset, segment.file_size, size) {
            let error = Error::new(
                ErrorKind::OutOfRange,
                elf.segment_table().start,
                "segment extends beyond the file",
            )
            .expected(format!("at most {size:#x}"))
            .found(format!("{:#x} bytes at {:#x}", segment.file_size, segment.offset));
            diagnostics.error("nv-segment-range", error.within(format!("segment {index}")));
        }
    }
}

pub(super) fn label(section: &Section<'_>) -> String {
    format!("section {} {}", section.index, Escaped(section.name).quoted())
}

fn links(cubin: &Cubin<'_>, section: &Section<'_>, label: &str, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    let header = section.header_range.0;
    let mut report = |message: &'static str, expected: String, found: String| {
        let error = Error::new(ErrorKind::OutOfRange, header, message).expected(expected).found(found);
        diagnostics.error("nv-section-link", error.within(String::from(label)));
    };
    // Only symbol tables are read by their link, which is the section of their names. Toolkit 12 leaves stale links in
    // others, so that a cubin without code has a call graph for a symbol table that is not there.
    let has_names = matches!(section.kind, SectionType::SYMTAB | SectionType::CUDA_MERCURY_SYMTAB);
    if has_names && section.link >= elf.section_count() {
        report(
            "section links to a section that does not exist",
            format!("below {}", elf.section_count()),
            format!("{}", section.link),
        );
    }
    if section.is_relocations() {
        if section.info & INDEX_MASK >= elf.section_count() {
            report(
                "relocations apply to a section that does not exist",
                format!("below {}", elf.section_count()),
                format!("{}", section.info),
            );
        }
        return;
    }
    let (role, function) = Role::of(section);
    if role == Role::Code {
        let owner = elf.symbol(section.info & INDEX_MASK);
        let is_right = owner.is_some_and(|owner| {
            owner.kind == SymbolType::FUNCTION && u32::from(owner.section) == section.index
        });
        if !is_right {
            report(
                "code section without a function: its registers and records are unknown",
                "the symbol of a function in this section".into(),
                format!("symbol {}", section.info & INDEX_MASK),
            );
        }
        return;
    }
    let is_per_function = matches!(role, Role::Shared | Role::Local | Role::Constant(_))
        || (role == Role::Info && section.kind == SectionType::CUDA_INFO);
    if !is_per_function || function.is_empty() || section.info == 0 {
        return;
    }
    let code = elf.section(section.info & INDEX_MASK).ok();
    let code_role = code.as_ref().map(Role::of);
    if code_role != Some((Role::Code, function)) {
        report(
            "section refers to the code of another function",
            format!(".text.{}", Escaped(function)),
            code.map_or_else(
                || format!("no section {}", section.info & INDEX_MASK),
                |code| format!("{}", Escaped(code.name)),
            ),
        );
    }
}

/// Reports overlapping sections. Identical ranges are fine: toolkit 13 gives the same bytes two names.
fn overlaps(cubin: &Cubin<'_>, mut ranges: Vec<(u64, u64, u32)>, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    ranges.sort_unstable();
    let mut last = (0, 0, 0);
    for range in ranges {
        let (start, end, index) = range;
        if start < last.1 && (start, end) != (last.0, last.1) {
            let name = |index| elf.section(index).map_or_else(|_| String::new(), |section| label(&section));
            let error = Error::new(
                ErrorKind::BadValue,
                elf.file().base().saturating_add(start),
                "section overlaps another section",
            )
            .expected(format!("a start at {:#x} or later", last.1))
            .found(format!("{start:#x}, inside {}", name(last.2)))
            .within(name(index));
            diagnostics.error("nv-section-overlap", error);
        }
        if end > last.1 {
            last = range;
        }
    }
}
