//! Compiled GPU programs to C.
//!
//! A front end turns machine code into [`ir`]; nothing behind it knows of a machine. [`pass`] makes values simpler,
//! [`types`] finds their types, [`schedule`] and [`variables`] say what becomes a statement and what a variable,
//! [`structure`] makes `if` and loops of blocks, [`c`] the text. `docs/decompiler.md` carries one kernel through all of it.
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
//! assert!(decompiled.text().contains("__global__ void twice(float *"));
//! ```
//!
//! | module | thing |
//! |---|---|
//! | [`sass`] | the front end for NVIDIA's machine code |
//! | [`ir`] | values, blocks, SSA construction, dominators |
//! | [`pass`] | simplification, 64-bit values out of their halves, the graph of blocks |
//! | [`address`] | addresses as base, index and offset |
//! | [`types`] | types from use |
//! | [`ways`] | places for what phis are set to |
//! | [`schedule`] | where each value stands |
//! | [`variables`] | values that share a variable |
//! | [`structure`] | statements out of blocks |
//! | [`c`] | CUDA C |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod address;
pub mod c;
pub mod ir;
pub mod pass;
pub mod sass;
pub mod schedule;
pub mod structure;
pub mod types;
pub mod variables;
pub mod ways;

use ir::Op;
use ir::dominators::Graph;
pub use pass::Tried;
use types::{Known, Type, Types};

/// Why a function was not decompiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is larger than the budget allows.
    Budget {
        /// How many instructions are allowed.
        limit: usize,
    },
    /// Calls or joins nest deeper than can be followed: it calls itself.
    Depth,
    /// There is no code where it is entered.
    NoCode,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Budget { limit } => {
                write!(f, "needs more than the budget of {limit} instructions; --budget raises it")
            }
            Self::Depth => f.write_str("calls itself, or nests calls and joins deeper than can be followed"),
            Self::NoCode => f.write_str("there is no code where it is entered"),
        }
    }
}

impl std::error::Error for Fault {}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Where it begins among the parameters, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Its type, if that is known from outside.
    pub ty: Option<Type>,
}

/// A function to decompile.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// Its name, an identifier of C.
    pub name: String,
    /// Whether the host starts it.
    pub is_kernel: bool,
    /// Its parameters, if they are known.
    pub parameters: Vec<Parameter>,
    /// Its code.
    pub code: sass::Code<'a>,
    /// Bytes of shared memory that it declares.
    pub shared_size: u64,
}

impl<'a> Source<'a> {
    /// A kernel whose parameters have these sizes in bytes, one behind the other, and which declares no shared memory.
    pub fn kernel(name: impl Into<String>, code: sass::Code<'a>, sizes: &[u32]) -> Self {
        let mut end = 0_u32;
        let parameters = sizes.iter().map(|&size| {
            let offset = end;
            end = end.saturating_add(size);
            Parameter { offset, size, ty: None }
        });
        Self { name: name.into(), is_kernel: true, parameters: parameters.collect(), code, shared_size: 0 }
    }
}

/// A line of the text, and the addresses of the instructions that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub text: String,
    /// Addresses, ascending.
    pub addresses: Vec<u32>,
}

/// A function as C.
#[derive(Clone, Debug, Default)]
pub struct Decompiled {
    /// What has to stand before it, once for all functions of a file: helpers that CUDA has no name for, variables outside of
    /// functions. Each is whole.
    pub prelude: Vec<String>,
    /// The text: the types of its parameters that are structures, and the function.
    pub lines: Vec<Line>,
    /// How many of the lines are the function's body, without what is written before it and the braces around it.
    pub body: usize,
    /// How many instructions could not be lifted.
    pub unlifted: usize,
    /// How many `goto` there are.
    pub gotos: usize,
    /// How many casts there are.
    pub casts: usize,
    /// Whether every loop is entered at one place: then no `goto` is needed.
    pub is_reducible: bool,
    /// Whether floats that are too small to be normal count as zero: it is to be compiled with `-ftz=true`.
    pub flushes: bool,
}

impl Decompiled {
    /// The text as one, with all that it needs.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for definition in &self.prelude {
            text.push_str(definition);
            text.push('\n');
        }
        if !text.is_empty() {
            text.push('\n');
        }
        for line in &self.lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

/// The budget that is taken when nobody names one.
pub const DEFAULT_BUDGET: usize = 200_000;

/// How functions become C.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// So many instructions a function may have, those of functions that it calls counted at each call.
    pub budget: usize,
    /// Whether each operation that takes a subnormal float for zero shows it as a call, also in functions where all do and
    /// the text could name `-ftz=true` instead.
    pub explicit_flushes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: DEFAULT_BUDGET, explicit_flushes: false }
    }
}

/// Decompiles a function.
///
/// # Errors
///
/// When it is larger than the budget, or can't be followed at all.
pub fn decompile(source: &Source<'_>, options: &Options) -> Result<Decompiled, Fault> {
    decompile_more(source, options, &mut Tried::default())
}

/// Decompiles one of several functions: what was tried out for one of them need not be tried again for the others. The text is
/// that of [`decompile`].
///
/// # Errors
///
/// When it is larger than the budget, or can't be followed at all.
pub fn decompile_more(
    source: &Source<'_>,
    options: &Options,
    tried: &mut Tried,
) -> Result<Decompiled, Fault> {
    let mut function = sass::lift(&source.code, options.budget)?;
    pass::run(&mut function, tried);
    let flushes = !options.explicit_flushes && pass::flush::run(&mut function);
    let graph = Graph::new(&function);
    ways::join_ways(&mut function, &graph);
    ways::split_edges(&mut function);
    let graph = Graph::new(&function);
    pass::hoist(&mut function, &graph);
    let used = pass::used(&function);
    let known: Vec<Known> = source
        .parameters
        .iter()
        .filter_map(|parameter| Some(Known { offset: parameter.offset, ty: parameter.ty? }))
        .collect();
    let types = Types::new(&function, &used, &known);
    let schedule = schedule::Schedule::new(&function, &graph, &used);
    let variables = variables::Variables::new(&function, &graph, &schedule, &types.of);
    let weight = |block: u32| schedule.items[block as usize].len() + variables.copies[block as usize].len();
    let is_preset =
        |block: u32| schedule.items[block as usize].is_empty() && variables.is_preset(&function, block);
    let mut structurer = structure::Structurer::new(&function, &graph, weight, is_preset);
    let statements = structurer.run();
    let gotos = structurer.gotos;
    let unlifted = graph
        .order
        .iter()
        .flat_map(|block| &function.blocks[*block as usize].effects)
        .filter(|effect| matches!(function.op(**effect), Op::Unlifted(_)))
        .count();
    let printer = c::Printer::new(&function, &schedule, &variables, &types, source);
    let c::Text { prelude, lines, body, casts } = printer.run(&statements, gotos, flushes);
    let is_reducible = graph.is_reducible(&function);
    Ok(Decompiled { prelude, lines, body, unlifted, gotos, casts, is_reducible, flushes })
}
