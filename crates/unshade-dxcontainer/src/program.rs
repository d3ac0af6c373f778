//! DXIL, ILDB, and DXC's STAT: a program as LLVM bitcode.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | shader kind << 16, shader model: major << 4, minor |
//! | 4 | u32 | size of the part in 32-bit words |
//! | 8 | 4 bytes | `DXIL` |
//! | 12 | u8, u8 | DXIL version: minor, major |
//! | 14 | u16 | 0 |
//! | 16 | u32 | offset of the bitcode from byte 8: 16 |
//! | 20 | u32 | size of the bitcode |
//!
//! ILDB holds the program with its debug information. DXC's STAT is the program without function bodies, for
//! reflection; FXC's STAT is a table of counters, see [`stat`](crate::stat).
//!
//! Source: DXC's `DxilContainer.h`.

use crate::bytes::Bytes;
use crate::cursor::Cursor;
use crate::scalar::{Record, model, named, record};
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Error, ErrorKind, FourCc, Result};

/// The first four bytes of the bitcode header.
pub const BITCODE_MAGIC: FourCc = FourCc(*b"DXIL");

/// Size of the bitcode header, which is also the usual offset of the bitcode.
pub const BITCODE_HEADER_SIZE: u32 = 16;

named! {
    /// The kind of a shader.
    pub struct ShaderKind(u16) {
        PIXEL = 0 => "pixel",
        VERTEX = 1 => "vertex",
        GEOMETRY = 2 => "geometry",
        HULL = 3 => "hull",
        DOMAIN = 4 => "domain",
        COMPUTE = 5 => "compute",
        LIBRARY = 6 => "library",
        RAY_GENERATION = 7 => "raygeneration",
        INTERSECTION = 8 => "intersection",
        ANY_HIT = 9 => "anyhit",
        CLOSEST_HIT = 10 => "closesthit",
        MISS = 11 => "miss",
        CALLABLE = 12 => "callable",
        MESH = 13 => "mesh",
        AMPLIFICATION = 14 => "amplification",
        NODE = 15 => "node",
        ROOT_SIGNATURE = 16 => "rootsignature",
        /// The library kind of DXBC token programs.
        DXBC_LIBRARY = 0xfff0 => "library (DXBC)",
    }
}

impl ShaderKind {
    /// Returns the prefix of its target profiles: `ps` in `ps_6_0`.
    pub fn prefix(self) -> &'static str {
        const PREFIXES: [&str; 17] = [
            "ps",
            "vs",
            "gs",
            "hs",
            "ds",
            "cs",
            "lib",
            "raygen",
            "intersection",
            "anyhit",
            "closesthit",
            "miss",
            "callable",
            "ms",
            "as",
            "node",
            "rootsig",
        ];
        match self {
            Self::DXBC_LIBRARY => "lib",
            _ => PREFIXES.get(usize::from(self.0)).copied().unwrap_or("unknown"),
        }
    }
}

/// The shader kind and shader model that every program starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgramVersion(pub u32);

impl ProgramVersion {
    /// Returns the shader kind.
    pub fn kind(self) -> ShaderKind {
        ShaderKind(u16::try_from(self.0 >> 16).unwrap_or_default())
    }

    /// Returns the major shader model.
    pub fn major(self) -> u32 {
        (self.0 >> 4) & 0xf
    }

    /// Returns the minor shader model; 15 marks an offline library.
    pub fn minor(self) -> u32 {
        self.0 & 0xf
    }
}

impl fmt::Display for ProgramVersion {
    /// Formats a target profile: `ps_6_0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind(), self.minor()) {
            (ShaderKind::LIBRARY, 15) => write!(f, "lib_{}_x", self.major()),
            (kind, minor) => write!(f, "{}_{}_{minor}", kind.prefix(), self.major()),
        }
    }
}

record! {
    /// The header before the bitcode.
    pub struct ProgramHeader {
        /// Shader kind and model.
        pub version: u32 => "ProgramVersion",
        /// Size of the part in words.
        pub size_in_words: u32 => "SizeInWords",
        /// `DXIL`.
        pub magic: FourCc => "Magic",
        /// The minor DXIL version.
        pub dxil_minor: u8 => "DXILMinorVersion",
        /// The major DXIL version.
        pub dxil_major: u8 => "DXILMajorVersion",
        /// 0.
        pub reserved: u16 => "Reserved",
        /// Offset of the bitcode from the magic.
        pub bitcode_offset: u32 => "BitcodeOffset",
        /// Size of the bitcode.
        pub bitcode_size: u32 => "BitcodeSize",
    }
}

