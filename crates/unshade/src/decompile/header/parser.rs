//! Declarations: a type, then names with what turns it into theirs.
//!
//! A declaration that can't be read is skipped to its end, a semicolon or the closing brace of its body.

use super::HeaderFault;
use super::tokens::{Token, tokens};
use super::types::HeaderTypes;
use std::collections::HashMap;
use unshade_nv::debug::{DebugFunction, DebugInfo, DebugType, DebugVariable, TypeIndex, TypeKind};

/// The result of reading a part of a declaration, or what is wrong with it.
pub(super) type Parsed<T> = Result<T, String>;

/// Maximum number of nested scopes and declarators.
const MAX_NESTED: usize = 64;

/// Maximum number of dimensions of an array.
const MAX_DIMENSIONS: usize = 8;

/// Maximum number of faults that are reported.
const MAX_FAULTS: usize = 100;

/// Words of a declaration that say nothing about the type.
const QUALIFIERS: &[&str] = &[
    "const",
    "volatile",
    "static",
    "extern",
    "inline",
    "register",
    "constexpr",
    "mutable",
    "restrict",
    "__restrict",
    "__restrict__",
    "__inline__",
    "__forceinline__",
    "__noinline__",
    "__global__",
    "__device__",
    "__host__",
    "__constant__",
    "__shared__",
    "__managed__",
    "__extension__",
    "typename",
    "noexcept",
    "final",
];

/// Qualifiers with arguments; the last two give an alignment.
const ATTRIBUTES: &[&str] = &["__launch_bounds__", "__declspec", "__attribute__", "__align__", "alignas"];

/// The type before the names of a declaration.
pub(super) struct Specifiers {
    /// None is `void`.
    pub ty: Option<TypeIndex>,
    pub is_typedef: bool,
}

/// A name of a declaration, and its type.
pub(super) struct Declarator {
    /// Empty in a parameter without a name, or in a type.
    pub name: String,
    pub ty: Option<TypeIndex>,
    /// The parameters of a function.
    pub parameters: Option<Vec<DebugVariable>>,
}

