//! The names of the values and blocks of a function, in the order of LLVM's hash table.

use super::block_info::{NameLayout, name};
use super::source::Scope;
use super::stream::is_char6;
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
        let table = NameTable::of(body, self.version);
        if table.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::VALUE_SYMTAB, 4, self.layouts.names.len());
        let mut record = Vec::new();
        for named in table.listed() {
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

/// LLVM's hash table of names: open addressing with quadratic probing, which grows to twice its size when it is more
/// than three quarters full. Names are listed by bucket, so that their order depends on the hash function, and where
/// buckets collide on the order in which they were added.
///
/// Knowledge: LLVM's `StringMap.cpp` (14 and 19).
struct NameTable {
    /// The index of a name plus one, or 0.
    buckets: Vec<u32>,
    names: Vec<(u32, Named)>,
}

/// The number of buckets of a table with its first name.
const FIRST_SIZE: usize = 16;

impl NameTable {
    /// Adds the names of a function in the order in which LLVM's parser of assembly meets them: parameters; then for each
    /// instruction the blocks that it refers to, and its result. A block is met where it begins, or before.
    fn of(body: &FunctionBody, version: Version) -> Self {
        let mut table = Self { buckets: Vec::new(), names: Vec::new() };
        let has_names = |names: &[crate::ids::Slice]| names.iter().any(|name| !name.is_empty());
        if !has_names(&body.value_names)
            && !has_names(&body.block_names)
            && !has_names(&body.unnumbered_names)
        {
            return table;
        }
        let hash: fn(&[u8]) -> u32 = match version {
            Version::Llvm14 | Version::Dxc => djb,
            Version::Llvm19 => |name| (super::xxh3::hash(name) & 0xFFFF_FFFF) as u32,
        };
        let add_value = |table: &mut Self, id: ValueId| {
            let name = body.value_name(id);
            if !name.is_empty() {
                table.add(hash(name), Named::Value(id));
            }
        };
        for (at, value) in (0u32..).zip(&body.values) {
            if let ValueKind::Argument(_) = value.kind {
                add_value(&mut table, ValueId(body.value_base.wrapping_add(at)));
            }
        }
        let mut met = alloc::vec![false; body.blocks.len()];
        let mut add_block = |table: &mut Self, id: BlockId| {
            let name = body.block_name(id);
            if let Some(met) = met.get_mut(id.index()).filter(|met| !**met) {
                *met = true;
                if !name.is_empty() {
                    table.add(hash(name), Named::Block(id));
                }
            }
        };
        for (at, block) in body.blocks.iter().enumerate() {
            add_block(&mut table, BlockId(narrow(at as u64)));
            for instruction in block.of(&body.instructions) {
                for operand in body.operands_of(instruction) {
                    if let OperandKind::Block(id) = operand.kind() {
                        add_block(&mut table, id);
                    }
                }
                if instruction.result.is_some() {
                    add_value(&mut table, instruction.result);
                }
            }
        }
        table
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the names in the order of their buckets.
    fn listed(&self) -> impl Iterator<Item = Named> + '_ {
        let taken = self.buckets.iter().filter_map(|&taken| (taken as usize).checked_sub(1));
        taken.filter_map(|at| self.names.get(at).map(|&(_, named)| named))
    }

    fn add(&mut self, hash: u32, named: Named) {
        if self.buckets.is_empty() {
            self.buckets.resize(FIRST_SIZE, 0);
        }
        self.names.push((hash, named));
        let taken = narrow(self.names.len() as u64);
        place(&mut self.buckets, hash, taken);
        if self.names.len() * 4 > self.buckets.len() * 3 {
            let mut larger = alloc::vec![0; self.buckets.len() * 2];
            for &taken in self.buckets.iter().filter(|&&taken| taken != 0) {
                let hash = self.names.get(taken as usize - 1).map_or(0, |&(hash, _)| hash);
                place(&mut larger, hash, taken);
            }
            self.buckets = larger;
        }
    }
}

/// Puts a name into the first free bucket for its hash.
fn place(buckets: &mut [u32], hash: u32, taken: u32) {
    let mask = buckets.len() - 1;
    let mut at = hash as usize & mask;
    let mut step = 1;
    while let Some(bucket) = buckets.get_mut(at) {
        if *bucket == 0 {
            *bucket = taken;
            return;
        }
        at = (at + step) & mask;
        step += 1;
    }
}

/// Bernstein's hash, as LLVM 14 uses it for names.
fn djb(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of values by the order of their buckets.
    fn order(hashes: &[u32]) -> Vec<u32> {
        let mut table = NameTable { buckets: Vec::new(), names: Vec::new() };
        for (at, &hash) in (0u32..).zip(hashes) {
            table.add(hash, Named::Value(ValueId(at)));
        }
        let number = |named| match named {
            Named::Value(id) => id.0,
            Named::Block(id) => id.0,
        };
        table.listed().map(number).collect()
    }

    #[test]
    fn names_are_listed_by_bucket() {
        assert_eq!(order(&[5, 3, 9]), [1, 0, 2]);
        // Collisions go one further, then three, then six.
        assert_eq!(order(&[1, 1, 1, 2]), [0, 1, 3, 2]);
        // The thirteenth name makes the table grow to 32 buckets.
        let mut hashes: Vec<u32> = (16..29).collect();
        hashes[0] = 0;
        assert_eq!(order(&hashes)[..2], [0, 1]);
        assert_eq!(order(&hashes[..12])[..3], [0, 1, 2]);
    }

    #[test]
    fn hash_of_14() {
        assert_eq!(djb(b""), 0);
        assert_eq!(djb(b"ab"), 97 * 33 + 98);
    }
}
