//! Opens LLVM bitcode: `.bc` and `.air` files, wrapped or not, with several modules in a stream; also from archives,
//! object files and offload bundles.
//!
//! Items are the functions of all modules, numbered across modules. A module without functions, such as one with data
//! alone, has no items. Entry points of AIR modules are described as the functions of a Metal library are.

use super::air_module::{AirModule, Entry, types_text};
use super::metallib::finding;
use super::{
    Brief, Card, Cell, Code, CodeRequest, Column, Descriptions, ExtractKind, Extracted, Fact, Form, Format,
    Info, ItemName, Items, ModuleGroup, NamedFacts, Piece, PieceBytes, Pieces, Program, Row, Runner, Section,
    Verb, Verdict, VerifyDepth, Writable, piece,
};
use crate::carve::{self, Find};
use crate::disassembly::Unit;
use crate::load_check::LibraryFacts;
use crate::quantity::{counted, grouped, size};
use crate::select::Selection;
use crate::view::{FindingView, ReflectionView, TypeCount};
use crate::{air, demangle};
use serde::Serialize;
use std::ops::{ControlFlow, Range};
use unshade_core::{Diagnostics, Escaped, OutlineSink, Reader, Result, TokenKind, TokenSink};
use unshade_llvm::facts::{DebugFacts, FunctionFacts, ModuleFacts, Wrapper, functions};
use unshade_llvm::{Module, outline, verify};

const NO_MACHINE_CODE: &str = "holds LLVM bitcode, no NVIDIA machine code";

pub(super) static FORMAT: Format = Format {
    format: carve::format::Format::Bitcode,
    word: "bitcode",
    item: "function",
    kinds: &[
        "function",
        "declaration",
        "module",
        "vertex",
        "fragment",
        "kernel",
        "visible",
        "extern",
        "intersection",
        "mesh",
        "object",
    ],
    refusals: &[
        (Verb::Liveness, NO_MACHINE_CODE),
        (Verb::Sanitize, NO_MACHINE_CODE),
        (Verb::AssembleInto, "a module is assembled as a whole; `unshade asm` writes it"),
        (Verb::Ghidra, NO_MACHINE_CODE),
        (
            Verb::ToYaml,
            "LLVM bitcode has no YAML; `unshade dis` prints its assembly, `unshade dump` its records",
        ),
        (Verb::Sign, "LLVM bitcode is not signed"),
    ],
    deferred: |_, _| None,
    open: |find| Bitcode::open(find).map(|program| -> Box<dyn Program> { Box::new(program) }),
};

const COLUMNS: &[Column] = &[
    Column::right("module", "module"),
    Column::left("linkage", "linkage"),
    Column::left("air", "AIR"),
    Column::left("metal", "Metal"),
    Column::right("size", "body"),
    Column::right("offset", "offset"),
];

const MODULES: &[Column] = &[
    Column::right("functions", "functions"),
    Column::right("globals", "globals"),
    Column::left("target", "target"),
];

/// A bitcode stream and its modules.
struct Bitcode<'a> {
    data: &'a [u8],
    base: u64,
    /// The path of the program, which names its modules.
    path: String,
    /// The readable modules, each with its index in the stream.
    modules: Vec<(u32, Module<'a>)>,
    /// The number of modules, readable or not.
    count: usize,
    /// Problems found while reading the stream.
    diagnostics: Diagnostics,
    options: Vec<String>,
}

/// The facts that a module states about itself.
#[derive(Serialize)]
struct ModuleJson {
    index: u32,
    producer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    /// The compiler that produced the module.
    #[serde(skip_serializing_if = "Option::is_none")]
    compiler: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    triple: String,
    data_layout: String,
    /// The version of the module's records.
    version: u32,
    definitions: usize,
    declarations: usize,
    globals: usize,
    aliases: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    debug_info: Option<String>,
    /// The SHA-1 that the module states.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// The AIR and Metal versions of a module for Apple GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    air: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metal: Option<String>,
    /// The platform and OS version that the triple of such a module names.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The number of its entry points of each type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    function_types: Vec<TypeCount>,
}

