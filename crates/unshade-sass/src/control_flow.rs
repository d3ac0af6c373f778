//! The control flow of a function: basic blocks, and edges with their causes.
//!
//! From Kepler to Pascal each warp has a stack of addresses. `SSY`, `PBK`, `PCNT`, `PRET` and `PLONGJMP` push one; `SYNC`
//! (on Kepler the suffix `.S`), `BRK`, `CONT`, `RET` and `LONGJMP` continue at the topmost address of their kind, and pop
//! it with everything above it.
//! To find these targets, blocks are walked with the stacks that they are entered with. Stacks are shared lists in which
//! each entry knows the topmost entry of every kind, so a step takes constant time however deep a stack is. Compilers
//! enter each block with one stack only; hostile code can have any number, so each block is walked with a few at most
//! ([`ControlFlow::is_incomplete`]). The whole takes time proportional to the number of words.
//!
//! Volta and later chips have no stack but barriers (`barriers`): `BSSY` sets one with an address, `BSYNC` waits for its
//! threads and continues there. Blocks are walked with the barriers that are set. `WARPSYNC` and `BREAK` continue at the
//! next word.
//!
//! A block begins at the entry, at targets of branches and pushes, and after an instruction that ends a block. Calls do
//! not end a block. Scheduling words are in blocks and have no effect.
//!
//! Sources: NVIDIA's documentation of its binary utilities and envytools for the kinds of addresses; the targets of `.S`
//! and `BRK` were compared with the annotations of nvdisasm 11.2, the graphs of Volta and later chips with those of nvdisasm
//! 13.5.

mod barriers;
mod stack;
mod tables;

pub use tables::jump_tables;

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use unshade_core::graph::{Dominators, Graph, Loops};

use crate::Instruction;
use crate::listing::{Function, Word, instruction_target};
use crate::table::{Flow, Kind};
use barriers::Barriers;
use stack::{EMPTY, Entry, Stacks};

/// The maximum number of stacks that a block is walked with.
const MAX_STACKS: u8 = 4;

/// The cause of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Falls through to the next block.
    Next,
    /// The condition of the last instruction does not hold.
    NotTaken,
    /// A branch without a condition.
    Always,
    /// The condition of a branch holds.
    Taken,
    /// An indirect branch, with a target from a table.
    Indirect,
    /// `SYNC` or `.S`, to the address that `SSY` pushed; `BSYNC`, to the address that `BSSY` set.
    Join,
    /// `BRK`, to the address that `PBK` pushed.
    Break,
    /// `CONT`, to the address that `PCNT` pushed.
    Continue,
    /// `RET` here, or in a function that was branched to, to the address that `PRET` pushed.
    Return,
    /// `LONGJMP`, to the address that `PLONGJMP` pushed.
    LongJump,
}

impl Cause {
    /// Returns the name of the cause.
    pub fn name(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::NotTaken => "not taken",
            Self::Always => "always",
            Self::Taken => "taken",
            Self::Indirect => "indirect",
            Self::Join => "join",
            Self::Break => "break",
            Self::Continue => "continue",
            Self::Return => "return",
            Self::LongJump => "long jump",
        }
    }
}

/// An edge between two blocks, given by their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The source block.
    pub from: u32,
    /// Its cause.
    pub cause: Cause,
    /// The target block.
    pub to: u32,
}

/// How control leaves a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FunctionExit {
    /// The thread exits.
    Exit,
    /// `RET` to the caller.
    Return,
    /// A branch to an address outside the function.
    Outside(u64),
    /// An indirect branch with unknown targets.
    Unknown,
    /// A pop of an address that nothing pushed.
    Unmatched(Cause),
    /// Falls off the end of the function.
    End,
}

impl FunctionExit {
    /// Returns the name of the exit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Return => "return",
            Self::Outside(_) => "outside",
            Self::Unknown => "unknown",
            Self::Unmatched(_) => "unmatched",
            Self::End => "end",
        }
    }
}

/// A basic block: entered at its first word and left at its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The addresses of its words, half-open.
    pub addresses: Range<u64>,
}

