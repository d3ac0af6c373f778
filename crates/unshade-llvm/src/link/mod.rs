//! Links modules: resolves symbols across them, and makes one module of what is reached from some of them.
//!
//! | module | holds |
//! |---|---|
//! | `reach` | which symbols are reached, and what is missing |
//! | `mover` | the module that is made: types, constants, attributes, symbols |
//! | `lists` | the variables that list symbols |
//! | `metadata` | its metadata, named lists included |
//! | `body` | the bodies of its functions |
//!
//! A symbol that other modules see means the same in all modules. A strong definition comes before weak ones, of which
//! the first counts; two strong ones are a conflict. Local symbols belong to their module, and get another name where
//! two of one name meet.
//!
//! ```
//! use unshade_llvm::link::{LinkInput, LinkRules, Linker, Root};
//! use unshade_llvm::{Module, assemble};
//!
//! let assembled = |text: &str| {
//!     let options = assemble::AssembleOptions::default();
//!     assemble::bitcode(text.as_bytes(), b"a.ll", &options).expect("it is valid").bytes
//! };
//! let caller = assembled("declare void @g()\ndefine void @f() {\n  call void @g()\n  ret void\n}\n");
//! let callee = assembled("define void @g() {\n  ret void\n}\ndefine void @unused() {\n  ret void\n}\n");
//! let modules = [Module::parse(&caller, 0)?, Module::parse(&callee, 0)?];
//! let bodies = [modules[0].bodies()?, modules[1].bodies()?];
//! let inputs = modules.iter().zip(&bodies).map(|(module, bodies)| LinkInput { module, bodies });
//!
//! let linker = Linker::new(inputs.collect());
//! let reach = linker.reach(&[Root { input: 0, name: b"f" }]);
//! assert!(reach.missing().is_empty());
//! let linked = linker.link(&reach, &LinkRules::default())?;
//! let names: Vec<_> = linked.module.functions.iter().map(|one| one.symbol.name.as_slice()).collect();
//! assert_eq!(names, [&b"f"[..], b"g"]);
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! Knowledge: `IRMover.cpp` and `LinkModules.cpp` of LLVM 14.

mod body;
mod lists;
mod metadata;
mod mover;
mod reach;

pub use crate::build::BuiltModule as Linked;
pub use reach::{Missing, Reach};

use crate::body::FunctionBody;
use crate::build::BuiltModule;
use crate::global::{Linkage, Symbol};
use crate::ids::ValueId;
use crate::module::Module;
use crate::value::ValueKind;
use crate::write::symbols::Object;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::Result;

/// A module to link, with the bodies of its functions.
#[derive(Clone, Copy, Debug)]
pub struct LinkInput<'m, 'a> {
    /// The module.
    pub module: &'m Module<'a>,
    /// The bodies of all functions that are defined, in the order of the functions.
    pub bodies: &'m [FunctionBody],
}

/// A symbol from which others are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root<'r> {
    /// The index of the input that defines it.
    pub input: usize,
    /// Its name there.
    pub name: &'r [u8],
}

/// How a linked module is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkRules<'r> {
    /// The input that comes first, whose target the linked module has [default: the first of which something is reached].
    pub first: Option<usize>,
    /// The name of the source file of the linked module [default: that of the first input].
    pub source_filename: Option<&'r [u8]>,
    /// The names of definitions that stay visible to other modules; all others become internal. Without it, all stay as
    /// they are.
    pub exported: Option<&'r [&'r [u8]]>,
    /// Variables that are left out, and that `llvm.used` does not keep.
    pub left_out: &'r [&'r [u8]],
    /// Variables that are added. They are hidden, in a section of their own name, and `llvm.used` keeps them.
    pub added: &'r [AddedVariable<'r>],
    /// Named metadata that is left out.
    pub left_out_metadata: &'r [&'r [u8]],
    /// Named metadata of which only the first input's is kept, each node once.
    pub of_first_input: &'r [&'r [u8]],
}

/// A variable that a linker adds.
#[derive(Clone, Copy, Debug)]
pub struct AddedVariable<'r> {
    /// Its name and that of its section.
    pub name: &'r str,
    /// Its initial value.
    pub content: AddedContent<'r>,
}

/// The initial value of a variable that a linker adds.
#[derive(Clone, Copy, Debug)]
pub enum AddedContent<'r> {
    /// An array of pairs of 32-bit numbers.
    Pairs(&'r [[u32; 2]]),
    /// An array of bytes.
    Bytes(&'r [u8]),
    /// An array of the addresses of symbols. Those that are not linked are left out.
    Addresses(&'r [&'r [u8]]),
}

