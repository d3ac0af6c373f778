//! The control-flow graph of a program.
//!
//! Blocks are runs of instructions. Structured instructions (`if`, `loop`, `switch`, `break` …) end them and tell where
//! it goes on. Phases of hull shaders and subroutines are entries of their own; calls go on with what follows them.
//!
//! What an opcode does is told by a table for each of the two formats; the rest is the same.

use crate::d3d9;
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

/// What an instruction does to where it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Goes on with the next.
    Next,
    /// The same, and computes nothing.
    Declaration,
    If,
    Loop,
    Switch,
    Else,
    Case,
    Default,
    Break,
    BreakIf,
    Continue,
    ContinueIf,
    /// Ends what is open.
    End,
    EndLoop,
    /// Ends a loop that goes round a counted number of times.
    EndCounted,
    EndSwitch,
    Return,
    /// Starts something that is not reached from before.
    Entry,
}

/// Opcodes of Shader Model 4 to 5.1 that do something.
const STEPS: [(Opcode, Step); 18] = [
    (Opcode::IF, Step::If),
    (Opcode::LOOP, Step::Loop),
    (Opcode::SWITCH, Step::Switch),
    (Opcode::ELSE, Step::Else),
    (Opcode::CASE, Step::Case),
    (Opcode::DEFAULT, Step::Default),
    (Opcode::BREAK, Step::Break),
    (Opcode::BREAKC, Step::BreakIf),
    (Opcode::CONTINUE, Step::Continue),
    (Opcode::CONTINUEC, Step::ContinueIf),
    (Opcode::ENDIF, Step::End),
    (Opcode::ENDLOOP, Step::EndLoop),
    (Opcode::ENDSWITCH, Step::EndSwitch),
    (Opcode::RET, Step::Return),
    (Opcode::LABEL, Step::Entry),
    (Opcode::HS_CONTROL_POINT_PHASE, Step::Entry),
    (Opcode::HS_FORK_PHASE, Step::Entry),
    (Opcode::HS_JOIN_PHASE, Step::Entry),
];

/// Opcodes of Shader Model 1 to 3 that do something.
const STEPS_3: [(d3d9::opcode::Opcode, Step); 13] = [
    (d3d9::opcode::Opcode::IF, Step::If),
    (d3d9::opcode::Opcode::IF_COMPARE, Step::If),
    (d3d9::opcode::Opcode::LOOP, Step::Loop),
    (d3d9::opcode::Opcode::REPEAT, Step::Loop),
    (d3d9::opcode::Opcode::ELSE, Step::Else),
    (d3d9::opcode::Opcode::BREAK, Step::Break),
    (d3d9::opcode::Opcode::BREAK_COMPARE, Step::BreakIf),
    (d3d9::opcode::Opcode::BREAK_PREDICATE, Step::BreakIf),
    (d3d9::opcode::Opcode::END_IF, Step::End),
    (d3d9::opcode::Opcode::END_LOOP, Step::EndCounted),
    (d3d9::opcode::Opcode::END_REPEAT, Step::EndCounted),
    (d3d9::opcode::Opcode::RETURN, Step::Return),
    (d3d9::opcode::Opcode::LABEL, Step::Entry),
];

