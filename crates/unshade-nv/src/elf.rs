//! The ELF file of a cubin: header, sections, symbols, relocations, segments.
//!
//! | thing | 64-bit | 32-bit |
//! |---|---|---|
//! | header | 64 bytes | 52 bytes |
//! | entry of the section table | 64 | 40 |
//! | entry of the segment table | 56 | 32 |
//! | symbol | 24 | 16 |
//! | relocation without, with addend | 16, 24 | 8, 12 |
//!
//! All fields are little-endian. Nothing is copied, and headers are read on demand. A damaged table loses its
//! damaged entries only.
//!
//! Source: the System V ABI, chapters 4 and 5, for the layout. Values of NVIDIA's own name their source where they
//! are defined.

use crate::symbol::{Symbol, Symbols};
use alloc::format;
use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The magic number.
pub const MAGIC: [u8; 4] = *b"\x7fELF";

/// `e_machine` of NVIDIA GPUs.
pub const MACHINE: u16 = 190;

/// The maximum length of a name.
pub const MAX_NAME: usize = 1 << 16;

unshade_core::open_enum! {
    /// The type of a section (`sh_type`). From `0x70000000` on, names are those that cuobjdump prints: 13.5, and 12.8
    /// for the sections of capsule Mercury, the form of a program from which the driver can make code for later
    /// chips. The names of `CUDA_MERCURY_RELA`, `_INFO`, `_SYMTAB` and `_CALLGRAPH` are ours: 12.8 prints those of
    /// the sections of which they are copies, and does not know the last.
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
        CUDA_MERCURY = 0x7000_000c => "CUDA_MERCURY",
        CUDA_MERCURY_SASS_MAP = 0x7000_000d => "CUDA_MERCURY_SASS_MAP",
        CUDA_UFT = 0x7000_000e => "CUDA_UFT",
        CUDA_UIDX = 0x7000_0010 => "CUDA_UIDX",
        CUDA_UFT_ENTRY = 0x7000_0011 => "CUDA_UFT_ENTRY",
        CUDA_UDT = 0x7000_0012 => "CUDA_UDT",
        CUDA_UDT_ENTRY = 0x7000_0014 => "CUDA_UDT_ENTRY",
        CUDA_RESERVED_SHARED = 0x7000_0015 => "CUDA_RESERVED_SHARED",
        CUDA_CAPMERC = 0x7000_0016 => "CUDA_CAPMERC",
        CUDA_CONSTANT_B0 = 0x7000_0064 => "CUDA_CONSTANT_B0",
        CUDA_CONSTANT_B1 = 0x7000_0065 => "CUDA_CONSTANT_B1",
        CUDA_CONSTANT_B2 = 0x7000_0066 => "CUDA_CONSTANT_B2",
        CUDA_CONSTANT_B3 = 0x7000_0067 => "CUDA_CONSTANT_B3",
        CUDA_CONSTANT_B4 = 0x7000_0068 => "CUDA_CONSTANT_B4",
        CUDA_CONSTANT_B5 = 0x7000_0069 => "CUDA_CONSTANT_B5",
        CUDA_CONSTANT_B6 = 0x7000_006a => "CUDA_CONSTANT_B6",
        CUDA_CONSTANT_B7 = 0x7000_006b => "CUDA_CONSTANT_B7",
        CUDA_MERCURY_CONSTANT_PARAMS = 0x7000_0078 => "CUDA_MERCURY_CONSTANT_PARAMS",
        CUDA_MERCURY_CONSTANT_IMGHDR = 0x7000_0079 => "CUDA_MERCURY_CONSTANT_IMGHDR",
        CUDA_MERCURY_CONSTANT_DRIVER = 0x7000_007a => "CUDA_MERCURY_CONSTANT_DRIVER",
        CUDA_MERCURY_CONSTANT_OPT = 0x7000_007b => "CUDA_MERCURY_CONSTANT_OPT",
        CUDA_MERCURY_CONSTANT_USER = 0x7000_007c => "CUDA_MERCURY_CONSTANT_USER",
        CUDA_MERCURY_CONSTANT_PIC = 0x7000_007d => "CUDA_MERCURY_CONSTANT_PIC",
        CUDA_MERCURY_CONSTANT_TOOLS = 0x7000_007e => "CUDA_MERCURY_CONSTANT_TOOLS",
        CUDA_MERCURY_RELA = 0x7000_0082 => "CUDA_MERCURY_RELA",
        CUDA_MERCURY_INFO = 0x7000_0083 => "CUDA_MERCURY_INFO",
        CUDA_MERCURY_CONSTANT_OPT_2 = 0x7000_0084 => "CUDA_MERCURY_CONSTANT_OPT",
        CUDA_MERCURY_SYMTAB = 0x7000_0085 => "CUDA_MERCURY_SYMTAB",
        CUDA_COMPAT_INFO = 0x7000_0086 => "CUDA_COMPAT_INFO",
        CUDA_EMBEDDED_HOST = 0x7000_0087 => "CUDA_EMBEDDED_HOST",
        CUDA_METADATA_TRACE_MARK = 0x7000_0089 => "CUDA_METADATA_TRACE_MARK",
        CUDA_MERCURY_CALLGRAPH = 0x7000_008a => "CUDA_MERCURY_CALLGRAPH",
    }
}

