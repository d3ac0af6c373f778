//! Checks the headers of CUDA fat binaries and cubins, and returns the size of the file.
//!
//! # Fat binary
//! u32 `0xBA55ED50`, u16 version 1, u16 size of the header 16, u64 size of what follows. The first entry has version
//! `0x0101`, a header with plausible numbers, and fits. Unless it is scrambled, its payload is a Zstandard frame or shows
//! `\x7fELF`, or the text of PTX, in its first bytes; LZ4 copies these as they are.
//!
//! # Cubin
//! `\x7fELF`, class 1 or 2, little-endian, machine 190, and a section table whose entries have the size of the class.
//! The first entry is empty, and the one that the header names has strings. If the table is missing because the file was
//! cut off, the text `.shstrtab` has to follow the header, as in every real file. A cubin states no size: it ends where
//! the last of its tables and sections ends.

use crate::fields::Fields;
use std::ops::RangeInclusive;
use unshade_nv::elf::SectionType;
use unshade_nv::fatbin::{ENTRY_HEADER_SIZE, EntryKind, Flags};

/// Returns the size of a fat binary.
pub(crate) fn fatbin_size(data: &[u8]) -> Option<u64> {
    const HEADER: u16 = 16;
    let fields = Fields::little(data);
    if fields.u16(4)? != 1 || fields.u16(6)? != HEADER {
        return None;
    }
    let size = fields.u64(8)?;
    let first = data.get(usize::from(HEADER)..).filter(|rest| size > 0 && !rest.is_empty());
    first.is_none_or(|entry| is_entry(entry, size)).then_some(size.checked_add(u64::from(HEADER))?)
}

/// Returns whether the bytes begin like an entry of a fat binary with this many bytes, as far as they exist.
fn is_entry(entry: &[u8], room: u64) -> bool {
    // Maximum size of a header with options and name.
    const MAX_HEADER: u32 = 1 << 20;
    // Numbers of chips.
    const CHIPS: RangeInclusive<u32> = 10..=9_999;
    let fields = Fields::little(entry);
    let Some(key) = entry.get(..ENTRY_HEADER_SIZE as usize).and_then(|_| fields.u64(48)) else {
        return fields.u16(2).is_none_or(|version| version == 0x0101);
    };
    let u32_at = |at: usize| fields.u32(at).unwrap_or_default();
    let (header, size) = (u32_at(4), fields.u64(8).unwrap_or_default());
    let flags = fields.u64(40).unwrap_or_default();
    let is_scrambled = flags & Flags::SCRAMBLED != 0;
    fields.u16(2) == Some(0x0101)
        && (ENTRY_HEADER_SIZE..=MAX_HEADER).contains(&header)
        && u64::from(header).checked_add(size).is_some_and(|end| end <= room)
        && u64::from(u32_at(16)) <= size
        && u32_at(20) <= header
        && CHIPS.contains(&u32_at(28))
        && u32_at(32) <= header
        && flags <= u64::from(u32::MAX)
        && (is_scrambled || key == 0)
        && (is_scrambled || is_payload(fields, u64::from(header), size))
}

/// Returns whether the payload of an entry is what the entry says. The first bytes of LZ4 are copied as they are.
fn is_payload(fields: Fields<'_>, start: u64, size: u64) -> bool {
    const BEGINNING: u64 = 64;
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    let Some(payload) = fields.bytes(start, BEGINNING.min(size)) else { return true };
    let has = |text: &[u8]| memchr::memmem::find(payload, text).is_some();
    match EntryKind(fields.u16(0).unwrap_or_default()) {
        _ if payload.starts_with(ZSTD) => true,
        EntryKind::ELF => has(b"\x7fELF"),
        EntryKind::PTX => has(b".ver") || has(b"// ") || has(b"//\n"),
        _ => true,
    }
}

/// What follows the header of a cubin: the names of its sections.
const NAMES: &[u8] = b"\0.shstrtab\0";

/// Minimum size of the names in bytes. The smallest of 286 real files has 192.
const MIN_NAMES: usize = 96;

