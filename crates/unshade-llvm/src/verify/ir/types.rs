//! Facts about types that many checks need: equality, size, and what they contain.
//!
//! A type table of LLVM's writer has no equal types, but nothing keeps other writers from listing a type twice, so
//! each type is mapped to the first equal one. Identified structs are equal to themselves only. Everything is computed
//! in one pass over the table, without recursion: types that contain themselves by value end as unsized.

use crate::hash::{Hash, HashIndex};
use crate::ids::{TypeId, narrow};
use crate::types::{Type, TypeTable};
use alloc::vec;
use alloc::vec::Vec;

/// A type that has no size: no value of it can be in memory.
const UNSIZED: u8 = 1;
/// It is or contains a scalable vector.
const SCALABLE: u8 = 2;
/// It is or contains a target type.
const TARGET: u8 = 4;

/// What is known of every type of a module.
#[derive(Debug, Default)]
pub(super) struct TypeFacts {
    /// By type: the first equal type.
    first: Vec<TypeId>,
    flags: Vec<u8>,
    /// Whether pointers have types.
    pub(super) typed_pointers: bool,
}

impl TypeFacts {
    pub(super) fn new(types: &TypeTable) -> Self {
        let mut facts = Self { first: first_equal(types), flags: vec![0; types.len()], typed_pointers: false };
        let all = (0..narrow(types.len() as u64)).map(TypeId);
        facts.typed_pointers = all.clone().any(|id| matches!(types.get(id), Type::Pointer { .. }));
        let mut states = vec![State::New; types.len()];
        for id in all {
            facts.visit(types, id, &mut states);
        }
        facts
    }

    /// Returns whether two types are equal. An unknown type, which the readers report, equals all.
    #[inline]
    pub(super) fn same(&self, one: TypeId, other: TypeId) -> bool {
        one == other || self.same_slow(one, other)
    }

    fn same_slow(&self, one: TypeId, other: TypeId) -> bool {
        match (self.first.get(one.index()), self.first.get(other.index())) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    fn has(&self, id: TypeId, flag: u8) -> bool {
        self.flags.get(id.index()).is_some_and(|flags| flags & flag != 0)
    }

    /// Returns whether values of a type can be in memory.
    pub(super) fn is_sized(&self, id: TypeId) -> bool {
        !self.has(id, UNSIZED)
    }

    /// Returns whether a type is or contains a scalable vector.
    pub(super) fn is_scalable(&self, id: TypeId) -> bool {
        self.has(id, SCALABLE)
    }

    /// Returns whether a type is or contains a target type.
    pub(super) fn has_target(&self, id: TypeId) -> bool {
        self.has(id, TARGET)
    }

    /// Computes the flags of a type after those of its parts.
    fn visit(&mut self, types: &TypeTable, root: TypeId, states: &mut [State]) {
        let mut stack = vec![(root, 0usize)];
        while let Some((id, next)) = stack.pop() {
            let Some(state) = states.get_mut(id.index()) else { continue };
            match (*state, next) {
                (State::New, _) => *state = State::Open,
                (State::Open, 1..) => {}
                _ => continue,
            }
            let parts = Parts::of(types, id);
            let Some(part) = parts.get(next) else {
                self.finish(types, id, parts);
                *state = State::Done;
                continue;
            };
            stack.push((id, next.saturating_add(1)));
            match states.get(part.index()) {
                Some(State::New) => stack.push((part, 0)),
                Some(State::Open) => {
                    // The type contains itself.
                    if let Some(flags) = self.flags.get_mut(id.index()) {
                        *flags |= UNSIZED;
                    }
                }
                _ => {}
            }
        }
    }

    fn finish(&mut self, types: &TypeTable, id: TypeId, parts: Parts<'_>) {
        let own = match types.get(id) {
            Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Function { .. } | Type::Unknown => UNSIZED,
            Type::Struct(structure) if structure.opaque => UNSIZED,
            Type::Vector { scalable: true, .. } => SCALABLE,
            Type::Target { .. } => TARGET,
            _ => 0,
        };
        let inherited = |id: TypeId| self.flags.get(id.index()).copied().unwrap_or(UNSIZED);
        let mut flags = own;
        let mut at = 0usize;
        while let Some(part) = parts.get(at) {
            flags |= inherited(part);
            at = at.saturating_add(1);
        }
        if let Some(slot) = self.flags.get_mut(id.index()) {
            *slot |= flags;
        }
    }
}

/// How far the flags of a type are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// The types that a type contains by value.
#[derive(Clone, Copy)]
enum Parts<'t> {
    Many(&'t [TypeId]),
    One(TypeId),
}

impl<'t> Parts<'t> {
    fn of(types: &'t TypeTable, id: TypeId) -> Self {
        match types.get(id) {
            Type::Struct(structure) => Self::Many(types.elements(structure.fields)),
            Type::Array { element, .. } | Type::Vector { element, .. } => Self::One(element),
            _ => Self::Many(&[]),
        }
    }

