//! The ThinLTO summary of a module, or a combined index of the summaries of many modules.
//!
//! `GLOBALVAL_SUMMARY` (20) holds the summary for ThinLTO, `FULL_LTO_GLOBALVAL_SUMMARY` (24) the same for full
//! LTO; `MODULE_STRTAB` (19) lists the modules of a combined index. Symbols are identified by their GUID: the
//! first eight bytes of the MD5 digest of their name, which for local symbols includes the source file.
//!
//! Knowledge: `GlobalValueSummarySymtabCodes` of LLVM's `LLVMBitCodes.h` (14 and 19), and the output of
//! `llvm-dis`.

use crate::bitstream::{Record, text};
use crate::blocks;
use crate::global::Symbol;
use crate::ids::narrow;
use crate::md5;
use crate::module::Module;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A summary of one or several modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The modules, by their number in the file.
    pub modules: BTreeMap<u64, SummaryModule>,
    /// The symbols, by GUID.
    pub symbols: BTreeMap<u64, SummarySymbol>,
    /// Type ids: GUID, name and summary, sorted by GUID.
    pub types: Vec<(u64, Vec<u8>, TypeSummary)>,
    /// The compatible vtables of each type id: address point offsets and GUIDs.
    pub tables: BTreeMap<Vec<u8>, Vec<(u64, u64)>>,
    /// Flags of the whole summary.
    pub flags: u64,
    /// The number of basic blocks of all functions.
    pub block_count: u64,
    /// The stack ids of profiled allocations and calls, in the order of the file.
    pub stack_ids: Vec<u64>,
}

/// The words that stand for numbers in the text of a summary.
pub(crate) mod words {
    pub(crate) const LINKAGES: [&str; 11] = [
        "external",
        "available_externally",
        "linkonce",
        "linkonce_odr",
        "weak",
        "weak_odr",
        "appending",
        "internal",
        "private",
        "extern_weak",
        "common",
    ];
    pub(crate) const VISIBILITIES: [&str; 3] = ["default", "hidden", "protected"];
    pub(crate) const HOTNESS: [&str; 5] = ["unknown", "cold", "none", "hot", "critical"];
    pub(crate) const ALLOCATIONS: [&str; 5] = ["none", "notcold", "cold", "<unknown>", "hot"];
    pub(crate) const TESTS: [&str; 6] = ["unsat", "byteArray", "inline", "single", "allOnes", "unknown"];
    pub(crate) const TEST_NUMBERS: [&str; 5] =
        ["sizeM1BitWidth", "alignLog2", "sizeM1", "bitMask", "inlineBits"];
    pub(crate) const CALLS: [&str; 3] = ["indir", "singleImpl", "branchFunnel"];
    pub(crate) const CALLS_BY_ARGUMENTS: [&str; 4] =
        ["indir", "uniformRetVal", "uniqueRetVal", "virtualConstProp"];
    /// The flags of a function, from bit 0 on.
    pub(crate) const FUNCTION_FLAGS: [&str; 10] = [
        "readNone",
        "readOnly",
        "noRecurse",
        "returnDoesNotAlias",
        "noInline",
        "alwaysInline",
        "noUnwind",
        "mayThrow",
        "hasUnknownCall",
        "mustBeUnreachable",
    ];
    /// The flags of a symbol, from bit 4 on.
    pub(crate) const SYMBOL_FLAGS: [&str; 4] = ["notEligibleToImport", "live", "dsoLocal", "canAutoHide"];
    /// The summary flags that LLVM 14 knows.
    pub(crate) const KNOWN_FLAGS_14: u64 = 0x7F;
    /// The summary flags that LLVM 19 knows.
    pub(crate) const KNOWN_FLAGS_19: u64 = 0x3FF;
}

/// A module of a combined index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryModule {
    /// The path; `None` for the module that holds the summary.
    pub path: Option<Vec<u8>>,
    /// A hash of the module's contents.
    pub hash: [u32; 5],
}

