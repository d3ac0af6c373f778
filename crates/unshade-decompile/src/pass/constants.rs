//! Finds the variables that loads at computed offsets of a constant bank read.
//!
//! Code states an offset in the bank, not a variable: `LDC R5, c[0x3][R6]`, where R6 starts at 0x100 and grows in a loop,
//! reads the variable that contains byte 0x100. So the constant part of the offset decides, as far as it can be
//! followed through sums, phis and selects; an offset without one starts at 0. `table[i - 1]` starts below its variable,
//! which is the last element of the one before: the growing index leaves that at once. An unrolled loop has loads for more
//! elements than its variable may have: after the last variable, it is that one. Where the parts of a phi or
//! select are in different variables, it becomes one of their addresses. Code compiled with -G adds the offset to the address
//! of the bank, also to pass it to a function.

use super::windows::Offsets;
use crate::address::Address;
use crate::ir::hash::FastMap;
use crate::ir::{BlockId, Function, MemoryObject, ObjectSpace, Op, Space, Special, Value, ValueId};

/// The constant bank of the program's variables.
const USER_BANK: u8 = 3;

/// Maximum depth of the sum that is an address.
const MAX_DEPTH: u32 = 16;

/// Maximum number of values that are followed for one offset.
const MAX_FOLLOWED: usize = 1024;

/// Maximum number of sums between a phi of a loop and its next value.
const MAX_STEP_SUMS: usize = 4;

/// Maximum number of bytes that an index starts below its variable, or after the end of the last one.
const MAX_BELOW: i64 = 256;

/// The constant part of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// There is none.
    None,
    /// The number.
    At(u64),
    /// Several that are in different variables.
    Several,
}

