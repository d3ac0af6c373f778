//! Functions that C calls by name: CUDA's, and helpers that are printed before a function that needs them.
//!
//! [`TABLE`] is sorted by name. Types are letters: `u i f d U I D h` for 32-bit and 64-bit numbers (`U I` have 64
//! bits), `b` for a boolean, `p` for a pointer, `c` for a number that must be constant, `o` for a value of any type,
//! `-` for none.

/// An index into [`TABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Intrinsic(pub u16);

/// The effect of a call besides its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None.
    None,
    /// The result depends on when or by which thread it is called: the call has a position in the order of effects,
    /// but may be removed.
    Reads,
    /// It has side effects.
    Changes,
}

/// A function.
#[derive(Debug)]
pub struct Entry {
    /// Its name in C.
    pub name: &'static str,
    /// The types of result and inputs.
    pub types: &'static str,
    /// Its effect.
    pub effect: Effect,
    /// Whether the prelude defines it because CUDA does not; see [`crate::c::prelude`].
    pub is_helper: bool,
}

const fn pure(name: &'static str, types: &'static str) -> Entry {
    Entry { name, types, effect: Effect::None, is_helper: false }
}

const fn reads(name: &'static str, types: &'static str) -> Entry {
    Entry { name, types, effect: Effect::Reads, is_helper: false }
}

const fn changes(name: &'static str, types: &'static str) -> Entry {
    Entry { name, types, effect: Effect::Changes, is_helper: false }
}

const fn helper(name: &'static str, types: &'static str) -> Entry {
    Entry { name, types, effect: Effect::None, is_helper: true }
}

const fn reading_helper(name: &'static str, types: &'static str) -> Entry {
    Entry { name, types, effect: Effect::Reads, is_helper: true }
}

const fn changing_helper(name: &'static str, types: &'static str) -> Entry {
    Entry { name, types, effect: Effect::Changes, is_helper: true }
}

