//! The ThinLTO summary: within a module, or alone as a combined index of many modules.
//!
//! A combined index is a module with the paths of the modules and the summary, without what other files have besides the
//! string table. Within a module symbols are referred to by their value numbers; a symbol that is only known by its GUID
//! gets a number after them. In a combined index all symbols that have a summary get numbers, in the order of their GUIDs.
//!
//! Knowledge: the records and abbreviations that `llvm-as` of LLVM 14 and 19 writes.

use super::number::Numbering;
use super::source::Scope;
use super::stream::{self, Layout, Shape, Stream};
use super::string_map::{self, StringMap};
use super::strings::StringTable;
use super::summary_records::{self as records, Heap, code};
use super::{Version, WriteInput, Writer, symbols};
use crate::bitstream::{Scalar, Tail};
use crate::blocks;
use crate::global::{Function, Symbol};
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable};
use crate::module::{Module, code as module_code};
use crate::summary::words::{KNOWN_FLAGS_14, KNOWN_FLAGS_19};
use crate::summary::{FunctionSummary, Summary, SummarySymbol, SymbolKind, SymbolSummary, symbols_by_name};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The flags that a summary within a module has: whether it is split for LTO, and one LTO for thin and full.
const MODULE_FLAGS: u64 = 0x208;
/// `MODULE_STRTAB`: a path, and the hash of the module.
const PATH: u32 = 1;
const HASH: u32 = 2;

const V4: Scalar = Scalar::Variable(4);
const V6: Scalar = Scalar::Variable(6);
const V8: Scalar = Scalar::Variable(8);

fn bad(message: &'static str) -> Error {
    Error::without_offset(ErrorKind::BadValue, message)
}

/// Returns the summary of what is written, unless LLVM would leave it out: if it has neither symbols nor flags.
pub(super) fn of(input: &WriteInput<'_, '_>, version: Version) -> Result<Option<Summary>> {
    let Some((mut summary, findings)) = input.module.summary(version.guid_separator()) else {
        return Ok(None);
    };
    if version == Version::Dxc {
        return Err(super::unsupported("a ThinLTO summary can't be written for DXC"));
    }
    if !findings.is_empty() {
        return Err(bad("a ThinLTO summary that is damaged can't be written"));
    }
    summary.flags &= if version == Version::Llvm14 { KNOWN_FLAGS_14 } else { KNOWN_FLAGS_19 };
    let is_empty = summary.symbols.is_empty() && summary.flags == 0;
    Ok((!is_empty).then_some(summary))
}

/// Returns whether a summary is written alone, because the module has no functions or variables.
pub(super) fn is_combined(module: &Module<'_>) -> bool {
    module.functions.is_empty() && module.globals.is_empty()
}

/// The version of summaries.
fn format(version: Version) -> u64 {
    if version == Version::Llvm14 { 9 } else { 10 }
}

/// Writes the summary of a module.
pub(super) fn write(writer: &mut Writer<'_, '_>, summary: &Summary) -> Result<()> {
    let module = writer.numbering.source.module;
    let is_thin = module.flag(b"ThinLTO").is_none_or(|flag| flag != 0);
    writer.stream.enter(if is_thin { blocks::SUMMARY } else { blocks::FULL_SUMMARY }, 4, 0);
    writer.stream.record(code::VERSION, &[format(writer.version)]);
    writer.stream.record(code::FLAGS, &[summary.flags & MODULE_FLAGS]);
    if !summary.symbols.is_empty() {
        let mut records = ModuleSummary::new(writer, summary)?;
        records.begin();
        let layouts = records.layouts();
        records.functions(&layouts)?;
        records.variables(&layouts)?;
        records.aliases(&layouts)?;
        records.tables(&layouts)?;
        records.block_count();
    }
    writer.stream.leave()
}

/// The abbreviations of a summary within a module.
struct ModuleLayouts {
    with_profile: Layout,
    function: Layout,
    variable: Layout,
    table: Layout,
    alias: Layout,
    types: Layout,
    heap: Option<Heap>,
}

