//! Structures in memory that pointers point to, from the accesses through them.
//!
//! Accesses are collected by base: a class of pointers that phis and selects merge, together with the pointer that it
//! starts from. `members` finds the structure that explains the accesses of such a group. Pointers whose accesses
//! are all of one type stay pointers to numbers; those that instructions read in pairs or fours are pointers to `float2`
//! or `float4`.
//!
//! An access that doesn't agree with the members is printed with a cast, so a wrong guess only costs readability: no access
//! moves.

pub mod known;
mod members;
pub(crate) mod size;

use crate::address::Address;
use crate::ir::hash::FastMap;
use crate::ir::{Function, Module, Op, Structure, StructureId, ValueId, ValueMap};
use crate::types::{NumberKind, ParameterType, Type, Types, address_of, constants};
use known::KnownStructure;
pub(crate) use members::{Access, Accesses};
use std::collections::HashSet;

/// Maximum number of rounds in which members give the types of what is loaded from them.
const MAX_ROUNDS: usize = 4;

/// The type of a byte.
const BYTE: Type = Type::Integer(8, false);

/// Replaces pointers to numbers by pointers to structures, which are added to the module. `libraries` are those that are
/// known.
pub fn infer(
    module: &mut Module<'_>,
    used: &ValueMap<bool>,
    types: &mut Types,
    libraries: &[KnownStructure],
) {
    let mut groups = Groups::new(module, used, types);
    for root in groups.order.clone() {
        let Some(group) = groups.of.get(&root) else { continue };
        let is_aligned = |id: &StructureId| {
            module.structures.get(*id).is_none_or(|known| group.accesses.are_aligned(known))
        };
        let found = match group.known {
            _ if group.is_of_prototype => None,
            Some(id) if !is_aligned(&id) => {
                groups.misaligned.insert(root);
                None
            }
            Some(id) => complete(module, id, &group.accesses, libraries).then_some(id),
            None if group.is_fixed => None,
            None => known::accessed(module, libraries, &group.accesses)
                .or_else(|| group.accesses.structure().map(|structure| declared(module, structure))),
        };
        groups.found.extend(found.map(|id| (root, id)));
    }
    for _ in 0..MAX_ROUNDS {
        if !groups.follow(module, used, types) {
            break;
        }
    }
    groups.apply(module, used, types);
    forget_unknown(module, types);
}

/// Returns the types of parameters that are known, and of the members of those that are structures.
pub fn parameter_types(module: &Module<'_>) -> Vec<ParameterType> {
    let mut types = Vec::new();
    for parameter in &module.parameters {
        match parameter.ty {
            Some(Type::Structure(id)) => member_types(module, id, parameter.offset, 0, &mut types),
            // A truth value is read as a byte.
            Some(Type::Bool) => types.push(ParameterType { offset: parameter.offset, ty: BYTE }),
            Some(ty) => types.push(ParameterType { offset: parameter.offset, ty }),
            None => {}
        }
    }
    types
}

/// Adds the types of the members of a structure at an offset.
fn member_types(
    module: &Module<'_>,
    id: StructureId,
    start: u32,
    depth: usize,
    types: &mut Vec<ParameterType>,
) {
    const MAX_DEPTH: usize = 8;
    const MAX_TYPES: usize = 1 << 12;
    let Some(structure) = module.structures.get(id).filter(|_| depth < MAX_DEPTH) else { return };
    for member in &structure.members {
        let bytes = size::size_of(&module.structures, member.ty);
        let count = member.counts.iter().fold(1_u32, |count, other| count.saturating_mul(*other));
        for index in 0..count {
            let inside = index.checked_mul(bytes).and_then(|inside| member.offset.checked_add(inside));
            let Some(offset) = inside.and_then(|inside| start.checked_add(inside)) else { break };
            if types.len() >= MAX_TYPES {
                return;
            }
            match member.ty {
                Type::Structure(inner) => member_types(module, inner, offset, depth + 1, types),
                ty => types.push(ParameterType { offset, ty }),
            }
        }
    }
}

/// Adds a structure to the module, unless it has an equal one.
pub(crate) fn declared(module: &mut Module<'_>, structure: Structure) -> StructureId {
    let known = module.structures.entries().find(|entry| *entry.1 == structure).map(|entry| entry.0);
    known.unwrap_or_else(|| module.structures.push(structure))
}

/// Fills in the members of a structure of which only the name is known: those of a library, or those that are accessed.
/// Returns whether it has members then.
fn complete(
    module: &mut Module<'_>,
    id: StructureId,
    accesses: &Accesses,
    libraries: &[KnownStructure],
) -> bool {
    let Some(structure) = module.structures.get(id) else { return false };
    if structure.members.is_empty() {
        let name = structure.name.clone();
        let found = known::named(module, libraries, &name).or_else(|| accesses.known_structure());
        if let Some(found) = found {
            let structure = &mut module.structures[id];
            structure.size = found.size;
            structure.members = found.members;
        }
    }
    !module.structures[id].members.is_empty()
}

