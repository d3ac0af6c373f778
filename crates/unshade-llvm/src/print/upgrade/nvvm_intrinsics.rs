//! Replaces intrinsics of NVIDIA's targets that later versions express otherwise.
//!
//! | old | new, since LLVM 22 unless noted |
//! |---|---|
//! | `atomic.load.add` | `atomicrmw fadd`, in all versions |
//! | `atomic.load.inc`, `atomic.load.dec` | `atomicrmw uinc_wrap`, `udec_wrap` |
//! | `barrier0`, `bar.sync` and so on | `barrier.cta.*`, which count in predicates instead of integers |
//! | `ldg.global` | a load from global memory with `!invariant.load` |
//! | `ptr.gen.to.*`, `ptr.*.to.gen` | `addrspacecast` |
//! | `rotate`, `swap.lo.hi` | `llvm.fshl`, `llvm.fshr` |
//! | `abs.bf16`, `ex2.approx.ftz.f`, `fabs.f` and so on | names that end in a type |
//!
//! The results have no names. New functions are declared when the first body that calls them is upgraded.
//!
//! Knowledge: the output of `llvm-dis` 14, 19 and 22 for old files; the NVPTX guide.

use super::super::{Dialect, mangle};
use super::atomics::Operation;
use super::editor::{self, AttachmentOutcome, Editor};
use crate::constants::Constant;
use crate::ids::TypeId;
use crate::instruction::{Instruction, Memory, Opcode};
use crate::types::Type;
use crate::value::Operand;
use alloc::string::String;
use alloc::vec::Vec;

