//! What the body of a function uses: flags as in the properties of an entry point, and the functions and globals that
//! it refers to.
//!
//! Flags are those of the function alone. What they mean for an entry point also depends on its stage and on the
//! functions that it calls: see [`compatibility`](super::compatibility). Some flags changed their meaning with the
//! version of the validator.
//!
//! Source: DXC's `DxilShaderFlags.cpp`; the RDAT of real libraries.

use super::super::{DxilModule, EntryPoint, ResourceClass, ShaderModel, ValidatorVersion};
use super::form::is_by_package_1_9;
use super::operation::{Operations, is_operation, op};
use crate::program::ShaderKind;
use crate::psv0::{ResourceKind, SemanticKind};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::body::FunctionBody;
use unshade_llvm::module::Module;
use unshade_llvm::types::Type;
use unshade_llvm::uses::Callee;
use unshade_llvm::value::{Operand, ValueKind};
use unshade_llvm::{Instruction, Opcode, ValueId};

/// Bit numbers of flags.
pub(super) mod flag {
    pub(in super::super) const DOUBLES: u32 = 2;
    pub(in super::super) const LOW_PRECISION: u32 = 5;
    pub(in super::super) const DOUBLE_EXTENSIONS: u32 = 6;
    pub(in super::super) const MSAD: u32 = 7;
    pub(in super::super) const VIEWPORT_OR_TARGET_INDEX: u32 = 9;
    pub(in super::super) const INNER_COVERAGE: u32 = 10;
    pub(in super::super) const STENCIL_REF: u32 = 11;
    pub(in super::super) const TILED_RESOURCES: u32 = 12;
    pub(in super::super) const TYPED_UAV_LOAD: u32 = 13;
    pub(in super::super) const WAVE_OPS: u32 = 19;
    pub(in super::super) const INT64: u32 = 20;
    pub(in super::super) const VIEW_ID: u32 = 21;
    pub(in super::super) const BARYCENTRICS: u32 = 22;
    pub(in super::super) const NATIVE_LOW_PRECISION: u32 = 23;
    pub(in super::super) const SHADING_RATE: u32 = 24;
    pub(in super::super) const RAYTRACING_1_1: u32 = 25;
    pub(in super::super) const SAMPLER_FEEDBACK: u32 = 26;
    pub(in super::super) const ATOMIC64_TYPED: u32 = 27;
    pub(in super::super) const ATOMIC64_GROUP_SHARED: u32 = 28;
    pub(in super::super) const DERIVATIVES_IN_MESH: u32 = 29;
    pub(in super::super) const RESOURCE_HEAP: u32 = 30;
    pub(in super::super) const SAMPLER_HEAP: u32 = 31;
    pub(in super::super) const ATOMIC64_HEAP: u32 = 32;
    pub(in super::super) const ADVANCED_TEXTURE_OPS: u32 = 34;
    pub(in super::super) const WRITEABLE_MSAA: u32 = 35;
    pub(in super::super) const SAMPLE_CMP_GRADIENT_OR_BIAS: u32 = 37;
    pub(in super::super) const EXTENDED_COMMAND_INFO: u32 = 38;
    pub(in super::super) const DERIVATIVES: u32 = 39;
    pub(in super::super) const REQUIRES_GROUP: u32 = 40;
}

/// Flags that an operation sets by itself.
const BY_OPERATION: &[(u32, u32, u32)] = &[
    (50, 50, flag::MSAD),
    (60, 61, flag::DERIVATIVES),
    (64, 64, flag::DERIVATIVES),
    (71, 71, flag::TILED_RESOURCES),
    (81, 81, flag::DERIVATIVES),
    (83, 86, flag::DERIVATIVES),
    (92, 92, flag::INNER_COVERAGE),
    (110, 123, flag::WAVE_OPS),
    (135, 136, flag::WAVE_OPS),
    (137, 137, flag::BARYCENTRICS),
    (138, 138, flag::VIEW_ID),
    (165, 167, flag::WAVE_OPS),
    (174, 177, flag::SAMPLER_FEEDBACK),
    (178, 178, flag::RAYTRACING_1_1),
    (213, 213, flag::RAYTRACING_1_1),
    (222, 222, flag::WAVE_OPS),
    (223, 225, flag::ADVANCED_TEXTURE_OPS),
    (225, 225, flag::WRITEABLE_MSAA),
    (255, 255, flag::DERIVATIVES),
    (256, 257, flag::EXTENDED_COMMAND_INFO),
    (258, 258, flag::RAYTRACING_1_1),
    (0x8000_000b, 0x8000_001f, super::super::flags::LINEAR_ALGEBRA),
    (0x8000_0001, 0x8000_0002, flag::WAVE_OPS),
    (0x8000_0001, 0x8000_0002, flag::REQUIRES_GROUP),
];

