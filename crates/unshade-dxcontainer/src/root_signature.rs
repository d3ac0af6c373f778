//! RTS0: a root signature.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | version: 1 is 1.0, 2 is 1.1, 3 is 1.2 |
//! | 4, 8 | u32, u32 | number of parameters, offset of their headers (24) |
//! | 12, 16 | u32, u32 | number of static samplers, their offset |
//! | 20 | u32 | flags |
//!
//! The header of a parameter holds type, visibility and offset. What is at that offset depends on the type: register,
//! space and count for constants; register and space (from 1.1 on also flags) for a descriptor; count and offset of
//! the ranges for a table. A range takes 20 bytes, from 1.1 on 24: the flags were inserted *before* the last field. A
//! sampler takes 52 bytes, in 1.2 56. All offsets are from the start of the part.
//!
//! Sources: DXC's `DxilRootSignature*.cpp`, LLVM's `DXContainerConstants.def`; 115 real parts.

use crate::bytes::len32;
use crate::cursor::Cursor;
use crate::image::{Image, Layout, Slack};
use crate::scalar::{Record, Scalar, named, record};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

named! {
    /// The type of a parameter.
    pub struct ParameterType(u32) {
        DESCRIPTOR_TABLE = 0 => "DescriptorTable",
        CONSTANTS_32BIT = 1 => "Constants32Bit",
        CBV = 2 => "CBV",
        SRV = 3 => "SRV",
        UAV = 4 => "UAV",
    }
}

named! {
    /// The shader stages that can access a parameter.
    pub struct Visibility(u32) {
        ALL = 0 => "All",
        VERTEX = 1 => "Vertex",
        HULL = 2 => "Hull",
        DOMAIN = 3 => "Domain",
        GEOMETRY = 4 => "Geometry",
        PIXEL = 5 => "Pixel",
        AMPLIFICATION = 6 => "Amplification",
        MESH = 7 => "Mesh",
    }
}

named! {
    /// The type of a descriptor range.
    pub struct RangeType(u32) {
        SRV = 0 => "SRV",
        UAV = 1 => "UAV",
        CBV = 2 => "CBuffer",
        SAMPLER = 3 => "Sampler",
    }
}

