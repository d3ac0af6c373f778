//! Texts of types and numbers.

use super::declaration::Naming;
use crate::ir::TypeId;
use crate::ir::metal::types::{AddressSpace, IntegerSign, TypeTable, ValueType};
use unshade_core::half::half_to_double;

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// A pointer, a structure, a handle.
    Other,
}

impl Kind {
    /// Returns whether it is an integer.
    pub(super) fn is_integer(self) -> bool {
        matches!(self, Self::Signed | Self::Unsigned)
    }
}

/// Handles of the library, by the name of their structure.
const HANDLES: [(&str, &str); 17] = [
    ("_texture_1d_t", "texture1d<float>"),
    ("_texture_1d_array_t", "texture1d_array<float>"),
    ("_texture_2d_t", "texture2d<float>"),
    ("_texture_2d_array_t", "texture2d_array<float>"),
    ("_texture_2d_ms_t", "texture2d_ms<float>"),
    ("_texture_3d_t", "texture3d<float>"),
    ("_texture_cube_t", "texturecube<float>"),
    ("_texture_cube_array_t", "texturecube_array<float>"),
    ("_texture_buffer_1d_t", "texture_buffer<float>"),
    ("_depth_2d_t", "depth2d<float>"),
    ("_depth_2d_array_t", "depth2d_array<float>"),
    ("_depth_2d_ms_t", "depth2d_ms<float>"),
    ("_depth_cube_t", "depthcube<float>"),
    ("_depth_cube_array_t", "depthcube_array<float>"),
    ("_sampler_t", "sampler"),
    ("_instance_acceleration_structure_t", "instance_acceleration_structure"),
    ("_simdgroup_event_t", "simdgroup_event"),
];

/// Returns the keyword of an address space.
pub(super) fn space(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Thread => "thread",
        AddressSpace::Device => "device",
        AddressSpace::Constant => "constant",
        AddressSpace::Threadgroup => "threadgroup",
        AddressSpace::Other(4) => "threadgroup_imageblock",
        AddressSpace::Other(6) => "object_data",
        AddressSpace::Other(_) => "ray_data",
    }
}

/// Returns the name of a type of integers.
pub(super) fn integer(bits: u8, is_signed: bool) -> &'static str {
    match (bits, is_signed) {
        (8, true) => "char",
        (8, false) => "uchar",
        (16, true) => "short",
        (16, false) => "ushort",
        (64, true) => "long",
        (64, false) => "ulong",
        (_, true) => "int",
        (_, false) => "uint",
    }
}

/// Returns the kind of numbers of a type in memory.
pub(super) fn kind(ty: ValueType) -> Kind {
    match ty {
        ValueType::Bool => Kind::Bool,
        ValueType::Integer(_, IntegerSign::Signed) => Kind::Signed,
        ValueType::Integer(..) => Kind::Unsigned,
        ValueType::Float(_) | ValueType::BFloat => Kind::Float,
        _ => Kind::Other,
    }
}

/// Returns a handle's type, if a pointer is one.
pub(super) fn handle(types: &TypeTable, pointee: TypeId) -> Option<&'static str> {
    let ValueType::Named(number) = types.get(pointee) else { return None };
    let name = types.names.get(number as usize)?;
    let name = name.strip_prefix("struct.").unwrap_or(name);
    let name = name.split('.').next().unwrap_or(name);
    HANDLES.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// Returns the name of a vector that has more lanes than those of the library.
fn wide_vector(scalar: &str, lanes: u16) -> String {
    format!("vector_{scalar}_{lanes}")
}

/// Where the name of a pointer to rows of an array is.
const ROWS: &str = "(*)";

/// Returns the declaration of a name with the text of a type.
pub(super) fn named(ty: &str, name: &str) -> String {
    match ty.split_once(ROWS) {
        Some((element, counts)) => format!("{element}(*{name}){counts}"),
        None => format!("{ty} {name}"),
    }
}

