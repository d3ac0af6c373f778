//! Takes debug information out of modules, as LLVM's `opt -strip-debug` does.
//!
//! What goes: the named metadata `llvm.dbg.*` and `llvm.gcov`; attachments of kind `dbg`, `heapallocsite` and `DIAssignID`;
//! debug locations, also those in the nodes of loops; debug records; calls of the intrinsics `llvm.dbg.*`, and their
//! declarations unless something else refers to them; then all metadata that nothing refers to any more. What stays is
//! renumbered: metadata, and values if declarations went. Names, symbol table, hash and positions are renewed.
//!
//! Knowledge: `StripDebugInfo` of LLVM's `DebugInfo.cpp` (14 and 19).

use super::nodes::{Entries, Kept, Loop, Loops};
use super::operands::{self, Numbering, Operands, Referent, Walk};
use super::{Block, Item, Tree, names};
use crate::bitstream::text;
use crate::blocks;
use crate::body::FunctionBody;
use crate::body_reader::{self, code};
use crate::ids::narrow;
use crate::metadata::{MetadataTypes, code as metadata};
use crate::module::Module;
use crate::summary;
use crate::value::ValueKind;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use core::mem;
use unshade_core::{Error, ErrorKind, Result, Severity};

/// The intrinsics whose calls are debug information.
const INTRINSICS: [&[u8]; 5] =
    [b"llvm.dbg.addr", b"llvm.dbg.assign", b"llvm.dbg.declare", b"llvm.dbg.label", b"llvm.dbg.value"];

/// The kinds of attachments that are debug information.
const ATTACHMENTS: [&[u8]; 3] = [b"dbg", b"heapallocsite", b"DIAssignID"];

/// An entry of a symbol table that names a value: of the module's for functions, and any other.
const VST_ENTRY: u32 = 1;
const VST_FNENTRY: u32 = 3;

/// A list of uses of a value; those of blocks have another code.
const USELIST_DEFAULT: u32 = 1;

/// What was stripped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stripped {
    /// Debug locations of instructions.
    pub locations: u64,
    /// Debug records, and calls of intrinsics for debug information.
    pub variables: u64,
    /// Attachments of metadata.
    pub attachments: u64,
    /// Metadata: strings, values and nodes.
    pub metadata: u64,
    /// Declarations of intrinsics.
    pub declarations: u64,
}

impl Stripped {
    /// Returns whether there was nothing to strip.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what was stripped elsewhere.
    pub fn add(&mut self, other: Self) {
        let sums = [
            (&mut self.locations, other.locations),
            (&mut self.variables, other.variables),
            (&mut self.attachments, other.attachments),
            (&mut self.metadata, other.metadata),
            (&mut self.declarations, other.declarations),
        ];
        for (sum, addend) in sums {
            *sum = sum.saturating_add(addend);
        }
    }
}

impl Tree {
    /// Takes debug information out of all modules: see the module's documentation. A tree without any stays as it is.
    ///
    /// # Errors
    /// If a module can't be read without faults, or has records that are unknown. The tree may then be changed in part.
    ///
    /// ```
    /// use unshade_llvm::tree::Tree;
    ///
    /// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
    /// let mut tree = Tree::read(bytes, 0)?;
    /// let stripped = tree.strip_debug_info()?;
    /// assert!(stripped.is_empty() && tree.write()? == bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn strip_debug_info(&mut self) -> Result<Stripped> {
        let bytes = self.write()?;
        let modules: Vec<Module<'_>> = Module::parse_all(&bytes, 0)?.collect::<Result<_>>()?;
        let blocks = self.blocks().filter(|block| block.id == blocks::MODULE).count();
        if blocks != modules.len() {
            return Err(Error::without_offset(ErrorKind::Unsupported, "modules in several streams"));
        }
        let mut stripped = Stripped::default();
        let mut removed = Vec::new();
        let blocks = self.blocks_mut().filter(|block| block.id == blocks::MODULE);
        for (index, (block, module)) in blocks.zip(&modules).enumerate() {
            let (counts, names) =
                strip_module(block, module).map_err(|error| error.within(format!("module {index}")))?;
            stripped.add(counts);
            removed.push(names);
        }
        if stripped.is_empty() {
            return Ok(stripped);
        }
        if removed.iter().any(|names| !names.is_empty()) {
            names::remove_symbols(self, &removed)?;
        }
        self.renew_positions()?;
        self.renew_hashes()?;
        Ok(stripped)
    }
}

