//! Parses calls, invokes, operand bundles and exception handling.
//!
//! The type of a callee may follow from the arguments, so the callee is resolved after them.

use super::Version;
use super::attributes::{Place, WrittenList};
use super::error::Parsed;
use super::lexer::Token;
use super::parser::{Bookmark, Parser};
use crate::attributes::index;
use crate::body::{Bundle, Call};
use crate::ids::{AttributeListId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::Operand;
use crate::write::fixed_names;
use alloc::vec::Vec;

/// The bit of a call that must be a tail call.
const MUST_TAIL: u8 = 2;

/// Callees without a type of their own.
const PLAIN_CALLEES: [&[u8]; 4] = [b"undef", b"null", b"poison", b"zeroinitializer"];

/// A call before its instruction is added.
struct WrittenCall<'t> {
    /// The first token of the callee.
    callee: Token<'t>,
    function_type: TypeId,
    result: TypeId,
    convention: u32,
    attributes: AttributeListId,
    bundles: Slice,
    /// The callee, then the arguments.
    operands: Vec<Operand>,
}

/// Lists of the last call, whose memory the next one uses again.
#[derive(Default)]
pub(super) struct CallBuffers {
    operands: Vec<Operand>,
    types: Vec<TypeId>,
    list: WrittenList,
}

impl<'t> Parser<'t> {
    pub(super) fn call(&mut self) -> Parsed<Instruction> {
        let tail = match self.eat_one_of(&["tail", "musttail", "notail"]) {
            Some(at) => 1u8 << at,
            None => 0,
        };
        self.expect_word("call")?;
        let at = self.at;
        let flags = self.fast_math();
        let call = self.written_call(tail)?;
        if let Token::Global(name) = call.callee {
            self.note_debug_intrinsic(&name.bytes(), at)?;
        }
        let detail = self.add_call(&call, tail)?;
        let start = self.state()?.body.operands.len();
        for &operand in &call.operands {
            self.push_operand(operand)?;
        }
        let parts = Instruction { flags, detail, ..Instruction::new(Opcode::Call, call.result) };
        self.call_buffers.operands = call.operands;
        self.add_instruction(parts, start)?;
        Ok(parts)
    }

    /// Parses `invoke` and `callbr` after the mnemonic.
    pub(super) fn invoke(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        let call = self.written_call(0)?;
        let detail = self.add_call(&call, 0)?;
        let start = self.state()?.body.operands.len();
        for &operand in &call.operands {
            self.push_operand(operand)?;
        }
        self.expect_word("to")?;
        let label = self.label_operand()?;
        self.push_operand(label)?;
        let mut extra = 0;
        if opcode == Opcode::Invoke {
            self.expect_word("unwind")?;
            let label = self.label_operand()?;
            self.push_operand(label)?;
        } else {
            self.expect(b'[')?;
            self.list(b']', |parser| {
                extra += 1;
                let label = parser.label_operand()?;
                parser.push_operand(label)
            })?;
        }
        let parts = Instruction { detail, extra, ..Instruction::new(opcode, call.result) };
        self.add_instruction(parts, start)?;
        Ok(parts)
    }

    fn add_call(&mut self, call: &WrittenCall<'_>, tail: u8) -> Parsed<u32> {
        let &WrittenCall { function_type, convention, attributes, bundles, .. } = call;
        let body = &mut self.state()?.body;
        let detail = narrow(body.calls.len() as u64);
        body.calls.push(Call { attributes, function_type, convention, tail, bundles });
        Ok(detail)
    }