/// What replaces the calls of an intrinsic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expansion {
    /// A call of another barrier, with barrier 0 as its first argument.
    BarrierZero(&'static str),
    /// A call of another barrier, with the same arguments.
    Barrier(&'static str),
    /// A call of another barrier, with barrier 0 and whether the argument is not zero; its result is an integer.
    Count(&'static str),
    /// The same, but the result is a bit, which is extended.
    Vote(&'static str),
    /// A call of an intrinsic with the type of the result in its name.
    Typed(&'static str),
    /// A call of a funnel shift, to the left or right, by the second argument.
    Rotate(&'static str),
    /// A rotation by 32 bits.
    Swap,
    AddressSpaceCast,
    InvariantLoad,
    Atomic(Operation),
}

use Expansion::{
    AddressSpaceCast, Atomic, Barrier, BarrierZero, Count, InvariantLoad, Rotate, Swap, Typed, Vote,
};

/// Names without `llvm.nvvm.` that LLVM 22 replaces. Those that end in a dot are the start of a name.
const SINCE_22: [(&str, Expansion); 33] = [
    ("abs.bf16", Typed("nvvm.fabs")),
    ("abs.bf16x2", Typed("nvvm.fabs")),
    ("atomic.load.dec.32.", Atomic(Operation::DECREMENT)),
    ("atomic.load.inc.32.", Atomic(Operation::INCREMENT)),
    ("bar.sync", Barrier("barrier.cta.sync.aligned.all")),
    ("barrier", Barrier("barrier.cta.sync.aligned.count")),
    ("barrier.n", Barrier("barrier.cta.sync.aligned.all")),
    ("barrier.sync", Barrier("barrier.cta.sync.all")),
    ("barrier.sync.cnt", Barrier("barrier.cta.sync.count")),
    ("barrier0", BarrierZero("barrier.cta.sync.aligned.all")),
    ("barrier0.and", Vote("barrier.cta.red.and.aligned.all")),
    ("barrier0.or", Vote("barrier.cta.red.or.aligned.all")),
    ("barrier0.popc", Count("barrier.cta.red.popc.aligned.all")),
    ("ex2.approx.ftz.f", Typed("nvvm.ex2.approx.ftz")),
    ("fabs.d", Typed("nvvm.fabs")),
    ("fabs.f", Typed("nvvm.fabs")),
    ("fabs.ftz.f", Typed("nvvm.fabs.ftz")),
    ("ldg.global.f.", InvariantLoad),
    ("ldg.global.i.", InvariantLoad),
    ("ldg.global.p.", InvariantLoad),
    ("ptr.constant.to.gen.", AddressSpaceCast),
    ("ptr.gen.to.constant.", AddressSpaceCast),
    ("ptr.gen.to.global.", AddressSpaceCast),
    ("ptr.gen.to.local.", AddressSpaceCast),
    ("ptr.gen.to.param.", AddressSpaceCast),
    ("ptr.gen.to.shared.", AddressSpaceCast),
    ("ptr.global.to.gen.", AddressSpaceCast),
    ("ptr.local.to.gen.", AddressSpaceCast),
    ("ptr.shared.to.gen.", AddressSpaceCast),
    ("rotate.b32", Rotate("fshl")),
    ("rotate.b64", Rotate("fshl")),
    ("rotate.right.b64", Rotate("fshr")),
    ("swap.lo.hi.b64", Swap),
];
/// Those that all versions replace.
const ALWAYS: [(&str, Expansion); 2] =
    [("atomic.load.add.f32.", Atomic(Operation::ADD)), ("atomic.load.add.f64.", Atomic(Operation::ADD))];

/// The address space of global memory.
const GLOBAL_MEMORY: u32 = 1;
const INVARIANT: &[u8] = b"invariant.load";
/// The scope of the whole system, and the ordering `seq_cst`, by their numbers in bitcode.
const SYSTEM: u32 = 1;
const SEQUENTIAL: u64 = 6;
/// The predicate `icmp ne`.
const NOT_EQUAL: u32 = 33;

/// Returns what replaces an intrinsic, by its name without `llvm.`.
pub(super) fn expansion(dialect: Dialect, name: &str, parameters: usize) -> Option<Expansion> {
    let name = name.strip_prefix("nvvm.")?;
    let newest = SINCE_22.iter().filter(|_| dialect == Dialect::Llvm22);
    let matches = |known: &str| name == known || (known.ends_with('.') && name.starts_with(known));
    let &(_, expansion) = ALWAYS.iter().chain(newest).find(|(known, _)| matches(known))?;
    let expected = match expansion {
        BarrierZero(_) => 0,
        Count(_) | Vote(_) | Typed(_) | Swap | AddressSpaceCast => 1,
        InvariantLoad | Rotate(_) | Atomic(_) => 2,
        Barrier(_) => parameters.max(1),
    };
    (parameters == expected).then_some(expansion)
}

/// Replaces a call.
pub(super) fn rebuild(
    editor: &mut Editor<'_, '_>,
    old: Instruction,
    expansion: Expansion,
    arguments: &[Operand],
) -> AttachmentOutcome {
    let expanded = match expansion {
        BarrierZero(name) => {
            let zero = integer(editor, 32, 0);
            call(editor, name, old.ty, &[zero])
        }
        Barrier(name) => call(editor, name, old.ty, arguments),
        Count(name) => counted(editor, name, old.ty, arguments),
        Vote(name) => {
            let bit = editor.module.types.intern(Type::Integer(1));
            let voted = counted(editor, name, bit, arguments);
            voted.map(|call| {
                let voted = push(editor, call);
                editor.instruction(Opcode::ZExt, old.ty, &[voted])
            })
        }
        Typed(name) => typed_call(editor, name, old.ty, arguments),
        Rotate(name) => rotated(editor, name, old.ty, arguments),
        Swap => {
            let half = integer(editor, 64, 32);
            arguments.first().and_then(|&value| typed_call(editor, "fshl", old.ty, &[value, value, half]))
        }
        AddressSpaceCast => {
            arguments.first().map(|&value| editor.instruction(Opcode::AddrSpaceCast, old.ty, &[value]))
        }
        InvariantLoad => return load(editor, old, arguments),
        Atomic(operation) => {
            let mut access = editor.instruction(Opcode::AtomicRmw, old.ty, arguments);
            (access.flags, access.detail) = (operation.number() << 8, SYSTEM);
            access.extra = Memory::new(0, SEQUENTIAL, 0).0;
            Some(access)
        }
    };
    let Some(last) = expanded else {
        editor.push(old);
        return AttachmentOutcome::Kept;
    };
    editor.body.forget_name(old.result);
    editor.push(Instruction { result: old.result, ..last });
    AttachmentOutcome::Dropped
}

/// Pushes an instruction with a new result.
fn push(editor: &mut Editor<'_, '_>, instruction: Instruction) -> Operand {
    let result = editor.value(instruction.ty, &[]);
    editor.push(Instruction { result, ..instruction });
    Operand::value(result)
}

fn integer(editor: &mut Editor<'_, '_>, width: u32, number: u64) -> Operand {
    let ty = editor.module.types.intern(Type::Integer(width));
    let constant = if number == 0 { Constant::Null } else { Constant::Integer(number) };
    editor.constant(ty, constant)
}

/// Creates a call of another intrinsic, which is declared if it is not.
fn call_named(
    editor: &mut Editor<'_, '_>,
    name: &str,
    result: TypeId,
    arguments: &[Operand],
) -> Option<Instruction> {
    let parameters: Vec<TypeId> = arguments.iter().map(|&argument| editor.type_of(argument)).collect();
    let ty = editor.module.types.add_function(result, &parameters, false);
    let callee = editor::declare(editor.module, name.as_bytes(), ty);
    Some(editor.call(callee, arguments))
}

fn call(
    editor: &mut Editor<'_, '_>,
    name: &str,
    result: TypeId,
    arguments: &[Operand],
) -> Option<Instruction> {
    call_named(editor, &["llvm.nvvm.", name].concat(), result, arguments)
}

/// Creates a call of an intrinsic with a type in its name.
fn typed_call(
    editor: &mut Editor<'_, '_>,
    name: &str,
    result: TypeId,
    arguments: &[Operand],
) -> Option<Instruction> {
    let mut whole = String::from("llvm.");
    whole.push_str(name);
    whole.push('.');
    mangle::push_type(&mut whole, &editor.module.types, result, true, 0);
    call_named(editor, &whole, result, arguments)
}

/// Creates a call of a barrier with a predicate: whether the argument is not zero.
fn counted(
    editor: &mut Editor<'_, '_>,
    name: &str,
    result: TypeId,
    arguments: &[Operand],
) -> Option<Instruction> {
    let &value = arguments.first()?;
    let bit = editor.module.types.intern(Type::Integer(1));
    let zero = integer(editor, 32, 0);
    let mut compare = editor.instruction(Opcode::ICmp, bit, &[value, zero]);
    compare.detail = NOT_EQUAL;
    let predicate = push(editor, compare);
    call(editor, name, result, &[zero, predicate])
}

/// Creates a rotation, whose amount is extended to the width of the value.
fn rotated(
    editor: &mut Editor<'_, '_>,
    name: &str,
    ty: TypeId,
    arguments: &[Operand],
) -> Option<Instruction> {
    let &[value, mut amount] = arguments else { return None };
    if editor.type_of(amount) != ty {
        let number = amount.as_value().and_then(|id| editor.module.integer(Some(editor.body), id));
        amount = match number {
            Some(number) => integer(editor, 64, number),
            None => Operand::value(editor.emit(Opcode::ZExt, ty, &[amount])),
        };
    }
    typed_call(editor, name, ty, &[value, value, amount])
}

/// Replaces a call by a load from global memory that may be moved.
fn load(editor: &mut Editor<'_, '_>, old: Instruction, arguments: &[Operand]) -> AttachmentOutcome {
    let alignment = arguments.get(1).and_then(|operand| operand.as_value());
    let alignment = alignment.and_then(|id| editor.module.integer(Some(editor.body), id));
    let (Some(&pointer), Some(bytes)) =
        (arguments.first(), alignment.filter(|bytes| bytes.is_power_of_two()))
    else {
        editor.push(old);
        return AttachmentOutcome::Kept;
    };
    let is_global = editor.module.types.address_space(editor.type_of(pointer)) == Some(GLOBAL_MEMORY);
    let pointer = match is_global {
        true => pointer,
        false => {
            let ty = editor.module.types.intern(Type::OpaquePointer { address_space: GLOBAL_MEMORY });
            Operand::value(editor.emit(Opcode::AddrSpaceCast, ty, &[pointer]))
        }
    };
    let mut load = editor.instruction(Opcode::Load, old.ty, &[pointer]);
    load.extra = Memory::new(u64::from(bytes.trailing_zeros()) + 1, 0, 0).0;
    load.result = old.result;
    editor.body.forget_name(old.result);
    let kind = super::atomics::kind(editor.module, INVARIANT);
    let empty = editor.empty_tuple();
    editor.push_with(load, &[(kind, empty)]);
    AttachmentOutcome::Dropped
}

#[cfg(test)]
mod tests {
    use super::{Barrier, BarrierZero, Dialect, expansion};

    #[test]
    fn names_are_whole_or_end_in_types() {
        let newest = |name, parameters| expansion(Dialect::Llvm22, name, parameters);
        assert!(matches!(newest("nvvm.barrier0", 0), Some(BarrierZero(_))));
        assert!(matches!(newest("nvvm.barrier", 2), Some(Barrier("barrier.cta.sync.aligned.count"))));
        assert_eq!(newest("nvvm.barrier.cta.sync.all", 1), None);
        assert_eq!(expansion(Dialect::Llvm19, "nvvm.barrier0", 0), None);
        assert!(expansion(Dialect::Llvm14, "nvvm.atomic.load.add.f32.p0f32", 2).is_some());
        assert!(
            newest("nvvm.ldg.global.i.i32.p1", 2).is_some()
                && newest("nvvm.ldg.global.i.i32.p1", 1).is_none()
        );
    }
}