impl SectionType {
    /// Returns whether sections of this type have bytes in the file. Uninitialized memory has none: its type says
    /// so from ABI 8 on; earlier ABIs use NOBITS for it.
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
    /// The type of an ELF file (`e_type`).
    pub struct FileType(u16) {
        RELOCATABLE = 1 => "relocatable",
        EXECUTABLE = 2 => "executable",
        SHARED = 3 => "shared",
    }
}

unshade_core::open_enum! {
    /// The purpose of a segment (`p_type`).
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
    /// 32 bits: cubins of CUDA toolkits up to 6.5.
    Elf32,
    /// 64 bits.
    Elf64,
}

/// The record sizes that depend on the class, in bytes.
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
    /// Returns the sizes for this class.
    pub fn sizes(self) -> Sizes {
        match self {
            Self::Elf32 => Sizes { header: 52, section: 40, segment: 32, symbol: 16, rel: 8, rela: 12 },
            Self::Elf64 => Sizes { header: 64, section: 64, segment: 56, symbol: 24, rel: 16, rela: 24 },
        }
    }

    /// Returns the size of an address in bytes.
    pub fn word(self) -> u64 {
        match self {
            Self::Elf32 => 4,
            Self::Elf64 => 8,
        }
    }

    #[inline]
    pub(crate) fn read_word(self, reader: &mut Reader<'_>) -> Result<u64> {
        match self {
            Self::Elf32 => reader.u32().map(u64::from),
            Self::Elf64 => reader.u64(),
        }
    }
}

/// The ELF header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// 32 or 64 bits.
    pub class: Class,
    /// `EI_DATA`: 1 for little-endian, the only byte order in use.
    pub data: u8,
    /// `EI_OSABI`: 0x33 up to toolkit 12, 0x41 from 13 on.
    pub os_abi: u8,
    /// `EI_ABIVERSION`: 7 up to toolkit 12, 8 from 13 on.
    pub abi_version: u8,
    /// The type of the file.
    pub file_type: FileType,
    /// `e_machine`: 190.
    pub machine: u16,
    /// `e_version`: the toolkit up to ABI 7 (80 is 8.0), 1 from ABI 8 on.
    pub version: u32,
    /// The address of the entry point; 0.
    pub entry: u64,
    /// The offset of the segment table.
    pub segments_offset: u64,
    /// The offset of the section table.
    pub sections_offset: u64,
    /// `e_flags`.
    pub flags: u32,
    /// The size of the header, as stated by itself.
    pub header_size: u16,
    /// The size of an entry of the segment table, as stated by the header.
    pub segment_size: u16,
    /// The number of segments.
    pub segment_count: u16,
    /// The size of an entry of the section table, as stated by the header.
    pub section_size: u16,
    /// The number of sections, as stated by the header; 0 if the size field of the first section has it.
    pub section_count: u16,
    /// The section with section names; 0xffff if the link field of the first section has it.
    pub names_index: u16,
}

/// An ELF file for NVIDIA GPUs. No content is copied.
#[derive(Clone, Copy)]
pub struct Elf<'a> {
    file: Reader<'a>,
    header: Header,
    count: u32,
    names: u32,
    /// The first symbol table, searched for only once: a file can have a million sections.
    symbols: Option<u32>,
}

