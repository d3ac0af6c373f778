//! Decompiles GPU programs to C.
//!
//! A front end turns machine code into [`unshade_ir`]; everything after it is independent of the machine. [`pass`] simplifies
//! values, [`types`] infers their types, [`schedule`] and [`variables`] decide which values become statements and
//! variables, [`structure`] turns blocks into `if` and loops, and [`c`] prints the text. `docs/decompiler.md` follows
//! one kernel through all of these.
//!
//! ```
//! use unshade_decompile::sass::Code;
//! use unshade_decompile::{Options, Source, decompile};
//! use unshade_sass::{assemble, isa};
//!
//! let kepler = isa::by_architecture(35).unwrap();
//! let text = "MOV R0, c[0x0][0x140]\nMOV R1, c[0x0][0x144]\nLD.E R2, [R0]\nFADD R2, R2, R2\nST.E [R0], R2\nEXIT\n";
//! let words = assemble::listing(kepler, text).unwrap();
//! let bytes: Vec<u8> = words.iter().flat_map(|line| line.word.to_le_bytes()[..8].to_vec()).collect();
//! // A kernel with one parameter of 8 bytes.
//! let source = Source::kernel("twice", Code::new(kepler, &bytes), &[8]);
//! let decompiled = decompile(&source, &Options::default()).unwrap();
//! assert!(decompiled.text().contains("extern \"C\" __global__ void twice(float *"));
//! ```
//!
//! | module | thing |
//! |---|---|
//! | [`sass`] | the front end for NVIDIA machine code: lifting, and the idioms of its compilers |
//! | [`dxil`] | the front end for DXIL |
//! | [`air`] | the front end for AIR, Apple's form of LLVM modules |
//! | [`nvidia`] | that front end with everything after it |
//! | [`d3d9`], [`dxbc`] | the front ends for Direct3D's shader models 1 to 3, and 4 to 5.1 |
//! | [`pass`] | simplification, memory, the control-flow graph |
//! | [`address`] | addresses as base, terms and offset |
//! | [`types`] | type inference |
//! | [`layout`] | structures from accesses through the same pointer |
//! | [`objects`] | variables in local and shared memory |
//! | [`edges`] | blocks on edges, for the copies that phis need |
//! | [`elements`] | the types of the elements of variables |
//! | [`shader`] | passes for shaders |
//! | [`schedule`] | which values become statements, and in which order |
//! | [`variables`] | values that share a variable |
//! | [`placement`] | where variables are declared |
//! | `statements` | conditions, loops and switches in the syntax of C |
//! | `tidy` | what people write shorter |
//! | [`counted`] | loops that count |
//! | [`named`] | names and types of the source code, from debugging information |
//! | [`structure`] | statements from blocks |
//! | [`linear`] | statements as linear code, for an interpreter |
//! | [`c`] | CUDA C printer |
//! | [`hlsl`] | HLSL printer |
//! | [`metal`] | Metal printer |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod address;
pub mod air;
pub mod alignment;
mod bitcode;
pub mod c;
pub mod counted;
pub mod d3d9;
pub mod dxbc;
pub mod dxil;
pub mod edges;
pub mod elements;
pub mod hlsl;
pub mod layout;
pub mod linear;
pub mod metal;
pub mod named;
pub mod nvidia;
pub mod objects;
pub mod pass;
pub mod placement;
mod prepared;
pub mod range;
mod root_signature;
pub mod sass;
pub mod schedule;
pub mod shader;
mod statements;
pub mod structure;
mod tidy;
pub mod types;
pub mod variables;

use crate::ir::Module;
use elements::{Elements, FunctionElements};
use ir::SourceVariable;
use ir::code::Code;
pub use ir::{Callee, Parameter};
pub use nvidia::{Functions, Source, decompile, decompile_cached, decompile_observed, device_functions};
use pass::idiom::Idioms;
pub use prepared::Prepared;
pub use unshade_ir as ir;

/// The reason why a function was not decompiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecompileError {
    /// The function exceeds the instruction budget.
    Budget {
        /// The budget, in instructions.
        limit: usize,
    },
    /// Calls or joins nest too deeply: the function is recursive.
    Depth,
    /// There is no code at the entry point.
    NoCode,
}

impl std::fmt::Display for DecompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Budget { limit } => {
                write!(f, "needs more than the budget of {limit} instructions; --budget raises it")
            }
            Self::Depth => f.write_str("is recursive, or nests calls and joins too deeply"),
            Self::NoCode => f.write_str("there is no code at its entry point"),
        }
    }
}

impl std::error::Error for DecompileError {}