/// The summary of a module while it is being written.
struct ModuleSummary<'w, 'i, 'a, 's> {
    module: &'i Module<'a>,
    numbering: &'w Numbering<'i, 'a>,
    stream: &'w mut Stream,
    strings: &'w mut StringTable,
    version: Version,
    summary: &'s Summary,
    symbols: BTreeMap<&'i [u8], &'i Symbol>,
    /// The symbols of the summary that have a name.
    named: BTreeMap<&'s [u8], &'s SummarySymbol>,
    /// The numbers of symbols that are only known by GUID.
    numbers: BTreeMap<u64, u64>,
}

impl<'w, 'i, 'a, 's> ModuleSummary<'w, 'i, 'a, 's> {
    fn new(writer: &'w mut Writer<'i, 'a>, summary: &'s Summary) -> Result<Self> {
        let module = writer.numbering.source.module;
        let named = summary.symbols.values().filter(|symbol| !symbol.name.is_empty());
        let mut written = Self {
            module,
            numbering: &writer.numbering,
            stream: &mut writer.stream,
            strings: &mut writer.strings,
            version: writer.version,
            summary,
            symbols: symbols_by_name(module),
            named: named.map(|symbol| (symbol.name.as_slice(), symbol)).collect(),
            numbers: BTreeMap::new(),
        };
        written.number_guids();
        Ok(written)
    }

    /// Numbers what functions call, and in LLVM 19 refer to, that is only known by GUID. The last number counts.
    fn number_guids(&mut self) {
        let mut next = self.numbering.module_constants().end as u64;
        let summary = self.summary;
        for symbol in summary.symbols.values().flat_map(|symbol| &symbol.summaries) {
            let SymbolKind::Function(function) = &symbol.kind else { continue };
            let references = symbol.references.iter().filter(|_| self.version != Version::Llvm14);
            let guids = function.calls.iter().map(|call| call.callee);
            for guid in guids.chain(references.map(|reference| reference.symbol)) {
                if self.symbol_of(guid).is_none() {
                    next += 1;
                    self.numbers.insert(guid, next);
                }
            }
        }
    }

