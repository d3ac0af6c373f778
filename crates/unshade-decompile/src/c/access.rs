//! Memory accesses in C: `base[index]`, parameters.

use super::Printer;
use super::expression::UNARY;
use super::member::address_of_member;
use super::spelling::Word;
use super::type_name::type_name;
use crate::address::Address;
use crate::alignment::Alignment;
use crate::ir::{Intrinsic, Op, Space, ValueId};
use crate::range;
use crate::types::Type;

impl Printer<'_, '_> {
    /// Returns the type of the text of a load.
    pub(super) fn loaded_type(&self, space: Space, id: ValueId) -> Type {
        let width = self.function.width(id);
        let wanted = self.types.of[id];
        self.access_type(space, self.function.input(id, 0), width, wanted)
    }

    /// Returns the type of an access: that of the memory if it has the same width and kind.
    fn access_type(&self, space: Space, address: ValueId, width: u8, wanted: Type) -> Type {
        let element = self.element(space, address);
        if let Some(element) = element
            && element.is_pointer()
            && width == 64
            && (wanted.is_pointer() || matches!(wanted, Type::Integer(..)))
        {
            return element;
        }
        let wanted = match wanted {
            // A pointer to pointers is printed as a pointer to numbers.
            Type::Bool | Type::Void => Type::Integer(width, false),
            wanted if wanted.is_pointer() => Type::Integer(width, false),
            wanted => wanted,
        };
        match (element, wanted) {
            (Some(Type::Integer(bits, sign)), Type::Integer(..)) if bits == width => {
                Type::Integer(bits, sign)
            }
            (_, Type::Integer(_, sign)) => Type::Integer(width, sign),
            (_, Type::Float(_)) => Type::Float(width),
            _ => Type::Integer(width, false),
        }
    }

    /// Returns the element type of the pointer or array.
    fn element(&self, space: Space, address: ValueId) -> Option<Type> {
        if self.function.width(address) == 64 {
            let parts = self.parts(address);
            return match self.base_type(parts.base?) {
                Type::Pointer(bits, kind) => Some(Type::of(bits, kind)),
                Type::StructurePointer(id) => self.member_type(id, &parts),
                _ => None,
            };
        }
        self.region_element(self.region_of(space, address), address)
    }

    /// Splits an address as it is printed: values with a variable stay whole.
    pub(super) fn parts(&self, id: ValueId) -> Address {
        Address::down_to(self.function, id, &|part| self.has_variable(part))
    }

    fn base_type(&self, base: ValueId) -> Type {
        match self.function.op(base) {
            Op::Symbol(_) => self.symbol_type(base),
            Op::Parameter(offset) => self
                .parameters
                .iter()
                .find(|parameter| parameter.offset == offset)
                .and_then(|parameter| parameter.ty)
                .unwrap_or(self.types.of[base]),
            _ => self.has_type(base),
        }
    }

    /// Returns the type in which a value is stored.
    pub(super) fn stored_type(&self, space: Space, address: ValueId, value: ValueId) -> Type {
        let width = self.function.width(value);
        if matches!(self.function.op(value), Op::Constant(_)) {
            // A constant takes the type of the memory if that has the same width.
            let fits = self.element(space, address).is_some_and(|element| element.bits() == width);
            return if fits { Type::Void } else { Type::Integer(width.max(8), false) };
        }
        match self.has_type(value) {
            Type::Float(bits) if bits == width => Type::Float(bits),
            Type::Integer(_, sign) => Type::Integer(width, sign),
            ty if ty.is_pointer() => ty,
            _ => Type::Integer(width, false),
        }
    }

    /// Returns an access as an lvalue, and its type. A constant that is stored has no wanted type: it takes that of
    /// the memory.
    pub(super) fn lvalue(
        &mut self,
        space: Space,
        address: ValueId,
        wanted: Type,
        is_volatile: bool,
    ) -> (String, Type) {
        let element = self.element(space, address);
        let width = match (wanted, element) {
            (Type::Void, Some(element)) => element.bits(),
            (Type::Void, None) => 32,
            (Type::Bool, _) => 8,
            (wanted, _) => wanted.bits(),
        };
        let ty = match (wanted, element) {
            (Type::Void, Some(element)) => element,
            _ => self.access_type(space, address, width, wanted),
        };
        let found = self.parts(address);
        if self.function.width(address) == 64 {
            return (self.pointer_access(address, &found, ty, is_volatile), ty);
        }
        let space = self.region_of(space, address);
        (self.region_access(space, address, &found, ty), ty)
    }

