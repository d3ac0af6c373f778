//! Attributes of functions, results and parameters: where they may be, what they exclude, and the types that they fit.
//!
//! Declarations and calls have the same rules; [`attribute_places`] and `attribute_kinds` hold the tables. LLVM drops an attribute that does
//! not fit a type when it reads a file, so that is a warning.
//!
//! Knowledge: the Language Reference; what LLVM 14 and 19 refuse.

use super::attribute_kinds::{
    BOOLEANS, CONFLICTS, EXCLUSIVE, EXCLUSIVE_NAMES, NUMBERS, ONCE, kind,
};
use super::context::{Context, has};
use super::findings::Findings;
use crate::attribute_places::{self, Fits};
use crate::attributes::{Attribute, index};
use crate::ids::{AttributeListId, TypeId};
use crate::types::Type;

const RULE: &str = "ir-attribute";
const DROPPED: &str = "ir-dropped";

/// What has attributes: a declaration, or a call.
#[derive(Clone, Copy)]
pub(super) struct Attributed {
    pub(super) list: AttributeListId,
    pub(super) function_type: TypeId,
    /// The number of arguments of a call, or of parameters.
    pub(super) arguments: usize,
    pub(super) is_call: bool,
    /// Whether it is an intrinsic, or inline assembly.
    pub(super) is_special: bool,
}

impl Context<'_, '_> {
    /// Checks all attributes of a declaration or call.
    pub(super) fn check_attributes(&self, of: Attributed, findings: &mut Findings) {
        let entries = self.module.attributes.list(of.list);
        if entries.is_empty() {
            return;
        }
        let Type::Function { result, parameters, .. } = self.get(of.function_type) else { return };
        let parameters = self.table().elements(parameters);
        for &(place, set) in entries {
            let set = self.set(set);
            match place {
                index::FUNCTION => self.function_set(of, set, findings),
                index::RESULT => self.value_set(set, result, attribute_places::RESULT, findings),
                parameter => {
                    let at = (parameter as usize).saturating_sub(1);
                    if !findings.require(at < of.arguments, RULE, "attributes of a parameter that does not exist") {
                        // Lists are sorted, so the rest does not exist either.
                        break;
                    }
                    // The type of a variadic argument is known to its call only.
                    let ty = parameters.get(at).copied().unwrap_or(TypeId::NONE);
                    self.value_set(set, ty, attribute_places::PARAMETER, findings);
                    self.parameter_set(of, set, at, findings);
                }
            }
        }
        self.all_parameters(of, result, parameters, findings);
    }

    /// Checks attributes of one value: their place, conflicts and types.
    fn value_set(&self, set: &[Attribute], ty: TypeId, place: u8, findings: &mut Findings) {
        for attribute in set {
            let Some(number) = attribute.kind() else { continue };
            let Some((places, fits)) = attribute_places::of(number) else { continue };
            let message = match place {
                attribute_places::RESULT => "an attribute that results don't have",
                _ => "an attribute that parameters don't have",
            };
            if places & place == 0 {
                findings.add_found(RULE, message, crate::attribute_name(number).unwrap_or("?").into());
                continue;
            }
            if !self.fits(fits, ty) {
                let name = crate::attribute_name(number).unwrap_or("?").into();
                findings.add_found(DROPPED, "an attribute that does not fit the type", name);
            }
            self.attribute_value(attribute, ty, findings);
        }
        conflicts(set, findings);
        let exclusive = EXCLUSIVE.iter().filter(|&&kind| has(set, kind)).count();
        let registers = usize::from(has(set, kind::STRUCT_RESULT) || has(set, kind::IN_REGISTER));
        let one = exclusive.saturating_add(registers) <= 1;
        findings.require(one, RULE, "attributes that say how a parameter is passed conflict");
        if has(set, kind::IMMEDIATE) {
            let others = set.iter().filter(|one| !matches!(one.kind(), Some(kind::IMMEDIATE | kind::RANGE)));
            findings.require(others.count() == 0, RULE, "immarg excludes other attributes");
        }
    }

    fn fits(&self, fits: Fits, ty: TypeId) -> bool {
        match fits {
            Fits::Any => true,
            Fits::Value => !matches!(self.get(ty), Type::Void),
            Fits::Pointer => self.is_pointer(ty),
            Fits::Pointers => self.is_pointer_or_vector(ty),
            Fits::Integer => self.is_integer(ty),
            Fits::Integers => self.is_integer_or_vector(ty),
            Fits::Float => {
                let mut ty = ty;
                for _ in 0..64 {
                    match self.get(ty) {
                        Type::Array { element, .. } => ty = element,
                        _ => break,
                    }
                }
                self.is_float_or_vector(ty)
            }
        }
    }