/// A section header.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its index.
    pub index: u32,
    /// The offset of its name in the section with section names.
    pub name_offset: u32,
    /// Its name; empty if it can't be read.
    pub name: &'a [u8],
    /// Its type.
    pub kind: SectionType,
    /// Its flags.
    pub flags: u64,
    /// Its address; 0.
    pub address: u64,
    /// The offset of its bytes from the start of the cubin.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// A related section: the names of a symbol table, the symbols of a relocation section.
    pub link: u32,
    /// More of what it relates to; for sections of a function, the index of its code section.
    pub info: u32,
    /// Its alignment.
    pub alignment: u64,
    /// The size of an entry, if it is a table.
    pub entry_size: u64,
    /// The file range of the header.
    pub header_range: (u64, u64),
}

impl Section<'_> {
    /// `SHF_ALLOC`: occupies memory when loaded.
    pub const ALLOC: u64 = 2;
    /// `SHF_EXECINSTR`: contains code.
    pub const EXECUTABLE: u64 = 4;

    /// Returns whether it has bytes in the file.
    pub fn has_bytes(&self) -> bool {
        self.kind.has_bytes() && self.size > 0
    }

    /// Returns whether it is a relocation table.
    pub fn is_relocations(&self) -> bool {
        matches!(self.kind, SectionType::REL | SectionType::RELA | SectionType::CUDA_RESOLVED_RELA)
    }

    /// Returns whether it contains code.
    pub fn is_code(&self) -> bool {
        self.kind == SectionType::PROGBITS && self.flags & Self::EXECUTABLE != 0
    }
}

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its purpose.
    pub kind: SegmentType,
    /// Its flags: 1 execute, 2 write, 4 read.
    pub flags: u32,
    /// The offset of its bytes from the start of the cubin.
    pub offset: u64,
    /// The size in the file.
    pub file_size: u64,
    /// The size in memory.
    pub memory_size: u64,
    /// Its alignment.
    pub alignment: u64,
}

impl fmt::Debug for Elf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elf")
            .field("class", &self.header.class)
            .field("file_type", &self.header.file_type)
            .field("sections", &self.count)
            .field("size", &self.file.data().len())
            .finish_non_exhaustive()
    }
}

