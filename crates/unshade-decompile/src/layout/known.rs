//! Structures of libraries, of which code shows more than offsets: a table of the front end names their members.
//!
//! A structure is recognised by its name, or by constants of the algorithm that works on it, if all accesses through a
//! pointer fit its members.

use super::members::{Access, Accesses};
use super::size::size_of;
use crate::ir::{Function, Member, Module, Op, Structure, StructureId};
use crate::types::Type;

/// A structure of a library.
#[derive(Debug)]
pub struct KnownStructure {
    /// Its name in the library's header.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: u32,
    /// Its members, in order.
    pub members: &'static [KnownMember],
    /// Constants that appear only where code works on it: one is enough. Empty if nothing but its name shows what it is.
    pub constants: &'static [u64],
}

/// A member of such a structure.
#[derive(Debug)]
pub struct KnownMember {
    /// Its name.
    pub name: &'static str,
    /// Its offset in bytes.
    pub offset: u32,
    /// Its type, or that of its elements.
    pub ty: KnownType,
    /// Number of elements; 0 if it is no array.
    pub count: u32,
}

/// The type of such a member.
#[derive(Clone, Copy, Debug)]
pub enum KnownType {
    /// A number.
    Number(Type),
    /// A vector of the language, by its element, with its number of elements.
    Vector(Type, u32),
}

/// Returns the structure with a name. Vectors in it are added to the module.
pub(super) fn named(module: &mut Module<'_>, all: &[KnownStructure], name: &str) -> Option<Structure> {
    let known = all.iter().find(|known| known.name == name)?;
    Some(structure(module, known))
}

/// Adds the structure that accesses are to, if the function computes with its constants.
pub(super) fn accessed(
    module: &mut Module<'_>,
    all: &[KnownStructure],
    accesses: &Accesses,
) -> Option<StructureId> {
    let known = all
        .iter()
        .filter(|known| accesses.are_elements(known.size))
        .find(|known| known.constants.iter().any(|constant| has_constant(&module.function, *constant)))?;
    let found = structure(module, known);
    let fits = |access: &Access| fits(module, &found, access);
    let is_right = accesses.list.iter().all(fits);
    is_right.then(|| super::declared(module, found))
}

/// Returns whether a function uses a 32-bit constant.
fn has_constant(function: &Function, constant: u64) -> bool {
    function.values.iter().any(|value| value.op == Op::Constant(constant) && value.width == 32)
}

/// Returns whether an access is to a member, to a part of one, or to several as a whole.
fn fits(module: &Module<'_>, structure: &Structure, access: &Access) -> bool {
    let start = access.offset.rem_euclid(i64::from(structure.size)) as u32;
    let Some(end) = start.checked_add(access.bytes).filter(|end| *end <= structure.size) else {
        return false;
    };
    structure.members.iter().all(|member| {
        let bytes = size_of(&module.structures, member.ty);
        let word = bytes.min(4);
        let member_end = member.offset + bytes * member.counts.iter().product::<u32>();
        let is_apart = end <= member.offset || start >= member_end;
        is_apart || start.is_multiple_of(word) && end.is_multiple_of(word)
    })
}

/// Returns a structure. Vectors in it are added to the module.
fn structure(module: &mut Module<'_>, known: &KnownStructure) -> Structure {
    let member = |member: &KnownMember| Member {
        name: member.name.to_owned(),
        offset: member.offset,
        ty: match member.ty {
            KnownType::Number(ty) => ty,
            KnownType::Vector(element, words) => vector(module, element, words),
        },
        counts: if member.count == 0 { Vec::new() } else { vec![member.count] },
    };
    let members = known.members.iter().map(member).collect();
    Structure { name: known.name.to_owned(), size: known.size, is_builtin: false, members }
}

/// Adds a vector type to the module.
fn vector(module: &mut Module<'_>, element: Type, words: u32) -> Type {
    let structure = super::members::vector(element, words);
    structure.map_or(element, |structure| Type::Structure(super::declared(module, structure)))
}
