//! Makes debug records of calls of `llvm.dbg.value` and the like, as LLVM 19 does with text that has them, and removes
//! the declarations that nothing uses then.

use super::Version;
use super::debug_records::{LOCATION_OPERAND, record_of};
use super::parser::Parser;
use super::removal::{Renumbering, remove_instructions};
use crate::body::DebugRecord;
use crate::ids::{MetadataId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::value::{Operand, OperandKind, ValueKind};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

impl Parser<'_> {
    /// Makes records of the calls in all bodies.
    pub(super) fn finish_debug_calls(&mut self) {
        if self.version != Version::Llvm19 || !self.metadata.debug_intrinsics {
            return;
        }
        let mut callees = BTreeSet::new();
        for at in 0..self.bodies.len() {
            self.debug_calls(at, &mut callees);
        }
        self.remove_unused(&callees);
    }

    /// Returns the record that a call becomes, if it has the operands of one.
    fn record(
        &self,
        body: usize,
        instruction: &Instruction,
        location: MetadataId,
    ) -> Option<(ValueId, DebugRecord)> {
        let (callee, arguments) = self.bodies.get(body)?.operands_of(instruction).split_first()?;
        let callee = callee.as_value().filter(|_| instruction.opcode == Opcode::Call)?;
        let ValueKind::Function(index) = self.module.value(None, callee)?.kind else { return None };
        let function = self.module.functions.get(index as usize)?;
        let (code, places) = record_of(&function.symbol.name)?;
        if arguments.len() + 1 != places.len() {
            return None;
        }
        let mut operands = alloc::vec![0; places.len()];
        for (argument, &place) in arguments.iter().zip(&places) {
            let OperandKind::Metadata(id) = argument.kind() else { return None };
            *operands.get_mut(place)? = u64::from(id.0);
        }
        *operands.get_mut(LOCATION_OPERAND)? = u64::from(location.0);
        Some((callee, DebugRecord { before: 0, code, operands }))
    }

    fn debug_calls(&mut self, at: usize, callees: &mut BTreeSet<ValueId>) {
        let attached = self.metadata.locations.get(at).map_or(&[][..], Vec::as_slice);
        let locations: BTreeMap<u32, MetadataId> =
            attached.iter().map(|attached| (attached.instruction, attached.node)).collect();
        let Some(body) = self.bodies.get(at) else { return };
        let made: Vec<Option<(ValueId, DebugRecord)>> = (0u32..)
            .zip(&body.instructions)
            .map(|(number, instruction)| self.record(at, instruction, *locations.get(&number)?))
            .collect();
        let renumbering = Renumbering::new(made.iter().map(Option::is_none));
        if renumbering.is_identity() {
            return;
        }
        let Some(body) = self.bodies.get_mut(at) else { return };
        remove_instructions(at, body, &renumbering, &mut self.uses.order, &mut self.positions);
        for (number, (callee, record)) in
            (0u32..).zip(made).filter_map(|(number, made)| Some((number, made?)))
        {
            callees.insert(callee);
            body.debug_records.push(DebugRecord { before: renumbering.now(number).0, ..record });
        }
        if let Some(attached) = self.metadata.locations.get_mut(at) {
            attached.retain_mut(|attached| {
                let (new, stays) = renumbering.now(attached.instruction);
                attached.instruction = new;
                stays
            });
        }
    }

    /// Removes functions that nothing uses any more.
    fn remove_unused(&mut self, callees: &BTreeSet<ValueId>) {
        let mut unused = callees.clone();
        for body in &self.bodies {
            let operands = body.instructions.iter().flat_map(|instruction| body.operands_of(instruction));
            for used in operands.filter_map(|operand: &Operand| operand.as_value()) {
                unused.remove(&used);
            }
        }
        let (mut numbers, mut next) = (Vec::new(), 0u32);
        self.module.functions.retain(|function| {
            let stays = !unused.contains(&function.symbol.value);
            numbers.push(stays.then_some(next));
            next += u32::from(stays);
            stays
        });
        self.renumber_functions(&numbers);
    }
}
