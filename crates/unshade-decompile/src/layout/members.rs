//! The structure that explains some accesses.
//!
//! An access has a constant offset and terms with scales, and pointers of a group differ by strides. The size of an element
//! is the smallest of these numbers for which the larger ones are multiples, and the accesses modulo that size are
//! members: of more than one type, and mostly without overlap. A smaller scale is that of an array in the
//! structure, which extends to the next member.

use crate::ir::{Member, NO_ADDRESS, Structure};
use crate::types::{NumberKind, Type};
use std::collections::BTreeMap;

/// Maximum number of members of a structure that is inferred.
const MAX_MEMBERS: usize = 256;

/// Maximum size in bytes of a structure that is inferred.
const MAX_SIZE: u64 = 1 << 16;

/// An access through a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) offset: i64,
    /// The scales of the terms of its address.
    pub(crate) scales: Vec<u64>,
    /// Its type; [`Type::Void`] if a constant is stored, which can be of any.
    pub(crate) ty: Type,
    /// The type that such a constant looks like; [`Type::Void`] for none.
    pub(crate) hint: Type,
    /// Its size in bytes.
    pub(crate) bytes: u32,
    /// The address of its instruction.
    pub(crate) instruction: u32,
}

impl Access {
    /// Returns its type, or that which its constant looks like.
    fn likely(&self) -> Type {
        if self.ty == Type::Void { self.hint } else { self.ty }
    }
}

/// The accesses through a group of pointers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accesses {
    pub(crate) list: Vec<Access>,
    /// By how much the pointers differ from each other.
    pub(crate) strides: Vec<u64>,
}

/// Bytes of an element that accesses read or write.
#[derive(Clone, Debug)]
struct Slot {
    offset: u32,
    bytes: u32,
    ty: Type,
    hint: Type,
    is_array: bool,
    /// Number of accesses.
    count: usize,
}

impl Accesses {
    /// Returns the structure that the pointers point to, if it isn't a number.
    pub(crate) fn structure(&self) -> Option<Structure> {
        if let Some(vector) = self.vector() {
            return Some(vector);
        }
        let mut types = self.list.iter().filter(|access| access.likely() != Type::Void);
        let first = types.next()?;
        let class = |access: &Access| (access.bytes, matches!(access.likely(), Type::Float(_)));
        if types.all(|access| class(access) == class(first)) {
            return None;
        }
        self.of_any_size(2)
    }

    /// Returns the structure that the pointers point to, if they are known to point to one.
    pub(crate) fn known_structure(&self) -> Option<Structure> {
        self.of_any_size(1)
    }

    /// Returns the type of the number that they access, if it is one: with votes of all.
    pub(crate) fn number(&self) -> Option<Type> {
        let first = self.list.iter().find(|access| access.ty != Type::Void).or(self.list.first())?;
        let is_float = |ty: Type| matches!(ty, Type::Float(_));
        let is_same = |access: &Access| {
            let is_any = access.ty == Type::Void || first.ty == Type::Void;
            access.bytes == first.bytes && (is_any || is_float(access.ty) == is_float(first.ty))
        };
        let ty = self.list.iter().fold(Type::Void, |ty, access| more_specific(ty, access.ty));
        let hint = self.list.iter().fold(Type::Void, |ty, access| more_specific(ty, access.hint));
        self.list.iter().all(is_same).then(|| decided(ty, hint, first.bytes))
    }

    /// Returns the structure with a size that the accesses are of: a vector type of the language, if it is one.
    pub(crate) fn whole(&self, size: u32) -> Option<Structure> {
        let found = self.of_size(Some(u64::from(size)), 1)?;
        let first = found.members.first()?.ty;
        let bytes = u32::from(first.bits().max(8)) / 8;
        let words = found.members.len() as u32;
        let is_vector = words * bytes == size && found.members.iter().all(|member| member.ty == first);
        let vector = vector_type(first, bytes, words).filter(|_| is_vector);
        Some(vector.map_or(found, |(name, element)| vector_of(name, element, bytes, words)))
    }

