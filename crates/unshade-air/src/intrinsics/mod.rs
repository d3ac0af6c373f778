//! Calls of `air.*` functions, which are declared as they are called.
//!
//! | file | holds |
//! |---|---|
//! | this one | mathematics and conversions |
//! | `threads` | barriers, atomics, and what the threads of a group exchange |
//! | `images` | sampling, reading and writing of textures |
//!
//! The name of a function says what its operands are: `air.` what it does, a letter for the kind of integers if that
//! matters (`s` or `u`), and a type: `air.max.u.v2i32`.

mod images;
mod threads;

pub use images::{Level, Place, gather, gather_compare, read, sample, sample_compare, size, write};
pub use threads::{
    AtomicOperation, MemoryFlags, atomic, atomic_compare_exchange, atomic_load, atomic_store,
    discard_fragment, quad, simd, simdgroup_barrier, threadgroup_barrier,
};

use crate::refused;
use crate::shader::suffix;
use crate::types::Class;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::build::{Attr, AttributePlace, CallOptions, FunctionBuilder};
use unshade_llvm::types::Type;
use unshade_llvm::value::Operand;
use unshade_llvm::{TypeId, ValueId};

/// What a function does besides its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    None,
    /// It depends on the other threads that call it.
    Convergent,
    /// It synchronises threads.
    Synchronizes,
    /// It accesses what its arguments point to.
    Memory,
    /// It reads a texture; that depends on the threads around if the level does.
    ReadsTexture,
    /// It has other effects.
    Any,
}

impl Effect {
    fn attributes(self) -> &'static [Attr<'static>] {
        const PURE: [Attr<'_>; 6] = [
            Attr::Flag("mustprogress"),
            Attr::Flag("nofree"),
            Attr::Flag("nosync"),
            Attr::Flag("nounwind"),
            Attr::Flag("readnone"),
            Attr::Flag("willreturn"),
        ];
        match self {
            Self::None => &PURE,
            Self::Convergent => &[
                Attr::Flag("convergent"),
                Attr::Flag("mustprogress"),
                Attr::Flag("nofree"),
                Attr::Flag("nounwind"),
                Attr::Flag("readnone"),
                Attr::Flag("willreturn"),
            ],
            Self::Synchronizes => &[
                Attr::Flag("convergent"),
                Attr::Flag("mustprogress"),
                Attr::Flag("nounwind"),
                Attr::Flag("willreturn"),
            ],
            Self::Memory => &[
                Attr::Flag("argmemonly"),
                Attr::Flag("mustprogress"),
                Attr::Flag("nounwind"),
                Attr::Flag("willreturn"),
            ],
            Self::ReadsTexture => &[
                Attr::Flag("argmemonly"),
                Attr::Flag("convergent"),
                Attr::Flag("nofree"),
                Attr::Flag("nounwind"),
                Attr::Flag("readonly"),
                Attr::Flag("willreturn"),
            ],
            Self::Any => &[Attr::Flag("nounwind")],
        }
    }
}

/// Builds a call of a function, which is declared if the module does not have it.
fn call(
    body: &mut FunctionBuilder<'_>,
    name: &str,
    result: TypeId,
    arguments: &[ValueId],
    effect: Effect,
) -> Result<ValueId> {
    let types: Vec<TypeId> = arguments.iter().map(|&id| body.type_of(id)).collect::<Result<_>>()?;
    let ty = body.function_type(result, &types)?;
    let function = body.function(name, ty)?;
    let attributes = body.attributes(&[(AttributePlace::Function, effect.attributes())])?;
    body.set_attributes(function, attributes)?;
    // A tail call can't access the variables of its caller.
    let tail = !types.iter().any(|&ty| body.module().types.address_space(ty) == Some(0));
    let options = CallOptions { attributes, tail, ..CallOptions::default() };
    let operands: Vec<Operand> = arguments.iter().map(|&id| Operand::value(id)).collect();
    body.call_with(ty, function, &operands, &options)
}

/// Builds a call of any other `air.*` function: by its whole name, with the type of its result.
///
/// # Errors
/// If the name does not start with `air.`, or is that of a function of another type.
pub fn other(
    body: &mut FunctionBuilder<'_>,
    name: &str,
    result: TypeId,
    arguments: &[ValueId],
) -> Result<ValueId> {
    if !name.starts_with("air.") {
        return refused(format!("{name} is no function of AIR"));
    }
    call(body, name, result, arguments, Effect::Any)
}

