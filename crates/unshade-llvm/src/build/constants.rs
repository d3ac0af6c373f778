//! Constants of a module that is built.

use super::{ModuleBuilder, refused};
use crate::constants::{NewConstant, NewExpression};
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::rules::{self, Canonical};
use crate::types::Type;
use alloc::vec::Vec;
use unshade_core::Result;

/// The most elements of a vector that is made of one value.
const MAX_SPLAT: u32 = 1 << 16;

impl ModuleBuilder {
    /// Returns an integer constant: any number that fits the type as a signed or as an unsigned one.
    ///
    /// # Errors
    /// If the type is no integer of at most 128 bits, or the number does not fit it.
    pub fn const_int(&mut self, ty: TypeId, number: impl Into<i128>) -> Result<ValueId> {
        let number = number.into();
        let Type::Integer(width) = self.module.types.get(ty) else {
            return refused("an integer constant of another type").map_err(|e| self.with_type(e, ty));
        };
        let fits = match width {
            128.. => true,
            width => number >= -(1 << (width - 1)) && number < 1 << width,
        };
        if !fits {
            return refused(alloc::format!("{number} does not fit into i{width}"));
        }
        if number == 0 {
            return Ok(self.intern(ty, &NewConstant::Null));
        }
        let low = (number & i128::from(u64::MAX)) as u64;
        if width <= 64 {
            let mut words = [low];
            rules::extend_sign(&mut words, width);
            return Ok(self.intern(ty, &NewConstant::Integer(words[0])));
        }
        let sign = if number < 0 { u64::MAX } else { 0 };
        let mut words = alloc::vec![sign; width.div_ceil(64) as usize];
        for (word, value) in words.iter_mut().zip([low, (number >> 64) as u64]) {
            *word = value;
        }
        let words = rules::wide_integer(&words, width);
        Ok(self.intern(ty, &NewConstant::WideInteger(&words)))
    }

    /// Returns `true` or `false`.
    pub fn const_bool(&mut self, value: bool) -> ValueId {
        let ty = self.module.types.intern(Type::Integer(1));
        match value {
            true => self.intern(ty, &NewConstant::Integer(u64::MAX)),
            false => self.intern(ty, &NewConstant::Null),
        }
    }

    /// Returns a floating-point constant, rounded to the nearest number of the type, ties to even.
    ///
    /// # Errors
    /// If the type is not `half`, `bfloat`, `float` or `double`.
    pub fn const_float(&mut self, ty: TypeId, number: f64) -> Result<ValueId> {
        let bits = number.to_bits();
        let bits = match self.module.types.get(ty) {
            Type::Double => bits,
            Type::Float => rounded(bits, 8, 23),
            Type::Half => rounded(bits, 5, 10),
            Type::BFloat => rounded(bits, 8, 7),
            _ => {
                return refused("a floating-point constant of another type")
                    .map_err(|e| self.with_type(e, ty));
            }
        };
        self.const_float_bits(ty, bits)
    }

    /// Returns the floating-point constant with these bits, which for a `float` are 32.
    ///
    /// # Errors
    /// If the type is not `half`, `bfloat`, `float` or `double`, or has fewer bits.
    pub fn const_float_bits(&mut self, ty: TypeId, bits: u64) -> Result<ValueId> {
        let width = match self.module.types.get(ty) {
            Type::Double => 64,
            Type::Float => 32,
            Type::Half | Type::BFloat => 16,
            _ => {
                return refused("a floating-point constant of another type")
                    .map_err(|e| self.with_type(e, ty));
            }
        };
        if width < 64 && bits >> width != 0 {
            return refused("floating-point constant has more bits than its type")
                .map_err(|e| self.with_type(e, ty));
        }
        let new = if bits == 0 { NewConstant::Null } else { NewConstant::Float(bits) };
        Ok(self.intern(ty, &new))
    }

    /// Returns the zero value of a type: `0`, `null` or `zeroinitializer`.
    ///
    /// # Errors
    /// If there are no constants of the type.
    pub fn const_null(&mut self, ty: TypeId) -> Result<ValueId> {
        self.plain(ty, &NewConstant::Null)
    }

    /// Returns `undef`.
    ///
    /// # Errors
    /// If there are no constants of the type.
    pub fn const_undef(&mut self, ty: TypeId) -> Result<ValueId> {
        self.plain(ty, &NewConstant::Undef)
    }

    /// Returns `poison`.
    ///
    /// # Errors
    /// If there are no constants of the type.
    pub fn const_poison(&mut self, ty: TypeId) -> Result<ValueId> {
        self.plain(ty, &NewConstant::Poison)
    }

