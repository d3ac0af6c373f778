//! Accesses of constant and local memory through pointers.
//!
//! A compiler that knows which memory a pointer leads to accesses that memory: the constant bank at the difference of the
//! pointer and the address of the bank, local memory at the lower bits of the pointer. Relocatable code has copies of
//! functions for such pointers. Only the lower half of a pointer is used, and nothing says to which variable it leads: in C,
//! the local memory of a function is not that of its caller. So the accesses become those through the pointer, whose upper
//! half is found: that of the parameter, the result or the value of 64 bits.

use crate::ir::{Function, IdVec, Op, Space, Special, ValueId, ValueMap};
use crate::pass::windows::INSIDE;

/// The constant bank of the program's variables.
const USER_BANK: Space = Space::Constant(3);

/// What is known of an offset in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offset {
    /// It doesn't depend on a pointer.
    Plain,
    /// It is the offset of a pointer, or one near it: this value is that of the pointer.
    Of(ValueId),
    /// It may also be one that doesn't depend on a pointer.
    Mixed,
}

/// A pointer, and the memory to which it leads.
struct Pointer {
    /// Its offset in the memory.
    offset: ValueId,
    space: Space,
    /// All of its 64 bits.
    whole: ValueId,
}

/// Makes accesses at the offset of a pointer go through the pointer. A kernel has no pointers to local memory but its own.
pub(super) fn run(function: &mut Function, is_kernel: bool) {
    let mut offsets: ValueMap<Offset> = IdVec::filled(Offset::Plain, function.values.len());
    let mut pointers: Vec<Pointer> = Vec::new();
    for id in offsets.keys() {
        if function.is_replaced(id) {
            continue;
        }
        let Some((space, low)) = lower_half(function, id) else { continue };
        let Some(halves) = halves(function, low).filter(|_| space != Space::Local || !is_kernel) else {
            continue;
        };
        offsets[id] = Offset::Of(id);
        pointers.push(Pointer { offset: id, space, whole: whole(function, low, halves) });
    }
    if pointers.is_empty() {
        return;
    }
    spread(function, &mut offsets);
    let shared = shared(function, &offsets, &pointers);
    let ids: Vec<ValueId> = offsets.keys().filter(|id| !function.is_replaced(*id)).collect();
    for id in ids {
        let Some(pointer) = accessed(function, &offsets, &pointers, id) else { continue };
        let (offset, like) = (function.input(id, 0), function.values[id]);
        let mut make =
            |op, width, inputs: &[ValueId]| function.raw(op, width, like.block, like.address, inputs);
        let start = pointer.offset;
        let index = if shared[start] { make(Op::Sub, 32, &[offset, start]) } else { offset };
        let index = make(Op::SignExtend, 64, &[index]);
        let address = make(Op::Add, 64, &[pointer.whole, index]);
        let mut inputs = function.inputs(id).to_vec();
        inputs[0] = address;
        let op = match like.op {
            Op::Load(Space::Local) => Op::Load(Space::Generic),
            Op::Store(Space::Local) => Op::Store(Space::Generic),
            op => op,
        };
        function.set_op(id, op, &inputs);
    }
    // Where nothing else depends on it, an index starts at 0.
    for pointer in pointers.into_iter().filter(|pointer| !shared[pointer.offset]) {
        let zero = function.constant(0, 32);
        function.replace(pointer.offset, zero);
    }
}

/// Returns the pointer through which an access of its memory goes. Pointers are in the order of their offsets.
fn accessed<'p>(
    function: &Function,
    offsets: &ValueMap<Offset>,
    pointers: &'p [Pointer],
    id: ValueId,
) -> Option<&'p Pointer> {
    let (Op::Load(space) | Op::Store(space)) = function.op(id) else { return None };
    let Some(&Offset::Of(offset)) = offsets.get(function.input(id, 0)) else { return None };
    let index = pointers.partition_point(|pointer| pointer.offset < offset);
    pointers.get(index).filter(|pointer| pointer.offset == offset && pointer.space == space)
}

