//! A cubin: the compiled code for one chip, with what the driver has to know of it.
//!
//! | up to toolkit 12 (ABI 7) | from toolkit 13 on (ABI 8) | |
//! |---|---|---|
//! | `EI_OSABI` 0x33 | 0x41 | |
//! | `e_version`, 112 is 11.2 | 1; `.note.nv.cuinfo` has it | toolkit |
//! | `e_flags` bits 0–7 | bits 8–15 | chip |
//! | `e_flags` bits 16–23 | `.note.nv.cuinfo` | chip of the PTX |
//! | `e_flags` bit 10 | | 64-bit addresses |
//!
//! | section | holds |
//! |---|---|
//! | `.text.F` | the code of function F |
//! | `.nv.info`, `.nv.info.F` | [records](crate::info) |
//! | `.nv.constantB.F` | what F finds in constant bank B; without F it is for all |
//! | `.nv.shared.F`, `.nv.local.F` | memory of F; no bytes in the file |
//! | `.nv.global`, `.nv.global.init` | variables |
//!
//! `sh_info` of all that belongs to a function is the index of its code; of the code it is the index of the function's
//! symbol (bits 0–23) and the number of registers (bits 24–31). Bits 20–26 of the code's `sh_flags` are the number of
//! barriers.
//!
//! Source: the corpus, beside what cuobjdump 11.2 to 13.5 print of it.

use crate::attribute::Attribute;
use crate::elf::{Elf, Section, SectionType};
use crate::function::Function;
use crate::info::{self, Record};
use crate::symbol::{Symbol, SymbolType};
use alloc::vec::Vec;
use unshade_core::{Reader, Result};

/// The ABI that toolkit 13 brought.
pub const ABI_8: u8 = 8;

/// What `EI_OSABI` is up to toolkit 12, and from 13 on.
pub const OS_ABIS: [u8; 2] = [0x33, 0x41];

/// A cubin: the ELF file, and an index of what belongs to which function. Nothing of its content is copied.
#[derive(Clone, Debug)]
pub struct Cubin<'a> {
    elf: Elf<'a>,
    /// By the index of the code, ascending.
    parts: Vec<Parts>,
    /// What `.nv.info` tells of symbols, sorted.
    numbers: Vec<(u32, Attribute, u32)>,
    /// The index of `.nv.info`; 0 if there is none.
    common_info: u32,
}

/// The sections that belong to a code section, by their indices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    /// The code itself.
    pub(crate) code: u32,
    /// `.nv.info.F`; 0 if there is none, as in all of these.
    pub(crate) info: u32,
    /// `.nv.shared.F`.
    pub(crate) shared: u32,
    /// `.nv.local.F`.
    pub(crate) local: u32,
    /// Bank and section of each `.nv.constantB.F`.
    pub(crate) constants: Vec<(u8, u32)>,
    /// `.rel.text.F` and the like, also of its constants.
    pub(crate) relocations: Vec<u32>,
}

/// What a section of a cubin is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Code.
    Code,
    /// Records.
    Info,
    /// Shared memory.
    Shared,
    /// Local memory.
    Local,
    /// What is in a constant bank.
    Constant(u8),
    /// Variables.
    Global,
    /// Relocations.
    Relocations,
    /// Anything else.
    Other,
}

impl Role {
    /// What a section is, and the name of the function that it belongs to; empty if it is for all.
    pub fn of<'n>(section: &Section<'n>) -> (Self, &'n [u8]) {
        let after = |prefix: &[u8]| {
            let rest = section.name.strip_prefix(prefix)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b".") }
        };
        if section.is_relocations() {
            return (Self::Relocations, b"");
        }
        if section.is_code() {
            return (Self::Code, after(b".text").unwrap_or(section.name));
        }
        if let Some(rest) = section.name.strip_prefix(b".nv.constant") {
            let digits = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, rest) = rest.split_at_checked(digits).unwrap_or((b"", rest));
            let bank = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            if let Some(bank) = bank {
                return (Self::Constant(bank), rest.strip_prefix(b".").unwrap_or(rest));
            }
        }
        const ROLES: &[(&[u8], Role)] = &[
            (b".nv.info", Role::Info),
            (b".nv.shared", Role::Shared),
            (b".nv.local", Role::Local),
            (b".nv.global.init", Role::Global),
            (b".nv.global", Role::Global),
        ];
        let found = ROLES.iter().find_map(|(prefix, role)| Some((*role, after(prefix)?)));
        found.unwrap_or((Self::Other, b""))
    }
}

