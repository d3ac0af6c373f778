//! Upgrades what a text has of older versions, with the same tables as the printer of files.
//!
//! The upgrade changes a module as that of a file: it adds constants that may be there already, and says of functions
//! where they go. Here equal constants become one, functions get their places, and what is known of instructions moves
//! with them.

use super::Version;
use super::parser::Parser;
use crate::constants::{Constant, NewConstant};
use crate::global::UpgradedPosition;
use crate::ids::{TypeId, ValueId, narrow};
use crate::instruction::Instruction;
use crate::metadata::Metadata;
use crate::print::Dialect;
use crate::print::upgrade::{is_old_text, upgrade_text};
use crate::value::{Operand, Value, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Values that became others.
type Replaced = BTreeMap<ValueId, ValueId>;

/// An instruction that an upgrade made in place of a call. LLVM goes through the functions, and for each through its calls,
/// the last one first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Made {
    /// The function that was called.
    function: u32,
    body: Reverse<usize>,
    /// The number that the call had.
    origin: Reverse<u32>,
    number: u32,
    /// Whether it is the same call, of a function with another name.
    is_same: bool,
}

impl Parser<'_> {
    /// Upgrades the module, if it needs it.
    pub(super) fn finish_upgrades(&mut self) {
        let dialect = match self.version {
            Version::Llvm14 => Dialect::Llvm14,
            Version::Llvm19 => Dialect::Llvm19,
            Version::Dxc => return,
        };
        if !is_old_text(&self.module, &self.bodies, dialect) {
            return;
        }
        let first = narrow(self.module.values.len() as u64);
        let before: Vec<Vec<Instruction>> =
            self.bodies.iter().map(|body| body.instructions.clone()).collect();
        for body in &mut self.bodies {
            body.origins = (0..narrow(body.instructions.len() as u64)).collect();
        }
        (self.module.is_open, self.module.metadata.is_open) = (true, true);
        let mut replaced: Replaced =
            upgrade_text(&mut self.module, &mut self.bodies, dialect).into_iter().collect();
        let mut made = Vec::new();
        for (at, old) in before.iter().enumerate() {
            self.move_notes(at, old, &mut made);
        }
        self.note_made(made);
        self.intern_constants(first, &mut replaced);
        self.replace_values(&replaced);
        self.place_functions();
        self.unite_upgraded();
    }

    /// Gives the instructions of a body the times and positions of those that they were made from, and adds the new
    /// instructions to `made`, by what was called.
    fn move_notes(&mut self, at: usize, old: &[Instruction], made: &mut Vec<Made>) {
        let Some(body) = self.bodies.get_mut(at) else { return };
        let origins = core::mem::take(&mut body.origins);
        let times = self.uses.order.instructions.get(at).map_or(&[][..], Vec::as_slice);
        let positions = self.positions.instructions.get(at).map_or(&[][..], Vec::as_slice);
        let (mut new_times, mut new_positions) = (Vec::new(), Vec::new());
        for (number, (instruction, &origin)) in (0u32..).zip(body.instructions.iter().zip(&origins)) {
            let old = old.get(origin as usize);
            let callee = old.and_then(|old| old.operands.of(&body.operands).first()?.as_value());
            let function =
                match callee.and_then(|callee| self.module.value(None, callee)).map(|value| value.kind) {
                    Some(ValueKind::Function(function)) => {
                        self.module.functions.get(function as usize).map(|of| (function, of))
                    }
                    _ => None,
                };
            let is_changed = function.is_some_and(|(_, of)| of.position != UpgradedPosition::Original);
            if let Some((function, _)) = function.filter(|_| is_changed) {
                let is_same = old.is_some_and(|old| old.operands == instruction.operands);
                made.push(Made { function, body: Reverse(at), origin: Reverse(origin), number, is_same });
            }
            new_times.push(times.get(origin as usize).copied().unwrap_or(0));
            new_positions.push(positions.get(origin as usize).copied().unwrap_or(0));
        }
        if let Some(times) = self.uses.order.instructions.get_mut(at) {
            *times = new_times;
        }
        if let Some(positions) = self.positions.instructions.get_mut(at) {
            *positions = new_positions;
        }
    }

    /// Notes when the instructions were made that the upgrade made, or when their callee was set.
    fn note_made(&mut self, mut made: Vec<Made>) {
        made.sort();
        for one in made {
            let (now, Reverse(at)) = (self.uses.tick(), one.body);
            let number = one.number as usize;
            if !one.is_same {
                let times = self.uses.order.instructions.get_mut(at);
                times.and_then(|times| times.get_mut(number)).into_iter().for_each(|time| *time = now);
            } else if let Some(call) = self.bodies.get(at).and_then(|body| body.instructions.get(number)) {
                self.uses.order.forward.insert((narrow(at as u64), call.operands.start), now);
            }
        }
    }

    /// Makes constants that were added, from the value `first` on, one with equal ones.
    fn intern_constants(&mut self, first: u32, replaced: &mut Replaced) {
        let now = self.uses.tick();
        for id in first..narrow(self.module.values.len() as u64) {
            let Some(&Value { kind: ValueKind::Constant(index), ty }) = self.module.values.get(id as usize)
            else {
                continue;
            };
            if let Some(content) = simple(self.module.constants.get(index)) {
                replaced.insert(ValueId(id), self.interned(ty, &content, now));
            }
        }
        for at in 0..self.bodies.len() {
            let Some(body) = self.bodies.get(at) else { continue };
            let added: Vec<(u32, Constant, Value)> = (crate::body::FunctionBody::UNNUMBERED..)
                .zip(&body.unnumbered)
                .filter_map(|(id, &value)| match value.kind {
                    ValueKind::Constant(index) => Some((id, body.constants.get(index), value)),
                    _ => None,
                })
                .collect();
            let mut own = Replaced::new();
            for (id, constant, value) in added {
                if let Some(content) = simple(constant) {
                    own.insert(ValueId(id), self.interned(value.ty, &content, now));
                }
            }
            if let Some(body) = self.bodies.get_mut(at) {
                replace_operands(&mut body.operands, &own);
            }
        }
    }

    /// Returns the constant of the module with a content and type. Those that the upgrade added were made `now`.
    fn interned(&mut self, ty: TypeId, content: &NewConstant<'_>, now: u32) -> ValueId {
        let count = self.module.constants.len() as usize;
        self.uses.order.constants.resize(count, now);
        self.positions.constants.resize(count, 0);
        self.constant(ty, content)
    }

    /// Replaces values of the module wherever they are used.
    fn replace_values(&mut self, replaced: &Replaced) {
        if replaced.is_empty() {
            return;
        }
        for body in &mut self.bodies {
            replace_operands(&mut body.operands, replaced);
        }
        let entries: Vec<_> = self.module.metadata.iter().collect();
        for (id, entry) in entries {
            if let Metadata::Value { ty, value } = entry
                && let Some(&value) = replaced.get(&value)
            {
                self.module.metadata.replace(id, Metadata::Value { ty, value });
            }
        }
    }

    /// Puts functions where an upgrade wants them, and removes those that became others.
    fn place_functions(&mut self) {
        let functions = core::mem::take(&mut self.module.functions);
        let mut numbers = alloc::vec![None; functions.len()];
        let (mut at_end, mut placed) = (Vec::new(), Vec::new());
        for (old, function) in functions.into_iter().enumerate() {
            match function.position {
                UpgradedPosition::Original => placed.push((old, function)),
                UpgradedPosition::AtEnd => at_end.push((old, function)),
                UpgradedPosition::Replaced => {}
            }
        }
        for (new, (old, mut function)) in (0u32..).zip(placed.into_iter().chain(at_end)) {
            function.position = UpgradedPosition::Original;
            if let Some(slot) = numbers.get_mut(old) {
                *slot = Some(new);
            }
            self.module.functions.push(function);
        }
        self.renumber_functions(&numbers);
    }

    /// Changes the numbers of functions; those without a new one are gone.
    pub(super) fn renumber_functions(&mut self, numbers: &[Option<u32>]) {
        let now = |old: u32| numbers.get(old as usize).copied().flatten();
        for value in &mut self.module.values {
            if let ValueKind::Function(old) = value.kind {
                value.kind = now(old).map_or(ValueKind::Unresolved, ValueKind::Function);
            }
        }
        for body in &mut self.bodies {
            body.function = now(body.function).unwrap_or(body.function);
        }
    }
}

fn replace_operands(operands: &mut [Operand], replaced: &Replaced) {
    for operand in operands {
        if let Some(&value) = operand.as_value().and_then(|value| replaced.get(&value)) {
            *operand = Operand::value(value);
        }
    }
}

/// Returns the content of a constant without operands.
fn simple(constant: Constant) -> Option<NewConstant<'static>> {
    match constant {
        Constant::Integer(number) if number != 0 => Some(NewConstant::Integer(number)),
        Constant::Integer(_) | Constant::Null => Some(NewConstant::Null),
        Constant::Undef => Some(NewConstant::Undef),
        Constant::Poison => Some(NewConstant::Poison),
        _ => None,
    }
}
