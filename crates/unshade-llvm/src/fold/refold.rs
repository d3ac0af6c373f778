//! Folds the constants of a module that was read, or that was made before all of its symbols were known.
//!
//! Leaves of expressions are made anew in their canonical form, so that equal ones have the same id; elements of
//! aggregates that no expression is in stay as they are.
//!
//! LLVM 14 reads a file in its order: in place of an operand that follows it has an expression of which nothing is known,
//! and when all constants of a block are read, it makes those anew in which that is left. It also leaves `shufflevector`
//! and `select` to the end of the block. LLVM 19 makes operands first, and does not fold expressions
//! that it no longer has, and what contains them: they become instructions.

use super::Folder;
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants, Expression, NewConstant, NewExpression};
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::rules::{extend_sign, wide_integer};
use crate::types::TypeTable;
use crate::value::{Value, ValueKind};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The deepest nesting of constants that are folded, other than of those that precede what contains them.
const MAX_DEPTH: u32 = 64;

/// The operation of an expression of which nothing is known; it is none of constants.
const UNKNOWN: Opcode = Opcode::Freeze;

/// Returns whether the reading LLVM has no such expression.
type IsRemoved = fn(&TypeTable, &Expression) -> bool;

/// The constants that were folded, by what they were.
#[derive(Default)]
pub(crate) struct Refold {
    /// What constants are when they are read: expressions in them may be unknown.
    read: BTreeMap<u32, ValueId>,
    folded: BTreeMap<u32, ValueId>,
    /// Constants in no expression that stay as they are.
    unchanged: BTreeSet<u32>,
    /// What constants with something unknown in them became.
    resolved: BTreeMap<u32, ValueId>,
    /// Whether nothing in a constant is unknown.
    whole: BTreeMap<u32, bool>,
    /// Whether constants are kept as they are.
    kept: BTreeMap<u32, bool>,
    /// Whether constants are made in the order of the file.
    in_file_order: bool,
    removed: Option<IsRemoved>,
    budget: u64,
}

impl Refold {
    /// Creates a state for constants that are in order; `budget` is that of [`super::budget`].
    pub(crate) fn new(budget: u64) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Makes constants in the order of the file, as LLVM 14 does.
    pub(crate) fn in_file_order(self) -> Self {
        Self { in_file_order: true, ..self }
    }