named! {
    /// The filter of a sampler.
    pub struct Filter(u32) {
        MIN_MAG_MIP_POINT = 0 => "MinMagMipPoint",
        MIN_MAG_POINT_MIP_LINEAR = 1 => "MinMagPointMipLinear",
        MIN_POINT_MAG_LINEAR_MIP_POINT = 4 => "MinPointMagLinearMipPoint",
        MIN_POINT_MAG_MIP_LINEAR = 5 => "MinPointMagMipLinear",
        MIN_LINEAR_MAG_MIP_POINT = 0x10 => "MinLinearMagMipPoint",
        MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x11 => "MinLinearMagPointMipLinear",
        MIN_MAG_LINEAR_MIP_POINT = 0x14 => "MinMagLinearMipPoint",
        MIN_MAG_MIP_LINEAR = 0x15 => "MinMagMipLinear",
        ANISOTROPIC = 0x55 => "Anisotropic",
        COMPARISON_MIN_MAG_MIP_POINT = 0x80 => "ComparisonMinMagMipPoint",
        COMPARISON_MIN_MAG_POINT_MIP_LINEAR = 0x81 => "ComparisonMinMagPointMipLinear",
        COMPARISON_MIN_POINT_MAG_LINEAR_MIP_POINT = 0x84 => "ComparisonMinPointMagLinearMipPoint",
        COMPARISON_MIN_POINT_MAG_MIP_LINEAR = 0x85 => "ComparisonMinPointMagMipLinear",
        COMPARISON_MIN_LINEAR_MAG_MIP_POINT = 0x90 => "ComparisonMinLinearMagMipPoint",
        COMPARISON_MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x91 => "ComparisonMinLinearMagPointMipLinear",
        COMPARISON_MIN_MAG_LINEAR_MIP_POINT = 0x94 => "ComparisonMinMagLinearMipPoint",
        COMPARISON_MIN_MAG_MIP_LINEAR = 0x95 => "ComparisonMinMagMipLinear",
        COMPARISON_ANISOTROPIC = 0xd5 => "ComparisonAnisotropic",
        MINIMUM_MIN_MAG_MIP_POINT = 0x100 => "MinimumMinMagMipPoint",
        MINIMUM_MIN_MAG_POINT_MIP_LINEAR = 0x101 => "MinimumMinMagPointMipLinear",
        MINIMUM_MIN_POINT_MAG_LINEAR_MIP_POINT = 0x104 => "MinimumMinPointMagLinearMipPoint",
        MINIMUM_MIN_POINT_MAG_MIP_LINEAR = 0x105 => "MinimumMinPointMagMipLinear",
        MINIMUM_MIN_LINEAR_MAG_MIP_POINT = 0x110 => "MinimumMinLinearMagMipPoint",
        MINIMUM_MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x111 => "MinimumMinLinearMagPointMipLinear",
        MINIMUM_MIN_MAG_LINEAR_MIP_POINT = 0x114 => "MinimumMinMagLinearMipPoint",
        MINIMUM_MIN_MAG_MIP_LINEAR = 0x115 => "MinimumMinMagMipLinear",
        MINIMUM_ANISOTROPIC = 0x155 => "MinimumAnisotropic",
        MAXIMUM_MIN_MAG_MIP_POINT = 0x180 => "MaximumMinMagMipPoint",
        MAXIMUM_MIN_MAG_POINT_MIP_LINEAR = 0x181 => "MaximumMinMagPointMipLinear",
        MAXIMUM_MIN_POINT_MAG_LINEAR_MIP_POINT = 0x184 => "MaximumMinPointMagLinearMipPoint",
        MAXIMUM_MIN_POINT_MAG_MIP_LINEAR = 0x185 => "MaximumMinPointMagMipLinear",
        MAXIMUM_MIN_LINEAR_MAG_MIP_POINT = 0x190 => "MaximumMinLinearMagMipPoint",
        MAXIMUM_MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x191 => "MaximumMinLinearMagPointMipLinear",
        MAXIMUM_MIN_MAG_LINEAR_MIP_POINT = 0x194 => "MaximumMinMagLinearMipPoint",
        MAXIMUM_MIN_MAG_MIP_LINEAR = 0x195 => "MaximumMinMagMipLinear",
        MAXIMUM_ANISOTROPIC = 0x1d5 => "MaximumAnisotropic",
    }
}

named! {
    /// The address mode of a sampler.
    pub struct AddressMode(u32) {
        WRAP = 1 => "Wrap",
        MIRROR = 2 => "Mirror",
        CLAMP = 3 => "Clamp",
        BORDER = 4 => "Border",
        MIRROR_ONCE = 5 => "MirrorOnce",
    }
}

named! {
    /// The comparison function of a sampler.
    pub struct Comparison(u32) {
        NEVER = 1 => "Never",
        LESS = 2 => "Less",
        EQUAL = 3 => "Equal",
        LESS_EQUAL = 4 => "LessEqual",
        GREATER = 5 => "Greater",
        NOT_EQUAL = 6 => "NotEqual",
        GREATER_EQUAL = 7 => "GreaterEqual",
        ALWAYS = 8 => "Always",
    }
}

named! {
    /// The border color of a sampler.
    pub struct BorderColor(u32) {
        TRANSPARENT_BLACK = 0 => "TransparentBlack",
        OPAQUE_BLACK = 1 => "OpaqueBlack",
        OPAQUE_WHITE = 2 => "OpaqueWhite",
        OPAQUE_BLACK_UINT = 3 => "OpaqueBlackUint",
        OPAQUE_WHITE_UINT = 4 => "OpaqueWhiteUint",
    }
}

