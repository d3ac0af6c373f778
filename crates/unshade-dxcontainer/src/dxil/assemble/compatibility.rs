//! What a function needs: the lowest shader model, and the stages that may call it.
//!
//! Each operation needs a shader model and may be used in some stages; a table holds those that do not go with all
//! stages of shader model 6.0. Operations that a driver can translate for an older model count with that model. From
//! validator version 1.8 on, a function also needs what the functions that it calls need, and an entry point needs the
//! shader model of its stage and of its flags.
//!
//! Source: DXC's `DxilOperations.cpp` and `DxilModule.cpp`; the RDAT of real libraries.

use super::super::{DxilModule, EntryPoint, ValidatorVersion};
use super::function::{FunctionUse, barrier_requires_group, entry_kind, flag, read};
use super::operation::{Operations, op};
use crate::program::ShaderKind;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::Instruction;
use unshade_llvm::module::Module;
use unshade_llvm::types::Type;

/// Bits of stages, numbered as [`ShaderKind`].
mod stage {
    pub(super) const PS: u32 = 1;
    pub(super) const VS: u32 = 1 << 1;
    pub(super) const GS: u32 = 1 << 2;
    pub(super) const HS: u32 = 1 << 3;
    pub(super) const DS: u32 = 1 << 4;
    pub(super) const CS: u32 = 1 << 5;
    pub(super) const LIB: u32 = 1 << 6;
    pub(super) const RAY_GENERATION: u32 = 1 << 7;
    pub(super) const INTERSECTION: u32 = 1 << 8;
    pub(super) const ANY_HIT: u32 = 1 << 9;
    pub(super) const CLOSEST_HIT: u32 = 1 << 10;
    pub(super) const MISS: u32 = 1 << 11;
    pub(super) const CALLABLE: u32 = 1 << 12;
    pub(super) const MS: u32 = 1 << 13;
    pub(super) const AS: u32 = 1 << 14;
    pub(super) const NODE: u32 = 1 << 15;
    pub(super) const ALL: u32 = (1 << 16) - 1;
    /// Stages with thread groups.
    pub(super) const GROUPS: u32 = CS | MS | AS | NODE;
    /// Stages that know of a hit.
    pub(super) const HITS: u32 = LIB | INTERSECTION | ANY_HIT | CLOSEST_HIT;
    /// Stages that may trace rays.
    pub(super) const TRACERS: u32 = LIB | RAY_GENERATION | CLOSEST_HIT | MISS;
    /// Stages in which threads run in quads.
    pub(super) const QUADS: u32 = LIB | PS | CS | AS | MS | NODE;
}

use stage::{
    ALL, ANY_HIT, AS, CALLABLE, CLOSEST_HIT, CS, DS, GROUPS, GS, HITS, HS, INTERSECTION, LIB, MISS, MS, NODE,
    PS, QUADS, RAY_GENERATION, TRACERS, VS,
};

