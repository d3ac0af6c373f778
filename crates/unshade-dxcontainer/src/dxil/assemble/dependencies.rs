//! Which scalars of the outputs depend on which of the inputs and on the view ID: the words of `dx.viewIdState`, which
//! [`view_id`](super::super::view_id) describes.
//!
//! A value depends on what its operands depend on, and on the conditions under which its block runs: those of the
//! branches that decide whether it does, by the dominators of the reversed graph. Memory is one value for each variable.
//! The bodies of all functions are visited until nothing changes. Resources depend on what addresses them only. What is
//! too large to be followed depends on everything.
//!
//! DXC keeps elements of arrays apart, and does not count inputs that are evaluated at another place or of another
//! vertex: some of its sets are smaller.
//!
//! Source: DXC's `ComputeViewIdState.cpp`; the words in real modules.

use super::super::SignatureElement;
use super::super::{DxilModule, EntryPoint};
use super::operation::Operations;
use crate::program::ShaderKind;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_core::graph::{Dominators, Graph};
use unshade_llvm::body::FunctionBody;
use unshade_llvm::constants::Constant;
use unshade_llvm::uses::Callee;
use unshade_llvm::value::ValueKind;
use unshade_llvm::{BlockId, Instruction, Module, Opcode, ValueId};

/// Number of scalars of a signature: 32 registers of 4.
const SCALARS: usize = 128;
/// Number of streams of a geometry shader.
const STREAMS: usize = 4;
/// Maximum number of visits of all bodies.
const MAX_VISITS: usize = 64;
/// Maximum number of steps along dominators in a body.
const MAX_CONTROL: usize = 1 << 20;
/// Maximum number of address computations between a variable and its use.
const MAX_ADDRESSES: usize = 64;

/// Operations that load or store scalars.
mod op {
    pub(super) const LOADS: [u32; 5] = [4, 87, 88, 89, 137];
    pub(super) const STORE_OUTPUT: u32 = 5;
    pub(super) const LOAD_OUTPUT_CONTROL_POINT: u32 = 103;
    pub(super) const LOAD_PATCH_CONSTANT: u32 = 104;
    pub(super) const STORE_PATCH_CONSTANT: u32 = 106;
    pub(super) const VIEW_ID: u32 = 138;
    pub(super) const STORE_VERTEX_OUTPUT: u32 = 171;
    pub(super) const STORE_PRIMITIVE_OUTPUT: u32 = 172;
}

/// What a value depends on: sets of scalars of the inputs and of the patch constants, and the view ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sources {
    inputs: u128,
    patch: u128,
    view_id: bool,
}

impl Sources {
    const ALL: Self = Self { inputs: u128::MAX, patch: u128::MAX, view_id: true };

    fn add(&mut self, other: Self) {
        self.inputs |= other.inputs;
        self.patch |= other.patch;
        self.view_id |= other.view_id;
    }

    /// Adds sources and returns whether there are more than before.
    fn grow(&mut self, other: Self) -> bool {
        let before = *self;
        self.add(other);
        *self != before
    }
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Variable {
    Global(u32),
    /// A function and an instruction in it.
    Local(usize, u32),
    /// A pointer whose variable is not known.
    Unknown,
}

/// A body while dependencies are collected.
#[derive(Default)]
struct Function {
    body: FunctionBody,
    /// Sources of the results of instructions.
    results: Vec<Sources>,
    arguments: Vec<Sources>,
    returned: Sources,
    /// Sources of the conditions of its calls.
    called: Sources,
    /// Sources of the conditions under which blocks run.
    conditions: Vec<Sources>,
    /// The blocks whose branches decide whether a block runs.
    deciders: Vec<Vec<u32>>,
    predecessors: Vec<Vec<u32>>,
}

/// Returns the words for an entry point; none without signatures.
///
/// # Errors
/// Fails if a body cannot be read.
pub(super) fn words(
    module: &Module<'_>,
    dxil: &DxilModule,
    entry: &EntryPoint,
    kind: ShaderKind,
    uses_view_id: bool,
) -> Result<Option<Vec<u32>>> {
    const STAGES: [ShaderKind; 6] = [
        ShaderKind::VERTEX,
        ShaderKind::PIXEL,
        ShaderKind::GEOMETRY,
        ShaderKind::HULL,
        ShaderKind::DOMAIN,
        ShaderKind::MESH,
    ];
    if !STAGES.contains(&kind) || entry.signatures.iter().all(|elements| count(elements.iter()) == 0) {
        return Ok(None);
    }
    let mut flow = Flow::new(module, dxil, entry)?;
    flow.collect();
    Ok(Some(flow.words(kind, uses_view_id)))
}

struct Flow<'m> {
    module: &'m Module<'m>,
    dxil: &'m DxilModule,
    entry: &'m EntryPoint,
    functions: Vec<Function>,
    /// Positions of functions by their index in the module.
    positions: BTreeMap<u32, usize>,
    memory: BTreeMap<Variable, Sources>,
    /// What is stored anywhere.
    stored: Sources,
    /// Sources of the scalars of the outputs by stream, and of the patch constants.
    outputs: Vec<Vec<Sources>>,
    patch: Vec<Sources>,
    changed: bool,
}

