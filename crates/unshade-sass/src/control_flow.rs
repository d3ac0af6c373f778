//! The control flow of a function: basic blocks, and edges with what leads along them.
//!
//! Kepler's threads keep a stack of addresses. `SSY`, `PBK`, `PCNT`, `PRET` and `PLONGJMP` push one; `.S` on an
//! instruction, `BRK`, `CONT`, `RET` and `LONGJMP` go on at the nearest of their kind, and take it and all above it from
//! the stack. To know where these lead, blocks are walked with the stacks that they are entered with. Stacks are shared
//! lists, each entry with the nearest of every kind below it, so that a step costs the same however deep a stack is.
//! Compilers enter a block with one stack; what somebody made up may have endlessly many, so that each block is walked
//! with a few only ([`ControlFlow::is_cut`] tells). All of it takes time of about the number of words.
//!
//! A block begins at the entry, at what is branched to or pushed, and behind what ends one. Calls end none: they go on
//! behind themselves. Words that steer the scheduler are in blocks and do nothing.
//!
//! The kinds of the stack were read from NVIDIA's documentation of its binary utilities and from envytools; where `.S`
//! and `BRK` lead was compared with what nvdisasm 11.2 notes behind them.

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
use stack::{EMPTY, Entry, Stacks};

/// With so many stacks a block is walked.
const MAX_STACKS: u8 = 4;

/// What leads along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The next block stands behind this one.
    Next,
    /// The condition of the last instruction does not hold.
    NotTaken,
    /// A branch without a condition.
    Always,
    /// The condition of a branch holds.
    Taken,
    /// A branch to a computed target, which a table told.
    Indirect,
    /// `.S`, to what `SSY` pushed.
    Join,
    /// `BRK`, to what `PBK` pushed.
    Break,
    /// `CONT`, to what `PCNT` pushed.
    Continue,
    /// `RET`, or that of a function branched to, to what `PRET` pushed.
    Return,
    /// `LONGJMP`, to what `PLONGJMP` pushed.
    LongJump,
}

impl Cause {
    /// The cause in a word or two.
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

/// A way from one block to another, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The block that is left.
    pub from: u32,
    /// What leads along it.
    pub cause: Cause,
    /// The block that is entered.
    pub to: u32,
}

/// How a function is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Leaving {
    /// The thread ends.
    Exit,
    /// `RET` to the caller.
    Return,
    /// A branch to an address that is no word of the function.
    Outside(u64),
    /// A branch to a computed target of which nothing is known.
    Unknown,
    /// An address is taken from the stack that nothing pushed.
    Unmatched(Cause),
    /// Behind the last word.
    End,
}

impl Leaving {
    /// How, in a word.
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

/// A run of words that is entered at its first and left at its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The addresses of its words; the end is behind the last.
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
    /// By block: the first of its edges, and at the end their number.
    starts: Vec<u32>,
    leaves: Vec<(u32, Leaving)>,
    is_cut: bool,
    graph: Graph,
    dominators: Dominators,
    loops: Loops,
}

impl ControlFlow {
    /// Finds the blocks and edges of a function that is entered at its first word. `indirect` are the addresses of
    /// branches to computed targets with each of their targets, in ascending order, as [`jump_tables`] finds them.
    pub fn new(function: &Function<'_>, indirect: &[(u64, u64)]) -> Self {
        let scan = Scan::new(function, indirect);
        let mut walk = Walk::new(&scan);
        walk.run();
        let Walk { mut edges, mut leaves, is_cut, .. } = walk;
        edges.sort_unstable();
        edges.dedup();
        leaves.sort_unstable();
        leaves.dedup();
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
        Self { blocks: blocks.collect(), edges, starts, leaves, is_cut, graph, dominators, loops }
    }

    /// The blocks by address; the first is the entry.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The block that has the word at an address.
    pub fn block_at(&self, address: u64) -> Option<u32> {
        let place = self.blocks.partition_point(|block| block.addresses.end <= address);
        self.blocks.get(place).filter(|block| block.addresses.contains(&address))?;
        u32::try_from(place).ok()
    }

    /// All edges, by the block that is left.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges that leave a block.
    pub fn edges_from(&self, block: u32) -> &[Edge] {
        let start = self.starts.get(block as usize).copied().unwrap_or(0);
        let end = self.starts.get((block as usize).saturating_add(1)).copied().unwrap_or(0);
        self.edges.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The blocks in which the function is left, in ascending order, and how.
    pub fn leaves(&self) -> &[(u32, Leaving)] {
        &self.leaves
    }

    /// How the function is left in a block.
    pub fn leaves_of(&self, block: u32) -> impl Iterator<Item = Leaving> + use<'_> {
        let start = self.leaves.partition_point(|leave| leave.0 < block);
        let rest = self.leaves.get(start..).unwrap_or_default();
        rest.iter().take_while(move |leave| leave.0 == block).map(|leave| leave.1)
    }

