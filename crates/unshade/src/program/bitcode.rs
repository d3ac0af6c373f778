//! LLVM bitcode: `.bc` and `.air` files, wrapped or not, several modules in a stream; also out of archives, object files
//! and offload bundles.
//!
//! Items are the functions of all modules, counted through. A module without functions, such as one of data alone, has no
//! items.

use super::{
    Brief, Card, Cell, Code, CodeRequest, Column, Descriptions, ExtractKind, Extracted, Fact, Format, Group,
    Info, ItemName, Items, ModuleGroup, Piece, PieceBytes, Pieces, Program, Row, Runner, Section, Verb,
    Verdict, piece,
};
use crate::carve::{self, Find};
use crate::disassembly::Unit;
use crate::quantity::{counted, grouped, size};
use crate::select::Selection;
use crate::{air, demangle};
use serde::Serialize;
use std::ops::{ControlFlow, Range};
use unshade_core::{Diagnostics, Escaped, OutlineSink, Result, TokenKind, TokenSink};
use unshade_llvm::Module;
use unshade_llvm::global::Function;
use unshade_llvm::print::{Dialect, TypeNames};
use unshade_llvm::types::Type;

const NO_MACHINE_CODE: &str = "holds LLVM bitcode, no NVIDIA machine code";
const NOT_WRITTEN: &str = "LLVM bitcode is not written yet";

pub(super) static FORMAT: Format = Format {
    format: carve::format::Format::Bitcode,
    word: "bitcode",
    item: "function",
    kinds: &["function", "declaration", "module"],
    refusals: &[
        (Verb::Liveness, NO_MACHINE_CODE),
        (Verb::CodeAsJson, "listings have no JSON here; `--stats --json` and `--cfg json` have"),
        (Verb::Decompile, "LLVM bitcode is not decompiled; `unshade dis` prints its assembly"),
        (Verb::Run, NO_MACHINE_CODE),
        (Verb::AssembleInto, NOT_WRITTEN),
        (Verb::Ghidra, NO_MACHINE_CODE),
        (Verb::Check, "no rules are known for where bitcode loads"),
        (
            Verb::ToYaml,
            "LLVM bitcode has no YAML; `unshade dis` prints its assembly, `unshade dump` its records",
        ),
        (Verb::Edit, NOT_WRITTEN),
        (Verb::Sign, "LLVM bitcode is not signed"),
    ],
    open: |find| Bitcode::open(find).map(|program| -> Box<dyn Program> { Box::new(program) }),
};

const COLUMNS: &[Column] = &[
    Column::right("module", "module"),
    Column::left("linkage", "linkage"),
    Column::left("air", "AIR"),
    Column::left("metal", "Metal"),
    Column::left("result", "returns"),
    Column::left("parameters", "parameters"),
];

const MODULES: &[Column] = &[
    Column::right("functions", "functions"),
    Column::right("globals", "globals"),
    Column::left("target", "target"),
];

/// A stream of bitcode with its modules.
struct Bitcode<'a> {
    data: &'a [u8],
    base: u64,
    /// The path of the program, which names its modules.
    path: String,
    modules: Vec<Module<'a>>,
    /// What could not be read of the stream.
    diagnostics: Diagnostics,
    options: Vec<String>,
}

/// What a module says of itself.
#[derive(Serialize)]
struct ModuleJson {
    index: u32,
    producer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    triple: String,
    data_layout: String,
    /// The version of its records.
    version: u32,
    definitions: u64,
    declarations: u64,
    globals: u64,
    aliases: u64,
    /// Whether it has debug information.
    debug_info: bool,
    /// The AIR and Metal versions of a module for Apple's GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    air: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metal: Option<String>,
}

#[derive(Serialize)]
struct ModulesJson {
    modules: Vec<ModuleJson>,
    /// The options that the compiler was given, where an object file has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
}

/// A function of a module.
#[derive(Clone, Serialize)]
struct FunctionJson {
    /// Its index in the stream, counted through all modules.
    index: u32,
    module: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    /// `function`, `declaration`, or what it is for in AIR: `kernel`, `vertex`.
    #[serde(rename = "type")]
    kind: String,
    linkage: String,
    /// The signature in LLVM's syntax.
    signature: String,
    #[serde(skip)]
    result: String,
    #[serde(skip)]
    parameters: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    air: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metal: Option<String>,
}

#[derive(Serialize)]
struct FunctionsJson {
    functions: Vec<FunctionJson>,
}

