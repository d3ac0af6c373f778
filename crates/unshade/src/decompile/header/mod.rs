//! Names and types that the user knows, as a C header: structures, prototypes of functions, variables.
//!
//! The declarations become what debugging information would say ([`DebugInfo`]), so everything after it is the same.
//! This is the part of C and C++ that describes data: structures, unions, enumerations, `typedef` and `using`,
//! pointers, references, arrays, namespaces, prototypes and variables, CUDA's vectors and qualifiers, `#define` of
//! names. Bodies of functions, methods and static members are skipped. What remains (templates, bit fields, virtual
//! functions, unknown types) is left out and reported with its line.
//!
//! | module | |
//! |---|---|
//! | `tokens` | comments, the preprocessor, tokens |
//! | `parser` | declarations |
//! | `structure` | structures, unions and enumerations |
//! | `constant` | the values of enumerators and counts |
//! | `types` | types with their sizes |

mod constant;
mod parser;
mod structure;
mod tokens;
mod types;

use super::structures::StructureNames;
use parser::Parser;
use unshade_decompile::types::{NumberKind, Type};
use unshade_nv::debug::{DebugFunction, DebugInfo, TypeKind};

/// The declarations of a header.
///
/// ```
/// use unshade::decompile::Header;
///
/// let header = Header::parse("struct Body { float3 place; float mass; };\nvoid step(Body *bodies, T count);");
/// assert_eq!(header.faults.len(), 1);
/// assert_eq!(header.faults[0].to_string(), "line 2: unknown type `T`");
/// ```
#[derive(Debug, Default)]
pub struct Header {
    /// What could not be read. Such declarations are left out.
    pub faults: Vec<HeaderFault>,
    pub(super) info: DebugInfo,
    pub(super) names: StructureNames,
}

/// A declaration that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFault {
    /// Its line, which starts at 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl Header {
    /// Reads the text of a header.
    pub fn parse(text: &str) -> Self {
        let (info, faults) = Parser::new(text).run();
        let names = StructureNames::new(&info, None);
        Self { faults, info, names }
    }

    /// Returns the prototype of a function: by the name of its symbol, or by its name in C++ with or without its
    /// namespaces and the arguments of templates. Of several with that name, the one that has as many parameters.
    pub(super) fn function(
        &self,
        symbol: &str,
        demangled: Option<&str>,
        parameters: usize,
    ) -> Option<&DebugFunction> {
        let qualified = demangled.map_or(symbol, qualified_name);
        let plain = qualified.split('<').next().unwrap_or(qualified);
        let last = plain.rsplit("::").next().unwrap_or(plain);
        let named = |name: &str| {
            let all = || self.info.functions.iter().filter(|function| function.name == name);
            all().find(|function| function.parameters.len() == parameters).or_else(|| all().next())
        };
        [symbol, qualified, plain, last].into_iter().find_map(named)
    }

    /// Returns the variables whose type, or that of their elements, is a number: with that type.
    pub(super) fn elements(&self) -> impl Iterator<Item = (&str, Type)> {
        self.info.variables.iter().filter_map(|variable| {
            let ty = self.info.resolve(variable.ty)?;
            let ty = match ty.kind {
                TypeKind::Array(element, _) => self.info.resolve(element)?,
                _ => ty,
            };
            let kind = match ty.kind {
                TypeKind::Float => NumberKind::Float,
                TypeKind::Signed | TypeKind::Enumeration => NumberKind::Signed,
                TypeKind::Unsigned | TypeKind::Bool => NumberKind::Unsigned,
                _ => return None,
            };
            let bits = u8::try_from(ty.size.checked_mul(8)?).ok()?;
            Some((variable.name.as_str(), Type::of(bits, kind)))
        })
    }
}

/// Returns the name in a demangled prototype, without spaces in the arguments of templates: `ns::sum<float,4>` of
/// `void ns::sum<float, 4>(float const*)`.
fn qualified_name(demangled: &str) -> &str {
    let (mut depth, mut start) = (0_usize, 0);
    for (index, byte) in demangled.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            // The type of a result comes before.
            b' ' if depth == 0 => start = index + 1,
            b'(' if depth == 0 && !demangled[index..].starts_with("(anonymous namespace)") => {
                return &demangled[start..index];
            }
            _ => {}
        }
    }
    &demangled[start..]
}

#[cfg(test)]
mod tests;
