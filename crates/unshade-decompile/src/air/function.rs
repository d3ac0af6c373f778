//! Functions: blocks, phis, constants and symbols.

use super::shared::Shared;
use super::types::same;
use crate::bitcode::{binary_operator, end_block, reverse_postorder};
use crate::ir::hash::FastMap;
use crate::ir::metal::interface::Local;
use crate::ir::metal::types::{AddressSpace, ValueType};
use crate::ir::shader::vector::{broadcast, gather};
use crate::ir::{BlockId, End, Function, NO_ADDRESS, Op, ShaderOp, Space, TypeId, ValueId};
use unshade_llvm::ValueId as LlvmValue;
use unshade_llvm::body::FunctionBody;
use unshade_llvm::constants::Constant;
use unshade_llvm::instruction::Opcode;
use unshade_llvm::operation::pairs;
use unshade_llvm::value::ValueKind;

/// The width of a pointer.
pub(super) const POINTER: u8 = 64;

/// The width of a structure or array as a value: its type has the size.
pub(super) const AGGREGATE: u8 = 255;

/// The most lanes of a vector that are gathered one by one; matrices have more.
pub(super) const MAX_GATHERED: u16 = 16;

/// The deepest nesting of constants.
const MAX_DEPTH: u32 = 32;

/// Lifts one function.
pub(super) struct Lifter<'s, 'm, 'a, 'b> {
    pub(super) shared: &'s mut Shared<'m, 'a>,
    pub(super) body: &'b FunctionBody,
    pub(super) function: Function,
    pub(super) values: FastMap<LlvmValue, ValueId>,
    pub(super) locals: Vec<Local>,
    /// The block that is filled.
    pub(super) block: BlockId,
    /// The address of the current instruction: its number in the function.
    pub(super) address: u32,
    /// Phis with their instruction.
    phis: Vec<(ValueId, u32)>,
    undefined: FastMap<TypeId, ValueId>,
    depth: u32,
}

impl<'s, 'm, 'a, 'b> Lifter<'s, 'm, 'a, 'b> {
    pub(super) fn new(shared: &'s mut Shared<'m, 'a>, body: &'b FunctionBody) -> Self {
        Self {
            shared,
            body,
            function: Function::default(),
            values: FastMap::default(),
            locals: Vec::new(),
            block: BlockId::ENTRY,
            address: NO_ADDRESS,
            phis: Vec::new(),
            undefined: FastMap::default(),
            depth: 0,
        }
    }

    /// Lifts the function; returns its code and its variables.
    pub(super) fn run(mut self) -> (Function, Vec<Local>) {
        for block in &self.body.blocks {
            self.function.block(block.start);
        }
        for block in reverse_postorder(self.body) {
            self.block = BlockId::new(block);
            let range = self.body.blocks[block as usize];
            for index in range.start..range.start + range.count {
                self.address = index;
                let Some(instruction) = self.body.instructions.get(index as usize).copied() else { break };
                if instruction.opcode == Opcode::Phi {
                    self.phi(index);
                } else {
                    self.instruction(&instruction);
                }
            }
        }
        self.fill_phis();
        self.type_vectors();
        let function = &mut self.function;
        let is_computed = |id: &ValueId| {
            !function.op(*id).is_effect() && function.op(*id) != Op::Phi && !function.inputs(*id).is_empty()
        };
        function.computed_in =
            function.values.keys().filter(is_computed).map(|id| (id, function.values[id].block)).collect();
        (self.function, self.locals)
    }

    fn phi(&mut self, index: u32) {
        let instruction = self.body.instructions[index as usize];
        let ty = same(instruction.ty);
        let (width, lanes) = self.shape(ty);
        let phi = self.function.raw(Op::Phi, width, self.block, self.address, &[]);
        self.function.with_lanes(phi, lanes);
        self.function.with_type(phi, ty);
        self.function.blocks[self.block].phis.push(phi);
        self.values.insert(instruction.result, phi);
        self.phis.push((phi, index));
    }

    fn fill_phis(&mut self) {
        for (phi, index) in std::mem::take(&mut self.phis) {
            let instruction = self.body.instructions[index as usize];
            let block = self.function.values[phi].block;
            let sources: FastMap<u32, LlvmValue> =
                pairs(self.body.operands_of(&instruction)).map(|(value, block)| (block.0, value)).collect();
            let mut inputs = Vec::new();
            for index in 0..self.function.blocks[block].predecessors.len() {
                let from = self.function.blocks[block].predecessors[index];
                inputs.push(match sources.get(&from.number()) {
                    Some(value) => self.value(*value),
                    None => self.undefined(same(instruction.ty)),
                });
            }
            self.function.set_inputs(phi, &inputs);
        }
    }

    /// Ends the current block.
    pub(super) fn end(&mut self, end: End) {
        end_block(&mut self.function, self.block, self.body.blocks.len(), end);
    }