/// A flag: its bit, and LLVM's name for it.
pub type Flag = (u32, &'static str);

/// Root signature flags.
pub const ROOT_FLAGS: &[Flag] = &[
    (0x1, "AllowInputAssemblerInputLayout"),
    (0x2, "DenyVertexShaderRootAccess"),
    (0x4, "DenyHullShaderRootAccess"),
    (0x8, "DenyDomainShaderRootAccess"),
    (0x10, "DenyGeometryShaderRootAccess"),
    (0x20, "DenyPixelShaderRootAccess"),
    (0x40, "AllowStreamOutput"),
    (0x80, "LocalRootSignature"),
    (0x100, "DenyAmplificationShaderRootAccess"),
    (0x200, "DenyMeshShaderRootAccess"),
    (0x400, "CBVSRVUAVHeapDirectlyIndexed"),
    (0x800, "SamplerHeapDirectlyIndexed"),
];

/// Descriptor flags.
pub const DESCRIPTOR_FLAGS: &[Flag] =
    &[(0x2, "DATA_VOLATILE"), (0x4, "DATA_STATIC_WHILE_SET_AT_EXECUTE"), (0x8, "DATA_STATIC")];

/// Descriptor range flags.
pub const RANGE_FLAGS: &[Flag] = &[
    (0x1, "DESCRIPTORS_VOLATILE"),
    (0x2, "DATA_VOLATILE"),
    (0x4, "DATA_STATIC_WHILE_SET_AT_EXECUTE"),
    (0x8, "DATA_STATIC"),
    (0x1_0000, "DESCRIPTORS_STATIC_KEEPING_BUFFER_BOUNDS_CHECKS"),
];

/// Static sampler flags.
pub const SAMPLER_FLAGS: &[Flag] =
    &[(0x1, "SAMPLER_FLAG_UINT_BORDER_COLOR"), (0x2, "SAMPLER_FLAG_NON_NORMALIZED_COORDINATES")];

/// Size of the header.
const HEADER_SIZE: u32 = 24;

record! {
    /// The header of a parameter.
    pub struct ParameterHeader {
        /// The type.
        pub parameter_type: ParameterType => "ParameterType",
        /// The shader stages that can access it.
        pub visibility: Visibility => "ShaderVisibility",
        /// Offset of the rest of the parameter.
        pub offset: u32 => "Offset",
    }
}

record! {
    /// Root constants.
    pub struct Constants {
        /// The register.
        pub register: u32 => "ShaderRegister",
        /// The register space.
        pub space: u32 => "RegisterSpace",
        /// The number of 32-bit values.
        pub count: u32 => "Num32BitValues",
    }
}

/// A root descriptor.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// The register.
    pub register: u32,
    /// The register space.
    pub space: u32,
    /// The flags, see [`DESCRIPTOR_FLAGS`]; 0 in version 1.0.
    pub flags: u32,
}

/// A descriptor range in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The type of the descriptors.
    pub range_type: RangeType,
    /// The number of descriptors; `u32::MAX` if unbounded.
    pub count: u32,
    /// The first register.
    pub register: u32,
    /// The register space.
    pub space: u32,
    /// The flags, see [`RANGE_FLAGS`]; 0 in version 1.0.
    pub flags: u32,
    /// Offset in the table; `u32::MAX` to follow the range before.
    pub offset_in_table: u32,
}

record! {
    /// The fields of a static sampler; in version 1.2 flags follow.
    pub struct SamplerFields {
        /// The filter.
        pub filter: Filter => "Filter",
        /// The address mode for U.
        pub address_u: AddressMode => "AddressU",
        /// The address mode for V.
        pub address_v: AddressMode => "AddressV",
        /// The address mode for W.
        pub address_w: AddressMode => "AddressW",
        /// A bias on the level of detail.
        pub mip_lod_bias: f32 => "MipLODBias",
        /// The maximum anisotropy.
        pub max_anisotropy: u32 => "MaxAnisotropy",
        /// The comparison function.
        pub comparison: Comparison => "ComparisonFunc",
        /// The border color.
        pub border_color: BorderColor => "BorderColor",
        /// The minimum level of detail.
        pub min_lod: f32 => "MinLOD",
        /// The maximum level of detail.
        pub max_lod: f32 => "MaxLOD",
        /// The register.
        pub register: u32 => "ShaderRegister",
        /// The register space.
        pub space: u32 => "RegisterSpace",
        /// The shader stages that can access it.
        pub visibility: Visibility => "ShaderVisibility",
    }
}

