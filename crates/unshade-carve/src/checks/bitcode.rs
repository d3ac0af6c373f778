//! Checks LLVM bitcode, and finds where a stream or a wrapper ends.
//!
//! # Stream
//! `BC C0 DE`, then blocks up to the end. Between blocks, abbreviation numbers are two bits wide, so each block has a
//! header of two words:
//!
//! | bits | field | rule |
//! |---|---|---|
//! | 0–1 | abbreviation number | 1: enter a block |
//! | 2–9 | id of the block, vbr8 | `IDENTIFICATION` 13 and `MODULE` 8 first, or `MODULE` alone (before LLVM 3.8) |
//! | 10–13 | width of abbreviation numbers in it, vbr4 | 2 to 7; LLVM takes 3 to 5 |
//! | 14–31 | padding up to the next word | 0 |
//! | 32–63 | words in the block | at least one in a module |
//!
//! A module begins with records and definitions of abbreviations, of which most modules have one, the version, then at
//! least two blocks that are inside of it. In a stream that is cut off, this holds as far as there are bytes. An empty
//! module, as in tests, ends at once. `checks::module` reads the records.
//!
//! A stream may have several modules. It ends before the first word that begins no block that LLVM writes at the top
//! level.
//!
//! # Wrapper
//! u32 `0x0B17C0DE`, version 0, offset and size of the stream, CPU type: 20 bytes, which the stream directly follows in
//! nearly all wrappers. LLVM pads the whole with zeros to a multiple of 16 bytes.
//!
//! Source: LLVM's *Bitcode File Format* manual.

use super::module;
use crate::fields::Fields;
use unshade_llvm::bitstream::{MAGIC as STREAM_MAGIC, WRAPPER_MAGIC};

/// The first bytes of a stream.
pub(crate) const MAGIC: &[u8] = &STREAM_MAGIC;

/// The size of a wrapper's header.
const WRAPPER: usize = 20;

/// Maximum offset of the stream in a wrapper.
const MAX_WRAPPER: u32 = 4_096;

/// Maximum size of an `IDENTIFICATION` block in words: it contains the name of the producer.
const MAX_IDENTIFICATION: u32 = 4_096;

/// Maximum number of blocks of a stream whose last block is cut off. Such a stream is searched again, so its blocks
/// must not be skipped many times.
const FEW_BLOCKS: u32 = 8;

const BLOCKINFO: u32 = 0;
const MODULE: u32 = 8;
const IDENTIFICATION: u32 = 13;
const STRTAB: u32 = 23;
const SYMTAB: u32 = 25;

/// The header of a block at the top level.
struct Block {
    id: u32,
    width: u32,
    words: u32,
}

impl Block {
    fn read(fields: Fields<'_>, at: usize) -> Option<Self> {
        let (head, words) = (fields.u32(at)?, fields.u32(at.checked_add(4)?)?);
        let (id, width) = (head >> 2 & 0xff, head >> 10 & 0xf);
        let is_sound = head & 3 == 1
            && head >> 14 == 0
            && (2..=7).contains(&width)
            && match id {
                MODULE => words > 0,
                IDENTIFICATION => words <= MAX_IDENTIFICATION,
                BLOCKINFO | STRTAB | SYMTAB => true,
                _ => false,
            };
        is_sound.then_some(Self { id, width, words })
    }
}

/// Returns whether the bytes begin like a wrapper.
pub(crate) fn starts_wrapper(data: &[u8]) -> bool {
    data.starts_with(&WRAPPER_MAGIC)
}

/// Returns the size of a wrapper, with the stream and its padding.
pub(crate) fn wrapper_size(data: &[u8]) -> Option<u64> {
    let fields = Fields::little(data);
    let (version, start, size) = (fields.u32(4)?, fields.u32(8)?, fields.u32(12)?);
    if !starts_wrapper(data) || version != 0 || !(20..=MAX_WRAPPER).contains(&start) || size == 0 {
        return None;
    }
    let stream = data.get(usize::try_from(start).ok()?..)?;
    blocks_size(stream)?;
    let end = u64::from(start).checked_add(u64::from(size))?;
    let padding = end.next_multiple_of(16).checked_sub(end)?;
    let is_padded = fields.bytes(end, padding).is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0));
    Some(if is_padded { end.checked_add(padding)? } else { end })
}

