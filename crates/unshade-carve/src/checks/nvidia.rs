//! Checks the headers of CUDA fat binaries and cubins, and returns the size of the file.
//!
//! # Fat binary
//! u32 `0xBA55ED50`, u16 version 1, u16 size of the header 16, u64 size of what follows.
//!
//! # Cubin
//! `\x7fELF`, class 1 or 2, machine 190, and a section table whose entries have the size of the class. A cubin states
//! no size: it ends where the last of its tables and sections ends.

use crate::fields::Fields;

/// Returns the size of a fat binary.
pub(crate) fn fatbin_size(data: &[u8]) -> Option<u64> {
    const HEADER: u16 = 16;
    let fields = Fields::little(data);
    if fields.u16(4)? != 1 || fields.u16(6)? != HEADER {
        return None;
    }
    fields.u64(8)?.checked_add(u64::from(HEADER))
}

/// Returns the size of a cubin: up to the end of its last table or section. Sections outside the data do not count. So
/// a hit always ends after the table that was read for it, and no table is read twice.
pub(crate) fn cubin_size(data: &[u8]) -> Option<u64> {
    let fields = Fields::little(data);
    let is_64 = match fields.u8(4)? {
        1 => false,
        2 => true,
        _ => return None,
    };
    if fields.u16(18)? != unshade_nv::elf::MACHINE {
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
    if section_size != section || sections < header || (segment_count > 0 && segment_size != segment) {
        return None;
    }
    let mut end = sections.checked_add(section_count.checked_mul(section)?)?;
    end = end.max(segments.checked_add(segment_count.checked_mul(segment)?)?).max(header);
    if end > data.len() as u64 {
        return Some(end);
    }
    let mut at = usize::try_from(sections).ok()?;
    for _ in 0..section_count {
        // Type, offset and size.
        let kind = fields.u32(at.checked_add(4)?)?;
        let (offset, size) = if is_64 { (24, 32) } else { (16, 20) };
        let start = fields.word(at.checked_add(offset)?, is_64)?;
        let section_end = start.saturating_add(fields.word(at.checked_add(size)?, is_64)?);
        if unshade_nv::elf::SectionType(kind).has_bytes() && section_end <= data.len() as u64 {
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
