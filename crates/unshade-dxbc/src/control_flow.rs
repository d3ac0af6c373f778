//! The control-flow graph of a program.
//!
//! Blocks are runs of instructions. Structured instructions (`if`, `loop`, `switch`, `break` …) end a block and
//! determine its successors. Hull shader phases and subroutines are entries of their own; a call falls through to the
//! next instruction.
//!
//! One table per format says what each opcode does to control flow; the rest is shared.

use crate::d3d9;
use crate::opcode::{Class, Opcode};
use crate::program::Program;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::graph::Graph;

/// The basic blocks of a program and the edges between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlFlow {
    /// The instructions of each block, by index.
    pub blocks: Vec<Range<usize>>,
    /// Edges, as (predecessor, successor).
    pub edges: Vec<(u32, u32)>,
    /// The blocks where the program, its phases and its subroutines start.
    pub entries: Vec<u32>,
}

/// The effect of an instruction on control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlowEffect {
    /// Falls through to the next instruction.
    Next,
    /// Falls through, and emits no code.
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
    /// Ends the innermost open construct.
    End,
    EndLoop,
    /// Ends a loop with an iteration count.
    EndCounted,
    EndSwitch,
    Return,
    /// Starts code that is not reached from the instruction before it.
    Entry,
}

/// Opcodes of Shader Model 4 to 5.1 that affect control flow.
const FLOW_OPCODES: [(Opcode, FlowEffect); 18] = [
    (Opcode::IF, FlowEffect::If),
    (Opcode::LOOP, FlowEffect::Loop),
    (Opcode::SWITCH, FlowEffect::Switch),
    (Opcode::ELSE, FlowEffect::Else),
    (Opcode::CASE, FlowEffect::Case),
    (Opcode::DEFAULT, FlowEffect::Default),
    (Opcode::BREAK, FlowEffect::Break),
    (Opcode::BREAKC, FlowEffect::BreakIf),
    (Opcode::CONTINUE, FlowEffect::Continue),
    (Opcode::CONTINUEC, FlowEffect::ContinueIf),
    (Opcode::ENDIF, FlowEffect::End),
    (Opcode::ENDLOOP, FlowEffect::EndLoop),
    (Opcode::ENDSWITCH, FlowEffect::EndSwitch),
    (Opcode::RET, FlowEffect::Return),
    (Opcode::LABEL, FlowEffect::Entry),
    (Opcode::HS_CONTROL_POINT_PHASE, FlowEffect::Entry),
    (Opcode::HS_FORK_PHASE, FlowEffect::Entry),
    (Opcode::HS_JOIN_PHASE, FlowEffect::Entry),
];

/// Opcodes of Shader Model 1 to 3 that affect control flow.
const FLOW_OPCODES_D3D9: [(d3d9::opcode::Opcode, FlowEffect); 13] = [
    (d3d9::opcode::Opcode::IF, FlowEffect::If),
    (d3d9::opcode::Opcode::IF_COMPARE, FlowEffect::If),
    (d3d9::opcode::Opcode::LOOP, FlowEffect::Loop),
    (d3d9::opcode::Opcode::REPEAT, FlowEffect::Loop),
    (d3d9::opcode::Opcode::ELSE, FlowEffect::Else),
    (d3d9::opcode::Opcode::BREAK, FlowEffect::Break),
    (d3d9::opcode::Opcode::BREAK_COMPARE, FlowEffect::BreakIf),
    (d3d9::opcode::Opcode::BREAK_PREDICATE, FlowEffect::BreakIf),
    (d3d9::opcode::Opcode::END_IF, FlowEffect::End),
    (d3d9::opcode::Opcode::END_LOOP, FlowEffect::EndCounted),
    (d3d9::opcode::Opcode::END_REPEAT, FlowEffect::EndCounted),
    (d3d9::opcode::Opcode::RETURN, FlowEffect::Return),
    (d3d9::opcode::Opcode::LABEL, FlowEffect::Entry),
];

/// A construct that has not ended yet.
struct OpenConstruct {
    opener: FlowEffect,
    /// The first instruction inside it.
    start: usize,
    /// Instructions that jump to its end.
    exits: Vec<usize>,
    /// Instructions that jump to its next part: `else`, the end, or the next case.
    pending: Vec<usize>,
    has_default: bool,
}

impl ControlFlow {
    /// Builds the control-flow graph of a program.
    pub fn of(program: &Program) -> Self {
        let effects = program.instructions.iter().map(|instruction| {
            let opcode = instruction.opcode();
            let known = FLOW_OPCODES.iter().find(|(known, _)| *known == opcode).map(|(_, effect)| *effect);
            let is_declaration = opcode.row().is_some_and(|row| row.class == Class::Declaration);
            known.unwrap_or(if is_declaration { FlowEffect::Declaration } else { FlowEffect::Next })
        });
        Self::of_effects(&effects.collect::<Vec<_>>())
    }

