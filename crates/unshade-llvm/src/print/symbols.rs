//! Prints global variables, functions and aliases as operands, and declares them.

use super::intrinsics::Intrinsic;
use super::mangle::{self, IntrinsicRewrite};
use super::text::{push_name, push_number};
use super::{Dialect, Entity, Printer, debug_scopes, metadata_slots};
use crate::constants::Constant;
use crate::global::{Alias, GlobalVariable, Symbol, UpgradedPosition};
use crate::ids::{TypeId, ValueId, narrow};
use crate::module::Module;
use crate::types::{Type, TypeTable};
use crate::value::{Value, ValueKind};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::token::{Link, Token};
use unshade_core::{TokenKind, TokenSink};

/// A text that is formatted once and kept in a pool. An empty text is not cached and is formatted on each use.
#[derive(Clone, Copy)]
pub(super) struct CachedText {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) kind: TokenKind,
    /// The type of the value.
    pub(super) ty: TypeId,
}

impl CachedText {
    pub(super) const NONE: Self = Self { start: 0, end: 0, kind: TokenKind::Text, ty: TypeId::NONE };

    /// Records the end of the pool, from `start` on, as a text.
    pub(super) fn since(pool: &str, start: usize, kind: TokenKind, ty: TypeId) -> Self {
        Self { start: narrow(start as u64), end: narrow(pool.len() as u64), kind, ty }
    }

