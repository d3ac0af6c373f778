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
mod layout;
mod mangle;
mod metadata;
mod metadata_fields;
mod relocations;
mod slots;
mod symbols;
pub(crate) mod text;
mod types;
mod upgrade;

use crate::attribute_names::Order;
use crate::body::FunctionBody;
use crate::data_layout::DataLayout;
use crate::ids::{TypeId, narrow};
use crate::metadata::Metadata;
use crate::module::Module;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use attributes::AttributeTexts;
use constants::Nesting;
use function::Locals;
use slots::Slots;
use symbols::{Cached, Symbols};
use text::{push_escaped_as, push_metadata_name, push_number};
use types::{Finder, TypeTexts};
use unshade_core::{Diagnostics, Error, ErrorKind, TokenKind, TokenSink};

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
    let mut findings = Diagnostics::new();
    let upgraded = if options.dialect.rules().upgrades { upgrade::upgrade(module) } else { None };
    let module = upgraded.as_ref().unwrap_or(module);
    let rules = options.dialect.rules();
    let mut finder = Finder::new(module, rules.opaque_pointers, !rules.upgrades);
    let mut bodies: Vec<Option<FunctionBody>> = Vec::with_capacity(module.functions.len());
    for (index, function) in module.functions.iter().enumerate() {
        let mut body = None;
        if !function.declaration {
            body = findings.take("llvm-function", module.body(index));
            if let Some(body) = &mut body {
                findings.append(core::mem::take(&mut body.diagnostics));
            }
        }
        finder.visit_function(function, body.as_ref());
        bodies.push(body);
    }
    note_debug_version(module, &mut findings);
    let mut printer = Printer::new(module, &bodies, &finder.finish(), rules, sink);
    printer.module(options);
    findings.append(printer.findings);
    findings
}

/// Says that LLVM would drop debug info that is printed here, as its version is not the one of today.
fn note_debug_version(module: &Module<'_>, findings: &mut Diagnostics) {
    const CURRENT: u64 = 3;
    let version = module.named(b"llvm.module.flags").iter().find_map(|&flag| {
        let mut operands = module.node_operands(flag).skip(1);
        let (name, value) = (operands.next()??, operands.next()??);
        match module.metadata.get(value)? {
            Metadata::Value { value, .. } if module.metadata_string(name)? == b"Debug Info Version" => {
                module.integer(None, value)
            }
            _ => None,
        }
    });
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
    bodies: &'m [Option<FunctionBody>],
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
    /// The names of kinds of attachments between `, !` and a space, by their number in the file, and where LLVM sorts them.
    kinds: Vec<(u32, u32, String)>,
    scratch: String,
    nesting: Nesting,
    /// How deep metadata nests that is being written in place.
    depth: u32,
    findings: Diagnostics,
}

/// Kinds of attachments that LLVM has numbered for good.
const FIXED_KINDS: &[&[u8]] = &[
    b"dbg",
    b"tbaa",
    b"prof",
    b"fpmath",
    b"range",
    b"tbaa.struct",
    b"invariant.load",
    b"alias.scope",
    b"noalias",
    b"nontemporal",
    b"llvm.mem.parallel_loop_access",
    b"nonnull",
    b"dereferenceable",
    b"dereferenceable_or_null",
    b"make.implicit",
    b"unpredictable",
    b"invariant.group",
    b"align",
    b"llvm.loop",
    b"type",
    b"section_prefix",
    b"absolute_symbol",
    b"associated",
    b"callees",
    b"irr_loop",
    b"llvm.access.group",
    b"callback",
    b"llvm.preserve.access_index",
    b"vcall_visibility",
    b"noundef",
    b"annotation",
];

impl<'m, 'a, 's, S: TokenSink> Printer<'m, 'a, 's, S> {
    fn new(
        module: &'m Module<'a>,
        bodies: &'m [Option<FunctionBody>],
        structs: &[TypeId],
        rules: Rules,
        sink: &'s mut S,
    ) -> Self {
        let types = TypeTexts::new(&module.types, structs, rules.opaque_pointers);
        let symbols = Symbols::new(module, rules.dialect);
        let kinds = module.metadata_kinds.iter().enumerate().map(|(at, (number, name))| {
            let fixed = FIXED_KINDS.iter().position(|fixed| fixed == name);
            let rank = fixed.unwrap_or(FIXED_KINDS.len() + at);
            let mut text = String::from(", !");
            push_metadata_name(&mut text, name);
            text.push(' ');
            (*number, narrow(rank as u64), text)
        });
        let layout_text = match layout::upgrade(&module.data_layout_text, &module.triple, rules.dialect) {
            Some(text) => Cow::Owned(text.into_bytes()),
            None => Cow::Borrowed(module.data_layout_text.as_slice()),
        };
        Self {
            module,
            bodies,
            rules,
            sink,
            types,
            layout: DataLayout::parse(&layout_text),
            layout_text,
            symbols,
            locals: Locals::default(),
            attributes: AttributeTexts::new(module.attributes.set_count()),
            slots: Slots::new(module, bodies, !rules.upgrades),
            slot_pool: String::new(),
            slot_texts: Vec::new(),
            kinds: kinds.collect(),
            scratch: String::new(),
            nesting: Nesting::new(&module.constants),
            depth: 0,
            findings: Diagnostics::new(),
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
        self.sink.put(TokenKind::Type, self.types.get(id));
    }

    /// A type with a space behind it.
    #[inline(always)]
    fn spaced_type(&mut self, id: TypeId) {
        self.sink.put(TokenKind::Type, self.types.spaced(id));
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

    fn module(&mut self, options: &PrintOptions<'_>) {
        for body in self.bodies.iter().flatten() {
            debug_scopes::check(self.module, body, &mut self.findings);
        }
        self.number_module();
        self.head(options);
        self.struct_types();
        self.comdats();
        let module = self.module;
        if !module.globals.is_empty() {
            self.punctuation("\n");
        }
        for index in 0..module.globals.len() {
            self.global(index);
        }
        for indirect in [false, true] {
            let mut aliases = module.aliases.iter().filter(|alias| alias.indirect == indirect).peekable();
            if aliases.peek().is_some() {
                self.punctuation("\n");
            }
            for alias in aliases {
                self.alias(alias);
            }
        }
        for at in 0..self.symbols.function_order().len() {
            let Some(&index) = self.symbols.function_order().get(at) else { break };
            self.punctuation("\n");
            self.function(index as usize);
        }
        self.attribute_groups();
        self.named_metadata();
        self.metadata_nodes();
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
                self.setting("source_filename", name);
            }
        }
        if !self.layout_text.is_empty() {
            let layout = self.layout_text.clone();
            self.setting("target datalayout", &layout);
        }
        if !module.triple.is_empty() {
            self.setting("target triple", &module.triple);
        }
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

    fn struct_types(&mut self) {
        if self.types.structs().is_empty() {
            return;
        }
        self.sink.put(TokenKind::Punctuation, "\n");
        for (name, body) in self.types.structs() {
            self.sink.put(TokenKind::Type, name);
            self.sink.put(TokenKind::Keyword, " = type ");
            self.sink.put(TokenKind::Type, body);
            self.sink.put(TokenKind::Punctuation, "\n");
        }
    }
}
