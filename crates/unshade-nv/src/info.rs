//! `.nv.info`: what the compiler tells the driver, of the cubin and of each function.
//!
//! A section is a run of records: u8 format, u8 attribute, and a value.
//!
//! | format | value |
//! |---|---|
//! | 1 | none; two bytes of padding |
//! | 2 | a byte, and one of padding |
//! | 3 | 16 bits |
//! | 4 | 16 bits of length, and so many bytes |
//!
//! `.nv.compat` (from toolkit 13 on) and the options of its entries in fat binaries are of the same form, with
//! attributes of their own ([`Compatibility`]).
//!
//! Source: the corpus, and cuobjdump 11.2 to 13.5 for how values are read.

use crate::attribute::{Attribute, Shape};
use alloc::format;
use unshade_core::{Error, ErrorKind, Reader, Result};

unshade_core::open_enum! {
    /// The format of a record.
    pub struct Format(u8) {
        NONE = 1 => "no value",
        BYTE = 2 => "byte",
        HALF = 3 => "16 bits",
        SIZED = 4 => "sized",
    }
}

unshade_core::open_enum! {
    /// What a record of `.nv.compat` tells. The names are cuobjdump 13.5's, without `EICOMPAT_ATTR_`.
    pub struct Compatibility(u8) {
        ISA_CLASS = 0x02 => "ISA_CLASS",
        INST_TENSORMAP_V1 = 0x03 => "INST_TENSORMAP_V1",
        CUDA_ACCELERATOR_TARGET = 0x09 => "CUDA_ACCELERATOR_TARGET",
        CAN_FASTPATH_FINALIZE = 0x0b => "CAN_FASTPATH_FINALIZE",
        CUDA_INTERNAL_TARGET = 0x0c => "CUDA_INTERNAL_TARGET",
        FINALIZER_VERSION = 0x0e => "FINALIZER_VERSION",
    }
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The format.
    pub format: Format,
    /// What it tells; for `.nv.compat` see [`Record::compatibility`].
    pub attribute: Attribute,
    /// The number of formats 1 to 3; the length of format 4.
    pub number: u16,
    /// The bytes of format 4.
    pub data: Reader<'a>,
    /// Where it is in the file, and where it ends.
    pub range: (u64, u64),
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// The index of a record; always 0.
    pub index: u32,
    /// Its place in the parameter list, from 0.
    pub ordinal: u16,
    /// Its offset among the parameters, in bytes.
    pub offset: u16,
    /// Its size in bytes.
    pub size: u16,
    /// The binary logarithm of the alignment of what it points at; 0 where that is not known.
    pub log_alignment: u8,
    /// The space that it points into; 0 where that is not known.
    pub space: u8,
    /// The constant bank; 0x1f for the one with the parameters. Newer records do not tell.
    pub bank: Option<u8>,
    /// Whether it is in shared memory, as on chips before sm_20, rather than in a constant bank.
    pub in_shared_memory: bool,
}

/// Where the parameters of a kernel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterBank {
    /// The symbol of the constant section.
    pub symbol: u32,
    /// The offset of the first parameter in it.
    pub offset: u16,
    /// The size of all parameters.
    pub size: u16,
}

/// A branch whose target is computed, and the places that it may go to.
#[derive(Clone, Copy, Debug)]
pub struct IndirectBranch<'a> {
    /// The offset of the branch in the code.
    pub offset: u32,
    /// Two numbers of 16 bits that are 0 in all real files.
    pub unknown: (u16, u16),
    targets: Reader<'a>,
}

impl<'a> IndirectBranch<'a> {
    /// The offsets in the code that it may go to.
    pub fn targets(&self) -> impl Iterator<Item = u32> + use<'a> {
        numbers(self.targets)
    }
}

impl<'a> Record<'a> {
    /// What it tells, if it stands in `.nv.compat`.
    pub fn compatibility(&self) -> Compatibility {
        Compatibility(self.attribute.0)
    }