    /// Parses a call from the calling convention to the operand bundles.
    fn written_call(&mut self, tail: u8) -> Parsed<WrittenCall<'t>> {
        let CallBuffers { mut operands, mut types, mut list } = core::mem::take(&mut self.call_buffers);
        list.clear();
        let convention = self.calling_convention()?;
        if let Some(set) = self.value_attributes(Place::Result)? {
            list.sets.push((index::RESULT, set));
        }
        let address_space = self.program_address_space()?;
        let at = self.at;
        let written = self.any_type()?;
        let (callee, callee_token) = (self.bookmark(), self.token);
        let expression = self.skip_callee()?;
        operands.clear();
        types.clear();
        operands.push(Operand::value(ValueId::NONE));
        self.arguments(tail, &mut list, &mut operands, &mut types)?;
        self.function_attributes(&mut list)?;
        let function_type = match self.module.types.get(written) {
            Type::Function { .. } => written,
            _ => self.module.types.intern_function(written, &types, false),
        };
        self.check_arguments(function_type, &types, at)?;
        let value = match expression {
            Some((_, ty)) if !self.is_callee_type(ty, function_type) => {
                return self.fault_at(at, "callee does not fit the type of the call");
            }
            Some((value, _)) => value,
            // Inline assembly is in the first address space, whatever that of functions is.
            None if matches!(callee_token, Token::Word(b"asm")) => {
                self.callee_at(callee, function_type, 0)?
            }
            None => self.callee_at(callee, function_type, address_space)?,
        };
        if let Some(callee) = operands.first_mut() {
            *callee = Operand::value(value);
        }
        let bundles = self.bundles()?;
        let attributes = self.written_list(&list);
        let result = match self.module.types.get(function_type) {
            Type::Function { result, .. } => result,
            _ => written,
        };
        self.call_buffers = CallBuffers { operands: Vec::new(), types, list };
        Ok(WrittenCall {
            callee: callee_token,
            function_type,
            result,
            convention,
            attributes,
            bundles,
            operands,
        })
    }

    /// Parses the arguments of a call and their types.
    fn arguments(
        &mut self,
        tail: u8,
        list: &mut WrittenList,
        operands: &mut Vec<Operand>,
        types: &mut Vec<TypeId>,
    ) -> Parsed<()> {
        let mut ellipsis = None;
        self.expect(b'(')?;
        self.list(b')', |parser| {
            // A call that must be a tail call passes on further arguments.
            if parser.token == Token::Dots {
                ellipsis = Some(parser.at);
                parser.advance();
                return Ok(());
            }
            if ellipsis.is_some() {
                return parser.fault("unexpected argument after '...'");
            }
            let (argument, ty) = parser.argument(list, types.len())?;
            operands.push(argument);
            types.push(ty);
            Ok(())
        })?;
        self.check_ellipsis(tail, ellipsis)
    }

    fn is_callee_type(&self, ty: TypeId, function_type: TypeId) -> bool {
        let types = &self.module.types;
        types.is_pointer(ty) && types.pointee(ty).is_none_or(|pointee| pointee == function_type)
    }

    /// Parses a callee that was skipped, as a pointer to a function of this type.
    fn callee_at(&mut self, callee: Bookmark<'t>, function_type: TypeId, space: u32) -> Parsed<ValueId> {
        let ty = self.pointer_to(function_type, space);
        let after = self.bookmark();
        self.go_to(callee);
        self.state()?.called_type = function_type;
        let value = self.value(ty)?;
        self.state()?.called_type = TypeId::NONE;
        self.go_to(after);
        Ok(value)
    }

    /// Checks that a call passes on further arguments only if it can, and if it must.
    fn check_ellipsis(&self, tail: u8, ellipsis: Option<usize>) -> Parsed<()> {
        let function =
            self.function.as_ref().and_then(|f| self.module.functions.get(f.body.function as usize));
        let ty = function.map_or(TypeId::NONE, |function| function.symbol.ty);
        let variadic = matches!(self.module.types.get(ty), Type::Function { variadic: true, .. });
        let must = tail & MUST_TAIL != 0;
        match ellipsis {
            Some(at) if !must => {
                self.fault_at(at, "unexpected ellipsis in argument list for non-musttail call")
            }
            Some(at) if !variadic => self.fault_at(
                at,
                "unexpected ellipsis in argument list for musttail call in non-varargs function",
            ),
            None if must && variadic => {
                self.fault("expected '...' at end of argument list for musttail call in varargs function")
            }
            _ => Ok(()),
        }
    }

    /// Skips a callee; one that is a constant expression is parsed, because it has its type with it.
    fn skip_callee(&mut self) -> Parsed<Option<(ValueId, TypeId)>> {
        let token = self.token;
        match token {
            Token::Word(b"asm") => {
                while !self.is(b'(') && self.token != Token::End {
                    self.advance();
                }
                Ok(None)
            }
            Token::Word(b"dso_local_equivalent" | b"no_cfi") => {
                self.advance();
                self.advance();
                Ok(None)
            }
            // A pointer to a block has no type of its own to LLVM 19.
            Token::Word(b"blockaddress") if self.version == Version::Llvm19 => {
                while !self.is(b')') && self.token != Token::End {
                    self.advance();
                }
                self.advance();
                Ok(None)
            }
            Token::Word(word) if PLAIN_CALLEES.contains(&word) || self.peek() != Token::Punctuation(b'(') => {
                self.advance();
                Ok(None)
            }
            Token::Word(_) => {
                let parsed = self.untyped_expression()?;
                Ok(Some(parsed))
            }
            _ => {
                self.advance();
                Ok(None)
            }
        }
    }

    /// Parses an argument of a call.
    fn argument(&mut self, list: &mut WrittenList, at: usize) -> Parsed<(Operand, TypeId)> {
        let ty = self.ty()?;
        if matches!(self.module.types.get(ty), Type::Metadata) {
            return Ok((self.metadata_operand()?, ty));
        }
        if let Some(set) = self.value_attributes(Place::Parameter)? {
            list.sets.push((index::parameter(at), set));
        }
        Ok((Operand::value(self.value(ty)?), ty))
    }

    fn check_arguments(&self, function_type: TypeId, types: &[TypeId], at: usize) -> Parsed<()> {
        let Type::Function { parameters, variadic, .. } = self.module.types.get(function_type) else {
            return self.fault_at(at, "call of something that is not a function");
        };
        let parameters = self.module.types.elements(parameters);
        let enough = if variadic { types.len() >= parameters.len() } else { types.len() == parameters.len() };
        if !enough {
            return self.fault_at(at, "number of arguments does not fit the function");
        }
        if parameters.iter().zip(types).any(|(parameter, ty)| parameter != ty) {
            return self.fault_at(at, "type of an argument does not fit the function");
        }
        Ok(())
    }

    /// Parses `[ "tag"(type value, …), … ]`, if there are bundles.
    fn bundles(&mut self) -> Parsed<Slice> {
        if !self.eat(b'[') {
            return Ok(Slice::default());
        }
        let mut bundles = Vec::new();
        self.list(b']', |parser| {
            let tag = parser.string()?;
            let tag = parser.bundle_tag(tag);
            let start = parser.state()?.body.operands.len();
            parser.expect(b'(')?;
            parser.list(b')', |parser| parser.typed_operand().map(drop))?;
            let count = narrow((parser.state()?.body.operands.len() - start) as u64);
            bundles.push(Bundle { tag, operands: Slice { start: narrow(start as u64), count } });
            Ok(())
        })?;
        let body = &mut self.state()?.body;
        Ok(Slice::extend(&mut body.bundles, bundles))
    }

    /// Returns the number of a bundle tag.
    fn bundle_tag(&mut self, tag: Vec<u8>) -> u32 {
        self.add_bundle_tags();
        let tags = &mut self.module.bundle_tags;
        let known = tags.iter().position(|known| **known == *tag);
        narrow(known.unwrap_or_else(|| {
            tags.push(tag.into());
            tags.len() - 1
        }) as u64)
    }

    /// Adds the tags that every module has.
    pub(super) fn add_bundle_tags(&mut self) {
        if self.module.bundle_tags.is_empty() {
            let tags = fixed_names::tags(self.version).iter();
            self.module.bundle_tags = tags.map(|tag| tag.as_bytes().into()).collect();
        }
    }

    pub(super) fn landing_pad(&mut self) -> Parsed<Instruction> {
        let ty = self.ty()?;
        let cleanup = u32::from(self.eat_word("cleanup"));
        let mut kinds = Vec::new();
        while let Some(kind) = self.eat_one_of(&["catch", "filter"]) {
            kinds.push(narrow(kind as u64));
            self.typed_operand()?;
        }
        let body = &mut self.state()?.body;
        let slice = Slice::extend(&mut body.indices, kinds);
        Ok(Instruction { detail: slice.start, extra: cleanup, ..Instruction::new(Opcode::LandingPad, ty) })
    }

    pub(super) fn catch_switch(&mut self) -> Parsed<Instruction> {
        self.expect_word("within")?;
        let token = self.module.types.intern(Type::Token);
        self.operand(token)?;
        self.expect(b'[')?;
        self.list(b']', |parser| {
            let label = parser.label_operand()?;
            parser.push_operand(label)
        })?;
        self.expect_word("unwind")?;
        let detail = u32::from(!self.unwinds_to_caller()?);
        Ok(Instruction { detail, ..Instruction::new(Opcode::CatchSwitch, token) })
    }

    /// Parses `to caller`, or a label as an operand.
    fn unwinds_to_caller(&mut self) -> Parsed<bool> {
        if self.eat_word("to") {
            self.expect_word("caller")?;
            return Ok(true);
        }
        let label = self.label_operand()?;
        self.push_operand(label)?;
        Ok(false)
    }

    pub(super) fn pad(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        self.expect_word("within")?;
        let token = self.module.types.intern(Type::Token);
        self.operand(token)?;
        self.expect(b'[')?;
        self.list(b']', |parser| {
            let ty = parser.ty()?;
            if matches!(parser.module.types.get(ty), Type::Metadata) {
                let operand = parser.metadata_operand()?;
                return parser.push_operand(operand);
            }
            parser.operand(ty).map(drop)
        })?;
        Ok(Instruction::new(opcode, token))
    }

    pub(super) fn pad_return(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        self.expect_word("from")?;
        let token = self.module.types.intern(Type::Token);
        self.operand(token)?;
        if opcode == Opcode::CatchRet {
            self.expect_word("to")?;
            let label = self.label_operand()?;
            self.push_operand(label)?;
        } else {
            self.expect_word("unwind")?;
            self.unwinds_to_caller()?;
        }
        let void = self.void();
        Ok(Instruction::new(opcode, void))
    }
}
