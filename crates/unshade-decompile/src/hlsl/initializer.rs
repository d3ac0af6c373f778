//! Initial values of constants: the numbers of a program in the order of the type.

use super::expression::literal;
use crate::ir::shader::data_type::{DataType, StructTypes};

/// Returns the initial value of a constant.
pub(super) fn initializer(
    ty: &DataType,
    structs: &StructTypes,
    values: &mut impl Iterator<Item = u64>,
) -> String {
    match ty {
        DataType::Scalar(scalar) => literal(values.next().unwrap_or(0), scalar.kind, scalar.bits),
        DataType::Vector(scalar, lanes) => {
            let parts: Vec<String> =
                (0..*lanes).map(|_| literal(values.next().unwrap_or(0), scalar.kind, scalar.bits)).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        DataType::Matrix { scalar, rows, columns, .. } => {
            let count = u32::from(*rows) * u32::from(*columns);
            let parts: Vec<String> =
                (0..count).map(|_| literal(values.next().unwrap_or(0), scalar.kind, scalar.bits)).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        DataType::Array(element, count) => {
            let parts: Vec<String> = (0..*count).map(|_| initializer(element, structs, values)).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        DataType::Struct(id) => {
            let fields = structs.get(*id).map_or(&[][..], |structure| &structure.fields);
            let parts: Vec<String> =
                fields.iter().map(|field| initializer(&field.ty, structs, values)).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        DataType::Named(_) => "0".into(),
    }
}
