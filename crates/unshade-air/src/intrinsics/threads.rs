//! Barriers, atomics, and what the threads of a group exchange.

use super::{Effect, call};
use crate::refused;
use crate::shader::suffix;
use crate::target::Generation;
use crate::types::Class;
use alloc::format;
use alloc::string::String;
use core::ops::BitOr;
use unshade_core::Result;
use unshade_llvm::build::FunctionBuilder;
use unshade_llvm::types::Type;
use unshade_llvm::{TypeId, ValueId};

/// Which memory a barrier orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFlags(u32);

impl MemoryFlags {
    /// `mem_none`
    pub const NONE: Self = Self(0);
    /// `mem_device`
    pub const DEVICE: Self = Self(1);
    /// `mem_threadgroup`
    pub const THREADGROUP: Self = Self(2);
    /// `mem_texture`
    pub const TEXTURE: Self = Self(4);
}

impl BitOr for MemoryFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The scope of a threadgroup.
const SCOPE_THREADGROUP: u32 = 1;
/// The scope of a device.
const SCOPE_DEVICE: u32 = 2;
/// The scope of a SIMD group.
const SCOPE_SIMDGROUP: u32 = 4;
/// The order of all atomics in the language.
const RELAXED: u32 = 0;
/// The first version of the language whose SIMD-group barriers have a scope of their own.
const WITH_SIMDGROUP_SCOPE: (u16, u16) = (3, 2);

/// Builds `threadgroup_barrier`.
///
/// # Errors
/// If the block has a terminator.
pub fn threadgroup_barrier(body: &mut FunctionBuilder<'_>, flags: MemoryFlags) -> Result<()> {
    barrier(body, "air.wg.barrier", flags, SCOPE_THREADGROUP)
}

/// Builds `simdgroup_barrier`.
///
/// # Errors
/// If the block has a terminator.
pub fn simdgroup_barrier(
    body: &mut FunctionBuilder<'_>,
    generation: Generation,
    flags: MemoryFlags,
) -> Result<()> {
    let is_later = generation.language >= WITH_SIMDGROUP_SCOPE;
    let scope = if is_later { SCOPE_SIMDGROUP } else { SCOPE_THREADGROUP };
    barrier(body, "air.simdgroup.barrier", flags, scope)
}

fn barrier(body: &mut FunctionBuilder<'_>, name: &str, flags: MemoryFlags, scope: u32) -> Result<()> {
    let (void, flags, scope) = (body.void(), word(body, flags.0)?, word(body, scope)?);
    call(body, name, void, &[flags, scope], Effect::Synchronizes).map(drop)
}

/// Builds `discard_fragment`.
///
/// # Errors
/// If the block has a terminator.
pub fn discard_fragment(body: &mut FunctionBuilder<'_>) -> Result<()> {
    let void = body.void();
    call(body, "air.discard_fragment", void, &[], Effect::Any).map(drop)
}

fn word(body: &mut FunctionBuilder<'_>, number: u32) -> Result<ValueId> {
    let ty = body.integer(32)?;
    body.const_int(ty, number)
}

/// An operation of an atomic that returns the value before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtomicOperation {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Min,
    Max,
    Exchange,
}

impl AtomicOperation {
    fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Min => "min",
            Self::Max => "max",
            Self::Exchange => "xchg",
        }
    }
}

/// An atomic in memory: where it is, and its type.
struct Atomic {
    /// A pointer to the value in it.
    pointer: ValueId,
    ty: TypeId,
    /// `global` or `local`.
    space: &'static str,
    scope: u32,
}

impl Atomic {
    /// Finds the value that a pointer to an atomic, or to a number, points to.
    fn new(body: &mut FunctionBuilder<'_>, pointer: ValueId) -> Result<Self> {
        let ty = body.type_of(pointer)?;
        let types = &body.module().types;
        let (Some(pointee), Some(space)) = (types.pointee(ty), types.address_space(ty)) else {
            return refused("an atomic operation takes a pointer");
        };
        let (space, scope) = match space {
            1 => ("global", SCOPE_DEVICE),
            3 => ("local", SCOPE_THREADGROUP),
            _ => return refused("atomics are in device or threadgroup memory"),
        };
        let inner = match types.get(pointee) {
            Type::Struct(structure) => match types.elements(structure.fields) {
                &[inner] => Some(inner),
                _ => None,
            },
            _ => None,
        };
        match inner {
            Some(ty) => Ok(Self { pointer: body.field_ptr(pointee, pointer, 0)?, ty, space, scope }),
            None => Ok(Self { pointer, ty: pointee, space, scope }),
        }
    }