/// What `.note.nv.tkinfo` tells of the tool that made a cubin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolInfo<'a> {
    /// Its name: `ptxas`.
    pub name: &'a [u8],
    /// Its version, in words.
    pub version: &'a [u8],
    /// Its build.
    pub branch: &'a [u8],
    /// The options that it was given.
    pub arguments: &'a [u8],
}

impl<'a> Cubin<'a> {
    /// Reads the cubin that starts where `file` does: header, section table, and what `.nv.info` tells of symbols.
    ///
    /// # Errors
    /// As [`Elf::read`].
    pub fn read(file: Reader<'a>) -> Result<Self> {
        let elf = Elf::read(file)?;
        let mut cubin = Self { elf, parts: Vec::new(), numbers: Vec::new(), common_info: 0 };
        cubin.index_sections();
        cubin.index_numbers();
        Ok(cubin)
    }

    fn index_sections(&mut self) {
        let elf = self.elf;
        for section in elf.headers().filter(Section::is_code) {
            self.parts.push(Parts { code: section.index, ..Parts::default() });
        }
        // Constant sections with the code that they belong to, ascending.
        let mut constants: Vec<(u32, u32)> = Vec::new();
        for section in elf.sections() {
            if section.kind == SectionType::CUDA_INFO && section.name == b".nv.info" {
                self.common_info = section.index;
            }
            let code = section.info & INDEX_MASK;
            let Some(parts) = self.parts_mut(code) else { continue };
            match Role::of(&section).0 {
                Role::Info if section.kind == SectionType::CUDA_INFO => parts.info = section.index,
                Role::Shared => parts.shared = section.index,
                Role::Local => parts.local = section.index,
                Role::Constant(bank) => {
                    parts.constants.push((bank, section.index));
                    constants.push((section.index, code));
                }
                _ => {}
            }
        }
        for section in elf.headers().filter(Section::is_relocations) {
            let target = section.info & INDEX_MASK;
            let place = constants.binary_search_by_key(&target, |(constant, _)| *constant);
            let of_constants = place.ok().and_then(|place| constants.get(place)).map(|(_, code)| *code);
            if let Some(parts) = self.parts_mut(of_constants.unwrap_or(target)) {
                parts.relocations.push(section.index);
            }
        }
    }

    fn index_numbers(&mut self) {
        let Some(section) = self.common_info() else { return };
        let Ok(bytes) = self.elf.bytes(&section) else { return };
        for record in info::records(bytes).map_while(Result::ok) {
            if let Some((symbol, number)) = record.symbol_number() {
                self.numbers.push((symbol, record.attribute, number));
            }
        }
        // Of several the last counts: the sort keeps their order.
        self.numbers.sort_by_key(|(symbol, attribute, _)| (*symbol, attribute.0));
    }

    fn parts_mut(&mut self, code: u32) -> Option<&mut Parts> {
        let place = self.parts.binary_search_by_key(&code, |parts| parts.code).ok()?;
        self.parts.get_mut(place)
    }

    pub(crate) fn parts(&self, code: u32) -> Option<&Parts> {
        let place = self.parts.binary_search_by_key(&code, |parts| parts.code).ok()?;
        self.parts.get(place)
    }

