//! Mangled names of intrinsics, which LLVM rewrites when it reads old files.
//!
//! The names of overloaded intrinsics end in the types that they are used with. Some intrinsics became overloaded
//! later, and opaque pointers changed the names of all pointer types. A rewritten function moves to the end of the
//! module.
//!
//! Knowledge: the Language Reference on overloaded intrinsics; the output of `llvm-dis` 14 and 19 for old files.

use super::Dialect;
use super::intrinsics::Intrinsic;
use super::text::push_number;
use crate::ids::TypeId;
use crate::module::Module;
use crate::types::{Type, TypeTable};
use alloc::string::String;

/// The rewritten declaration of an intrinsic.
pub(super) struct IntrinsicRewrite {
    /// Its new name.
    pub(super) name: String,
    /// A parameter that it lost, so that its calls are rebuilt.
    pub(super) dropped: Option<usize>,
}

/// Intrinsics that became overloaded, with the parameters whose types are mangled into the name.
const OVERLOADED: &[(&str, &[usize])] = &[
    ("lifetime.start", &[1]),
    ("lifetime.end", &[1]),
    ("invariant.start", &[1]),
    ("invariant.end", &[2]),
    ("prefetch", &[0]),
];

/// Intrinsics that became overloaded with opaque pointers, by the type of a parameter or of the result.
const OVERLOADED_LATER: &[(&str, Option<usize>)] = &[
    ("stackrestore", Some(0)),
    ("stacksave", None),
    ("va_copy", Some(0)),
    ("va_end", Some(0)),
    ("va_start", Some(0)),
];

/// Returns how the intrinsic with a function index is rewritten; `None` if it is unchanged.
pub(super) fn rewrite(
    module: &Module<'_>,
    dialect: Dialect,
    index: usize,
    intrinsic: Intrinsic,
) -> Option<IntrinsicRewrite> {
    let function = module.functions.get(index)?;
    let types = &module.types;
    let Type::Function { parameters, result, .. } = types.get(function.symbol.ty) else { return None };
    let parameters = types.elements(parameters);
    let base = intrinsic.name();
    let plain = function.symbol.name.strip_prefix(b"llvm.") == Some(base.as_bytes());
    if base == "dbg.value" && parameters.len() == 4 {
        return Some(IntrinsicRewrite { name: String::from("llvm.dbg.value"), dropped: Some(1) });
    }
    let opaque = dialect.is_opaque();
    let mut name = String::from("llvm.");
    name.push_str(base);
    if let Some((_, overloaded)) = OVERLOADED.iter().find(|(name, _)| *name == base) {
        let mut is_unnamed = false;
        for &at in *overloaded {
            name.push('.');
            push_type(&mut name, types, *parameters.get(at)?, opaque, 0);
            is_unnamed |= !opaque && has_unnamed(types, *parameters.get(at)?);
        }
        if is_unnamed {
            name.push_str(FIRST_UNNAMED);
        }
        let is_new = name.as_bytes() != function.symbol.name;
        return is_new.then_some(IntrinsicRewrite { name, dropped: None });
    }
    if let (true, true, Some((_, of))) =
        (opaque, plain, OVERLOADED_LATER.iter().find(|(name, _)| *name == base))
    {
        let ty = match of {
            Some(at) => *parameters.get(*at)?,
            None => result,
        };
        name.push('.');
        push_type(&mut name, types, ty, opaque, 0);
        return Some(IntrinsicRewrite { name, dropped: None });
    }
    if opaque {
        let old = core::str::from_utf8(&function.symbol.name).ok()?;
        let suffix = old.strip_prefix(name.as_str())?;
        let suffix = without_dotted_structs(types, suffix);
        for part in suffix.split('.').skip(1) {
            name.push('.');
            push_opaque(&mut name, part);
        }
        if name != old {
            return Some(IntrinsicRewrite { name, dropped: None });
        }
    }
    None
}

/// Removes the names of pointee structs that contain dots, because dots separate the parts of a mangled name.
fn without_dotted_structs(types: &TypeTable, suffix: &str) -> String {
    let mut result = String::from(suffix);
    for name in types.struct_names().filter(|name| name.contains(&b'.')) {
        let Ok(name) = core::str::from_utf8(name) else { continue };
        for digit in '0'..='9' {
            let pointer = alloc::format!("p{digit}s_{name}s");
            if result.contains(&pointer) {
                result = result.replace(&pointer, &alloc::format!("p{digit}"));
            }
        }
    }
    result
}

