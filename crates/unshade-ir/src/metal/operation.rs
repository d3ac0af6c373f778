//! Operations of Metal's library: what `air.*` functions mean.
//!
//! One table has a row per operation: the stem of AIR's name, the name in the language, the effect, and the kinds of the
//! result and the inputs as letters:
//!
//! | letter | kind | letter | kind |
//! |---|---|---|---|
//! | `f` | floating-point number | `b` | boolean |
//! | `i`, `u` | signed, unsigned integer | `p` | pointer |
//! | `c` | integer with the sign of the class | `h` | handle: a texture, a sampler, a table |
//! | `a` | any number; the result has the kind of the `a` inputs | `m` | constant that the text leaves out |
//! | `x` | any value | `-` | none |
//!
//! AIR's names are `air.` stem `.` class `.` types. The class is the sign of integers; the prefix `fast_` is a class, too.
//!
//! Knowledge: 457 names of 91,777 modules of Apple's compilers with the sources of some, Apple's Metal Shading Language
//! specification, and the names that DXMT and GPUCompiler write.

use crate::intrinsic::Effect;
use std::fmt::{Display, Formatter, Result};

/// How an operation reads its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// As its name says.
    Plain,
    /// As signed integers.
    Signed,
    /// As unsigned integers.
    Unsigned,
    /// As floating-point numbers, with less precision.
    Fast,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MetalOp {
    number: u16,
    /// How it reads its numbers.
    pub class: Class,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The stem of AIR's name.
    pub stem: &'static str,
    /// The name in the language; empty if it has a form of its own.
    pub name: &'static str,
    /// Its effect.
    pub effect: Effect,
    /// The kind of its result, and those of its inputs.
    letters: (&'static str, &'static str),
}

const fn row(
    stem: &'static str,
    name: &'static str,
    effect: Effect,
    result: &'static str,
    inputs: &'static str,
) -> Row {
    Row { stem, name, effect, letters: (result, inputs) }
}

use Effect::{Changes, None as Pure, Reads};

