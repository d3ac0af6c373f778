//! Turns AMD's intrinsics for atomic accesses into `atomicrmw`.
//!
//! | name | since LLVM 19 | since LLVM 22 |
//! |---|---|---|
//! | `llvm.amdgcn.atomic.inc`, `atomic.dec` | `uinc_wrap`, `udec_wrap` | the same |
//! | `llvm.amdgcn.ds.fadd`, `ds.fmin`, `ds.fmax` | `fadd`, `fmin`, `fmax` | the same |
//! | `llvm.amdgcn.global.atomic.fadd` and so on, `flat.atomic.fadd` and so on | | `fadd`, `fmin`, `fmax` |
//!
//! Arguments are the pointer, the operand and, except for some names, the ordering, the scope, which LLVM ignores, and
//! whether the access is volatile. Outside of local memory attachments say what the intrinsics assume. An operand of
//! `i16` vectors is one of `bfloat`.
//!
//! Knowledge: the output of `llvm-dis` 19 and 22 for old files; the AMDGPU guide on these attachments.

use super::super::Dialect;
use super::editor::{AttachmentOutcome, Editor};
use crate::constants::Constant;
use crate::ids::{MetadataId, TypeId, narrow};
use crate::instruction::{Instruction, Memory, Opcode};
use crate::metadata::{Attachments, Metadata};
use crate::module::Module;
use crate::types::Type;
use crate::value::Operand;
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Names without `llvm.amdgcn.` that LLVM 19 upgrades, and their operation.
const SINCE_19: [(&str, Operation); 5] = [
    ("atomic.dec.", Operation::DECREMENT),
    ("atomic.inc.", Operation::INCREMENT),
    ("ds.fadd", Operation::ADD),
    ("ds.fmax", Operation::MAXIMUM),
    ("ds.fmin", Operation::MINIMUM),
];

/// Those that only LLVM 22 upgrades.
const SINCE_22: [(&str, Operation); 6] = [
    ("flat.atomic.fadd", Operation::ADD),
    ("flat.atomic.fmax", Operation::MAXIMUM),
    ("flat.atomic.fmin", Operation::MINIMUM),
    ("global.atomic.fadd", Operation::ADD),
    ("global.atomic.fmax", Operation::MAXIMUM),
    ("global.atomic.fmin", Operation::MINIMUM),
];

/// Intrinsics whose names start like those above, but that remain.
const REMAINING: [&str; 4] =
    ["flat.atomic.fmax.num", "flat.atomic.fmin.num", "global.atomic.fmax.num", "global.atomic.fmin.num"];

const FLAT_MEMORY: u32 = 0;
const LOCAL_MEMORY: u32 = 3;
/// The address space that a flat pointer is known not to point to, as a range.
const PRIVATE_MEMORY: [u64; 2] = [5, 6];
const NO_FINE_GRAINED: &[u8] = b"amdgpu.no.fine.grained.memory";
const IGNORE_DENORMAL: &[u8] = b"amdgpu.ignore.denormal.mode";
const NO_ALIAS: &[u8] = b"noalias.addrspace";
const SCOPE: &[u8] = b"agent";
/// The ordering `seq_cst`, by its number in bitcode.
const SEQUENTIAL: u64 = 6;

/// An operation of `atomicrmw`, by its number in bitcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Operation(u16);

impl Operation {
    pub(super) const ADD: Self = Self(11);
    const MAXIMUM: Self = Self(13);
    const MINIMUM: Self = Self(14);
    pub(super) const INCREMENT: Self = Self(15);
    pub(super) const DECREMENT: Self = Self(16);

    /// Returns its number in bitcode.
    pub(super) fn number(self) -> u16 {
        self.0
    }
}

/// Returns the operation of an intrinsic that a version upgrades, by its name without `llvm.` and its type.
pub(super) fn operation(
    module: &Module<'_>,
    dialect: Dialect,
    name: &str,
    (result, parameters): (TypeId, &[TypeId]),
) -> Option<Operation> {
    let name = name.strip_prefix("amdgcn.")?;
    let later: &[_] = if dialect == Dialect::Llvm22 { &SINCE_22 } else { &[] };
    let mut names = SINCE_19.iter().filter(|_| dialect.is_opaque()).chain(later);
    let (_, operation) = names.find(|(prefix, _)| name.starts_with(prefix))?;
    let &[pointer, operand, ..] = parameters else { return None };
    let fits = module.types.is_pointer(pointer) && operand == result;
    let remains = REMAINING.iter().any(|prefix| name.starts_with(prefix));
    (fits && !remains).then_some(*operation)
}

/// What the upgrade of a module adds to it, for all accesses.
#[derive(Clone, Copy)]
pub(super) struct AtomicContext {
    scope: u32,
    no_fine_grained: u32,
    ignore_denormal: u32,
    /// The kind and the range of the address spaces; since LLVM 22.
    no_alias: Option<(u32, MetadataId)>,
}

impl AtomicContext {
    pub(super) fn new(module: &mut Module<'_>, dialect: Dialect) -> Self {
        let no_alias = (dialect == Dialect::Llvm22).then(|| (kind(module, NO_ALIAS), private_memory(module)));
        Self {
            scope: scope(module),
            no_fine_grained: kind(module, NO_FINE_GRAINED),
            ignore_denormal: kind(module, IGNORE_DENORMAL),
            no_alias,
        }
    }

