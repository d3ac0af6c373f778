//! Describes the symbols of modules: what `unshade nm` lists.

use super::shown;
use crate::demangle;
use crate::disassembly::Unit;
use crate::program::ModuleGroup;
use serde::Serialize;
use std::collections::BTreeMap;
use unshade_core::{Escaped, Result};
use unshade_llvm::symbols::{self, ModuleSymbol};

/// Which symbols are listed, as the options of `llvm-nm` say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SymbolFilter {
    /// Only symbols that the module does not define.
    pub undefined_only: bool,
    /// Only symbols that the module defines.
    pub defined_only: bool,
    /// Only symbols that other modules see.
    pub extern_only: bool,
    /// Also private symbols, and LLVM's own.
    pub debug_symbols: bool,
    /// In the order of the module, not of the names.
    pub unsorted: bool,
}

impl SymbolFilter {
    fn takes(&self, symbol: &ModuleSymbol<'_>) -> bool {
        (self.debug_symbols || !symbol.special)
            && (!self.extern_only || symbol.is_external())
            && !(self.undefined_only && symbol.defined)
            && (!self.defined_only || symbol.defined)
    }
}

/// A symbol.
#[derive(Clone, Debug, Serialize)]
pub struct SymbolView {
    /// The letter of `llvm-nm`.
    pub letter: char,
    /// The name in object files.
    pub name: String,
    /// The name in C++, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// `function`, `variable`, `constant`, `alias` or `ifunc`.
    pub kind: &'static str,
    /// `default`, `hidden`, `protected` or `local`.
    pub visibility: &'static str,
    /// The linkage in LLVM's words: `external`, `linkonce_odr`.
    pub linkage: &'static str,
    /// Whether the module defines it.
    pub defined: bool,
}

impl SymbolView {
    fn new(symbol: &ModuleSymbol<'_>) -> Self {
        Self {
            letter: symbol.letter,
            name: shown(&symbol.name),
            demangled: demangle(&symbol.name).map(|name| Escaped(name.as_bytes()).to_string()),
            kind: symbol.kind.name(),
            visibility: symbol.visibility(),
            linkage: match symbol.symbol.linkage.keyword() {
                "" => "external",
                keyword => keyword,
            },
            defined: symbol.defined,
        }
    }
}

/// The symbols of a module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleSymbolsView {
    /// The slice of a universal file that has the module.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub slice: String,
    /// The name of the module: of a library's, that of the function that it belongs to.
    pub name: String,
    /// The other functions of the library that share the module.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_by: Vec<String>,
    /// Whether the module has assembly, whose symbols are not listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assembly: bool,
    /// The symbols.
    pub symbols: Vec<SymbolView>,
}

impl ModuleSymbolsView {
    /// Reads the symbols of a module.
    ///
    /// # Errors
    /// The module can't be read.
    pub fn new(slice: &str, unit: &Unit<'_>, shared_by: Vec<String>, filter: SymbolFilter) -> Result<Self> {
        let module = unit.open()?;
        let mut found = symbols::of_module(&module);
        found.retain(|symbol| filter.takes(symbol));
        if !filter.unsorted {
            found.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Ok(Self {
            slice: slice.to_owned(),
            name: unit.name(),
            shared_by,
            assembly: !module.assembly.is_empty(),
            symbols: found.iter().map(SymbolView::new).collect(),
        })
    }
}

/// Returns the modules of a library, each once, with the names of the other functions that share it.
pub fn distinct_modules<'g, 'p>(group: &'g ModuleGroup<'p>) -> Vec<(&'g Unit<'p>, Vec<String>)> {
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mut distinct: Vec<(&Unit<'_>, Vec<String>)> = Vec::new();
    for unit in &group.units {
        let start = match unit {
            Unit::Function { .. } => unit.bytes().ok().map(|(_, start)| start),
            Unit::Part(_) | Unit::File { .. } => None,
        };
        let known = start.and_then(|start| places.get(&start)).and_then(|place| distinct.get_mut(*place));
        if let Some((_, sharing)) = known {
            sharing.push(unit.name());
            continue;
        }
        places.extend(start.map(|start| (start, distinct.len())));
        distinct.push((unit, Vec::new()));
    }
    distinct
}
