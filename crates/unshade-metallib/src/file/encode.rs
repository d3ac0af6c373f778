//! Encodes tags and groups.

use super::RawTag;
use crate::tag::{ENDT, WIDE};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Escaped, FourCc, Result};

/// Writes the tag with a code, if there is one.
pub(super) type PutTag<'p> = dyn FnMut([u8; 4], &mut Vec<u8>) -> Result<()> + 'p;

/// Writes tags in the original order if there is one; otherwise in the usual order, other tags last.
pub(super) fn put_tags(
    order: Option<&[FourCc]>,
    usual: &[[u8; 4]],
    other: &[RawTag<'_>],
    out: &mut Vec<u8>,
    put: &mut PutTag<'_>,
) -> Result<()> {
    let Some(order) = order else {
        usual.iter().try_for_each(|code| put(*code, out))?;
        return other.iter().try_for_each(|tag| put_bytes(out, tag.code.0, &tag.content));
    };
    // The other tags are in their relative order, so a single pass suffices.
    let mut left = other.iter().peekable();
    for code in order {
        match left.next_if(|tag| tag.code == *code) {
            Some(tag) => put_bytes(out, tag.code.0, &tag.content)?,
            None if usual.contains(&code.0) => put(code.0, out)?,
            None => {}
        }
    }
    let kept = |code: &&[u8; 4]| !order.iter().any(|kept| kept.0 == **code);
    usual.iter().filter(kept).try_for_each(|code| put(*code, out))?;
    left.try_for_each(|tag| put_bytes(out, tag.code.0, &tag.content))
}

/// Writes a group: its size, tags and `ENDT`.
pub(super) fn put_group(
    out: &mut Vec<u8>,
    inclusive: bool,
    put: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out)?;
    out.extend_from_slice(&ENDT.0);
    let own_size = if inclusive { 0 } else { 4 };
    let size = to_u32(out.len().saturating_sub(start).saturating_sub(own_size), "group")?;
    patch(out, start, &size.to_le_bytes());
    Ok(())
}

/// Returns the size of a tag's length field in bytes.
pub(super) fn length_width(code: FourCc) -> usize {
    if WIDE.contains(&code) { 4 } else { 2 }
}

/// Writes a tag: its code, its length, and the content written by `put`.
pub(super) fn put_tag(
    out: &mut Vec<u8>,
    code: FourCc,
    put: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    out.extend_from_slice(&code.0);
    let width = length_width(code);
    let at = out.len();
    out.extend_from_slice([0; 4].get(..width).unwrap_or_default());
    let start = out.len();
    put(out).map_err(|error| error.within(format!("tag {code}")))?;
    let length = out.len().saturating_sub(start);
    let most = if width == 2 { u64::from(u16::MAX) } else { u64::from(u32::MAX) };
    if length as u64 > most {
        return Err(too_long("tag", length as u64).within(format!("tag {code}")));
    }
    patch(out, at, (length as u64).to_le_bytes().get(..width).unwrap_or_default());
    Ok(())
}

/// Writes a tag that contains a 16-bit count and that many entries.
pub(super) fn put_list<T>(
    out: &mut Vec<u8>,
    code: [u8; 4],
    entries: &[T],
    mut put: impl FnMut(&mut Vec<u8>, &T) -> Result<()>,
) -> Result<()> {
    put_tag(out, FourCc(code), |out| {
        let count = u16::try_from(entries.len()).map_err(|_| too_long("list", entries.len() as u64))?;
        out.extend_from_slice(&count.to_le_bytes());
        entries.iter().try_for_each(|entry| put(out, entry))
    })
}

pub(super) fn put_bytes(out: &mut Vec<u8>, code: [u8; 4], bytes: &[u8]) -> Result<()> {
    put_tag(out, FourCc(code), |out| {
        out.extend_from_slice(bytes);
        Ok(())
    })
}

pub(super) fn put_numbers<const N: usize>(
    out: &mut Vec<u8>,
    code: [u8; 4],
    numbers: &[[u8; N]],
) -> Result<()> {
    put_bytes(out, code, numbers.as_flattened())
}

pub(super) fn put_text(out: &mut Vec<u8>, code: [u8; 4], text: &[u8]) -> Result<()> {
    put_tag(out, FourCc(code), |out| put_c_string(out, text))
}

pub(super) fn put_c_string(out: &mut Vec<u8>, text: &[u8]) -> Result<()> {
    check_no_nul(text)?;
    out.extend_from_slice(text);
    out.push(0);
    Ok(())
}

pub(super) fn check_no_nul(text: &[u8]) -> Result<()> {
    if text.contains(&0) {
        let shown = Escaped(text).quoted();
        return Err(Error::without_offset(ErrorKind::BadValue, "text contains a NUL").found(shown));
    }
    Ok(())
}

pub(super) fn to_u32(count: usize, what: &str) -> Result<u32> {
    u32::try_from(count).map_err(|_| too_long(what, count as u64))
}

#[cold]
pub(super) fn too_long(what: &str, found: u64) -> Error {
    Error::without_offset(ErrorKind::Limit, format!("too large for its size field: {what}"))
        .found(format!("{found}"))
}

/// Overwrites existing bytes.
pub(super) fn patch(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
}
