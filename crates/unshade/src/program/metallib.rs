//! Opens Metal libraries, alone and as slices of universal files.

use super::entry_point::{arguments_table, constants_table, thread_facts, yes};
use super::{
    Brief, Card, Cell, Code, CodeRequest, Column, Descriptions, ExtractKind, Extracted, Fact, Form, Format,
    Group, Hashes, Info, ItemName, Items, ModuleGroup, NamedFacts, Note, Piece, PieceBytes, Pieces, Program,
    Row, Runner, Section, State, Table, Verb, Verdict, VerifyDepth, Writable, map, piece,
};
use crate::carve::{self, Find};
use crate::disassembly::Unit;
use crate::library_check;
use crate::load_check::{LibraryFacts, ModuleFacts};
use crate::quantity::{counted, grouped, size};
use crate::select::Selection;
use crate::source_files::{self, SourceFile, visit_files};
use crate::view::{FunctionRow, FunctionView, HashesView, LibraryView};
use serde::Serialize;
use std::ops::{ControlFlow, Range};
use unshade_core::{Diagnostics, Escaped, OutlineSink, Result, TokenKind, TokenSink};
use unshade_metallib::function_list::ShortVersion;
use unshade_metallib::gpu_object::NamedRange;
use unshade_metallib::universal::{Slice, SliceContent};
use unshade_metallib::verify::Check;
use unshade_metallib::{Function, FunctionType, Library, Universal, outline};

const NOT_SIGNED: &str = "Metal libraries are not signed";
const NO_MACHINE_CODE: &str = "holds LLVM bitcode, no NVIDIA machine code";

/// The format of a single library.
pub(super) static LIBRARY: Format = Format {
    format: carve::format::Format::MetalLibrary,
    word: "metallib",
    item: "function",
    kinds: &FUNCTION_KINDS,
    refusals: &[
        (Verb::Liveness, NO_MACHINE_CODE),
        (Verb::Sanitize, NO_MACHINE_CODE),
        (Verb::Ghidra, NO_MACHINE_CODE),
        (Verb::Sign, NOT_SIGNED),
    ],
    deferred,
    open: |find| MetalProgram::library(find).map(boxed),
};

/// The format of universal files: libraries and GPU executables for several targets.
pub(super) static UNIVERSAL: Format = Format {
    format: carve::format::Format::MetalUniversal,
    word: "metallib-universal",
    item: "function",
    kinds: &FUNCTION_KINDS,
    refusals: &[
        (Verb::Liveness, NO_MACHINE_CODE),
        (Verb::Sanitize, NO_MACHINE_CODE),
        (Verb::Link, "universal files are not linked; `unshade edit --thin` writes a slice"),
        (Verb::AssembleInto, "universal files are not assembled into; `unshade edit --thin` writes a slice"),
        (Verb::Ghidra, NO_MACHINE_CODE),
        (Verb::ToYaml, "universal files have no YAML; `unshade edit --thin` writes a slice"),
        (Verb::Sign, NOT_SIGNED),
    ],
    deferred: |_, _| None,
    open: |find| MetalProgram::universal(find).map(boxed),
};

const FUNCTION_KINDS: [&str; FunctionType::NAMED.len()] = {
    let mut kinds = [""; FunctionType::NAMED.len()];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = FunctionType::NAMED[at].1;
        at += 1;
    }
    kinds
};

const COLUMNS: &[Column] = &[
    Column::right("metal", "Metal"),
    Column::right("air", "AIR"),
    Column::right("size", "size"),
    Column::right("offset", "offset"),
];

/// [`COLUMNS`] and a column for the slice.
const PIECE_COLUMNS: &[Column] = &[
    Column::left("metal", "Metal"),
    Column::left("air", "AIR"),
    Column::right("size", "bytes"),
    Column::right("offset", "offset"),
    Column::left("slice", "slice"),
];

/// Maximum number of functions whose hashes are checked before their results are merged.
const UNITS_AT_ONCE: usize = 4_096;

/// Returns the range of bitcode, if every module has a size in the function list.
fn deferred(bytes: &[u8], is_rest_read: bool) -> Option<Range<u64>> {
    let library = Library::parse(bytes).ok()?;
    let mut functions = library.functions().map_while(Result::ok);
    let header = library.header();
    let is_whole = header.file_size == bytes.len() as u64;
    let has_sizes = !is_rest_read || functions.all(|function| function.module_size.is_some());
    (is_whole && has_sizes).then(|| header.bitcode.range())
}

