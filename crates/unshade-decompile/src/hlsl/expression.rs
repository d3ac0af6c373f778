//! Expressions, with conversions between kinds of numbers.
//!
//! Values of the intermediate representation are bits. HLSL's are typed: where an operator wants another kind than the
//! text has, `asfloat`, `asint` and `asuint` reinterpret the bits, and casts change the signedness of integers.

use super::function::Printer;
use super::legacy;
use super::spelling::{self, Helper, HelperFunction};
use crate::ir::shader::data_type::{Scalar, ScalarKind};
use crate::ir::shader::interface::Passing;
use crate::ir::shader::{OperandKind, ShaderOp, Signedness};
use crate::ir::{Lanes, Op, ValueId};
use crate::shader::kinds::{Kind, said_kind, wanted};
use unshade_core::half::half_to_double;

/// Precedences of operators; higher ones bind more tightly.
pub(crate) mod precedence {
    pub(crate) const CHOICE: u8 = 1;
    pub(crate) const LOGIC_OR: u8 = 2;
    pub(crate) const LOGIC_AND: u8 = 3;
    pub(crate) const OR: u8 = 4;
    pub(crate) const XOR: u8 = 5;
    pub(crate) const AND: u8 = 6;
    pub(crate) const EQUALITY: u8 = 7;
    pub(crate) const RELATION: u8 = 8;
    pub(crate) const SHIFT: u8 = 9;
    pub(crate) const SUM: u8 = 10;
    pub(crate) const PRODUCT: u8 = 11;
    pub(crate) const UNARY: u8 = 12;
    pub(crate) const POSTFIX: u8 = 13;
}

use precedence as p;

/// A text with its precedence and the kind of its value.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) precedence: u8,
    pub(super) kind: ScalarKind,
}

impl Text {
    pub(super) fn new(text: impl Into<String>, precedence: u8, kind: ScalarKind) -> Self {
        Self { text: text.into(), precedence, kind }
    }

    /// Returns the text in parentheses, if it binds less tightly than needed.
    pub(super) fn wrapped(self, least: u8) -> String {
        if self.precedence < least { format!("({})", self.text) } else { self.text }
    }
}

/// The names of lanes.
pub(super) const LANES: [char; 4] = ['x', 'y', 'z', 'w'];

/// Binary operators: text, precedence, and whether the right operand must bind more tightly.
pub(crate) const BINARY: &[(Op, &str, u8)] = &[
    (Op::Add, "+", p::SUM),
    (Op::Sub, "-", p::SUM),
    (Op::Mul, "*", p::PRODUCT),
    (Op::And, "&", p::AND),
    (Op::Or, "|", p::OR),
    (Op::Xor, "^", p::XOR),
    (Op::Shl, "<<", p::SHIFT),
    (Op::Shr, ">>", p::SHIFT),
    (Op::Sar, ">>", p::SHIFT),
    (Op::Udiv, "/", p::PRODUCT),
    (Op::Sdiv, "/", p::PRODUCT),
    (Op::Urem, "%", p::PRODUCT),
    (Op::Srem, "%", p::PRODUCT),
    (Op::Equal, "==", p::EQUALITY),
    (Op::NotEqual, "!=", p::EQUALITY),
    (Op::Less, "<", p::RELATION),
    (Op::LessEqual, "<=", p::RELATION),
    (Op::SignedLess, "<", p::RELATION),
    (Op::SignedLessEqual, "<=", p::RELATION),
    (Op::BoolAnd, "&&", p::LOGIC_AND),
    (Op::BoolOr, "||", p::LOGIC_OR),
    (Op::BoolXor, "!=", p::EQUALITY),
    (Op::FloatAdd, "+", p::SUM),
    (Op::FloatSub, "-", p::SUM),
    (Op::FloatMul, "*", p::PRODUCT),
    (Op::FloatDiv, "/", p::PRODUCT),
    (Op::FloatEqual, "==", p::EQUALITY),
    (Op::FloatNotEqual, "!=", p::EQUALITY),
    (Op::FloatLess, "<", p::RELATION),
    (Op::FloatLessEqual, "<=", p::RELATION),
];

