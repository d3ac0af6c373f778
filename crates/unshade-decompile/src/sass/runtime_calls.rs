//! Calls of functions outside of a kernel's code: those of CUDA's device runtime.
//!
//! They follow the calling convention: arguments from R4 on, 64-bit ones in even-odd register pairs; results in R4.
//! `vprintf` gets the address of its arguments on the stack, each aligned to its size. If the format is known, the
//! arguments are read from there, and the call becomes `printf`. A loop may keep the address of the format in a register,
//! so this is decided when the function is lifted.

use super::lifter::Lifter;
use crate::ir::{Function, Intrinsic, MemoryObject, NoteId, Op, Space, Special, ValueId};

/// Maximum number of arguments of `printf`.
const MAX_PRINTED: usize = 32;

/// Maximum number of numbers that are added to an address in a window.
const MAX_TERMS: usize = 8;

impl Lifter<'_> {
    /// Lifts a call of a runtime function by its name. Returns false if the function is unknown.
    pub(super) fn call_runtime(&mut self, name: &str) -> bool {
        match name {
            "vprintf" => self.print(),
            "malloc" => {
                let size = self.wide(4);
                let pointer = self.call(Intrinsic::Malloc, 64, &[size]);
                self.set_result(pointer);
            }
            "free" => {
                let pointer = self.wide(4);
                self.call(Intrinsic::Free, 0, &[pointer]);
            }
            "__assertfail" => {
                let line = self.read_variable(8);
                let inputs = [self.wide(4), self.wide(6), line, self.wide(10), self.wide(12)];
                self.call(Intrinsic::AssertFail, 0, &inputs);
            }
            _ => return false,
        }
        true
    }

    /// Returns a register pair as one number.
    fn wide(&mut self, register: u32) -> ValueId {
        let (low, high) = (self.read_variable(register), self.read_variable(register + 1));
        self.make(Op::Concat, 64, &[high, low])
    }

    /// Sets the result of a call.
    fn set_result(&mut self, value: ValueId) {
        if self.builder.function.width(value) == 32 {
            return self.write_variable(4, value);
        }
        let (low, high) = (self.make(Op::Low, 32, &[value]), self.make(Op::High, 32, &[value]));
        self.write_variable(4, low);
        self.write_variable(5, high);
    }

    /// Lifts a call of `vprintf` with the address of its arguments, as long as its format isn't known.
    fn print(&mut self) {
        let (format, arguments) = (self.wide(4), self.read_variable(6));
        let count = self.call(Intrinsic::Printf, 32, &[format, arguments]);
        let note = self.instruction_note();
        self.prints.push((count, note));
        self.set_result(count);
    }

    /// Returns the memory space of a generic address that is known to be local or shared.
    pub(super) fn known_space(&self, address: ValueId) -> Option<(Space, ValueId)> {
        let function = &self.builder.function;
        let address = function.resolve(address);
        if function.op(address) != Op::Concat || function.number(function.input(address, 0)) != Some(0) {
            return None;
        }
        let low = function.input(address, 1);
        let inside =
            |window| inside_window(function, low, window).filter(|found| found.1 == 0).map(|found| found.0);
        let local = inside(Special::LocalWindow).map(|address| (Space::Local, address));
        local.or_else(|| inside(Special::SharedWindow).map(|address| (Space::Shared, address)))
    }
}

