//! Types of values and of memory.
//!
//! A table has all types of a program. Values refer to them by number ([`Value::ty`](crate::Value::ty)), and pointers know what
//! they point to: that makes typed code of memory accesses.
//!
//! | type | size | alignment |
//! |---|---|---|
//! | number | its bits, at least 8 | its size |
//! | vector of three lanes | that of four | its size |
//! | vector of one, two or four lanes | its lanes | its size |
//! | array | its elements | that of an element |
//! | structure | its members, with padding unless it is packed | the largest of a member |
//! | pointer, handle | 8 | 8 |
//!
//! Knowledge: the data layout string of AIR, and Apple's Metal Shading Language specification.

use crate::hash::FastMap;
use crate::id::{Key, TypeId};

/// What an integer is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntegerSign {
    /// Nothing is known.
    Any,
    /// Signed.
    Signed,
    /// Unsigned.
    Unsigned,
}

/// The memory that a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the thread.
    Thread,
    /// Memory of the device; textures.
    Device,
    /// Constant memory; samplers.
    Constant,
    /// Memory of the threadgroup.
    Threadgroup,
    /// Another one, by its number.
    Other(u8),
}

impl AddressSpace {
    /// Returns the address space with a number of AIR.
    pub fn of_number(number: u32) -> Self {
        match number {
            0 => Self::Thread,
            1 => Self::Device,
            2 => Self::Constant,
            3 => Self::Threadgroup,
            other => Self::Other(u8::try_from(other).unwrap_or(u8::MAX)),
        }
    }
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// No value.
    Void,
    /// A truth.
    Bool,
    /// An integer: its bits, and its sign.
    Integer(u8, IntegerSign),
    /// A floating-point number with this many bits.
    Float(u8),
    /// A floating-point number of 16 bits with the exponent of 32 bits.
    BFloat,
    /// A vector.
    Vector(TypeId, u16),
    /// An array.
    Array(TypeId, u64),
    /// A structure, by its number in [`TypeTable::structs`].
    Struct(u32),
    /// A pointer.
    Pointer(AddressSpace, TypeId),
    /// A type without a layout, such as that of a texture: its number in [`TypeTable::names`].
    Named(u32),
    /// A function.
    Function,
    /// What AIR has no values of.
    Unknown,
}

/// A structure type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructType {
    /// Its name as in the module; empty if it has none.
    pub name: String,
    /// Whether there is no padding between members.
    pub is_packed: bool,
    /// Its members.
    pub fields: Vec<Field>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
}

/// The deepest nesting of types that sizes are computed of.
const MAX_DEPTH: u32 = 32;

/// All types of a program.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    types: Vec<ValueType>,
    /// The first number of each type.
    numbers: FastMap<ValueType, TypeId>,
    /// The structures.
    pub structs: Vec<StructType>,
    /// The names of types without a layout.
    pub names: Vec<String>,
}

impl TypeTable {
    /// Adds a type that gets the next number.
    pub fn push(&mut self, ty: ValueType) -> TypeId {
        let id = TypeId::from_index(self.types.len());
        self.types.push(ty);
        self.numbers.entry(ty).or_insert(id);
        id
    }

    /// Returns the number of a type, which is added unless it is there.
    pub fn intern(&mut self, ty: ValueType) -> TypeId {
        match self.numbers.get(&ty) {
            Some(id) => *id,
            None => self.push(ty),
        }
    }

    /// Returns a type; [`ValueType::Unknown`] if there is no such type.
    pub fn get(&self, id: TypeId) -> ValueType {
        self.types.get(id.index()).copied().unwrap_or(ValueType::Unknown)
    }

    /// Returns the number of types.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns whether there are no types.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns what a pointer points to, and its address space.
    pub fn pointee(&self, id: TypeId) -> Option<(AddressSpace, TypeId)> {
        match self.get(id) {
            ValueType::Pointer(space, pointee) => Some((space, pointee)),
            _ => None,
        }
    }

