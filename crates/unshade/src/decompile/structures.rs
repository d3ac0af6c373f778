//! Structures of the source code for the decompiler: those that debugging information describes, and CUDA's vectors.

use std::collections::{HashMap, HashSet};
use unshade_decompile::c::identifier;
use unshade_decompile::ir::{Key as _, Member, Structure, StructureId};
use unshade_decompile::types::{NumberKind, Type};
use unshade_nv::debug::{DebugInfo, DebugType, TypeIndex, TypeKind};

/// Maximum number of structures of a function.
const MAX_STRUCTURES: usize = 4096;

/// Maximum number of members of a structure.
const MAX_MEMBERS: usize = 4096;

/// What the names of types in CUDA's headers begin with.
const PREFIXES: [&str; 4] = ["cuda", "CU", "dim3", "__"];

/// Returns a vector type of CUDA by name.
pub(super) fn vector(name: &str) -> Option<Structure> {
    let (base, words) = name.split_at_checked(name.len().checked_sub(1)?)?;
    let words: u32 = words.parse().ok().filter(|words| (1..=4).contains(words))?;
    let (bits, kind) = match base {
        "char" => (8, NumberKind::Signed),
        "uchar" => (8, NumberKind::Unsigned),
        "short" => (16, NumberKind::Signed),
        "ushort" => (16, NumberKind::Unsigned),
        "int" => (32, NumberKind::Signed),
        "uint" => (32, NumberKind::Unsigned),
        "float" => (32, NumberKind::Float),
        "long" | "longlong" => (64, NumberKind::Signed),
        "ulong" | "ulonglong" => (64, NumberKind::Unsigned),
        "double" => (64, NumberKind::Float),
        _ => return None,
    };
    let bytes = u32::from(bits) / 8;
    let member = |(index, name): (u32, &str)| Member {
        name: name.to_owned(),
        offset: index * bytes,
        ty: Type::of(bits, kind),
        counts: Vec::new(),
    };
    Some(Structure {
        name: name.to_owned(),
        size: bytes * words,
        is_builtin: true,
        members: (0..words).zip(["x", "y", "z", "w"]).map(member).collect(),
    })
}

/// The names in C of the structures of a cubin: each has its own.
#[derive(Debug, Default)]
pub(super) struct StructureNames {
    of: HashMap<TypeIndex, String>,
}

impl StructureNames {
    /// Returns the names of all structures. `others` are those of a header that is printed with them.
    pub(super) fn new(info: &DebugInfo, others: Option<&Self>) -> Self {
        let mut taken: HashSet<String> =
            others.into_iter().flat_map(|others| others.of.values().cloned()).collect();
        let mut names = Self::default();
        for (index, ty) in (0..).map(TypeIndex).zip(&info.types) {
            if !matches!(ty.kind, TypeKind::Structure(_) | TypeKind::Union(_)) {
                continue;
            }
            let mut name = identifier(&ty.name);
            if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                name.push('_');
            }
            let mut unique = name.clone();
            let mut number = 2_u32;
            while !taken.insert(unique.clone()) {
                unique = format!("{name}_{number}");
                number += 1;
            }
            names.of.insert(index, unique);
        }
        names
    }
}

/// Collects the structures that the types of a function refer to.
pub(super) struct Structures<'i> {
    info: &'i DebugInfo,
    names: &'i StructureNames,
    known: HashMap<TypeIndex, StructureId>,
    list: Vec<Structure>,
    /// The structures whose members are not converted yet.
    pending: Vec<(StructureId, TypeIndex)>,
}

impl<'i> Structures<'i> {
    /// Creates a table that begins with the structures of a function.
    pub(super) fn new(info: &'i DebugInfo, names: &'i StructureNames, list: Vec<Structure>) -> Self {
        Self { info, names, known: HashMap::new(), list, pending: Vec::new() }
    }

    /// Returns all structures.
    pub(super) fn finish(mut self) -> Vec<Structure> {
        while let Some((id, index)) = self.pending.pop() {
            let Some(ty) = self.info.ty(index) else { continue };
            let members = self.members(ty);
            if let Some(structure) = self.list.get_mut(id.index()) {
                structure.members = members;
            }
        }
        self.list
    }

    /// Returns a type as the decompiler knows it.
    pub(super) fn ty(&mut self, index: Option<TypeIndex>) -> Option<Type> {
        let index = self.info.resolve_index(index)?;
        let ty = self.info.ty(index)?;
        match ty.kind {
            TypeKind::Pointer(target) => Some(self.pointer(target)),
            TypeKind::Structure(_) | TypeKind::Union(_) => self.structure(index).map(Type::Structure),
            _ => scalar(ty),
        }
    }

