//! Reads summary blocks into a [`Summary`].
//!
//! The first record of a block gives the version. Records on type tests, parameters and allocations precede the
//! function that they belong to. Symbols are referred to by value number and mapped to their GUIDs.
//!
//! Knowledge: `GlobalValueSummarySymtabCodes` of LLVM's `LLVMBitCodes.h` (14 and 19), and the output of `llvm-dis`.

use crate::bitstream::Record;
use crate::ids::unrotate;
use crate::md5;
use crate::module::Module;
use crate::summary::{
    Allocation, CallResolution, CallSite, ConstantCall, Edge, FunctionSummary, ParameterAccess, Reference, Summary,
    SummaryModule, SymbolKind, SymbolSummary, TypeSummary,
};
use crate::value::ValueKind;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// The codes of records.
pub(crate) mod code {
    pub(crate) const PERMODULE: u32 = 1;
    pub(crate) const PERMODULE_PROFILE: u32 = 2;
    pub(crate) const VARIABLE: u32 = 3;
    pub(crate) const COMBINED: u32 = 4;
    pub(crate) const COMBINED_PROFILE: u32 = 5;
    pub(crate) const COMBINED_VARIABLE: u32 = 6;
    pub(crate) const ALIAS: u32 = 7;
    pub(crate) const COMBINED_ALIAS: u32 = 8;
    pub(crate) const COMBINED_ORIGINAL_NAME: u32 = 9;
    pub(crate) const VERSION: u32 = 10;
    pub(crate) const TYPE_TESTS: u32 = 11;
    pub(crate) const TEST_CALLS: u32 = 12;
    pub(crate) const LOAD_CALLS: u32 = 13;
    pub(crate) const TEST_CONSTANT_CALL: u32 = 14;
    pub(crate) const LOAD_CONSTANT_CALL: u32 = 15;
    pub(crate) const VALUE_GUID: u32 = 16;
    pub(crate) const PERMODULE_FREQUENCY: u32 = 19;
    pub(crate) const FLAGS: u32 = 20;
    pub(crate) const TYPE_ID: u32 = 21;
    pub(crate) const TYPE_ID_VTABLES: u32 = 22;
    pub(crate) const VTABLE: u32 = 23;
    pub(crate) const BLOCK_COUNT: u32 = 24;
    pub(crate) const PARAMETERS: u32 = 25;
    pub(crate) const CALL_SITE: u32 = 26;
    pub(crate) const ALLOCATION: u32 = 27;
    pub(crate) const COMBINED_CALL_SITE: u32 = 28;
    pub(crate) const COMBINED_ALLOCATION: u32 = 29;
    pub(crate) const STACK_IDS: u32 = 30;
    pub(crate) const CONTEXT_TREE: u32 = 32;
    pub(crate) const COMBINED_ALLOCATION_WITHOUT_CONTEXT: u32 = 33;
}

/// The remaining operands of a record.
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
    /// Returns whether the module has a summary.
    pub fn has_summary(&self) -> bool {
        !self.summary_parts.blocks.is_empty() || self.summary_parts.assembled.is_some()
    }

    /// Reads the summary of the module, with diagnostics of what could not be read; `None` if there is none.
    ///
    /// `separator` is the character between the file and the name of a local symbol in the text whose digest is
    /// its GUID: `:` before LLVM 17, `;` since.
    pub fn summary(&self, separator: u8) -> Option<(Summary, Diagnostics)> {
        if let Some(summary) = &self.summary_parts.assembled {
            return Some((Summary::clone(summary), Diagnostics::new()));
        }
        if !self.has_summary() {
            return None;
        }
        let mut reader = SummaryReader::new(self, separator);
        let mut findings = Diagnostics::new();
        for &(block, position) in &self.summary_parts.blocks {
            let mut cursor = self.cursor_at(position);
            reader.version = 0;
            let outcome = cursor.for_records(block, |_, record| {
                if reader.read_record(record).is_none() {
                    let message = "summary record can't be read";
                    let error = Error::new(ErrorKind::BadValue, record.offset, message)
                        .found(alloc::format!("code {} of {} operands", record.code, record.values.len()));
                    findings.error("llvm-summary", error);
                }
                Ok(())
            });
            findings.take("llvm-summary", outcome);
        }
        reader.summary.stack_ids = core::mem::take(&mut reader.stacks);
        reader.summary.types.sort_by_key(|(guid, ..)| *guid);
        Some((reader.summary, findings))
    }
}

