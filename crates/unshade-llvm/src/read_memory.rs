//! What modules of one compiler have in common, so that it is decoded once.
//!
//! Every module starts with the same abbreviations and lists the same kinds of metadata: of a small module, as a library
//! has thousands, these are a twentieth of the work. They are known again by the bytes of their blocks.

use crate::bitstream::{self, Abbreviations, BlockBytes, Cursor};
use crate::data_layout::DataLayout;
use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The number of `BLOCKINFO` blocks that are remembered.
const BLOCK_INFOS: usize = 8;

/// The memory of a reader of modules, for [`crate::Module::parse_with`].
#[derive(Clone, Debug, Default)]
pub struct ReadMemory {
    /// The last few, which differ in the number of bits of a type.
    block_info: [Known<Arc<Abbreviations>>; BLOCK_INFOS],
    /// The next one to be replaced.
    next: usize,
    /// The kinds of metadata, read without abbreviations.
    pub(crate) kinds: Known<Vec<(u32, Cow<'static, [u8]>)>>,
    layout_text: Vec<u8>,
    layout: DataLayout,
}

/// What a block holds, its bytes, and where in the first one it starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known<T> {
    bytes: Vec<u8>,
    shift: usize,
    value: T,
}

impl<T: Clone> Known<T> {
    /// Returns what the block holds that the cursor is at if it is the known one, and goes on after it.
    pub(crate) fn take(&self, cursor: &mut Cursor<'_>) -> Option<T> {
        let is_known = |block: &BlockBytes<'_>| {
            !self.bytes.is_empty() && block.shift == self.shift && block.bytes == self.bytes
        };
        let block = cursor.block_bytes().filter(is_known)?;
        cursor.pass(&block);
        Some(self.value.clone())
    }

    /// Remembers what a block held that has been read. A damaged one may not end where its header says.
    pub(crate) fn set(&mut self, block: Option<BlockBytes<'_>>, cursor: &Cursor<'_>, value: T) {
        self.bytes.clear();
        if let Some(block) = block.filter(|block| cursor.is_after(block)) {
            self.bytes.extend_from_slice(block.bytes);
            (self.shift, self.value) = (block.shift, value);
        }
    }
}

impl ReadMemory {
    /// Returns a data layout by the operands of its record, if it is the known one, which is sound.
    pub(crate) fn layout(&self, characters: &[u64]) -> Option<(&[u8], &DataLayout)> {
        let text = self.layout_text.as_slice();
        let is_known = !text.is_empty() && bitstream::is_text(characters, text);
        is_known.then_some((text, &self.layout))
    }

    /// Remembers a data layout.
    pub(crate) fn set_layout(&mut self, text: &[u8], layout: &DataLayout) {
        if self.layout_text != text {
            self.layout_text = text.to_vec();
            self.layout = layout.clone();
        }
    }

    /// Reads the `BLOCKINFO` that the cursor is at, or skips it if it is known.
    pub(crate) fn block_info(&mut self, cursor: &mut Cursor<'_>) -> unshade_core::Result<()> {
        let is_first = cursor.abbreviations().is_empty();
        if is_first && let Some(known) = self.block_info.iter().find_map(|known| known.take(cursor)) {
            cursor.set_abbreviations(known);
            return Ok(());
        }
        let block = cursor.block_bytes();
        cursor.read_block_info()?;
        if let Some(oldest) = self.block_info.get_mut(self.next).filter(|_| is_first) {
            oldest.set(block, cursor, Arc::clone(cursor.abbreviations()));
            self.next = self.next.wrapping_add(1) % BLOCK_INFOS;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;
    use crate::assemble::{AssembleOptions, Version, bitcode};
    use crate::print::{PrintMemory, PrintOptions, module_with};
    use alloc::string::String;

    fn file(text: &str, version: Version) -> Vec<u8> {
        bitcode(text.as_bytes(), b"x.ll", &AssembleOptions { version }).expect("it is valid").bytes
    }

    #[test]
    fn modules_read_in_turn_are_as_if_read_alone() {
        let text = "target datalayout = \"e-i64:32\"\ndefine void @f() {\n  ret void, !own !0\n}\n!0 = !{}\n";
        let other = text.replace("e-i64:32", "E-p:32:32").replace("!own", "!other");
        let files = [
            file(text, Version::Llvm14),
            file(&other, Version::Llvm14),
            file(text, Version::Llvm19),
            file(text, Version::Llvm14),
            file(&other, Version::Llvm19),
        ];
        let (mut memory, mut print) = (ReadMemory::default(), PrintMemory::default());
        for bytes in files.iter().chain(&files) {
            let alone = Module::parse(bytes, 0).unwrap();
            let module = Module::parse_with(bytes, 0, &mut memory).unwrap();
            assert_eq!(module.metadata_kinds, alone.metadata_kinds);
            assert_eq!(module.data_layout_text, alone.data_layout_text);
            let mut texts = [String::new(), String::new()];
            module_with(&alone, &PrintOptions::default(), &mut texts[0], &mut PrintMemory::default());
            module_with(&module, &PrintOptions::default(), &mut texts[1], &mut print);
            assert_eq!(texts[0], texts[1]);
            assert_eq!(texts[0].contains("!own"), !texts[0].contains("!other"));
        }
    }
}
