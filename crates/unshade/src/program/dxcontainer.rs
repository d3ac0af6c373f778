//! Opens DirectX shader containers: DXIL, token programs of Shader Model 4 to 5.1, libraries, effects.
//!
//! Items are functions: the exports of a library, or the one entry point of any other container.

use super::{
    Brief, Card, Cell, Code, CodeRequest, Column, Descriptions, ExtractKind, Extracted, Fact, Form, Format,
    Info, ItemName, Items, ModuleGroup, Piece, PieceBytes, Pieces, Program, Row, Runner, Section, State,
    Table, Verb, Verdict, VerifyDepth, Writable, piece,
};
use crate::carve;
use crate::disassembly::{ProgramPart, TokenSource, Unit, has_token_program, program_parts};
use crate::dxil::main_part;
use crate::quantity::{counted, dimensions, size};
use crate::select::Selection;
use crate::source_files::SourceFile;
use crate::view::{ContainerView, ExportView, PartView, ResourceView, SignatureView};
use crate::{check_dxcontainer, fx_listing};
use serde::Serialize;
use std::ops::ControlFlow;
use unshade_core::{Diagnostics, FourCc, OutlineSink, Reader, Result, TokenKind, TokenSink};
use unshade_dxcontainer::container::Part;
use unshade_dxcontainer::part::{describe, is_token_program};
use unshade_dxcontainer::program::bitcode;
use unshade_dxcontainer::psv0::stage_word;
use unshade_dxcontainer::{Container, PartData, outline};

const NO_MACHINE_CODE: &str = "holds DXIL or DXBC, no NVIDIA machine code";

pub(super) static FORMAT: Format = Format {
    format: carve::format::Format::DxContainer,
    word: "dxcontainer",
    item: "function",
    kinds: &[
        "pixel",
        "vertex",
        "geometry",
        "hull",
        "domain",
        "compute",
        "library",
        "mesh",
        "amplification",
        "node",
        "raygeneration",
        "intersection",
        "anyhit",
        "closesthit",
        "miss",
        "callable",
        "effect",
    ],
    refusals: &[
        (Verb::Symbols, "containers are not linked; `unshade extract` writes the modules of DXIL"),
        (Verb::Link, "only the modules of Metal are linked"),
        (Verb::Liveness, NO_MACHINE_CODE),
        (Verb::Sanitize, NO_MACHINE_CODE),
        (Verb::Ghidra, NO_MACHINE_CODE),
        (Verb::Check, "no rules are known for where DirectX containers load"),
    ],
    deferred: |_, _| None,
    open: |find| Ok(Box::new(DxProgram::new(Container::read(Reader::at(find.data, super::base(find)))?))),
};

const FUNCTIONS: &[Column] = &[
    Column::right("threads", "threads"),
    Column::right("payload", "payload"),
    Column::right("attributes", "attributes"),
    Column::left("node", "node"),
];

const RESOURCES: &[Column] = &[
    Column::left("registers", "registers"),
    Column::right("space", "space"),
    Column::left("kind", "kind"),
    Column::left("shape", "shape"),
    Column::left("element", "element"),
    Column::left("notes", "notes"),
    Column::left("name", "name"),
];

const PARTS: &[Column] = &[
    Column::left("part", "part"),
    Column::right("offset", "offset"),
    Column::right("size", "bytes"),
    Column::left("what", "what"),
];

const PIECES: &[Column] =
    &[Column::left("what", "what"), Column::right("size", "bytes"), Column::right("offset", "offset")];

/// Columns of the functions, in a table beside the parts.
const EXPORTS: &[Column] = &[
    Column::left("kind", "kind"),
    Column::left("name", "name"),
    Column::right("threads", "threads"),
    Column::right("payload", "payload"),
    Column::right("attributes", "attributes"),
    Column::left("node", "node"),
];

const SIGNATURE: &[Column] = &[
    Column::left("name", "name"),
    Column::left("type", "type"),
    Column::right("register", "register"),
    Column::left("mask", "mask"),
    Column::left("system", "system value"),
    Column::left("interpolation", "interpolation"),
    Column::right("stream", "stream"),
];