/// Refuses what could not be read: the numbers of what follows are uncertain.
fn check(diagnostics: &unshade_core::Diagnostics) -> Result<()> {
    match diagnostics.iter().find(|finding| finding.severity == Severity::Error) {
        Some(finding) => Err(finding.error.clone()),
        None => Ok(()),
    }
}

/// Strips a module. Returns also the names of the declarations that went.
fn strip_module(block: &mut Block, module: &Module<'_>) -> Result<(Stripped, Vec<names::Removed>)> {
    check(&module.diagnostics)?;
    let mut plan = Plan::new(module);
    plan.read_module(block)?;
    let bodies = module.functions.iter().enumerate().filter(|(_, function)| function.body.is_some());
    let bodies: Vec<usize> = bodies.map(|(index, _)| index).collect();
    for (function, inner) in bodies.iter().zip(block.blocks().filter(|block| block.id == blocks::FUNCTION)) {
        plan.read_function(inner, *function)
            .map_err(|error| error.within(format!("body of function {function}")))?;
    }
    let mut stripped = plan.stripped;
    if plan.is_idle() {
        return Ok((Stripped::default(), Vec::new()));
    }
    plan.number();
    let removed: Vec<u32> = mem::take(&mut plan.intrinsics).into_iter().collect();
    stripped.declarations = removed.len() as u64;
    let mut work = Work { module, removed, plan: &plan, stripped, names: Vec::new() };
    work.apply(block, &bodies)?;
    Ok((work.stripped, work.names))
}

/// What is to be done with a function.
struct FunctionPlan {
    /// The items that go.
    items: Vec<usize>,
    /// Which instructions these are, in order.
    instructions: Vec<u64>,
    entries: Entries,
    roots: Vec<u32>,
    /// Nodes of loops that are nothing but debug locations.
    empty_loops: BTreeSet<u32>,
    /// Whether instructions refer to metadata.
    has_metadata_operands: bool,
}

impl FunctionPlan {
    /// Returns whether an instruction goes that a record begins with, if it does.
    fn removes(&self, instruction: &[u64]) -> bool {
        instruction.first().is_some_and(|number| self.instructions.binary_search(number).is_ok())
    }
}

/// What is to be done with a module.
struct Plan<'m, 'a> {
    module: &'m Module<'a>,
    types: MetadataTypes,
    /// Declared intrinsics of which nothing is known but calls.
    intrinsics: BTreeSet<u32>,
    /// The kinds of attachments that go.
    kinds: BTreeSet<u32>,
    /// The kind of the attachments of loops.
    loops: Option<u32>,
    entries: Entries,
    roots: Vec<u32>,
    functions: Vec<FunctionPlan>,
    has_named: bool,
    stripped: Stripped,
}

/// Returns whether named metadata of this name stays.
fn stays(name: &[u64]) -> bool {
    let name = text(name);
    !name.starts_with(b"llvm.dbg.") && name != b"llvm.gcov"
}

impl<'m, 'a> Plan<'m, 'a> {
    fn new(module: &'m Module<'a>) -> Self {
        let is_intrinsic = |name: &[u8]| INTRINSICS.contains(&name);
        let intrinsics = module.functions.iter().filter(|one| one.declaration && is_intrinsic(&one.symbol.name));
        let intrinsics = intrinsics.map(|function| function.symbol.value.0).collect();
        let gone = module.metadata_kinds.iter().filter(|(_, name)| ATTACHMENTS.contains(&&**name));
        Self {
            module,
            types: module.metadata_types(),
            intrinsics,
            kinds: gone.map(|(number, _)| *number).collect(),
            loops: module.metadata_kind(b"llvm.loop"),
            entries: Entries::new(0),
            roots: Vec::new(),
            functions: Vec::new(),
            has_named: false,
            stripped: Stripped::default(),
        }
    }

    /// Returns whether nothing is debug information.
    fn is_idle(&self) -> bool {
        self.stripped.is_empty() && !self.has_named && self.intrinsics.is_empty()
    }