    /// The numbers of 32 bits in its value; bytes behind the last whole one are left out.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + use<'a> {
        numbers(self.data)
    }

    /// The symbol and the number of values that have both.
    pub fn symbol_number(&self) -> Option<(u32, u32)> {
        if self.attribute.shape() != Shape::SymbolNumber {
            return None;
        }
        let mut numbers = self.numbers();
        Some((numbers.next()?, numbers.next()?))
    }

    /// The parameter that it tells of.
    pub fn parameter(&self) -> Option<Parameter> {
        if self.attribute.shape() != Shape::Parameter {
            return None;
        }
        let mut data = self.data;
        let (index, ordinal, offset) = (data.u32().ok()?, data.u16().ok()?, data.u16().ok()?);
        let bits = data.u32().ok()?;
        let field = |shift: u32, mask: u32| u16::try_from((bits >> shift) & mask).unwrap_or(0);
        let small = |shift: u32, mask: u32| u8::try_from((bits >> shift) & mask).unwrap_or(0);
        let mut parameter = Parameter {
            index,
            ordinal,
            offset,
            size: field(18, 0x3fff),
            log_alignment: small(0, 0xff),
            space: small(8, 0xf),
            bank: Some(small(12, 0x1f)),
            in_shared_memory: small(17, 1) == 1,
        };
        if self.attribute == Attribute::KPARAM_INFO_V2 {
            parameter.size = field(0, 0xffff);
            parameter.log_alignment = small(16, 0xff);
            parameter.space = small(24, 0xff);
            parameter.bank = None;
            parameter.in_shared_memory = false;
        }
        Some(parameter)
    }

    /// Where the parameters are.
    pub fn parameter_bank(&self) -> Option<ParameterBank> {
        if self.attribute.shape() != Shape::ParameterBank {
            return None;
        }
        let mut data = self.data;
        Some(ParameterBank { symbol: data.u32().ok()?, offset: data.u16().ok()?, size: data.u16().ok()? })
    }

    /// The branches that it tells of.
    pub fn indirect_branches(&self) -> impl Iterator<Item = IndirectBranch<'a>> + use<'a> {
        let is_branches = self.attribute.shape() == Shape::BranchTargets;
        let mut data = if is_branches { self.data } else { Reader::at(&[], self.data.base()) };
        core::iter::from_fn(move || {
            let offset = data.u32().ok()?;
            let unknown = (data.u16().ok()?, data.u16().ok()?);
            let count = data.u32().ok()?;
            let targets = data.split(u64::from(count).saturating_mul(4)).ok()?;
            Some(IndirectBranch { offset, unknown, targets })
        })
    }

    /// Its value in words, without names of symbols.
    pub fn value_text(&self) -> alloc::string::String {
        use core::fmt::Write as _;
        let mut text = alloc::string::String::new();
        match self.format {
            Format::NONE => {}
            Format::BYTE | Format::HALF => text = format!("{:#x}", self.number),
            _ => {
                for (index, number) in self.numbers().enumerate() {
                    if index == MAX_SHOWN {
                        text.push_str(" …");
                        break;
                    }
                    let space = if index == 0 { "" } else { " " };
                    // Writing to a String does not fail.
                    let _ = write!(text, "{space}{number:#x}");
                }
            }
        }
        text
    }
}

/// How many numbers of a value are put into words.
const MAX_SHOWN: usize = 64;

fn numbers<'a>(mut data: Reader<'a>) -> impl Iterator<Item = u32> + use<'a> {
    core::iter::from_fn(move || data.u32().ok())
}

/// The records of a section.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    rest: Reader<'a>,
}

/// Reads the records of `.nv.info`, `.nv.info.FUNCTION` or `.nv.compat`.
///
/// ```
/// use unshade_core::Reader;
/// use unshade_nv::attribute::Attribute;
///
/// let section = [4, 0x2f, 8, 0, 9, 0, 0, 0, 13, 0, 0, 0, 3, 0x1b, 0xff, 0];
/// let records: Vec<_> = unshade_nv::info::records(Reader::new(&section)).collect::<Result<_, _>>()?;
/// assert_eq!(records[0].attribute, Attribute::REGCOUNT);
/// assert_eq!(records[0].symbol_number(), Some((9, 13)));
/// assert_eq!((records[1].attribute.to_string(), records[1].number), ("MAXREG_COUNT".into(), 255));
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub fn records(section: Reader<'_>) -> Records<'_> {
    Records { rest: section }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    /// The next record; an error ends the section, for nothing tells where the next one would start.
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let before = self.rest;
        match read(&mut self.rest) {
            Ok(record) => Some(Ok(record)),
            Err(error) => {
                self.rest = Reader::at(&[], before.range().end);
                Some(Err(error))
            }
        }
    }
}

fn read<'a>(reader: &mut Reader<'a>) -> Result<Record<'a>> {
    let start = reader.offset();
    let format = Format(reader.u8()?);
    let attribute = Attribute(reader.u8()?);
    let number = reader.u16()?;
    let data = match format {
        Format::NONE | Format::BYTE | Format::HALF => Reader::at(&[], reader.offset()),
        Format::SIZED => {
            reader.split(u64::from(number)).map_err(|error| error.within(format!("{attribute}")))?
        }
        other => {
            return Err(Error::new(ErrorKind::BadValue, start, "record of an unknown format")
                .expected("1 to 4")
                .found(format!("{}", other.0)));
        }
    };
    // Only the first byte of the two counts.
    let number = if format == Format::BYTE { number & 0xff } else { number };
    Ok(Record { format, attribute, number, data, range: (start, reader.offset()) })
}
