//! The target DXIL: DirectX shaders of shader model 6.
//!
//! | file | holds |
//! |---|---|
//! | this one | loads and stores, functions, atomics, barriers |
//! | `interface` | inputs and outputs as elements of signatures, resources and their registers |
//! | `textures` | sampling, reading and writing of textures |
//!
//! `@group(g) @binding(b)` is register b of space g. Buffers of storage are buffers of bytes, uniform ones are constant
//! buffers, which are loaded by rows of 16 bytes.

mod interface;
mod textures;

use crate::Options;
use crate::error::{Error, Result, unsupported};
use crate::interface::Interface;
use crate::target::{AtomicPlace, Function, Offset, Port, Query, Sample, Target, Texel};
use crate::types::scalar_type;
use interface::{Inputs, Outputs};
use naga::valid::ModuleInfo;
use naga::{
    AddressSpace, AtomicFunction, Barrier, DerivativeAxis, DerivativeControl, GlobalVariable, Handle, Module,
    Scalar, ScalarKind,
};
use std::collections::HashMap;
use unshade_dxil::body::{Handle as ResourceHandle, ShaderBody};
use unshade_dxil::operations::{AtomicOperation, Barrier as DxilBarrier};
use unshade_dxil::resources::ResourceId;
use unshade_dxil::shader::Shader;
use unshade_llvm::build::IntPredicate;
use unshade_llvm::instruction::Opcode;
use unshade_llvm::{BlockId, TypeId, ValueId};

/// The bytes of a row of a constant buffer.
const ROW: u32 = 16;

/// Compiles an entry point.
///
/// # Errors
/// If something is not in the subset.
pub fn compile(module: &Module, info: &ModuleInfo, entry: usize, options: &Options) -> Result<Shader> {
    let point = &module.entry_points[entry];
    let interface = Interface::new(module, point)?;
    let target = interface::target(module, info.get_entry_point(entry), point, options);
    let mut shader = Shader::new(target, interface::stage(point)?, &point.name)?;
    let resources = interface::resources(&mut shader, module, info.get_entry_point(entry))?;
    let inputs = interface::inputs(&mut shader, point, &interface)?;
    let outputs = interface::outputs(&mut shader, point, &interface)?;
    let body = shader.body()?;
    let entry_block = body.current_block().ok_or_else(|| Error::new("no entry block"))?;
    let dxil = Dxil { module, resources, handles: HashMap::new(), inputs, outputs, entry: entry_block };
    crate::lower::lower(body, dxil, module, info, entry, &interface)?;
    Ok(shader)
}

/// The target.
struct Dxil<'a> {
    module: &'a Module,
    resources: HashMap<Handle<GlobalVariable>, ResourceId>,
    /// Handles, which are made in the entry block.
    handles: HashMap<Handle<GlobalVariable>, ResourceHandle>,
    inputs: Inputs,
    outputs: Outputs,
    entry: BlockId,
}

