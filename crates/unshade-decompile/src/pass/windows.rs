//! Turns accesses through generic addresses into accesses of local or shared memory.
//!
//! Both memories are windows in the generic address space. Code compiled with -G adds the start of a window to an offset
//! and loads from the sum; other code states the memory in the instruction. The sum without the start is the offset, and
//! as no window has 4 GiB, its lower half is all of it.
//!
//! Other code masks a generic address that must be one of local memory: what is left is the offset.
//!
//! The upper half of such an address is 0. Where a path decides between two of them, only the lower half needs a phi; it
//! becomes one of whole addresses, as that of a pointer is.

use crate::address::Address;
use crate::ir::hash::FastMap;
use crate::ir::{Function, Op, Space, Value, ValueId};

/// Maximum depth of the sum that is an address.
const MAX_DEPTH: u32 = 16;

/// Maximum depth of the sum or choice whose lower bits are an address.
const MAX_CHOICES: u32 = 6;

/// The bits of an address in a window.
pub(crate) const INSIDE: u64 = 0xff_ffff;

/// Turns accesses of local memory at the lower bits of a generic address into accesses through that address. A device
/// function that knows that its caller passes the address of a local variable accesses local memory directly; but in C its
/// own local memory is another array.
pub fn widen(function: &mut Function) {
    for id in function.values.keys() {
        let is_local = matches!(function.op(id), Op::Load(Space::Local) | Op::Store(Space::Local));
        if !is_local || function.is_replaced(id) {
            continue;
        }
        let like = function.values[id];
        let address = function.input(id, 0);
        let Some((whole, offset)) = masked(function, address) else { continue };
        let mut pointer = function.raw(Op::ZeroExtend, 64, like.block, like.address, &[whole]);
        if let Some(offset) = offset {
            let offset = function.constant(offset, 64);
            pointer = function.raw(Op::Add, 64, like.block, like.address, &[pointer, offset]);
        }
        let mut inputs = function.inputs(id).to_vec();
        inputs[0] = pointer;
        let is_load = matches!(like.op, Op::Load(_));
        function.set_op(
            id,
            if is_load { Op::Load(Space::Generic) } else { Op::Store(Space::Generic) },
            &inputs,
        );
    }
}

/// Rewrites accesses and choices of addresses. Returns whether there were any.
pub fn run(function: &mut Function) -> bool {
    let mut changed = false;
    for id in function.values.keys() {
        if function.is_replaced(id) {
            continue;
        }
        let address = function.input(id, 0);
        match function.op(id) {
            Op::Load(Space::Generic) | Op::Store(Space::Generic) => {}
            Op::ZeroExtend => {
                changed |= widen_choice(function, id);
                continue;
            }
            Op::Load(Space::Local | Space::Shared) | Op::Store(Space::Local | Space::Shared) => {
                changed |= unmask(function, id);
                continue;
            }
            _ => continue,
        }
        if function.width(address) != 64 {
            continue;
        }
        let Some(window) = Address::new(function, address).base else { continue };
        let space = match function.op(window) {
            Op::Special(special) => special.window(),
            _ => None,
        };
        let Some(space) = space else { continue };
        let like = function.values[id];
        let offset = low_half(function, address, window, like, 0);
        let mut inputs = function.inputs(id).to_vec();
        inputs[0] = offset;
        let op = if matches!(like.op, Op::Load(_)) { Op::Load(space) } else { Op::Store(space) };
        function.set_op(id, op, &inputs);
        changed = true;
    }
    changed
}

/// Replaces the extension of a phi of addresses in windows by a phi of whole addresses. Returns whether it was one.
fn widen_choice(function: &mut Function, id: ValueId) -> bool {
    let phi = function.input(id, 0);
    if function.op(phi) != Op::Phi || function.width(phi) != 32 || function.width(id) != 64 {
        return false;
    }
    let count = function.inputs(phi).len();
    let place = |index| in_window(function, function.input(phi, index));
    let Some(places) = (0..count).map(place).collect::<Option<Vec<_>>>() else { return false };
    let Value { block, address, .. } = function.values[phi];
    let predecessors = function.blocks[block].predecessors.clone();
    let mut inputs = Vec::with_capacity(count);
    for ((start, bytes), &from) in places.into_iter().zip(&predecessors) {
        let start = function.raw(Op::ZeroExtend, 64, from, address, &[start]);
        let bytes = function.constant(bytes as u64, 64);
        inputs.push(function.raw(Op::Add, 64, from, address, &[start, bytes]));
    }
    let choice = function.raw(Op::Phi, 64, block, address, &inputs);
    function.blocks[block].phis.push(choice);
    function.replace(id, choice);
    true
}