    /// Keeps the declarations among values that something refers to.
    fn keep(&mut self, values: impl IntoIterator<Item = u32>) {
        if !self.intrinsics.is_empty() {
            values.into_iter().for_each(|value| {
                self.intrinsics.remove(&value);
            });
        }
    }

    fn read_module(&mut self, block: &Block) -> Result<()> {
        let skipped = if self.module.version >= 2 { 2 } else { 0 };
        for (_, record) in block.records() {
            if let Some(pattern) = operands::of_symbol(record.code) {
                let mut operands = record.operands.get(skipped..).unwrap_or_default().to_vec();
                let mut values = Vec::new();
                visit(&mut operands, pattern, &mut values);
                self.keep(values);
            }
        }
        for inner in block.blocks() {
            match inner.id {
                blocks::CONSTANTS => {
                    let values = constant_values(inner)?;
                    self.keep(values);
                }
                blocks::METADATA => {
                    self.entries.add(inner, self.types)?;
                    self.read_roots(inner);
                }
                // Summaries number values as well.
                id if summary::is_summary(id) => self.intrinsics.clear(),
                _ => {}
            }
        }
        let values = mem::take(&mut self.entries.values);
        self.keep(values);
        Ok(())
    }

    /// Reads named metadata and the attachments of globals.
    fn read_roots(&mut self, block: &Block) {
        let mut is_kept = true;
        for (_, record) in block.records() {
            match (record.code, record.operands) {
                (metadata::NAME, name) => is_kept = stays(name),
                (metadata::NAMED_NODE, nodes) if is_kept => self.roots.extend(nodes.iter().copied().map(narrow)),
                (metadata::NAMED_NODE, _) => self.has_named = true,
                (metadata::GLOBAL_DECL_ATTACHMENT, [_, attachments @ ..]) => {
                    let kept = self.attachments(attachments);
                    self.roots.extend(kept.into_iter().map(|(_, node)| node));
                }
                _ => {}
            }
        }
    }

    /// Returns the attachments that stay: kind and node.
    fn attachments(&mut self, operands: &[u64]) -> Vec<(u32, u32)> {
        let mut kept = Vec::new();
        for pair in operands.chunks_exact(2) {
            let [kind, node] = *pair else { continue };
            if self.kinds.contains(&narrow(kind)) {
                self.stripped.attachments = self.stripped.attachments.saturating_add(1);
            } else {
                kept.push((narrow(kind), narrow(node)));
            }
        }
        kept
    }

    fn read_function(&mut self, block: &Block, function: usize) -> Result<()> {
        let body = self.module.body(function)?;
        check(&body.diagnostics)?;
        let mut plan = FunctionPlan {
            items: Vec::new(),
            instructions: Vec::new(),
            entries: Entries::new(self.entries.end()),
            roots: Vec::new(),
            empty_loops: BTreeSet::new(),
            has_metadata_operands: false,
        };
        let mut walk = Walk::new(self.module, &body, function, 0);
        let mut loops = Vec::new();
        let mut instruction = 0_u64;
        for (index, item) in block.items.iter().enumerate() {
            match item {
                Item::Record(_) => self.read_record(block, index, &mut walk, &mut plan, &mut instruction)?,
                Item::Definition(_) => {}
                Item::Block(inner) => match inner.id {
                    blocks::CONSTANTS => {
                        let values = constant_values(inner)?;
                        self.keep(values);
                        walk.constants(inner);
                    }
                    blocks::METADATA => plan.entries.add(inner, self.types)?,
                    blocks::METADATA_ATTACHMENT => {
                        for (_, record) in inner.records() {
                            let (instruction, rest) = record.operands.split_at(record.operands.len() % 2);
                            if plan.removes(instruction) {
                                let count = (rest.len() / 2) as u64;
                                self.stripped.attachments = self.stripped.attachments.saturating_add(count);
                                continue;
                            }
                            for (kind, node) in self.attachments(rest) {
                                let list = if Some(kind) == self.loops { &mut loops } else { &mut plan.roots };
                                list.push(node);
                            }
                        }
                    }
                    _ => {}
                },
            }
        }
        if !walk.is_complete() {
            return Err(Error::without_offset(ErrorKind::Unsupported, "instructions define other values than expected"));
        }
        let values = mem::take(&mut plan.entries.values);
        self.keep(values);
        let mut changes = Loops::new(&mut self.entries, &mut plan.entries);
        for node in loops {
            match changes.strip(node) {
                Loop::Gone => {
                    self.stripped.attachments = self.stripped.attachments.saturating_add(1);
                    plan.empty_loops.insert(node);
                }
                Loop::Changed => {
                    self.stripped.locations = self.stripped.locations.saturating_add(1);
                    plan.roots.push(node);
                }
                Loop::Same => plan.roots.push(node),
            }
        }
        self.functions.push(plan);
        Ok(())
    }