/// Replaces offsets in banks by addresses in variables. Returns whether there were any.
pub fn run(function: &mut Function, objects: &[MemoryObject<'_>]) -> bool {
    let mut changed = cancel(function);
    changed |= addresses(function, objects);
    let mut choices = FastMap::default();
    for id in function.values.keys() {
        let Op::Load(Space::Constant(bank)) = function.op(id) else { continue };
        let address = function.input(id, 0);
        if bank == 0
            || !objects.iter().any(|object| object.space == ObjectSpace::Constant(bank))
            || address == ValueId::NONE
            || function.width(address) != 32
        {
            continue;
        }
        let step = least_step(function, address);
        let mut wholes = Wholes { objects, bank, step, choices: &mut choices, made: Vec::new() };
        match wholes.load_address(function, id, address) {
            Some(whole) => function.set_input(id, 0, whole),
            None => {
                let text = format!("a load from an unknown variable in constant bank {bank}");
                let note = Op::Unlifted(function.notes.push(text));
                function.set_op(id, note, &[]);
                let block = function.values[id].block;
                function.blocks[block].effects.push(id);
            }
        }
        changed = true;
    }
    changed
}

/// Returns the smallest factor of an index in an offset, if all indices are added; 0 if one is subtracted.
fn least_step(function: &Function, offset: ValueId) -> u64 {
    let terms = Address::new(function, offset).terms;
    let is_added = |scale: u64| (scale as u32).cast_signed() > 0;
    if !terms.iter().all(|term| is_added(term.1)) {
        return 0;
    }
    terms.iter().map(|term| term.1).min().unwrap_or(0)
}

/// Returns the variable that an index reads from a byte of a constant bank on, in steps of `step` bytes.
fn variable_at(objects: &[MemoryObject<'_>], bank: u8, start: u64, step: u64) -> Option<usize> {
    let inside = objects.iter().position(|object| contains(object, bank, start));
    // An index that may only be 0 is none, except of an array of one element.
    let stays = |object: &MemoryObject<'_>| {
        object.size <= step || object.offset.saturating_add(object.size) - start > step
    };
    if step == 0 || inside.is_some_and(|index| stays(&objects[index])) {
        return inside;
    }
    let start = i64::from((start as u32).cast_signed());
    let in_bank = |object: &MemoryObject<'_>| object.space == ObjectSpace::Constant(bank);
    let above = |object: &MemoryObject<'_>| object.offset.cast_signed() > start;
    let next = (0..objects.len()).filter(|index| in_bank(&objects[*index]) && above(&objects[*index]));
    let next = next.min_by_key(|index| objects[*index].offset);
    let is_near = |index: usize| objects[index].offset.cast_signed() - start <= MAX_BELOW;
    let beyond = || {
        let end = |index: usize| objects[index].offset.saturating_add(objects[index].size).cast_signed();
        let before = (0..objects.len()).filter(|index| in_bank(&objects[*index]) && end(*index) <= start);
        before.max_by_key(|index| end(*index)).filter(|index| start - end(*index) < MAX_BELOW)
    };
    next.filter(|index| is_near(*index)).or(inside).or_else(beyond)
}

/// Returns whether a variable contains a byte of a constant bank.
fn contains(object: &MemoryObject<'_>, bank: u8, offset: u64) -> bool {
    object.space == ObjectSpace::Constant(bank)
        && (object.offset..object.offset.saturating_add(object.size)).contains(&offset)
}

/// Returns whether a value is the lower half of the address of constant bank 3.
fn is_low_window(function: &Function, id: ValueId) -> bool {
    id != ValueId::NONE
        && function.op(id) == Op::Low
        && function.width(id) == 32
        && function.op(function.input(id, 0)) == Op::Special(Special::ConstantWindow)
}

/// Subtracts the address of constant bank 3 from what contains it: the offset that a pointer into the bank has. Returns
/// whether there were any.
fn cancel(function: &mut Function) -> bool {
    let mut changed = false;
    for id in function.values.keys() {
        if function.op(id) != Op::Sub || !is_low_window(function, function.input(id, 1)) {
            continue;
        }
        let like = function.values[id];
        let mut offsets = Offsets::new(&is_low_window, like);
        if let Some(offset) = offsets.of(function, function.input(id, 0), MAX_DEPTH) {
            function.replace(id, offset);
            changed = true;
        }
    }
    changed
}

/// Replaces addresses in constant bank 3 by addresses in its variables. Returns whether there were any.
fn addresses(function: &mut Function, objects: &[MemoryObject<'_>]) -> bool {
    let mut changed = false;
    // What is added to a part of a sum says where the whole sum points.
    let is_part = |function: &Function, id: ValueId| {
        matches!(function.op(id), Op::Add | Op::Mul | Op::Shl)
            || is_low_window(function, id)
            || function.is_replaced(id)
    };
    let has_window = function.values.keys().any(|id| function.op(id) == Op::Special(Special::ConstantWindow));
    let users: Vec<ValueId> =
        function.values.keys().filter(|id| has_window && !is_part(function, *id)).collect();
    let inputs =
        |id: ValueId, function: &Function| (0..function.inputs(id).len()).map(move |index| (id, index));
    let places: Vec<(ValueId, usize)> = users.iter().flat_map(|id| inputs(*id, function)).collect();
    for (id, index) in places {
        let address = function.input(id, index);
        if address == ValueId::NONE {
            continue;
        }
        let found = Address::new(function, address);
        let window = match function.width(address) {
            64 => found.base.filter(|base| function.op(*base) == Op::Special(Special::ConstantWindow)),
            32 => {
                let is_window = |term: &&(ValueId, u64)| term.1 == 1 && is_low_window(function, term.0);
                found.terms.iter().find(is_window).map(|term| term.0)
            }
            _ => None,
        };
        let Some(window) = window else { continue };
        let start = u64::try_from(found.offset).unwrap_or(u64::MAX);
        let object = objects.iter().find(|object| contains(object, USER_BANK, start));
        if let Some(object) = object {
            let (value, width) = (function.values[id], function.width(address));
            let symbol = function.symbol(&object.name);
            let mut make = |op, width, inputs: &[ValueId]| {
                function.raw(op, width, BlockId::ENTRY, value.address, inputs)
            };
            let mut symbol = make(Op::Symbol(symbol), 64, &[]);
            if width == 32 {
                symbol = make(Op::Low, 32, &[symbol]);
            }
            let back = function.constant(object.offset.wrapping_neg(), width);
            let base = function.raw(Op::Add, width, BlockId::ENTRY, value.address, &[symbol, back]);
            let address = with_base(function, address, window, base, 0);
            function.set_input(id, index, address);
            changed = true;
        }
    }
    changed
}

/// Returns a sum with another base.
fn with_base(function: &mut Function, sum: ValueId, old: ValueId, new: ValueId, depth: u32) -> ValueId {
    if sum == old {
        return new;
    }
    if function.op(sum) != Op::Add || depth > MAX_DEPTH {
        return sum;
    }
    let value = function.values[sum];
    let inputs = [0, 1].map(|index| {
        let input = function.input(sum, index);
        with_base(function, input, old, new, depth + 1)
    });
    function.raw(Op::Add, value.width, value.block, value.address, &inputs)
}

/// Makes addresses from offsets in a constant bank.
struct Wholes<'o, 'c> {
    objects: &'o [MemoryObject<'o>],
    bank: u8,
    /// The smallest factor of an index.
    step: u64,
    /// The phis of addresses that were made for phis of offsets; [`ValueId::NONE`] if one can't be made.
    choices: &'c mut FastMap<ValueId, ValueId>,
    /// The phis of offsets for which the current address needed new ones.
    made: Vec<ValueId>,
}

impl Wholes<'_, '_> {
    /// Returns the address of a load; `None` if the variable is not known.
    fn load_address(&mut self, function: &mut Function, load: ValueId, offset: ValueId) -> Option<ValueId> {
        let Value { block, address, .. } = function.values[load];
        let found = self.address(function, offset, block, address, MAX_DEPTH);
        for &phi in &self.made {
            match (found, self.choices.get(&phi)) {
                (Some(_), Some(&choice)) => {
                    let block = function.values[choice].block;
                    function.blocks[block].phis.push(choice);
                }
                // It may refer to one that was not made.
                _ => _ = self.choices.insert(phi, ValueId::NONE),
            }
        }
        found
    }

    /// Returns the address that an offset is, computed in a block for an instruction.
    fn address(
        &mut self,
        function: &mut Function,
        offset: ValueId,
        block: BlockId,
        instruction: u32,
        depth: u32,
    ) -> Option<ValueId> {
        let depth = depth.checked_sub(1)?;
        let start = match self.start(function, offset) {
            Start::None => Some(0),
            Start::At(start) => Some(start),
            Start::Several => None,
        };
        if let Some(start) = start {
            let object = &self.objects[variable_at(self.objects, self.bank, start, self.step)?];
            return Some(address_in(function, block, instruction, offset, object));
        }
        let [a, b, c] = [0, 1, 2].map(|index| function.input(offset, index));
        let of = |this: &mut Self, function: &mut Function, offset: ValueId| {
            this.address(function, offset, block, instruction, depth)
        };
        let (op, inputs) = match function.op(offset) {
            Op::Copy => return of(self, function, a),
            Op::Add => {
                let is_first = self.start(function, a) == Start::Several;
                let (base, index) = if is_first { (a, b) } else { (b, a) };
                if self.start(function, index) == Start::Several {
                    return None;
                }
                let base = of(self, function, base)?;
                (Op::Add, vec![base, function.raw(Op::SignExtend, 64, block, instruction, &[index])])
            }
            Op::Select => (Op::Select, vec![a, of(self, function, b)?, of(self, function, c)?]),
            Op::Phi => return self.choice(function, offset, depth),
            _ => return None,
        };
        Some(function.raw(op, 64, block, instruction, &inputs))
    }

    /// Returns the phi of addresses for one of offsets.
    fn choice(&mut self, function: &mut Function, phi: ValueId, depth: u32) -> Option<ValueId> {
        if let Some(choice) = self.choices.get(&phi) {
            return Some(*choice).filter(|choice| *choice != ValueId::NONE);
        }
        let Value { block, address, .. } = function.values[phi];
        let offsets = function.inputs(phi).to_vec();
        let choice = function.raw(Op::Phi, 64, block, address, &offsets);
        self.choices.insert(phi, choice);
        self.made.push(phi);
        let predecessors = function.blocks[block].predecessors.clone();
        for (index, from) in predecessors.into_iter().enumerate() {
            let offset = function.input(phi, index);
            let whole = self.address(function, offset, from, address, depth)?;
            function.set_input(choice, index, whole);
        }
        Some(choice)
    }

    fn start(&self, function: &Function, offset: ValueId) -> Start {
        let in_object = |start: u64| variable_at(self.objects, self.bank, start, self.step);
        Search { function, in_object: &in_object, known: FastMap::default(), followed: 0 }.start(offset)
    }
}

/// Returns the address that an offset is in a variable: the variable's plus the scaled terms of the offset, without the
/// variable's offset. Offsets have 32 bits; one that wraps around is not inside the variable.
fn address_in(
    function: &mut Function,
    block: BlockId,
    instruction: u32,
    offset: ValueId,
    object: &MemoryObject<'_>,
) -> ValueId {
    let symbol = function.symbol(&object.name);
    let symbol = function.raw(Op::Symbol(symbol), 64, BlockId::ENTRY, instruction, &[]);
    let found = Address::new(function, offset);
    let start = found.offset.wrapping_sub(object.offset.cast_signed()).cast_unsigned();
    let start = function.constant(start, 64);
    let make =
        |function: &mut Function, op, inputs: &[ValueId]| function.raw(op, 64, block, instruction, inputs);
    let mut address = make(function, Op::Add, &[symbol, start]);
    for (term, scale) in found.terms {
        let wide = make(function, Op::SignExtend, &[term]);
        let scale = function.constant(scale, 64);
        let scaled = make(function, Op::Mul, &[wide, scale]);
        address = make(function, Op::Add, &[address, scaled]);
    }
    address
}

/// Follows an offset.
struct Search<'f> {
    function: &'f Function,
    /// Returns the variable at an offset.
    in_object: &'f dyn Fn(u64) -> Option<usize>,
    /// The phis that were followed, each with its start.
    known: FastMap<ValueId, Start>,
    followed: usize,
}

