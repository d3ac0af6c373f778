//! The table of symbols for linkers (`SYMTAB`), and Darwin's wrapper.
//!
//! The table is a header of 19 words: version; the producer; offset and count of modules, comdats, symbols, uncommon
//! properties; target triple, source file, linker options; offset and count of dependent libraries. The lists follow
//! in this order. Texts are offset and size in the string table. LLVM leaves the table out where it can't make it:
//! without a data layout, with an alias whose object can't be found, and with assembly, for which it would need an
//! assembler of the target.
//!
//! Knowledge: `IRSymtab.cpp` and `ModuleSymbolTable.cpp` of LLVM 14 and 19.

use super::mangle::Mangler;
use super::strings::StringTable;
use super::triple::{Environment, ObjectFormat, Triple};
use super::{Version, Writer, library_calls, number, stream};
use crate::bitstream::{WRAPPER_MAGIC, WRAPPER_SIZE};
use crate::blocks;
use crate::constants::Constant;
use crate::global::{Alias, Function, GlobalVariable, Linkage, Symbol};
use crate::ids::{ValueId, narrow};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::value::ValueKind;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use unshade_core::Result;

/// The version of the table's format.
const FORMAT: u32 = 3;
/// Number of words of the header.
const HEADER_WORDS: u32 = 19;
/// The index of a comdat that means none.
const NO_COMDAT: u32 = u32::MAX;
/// Maximum number of casts and aliases between a symbol and its object.
const MAX_STEPS: usize = 1 << 10;

/// Bits of a symbol's flags, above two bits of visibility.
mod flag {
    pub(super) const HAS_UNCOMMON: u32 = 1 << 2;
    pub(super) const UNDEFINED: u32 = 1 << 3;
    pub(super) const WEAK: u32 = 1 << 4;
    pub(super) const COMMON: u32 = 1 << 5;
    pub(super) const INDIRECT: u32 = 1 << 6;
    pub(super) const USED: u32 = 1 << 7;
    pub(super) const THREAD_LOCAL: u32 = 1 << 8;
    pub(super) const MAY_OMIT: u32 = 1 << 9;
    pub(super) const GLOBAL: u32 = 1 << 10;
    pub(super) const FORMAT_SPECIFIC: u32 = 1 << 11;
    pub(super) const UNNAMED_ADDRESS: u32 = 1 << 12;
    pub(super) const EXECUTABLE: u32 = 1 << 13;
}

/// Writes the table, unless LLVM would leave it out.
pub(super) fn write(writer: &mut Writer<'_, '_>, producer: &str) -> Result<()> {
    let module = writer.numbering.source.module;
    if !module.assembly.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(module, writer.version, &mut writer.strings);
    let producer = producer.strip_prefix("LLVM").unwrap_or(producer);
    match table.build(producer.as_bytes())? {
        Some(blob) => stream::blob_block(&mut writer.stream, blocks::SYMTAB, &blob),
        None => Ok(()),
    }
}

/// Returns a stream in Darwin's wrapper, if it is one for Darwin.
pub(super) fn wrapped(triple: &[u8], version: Version, stream: Vec<u8>) -> Vec<u8> {
    let triple = Triple::parse(triple, version);
    if !triple.is_darwin && triple.format != ObjectFormat::MachO {
        return stream;
    }
    let size = narrow(stream.len() as u64);
    let mut file = WRAPPER_MAGIC.to_vec();
    for word in [0, WRAPPER_SIZE as u32, size, triple.cpu_type] {
        file.extend(word.to_le_bytes());
    }
    file.extend(stream);
    file.resize(file.len().next_multiple_of(16), 0);
    file
}

/// A place in the string table: offset and size.
type Text = [u32; 2];