    /// Gives vectors and lanes that were gathered the types that follow from their inputs.
    fn type_vectors(&mut self) {
        for id in self.function.values.keys() {
            if self.function.values[id].ty != TypeId::NONE
                || !matches!(self.function.op(id), Op::Vector | Op::Lanes(_))
            {
                continue;
            }
            let inputs = self.function.inputs(id).iter();
            let typed = inputs.map(|input| self.function.values[*input].ty).find(|ty| *ty != TypeId::NONE);
            let Some(ty) = typed else { continue };
            let scalar = self.shared.program.types.scalar_id(ty);
            let lanes = self.function.lanes(id);
            let ty = self.vector_type(scalar, lanes);
            self.function.with_type(id, ty);
        }
    }

    // Types.

    pub(super) fn value_type(&self, ty: TypeId) -> ValueType {
        self.shared.program.types.get(ty)
    }

    /// Returns the type of a value of the module.
    pub(super) fn type_of(&self, id: LlvmValue) -> TypeId {
        self.shared.module.value(Some(self.body), id).map_or(TypeId::NONE, |value| same(value.ty))
    }

    pub(super) fn vector_type(&mut self, scalar: TypeId, lanes: u16) -> TypeId {
        if lanes == 1 { scalar } else { self.shared.program.types.intern(ValueType::Vector(scalar, lanes)) }
    }

    pub(super) fn pointer_type(&mut self, space: AddressSpace, pointee: TypeId) -> TypeId {
        self.shared.program.types.intern(ValueType::Pointer(space, pointee))
    }

    /// Returns the width of a lane and the number of lanes of a type.
    pub(super) fn shape(&self, ty: TypeId) -> (u8, u16) {
        match self.value_type(ty) {
            ValueType::Void => (0, 1),
            ValueType::Bool => (1, 1),
            ValueType::Integer(bits, _) | ValueType::Float(bits) => (bits, 1),
            ValueType::BFloat => (16, 1),
            ValueType::Vector(element, lanes) => (self.shape(element).0, lanes),
            ValueType::Array(..) | ValueType::Struct(_) => (AGGREGATE, 1),
            _ => (POINTER, 1),
        }
    }

    /// Returns the memory that a pointer refers to.
    pub(super) fn space_of(&self, pointer: TypeId) -> Space {
        match self.shared.program.types.pointee(pointer) {
            Some((AddressSpace::Threadgroup, _)) => Space::Shared,
            Some((AddressSpace::Thread, _)) => Space::Local,
            Some((AddressSpace::Constant, _)) => Space::Constant(0),
            _ => Space::Generic,
        }
    }

    // Values.

    /// Returns an undefined value.
    pub(super) fn undefined(&mut self, ty: TypeId) -> ValueId {
        if let Some(known) = self.undefined.get(&ty) {
            return *known;
        }
        let (width, lanes) = self.shape(ty);
        let id = self.function.raw(Op::Undefined, width, BlockId::ENTRY, NO_ADDRESS, &[]);
        self.function.with_lanes(id, lanes);
        self.function.with_type(id, ty);
        self.undefined.insert(ty, id);
        id
    }

    /// Returns a number.
    pub(super) fn number(&mut self, number: u64, ty: TypeId) -> ValueId {
        let (width, _) = self.shape(ty);
        let id = self.function.constant(number, width);
        self.function.with_type(id, ty)
    }

    /// Returns the value of a value of the module.
    pub(super) fn value(&mut self, id: LlvmValue) -> ValueId {
        if let Some(known) = self.values.get(&id) {
            return *known;
        }
        let Some(value) = self.shared.module.value(Some(self.body), id) else {
            return self.undefined(TypeId::NONE);
        };
        let ty = same(value.ty);
        let lifted = match value.kind {
            ValueKind::Global(index) => self.global(index, ty),
            ValueKind::Constant(_) if self.depth < MAX_DEPTH => {
                self.depth += 1;
                let block = std::mem::replace(&mut self.block, BlockId::ENTRY);
                let address = std::mem::replace(&mut self.address, NO_ADDRESS);
                let constant = self.constant(id, ty);
                (self.block, self.address) = (block, address);
                self.depth -= 1;
                constant
            }
            ValueKind::Argument(number) => self.argument(number, ty),
            ValueKind::Function(index) => {
                let name =
                    self.shared.module.functions.get(index as usize).map(|function| &function.symbol.name);
                let name = name.map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default();
                self.unlifted(&format!("the address of {name}"), ty)
            }
            _ => self.undefined(ty),
        };
        // Constants and symbols are computed in the entry block, so they serve the whole function.
        self.values.insert(id, lifted);
        lifted
    }

    fn argument(&mut self, number: u32, ty: TypeId) -> ValueId {
        let number = self.function.constant(u64::from(number), 32);
        let op = Op::Shader(ShaderOp::Argument);
        let (width, lanes) = self.shape(ty);
        let id = self.function.raw(op, width, BlockId::ENTRY, NO_ADDRESS, &[number]);
        self.function.with_lanes(id, lanes);
        self.function.with_type(id, ty)
    }

    /// Returns the address of a variable of the program.
    fn global(&mut self, index: u32, ty: TypeId) -> ValueId {
        let Some(number) = self.shared.globals.get(&index).copied() else { return self.undefined(ty) };
        self.symbol(&format!("g{number}"), ty)
    }

