//! The linked module: types, constants, attributes and symbols, moved from the inputs when they are met.

use super::{LinkInput, LinkRules, Linker, Reach, SymbolId, objects};
use crate::attributes::Attribute;
use crate::body::FunctionBody;
use crate::build::{BuiltModule, Version};
use crate::constants::{NewConstant, NewExpression};
use crate::global::{Alias, Comdat, Function, GlobalVariable, Linkage, Symbol};
use crate::ids::{AttributeListId, AttributeSetId, MetadataId, TypeId, ValueId, narrow};
use crate::module::Module;
use crate::rules::{self, ConstantIndex};
use crate::types::Type;
use crate::value::{Value, ValueKind};
use crate::write::fixed_names;
use crate::write::symbols::Object;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Escaped, Result};

/// Maximum nesting of types and constants.
pub(super) const MAX_DEPTH: u32 = 256;

/// Moves what is reached into one module.
pub(super) struct Mover<'l, 'm, 'a> {
    pub(super) linker: &'l Linker<'m, 'a>,
    pub(super) reach: &'l Reach,
    pub(super) rules: &'l LinkRules<'l>,
    pub(super) module: Module<'static>,
    pub(super) version: Version,
    pub(super) constants: ConstantIndex,
    types: BTreeMap<(usize, TypeId), TypeId>,
    /// The structs of each name, with where they come from.
    structs: BTreeMap<Vec<u8>, Vec<(usize, TypeId, TypeId)>>,
    values: BTreeMap<(usize, ValueId), ValueId>,
    /// The linked symbol of each definition and declaration.
    symbols: BTreeMap<SymbolId, ValueId>,
    sets: BTreeMap<(usize, AttributeSetId), AttributeSetId>,
    lists: BTreeMap<(usize, AttributeListId), AttributeListId>,
    pub(super) metadata: BTreeMap<(usize, MetadataId), MetadataId>,
    /// Metadata strings and values, which are one for all inputs.
    pub(super) strings: BTreeMap<Vec<u8>, MetadataId>,
    pub(super) metadata_values: BTreeMap<ValueId, MetadataId>,
    pub(super) kinds: BTreeMap<(usize, u32), u32>,
    depth: u32,
}

#[cold]
pub(super) fn refused<T>(message: impl Into<alloc::borrow::Cow<'static, str>>) -> Result<T> {
    Err(Error::without_offset(ErrorKind::Unsupported, message))
}

/// Makes one module of what is reached.
pub(super) fn link(linker: &Linker<'_, '_>, reach: &Reach, rules: &LinkRules<'_>) -> Result<BuiltModule> {
    let mut inputs: Vec<usize> = reach.inputs().into_iter().collect();
    inputs.sort_by_key(|&at| rules.first != Some(at));
    let Some(first) = inputs.first().and_then(|&at| linker.inputs.get(at)) else {
        return refused("nothing is reached, so there is nothing to link");
    };
    let is_opaque = |input: &LinkInput<'_, '_>| {
        let types = &input.module.types;
        (0..types.len()).any(|at| types.is_opaque_pointer(TypeId(narrow(at as u64))))
    };
    let version = if is_opaque(first) { Version::Llvm19 } else { Version::Llvm14 };
    let mut module = Module::default();
    module.version = 2;
    for (kind, name) in (0u32..).zip(fixed_names::kinds(version)) {
        module.metadata_kinds.push((kind, name.as_bytes().into()));
    }
    module.bundle_tags = fixed_names::tags(version).iter().map(|tag| tag.as_bytes().into()).collect();
    module.sync_scopes = fixed_names::SCOPES.iter().map(|name| name.as_bytes().to_vec()).collect();
    module.triple.clone_from(&first.module.triple);
    module.data_layout_text.clone_from(&first.module.data_layout_text);
    module.data_layout = first.module.data_layout.clone();
    module.source_filename = match rules.source_filename {
        Some(name) => Some(name.to_vec()),
        None => first.module.source_filename.clone(),
    };
    let mut mover = Mover {
        linker,
        reach,
        rules,
        module,
        version,
        constants: ConstantIndex::default(),
        types: BTreeMap::new(),
        structs: BTreeMap::new(),
        values: BTreeMap::new(),
        symbols: BTreeMap::new(),
        sets: BTreeMap::new(),
        lists: BTreeMap::new(),
        metadata: BTreeMap::new(),
        strings: BTreeMap::new(),
        metadata_values: BTreeMap::new(),
        kinds: BTreeMap::new(),
        depth: 0,
    };
    for &at in &inputs {
        let Some(input) = linker.inputs.get(at) else { continue };
        mover.check_input(input, first.module, is_opaque(input))?;
    }
    mover.declare_symbols(&inputs)?;
    mover.fill_symbols(&inputs)?;
    mover.lists_of_symbols(&inputs)?;
    let mut bodies = Vec::new();
    for &at in &inputs {
        mover.bodies(at, &mut bodies)?;
    }
    mover.named_metadata(&inputs)?;
    bodies.sort_by_key(|body: &FunctionBody| body.function);
    Ok(BuiltModule::new(mover.module, bodies, version))
}