    /// Checks the number or type that an attribute holds.
    fn attribute_value(&self, attribute: &Attribute, ty: TypeId, findings: &mut Findings) {
        match *attribute {
            Attribute::Type(number, Some(held)) => {
                let sized = number == kind::ELEMENT_TYPE || self.types.is_sized(held);
                findings.require(sized, RULE, "an attribute with a type that has no size");
                let pointee = self.table().pointee(ty);
                let same = pointee.is_none_or(|pointee| self.same(pointee, held)) || self.generation >= 15;
                findings.require(same, RULE, "an attribute with another type than what the pointer points to");
                if matches!(number, kind::BY_VALUE | kind::BY_REFERENCE | kind::IN_ALLOCA | kind::PREALLOCATED) {
                    let size = self.module.data_layout.allocation_size(self.table(), held);
                    findings.require(size < 1 << 32, RULE, "an argument of 4 GiB or more");
                }
            }
            Attribute::Integer(kind::ALIGN, value) => {
                let is_power = value.is_power_of_two() && value <= 1 << 32;
                findings.require(is_power, RULE, "an alignment that is not a power of two up to 4 GiB");
            }
            Attribute::Ranges { kind: kind::RANGE, width, .. } => {
                let bits = self.scalar_bits(ty);
                let same = bits == 0 || bits == u64::from(width);
                findings.require(same, RULE, "a range of another number of bits than the type");
            }
            _ => {}
        }
    }

    fn parameter_set(&self, of: Attributed, set: &[Attribute], at: usize, findings: &mut Findings) {
        let is_immediate = has(set, kind::IMMEDIATE) && !of.is_call;
        findings.require(!is_immediate || of.is_special, RULE, "immarg is for parameters of intrinsics only");
        let has_element = has(set, kind::ELEMENT_TYPE);
        findings.require(!has_element || of.is_special, RULE, "elementtype is for intrinsics and inline assembly only");
        let Type::Function { parameters, .. } = self.get(of.function_type) else { return };
        if has(set, kind::STRUCT_RESULT) && at < parameters.len() {
            findings.require(at < 2, RULE, "sret is not on the first or second parameter");
        }
        if has(set, kind::IN_ALLOCA) {
            let is_last = at.saturating_add(1) == of.arguments;
            findings.require(is_last, RULE, "inalloca is not on the last parameter");
        }
    }

    fn all_parameters(&self, of: Attributed, result: TypeId, parameters: &[TypeId], findings: &mut Findings) {
        let entries = self.module.attributes.list(of.list);
        for &(kind, message) in ONCE {
            let sets = entries.iter().filter(|(place, _)| !matches!(*place, index::FUNCTION | index::RESULT));
            let count = sets.filter(|&&(_, set)| has(self.set(set), kind)).count();
            findings.require(count <= 1, RULE, message);
        }
        for &(place, set) in entries {
            if matches!(place, index::FUNCTION | index::RESULT) || !has(self.set(set), kind::RETURNED) {
                continue;
            }
            let at = (place as usize).saturating_sub(1);
            let Some(&ty) = parameters.get(at) else { continue };
            let same = self.can_be_returned(ty, result);
            findings.require(same, RULE, "a returned parameter has another type than the result");
        }
    }

    /// Returns whether a value of one type can become one of the other without changing a bit.
    fn can_be_returned(&self, ty: TypeId, result: TypeId) -> bool {
        if self.same(ty, result) {
            return true;
        }
        match (self.table().address_space(ty), self.table().address_space(result)) {
            (Some(one), Some(other)) => one == other && self.lanes(ty) == self.lanes(result),
            (None, None) => self.bits(ty) != 0 && self.bits(ty) == self.bits(result),
            (Some(space), None) | (None, Some(space)) => {
                let bits = self.module.data_layout.pointer_bits(space);
                bits == self.bits(ty) || bits == self.bits(result)
            }
        }
    }

    /// Checks the attributes of the function itself.
    fn function_set(&self, of: Attributed, set: &[Attribute], findings: &mut Findings) {
        for attribute in set {
            match *attribute {
                Attribute::Text { name, value } => {
                    let text = &self.module.attributes;
                    text_attribute(text.text(name), text.text(value), findings);
                }
                _ => {
                    let number = attribute.kind().unwrap_or(0);
                    let places = attribute_places::of(number);
                    let is_here = places.is_none_or(|(places, _)| places & attribute_places::FUNCTION != 0);
                    if !is_here {
                        let name = crate::attribute_name(number).unwrap_or("?").into();
                        findings.add_found(RULE, "an attribute that functions don't have", name);
                    }
                }
            }
        }
        conflicts(set, findings);
        self.exclusive_names(set, findings);
        if has(set, kind::OPTIMIZE_NONE) {
            let optimizes = [kind::OPTIMIZE_SIZE, kind::MIN_SIZE, kind::OPTIMIZE_DEBUG].iter().any(|&one| has(set, one));
            findings.require(!optimizes, RULE, "optnone and another level of optimisation conflict");
            findings.require(has(set, kind::NO_INLINE), RULE, "optnone needs noinline");
        }
        if has(set, kind::OPTIMIZE_DEBUG) {
            let sizes = has(set, kind::OPTIMIZE_SIZE) || has(set, kind::MIN_SIZE);
            findings.require(!sizes, RULE, "optdebug and another level of optimisation conflict");
        }
        self.function_numbers(of, set, findings);
    }