/// A line of text, and the addresses of its instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub text: String,
    /// The addresses, ascending.
    pub addresses: Vec<u32>,
}

/// Returns the text of lines.
fn text_of(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

/// A function as C.
#[derive(Clone, Debug, Default)]
pub struct Decompiled {
    /// Definitions that must precede it, once per file: helpers that CUDA lacks, and global variables. Each entry is
    /// complete.
    pub prelude: Vec<String>,
    /// The text: structure types of its parameters, and the function.
    pub lines: Vec<Line>,
    /// Number of lines of the function's body, without the text before it and the braces around it.
    pub body: usize,
    /// Number of instructions that could not be lifted, or that have no name in the language.
    pub unlifted: usize,
    /// Number of `goto` statements.
    pub gotos: usize,
    /// Number of casts.
    pub casts: usize,
    /// Whether every loop has a single entry; then no `goto` is needed.
    pub is_reducible: bool,
    /// Whether subnormal floats are flushed to zero, which requires compiling with `-ftz=true`.
    pub flushes: bool,
    /// Whether it must be compiled without that option.
    pub keeps_subnormals: bool,
    /// Its parameters with their types; those of a structure are its fields.
    pub parameters: Vec<Parameter>,
    /// How others call it, if it is a device function.
    pub prototype: Option<Callee>,
    /// The names in C of the device functions that it refers to.
    pub callees: Vec<String>,
    /// The statements of the text as linear code, with [`Options::with_code`].
    pub code: Option<Code>,
    /// The variables of its source code that have values, with the types that were inferred.
    pub variables: Vec<SourceVariable>,
    /// The types of the elements of the variables that it refers to.
    pub elements: FunctionElements,
}

impl Decompiled {
    /// Returns the complete text, including the prelude.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for definition in &self.prelude {
            text.push_str(definition);
            text.push('\n');
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&text_of(&self.lines));
        text
    }
}

/// The default instruction budget.
pub const DEFAULT_BUDGET: usize = 200_000;

/// Decompiler options.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Maximum number of instructions of a function, counting called functions at each call.
    pub budget: usize,
    /// Whether each operation that flushes subnormal floats to zero is printed with an explicit call, even if all
    /// operations of a function do so and the text could require `-ftz=true` instead.
    pub explicit_flushes: bool,
    /// Whether inlined functions of a mathematical library are printed as the operations that they consist of, so that
    /// a text compiled with another library computes the same bits.
    pub explicit_math: bool,
    /// Whether the statements of the text are returned as linear code, too.
    pub with_code: bool,
    /// Whether names and types of the source code are ignored.
    pub without_source: bool,
    /// The language of the text.
    pub language: &'static c::Language,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            budget: DEFAULT_BUDGET,
            explicit_flushes: false,
            explicit_math: false,
            with_code: false,
            without_source: false,
            language: &c::CUDA,
        }
    }
}

/// What the functions of a program share.
#[derive(Debug, Default)]
pub struct Cache {
    /// The idioms of the front end, with what their searches remember.
    pub idioms: Idioms,
    /// The types of the elements of variables.
    pub elements: Elements,
}

impl Cache {
    /// Creates the cache of a program whose code has the idioms of a front end.
    pub fn new(idioms: Idioms) -> Self {
        Self { idioms, elements: Elements::default() }
    }

    /// Prints a function, and remembers the types of the elements of the variables that it refers to.
    pub fn print(&mut self, prepared: &Prepared<'_>, options: &Options) -> Decompiled {
        let decompiled = prepared.print(options, &self.elements);
        self.elements.add(&decompiled.elements);
        decompiled
    }
}

/// Decompiles what a front end produced, or [`ir::text::parse`] read. `observe` is called after each pass.
///
/// ```
/// use unshade_decompile::{Cache, Options, decompile_module, ir::text};
///
/// let text = "kernel \"count\" shared 0 local 0\nparameter 0 size 8\nb0 @0x0:\n    v0:64 = parameter 0\n    \
///             v1:32 = call atomic.add.u32 v0, 1:32\n    return\n";
/// let decompiled = decompile_module(text::parse(text)?, &Options::default(), &mut Cache::default(), &mut |_, _| {});
/// assert!(decompiled.text().contains("atomicAdd(param_1, 1);"));
/// # Ok::<(), text::TextError>(())
/// ```
pub fn decompile_module(
    module: Module<'_>,
    options: &Options,
    cache: &mut Cache,
    observe: &mut pass::Observer<'_>,
) -> Decompiled {
    let prepared = Prepared::new(module, options, &mut cache.idioms, observe);
    cache.print(&prepared, options)
}
