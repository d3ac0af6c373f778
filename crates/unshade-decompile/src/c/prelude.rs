//! Helpers: functions for instructions that CUDA has no function for, which are printed before the functions that call them.
//!
//! Those that compute are in the header for C++, and translated from there. Those that read registers of the machine or
//! exchange values with other threads are CUDA C with inline assembly; [`HELPERS`] has them.

use super::spelling::cuda_name;
use super::wrap::WIDTH;
use std::sync::LazyLock;

/// The declaration of the device runtime's function that reports a failed assertion. nvcc knows it, but does not declare
/// it; headers for a host do.
const ASSERT_FAILED: &str = "\
#ifdef __CUDACC__
extern \"C\" __device__ void __assertfail(const void *, const void *, unsigned int, const void *, size_t);
#endif";

/// The end of the header for C++: the helpers.
const INSTRUCTIONS: &str = include_str!("unshade_instructions.h");

/// Returns the CUDA C text of a helper.
pub(super) fn text(name: &str) -> Option<String> {
    if name == "__assertfail" {
        return Some(ASSERT_FAILED.to_owned());
    }
    if let Some((name, signature, body)) = HELPERS.iter().find(|helper| helper.0 == name) {
        let (result, parameters) = signature.split_once(" (")?;
        let head = format!("static __device__ {result} {name}({parameters}");
        // A helper with one statement fits on one line, if it is short enough.
        let short = format!("{head} {{ {} }}", body.trim());
        let is_long = body.contains('\n') || short.len() > WIDTH;
        return Some(if is_long { format!("{head}\n{{\n{body}\n}}") } else { short });
    }
    let definition = in_header().find(|definition| defined_name(definition) == name)?;
    Some(in_cuda(definition))
}

/// Returns the names of all helpers.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let own = HELPERS.iter().map(|helper| helper.0);
        own.chain(["__assertfail"]).chain(in_header().map(defined_name)).collect()
    });
    NAMES.iter().copied()
}

/// Returns the definitions of helpers in the header. Each begins at a line that is not indented.
fn in_header() -> impl Iterator<Item = &'static str> {
    let text = INSTRUCTIONS.split_once("namespace unshade {\n\n").map_or("", |(_, rest)| rest);
    let text = text.split("\n\n}").next().unwrap_or_default();
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.lines().next().filter(|line| !line.is_empty())?;
        let length = if first.ends_with('}') { first.len() } else { rest.find("\n}")? + 2 };
        let (definition, after) = rest.split_at(length);
        rest = after.trim_start();
        Some(definition)
    })
}

/// Returns the name of the function that a definition defines.
fn defined_name(definition: &str) -> &str {
    let head = definition.split_once('(').map_or("", |(head, _)| head);
    head.rsplit(' ').next().unwrap_or_default()
}

