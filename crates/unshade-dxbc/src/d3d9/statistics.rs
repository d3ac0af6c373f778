//! Instruction statistics of a program of Shader Model 1 to 3.
//!
//! Instruction slots are counted as FXC counts them: each opcode takes those of its row; `exp`, `log` and `frc` of
//! vertex shaders of version 1.1 take those of the macros that they are. A predicate adds one slot, and co-issue
//! saves one. In pixel shaders of version 1 no instruction takes more than one.

use super::opcode::{Opcode, TABLE};
use super::operand::RegisterKind;
use super::program::{Instruction, Program, Version};
use crate::opcode::Class;
use alloc::vec::Vec;

/// Slots of the macros of vertex shaders of version 1.1: `exp`, `log`, `frc`.
const MACROS: [(u16, u32); 3] = [(14, 10), (15, 10), (19, 3)];

/// Statistics of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of instructions, without declarations and comments.
    pub instructions: u32,
    /// Arithmetic instruction slots.
    pub arithmetic_slots: u32,
    /// Texture instruction slots.
    pub texture_slots: u32,
    /// Number of temporary registers: the highest number in use, plus one.
    pub temporaries: u32,
    /// Instructions and declarations by class, without empty classes, in the order of the classes.
    pub classes: Vec<(Class, u32)>,
    /// Instructions and declarations by mnemonic, most frequent first.
    pub opcodes: Vec<(&'static str, u32)>,
}

impl Statistics {
    /// Counts the instructions of a program.
    pub fn of(program: &Program) -> Self {
        let mut statistics = Self::default();
        let mut by_name: Vec<(&'static str, u32)> = Vec::new();
        let mut by_class = Class::NAMED.map(|(class, _)| (class, 0u32));
        let mut name_indices = alloc::vec![None; TABLE.len()];
        for instruction in &program.instructions {
            statistics.slots(program.version, instruction);
            let Some(row) = instruction.opcode().row(program.version) else { continue };
            statistics.instruction(instruction, row.class);
            if let Some((_, count)) = by_class.iter_mut().find(|(class, _)| *class == row.class) {
                *count = count.saturating_add(1);
            }
            let number = TABLE.partition_point(|known| known.number < row.number);
            let Some(position) = name_indices.get_mut(number) else { continue };
            let position = *position.get_or_insert_with(|| {
                by_name.push((row.mnemonic, 0));
                by_name.len().wrapping_sub(1)
            });
            if let Some((_, count)) = by_name.get_mut(position) {
                *count = count.saturating_add(1);
            }
        }
        // `if` and `break` have several opcodes each.
        for (name, count) in by_name {
            match statistics.opcodes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => statistics.opcodes.push((name, count)),
            }
        }
        statistics.opcodes.sort_by(|(first, one), (second, other)| other.cmp(one).then(first.cmp(second)));
        statistics.classes = by_class.into_iter().filter(|(_, count)| *count > 0).collect();
        statistics
    }

    /// Returns the number of all slots.
    pub fn slots_in_all(&self) -> u32 {
        self.arithmetic_slots.saturating_add(self.texture_slots)
    }

    fn instruction(&mut self, instruction: &Instruction, class: Class) {
        if class != Class::Declaration && instruction.opcode() != Opcode::LABEL {
            self.instructions = self.instructions.saturating_add(1);
        }
        for operand in &instruction.operands {
            if operand.kind() == RegisterKind::TEMPORARY {
                self.temporaries = self.temporaries.max(operand.number().saturating_add(1));
            }
        }
    }

    fn slots(&mut self, version: Version, instruction: &Instruction) {
        if instruction.opcode() == Opcode::COMMENT {
            return;
        }
        let is_old_pixel = version.is_pixel() && version.major() < 2;
        let has_macros = !version.is_pixel() && version.number() == 0x101;
        if instruction.is_co_issued() {
            self.arithmetic_slots = self.arithmetic_slots.saturating_sub(1);
        }
        let (mut arithmetic, texture) = instruction.opcode().row(version).map_or((0, 0), |row| row.slots);
        let expanded = MACROS.iter().find(|(number, _)| *number == instruction.opcode().0);
        if let Some((_, slots)) = expanded.filter(|_| has_macros) {
            arithmetic = *slots;
        }
        let position = instruction.predicate_index(version);
        let has_predicate = position.is_some_and(|position| position < instruction.operands.len());
        arithmetic = arithmetic.saturating_add(u32::from(has_predicate));
        if is_old_pixel {
            arithmetic = arithmetic.min(1);
        }
        self.arithmetic_slots = self.arithmetic_slots.saturating_add(arithmetic);
        self.texture_slots = self.texture_slots.saturating_add(texture);
    }
}