    /// Returns whether the pointers lead to elements of this size, and several places in them are accessed.
    pub(super) fn are_elements(&self, size: u32) -> bool {
        const MIN_PLACES: usize = 5;
        let steps = || self.list.iter().flat_map(|access| &access.scales).chain(&self.strides);
        let place = |access: &Access| access.offset.rem_euclid(i64::from(size));
        let mut places: Vec<i64> = self.list.iter().map(place).collect();
        places.sort_unstable();
        places.dedup();
        let size = u64::from(size);
        // A smaller step leads to another place in an element, if others lead to other elements.
        let has_elements = steps().any(|step| *step > 0 && step.is_multiple_of(size));
        let is_right = |step: &u64| step.is_multiple_of(size) || *step < size && has_elements;
        places.len() >= MIN_PLACES && steps().all(is_right)
    }

    /// Returns whether a pointer to a vector type can lead to all of these elements, whose vectors must be aligned: code
    /// may read single floats through a `float2 *`, at addresses that are no multiples of 8.
    pub(super) fn are_aligned(&self, structure: &Structure) -> bool {
        let align = 1_u64 << structure.size.trailing_zeros().min(4);
        let mut steps = self.list.iter().flat_map(|access| &access.scales).chain(&self.strides);
        !structure.is_builtin || steps.all(|step| step.is_multiple_of(align))
    }

    /// Returns the structure with the smallest elements, if it has a number of members.
    fn of_any_size(&self, least: usize) -> Option<Structure> {
        let scales = self.list.iter().flat_map(|access| &access.scales);
        let mut sizes: Vec<u64> = scales.chain(&self.strides).copied().filter(|size| *size > 1).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.is_empty() {
            return self.of_size(None, least);
        }
        sizes.into_iter().filter(|size| *size <= MAX_SIZE).find_map(|size| self.of_size(Some(size), least))
    }

    /// Returns the vector type of which instructions access all words at once.
    fn vector(&self) -> Option<Structure> {
        let mut instructions: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for access in self.list.iter().filter(|access| access.instruction != NO_ADDRESS) {
            instructions.entry(access.instruction).or_default().push(access.offset);
        }
        let is_known = |access: &&Access| access.ty != Type::Void;
        let first = self
            .list
            .iter()
            .find(is_known)
            .or_else(|| self.list.iter().find(|access| access.hint != Type::Void))?;
        let ty = first.likely();
        let words = instructions.values_mut().map(|offsets| {
            offsets.sort_unstable();
            offsets.dedup();
            offsets.len()
        });
        let words = words.max()? as u32;
        let is_right = |access: &Access| access.bytes == first.bytes && is_same_kind(access.ty, ty);
        let (name, element) = vector_type(ty, first.bytes, words)?;
        let size = u64::from(first.bytes * words);
        let is_aligned =
            |offsets: &Vec<i64>| offsets.len() != words as usize || offsets[0].rem_euclid(size as i64) == 0;
        let mut steps = self.list.iter().flat_map(|access| &access.scales).chain(&self.strides);
        let fits = self.list.iter().all(is_right)
            && instructions.values().all(is_aligned)
            && steps.all(|step| step.is_multiple_of(size));
        fits.then(|| vector_of(name, element, first.bytes, words))
    }

    /// Returns the structure if elements have this size; `None` if there is one element.
    fn of_size(&self, size: Option<u64>, least: usize) -> Option<Structure> {
        if let Some(size) = size
            && !self.strides.iter().all(|stride| stride.is_multiple_of(size))
        {
            return None;
        }
        let slots = self.slots(size)?;
        let all: usize = slots.iter().map(|slot| slot.count).sum();
        let members = without_overlap(slots);
        let placed: usize = members.iter().map(|slot| slot.count).sum();
        if placed * 4 < all * 3 || !(least..=MAX_MEMBERS).contains(&members.len()) {
            return None;
        }
        let align = members.iter().map(|slot| slot.bytes).max()?;
        let end = members.iter().map(|slot| slot.offset + slot.bytes).max()?.next_multiple_of(align);
        let size = u32::try_from(size.unwrap_or(u64::from(end))).ok()?;
        if !size.is_multiple_of(align) || end > size {
            return None;
        }
        let ends = members.iter().skip(1).map(|slot| slot.offset).chain([size]);
        let members = members.iter().zip(ends).map(|(slot, end)| Member {
            name: format!("at_{}", slot.offset),
            offset: slot.offset,
            ty: slot.ty,
            counts: if slot.is_array { vec![(end - slot.offset) / slot.bytes] } else { Vec::new() },
        });
        Some(Structure { name: String::new(), size, is_builtin: false, members: members.collect() })
    }