#[derive(Serialize)]
struct ModulesJson {
    modules: Vec<ModuleJson>,
    /// The compiler's options, if an object file has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
}

/// A function of a module.
#[derive(Clone, Serialize)]
struct FunctionJson {
    /// Its index in the stream, across all modules.
    index: u32,
    module: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    /// `function`, `declaration`, or the function's role in AIR: `kernel`, `vertex`.
    #[serde(rename = "type")]
    kind: String,
    linkage: String,
    /// The signature in LLVM's syntax.
    signature: String,
    /// The range of the body: its offset and size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    air: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metal: Option<String>,
    /// The declaration in the Metal language, of an entry point of AIR, in `show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    declaration: Option<String>,
    /// The platform and OS version that the triple names, of an entry point.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// What the metadata says of an entry point, in `show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reflection: Option<ReflectionView>,
    #[serde(skip)]
    entry: Option<Entry>,
    /// What of the metadata can't be read or expressed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

#[derive(Serialize)]
struct FunctionsJson {
    functions: Vec<FunctionJson>,
}

impl<'a> Bitcode<'a> {
    fn open(find: &Find<'a>) -> Result<Self> {
        let base = super::base(find);
        let mut diagnostics = Diagnostics::new();
        let (mut modules, mut count) = (Vec::new(), 0);
        for (index, module) in (0..).zip(Module::parse_all(find.data, base)?) {
            modules.extend(diagnostics.take("llvm-module", module).map(|module| (index, module)));
            count += 1;
        }
        let options = find.compiler_options().map(|option| Escaped(option).to_string()).collect();
        Ok(Self { data: find.data, base, path: find.path.to_string(), modules, count, diagnostics, options })
    }

    /// Returns each module with its index and the index of its first function. Function numbers run across all modules.
    fn numbered(&self) -> impl Iterator<Item = (u32, u32, &Module<'a>)> {
        let mut next = 0_u32;
        self.modules.iter().map(move |(index, module)| {
            let first = next;
            next = next.saturating_add(u32::try_from(module.functions.len()).unwrap_or(u32::MAX));
            (*index, first, module)
        })
    }

    /// Returns the selected functions; if they are to be shown, with all that is known of entry points.
    fn functions(&self, selection: &Selection, is_shown: bool) -> Vec<FunctionJson> {
        let mut found = Vec::new();
        for (number, first, module) in self.numbered() {
            let air = AirModule::new(module);
            let all = module.functions.iter().zip(functions(module));
            for (index, (function, facts)) in (first..).zip(all) {
                let entry_type = air.as_ref().and_then(|air| air.entry_type(function));
                let kind =
                    entry_type.unwrap_or(if function.declaration { "declaration" } else { "function" });
                let name = &function.symbol.name;
                if selection.matches(&ItemName { index, name, kind: Some(kind), has_source: false }) {
                    let mut one = function_json(index, number, facts, kind);
                    if let Some(air) = air.as_ref().filter(|_| !function.declaration) {
                        (one.air, one.metal) = air.versions().unzip();
                        one.target = air.target().filter(|_| entry_type.is_some());
                        if is_shown && entry_type.is_some() {
                            one.add_entry(air, name);
                        }
                    }
                    found.push(one);
                }
            }
        }
        found
    }
}

fn function_json(index: u32, module: u32, facts: FunctionFacts, kind: &str) -> FunctionJson {
    let linkage = facts.linkage.keyword();
    FunctionJson {
        index,
        module,
        signature: Escaped(facts.signature.as_bytes()).to_string(),
        demangled: demangle(&facts.name),
        name: Escaped(&facts.name).to_string(),
        kind: kind.to_owned(),
        linkage: if linkage.is_empty() { "external" } else { linkage }.to_owned(),
        offset: facts.body.as_ref().map(|body| body.start),
        size: facts.body.map(|body| body.end.saturating_sub(body.start)),
        air: None,
        metal: None,
        declaration: None,
        target: None,
        reflection: None,
        entry: None,
        findings: Vec::new(),
    }
}

impl FunctionJson {
    /// Adds what the metadata of its module says of an entry point.
    fn add_entry(&mut self, air: &AirModule, name: &[u8]) {
        self.entry = air.entry(name, &mut self.findings);
        self.declaration = self.entry.as_ref().map(Entry::text);
        self.reflection = self.entry.as_ref().map(|entry| entry.reflection.clone());
    }

