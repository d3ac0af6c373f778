//! Types semantics and lowers statements to p-code over operands.
//!
//! Macros are expanded, every expression gets a width, and nested expressions become operations on temporaries.
//! Choices by modifiers (`when`) are kept, because an operation is lowered once for all of its encodings; `if` is
//! kept, because it is decided at run time. The result is the input of both back ends: the tables of `unshade-sass`
//! and the SLEIGH files.

use std::collections::{HashMap, HashSet};

use crate::model::{Access, Isa, Operation};
use crate::semantics::{self, Expression, Statement};

/// The lowered semantics of an operation.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The widths of the temporaries, in bits.
    pub temporaries: Vec<u32>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// One operation of p-code.
    Do(Pcode),
    /// Steps for a modifier with one of some values, and steps for other values.
    When(Test, Vec<Step>, Vec<Step>),
    /// Steps for a nonzero value, and steps for zero.
    If(Value, Vec<Step>, Vec<Step>),
}

/// A test whether a slot has one of some values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Test {
    /// A modifier's slot, an operand (for its signs and its part), or `form`.
    pub slot: String,
    /// The names of the values.
    pub values: Vec<String>,
}

/// A p-code operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pcode {
    /// The operation.
    pub code: Code,
    /// The destination of the result, if it is used.
    pub output: Option<Value>,
    /// The inputs.
    pub inputs: Vec<Value>,
}

/// The kind of a p-code operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// An operator, as an index into [`NATIVE`].
    Native(usize),
    /// A named function, as an index into [`Isa::functions`].
    Function(usize),
    /// A load from a named space. Input: the address.
    Load(String),
    /// A store to a named space. Inputs: address and value.
    Store(String),
    /// A jump to an address.
    Goto,
    /// A call of an address.
    Call,
    /// A return from a call.
    Return,
    /// The end of the thread.
    Exit,
}

/// A value or a destination.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A temporary, as an index into [`Program::temporaries`].
    Temporary(usize),
    /// A constant, with its width in bits.
    Number(u128, u32),
    /// An operand.
    Operand {
        /// The slot.
        slot: String,
        /// The width in bits.
        width: u32,
        /// The number of registers to add.
        lane: i32,
        /// The interpretation of the signs.
        class: Class,
    },
    /// A flag or a predicate, by name.
    Flag(String),
    /// The address of the next instruction.
    Next,
    /// The number of a modifier's value, as 8 bits.
    Choice(String),
    /// The number in the bits that select a part of an operand, as 8 bits.
    Select(String),
    /// Whether the operand is negated, as 8 bits.
    Negated(String),
    /// The number of the operand's register, as 8 bits; only in Ghidra.
    Index(String),
}

/// The interpretation of an operand's signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// No signs.
    Raw,
    /// Two's complement.
    Integer,
    /// The highest bit is the sign.
    Float,
}

impl Class {
    /// Returns the name in the tables of `unshade-sass`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "Raw",
            Self::Integer => "Integer",
            Self::Float => "Float",
        }
    }
}

/// The width of an operator's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// That of the first input.
    Same,
    /// One bit.
    Truth,
    /// Given by the second argument.
    Said,
    /// Half that of the first input.
    Half,
    /// Twice that of the first input.
    Double,
}

/// A p-code operator.
pub struct Native {
    /// The operator or function name in the semantics.
    pub name: &'static str,
    /// The name in `unshade-sass`.
    pub variant: &'static str,
    /// The number of inputs.
    pub inputs: usize,
    /// The width of the result.
    pub width: Width,
    /// The SLEIGH expression; `{0}` and `{1}` stand for the inputs, `{n}` for the size of the result in bytes.
    pub sleigh: &'static str,
}

const fn native(
    name: &'static str,
    variant: &'static str,
    inputs: usize,
    width: Width,
    sleigh: &'static str,
) -> Native {
    Native { name, variant, inputs, width, sleigh }
}

