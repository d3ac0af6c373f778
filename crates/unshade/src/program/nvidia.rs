//! Opens NVIDIA programs: fat binaries, cubins, PTX.

use super::metallib::finding;
use super::{
    Brief, Card, Cell, Code, CodeRequest, Column, Descriptions, ExtractKind, Extracted, Fact, Form, Format,
    InOrder, Info, ItemName, Items, Piece, PieceBytes, Pieces, Program, Row, Runner, Section, Table, Verb,
    Verdict, VerifyDepth, map, piece,
};
use crate::carve::{self, Find};
use crate::demangle_symbol;
use crate::nv_units::{Nvidia, Unit, each_batch, each_unit, with_unit};
use crate::quantity::{counted, dimensions, grouped};
use crate::sass_listing::instruction_set;
use crate::select::Selection;
use crate::view::nvidia::{
    KernelRow, KernelView, NvidiaView, UnitView, Wanted, kernel_at, kernel_names, kernel_rows, kernels,
    map_kernel_rows,
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use unshade_core::{Diagnostics, OutlineSink, Reader, Result, TokenKind, TokenSink};
use unshade_nv::fatbin::EntryKind;
use unshade_nv::{Cubin, Fatbin, Ptx, verify};
use unshade_sass::isa;

const KINDS: &[&str] = &["kernel", "device", "inner", "PTX", "NVVM"];
const NO_RULES: &str = "no rules are known for where NVIDIA programs load";
const NO_YAML: &str =
    "NVIDIA programs have no YAML; `unshade dis` and `unshade asm` write and read their code";
const NOT_EDITED: &str = "NVIDIA programs are not edited; `unshade asm --into` replaces functions of a cubin";
const NOT_SIGNED: &str = "NVIDIA programs are not signed";
const SYMBOLS_OF_ELF: &str = "the symbols of a cubin are those of an ELF file, which `readelf` lists";
const NOT_LINKED: &str = "only the modules of Metal are linked";
const IS_TEXT: &str = "PTX is text, not machine code";
const WHOLE: &str = "the program is the file; there is nothing in it to extract";

pub(super) static FATBIN: Format = Format {
    format: carve::format::Format::Fatbin,
    word: "fatbin",
    item: "function",
    kinds: KINDS,
    refusals: &[
        (Verb::Symbols, SYMBOLS_OF_ELF),
        (Verb::Link, NOT_LINKED),
        (Verb::AssembleInto, "a fat binary is not assembled into; `unshade extract` writes its cubins"),
        (Verb::Check, NO_RULES),
        (Verb::ToYaml, NO_YAML),
        (Verb::Edit, NOT_EDITED),
        (Verb::Sign, NOT_SIGNED),
    ],
    deferred: |_, _| None,
    open: |find| open(find, |reader| Fatbin::read(reader).map(Nvidia::Fatbin)),
};

pub(super) static CUBIN: Format = Format {
    format: carve::format::Format::Cubin,
    word: "cubin",
    item: "function",
    kinds: KINDS,
    refusals: &[
        (Verb::Symbols, SYMBOLS_OF_ELF),
        (Verb::Link, NOT_LINKED),
        (Verb::Extract, WHOLE),
        (Verb::Check, NO_RULES),
        (Verb::ToYaml, NO_YAML),
        (Verb::Edit, NOT_EDITED),
        (Verb::Sign, NOT_SIGNED),
    ],
    deferred: |_, _| None,
    open: |find| open(find, |reader| Cubin::read(reader).map(Nvidia::Cubin)),
};

pub(super) static PTX: Format = Format {
    format: carve::format::Format::Ptx,
    word: "ptx",
    item: "function",
    kinds: KINDS,
    refusals: &[
        (Verb::Symbols, IS_TEXT),
        (Verb::Link, NOT_LINKED),
        (Verb::Disassemble, IS_TEXT),
        (Verb::Statistics, IS_TEXT),
        (Verb::ControlFlow, IS_TEXT),
        (Verb::Liveness, IS_TEXT),
        (Verb::CodeAsJson, IS_TEXT),
        (Verb::Decompile, IS_TEXT),
        (Verb::Run, IS_TEXT),
        (Verb::Sanitize, IS_TEXT),
        (Verb::AssembleInto, IS_TEXT),
        (Verb::Ghidra, IS_TEXT),
        (Verb::Extract, WHOLE),
        (Verb::Check, NO_RULES),
        (Verb::ToYaml, "PTX is text and has no YAML"),
        (Verb::Edit, "PTX is text; edit it as such"),
        (Verb::Sign, NOT_SIGNED),
    ],
    deferred: |_, _| None,
    open: |find| open(find, |reader| Ok(Nvidia::Ptx(Ptx::new(reader)))),
};

fn open<'a>(
    find: &Find<'a>,
    read: impl Fn(Reader<'a>) -> Result<Nvidia<'a>>,
) -> Result<Box<dyn Program + 'a>> {
    let program = read(Reader::at(find.data, super::base(find)))?;
    Ok(Box::new(NvidiaProgram { program, name: find.format.name() }))
}

