//! Values as expressions, with only the parentheses and casts that C needs.

use super::Printer;
use super::language::Language;
use super::spelling::Word;
use super::type_name::type_name;
use crate::ir::fold::signed;
use crate::ir::{Intrinsic, Op, Operand, ValueId};
use crate::types::{NumberKind, Type};

/// Precedence of C's operators.
pub(super) const UNARY: u8 = 15;
const PRODUCT: u8 = 13;
const SUM: u8 = 12;
const SHIFT: u8 = 11;
const RELATION: u8 = 10;
const EQUALITY: u8 = 9;
const AND: u8 = 8;
const XOR: u8 = 7;
const OR: u8 = 6;
const BOTH: u8 = 5;
const EITHER: u8 = 4;
const CHOICE: u8 = 3;

const INT: Type = Type::Integer(32, true);
const UNSIGNED: Type = Type::Integer(32, false);

impl Printer<'_, '_> {
    /// Returns the text of a value where a type is wanted, in parentheses if its precedence is lower than `precedence`.
    pub(super) fn value(&mut self, id: ValueId, precedence: u8, wanted: Type) -> String {
        if id == ValueId::NONE {
            return String::from("0");
        }
        if let Op::Constant(number) = self.function.op(id) {
            return self.constant(number, self.function.width(id), wanted, precedence);
        }
        if wanted == Type::Float(64) && self.is_pair(id) && !self.has_variable(id) {
            return self.double_of_halves(id);
        }
        if let Some(text) = self.literal(id, precedence, wanted) {
            return text;
        }
        let has = self.has_type(id);
        if let Some((before, after, inner)) = self.conversion(has, wanted) {
            if before.starts_with('(') {
                self.casts += 1;
            }
            let text = self.plain(id, if before.ends_with('(') { 0 } else { inner });
            let text = [before.as_str(), &text, after].concat();
            return if before.starts_with('(') && precedence > UNARY { format!("({text})") } else { text };
        }
        self.plain(id, precedence)
    }

    /// Returns the text of a value without a conversion.
    pub(super) fn plain(&mut self, id: ValueId, precedence: u8) -> String {
        if self.has_variable(id) {
            return self.name(id);
        }
        self.addresses.push(self.function.values[id].address);
        let ty = self.types.of[id];
        self.computed(id, precedence, ty)
    }

    /// Returns the type that the text of a value has in C.
    pub(super) fn has_type(&self, id: ValueId) -> Type {
        if self.has_variable(id) {
            return self.types.of[self.variables.of(id)];
        }
        self.natural_type(id)
    }

    /// Returns the type that the operator of a value gives its text.
    fn natural_type(&self, id: ValueId) -> Type {
        let width = self.function.width(id);
        let a = self.function.input(id, 0);
        match self.function.op(id) {
            Op::Special(_) => Type::Integer(width, false),
            Op::Constant(_) => Type::Integer(width.max(32), true),
            Op::Symbol(_) => self.symbol_type(id),
            Op::Add if self.types.of[id].is_pointer() => self.types.of[id],
            Op::Add | Op::Sub | Op::Mul => match self.common_type(id, width) {
                Type::Integer(_, true) if self.must_wrap(id) => Type::Integer(width, false),
                ty => ty,
            },
            Op::And | Op::Or | Op::Xor => self.common_type(id, width),
            Op::Neg | Op::Not | Op::Shl => self.promoted(a, width),
            Op::Low | Op::High if self.is_half_of_double(id) => INT,
            // `__mulhi` is signed.
            Op::High if self.factors(a).is_some_and(|factors| factors.2) => INT,
            Op::Shr | Op::Udiv | Op::Urem | Op::Concat | Op::High => Type::Integer(width.max(32), false),
            Op::Sar | Op::Sdiv | Op::Srem => Type::Integer(width.max(32), true),
            Op::ZeroExtend => match self.function.width(a) {
                1 if width == 64 => Type::Integer(64, false),
                1 => INT,
                8 | 16 if width == 32 => INT,
                _ => Type::Integer(width.max(32), false),
            },
            Op::SignExtend => Type::Integer(width.max(32), true),
            Op::Low => Type::Integer(width, false),
            Op::PopCount | Op::LeadingZeros => INT,
            Op::Call(Intrinsic::Shuffle(_) | Intrinsic::Malloc) => self.types.of[id],
            Op::Call(call) => Type::of_operand(call.result()),
            Op::Load(space) => self.loaded_type(space, id),
            Op::Invoke(callee) => self.function.callees[callee].result_type(),
            Op::Result(_) => self.types.of[a].word(),
            Op::Select => match self.types.of[id] {
                ty @ Type::Integer(bits, _) if bits >= 32 => self.choice_type(id, ty),
                ty => ty,
            },
            _ => self.types.of[id],
        }
    }

    /// Returns the text that a variable is set to, converted if the variable has another kind of type.
    pub(super) fn set_to(&mut self, id: ValueId, ty: Type) -> String {
        if matches!(ty, Type::Integer(64, _)) && self.is_widening(id) {
            let inner = self.function.input(id, 0);
            return self.value(inner, 0, self.has_type(inner));
        }
        if ty == Type::Float(64) && self.is_pair(id) {
            return self.double_of_halves(id);
        }
        let has = self.natural_type(id);
        let is_number = |ty: Type| matches!(ty, Type::Integer(..) | Type::Bool);
        let is_same_kind = has == ty || is_number(has) && is_number(ty);
        if is_same_kind || matches!(self.function.op(id), Op::Constant(_) | Op::Copy | Op::Undefined) {
            return self.computed(id, 0, ty);
        }
        match self.conversion(has, ty) {
            Some((before, after, inner)) => {
                self.casts += usize::from(before.starts_with('('));
                let text = self.computed(id, if before.ends_with('(') { 0 } else { inner }, has);
                format!("{before}{text}{after}")
            }
            None => self.computed(id, 0, ty),
        }
    }