    /// Replaces a call by an `atomicrmw`, whose result has no name.
    pub(super) fn rebuild(
        self,
        editor: &mut Editor<'_, '_>,
        old: Instruction,
        operation: Operation,
        arguments: &[Operand],
    ) -> AttachmentOutcome {
        let &[pointer, operand, ..] = arguments else {
            editor.push(old);
            return AttachmentOutcome::Kept;
        };
        let number = |editor: &Editor<'_, '_>, at: usize| {
            let id = arguments.get(at)?.as_value()?;
            editor.module.integer(Some(editor.body), id)
        };
        let ordering = number(editor, 2).and_then(ordering);
        let is_volatile = arguments.len() > 4 && number(editor, 4) != Some(0);
        let bfloats = bfloats(editor.module, old.ty);
        let operand = match bfloats {
            Some(ty) => cast(editor, operand, ty),
            None => operand,
        };
        let mut access =
            editor.instruction(Opcode::AtomicRmw, bfloats.unwrap_or(old.ty), &[pointer, operand]);
        access.flags = operation.0 << 8 | u16::from(is_volatile);
        access.detail = self.scope;
        access.extra = Memory::new(0, ordering.unwrap_or(SEQUENTIAL), 0).0;
        editor.body.forget_name(old.result);
        let attachments = self.attachments(editor, operation, pointer, old.ty);
        if bfloats.is_some() {
            access.result = editor.value(access.ty, &[]);
            editor.push_with(access, &attachments);
            let mut back = editor.instruction(Opcode::BitCast, old.ty, &[Operand::value(access.result)]);
            back.result = old.result;
            editor.push(back);
        } else {
            access.result = old.result;
            editor.push_with(access, &attachments);
        }
        AttachmentOutcome::Dropped
    }

    /// Returns the attachments of an access to a pointer.
    fn attachments(
        self,
        editor: &mut Editor<'_, '_>,
        operation: Operation,
        pointer: Operand,
        ty: TypeId,
    ) -> Attachments {
        let mut attachments = Attachments::new();
        let space = editor.module.types.address_space(editor.type_of(pointer)).unwrap_or(FLAT_MEMORY);
        if space == LOCAL_MEMORY {
            return attachments;
        }
        attachments.extend(self.no_alias.filter(|_| space == FLAT_MEMORY));
        let empty = editor.empty_tuple();
        attachments.push((self.no_fine_grained, empty));
        let is_single = editor.module.types.get(ty) == Type::Float;
        if self.no_alias.is_some() && is_single && operation == Operation::ADD {
            attachments.push((self.ignore_denormal, empty));
        }
        attachments
    }
}

/// Returns the number in bitcode of the ordering of an argument, which counts `consume`, number 3, as well.
fn ordering(argument: u64) -> Option<u64> {
    match argument {
        2 => Some(2),
        4..=7 => Some(argument - 1),
        _ => None,
    }
}

/// Returns the vector of `bfloat` in place of one of `i16`.
fn bfloats(module: &mut Module<'_>, ty: TypeId) -> Option<TypeId> {
    let Type::Vector { count, element, scalable } = module.types.get(ty) else { return None };
    if module.types.get(element) != Type::Integer(16) {
        return None;
    }
    let element = module.types.intern(Type::BFloat);
    Some(module.types.intern(Type::Vector { count, element, scalable }))
}

/// Casts an operand; simple constants only change their type.
fn cast(editor: &mut Editor<'_, '_>, operand: Operand, ty: TypeId) -> Operand {
    let constant = operand.as_value().and_then(|id| editor.module.constant(Some(editor.body), id));
    match constant.map(|(constant, _)| constant) {
        Some(plain @ (Constant::Null | Constant::Undef | Constant::Poison)) => editor.constant(ty, plain),
        _ => Operand::value(editor.emit(Opcode::BitCast, ty, &[operand])),
    }
}

/// Returns the number of a scope, which is added if it is new.
fn scope(module: &mut Module<'_>) -> u32 {
    if module.sync_scopes.is_empty() {
        module.sync_scopes = [&b"singlethread"[..], b""].map(<[u8]>::to_vec).to_vec();
    }
    let known = module.sync_scopes.iter().position(|name| name == SCOPE);
    let at = known.unwrap_or_else(|| {
        module.sync_scopes.push(SCOPE.to_vec());
        module.sync_scopes.len() - 1
    });
    narrow(at as u64)
}

/// Returns the number of a metadata kind, which is added if it is new.
pub(super) fn kind(module: &mut Module<'_>, name: &[u8]) -> u32 {
    if let Some(number) = module.metadata_kind(name) {
        return number;
    }
    let number = module.metadata_kinds.iter().map(|(number, _)| number.saturating_add(1)).max().unwrap_or(0);
    module.metadata_kinds.push((number, Cow::Owned(name.to_vec())));
    number
}

/// Returns the node with the range of private memory, which is added if the module has none.
fn private_memory(module: &mut Module<'_>) -> MetadataId {
    let number = |reference: &u64| {
        let id = MetadataId(narrow(reference.checked_sub(1)?));
        let Metadata::Value { value, .. } = module.metadata.get(id)? else { return None };
        let ty = module.value(None, value)?.ty;
        module.integer(None, value).filter(|_| module.types.get(ty) == Type::Integer(32))
    };
    let is_range = |entry: Metadata| match entry {
        Metadata::Node(node) => {
            let numbers: Option<Vec<u64>> = module.metadata.references(node).iter().map(number).collect();
            !node.distinct && numbers.is_some_and(|numbers| numbers == PRIVATE_MEMORY)
        }
        _ => false,
    };
    let known = module.metadata.iter().find(|(_, entry)| is_range(*entry)).map(|(id, _)| id);
    known.unwrap_or_else(|| {
        let bounds = PRIVATE_MEMORY.map(|bound| super::metadata::integer(module, 32, bound));
        MetadataId(narrow(module.metadata.add_tuple(&bounds).saturating_sub(1)))
    })
}
