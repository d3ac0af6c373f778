//! A cubin: compiled code for one chip, with the metadata that the driver needs.
//!
//! | up to toolkit 12 (ABI 7) | from toolkit 13 on (ABI 8) | |
//! |---|---|---|
//! | `EI_OSABI` 0x33 | 0x41 | |
//! | `e_version`, 112 is 11.2 | 1; `.note.nv.cuinfo` has it | toolkit |
//! | `e_flags` bits 0–7 | bits 8–23 | chip |
//! | `e_flags` bits 16–23 | `.note.nv.cuinfo` | chip of the PTX |
//! | `e_flags` bit 10 | | 64-bit addresses |
//!
//! | section | holds |
//! |---|---|
//! | `.text.F` | the code of function F |
//! | `.nv.info`, `.nv.info.F` | [records](crate::info) |
//! | `.nv.constantB.F` | constant bank B of F; without `.F`, shared by all functions |
//! | `.nv.shared.F`, `.nv.local.F` | memory of F; takes no bytes in the file |
//! | `.nv.global`, `.nv.global.init` | variables |
//!
//! The `sh_info` of a section that belongs to a function is the index of the function's code section. The `sh_info`
//! of a code section holds the index of the function's symbol (bits 0–23) and the number of registers (bits 24–31);
//! bits 20–26 of its `sh_flags` are the number of barriers.
//!
//! Source: real cubins, compared with the output of cuobjdump 11.2 to 13.5.

use crate::attribute::Attribute;
use crate::elf::{Elf, Section, SectionType};
use crate::function::Function;
use crate::info::{self, Compatibility, Record};
use crate::symbol::{Symbol, SymbolType};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Reader, Result};

/// The ABI version that toolkit 13 introduced.
pub const ABI_8: u8 = 8;

/// `EI_OSABI` up to toolkit 12, and from toolkit 13 on.
pub const OS_ABIS: [u8; 2] = [0x33, 0x41];

/// A cubin: the ELF file, and an index of the sections of each function. No content is copied.
#[derive(Clone)]
pub struct Cubin<'a> {
    elf: Elf<'a>,
    /// Sorted by the index of the code section.
    sections: Vec<FunctionSections>,
    /// `(symbol, attribute, value)` from `.nv.info`, sorted.
    symbol_values: Vec<(u32, Attribute, u32)>,
    /// The section index of `.nv.info`; 0 if there is none.
    common_info: u32,
    first_function: u32,
}

/// Indices of the sections that belong to one code section; 0 means that there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionSections {
    /// The code section.
    pub(crate) code: u32,
    /// `.nv.info.F`.
    pub(crate) info: u32,
    /// `.nv.shared.F`.
    pub(crate) shared: u32,
    /// `.nv.local.F`.
    pub(crate) local: u32,
    /// Bank and section index of each `.nv.constantB.F`.
    pub(crate) constants: Vec<(u8, u32)>,
    /// `.rel.text.F` and similar, including relocations of its constants.
    pub(crate) relocations: Vec<u32>,
}

/// The role of a section, derived from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Code.
    Code,
    /// `.nv.info` records.
    Info,
    /// Shared memory.
    Shared,
    /// Local memory.
    Local,
    /// A constant bank.
    Constant(u8),
    /// Global variables.
    Global,
    /// Relocations.
    Relocations,
    /// Anything else.
    Other,
}

impl Role {
    /// Returns the section's role, and the name of its function; empty if it belongs to no single function.
    pub fn of<'n>(section: &Section<'n>) -> (Self, &'n [u8]) {
        let suffix = |prefix: &[u8]| {
            let rest = section.name.strip_prefix(prefix)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b".") }
        };
        if section.is_relocations() {
            return (Self::Relocations, b"");
        }
        if section.is_code() {
            return (Self::Code, suffix(b".text").unwrap_or(section.name));
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
        let found = ROLES.iter().find_map(|(prefix, role)| Some((*role, suffix(prefix)?)));
        found.unwrap_or(match section.kind {
            // `.nv_debug.shared`: variables that several functions may have, such as those of templates.
            SectionType::CUDA_SHARED => (Self::Shared, b""),
            _ => (Self::Other, b""),
        })
    }
}

/// The contents of `.note.nv.tkinfo`: the tool that made the cubin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolInfo<'a> {
    /// Its name: `ptxas`.
    pub name: &'a [u8],
    /// Its version, as text.
    pub version: &'a [u8],
    /// Its build branch.
    pub branch: &'a [u8],
    /// Its command-line arguments.
    pub arguments: &'a [u8],
}

impl fmt::Debug for Cubin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cubin").field("elf", &self.elf).field("arch", &self.arch()).finish_non_exhaustive()
    }
}

