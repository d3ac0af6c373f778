//! Names of types and functions.

use crate::ir::shader::data_type::{Scalar, ScalarKind};
use crate::ir::shader::{AtomicOp, ShaderOp, Signedness, WaveOp};

/// Returns the name of a number's type.
pub(super) fn scalar(scalar: Scalar) -> &'static str {
    match (scalar.kind, scalar.bits, scalar.is_minimum) {
        (ScalarKind::Bool, ..) => "bool",
        (ScalarKind::Float, _, true) => "min16float",
        (ScalarKind::Float, 16, false) => "float16_t",
        (ScalarKind::Float, 64, _) => "double",
        (ScalarKind::Float, ..) => "float",
        (ScalarKind::Signed, _, true) => "min16int",
        (ScalarKind::Signed, 16, false) => "int16_t",
        (ScalarKind::Signed, 64, _) => "int64_t",
        (ScalarKind::Signed, ..) => "int",
        (ScalarKind::Unsigned, _, true) => "min16uint",
        (ScalarKind::Unsigned, 16, false) => "uint16_t",
        (ScalarKind::Unsigned, 64, _) => "uint64_t",
        (ScalarKind::Unsigned, ..) => "uint",
    }
}

/// Returns the name of a vector's type.
pub(super) fn vector(of: Scalar, lanes: u16) -> String {
    let name = scalar(of);
    match lanes {
        1 => name.to_owned(),
        2..=4 => format!("{name}{lanes}"),
        _ => format!("vector<{name}, {lanes}>"),
    }
}

