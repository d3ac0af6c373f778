//! What each input defines and needs, read without the bodies of functions.

use super::LinkInput;
use super::tables::{self, DynamicTables};
use crate::air;
use std::collections::{BTreeMap, BTreeSet};
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::Module;
use unshade_llvm::global::Linkage;
use unshade_llvm::symbols::{self, ModuleSymbol};
use unshade_metallib::file::OwnedFunction;

/// A module and what it says of itself.
#[derive(Debug)]
pub(super) struct Input<'i> {
    pub(super) input: &'i LinkInput<'i>,
    /// The functions that it lists by type.
    pub(super) entries: Vec<OwnedFunction<'static>>,
    /// The names that other modules may use.
    pub(super) defined: Vec<Vec<u8>>,
    /// The names that others have to define, without those of LLVM and the runtime.
    pub(super) needed: Vec<Vec<u8>>,
    /// The number of its definitions.
    pub(super) definitions: usize,
    /// What it takes from dynamic libraries.
    pub(super) tables: DynamicTables,
    /// Whether it has functions that run before others.
    pub(super) has_constructors: bool,
    pub(super) source_filename: Vec<u8>,
    pub(super) triple: Vec<u8>,
}

/// All inputs, each once.
#[derive(Debug)]
pub(super) struct Inputs<'i> {
    pub(super) all: Vec<Input<'i>>,
    /// The inputs that define a name, in order.
    pub(super) definers: BTreeMap<Vec<u8>, Vec<usize>>,
}

impl<'i> Inputs<'i> {
    pub(super) fn read(inputs: &'i [LinkInput<'i>]) -> std::result::Result<Self, Vec<Error>> {
        let mut read = Self { all: Vec::new(), definers: BTreeMap::new() };
        let mut faults = Vec::new();
        // A library's functions may share a module, which `extract` writes for each.
        let mut seen = BTreeSet::new();
        for input in inputs.iter().filter(|input| seen.insert(input.bytes.as_ref())) {
            match Input::read(input) {
                Ok(input) => read.add(input),
                Err(error) => faults.push(error.within(input.name.clone())),
            }
        }
        if faults.is_empty() { Ok(read) } else { Err(faults) }
    }

    fn add(&mut self, input: Input<'i>) {
        let index = self.all.len();
        for name in &input.defined {
            self.definers.entry(name.clone()).or_default().push(index);
        }
        self.all.push(input);
    }
}

impl<'i> Input<'i> {
    fn read(input: &'i LinkInput<'i>) -> Result<Self> {
        let mut modules = Module::parse_all(&input.bytes, 0)?;
        if modules.len() > 1 {
            return Err(Error::without_offset(ErrorKind::Unsupported, "file has several modules"));
        }
        let module = modules.next().unwrap_or_else(|| Module::parse(&input.bytes, 0))?;
        let all = symbols::of_module(&module);
        let is_linked = |symbol: &&ModuleSymbol<'_>| {
            symbol.is_external() && !symbol.special && symbol.symbol.linkage != Linkage::Appending
        };
        let name = |symbol: &ModuleSymbol<'_>| symbol.symbol.name.clone();
        let is_of_runtime = |symbol: &ModuleSymbol<'_>| {
            tables::is_of_runtime(&symbol.symbol.name) || symbol.symbol.linkage == Linkage::ExternalWeak
        };
        let linked = || all.iter().filter(is_linked);
        Ok(Self {
            input,
            entries: air::entry_points(&module)?,
            defined: linked().filter(|symbol| symbol.defined).map(name).collect(),
            needed: linked().filter(|symbol| !symbol.defined && !is_of_runtime(symbol)).map(name).collect(),
            definitions: all.iter().filter(|symbol| symbol.defined && !symbol.special).count(),
            tables: DynamicTables::read(&module),
            has_constructors: all.iter().any(|symbol| symbol.symbol.name == b"llvm.global_ctors"),
            source_filename: module.source_filename.clone().unwrap_or_default(),
            triple: module.triple.clone(),
        })
    }

    /// Returns whether it needs nothing but what its own tables name.
    pub(super) fn is_closed(&self) -> bool {
        self.needed.iter().all(|name| self.tables.imports.contains(name))
    }
}