    /// Returns the bytes that are accessed of an element, in order.
    fn slots(&self, size: Option<u64>) -> Option<Vec<Slot>> {
        let mut slots: BTreeMap<(u32, u32), Slot> = BTreeMap::new();
        for access in &self.list {
            let whole = size.unwrap_or(MAX_SIZE);
            let mut is_array = false;
            for scale in access.scales.iter().filter(|scale| !scale.is_multiple_of(whole)) {
                if *scale > whole || !scale.is_multiple_of(u64::from(access.bytes)) {
                    return None;
                }
                is_array = true;
            }
            if size.is_none() && !(0..MAX_SIZE as i64).contains(&access.offset) {
                return None;
            }
            let offset = access.offset.rem_euclid(whole as i64) as u32;
            if !offset.is_multiple_of(access.bytes) {
                return None;
            }
            let slot = slots.entry((offset, access.bytes)).or_insert(Slot {
                offset,
                bytes: access.bytes,
                ty: Type::Void,
                hint: Type::Void,
                is_array,
                count: 0,
            });
            slot.is_array |= is_array;
            slot.ty = more_specific(slot.ty, access.ty);
            slot.hint = more_specific(slot.hint, access.hint);
            slot.count += 1;
        }
        let mut slots: Vec<Slot> = slots.into_values().collect();
        for slot in &mut slots {
            slot.ty = decided(slot.ty, slot.hint, slot.bytes);
        }
        Some(slots)
    }
}

/// Removes the slots that overlap others: the narrower ones, and the elements of an array after its first.
fn without_overlap(slots: Vec<Slot>) -> Vec<Slot> {
    let mut members: Vec<Slot> = Vec::new();
    for slot in slots {
        let Some(last) = members.last_mut() else {
            members.push(slot);
            continue;
        };
        let is_element = last.is_array && slot.ty == last.ty;
        if is_element {
            last.count += slot.count;
        } else if slot.offset >= last.offset + last.bytes {
            members.push(slot);
        } else if slot.bytes > last.bytes {
            *last = slot;
        }
    }
    members
}

/// Returns whether two accesses can be of the same type.
fn is_same_kind(one: Type, other: Type) -> bool {
    one == Type::Void
        || other == Type::Void
        || matches!((one, other), (Type::Float(a), Type::Float(b)) if a == b)
        || matches!((one, other), (Type::Integer(a, _), Type::Integer(b, _)) if a == b)
}

/// Returns a type, or what a hint makes of it if there is none.
fn decided(ty: Type, hint: Type, bytes: u32) -> Type {
    match (ty, hint) {
        (Type::Void, Type::Void) => Type::Integer((bytes * 8) as u8, false),
        (Type::Void, hint) => hint,
        (ty, _) => ty,
    }
}

/// Returns the type of two that says more.
fn more_specific(one: Type, other: Type) -> Type {
    let rank = |ty: Type| match ty {
        Type::Void => 0,
        Type::Integer(_, false) => 1,
        Type::Integer(_, true) => 2,
        Type::Float(_) => 3,
        _ => 4,
    };
    if rank(other) > rank(one) { other } else { one }
}

/// Returns the vector type of the language with some words of a type.
pub(super) fn vector(element: Type, words: u32) -> Option<Structure> {
    let bytes = u32::from(element.bits()) / 8;
    vector_type(element, bytes, words).map(|(name, element)| vector_of(name, element, bytes, words))
}

/// Returns a vector type of the language.
fn vector_of(name: String, element: Type, bytes: u32, words: u32) -> Structure {
    let member = |(index, name): (u32, &str)| Member {
        name: name.to_owned(),
        offset: index * bytes,
        ty: element,
        counts: Vec::new(),
    };
    let members = (0..words).zip(["x", "y", "z", "w"]).map(member).collect();
    Structure { name, size: bytes * words, is_builtin: true, members }
}

