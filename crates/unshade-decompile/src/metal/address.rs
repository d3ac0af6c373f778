//! Pointers as names with indices and members, and what they point to.

use super::expression::{Text, precedence as p};
use super::function::Printer;
use super::spelling::Kind;
use crate::ir::metal::types::{AddressSpace, ValueType};
use crate::ir::{Op, ShaderOp, TypeId, ValueId};

impl Printer<'_> {
    /// Returns what a pointer points to, as a text that can be set.
    pub(super) fn place(&mut self, pointer: ValueId) -> Text {
        if self.has_variable(pointer) {
            return Text::other(format!("*{}", self.name(pointer)), p::UNARY);
        }
        self.comes_from(pointer);
        self.computed_place(pointer)
    }

    /// Returns what a pointer points to by the operation that computes the pointer, also if a variable has it.
    fn computed_place(&mut self, pointer: ValueId) -> Text {
        let function = self.function;
        let base = function.input(pointer, 0);
        match function.op(pointer) {
            Op::Offset(_) => {
                let (base, index) = self.offset(pointer);
                Text::other(format!("{base}[{index}]"), p::POSTFIX)
            }
            Op::Element(_) => {
                let index = self.index(function.input(pointer, 1));
                let place = self.array(base);
                let is_matrix =
                    matches!(self.program.types.get(self.places.pointee[base]), ValueType::Vector(_, 64));
                let member = if is_matrix { ".thread_elements()" } else { "" };
                Text::other(format!("{place}{member}[{index}]"), p::POSTFIX)
            }
            Op::Member(..)
                if self.naming.library_name(&self.program.types, self.places.pointee[base]).is_some() =>
            {
                // Indices of a matrix select its columns; an atomic variable has no other name.
                match self.path(base) {
                    Some(place) => place,
                    None => {
                        let pointer = self.typed_pointer(base).wrapped(p::UNARY);
                        Text::other(format!("(*{pointer})"), p::POSTFIX)
                    }
                }
            }
            Op::Member(number, _) => {
                let name = self.member_name(base, number);
                match self.path(base) {
                    Some(place) => Text::other(format!("{}.{name}", place.wrapped(p::POSTFIX)), p::POSTFIX),
                    None => {
                        let pointer = self.typed_pointer(base).wrapped(p::POSTFIX);
                        Text::other(format!("{pointer}->{name}"), p::POSTFIX)
                    }
                }
            }
            Op::Symbol(symbol) => {
                let name = self.symbols.get(&symbol).cloned().unwrap_or_else(|| "unknown".into());
                Text::other(name, p::POSTFIX)
            }
            Op::Shader(ShaderOp::Argument) if self.is_reference(pointer) => {
                Text::other(self.argument_name(pointer), p::POSTFIX)
            }
            // Buffers have elements.
            Op::Shader(ShaderOp::Argument) if self.info.kind.is_some() => {
                Text::other(format!("{}[0]", self.argument_name(pointer)), p::POSTFIX)
            }
            _ => {
                let text = self.typed_pointer(pointer).wrapped(p::UNARY);
                Text::other(format!("*{text}"), p::UNARY)
            }
        }
    }

    /// Returns a pointer that something is done with: no address has a type, too.
    fn typed_pointer(&mut self, pointer: ValueId) -> Text {
        if self.has_variable(pointer) || !matches!(self.function.op(pointer), Op::Constant(_) | Op::Undefined)
        {
            return self.pointer(pointer);
        }
        let kind = self.kind_of(pointer);
        let ty = self.type_text(pointer, kind);
        Text::other(format!("({ty})nullptr"), p::UNARY)
    }

    /// Returns what a pointer points to, for an access that must happen as often as the code says.
    pub(super) fn volatile_place(&mut self, pointer: ValueId) -> Text {
        let types = &self.program.types;
        let pointee = self.places.pointee[pointer];
        self.used.add(types, pointee);
        let space = self.address_space(pointer).map_or("thread", super::spelling::space);
        let is_const = if self.places.is_const[pointer] { "const " } else { "" };
        let name = self.naming.type_name(types, pointee, false);
        let text = self.pointer(pointer).wrapped(p::UNARY);
        self.casts += 1;
        Text::other(format!("*({is_const}volatile {space} {name}*){text}"), p::UNARY)
    }

    /// Returns an array or a vector that a pointer points to.
    fn array(&mut self, pointer: ValueId) -> String {
        match self.path(pointer) {
            Some(place) => place.wrapped(p::POSTFIX),
            None => format!("({})", self.place(pointer).text),
        }
    }

    /// Returns what a pointer points to, if it has a name without `*`.
    fn path(&mut self, pointer: ValueId) -> Option<Text> {
        if self.has_variable(pointer) {
            return None;
        }
        let is_path = match self.function.op(pointer) {
            Op::Offset(_) | Op::Element(_) | Op::Member(..) | Op::Symbol(_) => true,
            Op::Shader(ShaderOp::Argument) => self.is_reference(pointer),
            _ => false,
        };
        is_path.then(|| self.place(pointer))
    }

    fn is_reference(&self, argument: ValueId) -> bool {
        let number = self.function.number(self.function.input(argument, 0));
        let number = number.and_then(|number| usize::try_from(number).ok());
        number
            .and_then(|number| self.info.parameters.get(number))
            .is_some_and(|parameter| parameter.is_reference)
    }

    /// Returns the name of an argument.
    pub(super) fn argument_name(&mut self, argument: ValueId) -> String {
        let number = self.function.number(self.function.input(argument, 0));
        let number = number.and_then(|number| usize::try_from(number).ok()).unwrap_or(usize::MAX);
        let is_input = self.info.parameters.get(number).is_some_and(|parameter| parameter.is_stage_input);
        match self.parameters.get(number) {
            Some(name) if is_input => format!("in.{name}"),
            Some(name) => name.clone(),
            None => "unknown".into(),
        }
    }

    fn member_name(&self, base: ValueId, number: u16) -> String {
        let known = match self.program.types.get(self.places.pointee[base]) {
            ValueType::Struct(structure) => self.naming.members.get(structure as usize),
            _ => None,
        };
        known
            .and_then(|names| names.get(usize::from(number)))
            .cloned()
            .unwrap_or_else(|| format!("m{number}"))
    }

    /// Returns the base and the index of an offset: those of offsets of offsets become one.
    fn offset(&mut self, pointer: ValueId) -> (String, String) {
        let function = self.function;
        let mut indices = vec![function.input(pointer, 1)];
        let mut base = function.input(pointer, 0);
        while matches!(function.op(base), Op::Offset(_))
            && !self.has_variable(base)
            && self.places.pointee[base] == self.places.pointee[pointer]
        {
            indices.insert(0, function.input(base, 1));
            base = function.input(base, 0);
        }
        // Numbers are last, as people write them, and so that a sum does not begin with a sign.
        indices.sort_by_key(|index| function.number(*index).is_some());
        let text = match indices[..] {
            [index] => self.index(index),
            _ => {
                let mut text = String::new();
                for (position, &index) in indices.iter().enumerate() {
                    // The first one is wide, so that the sums are.
                    let part = self.wide_index(index, position == 0);
                    match part.strip_prefix('-') {
                        Some(rest) if position > 0 && function.number(index).is_some() => {
                            text.push_str(&format!(" - {rest}"));
                        }
                        _ => {
                            text.push_str(if position > 0 { " + " } else { "" });
                            text.push_str(&part);
                        }
                    }
                }
                text
            }
        };
        (self.typed_pointer(base).wrapped(p::POSTFIX), text)
    }

    fn wide_index(&mut self, index: ValueId, is_first: bool) -> String {
        let narrow =
            matches!(self.function.op(index), Op::ZeroExtend | Op::SignExtend) && !self.has_variable(index);
        if !narrow {
            return self.value(index, Kind::Signed, p::SUM + 1);
        }
        let text = self.index(index);
        if is_first { format!("long({text})") } else { format!("({text})") }
    }

    /// Returns an index. Widening is implicit.
    pub(super) fn index(&mut self, index: ValueId) -> String {
        let function = self.function;
        if function.number(index).is_some() {
            return self.value(index, Kind::Signed, 0);
        }
        if !self.has_variable(index) {
            let wanted = match function.op(index) {
                Op::ZeroExtend => Some(Kind::Unsigned),
                Op::SignExtend => Some(Kind::Signed),
                _ => None,
            };
            if let Some(wanted) = wanted
                && function.width(function.input(index, 0)) > 1
            {
                return self.value(function.input(index, 0), wanted, 0);
            }
        }
        if function.width(index) < 64 {
            return self.value(index, Kind::Signed, 0);
        }
        self.loose(index).text
    }

    /// Returns a pointer.
    pub(super) fn pointer(&mut self, pointer: ValueId) -> Text {
        if self.has_variable(pointer) {
            return Text::other(self.name(pointer), p::POSTFIX);
        }
        self.computed_pointer(pointer)
    }

    /// Returns the text that computes a pointer.
    pub(super) fn computed_pointer(&mut self, pointer: ValueId) -> Text {
        let function = self.function;
        match function.op(pointer) {
            Op::Constant(_) | Op::Undefined => Text::other("nullptr", p::POSTFIX),
            Op::Offset(_) => {
                let (base, index) = self.offset(pointer);
                let (operator, index) = match index.strip_prefix('-') {
                    Some(rest) if !index.contains(' ') => ("-", rest.to_owned()),
                    _ if index.contains(' ') => ("+", format!("({index})")),
                    _ => ("+", index),
                };
                Text::other(format!("{base} {operator} {index}"), p::SUM)
            }
            Op::Shader(ShaderOp::Argument) if !self.is_reference(pointer) => {
                Text::other(self.argument_name(pointer), p::POSTFIX)
            }
            Op::Element(_)
                if function.number(function.input(pointer, 1)) == Some(0)
                    && matches!(
                        self.program.types.get(self.places.pointee[function.input(pointer, 0)]),
                        ValueType::Array(..)
                    ) =>
            {
                Text::other(self.array(function.input(pointer, 0)), p::POSTFIX)
            }
            Op::Element(_) | Op::Member(..) | Op::Symbol(_) | Op::Shader(ShaderOp::Argument) => {
                let place = self.computed_place(pointer);
                Text::other(format!("&{}", place.wrapped(p::UNARY)), p::UNARY)
            }
            Op::Reinterpret => self.pointer_cast(pointer),
            Op::Select => {
                let condition = self.truth(function.input(pointer, 0), p::CHOICE + 1);
                let [yes, no] = [1, 2].map(|index| function.input(pointer, index));
                let yes = self.typed_as(yes, pointer, p::CHOICE + 1);
                let no = self.typed_as(no, pointer, p::CHOICE);
                Text::other(format!("{condition} ? {yes} : {no}"), p::CHOICE)
            }
            _ => self.computed_value(pointer),
        }
    }

    fn pointer_cast(&mut self, pointer: ValueId) -> Text {
        let function = self.function;
        let input = function.input(pointer, 0);
        let types = &self.program.types;
        let kind = self.kind_of(pointer);
        // Handles, and samplers that are numbers in memory.
        if let Some((_, pointee)) = types.pointee(function.values[pointer].ty)
            && matches!(types.get(pointee), ValueType::Named(_))
        {
            return match self.path(input) {
                Some(place) => place,
                None => self.pointer(input),
            };
        }
        let ty = self.type_text(pointer, kind);
        self.casts += 1;
        if types.pointee(function.values[input].ty).is_none() {
            let text = self.value(input, Kind::Unsigned, 0);
            return Text::other(format!("reinterpret_cast<{ty}>({text})"), p::POSTFIX);
        }
        let text = self.pointer(input).wrapped(p::UNARY);
        let ty = self.shared_type(pointer, input).unwrap_or(ty);
        Text::other(format!("({ty}){text}"), p::UNARY)
    }

    /// Returns the type of a cast between pointers to numbers of different types that are accessed where it is: the same memory is
    /// accessed as the other type, too.
    fn shared_type(&mut self, pointer: ValueId, from: ValueId) -> Option<String> {
        let types = &self.program.types;
        let pointee = self.places.pointee[pointer];
        let (to, from) = (types.scalar(pointee), types.scalar(self.places.pointee[from]));
        let is_byte = |ty: ValueType| matches!(ty, ValueType::Integer(8, _) | ValueType::Bool);
        let is_number =
            matches!(to, ValueType::Integer(..) | ValueType::Float(_) | ValueType::BFloat) && !is_byte(to);
        let same_integer =
            matches!((to, from), (ValueType::Integer(a, _), ValueType::Integer(b, _)) if a == b);
        let is_accessed = self.schedule.inline[pointer];
        if !is_number || is_byte(from) || to == from || same_integer || !is_accessed {
            return None;
        }
        let (space, _) = types.pointee(self.function.values[pointer].ty)?;
        let ty = self.naming.type_name(types, pointee, false);
        let name = super::declaration::alias(&ty);
        self.used.aliases.insert(name.clone(), ty);
        let is_const = self.places.is_const[pointer] && space != AddressSpace::Constant;
        let is_const = if is_const { "const " } else { "" };
        Some(format!("{is_const}{} {name}*", super::spelling::space(space)))
    }

    /// Returns a value for a variable of another value's type: pointers are cast where they point to another type.
    pub(super) fn typed_as(&mut self, id: ValueId, like: ValueId, least: u8) -> String {
        if self.program.types.pointee(self.function.values[like].ty).is_none() {
            return self.any(id, least);
        }
        self.pointer_as(id, self.places.pointee[like], least)
    }

    /// Returns a value; a pointer as one to a type.
    pub(super) fn pointer_as(&mut self, id: ValueId, wanted: TypeId, least: u8) -> String {
        let types = &self.program.types;
        let Some((space, _)) = types.pointee(self.function.values[id].ty) else { return self.any(id, least) };
        if matches!(self.function.op(id), Op::Constant(_) | Op::Undefined) {
            return "nullptr".into();
        }
        self.used.add(types, wanted);
        let is_const = self.places.is_const[id];
        let own = self.naming.pointer_name(types, space, self.places.pointee[id], is_const);
        let other = self.naming.pointer_name(types, space, wanted, is_const);
        if own == other {
            return self.pointer(id).wrapped(least);
        }
        self.casts += 1;
        let text = self.pointer(id).wrapped(p::UNARY);
        Text::other(format!("({other}){text}"), p::UNARY).wrapped(least)
    }

    /// Returns the address space of a pointer.
    pub(super) fn address_space(&self, pointer: ValueId) -> Option<AddressSpace> {
        self.program.types.pointee(self.function.values[pointer].ty).map(|found| found.0)
    }
}
