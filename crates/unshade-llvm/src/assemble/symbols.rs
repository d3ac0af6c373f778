//! Parses global variables, aliases, ifuncs, comdats and module properties, and keeps the names of symbols.
//!
//! A symbol may be used before it is defined; its value exists from the first use on.

use super::Version;
use super::error::Parsed;
use super::lexer::Token;
use super::names::NameTable;
use super::parser::{Parser, shown};
use super::uses::Use;
use crate::data_layout::DataLayout;
use crate::global::{Alias, Comdat, GlobalVariable, Linkage, Symbol};
use crate::ids::{TypeId, ValueId, narrow};
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// The symbols of a text.
#[derive(Default)]
pub(super) struct SymbolState {
    names: NameTable<ValueId>,
    /// Unnamed symbols, by number.
    numbers: BTreeMap<u32, ValueId>,
    next_number: u32,
    /// Symbols that are used but not defined yet.
    undefined: BTreeMap<ValueId, Undefined>,
    /// Where each comdat is mentioned first.
    comdats: Vec<usize>,
    /// Aliases in the order of the text, aliases and ifuncs apart.
    ifuncs: Vec<Alias>,
}

/// A symbol that is used but not defined yet.
#[derive(Default)]
struct Undefined {
    position: usize,
    uses: Vec<Use>,
}

/// The name of a symbol.
#[derive(Clone, Debug)]
pub(super) enum SymbolName {
    Name(Vec<u8>),
    Number(u32),
}

/// The linkages by keyword.
const LINKAGES: [(&str, Linkage); 11] = [
    ("external", Linkage::External),
    ("available_externally", Linkage::AvailableExternally),
    ("linkonce", Linkage::LinkOnceAny),
    ("linkonce_odr", Linkage::LinkOnceOdr),
    ("weak", Linkage::WeakAny),
    ("weak_odr", Linkage::WeakOdr),
    ("appending", Linkage::Appending),
    ("internal", Linkage::Internal),
    ("private", Linkage::Private),
    ("extern_weak", Linkage::ExternalWeak),
    ("common", Linkage::Common),
];
const VISIBILITIES: [&str; 3] = ["default", "hidden", "protected"];
const DLL_STORAGE: [&str; 2] = ["dllimport", "dllexport"];
const THREAD_MODELS: [&str; 3] = ["localdynamic", "initialexec", "localexec"];
const UNNAMED: [&str; 2] = ["unnamed_addr", "local_unnamed_addr"];
const SANITIZERS: [&str; 4] =
    ["no_sanitize_address", "no_sanitize_hwaddress", "sanitize_memtag", "sanitize_address_dyninit"];
const CODE_MODELS: [&str; 6] = ["", "tiny", "small", "kernel", "medium", "large"];
const SELECTIONS: [(&str, u64); 6] = [
    ("any", 1),
    ("exactmatch", 2),
    ("largest", 3),
    ("nodeduplicate", 4),
    ("noduplicates", 4),
    ("samesize", 5),
];

