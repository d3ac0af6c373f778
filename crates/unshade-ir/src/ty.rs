//! The types of values.

use super::{Number, Operand, StructureId};

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// No value.
    Void,
    /// A boolean.
    Bool,
    /// An integer: its bits, and whether it is signed.
    Integer(u8, bool),
    /// A floating-point number with this many bits.
    Float(u8),
    /// A pointer: bits and kind of the element.
    Pointer(u8, NumberKind),
    /// Several words: of a texture or surface, or of the result of a function.
    Vector(u8, NumberKind),
    /// A structure of the module, as the type of a parameter or member.
    Structure(StructureId),
    /// A pointer to a structure of the module.
    StructurePointer(StructureId),
}

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NumberKind {
    /// Unsigned integer.
    Unsigned,
    /// Signed integer.
    Signed,
    /// Floating point.
    Float,
}

impl Type {
    /// Returns the type of a number.
    pub fn of(bits: u8, kind: NumberKind) -> Self {
        match kind {
            NumberKind::Float => Self::Float(bits),
            kind => Self::Integer(bits, kind == NumberKind::Signed),
        }
    }

    /// Returns the type of an operand of an intrinsic; none for addresses, and where any type will do.
    pub fn of_operand(operand: Operand) -> Self {
        match operand {
            Operand::Number(Number::I32) => Self::Integer(32, true),
            Operand::Number(Number::U32) | Operand::Immediate => Self::Integer(32, false),
            Operand::Number(Number::I64) => Self::Integer(64, true),
            Operand::Number(Number::U64) => Self::Integer(64, false),
            Operand::Number(Number::F32) => Self::Float(32),
            Operand::Number(Number::F64) => Self::Float(64),
            Operand::Bool => Self::Bool,
            Operand::None | Operand::Pointer | Operand::Any => Self::Void,
        }
    }

    /// Returns whether it is a pointer.
    pub fn is_pointer(self) -> bool {
        matches!(self, Self::Pointer(..) | Self::StructurePointer(_))
    }

    /// Returns the element type of a pointer to numbers.
    pub fn target(self) -> Option<Self> {
        match self {
            Self::Pointer(bits, kind) => Some(Self::of(bits, kind)),
            _ => None,
        }
    }

    /// Returns the pointer type with this element type.
    pub fn pointer(self) -> Self {
        match self {
            Self::Integer(bits, is_signed) => {
                Self::Pointer(bits, if is_signed { NumberKind::Signed } else { NumberKind::Unsigned })
            }
            Self::Float(bits) => Self::Pointer(bits, NumberKind::Float),
            _ => Self::Pointer(8, NumberKind::Unsigned),
        }
    }

    /// Returns its size in bits; 0 for structures, whose descriptions have it.
    pub fn bits(self) -> u8 {
        match self {
            Self::Void | Self::Structure(_) => 0,
            Self::Bool => 1,
            Self::Integer(bits, _) | Self::Float(bits) => bits,
            Self::Pointer(..) | Self::StructurePointer(_) => 64,
            Self::Vector(words, _) => words.saturating_mul(32),
        }
    }

    /// Returns the type of a vector's words, or the type itself for other types.
    pub fn word(self) -> Self {
        match self {
            Self::Vector(_, kind) => Self::of(32, kind),
            ty => ty,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Void => f.write_str("void"),
            Self::Bool => f.write_str("bool"),
            Self::Integer(bits, is_signed) => write!(f, "{}{bits}", if *is_signed { 'i' } else { 'u' }),
            Self::Float(bits) => write!(f, "f{bits}"),
            Self::Pointer(bits, kind) => write!(f, "{}*", Self::of(*bits, *kind)),
            Self::Vector(words, kind) => write!(f, "{}x{words}", Self::of(32, *kind)),
            Self::Structure(id) => write!(f, "t{}", id.number()),
            Self::StructurePointer(id) => write!(f, "t{}*", id.number()),
        }
    }
}

impl Type {
    /// Returns the type with a name in the textual form.
    pub fn by_name(name: &str) -> Option<Self> {
        if let Some(target) = name.strip_suffix('*') {
            return match Self::by_name(target)? {
                Self::Structure(id) => Some(Self::StructurePointer(id)),
                ty @ (Self::Integer(..) | Self::Float(_)) => Some(ty.pointer()),
                _ => None,
            };
        }
        if let Some((word, count)) = name.split_once('x') {
            let kind = match word {
                "u32" => NumberKind::Unsigned,
                "i32" => NumberKind::Signed,
                "f32" => NumberKind::Float,
                _ => return None,
            };
            return Some(Self::Vector(count.parse().ok().filter(|count| matches!(count, 2..=12))?, kind));
        }
        match name {
            "void" => return Some(Self::Void),
            "bool" => return Some(Self::Bool),
            _ => {}
        }
        if let Some(number) = name.strip_prefix('t') {
            return Some(Self::Structure(StructureId::new(number.parse().ok()?)));
        }
        let bits: u8 = name.get(1..)?.parse().ok()?;
        Some(match (name.as_bytes()[0], bits) {
            (b'u', 8 | 16 | 32 | 64) => Self::Integer(bits, false),
            (b'i', 8 | 16 | 32 | 64) => Self::Integer(bits, true),
            (b'f', 32 | 64) => Self::Float(bits),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_identify_types() {
        for name in ["void", "bool", "u8", "i64", "f32", "f64*", "u16*", "i32x4", "t0", "t12*"] {
            assert_eq!(Type::by_name(name).map(|ty| ty.to_string()).as_deref(), Some(name));
        }
        for name in ["", "*", "u", "u7", "f16", "u32**", "u8x2", "\u{fc}32", "t", "t-1", "t0**"] {
            assert_eq!(Type::by_name(name), None, "{name}");
        }
    }
}