/// Functions that take the inputs of an operation as they are.
const FUNCTIONS: &[(ShaderOp, &str)] = &[
    (ShaderOp::Saturate, "saturate"),
    (ShaderOp::Sine, "sin"),
    (ShaderOp::Cosine, "cos"),
    (ShaderOp::Tangent, "tan"),
    (ShaderOp::ArcSine, "asin"),
    (ShaderOp::ArcCosine, "acos"),
    (ShaderOp::ArcTangent, "atan"),
    (ShaderOp::HyperbolicSine, "sinh"),
    (ShaderOp::HyperbolicCosine, "cosh"),
    (ShaderOp::HyperbolicTangent, "tanh"),
    (ShaderOp::Exp2, "exp2"),
    (ShaderOp::Log2, "log2"),
    (ShaderOp::Exp, "exp"),
    (ShaderOp::Log, "log"),
    (ShaderOp::Log10, "log10"),
    (ShaderOp::Power, "pow"),
    (ShaderOp::Fraction, "frac"),
    (ShaderOp::ReciprocalSqrt, "rsqrt"),
    (ShaderOp::Reciprocal, "rcp"),
    (ShaderOp::RoundEven, "round"),
    (ShaderOp::Floor, "floor"),
    (ShaderOp::Ceiling, "ceil"),
    (ShaderOp::Truncate, "trunc"),
    (ShaderOp::FloatRemainder, "fmod"),
    (ShaderOp::IsNan, "isnan"),
    (ShaderOp::IsInfinite, "isinf"),
    (ShaderOp::IsFinite, "isfinite"),
    (ShaderOp::IsNormal, "isnormal"),
    (ShaderOp::FloatMin, "min"),
    (ShaderOp::FloatMax, "max"),
    (ShaderOp::MultiplyAdd, "mad"),
    (ShaderOp::Fma, "fma"),
    (ShaderOp::Dot, "dot"),
    (ShaderOp::Normalize, "normalize"),
    (ShaderOp::Length, "length"),
    (ShaderOp::Lerp, "lerp"),
    (ShaderOp::Cross, "cross"),
    (ShaderOp::Sign, "sign"),
    (ShaderOp::DerivativeXCoarse, "ddx_coarse"),
    (ShaderOp::DerivativeYCoarse, "ddy_coarse"),
    (ShaderOp::DerivativeXFine, "ddx_fine"),
    (ShaderOp::DerivativeYFine, "ddy_fine"),
    (ShaderOp::HalfToFloat, "f16tof32"),
    (ShaderOp::FloatToHalf, "f32tof16"),
    (ShaderOp::MakeDouble, "asdouble"),
    (ShaderOp::SignedMin, "min"),
    (ShaderOp::SignedMax, "max"),
    (ShaderOp::UnsignedMin, "min"),
    (ShaderOp::UnsignedMax, "max"),
    (ShaderOp::SignedAbs, "abs"),
    (ShaderOp::IntegerMultiplyAdd(Signedness::Signed), "mad"),
    (ShaderOp::IntegerMultiplyAdd(Signedness::Unsigned), "mad"),
    (ShaderOp::ReverseBits, "reversebits"),
    (ShaderOp::CountBits, "countbits"),
    (ShaderOp::FirstBitLow, "firstbitlow"),
    (ShaderOp::FirstBitHighUnsigned, "firstbithigh"),
    (ShaderOp::FirstBitHighSigned, "firstbithigh"),
    (ShaderOp::WaveIsFirstLane, "WaveIsFirstLane"),
    (ShaderOp::WaveLaneIndex, "WaveGetLaneIndex"),
    (ShaderOp::WaveLaneCount, "WaveGetLaneCount"),
    (ShaderOp::WaveAnyTrue, "WaveActiveAnyTrue"),
    (ShaderOp::WaveAllTrue, "WaveActiveAllTrue"),
    (ShaderOp::WaveBallot, "WaveActiveBallot"),
    (ShaderOp::WaveReadLaneAt, "WaveReadLaneAt"),
    (ShaderOp::WaveReadLaneFirst, "WaveReadLaneFirst"),
    (ShaderOp::WaveCountBits, "WaveActiveCountBits"),
    (ShaderOp::WavePrefixCountBits, "WavePrefixCountBits"),
    (ShaderOp::WaveMultiPrefixCountBits, "WaveMultiPrefixCountBits"),
    (ShaderOp::QuadReadLaneAt, "QuadReadLaneAt"),
    (ShaderOp::QuadRead(crate::ir::shader::QuadDirection::X), "QuadReadAcrossX"),
    (ShaderOp::QuadRead(crate::ir::shader::QuadDirection::Y), "QuadReadAcrossY"),
    (ShaderOp::QuadRead(crate::ir::shader::QuadDirection::Diagonal), "QuadReadAcrossDiagonal"),
    (ShaderOp::QuadAny, "QuadAny"),
    (ShaderOp::QuadAll, "QuadAll"),
    (ShaderOp::AllLanes, "all"),
    (ShaderOp::AnyLane, "any"),
    (ShaderOp::GroupWaveIndex, "GetGroupWaveIndex"),
    (ShaderOp::GroupWaveCount, "GetGroupWaveCount"),
    (ShaderOp::ClusterId, "ClusterID"),
    (ShaderOp::DebugBreak, "DebugBreak"),
    (ShaderOp::IsDebugging, "dx::IsDebuggingEnabled"),
    (ShaderOp::IsHelperLane, "IsHelperLane"),
    (ShaderOp::IsResident, "CheckAccessFullyMapped"),
    (ShaderOp::NonUniform, "NonUniformResourceIndex"),
    (ShaderOp::RenderTargetSamplePosition, "GetRenderTargetSamplePosition"),
    (ShaderOp::RenderTargetSampleCount, "GetRenderTargetSampleCount"),
    (ShaderOp::SetMeshOutputCounts, "SetMeshOutputCounts"),
    (ShaderOp::DispatchMesh, "DispatchMesh"),
    (ShaderOp::DispatchRaysIndex, "DispatchRaysIndex"),
    (ShaderOp::DispatchRaysDimensions, "DispatchRaysDimensions"),
    (ShaderOp::RayFlags, "RayFlags"),
    (ShaderOp::RayTMin, "RayTMin"),
    (ShaderOp::RayTCurrent, "RayTCurrent"),
    (ShaderOp::WorldRayOrigin, "WorldRayOrigin"),
    (ShaderOp::WorldRayDirection, "WorldRayDirection"),
    (ShaderOp::ObjectRayOrigin, "ObjectRayOrigin"),
    (ShaderOp::ObjectRayDirection, "ObjectRayDirection"),
    (ShaderOp::PrimitiveIndex, "PrimitiveIndex"),
    (ShaderOp::InstanceId, "InstanceID"),
    (ShaderOp::InstanceIndex, "InstanceIndex"),
    (ShaderOp::HitKind, "HitKind"),
    (ShaderOp::GeometryIndex, "GeometryIndex"),
    (ShaderOp::IgnoreHit, "IgnoreHit"),
    (ShaderOp::AcceptHitAndEndSearch, "AcceptHitAndEndSearch"),
    (ShaderOp::ReportHit, "ReportHit"),
    (ShaderOp::CallShader, "CallShader"),
    (ShaderOp::Unpack(Signedness::Signed), "unpack_s8s32"),
    (ShaderOp::Unpack(Signedness::Unsigned), "unpack_u8u32"),
    (ShaderOp::PackTruncate, "pack_u8"),
    (ShaderOp::PackClamp(Signedness::Signed), "pack_clamp_s8"),
    (ShaderOp::PackClamp(Signedness::Unsigned), "pack_clamp_u8"),
];

