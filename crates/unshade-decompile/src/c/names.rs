//! Names from the source code, where they are not taken by something else that the text names.

use super::language::Language;
use super::prelude;
use crate::ir::hash::FastMap;
use crate::ir::{Module, ValueId};
use std::collections::HashSet;

/// Words of C++ that can't be names, macros of common headers, and functions that the printer calls without an intrinsic.
const RESERVED: &str = "\
    alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char class compl \
    concept const const_cast constexpr continue decltype default delete do double dynamic_cast else \
    enum EOF errno explicit export extern fabs fabsf false float for friend goto I if INFINITY inline int \
    isnan linux local long major max min minor mutable namespace NAN new noexcept not not_eq NULL nullptr \
    operator or or_eq printf private protected public register reinterpret_cast requires return shared short signed \
    size_t sizeof sqrt sqrtf static static_assert static_cast stderr stdin stdout struct switch template this \
    thread_local throw true try typedef typeid typename union unix unsigned using virtual void volatile \
    wchar_t while xor xor_eq";

/// What other names of the text begin with.
const PREFIXES: [&str; 6] = ["__", "_Z", "constant_", "next_", "param_", "skip"];

/// Returns the names that no variable may have in any function of a language.
pub(super) fn always_taken(language: &Language) -> HashSet<String> {
    let words = [RESERVED, language.reserved].into_iter().flat_map(str::split_whitespace);
    let words = words.chain(prelude::names()).map(String::from);
    words.chain(language.function_names()).collect()
}

/// The names that a function uses, and those that its source code gives to variables.
#[derive(Debug)]
pub(super) struct Names {
    language: &'static Language,
    taken: HashSet<String>,
    /// The names of classes of values in the source code.
    source: FastMap<ValueId, String>,
}

impl Names {
    /// Creates the names of a function: those of other functions and of variables in memory are taken.
    pub(super) fn new(
        module: &Module<'_>,
        language: &'static Language,
        source: FastMap<ValueId, String>,
    ) -> Self {
        let objects = module.objects.iter().map(|object| super::identifier(&object.name));
        let symbols = module.function.symbols.iter().map(|symbol| super::identifier(symbol));
        let callees = module.function.callees.iter().chain(&module.pointed).map(|callee| callee.name.clone());
        let taken = objects.chain(symbols).chain(callees).chain([module.name.clone()]).collect();
        Self { language, taken, source }
    }

    /// Takes a name, if it can be one and is free. Returns whether it did.
    pub(super) fn take(&mut self, name: &str) -> bool {
        let mut prefixes = PREFIXES.iter().chain(self.language.reserved_prefixes);
        let is_reserved = self.language.always_taken.contains(name)
            || prefixes.any(|prefix| name.starts_with(prefix))
            || name.is_empty();
        !is_reserved && self.taken.insert(name.to_owned())
    }

    /// Returns a free name for a class of values: that of the source code, perhaps with a number.
    pub(super) fn of(&mut self, class: ValueId) -> Option<String> {
        let name = self.source.get(&class)?.clone();
        if self.take(&name) {
            return Some(name);
        }
        let numbered = (2..100).map(|number| format!("{name}_{number}"));
        numbered.into_iter().find(|name| self.take(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::CUDA;

    #[test]
    fn names_are_taken_once() {
        let mut names =
            Names::new(&Module { name: String::from("f"), ..Module::default() }, &CUDA, FastMap::default());
        assert!(names.take("i") && !names.take("i"));
        for reserved in ["f", "int", "fmaf", "atomicAdd", "param_1", "laneid", "__shfl", ""] {
            assert!(!names.take(reserved), "{reserved}");
        }
    }

    #[test]
    fn equal_names_of_the_source_code_get_numbers() {
        let [one, two, three] = [0, 1, 2].map(ValueId::new);
        let source = [(one, "i"), (two, "i"), (three, "while")];
        let source = source.map(|(id, name)| (id, String::from(name))).into_iter().collect();
        let mut names = Names::new(&Module::default(), &CUDA, source);
        assert_eq!(names.of(one).as_deref(), Some("i"));
        assert_eq!(names.of(two).as_deref(), Some("i_2"));
        assert_eq!(names.of(three).as_deref(), Some("while_2"));
    }
}