/// The control flow of one function.
///
/// ```
/// use unshade_sass::control_flow::{Cause, ControlFlow, Edge};
/// use unshade_sass::listing::Function;
/// use unshade_sass::{assemble, isa};
///
/// let isa = isa::by_architecture(35).unwrap();
/// let lines = ["SSY 0x18", "@P0 BRA 0x18", "MOV.S R0, R1", "EXIT"];
/// let words = lines.iter().zip((0..).step_by(8));
/// let words = words.map(|(line, address)| assemble::instruction(isa, line, address, 0).unwrap());
/// let bytes: Vec<u8> = words.flat_map(|word| (word as u64).to_le_bytes()).collect();
/// let function = Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 };
///
/// let flow = ControlFlow::new(&function, &[]);
/// let edges = [(0, Cause::NotTaken, 1), (0, Cause::Taken, 2), (1, Cause::Join, 2)];
/// assert_eq!(flow.edges(), edges.map(|(from, cause, to)| Edge { from, cause, to }));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ControlFlow {
    blocks: Vec<Block>,
    edges: Vec<Edge>,
    /// By block: the index of its first edge. The last entry is the number of edges.
    starts: Vec<u32>,
    exits: Vec<(u32, FunctionExit)>,
    is_incomplete: bool,
    graph: Graph,
    dominators: Dominators,
    loops: Loops,
}

impl ControlFlow {
    /// Finds the blocks and edges of a function, whose entry is its first word. `indirect` has the targets of indirect
    /// branches as [`jump_tables`] returns them: pairs of branch address and target, in ascending order.
    pub fn new(function: &Function<'_>, indirect: &[(u64, u64)]) -> Self {
        let scan = Scan::new(function, indirect);
        let mut walk = Walk::new(&scan);
        walk.run();
        let Walk { mut edges, mut exits, is_incomplete, .. } = walk;
        edges.sort_unstable();
        edges.dedup();
        exits.sort_unstable();
        exits.dedup();
        let count = scan.bounds.len().saturating_sub(1);
        let mut starts = vec![0_u32; count.saturating_add(1)];
        for edge in &edges {
            if let Some(start) = starts.get_mut((edge.from as usize).saturating_add(1)) {
                *start = start.saturating_add(1);
            }
        }
        let mut sum = 0_u32;
        for start in &mut starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        let pairs: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let graph = Graph::new(count, &pairs);
        let dominators = graph.dominators(0);
        let loops = graph.loops(&dominators);
        let blocks = scan.bounds.windows(2).filter_map(|pair| {
            Some(Block { addresses: scan.address(*pair.first()?)..scan.address(*pair.get(1)?) })
        });
        Self { blocks: blocks.collect(), edges, starts, exits, is_incomplete, graph, dominators, loops }
    }

    /// Returns the blocks by address; the first is the entry.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the block that contains an address.
    pub fn block_at(&self, address: u64) -> Option<u32> {
        let index = self.blocks.partition_point(|block| block.addresses.end <= address);
        self.blocks.get(index).filter(|block| block.addresses.contains(&address))?;
        u32::try_from(index).ok()
    }

    /// Returns all edges, sorted by source block.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the outgoing edges of a block.
    pub fn edges_from(&self, block: u32) -> &[Edge] {
        let start = self.starts.get(block as usize).copied().unwrap_or(0);
        let end = self.starts.get((block as usize).saturating_add(1)).copied().unwrap_or(0);
        self.edges.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the blocks in which control leaves the function, in ascending order, each with the kind of exit.
    pub fn exits(&self) -> &[(u32, FunctionExit)] {
        &self.exits
    }

    /// Returns how control leaves the function in a block.
    pub fn exits_of(&self, block: u32) -> impl Iterator<Item = FunctionExit> + use<'_> {
        let start = self.exits.partition_point(|exit| exit.0 < block);
        let rest = self.exits.get(start..).unwrap_or_default();
        rest.iter().take_while(move |exit| exit.0 == block).map(|exit| exit.1)
    }

    /// Returns whether edges may be missing, because a block has more possible stacks than the maximum.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Returns the blocks and edges as a graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the dominator tree of the blocks.
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// Returns the natural loops.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Returns whether an edge leads back to the header of a loop that it is in.
    pub fn is_back_edge(&self, edge: &Edge) -> bool {
        self.loops.is_back_edge(edge.from, edge.to)
    }
}

/// What an instruction does to control flow.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// Pushes an address of a kind.
    Push(Cause, Target),
    /// Pops up to the topmost address of a kind, and continues there.
    Pop(Cause),
    /// Sets the address of a barrier.
    Set(u8, Target),
    /// Waits for the threads of a barrier, and continues at its address.
    Wait(u8),
    Branch(Target),
    /// Range of targets in [`Scan::indirect`].
    Indirect(usize, usize),
    Exit,
    Return,
}

