//! Checks the data layout of a text, which the reader of bitcode takes as it is.
//!
//! Knowledge: LLVM's language reference, *Data Layout*; `llvm-as` 14 stops for the same.

use crate::write::Version;
use alloc::vec::Vec;

/// The result of a check: what is wrong.
type Checked<T> = Result<T, &'static str>;

/// The largest address space, and the largest width of a type in bits.
const MAX_24_BITS: u64 = (1 << 24) - 1;
/// The largest alignment in bytes.
const MAX_ALIGNMENT: u64 = (1 << 16) - 1;
/// The letters of name manglings.
const MANGLINGS: &[u8] = b"elmowxa";

/// Checks a data layout.
pub(crate) fn check(text: &[u8], version: Version) -> Checked<()> {
    if text.is_empty() {
        return Ok(());
    }
    if text.ends_with(b"-") {
        return Err("Trailing separator in datalayout string");
    }
    text.split(|&byte| byte == b'-').try_for_each(check_part)?;
    // Since LLVM 16.
    let is_bytes =
        |part: &[u8]| part.strip_prefix(b"i8:").is_some_and(|rest| !rest.starts_with(b"8:") && rest != b"8");
    if version == Version::Llvm19 && text.split(|&byte| byte == b'-').any(is_bytes) {
        return Err("Invalid ABI alignment, i8 must be naturally aligned");
    }
    Ok(())
}

fn check_part(part: &[u8]) -> Checked<()> {
    let mut fields: Vec<&[u8]> = part.split(|&byte| byte == b':').collect();
    if part.ends_with(b":") {
        return Err("Trailing separator in datalayout string");
    }
    let head = fields.remove(0);
    if head == b"ni" {
        return fields.into_iter().try_for_each(|space| match number(space)? {
            0 => Err("Address space 0 can never be non-integral"),
            _ => Ok(()),
        });
    }
    let Some((&letter, rest)) = head.split_first() else {
        return Err("Expected token before separator in datalayout string");
    };
    match letter {
        b's' | b'e' | b'E' => Ok(()),
        b'p' => check_pointer(rest, &fields),
        b'i' | b'v' | b'f' | b'a' => check_type(letter, rest, &fields),
        b'n' => [rest].into_iter().chain(fields).try_for_each(|width| match number(width)? {
            0 => Err("Zero width native integer type in datalayout string"),
            _ => Ok(()),
        }),
        b'S' => neutral_or_power(bytes(rest)?),
        b'F' => match rest.split_first() {
            Some((b'i' | b'n', alignment)) => neutral_or_power(bytes(alignment)?),
            _ => Err("Unknown function pointer alignment type in datalayout string"),
        },
        b'P' | b'A' | b'G' => match number(rest)? <= MAX_24_BITS {
            true => Ok(()),
            false => Err("Invalid address space, must be a 24-bit integer"),
        },
        b'm' => check_mangling(rest, &fields),
        _ => Err("Unknown specifier in datalayout string"),
    }
}

fn check_pointer(space: &[u8], fields: &[&[u8]]) -> Checked<()> {
    if !space.is_empty() && number(space)? > MAX_24_BITS {
        return Err("Invalid address space, must be a 24bit integer");
    }
    let &size = fields.first().ok_or("Missing size specification for pointer in datalayout string")?;
    let size = number(size)?;
    if size == 0 {
        return Err("Invalid pointer size of 0 bytes");
    }
    let &required =
        fields.get(1).ok_or("Missing alignment specification for pointer in datalayout string")?;
    let required = bytes(required)?;
    if !required.is_power_of_two() {
        return Err("Pointer ABI alignment must be a power of 2");
    }
    if let Some(&preferred) = fields.get(2) {
        let preferred = bytes(preferred)?;
        if !preferred.is_power_of_two() {
            return Err("Pointer preferred alignment must be a power of 2");
        }
        at_least(preferred, required)?;
    }
    match fields.get(3).map(|index| number(index)).transpose()? {
        Some(0) => Err("Invalid index size of 0 bytes"),
        Some(index) if index > size => Err("Index width cannot be larger than pointer width"),
        _ => Ok(()),
    }
}

fn check_type(letter: u8, width: &[u8], fields: &[&[u8]]) -> Checked<()> {
    let width = if width.is_empty() { 0 } else { number(width)? };
    if letter == b'a' && width != 0 {
        return Err("Sized aggregate specification in datalayout string");
    }
    let &required = fields.first().ok_or("Missing alignment specification in datalayout string")?;
    let required = bytes(required)?;
    if letter != b'a' && required == 0 {
        return Err("ABI alignment specification must be >0 for non-aggregate types");
    }
    if required > MAX_ALIGNMENT {
        return Err("Invalid ABI alignment, must be a 16bit integer");
    }
    if required != 0 && !required.is_power_of_two() {
        return Err("Invalid ABI alignment, must be a power of 2");
    }
    if let Some(&preferred) = fields.get(1) {
        let preferred = bytes(preferred)?;
        if preferred > MAX_ALIGNMENT {
            return Err("Invalid preferred alignment, must be a 16bit integer");
        }
        if preferred != 0 && !preferred.is_power_of_two() {
            return Err("Invalid preferred alignment, must be a power of 2");
        }
        at_least(preferred, required)?;
    }
    if width > MAX_24_BITS {
        return Err("Invalid bit width, must be a 24bit integer");
    }
    Ok(())
}

fn check_mangling(rest: &[u8], fields: &[&[u8]]) -> Checked<()> {
    if !rest.is_empty() {
        return Err("Unexpected trailing characters after mangling specifier in datalayout string");
    }
    match fields.first() {
        None => Err("Expected mangling specifier in datalayout string"),
        Some([letter]) if MANGLINGS.contains(letter) => Ok(()),
        Some([_]) => Err("Unknown mangling in datalayout string"),
        Some(_) => Err("Unknown mangling specifier in datalayout string"),
    }
}

fn at_least(preferred: u64, required: u64) -> Checked<()> {
    if preferred < required {
        return Err("Preferred alignment cannot be less than the ABI alignment");
    }
    Ok(())
}

fn neutral_or_power(bytes: u64) -> Checked<()> {
    if bytes != 0 && !bytes.is_power_of_two() {
        return Err("Alignment is neither 0 nor a power of 2");
    }
    Ok(())
}

fn number(digits: &[u8]) -> Checked<u64> {
    let number = crate::assemble::parse_u64(digits).filter(|&number| number <= u64::from(u32::MAX));
    number.filter(|_| !digits.is_empty()).ok_or("not a number, or does not fit in an unsigned int")
}

/// Returns a number of bits in bytes.
fn bytes(digits: &[u8]) -> Checked<u64> {
    let bits = number(digits)?;
    if !bits.is_multiple_of(8) {
        return Err("number of bits must be a byte width multiple");
    }
    Ok(bits / 8)
}

#[cfg(test)]
mod tests {
    use super::{Version, check};

    #[test]
    fn layouts() {
        assert!(
            check(b"e-m:e-p:64:64-i64:64-f80:128-n8:16:32:64-S128-ni:1:2-Fi8-P1", Version::Llvm19).is_ok()
        );
        assert!(check(b"i8:16", Version::Llvm14).is_ok() && check(b"i8:8", Version::Llvm19).is_ok());
        assert!(check(b"i8:16", Version::Llvm19).is_err());
        for wrong in ["e-", "i64", "p:0:8", "i64:12", "i64:24", "m:?", "n0", "p:64:64:32", "ni:0", "q"] {
            assert!(check(wrong.as_bytes(), Version::Llvm14).is_err(), "{wrong}");
        }
    }
}