/// Returns the size of a stream. Fewer than 16 zeros between it and the end belong to it.
pub(crate) fn stream_size(data: &[u8]) -> Option<u64> {
    let size = blocks_size(data)?;
    let rest = usize::try_from(size).ok().and_then(|size| data.get(size..)).unwrap_or_default();
    let is_padding = rest.len() < 16 && rest.iter().all(|&byte| byte == 0);
    Some(if is_padding { size.max(data.len() as u64) } else { size })
}

/// Returns the size of the wrapper's header before the stream at `at`, but not before `free`, and the size of the
/// whole.
pub(crate) fn with_wrapper(data: &[u8], free: usize, at: usize, size: u64) -> (usize, u64) {
    let wrapper = at.checked_sub(WRAPPER).filter(|&start| start >= free).and_then(|start| data.get(start..));
    wrapper.and_then(wrapper_size).map_or((0, size), |size| (WRAPPER, size))
}

/// Returns the size of a stream up to the end of its last block.
fn blocks_size(data: &[u8]) -> Option<u64> {
    if !data.starts_with(MAGIC) {
        return None;
    }
    let fields = Fields::little(data);
    let mut at = MAGIC.len();
    let mut has_module = false;
    let mut count = 0_u32;
    while let Some(block) = Block::read(fields, at) {
        count = count.saturating_add(1);
        if block.id == MODULE {
            has_module = true;
            let contents = data.get(at.checked_add(8)?..)?;
            if !module::begins(contents, block.width, block.words) {
                return None;
            }
        }
        if !has_module && (block.id != IDENTIFICATION || count > 1) {
            return None;
        }
        let size = u64::from(block.words).checked_mul(4)?.checked_add(8)?;
        let end = (at as u64).checked_add(size)?;
        match usize::try_from(end).ok().filter(|&end| end <= data.len()) {
            Some(end) => at = end,
            None if has_module && count <= FEW_BLOCKS => return Some(end),
            None => break,
        }
    }
    has_module.then_some(at as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn stream_rules() {
        let stream = samples::bitcode();
        assert_eq!(stream_size(&stream), Some(stream.len() as u64));
        let old = samples::old_bitcode();
        assert_eq!(stream_size(&old), Some(old.len() as u64));
        // No block follows; zeros up to the end are padding.
        assert_eq!(stream_size(&[&stream[..], b"something else"].concat()), Some(stream.len() as u64));
        assert_eq!(stream_size(&[&stream[..], &[0; 15]].concat()), Some(stream.len() as u64 + 15));
        assert_eq!(stream_size(&[&stream[..], &[0; 16]].concat()), Some(stream.len() as u64));
        // The header of a module is enough, and a block that is cut off still counts.
        assert_eq!(stream_size(&stream[..28]), Some(44));
        assert_eq!(stream_size(&stream[..27]), None);
        assert_eq!(stream_size(&stream[..stream.len() - 1]), Some(stream.len() as u64));
        // Abbreviation number, id, width and padding of the first block; the id of the second; words of the module.
        for (at, value) in [(4, 0x34), (4, 0x31), (5, 0x04), (5, 0x34), (6, 1), (20, 0x35), (24, 0)] {
            let mut changed = stream.clone();
            changed[at] = value;
            assert_eq!(stream_size(&changed), None, "{value:#x} at {at}");
        }
        assert_eq!(stream_size(&stream[4..]), None);
    }

    #[test]
    fn wrapper_rules() {
        let wrapper = samples::wrapped_bitcode();
        assert_eq!(wrapper_size(&wrapper), Some(80));
        assert_eq!(wrapper_size(&wrapper[..76]), Some(76), "padding that is not there");
        assert_eq!(wrapper_size(&wrapper[..70]), Some(76), "cut off");
        for (at, value) in [(0, 0), (4, 1), (8, 19), (8, 21), (9, 0x11), (12, 0), (20, 0), (24, 0)] {
            let mut changed = wrapper.clone();
            changed[at] = value;
            assert_eq!(wrapper_size(&changed), None, "{value:#x} at {at}");
        }
        let run = [&[7; 12][..], &wrapper].concat();
        assert_eq!(with_wrapper(&run, 0, 32, 56), (20, 80));
        assert_eq!(with_wrapper(&run, 13, 32, 56), (0, 56), "the wrapper belongs to others");
    }
}
