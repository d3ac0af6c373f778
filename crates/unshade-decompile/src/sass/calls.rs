//! P-code functions as operators and C functions.

use super::lifter::{CallResult, Lifter};
use crate::ir::{Op, Space, ValueId};

/// Rounding modes, by their number in instructions.
const ROUNDINGS: [&str; 4] = ["rn", "rd", "ru", "rz"];

impl Lifter<'_> {
    /// Returns the function with a rounding mode, such as `__fadd_rd`, or `None` to round to nearest.
    fn rounded(
        &mut self,
        name: &'static str,
        mode: ValueId,
        width: u8,
        inputs: &[ValueId],
    ) -> Option<ValueId> {
        const NAMES: [(&str, [&str; 3]); 10] = [
            ("fadd", ["__fadd_rd", "__fadd_ru", "__fadd_rz"]),
            ("fmul", ["__fmul_rd", "__fmul_ru", "__fmul_rz"]),
            ("fma", ["__fmaf_rd", "__fmaf_ru", "__fmaf_rz"]),
            ("dadd", ["__dadd_rd", "__dadd_ru", "__dadd_rz"]),
            ("dmul", ["__dmul_rd", "__dmul_ru", "__dmul_rz"]),
            ("dfma", ["__fma_rd", "__fma_ru", "__fma_rz"]),
            ("d2f", ["__double2float_rd", "__double2float_ru", "__double2float_rz"]),
            ("i2f", ["__int2float_rd", "__int2float_ru", "__int2float_rz"]),
            ("u2f", ["__uint2float_rd", "__uint2float_ru", "__uint2float_rz"]),
            ("l2f", ["__ll2float_rd", "__ll2float_ru", "__ll2float_rz"]),
        ];
        let mode = usize::try_from(self.known(mode) & 3).unwrap_or(0);
        let names = NAMES.iter().find(|entry| entry.0 == name)?;
        let name = names.1.get(mode.checked_sub(1)?)?;
        Some(self.call(name, width, inputs))
    }

    /// Lifts a function whose result depends only on its inputs.
    pub(super) fn pure_function(&mut self, name: &str, inputs: &[ValueId], width: u8) -> CallResult {
        let at = |index: usize| inputs.get(index).copied().unwrap_or(ValueId::NONE);
        let two = [at(0), at(1)];
        let three = [at(0), at(1), at(2)];
        CallResult::Value(match name {
            "flush" => self.call("flush_to_zero", width, &[at(0)]),
            "saturate" => self.call("__saturatef", width, &[at(0)]),
            "saturate_double" => {
                let (zero, one) = (self.number(0, 64), self.number(0x3ff0_0000_0000_0000, 64));
                let at_least = self.call("fmax", width, &[at(0), zero]);
                self.call("fmin", width, &[at_least, one])
            }
            "fadd_round" => match self.rounded("fadd", at(2), width, &two) {
                Some(value) => value,
                None => self.make(Op::FloatAdd, width, &two),
            },
            "fmul_round" => match self.rounded("fmul", at(2), width, &two) {
                Some(value) => value,
                None => self.make(Op::FloatMul, width, &two),
            },
            "dadd_round" => match self.rounded("dadd", at(2), width, &two) {
                Some(value) => value,
                None => self.make(Op::FloatAdd, width, &two),
            },
            "dmul_round" => match self.rounded("dmul", at(2), width, &two) {
                Some(value) => value,
                None => self.make(Op::FloatMul, width, &two),
            },
            "fma_round" => match self.rounded("fma", at(3), width, &three) {
                Some(value) => value,
                None => self.call("fmaf", width, &three),
            },
            "dfma_round" => match self.rounded("dfma", at(3), width, &three) {
                Some(value) => value,
                None => self.call("fma", width, &three),
            },
            "fmul_scaled" => self.call("fmul_scaled", width, inputs),
            "fmul_fmz" => self.call("fmul_zero_wins", width, inputs),
            "fma" => self.call("fmaf", width, &three),
            "dfma" => self.call("fma", width, &three),
            "fma_fmz" => self.call("fma_zero_wins", width, inputs),
            "fmin" => self.call("fminf", width, &two),
            "fmax" => self.call("fmaxf", width, &two),
            "dmin" => self.call("fmin", width, &two),
            "dmax" => self.call("fmax", width, &two),
            "fdivide_is_hard" => self.call("fdivide_is_hard", width, &two),
            "ddivide_is_hard" => self.call("ddivide_is_hard", width, &two),
            "cosine" => self.call("__cosf", width, &[at(0)]),
            "sine" => self.call("__sinf", width, &[at(0)]),
            "exp2" => self.call("exp2f", width, &[at(0)]),
            "log2" => self.call("__log2f", width, &[at(0)]),
            "reciprocal" => {
                let one = self.number(0x3f80_0000, 32);
                self.make(Op::FloatDiv, width, &[one, at(0)])
            }
            "reciprocal_sqrt" => self.call("rsqrtf", width, &[at(0)]),
            "reciprocal64_high" | "reciprocal_sqrt64_high" => self.call(name, width, &[at(0)]),
            "reduce_range" => at(0),
            "half_to_float" => {
                let wide = self.make(Op::ZeroExtend, 32, &[at(0)]);
                self.call("half_to_float", width, &[wide])
            }
            "float_to_half" | "double_to_half" => {
                let wide = self.call(name, 32, &two);
                self.make(Op::Low, width, &[wide])
            }
            "double_to_float" => match self.rounded("d2f", at(1), width, &[at(0)]) {
                Some(value) => value,
                None => self.make(Op::FloatConvert, width, &[at(0)]),
            },
            "round_float" => {
                let mode = usize::try_from(self.known(at(1)) & 3).unwrap_or(0);
                self.call(["rintf", "floorf", "ceilf", "truncf"][mode], width, &[at(0)])
            }
            "round_double" => {
                let mode = usize::try_from(self.known(at(1)) & 3).unwrap_or(0);
                self.call(["rint", "floor", "ceil", "trunc"][mode], width, &[at(0)])
            }
            "double_to_integer" => self.double_to_integer(inputs),
            "integer_to_float" | "integer_to_double" => self.integer_to_float(&three, width),
            "clamp_integer" => self.call("clamp_integer", width, inputs),
            "bit_reverse" => self.call("__brev", width, &[at(0)]),
            "byte_perm" => match self.builder.function.number(at(2)) {
                Some(selector) if selector & 0x8888 == 0 => self.call("__byte_perm", width, &three),
                _ => {
                    let mode = self.number(0, 32);
                    self.call("select_bytes", width, &[at(0), at(1), at(2), mode])
                }
            },
            "byte_perm_mode" => self.call("select_bytes", width, inputs),
            "video_simd" => match self.simd_of_bytes(inputs) {
                Some(name) => self.call(name, width, &[at(3), at(4)]),
                None => self.call(name, width, inputs),
            },
            "video_part" | "video_clamp" => self.call(name, width, inputs),
            "multiply_add_by_descriptor" => self.call("mad_descriptor", width, inputs),
            _ if name.starts_with("surface_") => self.call(name, width, inputs),
            _ => return CallResult::Unsupported,
        })
    }

    /// Returns CUDA's name of an operation on all four bytes of two numbers; the inputs are in the order of the
    /// tables.
    fn simd_of_bytes(&self, inputs: &[ValueId]) -> Option<&'static str> {
        /// Selectors that keep bytes in place.
        const IN_PLACE: [Option<u64>; 2] = [Some(4), Some(255)];
        let at = |index: usize| self.builder.function.number(*inputs.get(index)?);
        let are = |indices: &[usize], value: u64| indices.iter().all(|index| at(*index) == Some(value));
        let (combined, sum) = (at(11)?, at(12)?);
        // Unsigned, not negated, not clamped, all lanes.
        if !are(&[1, 8, 9, 13, 14], 0) || at(6) != Some(4) || !IN_PLACE.contains(&at(7)) || at(10) != Some(15)
        {
            return None;
        }
        match (at(0)?, at(2)?, combined, sum) {
            (8, _, 0, 0) => Some("__vadd4"),
            (10, _, 0, 0) => Some("__vabsdiffu4"),
            (10, _, 0, 1) if at(5) == Some(0) => Some("__vsadu4"),
            (11, 0, 0, 0) => Some("__vminu4"),
            _ => None,
        }
    }

    /// Converts a float without its fraction to an integer; the tables have it as a double, which is exact.
    pub(super) fn truncated(&mut self, double: ValueId, width: u8) -> ValueId {
        let function = &self.builder.function;
        let double = function.resolve(double);
        let source = function.input(double, 0);
        if function.op(double) != Op::FloatConvert || (function.width(source), width) != (32, 32) {
            return self.unlifted(width);
        }
        self.call("__float2int_rz", width, &[source])
    }

    /// Converts a double to an integer. Modes: 0 nearest, 1 down, 2 up, 3 towards zero; types: U8 U16 U32 U64 S8 S16
    /// S32 S64.
    fn double_to_integer(&mut self, inputs: &[ValueId]) -> ValueId {
        const TYPES: [(&str, u8); 4] = [("uint", 32), ("ull", 64), ("int", 32), ("ll", 64)];
        // The number of double in the source types.
        const F64: u64 = 3;
        let at = |index: usize| inputs.get(index).copied().unwrap_or(ValueId::NONE);
        let (mode, ty) = (self.known(at(1)) & 3, self.known(at(2)) & 7);
        let mode = ROUNDINGS[usize::try_from(mode).unwrap_or(0)];
        let kind = match ty {
            2 => 0,
            3 => 1,
            7 => 3,
            _ => 2,
        };
        let (to, width) = TYPES[kind];
        let function = &self.builder.function;
        let mut source = function.resolve(at(0));
        let mut from = "double";
        if function.op(source) == Op::FloatConvert && function.width(function.input(source, 0)) == 32 {
            source = function.input(source, 0);
            from = "float";
        } else if self.known(at(3)) != F64 {
            // NaN converts to another number than as a double.
            source = self.make(Op::FloatConvert, 32, &[source]);
            from = "float";
        }
        let name = format!("__{from}2{to}_{mode}");
        let value = self.call(&name, width, &[source]);
        match ty {
            2 => self.make(Op::ZeroExtend, 64, &[value]),
            6 => self.make(Op::SignExtend, 64, &[value]),
            3 | 7 => value,
            // Fewer than 32 bits.
            _ => {
                let value = self.make(Op::SignExtend, 64, &[value]);
                let (truth, number) = (self.number(1, 1), self.number(ty, 8));
                let value = self.call("clamp_integer", 64, &[value, truth, number]);
                if ty > 3 || self.known(at(3)) != F64 {
                    return value;
                }
                let highest = self.number(1 << ((8 << ty) - 1), 64);
                self.call("or_if_nan", 64, &[value, at(0), highest])
            }
        }
    }

    fn integer_to_float(&mut self, inputs: &[ValueId; 3], width: u8) -> ValueId {
        let function = &self.builder.function;
        let mut source = function.resolve(inputs[0]);
        let mut is_signed = self.known(inputs[1]) != 0;
        let inner = function.input(source, 0);
        match function.op(source) {
            Op::ZeroExtend if function.width(inner) == 32 => {
                source = inner;
                is_signed = false;
            }
            Op::SignExtend if function.width(inner) == 32 => {
                source = inner;
                is_signed = true;
            }
            _ => {}
        }
        let mode = self.known(inputs[2]) & 3;
        let is_wide = self.builder.function.width(source) == 64;
        // A double represents 32-bit integers exactly.
        if mode == 0 || width == 64 && !is_wide {
            let op = if is_signed { Op::SignedToFloat } else { Op::UnsignedToFloat };
            return self.make(op, width, &[source]);
        }
        let from = match (is_wide, is_signed) {
            (false, true) => "int",
            (false, false) => "uint",
            (true, true) => "ll",
            (true, false) => "ull",
        };
        let to = if width == 64 { "double" } else { "float" };
        let name = format!("__{from}2{to}_{}", ROUNDINGS[usize::try_from(mode).unwrap_or(0)]);
        self.call(&name, width, &[source])
    }

    /// Lifts a function with effects.
    pub(super) fn other_function(&mut self, name: &'static str, inputs: &[ValueId], width: u8) -> CallResult {
        let at = |index: usize| inputs.get(index).copied().unwrap_or(ValueId::NONE);
        let none = CallResult::Value(ValueId::NONE);
        CallResult::Value(match name {
            "pop_break" | "pop_continue" | "pop_longjmp" => self.number(0, width),
            "push_longjmp" | "reconverge" | "push_reconvergence" | "push_break" | "push_continue"
            | "push_return" => {
                return none;
            }
            "cache_control"
            | "local_cache_control"
            | "texture_barrier"
            | "texture_phase"
            | "trigger"
            | "release_locks" => return none,
            _ if name.starts_with("texture_") || name.starts_with("surface_") => {
                return self.image_function(name, inputs);
            }
            "shift_step" => self.call(name, width, inputs),
            "shuffle" => self.shuffle(inputs, width),
            "shuffle_inside" => self.call(name, width, inputs),
            "ballot" => self.call("__ballot", width, &[at(0)]),
            "vote" => match self.known(at(1)) {
                2 => self.call("vote_equal", 1, &[at(0)]),
                mode => {
                    let value = self.call(if mode == 0 { "__all" } else { "__any" }, 32, &[at(0)]);
                    let zero = self.number(0, 32);
                    self.make(Op::NotEqual, 1, &[value, zero])
                }
            },
            "barrier_sync" | "barrier_arrive" => {
                let is_plain = name == "barrier_sync"
                    && self.builder.function.number(at(0)) == Some(0)
                    && self.builder.function.number(at(1)) == Some(0);
                if is_plain {
                    self.call("__syncthreads", 0, &[])
                } else {
                    self.call(name, 0, &[at(0), at(1)])
                }
            }
            "barrier_sync_all" => self.call("__syncthreads", 0, &[]),
            "barrier_reduce" => {
                let names = ["__syncthreads_count", "__syncthreads_and", "__syncthreads_or"];
                let Some(name) = names.get(usize::try_from(self.known(at(3))).unwrap_or(3)) else {
                    return CallResult::Unsupported;
                };
                let wide = self.make(Op::ZeroExtend, 32, &[at(2)]);
                let value = self.call(name, 32, &[wide]);
                self.set_barrier_result(value);
                return none;
            }
            "barrier_result" => {
                let value = self.barrier_result();
                if width == 1 {
                    let zero = self.number(0, 32);
                    self.make(Op::NotEqual, 1, &[value, zero])
                } else {
                    value
                }
            }
            "memory_barrier" => {
                let names = ["__threadfence_block", "__threadfence", "__threadfence_system"];
                let name = names.get(usize::try_from(self.known(at(0))).unwrap_or(3));
                match name {
                    Some(name) => self.call(name, 0, &[]),
                    None => return CallResult::Unsupported,
                }
            }
            "lock_shared" | "unlock_shared" => self.call(name, 1, &[at(0)]),
            "debugger" => self.call("__trap", 0, &[]),
            _ if name.starts_with("atomic_") => match atomic(name, self.known(at(2))) {
                Some((function, 3)) => self.call(function, width, &[at(0), at(1), at(2)]),
                Some((function, _)) => self.call(function, width, &[at(0), at(1)]),
                None => return CallResult::Unsupported,
            },
            _ => return CallResult::Unsupported,
        })
    }

    /// Lifts `__shfl` and similar if C can express the segment, otherwise the instruction with its masks.
    fn shuffle(&mut self, inputs: &[ValueId], width: u8) -> ValueId {
        const NAMES: [&str; 4] = ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"];
        let mode = usize::try_from(self.known(inputs[3])).unwrap_or(0);
        if let (Some(mask), Some(name)) = (self.builder.function.number(inputs[2]), NAMES.get(mode)) {
            let segment = 32 - (mask >> 8 & 0x1f);
            let clamp = if mode == 1 { 0 } else { 0x1f };
            if segment.is_power_of_two() && mask & 0x1f == clamp {
                let segment = self.number(segment, 32);
                return self.call(name, width, &[inputs[0], inputs[1], segment]);
            }
        }
        self.call("shuffle", width, inputs)
    }
}