    #[inline(always)]
    pub(super) fn of(self, pool: &str) -> &str {
        pool.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// The texts of module-level values, and the order in which functions are printed.
pub(super) struct Symbols {
    pool: String,
    values: Vec<CachedText>,
    /// The index of the first value that an upgrade added.
    first_upgrade_value: u32,
    order: Vec<u32>,
    intrinsics: Vec<Option<Intrinsic>>,
    rewrites: Vec<Option<IntrinsicRewrite>>,
    any_dropped: bool,
}

impl Symbols {
    /// Formats all symbols.
    pub(super) fn new(module: &Module<'_>, dialect: Dialect) -> Self {
        let functions = module.functions.len();
        let mut symbols = Self {
            pool: String::with_capacity(16 * module.values.len()),
            values: Vec::with_capacity(module.values.len() + module.upgrade_values.len()),
            first_upgrade_value: 0,
            order: Vec::with_capacity(functions),
            intrinsics: Vec::with_capacity(functions),
            rewrites: Vec::with_capacity(functions),
            any_dropped: false,
        };
        symbols.find_intrinsics(module, dialect);
        symbols.write_values(module, dialect);
        symbols
    }

    fn find_intrinsics(&mut self, module: &Module<'_>, dialect: Dialect) {
        let mut at_end = Vec::new();
        let mut names = BTreeSet::new();
        for (at, function) in module.functions.iter().enumerate() {
            let name = &function.symbol.name;
            let found = Intrinsic::of(&module.types, dialect, &function.symbol);
            let rewrite = found.and_then(|intrinsic| mangle::rewrite(module, dialect, at, intrinsic));
            let moves = rewrite.is_some() || function.position == UpgradedPosition::AtEnd;
            let list = if moves { &mut at_end } else { &mut self.order };
            let record = dialect.is_opaque() && super::debug_records::is_record(name);
            if rewrite.is_some() && names.is_empty() {
                names.extend(module.functions.iter().map(|function| function.symbol.name.to_vec()));
            }
            // Functions that only differed in what a pointer points to become one.
            let is_new = |rewrite: &IntrinsicRewrite| {
                rewrite.dropped.is_some() || names.insert(rewrite.name.as_bytes().to_vec())
            };
            let is_first = rewrite.as_ref().is_none_or(is_new);
            if !record && is_first && function.position != UpgradedPosition::Replaced {
                list.push(narrow(at as u64));
            }
            self.intrinsics.push(found);
            self.any_dropped |= rewrite.as_ref().is_some_and(|rewrite| rewrite.dropped.is_some());
            self.rewrites.push(rewrite);
        }
        self.order.extend(at_end);
    }

    /// Formats symbols and simple constants. Unnamed symbols are numbered: variables, aliases, then functions.
    fn write_values(&mut self, module: &Module<'_>, dialect: Dialect) {
        let mut numbers = alloc::collections::BTreeMap::new();
        let aliases = |indirect: bool| module.aliases.iter().filter(move |alias| alias.indirect == indirect);
        let symbols = module.globals.iter().map(|global| &global.symbol);
        let symbols = symbols.chain(aliases(false).chain(aliases(true)).map(|alias| &alias.symbol));
        let symbols = symbols.chain(module.functions.iter().map(|function| &function.symbol));
        for (number, symbol) in (0u64..).zip(symbols.filter(|symbol| symbol.name.is_empty())) {
            numbers.insert(symbol.value, number);
        }
        self.first_upgrade_value = narrow(module.values.len() as u64);
        let upgrade_values = (Module::UPGRADE_BASE..).zip(&module.upgrade_values);
        for (at, value) in (0u32..).zip(&module.values).chain(upgrade_values) {
            let start = self.pool.len();
            let (symbol, kind) = match value.kind {
                ValueKind::Global(index) => {
                    (module.globals.get(index as usize).map(|g| &g.symbol), TokenKind::Variable)
                }
                ValueKind::Function(index) => {
                    (module.functions.get(index as usize).map(|f| &f.symbol), TokenKind::Function)
                }
                ValueKind::Alias(index) => {
                    (module.aliases.get(index as usize).map(|a| &a.symbol), TokenKind::Function)
                }
                _ => (None, TokenKind::Number),
            };
            let rewrite = match value.kind {
                ValueKind::Function(index) => self.rewrites.get(index as usize).and_then(Option::as_ref),
                _ => None,
            };
            match symbol {
                Some(_) if rewrite.is_some() => {
                    self.pool.push('@');
                    push_name(&mut self.pool, rewrite.map_or(&[], |rewrite| rewrite.name.as_bytes()));
                }
                Some(symbol) => {
                    self.pool.push('@');
                    match numbers.get(&ValueId(at)) {
                        Some(&number) => push_number(&mut self.pool, number),
                        None => push_name(&mut self.pool, &symbol.name),
                    }
                }
                None => {
                    if let ValueKind::Constant(index) = value.kind {
                        push_plain_constant(
                            &mut self.pool,
                            &module.types,
                            value,
                            module.constants.get(index),
                            dialect == Dialect::Dxc,
                        );
                    }
                }
            }
            self.values.push(CachedText::since(&self.pool, start, kind, value.ty));
        }
    }

    /// Returns the functions in the order in which they are printed.
    pub(super) fn function_order(&self) -> &[u32] {
        &self.order
    }

    /// Returns whether any intrinsic lost a parameter.
    pub(super) fn any_dropped(&self) -> bool {
        self.any_dropped
    }

    /// Returns the parameter that a rewritten intrinsic lost.
    pub(super) fn dropped_parameter(&self, function: usize) -> Option<usize> {
        self.rewrites.get(function)?.as_ref()?.dropped
    }

    /// Returns the attributes of a function that is a known intrinsic.
    pub(super) fn intrinsic(&self, function: usize) -> Option<Intrinsic> {
        self.intrinsics.get(function).copied().flatten()
    }

    #[cold]
    fn upgrade_value(&self, id: ValueId) -> Option<(CachedText, &str)> {
        let at = id.0.checked_sub(Module::UPGRADE_BASE)?;
        let cached = *self.values.get(self.first_upgrade_value.saturating_add(at) as usize)?;
        Some((cached, cached.of(&self.pool)))
    }

    /// Returns the text of a module-level value, empty if it is not cached; `None` for other values.
    #[inline(always)]
    pub(super) fn get(&self, id: ValueId) -> Option<(CachedText, &str)> {
        match self.values.get(id.index()) {
            // Values that an upgrade added follow those of the file in the list, but their ids do not.
            Some(cached) if id.0 < self.first_upgrade_value => Some((*cached, cached.of(&self.pool))),
            _ => self.upgrade_value(id),
        }
    }
}

/// Appends a constant that is a single word; nothing for others.
pub(super) fn push_plain_constant(
    pool: &mut String,
    types: &TypeTable,
    value: &Value,
    constant: Constant,
    old: bool,
) {
    match constant {
        Constant::Undef => pool.push_str("undef"),
        Constant::Poison => pool.push_str("poison"),
        Constant::Null => pool.push_str(zero(types, value.ty)),
        // Vectors whose elements are all this number have a form of their own.
        Constant::Integer(_) | Constant::Float(_) if types.scalar(value.ty) != value.ty => {}
        Constant::Integer(number) => push_integer(pool, types, value.ty, number),
        Constant::Float(bits) => super::float::push_float(pool, types.get(value.ty), bits, old),
        _ => {}
    }
}

/// Returns the text of the zero value of a type.
pub(super) fn zero(types: &TypeTable, ty: TypeId) -> &'static str {
    match types.get(ty) {
        Type::Integer(1) => "false",
        Type::Integer(_) => "0",
        Type::Half => "0xH0000",
        Type::BFloat => "0xR0000",
        Type::Float | Type::Double => "0.000000e+00",
        Type::X86Fp80 => "0xK00000000000000000000",
        Type::Fp128 => "0xL00000000000000000000000000000000",
        Type::PpcFp128 => "0xM00000000000000000000000000000000",
        Type::Pointer { .. } | Type::OpaquePointer { .. } => "null",
        Type::Token => "none",
        _ => "zeroinitializer",
    }
}

/// Appends an integer constant stored in 64 bits.
pub(super) fn push_integer(pool: &mut String, types: &TypeTable, ty: TypeId, number: u64) {
    match types.get(ty) {
        Type::Integer(1) => pool.push_str(if number & 1 != 0 { "true" } else { "false" }),
        Type::Integer(width) if width < 64 => {
            let shift = 64 - width;
            super::text::push_signed(pool, ((number << shift) as i64) >> shift);
        }
        Type::Integer(width) if width > 64 => super::text::push_wide(pool, &[number], width, true),
        _ => super::text::push_signed(pool, number as i64),
    }
}

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Writes the linkage and what follows it, up to the calling convention or the word `global`.
    pub(super) fn linkage(&mut self, symbol: &Symbol, external: bool) {
        if external {
            self.keyword("external ");
        }
        let linkage = symbol.linkage.keyword();
        if !linkage.is_empty() {
            self.keyword(linkage);
            self.punctuation(" ");
        }
        // Implied `dso_local` is not written, and LLVM 3.7 does not have the keyword.
        let implied = symbol.linkage.is_local()
            || (symbol.visibility != 0 && symbol.linkage != crate::global::Linkage::ExternalWeak);
        if symbol.dso_local && !implied && self.rules.dialect != Dialect::Dxc {
            self.keyword("dso_local ");
        }
        match symbol.visibility {
            1 => self.keyword("hidden "),
            2 => self.keyword("protected "),
            _ => {}
        }
        match symbol.dll_storage {
            1 => self.keyword("dllimport "),
            2 => self.keyword("dllexport "),
            _ => {}
        }
    }