impl<'l, 'm, 'a> Mover<'l, 'm, 'a> {
    pub(super) fn input(&self, at: usize) -> Result<LinkInput<'m, 'a>> {
        match self.linker.inputs.get(at) {
            Some(input) => Ok(*input),
            None => refused("module that does not exist"),
        }
    }

    fn check_input(&mut self, input: &LinkInput<'_, '_>, first: &Module<'_>, is_opaque: bool) -> Result<()> {
        let module = input.module;
        if module.data_layout_text != first.data_layout_text {
            return refused("modules with different data layouts can't be linked");
        }
        if is_opaque != (self.version == Version::Llvm19) && !module.types.is_empty() {
            return refused("modules with and without pointee types can't be linked");
        }
        if module.diagnostics.has_errors() {
            return refused("module has parts that can't be read; `unshade verify` names them");
        }
        if !module.assembly.is_empty() {
            return refused("modules with assembly can't be linked");
        }
        if input.bodies.iter().any(|body| !body.debug_records.is_empty()) {
            return refused("debug records of LLVM 19 can't be linked");
        }
        if input.bodies.iter().any(|body| !body.unnumbered.is_empty() || body.diagnostics.has_errors()) {
            return refused(
                "module has functions of a form that can't be linked; `unshade verify` names them",
            );
        }
        Ok(())
    }

    /// Adds all symbols that are reached, without what they contain.
    fn declare_symbols(&mut self, inputs: &[usize]) -> Result<()> {
        let mut names = BTreeSet::new();
        let shared = self.reach.definitions.iter().filter_map(|id| self.linker.object(*id));
        let shared = shared.map(Object::symbol).filter(|symbol| !symbol.linkage.is_local());
        names.extend(shared.map(|symbol| symbol.name.clone()));
        names.extend(self.reach.declarations.keys().cloned());
        for &input in inputs {
            for object in objects(self.input(input)?.module) {
                let id = SymbolId { input, value: object.symbol().value };
                let is_definition = self.reach.definitions.contains(&id);
                let is_declaration = self.reach.declarations.get(&object.symbol().name) == Some(&id);
                let is_left_out = self.rules.left_out.contains(&object.symbol().name.as_slice());
                if !is_definition && !is_declaration || is_left_out {
                    continue;
                }
                let mut name = object.symbol().name.clone();
                if object.symbol().linkage.is_local() && !name.is_empty() && !names.insert(name.clone()) {
                    let stem = name.clone();
                    let mut number = 1u32;
                    while !names.insert(name.clone()) {
                        name = [&stem[..], b".", format!("{number}").as_bytes()].concat();
                        number = number.saturating_add(1);
                    }
                }
                self.declare(id, object, name, is_definition)?;
            }
        }
        Ok(())
    }