    /// The ELF file.
    pub fn elf(&self) -> &Elf<'a> {
        &self.elf
    }

    /// All bytes, from the header on.
    pub fn file(&self) -> Reader<'a> {
        self.elf.file()
    }

    /// Whether it is of the form that toolkit 13 brought.
    pub fn is_abi_8(&self) -> bool {
        self.elf.header().abi_version >= ABI_8
    }

    /// The chip, such as 35.
    pub fn arch(&self) -> u32 {
        let flags = self.elf.header().flags;
        if self.is_abi_8() { (flags >> 8) & 0xff } else { flags & 0xff }
    }

    /// The chip of the PTX that it was compiled from.
    pub fn virtual_arch(&self) -> Option<u32> {
        if self.is_abi_8() {
            return self.cuda_info().map(|(arch, _)| u32::from(arch));
        }
        let arch = (self.elf.header().flags >> 16) & 0xff;
        (arch != 0).then_some(arch)
    }

    /// The version of the toolkit times ten: 112 is 11.2.
    pub fn toolkit(&self) -> Option<u32> {
        if self.is_abi_8() {
            return self.cuda_info().map(|(_, toolkit)| toolkit);
        }
        Some(self.elf.header().version)
    }

    /// Whether addresses have 64 bits.
    pub fn has_64_bit_addresses(&self) -> bool {
        const ADDRESS_64: u32 = 0x400;
        self.is_abi_8() || self.elf.header().flags & ADDRESS_64 != 0
    }

    /// Chip of the PTX and toolkit in `.note.nv.cuinfo`: u16 version 2, u16 chip, u32 toolkit.
    fn cuda_info(&self) -> Option<(u16, u32)> {
        let mut note = self.note(b".note.nv.cuinfo")?;
        note.skip(2).ok()?;
        Some((note.u16().ok()?, note.u32().ok()?))
    }

    /// What `.note.nv.tkinfo` tells: u32 version 2, five offsets (file, name, version, branch, arguments), and text.
    pub fn tool_info(&self) -> Option<ToolInfo<'a>> {
        let mut note = self.note(b".note.nv.tkinfo")?;
        note.skip(8).ok()?;
        let offsets = [note.u32().ok()?, note.u32().ok()?, note.u32().ok()?, note.u32().ok()?];
        let text = Reader::at(note.rest(), note.offset());
        let [name, version, branch, arguments] = offsets.map(|offset| {
            let rest = (text.data().len() as u64).saturating_sub(u64::from(offset));
            text.part(u64::from(offset), rest).and_then(|mut part| part.c_string()).unwrap_or_default()
        });
        Some(ToolInfo { name, version, branch, arguments })
    }

    /// The description of the first note of a section: u32 size of the name, u32 size, u32 type, name, description.
    fn note(&self, name: &[u8]) -> Option<Reader<'a>> {
        let section = self.elf.section_named(name)?;
        let mut bytes = self.elf.bytes(&section).ok()?;
        let (name_size, size) = (bytes.u32().ok()?, bytes.u32().ok()?);
        bytes.skip(4).ok()?;
        bytes.skip(u64::from(name_size).checked_next_multiple_of(4)?).ok()?;
        bytes.split(u64::from(size)).ok()
    }

    /// The section of records that are for the whole cubin.
    pub fn common_info(&self) -> Option<Section<'a>> {
        if self.common_info == 0 { None } else { self.elf.section(self.common_info).ok() }
    }

    /// The records that are for the whole cubin.
    pub fn records(&self) -> impl Iterator<Item = Result<Record<'a>>> + use<'a> {
        let section = self.common_info().and_then(|section| self.elf.bytes(&section).ok());
        info::records(section.unwrap_or(Reader::at(&[], self.file().base())))
    }

    /// What `.nv.info` tells of a symbol under an attribute.
    pub fn number_of(&self, symbol: u32, attribute: Attribute) -> Option<u32> {
        let key = (symbol, attribute.0);
        let end = self.numbers.partition_point(|(symbol, attribute, _)| (*symbol, attribute.0) <= key);
        let (found, of, number) = self.numbers.get(end.checked_sub(1)?)?;
        ((*found, of.0) == key).then_some(*number)
    }

    /// The functions, in the order of the symbols: kernels, device functions, and those inside of other functions.
    pub fn functions(&self) -> impl Iterator<Item = Function<'a>> + use<'a, '_> {
        let symbols = self.elf.symbols();
        let functions = symbols.into_iter().flat_map(|symbols| symbols.iter()).filter(|symbol| {
            symbol.kind == SymbolType::FUNCTION
                && symbol.section != Symbol::UNDEFINED
                && symbol.section < Symbol::FIRST_RESERVED
        });
        (0..).zip(functions).map(|(index, symbol)| Function::new(self, index, symbol))
    }

    /// The code sections; each is one listing of a disassembler.
    pub fn code_sections(&self) -> impl Iterator<Item = Section<'a>> + use<'a, '_> {
        self.parts.iter().filter_map(|parts| self.elf.section(parts.code).ok())
    }

    /// The size of all sections of variables.
    pub fn global_memory(&self) -> u64 {
        self.elf
            .sections()
            .filter(|section| Role::of(section) == (Role::Global, b""))
            .fold(0, |sum: u64, section| sum.saturating_add(section.size))
    }

    /// Bank and size of the constants that are for all functions.
    pub fn common_constants(&self) -> impl Iterator<Item = (u8, u64)> + use<'a> {
        self.elf.sections().filter_map(|section| match Role::of(&section) {
            (Role::Constant(bank), b"") => Some((bank, section.size)),
            _ => None,
        })
    }
}

/// The bits of `sh_info` that are an index.
pub(crate) const INDEX_MASK: u32 = 0xff_ffff;
