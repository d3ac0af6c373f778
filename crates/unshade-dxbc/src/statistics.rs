//! Instruction statistics of a program: the counters of a STAT part.
//!
//! Sources: `D3D11_SHADER_DESC` in Microsoft's documentation; STAT parts compared with their programs.

use crate::names::FIRST_PATCH;
use crate::opcode::{Class, Controls, Opcode, TABLE};
use crate::operand::{OperandKind, bits};
use crate::print::IMMEDIATE_CONSTANT_BUFFER;
use crate::program::{Instruction, Program};
use alloc::vec::Vec;

/// Number of counters of a STAT part of Shader Model 5.
pub const COUNTERS: usize = 37;
/// Number of counters of a STAT part of Shader Model 4.
pub const COUNTERS_4: usize = 29;

/// Statistics of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The counters that follow from the program, in the order of the STAT part.
    pub counters: [u32; COUNTERS],
    /// Number of instructions by class, without empty classes, in the order of the classes.
    pub classes: Vec<(Class, u32)>,
    /// Number of instructions by mnemonic, most frequent first.
    pub opcodes: Vec<(&'static str, u32)>,
    is_hull: bool,
    in_patch_phase: bool,
}

/// Indices of counters.
mod counter {
    pub(super) const INSTRUCTIONS: usize = 0;
    pub(super) const TEMPS: usize = 1;
    pub(super) const DEFINITIONS: usize = 2;
    pub(super) const DECLARATIONS: usize = 3;
    pub(super) const FLOAT: usize = 4;
    pub(super) const SIGNED: usize = 5;
    pub(super) const UNSIGNED: usize = 6;
    pub(super) const STATIC_FLOW: usize = 7;
    pub(super) const DYNAMIC_FLOW: usize = 8;
    pub(super) const TEMP_ARRAYS: usize = 10;
    pub(super) const ARRAY: usize = 11;
    pub(super) const CUT: usize = 12;
    pub(super) const EMIT: usize = 13;
    pub(super) const TEXTURE_NORMAL: usize = 14;
    pub(super) const TEXTURE_LOAD: usize = 15;
    pub(super) const TEXTURE_COMPARE: usize = 16;
    pub(super) const TEXTURE_BIAS: usize = 17;
    pub(super) const TEXTURE_GRADIENT: usize = 18;
    pub(super) const MOVE: usize = 19;
    pub(super) const CONDITIONAL_MOVE: usize = 20;
    pub(super) const CONVERSION: usize = 21;
    pub(super) const INPUT_PRIMITIVE: usize = 23;
    pub(super) const OUTPUT_TOPOLOGY: usize = 24;
    pub(super) const MAX_VERTICES: usize = 25;
    pub(super) const GEOMETRY_INSTANCES: usize = 29;
    pub(super) const CONTROL_POINTS: usize = 30;
    pub(super) const OUTPUT_PRIMITIVE: usize = 31;
    pub(super) const PARTITIONING: usize = 32;
    pub(super) const DOMAIN: usize = 33;
    pub(super) const BARRIERS: usize = 34;
    pub(super) const INTERLOCKED: usize = 35;
    pub(super) const TEXTURE_STORE: usize = 36;
}

impl Statistics {
    /// Counts the instructions of a program.
    pub fn of(program: &Program) -> Self {
        let mut statistics = Self {
            counters: [0; COUNTERS],
            classes: Vec::new(),
            opcodes: Vec::new(),
            is_hull: program.version.kind() == HULL,
            in_patch_phase: false,
        };
        let mut by_row = alloc::vec![0u32; TABLE.len()];
        for instruction in &program.instructions {
            statistics.instruction(instruction);
            let position = TABLE.iter().position(|row| row.number == instruction.opcode().0);
            if let Some(count) = position.and_then(|position| by_row.get_mut(position)) {
                *count = count.saturating_add(1);
            }
        }
        let counted = || TABLE.iter().zip(&by_row).filter(|(_, count)| **count > 0);
        for (class, _) in Class::NAMED {
            let count = counted()
                .filter(|(row, _)| row.class == class)
                .fold(0, |sum: u32, (_, count)| sum.saturating_add(*count));
            if count > 0 {
                statistics.classes.push((class, count));
            }
        }
        statistics.opcodes = counted().map(|(row, count)| (row.mnemonic, *count)).collect();
        statistics.opcodes.sort_by(|(first, one), (second, other)| other.cmp(one).then(first.cmp(second)));
        statistics
    }

    /// Returns the number of instructions as the STAT part has it: without declarations.
    pub fn instructions(&self) -> u32 {
        self.counters[counter::INSTRUCTIONS]
    }

    fn add(&mut self, index: usize, count: u32) {
        if let Some(counter) = self.counters.get_mut(index) {
            *counter = counter.saturating_add(count);
        }
    }