const COLUMNS: &[Column] = &[
    Column::left("chip", "chip"),
    Column::right("registers", "regs"),
    Column::right("stack", "stack"),
    Column::right("shared", "shared"),
    Column::right("constants", "constant"),
    Column::right("parameters", "params"),
    Column::right("size", "code"),
    Column::right("offset", "offset"),
];

/// [`COLUMNS`] with full labels, and columns for the entry and the instructions.
const PIECE_COLUMNS: &[Column] = &[
    Column::left("chip", "chip"),
    Column::right("registers", "registers"),
    Column::right("stack", "stack"),
    Column::right("shared", "shared"),
    Column::right("constants", "constants"),
    Column::right("parameters", "parameters"),
    Column::right("size", "bytes"),
    Column::right("offset", "offset"),
    Column::right("entry", "entry"),
    Column::right("instructions", "instructions"),
];

const ENTRIES: &[Column] = &[
    Column::right("entry", "entry"),
    Column::left("kind", "kind"),
    Column::left("chip", "chip"),
    Column::left("compression", "compression"),
    Column::right("offset", "offset"),
    Column::right("size", "bytes"),
    Column::left("name", "name"),
    Column::left("flags", "flags"),
];

#[derive(Debug)]
struct NvidiaProgram<'a> {
    program: Nvidia<'a>,
    /// The format's name.
    name: &'static str,
}

#[derive(Serialize)]
struct KernelsJson<K> {
    kernels: Vec<K>,
}

impl NvidiaProgram<'_> {
    fn view(&self, runner: &dyn Runner, diagnostics: &mut Diagnostics) -> NvidiaView {
        NvidiaView::new(&self.program, runner, diagnostics)
    }

    fn section(&self, view: &NvidiaView) -> Section {
        let mut facts = facts(view);
        facts.push(Fact::command("more", "list", ""));
        Section { heading: format!("{}, {}", self.name, summary(view)), facts }
    }

    /// Returns the entries that are selected or contain a selected function. Names also select functions of PTX.
    fn selected_entries(&self, selection: &Selection) -> HashSet<u32> {
        let mut entries = HashSet::new();
        let wanted = |index: u32, name: &[u8]| selection.matches_name(index, name);
        let mut take = |row: KernelRow| entries.extend(row.entry.filter(|_| is_wanted(selection, &row.kind)));
        kernel_rows(&self.program, false, &InOrder, &mut Diagnostics::new(), Some(&wanted), &mut take);
        each_unit(&self.program, true, &mut Diagnostics::new(), &mut |entry, unit| {
            let Unit::Ptx(ptx) = unit else { return };
            if ptx.functions().any(|one| selection.matches_name(u32::MAX, one.name)) {
                entries.extend(entry.map(|entry| entry.index));
            }
        });
        entries
    }

    /// Returns the listings of a function. Nested functions are decompiled where they are called.
    fn panes_of(&self, row: &KernelRow) -> &'static [&'static str] {
        let chip = row.target.strip_prefix("sm_").and_then(|chip| chip.parse().ok());
        let isa = chip.and_then(isa::by_architecture);
        let is_known = isa.is_some();
        let is_lifted = isa.is_some_and(|isa| isa.has_semantics);
        match &*row.kind {
            _ if matches!(self.program, Nvidia::Ptx(_)) => piece::PTX,
            "PTX" => piece::PTX,
            "kernel" | "device" if is_lifted => piece::DECOMPILED,
            _ if is_known => piece::CODE,
            _ => &[],
        }
    }
}

/// Returns whether a kind of function is selected.
fn is_wanted(selection: &Selection, kind: &str) -> bool {
    selection.kinds.is_empty() || selection.kinds.iter().any(|wanted| wanted == kind)
}