/// A symbol of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummarySymbol {
    /// The name; empty if only the GUID is known.
    pub name: Vec<u8>,
    /// One summary for each module that defines it.
    pub summaries: Vec<SymbolSummary>,
}

/// The summary of a symbol as defined by one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolSummary {
    /// The number of the module.
    pub module: u64,
    /// Bits: 0 to 3 linkage, 4 not eligible to import, 5 live, 6 DSO-local, 7 can auto-hide, 8 and 9 visibility,
    /// 10 imported as a declaration.
    pub flags: u64,
    /// The part that depends on the kind of symbol.
    pub kind: SymbolKind,
    /// The symbols that it refers to.
    pub references: Vec<Reference>,
}

/// A reference to a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The GUID of the symbol.
    pub symbol: u64,
    /// The access: 0 any, 1 read-only, 2 write-only.
    pub access: u8,
}

/// The part of a symbol's summary that depends on its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function(Box<FunctionSummary>),
    /// A global variable.
    Variable {
        /// Bits: 0 maybe read-only, 1 maybe write-only, 2 constant, from 3 on the vcall visibility.
        flags: u64,
        /// For a vtable: the GUIDs of virtual functions and their offsets.
        virtual_functions: Vec<(u64, u64)>,
    },
    /// An alias, with the GUID of the aliasee if it is in the same module.
    Alias(Option<u64>),
}

/// The summary of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSummary {
    /// The number of instructions.
    pub instructions: u64,
    /// Function flags, one bit each.
    pub flags: u64,
    /// The call edges.
    pub calls: Vec<Edge>,
    /// The GUIDs of type ids in `llvm.type.test` calls.
    pub type_tests: Vec<u64>,
    /// Virtual calls (type id GUID, offset): those after a type test, and those by a checked load.
    pub virtual_calls: [Vec<(u64, u64)>; 2],
    /// Virtual calls with constant arguments, in the same order.
    pub constant_calls: [Vec<ConstantCall>; 2],
    /// How it accesses its parameters.
    pub parameters: Vec<ParameterAccess>,
    /// Profiled allocations (MemProf).
    pub allocations: Vec<Allocation>,
    /// Profiled calls (MemProf).
    pub call_sites: Vec<CallSite>,
}

/// A virtual call with constant arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantCall {
    /// The GUID of the type id, and the offset.
    pub function: (u64, u64),
    /// The arguments.
    pub arguments: Vec<u64>,
}

/// A call edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The GUID of the callee.
    pub callee: u64,
    /// 0 unknown, 1 cold, 2 none, 3 hot, 4 critical.
    pub hotness: u8,
    /// The block frequency relative to the function's entry.
    pub frequency: u64,
    /// Whether it is a tail call.
    pub tail: bool,
}

/// How a function accesses a pointer parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterAccess {
    /// The parameter number.
    pub parameter: u64,
    /// The range of offsets that it accesses; the end is exclusive.
    pub offsets: (i64, i64),
    /// Calls that it is passed to: GUID of the callee, parameter number and range of offsets.
    pub calls: Vec<(u64, u64, (i64, i64))>,
}

/// A profiled allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The allocation type of each version: 0 none, 1 not cold, 2 cold, 4 hot.
    pub versions: Vec<u64>,
    /// The contexts: allocation type and stack ids.
    pub contexts: Vec<(u64, Vec<u64>)>,
}

/// A profiled call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The GUID of the callee, if it is known.
    pub callee: Option<u64>,
    /// The version of the callee that each clone calls.
    pub clones: Vec<u64>,
    /// The stack ids.
    pub stack: Vec<u64>,
}

/// The summary of a type id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeSummary {
    /// How type tests are resolved: 0 unsatisfiable, 1 byte array, 2 inline, 3 single, 4 all ones, 5 unknown.
    pub kind: u64,
    /// Width of `size - 1`, log2 of the alignment, `size - 1`, bit mask, inline bits.
    pub numbers: [u64; 5],
    /// The resolutions of virtual calls, by offset.
    pub calls: BTreeMap<u64, CallResolution>,
}