/// Returns the size of a cubin: up to the end of its last table or section. Sections outside the data do not count. So
/// a hit always ends after the table that was read for it, and no table is read twice.
pub(crate) fn cubin_size(data: &[u8]) -> Option<u64> {
    let fields = Fields::little(data);
    let is_64 = match fields.u8(4)? {
        1 => false,
        2 => true,
        _ => return None,
    };
    if fields.u16(18)? != unshade_nv::elf::MACHINE || fields.u8(5)? != 1 {
        return None;
    }
    let (header, section, segment, tables) = if is_64 { (64, 64, 56, 32) } else { (52, 40, 32, 28) };
    let word = if is_64 { 8 } else { 4 };
    let segments = fields.word(tables, is_64)?;
    let sections = fields.word(tables.checked_add(word)?, is_64)?;
    let counts = if is_64 { 54 } else { 42 };
    let number = |index: usize| fields.u16(index.checked_mul(2)?.checked_add(counts)?).map(u64::from);
    let (segment_size, segment_count, section_size, section_count) =
        (number(0)?, number(1)?, number(2)?, number(3)?);
    let names = number(4)?;
    if section_size != section
        || names >= section_count
        || sections < header
        || (segment_count > 0 && segment_size != segment)
    {
        return None;
    }
    let mut end = sections.checked_add(section_count.checked_mul(section)?)?;
    end = end.max(segments.checked_add(segment_count.checked_mul(segment)?)?).max(header);
    if end > data.len() as u64 {
        let names = data.get(usize::try_from(header).ok()?..).unwrap_or_default();
        let names = names.get(..MIN_NAMES).unwrap_or(names);
        let is_text = names.iter().all(|&byte| byte == 0 || (0x20..0x7f).contains(&byte));
        let (first, length) = (NAMES, NAMES.len().min(names.len()));
        return (is_text && names.get(..length) == first.get(..length)).then_some(end);
    }
    let mut at = usize::try_from(sections).ok()?;
    let kind_of_names = sections.checked_add(names.checked_mul(section)?)?.checked_add(4)?;
    let is_empty = fields.bytes(sections, section)?.iter().all(|&byte| byte == 0);
    if !is_empty || fields.u32(usize::try_from(kind_of_names).ok()?)? != SectionType::STRTAB.0 {
        return None;
    }
    for _ in 0..section_count {
        // Type, offset and size.
        let kind = fields.u32(at.checked_add(4)?)?;
        let (offset, size) = if is_64 { (24, 32) } else { (16, 20) };
        let start = fields.word(at.checked_add(offset)?, is_64)?;
        let section_end = start.saturating_add(fields.word(at.checked_add(size)?, is_64)?);
        if SectionType(kind).has_bytes() && section_end <= data.len() as u64 {
            end = end.max(section_end);
        }
        at = at.checked_add(usize::try_from(section).ok()?)?;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::super::ptx;
    use super::*;

    const CUBIN: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/add_sm_35.cubin");
    const FATBIN: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/packed_11_2.fatbin");
    const PTX: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/add.ptx");

    #[test]
    fn nvidia_rules() {
        assert_eq!(fatbin_size(FATBIN), Some(FATBIN.len() as u64));
        assert_eq!(cubin_size(CUBIN), Some(CUBIN.len() as u64));
        assert_eq!(ptx::size(PTX), Some(PTX.len() as u64));
        for (at, value) in [(4, 3), (18, 191), (58, 63)] {
            let mut changed = CUBIN.to_vec();
            changed[at] = value;
            assert_eq!(cubin_size(&changed), None, "{value} at {at}");
        }
        assert_eq!(fatbin_size(&[&FATBIN[..4], &[2]].concat()), None);
        assert_eq!(ptx::size(b".version of something else"), None);
        // If the file was cut off before its tables, the size is where the tables end.
        assert_eq!(cubin_size(&CUBIN[..CUBIN.len() - 1]), Some(CUBIN.len() as u64));
    }
}
