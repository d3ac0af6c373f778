//! The blocks of functions, and the symbol table that says where they are.

use super::block_info::name;
use super::source::Scope;
use super::stream::Shape;
use super::use_lists::Used;
use super::{Version, Writer, unsupported};
use crate::bitstream::Scalar::{Literal, Variable};
use crate::bitstream::Tail;
use crate::blocks;
use crate::body::{FunctionBody, Location, UseList};
use crate::body_reader::code;
use crate::global::Function;
use crate::ids::ValueId;
use crate::types::Type;
use alloc::vec::Vec;
use unshade_core::Result;

/// The codes of orders of use lists.
const USE_LIST: u32 = 1;
const BLOCK_USE_LIST: u32 = 2;

impl Writer<'_, '_> {
    /// Writes a function.
    pub(super) fn function(&mut self, scope: Scope, function: &Function) -> Result<()> {
        let Some(body) = self.numbering.source.body(scope) else { return Ok(()) };
        self.stream.enter(blocks::FUNCTION, 4, self.layouts.function.len());
        let numbers = self.numbering.enter_body(scope, function)?;
        self.stream.record(code::DECLAREBLOCKS, &[body.blocks.len() as u64]);
        self.function_constants(numbers.constants.clone())?;
        self.function_metadata(numbers.owner)?;
        self.instructions(scope, body, numbers.constants.end as u32)?;
        self.address_users(function)?;
        match self.version {
            Version::Dxc => self.dxc_local_names(scope, body)?,
            _ => self.local_names(scope, body)?,
        }
        self.function_attachments(scope, function, body)?;
        self.use_lists(scope, &body.use_lists)?;
        self.numbering.leave_body();
        self.stream.leave()
    }

    fn instructions(&mut self, scope: Scope, body: &FunctionBody, first_result: u32) -> Result<()> {
        let mut next = first_result;
        let mut last_location = 0;
        let mut record = Vec::new();
        let mut records = body.debug_records.iter().peekable();
        for (index, instruction) in body.listed_instructions() {
            record.clear();
            self.instruction(scope, body, instruction, next, &mut record)?;
            if !matches!(self.numbering.source.types.get(instruction.ty), Type::Void) {
                next += 1;
            }
            let location =
                (instruction.location as usize).checked_sub(1).and_then(|at| body.locations.get(at));
            if let Some(location) = location {
                if instruction.location == last_location {
                    self.stream.record(code::DEBUG_LOC_AGAIN, &[]);
                } else {
                    self.location(scope, location)?;
                }
                last_location = instruction.location;
            }
            while let Some(debug_record) = records.next_if(|record| record.before <= index) {
                self.debug_record(scope, debug_record, next)?;
            }
        }
        Ok(())
    }

    /// Writes the source location of the last instruction.
    fn location(&mut self, scope: Scope, location: &Location) -> Result<()> {
        if location.atom_group != 0 || location.atom_rank != 0 {
            return Err(unsupported("atoms of locations can't be written in the form of this version"));
        }
        let mut nodes = [0; 2];
        for (number, id) in nodes.iter_mut().zip([location.scope, location.inlined_at]) {
            if id.is_some() {
                *number = self.numbering.metadata_number(scope, id)?;
            }
        }
        let [of_scope, inlined_at] = nodes;
        let (line, column) = (location.line.into(), location.column.into());
        let fields = [line, column, of_scope, inlined_at, location.implicit.into()];
        let count = if self.version == Version::Dxc { 4 } else { 5 };
        self.stream.record(code::DEBUG_LOC, fields.get(..count).unwrap_or(&fields));
        Ok(())
    }

    /// Writes the orders of use lists of the module or of a body, if there are any: those that were predicted, or else
    /// those that were read.
    pub(super) fn use_lists(&mut self, scope: Scope, stored: &[UseList]) -> Result<()> {
        if !self.use_list_orders {
            return Ok(());
        }
        let mut records = Vec::new();
        match &self.predicted {
            Some(predicted) => {
                for permutation in predicted.of(scope) {
                    let (code, number) = match permutation.used {
                        Used::Value(key) => (USE_LIST, self.numbering.value_of_key(key)?),
                        Used::Block(block) => (BLOCK_USE_LIST, block.0),
                    };
                    records.push((code, number, &permutation.order));
                }
            }
            None => {
                for list in stored {
                    let (code, number) = match list.block {
                        true => (BLOCK_USE_LIST, list.id),
                        false => (USE_LIST, self.numbering.value(scope, ValueId(list.id))?),
                    };
                    records.push((code, number, &list.order));
                }
            }
        }
        if records.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::USELIST, 3, 0);
        for (code, number, order) in records {
            let mut record: Vec<u64> = order.iter().map(|&index| index.into()).collect();
            record.push(number.into());
            self.stream.record(code, &record);
        }
        self.stream.leave()
    }

    /// Writes the positions of functions, and sets the position of their table, which `at` has.
    pub(super) fn function_positions(&mut self, at: usize, positions: &[(ValueId, usize)]) -> Result<()> {
        self.stream.patch(at, self.stream.position() / 32)?;
        self.stream.enter(blocks::VALUE_SYMTAB, 4, self.layouts.names.len());
        let scalars = [Literal(name::FUNCTION.into()), Variable(8), Variable(8)];
        let layout = self.stream.define(&Shape(&scalars, Tail::None));
        for &(function, position) in positions {
            let number = self.numbering.value(Scope::MODULE, function)?;
            self.stream.record_as(Some(&layout), name::FUNCTION, &[number.into(), (position / 32) as u64]);
        }
        self.stream.leave()
    }
}