impl Search<'_> {
    fn start(&mut self, id: ValueId) -> Start {
        self.followed += 1;
        if id == ValueId::NONE || self.followed > MAX_FOLLOWED {
            return if id == ValueId::NONE { Start::None } else { Start::Several };
        }
        let function = self.function;
        match function.op(id) {
            Op::Constant(number) => Start::At(number),
            Op::Add => match (self.start(function.input(id, 0)), self.start(function.input(id, 1))) {
                (Start::Several, _) | (_, Start::Several) => Start::Several,
                (Start::At(one), Start::At(other)) => Start::At(one.wrapping_add(other) & 0xffff_ffff),
                (Start::None, found) | (found, Start::None) => found,
            },
            Op::Copy => self.start(function.input(id, 0)),
            // The offset of a pointer of which nothing is known.
            Op::Sub if is_low_window(function, function.input(id, 1)) => Start::Several,
            Op::Phi => {
                if let Some(known) = self.known.get(&id) {
                    return *known;
                }
                // In a loop, the next value has no start of its own.
                self.known.insert(id, Start::None);
                let inputs = (0..function.inputs(id).len()).map(|index| function.input(id, index));
                let is_step = |input: ValueId| self.is_step(input, id);
                let entries = inputs.filter(|input| *input != id && !is_step(*input));
                let entries: Vec<ValueId> =
                    entries.map(|input| self.stepped(input).unwrap_or(input)).collect();
                let entries = self.without_later(&entries);
                let found = entries.into_iter().map(|input| self.start(input)).collect::<Vec<_>>();
                let found = self.merged(&found);
                self.known.insert(id, found);
                found
            }
            Op::Select => {
                let sides = [self.start(function.input(id, 1)), self.start(function.input(id, 2))];
                self.merged(&sides)
            }
            _ => Start::None,
        }
    }

    /// Returns values without those that are another one plus a constant: elements that follow it.
    fn without_later(&self, values: &[ValueId]) -> Vec<ValueId> {
        let function = self.function;
        let is_later = |value: &ValueId| {
            let is_sum =
                function.op(*value) == Op::Add && function.number(function.input(*value, 1)).is_some();
            is_sum && values.contains(&function.input(*value, 0))
        };
        values.iter().copied().filter(|value| !is_later(value)).collect()
    }

    /// Returns whether a value is a phi plus something: its value in the next round of the loop.
    fn is_step(&self, value: ValueId, phi: ValueId) -> bool {
        let function = self.function;
        let mut at = value;
        for _ in 0..MAX_STEP_SUMS {
            at = match function.op(at) {
                Op::Add if function.input(at, 0) == phi || function.input(at, 1) == phi => return true,
                Op::Add => function.input(at, 0),
                _ => return at == phi,
            };
        }
        false
    }

    /// Returns the phi of a loop of which a value is the next one: after the loop it has the start of the phi.
    fn stepped(&self, value: ValueId) -> Option<ValueId> {
        let function = self.function;
        let mut at = value;
        for _ in 0..MAX_STEP_SUMS {
            if function.op(at) != Op::Add {
                return None;
            }
            let is_its_next = |phi: ValueId| {
                function.op(phi) == Op::Phi
                    && (0..function.inputs(phi).len()).any(|index| function.input(phi, index) == value)
            };
            let inputs = [function.input(at, 0), function.input(at, 1)];
            if let Some(phi) = inputs.into_iter().find(|input| is_its_next(*input)) {
                return Some(phi);
            }
            at = inputs[0];
        }
        None
    }

    /// Returns the start of a value that has one of several.
    fn merged(&self, starts: &[Start]) -> Start {
        let number = |start: Start| match start {
            Start::At(number) => Some(number),
            _ => None,
        };
        // Elements follow the first one: what is added to the last one may be outside of the variable.
        let signed = |number: &u64| (*number as u32).cast_signed();
        let Some(first) = starts.iter().copied().filter_map(number).min_by_key(signed) else {
            let has_several = starts.contains(&Start::Several);
            return if has_several { Start::Several } else { Start::None };
        };
        let object = (self.in_object)(first);
        let is_one = starts.iter().all(|start| match start {
            Start::At(number) => (self.in_object)(*number) == object,
            Start::None => (self.in_object)(0) == object,
            Start::Several => false,
        });
        if is_one { Start::At(first) } else { Start::Several }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(offset: u64, size: u64) -> MemoryObject<'static> {
        let (name, space) = (format!("at_{offset}").into(), ObjectSpace::Constant(3));
        MemoryObject { name, space, offset, size, bytes: Vec::new().into(), pointers: Vec::new() }
    }

    #[test]
    fn an_index_may_start_below_its_variable() {
        let objects = [array(0, 64), array(64, 64), array(128, 16), array(256, 16)];
        let found = |start: u64, step: u64| variable_at(&objects, 3, start, step);
        assert_eq!((found(0, 4), found(32, 4), found(64, 4)), (Some(0), Some(0), Some(1)));
        // `at_0[i - 1]` and `at_64[i - 1]`; `at_0[15 - i]` subtracts the index.
        assert_eq!((found(0xffff_fffc, 4), found(60, 4), found(60, 0)), (Some(0), Some(1), Some(0)));
        // A member of the only element, and padding before a variable.
        assert_eq!((found(140, 16), found(252, 4)), (Some(2), Some(3)));
        // An unrolled loop, which is not entered with an array as short as this.
        assert_eq!((found(272, 4), found(272, 0), found(4096, 4)), (Some(3), None, None));
    }
}