/// The p-code operators that semantics may use.
pub const NATIVE: [Native; 46] = [
    native("copy", "Copy", 1, Width::Same, "{0}"),
    native("+", "Add", 2, Width::Same, "{0} + {1}"),
    native("-", "Sub", 2, Width::Same, "{0} - {1}"),
    native("*", "Mul", 2, Width::Same, "{0} * {1}"),
    native("&", "And", 2, Width::Same, "{0} & {1}"),
    native("|", "Or", 2, Width::Same, "{0} | {1}"),
    native("^", "Xor", 2, Width::Same, "{0} ^ {1}"),
    native("<<", "ShiftLeft", 2, Width::Same, "{0} << {1}"),
    native(">>", "ShiftRight", 2, Width::Same, "{0} >> {1}"),
    native("asr", "ShiftRightSigned", 2, Width::Same, "{0} s>> {1}"),
    native("unary -", "Negate", 1, Width::Same, "-{0}"),
    native("unary ~", "Not", 1, Width::Same, "~{0}"),
    native("==", "Equal", 2, Width::Truth, "{0} == {1}"),
    native("!=", "NotEqual", 2, Width::Truth, "{0} != {1}"),
    native("<", "Less", 2, Width::Truth, "{0} < {1}"),
    native("<=", "LessEqual", 2, Width::Truth, "{0} <= {1}"),
    native("slt", "SignedLess", 2, Width::Truth, "{0} s< {1}"),
    native("sle", "SignedLessEqual", 2, Width::Truth, "{0} s<= {1}"),
    native("carry", "Carry", 2, Width::Truth, "carry({0}, {1})"),
    native("scarry", "SignedCarry", 2, Width::Truth, "scarry({0}, {1})"),
    native("sborrow", "SignedBorrow", 2, Width::Truth, "sborrow({0}, {1})"),
    native("&&", "BoolAnd", 2, Width::Truth, "{0} && {1}"),
    native("||", "BoolOr", 2, Width::Truth, "{0} || {1}"),
    native("^^", "BoolXor", 2, Width::Truth, "{0} ^^ {1}"),
    native("unary !", "BoolNot", 1, Width::Truth, "!{0}"),
    native("zext", "ZeroExtend", 1, Width::Said, "zext({0})"),
    native("sext", "SignExtend", 1, Width::Said, "sext({0})"),
    native("low", "Low", 1, Width::Said, "{0}:{n}"),
    native("high", "High", 1, Width::Half, "{0}({n})"),
    native("concat", "Concat", 2, Width::Double, "(zext({0}) << {b}) | zext({1})"),
    native("popcount", "PopCount", 1, Width::Same, "popcount({0})"),
    native("lzcount", "LeadingZeros", 1, Width::Same, "lzcount({0})"),
    native("fadd", "FloatAdd", 2, Width::Same, "{0} f+ {1}"),
    native("fmul", "FloatMul", 2, Width::Same, "{0} f* {1}"),
    native("feq", "FloatEqual", 2, Width::Truth, "{0} f== {1}"),
    native("fne", "FloatNotEqual", 2, Width::Truth, "{0} f!= {1}"),
    native("flt", "FloatLess", 2, Width::Truth, "{0} f< {1}"),
    native("fle", "FloatLessEqual", 2, Width::Truth, "{0} f<= {1}"),
    native("fnan", "FloatNan", 1, Width::Truth, "nan({0})"),
    native("ftof", "FloatToFloat", 1, Width::Said, "float2float({0})"),
    native("itof", "IntegerToFloat", 1, Width::Said, "int2float({0})"),
    native("trunc", "FloatTruncate", 1, Width::Said, "trunc({0})"),
    native("fsub", "FloatSub", 2, Width::Same, "{0} f- {1}"),
    native("fdiv", "FloatDiv", 2, Width::Same, "{0} f/ {1}"),
    native("fneg", "FloatNegate", 1, Width::Same, "f-{0}"),
    native("fsqrt", "FloatSqrt", 1, Width::Same, "sqrt({0})"),
];

/// The flags of the condition code and the predicates: destinations of one bit.
pub const FLAGS: [&str; 11] = ["carry", "zero", "sign", "overflow", "P0", "P1", "P2", "P3", "P4", "P5", "P6"];

/// The slot that distinguishes back ends: `backend.ghidra` is only true in SLEIGH.
pub const BACKEND: &str = "backend";

/// Registers that only exist in Ghidra, with their widths: what an instruction with `.CC` leaves for one with `.X`
/// (see `sum` in `operations.isa`). The wide ones consist of the first four.
pub const HALVES: [(&str, u32); 11] = [
    ("left_lower", 32),
    ("left_upper", 32),
    ("right_lower", 32),
    ("right_upper", 32),
    ("sum_lower", 32),
    ("sum_place", 32),
    ("product_place", 32),
    ("product_factor", 32),
    ("product_power", 32),
    ("wide_left", 64),
    ("wide_right", 64),
];

/// The registers of [`HALVES`] that are zero unless the carry is that of the sum which they describe.
pub const PLACES: [&str; 2] = ["sum_place", "product_place"];

fn is_flag(name: &str) -> bool {
    FLAGS.contains(&name) || HALVES.iter().any(|place| place.0 == name)
}

/// Returns the width of a flag or another register of the machine.
pub fn flag_width(name: &str) -> u32 {
    HALVES.iter().find(|place| place.0 == name).map_or(1, |place| place.1)
}

/// The spaces, with the width of their addresses in bits.
pub const SPACES: [(&str, u32); 5] =
    [("ram", 64), ("local", 32), ("shared", 32), ("constant", 32), ("special", 32)];

/// Names of values that test an operand instead of a modifier.
pub const SIGNS: [(&str, crate::model::Part); 3] = [
    ("neg", crate::model::Part::Negate),
    ("abs", crate::model::Part::Absolute),
    ("inv", crate::model::Part::Invert),
];