/// Appends a part of a mangled name without pointee types: `p0i8` becomes `p0`, `v4p1f32` becomes `v4p1`.
fn push_opaque(name: &mut String, part: &str) {
    let mut letters = part;
    while let Some(rest) = after_count(letters) {
        letters = rest;
    }
    let shape = part.len() - letters.len();
    match letters.strip_prefix('p') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            name.push_str(part.get(..shape + 1 + digits).unwrap_or(part));
        }
        _ => name.push_str(part),
    }
}

/// Returns what follows the number of elements of a vector or array, such as `v4` or `nxv2`.
fn after_count(part: &str) -> Option<&str> {
    let rest = part.strip_prefix("nxv").or_else(|| part.strip_prefix(['v', 'a']))?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    (after.len() < rest.len()).then_some(after)
}

/// What follows the name of the first function with types that have no name.
pub(super) const FIRST_UNNAMED: &str = ".0";

/// Maximum nesting depth of types in a mangled name.
const MAX_DEPTH: u32 = 16;

/// Appends the mangled name of a type of a module with opaque pointers.
pub(crate) fn push_mangled_type(name: &mut String, types: &TypeTable, ty: TypeId) {
    push_type(name, types, ty, true, 0);
}

/// Returns whether a type, or what it points to, is a struct without a name that is not a literal.
pub(super) fn has_unnamed(types: &TypeTable, mut ty: TypeId) -> bool {
    for _ in 0..MAX_DEPTH {
        ty = match types.get(ty) {
            Type::Pointer { pointee, .. } => pointee,
            Type::Vector { element, .. } | Type::Array { element, .. } => element,
            Type::Struct(structure) => return !structure.literal && structure.name.is_none(),
            _ => return false,
        };
    }
    false
}

/// Appends the mangled name of a type.
pub(super) fn push_type(name: &mut String, types: &TypeTable, ty: TypeId, opaque: bool, depth: u32) {
    if depth > MAX_DEPTH {
        return;
    }
    let nested = |name: &mut String, ty: TypeId| push_type(name, types, ty, opaque, depth + 1);
    match types.get(ty) {
        Type::Pointer { pointee, address_space } => {
            name.push('p');
            push_number(name, u64::from(address_space));
            if !opaque {
                nested(name, pointee);
            }
        }
        Type::OpaquePointer { address_space } => {
            name.push('p');
            push_number(name, u64::from(address_space));
        }
        Type::Integer(width) => {
            name.push('i');
            push_number(name, u64::from(width));
        }
        Type::Vector { count, element, scalable } => {
            name.push_str(if scalable { "nxv" } else { "v" });
            push_number(name, u64::from(count));
            nested(name, element);
        }
        Type::Array { count, element } => {
            name.push('a');
            push_number(name, count);
            nested(name, element);
        }
        Type::Struct(structure) => {
            match structure.name {
                Some(text) => {
                    name.push_str("s_");
                    name.push_str(core::str::from_utf8(types.name(text)).unwrap_or(""));
                }
                None if !structure.literal => name.push_str("s_"),
                None => {
                    name.push_str("sl_");
                    for &field in types.elements(structure.fields) {
                        nested(name, field);
                    }
                }
            }
            name.push('s');
        }
        Type::Half => name.push_str("f16"),
        Type::BFloat => name.push_str("bf16"),
        Type::Float => name.push_str("f32"),
        Type::Double => name.push_str("f64"),
        Type::X86Fp80 => name.push_str("f80"),
        Type::Fp128 => name.push_str("f128"),
        Type::PpcFp128 => name.push_str("ppcf128"),
        Type::X86Mmx => name.push_str("x86mmx"),
        Type::Void => name.push_str("isVoid"),
        Type::Metadata => name.push_str("Metadata"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_lose_their_pointee() {
        let parts = [("p0i8", "p0"), ("v4p1f32", "v4p1"), ("nxv2p0i64", "nxv2p0"), ("p12s_as", "p12")];
        let same = ["i64", "f32", "vp2intersect"].map(|part| (part, part));
        for (old, new) in parts.into_iter().chain(same) {
            let mut name = String::new();
            push_opaque(&mut name, old);
            assert_eq!(name, new);
        }
    }
}