impl<'m> Flow<'m> {
    fn new(module: &'m Module<'m>, dxil: &'m DxilModule, entry: &'m EntryPoint) -> Result<Self> {
        let mut functions = Vec::new();
        let mut positions = BTreeMap::new();
        for (index, _) in module.functions.iter().enumerate().filter(|(_, function)| !function.declaration) {
            positions.insert(crate::bytes::len32(index), functions.len());
            functions.push(Function::new(module.body(index)?));
        }
        Ok(Self {
            module,
            dxil,
            entry,
            positions,
            functions,
            memory: BTreeMap::new(),
            stored: Sources::default(),
            outputs: vec![vec![Sources::default(); SCALARS]; STREAMS],
            patch: vec![Sources::default(); SCALARS],
            changed: true,
        })
    }

    fn collect(&mut self) {
        for _ in 0..MAX_VISITS {
            if !self.changed {
                return;
            }
            self.changed = false;
            for at in 0..self.functions.len() {
                self.visit(at);
            }
        }
        if self.changed {
            let outputs = self.outputs.iter_mut().flatten().chain(&mut self.patch);
            outputs.for_each(|sources| *sources = Sources::ALL);
        }
    }

    fn visit(&mut self, at: usize) {
        let Some(function) = self.functions.get_mut(at) else { return };
        // A call changes other functions.
        let mut function = core::mem::take(function);
        for block in 0..function.conditions.len() {
            self.changed |= function.update_condition(self.module, block);
            let slice = function.body.blocks.get(block).copied().unwrap_or_default();
            let start = slice.start as usize;
            for index in start..start.saturating_add(slice.len()) {
                self.instruction(at, &mut function, block, index);
            }
        }
        if let Some(slot) = self.functions.get_mut(at) {
            *slot = function;
        }
    }

