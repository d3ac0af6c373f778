//! The numbers of values: a walk through constants and bodies.

use super::metadata::{Locality, MODULE};
use super::{Numbered, Numbering, STARTED};
use crate::body::DebugRecord;
use crate::global::Function;
use crate::ids::{TypeId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::{Operand, OperandKind, Value, ValueKind};
use crate::write::Version;
use crate::write::debug_records::{DebugParts, Place};
use crate::write::operands;
use crate::write::source::{Key, Scope};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

impl Numbering<'_, '_> {
    /// Counts a use of a value, and numbers it after its operands unless it has a number.
    pub(super) fn add_value(&mut self, key: Key) -> Result<()> {
        let mut stack = Vec::new();
        self.begin_value(key, &mut stack)?;
        while let Some((key, next)) = stack.last_mut() {
            let (key, at) = (*key, *next);
            *next += 1;
            let value = self.source.value(key)?;
            let operand = self.source.constant(key, value).and_then(|(constant, constants)| {
                self.source.operands_of(constant, constants).as_slice().get(at).copied()
            });
            match operand {
                Some(operand) => self.begin_value(self.source.value_key(key.scope, operand)?, &mut stack)?,
                None => {
                    stack.pop();
                    if let Some(ty) = self.source.element_type(key, value) {
                        self.add_type(ty)?;
                    }
                    self.push_value(key, value.ty);
                }
            }
        }
        Ok(())
    }

    /// Counts a use of a value. A new one is numbered if it has no operands, else it is put on the stack.
    fn begin_value(&mut self, key: Key, stack: &mut Vec<(Key, usize)>) -> Result<()> {
        let id = self.value_ids.get(key.index()).copied().unwrap_or(STARTED);
        if id == STARTED {
            return Err(Error::without_offset(ErrorKind::BadValue, "constant contains itself"));
        }
        if let Some(at) = id.checked_sub(1) {
            if let Some(numbered) = self.values.get_mut(at as usize) {
                numbered.uses += 1;
            }
            return Ok(());
        }
        let value = self.source.value(key)?;
        self.add_type(value.ty)?;
        let has_operands = self.source.constant(key, value).is_some_and(|(constant, constants)| {
            !self.source.operands_of(constant, constants).as_slice().is_empty()
        });
        if has_operands {
            self.set_value(key, STARTED);
            stack.push((key, 0));
        } else {
            self.push_value(key, value.ty);
        }
        Ok(())
    }

    fn push_value(&mut self, key: Key, ty: TypeId) {
        self.values.push(Numbered { key, ty, uses: 1 });
        self.set_value(key, narrow(self.values.len() as u64));
    }

    fn set_value(&mut self, key: Key, id: u32) {
        if let Some(slot) = self.value_ids.get_mut(key.index()) {
            *slot = id;
        }
    }

    /// Numbers the types of an operand and of all constants in it.
    fn add_operand_type(&mut self, key: Key) -> Result<()> {
        let mut stack = alloc::vec![(key, 0)];
        while let Some((key, next)) = stack.last_mut() {
            let (key, at) = (*key, *next);
            *next += 1;
            let value = self.source.value(key)?;
            if at == 0 {
                self.add_type(value.ty)?;
                let numbered = self.value_ids.get(key.index()).is_some_and(|&id| id != 0);
                let typed = core::mem::replace(self.typed.get_mut(key.index()).unwrap_or(&mut true), true);
                if typed || numbered {
                    stack.pop();
                    continue;
                }
            }
            let Some((constant, constants)) = self.source.constant(key, value) else {
                stack.pop();
                continue;
            };
            match self.source.operands_of(constant, constants).as_slice().get(at) {
                Some(&operand) => stack.push((self.source.value_key(key.scope, operand)?, 0)),
                None => {
                    stack.pop();
                    if let Some(ty) = self.source.element_type(key, value) {
                        self.add_type(ty)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Numbers the types, attributes and metadata that a body refers to.
    pub(super) fn add_body(&mut self, scope: Scope, function: &Function) -> Result<()> {
        let Some(body) = self.source.body(scope) else { return Ok(()) };
        let owner = self.owner_of(function)?;
        let attached = [&function.symbol.attachments[..], &body.function_attachments].concat();
        self.add_attached(owner, scope, &attached)?;
        let label = self.source.intern(Type::Label);
        let mut attachments = body.attachments.iter().peekable();
        let mut records = body.debug_records.iter().peekable();
        for (index, instruction) in body.listed_instructions() {
            while let Some(record) = records.next_if(|record| record.before <= index) {
                self.add_debug_record(owner, scope, record)?;
            }
            let mut outcome = Ok(());
            operands::for_each(body, instruction, |operand| {
                if outcome.is_ok() {
                    outcome = self.add_operand(owner, scope, label, operand);
                }
            });
            outcome?;
            self.add_instruction_types(scope, instruction)?;
            while let Some((_, attached)) = attachments.next_if(|(at, _)| *at <= index) {
                self.add_attached(owner, scope, attached.of(&body.attached))?;
            }
            let location =
                (instruction.location as usize).checked_sub(1).and_then(|at| body.locations.get(at));
            if let Some(location) = location {
                for id in [location.scope, location.inlined_at].into_iter().filter(|id| id.is_some()) {
                    self.add_metadata(owner, scope, id)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the owner of metadata that only a function refers to.
    pub(in crate::write) fn owner_of(&self, function: &Function) -> Result<u32> {
        match self.version {
            // All metadata belongs to the module.
            Version::Dxc => Ok(MODULE),
            _ => Ok(self.value(Scope::MODULE, function.symbol.value)? + 1),
        }
    }

    fn add_operand(&mut self, owner: u32, scope: Scope, label: TypeId, operand: Operand) -> Result<()> {
        match operand.kind() {
            OperandKind::Value(id) => {
                let key = self.source.value_key(scope, id)?;
                // Most operands are results, or constants that were met before.
                if self.typed.get(key.index()) == Some(&true) {
                    return Ok(());
                }
                self.add_operand_type(key)
            }
            OperandKind::Block(_) => self.add_type(label),
            OperandKind::Metadata(id) => self.add_unless_local(owner, self.source.metadata_key(scope, id)?),
        }
    }

    /// Numbers metadata, unless it wraps values of the function; of a list of values, those that do not.
    fn add_unless_local(&mut self, owner: u32, key: Key) -> Result<()> {
        match self.locality_of_key(key)? {
            Locality::Module => self.add_metadata_of_key(owner, key)?,
            Locality::Local(_) => {}
            Locality::List(key, node) => {
                for id in self.elements_of(key, node)? {
                    if matches!(self.locality(key.scope, id)?, Locality::Module) {
                        self.add_metadata(owner, key.scope, id)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add_debug_record(&mut self, owner: u32, scope: Scope, record: &DebugRecord) -> Result<()> {
        let parts = DebugParts::of(record)?;
        if let Some(place) = parts.place {
            self.add_unless_local(owner, self.place_key(scope, place)?)?;
        }
        for id in parts.nodes() {
            self.add_metadata(owner, scope, id)?;
        }
        if let Some(assignment) = parts.assignment {
            self.add_unless_local(owner, self.source.metadata_key(scope, assignment.address)?)?;
            self.add_metadata(owner, scope, assignment.id)?;
            self.add_metadata(owner, scope, assignment.expression)?;
        }
        Ok(())
    }

    /// Returns the metadata that wraps the value of a variable.
    pub(in crate::write) fn place_key(&self, scope: Scope, place: Place) -> Result<Key> {
        match place {
            Place::Metadata(id) => self.source.metadata_key(scope, id),
            Place::Value(id) => {
                let value = self.source.value_key(scope, id)?;
                self.wrappers.get(&value.key).copied().ok_or_else(|| {
                    Error::without_offset(ErrorKind::BadValue, "value of a debug record has no metadata")
                })
            }
        }
    }

    fn add_instruction_types(&mut self, scope: Scope, instruction: &Instruction) -> Result<()> {
        match instruction.opcode {
            Opcode::ShuffleVector => {
                let mask = self.mask(scope, instruction)?;
                let ty = self.source.value(mask)?.ty;
                self.add_type(ty)?;
            }
            Opcode::GetElementPtr | Opcode::Alloca => self.add_type(TypeId(instruction.detail))?,
            _ => {}
        }
        self.add_type(instruction.ty)?;
        if let Opcode::Call | Opcode::Invoke | Opcode::CallBr = instruction.opcode
            && let Some(call) =
                self.source.body(scope).and_then(|body| body.calls.get(instruction.detail as usize))
        {
            self.add_attributes(call.attributes)?;
            self.add_type(call.function_type)?;
        }
        Ok(())
    }

    /// Returns the mask of a `shufflevector`.
    fn mask(&self, scope: Scope, instruction: &Instruction) -> Result<Key> {
        let operands = self.source.body(scope).map_or(&[][..], |body| body.operands_of(instruction));
        match operands.get(2).and_then(|mask| mask.as_value()) {
            Some(id) => self.source.value_key(scope, id),
            None => Err(Error::without_offset(ErrorKind::BadValue, "shufflevector has no mask")),
        }
    }

    /// Brings constants into the order in which they are written: by type, those that are used most often first,
    /// and integers before all others.
    pub(super) fn sort_constants(&mut self, start: usize) -> Result<()> {
        if !self.sorts || self.values.len() < start + 2 {
            return Ok(());
        }
        let constants = self.values.get(start..).unwrap_or_default();
        let mut order = Vec::with_capacity(constants.len());
        for (at, &value) in constants.iter().enumerate() {
            let is_integer =
                matches!(self.source.types.get(self.source.types.scalar(value.ty)), Type::Integer(_));
            order.push((!is_integer, self.types.get(value.ty)?, core::cmp::Reverse(value.uses), at, value));
        }
        if self.version == Version::Dxc {
            order.sort_unstable_by_key(|&(_, ty, uses, at, _)| (ty, uses, at));
            partition(&mut order, |&(other, ..)| !other);
        } else {
            order.sort_unstable_by_key(|&(other, ty, uses, at, _)| (other, ty, uses, at));
        }
        self.values.truncate(start);
        for (.., value) in order {
            self.values.push(value);
            self.set_value(value.key, narrow(self.values.len() as u64));
        }
        Ok(())
    }

    /// Numbers the values and the metadata of a body. Returns the range of its constants, and the number of the first
    /// result.
    pub(in crate::write) fn enter_body(
        &mut self,
        scope: Scope,
        function: &Function,
    ) -> Result<FunctionNumbers> {
        let Some(body) = self.source.body(scope) else { return Ok(FunctionNumbers::default()) };
        let owner = self.owner_of(function)?;
        self.metadata.enter(owner);
        for (at, value) in (0u32..).zip(&body.values) {
            if let Value { kind: ValueKind::Argument(_), .. } = value {
                let id = crate::ids::ValueId(body.value_base.wrapping_add(at));
                self.add_value(self.source.value_key(scope, id)?)?;
            }
        }
        let first_constant = self.values.len();
        for (_, instruction) in body.listed_instructions() {
            let mut outcome = Ok(());
            operands::for_each(body, instruction, |operand| {
                if outcome.is_ok()
                    && let OperandKind::Value(id) = operand.kind()
                {
                    outcome = self.source.value_key(scope, id).and_then(|key| self.add_if_constant(key));
                }
            });
            outcome?;
            if instruction.opcode == Opcode::ShuffleVector {
                self.add_if_constant(self.mask(scope, instruction)?)?;
            }
        }
        self.sort_constants(first_constant)?;
        let first_result = self.values.len();
        self.add_results(scope)?;
        Ok(FunctionNumbers { owner, constants: first_constant..first_result })
    }

    fn add_if_constant(&mut self, key: Key) -> Result<()> {
        match self.source.value(key)?.kind {
            ValueKind::Constant(_) => self.add_value(key),
            _ => Ok(()),
        }
    }

    /// Numbers the results of instructions, and metadata that wraps values of the function.
    fn add_results(&mut self, scope: Scope) -> Result<()> {
        let Some(body) = self.source.body(scope) else { return Ok(()) };
        let (mut locals, mut lists) = (Vec::new(), Vec::new());
        let mut records = body.debug_records.iter().peekable();
        for (index, instruction) in body.listed_instructions() {
            if operands::may_be_metadata(instruction) {
                let mut outcome = Ok(());
                operands::for_each(body, instruction, |operand| {
                    if outcome.is_ok()
                        && let OperandKind::Metadata(id) = operand.kind()
                    {
                        let key = self.source.metadata_key(scope, id);
                        outcome = key.and_then(|key| self.find_local(key, &mut locals, &mut lists));
                    }
                });
                outcome?;
            }
            while let Some(record) = records.next_if(|record| record.before <= index) {
                let parts = DebugParts::of(record)?;
                if let Some(place) = parts.place {
                    self.find_local(self.place_key(scope, place)?, &mut locals, &mut lists)?;
                }
                if let Some(assignment) = parts.assignment {
                    let address = self.source.metadata_key(scope, assignment.address)?;
                    self.find_local(address, &mut locals, &mut lists)?;
                }
            }
            if !matches!(self.source.types.get(instruction.ty), Type::Void) {
                self.add_value(self.source.value_key(scope, instruction.result)?)?;
            }
        }
        for key in locals {
            self.metadata.add_local(key);
        }
        for key in lists {
            self.metadata.add_local(key);
        }
        Ok(())
    }

    /// Collects metadata that wraps values of the function.
    fn find_local(&self, key: Key, locals: &mut Vec<Key>, lists: &mut Vec<Key>) -> Result<()> {
        match self.locality_of_key(key)? {
            Locality::Module => {}
            Locality::Local(key) => locals.push(key),
            Locality::List(key, node) => {
                lists.push(key);
                for id in self.elements_of(key, node)? {
                    if let Locality::Local(key) = self.locality(key.scope, id)? {
                        locals.push(key);
                    }
                }
            }
        }
        Ok(())
    }

    /// Forgets the numbers of a body.
    pub(in crate::write) fn leave_body(&mut self) {
        for at in self.module_values..self.values.len() {
            if let Some(&Numbered { key, .. }) = self.values.get(at) {
                self.set_value(key, 0);
            }
        }
        self.values.truncate(self.module_values);
        self.metadata.leave();
    }
}

/// Brings the elements for which `is_first` holds to the front, in the way of C++'s `std::partition`: the others are
/// swapped with the last of them, so that only those in front keep their order.
fn partition<T>(list: &mut [T], is_first: impl Fn(&T) -> bool) {
    let (mut start, mut end) = (0, list.len());
    loop {
        while start < end && list.get(start).is_some_and(&is_first) {
            start += 1;
        }
        while start < end && !list.get(end - 1).is_some_and(&is_first) {
            end -= 1;
        }
        if start >= end {
            return;
        }
        list.swap(start, end - 1);
    }
}

/// The numbers in a function.
#[derive(Default)]
pub(in crate::write) struct FunctionNumbers {
    /// What owns its metadata.
    pub(in crate::write) owner: u32,
    /// Its constants.
    pub(in crate::write) constants: core::ops::Range<usize>,
}
