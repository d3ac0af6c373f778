//! Loads and stores of whole matrices in structured buffers.
//!
//! Machine code moves a matrix four numbers at a time. In a language it is loaded and stored whole: loads that cover a
//! matrix together become one with a lane for each entry, in the order of memory; so do stores that follow each other.
//!
//! DXC 1.6 to 1.10 place the entries of 16-bit matrices four bytes apart where they are read or written one by one, but
//! two bytes apart where the matrix is moved whole. So any load of such a matrix becomes one of all its entries.

use super::Context;
use super::users::Users;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, MatrixAt, Packing, StructTypes, matrix_at};
use crate::ir::shader::interface::{Resource, resource_of};
use crate::ir::shader::vector::{broadcast, gather, lane};
use crate::ir::{BlockId, Function, IdVec, Op, ResourceId, ValueId};
use std::collections::BTreeSet;

/// An access to a part of a matrix.
#[derive(Clone, Copy)]
struct Access {
    id: ValueId,
    /// The resource, the index of the element, and where the matrix starts in it.
    place: (ResourceId, ValueId, u32),
    matrix: MatrixAt,
    /// The number of the first entry in memory, and how many entries follow each other.
    first: u32,
    count: u32,
}

impl Access {
    /// Returns an access to a part of a matrix.
    fn of(context: &Context<'_>, function: &Function, id: ValueId) -> Option<Self> {
        let (lanes, width) = match function.op(id) {
            Op::Shader(ShaderOp::LoadStructured) => (function.lanes(id), function.width(id)),
            Op::Shader(ShaderOp::StoreStructured) => {
                let value = function.input(id, 3);
                (function.lanes(value), function.width(value))
            }
            _ => return None,
        };
        let resource = resource_of(function, function.input(id, 0))?;
        let found = context.resources.get(resource)?;
        // The index of a range is another input of the handle.
        let element =
            found.element.as_ref().filter(|_| found.binding.is_some_and(|at| at.count == Some(1)))?;
        let (offset, matrix) = structured_matrix(function, id, element, context.structs)?;
        let bytes = if width == 16 && context.is_minimum { 4 } else { u32::from(width) / 8 };
        let distance = offset - matrix.offset;
        let is_whole_number = bytes == matrix.scalar.bytes() && distance.is_multiple_of(bytes.max(1));
        let (first, count) = (distance / bytes.max(1), u32::from(lanes));
        let fits = is_whole_number && first + count <= u32::from(matrix.entries());
        let place = (resource, function.input(id, 1), matrix.offset);
        fits.then_some(Self { id, place, matrix, first, count })
    }
}

/// Returns the offset of an access to a structured buffer, and the matrix of its elements that it starts in.
fn structured_matrix(
    function: &Function,
    id: ValueId,
    element: &DataType,
    structs: &StructTypes,
) -> Option<(u32, MatrixAt)> {
    let offset = match function.op(function.input(id, 2)) {
        Op::Undefined => 0,
        _ => u32::try_from(function.number(function.input(id, 2))?).ok()?,
    };
    Some((offset, matrix_at(element, offset, Packing::Structured, structs)?))
}

/// Returns the matrix that a load or store of a structured buffer moves whole; `lanes` is the number of its lanes.
///
/// A load whose status is used is none: DXC loads a matrix row by row then, whatever its order is.
pub fn whole_matrix(
    function: &Function,
    id: ValueId,
    lanes: u16,
    resources: &IdVec<ResourceId, Resource>,
    structs: &StructTypes,
) -> Option<MatrixAt> {
    let resource = resources.get(resource_of(function, function.input(id, 0))?)?;
    let (offset, matrix) = structured_matrix(function, id, resource.element.as_ref()?, structs)?;
    (offset == matrix.offset && lanes == matrix.entries()).then_some(matrix)
}

/// Runs the pass.
pub fn run(function: &mut Function, context: &Context<'_>) {
    let mut users = Users::default();
    let has_status = accesses_with_status(function);
    for block in function.blocks.keys().collect::<Vec<_>>() {
        let effects = function.blocks[block].effects.clone();
        let is_load = |id: ValueId| function.op(id) == Op::Shader(ShaderOp::LoadStructured);
        let accesses: Vec<Option<Access>> =
            effects.iter().map(|id| Access::of(context, function, *id)).collect();
        if accesses.iter().all(Option::is_none) {
            continue;
        }
        let mut loads: Vec<Vec<Access>> = Vec::new();
        let mut stores: Vec<Vec<Access>> = Vec::new();
        // Groups from here on may still grow.
        let (mut first_load, mut open_store) = (0, false);
        for (id, access) in effects.iter().zip(&accesses) {
            match access {
                Some(access) if is_load(*id) => {
                    let known = loads[first_load..].iter_mut().find(|group| group[0].place == access.place);
                    match known {
                        Some(group) => group.push(*access),
                        None => loads.push(vec![*access]),
                    }
                    open_store = false;
                }
                Some(access) => {
                    match stores.last_mut().filter(|group| open_store && group[0].place == access.place) {
                        Some(group) => group.push(*access),
                        None => stores.push(vec![*access]),
                    }
                    open_store = true;
                    first_load = loads.len();
                }
                None => {
                    if function.is_kept(*id) || function.is_barrier(*id) {
                        first_load = loads.len();
                    }
                    open_store = false;
                }
            }
        }
        for group in loads {
            if !group.iter().any(|access| has_status.contains(&access.id)) {
                merge_loads(function, &mut users, block, &group);
            }
        }
        for group in stores {
            merge_stores(function, block, &group);
        }
    }
    function.settle();
}