    /// Returns the symbol of the module that has a GUID.
    fn symbol_of(&self, guid: u64) -> Option<&'i Symbol> {
        let symbol = self.summary.symbols.get(&guid)?;
        self.symbols.get(symbol.name.as_slice()).copied()
    }

    /// Returns the number of a symbol of the module.
    fn number_of(&self, symbol: &Symbol) -> Result<u64> {
        Ok(self.numbering.value(Scope::MODULE, symbol.value)?.into())
    }

    fn value(&self, guid: u64) -> Result<u64> {
        match self.symbol_of(guid) {
            Some(symbol) => self.number_of(symbol),
            None => Err(bad("a summary refers to a symbol that the module does not have")),
        }
    }

    /// Returns the number of a symbol that may be known by GUID only.
    fn value_or_guid(&self, guid: u64) -> Result<u64> {
        self.numbers.get(&guid).map_or_else(|| self.value(guid), |&number| Ok(number))
    }

    /// Returns the summary of a symbol of the module.
    fn summary_of(&self, symbol: &Symbol) -> Option<&'s SymbolSummary> {
        let file = self.module.source_filename.as_deref().unwrap_or_default();
        let by_guid = self.summary.symbols.get(&symbol.guid(file, self.version.guid_separator()));
        let entry = by_guid.or_else(|| self.named.get(symbol.name.as_slice()).copied());
        entry?.summaries.first()
    }

    fn begin(&mut self) {
        for (&guid, &number) in &self.numbers {
            self.stream.record(code::VALUE_GUID, &[number, guid]);
        }
        if self.version != Version::Llvm14 {
            records::stack_ids(self.stream, &self.summary.stack_ids);
        }
    }

    fn layouts(&mut self) -> ModuleLayouts {
        let is_old = self.version == Version::Llvm14;
        let flags = if is_old { V6 } else { V8 };
        let function = if is_old { code::PERMODULE } else { code::PERMODULE_FREQUENCY };
        let mut define = |code: u32, fields: &[Scalar]| records::define(self.stream, code, fields);
        ModuleLayouts {
            with_profile: define(code::PERMODULE_PROFILE, &[V8, flags, V8, V4, V4, V4, V4]),
            function: define(function, &[V8, V6, V8, V4, V4, V4, V4]),
            variable: define(code::VARIABLE, &[V8, V6]),
            table: define(code::VTABLE, &[V8, V6, V4]),
            alias: self.stream.define(&Shape(&[Scalar::Literal(code::ALIAS.into()), V8, V6, V8], Tail::None)),
            types: records::define(self.stream, code::TYPE_ID_VTABLES, &[V8, V8]),
            heap: (!is_old).then(|| Heap::of_module(self.stream)),
        }
    }

    fn functions(&mut self, layouts: &ModuleLayouts) -> Result<()> {
        for (at, function) in self.module.functions.iter().enumerate() {
            if function.symbol.name.is_empty() {
                return Err(bad("a function without a name can't have a summary"));
            }
            match self.summary_of(&function.symbol) {
                None => {}
                Some(SymbolSummary { kind: SymbolKind::Function(summary), flags, references, .. }) => {
                    let mut head = alloc::vec![self.number_of(&function.symbol)?, *flags];
                    head.extend([summary.instructions, summary.flags]);
                    head.extend(records::access_counts(references));
                    for reference in references {
                        head.push(match self.version {
                            Version::Llvm14 => self.value(reference.symbol)?,
                            _ => self.value_or_guid(reference.symbol)?,
                        });
                    }
                    self.function(layouts, summary, head, self.has_profile(at, function))?;
                }
                Some(_) => return Err(bad("the summary of a function is not one of a function")),
            }
        }
        Ok(())
    }

    /// Writes the summary of a function, of which `record` has all but the calls.
    fn function(
        &mut self,
        layouts: &ModuleLayouts,
        summary: &FunctionSummary,
        mut record: Vec<u64>,
        has_profile: bool,
    ) -> Result<()> {
        records::type_uses(self.stream, summary);
        let accesses = records::parameter_accesses(summary, |guid| self.value(guid).map(Some))?;
        if !accesses.is_empty() {
            self.stream.record(code::PARAMETERS, &accesses);
        }
        if let Some(heap) = &layouts.heap {
            let index = records::stack_indices(&self.summary.stack_ids);
            let callee = |guid: Option<u64>| match guid {
                Some(guid) => self.value_or_guid(guid),
                None => Err(bad("a profiled call in a module has no callee")),
            };
            let written = heap.records(summary, callee, &index)?;
            heap.write(self.stream, &written);
        }
        let is_plain = self.version == Version::Llvm14 && !has_profile;
        for call in &summary.calls {
            record.push(self.value_or_guid(call.callee)?);
            if !is_plain {
                record.push(records::profile(self.version, call));
            }
        }
        let (code, layout) = match is_plain {
            true => (code::PERMODULE, &layouts.function),
            false => (code::PERMODULE_PROFILE, &layouts.with_profile),
        };
        self.stream.record_as(Some(layout), code, &record);
        Ok(())
    }

    /// Returns whether a function says how often it was called.
    fn has_profile(&self, at: usize, function: &Function) -> bool {
        const PROFILE: &[u8] = b"prof";
        const NO_SAMPLES: u64 = u64::MAX;
        let body = self.numbering.source.body_of(at).and_then(|scope| self.numbering.source.body(scope));
        let attached = function.symbol.attachments.iter();
        let mut attached = attached.chain(body.iter().flat_map(|body| &body.function_attachments));
        let kinds = &self.module.metadata_kinds;
        let is_profile = |kind: u32| kinds.iter().any(|(known, name)| *known == kind && **name == *PROFILE);
        let node = attached.find(|(kind, _)| is_profile(*kind)).map(|&(_, node)| node);
        let operand = |index: usize| {
            let (Metadata::Node(node), table) = self.module.metadata(body, node?)? else { return None };
            let reference = table.references(node).get(index)?.checked_sub(1)?;
            self.module.metadata(body, MetadataId(narrow(reference)))
        };
        let is_count = |(name, table): (Metadata, &MetadataTable)| match name {
            Metadata::String(name) => table.string(name) == b"function_entry_count",
            _ => false,
        };
        let count = operand(1).and_then(|(count, _)| match count {
            Metadata::Value { value, .. } => self.module.integer(body, value),
            _ => None,
        });
        operand(0).is_some_and(is_count) && count.is_some_and(|count| count != NO_SAMPLES)
    }

    fn variables(&mut self, layouts: &ModuleLayouts) -> Result<()> {
        for variable in &self.module.globals {
            let Some(summary) = self.summary_of(&variable.symbol) else { continue };
            let SymbolKind::Variable { flags, virtual_functions } = &summary.kind else {
                return Err(bad("the summary of a variable is not one of a variable"));
            };
            let mut references = Vec::new();
            for reference in &summary.references {
                references.push(self.value(reference.symbol)?);
            }
            references.sort_unstable();
            let mut record = alloc::vec![self.number_of(&variable.symbol)?, summary.flags, *flags];
            if virtual_functions.is_empty() {
                record.extend(references);
                self.stream.record_as(Some(&layouts.variable), code::VARIABLE, &record);
                continue;
            }
            record.push(references.len() as u64);
            record.extend(references);
            for &(function, offset) in virtual_functions {
                record.extend([self.value(function)?, offset]);
            }
            self.stream.record_as(Some(&layouts.table), code::VTABLE, &record);
        }
        Ok(())
    }

    fn aliases(&mut self, layouts: &ModuleLayouts) -> Result<()> {
        for alias in self.module.aliases.iter().filter(|alias| !alias.indirect) {
            let target = symbols::aliasee(self.module, alias);
            let target = target.ok_or_else(|| bad("an alias in a summary has no object"))?;
            if target.name.is_empty()
                || self.module.aliases.iter().any(|other| other.symbol.value == target.value)
            {
                continue;
            }
            let Some(SymbolSummary { kind: SymbolKind::Alias(_), flags, .. }) =
                self.summary_of(&alias.symbol)
            else {
                return Err(bad("an alias has no summary of an alias"));
            };
            let record = [self.number_of(&alias.symbol)?, *flags, self.number_of(target)?];
            self.stream.record_as(Some(&layouts.alias), code::ALIAS, &record);
        }
        Ok(())
    }

    fn tables(&mut self, layouts: &ModuleLayouts) -> Result<()> {
        for (name, tables) in &self.summary.tables {
            let mut record = alloc::vec![self.strings.add(name).into(), name.len() as u64];
            for &(offset, table) in tables {
                record.extend([offset, self.value(table)?]);
            }
            self.stream.record_as(Some(&layouts.types), code::TYPE_ID_VTABLES, &record);
        }
        Ok(())
    }

    fn block_count(&mut self) {
        records::block_count(self.stream, self.version, self.summary);
    }
}