/// Returns the function that an operation is.
pub(super) fn function(op: ShaderOp) -> Option<String> {
    if let Some((_, name)) = FUNCTIONS.iter().find(|row| row.0 == op) {
        return Some((*name).to_owned());
    }
    let reduction = |op: WaveOp| match op {
        WaveOp::Sum => "Sum",
        WaveOp::Product => "Product",
        WaveOp::Min => "Min",
        WaveOp::Max => "Max",
        WaveOp::And => "BitAnd",
        WaveOp::Or => "BitOr",
        WaveOp::Xor => "BitXor",
    };
    match op {
        ShaderOp::WaveAllEqual(_) => Some("WaveActiveAllEqual".into()),
        ShaderOp::WaveMatch(_) => Some("WaveMatch".into()),
        ShaderOp::WaveReduce(op, _) => Some(format!("WaveActive{}", reduction(op))),
        ShaderOp::WavePrefix(op, _) => Some(format!("WavePrefix{}", reduction(op))),
        ShaderOp::WaveMultiPrefix(op, _) => Some(format!("WaveMultiPrefix{}", reduction(op))),
        _ => None,
    }
}

/// Returns the name of an atomic operation.
pub(super) fn atomic(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add => "InterlockedAdd",
        AtomicOp::And => "InterlockedAnd",
        AtomicOp::Or => "InterlockedOr",
        AtomicOp::Xor => "InterlockedXor",
        AtomicOp::SignedMin | AtomicOp::UnsignedMin => "InterlockedMin",
        AtomicOp::SignedMax | AtomicOp::UnsignedMax => "InterlockedMax",
        AtomicOp::Exchange => "InterlockedExchange",
    }
}

/// Returns the function that a barrier is, by its bits.
pub(super) fn barrier(mode: u64) -> Option<&'static str> {
    Some(match mode {
        8 => "GroupMemoryBarrier",
        9 => "GroupMemoryBarrierWithGroupSync",
        2 => "DeviceMemoryBarrier",
        3 => "DeviceMemoryBarrierWithGroupSync",
        10 => "AllMemoryBarrier",
        11 => "AllMemoryBarrierWithGroupSync",
        _ => return None,
    })
}

/// A function that the text needs and HLSL lacks, for vectors with a number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Helper {
    pub(super) function: HelperFunction,
    pub(super) lanes: u16,
    /// The type of the first input's numbers, as unsigned ones.
    pub(super) operand: Scalar,
}

impl Helper {
    /// Returns a helper that takes numbers of 64 bits apart, or puts them together.
    pub(super) fn of_words(function: HelperFunction) -> Self {
        Self { function, lanes: 1, operand: Scalar::UINT }
    }
}

