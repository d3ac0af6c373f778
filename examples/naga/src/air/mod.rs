//! The target AIR: Apple's Metal shaders.
//!
//! | file | holds |
//! |---|---|
//! | this one | loads and stores, functions, atomics, barriers, inputs and outputs |
//! | `signature` | the arguments of the entry point, and which slots resources have |
//! | `textures` | sampling, reading and writing of textures |
//!
//! A buffer is accessed as an array of what is loaded or stored: a `float`, or a `float4` where WGSL aligns one.

mod signature;
mod textures;

use crate::error::{Error, Result, unsupported};
use crate::interface::Interface;
use crate::target::{AtomicPlace, Function, Offset, Port, Query, Sample, Target, Texel};
use crate::types::scalar_type;
use crate::{Bindings, Options};
use naga::valid::ModuleInfo;
use naga::{
    AtomicFunction, Barrier, BuiltIn, DerivativeAxis, DerivativeControl, GlobalVariable, Handle, Module,
    Scalar, ScalarKind,
};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use unshade_air::intrinsics::{self, AtomicOperation, MemoryFlags};
use unshade_air::shader::Shader;
use unshade_air::types::Class;
use unshade_llvm::build::FunctionBuilder;
use unshade_llvm::types::Type;
use unshade_llvm::{BlockId, TypeId, ValueId};

/// Compiles an entry point.
///
/// # Errors
/// If something is not in the subset.
pub fn compile(
    module: &Module,
    info: &ModuleInfo,
    entry: usize,
    bindings: &Bindings,
    options: &Options,
) -> Result<Shader> {
    let point = &module.entry_points[entry];
    let interface = Interface::new(module, point)?;
    let arguments = signature::arguments(module, info.get_entry_point(entry), point, &interface, bindings)?;
    let signature = signature::signature(point, &interface, &arguments, options)?;
    let mut shader = Shader::new(options.target, &signature)?;
    let body = shader.body()?;
    let entry_block = body.current_block().ok_or_else(|| Error::new("no entry block"))?;
    let air = Air {
        module,
        arguments,
        entry: entry_block,
        name: signature::function_name(&point.name),
        fast_math: options.fast_math,
        pointers: HashMap::new(),
    };
    crate::lower::lower(Body(body), air, module, info, entry, &interface)?;
    Ok(shader)
}

/// The body of a function.
struct Body<'m>(FunctionBuilder<'m>);

impl<'m> Deref for Body<'m> {
    type Target = FunctionBuilder<'m>;

    fn deref(&self) -> &FunctionBuilder<'m> {
        &self.0
    }
}

impl<'m> DerefMut for Body<'m> {
    fn deref_mut(&mut self) -> &mut FunctionBuilder<'m> {
        &mut self.0
    }
}

/// The target.
struct Air<'a> {
    module: &'a Module,
    arguments: signature::Arguments,
    entry: BlockId,
    name: String,
    fast_math: bool,
    /// Buffers as pointers to what is accessed.
    pointers: HashMap<(Handle<GlobalVariable>, TypeId), ValueId>,
}

/// The names of functions: of floats, and of integers if they have them too.
const FUNCTIONS: [(Function, Option<&str>, Option<&str>); 33] = [
    (Function::Abs, Some("fabs"), Some("abs")),
    (Function::Acos, Some("acos"), None),
    (Function::Acosh, Some("acosh"), None),
    (Function::Asin, Some("asin"), None),
    (Function::Asinh, Some("asinh"), None),
    (Function::Atan, Some("atan"), None),
    (Function::Atan2, Some("atan2"), None),
    (Function::Atanh, Some("atanh"), None),
    (Function::Ceil, Some("ceil"), None),
    (Function::Cos, Some("cos"), None),
    (Function::Cosh, Some("cosh"), None),
    (Function::CountLeadingZeros, None, Some("clz")),
    (Function::CountOnes, None, Some("popcount")),
    (Function::CountTrailingZeros, None, Some("ctz")),
    (Function::Exp, Some("exp"), None),
    (Function::Exp2, Some("exp2"), None),
    (Function::Floor, Some("floor"), None),
    (Function::Fma, Some("fma"), None),
    (Function::Log, Some("log"), None),
    (Function::Log2, Some("log2"), None),
    (Function::Max, Some("fmax"), Some("max")),
    (Function::Min, Some("fmin"), Some("min")),
    (Function::Pow, Some("pow"), None),
    (Function::ReverseBits, None, Some("reverse_bits")),
    (Function::RoundEven, Some("rint"), None),
    (Function::Rsqrt, Some("rsqrt"), None),
    (Function::Saturate, Some("saturate"), None),
    (Function::Sin, Some("sin"), None),
    (Function::Sinh, Some("sinh"), None),
    (Function::Sqrt, Some("sqrt"), None),
    (Function::Tan, Some("tan"), None),
    (Function::Tanh, Some("tanh"), None),
    (Function::Trunc, Some("trunc"), None),
];