    fn instruction(&mut self, at: usize, function: &mut Function, block: usize, index: usize) {
        let Some(instruction) = function.body.instructions.get(index).copied() else { return };
        let condition = function.conditions.get(block).copied().unwrap_or_default();
        let mut sources = condition;
        for operand in function.body.operands_of(&instruction) {
            if let Some(value) = operand.as_value() {
                sources.add(function.sources(self.module, value));
            }
        }
        match instruction.opcode {
            Opcode::Phi => {
                for &from in function.predecessors.get(block).into_iter().flatten() {
                    sources.add(function.edge(self.module, from));
                }
            }
            Opcode::Load => sources.add(self.loaded(at, function, &instruction, 0)),
            Opcode::Store => self.store(at, function, &instruction, 1, sources),
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                self.store(at, function, &instruction, 0, sources);
                sources.add(self.loaded(at, function, &instruction, 0));
            }
            Opcode::Call => self.call(at, function, &instruction, condition, &mut sources),
            Opcode::Ret => self.changed |= function.returned.grow(sources),
            _ => {}
        }
        if let Some(result) = function.results.get_mut(index) {
            self.changed |= result.grow(sources);
        }
    }

    fn variable(
        &self,
        at: usize,
        function: &Function,
        instruction: &Instruction,
        operand: usize,
    ) -> Variable {
        let operands = function.body.operands_of(instruction);
        let mut pointer = operands.get(operand).and_then(|operand| operand.as_value());
        for _ in 0..MAX_ADDRESSES {
            let Some(id) = pointer else { break };
            match self.module.value(Some(&function.body), id).map(|value| value.kind) {
                Some(ValueKind::Global(index)) => return Variable::Global(index),
                Some(ValueKind::Instruction(index)) => {
                    let Some(from) = function.body.instructions.get(index as usize) else { break };
                    match from.opcode {
                        Opcode::Alloca => return Variable::Local(at, index),
                        Opcode::GetElementPtr | Opcode::BitCast | Opcode::AddrSpaceCast => {
                            let operands = function.body.operands_of(from);
                            pointer = operands.first().and_then(|operand| operand.as_value());
                        }
                        _ => break,
                    }
                }
                Some(ValueKind::Constant(_)) => pointer = self.base_of_constant(function, id),
                _ => break,
            }
        }
        Variable::Unknown
    }

    /// Returns the pointer that a constant address or cast starts from.
    fn base_of_constant(&self, function: &Function, id: ValueId) -> Option<ValueId> {
        let (constant, constants) = self.module.constant(Some(&function.body), id)?;
        let Constant::Expression(index) = constant else { return None };
        let expression = constants.expression(index)?;
        let is_address = expression.opcode == Opcode::GetElementPtr || expression.opcode.is_cast();
        constants.values(expression.operands).first().copied().filter(|_| is_address)
    }

    fn loaded(&self, at: usize, function: &Function, instruction: &Instruction, operand: usize) -> Sources {
        let stored = |variable| self.memory.get(&variable).copied().unwrap_or_default();
        match self.variable(at, function, instruction, operand) {
            Variable::Unknown => self.stored,
            variable => {
                let mut sources = stored(variable);
                sources.add(stored(Variable::Unknown));
                sources
            }
        }
    }

    fn store(
        &mut self,
        at: usize,
        function: &Function,
        instruction: &Instruction,
        operand: usize,
        of: Sources,
    ) {
        let variable = self.variable(at, function, instruction, operand);
        self.changed |= self.memory.entry(variable).or_default().grow(of);
        self.changed |= self.stored.grow(of);
    }

    fn call(
        &mut self,
        at: usize,
        function: &mut Function,
        call: &Instruction,
        condition: Sources,
        sources: &mut Sources,
    ) {
        let Some(Callee::Function(callee)) = Callee::of(self.module, &function.body, call) else { return };
        let is_operation = self
            .module
            .functions
            .get(callee as usize)
            .is_some_and(|callee| super::operation::is_operation(&callee.symbol.name));
        if is_operation {
            return self.operation(function, call, sources);
        }
        let arguments: Vec<Sources> = function
            .body
            .operands_of(call)
            .iter()
            .skip(1)
            .map(|operand| {
                operand.as_value().map_or(Sources::default(), |id| function.sources(self.module, id))
            })
            .collect();
        let position = self.positions.get(&callee).copied();
        let callee = match position.filter(|&position| position != at) {
            Some(position) => self.functions.get_mut(position),
            None => position.map(|_| function),
        };
        let Some(callee) = callee else { return };
        self.changed |= callee.called.grow(condition);
        for (known, given) in callee.arguments.iter_mut().zip(arguments) {
            self.changed |= known.grow(given);
        }
        sources.add(callee.returned);
    }

    fn operation(&mut self, function: &Function, call: &Instruction, sources: &mut Sources) {
        let operations = Operations { module: self.module, dxil: self.dxil, body: &function.body };
        let Some(code) = operations.opcode(call) else { return };
        let [inputs, outputs, patch] = &self.entry.signatures;
        match code {
            code if op::LOADS.contains(&code) => sources.inputs |= scalars(&operations, call, inputs).0,
            op::LOAD_PATCH_CONSTANT => sources.patch |= scalars(&operations, call, patch).0,
            op::VIEW_ID => sources.view_id = true,
            op::LOAD_OUTPUT_CONTROL_POINT => {
                let (set, _) = scalars(&operations, call, outputs);
                let stored = self.outputs.first().into_iter().flatten();
                members(set).zip(stored).for_each(|(is_meant, &stored)| {
                    if is_meant {
                        sources.add(stored);
                    }
                });
            }
            op::STORE_OUTPUT | op::STORE_VERTEX_OUTPUT => {
                let (set, stream) = scalars(&operations, call, outputs);
                if let Some(outputs) = self.outputs.get_mut(stream) {
                    self.changed |= grow(outputs, set, *sources);
                }
            }
            op::STORE_PATCH_CONSTANT | op::STORE_PRIMITIVE_OUTPUT => {
                let (set, _) = scalars(&operations, call, patch);
                self.changed |= grow(&mut self.patch, set, *sources);
            }
            _ => {}
        }
    }

    fn words(&self, kind: ShaderKind, uses_view_id: bool) -> Vec<u32> {
        let [inputs, outputs, patch] = &self.entry.signatures;
        let inputs = count(inputs.iter());
        let mut words = vec![crate::bytes::len32(inputs)];
        let streams = if kind == ShaderKind::GEOMETRY { STREAMS } else { 1 };
        let mut first = 0;
        for (stream, found) in self.outputs.iter().enumerate().take(streams) {
            let outputs = count(outputs.iter().filter(|element| element.stream as usize == stream));
            if stream == 0 {
                first = outputs;
            }
            table(&mut words, found, outputs, inputs, uses_view_id);
        }
        let patches = count(patch.iter());
        match kind {
            ShaderKind::HULL | ShaderKind::MESH => {
                table(&mut words, &self.patch, patches, inputs, uses_view_id);
            }
            ShaderKind::DOMAIN => {
                words.push(crate::bytes::len32(patches));
                let found = self.outputs.first().into_iter().flatten();
                let found: Vec<u128> = found.map(|sources| sources.patch).collect();
                sets(&mut words, &found, first, patches);
            }
            _ => {}
        }
        words
    }
}