/// What a symbol is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Object<'m> {
    Function(&'m Function),
    Variable(&'m GlobalVariable),
    Alias(&'m Alias),
}

impl<'m> Object<'m> {
    pub(crate) fn symbol(self) -> &'m Symbol {
        match self {
            Self::Function(function) => &function.symbol,
            Self::Variable(variable) => &variable.symbol,
            Self::Alias(alias) => &alias.symbol,
        }
    }

    /// Returns whether the module defines it, for a linker.
    pub(crate) fn is_defined(self) -> bool {
        let has_content = match self {
            Self::Function(function) => !function.declaration,
            Self::Variable(variable) => variable.initializer.is_some(),
            Self::Alias(_) => true,
        };
        has_content && self.symbol().linkage != Linkage::AvailableExternally
    }

    /// Returns whether another definition may replace it, or none is needed.
    pub(crate) fn is_weak(self) -> bool {
        matches!(
            self.symbol().linkage,
            Linkage::LinkOnceAny
                | Linkage::LinkOnceOdr
                | Linkage::WeakAny
                | Linkage::WeakOdr
                | Linkage::ExternalWeak
        )
    }

    /// Returns whether it is no symbol for a linker: private, or of LLVM itself.
    pub(crate) fn is_special(self) -> bool {
        let symbol = self.symbol();
        symbol.linkage == Linkage::Private
            || symbol.name.starts_with(b"llvm.")
            || matches!(self, Self::Variable(_)) && symbol.section == b"llvm.metadata"
    }

    /// Returns whether an object that is no alias is code.
    pub(crate) fn is_code(self) -> bool {
        match self {
            Self::Function(_) => true,
            Self::Alias(alias) => alias.indirect,
            Self::Variable(_) => false,
        }
    }
}

/// The table while it is being built.
struct Table<'i, 'a, 's> {
    module: &'i Module<'a>,
    version: Version,
    triple: Triple,
    mangler: Mangler<'i, 'a>,
    strings: &'s mut StringTable,
    comdats: Vec<u32>,
    comdat_numbers: BTreeMap<&'i [u8], u32>,
    symbols: Vec<u32>,
    uncommon: Vec<u32>,
    linker_options: Vec<u8>,
    used: BTreeSet<u32>,
}

impl<'i, 'a, 's> Table<'i, 'a, 's> {
    fn new(module: &'i Module<'a>, version: Version, strings: &'s mut StringTable) -> Self {
        Self {
            module,
            version,
            triple: Triple::parse(&module.triple, version),
            mangler: Mangler::new(module, version),
            strings,
            comdats: Vec::new(),
            comdat_numbers: BTreeMap::new(),
            symbols: Vec::new(),
            uncommon: Vec::new(),
            linker_options: Vec::new(),
            used: BTreeSet::new(),
        }
    }

    fn text(&mut self, text: &[u8]) -> Text {
        [self.strings.add(text), narrow(text.len() as u64)]
    }

    /// Returns the table; none where LLVM can't make it. The string table then keeps what was added.
    fn build(&mut self, producer: &[u8]) -> Result<Option<Vec<u8>>> {
        let module = self.module;
        let producer = self.text(producer);
        let triple = self.text(&module.triple);
        let source_file = self.text(module.source_filename.as_deref().unwrap_or_default());
        if module.data_layout_text.is_empty() {
            return Ok(None);
        }
        self.collect_used();
        if self.triple.format == ObjectFormat::Coff {
            self.collect_linker_options();
        }
        let libraries = match self.triple.format {
            ObjectFormat::Elf => self.dependent_libraries(),
            _ => Vec::new(),
        };
        let aliases = |indirect| module.aliases.iter().filter(move |alias| alias.indirect == indirect);
        let functions = module.functions.iter().map(Object::Function);
        let variables = module.globals.iter().map(Object::Variable);
        let aliases = aliases(false).chain(aliases(true)).map(Object::Alias);
        let mut count = 0u32;
        for object in functions.chain(variables).chain(aliases) {
            if self.add(object)?.is_none() {
                return Ok(None);
            }
            count += 1;
        }
        if self.has_offset_table() {
            let name = self.text(b"_GLOBAL_OFFSET_TABLE_");
            let none = self.text(b"");
            let flags = flag::UNDEFINED | flag::GLOBAL | flag::USED;
            self.symbols.extend([name, none, [NO_COMDAT, flags]].as_flattened());
            count += 1;
        }
        let options = core::mem::take(&mut self.linker_options);
        let options = self.text(&options);
        let modules = [0, count, 0];
        let mut words = alloc::vec![FORMAT];
        words.extend(producer);
        let mut at = HEADER_WORDS * 4;
        let lists = [(&modules[..], 3), (&self.comdats, 3), (&self.symbols, 6), (&self.uncommon, 6)];
        for (list, size) in lists {
            words.extend([at, narrow((list.len() / size) as u64)]);
            at += narrow(list.len() as u64 * 4);
        }
        words.extend([triple, source_file, options].as_flattened());
        words.extend([at, narrow((libraries.len() / 2) as u64)]);
        words.extend(lists.iter().flat_map(|(list, _)| *list));
        words.extend(libraries);
        Ok(Some(words.into_iter().flat_map(u32::to_le_bytes).collect()))
    }

