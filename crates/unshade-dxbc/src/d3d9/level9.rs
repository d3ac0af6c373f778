//! The contents of an Aon9 part: a program for feature level 9, and the mappings to its constants and samplers.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | size of the part |
//! | 4 | u32 | version token of the program, 2.0 if the program has 2.x |
//! | 8, 12 | u32 | size of the program, its offset |
//! | 16 | 5 × (u16, u16) | number and offset of the mappings: constants, integers, booleans, samplers, runtime constants |
//! | constants | 4 × u16, 4 × u8 | buffer, first register, count, first target, conversion of each component |
//! | integers, booleans | 4 × u16 | buffer, register, component, target |
//! | samplers | 4 × u8 | texture, sampler, target, 0 |
//! | runtime constants | 2 × u16 | kind, target |
//!
//! Source: no public description is known; derived from parts that FXC compiled, with each field changed, and FXC's
//! text for them.

use super::decode::decode;
use super::program::Program;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result};

/// Size of the fixed fields.
const HEADER: usize = 36;

/// A range of constant buffer registers that maps to float constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constants {
    /// The constant buffer.
    pub buffer: u16,
    /// The first register of the buffer.
    pub start: u16,
    /// The number of registers.
    pub count: u16,
    /// The first target constant.
    pub target: u16,
    /// Conversion of each component: 0 none, 1 boolean, 2 signed integer, 3 unsigned integer.
    pub conversions: [u8; 4],
}

/// A component of a constant buffer that maps to an integer or boolean constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scalar {
    /// The constant buffer.
    pub buffer: u16,
    /// The register in the buffer.
    pub register: u16,
    /// The component of the register.
    pub component: u16,
    /// The target constant.
    pub target: u16,
}

/// A texture and a sampler that map to a Direct3D 9 sampler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampler {
    /// The texture.
    pub texture: u8,
    /// The sampler that samples it.
    pub sampler: u8,
    /// The target sampler.
    pub target: u8,
}

/// A constant that the runtime provides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeConstant {
    /// Its kind: 0 half-pixel offset of positions, 1 instance number.
    pub kind: u16,
    /// The target constant.
    pub target: u16,
}

/// An Aon9 part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level9 {
    /// The version token of the header.
    pub version: u32,
    /// Offset and size of the program in the part.
    pub code: (usize, usize),
    /// Mappings to float constants.
    pub constants: Vec<Constants>,
    /// Mappings to integer constants.
    pub integers: Vec<Scalar>,
    /// Mappings to boolean constants.
    pub bools: Vec<Scalar>,
    /// Mappings to samplers.
    pub samplers: Vec<Sampler>,
    /// Constants that the runtime provides.
    pub runtime_constants: Vec<RuntimeConstant>,
}

impl Level9 {
    /// Parses the header and the mappings.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] or [`ErrorKind::OutOfRange`] if the mappings or the program are truncated.
    pub fn read(data: Reader<'_>) -> Result<Self> {
        let mut header = data;
        let mut part = Self::default();
        header.u32()?;
        part.version = header.u32()?;
        let (size, start) = (header.u32()?, header.u32()?);
        data.part(start.into(), size.into()).map_err(|error| error.within("program"))?;
        let size_or_offset = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        part.code = (size_or_offset(start), size_or_offset(size));
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
        let (mut entries, count) = list(4).map_err(|error| error.within("runtime constants"))?;
        for _ in 0..count {
            part.runtime_constants.push(RuntimeConstant { kind: entries.u16()?, target: entries.u16()? });
        }
        Ok(part)
    }

    /// Decodes the program of a part.
    ///
    /// # Errors
    /// Fails as [`decode`] does.
    pub fn program(&self, data: Reader<'_>, diagnostics: &mut Diagnostics) -> Result<Program> {
        decode(self.code(data)?, diagnostics).map_err(|error| error.within("program"))
    }

    /// Returns the bytes of the program in a part.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if the program is truncated.
    pub fn code<'a>(&self, data: Reader<'a>) -> Result<Reader<'a>> {
        data.part(self.code.0 as u64, self.code.1 as u64)
    }

    /// Returns the part with another program in place of its own; the mappings stay.
    ///
    /// # Errors
    /// [`ErrorKind::BadValue`] if the program is not last in the part, and as [`Program::write`].
    pub fn with_program(&self, part: &[u8], program: &Program) -> Result<Vec<u8>> {
        let (start, size) = self.code;
        if start.saturating_add(size) != part.len() || start < HEADER {
            return Err(Error::without_offset(ErrorKind::BadValue, "the program is not last in the part")
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
