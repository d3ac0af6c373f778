//! Components of inputs, indices and texels as lanes of whole values.
//!
//! Machine code reads an input component by component. A language has one name for the whole element, so each read
//! becomes a lane of the read of the whole element; one read of an element serves until something may change it. Texels have four lanes in machine code, and as many as the
//! resource's type says in the language.

use super::users::Users;
use crate::ir::hash::FastMap;
use crate::ir::shader::interface::{Resource, ShaderFunction, resource_of};
use crate::ir::shader::vector::{broadcast, gather, lane};
use crate::ir::shader::{OperandKind, ShaderOp};
use crate::ir::{BlockId, Function, IdVec, NO_ADDRESS, Op, ResourceId, ValueId};

/// Operations whose only input is the number of a component, with the number of components.
const INDEXED: [(ShaderOp, u16); 10] = [
    (ShaderOp::DispatchThreadId, 3),
    (ShaderOp::GroupId, 3),
    (ShaderOp::GroupThreadId, 3),
    (ShaderOp::DomainLocation, 3),
    (ShaderOp::DispatchRaysIndex, 3),
    (ShaderOp::DispatchRaysDimensions, 3),
    (ShaderOp::WorldRayOrigin, 3),
    (ShaderOp::WorldRayDirection, 3),
    (ShaderOp::ObjectRayOrigin, 3),
    (ShaderOp::ObjectRayDirection, 3),
];

/// Runs the pass.
pub fn run(function: &mut ShaderFunction, resources: &IdVec<ResourceId, Resource>) {
    let mut whole: FastMap<(ShaderOp, Vec<ValueId>), ValueId> = FastMap::default();
    let mut reads = Reads::new(&function.function);
    let mut users = Users::default();
    for id in function.function.values.keys().collect::<Vec<_>>() {
        let Op::Shader(op) = function.function.op(id) else { continue };
        if let Some(&(_, count)) = INDEXED.iter().find(|row| row.0 == op) {
            indexed(&mut function.function, &mut whole, id, op, count);
        } else if op.result() == OperandKind::Element && op.input(2) == OperandKind::Constant {
            element(function, &mut whole, &mut reads, id, op);
        } else if op.result() == OperandKind::Element {
            texel(&mut function.function, &mut users, resources, id);
        }
    }
    function.function.settle();
}

/// Replaces a component of an index by a lane of the whole index.
fn indexed(
    function: &mut Function,
    whole: &mut FastMap<(ShaderOp, Vec<ValueId>), ValueId>,
    id: ValueId,
    op: ShaderOp,
    count: u16,
) {
    let Some(component) = function.number(function.input(id, 0)).and_then(|number| u8::try_from(number).ok())
    else {
        return;
    };
    if function.lanes(id) != 1 || u16::from(component) >= count {
        return;
    }
    let width = function.width(id);
    let all = *whole.entry((op, Vec::new())).or_insert_with(|| {
        let zero = function.constant(0, 32);
        let all = function.raw(Op::Shader(op), width, BlockId::ENTRY, NO_ADDRESS, &[zero]);
        function.with_lanes(all, count)
    });
    let component = lane(function, BlockId::ENTRY, NO_ADDRESS, all, component);
    function.replace(id, component);
}

/// The reads of elements that have a place among the effects of their block.
struct Reads {
    /// The place of each read.
    places: FastMap<ValueId, Place>,
    /// The read of the whole element with these inputs, and the place where it is.
    whole: FastMap<(ShaderOp, Vec<ValueId>), (ValueId, Place)>,
}

/// A place among effects.
#[derive(Clone, Copy)]
struct Place {
    block: BlockId,
    /// How many effects before it may change what is read.
    changes: usize,
    /// How many effects are before it.
    index: usize,
}

impl Reads {
    fn new(function: &Function) -> Self {
        let mut places = FastMap::default();
        for (block, contents) in function.blocks.entries() {
            let mut changes = 0;
            for (index, &effect) in contents.effects.iter().enumerate() {
                changes += usize::from(function.is_barrier(effect));
                if matches!(function.op(effect), Op::Shader(op) if op.result() == OperandKind::Element) {
                    places.insert(effect, Place { block, changes, index });
                }
            }
        }
        Self { places, whole: FastMap::default() }
    }

    /// Returns an earlier read that reads the same as one at the place of `id`.
    fn earlier(&self, id: ValueId, key: &(ShaderOp, Vec<ValueId>)) -> Option<ValueId> {
        let (known, at) = self.whole.get(key)?;
        let here = self.places.get(&id)?;
        let is_same = (at.block, at.changes) == (here.block, here.changes) && at.index < here.index;
        is_same.then_some(*known)
    }
}

