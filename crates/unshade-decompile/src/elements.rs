//! The types of the elements of a program's variables.
//!
//! A binary has the sizes of variables, but not their types: the first function of the program that refers to a variable
//! decides. So that functions can be printed at the same time, each text says what it assumed of variables that were
//! not known yet. It is right if the functions before it decided the same; otherwise it is printed again.

use crate::c::identifier;
use crate::ir::hash::FastMap;
use crate::types::Type;

/// The types of elements, by the variable's name in C.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    types: FastMap<String, Type>,
}

impl Elements {
    /// Declares the type of a variable's elements, by the variable's name.
    pub fn declare(&mut self, name: &str, element: Type) {
        self.types.insert(identifier(name), element);
    }

    /// Returns the type of a variable's elements, by its name in C.
    pub fn get(&self, name_in_c: &str) -> Option<Type> {
        self.types.get(name_in_c).copied()
    }

    /// Returns whether a function that was printed without these types would have the same text with them.
    pub fn agree_with(&self, function: &FunctionElements) -> bool {
        function.assumed.iter().all(|(name, element)| self.get(name).is_none_or(|known| known == *element))
    }

    /// Adds the types that a function decides.
    pub fn add(&mut self, function: &FunctionElements) {
        for (name, element) in &function.declared {
            self.types.entry(name.clone()).or_insert(*element);
        }
    }
}

/// What the text of a function says about the elements of variables, by their names in C.
#[derive(Clone, Debug, Default)]
pub struct FunctionElements {
    /// The types in the declarations before the function.
    pub(crate) declared: FastMap<String, Type>,
    /// The types of variables that were not known.
    pub(crate) assumed: Vec<(String, Type)>,
}

impl FunctionElements {
    /// Returns whether the text is right whatever the types of variables are.
    pub fn is_independent(&self) -> bool {
        self.assumed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_function_decides() {
        let (float, int) = (Type::Float(32), Type::Integer(32, true));
        let function = |element| FunctionElements {
            declared: [("table".to_owned(), element)].into_iter().collect(),
            assumed: vec![("table".to_owned(), element)],
        };
        let mut elements = Elements::default();
        assert!(elements.agree_with(&function(float)));
        elements.add(&function(float));
        assert!(elements.agree_with(&function(float)));
        assert!(!elements.agree_with(&function(int)));
        elements.add(&function(int));
        assert_eq!(elements.get("table"), Some(float));
        assert!(FunctionElements::default().is_independent());
    }
}