/// Operations that sample with offsets; the first offset is argument 7.
const SAMPLES: [u32; 8] = [60, 61, 62, 63, 64, 65, 254, 255];
/// Those of them whose last argument clamps the level of detail.
const WITH_CLAMP: [u32; 6] = [60, 61, 63, 64, 254, 255];
/// The first offset of a sample, and of a load of a texture.
const SAMPLE_OFFSET: usize = 7;
const LOAD_OFFSET: usize = 6;

const FMA: u32 = 47;
const TEXTURE_LOAD: u32 = 66;
const BUFFER_LOAD: u32 = 68;
const ATOMICS: [u32; 2] = [78, 79];
const CREATE_HANDLE_FROM_HEAP: u32 = 218;
const SAMPLE_CMP_GRAD: u32 = 254;
const SAMPLE_CMP_BIAS: u32 = 255;

/// The barrier mode that orders writes to UAVs for all threads, and needs no group.
const GLOBAL_UAV_FENCE: u32 = 2;
/// Group shared memory in the first argument of newer barriers, and group synchronization or scope in the second.
const GROUP_MEMORY: u32 = 2;
const GROUP_SEMANTICS: u32 = 3;
/// All kinds of memory; a barrier on all of them leaves out those that its stage lacks.
const ALL_MEMORY: u32 = 15;

/// Maximum number of constants that are followed to find the globals in them.
const MAX_CONSTANTS: usize = 1 << 12;

/// What a function uses.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionUse {
    /// Flags by number.
    pub(super) flags: u64,
    /// Functions that it refers to, by index.
    pub(super) functions: BTreeSet<u32>,
    /// Globals that it refers to, by index.
    pub(super) globals: BTreeSet<u32>,
    /// Functions that it calls.
    pub(super) calls: BTreeSet<u32>,
}