impl Program for NvidiaProgram<'_> {
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief {
        let view = self.view(&InOrder, &mut Diagnostics::new());
        let (target, functions) = target(&view);
        Brief { target, functions, summary: summary(&view) }
    }

    #[cfg(not(target_family = "wasm"))]
    fn info(&self, runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info {
        let view = self.view(runner, diagnostics);
        Info { sections: vec![self.section(&view)], json: super::json(view) }
    }

    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section> {
        vec![self.section(&self.view(&InOrder, diagnostics))]
    }

    fn tables(&self, diagnostics: &mut Diagnostics) -> Vec<Table> {
        let Nvidia::Fatbin(_) = &self.program else { return Vec::new() };
        let view = self.view(&InOrder, diagnostics);
        let entries: Vec<_> =
            view.units.iter().filter_map(|unit| Some((unit, unit.entry.as_ref()?))).collect();
        let table = Table::of("entries", ENTRIES, &entries, |(unit, entry)| {
            let end = entry.payload_offset.saturating_add(entry.payload_size);
            vec![
                Cell::Number(entry.index.into()),
                Cell::text(unit.kind.clone()),
                Cell::text(unit.target.clone()),
                Cell::text(entry.compression.clone()),
                Cell::Place(entry.payload_offset..end),
                Cell::Number(entry.size),
                Cell::text(entry.name.clone()),
                Cell::text(entry.flags.join(" ")),
            ]
        });
        table.into_iter().collect()
    }

    fn pieces(&self) -> Pieces {
        let mut kernels = Vec::new();
        let mut diagnostics = Diagnostics::new();
        let mut take = |row| kernels.push(row);
        kernel_rows(&self.program, false, &InOrder, &mut diagnostics, None, &mut take);
        demangle_all(&mut kernels, &InOrder);
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let piece = |view: KernelRow| {
            let (entry, panes) = (view.entry, self.panes_of(&view));
            let unit = entry.unwrap_or(0);
            let count = counts.entry(unit).or_default();
            let index = *count;
            *count = count.saturating_add(1);
            let instructions = view.instructions;
            let mut row = row(view);
            row.cells.extend([Cell::number(entry), Cell::number(instructions)]);
            Piece { unit, index, panes, has_bytes: true, row, entry: None }
        };
        let all = kernels.into_iter().map(piece).collect();
        let panes = match &self.program {
            Nvidia::Fatbin(_) => &[],
            Nvidia::Cubin(cubin) if instruction_set(cubin).is_some() => piece::CODE,
            Nvidia::Cubin(_) => &[],
            Nvidia::Ptx(_) => piece::PTX,
        };
        Pieces { noun: "function", columns: PIECE_COLUMNS, all, panes }
    }

    fn card(&self, piece: &Piece, _diagnostics: &mut Diagnostics) -> Result<Card> {
        let view = with_unit(&self.program, piece.unit, |entry, unit| {
            // The PTX text of a fat binary is one piece, which is not a function.
            let is_whole = entry.is_some() && matches!(unit, Unit::Ptx(_));
            let unit = if is_whole { &Unit::Unread } else { unit };
            kernel_at(entry, unit, piece.index, piece.row.index)
        })?;
        view.as_ref().map(card).ok_or_else(|| super::no_piece(0))
    }

    fn code_of(&self, _piece: &Piece, _path: &str, _diagnostics: &mut Diagnostics) -> Result<Code<'_>> {
        Ok(Code::Machine(&self.program))
    }

    fn bytes_of(&self, piece: &Piece) -> Result<PieceBytes<'_>> {
        with_unit(&self.program, piece.unit, |entry, unit| {
            let (extension, data) = match unit {
                Unit::Cubin(cubin) => (".cubin", cubin.file().data()),
                Unit::Ptx(ptx) => (".ptx", ptx.text()),
                Unit::Unread => {
                    let entry = entry.ok_or_else(|| super::no_piece(0))?;
                    return Ok(PieceBytes { extension: ".bin", data: entry.data()?.into_owned().into() });
                }
            };
            Ok(PieceBytes { extension, data: data.to_vec().into() })
        })?
    }

    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>) -> ControlFlow<()>) {
        kernel_names(&self.program, &mut |index, name| {
            let _ = visit(ItemName { index, name, kind: None, has_source: false });
        });
    }

    #[cfg(not(target_family = "wasm"))]
    fn items(
        &self,
        selection: &Selection,
        form: Form,
        runner: &dyn Runner,
        diagnostics: &mut Diagnostics,
    ) -> Items {
        let is_named = |index: u32, name: &[u8]| selection.matches_name(index, name);
        let wanted: Wanted<'_> = if selection.is_everything() { None } else { Some(&is_named) };
        let is_listed = |kernel: &KernelRow| is_wanted(selection, &kernel.kind) && !selection.has_source;
        if form == (Form::Rows { demangled: false }) {
            let mut rows = Vec::new();
            let make = |kernel| is_listed(&kernel).then(|| row(kernel));
            let mut visit = |index, made: Option<Row>| rows.extend(made.map(|row| Row { index, ..row }));
            map_kernel_rows(&self.program, false, runner, diagnostics, wanted, &make, &mut visit);
            return Items::of(COLUMNS, rows, super::json(()));
        }
        let mut kernels = Vec::new();
        kernel_rows(&self.program, false, runner, diagnostics, wanted, &mut |kernel| {
            if is_listed(&kernel) {
                kernels.push(kernel);
            }
        });
        demangle_all(&mut kernels, runner);
        let count = kernels.len();
        match form {
            Form::Rows { .. } => Items::of(COLUMNS, kernels.into_iter().map(row).collect(), super::json(())),
            Form::Json => {
                Items { count, ..Items::of(COLUMNS, Vec::new(), super::json(KernelsJson { kernels })) }
            }
        }
    }

    #[cfg(not(target_family = "wasm"))]
    fn describe(&self, selection: &Selection, diagnostics: &mut Diagnostics) -> Descriptions {
        let mut views = Vec::new();
        let wanted = |index: u32, name: &[u8]| selection.matches_name(index, name);
        kernels(&self.program, diagnostics, &wanted, &mut |view| {
            if is_wanted(selection, &view.row.kind) && !selection.has_source {
                views.push(view);
            }
        });
        Descriptions {
            cards: views.iter().map(card).collect(),
            json: super::json(KernelsJson { kernels: views }),
        }
    }

    fn code(&self, _request: &CodeRequest<'_>, _diagnostics: &mut Diagnostics) -> Code<'_> {
        Code::Machine(&self.program)
    }

    fn extract(
        &self,
        selection: &Selection,
        kinds: &[ExtractKind],
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Nvidia::Fatbin(fatbin) = &self.program else { return ControlFlow::Continue(()) };
        let selected = (!selection.is_everything()).then(|| self.selected_entries(selection));
        for entry in fatbin.entries() {
            let Some(entry) = diagnostics.take("nv-entry-header", entry) else { continue };
            let (kind, folder, extension) = match entry.kind {
                EntryKind::ELF => (ExtractKind::Module, "modules", "cubin"),
                EntryKind::PTX => (ExtractKind::Source, "sources", "ptx"),
                _ => (ExtractKind::Module, "modules", "bin"),
            };
            let is_selected = selected.as_ref().is_none_or(|selected| selected.contains(&entry.index));
            if !kinds.contains(&kind) || !is_selected {
                continue;
            }
            let Some(data) = diagnostics.take("nv-entry-data", entry.data()) else { continue };
            let path = format!("{folder}/{}.{}.{extension}", entry.index, entry.target());
            take(Extracted { kind, path: &path, data: &data })?;
        }
        ControlFlow::Continue(())
    }

    fn verify(&self, runner: &dyn Runner, _depth: VerifyDepth) -> Verdict {
        let diagnostics = match &self.program {
            // Findings in unpacked entries have offsets of their own, and stay with their entry.
            Nvidia::Fatbin(fatbin) => verify_fatbin(fatbin, runner),
            Nvidia::Cubin(cubin) => sorted(verify::cubin(cubin)),
            Nvidia::Ptx(ptx) => sorted(verify::ptx(ptx)),
        };
        Verdict { hashes: None, diagnostics }
    }

    fn outline(&self, sink: &mut dyn OutlineSink) {
        self.program.outline(sink);
    }
}