    /// Returns whether code may refer to the offset table of ELF without a word in the module.
    fn has_offset_table(&self) -> bool {
        const MEDIUM: u64 = 3;
        const LARGE: u64 = 4;
        let is_x86 = self.triple.is_x86_32 || self.triple.is_x86_64;
        let model = self.module.flag(b"Code Model");
        self.version == Version::Llvm19
            && self.triple.format == ObjectFormat::Elf
            && is_x86
            && (self.triple.is_x86_32 || matches!(model, Some(MEDIUM | LARGE)))
    }

    /// Collects the symbols that `llvm.used` and `llvm.compiler.used` list.
    fn collect_used(&mut self) {
        let module = self.module;
        let lists = module
            .globals
            .iter()
            .filter(|global| matches!(global.symbol.name.as_slice(), b"llvm.used" | b"llvm.compiler.used"));
        for list in lists.filter_map(|global| global.initializer) {
            if let Some((Constant::Aggregate(elements), constants)) = module.constant(None, list) {
                for &element in constants.values(elements) {
                    self.used.extend(symbol_behind_casts(module, element).map(|id| id.0));
                }
            }
        }
    }

    fn strings_of<'m>(
        module: &'m Module<'a>,
        name: &[u8],
    ) -> impl Iterator<Item = impl Iterator<Item = &'m [u8]>> {
        module.named(name).iter().map(move |&node| {
            module.node_operands(node).flatten().filter_map(move |operand| module.metadata_string(operand))
        })
    }

    fn collect_linker_options(&mut self) {
        for option in Self::strings_of(self.module, b"llvm.linker.options").flatten() {
            self.linker_options.push(b' ');
            self.linker_options.extend_from_slice(option);
        }
    }

    fn dependent_libraries(&mut self) -> Vec<u32> {
        let mut libraries = Vec::new();
        for mut node in Self::strings_of(self.module, b"llvm.dependent-libraries") {
            if let Some(library) = node.next() {
                libraries.extend(self.text(library));
            }
        }
        libraries
    }

    /// Adds a symbol; none if its object can't be found.
    fn add(&mut self, object: Object<'i>) -> Result<Option<()>> {
        let symbol = object.symbol();
        let base = base_object(self.module, object);
        let function = match base {
            Some(Object::Function(function)) => Some(function),
            _ => None,
        };
        let mut name = Vec::new();
        if symbol.dll_storage == 1 {
            name.extend_from_slice(b"__imp_");
        }
        name.append(&mut self.mangler.name(symbol, function));
        let name = self.text(&name);
        let ir_name = self.text(&symbol.name);
        let mut flags = self.flags(object, base);
        let mut uncommon = None;
        if let Object::Variable(variable) = object
            && symbol.linkage == Linkage::Common
        {
            let size = self.module.data_layout.allocation_size(&self.module.types, variable.symbol.ty);
            let alignment = symbol.alignment.checked_sub(1).map_or(0, |exponent| 1u64 << exponent.min(32));
            let uncommon = uncommon.get_or_insert_with(|| self.no_uncommon());
            (uncommon[0], uncommon[1]) = (narrow(size), narrow(alignment));
        }
        let Some(base) = base else { return Ok(None) };
        let Some(comdat) = self.comdat(base.symbol())? else { return Ok(None) };
        if self.triple.format == ObjectFormat::Coff {
            self.linker_flags(object, function);
            if let (Object::Alias(alias), true) =
                (object, flags & flag::WEAK != 0 && flags & flag::INDIRECT != 0)
            {
                let Some(fallback) = self.fallback(alias) else { return Ok(None) };
                let fallback = self.text(&fallback);
                uncommon.get_or_insert_with(|| self.no_uncommon())[2..4].copy_from_slice(&fallback);
            }
        }
        if !base.symbol().section.is_empty() {
            let uncommon = uncommon.get_or_insert_with(|| self.no_uncommon());
            let section = self.text(&base.symbol().section);
            uncommon[4..6].copy_from_slice(&section);
        }
        if let Some(uncommon) = uncommon {
            flags |= flag::HAS_UNCOMMON;
            self.uncommon.extend(uncommon);
        }
        self.symbols.extend([name, ir_name, [comdat, flags]].as_flattened());
        Ok(Some(()))
    }

    /// Returns uncommon properties: size and alignment of a common symbol, name of a fallback, name of a section.
    fn no_uncommon(&mut self) -> [u32; 6] {
        let none = self.text(b"");
        [0, 0, none[0], none[1], none[0], none[1]]
    }

    fn flags(&self, object: Object<'i>, base: Option<Object<'i>>) -> u32 {
        let symbol = object.symbol();
        let is_constant = !matches!(object, Object::Variable(variable) if !variable.constant);
        let may_omit = symbol.linkage == Linkage::LinkOnceOdr
            && (symbol.unnamed_address == 1 || is_constant && symbol.unnamed_address != 0);
        // LLVM 14 takes a symbol without a name for a library function without a name.
        let is_unnamed = self.version == Version::Llvm14 && symbol.name.is_empty();
        let is_used = is_unnamed
            || self.used.contains(&symbol.value.0)
            || library_calls::contains(self.version, &symbol.name);
        let bits = [
            (flag::UNDEFINED, !object.is_defined()),
            (flag::WEAK, object.is_weak()),
            (flag::COMMON, symbol.linkage == Linkage::Common),
            (flag::INDIRECT, matches!(object, Object::Alias(alias) if !alias.indirect)),
            (flag::USED, is_used),
            (flag::THREAD_LOCAL, symbol.thread_local != 0),
            (flag::MAY_OMIT, may_omit),
            (flag::GLOBAL, !symbol.linkage.is_local()),
            (flag::FORMAT_SPECIFIC, object.is_special()),
            (flag::UNNAMED_ADDRESS, symbol.unnamed_address == 1),
            (flag::EXECUTABLE, base.is_some_and(Object::is_code)),
        ];
        let set = bits.into_iter().filter(|(_, is_set)| *is_set);
        set.fold(u32::from(symbol.visibility), |flags, (bit, _)| flags | bit)
    }

    /// Returns the number of a symbol's comdat, which is added unless it was before; none if COFF's leader is missing.
    fn comdat(&mut self, symbol: &'i Symbol) -> Result<Option<u32>> {
        let Some((name, selection)) = number::comdat(self.module, symbol)? else {
            return Ok(Some(NO_COMDAT));
        };
        if let Some(&known) = self.comdat_numbers.get(name) {
            return Ok(Some(known));
        }
        let mut stored = name.to_vec();
        if self.triple.format == ObjectFormat::Coff {
            let Some(leader) = named(self.module, name) else { return Ok(None) };
            if leader.symbol().linkage.is_local() {
                self.comdat_numbers.insert(name, NO_COMDAT);
                return Ok(Some(NO_COMDAT));
            }
            let function = match base_object(self.module, leader) {
                Some(Object::Function(function)) => Some(function),
                _ => None,
            };
            stored = self.mangler.name(leader.symbol(), function);
        }
        let number = narrow((self.comdats.len() / 3) as u64);
        let text = self.text(&stored);
        self.comdats.extend(text);
        self.comdats.push(narrow(selection.saturating_sub(1)));
        self.comdat_numbers.insert(name, number);
        Ok(Some(number))
    }

    /// Returns the name of what a weak alias stands for where nothing defines it.
    fn fallback(&mut self, alias: &Alias) -> Option<Vec<u8>> {
        let id = symbol_behind_casts(self.module, alias.target)?;
        let object = object_of(self.module, id)?;
        let function = match base_object(self.module, object) {
            Some(Object::Function(function)) => Some(function),
            _ => None,
        };
        let mut name = Vec::new();
        if object.symbol().dll_storage == 1 {
            name.extend_from_slice(b"__imp_");
        }
        name.append(&mut self.mangler.name(object.symbol(), function));
        Some(name)
    }

    /// Appends the options by which COFF's linkers export a symbol.
    fn linker_flags(&mut self, object: Object<'i>, function: Option<&Function>) {
        let symbol = object.symbol();
        let is_declaration = match object {
            Object::Function(function) => function.declaration,
            Object::Variable(variable) => variable.initializer.is_none(),
            Object::Alias(_) => false,
        };
        if is_declaration {
            return;
        }
        let is_gnu = self.triple.environment == Environment::Gnu;
        let is_msvc = self.triple.environment == Environment::Msvc;
        let is_function = self.module.types.is_function(symbol.ty);
        if symbol.dll_storage == 2 {
            self.linker_flag(if is_msvc { b" /EXPORT:" } else { b" -export:" }, symbol, function, is_gnu);
            if !is_function {
                self.linker_options.extend_from_slice(if is_msvc { b",DATA" } else { b",data" });
            }
        }
        if self.version == Version::Llvm19 && symbol.visibility == 1 && is_gnu {
            self.linker_flag(b" -exclude-symbols:", symbol, function, true);
        }
    }

    fn linker_flag(
        &mut self,
        option: &[u8],
        symbol: &Symbol,
        function: Option<&Function>,
        strips_prefix: bool,
    ) {
        self.linker_options.extend_from_slice(option);
        let is_plain = |byte: &u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'@')
                || *byte == b'#' && self.version == Version::Llvm19
        };
        let quotes = !symbol.name.iter().all(is_plain);
        let name = self.mangler.name(symbol, function);
        let prefix = self.mangler.prefix().filter(|_| strips_prefix);
        let name = match name.split_first() {
            Some((first, rest)) if prefix == Some(*first) => rest,
            _ => &name,
        };
        self.linker_options.extend(quotes.then_some(b'"'));
        self.linker_options.extend_from_slice(name);
        self.linker_options.extend(quotes.then_some(b'"'));
    }
}