    /// Reads a record of a function.
    fn read_record(
        &mut self,
        block: &Block,
        index: usize,
        walk: &mut Walk<'_, '_>,
        plan: &mut FunctionPlan,
        instruction: &mut u64,
    ) -> Result<()> {
        let Some(record) = block.record(index) else { return Ok(()) };
        match record.code {
            code::DEBUG_LOC | code::DEBUG_LOC_AGAIN => {
                self.stripped.locations = self.stripped.locations.saturating_add(1);
                plan.items.push(index);
                return Ok(());
            }
            code::DEBUG_RECORD_VALUE..=code::DEBUG_RECORD_DECLARE_VALUE => {
                self.stripped.variables = self.stripped.variables.saturating_add(1);
                plan.items.push(index);
                return Ok(());
            }
            _ => {}
        }
        let mut operands = record.operands.to_vec();
        let (mut values, mut nodes) = (Vec::new(), Vec::new());
        walk.instruction(record.code, &mut operands, &mut |referent, number| {
            match referent {
                Referent::Value => values.push(number),
                Referent::Metadata => nodes.push(number),
            }
            number
        })
        .ok_or_else(|| {
            Error::without_offset(ErrorKind::Unsupported, "instruction with an unknown layout")
                .found(format!("code {}", record.code))
        })?;
        let calls_intrinsic = record.code == code::CALL
            && values.first().is_some_and(|callee| self.is_debug_intrinsic(*callee));
        if calls_intrinsic {
            self.stripped.variables = self.stripped.variables.saturating_add(1);
            plan.items.push(index);
            plan.instructions.push(*instruction);
        } else {
            plan.has_metadata_operands |= !nodes.is_empty();
            plan.roots.append(&mut nodes);
            self.keep(values);
        }
        if body_reader::is_instruction(record.code) {
            *instruction = instruction.saturating_add(1);
        }
        Ok(())
    }

    /// Returns whether a value is an intrinsic for debug information, even if something else refers to it.
    fn is_debug_intrinsic(&self, value: u32) -> bool {
        let function = match self.module.values.get(value as usize).map(|value| value.kind) {
            Some(ValueKind::Function(index)) => self.module.functions.get(index as usize),
            _ => None,
        };
        function.is_some_and(|one| one.declaration && INTRINSICS.contains(&one.symbol.name.as_slice()))
    }

    /// Decides what metadata stays, and numbers it.
    fn number(&mut self) {
        let mut roots = mem::take(&mut self.roots);
        for function in &mut self.functions {
            roots.extend(function.entries.mark(mem::take(&mut function.roots)));
        }
        self.entries.mark(roots);
        let next = self.entries.number(0);
        for function in &mut self.functions {
            function.entries.number(next);
        }
    }
}

/// Visits operands that are no instruction's, and collects the values.
fn visit(operands: &mut [u64], pattern: operands::Pattern, values: &mut Vec<u32>) {
    Operands::new(operands, Numbering::default()).visit(pattern, &mut |referent, number| {
        if referent == Referent::Value {
            values.push(number);
        }
        number
    });
}

/// Returns the values that constants refer to.
fn constant_values(block: &Block) -> Result<Vec<u32>> {
    let mut values = Vec::new();
    for (_, record) in block.records() {
        let pattern = operands::of_constant(record.code, record.operands).ok_or_else(|| {
            Error::without_offset(ErrorKind::Unsupported, "constant with an unknown layout")
                .found(format!("code {}", record.code))
        })?;
        visit(&mut record.operands.to_vec(), pattern, &mut values);
    }
    Ok(values)
}