/// An instruction with an effect on control flow.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// The index of its word.
    word: u32,
    action: Action,
    /// Whether it is executed conditionally.
    has_condition: bool,
}

/// The target of a branch or push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The index of a word, and after [`Scan::find_blocks`] of a block.
    Inside(u32),
    Outside(u64),
    Unknown,
}

/// The kind of address that a mnemonic pushes or pops.
const STACK: [(&str, Cause); 9] = [
    ("SSY", Cause::Join),
    ("PBK", Cause::Break),
    ("PCNT", Cause::Continue),
    ("PRET", Cause::Return),
    ("PLONGJMP", Cause::LongJump),
    ("SYNC", Cause::Join),
    ("BRK", Cause::Break),
    ("CONT", Cause::Continue),
    ("LONGJMP", Cause::LongJump),
];

fn stack_kind(instruction: &Instruction) -> Option<Cause> {
    let mnemonic = instruction.operation().mnemonic;
    STACK.iter().find(|entry| entry.0 == mnemonic).map(|entry| entry.1)
}

/// When an instruction is executed, by its guard and condition-code test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Always,
    Sometimes,
    Never,
}

impl Condition {
    fn of(instruction: &Instruction) -> Self {
        let operands = instruction.operands().filter_map(|operand| {
            let kind = operand.kind;
            match kind {
                // A second predicate has a place before other operands or at the end.
                Kind::LeadingPredicate | Kind::TrailingPredicate => {}
                _ if kind.is_guard() => {}
                // The lanes for which `BRA.DIV` tests whether all of them branch, or a predicate of the warp.
                Kind::LeadingUniformPredicate | Kind::LeadingUniformRegister => return Some(Self::Sometimes),
                Kind::UniformRegister | Kind::UniformPredicate
                    if instruction.operation().flow == Flow::Branch =>
                {
                    return Some(Self::Sometimes);
                }
                _ => return None,
            }
            Some(match (instruction.number(operand.value) >= 7, instruction.flag(operand.not)) {
                (true, false) => Self::Always,
                (true, true) => Self::Never,
                (false, _) => Self::Sometimes,
            })
        });
        let modifiers = ["test", "bra_kind"].into_iter().filter_map(|slot| {
            Some(match instruction.modifier(slot)? {
                "f" => Self::Never,
                "t" | "any" | "u" => Self::Always,
                _ => Self::Sometimes,
            })
        });
        operands.chain(modifiers).fold(Self::Always, |all, one| match (all, one) {
            (Self::Never, _) | (_, Self::Never) => Self::Never,
            (Self::Always, Self::Always) => Self::Always,
            _ => Self::Sometimes,
        })
    }
}

/// Returns the number of the barrier that an instruction sets or waits for.
fn barrier(instruction: &Instruction) -> Option<u8> {
    let operand = instruction.operands().find(|operand| operand.kind == Kind::Barrier)?;
    u8::try_from(instruction.number(operand.value)).ok()
}

/// What the walk needs of a function, collected in one pass over its words.
struct Scan {
    start: u64,
    word_bytes: u64,
    /// The number of words.
    count: u32,
    events: Vec<Event>,
    /// The targets of all indirect branches, grouped by branch.
    indirect: Vec<Target>,
    /// The first word of each block, followed by the number of words.
    bounds: Vec<u32>,
}

impl Scan {
    fn new(function: &Function<'_>, indirect: &[(u64, u64)]) -> Self {
        let word_bytes = function.isa.word_bytes.max(1) as u64;
        let count = function.bytes.len().checked_div(function.isa.word_bytes.max(1)).unwrap_or(0);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let mut scan = Self {
            start: function.address,
            word_bytes,
            count,
            events: Vec::new(),
            indirect: Vec::new(),
            bounds: Vec::new(),
        };
        for ((address, word), number) in function.words().zip(0..count) {
            if let Word::Instruction(instruction) = word {
                scan.instruction(&instruction, address, number, indirect);
            }
        }
        scan.find_blocks();
        scan
    }

    fn address(&self, word: u32) -> u64 {
        self.start.wrapping_add(u64::from(word).wrapping_mul(self.word_bytes))
    }

    fn target(&self, address: u64) -> Target {
        let distance = address.wrapping_sub(self.start);
        let number = distance.checked_div(self.word_bytes).unwrap_or(0);
        match u32::try_from(number) {
            Ok(number) if number < self.count && distance.is_multiple_of(self.word_bytes) => {
                Target::Inside(number)
            }
            _ => Target::Outside(address),
        }
    }