/// A static sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampler {
    /// The fields of all versions.
    pub fields: SamplerFields,
    /// The flags, see [`SAMPLER_FLAGS`]; 0 before version 1.2.
    pub flags: u32,
}

/// The contents of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Root constants.
    Constants(Constants),
    /// A root descriptor of a constant buffer, a shader resource view or an unordered access view.
    Descriptor(Descriptor),
    /// A descriptor table.
    Table {
        /// Offset of the ranges.
        ranges_offset: u32,
        /// The ranges.
        ranges: Vec<Range>,
    },
    /// A parameter of an unknown type; its bytes are in the slack.
    Unknown,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Type and visibility.
    pub header: ParameterHeader,
    /// The contents.
    pub payload: Payload,
}

/// A root signature.
#[derive(Clone, Debug, PartialEq)]
pub struct RootSignature {
    /// 1 is 1.0, 2 is 1.1, 3 is 1.2.
    pub version: u32,
    /// Offset of the headers of the parameters.
    pub parameters_offset: u32,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Offset of the samplers.
    pub samplers_offset: u32,
    /// The samplers.
    pub samplers: Vec<Sampler>,
    /// The flags, see [`ROOT_FLAGS`].
    pub flags: u32,
    /// The bytes between and after the pieces.
    pub slack: Slack,
}

impl RootSignature {
    /// Returns whether descriptors and ranges have flags.
    pub fn has_flags(&self) -> bool {
        self.version >= 2
    }

    /// Returns the version in the usual notation.
    pub fn version_text(&self) -> Option<&'static str> {
        [None, Some("1.0"), Some("1.1"), Some("1.2")].get(self.version as usize).copied().flatten()
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let start = cursor.offset();
        let version: u32 = cursor.scalar("version")?;
        let parameter_count: u32 = cursor.scalar("number of parameters")?;
        let parameters_offset: u32 = cursor.scalar("offset of the parameters")?;
        let sampler_count: u32 = cursor.scalar("number of static samplers")?;
        let samplers_offset: u32 = cursor.scalar("offset of the static samplers")?;
        let flags: u32 = cursor.scalar("flags")?;
        if !(1..=3).contains(&version) {
            return Err(Error::new(ErrorKind::Unsupported, start, "unknown root signature version")
                .expected("1 (1.0), 2 (1.1) or 3 (1.2)")
                .found(format!("{version}")));
        }
        let headers: Vec<ParameterHeader> =
            cursor.at(parameters_offset)?.table(parameter_count, "parameter")?;
        let mut parameters = Vec::with_capacity(headers.len());
        for (index, header) in headers.into_iter().enumerate() {
            let label = || format!("parameter {index}");
            let payload =
                read_payload(cursor, &header, version, index).map_err(|error| error.within(label()))?;
            parameters.push(Parameter { header, payload });
        }
        let mut table = cursor.at(samplers_offset)?;
        table.check_count(sampler_count, sampler_size(version))?;
        let mut samplers = Vec::new();
        for index in 0..sampler_count {
            samplers.push(table.group(
                || format!("static sampler {index}").into(),
                |table| {
                    let fields = SamplerFields::read(table)?;
                    Ok(Sampler { fields, flags: if version >= 3 { table.scalar("Flags")? } else { 0 } })
                },
            )?);
        }
        let slack = Slack::from_gaps(cursor.part_size(), &cursor.gaps());
        Ok(Self { version, parameters_offset, parameters, samplers_offset, samplers, flags, slack })
    }

    /// Assigns new offsets in DXC's order: headers, then the contents of each parameter, then the samplers.
    pub fn lay_out(&mut self) {
        self.parameters_offset = HEADER_SIZE;
        let headers = self.parameters.len().saturating_mul(ParameterHeader::SIZE);
        let mut layout = Layout::starting_at(HEADER_SIZE);
        layout.take(headers);
        let flags = if self.has_flags() { 4 } else { 0 };
        for parameter in &mut self.parameters {
            parameter.header.offset = layout.take(match &parameter.payload {
                Payload::Constants(_) => Constants::SIZE,
                Payload::Descriptor(_) => 8usize.saturating_add(flags),
                Payload::Table { .. } => 8,
                Payload::Unknown => 0,
            });
            if let Payload::Table { ranges_offset, ranges } = &mut parameter.payload {
                *ranges_offset = layout.take(ranges.len().saturating_mul(20usize.saturating_add(flags)));
            }
        }
        self.samplers_offset = layout.take(self.samplers.len().saturating_mul(sampler_size(self.version)));
        self.slack = Slack::new(layout.end(), 0);
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut image = Image::default();
        let header = [
            self.version,
            len32(self.parameters.len()),
            self.parameters_offset,
            len32(self.samplers.len()),
            self.samplers_offset,
            self.flags,
        ];
        image.put(0, words(&header));
        let mut headers = Vec::new();
        for parameter in &self.parameters {
            parameter.header.write(&mut headers);
            self.put_payload(parameter, &mut image);
        }
        image.put(self.parameters_offset, headers);
        let mut samplers = Vec::new();
        for sampler in &self.samplers {
            sampler.fields.write(&mut samplers);
            if self.version >= 3 {
                sampler.flags.put(&mut samplers);
            }
        }
        image.put(self.samplers_offset, samplers);
        image.finish(&self.slack)
    }

    fn put_payload(&self, parameter: &Parameter, image: &mut Image) {
        let flags = self.has_flags();
        let mut out = Vec::new();
        match &parameter.payload {
            Payload::Constants(constants) => constants.write(&mut out),
            Payload::Descriptor(descriptor) => {
                out = words(&[descriptor.register, descriptor.space]);
                if flags {
                    descriptor.flags.put(&mut out);
                }
            }
            Payload::Table { ranges_offset, ranges } => {
                out = words(&[len32(ranges.len()), *ranges_offset]);
                let mut table = Vec::new();
                for range in ranges {
                    table.extend(words(&[range.range_type.0, range.count, range.register, range.space]));
                    if flags {
                        range.flags.put(&mut table);
                    }
                    range.offset_in_table.put(&mut table);
                }
                image.put(*ranges_offset, table);
            }
            Payload::Unknown => return,
        }
        image.put(parameter.header.offset, out);
    }
}