    /// Builds the control-flow graph of a program of Shader Model 1 to 3.
    pub fn of_d3d9(program: &d3d9::Program) -> Self {
        let effects = program.instructions.iter().map(|instruction| {
            let opcode = instruction.opcode();
            let known =
                FLOW_OPCODES_D3D9.iter().find(|(known, _)| *known == opcode).map(|(_, effect)| *effect);
            let row = opcode.row(program.version);
            let is_declaration = row.is_none_or(|row| row.class == Class::Declaration);
            known.unwrap_or(if is_declaration { FlowEffect::Declaration } else { FlowEffect::Next })
        });
        Self::of_effects(&effects.collect::<Vec<_>>())
    }

    fn of_effects(effects: &[FlowEffect]) -> Self {
        Jumps::of(effects).blocks(effects)
    }

    /// Returns the graph, for dominators and loops.
    pub fn graph(&self) -> Graph {
        Graph::new(self.blocks.len(), &self.edges)
    }
}

/// The jumps between instructions.
#[derive(Default)]
struct Jumps {
    /// From an instruction to another one, fall-through aside.
    edges: Vec<(usize, usize)>,
    /// Instructions that do not fall through.
    ends: Vec<bool>,
    /// Instructions where a program, phase or subroutine starts.
    entries: Vec<usize>,
}

impl Jumps {
    fn of(effects: &[FlowEffect]) -> Self {
        let count = effects.len();
        let mut jumps = Self { ends: alloc::vec![false; count], ..Self::default() };
        let mut open: Vec<OpenConstruct> = Vec::new();
        for (number, effect) in effects.iter().enumerate() {
            jumps.effect(number, *effect, &mut open);
        }
        // Constructs that a hostile program never closes end where the program ends.
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

    fn effect(&mut self, number: usize, effect: FlowEffect, open: &mut Vec<OpenConstruct>) {
        let next = number.saturating_add(1);
        match effect {
            FlowEffect::If | FlowEffect::Loop | FlowEffect::Switch => {
                let pending = if effect == FlowEffect::Loop { Vec::new() } else { alloc::vec![number] };
                open.push(OpenConstruct {
                    opener: effect,
                    start: next,
                    exits: Vec::new(),
                    pending,
                    has_default: false,
                });
                if effect == FlowEffect::Switch {
                    self.end(number);
                }
            }
            FlowEffect::Else => {
                if let Some(construct) = open.last_mut() {
                    construct.exits.push(number);
                    let pending = core::mem::take(&mut construct.pending);
                    self.jump_all(&pending, next);
                }
                self.end(number);
            }
            FlowEffect::Case | FlowEffect::Default => {
                if let Some(construct) = open.last_mut() {
                    construct.has_default |= effect == FlowEffect::Default;
                    let switch = construct.pending.clone();
                    self.jump_all(&switch, number);
                }
            }
            FlowEffect::Break | FlowEffect::BreakIf => {
                let target = open.iter_mut().rev().find(|one| one.opener != FlowEffect::If);
                if let Some(construct) = target {
                    construct.exits.push(number);
                }
                if effect == FlowEffect::Break {
                    self.end(number);
                }
            }
            FlowEffect::Continue | FlowEffect::ContinueIf => {
                if let Some(construct) = open.iter().rev().find(|one| one.opener == FlowEffect::Loop) {
                    self.edges.push((number, construct.start));
                }
                if effect == FlowEffect::Continue {
                    self.end(number);
                }
            }
            FlowEffect::End | FlowEffect::EndLoop | FlowEffect::EndCounted | FlowEffect::EndSwitch => {
                if let Some(construct) = open.pop() {
                    self.jump_all(&construct.exits, next);
                    if effect != FlowEffect::EndSwitch || !construct.has_default {
                        self.jump_all(&construct.pending, next);
                    }
                    if effect == FlowEffect::EndCounted {
                        self.edges.push((number, construct.start));
                    }
                    if effect == FlowEffect::EndLoop {
                        self.edges.push((number, construct.start));
                        self.end(number);
                    }
                }
            }
            FlowEffect::Return => self.end(number),
            FlowEffect::Entry => {
                self.entries.push(number);
                self.end(number.wrapping_sub(1));
            }
            _ => {}
        }
    }

    fn blocks(&self, effects: &[FlowEffect]) -> ControlFlow {
        let count = effects.len();
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
            let index = bounds.partition_point(|start| *start <= number).checked_sub(1)?;
            u32::try_from(index).ok().filter(|_| number < count)
        };
        let mut edges = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let last = block.end.saturating_sub(1);
            if self.ends.get(last) == Some(&false) && block.end < count {
                edges.extend(u32::try_from(index).ok().zip(block_of(block.end)));
            }
        }
        edges.extend(self.edges.iter().filter_map(|(from, to)| block_of(*from).zip(block_of(*to))));
        edges.sort_unstable();
        edges.dedup();
        let mut entries: Vec<u32> = self.entries.iter().filter_map(|entry| block_of(*entry)).collect();
        // The instructions before the first phase are declarations.
        let is_code = |block: &Range<usize>| {
            let inside = effects.get(block.clone()).unwrap_or_default();
            inside.iter().any(|effect| *effect != FlowEffect::Declaration)
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
    fn both_branches_of_an_if() {
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