/// What a mathematical function takes and returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Floating-point numbers of one type, which it returns.
    Float,
    /// The same, and it has a fast form for `float`.
    FloatOrFast,
    /// Integers of one type, whose kind its name says.
    Integer,
    /// Both.
    Number,
    /// Integers, whatever their kind.
    Bits,
    /// The same, with a flag whether zero is undefined.
    CountZeros,
    /// Vectors; it returns a number.
    Dot,
    /// A number and an integer exponent.
    Exponent,
    /// A vector of truth values; it returns one.
    Truths,
}

/// The mathematical functions that real modules call, and those that other writers of AIR emit: name, number of
/// operands, what they take.
#[rustfmt::skip]
const MATH: [(&str, usize, Form); 58] = [
    ("abs", 1, Form::Integer), ("acos", 1, Form::FloatOrFast), ("acosh", 1, Form::FloatOrFast),
    ("all", 1, Form::Truths), ("any", 1, Form::Truths),
    ("asin", 1, Form::FloatOrFast), ("asinh", 1, Form::FloatOrFast), ("atan", 1, Form::FloatOrFast),
    ("atan2", 2, Form::FloatOrFast), ("atanh", 1, Form::FloatOrFast), ("ceil", 1, Form::FloatOrFast),
    ("clamp", 3, Form::Number), ("clz", 1, Form::CountZeros),
    ("cos", 1, Form::FloatOrFast), ("cosh", 1, Form::FloatOrFast), ("cospi", 1, Form::FloatOrFast),
    ("ctz", 1, Form::CountZeros), ("dfdx", 1, Form::Float), ("dfdy", 1, Form::Float), ("dot", 2, Form::Dot),
    ("exp", 1, Form::FloatOrFast), ("exp10", 1, Form::FloatOrFast), ("exp2", 1, Form::FloatOrFast),
    ("fabs", 1, Form::FloatOrFast), ("floor", 1, Form::FloatOrFast),
    ("fma", 3, Form::Float), ("fmax", 2, Form::FloatOrFast), ("fmax3", 3, Form::FloatOrFast),
    ("fmin", 2, Form::FloatOrFast), ("fmin3", 3, Form::FloatOrFast),
    ("fmod", 2, Form::FloatOrFast), ("fract", 1, Form::FloatOrFast),
    ("ldexp", 2, Form::Exponent), ("log", 1, Form::FloatOrFast),
    ("log10", 1, Form::FloatOrFast), ("log2", 1, Form::FloatOrFast), ("max", 2, Form::Integer),
    ("max3", 3, Form::Integer), ("min", 2, Form::Integer),
    ("min3", 3, Form::Integer), ("mul_hi", 2, Form::Integer), ("nextafter", 2, Form::Float),
    ("popcount", 1, Form::Bits), ("pow", 2, Form::FloatOrFast), ("powr", 2, Form::FloatOrFast),
    ("reverse_bits", 1, Form::Bits), ("rint", 1, Form::FloatOrFast),
    ("round", 1, Form::FloatOrFast), ("rsqrt", 1, Form::FloatOrFast),
    ("saturate", 1, Form::FloatOrFast), ("sin", 1, Form::FloatOrFast), ("sinh", 1, Form::FloatOrFast),
    ("sinpi", 1, Form::FloatOrFast), ("sqrt", 1, Form::FloatOrFast),
    ("tan", 1, Form::FloatOrFast), ("tanh", 1, Form::FloatOrFast), ("tanpi", 1, Form::FloatOrFast),
    ("trunc", 1, Form::FloatOrFast),
];

