//! Folds the constants of a module that was read, or that was made before all of its symbols were known.
//!
//! Operands come before what they are operands of. Leaves of expressions are made anew in their canonical form, so that
//! equal ones have the same id; elements of aggregates that no expression is in stay as they are.

use super::{Folder, Opcode};
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants, Expression, NewConstant, NewExpression};
use crate::ids::{TypeId, ValueId};
use crate::module::Module;
use crate::rules::{extend_sign, wide_integer};
use crate::types::Type;
use crate::value::ValueKind;
use crate::write::Version;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The deepest nesting of constants that are folded.
const MAX_DEPTH: u32 = 256;

/// The constants that were folded, by what they were.
#[derive(Default)]
pub(crate) struct Refold {
    folded: BTreeMap<u32, ValueId>,
}

impl Refold {
    /// Forgets the constants of a function, which start at this id and end before that of the upgrades.
    pub(crate) fn forget_from(&mut self, first: u32) {
        self.folded.retain(|&id, _| id < first || id >= Module::UPGRADE_BASE);
    }

    /// Returns the constants that changed, with what they became.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = (ValueId, ValueId)> {
        self.folded.iter().map(|(&old, &new)| (ValueId(old), new)).filter(|(old, new)| old != new)
    }

    /// Returns a constant with everything in it folded; any other value as it is.
    pub(crate) fn value(&mut self, folder: &mut Folder<'_, '_>, body: Option<&FunctionBody>, id: ValueId) -> ValueId {
        self.rebuilt(folder, body, id, false, 0)
    }

    /// Rebuilds a constant; one in an expression down to its leaves.
    fn rebuilt(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        within: bool,
        depth: u32,
    ) -> ValueId {
        if let Some(&known) = self.folded.get(&id.0) {
            return known;
        }
        let Some(value) = folder.module.value(body, id) else { return id };
        let ValueKind::Constant(_) = value.kind else { return id };
        let Some((constant, constants)) = folder.module.constant(body, id) else { return id };
        if depth > MAX_DEPTH {
            return id;
        }
        let operands = match constant {
            Constant::Aggregate(elements) => constants.values(elements).to_vec(),
            Constant::Expression(index) => {
                constants.expression(index).map_or_else(Vec::new, |one| constants.values(one.operands).to_vec())
            }
            _ if within => return self.leaf(folder, body, id, value.ty),
            _ => return id,
        };
        // A constant that contains itself stays as it is.
        self.folded.insert(id.0, id);
        let is_expression = matches!(constant, Constant::Expression(_));
        let within = within || is_expression;
        let operands: Vec<ValueId> =
            operands.iter().map(|&part| self.rebuilt(folder, body, part, within, depth + 1)).collect();
        let new = match folder.module.constant(body, id) {
            Some((Constant::Expression(index), constants)) => match constants.expression(index).copied() {
                Some(expression) => {
                    let bounds = constants.words(expression.bounds).to_vec();
                    expression_of(folder, value.ty, &expression, &bounds, &operands)
                }
                None => id,
            },
            Some((Constant::Aggregate(parts), constants)) if constants.values(parts) != operands || within => {
                folder.vector(value.ty, &operands)
            }
            _ => id,
        };
        self.folded.insert(id.0, new);
        new
    }

    /// Makes a constant without operands anew.
    fn leaf(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        ty: TypeId,
    ) -> ValueId {
        let Some((constant, constants)) = folder.module.constant(body, id) else { return id };
        let new = match constant {
            Constant::Null => folder.null(ty),
            Constant::Undef => folder.undef(ty),
            Constant::Poison => folder.poison(ty),
            Constant::Integer(0) | Constant::Float(0) => folder.null(ty),
            Constant::Integer(word) => {
                let mut words = [word];
                extend_sign(&mut words, folder.width(ty));
                folder.constant(ty, &NewConstant::Integer(words.first().copied().unwrap_or(0)))
            }
            Constant::Float(bits) => folder.constant(ty, &NewConstant::Float(bits)),
            Constant::WideInteger(words) => {
                let words = wide_integer(constants.words(words), folder.width(ty));
                folder.constant(ty, &NewConstant::WideInteger(&words))
            }
            Constant::WideFloat(words) => {
                let words = constants.words(words).to_vec();
                match words.iter().all(|&word| word == 0) {
                    true => folder.null(ty),
                    false => folder.constant(ty, &NewConstant::WideFloat(&words)),
                }
            }
            Constant::Data(words) => {
                let words = constants.words(words).to_vec();
                match words.iter().all(|&word| word == 0) {
                    true => folder.null(ty),
                    false => folder.constant(ty, &NewConstant::Data(&words)),
                }
            }
            _ => id,
        };
        self.folded.insert(id.0, new);
        new
    }
}

