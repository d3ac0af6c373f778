//! The body of a function: values, blocks, instructions and what is attached to them.

use crate::constants::Constants;
use crate::ids::{AttributeListId, BlockId, MetadataId, Slice, TypeId, ValueId};
use crate::instruction::Instruction;
use crate::metadata::{Attachments, MetadataTable};
use crate::value::{Operand, Value, ValueKind};
use alloc::vec::Vec;
use unshade_core::Diagnostics;

/// The body of one function.
///
/// Value numbers continue those of the module: parameters, the function's constants, and the results of
/// instructions, in file order.
#[derive(Clone, Debug, Default)]
pub struct FunctionBody {
    /// The function, as an index into [`crate::Module::functions`].
    pub function: u32,
    /// The number of the function's first value.
    pub value_base: u32,
    /// Parameters, constants and results.
    pub values: Vec<Value>,
    /// Values without a number in the file, which come from upgrading old instructions into several.
    pub unnumbered: Vec<Value>,
    /// Names of unnumbered values, by index; empty if a value has none.
    pub unnumbered_names: Vec<Slice>,
    /// For each instruction the one that it was made from, while a body that was parsed from text is upgraded; else empty.
    pub(crate) origins: Vec<u32>,
    /// The function's own constants.
    pub constants: Constants,
    /// The instructions of each block, in [`FunctionBody::instructions`].
    pub blocks: Vec<Slice>,
    /// All instructions.
    pub instructions: Vec<Instruction>,
    /// Operands of all instructions.
    pub operands: Vec<Operand>,
    /// Indices of `extractvalue` and `insertvalue`.
    pub indices: Vec<u32>,
    /// Attributes, types and bundles of calls.
    pub calls: Vec<Call>,
    /// Operand bundles, in which [`Call::bundles`] is a slice.
    pub bundles: Vec<Bundle>,
    /// Source locations.
    pub locations: Vec<Location>,
    /// Names of values, by number less [`FunctionBody::value_base`]: slices of [`FunctionBody::name_bytes`].
    pub value_names: Vec<Slice>,
    /// Names of blocks: slices of [`FunctionBody::name_bytes`].
    pub block_names: Vec<Slice>,
    /// The bytes of all names.
    pub name_bytes: Vec<u8>,
    /// The function's own metadata.
    pub metadata: MetadataTable,
    /// Metadata attached to instructions, sorted by instruction index: slices of [`FunctionBody::attached`].
    pub attachments: Vec<(u32, Slice)>,
    /// The kinds and nodes that are attached to instructions.
    pub attached: Attachments,
    /// Metadata attached to the function.
    pub function_attachments: Attachments,
    /// Use-list orders of values and blocks.
    pub use_lists: Vec<UseList>,
    /// Debug records of LLVM 19 and later, with the instruction that each precedes.
    pub debug_records: Vec<DebugRecord>,
    /// The personality function, where old `landingpad` instructions name it.
    pub personality: Option<ValueId>,
    /// What could not be read.
    pub diagnostics: Diagnostics,
}

/// The parts of a call besides its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its attributes.
    pub attributes: AttributeListId,
    /// The type of the callee.
    pub function_type: TypeId,
    /// The calling convention.
    pub convention: u32,
    /// Bits: 0 `tail`, 1 `musttail`, 2 `notail`.
    pub tail: u8,
    /// Its operand bundles.
    pub bundles: Slice,
}

/// An operand bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The tag, as an index into [`crate::Module::bundle_tags`].
    pub tag: u32,
    /// The operands, in [`FunctionBody::operands`].
    pub operands: Slice,
}

/// A source location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The scope: a debug-info node.
    pub scope: MetadataId,
    /// The location of the call that was inlined, or none.
    pub inlined_at: MetadataId,
    /// Whether the code is implicit: not written in the source.
    pub implicit: bool,
    /// The group of instructions that a debugger steps over as one, or 0.
    pub atom_group: u64,
    /// The precedence of the instruction in its group, from 1; 0 if it is in none.
    pub atom_rank: u8,
}

/// A use-list order that the file stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseList {
    /// Whether it is the order of a block's uses.
    pub block: bool,
    /// The number of the value or block.
    pub id: u32,
    /// The permutation of the uses.
    pub order: Vec<u32>,
}

/// A debug record (`#dbg_value` and so on), which LLVM writes since version 19 in place of calls to `llvm.dbg` intrinsics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugRecord {
    /// The instruction that it precedes.
    pub before: u32,
    /// The code of the record: 61 value, 62 declare, 63 assign, 64 value (simple), 65 label, 66 declare value.
    pub code: u32,
    /// The operands as stored, but with absolute value numbers.
    pub operands: Vec<u64>,
}

impl DebugRecord {
    /// The code of `#dbg_value` with a plain value.
    const VALUE_SIMPLE: u32 = 64;