    fn set(&mut self, index: usize, value: u32) {
        if let Some(counter) = self.counters.get_mut(index) {
            *counter = value;
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let Some(row) = instruction.opcode().row() else { return };
        if row.class == Class::Declaration {
            return self.declaration(instruction, row.controls);
        }
        if instruction.opcode() != Opcode::LABEL {
            self.add(counter::INSTRUCTIONS, 1);
        }
        if let Some(counter) = counter_of(row.mnemonic, row.class, row.body) {
            self.add(counter, 1);
        }
        let is_array = |kind| kind == OperandKind::INDEXABLE_TEMP;
        if instruction.operands.iter().any(|operand| is_array(operand.kind())) {
            self.add(counter::ARRAY, 1);
        }
    }

    fn declaration(&mut self, instruction: &Instruction, controls: Controls) {
        let control = |width| bits(instruction.token, 11, width);
        let first = instruction.values.first().copied().unwrap_or(0);
        match controls {
            Controls::Primitive => self.set(counter::INPUT_PRIMITIVE, control(6)),
            Controls::Topology => self.set(counter::OUTPUT_TOPOLOGY, control(6)),
            Controls::ControlPoints => {
                // For a hull shader the counter has the output control points, which are declared after the input
                // ones.
                self.set(counter::CONTROL_POINTS, control(6));
                if instruction.opcode().0 == INPUT_CONTROL_POINTS && self.is_hull {
                    self.set(counter::INPUT_PRIMITIVE, FIRST_PATCH.wrapping_sub(1).wrapping_add(control(6)));
                }
            }
            Controls::CustomData if instruction.custom_data_class() == IMMEDIATE_CONSTANT_BUFFER => {
                let vectors = u32::try_from(instruction.values.len() / 4).unwrap_or(u32::MAX);
                self.add(counter::DEFINITIONS, vectors);
            }
            Controls::Domain => self.set(counter::DOMAIN, control(2)),
            Controls::Partitioning => self.set(counter::PARTITIONING, control(3)),
            Controls::OutputPrimitive => self.set(counter::OUTPUT_PRIMITIVE, control(3)),
            _ => {}
        }
        match instruction.opcode() {
            Opcode::DCL_TEMPS => {
                let most = self.counters.get(counter::TEMPS).copied().unwrap_or(0).max(first);
                self.set(counter::TEMPS, most);
            }
            Opcode::DCL_INDEXABLE_TEMP => {
                self.add(counter::TEMP_ARRAYS, instruction.values.get(1).copied().unwrap_or(0));
            }
            Opcode(MAX_OUTPUT_VERTICES) => self.set(counter::MAX_VERTICES, first),
            Opcode(GEOMETRY_INSTANCES) => self.set(counter::GEOMETRY_INSTANCES, first),
            Opcode::HS_FORK_PHASE | Opcode::HS_JOIN_PHASE => self.in_patch_phase = true,
            Opcode(DCL_INPUT..=DCL_OUTPUT_SIV) if !self.in_patch_phase => self.add(counter::DECLARATIONS, 1),
            _ => {}
        }
    }
}

/// The program kind of hull shaders.
const HULL: u32 = 3;
/// Opcodes of declarations.
const MAX_OUTPUT_VERTICES: u16 = 94;
const DCL_INPUT: u16 = 95;
const DCL_OUTPUT_SIV: u16 = 103;
const INPUT_CONTROL_POINTS: u16 = 147;
const GEOMETRY_INSTANCES: u16 = 206;

/// Mnemonics with another counter than their class.
const COUNTED: &[(&str, usize)] = &[
    ("mov", counter::MOVE),
    ("movc", counter::CONDITIONAL_MOVE),
    ("swapc", counter::CONDITIONAL_MOVE),
    ("cut", counter::CUT),
    ("cut_stream", counter::CUT),
    ("emit", counter::EMIT),
    ("emit_stream", counter::EMIT),
    ("sync", counter::BARRIERS),
    ("if", counter::DYNAMIC_FLOW),
    ("breakc", counter::DYNAMIC_FLOW),
    ("continuec", counter::DYNAMIC_FLOW),
    ("switch", counter::DYNAMIC_FLOW),
    ("retc", counter::DYNAMIC_FLOW),
    ("callc", counter::DYNAMIC_FLOW),
    ("loop", counter::STATIC_FLOW),
    ("endloop", counter::STATIC_FLOW),
    ("else", counter::STATIC_FLOW),
    ("ret", counter::STATIC_FLOW),
    ("break", counter::STATIC_FLOW),
    ("continue", counter::STATIC_FLOW),
    ("call", counter::STATIC_FLOW),
    ("case", counter::STATIC_FLOW),
    ("default", counter::STATIC_FLOW),
    ("sample", counter::TEXTURE_NORMAL),
    ("sample_l", counter::TEXTURE_NORMAL),
    ("gather4", counter::TEXTURE_NORMAL),
    ("ld", counter::TEXTURE_LOAD),
    ("ldms", counter::TEXTURE_LOAD),
    ("ld_raw", counter::TEXTURE_LOAD),
    ("ld_structured", counter::TEXTURE_LOAD),
    ("ld_uav_typed", counter::TEXTURE_LOAD),
    ("sample_c", counter::TEXTURE_COMPARE),
    ("sample_c_lz", counter::TEXTURE_COMPARE),
    ("sample_b", counter::TEXTURE_BIAS),
    ("sample_d", counter::TEXTURE_GRADIENT),
    ("store_uav_typed", counter::TEXTURE_STORE),
    ("store_raw", counter::TEXTURE_STORE),
    ("store_structured", counter::TEXTURE_STORE),
];

fn counter_of(mnemonic: &str, class: Class, body: &str) -> Option<usize> {
    if let Some((_, counter)) = COUNTED.iter().find(|(known, _)| *known == mnemonic) {
        return Some(*counter);
    }
    Some(match class {
        Class::Float if mnemonic.starts_with("eval_") => return None,
        Class::Float => counter::FLOAT,
        Class::Integer if mnemonic.starts_with('u') => counter::UNSIGNED,
        Class::Integer => counter::SIGNED,
        Class::Bitwise if matches!(mnemonic, "and" | "or" | "xor" | "not") => counter::UNSIGNED,
        Class::Conversion => counter::CONVERSION,
        Class::Atomic if !body.is_empty() => counter::INTERLOCKED,
        _ => return None,
    })
}