    /// Returns how many elements of vectors may still be made.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    pub(super) fn set_budget(&mut self, budget: u64) {
        self.budget = budget;
    }

    /// Keeps expressions as they are that a version no longer has.
    pub(crate) fn without(self, removed: IsRemoved) -> Self {
        Self { removed: Some(removed), ..self }
    }

    /// Forgets the constants of a function, which start at this id and end before that of the upgrades.
    pub(crate) fn forget_from(&mut self, first: u32) {
        let stays = |id: u32| id < first || id >= Module::UPGRADE_BASE;
        for known in [&mut self.read, &mut self.folded] {
            known.retain(|&id, _| stays(id));
        }
        self.kept.retain(|&id, _| stays(id));
        self.unchanged.retain(|&id| stays(id));
        // What is unknown is known by its number, and those of a function are used again.
        self.resolved.clear();
    }

    /// Returns the constants that changed, with what they became.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = (ValueId, ValueId)> {
        self.read.iter().map(|(&old, &new)| (ValueId(old), new)).filter(|(old, new)| old != new)
    }

    /// Folds the expressions of a module or body in their order, so that few have to be looked into for others.
    pub(crate) fn expressions(&mut self, folder: &mut Folder<'_, '_>, body: Option<&FunctionBody>) {
        let (first, values) = match body {
            Some(body) => (body.value_base, body.values.as_slice()),
            None => (0, folder.module.values.as_slice()),
        };
        let constants = body.map_or(&folder.module.constants, |body| &body.constants);
        let is_expression = |value: &Value| match value.kind {
            ValueKind::Constant(index) => matches!(constants.get(index), Constant::Expression(_)),
            _ => false,
        };
        let ids = (first..).zip(values).filter(|(_, value)| is_expression(value)).map(|(id, _)| ValueId(id));
        for id in ids.collect::<Vec<_>>() {
            self.rebuilt(folder, body, id, false, 0);
        }
    }

    /// Returns a constant with everything in it folded; any other value as it is.
    pub(crate) fn value(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
    ) -> ValueId {
        self.folded(folder, body, id, 0)
    }

    fn folded(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        depth: u32,
    ) -> ValueId {
        let read = self.rebuilt(folder, body, id, false, depth);
        if !self.in_file_order || self.is_whole(folder, read, 0) {
            return read;
        }
        if let Some(&known) = self.folded.get(&id.0) {
            return known;
        }
        // A constant that contains itself stays as it is.
        self.folded.insert(id.0, id);
        let resolved = self.resolved(folder, body, read, depth + 1);
        let folded = if self.is_whole(folder, resolved, 0) { resolved } else { id };
        self.folded.insert(id.0, folded);
        folded
    }

    /// Returns a constant folded, or made anew if it stays as it is.
    fn folded_or_rebuilt(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        within: bool,
        depth: u32,
    ) -> ValueId {
        match self.folded(folder, body, id, depth) {
            same if same == id => self.rebuilt(folder, body, id, within, depth),
            folded => folded,
        }
    }

    /// Returns a constant with what was unknown in it.
    fn resolved(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        depth: u32,
    ) -> ValueId {
        if depth > MAX_DEPTH || self.is_whole(folder, id, 0) {
            return id;
        }
        if let Some(&known) = self.resolved.get(&id.0) {
            return known;
        }
        let resolved = self.resolved_parts(folder, body, id, depth);
        self.resolved.insert(id.0, resolved);
        resolved
    }

    fn resolved_parts(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        depth: u32,
    ) -> ValueId {
        let ty = folder.type_of(id);
        if let Some(parts) = folder.parts(id) {
            if parts.opcode == UNKNOWN {
                return self.folded_or_rebuilt(folder, body, ValueId(parts.flags), true, depth + 1);
            }
            let mut resolve = |&part: &ValueId| self.resolved(folder, body, part, depth + 1);
            let operands: Vec<ValueId> = parts.operands.iter().map(&mut resolve).collect();
            let new = NewExpression {
                opcode: parts.opcode,
                flags: parts.flags,
                ty: parts.ty,
                in_range: parts.in_range,
                bounds: &parts.bounds,
                operands: &operands,
            };
            return folder.expression(ty, &new);
        }
        let Some((Constant::Aggregate(elements), constants)) = folder.module.constant(None, id) else {
            return id;
        };
        let elements = constants.values(elements).to_vec();
        let elements: Vec<ValueId> =
            elements.iter().map(|&element| self.resolved(folder, body, element, depth + 1)).collect();
        folder.vector(ty, &elements)
    }

    /// Makes a constant anew as it is read; one in an expression down to its leaves.
    fn rebuilt(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        within: bool,
        depth: u32,
    ) -> ValueId {
        if let Some(&known) = self.read.get(&id.0) {
            return known;
        }
        if !within && self.unchanged.contains(&id.0) {
            return id;
        }
        let Some(value) = folder.module.value(body, id) else { return id };
        let ValueKind::Constant(_) = value.kind else { return id };
        let Some((constant, constants)) = folder.module.constant(body, id) else { return id };
        if depth > MAX_DEPTH {
            return id;
        }
        let (parts, expression) = match constant {
            Constant::Aggregate(elements) => (constants.values(elements).to_vec(), None),
            Constant::Expression(index) => {
                let Some(&expression) = constants.expression(index) else { return id };
                (constants.values(expression.operands).to_vec(), Some(expression))
            }
            _ if within => return self.leaf(folder, body, id, value.ty),
            _ => return id,
        };
        // A constant that contains itself stays as it is.
        self.read.insert(id.0, id);
        let is_kept = self.is_kept(folder, body, id, 0);
        let within = !is_kept && (within || expression.is_some());
        let mut operands = Vec::new();
        for &part in &parts {
            operands.push(match self.in_file_order {
                true => self.operand_in_order(folder, body, id, part, within, depth),
                false => self.rebuilt(folder, body, part, within, depth + 1),
            });
        }
        let new = match expression {
            _ if is_kept && operands == parts => id,
            Some(expression) => {
                let constants = folder.module.constant(body, id).map(|(_, constants)| constants);
                let bounds = constants.map_or_else(Vec::new, |pool| pool.words(expression.bounds).to_vec());
                let Expression { opcode, flags, ty, in_range, .. } = expression;
                let (bounds, operands) = (bounds.as_slice(), operands.as_slice());
                let new = NewExpression { opcode, flags, ty, in_range, bounds, operands };
                if is_kept { folder.make(value.ty, &new) } else { folder.expression(value.ty, &new) }
            }
            None if operands != parts || within => folder.vector(value.ty, &operands),
            None => id,
        };
        // What stays as it is here may be made anew in an expression.
        if !within && new == id {
            self.read.remove(&id.0);
            self.unchanged.insert(id.0);
        } else {
            self.read.insert(id.0, new);
        }
        new
    }

    /// Returns an operand as it is when the constant is read.
    fn operand_in_order(
        &mut self,
        folder: &mut Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        part: ValueId,
        within: bool,
        depth: u32,
    ) -> ValueId {
        if folder.module.value(body, part).is_none_or(|value| !matches!(value.kind, ValueKind::Constant(_))) {
            return part;
        }
        let is_of_module = |id: ValueId| id.index() < folder.module.values.len();
        if is_of_module(part) && !is_of_module(id) {
            return self.folded_or_rebuilt(folder, body, part, within, depth + 1);
        }
        if place_of(folder.module, body, part) < place_of(folder.module, body, id) {
            return self.rebuilt(folder, body, part, within, depth + 1);
        }
        let ty = folder.module.value(body, part).map_or(TypeId::NONE, |value| value.ty);
        folder.plain(UNKNOWN, ty, part.0, &[])
    }

    /// Returns whether a constant is or contains an expression that is kept as it is.
    fn is_kept(
        &mut self,
        folder: &Folder<'_, '_>,
        body: Option<&FunctionBody>,
        id: ValueId,
        depth: u32,
    ) -> bool {
        let Some(removed) = self.removed else { return false };
        if let Some(&known) = self.kept.get(&id.0) {
            return known;
        }
        let Some((constant, constants)) = folder.module.constant(body, id) else { return false };
        let expression = match constant {
            Constant::Expression(index) => constants.expression(index),
            _ => None,
        };
        let is_removed = expression.is_some_and(|expression| removed(&folder.module.types, expression));
        self.kept.insert(id.0, is_removed);
        let is_kept = is_removed
            || depth < MAX_DEPTH
                && operands_of(constant, constants)
                    .iter()
                    .any(|&part| self.is_kept(folder, body, part, depth + 1));
        self.kept.insert(id.0, is_kept);
        is_kept
    }

    /// Returns whether nothing in a constant is unknown.
    fn is_whole(&mut self, folder: &Folder<'_, '_>, id: ValueId, depth: u32) -> bool {
        let Some((constant, constants)) = folder.module.constant(None, id) else { return true };
        if let Some(&known) = self.whole.get(&id.0) {
            return known;
        }
        if let Constant::Expression(index) = constant
            && constants.expression(index).is_none_or(|one| one.opcode == UNKNOWN)
        {
            return false;
        }
        let parts = operands_of(constant, constants);
        if parts.is_empty() {
            return true;
        }
        self.whole.insert(id.0, true);
        let is_whole = depth < MAX_DEPTH && parts.iter().all(|&part| self.is_whole(folder, part, depth + 1));
        self.whole.insert(id.0, is_whole);
        is_whole
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
            Constant::Text(text) => {
                let text = constants.bytes(text).to_vec();
                match text.iter().all(|&byte| byte == 0) {
                    true => folder.null(ty),
                    false => folder.constant(ty, &NewConstant::Text(&text)),
                }
            }
            Constant::BlockAddress { function, block } => {
                folder.constant(ty, &NewConstant::BlockAddress { function, block })
            }
            Constant::DsoLocalEquivalent(symbol) => {
                folder.constant(ty, &NewConstant::DsoLocalEquivalent(symbol))
            }
            Constant::NoCfi(symbol) => folder.constant(ty, &NewConstant::NoCfi(symbol)),
            _ => id,
        };
        self.read.insert(id.0, new);
        new
    }
}

/// Returns the place of a constant among those of its block, in the order in which LLVM 14 makes them.
fn place_of(module: &Module<'_>, body: Option<&FunctionBody>, id: ValueId) -> (u32, ValueId) {
    let opcode = match module.constant(body, id) {
        Some((Constant::Expression(index), constants)) => constants.expression(index).map(|one| one.opcode),
        _ => None,
    };
    let stage = match opcode {
        Some(Opcode::ShuffleVector) => 1,
        Some(Opcode::Select) => 2,
        _ => 0,
    };
    (stage, id)
}

/// Returns the operands of an aggregate or expression.
fn operands_of(constant: Constant, constants: &Constants) -> &[ValueId] {
    match constant {
        Constant::Aggregate(parts) => constants.values(parts),
        Constant::Expression(index) => {
            constants.expression(index).map_or(&[], |expression| constants.values(expression.operands))
        }
        _ => &[],
    }
}
