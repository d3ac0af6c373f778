//! Checks the headers of cubins, and returns the size of the file.
//!
//! `\x7fELF`, class 1 or 2, little-endian, machine 190, and a section table whose entries have the size of the class.
//! The first entry is empty, and the one that the header names has strings. If the table is missing because the file was
//! cut off, the text `.shstrtab` has to follow the header, as in every real file. A cubin states no size: it ends where
//! the last of its tables and sections ends.

use crate::fields::Fields;
use unshade_nv::elf::SectionType;

/// What follows the header of a cubin: the names of its sections.
const NAMES: &[u8] = b"\0.shstrtab\0";

/// Minimum size of the names in bytes. The smallest of 286 real files has 192.
const MIN_NAMES: usize = 96;

/// The first bytes of an ELF file.
pub(crate) const MAGIC: &[u8] = b"\x7fELF";

/// The size of the header of a 64-bit file.
pub(super) const HEADER: usize = 64;

/// Returns the size of a cubin.
pub(crate) fn size(data: &[u8]) -> Option<u64> {
    (Fields::little(data).u16(18)? == unshade_nv::elf::MACHINE).then(|| extent(data))?
}

/// Returns the size of an ELF file: up to the end of its last table or section. Sections outside the data do not count.
/// So a hit always ends after the table that was read for it, and no table is read twice.
pub(super) fn extent(data: &[u8]) -> Option<u64> {
    let fields = Fields::little(data);
    let is_64 = match fields.u8(4)? {
        1 => false,
        2 => true,
        _ => return None,
    };
    if fields.u8(5)? != 1 {
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
    const PTX: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/add.ptx");

    #[test]
    fn cubin_rules() {
        assert_eq!(size(CUBIN), Some(CUBIN.len() as u64));
        assert_eq!(ptx::size(PTX), Some(PTX.len() as u64));
        for (at, value) in [(4, 3), (18, 191), (58, 63)] {
            let mut changed = CUBIN.to_vec();
            changed[at] = value;
            assert_eq!(size(&changed), None, "{value} at {at}");
        }
        assert_eq!(ptx::size(b".version of something else"), None);
        // If the file was cut off before its tables, the size is where the tables end.
        assert_eq!(size(&CUBIN[..CUBIN.len() - 1]), Some(CUBIN.len() as u64));
    }
}
