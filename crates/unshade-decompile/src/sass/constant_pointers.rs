//! Loads from constant memory through pointers.
//!
//! A compiler that knows that a pointer is one to constant memory reads the bank, at the difference of the pointer and the
//! address of the bank; relocatable code has copies of functions for such pointers. Only the lower half of the pointer is
//! used. Nothing says which variable it leads to, so the load becomes one through the pointer, whose upper half is found:
//! that of the parameter, the result or the value of 64 bits.

use crate::ir::{Function, IdVec, Op, Space, Special, ValueId, ValueMap};

/// The constant bank of the program's variables.
const USER_BANK: u8 = 3;

/// What is known of an offset in the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offset {
    /// It doesn't depend on a pointer.
    Plain,
    /// It is a pointer's, or one near it: that of the pointer with this difference.
    Of(ValueId),
    /// It may also be one that doesn't depend on a pointer.
    Mixed,
}

/// Makes loads from the bank of variables at the offset of a pointer read through the pointer.
pub(super) fn run(function: &mut Function) {
    let mut offsets: ValueMap<Offset> = IdVec::filled(Offset::Plain, function.values.len());
    let mut pointers: Vec<(ValueId, ValueId)> = Vec::new();
    for id in offsets.keys() {
        if function.is_replaced(id) {
            continue;
        }
        if let Some(halves) = halves(function, id) {
            offsets[id] = Offset::Of(id);
            pointers.push((id, whole(function, id, halves)));
        }
    }
    if pointers.is_empty() {
        return;
    }
    spread(function, &mut offsets);
    let is_load = |id: &ValueId| function.op(*id) == Op::Load(Space::Constant(USER_BANK));
    let loads: Vec<ValueId> =
        offsets.keys().filter(|id| !function.is_replaced(*id)).filter(is_load).collect();
    let shared = shared(function, &offsets);
    for load in loads {
        let offset = function.input(load, 0);
        let Offset::Of(difference) = offsets[offset] else { continue };
        let Some((_, pointer)) = pointers.iter().find(|pointer| pointer.0 == difference) else { continue };
        let like = function.values[load];
        let mut make =
            |op, width, inputs: &[ValueId]| function.raw(op, width, like.block, like.address, inputs);
        let is_shared = shared.contains(&difference);
        let index = if is_shared { make(Op::Sub, 32, &[offset, difference]) } else { offset };
        let index = make(Op::SignExtend, 64, &[index]);
        let address = make(Op::Add, 64, &[*pointer, index]);
        function.set_input(load, 0, address);
    }
    // Where nothing else depends on it, an index starts at 0.
    for (difference, _) in pointers.into_iter().filter(|pointer| !shared.contains(&pointer.0)) {
        let zero = function.constant(0, 32);
        function.replace(difference, zero);
    }
}

/// The upper and the lower half of a pointer.
enum Halves {
    /// Halves of a value.
    Of(ValueId),
    /// The lower one is a word of the parameters, or of the result of a call; the upper one is the next word.
    Words(Op),
}

/// Returns the halves of the pointer from which a value subtracts the address of the bank.
fn halves(function: &Function, id: ValueId) -> Option<Halves> {
    let (low, window) = (function.input(id, 0), function.input(id, 1));
    let is_window = |id: ValueId| function.op(id) == Op::Special(Special::ConstantWindow);
    if function.op(id) != Op::Sub
        || function.width(id) != 32
        || function.op(window) != Op::Low
        || !is_window(function.input(window, 0))
    {
        return None;
    }
    match function.op(low) {
        Op::Low if is_window(function.input(low, 0)) => None,
        Op::Low if function.width(function.input(low, 0)) == 64 => Some(Halves::Of(function.input(low, 0))),
        // Pointers are in even-odd pairs.
        Op::Parameter(offset) if offset % 8 == 0 => Some(Halves::Words(Op::Parameter(offset + 4))),
        Op::Result(word) if word % 2 == 0 => Some(Halves::Words(Op::Result(word + 1))),
        _ => None,
    }
}

/// Returns the pointer with these halves.
fn whole(function: &mut Function, difference: ValueId, halves: Halves) -> ValueId {
    let upper = match halves {
        Halves::Of(value) => return value,
        Halves::Words(upper) => upper,
    };
    let low = function.input(difference, 0);
    let like = function.values[low];
    let of = function.inputs(low).to_vec();
    let high = function.raw(upper, 32, like.block, like.address, &of);
    function.raw(Op::Concat, 64, like.block, like.address, &[high, low])
}