const CLAUSES: &[Column] = &[Column::left("clause", "clause")];

/// The module parts that `extract` writes.
const MODULES: [&[u8; 4]; 3] = [b"DXIL", b"ILDB", b"STAT"];

/// A container as a program.
#[derive(Debug)]
pub(crate) struct DxProgram<'a> {
    container: Container<'a>,
}

#[derive(Serialize)]
struct ContainerJson {
    container: ContainerView,
}

/// A function of a container.
struct Entry<'v> {
    name: &'v str,
    mangled: &'v str,
    kind: &'v str,
    export: Option<&'v ExportView>,
}

/// Returns the exports of a library, or the entry point of any other container, called `main` if it has no name.
fn entries(view: &ContainerView) -> Vec<Entry<'_>> {
    if !view.functions.is_empty() {
        return view.functions.iter().map(Entry::of_export).collect();
    }
    let Some(profile) = &view.profile else { return Vec::new() };
    let name = view.entry.as_deref().unwrap_or("main");
    vec![Entry { name, mangled: name, kind: stage(profile), export: None }]
}

/// Returns the stage of a profile such as `ps_6_0`.
fn stage(profile: &str) -> &'static str {
    const STAGES: [(&str, &str); 10] = [
        ("ps_", "pixel"),
        ("vs_", "vertex"),
        ("gs_", "geometry"),
        ("hs_", "hull"),
        ("ds_", "domain"),
        ("cs_", "compute"),
        ("ms_", "mesh"),
        ("as_", "amplification"),
        ("lib_", "library"),
        ("fx_", "effect"),
    ];
    STAGES.iter().find(|(prefix, _)| profile.starts_with(prefix)).map_or("program", |(_, stage)| stage)
}

impl<'v> Entry<'v> {
    fn of_export(export: &'v ExportView) -> Self {
        let ExportView { name, mangled, kind, .. } = export;
        Self { name, mangled, kind, export: Some(export) }
    }

    fn item(&self, index: u32) -> ItemName<'_> {
        ItemName { index, name: self.mangled.as_bytes(), kind: Some(self.kind), has_source: false }
    }
}

impl<'a> DxProgram<'a> {
    /// Returns a container as a program.
    pub(crate) fn new(container: Container<'a>) -> Self {
        Self { container }
    }

    fn view(&self) -> ContainerView {
        ContainerView::new(&self.container)
    }

    /// Returns whether the container has token programs or an effect, and no module.
    fn has_tokens(&self) -> bool {
        let container = &self.container;
        main_part(container).is_none()
            && (has_token_program(container) || fx_listing::effect(container).is_some())
    }

    /// Returns the part of a piece.
    fn part(&self, piece: &Piece) -> Result<Part<'a>> {
        let part = self.container.found_parts().nth(piece.index as usize);
        part.ok_or_else(|| super::no_piece(piece.row.range.as_ref().map_or(0, |range| range.start)))
    }

    /// Returns the modules of a part; if no part is given, those of the part that `dis` prints.
    fn modules(&self, part: Option<FourCc>, path: &str, diagnostics: &mut Diagnostics) -> Code<'_> {
        let parts = program_parts(&self.container, part, path, diagnostics);
        if parts.is_empty() {
            return Code::Unread;
        }
        let view = self.view();
        let exports: Vec<_> = entries(&view).iter().map(|entry| entry.mangled.to_owned()).collect();
        let unit = |mut part: ProgramPart<'a>| {
            part.exports.clone_from(&exports);
            Unit::Part(part)
        };
        let units = parts.into_iter().map(unit).collect();
        Code::Modules(vec![ModuleGroup { slice: String::new(), units }])
    }
}

/// Passes the sources embedded in a part to `visit`.
fn each_source(part: &Part<'_>, diagnostics: &mut Diagnostics, visit: &mut dyn FnMut(SourceFile)) {
    if part.name.0 != *b"SRCI" {
        return;
    }
    if let Some(PartData::Sources(info)) = diagnostics.take("sources", PartData::read(part.name, part.data)) {
        let files = diagnostics.take("sources", info.files()).unwrap_or_default();
        let file = |file: unshade_dxcontainer::source_info::SourceFile| SourceFile {
            path: file.name.0,
            data: file.text.0,
        };
        files.into_iter().map(file).for_each(visit);
    }
}

