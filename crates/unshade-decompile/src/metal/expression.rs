//! Expressions, with conversions between kinds of numbers.
//!
//! Metal's integers have signs, and narrow ones become `int` in arithmetic. A text knows the kind of its value, and whether
//! its upper bits are those of the value. Conversions are printed where C++ would compute something else.

use super::function::Printer;
use super::spelling::{Kind, integer, kind, literal};
use crate::hlsl::expression::BINARY;
pub(super) use crate::hlsl::expression::precedence;
use crate::ir::metal::types::ValueType;
use crate::ir::{Op, ShaderOp, TypeId, ValueId};
use precedence as p;

/// A text with its precedence and the kind of its value.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) precedence: u8,
    pub(super) kind: Kind,
    /// The width of the number in C++, if it is not that of the value: narrow integers become `int`.
    pub(super) is_promoted: bool,
    /// Whether bits above the width of the value may differ from what the value says.
    pub(super) is_dirty: bool,
}

impl Text {
    pub(super) fn new(text: impl Into<String>, precedence: u8, kind: Kind) -> Self {
        Self { text: text.into(), precedence, kind, is_promoted: false, is_dirty: false }
    }

    pub(super) fn other(text: impl Into<String>, precedence: u8) -> Self {
        Self::new(text, precedence, Kind::Other)
    }

    /// Returns the text in parentheses, if it binds less tightly than needed.
    pub(super) fn wrapped(self, least: u8) -> String {
        if self.precedence < least { format!("({})", self.text) } else { self.text }
    }
}

/// Comparisons, and their opposites.
const OPPOSITES: [(&str, &str); 6] =
    [("==", "!="), ("!=", "=="), ("<", ">="), ("<=", ">"), (">", "<="), (">=", "<")];

