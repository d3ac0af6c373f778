//! Prints LLVM assembly, byte for byte as a given version of `llvm-dis` writes it.
//!
//! One printer serves all versions. They differ in data (rules, tables of intrinsics and of debug-info fields) and
//! in a few switches. Types, names and simple constants are formatted once, so that printing an operand costs one
//! copy.

mod attributes;
mod constants;
mod data_layout;
mod debug_records;
mod debug_scopes;
mod dxil_comments;
mod float;
mod fragments;
mod function;
mod gc_relocations;
mod instruction;
mod intrinsics;
mod intrinsics_14;
mod intrinsics_19;
mod intrinsics_22;
mod intrinsics_targets;
mod links;
mod mangle;
mod metadata;
pub(crate) mod metadata_fields;
mod metadata_kinds;
mod metadata_slots;
mod one_function;
mod source_ranges;
mod summary;
mod symbols;
mod targets_14;
mod targets_19;
mod targets_22;
pub(crate) mod text;
mod types;
pub(crate) mod upgrade;

use crate::attribute_names::AttributeOrder;
use crate::body::FunctionBody;
use crate::data_layout::DataLayout;
use crate::ids::TypeId;
use crate::module::{Module, ModuleProperty};
use crate::source_map::SourceMap;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use attributes::AttributeTexts;
use constants::ConstantNesting;
use function::Locals;
use metadata_kinds::MetadataKinds;
use metadata_slots::MetadataSlots;
use symbols::Symbols;
use text::{push_escaped_as, push_number};
use types::{StructFinder, TypeTexts};
use unshade_core::token::Token;
use unshade_core::{Diagnostics, Error, ErrorKind, TokenKind, TokenSink};

pub(crate) use attributes::{ALLOC_KINDS, FP_CLASSES, MEMORY_ACCESSES};
pub(crate) use constants::FAST_MATH;
pub use fragments::{TypeNames, block_labels, dxil_operation, plain_constant};
pub(crate) use function::{CONVENTIONS, LATER_CONVENTIONS};
pub(crate) use intrinsics::Intrinsic;
pub use links::Entity;
pub(crate) use mangle::push_mangled_type;
pub use one_function::function;
pub(crate) use text::push_name;
pub(crate) use types::type_text;

/// The tool and version whose text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// LLVM 14, with typed pointers, which matches Apple's AIR.
    #[default]
    Llvm14,
    /// LLVM 3.7 as DXC's disassembler writes it, with its comments.
    Dxc,
    /// LLVM 19, with opaque pointers and that version's upgrades of old modules.
    Llvm19,
    /// LLVM 22, with what versions 20 to 22 added: the default for modules by them.
    Llvm22,
}

/// The size from which the text of a type counts as long.
const LONG_TYPE: usize = 1 << 12;

/// The size of the text of all long types that are printed: a base, and a number for each byte of the file.
const LONG_TYPES: usize = 1 << 26;
const LONG_TYPES_PER_BYTE: usize = 256;

/// Options of the printer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions<'o> {
    /// The tool and version whose text is written.
    pub dialect: Dialect,
    /// The module id in the first line, usually the path of the file; `None` omits the line.
    pub module_id: Option<&'o str>,
}

/// The differences between versions that are not in tables.
#[derive(Clone, Copy)]
struct Rules {
    dialect: Dialect,
    order: AttributeOrder,
    /// Whether pointers are written as `ptr`.
    opaque_pointers: bool,
    /// Whether alignments are written even if the file has none.
    explicit_alignment: bool,
    /// Whether unnamed blocks start with a comment instead of a label.
    label_comments: bool,
    /// Whether old attributes and metadata are upgraded.
    upgrades: bool,
    /// The text of an undefined element of a shuffle mask.
    undefined_mask: &'static str,
}

