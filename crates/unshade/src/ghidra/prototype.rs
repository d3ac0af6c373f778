//! Builds C prototypes of kernels from the offsets and sizes of their parameters and from their mangled names.
//!
//! A cubin gives the offset and size of each parameter; the mangled name gives its C++ type, and if there is none, the
//! decompiler infers it from what the kernel does with the parameter. Ghidra places parameters
//! one after another, each aligned to its size and to at least 4 bytes. To place every parameter at its real offset,
//! everything except numbers of 4 or 8 bytes is declared as 4-byte words.

use unshade_decompile as decompiler;
use unshade_decompile::types::{NumberKind, Type};
use unshade_nv::info::Parameter;

/// Maximum number of words of parameters that a prototype declares.
const MAX_WORDS: usize = 256;

/// C++ types with an equivalent in C, and their sizes.
const TYPES: [(&str, &str, u16); 16] = [
    ("float", "float", 4),
    ("double", "double", 8),
    ("int", "int", 4),
    ("unsigned int", "unsigned int", 4),
    ("unsigned", "unsigned int", 4),
    ("long", "long long", 8),
    ("unsigned long", "unsigned long long", 8),
    ("long long", "long long", 8),
    ("unsigned long long", "unsigned long long", 8),
    ("short", "short", 2),
    ("unsigned short", "unsigned short", 2),
    ("char", "char", 1),
    ("signed char", "char", 1),
    ("unsigned char", "unsigned char", 1),
    ("bool", "unsigned char", 1),
    ("void", "void", 0),
];

/// Returns the name of a function without its arguments and result type, if it is a valid name in C.
/// `a::sum<float>(float*)` becomes `a::sum` with `scoped`, and `sum` without.
pub(super) fn plain_name(demangled: &str, scoped: bool) -> Option<String> {
    let mut name = String::new();
    let mut depth = 0_usize;
    for c in demangled.chars() {
        match c {
            '<' => depth = depth.saturating_add(1),
            '>' => depth = depth.checked_sub(1)?,
            '(' if depth == 0 => break,
            // The part before the last space is the result type.
            ' ' if depth == 0 => name.clear(),
            _ if depth == 0 => name.push(c),
            _ => {}
        }
    }
    let parts: Vec<&str> = name.split("::").collect();
    let is_identifier = |part: &&str| {
        *part != "operator"
            && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !parts.iter().all(is_identifier) {
        return None;
    }
    if scoped { Some(name) } else { parts.last().map(|last| (*last).to_owned()) }
}

/// Returns the types of a demangled name's parameters, as C++ spells them.
fn types(demangled: &str) -> Vec<&str> {
    let Some(open) = parameters_at(demangled) else { return Vec::new() };
    let inside = demangled.get(open.saturating_add(1)..).unwrap_or("");
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth = depth.saturating_add(1),
            ')' if depth == 0 => {
                found.push(inside.get(start..at).unwrap_or("").trim());
                return found;
            }
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(inside.get(start..at).unwrap_or("").trim());
                start = at.saturating_add(1);
            }
            _ => {}
        }
    }
    Vec::new()
}

