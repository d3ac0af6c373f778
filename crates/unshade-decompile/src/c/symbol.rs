//! Global variables that code refers to: their declarations and initial values.

use super::expression::UNARY;
use super::language::Language;
use super::type_name::type_name;
use super::{GlobalKind, Printer, identifier};
use crate::ir::{MemoryObject, ObjectSpace, Op, ValueId};
use crate::types::{NumberKind, Type};

impl Printer<'_, '_> {
    fn variable_of(&self, id: ValueId) -> (&str, Option<&MemoryObject<'_>>) {
        let name = match self.function.op(id) {
            Op::Symbol(symbol) => self.function.symbols.get(symbol).map_or("", String::as_str),
            _ => "",
        };
        (name, self.module.objects.iter().find(|variable| variable.name == name))
    }

    /// Returns the type of a variable as a pointer to its accesses. The address of a function is a number.
    pub(super) fn symbol_type(&self, id: ValueId) -> Type {
        let (name, variable) = self.variable_of(id);
        if variable.is_none() && self.is_function(name) {
            return Type::Integer(64, false);
        }
        if variable.is_some_and(|variable| !variable.pointers.is_empty()) {
            return Type::Pointer(64, NumberKind::Unsigned);
        }
        if variable.is_some_and(MemoryObject::is_literal) {
            return Type::Pointer(8, NumberKind::Unsigned);
        }
        self.element_of(&identifier(name), self.types.of[id].target()).pointer()
    }

    /// Returns whether a name is that of a function whose address is taken.
    fn is_function(&self, name: &str) -> bool {
        self.module.pointed.iter().any(|callee| callee.name == name)
    }

    /// Returns the type of a variable's elements. If it has none yet, that of an access, or bytes.
    fn element_of(&self, safe: &str, accessed: Option<Type>) -> Type {
        if let Some(known) = self.elements.get(safe) {
            return *known;
        }
        self.known_elements.get(safe).unwrap_or_else(|| {
            let element = accessed.unwrap_or(Type::Integer(8, false));
            self.assumed.borrow_mut().push((safe.to_owned(), element));
            element
        })
    }

    /// Returns the name of a variable or function, which is declared before the function, or a string literal.
    pub(super) fn symbol(&mut self, id: ValueId) -> String {
        let (name, variable) = self.variable_of(id);
        let element = self.symbol_type(id).target().unwrap_or(Type::Integer(8, false));
        if variable.is_none() && self.is_function(name) {
            let name = name.to_owned();
            return self.address_of(&name, 0);
        }
        let safe = identifier(name);
        match variable {
            Some(variable) if variable.is_literal() => quoted(variable.text().unwrap_or("")),
            Some(_) => {
                let name = name.to_owned();
                self.declare_variable(&name, element);
                safe
            }
            None => {
                self.elements.insert(safe.clone(), element);
                let text = format!("extern {}{} {safe}[];", self.language.global, type_name(element));
                self.global(GlobalKind::Variable, &safe, text);
                safe
            }
        }
    }

    /// Returns a string literal where a type is wanted; `None` for other values. C++ has no conversion from `const char *` to
    /// pointers to numbers. `Type::Void` is wanted where any type is accepted.
    pub(super) fn literal(&mut self, id: ValueId, precedence: u8, wanted: Type) -> Option<String> {
        if self.has_variable(id) || !self.variable_of(id).1.is_some_and(MemoryObject::is_literal) {
            return None;
        }
        let text = self.symbol(id);
        if wanted == Type::Void {
            return Some(text);
        }
        self.casts += 1;
        let text = format!("({}){text}", self.type_name(wanted));
        Some(super::expression_wrapped(text, UNARY, precedence))
    }

