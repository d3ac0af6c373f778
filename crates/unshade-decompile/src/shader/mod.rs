//! Passes for shaders, and what the printers of shading languages need to know of a function.
//!
//! | module | thing |
//! |---|---|
//! | [`inputs`] | components of inputs as lanes of whole elements |
//! | [`loads`] | loads of as many words as are used |
//! | [`matrices`] | loads and stores of whole matrices |
//! | [`mixed`] | choices of floats and integers apart |
//! | [`stores`] | stores of single components as stores of vectors |
//! | [`idiom`] | functions of the language that compilers expand: `pow`, `exp`, `log` |
//! | [`labels`] | names of the source code for values |
//! | [`vectorize`] | vectors from scalar operations that do the same |
//! | [`signs`] | the signs of integers that atomic operations compare |
//! | [`users`] | the users of values, while a pass changes them |
//! | [`kinds`] | whether a value is a float, an integer or a boolean |

pub mod idiom;
pub mod inputs;
pub mod kinds;
pub mod labels;
pub mod loads;
pub mod matrices;
pub mod mixed;
pub mod signs;
pub mod stores;
pub mod users;
pub mod vectorize;

use crate::ir::dominators::Graph;
use crate::ir::shader::data_type::StructTypes;
use crate::ir::shader::interface::{Resource, ShaderFunction, ShaderProgram};
use crate::ir::{BlockId, Function, IdVec, ResourceId};
use crate::pass;
use vectorize::Vectors;

/// Maximum depth of loops whose conditions move.
const MAX_NESTED: usize = 4;

/// What the passes read of a program.
pub struct Context<'c> {
    /// The resources.
    pub resources: &'c IdVec<ResourceId, Resource>,
    /// The structures.
    pub structs: &'c StructTypes,
    /// Whether numbers of 16 bits take four bytes in memory.
    pub is_minimum: bool,
    /// What vectors the code and the language have.
    pub vectors: Vectors,
}

/// Runs the passes on a function of a program.
pub fn simplify(function: &mut ShaderFunction, context: &Context<'_>) {
    pass::sweep(&mut function.function);
    if context.vectors.are_split {
        unrotate(&mut function.function);
    }
    inputs::run(function, context.resources);
    matrices::run(&mut function.function, context);
    loads::run(&mut function.function, context);
    idiom::run(&mut function.function);
    stores::run(&mut function.function);
    mixed::run(&mut function.function);
    settle(&mut function.function);
    vectorize::run(&mut function.function, context.vectors);
    settle(&mut function.function);
    idiom::run_on_vectors(&mut function.function);
    settle(&mut function.function);
}

/// Moves the conditions of loops to where the source has them: LLVM rotates loops. Other functions keep their blocks.
fn unrotate(function: &mut Function) {
    if Graph::new(function).header.iter().all(|header| *header == BlockId::NONE) {
        return;
    }
    let mut changed = function.clone();
    pass::graph::skip_jumps(&mut changed);
    settle(&mut changed);
    // A loop that contained another one is transformed in the next pass.
    for _ in 0..MAX_NESTED {
        let graph = Graph::new(&changed);
        if !pass::loops::run_on_llvm(&mut changed, &graph) {
            break;
        }
        settle(&mut changed);
        *function = changed.clone();
    }
}

/// Removes what is unused, and moves each pure value to the first block where it can be computed.
fn settle(function: &mut Function) {
    function.settle();
    labels::follow(function);
    pass::sweep(function);
    let graph = Graph::new(function);
    pass::hoist(function, &graph);
}

/// Makes vectors of the operations on lanes of values that are vectors now.
pub fn vectorize_again(function: &mut Function, model: (u8, u8)) {
    function.settle();
    vectorize::run(function, Vectors::of(model));
    settle(function);
}

/// Runs the passes on all functions of a program.
pub fn simplify_all(program: &mut ShaderProgram) {
    let ShaderProgram { functions, resources, structs, has_native_16_bit, model, .. } = program;
    let (is_minimum, vectors) = (!*has_native_16_bit, Vectors::of(*model));
    let context = Context { resources, structs, is_minimum, vectors };
    for function in functions {
        simplify(function, &context);
    }
    signs::run(program);
}