impl<'a> Cubin<'a> {
    /// Parses a cubin at the start of a file.
    ///
    /// # Errors
    /// Same as [`Elf::read`].
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a cubin at offset `base` of a larger file; errors and ranges use offsets of that file.
    ///
    /// # Errors
    /// Same as [`Elf::read`].
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        Self::read(Reader::at(data, base))
    }

    /// Reads the cubin at the start of `file`: header, section table, and per-symbol values of `.nv.info`.
    ///
    /// # Errors
    /// Same as [`Elf::read`].
    pub fn read(file: Reader<'a>) -> Result<Self> {
        let elf = Elf::read(file)?;
        let mut cubin =
            Self { elf, sections: Vec::new(), symbol_values: Vec::new(), common_info: 0, first_function: 0 };
        cubin.index_sections();
        cubin.index_symbol_values();
        Ok(cubin)
    }

    fn index_sections(&mut self) {
        let elf = self.elf;
        for section in elf.headers().filter(Section::is_code) {
            self.sections.push(FunctionSections { code: section.index, ..FunctionSections::default() });
        }
        // (constant section, code section), ascending.
        let mut constants: Vec<(u32, u32)> = Vec::new();
        for section in elf.sections() {
            if section.kind == SectionType::CUDA_INFO && section.name == b".nv.info" {
                self.common_info = section.index;
            }
            let code = section.info & INDEX_MASK;
            let Some(sections) = self.function_sections_mut(code) else { continue };
            match Role::of(&section).0 {
                Role::Info if section.kind == SectionType::CUDA_INFO => sections.info = section.index,
                Role::Shared => sections.shared = section.index,
                Role::Local => sections.local = section.index,
                Role::Constant(bank) => {
                    sections.constants.push((bank, section.index));
                    constants.push((section.index, code));
                }
                _ => {}
            }
        }
        for section in elf.headers().filter(Section::is_relocations) {
            let target = section.info & INDEX_MASK;
            let found = constants.binary_search_by_key(&target, |(constant, _)| *constant);
            let code_of_constants = found.ok().and_then(|index| constants.get(index)).map(|(_, code)| *code);
            if let Some(sections) = self.function_sections_mut(code_of_constants.unwrap_or(target)) {
                sections.relocations.push(section.index);
            }
        }
    }

    fn index_symbol_values(&mut self) {
        let Some(section) = self.common_info() else { return };
        let Ok(bytes) = self.elf.bytes(&section) else { return };
        for record in info::records(bytes).map_while(Result::ok) {
            if let Some((symbol, number)) = record.symbol_number() {
                self.symbol_values.push((symbol, record.attribute, number));
            }
        }
        // The sort is stable: of several values the last one counts.
        self.symbol_values.sort_by_key(|(symbol, attribute, _)| (*symbol, attribute.0));
    }

    fn function_sections_mut(&mut self, code: u32) -> Option<&mut FunctionSections> {
        let found = self.sections.binary_search_by_key(&code, |sections| sections.code).ok()?;
        self.sections.get_mut(found)
    }

    pub(crate) fn function_sections(&self, code: u32) -> Option<&FunctionSections> {
        let found = self.sections.binary_search_by_key(&code, |sections| sections.code).ok()?;
        self.sections.get(found)
    }

    /// Returns the ELF file.
    pub fn elf(&self) -> &Elf<'a> {
        &self.elf
    }

    /// Returns all bytes, starting at the ELF header.
    pub fn file(&self) -> Reader<'a> {
        self.elf.file()
    }

    /// Returns whether it has the ABI that toolkit 13 introduced.
    pub fn is_abi_8(&self) -> bool {
        self.elf.header().abi_version >= ABI_8
    }

    /// Returns the chip: 35 for sm_35.
    pub fn arch(&self) -> u32 {
        let flags = self.elf.header().flags;
        if self.is_abi_8() { (flags >> 8) & 0xffff } else { flags & 0xff }
    }

    /// Returns the target: `sm_35`, or `sm_90a` for code that uses the accelerators of its chip and runs on no other.
    pub fn target(&self) -> String {
        let suffix = if self.has_accelerators() { "a" } else { "" };
        format!("sm_{}{suffix}", self.arch())
    }

    /// Returns whether it uses the accelerators of its chip. Toolkit 13 says so in `.nv.compat`, older ones in the flags of the
    /// ELF header, where bit 11 was the mark of a workaround before Hopper.
    pub fn has_accelerators(&self) -> bool {
        const FLAG: (u32, u32) = (0x800, 0x8);
        const HOPPER: u32 = 90;
        let flags = self.elf.header().flags;
        if !self.is_abi_8() {
            return self.arch() >= HOPPER && flags & FLAG.0 != 0;
        }
        let section = self.elf.section_named(b".nv.compat").and_then(|section| self.elf.bytes(&section).ok());
        let records = section.into_iter().flat_map(info::records).flatten();
        let mut targets =
            records.filter(|record| record.compatibility() == Compatibility::CUDA_ACCELERATOR_TARGET);
        targets.next().map_or(flags & FLAG.1 != 0, |record| record.number == 1)
    }

    /// Returns the target of the PTX that it was compiled from: 35 for compute_35.
    pub fn virtual_arch(&self) -> Option<u32> {
        if self.is_abi_8() {
            return self.cuda_info().map(|(arch, _)| u32::from(arch));
        }
        let arch = (self.elf.header().flags >> 16) & 0xff;
        (arch != 0).then_some(arch)
    }

    /// Returns the toolkit version times ten: 112 is 11.2.
    pub fn toolkit(&self) -> Option<u32> {
        if self.is_abi_8() {
            return self.cuda_info().map(|(_, toolkit)| toolkit);
        }
        Some(self.elf.header().version)
    }

    /// Returns whether addresses have 64 bits.
    pub fn has_64_bit_addresses(&self) -> bool {
        const ADDRESS_64: u32 = 0x400;
        self.is_abi_8() || self.elf.header().flags & ADDRESS_64 != 0
    }

    /// Returns PTX target and toolkit from `.note.nv.cuinfo`: u16 version (2), u16 target, u32 toolkit.
    fn cuda_info(&self) -> Option<(u16, u32)> {
        let mut note = self.note(b".note.nv.cuinfo")?;
        note.skip(2).ok()?;
        Some((note.u16().ok()?, note.u32().ok()?))
    }

    /// Returns the contents of `.note.nv.tkinfo`: u32 version (2), five string offsets (file, name, version,
    /// branch, arguments), strings.
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

    /// Returns the descriptor of a section's first note: u32 name size, u32 descriptor size, u32 type, name,
    /// descriptor.
    fn note(&self, name: &[u8]) -> Option<Reader<'a>> {
        let section = self.elf.section_named(name)?;
        let mut bytes = self.elf.bytes(&section).ok()?;
        let (name_size, size) = (bytes.u32().ok()?, bytes.u32().ok()?);
        bytes.skip(4).ok()?;
        bytes.skip(u64::from(name_size).checked_next_multiple_of(4)?).ok()?;
        bytes.split(u64::from(size)).ok()
    }

    /// Returns the `.nv.info` section, whose records apply to the whole cubin.
    pub fn common_info(&self) -> Option<Section<'a>> {
        if self.common_info == 0 { None } else { self.elf.section(self.common_info).ok() }
    }

    /// Returns the records that apply to the whole cubin.
    pub fn records(&self) -> impl Iterator<Item = Result<Record<'a>>> + use<'a> {
        let section = self.common_info().and_then(|section| self.elf.bytes(&section).ok());
        info::records(section.unwrap_or(Reader::at(&[], self.file().base())))
    }

    /// Returns the value that `.nv.info` gives a symbol for an attribute.
    pub fn number_of(&self, symbol: u32, attribute: Attribute) -> Option<u32> {
        let key = (symbol, attribute.0);
        let end = self.symbol_values.partition_point(|(symbol, attribute, _)| (*symbol, attribute.0) <= key);
        let (symbol, attribute, value) = self.symbol_values.get(end.checked_sub(1)?)?;
        ((*symbol, attribute.0) == key).then_some(*value)
    }

    /// Returns the functions in symbol order: kernels, device functions, and functions inside other functions'
    /// code.
    pub fn functions(&self) -> impl Iterator<Item = Function<'a>> + use<'a, '_> {
        let index = |place: u32| self.first_function.saturating_add(place);
        (0..)
            .zip(self.function_symbols())
            .map(move |(place, symbol)| Function::new(self, index(place), symbol))
    }

    /// Returns the number of functions.
    pub fn function_count(&self) -> u32 {
        u32::try_from(self.function_symbols().count()).unwrap_or(u32::MAX)
    }

    /// Numbers the functions from `first`: those of a fat binary count through its entries.
    #[must_use]
    pub fn numbered_from(self, first: u32) -> Self {
        Self { first_function: first, ..self }
    }

    /// Returns the index of the first function.
    pub fn first_function(&self) -> u32 {
        self.first_function
    }

    fn function_symbols(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        self.elf.symbols().into_iter().flat_map(|symbols| symbols.iter()).filter(|symbol| {
            symbol.kind == SymbolType::FUNCTION
                && symbol.section != Symbol::UNDEFINED
                && symbol.section < Symbol::FIRST_RESERVED
        })
    }

    /// Returns the code sections; a disassembler prints one listing per code section.
    pub fn code_sections(&self) -> impl Iterator<Item = Section<'a>> + use<'a, '_> {
        self.sections.iter().filter_map(|sections| self.elf.section(sections.code).ok())
    }

    /// Returns the total size of all sections of global variables.
    pub fn global_memory(&self) -> u64 {
        self.elf
            .sections()
            .filter(|section| Role::of(section) == (Role::Global, b""))
            .fold(0, |sum: u64, section| sum.saturating_add(section.size))
    }

    /// Returns bank and size of the constant banks that all functions share.
    pub fn common_constants(&self) -> impl Iterator<Item = (u8, u64)> + use<'a> {
        self.elf.sections().filter_map(|section| match Role::of(&section) {
            (Role::Constant(bank), b"") => Some((bank, section.size)),
            _ => None,
        })
    }
}

/// The bits of `sh_info` that hold an index.
pub(crate) const INDEX_MASK: u32 = 0xff_ffff;