/// All functions. Overloads have a suffix after a dot, which is not printed.
pub static TABLE: &[Entry] = &[
    pure("__brev", "uu"),
    pure("__byte_perm", "uuuu"),
    pure("__cosf", "ff"),
    pure("__dadd_rd", "ddd"),
    pure("__dadd_ru", "ddd"),
    pure("__dadd_rz", "ddd"),
    pure("__ddiv_rn", "ddd"),
    pure("__dmul_rd", "ddd"),
    pure("__dmul_ru", "ddd"),
    pure("__dmul_rz", "ddd"),
    pure("__double2float_rd", "fd"),
    pure("__double2float_ru", "fd"),
    pure("__double2float_rz", "fd"),
    pure("__double2int_rd", "id"),
    pure("__double2int_rn", "id"),
    pure("__double2int_ru", "id"),
    pure("__double2int_rz", "id"),
    pure("__double2ll_rd", "Id"),
    pure("__double2ll_rn", "Id"),
    pure("__double2ll_ru", "Id"),
    pure("__double2ll_rz", "Id"),
    pure("__double2uint_rd", "ud"),
    pure("__double2uint_rn", "ud"),
    pure("__double2uint_ru", "ud"),
    pure("__double2uint_rz", "ud"),
    pure("__double2ull_rd", "Ud"),
    pure("__double2ull_rn", "Ud"),
    pure("__double2ull_ru", "Ud"),
    pure("__double2ull_rz", "Ud"),
    pure("__fadd_rd", "fff"),
    pure("__fadd_ru", "fff"),
    pure("__fadd_rz", "fff"),
    pure("__fdiv_rn", "fff"),
    pure("__float2int_rd", "if"),
    pure("__float2int_rn", "if"),
    pure("__float2int_ru", "if"),
    pure("__float2int_rz", "if"),
    pure("__float2ll_rd", "If"),
    pure("__float2ll_rn", "If"),
    pure("__float2ll_ru", "If"),
    pure("__float2ll_rz", "If"),
    pure("__float2uint_rd", "uf"),
    pure("__float2uint_rn", "uf"),
    pure("__float2uint_ru", "uf"),
    pure("__float2uint_rz", "uf"),
    pure("__float2ull_rd", "Uf"),
    pure("__float2ull_rn", "Uf"),
    pure("__float2ull_ru", "Uf"),
    pure("__float2ull_rz", "Uf"),
    pure("__fma_rd", "dddd"),
    pure("__fma_ru", "dddd"),
    pure("__fma_rz", "dddd"),
    pure("__fmaf_rd", "ffff"),
    pure("__fmaf_ru", "ffff"),
    pure("__fmaf_rz", "ffff"),
    pure("__fmul_rd", "fff"),
    pure("__fmul_ru", "fff"),
    pure("__fmul_rz", "fff"),
    pure("__frcp_rn", "ff"),
    pure("__fsqrt_rn", "ff"),
    pure("__int2double_rn", "di"),
    pure("__int2float_rd", "fi"),
    pure("__int2float_ru", "fi"),
    pure("__int2float_rz", "fi"),
    pure("__ll2double_rd", "dI"),
    pure("__ll2double_ru", "dI"),
    pure("__ll2double_rz", "dI"),
    pure("__ll2float_rd", "fI"),
    pure("__ll2float_ru", "fI"),
    pure("__ll2float_rz", "fI"),
    pure("__log2f", "ff"),
    pure("__saturatef", "ff"),
    reads("__shfl", "uuuc"),
    reads("__shfl_down", "uuuc"),
    reads("__shfl_up", "uuuc"),
    reads("__shfl_xor", "uuuc"),
    pure("__sinf", "ff"),
    changes("__syncthreads", "-"),
    changes("__syncthreads_and", "ui"),
    changes("__syncthreads_count", "ui"),
    changes("__syncthreads_or", "ui"),
    changes("__threadfence", "-"),
    changes("__threadfence_block", "-"),
    changes("__threadfence_system", "-"),
    changes("__trap", "-"),
    pure("__uint2float_rd", "fu"),
    pure("__uint2float_ru", "fu"),
    pure("__uint2float_rz", "fu"),
    pure("__umul64hi", "UUU"),
    pure("__ull2double_rd", "dU"),
    pure("__ull2double_rn", "dU"),
    pure("__ull2double_ru", "dU"),
    pure("__ull2double_rz", "dU"),
    pure("__ull2float_rd", "fU"),
    pure("__ull2float_rn", "fU"),
    pure("__ull2float_ru", "fU"),
    pure("__ull2float_rz", "fU"),
    pure("__vabsdiffu4", "uuu"),
    pure("__vadd4", "uuu"),
    pure("__vminu4", "uuu"),
    pure("__vsadu4", "uuu"),
    reads("__all", "ub"),
    reads("__any", "ub"),
    reads("__ballot", "ub"),
    changing_helper("__assertfail", "-ooIoI"),
    pure("abs", "ii"),
    changing_helper("atomic_safe_add", "upu"),
    changes("atomicAdd.f", "fpf"),
    changes("atomicAdd.i", "ipi"),
    changes("atomicAdd.u", "upu"),
    changes("atomicAdd.ull", "UpU"),
    changes("atomicAnd.u", "upu"),
    changes("atomicAnd.ull", "UpU"),
    changes("atomicCAS.u", "upuu"),
    changes("atomicCAS.ull", "UpUU"),
    changes("atomicDec.u", "upu"),
    changes("atomicExch.f", "fpf"),
    changes("atomicExch.u", "upu"),
    changes("atomicExch.ull", "UpU"),
    changes("atomicInc.u", "upu"),
    changes("atomicMax.i", "ipi"),
    changes("atomicMax.ll", "IpI"),
    changes("atomicMax.u", "upu"),
    changes("atomicMax.ull", "UpU"),
    changes("atomicMin.i", "ipi"),
    changes("atomicMin.ll", "IpI"),
    changes("atomicMin.u", "upu"),
    changes("atomicMin.ull", "UpU"),
    changes("atomicOr.u", "upu"),
    changes("atomicOr.ull", "UpU"),
    changes("atomicXor.u", "upu"),
    changes("atomicXor.ull", "UpU"),
    pure("ceil", "dd"),
    pure("ceilf", "ff"),
    helper("clamp_integer", "IIbc"),
    helper("double_to_half", "udc"),
    reads("clock", "u"),
    reading_helper("clock_high", "u"),
    reading_helper("globaltimer_low", "u"),
    reading_helper("globaltimer_high", "u"),
    changing_helper("barrier_sync", "-uu"),
    changing_helper("barrier_arrive", "-uu"),
    pure("double", "dd"),
    pure("exp2f", "ff"),
    helper("fdivide_is_hard", "bff"),
    helper("ddivide_is_hard", "bdd"),
    pure("floor", "dd"),
    pure("floorf", "ff"),
    helper("flush_to_zero", "ff"),
    pure("fma", "dddd"),
    helper("fma_zero_wins", "ffffc"),
    pure("fmaf", "ffff"),
    pure("fmax", "ddd"),
    pure("fmaxf", "fff"),
    pure("fmin", "ddd"),
    pure("fminf", "fff"),
    helper("fmul_scaled", "fffcc"),
    helper("fmul_zero_wins", "fffcc"),
    helper("float_to_half", "ufc"),
    changes("free", "-o"),
    helper("half_to_float", "fu"),
    pure("llabs", "II"),
    changes("malloc", "UU"),
    pure("max.i", "iii"),
    pure("max.u", "uuu"),
    pure("max.ll", "III"),
    pure("max.ull", "UUU"),
    helper("mad_descriptor", "uuuu"),
    pure("min.i", "iii"),
    pure("min.u", "uuu"),
    pure("min.ll", "III"),
    pure("min.ull", "UUU"),
    changes("printf", "ioooooooooooooooooooooooooooooooooo"),
    helper("reciprocal", "ff"),
    helper("reciprocal64_high", "uu"),
    helper("reciprocal_sqrt64_high", "uu"),
    helper("or_if_nan", "IIdI"),
    pure("rint", "dd"),
    pure("rintf", "ff"),
    pure("rsqrtf", "ff"),
    helper("select_bytes", "uuuuc"),
    helper("shift_step", "uuuc"),
    reading_helper("shuffle", "uuuuc"),
    reading_helper("shuffle_inside", "buuc"),
    pure("sqrt", "dd"),
    helper("surface_clamp", "uuuuccc"),
    helper("surface_clamp_outside", "buuuccc"),
    helper("surface_bitfield", "uuuuc"),
    helper("surface_bitfield_outside", "buuuc"),
    helper("surface_address", "uuuu"),
    pure("trunc", "dd"),
    pure("truncf", "ff"),
    helper("video_clamp", "IIb"),
    helper("video_part", "Iuc"),
    helper("video_simd", "ucccuuucccccccccc"),
    reading_helper("vote_equal", "bb"),
];

