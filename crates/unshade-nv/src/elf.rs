//! The ELF file that a cubin is: header, sections, symbols, relocations, segments.
//!
//! | thing | 64-bit | 32-bit |
//! |---|---|---|
//! | header | 64 bytes | 52 bytes |
//! | entry of the section table | 64 | 40 |
//! | entry of the segment table | 56 | 32 |
//! | symbol | 24 | 16 |
//! | relocation without, with addend | 16, 24 | 8, 12 |
//!
//! All of it is little-endian. Nothing is copied and nothing is read before it is asked for: a section is its index
//! until somebody wants its header. A damaged table costs what is damaged of it, and no more.
//!
//! Source: the System V ABI, chapters 4 and 5 (the layout); the values that are NVIDIA's own are told where they are.

use crate::symbol::{Symbol, Symbols};
use alloc::format;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The first four bytes.
pub const MAGIC: [u8; 4] = *b"\x7fELF";

/// `e_machine` of NVIDIA's GPUs.
pub const MACHINE: u16 = 190;

/// The longest name that is read.
pub const MAX_NAME: usize = 1 << 16;

unshade_core::open_enum! {
    /// What a section holds (`sh_type`). The names from `0x70000000` on are those that cuobjdump 13.5 prints.
    pub struct SectionType(u32) {
        NULL = 0 => "NULL",
        PROGBITS = 1 => "PROGBITS",
        SYMTAB = 2 => "SYMTAB",
        STRTAB = 3 => "STRTAB",
        RELA = 4 => "RELA",
        HASH = 5 => "HASH",
        DYNAMIC = 6 => "DYNAMIC",
        NOTE = 7 => "NOTE",
        NOBITS = 8 => "NOBITS",
        REL = 9 => "REL",
        CUDA_INFO = 0x7000_0000 => "CUDA_INFO",
        CUDA_CALLGRAPH = 0x7000_0001 => "CUDA_CALLGRAPH",
        CUDA_PROTOTYPE = 0x7000_0002 => "CUDA_PROTOTYPE",
        CUDA_RESOLVED_RELA = 0x7000_0003 => "CUDA_RESOLVED_RELA",
        CUDA_METADATA = 0x7000_0004 => "CUDA_METADATA",
        CUDA_CONSTANT = 0x7000_0006 => "CUDA_CONSTANT",
        CUDA_GLOBAL = 0x7000_0007 => "CUDA_GLOBAL",
        CUDA_GLOBAL_INIT = 0x7000_0008 => "CUDA_GLOBAL_INIT",
        CUDA_LOCAL = 0x7000_0009 => "CUDA_LOCAL",
        CUDA_SHARED = 0x7000_000a => "CUDA_SHARED",
        CUDA_RELOCINFO = 0x7000_000b => "CUDA_RELOCINFO",
        CUDA_UFT = 0x7000_000e => "CUDA_UFT",
        CUDA_UIDX = 0x7000_0010 => "CUDA_UIDX",
        CUDA_UFT_ENTRY = 0x7000_0011 => "CUDA_UFT_ENTRY",
        CUDA_UDT = 0x7000_0012 => "CUDA_UDT",
        CUDA_UDT_ENTRY = 0x7000_0014 => "CUDA_UDT_ENTRY",
        CUDA_RESERVED_SHARED = 0x7000_0015 => "CUDA_RESERVED_SHARED",
        CUDA_CONSTANT_B0 = 0x7000_0064 => "CUDA_CONSTANT_B0",
        CUDA_CONSTANT_B1 = 0x7000_0065 => "CUDA_CONSTANT_B1",
        CUDA_CONSTANT_B2 = 0x7000_0066 => "CUDA_CONSTANT_B2",
        CUDA_CONSTANT_B3 = 0x7000_0067 => "CUDA_CONSTANT_B3",
        CUDA_CONSTANT_B4 = 0x7000_0068 => "CUDA_CONSTANT_B4",
        CUDA_CONSTANT_B5 = 0x7000_0069 => "CUDA_CONSTANT_B5",
        CUDA_CONSTANT_B6 = 0x7000_006a => "CUDA_CONSTANT_B6",
        CUDA_CONSTANT_B7 = 0x7000_006b => "CUDA_CONSTANT_B7",
        CUDA_COMPAT_INFO = 0x7000_0086 => "CUDA_COMPAT_INFO",
        CUDA_EMBEDDED_HOST = 0x7000_0087 => "CUDA_EMBEDDED_HOST",
        CUDA_METADATA_TRACE_MARK = 0x7000_0089 => "CUDA_METADATA_TRACE_MARK",
    }
}

