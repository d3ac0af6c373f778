//! Removes instructions of a parsed body, and keeps what is numbered like them.

use super::positions::Positions;
use crate::body::FunctionBody;
use crate::ids::{Slice, narrow};
use crate::value::ValueKind;
use crate::write::UseOrder;
use alloc::vec::Vec;

/// For each instruction: its new number, or that of the next one that stays, and whether it stays itself.
pub(super) struct Renumbering(Vec<(u32, bool)>);

impl Renumbering {
    /// Creates the renumbering of instructions of which some stay.
    pub(super) fn new(stays: impl Iterator<Item = bool>) -> Self {
        let mut next = 0u32;
        let number = |stays: bool| {
            let now = next;
            next = next.saturating_add(u32::from(stays));
            (now, stays)
        };
        Self(stays.map(number).collect())
    }

    /// Returns the new number of an instruction, and whether it stays.
    pub(super) fn now(&self, number: u32) -> (u32, bool) {
        self.0.get(number as usize).copied().unwrap_or((number, true))
    }

    /// Returns whether nothing is removed.
    pub(super) fn is_identity(&self) -> bool {
        self.0.iter().all(|&(_, stays)| stays)
    }

    /// Keeps of a list that has an entry per instruction those that stay.
    fn retain<T>(&self, list: &mut Vec<T>) {
        let mut stays = self.0.iter().map(|&(_, stays)| stays);
        list.retain(|_| stays.next().unwrap_or(true));
    }
}

/// Removes instructions of the body with an index. Debug records stay before the instruction that is next.
pub(super) fn remove_instructions(
    at: usize,
    body: &mut FunctionBody,
    renumbering: &Renumbering,
    order: &mut UseOrder,
    positions: &mut Positions,
) {
    let old = narrow(body.instructions.len() as u64);
    renumbering.retain(&mut body.instructions);
    let all = narrow(body.instructions.len() as u64);
    let start_of = |number: u32| if number < old { renumbering.now(number).0 } else { all };
    for block in &mut body.blocks {
        let (start, end) = (start_of(block.start), start_of(block.start.saturating_add(block.count)));
        *block = Slice { start, count: end.saturating_sub(start) };
    }
    for value in &mut body.values {
        if let ValueKind::Instruction(number) = &mut value.kind {
            *number = renumbering.now(*number).0;
        }
    }
    body.attachments.retain_mut(|(number, _)| {
        let (new, stays) = renumbering.now(*number);
        *number = new;
        stays
    });
    for record in &mut body.debug_records {
        record.before = start_of(record.before);
    }
    order.instructions.get_mut(at).into_iter().for_each(|times| renumbering.retain(times));
    positions.instructions.get_mut(at).into_iter().for_each(|list| renumbering.retain(list));
}
