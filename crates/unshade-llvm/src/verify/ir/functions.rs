//! Declarations of functions: types, calling conventions, linkage and attributes.
//!
//! Knowledge: the Language Reference on functions; what LLVM 14 and 19 refuse.

use super::attribute_kinds::kind;
use super::attributes::Attributed;
use super::context::{Context, has};
use super::findings::{Findings, Place};
use crate::attributes::{Attribute, index};
use crate::global::{Function, Linkage};
use crate::ids::TypeId;
use crate::types::Type;

const RULE: &str = "ir-function";
const CONVENTION: &str = "ir-convention";
const ATTRIBUTE: &str = "ir-attribute";
const INTRINSIC: &str = "ir-intrinsic";

/// Calling conventions of entry points of shaders and kernels, which return nothing.
const VOID: &[u32] = &[76, 91];
/// The calling convention of interrupt handlers on x86.
const INTERRUPT: u32 = 83;
/// Those that take no structs by reference to the stack.
const AMD_ENTRIES: &[u32] = &[87, 88, 89, 90, 91, 93, 95, 96, 104, 105];
/// Those without variadic arguments.
const FIXED: &[u32] = &[8, 9, 71, 72, 76, 77, 87, 88, 89, 90, 91, 93, 95, 96, 104, 105];

impl Context<'_, '_> {
    /// Checks all declarations and the headers of definitions.
    pub(super) fn check_functions(&self, findings: &mut Findings) {
        for (number, function) in self.module.functions.iter().enumerate() {
            findings.enter(Place::Function(number));
            self.function(number, function, findings);
        }
    }

    fn function(&self, number: usize, function: &Function, findings: &mut Findings) {
        let symbol = &function.symbol;
        self.symbol(symbol, function.declaration, false, findings);
        findings.require(symbol.linkage != Linkage::Common, RULE, "a function has common linkage");
        let Type::Function { result, parameters, variadic } = self.get(symbol.ty) else {
            findings.require(self.is_unknown(symbol.ty), RULE, "a function has a type that is none of functions");
            return;
        };
        let parameters = self.table().elements(parameters);
        let is_intrinsic = self.is_intrinsic(number);
        self.function_types(result, parameters, is_intrinsic, findings);
        let attributed = Attributed {
            list: function.attributes,
            function_type: symbol.ty,
            arguments: parameters.len(),
            is_call: false,
            is_special: is_intrinsic,
        };
        self.check_attributes(attributed, findings);
        self.declaration_attributes(function, parameters, findings);
        self.convention(function, result, variadic, findings);
        if is_intrinsic {
            findings.require(function.declaration, INTRINSIC, "an intrinsic is defined");
            if let Some(known) = self.intrinsic(number) {
                self.check_signature(known, symbol.ty, findings);
            }
        }
        if function.declaration {
            findings.require(function.personality.is_none(), RULE, "a declaration has a personality");
        }
    }

    fn function_types(&self, result: TypeId, parameters: &[TypeId], is_intrinsic: bool, findings: &mut Findings) {
        let returns = !matches!(self.get(result), Type::Function { .. } | Type::Label | Type::Metadata);
        findings.require(returns || is_intrinsic, RULE, "a function returns something that is no value");
        for &ty in parameters {
            findings.require(self.is_first_class(ty), RULE, "a parameter has a type that no value has");
            if is_intrinsic {
                continue;
            }
            match self.get(ty) {
                Type::Metadata => {
                    findings.require(false, RULE, "metadata is a parameter of a function that is no intrinsic");
                }
                Type::Token => {
                    findings.require(false, "ir-token", "a token is a parameter of a function that is no intrinsic");
                }
                Type::X86Amx => {
                    findings.require(false, RULE, "x86_amx is a parameter of a function that is no intrinsic");
                }
                _ => {}
            }
        }
        if !is_intrinsic {
            let token = matches!(self.get(result), Type::Token);
            findings.require(!token, "ir-token", "a function that is no intrinsic returns a token");
            let tile = matches!(self.get(result), Type::X86Amx);
            findings.require(!tile, RULE, "a function that is no intrinsic returns x86_amx");
        }
    }