/// Functions: of floats, of signed and of unsigned integers.
type FunctionRow = (Function, Option<&'static str>, Option<&'static str>, Option<&'static str>);

const FUNCTIONS: [FunctionRow; 23] = [
    (Function::Abs, Some("FAbs"), None, None),
    (Function::Acos, Some("Acos"), None, None),
    (Function::Asin, Some("Asin"), None, None),
    (Function::Atan, Some("Atan"), None, None),
    (Function::Ceil, Some("Round_pi"), None, None),
    (Function::Cos, Some("Cos"), None, None),
    (Function::Cosh, Some("Hcos"), None, None),
    (Function::Exp2, Some("Exp"), None, None),
    (Function::Floor, Some("Round_ni"), None, None),
    (Function::Fma, Some("FMad"), None, None),
    (Function::Log2, Some("Log"), None, None),
    (Function::Max, Some("FMax"), Some("IMax"), Some("UMax")),
    (Function::Min, Some("FMin"), Some("IMin"), Some("UMin")),
    (Function::ReverseBits, None, Some("Bfrev"), Some("Bfrev")),
    (Function::RoundEven, Some("Round_ne"), None, None),
    (Function::Rsqrt, Some("Rsqrt"), None, None),
    (Function::Saturate, Some("Saturate"), None, None),
    (Function::Sin, Some("Sin"), None, None),
    (Function::Sinh, Some("Hsin"), None, None),
    (Function::Sqrt, Some("Sqrt"), None, None),
    (Function::Tan, Some("Tan"), None, None),
    (Function::Tanh, Some("Htan"), None, None),
    (Function::Trunc, Some("Round_z"), None, None),
];

/// Atomic operations: of signed and of unsigned integers.
const ATOMICS: [(AtomicFunction, AtomicOperation, AtomicOperation); 8] = [
    (AtomicFunction::Add, AtomicOperation::Add, AtomicOperation::Add),
    // The value is negated.
    (AtomicFunction::Subtract, AtomicOperation::Add, AtomicOperation::Add),
    (AtomicFunction::And, AtomicOperation::And, AtomicOperation::And),
    (AtomicFunction::InclusiveOr, AtomicOperation::Or, AtomicOperation::Or),
    (AtomicFunction::ExclusiveOr, AtomicOperation::Xor, AtomicOperation::Xor),
    (AtomicFunction::Min, AtomicOperation::Min, AtomicOperation::UMin),
    (AtomicFunction::Max, AtomicOperation::Max, AtomicOperation::UMax),
    (AtomicFunction::Exchange { compare: None }, AtomicOperation::Exchange, AtomicOperation::Exchange),
];

/// Conversions between integers and floats.
const CONVERSIONS: [(ScalarKind, ScalarKind, Opcode); 4] = [
    (ScalarKind::Float, ScalarKind::Sint, Opcode::FpToSi),
    (ScalarKind::Float, ScalarKind::Uint, Opcode::FpToUi),
    (ScalarKind::Sint, ScalarKind::Float, Opcode::SiToFp),
    (ScalarKind::Uint, ScalarKind::Float, Opcode::UiToFp),
];

impl Dxil<'_> {
    /// Returns the handle of a resource.
    fn handle(&mut self, b: &mut ShaderBody<'_>, global: Handle<GlobalVariable>) -> Result<ResourceHandle> {
        if let Some(&known) = self.handles.get(&global) {
            return Ok(known);
        }
        let resource = self.resources.get(&global);
        let resource =
            *resource.ok_or_else(|| Error::new("a resource that the entry point does not have"))?;
        let current = b.current_block().ok_or_else(|| Error::new("no block is built"))?;
        b.select_block(self.entry)?;
        let handle = b.handle(resource)?;
        b.select_block(current)?;
        self.handles.insert(global, handle);
        Ok(handle)
    }

    /// Returns the number that an offset is, in units of so many bytes, and the rest in bytes.
    fn units(&self, b: &mut ShaderBody<'_>, at: &Offset, unit: u32) -> Result<(ValueId, u32)> {
        let mut sum = None;
        for &(term, stride) in &at.terms {
            let scale = b.i32(stride / unit)?;
            let term = if stride == unit { term } else { b.mul(term, scale)? };
            sum = Some(match sum {
                None => term,
                Some(sum) => b.add(sum, term)?,
            });
        }
        let constant = b.i32(at.bytes / unit)?;
        let number = match sum {
            None => constant,
            Some(sum) if at.bytes / unit == 0 => sum,
            Some(sum) => b.add(sum, constant)?,
        };
        Ok((number, at.bytes % unit))
    }

    /// Loads scalars of a constant buffer.
    fn load_constants(
        &mut self,
        b: &mut ShaderBody<'_>,
        handle: ResourceHandle,
        at: &Offset,
        scalar: Scalar,
        count: u8,
    ) -> Result<Vec<ValueId>> {
        if at.terms.iter().all(|term| term.1.is_multiple_of(ROW)) {
            return self.load_rows(b, handle, at, scalar, count);
        }
        let (ty, size) = (scalar_type(b, scalar)?, u32::from(scalar.width));
        let mut values = Vec::new();
        for index in 0..u32::from(count) {
            let bytes = Offset { bytes: at.bytes.saturating_add(index * size), terms: at.terms.clone() };
            values.push(self.load_constant(b, handle, &bytes, ty, size)?);
        }
        Ok(values)
    }

    /// Loads scalars whose places in their rows are constants. Vectors of numbers of 64 bits take two rows.
    fn load_rows(
        &mut self,
        b: &mut ShaderBody<'_>,
        handle: ResourceHandle,
        at: &Offset,
        scalar: Scalar,
        count: u8,
    ) -> Result<Vec<ValueId>> {
        let (ty, size) = (scalar_type(b, scalar)?, u32::from(scalar.width));
        let mut values = Vec::new();
        let mut bytes = at.bytes;
        while values.len() < usize::from(count) {
            let place = Offset { bytes, terms: at.terms.clone() };
            let (row, rest) = self.units(b, &place, ROW)?;
            let numbers = b.load_constants(handle, row, ty)?;
            let missing = usize::from(count) - values.len();
            values.extend(numbers.iter().skip((rest / size) as usize).take(missing));
            bytes = bytes.saturating_add(ROW - rest);
        }
        Ok(values)
    }

    /// Loads a scalar whose place in its row is dynamic.
    fn load_constant(
        &mut self,
        b: &mut ShaderBody<'_>,
        handle: ResourceHandle,
        at: &Offset,
        ty: TypeId,
        size: u32,
    ) -> Result<ValueId> {
        let (offset, _) = self.units(b, at, 1)?;
        let (shift, mask, unit) = (b.i32(ROW.ilog2())?, b.i32(ROW - 1)?, b.i32(size.ilog2())?);
        let (row, rest) = (b.lshr(offset, shift)?, b.and(offset, mask)?);
        let element = b.lshr(rest, unit)?;
        let numbers = b.load_constants(handle, row, ty)?;
        let Some((&first, others)) = numbers.split_first() else {
            return Err(Error::new("a row without numbers"));
        };
        let mut selected = first;
        for (index, &number) in (1u32..).zip(others) {
            let index = b.i32(index)?;
            let is_this = b.icmp(IntPredicate::Eq, element, index)?;
            selected = b.select(is_this, number, selected)?;
        }
        Ok(selected)
    }

    /// Returns a count of zeros from the position of the first one, which is -1 if there is none.
    fn zeros(b: &mut ShaderBody<'_>, scalar: Scalar, operation: &str, value: ValueId) -> Result<ValueId> {
        let zero = b.i32(0)?;
        let (position, width) = (b.operation(operation, &[value])?, b.i32(u32::from(scalar.width) * 8)?);
        let is_none = b.icmp(IntPredicate::Slt, position, zero)?;
        let count = b.select(is_none, width, position)?;
        Self::widened(b, scalar, count)
    }

    /// Returns a count of bits, which operations give as an `i32`, as a number of a type.
    fn widened(b: &mut ShaderBody<'_>, scalar: Scalar, count: ValueId) -> Result<ValueId> {
        let ty = scalar_type(b, scalar)?;
        Ok(match scalar.width {
            4 => count,
            8 => b.zext(count, ty)?,
            _ => b.trunc(count, ty)?,
        })
    }

    /// Returns whether a buffer is a constant buffer.
    fn is_uniform(&self, buffer: Handle<GlobalVariable>) -> bool {
        self.module.global_variables[buffer].space == AddressSpace::Uniform
    }
}