impl Dialect {
    fn rules(self) -> Rules {
        match self {
            Dialect::Llvm14 => Rules {
                dialect: self,
                order: AttributeOrder::V14,
                opaque_pointers: false,
                explicit_alignment: true,
                label_comments: false,
                upgrades: true,
                undefined_mask: "undef",
            },
            Dialect::Dxc => Rules {
                dialect: self,
                order: AttributeOrder::V3,
                opaque_pointers: false,
                explicit_alignment: false,
                label_comments: true,
                upgrades: false,
                undefined_mask: "undef",
            },
            Dialect::Llvm19 => Rules {
                dialect: self,
                order: AttributeOrder::V19,
                opaque_pointers: true,
                explicit_alignment: true,
                label_comments: false,
                upgrades: true,
                undefined_mask: "poison",
            },
            Dialect::Llvm22 => Rules { dialect: self, order: AttributeOrder::V22, ..Dialect::Llvm19.rules() },
        }
    }

    /// Returns the dialect that fits what wrote a module, as its identification block names it: `LLVM22.1.8` and the like.
    /// Modules of LLVM 20 and later may hold what earlier versions do not know.
    ///
    /// ```
    /// use unshade_llvm::print::Dialect;
    ///
    /// assert_eq!(Dialect::of_producer(b"LLVM22.1.2-rust-1.95.0-stable"), Dialect::Llvm22);
    /// assert_eq!(Dialect::of_producer(b"LLVM19.1.7"), Dialect::Llvm14);
    /// ```
    pub fn of_producer(producer: &[u8]) -> Self {
        /// The first version that the dialect of LLVM 22 is for.
        const FIRST: u64 = 20;
        let version = producer.strip_prefix(b"LLVM").unwrap_or_default();
        let digits = version.iter().take_while(|c| c.is_ascii_digit()).take(4);
        let major = digits.fold(0, |number, &digit| number * 10 + u64::from(digit - b'0'));
        if major >= FIRST { Self::Llvm22 } else { Self::default() }
    }

    /// Returns whether the version has opaque pointers only.
    fn is_opaque(self) -> bool {
        matches!(self, Dialect::Llvm19 | Dialect::Llvm22)
    }
}

/// The memory of a printer, which the next module uses again.
///
/// Libraries have thousands of small modules: growing the tables anew for each takes a part of the time.
#[derive(Default)]
pub struct PrintMemory {
    body: FunctionBody,
    locals: Locals,
    scratch: String,
    /// `!0` to `!999`.
    slots: String,
    kinds: MetadataKinds,
}

/// Prints a module, and returns diagnostics of what could not be read.
pub fn module<S: TokenSink>(module: &Module<'_>, options: &PrintOptions<'_>, sink: &mut S) -> Diagnostics {
    module_with(module, options, sink, &mut PrintMemory::default())
}

/// Prints a module as [`fn@module`] does, with the memory of the module before.
pub fn module_with<S: TokenSink>(
    module: &Module<'_>,
    options: &PrintOptions<'_>,
    sink: &mut S,
    memory: &mut PrintMemory,
) -> Diagnostics {
    let rules = options.dialect.rules();
    let start = sink.mark();
    let check = upgrade::UpgradeCheck::new(module, rules.dialect);
    if !check.needs_upgrade() {
        let mut printer = Printer::new(module, rules, Bodies::FromFile(check), sink, memory);
        printer.run(options);
        let (is_outdated, findings) = (printer.is_outdated, printer.finish(memory));
        if !is_outdated {
            return findings;
        }
        // A body needs an upgrade, which may change all of the text: start again.
        sink.truncate(start);
    }
    let mut findings = Diagnostics::new();
    let bodies = (0..module.functions.len()).map(|index| {
        let mut body = FunctionBody::default();
        read_body(module, index, &mut body, &mut findings).then_some(body)
    });
    let bodies = bodies.collect();
    let upgraded = upgrade::upgrade(module, rules.dialect, bodies);
    let mut printer = Printer::new(&upgraded.module, rules, Bodies::Upgraded(upgraded.bodies), sink, memory);
    printer.run(options);
    findings.append(printer.finish(memory));
    findings
}

/// Reads the body of a function; returns whether it has one.
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

