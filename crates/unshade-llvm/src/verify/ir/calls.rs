//! Calls: arguments against the function type, attributes, `musttail`, and what may be called how.
//!
//! Knowledge: the Language Reference on calls; what LLVM 14 and 19 refuse.

use super::attribute_kinds::kind;
use super::attributes::Attributed;
use super::body::BodyCheck;
use super::context::has;
use super::intrinsics;
use crate::attributes::{Attribute, index};
use crate::body::Call;
use crate::constants::Constant;
use crate::ids::{AttributeListId, TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::{Operand, OperandKind};

const RULE: &str = "ir-call";
const TAIL: &str = "ir-tail-call";
const ATTRIBUTE: &str = "ir-attribute";
const TOKEN: &str = "ir-token";

/// Calling conventions by number.
pub(super) mod convention {
    pub(in crate::verify) const TAIL: u32 = 18;
    pub(in crate::verify) const SWIFT_TAIL: u32 = 20;
    pub(in crate::verify) const CHAIN: u32 = 104;
    pub(in crate::verify) const CHAIN_PRESERVE: u32 = 105;
}

/// Attributes that decide how an argument is passed.
const ABI: [u32; 10] = [
    kind::STRUCT_RESULT,
    kind::BY_VALUE,
    kind::IN_ALLOCA,
    kind::IN_REGISTER,
    kind::STACK_ALIGNMENT,
    kind::SWIFT_SELF,
    kind::SWIFT_ASYNC,
    kind::SWIFT_ERROR,
    kind::PREALLOCATED,
    kind::BY_REFERENCE,
];

/// Attributes that neither side of a `musttail` call with a convention for tail calls may have.
const NOT_IN_TAIL_CALLS: [u32; 5] =
    [kind::IN_ALLOCA, kind::IN_REGISTER, kind::SWIFT_ERROR, kind::PREALLOCATED, kind::BY_REFERENCE];

/// Intrinsics that can be invoked.
const INVOKED: &[&str] = &[
    "donothing",
    "coro.resume",
    "coro.destroy",
    "experimental.patchpoint",
    "experimental.patchpoint.void",
    "experimental.patchpoint.i64",
    "experimental.gc.statepoint",
    "seh.try.begin",
    "seh.try.end",
    "seh.scope.begin",
    "seh.scope.end",
    "wasm.throw",
    "wasm.rethrow",
];

/// The largest alignment that a value passed to a function may need.
const MAX_PASSED_ALIGNMENT: u64 = 1 << 14;

/// A call with what the checks of it need.
#[derive(Clone, Copy)]
pub(super) struct CallParts<'b> {
    pub(super) call: &'b Call,
    pub(super) callee: ValueId,
    pub(super) arguments: &'b [Operand],
    /// The function that is called, through casts.
    pub(super) function: Option<usize>,
    pub(super) is_assembly: bool,
}