impl<'a> Bitcode<'a> {
    fn open(find: &Find<'a>) -> Result<Self> {
        let base = super::base(find);
        let mut diagnostics = Diagnostics::new();
        let mut modules = Vec::new();
        for module in Module::parse_all(find.data, base)? {
            modules.extend(diagnostics.take("llvm-module", module));
        }
        let options = find.compiler_options().map(|option| Escaped(option).to_string()).collect();
        Ok(Self { data: find.data, base, path: find.path.to_string(), modules, diagnostics, options })
    }

    /// Visits the functions of all modules: index in the stream, module, index in the module.
    fn each_function(&self, mut visit: impl FnMut(u32, u32, usize, &Function)) {
        let mut index = 0;
        for (number, module) in (0..).zip(&self.modules) {
            for (at, function) in module.functions.iter().enumerate() {
                visit(index, number, at, function);
                index += 1;
            }
        }
    }

    /// Returns the selected functions.
    fn functions(&self, selection: &Selection) -> Vec<FunctionJson> {
        let mut functions = Vec::new();
        let mut context: Option<(u32, TypeNames, AirFunctions)> = None;
        self.each_function(|index, number, _, function| {
            let Some(module) = self.modules.get(number as usize) else { return };
            if !selection.matches_name(index, &function.symbol.name) || selection.has_source {
                return;
            }
            let (_, types, air) = match &mut context {
                Some(context) if context.0 == number => context,
                other => {
                    other.insert((number, TypeNames::new(module, dialect(module)), AirFunctions::new(module)))
                }
            };
            let kind = air.kind(function);
            if selection.kinds.is_empty() || selection.kinds.contains(&kind) {
                functions.push(function_json(index, number, module, function, types, air, kind));
            }
        });
        functions
    }
}

/// The dialect in which the types of a module are written: with opaque pointers if it has any.
fn dialect(module: &Module<'_>) -> Dialect {
    let has_opaque = module.types.find(Type::OpaquePointer { address_space: 0 }).is_some();
    if has_opaque { Dialect::Llvm19 } else { Dialect::Llvm14 }
}

/// What an AIR module says of its functions.
struct AirFunctions {
    kinds: Vec<(Vec<u8>, String)>,
    versions: Option<(String, String)>,
}

impl AirFunctions {
    fn new(module: &Module<'_>) -> Self {
        let versions = air::versions(module).map(|one| (one.air.to_string(), one.language.to_string()));
        Self { kinds: air::kinds(module), versions }
    }

    fn kind(&self, function: &Function) -> String {
        let listed = self.kinds.iter().find(|(name, _)| *name == function.symbol.name);
        match (listed, function.declaration) {
            (Some((_, kind)), _) => kind.clone(),
            (None, true) => "declaration".to_owned(),
            (None, false) => "function".to_owned(),
        }
    }
}

fn function_json(
    index: u32,
    number: u32,
    module: &Module<'_>,
    function: &Function,
    types: &TypeNames,
    air: &AirFunctions,
    kind: String,
) -> FunctionJson {
    let symbol = &function.symbol;
    let (result, parameters) = signature(module, symbol.ty, types);
    let name = Escaped(&symbol.name).to_string();
    let linkage = symbol.linkage.keyword();
    let versions = air.versions.clone().filter(|_| kind != "declaration");
    let (air, metal) = versions.unzip();
    FunctionJson {
        index,
        module: number,
        signature: format!("{result} @{}({parameters})", if name.is_empty() { "0" } else { &name }),
        demangled: demangle(&symbol.name),
        name,
        kind,
        linkage: if linkage.is_empty() { "external" } else { linkage }.to_owned(),
        result,
        parameters,
        air,
        metal,
    }
}

/// The result and the parameters of a function type, as text.
fn signature(module: &Module<'_>, ty: unshade_llvm::TypeId, types: &TypeNames) -> (String, String) {
    let Type::Function { result, parameters, variadic } = module.types.get(ty) else {
        return (types.get(ty).to_owned(), String::new());
    };
    let parameters = module.types.elements(parameters).iter().map(|parameter| types.get(*parameter));
    let parameters: Vec<&str> = parameters.chain(variadic.then_some("...")).collect();
    (types.get(result).to_owned(), parameters.join(", "))
}

fn module_json(index: u32, module: &Module<'_>) -> ModuleJson {
    let text = |bytes: &[u8]| Escaped(bytes).to_string();
    let definitions = module.functions.iter().filter(|function| !function.declaration).count() as u64;
    let versions = air::versions(module);
    ModuleJson {
        index,
        producer: text(&module.producer),
        source: module.source_filename.as_deref().map(text),
        triple: text(&module.triple),
        data_layout: text(&module.data_layout_text),
        version: module.version,
        definitions,
        declarations: module.functions.len() as u64 - definitions,
        globals: module.globals.len() as u64,
        aliases: module.aliases.len() as u64,
        debug_info: !module.named(b"llvm.dbg.cu").is_empty(),
        air: versions.map(|versions| versions.air.to_string()),
        metal: versions.map(|versions| versions.language.to_string()),
    }
}

