//! The contents of an Aon9 part: a program for feature level 9, and what its constants and samplers are taken from.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | size of the part |
//! | 4 | u32 | version token of the program, 2.0 where the program has 2.x |
//! | 8, 12 | u32 | size of the program, where it stands |
//! | 16 | 5 × (u16, u16) | number and place of the mappings: constants, integers, truth values, samplers, made constants |
//! | constants | 4 × u16, 4 × u8 | buffer, first register, number, first target, conversion of each component |
//! | integers, truth values | 4 × u16 | buffer, register, component, target |
//! | samplers | 4 × u8 | texture, sampler, target, 0 |
//! | made constants | 2 × u16 | what is made, target |
//!
//! Source: no public description is known; told from parts that FXC made, with each field changed, beside its text.

use super::decode::decode;
use super::program::Program;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result};

/// The fixed fields.
const HEADER: usize = 36;

/// A run of registers of a constant buffer that become constants of four floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constants {
    /// The buffer.
    pub buffer: u16,
    /// The first register of the buffer.
    pub start: u16,
    /// How many.
    pub count: u16,
    /// The first constant.
    pub target: u16,
    /// How each component is converted: 0 not, 1 truth value, 2 signed integer, 3 unsigned integer.
    pub conversions: [u8; 4],
}

/// A component of a constant buffer that becomes a constant integer or truth value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scalar {
    /// The buffer.
    pub buffer: u16,
    /// The register of the buffer.
    pub register: u16,
    /// The component of the register.
    pub component: u16,
    /// The constant.
    pub target: u16,
}

/// A texture and a sampler that become a sampler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampler {
    /// The texture.
    pub texture: u8,
    /// The sampler that it is read by.
    pub sampler: u8,
    /// The sampler that they become.
    pub target: u8,
}

/// A constant that the runtime makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// What is made: 0 the offset of positions by half a pixel, 1 the number of the instance.
    pub kind: u16,
    /// The constant.
    pub target: u16,
}

/// An Aon9 part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level9 {
    /// The version token of the header.
    pub version: u32,
    /// Where the program stands in the part, and how many bytes it has.
    pub code: (usize, usize),
    /// Constants of four floats.
    pub constants: Vec<Constants>,
    /// Constant integers.
    pub integers: Vec<Scalar>,
    /// Constant truth values.
    pub bools: Vec<Scalar>,
    /// Samplers.
    pub samplers: Vec<Sampler>,
    /// What the runtime makes.
    pub made: Vec<Made>,
}

impl Level9 {
    /// Reads header and mappings.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] or [`ErrorKind::OutOfRange`] if they, or the program, are not all there.
    pub fn read(data: Reader<'_>) -> Result<Self> {
        let mut header = data;
        let mut part = Self::default();
        header.u32()?;
        part.version = header.u32()?;
        let (size, start) = (header.u32()?, header.u32()?);
        data.part(start.into(), size.into()).map_err(|error| error.within("program"))?;
        let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        part.code = (place(start), place(size));
        let mut list = |size: u64| {
            let (count, start) = (header.u16()?, header.u16()?);
            let entries = data.part(start.into(), size.saturating_mul(count.into()))?;
            Ok::<_, Error>((entries, count))
        };
        let (mut entries, count) = list(12).map_err(|error| error.within("constants"))?;
        for _ in 0..count {
            part.constants.push(Constants {
                buffer: entries.u16()?,
                start: entries.u16()?,
                count: entries.u16()?,
                target: entries.u16()?,
                conversions: entries.array()?,
            });
        }
        for scalars in [&mut part.integers, &mut part.bools] {
            let (mut entries, count) = list(8).map_err(|error| error.within("scalars"))?;
            for _ in 0..count {
                scalars.push(Scalar {
                    buffer: entries.u16()?,
                    register: entries.u16()?,
                    component: entries.u16()?,
                    target: entries.u16()?,
                });
            }
        }
        let (mut entries, count) = list(4).map_err(|error| error.within("samplers"))?;
        for _ in 0..count {
            let [texture, sampler, target, _] = entries.array()?;
            part.samplers.push(Sampler { texture, sampler, target });
        }
        let (mut entries, count) = list(4).map_err(|error| error.within("made constants"))?;
        for _ in 0..count {
            part.made.push(Made { kind: entries.u16()?, target: entries.u16()? });
        }
        Ok(part)
    }

    /// The program of a part.
    ///
    /// # Errors
    /// As [`decode`].
    pub fn program(&self, data: Reader<'_>, diagnostics: &mut Diagnostics) -> Result<Program> {
        decode(self.code(data)?, diagnostics).map_err(|error| error.within("program"))
    }

    /// The bytes of the program in a part.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if they are not all there.
    pub fn code<'a>(&self, data: Reader<'a>) -> Result<Reader<'a>> {
        data.part(self.code.0 as u64, self.code.1 as u64)
    }

    /// A part with another program in the place of its own; the mappings stay.
    ///
    /// # Errors
    /// [`ErrorKind::BadValue`] if the program is not the last thing in the part, and as [`Program::write`].
    pub fn with_program(&self, part: &[u8], program: &Program) -> Result<Vec<u8>> {
        let (start, size) = self.code;
        if start.saturating_add(size) != part.len() || start < HEADER {
            return Err(Error::without_offset(ErrorKind::BadValue, "the program does not end the part")
                .expected(format!("{}", part.len()))
                .found(format!("{}", start.saturating_add(size))));
        }
        let code = program.write()?;
        let mut written = part.get(..start).unwrap_or_default().to_vec();
        written.extend_from_slice(&code);
        let (all, size) = (written.len(), code.len());
        for (offset, number) in [(0usize, all), (8, size)] {
            let number = u32::try_from(number)
                .map_err(|_| Error::without_offset(ErrorKind::OutOfRange, "the part would be too large"))?;
            if let Some(field) = written.get_mut(offset..offset.saturating_add(4)) {
                field.copy_from_slice(&number.to_le_bytes());
            }
        }
        Ok(written)
    }
}
