//! Checks of section contents: symbols, relocations, records, functions, line tables.

use super::{is_inside, no_bytes, sections::label, unreadable_name};
use crate::attribute::{Attribute, Shape};
use crate::cubin::{Cubin, INDEX_MASK};
use crate::debug::DebugInfo;
use crate::elf::{FileType, SectionType};
use crate::function::{Details, Function, FunctionKind};
use crate::info::{Record, records};
use crate::line_table::LineTable;
use crate::relocation::Relocations;
use crate::symbol::{Symbol, Symbols};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped};

pub(super) fn check(cubin: &Cubin<'_>, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    let symbols = elf.symbols();
    let count = symbols.map_or(0, |symbols| symbols.count());
    let Some(table) = elf.symbol_section() else {
        let error = Error::new(ErrorKind::BadValue, elf.file().base(), "there is no symbol table");
        diagnostics.error("nv-symbol-table", error.hint("functions can't be found without it"));
        return;
    };
    let size = u64::from(elf.class().sizes().symbol);
    if table.size.checked_rem(size) != Some(0) || table.entry_size != size {
        diagnostics.error(
            "nv-symbol-table",
            Error::new(
                ErrorKind::BadValue,
                table.header_range.0,
                "size of the symbol table is not a multiple of its entry size",
            )
            .expected(format!("a multiple of {size} bytes"))
            .found(format!("{} bytes, {} per entry", table.size, table.entry_size))
            .within(label(&table)),
        );
    }
    if let Some(symbols) = symbols {
        for symbol in symbols.iter() {
            check_symbol(cubin, &symbols, &symbol, diagnostics);
        }
    }
    check_relocations(cubin, count, diagnostics);
    check_mercury_relocations(cubin, diagnostics);
    let mut unknown = Vec::new();
    check_other_records(cubin, &mut unknown, diagnostics);
    if let Some(section) = cubin.common_info() {
        let bytes = elf.bytes(&section).unwrap_or(no_bytes());
        for record in records(bytes) {
            let record = record.map_err(|error| error.within(label(&section)));
            let Some(record) = diagnostics.take("nv-info", record) else { continue };
            check_record(&record, count, None, &label(&section), diagnostics);
            note_unknown(&record, &mut unknown, diagnostics);
        }
    }
    for function in cubin.functions() {
        check_function(cubin, &function, count, &mut unknown, diagnostics);
    }
    check_lines(cubin, diagnostics);
    diagnostics.take("nv-debug-info", DebugInfo::of(cubin));
}

fn check_symbol(
    cubin: &Cubin<'_>,
    symbols: &Symbols<'_>,
    symbol: &Symbol<'_>,
    diagnostics: &mut Diagnostics,
) {
    let within =
        |error: Error| error.within(format!("symbol {} {}", symbol.index, Escaped(symbol.name).quoted()));
    if symbol.name_offset != 0
        && let Some(error) = unreadable_name(symbols.name(symbol.name_offset), symbol.range.0)
    {
        diagnostics.error("nv-symbol", within(error));
    }
    if symbol.section == Symbol::UNDEFINED || symbol.section >= Symbol::FIRST_RESERVED {
        return;
    }
    let Ok(section) = cubin.elf().section_header(u32::from(symbol.section)) else {
        let error = Error::new(
            ErrorKind::OutOfRange,
            symbol.range.0,
            "symbol refers to a section that does not exist",
        )
        .expected(format!("below {}", cubin.elf().section_count()))
        .found(format!("{}", symbol.section));
        diagnostics.error("nv-symbol", within(error));
        return;
    };
    // Until the linker has placed a variable without bytes, its value is an alignment, not an offset.
    let is_unplaced = cubin.elf().header().file_type == FileType::RELOCATABLE && !section.kind.has_bytes();
    let value = if is_unplaced { 0 } else { symbol.value };
    // Symbols of reserved shared memory have values beyond its end.
    let is_label = symbol.size == 0 && value <= section.size;
    let is_reserved = symbol.memory() == Some("reserved shared");
    if !is_label && !is_reserved && !is_inside(value, symbol.size, section.size) {
        let error = Error::new(ErrorKind::OutOfRange, symbol.range.0, "symbol extends beyond its section")
            .expected(format!("at most {:#x}", section.size))
            .found(format!("{:#x} bytes at {:#x}", symbol.size, symbol.value));
        diagnostics.error("nv-symbol", within(error));
    }
}

