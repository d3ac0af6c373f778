//! Functions: blocks, phis and constants; and the program that they make up.

use super::exports;
use super::interface;
use super::node;
use super::options;
use super::types::TypeReader;
use crate::bitcode::{binary_operator, end_block, reverse_postorder};
use crate::ir::hash::FastMap;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, StructField, StructType};
use crate::ir::shader::interface::{
    LocalName, Passing, ResourceClass, ShaderFunction, ShaderParameter, ShaderProgram, Stage, Variable,
    VariableSpace,
};
use crate::ir::shader::vector::gather;
use crate::ir::{self, BlockId, End, Function, NO_ADDRESS, Op, ResourceId, ShaderOp, ValueId, VariableId};
use unshade_dxcontainer::dxil::{DxilModule, EntryPoint};
use unshade_llvm::body::FunctionBody;
use unshade_llvm::constants::Constant;
use unshade_llvm::instruction::Opcode;
use unshade_llvm::operation::pairs;
use unshade_llvm::types::Type;
use unshade_llvm::value::ValueKind;
use unshade_llvm::{Module, TypeId, ValueId as LlvmValue};

/// The width of a place.
pub(super) const PLACE: u8 = 32;

/// The width of a handle or object.
pub(super) const HANDLE: u8 = 32;

/// What the lifters of all functions share.
pub(super) struct Shared<'m, 'a> {
    pub(super) module: &'m Module<'a>,
    pub(super) dxil: &'m DxilModule,
    pub(super) types: TypeReader<'m, 'a>,
    pub(super) program: ShaderProgram,
    /// Resources by class and number.
    pub(super) resources: FastMap<(ResourceClass, u32), ResourceId>,
    /// Resources by the global variable that stands for them in a library.
    pub(super) resource_variables: FastMap<LlvmValue, ResourceId>,
    /// Variables by global variable.
    pub(super) globals: FastMap<u32, VariableId>,
    /// The names of the functions of the program, by index in the module.
    pub(super) names: FastMap<u32, String>,
    /// The kind of metadata that marks calls as precise.
    pub(super) precise_kind: Option<u32>,
    /// The functions that are called, and whose code is elsewhere.
    pub(super) externals: Vec<u32>,
    /// Whether names of debug information are read.
    pub(super) has_names: bool,
}