/// All operations.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Floating-point numbers.
    row("acos", "acos", Pure, "f", "f"),
    row("acosh", "acosh", Pure, "f", "f"),
    row("asin", "asin", Pure, "f", "f"),
    row("asinh", "asinh", Pure, "f", "f"),
    row("atan", "atan", Pure, "f", "f"),
    row("atan2", "atan2", Pure, "f", "ff"),
    row("atanh", "atanh", Pure, "f", "f"),
    row("ceil", "ceil", Pure, "f", "f"),
    row("copysign", "copysign", Pure, "f", "ff"),
    row("cos", "cos", Pure, "f", "f"),
    row("cosh", "cosh", Pure, "f", "f"),
    row("cospi", "cospi", Pure, "f", "f"),
    row("dot", "dot", Pure, "f", "ff"),
    row("exp", "exp", Pure, "f", "f"),
    row("exp10", "exp10", Pure, "f", "f"),
    row("exp2", "exp2", Pure, "f", "f"),
    row("fabs", "fabs", Pure, "f", "f"),
    row("fdim", "fdim", Pure, "f", "ff"),
    row("floor", "floor", Pure, "f", "f"),
    row("fma", "fma", Pure, "f", "fff"),
    row("fmax", "fmax", Pure, "f", "ff"),
    row("fmax3", "fmax3", Pure, "f", "fff"),
    row("fmedian3", "fmedian3", Pure, "f", "fff"),
    row("fmin", "fmin", Pure, "f", "ff"),
    row("fmin3", "fmin3", Pure, "f", "fff"),
    row("fmod", "fmod", Pure, "f", "ff"),
    row("fract", "fract", Pure, "f", "f"),
    row("frexp", "frexp", Changes, "f", "fp"),
    row("ilogb", "ilogb", Pure, "i", "f"),
    row("ldexp", "ldexp", Pure, "f", "fi"),
    row("log", "log", Pure, "f", "f"),
    row("log10", "log10", Pure, "f", "f"),
    row("log2", "log2", Pure, "f", "f"),
    row("mix", "mix", Pure, "f", "fff"),
    row("modf", "modf", Changes, "f", "fp"),
    row("nextafter", "nextafter", Pure, "f", "ff"),
    row("pow", "pow", Pure, "f", "ff"),
    row("powr", "powr", Pure, "f", "ff"),
    row("rint", "rint", Pure, "f", "f"),
    row("round", "round", Pure, "f", "f"),
    row("rsqrt", "rsqrt", Pure, "f", "f"),
    row("saturate", "saturate", Pure, "f", "f"),
    row("sign", "sign", Pure, "f", "f"),
    row("sin", "sin", Pure, "f", "f"),
    row("sincos", "sincos", Changes, "f", "fp"),
    row("sinh", "sinh", Pure, "f", "f"),
    row("sinpi", "sinpi", Pure, "f", "f"),
    row("smoothstep", "smoothstep", Pure, "f", "fff"),
    row("sqrt", "sqrt", Pure, "f", "f"),
    row("step", "step", Pure, "f", "ff"),
    row("tan", "tan", Pure, "f", "f"),
    row("tanh", "tanh", Pure, "f", "f"),
    row("tanpi", "tanpi", Pure, "f", "f"),
    row("trunc", "trunc", Pure, "f", "f"),
    // A product and a sum that may be rounded once.
    row("fmuladd", "", Pure, "f", "fff"),
    row("dfdx", "dfdx", Reads, "f", "f"),
    row("dfdy", "dfdy", Reads, "f", "f"),
    row("fwidth", "fwidth", Reads, "f", "f"),
    // Integers. Clamp is for both.
    row("abs", "abs", Pure, "c", "c"),
    row("abs_diff", "absdiff", Pure, "u", "cc"),
    row("add_sat", "addsat", Pure, "c", "cc"),
    row("sub_sat", "subsat", Pure, "c", "cc"),
    row("clamp", "clamp", Pure, "c", "ccc"),
    row("clz", "clz", Pure, "u", "um"),
    row("ctz", "ctz", Pure, "u", "um"),
    row("hadd", "hadd", Pure, "c", "cc"),
    row("rhadd", "rhadd", Pure, "c", "cc"),
    row("mad_hi", "madhi", Pure, "c", "ccc"),
    row("mad_sat", "madsat", Pure, "c", "ccc"),
    row("mad24", "mad24", Pure, "c", "ccc"),
    row("mul24", "mul24", Pure, "c", "cc"),
    row("mul_hi", "mulhi", Pure, "c", "cc"),
    row("max", "max", Pure, "c", "cc"),
    row("max3", "max3", Pure, "c", "ccc"),
    row("median3", "median3", Pure, "c", "ccc"),
    row("min", "min", Pure, "c", "cc"),
    row("min3", "min3", Pure, "c", "ccc"),
    row("popcount", "popcount", Pure, "u", "u"),
    row("reverse_bits", "reverse_bits", Pure, "u", "u"),
    row("rotate", "rotate", Pure, "u", "uu"),
    row("extract_bits", "extract_bits", Pure, "c", "cuu"),
    row("insert_bits", "insert_bits", Pure, "c", "ccuu"),
    row("all", "all", Pure, "b", "b"),
    row("any", "any", Pure, "b", "b"),
    // A shift of two words: upper, lower, count.
    row("funnel_left", "", Pure, "u", "uuu"),
    row("funnel_right", "", Pure, "u", "uuu"),
    // Bytes and words as floating-point numbers.
    row("pack.unorm4x8.srgb", "pack_float_to_srgb_unorm4x8", Pure, "u", "f"),
    row("pack.unorm4x8", "pack_float_to_unorm4x8", Pure, "u", "f"),
    row("pack.snorm4x8", "pack_float_to_snorm4x8", Pure, "u", "f"),
    row("pack.unorm2x16", "pack_float_to_unorm2x16", Pure, "u", "f"),
    row("pack.snorm2x16", "pack_float_to_snorm2x16", Pure, "u", "f"),
    row("unpack.unorm4x8.srgb", "unpack_unorm4x8_srgb_to_float", Pure, "f", "u"),
    row("unpack.unorm4x8", "unpack_unorm4x8_to_float", Pure, "f", "u"),
    row("unpack.snorm4x8", "unpack_snorm4x8_to_float", Pure, "f", "u"),
    row("unpack.unorm2x16", "unpack_unorm2x16_to_float", Pure, "f", "u"),
    row("unpack.snorm2x16", "unpack_snorm2x16_to_float", Pure, "f", "u"),
    // Threads of a simdgroup or of a quad.
    row("simd_active_threads_mask", "", Reads, "u", ""),
    row("simd_all", "simd_all", Reads, "b", "b"),
    row("simd_and", "simd_and", Reads, "a", "a"),
    row("simd_any", "simd_any", Reads, "b", "b"),
    row("simd_ballot", "", Reads, "u", "b"),
    row("simd_broadcast", "simd_broadcast", Reads, "a", "au"),
    row("simd_broadcast_first", "simd_broadcast_first", Reads, "a", "a"),
    row("simd_is_first", "simd_is_first", Reads, "b", ""),
    row("simd_is_helper_thread", "simd_is_helper_thread", Reads, "b", ""),
    row("simd_max", "simd_max", Reads, "a", "a"),
    row("simd_min", "simd_min", Reads, "a", "a"),
    row("simd_or", "simd_or", Reads, "a", "a"),
    row("simd_prefix_exclusive_product", "simd_prefix_exclusive_product", Reads, "a", "a"),
    row("simd_prefix_exclusive_sum", "simd_prefix_exclusive_sum", Reads, "a", "a"),
    row("simd_prefix_inclusive_product", "simd_prefix_inclusive_product", Reads, "a", "a"),
    row("simd_prefix_inclusive_sum", "simd_prefix_inclusive_sum", Reads, "a", "a"),
    row("simd_product", "simd_product", Reads, "a", "a"),
    row("simd_shuffle", "simd_shuffle", Reads, "a", "au"),
    row("simd_shuffle_and_fill_down", "simd_shuffle_and_fill_down", Reads, "a", "aauu"),
    row("simd_shuffle_and_fill_up", "simd_shuffle_and_fill_up", Reads, "a", "aauu"),
    row("simd_shuffle_down", "simd_shuffle_down", Reads, "a", "au"),
    row("simd_shuffle_rotate_down", "simd_shuffle_rotate_down", Reads, "a", "au"),
    row("simd_shuffle_rotate_up", "simd_shuffle_rotate_up", Reads, "a", "au"),
    row("simd_shuffle_up", "simd_shuffle_up", Reads, "a", "au"),
    row("simd_shuffle_xor", "simd_shuffle_xor", Reads, "a", "au"),
    row("simd_sum", "simd_sum", Reads, "a", "a"),
    row("simd_vote_all", "", Pure, "b", "u"),
    row("simd_vote_any", "", Pure, "b", "u"),
    row("simd_xor", "simd_xor", Reads, "a", "a"),
    row("quad_all", "quad_all", Reads, "b", "b"),
    row("quad_and", "quad_and", Reads, "a", "a"),
    row("quad_any", "quad_any", Reads, "b", "b"),
    row("quad_ballot", "", Reads, "u", "b"),
    row("quad_broadcast", "quad_broadcast", Reads, "a", "au"),
    row("quad_broadcast_first", "quad_broadcast_first", Reads, "a", "a"),
    row("quad_is_first", "quad_is_first", Reads, "b", ""),
    row("quad_max", "quad_max", Reads, "a", "a"),
    row("quad_min", "quad_min", Reads, "a", "a"),
    row("quad_or", "quad_or", Reads, "a", "a"),
    row("quad_product", "quad_product", Reads, "a", "a"),
    row("quad_shuffle", "quad_shuffle", Reads, "a", "au"),
    row("quad_shuffle_down", "quad_shuffle_down", Reads, "a", "au"),
    row("quad_shuffle_up", "quad_shuffle_up", Reads, "a", "au"),
    row("quad_shuffle_xor", "quad_shuffle_xor", Reads, "a", "au"),
    row("quad_sum", "quad_sum", Reads, "a", "a"),
    row("quad_xor", "quad_xor", Reads, "a", "a"),
    row("get_simdgroup_size", "", Reads, "u", ""),
    row("get_thread_index_in_simdgroup", "", Reads, "u", ""),
    row("get_thread_index_in_quadgroup", "", Reads, "u", ""),
    // Barriers: flags, then scopes and orders.
    row("wg.barrier", "threadgroup_barrier", Changes, "-", "mmm"),
    row("simdgroup.barrier", "simdgroup_barrier", Changes, "-", "mmm"),
    row("atomic.fence", "atomic_thread_fence", Changes, "-", "mmm"),
    // Atomic operations: address, values, then orders, scope and whether it is volatile.
    row("atomic.add", "atomic_fetch_add_explicit", Changes, "a", "pammm"),
    row("atomic.sub", "atomic_fetch_sub_explicit", Changes, "a", "pammm"),
    row("atomic.min", "atomic_fetch_min_explicit", Changes, "a", "pammm"),
    row("atomic.max", "atomic_fetch_max_explicit", Changes, "a", "pammm"),
    row("atomic.and", "atomic_fetch_and_explicit", Changes, "a", "pammm"),
    row("atomic.or", "atomic_fetch_or_explicit", Changes, "a", "pammm"),
    row("atomic.xor", "atomic_fetch_xor_explicit", Changes, "a", "pammm"),
    row("atomic.xchg", "atomic_exchange_explicit", Changes, "a", "pammm"),
    row("atomic.load", "atomic_load_explicit", Changes, "a", "pmmm"),
    row("atomic.store", "atomic_store_explicit", Changes, "-", "pammm"),
    row("atomic.cmpxchg.weak", "atomic_compare_exchange_weak_explicit", Changes, "a", "ppammmm"),
    // Memory.
    row("copy_memory", "", Changes, "-", "ppm"),
    row("set_memory", "", Changes, "-", "pam"),
    // Memory of the thread, in bytes: tensors have sizes that functions of the compiler know.
    row("allocate", "__builtin_alloca", Changes, "p", "u"),
    // Matrices of a simdgroup.
    row("simdgroup_matrix_8x8_init_diag", "", Pure, "x", "f"),
    row("simdgroup_matrix_8x8_init_filled", "", Pure, "x", "f"),
    row("simdgroup_matrix_8x8_load", "simdgroup_load", Reads, "x", "puub"),
    row("simdgroup_matrix_8x8_store", "simdgroup_store", Changes, "-", "xpuub"),
    row("simdgroup_matrix_8x8_multiply_accumulate", "simdgroup_multiply_accumulate", Reads, "x", "xxx"),
    // Fragments.
    row("discard_fragment", "discard_fragment", Changes, "-", ""),
    // Meshes: the mesh, then the number of a vertex or primitive; user data have their own number before it.
    row("set_primitive_count_mesh", "set_primitive_count", Changes, "-", "hu"),
    row("set_index_mesh", "set_index", Changes, "-", "huu"),
    row("set_position_mesh", "set_vertex", Changes, "-", "huf"),
    row("set_point_size_mesh", "set_vertex", Changes, "-", "huf"),
    row("set_vertex_data_mesh", "set_vertex", Changes, "-", "huux"),
    row("set_primitive_data_mesh", "set_primitive", Changes, "-", "huux"),
    row("set_render_target_array_index_mesh", "set_primitive", Changes, "-", "huu"),
    row("set_viewport_array_index_mesh", "set_primitive", Changes, "-", "huu"),
    row("set_threadgroups_per_grid_mesh_properties", "set_threadgroups_per_grid", Changes, "-", "hu"),
    // Textures. Their inputs depend on the kind of texture.
    row("sample_texture", "sample", Reads, "a", "hh"),
    row("sample_texture_grad", "sample", Reads, "a", "hh"),
    row("sample_depth", "sample", Reads, "f", "hh"),
    row("sample_compare_depth", "sample_compare", Reads, "f", "hh"),
    row("gather_texture", "gather", Reads, "a", "hh"),
    row("gather_depth", "gather", Reads, "f", "hh"),
    row("gather_compare_depth", "gather_compare", Reads, "f", "hh"),
    row("read_texture", "read", Reads, "a", "h"),
    row("read_depth", "read", Reads, "f", "h"),
    row("write_texture", "write", Changes, "-", "h"),
    row("get_width", "get_width", Pure, "u", "h"),
    row("get_height", "get_height", Pure, "u", "h"),
    row("get_depth", "get_depth", Pure, "u", "h"),
    row("get_array_size", "get_array_size", Pure, "u", "h"),
    row("get_num_mip_levels", "get_num_mip_levels", Pure, "u", "h"),
    row("get_num_samples", "get_num_samples", Pure, "u", "h"),
    row("fence_texture", "fence", Changes, "-", "h"),
    // Function constants.
    row("is_function_constant_defined", "is_function_constant_defined", Pure, "b", "p"),
    row("normalize_function_constant_predicate", "", Pure, "u", "u"),
    row("is_null_texture", "is_null_texture", Pure, "b", "h"),
];

