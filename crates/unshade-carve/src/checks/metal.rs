//! Checks the headers of Metal libraries and universal libraries, and returns the size they state.
//!
//! # Library
//! The rules come from 531 real files. They gave no false positive in gigabytes of wheels, images and object code:
//!
//! | offset | field | rule |
//! |---|---|---|
//! | 0 | `MTLB` | |
//! | 4 | u16: bits 0–14 major version, bit 15 macOS | major is 0 or 1 |
//! | 16 | u64 size of the library | at least the header's 88 bytes, less than 4 GiB |
//! | 24 | u64 offset and u64 size of function list, public metadata, private metadata, bitcode | each after the header and inside of the size |
//!
//! The function list begins with a count that its size has room for. The first group after it has tags of capitals
//! and digits up to `ENDT`, the first of which is `NAME`.
//!
//! If the size exceeds the bytes that are left but all other rules hold, the library was cut off and is reported as
//! truncated.
//!
//! # Universal library
//! Big-endian: u32 `0xCBFEBABE`, u32 count, then 20-byte entries {CPU type, CPU subtype, offset, size, alignment as a
//! power of two}. The count is 1 to [`MAX_SLICES`]; every slice is after the table, not empty, and aligned as stated. The
//! first one is in the data, and is a Metal library or begins like a Mach-O file, bitcode, or a static archive.

use crate::fields::Fields;

/// Maximum number of entries of a universal library. Real ones have a handful.
const MAX_SLICES: u32 = 256;

/// What slices begin with that are no Metal libraries: Mach-O files of either byte order, bitcode and its wrapper,
/// static archives.
const SLICES: [&[u8; 4]; 7] = [
    &[0xcf, 0xfa, 0xed, 0xfe],
    &[0xce, 0xfa, 0xed, 0xfe],
    &[0xfe, 0xed, 0xfa, 0xcf],
    &[0xfe, 0xed, 0xfa, 0xce],
    b"BC\xc0\xde",
    &[0xde, 0xc0, 0x17, 0x0b],
    b"!<ar",
];

/// Returns the size of a Metal library. See the rules at the top of the module.
pub(crate) fn library_size(data: &[u8]) -> Option<u64> {
    const HEADER: u64 = 88;
    let fields = Fields::little(data);
    let size = fields.u64(16)?;
    if fields.u16(4)? & 0x7fff > 1 || !(HEADER..=u64::from(u32::MAX)).contains(&size) {
        return None;
    }
    for section in [24, 40, 56, 72] {
        let (start, length) = (fields.u64(section)?, fields.u64(section.checked_add(8)?)?);
        if start < HEADER || start.checked_add(length)? > size {
            return None;
        }
    }
    lists_functions(data.get(..usize::try_from(size).ok()?).unwrap_or(data))?.then_some(size)
}

/// Returns whether the function list of a library is sound, as far as its bytes exist.
fn lists_functions(library: &[u8]) -> Option<bool> {
    /// The smallest group of a function: its size and the tag that ends it.
    const GROUP: u64 = 8;
    /// Maximum number of tags that are read.
    const TAGS: usize = 32;
    let fields = Fields::little(library);
    let start = usize::try_from(fields.u64(24)?).ok()?;
    let Some(count) = fields.u32(start) else { return Some(true) };
    let size = fields.u64(32)?;
    if count == 0 || u64::from(count).checked_mul(GROUP)? > size {
        return Some(count == 0);
    }
    // Some writers count the size without the count.
    let end = fields.u64(24)?.saturating_add(size).saturating_add(4);
    let mut at = start.checked_add(8)?;
    for index in 0..TAGS {
        if at as u64 > end {
            return Some(false);
        }
        let Some(tag) = fields.bytes(at as u64, 4) else { return Some(true) };
        if tag == b"ENDT" {
            return Some(index > 0);
        }
        let is_tag = tag.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        if (index == 0 && tag != b"NAME") || !is_tag {
            return Some(false);
        }
        let Some(size) = fields.u16(at.checked_add(4)?) else { return Some(true) };
        at = at.checked_add(6)?.checked_add(usize::from(size))?;
    }
    Some(true)
}

/// Returns the size of a universal library: up to the end of its last slice.
pub(crate) fn universal_size(data: &[u8]) -> Option<u64> {
    let fields = Fields::big(data);
    let count = fields.u32(4)?;
    if count == 0 || count > MAX_SLICES {
        return None;
    }
    let table_end = u64::from(count).checked_mul(20)?.checked_add(8)?;
    let mut end = table_end;
    let mut at = 8_usize;
    for _ in 0..count {
        let (start, size) = (fields.u32(at.checked_add(8)?)?, fields.u32(at.checked_add(12)?)?);
        let alignment = fields.u32(at.checked_add(16)?)?;
        if u64::from(start) < table_end || size == 0 || alignment > 31 || start.trailing_zeros() < alignment {
            return None;
        }
        end = end.max(u64::from(start).checked_add(u64::from(size))?);
        at = at.checked_add(20)?;
    }
    let first = data.get(usize::try_from(fields.u32(16)?).ok()?..).unwrap_or_default();
    is_slice(first).then_some(end)
}

/// Returns whether the bytes begin like a slice.
fn is_slice(slice: &[u8]) -> bool {
    match slice.first_chunk() {
        None => false,
        Some(b"MTLB") => slice.len() < 88 || library_size(slice).is_some(),
        Some(magic) => SLICES.contains(&magic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn metal_library_rules() {
        let library = samples::metallib();
        assert_eq!(library_size(&library), Some(92));
        assert_eq!(library_size(&library[..88]), Some(92), "the header is enough");
        assert_eq!(library_size(&library[..87]), None);
        for (at, value, good) in
            [(4, 0, true), (5, 0, true), (4, 2, false), (5, 1, false), (16, 91, false), (16, 87, false)]
        {
            let mut changed = library.clone();
            changed[at] = value;
            assert_eq!(library_size(&changed).is_some(), good, "{value} at {at}");
        }
        let mut counted = library.clone();
        counted[88] = 1;
        assert_eq!(library_size(&counted), None, "no room for a function");
        for section in [24, 40, 56, 72] {
            let mut changed = library.clone();
            changed[section + 8] = 200;
            assert_eq!(library_size(&changed), None);
            changed[section..section + 16].fill(0xff);
            assert_eq!(library_size(&changed), None);
        }
    }

    #[test]
    fn universal_rules() {
        let universal = samples::universal();
        assert_eq!(universal_size(&universal), Some(universal.len() as u64));
        for (at, value) in [(7, 0), (6, 2), (4, 1), (19, 1), (27, 200), (23, 0), (48, 0)] {
            let mut changed = universal.clone();
            changed[at] = value;
            assert_eq!(universal_size(&changed), None, "{value} at {at}");
        }
    }
}
