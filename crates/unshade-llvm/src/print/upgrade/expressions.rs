//! Constant expressions that LLVM 19 no longer has.
//!
//! Where an instruction uses one, it becomes instructions in front of it; aggregates that hold one are put together by
//! `insertelement` and `insertvalue`. Each operand is expanded on its own, and names are numbered by one count. In
//! metadata they become `undef`. Those that reach a `phi` would need a block of their own and stay as they are.
//!
//! Knowledge: the effect of `llvm-dis` 19 on files of LLVM 3 to 16; LLVM's release notes on constant expressions.

use super::edit::{self, Editor, Outcome};
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants, Expression};
use crate::ids::{Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::Metadata;
use crate::module::Module;
use crate::types::{Type, TypeTable};
use crate::value::Operand;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// How deep constants may nest.
const MAX_DEPTH: u32 = 64;
/// How many instructions the constants of one body may become.
const MAX_EXPANDED: usize = 1 << 16;

fn is_gone(types: &TypeTable, expression: &Expression) -> bool {
    match expression.opcode {
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Xor
        | Opcode::Trunc
        | Opcode::PtrToInt
        | Opcode::IntToPtr
        | Opcode::BitCast
        | Opcode::AddrSpaceCast
        | Opcode::ExtractElement
        | Opcode::InsertElement
        | Opcode::ShuffleVector
        | Opcode::PtrAuth => false,
        Opcode::GetElementPtr => matches!(types.get(expression.ty), Type::Vector { scalable: true, .. }),
        _ => true,
    }
}

fn any_gone(types: &TypeTable, constants: &Constants) -> bool {
    constants.expressions().iter().any(|expression| is_gone(types, expression))
}

/// Whether constants of a module are such expressions.
pub(super) fn is_old(module: &Module<'_>) -> bool {
    any_gone(&module.types, &module.constants)
}

/// Whether constants of a body are such expressions.
pub(super) fn any_old(module: &Module<'_>, body: &FunctionBody) -> bool {
    any_gone(&module.types, &body.constants)
}

/// What is known of constants: whether they hold an expression that is gone. Those of the module, then those of a body.
#[derive(Default)]
pub(super) struct Known([BTreeMap<u32, bool>; 2]);

impl Known {
    fn of(&mut self, module: &Module<'_>, id: ValueId) -> &mut BTreeMap<u32, bool> {
        let [shared, local] = &mut self.0;
        if id.index() < module.values.len() { shared } else { local }
    }

    fn holds_gone(&mut self, module: &Module<'_>, body: &FunctionBody, id: ValueId, depth: u32) -> bool {
        if let Some(&known) = self.of(module, id).get(&id.0) {
            return known;
        }
        let Some((constant, constants)) = module.constant(Some(body), id) else { return false };
        let parts = match constant {
            Constant::Aggregate(parts) => parts,
            Constant::Expression(index) => match constants.expression(index) {
                Some(expression) if is_gone(&module.types, expression) => {
                    self.of(module, id).insert(id.0, true);
                    return true;
                }
                Some(expression) => expression.operands,
                None => return false,
            },
            _ => return false,
        };
        // A constant that holds itself holds nothing new.
        self.of(module, id).insert(id.0, false);
        let parts = constants.values(parts).to_vec();
        let holds =
            depth < MAX_DEPTH && parts.iter().any(|&part| self.holds_gone(module, body, part, depth + 1));
        self.of(module, id).insert(id.0, holds);
        holds
    }
}

/// Puts instructions in place of the expressions that a body uses.
pub(super) fn expand(module: &mut Module<'_>, body: &mut FunctionBody, known: &mut Known) {
    known.0[1].clear();
    blank_metadata(module, body, known);
    let mut names = Names::default();
    edit::rewrite(module, body, |editor, _, mut instruction| {
        let operands = editor.body.operands_of(&instruction).to_vec();
        let mut changed = operands.clone();
        for at in reading_order(instruction.opcode, operands.len()) {
            let Some(id) = operands.get(at).and_then(|operand| operand.as_value()) else { continue };
            if instruction.opcode == Opcode::Phi || !known.holds_gone(editor.module, editor.body, id, 0) {
                continue;
            }
            let mut expansion = Expansion { known: &mut *known, names: &mut names, made: BTreeMap::new() };
            if let (Some(value), Some(slot)) = (expansion.expand(editor, id, 0), changed.get_mut(at)) {
                *slot = Operand::value(value);
            }
        }
        if changed != operands {
            instruction.operands = editor.operands(&changed);
        }
        editor.push(instruction);
        Outcome::Kept
    });
}

/// The order in which the reader comes upon operands.
fn reading_order(opcode: Opcode, count: usize) -> Vec<usize> {
    match opcode {
        Opcode::Select => [1, 2, 0].to_vec(),
        Opcode::Store => [1, 0].to_vec(),
        _ => (0..count).collect(),
    }
}

/// Values in metadata can't be computed.
fn blank_metadata(module: &mut Module<'_>, body: &mut FunctionBody, known: &mut Known) {
    let entries: Vec<_> = body.metadata.iter().collect();
    for (id, entry) in entries {
        if let Metadata::Value { ty, value } = entry
            && known.holds_gone(module, body, value, 0)
        {
            let value = module.add_constant(Constant::Undef, ty);
            body.metadata.replace(id, Metadata::Value { ty, value });
        }
    }
}

/// The same for metadata of the module.
pub(super) fn blank_module_metadata(module: &mut Module<'_>, known: &mut Known) {
    let nothing = FunctionBody::default();
    let entries: Vec<_> = module.metadata.iter().collect();
    for (id, entry) in entries {
        if let Metadata::Value { ty, value } = entry
            && known.holds_gone(module, &nothing, value, 0)
        {
            let value = module.add_constant(Constant::Undef, ty);
            module.metadata.replace(id, Metadata::Value { ty, value });
        }
    }
}

/// Names of new instructions: the first has none behind its base, the others the next number.
#[derive(Default)]
struct Names {
    plain_used: bool,
    insertion_used: bool,
    last: u64,
}

impl Names {
    fn next(&mut self, insertion: bool) -> String {
        let (base, used) = match insertion {
            true => ("constexpr.ins", &mut self.insertion_used),
            false => ("constexpr", &mut self.plain_used),
        };
        let mut name = String::from(base);
        if core::mem::replace(used, true) {
            self.last += 1;
            super::super::text::push_number(&mut name, self.last);
        }
        name
    }
}

/// One operand that becomes instructions.
struct Expansion<'e> {
    known: &'e mut Known,
    names: &'e mut Names,
    made: BTreeMap<u32, ValueId>,
}

impl Expansion<'_> {
    fn expand(&mut self, editor: &mut Editor<'_, '_>, id: ValueId, depth: u32) -> Option<ValueId> {
        if !self.known.holds_gone(editor.module, editor.body, id, 0) {
            return Some(id);
        }
        if let Some(&made) = self.made.get(&id.0) {
            return Some(made);
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
        let made = match expression {
            Some(expression) => self.compute(editor, ty, &expression, &operands),
            None => self.assemble(editor, ty, &operands),
        };
        self.made.insert(id.0, made);
        Some(made)
    }

    fn finish(
        &mut self,
        editor: &mut Editor<'_, '_>,
        mut instruction: Instruction,
        insertion: bool,
    ) -> ValueId {
        let name = self.names.next(insertion);
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
        // New instructions stand where the reader is, which has met no location yet.
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
