//! The operations of DXIL by code: what each means, and how its operands become inputs.
//!
//! Most operands are inputs as they are. Where several scalars form a vector, a row has the sizes of the groups, in
//! order. In a group, trailing undefined operands are dropped: the coordinates and offsets that a texture lacks.
//!
//! What has another order or needs its operands' values is in [`special`](super::instruction).

use crate::ir::Op;
use crate::ir::shader::{NumberKind, QuadDirection, ShaderOp, Signedness, WaveOp};
use unshade_llvm::dxil_operations;

/// What an operation means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// An operator.
    Operator(Op),
    /// An operation of a shader.
    Shader(ShaderOp),
    /// The bits of its operand, as they are.
    Bits,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationRow {
    /// The code.
    code: u32,
    /// The meaning.
    pub(super) meaning: Meaning,
    /// The sizes of groups of operands; empty if every operand is an input.
    pub(super) groups: &'static [u8],
}

const fn op(code: u32, op: Op) -> OperationRow {
    OperationRow { code, meaning: Meaning::Operator(op), groups: &[] }
}

const fn shader(code: u32, op: ShaderOp) -> OperationRow {
    OperationRow { code, meaning: Meaning::Shader(op), groups: &[] }
}

const fn grouped(code: u32, op: ShaderOp, groups: &'static [u8]) -> OperationRow {
    OperationRow { code, meaning: Meaning::Shader(op), groups }
}

const fn bits(code: u32) -> OperationRow {
    OperationRow { code, meaning: Meaning::Bits, groups: &[] }
}

/// Returns the row of an operation.
pub(super) fn row(code: u32) -> Option<&'static OperationRow> {
    let (rows, code) = match code.checked_sub(EXPERIMENTAL_BASE) {
        Some(number) => (EXPERIMENTAL, number),
        None => (ROWS, code),
    };
    let at = rows.binary_search_by(|row| row.code.cmp(&code)).ok()?;
    rows.get(at)
}

/// The code of the first experimental operation.
pub(super) const EXPERIMENTAL_BASE: u32 = 0x8000_0000;

/// Returns the name of an operation.
pub(super) fn name(code: u32) -> String {
    let known = match code.checked_sub(EXPERIMENTAL_BASE) {
        Some(number) => dxil_operations::EXPERIMENTAL.get(number as usize).map(|row| row.0),
        None => dxil_operations::CORE.get(code as usize).map(|row| row.name),
    };
    known.map_or_else(|| format!("dx.op {code}"), str::to_owned)
}

use ShaderOp as S;
use Signedness::{Signed, Unsigned};