fn boxed<'a>(program: MetalProgram<'a>) -> Box<dyn Program + 'a> {
    Box::new(program)
}

/// A library in a program and the name of its slice.
#[derive(Clone, Debug)]
pub struct NamedLibrary<'a> {
    /// The slice's architecture; empty if the library is not in a universal file.
    pub slice: String,
    /// The library.
    pub library: Library<'a>,
}

/// A library, or a universal file of libraries.
#[derive(Debug)]
struct MetalProgram<'a> {
    universal: Option<Universal<'a>>,
    libraries: Vec<NamedLibrary<'a>>,
    /// The errors of the slices that could not be read.
    diagnostics: Diagnostics,
    size: u64,
}

/// The libraries of a program, as reported by `list` and `show`.
#[derive(Serialize)]
struct LibrariesJson<F> {
    libraries: Vec<FunctionsJson<F>>,
}

#[derive(Serialize)]
struct FunctionsJson<F> {
    #[serde(skip_serializing_if = "String::is_empty")]
    slice: String,
    functions: Vec<F>,
}

/// The output of `unshade FILE --json`.
#[derive(Serialize)]
struct InfoJson {
    libraries: Vec<LibraryJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<Vec<SliceJson>>,
}

#[derive(Serialize)]
struct LibraryJson {
    #[serde(skip_serializing_if = "String::is_empty")]
    slice: String,
    #[serde(flatten)]
    view: LibraryView,
    /// The number of files in the source archives.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_files: Option<u64>,
}

/// A slice of a universal file.
#[derive(Serialize)]
struct SliceJson {
    name: String,
    /// The name that Apple's tools use.
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<String>,
    offset: u64,
    size: u64,
    /// The sections and notes of a GPU Mach-O.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionJson>,
}

#[derive(Serialize)]
struct SectionJson {
    name: String,
    offset: u64,
    size: u64,
}

impl<'a> MetalProgram<'a> {
    fn library(find: &Find<'a>) -> Result<Self> {
        let library = Library::parse_at(find.data, super::base(find))?;
        Ok(Self {
            universal: None,
            libraries: vec![NamedLibrary { slice: String::new(), library }],
            diagnostics: Diagnostics::new(),
            size: find.data.len() as u64,
        })
    }

    fn universal(find: &Find<'a>) -> Result<Self> {
        let universal = Universal::parse_at(find.data, super::base(find))?;
        let mut diagnostics = Diagnostics::new();
        let mut libraries = Vec::new();
        for slice in universal.slices() {
            let Some(slice) = diagnostics.take("slice", slice) else { continue };
            let within = |error: unshade_core::Error| error.within(slice.name());
            let library = match diagnostics.take("slice", slice.content().map_err(within)) {
                Some(SliceContent::Library(library)) => Some(library),
                Some(SliceContent::GpuObject(object)) => {
                    diagnostics.take("slice", object.library().map_err(within)).flatten()
                }
                _ => None,
            };
            libraries.extend(library.map(|library| NamedLibrary { slice: slice.name(), library }));
        }
        let size = find.data.len() as u64;
        Ok(Self { universal: Some(universal), libraries, diagnostics, size })
    }

    /// Returns each library with the index of its first function. Function numbers run across all libraries.
    fn numbered(&self) -> impl Iterator<Item = (&NamedLibrary<'a>, u32)> {
        let mut next = 0_u32;
        self.libraries.iter().map(move |named| {
            let first = next;
            next = next.saturating_add(named.library.functions().declared_count());
            (named, first)
        })
    }