/// Types and lowers the semantics of an operation.
///
/// # Errors
///
/// If something has no width or contradictory widths, a name is unknown, or an operand is read after it may have been
/// written.
pub fn program(isa: &Isa, operation: &Operation) -> Result<Program, String> {
    let mut expanded = Vec::new();
    let mut expander = Expander { isa, operation, count: 0 };
    expander.statements(&operation.semantics, &Scope::default(), &mut expanded, 0)?;
    let mut lowering =
        Lowering { isa, operation, widths: HashMap::new(), temporaries: Vec::new(), names: HashMap::new() };
    // Names get their widths from assignments, in any order.
    loop {
        let before = lowering.widths.len();
        lowering.infer(&expanded);
        if lowering.widths.len() == before {
            break;
        }
    }
    let steps = lowering.statements(&expanded)?;
    read_after_write(&steps, &mut Vec::new(), &mut Vec::new())?;
    let mut known = HashSet::new();
    undefined(&steps, &mut known)?;
    Ok(Program { steps, temporaries: lowering.temporaries })
}

/// The operands written so far, with the choices under which they were written.
type Written<'a> = Vec<(&'a str, Vec<&'a Test>)>;

/// Checks that no operand is read after one was written, because SLEIGH reads all operands first.
fn read_after_write<'a>(
    steps: &'a [Step],
    path: &mut Vec<&'a Test>,
    written: &mut Written<'a>,
) -> Result<(), String> {
    let excluded = |first: &[&Test], second: &[&Test]| {
        first.iter().any(|one| {
            second.iter().any(|other| {
                one.slot == other.slot && one.values.iter().all(|value| !other.values.contains(value))
            })
        })
    };
    for step in steps {
        match step {
            Step::Do(pcode) => {
                for input in &pcode.inputs {
                    let Value::Operand { slot, .. } = input else { continue };
                    if let Some(before) = written.iter().find(|entry| !excluded(&entry.1, path)) {
                        return Err(format!("'{slot}' is read after '{}' was written", before.0));
                    }
                }
                if let Some(Value::Operand { slot, .. }) = &pcode.output {
                    written.push((slot, path.clone()));
                }
            }
            Step::When(test, yes, no) => {
                let before = written.len();
                path.push(test);
                read_after_write(yes, path, written)?;
                path.pop();
                // One branch does not see the writes of the other; after both, either may have happened.
                let then = written.split_off(before);
                read_after_write(no, path, written)?;
                written.extend(then);
            }
            Step::If(_, yes, no) => {
                let before = written.len();
                read_after_write(yes, path, written)?;
                let then = written.split_off(before);
                read_after_write(no, path, written)?;
                written.extend(then);
            }
        }
    }
    Ok(())
}

/// Checks that every temporary that is read may have been written before.
fn undefined(steps: &[Step], known: &mut HashSet<usize>) -> Result<(), String> {
    let defined = |value: &Value, known: &HashSet<usize>| match value {
        Value::Temporary(index) if !known.contains(index) => {
            Err(String::from("name is read before it is assigned"))
        }
        _ => Ok(()),
    };
    for step in steps {
        match step {
            Step::Do(pcode) => {
                for input in &pcode.inputs {
                    defined(input, known)?;
                }
                if let Some(Value::Temporary(index)) = pcode.output {
                    known.insert(index);
                }
            }
            Step::When(_, yes, no) => {
                undefined(yes, known)?;
                undefined(no, known)?;
            }
            Step::If(condition, yes, no) => {
                defined(condition, known)?;
                undefined(yes, known)?;
                undefined(no, known)?;
            }
        }
    }
    Ok(())
}

/// The arguments of a macro, and the suffix of its local names in this expansion.
#[derive(Default)]
struct Scope {
    parameters: HashMap<String, Expression>,
    suffix: String,
}

struct Expander<'a> {
    isa: &'a Isa,
    operation: &'a Operation,
    count: usize,
}