/// By code.
#[rustfmt::skip]
static ROWS: &[OperationRow] = &[
    shader(4, S::LoadInput),
    shader(5, S::StoreOutput),
    op(6, Op::FloatAbs),
    shader(7, S::Saturate),
    shader(8, S::IsNan),
    shader(9, S::IsInfinite),
    shader(10, S::IsFinite),
    shader(11, S::IsNormal),
    shader(12, S::Cosine),
    shader(13, S::Sine),
    shader(14, S::Tangent),
    shader(15, S::ArcCosine),
    shader(16, S::ArcSine),
    shader(17, S::ArcTangent),
    shader(18, S::HyperbolicCosine),
    shader(19, S::HyperbolicSine),
    shader(20, S::HyperbolicTangent),
    shader(21, S::Exp2),
    shader(22, S::Fraction),
    shader(23, S::Log2),
    op(24, Op::FloatSqrt),
    shader(25, S::ReciprocalSqrt),
    shader(26, S::RoundEven),
    shader(27, S::Floor),
    shader(28, S::Ceiling),
    shader(29, S::Truncate),
    shader(30, S::ReverseBits),
    shader(31, S::CountBits),
    shader(32, S::FirstBitLow),
    shader(33, S::LeadingZeros),
    shader(34, S::LeadingSigns),
    shader(35, S::FloatMax),
    shader(36, S::FloatMin),
    shader(37, S::SignedMax),
    shader(38, S::SignedMin),
    shader(39, S::UnsignedMax),
    shader(40, S::UnsignedMin),
    shader(46, S::MultiplyAdd),
    shader(47, S::Fma),
    shader(48, S::IntegerMultiplyAdd(Signed)),
    shader(49, S::IntegerMultiplyAdd(Unsigned)),
    shader(50, S::MaskedSumOfDifferences),
    shader(51, S::ExtractBits(Signed)),
    shader(52, S::ExtractBits(Unsigned)),
    shader(53, S::InsertBits),
    grouped(54, S::Dot, &[2, 2]),
    grouped(55, S::Dot, &[3, 3]),
    grouped(56, S::Dot, &[4, 4]),
    shader(59, S::LoadConstant),
    grouped(60, S::Sample, &[1, 1, 4, 3, 1]),
    grouped(61, S::SampleBias, &[1, 1, 4, 3, 1, 1]),
    grouped(62, S::SampleLevel, &[1, 1, 4, 3, 1]),
    grouped(63, S::SampleGradient, &[1, 1, 4, 3, 3, 3, 1]),
    grouped(64, S::SampleCompare, &[1, 1, 4, 3, 1, 1]),
    grouped(65, S::SampleCompareLevelZero, &[1, 1, 4, 3, 1]),
    shader(70, S::UpdateCounter),
    shader(71, S::IsResident),
    shader(72, S::Dimensions),
    grouped(73, S::Gather, &[1, 1, 4, 2, 1]),
    grouped(74, S::GatherCompare, &[1, 1, 4, 2, 1, 1]),
    shader(75, S::SamplePosition),
    shader(76, S::RenderTargetSamplePosition),
    shader(77, S::RenderTargetSampleCount),
    grouped(79, S::CompareExchangeResource, &[1, 3, 1, 1]),
    shader(80, S::Barrier),
    grouped(81, S::CalculateLevel, &[1, 1, 3, 1]),
    shader(82, S::Discard),
    shader(83, S::DerivativeXCoarse),
    shader(84, S::DerivativeYCoarse),
    shader(85, S::DerivativeXFine),
    shader(86, S::DerivativeYFine),
    grouped(87, S::EvaluateSnapped, &[1, 1, 1, 2]),
    shader(88, S::EvaluateAtSample),
    shader(89, S::EvaluateCentroid),
    shader(90, S::SampleIndex),
    shader(91, S::Coverage),
    shader(92, S::InnerCoverage),
    shader(93, S::DispatchThreadId),
    shader(94, S::GroupId),
    shader(95, S::GroupThreadId),
    shader(96, S::GroupIndex),
    shader(97, S::EmitVertex),
    shader(98, S::CutStrip),
    shader(100, S::GeometryInstanceId),
    shader(101, S::MakeDouble),
    shader(102, S::SplitDouble),
    shader(103, S::LoadOutputControlPoint),
    shader(104, S::LoadPatchConstant),
    shader(105, S::DomainLocation),
    shader(106, S::StorePatchConstant),
    shader(107, S::OutputControlPointId),
    shader(108, S::PrimitiveId),
    shader(110, S::WaveIsFirstLane),
    shader(111, S::WaveLaneIndex),
    shader(112, S::WaveLaneCount),
    shader(113, S::WaveAnyTrue),
    shader(114, S::WaveAllTrue),
    shader(116, S::WaveBallot),
    shader(117, S::WaveReadLaneAt),
    shader(118, S::WaveReadLaneFirst),
    shader(122, S::QuadReadLaneAt),
    bits(124), bits(125), bits(126), bits(127), bits(128), bits(129),
    shader(130, S::FloatToHalf),
    shader(131, S::HalfToFloat),
    op(132, Op::FloatConvert),
    shader(133, S::FloatToSigned),
    shader(134, S::FloatToUnsigned),
    shader(135, S::WaveCountBits),
    shader(136, S::WavePrefixCountBits),
    shader(137, S::AttributeAtVertex),
    shader(138, S::ViewId),
    shader(141, S::InstanceId),
    shader(142, S::InstanceIndex),
    shader(143, S::HitKind),
    shader(144, S::RayFlags),
    shader(145, S::DispatchRaysIndex),
    shader(146, S::DispatchRaysDimensions),
    shader(147, S::WorldRayOrigin),
    shader(148, S::WorldRayDirection),
    shader(149, S::ObjectRayOrigin),
    shader(150, S::ObjectRayDirection),
    shader(151, S::ObjectToWorld),
    shader(152, S::WorldToObject),
    shader(153, S::RayTMin),
    shader(154, S::RayTCurrent),
    shader(155, S::IgnoreHit),
    shader(156, S::AcceptHitAndEndSearch),
    grouped(157, S::TraceRay, &[1, 1, 1, 1, 1, 1, 3, 1, 3, 1, 1]),
    shader(158, S::ReportHit),
    shader(159, S::CallShader),
    shader(161, S::PrimitiveIndex),
    grouped(162, S::Dot2Add, &[1, 2, 2]),
    shader(163, S::Dot4Add(Signed)),
    shader(164, S::Dot4Add(Unsigned)),
    grouped(167, S::WaveMultiPrefixCountBits, &[1, 4]),
    shader(168, S::SetMeshOutputCounts),
    grouped(169, S::EmitIndices, &[1, 3]),
    shader(170, S::MeshPayload),
    shader(171, S::StoreVertexOutput),
    shader(172, S::StorePrimitiveOutput),
    shader(173, S::DispatchMesh),
    grouped(174, S::WriteFeedback, &[1, 1, 1, 4, 1]),
    grouped(175, S::WriteFeedbackBias, &[1, 1, 1, 4, 1, 1]),
    grouped(176, S::WriteFeedbackLevel, &[1, 1, 1, 4, 1]),
    grouped(177, S::WriteFeedbackGradient, &[1, 1, 1, 4, 3, 3, 1]),
    grouped(179, S::TraceRayInline, &[1, 1, 1, 1, 3, 1, 3, 1]),
    shader(180, S::RayQueryProceed),
    shader(181, S::RayQueryAbort),
    shader(182, S::CommitTriangle),
    shader(183, S::CommitProcedural),
    shader(213, S::GeometryIndex),
    shader(221, S::IsHelperLane),
    grouped(223, S::GatherRaw, &[1, 1, 4, 2]),
    grouped(224, S::SampleCompareLevel, &[1, 1, 4, 3, 1, 1]),
    shader(238, S::AllocateRecords),
    shader(240, S::SendEmptyRecords),
    shader(241, S::CompleteRecords),
    shader(242, S::RecordCount),
    shader(243, S::FinishSharing),
    shader(244, S::BarrierByMemoryType),
    shader(245, S::BarrierByHandle),
    shader(246, S::BarrierByRecord),
    shader(252, S::HasTarget),
    shader(253, S::RemainingRecursion),
    grouped(254, S::SampleCompareGradient, &[1, 1, 4, 3, 1, 3, 3, 1]),
    grouped(255, S::SampleCompareBias, &[1, 1, 4, 3, 1, 1, 1]),
    shader(256, S::StartVertex),
    shader(257, S::StartInstance),
    grouped(262, S::TraceHit, &[1, 1, 1, 1, 1, 1, 3, 1, 3, 1, 1]),
    shader(263, S::QueryHit),
    shader(264, S::QueryHitWithAttributes),
    grouped(265, S::MissHit, &[1, 1, 3, 1, 3, 1]),
    shader(266, S::EmptyHit),
    shader(267, S::InvokeHit),
    shader(268, S::ReorderThreads),
    shader(287, S::SetShaderTableIndex),
    shader(288, S::HitRootConstant),
    shader(289, S::HitAttributes),
    shader(311, S::Dot),
];

