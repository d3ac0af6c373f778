//! Types: LLVM's, with the annotations of DXIL, as types of the shading language.

use crate::ir::StructId;
use crate::ir::hash::FastMap;
use crate::ir::shader::data_type::{
    DataType, Packing, PayloadAccess, Scalar, ScalarKind, StructField, StructType, StructTypes,
};
use unshade_dxcontainer::dxil::annotation::Orientation;
use unshade_dxcontainer::dxil::{ComponentType, DxilModule, FieldAnnotation, StructAnnotation};
use unshade_llvm::types::Type;
use unshade_llvm::{Module, TypeId};

/// Maximum nesting depth of types.
const MAX_DEPTH: usize = 32;

/// Prefix of the names of structures that DXC lays out for buffers.
const HOST_LAYOUT: &str = "hostlayout.";

/// Prefix of the names of structures that represent matrices.
const MATRIX: &str = "class.matrix.";

/// Translates the types of one module. Structures are added to those of the program.
pub(super) struct TypeReader<'m, 'a> {
    pub(super) module: &'m Module<'a>,
    dxil: &'m DxilModule,
    known: FastMap<(TypeId, bool), StructId>,
}

impl<'m, 'a> TypeReader<'m, 'a> {
    pub(super) fn new(module: &'m Module<'a>, dxil: &'m DxilModule) -> Self {
        Self { module, dxil, known: FastMap::default() }
    }

    /// Returns the type of a component.
    pub(super) fn component(&self, ty: ComponentType) -> Scalar {
        let is_minimum = self.dxil.has_min_precision();
        scalar_of(ty, is_minimum)
    }

    /// Returns the annotation of a structure.
    pub(super) fn annotation(&self, id: TypeId) -> Option<&StructAnnotation> {
        self.dxil.annotations.get(&id)
    }

    /// Returns the name of a structure type, without the prefixes of DXC.
    pub(super) fn struct_name(&self, id: TypeId) -> Option<String> {
        let Type::Struct(structure) = self.module.types.get(id) else { return None };
        let name = String::from_utf8_lossy(self.module.types.name(structure.name?)).into_owned();
        let name = name.strip_prefix(HOST_LAYOUT).unwrap_or(&name);
        Some(name.strip_prefix("struct.").unwrap_or(name).to_owned())
    }

    /// Translates a type; integers are signed unless an annotation says otherwise.
    pub(super) fn data_type(
        &mut self,
        id: TypeId,
        field: Option<&FieldAnnotation>,
        packing: Packing,
        structs: &mut StructTypes,
    ) -> DataType {
        self.nested(id, field, packing, structs, 0)
    }

    fn nested(
        &mut self,
        id: TypeId,
        field: Option<&FieldAnnotation>,
        packing: Packing,
        structs: &mut StructTypes,
        depth: usize,
    ) -> DataType {
        if depth > MAX_DEPTH {
            return DataType::Named("unknown".into());
        }
        if let Some(matrix) = self.matrix(id, field) {
            return matrix;
        }
        match self.module.types.get(id) {
            Type::Array { count, element } => {
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                DataType::Array(Box::new(self.nested(element, field, packing, structs, depth + 1)), count)
            }
            Type::Vector { count, element, .. } => {
                let scalar = self.scalar(element, field);
                DataType::Vector(scalar, u16::try_from(count).unwrap_or(u16::MAX))
            }
            Type::Struct(_) => match self.builtin(id) {
                Some(name) => DataType::Named(name),
                None => DataType::Struct(self.structure(id, packing, structs, depth)),
            },
            _ => DataType::Scalar(self.scalar(id, field)),
        }
    }

    /// Returns the name of a structure that the language defines.
    fn builtin(&self, id: TypeId) -> Option<String> {
        let name = self.struct_name(id)?;
        let fixed = [
            "RayDesc",
            "BuiltInTriangleIntersectionAttributes",
            "class.RaytracingAccelerationStructure",
            "SamplerState",
            "SamplerComparisonState",
        ];
        if name == "dx.types.HitObject" {
            return Some("dx::HitObject".into());
        }
        fixed.contains(&name.as_str()).then(|| name.trim_start_matches("class.").to_owned())
    }

    /// Returns the type of a number.
    pub(super) fn scalar(&self, id: TypeId, field: Option<&FieldAnnotation>) -> Scalar {
        if let Some(component) = field.and_then(|field| field.component_type) {
            return self.component(component);
        }
        let is_minimum = self.dxil.has_min_precision();
        match self.module.types.get(id) {
            Type::Half => Scalar { is_minimum, ..Scalar::new(ScalarKind::Float, 16) },
            Type::Float => Scalar::FLOAT,
            Type::Double => Scalar::new(ScalarKind::Float, 64),
            Type::Integer(1) => Scalar::BOOL,
            Type::Integer(16) => Scalar { is_minimum, ..Scalar::new(ScalarKind::Signed, 16) },
            Type::Integer(64) => Scalar::new(ScalarKind::Signed, 64),
            _ => Scalar::INT,
        }
    }

    /// Returns the type of a matrix that a structure represents.
    pub(super) fn lowered_matrix(&self, id: TypeId) -> Option<DataType> {
        self.matrix(id, None)
    }