/// Lifts all functions of a module. `described` is the module that has the names of resources.
pub(super) fn lift_all(
    module: &Module<'_>,
    dxil: &DxilModule,
    described: Option<(&Module<'_>, &DxilModule)>,
    has_names: bool,
) -> ShaderProgram {
    let mut shared = Shared {
        module,
        dxil,
        types: TypeReader::new(module, dxil),
        program: interface::program(dxil),
        resources: FastMap::default(),
        resource_variables: FastMap::default(),
        globals: FastMap::default(),
        names: FastMap::default(),
        precise_kind: module.metadata_kind(b"dx.precise"),
        externals: Vec::new(),
        has_names,
    };
    shared.add_resources(described);
    shared.add_globals();
    let order = shared.function_order();
    for (index, _) in &order {
        let name = &module.functions[*index].symbol.name;
        shared.names.insert(*index as u32, String::from_utf8_lossy(name).into_owned());
    }
    for (index, entry) in order {
        let function = shared.lift(index, entry);
        shared.program.functions.push(function);
    }
    shared.mark_constructors();
    for index in std::mem::take(&mut shared.externals) {
        let symbol = &module.functions[index as usize].symbol;
        let name = String::from_utf8_lossy(&symbol.name).into_owned();
        shared.check_name(&name);
        let (parameters, result) = shared.parameters(index as usize, symbol.ty);
        let function =
            ShaderFunction { name, is_declared: true, parameters, result, ..ShaderFunction::default() };
        shared.program.functions.push(function);
    }
    shared.program
}

impl<'m> Shared<'m, '_> {
    fn add_resources(&mut self, described: Option<(&Module<'_>, &DxilModule)>) {
        let mut named = described.map(|(module, dxil)| (dxil, TypeReader::new(module, dxil)));
        for found in &self.dxil.resources {
            let structs = &mut self.program.structs;
            let same = named.as_ref().and_then(|(dxil, _)| {
                dxil.resources.iter().find(|other| other.class == found.class && other.id == found.id)
            });
            let resource = match (same, &mut named) {
                (Some(same), Some((_, types))) => interface::resource(same, types, structs),
                _ => interface::resource(found, &mut self.types, structs),
            };
            let class = resource.class;
            let id = self.program.resources.push(resource);
            self.resources.insert((class, found.id), id);
            self.resource_variables.insert(found.variable, id);
        }
    }

    /// Makes variables of global variables, except those that stand for resources.
    fn add_globals(&mut self) {
        for (index, global) in (0..).zip(&self.module.globals) {
            // Lists for linkers are no variables.
            let is_list = global.symbol.name.starts_with(b"llvm.");
            if is_list || self.resource_variables.contains_key(&global.symbol.value) {
                continue;
            }
            let space = match global.symbol.address_space {
                3 => VariableSpace::Group,
                _ if global.constant => VariableSpace::Constant,
                _ => VariableSpace::Static,
            };
            let structs = &mut self.program.structs;
            let mut ty = self.types.data_type(global.symbol.ty, None, Packing::Structured, structs);
            exports::apply(&mut ty, exports::variable_kind(&String::from_utf8_lossy(&global.symbol.name)));
            let mut values = Vec::new();
            let has_value = |id: LlvmValue| {
                let constant = self.module.constant(None, id).map(|(constant, _)| constant);
                !matches!(constant, Some(Constant::Undef | Constant::Null) | None)
            };
            let is_constant = space == VariableSpace::Constant;
            if let Some(initializer) = global.initializer.filter(|id| is_constant || has_value(*id)) {
                self.flatten(initializer, &mut values, 0);
            }
            let name = variable_name(&global.symbol.name);
            let id = self.program.variables.push(Variable { name, space, ty, values });
            self.globals.insert(index, id);
        }
    }

    /// Marks the functions that compute the initial values of static variables. Entry points of a library have their code
    /// inside already, and the text runs it again: so it may do nothing but read, and set variables.
    fn mark_constructors(&mut self) {
        let Some(list) = self.module.globals.iter().find(|global| global.symbol.name == b"llvm.global_ctors")
        else {
            return;
        };
        let mut found = Vec::new();
        list.initializer.into_iter().for_each(|id| self.referred_functions(id, &mut found, 0));
        for name in found.iter().filter_map(|index| self.names.get(index)) {
            let known = self.program.functions.iter_mut().find(|function| function.name == *name);
            let Some(function) = known else { continue };
            let code = &function.function;
            let mut effects = code.blocks.iter().flat_map(|block| &block.effects);
            if effects.all(|effect| matches!(code.op(*effect), Op::Store(_)) || !code.op(*effect).is_kept()) {
                function.is_constructor = true;
            } else {
                self.program.missing.push(format!("that {name} computes initial values"));
            }
        }
    }

    /// Appends the functions that a constant refers to.
    fn referred_functions(&self, id: LlvmValue, out: &mut Vec<u32>, depth: usize) {
        if let Some(ValueKind::Function(index)) = self.module.value(None, id).map(|value| value.kind) {
            out.push(index);
        }
        if let Some((Constant::Aggregate(slice), constants)) = self.module.constant(None, id)
            && depth < 4
        {
            for &element in constants.values(slice) {
                self.referred_functions(element, out, depth + 1);
            }
        }
    }

    /// Appends the numbers of a constant in order.
    fn flatten(&self, id: LlvmValue, out: &mut Vec<u64>, depth: usize) {
        let Some((constant, constants)) = self.module.constant(None, id) else { return };
        match constant {
            Constant::Integer(number) | Constant::Float(number) => out.push(number),
            Constant::Aggregate(slice) if depth < 16 => {
                for &element in constants.values(slice) {
                    self.flatten(element, out, depth + 1);
                }
            }
            Constant::Data(slice) => out.extend_from_slice(constants.words(slice)),
            // Zeros: an empty list.
            _ => {
                let Some(value) = self.module.value(None, id) else { return };
                let count = self.numbers(value.ty, 0).min(1 << 20);
                out.extend(std::iter::repeat_n(0, count));
            }
        }
    }

    /// Returns how many numbers a type consists of.
    fn numbers(&self, ty: TypeId, depth: usize) -> usize {
        let types = &self.module.types;
        match types.get(ty) {
            _ if depth > 16 => 1,
            Type::Array { count, element } => {
                usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(self.numbers(element, depth + 1))
            }
            Type::Vector { count, .. } => count as usize,
            Type::Struct(structure) => {
                types.elements(structure.fields).iter().map(|field| self.numbers(*field, depth + 1)).sum()
            }
            _ => 1,
        }
    }

    /// Returns the functions with bodies, with their entry points: the entry of the program first.
    fn function_order(&self) -> Vec<(usize, Option<&'m EntryPoint>)> {
        let entry_of = |index: usize| self.dxil.entries.iter().find(|entry| entry.function == Some(index));
        let mut all: Vec<_> =
            self.module.functions_with_bodies().map(|(index, _)| (index, entry_of(index))).collect();
        all.sort_by_key(|(_, entry)| entry.is_none());
        all
    }

    fn lift(&mut self, index: usize, entry: Option<&EntryPoint>) -> ShaderFunction {
        let symbol = &self.module.functions[index].symbol;
        let mut lifted = ShaderFunction {
            name: String::from_utf8_lossy(&symbol.name).into_owned(),
            number: index as u32,
            ..ShaderFunction::default()
        };
        // The patch-constant function of a hull shader has the signatures of its entry point.
        let patch_of = self.dxil.entries.iter().find(|entry| entry.properties.patch_function == Some(index));
        if let Some(entry) = entry.or(patch_of) {
            let [inputs, outputs, patch] = &entry.signatures;
            lifted.inputs = interface::elements(inputs, self.dxil);
            lifted.outputs = interface::elements(outputs, self.dxil);
            lifted.patch = interface::elements(patch, self.dxil);
        }
        if let Some(entry) = entry {
            let kind = entry.properties.kind.map(interface::stage);
            lifted.stage = Some(kind.unwrap_or(self.program.stage));
            lifted.attributes = interface::attributes(entry, self.dxil);
            lifted.attributes.includes_helper_lanes =
                options::texts(self.module, index).any(|(name, _)| name == options::HELPER_LANES);
            lifted.attributes.max_tessellation_factor = entry.properties.max_tessellation_factor;
            lifted.attributes.patch_function = entry.properties.patch_function.and_then(|function| {
                let order = self.function_order();
                order.iter().position(|(index, _)| *index == function)
            });
        }
        lifted.is_exported = self.program.stage == Stage::Library
            && entry.is_none()
            && patch_of.is_none()
            && !symbol.linkage.is_local();
        if lifted.is_exported {
            self.check_name(&lifted.name);
        }
        let (parameters, result) = self.parameters(index, symbol.ty);
        lifted.parameters = parameters;
        lifted.result = result;
        let Ok(body) = self.module.body(index) else { return lifted };
        let Body { function, payload, records, names, parameter_names } = Lifter::new(self, &body).run();
        lifted.function = function;
        let size = entry.and_then(|entry| entry.properties.payload_size).unwrap_or(0);
        lifted.attributes.payload = payload.or_else(|| self.unread_payload(lifted.stage, size));
        lifted.names = names;
        for (number, name) in parameter_names {
            if let Some(parameter) = lifted.parameters.get_mut(number as usize) {
                parameter.name = name;
            }
        }
        if let Some(found) = entry.and_then(|entry| entry.properties.node.as_ref())
            && lifted.stage == Some(Stage::Node)
        {
            let mut attributes = node::node(found);
            node::set_records(&mut attributes, found, &records, &mut self.program.structs);
            lifted.attributes.node = Some(attributes);
        }
        lifted
    }

    /// Names what the name of a function has that its type does not: other libraries refer to it by this name.
    fn check_name(&mut self, name: &str) {
        if let Some(what) = exports::lost(name) {
            let name = name.trim_start_matches('\u{1}').escape_debug().to_string();
            self.program.missing.push(format!("{what} in the name {name}"));
        }
    }

    /// Returns the parameters and the result of a function type.
    fn parameters(&mut self, function: usize, ty: TypeId) -> (Vec<ShaderParameter>, Option<DataType>) {
        let Type::Function { result, parameters, .. } = self.module.types.get(ty) else {
            return (Vec::new(), None);
        };
        let parameters = self.module.types.elements(parameters).to_vec();
        let mut all = Vec::new();
        for ty in parameters {
            let pointee = self.module.types.pointee(ty);
            let ty = self.value_type(pointee.unwrap_or(ty));
            let is_place = pointee.is_some();
            let passing =
                if is_place { exports::passing(self.module, function, all.len()) } else { Passing::Value };
            all.push(ShaderParameter { name: String::new(), ty, is_place, passing });
        }
        let mut result = match self.module.types.get(result) {
            Type::Void => None,
            _ => Some(self.value_type(result)),
        };
        let name = String::from_utf8_lossy(&self.module.functions[function].symbol.name);
        if let Some((result_kind, kinds)) = exports::kinds(&name) {
            result.iter_mut().for_each(|ty| exports::apply(ty, result_kind));
            let mut kinds = kinds.into_iter();
            for parameter in &mut all {
                let kind = match parameter.passing {
                    Passing::Result => result_kind,
                    _ => kinds.next().flatten(),
                };
                exports::apply(&mut parameter.ty, kind);
            }
        }
        (all, result)
    }

    /// Returns a type for the payload of a mesh that the code does not read: words.
    fn unread_payload(&mut self, stage: Option<Stage>, size: u32) -> Option<DataType> {
        if stage != Some(Stage::Mesh) || size < 4 {
            return None;
        }
        let words = DataType::Array(Box::new(DataType::Scalar(Scalar::UINT)), size / 4);
        let mut payload = StructType { name: "Payload".into(), size, ..StructType::default() };
        payload.fields.push(StructField {
            name: "words".into(),
            offset: 0,
            ty: words,
            semantic: None,
            access: None,
        });
        Some(DataType::Struct(self.program.structs.push(payload)))
    }

    fn value_type(&mut self, ty: TypeId) -> DataType {
        self.types.data_type(ty, None, Packing::Structured, &mut self.program.structs)
    }
}

/// Returns the name of a variable without the mangling of MSVC: `?table@@3PAY01MA` is `table`.
fn variable_name(mangled: &[u8]) -> String {
    let name = String::from_utf8_lossy(mangled);
    let name = name.strip_prefix("\u{1}?").or_else(|| name.strip_prefix('?')).unwrap_or(&name);
    let name = name.split("@@").next().unwrap_or(name);
    name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// A value of the module while it is lifted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lifted {
    /// A value.
    Value(ValueId),
    /// A structure with two members.
    Pair(ValueId, ValueId),
    /// Words of numbers of 64 bits that are loaded whole: the words, and the load, which has the status.
    Words(ValueId, ValueId),
    /// A handle of the descriptor heap without its properties: index, and whether it differs between lanes.
    HeapIndex(ValueId),
}

/// Lifts one function.
pub(super) struct Lifter<'s, 'm, 'a, 'b> {
    pub(super) shared: &'s mut Shared<'m, 'a>,
    pub(super) body: &'b FunctionBody,
    pub(super) function: Function,
    pub(super) values: FastMap<LlvmValue, Lifted>,
    /// The block that is filled.
    pub(super) block: BlockId,
    /// The address of the current instruction: its number in the function.
    pub(super) address: u32,
    /// Phis with their instruction.
    phis: Vec<(ValueId, u32)>,
    /// The type of the payload of a mesh.
    pub(super) payload: Option<DataType>,
    /// The types of the records of a node: whether it is an output, its number, the type.
    pub(super) records: Vec<(bool, u32, DataType)>,
    undefined: FastMap<(u8, u16), ValueId>,
    /// The types of matrices that vectors in memory are, by the pointer to them.
    pub(super) memory_matrices: FastMap<LlvmValue, TypeId>,
    /// Names of the source code, and their numbers.
    pub(super) names: Vec<LocalName>,
    pub(super) name_numbers: FastMap<LocalName, u32>,
    /// Names of parameters, by number.
    pub(super) parameter_names: FastMap<u32, String>,
}

/// The code of a function, and what was found in it.
struct Body {
    function: Function,
    /// The type of the payload of a mesh, if it reads that.
    payload: Option<DataType>,
    /// The types of the records of a node: whether it is an output, its number, the type.
    records: Vec<(bool, u32, DataType)>,
    names: Vec<LocalName>,
    parameter_names: FastMap<u32, String>,
}

impl<'s, 'm, 'a, 'b> Lifter<'s, 'm, 'a, 'b> {
    fn new(shared: &'s mut Shared<'m, 'a>, body: &'b FunctionBody) -> Self {
        Self {
            shared,
            body,
            function: Function::default(),
            values: FastMap::default(),
            block: BlockId::ENTRY,
            address: NO_ADDRESS,
            phis: Vec::new(),
            payload: None,
            records: Vec::new(),
            undefined: FastMap::default(),
            memory_matrices: FastMap::default(),
            names: Vec::new(),
            name_numbers: FastMap::default(),
            parameter_names: FastMap::default(),
        }
    }

    fn run(mut self) -> Body {
        self.find_memory_matrices();
        for block in &self.body.blocks {
            self.function.block(block.start);
        }
        for block in reverse_postorder(self.body) {
            self.block = BlockId::new(block);
            let range = self.body.blocks[block as usize];
            for index in range.start..range.start + range.count {
                self.address = index;
                let instruction = self.body.instructions[index as usize];
                if instruction.opcode == Opcode::Phi {
                    self.phi(index);
                } else {
                    self.instruction(&instruction);
                }
            }
        }
        self.fill_phis();
        Body {
            function: self.function,
            payload: self.payload,
            records: self.records,
            names: self.names,
            parameter_names: self.parameter_names,
        }
    }

    fn phi(&mut self, index: u32) {
        let instruction = self.body.instructions[index as usize];
        let (width, lanes) = self.shape(instruction.ty);
        let phi = self.function.raw(Op::Phi, width, self.block, self.address, &[]);
        self.function.with_lanes(phi, lanes);
        self.function.blocks[self.block].phis.push(phi);
        self.values.insert(instruction.result, Lifted::Value(phi));
        self.phis.push((phi, index));
    }

    fn fill_phis(&mut self) {
        for (phi, index) in std::mem::take(&mut self.phis) {
            let instruction = self.body.instructions[index as usize];
            let block = self.function.values[phi].block;
            let (width, lanes) = (self.function.width(phi), self.function.lanes(phi));
            let sources: FastMap<u32, LlvmValue> =
                pairs(self.body.operands_of(&instruction)).map(|(value, block)| (block.0, value)).collect();
            let mut inputs = Vec::new();
            for index in 0..self.function.blocks[block].predecessors.len() {
                let from = self.function.blocks[block].predecessors[index];
                inputs.push(match sources.get(&from.number()) {
                    Some(value) => self.value(*value),
                    None => self.undefined(width, lanes),
                });
            }
            self.function.set_inputs(phi, &inputs);
        }
    }

    /// Ends the current block.
    pub(super) fn end(&mut self, end: End) {
        end_block(&mut self.function, self.block, self.body.blocks.len(), end);
    }

    /// Returns the width of a lane and the number of lanes of a type.
    pub(super) fn shape(&self, ty: TypeId) -> (u8, u16) {
        let types = &self.shared.module.types;
        match types.get(ty) {
            Type::Void => (0, 1),
            Type::Vector { count, element, .. } => {
                (self.shape(element).0, u16::try_from(count).unwrap_or(u16::MAX))
            }
            Type::Half | Type::BFloat => (16, 1),
            Type::Float => (32, 1),
            Type::Double => (64, 1),
            Type::Integer(bits) => (u8::try_from(bits).unwrap_or(64), 1),
            Type::Struct(structure) => match self.shared.types.lowered_matrix(ty) {
                // Lanes of a matrix are column by column.
                Some(DataType::Matrix { scalar, rows, columns, .. }) => {
                    (scalar.bits, u16::from(rows) * u16::from(columns))
                }
                _ => self.struct_shape(types.elements(structure.fields)),
            },
            _ => (PLACE, 1),
        }
    }

    /// Returns the shape of a structure that an operation returns: its first members of the same type are lanes.
    fn struct_shape(&self, fields: &[TypeId]) -> (u8, u16) {
        let Some(&first) = fields.first() else { return (HANDLE, 1) };
        let (width, lanes) = self.shape(first);
        // A row of a constant buffer has eight numbers of 16 bits; elsewhere the fifth member is the status.
        let most = if fields.len() == 8 { 8 } else { 4 };
        let same = fields.iter().take(most).take_while(|field| **field == first).count();
        if same > 1 { (width, same as u16) } else { (width, lanes) }
    }

    /// Returns an undefined value.
    pub(super) fn undefined(&mut self, width: u8, lanes: u16) -> ValueId {
        let function = &mut self.function;
        *self.undefined.entry((width, lanes)).or_insert_with(|| {
            let id = function.raw(Op::Undefined, width, BlockId::ENTRY, NO_ADDRESS, &[]);
            function.with_lanes(id, lanes)
        })
    }

    /// Returns a value as one.
    pub(super) fn value(&mut self, id: LlvmValue) -> ValueId {
        match self.lifted(id) {
            Lifted::Value(value)
            | Lifted::Pair(value, _)
            | Lifted::Words(value, _)
            | Lifted::HeapIndex(value) => value,
        }
    }

    /// Returns what a value was lifted to.
    pub(super) fn lifted(&mut self, id: LlvmValue) -> Lifted {
        if let Some(known) = self.values.get(&id) {
            return *known;
        }
        let (module, body) = (self.shared.module, self.body);
        let Some(value) = module.value(Some(body), id) else { return Lifted::Value(self.undefined(32, 1)) };
        let lifted = match value.kind {
            ValueKind::Global(index) => self.global(index),
            ValueKind::Constant(_) => self.constant(id, value.ty),
            ValueKind::Argument(number) => self.argument(number, value.ty),
            _ => {
                let (width, lanes) = self.shape(value.ty);
                self.undefined(width, lanes)
            }
        };
        // Constants and places are computed in the entry block, so they serve the whole function.
        self.values.insert(id, Lifted::Value(lifted));
        Lifted::Value(lifted)
    }

    fn argument(&mut self, number: u32, ty: TypeId) -> ValueId {
        let number = self.function.constant(u64::from(number), 32);
        let is_place = self.shared.module.types.is_pointer(ty);
        let op = if is_place { ShaderOp::ArgumentPlace } else { ShaderOp::Argument };
        let (width, lanes) = self.shape(ty);
        let id = self.function.raw(Op::Shader(op), width, BlockId::ENTRY, NO_ADDRESS, &[number]);
        self.function.with_lanes(id, lanes)
    }

    /// Returns the place of a global variable.
    fn global(&mut self, index: u32) -> ValueId {
        match self.shared.globals.get(&index).copied() {
            Some(variable) => self.variable(variable),
            None => self.undefined(PLACE, 1),
        }
    }

    /// Returns the place of a variable.
    pub(super) fn variable(&mut self, variable: VariableId) -> ValueId {
        let number = self.function.constant(u64::from(variable.number()), 32);
        self.function.raw(Op::Shader(ShaderOp::Variable), PLACE, BlockId::ENTRY, NO_ADDRESS, &[number])
    }

    fn constant(&mut self, id: LlvmValue, ty: TypeId) -> ValueId {
        let (module, body) = (self.shared.module, self.body);
        let (width, lanes) = self.shape(ty);
        let Some((constant, constants)) = module.constant(Some(body), id) else {
            return self.undefined(width, lanes);
        };
        match constant {
            Constant::Integer(number) | Constant::Float(number) => self.function.constant(number, width),
            Constant::Null => self.function.constant(0, width),
            Constant::Data(slice) => {
                let words = constants.words(slice).to_vec();
                let scalars: Vec<ValueId> =
                    words.into_iter().map(|word| self.function.constant(word, width)).collect();
                self.vector(&scalars)
            }
            Constant::Aggregate(slice) => {
                let values = constants.values(slice).to_vec();
                let scalars: Vec<ValueId> = values.into_iter().map(|value| self.value(value)).collect();
                self.vector(&scalars)
            }
            Constant::Expression(index) => match constants.expression(index).copied() {
                Some(expression) => {
                    let operands = constants.values(expression.operands).to_vec();
                    self.constant_expression(&expression, &operands, ty)
                }
                None => self.undefined(width, lanes),
            },
            _ => self.undefined(width, lanes),
        }
    }

    /// Returns a vector of scalars in the entry block.
    fn vector(&mut self, scalars: &[ValueId]) -> ValueId {
        gather(&mut self.function, BlockId::ENTRY, NO_ADDRESS, scalars)
    }

    /// Lifts a constant expression: an address in a global variable, or a cast of one.
    fn constant_expression(
        &mut self,
        expression: &unshade_llvm::constants::Expression,
        operands: &[LlvmValue],
        ty: TypeId,
    ) -> ValueId {
        let Some((&base, indices)) = operands.split_first() else { return self.undefined(PLACE, 1) };
        let block = std::mem::replace(&mut self.block, BlockId::ENTRY);
        let address = std::mem::replace(&mut self.address, NO_ADDRESS);
        let value = match expression.opcode {
            Opcode::GetElementPtr => self.element_place(base, expression.ty, indices),
            opcode if opcode.is_cast() => self.value(base),
            opcode => {
                let (width, lanes) = self.shape(ty);
                match (binary_operator(opcode), operands) {
                    (Some(op), &[left, right]) => {
                        let inputs = [self.value(left), self.value(right)];
                        self.add(op, width, lanes, &inputs)
                    }
                    _ => self.unlifted(&format!("constant expression {}", opcode.mnemonic()), width),
                }
            }
        };
        (self.block, self.address) = (block, address);
        value
    }

    /// Adds a value to the current block.
    pub(super) fn add(&mut self, op: Op, width: u8, lanes: u16, inputs: &[ValueId]) -> ValueId {
        let id = self.function.add(op, width, self.block, self.address, inputs);
        self.function.with_lanes(id, lanes)
    }

    /// Adds an operation of a shader to the current block.
    pub(super) fn shader(&mut self, op: ShaderOp, width: u8, lanes: u16, inputs: &[ValueId]) -> ValueId {
        self.add(Op::Shader(op), width, lanes, inputs)
    }

    /// Adds a note for something that can't be lifted.
    pub(super) fn unlifted(&mut self, text: &str, width: u8) -> ValueId {
        let note = self.function.notes.push(text.to_owned());
        self.function.add(Op::Unlifted(note), width, self.block, self.address, &[])
    }

    /// Returns the value of an integer constant.
    pub(super) fn integer(&self, id: LlvmValue) -> Option<u64> {
        self.shared.module.integer(Some(self.body), id)
    }

    /// Returns whether a value is undefined.
    pub(super) fn is_undefined(&self, id: LlvmValue) -> bool {
        let constant = self.shared.module.constant(Some(self.body), id);
        matches!(constant, Some((Constant::Undef | Constant::Poison, _)))
    }
}

pub(super) use ir::Space;