/// Turns pointers to structures without members back into pointers to bytes.
fn forget_unknown(module: &mut Module<'_>, types: &mut Types) {
    let structures = &module.structures;
    let is_unknown = |ty: Type| match ty {
        Type::StructurePointer(id) => structures.get(id).is_none_or(|found| found.members.is_empty()),
        _ => false,
    };
    for parameter in &mut module.parameters {
        parameter.ty = parameter.ty.filter(|ty| !is_unknown(*ty));
    }
    for ty in types.of.iter_mut().filter(|ty| is_unknown(**ty)) {
        *ty = Type::Pointer(8, NumberKind::Unsigned);
    }
}

/// Returns the type of the elements of a vector that a pointer points to.
fn element(module: &Module<'_>, pointer: Type) -> Type {
    let structure = match pointer {
        Type::StructurePointer(id) => module.structures.get(id),
        _ => None,
    };
    let first = structure.and_then(|structure| structure.members.first());
    first.map_or(pointer.target().unwrap_or(Type::Integer(8, false)), |member| member.ty)
}

/// Pointers that may point to the same structure.
#[derive(Debug, Default)]
struct Group {
    accesses: Accesses,
    /// The structure that the source code gives.
    known: Option<StructureId>,
    /// Whether it must stay a pointer to numbers, unless the source code gives a structure.
    is_fixed: bool,
    /// Whether it is a parameter or the result of a device function: a prototype, which is in other functions too, has no
    /// structures.
    is_of_prototype: bool,
}

/// The pointers of a function by group.
#[derive(Default)]
struct Groups {
    /// Classes with phis, selects or copies: their values are bases.
    merged: HashSet<ValueId>,
    /// The class or group that a class belongs to.
    parent: FastMap<ValueId, ValueId>,
    of: FastMap<ValueId, Group>,
    /// The groups in the order of the code.
    order: Vec<ValueId>,
    found: FastMap<ValueId, StructureId>,
    /// The groups whose pointers do not stay at multiples of the size of the vector that the source code gives.
    misaligned: HashSet<ValueId>,
}