struct SummaryReader<'m, 'a> {
    module: &'m Module<'a>,
    summary: Summary,
    /// GUIDs by value number.
    guids: BTreeMap<u64, u64>,
    version: u64,
    stacks: Vec<u64>,
    /// All contexts of allocations, since version 12; see [`stack_in_tree`].
    context_tree: Vec<u64>,
    /// What records have given so far for the next function.
    pending: FunctionSummary,
}

impl<'m, 'a> SummaryReader<'m, 'a> {
    fn new(module: &'m Module<'a>, separator: u8) -> Self {
        let mut summary = Summary { modules: module.summary_parts.modules.clone(), ..Summary::default() };
        if module.source_filename.as_deref().is_some_and(|file| !file.is_empty()) {
            summary.modules.insert(0, SummaryModule { path: None, hash: module.summary_parts.hash });
        }
        let mut guids = BTreeMap::new();
        for (at, value) in (0u64..).zip(&module.values) {
            let symbol = match value.kind {
                ValueKind::Global(index) => module.globals.get(index as usize).map(|global| &global.symbol),
                ValueKind::Function(index) => module.functions.get(index as usize).map(|function| &function.symbol),
                ValueKind::Alias(index) => {
                    module.aliases.get(index as usize).filter(|alias| !alias.indirect).map(|alias| &alias.symbol)
                }
                _ => None,
            };
            if let Some(symbol) = symbol {
                let guid = symbol.guid(module.source_filename.as_deref().unwrap_or_default(), separator);
                guids.insert(at, guid);
                summary.symbols.entry(guid).or_default().name.clone_from(&symbol.name);
            }
        }
        for &(value, guid) in &module.summary_parts.guids {
            guids.insert(value, guid);
            summary.symbols.entry(guid).or_default();
        }
        Self { module, summary, guids, version: 0, stacks: Vec::new(), context_tree: Vec::new(), pending: FunctionSummary::default() }
    }

    fn guid(&self, value: u64) -> Option<u64> {
        self.guids.get(&value).copied()
    }

    fn read_record(&mut self, record: &Record) -> Option<()> {
        let mut fields = Fields(&record.values);
        match record.code {
            code::VERSION => self.version = fields.next()?,
            code::FLAGS => self.summary.flags = fields.next()?,
            code::BLOCK_COUNT => {
                self.summary.block_count = self.summary.block_count.wrapping_add(fields.next()?);
            }
            code::VALUE_GUID => {
                let (value, mut guid) = fields.pair()?;
                // Since version 11 the number is in two halves, upper first.
                if self.version >= 11 {
                    guid = guid << 32 | fields.next()?;
                }
                self.guids.insert(value, guid);
                self.summary.symbols.entry(guid).or_default();
            }
            code::PERMODULE
            | code::PERMODULE_PROFILE
            | code::PERMODULE_FREQUENCY
            | code::COMBINED
            | code::COMBINED_PROFILE => self.function(record.code, fields)?,
            code::VARIABLE | code::COMBINED_VARIABLE | code::VTABLE => self.variable(record.code, fields)?,
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
            // Since version 12 a number is in two halves, upper first.
            code::STACK_IDS if self.version >= 12 => {
                let pair = |pair: &[u64]| pair.iter().fold(0, |number, half| number << 32 | half);
                self.stacks = record.values.chunks_exact(2).map(pair).collect();
            }
            code::STACK_IDS => self.stacks = record.values.to_vec(),
            code::CONTEXT_TREE => self.context_tree = record.values.to_vec(),
            code::COMBINED_ALLOCATION_WITHOUT_CONTEXT => {
                let (kinds, versions) = fields.pair()?;
                let contexts = fields.take(kinds)?.iter().map(|&kind| (kind, Vec::new())).collect();
                let versions = fields.take(versions)?.to_vec();
                self.pending.allocations.push(Allocation { versions, contexts });
            }
            code::CALL_SITE => {
                let callee = self.guid(fields.next()?)?;
                let stack = self.stack(fields.0)?;
                self.pending.call_sites.push(CallSite { callee: Some(callee), clones: vec![0], stack });
            }
            code::COMBINED_CALL_SITE => {
                let callee = fields.next()?;
                let (stacks, clones) = fields.pair()?;
                let stack = self.stack(fields.take(stacks)?)?;
                let clones = fields.take(clones)?.to_vec();
                let callee = self.guid(callee);
                self.pending.call_sites.push(CallSite { callee, clones, stack });
            }
            code::ALLOCATION | code::COMBINED_ALLOCATION => self.allocation(record.code, fields)?,
            code::TYPE_ID => self.type_id(fields)?,
            code::TYPE_ID_VTABLES => {
                let name = self.text(&mut fields)?;
                let mut tables = Vec::new();
                while let Some((offset, value)) = fields.pair() {
                    tables.push((offset, self.guid(value)?));
                }
                self.summary.tables.entry(name).or_default().extend(tables);
            }
            // Original names and CFI functions are not printed.
            _ => {}
        }
        Some(())
    }