/// Appends a number of outputs, those that depend on the view ID, and those that depend on each input.
fn table(words: &mut Vec<u32>, found: &[Sources], outputs: usize, inputs: usize, uses_view_id: bool) {
    words.push(crate::bytes::len32(outputs));
    if uses_view_id {
        let by_view: Vec<u128> = found.iter().map(|sources| u128::from(sources.view_id)).collect();
        sets(words, &by_view, outputs, 1);
    }
    let by_input: Vec<u128> = found.iter().map(|sources| sources.inputs).collect();
    sets(words, &by_input, outputs, inputs);
}

/// Appends for each source the set of outputs that depend on it.
fn sets(words: &mut Vec<u32>, found: &[u128], outputs: usize, sources: usize) {
    for source in 0..sources.min(SCALARS) {
        for start in (0..outputs).step_by(32) {
            let of_word = found.iter().take(outputs).skip(start).take(32);
            let bits = of_word.enumerate().map(|(bit, from)| u32::from(from >> source & 1 == 1) << bit);
            words.push(bits.fold(0, |word, bit| word | bit));
        }
    }
}

fn grow(outputs: &mut [Sources], set: u128, by: Sources) -> bool {
    let mut changed = false;
    for (is_meant, output) in members(set).zip(outputs) {
        changed |= is_meant && output.grow(by);
    }
    changed
}

/// Returns for each scalar whether it is in a set.
fn members(set: u128) -> impl Iterator<Item = bool> {
    (0..SCALARS).map(move |at| set >> at & 1 == 1)
}

/// Returns the scalars that a load or store accesses, and their stream. A row that is not constant may be any.
fn scalars(operations: &Operations<'_>, call: &Instruction, signature: &[SignatureElement]) -> (u128, usize) {
    let element = operations.number(call, 1).and_then(|id| signature.get(usize::try_from(id).ok()?));
    let Some(element) = element else { return (0, 0) };
    let stream = element.stream as usize;
    let (Some(start), Some(column)) = (element.start_row, element.start_column) else { return (0, stream) };
    let column = u32::from(column).saturating_add(operations.number(call, 3).unwrap_or(0));
    let rows = match operations.number(call, 2) {
        Some(row) => row..row.saturating_add(1),
        None => 0..element.rows.min(32),
    };
    let scalar = |row: u32| start.saturating_add(row).saturating_mul(4).saturating_add(column);
    (rows.fold(0, |set, row| set | 1u128.checked_shl(scalar(row)).unwrap_or(0)), stream)
}

/// Returns the number of scalars up to the last of a signature.
fn count<'e>(elements: impl Iterator<Item = &'e SignatureElement>) -> usize {
    let end = |element: &SignatureElement| {
        let (row, column) = (element.start_row?, element.start_column?);
        let row = row.checked_add(element.rows.checked_sub(1)?)?;
        let end = row.checked_mul(4)?.checked_add(u32::from(column))?.checked_add(element.columns.into())?;
        usize::try_from(end).ok()
    };
    elements.filter_map(end).max().unwrap_or(0).min(SCALARS)
}