    /// Returns the type of the lanes of a vector, or the type itself.
    pub fn scalar(&self, id: TypeId) -> ValueType {
        match self.get(id) {
            ValueType::Vector(element, _) => self.get(element),
            ty => ty,
        }
    }

    /// Returns the number of the type of the lanes of a vector, or of the type itself.
    pub fn scalar_id(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            ValueType::Vector(element, _) => element,
            _ => id,
        }
    }

    /// Returns the structure that a type is.
    pub fn structure(&self, id: TypeId) -> Option<&StructType> {
        match self.get(id) {
            ValueType::Struct(number) => self.structs.get(number as usize),
            _ => None,
        }
    }

    /// Returns the size of a type in memory, in bytes.
    pub fn size(&self, id: TypeId) -> u64 {
        self.layout(id, 0).0
    }

    /// Returns the alignment of a type in memory, in bytes.
    pub fn alignment(&self, id: TypeId) -> u64 {
        self.layout(id, 0).1
    }

    /// Returns the offset of a member of a structure, in bytes.
    pub fn offset(&self, structure: TypeId, field: usize) -> u64 {
        let Some(structure) = self.structure(structure) else { return 0 };
        let mut end = 0_u64;
        for (index, member) in structure.fields.iter().enumerate() {
            let (size, alignment) = self.layout(member.ty, 1);
            let start = if structure.is_packed { end } else { end.next_multiple_of(alignment) };
            if index == field {
                return start;
            }
            end = start.saturating_add(size);
        }
        end
    }

    /// Returns size and alignment.
    fn layout(&self, id: TypeId, depth: u32) -> (u64, u64) {
        if depth > MAX_DEPTH {
            return (0, 1);
        }
        match self.get(id) {
            ValueType::Void | ValueType::Function | ValueType::Unknown => (0, 1),
            ValueType::Bool => (1, 1),
            ValueType::Integer(bits, _) | ValueType::Float(bits) => {
                let size = u64::from(bits).div_ceil(8).next_power_of_two();
                (size, size)
            }
            ValueType::BFloat => (2, 2),
            ValueType::Pointer(..) | ValueType::Named(_) => (8, 8),
            ValueType::Vector(element, lanes) => {
                let lanes = if lanes == 3 { 4 } else { u64::from(lanes) };
                let size = self.layout(element, depth + 1).0.saturating_mul(lanes);
                (size, size.clamp(1, 128))
            }
            ValueType::Array(element, count) => {
                let (size, alignment) = self.layout(element, depth + 1);
                (size.saturating_mul(count), alignment)
            }
            ValueType::Struct(number) => self.struct_layout(number, depth),
        }
    }

    fn struct_layout(&self, number: u32, depth: u32) -> (u64, u64) {
        let Some(structure) = self.structs.get(number as usize) else { return (0, 1) };
        let (mut end, mut most) = (0_u64, 1);
        for field in &structure.fields {
            let (size, alignment) = self.layout(field.ty, depth + 1);
            let alignment = if structure.is_packed { 1 } else { alignment.max(1) };
            end = end.checked_next_multiple_of(alignment).unwrap_or(end).saturating_add(size);
            most = most.max(alignment);
        }
        (end.checked_next_multiple_of(most).unwrap_or(end), most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_offsets() {
        let mut types = TypeTable::default();
        let float = types.push(ValueType::Float(32));
        let byte = types.push(ValueType::Integer(8, IntegerSign::Any));
        let triple = types.push(ValueType::Vector(float, 3));
        let array = types.push(ValueType::Array(float, 3));
        assert_eq!((types.size(triple), types.alignment(triple)), (16, 16));
        let fields = [byte, triple, byte, array].map(|ty| Field { name: String::new(), ty });
        types.structs.push(StructType { fields: fields.to_vec(), ..StructType::default() });
        let whole = types.push(ValueType::Struct(0));
        assert_eq!([0, 1, 2, 3].map(|field| types.offset(whole, field)), [0, 16, 32, 36]);
        assert_eq!(types.size(whole), 48);
        types.structs[0].is_packed = true;
        assert_eq!(types.size(whole), 30);
    }
}
