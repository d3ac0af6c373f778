//! Blocks for the expressions that operands of a `phi` expand to.
//!
//! What a `phi` chooses is computed where its predecessor leads to it, so LLVM 19 gives the edge a block of its own. It
//! makes the block, and so takes its name, before it knows whether it is needed.

use super::editor::Editor;
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants};
use crate::ids::{BlockId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Operand, ValueKind};
use alloc::string::String;
use alloc::vec::Vec;

/// The blocks that a body gets.
#[derive(Default)]
pub(super) struct EdgeBlocks {
    /// The name of the block that the next edge gets.
    spare: Option<String>,
    blocks: Vec<EdgeBlock>,
}

struct EdgeBlock {
    from: BlockId,
    to: BlockId,
    name: String,
    instructions: Vec<Instruction>,
}

impl EdgeBlocks {
    /// Returns whether an edge needs the name of a block.
    pub(super) fn needs_name(&self, from: BlockId, to: BlockId) -> bool {
        self.spare.is_none() && !self.blocks.iter().any(|block| (block.from, block.to) == (from, to))
    }

    /// Sets the name of the block that the next edge gets.
    pub(super) fn set_name(&mut self, name: String) {
        self.spare = Some(name);
    }

    /// Calls `expand` with what it pushes going to the block of an edge.
    pub(super) fn on_edge<T>(
        &mut self,
        editor: &mut Editor<'_, '_>,
        (from, to): (BlockId, BlockId),
        expand: impl FnOnce(&mut Editor<'_, '_>) -> T,
    ) -> T {
        if let Some(block) = self.blocks.iter_mut().find(|block| (block.from, block.to) == (from, to)) {
            return editor.detached(&mut block.instructions, expand);
        }
        let mut instructions = Vec::new();
        let expanded = editor.detached(&mut instructions, expand);
        if !instructions.is_empty() {
            let name = self.spare.take().unwrap_or_default();
            self.blocks.push(EdgeBlock { from, to, name, instructions });
        }
        expanded
    }

    /// Puts the blocks before those that they lead to.
    pub(super) fn install(self, module: &mut Module<'_>, body: &mut FunctionBody) {
        if self.blocks.is_empty() {
            return;
        }
        let old = core::mem::take(&mut body.blocks);
        let mut names = core::mem::take(&mut body.block_names);
        names.resize(old.len(), Slice::default());
        let mut moved = Vec::new();
        let mut placed: Vec<(BlockId, &EdgeBlock)> = Vec::new();
        for (to, (block, name)) in (0u32..).zip(old.into_iter().zip(names)) {
            for edge in self.blocks.iter().filter(|edge| edge.to == BlockId(to)) {
                placed.push((BlockId(narrow(body.blocks.len() as u64)), edge));
                let start = narrow(body.instructions.len() as u64);
                body.instructions.extend_from_slice(&edge.instructions);
                body.blocks.push(Slice { start, count: narrow(edge.instructions.len() as u64) });
                let name = Slice::extend(&mut body.name_bytes, edge.name.bytes());
                body.block_names.push(name);
            }
            moved.push(BlockId(narrow(body.blocks.len() as u64)));
            body.blocks.push(block);
            body.block_names.push(name);
        }
        let now = |block: BlockId| moved.get(block.index()).copied().unwrap_or(block);
        for operand in &mut body.operands {
            if let Some(block) = operand.as_block() {
                *operand = Operand::block(now(block));
            }
        }
        move_addresses(module, body, now);
        let void = module.types.find(Type::Void).unwrap_or(TypeId::NONE);
        for (at, edge) in placed {
            lead(body, at, now(edge.from), now(edge.to), void);
        }
        for at in 0..body.instructions.len() {
            let result = body.instructions.get(at).map_or(ValueId::NONE, |instruction| instruction.result);
            if let Some(value) = body.value_mut(result) {
                value.kind = ValueKind::Instruction(narrow(at as u64));
            }
        }
    }
}

/// Makes an edge go through a block.
fn lead(body: &mut FunctionBody, through: BlockId, from: BlockId, to: BlockId, void: TypeId) {
    let mut branch = Instruction::new(Opcode::Br, void);
    branch.operands = Slice::extend(&mut body.operands, [Operand::block(to)]);
    let Some(block) = body.blocks.get(through.index()).copied() else { return };
    let start = narrow(body.instructions.len() as u64);
    let whole: Vec<Instruction> = block.of(&body.instructions).iter().copied().chain([branch]).collect();
    body.instructions.extend(whole);
    if let Some(slot) = body.blocks.get_mut(through.index()) {
        *slot = Slice { start, count: block.count + 1 };
    }
    let terminator = body.block(from).last().map(|instruction| instruction.operands);
    let phis = body.block(to).iter().filter(|one| one.opcode == Opcode::Phi).map(|one| one.operands);
    let phis: Vec<Slice> = phis.collect();
    replace(body, terminator, to, through);
    replace(body, phis, from, through);
}

/// Replaces a block in operands.
fn replace(body: &mut FunctionBody, slices: impl IntoIterator<Item = Slice>, old: BlockId, new: BlockId) {
    for slice in slices {
        let operands = body.operands.iter_mut().skip(slice.start as usize).take(slice.count as usize);
        for operand in operands.filter(|operand| operand.as_block() == Some(old)) {
            *operand = Operand::block(new);
        }
    }
}

/// Changes the addresses of blocks that the module, and the body itself, has of a body.
fn move_addresses(module: &mut Module<'_>, body: &mut FunctionBody, now: impl Fn(BlockId) -> BlockId) {
    let function = module.functions.get(body.function as usize).map(|function| function.symbol.value);
    let change = |constants: &mut Constants| {
        if !constants.has_block_addresses() {
            return;
        }
        for index in 0..constants.len() {
            if let Constant::BlockAddress { function: of, block } = constants.get(index)
                && Some(of) == function
            {
                constants.set_block(index, now(block));
            }
        }
    };
    change(&mut module.constants);
    change(&mut body.constants);
}