impl Expander<'_> {
    fn statements(
        &mut self,
        body: &[Statement],
        scope: &Scope,
        out: &mut Vec<Statement>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > 16 {
            return Err(String::from("macros are nested too deeply"));
        }
        for statement in body {
            match statement {
                Statement::Assign(place, value) => {
                    let value = self.expression(value, scope);
                    let mut place = place.clone();
                    match scope.parameters.get(&place.name) {
                        Some(Expression::Name(name)) => place.name.clone_from(name),
                        Some(_) => return Err(format!("can't assign to '{}'", place.name)),
                        None => place.name = self.local(&place.name, scope),
                    }
                    out.push(Statement::Assign(place, value));
                }
                Statement::Call(name, arguments) => {
                    let arguments: Vec<Expression> =
                        arguments.iter().map(|argument| self.expression(argument, scope)).collect();
                    let Some(found) = self.isa.macros.iter().find(|entry| &entry.name == name) else {
                        out.push(Statement::Call(self.function(name, scope), arguments));
                        continue;
                    };
                    if let Some(taken) =
                        found.parameters.iter().find(|parameter| self.isa.modifier(parameter).is_some())
                    {
                        return Err(format!("macro '{name}': '{taken}' is also the name of a modifier"));
                    }
                    if found.parameters.len() != arguments.len() {
                        return Err(format!("macro '{name}' requires {} arguments", found.parameters.len()));
                    }
                    self.count += 1;
                    let inner = Scope {
                        parameters: found.parameters.iter().cloned().zip(arguments).collect(),
                        suffix: format!("'{}", self.count),
                    };
                    let body = &self
                        .isa
                        .macros
                        .iter()
                        .find(|entry| &entry.name == name)
                        .map_or(&[][..], |entry| &entry.body);
                    self.statements(body, &inner, out, depth + 1)?;
                }
                Statement::Goto(target) => out.push(Statement::Goto(self.expression(target, scope))),
                Statement::If(condition, yes, no) => {
                    let condition = self.expression(condition, scope);
                    let (mut then, mut otherwise) = (Vec::new(), Vec::new());
                    self.statements(yes, scope, &mut then, depth)?;
                    self.statements(no, scope, &mut otherwise, depth)?;
                    out.push(Statement::If(condition, then, otherwise));
                }
                Statement::When(condition, yes, no) => {
                    let condition = self.expression(condition, scope);
                    let (mut then, mut otherwise) = (Vec::new(), Vec::new());
                    self.statements(yes, scope, &mut then, depth)?;
                    self.statements(no, scope, &mut otherwise, depth)?;
                    out.push(Statement::When(condition, then, otherwise));
                }
            }
        }
        Ok(())
    }

    /// Returns the unique name for a local name of a macro in this expansion.
    fn local(&self, name: &str, scope: &Scope) -> String {
        let shared = is_flag(name)
            || ["next", "none"].contains(&name)
            || SPACES.iter().any(|space| space.0 == name)
            || self.operation.operands.iter().any(|role| role.name == name)
            || self.isa.modifiers.iter().any(|modifier| modifier.name == name)
            || self.operation.modifiers.iter().any(|entry| entry.0 == name);
        if shared
            && (scope.suffix.is_empty() || !self.operation.operands.iter().any(|role| role.name == name))
        {
            name.to_owned()
        } else {
            format!("{name}{}", scope.suffix)
        }
    }

    fn function(&self, name: &str, scope: &Scope) -> String {
        match scope.parameters.get(name) {
            Some(Expression::Name(name)) => name.clone(),
            _ => name.to_owned(),
        }
    }

    fn expression(&self, expression: &Expression, scope: &Scope) -> Expression {
        let inner = |one: &Expression| Box::new(self.expression(one, scope));
        match expression {
            Expression::Number(..) => expression.clone(),
            Expression::Name(name) => match scope.parameters.get(name) {
                Some(argument) => argument.clone(),
                None => Expression::Name(self.local(name, scope)),
            },
            Expression::Modifier(slot, value) => match scope.parameters.get(slot) {
                Some(argument) => Expression::Modifier(slot_of(argument), value.clone()),
                None => expression.clone(),
            },
            Expression::Unary(operator, one) => Expression::Unary(operator, inner(one)),
            Expression::Binary(operator, left, right) => {
                Expression::Binary(operator, inner(left), inner(right))
            }
            Expression::Call(name, arguments) => Expression::Call(
                self.function(name, scope),
                arguments.iter().map(|argument| self.expression(argument, scope)).collect(),
            ),
            Expression::Wide(one, width) => match self.expression(one, scope) {
                // `a@64` in a macro, for an argument `a` that already has this width.
                Expression::Wide(one, _) => Expression::Wide(one, *width),
                other => Expression::Wide(Box::new(other), *width),
            },
            Expression::Lane(one, lane) => Expression::Lane(inner(one), *lane),
        }
    }
}

/// Returns the operand of an argument, for a macro that tests its signs.
fn slot_of(argument: &Expression) -> String {
    match argument {
        Expression::Name(name) => name.clone(),
        Expression::Call(_, arguments) => arguments.first().map_or_else(String::new, slot_of),
        Expression::Wide(one, _) | Expression::Lane(one, _) => slot_of(one),
        _ => String::new(),
    }
}

struct Lowering<'a> {
    isa: &'a Isa,
    operation: &'a Operation,
    /// The widths of the temporaries.
    widths: HashMap<String, u32>,
    temporaries: Vec<u32>,
    names: HashMap<String, usize>,
}