/// The operations on textures, whose names go on with the kind of texture.
const TEXTURE_STEMS: [&str; 16] = [
    "sample_compare_depth",
    "sample_texture",
    "sample_depth",
    "gather_compare_depth",
    "gather_texture",
    "gather_depth",
    "read_texture",
    "read_depth",
    "write_texture",
    "get_num_mip_levels",
    "get_num_samples",
    "get_array_size",
    "get_width",
    "get_height",
    "get_depth",
    "fence_texture",
];

impl MetalOp {
    /// Returns the operation with a stem.
    pub fn by_stem(stem: &str, class: Class) -> Option<Self> {
        let number = ROWS.iter().position(|row| row.stem == stem)?;
        Some(Self { number: u16::try_from(number).ok()?, class })
    }

    /// Returns the operation that a function of AIR is, by its name without `air.`.
    pub fn by_name(name: &str) -> Option<Self> {
        if let Some(rest) = name.strip_prefix("fast_") {
            return Self::with_types(rest, Class::Fast);
        }
        for space in ["atomic.global.", "atomic.local."] {
            if let Some(rest) = name.strip_prefix(space) {
                return Self::with_types(&format!("atomic.{rest}"), Class::Plain);
            }
        }
        let texture = TEXTURE_STEMS
            .iter()
            .find(|stem| name.strip_prefix(**stem).is_some_and(|rest| rest.starts_with('_')));
        match texture {
            Some(stem) if !name.contains("_grad") => return Self::by_stem(stem, class_of(name)),
            // Of the depth kinds and with compare, too.
            Some(&"sample_texture") => return Self::by_stem("sample_texture_grad", class_of(name)),
            _ => {}
        }
        Self::with_types(name, Class::Plain)
    }

