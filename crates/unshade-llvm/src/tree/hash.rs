//! Renews the hash that a module states of itself.
//!
//! `HASH` is the SHA-1 of the names of comdats, global variables, functions, aliases and ifuncs, each symbol's followed by
//! its partition, and of the words of the module's block before the record. Incremental ThinLTO goes by it.
//!
//! Knowledge: LLVM's `BitcodeWriter.cpp` (4 to 19).

use super::names::{Names, version};
use super::write::write_stream;
use super::{Block, Item, Stream, Tree, streams_mut};
use crate::blocks;
use crate::module::code;
use crate::sha1::Sha1;
use alloc::vec::Vec;
use unshade_core::Result;

/// The groups of symbols in the order in which they are hashed: codes, and the place of the partition.
const GROUPS: [&[(u32, Option<usize>)]; 4] = [
    &[(code::COMDAT, None)],
    &[(code::GLOBALVAR, Some(16))],
    &[(code::FUNCTION, Some(19))],
    &[(code::ALIAS_OLD, Some(11)), (code::ALIAS, Some(12)), (code::IFUNC, Some(9))],
];

impl Tree {
    /// Computes the hashes that modules state. Positions have to be right before: see [`Tree::renew_positions`].
    ///
    /// # Errors
    /// As [`Tree::write`].
    pub fn renew_hashes(&mut self) -> Result<()> {
        streams_mut(&mut self.parts).into_iter().try_for_each(renew)
    }
}

fn renew(stream: &mut Stream) -> Result<()> {
    let is_hashed = |block: &Block| {
        block.id == blocks::MODULE
            && version(block) >= 2
            && block.records().any(|(_, record)| record.code == code::HASH)
    };
    if !stream.blocks.iter().any(is_hashed) {
        return Ok(());
    }
    let mut positions = Some(Vec::new());
    let bytes = write_stream(stream, &mut positions)?;
    let mut positions = positions.unwrap_or_default().into_iter();
    let tables = Names::of(&stream.blocks)?;
    let mut hashes = Vec::new();
    for (index, block) in stream.blocks.iter().enumerate() {
        let mut own = positions.by_ref().take(count(block));
        own.next();
        // The first item is where the block's content starts.
        let starts: Vec<usize> = own.collect();
        if !is_hashed(block) {
            continue;
        }
        let table = tables.iter().find(|names| names.blocks.contains(&index));
        let hash = block.records().find(|(_, record)| record.code == code::HASH);
        let Some((item, _)) = hash else { continue };
        let Some((from, to)) = starts.first().zip(item_position(block, &starts, item)) else { continue };
        let content = bytes.get(from >> 3..(to >> 5).saturating_mul(4)).unwrap_or_default();
        let mut sha = Sha1::new();
        table.into_iter().for_each(|names| add_names(&mut sha, block, names));
        sha.update(content);
        hashes.push((index, item, sha.finish()));
    }
    for (index, item, hash) in hashes {
        let operands = hash.map(u64::from);
        stream.blocks.get_mut(index).into_iter().for_each(|block| {
            block.replace(item, code::HASH, &operands);
        });
    }
    Ok(())
}

/// Returns the number of positions that are noted for a block: its own, those of its items, and that of its end.
fn count(block: &Block) -> usize {
    let inner = |item: &Item| match item {
        Item::Block(block) => count(block),
        _ => 1,
    };
    block.items.iter().map(inner).fold(2, usize::saturating_add)
}

/// Returns where an item of a block is, given the positions after the block's own.
fn item_position(block: &Block, positions: &[usize], item: usize) -> Option<usize> {
    let before = block.items.get(..item)?.iter().map(|item| match item {
        Item::Block(block) => count(block),
        _ => 1,
    });
    positions.get(before.fold(0, usize::saturating_add)).copied()
}

fn add_names(sha: &mut Sha1, block: &Block, names: &Names) {
    for group in GROUPS {
        for (_, record) in block.records() {
            let Some((_, partition)) = group.iter().find(|(code, _)| *code == record.code) else { continue };
            for at in core::iter::once(0).chain(*partition) {
                if let Some(&[offset, size, ..]) = record.operands.get(at..) {
                    sha.update(names.text_at((offset, size)));
                }
            }
        }
    }
}
