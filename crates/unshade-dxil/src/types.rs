//! The structs that all DXIL modules share, and structs by name.

use alloc::format;
use alloc::string::{String, ToString};
use unshade_core::Result;
use unshade_llvm::TypeId;
use unshade_llvm::build::ModuleBuilder;
use unshade_llvm::types::Type;

/// Returns the struct of this name, with these fields. If another has the name, the struct gets a number.
pub(crate) fn structure(module: &mut ModuleBuilder, name: &str, fields: &[TypeId]) -> Result<TypeId> {
    let mut unique = name.to_string();
    for number in 0u32.. {
        let ty = module.named_struct(&unique);
        let types = &module.module().types;
        match types.get(ty) {
            Type::Struct(found) if !found.opaque => {
                if types.elements(found.fields) == fields {
                    return Ok(ty);
                }
            }
            _ => {
                module.define_struct(ty, fields, false)?;
                return Ok(ty);
            }
        }
        unique = format!("{name}.{number}");
    }
    Ok(module.named_struct(&unique))
}

/// Returns a struct of so many fields of one type, and `more` fields of type `i32`.
fn repeated(
    module: &mut ModuleBuilder,
    name: &str,
    field: TypeId,
    count: usize,
    more: usize,
) -> Result<TypeId> {
    let word = module.integer(32)?;
    let mut fields = alloc::vec![field; count];
    fields.extend(core::iter::repeat_n(word, more));
    structure(module, name, &fields)
}

/// Returns the type of handles of resources.
pub(crate) fn handle(module: &mut ModuleBuilder) -> Result<TypeId> {
    let byte = module.integer(8)?;
    let pointer = module.pointer(byte, 0)?;
    structure(module, "dx.types.Handle", &[pointer])
}

/// Returns the type of where a resource is bound.
pub(crate) fn resource_binding(module: &mut ModuleBuilder) -> Result<TypeId> {
    let (word, byte) = (module.integer(32)?, module.integer(8)?);
    structure(module, "dx.types.ResBind", &[word, word, word, byte])
}

/// Returns the type of the properties of a resource.
pub(crate) fn resource_properties(module: &mut ModuleBuilder) -> Result<TypeId> {
    let word = module.integer(32)?;
    structure(module, "dx.types.ResourceProperties", &[word, word])
}

/// Returns what a load returns: four values and a status.
pub(crate) fn loaded(module: &mut ModuleBuilder, ty: TypeId, suffix: &str) -> Result<TypeId> {
    repeated(module, &format!("dx.types.ResRet.{suffix}"), ty, 4, 1)
}

/// Returns what a load from a constant buffer returns: the 16 bytes of a row. Values of 16 bits that may have 32 fill a
/// row like those of 32 bits.
pub(crate) fn row(
    module: &mut ModuleBuilder,
    ty: TypeId,
    suffix: &str,
    native_16_bit: bool,
) -> Result<TypeId> {
    let count = match suffix {
        "f64" | "i64" => 2,
        "f16" | "i16" if native_16_bit => 8,
        _ => 4,
    };
    let length = if count == 8 { ".8" } else { "" };
    repeated(module, &format!("dx.types.CBufRet.{suffix}{length}"), ty, count, 0)
}

/// Returns a struct of four values.
pub(crate) fn four(module: &mut ModuleBuilder, ty: TypeId, suffix: &str) -> Result<TypeId> {
    repeated(module, &format!("dx.types.four{suffix}"), ty, 4, 0)
}

/// Returns a struct that operations return, by its letter in the table of operations.
pub(crate) fn result(module: &mut ModuleBuilder, letter: char) -> Result<Option<TypeId>> {
    let (word, bit, float) = (module.integer(32)?, module.integer(1)?, module.float());
    let (name, fields): (&str, &[TypeId]) = match letter {
        'D' => ("dx.types.Dimensions", &[word; 4]),
        'S' => ("dx.types.SamplePos", &[float; 2]),
        '2' => ("dx.types.twoi32", &[word; 2]),
        '4' => ("dx.types.fouri32", &[word; 4]),
        'C' => ("dx.types.i32c", &[word, bit]),
        'X' => ("dx.types.splitdouble", &[word; 2]),
        _ => return Ok(None),
    };
    structure(module, name, fields).map(Some)
}

/// Returns the suffix of the names of functions for a type, and its letter in the table of operations.
pub(crate) fn overload(module: &ModuleBuilder, ty: TypeId) -> Option<(String, char)> {
    let types = &module.module().types;
    let (suffix, letter) = match types.get(ty) {
        Type::Half => ("f16", 'h'),
        Type::Float => ("f32", 'f'),
        Type::Double => ("f64", 'd'),
        Type::Integer(1) => ("i1", '1'),
        Type::Integer(8) => ("i8", '8'),
        Type::Integer(16) => ("i16", 'w'),
        Type::Integer(32) => ("i32", 'i'),
        Type::Integer(64) => ("i64", 'l'),
        Type::Struct(structure) => {
            let name = String::from_utf8_lossy(types.name(structure.name?));
            return Some((name.into_owned(), 'o'));
        }
        Type::Pointer { pointee, .. } => match types.get(pointee) {
            Type::Struct(structure) => {
                let name = types.name(structure.name?);
                return Some((String::from_utf8_lossy(name).into_owned(), 'u'));
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((suffix.to_string(), letter))
}