    /// Returns whether it is half of a value that is a double in the text.
    fn is_half_of_double(&self, id: ValueId) -> bool {
        self.function.width(id) == 32 && self.has_type(self.function.input(id, 0)) == Type::Float(64)
    }

    /// Returns whether it is assembled from two halves of a double.
    fn is_pair(&self, id: ValueId) -> bool {
        self.function.op(id) == Op::Concat && self.function.width(self.function.input(id, 1)) == 32
    }

    fn double_of_halves(&mut self, id: ValueId) -> String {
        self.addresses.push(self.function.values[id].address);
        let (high, low) = (self.function.input(id, 0), self.function.input(id, 1));
        let (high, low) = (self.operand(high, 0, INT), self.operand(low, 0, INT));
        format!("{}({high}, {low})", self.language.word(Word::DoubleOfWords))
    }

    fn promoted(&self, id: ValueId, width: u8) -> Type {
        match self.has_type(id) {
            Type::Integer(64, sign) => Type::Integer(64, sign),
            Type::Integer(32, sign) => Type::Integer(32, sign),
            Type::Float(_) | Type::Pointer(..) | Type::StructurePointer(_) => Type::Integer(width, false),
            _ => INT,
        }
    }

    /// Returns the type of a sum: unsigned if an operand is.
    fn common_type(&self, id: ValueId, width: u8) -> Type {
        let mut has_sign = true;
        for index in 0..self.function.inputs(id).len() {
            let input = self.function.input(id, index);
            // An operand that C widens implicitly takes the type of the other one.
            if width == 64 && self.widens(self.function.input(id, 0), self.function.input(id, 1), index == 0)
            {
                continue;
            }
            // A constant is printed as signed, which leaves the sign to the other operand.
            if self.function.number(input).is_some() {
                continue;
            }
            match self.promoted(input, width) {
                Type::Integer(bits, sign) => has_sign &= sign || bits < width,
                _ => has_sign = false,
            }
        }
        Type::Integer(width.max(32), has_sign)
    }

    /// Returns an alternative of a choice. One that is a choice itself may have the other sign.
    fn alternative(&mut self, id: ValueId, precedence: u8, wanted: Type) -> String {
        match wanted {
            Type::Integer(..) if self.is_choice(id) => self.operand(id, precedence, wanted),
            _ => self.value(id, precedence, wanted),
        }
    }

    /// Returns whether a value is printed as a choice.
    fn is_choice(&self, id: ValueId) -> bool {
        self.function.op(id) == Op::Select && !self.has_variable(id)
    }

    /// Returns the type that C gives a choice of two integers where a type is wanted: literals have their own.
    fn choice_type(&self, id: ValueId, wanted: Type) -> Type {
        let alternative = |index: usize| {
            let input = self.function.input(id, index);
            match (self.function.number(input), wanted) {
                (Some(number), Type::Integer(_, sign)) => {
                    literal_type(number, self.function.width(input), sign)
                }
                _ if !self.is_choice(input) && self.conversion(self.has_type(input), wanted).is_some() => {
                    wanted
                }
                _ => self.promoted(input, self.function.width(id)),
            }
        };
        match (alternative(1), alternative(2)) {
            (Type::Integer(bits, sign), Type::Integer(others, other)) if bits == others => {
                Type::Integer(bits, sign && other)
            }
            (first, second) if first.bits() > second.bits() => first,
            (_, second) => second,
        }
    }