impl SectionType {
    /// Whether sections of this type have bytes in the file. Memory that a kernel finds empty has none: the type says so
    /// from ABI 8 on, where it was NOBITS before.
    pub fn has_bytes(self) -> bool {
        !matches!(
            self,
            Self::NULL
                | Self::NOBITS
                | Self::CUDA_GLOBAL
                | Self::CUDA_LOCAL
                | Self::CUDA_SHARED
                | Self::CUDA_RESERVED_SHARED
        )
    }
}

unshade_core::open_enum! {
    /// What sort of ELF file it is (`e_type`).
    pub struct FileType(u16) {
        RELOCATABLE = 1 => "relocatable",
        EXECUTABLE = 2 => "executable",
        SHARED = 3 => "shared",
    }
}

unshade_core::open_enum! {
    /// What a segment is for (`p_type`).
    pub struct SegmentType(u32) {
        NULL = 0 => "NULL",
        LOAD = 1 => "LOAD",
        DYNAMIC = 2 => "DYNAMIC",
        NOTE = 4 => "NOTE",
        PHDR = 6 => "PHDR",
    }
}

/// Whether addresses, offsets and sizes have 64 or 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 32 bits; CUDA's toolkits up to 6.5 made such cubins.
    Elf32,
    /// 64 bits.
    Elf64,
}

/// The sizes of the things whose size depends on the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of the header.
    pub header: u16,
    /// Of an entry of the section table.
    pub section: u16,
    /// Of an entry of the segment table.
    pub segment: u16,
    /// Of a symbol.
    pub symbol: u16,
    /// Of a relocation without an addend.
    pub rel: u16,
    /// Of a relocation with an addend.
    pub rela: u16,
}

impl Class {
    /// The sizes of this class.
    pub fn sizes(self) -> Sizes {
        match self {
            Self::Elf32 => Sizes { header: 52, section: 40, segment: 32, symbol: 16, rel: 8, rela: 12 },
            Self::Elf64 => Sizes { header: 64, section: 64, segment: 56, symbol: 24, rel: 16, rela: 24 },
        }
    }

    /// The size of an address in bytes.
    pub fn word(self) -> u64 {
        match self {
            Self::Elf32 => 4,
            Self::Elf64 => 8,
        }
    }

    pub(crate) fn read_word(self, reader: &mut Reader<'_>) -> Result<u64> {
        match self {
            Self::Elf32 => reader.u32().map(u64::from),
            Self::Elf64 => reader.u64(),
        }
    }
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// 32 or 64 bits.
    pub class: Class,
    /// `EI_DATA`: 1 is little-endian, and all that there is.
    pub data: u8,
    /// `EI_OSABI`: 0x33 up to toolkit 12, 0x41 from 13 on.
    pub os_abi: u8,
    /// `EI_ABIVERSION`: 7 up to toolkit 12, 8 from 13 on.
    pub abi_version: u8,
    /// What sort of file it is.
    pub file_type: FileType,
    /// The machine: 190.
    pub machine: u16,
    /// `e_version`: the toolkit up to ABI 7 (80 is 8.0), 1 from ABI 8 on.
    pub version: u32,
    /// The address of the entry point; 0.
    pub entry: u64,
    /// Where the segment table is.
    pub segments_offset: u64,
    /// Where the section table is.
    pub sections_offset: u64,
    /// `e_flags`.
    pub flags: u32,
    /// The size of the header, as it says itself.
    pub header_size: u16,
    /// The size of an entry of the segment table, as the header says.
    pub segment_size: u16,
    /// The number of segments.
    pub segment_count: u16,
    /// The size of an entry of the section table, as the header says.
    pub section_size: u16,
    /// The number of sections as the header says; 0 if it is in the first section's size.
    pub section_count: u16,
    /// The section with the names of the sections; 0xffff if it is in the first section's link.
    pub names_index: u16,
}