    fn pointer_access(&mut self, address: ValueId, found: &Address, ty: Type, is_volatile: bool) -> String {
        let pointer = pointer_name(ty, is_volatile);
        let Some(base) = found.base else {
            let text = self.value(address, 15, Type::Integer(64, false));
            self.casts += 1;
            return format!("*({pointer}){text}");
        };
        let has = self.base_type(base);
        let bytes = i64::from(ty.bits() / 8).max(1);
        if let Type::StructurePointer(id) = has
            && self.member_type(id, found).is_some()
        {
            let inner = self.base_text(base, has);
            if let Some((text, member)) = self.member(&inner, id, found) {
                if member == ty && !is_volatile {
                    return text;
                }
                self.casts += 1;
                return format!("*({pointer}){}", address_of_member(&text));
            }
        }
        let mut text = match has {
            Type::Pointer(..) => self.base_text(base, has),
            _ => {
                self.casts += 1;
                let inner = self.base_text(base, has);
                format!("(({pointer}){inner})")
            }
        };
        if self.fits(found, bytes) {
            if (has != ty.pointer() || is_volatile) && matches!(has, Type::Pointer(..)) {
                self.casts += 1;
                text = format!("(({pointer}){text})");
            }
            let index = self.index(found, bytes);
            return match index.as_str() {
                "0" => format!("*{text}"),
                index => format!("{text}[{index}]"),
            };
        }
        let index = bracketed(self.index(found, 1));
        self.casts += 2;
        format!("*({pointer})((char *){text} + {index})")
    }

    fn base_text(&mut self, base: ValueId, has: Type) -> String {
        match self.function.op(base) {
            Op::Symbol(_) => self.symbol(base),
            // The bits of a float are the address; a cast would convert its value.
            _ if matches!(has, Type::Float(_)) => self.value(base, 16, Type::Integer(64, false)),
            _ => self.value(base, 16, has),
        }
    }

    /// Returns whether an address is a multiple of a number of bytes, apart from its base.
    pub(super) fn fits(&mut self, found: &Address, bytes: i64) -> bool {
        let bytes = bytes.cast_unsigned();
        let function = self.function;
        found.offset.cast_unsigned().is_multiple_of(bytes)
            && found.terms.iter().all(|(id, scale)| {
                scale.is_multiple_of(bytes)
                    || bytes.is_multiple_of(*scale)
                        && self
                            .alignment
                            .get_or_insert_with(|| Alignment::new(function))
                            .is_multiple(*id, bytes / scale)
            })
    }

    /// Returns an index in elements of `bytes` bytes.
    pub(super) fn index(&mut self, found: &Address, bytes: i64) -> String {
        self.index_within(found, bytes, 0)
    }

    /// Returns an index whose single term binds at least as tightly as `least`.
    fn index_within(&mut self, found: &Address, bytes: i64, least: u8) -> String {
        let mut text = String::new();
        let count = found.terms.len() + usize::from(found.offset != 0);
        let may_overflow = self.may_overflow(found, bytes);
        for &(id, scale) in &found.terms {
            // A term that is a multiple by itself is divided.
            let (factor, divisor) = match scale / bytes.cast_unsigned() {
                0 => (1, bytes.cast_unsigned() / scale.max(1)),
                factor => (factor, 1),
            };
            let precedence = if factor != divisor {
                13
            } else if count > 1 {
                12
            } else {
                least
            };
            // A sum wraps around where it adds a negative number, which is divided as such.
            let width = self.function.width(id);
            let is_wide = matches!(self.function.op(id), Op::ZeroExtend | Op::SignExtend);
            let is_first_of_many = text.is_empty() && found.terms.len() > 1;
            let part = match divisor > 1 && !is_wide && (count > 1 || width == 64) {
                true => self.value(id, precedence, Type::Integer(width, true)),
                false if may_overflow && is_wide && (factor > 1 || is_first_of_many) => {
                    self.wide_index_part(id, precedence)
                }
                false => self.index_part(id, precedence),
            };
            if !text.is_empty() {
                text.push_str(" + ");
            }
            text.push_str(&part);
            match (factor, divisor) {
                (1, 1) => {}
                (1, _) => text.push_str(&format!(" / {divisor}")),
                _ => text.push_str(&format!(" * {factor}")),
            }
        }
        let offset = found.offset / bytes;
        if text.is_empty() {
            return offset.to_string();
        }
        match offset {
            0 => {}
            ..0 => text.push_str(&format!(" - {}", offset.unsigned_abs())),
            _ => text.push_str(&format!(" + {offset}")),
        }
        text
    }