/// Atomic operations.
const ATOMICS: [(AtomicFunction, AtomicOperation); 8] = [
    (AtomicFunction::Add, AtomicOperation::Add),
    (AtomicFunction::Subtract, AtomicOperation::Sub),
    (AtomicFunction::And, AtomicOperation::And),
    (AtomicFunction::InclusiveOr, AtomicOperation::Or),
    (AtomicFunction::ExclusiveOr, AtomicOperation::Xor),
    (AtomicFunction::Min, AtomicOperation::Min),
    (AtomicFunction::Max, AtomicOperation::Max),
    (AtomicFunction::Exchange { compare: None }, AtomicOperation::Exchange),
];

/// Returns what kind of number a scalar is.
fn class(scalar: Scalar) -> Class {
    match scalar.kind {
        ScalarKind::Float | ScalarKind::AbstractFloat => Class::Float,
        ScalarKind::Sint | ScalarKind::AbstractInt => Class::Signed,
        ScalarKind::Uint | ScalarKind::Bool => Class::Unsigned,
    }
}

/// Returns a vector of scalars, or the only one.
fn vector(b: &mut FunctionBuilder<'_>, values: &[ValueId]) -> Result<ValueId> {
    let &[first, _, ..] = values else {
        return values.first().copied().ok_or_else(|| Error::new("a vector without elements"));
    };
    let (element, int) = (b.type_of(first)?, b.integer(32)?);
    let count = u32::try_from(values.len()).map_err(|_| Error::new("a vector of too many elements"))?;
    let ty = b.vector(count, element)?;
    let mut vector = b.const_undef(ty)?;
    for (at, &value) in (0u32..).zip(values) {
        let at = b.const_int(int, at)?;
        vector = b.insert_element(vector, value, at)?;
    }
    Ok(vector)
}

/// Returns the elements of a vector, or the scalar.
fn elements(b: &mut FunctionBuilder<'_>, value: ValueId) -> Result<Vec<ValueId>> {
    let ty = b.type_of(value)?;
    let Type::Vector { count, .. } = b.module().types.get(ty) else { return Ok(vec![value]) };
    let int = b.integer(32)?;
    let mut list = Vec::new();
    for at in 0..count {
        let at = b.const_int(int, at)?;
        list.push(b.extract_element(value, at)?);
    }
    Ok(list)
}

