//! Upgrades calls of the Objective-C runtime to intrinsics, which they are since LLVM 8.
//!
//! Modules that need the upgrade have a marker in their named metadata, which becomes a module flag. Without the
//! marker only `clang.arc.use` changes.
//!
//! Knowledge: the output of `llvm-dis` 14 and 19 for old files; the signatures of `llvm.objc.*` in the Language
//! Reference.

use super::editor::{self, AttachmentOutcome, Editor, find_function, pointer_to};
use super::intrinsics::callee_of;
use crate::body::FunctionBody;
use crate::global::UpgradedPosition;
use crate::ids::{TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::module::Module;
use crate::types::Type;
use crate::value::Operand;
use alloc::vec::Vec;

pub(super) const MARKER: &[u8] = b"clang.arc.retainAutoreleasedReturnValueMarker";

/// Function, intrinsic, and signature: the result, then the parameters; `v` void, `i` i32, `o` i8*, `w` i8**, `*`
/// any arguments.
type RuntimeFunction = (&'static str, &'static str, &'static str);

const ALWAYS: RuntimeFunction = ("clang.arc.use", "llvm.objc.clang.arc.use", "v*");

#[rustfmt::skip]
const RUNTIME: &[RuntimeFunction] = &[
    ("objc_autorelease", "llvm.objc.autorelease", "oo"),
    ("objc_autoreleasePoolPop", "llvm.objc.autoreleasePoolPop", "vo"),
    ("objc_autoreleasePoolPush", "llvm.objc.autoreleasePoolPush", "o"),
    ("objc_autoreleaseReturnValue", "llvm.objc.autoreleaseReturnValue", "oo"),
    ("objc_copyWeak", "llvm.objc.copyWeak", "vww"),
    ("objc_destroyWeak", "llvm.objc.destroyWeak", "vw"),
    ("objc_initWeak", "llvm.objc.initWeak", "owo"),
    ("objc_loadWeak", "llvm.objc.loadWeak", "ow"),
    ("objc_loadWeakRetained", "llvm.objc.loadWeakRetained", "ow"),
    ("objc_moveWeak", "llvm.objc.moveWeak", "vww"),
    ("objc_release", "llvm.objc.release", "vo"),
    ("objc_retain", "llvm.objc.retain", "oo"),
    ("objc_retainAutorelease", "llvm.objc.retainAutorelease", "oo"),
    ("objc_retainAutoreleaseReturnValue", "llvm.objc.retainAutoreleaseReturnValue", "oo"),
    ("objc_retainAutoreleasedReturnValue", "llvm.objc.retainAutoreleasedReturnValue", "oo"),
    ("objc_retainBlock", "llvm.objc.retainBlock", "oo"),
    ("objc_storeStrong", "llvm.objc.storeStrong", "vwo"),
    ("objc_storeWeak", "llvm.objc.storeWeak", "owo"),
    ("objc_unsafeClaimAutoreleasedReturnValue", "llvm.objc.unsafeClaimAutoreleasedReturnValue", "oo"),
    ("objc_retainedObject", "llvm.objc.retainedObject", "oo"),
    ("objc_unretainedObject", "llvm.objc.unretainedObject", "oo"),
    ("objc_unretainedPointer", "llvm.objc.unretainedPointer", "oo"),
    ("objc_retain_autorelease", "llvm.objc.retain.autorelease", "oo"),
    ("objc_sync_enter", "llvm.objc.sync.enter", "io"),
    ("objc_sync_exit", "llvm.objc.sync.exit", "io"),
    ("objc_arc_annotation_topdown_bbstart", "llvm.objc.arc.annotation.topdown.bbstart", "vww"),
    ("objc_arc_annotation_topdown_bbend", "llvm.objc.arc.annotation.topdown.bbend", "vww"),
    ("objc_arc_annotation_bottomup_bbstart", "llvm.objc.arc.annotation.bottomup.bbstart", "vww"),
    ("objc_arc_annotation_bottomup_bbend", "llvm.objc.arc.annotation.bottomup.bbend", "vww"),
];

/// The change of the calls of a function.
struct CallChange {
    function: usize,
    callee: ValueId,
    result: TypeId,
    parameters: Vec<TypeId>,
}

pub(super) fn is_old(module: &Module<'_>) -> bool {
    find_function(module, ALWAYS.0.as_bytes()).is_some()
        || module.named_metadata.iter().any(|named| named.name == MARKER)
}

pub(super) fn upgrade(module: &mut Module<'_>, bodies: &mut [Option<FunctionBody>], opaque: bool) {
    let mut changes = Vec::new();
    changes.extend(change(module, ALWAYS));
    if super::metadata::upgrade_marker(module) {
        changes.extend(RUNTIME.iter().filter_map(|&row| change(module, row)));
    }
    if changes.is_empty() {
        return;
    }
    for body in bodies.iter_mut().flatten() {
        editor::rewrite(module, body, |editor, _, instruction| {
            if instruction.opcode == Opcode::Call
                && let Some(function) = callee_of(editor.module, editor.body, &instruction)
                && let Some(change) = changes.iter().find(|change| change.function == function)
                && let Some(arguments) = cast_arguments(editor, &instruction, change, opaque)
            {
                call_intrinsic(editor, instruction, change, &arguments, opaque);
                return AttachmentOutcome::Dropped;
            }
            editor.push(instruction);
            AttachmentOutcome::Kept
        });
    }
    for change in &changes {
        let Some(value) = module.functions.get(change.function).map(|function| function.symbol.value) else {
            continue;
        };
        let used = |body: &FunctionBody| {
            let names = |instruction: &Instruction| {
                body.operands_of(instruction).iter().any(|operand| operand.as_value() == Some(value))
            };
            body.instructions.iter().any(names) || body.constants.uses(value)
        };
        if !module.constants.uses(value)
            && !bodies.iter().flatten().any(used)
            && let Some(function) = module.functions.get_mut(change.function)
        {
            function.position = UpgradedPosition::Replaced;
        }
    }
}

fn change(module: &mut Module<'_>, (function, intrinsic, signature): RuntimeFunction) -> Option<CallChange> {
    let function = find_function(module, function.as_bytes())?;
    let mut types = signature.chars().filter(|&letter| letter != '*').map(|letter| type_of(module, letter));
    let types: Vec<TypeId> = types.by_ref().collect();
    let (&result, parameters) = types.split_first()?;
    let ty = module.types.add_function(result, parameters, signature.ends_with('*'));
    let callee = editor::declare(module, intrinsic.as_bytes(), ty);
    Some(CallChange { function, callee, result, parameters: parameters.to_vec() })
}

fn type_of(module: &mut Module<'_>, letter: char) -> TypeId {
    let byte = module.types.intern(Type::Integer(8));
    match letter {
        'v' => module.types.intern(Type::Void),
        'i' => module.types.intern(Type::Integer(32)),
        'o' => pointer_to(module, byte),
        _ => {
            let object = pointer_to(module, byte);
            pointer_to(module, object)
        }
    }
}

/// Returns whether converting a value takes an instruction; `None` if the types do not convert.
fn cast(module: &Module<'_>, from: TypeId, to: TypeId, opaque: bool) -> Option<bool> {
    let types = &module.types;
    if from == to {
        return Some(false);
    }
    let pointers =
        types.address_space(from).is_some() && types.address_space(from) == types.address_space(to);
    pointers.then_some(!opaque)
}

fn cast_arguments(
    editor: &mut Editor<'_, '_>,
    instruction: &Instruction,
    change: &CallChange,
    opaque: bool,
) -> Option<Vec<Operand>> {
    cast(editor.module, instruction.ty, change.result, opaque)?;
    let mut arguments = editor.body.operands_of(instruction).get(1..)?.to_vec();
    let mut casts = Vec::new();
    for (&argument, &ty) in arguments.iter().zip(&change.parameters) {
        casts.push(cast(editor.module, editor.type_of(argument), ty, opaque)?);
    }
    for ((argument, &ty), cast) in arguments.iter_mut().zip(&change.parameters).zip(casts) {
        if cast {
            *argument = Operand::value(editor.emit(Opcode::BitCast, ty, &[*argument]));
        }
    }
    Some(arguments)
}

/// Replaces a call by one of the intrinsic, which takes the name of the old call. If the result is cast back, the
/// cast is unnamed.
fn call_intrinsic(
    editor: &mut Editor<'_, '_>,
    old: Instruction,
    change: &CallChange,
    arguments: &[Operand],
    opaque: bool,
) {
    let tail = editor.body.calls.get(old.detail as usize).map_or(0, |call| call.tail);
    let mut call = editor.call(change.callee, arguments);
    if let Some(call) = editor.body.calls.get_mut(call.detail as usize) {
        call.tail = tail;
    }
    let casts = cast(editor.module, change.result, old.ty, opaque) == Some(true);
    if !casts {
        call.result = old.result;
        return editor.push(call);
    }
    let name = editor.body.value_name(old.result).to_vec();
    editor.body.forget_name(old.result);
    call.result = editor.value(change.result, &name);
    editor.push(call);
    let mut back = editor.instruction(Opcode::BitCast, old.ty, &[Operand::value(call.result)]);
    back.result = old.result;
    editor.push(back);
}