    fn instruction(&mut self, instruction: &Instruction, address: u64, word: u32, indirect: &[(u64, u64)]) {
        let flow = instruction.operation().flow;
        let direct = |scan: &Self| {
            instruction_target(instruction, address).map_or(Target::Unknown, |at| scan.target(at))
        };
        let action = match flow {
            Flow::Next if instruction.modifier("join") == Some("on") => Action::Pop(Cause::Join),
            Flow::Next | Flow::Call | Flow::Trap => return,
            Flow::Branch => match direct(self) {
                Target::Unknown => self.indirect(address, indirect),
                target => Action::Branch(target),
            },
            Flow::Indirect => self.indirect(address, indirect),
            Flow::Return => Action::Return,
            Flow::Push => match (barrier(instruction), stack_kind(instruction)) {
                (Some(barrier), _) => Action::Set(barrier, direct(self)),
                (None, Some(kind)) => Action::Push(kind, direct(self)),
                (None, None) => return,
            },
            Flow::Pop => match (barrier(instruction), stack_kind(instruction)) {
                (Some(barrier), _) => Action::Wait(barrier),
                (None, Some(kind)) => Action::Pop(kind),
                (None, None) => return,
            },
            Flow::Exit => Action::Exit,
        };
        let condition = Condition::of(instruction);
        if condition != Condition::Never {
            self.events.push(Event { word, action, has_condition: condition == Condition::Sometimes });
        }
    }

    fn indirect(&mut self, address: u64, known: &[(u64, u64)]) -> Action {
        let start = self.indirect.len();
        let first = known.partition_point(|entry| entry.0 < address);
        let own = known.get(first..).unwrap_or_default().iter().take_while(|entry| entry.0 == address);
        for &(_, target) in own {
            let target = self.target(target);
            self.indirect.push(target);
        }
        Action::Indirect(start, self.indirect.len())
    }

    fn find_blocks(&mut self) {
        let mut begins = vec![false; self.count as usize];
        let mut mark = |word: u32| {
            if let Some(begins) = begins.get_mut(word as usize) {
                *begins = true;
            }
        };
        mark(0);
        for event in &self.events {
            match event.action {
                Action::Push(_, Target::Inside(word)) | Action::Set(_, Target::Inside(word)) => {
                    mark(word);
                    continue;
                }
                Action::Push(..) | Action::Set(..) => continue,
                Action::Branch(Target::Inside(word)) => mark(word),
                _ => {}
            }
            mark(event.word.saturating_add(1));
        }
        for target in &self.indirect {
            if let Target::Inside(word) = target {
                mark(*word);
            }
        }
        self.bounds = (0..self.count).filter(|word| begins.get(*word as usize) == Some(&true)).collect();
        if self.count > 0 {
            self.bounds.push(self.count);
        }
        // Convert targets from words to blocks.
        let Self { bounds, events, indirect, .. } = self;
        let to_block = |target: &mut Target| {
            if let Target::Inside(word) = target {
                *word = block_of(bounds, *word);
            }
        };
        for event in events {
            if let Action::Push(_, target) | Action::Set(_, target) | Action::Branch(target) =
                &mut event.action
            {
                to_block(target);
            }
        }
        indirect.iter_mut().for_each(to_block);
    }
}

/// Returns the index of the block that contains a word.
fn block_of(bounds: &[u32], word: u32) -> u32 {
    let block = bounds.partition_point(|start| *start <= word).saturating_sub(1);
    u32::try_from(block).unwrap_or(u32::MAX)
}

/// The walk over pairs of block and stack. Chips without a stack have the state of the barriers in its place.
struct Walk<'s> {
    scan: &'s Scan,
    stacks: Stacks,
    barriers: Barriers,
    /// By block: the number of stacks that it was entered with.
    stack_counts: Vec<u8>,
    /// Pairs of block and stack that were entered.
    visited: alloc::collections::BTreeSet<(u32, u32)>,
    pending: Vec<(u32, u32)>,
    /// Whether the walk started at a block that is unreachable from the entry.
    is_unreached: bool,
    edges: Vec<Edge>,
    exits: Vec<(u32, FunctionExit)>,
    is_incomplete: bool,
}

impl<'s> Walk<'s> {
    fn new(scan: &'s Scan) -> Self {
        Self {
            scan,
            stacks: Stacks::default(),
            barriers: Barriers::default(),
            stack_counts: vec![0; scan.bounds.len().saturating_sub(1)],
            visited: alloc::collections::BTreeSet::new(),
            pending: Vec::new(),
            is_unreached: false,
            edges: Vec::new(),
            exits: Vec::new(),
            is_incomplete: false,
        }
    }