/// Returns the memory in which a value is the offset of a pointer, and the lower half of the pointer.
fn lower_half(function: &Function, id: ValueId) -> Option<(Space, ValueId)> {
    let (low, other) = (function.input(id, 0), function.input(id, 1));
    match function.op(id) {
        _ if function.width(id) != 32 => None,
        Op::Sub if function.op(other) == Op::Low && is_window(function, function.input(other, 0)) => {
            Some((USER_BANK, low))
        }
        Op::And if function.number(other) == Some(INSIDE) => Some((Space::Local, low)),
        _ => None,
    }
}

fn is_window(function: &Function, id: ValueId) -> bool {
    function.op(id) == Op::Special(Special::ConstantWindow)
}

/// The upper and the lower half of a pointer.
enum Halves {
    /// Halves of a value.
    Of(ValueId),
    /// The lower one is a word of the parameters, or of the result of a call; the upper one is the next word.
    Words(Op),
}

/// Returns the halves of the pointer of which a value is the lower one.
fn halves(function: &Function, low: ValueId) -> Option<Halves> {
    match function.op(low) {
        Op::Low if is_window(function, function.input(low, 0)) => None,
        Op::Low if function.width(function.input(low, 0)) == 64 => Some(Halves::Of(function.input(low, 0))),
        // Pointers are in even-odd pairs.
        Op::Parameter(offset) if offset % 8 == 0 => Some(Halves::Words(Op::Parameter(offset + 4))),
        Op::Result(word) if word % 2 == 0 => Some(Halves::Words(Op::Result(word + 1))),
        _ => None,
    }
}

/// Returns the pointer with these halves.
fn whole(function: &mut Function, low: ValueId, halves: Halves) -> ValueId {
    let upper = match halves {
        Halves::Of(value) => return value,
        Halves::Words(upper) => upper,
    };
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

/// Returns which values are offsets of pointers on which something else depends than accesses through the one pointer.
fn shared(function: &Function, offsets: &ValueMap<Offset>, pointers: &[Pointer]) -> ValueMap<bool> {
    let mut shared = IdVec::filled(false, function.values.len());
    let used = function.used();
    let mut use_by = |input: ValueId, user: Option<(ValueId, usize)>| {
        let Some(&Offset::Of(offset)) = offsets.get(function.resolve(input)) else { return };
        let is_same = user.is_some_and(|(user, index)| {
            offsets[user] == Offset::Of(offset)
                || index == 0 && accessed(function, offsets, pointers, user).is_some()
        });
        if !is_same {
            shared[offset] = true;
        }
    };
    for id in offsets.keys().filter(|id| used[*id]) {
        function.inputs(id).iter().enumerate().for_each(|(index, input)| use_by(*input, Some((id, index))));
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
        run(&mut function, false);
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
    fn accesses_at_the_lower_bits_of_a_pointer_are_through_it() {
        let text = "function \"f\" shared 0 local 8\nb0 @0x0:\n    v0:32 = parameter 8\n    v1:32 = parameter 0\n    \
                    v2:32 = and v0, 0xffffff:32\n    v3:32 = mul v1, 4:32\n    v4:32 = add v3, v2\n    v5:32 = \
                    load.local v4\n    store.local v4, v1\n    store.local 4:32, v5\n    return\n";
        let rewritten = |is_kernel| {
            let mut function = parse(text).expect("it is a module").function;
            run(&mut function, is_kernel);
            function.to_string()
        };
        let text = rewritten(false);
        assert!(text.contains("= parameter 12\n") && text.contains("load.generic v"), "{text}");
        assert!(text.contains("store.generic v") && text.contains("store.local 4:32, v"), "{text}");
        assert!(!rewritten(true).contains("generic"));
    }

    #[test]
    fn an_offset_with_other_uses_stays() {
        let text = rewritten("add v3, 8:32", "    store.local 0:32, v3\n");
        assert!(text.contains("= concat v") && text.contains("= sub v0, v"), "{text}");
    }

    #[test]
    fn an_offset_that_may_be_that_of_a_variable_stays() {
        let text = rewritten("select v8, v3, 8:32", "");
        assert!(text.contains("= sub v0, v") && !text.contains("concat"), "{text}");
    }
}