/// Checks a fat binary as [`verify::fatbin`] does, but its entries on the threads of `runner`.
fn verify_fatbin(fatbin: &Fatbin<'_>, runner: &dyn Runner) -> Diagnostics {
    let mut diagnostics = verify::container(fatbin);
    each_batch(fatbin, &mut diagnostics, &mut |entries, diagnostics| {
        let found = map(runner, "verifying", entries.len(), |index| entries.get(index).map(verify::entry));
        found.into_iter().flatten().for_each(|found| diagnostics.append(found));
    });
    diagnostics
}

fn sorted(mut diagnostics: Diagnostics) -> Diagnostics {
    diagnostics.sort_by_offset();
    diagnostics
}

/// Demangles the names of rows, each name once: a fat binary repeats functions for several chips.
fn demangle_all(rows: &mut [KernelRow], runner: &dyn Runner) {
    let distinct: HashSet<&str> = rows.iter().map(KernelRow::own_name).collect();
    let names: Vec<&str> = distinct.into_iter().collect();
    let demangled = map(runner, "demangling", names.len(), |at| {
        names.get(at).map(|name| ((*name).to_owned(), demangle_symbol(name.as_bytes())))
    });
    let demangled: HashMap<String, Option<String>> = demangled.into_iter().flatten().collect();
    for row in rows {
        row.demangled = demangled.get(row.own_name()).cloned().flatten();
    }
}