/// An ELF file for NVIDIA's GPUs; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Elf<'a> {
    file: Reader<'a>,
    header: Header,
    count: u32,
    names: u32,
    /// The first section of symbols, found once: there can be a million sections to look through.
    symbols: Option<u32>,
}

/// A section's header, and where its bytes are.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its index.
    pub index: u32,
    /// The offset of its name in the section of names.
    pub name_offset: u32,
    /// Its name; empty if it can't be read.
    pub name: &'a [u8],
    /// What it holds.
    pub kind: SectionType,
    /// Its flags.
    pub flags: u64,
    /// Its address; 0.
    pub address: u64,
    /// Where its bytes are, from the start of the cubin.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
    /// A section that belongs to it: of symbols their names, of relocations the symbols.
    pub link: u32,
    /// What else belongs to it: of what is a function's the index of its code.
    pub info: u32,
    /// Its alignment.
    pub alignment: u64,
    /// The size of an entry, if it is a table.
    pub entry_size: u64,
    /// Where the header is in the file.
    pub header_range: (u64, u64),
}

impl Section<'_> {
    /// `SHF_ALLOC`: it takes memory when the program is loaded.
    pub const ALLOC: u64 = 2;
    /// `SHF_EXECINSTR`: it is code.
    pub const EXECUTABLE: u64 = 4;

    /// Whether it has bytes in the file.
    pub fn has_bytes(&self) -> bool {
        self.kind.has_bytes() && self.size > 0
    }

    /// Whether it is a table of relocations.
    pub fn is_relocations(&self) -> bool {
        matches!(self.kind, SectionType::REL | SectionType::RELA | SectionType::CUDA_RESOLVED_RELA)
    }

    /// Whether it is code.
    pub fn is_code(&self) -> bool {
        self.kind == SectionType::PROGBITS && self.flags & Self::EXECUTABLE != 0
    }
}

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What it is for.
    pub kind: SegmentType,
    /// Its flags: 1 execute, 2 write, 4 read.
    pub flags: u32,
    /// Where its bytes are, from the start of the cubin.
    pub offset: u64,
    /// The size in the file.
    pub file_size: u64,
    /// The size in memory.
    pub memory_size: u64,
    /// Its alignment.
    pub alignment: u64,
}