/// Returns the start of a window and the number of bytes after it, if a 32-bit value is such an address.
fn in_window(function: &Function, mut id: ValueId) -> Option<(ValueId, i64)> {
    let mut bytes = 0_i64;
    for _ in 0..MAX_DEPTH {
        match function.op(id) {
            Op::Special(special) => return special.window().map(|_| (id, bytes)),
            Op::Add => bytes += i64::from(function.number(function.input(id, 1))? as i32),
            _ => return None,
        }
        id = function.input(id, 0);
    }
    None
}

/// Returns the address whose lower bits another one is, and the constant that is added to them.
pub(super) fn masked(function: &Function, address: ValueId) -> Option<(ValueId, Option<u64>)> {
    let added = function.number(function.input(address, 1)).filter(|_| function.op(address) == Op::Add);
    let masked = if added.is_some() { function.input(address, 0) } else { address };
    let is_inside =
        function.op(masked) == Op::And && function.number(function.input(masked, 1)) == Some(INSIDE);
    is_inside.then(|| (function.input(masked, 0), added))
}

/// Removes the start of a window from the address of an access that masks it: code that knows in which memory an address is
/// accesses the memory at the lower bits, but in C the start is that of an array. Returns whether there was one.
fn unmask(function: &mut Function, id: ValueId) -> bool {
    let (Op::Load(space) | Op::Store(space)) = function.op(id) else { return false };
    let address = function.input(id, 0);
    let Some((inner, added)) = masked(function, address) else { return false };
    let like = function.values[id];
    let is_start = |function: &Function, id| is_start(function, id, space);
    let Some(mut offset) = Offsets::new(&is_start, like).of(function, inner, MAX_CHOICES) else {
        return false;
    };
    if let Some(added) = added {
        let added = function.constant(added, 32);
        offset = function.raw(Op::Add, 32, like.block, like.address, &[offset, added]);
    }
    function.set_input(id, 0, offset);
    true
}

/// Returns whether a value is the start of the window of a memory.
fn is_start(function: &Function, id: ValueId, space: Space) -> bool {
    matches!(function.op(id), Op::Special(special) if special.window() == Some(space))
}

/// What 32-bit values are added to the start of a memory.
pub(super) struct Offsets<'s> {
    /// Returns whether a value is the start.
    is_start: &'s dyn Fn(&Function, ValueId) -> bool,
    /// The value for which offsets are computed.
    like: Value,
    /// The offsets of values that were visited, by the depth that was left; [`ValueId::NONE`] if there is none.
    known: Vec<FastMap<ValueId, ValueId>>,
}

impl<'s> Offsets<'s> {
    pub(super) fn new(is_start: &'s dyn Fn(&Function, ValueId) -> bool, like: Value) -> Self {
        Self { is_start, like, known: Vec::new() }
    }

    /// Returns what is added to the start, if a value is such a sum, or a choice of some, of at most this depth.
    pub(super) fn of(&mut self, function: &mut Function, id: ValueId, depth: u32) -> Option<ValueId> {
        if id == ValueId::NONE || function.width(id) != 32 {
            return None;
        }
        let index = depth as usize;
        if self.known.len() <= index {
            self.known.resize_with(index + 1, FastMap::default);
        }
        if let Some(known) = self.known[index].get(&id) {
            return Some(*known).filter(|known| *known != ValueId::NONE);
        }
        let found = self.find(function, id, depth);
        self.known[index].insert(id, found.unwrap_or(ValueId::NONE));
        found
    }

    fn find(&mut self, function: &mut Function, id: ValueId, depth: u32) -> Option<ValueId> {
        if (self.is_start)(function, id) {
            return Some(function.constant(0, 32));
        }
        let depth = depth.checked_sub(1)?;
        let [a, b, c] = [0, 1, 2].map(|index| function.input(id, index));
        let inputs = match function.op(id) {
            Op::Add => match self.of(function, a, depth) {
                Some(sum) => vec![sum, b],
                None => vec![self.of(function, b, depth)?, a],
            },
            Op::Select => vec![a, self.of(function, b, depth)?, self.of(function, c, depth)?],
            _ => return None,
        };
        Some(function.raw(function.op(id), 32, self.like.block, self.like.address, &inputs))
    }
}

