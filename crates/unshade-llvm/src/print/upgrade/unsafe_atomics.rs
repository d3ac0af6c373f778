//! Turns AMD's permission for unsafe atomic accesses to floating-point numbers into attachments.
//!
//! Until LLVM 19 a function has the attribute `amdgpu-unsafe-fp-atomics`; since then each `atomicrmw` says what may be
//! assumed. LLVM 22 makes the attachments where the attribute is `true`, and removes it from functions with a body.
//!
//! Knowledge: the output of `llvm-dis` 22 for files of LLVM 16; the AMDGPU guide on these attachments.

use super::super::Dialect;
use super::atomics::kind;
use super::editor;
use super::functions::{text_attribute, without_text};
use crate::body::FunctionBody;
use crate::ids::{MetadataId, Slice};
use crate::instruction::{ATOMIC_OPERATIONS, Instruction, Opcode};
use crate::module::Module;
use alloc::vec::Vec;

const ATTRIBUTE: &[u8] = b"amdgpu-unsafe-fp-atomics";
/// What is attached, in this order.
const KINDS: [&[u8]; 3] = [
    b"amdgpu.no.fine.grained.host.memory",
    b"amdgpu.no.remote.memory.access",
    b"amdgpu.ignore.denormal.mode",
];

pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    dialect == Dialect::Llvm22
        && module.functions.iter().any(|function| {
            !function.declaration && text_attribute(module, function.attributes, ATTRIBUTE).is_some()
        })
}

/// Attaches what may be assumed to the accesses of a function, and removes its attribute.
pub(super) fn upgrade_body(module: &mut Module<'_>, body: &mut FunctionBody) {
    let at = body.function as usize;
    let Some(list) = module.functions.get(at).map(|function| function.attributes) else { return };
    let Some(value) = text_attribute(module, list, ATTRIBUTE) else { return };
    if value == b"true" {
        attach(module, body);
    }
    let list = without_text(module, list, ATTRIBUTE);
    if let Some(function) = module.functions.get_mut(at) {
        function.attributes = list;
    }
}

/// Returns whether an instruction is an atomic access to floating-point numbers.
fn is_of_floats(instruction: &Instruction) -> bool {
    let operation = ATOMIC_OPERATIONS.get(usize::from(instruction.flags >> 8));
    instruction.opcode == Opcode::AtomicRmw && operation.is_some_and(|operation| operation.starts_with('f'))
}

fn attach(module: &mut Module<'_>, body: &mut FunctionBody) {
    if !body.instructions.iter().any(is_of_floats) {
        return;
    }
    let empty = editor::empty_tuple(module, body);
    let new = KINDS.map(|name| (kind(module, name), empty));
    for (at, _) in (0u32..).zip(&body.instructions).filter(|(_, instruction)| is_of_floats(instruction)) {
        let place = body.attachments.partition_point(|&(of, _)| of < at);
        let old = body.attachments.get(place).filter(|&&(of, _)| of == at).map(|&(_, list)| list);
        let kept: Vec<(u32, MetadataId)> = old.map_or_else(Vec::new, |list| {
            let is_other = |attached: &&(u32, MetadataId)| new.iter().all(|(kind, _)| *kind != attached.0);
            list.of(&body.attached).iter().filter(is_other).copied().collect()
        });
        let list = Slice::extend(&mut body.attached, kept.into_iter().chain(new));
        match body.attachments.get_mut(place) {
            Some(slot) if old.is_some() => slot.1 = list,
            _ => body.attachments.insert(place, (at, list)),
        }
    }
}