    /// Declares a variable with its initial value, and the variables and functions that this refers to.
    fn declare_variable(&mut self, name: &str, element: Type) {
        let module = self.module;
        let Some(variable) = module.objects.iter().find(|variable| variable.name == name) else { return };
        let safe = identifier(name);
        let is_same = || !variable.pointers.is_empty() || self.elements.get(&safe) == Some(&element);
        if self.globals.iter().any(|global| global.1 == safe && is_same()) {
            return;
        }
        self.elements.insert(safe.clone(), element);
        // Known before what it refers to, which may be itself.
        self.global(GlobalKind::Variable, &safe, String::new());
        let mut pointers = Vec::new();
        for pointer in &variable.pointers {
            pointers.push((pointer.offset, self.address_of(&pointer.symbol, pointer.addend)));
        }
        let text = declaration(self.language, variable, &safe, element, &pointers);
        if pointers.is_empty() {
            self.global(GlobalKind::Variable, &safe, text);
        } else {
            // Tables may refer to each other.
            let head = text.split(" = ").next().unwrap_or_default();
            self.global(GlobalKind::Variable, &format!("extern {safe}"), format!("extern {head};"));
            self.global(GlobalKind::Table, &safe, text);
        }
    }

    /// Returns the address of a variable or function as a number.
    fn address_of(&mut self, name: &str, addend: i64) -> String {
        let module = self.module;
        let safe = identifier(name);
        if let Some(callee) = module.pointed.iter().find(|callee| callee.name == name) {
            self.declare_function(callee);
            if let Some(addresses) = &self.language.addresses {
                return format!("{}({safe})", addresses.of);
            }
        } else if let Some(variable) = module.objects.iter().find(|variable| variable.name == name) {
            let is_declared = self.globals.iter().any(|global| global.1 == safe);
            if !variable.pointers.is_empty() {
                self.declare_variable(name, Type::Integer(64, false));
            } else if !is_declared {
                let element = self.element_of(&safe, None);
                let text = declaration(self.language, variable, &safe, element, &[]);
                self.elements.insert(safe.clone(), element);
                self.global(GlobalKind::Variable, &safe, text);
            }
        }
        let text = format!("(unsigned long long){safe}");
        match addend {
            0 => text,
            addend => format!("{text} + {addend}"),
        }
    }
}

/// Returns the declaration of a variable. `pointers` are the offsets and texts of addresses in its initial value.
fn declaration(
    language: &Language,
    variable: &MemoryObject<'_>,
    name: &str,
    element: Type,
    pointers: &[(u64, String)],
) -> String {
    let is_constant = matches!(variable.space, ObjectSpace::Constant(_));
    let qualifier = if is_constant { language.constant } else { language.global };
    let bytes = usize::from(element.bits() / 8).max(1);
    let count = variable.size.div_ceil(bytes as u64);
    let mut text = format!("{qualifier}{} {name}[{count}]", type_name(element));
    // Trailing zeros can be omitted.
    let length = variable.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let end = pointers.iter().map(|pointer| pointer.0 as usize + 8).max().unwrap_or(0).max(length);
    let used = variable.bytes.get(..end.next_multiple_of(bytes)).unwrap_or(&variable.bytes);
    if end > 0 {
        let mut numbers = numbers(language, used, element);
        for (offset, text) in pointers {
            if let Some(number) = numbers.get_mut(*offset as usize / bytes) {
                number.clone_from(text);
            }
        }
        text.push_str(&format!(" = {{{}}}", numbers.join(", ")));
    }
    text.push(';');
    text
}

/// Returns the numbers of an initializer.
pub(super) fn numbers(language: &Language, bytes: &[u8], element: Type) -> Vec<String> {
    let size = usize::from(element.bits() / 8).max(1);
    bytes.chunks(size).map(|bytes| number(language, bytes, element)).collect()
}

/// Returns a number from its bytes in memory.
fn number(language: &Language, bytes: &[u8], element: Type) -> String {
    let bits = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    super::expression::constant(language, bits, element.bits(), element, 0)
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
    use crate::c::{CPP, CUDA};

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
            pointers: Vec::new(),
        };
        let text = |language| declaration(language, &variable, "table", Type::Integer(32, true), &[]);
        assert_eq!(text(&CUDA), "__constant__ int table[4] = {5, -1};");
        assert_eq!(text(&CPP), "int table[4] = {5, -1};");
        assert_eq!(quoted("a\"\n"), "\"a\\\"\\n\"");
    }
}