    /// Returns an operator with its inputs.
    pub(super) fn computed(&mut self, id: ValueId, precedence: u8, ty: Type) -> String {
        let op = self.function.op(id);
        let width = self.function.width(id);
        let (a, b) = (self.function.input(id, 0), self.function.input(id, 1));
        let plain = Type::Integer(width.max(32), false);
        match op {
            Op::Constant(number) => self.constant(number, width, ty, precedence),
            Op::Undefined if self.module.has_calls() => {
                format!("/* undefined */ {}", self.constant(0, width, ty, UNARY))
            }
            Op::Undefined => self.constant(0, width, ty, precedence),
            Op::Special(special) => match (special.window(), self.language.special(special)) {
                (Some(_), _) if width < 64 && !self.language.has_short_addresses => {
                    self.unnamed(id, &format!("the lower half of {special}"), ty)
                }
                // The address of the array keeps it in memory, and at the start of the window.
                (Some(space), _) => {
                    self.casts += 1;
                    let narrow = if width == 64 { "" } else { "(unsigned int)" };
                    let text = format!("{narrow}(unsigned long long){}", self.region_address(space));
                    wrapped(text, UNARY, precedence)
                }
                (_, "") => self.unnamed(id, &format!("the {special}"), ty),
                (_, name) if width == 64 => {
                    self.casts += 1;
                    wrapped(format!("(unsigned long long){name}"), UNARY, precedence)
                }
                (_, name) => {
                    self.helper(name.trim_end_matches("()"));
                    String::from(name)
                }
            },
            Op::Parameter(offset) => self.parameter(offset, width, ty, precedence),
            Op::Symbol(_) => match self.literal(id, precedence, self.symbol_type(id)) {
                Some(text) => text,
                None => self.symbol(id),
            },
            Op::Add if ty.is_pointer() => self.pointer(id, precedence, ty),
            Op::Add => self.sum(id, a, b, precedence, plain),
            Op::Sub | Op::Mul if self.wraps(id) => self.wrapping(id, precedence),
            Op::Sub => self.binary("-", SUM, a, b, precedence, self.loose(width)),
            Op::Mul => self.binary("*", PRODUCT, a, b, precedence, self.loose(width)),
            Op::And => self.binary("&", AND, a, b, precedence, self.loose(width)),
            Op::Or => self.binary("|", OR, a, b, precedence, self.loose(width)),
            Op::Xor => self.binary("^", XOR, a, b, precedence, self.loose(width)),
            Op::Shl => self.shift("<<", "shift_left", a, b, precedence, self.loose(width)),
            Op::Shr => self.shift(">>", "shift_right", a, b, precedence, Type::Integer(width, false)),
            Op::Sar => self.shift(">>", "shift_right_signed", a, b, precedence, Type::Integer(width, true)),
            Op::Udiv => self.binary("/", PRODUCT, a, b, precedence, Type::Integer(width, false)),
            Op::Urem => self.binary("%", PRODUCT, a, b, precedence, Type::Integer(width, false)),
            Op::Sdiv => self.binary("/", PRODUCT, a, b, precedence, Type::Integer(width, true)),
            Op::Srem => self.binary("%", PRODUCT, a, b, precedence, Type::Integer(width, true)),
            Op::Neg => self.unary("-", a, precedence, self.loose(width)),
            Op::Not => self.unary("~", a, precedence, self.loose(width)),
            Op::Equal => self.compare("==", EQUALITY, a, b, precedence, None),
            Op::NotEqual => self.compare("!=", EQUALITY, a, b, precedence, None),
            Op::Less => self.compare("<", RELATION, a, b, precedence, Some(false)),
            Op::LessEqual => self.compare("<=", RELATION, a, b, precedence, Some(false)),
            Op::SignedLess => self.compare("<", RELATION, a, b, precedence, Some(true)),
            Op::SignedLessEqual => self.compare("<=", RELATION, a, b, precedence, Some(true)),
            Op::Carry => {
                let (a, b) = if self.function.number(a).is_some() { (b, a) } else { (a, b) };
                let bits = Type::Integer(self.function.width(a), false);
                let sum = self.binary("+", SUM, a, b, RELATION + 1, bits);
                let first = self.value(a, RELATION + 1, bits);
                wrapped(format!("{sum} < {first}"), RELATION, precedence)
            }
            Op::SignedCarry | Op::SignedBorrow => {
                let name = if op == Op::SignedCarry { "signed_carry" } else { "signed_borrow" };
                self.helper(name);
                let bits = self.function.width(a);
                let (x, y) = (
                    self.value(a, 0, Type::Integer(bits, true)),
                    self.value(b, 0, Type::Integer(bits, true)),
                );
                format!("{name}({x}, {y})")
            }
            Op::BoolAnd => self.binary("&&", BOTH, a, b, precedence, Type::Bool),
            Op::BoolOr => self.binary("||", EITHER, a, b, precedence, Type::Bool),
            Op::BoolXor => self.binary("!=", EQUALITY, a, b, precedence, Type::Bool),
            Op::BoolNot => self.negated(a, precedence),
            Op::ZeroExtend | Op::SignExtend => self.extended(id, a, precedence, op == Op::SignExtend),
            Op::Low | Op::High if self.is_half_of_double(id) => {
                let text = self.value(a, 0, Type::Float(64));
                let word = if op == Op::High { Word::HighHalf } else { Word::LowHalf };
                format!("{}({text})", self.language.word(word))
            }
            Op::Low => {
                let from = self.integer_type(a, false);
                self.cast(a, Type::Integer(width, false), precedence, from)
            }
            Op::High if self.factors(a).is_some() => {
                let (x, y, is_signed) = self.factors(a).unwrap_or((a, a, false));
                let ty = Type::Integer(32, is_signed);
                let (x, y) = (self.operand(x, 0, ty), self.operand(y, 0, ty));
                let word = if is_signed { Word::MultiplyHighSigned } else { Word::MultiplyHigh };
                format!("{}({x}, {y})", self.language.word(word))
            }
            Op::High => {
                let from = Type::Integer(self.function.width(a), false);
                let text = self.value(a, SHIFT, from);
                self.casts += 1;
                wrapped(
                    format!("({})({text} >> {width})", type_name(Type::Integer(width, false))),
                    UNARY,
                    precedence,
                )
            }
            Op::Concat => {
                let half = Type::Integer(self.function.width(b), false);
                // A lower half that is combined with `|` is combined before it is widened.
                let (high, low) = (self.value(a, UNARY, half), self.value(b, OR + 1, half));
                self.casts += 1;
                let wide = type_name(Type::Integer(width, false));
                wrapped(format!("({wide}){high} << {} | {low}", half.bits()), OR, precedence)
            }
            Op::PopCount => self.function_call([Word::CountOnes, Word::CountOnesLong], a),
            Op::LeadingZeros => self.function_call([Word::LeadingZeros, Word::LeadingZerosLong], a),
            Op::FloatAdd => self.binary("+", SUM, a, b, precedence, Type::Float(width)),
            Op::FloatSub => self.binary("-", SUM, a, b, precedence, Type::Float(width)),
            Op::FloatMul if self.is_summand[id] => {
                // A compiler would fuse both operations.
                let ty = Type::Float(width);
                let (x, y) = (self.value(a, 0, ty), self.value(b, 0, ty));
                let word = if width == 64 { Word::ProductOfDoubles } else { Word::ProductOfFloats };
                format!("{}({x}, {y})", self.language.word(word))
            }
            Op::FloatMul => self.binary("*", PRODUCT, a, b, precedence, Type::Float(width)),
            Op::FloatDiv => self.binary("/", PRODUCT, a, b, precedence, Type::Float(width)),
            Op::FloatNegate => self.unary("-", a, precedence, Type::Float(width)),
            Op::FloatAbs => {
                let text = self.value(a, 0, Type::Float(width));
                format!("{}({text})", if width == 64 { "fabs" } else { "fabsf" })
            }
            Op::FloatSqrt => {
                let text = self.value(a, 0, Type::Float(width));
                format!("{}({text})", if width == 64 { "sqrt" } else { "sqrtf" })
            }
            Op::FloatEqual => self.float_compare("==", EQUALITY, a, b, precedence),
            Op::FloatNotEqual => self.float_compare("!=", EQUALITY, a, b, precedence),
            Op::FloatLess => self.float_compare("<", RELATION, a, b, precedence),
            Op::FloatLessEqual => self.float_compare("<=", RELATION, a, b, precedence),
            Op::FloatNan => {
                let text = self.value(a, 0, Type::Float(self.function.width(a)));
                format!("{}({text})", self.language.word(Word::IsNan))
            }
            Op::FloatConvert => {
                self.cast(a, Type::Float(width), precedence, Type::Float(self.function.width(a)))
            }
            Op::SignedToFloat => {
                let from = Type::Integer(self.function.width(a), true);
                self.cast(a, Type::Float(width), precedence, from)
            }
            Op::UnsignedToFloat => {
                let from = Type::Integer(self.function.width(a), false);
                self.cast(a, Type::Float(width), precedence, from)
            }
            Op::Select => {
                let condition = self.value(a, CHOICE + 1, Type::Bool);
                let yes = self.alternative(b, CHOICE + 1, ty);
                let no = self.alternative(self.function.input(id, 2), CHOICE, ty);
                wrapped(format!("{condition} ? {yes} : {no}"), CHOICE, precedence)
            }
            Op::Load(space) => {
                let text = self.lvalue(space, a, ty, self.is_volatile(id)).0;
                match self.language.turn.filter(|_| self.is_volatile(id)) {
                    Some(turn) => wrapped(format!("*{turn}({})", address_of(&text)), UNARY, precedence),
                    None => text,
                }
            }
            Op::Call(call) => self.call(id, call),
            Op::Copy => self.value(a, precedence, ty),
            Op::ImageRead(image) => self.image_read(id, image),
            Op::Result(word) => self.image_word(a, word),
            Op::Invoke(callee) => self.invocation(id, callee),
            Op::Vector | Op::Lanes(_) => self.unnamed(id, "a vector", ty),
            Op::Shader(op) => self.unnamed(id, &format!("the operation {op} of a shader"), ty),
            Op::Metal(op) => self.unnamed(id, &format!("the operation {op} of Metal"), ty),
            Op::Offset(_) | Op::Element(_) | Op::Member(..) => self.unnamed(id, "a typed pointer", ty),
            Op::Reinterpret | Op::Aggregate | Op::WithMember(_) => self.unnamed(id, "a typed value", ty),
            Op::ExtractLane | Op::InsertLane => self.unnamed(id, "a vector", ty),
            Op::Phi | Op::Store(_) | Op::ImageWrite(_) | Op::Return | Op::Unlifted(_) => String::from("0"),
        }
    }