/// Returns the accesses whose status is used.
pub fn accesses_with_status(function: &Function) -> BTreeSet<ValueId> {
    let results = function.values.keys().filter(|id| matches!(function.op(*id), Op::Result(_)));
    results.map(|id| function.input(id, 0)).collect()
}

/// Returns the access that has each entry of a matrix: the last one of several. `None` where none has it.
fn owners(group: &[Access]) -> Vec<Option<Access>> {
    let mut owners = vec![None; usize::from(group[0].matrix.entries())];
    for access in group {
        for entry in access.first..access.first + access.count {
            owners[entry as usize] = Some(*access);
        }
    }
    owners
}

fn merge_loads(function: &mut Function, users: &mut Users, block: BlockId, group: &[Access]) {
    let matrix = group[0].matrix;
    let is_covered = owners(group).iter().all(Option::is_some);
    let is_short = matrix.scalar.bits == 16 && matrix.scalar.bytes() == 2;
    let has_one_line = matrix.rows.min(matrix.columns) < 2;
    if has_one_line || !is_covered && !is_short {
        return;
    }
    let first = group[0].id;
    let (width, address) = (function.width(first), function.values[first].address);
    let mut inputs = function.inputs(first).to_vec();
    inputs[2] = function.constant(u64::from(matrix.offset), 32);
    let whole = function.raw(function.op(first), width, block, address, &inputs);
    function.with_lanes(whole, matrix.entries());
    let ids: Vec<ValueId> = group.iter().map(|access| access.id).collect();
    let effects = &mut function.blocks[block].effects;
    let Some(at) = effects.iter().position(|effect| *effect == first) else { return };
    effects[at] = whole;
    effects.retain(|effect| !ids.contains(effect));
    for access in group {
        let lanes = access.first..access.first + access.count;
        let scalars: Vec<ValueId> =
            lanes.map(|number| lane(function, block, address, whole, number as u8)).collect();
        // Lanes of the part are lanes of the matrix.
        for user in users.of(function, access.id) {
            let Op::Lanes(selected) = function.op(user) else { continue };
            let picked: Vec<ValueId> =
                selected.numbers().iter().map(|number| scalars[usize::from(*number)]).collect();
            let (block, address) = (function.values[user].block, function.values[user].address);
            let found = gather(function, block, address, &picked);
            let found = broadcast(function, block, address, found, picked.len() as u16);
            users.replace(function, user, found);
        }
        let part = gather(function, block, address, &scalars);
        let part = broadcast(function, block, address, part, access.count as u16);
        users.replace(function, access.id, part);
    }
}

fn merge_stores(function: &mut Function, block: BlockId, group: &[Access]) {
    let matrix = group[0].matrix;
    let has_one_line = matrix.rows.min(matrix.columns) < 2;
    let owners: Option<Vec<Access>> = owners(group).into_iter().collect();
    let Some(owners) = owners.filter(|_| !has_one_line && group.len() > 1) else { return };
    let last = group[group.len() - 1].id;
    let address = function.values[last].address;
    let mut scalars = Vec::with_capacity(owners.len());
    for (entry, access) in (0..).zip(&owners) {
        let value = function.input(access.id, 3);
        scalars.push(lane(function, block, address, value, (entry - access.first) as u8));
    }
    let value = gather(function, block, address, &scalars);
    let value = broadcast(function, block, address, value, matrix.entries());
    let mut inputs = function.inputs(last).to_vec();
    inputs[2] = function.constant(u64::from(matrix.offset), 32);
    inputs[3] = value;
    let whole = function.raw(function.op(last), 0, block, address, &inputs);
    let ids: Vec<ValueId> = group.iter().map(|access| access.id).collect();
    let effects = &mut function.blocks[block].effects;
    let Some(at) = effects.iter().position(|effect| *effect == last) else { return };
    effects[at] = whole;
    effects.retain(|effect| !ids.contains(effect));
}