/// A construct that is open.
struct Open {
    opener: Step,
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
        let steps = program.instructions.iter().map(|instruction| {
            let opcode = instruction.opcode();
            let known = STEPS.iter().find(|(known, _)| *known == opcode).map(|(_, step)| *step);
            let is_declaration = opcode.row().is_some_and(|row| row.class == Class::Declaration);
            known.unwrap_or(if is_declaration { Step::Declaration } else { Step::Next })
        });
        Self::of_steps(&steps.collect::<Vec<_>>())
    }

    /// Finds the blocks of a program of Shader Model 1 to 3.
    pub fn of_d3d9(program: &d3d9::Program) -> Self {
        let steps = program.instructions.iter().map(|instruction| {
            let opcode = instruction.opcode();
            let known = STEPS_3.iter().find(|(known, _)| *known == opcode).map(|(_, step)| *step);
            let row = opcode.row(program.version);
            let is_declaration = row.is_none_or(|row| row.class == Class::Declaration);
            known.unwrap_or(if is_declaration { Step::Declaration } else { Step::Next })
        });
        Self::of_steps(&steps.collect::<Vec<_>>())
    }

    fn of_steps(steps: &[Step]) -> Self {
        Jumps::of(steps).blocks(steps)
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
    fn of(steps: &[Step]) -> Self {
        let count = steps.len();
        let mut jumps = Self { ends: alloc::vec![false; count], ..Self::default() };
        let mut open: Vec<Open> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            jumps.step(number, *step, &mut open);
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

    fn step(&mut self, number: usize, step: Step, open: &mut Vec<Open>) {
        let next = number.saturating_add(1);
        match step {
            Step::If | Step::Loop | Step::Switch => {
                let pending = if step == Step::Loop { Vec::new() } else { alloc::vec![number] };
                open.push(Open { opener: step, start: next, exits: Vec::new(), pending, has_default: false });
                if step == Step::Switch {
                    self.end(number);
                }
            }
            Step::Else => {
                if let Some(construct) = open.last_mut() {
                    construct.exits.push(number);
                    let pending = core::mem::take(&mut construct.pending);
                    self.jump_all(&pending, next);
                }
                self.end(number);
            }
            Step::Case | Step::Default => {
                if let Some(construct) = open.last_mut() {
                    construct.has_default |= step == Step::Default;
                    let switch = construct.pending.clone();
                    self.jump_all(&switch, number);
                }
            }
            Step::Break | Step::BreakIf => {
                let target = open.iter_mut().rev().find(|one| one.opener != Step::If);
                if let Some(construct) = target {
                    construct.exits.push(number);
                }
                if step == Step::Break {
                    self.end(number);
                }
            }
            Step::Continue | Step::ContinueIf => {
                if let Some(construct) = open.iter().rev().find(|one| one.opener == Step::Loop) {
                    self.edges.push((number, construct.start));
                }
                if step == Step::Continue {
                    self.end(number);
                }
            }
            Step::End | Step::EndLoop | Step::EndCounted | Step::EndSwitch => {
                if let Some(construct) = open.pop() {
                    self.jump_all(&construct.exits, next);
                    if step != Step::EndSwitch || !construct.has_default {
                        self.jump_all(&construct.pending, next);
                    }
                    if step == Step::EndCounted {
                        self.edges.push((number, construct.start));
                    }
                    if step == Step::EndLoop {
                        self.edges.push((number, construct.start));
                        self.end(number);
                    }
                }
            }
            Step::Return => self.end(number),
            Step::Entry => {
                self.entries.push(number);
                self.end(number.wrapping_sub(1));
            }
            _ => {}
        }
    }

    fn blocks(&self, steps: &[Step]) -> ControlFlow {
        let count = steps.len();
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
            let inside = steps.get(block.clone()).unwrap_or_default();
            inside.iter().any(|step| *step != Step::Declaration)
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
    fn loops_of_shader_model_3_are_counted() {
        let text = "ps_3_0\nrep i0\nif_lt r0.x, r1.x\nbreak\nendif\nendrep\nmov oC0, r0";
        let flow = ControlFlow::of_d3d9(&d3d9::assemble(text).unwrap());
        assert_eq!(flow.blocks, [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(flow.edges, [(0, 1), (1, 2), (1, 4), (2, 5), (3, 4), (4, 1), (4, 5)]);
    }

    #[test]
    fn subroutines_are_entries() {
        let flow = of("ps_5_0\ncall label0\nret\nlabel label0\nmov r0.x, l(1)\nret");
        assert_eq!(flow.entries, [0, 1]);
        assert_eq!(flow.edges, []);
    }
}
