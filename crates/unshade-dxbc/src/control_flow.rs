//! The control-flow graph of a program.
//!
//! Blocks are runs of instructions. Structured instructions (`if`, `loop`, `switch`, `break` …) end them and tell where
//! it goes on. Phases of hull shaders and subroutines are entries of their own; calls go on with what follows them.

use crate::opcode::{Class, Opcode};
use crate::program::Program;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::graph::Graph;

/// Blocks and edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlFlow {
    /// The instructions of each block, by number.
    pub blocks: Vec<Range<usize>>,
    /// From which block to which.
    pub edges: Vec<(u32, u32)>,
    /// The blocks at which something starts: the program, its phases, subroutines.
    pub entries: Vec<u32>,
}

/// A construct that is open.
struct Open {
    opcode: Opcode,
    /// Where it begins.
    start: usize,
    /// Instructions that go to its end.
    exits: Vec<usize>,
    /// Instructions that go to the next part of it: to `else` or the end, or to the next case.
    pending: Vec<usize>,
    has_default: bool,
}

impl ControlFlow {
    /// Finds the blocks of a program.
    pub fn of(program: &Program) -> Self {
        let jumps = Jumps::of(program);
        jumps.blocks(program)
    }

    /// The graph, for dominators and loops.
    pub fn graph(&self) -> Graph {
        Graph::new(self.blocks.len(), &self.edges)
    }
}

/// Where it goes on after each instruction.
#[derive(Default)]
struct Jumps {
    /// From an instruction to another, besides the next.
    edges: Vec<(usize, usize)>,
    /// Instructions after which it does not go on with the next.
    ends: Vec<bool>,
    /// Instructions that start something.
    entries: Vec<usize>,
}

impl Jumps {
    fn of(program: &Program) -> Self {
        let count = program.instructions.len();
        let mut jumps = Self { ends: alloc::vec![false; count], ..Self::default() };
        let mut open: Vec<Open> = Vec::new();
        for (number, instruction) in program.instructions.iter().enumerate() {
            jumps.step(number, instruction.opcode(), &mut open);
        }
        // What hostile programs leave open ends at their end.
        for construct in open {
            jumps.jump_all(&construct.exits, count);
            jumps.jump_all(&construct.pending, count);
        }
        jumps
    }

    fn end(&mut self, number: usize) {
        if let Some(end) = self.ends.get_mut(number) {
            *end = true;
        }
    }

    fn jump_all(&mut self, from: &[usize], to: usize) {
        self.edges.extend(from.iter().map(|from| (*from, to)));
    }

    fn step(&mut self, number: usize, opcode: Opcode, open: &mut Vec<Open>) {
        let next = number.saturating_add(1);
        match opcode {
            Opcode::IF | Opcode::LOOP | Opcode::SWITCH => {
                let pending = if opcode == Opcode::LOOP { Vec::new() } else { alloc::vec![number] };
                open.push(Open { opcode, start: next, exits: Vec::new(), pending, has_default: false });
                if opcode == Opcode::SWITCH {
                    self.end(number);
                }
            }
            Opcode::ELSE => {
                if let Some(construct) = open.last_mut() {
                    construct.exits.push(number);
                    let pending = core::mem::take(&mut construct.pending);
                    self.jump_all(&pending, next);
                }
                self.end(number);
            }
            Opcode::CASE | Opcode::DEFAULT => {
                if let Some(construct) = open.last_mut() {
                    construct.has_default |= opcode == Opcode::DEFAULT;
                    let switch = construct.pending.clone();
                    self.jump_all(&switch, number);
                }
            }
            Opcode::BREAK | Opcode::BREAKC => {
                let target = open.iter_mut().rev().find(|one| one.opcode != Opcode::IF);
                if let Some(construct) = target {
                    construct.exits.push(number);
                }
                if opcode == Opcode::BREAK {
                    self.end(number);
                }
            }
            Opcode::CONTINUE | Opcode::CONTINUEC => {
                if let Some(construct) = open.iter().rev().find(|one| one.opcode == Opcode::LOOP) {
                    self.edges.push((number, construct.start));
                }
                if opcode == Opcode::CONTINUE {
                    self.end(number);
                }
            }
            Opcode::ENDIF | Opcode::ENDLOOP | Opcode::ENDSWITCH => {
                if let Some(construct) = open.pop() {
                    self.jump_all(&construct.exits, next);
                    if opcode != Opcode::ENDSWITCH || !construct.has_default {
                        self.jump_all(&construct.pending, next);
                    }
                    if opcode == Opcode::ENDLOOP {
                        self.edges.push((number, construct.start));
                        self.end(number);
                    }
                }
            }
            Opcode::RET => self.end(number),
            Opcode::LABEL
            | Opcode::HS_CONTROL_POINT_PHASE
            | Opcode::HS_FORK_PHASE
            | Opcode::HS_JOIN_PHASE => {
                self.entries.push(number);
                self.end(number.wrapping_sub(1));
            }
            _ => {}
        }
    }

