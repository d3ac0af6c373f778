//! The types of a header, with the sizes and alignments that nvcc gives them.
//!
//! Source: the CUDA C++ Programming Guide, "Built-in Vector Types"; the layout of structures is that of x86-64 Linux.

use super::super::structures::vector;
use std::collections::HashMap;
use unshade_decompile::types::Type;
use unshade_nv::debug::{DebugType, Member, TypeIndex, TypeKind};

/// Maximum number of types of a header.
const MAX_TYPES: usize = 1 << 16;

/// Maximum size in bytes of a type.
const MAX_SIZE: u64 = 1 << 32;

/// Names of numbers in addition to those that C has keywords for: name, bytes, kind.
const NUMBERS: &[(&str, u64, TypeKind)] = &[
    ("size_t", 8, TypeKind::Unsigned),
    ("ptrdiff_t", 8, TypeKind::Signed),
    ("intptr_t", 8, TypeKind::Signed),
    ("uintptr_t", 8, TypeKind::Unsigned),
    ("int8_t", 1, TypeKind::Signed),
    ("uint8_t", 1, TypeKind::Unsigned),
    ("int16_t", 2, TypeKind::Signed),
    ("uint16_t", 2, TypeKind::Unsigned),
    ("int32_t", 4, TypeKind::Signed),
    ("uint32_t", 4, TypeKind::Unsigned),
    ("int64_t", 8, TypeKind::Signed),
    ("uint64_t", 8, TypeKind::Unsigned),
    ("uchar", 1, TypeKind::Unsigned),
    ("ushort", 2, TypeKind::Unsigned),
    ("uint", 4, TypeKind::Unsigned),
    ("ulong", 8, TypeKind::Unsigned),
    ("cudaTextureObject_t", 8, TypeKind::Unsigned),
    ("cudaSurfaceObject_t", 8, TypeKind::Unsigned),
    ("__half", 2, TypeKind::Unsigned),
    ("half", 2, TypeKind::Unsigned),
];

/// All types of a header.
#[derive(Debug, Default)]
pub(super) struct HeaderTypes {
    pub list: Vec<DebugType>,
    /// The alignment of each type, in bytes.
    alignments: Vec<u64>,
    /// Types by name. Those of structures have their scope before it: `Outer::Inner`.
    names: HashMap<String, TypeIndex>,
}

impl HeaderTypes {
    /// Adds a type.
    pub(super) fn add(&mut self, ty: DebugType, alignment: u64) -> Result<TypeIndex, String> {
        if self.list.len() >= MAX_TYPES {
            return Err(format!("there are more than {MAX_TYPES} types"));
        }
        let index = TypeIndex(u32::try_from(self.list.len()).map_err(|error| error.to_string())?);
        self.list.push(ty);
        self.alignments.push(alignment.max(1));
        Ok(index)
    }

    /// Gives a type another name.
    pub(super) fn name(&mut self, name: &str, ty: TypeIndex) {
        self.names.insert(name.to_owned(), ty);
    }

    /// Returns the type with a name, which may be one of CUDA's.
    pub(super) fn by_name(&mut self, name: &str) -> Option<TypeIndex> {
        if let Some(known) = self.names.get(name) {
            return Some(*known);
        }
        let bare = name.strip_prefix("std::").unwrap_or(name);
        let found = match NUMBERS.iter().find(|row| row.0 == bare) {
            Some((_, size, kind)) => self.number(bare, *size, kind.clone()).ok()?,
            None if bare == "dim3" => {
                let uint3 = self.vector("uint3")?;
                let members = self.list.get(index(uint3))?.kind.clone();
                self.add(DebugType { name: bare.to_owned(), size: 12, kind: members }, 4).ok()?
            }
            None => self.vector(bare)?,
        };
        self.name(name, found);
        Some(found)
    }