/// Builds a call of a mathematical function by its name in AIR: `sqrt`, or `fast_sqrt` for the fast form of a `float`.
/// `class` says which integers the operands are; it does not matter for others.
///
/// ```
/// # use unshade_air::entry::Signature;
/// # use unshade_air::intrinsics;
/// # use unshade_air::shader::Shader;
/// # use unshade_air::types::Class;
/// # use unshade_metallib::{Platform, target::Target};
/// # let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
/// # let mut shader = Shader::new(target, &Signature::kernel("f"))?;
/// let mut body = shader.body()?;
/// let (float, int) = (body.float(), body.integer(32)?);
/// let (two, minus) = (body.const_float(float, 2.0)?, body.const_int(int, -5)?);
/// intrinsics::math(&mut body, "fast_sqrt", Class::Float, &[two])?; // air.fast_sqrt.f32
/// intrinsics::math(&mut body, "max", Class::Signed, &[minus, minus])?; // air.max.s.i32
/// # Ok::<(), unshade_core::Error>(())
/// ```
///
/// # Errors
/// If there is no such function, or it takes other operands.
pub fn math(
    body: &mut FunctionBuilder<'_>,
    name: &str,
    class: Class,
    operands: &[ValueId],
) -> Result<ValueId> {
    let (plain, is_fast) = match name.strip_prefix("fast_") {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    let Some(&(_, count, form)) = MATH.iter().find(|(known, ..)| *known == plain) else {
        return refused(format!("AIR has no function {name}"));
    };
    let types: Vec<TypeId> = operands.iter().map(|&id| body.type_of(id)).collect::<Result<_>>()?;
    let (Some(&ty), true) = (types.first(), types.len() == count) else {
        return refused(format!("{name} takes {count} operands"));
    };
    let table = &body.module().types;
    let scalar = table.scalar(ty);
    let (of, is_float) = (table.get(scalar), table.is_float(ty));
    let is_integer = matches!(of, Type::Integer(_));
    let is_vector = ty != scalar;
    let has_fast = form == Form::FloatOrFast || form == Form::Number;
    let fits = match form {
        Form::Float | Form::FloatOrFast | Form::Exponent => is_float,
        Form::Integer | Form::Bits | Form::CountZeros => is_integer,
        Form::Number => is_float || is_integer,
        Form::Dot => is_vector && is_float,
        Form::Truths => is_vector && of == Type::Integer(1),
    };
    let same = form == Form::Exponent || types.iter().all(|&other| other == ty);
    if !fits || !same || (is_fast && !(has_fast && of == Type::Float)) {
        let shown: Vec<String> = types.iter().map(|&ty| body.type_text(ty)).collect();
        return refused(format!("{name} does not take {}", shown.join(", ")));
    }
    let mut full = format!("air.{name}");
    if is_integer && matches!(form, Form::Integer | Form::Number) {
        full.push('.');
        full.push(if class == Class::Signed { 's' } else { 'u' });
    }
    full.push('.');
    full.push_str(&suffix(body, ty)?);
    let mut arguments = operands.to_vec();
    if form == Form::CountZeros {
        arguments.push(body.const_bool(false));
    }
    let result = if matches!(form, Form::Dot | Form::Truths) { scalar } else { ty };
    let effect = if matches!(plain, "dfdx" | "dfdy") { Effect::Convergent } else { Effect::None };
    call(body, &full, result, &arguments, effect)
}

/// Builds `sincos`: returns the sine, and stores the cosine to a variable of the thread.
///
/// # Errors
/// If the operand is no floating-point number, or the pointer does not point to its type.
pub fn sincos(
    body: &mut FunctionBuilder<'_>,
    value: ValueId,
    cosine: ValueId,
    is_fast: bool,
) -> Result<ValueId> {
    let ty = body.type_of(value)?;
    if !body.module().types.is_float(ty) || body.pointer(ty, 0)? != body.type_of(cosine)? {
        return refused("sincos takes a number and a pointer to one");
    }
    let fast = if is_fast { "fast_" } else { "" };
    let name = format!("air.{fast}sincos.{}", suffix(body, ty)?);
    call(body, &name, ty, &[value, cosine], Effect::Memory)
}

/// Builds a conversion between numbers: LLVM's casts between integers and between `half` and `float`, functions of AIR
/// for all others. Truth values are `Class::Unsigned`.
///
/// # Errors
/// If one of the types is no number, or they differ in the number of elements.
pub fn convert(
    body: &mut FunctionBuilder<'_>,
    value: ValueId,
    from: Class,
    to: TypeId,
    to_class: Class,
) -> Result<ValueId> {
    let ty = body.type_of(value)?;
    if ty == to {
        return Ok(value);
    }
    let types = &body.module().types;
    let lanes = |ty| match types.get(ty) {
        Type::Vector { count, .. } => count,
        _ => 1,
    };
    let scalars = (types.get(types.scalar(ty)), types.get(types.scalar(to)));
    if lanes(ty) != lanes(to) {
        return refused("a conversion between different numbers of elements");
    }
    match scalars {
        (Type::Integer(old), Type::Integer(new)) if new > 1 => match (new > old, from) {
            (true, Class::Signed) => body.sext(value, to),
            (true, _) => body.zext(value, to),
            (false, _) => body.trunc(value, to),
        },
        (Type::Half | Type::BFloat, Type::Float) => body.fpext(value, to),
        (Type::Float, Type::Half | Type::BFloat) => body.fptrunc(value, to),
        _ => {
            let class = |class: Class, of: Type| match of {
                Type::Integer(_) if class == Class::Float => Class::Unsigned,
                Type::Integer(_) => class,
                _ => Class::Float,
            };
            let (from, to_class) = (class(from, scalars.0), class(to_class, scalars.1));
            let name = format!(
                "air.convert.{}.{}.{}.{}",
                to_class.letter(),
                suffix(body, to)?,
                from.letter(),
                suffix(body, ty)?
            );
            call(body, &name, to, &[value], Effect::None)
        }
    }
}