model! {
    /// A program as LLVM bitcode.
    pub struct Program {
        /// The header before the bitcode.
        pub header: ProgramHeader => "Header",
        /// Bytes between header and bitcode; empty in all known files.
        pub gap: Bytes => "Gap",
        /// The bitcode.
        pub bitcode: Bytes => "Bitcode",
        /// Bytes after the bitcode: padding.
        pub tail: Bytes => "Tail",
    }
}

impl Program {
    /// Creates a program with the usual layout.
    pub fn new(version: ProgramVersion, dxil: (u8, u8), bitcode: Vec<u8>) -> Self {
        let padding = bitcode.len().wrapping_neg() % 4;
        let size = bitcode.len().saturating_add(padding).saturating_add(ProgramHeader::SIZE);
        let header = ProgramHeader {
            version: version.0,
            size_in_words: crate::bytes::len32(size) / 4,
            magic: BITCODE_MAGIC,
            dxil_minor: dxil.1,
            dxil_major: dxil.0,
            reserved: 0,
            bitcode_offset: BITCODE_HEADER_SIZE,
            bitcode_size: crate::bytes::len32(bitcode.len()),
        };
        let tail = Bytes(alloc::vec![0; padding]);
        Self { header, gap: Bytes::default(), bitcode: Bytes(bitcode), tail }
    }

    /// Replaces the bitcode, and renews the sizes and the padding.
    pub fn set_bitcode(&mut self, bitcode: Vec<u8>) {
        let size = ProgramHeader::SIZE.saturating_add(self.gap.0.len()).saturating_add(bitcode.len());
        let padding = size.wrapping_neg() % 4;
        self.header.size_in_words = crate::bytes::len32(size.saturating_add(padding)) / 4;
        self.header.bitcode_size = crate::bytes::len32(bitcode.len());
        self.bitcode = Bytes(bitcode);
        self.tail = Bytes(alloc::vec![0; padding]);
    }

    /// Returns shader kind and shader model.
    pub fn version(&self) -> ProgramVersion {
        ProgramVersion(self.header.version)
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let start = cursor.offset();
        let header: ProgramHeader = cursor.record("header")?;
        if header.magic != BITCODE_MAGIC {
            return Err(Error::new(
                ErrorKind::BadMagic,
                start.saturating_add(8),
                "program without a bitcode header",
            )
            .expected("DXIL")
            .found(alloc::format!("{}", header.magic)));
        }
        let gap = header.bitcode_offset.checked_sub(BITCODE_HEADER_SIZE).ok_or_else(|| {
            Error::new(ErrorKind::OutOfRange, start.saturating_add(16), "bitcode starts inside its header")
                .expected("an offset of at least 16")
                .found(alloc::format!("{}", header.bitcode_offset))
        })?;
        Ok(Self {
            gap: Bytes::from(cursor.bytes(gap as usize, "gap")?),
            bitcode: Bytes::from(cursor.bytes(header.bitcode_size as usize, "bitcode")?),
            tail: Bytes::from(cursor.rest("tail")?),
            header,
        })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bitcode.0.len().saturating_add(64));
        self.header.write(&mut out);
        for bytes in [&self.gap, &self.bitcode, &self.tail] {
            out.extend_from_slice(&bytes.0);
        }
        out
    }
}

/// Returns the header and the bitcode of a program without copying it.
///
/// # Errors
/// Fails if the part is not a program.
pub fn bitcode<'a>(part: unshade_core::Reader<'a>) -> Result<(ProgramHeader, unshade_core::Reader<'a>)> {
    let header: ProgramHeader = crate::cursor::read_part(part, |cursor| cursor.record("header"))?;
    if header.magic != BITCODE_MAGIC {
        return Err(Error::new(
            ErrorKind::BadMagic,
            part.base().saturating_add(8),
            "program without a bitcode header",
        ));
    }
    let start = u64::from(header.bitcode_offset).saturating_add(8);
    let bitcode = part.part(start, u64::from(header.bitcode_size))?;
    Ok((header, bitcode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn profiles() {
        assert_eq!(ProgramVersion(0x0006_006f).to_string(), "lib_6_x");
        assert_eq!(ProgramVersion(0x0005_0066).to_string(), "cs_6_6");
        assert_eq!(ProgramVersion(0x000d_0065).to_string(), "ms_6_5");
    }
}
