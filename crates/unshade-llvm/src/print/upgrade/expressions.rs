//! Expands constant expressions that LLVM no longer has: since version 19 most of them, since 20 `mul`, too.
//!
//! An expression that an instruction uses becomes instructions before it; aggregates that contain one are built
//! with `insertelement` and `insertvalue`. Each operand is expanded separately, and all names are numbered by one
//! counter. In metadata such expressions become `undef`, in LLVM 22 `poison`. Operands of a `phi` would need a block of their own and
//! are left unchanged.
//!
//! Knowledge: the output of `llvm-dis` 19 and 22 for files of LLVM 3 to 16; LLVM's release notes on constant expressions.

use super::super::Dialect;
use super::edges::EdgeBlocks;
use super::editor::{self, AttachmentOutcome, Editor};
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants, Expression};
use crate::ids::{BlockId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::module::Module;
use crate::types::{Type, TypeTable};
use crate::value::Operand;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum nesting depth of constants.
const MAX_DEPTH: u32 = 64;
/// Maximum number of instructions that the constants of a body expand to.
const MAX_EXPANDED: usize = 1 << 16;

/// Returns whether a version no longer has an expression.
pub(super) fn is_removed(types: &TypeTable, expression: &Expression, dialect: Dialect) -> bool {
    match expression.opcode {
        Opcode::Add
        | Opcode::Sub
        | Opcode::Xor
        | Opcode::Trunc
        | Opcode::PtrToInt
        | Opcode::PtrToAddr
        | Opcode::IntToPtr
        | Opcode::BitCast
        | Opcode::AddrSpaceCast
        | Opcode::ExtractElement
        | Opcode::InsertElement
        | Opcode::ShuffleVector
        | Opcode::PtrAuth => false,
        Opcode::Mul => dialect == Dialect::Llvm22,
        Opcode::GetElementPtr => matches!(types.get(expression.ty), Type::Vector { scalable: true, .. }),
        _ => true,
    }
}

fn any_removed(types: &TypeTable, constants: &Constants, dialect: Dialect) -> bool {
    constants.expressions().iter().any(|expression| is_removed(types, expression, dialect))
}

/// Returns whether constants of a module are removed expressions.
pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    any_removed(&module.types, &module.constants, dialect)
}

/// Returns whether constants of a body are removed expressions.
pub(super) fn any_old(module: &Module<'_>, body: &FunctionBody, dialect: Dialect) -> bool {
    any_removed(&module.types, &body.constants, dialect)
}

/// Caches whether constants contain a removed expression: first those of the module, then those of a body.
pub(super) struct RemovedExpressionCache {
    dialect: Dialect,
    known: [BTreeMap<u32, bool>; 2],
}

impl RemovedExpressionCache {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, known: Default::default() }
    }

    /// Returns what a value in metadata becomes that would have to be computed.
    fn lost(&self) -> Constant {
        if self.dialect == Dialect::Llvm22 { Constant::Poison } else { Constant::Undef }
    }

    fn of(&mut self, module: &Module<'_>, id: ValueId) -> &mut BTreeMap<u32, bool> {
        let [shared, local] = &mut self.known;
        if id.index() < module.values.len() { shared } else { local }
    }

    fn contains_removed(
        &mut self,
        module: &Module<'_>,
        body: &FunctionBody,
        id: ValueId,
        depth: u32,
    ) -> bool {
        if let Some(&known) = self.of(module, id).get(&id.0) {
            return known;
        }
        let Some((constant, constants)) = module.constant(Some(body), id) else { return false };
        let parts = match constant {
            Constant::Aggregate(parts) => parts,
            Constant::Expression(index) => match constants.expression(index) {
                Some(expression) if is_removed(&module.types, expression, self.dialect) => {
                    self.of(module, id).insert(id.0, true);
                    return true;
                }
                Some(expression) => expression.operands,
                None => return false,
            },
            _ => return false,
        };
        // Break cycles: a constant that contains itself adds nothing.
        self.of(module, id).insert(id.0, false);
        let parts = constants.values(parts).to_vec();
        let holds = depth < MAX_DEPTH
            && parts.iter().any(|&part| self.contains_removed(module, body, part, depth + 1));
        self.of(module, id).insert(id.0, holds);
        holds
    }
}