    fn run(&mut self) {
        let count = u32::try_from(self.stack_counts.len()).unwrap_or(u32::MAX);
        for block in 0..count {
            // Reachable blocks must not get a stack from an unreachable one.
            self.is_unreached = block > 0;
            self.enter(block, EMPTY);
            while let Some((block, stack)) = self.pending.pop() {
                self.block(block, stack);
            }
        }
    }

    fn enter(&mut self, block: u32, stack: u32) {
        let Some(count) = self.stack_counts.get_mut(block as usize) else { return };
        if self.is_unreached && *count > 0 || self.visited.contains(&(block, stack)) {
            return;
        }
        if *count >= MAX_STACKS {
            self.is_incomplete = true;
            return;
        }
        *count = count.saturating_add(1);
        self.visited.insert((block, stack));
        self.pending.push((block, stack));
    }

    fn block(&mut self, block: u32, mut stack: u32) {
        let scan = self.scan;
        let bound = |at: usize| scan.bounds.get(at).copied().unwrap_or(scan.count);
        let (start, end) = (bound(block as usize), bound((block as usize).saturating_add(1)));
        let first = scan.events.partition_point(|event| event.word < start);
        let events = scan.events.get(first..).unwrap_or_default().iter().take_while(|event| event.word < end);
        let mut cause = Some(Cause::Next);
        for event in events {
            if let Action::Push(kind, target) = event.action {
                stack = self.stacks.push(stack, kind, target);
                continue;
            }
            if let Action::Set(barrier, target) = event.action {
                match self.barriers.set(stack, barrier, target) {
                    Some(state) => stack = state,
                    None => self.is_incomplete = true,
                }
                continue;
            }
            self.event(block, event, stack);
            cause = event.has_condition.then_some(Cause::NotTaken);
        }
        let Some(cause) = cause else { return };
        let next = block.saturating_add(1);
        if (next as usize) < self.stack_counts.len() {
            self.edge(block, next, cause, stack);
        } else {
            self.exits.push((block, FunctionExit::End));
        }
    }

    fn edge(&mut self, from: u32, to: u32, cause: Cause, stack: u32) {
        self.edges.push(Edge { from, cause, to });
        self.enter(to, stack);
    }

    fn event(&mut self, block: u32, event: &Event, stack: u32) {
        match event.action {
            Action::Push(..) | Action::Set(..) => {}
            Action::Branch(target) => {
                let cause = if event.has_condition { Cause::Taken } else { Cause::Always };
                self.branch(block, target, cause, stack);
            }
            Action::Indirect(start, end) => {
                let scan = self.scan;
                for target in scan.indirect.get(start..end).unwrap_or_default() {
                    self.branch(block, *target, Cause::Indirect, stack);
                }
                if start == end {
                    self.branch(block, Target::Unknown, Cause::Indirect, stack);
                }
            }
            Action::Pop(kind) => match self.stacks.nearest(stack, kind) {
                Some(entry) => self.branch(block, entry.target, kind, entry.below),
                None => self.exits.push((block, FunctionExit::Unmatched(kind))),
            },
            Action::Wait(barrier) => match self.barriers.wait(stack, barrier) {
                Some((target, state)) => self.branch(block, target, Cause::Join, state),
                None => self.exits.push((block, FunctionExit::Unmatched(Cause::Join))),
            },
            Action::Return => match self.stacks.nearest(stack, Cause::Return) {
                Some(entry) => self.branch(block, entry.target, Cause::Return, entry.below),
                None => self.exits.push((block, FunctionExit::Return)),
            },
            Action::Exit => self.exits.push((block, FunctionExit::Exit)),
        }
    }

    fn branch(&mut self, block: u32, target: Target, cause: Cause, stack: u32) {
        let exit = match target {
            Target::Inside(to) => return self.edge(block, to, cause, stack),
            Target::Outside(address) => FunctionExit::Outside(address),
            Target::Unknown => FunctionExit::Unknown,
        };
        self.exits.push((block, exit));
        // A branch to another function is a tail call, which returns to the address pushed last.
        if let Some(Entry { kind: Cause::Return, target: Target::Inside(to), below, .. }) =
            self.stacks.top(stack)
        {
            self.edge(block, to, Cause::Return, below);
        }
    }
}

#[cfg(test)]
mod tests;
