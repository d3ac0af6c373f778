//! Drops debug information, as LLVM does with a text that does not state the version of its own, or whose debug
//! information is not valid.
//!
//! Named metadata of debug info, subprograms of functions, locations and records of instructions, calls of
//! `llvm.dbg.*` and the locations of loops go; nodes that nothing refers to any more are not written.
//!
//! Knowledge: what `llvm-as` 14 and 19 write of such texts.

use super::Assembled;
use super::removal::{Renumbering, remove_instructions};
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, Slice, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::module::Module;
use crate::value::ValueKind;
use alloc::vec::Vec;

/// The version of debug info since LLVM 3.5.
const VERSION: u64 = 3;
/// What the names of metadata and of functions of debug info start with.
const NAMED: [&[u8]; 2] = [b"llvm.dbg.", b"llvm.gcov"];
const CALLED: &[u8] = b"llvm.dbg.";
/// Attachments of debug info: of symbols, and of instructions.
const LOCATION: &[u8] = b"dbg";
const OF_INSTRUCTIONS: [&[u8]; 2] = [b"heapallocsite", b"DIAssignID"];
const LOOP: &[u8] = b"llvm.loop";

/// Returns whether a module states that its debug information is of the current version.
pub(super) fn states_version(module: &Module<'_>) -> bool {
    module.flag(b"Debug Info Version") == Some(VERSION)
}

/// Drops the debug information of a module; returns whether there was any.
pub(super) fn strip(assembled: &mut Assembled) -> bool {
    let Assembled { module, bodies, uses, positions, .. } = assembled;
    let mut changed = false;
    let mut kept =
        module.named_metadata.iter().map(|named| !NAMED.iter().any(|of| named.name.starts_with(of)));
    let stays: Vec<bool> = kept.by_ref().collect();
    changed |= stays.contains(&false);
    let mut stay = stays.iter().copied();
    module.named_metadata.retain(|_| stay.next().unwrap_or(true));
    let mut stay = stays.iter().copied();
    positions.named.retain(|_| stay.next().unwrap_or(true));
    let (location, of_loop) = (module.metadata_kind(LOCATION), module.metadata_kind(LOOP));
    let dropped: Vec<u32> = OF_INSTRUCTIONS.iter().filter_map(|name| module.metadata_kind(name)).collect();
    let globals = module.globals.iter_mut().map(|global| &mut global.symbol);
    for symbol in globals.chain(module.functions.iter_mut().map(|function| &mut function.symbol)) {
        let before = symbol.attachments.len();
        symbol.attachments.retain(|(kind, _)| Some(*kind) != location);
        changed |= symbol.attachments.len() != before;
    }
    for (at, body) in bodies.iter_mut().enumerate() {
        changed |= strip_locations(body);
        let is_call = |instruction: &Instruction| is_debug_call(module, body, instruction);
        let renumbering = Renumbering::new(body.instructions.iter().map(|instruction| !is_call(instruction)));
        if !renumbering.is_identity() {
            changed = true;
            remove_instructions(at, body, &renumbering, uses, positions);
        }
        changed |= strip_attachments(module, body, &dropped, of_loop);
    }
    changed
}

fn strip_locations(body: &mut FunctionBody) -> bool {
    let changed = !body.locations.is_empty() || !body.debug_records.is_empty();
    body.locations.clear();
    body.debug_records.clear();
    for instruction in &mut body.instructions {
        instruction.location = 0;
    }
    changed
}

fn is_debug_call(module: &Module<'_>, body: &FunctionBody, instruction: &Instruction) -> bool {
    let callee = body.operands_of(instruction).first().and_then(|callee| callee.as_value());
    let kind = callee.and_then(|callee| module.value(None, callee)).map(|value| value.kind);
    let Some(ValueKind::Function(index)) = kind.filter(|_| instruction.opcode == Opcode::Call) else {
        return false;
    };
    module.functions.get(index as usize).is_some_and(|function| function.symbol.name.starts_with(CALLED))
}

/// Removes attachments of debug info, and the locations in the metadata of loops.
fn strip_attachments(
    module: &mut Module<'_>,
    body: &mut FunctionBody,
    dropped: &[u32],
    of_loop: Option<u32>,
) -> bool {
    let mut changed = false;
    for at in 0..body.attachments.len() {
        let Some(&(_, list)) = body.attachments.get(at) else { continue };
        let old = list.of(&body.attached).to_vec();
        let mut new = Vec::with_capacity(old.len());
        for &(kind, node) in &old {
            if Some(kind) == of_loop {
                new.extend(strip_loop(module, node).map(|node| (kind, node)));
            } else if !dropped.contains(&kind) {
                new.push((kind, node));
            }
        }
        if new != old {
            changed = true;
            let list = Slice::extend(&mut body.attached, new);
            if let Some(slot) = body.attachments.get_mut(at) {
                slot.1 = list;
            }
        }
    }
    body.attachments.retain(|(_, list)| list.count > 0);
    changed
}

/// Returns the metadata of a loop without locations; none if nothing is left.
fn strip_loop(module: &mut Module<'_>, id: MetadataId) -> Option<MetadataId> {
    let node = match module.metadata.get(id) {
        Some(Metadata::Node(node)) if node.kind == NodeKind::Tuple => node,
        _ => return Some(id),
    };
    let references = module.metadata.references(node).to_vec();
    let is_location = |reference: &u64| {
        let id = reference.checked_sub(1).map(|id| MetadataId(narrow(id)));
        let kind = id.and_then(|id| module.node(id)).map(|node| node.kind);
        kind == Some(NodeKind::Location)
    };
    let (first, rest) = references.split_first()?;
    let mut kept: Vec<u64> = rest.iter().filter(|reference| !is_location(reference)).copied().collect();
    if kept.len() == rest.len() {
        return Some(id);
    }
    if kept.is_empty() {
        return None;
    }
    kept.insert(0, *first);
    let stripped = module.metadata.node(NodeKind::Tuple, true, &kept, &[]);
    let new = module.metadata.add(stripped);
    // The first operand is the node itself.
    if let Some(Metadata::Node(node)) = module.metadata.get(new) {
        module.metadata.set_reference(node, 0, u64::from(new.0) + 1);
    }
    Some(new)
}
