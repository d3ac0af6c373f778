//! Scheduling words.
//!
//! On Kepler the first of every eight words controls how the other seven are issued, with an 8-bit code for each.
//! The meaning of the codes comes from Mesa's code generators: `0x20 | n` waits n cycles before the next
//! instruction, `0x04` issues it together with this one, and `0xc2` marks waits for textures. Bit 6 marks writes of
//! outputs, bit 7 accesses to global memory.

use alloc::string::String;
use core::fmt::Write;

use crate::table::Isa;

/// The scheduling code of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub u8);

impl Code {
    /// Returns the cycles to wait before the next instruction, if the code has them.
    pub fn stall(self) -> Option<u8> {
        (self.0 & 0x20 != 0).then_some(self.0 & 0x1f)
    }

    /// Returns whether the next instruction is issued together with this one.
    pub fn is_dual(self) -> bool {
        self.0 == 0x04
    }

    /// Returns a short description: `stall 8`, `dual`.
    pub fn describe(self) -> String {
        let mut text = String::new();
        match (self.stall(), self.is_dual()) {
            (Some(cycles), _) => {
                let _ = write!(text, "stall {cycles}");
            }
            (None, true) => text.push_str("dual"),
            (None, false) => {
                let _ = write!(text, "{:#04x}", self.0);
            }
        }
        for (bit, name) in [(0x40, " output"), (0x80, " memory")] {
            if self.0 & bit != 0 {
                text.push_str(name);
            }
        }
        text
    }
}

/// Returns whether the word at this index of a function is a scheduling word. The first word of a bundle may also
/// be an instruction (padding after the end of the code), so the word itself must look like one.
pub fn is_scheduling(isa: &Isa, index: u64, word: u128) -> bool {
    let schedule = &isa.schedule;
    schedule.every != 0 && index.is_multiple_of(schedule.every) && word & schedule.mask == schedule.value
}

/// Returns the codes of a scheduling word, for the instructions that follow it.
pub fn codes(isa: &Isa, word: u128) -> impl Iterator<Item = Code> + use<> {
    let schedule = isa.schedule;
    (0..schedule.every.saturating_sub(1)).map(move |index| {
        let shift = index
            .saturating_mul(u64::from(schedule.code_bits))
            .saturating_add(u64::from(schedule.first_code));
        let code = word.checked_shr(u32::try_from(shift).unwrap_or(u32::MAX)).unwrap_or(0) & 0xff;
        Code(u8::try_from(code).unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn codes_of_both_encodings() {
        let old = isa::by_architecture(30).unwrap();
        let new = isa::by_architecture(35).unwrap();
        assert!(
            is_scheduling(old, 8, 0x2200_0002_e042_83f7) && !is_scheduling(old, 9, 0x2200_0002_e042_83f7)
        );
        // The lowest bits of a branch look the same.
        assert!(!is_scheduling(old, 0, 0x4003_ffff_e000_1de7));
        let described = |isa, word| codes(isa, word).map(Code::describe).collect::<alloc::vec::Vec<_>>();
        assert_eq!(described(old, 0x22c0_4282_c280_4307)[..3], ["stall 16", "dual", "stall 8"]);
        assert_eq!(described(new, 0x08a0_10a0_908c_10c0)[..3], ["stall 16", "dual", "stall 3"]);
    }
}