/// Returns the name and the element of a vector type.
fn vector_type(ty: Type, bytes: u32, words: u32) -> Option<(String, Type)> {
    let name = match (ty, bytes) {
        (Type::Float(32), 4) => "float",
        (Type::Integer(32, true), 4) => "int",
        (Type::Integer(32, false), 4) => "uint",
        (Type::Float(64), 8) => "double",
        (Type::Integer(64, true), 8) => "longlong",
        (Type::Integer(64, false), 8) => "ulonglong",
        _ => return None,
    };
    let is_known = words == 2 || words == 4 && bytes == 4;
    let kind = match ty {
        Type::Float(_) => NumberKind::Float,
        Type::Integer(_, true) => NumberKind::Signed,
        _ => NumberKind::Unsigned,
    };
    is_known.then(|| (format!("{name}{words}"), Type::of((bytes * 8) as u8, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(offset: i64, scales: &[u64], ty: Type) -> Access {
        Access {
            offset,
            scales: scales.to_vec(),
            ty,
            hint: Type::Void,
            bytes: u32::from(ty.bits()) / 8,
            instruction: offset as u32,
        }
    }

    const FLOAT: Type = Type::Float(32);
    const INT: Type = Type::Integer(32, true);

    fn described(list: Vec<Access>) -> Option<String> {
        let structure = Accesses { list, strides: Vec::new() }.structure()?;
        let members: Vec<String> = structure
            .members
            .iter()
            .map(|member| format!("{}:{}{:?}", member.name, member.ty, member.counts))
            .collect();
        Some(format!("{} {} {}", structure.name, structure.size, members.join(" ")))
    }

    #[test]
    fn several_types_are_a_structure() {
        let list = vec![access(0, &[24], FLOAT), access(20, &[24], INT), access(44, &[24], INT)];
        assert_eq!(described(list).as_deref(), Some(" 24 at_0:f32[] at_20:i32[]"));
    }

    #[test]
    fn constants_that_look_like_floats_are_members() {
        let constant = |offset, hint| Access { ty: Type::Void, hint, ..access(offset, &[8], FLOAT) };
        let list = vec![constant(0, FLOAT), access(4, &[8], INT)];
        assert_eq!(described(list).as_deref(), Some(" 8 at_0:f32[] at_4:i32[]"));
        let list = vec![constant(0, FLOAT), access(0, &[8], INT), access(4, &[8], INT)];
        assert_eq!(described(list).as_deref(), Some(" 8 at_0:i32[] at_4:i32[]"));
        assert_eq!(described(vec![constant(0, FLOAT), constant(4, FLOAT)]), None);
    }

    #[test]
    fn one_type_is_an_array() {
        assert_eq!(described(vec![access(0, &[4], FLOAT), access(4, &[4], FLOAT)]), None);
        assert_eq!(described(vec![access(0, &[4], FLOAT), access(0, &[4], INT)]), None);
    }

    #[test]
    fn a_smaller_scale_is_an_array_in_the_structure() {
        let list = vec![access(0, &[68, 4], FLOAT), access(8, &[68], FLOAT), access(64, &[68], INT)];
        assert_eq!(described(list).as_deref(), Some(" 68 at_0:f32[16] at_64:i32[]"));
    }

    #[test]
    fn vectors_are_aligned() {
        let vector = |words: u32| Structure {
            name: "a".to_owned(),
            size: 4 * words,
            is_builtin: true,
            members: Vec::new(),
        };
        let is_aligned = |scale: u64, stride: u64, words: u32| {
            let accesses = Accesses { list: vec![access(4, &[scale], FLOAT)], strides: vec![stride] };
            accesses.are_aligned(&vector(words))
        };
        assert!(is_aligned(8, 16, 2) && is_aligned(16, 32, 4) && is_aligned(4, 12, 3));
        assert!(!is_aligned(8, 28, 2) && !is_aligned(4, 8, 2) && !is_aligned(16, 24, 4));
    }

    #[test]
    fn words_of_one_instruction_are_a_vector() {
        let mut list: Vec<Access> = (0..4).map(|index| access(4 * index, &[16], FLOAT)).collect();
        for access in &mut list {
            access.instruction = 8;
        }
        assert_eq!(described(list).as_deref(), Some("float4 16 x:f32[] y:f32[] z:f32[] w:f32[]"));
    }
}
