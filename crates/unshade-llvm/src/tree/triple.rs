//! Sets target triples: the record of each module, and the triple in the table of symbols for linkers. Hash and positions
//! are renewed.
//!
//! Knowledge: LLVM's `BitcodeWriter.cpp`, `IRSymtab.h`.

use super::names::Names;
use super::{Tree, streams_mut};
use crate::bitstream::text;
use crate::blocks;
use crate::module::code;
use alloc::vec::Vec;
use unshade_core::Result;

impl Tree {
    /// Replaces the target triple of each module that has one by what `new` returns for it. Returns how many changed.
    ///
    /// # Errors
    /// If the table of symbols has an unknown version, or the tree has positions that can't be renewed. The tree may then be
    /// changed in part.
    ///
    /// ```
    /// use unshade_llvm::tree::Tree;
    ///
    /// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
    /// let mut tree = Tree::read(bytes, 0)?;
    /// assert_eq!(tree.set_triples(|_| b"air64-apple-ios17.0.0".to_vec())?, 1);
    /// let written = tree.write()?;
    /// assert_eq!(unshade_llvm::Module::parse(&written, 0)?.triple, b"air64-apple-ios17.0.0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_triples(&mut self, new: impl Fn(&[u8]) -> Vec<u8>) -> Result<usize> {
        let mut changed = 0_usize;
        for stream in streams_mut(&mut self.parts) {
            for module in stream.blocks.iter_mut().filter(|block| block.id == blocks::MODULE) {
                let found = module.records().find(|(_, record)| record.code == code::TRIPLE);
                let Some((index, old)) = found.map(|(index, record)| (index, text(record.operands))) else { continue };
                let triple = new(&old);
                if triple != old {
                    let operands: Vec<u64> = triple.iter().map(|byte| u64::from(*byte)).collect();
                    changed = changed.saturating_add(usize::from(module.replace(index, code::TRIPLE, &operands)));
                }
            }
            for mut names in Names::of(&stream.blocks)? {
                if names.set_triple(&new) {
                    names.write(&mut stream.blocks);
                }
            }
        }
        if changed > 0 {
            self.renew_positions()?;
            self.renew_hashes()?;
        }
        Ok(changed)
    }
}