    /// Returns a matrix type: one that is annotated, or a structure that represents one.
    fn matrix(&self, id: TypeId, field: Option<&FieldAnnotation>) -> Option<DataType> {
        if let Some(matrix) = field.and_then(|field| field.matrix) {
            let scalar = self.component(field?.component_type?);
            let is_row_major = matrix.orientation == Orientation::ROW_MAJOR;
            let (rows, columns) = (u8::try_from(matrix.rows).ok()?, u8::try_from(matrix.columns).ok()?);
            let matrix = DataType::Matrix { scalar, rows, columns, is_row_major };
            // Outer arrays of the type are arrays of matrices; the innermost one is the matrix where it is lowered.
            let mut counts = Vec::new();
            let mut ty = id;
            while let Type::Array { count, element } = self.module.types.get(ty)
                && counts.len() < MAX_DEPTH
            {
                counts.push(u32::try_from(count).ok()?);
                ty = element;
            }
            // A matrix of one line is that line, which may be an array of one number.
            let lines = if is_row_major { rows } else { columns };
            let is_lowered = !self.struct_name(ty).is_some_and(|name| name.starts_with(MATRIX));
            let is_vector = matches!(self.module.types.get(ty), Type::Vector { .. });
            if is_lowered && (lines > 1 || counts.last() == Some(&1) && !is_vector) {
                counts.pop();
            }
            let nest = |ty, count: &u32| DataType::Array(Box::new(ty), *count);
            return Some(counts.iter().rev().fold(matrix, nest));
        }
        let name = self.struct_name(id)?;
        let rest = name.strip_prefix(MATRIX)?;
        // Such as `float.3.4`.
        let mut parts = rest.split('.');
        let scalar = match parts.next()? {
            "float" => Scalar::FLOAT,
            "half" => Scalar::new(ScalarKind::Float, 16),
            "double" => Scalar::new(ScalarKind::Float, 64),
            "unsigned" => Scalar::UINT,
            "bool" => Scalar::BOOL,
            _ => Scalar::INT,
        };
        let mut sizes = parts.filter_map(|part| part.parse().ok());
        Some(DataType::Matrix { scalar, rows: sizes.next()?, columns: sizes.next()?, is_row_major: false })
    }

    fn structure(
        &mut self,
        id: TypeId,
        packing: Packing,
        structs: &mut StructTypes,
        depth: usize,
    ) -> StructId {
        let key = (id, packing == Packing::Constant);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let found = structs
            .push(StructType { name: self.struct_name(id).unwrap_or_default(), ..StructType::default() });
        self.known.insert(key, found);
        let Type::Struct(structure) = self.module.types.get(id) else { return found };
        let annotation = self.dxil.annotations.get(&id).cloned();
        let layout = self.module.data_layout.clone().with_packed_vectors();
        let offsets = layout.field_offsets(&self.module.types, id);
        let mut fields: Vec<StructField> = Vec::new();
        let mut end = 0;
        for (index, &ty) in self.module.types.elements(structure.fields).iter().enumerate() {
            let field = annotation.as_ref().and_then(|known| known.fields.get(index));
            let ty = self.nested(ty, field, packing, structs, depth + 1);
            let offset = match (field, packing) {
                (Some(field), Packing::Constant) => field.cbuffer_offset,
                (None, Packing::Constant) => self.constant_offset(end, &ty, structs),
                _ => offsets.get(index).and_then(|offset| u32::try_from(*offset).ok()).unwrap_or(end),
            };
            end = offset.saturating_add(packing.size(&ty, structs));
            let name =
                field.map(|field| String::from_utf8_lossy(&field.name.0).into_owned()).unwrap_or_default();
            let access = self.dxil.payloads.get(&id).and_then(|all| all.get(index)).map(|bits| access(*bits));
            fields.push(StructField { name, offset, ty, semantic: None, access });
        }
        structs[found].fields = fields;
        structs[found].size = end;
        found
    }

    /// Returns the offset of a member of a constant buffer after what ends at `end`.
    fn constant_offset(&self, end: u32, ty: &DataType, structs: &StructTypes) -> u32 {
        let size = Packing::Constant.size(ty, structs);
        let alignment = ty.scalar().map_or(4, Scalar::bytes).max(1);
        let offset = end.next_multiple_of(alignment);
        let starts_row = !ty.is_one_row();
        if starts_row || offset / 16 != (offset + size.max(1) - 1) / 16 {
            offset.next_multiple_of(16)
        } else {
            offset
        }
    }
}

/// Returns who accesses a member of a payload: four bits per stage, of which 1 reads and 2 writes.
fn access(bits: u32) -> PayloadAccess {
    let stages =
        |bit: u32| (0..4).filter(|stage| bits >> (4 * stage + bit) & 1 != 0).map(|stage| 1_u8 << stage).sum();
    PayloadAccess { readers: stages(0), writers: stages(1) }
}

/// Returns the type of a component.
pub(super) fn scalar_of(ty: ComponentType, is_minimum: bool) -> Scalar {
    let scalar = |kind, bits| Scalar { kind, bits, is_minimum: is_minimum && bits == 16 };
    match ty {
        ComponentType::I1 => Scalar::BOOL,
        ComponentType::I16 => scalar(ScalarKind::Signed, 16),
        ComponentType::U16 => scalar(ScalarKind::Unsigned, 16),
        ComponentType::I32 => Scalar::INT,
        ComponentType::I64 => scalar(ScalarKind::Signed, 64),
        ComponentType::U64 => scalar(ScalarKind::Unsigned, 64),
        ComponentType::F16 | ComponentType::SNORM_F16 | ComponentType::UNORM_F16 => {
            scalar(ScalarKind::Float, 16)
        }
        ComponentType::F64 | ComponentType::SNORM_F64 | ComponentType::UNORM_F64 => {
            scalar(ScalarKind::Float, 64)
        }
        ComponentType::F32 | ComponentType::SNORM_F32 | ComponentType::UNORM_F32 => Scalar::FLOAT,
        _ => Scalar::UINT,
    }
}
