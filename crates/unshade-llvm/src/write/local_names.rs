//! The names of the values and blocks of a function, in the order of LLVM's hash table.

use super::block_info::{NameLayout, name};
use super::early_blocks::EarlyBlocks;
use super::source::Scope;
use super::stream::is_char6;
use super::string_map::{self, StringMap};
use super::{Version, Writer};
use crate::blocks;
use crate::body::FunctionBody;
use crate::ids::{BlockId, ValueId, narrow};
use crate::value::{OperandKind, ValueKind};
use alloc::vec::Vec;
use unshade_core::Result;

/// A value or a block that has a name.
#[derive(Clone, Copy)]
enum Named {
    Value(ValueId),
    Block(BlockId),
}

impl Writer<'_, '_> {
    /// Writes the names of a function, if there are any.
    pub(super) fn local_names(&mut self, scope: Scope, body: &FunctionBody) -> Result<()> {
        let names = names_of(body, scope, &self.early_blocks, self.version);
        if names.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::VALUE_SYMTAB, 4, self.layouts.names.len());
        let mut record = Vec::new();
        for named in names.listed() {
            record.clear();
            let (code, text) = match named {
                Named::Value(id) => {
                    record.push(self.numbering.value(scope, id)?.into());
                    (name::ENTRY, body.value_name(id))
                }
                Named::Block(id) => {
                    record.push(id.0.into());
                    (name::BLOCK, body.block_name(id))
                }
            };
            record.extend(text.iter().map(|&byte| u64::from(byte)));
            let layout = match named {
                Named::Value(_) if text.iter().all(|&byte| is_char6(byte)) => NameLayout::Char6,
                Named::Value(_) if text.is_ascii() => NameLayout::Bits7,
                Named::Block(_) if text.iter().all(|&byte| is_char6(byte)) => NameLayout::BlockChar6,
                _ => NameLayout::Bits8,
            };
            self.stream.record_as(self.layouts.of_name(layout), code, &record);
        }
        self.stream.leave()
    }
}

/// Returns the names of a function, added in the order in which LLVM's parser of assembly meets them: parameters; blocks
/// whose address was taken before; then for each instruction the blocks that it refers to, and its result. A block is
/// met where it begins, or before.
fn names_of(body: &FunctionBody, scope: Scope, early: &EarlyBlocks, version: Version) -> StringMap<Named> {
    let mut names = StringMap::new();
    let has_names = |names: &[crate::ids::Slice]| names.iter().any(|name| !name.is_empty());
    if !has_names(&body.value_names) && !has_names(&body.block_names) && !has_names(&body.unnumbered_names) {
        return names;
    }
    let hash = string_map::hash_of(version);
    let add_value = |names: &mut StringMap<Named>, id: ValueId| {
        let name = body.value_name(id);
        if !name.is_empty() {
            names.add(hash(name), Named::Value(id));
        }
    };
    for (at, value) in (0u32..).zip(&body.values) {
        if let ValueKind::Argument(_) = value.kind {
            add_value(&mut names, ValueId(body.value_base.wrapping_add(at)));
        }
    }
    let mut met = alloc::vec![false; body.blocks.len()];
    let mut add_block = |names: &mut StringMap<Named>, id: BlockId| {
        let name = body.block_name(id);
        if let Some(met) = met.get_mut(id.index()).filter(|met| !**met) {
            *met = true;
            if !name.is_empty() {
                names.add(hash(name), Named::Block(id));
            }
        }
    };
    early.before(scope).iter().for_each(|&block| add_block(&mut names, block));
    for (at, block) in body.blocks.iter().enumerate() {
        add_block(&mut names, BlockId(narrow(at as u64)));
        for (at, instruction) in (block.start..).zip(block.of(&body.instructions)) {
            early.within(scope, at).iter().for_each(|&block| add_block(&mut names, block));
            for operand in body.operands_of(instruction) {
                if let OperandKind::Block(id) = operand.kind() {
                    add_block(&mut names, id);
                }
            }
            if instruction.result.is_some() {
                add_value(&mut names, instruction.result);
            }
        }
    }
    names
}
