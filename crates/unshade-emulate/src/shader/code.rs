//! Functions prepared for running: the order of steps in each block, the slots of values, and where branches meet again.
//!
//! The order is that of `order`.
//!
//! A value has a slot for each lane of its vector; a slot has a number for each lane of the wave.

use super::fault::Reason;
use crate::order;
use unshade_core::graph;
use unshade_ir::hash::FastMap;
use unshade_ir::shader::data_type::{DataType, Packing, Scalar, StructTypes};
use unshade_ir::shader::interface::{ShaderFunction, ShaderProgram};
use unshade_ir::{BlockId, BlockMap, End, Function, IdVec, Op, ShaderOp, ValueId, ValueMap, VariableId};

/// The slot of a value that nothing reads.
const NO_SLOT: u32 = u32::MAX;

/// A function prepared for running.
pub(super) struct Code<'p> {
    pub(super) info: &'p ShaderFunction,
    pub(super) function: &'p Function,
    /// The values that a block computes, in order.
    pub(super) steps: BlockMap<Vec<ValueId>>,
    /// The block where the branches at the end of a block meet again.
    pub(super) meeting: BlockMap<Option<BlockId>>,
    slots: ValueMap<u32>,
    /// Number of slots.
    pub(super) count: u32,
    /// Constants with their slots.
    pub(super) constants: Vec<(u32, u64)>,
    /// The types of places.
    pub(super) places: FastMap<ValueId, DataType>,
}

impl<'p> Code<'p> {
    /// Prepares a function of a program.
    pub(super) fn new(program: &'p ShaderProgram, info: &'p ShaderFunction) -> Result<Self, Reason> {
        let function = &info.function;
        let used = function.used();
        let mut code = Self {
            info,
            function,
            steps: IdVec::new(),
            meeting: meetings(function),
            slots: IdVec::filled(NO_SLOT, function.values.len()),
            count: 0,
            constants: Vec::new(),
            places: FastMap::default(),
        };
        for (id, value) in function.values.entries() {
            let is_needed = used[id] || value.op.is_effect();
            if !is_needed || value.width == 0 || function.is_replaced(id) {
                continue;
            }
            code.slots[id] = code.count;
            code.count = code.count.checked_add(u32::from(value.lanes)).ok_or(Reason::Memory)?;
            if let Op::Constant(number) = value.op {
                code.constants.push((code.slots[id], number));
            }
        }
        code.steps = order::steps(function, &used).ok_or(Reason::Unsound)?;
        for id in function.values.keys() {
            place(program, info, &mut code.places, id);
        }
        Ok(code)
    }

    /// Returns the first slot of a value.
    #[inline]
    pub(super) fn slot(&self, id: ValueId) -> usize {
        self.slots[id] as usize
    }

    /// Returns whether a value has a slot.
    pub(super) fn has_slot(&self, id: ValueId) -> bool {
        self.slots.get(id).is_some_and(|slot| *slot != NO_SLOT)
    }
}

/// Returns the block where the branches of each block meet: its immediate post-dominator.
fn meetings(function: &Function) -> BlockMap<Option<BlockId>> {
    let count = function.blocks.len();
    let exit = count as u32;
    let mut edges = Vec::new();
    for (id, block) in function.blocks.entries() {
        let mut is_end = true;
        block.end.each_successor(&mut |to| {
            is_end = false;
            edges.push((to.number(), id.number()));
        });
        if is_end {
            edges.push((exit, id.number()));
        }
    }
    let dominators = graph::Graph::new(count + 1, &edges).dominators(exit);
    let found =
        |id: BlockId| dominators.immediate(id.number()).filter(|block| *block != exit).map(BlockId::new);
    function.blocks.keys().map(found).collect()
}

/// Finds the type of a place, and of those that it is in.
fn place(
    program: &ShaderProgram,
    info: &ShaderFunction,
    places: &mut FastMap<ValueId, DataType>,
    id: ValueId,
) {
    let function = &info.function;
    let mut chain = Vec::new();
    let mut at = id;
    while !places.contains_key(&at) && chain.len() < 64 {
        let Some(Op::Shader(op)) = op_of(function, at) else { break };
        let number = |index: usize| function.number(function.input(at, index)).unwrap_or(u64::MAX) as usize;
        let ty = match op {
            ShaderOp::Element | ShaderOp::Field => {
                chain.push(at);
                at = function.input(at, 0);
                continue;
            }
            ShaderOp::Variable => {
                program.variables.get(VariableId::new(number(0) as u32)).map(|variable| variable.ty.clone())
            }
            ShaderOp::ArgumentPlace => info.parameters.get(number(0)).map(|parameter| parameter.ty.clone()),
            ShaderOp::MeshPayload => info.attributes.payload.clone(),
            _ => None,
        };
        let Some(ty) = ty else { break };
        places.insert(at, ty);
        break;
    }
    while let Some(id) = chain.pop() {
        let Some(base) = places.get(&function.input(id, 0)) else { break };
        let number = function.number(function.input(id, 1)).unwrap_or(0) as usize;
        let (_, ty) = match function.op(id) {
            Op::Shader(ShaderOp::Field) => field(base, number, &program.structs),
            _ => element(base, &program.structs),
        };
        places.insert(id, ty);
    }
}

/// Returns the operator of a value; `None` if there is no value.
fn op_of(function: &Function, id: ValueId) -> Option<Op> {
    function.values.get(id).map(|value| value.op)
}

/// Returns the distance of the elements of a place, and their type.
pub(super) fn element(ty: &DataType, structs: &StructTypes) -> (u32, DataType) {
    match ty {
        DataType::Array(element, _) => (Packing::Structured.stride(element, structs), (**element).clone()),
        DataType::Vector(scalar, _) => (scalar.bytes(), DataType::Scalar(*scalar)),
        DataType::Matrix { scalar, columns, .. } => {
            let row = DataType::vector(*scalar, u16::from(*columns));
            (scalar.bytes() * u32::from(*columns), row)
        }
        ty => (4, ty.clone()),
    }
}

/// Returns the offset of a member of a place, and its type.
pub(super) fn field(ty: &DataType, number: usize, structs: &StructTypes) -> (u32, DataType) {
    match ty {
        DataType::Struct(id) => match structs.get(*id).and_then(|structure| structure.fields.get(number)) {
            Some(field) => (field.offset, field.ty.clone()),
            None => (0, DataType::Scalar(Scalar::UINT)),
        },
        // Types of the language are vectors and scalars of 4 bytes: at most four numbers each.
        DataType::Named(_) => (16 * number as u32, DataType::Vector(Scalar::FLOAT, 4)),
        // A matrix is a structure with one member.
        ty => (0, ty.clone()),
    }
}

/// Returns the block that follows for a value of the condition or selector.
pub(super) fn target(end: &End, selector: u64) -> Option<BlockId> {
    match end {
        End::Open | End::Return => None,
        End::Goto(to) => Some(*to),
        End::Branch { yes, no, .. } => Some(if selector & 1 != 0 { *yes } else { *no }),
        End::Switch { cases, otherwise, .. } => {
            cases.iter().find(|case| case.0 == selector).map(|case| case.1).or(*otherwise)
        }
    }
}