    fn exclusive_names(&self, set: &[Attribute], findings: &mut Findings) {
        let text = &self.module.attributes;
        for (names, message) in EXCLUSIVE_NAMES {
            let is_one = |attribute: &&Attribute| match **attribute {
                Attribute::Text { name, .. } => names.contains(&text.text(name)),
                _ => false,
            };
            findings.require(set.iter().filter(is_one).count() <= 1, RULE, message);
        }
    }

    fn function_numbers(&self, of: Attributed, set: &[Attribute], findings: &mut Findings) {
        for attribute in set {
            let Attribute::Integer(number, value) = *attribute else { continue };
            match number {
                kind::ALLOC_SIZE => self.allocation_size(of, value, findings),
                kind::SCALE_RANGE => {
                    let (least, most) = (value >> 32, value & 0xFFFF_FFFF);
                    findings.require(least > 0 || self.generation < 15, RULE, "vscale is at least one");
                    findings.require(most == 0 || least <= most, RULE, "the least vscale is larger than the most");
                    if self.generation >= 15 {
                        let powers = least.is_power_of_two() && (most == 0 || most.is_power_of_two());
                        findings.require(powers, RULE, "vscale is a power of two");
                    }
                }
                kind::ALLOC_KIND => {
                    // Bits: 0 alloc, 1 realloc, 2 free, 3 uninitialized, 4 zeroed, 5 aligned.
                    let one = (value & 7).count_ones() == 1;
                    findings.require(one, RULE, "allockind is one of alloc, realloc and free");
                    let frees = value & 4 != 0 && value & 0x38 != 0;
                    findings.require(!frees, RULE, "allockind of free says how memory is initialised");
                    findings.require(value & 0x18 != 0x18, RULE, "allockind is uninitialized and zeroed");
                }
                _ => {}
            }
        }
    }

    /// Checks the parameters that `allocsize` names: the size, and if not all ones the number of elements.
    fn allocation_size(&self, of: Attributed, value: u64, findings: &mut Findings) {
        let Type::Function { parameters, .. } = self.get(of.function_type) else { return };
        let parameters = self.table().elements(parameters);
        let named = [Some(value >> 32), Some(value & 0xFFFF_FFFF).filter(|&at| at != 0xFFFF_FFFF)];
        for at in named.into_iter().flatten() {
            let ty = usize::try_from(at).ok().and_then(|at| parameters.get(at));
            let is_integer = ty.is_some_and(|&ty| self.is_integer(ty));
            findings.require(is_integer, RULE, "allocsize names something that is no integer parameter");
        }
    }
}

fn conflicts(set: &[Attribute], findings: &mut Findings) {
    for &(one, other, message) in CONFLICTS {
        if has(set, one) {
            findings.require(!has(set, other), RULE, message);
        }
    }
}

/// Checks an attribute that is a text.
fn text_attribute(name: &[u8], value: &[u8], findings: &mut Findings) {
    let holds = if BOOLEANS.contains(&name) {
        matches!(value, b"" | b"true" | b"false")
    } else if NUMBERS.contains(&name) {
        is_number(value)
    } else {
        match name {
            b"frame-pointer" => matches!(value, b"all" | b"non-leaf" | b"none" | b"reserved"),
            b"sign-return-address" => matches!(value, b"none" | b"all" | b"non-leaf"),
            b"sign-return-address-key" => matches!(value, b"a_key" | b"b_key"),
            b"branch-target-enforcement" | b"branch-protection-pauth-lr" | b"guarded-control-stack" => {
                matches!(value, b"" | b"true" | b"false")
            }
            b"vector-function-abi-variant" => value.split(|&c| c == b',').all(is_vector_variant),
            _ => true,
        }
    };
    if !holds {
        let found = alloc::format!("{}={}", unshade_core::Escaped(name), unshade_core::Escaped(value));
        findings.add_found(RULE, "an attribute with an invalid value", found);
    }
}

fn is_number(text: &[u8]) -> bool {
    let number = core::str::from_utf8(text).ok().and_then(|text| text.parse::<u32>().ok());
    number.is_some()
}

/// Returns whether a text is a mangled name of a vector variant: `_ZGV`, an instruction set, a mask, a length.
fn is_vector_variant(text: &[u8]) -> bool {
    text.is_empty() || text.starts_with(b"_ZGV")
}