impl Lowering<'_> {
    fn infer(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Assign(place, value) => {
                    let open = !self.is_fixed(&place.name) && !self.widths.contains_key(&place.name);
                    if let (true, Some(width)) = (open, self.width(value)) {
                        self.widths.insert(place.name.clone(), width);
                    }
                }
                Statement::If(_, yes, no) | Statement::When(_, yes, no) => {
                    self.infer(yes);
                    self.infer(no);
                }
                Statement::Call(..) | Statement::Goto(_) => {}
            }
        }
    }

    fn is_fixed(&self, name: &str) -> bool {
        is_flag(name) || name == "none" || self.role(name).is_some()
    }

    fn role(&self, name: &str) -> Option<&crate::model::Role> {
        self.operation.operands.iter().find(|role| role.name == name)
    }

    /// Returns whether a slot is a modifier of this operation.
    fn modifier(&self, slot: &str) -> bool {
        self.operation.modifiers.iter().any(|entry| entry.0 == slot)
    }

    /// Returns the width of an expression, if it is determined.
    fn width(&self, expression: &Expression) -> Option<u32> {
        match expression {
            Expression::Number(_, width) => *width,
            Expression::Name(name) if is_flag(name) => Some(flag_width(name)),
            Expression::Name(name) if name == "next" => Some(64),
            Expression::Name(name) => match (self.widths.get(name), self.role(name)) {
                (Some(width), _) => Some(*width),
                (None, Some(role)) => Some(role_width(&role.ty)),
                (None, None) if self.is_choice(name) => Some(8),
                _ => None,
            },
            Expression::Modifier(..) => Some(1),
            Expression::Unary("!", _) => Some(1),
            Expression::Unary(_, one) => self.width(one),
            Expression::Binary("==" | "!=" | "<" | "<=" | ">" | ">=" | "&&" | "||" | "^^", ..) => Some(1),
            Expression::Binary("<<" | ">>", left, _) => self.width(left),
            Expression::Binary(_, left, right) => self.width(left).or_else(|| self.width(right)),
            Expression::Wide(_, width) => Some(*width),
            Expression::Lane(..) => Some(32),
            Expression::Call(name, arguments) => self.call_width(name, arguments),
        }
    }

    fn is_choice(&self, name: &str) -> bool {
        self.modifier(name) || self.isa.modifier(name).is_some()
    }

    fn call_width(&self, name: &str, arguments: &[Expression]) -> Option<u32> {
        let first = arguments.first();
        match name {
            "raw" => first.and_then(|argument| self.width(argument)),
            "sel" | "neg" => Some(8),
            "bit" => Some(1),
            "load" => arguments.get(2).and_then(number),
            _ => match NATIVE.iter().find(|native| native.name == name) {
                Some(native) => match native.width {
                    Width::Same => arguments.iter().find_map(|argument| self.width(argument)),
                    Width::Truth => Some(1),
                    Width::Said => arguments.get(1).and_then(number),
                    Width::Half => first.and_then(|argument| self.width(argument)).map(|width| width / 2),
                    Width::Double => first.and_then(|argument| self.width(argument)).map(|width| width * 2),
                },
                None => self.isa.functions.iter().find(|function| function.name == name)?.output,
            },
        }
    }

    fn temporary(&mut self, width: u32) -> Value {
        self.temporaries.push(width);
        Value::Temporary(self.temporaries.len() - 1)
    }

    fn named(&mut self, name: &str, width: u32) -> Value {
        if let Some(index) = self.names.get(name) {
            return Value::Temporary(*index);
        }
        let value = self.temporary(width);
        self.names.insert(name.to_owned(), self.temporaries.len() - 1);
        value
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        for statement in statements {
            match statement {
                Statement::Assign(place, value) => self.assign(place, value, &mut steps)?,
                Statement::Call(name, arguments) => {
                    self.call(name, arguments, None, None, &mut steps)?;
                }
                Statement::Goto(target) => {
                    let target = self.value(target, Some(64), &mut steps)?;
                    steps.push(Step::Do(Pcode { code: Code::Goto, output: None, inputs: vec![target] }));
                }
                Statement::If(condition, yes, no) => {
                    let condition = self.value(condition, Some(1), &mut steps)?;
                    let (yes, no) = (self.statements(yes)?, self.statements(no)?);
                    steps.push(Step::If(condition, yes, no));
                }
                Statement::When(condition, yes, no) => {
                    let (yes, no) = (self.statements(yes)?, self.statements(no)?);
                    steps.extend(self.when(condition, yes, no)?);
                }
            }
        }
        Ok(steps)
    }

    /// Lowers a choice. A test of several slots becomes nested tests of one slot each.
    fn when(&self, condition: &Expression, yes: Vec<Step>, no: Vec<Step>) -> Result<Vec<Step>, String> {
        Ok(match condition {
            Expression::Modifier(slot, value) => match self.known_value(slot, value)? {
                true => vec![Step::When(Test { slot: slot.clone(), values: vec![value.clone()] }, yes, no)],
                // The operation does not have this slot.
                false => no,
            },
            Expression::Unary("!", one) => self.when(one, no, yes)?,
            Expression::Binary("&&", left, right) => {
                let inner = self.when(right, yes, no.clone())?;
                self.when(left, inner, no)?
            }
            Expression::Binary("||", left, right) => {
                let inner = self.when(right, yes.clone(), no.clone())?;
                let mut steps = self.when(left, yes.clone(), inner)?;
                let second = self.when(right, yes, no)?;
                // Two values of the same slot are one test.
                if let ([Step::When(first, _, otherwise)], [Step::When(test, _, last)]) =
                    (&mut steps[..], &second[..])
                    && first.slot == test.slot
                {
                    first.values.extend(test.values.iter().cloned());
                    otherwise.clone_from(last);
                }
                steps
            }
            _ => return Err(String::from("'when' can only test modifiers")),
        })
    }

    /// Returns whether the operation has this slot; an error if the slot has no such value.
    fn known_value(&self, slot: &str, value: &str) -> Result<bool, String> {
        if slot == BACKEND {
            return Ok(true);
        }
        if slot == "form" {
            return Ok(self.operation.forms.iter().any(|form| form.name == value));
        }
        if self.widths.contains_key(slot) {
            // A local name has no signs.
            return Ok(false);
        }
        if self.role(slot).is_some() {
            let part = SIGNS.iter().any(|sign| sign.0 == value);
            let select = self
                .isa
                .modifiers
                .iter()
                .any(|modifier| modifier.values.iter().any(|entry| entry.name == value));
            return if part || select { Ok(true) } else { Err(format!("unknown '{slot}.{value}'")) };
        }
        let Some(entry) = self.operation.modifiers.iter().find(|entry| entry.0 == slot) else {
            return match self.isa.modifier(slot) {
                Some(_) => Ok(false),
                None if ["x", "test", "cmp", "size", "ta", "tb"].contains(&slot) => Ok(false),
                None => Err(format!("'{slot}' is not a modifier")),
            };
        };
        // Operations may declare different sets of values for a slot; a macro may test any of them.
        let modifier = &self.isa.modifiers[entry.1];
        Ok(modifier.values.iter().any(|entry| entry.name == value))
    }

    fn assign(
        &mut self,
        place: &semantics::Destination,
        value: &Expression,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        let name = place.name.as_str();
        let output = if name == "none" {
            None
        } else if is_flag(name) {
            Some(Value::Flag(name.to_owned()))
        } else if let Some(role) = self.role(name) {
            if role.access == Access::In {
                return Err(format!("'{name}' is written, but declared as an input"));
            }
            let width = place.width.unwrap_or(if place.lane.is_some() { 32 } else { role_width(&role.ty) });
            Some(Value::Operand {
                slot: name.to_owned(),
                width,
                lane: place.lane.unwrap_or(0),
                class: Class::Raw,
            })
        } else {
            let width = *self.widths.get(name).ok_or_else(|| format!("unknown width of '{name}'"))?;
            Some(self.named(name, width))
        };
        let wanted = match &output {
            Some(value) => Some(self.width_of(value)),
            None => place.width,
        };
        self.into(value, wanted, output, steps)
    }

    fn width_of(&self, value: &Value) -> u32 {
        match value {
            Value::Temporary(index) => self.temporaries.get(*index).copied().unwrap_or(0),
            Value::Number(_, width) | Value::Operand { width, .. } => *width,
            Value::Flag(name) => flag_width(name),
            Value::Next => 64,
            Value::Choice(_) | Value::Select(_) | Value::Negated(_) | Value::Index(_) => 8,
        }
    }

    /// Computes a value into a destination.
    fn into(
        &mut self,
        value: &Expression,
        wanted: Option<u32>,
        output: Option<Value>,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        let first = steps.len();
        let result = self.value_into(value, wanted, output.clone(), steps)?;
        match (result, output) {
            (Some(result), Some(output)) if result != output => {
                let (has, wants) = (self.width_of(&result), self.width_of(&output));
                if has != wants {
                    return Err(format!("{has} bits instead of {wants}: {value:?}"));
                }
                steps.push(Step::Do(Pcode {
                    code: Code::Native(0),
                    output: Some(output),
                    inputs: vec![result],
                }));
            }
            (None, Some(_)) => return Err(String::from("missing value")),
            (Some(_), None) if steps.len() == first => return Err(String::from("unused value")),
            _ => {}
        }
        Ok(())
    }

    /// Lowers an expression to a value, of the given width if known.
    fn value(
        &mut self,
        expression: &Expression,
        wanted: Option<u32>,
        steps: &mut Vec<Step>,
    ) -> Result<Value, String> {
        let result = self.value_into(expression, wanted, None, steps)?.ok_or("a value is wanted")?;
        let has = self.width_of(&result);
        match wanted {
            Some(wanted) if wanted != has => Err(format!("{has} bits instead of {wanted}: {expression:?}")),
            _ => Ok(result),
        }
    }

    fn value_into(
        &mut self,
        expression: &Expression,
        wanted: Option<u32>,
        output: Option<Value>,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Value>, String> {
        Ok(Some(match expression {
            Expression::Number(value, width) => {
                let width = width.or(wanted).ok_or_else(|| format!("unknown width of {value}"))?;
                Value::Number(*value, width)
            }
            Expression::Name(name) => self.name(name)?,
            Expression::Modifier(..) => return Err(String::from("modifiers can only be tested by 'when'")),
            Expression::Wide(..) | Expression::Lane(..) => self.operand(expression)?,
            Expression::Unary(operator, one) => {
                let wanted = if *operator == "!" { Some(1) } else { self.width(one).or(wanted) };
                let input = self.value(one, wanted, steps)?;
                self.native(&format!("unary {operator}"), vec![input], None, output, steps)?
            }
            // p-code has no `>`: swap the inputs.
            Expression::Binary(">", left, right) => self.binary("<", right, left, wanted, output, steps)?,
            Expression::Binary(">=", left, right) => self.binary("<=", right, left, wanted, output, steps)?,
            Expression::Binary(operator, left, right) => {
                self.binary(operator, left, right, wanted, output, steps)?
            }
            Expression::Call(name, arguments) => return self.call(name, arguments, wanted, output, steps),
        }))
    }

    fn name(&mut self, name: &str) -> Result<Value, String> {
        if let Some(width) = self.widths.get(name).copied() {
            return Ok(self.named(name, width));
        }
        if is_flag(name) {
            return Ok(Value::Flag(name.to_owned()));
        }
        if name == "next" {
            return Ok(Value::Next);
        }
        if self.role(name).is_some() {
            return self.operand(&Expression::Name(name.to_owned()));
        }
        if self.modifier(name) {
            return Ok(Value::Choice(name.to_owned()));
        }
        // A modifier that the operation does not have is its first value.
        if self.isa.modifier(name).is_some() {
            return Ok(Value::Number(0, 8));
        }
        Err(format!("unknown name '{name}'"))
    }

    /// Lowers `a`, `a@64`, `a[1]`, `raw(a)` or `raw(a)@64`.
    fn operand(&self, expression: &Expression) -> Result<Value, String> {
        let (name, width, lane, raw) = match expression {
            Expression::Name(name) => (name, None, 0, false),
            Expression::Wide(one, width) => match &**one {
                Expression::Name(name) => (name, Some(*width), 0, false),
                Expression::Call(function, arguments) if function == "raw" => match arguments.as_slice() {
                    [Expression::Name(name)] => (name, Some(*width), 0, true),
                    _ => return Err(String::from("expected raw(operand)")),
                },
                _ => return Err(String::from("only operands can have a width")),
            },
            Expression::Lane(one, lane) => match &**one {
                Expression::Name(name) => (name, Some(32), *lane, true),
                _ => return Err(String::from("only operands can be indexed")),
            },
            _ => return Err(String::from("expected an operand")),
        };
        let role = self.role(name).ok_or_else(|| format!("'{name}' is not an operand"))?;
        let class = match (raw, role.ty.as_str()) {
            (true, _) => Class::Raw,
            (_, "f32" | "f64" | "?ftype" | "?fdest") => Class::Float,
            _ => Class::Integer,
        };
        Ok(Value::Operand { slot: name.clone(), width: width.unwrap_or(role_width(&role.ty)), lane, class })
    }

    fn binary(
        &mut self,
        operator: &str,
        left: &Expression,
        right: &Expression,
        wanted: Option<u32>,
        output: Option<Value>,
        steps: &mut Vec<Step>,
    ) -> Result<Value, String> {
        let shift = matches!(operator, "<<" | ">>" | "asr");
        let truth = matches!(operator, "&&" | "||" | "^^");
        let compares = NATIVE.iter().any(|native| native.name == operator && native.width == Width::Truth);
        let width = if truth {
            Some(1)
        } else if shift {
            self.width(left).or(wanted)
        } else {
            self.width(left).or_else(|| self.width(right)).or(if compares { None } else { wanted })
        };
        let first = self.value(left, width, steps)?;
        let second = self.value(right, if shift { self.width(right).or(Some(32)) } else { width }, steps)?;
        self.native(operator, vec![first, second], None, output, steps)
    }

    fn native(
        &mut self,
        name: &str,
        inputs: Vec<Value>,
        said: Option<u32>,
        output: Option<Value>,
        steps: &mut Vec<Step>,
    ) -> Result<Value, String> {
        let index = NATIVE
            .iter()
            .position(|native| native.name == name)
            .ok_or_else(|| format!("unknown operator '{name}'"))?;
        let native = &NATIVE[index];
        if inputs.len() != native.inputs {
            return Err(format!("'{name}' requires {} inputs", native.inputs));
        }
        let first = self.width_of(&inputs[0]);
        let width = match native.width {
            Width::Same => first,
            Width::Truth => 1,
            Width::Said => said.ok_or_else(|| format!("'{name}' requires a width"))?,
            Width::Half => first / 2,
            Width::Double => first * 2,
        };
        let output = match output {
            Some(output) if self.width_of(&output) == width => output,
            Some(output) => {
                return Err(format!("'{name}' gives {width} bits instead of {}", self.width_of(&output)));
            }
            None => self.temporary(width),
        };
        steps.push(Step::Do(Pcode { code: Code::Native(index), output: Some(output.clone()), inputs }));
        Ok(output)
    }

    fn call(
        &mut self,
        name: &str,
        arguments: &[Expression],
        wanted: Option<u32>,
        output: Option<Value>,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Value>, String> {
        let simple = |code: Code, inputs: Vec<Value>| Step::Do(Pcode { code, output: None, inputs });
        match (name, arguments) {
            ("raw", [Expression::Name(slot)]) => {
                // Anything but an operand has no signs.
                let Some(role) = self.role(slot) else { return self.name(slot).map(Some) };
                let width = role_width(&role.ty);
                Ok(Some(Value::Operand { slot: slot.clone(), width, lane: 0, class: Class::Raw }))
            }
            // The argument of a macro may be a value without signs.
            ("raw", [Expression::Call(inner, arguments)]) if inner == "raw" => {
                self.call("raw", arguments, wanted, output, steps)
            }
            ("raw", [other]) => self.value(other, wanted, steps).map(Some),
            ("sel", [Expression::Name(slot)]) => Ok(Some(Value::Select(slot.clone()))),
            ("neg", [Expression::Name(slot)]) => Ok(Some(Value::Negated(slot.clone()))),
            ("index", [Expression::Name(slot)]) => Ok(Some(Value::Index(slot.clone()))),
            ("bit", [value, place]) => {
                let place = number(place).ok_or("a bit has a number")?;
                let value = self.value(value, None, steps)?;
                let width = self.width_of(&value);
                let masked =
                    self.native("&", vec![value, Value::Number(1 << place, width)], None, None, steps)?;
                self.native("!=", vec![masked, Value::Number(0, width)], None, output, steps).map(Some)
            }
            ("load", [Expression::Name(space), address, width]) => {
                let width = number(width).ok_or("a load has a width")?;
                let address = self.address(space, address, steps)?;
                let output = match output {
                    Some(output) if self.width_of(&output) == width => output,
                    _ => self.temporary(width),
                };
                steps.push(Step::Do(Pcode {
                    code: Code::Load(space.clone()),
                    output: Some(output.clone()),
                    inputs: vec![address],
                }));
                Ok(Some(output))
            }
            ("store", [Expression::Name(space), address, value]) => {
                let address = self.address(space, address, steps)?;
                let value = self.value(value, None, steps)?;
                steps.push(simple(Code::Store(space.clone()), vec![address, value]));
                Ok(None)
            }
            ("call", [target]) => {
                let target = self.value(target, Some(64), steps)?;
                steps.push(simple(Code::Call, vec![target]));
                Ok(None)
            }
            ("return", []) => {
                steps.push(simple(Code::Return, Vec::new()));
                Ok(None)
            }
            ("exit", []) => {
                steps.push(simple(Code::Exit, Vec::new()));
                Ok(None)
            }
            _ => match self.isa.functions.iter().position(|function| function.name == name) {
                Some(index) => self.function(index, arguments, output, steps),
                None => self.native_call(name, arguments, wanted, output, steps).map(Some),
            },
        }
    }

    fn address(&mut self, space: &str, address: &Expression, steps: &mut Vec<Step>) -> Result<Value, String> {
        let found =
            SPACES.iter().find(|entry| entry.0 == space).ok_or_else(|| format!("unknown space '{space}'"))?;
        self.value(address, Some(found.1), steps)
    }

    fn native_call(
        &mut self,
        name: &str,
        arguments: &[Expression],
        wanted: Option<u32>,
        output: Option<Value>,
        steps: &mut Vec<Step>,
    ) -> Result<Value, String> {
        let native = NATIVE
            .iter()
            .find(|native| native.name == name)
            .ok_or_else(|| format!("unknown function '{name}'"))?;
        if let (2, [left, right]) = (native.inputs, arguments) {
            return self.binary(name, left, right, wanted, output, steps);
        }
        let first = arguments.first().ok_or_else(|| format!("'{name}' requires an argument"))?;
        let width = self.width(first).or(if native.width == Width::Same { wanted } else { None });
        let input = self.value(first, width, steps)?;
        self.native(name, vec![input], arguments.get(1).and_then(number), output, steps)
    }

    fn function(
        &mut self,
        index: usize,
        arguments: &[Expression],
        output: Option<Value>,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Value>, String> {
        let function = self.isa.functions[index].clone();
        if function.inputs.len() != arguments.len() {
            return Err(format!("'{}' requires {} inputs", function.name, function.inputs.len()));
        }
        let inputs: Result<Vec<Value>, String> = arguments
            .iter()
            .zip(&function.inputs)
            .map(|(argument, width)| self.value(argument, Some(*width), steps))
            .collect();
        let inputs = inputs.map_err(|message| format!("{}: {message}", function.name))?;
        let output = match (output, function.output) {
            (Some(output), Some(width)) if self.width_of(&output) == width => Some(output),
            (_, Some(width)) => Some(self.temporary(width)),
            (_, None) => None,
        };
        steps.push(Step::Do(Pcode { code: Code::Function(index), output: output.clone(), inputs }));
        Ok(output)
    }
}

fn number(expression: &Expression) -> Option<u32> {
    match expression {
        Expression::Number(value, _) => u32::try_from(*value).ok(),
        _ => None,
    }
}

/// Returns the default width of an operand of a type.
pub fn role_width(ty: &str) -> u32 {
    match ty {
        "f64" | "label" => 64,
        "pred" => 1,
        _ => 32,
    }
}
