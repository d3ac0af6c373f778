//! Checks the headers of tar archives by their checksums.

use crate::fields::Fields;

/// The size of a header.
pub(crate) const BLOCK: usize = 512;

/// Returns whether a header with a correct checksum is at the start.
pub(crate) fn starts_archive(data: &[u8]) -> bool {
    data.get(..BLOCK).is_some_and(|header| {
        // A block of zeros ends an archive; its checksum field is not a number.
        Fields::little(header).u8(0) != Some(0) && is_header(header)
    })
}

/// Returns whether the header's checksum is right, for unsigned bytes or, as some old writers had it, signed bytes.
pub(crate) fn is_header(header: &[u8]) -> bool {
    let Some(stated) = header.get(148..156).and_then(number) else { return false };
    let mut unsigned = 0_u64;
    let mut signed = 0_i64;
    for (index, &byte) in header.iter().enumerate() {
        let byte = if (148..156).contains(&index) { b' ' } else { byte };
        unsigned = unsigned.saturating_add(u64::from(byte));
        signed = signed.saturating_add(i64::from(byte.cast_signed()));
    }
    stated == unsigned || i64::try_from(stated) == Ok(signed)
}

/// Returns a number of a header.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        // Binary, big-endian; negative numbers are invalid here.
        return rest.iter().try_fold(u64::from(first & 0x3f), |value, &byte| {
            value.checked_mul(256)?.checked_add(u64::from(byte))
        });
    }
    let text = field.trim_ascii_start();
    let digits = text.iter().position(|byte| !(b'0'..=b'7').contains(byte)).unwrap_or(text.len());
    let (digits, tail) = text.split_at_checked(digits)?;
    if digits.is_empty() || !tail.iter().all(|&byte| byte == 0 || byte == b' ') {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        value.checked_mul(8)?.checked_add(u64::from(digit.saturating_sub(b'0')))
    })
}
