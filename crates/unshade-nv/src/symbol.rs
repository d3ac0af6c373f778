//! Symbols: functions, variables, sections, textures.
//!
//! | field | 64-bit at | 32-bit at |
//! |---|---|---|
//! | name, an offset in the string table | 0 | 0 |
//! | value: the offset in its section | 8 | 4 |
//! | size | 16 | 8 |
//! | info: type in bits 0–3, binding in bits 4–7 | 4 | 12 |
//! | other | 5 | 13 |
//! | section | 6 | 14 |
//!
//! Bits of *other*: 0–1 visibility, 3 obscure (NVIDIA's term), 4 entry point (a kernel), 5–7 the memory of a variable.
//! Source: the System V ABI; for types, entry points and memories, what cuobjdump 13.5 prints for each value.

use crate::elf::{Class, Elf, Section};
use core::fmt;
use unshade_core::{Reader, Result};

unshade_core::open_enum! {
    /// The type of a symbol.
    pub struct SymbolType(u8) {
        NONE = 0 => "NOTYPE",
        OBJECT = 1 => "OBJECT",
        FUNCTION = 2 => "FUNC",
        SECTION = 3 => "SECTION",
        FILE = 4 => "FILE",
        COMMON = 5 => "COMMON",
        CUDA_TEXTURE = 10 => "CUDA_TEXTURE",
        CUDA_SAMPLER = 11 => "CUDA_SAMPLER",
        CUDA_SURFACE = 12 => "CUDA_SURFACE",
        CUDA_OBJECT = 13 => "CUDA_OBJECT",
    }
}

unshade_core::open_enum! {
    /// The visibility of a symbol to the linker.
    pub struct Binding(u8) {
        LOCAL = 0 => "LOCAL",
        GLOBAL = 1 => "GLOBAL",
        WEAK = 2 => "WEAK",
    }
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    /// Its index in the table.
    pub index: u32,
    /// The offset of its name in the string table.
    pub name_offset: u32,
    /// Its name; empty if it has none, or if it can't be read.
    pub name: &'a [u8],
    /// Its type.
    pub kind: SymbolType,
    /// Its visibility to the linker.
    pub binding: Binding,
    /// Visibility, flags and memory.
    pub other: u8,
    /// The index of its section; 0 if it is defined in another file.
    pub section: u16,
    /// Its offset in its section.
    pub value: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The file range of its record.
    pub range: (u64, u64),
}

impl Symbol<'_> {
    /// The section index of an undefined symbol.
    pub const UNDEFINED: u16 = 0;
    /// The first of the reserved section indices, which refer to no section.
    pub const FIRST_RESERVED: u16 = 0xff00;
    /// The bit of `other` that marks a kernel.
    pub const ENTRY: u8 = 0x10;

    /// Returns whether it is a kernel, a function that the host can launch.
    pub fn is_kernel(&self) -> bool {
        self.kind == SymbolType::FUNCTION && self.other & Self::ENTRY != 0
    }

    /// Returns the memory that a variable is in, if the symbol states it.
    pub fn memory(&self) -> Option<&'static str> {
        match self.other >> 5 {
            1 => Some("global"),
            2 => Some("shared"),
            3 => Some("local"),
            4 => Some("constant"),
            5 => Some("reserved shared"),
            _ => None,
        }
    }
}

/// A symbol table, read on demand.
#[derive(Clone, Copy)]
pub struct Symbols<'a> {
    table: Reader<'a>,
    names: Reader<'a>,
    class: Class,
}

impl fmt::Debug for Symbols<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl<'a> Symbols<'a> {
    pub(crate) fn new(elf: &Elf<'a>, section: &Section<'_>) -> Self {
        let none = || Reader::at(&[], elf.file().base());
        let names = elf.section(section.link).and_then(|names| elf.bytes(&names));
        Self {
            table: elf.bytes(section).unwrap_or_else(|_| none()),
            names: names.unwrap_or_else(|_| none()),
            class: elf.class(),
        }
    }

    /// Returns the number of symbols, including the null symbol at index 0.
    pub fn count(&self) -> u32 {
        let size = usize::from(self.class.sizes().symbol);
        let count = self.table.data().len().checked_div(size).unwrap_or(0);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns the symbol with this index.
    pub fn get(&self, index: u32) -> Option<Symbol<'a>> {
        self.read(index).ok()
    }

    /// Returns all symbols, including the null symbol at index 0.
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let symbols = *self;
        (0..symbols.count()).map_while(move |index| symbols.get(index))
    }

    fn read(&self, index: u32) -> Result<Symbol<'a>> {
        let size = u64::from(self.class.sizes().symbol);
        let mut reader = self.table.part(u64::from(index).saturating_mul(size), size)?;
        let start = reader.offset();
        let name_offset = reader.u32()?;
        let (info, other, section, value, bytes);
        match self.class {
            Class::Elf64 => {
                info = reader.u8()?;
                other = reader.u8()?;
                section = reader.u16()?;
                value = reader.u64()?;
                bytes = reader.u64()?;
            }
            Class::Elf32 => {
                value = u64::from(reader.u32()?);
                bytes = u64::from(reader.u32()?);
                info = reader.u8()?;
                other = reader.u8()?;
                section = reader.u16()?;
            }
        }
        let name = if name_offset == 0 { Ok(&b""[..]) } else { self.name(name_offset) };
        Ok(Symbol {
            index,
            name_offset,
            name: name.unwrap_or_default(),
            kind: SymbolType(info & 0xf),
            binding: Binding(info >> 4),
            other,
            section,
            value,
            size: bytes,
            range: (start, start.saturating_add(size)),
        })
    }

    /// Returns the name at an offset of the string table.
    ///
    /// # Errors
    /// If it starts or ends outside that section.
    pub fn name(&self, offset: u32) -> Result<&'a [u8]> {
        let rest = self.names.data().len() as u64;
        self.names.part(u64::from(offset), rest.saturating_sub(u64::from(offset)))?.c_string()
    }
}
