//! Signatures of Metal functions without reflection and metadata, such as what a dynamic library exports.
//!
//! A mangled name has the types of the parameters, in C++'s spelling with Clang's vectors and with Metal's address spaces
//! as vendor qualifiers: `unsigned int MTLdevice*`, `float __vector(4)`. The type of the function in the module has those
//! of its result, and of the parameters of functions that are not mangled, without the signs of integers.
//!
//! Knowledge: the Metal Shading Language's address spaces and vector types; the exports of real dynamic libraries.

use crate::demangle;
use unshade_core::{Escaped, TokenKind, TokenSink};
use unshade_llvm::Module;
use unshade_llvm::ids::TypeId;
use unshade_llvm::types::Type;
use unshade_metallib::FunctionType;
use unshade_metallib::reflection::schema::AddressSpace;

/// Spellings of C++ types in the Metal language.
const SCALARS: [(&str, &str); 8] = [
    ("unsigned char", "uchar"),
    ("signed char", "char"),
    ("unsigned short", "ushort"),
    ("unsigned int", "uint"),
    ("unsigned long", "ulong"),
    ("_Float16", "half"),
    ("__fp16", "half"),
    ("std::bfloat16_t", "bfloat"),
];

/// The deepest nesting of pointers in a type that is printed.
const MAX_DEPTH: u32 = 8;

/// A function as a mangled name and a module describe it. Names from the file are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MetalSignature {
    result: String,
    name: String,
    parameters: Vec<String>,
}

impl MetalSignature {
    /// Returns the signature of a function; `None` if the module has no function of this name.
    pub(crate) fn of(module: &Module<'_>, name: &[u8]) -> Option<Self> {
        let function = module.functions.iter().find(|function| &*function.symbol.name == name)?;
        let Type::Function { result, parameters, .. } = module.types.get(function.symbol.ty) else {
            return None;
        };
        let result = spelled(module, result, MAX_DEPTH);
        let demangled = demangle(name);
        let (name, parameters) = match demangled.as_deref().and_then(split) {
            Some((name, parameters)) => (Escaped(name.as_bytes()).to_string(), parameters),
            None => {
                let parameters = module.types.elements(parameters).iter();
                (Escaped(name).to_string(), parameters.map(|&ty| spelled(module, ty, MAX_DEPTH)).collect())
            }
        };
        Some(Self { result, name, parameters })
    }

    /// Prints the declaration of a function of a type in the library's list.
    pub(crate) fn print(&self, kind: Option<FunctionType>, sink: &mut (impl TokenSink + ?Sized)) {
        let has_keyword =
            |kind: &FunctionType| ![FunctionType::UNQUALIFIED, FunctionType::NONE].contains(kind);
        if let Some(kind) = kind.filter(has_keyword) {
            sink.put(TokenKind::Keyword, &kind.to_string());
            sink.put(TokenKind::Space, " ");
        }
        sink.put(TokenKind::Type, &self.result);
        sink.put(TokenKind::Space, " ");
        sink.put(TokenKind::Function, &self.name);
        sink.put(TokenKind::Punctuation, "(");
        for (index, parameter) in self.parameters.iter().enumerate() {
            if index > 0 {
                sink.put(TokenKind::Punctuation, ",");
                sink.put(TokenKind::Space, " ");
            }
            sink.put(TokenKind::Type, parameter);
        }
        sink.put(TokenKind::Punctuation, ")");
        sink.put(TokenKind::Comment, "   // types of the module, where integers have no signs");
        sink.put(TokenKind::Space, "\n");
    }
}

/// Splits a demangled name into the name and its parameters in Metal's spelling; `None` if it has none.
fn split(demangled: &str) -> Option<(&str, Vec<String>)> {
    let inner = demangled.strip_suffix(')')?;
    let mut depth = 1_u32;
    let open = inner.bytes().rposition(|byte| {
        match byte {
            b')' => depth = depth.saturating_add(1),
            b'(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    let (name, list) = (inner.get(..open)?, inner.get(open.saturating_add(1)..)?);
    let mut parameters = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'(' | b'<' | b'[' => depth = depth.saturating_add(1),
            b')' | b'>' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parameters.push(parameter(list.get(start..at)?));
                start = at.saturating_add(1);
            }
            _ => {}
        }
    }
    parameters.push(parameter(list.get(start..)?));
    Some((name, parameters))
}