    fn plain(&mut self, ty: TypeId, new: &NewConstant<'_>) -> Result<ValueId> {
        if !self.is_sized(ty) {
            return refused("a constant of a type without a size").map_err(|e| self.with_type(e, ty));
        }
        Ok(self.intern(ty, new))
    }

    /// Returns an array, struct or vector of these elements.
    ///
    /// # Errors
    /// If the type has other elements, or one is no constant.
    pub fn const_aggregate(&mut self, ty: TypeId, elements: &[ValueId]) -> Result<ValueId> {
        let count = match self.module.types.get(ty) {
            Type::Array { count, .. } => count,
            Type::Vector { count, scalable: false, .. } => u64::from(count),
            Type::Struct(structure) if !structure.opaque => u64::from(structure.fields.count),
            _ => return refused("an aggregate of another type").map_err(|e| self.with_type(e, ty)),
        };
        if count != elements.len() as u64 {
            return refused("the type of an aggregate has another number of elements")
                .map_err(|e| self.with_type(e, ty));
        }
        for (at, &element) in (0..).zip(elements) {
            let found = self.type_of(element)?;
            if self.module.types.child(ty, at) != Some(found) {
                return refused(alloc::format!("element {at} does not fit the type of the aggregate"))
                    .map_err(|e| self.with_type(e, found));
            }
        }
        if elements.is_empty() && matches!(self.module.types.get(ty), Type::Array { .. }) {
            return Ok(self.intern(ty, &NewConstant::Undef));
        }
        Ok(self.aggregate_of(ty, elements))
    }

    /// Returns a vector of these elements.
    ///
    /// # Errors
    /// If there are none, or they differ in type.
    pub fn const_vector(&mut self, elements: &[ValueId]) -> Result<ValueId> {
        let Some(&first) = elements.first() else { return refused("a vector has at least one element") };
        let element = self.type_of(first)?;
        let ty = self.vector(crate::ids::narrow(elements.len() as u64), element)?;
        self.const_aggregate(ty, elements)
    }

    /// Returns a vector of `count` times the same element.
    ///
    /// # Errors
    /// If the count is zero or more than 65536, or vectors can't have such elements.
    pub fn const_splat(&mut self, count: u32, element: ValueId) -> Result<ValueId> {
        if count > MAX_SPLAT {
            return refused("a constant vector has at most 65536 elements");
        }
        let elements: Vec<ValueId> = (0..count).map(|_| element).collect();
        self.const_vector(&elements)
    }

    /// Returns an array of bytes; a final zero is not added.
    pub fn const_text(&mut self, bytes: &[u8]) -> ValueId {
        let element = self.module.types.intern(Type::Integer(8));
        let ty = self.module.types.intern(Type::Array { count: bytes.len() as u64, element });
        let new = match bytes.iter().all(|&byte| byte == 0) {
            true if bytes.is_empty() => NewConstant::Undef,
            true => NewConstant::Null,
            false => NewConstant::Text(bytes),
        };
        self.intern(ty, &new)
    }

    /// Returns a cast of a constant, as an expression unless the types are equal.
    ///
    /// # Errors
    /// If the value is no constant, or the cast is not valid.
    pub fn const_cast(&mut self, opcode: Opcode, value: ValueId, to: TypeId) -> Result<ValueId> {
        let from = self.type_of(value)?;
        if !rules::is_cast_valid(&self.module.types, opcode, from, to) {
            let (from, to) = (self.type_text(from), self.type_text(to));
            return refused(alloc::format!("{} from '{from}' to '{to}' is not valid", opcode.mnemonic()));
        }
        let is_kept = matches!(
            opcode,
            Opcode::Trunc | Opcode::PtrToInt | Opcode::IntToPtr | Opcode::BitCast | Opcode::AddrSpaceCast
        );
        if !is_kept && !self.version.has_typed_pointers() {
            return refused(alloc::format!("LLVM 19 has no constant expression {}", opcode.mnemonic()));
        }
        if from == to {
            return Ok(value);
        }
        Ok(self.expression(to, opcode, 0, TypeId::NONE, &[value]))
    }

    /// Returns the address of an element of a constant pointer, as an expression.
    ///
    /// # Errors
    /// If the operands are no constants or don't fit `source`.
    pub fn const_element_ptr(
        &mut self,
        source: TypeId,
        pointer: ValueId,
        indices: &[ValueId],
    ) -> Result<ValueId> {
        let mut operands = alloc::vec![pointer];
        operands.extend_from_slice(indices);
        for &operand in &operands {
            self.type_of(operand)?;
        }
        if !self.is_sized(source) {
            return refused("getelementptr of a type without a size").map_err(|e| self.with_type(e, source));
        }
        let Some(ty) = rules::element_pointer_type(&mut self.module, None, source, &operands) else {
            return refused("operands don't fit getelementptr").map_err(|e| self.with_type(e, source));
        };
        Ok(self.expression(
            ty,
            Opcode::GetElementPtr,
            super::memory::in_bounds(self.version),
            source,
            &operands,
        ))
    }