/// Returns the selected entries with their indices.
fn selected<'v>(view: &'v ContainerView, selection: &Selection) -> Vec<(u32, Entry<'v>)> {
    let numbered = (0..).zip(entries(view));
    numbered.filter(|(index, entry)| selection.matches(&entry.item(*index))).collect()
}

impl Program for DxProgram<'_> {
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief {
        let view = self.view();
        let functions = view.functions.len().max(1) as u64;
        Brief { summary: summary(&view), target: view.profile, functions }
    }

    #[cfg(not(target_family = "wasm"))]
    fn info(&self, _runner: &dyn Runner, _diagnostics: &mut Diagnostics) -> Info {
        let view = self.view();
        let sections = vec![section(&view, false)];
        Info { sections, json: super::json(ContainerJson { container: view }) }
    }

    fn sections(&self, _diagnostics: &mut Diagnostics) -> Vec<Section> {
        vec![section(&self.view(), true)]
    }

    fn tables(&self, _diagnostics: &mut Diagnostics) -> Vec<Table> {
        let view = self.view();
        let functions = Table::of("functions", EXPORTS, &view.functions, |one| {
            let entry = Entry::of_export(one);
            let Row { cells, .. } = row(0, &entry);
            [Cell::text(one.kind.clone()), Cell::text(one.name.clone())].into_iter().chain(cells).collect()
        });
        functions.into_iter().chain(tables(&view)).filter(|table| table.title != "parts").collect()
    }

    fn pieces(&self) -> Pieces {
        let piece = |((index, part), view): ((u32, Part<'_>), &PartView)| Piece {
            row: Row {
                index,
                name: view.name.clone(),
                kind: part_kind(&view.name).into(),
                has_source: view.name == "SRCI",
                range: Some(view.offset..view.offset.saturating_add(view.size)),
                cells: vec![Cell::text(view.what.clone()), Cell::Size(view.size), Cell::Offset(view.offset)],
                ..Row::default()
            },
            unit: 0,
            index,
            panes: if is_code(&part) { piece::SHADER } else { &[] },
            has_bytes: true,
            entry: None,
        };
        let view = self.view();
        let all = (0..).zip(self.container.found_parts()).zip(&view.parts).map(piece).collect();
        let has_code = self.has_tokens() || main_part(&self.container).is_some();
        Pieces { noun: "part", columns: PIECES, all, panes: if has_code { piece::SHADER } else { &[] } }
    }

    fn card(&self, piece: &Piece, _diagnostics: &mut Diagnostics) -> Result<Card> {
        let part = self.part(piece)?;
        let (start, bytes) = (part.data.base(), part.data.data().len() as u64);
        let facts = vec![
            Fact::new("part", format!("{} #{}", part.name, part.index)),
            Fact::new("what", describe(part.name).unwrap_or("unknown")),
            Fact::new("content", format!("{} at {start:#x}", size(bytes))).at(start, bytes),
        ];
        let name = part.name.to_string();
        let title = match &part.name.0 {
            b"PSV0" | b"RDEF" => "resources",
            b"RDAT" => "functions",
            b"RTS0" => "root signature",
            _ => name.as_str(),
        };
        let mut tables = self.tables(&mut Diagnostics::new());
        tables.retain(|table| table.title.starts_with(title));
        Ok(Card { facts, tables, ..Card::default() })
    }

    fn code_of(&self, piece: &Piece, path: &str, diagnostics: &mut Diagnostics) -> Result<Code<'_>> {
        let part = self.part(piece)?;
        Ok(if bitcode(part.data).is_ok() {
            self.modules(Some(FourCc(part.name.0)), path, diagnostics)
        } else if is_code(&part) {
            Code::Tokens(TokenSource::Container(self.container.clone()))
        } else {
            Code::Unread
        })
    }

    fn bytes_of(&self, piece: &Piece) -> Result<PieceBytes<'_>> {
        let part = self.part(piece)?;
        Ok(match bitcode(part.data) {
            Ok((_, code)) => PieceBytes { extension: ".bc", data: code.data().into() },
            Err(_) => PieceBytes { extension: ".bin", data: part.data.data().into() },
        })
    }

    fn sources(&self, piece: Option<&Piece>, visit: &mut dyn FnMut(SourceFile)) {
        if piece.is_none_or(|piece| piece.row.has_source) {
            let mut diagnostics = Diagnostics::new();
            self.container.found_parts().for_each(|part| each_source(&part, &mut diagnostics, visit));
        }
    }

    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>) -> ControlFlow<()>) {
        let view = self.view();
        let _ = (0..).zip(entries(&view)).try_for_each(|(index, entry)| visit(entry.item(index)));
    }

    #[cfg(not(target_family = "wasm"))]
    fn items(
        &self,
        selection: &Selection,
        _form: Form,
        _runner: &dyn Runner,
        _diagnostics: &mut Diagnostics,
    ) -> Items {
        let mut view = self.view();
        let rows: Vec<Row> =
            selected(&view, selection).iter().map(|(index, entry)| row(*index, entry)).collect();
        let tables = if selection.is_everything() {
            resources(&view).into_iter().chain(parts(&view)).collect()
        } else {
            keep_selected(&mut view, selection);
            Vec::new()
        };
        Items { tables, ..Items::of(FUNCTIONS, rows, super::json(ContainerJson { container: view })) }
    }

    #[cfg(not(target_family = "wasm"))]
    fn describe(&self, selection: &Selection, _diagnostics: &mut Diagnostics) -> Descriptions {
        let mut view = self.view();
        let entries = selected(&view, selection);
        let mut cards: Vec<Card> = entries.iter().map(|(index, entry)| card(*index, entry, &view)).collect();
        // Tables that belong to no function follow the last one.
        match cards.last_mut() {
            Some(last) => last.tables.extend(tables(&view)),
            // Root signatures and similar parts have no function.
            None if selection.is_everything() => {
                cards.push(Card {
                    facts: first_facts(&view, true),
                    tables: tables(&view),
                    ..Card::default()
                });
            }
            None => {}
        }
        if !selection.is_everything() {
            keep_selected(&mut view, selection);
        }
        Descriptions { cards, json: super::json(ContainerJson { container: view }) }
    }

    fn code(&self, request: &CodeRequest<'_>, diagnostics: &mut Diagnostics) -> Code<'_> {
        if request.part.is_none() && self.has_tokens() {
            return Code::Tokens(TokenSource::Container(self.container.clone()));
        }
        self.modules(request.part, request.path, diagnostics)
    }

    fn extract(
        &self,
        _selection: &Selection,
        kinds: &[ExtractKind],
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for part in self.container.found_parts() {
            if kinds.contains(&ExtractKind::Module)
                && MODULES.contains(&&part.name.0)
                && let Ok((_, code)) = bitcode(part.data)
            {
                let path = format!("modules/{}.bc", part.name);
                take(Extracted { kind: ExtractKind::Module, path: &path, data: code.data() })?;
            }
            if !kinds.contains(&ExtractKind::Source) {
                continue;
            }
            let mut flow = ControlFlow::Continue(());
            each_source(&part, diagnostics, &mut |file| {
                let name = String::from_utf8_lossy(&file.path).replace('\\', "/");
                let name = name.split_once(":/").map_or(name.as_str(), |(_, rest)| rest);
                let path = format!("sources/{}", name.trim_start_matches('/'));
                if flow.is_continue() {
                    flow = take(Extracted { kind: ExtractKind::Source, path: &path, data: &file.data });
                }
            });
            flow?;
        }
        ControlFlow::Continue(())
    }

    fn verify(&self, _runner: &dyn Runner, _depth: VerifyDepth) -> Verdict {
        let mut diagnostics = check_dxcontainer(&self.container);
        diagnostics.sort_by_offset();
        Verdict { hashes: None, diagnostics }
    }

    fn outline(&self, sink: &mut dyn OutlineSink) {
        outline::container(&self.container, sink);
    }

    fn writable(&self) -> Option<Writable> {
        Some(Writable::DxContainer)
    }
}