/// Translates a definition of the header to CUDA C.
fn in_cuda(definition: &str) -> String {
    let mut text = String::with_capacity(definition.len() + 64);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = definition;
    while let Some(start) = rest.find(is_name) {
        let (before, name) = rest.split_at(start);
        let (name, after) = name.split_at(name.find(|c| !is_name(c)).unwrap_or(name.len()));
        text.push_str(before);
        match name {
            "inline" => text.push_str("static __device__"),
            name => text.push_str(cuda_name(name).unwrap_or(name)),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Helpers that the header lacks: name; result and parameters; statements.
static HELPERS: &[(&str, &str, &str)] = &[
    (
        "laneid",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(r));\n    return r;\n    #else\n    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;\n    #endif",
    ),
    (
        "lanemask_eq",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_eq;\" : \"=r\"(r));\n    return r;\n    #else\n    return 1u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31);\n    #endif",
    ),
    (
        "lanemask_lt",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(r));\n    return r;\n    #else\n    return (1u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1;\n    #endif",
    ),
    (
        "lanemask_le",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_le;\" : \"=r\"(r));\n    return r;\n    #else\n    return (2u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1;\n    #endif",
    ),
    (
        "lanemask_gt",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_gt;\" : \"=r\"(r));\n    return r;\n    #else\n    return ~((2u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1);\n    #endif",
    ),
    (
        "lanemask_ge",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_ge;\" : \"=r\"(r));\n    return r;\n    #else\n    return ~((1u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1);\n    #endif",
    ),
    (
        "clock_high",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%clock_hi;\" : \"=r\"(r));\n    return r;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "globaltimer_low",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%globaltimer_lo;\" : \"=r\"(r));\n    return r;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "globaltimer_high",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%globaltimer_hi;\" : \"=r\"(r));\n    return r;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "virtual_id",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int warp, multiprocessor;\n    asm volatile(\"mov.u32 %0, %%warpid; mov.u32 %1, %%smid;\" : \"=r\"(warp), \"=r\"(multiprocessor));\n    return multiprocessor << 20 | warp << 8;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "virtual_configuration",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int multiprocessors;\n    asm(\"mov.u32 %0, %%nsmid;\" : \"=r\"(multiprocessors));\n    return multiprocessors << 20;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "shared_memory",
        "char * ()",
        "    char *start;\n    asm(\"cvta.shared.u64 %0, %1;\" : \"=l\"(start) : \"l\"(0ull));\n    return start;",
    ),
    ("keep", "void (const volatile void *p)", "    asm volatile(\"\" : : \"l\"(p));"),
    ("vote_equal", "bool (bool p)", "    return __all(p) || !__any(p);"),
    ("atomic_safe_add", "unsigned int (unsigned int *p, unsigned int x)", "    return atomicAdd(p, x);"),
    (
        "shuffle",
        "unsigned int (unsigned int x, unsigned int lane, unsigned int mask, int mode)",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    if (mode == 0)\n        asm volatile(\"shfl.idx.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    else if (mode == 1)\n        asm volatile(\"shfl.up.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    else if (mode == 2)\n        asm volatile(\"shfl.down.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    else\n        asm volatile(\"shfl.bfly.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    return r;\n    #else\n    int width = 32 - (mask >> 8 & 31);\n    return mode == 0 ? __shfl(x, lane, width) : mode == 1 ? __shfl_up(x, lane, width) : mode == 2 ? __shfl_down(x, lane, width) : __shfl_xor(x, lane, width);\n    #endif",
    ),
    (
        "shuffle_inside",
        "bool (unsigned int lane, unsigned int mask, int mode)",
        "    unsigned int me = laneid(), segment = mask >> 8 & 31, last = me & segment | mask & 31 & ~segment;\n    int to = mode == 0 ? lane & 31 & ~segment | me & segment : mode == 1 ? me - lane : mode == 2 ? me + lane : me ^ lane;\n    return mode == 1 ? to >= (int)last : to <= (int)last;",
    ),
    (
        "barrier_sync",
        "void (unsigned int barrier, unsigned int threads)",
        "    #ifdef __CUDACC__\n    if (threads == 0)\n        asm volatile(\"bar.sync %0;\" : : \"r\"(barrier) : \"memory\");\n    else\n        asm volatile(\"bar.sync %0, %1;\" : : \"r\"(barrier), \"r\"(threads) : \"memory\");\n    #else\n    __syncthreads();\n    #endif",
    ),
    (
        "barrier_arrive",
        "void (unsigned int barrier, unsigned int threads)",
        "    #ifdef __CUDACC__\n    asm volatile(\"bar.arrive %0, %1;\" : : \"r\"(barrier), \"r\"(threads) : \"memory\");\n    #else\n    __syncthreads();\n    #endif",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_define_the_function_they_name() {
        let mut count = 0;
        for name in names().filter(|name| *name != "__assertfail") {
            let text = text(name).expect("it is a helper");
            assert!(text.contains(&format!(" {name}(")), "{text}");
            assert!(text.ends_with('}'), "{text}");
            assert_eq!(text.matches("__device__").count(), 1, "{text}");
            count += 1;
        }
        assert!(count > 40, "{count}");
        assert!(text("shift_left").is_some_and(|text| text.starts_with("template <class T> static ")));
        assert!(text("float_to_half").is_some_and(|text| text.contains("= __float_as_int(x)")));
        assert!(text("tex2D").is_none());
    }
}