    fn blocks(&self, program: &Program) -> ControlFlow {
        let count = program.instructions.len();
        let mut starts = alloc::vec![false; count.saturating_add(1)];
        let mut mark = |number: usize| {
            if let Some(start) = starts.get_mut(number) {
                *start = true;
            }
        };
        mark(0);
        self.entries.iter().for_each(|entry| mark(*entry));
        for (from, to) in &self.edges {
            mark(*to);
            mark(from.saturating_add(1));
        }
        for (number, _) in self.ends.iter().enumerate().filter(|(_, ends)| **ends) {
            mark(number.saturating_add(1));
        }
        let bounds: Vec<usize> =
            (0..count).filter(|number| starts.get(*number) == Some(&true)).chain([count]).collect();
        let blocks: Vec<Range<usize>> =
            bounds.windows(2).filter_map(|pair| Some(*pair.first()?..*pair.get(1)?)).collect();
        let block_of = |number: usize| {
            let place = bounds.partition_point(|start| *start <= number).checked_sub(1)?;
            u32::try_from(place).ok().filter(|_| number < count)
        };
        let mut edges = Vec::new();
        for (place, block) in blocks.iter().enumerate() {
            let last = block.end.saturating_sub(1);
            if self.ends.get(last) == Some(&false) && block.end < count {
                edges.extend(u32::try_from(place).ok().zip(block_of(block.end)));
            }
        }
        edges.extend(self.edges.iter().filter_map(|(from, to)| block_of(*from).zip(block_of(*to))));
        edges.sort_unstable();
        edges.dedup();
        let mut entries: Vec<u32> = self.entries.iter().filter_map(|entry| block_of(*entry)).collect();
        // What stands before the first phase are declarations.
        let is_code = |block: &Range<usize>| {
            let inside = program.instructions.get(block.clone()).unwrap_or_default();
            inside.iter().any(|one| one.opcode().row().is_none_or(|row| row.class != Class::Declaration))
        };
        if blocks.first().is_some_and(|block| entries.is_empty() || is_code(block)) {
            entries.insert(0, 0);
        }
        entries.dedup();
        ControlFlow { blocks, edges, entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> ControlFlow {
        ControlFlow::of(&crate::assemble(text).unwrap())
    }

    #[test]
    fn a_loop_with_a_condition() {
        let flow = of("ps_5_0\nmov r0.x, l(0)\nloop\n breakc_nz r0.x\n mov r0.x, l(1)\nendloop\nret");
        assert_eq!(flow.blocks, [0..2, 2..3, 3..5, 5..6]);
        assert_eq!(flow.edges, [(0, 1), (1, 2), (1, 3), (2, 1)]);
        assert_eq!(flow.entries, [0]);
    }

    #[test]
    fn both_ways_of_a_condition() {
        let flow = of("ps_5_0\nif_nz r0.x\n mov r0.x, l(1)\nelse\n mov r0.x, l(2)\nendif\nret");
        assert_eq!(flow.edges, [(0, 1), (0, 2), (1, 3), (2, 3)]);
    }

    #[test]
    fn a_switch_with_and_without_default() {
        let with = of("ps_5_0\nswitch r0.x\ncase l(1)\nbreak\ndefault\nbreak\nendswitch\nret");
        assert_eq!(with.edges, [(0, 1), (0, 2), (1, 4), (2, 4), (3, 4)]);
        let without = of("ps_5_0\nswitch r0.x\ncase l(1)\nbreak\nendswitch\nret");
        assert_eq!(without.edges, [(0, 1), (0, 3), (1, 3), (2, 3)]);
    }

    #[test]
    fn subroutines_are_entries() {
        let flow = of("ps_5_0\ncall label0\nret\nlabel label0\nmov r0.x, l(1)\nret");
        assert_eq!(flow.entries, [0, 1]);
        assert_eq!(flow.edges, []);
    }
}