/// The resolution of a virtual call by whole-program devirtualization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallResolution {
    /// The kind: 0 indirect, 1 single implementation, 2 branch funnel.
    pub kind: u64,
    /// The name of the single implementation.
    pub name: Vec<u8>,
    /// The resolution for constant arguments: kind, info, byte and bit.
    pub by_arguments: BTreeMap<Vec<u64>, [u64; 4]>,
}

/// What a module's block holds for its summary.
#[derive(Clone, Debug, Default)]
pub(crate) struct SummaryParts {
    /// The ids of summary blocks, with their positions.
    pub(crate) blocks: Vec<(u32, usize)>,
    /// The modules of a combined index.
    pub(crate) modules: BTreeMap<u64, SummaryModule>,
    last_module: u64,
    /// Value numbers and GUIDs of symbols without a name.
    pub(crate) guids: Vec<(u64, u64)>,
    /// The hash of the module.
    pub(crate) hash: [u32; 5],
    /// The summary of a module that was not read from a file.
    pub(crate) assembled: Option<Box<Summary>>,
}

impl SummaryParts {
    /// Adds a summary block.
    pub(crate) fn add_block(&mut self, block: u32, position: usize) {
        self.blocks.push((block, position));
    }

    /// Adds a symbol that has a GUID instead of a name.
    pub(crate) fn add_guid(&mut self, value: u64, guid: u64) {
        self.guids.push((value, guid));
    }

    /// Parses `[five words]`.
    pub(crate) fn set_hash(&mut self, values: &[u64]) {
        self.hash = hash_of(values);
    }

    /// Parses a record of `MODULE_STRTAB`: 1 `[number, path…]`, 2 the hash of the last module.
    pub(crate) fn add_module(&mut self, record: &Record) {
        match (record.code, record.values.split_first()) {
            (1, Some((&number, path))) => {
                let path = text(path);
                self.modules.insert(number, SummaryModule { path: Some(path), hash: [0; 5] });
                self.last_module = number;
            }
            (2, _) => {
                if let Some(module) = self.modules.get_mut(&self.last_module) {
                    module.hash = hash_of(&record.values);
                }
            }
            _ => {}
        }
    }
}

pub(crate) fn hash_of(values: &[u64]) -> [u32; 5] {
    let mut hash = [0; 5];
    for (slot, &value) in hash.iter_mut().zip(values) {
        *slot = narrow(value);
    }
    hash
}

impl Symbol {
    /// Returns the GUID in a module of a file; `separator` is between the file and the name of a local symbol.
    pub(crate) fn guid(&self, file: &[u8], separator: u8) -> u64 {
        // A leading `\x01`, which prevents mangling, is not part of the name.
        let name = self.name.strip_prefix(b"\x01").unwrap_or(&self.name);
        if !self.linkage.is_local() {
            return md5::low64(name);
        }
        let file = if file.is_empty() { b"<unknown>" } else { file };
        md5::low64(&[file, &[separator], name].concat())
    }
}

/// Returns the symbols of a module that have a name.
pub(crate) fn symbols_by_name<'m>(module: &'m Module<'_>) -> BTreeMap<&'m [u8], &'m Symbol> {
    let globals = module.globals.iter().map(|global| &global.symbol);
    let functions = module.functions.iter().map(|function| &function.symbol);
    let aliases = module.aliases.iter().map(|alias| &alias.symbol);
    let named = globals.chain(functions).chain(aliases).filter(|symbol| !symbol.name.is_empty());
    named.map(|symbol| (symbol.name.as_slice(), symbol)).collect()
}

/// Returns whether a block holds a summary.
pub(crate) fn is_summary(block: u32) -> bool {
    matches!(block, blocks::SUMMARY | blocks::FULL_SUMMARY)
}
