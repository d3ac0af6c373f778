//! The blocks whose names LLVM's parser of assembly meets because their address is taken: before the function, or by an
//! instruction of the function before the block begins or another one refers to it.
//!
//! The parser goes through the text as `llvm-dis` prints it: variables and aliases, then one function after the other. When
//! a function begins it makes the blocks whose address was taken before, by name.
//!
//! Knowledge: the order of names in the files that `llvm-as` 14 and 19 writes.

use super::operands;
use super::source::{Key, Scope, Source};
use crate::constants::Constant;
use crate::ids::{BlockId, ValueId};
use crate::value::{OperandKind, ValueKind};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Ordering;
use unshade_core::Result;

/// The blocks of all functions whose address is taken.
#[derive(Default)]
pub(super) struct EarlyBlocks {
    /// Those that are met before the function, by body.
    before: BTreeMap<usize, Vec<BlockId>>,
    /// Those that are first met by an instruction, by body and instruction.
    within: BTreeMap<(usize, u32), Vec<BlockId>>,
}

/// A walk through constants, each once.
struct Walk<'s, 'i, 'a> {
    source: &'s Source<'i, 'a>,
    seen: BTreeSet<u32>,
    /// The bodies by their function.
    bodies: BTreeMap<u32, usize>,
}

impl EarlyBlocks {
    /// Finds the blocks whose address is taken.
    pub(super) fn of(source: &Source<'_, '_>) -> Result<Self> {
        let mut blocks = Self::default();
        let constants = core::iter::once(&source.module.constants);
        let mut constants = constants.chain(source.bodies.iter().map(|body| &body.constants));
        if !constants.any(|constants| constants.has_block_addresses()) {
            return Ok(blocks);
        }
        let bodies = source.bodies.iter().enumerate().map(|(at, body)| (body.function, at)).collect();
        let mut walk = Walk { source, seen: BTreeSet::new(), bodies };
        let module = source.module;
        let of_globals = module.globals.iter().filter_map(|global| global.initializer);
        for value in of_globals.chain(module.aliases.iter().map(|alias| alias.target)) {
            for (body, block) in walk.addresses(Scope::MODULE, value)? {
                blocks.before.entry(body).or_default().push(block);
            }
        }
        for (index, body) in source.bodies.iter().enumerate() {
            for (at, instruction) in body.listed_instructions() {
                let mut values = Vec::new();
                operands::for_each(body, instruction, |operand| {
                    if let OperandKind::Value(id) = operand.kind() {
                        values.push(id);
                    }
                });
                for value in values {
                    for (of, block) in walk.addresses(Scope::body(index), value)? {
                        match of.cmp(&index) {
                            Ordering::Equal => blocks.within.entry((index, at)).or_default().push(block),
                            Ordering::Greater => blocks.before.entry(of).or_default().push(block),
                            Ordering::Less => {}
                        }
                    }
                }
            }
        }
        for (&index, before) in &mut blocks.before {
            if let Some(body) = source.bodies.get(index) {
                before.sort_by_key(|&block| body.block_name(block));
            }
        }
        Ok(blocks)
    }

    /// Returns the blocks of a body that are met before it.
    pub(super) fn before(&self, scope: Scope) -> &[BlockId] {
        scope.index().and_then(|index| self.before.get(&index)).map_or(&[], Vec::as_slice)
    }

    /// Returns the blocks that are met by an instruction.
    pub(super) fn within(&self, scope: Scope, instruction: u32) -> &[BlockId] {
        let found = scope.index().and_then(|index| self.within.get(&(index, instruction)));
        found.map_or(&[], Vec::as_slice)
    }
}

impl Walk<'_, '_, '_> {
    /// Returns the blocks, with their bodies, whose addresses are in a value that has not been seen before. An address that
    /// a body takes after the body of the block has no effect, because the block is there.
    fn addresses(&mut self, scope: Scope, value: ValueId) -> Result<Vec<(usize, BlockId)>> {
        let mut found = Vec::new();
        let mut stack = alloc::vec![self.source.value_key(scope, value)?];
        while let Some(key) = stack.pop() {
            let value = self.source.value(key)?;
            let Some((constant, constants)) = self.source.constant(key, value) else { continue };
            if !self.seen.insert(key.key) {
                continue;
            }
            if let Constant::BlockAddress { function, block } = constant {
                found.extend(self.body_of(key, function)?.map(|body| (body, block)));
                continue;
            }
            let operands = self.source.operands_of(constant, constants);
            for &operand in operands.as_slice().iter().rev() {
                stack.push(self.source.value_key(key.scope, operand)?);
            }
        }
        Ok(found)
    }

    fn body_of(&self, key: Key, function: ValueId) -> Result<Option<usize>> {
        let key = self.source.value_key(key.scope, function)?;
        Ok(match self.source.value(key)?.kind {
            ValueKind::Function(index) => self.bodies.get(&index).copied(),
            _ => None,
        })
    }
}
