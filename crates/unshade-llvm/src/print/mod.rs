//! LLVM assembly, as `llvm-dis` of a given version writes it.
//!
//! One printer serves all versions: what differs is data (rules, the tables of intrinsics and of debug-info
//! fields) and a few switches. Types, names and plain constants are turned into text once, so that an operand
//! costs one copy.

mod attributes;
mod constants;
mod debug_records;
mod debug_scopes;
mod dxil;
mod dxil_operations;
mod float;
mod function;
mod instruction;
mod intrinsics;
mod intrinsics_14;
mod intrinsics_19;
mod intrinsics_targets;
mod kinds;
mod layout;
mod links;
mod mangle;
mod metadata;
mod metadata_fields;
mod one_function;
mod relocations;
mod single;
mod slots;
mod sources;
mod summary;
mod symbols;
pub(crate) mod text;
mod types;
mod upgrade;

use crate::attribute_names::Order;
use crate::body::FunctionBody;
use crate::data_layout::DataLayout;
use crate::ids::TypeId;
use crate::module::Module;
use crate::source_map::{Setting, SourceMap};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use attributes::AttributeTexts;
use constants::Nesting;
use function::Locals;
use kinds::Kinds;
use slots::Slots;
use symbols::{Cached, Symbols};
use text::{push_escaped_as, push_number};
use types::{Finder, TypeTexts};
use unshade_core::token::Token;
use unshade_core::{Diagnostics, Error, ErrorKind, TokenKind, TokenSink};

pub use links::Entity;
pub use one_function::function;
pub use single::{TypeNames, block_labels, dxil_operation, plain_constant};
pub(crate) use text::push_name;

/// Whose text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// LLVM 14, with typed pointers: Apple's AIR as Apple's tools read it.
    #[default]
    Llvm14,
    /// LLVM 3.7 as DXC's disassembler writes it, its comments included.
    Dxc,
    /// LLVM 19: opaque pointers, and upgraded as that version does.
    Llvm19,
}

/// How to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions<'o> {
    /// Whose text is written.
    pub dialect: Dialect,
    /// What stands in the first line, usually the path of the file; nothing leaves the line out.
    pub module_id: Option<&'o str>,
}

/// What differs between versions besides tables.
#[derive(Clone, Copy)]
struct Rules {
    dialect: Dialect,
    order: Order,
    /// Pointers are written without what they point to.
    opaque_pointers: bool,
    /// Alignments are written even where the file has none.
    explicit_alignment: bool,
    /// Blocks without a name are headed by a comment instead of a label.
    label_comments: bool,
    /// Old forms of attributes and metadata are brought up to date.
    upgrades: bool,
    /// What an undefined element of a shuffle's mask is called.
    undefined_mask: &'static str,
}

impl Dialect {
    fn rules(self) -> Rules {
        match self {
            Dialect::Llvm14 => Rules {
                dialect: self,
                order: Order::V14,
                opaque_pointers: false,
                explicit_alignment: true,
                label_comments: false,
                upgrades: true,
                undefined_mask: "undef",
            },
            Dialect::Dxc => Rules {
                dialect: self,
                order: Order::V3,
                opaque_pointers: false,
                explicit_alignment: false,
                label_comments: true,
                upgrades: false,
                undefined_mask: "undef",
            },
            Dialect::Llvm19 => Rules {
                dialect: self,
                order: Order::V19,
                opaque_pointers: true,
                explicit_alignment: true,
                label_comments: false,
                upgrades: true,
                undefined_mask: "poison",
            },
        }
    }
}

/// Prints a module; what could not be read on the way is returned.
pub fn module<S: TokenSink>(module: &Module<'_>, options: &PrintOptions<'_>, sink: &mut S) -> Diagnostics {
    let rules = options.dialect.rules();
    let start = sink.mark();
    let needs = upgrade::Needs::new(module, rules.dialect);
    if !needs.found() {
        let mut printer = Printer::new(module, rules, Bodies::Read(needs), sink);
        printer.run(options);
        if !printer.is_outdated {
            return printer.findings;
        }
        // Something in a body is of an earlier version, which concerns all of the text.
        sink.truncate(start);
    }
    let mut findings = Diagnostics::new();
    let bodies = (0..module.functions.len()).map(|index| {
        let mut body = FunctionBody::default();
        read_body(module, index, &mut body, &mut findings).then_some(body)
    });
    let bodies = bodies.collect();
    let upgraded = upgrade::upgrade(module, rules.dialect, bodies);
    let mut printer = Printer::new(&upgraded.module, rules, Bodies::Upgraded(upgraded.bodies), sink);
    printer.run(options);
    findings.append(printer.findings);
    findings
}