    /// Reads the offset and size of a part of the string table, and returns the part.
    fn text(&self, fields: &mut Fields<'_>) -> Option<Vec<u8>> {
        let (offset, size) = fields.pair()?;
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.module.strings.get(start..end).map(<[u8]>::to_vec)
    }

    /// Returns the stack ids at indices into the list of the block.
    fn stack(&self, indices: &[u64]) -> Option<Vec<u64>> {
        indices.iter().map(|&index| self.stacks.get(usize::try_from(index).ok()?).copied()).collect()
    }

    /// Adds a summary to the symbol of a value.
    fn add(&mut self, value: u64, summary: SymbolSummary) -> Option<()> {
        let guid = self.guid(value)?;
        self.summary.symbols.entry(guid).or_default().summaries.push(summary);
        Some(())
    }

    /// Returns the flags of a symbol. Before version 3 every symbol is live and not eligible to import.
    fn flags(&self, stored: u64) -> u64 {
        const LIVE_AND_NOT_ELIGIBLE: u64 = 0x30;
        if self.version < 3 { stored | LIVE_AND_NOT_ELIGIBLE } else { stored }
    }

    /// Reads `[value, module (combined only), flags, instructions, function flags (4), entry count (combined, 6),
    /// references, read-only (5), write-only (7), references…, calls…]`; a number in parentheses is the version
    /// that added the field.
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
        values.iter().map(|&value| Some(Reference { symbol: self.guid(value)?, access: 0 })).collect()
    }

    /// Reads calls: a value each, followed by the profile or frequency if the record has them; in version 1 by
    /// counts.
    fn calls(&self, code: u32, mut fields: Fields<'_>) -> Option<Vec<Edge>> {
        const FREQUENCY_BITS: u32 = 28;
        let profile = matches!(code, code::PERMODULE_PROFILE | code::COMBINED_PROFILE);
        let mut calls = Vec::new();
        while let Some(value) = fields.next() {
            let mut edge = Edge { callee: self.guid(value)?, hotness: 0, frequency: 0, tail: false };
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

    /// Reads `[value, module (combined only), flags, variable flags (version 5), references…]`. Vtables have the
    /// number of references before them, and after them virtual functions with their offsets.
    fn variable(&mut self, code: u32, mut fields: Fields<'_>) -> Option<()> {
        let value = fields.next()?;
        let module = if code == code::COMBINED_VARIABLE { fields.next()? } else { 0 };
        let stored = fields.next()?;
        let flags = self.flags(stored);
        let own = if self.version >= 5 || code == code::VTABLE { fields.next()? } else { 0 };
        let mut virtual_functions = Vec::new();
        let references = if code == code::VTABLE {
            let count = fields.next()?;
            let references = self.references(fields.take(count)?)?;
            while let Some((function, offset)) = fields.pair() {
                virtual_functions.push((self.guid(function)?, offset));
            }
            references
        } else {
            self.references(fields.0)?
        };
        let kind = SymbolKind::Variable { flags: own, virtual_functions };
        self.add(value, SymbolSummary { module, flags, kind, references })
    }

    /// Reads `[value, module (combined only), flags, aliasee]`.
    fn alias(&mut self, code: u32, mut fields: Fields<'_>) -> Option<()> {
        let value = fields.next()?;
        let module = if code == code::COMBINED_ALIAS { fields.next()? } else { 0 };
        let (stored, target) = fields.pair()?;
        let flags = self.flags(stored);
        let of_module = |number: &u64| {
            let symbol = self.summary.symbols.get(number);
            symbol.is_some_and(|symbol| symbol.summaries.iter().any(|summary| summary.module == module))
        };
        let kind = SymbolKind::Alias(self.guid(target).filter(of_module));
        self.add(value, SymbolSummary { module, flags, kind, references: Vec::new() })
    }

    /// Reads `(parameter, low, high, calls, (parameter, value, low, high)…)…`.
    fn parameters(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let mut accesses = Vec::new();
        while let Some(parameter) = fields.next() {
            let offsets = fields.offsets()?;
            let mut calls = Vec::new();
            for _ in 0..fields.next()? {
                let (parameter, value) = fields.pair()?;
                calls.push((self.guid(value)?, parameter, fields.offsets()?));
            }
            accesses.push(ParameterAccess { parameter, offsets, calls });
        }
        self.pending.parameters = accesses;
        Some(())
    }

    /// Reads an allocation. Its contexts are `type, count, stack…`. Their number is stored since version 10 and in
    /// combined indices, which also list versions after the contexts.
    fn allocation(&mut self, code: u32, mut fields: Fields<'_>) -> Option<()> {
        let combined = code == code::COMBINED_ALLOCATION;
        let count = if combined || self.version >= 10 { fields.next()? } else { u64::MAX };
        let versions = if combined { fields.next()? } else { 0 };
        let mut contexts = Vec::new();
        while (contexts.len() as u64) < count && !fields.0.is_empty() {
            let (kind, stacks) = fields.pair()?;
            let stack = match self.context_tree.as_slice() {
                [] => self.stack(fields.take(stacks)?)?,
                tree => self.stack(&stack_in_tree(tree, stacks)?)?,
            };
            contexts.push((kind, stack));
        }
        let versions = if combined { fields.take(versions)?.to_vec() } else { vec![0] };
        self.pending.allocations.push(Allocation { versions, contexts });
        Some(())
    }

    /// Reads `[name, kind, five numbers, (offset, kind, name, count, (count, arguments…, kind, info, byte,
    /// bit)…)…]`
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
                let mut resolution = [0; 4];
                for number in &mut resolution {
                    *number = fields.next()?;
                }
                call.by_arguments.insert(arguments, resolution);
            }
            summary.calls.insert(offset, call);
        }
        self.summary.types.push((md5::low64(&name), name, summary));
        Some(())
    }
}

/// Returns a context of an allocation, as indices of stack ids, from the tree that holds all contexts. At its place are
/// the number of indices and the indices; a negative number in place of an index is the distance, negated, to
/// where the context goes on, which it shares with another.
fn stack_in_tree(tree: &[u64], place: u64) -> Option<Vec<u64>> {
    let entry = |at: usize| tree.get(at).copied().map(|entry| entry & 0xFFFF_FFFF);
    let mut at = usize::try_from(place).ok()?;
    let count = usize::try_from(entry(at)?).ok()?.min(tree.len());
    let mut stack = Vec::new();
    for _ in 0..count {
        at = at.checked_add(1)?;
        let mut index = entry(at)?;
        if let Some(distance) = (1u64 << 32).checked_sub(index).filter(|distance| *distance <= 1 << 31) {
            at = at.checked_add(usize::try_from(distance).ok()?)?;
            index = entry(at)?;
        }
        stack.push(index);
    }
    Some(stack)
}
