//! What a program is made of, counted: the counts of a STAT part.
//!
//! Source: `D3D11_SHADER_DESC` in Microsoft's documentation; the STAT parts of the corpus beside their programs.

use crate::names::FIRST_PATCH;
use crate::opcode::{Class, Controls, Opcode, TABLE};
use crate::operand::{OperandKind, bits};
use crate::print::IMMEDIATE_CONSTANT_BUFFER;
use crate::program::{Instruction, Program};
use alloc::vec::Vec;

/// How many counts a STAT part of Shader Model 5 has.
pub const COUNTERS: usize = 37;
/// How many one of Shader Model 4 has.
pub const COUNTERS_4: usize = 29;

/// The counts of a STAT part that a program tells, in the order of the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The counts.
    pub counters: [u32; COUNTERS],
    /// Instructions by class, those with any, in the order of the classes.
    pub classes: Vec<(Class, u32)>,
    /// Instructions by mnemonic, most frequent first.
    pub opcodes: Vec<(&'static str, u32)>,
    is_hull: bool,
    in_patch_phase: bool,
}

/// Places of counts.
mod place {
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
    /// Counts a program.
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
            let place = TABLE.iter().position(|row| row.number == instruction.opcode().0);
            if let Some(count) = place.and_then(|place| by_row.get_mut(place)) {
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

    fn add(&mut self, place: usize, count: u32) {
        if let Some(counter) = self.counters.get_mut(place) {
            *counter = counter.saturating_add(count);
        }
    }

    fn set(&mut self, place: usize, value: u32) {
        if let Some(counter) = self.counters.get_mut(place) {
            *counter = value;
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let Some(row) = instruction.opcode().row() else { return };
        if row.class == Class::Declaration {
            return self.declaration(instruction, row.controls);
        }
        if instruction.opcode() != Opcode::LABEL {
            self.add(place::INSTRUCTIONS, 1);
        }
        if let Some(counter) = counter_of(row.mnemonic, row.class, row.body) {
            self.add(counter, 1);
        }
        let is_array = |kind| kind == OperandKind::INDEXABLE_TEMP;
        if instruction.operands.iter().any(|operand| is_array(operand.kind())) {
            self.add(place::ARRAY, 1);
        }
    }

    fn declaration(&mut self, instruction: &Instruction, controls: Controls) {
        let control = |width| bits(instruction.token, 11, width);
        let first = instruction.values.first().copied().unwrap_or(0);
        match controls {
            Controls::Primitive => self.set(place::INPUT_PRIMITIVE, control(6)),
            Controls::Topology => self.set(place::OUTPUT_TOPOLOGY, control(6)),
            Controls::ControlPoints => {
                // Of a hull shader the points that go out, which are declared after those that come in.
                self.set(place::CONTROL_POINTS, control(6));
                if instruction.opcode().0 == INPUT_CONTROL_POINTS && self.is_hull {
                    self.set(place::INPUT_PRIMITIVE, FIRST_PATCH.wrapping_sub(1).wrapping_add(control(6)));
                }
            }
            Controls::CustomData if instruction.custom_data_class() == IMMEDIATE_CONSTANT_BUFFER => {
                let vectors = u32::try_from(instruction.values.len() / 4).unwrap_or(u32::MAX);
                self.add(place::DEFINITIONS, vectors);
            }
            Controls::Domain => self.set(place::DOMAIN, control(2)),
            Controls::Partitioning => self.set(place::PARTITIONING, control(3)),
            Controls::OutputPrimitive => self.set(place::OUTPUT_PRIMITIVE, control(3)),
            _ => {}
        }
        match instruction.opcode() {
            Opcode::DCL_TEMPS => {
                let most = self.counters.get(place::TEMPS).copied().unwrap_or(0).max(first);
                self.set(place::TEMPS, most);
            }
            Opcode::DCL_INDEXABLE_TEMP => {
                self.add(place::TEMP_ARRAYS, instruction.values.get(1).copied().unwrap_or(0));
            }
            Opcode(MAX_OUTPUT_VERTICES) => self.set(place::MAX_VERTICES, first),
            Opcode(GEOMETRY_INSTANCES) => self.set(place::GEOMETRY_INSTANCES, first),
            Opcode::HS_FORK_PHASE | Opcode::HS_JOIN_PHASE => self.in_patch_phase = true,
            Opcode(DCL_INPUT..=DCL_OUTPUT_SIV) if !self.in_patch_phase => self.add(place::DECLARATIONS, 1),
            _ => {}
        }
    }
}

/// The kind of hull shaders.
const HULL: u32 = 3;
/// Numbers of declarations.
const MAX_OUTPUT_VERTICES: u16 = 94;
const DCL_INPUT: u16 = 95;
const DCL_OUTPUT_SIV: u16 = 103;
const INPUT_CONTROL_POINTS: u16 = 147;
const GEOMETRY_INSTANCES: u16 = 206;

/// Mnemonics that are counted otherwise than their class says.
const COUNTED: &[(&str, usize)] = &[
    ("mov", place::MOVE),
    ("movc", place::CONDITIONAL_MOVE),
    ("swapc", place::CONDITIONAL_MOVE),
    ("cut", place::CUT),
    ("cut_stream", place::CUT),
    ("emit", place::EMIT),
    ("emit_stream", place::EMIT),
    ("sync", place::BARRIERS),
    ("if", place::DYNAMIC_FLOW),
    ("breakc", place::DYNAMIC_FLOW),
    ("continuec", place::DYNAMIC_FLOW),
    ("switch", place::DYNAMIC_FLOW),
    ("retc", place::DYNAMIC_FLOW),
    ("callc", place::DYNAMIC_FLOW),
    ("loop", place::STATIC_FLOW),
    ("endloop", place::STATIC_FLOW),
    ("else", place::STATIC_FLOW),
    ("ret", place::STATIC_FLOW),
    ("break", place::STATIC_FLOW),
    ("continue", place::STATIC_FLOW),
    ("call", place::STATIC_FLOW),
    ("case", place::STATIC_FLOW),
    ("default", place::STATIC_FLOW),
    ("sample", place::TEXTURE_NORMAL),
    ("sample_l", place::TEXTURE_NORMAL),
    ("gather4", place::TEXTURE_NORMAL),
    ("ld", place::TEXTURE_LOAD),
    ("ldms", place::TEXTURE_LOAD),
    ("ld_raw", place::TEXTURE_LOAD),
    ("ld_structured", place::TEXTURE_LOAD),
    ("ld_uav_typed", place::TEXTURE_LOAD),
    ("sample_c", place::TEXTURE_COMPARE),
    ("sample_c_lz", place::TEXTURE_COMPARE),
    ("sample_b", place::TEXTURE_BIAS),
    ("sample_d", place::TEXTURE_GRADIENT),
    ("store_uav_typed", place::TEXTURE_STORE),
    ("store_raw", place::TEXTURE_STORE),
    ("store_structured", place::TEXTURE_STORE),
];

fn counter_of(mnemonic: &str, class: Class, body: &str) -> Option<usize> {
    if let Some((_, counter)) = COUNTED.iter().find(|(known, _)| *known == mnemonic) {
        return Some(*counter);
    }
    Some(match class {
        Class::Float if mnemonic.starts_with("eval_") => return None,
        Class::Float => place::FLOAT,
        Class::Integer if mnemonic.starts_with('u') => place::UNSIGNED,
        Class::Integer => place::SIGNED,
        Class::Bitwise if matches!(mnemonic, "and" | "or" | "xor" | "not") => place::UNSIGNED,
        Class::Conversion => place::CONVERSION,
        Class::Atomic if !body.is_empty() => place::INTERLOCKED,
        _ => return None,
    })
}