/// Returns where the parameters begin: the first parenthesis outside of template arguments.
fn parameters_at(demangled: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in demangled.char_indices() {
        match c {
            '<' => depth = depth.saturating_add(1),
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns the C equivalent of a C++ type, if it has this size.
fn c_type(spelled: &str, size: u16) -> Option<String> {
    let is_kept = |word: &&str| !["const", "volatile", "__restrict__", "restrict"].contains(word);
    let spaced = spelled.replace(['*', '&'], " * ");
    let words: Vec<&str> = spaced.split_whitespace().filter(is_kept).collect();
    let stars = words.iter().rev().take_while(|word| **word == "*").count();
    let base = words.get(..words.len().saturating_sub(stars)).unwrap_or(&[]).join(" ");
    let known = TYPES.iter().find(|entry| entry.0 == base);
    if stars > 0 {
        let base = known.map_or("void", |entry| entry.1);
        return (size == 8).then(|| format!("{base} {}", "*".repeat(stars.min(4))));
    }
    known.filter(|entry| entry.2 == size).map(|entry| entry.1.to_owned())
}

/// Returns the C spelling of an inferred type, if it has this size.
fn inferred_type(ty: Type, size: u16) -> Option<String> {
    let bits = size.checked_mul(8)?;
    match ty {
        Type::Integer(width, is_signed) if u16::from(width) == bits => {
            number(width, if is_signed { NumberKind::Signed } else { NumberKind::Unsigned })
        }
        Type::Float(width) if u16::from(width) == bits => number(width, NumberKind::Float),
        Type::Pointer(width, kind) if size == 8 => {
            Some(number(width, kind).map_or_else(|| "void *".to_owned(), |name| format!("{name} *")))
        }
        _ => None,
    }
}

fn number(bits: u8, kind: NumberKind) -> Option<String> {
    let (prefix, name) = match (kind, bits) {
        (NumberKind::Float, 32) => ("", "float"),
        (NumberKind::Float, 64) => ("", "double"),
        (NumberKind::Signed, _) => ("", integer(bits)?),
        (NumberKind::Unsigned, _) => ("unsigned ", integer(bits)?),
        _ => return None,
    };
    Some(format!("{prefix}{name}"))
}

fn integer(bits: u8) -> Option<&'static str> {
    match bits {
        8 => Some("char"),
        16 => Some("short"),
        32 => Some("int"),
        64 => Some("long long"),
        _ => None,
    }
}

/// Returns a type for a parameter whose size alone is known.
fn sized_type(size: u16) -> Option<&'static str> {
    match size {
        1 => Some("unsigned char"),
        2 => Some("unsigned short"),
        4 => Some("unsigned int"),
        8 => Some("unsigned long long"),
        _ => None,
    }
}

/// Returns the name of a parameter.
pub(super) fn parameter_name(parameter: &Parameter) -> String {
    format!("param_{}", parameter.ordinal.saturating_add(1))
}

/// Returns whether a demangled name has the types of this many parameters.
pub(super) fn has_types(demangled: Option<&str>, count: usize) -> bool {
    demangled.is_some_and(|demangled| types(demangled).len() == count)
}

/// Returns the prototype of a kernel whose parameters begin at `base` in constant bank 0, with the types of its
/// demangled name if it has any, or else those that were inferred.
pub(super) fn prototype(
    name: &str,
    demangled: Option<&str>,
    base: u32,
    parameters: &[(u32, Parameter)],
    inferred: &[decompiler::Parameter],
) -> String {
    let types = demangled.map(types).unwrap_or_default();
    let types = if types.len() == parameters.len() { types } else { Vec::new() };
    let inferred = |offset: u32, size: u16| {
        let at = offset.checked_sub(base)?;
        let found = inferred.iter().find(|found| found.offset == at && found.size == u32::from(size))?;
        inferred_type(found.ty?, size)
    };
    let mut arguments: Vec<String> = Vec::new();
    let mut at = base;
    for (index, (offset, parameter)) in parameters.iter().enumerate() {
        let end = offset.saturating_add(u32::from(parameter.size));
        let name = parameter_name(parameter);
        // Adjacent small parameters are declared as the word that contains them.
        while at < *offset && offset.saturating_sub(at) >= 4 {
            arguments.push(format!("unsigned int unused_{at:x}"));
            at = at.saturating_add(4);
        }
        let alone = parameters.get(index.saturating_add(1)).is_none_or(|next| next.0 >= at.saturating_add(4));
        let ty = types.get(index).and_then(|spelled| c_type(spelled, parameter.size));
        let ty = ty
            .or_else(|| inferred(*offset, parameter.size))
            .or_else(|| sized_type(parameter.size).map(str::to_owned));
        let aligned = at == *offset && offset.is_multiple_of(u32::from(parameter.size).max(4));
        if let (Some(ty), true, true) = (ty, aligned, alone) {
            arguments.push(format!("{ty} {name}"));
            at = end.max(at.saturating_add(4));
        }
        while at < end {
            let (ty, bytes) = if at.is_multiple_of(8) && end.saturating_sub(at) >= 8 {
                ("unsigned long long", 8)
            } else {
                ("unsigned int", 4)
            };
            let part = at.saturating_sub(*offset);
            arguments.push(format!("{ty} {name}_{part:x}"));
            at = at.saturating_add(bytes);
            if arguments.len() > MAX_WORDS {
                break;
            }
        }
        if arguments.len() > MAX_WORDS {
            break;
        }
    }
    if arguments.is_empty() {
        arguments.push("void".to_owned());
    }
    format!("void {name}({})", arguments.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{NumberKind, Type, decompiler, plain_name, prototype};
    use unshade_nv::info::Parameter;

    fn parameters(sizes: &[(u16, u16)]) -> Vec<(u32, Parameter)> {
        let of = |(ordinal, (offset, size)): (usize, &(u16, u16))| {
            let parameter = Parameter {
                index: 0,
                ordinal: ordinal as u16,
                offset: *offset,
                size: *size,
                log_alignment: 0,
                space: 0,
                bank: None,
                in_shared_memory: false,
            };
            (0x140 + u32::from(*offset), parameter)
        };
        sizes.iter().enumerate().map(of).collect()
    }

    #[test]
    fn names() {
        assert_eq!(plain_name("void at::sum<float, int (*)(int)>(float*)", true).as_deref(), Some("at::sum"));
        assert_eq!(plain_name("void at::sum<float>(float*)", false).as_deref(), Some("sum"));
        assert_eq!(plain_name("axpy(float, float*)", true).as_deref(), Some("axpy"));
        assert_eq!(plain_name("A::operator()(int)", true), None);
        assert_eq!(plain_name("a>b", true), None);
    }

    #[test]
    fn types_of_the_name_where_they_fit() {
        let text = prototype(
            "axpy",
            Some("axpy(float, float const*, Table<int, 3>&, unsigned long)"),
            0x140,
            &parameters(&[(0, 4), (8, 8), (16, 8), (24, 8)]),
            &[],
        );
        assert_eq!(
            text,
            "void axpy(float param_1, unsigned int unused_144, float * param_2, void * param_3, unsigned long long param_4)"
        );
        // A name that contradicts the parameters' sizes is ignored.
        let text = prototype("f", Some("f(float, float)"), 0x140, &parameters(&[(0, 4)]), &[]);
        assert_eq!(text, "void f(unsigned int param_1)");
    }

    #[test]
    fn inferred_types_where_the_name_has_none() {
        let inferred = |offset: u32, size, ty| {
            let mut parameter = decompiler::Parameter::word(offset / 4);
            parameter.size = size;
            parameter.ty = Some(ty);
            parameter
        };
        let text = prototype(
            "f",
            None,
            0x140,
            &parameters(&[(0, 8), (8, 8), (16, 4), (20, 4)]),
            &[
                inferred(0, 8, Type::Pointer(32, NumberKind::Float)),
                inferred(8, 8, Type::Pointer(128, NumberKind::Float)),
                inferred(16, 4, Type::Integer(32, true)),
                inferred(20, 4, Type::Integer(8, false)),
            ],
        );
        assert_eq!(text, "void f(float * param_1, void * param_2, int param_3, unsigned int param_4)");
    }

    #[test]
    fn all_bytes_have_their_places() {
        let text = prototype("f", None, 0x140, &parameters(&[(0, 1), (1, 1), (4, 12), (16, 2)]), &[]);
        assert_eq!(
            text,
            "void f(unsigned int param_1_0, unsigned int param_3_0, unsigned long long param_3_4, unsigned short param_4)"
        );
    }
}
