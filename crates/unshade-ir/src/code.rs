//! Linear code: a function as a list of steps over numbered slots, the form that an interpreter executes.
//!
//! A slot holds one value, of at most 64 bits; a value of several words has consecutive slots. A step computes a value or
//! has an effect ([`Step::Operate`]), or continues elsewhere. [`Code::new`] makes the code of a function's graph: blocks
//! in reverse postorder, loops before what follows them, and pure values in front of their first user. [`Builder`] serves those who order the steps
//! themselves, such as the decompiler for the statements of its text.
//!
//! Threads that run the same code together wait for each other at [`Step::Join`]: if those at the lowest step always run
//! first, they meet again at the end of a branch, because the steps of a branch come before those after it.

use super::dominators::Graph;
use super::module::{Callee, Module, ObjectSpace, Parameter};
use super::{BlockId, BlockMap, End, Function, IdVec, Image, Op, ValueId, ValueMap};
use super::{CalleeId, ImageId, Space, Special, SymbolId};

/// Number of slots of a value of several words: the most words that a function returns.
pub const WORDS: u32 = 12;

/// The slot of an operation without a result.
pub const NO_SLOT: u32 = u32::MAX;

/// The code of a function.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The name of the function.
    pub name: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Bytes of local memory per thread; 0 if it uses none.
    pub local_size: u32,
    /// Whether operations treat subnormal floats as zeros, as in [`Module::flushes`].
    pub flushes: bool,
    /// The variables and functions that it names, as in [`Function::symbols`].
    pub symbols: IdVec<SymbolId, CodeSymbol>,
    /// Accesses of textures and surfaces.
    pub images: IdVec<ImageId, Image>,
    /// The device functions that it calls.
    pub callees: IdVec<CalleeId, Callee>,
    /// The steps; the first one is the start.
    pub steps: Vec<Step>,
    /// The inputs of all operations.
    inputs: Vec<Input>,
    /// Number of slots.
    pub slots: u32,
}

/// A variable or function that code names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSymbol {
    /// Its name.
    pub name: String,
    /// The memory of a variable, and its offset there; none for functions.
    pub place: Option<(ObjectSpace, u64)>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Computes a value, or has an effect.
    Operate(Operation),
    /// Continues at a step.
    Goto(u32),
    /// Continues at one of two steps.
    Branch {
        /// The slot of the condition.
        condition: u32,
        /// The step if it holds.
        yes: u32,
        /// The step if it does not.
        no: u32,
    },
    /// Continues at one of many steps.
    Switch {
        /// The slot of the selector.
        selector: u32,
        /// The case values and their steps.
        cases: Vec<(u64, u32)>,
        /// The step for other values; there are none if it is missing.
        otherwise: Option<u32>,
    },
    /// Does nothing: other steps lead here.
    Join,
    /// Ends the function.
    End,
}

/// The computation of a value, or an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub op: Op,
    /// The slot of the result, or [`NO_SLOT`].
    pub out: u32,
    /// Bits of the result.
    pub width: u8,
    /// The address of its instruction.
    pub address: u32,
    first: u32,
    count: u32,
}

/// An input of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its slot.
    pub slot: u32,
    /// Its bits.
    pub width: u8,
}

impl Code {
    /// Creates the code of a module's function, which must be sound: see [`verify`](super::verify::verify).
    ///
    /// ```
    /// use unshade_ir::{code::{Code, Step}, text};
    ///
    /// let module = text::parse("kernel \"f\" shared 0 local 0\nb0 @0x0:\n    v0:32 = add 1:32, 2:32\n    \
    ///                           store.shared 0:32, v0\n    return\n")?;
    /// let code = Code::new(&module);
    /// assert!(matches!(code.steps.last(), Some(Step::End)));
    /// # Ok::<(), text::TextError>(())
    /// ```
    pub fn new(module: &Module<'_>) -> Self {
        let mut linear = GraphCode {
            graph: Graph::new(&module.function),
            builder: Builder::new(module),
            order: Vec::new(),
            labels: IdVec::filled(Label(0), module.function.blocks.len()),
            latches: IdVec::filled(None, module.function.blocks.len()),
            computed_in: IdVec::filled(BlockId::NONE, module.function.values.len()),
        };
        linear.run();
        linear.builder.finish()
    }

    /// Returns the inputs of an operation.
    #[inline]
    pub fn inputs(&self, operation: &Operation) -> &[Input] {
        &self.inputs[operation.first as usize..(operation.first + operation.count) as usize]
    }
}

/// A place in code that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(u32);