fn row(view: KernelRow) -> Row {
    let constants = view.constants.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    Row {
        index: view.index,
        name: view.name,
        demangled: view.demangled,
        declaration: None,
        kind: view.kind,
        has_source: false,
        range: view.offset.filter(|_| view.size > 0).map(|start| start..start.saturating_add(view.size)),
        cells: vec![
            Cell::text(view.target),
            Cell::number(view.registers),
            Cell::number(view.stack),
            Cell::number(view.shared),
            Cell::number((!view.constants.is_empty()).then_some(constants)),
            Cell::number(view.parameter_count),
            Cell::size((view.size > 0).then_some(view.size)),
            view.offset.map_or_else(|| Cell::Text("packed".into()), Cell::Offset),
        ],
    }
}

/// Returns a short description of units of the same kind: `3 cubins, sm_30 · sm_35 · sm_52`.
fn units(view: &NvidiaView, kind: &str, noun: &str) -> Option<String> {
    let targets: Vec<&str> =
        view.units.iter().filter(|unit| unit.kind == kind).map(|unit| unit.target.as_str()).collect();
    let count = targets.len() as u64;
    let mut unique = targets;
    unique.dedup();
    (count > 0).then(|| format!("{}, {}", counted(count, noun), unique.join(" · ")))
}

/// Returns the only unit of a program that is not a fat binary.
fn only_unit(view: &NvidiaView) -> Option<&UnitView> {
    match view.units.as_slice() {
        [unit] if unit.entry.is_none() => Some(unit),
        _ => None,
    }
}