/// The changes of a module.
struct Work<'w, 'm, 'a> {
    module: &'m Module<'a>,
    /// The values that go, in order.
    removed: Vec<u32>,
    plan: &'w Plan<'m, 'a>,
    stripped: Stripped,
    /// The names of the values that go, in the string table.
    names: Vec<names::Removed>,
}

impl Work<'_, '_, '_> {
    fn shift(&self) -> u32 {
        narrow(self.removed.len() as u64)
    }

    /// Returns the new number of a value.
    fn value(&self, number: u32) -> u32 {
        number.saturating_sub(narrow(self.removed.partition_point(|removed| *removed < number) as u64))
    }

    fn is_removed(&self, value: u64) -> bool {
        self.removed.binary_search(&narrow(value)).is_ok()
    }

    fn apply(&mut self, block: &mut Block, bodies: &[usize]) -> Result<()> {
        self.symbols(block);
        let plan = self.plan;
        let mut kept = Kept { module: &plan.entries, function: None, types: plan.types, next: 0 };
        let mut functions = bodies.iter().zip(&plan.functions);
        for inner in block.blocks_mut() {
            match inner.id {
                blocks::METADATA => self.metadata(inner, &mut kept),
                blocks::FUNCTION => {
                    if let Some((function, plan)) = functions.next() {
                        self.function(inner, *function, plan)?;
                    }
                }
                _ => self.values(inner),
            }
        }
        remove_empty(block);
        Ok(())
    }

    /// Changes the records of symbols: removes those that go, and renumbers what the others refer to.
    fn symbols(&mut self, block: &mut Block) {
        if self.removed.is_empty() {
            return;
        }
        let skipped = if self.module.version >= 2 { 2 } else { 0 };
        let mut gone = Vec::new();
        let mut value = 0_u64;
        for index in 0..block.items.len() {
            let Some(record) = block.record(index) else { continue };
            let Some(pattern) = operands::of_symbol(record.code) else { continue };
            if self.is_removed(value) {
                gone.push(index);
                if let (2, &[offset, size, ..]) = (skipped, record.operands) {
                    self.names.push((offset, size));
                }
            }
            value = value.saturating_add(1);
            block.rewrite(index, |operands| {
                let operands = operands.get_mut(skipped..).unwrap_or_default();
                Operands::new(operands, Numbering::default()).visit(pattern, &mut |_, number| self.value(number));
            });
        }
        block.remove(&gone);
    }

    /// Renumbers the values in blocks that have nothing but values, and removes entries for those that go.
    fn values(&self, block: &mut Block) {
        if self.removed.is_empty() {
            return;
        }
        let mut gone = Vec::new();
        for index in 0..block.items.len() {
            let Some(record) = block.record(index) else { continue };
            let at = match (block.id, record.code) {
                (blocks::VALUE_SYMTAB, VST_ENTRY | VST_FNENTRY) => 0,
                (blocks::USELIST, USELIST_DEFAULT) => record.operands.len().saturating_sub(1),
                (blocks::CONSTANTS, code) => {
                    let pattern = operands::of_constant(code, record.operands).unwrap_or_default();
                    block.rewrite(index, |operands| {
                        let mut operands = Operands::new(operands, Numbering::default());
                        operands.visit(pattern, &mut |_, number| self.value(number));
                    });
                    continue;
                }
                _ => continue,
            };
            if record.operands.get(at).is_some_and(|value| self.is_removed(*value)) {
                gone.push(index);
            }
            block.rewrite(index, |operands| {
                if let Some(value) = operands.get_mut(at) {
                    *value = self.value(narrow(*value)).into();
                }
            });
        }
        block.remove(&gone);
    }

    fn metadata(&mut self, block: &mut Block, kept: &mut Kept<'_>) {
        let removed = kept.rewrite(block, stays, |value| self.value(value));
        let mut gone = Vec::new();
        for index in 0..block.items.len() {
            let Some(record) = block.record(index) else { continue };
            if record.code != metadata::GLOBAL_DECL_ATTACHMENT {
                continue;
            }
            let Some((value, attachments)) = record.operands.split_first() else { continue };
            if let Some(rest) = self.without_debug(attachments, None, |_| false) {
                let operands: Vec<u64> = core::iter::once(*value).chain(rest).collect();
                if operands.len() == 1 {
                    gone.push(index);
                }
                block.replace(index, metadata::GLOBAL_DECL_ATTACHMENT, &operands);
            }
        }
        block.remove(&gone);
        self.stripped.metadata = self.stripped.metadata.saturating_add(removed);
    }

    /// Returns attachments without those that go, renumbered by `kept` if it is given; `None` if they stay as they are.
    fn without_debug(
        &self,
        attachments: &[u64],
        kept: Option<&Kept<'_>>,
        is_empty_loop: impl Fn(u32) -> bool,
    ) -> Option<Vec<u64>> {
        let mut result = Vec::new();
        for pair in attachments.chunks_exact(2) {
            let [kind, node] = *pair else { continue };
            let is_loop = Some(narrow(kind)) == self.plan.loops;
            let goes = self.plan.kinds.contains(&narrow(kind)) || is_loop && is_empty_loop(narrow(node));
            if !goes {
                result.extend([kind, kept.map_or(node, |kept| kept.number(narrow(node)).into())]);
            }
        }
        (result != attachments).then_some(result)
    }

    fn function(&mut self, block: &mut Block, function: usize, plan: &FunctionPlan) -> Result<()> {
        let (module, types) = (&self.plan.entries, self.plan.types);
        let mut kept = Kept { module, function: Some(&plan.entries), types, next: module.end() };
        for inner in block.blocks_mut() {
            match inner.id {
                blocks::METADATA => self.metadata(inner, &mut kept),
                blocks::METADATA_ATTACHMENT => self.attachments(inner, plan, &kept),
                _ => self.values(inner),
            }
        }
        if plan.has_metadata_operands || !self.removed.is_empty() {
            let body = self.module.body(function)?;
            self.instructions(block, function, &body, plan, &kept);
        }
        block.remove(&plan.items);
        remove_empty(block);
        Ok(())
    }

    /// Changes the attachments of a function: `[kind, node]…`, or `[instruction, (kind, node)…]`.
    fn attachments(&self, block: &mut Block, plan: &FunctionPlan, kept: &Kept<'_>) {
        let mut gone = Vec::new();
        for index in 0..block.items.len() {
            let Some(record) = block.record(index) else { continue };
            let (instruction, rest) = record.operands.split_at(record.operands.len() % 2);
            if plan.removes(instruction) {
                gone.push(index);
                continue;
            }
            let changed = self.without_debug(rest, Some(kept), |node| plan.empty_loops.contains(&node));
            let mut operands = instruction.to_vec();
            if let Some(instruction) = operands.first_mut() {
                let before = plan.instructions.partition_point(|removed| removed < instruction);
                *instruction = instruction.saturating_sub(before as u64);
            }
            operands.extend(changed.as_deref().unwrap_or(rest));
            if operands.len() <= instruction.len() {
                gone.push(index);
            }
            if operands != record.operands {
                let code = record.code;
                block.replace(index, code, &operands);
            }
        }
        block.remove(&gone);
    }

    /// Renumbers what instructions refer to.
    fn instructions(
        &self,
        block: &mut Block,
        function: usize,
        body: &FunctionBody,
        plan: &FunctionPlan,
        kept: &Kept<'_>,
    ) {
        let mut walk = Walk::new(self.module, body, function, self.shift());
        let mut removed = plan.items.iter().copied().peekable();
        for index in 0..block.items.len() {
            if let Some(Item::Block(inner)) = block.items.get(index) {
                if inner.id == blocks::CONSTANTS {
                    walk.constants(inner);
                }
                continue;
            }
            if removed.next_if_eq(&index).is_some() {
                continue;
            }
            let Some(code) = block.record(index).map(|record| record.code) else { continue };
            block.rewrite(index, |operands| {
                walk.instruction(code, operands, &mut |referent, number| match referent {
                    Referent::Value => self.value(number),
                    Referent::Metadata => kept.number(number),
                })
            });
        }
    }
}

/// Removes blocks of metadata without records.
fn remove_empty(block: &mut Block) {
    block.items.retain(|item| match item {
        Item::Block(inner) if matches!(inner.id, blocks::METADATA | blocks::METADATA_ATTACHMENT) => {
            inner.records().next().is_some()
        }
        _ => true,
    });
}