impl<'a> Elf<'a> {
    /// Parses an ELF file at the start of a file.
    ///
    /// # Errors
    /// Same as [`Elf::read`].
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses an ELF file at offset `base` of a larger file; errors and ranges use offsets of that file.
    ///
    /// # Errors
    /// Same as [`Elf::read`].
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        Self::read(Reader::at(data, base))
    }

    /// Reads the header at the start of `file`.
    ///
    /// # Errors
    /// If it is not an ELF file, is for another machine than NVIDIA GPUs, or has a truncated header.
    pub fn read(file: Reader<'a>) -> Result<Self> {
        let header = read_header(file).map_err(|error| error.within("ELF header"))?;
        let mut elf = Self {
            file,
            header,
            count: u32::from(header.section_count),
            names: u32::from(header.names_index),
            symbols: None,
        };
        // Numbers that do not fit in 16 bits are in the first section's header.
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

    /// Returns all bytes, starting at the ELF header.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns whether it is a 32-bit or 64-bit file.
    pub fn class(&self) -> Class {
        self.header.class
    }

    /// Returns the number of sections, limited to what the file has room for.
    pub fn section_count(&self) -> u32 {
        self.count
    }

    /// Returns the number of sections that the header states.
    pub fn declared_sections(&self) -> u32 {
        if self.header.section_count == 0 { self.count } else { u32::from(self.header.section_count) }
    }

    /// Returns the file range of the section table, limited to what the file has room for.
    pub fn section_table(&self) -> Range<u64> {
        let start = self.file.base().saturating_add(self.header.sections_offset);
        let size = u64::from(self.count).saturating_mul(u64::from(self.class().sizes().section));
        start..start.saturating_add(size)
    }

    /// Returns the index of the section with section names.
    pub fn names_index(&self) -> u32 {
        self.names
    }

    /// Returns the section with this index.
    ///
    /// # Errors
    /// If there is no such section.
    pub fn section(&self, index: u32) -> Result<Section<'a>> {
        let mut section = self.section_header(index)?;
        if let Ok(names) = self.section_header(self.names) {
            section.name = self.string(&names, section.name_offset).unwrap_or_default();
        }
        Ok(section)
    }

    /// Returns the sections in the order of the table.
    pub fn sections(&self) -> impl Iterator<Item = Section<'a>> + use<'a> {
        let elf = *self;
        // Look up the section of names once, not for every name.
        let names = elf.section_header(elf.names).ok().and_then(|names| elf.bytes(&names).ok());
        (0..elf.count).map_while(move |index| {
            let mut section = elf.section_header(index).ok()?;
            section.name =
                names.and_then(|names| c_string(&names, section.name_offset).ok()).unwrap_or_default();
            Some(section)
        })
    }

    /// Returns the first section with this name.
    pub fn section_named(&self, name: &[u8]) -> Option<Section<'a>> {
        self.sections().find(|section| section.name == name)
    }

    /// Returns the symbol table's section.
    pub fn symbol_section(&self) -> Option<Section<'a>> {
        self.section(self.symbols?).ok()
    }

    /// Returns the sections without their names, which take most of the time to read.
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
        let header_offset = u64::from(index).saturating_mul(size).saturating_add(self.header.sections_offset);
        let mut reader = self.file.part(header_offset, size)?;
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

    /// Returns the bytes of a section; empty if it has none in the file.
    ///
    /// # Errors
    /// If they are outside the file.
    pub fn bytes(&self, section: &Section<'_>) -> Result<Reader<'a>> {
        if !section.has_bytes() {
            let base = self.file.base().saturating_add(section.offset);
            return Ok(Reader::at(&[], base));
        }
        self.file.part(section.offset, section.size)
    }

    /// Returns a string of a string table.
    ///
    /// # Errors
    /// If it starts or ends outside the section.
    pub fn string(&self, section: &Section<'_>, offset: u32) -> Result<&'a [u8]> {
        c_string(&self.bytes(section)?, offset)
    }

    /// Returns the symbol table: the first section of that type, because `sh_link` of other sections can be stale.
    pub fn symbols(&self) -> Option<Symbols<'a>> {
        Some(Symbols::new(self, &self.symbol_section()?))
    }

    /// Returns the symbol table of capsule Mercury: the first section of that type, because `sh_link` can be stale
    /// there, too.
    pub fn mercury_symbols(&self) -> Option<Symbols<'a>> {
        let section = self.headers().find(|section| section.kind == SectionType::CUDA_MERCURY_SYMTAB)?;
        Some(Symbols::new(self, &section))
    }

    /// Returns the symbol with this index.
    pub fn symbol(&self, index: u32) -> Option<Symbol<'a>> {
        self.symbols()?.get(index)
    }

    /// Returns the number of segments, limited to what the file has room for.
    pub fn segment_count(&self) -> u16 {
        let room = self.table_room(self.header.segments_offset, self.class().sizes().segment);
        self.header.segment_count.min(u16::try_from(room).unwrap_or(u16::MAX))
    }

    /// Returns the file range of the segment table, limited to what the file has room for.
    pub fn segment_table(&self) -> Range<u64> {
        let start = self.file.base().saturating_add(self.header.segments_offset);
        let size = u64::from(self.segment_count()).saturating_mul(u64::from(self.class().sizes().segment));
        start..start.saturating_add(size)
    }

    /// Returns the segments.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + use<'a> {
        let elf = *self;
        (0..elf.segment_count()).map_while(move |index| elf.segment(index).ok())
    }

    fn segment(&self, index: u16) -> Result<Segment> {
        let size = u64::from(self.class().sizes().segment);
        let header_offset = u64::from(index).saturating_mul(size).saturating_add(self.header.segments_offset);
        let mut reader = self.file.part(header_offset, size)?;
        let class = self.class();
        let kind = SegmentType(reader.u32()?);
        // The flags are the second field in the 64-bit form, and the last but one in the 32-bit form.
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
                "ELF class is neither 32-bit nor 64-bit",
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
            "ELF file is for a machine other than NVIDIA GPUs",
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