/// Returns a parameter of a demangled name in Metal's spelling.
fn parameter(demangled: &str) -> String {
    let demangled = demangled.trim();
    let base = demangled.trim_end_matches(['*', '&']);
    let indirection = demangled.get(base.len()..).unwrap_or_default();
    let (mut space, mut is_constant) = ("", false);
    let mut base = base.trim_end();
    loop {
        if let Some(rest) = base.strip_suffix(" const") {
            (base, is_constant) = (rest, true);
        } else if let Some((rest, qualifier)) = base.rsplit_once(" MTL")
            && let Some((_, known)) = AddressSpace::NAMED.iter().find(|(_, name)| *name == qualifier)
        {
            (base, space) = (rest, known);
        } else {
            break;
        }
    }
    let (scalar, width) = match base.strip_suffix(')').and_then(|rest| rest.rsplit_once(" __vector(")) {
        Some((scalar, width)) => (scalar, width),
        None => (base, ""),
    };
    let scalar = SCALARS.iter().find(|(name, _)| *name == scalar).map_or(scalar, |(_, metal)| metal);
    let mut out = String::new();
    for word in [space, if is_constant && space != "constant" { "const" } else { "" }] {
        if !word.is_empty() {
            out.push_str(word);
            out.push(' ');
        }
    }
    out.push_str(&Escaped(scalar.as_bytes()).to_cow());
    out.push_str(width);
    out.push_str(indirection);
    out
}

/// Returns a type of the module in Metal's spelling. Integers have no signs there, and are printed as signed.
fn spelled(module: &Module<'_>, ty: TypeId, depth: u32) -> String {
    if depth == 0 {
        return String::from("…");
    }
    match module.types.get(ty) {
        Type::Void => String::from("void"),
        Type::Half => String::from("half"),
        Type::BFloat => String::from("bfloat"),
        Type::Float => String::from("float"),
        Type::Double => String::from("double"),
        Type::Integer(1) => String::from("bool"),
        Type::Integer(8) => String::from("char"),
        Type::Integer(16) => String::from("short"),
        Type::Integer(32) => String::from("int"),
        Type::Integer(64) => String::from("long"),
        Type::Integer(width) => format!("int{width}_t"),
        Type::Vector { element, count, .. } => format!("{}{count}", spelled(module, element, depth - 1)),
        Type::Pointer { pointee, address_space } => {
            format!("{}{}*", space(address_space), spelled(module, pointee, depth - 1))
        }
        Type::OpaquePointer { address_space } => format!("{}void*", space(address_space)),
        Type::Array { element, count } => format!("array<{}, {count}>", spelled(module, element, depth - 1)),
        Type::Struct(structure) => match structure.name {
            Some(name) => {
                let name = module.types.name(name);
                Escaped(name.strip_prefix(b"struct.").unwrap_or(name)).to_string()
            }
            None => String::from("struct"),
        },
        _ => String::from("auto"),
    }
}

fn space(number: u32) -> String {
    let known = u8::try_from(number).ok().and_then(|number| AddressSpace(number).name());
    match known {
        Some(name) => format!("{name} "),
        None => format!("/* address space {number} */ "),
    }
}

#[cfg(test)]
mod tests {
    use super::{parameter, split};

    #[test]
    fn parameters_of_mangled_names() {
        for (demangled, metal) in [
            ("float __vector(4)", "float4"),
            ("unsigned long MTLdevice*", "device ulong*"),
            ("float __vector(3) const MTLconstant&", "constant float3&"),
            ("half const MTLdevice*", "device const half*"),
            ("unsigned int", "uint"),
            ("metal::_buffer<float, 2> MTLunknown*", "metal::_buffer<float, 2> MTLunknown*"),
        ] {
            assert_eq!(parameter(demangled), metal);
        }
    }

    #[test]
    fn lists_are_split_at_their_own_commas() {
        let (name, parameters) =
            split("a::f<int, (E)1>(g<int, float>, void (*)(int, int), unsigned int)").unwrap();
        assert_eq!(name, "a::f<int, (E)1>");
        assert_eq!(parameters, ["g<int, float>", "void (*)(int, int)", "uint"]);
        assert_eq!(split("f()").unwrap().1, [""]);
        for text in ["f", ")", "f)", ""] {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