    /// Returns the type of a value as an integer.
    fn integer_type(&self, id: ValueId, is_signed: bool) -> Type {
        match self.has_type(id) {
            Type::Integer(bits, sign) => Type::Integer(bits, sign),
            Type::Bool => Type::Bool,
            _ => Type::Integer(self.function.width(id), is_signed),
        }
    }

    /// Returns an integer type whose sign does not matter.
    fn loose(&self, width: u8) -> Type {
        Type::Integer(width.max(32), false)
    }

    /// Returns an operand of an operator that ignores signs: it is cast only if it is not an integer, or is narrower.
    pub(super) fn operand(&mut self, id: ValueId, precedence: u8, wanted: Type) -> String {
        let wanted = match (wanted, self.has_type(id)) {
            (Type::Integer(bits, _), Type::Integer(have, sign))
                if bits == have || bits == 32 && have < 32 =>
            {
                Type::Integer(have, sign)
            }
            (wanted, _) => wanted,
        };
        self.value(id, precedence, wanted)
    }

    fn binary(
        &mut self,
        operator: &str,
        level: u8,
        a: ValueId,
        b: ValueId,
        precedence: u8,
        wanted: Type,
    ) -> String {
        let is_loose = matches!(operator, "+" | "-" | "*" | "&" | "|" | "^");
        let write = |this: &mut Self, id: ValueId, is_left: bool, precedence: u8| match wanted {
            Type::Integer(64, _) if is_loose && this.widens(a, b, is_left) => {
                let inner = this.function.input(id, 0);
                this.value(inner, precedence, this.has_type(inner))
            }
            Type::Integer(..) if is_loose => this.operand(id, precedence, wanted),
            _ => this.value(id, precedence, wanted),
        };
        // Mixed operators are clearer in parentheses, and compilers warn about them.
        let (left_level, right_level) = match level {
            AND | OR | XOR => (SUM, SUM),
            EITHER => (EITHER, EITHER + 1),
            _ => (level, level + 1),
        };
        let chain = |this: &Self, id: ValueId| {
            matches!((level, this.function.op(id)), (AND, Op::And) | (OR, Op::Or) | (XOR, Op::Xor))
                && !this.has_variable(id)
        };
        let left_level = if chain(self, a) { level } else { left_level };
        let left = write(self, a, true, left_level);
        let right = write(self, b, false, right_level);
        wrapped([&left, " ", operator, " ", &right].concat(), level, precedence)
    }