/// Reads a header.
pub(super) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// Number of structures and declarators around what is read.
    pub(super) depth: usize,
    /// The scopes around a declaration; those of `extern "C"` are empty.
    pub(super) scopes: Vec<String>,
    pub(super) types: HeaderTypes,
    pub(super) enumerators: HashMap<String, i64>,
    info: DebugInfo,
    faults: Vec<HeaderFault>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            tokens: tokens(text),
            at: 0,
            depth: 0,
            scopes: Vec::new(),
            types: HeaderTypes::default(),
            enumerators: HashMap::new(),
            info: DebugInfo::default(),
            faults: Vec::new(),
        }
    }

    /// Reads all declarations.
    pub(super) fn run(mut self) -> (DebugInfo, Vec<HeaderFault>) {
        while let Some(first) = self.tokens.get(self.at).copied() {
            let start = self.at;
            if let Err(message) = self.declaration() {
                if self.faults.len() < MAX_FAULTS {
                    let last = self.tokens.get(start.max(self.at.saturating_sub(1)));
                    self.faults
                        .push(HeaderFault { line: last.map_or(first.line, |token| token.line), message });
                }
                (self.at, self.depth) = (start, 0);
                self.skip_declaration();
            }
        }
        self.info.types = self.types.list;
        (self.info, self.faults)
    }

    /// Reads a declaration, the beginning of a scope, or its end.
    fn declaration(&mut self) -> Parsed<()> {
        if self.accept(";") {
            return Ok(());
        }
        if self.accept("}") {
            return self.scopes.pop().map(|_| ()).ok_or_else(|| String::from("there is no scope to close"));
        }
        if self.is_next("namespace") || self.is_next("extern") && self.text(1).starts_with('"') {
            return self.scope();
        }
        if self.is_next("template") {
            return Err(String::from("templates are left out: declare `name<arguments>` instead"));
        }
        if self.accept("using") {
            return self.alias();
        }
        let specifiers = self.specifiers()?;
        if self.accept(";") {
            return Ok(());
        }
        loop {
            let declarator = self.declarator(specifiers.ty)?;
            let is_function = declarator.parameters.is_some();
            self.declare(declarator, specifiers.is_typedef)?;
            if is_function && self.is_next("{") {
                return self.skip_block();
            }
            if self.accept("=") {
                self.skip_initializer();
            }
            if !self.accept(",") {
                return self.expect(";");
            }
        }
    }

    /// Reads the beginning of `namespace a::b {` or `extern "C" {`.
    fn scope(&mut self) -> Parsed<()> {
        let is_namespace = self.is_next("namespace");
        self.skip();
        let mut name = String::new();
        if is_namespace && self.is_word() {
            name = self.qualified()?;
        } else if !is_namespace {
            self.skip();
            if !self.is_next("{") {
                return Ok(());
            }
        }
        if self.scopes.len() >= MAX_NESTED {
            return Err(format!("there are more than {MAX_NESTED} nested scopes"));
        }
        self.expect("{")?;
        self.scopes.push(name);
        Ok(())
    }

    /// Reads the rest of `using name = type;`, or skips `using namespace name;`.
    pub(super) fn alias(&mut self) -> Parsed<()> {
        if self.accept("namespace") {
            self.qualified()?;
            return self.expect(";");
        }
        let name = self.qualified()?;
        if self.accept("=") {
            let ty = self.type_name()?;
            self.name_type(&name, ty)?;
        }
        self.expect(";")
    }

    /// Adds what a declarator declares.
    pub(super) fn declare(&mut self, declarator: Declarator, is_typedef: bool) -> Parsed<()> {
        let Declarator { name, ty, parameters } = declarator;
        if name.is_empty() {
            return Err(String::from("the declaration has no name"));
        }
        if is_typedef {
            let ty = if parameters.is_some() {
                let function = DebugType { name: name.clone(), size: 0, kind: TypeKind::Function };
                Some(self.types.add(function, 1)?)
            } else {
                ty
            };
            return self.name_type(&name, ty);
        }
        let name = self.with_scope(&name);
        match parameters {
            Some(parameters) => {
                let function = DebugFunction { name, result: ty, parameters, ..DebugFunction::default() };
                self.info.functions.push(function);
            }
            None => self.info.variables.push(DebugVariable { name, ty, ..DebugVariable::default() }),
        }
        Ok(())
    }

    /// Gives a type a name in the scope.
    fn name_type(&mut self, name: &str, ty: Option<TypeIndex>) -> Parsed<()> {
        let ty = match ty {
            Some(ty) => ty,
            None => self.types.add(DebugType { kind: TypeKind::Void, ..DebugType::default() }, 1)?,
        };
        if let Some(known) = self.types.list.get_mut(ty.0 as usize)
            && known.name.is_empty()
            && matches!(known.kind, TypeKind::Structure(_) | TypeKind::Union(_))
        {
            name.clone_into(&mut known.name);
        }
        let name = self.with_scope(name);
        self.types.name(&name, ty);
        Ok(())
    }

    /// Returns a name with the scopes around it.
    pub(super) fn with_scope(&self, name: &str) -> String {
        let scopes = self.scopes.iter().filter(|scope| !scope.is_empty());
        scopes.map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
    }

    /// Reads a type and the qualifiers around it.
    pub(super) fn specifiers(&mut self) -> Parsed<Specifiers> {
        let mut found = Specifiers { ty: None, is_typedef: false };
        let mut numbers: Vec<&str> = Vec::new();
        let mut has_type = false;
        while self.is_word() {
            let word = self.text(0);
            match word {
                "typedef" => found.is_typedef = true,
                _ if QUALIFIERS.contains(&word) => {}
                _ if ATTRIBUTES.contains(&word) => {
                    self.attribute()?;
                    continue;
                }
                "signed" | "unsigned" | "char" | "short" | "int" | "long" | "float" | "double" | "bool"
                | "_Bool"
                    if !has_type =>
                {
                    numbers.push(word);
                }
                _ if has_type || !numbers.is_empty() => break,
                "void" => has_type = true,
                "struct" | "class" | "union" => {
                    found.ty = Some(self.structure()?);
                    has_type = true;
                    continue;
                }
                "enum" => {
                    found.ty = Some(self.enumeration()?);
                    has_type = true;
                    continue;
                }
                _ => {
                    let name = self.qualified()?;
                    found.ty = Some(self.known_type(&name)?);
                    has_type = true;
                    continue;
                }
            }
            self.skip();
        }
        if !numbers.is_empty() {
            found.ty = Some(self.number(&numbers)?);
        } else if !has_type {
            return Err(format!("a type is expected, not `{}`", self.text(0)));
        }
        Ok(found)
    }

    /// Returns the type with a name in this scope or one around it.
    fn known_type(&mut self, name: &str) -> Parsed<TypeIndex> {
        for count in (0..=self.scopes.len()).rev() {
            let scopes = self.scopes[..count].iter().filter(|scope| !scope.is_empty());
            let full = scopes.map(String::as_str).chain([name]).collect::<Vec<_>>().join("::");
            if let Some(ty) = self.types.by_name(&full) {
                return Ok(ty);
            }
        }
        Err(format!("unknown type `{name}`"))
    }

    /// Returns the type that keywords such as `unsigned long` name.
    fn number(&mut self, words: &[&str]) -> Parsed<TypeIndex> {
        let count = |word: &str| words.iter().filter(|other| **other == word).count();
        let has = |word: &str| count(word) > 0;
        let (name, size, kind) = match () {
            () if has("double") => ("double", 8, TypeKind::Float),
            () if has("float") => ("float", 4, TypeKind::Float),
            () if has("bool") || has("_Bool") => ("bool", 1, TypeKind::Bool),
            () if has("char") && has("unsigned") => ("unsigned char", 1, TypeKind::Unsigned),
            () if has("char") => ("char", 1, TypeKind::Signed),
            () if has("short") && has("unsigned") => ("unsigned short", 2, TypeKind::Unsigned),
            () if has("short") => ("short", 2, TypeKind::Signed),
            () if has("long") && has("unsigned") => ("unsigned long", 8, TypeKind::Unsigned),
            () if has("long") => ("long", 8, TypeKind::Signed),
            () if has("unsigned") => ("unsigned int", 4, TypeKind::Unsigned),
            () => ("int", 4, TypeKind::Signed),
        };
        if has("long") && has("double") {
            return Err(String::from("GPUs have no `long double`"));
        }
        self.types.number(name, size, kind)
    }

    /// Reads a qualifier with arguments, and returns the alignment that it asks for.
    pub(super) fn attribute(&mut self) -> Parsed<u64> {
        let is_alignment = self.is_next("__align__") || self.is_next("alignas");
        self.skip();
        if !is_alignment {
            // Inside of other attributes, an alignment is a word and its argument.
            let start = self.at;
            self.skip_group("(", ")")?;
            let inner = self.tokens.get(start..self.at).unwrap_or_default();
            let is_named = |token: &Token<'_>| matches!(token.text, "aligned" | "__aligned__" | "align");
            let Some(place) = inner.iter().position(is_named) else { return Ok(1) };
            return Ok(inner.get(place + 2).and_then(|token| token.text.parse().ok()).unwrap_or(16));
        }
        self.expect("(")?;
        let alignment = self.constant()?;
        self.expect(")")?;
        u64::try_from(alignment)
            .ok()
            .filter(|alignment| alignment.is_power_of_two() && *alignment <= 256)
            .ok_or_else(|| format!("{alignment} is no alignment"))
    }

    /// Reads a type without a name.
    pub(super) fn type_name(&mut self) -> Parsed<Option<TypeIndex>> {
        let specifiers = self.specifiers()?;
        Ok(self.declarator(specifiers.ty)?.ty)
    }

    /// Reads a name and what turns a type into that of the name.
    pub(super) fn declarator(&mut self, ty: Option<TypeIndex>) -> Parsed<Declarator> {
        self.enter()?;
        let declarator = self.inner_declarator(ty)?;
        self.depth -= 1;
        Ok(declarator)
    }

    /// Counts a structure or declarator.
    pub(super) fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTED {
            return Err(format!("there are more than {MAX_NESTED} nested declarations"));
        }
        Ok(())
    }

    fn inner_declarator(&mut self, ty: Option<TypeIndex>) -> Parsed<Declarator> {
        let mut ty = ty;
        loop {
            if self.accept("*") || self.accept("&") {
                ty = Some(self.types.pointer(ty)?);
            } else if self.is_word() && QUALIFIERS.contains(&self.text(0)) {
                self.skip();
            } else if self.is_word() && ATTRIBUTES.contains(&self.text(0)) {
                self.attribute()?;
            } else {
                break;
            }
        }
        if self.is_next("(") && matches!(self.text(1), "*" | "&") {
            return self.function_pointer();
        }
        let mut name = String::new();
        if self.is_word() {
            name = self.qualified()?;
        }
        let mut counts = Vec::new();
        while self.accept("[") {
            let count = if self.is_next("]") { 0 } else { self.constant()? };
            self.expect("]")?;
            counts.push(u64::try_from(count).map_err(|_| format!("{count} is no count of elements"))?);
            if counts.len() > MAX_DIMENSIONS {
                return Err(format!("an array has more than {MAX_DIMENSIONS} dimensions"));
            }
        }
        if !counts.is_empty() {
            let element = ty.ok_or("an array of `void`")?;
            ty = Some(self.types.array(element, counts)?);
        }
        let parameters = if self.is_next("(") { Some(self.parameters()?) } else { None };
        while parameters.is_some() && self.is_word() && QUALIFIERS.contains(&self.text(0)) {
            self.skip();
        }
        Ok(Declarator { name, ty, parameters })
    }

    /// Reads `(*name)(parameters)` or `(*name)[count]`.
    fn function_pointer(&mut self) -> Parsed<Declarator> {
        self.expect("(")?;
        while matches!(self.text(0), "*" | "&") {
            self.skip();
        }
        let name = if self.is_word() { self.qualified()? } else { String::new() };
        while self.is_next("[") {
            self.skip_group("[", "]")?;
        }
        self.expect(")")?;
        while self.is_next("[") {
            self.skip_group("[", "]")?;
        }
        if self.is_next("(") {
            self.skip_group("(", ")")?;
        }
        Ok(Declarator { name, ty: Some(self.types.pointer(None)?), parameters: None })
    }

    /// Reads the parameters of a function.
    fn parameters(&mut self) -> Parsed<Vec<DebugVariable>> {
        self.expect("(")?;
        let mut found = Vec::new();
        if self.is_next("void") && self.text(1) == ")" {
            self.skip();
        }
        while !self.accept(")") {
            let specifiers = self.specifiers()?;
            let Declarator { name, ty, .. } = self.declarator(specifiers.ty)?;
            let ty = self.decayed(ty)?;
            found.push(DebugVariable { name, ty, ..DebugVariable::default() });
            if self.accept("=") {
                self.skip_initializer();
            }
            if !self.accept(",") && !self.is_next(")") {
                return Err(format!("`,` or `)` is expected after a parameter, not `{}`", self.text(0)));
            }
        }
        Ok(found)
    }

    /// Returns the type of a parameter: an array is a pointer to its elements.
    fn decayed(&mut self, ty: Option<TypeIndex>) -> Parsed<Option<TypeIndex>> {
        let known = ty.and_then(|ty| self.types.list.get(ty.0 as usize));
        match known.map(|known| &known.kind) {
            Some(TypeKind::Array(element, _)) => {
                let element = *element;
                Ok(Some(self.types.pointer(element)?))
            }
            _ => Ok(ty),
        }
    }

    /// Reads a name with its scopes and the arguments of a template, without spaces.
    pub(super) fn qualified(&mut self) -> Parsed<String> {
        let mut name = String::new();
        if self.accept("::") || self.is_word() {
            name.push_str(self.word()?);
        }
        loop {
            if self.accept("::") {
                name.push_str("::");
                name.push_str(self.word()?);
            } else if self.is_next("<") {
                let start = self.at;
                self.skip_group("<", ">")?;
                let inner = self.tokens.get(start..self.at).unwrap_or_default();
                inner.iter().for_each(|token| name.push_str(token.text));
            } else {
                return Ok(name);
            }
        }
    }

    /// Returns the text of a token that follows the next one by a distance; empty at the end.
    pub(super) fn text(&self, distance: usize) -> &'a str {
        self.tokens.get(self.at + distance).map_or("", |token| token.text)
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn is_next(&self, text: &str) -> bool {
        self.text(0) == text
    }

    pub(super) fn is_word(&self) -> bool {
        self.tokens.get(self.at).is_some_and(Token::is_word)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Skips a token if it is next, and returns whether it was.
    pub(super) fn accept(&mut self, text: &str) -> bool {
        let is_next = self.is_next(text);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.accept(text) {
            return Ok(());
        }
        match self.text(0) {
            "" => Err(format!("`{text}` is expected, but the header ends")),
            other => Err(format!("`{text}` is expected, not `{other}`")),
        }
    }

    fn word(&mut self) -> Parsed<&'a str> {
        if !self.is_word() {
            return Err(format!("a name is expected, not `{}`", self.text(0)));
        }
        self.word_or_number()
    }

    pub(super) fn word_or_number(&mut self) -> Parsed<&'a str> {
        let text = self.text(0);
        self.skip();
        Ok(text)
    }

    /// Skips from an opening sign to the closing one. Only braces contain semicolons and other braces.
    pub(super) fn skip_group(&mut self, open: &str, close: &str) -> Parsed<()> {
        self.expect(open)?;
        let mut depth = 1_usize;
        while depth > 0 {
            if self.is_end() {
                return Err(format!("`{close}` is expected, but the header ends"));
            }
            if open != "{" && matches!(self.text(0), ";" | "{") {
                return Err(format!("`{close}` is expected, not `{}`", self.text(0)));
            }
            depth += usize::from(self.is_next(open));
            depth -= usize::from(self.is_next(close));
            self.skip();
        }
        Ok(())
    }

    /// Skips a block in braces.
    pub(super) fn skip_block(&mut self) -> Parsed<()> {
        self.skip_group("{", "}")
    }

    /// Skips to the comma, semicolon or closing sign after an initial value.
    pub(super) fn skip_initializer(&mut self) {
        let (mut depth, mut braces) = (0_usize, 0_usize);
        while !self.is_end() {
            match self.text(0) {
                ";" if braces == 0 => return,
                "," | ")" | "}" | "]" if depth == 0 => return,
                "(" | "[" => depth += 1,
                "{" => (depth, braces) = (depth + 1, braces + 1),
                ")" | "]" => depth -= 1,
                "}" => (depth, braces) = (depth - 1, braces.saturating_sub(1)),
                _ => {}
            }
            self.skip();
        }
    }

    /// Skips a declaration: to its semicolon, or to the brace that closes its body.
    pub(super) fn skip_declaration(&mut self) {
        let mut depth = 0_usize;
        while !self.is_end() {
            let text = self.text(0);
            self.skip();
            match text {
                "{" => depth += 1,
                "}" => {
                    let is_unmatched = depth == 0;
                    depth = depth.saturating_sub(1);
                    // Names may follow the body of a structure.
                    if is_unmatched || depth == 0 && !self.is_word() && !self.is_next("*") {
                        self.accept(";");
                        return;
                    }
                }
                ";" if depth == 0 => return,
                _ => {}
            }
        }
    }
}