    /// Returns whether it is an entry point of AIR.
    fn is_entry(&self) -> bool {
        !matches!(self.kind.as_str(), "function" | "declaration")
    }
}

fn module_json(index: u32, module: &Module<'_>) -> ModuleJson {
    let text = |bytes: &[u8]| Escaped(bytes).to_string();
    let facts = ModuleFacts::new(module);
    let air = AirModule::new(module);
    let (air_version, metal) = air.as_ref().and_then(AirModule::versions).unzip();
    ModuleJson {
        index,
        producer: text(&facts.producer),
        epoch: facts.epoch,
        compiler: facts.compiler.as_deref().map(text),
        source: facts.source_file.as_deref().map(text),
        triple: text(&facts.triple),
        data_layout: text(&facts.data_layout),
        version: facts.version,
        definitions: facts.definitions,
        declarations: facts.declarations,
        globals: facts.globals,
        aliases: facts.aliases + facts.indirect_functions,
        debug_info: facts.debug.as_ref().map(debug_text),
        hash: facts.hash.map(|words| words.iter().map(|word| format!("{word:08x}")).collect()),
        air: air_version,
        metal,
        target: air.as_ref().and_then(AirModule::target),
        function_types: air.as_ref().map(AirModule::types).unwrap_or_default(),
    }
}

/// Returns the listings of a module.
fn panes(is_air: bool) -> &'static [&'static str] {
    if is_air { piece::AIR } else { piece::CODE }
}

fn debug_text(debug: &DebugFacts) -> String {
    let format = match (debug.dwarf_version, debug.code_view) {
        (Some(version), _) => format!("DWARF {version}, "),
        (None, true) => "CodeView, ".to_owned(),
        (None, false) => String::new(),
    };
    format!("{format}{}", counted(debug.compile_units as u64, "compile unit"))
}

/// Returns the facts for the top of a report.
fn module_facts(module: &ModuleJson) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut text = |label: &'static str, value: Option<&String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| Fact::new(label, value)));
    };
    text("target", Some(&module.triple));
    let epoch = module.epoch.map(|epoch| format!("epoch {epoch}"));
    let producer = Some(module.producer.clone()).filter(|producer| !producer.is_empty());
    let words: Vec<String> = producer.into_iter().chain(epoch).collect();
    text("producer", Some(&words.join(", ")));
    text("compiler", module.compiler.as_ref());
    text("source", module.source.as_ref());
    if let (Some(air), Some(metal)) = (&module.air, &module.metal) {
        facts.push(Fact::new("language", format!("Metal {metal}, AIR {air}")));
    }
    if !module.function_types.is_empty() {
        facts.push(Fact::new("entries", types_text(&module.function_types)));
    }
    let declared = counted(module.declarations as u64, "declaration");
    facts.push(Fact::new("functions", format!("{}, and {declared}", grouped(module.definitions as u64))));
    let names = |count: usize, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{} {more}", grouped(count as u64))),
    };
    let globals = [
        names(module.globals, "variable", "variables"),
        names(module.aliases, "alias", "aliases and ifuncs"),
    ];
    let globals: Vec<String> = globals.into_iter().flatten().collect();
    if !globals.is_empty() {
        facts.push(Fact::new("globals", globals.join(" · ")));
    }
    facts.push(Fact::new("debug info", module.debug_info.as_deref().unwrap_or("none")));
    facts.extend((!module.data_layout.is_empty()).then(|| Fact::new("layout", &module.data_layout)));
    facts.extend(module.hash.iter().map(|hash| Fact::new("SHA-1", hash)));
    facts
}