impl Parser<'_> {
    /// Parses one thing of the module.
    pub(super) fn top_level(&mut self) -> Parsed<()> {
        match self.token {
            Token::Word(b"define") => self.define_function(),
            Token::Word(b"declare") => self.declare_function(),
            Token::Word(b"target") => self.target_property(),
            Token::Word(b"source_filename") => {
                self.advance();
                self.expect(b'=')?;
                self.module.source_filename = Some(self.string()?);
                Ok(())
            }
            Token::Word(b"module") => self.module_assembly(),
            Token::Word(b"attributes") => self.attribute_group(),
            Token::Word(b"uselistorder" | b"uselistorder_bb") => self.use_list_order(),
            Token::Local(_) | Token::LocalNumber(_) => self.type_definition(),
            Token::Comdat(_) => self.comdat_definition(),
            Token::Metadata(_) => self.named_metadata(),
            Token::Punctuation(b'!') => self.metadata_definition(),
            Token::Summary(_) => self.summary_entry(),
            Token::Global(_) | Token::GlobalNumber(_) => {
                let at = self.at;
                let name = self.symbol_name()?;
                self.expect(b'=')?;
                self.global_definition(name, at)
            }
            Token::Word(_) => {
                let (name, at) = (SymbolName::Number(self.symbols.next_number), self.at);
                self.global_definition(name, at)
            }
            _ => self.fault("expected a definition or declaration"),
        }
    }

    /// Parses `@name` or `@5`.
    pub(super) fn symbol_name(&mut self) -> Parsed<SymbolName> {
        let name = match self.token {
            Token::Global(name) => match name.bytes() {
                name if name.is_empty() => SymbolName::Number(self.symbols.next_number),
                name => SymbolName::Name(name.into_owned()),
            },
            Token::GlobalNumber(number) => SymbolName::Number(number),
            _ => return self.fault("expected the name of a symbol"),
        };
        self.advance();
        Ok(name)
    }

    fn target_property(&mut self) -> Parsed<()> {
        self.advance();
        let is_triple = self.eat_word("triple");
        if !is_triple {
            self.expect_word("datalayout")?;
        }
        self.expect(b'=')?;
        let at = self.at;
        let text = self.string()?;
        if is_triple {
            self.module.triple = text;
        } else {
            if let Err(message) = crate::rules::check_data_layout(&text, self.version) {
                return self.fault_at(at, message);
            }
            self.module.data_layout = DataLayout::parse(&text);
            self.module.data_layout_text = text;
        }
        Ok(())
    }

    fn module_assembly(&mut self) -> Parsed<()> {
        self.advance();
        self.expect_word("asm")?;
        let line = self.string()?;
        self.module.assembly.extend_from_slice(&line);
        if line.last().is_some_and(|&last| last != b'\n') {
            self.module.assembly.push(b'\n');
        }
        Ok(())
    }

    fn comdat_definition(&mut self) -> Parsed<()> {
        let Token::Comdat(name) = self.token else { return self.fault("expected a comdat") };
        let (name, start) = (name.bytes(), self.at);
        self.advance();
        self.expect(b'=')?;
        self.expect_word("comdat")?;
        let at = self.eat_one_of(&SELECTIONS.map(|(word, _)| word));
        let Some(&(_, selection)) = at.and_then(|at| SELECTIONS.get(at)) else {
            return self.fault(
                "expected how to select from a comdat: any, exactmatch, largest, nodeduplicate or samesize",
            );
        };
        let index = self.comdat(&name, start);
        if self.module.comdats.get(index as usize).is_some_and(|comdat| comdat.selection != 0) {
            return self.fault_at(start, alloc::format!("redefinition of comdat '${}'", shown(&name)));
        }
        if let Some(comdat) = self.module.comdats.get_mut(index as usize) {
            comdat.selection = selection;
        }
        Ok(())
    }

    /// Returns the index of a comdat, which may be defined later and is mentioned here.
    fn comdat(&mut self, name: &[u8], at: usize) -> u32 {
        if let Some(index) = self.comdats.get(name) {
            return index;
        }
        let index = narrow(self.module.comdats.len() as u64);
        self.module.comdats.push(Comdat { name: name.to_vec(), selection: 0 });
        self.symbols.comdats.push(at);
        self.comdats.insert(name, index);
        index
    }

    /// Parses `comdat` or `comdat($name)`.
    pub(super) fn comdat_of(&mut self, symbol: &mut Symbol) -> Parsed<()> {
        let mut at = self.at;
        self.expect_word("comdat")?;
        let name = if self.eat(b'(') {
            at = self.at;
            let Token::Comdat(name) = self.token else { return self.fault("expected the name of a comdat") };
            let name = name.bytes().into_owned();
            self.advance();
            self.expect(b')')?;
            name
        } else if symbol.name.is_empty() {
            return self.fault_at(at, "comdat cannot be unnamed");
        } else {
            symbol.name.clone()
        };
        symbol.comdat = Some(self.comdat(&name, at));
        Ok(())
    }

    /// Parses linkage, preemption, visibility and DLL storage into a new symbol. Also returns whether a linkage was
    /// written.
    pub(super) fn linkage(&mut self, name: &SymbolName) -> Parsed<(Symbol, bool)> {
        let start = self.at;
        let at = self.eat_one_of(&LINKAGES.map(|(word, _)| word));
        let linkage = at.and_then(|at| LINKAGES.get(at)).map_or(Linkage::External, |&(_, linkage)| linkage);
        let preemption = self.eat_one_of(&["dso_local", "dso_preemptable"]);
        let visibility = self.eat_one_of(&VISIBILITIES).unwrap_or(0);
        let storage = self.eat_one_of(&DLL_STORAGE).map_or(0, |at| at + 1);
        if linkage.is_local() && visibility != 0 {
            return self.fault("symbol with local linkage must have default visibility");
        }
        if linkage.is_local() && storage != 0 && self.version == Version::Llvm19 {
            return self.fault_at(start, "symbol with local linkage cannot have a DLL storage class");
        }
        if preemption == Some(0) && storage == 1 {
            return self.fault("dso_location and DLL-StorageClass mismatch");
        }
        let implied = linkage.is_local() || (visibility != 0 && linkage != Linkage::ExternalWeak);
        let name = match name {
            SymbolName::Name(name) => name.clone(),
            SymbolName::Number(_) => Vec::new(),
        };
        let symbol = Symbol {
            linkage,
            visibility: visibility.to_le_bytes()[0],
            dll_storage: storage.to_le_bytes()[0],
            dso_local: preemption == Some(0) || implied,
            ..Symbol::new(name, TypeId::NONE, 0, ValueId::NONE)
        };
        Ok((symbol, at.is_some()))
    }

    /// Parses `unnamed_addr` or `local_unnamed_addr`.
    pub(super) fn unnamed_address(&mut self, symbol: &mut Symbol) {
        if let Some(at) = self.eat_one_of(&UNNAMED) {
            symbol.unnamed_address = at.to_le_bytes()[0] + 1;
        }
    }

    fn thread_local(&mut self, symbol: &mut Symbol) -> Parsed<()> {
        if !self.eat_word("thread_local") {
            return Ok(());
        }
        symbol.thread_local = 1;
        if self.eat(b'(') {
            let Some(at) = self.eat_one_of(&THREAD_MODELS) else {
                return self.fault("expected localdynamic, initialexec or localexec");
            };
            symbol.thread_local = at.to_le_bytes()[0] + 2;
            self.expect(b')')?;
        }
        Ok(())
    }

    /// Parses a variable, alias or ifunc after its name and `=`.
    fn global_definition(&mut self, name: SymbolName, at: usize) -> Parsed<()> {
        let (mut symbol, has_linkage) = self.linkage(&name)?;
        self.thread_local(&mut symbol)?;
        self.unnamed_address(&mut symbol);
        if self.is_word("alias") || self.is_word("ifunc") {
            return self.alias(&name, at, symbol);
        }
        symbol.address_space = self.address_space()?;
        let externally_initialized = self.eat_word("externally_initialized");
        let constant = match self.eat_one_of(&["global", "constant"]) {
            Some(at) => at == 1,
            None => return self.fault("expected a global variable, constant, alias or ifunc"),
        };
        symbol.ty = self.ty()?;
        let is_declaration =
            has_linkage && matches!(symbol.linkage, Linkage::External | Linkage::ExternalWeak);
        let has_initializer = !is_declaration;
        let initializer = if has_initializer { Some(self.constant_value(symbol.ty)?) } else { None };
        let index = narrow(self.module.globals.len() as u64);
        let mut global = GlobalVariable {
            symbol,
            constant,
            externally_initialized,
            initializer,
            attributes: None,
            sanitizer: 0,
            code_model: 0,
        };
        self.variable_properties(&mut global)?;
        if matches!(self.token, Token::AttributeGroup(_) | Token::Text(_) | Token::Word(b"align")) {
            let list = self.variable_attributes()?;
            self.attributes.variables.push((index, list));
        }
        let pointer = self.pointer_to(global.symbol.ty, global.symbol.address_space);
        let value = self.define_symbol(&name, at, pointer, ValueKind::Global(index))?;
        global.symbol.value = value;
        if let Some(initializer) = initializer {
            self.set_symbol_operands(value, &[Some(initializer)]);
        }
        self.module.globals.push(global);
        Ok(())
    }

    /// Parses `, section "…"` and so on.
    fn variable_properties(&mut self, global: &mut GlobalVariable) -> Parsed<()> {
        while self.eat(b',') {
            let at = self.at;
            let properties = ["section", "partition", "align", "code_model"];
            match self.eat_one_of(&properties) {
                Some(0) => global.symbol.section = self.string()?,
                Some(1) => global.symbol.partition = self.string()?,
                Some(2) => global.symbol.alignment = self.alignment()?,
                Some(_) => {
                    let model = self.string()?;
                    let Some(known) = CODE_MODELS.iter().position(|known| known.as_bytes() == model) else {
                        return self.fault_at(at, "unknown code model");
                    };
                    global.code_model = known as u64;
                }
                None if self.is_word("comdat") => self.comdat_of(&mut global.symbol)?,
                None if matches!(self.token, Token::Metadata(_)) => {
                    let attachment = self.attachment()?;
                    global.symbol.attachments.push(attachment);
                }
                None => match self.eat_one_of(&SANITIZERS) {
                    Some(bit) => global.sanitizer |= 1 << bit,
                    None => return self.fault("unknown property of a global variable"),
                },
            }
        }
        Ok(())
    }

    /// Parses an alias or ifunc from its keyword on.
    fn alias(&mut self, name: &SymbolName, at: usize, mut symbol: Symbol) -> Parsed<()> {
        let indirect = self.eat_word("ifunc");
        if !indirect {
            self.expect_word("alias")?;
        }
        let type_at = self.at;
        symbol.ty = self.ty()?;
        self.expect(b',')?;
        let target_at = self.at;
        let (target, target_type) = if self.at_type() {
            let ty = self.ty()?;
            (self.constant_value(ty)?, ty)
        } else {
            self.untyped_expression()?
        };
        symbol.address_space = match self.module.types.address_space(target_type) {
            Some(space) => space,
            None => return self.fault_at(target_at, "an alias or ifunc refers to a pointer"),
        };
        let pointee = self.module.types.pointee(target_type);
        if let Some(pointee) = pointee.filter(|&pointee| pointee != symbol.ty && !indirect) {
            let (ty, pointee) = (self.shown_type(symbol.ty), self.shown_type(pointee));
            let message = alloc::format!(
                "explicit pointee type doesn't match operand's pointee type ({ty} vs {pointee})"
            );
            return self.fault_at(type_at, message);
        }
        while self.eat(b',') {
            self.expect_word("partition")?;
            symbol.partition = self.string()?;
        }
        let pointer = self.pointer_to(symbol.ty, symbol.address_space);
        // Ifuncs follow aliases in a file; their indices are known when all aliases are.
        let kind = if indirect {
            ValueKind::Unresolved
        } else {
            ValueKind::Alias(narrow(self.module.aliases.len() as u64))
        };
        let value = self.define_symbol(name, at, pointer, kind)?;
        symbol.value = value;
        self.set_symbol_operands(value, &[Some(target)]);
        let list = if indirect { &mut self.symbols.ifuncs } else { &mut self.module.aliases };
        list.push(Alias { symbol, indirect, target });
        Ok(())
    }

    /// Notes when the operands of a symbol were set.
    pub(super) fn set_symbol_operands(&mut self, symbol: ValueId, operands: &[Option<ValueId>]) {
        let now = self.uses.tick();
        self.uses.order.symbols.insert(symbol, now);
        for (operand, value) in (0u32..).zip(operands) {
            if let Some(value) = *value {
                self.note_use(value, Use::Symbol { symbol, operand });
            }
        }
    }

    /// Returns the type of pointers to a type.
    pub(super) fn pointer_to(&mut self, pointee: TypeId, address_space: u32) -> TypeId {
        // To LLVM 19 every pointer is opaque.
        if self.version == Version::Llvm19 {
            return self.module.types.intern(Type::OpaquePointer { address_space });
        }
        let pointer = Type::Pointer { pointee, address_space };
        if address_space != 0 {
            return self.module.types.intern(pointer);
        }
        if let Some(known) = self.types.pointers.get(pointee.0) {
            return known;
        }
        let ty = self.module.types.intern(pointer);
        self.types.pointers.insert(pointee.0, ty);
        ty
    }

    /// Defines a symbol and returns its value.
    pub(super) fn define_symbol(
        &mut self,
        name: &SymbolName,
        at: usize,
        pointer: TypeId,
        kind: ValueKind,
    ) -> Parsed<ValueId> {
        let known = match name {
            SymbolName::Name(name) => self.symbols.names.get(name),
            SymbolName::Number(number) => {
                self.check_number("variable", '@', *number, self.symbols.next_number, at)?;
                self.symbols.next_number = number.saturating_add(1);
                self.symbols.numbers.get(number).copied()
            }
        };
        let Some(value) = known else {
            let value = self.add_value(kind, pointer);
            self.name_symbol(name, value);
            self.positions.symbols.insert(value, at);
            return Ok(value);
        };
        let Some(undefined) = self.symbols.undefined.remove(&value) else {
            return self.fault_at(at, alloc::format!("redefinition of '{}'", shown_symbol(name)));
        };
        let used_as = self.type_of(value);
        if used_as == TypeId::NONE {
            // Only the address of one of its blocks was taken.
            if let Some(entry) = self.module.values.get_mut(value.index()) {
                entry.ty = pointer;
            }
        } else if used_as != pointer {
            let (used_as, pointer) = (self.shown_type(used_as), self.shown_type(pointer));
            let name = shown_symbol(name);
            let message = alloc::format!("'{name}' is used as '{used_as}' but defined as '{pointer}'");
            return self.fault_at(undefined.position, message);
        }
        if let Some(entry) = self.module.values.get_mut(value.index()) {
            entry.kind = kind;
        }
        self.positions.symbols.insert(value, at);
        self.uses.define(&undefined.uses);
        Ok(value)
    }

    /// Checks the number of something without a name: the next one, or a later one from LLVM 19 on.
    pub(super) fn check_number(
        &self,
        what: &str,
        sigil: char,
        found: u32,
        next: u32,
        at: usize,
    ) -> Parsed<()> {
        let (fits, or_greater) = match self.version {
            Version::Llvm14 | Version::Dxc => (found == next, ""),
            Version::Llvm19 => (found >= next, " or greater"),
        };
        if fits {
            return Ok(());
        }
        let sigil = if what == "label" { String::new() } else { String::from(sigil) };
        self.fault_at(at, alloc::format!("{what} expected to be numbered '{sigil}{next}'{or_greater}"))
    }

    fn name_symbol(&mut self, name: &SymbolName, value: ValueId) {
        match name {
            SymbolName::Name(name) => self.symbols.names.insert(name, value),
            SymbolName::Number(number) => {
                self.symbols.numbers.insert(*number, value);
            }
        }
    }

    /// Adds a value of the module.
    pub(super) fn add_value(&mut self, kind: ValueKind, ty: TypeId) -> ValueId {
        let id = ValueId(narrow(self.module.values.len() as u64));
        self.module.values.push(Value { kind, ty });
        id
    }

    /// Returns the type of a value of the module or of the function that is parsed.
    pub(super) fn type_of(&self, value: ValueId) -> TypeId {
        let body = self.function.as_ref().map(|function| &function.body);
        self.module.value(body, value).map_or(TypeId::NONE, |value| value.ty)
    }

    /// Parses a symbol that is used as a pointer of type `ty`.
    pub(super) fn symbol_reference(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let (token, at) = (self.token, self.at);
        let Some(value) = self.known_symbol() else {
            let name = self.symbol_name()?;
            if !self.module.types.is_pointer(ty) {
                return self.fault_at(at, "a symbol is a pointer");
            }
            let value = self.add_value(ValueKind::Unresolved, ty);
            self.name_symbol(&name, value);
            self.symbols.undefined.insert(value, Undefined { position: at, uses: Vec::new() });
            return Ok(value);
        };
        self.advance();
        let defined_as = self.type_of(value);
        if defined_as == TypeId::NONE {
            if let Some(entry) = self.module.values.get_mut(value.index()) {
                entry.ty = ty;
            }
        } else if defined_as != ty {
            let (defined_as, ty) = (self.shown_type(defined_as), self.shown_type(ty));
            let name = shown_token(token);
            return self
                .fault_at(at, alloc::format!("'{name}' is of type '{defined_as}' but used as '{ty}'"));
        }
        Ok(value)
    }

    /// Returns the symbol whose name is the current token, if it was defined or used before.
    pub(super) fn known_symbol(&self) -> Option<ValueId> {
        match self.token {
            Token::Global(name) => match name.bytes() {
                name if name.is_empty() => self.symbols.numbers.get(&self.symbols.next_number).copied(),
                name => self.symbols.names.get(&name),
            },
            Token::GlobalNumber(number) => self.symbols.numbers.get(&number).copied(),
            _ => None,
        }
    }

    /// Parses a symbol of whatever type it has; the type of one that is not known yet is found later.
    pub(super) fn symbol_of_any_type(&mut self) -> Parsed<ValueId> {
        if let Some(value) = self.known_symbol() {
            self.advance();
            return Ok(value);
        }
        let at = self.at;
        let name = self.symbol_name()?;
        let value = self.add_value(ValueKind::Unresolved, TypeId::NONE);
        self.name_symbol(&name, value);
        self.symbols.undefined.insert(value, Undefined { position: at, uses: Vec::new() });
        Ok(value)
    }

    /// Notes a use of a value that is not defined yet; other uses need no note.
    pub(super) fn note_use(&mut self, value: ValueId, by: Use) {
        let is_unresolved = |value: &Value| value.kind == ValueKind::Unresolved;
        if self.module.values.get(value.index()).is_some_and(is_unresolved)
            && let Some(undefined) = self.symbols.undefined.get_mut(&value)
        {
            undefined.uses.push(by);
        }
        self.late.note_use(value, by);
    }

    /// Returns whether a value is used but not defined yet.
    pub(super) fn is_undefined(&self, value: ValueId) -> bool {
        let is_local = self.function.as_ref().is_some_and(|function| function.is_undefined(value));
        is_local || self.symbols.undefined.contains_key(&value)
    }

    /// Returns the symbols that are used but not defined yet, and where each is used first.
    pub(super) fn undefined_symbols(&self) -> impl Iterator<Item = (ValueId, usize)> {
        self.symbols.undefined.iter().map(|(&value, undefined)| (value, undefined.position))
    }

    /// Returns the uses of a symbol that is not defined yet.
    pub(super) fn uses_of_undefined(&self, value: ValueId) -> &[Use] {
        self.symbols.undefined.get(&value).map_or(&[], |undefined| &undefined.uses)
    }

    /// Forgets a symbol that nothing uses any more.
    pub(super) fn forget_undefined(&mut self, value: ValueId) {
        self.symbols.undefined.remove(&value);
    }

    /// Returns the symbol with a name, if it is defined.
    pub(super) fn declared(&self, name: &[u8]) -> Option<ValueId> {
        self.symbols.names.get(name).filter(|value| !self.symbols.undefined.contains_key(value))
    }

    /// Numbers the ifuncs, and reports symbols and comdats that are used but never defined.
    pub(super) fn finish_symbols(&mut self) -> Parsed<()> {
        if let Some(undefined) = self.symbols.undefined.values().min_by_key(|undefined| undefined.position) {
            return self.fault_at(undefined.position, "use of an undefined symbol");
        }
        for ifunc in core::mem::take(&mut self.symbols.ifuncs) {
            let index = narrow(self.module.aliases.len() as u64);
            if let Some(value) = self.module.values.get_mut(ifunc.symbol.value.index()) {
                value.kind = ValueKind::Alias(index);
            }
            self.module.aliases.push(ifunc);
        }
        let mut comdats = self.module.comdats.iter().zip(&self.symbols.comdats);
        if let Some((comdat, &position)) = comdats.find(|(comdat, _)| comdat.selection == 0) {
            let message = alloc::format!("use of undefined comdat '${}'", shown(&comdat.name));
            return self.fault_at(position, message);
        }
        Ok(())
    }
}

/// Returns a token that names a symbol for a message.
fn shown_token(token: Token<'_>) -> String {
    match token {
        Token::Global(name) => alloc::format!("@{}", shown(&name.bytes())),
        Token::GlobalNumber(number) => alloc::format!("@{number}"),
        _ => String::new(),
    }
}

/// Returns the name of a symbol for a message.
pub(super) fn shown_symbol(name: &SymbolName) -> String {
    match name {
        SymbolName::Name(name) => alloc::format!("@{}", shown(name)),
        SymbolName::Number(number) => alloc::format!("@{number}"),
    }
}