impl Intrinsic {
    /// Returns the function with a name.
    pub fn by_name(name: &str) -> Option<Self> {
        static NAMES: std::sync::OnceLock<super::hash::FastMap<&'static str, u16>> =
            std::sync::OnceLock::new();
        let names = NAMES.get_or_init(|| {
            TABLE.iter().enumerate().map(|(index, entry)| (entry.name, index as u16)).collect()
        });
        names.get(name).copied().map(Self)
    }

    /// Returns its entry.
    pub fn entry(self) -> &'static Entry {
        static NOTHING: Entry = pure("", "-");
        TABLE.get(usize::from(self.0)).unwrap_or(&NOTHING)
    }

    /// Returns the name to print.
    pub fn name(self) -> &'static str {
        let name = self.entry().name;
        name.split_once('.').map_or(name, |parts| parts.0)
    }

    /// Returns the type letter of the result.
    pub fn result(self) -> u8 {
        self.entry().types.as_bytes().first().copied().unwrap_or(b'-')
    }

    /// Returns the type letter of an input.
    pub fn input(self, index: usize) -> u8 {
        self.entry().types.as_bytes().get(index + 1).copied().unwrap_or(b'u')
    }

    /// Returns whether its result depends only on its inputs.
    pub fn is_pure(self) -> bool {
        self.entry().effect == Effect::None
    }

    /// Returns whether it must not be removed.
    pub fn is_kept(self) -> bool {
        self.entry().effect == Effect::Changes
    }

    /// Returns whether all threads of a block wait for each other.
    pub fn is_block_barrier(self) -> bool {
        let name = self.entry().name;
        name.starts_with("__syncthreads") || name == "barrier_sync"
    }

    /// Returns whether loads must not move across it.
    pub fn is_barrier(self) -> bool {
        self.entry().effect == Effect::Changes
    }
}