/// The facts that people look for first.
fn module_facts(module: &ModuleJson, identifier: Option<&[u8]>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut text = |label: &'static str, value: &str| {
        if !value.is_empty() {
            facts.push(Fact::new(label, value));
        }
    };
    text("target", &module.triple);
    text("producer", &module.producer);
    text("compiler", &Escaped(identifier.unwrap_or_default()).to_string());
    text("source", module.source.as_deref().unwrap_or_default());
    if let (Some(air), Some(metal)) = (&module.air, &module.metal) {
        facts.push(Fact::new("language", format!("Metal {metal}, AIR {air}")));
    }
    let declared = counted(module.declarations, "declaration");
    facts.push(Fact::new("functions", format!("{}, and {declared}", grouped(module.definitions))));
    let counts = [(module.globals, "variable"), (module.aliases, "alias or ifunc")];
    for (count, noun) in counts.into_iter().filter(|(count, _)| *count > 0) {
        facts.push(Fact::new("globals", counted(count, noun)));
    }
    facts.push(Fact::new("debug info", if module.debug_info { "yes" } else { "none" }));
    if !module.data_layout.is_empty() {
        facts.push(Fact::new("layout", module.data_layout.clone()));
    }
    facts
}

impl Program for Bitcode<'_> {
    fn brief(&self) -> Brief {
        let defined =
            |module: &Module<'_>| module.functions.iter().filter(|one| !one.declaration).count() as u64;
        let functions = self.modules.iter().map(defined).sum();
        let target = self.modules.first().map(|module| Escaped(&module.triple).to_string());
        let target = target.filter(|target| !target.is_empty());
        let modules = (self.modules.len() > 1).then(|| counted(self.modules.len() as u64, "module"));
        let words = [target.clone(), modules, Some(counted(functions, "function"))];
        Brief { summary: words.into_iter().flatten().collect::<Vec<_>>().join(", "), target, functions }
    }

    fn info(&self, _runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info {
        let sections = self.sections(diagnostics);
        let modules = (0..).zip(&self.modules).map(|(index, module)| module_json(index, module)).collect();
        Info { sections, json: Box::new(ModulesJson { modules, options: self.options.clone() }) }
    }

    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section> {
        diagnostics.append(self.diagnostics.clone());
        let mut sections: Vec<Section> =
            (0..).zip(&self.modules).map(|(index, module)| self.section(index, module)).collect();
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
        let piece = |(index, module): (u32, &Module<'_>)| {
            let name = Escaped(module.source_filename.as_deref().unwrap_or_default()).to_string();
            let end = self.base.saturating_add(self.data.len() as u64);
            let row = Row {
                index,
                name: if name.is_empty() { file.to_owned() } else { name },
                kind: "module".to_owned(),
                range: (index == 0).then_some(self.base..end),
                cells: vec![
                    Cell::Number(module.functions.len() as u64),
                    Cell::Number(module.globals.len() as u64),
                    Cell::text(Escaped(&module.triple).to_string()),
                ],
                ..Row::default()
            };
            Piece { row, index, panes: piece::CODE, has_bytes: index == 0, unit: 0 }
        };
        let all = (0..).zip(&self.modules).map(piece).collect();
        Pieces { noun: "module", columns: MODULES, all, panes: piece::CODE }
    }

    fn card(&self, piece: &Piece, _diagnostics: &mut Diagnostics) -> Result<Card> {
        let module = self.modules.get(piece.index as usize);
        let module = module.ok_or_else(|| super::no_piece(self.base))?;
        Ok(Card { facts: self.section(piece.index, module).facts, ..Card::default() })
    }

    fn code_of(&self, piece: &Piece, _path: &str, _diagnostics: &mut Diagnostics) -> Result<Code<'_>> {
        let units = vec![self.unit(piece.index as usize)];
        Ok(Code::Modules(vec![ModuleGroup { slice: String::new(), units }]))
    }

    fn bytes_of(&self, _piece: &Piece) -> Result<PieceBytes<'_>> {
        Ok(PieceBytes { extension: ".bc", data: self.data.into() })
    }

    /// Records are no fields: `dump` prints them.
    fn fields_of(&self, _piece: &Piece) -> Vec<Range<u64>> {
        Vec::new()
    }

    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>)) {
        self.each_function(|index, _, _, function| {
            visit(ItemName { index, name: &function.symbol.name, kind: None, has_source: false });
        });
    }

    fn items(
        &self,
        selection: &Selection,
        _demangle: bool,
        _runner: &dyn Runner,
        diagnostics: &mut Diagnostics,
    ) -> Items {
        diagnostics.append(self.diagnostics.clone());
        let functions = self.functions(selection);
        let has_several = self.modules.len() > 1;
        let row = |one: &FunctionJson| Row {
            index: one.index,
            name: one.name.clone(),
            demangled: one.demangled.clone(),
            kind: one.kind.clone(),
            cells: vec![
                if has_several { Cell::Number(one.module.into()) } else { Cell::Empty },
                Cell::text(one.linkage.clone()),
                Cell::text(one.air.clone()),
                Cell::text(one.metal.clone()),
                Cell::text(one.result.clone()),
                Cell::text(one.parameters.clone()),
            ],
            ..Row::default()
        };
        let rows = functions.iter().map(row).collect();
        let group = Group { slice: String::new(), columns: COLUMNS, rows };
        Items { groups: vec![group], tables: Vec::new(), json: Box::new(FunctionsJson { functions }) }
    }

    fn describe(&self, selection: &Selection, diagnostics: &mut Diagnostics) -> Descriptions {
        diagnostics.append(self.diagnostics.clone());
        let functions = self.functions(selection);
        let cards = functions.iter().map(|function| self.card(function)).collect();
        Descriptions { cards, json: Box::new(FunctionsJson { functions }) }
    }

    fn code(&self, request: &CodeRequest<'_>, diagnostics: &mut Diagnostics) -> Code<'_> {
        diagnostics.append(self.diagnostics.clone());
        let count = self.modules.len();
        let has_selected = |number: usize| {
            let mut found = false;
            self.each_function(|index, module, _, function| {
                found |=
                    module as usize == number && request.selection.matches_name(index, &function.symbol.name);
            });
            found
        };
        let indices = (0..count).filter(|number| request.selection.is_everything() || has_selected(*number));
        let units = indices.map(|index| self.unit(index)).collect();
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
        let path = format!("modules/{}.bc", name.strip_suffix(".bc").unwrap_or(name));
        take(Extracted { kind: ExtractKind::Module, path: &path, data: self.data })
    }

    fn verify(&self, _runner: &dyn Runner) -> Verdict {
        let mut diagnostics = self.diagnostics.clone();
        for module in &self.modules {
            diagnostics.append(module.diagnostics.clone());
        }
        Verdict { hashes: None, diagnostics }
    }

    fn outline(&self, _sink: &mut dyn OutlineSink) {}
}