/// Builds code step by step.
pub struct Builder<'f> {
    /// The function.
    pub function: &'f Function,
    code: Code,
    /// The slot of each value; several values may share one.
    slots: ValueMap<u32>,
    /// The step at each label.
    places: Vec<u32>,
}

impl<'f> Builder<'f> {
    /// Creates a builder whose code is empty, and which gives each value a slot of its own.
    pub fn new(module: &'f Module<'_>) -> Self {
        let function = &module.function;
        let symbol = |name: &String| {
            let object = module.objects.iter().find(|object| object.name == name.as_str());
            CodeSymbol { name: name.clone(), place: object.map(|object| (object.space, object.offset)) }
        };
        let mut code = Code {
            name: module.name.clone(),
            is_kernel: module.is_kernel,
            parameters: module.parameters.clone(),
            local_size: if uses_local_memory(function) { module.local_size } else { 0 },
            flushes: module.flushes,
            symbols: function.symbols.iter().map(symbol).collect(),
            images: function.images.clone(),
            callees: function.callees.clone(),
            ..Code::default()
        };
        let mut is_read = IdVec::filled(false, function.values.len());
        for id in function.values.keys() {
            for &input in function.inputs(id).iter().filter(|input| **input != ValueId::NONE) {
                is_read[function.resolve(input)] = true;
            }
        }
        for input in function.blocks.iter().filter_map(|block| block.end.input()) {
            is_read[function.resolve(input)] = true;
        }
        let mut slots = IdVec::filled(NO_SLOT, function.values.len());
        for (id, value) in function.values.entries().filter(|(id, value)| value.width > 0 && is_read[*id]) {
            slots[id] = code.slots;
            code.slots += if value.width > 64 { WORDS } else { 1 };
        }
        Self { function, code, slots, places: Vec::new() }
    }

    /// Lets a value share the slot of another one, if either has one.
    pub fn share(&mut self, id: ValueId, with: ValueId) {
        match self.slots[with] {
            NO_SLOT => self.slots[with] = self.slots[id],
            slot => self.slots[id] = slot,
        }
    }

    /// Returns a new slot.
    pub fn slot(&mut self) -> u32 {
        self.code.slots += 1;
        self.code.slots - 1
    }

    /// Returns the slot of a value.
    pub fn slot_of(&self, id: ValueId) -> u32 {
        self.slots[id]
    }

    /// Returns a label, to be placed later.
    pub fn label(&mut self) -> Label {
        self.places.push(0);
        Label(self.places.len() as u32 - 1)
    }

    /// Places a label at the next step.
    pub fn place(&mut self, label: Label) {
        self.places[label.0 as usize] = self.code.steps.len() as u32;
        self.code.steps.push(Step::Join);
    }

    /// Adds the computation of a value from the slots of its inputs.
    pub fn operate(&mut self, id: ValueId) {
        let value = self.function.values[id];
        let first = self.code.inputs.len() as u32;
        let count = self.function.inputs(id).len();
        for index in 0..count {
            let input = self.function.input(id, index);
            self.code.inputs.push(match input {
                ValueId::NONE => Input { slot: NO_SLOT, width: 0 },
                input => Input { slot: self.slots[input], width: self.function.width(input) },
            });
        }
        self.code.steps.push(Step::Operate(Operation {
            op: value.op,
            out: self.slots[id],
            width: value.width,
            address: value.address,
            first,
            count: count as u32,
        }));
    }

    /// Sets a slot to a constant.
    pub fn set(&mut self, slot: u32, number: u64) {
        let first = self.code.inputs.len() as u32;
        let op = Op::Constant(number);
        let address = super::NO_ADDRESS;
        self.code.steps.push(Step::Operate(Operation { op, out: slot, width: 64, address, first, count: 0 }));
    }

    /// Sets phis to values at the same time.
    pub fn copy(&mut self, copies: &[(ValueId, ValueId)]) {
        let is_read = |copy: &&(ValueId, ValueId)| self.slots[copy.0] != NO_SLOT;
        let copies: Vec<(ValueId, ValueId)> = copies.iter().filter(is_read).copied().collect();
        let targets: Vec<u32> = copies.iter().map(|(phi, _)| self.slots[*phi]).collect();
        let mut later = Vec::new();
        for (phi, input) in copies {
            let width = self.function.width(phi);
            let from = self.slots[input];
            if targets.contains(&from) && targets.len() > 1 {
                let words = if width > 64 { WORDS } else { 1 };
                let temporary = self.code.slots;
                self.code.slots += words;
                self.move_slot(temporary, from, width);
                later.push((self.slots[phi], temporary, width));
            } else {
                later.push((self.slots[phi], from, width));
            }
        }
        for (to, from, width) in later {
            self.move_slot(to, from, width);
        }
    }