fn check_relocations(cubin: &Cubin<'_>, symbols: u32, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    for section in elf.headers().filter(|section| section.is_relocations()) {
        let Ok(section) = elf.section(section.index) else { continue };
        // The section checks report sections outside the file.
        let Ok(Some(table)) = Relocations::of(elf, &section) else { continue };
        let within = |error: Error| error.within(label(&section));
        if section.size.checked_rem(table.record_size()) != Some(0) {
            diagnostics.error(
                "nv-relocation",
                within(
                    Error::new(
                        ErrorKind::BadValue,
                        section.header_range.0,
                        "size of the section is not a multiple of its entry size",
                    )
                    .expected(format!("a multiple of {} bytes", table.record_size()))
                    .found(format!("{}", section.size)),
                ),
            );
        }
        let target = elf.section_header(section.info & INDEX_MASK).ok();
        let mut unknown = false;
        for (index, relocation) in table.iter().enumerate() {
            let error = |message: &'static str| {
                Error::new(ErrorKind::OutOfRange, relocation.range.0, message)
                    .within(format!("relocation {index}"))
            };
            if relocation.symbol >= symbols {
                let error = error("relocation refers to a symbol that does not exist");
                let error =
                    error.expected(format!("below {symbols}")).found(format!("{}", relocation.symbol));
                diagnostics.error("nv-relocation", within(error));
            }
            if target.as_ref().is_some_and(|target| relocation.offset >= target.size) {
                let size = target.as_ref().map_or(0, |target| target.size);
                let error = error("relocation offset is outside its section");
                let error =
                    error.expected(format!("below {size:#x}")).found(format!("{:#x}", relocation.offset));
                diagnostics.error("nv-relocation", within(error));
            }
            if relocation.kind.name().is_none() && !unknown {
                unknown = true;
                let error = error("undocumented relocation type");
                diagnostics.note("nv-relocation", within(error.found(format!("{}", relocation.kind.0))));
            }
        }
    }
}

/// Checks the relocations of capsule Mercury. They refer to a symbol table of their own, and their offsets to code that
/// is packed, so that it isn't known how long it is.
fn check_mercury_relocations(cubin: &Cubin<'_>, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    let symbols = elf.mercury_symbols().map_or(0, |symbols| symbols.count());
    for section in elf.headers().filter(|section| section.kind == SectionType::CUDA_MERCURY_RELA) {
        let Ok(Some(table)) = Relocations::of(elf, &section) else { continue };
        let bad = table.iter().find(|relocation| relocation.symbol >= symbols);
        if let (Some(bad), Ok(section)) = (bad, elf.section(section.index)) {
            let message = "relocation refers to a symbol that does not exist";
            let error = Error::new(ErrorKind::OutOfRange, bad.range.0, message)
                .expected(format!("below {symbols}"))
                .found(format!("{}", bad.symbol))
                .within(label(&section));
            diagnostics.error("nv-relocation", error);
        }
    }
}

/// Checks that the records of `.nv.compat` and of capsule Mercury can be read. What the latter refer to is in packed
/// code.
fn check_other_records(cubin: &Cubin<'_>, unknown: &mut Vec<Attribute>, diagnostics: &mut Diagnostics) {
    let elf = cubin.elf();
    let kinds = [SectionType::CUDA_COMPAT_INFO, SectionType::CUDA_MERCURY_INFO];
    for section in elf.sections().filter(|section| kinds.contains(&section.kind)) {
        let bytes = elf.bytes(&section).unwrap_or(no_bytes());
        for record in records(bytes) {
            let record = record.map_err(|error| error.within(label(&section)));
            let Some(record) = diagnostics.take("nv-info", record) else { continue };
            if section.kind == SectionType::CUDA_MERCURY_INFO {
                note_unknown(&record, unknown, diagnostics);
            }
        }
    }
}

/// Returns the size of an instruction in bytes.
fn instruction_size(arch: u32) -> u64 {
    if arch >= 70 { 16 } else { 8 }
}

