//! Arithmetic, comparisons, casts, vectors, aggregates, branches and calls.

use super::{FunctionBuilder, Version};
use crate::body::Call;
use crate::constants::NewConstant;
use crate::ids::{AttributeListId, BlockId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::rules;
use crate::types::Type;
use crate::value::{Operand, OperandKind};
use alloc::vec::Vec;
use core::ops::BitOr;
use unshade_core::Result;

/// The flag of an operation that does not wrap around as an unsigned one, for
/// [`FunctionBuilder::binary_with_flags`].
pub const NO_UNSIGNED_WRAP: u16 = 1;
/// The flag of an operation that does not wrap around as a signed one.
pub const NO_SIGNED_WRAP: u16 = 2;

/// What floating-point instructions may assume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastMath(u16);

impl FastMath {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// No operand or result is a NaN.
    pub const NO_NANS: Self = Self(1 << 1);
    /// No operand or result is infinite.
    pub const NO_INFINITIES: Self = Self(1 << 2);
    /// The sign of zero does not matter.
    pub const NO_SIGNED_ZEROS: Self = Self(1 << 3);
    /// A division may be a multiplication with the reciprocal.
    pub const RECIPROCAL: Self = Self(1 << 4);
    /// A multiplication and an addition may be one operation.
    pub const CONTRACT: Self = Self(1 << 5);
    /// Functions may be approximated.
    pub const APPROXIMATE: Self = Self(1 << 6);
    /// Operations may be reassociated.
    pub const REASSOCIATE: Self = Self(1 << 7);
    /// All of them: `fast`.
    pub const FAST: Self = Self(0xFE);

    /// All of them in LLVM 3.7, where a bit of its own says so, and only the first four others exist.
    const OLD_FAST: Self = Self(0x1F);

    /// Returns the flags as a version of LLVM has them.
    pub(super) fn of_version(self, version: Version) -> Self {
        match version {
            Version::Dxc if self == Self::FAST => Self::OLD_FAST,
            Version::Dxc => Self(self.0 & Self::OLD_FAST.0),
            _ => self,
        }
    }
}

impl BitOr for FastMath {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A comparison of integers or pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum IntPredicate {
    Eq = 32,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

/// A comparison of floating-point numbers: ordered ones (`O…`) are false if an operand is a NaN, unordered ones
/// (`U…`) are true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum FloatPredicate {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Uno,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    True,
}

/// What a call is besides callee and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOptions {
    /// The attributes of call, result and arguments.
    pub attributes: AttributeListId,
    /// The calling convention by its number in LLVM [default: that of the function that is called].
    pub convention: Option<u32>,
    /// Whether the call may reuse the frame of the function.
    pub tail: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self { attributes: AttributeListId::NONE, convention: None, tail: false }
    }
}

/// Defines methods for binary operations.
macro_rules! binary {
    ($($name:ident $opcode:ident)*) => {
        impl FunctionBuilder<'_> {
            $(
                #[doc = concat!("Builds `", stringify!($name), "`.")]
                ///
                /// # Errors
                /// If the operands differ in type, or don't fit the operation.
                pub fn $name(&mut self, left: ValueId, right: ValueId) -> Result<ValueId> {
                    self.binary(Opcode::$opcode, left, right)
                }
            )*
        }
    };
}

binary! {
    add Add fadd FAdd sub Sub fsub FSub mul Mul fmul FMul udiv UDiv sdiv SDiv fdiv FDiv urem URem srem SRem
    frem FRem shl Shl lshr LShr ashr AShr and And or Or xor Xor
}

/// Defines methods for casts.
macro_rules! casts {
    ($($name:ident $opcode:ident)*) => {
        impl FunctionBuilder<'_> {
            $(
                #[doc = concat!("Builds `", stringify!($name), "`.")]
                ///
                /// # Errors
                /// If the cast is not valid.
                pub fn $name(&mut self, value: ValueId, to: TypeId) -> Result<ValueId> {
                    self.cast(Opcode::$opcode, value, to)
                }
            )*
        }
    };
}

