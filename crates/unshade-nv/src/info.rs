//! `.nv.info`: records from the compiler to the driver, about the whole cubin and about each function.
//!
//! A section is a sequence of records: u8 format, u8 attribute, and a value.
//!
//! | format | value |
//! |---|---|
//! | 1 | none; two bytes of padding |
//! | 2 | one byte, and one byte of padding |
//! | 3 | 16 bits |
//! | 4 | u16 length, followed by that many bytes |
//!
//! `.nv.compat` (from toolkit 13 on) and the options of fat binary entries with compatibility records have the same
//! form, with attributes of their own ([`Compatibility`]).
//!
//! Source: real cubins, and the output of cuobjdump 11.2 to 13.5 for the values.

use crate::attribute::{Attribute, Shape};
use alloc::format;
use core::fmt;
use unshade_core::{Error, ErrorKind, Reader, Result};

unshade_core::open_enum! {
    /// How a record stores its value.
    pub struct Format(u8) {
        NONE = 1 => "no value",
        BYTE = 2 => "byte",
        HALF = 3 => "16 bits",
        SIZED = 4 => "sized",
    }
}

unshade_core::open_enum! {
    /// The attribute of a `.nv.compat` record. Names are those of cuobjdump 13.5, without `EICOMPAT_ATTR_`, and of
    /// 12.8 for those that 13.5 does not print.
    pub struct Compatibility(u8) {
        ERROR = 0x00 => "ERROR",
        PAD = 0x01 => "PAD",
        ISA_CLASS = 0x02 => "ISA_CLASS",
        INST_TENSORMAP_V1 = 0x03 => "INST_TENSORMAP_V1",
        INST_TCGEN05_MMA_DEPRECATED = 0x04 => "INST_TCGEN05_MMA_DEPRECATED",
        INST_TCGEN05_MMA = 0x05 => "INST_TCGEN05_MMA",
        ENABLE_OPPORTUNISTIC_FINALIZATION = 0x06 => "ENABLE_OPPORTUNISTIC_FINALIZATION",
        CUDA_ACCELERATOR_TARGET = 0x09 => "CUDA_ACCELERATOR_TARGET",
        CAN_FASTPATH_FINALIZE = 0x0b => "CAN_FASTPATH_FINALIZE",
        CUDA_INTERNAL_TARGET = 0x0c => "CUDA_INTERNAL_TARGET",
        FINALIZER_VERSION = 0x0e => "FINALIZER_VERSION",
    }
}

/// A record.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The format.
    pub format: Format,
    /// The attribute; for `.nv.compat` see [`Record::compatibility`].
    pub attribute: Attribute,
    /// The value for formats 1 to 3; the length for format 4.
    pub number: u16,
    /// The value for format 4.
    pub data: Reader<'a>,
    /// Its file range.
    pub range: (u64, u64),
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// An index that is 0 in all known files.
    pub index: u32,
    /// Its position in the parameter list, from 0.
    pub ordinal: u16,
    /// Its offset from the first parameter, in bytes.
    pub offset: u16,
    /// Its size in bytes.
    pub size: u16,
    /// The binary logarithm of the pointee's alignment; 0 if unknown.
    pub log_alignment: u8,
    /// The address space of the pointee; 0 if unknown.
    pub space: u8,
    /// The constant bank; 0x1f for the parameter bank. `None` for the newer form of the record.
    pub bank: Option<u8>,
    /// Whether it is passed in shared memory, as on chips older than sm_20.
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

/// An indirect branch with its possible targets.
#[derive(Clone, Copy)]
pub struct IndirectBranch<'a> {
    /// The offset of the branch in the code.
    pub offset: u32,
    /// Two 16-bit fields that are 0 in all known files.
    pub unknown: (u16, u16),
    targets: Reader<'a>,
}

impl fmt::Debug for IndirectBranch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndirectBranch").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl<'a> IndirectBranch<'a> {
    /// Returns the code offsets of the targets.
    pub fn targets(&self) -> impl Iterator<Item = u32> + use<'a> {
        numbers(self.targets)
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("format", &self.format)
            .field("attribute", &self.attribute)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl<'a> Record<'a> {
    /// Returns the attribute as one of `.nv.compat`.
    pub fn compatibility(&self) -> Compatibility {
        Compatibility(self.attribute.0)
    }

    /// Returns the value as 32-bit numbers; an incomplete last one is dropped.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + use<'a> {
        numbers(self.data)
    }

    /// Returns symbol and number, if the value has that shape.
    pub fn symbol_number(&self) -> Option<(u32, u32)> {
        if self.attribute.shape() != Shape::SymbolNumber {
            return None;
        }
        let mut numbers = self.numbers();
        Some((numbers.next()?, numbers.next()?))
    }

    /// Returns the parameter, if the value has that shape.
    pub fn parameter(&self) -> Option<Parameter> {
        if self.attribute.shape() != Shape::Parameter {
            return None;
        }
        let mut data = self.data;
        let (index, ordinal, offset) = (data.u32().ok()?, data.u16().ok()?, data.u16().ok()?);
        let bits = data.u32().ok()?;
        let bits_u16 = |shift: u32, mask: u32| u16::try_from((bits >> shift) & mask).unwrap_or(0);
        let bits_u8 = |shift: u32, mask: u32| u8::try_from((bits >> shift) & mask).unwrap_or(0);
        let mut parameter = Parameter {
            index,
            ordinal,
            offset,
            size: bits_u16(18, 0x3fff),
            log_alignment: bits_u8(0, 0xff),
            space: bits_u8(8, 0xf),
            bank: Some(bits_u8(12, 0x1f)),
            in_shared_memory: bits_u8(17, 1) == 1,
        };
        if self.attribute == Attribute::KPARAM_INFO_V2 {
            parameter.size = bits_u16(0, 0xffff);
            parameter.log_alignment = bits_u8(16, 0xff);
            parameter.space = bits_u8(24, 0xff);
            parameter.bank = None;
            parameter.in_shared_memory = false;
        }
        Some(parameter)
    }

    /// Returns where the parameters are, if the value has that shape.
    pub fn parameter_bank(&self) -> Option<ParameterBank> {
        if self.attribute.shape() != Shape::ParameterBank {
            return None;
        }
        let mut data = self.data;
        Some(ParameterBank { symbol: data.u32().ok()?, offset: data.u16().ok()?, size: data.u16().ok()? })
    }

    /// Returns the indirect branches; empty if the value has another shape.
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

    /// Returns the value as text, without symbol names.
    pub fn value_text(&self) -> alloc::string::String {
        use fmt::Write as _;
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

/// The maximum number of values in the text.
const MAX_SHOWN: usize = 64;

fn numbers<'a>(mut data: Reader<'a>) -> impl Iterator<Item = u32> + use<'a> {
    core::iter::from_fn(move || data.u32().ok())
}

/// An iterator over the records of a section.
#[derive(Clone, Copy)]
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

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("offset", &self.rest.offset()).finish_non_exhaustive()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    /// Returns the next record. Iteration ends at an error, because the start of the next record is then unknown.
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let start = self.rest;
        match read(&mut self.rest) {
            Ok(record) => Some(Ok(record)),
            Err(error) => {
                self.rest = Reader::at(&[], start.range().end);
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
            return Err(Error::new(ErrorKind::BadValue, start, "record has an unknown format")
                .expected("1 to 4")
                .found(format!("{}", other.0)));
        }
    };
    // The second byte of format 2 is padding.
    let number = if format == Format::BYTE { number & 0xff } else { number };
    Ok(Record { format, attribute, number, data, range: (start, reader.offset()) })
}
