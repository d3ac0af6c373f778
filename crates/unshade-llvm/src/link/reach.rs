//! Which symbols are reached from some of them: through the operands of instructions, initial values, and what functions
//! have besides their bodies. Metadata reaches nothing. Constructors in `llvm.global_ctors` are reached from everywhere.

use super::{Linker, Root, SymbolId, object_of};
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants};
use crate::global::Linkage;
use crate::ids::ValueId;
use crate::module::Module;
use crate::value::ValueKind;
use crate::write::symbols::Object;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The variable that lists constructors.
pub(super) const CONSTRUCTORS: &[u8] = b"llvm.global_ctors";

/// A symbol that nothing defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub name: Vec<u8>,
    /// The first symbol that refers to it, and its input.
    pub user: (usize, Vec<u8>),
}

/// What is reached.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// The definitions.
    pub(super) definitions: BTreeSet<SymbolId>,
    /// The declarations: for each name the first that was met.
    pub(super) declarations: BTreeMap<Vec<u8>, SymbolId>,
    missing: Vec<Missing>,
}

impl Reach {
    /// Returns the symbols that no module defines, without LLVM's own and weak references.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Returns whether all definitions of an input are reached, but for some.
    pub fn has_all_of(&self, linker: &Linker<'_, '_>, input: usize, but: &[&[u8]]) -> bool {
        let Some(of) = linker.inputs.get(input) else { return true };
        super::objects(of.module)
            .filter(|object| object.is_defined() && !object.is_special())
            .filter(|object| !but.contains(&object.symbol().name.as_slice()))
            .all(|object| self.definitions.contains(&SymbolId { input, value: object.symbol().value }))
    }

    /// Returns whether a definition of this name is reached.
    pub fn has(&self, linker: &Linker<'_, '_>, name: &[u8]) -> bool {
        self.definitions
            .iter()
            .any(|id| linker.object(*id).is_some_and(|object| object.symbol().name == name))
    }

    /// Returns the inputs of which something is reached.
    pub fn inputs(&self) -> BTreeSet<usize> {
        self.definitions.iter().map(|id| id.input).collect()
    }
}

pub(super) fn reach(linker: &Linker<'_, '_>, roots: &[Root<'_>]) -> Reach {
    let mut walk = Walk { linker, reach: Reach::default(), pending: Vec::new() };
    for root in roots {
        let Some(input) = linker.inputs.get(root.input) else { continue };
        let found = super::objects(input.module).find(|object| object.symbol().name == root.name);
        if let Some(object) = found {
            walk.pending.push(SymbolId { input: root.input, value: object.symbol().value });
        }
    }
    walk.pending.extend((0..linker.inputs.len()).flat_map(|at| constructors_of(linker, at)));
    walk.run();
    walk.reach
}

/// Returns the constructors of an input.
fn constructors_of(linker: &Linker<'_, '_>, input: usize) -> Vec<SymbolId> {
    let Some(module) = linker.inputs.get(input).map(|input| input.module) else { return Vec::new() };
    let list = module.globals.iter().find(|global| global.symbol.name == CONSTRUCTORS);
    let rows = list.and_then(|list| list.initializer).map(|list| elements(module, list)).unwrap_or_default();
    let function = |row: &ValueId| {
        let value = *elements(module, *row).get(1)?;
        object_of(module, value).map(|_| SymbolId { input, value })
    };
    rows.iter().filter_map(function).collect()
}

/// Returns the elements of an aggregate of the module.
pub(super) fn elements(module: &Module<'_>, value: ValueId) -> Vec<ValueId> {
    match module.constant(None, value) {
        Some((Constant::Aggregate(elements), constants)) => constants.values(elements).to_vec(),
        _ => Vec::new(),
    }
}

struct Walk<'w, 'm, 'a> {
    linker: &'w Linker<'m, 'a>,
    reach: Reach,
    pending: Vec<SymbolId>,
}

impl Walk<'_, '_, '_> {
    fn run(&mut self) {
        while let Some(id) = self.pending.pop() {
            if self.reach.definitions.contains(&id) {
                continue;
            }
            if let Some(definition) = self.linker.definition(id)
                && self.reach.definitions.insert(definition)
            {
                self.follow(definition);
            }
        }
    }

    /// Follows what a definition refers to.
    fn follow(&mut self, id: SymbolId) {
        let Some(&input) = self.linker.inputs.get(id.input) else { return };
        let mut values = Vec::new();
        match self.linker.object(id) {
            Some(Object::Variable(variable)) => values.extend(variable.initializer),
            Some(Object::Alias(alias)) => values.push(alias.target),
            Some(Object::Function(function)) => {
                values
                    .extend([function.personality, function.prefix, function.prologue].into_iter().flatten());
                let kind = input.module.values.get(id.value.index()).map(|value| value.kind);
                let index = if let Some(ValueKind::Function(index)) = kind { index } else { u32::MAX };
                let place = input.bodies.binary_search_by_key(&index, |body| body.function);
                if let Some(body) = place.ok().and_then(|place| input.bodies.get(place)) {
                    values.extend(body.personality);
                    values.extend(body.operands.iter().filter_map(|operand| operand.as_value()));
                    values.extend(body_constants(body));
                }
            }
            None => {}
        }
        let mut visited = BTreeSet::new();
        while let Some(value) = values.pop() {
            if value.index() >= input.module.values.len() || !visited.insert(value) {
                continue;
            }
            if object_of(input.module, value).is_some() {
                self.refer(id, SymbolId { input: id.input, value });
                continue;
            }
            if let Some(ValueKind::Constant(index)) =
                input.module.values.get(value.index()).map(|one| one.kind)
            {
                operands(&input.module.constants, index, &mut values);
            }
        }
    }

    /// Takes a reference of one symbol to another.
    fn refer(&mut self, user: SymbolId, to: SymbolId) {
        if self.linker.definition(to).is_some() {
            self.pending.push(to);
            return;
        }
        let Some(object) = self.linker.object(to) else { return };
        let symbol = object.symbol();
        let is_known = self.reach.declarations.contains_key(&symbol.name);
        if is_known {
            return;
        }
        self.reach.declarations.insert(symbol.name.clone(), to);
        if !symbol.name.starts_with(b"llvm.") && symbol.linkage != Linkage::ExternalWeak {
            let user_name = self.linker.object(user).map(|object| object.symbol().name.clone());
            self.reach.missing.push(Missing {
                name: symbol.name.clone(),
                user: (user.input, user_name.unwrap_or_default()),
            });
        }
    }
}

/// Returns the operands of the constants of a body.
fn body_constants(body: &FunctionBody) -> Vec<ValueId> {
    let mut values = Vec::new();
    for value in body.values.iter().chain(&body.unnumbered) {
        if let ValueKind::Constant(index) = value.kind {
            operands(&body.constants, index, &mut values);
        }
    }
    values
}

/// Appends the operands of a constant.
fn operands(constants: &Constants, index: u32, to: &mut Vec<ValueId>) {
    to.extend_from_slice(constants.content(index).operands());
}
