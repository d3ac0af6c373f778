//! Debug records of LLVM 19: the places of variables, and labels, before an instruction.
//!
//! A record is stored after the instruction that it precedes: source location, variable and expression, then the place.
//! The simple form of a value has the value in place of metadata that wraps it, if the value is defined before.

use super::block_info::InstructionLayout;
use super::source::Scope;
use super::{Version, Writer, unsupported};
use crate::body::DebugRecord;
use crate::body_reader::code;
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::Metadata;
use unshade_core::{Error, ErrorKind, Result};

const DECLARE: u32 = 62;
const ASSIGN: u32 = 63;

/// Where a variable is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Value(ValueId),
    Metadata(MetadataId),
}

/// What only an assignment has.
#[derive(Clone, Copy)]
pub(super) struct Assignment {
    pub(super) id: MetadataId,
    pub(super) expression: MetadataId,
    pub(super) address: MetadataId,
}

/// The parts of a debug record.
#[derive(Clone, Copy)]
pub(super) struct DebugParts {
    pub(super) location: MetadataId,
    /// The variable or label.
    pub(super) entity: MetadataId,
    pub(super) expression: Option<MetadataId>,
    pub(super) place: Option<Place>,
    pub(super) assignment: Option<Assignment>,
}

impl DebugParts {
    /// Decodes a record.
    pub(super) fn of(record: &DebugRecord) -> Result<Self> {
        let missing = || Error::without_offset(ErrorKind::BadValue, "debug record lacks an operand");
        let at =
            |index: usize| record.operands.get(index).map(|&operand| narrow(operand)).ok_or_else(missing);
        let node = |index: usize| at(index).map(MetadataId);
        let (location, entity) = (node(0)?, node(1)?);
        if record.code == code::DEBUG_RECORD_LABEL {
            return Ok(Self { location, entity, expression: None, place: None, assignment: None });
        }
        let place = match record.code {
            code::DEBUG_RECORD_VALUE_SIMPLE => Place::Value(ValueId(at(3)?)),
            _ => Place::Metadata(node(3)?),
        };
        let assignment = match record.code {
            ASSIGN => Some(Assignment { id: node(4)?, expression: node(5)?, address: node(6)? }),
            _ => None,
        };
        Ok(Self { location, entity, expression: Some(node(2)?), place: Some(place), assignment })
    }

    /// Returns the nodes of the record in the order in which they are numbered.
    pub(super) fn nodes(&self) -> impl Iterator<Item = MetadataId> {
        [self.expression, Some(self.entity), Some(self.location)].into_iter().flatten()
    }
}

impl Writer<'_, '_> {
    /// Writes a debug record. `next` is the number of the next value.
    pub(super) fn debug_record(&mut self, scope: Scope, record: &DebugRecord, next: u32) -> Result<()> {
        if self.version != Version::Llvm19 {
            return Err(unsupported("debug records can't be written in the form of this version"));
        }
        if record.code > code::DEBUG_RECORD_LABEL {
            return Err(unsupported(
                "a debug record can't be written, because this version does not have its kind",
            ));
        }
        let parts = DebugParts::of(record)?;
        let number = |id: MetadataId| Ok(self.numbering.metadata_number(scope, id)? - 1);
        let mut fields = alloc::vec![number(parts.location)?, number(parts.entity)?];
        if let Some(expression) = parts.expression {
            fields.push(number(expression)?);
        }
        let mut code = record.code;
        if let Some(place) = parts.place {
            let key = self.numbering.place_key(scope, place)?;
            let value = match self.numbering.source.metadata(key)?.0 {
                Metadata::Value { value, .. } if !matches!(code, DECLARE | ASSIGN) => {
                    let number =
                        self.numbering.value_of_key(self.numbering.source.value_key(key.scope, value)?)?;
                    Some(number).filter(|&number| number < next)
                }
                _ => None,
            };
            if let Some(value) = value {
                fields.push((next - value).into());
                let layout = self.layouts.of_instruction(InstructionLayout::DebugValue);
                self.stream.record_as(layout, code::DEBUG_RECORD_VALUE_SIMPLE, &fields);
                return Ok(());
            }
            fields.push(self.numbering.metadata.get(key)? - 1);
            if code == code::DEBUG_RECORD_VALUE_SIMPLE {
                code = code::DEBUG_RECORD_VALUE;
            }
        }
        if let Some(Assignment { id, expression, address }) = parts.assignment {
            fields.extend([number(id)?, number(expression)?, number(address)?]);
        }
        self.stream.record(code, &fields);
        Ok(())
    }
}