/// Experimental operations, by their number above 0x8000_0000.
#[rustfmt::skip]
static EXPERIMENTAL: &[OperationRow] = &[
    shader(1, S::GroupWaveIndex),
    shader(2, S::GroupWaveCount),
    shader(3, S::ClusterId),
    shader(7, S::TrianglePosition),
    shader(33, S::DebugBreak),
    shader(34, S::IsDebugging),
];

/// Returns a reduction over a wave by its number: of `WaveActiveOp` and `WavePrefixOp`.
pub(super) fn wave_op(number: u64) -> Option<WaveOp> {
    [WaveOp::Sum, WaveOp::Product, WaveOp::Min, WaveOp::Max].get(usize::try_from(number).ok()?).copied()
}

/// Returns a bitwise reduction over a wave by its number.
pub(super) fn wave_bit_op(number: u64) -> Option<WaveOp> {
    [WaveOp::And, WaveOp::Or, WaveOp::Xor].get(usize::try_from(number).ok()?).copied()
}

/// Returns a reduction of `WaveMultiPrefixOp` by its number.
pub(super) fn multi_prefix_op(number: u64) -> Option<WaveOp> {
    let all = [WaveOp::Sum, WaveOp::And, WaveOp::Or, WaveOp::Xor, WaveOp::Product];
    all.get(usize::try_from(number).ok()?).copied()
}

