//! Relocations: code and data that a linker or loader patches with the address of a symbol.
//!
//! A record has an offset, the symbol (bits 32–63) and type (bits 0–31) in one 64-bit field, and for `RELA` an addend.
//! In 32-bit files that field has 32 bits, with the type in the low 8. Names are those that cuobjdump prints for each
//! type; versions 13.5, 12.3 and 11.2 agree on those that they know.

use crate::elf::{Class, Elf, Section, SectionType};
use core::fmt;
use unshade_core::{Reader, Result};

unshade_core::open_enum! {
    /// The type of a relocation: what value to write, and into which bits.
    pub struct RelocationType(u32) {
        CUDA_32 = 1 => "R_CUDA_32",
        CUDA_64 = 2 => "R_CUDA_64",
        CUDA_G32 = 3 => "R_CUDA_G32",
        CUDA_G64 = 4 => "R_CUDA_G64",
        CUDA_ABS32_26 = 5 => "R_CUDA_ABS32_26",
        CUDA_TEX_HEADER_INDEX = 6 => "R_CUDA_TEX_HEADER_INDEX",
        CUDA_SAMP_HEADER_INDEX = 7 => "R_CUDA_SAMP_HEADER_INDEX",
        CUDA_SURF_HW_DESC = 8 => "R_CUDA_SURF_HW_DESC",
        CUDA_SURF_HW_SW_DESC = 9 => "R_CUDA_SURF_HW_SW_DESC",
        CUDA_ABS32_LO_26 = 10 => "R_CUDA_ABS32_LO_26",
        CUDA_ABS32_HI_26 = 11 => "R_CUDA_ABS32_HI_26",
        CUDA_ABS32_23 = 12 => "R_CUDA_ABS32_23",
        CUDA_ABS32_LO_23 = 13 => "R_CUDA_ABS32_LO_23",
        CUDA_ABS32_HI_23 = 14 => "R_CUDA_ABS32_HI_23",
        CUDA_ABS24_26 = 15 => "R_CUDA_ABS24_26",
        CUDA_ABS24_23 = 16 => "R_CUDA_ABS24_23",
        CUDA_ABS16_26 = 17 => "R_CUDA_ABS16_26",
        CUDA_ABS16_23 = 18 => "R_CUDA_ABS16_23",
        CUDA_TEX_SLOT = 19 => "R_CUDA_TEX_SLOT",
        CUDA_SAMP_SLOT = 20 => "R_CUDA_SAMP_SLOT",
        CUDA_SURF_SLOT = 21 => "R_CUDA_SURF_SLOT",
        CUDA_TEX_BINDLESSOFF13_32 = 22 => "R_CUDA_TEX_BINDLESSOFF13_32",
        CUDA_TEX_BINDLESSOFF13_47 = 23 => "R_CUDA_TEX_BINDLESSOFF13_47",
        CUDA_CONST_FIELD19_28 = 24 => "R_CUDA_CONST_FIELD19_28",
        CUDA_CONST_FIELD19_23 = 25 => "R_CUDA_CONST_FIELD19_23",
        CUDA_TEX_SLOT9_49 = 26 => "R_CUDA_TEX_SLOT9_49",
        CUDA_6_31 = 27 => "R_CUDA_6_31",
        CUDA_2_47 = 28 => "R_CUDA_2_47",
        CUDA_TEX_BINDLESSOFF13_41 = 29 => "R_CUDA_TEX_BINDLESSOFF13_41",
        CUDA_TEX_BINDLESSOFF13_45 = 30 => "R_CUDA_TEX_BINDLESSOFF13_45",
        CUDA_FUNC_DESC32_23 = 31 => "R_CUDA_FUNC_DESC32_23",
        CUDA_FUNC_DESC32_LO_23 = 32 => "R_CUDA_FUNC_DESC32_LO_23",
        CUDA_FUNC_DESC32_HI_23 = 33 => "R_CUDA_FUNC_DESC32_HI_23",
        CUDA_FUNC_DESC_32 = 34 => "R_CUDA_FUNC_DESC_32",
        CUDA_FUNC_DESC_64 = 35 => "R_CUDA_FUNC_DESC_64",
        CUDA_CONST_FIELD21_26 = 36 => "R_CUDA_CONST_FIELD21_26",
        CUDA_QUERY_DESC21_37 = 37 => "R_CUDA_QUERY_DESC21_37",
        CUDA_CONST_FIELD19_26 = 38 => "R_CUDA_CONST_FIELD19_26",
        CUDA_CONST_FIELD21_23 = 39 => "R_CUDA_CONST_FIELD21_23",
        CUDA_PCREL_IMM24_26 = 40 => "R_CUDA_PCREL_IMM24_26",
        CUDA_PCREL_IMM24_23 = 41 => "R_CUDA_PCREL_IMM24_23",
        CUDA_ABS32_20 = 42 => "R_CUDA_ABS32_20",
        CUDA_ABS32_LO_20 = 43 => "R_CUDA_ABS32_LO_20",
        CUDA_ABS32_HI_20 = 44 => "R_CUDA_ABS32_HI_20",
        CUDA_ABS24_20 = 45 => "R_CUDA_ABS24_20",
        CUDA_ABS16_20 = 46 => "R_CUDA_ABS16_20",
        CUDA_FUNC_DESC32_20 = 47 => "R_CUDA_FUNC_DESC32_20",
        CUDA_FUNC_DESC32_LO_20 = 48 => "R_CUDA_FUNC_DESC32_LO_20",
        CUDA_FUNC_DESC32_HI_20 = 49 => "R_CUDA_FUNC_DESC32_HI_20",
        CUDA_CONST_FIELD19_20 = 50 => "R_CUDA_CONST_FIELD19_20",
        CUDA_BINDLESSOFF13_36 = 51 => "R_CUDA_BINDLESSOFF13_36",
        CUDA_SURF_HEADER_INDEX = 52 => "R_CUDA_SURF_HEADER_INDEX",
        CUDA_INSTRUCTION64 = 53 => "R_CUDA_INSTRUCTION64",
        CUDA_CONST_FIELD21_20 = 54 => "R_CUDA_CONST_FIELD21_20",
        CUDA_ABS32_32 = 55 => "R_CUDA_ABS32_32",
        CUDA_ABS32_LO_32 = 56 => "R_CUDA_ABS32_LO_32",
        CUDA_ABS32_HI_32 = 57 => "R_CUDA_ABS32_HI_32",
        CUDA_ABS47_34 = 58 => "R_CUDA_ABS47_34",
        CUDA_ABS16_32 = 59 => "R_CUDA_ABS16_32",
        CUDA_ABS24_32 = 60 => "R_CUDA_ABS24_32",
        CUDA_FUNC_DESC32_32 = 61 => "R_CUDA_FUNC_DESC32_32",
        CUDA_FUNC_DESC32_LO_32 = 62 => "R_CUDA_FUNC_DESC32_LO_32",
        CUDA_FUNC_DESC32_HI_32 = 63 => "R_CUDA_FUNC_DESC32_HI_32",
        CUDA_CONST_FIELD19_40 = 64 => "R_CUDA_CONST_FIELD19_40",
        CUDA_BINDLESSOFF14_40 = 65 => "R_CUDA_BINDLESSOFF14_40",
        CUDA_CONST_FIELD21_38 = 66 => "R_CUDA_CONST_FIELD21_38",
        CUDA_INSTRUCTION128 = 67 => "R_CUDA_INSTRUCTION128",
        CUDA_YIELD_OPCODE9_0 = 68 => "R_CUDA_YIELD_OPCODE9_0",
        CUDA_YIELD_CLEAR_PRED4_87 = 69 => "R_CUDA_YIELD_CLEAR_PRED4_87",
        CUDA_32_LO = 70 => "R_CUDA_32_LO",
        CUDA_32_HI = 71 => "R_CUDA_32_HI",
        CUDA_UNUSED_CLEAR32 = 72 => "R_CUDA_UNUSED_CLEAR32",
        CUDA_UNUSED_CLEAR64 = 73 => "R_CUDA_UNUSED_CLEAR64",
        CUDA_ABS24_40 = 74 => "R_CUDA_ABS24_40",
        CUDA_ABS55_16_34 = 75 => "R_CUDA_ABS55_16_34",
        CUDA_8_0 = 76 => "R_CUDA_8_0",
        CUDA_8_8 = 77 => "R_CUDA_8_8",
        CUDA_8_16 = 78 => "R_CUDA_8_16",
        CUDA_8_24 = 79 => "R_CUDA_8_24",
        CUDA_8_32 = 80 => "R_CUDA_8_32",
        CUDA_8_40 = 81 => "R_CUDA_8_40",
        CUDA_8_48 = 82 => "R_CUDA_8_48",
        CUDA_8_56 = 83 => "R_CUDA_8_56",
        CUDA_G8_0 = 84 => "R_CUDA_G8_0",
        CUDA_G8_8 = 85 => "R_CUDA_G8_8",
        CUDA_G8_16 = 86 => "R_CUDA_G8_16",
        CUDA_G8_24 = 87 => "R_CUDA_G8_24",
        CUDA_G8_32 = 88 => "R_CUDA_G8_32",
        CUDA_G8_40 = 89 => "R_CUDA_G8_40",
        CUDA_G8_48 = 90 => "R_CUDA_G8_48",
        CUDA_G8_56 = 91 => "R_CUDA_G8_56",
        CUDA_FUNC_DESC_8_0 = 92 => "R_CUDA_FUNC_DESC_8_0",
        CUDA_FUNC_DESC_8_8 = 93 => "R_CUDA_FUNC_DESC_8_8",
        CUDA_FUNC_DESC_8_16 = 94 => "R_CUDA_FUNC_DESC_8_16",
        CUDA_FUNC_DESC_8_24 = 95 => "R_CUDA_FUNC_DESC_8_24",
        CUDA_FUNC_DESC_8_32 = 96 => "R_CUDA_FUNC_DESC_8_32",
        CUDA_FUNC_DESC_8_40 = 97 => "R_CUDA_FUNC_DESC_8_40",
        CUDA_FUNC_DESC_8_48 = 98 => "R_CUDA_FUNC_DESC_8_48",
        CUDA_FUNC_DESC_8_56 = 99 => "R_CUDA_FUNC_DESC_8_56",
        CUDA_ABS20_44 = 100 => "R_CUDA_ABS20_44",
        CUDA_SAMP_HEADER_INDEX_0 = 101 => "R_CUDA_SAMP_HEADER_INDEX_0",
        CUDA_UNIFIED = 102 => "R_CUDA_UNIFIED",
        CUDA_UNIFIED_32 = 103 => "R_CUDA_UNIFIED_32",
        CUDA_UNIFIED_8_0 = 104 => "R_CUDA_UNIFIED_8_0",
        CUDA_UNIFIED_8_8 = 105 => "R_CUDA_UNIFIED_8_8",
        CUDA_UNIFIED_8_16 = 106 => "R_CUDA_UNIFIED_8_16",
        CUDA_UNIFIED_8_24 = 107 => "R_CUDA_UNIFIED_8_24",
        CUDA_UNIFIED_8_32 = 108 => "R_CUDA_UNIFIED_8_32",
        CUDA_UNIFIED_8_40 = 109 => "R_CUDA_UNIFIED_8_40",
        CUDA_UNIFIED_8_48 = 110 => "R_CUDA_UNIFIED_8_48",
        CUDA_UNIFIED_8_56 = 111 => "R_CUDA_UNIFIED_8_56",
        CUDA_UNIFIED32_LO_32 = 112 => "R_CUDA_UNIFIED32_LO_32",
        CUDA_UNIFIED32_HI_32 = 113 => "R_CUDA_UNIFIED32_HI_32",
        CUDA_ABS56_16_34 = 114 => "R_CUDA_ABS56_16_34",
        CUDA_CONST_FIELD22_37 = 115 => "R_CUDA_CONST_FIELD22_37",
    }
}

