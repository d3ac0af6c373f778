//! The summary that a module carries for ThinLTO, or an index that is made of the summaries of many modules.
//!
//! `GLOBALVAL_SUMMARY` (20) holds it for ThinLTO, `FULL_LTO_GLOBALVAL_SUMMARY` (24) in the same form for LTO of
//! everything at once; `MODULE_STRTAB` (19) lists the modules of an index. The first record gives the version; records
//! on type tests, parameters and allocations stand before the function that they belong to. Symbols are named by the
//! MD5 digest of their name, to which local ones add the file.
//!
//! Knowledge: `GlobalValueSummarySymtabCodes` of LLVM's `LLVMBitCodes.h` (14 and 19), and the effect of `llvm-dis`.

use crate::bitstream::Record;
use crate::blocks;
use crate::global::Symbol;
use crate::ids::{narrow, unrotate};
use crate::md5;
use crate::module::Module;
use crate::value::ValueKind;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::Diagnostics;

/// A summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The modules, by their number in the file.
    pub modules: BTreeMap<u64, SummaryModule>,
    /// Symbols, by their number all over the program.
    pub symbols: BTreeMap<u64, SummarySymbol>,
    /// What is known of identifiers of types, sorted by number, with their names.
    pub types: Vec<(u64, Vec<u8>, TypeSummary)>,
    /// Tables of virtual functions that fit an identifier: offsets and symbols.
    pub tables: BTreeMap<Vec<u8>, Vec<(u64, u64)>>,
    /// Flags of the whole summary.
    pub flags: u64,
    /// How many blocks all functions have.
    pub block_count: u64,
}

/// A module of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryModule {
    /// The path; nothing for the module that carries the summary.
    pub path: Option<Vec<u8>>,
    /// A hash of the module's contents.
    pub hash: [u32; 5],
}

/// A symbol of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummarySymbol {
    /// The name; empty where only the number is known.
    pub name: Vec<u8>,
    /// Its summaries, one for each module that defines it.
    pub summaries: Vec<SymbolSummary>,
}

/// What is known of a symbol as one module defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolSummary {
    /// The module's number.
    pub module: u64,
    /// Bits: 0 to 3 linkage, 4 not eligible to import, 5 live, 6 local, 7 hidden automatically, 8 and 9 visibility,
    /// 10 a declaration.
    pub flags: u64,
    /// What kind of symbol it is.
    pub kind: SymbolKind,
    /// Symbols that it refers to.
    pub references: Vec<Reference>,
}

/// A symbol that is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its number.
    pub symbol: u64,
    /// 0 anyhow, 1 read only, 2 written only.
    pub access: u8,
}

/// What kind of symbol a summary is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function(alloc::boxed::Box<FunctionSummary>),
    /// A variable.
    Variable {
        /// Bits: 0 read only, 1 written only, 2 constant, from 3 on who may see virtual calls.
        flags: u64,
        /// Virtual functions with their offsets.
        virtual_functions: Vec<(u64, u64)>,
    },
    /// An alias, with what it stands for if that is known.
    Alias(Option<u64>),
}

/// What is known of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSummary {
    /// How many instructions it has.
    pub instructions: u64,
    /// Properties, by bit.
    pub flags: u64,
    /// Calls.
    pub calls: Vec<Edge>,
    /// Identifiers of types that it tests for.
    pub type_tests: Vec<u64>,
    /// Virtual calls (identifier, offset): after a test, by a checked load.
    pub virtual_calls: [Vec<(u64, u64)>; 2],
    /// Virtual calls with constant arguments, likewise.
    pub constant_calls: [Vec<ConstantCall>; 2],
    /// What it does with its parameters.
    pub parameters: Vec<ParameterAccess>,
    /// Profiled allocations.
    pub allocations: Vec<Allocation>,
    /// Profiled calls.
    pub call_sites: Vec<CallSite>,
}

