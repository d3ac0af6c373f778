//! Where a variable is: expressions and location lists.
//!
//! | expression | place |
//! |---|---|
//! | `DW_OP_addr A` | address A in the memory of the variable's address class |
//! | `DW_OP_regx N` | a register of PTX: the bytes of N, highest first, are its name |
//! | `DW_OP_fbreg -S`, `DW_OP_nop` …, `DW_OP_plus_uconst N` | byte N of the function's S bytes of local variables |
//!
//! A location list (`.debug_loc`) has entries of u64 start, u64 end, u16 size and an expression; two zeros end it.

use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Reader;

/// The maximum number of entries of a location list.
const MAX_LOCATIONS: usize = 1 << 14;

const OP_ADDR: u8 = 0x03;
const OP_PLUS_UCONST: u8 = 0x23;
const OP_REGX: u8 = 0x90;
const OP_FBREG: u8 = 0x91;
const OP_NOP: u8 = 0x96;

/// A place, and the code for which it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The offsets of code in the function, start and end; `None` for all of it.
    pub range: Option<(u64, u64)>,
    /// The place.
    pub place: Place,
}

/// A place of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An address in constant memory; that of an array of the file if the variable has a symbol.
    Constant(u64),
    /// An offset in constant bank 0, where kernels have their parameters.
    Parameter(u64),
    /// An address in shared memory.
    Shared(u64),
    /// An address in global memory.
    Global(u64),
    /// A register of PTX, by name: `%r5`.
    PtxRegister(String),
    /// Bytes of the function's local variables on the stack.
    Frame {
        /// The size of all local variables.
        size: u64,
        /// The offset in them.
        offset: u64,
    },
    /// An expression that no known compiler writes.
    Unknown,
}

/// Values of `DW_AT_address_class`. Source: the PTX ISA's state spaces, as nvcc 11.2 numbers them.
pub(super) mod address_class {
    pub(in crate::debug) const CONSTANT: u64 = 4;
    pub(in crate::debug) const GLOBAL: u64 = 5;
    pub(in crate::debug) const PARAMETER: u64 = 7;
    pub(in crate::debug) const SHARED: u64 = 8;
}

/// Reads an expression.
pub(super) fn expression(bytes: &[u8], class: u64) -> Place {
    match bytes {
        [OP_ADDR, address @ ..] => {
            let address = address.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            match class {
                address_class::CONSTANT => Place::Constant(address),
                address_class::PARAMETER => Place::Parameter(address),
                address_class::SHARED => Place::Shared(address),
                address_class::GLOBAL => Place::Global(address),
                _ => Place::Unknown,
            }
        }
        [OP_REGX, number @ ..] => unsigned(number).map_or(Place::Unknown, |(number, _)| register(number)),
        [OP_FBREG, rest @ ..] => frame(rest).unwrap_or(Place::Unknown),
        _ => Place::Unknown,
    }
}

/// Returns the register whose name is in the bytes of a number, highest first.
fn register(number: u64) -> Place {
    let name: String =
        number.to_be_bytes().iter().skip_while(|byte| **byte == 0).map(|byte| char::from(*byte)).collect();
    if name.starts_with('%') { Place::PtxRegister(name) } else { Place::Unknown }
}

/// Reads what follows `DW_OP_fbreg`.
fn frame(bytes: &[u8]) -> Option<Place> {
    let (down, rest) = signed(bytes)?;
    let rest = rest.get(rest.iter().take_while(|byte| **byte == OP_NOP).count()..)?;
    let offset = if rest.is_empty() { 0 } else { plus(rest)? };
    Some(Place::Frame { size: u64::try_from(down.checked_neg()?).ok()?, offset })
}

/// Reads the number N of the expression `DW_OP_plus_uconst N`.
pub(super) fn plus(bytes: &[u8]) -> Option<u64> {
    match bytes {
        [OP_PLUS_UCONST, number @ ..] => Some(unsigned(number)?.0),
        _ => None,
    }
}

/// Reads a number in ULEB128. Also returns the bytes after it.
fn unsigned(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let size = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?.checked_add(1)?;
    let (number, rest) = bytes.split_at_checked(size)?;
    Some((number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)), rest))
}

/// Reads a number in SLEB128. Also returns the bytes after it.
fn signed(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (number, rest) = unsigned(bytes)?;
    let bits = bytes.len().saturating_sub(rest.len()).saturating_mul(7);
    let unused = u32::try_from(64_usize.saturating_sub(bits)).ok()?;
    Some((number.cast_signed().wrapping_shl(unused).wrapping_shr(unused), rest))
}

/// Reads the location list at an offset of `.debug_loc`. A list that leaves the section ends there.
pub(super) fn list(section: Reader<'_>, offset: u64, class: u64) -> Vec<Location> {
    let mut locations = Vec::new();
    let size = (section.data().len() as u64).saturating_sub(offset);
    let Ok(mut reader) = section.part(offset, size) else { return locations };
    while locations.len() < MAX_LOCATIONS {
        let Some((start, end, bytes)) = entry(&mut reader) else { break };
        if (start, end) == (0, 0) {
            break;
        }
        // An entry from the largest address sets a base, which no known compiler does.
        if start != u64::MAX {
            locations.push(Location { range: Some((start, end)), place: expression(bytes, class) });
        }
    }
    locations
}

/// Reads an entry of a location list: start, end, expression.
fn entry<'a>(reader: &mut Reader<'a>) -> Option<(u64, u64, &'a [u8])> {
    let (start, end) = (reader.u64().ok()?, reader.u64().ok()?);
    if (start, end) == (0, 0) {
        return Some((start, end, &[]));
    }
    let size = reader.u16().ok()?;
    Some((start, end, reader.bytes(usize::from(size)).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_compilers_are_places() {
        let parameter = [OP_ADDR, 0x40, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(expression(&parameter, address_class::PARAMETER), Place::Parameter(0x140));
        let register = [OP_REGX, 0xb2, 0xe4, 0x95, 0x01];
        assert_eq!(expression(&register, 2), Place::PtxRegister(String::from("%r2")));
        let frame = [OP_FBREG, 0x78, OP_NOP, OP_NOP, OP_PLUS_UCONST, 4];
        assert_eq!(expression(&frame, 6), Place::Frame { size: 8, offset: 4 });
    }

    #[test]
    fn other_expressions_are_unknown() {
        for bytes in [&[][..], &[0x50], &[OP_REGX], &[OP_REGX, 5], &[OP_FBREG, 8, 0x50], &[OP_FBREG, 0x80]] {
            assert_eq!(expression(bytes, 2), Place::Unknown, "{bytes:x?}");
        }
    }

    #[test]
    fn a_list_ends_with_its_section() {
        let mut bytes = [16_u64.to_le_bytes(), 32_u64.to_le_bytes()].concat();
        bytes.extend([5, 0, OP_REGX, 0xb2, 0xe4, 0x95, 0x01]);
        let place = Place::PtxRegister(String::from("%r2"));
        let expected = [Location { range: Some((16, 32)), place }];
        assert_eq!(list(Reader::at(&bytes, 0), 0, 2), expected);
        bytes.extend([1; 9]);
        assert_eq!(list(Reader::at(&bytes, 0), 0, 2), expected);
        assert!(list(Reader::at(&bytes, 0), 99, 2).is_empty());
    }
}