impl Program for Bitcode<'_> {
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief {
        let defined =
            |module: &Module<'_>| module.functions.iter().filter(|one| !one.declaration).count() as u64;
        let functions = self.modules.iter().map(|(_, module)| defined(module)).sum();
        let target = self.modules.first().map(|(_, module)| Escaped(&module.triple).to_string());
        let target = target.filter(|target| !target.is_empty());
        let modules = (self.count > 1).then(|| counted(self.count as u64, "module"));
        let words = [target.clone(), modules, Some(counted(functions, "function"))];
        Brief { summary: words.into_iter().flatten().collect::<Vec<_>>().join(", "), target, functions }
    }

    #[cfg(not(target_family = "wasm"))]
    fn info(&self, _runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info {
        let sections = self.sections(diagnostics);
        let modules = self.modules.iter().map(|(index, module)| module_json(*index, module)).collect();
        Info { sections, json: super::json(ModulesJson { modules, options: self.options.clone() }) }
    }

    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section> {
        diagnostics.append(self.diagnostics.clone());
        let mut sections: Vec<Section> =
            self.modules.iter().map(|(index, module)| self.section(*index, module)).collect();
        if let Some(last) = sections.last_mut() {
            if !self.options.is_empty() {
                last.facts.push(Fact::new("options", self.options.join(" ")));
            }
            last.facts.push(Fact::command("more", "list", ""));
        }
        sections
    }

    fn pieces(&self) -> Pieces {
        let file = self.path.rsplit(['/', '\\', '!']).find(|name| !name.is_empty()).unwrap_or(&self.path);
        let piece = |(index, module): &(u32, Module<'_>)| {
            let index = *index;
            let name = Escaped(module.source_filename.as_deref().unwrap_or_default()).to_string();
            let end = self.base.saturating_add(self.data.len() as u64);
            let row = Row {
                index,
                name: if name.is_empty() { file.to_owned() } else { name },
                kind: "module".into(),
                range: (index == 0).then_some(self.base..end),
                cells: vec![
                    Cell::Number(module.functions.len() as u64),
                    Cell::Number(module.globals.len() as u64),
                    Cell::text(Escaped(&module.triple).to_string()),
                ],
                ..Row::default()
            };
            Piece { row, index, panes: panes(air::is_air(module)), has_bytes: index == 0, ..Piece::default() }
        };
        let all = self.modules.iter().map(piece).collect();
        let are_air = !self.modules.is_empty() && self.modules.iter().all(|(_, module)| air::is_air(module));
        Pieces { noun: "module", columns: MODULES, all, panes: panes(are_air) }
    }

    fn card(&self, piece: &Piece, _diagnostics: &mut Diagnostics) -> Result<Card> {
        let module = self.modules.iter().find(|(index, _)| *index == piece.index);
        let (index, module) = module.ok_or_else(|| super::no_piece(self.base))?;
        let mut card = Card { facts: self.section(*index, module).facts, ..Card::default() };
        // A module of one entry point, as the functions of a library are, is described as that.
        if let Some(air) = AirModule::new(module)
            && let [(name, _)] = air.entries()
        {
            let mut findings = Vec::new();
            if let Some(entry) = air.entry(name, &mut findings) {
                entry.describe(&mut card);
                card.declaration = entry.declaration;
            }
            card.facts.extend(findings.iter().map(finding));
        }
        Ok(card)
    }

    fn code_of(&self, piece: &Piece, _path: &str, _diagnostics: &mut Diagnostics) -> Result<Code<'_>> {
        let mut modules = self.numbered().filter(|(index, ..)| *index == piece.index);
        let units = modules.next().map(|(index, first, module)| self.unit(index, first, module));
        let units = units.into_iter().collect();
        Ok(Code::Modules(vec![ModuleGroup { slice: String::new(), units }]))
    }

    fn bytes_of(&self, _piece: &Piece) -> Result<PieceBytes<'_>> {
        Ok(PieceBytes { extension: ".bc", data: self.data.into() })
    }

    fn has_fields(&self) -> bool {
        false
    }

    fn fields_of(&self, _piece: &Piece) -> Vec<Range<u64>> {
        Vec::new()
    }

    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>) -> ControlFlow<()>) {
        for (_, first, module) in self.numbered() {
            for (index, function) in (first..).zip(&module.functions) {
                let item = ItemName { index, name: &function.symbol.name, kind: None, has_source: false };
                if visit(item).is_break() {
                    return;
                }
            }
        }
    }

    #[cfg(not(target_family = "wasm"))]
    fn items(
        &self,
        selection: &Selection,
        _form: Form,
        _runner: &dyn Runner,
        diagnostics: &mut Diagnostics,
    ) -> Items {
        diagnostics.append(self.diagnostics.clone());
        let functions = self.functions(selection, false);
        let has_several = self.count > 1;
        let row = |one: &FunctionJson| Row {
            index: one.index,
            name: one.name.clone(),
            demangled: one.demangled.clone(),
            // A demangled name already contains the parameter types, and `show` has the declarations of entry points.
            declaration: (one.demangled.is_none() && !one.is_entry()).then(|| one.signature.clone()),
            kind: one.kind.clone().into(),
            cells: vec![
                if has_several { Cell::Number(one.module.into()) } else { Cell::Empty },
                Cell::text(one.linkage.clone()),
                Cell::text(one.air.clone()),
                Cell::text(one.metal.clone()),
                Cell::size(one.size),
                Cell::offset(one.offset),
            ],
            range: one.offset.zip(one.size).map(|(start, size)| start..start.saturating_add(size)),
            ..Row::default()
        };
        let rows = functions.iter().map(row).collect();
        Items::of(COLUMNS, rows, super::json(FunctionsJson { functions }))
    }

    #[cfg(not(target_family = "wasm"))]
    fn describe(&self, selection: &Selection, diagnostics: &mut Diagnostics) -> Descriptions {
        diagnostics.append(self.diagnostics.clone());
        let functions = self.functions(selection, true);
        let cards = functions.iter().map(|function| self.card(function)).collect();
        Descriptions { cards, json: super::json(FunctionsJson { functions }) }
    }

    fn code(&self, request: &CodeRequest<'_>, diagnostics: &mut Diagnostics) -> Code<'_> {
        diagnostics.append(self.diagnostics.clone());
        let is_selected = |first: u32, module: &Module<'_>| {
            let mut functions = (first..).zip(&module.functions);
            request.selection.is_everything()
                || functions.any(|(index, one)| request.selection.matches_name(index, &one.symbol.name))
        };
        let selected = self.numbered().filter(|(_, first, module)| is_selected(*first, module));
        let units = selected.map(|(index, first, module)| self.unit(index, first, module)).collect();
        Code::Modules(vec![ModuleGroup { slice: String::new(), units }])
    }

    fn extract(
        &self,
        _selection: &Selection,
        kinds: &[ExtractKind],
        _diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !kinds.contains(&ExtractKind::Module) {
            return ControlFlow::Continue(());
        }
        let name = self.path.rsplit(['/', '!']).next().unwrap_or("module");
        let stem = [".bc", ".air"].iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(name);
        let extension = if self.modules.iter().any(|(_, module)| air::is_air(module)) { "air" } else { "bc" };
        let path = format!("modules/{stem}.{extension}");
        take(Extracted { kind: ExtractKind::Module, path: &path, data: self.data })
    }

    fn verify(&self, _runner: &dyn Runner, _depth: VerifyDepth) -> Verdict {
        Verdict { hashes: None, diagnostics: verify::bitcode(Reader::at(self.data, self.base)) }
    }

    #[cfg(not(target_family = "wasm"))]
    fn load_facts(&self, _runner: &dyn Runner) -> Vec<NamedFacts> {
        let modules: Vec<&Module<'_>> =
            self.modules.iter().map(|(_, module)| module).filter(|module| air::is_air(module)).collect();
        if modules.is_empty() {
            return Vec::new();
        }
        vec![NamedFacts { slice: String::new(), facts: LibraryFacts::of_modules(modules) }]
    }

    fn outline(&self, sink: &mut dyn OutlineSink) {
        outline::bitcode(Reader::at(self.data, self.base), sink, &mut Diagnostics::new());
    }

    fn writable(&self) -> Option<Writable> {
        Some(Writable::Bitcode)
    }
}