impl Groups {
    fn new(module: &Module<'_>, used: &ValueMap<bool>, types: &Types) -> Self {
        let mut groups = Self::default();
        let function = &module.function;
        let live: Vec<ValueId> =
            function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)).collect();
        let is_merge = |id: &&ValueId| matches!(function.op(**id), Op::Phi | Op::Select | Op::Copy);
        groups.merged = live.iter().filter(is_merge).map(|id| types.class_of(*id)).collect();
        for &id in &live {
            groups.link(function, types, id);
        }
        for &id in &live {
            groups.access(function, types, id);
            groups.known(module, types, id);
            if !module.is_kernel {
                groups.of_prototype(function, types, id);
            }
        }
        groups
    }

    /// Returns the root of the group of a value's class.
    fn root(&mut self, types: &Types, id: ValueId) -> ValueId {
        let class = types.class_of(id);
        let mut root = class;
        while let Some(&next) = self.parent.get(&root) {
            root = next;
        }
        if class != root {
            self.parent.insert(class, root);
        }
        root
    }

    fn group(&mut self, root: ValueId) -> &mut Group {
        let Self { of, order, .. } = self;
        of.entry(root).or_insert_with(|| {
            order.push(root);
            Group::default()
        })
    }

    /// Joins a class of merged pointers and the pointer that one of them is computed from, and records by how much
    /// pointers of a group differ.
    fn link(&mut self, function: &Function, types: &Types, id: ValueId) {
        if function.op(id) != Op::Add || !types.of[id].is_pointer() {
            return;
        }
        let address = Address::new(function, id);
        let Some(base) = address.base else { return };
        let (own, other) = (self.root(types, id), self.root(types, base));
        let strides = address.terms.iter().map(|term| term.1);
        if own == other {
            let step = Some(address.offset.unsigned_abs()).filter(|step| *step != 0);
            self.group(own).accesses.strides.extend(strides.chain(step));
        } else if self.merged.contains(&types.class_of(id)) && address.offset == 0 {
            self.parent.insert(own, other);
            self.order.retain(|root| *root != own);
            let joined = self.of.remove(&own).unwrap_or_default().accesses.strides;
            self.group(other).accesses.strides.extend(strides.chain(joined));
        }
    }

    /// Records an access.
    fn access(&mut self, function: &Function, types: &Types, id: ValueId) {
        let wide = address_of(function, id).filter(|address| function.width(*address) == 64);
        let Some(address) = wide else { return };
        let value = match function.op(id) {
            Op::Store(_) => function.input(id, 1),
            _ => id,
        };
        let found = Address::new(function, address);
        let Some(base) = found.base else { return };
        let width = function.width(value);
        let ty = match (function.op(id), types.of[value]) {
            (Op::Call(call), _) => match Type::of_operand(call.input(1)) {
                Type::Void => Type::Integer(32, false),
                ty => ty,
            },
            (_, Type::Bool | Type::Void | Type::Vector(..) | Type::StructurePointer(_)) => {
                Type::Integer(width.max(8), false)
            }
            _ if matches!(function.op(value), Op::Constant(_) | Op::Undefined) => Type::Void,
            (_, ty) => ty,
        };
        let root = self.root(types, base);
        self.group(root).accesses.list.push(Access {
            offset: found.offset,
            scales: found.terms.iter().map(|term| term.1).collect(),
            ty,
            hint: constants::hint(function, value),
            bytes: u32::from(if ty == Type::Void { width } else { ty.bits() } / 8).max(1),
            instruction: function.values[id].address,
        });
    }

    /// Records what is known of a pointer: its structure, or that it has to stay as it is.
    fn known(&mut self, module: &Module<'_>, types: &Types, id: ValueId) {
        if !types.of[id].is_pointer() {
            return;
        }
        let function = &module.function;
        let of_parameter = |offset: u32| {
            let parameter = module.parameters.iter().find(|parameter| parameter.offset == offset);
            parameter.and_then(|parameter| parameter.ty)
        };
        let is_fixed = match function.op(id) {
            Op::Parameter(offset) => of_parameter(offset).is_some(),
            // A variable has one type in all functions.
            Op::Symbol(_) => true,
            _ => false,
        };
        let given = types.given_structure(id);
        if !is_fixed && given.is_none() && !matches!(types.of[id], Type::StructurePointer(_)) {
            return;
        }
        let root = self.root(types, id);
        let group = self.group(root);
        match (types.of[id], given) {
            (Type::StructurePointer(structure), _) | (_, Some(structure)) => group.known = Some(structure),
            _ => group.is_fixed = true,
        }
    }

    /// Marks the pointers that are parameters or the result of a device function.
    fn of_prototype(&mut self, function: &Function, types: &Types, id: ValueId) {
        let pointer = match function.op(id) {
            Op::Parameter(_) => id,
            Op::Return if !function.inputs(id).is_empty() => function.input(id, 0),
            _ => return,
        };
        if types.of[pointer].is_pointer() {
            let root = self.root(types, pointer);
            self.group(root).is_of_prototype = true;
        }
    }

    /// Gives loaded pointers the structures that the members they are loaded from point to. Returns whether there were
    /// any.
    fn follow(&mut self, module: &Module<'_>, used: &ValueMap<bool>, types: &Types) -> bool {
        let function = &module.function;
        let mut changed = false;
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) || !matches!(function.op(id), Op::Load(_)) {
                continue;
            }
            if !types.of[id].is_pointer() {
                continue;
            }
            let address = Address::new(function, function.input(id, 0));
            let Some(base) = address.base else { continue };
            let root = self.root(types, base);
            let Some(structure) = self.found.get(&root).and_then(|id| module.structures.get(*id)) else {
                continue;
            };
            let inside = address.offset.rem_euclid(i64::from(structure.size.max(1)));
            let member = structure.members.iter().find(|member| i64::from(member.offset) == inside);
            if let Some(Type::StructurePointer(target)) = member.map(|member| member.ty)
                && module.structures.get(target).is_some_and(|target| !target.members.is_empty())
            {
                let root = self.root(types, id);
                changed |= self.found.insert(root, target) != Some(target);
            }
        }
        changed
    }

    /// Changes the types of pointers to the structures that were found.
    fn apply(&mut self, module: &Module<'_>, used: &ValueMap<bool>, types: &mut Types) {
        let function = &module.function;
        for id in function.values.keys() {
            if !used[id] || function.is_replaced(id) || !types.of[id].is_pointer() {
                continue;
            }
            let own = self.root(types, id);
            if self.misaligned.contains(&own) && !matches!(function.op(id), Op::Parameter(_)) {
                types.of[id] = element(module, types.of[id]).pointer();
                continue;
            }
            if let Some(structure) = self.found.get(&own) {
                types.of[id] = Type::StructurePointer(*structure);
                continue;
            }
            // A pointer that only one value is computed for points where that value says.
            let address = Address::new(function, id);
            let Some(base) = address.base.filter(|_| function.op(id) == Op::Add) else { continue };
            let root = self.root(types, base);
            let Some(&structure) = self.found.get(&root) else { continue };
            let size = module.structures.get(structure).map_or(1, |found| found.size.max(1));
            let is_element = address.offset.unsigned_abs().is_multiple_of(u64::from(size))
                && address.terms.iter().all(|term| term.1.is_multiple_of(u64::from(size)));
            if is_element && !self.merged.contains(&types.class_of(id)) {
                types.of[id] = Type::StructurePointer(structure);
            }
        }
    }
}
