//! Finds the variables of lifetime markers.
//!
//! Since LLVM 22 `llvm.lifetime.start` and `.end` have no size, and only mark an `alloca`. A marker of anything else
//! is removed; a marker of a cast of an `alloca` marks the `alloca` itself.
//!
//! Knowledge: the output of `llvm-dis` 22 for files of LLVM 14 and 19; LLVM 22's release notes.

use super::super::mangle;
use super::editor;
use crate::body::FunctionBody;
use crate::ids::ValueId;
use crate::instruction::{Instruction, Opcode};
use crate::module::Module;
use crate::types::Type;
use crate::value::ValueKind;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// Maximum number of casts around each other.
const MAX_CASTS: usize = 1 << 10;

/// Returns for each call (by its index in [`FunctionBody::calls`]) of an old marker of an `alloca` the new marker, which
/// is declared after all other functions, and the `alloca`.
pub(super) fn variables(
    module: &mut Module<'_>,
    body: &FunctionBody,
    markers: &[ValueId],
) -> BTreeMap<u32, (ValueId, ValueId)> {
    let mut found = BTreeMap::new();
    if markers.is_empty() {
        return found;
    }
    for call in body.instructions.iter().filter(|instruction| instruction.opcode == Opcode::Call) {
        let &[callee, _, pointer] = body.operands_of(call) else { continue };
        let Some(marker) = callee.as_value().filter(|callee| markers.contains(callee)) else { continue };
        let variable = pointer.as_value().and_then(|pointer| variable_of(module, body, pointer));
        let new = variable.and_then(|variable| Some((declare(module, marker, variable)?, variable.result)));
        if let Some(new) = new {
            found.insert(call.detail, new);
        }
    }
    found
}

/// Returns the `alloca` that a pointer is, casts aside.
fn variable_of(module: &Module<'_>, body: &FunctionBody, mut pointer: ValueId) -> Option<Instruction> {
    for _ in 0..MAX_CASTS {
        let ValueKind::Instruction(at) = module.value(Some(body), pointer)?.kind else { return None };
        let instruction = *body.instructions.get(at as usize)?;
        let (&first, indices) = match instruction.opcode {
            Opcode::Alloca => return Some(instruction),
            Opcode::BitCast | Opcode::AddrSpaceCast | Opcode::GetElementPtr => {
                body.operands_of(&instruction).split_first()?
            }
            _ => return None,
        };
        let is_zero = |id: ValueId| module.integer(Some(body), id) == Some(0);
        if !indices.iter().all(|index| index.as_value().is_some_and(is_zero)) {
            return None;
        }
        pointer = first.as_value()?;
    }
    None
}

/// Returns the new marker for the type of an `alloca`.
fn declare(module: &mut Module<'_>, marker: ValueId, variable: Instruction) -> Option<ValueId> {
    let ValueKind::Function(at) = module.value(None, marker)?.kind else { return None };
    let name = &module.functions.get(at as usize)?.symbol.name;
    let mut new = String::from(if name.starts_with(b"llvm.lifetime.start") {
        "llvm.lifetime.start."
    } else {
        "llvm.lifetime.end."
    });
    mangle::push_type(&mut new, &module.types, variable.ty, true, 0);
    let void = module.types.intern(Type::Void);
    let ty = module.types.add_function(void, &[variable.ty], false);
    Some(editor::declare(module, new.as_bytes(), ty))
}
