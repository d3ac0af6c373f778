//! Parses debug records (`#dbg_value(…)`) and lists of values, and resolves the source locations of instructions.
//!
//! Knowledge: what `llvm-as` of LLVM 14 and 19 accepts, and the records that it writes.

use super::Version;
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

/// A record: name, code, operands.
type Layout = (&'static str, u32, &'static [(Operand, usize)]);

/// The records: name, code, operands in the order of the text, each with its position in the file.
const RECORDS: [Layout; 4] = [
    ("dbg_value", VALUE, &[(Any, 3), (Node, 1), (Node, 2), (Node, 0)]),
    ("dbg_declare", 62, &[(Any, 3), (Node, 1), (Node, 2), (Node, 0)]),
    ("dbg_assign", 63, &[(Any, 3), (Node, 1), (Node, 2), (Node, 4), (Any, 6), (Node, 5), (Node, 0)]),
    ("dbg_label", 65, &[(Node, 1), (Node, 0)]),
];
/// The codes of `#dbg_value` with metadata and with a plain value.
const VALUE: u32 = 61;
const VALUE_SIMPLE: u32 = 64;
/// Where the source location is in the operands of a record.
pub(super) const LOCATION_OPERAND: usize = 0;
/// Where the value is in the operands of a record.
const VALUE_OPERAND: usize = 3;

/// Returns the record that a call of a function is in LLVM 19: its code, and the places of its operands in the file, of
/// which the source location is the last.
pub(super) fn record_of(function: &[u8]) -> Option<(u32, Vec<usize>)> {
    let kind = function.strip_prefix(b"llvm.dbg.")?;
    let is_kind = |(name, ..): &&Layout| name.as_bytes().get(4..) == Some(kind);
    let &(_, code, layout) = RECORDS.iter().find(is_kind)?;
    Some((code, layout.iter().map(|&(_, place)| place).collect()))
}

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
        let is_record = record_of(name).is_some();
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
                    if self.version != Version::Dxc {
                        self.metadata.wrong_location = true;
                        continue;
                    }
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
        atom_group: number(3),
        atom_rank: number(4).to_le_bytes()[0],
    })
}

#[cfg(test)]
mod tests {
    use super::super::{AssembleOptions, Assembled, SyntaxError, Version, assemble};
    use super::*;
    use alloc::string::String;

    fn parse(body: &str) -> Result<Assembled, SyntaxError> {
        let text = alloc::format!(
            "define void @f(i32 %a) !dbg !5 {{\n{body}}}\ndeclare void @llvm.dbg.value(metadata, metadata, metadata)\n\
             !0 = !DIFile(filename: \"a\", directory: \"b\")\n\
             !1 = !DILocation(line: 3, column: 7, scope: !5)\n\
             !2 = !DILocation(line: 3, column: 7, scope: !5)\n\
             !5 = distinct !DISubprogram(name: \"f\", scope: !0, file: !0, line: 1)\n\
             !6 = !DILocalVariable(name: \"x\", scope: !5)\n\
             !llvm.module.flags = !{{!7}}\n!7 = !{{i32 2, !\"Debug Info Version\", i32 3}}\n"
        );
        assemble(text.as_bytes(), &AssembleOptions { version: Version::Llvm19 })
    }

    #[test]
    fn records_precede_instructions() {
        let assembled = parse(
            "    #dbg_value(i32 %a, !6, !DIExpression(), !1)\n  %b = add i32 %a, 1, !dbg !2\n\
             \x20   #dbg_value(!DIArgList(i32 %a, i32 %b), !6, !DIExpression(DW_OP_LLVM_arg, 0), !2)\n\
             \x20   #dbg_value(i32 %c, !6, !DIExpression(), !2)\n  br label %x, !dbg !1\nx:\n\
             \x20 %c = add i32 %b, 1\n  ret void\n",
        )
        .unwrap();
        let body = &assembled.bodies[0];
        let records: Vec<(u32, u32)> =
            body.debug_records.iter().map(|record| (record.before, record.code)).collect();
        // A value that is defined later is not in the simple form.
        assert_eq!(records, [(0, VALUE_SIMPLE), (1, VALUE), (1, VALUE)]);
        assert_eq!(body.debug_records[0].operands[3], u64::from(VALUE_BASE));
        // Both locations are equal, so they are one.
        assert_eq!(body.locations.len(), 1);
        assert_eq!((body.locations[0].line, body.locations[0].column), (3, 7));
        assert_eq!((body.instructions[0].location, body.instructions[2].location), (1, 0));
        assert_eq!(body.debug_records[0].operands[0], body.debug_records[1].operands[0]);
    }

    #[test]
    fn faults() {
        let fault = |body: &str| -> (usize, usize, String) {
            let error = parse(body).unwrap_err();
            (error.line, error.column, error.message)
        };
        assert_eq!(fault("    #dbg_what(i32 %a)\n  ret void\n").1, 6);
        let call =
            "  call void @llvm.dbg.value(metadata i32 %a, metadata !6, metadata !DIExpression()), !dbg !1\n";
        let record = "    #dbg_value(i32 %a, !6, !DIExpression(), !1)\n";
        assert_eq!(fault(&alloc::format!("{call}{record}  ret void\n")).0, 3);
        assert_eq!(fault(&alloc::format!("{record}{call}  ret void\n")).1, 8);
    }
}