    /// Returns whether C widens a 32-bit operand implicitly, because the other one has 64 bits and is printed so. If
    /// both could be widened implicitly, the left one gets a cast.
    fn widens(&self, a: ValueId, b: ValueId, is_left: bool) -> bool {
        let (id, other) = if is_left { (a, b) } else { (b, a) };
        self.is_widened(id)
            && matches!(self.has_type(other), Type::Integer(64, _))
            && self.function.number(other).is_none()
            && (!is_left || !self.is_widened(other))
    }

    /// Returns whether a value has 32 bits and C widens it as needed.
    pub(super) fn is_widened(&self, id: ValueId) -> bool {
        !self.has_variable(id) && self.is_widening(id)
    }

    /// Returns whether it equals C's conversion of a 32-bit number to 64 bits.
    fn is_widening(&self, id: ValueId) -> bool {
        let inner = self.function.input(id, 0);
        let sign = match self.function.op(id) {
            Op::ZeroExtend => false,
            Op::SignExtend => true,
            _ => return false,
        };
        self.function.width(id) == 64
            && self.function.number(inner).is_none()
            && self.has_type(inner) == Type::Integer(32, sign)
    }

    /// Returns whether a sum, difference or product of signed numbers must wrap around: its uses take it as unsigned, so
    /// the machine's result counts, but a compiler may assume that signed numbers don't overflow.
    fn wraps(&self, id: ValueId) -> bool {
        let width = self.function.width(id);
        self.must_wrap(id) && self.common_type(id, width) == Type::Integer(width, true)
    }

    /// Returns whether the uses of a sum, difference or product take it as unsigned.
    fn must_wrap(&self, id: ValueId) -> bool {
        let width = self.function.width(id);
        matches!(self.types.of[id], Type::Integer(bits, false) if bits >= 32 && bits == width)
    }

    /// Returns an operator whose first operand is cast to an unsigned number.
    fn wrapping(&mut self, id: ValueId, precedence: u8) -> String {
        let (operator, level) = match self.function.op(id) {
            Op::Add => ("+", SUM),
            Op::Sub => ("-", SUM),
            _ => ("*", PRODUCT),
        };
        let (a, b) = (self.function.input(id, 0), self.function.input(id, 1));
        let width = self.function.width(id);
        let left = self.unsigned(a, level);
        if operator == "+"
            && let Some(number) = self.subtracted(b)
        {
            return wrapped(format!("{left} - {number}"), SUM, precedence);
        }
        let right = self.operand(b, level + 1, self.loose(width));
        wrapped([&left, " ", operator, " ", &right].concat(), level, precedence)
    }

    /// Returns a value as an operand whose type is unsigned in C.
    fn unsigned(&mut self, id: ValueId, precedence: u8) -> String {
        let ty = Type::Integer(self.function.width(id).max(32), false);
        match self.function.number(id) {
            Some(_) => {
                let text = self.value(id, precedence, ty);
                let suffix =
                    if text.ends_with(['u', 'l']) { "" } else { ["u", "ull"][usize::from(ty.bits() > 32)] };
                text + suffix
            }
            None if self.has_type(id) == Type::Bool => self.cast(id, ty, precedence, Type::Bool),
            None => self.value(id, precedence, ty),
        }
    }

    fn sum(&mut self, id: ValueId, a: ValueId, b: ValueId, precedence: u8, plain: Type) -> String {
        if self.wraps(id) {
            return self.wrapping(id, precedence);
        }
        if let Some(number) = self.subtracted(b) {
            let left = self.operand(a, SUM, plain);
            return wrapped(format!("{left} - {number}"), SUM, precedence);
        }
        self.binary("+", SUM, a, b, precedence, plain)
    }

    /// Returns the number that is subtracted where a negative constant is added.
    fn subtracted(&self, term: ValueId) -> Option<i64> {
        let number = signed(self.function.number(term)?, self.function.width(term));
        (number < 0 && number > -(1 << 30)).then_some(-number)
    }

    fn unary(&mut self, operator: &str, a: ValueId, precedence: u8, wanted: Type) -> String {
        let text = match wanted {
            Type::Integer(..) => self.operand(a, UNARY, wanted),
            _ => self.value(a, UNARY, wanted),
        };
        let space = if text.starts_with(operator) { " " } else { "" };
        wrapped(format!("{operator}{space}{text}"), UNARY, precedence)
    }

    /// Returns a shift; if the amount may be too large for C's operator, a helper does it.
    fn shift(
        &mut self,
        operator: &str,
        name: &'static str,
        a: ValueId,
        b: ValueId,
        precedence: u8,
        wanted: Type,
    ) -> String {
        let width = u64::from(wanted.bits().max(32));
        let is_small = match self.function.op(b) {
            Op::Constant(number) => number < width,
            Op::And => self.function.number(self.function.input(b, 1)).is_some_and(|mask| mask < width),
            _ => false,
        };
        if let (Some(number), 64) = (self.function.number(a), width) {
            // A C literal has only as many bits as it needs.
            self.helper(name);
            let left = if operator == "<<" || matches!(wanted, Type::Integer(_, false)) {
                format!("{number}ull")
            } else {
                let text = self.constant(number, 64, wanted, 0);
                let suffix = if text.contains("ll") { "" } else { "ll" };
                text + suffix
            };
            let right = self.operand(b, 0, UNSIGNED);
            return format!("{name}({left}, {right})");
        }
        if is_small {
            let left = match wanted {
                _ if operator == "<<" => self.operand(a, SHIFT, wanted),
                Type::Integer(_, false) => self.unsigned(a, SHIFT),
                _ => self.value(a, SHIFT, wanted),
            };
            let right = self.operand(b, SHIFT + 1, UNSIGNED);
            return wrapped(format!("{left} {operator} {right}"), SHIFT, precedence);
        }
        self.helper(name);
        // The helper has the type of the shifted value before C widens it.
        let ty = if operator == "<<" { self.promoted(a, width as u8) } else { wanted };
        let is_widened = matches!(self.function.op(a), Op::ZeroExtend | Op::SignExtend)
            && self.function.width(self.function.input(a, 0)) < 32;
        let left = if self.has_type(a).bits() < 32 || is_widened {
            self.cast(a, ty, 0, self.has_type(a))
        } else {
            self.value(a, 0, ty)
        };
        let right = self.operand(b, 0, UNSIGNED);
        format!("{name}({left}, {right})")
    }