/// Replaces the removed expressions that a body uses by instructions.
pub(super) fn expand(module: &mut Module<'_>, body: &mut FunctionBody, known: &mut RemovedExpressionCache) {
    known.known[1].clear();
    undef_metadata(module, body, known);
    let mut names = NameCounter::default();
    let mut edges = EdgeBlocks::default();
    editor::rewrite(module, body, |editor, block, mut instruction| {
        if instruction.opcode == Opcode::Phi {
            let operands = editor.body.operands_of(&instruction).to_vec();
            let changed = expand_phi(editor, known, &mut names, &mut edges, block, &operands);
            if changed != operands {
                instruction.operands = editor.operands(&changed);
            }
            editor.push(instruction);
            return AttachmentOutcome::Kept;
        }
        let operands = editor.body.operands_of(&instruction).to_vec();
        let mut changed = operands.clone();
        for at in reading_order(instruction.opcode, operands.len()) {
            let Some(id) = operands.get(at).and_then(|operand| operand.as_value()) else { continue };
            if !known.contains_removed(editor.module, editor.body, id, 0) {
                continue;
            }
            let mut expansion =
                Expansion { known: &mut *known, names: &mut names, expanded: BTreeMap::new() };
            if let (Some(value), Some(slot)) = (expansion.expand(editor, id, 0), changed.get_mut(at)) {
                *slot = Operand::value(value);
            }
        }
        if changed != operands {
            instruction.operands = editor.operands(&changed);
        }
        editor.push(instruction);
        AttachmentOutcome::Kept
    });
    edges.install(module, body);
}

/// Returns the operands of a `phi`, expanded in the blocks of its edges. Equal predecessors have equal values.
fn expand_phi(
    editor: &mut Editor<'_, '_>,
    known: &mut RemovedExpressionCache,
    names: &mut NameCounter,
    edges: &mut EdgeBlocks,
    to: BlockId,
    operands: &[Operand],
) -> Vec<Operand> {
    let mut changed = operands.to_vec();
    let mut seen: Vec<(BlockId, Operand)> = Vec::new();
    for pair in changed.chunks_exact_mut(2) {
        let [value, from] = pair else { continue };
        let (Some(id), Some(from)) = (value.as_value(), from.as_block()) else { continue };
        if let Some(&(_, first)) = seen.iter().find(|(block, _)| *block == from) {
            *value = first;
            continue;
        }
        // The name is taken even where nothing is expanded.
        if edges.needs_name(from, to) {
            edges.set_name(names.next(PHI_BLOCK));
        }
        let expanded = edges.on_edge(editor, (from, to), |editor| {
            let mut expansion = Expansion { known, names, expanded: BTreeMap::new() };
            expansion.expand(editor, id, 0)
        });
        if let Some(expanded) = expanded {
            *value = Operand::value(expanded);
        }
        seen.push((from, *value));
    }
    changed
}

/// Returns the order in which LLVM's reader expands operands.
fn reading_order(opcode: Opcode, count: usize) -> Vec<usize> {
    match opcode {
        Opcode::Select => [1, 2, 0].to_vec(),
        Opcode::Store => [1, 0].to_vec(),
        _ => (0..count).collect(),
    }
}

/// Replaces values in metadata that would have to be computed.
fn undef_metadata(module: &mut Module<'_>, body: &mut FunctionBody, known: &mut RemovedExpressionCache) {
    let entries: Vec<_> = body.metadata.iter().collect();
    for (id, entry) in entries {
        if let Metadata::Value { ty, value } = entry
            && known.contains_removed(module, body, value, 0)
        {
            let value = module.add_constant(known.lost(), ty);
            body.metadata.replace(id, Metadata::Value { ty, value });
        }
    }
}

/// Does the same for metadata of the module.
pub(super) fn undef_module_metadata(module: &mut Module<'_>, known: &mut RemovedExpressionCache) {
    let nothing = FunctionBody::default();
    let entries: Vec<_> = module.metadata.iter().collect();
    for (id, entry) in entries {
        if let Metadata::Value { ty, value } = entry
            && known.contains_removed(module, &nothing, value, 0)
        {
            let value = module.add_constant(known.lost(), ty);
            module.metadata.replace(id, Metadata::Value { ty, value });
        }
    }
}

/// The names of what expressions expand to, by number.
const BASES: [&str; 3] = ["constexpr", "constexpr.ins", "phi.constexpr"];
const PLAIN: usize = 0;
const INSERTION: usize = 1;
const PHI_BLOCK: usize = 2;

