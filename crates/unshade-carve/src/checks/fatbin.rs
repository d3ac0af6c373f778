//! Checks CUDA fat binaries, and returns the size that they state.
//!
//! u32 `0xBA55ED50`, u16 version 1, u16 size of the header 16, u64 size of what follows: entries, one directly after the
//! other. The first [`ENTRIES`] have version `0x0101`, a header with plausible numbers, and fit. The payload of each begins
//! as its header says:
//!
//! | payload | rule |
//! |---|---|
//! | Zstandard | the magic number of a frame; [`frame`] returns the first one, whose first block the caller unpacks |
//! | LZ4 | shows `\x7fELF` or the text of PTX, as LZ4 copies first bytes unchanged; [`SEQUENCES`] that copy what exists |
//! | cubin | tables as [`super::cubin`] describes |
//! | PTX | text up to the zeros at the end, with PTX in it as [`super::ptx`] describes |
//! | scrambled, NVVM, unknown | none: the next entry or the end is in the data |
//!
//! Source: `unshade_nv::fatbin`; the block format of LZ4.

use super::{cubin, ptx};
use crate::fields::Fields;
use std::ops::RangeInclusive;
use unshade_nv::fatbin::{ENTRY_HEADER_SIZE, EntryKind, Flags, HEADER_SIZE};

/// Maximum number of entries that are read.
const ENTRIES: usize = 4;

/// Maximum number of sequences of LZ4 that are read. One in hundreds of random ones is sound.
const SEQUENCES: usize = 64;

/// Number of bytes that show the kind of a payload.
const BEGINNING: usize = 64;

/// Maximum number of bytes of PTX that are read.
const MAX_TEXT: usize = 4_096;

/// The first bytes of a Zstandard frame.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Returns the size of a fat binary.
pub(crate) fn size(data: &[u8]) -> Option<u64> {
    let fields = Fields::little(data);
    if fields.u16(4)? != 1 || fields.u16(6)? != HEADER_SIZE {
        return None;
    }
    let size = fields.u64(8)?;
    has_entries(data, size).then_some(size.checked_add(u64::from(HEADER_SIZE))?)
}

/// Returns the bytes of the first entry's frame of Zstandard, as far as they exist.
pub(crate) fn frame(data: &[u8]) -> Option<&[u8]> {
    let entry = Entry::read(data.get(usize::from(HEADER_SIZE)..)?)?;
    let is_frame = entry.compression() == Compression::Zstd && !entry.has(Flags::SCRAMBLED);
    is_frame.then(|| entry.packed())
}

/// Returns whether the first entries are sound, as far as their bytes exist.
fn has_entries(data: &[u8], size: u64) -> bool {
    let mut rest = data.get(usize::from(HEADER_SIZE)..).unwrap_or_default();
    let mut room = size;
    for _ in 0..ENTRIES {
        if room == 0 || rest.is_empty() {
            return true;
        }
        let Some(entry) = Entry::read(rest) else {
            // The header is cut off.
            return Fields::little(rest).u16(2).is_none_or(|version| version == VERSION);
        };
        let size = u64::from(entry.header).saturating_add(entry.size);
        if size > room || !entry.is_sound() {
            return false;
        }
        room = room.saturating_sub(size);
        let next = usize::try_from(size).ok().and_then(|size| rest.get(size..));
        let is_last = room > 0 && next.is_none_or(<[u8]>::is_empty);
        if is_last || next.is_none() {
            return entry.is_recognised();
        }
        rest = next.unwrap_or_default();
    }
    true
}

/// The version of an entry.
const VERSION: u16 = 0x0101;

/// How a payload is compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Lz4,
    Zstd,
    /// Older than the flags.
    Unknown,
}

/// An entry, whose header exists.
struct Entry<'a> {
    fields: Fields<'a>,
    /// The payload, as far as it exists.
    payload: &'a [u8],
    header: u32,
    size: u64,
    packed_size: u32,
    flags: u64,
}

impl<'a> Entry<'a> {
    /// Reads the header of an entry; `None` if it is cut off.
    fn read(data: &'a [u8]) -> Option<Self> {
        let fields = Fields::little(data.get(..ENTRY_HEADER_SIZE as usize)?);
        let (header, size) = (fields.u32(4)?, fields.u64(8)?);
        let rest = usize::try_from(header).ok().and_then(|header| data.get(header..)).unwrap_or_default();
        let payload = usize::try_from(size).ok().and_then(|size| rest.get(..size)).unwrap_or(rest);
        Some(Self { fields, payload, header, size, packed_size: fields.u32(16)?, flags: fields.u64(40)? })
    }

    fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    fn kind(&self) -> EntryKind {
        EntryKind(self.fields.u16(0).unwrap_or_default())
    }

    fn compression(&self) -> Compression {
        if self.has(Flags::ZSTD) {
            Compression::Zstd
        } else if self.has(Flags::LZ4) {
            Compression::Lz4
        } else if self.packed_size == 0 {
            Compression::None
        } else {
            Compression::Unknown
        }
    }

    /// Returns the compressed bytes, without padding, as far as they exist.
    fn packed(&self) -> &'a [u8] {
        let packed = usize::try_from(self.packed_size).ok().and_then(|size| self.payload.get(..size));
        packed.unwrap_or(self.payload)
    }

    /// Returns whether bytes of the payload are missing.
    fn is_cut(&self) -> bool {
        (self.payload.len() as u64) < self.size
    }

    /// Returns whether the payload has a form that is checked.
    fn is_recognised(&self) -> bool {
        let has_form = matches!(self.kind(), EntryKind::ELF | EntryKind::PTX)
            || matches!(self.compression(), Compression::Lz4 | Compression::Zstd);
        has_form && !self.has(Flags::SCRAMBLED)
    }

    /// Returns whether the numbers of the header are plausible, and the payload is what it says.
    fn is_sound(&self) -> bool {
        // Maximum size of a header with options and name.
        const MAX_HEADER: u32 = 1 << 20;
        // Numbers of chips.
        const CHIPS: RangeInclusive<u32> = 10..=9_999;
        let u32_at = |at: usize| self.fields.u32(at).unwrap_or_default();
        let is_scrambled = self.has(Flags::SCRAMBLED);
        self.fields.u16(2) == Some(VERSION)
            && (ENTRY_HEADER_SIZE..=MAX_HEADER).contains(&self.header)
            && u64::from(self.packed_size) <= self.size
            && u32_at(20) <= self.header
            && CHIPS.contains(&u32_at(28))
            && u32_at(32) <= self.header
            && self.flags <= u64::from(u32::MAX)
            && (is_scrambled || self.fields.u64(48) == Some(0))
            && (is_scrambled || self.payload.is_empty() || self.has_payload())
    }

    /// Returns whether the payload is what the header says.
    fn has_payload(&self) -> bool {
        let unpacked = self.fields.u64(56).unwrap_or_default();
        match (self.compression(), self.kind()) {
            (Compression::Zstd, _) => {
                let beginning = self.payload.get(..ZSTD.len()).unwrap_or(self.payload);
                ZSTD.starts_with(beginning)
            }
            (Compression::Lz4, _) => {
                let is_cut = self.packed().len() < self.packed_size as usize;
                self.shows_kind() && is_lz4(self.packed(), unpacked, is_cut)
            }
            (Compression::None, EntryKind::ELF) => {
                let is_short = self.is_cut() && self.payload.len() < cubin::HEADER;
                cubin::MAGIC.starts_with(self.payload.get(..4).unwrap_or(self.payload))
                    && (is_short || cubin::extent(self.payload).is_some())
            }
            (Compression::None, EntryKind::PTX) => {
                self.shows_kind() && is_text(self.payload) && (self.is_cut() || has_ptx(self.payload))
            }
            (Compression::None | Compression::Unknown, _) => self.shows_kind(),
        }
    }

    /// Returns whether the first bytes show the kind of the payload.
    fn shows_kind(&self) -> bool {
        let beginning = self.payload.get(..BEGINNING).unwrap_or(self.payload);
        let has = |text: &[u8]| memchr::memmem::find(beginning, text).is_some();
        match self.kind() {
            _ if self.is_cut() && beginning.len() < BEGINNING => true,
            EntryKind::ELF => has(cubin::MAGIC),
            EntryKind::PTX => has(b".ver") || has(b"// ") || has(b"//\n"),
            _ => true,
        }
    }
}

/// Returns whether the payload is text, up to the zeros at its end.
fn is_text(payload: &[u8]) -> bool {
    let near = payload.get(..MAX_TEXT).unwrap_or(payload);
    let end = memchr::memchr(0, near).unwrap_or(near.len());
    near.iter().enumerate().all(|(at, &byte)| match at < end {
        true => byte >= 0x20 || matches!(byte, b'\n' | b'\r' | b'\t'),
        false => byte == 0,
    })
}

/// Returns whether there is PTX in the text of a payload.
fn has_ptx(payload: &[u8]) -> bool {
    let end = payload.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
    let text = payload.get(..end).unwrap_or_default();
    let near = text.get(..MAX_TEXT).unwrap_or(text);
    let start = memchr::memmem::find(near, ptx::MAGIC);
    start.and_then(|start| text.get(start..)).is_some_and(|text| ptx::size(text).is_some())
}