    /// Returns whether an index in elements of `bytes` bytes may have more than 32 bits although its terms have not: C
    /// would compute it with 32. No array of larger elements has more than 2<sup>31</sup> of them in 16 GB.
    fn may_overflow(&self, found: &Address, bytes: i64) -> bool {
        let largest = |&(id, scale): &(ValueId, u64)| {
            let is_wide = matches!(self.function.op(id), Op::ZeroExtend | Op::SignExtend);
            let narrow = if is_wide { self.function.input(id, 0) } else { id };
            let number = range::largest(self.function, narrow);
            number.saturating_mul((scale / bytes.cast_unsigned()).max(1))
        };
        let most = found.terms.iter().map(largest).fold(0, u64::saturating_add);
        bytes < 8 && most > i32::MAX as u64
    }

    /// Returns a widened term of an index that C would not widen.
    fn wide_index_part(&mut self, id: ValueId, precedence: u8) -> String {
        let inner = self.function.input(id, 0);
        if self.function.width(inner) != 32 || self.has_variable(id) {
            return self.index_part(id, precedence);
        }
        self.casts += 1;
        format!("(long long){}", self.index_part(id, 15))
    }

    /// Returns a term of an index. A widened value needs no cast if C widens it the same way.
    fn index_part(&mut self, id: ValueId, precedence: u8) -> String {
        let inner = self.function.input(id, 0);
        match self.function.op(id) {
            Op::ZeroExtend | Op::SignExtend if self.function.width(inner) == 32 && !self.has_variable(id) => {
                let is_signed = self.function.op(id) == Op::SignExtend;
                self.value(inner, precedence, Type::Integer(32, is_signed))
            }
            _ => {
                let width = self.function.width(id);
                let ty = match self.has_type(id) {
                    Type::Integer(bits, sign) => Type::Integer(bits, sign),
                    _ => Type::Integer(width, false),
                };
                self.value(id, precedence, ty)
            }
        }
    }

    /// Returns pointer arithmetic: `p + n`.
    pub(super) fn pointer(&mut self, id: ValueId, precedence: u8, ty: Type) -> String {
        let found = Address::down_to(self.function, id, &|part| part != id && self.has_variable(part));
        if let Some(text) = self.object_pointer(&found, ty) {
            return super::expression_wrapped(text, 15, precedence);
        }
        let bytes = match ty {
            Type::StructurePointer(id) => self.module.structures.get(id).map(|found| i64::from(found.size)),
            ty => ty.target().map(|target| i64::from(target.bits() / 8)),
        };
        let (Some(base), Some(bytes)) = (found.base, bytes.map(|bytes| bytes.max(1))) else {
            let text = self.integer_sum(id);
            self.casts += 1;
            return super::expression_wrapped(format!("({})({text})", self.type_name(ty)), 15, precedence);
        };
        let has = self.base_type(base);
        let text = self.literal(base, UNARY, has).unwrap_or_else(|| self.base_text(base, has));
        if let Type::StructurePointer(id) = has
            && has != ty
            && let Some((text, member)) = self.member(&text, id, &found)
        {
            let text = address_of_member(&text).into_owned();
            if member.pointer() == ty && !member.is_pointer() {
                return super::expression_wrapped(text, 15, precedence);
            }
            self.casts += 1;
            return super::expression_wrapped(format!("({}){text}", self.type_name(ty)), 15, precedence);
        }
        if has == ty && self.fits(&found, bytes) {
            let index = self.index_within(&found, bytes, 12);
            if let Some(back) = index.strip_prefix('-') {
                return super::expression_wrapped(format!("{text} - {back}"), 12, precedence);
            }
            let index =
                if index.contains(' ') && index.starts_with('-') { format!("({index})") } else { index };
            return super::expression_wrapped(format!("{text} + {index}"), 12, precedence);
        }
        if let Some(step) = has.target().map(|target| i64::from(target.bits() / 8).max(1))
            && step > 1
            && self.fits(&found, step)
        {
            let index = bracketed(self.index(&found, step));
            self.casts += 1;
            return super::expression_wrapped(
                format!("({})({text} + {index})", self.type_name(ty)),
                15,
                precedence,
            );
        }
        let index = bracketed(self.index(&found, 1));
        self.casts += 2;
        let name = self.type_name(ty);
        super::expression_wrapped(format!("({name})((char *){text} + {index})"), 15, precedence)
    }