const WRAPPER: [u8; 4] = [0xde, 0xc0, 0x17, 0x0b];

impl Bitcode<'_> {
    fn unit(&self, index: usize) -> Unit<'_> {
        Unit::File { name: &self.path, bytes: self.data, base: self.base, index, count: self.modules.len() }
    }

    fn section(&self, index: u32, module: &Module<'_>) -> Section {
        let wrapped = if self.data.starts_with(&WRAPPER) { ", wrapped" } else { "" };
        let heading = match self.modules.len() {
            1 => format!("{}{wrapped} · {}", FORMAT.format, size(self.data.len() as u64)),
            count => format!("{}{wrapped}, module {} of {count}", FORMAT.format, index + 1),
        };
        Section { heading, facts: module_facts(&module_json(index, module), module.ident()) }
    }

    /// Everything known of a function.
    fn card(&self, function: &FunctionJson) -> Card {
        let mut card = Card::default();
        card.put(TokenKind::Keyword, if function.kind == "declaration" { "declare" } else { "define" });
        card.put(TokenKind::Space, " ");
        card.put(TokenKind::Type, &function.result);
        card.put(TokenKind::Space, " ");
        card.put(TokenKind::Function, &format!("@{}", function.name));
        card.put(TokenKind::Punctuation, "(");
        card.put(TokenKind::Type, &function.parameters);
        card.put(TokenKind::Punctuation, ")");
        let facts = &mut card.facts;
        facts.push(Fact::new("index", format!("#{}", function.index)));
        if let Some(demangled) = &function.demangled {
            facts.push(Fact::new("demangled", demangled));
        }
        if self.modules.len() > 1 {
            facts.push(Fact::new("module", format!("{} of {}", function.module + 1, self.modules.len())));
        }
        facts.push(Fact::new("type", function.kind.clone()));
        facts.push(Fact::new("linkage", function.linkage.clone()));
        if let (Some(air), Some(metal)) = (&function.air, &function.metal) {
            facts.push(Fact::new("language", format!("Metal {metal}, AIR {air}")));
        }
        card
    }
}
