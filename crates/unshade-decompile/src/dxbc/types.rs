//! The types of RDEF as types of the language.
//!
//! | class | type |
//! |---|---|
//! | 0, 1 | scalar, vector |
//! | 2, 3 | matrix with contiguous rows, columns |
//! | 5, 6 | structure, class |
//!
//! Source: `D3D_SHADER_VARIABLE_CLASS` and `D3D_SHADER_VARIABLE_TYPE` in Microsoft's documentation.

use std::collections::HashMap;
use unshade_dxcontainer::rdef;
use unshade_ir::StructId;
use unshade_ir::shader::data_type::{
    DataType, Packing, Scalar, ScalarKind, StructField, StructType, StructTypes,
};

/// Maximum nesting of structures; types of a hostile part may contain themselves.
const MAX_DEPTH: usize = 32;

/// The largest type in bytes: what a resource can hold.
pub(crate) const MAX_SIZE: u32 = 1 << 27;

/// Scalars by the number of the base type.
const SCALARS: [(u16, ScalarKind, u8, bool); 12] = [
    (1, ScalarKind::Bool, 32, false),
    (2, ScalarKind::Signed, 32, false),
    (3, ScalarKind::Float, 32, false),
    (19, ScalarKind::Unsigned, 32, false),
    (20, ScalarKind::Unsigned, 32, false),
    (39, ScalarKind::Float, 64, false),
    (52, ScalarKind::Float, 32, true),
    (53, ScalarKind::Float, 32, true),
    (54, ScalarKind::Float, 32, true),
    (55, ScalarKind::Signed, 32, true),
    (56, ScalarKind::Signed, 32, true),
    (57, ScalarKind::Unsigned, 32, true),
];

/// Converts types, each structure once.
pub(super) struct Types<'d> {
    types: &'d [rdef::DataType],
    by_offset: HashMap<u32, usize>,
    known: HashMap<(u32, bool), StructId>,
}

impl<'d> Types<'d> {
    pub(super) fn new(types: &'d [rdef::DataType]) -> Self {
        let entries = types.iter().enumerate();
        let by_offset = entries.map(|(number, found)| (found.offset.0, number)).collect();
        Self { types, by_offset, known: HashMap::new() }
    }

    /// Returns the type at an offset of the part; `None` if it is no type of numbers.
    pub(super) fn convert(
        &mut self,
        offset: u32,
        packing: Packing,
        structs: &mut StructTypes,
    ) -> Option<DataType> {
        self.nested(offset, packing, structs, 0)
    }

    fn nested(
        &mut self,
        offset: u32,
        packing: Packing,
        structs: &mut StructTypes,
        depth: usize,
    ) -> Option<DataType> {
        let found = self.types.get(*self.by_offset.get(&offset)?)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let fields = &found.fields;
        let element = match fields.class {
            0 => DataType::Scalar(scalar(fields.base)?),
            1 => DataType::Vector(scalar(fields.base)?, fields.columns.clamp(1, 4)),
            2 | 3 => DataType::Matrix {
                scalar: scalar(fields.base)?,
                rows: u8::try_from(fields.rows).ok()?,
                columns: u8::try_from(fields.columns).ok()?,
                is_row_major: fields.class == 2,
            },
            5 | 6 => self.structure(found, packing, structs, depth)?,
            _ => return None,
        };
        let count = u32::from(fields.elements).max(1);
        if packing.stride(&element, structs).checked_mul(count).is_none_or(|size| size > MAX_SIZE) {
            return None;
        }
        Some(match fields.elements {
            0 => element,
            _ => DataType::Array(Box::new(element), count),
        })
    }

    fn structure(
        &mut self,
        found: &rdef::DataType,
        packing: Packing,
        structs: &mut StructTypes,
        depth: usize,
    ) -> Option<DataType> {
        // An array of structures has a type of its own, with the same members.
        let key = match found.fields.members_offset.0 {
            0 => found.offset.0,
            members => members,
        };
        let key = (key, packing == Packing::Constant);
        if let Some(id) = self.known.get(&key) {
            return Some(DataType::Struct(*id));
        }
        let mut structure = StructType {
            name: found.name.as_ref().map(|name| name.to_string_lossy()).unwrap_or_default(),
            ..StructType::default()
        };
        if structure.name.contains('<') {
            structure.name.clear();
        }
        for member in &found.members {
            let ty = self.nested(member.fields.type_offset.0, packing, structs, depth + 1)?;
            if member.fields.start > MAX_SIZE {
                return None;
            }
            structure.push(member.name.to_string_lossy(), member.fields.start, ty, packing, structs);
        }
        structure.fields.sort_by_key(|field| field.offset);
        let id = structs.push(structure);
        self.known.insert(key, id);
        Some(DataType::Struct(id))
    }
}

/// Adding of members.
pub(super) trait PushField {
    /// Adds a member.
    fn push(&mut self, name: String, offset: u32, ty: DataType, packing: Packing, structs: &StructTypes);
}

impl PushField for StructType {
    fn push(&mut self, name: String, offset: u32, ty: DataType, packing: Packing, structs: &StructTypes) {
        self.size = self.size.max(offset.saturating_add(packing.size(&ty, structs)));
        self.fields.push(StructField { name, offset, ty, semantic: None, access: None });
    }
}

fn scalar(base: u16) -> Option<Scalar> {
    let (_, kind, bits, is_minimum) = SCALARS.iter().find(|row| row.0 == base)?;
    Some(Scalar { kind: *kind, bits: *bits, is_minimum: *is_minimum })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_dxcontainer::Hex32;
    use unshade_dxcontainer::bytes::Text;
    use unshade_dxcontainer::rdef::{Member, MemberFields, TypeFields};

    /// Returns a type of floats without a name.
    fn data_type(offset: u32, class: u16, columns: u16, elements: u16) -> rdef::DataType {
        let fields = TypeFields {
            class,
            base: 3,
            rows: 1,
            columns,
            elements,
            member_count: 0,
            members_offset: Hex32(0),
        };
        let offset = Hex32(offset);
        rdef::DataType {
            offset,
            name: None,
            fields,
            bases: None,
            members: Vec::new(),
            interfaces: Vec::new(),
        }
    }

    #[test]
    fn structures_may_have_more_numbers_than_a_matrix() {
        let mut whole = data_type(80, 5, 256, 0);
        let fields = MemberFields { name_offset: Hex32(0), type_offset: Hex32(40), start: 0 };
        whole.members.push(Member { name: Text(b"lights".to_vec()), fields });
        let types = [data_type(40, 1, 4, 64), whole];
        let mut structs = StructTypes::default();
        let found = Types::new(&types).convert(80, Packing::Constant, &mut structs);
        let Some(DataType::Struct(id)) = found else { panic!("{found:?}") };
        assert_eq!(structs[id].size, 1024);
    }
}