    fn expression(
        &mut self,
        ty: TypeId,
        opcode: Opcode,
        flags: u16,
        of: TypeId,
        operands: &[ValueId],
    ) -> ValueId {
        let flags = u32::from(flags);
        let new = NewExpression { opcode, flags, ty: of, in_range: 0, bounds: &[], operands };
        self.intern(ty, &NewConstant::Expression(new))
    }

    /// Returns inline assembly, to be called as a function of this type.
    ///
    /// # Errors
    /// If the type is no function type.
    pub fn inline_assembly(
        &mut self,
        function_type: TypeId,
        text: &str,
        constraints: &str,
        has_side_effects: bool,
    ) -> Result<ValueId> {
        if !self.module.types.is_function(function_type) {
            return refused("inline assembly of a type that is no function")
                .map_err(|e| self.with_type(e, function_type));
        }
        let ty = self.pointer(function_type, self.module.data_layout.program_address_space())?;
        let (text, constraints) = (text.as_bytes(), constraints.as_bytes());
        let flags = u32::from(has_side_effects);
        Ok(self.intern(ty, &NewConstant::Assembly { text, constraints, flags, function_type }))
    }

    fn aggregate_of(&mut self, ty: TypeId, elements: &[ValueId]) -> ValueId {
        let form = Canonical::of(&self.module, self.version, ty, elements);
        self.intern(ty, &form.content(elements))
    }

    /// Returns the constant with this content and type, which is added if it is new.
    pub(super) fn intern(&mut self, ty: TypeId, new: &NewConstant<'_>) -> ValueId {
        self.constants.intern(&mut self.module, ty, new).0
    }
}

/// Returns the bits of a `double` as the nearest number with so many exponent and mantissa bits, ties to even.
fn rounded(bits: u64, exponent_bits: u32, mantissa_bits: u32) -> u64 {
    let sign = (bits >> 63) << (exponent_bits + mantissa_bits);
    let exponent = bits >> 52 & 0x7FF;
    let fraction = bits & ((1 << 52) - 1);
    let infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
    if exponent == 0x7FF {
        // A NaN stays quiet, with the upper bits of what it carries.
        let quiet =
            if fraction == 0 { 0 } else { 1 << (mantissa_bits - 1) | fraction >> (52 - mantissa_bits) };
        return sign | infinity | quiet;
    }
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let unbiased = i64::from((exponent & 0x7FF) as u16) - 1023;
    let biased = unbiased + bias;
    if biased >= (1 << exponent_bits) - 1 {
        return sign | infinity;
    }
    let significand = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    // Numbers that are too small for a normal one lose more bits.
    let lost = i64::from(52 - mantissa_bits) + (1 - biased).max(0);
    let Ok(lost @ ..64) = u32::try_from(lost) else { return sign };
    let kept = significand >> lost;
    let (rest, half) = (significand & ((1 << lost) - 1), 1 << (lost - 1));
    let up = u64::from(rest > half || (rest == half && kept & 1 == 1));
    let base = if biased > 0 { ((biased - 1) as u64) << mantissa_bits } else { 0 };
    // A carry out of the mantissa is the next exponent, or infinity.
    sign | (base + kept + up)
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn rounds_as_the_machine_does() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            0.1,
            1e-40,
            1e-45,
            7e-46,
            1e-300,
            f64::MIN_POSITIVE / 4.0,
            3.5e38,
            3.402_823_5e38,
            3.402_823_567e38,
            f64::INFINITY,
            16_777_217.0,
            16_777_219.0,
            1.0 + f64::from(f32::EPSILON) / 2.0,
        ];
        for number in numbers {
            for number in [number, -number] {
                let expected = u64::from((number as f32).to_bits());
                assert_eq!(rounded(number.to_bits(), 8, 23), expected, "{number:e}");
            }
        }
        assert_eq!(rounded(f64::NAN.to_bits(), 8, 23), 0x7FC0_0000);
        let half = |number: f64| rounded(number.to_bits(), 5, 10);
        assert_eq!(
            (half(1.0), half(65504.0), half(65520.0), half(2f64.powi(-24))),
            (0x3C00, 0x7BFF, 0x7C00, 1)
        );
        assert_eq!((half(2f64.powi(-25)), half(2f64.powi(-25) * 1.5), half(-2.0)), (0, 1, 0xC000));
    }
}