    /// Returns the operation whose stem a name starts with; class and types follow.
    fn with_types(name: &str, class: Class) -> Option<Self> {
        let mut end = name.len();
        loop {
            let stem = &name[..end];
            if let Some(found) = Self::by_stem(stem, class) {
                let class = if class == Class::Plain { class_of(&name[end..]) } else { class };
                return Some(Self { class, ..found });
            }
            end = stem.rfind('.')?;
        }
    }

    /// Returns its row.
    pub fn row(self) -> &'static Row {
        ROWS.get(usize::from(self.number)).unwrap_or(&ROWS[0])
    }

    /// Returns whether the language has it as a statement that sets a variable.
    pub fn sets_variables(self) -> bool {
        matches!(
            self.row().stem,
            "simdgroup_matrix_8x8_load" | "simdgroup_matrix_8x8_multiply_accumulate" | "atomic.cmpxchg.weak"
        )
    }

    /// Returns its effect.
    #[inline]
    pub fn effect(self) -> Effect {
        self.row().effect
    }

    /// Returns the letter of its result.
    pub fn result(self) -> char {
        self.row().letters.0.chars().next().unwrap_or('-')
    }

    /// Returns the letter of an input; `x` for further ones.
    pub fn input(self, index: usize) -> char {
        self.row().letters.1.chars().nth(index).unwrap_or('x')
    }
}