/// A virtual call with constant arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantCall {
    /// The identifier of the type and the offset.
    pub function: (u64, u64),
    /// The arguments.
    pub arguments: Vec<u64>,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The symbol that is called.
    pub callee: u64,
    /// 0 unknown, 1 cold, 2 none, 3 hot, 4 critical.
    pub hotness: u8,
    /// The frequency relative to the function's entry.
    pub frequency: u64,
    /// Whether it is a tail call.
    pub tail: bool,
}

/// What a function does with a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterAccess {
    /// The parameter.
    pub parameter: u64,
    /// The offsets that it uses: from, and up to but without.
    pub offsets: (i64, i64),
    /// Calls that it is passed to: symbol, parameter and offsets.
    pub calls: Vec<(u64, u64, (i64, i64))>,
}

/// A profiled allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The kinds of its versions: 0 none, 1 not cold, 2 cold, 4 hot.
    pub versions: Vec<u64>,
    /// Its contexts: kind and stack.
    pub contexts: Vec<(u64, Vec<u64>)>,
}

/// A profiled call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The symbol that is called, where it is known.
    pub callee: Option<u64>,
    /// The versions of the callee.
    pub clones: Vec<u64>,
    /// The stack.
    pub stack: Vec<u64>,
}

/// What is known of the identifier of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeSummary {
    /// How tests are done: 0 unsatisfiable, 1 byte array, 2 inline, 3 single, 4 all ones, 5 unknown.
    pub kind: u64,
    /// Width of the size, alignment, size, mask of bits, bits inline.
    pub numbers: [u64; 5],
    /// What is known of virtual calls, by offset.
    pub calls: BTreeMap<u64, CallResolution>,
}

/// What is known of a virtual call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallResolution {
    /// 0 indirect, 1 one implementation, 2 a funnel of branches.
    pub kind: u64,
    /// The one implementation.
    pub name: Vec<u8>,
    /// What is known for given arguments: kind, info, byte and bit.
    pub by_arguments: BTreeMap<Vec<u64>, [u64; 4]>,
}

/// Where a module has what its summary is read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    /// The blocks of summaries, with their positions.
    blocks: Vec<(u32, usize)>,
    /// The modules of an index.
    modules: BTreeMap<u64, SummaryModule>,
    last_module: u64,
    /// Numbers of symbols that have no name.
    numbers: Vec<(u64, u64)>,
    /// The hash of the module.
    hash: [u32; 5],
}

impl Parts {
    /// Notes a block of the module.
    pub(crate) fn add_block(&mut self, block: u32, position: usize) {
        self.blocks.push((block, position));
    }

    /// Notes a symbol that has a number instead of a name.
    pub(crate) fn add_number(&mut self, value: u64, number: u64) {
        self.numbers.push((value, number));
    }

    /// `[five words]`
    pub(crate) fn set_hash(&mut self, values: &[u64]) {
        self.hash = hash_of(values);
    }

