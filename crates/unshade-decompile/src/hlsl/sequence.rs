//! Buffers to which elements are appended, and from which they are consumed.
//!
//! Machine code increments or decrements the counter of the buffer, and accesses the element with that number. The language
//! has `AppendStructuredBuffer` and `ConsumeStructuredBuffer` for that, whose elements have no numbers:
//!
//! | code | text |
//! |---|---|
//! | one store of a whole number or vector | `buffer.Append(value);` |
//! | several stores | `Data element;`, its members, `buffer.Append(element);` |
//! | loads | `Data element = buffer.Consume();` |
//! | no load | `buffer.Consume();` |
//!
//! A buffer that is accessed in another way as well is declared as one with a counter.

use super::function::Printer;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::DataType;
use crate::ir::shader::interface::{Sequence, ShaderProgram, resource_of};
use crate::ir::{Function, Op, ResourceId, ValueId};
use crate::shader::users::Users;
use std::collections::BTreeSet;

/// The element of a buffer while a function fills or reads it.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// Its name; empty if it is stored at once.
    name: String,
    /// The stores that are still to come.
    stores: usize,
}

/// Returns the buffers that all functions access only by appending or consuming.
pub(super) fn buffers(program: &ShaderProgram) -> BTreeSet<ResourceId> {
    let wanted = program.resources.entries().filter(|(_, resource)| resource.sequence.is_some());
    let mut found: BTreeSet<ResourceId> = wanted.map(|(id, _)| id).collect();
    if found.is_empty() {
        return found;
    }
    for function in &program.functions {
        let function = &function.function;
        let mut users = Users::default();
        for id in function.values.keys().filter(|id| !function.is_replaced(*id)) {
            if let Some(resource) = accessed(function, id).filter(|resource| found.contains(resource))
                && !is_sequential(program, function, &mut users, resource, id)
            {
                found.remove(&resource);
            }
        }
    }
    found
}

/// Returns the resource that a value accesses.
fn accessed(function: &Function, id: ValueId) -> Option<ResourceId> {
    let Op::Shader(_) = function.op(id) else { return None };
    resource_of(function, function.input(id, 0))
}

/// Returns whether a value accesses an element that it appends or consumes, or is the number of one.
fn is_sequential(
    program: &ShaderProgram,
    function: &Function,
    users: &mut Users,
    resource: ResourceId,
    id: ValueId,
) -> bool {
    let op = match program.resources[resource].sequence {
        Some(Sequence::Append) => ShaderOp::StoreStructured,
        _ => ShaderOp::LoadStructured,
    };
    if function.op(id) == Op::Shader(ShaderOp::UpdateCounter) {
        let users = users.of(function, id);
        let is_element = |user: &ValueId| {
            function.op(*user) == Op::Shader(op)
                && function.values[*user].block == function.values[id].block
                && function.input(*user, 1) == id
                && accessed(function, *user) == Some(resource)
        };
        // What is appended has to be stored; what is consumed may be dropped.
        return (op == ShaderOp::LoadStructured || !users.is_empty()) && users.iter().all(is_element);
    }
    let number = (function.op(id) == Op::Shader(op)).then(|| function.input(id, 1));
    number.is_some_and(|number| {
        function.op(number) == Op::Shader(ShaderOp::UpdateCounter)
            && accessed(function, number) == Some(resource)
    })
}

impl Printer<'_> {
    /// Prints the number of an element that is appended or consumed. Returns whether it is one.
    pub(super) fn element_statement(&mut self, id: ValueId) -> bool {
        let resource = accessed(self.function, id).filter(|resource| self.naming.is_sequential(*resource));
        let Some(resource) = resource else { return false };
        let object = self.handle(self.function.input(id, 0));
        let found = &self.program.resources[resource];
        let Some(ty) = found.element.clone() else { return false };
        let name = self.naming.type_name(&ty);
        if found.sequence == Some(Sequence::Consume) {
            if self.schedule.uses[id] == 0 {
                self.line(&format!("{object}.Consume();"));
                return true;
            }
            let element = self.names.take("element");
            self.line(&format!("{name} {element} = {object}.Consume();"));
            self.elements.insert(id, Element { name: element, stores: 0 });
            return true;
        }
        let stores = self.users.of(self.function, id);
        let is_whole = match (&ty, &stores[..]) {
            (DataType::Scalar(_) | DataType::Vector(..), [store]) => {
                let lanes = if let DataType::Vector(_, lanes) = ty { lanes } else { 1 };
                self.function.lanes(self.function.input(*store, 3)) == lanes
            }
            _ => false,
        };
        let mut element = Element { name: String::new(), stores: stores.len() };
        if !is_whole {
            element.name = self.names.take("element");
            self.line(&format!("{name} {};", element.name));
        }
        self.elements.insert(id, element);
        true
    }

    /// Returns the name of an element that is appended or consumed, by its number.
    pub(super) fn element_name(&self, number: ValueId) -> Option<String> {
        self.elements.get(&number).map(|element| element.name.clone()).filter(|name| !name.is_empty())
    }

    /// Returns the names of all elements that are read.
    pub(super) fn element_names(&self) -> BTreeSet<String> {
        let consumed = self.elements.keys().filter_map(|number| self.element_name(*number));
        consumed.chain(self.copies.keys().filter_map(|load| self.copy_name(*load))).collect()
    }

    /// Returns whether a store appends a whole element.
    pub(super) fn is_appended_whole(&self, number: ValueId) -> bool {
        self.elements.get(&number).is_some_and(|element| element.name.is_empty())
    }

    /// Appends an element after its last store.
    pub(super) fn after_store(&mut self, handle: ValueId, number: ValueId) {
        let Some(element) = self.elements.get_mut(&number) else { return };
        element.stores = element.stores.saturating_sub(1);
        let name = element.name.clone();
        if element.stores == 0 && !name.is_empty() {
            let object = self.handle(handle);
            self.line(&format!("{object}.Append({name});"));
        }
    }
}
