//! Parses types, and `%name = type …`.
//!
//! A name may be used before it is defined: it is an opaque struct until then.

use super::Version;
use super::error::Parsed;
use super::lexer::{Token, parse_u64};
use super::names::{NameTable, NumberTable};
use super::parser::Parser;
use crate::ids::TypeId;
use crate::rules;
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// The named and numbered types of a text.
#[derive(Default)]
pub(super) struct TypeState {
    names: NameTable<TypeId>,
    numbers: NumberTable<TypeId>,
    /// The integer types that were met, by width.
    integers: NumberTable<TypeId>,
    /// The pointers in address space 0 that were met, by the number of their pointee.
    pub(super) pointers: NumberTable<TypeId>,
    /// Types that are used but not defined yet, with the position of the first use.
    undefined: BTreeMap<TypeId, usize>,
}

/// Types that are a word.
const WORDS: &[(&[u8], Type)] = &[
    (b"void", Type::Void),
    (b"half", Type::Half),
    (b"bfloat", Type::BFloat),
    (b"float", Type::Float),
    (b"double", Type::Double),
    (b"x86_fp80", Type::X86Fp80),
    (b"fp128", Type::Fp128),
    (b"ppc_fp128", Type::PpcFp128),
    (b"label", Type::Label),
    (b"metadata", Type::Metadata),
    (b"x86_mmx", Type::X86Mmx),
    (b"x86_amx", Type::X86Amx),
    (b"token", Type::Token),
];

/// The widest integer type, in bits.
const MAX_WIDTH: u64 = 1 << 23;

