//! What the types of functions of a library leave open: how parameters are passed, and the signs of integers.
//!
//! In LLVM's types, a structure is a pointer whether it is passed by value, by reference or returned; attributes tell:
//! `sret` marks the result, `noalias` and `dereferenceable` references. The mangled name, after Microsoft's scheme, has
//! the types of the language: `?f@@YAMIV?$vector@_N$01@@@Z` is `float f(uint, bool2)`.
//!
//! Source: what DXC 1.6 to 1.10 write; the scheme as Clang's `MicrosoftMangle.cpp` describes it.

use crate::ir::shader::data_type::{DataType, Scalar, ScalarKind};
use crate::ir::shader::interface::Passing;
use unshade_llvm::attributes::{self, Attribute};
use unshade_llvm::{Module, attribute_name};

/// Returns how a parameter that is a pointer is passed.
pub(super) fn passing(module: &Module<'_>, function: usize, parameter: usize) -> Passing {
    let Some(function) = module.functions.get(function) else { return Passing::Reference };
    let index = attributes::index::parameter(parameter);
    let set = module.attributes.of(function.attributes, index);
    let found = set.map_or(&[][..], |set| module.attributes.set(set));
    let has =
        |name: &str| found.iter().filter_map(Attribute::kind).any(|kind| attribute_name(kind) == Some(name));
    if has("sret") {
        Passing::Result
    } else if has("noalias") || has("dereferenceable") {
        Passing::Reference
    } else {
        Passing::Value
    }
}

/// Gives a type the sign that the mangled name says.
pub(super) fn apply(ty: &mut DataType, kind: Option<ScalarKind>) {
    let change = |scalar: &mut Scalar| match kind {
        Some(ScalarKind::Unsigned) if scalar.kind == ScalarKind::Signed => {
            scalar.kind = ScalarKind::Unsigned;
        }
        Some(ScalarKind::Bool) if scalar.kind == ScalarKind::Signed && scalar.bits == 32 => {
            *scalar = Scalar::BOOL;
        }
        _ => {}
    };
    match ty {
        DataType::Scalar(scalar) | DataType::Vector(scalar, _) | DataType::Matrix { scalar, .. } => {
            change(scalar);
        }
        DataType::Array(element, _) => apply(element, kind),
        DataType::Struct(_) | DataType::Named(_) => {}
    }
}

/// Returns the kinds of the numbers of a function's result and of its parameters; `None` if the name is of another form.
pub(super) fn kinds(name: &str) -> Option<(Option<ScalarKind>, Vec<Option<ScalarKind>>)> {
    let rest = name.trim_start_matches('\u{1}').strip_prefix('?')?;
    let (scope, rest) = rest.split_once("@@YA")?;
    let names = scope.split('@').map(|_| None).collect();
    let mut reader = Reader { rest, names, types: Vec::new() };
    let result = reader.ty(0)?;
    let mut parameters = Vec::new();
    while !reader.rest.starts_with(['@', 'Z']) {
        let before = reader.rest.len();
        let kind = reader.ty(0)?;
        // Types of more than one letter can be referred to.
        if before - reader.rest.len() > 1 && reader.types.len() < 10 {
            reader.types.push(kind);
        }
        parameters.push(kind);
    }
    Some((result, parameters))
}

/// Returns the kind of the numbers of a global variable; `None` if its name does not say.
pub(super) fn variable_kind(name: &str) -> Option<ScalarKind> {
    let rest = name.trim_start_matches('\u{1}').strip_prefix('?')?;
    let (scope, rest) = rest.split_once("@@3")?;
    let names = scope.split('@').map(|_| None).collect();
    // Arrays are pointers.
    let rest = rest.strip_prefix("PA").unwrap_or(rest);
    Reader { rest, names, types: Vec::new() }.ty(0)?
}

/// Returns what a mangled name says of types that a module does not: such a name can't be made again.
pub(super) fn lost(name: &str) -> Option<&'static str> {
    let known = [("$min12i", "min12int"), ("$min10f", "min10float"), ("U?$", "structures of templates")];
    known.iter().find(|(letters, _)| name.contains(letters)).map(|(_, what)| *what)
}

/// Maximum nesting depth of types in a name.
const MAX_DEPTH: usize = 16;

/// Letters of numbers.
const NUMBERS: [(&str, Option<ScalarKind>); 11] = [
    ("X", None),
    ("M", Some(ScalarKind::Float)),
    ("N", Some(ScalarKind::Float)),
    ("H", Some(ScalarKind::Signed)),
    ("I", Some(ScalarKind::Unsigned)),
    ("F", Some(ScalarKind::Signed)),
    ("G", Some(ScalarKind::Unsigned)),
    ("_N", Some(ScalarKind::Bool)),
    ("_J", Some(ScalarKind::Signed)),
    ("_K", Some(ScalarKind::Unsigned)),
    ("$f16@", Some(ScalarKind::Float)),
];

/// Prefixes that say nothing of the number: of results, references and arrays.
const PREFIXES: [&str; 4] = ["?A", "AIA", "$$CA", "$$B"];