    /// 1 `[number, path…]`, 2 `[hash]` of the last one.
    pub(crate) fn add_module(&mut self, record: &Record) {
        match (record.code, record.values.split_first()) {
            (1, Some((&number, path))) => {
                let path = path.iter().map(|&c| c.to_le_bytes()[0]).collect();
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

mod code {
    pub(super) const PERMODULE: u32 = 1;
    pub(super) const PERMODULE_PROFILE: u32 = 2;
    pub(super) const VARIABLE: u32 = 3;
    pub(super) const COMBINED: u32 = 4;
    pub(super) const COMBINED_PROFILE: u32 = 5;
    pub(super) const COMBINED_VARIABLE: u32 = 6;
    pub(super) const ALIAS: u32 = 7;
    pub(super) const COMBINED_ALIAS: u32 = 8;
    pub(super) const VERSION: u32 = 10;
    pub(super) const TYPE_TESTS: u32 = 11;
    pub(super) const TEST_CALLS: u32 = 12;
    pub(super) const LOAD_CALLS: u32 = 13;
    pub(super) const TEST_CONSTANT_CALL: u32 = 14;
    pub(super) const LOAD_CONSTANT_CALL: u32 = 15;
    pub(super) const VALUE_NUMBER: u32 = 16;
    pub(super) const PERMODULE_FREQUENCY: u32 = 19;
    pub(super) const FLAGS: u32 = 20;
    pub(super) const TYPE_ID: u32 = 21;
    pub(super) const TYPE_TABLES: u32 = 22;
    pub(super) const TABLE: u32 = 23;
    pub(super) const BLOCK_COUNT: u32 = 24;
    pub(super) const PARAMETERS: u32 = 25;
    pub(super) const CALL_SITE: u32 = 26;
    pub(super) const ALLOCATION: u32 = 27;
    pub(super) const COMBINED_CALL_SITE: u32 = 28;
    pub(super) const COMBINED_ALLOCATION: u32 = 29;
    pub(super) const STACK_IDS: u32 = 30;
}

/// The operands of a record, taken from the front.
struct Fields<'r>(&'r [u64]);

impl<'r> Fields<'r> {
    fn next(&mut self) -> Option<u64> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn take(&mut self, count: u64) -> Option<&'r [u64]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn pair(&mut self) -> Option<(u64, u64)> {
        Some((self.next()?, self.next()?))
    }

    fn offsets(&mut self) -> Option<(i64, i64)> {
        let (low, high) = self.pair()?;
        Some((unrotate(low).cast_signed(), unrotate(high).cast_signed()))
    }
}

impl Module<'_> {
    /// Whether the module has a summary.
    pub fn has_summary(&self) -> bool {
        !self.summary_parts.blocks.is_empty()
    }

    /// The module's summary, with what could not be read of it; nothing if there is none.
    ///
    /// What separates the file from the name of local symbols, whose digest is their number, is `:` before LLVM 17 and
    /// `;` since.
    pub fn summary(&self, separator: u8) -> Option<(Summary, Diagnostics)> {
        if !self.has_summary() {
            return None;
        }
        let mut reader = Reader::new(self, separator);
        let mut findings = Diagnostics::new();
        for &(block, position) in &self.summary_parts.blocks {
            let mut cursor = self.cursor_at(position);
            reader.version = 0;
            let outcome = cursor.for_records(block, |_, record| {
                if reader.take(record).is_none() {
                    let message = "record of a summary that can't be read";
                    let error = unshade_core::Error::new(unshade_core::ErrorKind::BadValue, record.offset, message)
                        .found(alloc::format!("code {} of {} operands", record.code, record.values.len()));
                    findings.error("llvm-summary", error);
                }
                Ok(())
            });
            findings.take("llvm-summary", outcome);
        }
        reader.summary.types.sort_by_key(|(number, ..)| *number);
        Some((reader.summary, findings))
    }

    /// The number of a symbol all over the program.
    fn symbol_number(&self, symbol: &Symbol, separator: u8) -> u64 {
        // The mark of a name that is not to be mangled is no part of it.
        let name = symbol.name.strip_prefix(b"\x01").unwrap_or(&symbol.name);
        if !symbol.linkage.is_local() {
            return md5::low64(name);
        }
        let file = self.source_filename.as_deref().filter(|file| !file.is_empty()).unwrap_or(b"<unknown>");
        md5::low64(&[file, &[separator], name].concat())
    }
}

struct Reader<'m, 'a> {
    module: &'m Module<'a>,
    summary: Summary,
    /// Numbers of symbols by their values.
    numbers: BTreeMap<u64, u64>,
    version: u64,
    stacks: Vec<u64>,
    /// What is known so far of the function that comes next.
    pending: FunctionSummary,
}

impl<'m, 'a> Reader<'m, 'a> {
    fn new(module: &'m Module<'a>, separator: u8) -> Self {
        let mut summary = Summary { modules: module.summary_parts.modules.clone(), ..Summary::default() };
        if module.source_filename.as_deref().is_some_and(|file| !file.is_empty()) {
            summary.modules.insert(0, SummaryModule { path: None, hash: module.summary_parts.hash });
        }
        let mut numbers = BTreeMap::new();
        for (at, value) in (0u64..).zip(&module.values) {
            let symbol = match value.kind {
                ValueKind::Global(index) => module.globals.get(index as usize).map(|global| &global.symbol),
                ValueKind::Function(index) => module.functions.get(index as usize).map(|one| &one.symbol),
                ValueKind::Alias(index) => {
                    module.aliases.get(index as usize).filter(|alias| !alias.indirect).map(|alias| &alias.symbol)
                }
                _ => None,
            };
            if let Some(symbol) = symbol {
                let number = module.symbol_number(symbol, separator);
                numbers.insert(at, number);
                summary.symbols.entry(number).or_default().name.clone_from(&symbol.name);
            }
        }
        for &(value, number) in &module.summary_parts.numbers {
            numbers.insert(value, number);
            summary.symbols.entry(number).or_default();
        }
        Self { module, summary, numbers, version: 0, stacks: Vec::new(), pending: FunctionSummary::default() }
    }