fn sampler_size(version: u32) -> usize {
    if version >= 3 { SamplerFields::SIZE.saturating_add(4) } else { SamplerFields::SIZE }
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn read_payload(
    cursor: &mut Cursor<'_, '_>,
    header: &ParameterHeader,
    version: u32,
    index: usize,
) -> Result<Payload> {
    let flags = version >= 2;
    let mut at = cursor.at(header.offset)?;
    let group = || format!("parameter {index}: {}", header.parameter_type).into();
    match header.parameter_type {
        ParameterType::CONSTANTS_32BIT => at.group(group, Constants::read).map(Payload::Constants),
        ParameterType::CBV | ParameterType::SRV | ParameterType::UAV => at.group(group, |at| {
            Ok(Payload::Descriptor(Descriptor {
                register: at.scalar("ShaderRegister")?,
                space: at.scalar("RegisterSpace")?,
                flags: if flags { at.scalar("Flags")? } else { 0 },
            }))
        }),
        ParameterType::DESCRIPTOR_TABLE => {
            let (count, ranges_offset) =
                at.group(group, |at| Ok((at.scalar("NumRanges")?, at.scalar("RangesOffset")?)))?;
            let mut table = cursor.at(ranges_offset)?;
            table.check_count(count, if flags { 24 } else { 20 })?;
            let range = |range: u32| {
                table.group(
                    || format!("parameter {index}: range {range}").into(),
                    |at| {
                        Ok(Range {
                            range_type: at.scalar("RangeType")?,
                            count: at.scalar("NumDescriptors")?,
                            register: at.scalar("BaseShaderRegister")?,
                            space: at.scalar("RegisterSpace")?,
                            flags: if flags { at.scalar("Flags")? } else { 0 },
                            offset_in_table: at.scalar("OffsetInDescriptorsFromTableStart")?,
                        })
                    },
                )
            };
            let ranges = (0..count).map(range).collect::<Result<_>>()?;
            Ok(Payload::Table { ranges_offset, ranges })
        }
        _ => Ok(Payload::Unknown),
    }
}