    fn get(self, at: usize) -> Option<TypeId> {
        match self {
            Self::Many(parts) => parts.get(at).copied(),
            Self::One(part) => (at == 0).then_some(part),
        }
    }
}

/// Maps every type to the first equal one. References to later types can only be to identified structs, as LLVM
/// requires, so a type's parts are mapped before the type.
fn first_equal(types: &TypeTable) -> Vec<TypeId> {
    let mut first: Vec<TypeId> = Vec::with_capacity(types.len());
    let mut index = HashIndex::default();
    for at in 0..narrow(types.len() as u64) {
        let hash = hash_of(types, &first, at);
        let known = hash.and_then(|hash| index.find(hash, |other| equal(types, &first, at, other)));
        first.push(TypeId(known.unwrap_or(at)));
        if let (Some(hash), None) = (hash, known) {
            index.insert(hash, at, |other| hash_of(types, &first, other).unwrap_or(0));
        }
    }
    first
}

fn mapped(first: &[TypeId], id: TypeId) -> TypeId {
    first.get(id.index()).copied().unwrap_or(id)
}

/// Returns the hash of a type that can be equal to others; none for identified structs and simple types.
fn hash_of(types: &TypeTable, first: &[TypeId], at: u32) -> Option<u64> {
    let hash = Hash::new();
    let part = |hash: Hash, id: TypeId| hash.word(u64::from(mapped(first, id).0));
    let parts = |hash: Hash, ids: &[TypeId]| ids.iter().fold(hash, |hash, &id| part(hash, id));
    let hash = match types.get(TypeId(at)) {
        Type::Struct(structure) if !structure.literal => return None,
        Type::Unknown => return None,
        Type::Integer(width) => hash.word(1).word(u64::from(width)),
        Type::Pointer { pointee, address_space } => part(hash.word(2), pointee).word(u64::from(address_space)),
        Type::OpaquePointer { address_space } => hash.word(3).word(u64::from(address_space)),
        Type::Function { result, parameters, variadic } => {
            parts(part(hash.word(4).word(u64::from(variadic)), result), types.elements(parameters))
        }
        Type::Struct(structure) => {
            parts(hash.word(5).word(u64::from(structure.packed)), types.elements(structure.fields))
        }
        Type::Array { count, element } => part(hash.word(6).word(count), element),
        Type::Vector { count, element, scalable } => {
            part(hash.word(7).word(u64::from(count)).word(u64::from(scalable)), element)
        }
        Type::Target { name, types: of, numbers } => {
            let hash = parts(hash.word(8).bytes(types.name(name)), types.elements(of));
            types.numbers(numbers).iter().fold(hash, |hash, &number| hash.word(u64::from(number)))
        }
        simple => hash.word(9).word(u64::from(simple_number(simple))),
    };
    Some(hash.0)
}

/// Returns a number for each type without parts.
fn simple_number(ty: Type) -> u8 {
    const SIMPLE: [Type; 13] = [
        Type::Void,
        Type::Half,
        Type::BFloat,
        Type::Float,
        Type::Double,
        Type::X86Fp80,
        Type::Fp128,
        Type::PpcFp128,
        Type::Label,
        Type::Metadata,
        Type::X86Mmx,
        Type::X86Amx,
        Type::Token,
    ];
    SIMPLE.iter().position(|simple| *simple == ty).map_or(u8::MAX, |at| at.to_le_bytes()[0])
}

fn equal(types: &TypeTable, first: &[TypeId], one: u32, other: u32) -> bool {
    let same = |one: TypeId, other: TypeId| mapped(first, one) == mapped(first, other);
    let all = |one: &[TypeId], other: &[TypeId]| {
        one.len() == other.len() && one.iter().zip(other).all(|(&one, &other)| same(one, other))
    };
    match (types.get(TypeId(one)), types.get(TypeId(other))) {
        (
            Type::Pointer { pointee: p1, address_space: a1 },
            Type::Pointer { pointee: p2, address_space: a2 },
        ) => a1 == a2 && same(p1, p2),
        (
            Type::Function { result: r1, parameters: p1, variadic: v1 },
            Type::Function { result: r2, parameters: p2, variadic: v2 },
        ) => v1 == v2 && same(r1, r2) && all(types.elements(p1), types.elements(p2)),
        (Type::Struct(one), Type::Struct(other)) => {
            one.literal
                && other.literal
                && one.packed == other.packed
                && all(types.elements(one.fields), types.elements(other.fields))
        }
        (Type::Array { count: c1, element: e1 }, Type::Array { count: c2, element: e2 }) => c1 == c2 && same(e1, e2),
        (
            Type::Vector { count: c1, element: e1, scalable: s1 },
            Type::Vector { count: c2, element: e2, scalable: s2 },
        ) => c1 == c2 && s1 == s2 && same(e1, e2),
        (Type::Target { name: n1, types: t1, numbers: i1 }, Type::Target { name: n2, types: t2, numbers: i2 }) => {
            types.name(n1) == types.name(n2)
                && all(types.elements(t1), types.elements(t2))
                && types.numbers(i1) == types.numbers(i2)
        }
        (one, other) => one == other,
    }
}