/// The source of function bodies.
enum Bodies<'m, 'a> {
    /// Read from the file one by one, as long as none needs an upgrade.
    FromFile(upgrade::UpgradeCheck<'m, 'a>),
    /// Read from the file one by one. All were read before, and none needs an upgrade.
    Checked,
    /// Already read and upgraded.
    Upgraded(Vec<Option<FunctionBody>>),
}

/// Reports debug info of an old version, or of none, which LLVM drops and this printer prints.
fn note_debug_version(module: &Module<'_>, findings: &mut Diagnostics) {
    const CURRENT: u64 = 3;
    let has_units = !module.named(b"llvm.dbg.cu").is_empty();
    let version = module.flag(b"Debug Info Version").or(has_units.then_some(0));
    if let Some(version) = version.filter(|&version| version != CURRENT) {
        let error = Error::without_offset(ErrorKind::Unsupported, "LLVM drops debug info of this version")
            .expected("3")
            .found(alloc::format!("{version}"));
        findings.note("llvm-debug-info-version", error);
    }
}

/// The state of printing one module.
struct Printer<'m, 'a, 's, S> {
    module: &'m Module<'a>,
    bodies: Bodies<'m, 'a>,
    /// The body of the function being printed; its buffers are reused for the next.
    body: FunctionBody,
    /// Whether a body needs an upgrade; printing stops there.
    is_outdated: bool,
    structs: StructOrder<'m, 'a>,
    rules: Rules,
    sink: &'s mut S,
    types: TypeTexts,
    /// The data layout string as printed.
    layout_text: Cow<'m, [u8]>,
    layout: Cow<'m, DataLayout>,
    symbols: Symbols,
    locals: Locals,
    attributes: AttributeTexts,
    slots: MetadataSlots<'m, 'a>,
    kinds: MetadataKinds,
    scratch: String,
    nesting: ConstantNesting,
    /// The size of the text of long types that may still be written.
    long_types: usize,
    /// The nesting depth of inline metadata being written.
    depth: u32,
    findings: Diagnostics,
    sources: SourceMap,
    /// The strings of the module's metadata, if all are printed as they are.
    plain_strings: Option<&'m str>,
    /// `!0` to `!999`.
    slot_texts: String,
}

impl<'m, 'a, 's, S: TokenSink> Printer<'m, 'a, 's, S> {
    fn new(
        module: &'m Module<'a>,
        rules: Rules,
        mut bodies: Bodies<'m, 'a>,
        sink: &'s mut S,
        memory: &mut PrintMemory,
    ) -> Self {
        let PrintMemory { body, locals, scratch, mut slots, kinds } = core::mem::take(memory);
        if slots.is_empty() {
            text::push_prefixed_numbers(&mut slots, '!');
        }
        let structs = StructOrder::new(module, rules, &mut bodies, sink.is_streamed());
        let is_outdated = matches!(&bodies, Bodies::FromFile(check) if check.needs_upgrade());
        let types = TypeTexts::new(&module.types, structs.known(), rules.opaque_pointers);
        let symbols = Symbols::new(module, rules.dialect);
        let upgraded = data_layout::upgrade(&module.data_layout_text, &module.triple, rules.dialect);
        let (layout_text, layout) = match upgraded {
            Some(text) => {
                (Cow::Owned(text.clone().into_bytes()), Cow::Owned(DataLayout::parse(text.as_bytes())))
            }
            None => (Cow::Borrowed(module.data_layout_text.as_slice()), Cow::Borrowed(&module.data_layout)),
        };
        Self {
            module,
            bodies,
            body,
            is_outdated,
            structs,
            rules,
            sink,
            types,
            layout,
            layout_text,
            symbols,
            locals,
            attributes: AttributeTexts::new(module.attributes.set_count()),
            slots: MetadataSlots::new(module, !rules.upgrades, rules.dialect == Dialect::Llvm22),
            kinds: MetadataKinds::of(module, rules.dialect, kinds),
            scratch,
            nesting: ConstantNesting::new(&module.constants),
            long_types: LONG_TYPES.saturating_add(module.data_size().saturating_mul(LONG_TYPES_PER_BYTE)),
            depth: 0,
            findings: Diagnostics::new(),
            sources: SourceMap::default(),
            slot_texts: slots,
            plain_strings: text::plain(module.metadata.all_strings()),
        }
    }