/// Returns the facts for the top of a report, or all of them, and the counts of the contents.
fn section(view: &ContainerView, all: bool) -> Section {
    let mut facts = first_facts(view, all);
    let count = |count: usize, noun: &str| (count > 0).then(|| counted(count as u64, noun));
    let counts = [
        count(view.functions.len(), "function"),
        count(view.resources.len(), "resource"),
        count(view.root_signature_version.iter().len(), "root signature"),
        count(view.sources.len(), "source file"),
        count(view.parts.len(), "part"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    facts.push(Fact::new("holds", counts.join(" · ")));
    facts.push(Fact::command("more", "show", ""));
    Section { heading: format!("{}, {}", FORMAT.format, summary(view)), facts }
}

/// Returns whether a part has its own listing.
fn is_code(part: &Part<'_>) -> bool {
    is_token_program(part.name, part.data.data()) || bitcode(part.data).is_ok()
}

/// Returns the kind of a part by its name.
fn part_kind(name: &str) -> &'static str {
    match name {
        "DXIL" | "ILDB" | "SHDR" | "SHEX" | "Aon9" => "program",
        "DXBC" | "LIBF" => "container",
        "PCSG" => "signature",
        _ if ["ISG", "OSG", "PSG"].iter().any(|prefix| name.starts_with(prefix)) => "signature",
        "SRCI" | "ILDN" | "PDBI" | "SDBG" | "SPDB" => "debug",
        _ => "part",
    }
}

/// Returns a short description of a container.
fn summary(view: &ContainerView) -> String {
    let profile = view.profile.as_deref().unwrap_or("no program");
    let code = view.code.as_ref().map(|code| format!(" · {code}")).unwrap_or_default();
    format!("{profile}{code} · {}", size(view.size.into()))
}

/// Returns the facts for the top of a report, or all of them.
fn first_facts(view: &ContainerView, all: bool) -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.extend(view.entry.iter().map(|entry| Fact::new("entry", entry)));
    facts.extend(view.threads.map(|threads| Fact::new("threads", dimensions(threads))));
    facts.extend(view.wave_lanes.map(|[least, most]| Fact::new("wave", format!("{least} to {most} lanes"))));
    facts.extend(view.compiler.iter().map(|compiler| Fact::new("compiler", compiler)));
    if all {
        facts.extend(view.validator.iter().map(|validator| Fact::new("validator", validator)));
    }
    for (label, words) in [("features", &view.features), ("flags", &view.flags)] {
        if !words.is_empty() {
            facts.push(Fact::new(label, words.join(" · ")));
        }
    }
    let state = match view.digest_is.as_str() {
        "right" => State::Good,
        "wrong" => State::Bad,
        _ => State::Plain,
    };
    let digest = if all { view.digest.clone() } else { String::new() };
    facts.push(Fact::new("digest", digest).verdict(state, view.digest_is.clone()));
    if all {
        for (label, value) in &view.stage {
            let word = stage_word(label, *value).unwrap_or_else(|| value.to_string());
            facts.push(Fact::new("stage", format!("{label} {word}")));
        }
        facts.extend(view.debug_name.iter().map(|name| Fact::new("debug", name)));
        facts.extend(view.sources.iter().map(|source| Fact::new("source", source)));
        if !view.arguments.is_empty() {
            facts.push(Fact::new("arguments", view.arguments.join(" ")));
        }
    }
    facts
}

