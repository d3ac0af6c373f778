//! Prints buffer definitions: the layout of constant buffers, texture buffers and elements of structured buffers.
//!
//! Offsets of fields come from annotations; in structured buffers they come from the data layout.

use super::text::{Table, left, plain, right};
use crate::dxil::annotation::Orientation;
use crate::dxil::{DxilModule, FieldAnnotation, Matrix, Resource, ResourceClass};
use unshade_dxcontainer::psv0::ResourceKind;
use unshade_llvm::data_layout::DataLayout;
use unshade_llvm::types::{StructType, Type};
use unshade_llvm::{Module, TypeId};

/// Start of the offset column, and the indentation of fields.
const OFFSET_COLUMN: usize = 50;
const FIRST_INDENT: usize = 3;
const INDENT: usize = 4;

/// Maximum nesting depth of structs.
const MAX_DEPTH: usize = 64;

/// Prefix of the names of structs that represent matrices.
const MATRIX_PREFIX: &[u8] = b"class.matrix.";

pub(super) fn put(module: &Module<'_>, dxil: &DxilModule, table: &mut Table) {
    table.title(" Buffer Definitions:");
    let data_layout = module.data_layout.clone().with_packed_vectors();
    let mut layouts = Layouts { module, dxil, data_layout, table };
    for resource in dxil.resources_of(ResourceClass::CBUFFER) {
        layouts.constant_buffer(resource);
    }
    for resource in dxil.resources_of(ResourceClass::SRV).chain(dxil.resources_of(ResourceClass::UAV)) {
        match (resource.kind, resource.class) {
            (ResourceKind::STRUCTURED_BUFFER, _) => layouts.structured_buffer(resource),
            (ResourceKind::TBUFFER, ResourceClass::SRV) => layouts.texture_buffer(resource),
            _ => {}
        }
    }
}

/// The position of a struct in the text and in its buffer.
#[derive(Clone, Copy)]
struct StructPosition {
    offset: u64,
    indent: usize,
    column: usize,
    /// Whether offsets of fields come from the data layout.
    by_data_layout: bool,
    depth: usize,
}

impl StructPosition {
    fn first(by_data_layout: bool) -> Self {
        Self { offset: 0, indent: FIRST_INDENT, column: OFFSET_COLUMN, by_data_layout, depth: 0 }
    }

    fn inside(self, offset: u64) -> Self {
        Self {
            offset: self.offset.saturating_add(offset),
            indent: self.indent + INDENT,
            column: self.column.saturating_sub(INDENT),
            depth: self.depth + 1,
            ..self
        }
    }
}

struct Layouts<'l, 'm> {
    module: &'l Module<'m>,
    dxil: &'l DxilModule,
    data_layout: DataLayout,
    table: &'l mut Table,
}

impl Layouts<'_, '_> {
    fn open(&mut self, what: &str, resource: &Resource) {
        self.table.line(&format!(" {what} {}", plain(&resource.name.0)));
        self.table.line(" {");
        self.table.line("");
    }

    fn close(&mut self) {
        self.table.line(" }");
        self.table.line("");
    }

    fn constant_buffer(&mut self, resource: &Resource) {
        self.open("cbuffer", resource);
        let size = u64::from(resource.size.unwrap_or_default());
        match self.annotated(self.element_of(resource)) {
            Some((structure, _)) => {
                self.structure(structure, &plain(&resource.name.0), StructPosition::first(false), size);
            }
            None => {
                self.table.line(&format!("   [{size} x i8] (type annotation not present)"));
                self.table.line("");
            }
        }
        self.close();
    }

    fn texture_buffer(&mut self, resource: &Resource) {
        self.open("tbuffer", resource);
        match self.annotated(self.element_of(resource)) {
            Some((structure, size)) => {
                self.structure(structure, &plain(&resource.name.0), StructPosition::first(false), size);
            }
            None => {
                self.table.line("   (type annotation not present)");
                self.table.line("");
            }
        }
        self.close();
    }

    /// The variable is a struct whose only field has the element type.
    fn structured_buffer(&mut self, resource: &Resource) {
        self.open("Resource bind info for", resource);
        let buffer = self.element_of(resource);
        let fields = match self.module.types.get(buffer) {
            Type::Struct(structure) => self.module.types.elements(structure.fields),
            _ => &[],
        };
        let Some(&element) = fields.first() else { return self.close() };
        let size = |ty| self.data_layout.allocation_size(&self.module.types, ty);
        let unknown = |size: u64| format!("   [{size} x i8] (type annotation not present)");
        if self.structure_of(element).is_some() && !self.is_matrix(element) {
            let size = size(element);
            match self.annotated(element) {
                Some(_) => self.structure(element, "$Element", StructPosition::first(true), size),
                None => self.table.line(&unknown(size)),
            }
            return self.close();
        }
        let size = size(buffer);
        let annotation = self.dxil.annotations.get(&buffer).and_then(|known| known.fields.first());
        match annotation.cloned() {
            Some(mut field) => {
                field.name = "$Element".into();
                self.field(element, &field, StructPosition::first(false), size);
            }
            None => self.table.line(&unknown(size)),
        }
        self.table.line("");
        self.close();
    }

    /// Returns the HLSL type of a resource, or of its elements if it is an array.
    fn element_of(&self, resource: &Resource) -> TypeId {
        let ty = self.module.types.pointee(resource.ty).unwrap_or(resource.ty);
        self.without_arrays(ty).0
    }