/// Finds the offsets that are computed from those of pointers.
fn spread(function: &Function, offsets: &mut ValueMap<Offset>) {
    let live: Vec<ValueId> = offsets.keys().filter(|id| !function.is_replaced(*id)).collect();
    // In a loop, the next offset is only known after the first one.
    for is_final in [false, true] {
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for &id in &live {
                let found = derived(function, offsets, id, is_final);
                let is_more = match offsets[id] {
                    Offset::Plain => found != Offset::Plain,
                    Offset::Of(_) => found == Offset::Mixed,
                    Offset::Mixed => false,
                };
                if is_more {
                    offsets[id] = found;
                    is_changed = true;
                }
            }
        }
    }
}

/// Returns what an offset is by its inputs. Only if these are final, one of several choices that doesn't depend on a
/// pointer counts.
fn derived(function: &Function, offsets: &ValueMap<Offset>, id: ValueId, is_final: bool) -> Offset {
    let of = |index: usize| match offsets.get(function.input(id, index)) {
        Some(offset) => *offset,
        None => Offset::Plain,
    };
    match function.op(id) {
        Op::Copy => of(0),
        Op::Add => match (of(0), of(1)) {
            (Offset::Plain, offset) | (offset, Offset::Plain) => offset,
            _ => Offset::Mixed,
        },
        Op::Sub if of(1) == Offset::Plain => of(0),
        Op::Phi | Op::Select => {
            let first = usize::from(function.op(id) == Op::Select);
            let is_set = |index: &usize| function.op(function.input(id, *index)) != Op::Undefined;
            let choices: Vec<Offset> = (first..function.inputs(id).len()).filter(is_set).map(of).collect();
            let found = choices.iter().copied().find(|choice| *choice != Offset::Plain);
            let is_mixed = choices.contains(&Offset::Mixed) || is_final && choices.contains(&Offset::Plain);
            match found {
                Some(_) if is_mixed => Offset::Mixed,
                found => found.unwrap_or(Offset::Plain),
            }
        }
        _ => Offset::Plain,
    }
}

/// Returns the differences on which something else depends than loads through the one pointer.
fn shared(function: &Function, offsets: &ValueMap<Offset>) -> Vec<ValueId> {
    let mut shared = Vec::new();
    let used = function.used();
    let mut use_by = |input: ValueId, user: Option<ValueId>| {
        let Some(&Offset::Of(difference)) = offsets.get(function.resolve(input)) else { return };
        let is_same = user.is_some_and(|user| {
            let is_load = function.op(user) == Op::Load(Space::Constant(USER_BANK));
            is_load || offsets[user] == Offset::Of(difference)
        });
        if !is_same {
            shared.push(difference);
        }
    };
    for id in offsets.keys().filter(|id| used[*id]) {
        function.inputs(id).iter().for_each(|input| use_by(*input, Some(id)));
    }
    for block in &function.blocks {
        if let Some(input) = block.end.input() {
            use_by(input, None);
        }
    }
    function.named.iter().for_each(|(_, value)| use_by(*value, None));
    shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    /// Runs the pass on a device function whose loop starts at `start`, and returns its text.
    fn rewritten(start: &str, extra: &str) -> String {
        let text = format!(
            "function \"f\" shared 0 local 0\nb0 @0x0:\n    v0:32 = parameter 0\n    v1:64 = special \
             constant_window\n    v2:32 = low v1\n    v3:32 = sub v0, v2\n    v8:1 = equal v0, 0:32\n    v9:32 = \
             {start}\n    goto b1\nb1 @0x0 <- b0, b1:\n    v4:32 = phi v9, v5\n    v5:32 = add v4, 2:32\n    v6:16 \
             = load.constant.3 v5\n    v7:1 = equal v6, 0:16\n    branch v7, b1, b2\nb2 @0x0 <- b1:\n{extra}    \
             return\n"
        );
        let mut function = parse(&text).expect("it is a module").function;
        run(&mut function);
        crate::pass::sweep(&mut function);
        function.to_string()
    }

    #[test]
    fn loads_at_the_offset_of_a_pointer_are_through_it() {
        let text = rewritten("add v3, 8:32", "");
        assert!(text.contains("= parameter 4\n") && text.contains("= concat v"), "{text}");
        assert!(text.contains("= add 0:32, 8:32\n") && !text.contains("constant_window"), "{text}");
    }

    #[test]
    fn an_offset_with_other_uses_stays() {
        let text = rewritten("add v3, 8:32", "    store.local 0:32, v3\n");
        assert!(text.contains("= concat v") && text.contains("= sub v0, v"), "{text}");
    }

    #[test]
    fn an_offset_that_may_be_that_of_a_variable_stays() {
        let text = rewritten("select v8, v3, 8:32", "");
        assert!(text.contains("load.constant.3 v5\n") || !text.contains("concat"), "{text}");
    }
}
