//! Loads of as many words as are used, of one member each.
//!
//! Machine code loads four words at a time, whichever are used. In a language, a load names a member: words that
//! nothing uses are dropped, and a load across members of a structure becomes one load for each.

use super::Context;
use super::matrices::{accesses_with_status, whole_matrix};
use super::users::Users;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{Packing, PathStep, path_at};
use crate::ir::shader::interface::resource_of;
use crate::ir::shader::vector::{broadcast, gather, lane};
use crate::ir::{Function, Op, ValueId};

/// Runs the pass.
pub fn run(function: &mut Function, context: &Context<'_>) {
    let mut users = Users::default();
    let has_status = accesses_with_status(function);
    for id in function.values.keys().collect::<Vec<_>>() {
        if function.is_replaced(id) {
            continue;
        }
        match function.op(id) {
            Op::Shader(ShaderOp::LoadConstant) => scalar_row(function, id),
            Op::Shader(ShaderOp::LoadRaw) => drop_unused(function, &mut users, id),
            // Whole matrices stay whole.
            Op::Shader(ShaderOp::LoadStructured)
                if !has_status.contains(&id)
                    && whole_matrix(function, id, function.lanes(id), context.resources, context.structs)
                        .is_some() => {}
            Op::Shader(ShaderOp::LoadStructured) => {
                drop_unused(function, &mut users, id);
                split(function, &mut users, context, id);
            }
            _ => {}
        }
    }
    function.settle();
}

/// Computes the row of a constant buffer as a number, if it is a lane of a computed vector: then it shows which element of
/// an array it belongs to.
fn scalar_row(function: &mut Function, load: ValueId) {
    let row = function.input(load, 1);
    let scalar = scalar_of(function, row, 0);
    if scalar != row {
        function.set_input(load, 1, scalar);
    }
}

fn scalar_of(function: &mut Function, id: ValueId, depth: usize) -> ValueId {
    let is_arithmetic = |op| matches!(op, Op::Add | Op::Mul | Op::Shl);
    let (op, inputs) = match function.op(id) {
        Op::Lanes(lanes) if lanes.numbers().len() == 1 => {
            let (vector, number) = (function.input(id, 0), lanes.numbers()[0]);
            if !is_arithmetic(function.op(vector)) || function.lanes(vector) == 1 {
                return id;
            }
            let (block, address) = (function.values[id].block, function.values[id].address);
            let inputs = [0, 1].map(|index| {
                let input = function.input(vector, index);
                lane(function, block, address, input, number)
            });
            (function.op(vector), inputs)
        }
        op if is_arithmetic(op) && function.lanes(id) == 1 => {
            (op, [0, 1].map(|index| function.input(id, index)))
        }
        _ => return id,
    };
    if depth > 8 {
        return id;
    }
    let scalars = inputs.map(|input| scalar_of(function, input, depth + 1));
    if function.lanes(id) == 1 && function.op(id) == op && scalars == inputs {
        return id;
    }
    let value = function.values[id];
    function.raw(op, value.width, value.block, value.address, &scalars)
}

/// Returns the users of a value that select lanes; `None` if another one uses it whole.
fn selections(function: &Function, users: &mut Users, id: ValueId) -> Option<Vec<ValueId>> {
    let mut found = Vec::new();
    for user in users.of(function, id) {
        match function.op(user) {
            Op::Lanes(_) => found.push(user),
            Op::Result(_) => {}
            _ => return None,
        }
    }
    Some(found)
}

fn drop_unused(function: &mut Function, users: &mut Users, id: ValueId) {
    if function.lanes(id) == 1 {
        return;
    }
    let Some(selections) = selections(function, users, id) else { return };
    let last = selections.iter().filter_map(|user| match function.op(*user) {
        Op::Lanes(lanes) => lanes.numbers().iter().max().copied(),
        _ => None,
    });
    if let Some(last) = last.max() {
        super::inputs::shrink(function, users, id, u16::from(last) + 1);
    }
}

/// Splits a load of several members.
fn split(function: &mut Function, users: &mut Users, context: &Context<'_>, id: ValueId) {
    let (lanes, width) = (function.lanes(id), function.width(id));
    let resource = resource_of(function, function.input(id, 0)).and_then(|id| context.resources.get(id));
    let Some(element) = resource.and_then(|resource| resource.element.as_ref()) else { return };
    let Some(offset) = function.number(function.input(id, 2)) else { return };
    let bytes = if width == 16 && context.is_minimum { 4 } else { u32::from(width) / 8 };
    // The member of each lane: its path without the lane of a vector.
    let mut groups: Vec<(Vec<PathStep>, Vec<u8>)> = Vec::new();
    for number in 0..lanes {
        let at = (offset as u32).wrapping_add(u32::from(number) * bytes);
        let Some((mut path, _)) = path_at(element, at, Packing::Structured, context.structs) else { return };
        let is_lane = matches!(path.last(), Some(PathStep::Lane(_)));
        if is_lane {
            path.pop();
        }
        match groups.last_mut() {
            Some((known, numbers)) if is_lane && *known == path => numbers.push(number as u8),
            _ => groups.push((path, vec![number as u8])),
        }
    }
    if groups.len() < 2 {
        return;
    }
    let (block, address) = (function.values[id].block, function.values[id].address);
    let mut parts = vec![ValueId::NONE; usize::from(lanes)];
    let mut loads = Vec::new();
    for (_, numbers) in groups {
        let first = numbers[0];
        let mut inputs = function.inputs(id).to_vec();
        inputs[2] = function.constant(offset + u64::from(first) * u64::from(bytes), 32);
        let load = function.raw(function.op(id), width, block, address, &inputs);
        function.with_lanes(load, numbers.len() as u16);
        loads.push(load);
        for (at, number) in (0..).zip(numbers) {
            parts[usize::from(number)] = lane(function, block, address, load, at);
        }
    }
    let effects = &mut function.blocks[block].effects;
    if let Some(at) = effects.iter().position(|effect| *effect == id) {
        effects.splice(at..=at, loads.iter().copied());
    }
    let whole = gather(function, block, address, &parts);
    for user in users.of(function, id) {
        // The status is that of the element, whichever member is loaded.
        if let (Op::Result(_), Some(first)) = (function.op(user), loads.first()) {
            function.set_input(user, 0, *first);
        }
        let Op::Lanes(selected) = function.op(user) else { continue };
        let numbers = selected.numbers().to_vec();
        let scalars: Vec<ValueId> = numbers.iter().map(|number| parts[usize::from(*number)]).collect();
        let (block, address) = (function.values[user].block, function.values[user].address);
        let found = gather(function, block, address, &scalars);
        // Users may count the lanes, such as stores.
        let found = broadcast(function, block, address, found, scalars.len() as u16);
        users.replace(function, user, found);
    }
    users.replace(function, id, whole);
}
