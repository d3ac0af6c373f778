//! Control flow of machine code.
//!
//! For a single thread the reconvergence stack is a stack of addresses: `SSY`, `PBK`, `PCNT` and `CAL` push one;
//! `.S`, `BRK`, `CONT` and `RET` pop up to the last one of their kind and continue there. So a node of this graph is
//! a range of words *and* the contents of the stack at its entry. Words that are reached with different stacks are
//! duplicated, which also inlines called functions.
//!
//! The targets of an indirect branch are those in the table that its register is loaded from. A call to an address in
//! a register may call any function in the section.

use super::routine::{self, Routine};
use super::{Code, recursion};
use crate::DecompileError;
use crate::ir::hash::FastMap;
use std::collections::BTreeSet;
use unshade_sass::Instruction;
use unshade_sass::listing::{Word, instruction_target};
use unshade_sass::table::{Flow as Kind, Kind as OperandKind};

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// Maximum depth of the stack.
const MAX_DEPTH: u32 = 48;

/// Maximum number of functions that a pointer may call.
const MAX_FUNCTIONS: usize = 32;

/// Maximum number of entries read from a jump table.
const MAX_TABLE: usize = 1024;

/// A range of words, entered with a given stack.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The first word.
    pub start: usize,
    /// The word after the last.
    pub end: usize,
    /// The target of the branch at its end.
    pub taken: u32,
    /// The fall-through successor.
    pub next: u32,
    /// For an indirect branch: the numbers in the table and their targets.
    pub table: Vec<(u64, u32)>,
    /// Whether the branch at its end is a call through a pointer, which returns to the fall-through successor.
    pub calls_pointer: bool,
    /// Why the branch at its end could not be followed.
    pub fault: Option<&'static str>,
}

/// The flow graph; the first node is the entry.
pub(super) struct Flow {
    /// The words.
    pub words: Vec<Word>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The compiler's routines that are called, by address.
    routines: FastMap<u64, Routine>,
    /// The addresses of functions that are recursive: calls of them are not followed.
    recursive: BTreeSet<u64>,
}

/// The kind of instruction that pushed a stack entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum PushKind {
    Join,
    Break,
    Continue,
    Return,
}

struct FlowBuilder<'a> {
    code: &'a Code<'a>,
    words: Vec<Word>,
    leaders: Vec<bool>,
    tables: FastMap<usize, Vec<(u64, usize)>>,
    /// Stack entries: kind, target, entry below, depth.
    entries: Vec<(PushKind, usize, u32, u32)>,
    known_entries: FastMap<(PushKind, usize, u32), u32>,
    nodes: Vec<Node>,
    routines: FastMap<u64, Routine>,
    recursive: BTreeSet<u64>,
    known: FastMap<(usize, u32), u32>,
    pending: Vec<(u32, u32)>,
    budget: usize,
    spent: usize,
}

impl Flow {
    pub(super) fn new(code: &Code<'_>, budget: usize) -> Result<Self, DecompileError> {
        let words = routine::words(code);
        if words.len() > budget {
            return Err(DecompileError::Budget { limit: budget });
        }
        let mut builder = FlowBuilder {
            code,
            leaders: vec![false; words.len() + 1],
            recursive: recursion::addresses(code, &words),
            words,
            tables: FastMap::default(),
            entries: Vec::new(),
            known_entries: FastMap::default(),
            nodes: Vec::new(),
            routines: FastMap::default(),
            known: FastMap::default(),
            pending: Vec::new(),
            budget: budget.saturating_mul(2),
            spent: 0,
        };
        builder.find_routines();
        builder.find_leaders();
        let entry = builder.slot(code.entry).ok_or(DecompileError::NoCode)?;
        builder.node(entry, NONE);
        while let Some((node, stack)) = builder.pending.pop() {
            builder.follow(node, stack)?;
        }
        Ok(Self {
            words: builder.words,
            nodes: builder.nodes,
            routines: builder.routines,
            recursive: builder.recursive,
        })
    }

    /// Returns the recursive function that an instruction calls.
    pub(super) fn recursive_callee(&self, instruction: &Instruction, address: u64) -> Option<u64> {
        instruction_target(instruction, address).filter(|target| self.recursive.contains(target))
    }

    /// Returns the compiler's routine that an instruction calls.
    pub(super) fn routine(&self, instruction: &Instruction, address: u64) -> Option<&Routine> {
        called(&self.routines, instruction, address)
    }
}