impl Printer<'_> {
    /// Returns a value in its own kind.
    pub(super) fn any(&mut self, id: ValueId, least: u8) -> String {
        let kind = self.kind_of(id);
        self.value(id, kind, least)
    }

    /// Returns a value as a kind of number: its C++ type is that of the value.
    pub(super) fn value(&mut self, id: ValueId, wanted: Kind, least: u8) -> String {
        if self.function.number(id).is_some() {
            return self.constant(id, wanted).wrapped(least);
        }
        let text = self.expression(id);
        self.converted(text, wanted, id).wrapped(least)
    }

    /// Returns a value whose C++ type is exactly that of the value, also for literals and narrow integers.
    pub(super) fn exact(&mut self, id: ValueId, wanted: Kind) -> String {
        let is_number = self.function.number(id).is_some();
        let width = self.function.width(id);
        let text = if is_number {
            let mut text = self.constant(id, wanted);
            text.is_promoted = wanted.is_integer() && (width != 32 || wanted == Kind::Unsigned);
            text
        } else {
            let text = self.expression(id);
            self.converted(text, wanted, id)
        };
        if text.is_promoted && wanted.is_integer() && self.function.lanes(id) == 1 {
            return format!("{}({})", integer(width, wanted == Kind::Signed), text.text);
        }
        text.text
    }

    /// Returns an integer of any sign.
    pub(super) fn loose(&mut self, id: ValueId) -> Text {
        if self.function.number(id).is_some() {
            let kind = self.kind_of(id);
            return self.constant(id, kind);
        }
        self.expression(id)
    }

    /// Returns a truth.
    pub(super) fn truth(&mut self, id: ValueId, least: u8) -> String {
        self.value(id, Kind::Bool, least)
    }

    /// Returns the opposite of a truth.
    pub(super) fn negated(&mut self, id: ValueId, least: u8) -> String {
        let function = self.function;
        if !self.has_variable(id) && function.lanes(id) == 1 {
            self.comes_from(id);
            if function.op(id) == Op::BoolNot {
                return self.truth(function.input(id, 0), least);
            }
            let is_comparison = matches!(
                function.op(id),
                Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::SignedLess | Op::SignedLessEqual
            );
            if let Some((operator, left, right, precedence)) =
                is_comparison.then(|| self.comparison(id)).flatten()
                && let Some((_, opposite)) = OPPOSITES.iter().find(|row| row.0 == operator)
            {
                return Text::new(format!("{left} {opposite} {right}"), precedence, Kind::Bool)
                    .wrapped(least);
            }
        }
        Text::new(format!("!{}", self.truth(id, p::UNARY)), p::UNARY, Kind::Bool).wrapped(least)
    }

    /// Returns a byte in memory as a truth.
    pub(super) fn truth_of_byte(&mut self, id: ValueId) -> String {
        let function = self.function;
        if function.op(id) == Op::ZeroExtend
            && !self.has_variable(id)
            && function.width(function.input(id, 0)) == 1
        {
            return self.truth(function.input(id, 0), 0);
        }
        match function.number(id) {
            Some(number) => (if number != 0 { "true" } else { "false" }).into(),
            None => self.loose(id).text,
        }
    }

    /// Returns a constant as a literal.
    fn constant(&mut self, id: ValueId, wanted: Kind) -> Text {
        let number = self.function.number(id).unwrap_or(0);
        let ty = match (self.scalar_of(id), wanted, self.function.width(id)) {
            // Constants that passes made have no type.
            (ValueType::Integer(..), Kind::Float, 32) => ValueType::Float(32),
            (ty, ..) => ty,
        };
        let kind = if wanted == Kind::Other { kind(ty) } else { wanted };
        let text = literal(number, ty, kind);
        let precedence = if text.starts_with('-') { p::UNARY } else { p::POSTFIX };
        Text::new(text, precedence, kind)
    }

    /// Converts a text to another kind.
    pub(super) fn converted(&mut self, text: Text, wanted: Kind, id: ValueId) -> Text {
        let (width, lanes) = (self.function.width(id), self.function.lanes(id));
        let is_clean = !text.is_dirty || !wanted.is_integer();
        if is_clean && (text.kind == wanted || !wanted.is_integer()) {
            return text;
        }
        // A narrow integer that became `int` has its value.
        if text.is_promoted
            && !text.is_dirty
            && wanted == Kind::Signed
            && width < 32
            && text.kind == Kind::Signed
        {
            return text;
        }
        self.casts += 1;
        let mut name = integer(width, wanted == Kind::Signed).to_owned();
        if lanes > 1 {
            name.push_str(&lanes.to_string());
        }
        Text::new(format!("{name}({})", text.text), p::POSTFIX, wanted)
    }

    /// Returns the text of a value: its variable, or what computes it.
    pub(super) fn expression(&mut self, id: ValueId) -> Text {
        if self.has_variable(id) {
            let kind = self.kind_of(id);
            return Text::new(self.name(id), p::POSTFIX, kind);
        }
        self.computed(id)
    }

    /// Returns the text that computes a value.
    pub(super) fn computed(&mut self, id: ValueId) -> Text {
        self.comes_from(id);
        if self.program.types.pointee(self.function.values[id].ty).is_some() {
            return self.computed_pointer(id);
        }
        self.computed_value(id)
    }

    /// Returns the text that computes a value, of a pointer if that is the result of an operation.
    pub(super) fn computed_value(&mut self, id: ValueId) -> Text {
        let function = self.function;
        let op = function.op(id);
        let own = self.kind_of(id);
        match op {
            Op::Constant(_) => self.constant(id, own),
            Op::Undefined => self.undefined(id, own),
            Op::Shader(ShaderOp::Argument) => {
                let kind = self.argument_kind(id);
                Text::new(self.argument_name(id), p::POSTFIX, kind)
            }
            Op::Copy => self.expression(function.input(id, 0)),
            Op::Load(_) => self.load(id),
            Op::Neg | Op::Not => self.unary_integer(id, if op == Op::Neg { "-" } else { "~" }),
            Op::FloatNegate => {
                let text = self.value(function.input(id, 0), Kind::Float, p::UNARY);
                let text = if text.starts_with('-') { format!("({text})") } else { text };
                Text::new(format!("-{text}"), p::UNARY, Kind::Float)
            }
            Op::BoolNot if function.lanes(id) == 1 => {
                let text = self.negated(function.input(id, 0), p::LOGIC_AND + 1);
                Text::new(text, p::LOGIC_AND + 1, Kind::Bool)
            }
            Op::BoolNot => {
                let text = self.truth(function.input(id, 0), p::UNARY);
                Text::new(format!("!{text}"), p::UNARY, Kind::Bool)
            }
            Op::FloatNan => self.call("isnan", &[(function.input(id, 0), Kind::Float)], Kind::Bool),
            Op::FloatAbs => self.call("fabs", &[(function.input(id, 0), Kind::Float)], Kind::Float),
            Op::FloatSqrt => self.call("sqrt", &[(function.input(id, 0), Kind::Float)], Kind::Float),
            Op::Shader(ShaderOp::FloatRemainder) => {
                let inputs = [0, 1].map(|index| (function.input(id, index), Kind::Float));
                self.call("fmod", &inputs, Kind::Float)
            }
            Op::Shl | Op::Shr | Op::Sar => self.shift(id),
            Op::ZeroExtend => self.cast(id, Kind::Unsigned, Kind::Unsigned),
            Op::SignExtend => self.cast(id, Kind::Signed, Kind::Signed),
            Op::Low => self.truncated(id),
            Op::SignedToFloat => self.cast(id, Kind::Signed, Kind::Float),
            Op::UnsignedToFloat => self.cast(id, Kind::Unsigned, Kind::Float),
            Op::FloatConvert => self.cast(id, Kind::Float, Kind::Float),
            Op::Shader(ShaderOp::FloatToSigned) => self.cast(id, Kind::Float, Kind::Signed),
            Op::Shader(ShaderOp::FloatToUnsigned) => self.cast(id, Kind::Float, Kind::Unsigned),
            Op::Reinterpret => self.reinterpreted(id, own),
            Op::Select => self.select(id, own),
            Op::Vector => self.vector(id, own),
            Op::Lanes(lanes) => self.lanes(id, lanes, own),
            Op::ExtractLane => {
                let vector = self.any(function.input(id, 0), p::POSTFIX);
                let index = self.index(function.input(id, 1));
                let member =
                    if function.lanes(function.input(id, 0)) == 64 { ".thread_elements()" } else { "" };
                Text::new(format!("{vector}{member}[{index}]"), p::POSTFIX, own)
            }
            Op::Aggregate | Op::WithMember(_) => self.aggregate(id),
            Op::Result(number) => {
                let aggregate = function.input(id, 0);
                let text = self.any(aggregate, p::POSTFIX);
                let ty = function.values[aggregate].ty;
                let member = match self.program.types.get(ty) {
                    ValueType::Struct(structure) => {
                        let names = self.naming.members.get(structure as usize);
                        let name = names.and_then(|names| names.get(usize::from(number)));
                        format!(".{}", name.map_or("unknown", String::as_str))
                    }
                    _ => format!("[{number}]"),
                };
                let kind = self.member_kind(ty, usize::from(number)).unwrap_or(own);
                Text::new(format!("{text}{member}"), p::POSTFIX, kind)
            }
            Op::Invoke(callee) => self.invocation(id, callee),
            Op::Metal(op) => self.metal(id, op),
            Op::Concat | Op::High | Op::Carry | Op::SignedCarry | Op::SignedBorrow => self.nameless(id, &op),
            op if BINARY.iter().any(|row| row.0 == op) => self.binary(id),
            op => self.nameless(id, &op),
        }
    }

    fn nameless(&mut self, id: ValueId, op: &Op) -> Text {
        self.unknown.push(format!("the operator {op:?}"));
        let kind = self.kind_of(id);
        Text::new("0", p::POSTFIX, kind)
    }

    fn undefined(&mut self, id: ValueId, own: Kind) -> Text {
        match self.scalar_of(id) {
            ty @ (ValueType::Struct(_) | ValueType::Array(..)) => {
                let _ = ty;
                Text::other(format!("{}{{}}", self.type_text(id, own)), p::POSTFIX)
            }
            ty if self.function.lanes(id) == 1 => Text::new(literal(0, ty, own), p::POSTFIX, own),
            _ => Text::new(format!("{}(0)", self.type_text(id, own)), p::POSTFIX, own),
        }
    }

    fn argument_kind(&self, id: ValueId) -> Kind {
        let number =
            self.function.number(self.function.input(id, 0)).and_then(|number| usize::try_from(number).ok());
        let parameter = number.and_then(|number| self.info.parameters.get(number));
        parameter.map_or(Kind::Other, |parameter| kind(self.program.types.scalar(parameter.ty)))
    }

    pub(super) fn member_kind(&self, ty: TypeId, number: usize) -> Option<Kind> {
        let field = self.program.types.structure(ty)?.fields.get(number)?;
        Some(kind(self.program.types.scalar(field.ty)))
    }

    /// Returns a value that is loaded.
    fn load(&mut self, id: ValueId) -> Text {
        let pointer = self.function.input(id, 0);
        let mut text = if self.function.values[id].is_volatile {
            self.volatile_place(pointer)
        } else {
            self.place(pointer)
        };
        let declared = self.program.types.scalar(self.places.pointee[pointer]);
        text.kind = match (kind(declared), self.kind_of(id)) {
            // A truth in memory is a number in a register.
            (Kind::Bool, Kind::Signed | Kind::Unsigned) => Kind::Bool,
            (declared @ (Kind::Signed | Kind::Unsigned), Kind::Signed | Kind::Unsigned) => declared,
            (_, own) => own,
        };
        text
    }

    /// Returns a call of a function with inputs of some kinds.
    pub(super) fn call(&mut self, name: &str, inputs: &[(ValueId, Kind)], kind: Kind) -> Text {
        let arguments: Vec<String> = inputs.iter().map(|(id, kind)| self.exact(*id, *kind)).collect();
        Text::new(format!("{name}({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    fn unary_integer(&mut self, id: ValueId, operator: &str) -> Text {
        let input = self.function.input(id, 0);
        let text = self.loose_operand(input);
        let is_narrow = self.function.width(id) < 32 && self.function.lanes(id) == 1;
        let kind = if is_narrow { Kind::Signed } else { text.kind };
        let inner = text.wrapped(p::UNARY);
        let inner = if inner.starts_with(operator) { format!("({inner})") } else { inner };
        let mut text = Text::new(format!("{operator}{inner}"), p::UNARY, kind);
        (text.is_promoted, text.is_dirty) = (is_narrow, is_narrow);
        text
    }

    /// Returns an integer of any sign; a truth from memory as an integer.
    fn loose_operand(&mut self, id: ValueId) -> Text {
        let mut text = self.loose(id);
        if text.kind == Kind::Bool && self.function.width(id) > 1 {
            (text.kind, text.is_promoted) = (Kind::Signed, true);
        }
        text
    }

    /// Returns the operands of an operator on integers that have the same width; `wanted` is the kind that both must have.
    fn integers(&mut self, a: ValueId, b: ValueId, wanted: Option<Kind>) -> (Text, Text) {
        let function = self.function;
        let is_vector = function.lanes(a) > 1 || function.lanes(b) > 1;
        let width = function.width(a);
        if is_vector {
            let kind = wanted.unwrap_or_else(|| {
                let kind = self.kind_of(a);
                if function.number(a).is_some() { self.kind_of(b) } else { kind }
            });
            return (self.vector_operand(a, kind), self.vector_operand(b, kind));
        }
        let (is_a, is_b) = (self.is_widened(a), self.is_widened(b));
        let is_number = |id: ValueId| function.number(id).is_some();
        let operand = |printer: &mut Self, id: ValueId, other: ValueId, is_bare: bool| {
            if is_number(id) {
                let kind = wanted.unwrap_or_else(|| printer.kind_of(other));
                return printer.constant(id, kind);
            }
            if is_bare {
                return printer.bare(id, wanted);
            }
            let text = printer.loose_operand(id);
            match wanted {
                Some(wanted) => printer.converted(text, wanted, id),
                None => text,
            }
        };
        // The other operand decides the type of the result.
        let left = operand(self, a, b, is_a && !is_b && !is_number(b) && width == 64);
        let right = operand(self, b, a, is_b && !is_number(a) && width == 64);
        (left, right)
    }

    /// Returns whether a value is a widened one of at most 32 bits, and has no variable.
    fn is_widened(&self, id: ValueId) -> bool {
        matches!(self.function.op(id), Op::ZeroExtend | Op::SignExtend)
            && !self.has_variable(id)
            && self.function.width(self.function.input(id, 0)) > 1
    }

    /// Returns a widened value without its conversion, which the operator makes.
    fn bare(&mut self, id: ValueId, wanted: Option<Kind>) -> Text {
        let inner = self.function.input(id, 0);
        let kind = if self.function.op(id) == Op::ZeroExtend { Kind::Unsigned } else { Kind::Signed };
        let text = self.loose_operand(inner);
        let mut text = self.converted(text, kind, inner);
        text.kind = wanted.unwrap_or(Kind::Signed);
        text
    }

    /// Returns an operand of an operator on vectors: a scalar that counts for all lanes stays one.
    fn vector_operand(&mut self, id: ValueId, kind: Kind) -> Text {
        if let Some(scalar) = self.splatted(id) {
            let text = self.exact(scalar, kind);
            let precedence = if text.starts_with('-') { p::UNARY } else { p::CHOICE };
            let is_word =
                text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '(' | ')'));
            return Text::new(text, if is_word { p::POSTFIX } else { precedence }, kind);
        }
        let text = self.expression(id);
        self.converted(text, kind, id)
    }

    /// Returns the scalar that all lanes of a vector are.
    pub(super) fn splatted(&self, id: ValueId) -> Option<ValueId> {
        let function = self.function;
        if self.has_variable(id) || function.lanes(id) == 1 {
            return None;
        }
        let first = function.input(id, 0);
        match function.op(id) {
            Op::Lanes(_) if function.lanes(first) == 1 => Some(first),
            Op::Vector if function.lanes(first) == 1 => {
                let number = function.number(first);
                let mut inputs = function.inputs(id).iter().map(|input| function.resolve(*input));
                inputs
                    .all(|input| input == first || number.is_some() && function.number(input) == number)
                    .then_some(first)
            }
            _ => None,
        }
    }

    fn binary(&mut self, id: ValueId) -> Text {
        let function = self.function;
        let op = function.op(id);
        if let Some((operator, left, right, precedence)) = self.comparison(id) {
            if right.is_empty() {
                return Text::new(left, precedence, Kind::Bool);
            }
            return Text::new(format!("{left} {operator} {right}"), precedence, Kind::Bool);
        }
        let Some(&(_, operator, precedence)) = BINARY.iter().find(|row| row.0 == op) else {
            return self.nameless(id, &op);
        };
        let (a, b) = (function.input(id, 0), function.input(id, 1));
        let kind = self.kind_of(id);
        match op {
            Op::BoolAnd | Op::BoolOr | Op::BoolXor => {
                let left = self.truth(a, precedence);
                let right = self.truth(b, precedence + 1);
                return Text::new(format!("{left} {operator} {right}"), precedence, Kind::Bool);
            }
            Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv => {
                let (left, right) = self.floats(id, a, b);
                let right = right.wrapped(precedence + 1);
                // A sum with a negative constant is a difference.
                let (operator, right) = match right.strip_prefix('-') {
                    Some(positive) if op == Op::FloatAdd && is_literal(positive) => {
                        ("-", positive.to_owned())
                    }
                    _ => (operator, right),
                };
                let text = format!("{} {operator} {right}", left.wrapped(precedence));
                return Text::new(text, precedence, Kind::Float);
            }
            _ => {}
        }
        let wanted = match op {
            Op::Udiv | Op::Urem => Some(Kind::Unsigned),
            Op::Sdiv | Op::Srem => Some(Kind::Signed),
            _ => None,
        };
        let is_narrow = function.width(id) < 32 && function.lanes(id) == 1;
        // A sum with a negative constant is a difference.
        if op == Op::Add
            && let Some(number) = function.number(b)
            && function.lanes(id) == 1
            && is_negative(number, function.width(id))
        {
            let left = self.loose_operand(a);
            let kind = if is_narrow { Kind::Signed } else { left.kind };
            let positive = crate::ir::fold::masked(number.wrapping_neg(), function.width(id));
            let text = format!("{} - {positive}", left.wrapped(precedence));
            let mut text = Text::new(text, precedence, kind);
            (text.is_promoted, text.is_dirty) = (is_narrow, is_narrow);
            return text;
        }
        let (left, right) = self.integers(a, b, wanted);
        let result = match (left.kind, right.kind) {
            _ if function.lanes(id) > 1 => wanted.unwrap_or(left.kind),
            _ if is_narrow => Kind::Signed,
            (Kind::Unsigned, _) if function.number(a).is_none() => Kind::Unsigned,
            (_, Kind::Unsigned) if function.number(b).is_none() => Kind::Unsigned,
            (left, _) if function.number(b).is_some() => left,
            (_, right) if function.number(a).is_some() => right,
            _ => Kind::Signed,
        };
        let result = if result.is_integer() { result } else { kind };
        let is_exact = matches!(op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem);
        let is_dirty = is_narrow && (!is_exact || left.is_dirty || right.is_dirty);
        let right = right.wrapped(precedence + 1);
        let mut text =
            Text::new(format!("{} {operator} {right}", left.wrapped(precedence)), precedence, result);
        (text.is_promoted, text.is_dirty) = (is_narrow, is_dirty);
        if is_narrow && is_exact && wanted == Some(Kind::Unsigned) {
            text.kind = Kind::Unsigned;
        }
        text
    }

    /// Returns the operands of an operator on floats; a scalar stays one beside a vector.
    fn floats(&mut self, id: ValueId, a: ValueId, b: ValueId) -> (Text, Text) {
        let operand = |printer: &mut Self, operand: ValueId, other: ValueId| {
            if printer.function.lanes(id) > 1
                && printer.splatted(operand).is_some()
                && printer.splatted(other).is_none()
            {
                return printer.vector_operand(operand, Kind::Float);
            }
            if printer.function.number(operand).is_some() {
                return printer.constant(operand, Kind::Float);
            }
            printer.expression(operand)
        };
        (operand(self, a, b), operand(self, b, a))
    }

    /// Returns the parts of a comparison: operator, operands and precedence. A test of a truth from memory has no operator.
    fn comparison(&mut self, id: ValueId) -> Option<(&'static str, String, String, u8)> {
        let function = self.function;
        let op = function.op(id);
        let &(_, operator, precedence) = BINARY.iter().find(|row| row.0 == op)?;
        let (a, b) = (function.input(id, 0), function.input(id, 1));
        let wanted = match op {
            Op::Equal | Op::NotEqual => None,
            Op::Less | Op::LessEqual => Some(Kind::Unsigned),
            Op::SignedLess | Op::SignedLessEqual => Some(Kind::Signed),
            Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => {
                let (left, right) = self.floats_of(a, b);
                // The constant is on the right.
                if matches!(op, Op::FloatLess | Op::FloatLessEqual)
                    && function.number(a).is_some()
                    && function.lanes(a) == 1
                {
                    let operator = if op == Op::FloatLess { ">" } else { ">=" };
                    return Some((operator, right.wrapped(p::SHIFT), left.wrapped(p::SHIFT), precedence));
                }
                return Some((
                    operator,
                    left.wrapped(precedence + 1),
                    right.wrapped(precedence + 1),
                    precedence,
                ));
            }
            _ => return None,
        };
        if self.program.types.pointee(function.values[a].ty).is_some() {
            let left = self.pointer(a).wrapped(precedence + 1);
            return Some((
                operator,
                left,
                self.pointer_as(b, self.places.pointee[a], precedence + 1),
                precedence,
            ));
        }
        let is_zero = function.number(b) == Some(0);
        if matches!(op, Op::NotEqual) && is_zero && function.lanes(a) == 1 {
            let text = self.loose(a);
            if text.kind == Kind::Bool {
                return Some((operator, text.text, String::new(), text.precedence));
            }
        }
        let (left, right) = match wanted {
            // Equal bits are equal numbers, if the upper ones are clean.
            None if function.lanes(a) == 1 => {
                let kind = if function.number(a).is_some() { self.kind_of(b) } else { self.kind_of(a) };
                let wanted = if function.width(a) < 32 { Some(kind) } else { None };
                self.integers(a, b, wanted)
            }
            wanted => self.integers(a, b, wanted),
        };
        let is_flipped = function.number(a).is_some() && function.lanes(a) == 1;
        let (left, right) = (left.wrapped(precedence + 1), right.wrapped(precedence + 1));
        if is_flipped {
            let operator = match operator {
                "<" => ">",
                "<=" => ">=",
                other => other,
            };
            return Some((operator, right, left, precedence));
        }
        Some((operator, left, right, precedence))
    }

    fn floats_of(&mut self, a: ValueId, b: ValueId) -> (Text, Text) {
        let wide = if self.function.lanes(a) > 1 { a } else { b };
        self.floats(wide, a, b)
    }

    fn shift(&mut self, id: ValueId) -> Text {
        let function = self.function;
        let (a, b) = (function.input(id, 0), function.input(id, 1));
        let is_narrow = function.width(id) < 32 && function.lanes(id) == 1;
        let (left, wanted) = match function.op(id) {
            Op::Shl => (self.shifted(a, None), None),
            Op::Shr => (self.shifted(a, Some(Kind::Unsigned)), Some(Kind::Unsigned)),
            _ => (self.shifted(a, Some(Kind::Signed)), Some(Kind::Signed)),
        };
        let right = match (function.number(b), self.splatted(b)) {
            (Some(number), _) => number.to_string(),
            (None, Some(scalar)) => self.any(scalar, p::SHIFT + 1),
            (None, None) if function.lanes(b) > 1 => self.value(b, left.kind, p::SHIFT + 1),
            _ => self.any(b, p::SHIFT + 1),
        };
        let operator = if function.op(id) == Op::Shl { "<<" } else { ">>" };
        let kind = wanted.unwrap_or(if is_narrow { Kind::Signed } else { left.kind });
        let mut text = Text::new(format!("{} {operator} {right}", left.wrapped(p::SHIFT)), p::SHIFT, kind);
        text.is_promoted = is_narrow;
        text.is_dirty = is_narrow && function.op(id) == Op::Shl;
        text
    }

    /// Returns the left operand of a shift: its C++ type decides that of the result.
    fn shifted(&mut self, id: ValueId, wanted: Option<Kind>) -> Text {
        if self.function.number(id).is_some() {
            let kind = wanted.unwrap_or(self.kind_of(id));
            let text = self.exact(id, kind);
            return Text::new(text, p::UNARY, kind);
        }
        let text = self.loose_operand(id);
        match wanted {
            Some(wanted) => self.converted(text, wanted, id),
            None => text,
        }
    }

    /// Returns a conversion of a value.
    fn cast(&mut self, id: ValueId, from: Kind, to: Kind) -> Text {
        let input = self.function.input(id, 0);
        let is_truth = self.function.width(input) == 1;
        // A signed bit is -1 where it is set; Metal's true is 1.
        let is_negative = is_truth && from == Kind::Signed;
        let from = if is_truth { Kind::Bool } else { from };
        self.casts += 1;
        let name = self.type_text(id, to);
        let mut text = if self.function.number(input).is_some() {
            self.constant(input, from)
        } else {
            let text = self.expression(input);
            self.converted(text, from, input)
        };
        // A truth in memory counts as a byte.
        if text.kind == Kind::Bool {
            text.is_promoted = false;
        }
        if is_negative {
            let mut negative = Text::new(format!("-{name}({})", text.text), p::UNARY, to);
            let is_narrow = to.is_integer() && self.function.width(id) < 32 && self.function.lanes(id) == 1;
            negative.is_promoted = is_narrow;
            return negative;
        }
        Text::new(format!("{name}({})", text.text), p::POSTFIX, to)
    }

    /// Returns the lower bits of an integer.
    fn truncated(&mut self, id: ValueId) -> Text {
        let input = self.function.input(id, 0);
        let own = self.kind_of(id);
        let text = self.loose_operand(input);
        self.casts += 1;
        Text::new(format!("{}({})", self.type_text(id, own), text.text), p::POSTFIX, own)
    }

    /// Returns the bits of a value as those of another type.
    fn reinterpreted(&mut self, id: ValueId, own: Kind) -> Text {
        let input = self.function.input(id, 0);
        let name = self.type_text(id, own);
        if self.program.types.pointee(self.function.values[input].ty).is_some() {
            let text = self.pointer(input).text;
            return Text::new(format!("reinterpret_cast<{name}>({text})"), p::POSTFIX, own);
        }
        let text = self.exact(input, self.kind_of(input));
        if self.kind_of(input) == Kind::Bool {
            self.unknown.push("the bits of truths".into());
        }
        Text::new(format!("as_type<{name}>({text})"), p::POSTFIX, own)
    }

    fn select(&mut self, id: ValueId, own: Kind) -> Text {
        let function = self.function;
        let [condition, yes, no] = [0, 1, 2].map(|index| function.input(id, index));
        if function.lanes(condition) > 1 {
            let [yes, no] = [yes, no].map(|input| self.exact(input, own));
            let condition = self.truth(condition, 0);
            return Text::new(format!("select({no}, {yes}, {condition})"), p::POSTFIX, own);
        }
        if own == Kind::Bool && function.lanes(id) == 1 {
            let number = |id: ValueId| function.number(id);
            match (number(yes), number(no)) {
                (_, Some(0)) => return self.logic(condition, "&&", p::LOGIC_AND, yes),
                (Some(1), _) => return self.logic(condition, "||", p::LOGIC_OR, no),
                _ => {}
            }
        }
        let condition = self.truth(condition, p::CHOICE + 1);
        let yes = self.value(yes, own, p::CHOICE + 1);
        let no = self.value(no, own, p::CHOICE);
        let mut text = Text::new(format!("{condition} ? {yes} : {no}"), p::CHOICE, own);
        text.is_promoted = own.is_integer() && function.width(id) < 32 && function.lanes(id) == 1;
        text
    }

    fn logic(&mut self, left: ValueId, operator: &str, precedence: u8, right: ValueId) -> Text {
        let left = self.truth(left, precedence);
        let right = self.truth(right, precedence + 1);
        Text::new(format!("{left} {operator} {right}"), precedence, Kind::Bool)
    }
}

/// Returns whether a text is a number.
fn is_literal(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
}

/// Returns whether a number is negative as a signed one, and not the smallest.
fn is_negative(number: u64, width: u8) -> bool {
    let sign = 1_u64 << (width.clamp(1, 64) - 1);
    number & sign != 0 && number != sign
}
