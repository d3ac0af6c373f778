//! The bodies of linked functions.
//!
//! A linked body has its parameters and results as values; its constants belong to the module.

use super::SymbolId;
use super::metadata::LocalMetadata;
use super::mover::{Mover, refused};
use crate::body::{Bundle, Call, FunctionBody, Location};
use crate::ids::{MetadataId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::MetadataTable;
use crate::value::{Operand, OperandKind, Value, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::Result;

/// The number of the first value of each body.
const VALUE_BASE: u32 = 1 << 28;
/// The number of the first metadata entry of each body.
const METADATA_BASE: u32 = 1 << 27;

impl Mover<'_, '_, '_> {
    /// Moves the bodies of an input's functions that are linked.
    pub(super) fn bodies(&mut self, input: usize, bodies: &mut Vec<FunctionBody>) -> Result<()> {
        let from = self.input(input)?;
        for body in from.bodies {
            let Some(function) = from.module.functions.get(body.function as usize) else { continue };
            let id = SymbolId { input, value: function.symbol.value };
            if !self.reach.definitions.contains(&id) {
                continue;
            }
            let kind = self.symbol(id).and_then(|value| self.module.values.get(value.index()));
            let Some(ValueKind::Function(index)) = kind.map(|value| value.kind) else {
                return refused("body of a function that is not linked");
            };
            bodies.push(self.body(input, body, index)?);
        }
        Ok(())
    }

    fn body(&mut self, input: usize, from: &FunctionBody, function: u32) -> Result<FunctionBody> {
        let mut to = FunctionBody::default();
        to.clear(function, VALUE_BASE, METADATA_BASE);
        let values = self.local_values(input, from, &mut to)?;
        let mut table = MetadataTable::default();
        table.clear(METADATA_BASE);
        let mut local = LocalMetadata { from, values: &values, table: &mut table, known: BTreeMap::new() };
        for instruction in &from.instructions {
            let moved = self.instruction(input, *instruction, &values)?;
            to.instructions.push(moved);
        }
        for operand in &from.operands {
            to.operands.push(self.operand(input, *operand, &mut local)?);
        }
        for call in &from.calls {
            to.calls.push(Call {
                attributes: self.attribute_list(input, call.attributes)?,
                function_type: self.ty(input, call.function_type)?,
                ..*call
            });
        }
        for bundle in &from.bundles {
            to.bundles.push(Bundle { tag: self.bundle_tag(input, bundle.tag)?, ..*bundle });
        }
        for location in &from.locations {
            to.locations.push(Location {
                scope: self.optional_metadata(input, location.scope, &mut local)?,
                inlined_at: self.optional_metadata(input, location.inlined_at, &mut local)?,
                ..*location
            });
        }
        for &(kind, node) in &from.attached {
            let Some(node) = self.metadata(input, node, Some(&mut local))? else {
                return refused("metadata of an instruction refers to a symbol that is not linked");
            };
            to.attached.push((self.kind(input, kind)?, node));
        }
        for &(kind, node) in &from.function_attachments {
            if let Some(node) = self.metadata(input, node, Some(&mut local))? {
                to.function_attachments.push((self.kind(input, kind)?, node));
            }
        }
        to.personality = match from.personality {
            Some(value) => Some(self.value(input, value)?),
            None => None,
        };
        to.metadata = table;
        to.blocks.clone_from(&from.blocks);
        to.indices.clone_from(&from.indices);
        to.attachments.clone_from(&from.attachments);
        to.block_names.clone_from(&from.block_names);
        to.name_bytes.clone_from(&from.name_bytes);
        Ok(to)
    }

    /// Adds the parameters and results of a body, and returns the linked value of each value of the body.
    fn local_values(
        &mut self,
        input: usize,
        from: &FunctionBody,
        to: &mut FunctionBody,
    ) -> Result<BTreeMap<ValueId, ValueId>> {
        let mut values = BTreeMap::new();
        let numbered = (from.value_base..).zip(&from.values);
        for (at, (id, value)) in numbered.enumerate() {
            if !matches!(value.kind, ValueKind::Argument(_) | ValueKind::Instruction(_)) {
                continue;
            }
            let new = ValueId(VALUE_BASE.saturating_add(narrow(to.values.len() as u64)));
            to.values.push(Value { kind: value.kind, ty: self.ty(input, value.ty)? });
            to.value_names.push(from.value_names.get(at).copied().unwrap_or(Slice::default()));
            values.insert(ValueId(id), new);
        }
        Ok(values)
    }

    /// Returns the linked value of an operand of a body.
    fn body_value(
        &mut self,
        input: usize,
        from: &FunctionBody,
        values: &BTreeMap<ValueId, ValueId>,
        id: ValueId,
    ) -> Result<ValueId> {
        if let Some(&local) = values.get(&id) {
            return Ok(local);
        }
        if id.index() < self.input(input)?.module.values.len() {
            return self.value(input, id);
        }
        let Some(Value { kind: ValueKind::Constant(index), ty }) = from.value(id) else {
            return refused("instruction uses a value that does not exist");
        };
        self.enter()?;
        let ty = self.ty(input, ty)?;
        let content = from.constants.content(index);
        let to = self
            .constant(input, ty, content, |mover, operand| mover.body_value(input, from, values, operand))?;
        self.leave();
        Ok(to)
    }

    fn operand(&mut self, input: usize, operand: Operand, local: &mut LocalMetadata<'_>) -> Result<Operand> {
        Ok(match operand.kind() {
            OperandKind::Block(_) => operand,
            OperandKind::Value(id) => Operand::value(self.body_value(input, local.from, local.values, id)?),
            OperandKind::Metadata(id) => match self.metadata(input, id, Some(local))? {
                Some(id) => Operand::metadata(id),
                None => return refused("metadata in a call refers to a symbol that is not linked"),
            },
        })
    }

    fn optional_metadata(
        &mut self,
        input: usize,
        id: MetadataId,
        local: &mut LocalMetadata<'_>,
    ) -> Result<MetadataId> {
        if !id.is_some() {
            return Ok(id);
        }
        Ok(self.metadata(input, id, Some(local))?.unwrap_or(MetadataId::NONE))
    }

    fn instruction(
        &mut self,
        input: usize,
        from: Instruction,
        values: &BTreeMap<ValueId, ValueId>,
    ) -> Result<Instruction> {
        let detail = match from.opcode {
            Opcode::Alloca | Opcode::GetElementPtr => self.ty(input, TypeId(from.detail))?.0,
            Opcode::Load | Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg | Opcode::Fence => {
                self.sync_scope(input, from.detail)?
            }
            _ => from.detail,
        };
        let result = match from.result.is_some() {
            true => values.get(&from.result).copied().unwrap_or(ValueId::NONE),
            false => from.result,
        };
        Ok(Instruction { ty: self.ty(input, from.ty)?, detail, result, ..from })
    }

    /// Returns the linked number of a synchronisation scope.
    fn sync_scope(&mut self, input: usize, scope: u32) -> Result<u32> {
        let Some(name) = self.input(input)?.module.sync_scopes.get(scope as usize) else { return Ok(scope) };
        let known = self.module.sync_scopes.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.module.sync_scopes.push(name.clone());
            self.module.sync_scopes.len().saturating_sub(1)
        });
        Ok(narrow(at as u64))
    }

    /// Returns the linked number of a tag of operand bundles.
    fn bundle_tag(&mut self, input: usize, tag: u32) -> Result<u32> {
        let Some(name) = self.input(input)?.module.bundle_tags.get(tag as usize) else {
            return refused("operand bundle with an unknown tag");
        };
        let known = self.module.bundle_tags.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.module.bundle_tags.push(name.to_vec().into());
            self.module.bundle_tags.len().saturating_sub(1)
        });
        Ok(narrow(at as u64))
    }
}