    /// Whether some block is entered with more different stacks than were looked at: edges may be missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The blocks and edges as a graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Which blocks stand on every way to a block.
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// The natural loops.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Whether an edge leads back to the header of the loop that it is in.
    pub fn is_back_edge(&self, edge: &Edge) -> bool {
        self.loops.is_back_edge(edge.from, edge.to)
    }
}

/// What an instruction does to the order of words.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Pushes an address of a kind.
    Push(Cause, Target),
    /// Goes on at one of that kind.
    Pop(Cause),
    Branch(Target),
    /// The targets, of [`Scan::indirect`].
    Indirect(usize, usize),
    Exit,
    Return,
}

/// An instruction that does something to the order of words.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// The number of its word.
    word: u32,
    what: What,
    /// Whether it may not be executed.
    has_condition: bool,
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The number of a word, and later of a block.
    Inside(u32),
    Outside(u64),
    Unknown,
}

/// Which kind of address an operation pushes or takes. Operations of one kind are told by their mnemonic.
const STACK: [(&str, Cause); 8] = [
    ("SSY", Cause::Join),
    ("PBK", Cause::Break),
    ("PCNT", Cause::Continue),
    ("PRET", Cause::Return),
    ("PLONGJMP", Cause::LongJump),
    ("BRK", Cause::Break),
    ("CONT", Cause::Continue),
    ("LONGJMP", Cause::LongJump),
];

fn stack_kind(instruction: &Instruction) -> Option<Cause> {
    let mnemonic = instruction.operation().mnemonic;
    STACK.iter().find(|entry| entry.0 == mnemonic).map(|entry| entry.1)
}

/// When an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Always,
    Sometimes,
    Never,
}

impl Condition {
    fn of(instruction: &Instruction) -> Self {
        let guard = instruction.operands().find(|operand| operand.kind == Kind::Guard);
        let guard = guard.map_or(Self::Always, |guard| {
            match (instruction.number(guard.value) >= 7, instruction.flag(guard.not)) {
                (true, false) => Self::Always,
                (true, true) => Self::Never,
                (false, _) => Self::Sometimes,
            }
        });
        match (guard, instruction.modifier("test")) {
            (Self::Never, _) | (_, Some("f")) => Self::Never,
            (Self::Always, None | Some("t")) => Self::Always,
            _ => Self::Sometimes,
        }
    }
}

/// The words of a function, read once.
struct Scan {
    start: u64,
    word_bytes: u64,
    /// How many words there are.
    count: u32,
    events: Vec<Event>,
    /// Targets of indirect branches, one branch after the other.
    indirect: Vec<Target>,
    /// The first word of each block, and the number of words.
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
        let what = match flow {
            Flow::Next if instruction.modifier("join") == Some("on") => What::Pop(Cause::Join),
            Flow::Next | Flow::Call | Flow::Trap => return,
            Flow::Branch => match direct(self) {
                Target::Unknown => self.indirect(address, indirect),
                target => What::Branch(target),
            },
            Flow::Indirect => self.indirect(address, indirect),
            Flow::Return => What::Return,
            Flow::Push => match stack_kind(instruction) {
                Some(kind) => What::Push(kind, direct(self)),
                None => return,
            },
            Flow::Pop => match stack_kind(instruction) {
                Some(kind) => What::Pop(kind),
                None => return,
            },
            Flow::Exit => What::Exit,
        };
        let condition = Condition::of(instruction);
        if condition != Condition::Never {
            self.events.push(Event { word, what, has_condition: condition == Condition::Sometimes });
        }
    }

    fn indirect(&mut self, address: u64, known: &[(u64, u64)]) -> What {
        let start = self.indirect.len();
        let first = known.partition_point(|entry| entry.0 < address);
        let own = known.get(first..).unwrap_or_default().iter().take_while(|entry| entry.0 == address);
        for &(_, target) in own {
            let target = self.target(target);
            self.indirect.push(target);
        }
        What::Indirect(start, self.indirect.len())
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
            match event.what {
                What::Push(_, Target::Inside(word)) => {
                    mark(word);
                    continue;
                }
                What::Push(..) => continue,
                What::Branch(Target::Inside(word)) => mark(word),
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
        // From here on, targets are blocks.
        let Self { bounds, events, indirect, .. } = self;
        let to_block = |target: &mut Target| {
            if let Target::Inside(word) = target {
                *word = block_of(bounds, *word);
            }
        };
        for event in events {
            if let What::Push(_, target) | What::Branch(target) = &mut event.what {
                to_block(target);
            }
        }
        indirect.iter_mut().for_each(to_block);
    }
}

