//! The parameters of functions: kernels describe theirs in `.nv.info`; of device functions only a mangled name is known.

use super::structures::vector;
use unshade_decompile::Parameter;
use unshade_decompile::c::identifier;
use unshade_decompile::ir::THIS;
use unshade_decompile::ir::{Key as _, Structure, StructureId};
use unshade_decompile::sass::idiom::states::STATES;
use unshade_decompile::types::{NumberKind, Type};
use unshade_nv::Cubin;
use unshade_nv::function::{Function, parameter_base};

/// Returns the parameters with their offsets and sizes, and with types where the mangled name gives them; also the
/// structures to which these types refer.
pub(super) fn of(
    cubin: &Cubin<'_>,
    function: &Function<'_>,
    demangled: Option<&str>,
) -> (Vec<Parameter>, Vec<Structure>) {
    if !function.symbol.is_kernel() {
        return (of_device_function(demangled), Vec::new());
    }
    let types: Vec<&str> = demangled.map(argument_types).unwrap_or_default();
    let mut parameters = of_kernel(cubin, function, &types);
    let mut structures = Vec::new();
    if types.len() == parameters.len() {
        for (parameter, name) in parameters.iter_mut().zip(&types) {
            if parameter.ty.is_none() && parameter.size == 8 {
                let kernel = identifier(&String::from_utf8_lossy(function.name()));
                parameter.ty = structure_pointer(name, &kernel, &mut structures);
            }
        }
    }
    (parameters, structures)
}

/// Returns the type of a pointer to a structure, of which a mangled name only gives the name; those of CUDA are known. Of
/// others, a kernel's accesses decide about the members, so the name begins with that of the kernel.
fn structure_pointer(name: &str, kernel: &str, structures: &mut Vec<Structure>) -> Option<Type> {
    let target = target(name)?.trim();
    let is_class = target.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !target.ends_with(['*', ')', ']'])
        && target != "void";
    let structure = match vector(target) {
        Some(vector) => vector,
        None if STATES.iter().any(|known| known.name == target) => {
            Structure { name: target.to_owned(), ..Structure::default() }
        }
        None => Structure { name: format!("{kernel}_{}", identifier(target)), ..Structure::default() },
    };
    let found = structures.iter().position(|other| *other == structure);
    is_class.then(|| {
        let index = found.unwrap_or_else(|| {
            structures.push(structure);
            structures.len() - 1
        });
        Type::StructurePointer(StructureId::from_index(index))
    })
}

/// Returns what a pointer type points to, without qualifiers.
fn target(name: &str) -> Option<&str> {
    let target = name.trim().strip_suffix('*')?;
    let target = target.trim().trim_end_matches("const").trim().trim_start_matches("const ").trim();
    Some(target.trim_end_matches("volatile").trim())
}

/// Returns the parameters of a device function as the calling convention places them, or none if a type is not known. A
/// name doesn't tell whether a function is a method with another parameter, `this`: the decompiler checks what is read.
pub(super) fn of_device_function(demangled: Option<&str>) -> Vec<Parameter> {
    let types: Vec<&str> = demangled.map(argument_types).unwrap_or_default();
    placed(types.iter().map(|name| type_of(name)), 0).unwrap_or_default()
}

/// Returns the parameters of a device function if it is a method of a class; none if its name has no scope, or a type is not
/// known.
pub(super) fn of_method(demangled: Option<&str>) -> Vec<Parameter> {
    let types = demangled.filter(|name| has_scope(name)).map(argument_types).unwrap_or_default();
    let types = if types == [""] { &[][..] } else { &types };
    let this = Parameter { offset: 0, size: 8, ty: None, name: Some(String::from(THIS)) };
    let is_named = demangled.is_some_and(has_scope);
    let others = placed(types.iter().map(|name| type_of(name)), this.size).filter(|_| is_named);
    others.map(|others| [this].into_iter().chain(others).collect()).unwrap_or_default()
}

/// Returns whether a demangled name is that of a member of a class or namespace.
fn has_scope(name: &str) -> bool {
    let mut depth = 0_usize;
    let mut last = b' ';
    for byte in name.bytes() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => return false,
            b':' if depth == 0 && last == b':' => return true,
            _ => {}
        }
        last = byte;
    }
    false
}

/// Returns parameters from an offset on as the calling convention places them; `None` if a type is not known.
pub(super) fn placed(types: impl Iterator<Item = Option<Type>>, start: u32) -> Option<Vec<Parameter>> {
    let mut end = start;
    let parameter = |ty: Option<Type>| {
        // Narrow integers have a register of their own.
        let ty = match ty? {
            Type::Integer(..32, is_signed) => Type::Integer(32, is_signed),
            Type::Bool => Type::Integer(32, false),
            ty => ty,
        };
        let size = u32::from(ty.bits()) / 8;
        let offset = end.checked_next_multiple_of(size)?;
        end = offset.checked_add(size)?;
        Some(Parameter { offset, size, ty: Some(ty), name: None })
    };
    types.map(parameter).collect()
}

fn of_kernel(cubin: &Cubin<'_>, function: &Function<'_>, types: &[&str]) -> Vec<Parameter> {
    let base = parameter_base(cubin.arch());
    let found = function.parameters(cubin);
    let has_types = types.len() == found.len();
    found
        .into_iter()
        .enumerate()
        .map(|(index, (offset, parameter))| {
            let size = u32::from(parameter.size);
            let ty = if has_types { types.get(index).and_then(|name| type_of(name)) } else { None };
            Parameter {
                offset: offset.saturating_sub(base),
                size,
                ty: ty.filter(|ty| u32::from(ty.bits().max(8)) == size * 8),
                name: None,
            }
        })
        .collect()
}

/// Returns the types between the last parentheses of a demangled name.
fn argument_types(name: &str) -> Vec<&str> {
    let Some(end) = name.rfind(')') else { return Vec::new() };
    let mut depth = 0_usize;
    let mut parts = Vec::new();
    let mut last = end;
    for (index, byte) in name.bytes().enumerate().take(end).collect::<Vec<_>>().into_iter().rev() {
        match byte {
            b')' | b'>' | b']' => depth += 1,
            b'(' if depth == 0 => {
                parts.push(name[index + 1..last].trim());
                parts.reverse();
                return parts;
            }
            b'(' | b'<' | b'[' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(name[index + 1..last].trim());
                last = index;
            }
            _ => {}
        }
    }
    Vec::new()
}

/// Returns the C type with a name in C++; none for classes and for types of unknown size.
fn type_of(name: &str) -> Option<Type> {
    let name = name.trim();
    if let Some(target) = target(name) {
        return scalar(target).map(Type::pointer);
    }
    scalar(name.trim_start_matches("const ").trim_end_matches(" const"))
}

fn scalar(name: &str) -> Option<Type> {
    Some(match name {
        "float" => Type::of(32, NumberKind::Float),
        "double" => Type::of(64, NumberKind::Float),
        "bool" => Type::Bool,
        "unsigned char" => Type::of(8, NumberKind::Unsigned),
        "char" | "signed char" => Type::of(8, NumberKind::Signed),
        "short" => Type::of(16, NumberKind::Signed),
        "unsigned short" => Type::of(16, NumberKind::Unsigned),
        "int" => Type::of(32, NumberKind::Signed),
        "unsigned int" | "unsigned" => Type::of(32, NumberKind::Unsigned),
        "long" | "long long" => Type::of(64, NumberKind::Signed),
        "unsigned long" | "unsigned long long" => Type::of(64, NumberKind::Unsigned),
        _ => return None,
    })
}
