//! Parses debug records (`#dbg_value(…)`) and lists of values, and resolves the source locations of instructions.
//!
//! Knowledge: what `llvm-as` of LLVM 14 and 19 accepts, and the records that it writes.

use super::error::Parsed;
use super::function::{METADATA_BASE, VALUE_BASE};
use super::lexer::Token;
use super::parser::{Parser, shown};
use crate::body::{DebugRecord, FunctionBody, Location};
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::{Metadata, MetadataTable};
use crate::value::ValueKind;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// An operand of a record.
#[derive(Clone, Copy, PartialEq)]
enum Operand {
    /// A node.
    Node,
    /// A node or a value.
    Any,
}

use Operand::{Any, Node};

/// The records: name, code, operands in the order of the text, each with its position in the file.
const RECORDS: [(&str, u32, &[(Operand, usize)]); 4] = [
    ("dbg_value", VALUE, &[(Any, 3), (Node, 1), (Node, 2), (Node, 0)]),
    ("dbg_declare", 62, &[(Any, 3), (Node, 1), (Node, 2), (Node, 0)]),
    ("dbg_assign", 63, &[(Any, 3), (Node, 1), (Node, 2), (Node, 4), (Any, 6), (Node, 5), (Node, 0)]),
    ("dbg_label", 65, &[(Node, 1), (Node, 0)]),
];
/// The codes of `#dbg_value` with metadata and with a plain value.
const VALUE: u32 = 61;
const VALUE_SIMPLE: u32 = 64;
/// Where the value is in the operands of a record.
const VALUE_OPERAND: usize = 3;

impl Parser<'_> {
    /// Parses a debug record, which precedes the next instruction.
    pub(super) fn debug_record(&mut self) -> Parsed<()> {
        let Token::DebugRecord(name) = self.token else { return self.fault("expected a debug record") };
        if self.metadata.debug_intrinsics {
            return self.fault("debug records and debug intrinsics can't be mixed");
        }
        let Some((_, code, layout)) = RECORDS.into_iter().find(|(known, ..)| known.as_bytes() == name) else {
            return self.fault_at(self.at + 1, alloc::format!("unknown debug record '#{}'", shown(name)));
        };
        self.metadata.debug_records = true;
        self.advance();
        self.expect(b'(')?;
        let mut operands = alloc::vec![0; layout.len()];
        for (index, &(operand, at)) in layout.iter().enumerate() {
            if index > 0 {
                self.expect(b',')?;
            }
            let id = match operand {
                Any => self.metadata_argument()?,
                Node => self.metadata_node()?,
            };
            if let Some(slot) = operands.get_mut(at) {
                *slot = u64::from(id.0);
            }
        }
        self.expect(b')')?;
        let body = &mut self.state()?.body;
        let before = narrow(body.instructions.len() as u64);
        body.debug_records.push(DebugRecord { before, code, operands });
        Ok(())
    }

    /// Notes a call of a function that is a debug record in LLVM 19.
    pub(super) fn note_debug_intrinsic(&mut self, name: &[u8], at: usize) -> Parsed<()> {
        let is_record = name.strip_prefix(b"llvm.dbg.").is_some_and(|kind| {
            RECORDS.iter().any(|(record, ..)| record.as_bytes().get(4..) == Some(kind))
        });
        if is_record && self.metadata.debug_records {
            return self.fault_at(at, "debug records and debug intrinsics can't be mixed");
        }
        self.metadata.debug_intrinsics |= is_record;
        Ok(())
    }

    /// Parses `!DIArgList(i32 %a, i32 5)`.
    pub(super) fn argument_list(&mut self) -> Parsed<MetadataId> {
        self.advance();
        self.expect(b'(')?;
        let mut references = Vec::new();
        self.list(b')', |parser| {
            references.push(u64::from(parser.typed_metadata_value()?.0) + 1);
            Ok(())
        })?;
        let table = &mut self.state()?.body.metadata;
        let node = table.node(NodeKind::ArgList, false, &references, &[]);
        Ok(table.add(node))
    }

    /// Resolves the `!dbg` attachments of instructions.
    pub(super) fn finish_locations(&mut self) -> Parsed<()> {
        let all = core::mem::take(&mut self.metadata.locations);
        for (at, attached) in all.into_iter().enumerate() {
            let mut known = BTreeMap::new();
            for attachment in attached {
                let Some(location) = location(&self.module.metadata, attachment.node) else {
                    return self.fault_at(attachment.position, "'!dbg' of an instruction is a '!DILocation'");
                };
                let Some(body) = self.bodies.get_mut(at) else { continue };
                let locations = &mut body.locations;
                let number = *known.entry(attachment.node).or_insert_with(|| {
                    locations.push(location);
                    narrow(locations.len() as u64)
                });
                if let Some(instruction) = body.instructions.get_mut(attachment.instruction as usize) {
                    instruction.location = number;
                }
            }
        }
        Ok(())
    }

    /// Brings records of plain values into their simple form, which refers to the value itself. Only a value that is
    /// known where the record is written has it; the record of an instruction follows the instruction in the file.
    pub(super) fn finish_debug_records(&mut self) {
        for body in &mut self.bodies {
            let mut records = core::mem::take(&mut body.debug_records);
            for record in records.iter_mut().filter(|record| record.code == VALUE) {
                let Some(slot) = record.operands.get_mut(VALUE_OPERAND) else { continue };
                let id = MetadataId(narrow(*slot));
                let table = if id.0 >= METADATA_BASE { &body.metadata } else { &self.module.metadata };
                if let Some(Metadata::Value { value, .. }) = table.get(id)
                    && is_known_before(body, value, record.before)
                {
                    *slot = u64::from(value.0);
                    record.code = VALUE_SIMPLE;
                }
            }
            body.debug_records = records;
        }
    }
}

/// Returns whether a value has its number when an instruction has been written.
fn is_known_before(body: &FunctionBody, value: ValueId, instruction: u32) -> bool {
    if value.0 < VALUE_BASE {
        return true;
    }
    match body.value(value).map(|value| value.kind) {
        Some(ValueKind::Instruction(at)) => at <= instruction,
        Some(_) => true,
        None => false,
    }
}

/// Returns a node as a source location if it is one.
fn location(table: &MetadataTable, id: MetadataId) -> Option<Location> {
    let Metadata::Node(node) = table.get(id)? else { return None };
    if node.kind != NodeKind::Location {
        return None;
    }
    let (references, numbers) = (table.references(node), table.numbers(node));
    let reference = |at: usize| {
        let number = references.get(at).and_then(|reference| reference.checked_sub(1));
        number.map_or(MetadataId::NONE, |number| MetadataId(narrow(number)))
    };
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    Some(Location {
        line: narrow(number(0)),
        column: narrow(number(1)),
        scope: reference(0),
        inlined_at: reference(1),
        implicit: number(2) != 0,
    })
}