    /// Returns the innermost element type of nested arrays, the total number of elements, and the nesting depth.
    fn without_arrays(&self, mut ty: TypeId) -> (TypeId, u64, usize) {
        let (mut count, mut levels) = (1u64, 0);
        while let Type::Array { count: elements, element } = self.module.types.get(ty)
            && levels < MAX_DEPTH
        {
            (ty, count, levels) = (element, count.saturating_mul(elements), levels + 1);
        }
        (ty, count, levels)
    }

    fn structure_of(&self, ty: TypeId) -> Option<StructType> {
        match self.module.types.get(ty) {
            Type::Struct(structure) => Some(structure),
            _ => None,
        }
    }

    fn name_of(&self, structure: StructType) -> &[u8] {
        structure.name.map_or(&[], |name| self.module.types.name(name))
    }

    /// Returns whether a type is an HLSL matrix that is not lowered yet.
    fn is_matrix(&self, ty: TypeId) -> bool {
        self.structure_of(ty).is_some_and(|structure| self.name_of(structure).starts_with(MATRIX_PREFIX))
    }

    /// Returns a struct with an annotation, and its size in a constant buffer.
    fn annotated(&self, ty: TypeId) -> Option<(TypeId, u64)> {
        self.dxil.annotations.get(&ty).map(|annotation| (ty, u64::from(annotation.cbuffer_size)))
    }

    fn structure(&mut self, ty: TypeId, variable: &str, place: StructPosition, size: u64) {
        let Some(structure) = self.structure_of(ty) else { return };
        if place.depth > MAX_DEPTH || self.table.is_cut() {
            return;
        }
        let indent = " ".repeat(place.indent);
        let inner = " ".repeat(place.indent + INDENT);
        self.table.line(&format!("{indent}struct {}", plain(self.name_of(structure))));
        self.table.line(&format!("{indent}{{"));
        self.table.line("");
        let (module, dxil) = (self.module, self.dxil);
        match dxil.annotations.get(&ty) {
            None if size == 0 => self.table.line(&format!("{inner}/* empty struct */")),
            None => self.table.line(&format!("{inner}[{size} x i8] (type annotation not present)")),
            Some(annotation) => {
                let offsets = self.data_layout.field_offsets(&module.types, ty);
                let types = module.types.elements(structure.fields);
                for ((&ty, field), by_layout) in types.iter().zip(&annotation.fields).zip(offsets) {
                    let offset =
                        if place.by_data_layout { by_layout } else { u64::from(field.cbuffer_offset) };
                    self.field(ty, field, place.inside(offset), 0);
                }
            }
        }
        self.table.line(&indent);
        let variable = left(&format!("{variable};"), place.column.saturating_sub(2));
        self.table.line(&format!(
            "{indent}}} {variable}; Offset:{}{}",
            offset(place.offset),
            size_text(size)
        ));
        self.table.line("");
    }

    fn field(&mut self, ty: TypeId, field: &FieldAnnotation, place: StructPosition, size: u64) {
        let name = plain(&field.name.0);
        if self.structure_of(ty).is_some() && field.matrix.is_none() {
            return self.structure(ty, &name, place, 0);
        }
        let (element, count, levels) = if self.is_matrix(ty) { (ty, 0, 0) } else { self.without_arrays(ty) };
        let mut count = if levels == 0 { 0 } else { count };
        if let Some(matrix) = field.matrix {
            // Rows or columns form another array.
            count = match levels {
                1 => 0,
                _ => count.checked_div(u64::from(lanes(matrix))).unwrap_or(count),
            };
        }
        let array = if count == 0 { String::new() } else { format!("[{count}]") };
        if self.structure_of(element).is_some() && field.matrix.is_none() {
            return self.structure(element, &format!("{name}{array};"), place, 0);
        }
        let declaration = format!("{} {name}{array};", self.type_name(ty, field));
        let indent = " ".repeat(place.indent);
        self.table.line(&format!(
            "{indent}{}; Offset:{}{}",
            left(&declaration, place.column),
            offset(place.offset),
            size_text(size)
        ));
    }

    fn type_name(&self, ty: TypeId, field: &FieldAnnotation) -> String {
        let component =
            field.component_type.map_or("unknown", |ty| ty.hlsl_name(self.dxil.has_min_precision()));
        if let Some(Matrix { rows, columns, orientation }) = field.matrix {
            let orientation = match orientation {
                Orientation::ROW_MAJOR => "row_major ",
                Orientation::COLUMN_MAJOR => "column_major ",
                _ => "",
            };
            return format!("{orientation}{component}{rows}x{columns}");
        }
        match self.module.types.get(self.without_arrays(ty).0) {
            Type::Vector { count, .. } => format!("{component}{count}"),
            _ => component.into(),
        }
    }
}

/// Returns the number of vectors that represent a matrix: its rows or columns.
fn lanes(matrix: Matrix) -> u32 {
    match matrix.orientation {
        Orientation::ROW_MAJOR => matrix.rows,
        Orientation::COLUMN_MAJOR => matrix.columns,
        _ => 1,
    }
}

fn offset(offset: u64) -> String {
    right(&offset.to_string(), 5)
}

fn size_text(size: u64) -> String {
    if size == 0 { String::new() } else { format!(" Size: {}", right(&size.to_string(), 5)) }
}
