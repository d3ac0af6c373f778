//! The Metal data types as numbered in tags (`VATY`, `CNST`, `LAYR`): the values of `MTLDataType`.
//!
//! 0x39 and 0x3D are unused; 0x7D–0x8A have not been seen and have no public name. Real files at hand use only
//! 0x03–0x35; the rest comes from public documents and bindings.

use core::fmt;

/// A Metal data type. Unknown numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataType(pub u8);

/// The names of a data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataTypeRow {
    /// The number in the file.
    pub value: u8,
    /// The name as in `MTLDataType…`.
    pub name: &'static str,
    /// The spelling in the Metal language.
    pub metal: &'static str,
}

const fn row(value: u8, name: &'static str, metal: &'static str) -> DataTypeRow {
    DataTypeRow { value, name, metal }
}

/// All data types with a name, sorted by number.
pub const DATA_TYPES: &[DataTypeRow] = &[
    row(0x00, "None", "void"),
    row(0x01, "Struct", "struct"),
    row(0x02, "Array", "array"),
    row(0x03, "Float", "float"),
    row(0x04, "Float2", "float2"),
    row(0x05, "Float3", "float3"),
    row(0x06, "Float4", "float4"),
    row(0x07, "Float2x2", "float2x2"),
    row(0x08, "Float2x3", "float2x3"),
    row(0x09, "Float2x4", "float2x4"),
    row(0x0a, "Float3x2", "float3x2"),
    row(0x0b, "Float3x3", "float3x3"),
    row(0x0c, "Float3x4", "float3x4"),
    row(0x0d, "Float4x2", "float4x2"),
    row(0x0e, "Float4x3", "float4x3"),
    row(0x0f, "Float4x4", "float4x4"),
    row(0x10, "Half", "half"),
    row(0x11, "Half2", "half2"),
    row(0x12, "Half3", "half3"),
    row(0x13, "Half4", "half4"),
    row(0x14, "Half2x2", "half2x2"),
    row(0x15, "Half2x3", "half2x3"),
    row(0x16, "Half2x4", "half2x4"),
    row(0x17, "Half3x2", "half3x2"),
    row(0x18, "Half3x3", "half3x3"),
    row(0x19, "Half3x4", "half3x4"),
    row(0x1a, "Half4x2", "half4x2"),
    row(0x1b, "Half4x3", "half4x3"),
    row(0x1c, "Half4x4", "half4x4"),
    row(0x1d, "Int", "int"),
    row(0x1e, "Int2", "int2"),
    row(0x1f, "Int3", "int3"),
    row(0x20, "Int4", "int4"),
    row(0x21, "UInt", "uint"),
    row(0x22, "UInt2", "uint2"),
    row(0x23, "UInt3", "uint3"),
    row(0x24, "UInt4", "uint4"),
    row(0x25, "Short", "short"),
    row(0x26, "Short2", "short2"),
    row(0x27, "Short3", "short3"),
    row(0x28, "Short4", "short4"),
    row(0x29, "UShort", "ushort"),
    row(0x2a, "UShort2", "ushort2"),
    row(0x2b, "UShort3", "ushort3"),
    row(0x2c, "UShort4", "ushort4"),
    row(0x2d, "Char", "char"),
    row(0x2e, "Char2", "char2"),
    row(0x2f, "Char3", "char3"),
    row(0x30, "Char4", "char4"),
    row(0x31, "UChar", "uchar"),
    row(0x32, "UChar2", "uchar2"),
    row(0x33, "UChar3", "uchar3"),
    row(0x34, "UChar4", "uchar4"),
    row(0x35, "Bool", "bool"),
    row(0x36, "Bool2", "bool2"),
    row(0x37, "Bool3", "bool3"),
    row(0x38, "Bool4", "bool4"),
    row(0x3a, "Texture", "texture"),
    row(0x3b, "Sampler", "sampler"),
    row(0x3c, "Pointer", "pointer"),
    row(0x3e, "R8Unorm", "r8unorm"),
    row(0x3f, "R8Snorm", "r8snorm"),
    row(0x40, "R16Unorm", "r16unorm"),
    row(0x41, "R16Snorm", "r16snorm"),
    row(0x42, "RG8Unorm", "rg8unorm"),
    row(0x43, "RG8Snorm", "rg8snorm"),
    row(0x44, "RG16Unorm", "rg16unorm"),
    row(0x45, "RG16Snorm", "rg16snorm"),
    row(0x46, "RGBA8Unorm", "rgba8unorm"),
    row(0x47, "RGBA8Unorm_sRGB", "rgba8unorm_srgb"),
    row(0x48, "RGBA8Snorm", "rgba8snorm"),
    row(0x49, "RGBA16Unorm", "rgba16unorm"),
    row(0x4a, "RGBA16Snorm", "rgba16snorm"),
    row(0x4b, "RGB10A2Unorm", "rgb10a2unorm"),
    row(0x4c, "RG11B10Float", "rg11b10float"),
    row(0x4d, "RGB9E5Float", "rgb9e5float"),
    row(0x4e, "RenderPipeline", "render_pipeline_state"),
    row(0x4f, "ComputePipeline", "compute_pipeline_state"),
    row(0x50, "IndirectCommandBuffer", "command_buffer"),
    row(0x51, "Long", "long"),
    row(0x52, "Long2", "long2"),
    row(0x53, "Long3", "long3"),
    row(0x54, "Long4", "long4"),
    row(0x55, "ULong", "ulong"),
    row(0x56, "ULong2", "ulong2"),
    row(0x57, "ULong3", "ulong3"),
    row(0x58, "ULong4", "ulong4"),
    row(0x59, "Double", "double"),
    row(0x5a, "Double2", "double2"),
    row(0x5b, "Double3", "double3"),
    row(0x5c, "Double4", "double4"),
    row(0x5d, "Float8", "float8"),
    row(0x5e, "Float16", "float16"),
    row(0x5f, "Half8", "half8"),
    row(0x60, "Half16", "half16"),
    row(0x61, "Int8", "int8"),
    row(0x62, "Int16", "int16"),
    row(0x63, "UInt8", "uint8"),
    row(0x64, "UInt16", "uint16"),
    row(0x65, "Short8", "short8"),
    row(0x66, "Short16", "short16"),
    row(0x67, "UShort8", "ushort8"),
    row(0x68, "UShort16", "ushort16"),
    row(0x69, "Char8", "char8"),
    row(0x6a, "Char16", "char16"),
    row(0x6b, "UChar8", "uchar8"),
    row(0x6c, "UChar16", "uchar16"),
    row(0x6d, "Long8", "long8"),
    row(0x6e, "Long16", "long16"),
    row(0x6f, "ULong8", "ulong8"),
    row(0x70, "ULong16", "ulong16"),
    row(0x71, "Double8", "double8"),
    row(0x72, "Double16", "double16"),
    row(0x73, "VisibleFunctionTable", "visible_function_table"),
    row(0x74, "IntersectionFunctionTable", "intersection_function_table"),
    row(0x75, "PrimitiveAccelerationStructure", "primitive_acceleration_structure"),
    row(0x76, "InstanceAccelerationStructure", "instance_acceleration_structure"),
    row(0x77, "Bool8", "bool8"),
    row(0x78, "Bool16", "bool16"),
    row(0x79, "BFloat", "bfloat"),
    row(0x7a, "BFloat2", "bfloat2"),
    row(0x7b, "BFloat3", "bfloat3"),
    row(0x7c, "BFloat4", "bfloat4"),
    row(0x8b, "DepthStencilState", "depth_stencil_state"),
    row(0x8c, "Tensor", "tensor"),
];