impl FlowBuilder<'_> {
    fn address(&self, slot: usize) -> u64 {
        self.code.base + (slot * self.code.isa.word_bytes) as u64
    }

    fn slot(&self, address: u64) -> Option<usize> {
        let bytes = self.code.isa.word_bytes as u64;
        let offset = address.checked_sub(self.code.base)?;
        let slot = usize::try_from(offset / bytes).ok()?;
        (offset % bytes == 0 && slot < self.words.len()).then_some(slot)
    }

    fn find_routines(&mut self) {
        for function in &self.code.functions {
            if let Some(found) = routine::find(self.code, &self.words, function.address) {
                self.routines.insert(function.address, found);
            }
        }
    }

    fn find_leaders(&mut self) {
        for slot in 0..self.words.len() {
            let Word::Instruction(instruction) = self.words[slot] else { continue };
            let flow = instruction.operation().flow;
            if flow == Kind::Next && instruction.modifier("join") != Some("on") {
                continue;
            }
            if flow != Kind::Push {
                self.leaders[slot + 1] = true;
            }
            let target = instruction_target(&instruction, self.address(slot));
            if let Some(target) = target.and_then(|target| self.slot(target)) {
                self.leaders[target] = true;
            }
            if flow == Kind::Indirect {
                let table = self.table(slot, &instruction);
                for entry in &table {
                    self.leaders[entry.1] = true;
                }
                self.tables.insert(slot, table);
            }
        }
    }

    /// Returns the numbers that the register of an indirect branch may hold, and the words they lead to.
    fn table(&self, slot: usize, branch: &Instruction) -> Vec<(u64, usize)> {
        let next = self.address(slot + 1);
        let mut base = 0;
        let load = if let Some(operand) = branch.operand("m") {
            let bank = branch.number(operand.bank);
            Some((bank, branch.number(operand.offset), branch.number(operand.base), slot))
        } else {
            let Some(operand) = branch.operand("a") else { return Vec::new() };
            let displacement = branch.operand("t").map_or(0, |operand| branch.number(operand.value));
            base = if branch.operation().name == "JMX" { 0 } else { next };
            base = base.wrapping_add_signed(displacement);
            self.load_of(slot, branch.number(operand.value))
        };
        let Some((bank, offset, index, at)) = load else {
            return if base == 0 { self.functions() } else { Vec::new() };
        };
        let bank = u64::try_from(bank).unwrap_or(0) & 0xff;
        let count = self.bound(at, index).unwrap_or(MAX_TABLE).min(MAX_TABLE);
        let Ok(start) = u16::try_from(offset.saturating_add(self.bias(at, index))) else { return Vec::new() };
        let mut table = Vec::new();
        for offset in (u64::from(start)..).step_by(4).take(count) {
            let Some(number) = self.code.known_constant(bank << 16 | offset, 32) else { break };
            let number = number as u32;
            let target = base.wrapping_add_signed(i64::from(number.cast_signed()));
            let Some(target) = self.slot(target) else { break };
            table.push((u64::from(number), target));
        }
        // Linked code finds the addresses of functions in a bank, among other numbers; pointers are offsets there.
        if table.is_empty() && base == 0 {
            let banks = self.code.constants.iter().filter(|entry| u64::from(entry.0) == bank);
            let words: Vec<u64> = banks.flat_map(|entry| entry.1.chunks_exact(4)).map(word).collect();
            table = self.functions();
            table.retain(|entry| words.contains(&entry.0));
        }
        table
    }

    /// Returns the functions that a call through a register may call, by address.
    fn functions(&self) -> Vec<(u64, usize)> {
        let all = self.code.functions.iter().map(|function| function.address);
        let ours = all.filter(|address| !self.routines.contains_key(address));
        let mut ours: Vec<u64> = ours.collect();
        // The functions whose address is in some variable, if there are any.
        let held: Vec<u64> = ours.iter().copied().filter(|address| self.is_held(*address)).collect();
        if !held.is_empty() {
            ours = held;
        }
        ours.into_iter()
            .take(MAX_FUNCTIONS)
            .filter_map(|address| Some((address, self.slot(address)?)))
            .collect()
    }

    fn is_held(&self, address: u64) -> bool {
        let words = self.code.variables.iter().flat_map(|variable| variable.bytes.chunks_exact(4));
        words.map(word).any(|word| word == address)
    }

    /// Finds the load from a table that last wrote a register: bank, offset, index register, slot.
    fn load_of(&self, slot: usize, register: i64) -> Option<(i64, i64, i64, usize)> {
        for at in (slot.saturating_sub(24)..slot).rev() {
            let Word::Instruction(instruction) = self.words[at] else { continue };
            let Some(operand) = instruction.operand("d") else { continue };
            if !matches!(operand.kind, OperandKind::Register | OperandKind::OptionalRegister)
                || instruction.number(operand.value) != register
            {
                continue;
            }
            let source = instruction
                .operand("m")
                .or_else(|| instruction.operand("a"))
                .filter(|operand| operand.kind == OperandKind::ConstantIndexed)?;
            let number = |part| instruction.number(part);
            return Some((number(source.bank), number(source.offset), number(source.base), at));
        }
        None
    }

    /// Returns what the index of a table contains besides the index: relocatable code adds 0x8000, and the offset of the
    /// load is less by as much.
    fn bias(&self, slot: usize, index: i64) -> i64 {
        for at in (slot.saturating_sub(24)..slot).rev() {
            let Word::Instruction(instruction) = self.words[at] else { continue };
            if instruction.operand("d").is_some_and(|operand| instruction.number(operand.value) == index) {
                let added = instruction.operand("b").filter(|operand| operand.kind == OperandKind::Integer);
                let is_sum = instruction.operation().name == "IADD32I";
                return added.filter(|_| is_sum).map_or(0, |operand| instruction.number(operand.value));
            }
        }
        0
    }

    /// Returns the number of entries of a table: the bound that its index is clamped to or compared with.
    fn bound(&self, slot: usize, index: i64) -> Option<usize> {
        let mut wanted = vec![index];
        for at in (slot.saturating_sub(24)..slot).rev() {
            let Word::Instruction(instruction) = self.words[at] else { continue };
            let name = instruction.operation().name;
            let immediate = || {
                let operand = instruction.operand("b")?;
                (operand.kind == OperandKind::Integer).then(|| instruction.number(operand.value))
            };
            let register = |slot: &str| {
                let operand = instruction.operand(slot)?;
                (operand.kind == OperandKind::Register).then(|| instruction.number(operand.value))
            };
            let is_wanted = |number: Option<i64>| number.is_some_and(|number| wanted.contains(&number));
            if name == "IMNMX" && is_wanted(register("d")) {
                return usize::try_from(immediate()?.checked_add(1)?).ok();
            }
            if name == "ISETP" && is_wanted(register("a")) && instruction.modifier("unsigned") == Some("u32")
            {
                let most = immediate()?;
                return match instruction.modifier("cmp") {
                    Some("gt" | "le") => usize::try_from(most.checked_add(1)?).ok(),
                    Some("ge" | "lt") => usize::try_from(most).ok(),
                    _ => None,
                };
            }
            if matches!(name, "SHL" | "SHF_L" | "ISCADD" | "MOV" | "IADD32I" | "IADD" | "IMUL" | "IMUL32I")
                && is_wanted(register("d"))
            {
                wanted.extend(register("a"));
                wanted.extend(register("c"));
            }
        }
        None
    }

    fn push(&mut self, kind: PushKind, slot: usize, stack: u32) -> Result<u32, DecompileError> {
        // A loop that pushes in every iteration without popping pushes only once.
        let mut at = stack;
        while at != NONE && kind != PushKind::Return && self.entries[at as usize].0 != PushKind::Return {
            if self.entries[at as usize].0 == kind && self.entries[at as usize].1 == slot {
                return Ok(at);
            }
            at = self.entries[at as usize].2;
        }
        let depth = if stack == NONE { 0 } else { self.entries[stack as usize].3 };
        if depth >= MAX_DEPTH {
            return Err(DecompileError::Depth);
        }
        let next = self.entries.len() as u32;
        let entry = *self.known_entries.entry((kind, slot, stack)).or_insert(next);
        if entry == next {
            self.entries.push((kind, slot, stack, depth + 1));
        }
        Ok(entry)
    }

    /// Pops the last entry of a kind, and returns its target and the stack below; a join pops any kind.
    fn pop(&self, kind: PushKind, stack: u32) -> Option<(usize, u32)> {
        let mut at = stack;
        while at != NONE {
            let (pushed, slot, below, _) = self.entries[at as usize];
            if pushed == kind || kind == PushKind::Join {
                return Some((slot, below));
            }
            at = below;
        }
        None
    }

    fn node(&mut self, slot: usize, stack: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let node = *self.known.entry((slot, stack)).or_insert(next);
        if node == next {
            self.nodes.push(Node {
                start: slot,
                end: slot,
                taken: NONE,
                next: NONE,
                table: Vec::new(),
                calls_pointer: false,
                fault: None,
            });
            self.pending.push((node, stack));
        }
        node
    }

    /// Follows the words of a node to its end.
    fn follow(&mut self, node: u32, stack: u32) -> Result<(), DecompileError> {
        let mut stack = stack;
        let mut slot = self.nodes[node as usize].start;
        loop {
            self.spent += 1;
            if self.spent > self.budget {
                return Err(DecompileError::Budget { limit: self.budget / 2 });
            }
            let Some(word) = self.words.get(slot).copied() else {
                self.nodes[node as usize].end = slot;
                self.nodes[node as usize].fault = Some("control runs over the end of the code");
                return Ok(());
            };
            let at = slot;
            slot += 1;
            if let Word::Instruction(instruction) = word {
                if instruction.operation().flow == Kind::Push {
                    let target = instruction_target(&instruction, self.address(at));
                    let kind = match instruction.operation().name {
                        "PBK" => PushKind::Break,
                        "PCNT" => PushKind::Continue,
                        "PRET" => PushKind::Return,
                        _ => PushKind::Join,
                    };
                    if let Some(target) = target.and_then(|target| self.slot(target)) {
                        stack = self.push(kind, target, stack)?;
                    }
                } else if self.ends(&instruction)
                    && called(&self.routines, &instruction, self.address(at)).is_none()
                {
                    return self.branch(node, at, &instruction, stack);
                }
            }
            if self.leaders.get(slot).copied().unwrap_or(true) {
                let next = if slot < self.words.len() { self.node(slot, stack) } else { NONE };
                let node = &mut self.nodes[node as usize];
                node.end = slot;
                node.next = next;
                if next == NONE {
                    node.fault = Some("control runs over the end of the code");
                }
                return Ok(());
            }
        }
    }

    fn ends(&self, instruction: &Instruction) -> bool {
        !matches!(instruction.operation().flow, Kind::Next | Kind::Push | Kind::Trap)
            || instruction.modifier("join") == Some("on")
    }

    fn branch(
        &mut self,
        node: u32,
        slot: usize,
        instruction: &Instruction,
        stack: u32,
    ) -> Result<(), DecompileError> {
        let mut fault = None;
        let target = instruction_target(instruction, self.address(slot)).and_then(|target| self.slot(target));
        let mut table = Vec::new();
        let mut is_last = true;
        let mut returns = None;
        let mut to = |popped: Option<(usize, u32)>, why| {
            if popped.is_none() {
                fault = Some(why);
            }
            popped
        };
        let taken = match instruction.operation().flow {
            Kind::Branch => to(target.map(|target| (target, stack)), "a branch out of the code"),
            Kind::Indirect => {
                let entries = self.tables.get(&slot).cloned().unwrap_or_default();
                if entries.is_empty() && stack != NONE && self.entries[stack as usize].0 == PushKind::Return {
                    // The address to return to is on the stack.
                    returns = self.pop(PushKind::Return, stack);
                } else if entries.is_empty() {
                    to(None, "an indirect branch whose targets are not known");
                }
                for (number, target) in entries {
                    table.push((number, self.node(target, stack)));
                }
                None
            }
            Kind::Call => {
                let address = self.address(slot);
                let is_outside = self.code.relocations.iter().any(|relocation| relocation.address == address);
                is_last = false;
                let is_recursive = target.is_some_and(|slot| self.recursive.contains(&self.address(slot)));
                if is_outside || is_recursive || target.is_none() {
                    None
                } else {
                    let stack = self.push(PushKind::Return, slot + 1, stack)?;
                    is_last = true;
                    target.map(|target| (target, stack))
                }
            }
            Kind::Return => self.pop(PushKind::Return, stack),
            Kind::Pop => {
                let kind = match instruction.operation().name {
                    "BRK" => PushKind::Break,
                    "CONT" => PushKind::Continue,
                    _ => PushKind::Return,
                };
                to(self.pop(kind, stack), "a jump to an address that was not pushed")
            }
            Kind::Exit => None,
            // A join.
            _ => match self.pop(PushKind::Join, stack) {
                Some(popped) => Some(popped),
                None => {
                    is_last = false;
                    None
                }
            },
        };
        let taken = taken.map_or(NONE, |(slot, stack)| self.node(slot, stack));
        let can_fall = !is_last || is_conditional(instruction);
        let mut next = NONE;
        if can_fall {
            if slot + 1 < self.words.len() {
                next = self.node(slot + 1, stack);
            } else {
                fault = Some("control runs over the end of the code");
            }
        }
        let calls_pointer = returns.is_some();
        if let Some((slot, stack)) = returns {
            next = self.node(slot, stack);
        }
        let node = &mut self.nodes[node as usize];
        node.calls_pointer = calls_pointer;
        node.end = slot + 1;
        node.taken = taken;
        node.next = next;
        node.table = table;
        node.fault = fault;
        Ok(())
    }
}

/// Returns the number in up to 8 bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn called<'a>(
    routines: &'a FastMap<u64, Routine>,
    instruction: &Instruction,
    address: u64,
) -> Option<&'a Routine> {
    if instruction.operation().flow != Kind::Call || routines.is_empty() {
        return None;
    }
    routines.get(&instruction_target(instruction, address)?)
}

/// Returns whether an instruction may fall through: it has a guard, or tests the condition code.
fn is_conditional(instruction: &Instruction) -> bool {
    let guard = instruction.operands().find(|operand| operand.kind == OperandKind::Guard);
    let is_guarded =
        guard.is_some_and(|guard| instruction.number(guard.value) != 7 || instruction.flag(guard.not));
    is_guarded || instruction.modifier("test").is_some_and(|test| test != "t")
}