/// Returns whether a block of LZ4 begins with sound sequences, or is one of this unpacked size.
///
/// A sequence is a token, of which 4 bits are the number of literals and 4 bits the length of a copy, less 4; more
/// bytes of the number, if the bits are all ones; the literals; u16 distance of the copy; more bytes of the length. The
/// last sequence ends after the literals.
fn is_lz4(block: &[u8], unpacked: u64, is_cut: bool) -> bool {
    let fields = Fields::little(block);
    let (mut at, mut produced) = (0_usize, 0_u64);
    for _ in 0..SEQUENCES {
        let Some(token) = fields.u8(at) else { return is_cut };
        let Some((literals, start)) = lz4_length(fields, at.saturating_add(1), token >> 4) else {
            return is_cut;
        };
        at = usize::try_from(literals).map_or(usize::MAX, |literals| start.saturating_add(literals));
        produced = produced.saturating_add(literals);
        if produced > unpacked {
            return false;
        }
        if at >= block.len() {
            return is_cut || (at == block.len() && produced == unpacked);
        }
        let Some(distance) = fields.u16(at) else { return is_cut };
        let Some((length, next)) = lz4_length(fields, at.saturating_add(2), token & 15) else {
            return is_cut;
        };
        if distance == 0 || u64::from(distance) > produced {
            return false;
        }
        at = next;
        produced = produced.saturating_add(length).saturating_add(4);
    }
    produced <= unpacked
}

/// Returns a number of LZ4 that begins with 4 bits, and the offset after it; `None` if it is cut off or too long.
fn lz4_length(fields: Fields<'_>, mut at: usize, bits: u8) -> Option<(u64, usize)> {
    /// Maximum number of bytes of a number, so that long runs of `FF` take no time.
    const MOST: usize = 1 << 16;
    let mut value = u64::from(bits);
    if bits < 15 {
        return Some((value, at));
    }
    for _ in 0..MOST {
        let more = fields.u8(at)?;
        at = at.saturating_add(1);
        value = value.saturating_add(u64::from(more));
        if more < u8::MAX {
            return Some((value, at));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LZ4: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/packed_11_2.fatbin");
    const OPTIONS: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/options_11_2.fatbin");
    const ZSTANDARD: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/zstandard_13_5.fatbin");

    #[test]
    fn real_files_are_sound() {
        for file in [LZ4, OPTIONS, ZSTANDARD] {
            assert_eq!(size(file), Some(file.len() as u64));
            for end in 16..file.len() {
                assert_eq!(size(&file[..end]), Some(file.len() as u64), "{end} bytes");
            }
        }
        assert_eq!(size(&[&LZ4[..4], &[2]].concat()), None);
    }

    /// Header, entries and payloads with a changed number.
    #[test]
    fn other_files_are_refused() {
        // Version, size of the header, version of the entry, its size, chip, the first byte after the magic number.
        for (at, value) in [(4, 2), (6, 17), (18, 2), (20, 63), (46, 1), (29, 1)] {
            let mut changed = LZ4.to_vec();
            changed[at] = value;
            assert_eq!(size(&changed), None, "{value} at {at}");
        }
        let second =
            16 + Entry::read(&LZ4[16..]).map_or(0, |entry| entry.header as usize + entry.size as usize);
        assert!(second < LZ4.len());
        let mut changed = LZ4.to_vec();
        changed[second + 2] = 0;
        assert_eq!(size(&changed), None, "the version of the second entry");
    }

    #[test]
    fn sequences_of_lz4() {
        // Five literals, a copy of 4 + 15 + 255 + 1 bytes, five literals.
        let block = [0x5f, b'a', b'b', b'c', b'd', b'e', 1, 0, 255, 1, 0x50, 1, 2, 3, 4, 5];
        assert!(is_lz4(&block, 285, false));
        assert!(!is_lz4(&block, 284, false) && !is_lz4(&block, 286, false));
        assert!(is_lz4(&block[..9], 285, true) && !is_lz4(&block[..9], 285, false));
        for distance in [0, 6] {
            let mut changed = block;
            changed[6] = distance;
            assert!(!is_lz4(&changed, 285, true), "{distance}");
        }
    }

    #[test]
    fn text_ends_with_zeros() {
        let ptx = include_bytes!("../../../../tests/fixtures/nvidia/add.ptx");
        assert!(has_ptx(&[&b"//\n"[..], ptx, &[0; 7]].concat()) && !has_ptx(b"// a comment\n"));
        assert!(is_text(b"// a\n.version 7.0\n\0\0\0"));
        assert!(!is_text(b"// a\n\0b") && !is_text(b"// \x01"));
    }
}