    fn declare(
        &mut self,
        id: SymbolId,
        object: Object<'m>,
        name: Vec<u8>,
        is_definition: bool,
    ) -> Result<()> {
        let from = object.symbol();
        let pointer = match self.input(id.input)?.module.values.get(from.value.index()) {
            Some(value) => self.ty(id.input, value.ty)?,
            None => return refused("symbol without a value"),
        };
        let value = ValueId(narrow(self.module.values.len() as u64));
        let attachments = Vec::new();
        let mut symbol = Symbol { name, ty: self.ty(id.input, from.ty)?, value, attachments, ..from.clone() };
        symbol.comdat = match (is_definition, from.comdat) {
            (true, Some(comdat)) => self.comdat(id.input, comdat)?,
            _ => None,
        };
        if !is_definition && symbol.linkage == Linkage::AvailableExternally {
            symbol.linkage = Linkage::External;
        }
        if is_definition
            && !symbol.linkage.is_local()
            && self.rules.exported.is_some_and(|exported| !exported.contains(&symbol.name.as_slice()))
        {
            symbol.linkage = Linkage::Internal;
            symbol.visibility = 0;
            symbol.comdat = None;
            symbol.dso_local = from.dso_local;
        }
        let kind = match object {
            Object::Function(function) => {
                let at = narrow(self.module.functions.len() as u64);
                let attributes = self.attribute_list(id.input, function.attributes)?;
                let mut to = Function::new(symbol);
                to.calling_convention = function.calling_convention;
                to.declaration = !is_definition;
                to.attributes = attributes;
                to.collector.clone_from(&function.collector);
                self.module.functions.push(to);
                ValueKind::Function(at)
            }
            Object::Variable(variable) => {
                let at = narrow(self.module.globals.len() as u64);
                let attributes = match variable.attributes {
                    Some(set) => Some(self.attribute_set(id.input, set)?),
                    None => None,
                };
                self.module.globals.push(GlobalVariable {
                    symbol,
                    initializer: None,
                    attributes,
                    ..variable.clone()
                });
                ValueKind::Global(at)
            }
            Object::Alias(alias) => {
                let at = narrow(self.module.aliases.len() as u64);
                self.module.aliases.push(Alias { symbol, indirect: alias.indirect, target: value });
                ValueKind::Alias(at)
            }
        };
        self.module.values.push(Value { kind, ty: pointer });
        self.symbols.insert(id, value);
        Ok(())
    }

    fn comdat(&mut self, input: usize, comdat: u32) -> Result<Option<u32>> {
        let Some(from) = self.input(input)?.module.comdats.get(comdat as usize) else { return Ok(None) };
        let known = self.module.comdats.iter().position(|known| known.name == from.name);
        let at = known.unwrap_or_else(|| {
            self.module.comdats.push(Comdat { name: from.name.clone(), selection: from.selection });
            self.module.comdats.len().saturating_sub(1)
        });
        Ok(Some(narrow(at as u64)))
    }