/// Returns the class in the rest of a name.
fn class_of(rest: &str) -> Class {
    match rest.split('.').find(|part| matches!(*part, "s" | "u")) {
        Some("s") => Class::Signed,
        Some(_) => Class::Unsigned,
        None => Class::Plain,
    }
}

impl Display for MetalOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let class = match self.class {
            Class::Plain => "",
            Class::Signed => ".s",
            Class::Unsigned => ".u",
            Class::Fast => return write!(f, "fast_{}", self.row().stem),
        };
        write!(f, "{}{class}", self.row().stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_stem_class_and_types() {
        let found = |name: &str| MetalOp::by_name(name).map(|op| (op.row().stem, op.class));
        assert_eq!(found("max.s.i32"), Some(("max", Class::Signed)));
        assert_eq!(found("fast_exp.f32"), Some(("exp", Class::Fast)));
        assert_eq!(found("pack.unorm4x8.srgb.v4f32"), Some(("pack.unorm4x8.srgb", Class::Plain)));
        assert_eq!(found("atomic.global.add.u.i32"), Some(("atomic.add", Class::Unsigned)));
        assert_eq!(found("atomic.fence"), Some(("atomic.fence", Class::Plain)));
        assert_eq!(found("simd_shuffle_xor.u.i32"), Some(("simd_shuffle_xor", Class::Unsigned)));
        assert_eq!(found("sample_texture_2d.v4f32"), Some(("sample_texture", Class::Plain)));
        assert_eq!(found("sample_texture_cube_grad.v4f32"), Some(("sample_texture_grad", Class::Plain)));
        assert_eq!(found("read_texture_cube.u.v4i32"), Some(("read_texture", Class::Unsigned)));
        assert_eq!(found("no_such_function.f32"), None);
    }

    #[test]
    fn texts_name_operations() {
        for row in ROWS {
            for class in [Class::Plain, Class::Signed, Class::Unsigned, Class::Fast] {
                let Some(op) = MetalOp::by_stem(row.stem, class) else { panic!("{}", row.stem) };
                assert_eq!(MetalOp::by_name(&op.to_string()).map(|op| op.row().stem), Some(row.stem));
            }
        }
    }
}