    fn number(&self, value: u64) -> Option<u64> {
        self.numbers.get(&value).copied()
    }

    fn take(&mut self, record: &Record) -> Option<()> {
        let mut fields = Fields(&record.values);
        match record.code {
            code::VERSION => self.version = fields.next()?,
            code::FLAGS => self.summary.flags = fields.next()?,
            code::BLOCK_COUNT => {
                self.summary.block_count = self.summary.block_count.wrapping_add(fields.next()?);
            }
            code::VALUE_NUMBER => {
                let (value, number) = fields.pair()?;
                self.numbers.insert(value, number);
                self.summary.symbols.entry(number).or_default();
            }
            code::PERMODULE
            | code::PERMODULE_PROFILE
            | code::PERMODULE_FREQUENCY
            | code::COMBINED
            | code::COMBINED_PROFILE => self.function(record.code, fields)?,
            code::VARIABLE | code::COMBINED_VARIABLE | code::TABLE => self.variable(record.code, fields)?,
            code::ALIAS | code::COMBINED_ALIAS => self.alias(record.code, fields)?,
            code::TYPE_TESTS => self.pending.type_tests.extend_from_slice(&record.values),
            code::TEST_CALLS | code::LOAD_CALLS => {
                let [tests, loads] = &mut self.pending.virtual_calls;
                let list = if record.code == code::TEST_CALLS { tests } else { loads };
                while let Some(pair) = fields.pair() {
                    list.push(pair);
                }
            }
            code::TEST_CONSTANT_CALL | code::LOAD_CONSTANT_CALL => {
                let call = ConstantCall { function: fields.pair()?, arguments: fields.0.to_vec() };
                let [tests, loads] = &mut self.pending.constant_calls;
                if record.code == code::TEST_CONSTANT_CALL { tests.push(call) } else { loads.push(call) }
            }
            code::PARAMETERS => self.parameters(fields)?,
            code::STACK_IDS => self.stacks = record.values.to_vec(),
            code::CALL_SITE => {
                let callee = self.number(fields.next()?)?;
                let stack = self.stack(fields.0)?;
                self.pending.call_sites.push(CallSite { callee: Some(callee), clones: vec![0], stack });
            }
            code::COMBINED_CALL_SITE => {
                let callee = fields.next()?;
                let (stacks, clones) = fields.pair()?;
                let stack = self.stack(fields.take(stacks)?)?;
                let clones = fields.take(clones)?.to_vec();
                let callee = self.number(callee);
                self.pending.call_sites.push(CallSite { callee, clones, stack });
            }
            code::ALLOCATION | code::COMBINED_ALLOCATION => self.allocation(record.code, fields)?,
            code::TYPE_ID => self.type_id(fields)?,
            code::TYPE_TABLES => {
                let name = self.text(&mut fields)?;
                let mut tables = Vec::new();
                while let Some((offset, value)) = fields.pair() {
                    tables.push((offset, self.number(value)?));
                }
                self.summary.tables.entry(name).or_default().extend(tables);
            }
            // Names before they were made unique, and functions with jump tables: nothing that is printed.
            _ => {}
        }
        Some(())
    }

