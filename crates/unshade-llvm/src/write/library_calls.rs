//! The functions of run-time libraries that LLVM calls on its own. Linkers must keep them, so the symbol table marks
//! them as used.
//!
//! Knowledge: `RuntimeLibcalls.def` of LLVM 14 and 19.

use super::Version;

/// Returns whether LLVM may call a function of this name, or refer to a variable of this name.
pub(super) fn contains(version: Version, name: &[u8]) -> bool {
    let is_in = |names: &[&str]| names.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok();
    is_in(SINCE_14) || version == Version::Llvm19 && is_in(SINCE_19)
}

/// The names that LLVM 14 knows, sorted.
#[rustfmt::skip]
const SINCE_14: &[&str] = &[
    "_Unwind_Resume", "__adddf3", "__addsf3", "__addtf3", "__addxf3", "__ashldi3", "__ashlhi3", "__ashlsi3",
    "__ashlti3", "__ashrdi3", "__ashrhi3", "__ashrsi3", "__ashrti3", "__atomic_compare_exchange",
    "__atomic_compare_exchange_1", "__atomic_compare_exchange_16", "__atomic_compare_exchange_2",
    "__atomic_compare_exchange_4", "__atomic_compare_exchange_8", "__atomic_exchange", "__atomic_exchange_1",
    "__atomic_exchange_16", "__atomic_exchange_2", "__atomic_exchange_4", "__atomic_exchange_8",
    "__atomic_fetch_add_1", "__atomic_fetch_add_16", "__atomic_fetch_add_2", "__atomic_fetch_add_4",
    "__atomic_fetch_add_8", "__atomic_fetch_and_1", "__atomic_fetch_and_16", "__atomic_fetch_and_2",
    "__atomic_fetch_and_4", "__atomic_fetch_and_8", "__atomic_fetch_nand_1", "__atomic_fetch_nand_16",
    "__atomic_fetch_nand_2", "__atomic_fetch_nand_4", "__atomic_fetch_nand_8", "__atomic_fetch_or_1",
    "__atomic_fetch_or_16", "__atomic_fetch_or_2", "__atomic_fetch_or_4", "__atomic_fetch_or_8",
    "__atomic_fetch_sub_1", "__atomic_fetch_sub_16", "__atomic_fetch_sub_2", "__atomic_fetch_sub_4",
    "__atomic_fetch_sub_8", "__atomic_fetch_xor_1", "__atomic_fetch_xor_16", "__atomic_fetch_xor_2",
    "__atomic_fetch_xor_4", "__atomic_fetch_xor_8", "__atomic_load", "__atomic_load_1", "__atomic_load_16",
    "__atomic_load_2", "__atomic_load_4", "__atomic_load_8", "__atomic_store", "__atomic_store_1",
    "__atomic_store_16", "__atomic_store_2", "__atomic_store_4", "__atomic_store_8", "__clzdi2", "__clzsi2",
    "__clzti2", "__cxa_end_cleanup", "__divdf3", "__divdi3", "__divhi3", "__divqi3", "__divsf3", "__divsi3",
    "__divtf3", "__divti3", "__divxf3", "__eqdf2", "__eqsf2", "__eqtf2", "__exp2_finite", "__exp2f_finite",
    "__exp2l_finite", "__exp_finite", "__expf_finite", "__expl_finite", "__extenddftf2", "__extendhfdf2",
    "__extendhftf2", "__extendhfxf2", "__extendkftf2", "__extendsfdf2", "__extendsftf2", "__extendxftf2",
    "__fixdfdi", "__fixdfsi", "__fixdfti", "__fixhfdi", "__fixhfsi", "__fixhfti", "__fixsfdi", "__fixsfsi",
    "__fixsfti", "__fixtfdi", "__fixtfsi", "__fixtfti", "__fixunsdfdi", "__fixunsdfsi", "__fixunsdfti",
    "__fixunshfdi", "__fixunshfsi", "__fixunshfti", "__fixunssfdi", "__fixunssfsi", "__fixunssfti", "__fixunstfdi",
    "__fixunstfsi", "__fixunstfti", "__fixunsxfdi", "__fixunsxfsi", "__fixunsxfti", "__fixxfdi", "__fixxfsi",
    "__fixxfti", "__floatdidf", "__floatdihf", "__floatdisf", "__floatditf", "__floatdixf", "__floatsidf",
    "__floatsihf", "__floatsisf", "__floatsitf", "__floatsixf", "__floattidf", "__floattihf", "__floattisf",
    "__floattitf", "__floattixf", "__floatundidf", "__floatundihf", "__floatundisf", "__floatunditf",
    "__floatundixf", "__floatunsidf", "__floatunsihf", "__floatunsisf", "__floatunsitf", "__floatunsixf",
    "__floatuntidf", "__floatuntihf", "__floatuntisf", "__floatuntitf", "__floatuntixf", "__gcc_dtoq", "__gcc_itoq",
    "__gcc_qadd", "__gcc_qdiv", "__gcc_qeq", "__gcc_qge", "__gcc_qgt", "__gcc_qle", "__gcc_qlt", "__gcc_qmul",
    "__gcc_qne", "__gcc_qsub", "__gcc_qtod", "__gcc_qtos", "__gcc_qtou", "__gcc_qunord", "__gcc_stoq", "__gcc_utoq",
    "__gedf2", "__gesf2", "__getf2", "__gnu_f2h_ieee", "__gnu_h2f_ieee", "__gtdf2", "__gtsf2", "__gttf2", "__ledf2",
    "__lesf2", "__letf2", "__llvm_deoptimize", "__llvm_memcpy_element_unordered_atomic_1",
    "__llvm_memcpy_element_unordered_atomic_16", "__llvm_memcpy_element_unordered_atomic_2",
    "__llvm_memcpy_element_unordered_atomic_4", "__llvm_memcpy_element_unordered_atomic_8",
    "__llvm_memmove_element_unordered_atomic_1", "__llvm_memmove_element_unordered_atomic_16",
    "__llvm_memmove_element_unordered_atomic_2", "__llvm_memmove_element_unordered_atomic_4",
    "__llvm_memmove_element_unordered_atomic_8", "__llvm_memset_element_unordered_atomic_1",
    "__llvm_memset_element_unordered_atomic_16", "__llvm_memset_element_unordered_atomic_2",
    "__llvm_memset_element_unordered_atomic_4", "__llvm_memset_element_unordered_atomic_8", "__log10_finite",
    "__log10f_finite", "__log10l_finite", "__log2_finite", "__log2f_finite", "__log2l_finite", "__log_finite",
    "__logf_finite", "__logl_finite", "__lshrdi3", "__lshrhi3", "__lshrsi3", "__lshrti3", "__ltdf2", "__ltsf2",
    "__lttf2", "__moddi3", "__modhi3", "__modqi3", "__modsi3", "__modti3", "__muldf3", "__muldi3", "__mulhi3",
    "__mulodi4", "__mulosi4", "__muloti4", "__mulqi3", "__mulsf3", "__mulsi3", "__multf3", "__multi3", "__mulxf3",
    "__nedf2", "__negdi2", "__negsi2", "__nesf2", "__netf2", "__pow_finite", "__powf_finite", "__powidf2",
    "__powisf2", "__powitf2", "__powixf2", "__powl_finite", "__ssp_canary_word", "__stack_chk_fail",
    "__stack_chk_guard", "__subdf3", "__subsf3", "__subtf3", "__subxf3", "__sync_fetch_and_add_1",
    "__sync_fetch_and_add_16", "__sync_fetch_and_add_2", "__sync_fetch_and_add_4", "__sync_fetch_and_add_8",
    "__sync_fetch_and_and_1", "__sync_fetch_and_and_16", "__sync_fetch_and_and_2", "__sync_fetch_and_and_4",
    "__sync_fetch_and_and_8", "__sync_fetch_and_max_1", "__sync_fetch_and_max_16", "__sync_fetch_and_max_2",
    "__sync_fetch_and_max_4", "__sync_fetch_and_max_8", "__sync_fetch_and_min_1", "__sync_fetch_and_min_16",
    "__sync_fetch_and_min_2", "__sync_fetch_and_min_4", "__sync_fetch_and_min_8", "__sync_fetch_and_nand_1",
    "__sync_fetch_and_nand_16", "__sync_fetch_and_nand_2", "__sync_fetch_and_nand_4", "__sync_fetch_and_nand_8",
    "__sync_fetch_and_or_1", "__sync_fetch_and_or_16", "__sync_fetch_and_or_2", "__sync_fetch_and_or_4",
    "__sync_fetch_and_or_8", "__sync_fetch_and_sub_1", "__sync_fetch_and_sub_16", "__sync_fetch_and_sub_2",
    "__sync_fetch_and_sub_4", "__sync_fetch_and_sub_8", "__sync_fetch_and_umax_1", "__sync_fetch_and_umax_16",
    "__sync_fetch_and_umax_2", "__sync_fetch_and_umax_4", "__sync_fetch_and_umax_8", "__sync_fetch_and_umin_1",
    "__sync_fetch_and_umin_16", "__sync_fetch_and_umin_2", "__sync_fetch_and_umin_4", "__sync_fetch_and_umin_8",
    "__sync_fetch_and_xor_1", "__sync_fetch_and_xor_16", "__sync_fetch_and_xor_2", "__sync_fetch_and_xor_4",
    "__sync_fetch_and_xor_8", "__sync_lock_test_and_set_1", "__sync_lock_test_and_set_16",
    "__sync_lock_test_and_set_2", "__sync_lock_test_and_set_4", "__sync_lock_test_and_set_8",
    "__sync_val_compare_and_swap_1", "__sync_val_compare_and_swap_16", "__sync_val_compare_and_swap_2",
    "__sync_val_compare_and_swap_4", "__sync_val_compare_and_swap_8", "__truncdfhf2", "__truncdfsf2",
    "__trunctfdf2", "__trunctfhf2", "__trunctfkf2", "__trunctfsf2", "__trunctfxf2", "__truncxfdf2", "__truncxfhf2",
    "__truncxfsf2", "__udivdi3", "__udivhi3", "__udivqi3", "__udivsi3", "__udivti3", "__umoddi3", "__umodhi3",
    "__umodqi3", "__umodsi3", "__umodti3", "__unorddf2", "__unordsf2", "__unordtf2", "cbrt", "cbrtf", "cbrtl",
    "ceil", "ceilf", "ceill", "copysign", "copysignf", "copysignl", "cos", "cosf", "cosl", "exp", "exp2", "exp2f",
    "exp2l", "expf", "expl", "floor", "floorf", "floorl", "fma", "fmaf", "fmal", "fmax", "fmaxf", "fmaxl", "fmin",
    "fminf", "fminl", "fmod", "fmodf", "fmodl", "llrint", "llrintf", "llrintl", "llround", "llroundf", "llroundl",
    "log", "log10", "log10f", "log10l", "log2", "log2f", "log2l", "logf", "logl", "lrint", "lrintf", "lrintl",
    "lround", "lroundf", "lroundl", "memcpy", "memmove", "memset", "nearbyint", "nearbyintf", "nearbyintl", "pow",
    "powf", "powl", "rint", "rintf", "rintl", "round", "roundeven", "roundevenf", "roundevenl", "roundf", "roundl",
    "sin", "sinf", "sinl", "sqrt", "sqrtf", "sqrtl", "trunc", "truncf", "truncl",
];

/// The names that LLVM 19 knows besides, sorted.
#[rustfmt::skip]
const SINCE_19: &[&str] = &[
    "__clear_cache", "__extendbfsf2", "__riscv_flush_icache", "__truncdfbf2", "__truncsfbf2", "acos", "acosf",
    "acosl", "asin", "asinf", "asinl", "atan", "atanf", "atanl", "calloc", "cosh", "coshf", "coshl", "exp10",
    "exp10f", "exp10l", "fegetenv", "fegetmode", "fesetenv", "fesetmode", "frexp", "frexpf", "frexpl", "ldexp",
    "ldexpf", "ldexpl", "sinh", "sinhf", "sinhl", "tan", "tanf", "tanh", "tanhf", "tanhl", "tanl",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(SINCE_14.is_sorted() && SINCE_19.is_sorted());
        assert!(contains(Version::Llvm14, b"memcpy") && !contains(Version::Llvm14, b"tanf"));
        assert!(contains(Version::Llvm19, b"tanf") && !contains(Version::Llvm19, b"main"));
    }
}