    fn thread_local(&mut self, symbol: &Symbol) {
        const MODELS: [&str; 5] = [
            "",
            "thread_local ",
            "thread_local(localdynamic) ",
            "thread_local(initialexec) ",
            "thread_local(localexec) ",
        ];
        let model = MODELS.get(usize::from(symbol.thread_local)).copied().unwrap_or("");
        if !model.is_empty() {
            self.keyword(model);
        }
    }

    pub(super) fn unnamed_address(symbol: &Symbol) -> &'static str {
        match symbol.unnamed_address {
            1 => "unnamed_addr",
            2 => "local_unnamed_addr",
            _ => "",
        }
    }

    /// Writes a symbol where it is used.
    pub(super) fn symbol(&mut self, id: ValueId) {
        self.linked_symbol(id, Entity::Symbol(id).reference());
    }

    /// Writes a symbol where it is defined or declared.
    pub(super) fn symbol_definition(&mut self, id: ValueId) {
        self.linked_symbol(id, Entity::Symbol(id).definition());
    }

    fn linked_symbol(&mut self, id: ValueId, link: Option<Link>) {
        match self.symbols.get(id) {
            Some((cached, text)) => self.sink.token(Token { kind: cached.kind, text, link }),
            None => self.sink.put(TokenKind::Text, "<badref>"),
        }
    }

    pub(super) fn global(&mut self, index: usize) {
        let module = self.module;
        let Some(global) = module.globals.get(index) else { return };
        let symbol = &global.symbol;
        self.symbol_definition(symbol.value);
        self.punctuation(" = ");
        let external = global.initializer.is_none() && symbol.linkage == crate::global::Linkage::External;
        self.linkage(symbol, external);
        self.thread_local(symbol);
        let unnamed = Self::unnamed_address(symbol);
        if !unnamed.is_empty() {
            self.keyword(unnamed);
            self.punctuation(" ");
        }
        if symbol.address_space != 0 {
            self.keyword("addrspace(");
            self.number(u64::from(symbol.address_space));
            self.punctuation(") ");
        }
        if global.externally_initialized {
            self.keyword("externally_initialized ");
        }
        self.keyword(if global.constant { "constant " } else { "global " });
        self.ty(symbol.ty);
        if let Some(value) = global.initializer {
            self.punctuation(" ");
            self.value(None, value);
        }
        self.section(symbol, ", ");
        if self.rules.opaque_pointers {
            self.later_properties(global);
        }
        self.comdat_of(symbol, true);
        if let Some(exponent) = symbol.alignment.checked_sub(1) {
            self.punctuation(", ");
            self.keyword("align ");
            self.number(1 << (exponent & 63));
        }
        debug_scopes::check_variable(self.module, symbol, &mut self.findings);
        self.attachments(metadata_slots::MODULE, &symbol.attachments, ", ");
        if let Some(set) = global.attributes {
            let group = self.group_of_set(set);
            self.group_reference(group);
        }
        self.punctuation("\n");
    }

    /// Writes properties of variables that LLVM 15 added: the code model and sanitizer attributes.
    fn later_properties(&mut self, global: &GlobalVariable) {
        const MODELS: [&str; 6] = ["", "tiny", "small", "kernel", "medium", "large"];
        const SANITIZERS: [&str; 4] =
            ["no_sanitize_address", "no_sanitize_hwaddress", "sanitize_memtag", "sanitize_address_dyninit"];
        let model = usize::try_from(global.code_model).ok().and_then(|model| MODELS.get(model));
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            self.punctuation(", ");
            self.keyword("code_model ");
            self.quoted(model.as_bytes());
        }
        for (bit, word) in SANITIZERS.iter().enumerate() {
            if global.sanitizer >> bit & 1 != 0 {
                self.punctuation(", ");
                self.keyword(word);
            }
        }
    }

    pub(super) fn section(&mut self, symbol: &'m Symbol, separator: &str) {
        for (word, name) in [("section ", &symbol.section), ("partition ", &symbol.partition)] {
            if !name.is_empty() {
                self.punctuation(separator);
                self.keyword(word);
                self.quoted(name);
            }
        }
    }

    /// Returns the comdat of a symbol; in old files the linkage may imply one with the symbol's own name.
    fn comdat_name(&self, symbol: &'m Symbol) -> Option<&'m [u8]> {
        if symbol.implicit_comdat {
            // Mach-O has no comdats.
            let apple = self.module.triple.windows(7).any(|part| part == b"-apple-" || part == b"-darwin");
            return (!apple).then_some(symbol.name.as_slice());
        }
        self.module.comdats.get(symbol.comdat? as usize).map(|comdat| comdat.name.as_slice())
    }

    pub(super) fn comdat_of(&mut self, symbol: &'m Symbol, variable: bool) {
        let Some(name) = self.comdat_name(symbol) else { return };
        if variable {
            self.punctuation(",");
        }
        self.keyword(" comdat");
        if name != symbol.name {
            self.built(TokenKind::Variable, |text| {
                text.push_str("($");
                push_name(text, name);
                text.push(')');
            });
        }
    }

    /// Writes the comdats in the order in which functions and variables use them.
    pub(super) fn comdats(&mut self) {
        let module = self.module;
        let mut names: Vec<&[u8]> = Vec::new();
        let functions = module.functions.iter().map(|function| &function.symbol);
        for symbol in functions.chain(module.globals.iter().map(|global| &global.symbol)) {
            if let Some(name) = self.comdat_name(symbol)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        for name in names {
            self.punctuation("\n");
            let selection =
                module.comdats.iter().find(|comdat| comdat.name == name).map_or(1, |c| c.selection);
            self.built(TokenKind::Variable, |text| {
                text.push('$');
                push_name(text, name);
            });
            self.punctuation(" = ");
            self.keyword("comdat ");
            self.keyword(match selection {
                2 => "exactmatch",
                3 => "largest",
                4 if self.rules.dialect == Dialect::Dxc => "noduplicates",
                4 => "nodeduplicate",
                5 => "samesize",
                _ => "any",
            });
            self.punctuation("\n");
        }
    }

    pub(super) fn alias(&mut self, alias: &'m Alias) {
        let symbol = &alias.symbol;
        self.symbol_definition(symbol.value);
        self.punctuation(" = ");
        self.linkage(symbol, false);
        if !alias.indirect {
            self.thread_local(symbol);
            let unnamed = Self::unnamed_address(symbol);
            if !unnamed.is_empty() {
                self.keyword(unnamed);
                self.punctuation(" ");
            }
        }
        self.keyword(if alias.indirect { "ifunc " } else { "alias " });
        self.ty(symbol.ty);
        self.punctuation(", ");
        // Casts between pointers are folded once pointers are opaque.
        let target = if self.rules.opaque_pointers { self.folded(None, alias.target) } else { alias.target };
        let expression = matches!(self.module.constant(None, target), Some((Constant::Expression(_), _)));
        if !expression {
            self.type_of(None, alias.target);
            self.punctuation(" ");
        }
        self.value(None, alias.target);
        if !symbol.partition.is_empty() {
            self.punctuation(", ");
            self.keyword("partition ");
            self.quoted(&symbol.partition);
        }
        self.punctuation("\n");
    }
}
