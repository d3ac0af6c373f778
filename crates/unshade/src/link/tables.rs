//! The tables by which the modules of a linked library name dynamic libraries and what they take from them.
//!
//! | variable | content |
//! |---|---|
//! | `air.dyld_str_table` | the install names, one after the other, and a zero byte |
//! | `air.dyld_lib_table` | for each library the offset and size of its install name |
//! | `air.dyld_flat_table` | the addresses of the symbols that libraries provide, whichever it is |
//!
//! Each is hidden and in a section of its own name, and `llvm.used` lists them. A library's `HDYN` and `ILST` repeat
//! them.
//!
//! Source: the modules of 19 libraries that Apple's linker linked against dynamic ones.

use std::collections::BTreeSet;
use unshade_llvm::Module;
use unshade_llvm::constants::Constant;
use unshade_llvm::global::Symbol;
use unshade_llvm::ids::{MetadataId, ValueId};
use unshade_llvm::metadata::Metadata;
use unshade_llvm::value::ValueKind;

/// The beginnings of the names that Metal's runtime defines: of all symbols that the modules of 809 linked libraries do not
/// define, only those in the tables begin otherwise.
const RUNTIME: [&[u8]; 3] = [b"air.", b"llvm.", b"__tensorops_impl_"];

/// Returns whether Metal's runtime defines a symbol.
pub(super) fn is_of_runtime(name: &[u8]) -> bool {
    RUNTIME.iter().any(|start| name.starts_with(start))
}

/// The names of the tables.
pub(super) const TABLES: [&[u8]; 3] = [b"air.dyld_lib_table", b"air.dyld_str_table", b"air.dyld_flat_table"];

/// Maximum number of casts between a table and a symbol.
const MAX_CASTS: usize = 8;

/// What a module takes from dynamic libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DynamicTables {
    /// The install names of the libraries.
    pub(super) libraries: Vec<Vec<u8>>,
    /// The symbols.
    pub(super) imports: Vec<Vec<u8>>,
}

impl DynamicTables {
    /// Reads the tables of a module; both lists are empty if it has none.
    pub(super) fn read(module: &Module<'_>) -> Self {
        let initializer = |name: &[u8]| {
            let table = module.globals.iter().find(|global| global.symbol.name == name)?;
            table.initializer
        };
        let strings = initializer(b"air.dyld_str_table").map(|table| text(module, table)).unwrap_or_default();
        let library = |row: &ValueId| {
            let [offset, size] = elements(module, *row)[..] else { return None };
            let offset = usize::try_from(module.integer(None, offset)?).ok()?;
            let size = usize::try_from(module.integer(None, size)?).ok()?;
            strings.get(offset..offset.checked_add(size)?).map(<[u8]>::to_vec)
        };
        let rows = initializer(b"air.dyld_lib_table").map(|table| elements(module, table));
        let symbols = initializer(b"air.dyld_flat_table").map(|table| elements(module, table));
        Self {
            libraries: rows.iter().flatten().filter_map(library).collect(),
            imports: symbols
                .iter()
                .flatten()
                .filter_map(|&element| symbol(module, element))
                .map(|symbol| symbol.name.clone())
                .collect(),
        }
    }
}

/// Returns the names of the symbols that a linker keeps whether or not they are reached, without the tables.
pub(super) fn kept(module: &Module<'_>) -> Vec<Vec<u8>> {
    let is_list = |name: &[u8]| matches!(name, b"llvm.used" | b"llvm.compiler.used");
    let lists = module.globals.iter().filter(|global| is_list(&global.symbol.name));
    let rows = lists.filter_map(|list| list.initializer).flat_map(|list| elements(module, list));
    let symbols = rows.filter_map(|row| symbol(module, row));
    let symbols = symbols.filter(|symbol| !TABLES.contains(&symbol.name.as_slice()));
    symbols.map(|symbol| symbol.name.clone()).collect()
}

/// Returns the names of the variables to which the metadata of an entry point refers: a function constant decides which
/// arguments and results there are.
pub(super) fn of_metadata(module: &Module<'_>, entry: &[u8]) -> Vec<Vec<u8>> {
    let is_entry = |node: &MetadataId| {
        let function = module.node_operands(*node).next().flatten();
        let function = function.and_then(|operand| metadata_symbol(module, operand));
        function.is_some_and(|function| function.name == entry)
    };
    let lists = module.named_metadata.iter().filter(|list| list.name.starts_with(b"air."));
    let mut pending: Vec<MetadataId> = lists.flat_map(|list| &list.nodes).copied().filter(is_entry).collect();
    let (mut visited, mut names) = (BTreeSet::new(), Vec::new());
    while let Some(node) = pending.pop() {
        if visited.insert(node) {
            names.extend(metadata_symbol(module, node).map(|symbol| symbol.name.clone()));
            pending.extend(module.node_operands(node).flatten());
        }
    }
    names
}

/// Returns the symbol that metadata is.
fn metadata_symbol<'m>(module: &'m Module<'_>, id: MetadataId) -> Option<&'m Symbol> {
    match module.metadata.get(id)? {
        Metadata::Value { value, .. } => symbol(module, value),
        _ => None,
    }
}

/// Returns the elements of an aggregate.
fn elements(module: &Module<'_>, value: ValueId) -> Vec<ValueId> {
    match module.constant(None, value) {
        Some((Constant::Aggregate(elements), constants)) => constants.values(elements).to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the bytes of an array.
fn text(module: &Module<'_>, value: ValueId) -> Vec<u8> {
    match module.constant(None, value) {
        Some((Constant::Text(bytes), constants)) => constants.bytes(bytes).to_vec(),
        Some((Constant::Data(words), constants)) => {
            constants.words(words).iter().map(|word| word.to_le_bytes()[0]).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the symbol that a value is, through casts.
fn symbol<'m>(module: &'m Module<'_>, mut value: ValueId) -> Option<&'m Symbol> {
    for _ in 0..MAX_CASTS {
        match module.value(None, value)?.kind {
            ValueKind::Function(index) => return Some(&module.functions.get(index as usize)?.symbol),
            ValueKind::Global(index) => return Some(&module.globals.get(index as usize)?.symbol),
            ValueKind::Alias(index) => return Some(&module.aliases.get(index as usize)?.symbol),
            _ => {}
        }
        let (Constant::Expression(index), constants) = module.constant(None, value)? else { return None };
        value = *constants.values(constants.expression(index)?.operands).first()?;
    }
    None
}

/// Returns the contents of the tables of libraries and of strings.
pub(super) fn contents(tables: &DynamicTables) -> (Vec<[u32; 2]>, Vec<u8>) {
    let mut strings = Vec::new();
    let mut pairs = Vec::new();
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    for library in &tables.libraries {
        pairs.push([number(strings.len()), number(library.len())]);
        strings.extend_from_slice(library);
    }
    strings.push(0);
    (pairs, strings)
}
