//! The tables of a module: types, attributes, comdats, symbols.

use super::number;
use super::source::Scope;
use super::stream::{Layout, Shape, bits_for, element_for, is_char6, sign_extended_32, sign_extended_64};
use super::{Version, Writer, unsupported};
use crate::attribute_names::rank;
use crate::attributes::Attribute;
use crate::bitstream::Scalar::{Char6, Fixed, Literal, Variable};
use crate::bitstream::Tail;
use crate::blocks;
use crate::global::{Function, GlobalVariable, Linkage, Symbol};
use crate::ids::{AttributeSetId, TypeId, ValueId, rotate};
use crate::module::code;
use crate::types::{StructType, Type, code as type_code};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The abbreviations of the type table.
struct TypeLayouts {
    pointer: Option<Layout>,
    opaque_pointer: Option<Layout>,
    function: Layout,
    literal_struct: Layout,
    name: Layout,
    identified_struct: Layout,
    array: Layout,
}

impl Writer<'_, '_> {
    /// Writes the type table.
    pub(super) fn type_table(&mut self) -> Result<()> {
        let list = self.numbering.type_list().to_vec();
        self.stream.enter(blocks::TYPE_NEW, 4, 0);
        let layouts = self.type_layouts(list.len());
        self.stream.record(type_code::NUMENTRY, &[list.len() as u64]);
        let mut operands = Vec::new();
        for ty in list {
            operands.clear();
            self.type_record(ty, &layouts, &mut operands)?;
        }
        self.stream.leave()
    }

    fn type_layouts(&mut self, count: usize) -> TypeLayouts {
        let ty = Fixed(bits_for(count + 1));
        let typed = self.version.has_typed_pointers();
        let has_opaque = self.version != Version::Dxc;
        let stream = &mut self.stream;
        let code = |code: u32| Literal(code.into());
        TypeLayouts {
            pointer: typed
                .then(|| stream.define(&Shape(&[code(type_code::POINTER), ty, Literal(0)], Tail::None))),
            opaque_pointer: has_opaque
                .then(|| stream.define(&Shape(&[code(type_code::OPAQUE_POINTER), Literal(0)], Tail::None))),
            function: stream.define(&Shape(&[code(type_code::FUNCTION), Fixed(1)], Tail::Array(ty))),
            literal_struct: stream.define(&Shape(&[code(type_code::STRUCT_ANON), Fixed(1)], Tail::Array(ty))),
            name: stream.define(&Shape(&[code(type_code::STRUCT_NAME)], Tail::Array(Char6))),
            identified_struct: stream
                .define(&Shape(&[code(type_code::STRUCT_NAMED), Fixed(1)], Tail::Array(ty))),
            array: stream.define(&Shape(&[code(type_code::ARRAY), Variable(8), ty], Tail::None)),
        }
    }
}

impl Writer<'_, '_> {
    fn type_record(&mut self, ty: TypeId, layouts: &TypeLayouts, operands: &mut Vec<u64>) -> Result<()> {
        let types = &self.numbering.source.types;
        let number = |ty: TypeId| self.numbering.ty(ty);
        let ty = types.get(ty);
        let (code, layout) = match ty {
            Type::Integer(width) => {
                operands.push(width.into());
                (type_code::INTEGER, None)
            }
            Type::Pointer { pointee, address_space } => {
                if !self.version.has_typed_pointers() {
                    return Err(unsupported("typed pointers can't be written in the form of this version"));
                }
                operands.extend([number(pointee)?, address_space.into()]);
                (type_code::POINTER, layouts.pointer.as_ref().filter(|_| address_space == 0))
            }
            Type::OpaquePointer { address_space } => {
                if self.version == Version::Dxc {
                    return Err(unsupported("opaque pointers can't be written in the form of this version"));
                }
                operands.push(address_space.into());
                (type_code::OPAQUE_POINTER, layouts.opaque_pointer.as_ref().filter(|_| address_space == 0))
            }
            Type::Function { result, parameters, variadic } => {
                operands.extend([variadic.into(), number(result)?]);
                for &parameter in types.elements(parameters) {
                    operands.push(number(parameter)?);
                }
                (type_code::FUNCTION, Some(&layouts.function))
            }
            Type::Struct(StructType { fields, packed, literal, opaque, name }) => {
                operands.push(packed.into());
                for &field in types.elements(fields) {
                    operands.push(number(field)?);
                }
                let (code, layout) = match (literal, opaque) {
                    (true, _) => (type_code::STRUCT_ANON, Some(&layouts.literal_struct)),
                    (false, true) => (type_code::OPAQUE, None),
                    (false, false) => (type_code::STRUCT_NAMED, Some(&layouts.identified_struct)),
                };
                let name =
                    name.map(|name| types.name(name).to_vec()).filter(|name| !literal && !name.is_empty());
                if let Some(name) = name {
                    self.type_name(&name, &layouts.name);
                }
                (code, layout)
            }
            Type::Array { count, element } => {
                operands.extend([count, number(element)?]);
                (type_code::ARRAY, Some(&layouts.array))
            }
            Type::Vector { count, element, scalable } => {
                operands.extend([count.into(), number(element)?]);
                operands.extend(scalable.then_some(1));
                (type_code::VECTOR, None)
            }
            Type::Target { name, types: parameters, numbers } => {
                if self.version.has_typed_pointers() {
                    return Err(unsupported("target types can't be written in the form of this version"));
                }
                let parameters = types.elements(parameters);
                operands.push(parameters.len() as u64);
                for &parameter in parameters {
                    operands.push(number(parameter)?);
                }
                operands.extend(types.numbers(numbers).iter().map(|&number| u64::from(number)));
                let name = types.name(name).to_vec();
                self.type_name(&name, &layouts.name);
                (type_code::TARGET_TYPE, None)
            }
            simple => match simple.simple_code() {
                Some(code) => (code, None),
                None => {
                    return Err(Error::without_offset(
                        ErrorKind::BadValue,
                        "a type that could not be read is used",
                    ));
                }
            },
        };
        self.stream.record_as(layout, code, operands);
        Ok(())
    }