    /// Returns the name of an operation.
    fn name(&self, body: &FunctionBuilder<'_>, operation: &str, class: Option<Class>) -> Result<String> {
        let letter = match class {
            Some(Class::Signed) => ".s",
            Some(Class::Unsigned) => ".u",
            _ => "",
        };
        Ok(format!("air.atomic.{}.{operation}{letter}.{}", self.space, suffix(body, self.ty)?))
    }
}

/// Builds an atomic operation on a `uint`, `int` or `float`, and returns the value before it; `min` and `max` of a
/// `ulong` return nothing.
///
/// # Errors
/// If the pointer does not point to an atomic of the value's type in device or threadgroup memory.
pub fn atomic(
    body: &mut FunctionBuilder<'_>,
    operation: AtomicOperation,
    pointer: ValueId,
    value: ValueId,
    class: Class,
) -> Result<ValueId> {
    let atomic = Atomic::new(body, pointer)?;
    if body.type_of(value)? != atomic.ty {
        return refused(format!("atomic {} of a value of another type", operation.name()));
    }
    let is_integer = matches!(body.module().types.get(atomic.ty), Type::Integer(_));
    let has_class = is_integer && operation != AtomicOperation::Exchange;
    if !is_integer
        && !matches!(operation, AtomicOperation::Add | AtomicOperation::Sub | AtomicOperation::Exchange)
    {
        return refused(format!("atomic {} takes integers", operation.name()));
    }
    let class = if class == Class::Float { Class::Unsigned } else { class };
    let name = atomic.name(body, operation.name(), has_class.then_some(class))?;
    let is_long = body.module().types.get(atomic.ty) == Type::Integer(64);
    let result = match operation {
        AtomicOperation::Min | AtomicOperation::Max if is_long => body.void(),
        _ if is_long => return refused(format!("atomic {} of 64 bits", operation.name())),
        _ => atomic.ty,
    };
    let (order, scope) = (word(body, RELAXED)?, word(body, atomic.scope)?);
    let volatile = body.const_bool(true);
    call(body, &name, result, &[atomic.pointer, value, order, scope, volatile], Effect::Memory)
}

/// Builds `atomic_load_explicit`.
///
/// # Errors
/// If the pointer does not point to an atomic in device or threadgroup memory.
pub fn atomic_load(body: &mut FunctionBuilder<'_>, pointer: ValueId) -> Result<ValueId> {
    let atomic = Atomic::new(body, pointer)?;
    let name = atomic.name(body, "load", None)?;
    let (order, scope) = (word(body, RELAXED)?, word(body, atomic.scope)?);
    let volatile = body.const_bool(true);
    call(body, &name, atomic.ty, &[atomic.pointer, order, scope, volatile], Effect::Memory)
}

/// Builds `atomic_store_explicit`.
///
/// # Errors
/// If the pointer does not point to an atomic of the value's type in device or threadgroup memory.
pub fn atomic_store(body: &mut FunctionBuilder<'_>, pointer: ValueId, value: ValueId) -> Result<()> {
    let atomic = Atomic::new(body, pointer)?;
    if body.type_of(value)? != atomic.ty {
        return refused("atomic store of a value of another type");
    }
    let (name, void) = (atomic.name(body, "store", None)?, body.void());
    let (order, scope) = (word(body, RELAXED)?, word(body, atomic.scope)?);
    let volatile = body.const_bool(true);
    call(body, &name, void, &[atomic.pointer, value, order, scope, volatile], Effect::Memory).map(drop)
}

