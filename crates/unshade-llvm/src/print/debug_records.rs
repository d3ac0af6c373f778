//! Debug records, which LLVM 19 writes in place of calls to `llvm.dbg.value` and the like.
//!
//! `#dbg_value(value, variable, expression, location)` is on a line of its own before the instruction. Files of
//! that version store records; calls in older files become records when they are read.

use super::Printer;
use crate::body::{DebugRecord, FunctionBody};
use crate::ids::{MetadataId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::value::OperandKind;
use unshade_core::{TokenKind, TokenSink};

/// Intrinsics that became records, and the start of their records.
const RECORDS: [(&[u8], &str); 5] = [
    (b"llvm.dbg.value", "    #dbg_value("),
    (b"llvm.dbg.declare", "    #dbg_declare("),
    (b"llvm.dbg.assign", "    #dbg_assign("),
    (b"llvm.dbg.label", "    #dbg_label("),
    (b"llvm.dbg.declare_value", "    #dbg_declare_value("),
];

/// Codes of stored records.
mod code {
    pub(super) const DECLARE: u32 = 62;
    pub(super) const ASSIGN: u32 = 63;
    pub(super) const VALUE_SIMPLE: u32 = 64;
    pub(super) const LABEL: u32 = 65;
    pub(super) const DECLARE_VALUE: u32 = 66;
}

/// Returns whether a function is an intrinsic that became a record.
pub(super) fn is_record(name: &[u8]) -> bool {
    RECORDS.iter().any(|(record, _)| *record == name)
}

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Returns the start of the record that a call becomes, if it becomes one.
    #[inline]
    pub(super) fn record_of(&self, body: &FunctionBody, instruction: &Instruction) -> Option<&'static str> {
        if instruction.opcode != Opcode::Call || !self.rules.opaque_pointers {
            return None;
        }
        let function = self.module.functions.get(self.called_function(body, instruction)?)?;
        RECORDS.iter().find(|(name, _)| *name == function.symbol.name).map(|(_, start)| *start)
    }

    /// Writes a call as a record.
    pub(super) fn call_as_record(&mut self, body: &FunctionBody, instruction: &Instruction, start: &str) {
        self.keyword(start);
        let arguments = body.operands_of(instruction).get(1..).unwrap_or_default();
        for argument in arguments {
            if let OperandKind::Metadata(id) = argument.kind() {
                self.metadata(body.function, id);
                self.punctuation(", ");
            }
        }
        let location = instruction.location.checked_sub(1).and_then(|at| body.locations.get(at as usize));
        match location {
            Some(location) => {
                let slot = self.slots.add_location(body.function, location);
                self.slot_reference(slot);
            }
            None => self.keyword("null"),
        }
        self.punctuation(")\n");
    }

    /// Assigns slots to the metadata that a stored record refers to.
    pub(super) fn number_record(&mut self, body: &FunctionBody, record: &DebugRecord) {
        let operand = |at: usize| record.operands.get(at).map(|&id| MetadataId(narrow(id)));
        // The location is first in the file but is numbered last.
        let first: &[usize] = match record.code {
            code::ASSIGN => &[3, 1, 4, 6],
            code::LABEL | code::VALUE_SIMPLE => &[1],
            _ => &[3, 1],
        };
        for id in first.iter().filter_map(|&at| operand(at)).chain(operand(0)) {
            if let Some((Metadata::Node(_), _)) = self.module.metadata(Some(body), id) {
                self.slots.add(body.function, id);
            }
        }
    }

    /// Writes a stored record, whose operands are location, variable, expression, value, and for assignments id,
    /// address expression, address.
    pub(super) fn stored_record(&mut self, body: &FunctionBody, record: &DebugRecord) {
        self.keyword(match record.code {
            code::DECLARE => "    #dbg_declare(",
            code::ASSIGN => "    #dbg_assign(",
            code::LABEL => "    #dbg_label(",
            code::DECLARE_VALUE => "    #dbg_declare_value(",
            _ => "    #dbg_value(",
        });
        let order: &[usize] = match record.code {
            code::LABEL => &[1, 0],
            code::ASSIGN => &[3, 1, 2, 4, 6, 5, 0],
            _ => &[3, 1, 2, 0],
        };
        for (index, &at) in order.iter().enumerate() {
            if index > 0 {
                self.punctuation(", ");
            }
            match record.operands.get(at) {
                Some(&id) if at == 3 && record.code == code::VALUE_SIMPLE => {
                    self.typed_value(Some(body), ValueId(narrow(id)));
                }
                Some(&id) => self.metadata(body.function, MetadataId(narrow(id))),
                None => self.out(TokenKind::Text, "<badref>"),
            }
        }
        self.punctuation(")\n");
    }
}