/// Returns a short description of a program.
fn summary(view: &NvidiaView) -> String {
    let kernels: u64 =
        view.units.iter().filter_map(|unit| unit.cubin.as_ref()).map(|cubin| cubin.kernels).sum();
    if let Some(unit) = only_unit(view) {
        let kernels = unit.ptx.as_ref().map_or(kernels, |ptx| ptx.kernels);
        return format!("{}, {}", unit.target, counted(kernels, "kernel"));
    }
    let parts =
        [units(view, "cubin", "cubin"), units(view, "PTX", "PTX text"), Some(counted(kernels, "kernel"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns a program's target and number of functions.
fn target(view: &NvidiaView) -> (Option<String>, u64) {
    let mut targets: Vec<&str> = view.units.iter().map(|unit| unit.target.as_str()).collect();
    targets.dedup();
    let count = |unit: &UnitView| {
        let of_cubin = unit.cubin.as_ref().map_or(0, |cubin| cubin.kernels);
        of_cubin + unit.ptx.as_ref().filter(|_| unit.entry.is_none()).map_or(0, |ptx| ptx.kernels)
    };
    ((!targets.is_empty()).then(|| targets.join(" ")), view.units.iter().map(count).sum())
}

/// Returns the facts for the top of a report.
fn facts(view: &NvidiaView) -> Vec<Fact> {
    let mut facts = match only_unit(view) {
        Some(unit) => unit_facts(unit),
        None => fatbin_facts(view),
    };
    let cubins = || view.units.iter().filter_map(|unit| unit.cubin.as_ref());
    let mut toolkits: Vec<&str> = cubins().filter_map(|cubin| cubin.toolkit.as_deref()).collect();
    toolkits.dedup();
    if !toolkits.is_empty() {
        facts.push(Fact::new("toolkit", toolkits.join(" · ")));
    }
    let tool = cubins().find_map(|cubin| cubin.tool.as_ref());
    facts.extend(tool.map(|tool| Fact::new("tool", format!("{} {}", tool.name, tool.arguments))));
    facts
}

fn unit_facts(unit: &UnitView) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(cubin) = &unit.cubin {
        let functions = [(cubin.kernels, "kernel"), (cubin.device_functions, "device function")];
        let functions = functions.iter().filter(|(count, _)| *count > 0);
        let functions: Vec<_> = functions.map(|(count, noun)| counted(*count, noun)).collect();
        facts.push(Fact::new("functions", functions.join(" · ")));
        let code = format!("{} bytes, {}-bit addresses", grouped(cubin.code_size), cubin.address_bits);
        facts.push(Fact::new("code", code));
        let banks =
            cubin.constants.iter().map(|(bank, size)| format!("bank {bank}: {} bytes", grouped(*size)));
        let globals =
            (cubin.global_memory > 0).then(|| format!("global: {} bytes", grouped(cubin.global_memory)));
        let memory: Vec<String> = globals.into_iter().chain(banks).collect();
        if !memory.is_empty() {
            facts.push(Fact::new("memory", memory.join(" · ")));
        }
        if cubin.line_rows > 0 {
            let rows = counted(cubin.line_rows, "row");
            facts.push(Fact::new("lines", format!("{rows} in the line table")));
        }
    }
    if let Some(ptx) = &unit.ptx {
        facts.push(Fact::new("version", ptx.version.as_deref().unwrap_or("not stated")));
    }
    facts
}

fn fatbin_facts(view: &NvidiaView) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (label, kind, noun) in [("cubins", "cubin", "cubin"), ("PTX", "PTX", "text")] {
        facts.extend(units(view, kind, noun).map(|text| Fact::new(label, text)));
    }
    let kernels = view.units.iter().filter_map(|unit| unit.cubin.as_ref()).map(|cubin| cubin.kernels).max();
    let kernels = counted(kernels.unwrap_or(0), "kernel");
    facts.push(Fact::new("functions", format!("{kernels} at most for one chip")));
    let packed = view.units.iter().filter_map(|unit| unit.entry.as_ref()).filter(|e| e.compression != "none");
    let mut compressions: Vec<&str> = packed.clone().map(|entry| entry.compression.as_str()).collect();
    compressions.dedup();
    if !compressions.is_empty() {
        let total = view.units.len() as u64;
        let total = if total == 1 { "1 entry".into() } else { format!("{} entries", grouped(total)) };
        facts.push(Fact::new(
            "packed",
            format!("{} of {total}, {}", packed.count(), compressions.join(" · ")),
        ));
    }
    facts
}

const PARAMETERS: &[Column] = &[
    Column::right("ordinal", "ordinal"),
    Column::right("size", "bytes"),
    Column::left("bank", "bank 0"),
    Column::left("type", "type"),
    Column::left("name", "name"),
];
const BOUND: &[Column] = &[Column::left("kind", "kind"), Column::left("name", "name")];
const LABELS: &[Column] =
    &[Column::right("offset", "offset"), Column::right("size", "bytes"), Column::left("name", "name")];
const SECTIONS: &[Column] = &[
    Column::right("index", "index"),
    Column::right("offset", "offset"),
    Column::right("size", "bytes"),
    Column::left("type", "type"),
    Column::left("name", "name"),
];
const RELOCATIONS: &[Column] = &[
    Column::right("section", "section"),
    Column::right("offset", "offset"),
    Column::left("type", "type"),
    Column::left("symbol", "symbol"),
];
const ATTRIBUTES: &[Column] = &[Column::left("attribute", "attribute"), Column::left("value", "value")];

/// Returns all facts of a function.
fn card(view: &KernelView) -> Card {
    let row = &view.row;
    let mut card = Card::default();
    card.put(TokenKind::Keyword, if row.kind == "kernel" { "__global__" } else { "__device__" });
    card.put(TokenKind::Space, " ");
    card.put(TokenKind::Function, row.readable_name());
    if !row.readable_name().ends_with(')') {
        card.put(TokenKind::Punctuation, "(…)");
    }
    card.facts = card_facts(view);
    card.tables = card_tables(view);
    card
}

fn card_facts(view: &KernelView) -> Vec<Fact> {
    let row = &view.row;
    let unit = |number: u64, unit: &str| format!("{} {unit}", grouped(number));
    let entry = row.entry.map(|entry| format!(", entry {entry}")).unwrap_or_default();
    let mut facts = vec![
        Fact::new("index", format!("#{}", row.index)),
        Fact::new("chip", format!("{}{entry}", row.target)),
    ];
    if row.demangled.is_some() {
        facts.push(Fact::new("mangled", &row.name));
    }
    if let Some(registers) = row.registers {
        let most = view.max_registers.filter(|most| *most != 255).map(|most| format!(", at most {most}"));
        facts.push(Fact::new("registers", format!("{registers}{}", most.unwrap_or_default())));
    }
    if let Some(stack) = row.stack {
        let own = view.frame_size.filter(|own| *own != stack).map(|own| format!(", {own} of its own"));
        let most = view.max_stack.filter(|most| *most > stack).map(|most| format!(", at most {most}"));
        let text = unit(stack.into(), "bytes");
        facts.push(Fact::new(
            "stack",
            format!("{text}{}{}", own.unwrap_or_default(), most.unwrap_or_default()),
        ));
    }
    facts.extend(view.call_stack.map(|calls| Fact::new("call stack", unit(calls.into(), "bytes"))));
    facts.extend(row.shared.map(|shared| Fact::new("shared", unit(shared, "bytes"))));
    let local = row.local.filter(|local| *local > 0);
    facts.extend(local.map(|local| Fact::new("local", unit(local, "bytes"))));
    facts.extend(row.barriers.map(|barriers| Fact::new("barriers", barriers.to_string())));
    for (bank, size) in &row.constants {
        facts.push(Fact::new("constant", format!("bank {bank}, {}", unit(*size, "bytes"))));
    }
    let required = view.required_threads.map(|threads| format!("{} required", dimensions(threads)));
    facts.extend(required.map(|text| Fact::new("threads", text)));
    facts.extend(
        view.max_threads.map(|threads| Fact::new("threads", format!("at most {}", dimensions(threads)))),
    );
    facts.extend(view.cluster.map(|cluster| Fact::new("cluster", dimensions(cluster))));
    facts.extend(view.directives.iter().map(|directive| Fact::new("directive", directive)));
    if let Some(code) = view.code_offset {
        let text = unit(row.size, "bytes");
        facts.push(match row.offset {
            Some(offset) => Fact::new("code", format!("{text} at {offset:#x}")).at(offset, row.size),
            None => Fact::new("code", format!("{text} at {code:#x} in the unpacked cubin")),
        });
    }
    if let Some(source) = &view.source {
        let rows = counted(view.line_rows, "row");
        facts.push(Fact::new("source", format!("{source}, {rows} in the line table")));
    }
    facts.extend(view.findings.iter().map(finding));
    facts
}

fn card_tables(view: &KernelView) -> Vec<Table> {
    let parameters = Table::of("parameters", PARAMETERS, &view.parameters, |one| {
        vec![
            Cell::Number(one.ordinal.into()),
            Cell::number(one.size),
            Cell::text(one.constant_offset.map(|offset| format!("c[0x0][{offset:#x}]"))),
            Cell::text(one.type_name.clone()),
            Cell::text(one.name.clone()),
        ]
    });
    let bound = Table::of("bound", BOUND, &view.bound, |(kind, name)| {
        vec![Cell::text(kind.clone()), Cell::text(name.clone())]
    });
    let labels = Table::of("labels", LABELS, &view.labels, |one| {
        vec![Cell::Offset(one.offset), Cell::Number(one.size), Cell::text(one.name.clone())]
    });
    let sections = Table::of("sections", SECTIONS, &view.sections, |one| {
        vec![
            Cell::Number(one.index.into()),
            Cell::Offset(one.offset),
            Cell::Number(one.size),
            Cell::text(one.kind.clone()),
            Cell::text(one.name.clone()),
        ]
    });
    let relocations = Table::of("relocations", RELOCATIONS, &view.relocations, |one| {
        let addend = if one.addend == 0 { String::new() } else { format!(" + {:#x}", one.addend) };
        vec![
            Cell::Number(one.section.into()),
            Cell::Offset(one.offset),
            Cell::text(one.kind.clone()),
            Cell::text(format!("{}{addend}", one.symbol)),
        ]
    });
    let attributes = Table::of("attributes", ATTRIBUTES, &view.attributes, |(name, value)| {
        vec![Cell::text(name.clone()), Cell::text(value.clone())]
    });
    [parameters, bound, labels, sections, relocations, attributes].into_iter().flatten().collect()
}