impl Air<'_> {
    /// Returns the parameter of a resource.
    fn resource(&self, b: &FunctionBuilder<'_>, global: Handle<GlobalVariable>) -> Result<ValueId> {
        let argument = self.arguments.resources.get(&global);
        let argument = argument.ok_or_else(|| Error::new("a resource that the entry point does not have"))?;
        Ok(b.parameter(*argument)?)
    }

    /// Returns a buffer as a pointer to values of a type.
    fn typed(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        buffer: Handle<GlobalVariable>,
        ty: TypeId,
    ) -> Result<ValueId> {
        if let Some(&known) = self.pointers.get(&(buffer, ty)) {
            return Ok(known);
        }
        let pointer = self.resource(b, buffer)?;
        let old = b.type_of(pointer)?;
        let space = b.module().types.address_space(old).unwrap_or(0);
        let new = b.pointer(ty, space)?;
        let typed = if old == new {
            pointer
        } else {
            let current = b.current_block();
            b.select_block(self.entry)?;
            let typed = b.bitcast(pointer, new)?;
            if let Some(current) = current {
                b.select_block(current)?;
            }
            typed
        };
        self.pointers.insert((buffer, ty), typed);
        Ok(typed)
    }

    /// Returns the pointer to a value of a type of so many bytes.
    fn pointer(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        buffer: Handle<GlobalVariable>,
        at: &Offset,
        ty: TypeId,
        size: u32,
    ) -> Result<ValueId> {
        let base = self.typed(b, buffer, ty)?;
        let long = b.integer(64)?;
        let mut index = None;
        for &(term, stride) in &at.terms {
            let term = b.zext(term, long)?;
            let scale = b.const_int(long, stride / size)?;
            let term = if stride == size { term } else { b.mul(term, scale)? };
            index = Some(match index {
                None => term,
                Some(sum) => b.add(sum, term)?,
            });
        }
        let constant = b.const_int(long, at.bytes / size)?;
        let index = match index {
            None => constant,
            Some(sum) if at.bytes == 0 => sum,
            Some(sum) => b.add(sum, constant)?,
        };
        Ok(b.element_ptr(ty, base, &[index])?)
    }

    /// Returns whether scalars are accessed together: where a vector of 2 or 4 is aligned.
    fn is_vector(at: &Offset, scalar: Scalar, count: u8) -> bool {
        let size = u32::from(scalar.width) * u32::from(count);
        matches!(count, 2 | 4)
            && at.bytes.is_multiple_of(size)
            && at.terms.iter().all(|term| term.1.is_multiple_of(size))
    }

    /// Returns the place of each scalar of several that follow each other.
    fn scalar_offset(at: &Offset, scalar: Scalar, index: u8) -> Offset {
        let mut at = at.clone();
        at.bytes = at.bytes.saturating_add(u32::from(scalar.width) * u32::from(index));
        at
    }

    fn atomic_pointer(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        place: &AtomicPlace,
        scalar: Scalar,
    ) -> Result<ValueId> {
        match place {
            AtomicPlace::Workgroup(pointer) => Ok(*pointer),
            AtomicPlace::Buffer(buffer, at) => {
                let ty = scalar_type(b, scalar)?;
                self.pointer(b, *buffer, at, ty, u32::from(scalar.width))
            }
        }
    }
}

