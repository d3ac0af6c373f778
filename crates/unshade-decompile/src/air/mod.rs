//! The front end for AIR: an LLVM module with Metal's metadata becomes a [`MetalProgram`].
//!
//! AIR is in SSA form already, so instructions translate one by one; what changes is the vocabulary:
//!
//! | AIR | intermediate representation |
//! |---|---|
//! | `getelementptr` | [`Op::Offset`](crate::ir::Op::Offset), `Element` and `Member`, one per index |
//! | calls of `air.*` functions | operations by meaning, see [`MetalOp`](crate::ir::MetalOp) |
//! | `insertelement`, `extractelement`, `shufflevector` | vectors and lanes of vectors |
//! | `alloca`, global variables | symbols |
//! | `!air.kernel` and its siblings | arguments with names and attributes, see `arguments` |
//! | initialisers of function constants | the constants themselves, see `globals` |
//!
//! Knowledge: the modules and metadata of 91,777 functions of Apple's compilers (AIR 1.8 to 2.9), with the sources of some.

mod arguments;
mod calls;
mod function;
mod globals;
mod instruction;
mod memory;
mod names;
mod node;
mod shared;
mod types;
mod vectors;

use crate::ir::metal::interface::MetalProgram;
use unshade_llvm::Module;

/// Lifts the functions of a module.
pub fn lift(module: &Module<'_>) -> MetalProgram {
    shared::lift(module)
}

/// Returns the plain name of a function: `_ZN5metal3fooEv` is `foo`.
pub(crate) fn plain_name(symbol: &str) -> &str {
    names::of_function(symbol)
}
