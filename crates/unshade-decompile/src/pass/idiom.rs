//! What a front end adds to the passes: the idioms of the compilers for its machine.
//!
//! A machine without 64-bit registers, a divide instruction or a mode for subnormal floats leaves sequences of simpler
//! operations in its code. Its front end recognises them, and describes here how; the passes only know when. Without
//! idioms, the text has these sequences as they are.

use super::simplify::Idiom;
use crate::ir::dominators::Graph;
use crate::ir::{Function, Module};
use crate::layout::known::KnownStructure;

/// The idioms of a front end. The default has none.
#[derive(Debug)]
pub struct Idioms {
    /// Returns the replacement of a value, if it is the end of an idiom. The rounds of simplification call it for each
    /// value, before the rules of algebra are tried.
    pub rewrite: Idiom,
    /// Searches of whole functions, after the first rounds, in their order.
    pub searches: Vec<Search>,
    /// Removes all flushes of subnormal floats if an option of the compiler can stand for them. Returns whether it did.
    pub remove_flushes: fn(&mut Function) -> bool,
    /// Returns whether that option would change what a function does whose flushes were not removed.
    pub depends_on_flushes: fn(&Function) -> bool,
    /// The structures of libraries.
    pub structures: &'static [KnownStructure],
}

impl Default for Idioms {
    fn default() -> Self {
        Self {
            rewrite: |_, _| None,
            searches: Vec::new(),
            remove_flushes: |_| false,
            depends_on_flushes: |_| false,
            structures: &[],
        }
    }
}

/// A search of a whole function for idioms.
pub struct Search {
    /// Its name, for observers of passes.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether it replaces operations by functions of a mathematical library, whose bits depend on its release.
    pub finds_library: bool,
    /// Replaces what it finds, and returns whether that is anything. All values are used. It may remember what it found
    /// out about other functions of the program.
    pub run: Box<SearchFunction>,
}

/// The function of a search.
pub type SearchFunction = dyn FnMut(&mut Module<'_>, &Graph) -> bool;

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").field("name", &self.name).finish_non_exhaustive()
    }
}
