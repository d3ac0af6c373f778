//! Makes debug records of calls of `llvm.dbg.value` and the like, as LLVM 19 does with text that has them, and removes
//! the declarations that nothing uses then.

use super::Version;
use super::debug_records::{LOCATION_OPERAND, record_of};
use super::parser::Parser;
use crate::body::DebugRecord;
use crate::ids::{MetadataId, Slice, ValueId, narrow};
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
        // The new number of each instruction that stays, and of the next one after each that does not.
        let mut numbers = Vec::with_capacity(body.instructions.len());
        let (mut kept, mut records) = (Vec::new(), Vec::new());
        for (number, instruction) in (0u32..).zip(&body.instructions) {
            let next = narrow(kept.len() as u64);
            let record = locations.get(&number).and_then(|&location| self.record(at, instruction, location));
            numbers.push((next, record.is_none()));
            match record {
                Some((callee, record)) => {
                    callees.insert(callee);
                    records.push(DebugRecord { before: next, ..record });
                }
                None => kept.push(*instruction),
            }
        }
        if records.is_empty() {
            return;
        }
        let now = |number: u32| numbers.get(number as usize).map_or((number, true), |&now| now);
        let all = narrow(kept.len() as u64);
        let Some(body) = self.bodies.get_mut(at) else { return };
        body.instructions = kept;
        body.debug_records = records;
        let start_of = |number: u32| numbers.get(number as usize).map_or(all, |now| now.0);
        for block in &mut body.blocks {
            let (start, end) = (start_of(block.start), start_of(block.start.saturating_add(block.count)));
            *block = Slice { start, count: end.saturating_sub(start) };
        }
        for value in &mut body.values {
            if let ValueKind::Instruction(number) = &mut value.kind {
                *number = now(*number).0;
            }
        }
        body.attachments.retain_mut(|(number, _)| {
            let (new, stays) = now(*number);
            *number = new;
            stays
        });
        if let Some(attached) = self.metadata.locations.get_mut(at) {
            attached.retain_mut(|attached| {
                let (new, stays) = now(attached.instruction);
                attached.instruction = new;
                stays
            });
        }
        if let Some(times) = self.uses.order.instructions.get_mut(at) {
            let mut stays = numbers.iter().map(|number| number.1);
            times.retain(|_| stays.next().unwrap_or(true));
        }
        if let Some(positions) = self.positions.instructions.get_mut(at) {
            let mut stays = numbers.iter().map(|number| number.1);
            positions.retain(|_| stays.next().unwrap_or(true));
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
            numbers.push((next, stays));
            next += u32::from(stays);
            stays
        });
        for value in &mut self.module.values {
            if let ValueKind::Function(number) = value.kind {
                value.kind = match numbers.get(number as usize) {
                    Some(&(new, true)) => ValueKind::Function(new),
                    _ => ValueKind::Unresolved,
                };
            }
        }
        for body in &mut self.bodies {
            body.function = numbers.get(body.function as usize).map_or(body.function, |number| number.0);
        }
    }
}