/// Replaces components of an element by lanes of the whole element.
fn element(
    function: &mut ShaderFunction,
    whole: &mut FastMap<(ShaderOp, Vec<ValueId>), ValueId>,
    reads: &mut Reads,
    id: ValueId,
    op: ShaderOp,
) {
    let code = &mut function.function;
    let Some(number) = code.number(code.input(id, 0)).and_then(|number| usize::try_from(number).ok()) else {
        return;
    };
    let Some(column) = code.number(code.input(id, 2)).and_then(|number| u8::try_from(number).ok()) else {
        return;
    };
    let elements = match op {
        ShaderOp::LoadOutputControlPoint => &function.outputs,
        ShaderOp::LoadPatchConstant => &function.patch,
        _ => &function.inputs,
    };
    let Some(columns) = elements.get(number).map(|element| u16::from(element.columns)) else { return };
    if columns < 2 || code.lanes(id) == columns && column == 0 {
        return;
    }
    let lanes = code.lanes(id);
    let mut inputs = code.inputs(id).to_vec();
    inputs[2] = code.constant(0, 32);
    // Constants are equal by their number; they are new for each read.
    let key = (op, inputs.iter().map(|input| canonical(code, *input)).collect::<Vec<ValueId>>());
    let width = code.width(id);
    let is_pure = !Op::Shader(op).is_effect();
    let known = if is_pure { whole.get(&key).copied() } else { reads.earlier(id, &key) };
    let all = known.unwrap_or_else(|| {
        let (block, address) = (code.values[id].block, code.values[id].address);
        let all = code.raw(Op::Shader(op), width, block, address, &inputs);
        code.with_lanes(all, columns);
        if !is_pure {
            let effects = &mut code.blocks[block].effects;
            let at = effects.iter().position(|effect| *effect == id).unwrap_or(effects.len());
            effects.insert(at, all);
            if let Some(&place) = reads.places.get(&id) {
                reads.whole.insert(key, (all, place));
            }
        } else {
            whole.insert(key, all);
        }
        all
    });
    let (block, address) = (code.values[id].block, code.values[id].address);
    let scalars: Vec<ValueId> =
        (0..lanes).map(|index| lane(code, block, address, all, column + index as u8)).collect();
    let found = gather(code, block, address, &scalars);
    code.replace(id, found);
}

/// Returns a value that is the same for equal constants.
fn canonical(function: &Function, id: ValueId) -> ValueId {
    let id = function.resolve(id);
    match function.number(id) {
        // Ids of values are below this.
        Some(number) => ValueId::new(0xc000_0000 | (number as u32 & 0x0fff_ffff)),
        None if function.op(id) == Op::Undefined => ValueId::NONE,
        None => id,
    }
}

/// Gives a texel as many lanes as the type of its resource has.
fn texel(function: &mut Function, users: &mut Users, resources: &IdVec<ResourceId, Resource>, id: ValueId) {
    if matches!(function.op(id), Op::Shader(ShaderOp::Gather)) {
        return;
    }
    let resource = resource_of(function, function.input(id, 0)).and_then(|id| resources.get(id));
    let lanes = match resource.and_then(|resource| resource.element.as_ref()) {
        Some(crate::ir::shader::data_type::DataType::Scalar(_)) => 1,
        Some(crate::ir::shader::data_type::DataType::Vector(_, lanes)) => *lanes,
        _ => return,
    };
    shrink(function, users, id, lanes);
}

/// Gives a value fewer lanes. Lanes that no longer exist are zero, but for the last, which is one, as in hardware.
pub fn shrink(function: &mut Function, users: &mut Users, id: ValueId, lanes: u16) {
    let before = function.lanes(id);
    if lanes >= before {
        return;
    }
    function.with_lanes(id, lanes);
    for user in users.of(function, id) {
        let Op::Lanes(selected) = function.op(user) else { continue };
        let (block, address, width) =
            (function.values[user].block, function.values[user].address, function.width(user));
        let scalars: Vec<ValueId> = selected
            .numbers()
            .to_vec()
            .into_iter()
            .map(|number| match u16::from(number) < lanes {
                true => lane(function, block, address, id, number),
                false => function.constant(0, width),
            })
            .collect();
        let found = gather(function, block, address, &scalars);
        // Users may count the lanes, such as stores.
        let found = broadcast(function, block, address, found, scalars.len() as u16);
        if found != user {
            users.replace(function, user, found);
        }
    }
}