impl<'m> Target<'m> for Dxil<'_> {
    type Body = ShaderBody<'m>;

    fn end(body: ShaderBody<'m>) -> Result<()> {
        Ok(body.finish()?)
    }

    fn input(&mut self, b: &mut ShaderBody<'m>, port: &Port) -> Result<Vec<ValueId>> {
        self.inputs.load(b, port)
    }

    fn workgroup_name(&self, name: &str) -> String {
        name.to_string()
    }

    fn local_index(&mut self, b: &mut ShaderBody<'m>) -> Result<ValueId> {
        Ok(b.thread_index_in_group()?)
    }

    fn finish(&mut self, b: &mut ShaderBody<'m>, outputs: &[(Port, Vec<ValueId>)]) -> Result<()> {
        for (port, values) in outputs {
            self.outputs.store(b, port, values)?;
        }
        Ok(b.ret_void()?)
    }

    fn load(
        &mut self,
        b: &mut ShaderBody<'m>,
        buffer: Handle<GlobalVariable>,
        at: &Offset,
        scalar: Scalar,
        count: u8,
    ) -> Result<Vec<ValueId>> {
        let handle = self.handle(b, buffer)?;
        if self.is_uniform(buffer) {
            return self.load_constants(b, handle, at, scalar, count);
        }
        let ty = scalar_type(b, scalar)?;
        let (offset, _) = self.units(b, at, 1)?;
        Ok(b.load_buffer(handle, offset, None, ty, usize::from(count))?)
    }

    fn store(
        &mut self,
        b: &mut ShaderBody<'m>,
        buffer: Handle<GlobalVariable>,
        at: &Offset,
        _scalar: Scalar,
        values: &[ValueId],
    ) -> Result<()> {
        let handle = self.handle(b, buffer)?;
        let (offset, _) = self.units(b, at, 1)?;
        Ok(b.store_buffer(handle, offset, None, values)?)
    }

    fn byte_length(&mut self, b: &mut ShaderBody<'m>, buffer: Handle<GlobalVariable>) -> Result<ValueId> {
        let handle = self.handle(b, buffer)?;
        let size = b.dimensions(handle, None)?;
        size.first().copied().ok_or_else(|| Error::new("a buffer without a size"))
    }

    fn atomic(
        &mut self,
        b: &mut ShaderBody<'m>,
        place: &AtomicPlace,
        function: AtomicFunction,
        scalar: Scalar,
        value: ValueId,
    ) -> Result<ValueId> {
        let Some(row) = ATOMICS.iter().find(|row| row.0 == function) else {
            return unsupported(format!("atomic {function:?}"));
        };
        let operation = if scalar.kind == ScalarKind::Sint { row.1 } else { row.2 };
        let value = match function {
            AtomicFunction::Subtract => {
                let zero = b.i32(0)?;
                b.sub(zero, value)?
            }
            _ => value,
        };
        match place {
            AtomicPlace::Workgroup(pointer) => Ok(b.atomic_shared(operation, *pointer, value)?),
            AtomicPlace::Buffer(buffer, at) => {
                let handle = self.handle(b, *buffer)?;
                let (offset, _) = self.units(b, at, 1)?;
                Ok(b.atomic(handle, operation, &[offset], value)?)
            }
        }
    }

    fn compare_exchange(
        &mut self,
        b: &mut ShaderBody<'m>,
        place: &AtomicPlace,
        _scalar: Scalar,
        expected: ValueId,
        value: ValueId,
    ) -> Result<ValueId> {
        match place {
            AtomicPlace::Workgroup(pointer) => {
                Ok(b.atomic_compare_exchange_shared(*pointer, expected, value)?)
            }
            AtomicPlace::Buffer(buffer, at) => {
                let handle = self.handle(b, *buffer)?;
                let (offset, _) = self.units(b, at, 1)?;
                Ok(b.atomic_compare_exchange(handle, &[offset], expected, value)?)
            }
        }
    }

    fn atomic_load(
        &mut self,
        b: &mut ShaderBody<'m>,
        place: &AtomicPlace,
        scalar: Scalar,
    ) -> Result<ValueId> {
        match place {
            AtomicPlace::Workgroup(pointer) => {
                let ty = scalar_type(b, scalar)?;
                Ok(b.load(ty, *pointer)?)
            }
            AtomicPlace::Buffer(buffer, at) => {
                let values = self.load(b, *buffer, at, scalar, 1)?;
                values.first().copied().ok_or_else(|| Error::new("an atomic without a value"))
            }
        }
    }

    fn atomic_store(
        &mut self,
        b: &mut ShaderBody<'m>,
        place: &AtomicPlace,
        scalar: Scalar,
        value: ValueId,
    ) -> Result<()> {
        // DXIL has no atomic store.
        let exchange = AtomicFunction::Exchange { compare: None };
        self.atomic(b, place, exchange, scalar, value).map(drop)
    }

    fn convert(
        &mut self,
        b: &mut ShaderBody<'m>,
        value: ValueId,
        from: Scalar,
        to: Scalar,
    ) -> Result<ValueId> {
        let ty = scalar_type(b, to)?;
        if let Some(row) = CONVERSIONS.iter().find(|row| (row.0, row.1) == (from.kind, to.kind)) {
            return Ok(b.cast(row.2, value, ty)?);
        }
        Ok(match from.width.cmp(&to.width) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => b.fpext(value, ty)?,
            std::cmp::Ordering::Greater => b.fptrunc(value, ty)?,
        })
    }

    fn half_bits(&mut self, b: &mut ShaderBody<'m>, value: ValueId) -> Result<ValueId> {
        Ok(b.operation("LegacyF32ToF16", &[value])?)
    }

    fn half_value(&mut self, b: &mut ShaderBody<'m>, bits: ValueId) -> Result<ValueId> {
        Ok(b.operation("LegacyF16ToF32", &[bits])?)
    }

    fn call(
        &mut self,
        b: &mut ShaderBody<'m>,
        function: Function,
        scalar: Scalar,
        operands: &[ValueId],
    ) -> Result<Option<ValueId>> {
        match (function, operands) {
            (Function::CountLeadingZeros, &[x]) => {
                return Ok(Some(Self::zeros(b, scalar, "FirstbitHi", x)?));
            }
            (Function::CountTrailingZeros, &[x]) => {
                return Ok(Some(Self::zeros(b, scalar, "FirstbitLo", x)?));
            }
            (Function::CountOnes, &[x]) => {
                let count = b.operation("Countbits", &[x])?;
                return Ok(Some(Self::widened(b, scalar, count)?));
            }
            _ => {}
        }
        let row = FUNCTIONS.iter().find(|row| row.0 == function);
        let name = row.and_then(|row| match scalar.kind {
            ScalarKind::Float => row.1,
            ScalarKind::Sint => row.2,
            _ => row.3,
        });
        match name {
            Some(name) => Ok(Some(b.operation(name, operands)?)),
            None => Ok(None),
        }
    }

    fn barrier(&mut self, b: &mut ShaderBody<'m>, memory: Barrier, waits: bool) -> Result<()> {
        if memory.contains(Barrier::SUB_GROUP) {
            return unsupported("subgroup barriers");
        }
        let has_views = memory.intersects(Barrier::STORAGE | Barrier::TEXTURE);
        let mut barrier = if has_views { DxilBarrier::UAV } else { DxilBarrier::GROUP_SHARED };
        if has_views && memory.contains(Barrier::WORK_GROUP) {
            barrier = barrier | DxilBarrier::GROUP_SHARED;
        }
        if waits {
            barrier = barrier | DxilBarrier::THREADS;
        }
        Ok(b.barrier(barrier)?)
    }

    fn discard(&mut self, b: &mut ShaderBody<'m>) -> Result<()> {
        let always = b.const_bool(true);
        Ok(b.discard_if(always)?)
    }

    fn derivative(
        &mut self,
        b: &mut ShaderBody<'m>,
        axis: DerivativeAxis,
        control: DerivativeControl,
        value: ValueId,
    ) -> Result<ValueId> {
        let name = match (control, axis) {
            (DerivativeControl::Fine, DerivativeAxis::Y) => "DerivFineY",
            (DerivativeControl::Fine, _) => "DerivFineX",
            (_, DerivativeAxis::Y) => "DerivCoarseY",
            _ => "DerivCoarseX",
        };
        Ok(b.operation(name, &[value])?)
    }

    fn sample(&mut self, b: &mut ShaderBody<'m>, sample: &Sample) -> Result<Vec<ValueId>> {
        self.sample_texture(b, sample)
    }

    fn read(&mut self, b: &mut ShaderBody<'m>, texel: &Texel) -> Result<Vec<ValueId>> {
        self.read_texture(b, texel)
    }

    fn write(&mut self, b: &mut ShaderBody<'m>, texel: &Texel, values: &[ValueId]) -> Result<()> {
        self.write_texture(b, texel, values)
    }

    fn query(
        &mut self,
        b: &mut ShaderBody<'m>,
        image: Handle<GlobalVariable>,
        query: Query,
    ) -> Result<Vec<ValueId>> {
        self.query_texture(b, image, query)
    }
}