/// Returns the symbol that a value is.
fn object_of<'m>(module: &'m Module<'_>, id: ValueId) -> Option<Object<'m>> {
    match module.value(None, id)?.kind {
        ValueKind::Function(index) => module.functions.get(index as usize).map(Object::Function),
        ValueKind::Global(index) => module.globals.get(index as usize).map(Object::Variable),
        ValueKind::Alias(index) => module.aliases.get(index as usize).map(Object::Alias),
        _ => None,
    }
}

/// Returns the symbol of a name.
fn named<'m>(module: &'m Module<'_>, name: &[u8]) -> Option<Object<'m>> {
    let functions = module.functions.iter().map(Object::Function);
    let others = module.globals.iter().map(Object::Variable).chain(module.aliases.iter().map(Object::Alias));
    functions.chain(others).find(|object| object.symbol().name == name)
}

/// Returns the symbol that a constant is, through casts and zero offsets.
fn symbol_behind_casts(module: &Module<'_>, mut id: ValueId) -> Option<ValueId> {
    for _ in 0..MAX_STEPS {
        if object_of(module, id).is_some() {
            return Some(id);
        }
        let (Constant::Expression(index), constants) = module.constant(None, id)? else { return None };
        let expression = constants.expression(index)?;
        let (&first, indices) = constants.values(expression.operands).split_first()?;
        let keeps_address = match expression.opcode {
            Opcode::BitCast | Opcode::AddrSpaceCast => true,
            Opcode::GetElementPtr => indices.iter().all(|&index| module.integer(None, index) == Some(0)),
            _ => false,
        };
        if !keeps_address {
            return None;
        }
        id = first;
    }
    None
}