/// Names of new instructions and blocks: a base name, followed by the next number except on first use.
#[derive(Default)]
struct NameCounter {
    used: [bool; 3],
    last: u64,
}

impl NameCounter {
    fn next(&mut self, base: usize) -> String {
        let mut name = String::from(BASES.get(base).copied().unwrap_or(""));
        let is_used = self.used.get_mut(base).is_some_and(|used| core::mem::replace(used, true));
        if is_used {
            self.last += 1;
            super::super::text::push_number(&mut name, self.last);
        }
        name
    }
}

/// The expansion of one operand into instructions.
struct Expansion<'e> {
    known: &'e mut RemovedExpressionCache,
    names: &'e mut NameCounter,
    expanded: BTreeMap<u32, ValueId>,
}

impl Expansion<'_> {
    fn expand(&mut self, editor: &mut Editor<'_, '_>, id: ValueId, depth: u32) -> Option<ValueId> {
        if !self.known.contains_removed(editor.module, editor.body, id, 0) {
            return Some(id);
        }
        if let Some(&expanded) = self.expanded.get(&id.0) {
            return Some(expanded);
        }
        if depth > MAX_DEPTH || editor.body.unnumbered.len() > MAX_EXPANDED {
            return None;
        }
        let ty = editor.module.value(Some(editor.body), id)?.ty;
        let (constant, constants) = editor.module.constant(Some(editor.body), id)?;
        let expression = match constant {
            Constant::Expression(index) => Some(*constants.expression(index)?),
            _ => None,
        };
        let parts = match (constant, expression) {
            (_, Some(expression)) => expression.operands,
            (Constant::Aggregate(parts), _) => parts,
            _ => return Some(id),
        };
        let parts = constants.values(parts).to_vec();
        let mut operands = Vec::new();
        for part in parts {
            operands.push(Operand::value(self.expand(editor, part, depth + 1)?));
        }
        let expanded = match expression {
            Some(expression) => self.compute(editor, ty, &expression, &operands),
            None => self.assemble(editor, ty, &operands),
        };
        self.expanded.insert(id.0, expanded);
        Some(expanded)
    }

    fn finish(
        &mut self,
        editor: &mut Editor<'_, '_>,
        mut instruction: Instruction,
        insertion: bool,
    ) -> ValueId {
        let name = self.names.next(if insertion { INSERTION } else { PLAIN });
        instruction.result = editor.value(instruction.ty, name.as_bytes());
        editor.push(instruction);
        instruction.result
    }

    fn compute(
        &mut self,
        editor: &mut Editor<'_, '_>,
        ty: TypeId,
        expression: &Expression,
        operands: &[Operand],
    ) -> ValueId {
        let mut instruction = editor.instruction(expression.opcode, ty, operands);
        match expression.opcode {
            Opcode::ICmp | Opcode::FCmp => instruction.detail = expression.flags,
            Opcode::GetElementPtr => {
                instruction.detail = expression.ty.0;
                instruction.flags = (expression.flags & 7) as u16;
            }
            _ => instruction.flags = (expression.flags & 0xFF) as u16,
        }
        // LLVM creates the instructions before it has read a location.
        instruction.location = 0;
        self.finish(editor, instruction, false)
    }

    fn assemble(&mut self, editor: &mut Editor<'_, '_>, ty: TypeId, operands: &[Operand]) -> ValueId {
        let vector = matches!(editor.module.types.get(ty), Type::Vector { .. });
        let mut whole = editor.constant(ty, Constant::Poison);
        for (at, &operand) in (0u64..).zip(operands) {
            let mut instruction = if vector {
                let word = editor.module.types.intern(Type::Integer(32));
                let index = editor.constant(word, Constant::Integer(at));
                editor.instruction(Opcode::InsertElement, ty, &[whole, operand, index])
            } else {
                let mut insert = editor.instruction(Opcode::InsertValue, ty, &[whole, operand]);
                let indices = Slice::extend(&mut editor.body.indices, [narrow(at)]);
                (insert.detail, insert.extra) = (indices.start, indices.count);
                insert
            };
            instruction.location = 0;
            whole = Operand::value(self.finish(editor, instruction, true));
        }
        whole.as_value().unwrap_or(ValueId::NONE)
    }
}