/// Operations, by first and last number: the minor shader model, the minor model that they can be translated to, and
/// the stages.
const OPERATIONS: &[(u32, u32, u32, u32, u32)] = &[
    (60, 61, 0, 0, QUADS),
    (64, 64, 0, 0, QUADS),
    (76, 77, 0, 0, PS),
    (81, 81, 0, 0, QUADS),
    (82, 82, 0, 0, PS),
    (83, 86, 0, 0, QUADS),
    (87, 92, 0, 0, PS),
    (93, 96, 0, 0, GROUPS),
    (97, 100, 0, 0, GS),
    (103, 104, 0, 0, DS | HS),
    (105, 105, 0, 0, DS),
    (106, 107, 0, 0, HS),
    (108, 108, 0, 0, GS | DS | HS),
    (122, 123, 0, 0, QUADS),
    (137, 137, 1, 1, PS),
    (138, 138, 1, 1, VS | HS | DS | GS | PS | MS),
    (139, 140, 2, 0, ALL),
    (141, 143, 3, 3, HITS),
    (144, 144, 3, 3, HITS | MISS),
    (145, 146, 3, 3, HITS | RAY_GENERATION | MISS | CALLABLE),
    (147, 148, 3, 3, HITS | MISS),
    (149, 152, 3, 3, HITS),
    (153, 154, 3, 3, HITS | MISS),
    (155, 156, 3, 3, ANY_HIT),
    (157, 157, 3, 3, TRACERS),
    (158, 158, 3, 3, LIB | INTERSECTION),
    (159, 159, 3, 3, TRACERS | CALLABLE),
    (160, 160, 3, 0, ALL),
    (161, 161, 3, 3, HITS),
    (162, 164, 4, 4, ALL),
    (165, 167, 5, 5, ALL),
    (168, 172, 5, 5, MS),
    (173, 173, 5, 5, AS),
    (174, 175, 5, 5, LIB | PS),
    (176, 212, 5, 5, ALL),
    (213, 213, 5, 5, HITS),
    (214, 215, 5, 5, ALL),
    (216, 217, 6, 0, ALL),
    (218, 221, 6, 6, ALL),
    (222, 222, 7, 0, QUADS),
    (223, 225, 7, 7, ALL),
    (238, 243, 8, 8, NODE),
    (244, 244, 8, 0, ALL),
    (245, 245, 8, 8, ALL),
    (246, 253, 8, 8, NODE),
    (254, 254, 8, 8, ALL),
    (255, 255, 8, 8, QUADS),
    (256, 257, 8, 8, VS),
    (258, 258, 9, 9, ALL),
    (262, 267, 9, 9, TRACERS),
    (268, 268, 9, 9, LIB | RAY_GENERATION),
    (269, 289, 9, 9, TRACERS),
    (303, 304, 9, 9, ALL),
    (0x8000_0000, 0x8000_0000, 10, 10, ALL),
    (0x8000_0001, 0x8000_0002, 10, 10, GROUPS),
    (0x8000_0003, 0x8000_0003, 10, 10, LIB | ANY_HIT | CLOSEST_HIT),
    (0x8000_0004, 0x8000_0005, 10, 10, ALL),
    (0x8000_0006, 0x8000_0006, 10, 10, TRACERS),
    (0x8000_0007, 0x8000_0007, 10, 10, LIB | ANY_HIT | CLOSEST_HIT),
    (0x8000_0008, 0x8000_0009, 10, 10, ALL),
    (0x8000_000a, 0x8000_000a, 10, 10, TRACERS),
    (0x8000_000b, 0x8000_000d, 10, 10, CS),
    (0x8000_000e, 0x8000_000e, 10, 10, ALL),
    (0x8000_000f, 0x8000_0015, 10, 10, CS),
    (0x8000_0016, 0x8000_0016, 10, 10, ALL),
    (0x8000_0017, 0x8000_0018, 10, 10, CS),
    (0x8000_0019, 0x8000_001b, 10, 10, ALL),
    (0x8000_001c, 0x8000_001c, 10, 10, CS),
    (0x8000_001d, 0x8000_001f, 10, 10, ALL),
    (0x8000_0021, 0x8000_0022, 10, 10, ALL),
];

/// Operations that take derivatives, which validators before 1.8 allowed in no stage with thread groups but nodes.
const WITH_DERIVATIVES: [u32; 8] = [60, 61, 64, 81, 83, 84, 85, 86];
/// Operations on waves, which validators before 1.5 allowed in every stage that they knew.
const WAVE: [(u32, u32); 4] = [(110, 123), (135, 136), (165, 167), (222, 222)];
const ATOMICS: [u32; 2] = [78, 79];

/// The barrier arguments that concern nodes, and a reordering of rays.
const NODE_MEMORY: u32 = 12;
const ALL_MEMORY: u32 = 15;
const LEGACY_SEMANTICS: u32 = 7;
const REORDER_SCOPE: u32 = 8;

/// The lowest shader model for each flag, by minor version. Only the first of these groups that has a flag counts.
const FLAG_MODELS: &[(u32, &[u32])] = &[
    (8, &[flag::SAMPLE_CMP_GRADIENT_OR_BIAS, flag::EXTENDED_COMMAND_INFO]),
    (7, &[flag::ADVANCED_TEXTURE_OPS, flag::WRITEABLE_MSAA]),
    (
        6,
        &[
            flag::ATOMIC64_TYPED,
            flag::ATOMIC64_GROUP_SHARED,
            flag::ATOMIC64_HEAP,
            flag::RESOURCE_HEAP,
            flag::SAMPLER_HEAP,
        ],
    ),
    (5, &[flag::RAYTRACING_1_1, flag::SAMPLER_FEEDBACK]),
    (4, &[flag::SHADING_RATE]),
];