    fn compare(
        &mut self,
        operator: &str,
        level: u8,
        a: ValueId,
        b: ValueId,
        precedence: u8,
        sign: Option<bool>,
    ) -> String {
        if self.function.number(a).is_some() && self.function.number(b).is_none() {
            return self.compare(mirrored(operator), level, b, a, precedence, sign);
        }
        let width = self.function.width(a).max(self.function.width(b));
        if width == 1 {
            return self.binary(operator, level, a, b, precedence, Type::Bool);
        }
        if width < 32 {
            // C widens both operands, each with its own sign.
            let sign = sign.unwrap_or(matches!(self.has_type(a), Type::Integer(_, true)));
            return self.binary(operator, level, a, b, precedence, Type::Integer(width, sign));
        }
        let has_sign = |this: &Self, id: ValueId| match this.has_type(id) {
            Type::Integer(bits, sign) => sign || bits < 32,
            _ => false,
        };
        let number = |this: &Self, id: ValueId| this.function.number(id);
        let wanted = match sign {
            Some(true) => Type::Integer(width, true),
            // One unsigned operand makes the other one unsigned.
            Some(false) => Type::Integer(width, false),
            None => {
                let other = if number(self, a).is_some() { b } else { a };
                Type::Integer(width, has_sign(self, other))
            }
        };
        let write = |this: &mut Self, id: ValueId, other: ValueId, precedence: u8| {
            let (has, other_has) = (this.has_type(id), this.has_type(other));
            let is_pointer = has.is_pointer() && sign != Some(true);
            // Pointers of different types are compared as numbers.
            let other_is_pointer = other_has == has && is_pointer && number(this, other).is_none();
            if is_pointer && (other_is_pointer || number(this, other) == Some(0)) {
                return this.plain(id, precedence);
            }
            let is_loose = match sign {
                None => true,
                Some(false) => number(this, other).is_none() && !has_sign(this, other) && !other_is_pointer,
                Some(true) => false,
            };
            if is_loose && number(this, id).is_none() {
                this.operand(id, precedence, wanted)
            } else {
                this.value(id, precedence, wanted)
            }
        };
        let left = write(self, a, b, level + 1);
        let right = write(self, b, a, level + 1);
        wrapped([&left, " ", operator, " ", &right].concat(), level, precedence)
    }

    fn float_compare(&mut self, operator: &str, level: u8, a: ValueId, b: ValueId, precedence: u8) -> String {
        if self.function.number(a).is_some() && self.function.number(b).is_none() {
            return self.float_compare(mirrored(operator), level, b, a, precedence);
        }
        let ty = Type::Float(self.function.width(a));
        let left = self.value(a, level + 1, ty);
        let right = self.value(b, level + 1, ty);
        wrapped([&left, " ", operator, " ", &right].concat(), level, precedence)
    }

    /// Returns the negation of a condition.
    pub(super) fn negated(&mut self, id: ValueId, precedence: u8) -> String {
        if !self.has_variable(id) {
            let (a, b) = (self.function.input(id, 0), self.function.input(id, 1));
            let found = match self.function.op(id) {
                Op::BoolNot => return self.value(a, precedence, Type::Bool),
                Op::Equal => ("!=", EQUALITY, None),
                Op::NotEqual => ("==", EQUALITY, None),
                Op::Less => (">=", RELATION, Some(false)),
                Op::LessEqual => (">", RELATION, Some(false)),
                Op::SignedLess => (">=", RELATION, Some(true)),
                Op::SignedLessEqual => (">", RELATION, Some(true)),
                Op::FloatEqual => return self.float_compare("!=", EQUALITY, a, b, precedence),
                Op::FloatNotEqual => return self.float_compare("==", EQUALITY, a, b, precedence),
                _ => ("", 0, None),
            };
            if !found.0.is_empty() {
                return self.compare(found.0, found.1, a, b, precedence, found.2);
            }
            if matches!(self.function.op(id), Op::BoolAnd | Op::BoolOr) && self.turns(a) && self.turns(b) {
                let (operator, level) =
                    if self.function.op(id) == Op::BoolAnd { ("||", EITHER) } else { ("&&", BOTH) };
                let left = self.negated(a, level);
                let right = self.negated(b, level + 1);
                return wrapped([&left, " ", operator, " ", &right].concat(), level, precedence);
            }
        }
        let text = self.value(id, UNARY, Type::Bool);
        wrapped(format!("!{text}"), UNARY, precedence)
    }

    /// Returns whether the negation of a condition is no longer than the condition.
    fn turns(&self, id: ValueId) -> bool {
        !self.has_variable(id)
            && matches!(
                self.function.op(id),
                Op::BoolNot
                    | Op::Equal
                    | Op::NotEqual
                    | Op::Less
                    | Op::LessEqual
                    | Op::SignedLess
                    | Op::SignedLessEqual
                    | Op::FloatEqual
                    | Op::FloatNotEqual
            )
    }