/// Two strong definitions of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The name.
    pub name: Vec<u8>,
    /// The inputs that define it.
    pub inputs: [usize; 2],
}

/// A symbol of an input: its value there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SymbolId {
    pub(crate) input: usize,
    pub(crate) value: ValueId,
}

/// Modules with the definitions of the symbols that they share.
#[derive(Clone, Debug)]
pub struct Linker<'m, 'a> {
    inputs: Vec<LinkInput<'m, 'a>>,
    /// The definition of each shared name, and whether it is weak.
    definitions: BTreeMap<&'m [u8], (SymbolId, bool)>,
    conflicts: Vec<Conflict>,
}

impl<'m, 'a> Linker<'m, 'a> {
    /// Finds the definitions of modules.
    pub fn new(inputs: Vec<LinkInput<'m, 'a>>) -> Self {
        let mut linker = Self { inputs: Vec::new(), definitions: BTreeMap::new(), conflicts: Vec::new() };
        for (index, input) in inputs.iter().enumerate() {
            for object in objects(input.module) {
                linker.define(index, object);
            }
        }
        linker.inputs = inputs;
        linker
    }

    fn define(&mut self, input: usize, object: Object<'m>) {
        let symbol = object.symbol();
        let is_shared = object.is_defined() && !symbol.linkage.is_local();
        if !is_shared || symbol.name.is_empty() || symbol.linkage == Linkage::Appending {
            return;
        }
        let id = SymbolId { input, value: symbol.value };
        let is_weak = object.is_weak() || symbol.linkage == Linkage::Common;
        match self.definitions.get(symbol.name.as_slice()) {
            Some((_, false)) if is_weak => {}
            Some((_, true)) if is_weak => {}
            Some((first, false)) => {
                self.conflicts.push(Conflict { name: symbol.name.clone(), inputs: [first.input, input] });
            }
            _ => {
                self.definitions.insert(&symbol.name, (id, is_weak));
            }
        }
    }

    /// Returns names with two strong definitions.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// Returns the input that defines a name for others.
    pub fn definer(&self, name: &[u8]) -> Option<usize> {
        self.definitions.get(name).map(|(id, _)| id.input)
    }

    /// Finds what is reached from some symbols, and from the constructors of all inputs.
    pub fn reach(&self, roots: &[Root<'_>]) -> Reach {
        reach::reach(self, roots)
    }

    /// Makes one module of what is reached.
    ///
    /// # Errors
    /// If modules have different pointers or data layouts, or something that can't be linked.
    pub fn link(&self, reach: &Reach, rules: &LinkRules<'_>) -> Result<BuiltModule> {
        mover::link(self, reach, rules)
    }

    /// Returns a symbol of an input.
    pub(crate) fn object(&self, id: SymbolId) -> Option<Object<'m>> {
        object_of(self.inputs.get(id.input)?.module, id.value)
    }

    /// Returns the definition that a symbol of an input means: its own, or that of another input; none if there is none.
    pub(crate) fn definition(&self, id: SymbolId) -> Option<SymbolId> {
        let object = self.object(id)?;
        let symbol: &Symbol = object.symbol();
        if symbol.linkage.is_local() || symbol.linkage == Linkage::Appending || symbol.name.is_empty() {
            return object.is_defined().then_some(id);
        }
        self.definitions.get(symbol.name.as_slice()).map(|(id, _)| *id)
    }
}

/// Returns the symbol that a value is.
pub(crate) fn object_of<'m>(module: &'m Module<'_>, value: ValueId) -> Option<Object<'m>> {
    match module.values.get(value.index())?.kind {
        ValueKind::Function(index) => module.functions.get(index as usize).map(Object::Function),
        ValueKind::Global(index) => module.globals.get(index as usize).map(Object::Variable),
        ValueKind::Alias(index) => module.aliases.get(index as usize).map(Object::Alias),
        _ => None,
    }
}

/// Returns the symbols of a module: variables, functions, aliases.
pub(crate) fn objects<'m>(module: &'m Module<'_>) -> impl Iterator<Item = Object<'m>> {
    let variables = module.globals.iter().map(Object::Variable);
    let functions = module.functions.iter().map(Object::Function);
    variables.chain(functions).chain(module.aliases.iter().map(Object::Alias))
}

#[cfg(test)]
mod tests;