/// Reads the body of a function, if it has one.
fn read_body(module: &Module<'_>, index: usize, body: &mut FunctionBody, findings: &mut Diagnostics) -> bool {
    if module.functions.get(index).is_none_or(|function| function.declaration) {
        return false;
    }
    let is_read = findings.take("llvm-function", module.read_body(index, body)).is_some();
    if is_read {
        findings.append(core::mem::take(&mut body.diagnostics));
    }
    is_read
}

/// Where bodies come from.
enum Bodies<'m, 'a> {
    /// From the file, one by one, as long as none of them has to be brought up to date.
    Read(upgrade::Needs<'m, 'a>),
    /// They were brought up to date together.
    Upgraded(Vec<Option<FunctionBody>>),
}

/// Says that LLVM would drop debug info that is printed here, as its version is not the one of today.
fn note_debug_version(module: &Module<'_>, findings: &mut Diagnostics) {
    const CURRENT: u64 = 3;
    let version = module.flag(b"Debug Info Version");
    if let Some(version) = version.filter(|&version| version != CURRENT) {
        let error = Error::without_offset(ErrorKind::Unsupported, "debug info of a version that LLVM drops")
            .expected("3")
            .found(alloc::format!("{version}"));
        findings.note("llvm-debug-info-version", error);
    }
}

/// The state of printing one module.
struct Printer<'m, 'a, 's, S> {
    module: &'m Module<'a>,
    bodies: Bodies<'m, 'a>,
    /// The body of the function that is printed; its buffers are used again for the next.
    body: FunctionBody,
    /// Whether a body was met that has to be brought up to date: printing ends there.
    is_outdated: bool,
    structs: Structs<'m, 'a>,
    rules: Rules,
    sink: &'s mut S,
    types: TypeTexts,
    /// The data layout as printed.
    layout_text: Cow<'m, [u8]>,
    layout: DataLayout,
    symbols: Symbols,
    locals: Locals,
    attributes: AttributeTexts,
    slots: Slots<'m, 'a>,
    slot_pool: String,
    /// The texts of numbers of metadata, parts of the pool.
    slot_texts: Vec<Cached>,
    kinds: Kinds,
    scratch: String,
    nesting: Nesting,
    /// How deep metadata nests that is being written in place.
    depth: u32,
    findings: Diagnostics,
    sources: SourceMap,
}

impl<'m, 'a, 's, S: TokenSink> Printer<'m, 'a, 's, S> {
    fn new(module: &'m Module<'a>, rules: Rules, bodies: Bodies<'m, 'a>, sink: &'s mut S) -> Self {
        let structs = Structs::new(module, rules, &bodies);
        let types = TypeTexts::new(&module.types, structs.known(), rules.opaque_pointers);
        let symbols = Symbols::new(module, rules.dialect);
        let layout_text = match layout::upgrade(&module.data_layout_text, &module.triple, rules.dialect) {
            Some(text) => Cow::Owned(text.into_bytes()),
            None => Cow::Borrowed(module.data_layout_text.as_slice()),
        };
        Self {
            module,
            bodies,
            body: FunctionBody::default(),
            is_outdated: false,
            structs,
            rules,
            sink,
            types,
            layout: DataLayout::parse(&layout_text),
            layout_text,
            symbols,
            locals: Locals::default(),
            attributes: AttributeTexts::new(module.attributes.set_count()),
            slots: Slots::new(module, !rules.upgrades),
            slot_pool: String::new(),
            slot_texts: Vec::new(),
            kinds: Kinds::new(module),
            scratch: String::new(),
            nesting: Nesting::new(&module.constants),
            depth: 0,
            findings: Diagnostics::new(),
            sources: SourceMap::default(),
        }
    }

    #[inline(always)]
    fn out(&mut self, kind: TokenKind, text: &str) {
        self.sink.put(kind, text);
    }

    #[inline(always)]
    fn punctuation(&mut self, text: &str) {
        self.sink.put(TokenKind::Punctuation, text);
    }