    fn extended(&mut self, id: ValueId, a: ValueId, precedence: u8, is_signed: bool) -> String {
        let (from, to) = (self.function.width(a), self.function.width(id));
        if from == 1 {
            let ty = Type::Integer(to.max(32), is_signed);
            return match to {
                64 => self.cast(a, ty, precedence, Type::Bool),
                _ if is_signed => {
                    let text = self.value(a, UNARY, Type::Bool);
                    wrapped(format!("-{text}"), UNARY, precedence)
                }
                _ => self.value(a, precedence, Type::Bool),
            };
        }
        let inner = Type::Integer(from, is_signed);
        if to == 32 && from < 32 {
            // C widens values of the right sign implicitly.
            return self.value(a, precedence, inner);
        }
        self.cast(a, Type::Integer(to, is_signed), precedence, inner)
    }

    /// Returns `(type)value`, with the value first converted to `from`.
    fn cast(&mut self, id: ValueId, to: Type, precedence: u8, from: Type) -> String {
        let text = self.value(id, UNARY, from);
        self.casts += 1;
        wrapped(format!("({}){text}", type_name(to)), UNARY, precedence)
    }

    /// Returns the factors of a 64-bit product, if both have 32 bits and the same sign.
    fn factors(&self, id: ValueId) -> Option<(ValueId, ValueId, bool)> {
        if self.has_variable(id) || self.function.op(id) != Op::Mul || self.function.width(id) != 64 {
            return None;
        }
        let (a, b) = (self.function.input(id, 0), self.function.input(id, 1));
        let is_signed = self.function.op(a) == Op::SignExtend;
        let inner = |id: ValueId| {
            let source = self.function.input(id, 0);
            let wanted = if is_signed { Op::SignExtend } else { Op::ZeroExtend };
            (self.function.op(id) == wanted && !self.has_variable(id) && self.function.width(source) == 32)
                .then_some(source)
        };
        let second = match self.function.number(b) {
            Some(number) if number < 1 << 31 || !is_signed && number >> 32 == 0 => b,
            _ => inner(b)?,
        };
        Some((inner(a)?, second, is_signed))
    }

    /// Returns a call of one of two functions, for 32 and 64 bits.
    fn function_call(&mut self, [narrow, wide]: [Word; 2], a: ValueId) -> String {
        let width = self.function.width(a);
        let text = self.operand(a, 0, Type::Integer(width, false));
        format!("{}({text})", self.language.word(if width == 64 { wide } else { narrow }))
    }

    fn call(&mut self, id: ValueId, call: Intrinsic) -> String {
        let name = self.language.intrinsic(call);
        self.helper(&name);
        let is_shuffle = matches!(call, Intrinsic::Shuffle(_));
        let is_overloaded = matches!(call, Intrinsic::Min(_) | Intrinsic::Max(_) | Intrinsic::Abs(_));
        let mut list = Vec::new();
        for index in 0..self.function.inputs(id).len() {
            let input = self.function.input(id, index);
            let has = self.has_type(input);
            let wants_pointer = matches!(
                (call, index),
                (Intrinsic::AssertFail, 0 | 1 | 3) | (Intrinsic::Free | Intrinsic::IsShared, 0)
            );
            if wants_pointer && matches!(has, Type::Integer(..)) {
                let text = self.value(input, UNARY, has);
                self.casts += 1;
                let pointer = if call == Intrinsic::Free { "void *" } else { "const void *" };
                list.push(format!("({pointer}){text}"));
                continue;
            }
            let ty = match call.input(index) {
                Operand::Pointer => {
                    list.push(self.pointed(input, call));
                    continue;
                }
                _ if is_shuffle && index == 0 => self.types.of[id],
                // The default is the whole warp.
                _ if is_shuffle && index == 2 && self.function.number(input) == Some(32) => continue,
                operand => Type::of_operand(operand),
            };
            list.push(match ty {
                Type::Integer(..) if !is_overloaded => self.operand(input, 0, ty),
                Type::Integer(64, has_sign) if self.function.number(input).is_some() => {
                    // A plain constant would make the call of `min` ambiguous.
                    let text = self.value(input, 0, ty);
                    let suffix = if has_sign { "ll" } else { "ull" };
                    if text.contains('l') { text } else { text + suffix }
                }
                ty => self.value(input, 0, ty),
            });
        }
        let text = format!("{name}({})", list.join(", "));
        match self.types.of[id] {
            Type::Void => text,
            ty if call == Intrinsic::Malloc => {
                self.casts += 1;
                format!("({}){text}", self.type_name(ty))
            }
            _ => text,
        }
    }