/// Returns a number as a literal.
pub(super) fn literal(bits: u64, kind: ScalarKind, width: u8) -> String {
    match (kind, width) {
        (ScalarKind::Bool, _) | (_, 1) => (if bits != 0 { "true" } else { "false" }).into(),
        (ScalarKind::Float, 64) => match f64::from_bits(bits) {
            number if number.is_finite() => format!("{}L", float_digits(format!("{number:?}"))),
            _ => format!("asdouble({}u, {}u)", bits as u32, bits >> 32),
        },
        (ScalarKind::Float, 16) => match half_to_double(bits as u16) as f32 {
            number if number.is_finite() => float_digits(format!("{number:?}")),
            _ => format!("(half)f16tof32({bits:#x})"),
        },
        (ScalarKind::Float, _) => match f32::from_bits(bits as u32) {
            number if number.is_finite() && (number == 0.0 || number.is_normal()) => {
                float_digits(format!("{number:?}"))
            }
            _ => format!("asfloat({:#x})", bits as u32),
        },
        (ScalarKind::Signed, width) => {
            let shift = 64 - u32::from(width.min(64));
            let number = ((bits << shift) as i64) >> shift;
            match number {
                i64::MIN => "(int64_t)0x8000000000000000ull".into(),
                -2_147_483_648 if width == 32 => "(int)0x80000000".into(),
                number if width == 64 && i32::try_from(number).is_err() => format!("{number}ll"),
                number => number.to_string(),
            }
        }
        (ScalarKind::Unsigned, 64) if bits > u64::from(u32::MAX) => format!("{bits:#x}ull"),
        (ScalarKind::Unsigned, _) if bits >= 0x1_0000 => format!("{bits:#x}u"),
        (ScalarKind::Unsigned, _) => bits.to_string(),
    }
}

/// Returns the digits of a float as HLSL has them: with a point.
fn float_digits(text: String) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