    /// Checks attributes that only declarations must not have, or that depend on the symbol.
    fn declaration_attributes(&self, function: &Function, parameters: &[TypeId], findings: &mut Findings) {
        let set = self.attributes(function.attributes, index::FUNCTION);
        findings.require(!has(set, kind::BUILTIN), ATTRIBUTE, "builtin is for calls only");
        if has(set, kind::JUMP_TABLE) {
            let unnamed = function.symbol.unnamed_address == 1;
            findings.require(unnamed, ATTRIBUTE, "a function with a jump table has an address that matters");
        }
        for (at, &ty) in parameters.iter().enumerate() {
            let set = self.attributes(function.attributes, index::parameter(at));
            let on_call = has(set, kind::ELEMENT_TYPE);
            findings.require(!on_call, ATTRIBUTE, "elementtype is for calls only");
            if has(set, kind::SWIFT_ERROR) {
                let points = self.is_pointer(ty)
                    && self.table().pointee(ty).is_none_or(|pointee| self.is_pointer(pointee));
                findings.require(points, ATTRIBUTE, "a swifterror parameter is a pointer to a pointer");
            }
        }
        let result = match self.get(function.symbol.ty) {
            Type::Function { result, .. } => self.get(result),
            _ => Type::Unknown,
        };
        if (0..parameters.len().min(2)).any(|at| self.parameter_has(function.attributes, at, kind::STRUCT_RESULT)) {
            let is_void = matches!(result, Type::Void | Type::Unknown);
            findings.require(is_void, ATTRIBUTE, "a function with a sret parameter returns a value");
        }
    }

    fn convention(&self, function: &Function, result: TypeId, variadic: bool, findings: &mut Findings) {
        let number = function.calling_convention;
        if VOID.contains(&number) || matches!(number, 104 | 105) {
            let is_void = matches!(self.get(result), Type::Void);
            findings.require(is_void, CONVENTION, "an entry point returns a value");
        }
        if number == INTERRUPT
            && let Type::Function { parameters, .. } = self.get(function.symbol.ty)
            && let Some(&first) = self.table().elements(parameters).first()
        {
            // With typed pointers, LLVM adds the attribute.
            let typed = self.table().pointee(first).is_some();
            let by_value = typed || self.parameter_has(function.attributes, 0, kind::BY_VALUE);
            findings.require(by_value, CONVENTION, "the parameter of an interrupt handler is not byval");
        }
        if FIXED.contains(&number) {
            findings.require(!variadic, CONVENTION, "the calling convention has no variadic arguments");
        }
        if AMD_ENTRIES.contains(&number) {
            for &(place, set) in self.module.attributes.list(function.attributes) {
                if !matches!(place, index::FUNCTION | index::RESULT) {
                    self.entry_parameter(self.set(set), function, place, findings);
                }
            }
        }
    }

    fn entry_parameter(&self, set: &[Attribute], function: &Function, place: u32, findings: &mut Findings) {
        const PASSED: [u32; 4] = [kind::STRUCT_RESULT, kind::BY_VALUE, kind::PREALLOCATED, kind::IN_ALLOCA];
        let forbidden = PASSED.iter().any(|&kind| has(set, kind));
        findings.require(!forbidden, CONVENTION, "the calling convention passes no structs in memory");
        if has(set, kind::BY_REFERENCE)
            && let Type::Function { parameters, .. } = self.get(function.symbol.ty)
        {
            let at = (place as usize).saturating_sub(1);
            let ty = self.table().elements(parameters).get(at).copied().unwrap_or(TypeId::NONE);
            // Address space 5 is the stack.
            let on_stack = self.table().address_space(ty) == Some(5);
            findings.require(!on_stack, CONVENTION, "the calling convention takes no reference to the stack");
        }
    }
}