/// Returns the function for an atomic operation and its type (`u32 s32 u64 f32 u128 s64`), and its number of inputs.
fn atomic(name: &str, size: u64) -> Option<(&'static str, u8)> {
    let is_signed = size == 1 || size == 5;
    Some(match name {
        "atomic_add" if size == 3 => ("atomicAdd.f", 2),
        "atomic_add" if is_signed => ("atomicAdd.i", 2),
        "atomic_add" => ("atomicAdd.u", 2),
        "atomic_min" if is_signed => ("atomicMin.i", 2),
        "atomic_min" => ("atomicMin.u", 2),
        "atomic_max" if is_signed => ("atomicMax.i", 2),
        "atomic_max" => ("atomicMax.u", 2),
        "atomic_inc" => ("atomicInc.u", 2),
        "atomic_dec" => ("atomicDec.u", 2),
        "atomic_and" => ("atomicAnd.u", 2),
        "atomic_or" => ("atomicOr.u", 2),
        "atomic_xor" => ("atomicXor.u", 2),
        "atomic_exchange" => ("atomicExch.u", 2),
        "atomic_safe_add" => ("atomic_safe_add", 2),
        "atomic_cas" => ("atomicCAS.u", 3),
        "atomic_add64" => ("atomicAdd.ull", 2),
        "atomic_min64" if is_signed => ("atomicMin.ll", 2),
        "atomic_min64" => ("atomicMin.ull", 2),
        "atomic_max64" if is_signed => ("atomicMax.ll", 2),
        "atomic_max64" => ("atomicMax.ull", 2),
        "atomic_and64" => ("atomicAnd.ull", 2),
        "atomic_or64" => ("atomicOr.ull", 2),
        "atomic_xor64" => ("atomicXor.ull", 2),
        "atomic_exchange64" => ("atomicExch.ull", 2),
        "atomic_cas64" => ("atomicCAS.ull", 3),
        _ => return None,
    })
}

/// Returns the memory space for a p-code space.
pub(super) fn memory(space: unshade_sass::semantics::Space) -> Option<Space> {
    use unshade_sass::semantics::Space as Sass;
    Some(match space {
        Sass::Ram => Space::Generic,
        Sass::Shared => Space::Shared,
        Sass::Local => Space::Local,
        Sass::Constant => Space::Constant(0),
        _ => return None,
    })
}