/// Returns the lower half of a sum without the start of a window.
fn low_half(function: &mut Function, id: ValueId, window: ValueId, like: Value, depth: u32) -> ValueId {
    let half = |function: &mut Function, op: Op, inputs: &[ValueId]| {
        function.raw(op, 32, like.block, like.address, inputs)
    };
    if id == window {
        return function.constant(0, 32);
    }
    let (a, b) = (function.input(id, 0), function.input(id, 1));
    match function.op(id) {
        Op::Constant(number) => function.constant(number, 32),
        Op::Add if depth < MAX_DEPTH => {
            let inputs = [a, b].map(|input| low_half(function, input, window, like, depth + 1));
            half(function, Op::Add, &inputs)
        }
        Op::Mul | Op::Shl if function.number(b).is_some() && depth < MAX_DEPTH => {
            let inputs = [
                low_half(function, a, window, like, depth + 1),
                low_half(function, b, window, like, depth + 1),
            ];
            half(function, function.op(id), &inputs)
        }
        Op::ZeroExtend | Op::SignExtend if function.width(a) == 32 => a,
        Op::Concat if function.width(b) == 32 => b,
        _ => half(function, Op::Low, &[id]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::ir::{NO_ADDRESS, Special};

    #[test]
    fn the_lower_bits_of_a_choice_of_addresses_are_a_choice_of_offsets() {
        let text = "kernel \"f\" shared 0 local 8\nb0 @0x0:\n    v0:32 = special local_window\n    v1:32 = add v0, \
                    4:32\n    v2:1 = parameter 0\n    v6:32 = parameter 4\n    v3:32 = select v2, v1, v0\n    v4:32 = and v3, \
                    0xffffff:32\n    store.local v4, 7:32\n    v5:32 = and v6, 0xffffff:32\n    store.local \
                    v5, 8:32\n    return\n";
        let mut function = parse(text).expect("it is a module").function;
        assert!(run(&mut function));
        let text = function.to_string();
        assert!(text.contains("= add 0:32, 4:32\n"), "{text}");
        assert!(text.contains("v2:32 = select v0, v1, 0:32\n    store.local v2, 7:32\n"), "{text}");
        // Another number is left alone.
        assert!(text.contains("0xffffff:32\n"), "{text}");
    }

    #[test]
    fn a_choice_of_addresses_has_64_bits() {
        let text = "kernel \"f\" shared 0 local 16\nb0 @0x0:\n    v0:32 = special local_window\n    v1:32 = add v0, \
                    8:32\n    v2:1 = parameter 0\n    branch v2, b1, b2\nb1 @0x8 <- b0:\n    goto \
                    b2\nb2 @0x10 <- b0, b1:\n    v3:32 = phi v1, v0\n    v4:64 = zero_extend v3\n    store.generic v4, 7:32\n    return\n";
        let mut function = parse(text).expect("it is a module").function;
        assert!(run(&mut function));
        let text = function.to_string();
        assert!(text.contains(":64 = phi"), "{text}");
        assert!(!text.contains("zero_extend v3"), "{text}");
        assert_eq!(crate::ir::verify::verify(&function), [""; 0], "{text}");
    }

    #[test]
    fn the_lower_bits_of_an_address_in_a_window_are_the_offset() {
        let mut function = Function::default();
        let block = function.block(0);
        let mut make = |op, width, inputs: &[ValueId]| function.add(op, width, block, NO_ADDRESS, inputs);
        let window = make(Op::Special(Special::LocalWindow), 32, &[]);
        let (index, second) = (make(Op::Parameter(0), 32, &[]), make(Op::Constant(32), 32, &[]));
        let array = make(Op::Add, 32, &[window, second]);
        let element = make(Op::Add, 32, &[index, array]);
        let mask = make(Op::Constant(INSIDE), 32, &[]);
        let masked = make(Op::And, 32, &[element, mask]);
        let load = make(Op::Load(Space::Local), 32, &[masked]);
        assert!(run(&mut function));
        let found = Address::new(&function, function.input(load, 0));
        assert_eq!((found.terms, found.offset), (vec![(index, 1)], 32));
        assert!(!run(&mut function));
    }
}
