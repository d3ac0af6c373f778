//! Scheduling information.
//!
//! From Volta on, each instruction has fields of its own: cycles to wait before the next instruction, whether another warp may
//! be preferred, the scoreboards that are released when operands were read and results were written, those to wait for, and
//! source operands that stay in the cache. The layout is that of maxas and CuAssembler.
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

/// Returns the mask of a field: lowest bit and count.
fn placed_ones((low, count): (u8, u8)) -> u128 {
    1_u128.wrapping_shl(u32::from(count)).wrapping_sub(1).wrapping_shl(u32::from(low))
}

/// Returns the scheduling information of an instruction that has it in fields of its own: `stall 4, write SB0, wait 1 3`.
pub fn describe(isa: &Isa, word: u128) -> Option<String> {
    let control = isa.control?;
    let field = |bits: (u8, u8)| (word & placed_ones(bits)).wrapping_shr(u32::from(bits.0));
    let mut text = String::new();
    let _ = write!(text, "stall {}", field(control.stall));
    if field(control.r#yield) == 0 {
        text.push_str(", yield");
    }
    for (name, bits) in [("write", control.write), ("read", control.read)] {
        if word & placed_ones(bits) != placed_ones(bits) {
            let _ = write!(text, ", {name} SB{}", field(bits));
        }
    }
    let waits = field(control.wait);
    if waits != 0 {
        text.push_str(", wait");
        for bit in (0..control.wait.1).filter(|bit| waits.wrapping_shr(u32::from(*bit)) & 1 == 1) {
            let _ = write!(text, " {bit}");
        }
    }
    Some(text)
}

/// Returns the bits of scheduling information that [`describe`] printed, among other notes; `None` if there are none.
///
/// ```
/// use unshade_sass::{control, isa};
///
/// let isa = isa::by_architecture(80).unwrap();
/// let word = 0x000e_a200_0c1e_1900_0000_0008_0202_7981;
/// assert_eq!(control::describe(isa, word).unwrap(), "stall 1, write SB2");
/// let bits = control::read(isa, "param_1, stall 1, write SB2").unwrap();
/// assert_eq!(bits, word >> 105 << 105);
/// ```
pub fn read(isa: &Isa, notes: &str) -> Option<u128> {
    let control = isa.control?;
    let place = |(low, _): (u8, u8), number: u128| number.wrapping_shl(u32::from(low));
    let mut bits = neutral(isa);
    let mut has_any = false;
    let mut is_yielding = false;
    for note in notes.split(',') {
        let (name, rest) = note.trim().split_once(' ').unwrap_or((note.trim(), ""));
        let scoreboard = rest.strip_prefix("SB").and_then(|number| number.parse::<u128>().ok());
        match (name, scoreboard) {
            ("stall", _) => {
                bits |= place(control.stall, rest.parse().ok()?);
                has_any = true;
            }
            ("yield", _) => is_yielding = true,
            ("write" | "read", Some(number)) => {
                let field = if name == "write" { control.write } else { control.read };
                bits = bits & !placed_ones(field) | place(field, number) & placed_ones(field);
            }
            ("wait", _) => {
                for number in rest.split_whitespace() {
                    let bit = number.parse::<u32>().ok().filter(|bit| *bit < u32::from(control.wait.1))?;
                    bits |= place(control.wait, 1_u128.wrapping_shl(bit));
                }
            }
            _ => {}
        }
    }
    bits |= place(control.r#yield, u128::from(!is_yielding));
    has_any.then_some(bits)
}

/// Returns scheduling information that waits for nothing and releases no scoreboard.
pub fn neutral(isa: &Isa) -> u128 {
    isa.control.map_or(0, |control| placed_ones(control.write) | placed_ones(control.read))
}

/// Returns the mask of scheduling information other than reuse flags, which are part of operands.
pub(crate) fn mask(isa: &Isa) -> u128 {
    let fields = |control: crate::table::Control| {
        [control.stall, control.r#yield, control.write, control.read, control.wait]
    };
    isa.control
        .map_or(0, |control| fields(control).into_iter().map(placed_ones).fold(0, |all, one| all | one))
}

/// Sets the bit that registers need to be reused, if a word has such a register.
pub(crate) fn with_reuse(isa: &Isa, word: u128) -> u128 {
    let Some(control) = isa.control else { return word };
    let is_reused = word & placed_ones(control.reuse) != 0;
    if is_reused { word | placed_ones(control.r#yield) } else { word }
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
