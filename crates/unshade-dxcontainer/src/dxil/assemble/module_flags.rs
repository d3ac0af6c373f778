//! The flags of a module, computed from its bodies, signatures and resources.
//!
//! A compiler stores them as a property of the entry point, from where they come to SFI0. Validators compute them anew
//! and refuse a module whose flags differ. Some flags are choices of the compiler; they are kept.
//!
//! Source: DXC's `DxilModule.cpp`; the flags of real modules.

use super::super::{DxilModule, Resource, ResourceClass, ValidatorVersion};
use super::compatibility::Needs;
use super::function::flag;
use crate::program::ShaderKind;
use crate::psv0::ResourceKind;

/// Choices: optimizations and refactoring disabled, early depth and stencil, all resources bound, comparison filtering
/// of level 9, resources that may not alias.
const CHOICES: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 8 | 1 << 14 | 1 << 33;

/// Flags that describe a function only.
const OF_FUNCTIONS: u64 = 1 << flag::DERIVATIVES | 1 << flag::REQUIRES_GROUP;

const RAW_AND_STRUCTURED: u32 = 4;
const MANY_UAVS: u32 = 15;
const UAVS_AT_EVERY_STAGE: u32 = 16;
const RASTERIZER_ORDERED: u32 = 18;

/// Number of UAVs that every device has.
const FEW_UAVS: u32 = 8;

/// Computes the flags from what the functions need.
pub(super) fn compute(
    dxil: &DxilModule,
    kind: ShaderKind,
    validator: ValidatorVersion,
    needs: &[Option<Needs>],
) -> u64 {
    let mut flags = needs.iter().flatten().fold(dxil.flags() & CHOICES, |all, needs| all | needs.used.flags);
    if !dxil.has_min_precision() {
        flags |= 1 << flag::NATIVE_LOW_PRECISION;
    }
    let mut set = |bit: u32, condition: bool| flags |= u64::from(condition) << bit;
    let structured = |resource: &Resource| {
        matches!(resource.kind, ResourceKind::RAW_BUFFER | ResourceKind::STRUCTURED_BUFFER)
    };
    let uavs = || dxil.resources_of(ResourceClass::UAV);
    set(RAW_AND_STRUCTURED, uavs().chain(dxil.resources_of(ResourceClass::SRV)).any(structured));
    set(RASTERIZER_ORDERED, uavs().any(|uav| uav.access.rasterizer_ordered));
    let ranges = uavs().map(|uav| uav.count.unwrap_or(u32::MAX).min(FEW_UAVS.saturating_add(1)));
    let count = ranges.fold(0, u32::saturating_add);
    // Before validator version 1.6, arrays counted as one.
    let counted = if validator.at_least(1, 6) { count } else { crate::bytes::len32(uavs().count()) };
    set(MANY_UAVS, counted > FEW_UAVS);
    let every_stage = match validator.at_least(1, 8) {
        true => {
            matches!(kind, ShaderKind::VERTEX | ShaderKind::HULL | ShaderKind::DOMAIN | ShaderKind::GEOMETRY)
        }
        false => !matches!(kind, ShaderKind::COMPUTE | ShaderKind::PIXEL),
    };
    set(UAVS_AT_EVERY_STAGE, count > 0 && every_stage);
    let mesh = matches!(kind, ShaderKind::MESH | ShaderKind::AMPLIFICATION);
    let derivatives = flags >> flag::DERIVATIVES & 1 == 1;
    flags |= u64::from(mesh && derivatives) << flag::DERIVATIVES_IN_MESH;
    flags & !OF_FUNCTIONS
}