    /// Returns a pointer type. Pointers to what the decompiler has no type for point to bytes.
    fn pointer(&mut self, target: Option<TypeIndex>) -> Type {
        const MAX_ARRAYS: usize = 8;
        let bytes = Type::Pointer(8, NumberKind::Unsigned);
        let mut target = target;
        for _ in 0..MAX_ARRAYS {
            let Some(index) = self.info.resolve_index(target) else { return bytes };
            let Some(ty) = self.info.ty(index) else { return bytes };
            match &ty.kind {
                TypeKind::Array(element, _) => target = *element,
                TypeKind::Structure(_) | TypeKind::Union(_) => {
                    return self.structure(index).map_or(bytes, Type::StructurePointer);
                }
                TypeKind::Pointer(_) => return Type::Pointer(64, NumberKind::Unsigned),
                _ => return scalar(ty).map_or(bytes, Type::pointer),
            }
        }
        bytes
    }

    /// Returns the size of a structure in bytes.
    pub(super) fn size(&self, id: StructureId) -> u32 {
        self.list.get(id.index()).map_or(0, |structure| structure.size)
    }

    fn structure(&mut self, index: TypeIndex) -> Option<StructureId> {
        if let Some(id) = self.known.get(&index) {
            return Some(*id);
        }
        let ty = self.info.ty(index)?;
        let size = u32::try_from(ty.size).ok().filter(|size| *size > 0)?;
        let vector = vector(&ty.name).filter(|vector| vector.size == size);
        let is_vector = vector.is_some();
        let structure = vector.unwrap_or_else(|| {
            let name = self.names.of.get(&index).cloned().unwrap_or_default();
            Structure { name, size, ..Structure::default() }
        });
        let id = self.place(structure)?;
        self.known.insert(index, id);
        if !is_vector {
            self.pending.push((id, index));
        }
        Some(id)
    }

    /// Adds a structure to the list, or puts it where one is of which only the name was known.
    fn place(&mut self, structure: Structure) -> Option<StructureId> {
        let is_it = |other: &Structure| other.size == 0 && other.name == structure.name;
        let index = self.list.iter().position(|other| !structure.name.is_empty() && is_it(other));
        match index {
            Some(index) => self.list[index] = structure,
            None if self.list.len() < MAX_STRUCTURES => self.list.push(structure),
            None => return None,
        }
        Some(StructureId::from_index(index.unwrap_or(self.list.len() - 1)))
    }

    /// Returns the members of a structure. Those of a union overlap: the largest of them counts.
    fn members(&mut self, ty: &DebugType) -> Vec<Member> {
        let (TypeKind::Structure(all) | TypeKind::Union(all)) = &ty.kind else { return Vec::new() };
        let mut found: Vec<(u64, Member)> = Vec::new();
        for member in all.iter().take(MAX_MEMBERS) {
            let Ok(offset) = u32::try_from(member.offset) else { continue };
            if let Some((size, ty, counts)) = self.element(member.ty)
                && offset.is_multiple_of(u32::from(ty.bits() / 8).max(1))
            {
                found.push((size, Member { name: identifier(&member.name), offset, ty, counts }));
            }
        }
        found.sort_by_key(|(size, member)| (member.offset, std::cmp::Reverse(*size)));
        let mut members: Vec<Member> = Vec::new();
        let mut names = HashSet::new();
        let mut end = 0;
        for (size, member) in found {
            let start = u64::from(member.offset);
            let next = start.saturating_add(size);
            if start >= end && next <= ty.size && names.insert(member.name.clone()) {
                end = next;
                members.push(member);
            }
        }
        members
    }

    /// Returns the size of a member, its type or that of its elements, and the counts of its dimensions.
    pub(super) fn element(&mut self, index: Option<TypeIndex>) -> Option<(u64, Type, Vec<u32>)> {
        const MAX_RANK: usize = 8;
        let mut index = self.info.resolve_index(index)?;
        let mut counts = Vec::new();
        while let TypeKind::Array(element, dimensions) = &self.info.ty(index)?.kind {
            for count in dimensions {
                counts.push(u32::try_from(*count).ok()?);
            }
            if counts.len() > MAX_RANK || dimensions.is_empty() {
                return None;
            }
            index = self.info.resolve_index(*element)?;
        }
        let size = self.info.ty(index)?.size;
        let size = counts.iter().try_fold(size, |size, count| size.checked_mul(u64::from(*count)))?;
        Some((size, self.ty(Some(index))?, counts))
    }
}

/// Returns a number's type.
fn scalar(ty: &DebugType) -> Option<Type> {
    let bits = u8::try_from(ty.size.checked_mul(8)?).ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
    let kind = match ty.kind {
        TypeKind::Float if bits >= 32 => NumberKind::Float,
        TypeKind::Signed | TypeKind::Enumeration => NumberKind::Signed,
        TypeKind::Unsigned | TypeKind::Bool => NumberKind::Unsigned,
        _ => return None,
    };
    Some(Type::of(bits, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_known_by_name() {
        let described = |name| vector(name).map(|found| (found.size, found.members.len()));
        assert_eq!(described("float4"), Some((16, 4)));
        assert_eq!(described("uchar3"), Some((3, 3)));
        assert_eq!(described("longlong2"), Some((16, 2)));
        for name in ["", "float", "float5", "float0", "Body2", "\u{e4}4"] {
            assert_eq!(described(name), None, "{name}");
        }
    }
}
