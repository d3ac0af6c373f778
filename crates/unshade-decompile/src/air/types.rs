//! Types of the module as types of the program, with the names and signs that metadata has.
//!
//! Types keep their numbers: the type of the program with a number is that of the module with the same number. Others, which
//! only metadata tells apart, follow.

use super::names;
use super::node::{Item, items};
use super::shared::Shared;
use crate::ir;
use crate::ir::metal::types::{AddressSpace, Field, IntegerSign, StructType, TypeTable, ValueType};
use unshade_llvm::ids::MetadataId;
use unshade_llvm::types::Type;
use unshade_llvm::{Module, TypeId};

/// The deepest nesting of structures that metadata describes.
const MAX_DEPTH: u32 = 16;

/// Returns the types of a module.
pub(super) fn table(module: &Module<'_>) -> TypeTable {
    let mut table = TypeTable::default();
    for number in 0..module.types.len() {
        let ty = value_type(module, TypeId(number as u32), &mut table);
        table.push(ty);
    }
    table
}

/// Returns the type of the program with the number of a type of the module.
pub(super) fn same(ty: TypeId) -> ir::TypeId {
    ir::TypeId::new(ty.0)
}

fn value_type(module: &Module<'_>, id: TypeId, table: &mut TypeTable) -> ValueType {
    let types = &module.types;
    match types.get(id) {
        Type::Void => ValueType::Void,
        Type::Half => ValueType::Float(16),
        Type::BFloat => ValueType::BFloat,
        Type::Float => ValueType::Float(32),
        Type::Double => ValueType::Float(64),
        Type::Integer(1) => ValueType::Bool,
        Type::Integer(bits @ 2..=64) => ValueType::Integer(bits as u8, IntegerSign::Any),
        Type::Pointer { pointee, address_space } => {
            ValueType::Pointer(AddressSpace::of_number(address_space), same(pointee))
        }
        Type::OpaquePointer { address_space } => {
            ValueType::Pointer(AddressSpace::of_number(address_space), ir::TypeId::NONE)
        }
        Type::Function { .. } => ValueType::Function,
        Type::Array { count, element } => ValueType::Array(same(element), count),
        Type::Vector { count, element, scalable: false } => {
            ValueType::Vector(same(element), u16::try_from(count).unwrap_or(u16::MAX))
        }
        Type::Struct(structure) => {
            let name = structure.name.map(|name| String::from_utf8_lossy(types.name(name)).into_owned());
            if structure.opaque {
                table.names.push(name.unwrap_or_default());
                return ValueType::Named(table.names.len() as u32 - 1);
            }
            let fields = types.elements(structure.fields);
            let fields = fields.iter().map(|field| Field { name: String::new(), ty: same(*field) }).collect();
            let name = name.map(|name| names::of_struct(&name).to_owned()).unwrap_or_default();
            table.structs.push(StructType { name, is_packed: structure.packed, fields });
            ValueType::Struct(table.structs.len() as u32 - 1)
        }
        _ => ValueType::Unknown,
    }
}

/// The names of integer types in metadata, with their sign.
const INTEGERS: [(&str, IntegerSign); 14] = [
    ("char", IntegerSign::Signed),
    ("uchar", IntegerSign::Unsigned),
    ("short", IntegerSign::Signed),
    ("ushort", IntegerSign::Unsigned),
    ("int", IntegerSign::Signed),
    ("uint", IntegerSign::Unsigned),
    ("long", IntegerSign::Signed),
    ("ulong", IntegerSign::Unsigned),
    ("atomic_int", IntegerSign::Signed),
    ("atomic_uint", IntegerSign::Unsigned),
    ("unsigned int", IntegerSign::Unsigned),
    ("size_t", IntegerSign::Unsigned),
    ("int64_t", IntegerSign::Signed),
    ("uint64_t", IntegerSign::Unsigned),
];

impl Shared<'_, '_> {
    /// Returns a type with the signs that its name in metadata has.
    pub(super) fn with_name(&mut self, ty: ir::TypeId, name: &str) -> ir::TypeId {
        self.with_name_at(ty, name, 0)
    }

    fn with_name_at(&mut self, ty: ir::TypeId, name: &str, depth: u32) -> ir::TypeId {
        let types = &mut self.program.types;
        let found = match types.get(ty) {
            ValueType::Integer(8, IntegerSign::Any) if name == "bool" => ValueType::Bool,
            ValueType::Integer(bits, IntegerSign::Any) => {
                let name = name.strip_prefix("atomic<").map_or(name, |rest| rest.trim_end_matches('>'));
                let name = name.strip_prefix("packed_").unwrap_or(name);
                let name = name.trim_end_matches(|c: char| matches!(c, '2'..='4'));
                let Some((_, sign)) = INTEGERS.iter().find(|row| row.0 == name) else { return ty };
                ValueType::Integer(bits, *sign)
            }
            ValueType::Vector(element, lanes) if depth < MAX_DEPTH => {
                ValueType::Vector(self.with_name_at(element, name, depth + 1), lanes)
            }
            ValueType::Array(element, count) if depth < MAX_DEPTH => {
                ValueType::Array(self.with_name_at(element, name, depth + 1), count)
            }
            _ => return ty,
        };
        self.program.types.intern(found)
    }

    /// Names the members of a structure after a list of metadata: offset, size, array length, type and name of each.
    pub(super) fn describe(&mut self, ty: ir::TypeId, name: &str, node: MetadataId, depth: u32) {
        let mut ty = ty;
        while let ValueType::Array(element, _) = self.program.types.get(ty) {
            ty = element;
        }
        let ValueType::Struct(number) = self.program.types.get(ty) else { return };
        if depth > MAX_DEPTH || !self.described.insert((number, node.0)) {
            return;
        }
        if !name.is_empty() && self.program.types.structs[number as usize].name.is_empty() {
            self.program.types.structs[number as usize].name = names::of_struct(name).to_owned();
        }
        let items = items(self.module, node);
        let mut nested = None;
        let mut at = 0;
        while at < items.len() {
            match items[at..] {
                [Item::Text("air.struct_type_info"), Item::Node(inner), ..] => {
                    nested = Some(inner);
                    at += 2;
                }
                [
                    Item::Number(offset),
                    Item::Number(_),
                    Item::Number(_),
                    Item::Text(type_name),
                    Item::Text(field_name),
                    ..,
                ] => {
                    self.describe_field(ty, number, offset, type_name, field_name, nested.take(), depth);
                    at += 5;
                }
                [Item::Text("air.indirect_argument"), _, ..] => at += 2,
                _ => at += 1,
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one entry of the list")]
    fn describe_field(
        &mut self,
        ty: ir::TypeId,
        number: u32,
        offset: u64,
        type_name: &str,
        field_name: &str,
        nested: Option<MetadataId>,
        depth: u32,
    ) {
        let count = self.program.types.structs[number as usize].fields.len();
        let Some(index) = (0..count).find(|index| self.program.types.offset(ty, *index) == offset) else {
            return;
        };
        let field = self.program.types.structs[number as usize].fields[index].ty;
        if let Some(nested) = nested {
            self.describe(field, type_name, nested, depth + 1);
        }
        let signed = self.with_name(field, type_name);
        let field = &mut self.program.types.structs[number as usize].fields[index];
        field.ty = signed;
        if field.name.is_empty() {
            field.name = field_name.to_owned();
        }
    }
}