impl DataType {
    /// Returns the names of the type, if it is known.
    pub fn row(self) -> Option<&'static DataTypeRow> {
        let place = DATA_TYPES.binary_search_by_key(&self.0, |row| row.value).ok()?;
        DATA_TYPES.get(place)
    }

    /// Returns the type with this Metal spelling (`float4`) or `MTLDataType` name (`Float4`).
    pub fn from_name(name: &str) -> Option<Self> {
        DATA_TYPES.iter().find(|row| row.metal == name || row.name == name).map(|row| Self(row.value))
    }

    /// Returns the `MTLDataType` name, such as `Float4`.
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|row| row.name)
    }
}

/// Prints the Metal spelling, such as `float4`.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.pad(row.metal),
            None => write!(f, "{:#x} (unknown)", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn table_is_sorted_and_has_the_known_numbers() {
        assert!(DATA_TYPES.is_sorted_by(|a, b| a.value < b.value));
        for (value, metal) in [
            (0x03, "float"),
            (0x0f, "float4x4"),
            (0x1d, "int"),
            (0x35, "bool"),
            (0x78, "bool16"),
            (0x8c, "tensor"),
        ] {
            assert_eq!(DataType(value).to_string(), metal);
        }
        for row in DATA_TYPES {
            assert_eq!(DataType::from_name(row.metal), Some(DataType(row.value)));
            assert_eq!(DataType::from_name(row.name), Some(DataType(row.value)));
        }
        for unused in [0x39, 0x3d, 0x7d, 0x8a, 0xff] {
            assert_eq!(DataType(unused).row(), None);
        }
        assert_eq!(DataType(0x39).to_string(), "0x39 (unknown)");
    }
}