    /// Returns the selected functions of each library.
    fn selected(&self, selection: &Selection) -> Vec<(&NamedLibrary<'a>, Vec<Function<'a>>)> {
        let functions = |(named, first): (&'_ NamedLibrary<'a>, u32)| -> Vec<Function<'a>> {
            let all = functions_from(&named.library, first);
            all.filter(|function| selection.matches(&item_name(function))).collect()
        };
        self.numbered().map(|(named, first)| (named, functions((named, first)))).collect()
    }

    /// Returns the function of a piece, with its library.
    fn function(&self, piece: &Piece) -> Result<(&Library<'a>, Function<'a>)> {
        let library = self.libraries.get(piece.unit as usize).map(|named| &named.library);
        let function = library.and_then(|library| {
            let entry = piece.entry.as_ref().and_then(|entry| library.function_in(piece.index, entry));
            Some((library, entry.or_else(|| library.function(piece.index))?))
        });
        function.ok_or_else(|| super::no_piece(0))
    }

    /// Returns the section of the slices, if any, and the slices.
    fn slices(&self) -> Option<(Section, Vec<SliceJson>)> {
        let slices = self.universal.as_ref()?.slices().filter_map(Result::ok);
        let slices: Vec<_> = slices.map(|slice| read_slice(&slice)).collect();
        Some((slices_section(&slices, self.size), slices))
    }
}

/// Returns the readable functions of a library, with indices from `first`.
fn functions_from<'a>(library: &Library<'a>, first: u32) -> impl Iterator<Item = Function<'a>> {
    library.functions().map_while(Result::ok).map(move |function| numbered_from(function, first))
}

fn numbered_from(mut function: Function<'_>, first: u32) -> Function<'_> {
    function.index = function.index.saturating_add(first);
    function
}

fn item_name<'n>(function: &Function<'n>) -> ItemName<'n> {
    ItemName {
        index: function.index,
        name: function.name.unwrap_or_default(),
        kind: function.kind.and_then(FunctionType::name),
        has_source: function.source_offset.is_some(),
    }
}