    fn move_slot(&mut self, out: u32, from: u32, width: u8) {
        let first = self.code.inputs.len() as u32;
        self.code.inputs.push(Input { slot: from, width });
        let address = super::NO_ADDRESS;
        self.code.steps.push(Step::Operate(Operation { op: Op::Copy, out, width, address, first, count: 1 }));
    }

    /// Continues at a label.
    pub fn goto(&mut self, label: Label) {
        self.code.steps.push(Step::Goto(label.0));
    }

    /// Continues at one of two labels.
    pub fn branch(&mut self, condition: u32, yes: Label, no: Label) {
        self.code.steps.push(Step::Branch { condition, yes: yes.0, no: no.0 });
    }

    /// Continues at one of many labels.
    pub fn switch(&mut self, selector: u32, cases: &[(u64, Label)], otherwise: Option<Label>) {
        let cases = cases.iter().map(|(number, label)| (*number, label.0)).collect();
        let otherwise = otherwise.map(|label| label.0);
        self.code.steps.push(Step::Switch { selector, cases, otherwise });
    }

    /// Ends the function.
    pub fn end(&mut self) {
        self.code.steps.push(Step::End);
    }

    /// Returns the code.
    pub fn finish(mut self) -> Code {
        let places = self.places;
        let resolve = |to: &mut u32| *to = places[*to as usize];
        for step in &mut self.code.steps {
            match step {
                Step::Goto(to) => resolve(to),
                Step::Branch { yes, no, .. } => {
                    resolve(yes);
                    resolve(no);
                }
                Step::Switch { cases, otherwise, .. } => {
                    cases.iter_mut().for_each(|case| resolve(&mut case.1));
                    otherwise.iter_mut().for_each(resolve);
                }
                Step::Operate(_) | Step::Join | Step::End => {}
            }
        }
        self.code
    }
}

/// Returns whether a function accesses its local memory, or takes its address.
fn uses_local_memory(function: &Function) -> bool {
    function.values.iter().any(|value| {
        matches!(value.op, Op::Load(Space::Local) | Op::Store(Space::Local))
            || value.op == Op::Special(Special::LocalWindow)
    })
}

/// The construction of code from a graph.
struct GraphCode<'f> {
    graph: Graph,
    /// The blocks in the order of their steps.
    order: Vec<BlockId>,
    builder: Builder<'f>,
    labels: BlockMap<Label>,
    /// The place after the last block of each loop, by its header. Back edges lead there, so that no thread starts the next
    /// iteration before the others.
    latches: BlockMap<Option<Label>>,
    /// The block whose steps compute each pure value so far.
    computed_in: ValueMap<BlockId>,
}