/// Functions that HLSL lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HelperFunction {
    MultiplyHighUnsigned,
    MultiplyHighSigned,
    InsertBits,
    ExtractUnsigned,
    ExtractSigned,
    LeadingZeros,
    LeadingSigns,
    DoubleOfBits,
    BitsOfDouble,
    LowWord,
    HighWord,
}

/// The name of each helper, and its definition, where `U` and `I` are the types of unsigned and signed integers, `V` and `W`
/// those as wide as the first input, and `T` is the number of its highest bit.
const HELPERS: &[(HelperFunction, &str, &str)] = &[
    (
        HelperFunction::MultiplyHighUnsigned,
        "multiply_high",
        "U multiply_high(U a, U b)\n{\n    U low = (a & 0xffff) * (b & 0xffff);\n    \
         U left = (a >> 16) * (b & 0xffff) + (low >> 16);\n    \
         U right = (a & 0xffff) * (b >> 16) + (left & 0xffff);\n    \
         return (a >> 16) * (b >> 16) + (left >> 16) + (right >> 16);\n}",
    ),
    (
        HelperFunction::MultiplyHighSigned,
        "multiply_high",
        "I multiply_high(I a, I b)\n{\n    U low = ((U)a & 0xffff) * ((U)b & 0xffff);\n    \
         I left = (a >> 16) * (I)((U)b & 0xffff) + (I)(low >> 16);\n    \
         I right = (I)((U)a & 0xffff) * (b >> 16) + (I)((U)left & 0xffff);\n    \
         return (a >> 16) * (b >> 16) + (left >> 16) + (right >> 16);\n}",
    ),
    (
        HelperFunction::InsertBits,
        "insert_bits",
        "U insert_bits(U width, U offset, U bits, U base)\n{\n    \
         U mask = (((U)1 << (width & 31)) - 1) << (offset & 31);\n    \
         return ((bits << (offset & 31)) & mask) | (base & ~mask);\n}",
    ),
    (
        HelperFunction::ExtractUnsigned,
        "extract_bits",
        "U extract_bits(U width, U offset, U value)\n{\n    width &= 31;\n    offset &= 31;\n    \
         return width == 0 ? 0 : width + offset < 32 ? (value << (32 - width - offset)) >> (32 - width) : value >> offset;\n}",
    ),
    (
        HelperFunction::ExtractSigned,
        "extract_signed_bits",
        "I extract_signed_bits(U width, U offset, I value)\n{\n    width &= 31;\n    offset &= 31;\n    \
         return width == 0 ? 0 : width + offset < 32 ? (value << (32 - width - offset)) >> (32 - width) : value >> offset;\n}",
    ),
    (
        HelperFunction::LeadingZeros,
        "leading_zeros",
        "U leading_zeros(V value)\n{\n    return value == 0 ? 0xffffffff : T - (U)firstbithigh(value);\n}",
    ),
    (
        HelperFunction::LeadingSigns,
        "leading_signs",
        "U leading_signs(W value)\n{\n    U bit = (U)firstbithigh(value);\n    \
         return bit == 0xffffffff ? bit : T - bit;\n}",
    ),
    (
        HelperFunction::DoubleOfBits,
        "double_of_bits",
        "double double_of_bits(uint64_t bits)\n{\n    return asdouble((uint)bits, (uint)(bits >> 32));\n}\n\n\
         double2 double_of_bits(uint64_t2 bits)\n{\n    \
         return double2(double_of_bits(bits.x), double_of_bits(bits.y));\n}\n\n\
         double3 double_of_bits(uint64_t3 bits)\n{\n    \
         return double3(double_of_bits(bits.xy), double_of_bits(bits.z));\n}\n\n\
         double4 double_of_bits(uint64_t4 bits)\n{\n    \
         return double4(double_of_bits(bits.xy), double_of_bits(bits.zw));\n}",
    ),
    (
        HelperFunction::BitsOfDouble,
        "bits_of_double",
        "uint64_t bits_of_double(double value)\n{\n    uint low, high;\n    asuint(value, low, high);\n    \
         return (uint64_t)low | (uint64_t)high << 32;\n}\n\n\
         uint64_t2 bits_of_double(double2 value)\n{\n    \
         return uint64_t2(bits_of_double(value.x), bits_of_double(value.y));\n}\n\n\
         uint64_t3 bits_of_double(double3 value)\n{\n    \
         return uint64_t3(bits_of_double(value.xy), bits_of_double(value.z));\n}\n\n\
         uint64_t4 bits_of_double(double4 value)\n{\n    \
         return uint64_t4(bits_of_double(value.xy), bits_of_double(value.zw));\n}",
    ),
    (
        HelperFunction::LowWord,
        "low_word",
        "uint low_word(double value)\n{\n    uint low, high;\n    asuint(value, low, high);\n    return low;\n}",
    ),
    (
        HelperFunction::HighWord,
        "high_word",
        "uint high_word(double value)\n{\n    uint low, high;\n    asuint(value, low, high);\n    return high;\n}",
    ),
];