/// Writes a combined index as a file.
pub(super) fn combined(summary: &Summary, version: Version) -> Result<Vec<u8>> {
    let mut stream = Stream::new();
    stream.enter(blocks::MODULE, 3, 0);
    stream.record(module_code::VERSION, &[2]);
    let modules = paths(&mut stream, summary, version)?;
    let mut strings = StringTable::default();
    Combined::new(summary, version, modules).write(&mut stream, &mut strings)?;
    stream.leave()?;
    stream::blob_block(&mut stream, blocks::STRTAB, strings.bytes())?;
    Ok(stream.finish())
}

/// Writes the paths of modules, and returns the numbers that the modules get.
fn paths(stream: &mut Stream, summary: &Summary, version: Version) -> Result<BTreeMap<u64, u64>> {
    let path_of =
        |id: u64| summary.modules.get(&id).and_then(|module| module.path.as_deref()).unwrap_or_default();
    let ids: Vec<u64> = summary.modules.keys().copied().collect();
    let mut sorted = ids.clone();
    if version == Version::Llvm14 {
        let hash = string_map::hash_of(version);
        let mut by_path = StringMap::new();
        ids.iter().for_each(|&id| by_path.add(hash(path_of(id)), id));
        sorted = by_path.listed().collect();
    } else {
        sorted.sort_by_key(|&id| path_of(id));
    }
    stream.enter(blocks::MODULE_STRTAB, 3, 0);
    let mut define =
        |element: Scalar| stream.define(&Shape(&[Scalar::Literal(PATH.into()), V8], Tail::Array(element)));
    let layouts =
        [Scalar::Fixed(8), Scalar::Fixed(7), Scalar::Char6].map(|element| (element, define(element)));
    let word = Scalar::Fixed(32);
    let hash =
        stream.define(&Shape(&[Scalar::Literal(HASH.into()), word, word, word, word, word], Tail::None));
    let mut numbers = BTreeMap::new();
    for (place, id) in (0u64..).zip(sorted) {
        let number = if version == Version::Llvm14 { id } else { place };
        numbers.insert(id, number);
        let path = path_of(id);
        let element = stream::element_for(path);
        let layout = layouts.iter().find(|(known, _)| *known == element).map(|(_, layout)| layout);
        let mut record = alloc::vec![number];
        record.extend(path.iter().map(|&byte| u64::from(byte)));
        stream.record_as(layout, PATH, &record);
        let words = summary.modules.get(&id).map_or([0; 5], |module| module.hash);
        if words != [0; 5] {
            stream.record_as(Some(&hash), HASH, &words.map(u64::from));
        }
    }
    stream.leave()?;
    Ok(numbers)
}