impl<'m> Target<'m> for Air<'_> {
    type Body = Body<'m>;

    fn end(body: Body<'m>) -> Result<()> {
        Ok(body.0.finish()?)
    }

    fn input(&mut self, b: &mut Body<'m>, port: &Port) -> Result<Vec<ValueId>> {
        let parameter =
            b.parameter(self.arguments.first_input + u32::try_from(port.index).unwrap_or(u32::MAX))?;
        elements(b, parameter)
    }

    fn workgroup_name(&self, name: &str) -> String {
        format!("_ZZ{}{}E{}{name}", self.name.len(), self.name, name.len())
    }

    fn local_index(&mut self, b: &mut Body<'m>) -> Result<ValueId> {
        match self.arguments.local_index {
            Some(argument) => Ok(b.parameter(argument)?),
            None => Err(Error::new("an entry point without its index in the workgroup")),
        }
    }

    fn finish(&mut self, b: &mut Body<'m>, outputs: &[(Port, Vec<ValueId>)]) -> Result<()> {
        let mut members = Vec::new();
        for (_, values) in outputs {
            members.push(vector(b, values)?);
        }
        match members.as_slice() {
            [] => Ok(b.ret_void()?),
            &[member] => Ok(b.ret(member)?),
            members => {
                let types = members
                    .iter()
                    .map(|&member| b.type_of(member))
                    .collect::<std::result::Result<Vec<_>, _>>()?;
                let ty = b.packed_struct(&types)?;
                let mut result = b.const_undef(ty)?;
                for (at, &member) in (0u32..).zip(members) {
                    result = b.insert_value(result, member, &[at])?;
                }
                Ok(b.ret(result)?)
            }
        }
    }

    fn load(
        &mut self,
        b: &mut Body<'m>,
        buffer: Handle<GlobalVariable>,
        at: &Offset,
        scalar: Scalar,
        count: u8,
    ) -> Result<Vec<ValueId>> {
        let ty = scalar_type(b, scalar)?;
        if Self::is_vector(at, scalar, count) {
            let ty = b.vector(u32::from(count), ty)?;
            let pointer = self.pointer(b, buffer, at, ty, u32::from(scalar.width) * u32::from(count))?;
            let value = b.load(ty, pointer)?;
            return elements(b, value);
        }
        let mut values = Vec::new();
        for index in 0..count {
            let at = Self::scalar_offset(at, scalar, index);
            let pointer = self.pointer(b, buffer, &at, ty, u32::from(scalar.width))?;
            values.push(b.load(ty, pointer)?);
        }
        Ok(values)
    }

    fn store(
        &mut self,
        b: &mut Body<'m>,
        buffer: Handle<GlobalVariable>,
        at: &Offset,
        scalar: Scalar,
        values: &[ValueId],
    ) -> Result<()> {
        let count = u8::try_from(values.len()).map_err(|_| Error::new("a vector of too many elements"))?;
        let ty = scalar_type(b, scalar)?;
        if Self::is_vector(at, scalar, count) {
            let ty = b.vector(u32::from(count), ty)?;
            let pointer = self.pointer(b, buffer, at, ty, u32::from(scalar.width) * u32::from(count))?;
            let value = vector(b, values)?;
            return Ok(b.store(value, pointer)?);
        }
        for (index, &value) in (0..count).zip(values) {
            let at = Self::scalar_offset(at, scalar, index);
            let pointer = self.pointer(b, buffer, &at, ty, u32::from(scalar.width))?;
            b.store(value, pointer)?;
        }
        Ok(())
    }

    fn byte_length(&mut self, b: &mut Body<'m>, buffer: Handle<GlobalVariable>) -> Result<ValueId> {
        let (Some(argument), Some(&index)) = (self.arguments.sizes, self.arguments.size_indices.get(&buffer))
        else {
            return Err(Error::new("a buffer whose size is not known"));
        };
        let (sizes, int, long) = (b.parameter(argument)?, b.integer(32)?, b.integer(64)?);
        let index = b.const_int(long, index)?;
        let pointer = b.element_ptr(int, sizes, &[index])?;
        Ok(b.load(int, pointer)?)
    }

    fn atomic(
        &mut self,
        b: &mut Body<'m>,
        place: &AtomicPlace,
        function: AtomicFunction,
        scalar: Scalar,
        value: ValueId,
    ) -> Result<ValueId> {
        let pointer = self.atomic_pointer(b, place, scalar)?;
        match ATOMICS.iter().find(|row| row.0 == function) {
            Some(&(_, operation)) => Ok(intrinsics::atomic(b, operation, pointer, value, class(scalar))?),
            None => unsupported(format!("atomic {function:?}")),
        }
    }

    fn compare_exchange(
        &mut self,
        b: &mut Body<'m>,
        place: &AtomicPlace,
        scalar: Scalar,
        expected: ValueId,
        value: ValueId,
    ) -> Result<ValueId> {
        let pointer = self.atomic_pointer(b, place, scalar)?;
        let ty = scalar_type(b, scalar)?;
        let current = b.current_block().ok_or_else(|| Error::new("no block is built"))?;
        b.select_block(self.entry)?;
        let variable = b.alloca(ty)?;
        b.select_block(current)?;
        b.store(expected, variable)?;
        Ok(intrinsics::atomic_compare_exchange(b, pointer, variable, value)?)
    }

    fn atomic_load(&mut self, b: &mut Body<'m>, place: &AtomicPlace, scalar: Scalar) -> Result<ValueId> {
        let pointer = self.atomic_pointer(b, place, scalar)?;
        Ok(intrinsics::atomic_load(b, pointer)?)
    }

    fn atomic_store(
        &mut self,
        b: &mut Body<'m>,
        place: &AtomicPlace,
        scalar: Scalar,
        value: ValueId,
    ) -> Result<()> {
        let pointer = self.atomic_pointer(b, place, scalar)?;
        Ok(intrinsics::atomic_store(b, pointer, value)?)
    }

    fn convert(&mut self, b: &mut Body<'m>, value: ValueId, from: Scalar, to: Scalar) -> Result<ValueId> {
        let ty = scalar_type(b, to)?;
        Ok(intrinsics::convert(b, value, class(from), ty, class(to))?)
    }

    fn half_bits(&mut self, b: &mut Body<'m>, value: ValueId) -> Result<ValueId> {
        let (half, short, word) = (b.half(), b.integer(16)?, b.integer(32)?);
        let rounded = b.fptrunc(value, half)?;
        let bits = b.bitcast(rounded, short)?;
        Ok(b.zext(bits, word)?)
    }

    fn half_value(&mut self, b: &mut Body<'m>, bits: ValueId) -> Result<ValueId> {
        let (half, short, float) = (b.half(), b.integer(16)?, b.float());
        let bits = b.trunc(bits, short)?;
        let value = b.bitcast(bits, half)?;
        Ok(b.fpext(value, float)?)
    }

    fn call(
        &mut self,
        b: &mut Body<'m>,
        function: Function,
        scalar: Scalar,
        operands: &[ValueId],
    ) -> Result<Option<ValueId>> {
        let row = FUNCTIONS.iter().find(|row| row.0 == function);
        let is_float = scalar.kind == ScalarKind::Float;
        if !is_float && function == Function::Abs && scalar.kind == ScalarKind::Uint {
            return Ok(None);
        }
        let Some(name) = row.and_then(|row| if is_float { row.1 } else { row.2 }) else { return Ok(None) };
        let is_fast = self.fast_math && is_float && scalar.width == 4 && function != Function::Fma;
        let name = if is_fast { format!("fast_{name}") } else { name.to_string() };
        Ok(Some(intrinsics::math(b, &name, class(scalar), operands)?))
    }

    fn barrier(&mut self, b: &mut Body<'m>, memory: Barrier, waits: bool) -> Result<()> {
        if memory.contains(Barrier::SUB_GROUP) {
            return unsupported("subgroup barriers");
        }
        let mut flags = MemoryFlags::NONE;
        let mut number = 0u32;
        for (bit, flag, value) in [
            (Barrier::STORAGE, MemoryFlags::DEVICE, 1),
            (Barrier::WORK_GROUP, MemoryFlags::THREADGROUP, 2),
            (Barrier::TEXTURE, MemoryFlags::TEXTURE, 4),
        ] {
            if memory.contains(bit) {
                (flags, number) = (flags | flag, number | value);
            }
        }
        if waits {
            return Ok(intrinsics::threadgroup_barrier(b, flags)?);
        }
        // Sequentially consistent, in the threadgroup or on the device.
        let (void, int) = (b.void(), b.integer(32)?);
        let scope = if memory.contains(Barrier::STORAGE) { 2 } else { 1 };
        let mut operands = Vec::new();
        for number in [number, 5, scope] {
            operands.push(b.const_int(int, number)?);
        }
        intrinsics::other(b, "air.atomic.fence", void, &operands)?;
        Ok(())
    }

    fn discard(&mut self, b: &mut Body<'m>) -> Result<()> {
        Ok(intrinsics::discard_fragment(b)?)
    }

    fn derivative(
        &mut self,
        b: &mut Body<'m>,
        axis: DerivativeAxis,
        _control: DerivativeControl,
        value: ValueId,
    ) -> Result<ValueId> {
        // Metal has one form of each, which an implementation may make fine or coarse.
        let name = if axis == DerivativeAxis::Y { "dfdy" } else { "dfdx" };
        Ok(intrinsics::math(b, name, Class::Float, &[value])?)
    }

    fn sample(&mut self, b: &mut Body<'m>, sample: &Sample) -> Result<Vec<ValueId>> {
        self.sample_texture(b, sample)
    }

    fn read(&mut self, b: &mut Body<'m>, texel: &Texel) -> Result<Vec<ValueId>> {
        self.read_texture(b, texel)
    }

    fn write(&mut self, b: &mut Body<'m>, texel: &Texel, values: &[ValueId]) -> Result<()> {
        self.write_texture(b, texel, values)
    }

    fn query(
        &mut self,
        b: &mut Body<'m>,
        image: Handle<GlobalVariable>,
        query: Query,
    ) -> Result<Vec<ValueId>> {
        self.query_texture(b, image, query)
    }
}

/// Returns whether an input is the index in the workgroup.
fn is_local_index(port: &Port) -> bool {
    port.role == crate::target::Role::BuiltIn(BuiltIn::LocalInvocationIndex)
}