    /// Returns the memory, and what was found.
    fn finish(self, memory: &mut PrintMemory) -> Diagnostics {
        *memory = PrintMemory {
            body: self.body,
            locals: self.locals,
            scratch: self.scratch,
            slots: self.slot_texts,
            kinds: self.kinds,
        };
        self.findings
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

    /// Writes a placeholder for what can't be printed, and reports why.
    #[cold]
    fn unprintable(&mut self, placeholder: &str, why: &'static str) {
        self.sink.put(TokenKind::Text, placeholder);
        self.findings.error("llvm-text", Error::without_offset(ErrorKind::Unsupported, why));
    }

    /// Writes a token whose text is built in the scratch buffer.
    #[inline]
    fn built(&mut self, kind: TokenKind, write: impl FnOnce(&mut String)) {
        self.scratch.clear();
        write(&mut self.scratch);
        self.sink.put(kind, &self.scratch);
    }

    #[inline]
    fn number(&mut self, number: u64) {
        if number < 1_000 {
            self.sink.put(TokenKind::Number, text::short_number(number as u32));
        } else {
            self.built(TokenKind::Number, |text| push_number(text, number));
        }
    }

    #[inline(always)]
    fn ty(&mut self, id: TypeId) {
        let text = self.types.get(id);
        if text.len() > LONG_TYPE {
            return self.long_type(id, false);
        }
        self.sink.token(Token { kind: TokenKind::Type, text, link: Entity::Type(id).reference() });
    }

    /// Writes a type followed by a space.
    #[inline(always)]
    fn spaced_type(&mut self, id: TypeId) {
        let text = self.types.spaced(id);
        if text.len() > LONG_TYPE {
            return self.long_type(id, true);
        }
        self.sink.token(Token { kind: TokenKind::Type, text, link: Entity::Type(id).reference() });
    }

    /// Writes a long type, and a space if `spaced` is set, as far as the file allows; then a placeholder: few operands of a hostile
    /// file could each have a type of megabytes.
    #[cold]
    fn long_type(&mut self, id: TypeId, spaced: bool) {
        let text = if spaced { self.types.spaced(id) } else { self.types.get(id) };
        match self.long_types.checked_sub(text.len()) {
            Some(left) => {
                self.long_types = left;
                self.sink.token(Token { kind: TokenKind::Type, text, link: Entity::Type(id).reference() });
            }
            None => self.unprintable("<type too long> ", "types are longer than the file allows"),
        }
    }

    /// Writes a quoted string.
    fn quoted(&mut self, bytes: &[u8]) {
        let old = self.rules.label_comments;
        self.built(TokenKind::String, |text| {
            text.push('"');
            push_escaped_as(text, bytes, old);
            text.push('"');
        });
    }

    fn run(&mut self, options: &PrintOptions<'_>) {
        if self.is_outdated {
            return;
        }
        note_debug_version(self.module, &mut self.findings);
        self.map_sources();
        self.module(options);
        if self.types.is_cut {
            let message = "types are too long or nest too deep, and are not printed whole";
            self.findings.error("llvm-text", Error::without_offset(ErrorKind::Limit, message));
        }
    }

    fn module(&mut self, options: &PrintOptions<'_>) {
        self.number_module();
        self.head(options);
        let structs_at = self.sink.mark();
        if let StructOrder::Known(order) = &self.structs {
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
            self.sink.settle();
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
            self.sink.settle();
        }
        if let Some(order) = self.structs.finish(module) {
            self.struct_types(structs_at, &order);
        }
        self.attribute_groups();
        self.named_metadata();
        self.metadata_nodes();
        self.summary(options);
    }

    /// Assigns the slots and groups that LLVM assigns before it prints anything.
    fn number_module(&mut self) {
        let module = self.module;
        for global in &module.globals {
            self.number_attachments(metadata_slots::MODULE, &global.symbol.attachments);
            if let Some(set) = global.attributes {
                self.group_of_set(set);
            }
        }
        for named in &module.named_metadata {
            for &node in &named.nodes {
                self.slots.add(metadata_slots::MODULE, node);
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
                self.source(|map| map.property(ModuleProperty::SourceFilename));
                self.header_assignment("source_filename", name);
            }
        }
        if !self.layout_text.is_empty() {
            let layout = self.layout_text.clone();
            self.source(|map| map.property(ModuleProperty::DataLayout));
            self.header_assignment("target datalayout", &layout);
        }
        if !module.triple.is_empty() {
            self.source(|map| map.property(ModuleProperty::Triple));
            self.header_assignment("target triple", &module.triple);
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

    fn header_assignment(&mut self, name: &str, value: &[u8]) {
        self.keyword(name);
        self.punctuation(" = ");
        self.quoted(value);
        self.punctuation("\n");
    }

    /// Passes a function, and those before it in the module, to the finder of struct types.
    fn find_structs(&mut self, index: usize, body: &FunctionBody) {
        if let StructOrder::Pending { finder, next } = &mut self.structs {
            for function in self.module.functions.get(*next..=index).unwrap_or_default() {
                finder.visit_function(function);
            }
            finder.visit_body(body);
            *next = index + 1;
        }
    }

    /// Inserts the list of struct types before the globals.
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
                sink.put(TokenKind::Type, types.body(*body));
                sink.put(TokenKind::Punctuation, "\n");
            }
        });
        self.no_source();
    }
}