    /// Adds a type of numbers, or returns the one with this name.
    pub(super) fn number(&mut self, name: &str, size: u64, kind: TypeKind) -> Result<TypeIndex, String> {
        if let Some(known) = self.names.get(name) {
            return Ok(*known);
        }
        let ty = self.add(DebugType { name: name.to_owned(), size, kind }, size)?;
        self.name(name, ty);
        Ok(ty)
    }

    /// Adds a vector of CUDA.
    fn vector(&mut self, name: &str) -> Option<TypeIndex> {
        let vector = vector(name)?;
        let mut members = Vec::new();
        for member in &vector.members {
            let size = u64::from(member.ty.bits()) / 8;
            let kind = match member.ty {
                Type::Float(_) => TypeKind::Float,
                Type::Integer(_, true) => TypeKind::Signed,
                _ => TypeKind::Unsigned,
            };
            let ty = self.number(&name[..name.len() - 1], size, kind).ok()?;
            members.push(Member {
                name: member.name.clone(),
                ty: Some(ty),
                offset: u64::from(member.offset),
            });
        }
        // Pairs and fours are aligned as a whole, to 16 bytes at most.
        let size = u64::from(vector.size);
        let element = size / vector.members.len().max(1) as u64;
        let alignment = if vector.members.len() == 3 { element } else { size.min(16) };
        let ty = DebugType { name: name.to_owned(), size, kind: TypeKind::Structure(members) };
        self.add(ty, alignment).ok()
    }

    /// Returns a pointer type; none points to `void`.
    pub(super) fn pointer(&mut self, target: Option<TypeIndex>) -> Result<TypeIndex, String> {
        self.add(DebugType { name: String::new(), size: 8, kind: TypeKind::Pointer(target) }, 8)
    }

    /// Returns an array type.
    pub(super) fn array(&mut self, element: TypeIndex, counts: Vec<u64>) -> Result<TypeIndex, String> {
        let size = counts.iter().try_fold(self.size(element), |size, count| size.checked_mul(*count));
        let size = size.filter(|size| *size <= MAX_SIZE).ok_or("the array is too large")?;
        let alignment = self.alignment(element);
        self.add(
            DebugType { name: String::new(), size, kind: TypeKind::Array(Some(element), counts) },
            alignment,
        )
    }

    /// Returns the size of a type in bytes; 0 if it is not defined yet.
    pub(super) fn size(&self, ty: TypeIndex) -> u64 {
        self.list.get(index(ty)).map_or(0, |ty| ty.size)
    }

    fn alignment(&self, ty: TypeIndex) -> u64 {
        self.alignments.get(index(ty)).copied().unwrap_or(1)
    }

    /// Places members, one after the other or all at the start, and completes their structure. `alignment` is what the
    /// source asks for.
    pub(super) fn complete(
        &mut self,
        structure: TypeIndex,
        members: Vec<(String, TypeIndex)>,
        is_union: bool,
        alignment: u64,
    ) -> Result<(), String> {
        let (mut end, mut largest) = (0_u64, alignment.max(1));
        let mut placed = Vec::new();
        for (name, ty) in members {
            let (size, alignment) = (self.size(ty), self.alignment(ty));
            let offset = if is_union { 0 } else { end.next_multiple_of(alignment) };
            end = end.max(offset.saturating_add(size));
            largest = largest.max(alignment);
            placed.push(Member { name, ty: Some(ty), offset });
        }
        // A structure without members has a size, too.
        let size = end.max(1).next_multiple_of(largest);
        if size > MAX_SIZE {
            return Err(String::from("the structure is too large"));
        }
        if let Some(ty) = self.list.get_mut(index(structure)) {
            ty.size = size;
            ty.kind = if is_union { TypeKind::Union(placed) } else { TypeKind::Structure(placed) };
        }
        if let Some(known) = self.alignments.get_mut(index(structure)) {
            *known = largest;
        }
        Ok(())
    }
}

fn index(ty: TypeIndex) -> usize {
    ty.0 as usize
}