/// The definitions of two helpers for vectors: where there is no bit, its number is all ones.
const LEADING_ZEROS_OF_VECTORS: &str = "U leading_zeros(V value)\n{\n    U bit = (U)firstbithigh(value);\n    \
     return (T - bit) | (0 - (bit >> 31));\n}";
const LEADING_SIGNS_OF_VECTORS: &str = "U leading_signs(W value)\n{\n    U bit = (U)firstbithigh(value);\n    \
     return (T - bit) | (0 - (bit >> 31));\n}";

/// Returns the name of a helper.
pub(super) fn helper_name(function: HelperFunction) -> &'static str {
    HELPERS.iter().find(|row| row.0 == function).map_or("", |row| row.1)
}

/// Returns the definition of a helper.
pub(super) fn helper(helper: Helper) -> String {
    let text = match helper.function {
        // Choices take a single condition.
        HelperFunction::LeadingZeros if helper.lanes > 1 => LEADING_ZEROS_OF_VECTORS,
        HelperFunction::LeadingSigns if helper.lanes > 1 => LEADING_SIGNS_OF_VECTORS,
        function => HELPERS.iter().find(|row| row.0 == function).map_or("", |row| row.2),
    };
    let signed = Scalar { kind: ScalarKind::Signed, ..helper.operand };
    let placeholders = [
        ('U', vector(Scalar::UINT, helper.lanes)),
        ('I', vector(Scalar::INT, helper.lanes)),
        ('V', vector(helper.operand, helper.lanes)),
        ('W', vector(signed, helper.lanes)),
        ('T', (helper.operand.bits - 1).to_string()),
    ];
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // The placeholders are words of one letter.
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !is_name(c)) {
        let found = placeholders.iter().find_map(|(letter, text)| {
            let rest = word.strip_prefix(*letter).filter(|rest| !rest.starts_with(is_name))?;
            Some((text, rest))
        });
        match found {
            Some((text, rest)) => out.extend([text.as_str(), rest]),
            None => out.push_str(word),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_have_the_types_of_their_lanes() {
        let of = |function, lanes, operand| helper(Helper { function, lanes, operand });
        let text = of(HelperFunction::ExtractSigned, 3, Scalar::UINT);
        assert!(
            text.starts_with("int3 extract_signed_bits(uint3 width, uint3 offset, int3 value)\n"),
            "{text}"
        );
        let text = of(HelperFunction::InsertBits, 1, Scalar::UINT);
        assert!(text.contains("uint mask = (((uint)1 << "), "{text}");
        let short = Scalar::new(ScalarKind::Unsigned, 16);
        let text = of(HelperFunction::LeadingZeros, 1, short);
        assert!(text.starts_with("uint leading_zeros(uint16_t value)\n"), "{text}");
        assert!(text.contains(" : 15 - (uint)firstbithigh(value);"), "{text}");
        let text = of(HelperFunction::LeadingSigns, 2, short);
        assert!(text.contains("uint2 leading_signs(int16_t2 value)") && !text.contains('?'), "{text}");
    }
}
