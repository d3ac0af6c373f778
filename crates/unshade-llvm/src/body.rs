//! The body of one function, as read.

use crate::constants::Constants;
use crate::ids::{AttributeListId, BlockId, MetadataId, Slice, TypeId, ValueId};
use crate::instruction::Instruction;
use crate::metadata::{Attachments, MetadataTable};
use crate::value::{Operand, Value, ValueKind};
use alloc::vec::Vec;
use unshade_core::Diagnostics;

/// Everything inside of a function.
///
/// Values are numbered on from those of the module: parameters, the function's constants, and the results of
/// instructions, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct FunctionBody {
    /// Which function it is, as an index into [`crate::Module::functions`].
    pub function: u32,
    /// The number of the function's first value.
    pub value_base: u32,
    /// Parameters, constants and results.
    pub values: Vec<Value>,
    /// Values that the file has no number for, which stand in place of old forms of instructions.
    pub unnumbered: Vec<Value>,
    /// Names of those that have one, by their place among them.
    pub unnumbered_names: Vec<Slice>,
    /// The function's own constants.
    pub constants: Constants,
    /// The instructions of each block.
    pub blocks: Vec<Slice>,
    /// All instructions.
    pub instructions: Vec<Instruction>,
    /// Operands of all instructions.
    pub operands: Vec<Operand>,
    /// Indices of `extractvalue` and `insertvalue`.
    pub indices: Vec<u32>,
    /// What calls have besides operands.
    pub calls: Vec<Call>,
    /// Operand bundles: of [`Call::bundles`].
    pub bundles: Vec<Bundle>,
    /// Source locations.
    pub locations: Vec<Location>,
    /// Names of values, by number less [`FunctionBody::value_base`]: parts of [`FunctionBody::name_bytes`].
    pub value_names: Vec<Slice>,
    /// Names of blocks.
    pub block_names: Vec<Slice>,
    /// The characters of all names.
    pub name_bytes: Vec<u8>,
    /// The function's own metadata.
    pub metadata: MetadataTable,
    /// Metadata attached to instructions, in the order of the instructions: parts of
    /// [`FunctionBody::attached`].
    pub attachments: Vec<(u32, Slice)>,
    /// Kinds and nodes that are attached to instructions.
    pub attached: Attachments,
    /// Metadata attached to the function.
    pub function_attachments: Attachments,
    /// Orders of the uses of values and blocks.
    pub use_lists: Vec<UseList>,
    /// Debug records as of LLVM 19, with the instruction they stand before.
    pub debug_records: Vec<DebugRecord>,
    /// The personality function that old `landingpad` instructions name.
    pub personality: Option<ValueId>,
    /// What was wrong.
    pub diagnostics: Diagnostics,
}

/// What a call has besides its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its attributes.
    pub attributes: AttributeListId,
    /// The type of the function that is called.
    pub function_type: TypeId,
    /// The calling convention.
    pub convention: u32,
    /// Bit 0 tail, 1 must tail, 2 no tail.
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
    /// The scope.
    pub scope: MetadataId,
    /// Where it was inlined, or none.
    pub inlined_at: MetadataId,
    /// Whether the code was implied by the source.
    pub implicit: bool,
}

/// A stored order of uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseList {
    /// Whether it is of a block.
    pub block: bool,
    /// The value's or block's number.
    pub id: u32,
    /// The order.
    pub order: Vec<u32>,
}

/// A debug record (`#dbg_value` and so on) as LLVM 19 writes them in place of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugRecord {
    /// The instruction that it stands before.
    pub before: u32,
    /// The record's code: 61 value, 62 declare, 63 assign, 64 value (simple), 65 label.
    pub code: u32,
    /// The operands as stored; values are made absolute.
    pub operands: Vec<u64>,
}

impl FunctionBody {
    /// Empties the body and keeps its buffers, for the next function.
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

    /// What metadata of the function can refer to when the function itself is gone: metadata and constants.
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

    /// A value of the function.
    #[inline]
    pub fn value(&self, id: ValueId) -> Option<Value> {
        match self.values.get(id.0.wrapping_sub(self.value_base) as usize) {
            Some(value) => Some(*value),
            None => self.unnumbered.get(id.0.checked_sub(Self::UNNUMBERED)? as usize).copied(),
        }
    }

    /// Whether a value is the result of an instruction of this function, or one of its parameters.
    #[inline]
    pub fn is_result(&self, id: ValueId) -> bool {
        let value = self.values.get(id.0.wrapping_sub(self.value_base) as usize);
        matches!(value, Some(Value { kind: ValueKind::Instruction(_) | ValueKind::Argument(_), .. }))
    }

    /// A value of the function, to be changed.
    pub(crate) fn value_mut(&mut self, id: ValueId) -> Option<&mut Value> {
        match self.values.get_mut(id.0.wrapping_sub(self.value_base) as usize) {
            Some(value) => Some(value),
            None => self.unnumbered.get_mut(id.0.checked_sub(Self::UNNUMBERED)? as usize),
        }
    }

    /// Where unnumbered values start.
    pub const UNNUMBERED: u32 = 1 << 29;

    /// The name of a value, empty if it has none.
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

    /// Takes the name of a value away.
    pub(crate) fn forget_name(&mut self, id: ValueId) {
        if let Some(name) = self.value_names.get_mut(id.0.wrapping_sub(self.value_base) as usize) {
            *name = Slice::default();
        }
    }

    /// The name of a block, empty if it has none.
    pub fn block_name(&self, id: BlockId) -> &[u8] {
        self.block_names.get(id.index()).map_or(&[], |name| name.of(&self.name_bytes))
    }

    /// The operands of an instruction.
    #[inline]
    pub fn operands_of(&self, instruction: &Instruction) -> &[Operand] {
        instruction.operands.of(&self.operands)
    }

    /// The instructions of a block.
    pub fn block(&self, id: BlockId) -> &[Instruction] {
        self.blocks.get(id.index()).map_or(&[], |block| block.of(&self.instructions))
    }

    /// The blocks that a block's last instruction may go to, in the order of its operands.
    pub fn successors(&self, id: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let last = self.block(id).last().filter(|last| last.opcode.is_terminator());
        last.into_iter().flat_map(|last| self.operands_of(last)).filter_map(|operand| operand.as_block())
    }
}