fn check_function(
    cubin: &Cubin<'_>,
    function: &Function<'_>,
    symbols: u32,
    unknown: &mut Vec<Attribute>,
    diagnostics: &mut Diagnostics,
) {
    let label = function.label();
    let symbol = function.symbol.range.0;
    let error =
        |message: &'static str| Error::new(ErrorKind::BadValue, symbol, message).within(label.clone());
    let size = instruction_size(cubin.arch());
    let (start, length) = (function.symbol.value, function.symbol.size);
    if start.checked_rem(size) != Some(0) || length.checked_rem(size) != Some(0) {
        diagnostics.error(
            "nv-function",
            error("offset or size of the code is not a multiple of the instruction size")
                .expected(format!("multiples of {size}"))
                .found(format!("{length} bytes at {start:#x}")),
        );
    }
    if function.section.as_ref().is_some_and(|section| !section.is_code()) {
        diagnostics.error("nv-function", error("function is not in a code section"));
    }
    if function.kind != FunctionKind::Kernel {
        return;
    }
    if function.resources(cubin).registers.is_none() {
        diagnostics.warning("nv-function", error("register count of the kernel is missing"));
    }
    let code_size = function.section.as_ref().map(|section| section.size);
    let details = function.details(cubin);
    if let Some(error) = &details.fault {
        diagnostics.error("nv-info", error.clone());
    }
    for record in &details.records {
        check_record(record, symbols, code_size, &label, diagnostics);
        note_unknown(record, unknown, diagnostics);
    }
    check_parameters(cubin, function, &details, diagnostics);
}

fn check_record(
    record: &Record<'_>,
    symbols: u32,
    code_size: Option<u64>,
    label: &str,
    diagnostics: &mut Diagnostics,
) {
    let mut report = |message: &'static str, limit: u64, found: u64| {
        let error = Error::new(ErrorKind::OutOfRange, record.range.0, message)
            .expected(format!("below {limit:#x}"))
            .found(format!("{found:#x}"))
            .within(format!("{}", record.attribute))
            .within(String::from(label));
        diagnostics.error("nv-info", error);
    };
    let check_symbol = |symbol: u32| (symbol >= symbols).then_some(u64::from(symbol));
    match record.attribute.shape() {
        Shape::SymbolNumber => {
            if let Some(bad) = record.symbol_number().and_then(|(symbol, _)| check_symbol(symbol)) {
                report("record refers to a symbol that does not exist", u64::from(symbols), bad);
            }
        }
        Shape::Symbols => {
            if let Some(bad) = record.numbers().find_map(check_symbol) {
                report("record refers to a symbol that does not exist", u64::from(symbols), bad);
            }
        }
        Shape::ParameterBank => {
            if let Some(bad) = record.parameter_bank().and_then(|bank| check_symbol(bank.symbol)) {
                report("record refers to a symbol that does not exist", u64::from(symbols), bad);
            }
        }
        Shape::CodeOffsets => {
            let Some(size) = code_size else { return };
            if let Some(bad) = record.numbers().find(|offset| u64::from(*offset) >= size) {
                report("record refers to an instruction outside the code", size, u64::from(bad));
            }
        }
        shape @ (Shape::LoadedBytes | Shape::MemoryBarriers) => {
            let Some(size) = code_size else { return };
            // The other numbers of a group are no offsets, and can be larger than the code: a mask of 16 bytes, or
            // registers.
            let group = if shape == Shape::LoadedBytes { 2 } else { 4 };
            if let Some(bad) = record.numbers().step_by(group).find(|offset| u64::from(*offset) >= size) {
                report("record refers to an instruction outside the code", size, u64::from(bad));
            }
        }
        Shape::BranchTargets => {
            let Some(size) = code_size else { return };
            for branch in record.indirect_branches() {
                let mut offsets = core::iter::once(branch.offset).chain(branch.targets());
                if let Some(bad) = offsets.find(|offset| u64::from(*offset) >= size) {
                    report("record refers to an instruction outside the code", size, u64::from(bad));
                    return;
                }
            }
        }
        _ => {}
    }
}

fn note_unknown(record: &Record<'_>, unknown: &mut Vec<Attribute>, diagnostics: &mut Diagnostics) {
    if record.attribute.name().is_none() && !unknown.contains(&record.attribute) {
        unknown.push(record.attribute);
        diagnostics.note(
            "nv-info-unknown",
            Error::new(ErrorKind::Unsupported, record.range.0, "undocumented attribute")
                .found(format!("{:#04x}", record.attribute.0)),
        );
    }
}

