//! Builds C prototypes of kernels from the offsets and sizes of their parameters and from their mangled names.
//!
//! A cubin gives the offset and size of each parameter; the mangled name gives its C++ type. Ghidra lays parameters out
//! one after another and aligns each to its size, but to at least 4 bytes. To keep every parameter at its own offset,
//! anything but a number of 4 or 8 bytes is declared as separate words.

use unshade_nv::info::Parameter;

/// Maximum number of parameters in a prototype, split words included; later ones are left out.
const MAX_WORDS: usize = 256;

/// C++ types with an equivalent in C, and their sizes in bytes.
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

/// Returns the name of a function without scope, arguments and result type, if it is a valid C name. With `scoped` the
/// scope is kept: `a::sum<float>(float*)` gives `a::sum`, otherwise `sum`.
pub(super) fn plain_name(demangled: &str, scoped: bool) -> Option<String> {
    let mut name = String::new();
    let mut depth = 0_usize;
    for c in demangled.chars() {
        match c {
            '<' => depth = depth.saturating_add(1),
            '>' => depth = depth.checked_sub(1)?,
            '(' if depth == 0 => break,
            // The text so far was the result type.
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

/// Returns the parameter types of a demangled name, as C++ spells them.
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

/// Returns the position of the parameter list: the first parenthesis outside template arguments.
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

/// Translates a C++ type to C, if the C type has this size.
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

/// Returns a type for a parameter of which only the size is known.
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

/// Returns the prototype of a kernel whose parameters start at `base` in constant bank 0.
pub(super) fn prototype(
    name: &str,
    demangled: Option<&str>,
    base: u32,
    parameters: &[(u32, Parameter)],
) -> String {
    let types = demangled.map(types).unwrap_or_default();
    let types = if types.len() == parameters.len() { types } else { Vec::new() };
    let mut arguments: Vec<String> = Vec::new();
    let mut at = base;
    for (index, (offset, parameter)) in parameters.iter().enumerate() {
        let end = offset.saturating_add(u32::from(parameter.size));
        let name = parameter_name(parameter);
        // Declare adjacent smaller parameters as the word that contains them.
        while at < *offset && offset.saturating_sub(at) >= 4 {
            arguments.push(format!("unsigned int unused_{at:x}"));
            at = at.saturating_add(4);
        }
        let alone = parameters.get(index.saturating_add(1)).is_none_or(|next| next.0 >= at.saturating_add(4));
        let ty = types.get(index).and_then(|spelled| c_type(spelled, parameter.size));
        let ty = ty.or_else(|| sized_type(parameter.size).map(str::to_owned));
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
    use super::{plain_name, prototype};
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
        );
        assert_eq!(
            text,
            "void axpy(float param_1, unsigned int unused_144, float * param_2, void * param_3, unsigned long long param_4)"
        );
        // Ignore a name that contradicts the parameters.
        let text = prototype("f", Some("f(float, float)"), 0x140, &parameters(&[(0, 4)]));
        assert_eq!(text, "void f(unsigned int param_1)");
    }

    #[test]
    fn all_bytes_have_their_places() {
        let text = prototype("f", None, 0x140, &parameters(&[(0, 1), (1, 1), (4, 12), (16, 2)]));
        assert_eq!(
            text,
            "void f(unsigned int param_1_0, unsigned int param_3_0, unsigned long long param_3_4, unsigned short param_4)"
        );
    }
}
