//! Members that fill the gaps of structures in constant buffers.
//!
//! Only members of the buffer itself can have a `packoffset`. In a structure, the members after a gap would move up, so
//! numbers fill it. A gap was a resource, which the program has apart, or a member that nothing describes.

use super::declaration::is_constant;
use super::offsets::follows;
use crate::ir::StructId;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, StructField};
use crate::ir::shader::interface::ShaderProgram;

/// Maximum number of members that fill one gap.
const MAX_FILL: usize = 64;

/// Fills the gaps. Returns the names of the structures whose layout the language can't express.
pub(super) fn run(program: &mut ShaderProgram) -> Vec<String> {
    let mut unknown = Vec::new();
    for id in structures(program) {
        let structure = &program.structs[id];
        match filled(&structure.fields, program) {
            Some(fields) => program.structs[id].fields = fields,
            None => unknown.push(format!("the layout of the structure {}", structure.name)),
        }
    }
    unknown
}

/// Returns the structures in constant buffers, without those that are the buffer.
fn structures(program: &ShaderProgram) -> Vec<StructId> {
    let mut found = Vec::new();
    let mut stack: Vec<&DataType> = Vec::new();
    for resource in program.resources.iter().filter(|resource| is_constant(resource)) {
        match &resource.element {
            Some(DataType::Struct(id)) if !resource.is_object => {
                stack.extend(program.structs[*id].fields.iter().map(|field| &field.ty));
            }
            element => stack.extend(element),
        }
    }
    while let Some(ty) = stack.pop() {
        if let DataType::Struct(id) = ty.innermost()
            && !found.contains(id)
        {
            found.push(*id);
            stack.extend(
                program.structs.get(*id).into_iter().flat_map(|it| &it.fields).map(|field| &field.ty),
            );
        }
    }
    found
}

/// Returns the members with those that fill gaps; [`None`] if none can.
fn filled(fields: &[StructField], program: &ShaderProgram) -> Option<Vec<StructField>> {
    let structs = &program.structs;
    let mut all: Vec<StructField> = Vec::with_capacity(fields.len());
    let mut end = 0;
    for field in fields {
        for _ in 0..MAX_FILL {
            if follows(end, before(&all, program), field, structs) {
                break;
            }
            let ty = match field.offset.checked_sub(end)? {
                4.. if end.is_multiple_of(4) => Scalar::UINT,
                2.. if program.has_native_16_bit => Scalar { bits: 16, ..Scalar::UINT },
                _ => return None,
            };
            all.push(StructField {
                name: format!("gap{end}"),
                offset: end,
                ty: DataType::Scalar(ty),
                semantic: None,
                access: None,
            });
            end += ty.bytes();
        }
        if !follows(end, before(&all, program), field, structs) {
            return None;
        }
        all.push(field.clone());
        end = field.offset.checked_add(Packing::Constant.size(&field.ty, structs))?;
    }
    Some(all)
}

/// Returns the type of the last member where it matters to the next one: in structures, DXC gives no row to numbers whose
/// precision is a minimum.
fn before<'f>(fields: &'f [StructField], program: &ShaderProgram) -> Option<&'f DataType> {
    fields.last().filter(|_| program.model < (6, 0)).map(|last| &last.ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::shader::interface::Stage;

    fn field(offset: u32, ty: DataType) -> StructField {
        StructField { name: format!("at{offset}"), offset, ty, semantic: None, access: None }
    }

    fn offsets(fields: &[StructField], has_16_bit: bool) -> Option<Vec<(u32, bool)>> {
        let program =
            ShaderProgram { has_native_16_bit: has_16_bit, ..ShaderProgram::new(Stage::Pixel, (6, 2)) };
        let filled = filled(fields, &program)?;
        Some(filled.iter().map(|field| (field.offset, field.name.starts_with("gap"))).collect())
    }

    #[test]
    fn gaps_are_filled() {
        let half = Scalar { bits: 16, ..Scalar::FLOAT };
        let number = || DataType::Scalar(Scalar::FLOAT);
        // Rows and vectors leave gaps by themselves.
        let natural =
            [field(0, number()), field(16, DataType::Vector(Scalar::FLOAT, 4)), field(32, number())];
        assert_eq!(offsets(&natural, false), Some(vec![(0, false), (16, false), (32, false)]));
        assert_eq!(offsets(&[field(8, number())], false), Some(vec![(0, true), (4, true), (8, false)]));
        let halves = [field(0, DataType::Vector(half, 3)), field(8, DataType::Scalar(half))];
        assert_eq!(offsets(&halves, true), Some(vec![(0, false), (6, true), (8, false)]));
        assert_eq!(offsets(&halves, false), None);
        // Numbers of 64 bits may follow those of 16 bits without a gap.
        let double = DataType::Scalar(Scalar { bits: 64, ..Scalar::FLOAT });
        let wide = [field(0, DataType::Vector(half, 2)), field(4, double)];
        assert_eq!(offsets(&wide, true), Some(vec![(0, false), (4, false)]));
        // FXC starts a row after numbers whose precision is a minimum.
        let minimum = Scalar { is_minimum: true, ..half };
        let rows = [field(0, DataType::Scalar(minimum)), field(16, number())];
        let fxc = ShaderProgram::new(Stage::Pixel, (5, 0));
        assert_eq!(filled(&rows, &fxc).map(|all| all.len()), Some(2));
        assert_eq!(offsets(&rows, false).map(|all| all.len()), Some(5));
        // Members that overlap have no form.
        assert_eq!(offsets(&[field(0, number()), field(0, number())], true), None);
    }
}