    /// Returns how many of the operands, from the first on, are metadata.
    pub(crate) fn metadata_operands(&self) -> usize {
        match self.code {
            Self::VALUE_SIMPLE => 3,
            _ => self.operands.len(),
        }
    }
}

impl FunctionBody {
    /// Clears the body but keeps its buffers for the next function.
    pub(crate) fn clear(&mut self, function: u32, value_base: u32, metadata_base: u32) {
        (self.function, self.value_base) = (function, value_base);
        self.values.clear();
        self.unnumbered.clear();
        self.constants.clear();
        self.blocks.clear();
        self.instructions.clear();
        self.operands.clear();
        self.indices.clear();
        self.calls.clear();
        self.bundles.clear();
        self.locations.clear();
        self.value_names.clear();
        self.block_names.clear();
        self.name_bytes.clear();
        self.metadata.clear(metadata_base);
        self.attachments.clear();
        self.attached.clear();
        self.function_attachments.clear();
        self.use_lists.clear();
        self.debug_records.clear();
        self.personality = None;
        self.diagnostics = Diagnostics::new();
    }

    /// Copies what the function's metadata refers to, metadata and constants, for use when the body is dropped.
    pub(crate) fn without_instructions(&self) -> Self {
        let is_constant = |value: &Value| matches!(value.kind, ValueKind::Constant(_) | ValueKind::Argument(_));
        let count = self.values.iter().rposition(is_constant).map_or(0, |last| last.saturating_add(1));
        Self {
            function: self.function,
            value_base: self.value_base,
            values: self.values.get(..count).unwrap_or_default().to_vec(),
            constants: self.constants.clone(),
            metadata: self.metadata.clone(),
            ..Self::default()
        }
    }

    /// Returns a value of the function.
    #[inline]
    pub fn value(&self, id: ValueId) -> Option<Value> {
        match self.values.get(id.0.wrapping_sub(self.value_base) as usize) {
            Some(value) => Some(*value),
            None => self.unnumbered.get(id.0.checked_sub(Self::UNNUMBERED)? as usize).copied(),
        }
    }

    /// Returns whether a value is a parameter or the result of an instruction of this function.
    #[inline]
    pub fn is_result(&self, id: ValueId) -> bool {
        let value = self.values.get(id.0.wrapping_sub(self.value_base) as usize);
        matches!(value, Some(Value { kind: ValueKind::Instruction(_) | ValueKind::Argument(_), .. }))
    }

    /// Returns a value of the function for modification.
    pub(crate) fn value_mut(&mut self, id: ValueId) -> Option<&mut Value> {
        match self.values.get_mut(id.0.wrapping_sub(self.value_base) as usize) {
            Some(value) => Some(value),
            None => self.unnumbered.get_mut(id.0.checked_sub(Self::UNNUMBERED)? as usize),
        }
    }

    /// The id of the first unnumbered value.
    pub const UNNUMBERED: u32 = 1 << 29;

    /// Returns the name of a value, empty if it has none.
    #[inline]
    pub fn value_name(&self, id: ValueId) -> &[u8] {
        match self.value_names.get(id.0.wrapping_sub(self.value_base) as usize) {
            Some(name) => name.of(&self.name_bytes),
            None => {
                let at = id.0.wrapping_sub(Self::UNNUMBERED) as usize;
                self.unnumbered_names.get(at).map_or(&[], |name| name.of(&self.name_bytes))
            }
        }
    }

    /// Removes the name of a value.
    pub(crate) fn forget_name(&mut self, id: ValueId) {
        if let Some(name) = self.value_names.get_mut(id.0.wrapping_sub(self.value_base) as usize) {
            *name = Slice::default();
        }
    }

    /// Returns the name of a block, empty if it has none.
    pub fn block_name(&self, id: BlockId) -> &[u8] {
        self.block_names.get(id.index()).map_or(&[], |name| name.of(&self.name_bytes))
    }

    /// Returns the operands of an instruction.
    #[inline]
    pub fn operands_of(&self, instruction: &Instruction) -> &[Operand] {
        instruction.operands.of(&self.operands)
    }

    /// Returns the instructions of a block.
    pub fn block(&self, id: BlockId) -> &[Instruction] {
        self.blocks.get(id.index()).map_or(&[], |block| block.of(&self.instructions))
    }

    /// Returns the instructions of all blocks in their order, each with its index.
    pub(crate) fn listed_instructions(&self) -> impl Iterator<Item = (u32, &Instruction)> + '_ {
        self.blocks.iter().flat_map(|block| (block.start..).zip(block.of(&self.instructions)))
    }

    /// Returns the successors of a block, in the order of its terminator's operands.
    pub fn successors(&self, id: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let last = self.block(id).last().filter(|last| last.opcode.is_terminator());
        last.into_iter().flat_map(|last| self.operands_of(last)).filter_map(|operand| operand.as_block())
    }
}
