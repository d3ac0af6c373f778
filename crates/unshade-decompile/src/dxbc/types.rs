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
use unshade_dxcontainer::rdef::{self, ResourceDefinitions};
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
    definitions: &'d ResourceDefinitions,
    by_offset: HashMap<u32, usize>,
    known: HashMap<(u32, bool), StructId>,
}

impl<'d> Types<'d> {
    pub(super) fn new(definitions: &'d ResourceDefinitions) -> Self {
        let entries = definitions.types.iter().enumerate();
        let by_offset = entries.map(|(number, found)| (found.offset.0, number)).collect();
        Self { definitions, by_offset, known: HashMap::new() }
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
        let definitions = self.definitions;
        let found = definitions.types.get(*self.by_offset.get(&offset)?)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let fields = &found.fields;
        let (rows, columns) = (u8::try_from(fields.rows).ok()?, u8::try_from(fields.columns).ok()?);
        let element = match fields.class {
            0 => DataType::Scalar(scalar(fields.base)?),
            1 => DataType::Vector(scalar(fields.base)?, fields.columns.clamp(1, 4)),
            2 | 3 => DataType::Matrix {
                scalar: scalar(fields.base)?,
                rows,
                columns,
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