    /// Offset and size of a part of the string table.
    fn text(&self, fields: &mut Fields<'_>) -> Option<Vec<u8>> {
        let (offset, size) = fields.pair()?;
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.module.strings.get(start..end).map(<[u8]>::to_vec)
    }

    fn stack(&self, indices: &[u64]) -> Option<Vec<u64>> {
        indices.iter().map(|&index| self.stacks.get(usize::try_from(index).ok()?).copied()).collect()
    }

    fn add(&mut self, value: u64, summary: SymbolSummary) -> Option<()> {
        let number = self.number(value)?;
        self.summary.symbols.entry(number).or_default().summaries.push(summary);
        Some(())
    }

    /// Before version 3 everything is live, and nothing may be imported.
    fn flags(&self, stored: u64) -> u64 {
        const LIVE_AND_NOT_ELIGIBLE: u64 = 0x30;
        if self.version < 3 { stored | LIVE_AND_NOT_ELIGIBLE } else { stored }
    }

    /// `[value, module (combined only), flags, instructions, function flags (4), entry count (combined, 6),
    /// references, read-only (5), write-only (7), references…, calls…]`, where numbers tell the version.
    fn function(&mut self, code: u32, mut fields: Fields<'_>) -> Option<()> {
        let combined = matches!(code, code::COMBINED | code::COMBINED_PROFILE);
        let value = fields.next()?;
        let module = if combined { fields.next()? } else { 0 };
        let stored = fields.next()?;
        let flags = self.flags(stored);
        let mut function = core::mem::take(&mut self.pending);
        function.instructions = fields.next()?;
        if self.version >= 4 {
            function.flags = fields.next()?;
        }
        if combined && self.version >= 6 {
            fields.next()?;
        }
        let count = fields.next()?;
        let read_only = if self.version >= 5 { fields.next()? } else { 0 };
        let write_only = if self.version >= 7 { fields.next()? } else { 0 };
        let mut references = self.references(fields.take(count)?)?;
        let total = references.len() as u64;
        for (at, reference) in (0u64..).zip(&mut references) {
            let left = total.wrapping_sub(at);
            if left <= write_only {
                reference.access = 2;
            } else if left <= write_only.saturating_add(read_only) {
                reference.access = 1;
            }
        }
        function.calls = self.calls(code, fields)?;
        let kind = SymbolKind::Function(alloc::boxed::Box::new(function));
        self.add(value, SymbolSummary { module, flags, kind, references })
    }

    fn references(&self, values: &[u64]) -> Option<Vec<Reference>> {
        values.iter().map(|&value| Some(Reference { symbol: self.number(value)?, access: 0 })).collect()
    }

    /// Calls: a value each, with a profile or frequency the number behind it, in version 1 with counts.
    fn calls(&self, code: u32, mut fields: Fields<'_>) -> Option<Vec<Edge>> {
        const FREQUENCY_BITS: u32 = 28;
        let profile = matches!(code, code::PERMODULE_PROFILE | code::COMBINED_PROFILE);
        let mut calls = Vec::new();
        while let Some(value) = fields.next() {
            let mut edge = Edge { callee: self.number(value)?, hotness: 0, frequency: 0, tail: false };
            if self.version == 1 {
                fields.take(if profile { 2 } else { 1 })?;
            } else if profile {
                let packed = fields.next()?;
                edge.hotness = (packed & 7).to_le_bytes()[0];
                edge.tail = packed & 8 != 0;
            } else if code == code::PERMODULE_FREQUENCY {
                let packed = fields.next()?;
                edge.frequency = packed & ((1 << FREQUENCY_BITS) - 1);
                edge.tail = packed >> FREQUENCY_BITS & 1 != 0;
            }
            calls.push(edge);
        }
        Some(calls)
    }

