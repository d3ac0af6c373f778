//! Scheduling information.
//!
//! From Volta on, each instruction has fields of its own: cycles to wait before the next instruction, whether another warp may
//! be preferred, the scoreboards that are released when operands were read and results were written, those to wait for, and
//! source operands that stay in the cache. The layout is that of maxas and CuAssembler.
//!
//! Maxwell and Pascal have the same fields, but those of three instructions are in the word before them. In this crate they
//! are in the bits above those of an instruction. Without a stall and with the bit of `yield` set, an instruction is issued
//! together with the next one.
//!
//! On Kepler the first of every eight words controls how the other seven are issued, with an 8-bit code for each.
//! The meaning of the codes comes from Mesa's code generators: `0x20 | n` waits n cycles before the next
//! instruction, `0x04` issues it together with this one, and `0xc2` marks waits for textures. Bit 6 marks writes of
//! outputs, bit 7 accesses to global memory.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::Instruction;
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
    if is_dual(isa, word) {
        text.push_str("dual");
    } else {
        let _ = write!(text, "stall {}", field(control.stall));
        if field(control.r#yield) == 0 {
            text.push_str(", yield");
        }
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

/// Returns whether an instruction with scheduling information in a word before it is issued together with the next one.
fn is_dual(isa: &Isa, word: u128) -> bool {
    let both = |control: crate::table::Control| (placed_ones(control.stall), placed_ones(control.r#yield));
    isa.has_bundles()
        && isa.control.map(both).is_some_and(|(stall, r#yield)| word & (stall | r#yield) == r#yield)
}

/// Returns whether an instruction takes no time and has no other scheduling information, as the padding after the end of code.
/// Of Kepler, all do.
pub(crate) fn is_padding(isa: &Isa, word: u128) -> bool {
    let Some(control) = isa.control else { return true };
    if isa.has_bundles() {
        return word & (placed_ones(control.stall) | placed_ones(control.r#yield)) == 0;
    }
    word & mask(isa) == released(isa)
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
    let mut bits = released(isa);
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
            ("dual", _) => has_any = true,
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

/// Returns scheduling information that waits for nothing and releases no scoreboard. Where instructions do not have their own,
/// it stalls as long as possible, as that of an idle slot is padding.
pub fn neutral(isa: &Isa) -> u128 {
    let stalled = |control: crate::table::Control| placed_ones(control.stall) | placed_ones(control.r#yield);
    released(isa) | isa.control.filter(|_| isa.has_bundles()).map_or(0, stalled)
}

/// Returns scheduling information that releases no scoreboard.
fn released(isa: &Isa) -> u128 {
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
    let Some(control) = isa.control.filter(|_| !isa.has_bundles()) else { return word };
    let is_reused = word & placed_ones(control.reuse) != 0;
    if is_reused { word | placed_ones(control.r#yield) } else { word }
}

/// Returns loose words as they are in memory: where scheduling words have fields of instructions, one before every three
/// instructions. If the first of every four words already is one, nothing changes. A word may have its fields in the bits
/// above those of an instruction.
///
/// ```
/// use unshade_sass::{control, isa};
///
/// let maxwell = isa::by_architecture(52).unwrap();
/// let words = [0x001f_fc00_ffe0_07ff, 0x5c98_0780_0037_0000];
/// assert_eq!(control::in_bundles(maxwell, &words[1..]), words);
/// ```
pub fn in_bundles(isa: &'static Isa, words: &[u128]) -> Vec<u128> {
    let size = usize::try_from(isa.schedule.every).unwrap_or(0);
    let is_whole = size > 1 && words.len().checked_rem(size) == Some(0);
    let mut firsts = words.iter().step_by(size.max(1));
    let is_bundled = is_whole
        && firsts.clone().all(|word| is_plausible(isa, *word))
        && firsts.any(|word| Instruction::decode(isa, *word).is_none());
    if !isa.has_bundles() || is_bundled {
        return words.to_vec();
    }
    let mut placed = Vec::new();
    for group in words.chunks(size.saturating_sub(1).max(1)) {
        let own = |word: u128| if word == in_memory(isa, word) { neutral(isa) } else { word };
        let all = (0..isa.schedule.every.saturating_sub(1)).map(|index| {
            usize::try_from(index)
                .ok()
                .and_then(|index| group.get(index))
                .map_or(neutral(isa), |word| own(*word))
        });
        placed.push((1..).zip(all).fold(0, |schedule, (slot, word)| with_above(isa, schedule, slot, word)));
        placed.extend(group.iter().map(|word| in_memory(isa, *word)));
    }
    placed
}

/// Returns whether a word can be a scheduling word: it names no scoreboard that does not exist.
fn is_plausible(isa: &Isa, schedule: u128) -> bool {
    let is_named = |word: u128, bits: (u8, u8)| {
        let number = (word & placed_ones(bits)).wrapping_shr(u32::from(bits.0));
        number != isa.control.map_or(0, |control| u128::from(control.wait.1))
    };
    let code_bits =
        u32::from(isa.schedule.code_bits).wrapping_mul(u32::try_from(isa.schedule.every).unwrap_or(0));
    let unused =
        schedule.checked_shr(code_bits.saturating_sub(u32::from(isa.schedule.code_bits))).unwrap_or(0);
    unused == 0
        && (1..isa.schedule.every).all(|slot| {
            let word = above(isa, schedule, slot);
            isa.control.is_some_and(|control| is_named(word, control.write) && is_named(word, control.read))
        })
}

/// Returns whether the word at this index of a function is a scheduling word. The first word of a bundle may also
/// be an instruction (padding after the end of the code), so the word itself must look like one.
pub fn is_scheduling(isa: &Isa, index: u64, word: u128) -> bool {
    let schedule = &isa.schedule;
    schedule.every != 0 && index.is_multiple_of(schedule.every) && word & schedule.mask == schedule.value
}

/// Returns what a scheduling word has for the instruction in a slot, in the bits above those of the instruction.
pub(crate) fn above(isa: &Isa, schedule: u128, slot: u64) -> u128 {
    let Some(shift) = code_shift(isa, slot).filter(|_| isa.has_bundles()) else { return 0 };
    let code = schedule.wrapping_shr(shift) & code_mask(isa);
    code.wrapping_shl(word_bits(isa))
}

/// Returns a scheduling word that has the bits above those of the instruction in a slot.
pub(crate) fn with_above(isa: &Isa, schedule: u128, slot: u64, word: u128) -> u128 {
    let Some(shift) = code_shift(isa, slot).filter(|_| isa.has_bundles()) else { return schedule };
    let code = word.wrapping_shr(word_bits(isa)) & code_mask(isa);
    schedule & !code_mask(isa).wrapping_shl(shift) | code.wrapping_shl(shift)
}

/// Returns the bits of a word in memory: without scheduling information that is in another word.
pub(crate) fn in_memory(isa: &Isa, word: u128) -> u128 {
    let bits = word_bits(isa);
    if bits < 128 { word & 1_u128.wrapping_shl(bits).wrapping_sub(1) } else { word }
}

fn word_bits(isa: &Isa) -> u32 {
    u32::try_from(isa.word_bytes.saturating_mul(8)).unwrap_or(128)
}

fn code_mask(isa: &Isa) -> u128 {
    1_u128.wrapping_shl(u32::from(isa.schedule.code_bits)).wrapping_sub(1)
}

/// Returns the lowest bit of a slot's code in a scheduling word; slot 0 is that of the word itself.
fn code_shift(isa: &Isa, slot: u64) -> Option<u32> {
    let index = slot.checked_sub(1)?;
    let shift = index
        .saturating_mul(u64::from(isa.schedule.code_bits))
        .saturating_add(u64::from(isa.schedule.first_code));
    u32::try_from(shift).ok().filter(|shift| *shift < 128)
}

/// Returns the slot of an address in its bundle: 0 is that of the scheduling word.
pub(crate) fn slot(isa: &Isa, address: u64) -> u64 {
    let index = address.checked_div(isa.word_bytes as u64).unwrap_or(0);
    index.checked_rem(isa.schedule.every).unwrap_or(0)
}

/// Returns the number and the description of each part of a scheduling word, for the instructions that follow it.
pub fn parts(isa: &Isa, word: u128) -> impl Iterator<Item = (u64, String)> + use<'_> {
    (1..isa.schedule.every).map(move |slot| {
        let shift = code_shift(isa, slot).unwrap_or(u32::MAX);
        let code = word.checked_shr(shift).unwrap_or(0) & code_mask(isa);
        let described = describe(isa, above(isa, word, slot)).filter(|_| isa.has_bundles());
        let code = u64::try_from(code).unwrap_or(0);
        let text = described.unwrap_or_else(|| Code(u8::try_from(code & 0xff).unwrap_or(0)).describe());
        (code, text)
    })
}

/// Returns the codes of a scheduling word, for the instructions that follow it; none if they are fields of instructions.
pub fn codes(isa: &Isa, word: u128) -> impl Iterator<Item = Code> + use<> {
    let schedule = isa.schedule;
    let count = if isa.has_bundles() { 0 } else { schedule.every.saturating_sub(1) };
    (0..count).map(move |index| {
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
        let described = |isa, word| codes(isa, word).map(Code::describe).collect::<Vec<_>>();
        assert_eq!(described(old, 0x22c0_4282_c280_4307)[..3], ["stall 16", "dual", "stall 8"]);
        assert_eq!(described(new, 0x08a0_10a0_908c_10c0)[..3], ["stall 16", "dual", "stall 3"]);
    }
}