/// Builds `atomic_compare_exchange_weak_explicit`. `expected` points to a variable of the thread, which gets the value
/// before the operation; that is the result too.
///
/// # Errors
/// If the pointers don't point to an atomic and a variable of the value's type.
pub fn atomic_compare_exchange(
    body: &mut FunctionBuilder<'_>,
    pointer: ValueId,
    expected: ValueId,
    desired: ValueId,
) -> Result<ValueId> {
    let atomic = Atomic::new(body, pointer)?;
    if body.type_of(desired)? != atomic.ty || body.type_of(expected)? != body.pointer(atomic.ty, 0)? {
        return refused("atomic exchange of a value of another type");
    }
    let name = atomic.name(body, "cmpxchg.weak", None)?;
    let (order, scope) = (word(body, RELAXED)?, word(body, atomic.scope)?);
    let volatile = body.const_bool(true);
    let arguments = [atomic.pointer, expected, desired, order, order, scope, volatile];
    call(body, &name, atomic.ty, &arguments, Effect::Memory)
}

/// What a function that exchanges values takes besides the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    /// Nothing.
    Alone,
    /// A lane, a mask or a distance, as `ushort`.
    Lane,
}

/// The functions that exchange values: name, and what they take besides the value.
const EXCHANGES: [(&str, Exchange); 16] = [
    ("sum", Exchange::Alone),
    ("product", Exchange::Alone),
    ("min", Exchange::Alone),
    ("max", Exchange::Alone),
    ("and", Exchange::Alone),
    ("or", Exchange::Alone),
    ("prefix_inclusive_sum", Exchange::Alone),
    ("prefix_exclusive_sum", Exchange::Alone),
    ("prefix_inclusive_product", Exchange::Alone),
    ("prefix_exclusive_product", Exchange::Alone),
    ("broadcast_first", Exchange::Alone),
    ("broadcast", Exchange::Lane),
    ("shuffle", Exchange::Lane),
    ("shuffle_xor", Exchange::Lane),
    ("shuffle_up", Exchange::Lane),
    ("shuffle_down", Exchange::Lane),
];

/// Builds a function that the threads of a SIMD group call together, by its name without `simd_`: `sum`, `shuffle`.
///
/// # Errors
/// If there is no such function, or it takes other operands.
pub fn simd(
    body: &mut FunctionBuilder<'_>,
    name: &str,
    class: Class,
    operands: &[ValueId],
) -> Result<ValueId> {
    exchange(body, "simd", name, class, operands)
}

/// Builds a function that the threads of a quad group call together, by its name without `quad_`. Of these, only `sum`
/// was seen in modules of Apple's compiler; the others are named like those of SIMD groups.
///
/// # Errors
/// If there is no such function, or it takes other operands.
pub fn quad(
    body: &mut FunctionBuilder<'_>,
    name: &str,
    class: Class,
    operands: &[ValueId],
) -> Result<ValueId> {
    exchange(body, "quad", name, class, operands)
}

fn exchange(
    body: &mut FunctionBuilder<'_>,
    group: &str,
    name: &str,
    class: Class,
    operands: &[ValueId],
) -> Result<ValueId> {
    let Some(&(_, form)) = EXCHANGES.iter().find(|(known, _)| *known == name) else {
        return refused(format!("AIR has no function {group}_{name}"));
    };
    let lane = body.integer(16)?;
    let (ty, fits) = match (form, operands) {
        (Exchange::Alone, &[value]) => (body.type_of(value)?, true),
        (Exchange::Lane, &[value, at]) => (body.type_of(value)?, body.type_of(at)? == lane),
        _ => return refused(format!("{group}_{name} takes other operands")),
    };
    let types = &body.module().types;
    let is_integer = matches!(types.get(types.scalar(ty)), Type::Integer(2..));
    if !fits || !(is_integer || types.is_float(ty)) {
        return refused(format!("{group}_{name} does not take {}", body.type_text(ty)));
    }
    let letter = match class {
        _ if !is_integer => "",
        Class::Signed => "s.",
        _ => "u.",
    };
    let name = format!("air.{group}_{name}.{letter}{}", suffix(body, ty)?);
    call(body, &name, ty, operands, Effect::Convergent)
}