/// The abbreviations of a combined index.
struct CombinedLayouts {
    /// LLVM 14 has one for functions without a profile.
    plain: Option<Layout>,
    with_profile: Layout,
    variable: Layout,
    alias: Layout,
    heap: Option<Heap>,
}

/// A combined index while it is being written.
struct Combined<'s> {
    summary: &'s Summary,
    version: Version,
    modules: BTreeMap<u64, u64>,
    /// The numbers of symbols by GUID.
    numbers: BTreeMap<u64, u64>,
    stack_ids: Vec<u64>,
    /// The types that functions refer to.
    types: BTreeSet<u64>,
}

impl<'s> Combined<'s> {
    fn new(summary: &'s Summary, version: Version, modules: BTreeMap<u64, u64>) -> Self {
        let (mut numbers, mut next) = (BTreeMap::new(), 0);
        let (mut stack_ids, mut known) = (Vec::new(), BTreeSet::new());
        for (&guid, symbol) in &summary.symbols {
            for of_module in &symbol.summaries {
                next += 1;
                numbers.insert(guid, next);
                let SymbolKind::Function(function) = &of_module.kind else { continue };
                let calls = function.call_sites.iter().flat_map(|site| &site.stack);
                let contexts = function.allocations.iter().flat_map(|allocation| &allocation.contexts);
                for &id in calls.chain(contexts.flat_map(|(_, stack)| stack)) {
                    if known.insert(id) {
                        stack_ids.push(id);
                    }
                }
            }
        }
        Self { summary, version, modules, numbers, stack_ids, types: BTreeSet::new() }
    }

    fn value(&self, guid: u64) -> Option<u64> {
        self.numbers.get(&guid).copied()
    }

    fn write(mut self, stream: &mut Stream, strings: &mut StringTable) -> Result<()> {
        let is_old = self.version == Version::Llvm14;
        stream.enter(blocks::SUMMARY, if is_old { 3 } else { 4 }, 0);
        stream.record(code::VERSION, &[format(self.version)]);
        stream.record(code::FLAGS, &[self.summary.flags]);
        for (&guid, &number) in &self.numbers {
            stream.record(code::VALUE_GUID, &[number, guid]);
        }
        if !is_old {
            records::stack_ids(stream, &self.stack_ids);
        }
        let layouts = self.layouts(stream);
        let summary = self.summary;
        let mut aliases = Vec::new();
        for (&guid, symbol) in &summary.symbols {
            let Some(number) = self.value(guid) else { continue };
            for of_module in &symbol.summaries {
                match &of_module.kind {
                    SymbolKind::Function(function) => {
                        self.function(stream, &layouts, number, of_module, function)?;
                    }
                    SymbolKind::Variable { flags, .. } => {
                        let module = self.module(of_module.module)?;
                        let mut record = alloc::vec![number, module, of_module.flags, *flags];
                        record.extend(of_module.references.iter().filter_map(|used| self.value(used.symbol)));
                        stream.record_as(Some(&layouts.variable), code::COMBINED_VARIABLE, &record);
                    }
                    SymbolKind::Alias(target) => {
                        aliases.push((number, of_module, *target));
                        continue;
                    }
                }
                original_name(stream, of_module);
            }
        }
        for (number, alias, target) in aliases {
            self.alias(stream, &layouts, number, alias, target)?;
        }
        self.type_ids(stream, strings);
        records::block_count(stream, self.version, self.summary);
        stream.leave()
    }

