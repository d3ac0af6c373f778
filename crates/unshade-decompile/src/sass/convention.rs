//! The calling convention of device functions that are compiled apart from their callers, or are recursive.
//!
//! | registers | use |
//! |---|---|
//! | R1 | stack pointer: the address in local memory below which the callee's frame lies |
//! | R4 to R15 | arguments in order, 64-bit ones in even-odd pairs; then the result in the same manner |
//! | R2, R16 to R31, and of those after them the ones with bit 2 in their number | preserved by the callee |
//! | all others, predicates, the condition code | not preserved |
//!
//! Arguments that are left follow on the caller's stack, from R1 on: see `stack`.
//!
//! Source: code of nvcc 11.2 for functions of ours with structures, 64-bit and many parameters, and with 90 and with 170
//! values across a call (`-rdc=true`). Functions that are neither recursive nor called from elsewhere have conventions of
//! their own; `flow` follows their calls.

use super::functions::Functions;
use super::lifter::{BARRIER, FIRST_FLAG, Lifter};
use crate::ir::{Callee, Function, Op, Parameter, Space, ValueId};

/// The stack pointer.
pub(super) const STACK_POINTER: u32 = 1;

/// The first register of arguments and results.
const FIRST: u32 = 4;

/// Number of registers of arguments and results.
pub(super) const WORDS: u8 = 12;

/// Number of general registers, without the one that is always zero.
const REGISTERS: u32 = 255;

/// Returns whether a callee restores a register if it changes it.
pub(super) fn is_preserved(register: u32) -> bool {
    matches!(register, 1 | 2 | 16..=31) || register >= 32 && register & 4 != 0
}

/// Returns the registers of arguments, with their offsets among the parameters.
pub(super) fn arguments() -> impl Iterator<Item = (u32, u32)> {
    (0..u32::from(WORDS)).map(|word| (FIRST + word, 4 * word))
}

/// Returns the registers that a callee may change if nothing is known of it.
pub(super) fn changed() -> impl Iterator<Item = u32> {
    (0..REGISTERS).filter(|register| !is_preserved(*register))
}

/// Returns the callee with parameters and results in all registers that the convention has for them.
pub(super) fn unknown_callee(name: &str) -> Callee {
    let parameters = (0..u32::from(WORDS)).map(Parameter::word);
    Callee { name: name.to_owned(), parameters: parameters.collect(), words: WORDS, result: None }
}

/// Sets the arguments that calls through pointers leave undefined: of the functions that a pointer may refer to, it refers to
/// one that takes less.
pub(super) fn settle_pointer_calls(function: &mut Function, functions: &Functions) {
    for id in function.values.keys() {
        let Op::Invoke(callee) = function.op(id) else { continue };
        let callee = function.callees[callee].clone();
        if !callee.is_pointer() {
            continue;
        }
        for (index, parameter) in (1..).zip(&callee.parameters) {
            let is_undefined = function.op(function.input(id, index)) == Op::Undefined;
            if is_undefined && functions.pointed().any(|target| !functions.needs(target, parameter)) {
                let unset = function.constant(0, function.width(function.input(id, index)));
                function.set_input(id, index, unset);
            }
        }
    }
}

impl Lifter<'_> {
    /// Sets the registers that a device function's caller has set.
    pub(super) fn enter_function(&mut self) {
        for (register, offset) in arguments() {
            let value = self.leaf(Op::Parameter(offset), 32);
            self.builder.set_entry(register, value);
        }
        // What the flags hold is only saved and restored.
        for flag in FIRST_FLAG..BARRIER {
            let unset = self.number(0, 1);
            self.builder.set_entry(flag, unset);
        }
        let top = self.number(u64::from(self.code.local_size), 32);
        self.builder.set_entry(STACK_POINTER, top);
    }

    /// Lifts a call of a device function. Returns false if it is unknown.
    pub(super) fn call_function(&mut self, name: &str) -> bool {
        let Some(callee) = self.functions.get(name) else { return false };
        self.invoke(callee, &[], &self.functions.changed(name));
        true
    }

    /// Lifts a call through a pointer. Returns false if there is no function that it may refer to.
    pub(super) fn call_pointer(&mut self, pointer: ValueId) -> bool {
        let Some(callee) = self.functions.pointer() else { return false };
        let changed: Vec<u32> = changed().collect();
        self.invoke(&callee, &[pointer], &changed);
        true
    }

    /// Lifts a call. `first` are the inputs before the arguments, `changed` the registers that may have other values
    /// afterwards.
    fn invoke(&mut self, callee: &Callee, first: &[ValueId], changed: &[u32]) {
        let mut inputs = first.to_vec();
        for parameter in &callee.parameters {
            inputs.push(match self.functions.needs(callee, parameter) {
                true => self.argument(parameter.offset, parameter.size),
                false => self.number(0, if parameter.size > 4 { 64 } else { 32 }),
            });
        }
        let id = self.builder.function.callee(callee);
        let width = match callee.words {
            0 => 0,
            1 => 32,
            2 => 64,
            _ => 128,
        };
        let value = self.make(Op::Invoke(id), width, &inputs);
        let mut results: Vec<ValueId> = match callee.words {
            0 => Vec::new(),
            1 => vec![value],
            2 => vec![self.make(Op::Low, 32, &[value]), self.make(Op::High, 32, &[value])],
            words => (0..words).map(|word| self.make(Op::Result(word), 32, &[value])).collect(),
        };
        let undefined = self.leaf(Op::Undefined, 32);
        results.resize(usize::from(WORDS), undefined);
        for &register in changed {
            let word = register.checked_sub(FIRST).and_then(|word| results.get(word as usize));
            let value = word.copied().unwrap_or(undefined);
            self.set_variable(register, value);
        }
    }

    /// Returns an argument: 4 or 8 bytes at an offset.
    fn argument(&mut self, offset: u32, size: u32) -> ValueId {
        let low = self.argument_word(offset);
        if size <= 4 {
            return low;
        }
        let high = self.argument_word(offset + 4);
        self.make(Op::Concat, 64, &[high, low])
    }

    fn argument_word(&mut self, offset: u32) -> ValueId {
        let word = offset / 4;
        if word < u32::from(WORDS) {
            return self.read_variable(FIRST + word);
        }
        let stack = self.read_variable(STACK_POINTER);
        let displacement = self.number(u64::from(offset) - 4 * u64::from(WORDS), 32);
        let address = self.make(Op::Add, 32, &[stack, displacement]);
        self.make(Op::Load(Space::Local), 32, &[address])
    }

    /// Lifts the end of a device function: its result is in the registers of the convention.
    pub(super) fn leave_function(&mut self) {
        let words: Vec<ValueId> =
            (0..self.result_words).map(|word| self.read_variable(FIRST + u32::from(word))).collect();
        match words[..] {
            [] => {}
            [low, high] => {
                let whole = self.make(Op::Concat, 64, &[high, low]);
                self.make(Op::Return, 0, &[whole]);
            }
            _ => {
                self.make(Op::Return, 0, &words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_that_callees_preserve() {
        let saved: Vec<u32> = (0..REGISTERS).filter(|register| is_preserved(*register)).collect();
        assert_eq!(
            saved[..20],
            [1, 2, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 36, 37]
        );
        assert_eq!(saved[saved.len() - 4..], [247, 252, 253, 254]);
    }
}
