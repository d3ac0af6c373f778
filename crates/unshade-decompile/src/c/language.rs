//! What a language of the C family calls things that are not in C.
//!
//! The printer knows expressions, statements and declarations of C. Everything else in a text is a word of a [`Language`]:
//! a column of the tables in [`spelling`](super::spelling), and the fields below. To add a language, add its words to these
//! tables, and a value here.

use super::names::always_taken;
use super::spelling;
use crate::ir::{Boundary, Image, Intrinsic};
use std::collections::HashSet;
use std::sync::LazyLock;

/// A language to print.
#[derive(Debug)]
pub struct Language {
    /// Its name.
    pub name: &'static str,
    /// Its column in the tables of words.
    pub(super) column: usize,
    /// The lines that a file begins with.
    pub(super) opening: &'static [&'static str],
    /// What precedes the result of a kernel.
    pub(super) kernel: &'static str,
    /// The attribute of a kernel that gives the most threads of a block.
    pub(super) launch_bounds: Option<&'static str>,
    /// What precedes the result of a device function.
    pub(super) function: &'static str,
    /// What precedes the type of a variable in global memory.
    pub(super) global: &'static str,
    /// What precedes the type of a variable in constant memory.
    pub(super) constant: &'static str,
    /// The first parameter of each function, if threads are objects.
    pub(super) thread: Option<ThreadParameter>,
    /// How a function accesses shared memory.
    pub(super) shared: SharedMemory,
    /// What follows the declaration of local memory.
    pub(super) local_value: &'static str,
    /// The function that takes and returns the address of a load that must stay, if other threads need a turn before it.
    pub(super) turn: Option<&'static str>,
    /// Whether 32 bits hold the address of shared or local memory.
    pub(super) has_short_addresses: bool,
    /// What addresses of functions are, unless they are those of the language.
    pub(super) addresses: Option<FunctionAddresses>,
    /// The line above a function that requires subnormal floats to be flushed to zero.
    pub(super) flush_comment: Option<&'static str>,
    /// The first statement of such a function.
    pub(super) flush_statement: Option<&'static str>,
    /// The header that declares the helpers; without one, they are printed before the functions.
    pub header: Option<Header>,
    /// Returns the name of an intrinsic of a family with many members.
    pub(super) composed: fn(Intrinsic) -> Option<String>,
    /// Returns the name of the function that reads or writes an image, if there is one.
    pub(super) image: fn(&Image, bool) -> Option<String>,
    /// Returns the type of a variable that refers to an image whose elements have a type.
    pub(super) image_type: fn(&Image, &str) -> String,
    /// Returns the argument for accesses outside of a surface, unless it is the default.
    pub(super) boundary: fn(Boundary) -> Option<&'static str>,
    /// Words that can't be names of variables, besides those of C++ and of the tables.
    pub(super) reserved: &'static str,
    /// What such names begin with.
    pub(super) reserved_prefixes: &'static [&'static str],
    /// All words that can't be names of variables.
    pub(super) always_taken: LazyLock<HashSet<String>>,
}

/// A header that a text includes.
#[derive(Debug)]
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// Its contents.
    pub text: &'static str,
}

/// The parameter that is the thread which executes a function.
#[derive(Debug)]
pub(super) struct ThreadParameter {
    /// Its type.
    pub(super) ty: &'static str,
    /// Its name.
    pub(super) name: &'static str,
}

/// How a function accesses shared memory.
#[derive(Debug)]
pub(super) enum SharedMemory {
    /// Kernels declare an array; helpers find it in other functions.
    Declared,
    /// All functions ask their thread for a pointer, by this function.
    OfThread(&'static str),
}

/// Addresses of functions that are called with other types than those of their declarations.
#[derive(Debug)]
pub(super) struct FunctionAddresses {
    /// What returns the address of a function as a number.
    pub(super) of: &'static str,
    /// The function that calls what is at an address. Types of the result and of the arguments are its template arguments.
    pub(super) call: &'static str,
}

/// CUDA C.
pub static CUDA: Language = Language {
    name: "CUDA C",
    column: spelling::CUDA_COLUMN,
    opening: &[],
    kernel: "extern \"C\" __global__ ",
    launch_bounds: Some("__launch_bounds__"),
    function: "extern \"C\" __device__ ",
    global: "__device__ ",
    constant: "__constant__ ",
    thread: None,
    shared: SharedMemory::Declared,
    local_value: "",
    turn: None,
    has_short_addresses: true,
    addresses: None,
    flush_comment: Some("// Subnormal floats are zero: -ftz=true."),
    flush_statement: None,
    header: None,
    composed: spelling::cuda_family,
    image: spelling::cuda_image,
    image_type: spelling::cuda_image_type,
    boundary: spelling::cuda_boundary,
    reserved: "blockDim blockIdx dynamic_shared gridDim keep threadIdx warpSize",
    reserved_prefixes: &["atomic", "cuda", "make_", "surf", "tex"],
    always_taken: LazyLock::new(|| always_taken(&CUDA)),
};

/// C++ for the compiler of any computer, with a header.
pub static CPP: Language = Language {
    name: "C++",
    column: spelling::CPP_COLUMN,
    opening: &[
        "#include \"unshade_host.h\" // Compile with -std=c++11 -fwrapv -fno-strict-aliasing.",
        "using namespace unshade;",
    ],
    kernel: "",
    launch_bounds: None,
    function: "",
    global: "",
    constant: "",
    thread: Some(ThreadParameter { ty: "Thread &", name: "thread" }),
    shared: SharedMemory::OfThread("thread.shared"),
    local_value: " = {}",
    turn: Some("thread.turn"),
    has_short_addresses: false,
    addresses: Some(FunctionAddresses { of: "UNSHADE_ADDRESS", call: "call_at" }),
    flush_comment: None,
    flush_statement: Some("FlushSubnormals flush;"),
    header: Some(Header {
        name: "unshade_host.h",
        text: concat!(include_str!("unshade_host.h"), "\n", include_str!("unshade_instructions.h")),
    }),
    composed: spelling::cpp_family,
    image: spelling::cpp_image,
    image_type: spelling::cpp_image_type,
    boundary: spelling::cpp_boundary,
    reserved: "call_at flush thread unshade",
    reserved_prefixes: &["atomic_", "make_", "sample_", "UNSHADE_"],
    always_taken: LazyLock::new(|| always_taken(&CPP)),
};

impl Language {
    /// Returns whether functions make the processor flush subnormal floats to zero, doubles among them. Otherwise an option
    /// of the compiler does, for floats of a whole file.
    pub fn flushes_by_itself(&self) -> bool {
        self.flush_statement.is_some()
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.column == other.column
    }
}

impl Eq for Language {}