/// Gives calls of `vprintf` their arguments. Each has the comment that is printed if its format isn't known.
pub(super) fn settle_prints(
    function: &mut Function,
    prints: &[(ValueId, NoteId)],
    variables: &[MemoryObject<'_>],
) {
    for &(print, note) in prints {
        let Some((inputs, loads)) = printed(function, print, variables) else {
            function.set_op(print, Op::Unlifted(note), &[]);
            continue;
        };
        let block = function.values[print].block;
        let effects = &mut function.blocks[block].effects;
        let at = effects.iter().position(|effect| *effect == print).unwrap_or(effects.len());
        effects.splice(at..at, loads);
        function.set_inputs(print, &inputs);
    }
}

/// Returns the format and the arguments of a call of `vprintf`, and the loads of these from the stack.
fn printed(
    function: &mut Function,
    print: ValueId,
    variables: &[MemoryObject<'_>],
) -> Option<(Vec<ValueId>, Vec<ValueId>)> {
    let format = symbol(function, function.input(print, 0))?;
    let Op::Symbol(name) = function.op(format) else { return None };
    let name = function.symbols[name].as_str();
    let text = variables.iter().find(|variable| variable.name == name)?.text()?;
    let wanted = conversions(text);
    let (mut inputs, mut loads) = (vec![format], Vec::new());
    if wanted.is_empty() {
        return Some((inputs, loads));
    }
    let (stack, start) = inside_window(function, function.input(print, 1), Special::LocalWindow)?;
    if wanted.len() > MAX_PRINTED {
        return None;
    }
    let (block, at) = (function.values[print].block, function.values[print].address);
    let mut offset = 0;
    for conversion in wanted {
        let width = conversion.width();
        offset = u64::next_multiple_of(offset, u64::from(width / 8));
        let displacement = function.constant(start.wrapping_add(offset) & 0xffff_ffff, 32);
        let address = function.raw(Op::Add, 32, block, at, &[stack, displacement]);
        let mut value = function.raw(Op::Load(Space::Local), width, block, at, &[address]);
        loads.push(value);
        if conversion == Conversion::Double {
            value = function.raw(Op::Call(Intrinsic::Double), 64, block, at, &[value]);
        }
        inputs.push(value);
        offset += u64::from(width / 8);
    }
    Some((inputs, loads))
}

/// Returns the address of a variable that an address is, or whose halves it consists of.
fn symbol(function: &Function, address: ValueId) -> Option<ValueId> {
    let is_symbol = |id: ValueId| matches!(function.op(id), Op::Symbol(_));
    if is_symbol(address) {
        return Some(address);
    }
    if function.op(address) != Op::Concat {
        return None;
    }
    let (high, low) = (function.input(address, 0), function.input(address, 1));
    if (function.op(high), function.op(low)) != (Op::High, Op::Low) {
        return None;
    }
    let whole = function.input(low, 0);
    (whole == function.input(high, 0) && is_symbol(whole)).then_some(whole)
}

/// Returns the address inside a memory window, from a generic address with the start of that window, and the number that is
/// added to both.
fn inside_window(function: &Function, address: ValueId, window: Special) -> Option<(ValueId, u64)> {
    // Code compiled with -G adds zeros.
    let plain = |id: ValueId| {
        let mut id = function.resolve(id);
        for _ in 0..MAX_TERMS {
            let is_sum = matches!(function.op(id), Op::Or | Op::Add);
            if !is_sum || function.number(function.input(id, 1)) != Some(0) {
                break;
            }
            id = function.input(id, 0);
        }
        id
    };
    let is_window = |id: ValueId| function.op(plain(id)) == Op::Special(window);
    let mut address = plain(address);
    let mut added = 0_u64;
    for _ in 0..MAX_TERMS {
        if !matches!(function.op(address), Op::Or | Op::Add) {
            return None;
        }
        let (a, b) = (function.input(address, 0), function.input(address, 1));
        if is_window(a) {
            return Some((b, added));
        }
        if is_window(b) {
            return Some((a, added));
        }
        let number = function.number(b).filter(|_| function.op(address) == Op::Add)?;
        added = added.wrapping_add(number);
        address = plain(a);
    }
    None
}

/// The size of an argument of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    Word,
    Wide,
    Double,
}

impl Conversion {
    fn width(self) -> u8 {
        if self == Self::Word { 32 } else { 64 }
    }
}

/// Returns the arguments that a format takes.
fn conversions(format: &str) -> Vec<Conversion> {
    let mut found = Vec::new();
    let mut rest = format.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            continue;
        }
        let mut is_long = false;
        for byte in rest.by_ref() {
            match byte {
                b'*' => found.push(Conversion::Word),
                b'l' | b'j' | b'z' | b't' => is_long = true,
                b'h' | b'0'..=b'9' | b'.' | b'-' | b'+' | b' ' | b'#' => {}
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                    found.push(Conversion::Double);
                    break;
                }
                b's' | b'p' => {
                    found.push(Conversion::Wide);
                    break;
                }
                b'%' => break,
                _ => {
                    found.push(if is_long { Conversion::Wide } else { Conversion::Word });
                    break;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_determine_their_arguments() {
        use Conversion::{Double, Wide, Word};
        assert_eq!(conversions("t %d v %5.2f 100%% %lld%*u %s"), [Word, Double, Wide, Word, Word, Wide]);
        assert_eq!(conversions("%"), []);
    }
}