struct Reader<'n> {
    rest: &'n str,
    /// The kinds of the numbers of names so far; of names without numbers none.
    names: Vec<Option<ScalarKind>>,
    /// The kinds of the parameters that can be referred to.
    types: Vec<Option<ScalarKind>>,
}

impl Reader<'_> {
    fn take(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads a type.
    fn ty(&mut self, depth: usize) -> Option<Option<ScalarKind>> {
        if depth > MAX_DEPTH {
            return None;
        }
        if PREFIXES.iter().any(|prefix| self.take(prefix)) {
            return self.ty(depth + 1);
        }
        if self.take("Y") {
            let dimensions = self.number()?;
            for _ in 0..dimensions.min(64) {
                self.number()?;
            }
            return self.ty(depth + 1);
        }
        if let Some(digit) = self.digit() {
            return self.types.get(digit).copied();
        }
        if self.take("U") || self.take("V") {
            return self.named(depth);
        }
        let (_, kind) = NUMBERS.iter().find(|(letters, _)| self.rest.starts_with(letters))?;
        let letters = NUMBERS.iter().find(|(letters, _)| self.rest.starts_with(letters))?.0;
        self.take(letters);
        Some(*kind)
    }

    /// Reads a digit that refers to a name or type.
    fn digit(&mut self) -> Option<usize> {
        let digit = self.rest.chars().next()?.to_digit(10)?;
        self.rest = &self.rest[1..];
        Some(digit as usize)
    }

    /// Reads a number: a digit for 1 to 10, or hexadecimal digits from A on before an `@`.
    fn number(&mut self) -> Option<u64> {
        if let Some(digit) = self.digit() {
            return Some(digit as u64 + 1);
        }
        let (digits, rest) = self.rest.split_once('@')?;
        self.rest = rest;
        let mut number = 0_u64;
        for digit in digits.bytes() {
            let digit = digit.checked_sub(b'A').filter(|digit| *digit < 16)?;
            number = number.checked_mul(16)?.checked_add(u64::from(digit))?;
        }
        Some(number)
    }

    /// Reads the name of a class, after its letter: a vector or matrix, or a structure.
    fn named(&mut self, depth: usize) -> Option<Option<ScalarKind>> {
        if let Some(digit) = self.digit() {
            let kind = self.names.get(digit).copied()?;
            return self.take("@").then_some(kind);
        }
        if self.take("?$") {
            let (_, rest) = self.rest.split_once('@')?;
            self.rest = rest;
            let kind = self.ty(depth + 1)?;
            while self.take("$0") {
                self.number()?;
            }
            self.names.push(kind);
            return self.take("@@").then_some(kind);
        }
        let (name, rest) = self.rest.split_once("@@")?;
        self.rest = rest;
        for _ in name.split('@') {
            self.names.push(None);
        }
        Some(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarKind::{Bool, Float, Signed, Unsigned};

    #[test]
    fn names_have_the_signs_of_integers() {
        let found = kinds("\u{1}?PointerAdd@@YA?AV?$vector@I$01@@V1@H@Z");
        assert_eq!(found, Some((Some(Unsigned), vec![Some(Unsigned), Some(Signed)])));
        let found = kinds("?TriangleToRawData@@YAXUTriangle@@AIAV?$vector@I$03@@1AIAI@Z");
        assert_eq!(found, Some((None, vec![None, Some(Unsigned), Some(Unsigned), Some(Unsigned)])));
        let found = kinds("\u{1}?index@@YA$$BY09V?$vector@_N$01@@Y09V1@H_N@Z");
        assert_eq!(found, Some((Some(Bool), vec![Some(Bool), Some(Signed), Some(Bool)])));
        assert_eq!(kinds("?f@@YAMXZ"), Some((Some(Float), vec![None])));
    }

    #[test]
    fn names_of_variables_have_the_signs_of_integers() {
        let cases = [
            ("\u{1}?counts@@3PAIA", Some(Unsigned)),
            ("\u{1}?table@@3PAY01_KA", Some(Unsigned)),
            ("?total@@3HA", Some(Signed)),
            ("?v@lights@@3V?$vector@I$03@@A", Some(Unsigned)),
            ("?s@@3UState@@A", None),
            ("counts", None),
        ];
        for (name, kind) in cases {
            assert_eq!(variable_kind(name), kind, "{name}");
        }
    }

    #[test]
    fn types_that_modules_lack_are_found() {
        assert_eq!(lost("?f@@YAMM$min12i@@Z"), Some("min12int"));
        assert_eq!(lost("?f@@YA?AU?$LongVecTpl@$04@@XZ"), Some("structures of templates"));
        assert_eq!(lost("?f@@YAXV?$vector@M$01@@@Z"), None);
        assert_eq!(lost("?f@@YAXV?$vector@M$00@@@Z"), None);
        assert_eq!(lost("?f@@YAMIV?$vector@_N$01@@@Z"), None);
    }

    #[test]
    fn other_names_say_nothing() {
        for name in ["main", "?f", "?f@@YA", "?f@@YAM", "?f@@YAMQ@Z", "?f@@YAMV9@@Z", "?f@@YAMY"] {
            assert_eq!(kinds(name), None, "{name}");
        }
    }
}
