//! Checks the headers of object files: ELF, Mach-O, PE, COFF.
//!
//! | kind | source |
//! |---|---|
//! | Mach-O | Apple's `mach-o/loader.h`: u32 magic, which shows width and byte order, u32 processor |
//! | universal | Apple's `mach-o/fat.h`, big-endian: u32 magic, u32 count |
//! | ELF | the System V ABI: `e_ident`, `e_machine` |
//! | PE, COFF | Microsoft's PE specification |

use crate::fields::Fields;

/// Maximum number of architectures of a universal file. A Java class begins with the same four bytes, and has its
/// version, at least 45, in the place of the count.
pub(crate) const MAX_ARCHITECTURES: u32 = 44;

/// The header of an ELF file.
pub(crate) struct Elf<'a> {
    /// Reads fields in the byte order of the file.
    pub(crate) fields: Fields<'a>,
    /// Whether it is a 64-bit file.
    pub(crate) is_64: bool,
    /// Its `e_machine`.
    pub(crate) machine: u16,
}

/// The header of a Mach-O file.
pub(crate) struct MachO<'a> {
    /// Reads fields in the byte order of the file.
    pub(crate) fields: Fields<'a>,
    /// Whether it is a 64-bit file.
    pub(crate) is_64: bool,
    /// Its `cputype`.
    pub(crate) cpu: u32,
}

/// The headers of a PE file.
pub(crate) struct Pe<'a> {
    /// Reads fields in the byte order of the file.
    pub(crate) fields: Fields<'a>,
    /// The offset of the COFF header.
    pub(crate) coff: usize,
    /// Whether it is PE32+, the 64-bit format.
    pub(crate) is_64: bool,
    /// Its `Machine`.
    pub(crate) machine: u16,
}

/// Reads the header of an ELF file.
pub(crate) fn elf(data: &[u8]) -> Option<Elf<'_>> {
    if !data.starts_with(b"\x7fELF") {
        return None;
    }
    let fields = match data.get(5)? {
        2 => Fields::big(data),
        _ => Fields::little(data),
    };
    Some(Elf { fields, is_64: fields.u8(4)? == 2, machine: fields.u16(18)? })
}

/// Reads the header of a Mach-O file.
pub(crate) fn mach(data: &[u8]) -> Option<MachO<'_>> {
    let (fields, is_64) = match data.first_chunk::<4>()? {
        [0xfe, 0xed, 0xfa, 0xce] => (Fields::big(data), false),
        [0xfe, 0xed, 0xfa, 0xcf] => (Fields::big(data), true),
        [0xce, 0xfa, 0xed, 0xfe] => (Fields::little(data), false),
        [0xcf, 0xfa, 0xed, 0xfe] => (Fields::little(data), true),
        _ => return None,
    };
    Some(MachO { fields, is_64, cpu: fields.u32(4)? })
}

/// Returns whether the bytes begin like a Mach-O universal file.
pub(crate) fn is_mach_universal(data: &[u8]) -> bool {
    let fields = Fields::big(data);
    matches!(fields.u32(0), Some(0xcafe_babe | 0xcafe_babf))
        && fields.u32(4).is_some_and(|count| (1..=MAX_ARCHITECTURES).contains(&count))
}

/// Reads the headers of a PE file.
pub(crate) fn pe(data: &[u8]) -> Option<Pe<'_>> {
    if !data.starts_with(b"MZ") {
        return None;
    }
    let fields = Fields::little(data);
    let header = usize::try_from(fields.u32(0x3c)?).ok()?;
    (fields.bytes(header as u64, 4)? == b"PE\0\0").then_some(())?;
    let coff = header.checked_add(4)?;
    // The optional header's magic number distinguishes PE32+ from PE32.
    let is_64 = fields.u16(coff.checked_add(20)?) == Some(0x20b);
    Some(Pe { fields, coff, is_64, machine: fields.u16(coff)? })
}

/// Returns whether the bytes are likely to be a COFF object, which has no magic number but its machine type.
pub(crate) fn is_coff_object(data: &[u8]) -> bool {
    let fields = Fields::little(data);
    let known = matches!(fields.u16(0), Some(0x014c | 0x8664 | 0x01c4 | 0xaa64 | 0xa641));
    // Objects have no optional header, and their symbol table is in the file.
    known && fields.u16(16) == Some(0) && fields.u32(8).is_some_and(|symbols| (symbols as usize) < data.len())
}