impl Naming {
    /// Returns the text of a type; integers without a sign are signed if so said.
    pub(super) fn type_name(&self, types: &TypeTable, ty: TypeId, is_signed: bool) -> String {
        match types.get(ty) {
            ValueType::Void => "void".into(),
            ValueType::Bool => "bool".into(),
            ValueType::Integer(bits, IntegerSign::Any) => integer(bits, is_signed).into(),
            ValueType::Integer(bits, sign) => integer(bits, sign == IntegerSign::Signed).into(),
            ValueType::Float(16) => "half".into(),
            ValueType::Float(64) => "double".into(),
            ValueType::Float(_) => "float".into(),
            ValueType::BFloat => "bfloat".into(),
            ValueType::Vector(element, 64) => {
                format!("simdgroup_matrix<{}, 8, 8>", self.type_name(types, element, is_signed))
            }
            ValueType::Vector(element, lanes @ 2..=4) => {
                format!("{}{lanes}", self.type_name(types, element, is_signed))
            }
            ValueType::Vector(element, lanes) => {
                wide_vector(&self.type_name(types, element, is_signed), lanes)
            }
            ValueType::Array(element, count) => {
                format!("array<{}, {count}>", self.type_name(types, element, is_signed))
            }
            ValueType::Struct(number) => match self.library_name(types, ty) {
                Some(name) => name,
                None => self.structs.get(number as usize).cloned().unwrap_or_default(),
            },
            ValueType::Pointer(space, pointee) => self.pointer_name(types, space, pointee, false),
            ValueType::Named(number) => {
                let name = types.names.get(number as usize).map_or("", String::as_str);
                crate::hlsl::names::identifier(name.trim_start_matches("struct."))
            }
            ValueType::Function | ValueType::Unknown => "void".into(),
        }
    }

    /// Returns the declarations of a vector that has more lanes than those of the library.
    pub(super) fn wide_vectors(&self, types: &TypeTable, ty: TypeId) -> Vec<String> {
        let ValueType::Vector(element, lanes) = types.get(ty) else { return Vec::new() };
        let mut scalars = [false, true].map(|is_signed| self.type_name(types, element, is_signed)).to_vec();
        scalars.dedup();
        let declared = scalars.into_iter().map(|scalar| {
            let name = wide_vector(&scalar, lanes);
            format!("typedef {scalar} {name} __attribute__((ext_vector_type({lanes})));")
        });
        declared.collect()
    }

    /// Returns the name of a type of the library that is a structure with one member.
    pub(super) fn library_name(&self, types: &TypeTable, ty: TypeId) -> Option<String> {
        self.matrix_name(types, ty).or_else(|| self.atomic_name(types, ty))
    }

    /// Returns the name of an atomic type.
    pub(super) fn atomic_name(&self, types: &TypeTable, ty: TypeId) -> Option<String> {
        let structure = types.structure(ty)?;
        let [field] = &structure.fields[..] else { return None };
        if structure.name != "_atomic" {
            return None;
        }
        Some(match types.get(field.ty) {
            ValueType::Integer(32, IntegerSign::Signed) => "atomic_int".into(),
            ValueType::Integer(32, _) => "atomic_uint".into(),
            ValueType::Integer(64, _) => "atomic_ulong".into(),
            ValueType::Float(32) => "atomic_float".into(),
            _ => return None,
        })
    }

    /// Returns the type of a variable of a thread: what an atomic variable holds, as threads share none of theirs.
    pub(super) fn unwrapped(&self, types: &TypeTable, ty: TypeId) -> TypeId {
        match (self.atomic_name(types, ty), types.structure(ty)) {
            (Some(_), Some(structure)) => structure.fields.first().map_or(ty, |field| field.ty),
            _ => ty,
        }
    }

    /// Returns the name of a matrix, which is a structure with an array of columns.
    pub(super) fn matrix_name(&self, types: &TypeTable, ty: TypeId) -> Option<String> {
        let structure = types.structure(ty)?;
        let [field] = &structure.fields[..] else { return None };
        let ValueType::Array(column, columns @ 2..=4) = types.get(field.ty) else { return None };
        let ValueType::Vector(scalar, rows @ 2..=4) = types.get(column) else { return None };
        let is_float = matches!(types.get(scalar), ValueType::Float(16 | 32));
        let is_matrix = structure.name == "matrix" || structure.name.ends_with(&format!("{columns}x{rows}"));
        (is_float && is_matrix).then(|| format!("{}{columns}x{rows}", self.type_name(types, scalar, false)))
    }