impl Bitcode<'_> {
    fn unit<'m>(&'m self, index: u32, first_function: u32, module: &'m Module<'m>) -> Unit<'m> {
        let (name, bytes, base, count) = (self.path.as_str(), self.data, self.base, self.count);
        Unit::File { name, bytes, base, module, index: index as usize, first_function, count }
    }

    fn section(&self, index: u32, module: &Module<'_>) -> Section {
        let wrapped = match Wrapper::read(self.data) {
            Some(wrapper) => match wrapper.cpu_name() {
                // Apple's wrappers name no processor.
                "" | "any" => ", wrapped".to_owned(),
                name => format!(", wrapped for {name}"),
            },
            None => String::new(),
        };
        let air = AirModule::new(module);
        let format = air.as_ref().map_or_else(|| FORMAT.format.to_string(), |_| "AIR module".to_owned());
        let target = air.as_ref().and_then(AirModule::full_target).map(|target| format!(" · {target}"));
        let target = target.unwrap_or_default();
        let heading = match self.count {
            1 => format!("{format}{wrapped}{target} · {}", size(self.data.len() as u64)),
            count => format!("{format}{wrapped}, module {} of {count}{target}", index + 1),
        };
        Section { heading, facts: module_facts(&module_json(index, module)) }
    }

    /// Returns all facts of a function.
    fn card(&self, function: &FunctionJson) -> Card {
        let mut card = Card::default();
        match &function.entry {
            Some(entry) => card.declaration.clone_from(&entry.declaration),
            None => {
                let keyword = if function.kind == "declaration" { "declare" } else { "define" };
                card.put(TokenKind::Keyword, keyword);
                card.put(TokenKind::Space, " ");
                card.put(TokenKind::Text, &function.signature);
            }
        }
        let facts = &mut card.facts;
        facts.push(Fact::new("index", format!("#{}", function.index)));
        if let Some(demangled) = &function.demangled {
            facts.push(Fact::new("demangled", demangled));
        }
        if self.count > 1 {
            facts.push(Fact::new("module", format!("{} of {}", function.module + 1, self.count)));
        }
        facts.push(Fact::new("type", function.kind.clone()));
        facts.push(Fact::new("linkage", function.linkage.clone()));
        if let (Some(air), Some(metal)) = (&function.air, &function.metal) {
            facts.push(Fact::new("language", format!("Metal {metal}, AIR {air}")));
        }
        facts.extend(function.target.iter().map(|target| Fact::new("target", target)));
        if let (Some(offset), Some(size)) = (function.offset, function.size) {
            let text = format!("{} bytes at {offset:#x}", grouped(size));
            facts.push(Fact::new("body", text).at(offset, size));
        }
        if let Some(entry) = &function.entry {
            entry.describe(&mut card);
        }
        card.facts.extend(function.findings.iter().map(finding));
        card
    }
}