/// What a function uses and needs.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    pub(super) used: FunctionUse,
    /// The lowest minor shader model.
    pub(super) minor: u32,
    /// The stages that may call it, a bit for each [`ShaderKind`].
    pub(super) stages: u32,
}

impl Needs {
    /// Takes over what a called function needs; returns whether anything changed.
    fn merge(&mut self, other: &(u32, u32, u64)) -> bool {
        let before = (self.minor, self.stages, self.used.flags);
        self.minor = self.minor.max(other.0);
        self.stages &= other.1;
        self.used.flags |= other.2;
        before != (self.minor, self.stages, self.used.flags)
    }

    /// Whether a flag is set.
    pub(super) fn has(&self, bit: u32) -> bool {
        self.used.flags >> bit & 1 == 1
    }
}

/// Returns what each function of a module needs; none for declarations.
///
/// # Errors
/// Fails if a body cannot be read.
pub(super) fn of_module(
    module: &Module<'_>,
    dxil: &DxilModule,
    validator: ValidatorVersion,
    raytracing_1_1: bool,
) -> Result<Vec<Option<Needs>>> {
    let mut all = Vec::with_capacity(module.functions.len());
    for (index, function) in module.functions.iter().enumerate() {
        let needs = match function.declaration {
            true => None,
            false => Some(of_function(module, dxil, validator, index)?),
        };
        all.push(needs);
    }
    // Before version 1.8, subobjects of DXR 1.1 counted for every function.
    if raytracing_1_1 && validator.at_least(1, 5) && !validator.at_least(1, 8) {
        all.iter_mut().flatten().for_each(|needs| needs.used.flags |= 1 << flag::RAYTRACING_1_1);
    }
    if validator.at_least(1, 8) {
        propagate(&mut all);
    }
    for (index, needs) in all.iter_mut().enumerate() {
        if let Some(needs) = needs {
            let entry = dxil.entries.iter().find(|entry| entry.function == Some(index));
            adjust(needs, entry, entry.and_then(|entry| entry_kind(dxil, entry)), validator);
        }
    }
    Ok(all)
}

fn of_function(
    module: &Module<'_>,
    dxil: &DxilModule,
    validator: ValidatorVersion,
    index: usize,
) -> Result<Needs> {
    let (mut minor, mut stages) = (0, ALL);
    let library = dxil.is_library();
    let used = read(module, dxil, validator, index, |operations, call| {
        let (model, mask) = of_operation(operations, call, library, validator);
        minor = minor.max(model);
        stages &= mask;
    })?;
    Ok(Needs { used, minor, stages })
}

/// Returns the minor shader model and the stages of an operation.
fn of_operation(
    operations: &Operations<'_>,
    call: &Instruction,
    library: bool,
    validator: ValidatorVersion,
) -> (u32, u32) {
    let Some(opcode) = operations.opcode(call) else { return (0, ALL) };
    let row = OPERATIONS.iter().find(|(first, last, ..)| (*first..=*last).contains(&opcode));
    let (mut minor, stages) = row.map_or((0, ALL), |(_, _, minor, translated, stages)| {
        (if library { *translated } else { *minor }, *stages)
    });
    if !validator.at_least(1, 8) && WITH_DERIVATIVES.contains(&opcode) {
        return (minor, stages & !(CS | AS | MS));
    }
    if !validator.at_least(1, 5) {
        let wave = WAVE.iter().any(|(first, last)| (*first..=*last).contains(&opcode));
        return (minor, if wave { MS - 1 } else { stages });
    }
    match opcode {
        op::BARRIER | op::BARRIER_BY_MEMORY_TYPE..=op::BARRIER_BY_NODE_RECORD => {
            return of_barrier(operations, call, opcode, (minor, stages), library);
        }
        _ if ATOMICS.contains(&opcode) => {
            let value = operations.last_argument(call).and_then(|value| operations.type_of(value));
            if value == Some(Type::Integer(64)) {
                minor = 6;
            }
        }
        op::ANNOTATE_HANDLE | op::CREATE_HANDLE_FROM_BINDING if library && validator.0 == [1, 6] => minor = 6,
        _ => {}
    }
    (minor, stages)
}