impl GraphCode<'_> {
    fn run(&mut self) {
        let function = self.builder.function;
        self.find_order();
        for block in self.order.clone() {
            self.labels[block] = self.builder.label();
        }
        // Inner loops end before outer ones.
        let mut ends: BlockMap<Vec<BlockId>> = IdVec::filled(Vec::new(), function.blocks.len());
        for (header, last) in self.last_blocks() {
            self.latches[header] = Some(self.builder.label());
            ends[last].insert(0, header);
        }
        for block in self.order.clone() {
            self.builder.place(self.labels[block]);
            let effects = function.blocks[block].effects.iter();
            for &effect in effects.filter(|effect| !function.is_replaced(**effect)) {
                self.inputs(effect, block, &mut Vec::new());
                self.builder.operate(effect);
            }
            self.end(block);
            for &header in &ends[block] {
                self.builder.place(self.latches[header].unwrap_or(self.labels[header]));
                self.builder.goto(self.labels[header]);
            }
        }
    }

    /// Returns the headers of loops, outer ones first, each with the last block of its loop.
    fn last_blocks(&self) -> Vec<(BlockId, BlockId)> {
        let mut last = IdVec::filled(BlockId::NONE, self.latches.len());
        for &block in &self.order {
            let mut header = self.graph.header[block];
            while header != BlockId::NONE {
                last[header] = block;
                header = self.graph.outer[header];
            }
        }
        let headers = self.order.iter().filter(|block| last[**block] != BlockId::NONE);
        headers.map(|header| (*header, last[*header])).collect()
    }

    /// Finds a reverse postorder in which the blocks of a loop precede those after it: successors outside of loops are
    /// visited first.
    fn find_order(&mut self) {
        let function = self.builder.function;
        let successors = |block: BlockId| {
            let mut successors = function.blocks[block].end.successors();
            successors
                .sort_by_key(|next| (self.graph.loops[*next], std::cmp::Reverse(self.graph.position[*next])));
            successors
        };
        let mut is_seen: BlockMap<bool> = IdVec::filled(false, function.blocks.len());
        let mut stack = vec![(BlockId::ENTRY, successors(BlockId::ENTRY), 0)];
        is_seen[BlockId::ENTRY] = true;
        while let Some((block, next, index)) = stack.last_mut() {
            match next.get(*index).copied() {
                Some(next) => {
                    *index += 1;
                    if !std::mem::replace(&mut is_seen[next], true) {
                        stack.push((next, successors(next), 0));
                    }
                }
                None => {
                    self.order.push(*block);
                    stack.pop();
                }
            }
        }
        self.order.reverse();
    }

    /// Computes the inputs of a value, and appends those that had not been computed to a list.
    fn inputs(&mut self, id: ValueId, block: BlockId, computed: &mut Vec<ValueId>) {
        for index in 0..self.builder.function.inputs(id).len() {
            self.value(self.builder.function.input(id, index), block, computed);
        }
    }

    /// Computes a value with its inputs, unless it has a position of its own, or is known here.
    fn value(&mut self, id: ValueId, block: BlockId, computed: &mut Vec<ValueId>) {
        let function = self.builder.function;
        let mut stack: Vec<(ValueId, usize)> = vec![(id, 0)];
        while let Some((id, next)) = stack.last_mut() {
            let (id, index) = (*id, *next);
            *next += 1;
            if id == ValueId::NONE || function.op(id) == Op::Phi || function.op(id).is_effect() {
                stack.pop();
                continue;
            }
            let home = self.computed_in[id];
            if home != BlockId::NONE && (home == block || self.graph.dominates(home, block)) {
                stack.pop();
                continue;
            }
            if index < function.inputs(id).len() {
                stack.push((function.input(id, index), 0));
                continue;
            }
            stack.pop();
            self.builder.operate(id);
            self.computed_in[id] = block;
            computed.push(id);
        }
    }

    fn end(&mut self, block: BlockId) {
        let function = self.builder.function;
        match &function.blocks[block].end {
            End::Open | End::Return => self.builder.end(),
            End::Goto(to) => self.edge(block, *to),
            End::Branch { condition, yes, no } => {
                let condition = function.resolve(*condition);
                self.value(condition, block, &mut Vec::new());
                let (taken, other) = (self.builder.label(), self.builder.label());
                self.builder.branch(self.builder.slot_of(condition), taken, other);
                for (label, to) in [(taken, *yes), (other, *no)] {
                    self.builder.place(label);
                    self.edge(block, to);
                }
            }
            End::Switch { selector, cases, otherwise } => {
                let selector = function.resolve(*selector);
                self.value(selector, block, &mut Vec::new());
                let targets = function.blocks[block].end.successors();
                let labels: Vec<Label> = targets.iter().map(|_| self.builder.label()).collect();
                let label = |to: &BlockId| {
                    let index = targets.iter().position(|target| target == to);
                    labels[index.unwrap_or(0)]
                };
                let cases: Vec<(u64, Label)> =
                    cases.iter().map(|(number, to)| (*number, label(to))).collect();
                let otherwise = otherwise.as_ref().map(label);
                self.builder.switch(self.builder.slot_of(selector), &cases, otherwise);
                for (label, to) in labels.iter().zip(&targets) {
                    self.builder.place(*label);
                    self.edge(block, *to);
                }
            }
        }
    }

    /// Sets the phis of a block for one of its edges, and continues there.
    fn edge(&mut self, from: BlockId, to: BlockId) {
        let function = self.builder.function;
        let target = &function.blocks[to];
        let edge = target.predecessors.iter().position(|predecessor| *predecessor == from);
        let phis = target.phis.iter().filter(|phi| !function.is_replaced(**phi));
        let inputs = phis.map(|phi| (*phi, function.input(*phi, edge.unwrap_or(0))));
        let copies: Vec<(ValueId, ValueId)> = inputs.filter(|copy| copy.1 != ValueId::NONE).collect();
        let mut computed = Vec::new();
        for (_, input) in &copies {
            self.value(*input, from, &mut computed);
        }
        self.builder.copy(&copies);
        let is_back = self.graph.is_in_loop(from, to);
        self.builder.goto(self.latches[to].filter(|_| is_back).unwrap_or(self.labels[to]));
        // They are known on this edge only.
        for id in computed {
            self.computed_in[id] = BlockId::NONE;
        }
    }
}