/// The order of identified structs, which are printed before the functions that it depends on.
enum StructOrder<'m, 'a> {
    Known(Vec<TypeId>),
    /// Determined while functions are printed.
    Pending {
        finder: StructFinder<'m, 'a>,
        /// The first function that the finder has not visited.
        next: usize,
    },
}

impl<'m, 'a> StructOrder<'m, 'a> {
    /// Determines the order, from all bodies if the text of structs or a sink that streams needs it at once.
    fn new(module: &'m Module<'a>, rules: Rules, bodies: &mut Bodies<'_, '_>, is_streamed: bool) -> Self {
        let mut finder = StructFinder::new(module, rules.opaque_pointers, !rules.upgrades);
        if !finder.needs_numbers() && !is_streamed {
            let first_body = module.functions.iter().position(|function| !function.declaration);
            let next = first_body.map_or(module.functions.len(), |first| first + 1);
            for function in module.functions.get(..next).unwrap_or_default() {
                finder.visit_function(function);
            }
            return if finder.is_done() {
                Self::Known(finder.finish())
            } else {
                Self::Pending { finder, next }
            };
        }
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
                Bodies::FromFile(check) => {
                    if function.declaration || module.read_body(index, &mut body).is_err() {
                        continue;
                    }
                    finder.visit_body(&body);
                    check.check_body(&body);
                    if check.needs_upgrade() {
                        return Self::Known(Vec::new());
                    }
                }
                Bodies::Checked => {}
            }
        }
        if let Bodies::FromFile(_) = bodies {
            *bodies = Bodies::Checked;
        }
        Self::Known(finder.finish())
    }

    /// Returns the order if it was known from the start.
    fn known(&self) -> &[TypeId] {
        match self {
            Self::Known(order) => order,
            Self::Pending { .. } => &[],
        }
    }

    /// Returns the order after all functions were visited, unless it was known from the start.
    fn finish(&mut self, module: &Module<'_>) -> Option<Vec<TypeId>> {
        match core::mem::replace(self, Self::Known(Vec::new())) {
            Self::Known(_) => None,
            Self::Pending { mut finder, next } => {
                for function in module.functions.get(next..).unwrap_or_default() {
                    finder.visit_function(function);
                }
                Some(finder.finish())
            }
        }
    }
}