impl Parser<'_> {
    /// Parses a type other than `void`.
    pub(super) fn ty(&mut self) -> Parsed<TypeId> {
        let at = self.at;
        let ty = self.any_type()?;
        if matches!(self.module.types.get(ty), Type::Void) {
            return self.fault_at(at, "void type is only allowed as the result of a function");
        }
        Ok(ty)
    }

    /// Parses a type.
    pub(super) fn any_type(&mut self) -> Parsed<TypeId> {
        self.nested(|parser| {
            let is_ptr = parser.is_word("ptr");
            let base = parser.base_type()?;
            parser.type_suffix(base, is_ptr)
        })
    }

    /// Returns whether the current token starts a type.
    pub(super) fn at_type(&self) -> bool {
        match self.token {
            Token::Word(word) => word == b"ptr" || word == b"target" || word_type(word).is_some(),
            Token::Local(_) | Token::LocalNumber(_) => true,
            Token::Punctuation(character) => matches!(character, b'{' | b'[' | b'<'),
            _ => false,
        }
    }

    fn base_type(&mut self) -> Parsed<TypeId> {
        let at = self.at;
        match self.token {
            Token::Word(b"ptr") => {
                self.advance();
                if self.version != Version::Llvm19 {
                    return self.fault_at(at, "this version of LLVM has typed pointers, not ptr");
                }
                let address_space = self.address_space()?;
                Ok(self.module.types.intern(Type::OpaquePointer { address_space }))
            }
            Token::Word(b"target") => self.target_type(),
            Token::Word(word) => match word_type(word) {
                Some(Type::Integer(width)) => {
                    self.advance();
                    Ok(self.integer_type(width))
                }
                Some(ty) => {
                    self.advance();
                    Ok(self.module.types.intern(ty))
                }
                None => self.fault("expected a type"),
            },
            Token::Local(name) => {
                let name = name.bytes();
                let at = self.at;
                self.advance();
                if let Some(ty) = self.types.names.get(&name) {
                    return Ok(ty);
                }
                let ty = self.module.types.declare_struct(Some(&name));
                self.types.names.insert(&name, ty);
                self.types.undefined.insert(ty, at);
                Ok(ty)
            }
            Token::LocalNumber(number) => {
                let at = self.at;
                self.advance();
                if let Some(ty) = self.types.numbers.get(number) {
                    return Ok(ty);
                }
                let ty = self.module.types.declare_struct(None);
                self.types.numbers.insert(number, ty);
                self.types.undefined.insert(ty, at);
                Ok(ty)
            }
            Token::Punctuation(b'{') => {
                let fields = self.fields()?;
                Ok(self.module.types.intern_struct(&fields, false))
            }
            Token::Punctuation(b'[') => {
                self.advance();
                let count = self.u64()?;
                self.expect_word("x")?;
                let at = self.at;
                let element = self.ty()?;
                self.expect(b']')?;
                if !rules::is_array_element(&self.module.types, self.version, element) {
                    return self.fault_at(at, "invalid array element type");
                }
                Ok(self.module.types.intern(Type::Array { count, element }))
            }
            Token::Punctuation(b'<') => self.vector_or_packed(),
            _ => self.fault("expected a type"),
        }
    }

    fn integer_type(&mut self, width: u32) -> TypeId {
        if let Some(ty) = self.types.integers.get(width) {
            return ty;
        }
        let ty = self.module.types.intern(Type::Integer(width));
        self.types.integers.insert(width, ty);
        ty
    }

    fn vector_or_packed(&mut self) -> Parsed<TypeId> {
        self.advance();
        if self.is(b'{') {
            let fields = self.fields()?;
            self.expect(b'>')?;
            return Ok(self.module.types.intern_struct(&fields, true));
        }
        let scalable = self.eat_word("vscale");
        if scalable {
            self.expect_word("x")?;
        }
        let at = self.at;
        let count = self.u32()?;
        if count == 0 {
            return self.fault_at(at, "a vector has at least one element");
        }
        self.expect_word("x")?;
        let at = self.at;
        let element = self.ty()?;
        self.expect(b'>')?;
        if !rules::is_vector_element(&self.module.types, element) {
            return self.fault_at(at, "invalid vector element type");
        }
        Ok(self.module.types.intern(Type::Vector { count, element, scalable }))
    }

    /// Parses `{ types }`.
    fn fields(&mut self) -> Parsed<Vec<TypeId>> {
        self.expect(b'{')?;
        let mut fields = Vec::new();
        self.list(b'}', |parser| {
            let at = parser.at;
            let field = parser.ty()?;
            fields.push(field);
            if !rules::is_field(&parser.module.types, field) {
                return parser.fault_at(at, "invalid element type for struct");
            }
            Ok(())
        })?;
        Ok(fields)
    }

    /// Parses `target("name", types, numbers)`.
    fn target_type(&mut self) -> Parsed<TypeId> {
        self.advance();
        self.expect(b'(')?;
        let name = self.string()?;
        let (mut types, mut numbers) = (Vec::new(), Vec::new());
        while self.eat(b',') {
            if matches!(self.token, Token::Integer(_)) {
                numbers.push(self.u32()?);
            } else if numbers.is_empty() {
                types.push(self.any_type()?);
            } else {
                return self.fault("types come before numbers in a target type");
            }
        }
        self.expect(b')')?;
        Ok(self.module.types.intern_target(&name, &types, &numbers))
    }

    /// Parses `addrspace(n)`, 0 if it is absent.
    pub(super) fn address_space(&mut self) -> Parsed<u32> {
        if !self.eat_word("addrspace") {
            return Ok(0);
        }
        self.expect(b'(')?;
        let at = self.at;
        let space = match self.token {
            Token::Text(name) if self.version == Version::Llvm19 => self.symbolic_space(&name.bytes())?,
            _ => self.u32()?,
        };
        if space >= 1 << 24 {
            return self.fault_at(at, "address space is larger than 24 bits");
        }
        self.expect(b')')?;
        Ok(space)
    }

    /// Parses the letter that the data layout gives an address space by: of local variables, global ones or programs.
    fn symbolic_space(&mut self, name: &[u8]) -> Parsed<u32> {
        let layout = &self.module.data_layout;
        let space = match name {
            b"A" => layout.alloca_address_space(),
            b"G" => layout.globals_address_space(),
            b"P" => layout.program_address_space(),
            _ => {
                let message = alloc::format!("invalid symbolic addrspace '{}'", super::parser::shown(name));
                return self.fault(message);
            }
        };
        self.advance();
        Ok(space)
    }

    /// Parses what may follow a type: `*`, `addrspace(n)*`, or the parameters of a function type.
    fn type_suffix(&mut self, mut ty: TypeId, mut is_ptr: bool) -> Parsed<TypeId> {
        loop {
            if is_ptr && self.is(b'*') {
                return self.fault("ptr* is invalid - use ptr instead");
            }
            is_ptr = false;
            if self.is(b'*') || self.is_word("addrspace") {
                let address_space = self.address_space()?;
                self.expect(b'*')?;
                if !rules::is_pointee(&self.module.types, ty) {
                    return self.fault("pointer to this type is invalid; use i8* in place of void*");
                }
                ty = self.pointer_to(ty, address_space);
            } else if self.is(b'(') {
                ty = self.function_type(ty)?;
            } else {
                return Ok(ty);
            }
        }
    }

    fn function_type(&mut self, result: TypeId) -> Parsed<TypeId> {
        self.expect(b'(')?;
        let (mut parameters, mut variadic) = (Vec::new(), false);
        self.list(b')', |parser| {
            if variadic {
                return parser.fault("'...' is the last parameter");
            }
            if parser.token == Token::Dots {
                parser.advance();
                variadic = true;
            } else {
                parameters.push(parser.ty()?);
            }
            Ok(())
        })?;
        Ok(self.module.types.intern_function(result, &parameters, variadic))
    }

    /// Parses `%name = type …` or `%5 = type …`, at the name.
    pub(super) fn type_definition(&mut self) -> Parsed<()> {
        let (token, at) = (self.token, self.at);
        self.advance();
        self.expect(b'=')?;
        self.expect_word("type")?;
        let known = match token {
            Token::Local(name) => self.types.names.get(&name.bytes()),
            Token::LocalNumber(number) => self.types.numbers.get(number),
            _ => return self.fault_at(at, "expected the name of a type"),
        };
        if known.is_some_and(|ty| !self.types.undefined.contains_key(&ty)) {
            return self.fault_at(at, "type is defined twice");
        }
        let packed = self.is(b'<') && self.peek() == Token::Punctuation(b'{');
        let is_struct = packed || self.is(b'{') || self.is_word("opaque");
        if !is_struct {
            if known.is_some() {
                return self.fault("only a struct can be used before it is defined");
            }
            let ty = self.any_type()?;
            return self.name_type(token, ty);
        }
        let ty = match (known, token) {
            (Some(ty), _) => ty,
            (None, Token::Local(name)) => self.module.types.declare_struct(Some(&name.bytes())),
            (None, _) => self.module.types.declare_struct(None),
        };
        if known.is_none() {
            self.name_type(token, ty)?;
        }
        self.types.undefined.remove(&ty);
        if self.eat_word("opaque") {
            return Ok(());
        }
        if packed {
            self.advance();
        }
        let fields = self.fields()?;
        if packed {
            self.expect(b'>')?;
        }
        self.module.types.define_struct(ty, &fields, packed);
        Ok(())
    }

    fn name_type(&mut self, token: Token<'_>, ty: TypeId) -> Parsed<()> {
        match token {
            Token::Local(name) => self.types.names.insert(&name.bytes(), ty),
            Token::LocalNumber(number) => {
                self.types.numbers.insert(number, ty);
            }
            _ => {}
        }
        Ok(())
    }

    /// Reports types that are used but never defined.
    pub(super) fn finish_types(&self) -> Parsed<()> {
        let first = self.types.undefined.iter().min_by_key(|(_, position)| **position);
        let Some((&ty, &position)) = first else { return Ok(()) };
        let name = match self.module.types.get(ty) {
            Type::Struct(structure) => {
                structure.name.map(|name| super::parser::shown(self.module.types.name(name)))
            }
            _ => None,
        };
        self.fault_at(position, alloc::format!("use of undefined type '{}'", name.unwrap_or_default()))
    }

    /// Describes a type for a message.
    pub(super) fn shown_type(&self, ty: TypeId) -> String {
        crate::print::type_text(&self.module.types, ty)
    }
}

fn word_type(word: &[u8]) -> Option<Type> {
    let Some(digits) = word.strip_prefix(b"i") else {
        return WORDS.iter().find(|(known, _)| *known == word).map(|&(_, ty)| ty);
    };
    let width = Some(digits).filter(|digits| !digits.is_empty()).and_then(parse_u64)?;
    let width = (1..=MAX_WIDTH).contains(&width).then_some(width)?;
    u32::try_from(width).ok().map(Type::Integer)
}
