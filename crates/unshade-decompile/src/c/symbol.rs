//! Global variables that code refers to: their declarations and initial values.

use super::{Printer, identifier};
use crate::ir::{MemoryObject, ObjectSpace, Op, ValueId};
use crate::types::{NumberKind, Type};

impl Printer<'_> {
    fn variable_of(&self, id: ValueId) -> (&str, Option<&MemoryObject<'_>>) {
        let name = match self.function.op(id) {
            Op::Symbol(symbol) => self.function.symbols.get(symbol).map_or("", String::as_str),
            _ => "",
        };
        (name, self.module.objects.iter().find(|variable| variable.name == name))
    }

    /// Returns the type of a variable as a pointer to its accesses.
    pub(super) fn symbol_type(&self, id: ValueId) -> Type {
        let (_, variable) = self.variable_of(id);
        match self.types.of[id] {
            ty @ Type::Pointer(..) if !variable.is_some_and(MemoryObject::is_literal) => ty,
            _ => Type::Pointer(8, NumberKind::Unsigned),
        }
    }

    /// Returns the name of a variable, which is declared before the function, or a string literal.
    pub(super) fn symbol(&mut self, id: ValueId) -> String {
        let (name, variable) = self.variable_of(id);
        let safe = identifier(name);
        let element = self.symbol_type(id).target().unwrap_or(Type::Integer(8, false));
        let declaration = match variable {
            Some(variable) if variable.is_literal() => return quoted(variable.text().unwrap_or("")),
            Some(variable) => declaration(variable, &safe, element),
            None => format!("extern __device__ {} {safe}[];", element.name()),
        };
        self.global(&safe, declaration);
        safe
    }
}

fn declaration(variable: &MemoryObject<'_>, name: &str, element: Type) -> String {
    let qualifier =
        if matches!(variable.space, ObjectSpace::Constant(_)) { "__constant__" } else { "__device__" };
    let bytes = usize::from(element.bits() / 8).max(1);
    let count = variable.size.div_ceil(bytes as u64);
    let mut text = format!("{qualifier} {} {name}[{count}]", element.name());
    // Trailing zeros can be omitted.
    let length = variable.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let used = variable.bytes.get(..length.next_multiple_of(bytes)).unwrap_or(&variable.bytes);
    if length > 0 {
        text.push_str(&format!(" = {{{}}}", numbers(used, element).join(", ")));
    }
    text.push(';');
    text
}

/// Returns the numbers of an initializer.
pub(super) fn numbers(bytes: &[u8], element: Type) -> Vec<String> {
    let size = usize::from(element.bits() / 8).max(1);
    bytes.chunks(size).map(|bytes| number(bytes, element)).collect()
}

/// Returns a number from its bytes in memory.
fn number(bytes: &[u8], element: Type) -> String {
    let bits = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    super::expression::constant(bits, element.bits(), element, 0)
}

/// Returns a C string literal.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_initializers() {
        let mut bytes = 5_i32.to_le_bytes().to_vec();
        bytes.extend((-1_i32).to_le_bytes());
        bytes.extend([0; 8]);
        let variable = MemoryObject {
            name: "table".into(),
            space: ObjectSpace::Constant(3),
            offset: 0,
            size: 16,
            bytes: bytes.into(),
        };
        let text = declaration(&variable, "table", Type::Integer(32, true));
        assert_eq!(text, "__constant__ int table[4] = {5, -1};");
        assert_eq!(quoted("a\"\n"), "\"a\\\"\\n\"");
    }
}