impl Printer<'_> {
    /// Returns the text of a value as a kind of number.
    pub(super) fn value(&mut self, id: ValueId, want: Kind, least: u8) -> String {
        if let Some(number) = self.function.number(id) {
            let kind = match want {
                Kind::Known(kind) => kind,
                _ => self.kinds[id],
            };
            if kind == ScalarKind::Float && self.has_no_literal(number) {
                self.unknown.push(format!("the number {}", f32::from_bits(number as u32)));
            }
            let text = literal(number, kind, self.function.width(id));
            return Text::new(&text, if text.starts_with('-') { p::UNARY } else { p::POSTFIX }, kind)
                .wrapped(least);
        }
        let text = self.expression(id, want);
        let width = self.function.width(id);
        let lanes = self.function.lanes(id);
        self.converted(text, want, width, lanes).wrapped(least)
    }

    /// Returns the text of a value as what an operator wants of it.
    pub(super) fn input(&mut self, user: ValueId, index: usize, least: u8) -> String {
        let want = wanted(self.function, user, index);
        let id = self.function.input(user, index);
        self.value(id, want, least)
    }

    /// Returns the type of a value as a kind of number.
    pub(super) fn type_of(&self, kind: ScalarKind, width: u8, lanes: u16) -> String {
        spelling::vector(self.scalar(kind, width), lanes)
    }

    /// Returns the scalar type of a kind and width.
    pub(super) fn scalar(&self, kind: ScalarKind, width: u8) -> Scalar {
        let is_minimum = width == 16 && !self.program.has_native_16_bit;
        let kind = if width == 1 { ScalarKind::Bool } else { kind };
        Scalar { kind, bits: if width == 1 { 32 } else { width }, is_minimum }
    }

    /// Converts a text to another kind.
    pub(super) fn converted(&mut self, text: Text, want: Kind, width: u8, lanes: u16) -> Text {
        let Kind::Known(want) = want else { return text };
        if text.kind == want || width == 1 {
            return text;
        }
        if want == ScalarKind::Bool {
            // Booleans in memory are integers.
            let text = self.converted(text, Kind::Known(ScalarKind::Unsigned), width, lanes);
            let ty = spelling::vector(Scalar::BOOL, lanes);
            return Text::new(format!("({ty}){}", text.wrapped(p::UNARY)), p::UNARY, want);
        }
        if legacy::is_legacy(self.program) {
            return self.legacy_conversion(text, want, width, lanes);
        }
        let is_bits = text.kind == ScalarKind::Float || want == ScalarKind::Float;
        if !is_bits && text.kind != ScalarKind::Bool && want != ScalarKind::Bool {
            let ty = self.type_of(want, width, lanes);
            return Text::new(format!("({ty}){}", text.wrapped(p::UNARY)), p::UNARY, want);
        }
        if text.kind == ScalarKind::Bool {
            let ty = self.type_of(want, width, lanes);
            return Text::new(format!("({ty}){}", text.wrapped(p::UNARY)), p::UNARY, want);
        }
        let name = match (want, width) {
            (ScalarKind::Float, 32) => "asfloat",
            (ScalarKind::Signed, 32) => "asint",
            (ScalarKind::Unsigned, 32) => "asuint",
            (ScalarKind::Float, 16) if self.program.has_native_16_bit => "asfloat16",
            (ScalarKind::Signed, 16) if self.program.has_native_16_bit => "asint16",
            (ScalarKind::Unsigned, 16) if self.program.has_native_16_bit => "asuint16",
            (_, 64) => return self.converted_double(text, want, lanes),
            _ => {
                self.unknown.push(format!("the bits of a number of {width} bits"));
                "bits"
            }
        };
        Text::new(format!("{name}({})", text.text), p::POSTFIX, want)
    }

    /// Reinterprets a double as an integer of 64 bits, or the other way round, by functions that the text defines.
    fn converted_double(&mut self, text: Text, want: ScalarKind, lanes: u16) -> Text {
        let function = match want {
            ScalarKind::Float => HelperFunction::DoubleOfBits,
            _ => HelperFunction::BitsOfDouble,
        };
        if lanes > 4 {
            self.unknown.push("the bits of a long vector of doubles".into());
        }
        self.helpers.push(Helper::of_words(function));
        let name = spelling::helper_name(function);
        let from = match (want, text.kind) {
            (ScalarKind::Float, ScalarKind::Signed) => {
                let ty = self.type_of(ScalarKind::Unsigned, 64, lanes);
                format!("({ty}){}", text.wrapped(p::UNARY))
            }
            _ => text.text,
        };
        let called = Text::new(
            format!("{name}({from})"),
            p::POSTFIX,
            if want == ScalarKind::Float { want } else { ScalarKind::Unsigned },
        );
        if want == ScalarKind::Signed { self.converted(called, Kind::Known(want), 64, lanes) } else { called }
    }

    /// Returns the text of a value that is no scalar constant: the name of its variable, or what computes it.
    fn expression(&mut self, id: ValueId, want: Kind) -> Text {
        if let Some(vector) = self.matrix_vector(id) {
            return vector;
        }
        if self.has_variable(id) {
            let class = self.variables.of(id);
            return Text::new(self.name(id), p::POSTFIX, self.kinds[class]);
        }
        self.computed(id, want)
    }

    /// Returns the text that computes a value.
    pub(super) fn computed(&mut self, id: ValueId, want: Kind) -> Text {
        let function = self.function;
        let kind = self.kinds[id];
        let width = function.width(id);
        if let Some(text) = self.legacy_value(id) {
            return text;
        }
        if let Some(&(op, operator, level)) = BINARY.iter().find(|row| row.0 == function.op(id)) {
            return self.binary(id, op, operator, level, want);
        }
        match function.op(id) {
            Op::Undefined if function.lanes(id) > 1 => {
                let ty = self.type_of(kind, width, function.lanes(id));
                Text::new(format!("({ty})0"), p::UNARY, kind)
            }
            Op::Undefined => Text::new(literal(0, kind, width), p::POSTFIX, kind),
            Op::Vector => self.vector(id, want),
            Op::Lanes(lanes) => self.lanes(id, lanes, want),
            Op::Neg | Op::FloatNegate => self.prefix(id, "-", kind),
            Op::Not => self.prefix(id, "~", kind),
            Op::BoolNot => self.prefix(id, "!", ScalarKind::Bool),
            Op::Select => self.choice(id, want),
            Op::FloatAbs => self.call("abs", id, ScalarKind::Float),
            Op::FloatSqrt => self.call("sqrt", id, ScalarKind::Float),
            Op::FloatNan => self.call("isnan", id, ScalarKind::Bool),
            Op::PopCount => self.call("countbits", id, ScalarKind::Unsigned),
            Op::ZeroExtend => self.cast(id, ScalarKind::Unsigned),
            Op::SignExtend if function.width(function.input(id, 0)) == 1 => {
                if function.lanes(id) > 1 && self.program.model.0 >= 6 {
                    let condition = self.input(id, 0, p::UNARY);
                    let ty = self.type_of(ScalarKind::Signed, width, function.lanes(id));
                    return Text::new(format!("-({ty}){condition}"), p::UNARY, ScalarKind::Signed);
                }
                let condition = self.input(id, 0, p::CHOICE + 1);
                Text::new(format!("{condition} ? -1 : 0"), p::CHOICE, ScalarKind::Signed)
            }
            Op::SignExtend => self.cast(id, ScalarKind::Signed),
            Op::Low => self.cast(id, if kind == ScalarKind::Float { ScalarKind::Signed } else { kind }),
            Op::FloatConvert | Op::SignedToFloat | Op::UnsignedToFloat => self.cast(id, ScalarKind::Float),
            Op::Carry => {
                let want = Kind::Known(ScalarKind::Unsigned);
                let (a, b) = (function.input(id, 0), function.input(id, 1));
                let (x, y) = (self.value(a, want, p::SUM), self.value(b, want, p::SUM + 1));
                let again = self.value(a, want, p::RELATION + 1);
                Text::new(format!("{x} + {y} < {again}"), p::RELATION, ScalarKind::Bool)
            }
            Op::Copy => {
                let input = function.input(id, 0);
                Text::new(self.value(input, Kind::Known(kind), p::POSTFIX), p::POSTFIX, kind)
            }
            Op::Load(_) => {
                let (text, scalar) = self.place(function.input(id, 0));
                Text::new(text, p::POSTFIX, scalar.map_or(kind, |scalar| scalar.kind))
            }
            Op::Result(_) => Text::new(self.second_result(function.input(id, 0)), p::POSTFIX, kind),
            Op::Invoke(callee) => self.invocation(id, callee),
            Op::Shader(op) => self.shader(id, op),
            op => {
                self.unknown.push(format!("the operator {op:?}"));
                Text::new("0", p::POSTFIX, kind)
            }
        }
    }

    /// Returns a binary operator. Integers take the signedness that the operator needs.
    fn binary(&mut self, id: ValueId, op: Op, operator: &str, level: u8, want: Kind) -> Text {
        let function = self.function;
        let mut wants = [0, 1].map(|index| wanted(function, id, index));
        let mut kind = self.kinds[id];
        // Where signedness makes no difference, both sides take the same one.
        if wants[0] == Kind::Integer {
            let is_compare = function.width(id) == 1;
            let sides = [0, 1].map(|index| self.shown_kind(function.input(id, index)));
            kind = match want {
                Kind::Known(ScalarKind::Unsigned) if !is_compare => ScalarKind::Unsigned,
                _ if sides.contains(&Some(ScalarKind::Unsigned)) => ScalarKind::Unsigned,
                _ => ScalarKind::Signed,
            };
            wants = [Kind::Known(kind), if op == Op::Shl { Kind::Integer } else { Kind::Known(kind) }];
        }
        if matches!(op, Op::Shr | Op::Sar | Op::Shl) && wants[1] == Kind::Integer {
            let shown = self.shown_kind(function.input(id, 1));
            if shown == Some(ScalarKind::Float) {
                wants[1] = Kind::Known(ScalarKind::Unsigned);
            }
        }
        kind = match op {
            Op::Shr | Op::Udiv | Op::Urem => ScalarKind::Unsigned,
            Op::Sar | Op::Sdiv | Op::Srem => ScalarKind::Signed,
            _ if function.width(id) == 1 => ScalarKind::Bool,
            op if op.gives_float() => ScalarKind::Float,
            _ => kind,
        };
        if self.function.lanes(id) > 1
            && self.program.model.0 >= 6
            && let Some(name) = [(Op::BoolAnd, "and"), (Op::BoolOr, "or")].iter().find(|row| row.0 == op)
        {
            return self.call(name.1, id, ScalarKind::Bool);
        }
        let is_associative =
            matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::BoolAnd | Op::BoolOr);
        let [mut a, mut b] = [0, 1].map(|index| function.input(id, index));
        if self.swaps_operands(op, a, b) {
            std::mem::swap(&mut a, &mut b);
            wants.swap(0, 1);
        }
        // `a * (b / c)` is not `a * b / c`.
        let is_chain = is_associative && function.op(b) == op;
        let mut left = self.value(a, wants[0], level);
        // A literal has the type of the other side, but for shifts, whose type is that of the left side.
        if op == Op::Shl && kind == ScalarKind::Unsigned && left.bytes().all(|byte| byte.is_ascii_digit()) {
            left.push('u');
        }
        let right = self.value(b, wants[1], if is_chain { level } else { level + 1 });
        let operator = match right.strip_prefix('-') {
            // `a + -b` is `a - b`: the same operation.
            Some(_) if op == Op::FloatAdd => {
                let positive = right.trim_start_matches('-');
                return Text::new(format!("{left} - {positive}"), level, kind);
            }
            _ => operator,
        };
        if let Some(number) = self.subtracted(op, kind, b) {
            return Text::new(format!("{left} - {number}"), level, kind);
        }
        Text::new(format!("{left} {operator} {right}"), level, kind)
    }

    /// Returns the number that a sum of unsigned numbers subtracts.
    fn subtracted(&self, op: Op, kind: ScalarKind, b: ValueId) -> Option<u64> {
        let width = u32::from(self.function.width(b));
        let number = self.function.number(b).filter(|_| op == Op::Add && kind == ScalarKind::Unsigned)?;
        let number = number.wrapping_neg() & (u64::MAX >> 64_u32.saturating_sub(width));
        (number < 1 << 15).then_some(number)
    }

    /// Returns whether operands are written in the opposite order: FXC exchanges those of sums and products.
    fn swaps_operands(&self, op: Op, a: ValueId, b: ValueId) -> bool {
        let is_number = |id: ValueId| self.function.number(id).is_some();
        self.program.model.0 < 6
            && (!legacy::is_legacy(self.program) || self.is_computed(a) && self.is_computed(b))
            && matches!(op, Op::FloatMul | Op::FloatAdd | Op::Add | Op::And | Op::Or | Op::Xor | Op::Mul)
            && !is_number(a)
            && !is_number(b)
    }

    /// Returns the kind that the text of a value has; `None` for constants, which have any.
    pub(super) fn shown_kind(&mut self, id: ValueId) -> Option<ScalarKind> {
        match self.function.op(id) {
            Op::Constant(_) => None,
            _ if self.has_variable(id) => Some(self.kinds[self.variables.of(id)]),
            op if op.gives_float() => Some(ScalarKind::Float),
            _ => Some(self.declared_kind(id).unwrap_or(self.kinds[id])),
        }
    }

    fn prefix(&mut self, id: ValueId, operator: &str, kind: ScalarKind) -> Text {
        let input = self.function.input(id, 0);
        let is_reinterpreted = matches!(self.function.op(id), Op::Neg | Op::Not)
            && self.shown_kind(input) == Some(ScalarKind::Float);
        let text = match is_reinterpreted {
            true => self.value(input, Kind::Known(ScalarKind::Signed), p::UNARY),
            false => self.input(id, 0, p::UNARY),
        };
        let kind = match self.function.op(id) {
            Op::Neg | Op::Not => {
                self.shown_kind(input).filter(|kind| *kind != ScalarKind::Float).unwrap_or(kind)
            }
            Op::FloatNegate => ScalarKind::Float,
            _ => kind,
        };
        let text = if text.starts_with(operator) { format!("({text})") } else { text };
        Text::new(format!("{operator}{text}"), p::UNARY, kind)
    }

    fn choice(&mut self, id: ValueId, want: Kind) -> Text {
        let kind = match want {
            Kind::Known(kind) => kind,
            _ => self.kinds[id],
        };
        let kind = if self.function.width(id) == 1 { ScalarKind::Bool } else { kind };
        let [yes, no] = [1, 2].map(|index| self.function.input(id, index));
        if self.function.lanes(self.function.input(id, 0)) > 1 && self.program.model.0 >= 6 {
            let condition = self.input(id, 0, 0);
            let (yes, no) = (self.value(yes, Kind::Known(kind), 0), self.value(no, Kind::Known(kind), 0));
            return Text::new(format!("select({condition}, {yes}, {no})"), p::POSTFIX, kind);
        }
        let condition = self.input(id, 0, p::CHOICE + 1);
        let yes = self.value(yes, Kind::Known(kind), p::CHOICE + 1);
        let no = self.value(no, Kind::Known(kind), p::CHOICE);
        Text::new(format!("{condition} ? {yes} : {no}"), p::CHOICE, kind)
    }

    /// Returns a cast to the type of a value.
    fn cast(&mut self, id: ValueId, kind: ScalarKind) -> Text {
        let (width, lanes) = (self.function.width(id), self.function.lanes(id));
        let ty = self.type_of(kind, width, lanes);
        let text = self.input(id, 0, p::UNARY);
        Text::new(format!("({ty}){text}"), p::UNARY, kind)
    }

    /// Returns a call with all inputs as arguments.
    fn call(&mut self, name: &str, id: ValueId, kind: ScalarKind) -> Text {
        let arguments: Vec<String> =
            (0..self.function.inputs(id).len()).map(|index| self.input(id, index, 0)).collect();
        Text::new(format!("{name}({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    /// Returns the `clamp` that a minimum of a maximum is: both compilers make the two of it, in this order.
    fn clamped(&mut self, id: ValueId, op: ShaderOp) -> Option<String> {
        let of = match op {
            ShaderOp::FloatMin => ShaderOp::FloatMax,
            ShaderOp::SignedMin => ShaderOp::SignedMax,
            ShaderOp::UnsignedMin => ShaderOp::UnsignedMax,
            _ => return None,
        };
        let inner = self.function.input(id, 0);
        if self.has_variable(inner)
            || self.function.op(inner) != Op::Shader(of)
            || legacy::is_legacy(self.program)
        {
            return None;
        }
        let [number, least] = [0, 1].map(|index| self.input(inner, index, 0));
        let most = self.input(id, 1, 0);
        Some(format!("clamp({number}, {least}, {most})"))
    }

    /// Returns the `abs` that the greater of an integer and its negative is.
    fn absolute(&mut self, id: ValueId, op: ShaderOp) -> Option<String> {
        let function = self.function;
        let [number, other] = [0, 1].map(|index| function.input_or_self(id, index));
        let is_negative = function.op(other) == Op::Neg && function.input_or_self(other, 0) == number;
        let is_absolute = op == ShaderOp::SignedMax && is_negative && !self.has_variable(other);
        (is_absolute && self.program.model.0 >= 6).then(|| format!("abs({})", self.input(id, 0, 0)))
    }

    /// Returns a vector that is put together.
    fn vector(&mut self, id: ValueId, want: Kind) -> Text {
        let (width, lanes) = (self.function.width(id), self.function.lanes(id));
        let kind = match want {
            Kind::Known(kind) if width > 1 => kind,
            _ => self.kinds[id],
        };
        let parts: Vec<ValueId> =
            (0..self.function.inputs(id).len()).map(|index| self.function.input(id, index)).collect();
        let ty = self.type_of(kind, width, lanes);
        // A vector of one scalar is that scalar in every lane.
        if let [first, rest @ ..] = &parts[..]
            && self.function.lanes(*first) == 1
            && rest.iter().all(|part| part == first)
        {
            let text = self.value(*first, Kind::Known(kind), p::UNARY);
            return Text::new(format!("({ty}){text}"), p::UNARY, kind);
        }
        let parts: Vec<String> =
            parts.into_iter().map(|part| self.value(part, Kind::Known(kind), 0)).collect();
        Text::new(format!("{ty}({})", parts.join(", ")), p::POSTFIX, kind)
    }

    /// Returns lanes of a vector.
    fn lanes(&mut self, id: ValueId, lanes: Lanes, want: Kind) -> Text {
        let vector = self.function.input(id, 0);
        if self.function.op(vector) == Op::Shader(ShaderOp::LoadConstant) && !self.has_variable(vector) {
            return self.constant_lanes(vector, lanes.numbers(), want);
        }
        if self.function.op(vector) == Op::Undefined && lanes.numbers().len() == 1 {
            return Text::new(
                literal(0, self.kinds[id], self.function.width(id)),
                p::POSTFIX,
                self.kinds[id],
            );
        }
        if let Some(entries) = self.matrix_lanes(vector, lanes.numbers()) {
            return entries;
        }
        let text = self.expression(vector, want);
        let kind = text.kind;
        if self.function.lanes(vector) == 1 {
            if lanes.numbers().len() == 1 {
                return text;
            }
            // A scalar in every lane.
            let ty = self.type_of(kind, self.function.width(id), self.function.lanes(id));
            return Text::new(format!("({ty}){}", text.wrapped(p::UNARY)), p::UNARY, kind);
        }
        let text = text.wrapped(p::POSTFIX);
        match lanes.numbers() {
            // Vectors of more than four lanes have no names of lanes.
            numbers if self.function.lanes(vector) <= 4 && numbers.iter().all(|number| *number < 4) => {
                let names: String = numbers.iter().map(|number| LANES[usize::from(*number)]).collect();
                Text::new(format!("{text}.{names}"), p::POSTFIX, kind)
            }
            [number] => Text::new(format!("{text}[{number}]"), p::POSTFIX, kind),
            numbers => {
                let parts: Vec<String> = numbers.iter().map(|number| format!("{text}[{number}]")).collect();
                let ty = self.type_of(kind, self.function.width(id), numbers.len() as u16);
                Text::new(format!("{ty}({})", parts.join(", ")), p::POSTFIX, kind)
            }
        }
    }

    fn invocation(&mut self, id: ValueId, callee: crate::ir::CalleeId) -> Text {
        let name = self.function.callees[callee].name.clone();
        let parameters = self.program.functions.iter().find(|function| function.name == name);
        let result = parameters.and_then(|function| function.result.as_ref()).and_then(|ty| ty.scalar());
        let wants: Vec<Kind> = parameters.map_or_else(Vec::new, |function| {
            let kind = |parameter: &crate::ir::shader::interface::ShaderParameter| {
                parameter.ty.scalar().map_or(Kind::Any, |scalar| Kind::Known(scalar.kind))
            };
            function.parameters.iter().map(kind).collect()
        });
        let mut arguments: Vec<String> = (0..self.function.inputs(id).len())
            .map(|index| {
                if let Some(matrix) = self.matrix_input(id, index) {
                    return matrix;
                }
                let input = self.function.input(id, index);
                self.argument(input, wants.get(index).copied().unwrap_or(Kind::Any))
            })
            .collect();
        let kind = result.map_or(self.kinds[id], |scalar| scalar.kind);
        let name = self.naming.function(&name);
        // What takes the result is set by the call.
        let place = parameters.and_then(|function| {
            function.parameters.iter().position(|parameter| parameter.passing == Passing::Result)
        });
        if let Some(index) = place.filter(|index| *index < arguments.len()) {
            let target = arguments.remove(index);
            return Text::new(format!("{target} = {name}({})", arguments.join(", ")), p::CHOICE, kind);
        }
        Text::new(format!("{name}({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    /// Returns an argument: a place as a variable, anything else as a value.
    pub(super) fn argument(&mut self, id: ValueId, want: Kind) -> String {
        match self.function.op(id) {
            Op::Shader(op) if op.result() == OperandKind::Place => self.place(id).0,
            Op::Shader(op) if op.result() == OperandKind::Handle => self.handle(id),
            _ => self.value(id, want, 0),
        }
    }

    /// Returns an operation of a shader.
    fn shader(&mut self, id: ValueId, op: ShaderOp) -> Text {
        let kind = match op.result() {
            OperandKind::Float => ScalarKind::Float,
            OperandKind::Signed => ScalarKind::Signed,
            OperandKind::Unsigned => ScalarKind::Unsigned,
            OperandKind::Bool => ScalarKind::Bool,
            _ if op.number_kind().is_none() && self.kinds[id] == ScalarKind::Float => ScalarKind::Float,
            _ => said_kind(op).unwrap_or(self.kinds[id]),
        };
        if let Some(text) = self.stage_value(id, op) {
            return text;
        }
        if let Some(text) = self.resource_value(id, op) {
            return text;
        }
        if let Some(text) = self.product(id, op) {
            return text;
        }
        if let Some(text) = self.query_value(id, op) {
            return text;
        }
        if let Some(text) = self.node_value(id, op) {
            return text;
        }
        if let Some(text) = self.hit_value(id, op) {
            return text;
        }
        if op == ShaderOp::ExtractLane {
            let want = Kind::Known(self.kinds[id]);
            let vector = self.value(self.function.input(id, 0), want, p::POSTFIX);
            let index = self.value(self.function.input(id, 1), Kind::Known(ScalarKind::Unsigned), 0);
            return Text::new(format!("{vector}[{index}]"), p::POSTFIX, self.kinds[id]);
        }
        if let Some(text) = self.bits(id, op) {
            return text;
        }
        if op == ShaderOp::MakeDouble
            && let Some(text) = self.double_member(id)
        {
            return Text::new(text, p::POSTFIX, ScalarKind::Float);
        }
        if matches!(op, ShaderOp::FloatToSigned | ShaderOp::FloatToUnsigned) {
            return self.cast(id, kind);
        }
        if let ShaderOp::Dot4Add(_) | ShaderOp::Dot2Add = op {
            // The sum is the last argument.
            let name = match op {
                ShaderOp::Dot4Add(Signedness::Signed) => "dot4add_i8packed",
                ShaderOp::Dot4Add(Signedness::Unsigned) => "dot4add_u8packed",
                _ => "dot2add",
            };
            let [sum, left, right] = [0, 1, 2].map(|index| self.input(id, index, 0));
            return Text::new(format!("{name}({left}, {right}, {sum})"), p::POSTFIX, kind);
        }
        if op == ShaderOp::MaskedSumOfDifferences {
            // The language has the operation for four sums at once.
            let [reference, source, sum] = [0, 1, 2].map(|index| self.input(id, index, 0));
            let text = format!("msad4({reference}, uint2({source}, 0), uint4({sum}, 0, 0, 0)).x");
            return Text::new(text, p::POSTFIX, ScalarKind::Unsigned);
        }
        if let Some(bounded) = self.clamped(id, op).or_else(|| self.absolute(id, op)) {
            return Text::new(bounded, p::POSTFIX, kind);
        }
        let Some(name) = spelling::function(op) else {
            self.unknown.push(format!("the operation {op}"));
            return Text::new(format!("0 /* {op} */"), p::POSTFIX, kind);
        };
        // FXC has only the coarse forms of derivatives before shader model 5.
        let name = match (op, self.program.model.0) {
            (ShaderOp::DerivativeXCoarse, _) if self.is_plain_derivative() => "ddx".into(),
            (ShaderOp::DerivativeYCoarse, _) if self.is_plain_derivative() => "ddy".into(),
            _ => name,
        };
        // Components of indices are lanes of the whole index.
        let is_indexed = op.input_count() > 0
            && (0..op.input_count()).all(|index| op.input(index) == OperandKind::Constant);
        let count = if is_indexed { 0 } else { self.function.inputs(id).len() };
        let arguments: Vec<String> = (0..count)
            .map(|index| {
                let input = self.function.input(id, index);
                if op == ShaderOp::MakeDouble
                    && let Some(number) = self.function.number(input)
                {
                    // FXC wants words that are unsigned beyond doubt.
                    return format!("{number:#x}u");
                }
                match op.input(index) {
                    // Where the result says nothing of the inputs, they stay what they are.
                    OperandKind::Any if op.result() == OperandKind::Any => {
                        self.value(input, Kind::Known(kind), 0)
                    }
                    OperandKind::Place => self.place(input).0,
                    _ => self.input(id, index, 0),
                }
            })
            .collect();
        Text::new(format!("{name}({})", arguments.join(", ")), p::POSTFIX, kind)
    }

    /// Returns whether derivatives have their old names: both coarse forms are the same.
    fn is_plain_derivative(&self) -> bool {
        true
    }

    /// Returns an operation on bits that HLSL has no function for.
    fn bits(&mut self, id: ValueId, op: ShaderOp) -> Option<Text> {
        let function = match op {
            ShaderOp::MultiplyHigh(Signedness::Unsigned) => HelperFunction::MultiplyHighUnsigned,
            ShaderOp::MultiplyHigh(Signedness::Signed) => HelperFunction::MultiplyHighSigned,
            ShaderOp::InsertBits => HelperFunction::InsertBits,
            ShaderOp::ExtractBits(signedness) => {
                if let Some(text) = self.extract_constant(id, signedness) {
                    return Some(text);
                }
                match signedness {
                    Signedness::Signed => HelperFunction::ExtractSigned,
                    Signedness::Unsigned => HelperFunction::ExtractUnsigned,
                }
            }
            ShaderOp::LeadingZeros => HelperFunction::LeadingZeros,
            ShaderOp::LeadingSigns => HelperFunction::LeadingSigns,
            _ => return None,
        };
        let value = self.function.input(id, 0);
        let operand = self.scalar(ScalarKind::Unsigned, self.function.width(value));
        self.helpers.push(Helper { function, lanes: self.function.lanes(id), operand });
        let kind = match function {
            HelperFunction::MultiplyHighSigned | HelperFunction::ExtractSigned => ScalarKind::Signed,
            _ => ScalarKind::Unsigned,
        };
        Some(self.call(spelling::helper_name(function), id, kind))
    }

    /// Returns bits at a constant place as shifts and a mask, which compilers recognise.
    fn extract_constant(&mut self, id: ValueId, signedness: Signedness) -> Option<Text> {
        let function = self.function;
        let number = |index: usize| function.number(function.input(id, index)).map(|number| number & 31);
        let (width, offset) = (number(0)?, number(1)?);
        let value = function.input(id, 2);
        if width == 0 || width + offset > 32 {
            return None;
        }
        if signedness == Signedness::Unsigned {
            let value = self.value(value, Kind::Known(ScalarKind::Unsigned), p::SHIFT);
            let mask = literal((1 << width) - 1, ScalarKind::Unsigned, 32);
            let shifted = if offset == 0 { value } else { format!("({value} >> {offset})") };
            return Some(Text::new(format!("{shifted} & {mask}"), p::AND, ScalarKind::Unsigned));
        }
        let value = self.value(value, Kind::Known(ScalarKind::Signed), p::SHIFT);
        let (left, right) = (32 - width - offset, 32 - width);
        let shifted = if left == 0 { value } else { format!("({value} << {left})") };
        Some(Text::new(format!("{shifted} >> {right}"), p::SHIFT, ScalarKind::Signed))
    }
}