/// Reads the body of a function.
///
/// # Errors
/// Fails if the body cannot be read.
pub(super) fn read(
    module: &Module<'_>,
    dxil: &DxilModule,
    validator: ValidatorVersion,
    index: usize,
    mut visit: impl FnMut(&Operations<'_>, &Instruction),
) -> Result<FunctionUse> {
    let body = module.body(index)?;
    let operations = Operations { module, dxil, body: &body };
    let mut reader =
        Reader { operations, validator, found: FunctionUse::default(), types: InstructionTypes::default() };
    if !dxil.has_min_precision() {
        reader.set(flag::NATIVE_LOW_PRECISION);
    }
    if !validator.at_least(1, 8) && module_has_writeable_msaa(dxil) {
        reader.set(flag::WRITEABLE_MSAA);
    }
    for instruction in &body.instructions {
        reader.references(instruction);
        match Callee::of(module, &body, instruction) {
            None => reader.instruction(instruction),
            Some(Callee::Function(callee)) => {
                reader.found.calls.insert(callee);
                let function = module.functions.get(callee as usize);
                if function.is_some_and(|function| is_operation(&function.symbol.name)) {
                    reader.instruction(instruction);
                    reader.operation(instruction);
                    visit(&reader.operations, instruction);
                }
            }
            Some(_) => {}
        }
    }
    let mut found = reader.found;
    found.flags |= entry_flags(dxil, index, validator, &found);
    found.flags &= !unknown_to(validator, dxil);
    Ok(found)
}

/// Whether the module has a multisampled texture that may be written: what counted before validator version 1.8.
fn module_has_writeable_msaa(dxil: &DxilModule) -> bool {
    let kinds = [ResourceKind::TEXTURE2DMS, ResourceKind::TEXTURE2DMS_ARRAY];
    dxil.resources_of(ResourceClass::UAV).any(|resource| kinds.contains(&resource.kind))
}

/// Returns the mask of flags that validators of this version do not know, or do not expect.
fn unknown_to(validator: ValidatorVersion, dxil: &DxilModule) -> u64 {
    let kind = dxil.model.as_ref().and_then(ShaderModel::kind);
    let mut mask = 0;
    let mut without = |bit: u32| mask |= 1u64 << bit;
    if !validator.at_least(1, 6) {
        without(flag::BARYCENTRICS);
    }
    if !validator.at_least(1, 8) {
        without(flag::DERIVATIVES);
        without(flag::REQUIRES_GROUP);
        if !matches!(kind, Some(ShaderKind::MESH | ShaderKind::AMPLIFICATION)) {
            without(flag::DERIVATIVES_IN_MESH);
        }
    }
    if !validator.at_least(1, 9) || is_by_package_1_9(dxil) {
        without(flag::SAMPLER_FEEDBACK);
    }
    mask
}

/// Returns the flags that follow from the signatures of an entry point.
fn entry_flags(dxil: &DxilModule, index: usize, validator: ValidatorVersion, found: &FunctionUse) -> u64 {
    let Some(entry) = dxil.entries.iter().find(|entry| entry.function == Some(index)) else { return 0 };
    let kind = entry_kind(dxil, entry);
    let [inputs, outputs, _] = &entry.signatures;
    let is = |kinds: &[ShaderKind]| kind.is_some_and(|kind| kinds.contains(&kind));
    let tessellation = is(&[ShaderKind::DOMAIN, ShaderKind::HULL]);
    let checks_inputs = is(&[ShaderKind::GEOMETRY]) || validator.at_least(1, 4) && tessellation;
    let checks_outputs = is(&[ShaderKind::VERTEX]) || tessellation;
    let mut flags = 0u64;
    let mut set = |bit: u32, condition: bool| flags |= u64::from(condition) << bit;
    for element in inputs {
        match element.kind {
            SemanticKind::VIEWPORT_ARRAY_INDEX | SemanticKind::RENDER_TARGET_ARRAY_INDEX => {
                set(flag::VIEWPORT_OR_TARGET_INDEX, checks_inputs);
            }
            SemanticKind::SHADING_RATE => set(flag::SHADING_RATE, true),
            SemanticKind::BARYCENTRICS => set(flag::BARYCENTRICS, true),
            _ => {}
        }
    }
    for element in outputs {
        match element.kind {
            SemanticKind::VIEWPORT_ARRAY_INDEX | SemanticKind::RENDER_TARGET_ARRAY_INDEX => {
                set(flag::VIEWPORT_OR_TARGET_INDEX, checks_outputs);
            }
            SemanticKind::STENCIL_REF => set(flag::STENCIL_REF, is(&[ShaderKind::PIXEL])),
            SemanticKind::INNER_COVERAGE => set(flag::INNER_COVERAGE, is(&[ShaderKind::PIXEL])),
            SemanticKind::SHADING_RATE => set(flag::SHADING_RATE, true),
            _ => {}
        }
    }
    let derivatives = found.flags >> flag::DERIVATIVES & 1 == 1;
    set(flag::DERIVATIVES_IN_MESH, derivatives && is(&[ShaderKind::MESH, ShaderKind::AMPLIFICATION]));
    flags
}

/// Returns the stage of an entry point: its own in a library, else the module's.
pub(super) fn entry_kind(dxil: &DxilModule, entry: &EntryPoint) -> Option<ShaderKind> {
    entry.properties.kind.or_else(|| dxil.model.as_ref()?.kind())
}

/// Which types an instruction works with.
#[derive(Clone, Copy, Debug, Default)]
struct InstructionTypes {
    double: bool,
    low_precision: bool,
    int64: bool,
    group_shared: bool,
}

struct Reader<'b> {
    operations: Operations<'b>,
    validator: ValidatorVersion,
    found: FunctionUse,
    /// The types of the current instruction.
    types: InstructionTypes,
}