    fn type_name(&mut self, name: &[u8], layout: &Layout) {
        let characters: Vec<u64> = name.iter().map(|&byte| u64::from(sign_extended_32(byte))).collect();
        let layout = name.iter().all(|&byte| is_char6(byte)).then_some(layout);
        self.stream.record_as(layout, type_code::STRUCT_NAME, &characters);
    }

    /// Writes the groups of attributes.
    pub(super) fn attribute_groups(&mut self) -> Result<()> {
        let groups = core::mem::take(&mut self.numbering.attributes.groups);
        if groups.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::PARAMATTR_GROUP, 3, 0);
        for (number, &(index, set)) in (1u64..).zip(&groups) {
            let mut record = alloc::vec![number, index.into()];
            self.attributes_of(set, &mut record)?;
            self.stream.record(3, &record);
        }
        self.stream.leave()
    }

    /// Appends the attributes of a set in LLVM's order: by kind, then texts by name.
    fn attributes_of(&self, set: AttributeSetId, record: &mut Vec<u64>) -> Result<()> {
        let attributes = &self.numbering.source.module.attributes;
        let order = self.version.attribute_order();
        let key = |attribute: &&Attribute| match **attribute {
            Attribute::Text { name, value } => (true, 0, attributes.text(name), attributes.text(value)),
            // LLVM 3.7 puts attributes with numbers after others, by their numbers.
            Attribute::Integer(_, value) if self.version == Version::Dxc => {
                (false, u64::from(u8::MAX).saturating_add(value), &[][..], &[][..])
            }
            _ => {
                let rank = attribute.kind().map_or(0, |kind| rank(kind, order));
                (false, u64::from(rank), &[][..], &[][..])
            }
        };
        let mut sorted: Vec<&Attribute> = attributes.set(set).iter().collect();
        sorted.sort_by_key(key);
        for attribute in sorted {
            if attribute.kind().is_some_and(|kind| rank(kind, order) == u8::MAX) {
                return Err(unsupported(
                    "an attribute can't be written, because this version does not have it",
                ));
            }
            if has_newer_value(attribute) {
                return Err(unsupported(
                    "value of an attribute can't be written in the form of this version",
                ));
            }
            self.attribute(attribute, record)?;
        }
        Ok(())
    }

    fn attribute(&self, attribute: &Attribute, record: &mut Vec<u64>) -> Result<()> {
        let attributes = &self.numbering.source.module.attributes;
        match *attribute {
            Attribute::Flag(kind) => record.extend([0, kind.into()]),
            Attribute::Integer(kind, value) => record.extend([1, kind.into(), value]),
            // Before LLVM 9 attributes had no type.
            Attribute::Type(kind, None) if self.version == Version::Dxc => record.extend([0, kind.into()]),
            Attribute::Type(_, Some(_)) if self.version == Version::Dxc => {
                return Err(unsupported(
                    "the type of an attribute can't be written in the form of this version",
                ));
            }
            Attribute::Type(kind, None) => record.extend([5, kind.into()]),
            Attribute::Type(kind, Some(ty)) => record.extend([6, kind.into(), self.numbering.ty(ty)?]),
            Attribute::Text { name, value } => {
                let (name, value) = (attributes.text(name), attributes.text(value));
                if name.contains(&0) || value.contains(&0) {
                    let message = "an attribute has a zero in its text";
                    return Err(Error::without_offset(ErrorKind::BadValue, message));
                }
                record.push(if value.is_empty() { 3 } else { 4 });
                for text in [name, value].into_iter().take(if value.is_empty() { 1 } else { 2 }) {
                    record.extend(text.iter().map(|&byte| sign_extended_64(byte)));
                    record.push(0);
                }
            }
            Attribute::Ranges { kind, width, bounds } => {
                let bounds = attributes.words(bounds);
                let words = width.div_ceil(64).max(1) as usize;
                let count = bounds.len() / words / 2;
                // `range` has one range, `initializes` a list of them.
                if count != 1 || crate::attribute_names::name(kind) == Some("initializes") {
                    record.extend([8, kind.into(), count as u64, width.into()]);
                } else {
                    record.extend([7, kind.into(), width.into()]);
                }
                for pair in bounds.chunks_exact(words * 2) {
                    range(pair, words, record);
                }
            }
        }
        Ok(())
    }

    /// Writes the lists of attribute groups.
    pub(super) fn attribute_lists(&mut self) -> Result<()> {
        let lists = &self.numbering.attributes.lists;
        if lists.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::PARAMATTR, 3, 0);
        for list in lists {
            self.stream.record(2, list);
        }
        self.stream.leave()
    }
}