impl<'a> Elf<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is no ELF file, none of NVIDIA's, or ends within the header.
    pub fn read(file: Reader<'a>) -> Result<Self> {
        let header = read_header(file).map_err(|error| error.within("ELF header"))?;
        let mut elf = Self {
            file,
            header,
            count: u32::from(header.section_count),
            names: u32::from(header.names_index),
            symbols: None,
        };
        // Numbers that are too large for 16 bits are in the first section's header.
        if header.sections_offset != 0 && (header.section_count == 0 || header.names_index == 0xffff) {
            let count = if header.section_count == 0 { u32::MAX } else { elf.count };
            elf.count = 1;
            if let Ok(first) = elf.section_header(0) {
                let real = u32::try_from(first.size).unwrap_or(u32::MAX);
                elf.count = if header.section_count == 0 { real } else { count };
                if header.names_index == 0xffff {
                    elf.names = first.link;
                }
            } else {
                elf.count = u32::from(header.section_count);
            }
        }
        // A table can't have more entries than the file has room for.
        let room = elf.table_room(header.sections_offset, header.class.sizes().section);
        elf.count = elf.count.min(u32::try_from(room).unwrap_or(u32::MAX));
        elf.symbols =
            elf.headers().find(|section| section.kind == SectionType::SYMTAB).map(|section| section.index);
        Ok(elf)
    }

    fn table_room(&self, offset: u64, size: u16) -> u64 {
        let file = self.file.data().len() as u64;
        file.saturating_sub(offset).checked_div(u64::from(size)).unwrap_or(0)
    }

    /// All bytes, from the header on.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// 32 or 64 bits.
    pub fn class(&self) -> Class {
        self.header.class
    }

    /// How many sections there are; no more than the file has room for.
    pub fn section_count(&self) -> u32 {
        self.count
    }

    /// How many sections the header says there are.
    pub fn declared_sections(&self) -> u32 {
        if self.header.section_count == 0 { self.count } else { u32::from(self.header.section_count) }
    }

    /// Where the section table is in the file: as far as it is there.
    pub fn section_table(&self) -> Range<u64> {
        let start = self.file.base().saturating_add(self.header.sections_offset);
        let size = u64::from(self.count).saturating_mul(u64::from(self.class().sizes().section));
        start..start.saturating_add(size)
    }

    /// The index of the section with the names of the sections.
    pub fn names_index(&self) -> u32 {
        self.names
    }

    /// The section of an index.
    ///
    /// # Errors
    /// If there is none.
    pub fn section(&self, index: u32) -> Result<Section<'a>> {
        let mut section = self.section_header(index)?;
        if let Ok(names) = self.section_header(self.names) {
            section.name = self.string(&names, section.name_offset).unwrap_or_default();
        }
        Ok(section)
    }

    /// The sections in the order of the table.
    pub fn sections(&self) -> impl Iterator<Item = Section<'a>> + use<'a> {
        let elf = *self;
        // The section of names is read once, not once a name.
        let names = elf.section_header(elf.names).ok().and_then(|names| elf.bytes(&names).ok());
        (0..elf.count).map_while(move |index| {
            let mut section = elf.section_header(index).ok()?;
            section.name =
                names.and_then(|names| c_string(&names, section.name_offset).ok()).unwrap_or_default();
            Some(section)
        })
    }

    /// The first section of a name.
    pub fn section_named(&self, name: &[u8]) -> Option<Section<'a>> {
        self.sections().find(|section| section.name == name)
    }

    /// The section of symbols.
    pub fn symbol_section(&self) -> Option<Section<'a>> {
        self.section(self.symbols?).ok()
    }

    /// The sections without their names, which take the most time to read.
    pub(crate) fn headers(&self) -> impl Iterator<Item = Section<'a>> + use<'a> {
        let elf = *self;
        (0..elf.count).map_while(move |index| elf.section_header(index).ok())
    }

    pub(crate) fn section_header(&self, index: u32) -> Result<Section<'a>> {
        let size = u64::from(self.class().sizes().section);
        if index >= self.count {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                self.file.base().saturating_add(self.header.sections_offset),
                "no such section",
            )
            .expected(format!("an index below {}", self.count))
            .found(format!("{index}")));
        }
        let place = u64::from(index).saturating_mul(size).saturating_add(self.header.sections_offset);
        let mut reader = self.file.part(place, size)?;
        let start = reader.offset();
        let class = self.class();
        Ok(Section {
            index,
            name_offset: reader.u32()?,
            name: b"",
            kind: SectionType(reader.u32()?),
            flags: class.read_word(&mut reader)?,
            address: class.read_word(&mut reader)?,
            offset: class.read_word(&mut reader)?,
            size: class.read_word(&mut reader)?,
            link: reader.u32()?,
            info: reader.u32()?,
            alignment: class.read_word(&mut reader)?,
            entry_size: class.read_word(&mut reader)?,
            header_range: (start, start.saturating_add(size)),
        })
    }

    /// The bytes of a section; none if it has none in the file.
    ///
    /// # Errors
    /// If they are not inside of the file.
    pub fn bytes(&self, section: &Section<'_>) -> Result<Reader<'a>> {
        if !section.has_bytes() {
            let base = self.file.base().saturating_add(section.offset);
            return Ok(Reader::at(&[], base));
        }
        self.file.part(section.offset, section.size)
    }

    /// A string of a section of strings.
    ///
    /// # Errors
    /// If it starts or ends outside of the section.
    pub fn string(&self, section: &Section<'_>, offset: u32) -> Result<&'a [u8]> {
        c_string(&self.bytes(section)?, offset)
    }

    /// The table of symbols: the first section of that type, for `sh_link` of others can be stale.
    pub fn symbols(&self) -> Option<Symbols<'a>> {
        Some(Symbols::new(self, &self.symbol_section()?))
    }

    /// A symbol of the table.
    pub fn symbol(&self, index: u32) -> Option<Symbol<'a>> {
        self.symbols()?.get(index)
    }

    /// How many segments there are; no more than the file has room for.
    pub fn segment_count(&self) -> u16 {
        let room = self.table_room(self.header.segments_offset, self.class().sizes().segment);
        self.header.segment_count.min(u16::try_from(room).unwrap_or(u16::MAX))
    }

    /// Where the segment table is in the file: as far as it is there.
    pub fn segment_table(&self) -> Range<u64> {
        let start = self.file.base().saturating_add(self.header.segments_offset);
        let size = u64::from(self.segment_count()).saturating_mul(u64::from(self.class().sizes().segment));
        start..start.saturating_add(size)
    }

    /// The segments.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + use<'a> {
        let elf = *self;
        (0..elf.segment_count()).map_while(move |index| elf.segment(index).ok())
    }

    fn segment(&self, index: u16) -> Result<Segment> {
        let size = u64::from(self.class().sizes().segment);
        let place = u64::from(index).saturating_mul(size).saturating_add(self.header.segments_offset);
        let mut reader = self.file.part(place, size)?;
        let class = self.class();
        let kind = SegmentType(reader.u32()?);
        // The flags stand in the second place of the 64-bit form, and in the last but one of the other.
        let wide_flags = if class == Class::Elf64 { reader.u32()? } else { 0 };
        let offset = class.read_word(&mut reader)?;
        reader.skip(class.word().saturating_mul(2))?;
        let file_size = class.read_word(&mut reader)?;
        let memory_size = class.read_word(&mut reader)?;
        let flags = if class == Class::Elf32 { reader.u32()? } else { wide_flags };
        let alignment = class.read_word(&mut reader)?;
        Ok(Segment { kind, flags, offset, file_size, memory_size, alignment })
    }
}

