//! Stores of single components as stores of vectors.
//!
//! Machine code stores an output component by component. Stores to neighbouring columns of the same row, with nothing
//! in between that could see the difference, become one at the place of the last.

use crate::ir::shader::ShaderOp;
use crate::ir::shader::vector::gather;
use crate::ir::{BlockId, Function, Op, ValueId};

/// Runs the pass.
pub fn run(function: &mut Function) {
    for block in function.blocks.keys().collect::<Vec<_>>() {
        let effects = function.blocks[block].effects.clone();
        let mut merged: Vec<ValueId> = Vec::with_capacity(effects.len());
        // Stores that wait for their neighbours.
        let mut waiting: Vec<Store> = Vec::new();
        for effect in effects {
            match store(function, effect) {
                Some(found) => waiting.push(found),
                None => {
                    if !is_unrelated(function, effect) {
                        flush(function, block, &mut waiting, &mut merged);
                    }
                    merged.push(effect);
                }
            }
        }
        flush(function, block, &mut waiting, &mut merged);
        function.blocks[block].effects = merged;
    }
}

/// A store of one component or several.
struct Store {
    id: ValueId,
    op: ShaderOp,
    /// Element and row, and the vertex or primitive.
    place: (u64, ValueId, ValueId),
    column: u64,
    value: ValueId,
}

fn store(function: &Function, id: ValueId) -> Option<Store> {
    let Op::Shader(op) = function.op(id) else { return None };
    let is_store = matches!(
        op,
        ShaderOp::StoreOutput
            | ShaderOp::StorePatchConstant
            | ShaderOp::StoreVertexOutput
            | ShaderOp::StorePrimitiveOutput
    );
    if !is_store {
        return None;
    }
    let row = function.input(id, 1);
    // Rows and vertices with constant numbers are equal by number.
    let row = function.number(row).map_or(row, |number| ValueId::new(0xc000_0000 | number as u32));
    let vertex = match function.input(id, 4) {
        ValueId::NONE => ValueId::NONE,
        vertex => function.number(vertex).map_or(vertex, |number| ValueId::new(0xc000_0000 | number as u32)),
    };
    Some(Store {
        id,
        op,
        place: (function.number(function.input(id, 0))?, row, vertex),
        column: function.number(function.input(id, 2))?,
        value: function.input(id, 3),
    })
}

/// Returns whether an effect neither reads outputs nor ends what they are for.
fn is_unrelated(function: &Function, id: ValueId) -> bool {
    !function.op(id).is_kept()
}

/// Appends the waiting stores, merged, in the order of the first of each place.
fn flush(function: &mut Function, block: BlockId, waiting: &mut Vec<Store>, merged: &mut Vec<ValueId>) {
    while !waiting.is_empty() {
        let (op, place) = (waiting[0].op, waiting[0].place);
        let mut group = Vec::new();
        let mut index = 0;
        while index < waiting.len() {
            if waiting[index].op == op && waiting[index].place == place {
                group.push(waiting.remove(index));
            } else {
                index += 1;
            }
        }
        merge(function, block, group, merged);
    }
}

/// Merges stores to the same place: runs of neighbouring columns become one store.
fn merge(function: &mut Function, block: BlockId, group: Vec<Store>, merged: &mut Vec<ValueId>) {
    // Of several stores to a column, the last counts.
    let mut columns: Vec<(u64, ValueId, ValueId)> = Vec::new();
    for store in group {
        let lanes = u64::from(function.lanes(store.value));
        for index in 0..lanes {
            let address = function.values[store.id].address;
            let value = crate::ir::shader::vector::lane(function, block, address, store.value, index as u8);
            columns.retain(|known| known.0 != store.column + index);
            columns.push((store.column + index, value, store.id));
        }
    }
    columns.sort_by_key(|known| known.0);
    let mut at = 0;
    while at < columns.len() {
        let run = (at..columns.len())
            .take_while(|index| columns[*index].0 == columns[at].0 + (index - at) as u64)
            .count();
        let part = &columns[at..at + run];
        let scalars: Vec<ValueId> = part.iter().map(|known| known.1).collect();
        let id = part.iter().map(|known| known.2).max().unwrap_or(ValueId::NONE);
        let address = function.values[id].address;
        let mut value = gather(function, block, address, &scalars);
        if run > 1 && function.lanes(value) == 1 {
            let width = function.width(value);
            value = function.raw(Op::Vector, width, block, address, &scalars);
            function.with_lanes(value, run as u16);
        }
        let mut inputs = function.inputs(id).to_vec();
        inputs[2] = function.constant(columns[at].0, 32);
        inputs[3] = value;
        let op = function.op(id);
        let store = function.raw(op, 0, block, address, &inputs);
        merged.push(store);
        at += run;
    }
}