fn check_parameters(
    cubin: &Cubin<'_>,
    function: &Function<'_>,
    details: &Details<'_>,
    diagnostics: &mut Diagnostics,
) {
    let label = function.label();
    let base = u64::from(details.parameter_base(cubin));
    let bank = function.resources(cubin).constants.iter().find(|(bank, _)| *bank == 0).map(|(_, size)| *size);
    let total = details.parameters_size.map(u64::from);
    let mut previous_end = 0_u64;
    let mut parameters = details.parameters.clone();
    parameters.sort_by_key(|parameter| (parameter.offset, parameter.ordinal));
    for parameter in parameters {
        let error = |message: &'static str| {
            Error::new(ErrorKind::OutOfRange, function.symbol.range.0, message)
                .within(format!("parameter {}", parameter.ordinal))
                .within(label.clone())
        };
        let start = u64::from(parameter.offset);
        let end = start.saturating_add(u64::from(parameter.size));
        if total.is_some_and(|total| end > total) || bank.is_some_and(|bank| base.saturating_add(end) > bank)
        {
            let limit =
                total.unwrap_or(u64::MAX).min(bank.map_or(u64::MAX, |bank| bank.saturating_sub(base)));
            let error = error("parameter extends beyond the constant bank");
            let error = error.expected(format!("at most {limit} bytes")).found(format!("{end}"));
            diagnostics.error("nv-parameters", error);
        }
        if start < previous_end {
            let error = error("parameter overlaps the previous one");
            diagnostics.error(
                "nv-parameters",
                error.expected(format!("an offset of {previous_end}")).found(format!("{start}")),
            );
        }
        previous_end = previous_end.max(end);
    }
}

fn check_lines(cubin: &Cubin<'_>, diagnostics: &mut Diagnostics) {
    for table in [LineTable::of(cubin), LineTable::of_ptx(cubin)] {
        let Some(table) = diagnostics.take("nv-line-table", table).flatten() else { continue };
        let (mut section, mut size) = (0, 0);
        for row in &table.rows {
            if row.section == 0 {
                continue;
            }
            if section != row.section {
                size = cubin.elf().section_header(row.section).map_or(0, |section| section.size);
                section = row.section;
            }
            if row.offset > size {
                let error = Error::new(
                    ErrorKind::OutOfRange,
                    cubin.file().base(),
                    "line table refers to code that does not exist",
                )
                .expected(format!("at most {size:#x}"))
                .found(format!("{:#x} in section {}", row.offset, row.section));
                diagnostics.error("nv-line-table", error);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_core::Reader;

    /// Returns the number of findings about a record with these numbers, in code of 0x400 bytes.
    fn findings(attribute: Attribute, numbers: &[u32]) -> usize {
        let mut bytes = Vec::from([4, attribute.0, numbers.len() as u8 * 4, 0]);
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        let record = records(Reader::new(&bytes)).next().unwrap().unwrap();
        let mut diagnostics = Diagnostics::new();
        check_record(&record, 3, Some(0x400), "function", &mut diagnostics);
        diagnostics.iter().count()
    }

    #[test]
    fn numbers_that_are_no_offsets_are_not_compared_with_the_code() {
        let loads = Attribute::UNUSED_LOAD_BYTE_OFFSET;
        assert_eq!(findings(loads, &[0x3f0, 0xfff0, 0x10, 0xf0ff]), 0);
        assert_eq!(findings(loads, &[0x3f0, 0xfff0, 0x400, 0x7]), 1);
        let barriers = Attribute::MBARRIER_INSTR_OFFSETS;
        assert_eq!(findings(barriers, &[0x3c0, 0xff, 0x800, 0xf_0100, 0x3d0, 0xff, 0, 0x9_0100]), 0);
        assert_eq!(findings(barriers, &[0x3c0, 0xff, 0, 0xf_0100, 0x4000, 0xff, 0, 0x9_0100]), 1);
        let exits = Attribute::EXIT_INSTR_OFFSETS;
        assert_eq!((findings(exits, &[0, 0x3f0]), findings(exits, &[0, 0x400])), (0, 1));
    }
}