/// Returns whether the value of an attribute has parts that LLVM 19 does not know. `memory` has two bits for each of
/// three locations there; later versions have further locations, and count other memory as another one.
fn has_newer_value(attribute: &Attribute) -> bool {
    const LOCATIONS: u32 = 3;
    match *attribute {
        Attribute::Integer(kind, value) => {
            crate::attribute_names::name(kind) == Some("memory") && value >> (2 * LOCATIONS) != 0
        }
        _ => false,
    }
}

/// Appends the bounds of a range, each of as many words.
fn range(pair: &[u64], words: usize, record: &mut Vec<u64>) {
    if words == 1 {
        record.extend(pair.iter().map(|&word| rotate(word)));
        return;
    }
    let (lower, upper) = pair.split_at(words.min(pair.len()));
    let (lower, upper) = (active(lower), active(upper));
    record.push(lower.len() as u64 | (upper.len() as u64) << 32);
    record.extend(lower.iter().chain(upper).map(|&word| rotate(word)));
}

/// Returns the words of a wide integer without zeros at the end, but at least one.
pub(super) fn active(words: &[u64]) -> &[u64] {
    let count = words.iter().rposition(|&word| word != 0).map_or(1, |last| last + 1);
    words.get(..count).unwrap_or(words)
}

/// The names of sections or garbage collectors, with the numbers that symbols refer to them by.
#[derive(Default)]
pub(super) struct NameNumbers<'m>(BTreeMap<&'m [u8], u64>);

impl<'m> NameNumbers<'m> {
    /// Returns whether a name is new.
    fn add(&mut self, name: &'m [u8]) -> bool {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(name).or_insert(next) == next
    }

    /// Returns how many names there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of a name, 0 if it is empty.
    pub(super) fn get(&self, name: &[u8]) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

impl<'i> Writer<'i, '_> {
    /// Writes the comdats.
    pub(super) fn comdats(&mut self) {
        for &(name, selection) in &self.numbering.comdats {
            let offset = self.strings.add(name);
            self.stream.record(code::COMDAT, &[offset.into(), name.len() as u64, selection]);
        }
    }

    /// Writes what the module says of itself, and its symbols. Returns where the position of the symbol table has to
    /// be set.
    pub(super) fn module_info(&mut self) -> Result<usize> {
        let module = self.numbering.source.module;
        self.module_texts();
        let (sections, collectors) = self.section_names();
        let layout = self.global_layout(sections.len())?;
        if let Some(source_file) = &module.source_filename {
            let element = element_for(source_file);
            let file =
                self.stream.define(&Shape(&[Literal(code::SOURCE_FILENAME.into())], Tail::Array(element)));
            let characters: Vec<u64> = source_file.iter().map(|&byte| byte.into()).collect();
            self.stream.record_as(Some(&file), code::SOURCE_FILENAME, &characters);
        }
        for global in &module.globals {
            self.global(global, layout.as_ref(), &sections)?;
        }
        for (at, function) in module.functions.iter().enumerate() {
            self.function_symbol(at, function, &sections, &collectors)?;
        }
        for indirect in [false, true] {
            for alias in module.aliases.iter().filter(|alias| alias.indirect == indirect) {
                self.alias(&alias.symbol, alias.target, indirect)?;
            }
        }
        let offset = self.stream.define(&Shape(&[Literal(code::VSTOFFSET.into()), Fixed(32)], Tail::None));
        self.stream.record_as(Some(&offset), code::VSTOFFSET, &[0]);
        Ok(self.stream.position() - 32)
    }