    /// Sets what definitions contain outside of bodies.
    fn fill_symbols(&mut self, inputs: &[usize]) -> Result<()> {
        for &input in inputs {
            for object in objects(self.input(input)?.module) {
                let id = SymbolId { input, value: object.symbol().value };
                let Some(&value) = self.symbols.get(&id) else { continue };
                let kind = self.module.values.get(value.index()).map(|value| value.kind);
                let attachments = self.attachments(input, &object.symbol().attachments)?;
                if !self.reach.definitions.contains(&id) {
                    continue;
                }
                match (object, kind) {
                    (Object::Variable(variable), Some(ValueKind::Global(at))) => {
                        let initializer = self.optional_value(input, variable.initializer)?;
                        if let Some(to) = self.module.globals.get_mut(at as usize) {
                            to.initializer = initializer;
                            to.symbol.attachments = attachments;
                        }
                    }
                    (Object::Function(function), Some(ValueKind::Function(at))) => {
                        let personality = self.optional_value(input, function.personality)?;
                        let prefix = self.optional_value(input, function.prefix)?;
                        let prologue = self.optional_value(input, function.prologue)?;
                        if let Some(to) = self.module.functions.get_mut(at as usize) {
                            (to.personality, to.prefix, to.prologue) = (personality, prefix, prologue);
                            to.symbol.attachments = attachments;
                        }
                    }
                    (Object::Alias(alias), Some(ValueKind::Alias(at))) => {
                        let target = self.value(input, alias.target)?;
                        if let Some(to) = self.module.aliases.get_mut(at as usize) {
                            to.target = target;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn optional_value(&mut self, input: usize, value: Option<ValueId>) -> Result<Option<ValueId>> {
        value.map(|value| self.value(input, value)).transpose()
    }

    /// Returns the linked symbol that a symbol of an input means.
    pub(super) fn symbol(&self, id: SymbolId) -> Option<ValueId> {
        if let Some(definition) = self.linker.definition(id) {
            return self.symbols.get(&definition).copied();
        }
        let name = &self.linker.object(id)?.symbol().name;
        self.symbols.get(self.reach.declarations.get(name)?).copied()
    }

    /// Returns the linked value of a symbol or constant of an input's module.
    pub(super) fn value(&mut self, input: usize, value: ValueId) -> Result<ValueId> {
        if let Some(&known) = self.values.get(&(input, value)) {
            return Ok(known);
        }
        let module = self.input(input)?.module;
        let Some(&from) = module.values.get(value.index()) else {
            return refused("value that does not exist");
        };
        let to = match from.kind {
            ValueKind::Constant(index) => {
                self.enter()?;
                let ty = self.ty(input, from.ty)?;
                let content = module.constants.content(index);
                let to = self.constant(input, ty, content, |mover, value| mover.value(input, value))?;
                self.leave();
                to
            }
            ValueKind::Unresolved | ValueKind::Argument(_) | ValueKind::Instruction(_) => {
                return refused("constant that refers to what does not exist");
            }
            ValueKind::Global(_) | ValueKind::Function(_) | ValueKind::Alias(_) => {
                let Some(to) = self.symbol(SymbolId { input, value }) else {
                    return refused("symbol that is not linked is used");
                };
                self.as_type(input, to, from.ty)?
            }
        };
        self.values.insert((input, value), to);
        Ok(to)
    }

    /// Returns a symbol as a pointer of the type that an input takes it for.
    fn as_type(&mut self, input: usize, value: ValueId, ty: TypeId) -> Result<ValueId> {
        let ty = self.ty(input, ty)?;
        let found = self.module.values.get(value.index()).map_or(TypeId::NONE, |value| value.ty);
        if found == ty {
            return Ok(value);
        }
        let spaces = (self.module.types.address_space(found), self.module.types.address_space(ty));
        if spaces.0 != spaces.1 {
            return refused("modules declare a symbol in different address spaces");
        }
        Ok(self.cast(value, ty))
    }

    /// Moves a constant; `value` moves what it refers to.
    pub(super) fn constant(
        &mut self,
        input: usize,
        ty: TypeId,
        content: NewConstant<'_>,
        mut value: impl FnMut(&mut Self, ValueId) -> Result<ValueId>,
    ) -> Result<ValueId> {
        let operands: Vec<ValueId> =
            content.operands().iter().map(|&operand| value(self, operand)).collect::<Result<_>>()?;
        let first = operands.first().copied().unwrap_or(ValueId::NONE);
        let new = match content {
            NewConstant::Aggregate(_) => NewConstant::Aggregate(&operands),
            NewConstant::Expression(expression) => {
                let ty = if expression.ty.is_some() { self.ty(input, expression.ty)? } else { expression.ty };
                NewConstant::Expression(NewExpression { ty, operands: &operands, ..expression })
            }
            NewConstant::Assembly { text, constraints, flags, function_type } => {
                let function_type =
                    if function_type.is_some() { self.ty(input, function_type)? } else { function_type };
                NewConstant::Assembly { text, constraints, flags, function_type }
            }
            NewConstant::BlockAddress { block, .. } => NewConstant::BlockAddress { function: first, block },
            NewConstant::DsoLocalEquivalent(_) => NewConstant::DsoLocalEquivalent(first),
            NewConstant::NoCfi(_) => NewConstant::NoCfi(first),
            plain => plain,
        };
        Ok(self.intern(ty, &new))
    }

    pub(super) fn intern(&mut self, ty: TypeId, new: &NewConstant<'_>) -> ValueId {
        self.constants.intern(&mut self.module, ty, new).0
    }

    pub(super) fn enter(&mut self) -> Result<()> {
        self.depth = self.depth.saturating_add(1);
        match self.depth > MAX_DEPTH {
            true => refused("types or constants are nested too deeply"),
            false => Ok(()),
        }
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Returns the linked type of an input's type.
    pub(super) fn ty(&mut self, input: usize, ty: TypeId) -> Result<TypeId> {
        if let Some(&known) = self.types.get(&(input, ty)) {
            return Ok(known);
        }
        self.enter()?;
        let types = &self.input(input)?.module.types;
        let to = match types.get(ty) {
            Type::Pointer { pointee, address_space } => {
                let pointee = self.ty(input, pointee)?;
                self.module.types.intern(Type::Pointer { pointee, address_space })
            }
            Type::Array { count, element } => {
                let element = self.ty(input, element)?;
                self.module.types.intern(Type::Array { count, element })
            }
            Type::Vector { count, element, scalable } => {
                let element = self.ty(input, element)?;
                self.module.types.intern(Type::Vector { count, element, scalable })
            }
            Type::Function { result, parameters, variadic } => {
                let result = self.ty(input, result)?;
                let parameters = self.ty_list(input, types.elements(parameters))?;
                self.module.types.intern_function(result, &parameters, variadic)
            }
            Type::Struct(structure) if structure.literal => {
                let fields = self.ty_list(input, types.elements(structure.fields))?;
                self.module.types.intern_struct(&fields, structure.packed)
            }
            Type::Struct(structure) => {
                let name = structure.name.map_or(&[][..], |name| types.name(name));
                let to = self.named_struct(input, ty, name)?;
                self.leave();
                return Ok(to);
            }
            Type::Target { name, types: of, numbers } => {
                let list = self.ty_list(input, types.elements(of))?;
                self.module.types.intern_target(types.name(name), &list, types.numbers(numbers))
            }
            Type::Unknown => return refused("type that can't be read"),
            simple => self.module.types.intern(simple),
        };
        self.leave();
        self.types.insert((input, ty), to);
        Ok(to)
    }

    fn ty_list(&mut self, input: usize, list: &[TypeId]) -> Result<Vec<TypeId>> {
        list.iter().map(|&ty| self.ty(input, ty)).collect()
    }

    /// Returns the struct of a name. Structs of different inputs are one if they have the same name and fields; otherwise
    /// the later one gets another name.
    fn named_struct(&mut self, input: usize, ty: TypeId, name: &[u8]) -> Result<TypeId> {
        let of_name = self.structs.get(name).cloned().unwrap_or_default();
        if !name.is_empty() {
            for &(other, from, to) in &of_name {
                if other != input && self.is_same((input, ty), (other, from))? {
                    self.types.insert((input, ty), to);
                    return Ok(to);
                }
            }
        }
        let own = match of_name.len() {
            0 => name.to_vec(),
            _ if name.is_empty() => Vec::new(),
            count => [name, b".", format!("{count}").as_bytes()].concat(),
        };
        let to = self.module.types.declare_struct(Some(&own));
        self.types.insert((input, ty), to);
        self.structs.entry(name.to_vec()).or_default().push((input, ty, to));
        let types = &self.input(input)?.module.types;
        if let Type::Struct(structure) = types.get(ty)
            && !structure.opaque
        {
            let fields = self.ty_list(input, types.elements(structure.fields))?;
            self.module.types.define_struct(to, &fields, structure.packed);
        }
        Ok(to)
    }

    /// Returns whether two types of different inputs are the same, with all that they contain.
    fn is_same(&self, one: (usize, TypeId), other: (usize, TypeId)) -> Result<bool> {
        let (these, those) = (&self.input(one.0)?.module.types, &self.input(other.0)?.module.types);
        let mut pending = alloc::vec![(one.1, other.1)];
        let mut assumed = BTreeSet::new();
        while let Some((one, other)) = pending.pop() {
            if !assumed.insert((one, other)) {
                continue;
            }
            let is_same = match (these.get(one), those.get(other)) {
                (
                    Type::Pointer { pointee, address_space },
                    Type::Pointer { pointee: of, address_space: space },
                ) => {
                    pending.push((pointee, of));
                    address_space == space
                }
                (Type::Array { count, element }, Type::Array { count: number, element: of }) => {
                    pending.push((element, of));
                    count == number
                }
                (
                    Type::Vector { count, element, scalable },
                    Type::Vector { count: number, element: of, scalable: also },
                ) => {
                    pending.push((element, of));
                    (count, scalable) == (number, also)
                }
                (
                    Type::Function { result, parameters, variadic },
                    Type::Function { result: of, parameters: with, variadic: also },
                ) => {
                    pending.push((result, of));
                    let (one, other) = (these.elements(parameters), those.elements(with));
                    pending.extend(one.iter().copied().zip(other.iter().copied()));
                    one.len() == other.len() && variadic == also
                }
                (Type::Struct(one), Type::Struct(other)) => {
                    let name =
                        |types: &'m crate::TypeTable, name: Option<u32>| name.map(|name| types.name(name));
                    let fields = (these.elements(one.fields), those.elements(other.fields));
                    pending.extend(fields.0.iter().copied().zip(fields.1.iter().copied()));
                    fields.0.len() == fields.1.len()
                        && (one.packed, one.literal, one.opaque)
                            == (other.packed, other.literal, other.opaque)
                        && name(these, one.name) == name(those, other.name)
                }
                (one, other) => one == other,
            };
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the linked set of an input's attributes.
    pub(super) fn attribute_set(&mut self, input: usize, set: AttributeSetId) -> Result<AttributeSetId> {
        if let Some(&known) = self.sets.get(&(input, set)) {
            return Ok(known);
        }
        let from = &self.input(input)?.module.attributes;
        let mut attributes = Vec::new();
        for attribute in from.set(set) {
            attributes.push(match *attribute {
                Attribute::Type(kind, Some(ty)) => Attribute::Type(kind, Some(self.ty(input, ty)?)),
                Attribute::Text { name, value } => {
                    self.module.attributes.text_attribute(from.text(name), from.text(value))
                }
                Attribute::Ranges { kind, width, bounds } => {
                    self.module.attributes.range_attribute(kind, width, from.words(bounds))
                }
                plain => plain,
            });
        }
        let to = rules::attribute_set(&mut self.module.attributes, self.version, attributes);
        self.sets.insert((input, set), to);
        Ok(to)
    }

    /// Returns the linked list of an input's attributes.
    pub(super) fn attribute_list(&mut self, input: usize, list: AttributeListId) -> Result<AttributeListId> {
        if !list.is_some() {
            return Ok(list);
        }
        if let Some(&known) = self.lists.get(&(input, list)) {
            return Ok(known);
        }
        let mut entries = Vec::new();
        for &(place, set) in self.input(input)?.module.attributes.list(list) {
            entries.push((place, self.attribute_set(input, set)?));
        }
        let to = if entries.is_empty() {
            AttributeListId::NONE
        } else {
            self.module.attributes.add_list(&mut entries)
        };
        self.lists.insert((input, list), to);
        Ok(to)
    }

    /// Returns a name for a message.
    pub(super) fn shown(name: &[u8]) -> alloc::string::String {
        Escaped(name).quoted()
    }
}