    fn integer_sum(&mut self, id: ValueId) -> String {
        let wide = Type::Integer(64, false);
        let (a, b) = (self.function.input(id, 0), self.function.input(id, 1));
        let left = self.value(a, 12, wide);
        let right = self.value(b, 13, wide);
        format!("{left} + {right}")
    }

    /// Returns the address operand of an atomic operation.
    pub(super) fn pointed(&mut self, address: ValueId, call: Intrinsic) -> String {
        let ty = match Type::of_operand(call.input(1)) {
            Type::Void => Type::Integer(32, false),
            ty => ty,
        };
        let space = if self.function.width(address) == 32 { Space::Shared } else { Space::Generic };
        let (lvalue, has) = self.lvalue(space, address, ty, false);
        let is_volatile = space == Space::Shared && self.has_volatile_shared;
        // `&p[0]` is printed as `p`.
        let text = match lvalue.strip_prefix('*') {
            Some(rest) if !rest.starts_with('(') => String::from(rest),
            _ => format!("&{lvalue}"),
        };
        if has == ty && !is_volatile {
            return text;
        }
        self.casts += 1;
        format!("({}){text}", type_name(ty.pointer()))
    }

    // Parameters.

    /// Returns the index of the parameter that contains a byte.
    fn parameter_at(&self, offset: u32) -> Option<usize> {
        self.parameters.iter().position(|parameter| {
            (parameter.offset..parameter.offset + parameter.size.max(1)).contains(&offset)
        })
    }

    /// Finds the fields of structures that are read: of two that overlap, the wider one.
    pub(super) fn find_fields(&mut self) {
        let mut reads: Vec<(u8, u32, Type)> = Vec::new();
        for (id, value) in self.function.values.entries() {
            if let Op::Parameter(offset) = value.op
                && self.schedule.uses[id] > 0
                && !self.function.is_replaced(id)
            {
                reads.push((value.width, offset, self.types.of[id]));
            }
        }
        reads.sort_by_key(|read| (std::cmp::Reverse(read.0), read.1));
        for (width, offset, ty) in reads {
            let size = u32::from(width) / 8;
            let Some(index) = self.parameter_at(offset) else { continue };
            let inside = offset - self.parameters[index].offset;
            let is_free =
                self.field_at(index, inside, size).is_none() && self.field_near(index, inside, size);
            if self.parameter_type(index).is_none() && is_free && inside.is_multiple_of(size.max(1)) {
                self.fields.push((index, inside, ty));
            }
        }
        self.fields.sort_unstable_by_key(|field| (field.0, field.1));
    }

    /// Returns the last field of a structure that begins before a byte.
    fn field_before(&self, index: usize, end: u32) -> Option<(u32, Type)> {
        let all = self.fields.iter().filter(|field| field.0 == index && field.1 < end);
        all.max_by_key(|field| field.1).map(|field| (field.1, field.2))
    }

    /// Returns the field of a structure that contains some bytes: its offset and type.
    fn field_at(&self, index: usize, inside: u32, size: u32) -> Option<(u32, Type)> {
        let (start, ty) = self.field_before(index, inside + 1)?;
        (inside + size <= start + u32::from(ty.bits().max(8)) / 8).then_some((start, ty))
    }

    /// Returns whether no field of a structure overlaps some bytes.
    fn field_near(&self, index: usize, inside: u32, size: u32) -> bool {
        let before = self.field_before(index, inside + size.max(1));
        before.is_none_or(|(start, ty)| start + u32::from(ty.bits().max(8)) / 8 <= inside)
    }

