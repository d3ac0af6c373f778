//! Variables of the source code in registers: which values they have.
//!
//! Debugging information gives the registers of a variable, each from the instruction that sets it. After that
//! instruction, the value of the register is recorded as one of the variable. A variable of 64 bits has its value when
//! both of its registers are set.

use super::lifter::Lifter;
use super::{Code, LocalRegister};
use crate::ir::hash::FastMap;
use crate::ir::{BlockId, Op, ValueId};

/// The registers of variables, by the address from which they hold them.
#[derive(Default)]
pub(super) struct LocalStarts {
    of: FastMap<u32, Vec<(u32, LocalRegister)>>,
}

impl LocalStarts {
    pub(super) fn new(code: &Code<'_>) -> Self {
        let mut starts = Self::default();
        for (index, local) in (0..).zip(&code.locals) {
            for &register in &local.registers {
                if let Ok(start) = u32::try_from(register.start) {
                    starts.of.entry(start).or_default().push((index, register));
                }
            }
        }
        starts
    }
}

impl Lifter<'_> {
    /// Records the values of variables that the instruction before has set.
    pub(super) fn name_locals(&mut self) {
        // What guarded instructions set is known when their region ends.
        if self.block == BlockId::NONE || self.region.is_some() {
            return;
        }
        let Some(starts) = self.locals.of.get(&self.address) else { return };
        for (variable, register) in starts.clone() {
            if let Some(value) = self.local_value(variable, register) {
                self.builder.function.named.push((variable, value));
            }
        }
    }

    /// Returns the value of a variable after one of its registers was set; `None` if the other is not set yet.
    fn local_value(&mut self, variable: u32, set: LocalRegister) -> Option<ValueId> {
        let code = self.code;
        let registers = &code.locals.get(variable as usize)?.registers;
        if registers.iter().all(|register| register.part == 0) {
            return Some(self.read_variable(u32::from(set.register)));
        }
        let address = u64::from(self.address);
        let mut half = |part: u32| {
            let holds = |register: &&LocalRegister| {
                register.part == part && (register.start..register.end).contains(&address)
            };
            let register = if set.part == part { set } else { *registers.iter().find(holds)? };
            Some(self.read_variable(u32::from(register.register)))
        };
        let (low, high) = (half(0)?, half(1)?);
        Some(self.make(Op::Concat, 64, &[high, low]))
    }
}