impl Program for MetalProgram<'_> {
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief {
        let count = |named: &NamedLibrary<'_>| u64::from(named.library.functions().declared_count());
        let functions = self.libraries.iter().map(count).sum();
        let target = self.libraries.first().map(|named| named.library.header().target());
        let words = [target.clone(), Some(counted(functions, "function"))];
        Brief { summary: words.into_iter().flatten().collect::<Vec<_>>().join(", "), target, functions }
    }

    #[cfg(not(target_family = "wasm"))]
    fn info(&self, runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info {
        diagnostics.append(self.diagnostics.clone());
        let (section, slices) = self.slices().unzip();
        let mut sections: Vec<Section> = section.into_iter().collect();
        let mut libraries = Vec::new();
        for named in &self.libraries {
            let functions: Vec<_> = named.library.functions().map_while(Result::ok).collect();
            let mut view = LibraryView::new(&named.library, &functions);
            let matching = check(&named.library, runner).matching_hashes;
            view.hashes = Some(HashesView { matching, total: u64::from(view.function_count) });
            let source_files = count_source_files(&named.library);
            sections.push(library_section(&named.slice, &view, source_files));
            libraries.push(LibraryJson { slice: named.slice.clone(), view, source_files });
        }
        Info { sections, json: super::json(InfoJson { libraries, slices }) }
    }

    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section> {
        diagnostics.append(self.diagnostics.clone());
        let mut sections: Vec<Section> = self.slices().map(|(section, _)| section).into_iter().collect();
        for named in &self.libraries {
            let functions: Vec<_> = named.library.functions().map_while(Result::ok).collect();
            let view = LibraryView::new(&named.library, &functions);
            sections.push(library_section(&named.slice, &view, None));
        }
        sections
    }

    fn pieces(&self) -> Pieces {
        let mut all = Vec::new();
        for (unit, (named, first)) in (0..).zip(self.numbered()) {
            for (index, function) in (0..).zip(functions_from(&named.library, first)) {
                let mut row = row(FunctionRow::new(&named.library, &function));
                if row.kind.is_empty() {
                    row.kind = "function".into();
                }
                row.cells.push(Cell::text(named.slice.clone()));
                let has_bytes = row.range.is_some();
                let panes = if has_bytes { piece::AIR } else { &[] };
                let entry = Some(function.range.clone());
                all.push(Piece { unit, index, panes, has_bytes, row, entry });
            }
        }
        Pieces { noun: "function", columns: PIECE_COLUMNS, all, panes: &[] }
    }

    fn card(&self, piece: &Piece, _diagnostics: &mut Diagnostics) -> Result<Card> {
        let (library, function) = self.function(piece)?;
        Ok(card(library, &function).0)
    }

    fn code_of(&self, piece: &Piece, _path: &str, _diagnostics: &mut Diagnostics) -> Result<Code<'_>> {
        let (library, function) = self.function(piece)?;
        let units = vec![Unit::Function { library, function }];
        Ok(Code::Modules(vec![ModuleGroup { slice: String::new(), units }]))
    }

    fn bytes_of(&self, piece: &Piece) -> Result<PieceBytes<'_>> {
        let (library, function) = self.function(piece)?;
        let module = library.module(&function)?.ok_or_else(|| super::no_piece(function.range.start))?;
        Ok(PieceBytes { extension: ".air", data: module.bytes().into() })
    }

    fn sources(&self, piece: Option<&Piece>, visit: &mut dyn FnMut(SourceFile)) {
        let Some((library, function)) = piece.and_then(|piece| self.function(piece).ok()) else { return };
        let sources = library.sources().ok().flatten();
        if let Some(archive) = function.source_offset.and_then(|at| sources?.archive_at(at).ok()) {
            // A damaged archive is shown as far as it can be read; `verify` reports the cause.
            let _ = visit_files(&archive, visit);
        }
    }

    fn fields_of(&self, piece: &Piece) -> Vec<Range<u64>> {
        let Ok((library, function)) = self.function(piece) else { return Vec::new() };
        let groups = [
            library.public_metadata(&function).ok().flatten().map(|public| public.group.range),
            library.private_metadata(&function).ok().flatten().map(|private| private.group.range),
        ];
        std::iter::once(function.range).chain(groups.into_iter().flatten()).collect()
    }

    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>) -> ControlFlow<()>) {
        let mut functions = self.numbered().flat_map(|(named, first)| functions_from(&named.library, first));
        let _ = functions.try_for_each(|function| visit(item_name(&function)));
    }

    #[cfg(not(target_family = "wasm"))]
    fn items(
        &self,
        selection: &Selection,
        form: Form,
        _runner: &dyn Runner,
        diagnostics: &mut Diagnostics,
    ) -> Items {
        diagnostics.append(self.diagnostics.clone());
        let (mut count, mut groups, mut libraries) = (0, Vec::new(), Vec::new());
        for (named, first) in self.numbered() {
            // Reading a row takes less time than handing it to another thread.
            let all = named.library.functions();
            let readable = all.filter_map(|function| diagnostics.take("function-list", function));
            let views = readable
                .map(|function| numbered_from(function, first))
                .filter(|function| selection.matches(&item_name(function)))
                .map(|function| FunctionRow::new(&named.library, &function));
            let slice = named.slice.clone();
            if form == Form::Json {
                let functions: Vec<_> = views.collect();
                count += functions.len();
                libraries.push(FunctionsJson { slice, functions });
            } else {
                let rows: Vec<_> = views.map(row).collect();
                count += rows.len();
                groups.push(Group { slice, columns: COLUMNS, rows });
            }
        }
        Items { count, groups, tables: Vec::new(), json: super::json(LibrariesJson { libraries }) }
    }

    #[cfg(not(target_family = "wasm"))]
    fn describe(&self, selection: &Selection, diagnostics: &mut Diagnostics) -> Descriptions {
        diagnostics.append(self.diagnostics.clone());
        let (mut cards, mut libraries) = (Vec::new(), Vec::new());
        for (named, functions) in self.selected(selection) {
            let mut views = Vec::new();
            for function in functions {
                let (card, view) = card(&named.library, &function);
                cards.push(card);
                views.push(view);
            }
            if !views.is_empty() {
                libraries.push(FunctionsJson { slice: named.slice.clone(), functions: views });
            }
        }
        Descriptions { cards, json: super::json(LibrariesJson { libraries }) }
    }

    fn code(&self, request: &CodeRequest<'_>, diagnostics: &mut Diagnostics) -> Code<'_> {
        diagnostics.append(self.diagnostics.clone());
        let groups = self.selected(request.selection).into_iter().map(|(named, functions)| {
            let unit = |function| Unit::Function { library: &named.library, function };
            ModuleGroup { slice: named.slice.clone(), units: functions.into_iter().map(unit).collect() }
        });
        Code::Modules(groups.collect())
    }

    fn extract(
        &self,
        selection: &Selection,
        kinds: &[ExtractKind],
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        diagnostics.append(self.diagnostics.clone());
        if let Some(universal) = self.universal.as_ref().filter(|_| kinds.contains(&ExtractKind::Slice)) {
            extract_slices(universal, diagnostics, take)?;
        }
        for (named, functions) in self.selected(selection) {
            let prefix = if named.slice.is_empty() { String::new() } else { format!("{}/", named.slice) };
            if kinds.contains(&ExtractKind::Module) {
                for function in &functions {
                    let module = named.library.module(function);
                    let Some(module) = diagnostics.take("module-range", module).flatten() else { continue };
                    let name = match function.name {
                        Some(name) => String::from_utf8_lossy(name).replace(['/', '\\'], "_"),
                        None => format!("function-{}", function.index),
                    };
                    let path = format!("{prefix}modules/{name}.air");
                    take(Extracted { kind: ExtractKind::Module, path: &path, data: module.bytes() })?;
                }
            }
            if kinds.contains(&ExtractKind::Source) {
                let wanted = (!selection.is_everything()).then_some(functions.as_slice());
                extract_sources(&named.library, &prefix, wanted, diagnostics, take)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn verify(&self, runner: &dyn Runner, depth: VerifyDepth) -> Verdict {
        let mut hashes = Hashes::default();
        let mut diagnostics = self.diagnostics.clone();
        for named in &self.libraries {
            let verdict = check(&named.library, runner);
            hashes.functions += verdict.functions;
            hashes.matching += verdict.matching_hashes;
            diagnostics.append(verdict.diagnostics);
            if depth == VerifyDepth::Whole {
                diagnostics.append(check_modules(&named.library, runner));
            }
            check_sources(&named.library, &mut diagnostics);
        }
        diagnostics.sort_by_offset();
        Verdict { hashes: Some(hashes), diagnostics }
    }

    fn outline(&self, sink: &mut dyn OutlineSink) {
        match (&self.universal, self.libraries.first()) {
            (Some(universal), _) => outline::universal(universal, sink),
            (None, Some(named)) => outline::library(&named.library, sink),
            (None, None) => {}
        }
    }

    #[cfg(not(target_family = "wasm"))]
    fn load_facts(&self, runner: &dyn Runner) -> Vec<NamedFacts> {
        let facts = |named: &NamedLibrary<'_>| NamedFacts {
            slice: named.slice.clone(),
            facts: load_facts(&named.library, runner),
        };
        self.libraries.iter().map(facts).collect()
    }

    fn metal_libraries(&self) -> &[NamedLibrary<'_>] {
        &self.libraries
    }

    fn writable(&self) -> Option<Writable> {
        Some(if self.universal.is_some() { Writable::MetalUniversal } else { Writable::MetalLibrary })
    }
}

/// Checks a library; the runner's threads share its functions.
fn check(library: &Library<'_>, runner: &dyn Runner) -> unshade_metallib::verify::Verdict {
    let mut check = Check::new(library);
    let count = check.unit_count();
    for start in (0..count).step_by(UNITS_AT_ONCE) {
        let results =
            map(runner, "checking", UNITS_AT_ONCE.min(count - start), |unit| check.run(start + unit));
        results.into_iter().for_each(|result| check.absorb(result));
    }
    check.finish()
}

/// Compares a library with its modules; the runner's threads share them.
fn check_modules(library: &Library<'_>, runner: &dyn Runner) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let groups = library_check::by_module(library);
    for groups in groups.chunks(UNITS_AT_ONCE) {
        let results = map(runner, "comparing", groups.len(), |index| {
            groups.get(index).map(|functions| library_check::module(library, functions))
        });
        results.into_iter().flatten().for_each(|found| diagnostics.append(found));
    }
    diagnostics
}

/// Reads what a loader looks at; the runner's threads share the modules.
fn load_facts(library: &Library<'_>, runner: &dyn Runner) -> LibraryFacts {
    let functions: Vec<_> = library.functions().map_while(Result::ok).collect();
    let batches = functions.chunks(UNITS_AT_ONCE).flat_map(|batch| {
        let read = |at: usize| batch.get(at).and_then(|function| ModuleFacts::read(library, function));
        map(runner, "reading", batch.len(), read).into_iter().zip(batch.iter().cloned())
    });
    LibraryFacts::new(library, batches)
}

/// Unpacks the embedded sources, which have their own checksums.
fn check_sources(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    let Ok(Some(sources)) = library.sources() else { return };
    for archive in sources.archives().filter_map(Result::ok) {
        source_files::check(&archive, diagnostics);
    }
}

fn count_source_files(library: &Library<'_>) -> Option<u64> {
    let sources = library.sources().ok().flatten()?;
    let mut files = 0;
    for archive in sources.archives().filter_map(Result::ok) {
        // Count the files of a damaged archive as far as it is readable.
        let _ = visit_files(&archive, |_| files += 1);
    }
    Some(files)
}

/// Extracts the source archives: all, or those of the given functions.
fn extract_sources(
    library: &Library<'_>,
    prefix: &str,
    functions: Option<&[Function<'_>]>,
    diagnostics: &mut Diagnostics,
    take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(sources) = diagnostics.take("sources", library.sources()).flatten() else {
        return ControlFlow::Continue(());
    };
    let start = sources.offset();
    for archive in sources.archives() {
        let Some(archive) = diagnostics.take("sources", archive) else { continue };
        let offset = archive.code_offset.saturating_sub(start);
        let is_named = |functions: &[Function<'_>]| {
            functions.iter().any(|function| function.source_offset == Some(offset))
        };
        if !functions.is_none_or(is_named) {
            continue;
        }
        let id = String::from_utf8_lossy(archive.id).replace(['/', '\\'], "_");
        let mut flow = ControlFlow::Continue(());
        let unpacked = visit_files(&archive, |file| {
            if flow.is_continue() {
                let inner = String::from_utf8_lossy(&file.path);
                let path = format!("{prefix}sources/{id}/{}", inner.trim_start_matches('/'));
                flow = take(Extracted { kind: ExtractKind::Source, path: &path, data: &file.data });
            }
        });
        flow?;
        diagnostics.take("sources", unpacked);
    }
    ControlFlow::Continue(())
}

/// Extracts the slices as files of their own, named by their architecture.
fn extract_slices(
    universal: &Universal<'_>,
    diagnostics: &mut Diagnostics,
    take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for slice in universal.slices() {
        // What is out of range is reported already.
        let Ok(slice) = slice else { continue };
        let Some(data) = diagnostics.take("slice", slice.data.clone()) else { continue };
        let architecture = slice.architecture();
        let name = architecture.name().unwrap_or_else(|| architecture.to_string());
        let extension = match slice.content() {
            Ok(SliceContent::Library(_)) => "metallib",
            Ok(SliceContent::GpuObject(_)) => "macho",
            _ => "bin",
        };
        let path = format!("slices/{name}.{extension}");
        take(Extracted { kind: ExtractKind::Slice, path: &path, data: data.data() })?;
    }
    ControlFlow::Continue(())
}

fn read_slice(slice: &Slice<'_>) -> SliceJson {
    let named = |part: NamedRange<'_>| {
        let data = part.data.ok()?;
        let name = match part.segment {
            b"" => format!("note {}", Escaped(part.name)),
            segment => format!("{},{}", Escaped(segment), Escaped(part.name)),
        };
        Some(SectionJson { name, offset: data.base(), size: data.data().len() as u64 })
    };
    let sections = match slice.content() {
        Ok(SliceContent::GpuObject(object)) => {
            object.sections().into_iter().chain(object.notes()).filter_map(named).collect()
        }
        _ => Vec::new(),
    };
    let (offset, size) = slice.data.as_ref().map_or((0, 0), |data| (data.base(), data.data().len() as u64));
    SliceJson { name: slice.name(), architecture: slice.architecture().name(), offset, size, sections }
}

/// Returns the slices of a universal file.
fn slices_section(slices: &[SliceJson], bytes: u64) -> Section {
    let count = counted(slices.len() as u64, "slice");
    let mut facts = Vec::new();
    for slice in slices {
        let place = |name: &str, offset, bytes| format!("{name:<30} {:>8}  at {offset:#x}", size(bytes));
        let known = slice.architecture.as_ref().map(|known| format!(" {known}")).unwrap_or_default();
        let text = place(&format!("{}{known}", slice.name), slice.offset, slice.size);
        facts.push(Fact::new("slice", text).at(slice.offset, slice.size));
        for section in &slice.sections {
            let text = place(&section.name, section.offset, section.size);
            facts.push(Fact::new("section", text).at(section.offset, section.size));
        }
    }
    Section { heading: format!("Metal universal library, {count} · {}", size(bytes)), facts }
}

/// Returns a library's facts, the most important one first.
fn library_section(slice: &str, view: &LibraryView, source_files: Option<u64>) -> Section {
    let slice = if slice.is_empty() { String::new() } else { format!(" · slice {slice}") };
    let architecture = view.architecture.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let heading = format!(
        "Metal library{slice}, {}{}, {} · {}{architecture} · {}{}",
        view.library_type,
        if view.stub { ", stub" } else { "" },
        view.container_version,
        view.target,
        view.writer.as_ref().map(|writer| format!("{writer} · ")).unwrap_or_default(),
        size(view.size),
    );
    let types: Vec<_> =
        view.function_types.iter().map(|row| format!("{} {}", grouped(row.count), row.kind)).collect();
    let count = grouped(view.function_count.into());
    let functions = if types.is_empty() { count } else { format!("{count:<7}{}", types.join(" · ")) };
    let mut facts = vec![Fact::new("functions", functions)];
    if !view.versions.is_empty() {
        facts.push(Fact::new("language", languages(view)));
    }
    if let Some(sources) = &view.sources {
        let archives = counted(sources.archives.len() as u64, "archive");
        let text = match source_files {
            Some(files) => format!("{archives}, {}", counted(files, "file")),
            None => format!("{archives}, {} packed", size(sources.packed_size)),
        };
        let note = Some(Note::Command("extract", "-o src --only sources"));
        facts.push(Fact { note, ..Fact::new("sources", text) });
    }
    facts.extend(view.link.install_name.iter().map(|name| Fact::new("name", name)));
    facts.extend(view.link.linked_libraries.iter().map(|name| Fact::new("linked", name)));
    let names = [
        ("imports", &view.link.imported_symbols, "symbol"),
        ("exports", &view.link.exported_variables, "variable"),
    ];
    for (label, names, noun) in names.into_iter().filter(|(_, names, _)| !names.is_empty()) {
        facts.push(Fact::new(label, counted(names.len() as u64, noun)));
    }
    if let Some(hashes) = view.hashes.filter(|hashes| hashes.total > 0) {
        let text = format!("{} of {} match", grouped(hashes.matching), grouped(hashes.total));
        let (state, note) = if hashes.matching == hashes.total {
            (State::Good, None)
        } else {
            (State::Bad, Some(Note::Command("verify", "")))
        };
        facts.push(Fact { state, note, ..Fact::new("hashes", text) });
    }
    facts.extend(view.uuid.iter().map(|uuid| Fact::new("uuid", uuid)));
    if view.stated_size != view.size {
        let (stated, size) = (grouped(view.stated_size), grouped(view.size));
        facts.push(Fact::new("size", format!("the header says {stated} bytes, there are {size}")).bad());
    }
    if view.function_count > 0 {
        facts.push(Fact::command("more", "list", ""));
    }
    Section { heading, facts }
}

fn languages(view: &LibraryView) -> String {
    let is_one = view.versions.len() == 1;
    let version = |row: &crate::view::VersionCount| {
        let count = if is_one { String::new() } else { format!(" ({})", counted(row.count, "function")) };
        format!("Metal {}, AIR {}{count}", row.metal, row.air)
    };
    view.versions.iter().map(version).collect::<Vec<_>>().join(" · ")
}

fn row(view: FunctionRow) -> Row {
    Row {
        index: view.index,
        name: view.name,
        demangled: view.demangled,
        declaration: None,
        kind: view.kind.unwrap_or_default(),
        has_source: view.has_source,
        range: view.offset.zip(view.size).map(|(start, size)| start..start.saturating_add(size)),
        cells: vec![version(view.metal), version(view.air), Cell::size(view.size), Cell::offset(view.offset)],
    }
}

fn version(version: Option<ShortVersion>) -> Cell {
    version.map_or(Cell::Empty, |version| Cell::Version([version.major, version.minor]))
}

const ATTRIBUTES: &[Column] = &[
    Column::left("type", "type"),
    Column::left("name", "name"),
    Column::left("attribute", "attribute"),
    Column::left("usage", "usage"),
    Column::left("used", "used"),
];

/// Returns all facts of a function, for people and for JSON.
fn card(library: &Library<'_>, function: &Function<'_>) -> (Card, FunctionView) {
    let mut card = Card::default();
    let view = FunctionView::declare(library, function, &mut card);
    if view.signature.is_none() {
        undeclared(&view, &mut card);
    }
    let row = &view.row;
    let facts = &mut card.facts;
    facts.push(Fact::new("index", format!("#{}", row.index)));
    if let Some(demangled) = &row.demangled {
        facts.push(Fact::new("mangled", &row.name));
        facts.push(Fact::new("demangled", demangled));
    }
    if let (Some(metal), Some(air)) = (&row.metal, &row.air) {
        facts.push(Fact::new("language", format!("Metal {metal}, AIR {air}")));
    }
    if let (Some(at), Some(size)) = (row.offset, row.size) {
        let bitcode = view.bitcode_size.map(|size| format!(", {} of bitcode", grouped(size)));
        let text = format!("{} bytes at {at:#x}{}", grouped(size), bitcode.unwrap_or_default());
        facts.push(Fact::new("module", text).at(at, size));
    }
    if let Some(hash) = &view.hash {
        let (state, verdict) = match view.hash_matches {
            Some(true) => (State::Good, "matches"),
            Some(false) => (State::Bad, "does not match the module"),
            None => (State::Plain, "no module to compare with"),
        };
        facts.push(Fact::new("SHA-256", hash).verdict(state, verdict));
    }
    facts.extend(view.tessellation.iter().map(|text| Fact::new("patches", text)));
    facts.extend(view.layer_type.iter().map(|text| Fact::new("layer index", text)));
    facts.extend(view.reflection.iter().flat_map(thread_facts));
    let metadata = &view.metadata;
    if let (Some(line), Some(path)) = (metadata.line, &metadata.source_path) {
        facts.push(Fact::new("source", format!("{path}:{line}")));
    }
    facts.extend(metadata.dependencies.iter().map(|path| Fact::new("linked from", path)));
    facts.extend(
        view.source_archive.iter().map(|id| Fact::new("archive", format!("source is in archive {id}"))),
    );
    facts.extend(metadata.raw.iter().map(|(code, bytes)| Fact::new(code.clone(), bytes)));
    let (start, end) = view.group;
    let codes: Vec<_> = function.tags().filter_map(Result::ok).map(|tag| tag.code.to_string()).collect();
    let text = format!("{} at {start:#x}..{end:#x}", codes.join(" "));
    facts.push(Fact::new("tags", text).at(start, end.saturating_sub(start)));
    facts.extend(view.findings.iter().map(finding));
    card.tables = tables(&view);
    (card, view)
}

/// Returns a finding as a fact.
pub(super) fn finding(finding: &crate::view::FindingView) -> Fact {
    let path: String = finding.path.iter().map(|part| format!("{part}: ")).collect();
    Fact::new(finding.severity.clone(), format!("{path}{}", finding.message)).bad()
}

fn tables(view: &FunctionView) -> Vec<Table> {
    let attributes = Table::of("vertex attributes", ATTRIBUTES, &view.metadata.vertex_attributes, |one| {
        vec![
            Cell::text(one.data_type.clone()),
            Cell::text(one.name.clone()),
            Cell::text(format!("[[attribute({})]]", one.index)),
            Cell::text(one.usage.clone()),
            yes(one.active),
        ]
    });
    // Reflection names the constants if the metadata does not.
    let in_reflection = view.reflection.as_ref().map(|reflection| &reflection.function_constants);
    let in_metadata = &view.metadata.function_constants;
    let constants = if in_metadata.is_empty() { in_reflection.unwrap_or(in_metadata) } else { in_metadata };
    let constants = constants_table(constants);
    let arguments = view.reflection.as_ref().and_then(arguments_table);
    arguments.into_iter().chain(attributes).chain(constants).collect()
}

/// Prints the known parts of a declaration.
fn undeclared(view: &FunctionView, card: &mut Card) {
    card.put(TokenKind::Keyword, view.row.kind.as_deref().unwrap_or("function"));
    card.put(TokenKind::Space, " ");
    card.put(TokenKind::Function, view.row.readable_name());
    if !view.row.readable_name().ends_with(')') {
        card.put(TokenKind::Punctuation, "(…)");
    }
}