    #[inline(always)]
    fn keyword(&mut self, text: &str) {
        self.sink.put(TokenKind::Keyword, text);
    }

    /// A token whose text is put together first.
    #[inline]
    fn built(&mut self, kind: TokenKind, write: impl FnOnce(&mut String)) {
        self.scratch.clear();
        write(&mut self.scratch);
        self.sink.put(kind, &self.scratch);
    }

    #[inline]
    fn number(&mut self, number: u64) {
        if number < 1_000 {
            self.sink.put(TokenKind::Number, text::small(number as u32));
        } else {
            self.built(TokenKind::Number, |text| push_number(text, number));
        }
    }

    #[inline(always)]
    fn ty(&mut self, id: TypeId) {
        let link = Entity::Type(id).reference();
        self.sink.token(Token { kind: TokenKind::Type, text: self.types.get(id), link });
    }

    /// A type with a space behind it.
    #[inline(always)]
    fn spaced_type(&mut self, id: TypeId) {
        let link = Entity::Type(id).reference();
        self.sink.token(Token { kind: TokenKind::Type, text: self.types.spaced(id), link });
    }

    /// A string in quotes.
    fn quoted(&mut self, bytes: &[u8]) {
        let old = self.rules.label_comments;
        self.built(TokenKind::String, |text| {
            text.push('"');
            push_escaped_as(text, bytes, old);
            text.push('"');
        });
    }

    fn run(&mut self, options: &PrintOptions<'_>) {
        note_debug_version(self.module, &mut self.findings);
        self.find_sources();
        self.module(options);
    }

    fn module(&mut self, options: &PrintOptions<'_>) {
        self.number_module();
        self.head(options);
        let structs_at = self.sink.mark();
        if let Structs::Known(order) = &self.structs {
            let order = order.clone();
            self.struct_types(structs_at, &order);
        }
        self.comdats();
        let module = self.module;
        if !module.globals.is_empty() {
            self.punctuation("\n");
        }
        for (index, global) in module.globals.iter().enumerate() {
            self.source(|map| map.value(global.symbol.value));
            self.global(index);
        }
        self.no_source();
        for indirect in [false, true] {
            let mut aliases = module.aliases.iter().filter(|alias| alias.indirect == indirect).peekable();
            if aliases.peek().is_some() {
                self.punctuation("\n");
            }
            for alias in aliases {
                self.source(|map| map.value(alias.symbol.value));
                self.alias(alias);
            }
            self.no_source();
        }
        for at in 0..self.symbols.function_order().len() {
            let Some(&index) = self.symbols.function_order().get(at) else { break };
            self.punctuation("\n");
            self.function(index as usize);
            if self.is_outdated {
                return;
            }
        }
        if let Some(order) = self.structs.finish(module) {
            self.struct_types(structs_at, &order);
        }
        self.attribute_groups();
        self.named_metadata();
        self.metadata_nodes();
        self.summary(options);
    }

    /// Numbers what LLVM numbers before it prints anything.
    fn number_module(&mut self) {
        let module = self.module;
        for global in &module.globals {
            self.number_attachments(slots::MODULE, &global.symbol.attachments);
            if let Some(set) = global.attributes {
                self.group_of_set(set);
            }
        }
        for named in &module.named_metadata {
            for &node in &named.nodes {
                self.slots.add(slots::MODULE, node);
            }
        }
        for at in 0..self.symbols.function_order().len() {
            let Some(&index) = self.symbols.function_order().get(at) else { break };
            self.group_of_function(index as usize);
        }
    }

    fn head(&mut self, options: &PrintOptions<'_>) {
        let module = self.module;
        if let Some(name) = options.module_id.filter(|name| !name.contains('\n')) {
            self.built(TokenKind::Comment, |text| {
                text.push_str("; ModuleID = '");
                text.push_str(name);
                text.push('\'');
            });
            self.punctuation("\n");
        }
        if self.rules.dialect != Dialect::Dxc {
            let fallback = options.module_id.map(str::as_bytes).unwrap_or_default();
            let name = module.source_filename.as_deref().unwrap_or(fallback);
            if !name.is_empty() {
                self.source(|map| map.setting(Setting::SourceFilename));
                self.setting("source_filename", name);
            }
        }
        if !self.layout_text.is_empty() {
            let layout = self.layout_text.clone();
            self.source(|map| map.setting(Setting::DataLayout));
            self.setting("target datalayout", &layout);
        }
        if !module.triple.is_empty() {
            self.source(|map| map.setting(Setting::Triple));
            self.setting("target triple", &module.triple);
        }
        self.no_source();
        if !module.assembly.is_empty() {
            self.punctuation("\n");
            let text = module.assembly.strip_suffix(b"\n").unwrap_or(&module.assembly);
            for line in text.split(|&c| c == b'\n') {
                self.keyword("module asm ");
                self.quoted(line);
                self.punctuation("\n");
            }
        }
    }