fn expression_of(
    folder: &mut Folder<'_, '_>,
    ty: TypeId,
    expression: &Expression,
    bounds: &[u64],
    operands: &[ValueId],
) -> ValueId {
    let &Expression { opcode, flags, ty: of, in_range, .. } = expression;
    folder.expression(ty, &NewExpression { opcode, flags, ty: of, in_range, bounds, operands })
}

/// Returns whether folding may change an expression of a module or body: quickly, and not often in vain.
pub(crate) fn may_fold(
    module: &Module<'_>,
    body: Option<&FunctionBody>,
    constants: &Constants,
    expression: &Expression,
    version: Version,
) -> bool {
    let operands = constants.values(expression.operands);
    let is_plain = |&id: &ValueId| {
        matches!(
            module.constant(body, id),
            Some((constant, _)) if !matches!(
                constant,
                Constant::Expression(_)
                    | Constant::BlockAddress { .. }
                    | Constant::DsoLocalEquivalent(_)
                    | Constant::NoCfi(_)
                    | Constant::Assembly(_)
            )
        )
    };
    let inner = |at: usize| {
        let &id = operands.get(at)?;
        let (Constant::Expression(index), constants) = module.constant(body, id)? else { return None };
        constants.expression(index)
    };
    match expression.opcode {
        opcode if opcode.is_cast() => match inner(0) {
            Some(inner) => may_fold_cast(opcode, inner, version),
            None => operands.iter().all(is_plain) || may_be_element(module, body, operands, version),
        },
        Opcode::GetElementPtr if version == Version::Llvm19 => operands.first().is_some_and(is_plain),
        Opcode::GetElementPtr => {
            let is_marked = expression.flags & 1 != 0;
            operands.first().is_some_and(is_plain)
                || inner(0).is_some_and(|inner| inner.opcode == Opcode::GetElementPtr || inner.opcode.is_cast())
                || !is_marked && inner(0).is_none()
                || is_outside(module, body, expression, operands)
        }
        opcode if opcode.is_binary() => {
            operands.iter().any(is_plain) || inner(0).is_some_and(|inner| inner.opcode == opcode)
        }
        Opcode::PtrAuth => false,
        _ => true,
    }
}

fn may_fold_cast(opcode: Opcode, inner: &Expression, version: Version) -> bool {
    inner.opcode.is_cast()
        || version == Version::Llvm14 && inner.opcode == Opcode::GetElementPtr
        || opcode == Opcode::Trunc
}

/// Returns whether a cast of a pointer may be the pointer to its first element.
fn may_be_element(module: &Module<'_>, body: Option<&FunctionBody>, operands: &[ValueId], version: Version) -> bool {
    let ty = operands.first().and_then(|&id| module.value(body, id)).map_or(TypeId::NONE, |value| value.ty);
    let pointee = module.types.pointee(ty).map_or(Type::Unknown, |ty| module.types.get(ty));
    version == Version::Llvm14 && matches!(pointee, Type::Array { .. } | Type::Struct(_) | Type::Vector { .. })
}

/// Returns whether an index is outside of its array.
fn is_outside(
    module: &Module<'_>,
    body: Option<&FunctionBody>,
    expression: &Expression,
    operands: &[ValueId],
) -> bool {
    let mut ty = expression.ty;
    for &operand in operands.iter().skip(2) {
        let index = module.integer(body, operand);
        match (module.types.get(ty), index) {
            (Type::Array { count, .. }, Some(index)) if index >= count => return true,
            _ => {}
        }
        let Some(next) = module.types.child(ty, index.unwrap_or(0)) else { return false };
        ty = next;
    }
    false
}