impl Function {
    fn new(body: FunctionBody) -> Self {
        let blocks = body.blocks.len();
        let arguments =
            body.values.iter().filter(|value| matches!(value.kind, ValueKind::Argument(_))).count();
        let mut edges = Vec::new();
        let mut predecessors = vec![Vec::new(); blocks];
        for from in 0..crate::bytes::len32(blocks) {
            for to in body.successors(BlockId(from)) {
                edges.push((from, to.0));
                if let Some(list) = predecessors.get_mut(to.index()) {
                    list.push(from);
                }
            }
        }
        let deciders = deciders(blocks, &edges);
        // What can't be followed depends on everything.
        let called = if deciders.is_none() { Sources::ALL } else { Sources::default() };
        Self {
            results: vec![Sources::default(); body.instructions.len()],
            arguments: vec![Sources::default(); arguments],
            returned: Sources::default(),
            called,
            conditions: vec![Sources::default(); blocks],
            deciders: deciders.unwrap_or_else(|| vec![Vec::new(); blocks]),
            predecessors,
            body,
        }
    }

    fn sources(&self, module: &Module<'_>, id: ValueId) -> Sources {
        let found = match module.value(Some(&self.body), id).map(|value| value.kind) {
            Some(ValueKind::Argument(at)) => self.arguments.get(at as usize),
            Some(ValueKind::Instruction(at)) => self.results.get(at as usize),
            _ => None,
        };
        found.copied().unwrap_or_default()
    }

    /// Returns the sources of the condition of a block's branch.
    fn branch(&self, module: &Module<'_>, block: u32) -> Sources {
        let last = self.body.block(BlockId(block)).last();
        let operands = last.into_iter().flat_map(|last| self.body.operands_of(last));
        let mut sources = Sources::default();
        for value in operands.filter_map(|operand| operand.as_value()) {
            sources.add(self.sources(module, value));
        }
        sources
    }

    /// Returns the sources of the conditions under which control leaves a block on one of its edges.
    fn edge(&self, module: &Module<'_>, from: u32) -> Sources {
        let mut sources = self.branch(module, from);
        sources.add(self.conditions.get(from as usize).copied().unwrap_or_default());
        sources
    }

    /// Adds what decides whether a block runs. Returns whether there is more than before.
    fn update_condition(&mut self, module: &Module<'_>, block: usize) -> bool {
        let mut sources = self.called;
        for &decider in self.deciders.get(block).into_iter().flatten() {
            sources.add(self.edge(module, decider));
        }
        self.conditions.get_mut(block).is_some_and(|condition| condition.grow(sources))
    }
}

/// Returns for each block those whose branches decide whether it runs; none if that takes too many steps. A branch
/// decides for the blocks from a target up to where all its ways meet again.
fn deciders(blocks: usize, edges: &[(u32, u32)]) -> Option<Vec<Vec<u32>>> {
    let exit = crate::bytes::len32(blocks);
    let mut reversed: Vec<(u32, u32)> = edges.iter().map(|&(from, to)| (to, from)).collect();
    let mut leaves = vec![true; blocks];
    for &(from, _) in edges {
        if let Some(leaf) = leaves.get_mut(from as usize) {
            *leaf = false;
        }
    }
    reversed.extend((0..exit).zip(&leaves).filter(|(_, leaf)| **leaf).map(|(block, _)| (exit, block)));
    let graph = Graph::new(blocks.saturating_add(1), &reversed);
    let meets: Dominators = graph.dominators(exit);
    let mut deciders = vec![Vec::new(); blocks];
    let mut budget = MAX_CONTROL;
    for &(from, to) in edges {
        let end = meets.immediate(from);
        let mut block = Some(to);
        while let Some(at) = block.filter(|&at| Some(at) != end && at != exit) {
            budget = budget.checked_sub(1)?;
            let list: &mut Vec<u32> = deciders.get_mut(at as usize)?;
            if list.last() != Some(&from) {
                list.push(from);
            }
            block = meets.immediate(at);
        }
    }
    Some(deciders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_decide_up_to_where_ways_meet() {
        // 0 goes to 1 or 2, both to 3, which goes to 1 or ends.
        let found = deciders(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 1), (3, 4)]).unwrap();
        assert_eq!(found, [vec![], vec![0, 3], vec![0], vec![3], vec![]]);
        // A loop without an end decides for nothing behind it.
        let found = deciders(2, &[(0, 1), (1, 1)]).unwrap();
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn sets_are_of_whole_words() {
        let mut found = vec![0u128; SCALARS];
        found[33] = 0b10;
        let mut words = Vec::new();
        sets(&mut words, &found, 34, 2);
        assert_eq!(words, [0, 0, 0, 0b10]);
    }
}