impl<'c> BodyCheck<'c, '_, '_> {
    /// Returns the parts of a call.
    pub(super) fn call_parts(&self, of: &Instruction) -> Option<CallParts<'c>> {
        let body = self.body;
        let call = body.calls.get(of.detail as usize)?;
        let (callee, rest) = body.operands_of(of).split_first()?;
        let callee = callee.as_value()?;
        let blocks = match of.opcode {
            Opcode::Invoke => 2,
            Opcode::CallBr => (of.extra as usize).saturating_add(1),
            _ => 0,
        };
        let arguments = rest.get(..rest.len().saturating_sub(blocks))?;
        let is_assembly = matches!(self.context.constant(Some(body), callee), Some((Constant::Assembly(_), _)));
        let function = self.context.function_behind(Some(body), callee);
        Some(CallParts { call, callee, arguments, function, is_assembly })
    }

    /// Returns whether an intrinsic may be an operand of an instruction: of none, but as a callee.
    pub(super) fn passes_intrinsics(&self, of: &Instruction) -> bool {
        // A statepoint calls the function that it is given.
        of.opcode == Opcode::Call
            && self.call_parts(of).and_then(|parts| self.intrinsic_name(&parts)) == Some("experimental.gc.statepoint")
    }

    /// Returns the name of the intrinsic that is called, without `llvm.`, and without types if it is known.
    pub(super) fn intrinsic_name(&self, parts: &CallParts<'_>) -> Option<&'c str> {
        self.context.intrinsic_name(parts.function?)
    }

    pub(super) fn call(&mut self, of: &Instruction) {
        let Some(parts) = self.call_parts(of) else {
            self.require(false, RULE, "a call without a callee");
            return;
        };
        let context = self.context;
        let Type::Function { parameters, variadic, .. } = context.get(parts.call.function_type) else {
            self.require(false, RULE, "a call of something that is no function");
            return;
        };
        let parameters = context.table().elements(parameters);
        self.callee(&parts);
        self.arguments(&parts, parameters, variadic);
        let is_intrinsic = parts.function.is_some_and(|function| context.is_intrinsic(function));
        self.call_attributes(of, &parts, is_intrinsic);
        if !is_intrinsic {
            self.plain_call(of, &parts, parameters);
            self.unlocated_call(of, &parts);
        }
        if let Some(function) = parts.function.filter(|_| is_intrinsic) {
            self.intrinsic_call(of, &parts, function);
        }
        self.bundles(of, &parts);
        if parts.is_assembly {
            self.assembly_call(of, &parts);
        }
        if parts.call.tail & 2 != 0 {
            self.must_tail(of, &parts);
        }
    }

    fn callee(&mut self, parts: &CallParts<'_>) {
        let context = self.context;
        let ty = self.type_of(parts.callee);
        if self.require(context.is_pointer(ty), RULE, "a call of something that is no pointer")
            && let Some(pointee) = context.table().pointee(ty)
        {
            let same = context.same(pointee, parts.call.function_type);
            self.require(same, RULE, "the callee has another type than the call");
        }
        let direct = parts.function.and_then(|function| context.module.functions.get(function));
        let Some(function) = direct else { return };
        let chain = matches!(function.calling_convention, convention::CHAIN | convention::CHAIN_PRESERVE);
        self.require(!chain, RULE, "a chain function is called directly");
    }

    fn arguments(&mut self, parts: &CallParts<'_>, parameters: &[TypeId], variadic: bool) {
        let context = self.context;
        let count = parts.arguments.len();
        let fits = if variadic { count >= parameters.len() } else { count == parameters.len() };
        self.require(fits, RULE, "a call with another number of arguments than the function has parameters");
        for (argument, &parameter) in parts.arguments.iter().zip(parameters) {
            let ty = context.operand_type(self.body, *argument);
            // Blocks are passed to old intrinsics only.
            let same = context.same(ty, parameter) || matches!(argument.kind(), OperandKind::Block(_));
            if matches!(context.get(parameter), Type::X86Amx) {
                let constant = argument.as_value().is_some_and(|id| context.is_constant(Some(self.body), id));
                self.require(!constant, RULE, "a constant of x86_amx is passed");
            }
            self.require(same, RULE, "an argument has another type than the parameter");
        }
    }

    fn call_attributes(&mut self, of: &Instruction, parts: &CallParts<'_>, is_intrinsic: bool) {
        let context = self.context;
        let list = parts.call.attributes;
        let attributed = Attributed {
            list,
            function_type: parts.call.function_type,
            arguments: parts.arguments.len(),
            is_call: true,
            is_special: is_intrinsic || parts.is_assembly,
        };
        context.check_attributes(attributed, self.findings);
        if context.module.attributes.list(list).is_empty() && parts.function.is_none() {
            return;
        }
        let callee = parts.function.and_then(|function| context.module.functions.get(function));
        let callee_list = callee.map_or(AttributeListId::NONE, |function| function.attributes);
        let on_call = context.function_has(list, kind::SPECULATABLE);
        let speculates = !on_call || context.function_has(callee_list, kind::SPECULATABLE);
        self.require(speculates, ATTRIBUTE, "a call is speculatable but its function is not");
        if context.function_has(list, kind::PREALLOCATED) {
            let is_argument = self.intrinsic_name(parts) == Some("call.preallocated.arg");
            self.require(is_argument, ATTRIBUTE, "a call is preallocated that is none of llvm.call.preallocated.arg");
        }
        self.argument_values(of, parts, callee_list, is_intrinsic);
    }

    /// Checks arguments whose attributes need certain values.
    fn argument_values(&mut self, of: &Instruction, parts: &CallParts<'_>, callee: AttributeListId, is_intrinsic: bool) {
        let context = self.context;
        let list = parts.call.attributes;
        for &(place, set) in context.module.attributes.list(list) {
            if matches!(place, index::FUNCTION | index::RESULT) {
                continue;
            }
            let at = (place as usize).saturating_sub(1);
            let set = context.set(set);
            // Lists are sorted.
            let Some(argument) = parts.arguments.get(at) else { break };
            let Some(argument) = argument.as_value() else { continue };
            if has(set, kind::IN_ALLOCA) {
                let argument = self.stripped_local(argument);
                self.variable_flag(argument, 1, "an inalloca argument is another variable");
            }
            if has(set, kind::SWIFT_ERROR) {
                self.variable_flag(argument, 2, "a swifterror argument is another variable");
            }
            if has(set, kind::PREALLOCATED) {
                let by_bundle = self.has_bundle(parts.call, b"preallocated");
                let must_tail = parts.call.tail & 2 != 0;
                self.require(by_bundle != must_tail, RULE, "a preallocated argument needs a bundle, or musttail, not both");
            }
            if has(set, kind::IMMEDIATE) && !context.parameter_has(callee, at, kind::IMMEDIATE) && !parts.is_assembly {
                self.require(false, ATTRIBUTE, "immarg is on the call only");
            }
        }
        if parts.function.is_some() {
            self.immediates(parts, callee, is_intrinsic);
        }
        self.passed_alignment(of, parts);
    }

    /// Checks that a variable that is passed has the flag that the parameter needs.
    fn variable_flag(&mut self, argument: ValueId, flag: u16, message: &'static str) {
        let variable = self.definition(self.context.stripped(Some(self.body), argument));
        if let Some((_, variable)) = variable.filter(|(_, of)| of.opcode == Opcode::Alloca) {
            self.require(variable.flags & flag != 0, RULE, message);
        }
    }

    /// Checks arguments that must be constants.
    fn immediates(&mut self, parts: &CallParts<'_>, callee: AttributeListId, is_intrinsic: bool) {
        let context = self.context;
        if !is_intrinsic {
            return;
        }
        let known = parts.function.and_then(|function| context.intrinsic(function));
        for (at, argument) in parts.arguments.iter().enumerate() {
            let Some(argument) = argument.as_value() else { continue };
            let ty = self.type_of(argument);
            let by_name = known.is_some_and(|known| known.is_immediate(at))
                && !context.is_pointer(ty)
                && !context.is_vector(ty)
                && context.generation >= 14;
            if by_name || context.parameter_has(callee, at, kind::IMMEDIATE) {
                let is_immediate = context.is_immediate(Some(self.body), argument);
                self.require(is_immediate, intrinsics::RULE, "an argument that is not the constant that is needed");
            }
        }
    }

    /// Checks that no passed value needs a larger alignment than can be represented.
    fn passed_alignment(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let context = self.context;
        if parts.function.is_some_and(|function| context.is_intrinsic(function)) {
            return;
        }
        let is_vector_too_large = |ty: TypeId| {
            matches!(context.get(ty), Type::Vector { .. })
                && context.module.data_layout.required_alignment(context.table(), ty) > MAX_PASSED_ALIGNMENT
        };
        let large = is_vector_too_large(of.ty)
            || parts.arguments.iter().any(|&argument| is_vector_too_large(context.operand_type(self.body, argument)));
        self.require(!large, RULE, "a value is passed whose alignment is larger than 16 KiB");
    }

    /// Checks a call of a function that is no intrinsic.
    fn plain_call(&mut self, of: &Instruction, parts: &CallParts<'_>, parameters: &[TypeId]) {
        let context = self.context;
        for &ty in parameters {
            match context.get(ty) {
                Type::Metadata => {
                    self.require(false, RULE, "metadata is passed to a function that is no intrinsic");
                }
                Type::Token => {
                    self.require(false, TOKEN, "a token is passed to a function that is no intrinsic");
                }
                _ => {}
            }
        }
        if parts.function.is_none() && !parts.is_assembly {
            match context.get(of.ty) {
                Type::Token => {
                    self.require(false, TOKEN, "an indirect call returns a token");
                }
                Type::X86Amx => {
                    self.require(false, RULE, "an indirect call returns a value of x86_amx");
                }
                _ => {}
            }
        }
        for (at, argument) in parts.arguments.iter().enumerate().skip(parameters.len()) {
            self.variadic_argument(parts, at, *argument);
        }
    }

    fn variadic_argument(&mut self, parts: &CallParts<'_>, at: usize, argument: Operand) {
        let context = self.context;
        let list = parts.call.attributes;
        let sret = context.parameter_has(list, at, kind::STRUCT_RESULT);
        self.require(!sret, ATTRIBUTE, "a variadic argument is sret");
        if context.parameter_has(list, at, kind::RETURNED) {
            let Type::Function { result, .. } = context.get(parts.call.function_type) else { return };
            let same = context.same(context.operand_type(self.body, argument), result);
            self.require(same, ATTRIBUTE, "a returned argument has another type than the result");
        }
    }

    fn intrinsic_call(&mut self, of: &Instruction, parts: &CallParts<'c>, function: usize) {
        let context = self.context;
        let name = context.intrinsic_name(function);
        if of.opcode == Opcode::Invoke {
            let known = context.intrinsic(function).is_some();
            let invoked = name.is_none_or(|name| INVOKED.contains(&name) || !known);
            self.require(invoked, intrinsics::RULE, "an intrinsic is invoked that can't be");
        }
        if let Some(declared) = context.module.functions.get(function) {
            let same = context.same(declared.symbol.ty, parts.call.function_type);
            self.require(same, intrinsics::RULE, "an intrinsic is called with another type than it is declared with");
        }
        if let Some(name) = name {
            self.known_intrinsic(name, of, parts);
            if name.starts_with("dbg.") {
                self.debug_call(name, of, parts);
            }
        }
    }

    fn must_tail(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let context = self.context;
        self.require(!parts.is_assembly, TAIL, "inline assembly is called with musttail");
        let Some(caller) = context.module.functions.get(self.body.function as usize) else { return };
        let (
            Type::Function { result: own, parameters: mine, variadic },
            Type::Function { result, parameters, variadic: other_variadic },
        ) = (context.get(caller.symbol.ty), context.get(parts.call.function_type))
        else {
            return;
        };
        self.require(variadic == other_variadic, TAIL, "a musttail call of a function with other variadic arguments");
        self.require(self.congruent(own, result), TAIL, "a musttail call returns another type than its function");
        let convention = parts.call.convention;
        let same = convention == caller.calling_convention;
        self.require(same, TAIL, "a musttail call has another calling convention than its function");
        self.tail_position(of, own);
        if matches!(convention, convention::TAIL | convention::SWIFT_TAIL) {
            self.tail_convention(parts, caller.attributes, variadic);
            return;
        }
        let (mine, theirs) = (context.table().elements(mine), context.table().elements(parameters));
        let is_intrinsic = parts.function.is_some_and(|function| context.is_intrinsic(function));
        if !is_intrinsic {
            let same = mine.len() == theirs.len()
                && mine.iter().zip(theirs).all(|(&one, &other)| self.congruent(one, other));
            self.require(same, TAIL, "a musttail call has other parameters than its function");
        }
        let same = mine.len() != theirs.len() || (0..mine.len()).all(|at| {
            let place = index::parameter(at);
            let (one, other) = (context.attributes(caller.attributes, place), context.attributes(parts.call.attributes, place));
            self.same_abi(one, other)
        });
        self.require(same, TAIL, "a musttail call passes an argument in another way than its function gets it");
    }

    /// Returns whether types are passed the same way.
    fn congruent(&self, one: TypeId, other: TypeId) -> bool {
        let table = self.context.table();
        self.context.same(one, other)
            || (table.is_pointer(one) && table.is_pointer(other) && table.address_space(one) == table.address_space(other))
    }

    fn same_abi(&self, one: &[Attribute], other: &[Attribute]) -> bool {
        let find = |set: &[Attribute], kind| set.iter().find(|attribute| attribute.kind() == Some(kind)).copied();
        ABI.iter().all(|&kind| match (find(one, kind), find(other, kind)) {
            (None, None) => true,
            (Some(Attribute::Type(_, Some(one))), Some(Attribute::Type(_, Some(other)))) => self.context.same(one, other),
            (Some(one), Some(other)) => one == other,
            _ => false,
        })
    }

    /// Checks a `musttail` call with a convention that guarantees tail calls.
    fn tail_convention(&mut self, parts: &CallParts<'_>, caller: AttributeListId, variadic: bool) {
        self.require(!variadic, TAIL, "a function with variadic arguments has a convention for tail calls");
        for list in [caller, parts.call.attributes] {
            for &(place, set) in self.context.module.attributes.list(list) {
                if matches!(place, index::FUNCTION | index::RESULT) {
                    continue;
                }
                let set = self.context.set(set);
                let forbidden = NOT_IN_TAIL_CALLS.iter().any(|&kind| has(set, kind));
                self.require(!forbidden, TAIL, "an attribute that excludes a convention for tail calls");
            }
        }
    }

    /// Checks that a call is followed by a return of its result, with at most a bitcast between.
    fn tail_position(&mut self, of: &Instruction, result: TypeId) {
        let mut following = self.index.saturating_add(1);
        let next = |at: u32| self.body.instructions.get(at as usize);
        let mut value = of.result;
        if let Some(cast) = next(following).filter(|next| next.opcode == Opcode::BitCast)
            && self.value_at(cast, 0) == Some(value)
        {
            value = cast.result;
            following = following.saturating_add(1);
        }
        let end = next(following).filter(|next| next.opcode == Opcode::Ret);
        let is_void = matches!(self.context.get(result), Type::Void);
        let returned = end.and_then(|end| self.value_at(end, 0));
        let is_undefined = returned.is_some_and(|id| {
            let constant = self.context.constant(Some(self.body), id);
            matches!(constant, Some((Constant::Undef | Constant::Poison, _)))
        });
        let returns = end.is_some() && (is_void || returned == Some(value) || is_undefined);
        self.require(returns, TAIL, "a musttail call is not followed by a return of its result");
    }
}