/// Returns the function or variable that a symbol is, or is another name of; ifuncs are their own.
pub(crate) fn base_object<'m>(module: &'m Module<'_>, object: Object<'m>) -> Option<Object<'m>> {
    match object {
        Object::Alias(alias) if !alias.indirect => {
            base_of_value(module, alias.target, &mut MAX_STEPS.clone())
        }
        _ => Some(object),
    }
}

/// Returns the function or variable that an alias is another name of.
pub(super) fn aliasee<'m>(module: &'m Module<'_>, alias: &'m Alias) -> Option<&'m Symbol> {
    base_object(module, Object::Alias(alias)).map(Object::symbol)
}

fn base_of_value<'m>(module: &'m Module<'_>, mut id: ValueId, steps: &mut usize) -> Option<Object<'m>> {
    loop {
        *steps = steps.checked_sub(1)?;
        match object_of(module, id) {
            Some(Object::Alias(alias)) if !alias.indirect => {
                id = alias.target;
                continue;
            }
            Some(object) => return Some(object),
            None => {}
        }
        let (Constant::Expression(index), constants) = module.constant(None, id)? else { return None };
        let expression = constants.expression(index)?;
        let operands = constants.values(expression.operands);
        let (&first, second) = (operands.first()?, operands.get(1).copied());
        id = match expression.opcode {
            Opcode::IntToPtr | Opcode::PtrToInt | Opcode::BitCast | Opcode::GetElementPtr => first,
            // An object that is subtracted leaves a difference.
            Opcode::Sub if base_of_value(module, second?, steps).is_some() => return None,
            Opcode::Sub => first,
            Opcode::Add => match base_of_value(module, second?, steps) {
                Some(object) => return base_of_value(module, first, steps).is_none().then_some(object),
                None => first,
            },
            _ => return None,
        };
    }
}