    fn setting(&mut self, name: &str, value: &[u8]) {
        self.keyword(name);
        self.punctuation(" = ");
        self.quoted(value);
        self.punctuation("\n");
    }

    /// Tells the finder of struct types of a function, and of those that stand before it in the module.
    fn find_structs(&mut self, index: usize, body: &FunctionBody) {
        if let Structs::Sought { finder, next } = &mut self.structs {
            for function in self.module.functions.get(*next..=index).unwrap_or_default() {
                finder.visit_function(function);
            }
            finder.visit_body(body);
            *next = index + 1;
        }
    }

    /// Lists the struct types where they belong, before the globals.
    fn struct_types(&mut self, at: usize, order: &[TypeId]) {
        let structs = self.types.structs(&self.module.types, order);
        if structs.is_empty() {
            return;
        }
        let (types, sources) = (&self.types, &self.sources);
        self.sink.insert(at, &mut |sink| {
            sink.put(TokenKind::Punctuation, "\n");
            for (id, body) in &structs {
                if sink.wants_sources() {
                    sink.source(sources.ty(*id));
                }
                let link = Entity::Type(*id).definition();
                sink.token(Token { kind: TokenKind::Type, text: types.get(*id), link });
                sink.put(TokenKind::Keyword, " = type ");
                sink.put(TokenKind::Type, body);
                sink.put(TokenKind::Punctuation, "\n");
            }
        });
        self.no_source();
    }
}

/// The order of identified structs, which stand before the functions that it depends on.
enum Structs<'m, 'a> {
    Known(Vec<TypeId>),
    /// To be found while functions are printed.
    Sought {
        finder: Finder<'m, 'a>,
        /// The first function that the finder was not told of.
        next: usize,
    },
}

impl<'m, 'a> Structs<'m, 'a> {
    fn new(module: &'m Module<'a>, rules: Rules, bodies: &Bodies<'_, '_>) -> Self {
        let mut finder = Finder::new(module, rules.opaque_pointers, !rules.upgrades);
        if !finder.needs_numbers() {
            let first_body = module.functions.iter().position(|function| !function.declaration);
            let next = first_body.map_or(module.functions.len(), |first| first + 1);
            for function in module.functions.get(..next).unwrap_or_default() {
                finder.visit_function(function);
            }
            return if finder.is_done() {
                Self::Known(finder.finish())
            } else {
                Self::Sought { finder, next }
            };
        }
        // Every mention of a struct without a name depends on the order: all bodies are read for it beforehand.
        let mut body = FunctionBody::default();
        for (index, function) in module.functions.iter().enumerate() {
            finder.visit_function(function);
            match bodies {
                Bodies::Upgraded(bodies) => {
                    bodies
                        .get(index)
                        .and_then(Option::as_ref)
                        .iter()
                        .for_each(|body| finder.visit_body(body));
                }
                Bodies::Read(_) => {
                    if !function.declaration && module.read_body(index, &mut body).is_ok() {
                        finder.visit_body(&body);
                    }
                }
            }
        }
        Self::Known(finder.finish())
    }

    /// The order, if it was known from the start.
    fn known(&self) -> &[TypeId] {
        match self {
            Self::Known(order) => order,
            Self::Sought { .. } => &[],
        }
    }

    /// The order when all functions were visited, unless it was known before.
    fn finish(&mut self, module: &Module<'_>) -> Option<Vec<TypeId>> {
        match core::mem::replace(self, Self::Known(Vec::new())) {
            Self::Known(_) => None,
            Self::Sought { mut finder, next } => {
                for function in module.functions.get(next..).unwrap_or_default() {
                    finder.visit_function(function);
                }
                Some(finder.finish())
            }
        }
    }
}