    /// Returns the address of a variable: `g3` of the program, `l3` of the function.
    pub(super) fn symbol(&mut self, name: &str, ty: TypeId) -> ValueId {
        let symbol = self.function.symbol(name);
        let id = self.function.raw(Op::Symbol(symbol), POINTER, BlockId::ENTRY, NO_ADDRESS, &[]);
        self.function.with_type(id, ty)
    }

    fn constant(&mut self, id: LlvmValue, ty: TypeId) -> ValueId {
        let (module, body) = (self.shared.module, self.body);
        let Some((constant, constants)) = module.constant(Some(body), id) else { return self.undefined(ty) };
        let aggregate = match self.value_type(ty) {
            ValueType::Vector(element, lanes) => Some((Some(element), u64::from(lanes))),
            ValueType::Array(element, count) => Some((Some(element), count)),
            ValueType::Struct(_) => Some((None, 0)),
            _ => None,
        };
        match (constant, aggregate) {
            (Constant::Integer(number) | Constant::Float(number), _) => self.number(number, ty),
            (Constant::Null, None) => self.number(0, ty),
            (Constant::Null, Some((Some(element), count)))
                if matches!(self.value_type(ty), ValueType::Vector(..)) =>
            {
                let zero = self.number(0, element);
                let all = vec![zero; usize::try_from(count).unwrap_or(0).min(1 << 12)];
                self.vector(&all, ty)
            }
            // Zeros of an array or structure.
            (Constant::Null, Some(_)) => self.aggregate(&[], ty),
            (Constant::Data(slice), Some((Some(element), _))) => {
                let words = constants.words(slice).to_vec();
                let parts: Vec<ValueId> = words.into_iter().map(|word| self.number(word, element)).collect();
                self.parts(&parts, ty)
            }
            (Constant::Aggregate(slice), Some(_)) => {
                let values = constants.values(slice).to_vec();
                let parts: Vec<ValueId> = values.into_iter().map(|value| self.value(value)).collect();
                self.parts(&parts, ty)
            }
            (Constant::Expression(index), _) => match constants.expression(index).copied() {
                Some(expression) => {
                    let operands = constants.values(expression.operands).to_vec();
                    self.constant_expression(&expression, &operands, ty)
                }
                None => self.undefined(ty),
            },
            _ => self.undefined(ty),
        }
    }

    fn parts(&mut self, parts: &[ValueId], ty: TypeId) -> ValueId {
        if matches!(self.value_type(ty), ValueType::Vector(..)) {
            self.vector(parts, ty)
        } else {
            self.aggregate(parts, ty)
        }
    }

    /// Returns a structure or array with these parts; with none, one of zeros.
    pub(super) fn aggregate(&mut self, parts: &[ValueId], ty: TypeId) -> ValueId {
        self.add(Op::Aggregate, ty, parts)
    }

    /// Returns a vector of scalars.
    pub(super) fn vector(&mut self, scalars: &[ValueId], ty: TypeId) -> ValueId {
        let lanes = u16::try_from(scalars.len()).unwrap_or(u16::MAX);
        let found = if lanes > MAX_GATHERED {
            self.add(Op::Vector, ty, scalars)
        } else {
            let found = gather(&mut self.function, self.block, self.address, scalars);
            broadcast(&mut self.function, self.block, self.address, found, lanes)
        };
        if self.function.values[found].ty == TypeId::NONE {
            self.function.with_type(found, ty);
        }
        found
    }

    /// Lifts a constant expression: an address in a variable, or a cast of one.
    fn constant_expression(
        &mut self,
        expression: &unshade_llvm::constants::Expression,
        operands: &[LlvmValue],
        ty: TypeId,
    ) -> ValueId {
        let Some((&base, indices)) = operands.split_first() else { return self.undefined(ty) };
        match expression.opcode {
            Opcode::GetElementPtr => self.element_pointer(base, same(expression.ty), indices, ty),
            opcode if opcode.is_cast() => self.cast(opcode, base, ty),
            opcode => match (binary_operator(opcode), operands) {
                (Some(op), &[left, right]) => {
                    let inputs = [self.value(left), self.value(right)];
                    self.add(op, ty, &inputs)
                }
                _ => self.unlifted(&format!("the constant expression {}", opcode.mnemonic()), ty),
            },
        }
    }

    /// Adds a value to the current block.
    pub(super) fn add(&mut self, op: Op, ty: TypeId, inputs: &[ValueId]) -> ValueId {
        let (width, lanes) = self.shape(ty);
        let id = self.function.add(op, width, self.block, self.address, inputs);
        self.function.with_lanes(id, lanes);
        self.function.with_type(id, ty)
    }

    /// Adds a note for something that can't be lifted.
    pub(super) fn unlifted(&mut self, text: &str, ty: TypeId) -> ValueId {
        let note = self.function.notes.push(text.to_owned());
        self.add(Op::Unlifted(note), ty, &[])
    }

    /// Returns the value of an integer constant.
    pub(super) fn integer(&self, id: LlvmValue) -> Option<u64> {
        self.shared.module.integer(Some(self.body), id)
    }
}