    /// `[value, module (combined only), flags, variable flags (version 5), references…]`; tables give the number of
    /// references and then virtual functions with their offsets.
    fn variable(&mut self, code: u32, mut fields: Fields<'_>) -> Option<()> {
        let value = fields.next()?;
        let module = if code == code::COMBINED_VARIABLE { fields.next()? } else { 0 };
        let stored = fields.next()?;
        let flags = self.flags(stored);
        let own = if self.version >= 5 || code == code::TABLE { fields.next()? } else { 0 };
        let mut virtual_functions = Vec::new();
        let references = if code == code::TABLE {
            let count = fields.next()?;
            let references = self.references(fields.take(count)?)?;
            while let Some((function, offset)) = fields.pair() {
                virtual_functions.push((self.number(function)?, offset));
            }
            references
        } else {
            self.references(fields.0)?
        };
        let kind = SymbolKind::Variable { flags: own, virtual_functions };
        self.add(value, SymbolSummary { module, flags, kind, references })
    }

    /// `[value, module (combined only), flags, value]`
    fn alias(&mut self, code: u32, mut fields: Fields<'_>) -> Option<()> {
        let value = fields.next()?;
        let module = if code == code::COMBINED_ALIAS { fields.next()? } else { 0 };
        let (stored, target) = fields.pair()?;
        let flags = self.flags(stored);
        let of_module = |number: &u64| {
            let symbol = self.summary.symbols.get(number);
            symbol.is_some_and(|symbol| symbol.summaries.iter().any(|summary| summary.module == module))
        };
        let kind = SymbolKind::Alias(self.number(target).filter(of_module));
        self.add(value, SymbolSummary { module, flags, kind, references: Vec::new() })
    }

    /// `(parameter, low, high, calls, (parameter, value, low, high)…)…`
    fn parameters(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let mut accesses = Vec::new();
        while let Some(parameter) = fields.next() {
            let offsets = fields.offsets()?;
            let mut calls = Vec::new();
            for _ in 0..fields.next()? {
                let (parameter, value) = fields.pair()?;
                calls.push((self.number(value)?, parameter, fields.offsets()?));
            }
            accesses.push(ParameterAccess { parameter, offsets, calls });
        }
        self.pending.parameters = accesses;
        Some(())
    }

    /// Contexts are `kind, count, stack…`; how many there are is said since version 10 and in indices, which also list
    /// versions behind them.
    fn allocation(&mut self, code: u32, mut fields: Fields<'_>) -> Option<()> {
        let combined = code == code::COMBINED_ALLOCATION;
        let count = if combined || self.version >= 10 { fields.next()? } else { u64::MAX };
        let versions = if combined { fields.next()? } else { 0 };
        let mut contexts = Vec::new();
        while (contexts.len() as u64) < count && !fields.0.is_empty() {
            let (kind, stacks) = fields.pair()?;
            contexts.push((kind, self.stack(fields.take(stacks)?)?));
        }
        let versions = if combined { fields.take(versions)?.to_vec() } else { vec![0] };
        self.pending.allocations.push(Allocation { versions, contexts });
        Some(())
    }

    /// `[name, kind, five numbers, (offset, kind, name, count, (count, arguments…, kind, info, byte, bit)…)…]`
    fn type_id(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let name = self.text(&mut fields)?;
        let mut summary = TypeSummary { kind: fields.next()?, ..TypeSummary::default() };
        for number in &mut summary.numbers {
            *number = fields.next()?;
        }
        while let Some(offset) = fields.next() {
            let mut call = CallResolution { kind: fields.next()?, ..CallResolution::default() };
            call.name = self.text(&mut fields)?;
            for _ in 0..fields.next()? {
                let count = fields.next()?;
                let arguments = fields.take(count)?.to_vec();
                let mut known = [0; 4];
                for number in &mut known {
                    *number = fields.next()?;
                }
                call.by_arguments.insert(arguments, known);
            }
            summary.calls.insert(offset, call);
        }
        self.summary.types.push((md5::low64(&name), name, summary));
        Some(())
    }
}

/// The blocks that summaries are in.
pub(crate) fn is_summary(block: u32) -> bool {
    matches!(block, blocks::SUMMARY | blocks::FULL_SUMMARY)
}