    fn layouts(&self, stream: &mut Stream) -> CombinedLayouts {
        const FUNCTION: [Scalar; 9] = [V8, V8, V6, V8, V4, V8, V4, V4, V4];
        let is_old = self.version == Version::Llvm14;
        CombinedLayouts {
            plain: is_old.then(|| records::define(stream, code::COMBINED, &FUNCTION)),
            with_profile: records::define(stream, code::COMBINED_PROFILE, &FUNCTION),
            variable: records::define(stream, code::COMBINED_VARIABLE, &[V8, V8, V6]),
            alias: stream
                .define(&Shape(&[Scalar::Literal(code::COMBINED_ALIAS.into()), V8, V8, V6, V8], Tail::None)),
            heap: (!is_old).then(|| Heap::of_index(stream)),
        }
    }

    fn module(&self, id: u64) -> Result<u64> {
        let number = self.modules.get(&id).copied();
        number.ok_or_else(|| bad("a summary is of a module that the index does not have"))
    }

    fn function(
        &mut self,
        stream: &mut Stream,
        layouts: &CombinedLayouts,
        number: u64,
        summary: &SymbolSummary,
        function: &FunctionSummary,
    ) -> Result<()> {
        /// The number of calls from elsewhere, which texts do not have.
        const ENTRY_COUNT: u64 = 0;
        records::type_uses(stream, function);
        let accesses = records::parameter_accesses(function, |guid| Ok(self.value(guid)))?;
        if !accesses.is_empty() {
            stream.record(code::PARAMETERS, &accesses);
        }
        self.types.extend(records::used_types(function));
        if let Some(heap) = &layouts.heap {
            let index = records::stack_indices(&self.stack_ids);
            let callee = |guid: Option<u64>| Ok(guid.and_then(|guid| self.value(guid)).unwrap_or_default());
            let written = heap.records(function, callee, &index)?;
            heap.write(stream, &written);
        }
        let module = self.module(summary.module)?;
        let mut record =
            alloc::vec![number, module, summary.flags, function.instructions, function.flags, ENTRY_COUNT];
        let known = summary.references.iter().filter(|used| self.value(used.symbol).is_some());
        let known: Vec<_> = known.copied().collect();
        record.extend(records::access_counts(&known));
        record.extend(known.iter().filter_map(|used| self.value(used.symbol)));
        let is_plain = layouts.plain.is_some() && function.calls.iter().all(|call| call.hotness == 0);
        for call in &function.calls {
            let Some(callee) = self.value(call.callee) else { continue };
            record.push(callee);
            if !is_plain {
                record.push(records::profile(self.version, call));
            }
        }
        match layouts.plain.as_ref().filter(|_| is_plain) {
            Some(plain) => stream.record_as(Some(plain), code::COMBINED, &record),
            None => stream.record_as(Some(&layouts.with_profile), code::COMBINED_PROFILE, &record),
        }
        Ok(())
    }

    fn alias(
        &mut self,
        stream: &mut Stream,
        layouts: &CombinedLayouts,
        number: u64,
        alias: &SymbolSummary,
        target: Option<u64>,
    ) -> Result<()> {
        let symbol = target.and_then(|guid| Some((self.value(guid)?, self.summary.symbols.get(&guid)?)));
        let (target, symbol) = symbol.ok_or_else(|| bad("an alias in a summary has no object"))?;
        let record = [number, self.module(alias.module)?, alias.flags, target];
        stream.record_as(Some(&layouts.alias), code::COMBINED_ALIAS, &record);
        original_name(stream, alias);
        let of_module = symbol.summaries.iter().find(|summary| summary.module == alias.module);
        if let Some(SymbolSummary { kind: SymbolKind::Function(function), .. }) = of_module {
            self.types.extend(records::used_types(function));
        }
        Ok(())
    }

    /// Writes the types that are used.
    fn type_ids(&self, stream: &mut Stream, strings: &mut StringTable) {
        for (_, name, ty) in self.summary.types.iter().filter(|(guid, ..)| self.types.contains(guid)) {
            stream.record(code::TYPE_ID, &records::type_id(strings, name, ty));
        }
    }
}

/// Writes the GUID that a local symbol had before it was renamed, which texts do not have.
fn original_name(stream: &mut Stream, summary: &SymbolSummary) {
    const LINKAGE: u64 = 15;
    const INTERNAL: u64 = 7;
    const PRIVATE: u64 = 8;
    if matches!(summary.flags & LINKAGE, INTERNAL | PRIVATE) {
        stream.record(code::COMBINED_ORIGINAL_NAME, &[0]);
    }
}
