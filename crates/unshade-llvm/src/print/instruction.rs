//! Prints instructions.

use super::text::push_escaped;
use super::{Dialect, Printer};
use crate::attributes::index;
use crate::body::{Call, FunctionBody};
use crate::ids::{AttributeListId, BlockId, TypeId, ValueId};
use crate::instruction::{ATOMIC_OPERATIONS, Instruction, Memory, ORDERINGS, Opcode, predicate};
use crate::types::Type;
use crate::value::{Operand, OperandKind, ValueKind};
use unshade_core::{TokenKind, TokenSink};

/// The system-wide synchronisation scope, which is not written.
const SYSTEM_SCOPE: u32 = 1;

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Writes an instruction, without its attachments.
    pub(super) fn instruction(&mut self, body: &FunctionBody, instruction: &Instruction) {
        if instruction.result.is_some() {
            self.definition(body, instruction.result);
            self.punctuation(" = ");
        }
        let operands = body.operands_of(instruction);
        match instruction.opcode {
            Opcode::GetElementPtr => self.element_pointer(body, instruction, operands),
            Opcode::Load => self.load(body, instruction, operands),
            Opcode::Store => self.store(body, instruction, operands),
            Opcode::Call => self.call(body, instruction, operands),
            Opcode::Br => self.branch(body, operands),
            Opcode::Phi => self.phi(body, instruction, operands),
            Opcode::ICmp | Opcode::FCmp => self.compare(body, instruction, operands),
            opcode if opcode.is_cast() => self.cast(body, instruction, operands),
            Opcode::Switch => self.switch(body, operands),
            Opcode::IndirectBr => self.indirect_branch(body, operands),
            Opcode::Invoke | Opcode::CallBr => self.invoke(body, instruction, operands),
            Opcode::Ret if operands.is_empty() => self.keyword("ret void"),
            Opcode::Alloca => self.alloca(body, instruction, operands),
            Opcode::ExtractValue | Opcode::InsertValue => self.aggregate_value(body, instruction, operands),
            Opcode::ShuffleVector => self.shuffle(body, operands),
            Opcode::CmpXchg | Opcode::AtomicRmw | Opcode::Fence => self.atomic(body, instruction, operands),
            Opcode::LandingPad => self.landing_pad(body, instruction, operands),
            Opcode::VaArg => {
                self.keyword("va_arg ");
                self.typed_list(body, operands);
                self.punctuation(", ");
                self.ty(instruction.ty);
            }
            Opcode::CatchSwitch => self.catch_switch(body, instruction, operands),
            Opcode::CatchPad | Opcode::CleanupPad => self.pad(body, instruction.opcode, operands),
            Opcode::CatchRet | Opcode::CleanupRet => self.pad_return(body, instruction.opcode, operands),
            _ => self.plain(body, instruction, operands),
        }
    }

    #[inline]
    fn operand(&mut self, body: &FunctionBody, operand: Operand) {
        match operand.kind() {
            OperandKind::Value(id) => self.value(Some(body), id),
            OperandKind::Block(id) => self.block(id),
            OperandKind::Metadata(id) => self.metadata(body.function, id),
        }
    }

    #[inline]
    fn typed_operand(&mut self, body: &FunctionBody, operand: Operand) {
        match operand.kind() {
            OperandKind::Value(id) => self.typed_value(Some(body), id),
            OperandKind::Block(id) => self.label(id),
            OperandKind::Metadata(id) => {
                self.out(TokenKind::Type, "metadata ");
                self.metadata(body.function, id);
            }
        }
    }

    fn label(&mut self, id: BlockId) {
        self.out(TokenKind::Type, "label ");
        self.block(id);
    }

    /// Writes operands with types, separated by commas.
    fn typed_list(&mut self, body: &FunctionBody, operands: &[Operand]) {
        for (at, &operand) in operands.iter().enumerate() {
            if at > 0 {
                self.punctuation(", ");
            }
            self.typed_operand(body, operand);
        }
    }

    #[inline]
    fn operand_type(&self, body: &FunctionBody, operand: Operand) -> TypeId {
        let id = operand.as_value().unwrap_or(ValueId::NONE);
        self.module.value(Some(body), id).map_or(TypeId::NONE, |value| value.ty)
    }

    /// Returns whether two types have the same text.
    #[inline]
    fn same_type(&self, a: TypeId, b: TypeId) -> bool {
        a == b || (self.rules.opaque_pointers && self.types.get(a) == self.types.get(b))
    }

    /// Writes an instruction without special syntax. If all operands have the same type, it is written once.
    fn plain(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        let opcode = instruction.opcode;
        let Some((&first, rest)) = operands.split_first() else { return self.keyword(opcode.mnemonic()) };
        let flags = u32::from(instruction.flags);
        if flags == 0 {
            self.keyword(opcode.mnemonic_and_space());
        } else {
            self.keyword(opcode.mnemonic());
            if self.has_fast_math(instruction) {
                self.fast_math(flags);
            } else {
                self.operation_flags(opcode, flags);
            }
            self.punctuation(" ");
        }
        let ty = self.operand_type(body, first);
        let all = matches!(opcode, Opcode::Select | Opcode::Ret)
            || rest.iter().any(|&operand| !self.same_type(self.operand_type(body, operand), ty));
        if all {
            return self.typed_list(body, operands);
        }
        self.spaced_type(ty);
        self.operand(body, first);
        for &operand in rest {
            self.punctuation(", ");
            self.operand(body, operand);
        }
    }

    /// Returns whether the flags of an instruction are fast-math flags.
    fn has_fast_math(&self, instruction: &Instruction) -> bool {
        if instruction.opcode.is_float_operation() {
            return true;
        }
        matches!(instruction.opcode, Opcode::Select | Opcode::Phi | Opcode::Call)
            && self.is_float_or_array(instruction.ty)
    }

    /// Returns whether a type is floating-point, an array of such types, or since LLVM 20 a literal struct whose fields
    /// are one of them.
    fn is_float_or_array(&self, mut ty: TypeId) -> bool {
        if let Type::Struct(structure) = self.module.types.get(ty)
            && structure.literal
            && self.rules.dialect == Dialect::Llvm22
            && let Some((&first, rest)) = self.module.types.elements(structure.fields).split_first()
            && rest.iter().all(|&field| field == first)
        {
            ty = first;
        }
        for _ in 0..64 {
            match self.module.types.get(ty) {
                Type::Array { element, .. } => ty = element,
                _ => break,
            }
        }
        self.module.types.is_float(ty)
    }

    fn compare(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        self.keyword(instruction.opcode.mnemonic());
        if instruction.opcode == Opcode::FCmp {
            self.fast_math(u32::from(instruction.flags));
        } else {
            self.operation_flags(Opcode::ICmp, u32::from(instruction.flags));
        }
        self.punctuation(" ");
        self.keyword(predicate(instruction.detail).unwrap_or("unknown"));
        let &[left, right] = operands else { return };
        self.punctuation(" ");
        self.typed_operand(body, left);
        self.punctuation(", ");
        self.operand(body, right);
    }

    fn cast(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        if instruction.flags == 0 {
            self.keyword(instruction.opcode.mnemonic_and_space());
        } else {
            self.keyword(instruction.opcode.mnemonic());
            self.operation_flags(instruction.opcode, u32::from(instruction.flags));
            self.punctuation(" ");
        }
        self.typed_list(body, operands);
        self.keyword(" to ");
        self.ty(instruction.ty);
    }

    fn element_pointer(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        if instruction.flags == 1 {
            self.keyword("getelementptr inbounds ");
        } else {
            self.keyword("getelementptr");
            self.operation_flags(Opcode::GetElementPtr, u32::from(instruction.flags));
            self.punctuation(" ");
        }
        self.ty(TypeId(instruction.detail));
        self.punctuation(", ");
        self.typed_list(body, operands);
    }

    fn load(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        let memory = instruction.memory();
        self.keyword("load ");
        if memory.ordering() != 0 {
            self.keyword("atomic ");
        }
        if instruction.flags & 1 != 0 {
            self.keyword("volatile ");
        }
        self.ty(instruction.ty);
        self.punctuation(", ");
        self.typed_list(body, operands);
        self.ordering(instruction);
        self.alignment(memory, instruction.ty);
    }

    fn store(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        let memory = instruction.memory();
        self.keyword("store ");
        if memory.ordering() != 0 {
            self.keyword("atomic ");
        }
        if instruction.flags & 1 != 0 {
            self.keyword("volatile ");
        }
        self.typed_list(body, operands);
        self.ordering(instruction);
        let ty = operands.first().map_or(TypeId::NONE, |&value| self.operand_type(body, value));
        self.alignment(memory, ty);
    }

    /// Writes the alignment of an access, which follows from the type if the file has none.
    fn alignment(&mut self, memory: Memory, ty: TypeId) {
        let bytes = match memory.alignment() {
            Some(exponent) => 1u64.checked_shl(exponent).unwrap_or(0),
            None if self.rules.explicit_alignment => self.layout.required_alignment(&self.module.types, ty),
            None => return,
        };
        self.align(bytes);
    }

    fn align(&mut self, bytes: u64) {
        const USUAL: [&str; 6] =
            [", align 1", ", align 2", ", align 4", ", align 8", ", align 16", ", align 32"];
        match USUAL.get(bytes.trailing_zeros() as usize).filter(|_| bytes.is_power_of_two()) {
            Some(usual) => self.keyword(usual),
            None => {
                self.keyword(", align ");
                self.number(bytes);
            }
        }
    }

    /// Writes the scope and ordering of an atomic access.
    fn ordering(&mut self, instruction: &Instruction) {
        let memory = instruction.memory();
        if memory.ordering() != 0 {
            self.scope(instruction.detail);
            self.punctuation(" ");
            self.keyword(ORDERINGS.get(memory.ordering() as usize).copied().unwrap_or(""));
        }
    }

    fn scope(&mut self, scope: u32) {
        if scope == SYSTEM_SCOPE {
            return;
        }
        if self.rules.dialect == Dialect::Dxc {
            return self.keyword(" singlethread");
        }
        let names = &self.module.sync_scopes;
        let name: &[u8] = match names.get(scope as usize) {
            Some(name) if name.is_empty() => return,
            Some(name) => name,
            None if scope == 0 => b"singlethread",
            // Unknown scopes are treated as system-wide.
            None => return,
        };
        self.built(TokenKind::Attribute, |text| {
            text.push_str(" syncscope(\"");
            push_escaped(text, name);
            text.push_str("\")");
        });
    }

    fn atomic(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        let memory = instruction.memory();
        self.keyword(instruction.opcode.mnemonic());
        match instruction.opcode {
            Opcode::Fence => {
                self.ordering(instruction);
                return;
            }
            Opcode::CmpXchg if instruction.flags & 2 != 0 => self.keyword(" weak"),
            _ => {}
        }
        if instruction.flags & 1 != 0 {
            self.keyword(" volatile");
        }
        if instruction.opcode == Opcode::AtomicRmw {
            let operation = usize::from(instruction.flags >> 8);
            self.punctuation(" ");
            self.keyword(ATOMIC_OPERATIONS.get(operation).copied().unwrap_or("<unknown operation>"));
        }
        self.punctuation(" ");
        self.typed_list(body, operands);
        self.ordering(instruction);
        if instruction.opcode == Opcode::CmpXchg {
            self.punctuation(" ");
            self.keyword(ORDERINGS.get(memory.failure() as usize).copied().unwrap_or(""));
        }
        if self.rules.explicit_alignment {
            let ty = operands.get(1).map_or(TypeId::NONE, |&value| self.operand_type(body, value));
            let bytes = match memory.alignment() {
                Some(exponent) => 1u64.checked_shl(exponent).unwrap_or(0),
                None => self.layout.store_size(&self.module.types, ty),
            };
            self.align(bytes);
        }
    }

    fn branch(&mut self, body: &FunctionBody, operands: &[Operand]) {
        self.keyword("br ");
        self.typed_list(body, operands);
    }

    fn phi(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        self.keyword("phi");
        if instruction.flags != 0 && self.has_fast_math(instruction) {
            self.fast_math(u32::from(instruction.flags));
        }
        self.punctuation(" ");
        self.spaced_type(instruction.ty);
        for (at, pair) in operands.chunks_exact(2).enumerate() {
            let &[value, block] = pair else { continue };
            self.punctuation(if at > 0 { ", [ " } else { "[ " });
            self.operand(body, value);
            self.punctuation(", ");
            self.operand(body, block);
            self.punctuation(" ]");
        }
    }

    fn switch(&mut self, body: &FunctionBody, operands: &[Operand]) {
        let Some((head, cases)) = operands.split_at_checked(2) else { return };
        self.keyword("switch ");
        self.typed_list(body, head);
        self.punctuation(" [");
        for case in cases.chunks_exact(2) {
            self.punctuation("\n    ");
            self.typed_list(body, case);
        }
        self.punctuation("\n  ]");
    }

    fn indirect_branch(&mut self, body: &FunctionBody, operands: &[Operand]) {
        let Some((&address, blocks)) = operands.split_first() else { return };
        self.keyword("indirectbr ");
        self.typed_operand(body, address);
        self.punctuation(", [");
        self.typed_list(body, blocks);
        self.punctuation("]");
    }

    fn alloca(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        self.keyword("alloca ");
        if instruction.flags & 1 != 0 {
            self.keyword("inalloca ");
        }
        if instruction.flags & 2 != 0 {
            self.keyword("swifterror ");
        }
        let ty = TypeId(instruction.detail);
        self.ty(ty);
        let types = &self.module.types;
        if let Some(&size) = operands.first() {
            let is_one = size.as_value().and_then(|id| self.module.integer(Some(body), id)) == Some(1);
            let usual = types.get(self.operand_type(body, size)) == Type::Integer(32);
            if !is_one || !usual {
                self.punctuation(", ");
                self.typed_operand(body, size);
            }
        }
        let bytes = match instruction.memory().alignment() {
            Some(exponent) => Some(1u64.checked_shl(exponent).unwrap_or(0)),
            None if self.rules.explicit_alignment => Some(self.layout.preferred_alignment(types, ty)),
            None => None,
        };
        if let Some(bytes) = bytes {
            self.align(bytes);
        }
        if let Some(space) = types.address_space(instruction.ty).filter(|&space| space != 0) {
            self.keyword(", addrspace(");
            self.number(u64::from(space));
            self.punctuation(")");
        }
    }

    fn aggregate_value(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        self.keyword(instruction.opcode.mnemonic());
        self.punctuation(" ");
        self.typed_list(body, operands);
        let indices = crate::ids::Slice { start: instruction.detail, count: instruction.extra };
        for &index in indices.of(&body.indices) {
            self.punctuation(", ");
            self.number(u64::from(index));
        }
    }

    fn shuffle(&mut self, body: &FunctionBody, operands: &[Operand]) {
        self.keyword("shufflevector ");
        let Some((vectors, &[mask])) = operands.split_at_checked(2) else { return };
        self.typed_list(body, vectors);
        if let Some(mask) = mask.as_value() {
            self.shuffle_mask(Some(body), mask);
        }
    }

    fn landing_pad(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        self.keyword("landingpad ");
        self.ty(instruction.ty);
        if instruction.extra != 0 {
            self.keyword("\n          cleanup");
        }
        let kinds = crate::ids::Slice { start: instruction.detail, count: instruction.operands.count };
        for (&operand, &kind) in operands.iter().zip(kinds.of(&body.indices)) {
            self.keyword(if kind == 0 { "\n          catch " } else { "\n          filter " });
            self.typed_operand(body, operand);
        }
    }

    fn catch_switch(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        let Some((&parent, blocks)) = operands.split_first() else { return };
        self.keyword("catchswitch within ");
        self.operand(body, parent);
        let handlers = blocks.len().saturating_sub(instruction.detail as usize);
        let (handlers, unwind) = blocks.split_at(handlers);
        self.punctuation(" [");
        self.typed_list(body, handlers);
        self.keyword("] unwind ");
        match unwind.first() {
            Some(&block) => self.typed_operand(body, block),
            None => self.keyword("to caller"),
        }
    }

    fn pad(&mut self, body: &FunctionBody, opcode: Opcode, operands: &[Operand]) {
        let Some((&parent, arguments)) = operands.split_first() else { return };
        self.keyword(opcode.mnemonic());
        self.keyword(" within ");
        self.operand(body, parent);
        self.punctuation(" [");
        self.typed_list(body, arguments);
        self.punctuation("]");
    }

    fn pad_return(&mut self, body: &FunctionBody, opcode: Opcode, operands: &[Operand]) {
        let Some((&pad, block)) = operands.split_first() else { return };
        self.keyword(opcode.mnemonic());
        self.keyword(" from ");
        self.operand(body, pad);
        self.keyword(if opcode == Opcode::CatchRet { " to " } else { " unwind " });
        match block.first() {
            Some(&block) => self.typed_operand(body, block),
            None => self.keyword("to caller"),
        }
    }

    fn call(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        let Some(call) = body.calls.get(instruction.detail as usize) else { return };
        self.keyword(match call.tail {
            0 => "call",
            tail if tail & 2 != 0 => "musttail call",
            tail if tail & 4 != 0 => "notail call",
            _ => "tail call",
        });
        if instruction.flags != 0 {
            self.fast_math(u32::from(instruction.flags));
        }
        let Some((&callee, arguments)) = operands.split_first() else { return };
        if let Some(RebuiltCall::WithoutArgument(at)) = self.rebuilt_call(body, instruction) {
            let mut kept = arguments.to_vec();
            kept.remove(at);
            let call = Call { attributes: AttributeListId::NONE, ..*call };
            self.callee(body, &call, callee, &kept);
            return self.punctuation(")");
        }
        self.callee(body, call, callee, arguments);
        if call.tail & 2 != 0 && self.is_variadic(body) {
            // Earlier versions write the comma even if there are no arguments.
            let alone = arguments.is_empty() && self.rules.opaque_pointers;
            self.punctuation(if alone { "..." } else { ", ..." });
        }
        self.punctuation(")");
        self.call_tail(body, call);
    }

    fn is_variadic(&self, body: &FunctionBody) -> bool {
        let function = self.module.functions.get(body.function as usize);
        let ty = function.map_or(TypeId::NONE, |function| function.symbol.ty);
        matches!(self.module.types.get(ty), Type::Function { variadic: true, .. })
    }

    /// Writes a call from the calling convention to the last argument.
    fn callee(&mut self, body: &FunctionBody, call: &Call, callee: Operand, arguments: &[Operand]) {
        let module = self.module;
        self.punctuation(" ");
        if call.convention != 0 {
            self.convention(call.convention);
            self.punctuation(" ");
        }
        let Type::Function { result, variadic, .. } = module.types.get(call.function_type) else { return };
        if let Some(set) = module.attributes.of(call.attributes, index::RESULT) {
            self.parameter_attributes(set, result, "", " ");
        }
        let callee_type = self.operand_type(body, callee);
        let space = module.types.address_space(callee_type).unwrap_or(0);
        if space != 0 || self.layout.program_address_space() != 0 {
            self.keyword("addrspace(");
            self.number(u64::from(space));
            self.punctuation(") ");
        }
        self.spaced_type(if variadic { call.function_type } else { result });
        self.operand(body, callee);
        self.punctuation("(");
        let attributes = call.attributes;
        for (at, &argument) in arguments.iter().enumerate() {
            if at > 0 {
                self.punctuation(", ");
            }
            self.argument(body, attributes, at, argument);
        }
    }

    #[inline]
    fn argument(&mut self, body: &FunctionBody, attributes: AttributeListId, at: usize, argument: Operand) {
        let set = if attributes.is_some() {
            self.module.attributes.of(attributes, index::parameter(at))
        } else {
            None
        };
        let Some(set) = set else { return self.typed_operand(body, argument) };
        let ty = self.operand_type(body, argument);
        match argument.kind() {
            OperandKind::Metadata(_) => self.out(TokenKind::Type, "metadata"),
            OperandKind::Block(_) => self.out(TokenKind::Type, "label"),
            OperandKind::Value(_) => self.ty(ty),
        }
        self.parameter_attributes(set, ty, " ", "");
        self.punctuation(" ");
        self.operand(body, argument);
    }

    /// Writes the attribute group and the operand bundles of a call.
    fn call_tail(&mut self, body: &FunctionBody, call: &Call) {
        if let Some(set) = self.module.attributes.of(call.attributes, index::FUNCTION) {
            let group = self.group_of_set(set);
            self.group_reference(group);
        }
        let bundles = call.bundles.of(&body.bundles);
        if bundles.is_empty() {
            return;
        }
        self.punctuation(" [ ");
        for (at, bundle) in bundles.iter().enumerate() {
            if at > 0 {
                self.punctuation(", ");
            }
            let tag = self.module.bundle_tags.get(bundle.tag as usize).map_or(&b"?"[..], |tag| tag);
            self.quoted(tag);
            self.punctuation("(");
            self.typed_list(body, bundle.operands.of(&body.operands));
            self.punctuation(")");
        }
        self.punctuation(" ]");
    }

    fn invoke(&mut self, body: &FunctionBody, instruction: &Instruction, operands: &[Operand]) {
        let Some(call) = body.calls.get(instruction.detail as usize) else { return };
        let branch = instruction.opcode == Opcode::CallBr;
        let targets = if branch { instruction.extra as usize + 1 } else { 2 };
        let Some(end) = operands.len().checked_sub(targets) else { return };
        let (values, targets) = operands.split_at(end);
        let Some((&callee, arguments)) = values.split_first() else { return };
        self.keyword(instruction.opcode.mnemonic());
        self.callee(body, call, callee, arguments);
        self.punctuation(")");
        self.call_tail(body, call);
        self.keyword("\n          to ");
        let Some((&normal, others)) = targets.split_first() else { return };
        self.typed_operand(body, normal);
        if branch {
            self.punctuation(" [");
            self.typed_list(body, others);
            self.punctuation("]");
        } else {
            self.keyword(" unwind ");
            self.typed_list(body, others);
        }
    }

    /// Returns the function that a call calls directly.
    pub(super) fn called_function(&self, body: &FunctionBody, instruction: &Instruction) -> Option<usize> {
        let &callee = body.operands_of(instruction).first()?;
        match self.module.value(Some(body), callee.as_value()?)?.kind {
            ValueKind::Function(index) => Some(index as usize),
            _ => None,
        }
    }

    /// Returns how a call of an intrinsic that lost a parameter is rebuilt, without attributes; `None` for other
    /// instructions.
    #[inline]
    pub(super) fn rebuilt_call(&self, body: &FunctionBody, instruction: &Instruction) -> Option<RebuiltCall> {
        if instruction.opcode != Opcode::Call || !self.symbols.any_dropped() {
            return None;
        }
        let dropped = self.symbols.dropped_parameter(self.called_function(body, instruction)?)?;
        let argument = body.operands_of(instruction).get(dropped + 1)?.as_value()?;
        let zero = self.module.integer(Some(body), argument) == Some(0);
        Some(if zero { RebuiltCall::WithoutArgument(dropped) } else { RebuiltCall::Removed })
    }
}

/// How a call of an intrinsic that lost a parameter is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RebuiltCall {
    /// The call loses the argument at this index.
    WithoutArgument(usize),
    /// The argument was not zero, so LLVM removes the call.
    Removed,
}