/// The number of the block that has a word.
fn block_of(bounds: &[u32], word: u32) -> u32 {
    let place = bounds.partition_point(|start| *start <= word).saturating_sub(1);
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Blocks walked with stacks.
struct Walk<'s> {
    scan: &'s Scan,
    stacks: Stacks,
    /// By block: with how many stacks it was entered.
    entered: Vec<u8>,
    /// Blocks with the stacks that they were entered with.
    known: alloc::collections::BTreeSet<(u32, u32)>,
    pending: Vec<(u32, u32)>,
    /// Whether blocks are walked to which nothing is known to lead.
    is_unreached: bool,
    edges: Vec<Edge>,
    leaves: Vec<(u32, Leaving)>,
    is_cut: bool,
}

impl<'s> Walk<'s> {
    fn new(scan: &'s Scan) -> Self {
        Self {
            scan,
            stacks: Stacks::default(),
            entered: vec![0; scan.bounds.len().saturating_sub(1)],
            known: alloc::collections::BTreeSet::new(),
            pending: Vec::new(),
            is_unreached: false,
            edges: Vec::new(),
            leaves: Vec::new(),
            is_cut: false,
        }
    }

    fn run(&mut self) {
        let count = u32::try_from(self.entered.len()).unwrap_or(u32::MAX);
        for block in 0..count {
            // Nothing that is reached may take a stack from what is not.
            self.is_unreached = block > 0;
            self.enter(block, EMPTY);
            while let Some((block, stack)) = self.pending.pop() {
                self.block(block, stack);
            }
        }
    }

    fn enter(&mut self, block: u32, stack: u32) {
        let Some(entered) = self.entered.get_mut(block as usize) else { return };
        if self.is_unreached && *entered > 0 || self.known.contains(&(block, stack)) {
            return;
        }
        if *entered >= MAX_STACKS {
            self.is_cut = true;
            return;
        }
        *entered = entered.saturating_add(1);
        self.known.insert((block, stack));
        self.pending.push((block, stack));
    }

    fn block(&mut self, block: u32, mut stack: u32) {
        let scan = self.scan;
        let bound = |at: usize| scan.bounds.get(at).copied().unwrap_or(scan.count);
        let (start, end) = (bound(block as usize), bound((block as usize).saturating_add(1)));
        let first = scan.events.partition_point(|event| event.word < start);
        let inside = scan.events.get(first..).unwrap_or_default().iter().take_while(|event| event.word < end);
        let mut cause = Some(Cause::Next);
        for event in inside {
            if let What::Push(kind, target) = event.what {
                stack = self.stacks.push(stack, kind, target);
                continue;
            }
            self.event(block, event, stack);
            cause = event.has_condition.then_some(Cause::NotTaken);
        }
        let Some(cause) = cause else { return };
        let next = block.saturating_add(1);
        if (next as usize) < self.entered.len() {
            self.edge(block, next, cause, stack);
        } else {
            self.leaves.push((block, Leaving::End));
        }
    }

    fn edge(&mut self, from: u32, to: u32, cause: Cause, stack: u32) {
        self.edges.push(Edge { from, cause, to });
        self.enter(to, stack);
    }

    fn event(&mut self, block: u32, event: &Event, stack: u32) {
        match event.what {
            What::Push(..) => {}
            What::Branch(target) => {
                let cause = if event.has_condition { Cause::Taken } else { Cause::Always };
                self.go(block, target, cause, stack);
            }
            What::Indirect(start, end) => {
                let scan = self.scan;
                for target in scan.indirect.get(start..end).unwrap_or_default() {
                    self.go(block, *target, Cause::Indirect, stack);
                }
                if start == end {
                    self.go(block, Target::Unknown, Cause::Indirect, stack);
                }
            }
            What::Pop(kind) => match self.stacks.nearest(stack, kind) {
                Some(entry) => self.go(block, entry.target, kind, entry.below),
                None => self.leaves.push((block, Leaving::Unmatched(kind))),
            },
            What::Return => match self.stacks.nearest(stack, Cause::Return) {
                Some(entry) => self.go(block, entry.target, Cause::Return, entry.below),
                None => self.leaves.push((block, Leaving::Return)),
            },
            What::Exit => self.leaves.push((block, Leaving::Exit)),
        }
    }

    fn go(&mut self, block: u32, target: Target, cause: Cause, stack: u32) {
        let leaving = match target {
            Target::Inside(to) => return self.edge(block, to, cause, stack),
            Target::Outside(address) => Leaving::Outside(address),
            Target::Unknown => Leaving::Unknown,
        };
        self.leaves.push((block, leaving));
        // Another function was branched to, which returns to what was pushed last.
        if let Some(Entry { kind: Cause::Return, target: Target::Inside(to), below, .. }) =
            self.stacks.top(stack)
        {
            self.edge(block, to, Cause::Return, below);
        }
    }
}

#[cfg(test)]
mod tests;
