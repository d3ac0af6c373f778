//! Copies of whole elements of structured buffers.
//!
//! Source code copies an element to a variable, and machine code loads the members that are used. Where several members of
//! one element get variables, with nothing between that may change them, the text has the copy:
//!
//! | before | after |
//! |---|---|
//! | `float3 v0 = buffer[i].p;`, `float v1 = buffer[i].life;` | `P element = buffer[i];`, then `element.p`, `element.life` |
//! | `P element = buffer.Consume();`, `float v0 = element.life;` | `element.life` where `v0` was |
//!
//! Only structures of 32-bit numbers and vectors are copied: compilers load no more of these than what is used.

use super::constant_buffer::Offset;
use super::function::Printer;
use crate::ir::hash::FastMap;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, ScalarKind, StructTypes};
use crate::ir::shader::interface::{Sequence, resource_of};
use crate::ir::{Op, ResourceId, ValueId};

/// Maximum depth of structures in structures.
const MAX_DEPTH: usize = 8;

/// A load that is a member of a copy.
#[derive(Clone, Debug)]
pub(super) struct ElementCopy {
    /// The name of the copy; empty if the element has a name as one that was consumed.
    name: String,
    /// All loads of the copy, at the first of them.
    loads: Vec<ValueId>,
}

/// Loads of one element, in the order of the code.
struct Group {
    resource: ResourceId,
    handle: ValueId,
    index: ValueId,
    loads: Vec<ValueId>,
}

impl Printer<'_> {
    /// Finds the loads that read members of copies.
    pub(super) fn find_copies(&mut self) {
        let schedule = self.schedule;
        let is_load = |id: &ValueId| self.function.op(*id) == Op::Shader(ShaderOp::LoadStructured);
        if !schedule.statements.iter().flatten().any(is_load) {
            return;
        }
        let mut members: FastMap<ValueId, usize> = FastMap::default();
        for id in self.function.values.keys().filter(|id| self.has_variable(*id)) {
            *members.entry(self.variables.of(id)).or_default() += 1;
        }
        for items in schedule.statements.iter() {
            let mut groups: Vec<Group> = Vec::new();
            for &id in items {
                // A variable that other values share is set by the load.
                let is_alone = members.get(&self.variables.of(id)) == Some(&1);
                if is_alone && let Some(group) = self.group_of(id) {
                    match groups.iter_mut().find(|other| self.is_same_element(other, &group)) {
                        Some(other) => other.loads.push(id),
                        None => groups.push(group),
                    }
                } else if self.function.is_barrier(id) {
                    self.keep_groups(&mut groups);
                }
            }
            self.keep_groups(&mut groups);
        }
    }

    /// Returns the group that a load starts, if it may be a member of a copy.
    fn group_of(&self, id: ValueId) -> Option<Group> {
        let function = self.function;
        if function.op(id) != Op::Shader(ShaderOp::LoadStructured) || self.status_of.contains_key(&id) {
            return None;
        }
        let [handle, index, offset] = [0, 1, 2].map(|at| function.input(id, at));
        let resource = resource_of(function, handle)?;
        let element = self.program.resources[resource].element.as_ref()?;
        let is_plain = matches!(element, DataType::Struct(_))
            && is_plain(&self.program.structs, element, 0)
            && function.width(id) == 32
            && self.schedule.uses[id] > 0
            && Offset::in_element(function, offset).terms.is_empty();
        is_plain.then(|| Group { resource, handle, index, loads: vec![id] })
    }

    fn is_same_element(&self, a: &Group, b: &Group) -> bool {
        let function = self.function;
        let is_same = |a: ValueId, b: ValueId| {
            a == b || function.number(a).is_some() && function.number(a) == function.number(b)
        };
        let is_same_handle = || {
            let count = function.inputs(a.handle).len();
            function.op(a.handle) == function.op(b.handle)
                && count == function.inputs(b.handle).len()
                && (0..count).all(|at| is_same(function.input(a.handle, at), function.input(b.handle, at)))
        };
        a.resource == b.resource && is_same(a.index, b.index) && (a.handle == b.handle || is_same_handle())
    }

    /// Keeps the groups that are worth a copy.
    fn keep_groups(&mut self, groups: &mut Vec<Group>) {
        for group in groups.drain(..) {
            let is_consumed = self.naming.is_sequential(group.resource)
                && self.program.resources[group.resource].sequence == Some(Sequence::Consume);
            if !is_consumed && group.loads.len() < 2 {
                continue;
            }
            let name = if is_consumed { String::new() } else { self.names.take("element") };
            let mut loads = group.loads.clone();
            for id in group.loads {
                self.copies.insert(id, ElementCopy { name: name.clone(), loads: std::mem::take(&mut loads) });
            }
        }
    }

    /// Prints the copy that a load is a member of, at the first of its loads. Returns whether it is one.
    pub(super) fn copy_statement(&mut self, id: ValueId) -> bool {
        let Some(copy) = self.copies.get(&id).cloned() else { return false };
        if copy.name.is_empty() || copy.loads.is_empty() {
            return true;
        }
        let addresses = copy.loads.iter().map(|load| self.function.values[*load].address);
        self.output.addresses.extend(addresses.filter(|address| *address != crate::ir::NO_ADDRESS));
        let [handle, index] = [0, 1].map(|at| self.function.input(id, at));
        let Some(element) =
            self.resource_of(handle).and_then(|id| self.program.resources[id].element.clone())
        else {
            return true;
        };
        let ty = self.naming.type_name(&element);
        let text = self.element_text(handle, index, None);
        self.line(&format!("{ty} {} = {text};", copy.name));
        true
    }

    /// Returns the name of the copy that a load is a member of.
    pub(super) fn copy_name(&self, id: ValueId) -> Option<String> {
        self.copies.get(&id).map(|copy| copy.name.clone()).filter(|name| !name.is_empty())
    }
}

/// Returns whether a type consists of 32-bit numbers and vectors of them.
fn is_plain(structs: &StructTypes, ty: &DataType, depth: usize) -> bool {
    match ty {
        DataType::Scalar(scalar) | DataType::Vector(scalar, 1..=4) => {
            scalar.bits == 32 && !scalar.is_minimum && scalar.kind != ScalarKind::Bool
        }
        DataType::Struct(id) => {
            depth < MAX_DEPTH
                && structs[*id].fields.iter().all(|field| is_plain(structs, &field.ty, depth + 1))
        }
        _ => false,
    }
}