impl Reader<'_> {
    fn set(&mut self, bit: u32) {
        self.found.flags |= 1 << bit;
    }

    fn set_if(&mut self, bit: u32, condition: bool) {
        self.found.flags |= u64::from(condition) << bit;
    }

    /// Collects the functions and globals that an instruction refers to, also inside of constants.
    fn references(&mut self, instruction: &Instruction) {
        let Operations { module, body, .. } = self.operations;
        let operands = body.operands_of(instruction).iter();
        let mut left: Vec<ValueId> = operands.filter_map(|operand| operand.as_value()).collect();
        let mut budget = MAX_CONSTANTS;
        while let Some(id) = left.pop() {
            match module.value(Some(body), id).map(|value| value.kind) {
                Some(ValueKind::Function(index)) => {
                    self.found.functions.insert(index);
                }
                Some(ValueKind::Global(index)) => {
                    self.found.globals.insert(index);
                }
                Some(ValueKind::Constant(_)) if budget > 0 => {
                    budget = budget.saturating_sub(1);
                    left.extend(parts_of_constant(module, body, id));
                }
                _ => {}
            }
        }
    }

    /// Sets the flags that follow from the types of an instruction.
    fn instruction(&mut self, instruction: &Instruction) {
        let Operations { module, body, .. } = self.operations;
        let mut types = InstructionTypes::default();
        types.add(&module.types.get(instruction.ty));
        self.set_if(flag::REQUIRES_GROUP, types.group_shared);
        self.types = types;
        if matches!(instruction.opcode, Opcode::ExtractElement | Opcode::InsertElement) {
            return;
        }
        let values = body.operands_of(instruction).iter().filter_map(|operand: &Operand| operand.as_value());
        for ty in values.filter_map(|id| self.operations.type_of(id)) {
            types.add(&ty);
        }
        self.types = types;
        self.set_if(flag::REQUIRES_GROUP, types.group_shared);
        self.set_if(flag::DOUBLES, types.double);
        self.set_if(flag::INT64, types.int64);
        self.set_if(flag::LOW_PRECISION, types.low_precision);
        let opcode = instruction.opcode;
        let converts = matches!(
            opcode,
            Opcode::FDiv | Opcode::UiToFp | Opcode::SiToFp | Opcode::FpToUi | Opcode::FpToSi
        );
        self.set_if(flag::DOUBLE_EXTENSIONS, types.double && converts);
        let atomic = matches!(opcode, Opcode::CmpXchg | Opcode::AtomicRmw);
        self.set_if(flag::ATOMIC64_GROUP_SHARED, types.int64 && atomic);
    }

    /// Sets the flags of a DXIL operation.
    fn operation(&mut self, call: &Instruction) {
        let Some(opcode) = self.operations.opcode(call) else { return };
        for (_, _, bit) in BY_OPERATION.iter().filter(|(first, last, _)| (*first..=*last).contains(&opcode)) {
            self.set(*bit);
        }
        if SAMPLES.contains(&opcode) {
            self.sample(call, opcode);
        }
        match opcode {
            TEXTURE_LOAD | BUFFER_LOAD => {
                let varies = opcode == TEXTURE_LOAD && self.has_varying_offset(call, LOAD_OFFSET);
                self.set_if(flag::ADVANCED_TEXTURE_OPS, varies);
                self.load(call);
            }
            FMA => self.set_if(flag::DOUBLE_EXTENSIONS, self.types.double),
            CREATE_HANDLE_FROM_HEAP => {
                let of_samplers = self.operations.number(call, 2).is_some_and(|value| value != 0);
                self.set(if of_samplers { flag::SAMPLER_HEAP } else { flag::RESOURCE_HEAP });
            }
            op::CREATE_HANDLE | op::CREATE_HANDLE_FOR_LIB | op::ANNOTATE_HANDLE => {
                let properties = self.operations.properties(call);
                let counts = self.validator.at_least(1, 8) && properties.is_writeable_multisampled();
                self.set_if(flag::WRITEABLE_MSAA, counts);
            }
            _ if ATOMICS.contains(&opcode) && self.types.int64 => self.atomic64(call),
            _ => self.set_if(flag::REQUIRES_GROUP, barrier_requires_group(&self.operations, call, opcode)),
        }
    }

    fn has_varying_offset(&self, call: &Instruction, first: usize) -> bool {
        let offsets = (first..).take(3).filter_map(|at| self.operations.argument(call, at));
        offsets.into_iter().any(|offset| !self.operations.is_constant(offset))
    }

    fn sample(&mut self, call: &Instruction, opcode: u32) {
        self.set_if(flag::ADVANCED_TEXTURE_OPS, self.has_varying_offset(call, SAMPLE_OFFSET));
        if !WITH_CLAMP.contains(&opcode) {
            return;
        }
        // Validators before 1.8 did not see that a clamp needs tiled resources.
        let clamp =
            self.operations.last_argument(call).is_some_and(|clamp| self.operations.may_be_set(clamp));
        self.set_if(flag::TILED_RESOURCES, clamp && self.validator.at_least(1, 8));
        // The last of these operations in the function decides.
        self.found.flags &= !(1 << flag::SAMPLE_CMP_GRADIENT_OR_BIAS);
        let new = matches!(opcode, SAMPLE_CMP_GRAD | SAMPLE_CMP_BIAS);
        self.set_if(flag::SAMPLE_CMP_GRADIENT_OR_BIAS, new);
    }

    /// A load of several components from a typed UAV; for validator version 1.0, any load from a UAV.
    fn load(&mut self, call: &Instruction) {
        let handle = self.operations.argument(call, 1).and_then(|handle| self.operations.handle_call(handle));
        let Some(properties) = handle.map(|call| self.operations.properties(call)) else { return };
        let several = properties.is_typed() && properties.components > 1;
        let counts = properties.uav && (several || self.validator.0 == [1, 0]);
        self.set_if(flag::TYPED_UAV_LOAD, counts);
    }

    fn atomic64(&mut self, call: &Instruction) {
        let handle = self.operations.argument(call, 1).and_then(|handle| self.operations.handle_call(handle));
        let Some(create) = handle else { return };
        self.set_if(flag::ATOMIC64_TYPED, self.operations.properties(create).is_typed());
        let from_heap = self.operations.bound_uav(create).is_none();
        self.set_if(flag::ATOMIC64_HEAP, from_heap);
    }
}

