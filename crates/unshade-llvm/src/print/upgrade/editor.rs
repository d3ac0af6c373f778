//! Edits a body: replaces instructions, and keeps their attachments.

use crate::body::{Call, FunctionBody};
use crate::constants::Constant;
use crate::global::{Function, Symbol, UpgradedPosition};
use crate::ids::{AttributeListId, BlockId, MetadataId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Operand, Value, ValueKind};
use alloc::vec;
use alloc::vec::Vec;

/// A body whose instructions are being replaced.
pub(super) struct Editor<'e, 'a> {
    pub(super) module: &'e mut Module<'a>,
    pub(super) body: &'e mut FunctionBody,
    instructions: Vec<Instruction>,
    /// The location of the instruction being replaced.
    location: u32,
    /// The attachments of new instructions, by their index.
    attached: Vec<(u32, Slice)>,
}

/// What happens to the attachments of a rewritten instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachmentOutcome {
    /// The last pushed instruction takes them over.
    Kept,
    /// They are dropped.
    Dropped,
}

/// Calls `rewrite` for every instruction of a body, which pushes the instructions that replace it.
pub(super) fn rewrite<'a>(
    module: &mut Module<'a>,
    body: &mut FunctionBody,
    mut rewrite: impl FnMut(&mut Editor<'_, 'a>, BlockId, Instruction) -> AttachmentOutcome,
) {
    let old = core::mem::take(&mut body.instructions);
    let blocks = body.blocks.clone();
    let instructions = Vec::with_capacity(old.len());
    let mut editor = Editor { module, body, instructions, location: 0, attached: Vec::new() };
    // For each old instruction: the index of the instruction that takes over its attachments, and the index of its
    // first replacement.
    let mut replacements = vec![(None, 0); old.len()];
    for (at, block) in (0u32..).zip(&blocks) {
        let start = narrow(editor.instructions.len() as u64);
        for (index, &instruction) in (block.start as usize..).zip(block.of(&old)) {
            let first = editor.instructions.len();
            editor.location = instruction.location;
            let outcome = rewrite(&mut editor, BlockId(at), instruction);
            let last = editor.instructions.len().checked_sub(1).filter(|&last| last >= first);
            if let Some(replacement) = replacements.get_mut(index) {
                let kept =
                    last.filter(|_| outcome == AttachmentOutcome::Kept).map(|last| narrow(last as u64));
                *replacement = (kept, narrow(first as u64));
            }
        }
        let count = narrow(editor.instructions.len() as u64) - start;
        if let Some(slot) = editor.body.blocks.get_mut(at as usize) {
            *slot = Slice { start, count };
        }
    }
    let (instructions, attached) = (editor.instructions, editor.attached);
    finish(body, instructions, &replacements);
    if !attached.is_empty() {
        body.attachments.extend(attached);
        body.attachments.sort_by_key(|(at, _)| *at);
    }
}

/// Installs the new instructions and renumbers what refers to them.
fn finish(body: &mut FunctionBody, instructions: Vec<Instruction>, replacements: &[(Option<u32>, u32)]) {
    body.instructions = instructions;
    if !body.origins.is_empty() {
        body.origins = origins(&body.origins, body.instructions.len(), replacements);
    }
    body.attachments.retain_mut(|(at, _)| {
        let kept = replacements.get(*at as usize).and_then(|replacement| replacement.0);
        *at = kept.unwrap_or(0);
        kept.is_some()
    });
    for record in &mut body.debug_records {
        record.before =
            replacements.get(record.before as usize).map_or(record.before, |replacement| replacement.1);
    }
    for at in 0..body.instructions.len() {
        let result = body.instructions.get(at).map_or(ValueId::NONE, |instruction| instruction.result);
        if let Some(value) = body.value_mut(result) {
            value.kind = ValueKind::Instruction(narrow(at as u64));
        }
    }
}

/// Returns for each of the new instructions the origin of the one that it replaces.
fn origins(old: &[u32], count: usize, replacements: &[(Option<u32>, u32)]) -> Vec<u32> {
    let mut origins = Vec::with_capacity(count);
    for (at, &origin) in old.iter().enumerate() {
        let end = replacements.get(at + 1).map_or(count, |next| next.1 as usize);
        origins.resize(end.max(origins.len()), origin);
    }
    origins
}