    /// Returns how to convert a value of one type to another: text before, text after, precedence inside.
    fn conversion(&self, has: Type, wanted: Type) -> Option<(String, &'static str, u8)> {
        if has == wanted || has == Type::Void || wanted == Type::Void {
            return None;
        }
        let call = |word: Word| Some((format!("{}(", self.language.word(word)), ")", 0));
        match (has, wanted) {
            (Type::Float(_), Type::StructurePointer(_)) => {
                Some((format!("({}){}(", self.type_name(wanted), self.language.word(Word::LongBits)), ")", 0))
            }
            (_, Type::StructurePointer(_)) => Some((format!("({})", self.type_name(wanted)), "", UNARY)),
            // All pointers are converted alike.
            (Type::StructurePointer(_), _) => self
                .conversion(Type::Pointer(8, NumberKind::Unsigned), wanted)
                .or_else(|| Some((format!("({})", type_name(wanted)), "", UNARY))),
            (Type::Float(32), Type::Integer(32, true)) => call(Word::IntBits),
            (Type::Float(32), Type::Integer(32, false)) => call(Word::UintBits),
            (Type::Integer(32, _), Type::Float(32)) => call(Word::FloatOfBits),
            (Type::Integer(8 | 16, _), Type::Float(32)) => call(Word::FloatOfBits),
            (Type::Float(64), Type::Integer(64, true)) => call(Word::LongBits),
            (Type::Float(64), Type::Integer(64, false)) => {
                Some((format!("(unsigned long long){}(", self.language.word(Word::LongBits)), ")", 0))
            }
            (Type::Integer(64, _), Type::Float(64)) => call(Word::DoubleOfBits),
            (Type::Bool, Type::Integer(..)) | (Type::Integer(..), Type::Bool) => None,
            (Type::Integer(have, sign), Type::Integer(bits, wants)) => {
                // A narrow value is widened with its own sign; where C widens to `int`, nothing is needed.
                if have < 32 && bits <= 32 && have < bits {
                    return None;
                }
                if have < 32 && have == bits && sign == wants {
                    return None;
                }
                Some((format!("({})", type_name(Type::Integer(bits, wants))), "", UNARY))
            }
            (Type::Pointer(..), Type::Integer(..)) | (Type::Integer(..), Type::Pointer(..)) => {
                Some((format!("({})", type_name(wanted)), "", UNARY))
            }
            (Type::Pointer(..), Type::Pointer(..)) => Some((format!("({})", type_name(wanted)), "", UNARY)),
            (Type::Pointer(..), Type::Float(_)) => {
                Some((format!("{}((long long)", self.language.word(Word::DoubleOfBits)), ")", UNARY))
            }
            (Type::Float(_), Type::Pointer(..)) => {
                Some((format!("({}){}(", type_name(wanted), self.language.word(Word::LongBits)), ")", 0))
            }
            _ => None,
        }
    }

    fn constant(&self, number: u64, width: u8, wanted: Type, precedence: u8) -> String {
        match wanted {
            Type::StructurePointer(_) if number != 0 => {
                wrapped(format!("({}){number:#x}", self.type_name(wanted)), UNARY, precedence)
            }
            _ => constant(self.language, number, width, wanted, precedence),
        }
    }

    /// Returns a comment and a zero for what has no name in the language, and counts it.
    pub(super) fn unnamed(&mut self, id: ValueId, what: &str, ty: Type) -> String {
        if !self.unnamed.contains(&id) {
            self.unnamed.push(id);
        }
        let zero = match ty {
            Type::Vector(..) => format!("{}()", type_name(ty)),
            Type::Void => String::new(),
            ty => self.constant(0, ty.bits(), ty, UNARY),
        };
        let comment = format!("/* {}: not in {} */", what.replace("*/", "* /"), self.language.name);
        format!("{comment} {zero}").trim_end().to_owned()
    }
}

/// Returns the address of an lvalue.
fn address_of(text: &str) -> String {
    text.strip_prefix('*').map_or_else(|| format!("&{text}"), String::from)
}

/// Returns the comparison operator for exchanged operands.
fn mirrored(operator: &str) -> &str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

fn wrapped(text: String, level: u8, precedence: u8) -> String {
    if level < precedence { ["(", &text, ")"].concat() } else { text }
}

/// Returns a constant of a type.
pub(super) fn constant(language: &Language, number: u64, width: u8, wanted: Type, precedence: u8) -> String {
    match wanted {
        Type::Bool => String::from(if number != 0 { "true" } else { "false" }),
        Type::Float(32) if width == 32 => float(language, f32::from_bits(number as u32), precedence),
        Type::Float(64) if width == 64 => double(language, f64::from_bits(number), precedence),
        ty if ty.is_pointer() && number == 0 => String::from("0"),
        Type::Pointer(..) => wrapped(format!("({}){number:#x}", type_name(wanted)), UNARY, precedence),
        Type::Integer(bits, true) => {
            let value = signed(number, width);
            let suffix = if bits == 64 && (value > i64::from(i32::MAX) || value < i64::from(i32::MIN)) {
                "ll"
            } else {
                ""
            };
            if value == i64::MIN || value == i64::from(i32::MIN) && bits <= 32 {
                return wrapped(format!("{}{suffix} - 1", value + 1), SUM, precedence);
            }
            let text = format!("{value}{suffix}");
            if value < 0 { wrapped(text, UNARY, precedence) } else { text }
        }
        _ => {
            let suffix = match number {
                0..=0x7fff_ffff => "",
                0x8000_0000..=0xffff_ffff => "u",
                _ => "ull",
            };
            if number > 0xffff { format!("{number:#x}{suffix}") } else { format!("{number}{suffix}") }
        }
    }
}

/// Returns the type that C gives the text of [`constant`] for an integer.
fn literal_type(number: u64, width: u8, is_signed: bool) -> Type {
    let value = signed(number, width);
    let is_int = if is_signed { i32::try_from(value).is_ok() } else { i32::try_from(number).is_ok() };
    match is_int {
        true => INT,
        false => Type::Integer(if u32::try_from(number).is_ok() && !is_signed { 32 } else { 64 }, is_signed),
    }
}

fn float(language: &Language, value: f32, precedence: u8) -> String {
    if value.is_nan() || value.is_infinite() {
        return format!("{}({:#x})", language.word(Word::FloatOfBits), value.to_bits());
    }
    let text = format!("{value:?}f");
    if text.starts_with('-') { wrapped(text, UNARY, precedence) } else { text }
}

fn double(language: &Language, value: f64, precedence: u8) -> String {
    if value.is_nan() || value.is_infinite() {
        return format!("{}({:#x}ll)", language.word(Word::DoubleOfBits), value.to_bits());
    }
    let text = format!("{value:?}");
    if text.starts_with('-') { wrapped(text, UNARY, precedence) } else { text }
}