    /// Writes the triple, the data layout and the assembly of the module.
    pub(super) fn module_texts(&mut self) {
        let module = self.numbering.source.module;
        for (code, text) in [
            (code::TRIPLE, &module.triple),
            (code::DATALAYOUT, &module.data_layout_text),
            (code::ASM, &module.assembly),
        ] {
            if !text.is_empty() {
                self.stream.signed_text(code, text);
            }
        }
    }

    /// Writes the names of sections and garbage collectors, and returns their numbers.
    pub(super) fn section_names<'n>(&mut self) -> (NameNumbers<'n>, NameNumbers<'n>)
    where
        'i: 'n,
    {
        let module = self.numbering.source.module;
        let (mut sections, mut collectors) = (NameNumbers::default(), NameNumbers::default());
        for global in &module.globals {
            self.add_name(code::SECTIONNAME, &mut sections, &global.symbol.section);
        }
        for function in &module.functions {
            self.add_name(code::SECTIONNAME, &mut sections, &function.symbol.section);
            self.add_name(code::GCNAME, &mut collectors, &function.collector);
        }
        (sections, collectors)
    }

    fn add_name<'m>(&mut self, code: u32, names: &mut NameNumbers<'m>, name: &'m [u8]) {
        if !name.is_empty() && names.add(name) {
            self.stream.signed_text(code, name);
        }
    }

    /// Defines the abbreviation of simple global variables.
    fn global_layout(&mut self, sections: usize) -> Result<Option<Layout>> {
        let Some((alignment, last_type)) = self.largest_of_globals()? else { return Ok(None) };
        let width = |count: usize| if count == 1 { Literal(0) } else { Fixed(bits_for(count)) };
        let scalars = [
            Literal(code::GLOBALVAR.into()),
            Variable(8),
            Variable(8),
            Fixed(bits_for(last_type + 1)),
            Variable(6),
            Variable(6),
            Fixed(5),
            width(alignment + 1),
            width(sections + 1),
        ];
        Ok(Some(self.stream.define(&Shape(&scalars, Tail::None))))
    }

    /// Returns the largest alignment and the largest number of a type that the abbreviation of variables has to hold;
    /// `None` if there are no variables.
    pub(super) fn largest_of_globals(&self) -> Result<Option<(usize, usize)>> {
        let module = self.numbering.source.module;
        if module.globals.is_empty() {
            return Ok(None);
        }
        let symbols = module.globals.iter().map(|global| &global.symbol);
        let functions = module.functions.iter().map(|function| &function.symbol);
        let alignment = symbols.clone().chain(functions).map(|symbol| symbol.alignment).max().unwrap_or(0);
        let mut last_type = 0;
        for symbol in symbols {
            last_type = last_type.max(self.numbering.ty(symbol.ty)?);
        }
        Ok(Some((usize::from(alignment), last_type as usize)))
    }

    fn global(
        &mut self,
        global: &GlobalVariable,
        layout: Option<&Layout>,
        sections: &NameNumbers<'_>,
    ) -> Result<()> {
        let symbol = &global.symbol;
        let initializer = self.optional_value(global.initializer)?;
        let mut record = self.named(symbol);
        record.extend([
            self.numbering.ty(symbol.ty)?,
            u64::from(symbol.address_space) << 2 | 2 | u64::from(global.constant),
            initializer,
            linkage(symbol.linkage),
            symbol.alignment.into(),
            sections.get(&symbol.section),
        ]);
        let attributes = global.attributes.map_or(0, |set| self.numbering.attributes.list_of_set(set));
        let comdat = self.comdat(symbol)?;
        let common = [symbol.visibility, symbol.thread_local, symbol.unnamed_address, symbol.dll_storage];
        let of_19 = [global.sanitizer, global.code_model];
        if self.version == Version::Llvm14 && of_19 != [0, 0] {
            return Err(unsupported(
                "sanitizer bits and code models can't be written in the form of this version",
            ));
        }
        let is_simple = common == [0; 4]
            && !global.externally_initialized
            && comdat == 0
            && attributes == 0
            && !symbol.dso_local
            && symbol.partition.is_empty()
            && of_19 == [0, 0];
        if is_simple {
            self.stream.record_as(layout, code::GLOBALVAR, &record);
            return Ok(());
        }
        record.extend([
            symbol.visibility.into(),
            symbol.thread_local.into(),
            symbol.unnamed_address.into(),
            global.externally_initialized.into(),
            symbol.dll_storage.into(),
            comdat,
            attributes,
            symbol.dso_local.into(),
        ]);
        self.partition(symbol, &mut record);
        if self.version == Version::Llvm19 {
            record.extend(of_19);
        }
        self.stream.record(code::GLOBALVAR, &record);
        Ok(())
    }

    fn function_symbol(
        &mut self,
        at: usize,
        function: &Function,
        sections: &NameNumbers<'_>,
        collectors: &NameNumbers<'_>,
    ) -> Result<()> {
        let symbol = &function.symbol;
        // Old files name the personality in the body.
        let source = &self.numbering.source;
        let of_body = source.body_of(at).and_then(|scope| source.body(scope)?.personality);
        let mut record = self.named(symbol);
        record.extend([
            self.numbering.ty(symbol.ty)?,
            function.calling_convention.into(),
            function.declaration.into(),
            linkage(symbol.linkage),
            self.numbering.attributes.list(function.attributes),
            symbol.alignment.into(),
            sections.get(&symbol.section),
            symbol.visibility.into(),
            collectors.get(&function.collector),
            symbol.unnamed_address.into(),
            self.optional_value(function.prologue)?,
            symbol.dll_storage.into(),
            self.comdat(symbol)?,
            self.optional_value(function.prefix)?,
            self.optional_value(function.personality.or(of_body))?,
            symbol.dso_local.into(),
            symbol.address_space.into(),
        ]);
        self.partition(symbol, &mut record);
        self.stream.record(code::FUNCTION, &record);
        Ok(())
    }

    fn alias(&mut self, symbol: &Symbol, target: ValueId, indirect: bool) -> Result<()> {
        let mut record = self.named(symbol);
        record.extend([
            self.numbering.ty(symbol.ty)?,
            symbol.address_space.into(),
            self.numbering.value(Scope::MODULE, target)?.into(),
            linkage(symbol.linkage),
            symbol.visibility.into(),
        ]);
        if !indirect {
            record.extend([symbol.dll_storage, symbol.thread_local, symbol.unnamed_address].map(u64::from));
        }
        record.push(symbol.dso_local.into());
        self.partition(symbol, &mut record);
        self.stream.record(if indirect { code::IFUNC } else { code::ALIAS }, &record);
        Ok(())
    }

    /// Begins a record with the place of a symbol's name.
    fn named(&mut self, symbol: &Symbol) -> Vec<u64> {
        alloc::vec![self.strings.add(&symbol.name).into(), symbol.name.len() as u64]
    }

    fn partition(&mut self, symbol: &Symbol, record: &mut Vec<u64>) {
        record.extend([self.strings.add(&symbol.partition).into(), symbol.partition.len() as u64]);
    }

    /// Returns the number of a value plus one, 0 for none.
    pub(super) fn optional_value(&self, value: Option<ValueId>) -> Result<u64> {
        value.map_or(Ok(0), |id| Ok(u64::from(self.numbering.value(Scope::MODULE, id)?) + 1))
    }

    /// Returns the number of a symbol's comdat, 0 for none.
    pub(super) fn comdat(&self, symbol: &Symbol) -> Result<u64> {
        let comdat = number::comdat(self.numbering.source.module, symbol)?;
        let number = comdat.and_then(|(name, _)| self.numbering.comdat_numbers.get(name));
        Ok(number.copied().unwrap_or(0))
    }
}

/// Encodes a linkage.
pub(super) fn linkage(linkage: Linkage) -> u64 {
    match linkage {
        Linkage::External => 0,
        Linkage::WeakAny => 16,
        Linkage::Appending => 2,
        Linkage::Internal => 3,
        Linkage::LinkOnceAny => 18,
        Linkage::ExternalWeak => 7,
        Linkage::Common => 8,
        Linkage::Private => 9,
        Linkage::WeakOdr => 17,
        Linkage::LinkOnceOdr => 19,
        Linkage::AvailableExternally => 12,
    }
}
