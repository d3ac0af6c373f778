//! Parses instructions: what they have in common, and arithmetic, comparisons, vectors, aggregates and branches.

use super::Version;
use super::error::Parsed;
use super::lexer::Token;
use super::parser::Parser;
use crate::ids::{Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::print::FAST_MATH;
use crate::rules;
use crate::types::Type;
use crate::value::Operand;
use alloc::vec::Vec;

/// All fast-math flags, and those of LLVM 3.7, of which the lowest stands for all.
const FAST: u16 = 0b1111_1110;
const OLD_FAST: u16 = 0b1_1111;

impl Parser<'_> {
    /// Parses an instruction with its attachments. Returns whether it ends its block.
    pub(super) fn instruction(&mut self) -> Parsed<bool> {
        if matches!(self.token, Token::DebugRecord(_)) {
            return self.debug_record().map(|()| false);
        }
        let (mut written, at) = (Token::End, self.at);
        if matches!(self.token, Token::Local(_) | Token::LocalNumber(_)) {
            written = self.token;
            self.advance();
            self.expect(b'=')?;
        }
        let opcode = self.opcode()?;
        let parts = self.operation(opcode)?;
        self.note_instruction(at)?;
        self.define_result(written, at)?;
        self.instruction_attachments()?;
        let ends = parts.opcode.is_terminator();
        if ends {
            self.end_block()?;
        }
        Ok(ends)
    }

    fn opcode(&mut self) -> Parsed<Opcode> {
        let Token::Word(word) = self.token else { return self.fault("expected an instruction") };
        let name = match word {
            b"tail" | b"musttail" | b"notail" => b"call",
            word => word,
        };
        match self.keywords.opcodes.get(name) {
            Some(Opcode::PtrAuth | Opcode::PtrToAddr) | None => self.fault("unknown instruction"),
            Some(opcode) => Ok(opcode),
        }
    }

    /// Parses an operation from its mnemonic on, and adds the instruction.
    fn operation(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        if opcode == Opcode::Call {
            return self.call();
        }
        self.advance();
        let start = self.state()?.body.operands.len();
        let parts = match opcode {
            Opcode::Ret => self.ret()?,
            Opcode::Br => self.branch()?,
            Opcode::Switch => self.switch()?,
            Opcode::IndirectBr => self.indirect_branch()?,
            Opcode::Unreachable => Instruction::new(opcode, self.void()),
            Opcode::Resume => self.one_operand(opcode)?,
            Opcode::Invoke | Opcode::CallBr => return self.invoke(opcode),
            Opcode::CleanupRet | Opcode::CatchRet => self.pad_return(opcode)?,
            Opcode::CatchSwitch => self.catch_switch()?,
            Opcode::CatchPad | Opcode::CleanupPad => self.pad(opcode)?,
            Opcode::LandingPad => self.landing_pad()?,
            Opcode::Phi => self.phi()?,
            Opcode::ICmp | Opcode::FCmp => self.compare(opcode)?,
            Opcode::Select => self.select()?,
            Opcode::VaArg => self.va_arg()?,
            Opcode::Freeze | Opcode::FNeg => self.unary(opcode)?,
            Opcode::ExtractElement | Opcode::InsertElement | Opcode::ShuffleVector => self.vector(opcode)?,
            Opcode::ExtractValue | Opcode::InsertValue => self.aggregate_value(opcode)?,
            Opcode::Alloca => self.alloca()?,
            Opcode::Load => self.load()?,
            Opcode::Store => self.store()?,
            Opcode::GetElementPtr => self.element_pointer()?,
            Opcode::Fence => self.fence()?,
            Opcode::CmpXchg => self.compare_exchange()?,
            Opcode::AtomicRmw => self.atomic_operation()?,
            _ if opcode.is_cast() => self.cast(opcode)?,
            _ => self.binary(opcode)?,
        };
        self.add_instruction(parts, start)?;
        Ok(parts)
    }

    /// Adds an instruction whose operands are those from `start` on.
    pub(super) fn add_instruction(&mut self, parts: Instruction, start: usize) -> Parsed<()> {
        let body = &mut self.state()?.body;
        let count = narrow(body.operands.len().saturating_sub(start) as u64);
        let operands = Slice { start: narrow(start as u64), count };
        body.instructions.push(Instruction { operands, ..parts });
        Ok(())
    }

    pub(super) fn void(&mut self) -> TypeId {
        self.module.types.intern(Type::Void)
    }

    /// Parses a type and a value of it, as an operand.
    pub(super) fn typed_operand(&mut self) -> Parsed<(ValueId, TypeId)> {
        let ty = self.ty()?;
        let value = self.operand(ty)?;
        Ok((value, ty))
    }

    /// Parses a value as an operand.
    pub(super) fn operand(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let value = self.value(ty)?;
        self.push_operand(Operand::value(value))?;
        Ok(value)
    }

    /// Parses `label %name` as an operand.
    fn block_operand(&mut self) -> Parsed<()> {
        let label = self.label_operand()?;
        self.push_operand(label)
    }

    /// Parses the flags of an operation.
    pub(super) fn operation_flags(&mut self, opcode: Opcode) -> u16 {
        let words: &[(&str, u16)] = match opcode {
            Opcode::Or => &[("disjoint", 1)],
            Opcode::ZExt | Opcode::UiToFp => &[("nneg", 1)],
            Opcode::Trunc => &[("nuw", 1), ("nsw", 2)],
            opcode if opcode.may_wrap() => &[("nuw", 1), ("nsw", 2)],
            opcode if opcode.may_be_exact() => &[("exact", 1)],
            opcode if opcode.is_float_operation() => return self.fast_math(),
            _ => &[],
        };
        let mut flags = 0;
        while let Some(&(word, bit)) = words.iter().find(|(word, _)| self.is_word(word)) {
            let _ = self.eat_word(word);
            flags |= bit;
        }
        flags
    }

    /// Parses fast-math flags.
    pub(super) fn fast_math(&mut self) -> u16 {
        let mut flags = 0;
        loop {
            if self.eat_word("fast") {
                flags |= if self.version == Version::Dxc { OLD_FAST } else { FAST };
                continue;
            }
            let Token::Word(written) = self.token else { return flags };
            match FAST_MATH.iter().find(|(_, word)| word.as_bytes().get(1..) == Some(written)) {
                Some(&(bit, _)) if self.version == Version::Dxc && bit > u32::from(OLD_FAST) => return flags,
                Some(&(bit, _)) => flags |= (bit & 0xFFFF) as u16,
                None => return flags,
            }
            self.advance();
        }
    }

    fn ret(&mut self) -> Parsed<Instruction> {
        let parts = Instruction::new(Opcode::Ret, self.void());
        let ty = self.any_type()?;
        if !matches!(self.module.types.get(ty), Type::Void) {
            self.operand(ty)?;
        }
        Ok(parts)
    }

    fn branch(&mut self) -> Parsed<Instruction> {
        let parts = Instruction::new(Opcode::Br, self.void());
        if self.is_word("label") {
            self.block_operand()?;
            return Ok(parts);
        }
        self.typed_operand()?;
        self.expect(b',')?;
        self.block_operand()?;
        self.expect(b',')?;
        self.block_operand()?;
        Ok(parts)
    }

    fn switch(&mut self) -> Parsed<Instruction> {
        let parts = Instruction::new(Opcode::Switch, self.void());
        let (_, ty) = self.typed_operand()?;
        self.expect(b',')?;
        self.block_operand()?;
        self.expect(b'[')?;
        while !self.eat(b']') {
            let at = self.at;
            let (_, case) = self.typed_operand()?;
            if case != ty {
                return self.fault_at(at, "the type of a case differs from that of the condition");
            }
            self.expect(b',')?;
            self.block_operand()?;
        }
        Ok(parts)
    }

    fn indirect_branch(&mut self) -> Parsed<Instruction> {
        let parts = Instruction::new(Opcode::IndirectBr, self.void());
        self.typed_operand()?;
        self.expect(b',')?;
        self.expect(b'[')?;
        self.list(b']', Self::block_operand)?;
        Ok(parts)
    }

    pub(super) fn one_operand(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        self.typed_operand()?;
        Ok(Instruction::new(opcode, self.void()))
    }

    fn phi(&mut self) -> Parsed<Instruction> {
        let flags = self.fast_math();
        let ty = self.ty()?;
        // A block without predecessors has a phi of nothing.
        while self.is(b'[') || self.version.has_typed_pointers() {
            self.expect(b'[')?;
            self.operand(ty)?;
            self.expect(b',')?;
            let label = self.label()?;
            self.push_operand(label)?;
            self.expect(b']')?;
            // Attachments follow a comma too.
            if !self.is(b',') || self.peek() != Token::Punctuation(b'[') {
                break;
            }
            self.advance();
        }
        Ok(Instruction { flags, ..Instruction::new(Opcode::Phi, ty) })
    }

    fn compare(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        let flags = match opcode {
            Opcode::FCmp => self.fast_math(),
            _ => u16::from(self.eat_word("samesign")),
        };
        let detail = self.predicate(opcode)?;
        let (_, ty) = self.typed_operand()?;
        self.expect(b',')?;
        self.operand(ty)?;
        let result = rules::truth_type(&mut self.module.types, ty);
        Ok(Instruction { flags, detail, ..Instruction::new(opcode, result) })
    }

    fn select(&mut self) -> Parsed<Instruction> {
        let flags = self.fast_math();
        self.typed_operand()?;
        self.expect(b',')?;
        let (_, ty) = self.typed_operand()?;
        self.expect(b',')?;
        let at = self.at;
        let (_, otherwise) = self.typed_operand()?;
        if otherwise != ty {
            return self.fault_at(at, "values of select differ in type");
        }
        Ok(Instruction { flags, ..Instruction::new(Opcode::Select, ty) })
    }

    fn va_arg(&mut self) -> Parsed<Instruction> {
        self.typed_operand()?;
        self.expect(b',')?;
        let ty = self.ty()?;
        Ok(Instruction::new(Opcode::VaArg, ty))
    }

    fn unary(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        let flags = self.operation_flags(opcode);
        let (_, ty) = self.typed_operand()?;
        Ok(Instruction { flags, ..Instruction::new(opcode, ty) })
    }

    fn binary(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        let flags = self.operation_flags(opcode);
        let at = self.at;
        let (left, ty) = self.typed_operand()?;
        self.expect(b',')?;
        let right = self.operand(ty)?;
        if self.result_type(opcode, &[left, right]).is_none() {
            return self.fault_at(at, alloc::format!("invalid operand type for {}", opcode.mnemonic()));
        }
        Ok(Instruction { flags, ..Instruction::new(opcode, ty) })
    }

    fn cast(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        let flags = self.operation_flags(opcode);
        let at = self.at;
        let (_, from) = self.typed_operand()?;
        self.expect_word("to")?;
        let ty = self.ty()?;
        self.check_cast(opcode, from, ty, at)?;
        Ok(Instruction { flags, ..Instruction::new(opcode, ty) })
    }

    fn vector(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        let at = self.at;
        let mut operands = Vec::new();
        let count = if opcode == Opcode::ExtractElement { 2 } else { 3 };
        for number in 0..count {
            if number > 0 {
                self.expect(b',')?;
            }
            if opcode == Opcode::ShuffleVector && number == 2 {
                let mask = self.typed_constant()?;
                let mask = self.shuffle_mask(mask);
                self.push_operand(Operand::value(mask))?;
                operands.push(mask);
                continue;
            }
            operands.push(self.typed_operand()?.0);
        }
        match self.result_type(opcode, &operands) {
            Some(ty) => Ok(Instruction::new(opcode, ty)),
            None => self.fault_at(at, alloc::format!("invalid operands of {}", opcode.mnemonic())),
        }
    }

    fn aggregate_value(&mut self, opcode: Opcode) -> Parsed<Instruction> {
        let start = self.at;
        let (_, aggregate) = self.typed_operand()?;
        if !matches!(self.module.types.get(aggregate), Type::Struct(_) | Type::Array { .. }) {
            return self
                .fault_at(start, alloc::format!("{} operand must be aggregate type", opcode.mnemonic()));
        }
        let inserted_at = self.at;
        let mut inserted = None;
        if opcode == Opcode::InsertValue {
            self.expect(b',')?;
            inserted = Some(self.typed_operand()?.1);
        }
        let (mut selected, mut indices) = (aggregate, Vec::new());
        while self.is(b',') && matches!(self.peek(), Token::Integer(_)) {
            self.advance();
            let index = self.u32()?;
            selected = match rules::selected(&self.module.types, selected, index) {
                Some(ty) => ty,
                None => {
                    return self.fault_at(start, alloc::format!("invalid indices for {}", opcode.mnemonic()));
                }
            };
            indices.push(index);
        }
        if indices.is_empty() {
            return self.fault("expected the index of an element");
        }
        if let Some(ty) = inserted.filter(|&ty| ty != selected) {
            let (ty, field) = (self.shown_type(ty), self.shown_type(selected));
            let message =
                alloc::format!("insertvalue operand and field disagree in type: '{ty}' instead of '{field}'");
            return self.fault_at(inserted_at, message);
        }
        let ty = if opcode == Opcode::InsertValue { aggregate } else { selected };
        let body = &mut self.state()?.body;
        let slice = Slice::extend(&mut body.indices, indices);
        Ok(Instruction { detail: slice.start, extra: slice.count, ..Instruction::new(opcode, ty) })
    }

    fn element_pointer(&mut self) -> Parsed<Instruction> {
        let mut flags = 0;
        while let Some(at) = self.eat_one_of(&["inbounds", "nusw", "nuw"]) {
            flags |= match at {
                // `inbounds` implies `nusw`, from LLVM 19 on.
                0 if self.version.has_typed_pointers() => 1,
                0 => 3,
                1 => 2,
                _ => 4,
            };
        }
        let at = self.at;
        let source = self.ty()?;
        let mut operands = Vec::new();
        while self.is(b',') && !matches!(self.peek(), Token::Metadata(_)) {
            self.advance();
            operands.push(self.typed_operand()?.0);
        }
        match self.element_pointer_type(source, &operands) {
            Some(ty) => {
                Ok(Instruction { flags, detail: source.0, ..Instruction::new(Opcode::GetElementPtr, ty) })
            }
            None => self.fault_at(at, "invalid operands of getelementptr"),
        }
    }
}