fn c_string<'a>(section: &Reader<'a>, offset: u32) -> Result<&'a [u8]> {
    let rest = section.data().len() as u64;
    let size = rest.saturating_sub(u64::from(offset)).min(MAX_NAME as u64);
    section.part(u64::from(offset), size)?.c_string()
}

fn read_header(file: Reader<'_>) -> Result<Header> {
    let mut reader = file;
    let magic: [u8; 4] = reader.array()?;
    if magic != MAGIC {
        return Err(Error::new(ErrorKind::BadMagic, file.base(), "not an ELF file")
            .expected("7f 45 4c 46")
            .found(format!("{:02x} {:02x} {:02x} {:02x}", magic[0], magic[1], magic[2], magic[3])));
    }
    let class = match reader.u8()? {
        1 => Class::Elf32,
        2 => Class::Elf64,
        other => {
            return Err(Error::new(
                ErrorKind::BadValue,
                file.base().saturating_add(4),
                "class is neither 32-bit nor 64-bit",
            )
            .expected("1 or 2")
            .found(format!("{other}")));
        }
    };
    let data = reader.u8()?;
    reader.skip(1)?;
    let os_abi = reader.u8()?;
    let abi_version = reader.u8()?;
    reader.skip(7)?;
    let file_type = FileType(reader.u16()?);
    let machine = reader.u16()?;
    if machine != MACHINE {
        return Err(Error::new(
            ErrorKind::BadMagic,
            file.base().saturating_add(18),
            "ELF file for another machine than NVIDIA's GPUs",
        )
        .expected(format!("{MACHINE}"))
        .found(format!("{machine}")));
    }
    Ok(Header {
        class,
        data,
        os_abi,
        abi_version,
        file_type,
        machine,
        version: reader.u32()?,
        entry: class.read_word(&mut reader)?,
        segments_offset: class.read_word(&mut reader)?,
        sections_offset: class.read_word(&mut reader)?,
        flags: reader.u32()?,
        header_size: reader.u16()?,
        segment_size: reader.u16()?,
        segment_count: reader.u16()?,
        section_size: reader.u16()?,
        section_count: reader.u16()?,
        names_index: reader.u16()?,
    })
}