    /// Returns the text of a pointer type.
    pub(super) fn pointer_name(
        &self,
        types: &TypeTable,
        address_space: AddressSpace,
        pointee: TypeId,
        is_const: bool,
    ) -> String {
        if let Some(handle) = handle(types, pointee) {
            return handle.into();
        }
        let is_const = is_const && address_space != AddressSpace::Constant;
        let is_const = if is_const { "const " } else { "" };
        let mut element = pointee;
        let mut counts = String::new();
        while let ValueType::Array(inner, count) = types.get(element) {
            counts.push_str(&format!("[{count}]"));
            element = inner;
        }
        let target = self.type_name(types, element, false);
        let star = if counts.is_empty() { "*".to_owned() } else { format!(" {ROWS}{counts}") };
        // Of a pointer, what is before it belongs to what it points to.
        match types.get(element) {
            ValueType::Pointer(..) => format!("{target} {is_const}{}{star}", space(address_space)),
            _ => format!("{is_const}{} {target}{star}", space(address_space)),
        }
    }

    /// Returns the declaration of a pointer.
    pub(super) fn declare_pointer(
        &self,
        types: &TypeTable,
        address_space: AddressSpace,
        pointee: TypeId,
        is_const: bool,
        name: &str,
    ) -> String {
        named(&self.pointer_name(types, address_space, pointee, is_const), name)
    }

    /// Returns a declaration of a name.
    pub(super) fn declare(&self, types: &TypeTable, ty: TypeId, name: &str) -> String {
        let mut counts = String::new();
        let mut element = ty;
        while let ValueType::Array(inner, count) = types.get(element) {
            counts.push_str(&format!("[{count}]"));
            element = inner;
        }
        format!("{} {name}{counts}", self.type_name(types, element, false))
    }
}

/// Returns a number as a literal of a type.
pub(super) fn literal(bits: u64, ty: ValueType, kind: Kind) -> String {
    match ty {
        ValueType::Bool => (if bits != 0 { "true" } else { "false" }).into(),
        ValueType::Float(32) => match f32::from_bits(bits as u32) {
            number if number.is_finite() => format!("{number:?}f"),
            number if number.is_infinite() => {
                if number > 0.0 {
                    "INFINITY".into()
                } else {
                    "-INFINITY".into()
                }
            }
            _ if bits as u32 == 0x7fc0_0000 => "NAN".into(),
            _ => format!("as_type<float>({:#x}u)", bits as u32),
        },
        ValueType::Float(16) => match half_to_double(bits as u16) {
            number if number.is_finite() => format!("{:?}h", number as f32),
            number if number.is_infinite() => {
                if number > 0.0 {
                    "half(INFINITY)".into()
                } else {
                    "half(-INFINITY)".into()
                }
            }
            _ => format!("as_type<half>(ushort({:#x}))", bits as u16),
        },
        ValueType::BFloat => match f32::from_bits((bits as u32) << 16) {
            number if number.is_finite() => format!("bfloat({number:?}f)"),
            number if number.is_infinite() => {
                if number > 0.0 {
                    "bfloat(INFINITY)".into()
                } else {
                    "bfloat(-INFINITY)".into()
                }
            }
            _ => format!("as_type<bfloat>(ushort({:#x}))", bits as u16),
        },
        ValueType::Float(_) => format!("as_type<double>({bits:#x}ul)"),
        ValueType::Integer(width, _) => integer_literal(bits, width, kind == Kind::Signed),
        ValueType::Pointer(..) if bits == 0 => "nullptr".into(),
        _ => bits.to_string(),
    }
}

/// Returns an integer as a literal.
fn integer_literal(bits: u64, width: u8, is_signed: bool) -> String {
    if is_signed {
        let shift = 64 - u32::from(width.clamp(1, 64));
        let number = ((bits << shift) as i64) >> shift;
        return match number {
            i64::MIN => "(-9223372036854775807l - 1)".into(),
            -2_147_483_648 if width == 32 => "(-2147483647 - 1)".into(),
            number if i32::try_from(number).is_err() => format!("{number}l"),
            number => number.to_string(),
        };
    }
    match bits {
        0..0x8000_0000 => bits.to_string(),
        0x8000_0000..=0xffff_ffff if width <= 32 => format!("{bits:#x}u"),
        _ => format!("{bits:#x}ul"),
    }
}