fn of_barrier(
    operations: &Operations<'_>,
    call: &Instruction,
    opcode: u32,
    (mut minor, stages): (u32, u32),
    library: bool,
) -> (u32, u32) {
    let memory = operations.number(call, 1).unwrap_or_default();
    let semantics = operations.number(call, 2).unwrap_or_default();
    let concerns_nodes = memory != ALL_MEMORY && memory & NODE_MEMORY != 0;
    if opcode == op::BARRIER_BY_MEMORY_TYPE
        && library
        && (semantics & !LEGACY_SEMANTICS != 0 || memory != ALL_MEMORY && memory & !3 != 0)
    {
        minor = 8;
    }
    let by_type_or_handle = matches!(opcode, op::BARRIER_BY_MEMORY_TYPE | op::BARRIER_BY_MEMORY_HANDLE);
    if by_type_or_handle && semantics & REORDER_SCOPE != 0 {
        return (9, stages & (LIB | RAY_GENERATION));
    }
    if opcode == op::BARRIER_BY_NODE_RECORD || opcode == op::BARRIER_BY_MEMORY_TYPE && concerns_nodes {
        return (minor, stages & (LIB | NODE));
    }
    if barrier_requires_group(operations, call, opcode) {
        return (minor, stages & (LIB | GROUPS));
    }
    (minor, stages)
}

/// Passes what functions need on to their callers, until nothing changes.
fn propagate(all: &mut [Option<Needs>]) {
    let mut callers: Vec<Vec<usize>> = alloc::vec![Vec::new(); all.len()];
    for (caller, needs) in all.iter().enumerate() {
        for callee in needs.iter().flat_map(|needs| &needs.used.calls) {
            if let Some(callers) = callers.get_mut(*callee as usize) {
                callers.push(caller);
            }
        }
    }
    let mut work: Vec<usize> = (0..all.len()).collect();
    while let Some(callee) = work.pop() {
        let Some(Some(needs)) = all.get(callee) else { continue };
        let passed = (needs.minor, needs.stages, needs.used.flags);
        for caller in callers.get(callee).into_iter().flatten() {
            let changed = all.get_mut(*caller).and_then(Option::as_mut).is_some_and(|it| it.merge(&passed));
            if changed {
                work.push(*caller);
            }
        }
    }
}

/// Applies what follows from the stage of an entry point, and from all flags.
fn adjust(
    needs: &mut Needs,
    entry: Option<&EntryPoint>,
    kind: Option<ShaderKind>,
    validator: ValidatorVersion,
) {
    let known = match () {
        () if !validator.at_least(1, 5) => MS - 1,
        () if !validator.at_least(1, 8) => NODE - 1,
        () => ALL,
    };
    needs.stages &= match kind {
        Some(kind) if kind != ShaderKind::LIBRARY => 1u32.checked_shl(kind.0.into()).unwrap_or(0),
        _ => known,
    };
    let low_precision = needs.has(flag::NATIVE_LOW_PRECISION) && needs.has(flag::LOW_PRECISION);
    let view_id = needs.has(flag::VIEW_ID) || needs.has(flag::BARYCENTRICS);
    let mut least = |minor: u32| needs.minor = needs.minor.max(minor);
    let by_old_flags = if low_precision { 2 } else { u32::from(view_id) };
    if !validator.at_least(1, 8) {
        return least(by_old_flags);
    }
    if let (Some(entry), Some(kind)) = (entry, kind) {
        adjust_entry(needs, entry, kind);
    }
    let by_flags = FLAG_MODELS.iter().find(|(_, bits)| bits.iter().any(|bit| needs.has(*bit)));
    let minor = by_flags.map_or(by_old_flags, |(minor, _)| *minor);
    needs.minor = needs.minor.max(minor);
}

fn adjust_entry(needs: &mut Needs, entry: &EntryPoint, kind: ShaderKind) {
    let mesh = matches!(kind, ShaderKind::MESH | ShaderKind::AMPLIFICATION);
    let mut minor = 0;
    if needs.has(flag::DERIVATIVES) && (mesh || kind == ShaderKind::COMPUTE) {
        minor = 6;
        needs.used.flags |= u64::from(mesh) << flag::DERIVATIVES_IN_MESH;
    }
    if let Some([_, max, _]) = entry.properties.wave_lanes {
        minor = minor.max(if max > 0 { 8 } else { 6 });
    }
    let of_stage = match kind {
        ShaderKind::MESH | ShaderKind::AMPLIFICATION => 5,
        ShaderKind::NODE => 8,
        kind if (ShaderKind::RAY_GENERATION.0..=ShaderKind::CALLABLE.0).contains(&kind.0) => 3,
        _ => 0,
    };
    needs.minor = needs.minor.max(minor).max(of_stage);
}