fn row(index: u32, entry: &Entry<'_>) -> Row {
    let bytes = |size: Option<u32>| Cell::size(size.map(u64::from));
    let export = entry.export;
    Row {
        index,
        name: entry.mangled.to_owned(),
        demangled: (entry.name != entry.mangled).then(|| entry.name.to_owned()),
        kind: entry.kind.to_owned().into(),
        cells: vec![
            Cell::text(export.and_then(|one| one.threads).map(dimensions)),
            bytes(export.and_then(|one| one.payload_size)),
            bytes(export.and_then(|one| one.attribute_size)),
            Cell::text(export.and_then(node)),
        ],
        ..Row::default()
    }
}

/// Returns the facts of a node of a work graph.
fn node(function: &ExportView) -> Option<String> {
    let node = function.node.as_ref()?;
    let notes = [
        node.id.as_ref().map(|id| format!("node {id}")),
        node.launch.clone(),
        node.is_program_entry.then(|| "program entry".to_owned()),
        node.dispatch_grid.map(|grid| format!("grid {}", dimensions(grid))),
        node.max_dispatch_grid.map(|grid| format!("grid at most {}", dimensions(grid))),
    ];
    Some(notes.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

/// Returns all facts of a function, with those of the container if it is the only function.
fn card(index: u32, entry: &Entry<'_>, view: &ContainerView) -> Card {
    let mut card = Card::default();
    card.put(TokenKind::Keyword, entry.kind);
    card.put(TokenKind::Space, " ");
    card.put(TokenKind::Function, entry.name);
    card.facts.push(Fact::new("index", format!("#{index}")));
    if entry.name != entry.mangled {
        card.facts.push(Fact::new("mangled", entry.mangled));
    }
    let Some(export) = entry.export else {
        card.facts.push(Fact::new("profile", summary(view)));
        card.facts.extend(first_facts(view, true));
        return card;
    };
    card.facts.extend(export.threads.map(|threads| Fact::new("threads", dimensions(threads))));
    let sizes = [("payload", export.payload_size), ("attributes", export.attribute_size)];
    for (label, bytes) in sizes {
        card.facts.extend(bytes.map(|bytes| Fact::new(label, size(bytes.into()))));
    }
    card.facts.extend(node(export).map(|node| Fact::new("node", node)));
    card
}

/// Keeps only the selected functions of a library.
fn keep_selected(view: &mut ContainerView, selection: &Selection) {
    let mut index = 0;
    view.functions.retain(|function| {
        let keep = selection.matches(&Entry::of_export(function).item(index));
        index += 1;
        keep
    });
}

fn resources(view: &ContainerView) -> Option<Table> {
    Table::of("resources", RESOURCES, &view.resources, |one: &ResourceView| {
        vec![
            Cell::text(one.registers.clone()),
            Cell::Number(one.space.into()),
            Cell::text(one.kind.clone()),
            Cell::text(one.shape.clone()),
            Cell::text(one.element.clone().or(one.bytes.map(|bytes| size(bytes.into())))),
            Cell::text(one.notes.join(", ")),
            Cell::text(one.name.clone()),
        ]
    })
}

fn parts(view: &ContainerView) -> Option<Table> {
    Table::of("parts", PARTS, &view.parts, |part| {
        vec![
            Cell::text(part.name.clone()),
            Cell::Offset(part.offset),
            Cell::Number(part.size),
            Cell::text(part.what.clone()),
        ]
    })
}

/// Returns the tables of a container other than its functions.
fn tables(view: &ContainerView) -> Vec<Table> {
    let mut tables: Vec<Table> = resources(view).into_iter().collect();
    for elements in view.signatures.chunk_by(|one, next| one.part == next.part) {
        let title = elements.first().map(|element| element.part.clone()).unwrap_or_default();
        tables.extend(Table::of(title, SIGNATURE, elements, |one: &SignatureView| {
            vec![
                Cell::text(one.name.clone()),
                Cell::text(one.component_type.clone()),
                Cell::number(one.register),
                Cell::text(one.mask.clone()),
                Cell::text(one.system_value.clone()),
                Cell::text(one.interpolation.clone()),
                if one.stream == 0 { Cell::Empty } else { Cell::Number(one.stream.into()) },
            ]
        }));
    }
    if let Some(version) = &view.root_signature_version {
        let title = format!("root signature {version}");
        tables.extend(Table::of(title, CLAUSES, &view.root_signature, |clause| {
            vec![Cell::text(clause.clone())]
        }));
    }
    tables.extend(parts(view));
    tables
}