impl InstructionTypes {
    fn add(&mut self, ty: &Type) {
        match ty {
            Type::Double => self.double = true,
            Type::Half | Type::Integer(16) => self.low_precision = true,
            Type::Integer(64) => self.int64 = true,
            Type::Pointer { address_space, .. } | Type::OpaquePointer { address_space } => {
                self.group_shared |= *address_space == super::GROUP_SHARED;
            }
            _ => {}
        }
    }
}

/// Returns whether a barrier only makes sense in a thread group.
pub(super) fn barrier_requires_group(operations: &Operations<'_>, call: &Instruction, opcode: u32) -> bool {
    let group_semantics =
        || operations.number(call, 2).is_some_and(|semantics| semantics & GROUP_SEMANTICS != 0);
    match opcode {
        op::BARRIER => operations.number(call, 1).is_some_and(|mode| mode != GLOBAL_UAV_FENCE),
        op::BARRIER_BY_MEMORY_TYPE => {
            let memory = operations.number(call, 1);
            let group = memory.is_some_and(|memory| memory != ALL_MEMORY && memory & GROUP_MEMORY != 0);
            group || group_semantics()
        }
        op::BARRIER_BY_MEMORY_HANDLE | op::BARRIER_BY_NODE_RECORD => group_semantics(),
        _ => false,
    }
}

/// Returns the values that a constant consists of.
fn parts_of_constant(module: &Module<'_>, body: &FunctionBody, id: ValueId) -> Vec<ValueId> {
    use unshade_llvm::constants::Constant;
    match module.constant(Some(body), id) {
        Some((Constant::Aggregate(values), constants)) => constants.values(values).to_vec(),
        Some((Constant::Expression(index), constants)) => constants
            .expression(index)
            .map_or_else(Vec::new, |expression| constants.values(expression.operands).to_vec()),
        _ => Vec::new(),
    }
}