/// A relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The offset in the section to be patched.
    pub offset: u64,
    /// What to write there.
    pub kind: RelocationType,
    /// The index of the symbol.
    pub symbol: u32,
    /// The addend; 0 for records without one.
    pub addend: i64,
    /// The file range of its record.
    pub range: (u64, u64),
}

/// A relocation table, read on demand.
#[derive(Clone, Copy)]
pub struct Relocations<'a> {
    table: Reader<'a>,
    class: Class,
    with_addend: bool,
}

impl fmt::Debug for Relocations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relocations").field("with_addend", &self.with_addend).finish_non_exhaustive()
    }
}

impl<'a> Relocations<'a> {
    /// Returns the relocation table in a section; `None` if the section is no relocation table.
    ///
    /// # Errors
    /// If its bytes are outside the file.
    pub fn of(elf: &Elf<'a>, section: &Section<'_>) -> Result<Option<Self>> {
        let with_addend = match section.kind {
            SectionType::REL => false,
            SectionType::RELA | SectionType::CUDA_RESOLVED_RELA | SectionType::CUDA_MERCURY_RELA => true,
            _ => return Ok(None),
        };
        Ok(Some(Self { table: elf.bytes(section)?, class: elf.class(), with_addend }))
    }

    /// Returns the size of a record in bytes.
    pub fn record_size(&self) -> u64 {
        let sizes = self.class.sizes();
        u64::from(if self.with_addend { sizes.rela } else { sizes.rel })
    }

    /// Returns the relocations; an incomplete last record is dropped.
    pub fn iter(&self) -> impl Iterator<Item = Relocation> + use<'a> {
        let mut rest = self.table;
        let relocations = *self;
        core::iter::from_fn(move || relocations.record(&mut rest).ok())
    }

    fn record(&self, reader: &mut Reader<'a>) -> Result<Relocation> {
        let start = reader.offset();
        let offset = self.class.read_word(reader)?;
        let info = self.class.read_word(reader)?;
        let (symbol, kind) = match self.class {
            Class::Elf64 => (info >> 32, info & 0xffff_ffff),
            Class::Elf32 => (info >> 8, info & 0xff),
        };
        let addend = match (self.with_addend, self.class) {
            (false, _) => 0,
            (true, Class::Elf64) => reader.u64()?.cast_signed(),
            (true, Class::Elf32) => i64::from(reader.u32()?.cast_signed()),
        };
        Ok(Relocation {
            offset,
            kind: RelocationType(u32::try_from(kind).unwrap_or(u32::MAX)),
            symbol: u32::try_from(symbol).unwrap_or(u32::MAX),
            addend,
            range: (start, reader.offset()),
        })
    }
}