casts! {
    trunc Trunc zext ZExt sext SExt fptoui FpToUi fptosi FpToSi uitofp UiToFp sitofp SiToFp fptrunc FpTrunc
    fpext FpExt ptrtoint PtrToInt inttoptr IntToPtr bitcast BitCast addrspacecast AddrSpaceCast
}

impl FunctionBuilder<'_> {
    /// Builds a binary operation.
    ///
    /// # Errors
    /// If the operands differ in type, or don't fit the operation.
    pub fn binary(&mut self, opcode: Opcode, left: ValueId, right: ValueId) -> Result<ValueId> {
        self.binary_with_flags(opcode, left, right, 0)
    }

    /// Builds a binary operation with flags: [`NO_UNSIGNED_WRAP`] and [`NO_SIGNED_WRAP`], or 1 for an exact division
    /// or shift. Floating-point operations have [`FunctionBuilder::set_fast_math`].
    ///
    /// # Errors
    /// If the operands differ in type, or don't fit the operation, or it has no such flags.
    pub fn binary_with_flags(
        &mut self,
        opcode: Opcode,
        left: ValueId,
        right: ValueId,
        flags: u16,
    ) -> Result<ValueId> {
        if !opcode.is_binary() {
            return self.fail_in(opcode, "not a binary operation");
        }
        let known = match opcode {
            opcode if opcode.may_wrap() => 3,
            opcode if opcode.may_be_exact() => 1,
            _ => 0,
        };
        if flags & !known != 0 {
            return self.fail_in(opcode, "the operation does not have these flags");
        }
        let ty = self.result_of(opcode, &[left, right])?;
        let flags = if opcode.is_float_operation() { self.fast_math.0 } else { flags };
        self.append_of(Instruction { flags, ..Instruction::new(opcode, ty) }, &[left, right])
    }

    /// Returns the type of the result of an operation.
    fn result_of(&mut self, opcode: Opcode, operands: &[ValueId]) -> Result<TypeId> {
        let types: Vec<TypeId> = operands.iter().map(|&id| self.type_of(id)).collect::<Result<_>>()?;
        match rules::result_type(&mut self.module.module.types, opcode, &types) {
            Some(ty) => Ok(ty),
            None => self.fail_types(opcode, "operands don't fit the operation", &types),
        }
    }

    /// Builds `fneg`.
    ///
    /// # Errors
    /// If the operand is no floating-point number.
    pub fn fneg(&mut self, value: ValueId) -> Result<ValueId> {
        let ty = self.result_of(Opcode::FNeg, &[value])?;
        self.append_of(
            Instruction { flags: self.fast_math.0, ..Instruction::new(Opcode::FNeg, ty) },
            &[value],
        )
    }

    /// Builds `freeze`: a value that is not `undef` or `poison`.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn freeze(&mut self, value: ValueId) -> Result<ValueId> {
        let ty = self.type_of(value)?;
        if matches!(self.module.module.types.get(ty), Type::Metadata | Type::Token) {
            return self.fail_types(Opcode::Freeze, "a type without a size", &[ty]);
        }
        self.append_of(Instruction::new(Opcode::Freeze, ty), &[value])
    }

    /// Builds a cast.
    ///
    /// # Errors
    /// If the cast is not valid.
    pub fn cast(&mut self, opcode: Opcode, value: ValueId, to: TypeId) -> Result<ValueId> {
        let from = self.type_of(value)?;
        if !rules::is_cast_valid(&self.module.module.types, opcode, from, to) {
            return self.fail_types(opcode, "the cast is not valid", &[from, to]);
        }
        self.append_of(Instruction::new(opcode, to), &[value])
    }

    /// Builds `icmp`.
    ///
    /// # Errors
    /// If the operands differ in type, or are no integers or pointers.
    pub fn icmp(&mut self, predicate: IntPredicate, left: ValueId, right: ValueId) -> Result<ValueId> {
        let ty = self.type_of(left)?;
        let types = &self.module.module.types;
        let is_integer = matches!(types.get(types.scalar(ty)), Type::Integer(_));
        if !is_integer && types.address_space(ty).is_none() {
            return self.fail_types(Opcode::ICmp, "the operands are no integers or pointers", &[ty]);
        }
        let ty = self.result_of(Opcode::ICmp, &[left, right])?;
        self.append_of(
            Instruction { detail: predicate as u32, ..Instruction::new(Opcode::ICmp, ty) },
            &[left, right],
        )
    }

    /// Builds `fcmp`.
    ///
    /// # Errors
    /// If the operands differ in type, or are no floating-point numbers.
    pub fn fcmp(&mut self, predicate: FloatPredicate, left: ValueId, right: ValueId) -> Result<ValueId> {
        let ty = self.result_of(Opcode::FCmp, &[left, right])?;
        let (flags, detail) = (self.fast_math.0, predicate as u32);
        self.append_of(Instruction { flags, detail, ..Instruction::new(Opcode::FCmp, ty) }, &[left, right])
    }

    /// Builds `select`: one of two values, by a condition or by one for each lane.
    ///
    /// # Errors
    /// If the values differ in type, or the condition is no `i1` or vector of as many.
    pub fn select(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Result<ValueId> {
        let ty = self.result_of(Opcode::Select, &[condition, then, otherwise])?;
        let found = self.type_of(condition)?;
        let types = &mut self.module.module.types;
        let (bit, lanes) = (types.intern(Type::Integer(1)), rules::truth_type(types, ty));
        let is_token = matches!(types.get(ty), Type::Token | Type::Metadata | Type::Label);
        if is_token || (found != bit && found != lanes) {
            return self.fail_types(Opcode::Select, "the condition is no i1, or one for each lane", &[found]);
        }
        let flags = self.flags_of(ty);
        self.append_of(
            Instruction { flags, ..Instruction::new(Opcode::Select, ty) },
            &[condition, then, otherwise],
        )
    }

    /// Returns the fast-math flags of an instruction that may have them if its result is a number.
    fn flags_of(&self, ty: TypeId) -> u16 {
        // In LLVM 3.7, only arithmetic and comparisons have flags.
        let may_have = self.module.version != Version::Dxc && self.module.module.types.is_float(ty);
        if may_have { self.fast_math.0 } else { 0 }
    }

    /// Builds `phi`, at the start of its block; [`FunctionBuilder::add_incoming`] adds its values.
    ///
    /// # Errors
    /// If there are other instructions before it, or there are no values of the type.
    pub fn phi(&mut self, ty: TypeId) -> Result<ValueId> {
        let of = self.module.module.types.get(ty);
        if matches!(
            of,
            Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Function { .. } | Type::Unknown
        ) {
            return self.fail_types(Opcode::Phi, "a phi of a type without values", &[ty]);
        }
        if self.current.is_some() && !self.is_at_start() {
            return self.fail_in(Opcode::Phi, "a phi is at the start of its block");
        }
        let flags = self.flags_of(ty);
        self.append(Instruction { flags, ..Instruction::new(Opcode::Phi, ty) }, Vec::new())
    }

    /// Builds `extractelement`.
    ///
    /// # Errors
    /// If the first operand is no vector, or the second no integer.
    pub fn extract_element(&mut self, vector: ValueId, at: ValueId) -> Result<ValueId> {
        self.check_index(Opcode::ExtractElement, at)?;
        let ty = self.result_of(Opcode::ExtractElement, &[vector, at])?;
        self.append_of(Instruction::new(Opcode::ExtractElement, ty), &[vector, at])
    }

    /// Builds `insertelement`: the vector with another element.
    ///
    /// # Errors
    /// If the first operand is no vector of such elements, or the last no integer.
    pub fn insert_element(&mut self, vector: ValueId, element: ValueId, at: ValueId) -> Result<ValueId> {
        self.check_index(Opcode::InsertElement, at)?;
        let vector_type = self.type_of(vector)?;
        if !matches!(self.module.module.types.get(vector_type), Type::Vector { .. }) {
            return self.fail_types(
                Opcode::InsertElement,
                "operands don't fit the operation",
                &[vector_type],
            );
        }
        let ty = self.result_of(Opcode::InsertElement, &[vector, element, at])?;
        self.append_of(Instruction::new(Opcode::InsertElement, ty), &[vector, element, at])
    }

    fn check_index(&self, opcode: Opcode, at: ValueId) -> Result<()> {
        let ty = self.type_of(at)?;
        match self.module.module.types.get(ty) {
            Type::Integer(_) => Ok(()),
            _ => self.fail_types(opcode, "the index is no integer", &[ty]),
        }
    }

    /// Builds `shufflevector`: elements of two vectors, counted through both; `None` is undefined.
    ///
    /// # Errors
    /// If the operands are no vectors of one type, or have no such element.
    pub fn shuffle_vector(
        &mut self,
        first: ValueId,
        second: ValueId,
        mask: &[Option<u32>],
    ) -> Result<ValueId> {
        let ty = self.type_of(first)?;
        let count = match self.module.module.types.get(ty) {
            Type::Vector { count, scalable: false, .. } => count,
            _ => return self.fail_types(Opcode::ShuffleVector, "the operand is no vector", &[ty]),
        };
        if mask.is_empty() || mask.iter().flatten().any(|&at| at >= count.saturating_mul(2)) {
            return self.fail_in(Opcode::ShuffleVector, "the mask selects no element");
        }
        let word = self.module.module.types.intern(Type::Integer(32));
        let mut elements = Vec::with_capacity(mask.len());
        for &at in mask {
            elements.push(match at {
                Some(at) => self.const_int(word, i128::from(at))?,
                None => self.intern(word, &NewConstant::Undef),
            });
        }
        let mask = self.const_vector(&elements)?;
        let ty = self.result_of(Opcode::ShuffleVector, &[first, second, mask])?;
        self.append_of(Instruction::new(Opcode::ShuffleVector, ty), &[first, second, mask])
    }

    /// Builds `extractvalue`.
    ///
    /// # Errors
    /// If the indices select nothing in the struct or array.
    pub fn extract_value(&mut self, aggregate: ValueId, indices: &[u32]) -> Result<ValueId> {
        let from = self.type_of(aggregate)?;
        let ty = self.selected(Opcode::ExtractValue, from, indices)?;
        let slice = Slice::extend(&mut self.body.indices, indices.iter().copied());
        let parts = Instruction {
            detail: slice.start,
            extra: slice.count,
            ..Instruction::new(Opcode::ExtractValue, ty)
        };
        self.append_of(parts, &[aggregate])
    }

    /// Builds `insertvalue`: the aggregate with another element.
    ///
    /// # Errors
    /// If the indices select nothing of the type of the element.
    pub fn insert_value(&mut self, aggregate: ValueId, element: ValueId, indices: &[u32]) -> Result<ValueId> {
        let (ty, found) = (self.type_of(aggregate)?, self.type_of(element)?);
        let wanted = self.selected(Opcode::InsertValue, ty, indices)?;
        if found != wanted {
            return self.fail_types(Opcode::InsertValue, "the element has another type", &[found, wanted]);
        }
        let slice = Slice::extend(&mut self.body.indices, indices.iter().copied());
        let parts = Instruction {
            detail: slice.start,
            extra: slice.count,
            ..Instruction::new(Opcode::InsertValue, ty)
        };
        self.append_of(parts, &[aggregate, element])
    }

    fn selected(&self, opcode: Opcode, ty: TypeId, indices: &[u32]) -> Result<TypeId> {
        let types = &self.module.module.types;
        let found = indices.iter().try_fold(ty, |ty, &index| rules::selected(types, ty, index));
        match found.filter(|_| !indices.is_empty()) {
            Some(found) => Ok(found),
            None => self.fail_types(opcode, "the indices select nothing", &[ty]),
        }
    }

    /// Builds `ret` with a value.
    ///
    /// # Errors
    /// If the function returns another type.
    pub fn ret(&mut self, value: ValueId) -> Result<()> {
        let ty = self.type_of(value)?;
        if ty != self.result {
            return self.fail_types(Opcode::Ret, "the function returns another type", &[ty, self.result]);
        }
        let void = self.void();
        self.append_of(Instruction::new(Opcode::Ret, void), &[value]).map(drop)
    }

    /// Builds `ret void`.
    ///
    /// # Errors
    /// If the function returns a value.
    pub fn ret_void(&mut self) -> Result<()> {
        let void = self.void();
        if self.result != void {
            return self.fail_types(Opcode::Ret, "the function returns another type", &[void, self.result]);
        }
        self.append(Instruction::new(Opcode::Ret, void), Vec::new()).map(drop)
    }

    /// Builds a jump.
    ///
    /// # Errors
    /// If there is no such block.
    pub fn br(&mut self, to: BlockId) -> Result<()> {
        let void = self.void();
        self.append(Instruction::new(Opcode::Br, void), alloc::vec![Operand::block(to)]).map(drop)
    }

    /// Builds a branch.
    ///
    /// # Errors
    /// If the condition is no `i1`, or there is no such block.
    pub fn cond_br(&mut self, condition: ValueId, then: BlockId, otherwise: BlockId) -> Result<()> {
        let ty = self.type_of(condition)?;
        if self.module.module.types.get(ty) != Type::Integer(1) {
            return self.fail_types(Opcode::Br, "the condition is no i1", &[ty]);
        }
        let void = self.void();
        let operands =
            alloc::vec![Operand::value(condition), Operand::block(then), Operand::block(otherwise)];
        self.append(Instruction::new(Opcode::Br, void), operands).map(drop)
    }

    /// Builds `switch`.
    ///
    /// # Errors
    /// If the value is no integer, a case is no constant of its type or occurs twice, or there is no such block.
    pub fn switch(&mut self, value: ValueId, default: BlockId, cases: &[(ValueId, BlockId)]) -> Result<()> {
        let ty = self.type_of(value)?;
        if !matches!(self.module.module.types.get(ty), Type::Integer(_)) {
            return self.fail_types(Opcode::Switch, "the value is no integer", &[ty]);
        }
        let mut operands = alloc::vec![Operand::value(value), Operand::block(default)];
        let mut seen = alloc::collections::BTreeSet::new();
        for &(case, block) in cases {
            let found = self.type_of(case)?;
            let is_number = self.module.module.integer(None, case).is_some()
                || matches!(
                    self.module.module.constant(None, case),
                    Some((crate::constants::Constant::WideInteger(_), _))
                );
            if found != ty || !is_number {
                return self.fail_types(Opcode::Switch, "a case is no integer of the type", &[found]);
            }
            if !seen.insert(case) {
                return self.fail_in(Opcode::Switch, "a case occurs twice");
            }
            operands.extend([Operand::value(case), Operand::block(block)]);
        }
        let void = self.void();
        self.append(Instruction::new(Opcode::Switch, void), operands).map(drop)
    }

    /// Builds `unreachable`.
    ///
    /// # Errors
    /// If the block has a terminator.
    pub fn unreachable(&mut self) -> Result<()> {
        let void = self.void();
        self.append(Instruction::new(Opcode::Unreachable, void), Vec::new()).map(drop)
    }

    /// Builds a call of a function, with its calling convention. The result of a call that returns nothing is
    /// [`ValueId::NONE`].
    ///
    /// # Errors
    /// If the arguments don't fit the function.
    pub fn call(&mut self, function: ValueId, arguments: &[ValueId]) -> Result<ValueId> {
        let ty = match self.function_of(function) {
            Ok(function) => function.symbol.ty,
            Err(_) => {
                return self.fail_in(Opcode::Call, "the callee is no function; call_with calls pointers");
            }
        };
        let arguments: Vec<Operand> = arguments.iter().map(|&id| Operand::value(id)).collect();
        self.call_with(ty, function, &arguments, &CallOptions::default())
    }

    /// Builds a call of anything that is a pointer to a function of this type.
    ///
    /// # Errors
    /// If the arguments don't fit the type, or the callee is no pointer to it.
    pub fn call_with(
        &mut self,
        function_type: TypeId,
        callee: ValueId,
        arguments: &[Operand],
        options: &CallOptions,
    ) -> Result<ValueId> {
        let (detail, result) = self.call_parts(Opcode::Call, function_type, callee, arguments, options)?;
        let mut operands = alloc::vec![Operand::value(callee)];
        operands.extend_from_slice(arguments);
        let flags = self.flags_of(result);
        self.append(Instruction { flags, detail, ..Instruction::new(Opcode::Call, result) }, operands)
    }

    /// Checks a call and adds what it is besides its operands. Returns its index and the type of the result.
    pub(super) fn call_parts(
        &mut self,
        opcode: Opcode,
        function_type: TypeId,
        callee: ValueId,
        arguments: &[Operand],
        options: &CallOptions,
    ) -> Result<(u32, TypeId)> {
        let Type::Function { result, parameters, variadic } = self.module.module.types.get(function_type)
        else {
            return self.fail_types(opcode, "the type of the call is no function", &[function_type]);
        };
        let callee_type = self.type_of(callee)?;
        let types = &self.module.module.types;
        if !types.is_pointer(callee_type) || types.pointee(callee_type).is_some_and(|of| of != function_type)
        {
            return self.fail_types(opcode, "the callee does not fit the type of the call", &[callee_type]);
        }
        let parameters = types.elements(parameters).to_vec();
        self.check_arguments(opcode, &parameters, variadic, arguments)?;
        self.check_attributes(options.attributes, result, &parameters, variadic)?;
        let known = self.function_of(callee).map_or(0, |function| function.calling_convention);
        let convention = options.convention.unwrap_or(known);
        if convention >= 1 << 10 {
            return self.fail_in(opcode, "a calling convention is a number below 1024");
        }
        let detail = narrow(self.body.calls.len() as u64);
        let (attributes, tail) = (options.attributes, u8::from(options.tail));
        let bundles = Slice::default();
        self.body.calls.push(Call { attributes, function_type, convention, tail, bundles });
        Ok((detail, result))
    }

    fn check_arguments(
        &self,
        opcode: Opcode,
        parameters: &[TypeId],
        variadic: bool,
        arguments: &[Operand],
    ) -> Result<()> {
        let fits =
            if variadic { arguments.len() >= parameters.len() } else { arguments.len() == parameters.len() };
        if !fits {
            return self.fail_in(opcode, "the number of arguments does not fit the function");
        }
        for (at, argument) in arguments.iter().enumerate() {
            let wanted = parameters.get(at).copied();
            let is_metadata = wanted.is_some_and(|ty| self.module.module.types.get(ty) == Type::Metadata);
            match argument.kind() {
                OperandKind::Value(value) => {
                    let found = self.type_of(value)?;
                    if wanted.is_some_and(|wanted| wanted != found) {
                        let types = [found, wanted.unwrap_or(found)];
                        return self.fail_types(opcode, "an argument has another type", &types);
                    }
                }
                OperandKind::Metadata(id) if is_metadata => {
                    let module = &self.module.module;
                    if module.metadata.get(id).or_else(|| self.body.metadata.get(id)).is_none() {
                        return self.fail_in(opcode, "metadata that does not exist is used");
                    }
                }
                _ => return self.fail_in(opcode, "an argument is no value"),
            }
        }
        Ok(())
    }
}