impl Editor<'_, '_> {
    /// Appends an instruction.
    pub(super) fn push(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    /// Calls `edit` with what it pushes going to another list.
    pub(super) fn detached<T>(
        &mut self,
        list: &mut Vec<Instruction>,
        edit: impl FnOnce(&mut Self) -> T,
    ) -> T {
        core::mem::swap(&mut self.instructions, list);
        let edited = edit(self);
        core::mem::swap(&mut self.instructions, list);
        edited
    }

    /// Appends an instruction with attachments.
    pub(super) fn push_with(&mut self, instruction: Instruction, attachments: &[(u32, MetadataId)]) {
        if !attachments.is_empty() {
            let list = Slice::extend(&mut self.body.attached, attachments.iter().copied());
            self.attached.push((narrow(self.instructions.len() as u64), list));
        }
        self.push(instruction);
    }

    /// Appends operands to the body's pool.
    pub(super) fn operands(&mut self, operands: &[Operand]) -> Slice {
        Slice::extend(&mut self.body.operands, operands.iter().copied())
    }

    /// Creates an instruction at the location of the one being replaced.
    pub(super) fn instruction(&mut self, opcode: Opcode, ty: TypeId, operands: &[Operand]) -> Instruction {
        let operands = self.operands(operands);
        Instruction {
            opcode,
            flags: 0,
            ty,
            result: ValueId::NONE,
            operands,
            detail: 0,
            extra: 0,
            location: self.location,
        }
    }

    /// Adds an unnumbered value.
    pub(super) fn value(&mut self, ty: TypeId, name: &[u8]) -> ValueId {
        let at = self.body.unnumbered.len();
        let kind = ValueKind::Instruction(narrow(self.instructions.len() as u64));
        self.body.unnumbered.push(Value { kind, ty });
        if !name.is_empty() {
            let name = Slice::extend(&mut self.body.name_bytes, name.iter().copied());
            self.body.unnumbered_names.resize(at, Slice::default());
            self.body.unnumbered_names.push(name);
        }
        ValueId(FunctionBody::UNNUMBERED.saturating_add(narrow(at as u64)))
    }

    /// Pushes an instruction and returns its result.
    pub(super) fn emit(&mut self, opcode: Opcode, ty: TypeId, operands: &[Operand]) -> ValueId {
        let mut instruction = self.instruction(opcode, ty, operands);
        instruction.result = self.value(ty, &[]);
        self.push(instruction);
        instruction.result
    }

    /// Adds a constant to the body.
    pub(super) fn constant(&mut self, ty: TypeId, constant: Constant) -> Operand {
        let kind = ValueKind::Constant(self.body.constants.add(constant));
        let at = narrow(self.body.unnumbered.len() as u64);
        self.body.unnumbered.push(Value { kind, ty });
        Operand::value(ValueId(FunctionBody::UNNUMBERED.saturating_add(at)))
    }

    /// Creates a call of a function without attributes; the caller sets its result.
    pub(super) fn call(&mut self, callee: ValueId, arguments: &[Operand]) -> Instruction {
        let ty = match self.module.value(None, callee).map(|value| value.kind) {
            Some(ValueKind::Function(index)) => {
                self.module.functions.get(index as usize).map_or(TypeId::NONE, |f| f.symbol.ty)
            }
            _ => TypeId::NONE,
        };
        let result = match self.module.types.get(ty) {
            Type::Function { result, .. } => result,
            _ => TypeId::NONE,
        };
        let detail = narrow(self.body.calls.len() as u64);
        self.body.calls.push(Call {
            attributes: AttributeListId::NONE,
            function_type: ty,
            convention: 0,
            tail: 0,
            bundles: Slice::default(),
        });
        let operands: Vec<Operand> = [Operand::value(callee)].iter().chain(arguments).copied().collect();
        let mut instruction = self.instruction(Opcode::Call, result, &operands);
        instruction.detail = detail;
        instruction
    }

    /// Returns the node `!{}`, which is added if neither the body nor the module has it.
    pub(super) fn empty_tuple(&mut self) -> MetadataId {
        empty_tuple(self.module, self.body)
    }

    /// Returns the type of an operand.
    pub(super) fn type_of(&self, operand: Operand) -> TypeId {
        let value = operand.as_value().and_then(|id| self.module.value(Some(self.body), id));
        value.map_or(TypeId::NONE, |value| value.ty)
    }
}

/// Returns the metadata tuple without elements: that of a body, if it has one, or else of the module.
pub(super) fn empty_tuple(module: &mut Module<'_>, body: &FunctionBody) -> MetadataId {
    let own = body.metadata.iter().find(|(_, entry)| entry.is_empty_tuple());
    match own {
        Some((id, _)) => id,
        None => MetadataId(narrow(module.metadata.add_tuple(&[]).saturating_sub(1))),
    }
}

/// Returns the pointer to a type: opaque if the module has opaque pointers, else typed.
pub(super) fn pointer_to(module: &mut Module<'_>, pointee: TypeId) -> TypeId {
    let opaque = Type::OpaquePointer { address_space: 0 };
    match module.types.find(opaque) {
        Some(pointer) => pointer,
        None => module.types.intern(Type::Pointer { pointee, address_space: 0 }),
    }
}

/// Returns the function with a name.
pub(super) fn find_function(module: &Module<'_>, name: &[u8]) -> Option<usize> {
    module
        .functions
        .iter()
        .position(|function| function.symbol.name == name && function.position != UpgradedPosition::Replaced)
}

/// Returns the function with a name, which is declared after all others if there is none.
pub(super) fn declare(module: &mut Module<'_>, name: &[u8], ty: TypeId) -> ValueId {
    if let Some(function) = find_function(module, name).and_then(|at| module.functions.get(at)) {
        return function.symbol.value;
    }
    let kind = ValueKind::Function(narrow(module.functions.len() as u64));
    let pointer = pointer_to(module, ty);
    let value = module.add_upgrade_value(Value { kind, ty: pointer });
    let symbol = Symbol::new(name.to_vec(), ty, 0, value);
    module.functions.push(Function { position: UpgradedPosition::AtEnd, ..Function::new(symbol) });
    value
}