    /// Returns a parameter, or a part of one.
    pub(super) fn parameter(&mut self, offset: u32, width: u8, ty: Type, precedence: u8) -> String {
        let Some(index) = self.parameter_at(offset) else { return String::from("0") };
        let name = self.parameter_name(index);
        let inside = offset - self.parameters[index].offset;
        let size = u32::from(width) / 8;
        let (whole, start, has) = match self.parameter_type(index) {
            Some(Type::Bool) => (name.clone(), 0, Some(Type::Integer(8, false))),
            Some(has) => (name.clone(), 0, Some(has)),
            None => match self.known_member(index, inside, width) {
                Some((member, has)) => (format!("{name}{member}"), inside, Some(has)),
                None => self.inferred_field(index, inside, size),
            },
        };
        match has {
            Some(has) if inside == start && has.bits() == width => whole,
            Some(Type::Integer(64, _) | Type::Pointer(..) | Type::StructurePointer(_))
                if size == 4 && (inside - start).is_multiple_of(4) =>
            {
                self.casts += 1;
                let is_number = matches!(has, Some(Type::Integer(64, false)));
                let wide = if is_number { "" } else { "(unsigned long long)" };
                let part =
                    if inside == start { format!("{wide}{whole}") } else { format!("({wide}{whole} >> 32)") };
                match ty {
                    Type::Float(_) => format!("{}((int){part})", self.language.word(Word::FloatOfBits)),
                    Type::Integer(..) => {
                        super::expression_wrapped(format!("({}){part}", type_name(ty)), 15, precedence)
                    }
                    _ => super::expression_wrapped(format!("(unsigned int){part}"), 15, precedence),
                }
            }
            // The read extends into the next parameter.
            _ if size == 8 && inside + size > self.parameters[index].size => {
                self.two_parameters(offset, ty, precedence)
            }
            _ => {
                self.casts += 1;
                let text = format!("*({})((char *)&{name} + {inside})", type_name(ty.pointer()));
                super::expression_wrapped(text, 15, precedence)
            }
        }
    }

    /// Returns the member of a parameter whose structure the source code gives.
    fn known_member(&self, index: usize, inside: u32, width: u8) -> Option<(String, Type)> {
        let Some(Type::Structure(id)) = self.parameters[index].ty else { return None };
        self.parameter_member(id, inside).filter(|member| member.1.bits() == width)
    }

    /// Returns the field of a parameter that contains some bytes: its text, offset and type.
    fn inferred_field(&self, index: usize, inside: u32, size: u32) -> (String, u32, Option<Type>) {
        let name = self.parameter_name(index);
        let is_known = matches!(self.parameters[index].ty, Some(Type::Structure(_)));
        match self.field_at(index, inside, size).filter(|_| !is_known) {
            Some((start, has)) => (format!("{name}.at_{start}"), start, Some(has)),
            None => (name, 0, None),
        }
    }

    /// Returns two consecutive parameters as one number.
    fn two_parameters(&mut self, offset: u32, ty: Type, precedence: u8) -> String {
        let mut half = |offset| {
            let text = self.parameter(offset, 32, Type::Integer(32, false), 15);
            match self.parameter_at(offset).and_then(|index| self.parameter_type(index)) {
                Some(Type::Float(32)) => format!("{}({text})", self.language.word(Word::UintBits)),
                _ => format!("(unsigned int){text}"),
            }
        };
        let text = format!("((unsigned long long){} << 32 | {})", half(offset + 4), half(offset));
        self.casts += 3;
        match ty {
            Type::Float(_) => format!("{}{text}", self.language.word(Word::DoubleOfBits)),
            Type::Integer(64, true) | Type::Pointer(..) | Type::StructurePointer(_) => {
                let text = format!("({}){text}", self.type_name(ty));
                super::expression_wrapped(text, 15, precedence)
            }
            _ => text,
        }
    }

    /// Returns bytes of a parameter at a computed index.
    pub(super) fn parameter_access(&mut self, found: &Address, ty: Type) -> String {
        let offset = found.offset;
        let index = u32::try_from(offset).ok().and_then(|offset| self.parameter_at(offset));
        let Some(index) = index else { return String::from("0") };
        let inside = i64::from(self.parameters[index].offset);
        let rest = Address { offset: offset - inside, ..found.clone() };
        let text = self.index(&rest, 1);
        self.casts += 2;
        let name = self.parameter_name(index);
        format!("*({})((char *)&{name} + ({text}))", type_name(ty.pointer()))
    }
}

/// Returns the type of a pointer to a type.
pub(super) fn pointer_name(ty: Type, is_volatile: bool) -> String {
    format!("{}{}", if is_volatile { "volatile " } else { "" }, type_name(ty.pointer()))
}

pub(super) fn bracketed(text: String) -> String {
    if text.contains(' ') || text.starts_with('-') { format!("({text})") } else { text }
}