/// Returns what an operation takes numbers for: floats, or integers with the sign that a number says.
pub(super) fn number_kind(is_float: bool, number: u64) -> NumberKind {
    match number {
        _ if is_float => NumberKind::Float,
        0 => NumberKind::Signed,
        _ => NumberKind::Unsigned,
    }
}

/// Returns a direction in a quad by its number.
pub(super) fn quad_direction(number: u64) -> Option<QuadDirection> {
    [QuadDirection::X, QuadDirection::Y, QuadDirection::Diagonal].get(usize::try_from(number).ok()?).copied()
}

/// What a number of a ray query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryNumber {
    /// An unsigned integer.
    Integer,
    /// A truth.
    Bool,
    /// A floating-point number.
    Float,
}

/// Returns what the operation of a code reads from a ray query; the code says which number.
pub(super) fn query_number(code: u32) -> Option<QueryNumber> {
    Some(match code {
        184 | 185 | 195 | 201..=204 | 207..=210 | 214 | 215 => QueryNumber::Integer,
        190..=192 => QueryNumber::Bool,
        186..=189 | 193 | 194 | 196..=200 | 205 | 206 | 211 | 212 => QueryNumber::Float,
        0x8000_0004 | 0x8000_0005 => QueryNumber::Integer,
        _ => return None,
    })
}

/// Returns what the operation of a code reads from a hit object; the code says which number.
pub(super) fn hit_number(code: u32) -> Option<QueryNumber> {
    Some(match code {
        269..=271 => QueryNumber::Bool,
        272 | 281..=286 | 0x8000_0006 => QueryNumber::Integer,
        273..=280 => QueryNumber::Float,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_fill_all_inputs() {
        assert!(ROWS.is_sorted_by(|a, b| a.code < b.code));
        assert!(EXPERIMENTAL.is_sorted_by(|a, b| a.code < b.code));
        for row in ROWS {
            let Meaning::Shader(op) = row.meaning else { continue };
            let operands = dxil_operations::CORE[row.code as usize].operands() - 1;
            let given = if row.groups.is_empty() { operands } else { row.groups.len() };
            let in_groups: usize = row.groups.iter().map(|size| usize::from(*size)).sum();
            assert!(
                row.groups.is_empty() || in_groups == operands,
                "{op}: {in_groups} of {operands} operands"
            );
            assert_eq!(given, op.input_count(), "{op}");
        }
    }
}
