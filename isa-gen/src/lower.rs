//! Semantics, typed: statements become p-code over operands.
//!
//! Macros are put in place, every expression gets a width, and what nests becomes operations on names. What depends on
//! modifiers (`when`) stays a choice, since an operation is lowered once for all of its encodings; `if` stays, since it is
//! decided when the program runs. Both back ends, the tables of `unshade-sass` and the SLEIGH files, are written from
//! this.

use std::collections::{HashMap, HashSet};

use crate::model::{Access, Isa, Operation};
use crate::semantics::{self, Expression, Statement};

/// What an operation does.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Steps in their order.
    pub steps: Vec<Step>,
    /// The widths of the program's own names, in bits.
    pub temporaries: Vec<u32>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// One operation of p-code.
    Do(Pcode),
    /// Steps if a modifier has one of some values, or else others.
    When(Test, Vec<Step>, Vec<Step>),
    /// Steps if a value is not zero, or else others.
    If(Value, Vec<Step>, Vec<Step>),
}

/// Whether a slot has one of these values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Test {
    /// A modifier's slot, an operand (for its signs and its part), or `form`.
    pub slot: String,
    /// Names of values.
    pub values: Vec<String>,
}

/// An operation of p-code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pcode {
    /// Which.
    pub code: Code,
    /// Where the result goes, if there is one and somebody wants it.
    pub output: Option<Value>,
    /// Its inputs.
    pub inputs: Vec<Value>,
}

/// Which operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// Into [`NATIVE`].
    Native(usize),
    /// Into [`Isa::functions`].
    Function(usize),
    /// From a space, by its name: the address is the input.
    Load(String),
    /// Into a space: address and value.
    Store(String),
    /// Goes on at an address.
    Goto,
    /// Calls an address.
    Call,
    /// Returns from a call.
    Return,
    /// Ends the thread.
    Exit,
}

/// A value or a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Into [`Program::temporaries`].
    Temporary(usize),
    /// A number of so many bits.
    Number(u128, u32),
    /// An operand.
    Operand {
        /// Its slot.
        slot: String,
        /// So many bits.
        width: u32,
        /// How many registers further.
        lane: u32,
        /// How its signs are read.
        class: Class,
    },
    /// A flag or a predicate, by its name.
    Flag(String),
    /// The address of the next instruction.
    Next,
    /// The number of a modifier's value, in 8 bits.
    Choice(String),
    /// The number in the bits that choose a part of an operand, in 8 bits.
    Select(String),
    /// Whether the operand is negated, in 8 bits.
    Negated(String),
}

/// How the signs of an operand are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// As it stands, without its signs.
    Raw,
    /// Complements.
    Integer,
    /// The sign is the highest bit.
    Float,
}

impl Class {
    /// The name that the tables of `unshade-sass` have.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "Raw",
            Self::Integer => "Integer",
            Self::Float => "Float",
        }
    }
}

/// How an operator's result is as wide as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Its first input.
    Same,
    /// One bit.
    Truth,
    /// As the second argument says.
    Said,
    /// Half of its first input.
    Half,
    /// Twice its first input.
    Double,
}

/// An operator of p-code.
pub struct Native {
    /// The name in the semantics: an operator, or a function.
    pub name: &'static str,
    /// The name in `unshade-sass`.
    pub variant: &'static str,
    /// How many inputs.
    pub inputs: usize,
    /// How wide the result is.
    pub width: Width,
    /// How SLEIGH has it; `{0}` and `{1}` for the inputs, `{n}` for the bytes of the result.
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

/// The operators of p-code that semantics use.
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

/// Flags of the condition code and predicates: places of one bit.
pub const FLAGS: [&str; 11] = ["carry", "zero", "sign", "overflow", "P0", "P1", "P2", "P3", "P4", "P5", "P6"];

/// A slot that tells back ends apart: `backend.ghidra` holds in SLEIGH alone.
pub const BACKEND: &str = "backend";

/// Places that only Ghidra has: a product that two instructions share, and its factors; with their widths.
pub const WHOLE: [(&str, u32); 3] = [("whole", 64), ("whole_factor", 32), ("whole_power", 32)];

fn is_flag(name: &str) -> bool {
    FLAGS.contains(&name) || WHOLE.iter().any(|place| place.0 == name)
}

/// The bits of a flag or another place of the machine's.
pub fn flag_width(name: &str) -> u32 {
    WHOLE.iter().find(|place| place.0 == name).map_or(1, |place| place.1)
}

/// Spaces: their names, and the bits of an address in them.
pub const SPACES: [(&str, u32); 5] =
    [("ram", 64), ("local", 32), ("shared", 32), ("constant", 32), ("special", 32)];

/// Names of values that test an operand and not a modifier.
pub const SIGNS: [(&str, crate::model::Part); 3] = [
    ("neg", crate::model::Part::Negate),
    ("abs", crate::model::Part::Absolute),
    ("inv", crate::model::Part::Invert),
];

/// Types and lowers what an operation does.
///
/// # Errors
///
/// What has no width or two, what is named and is nothing, and what is read after it may have been written.
pub fn program(isa: &Isa, operation: &Operation) -> Result<Program, String> {
    let mut expanded = Vec::new();
    let mut expander = Expander { isa, operation, count: 0 };
    expander.statements(&operation.semantics, &Scope::default(), &mut expanded, 0)?;
    let mut lowering =
        Lowering { isa, operation, widths: HashMap::new(), temporaries: Vec::new(), names: HashMap::new() };
    // Names take their widths from what is assigned to them, in whatever order.
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

/// What was written, and under which choices.
type Written<'a> = Vec<(&'a str, Vec<&'a Test>)>;

/// SLEIGH reads operands once, before anything else, so that no operand may be read after one was written.
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
                // The other side does not see what the first wrote; after both, either may have been.
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

/// A temporary that is read must have been written somewhere before.
fn undefined(steps: &[Step], known: &mut HashSet<usize>) -> Result<(), String> {
    let defined = |value: &Value, known: &HashSet<usize>| match value {
        Value::Temporary(index) if !known.contains(index) => {
            Err(String::from("a name is read before it is assigned to"))
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

/// What the parameters of a macro stand for, and what its own names are called where it is put.
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
            return Err(String::from("macros nest too deeply"));
        }
        for statement in body {
            match statement {
                Statement::Assign(place, value) => {
                    let value = self.expression(value, scope);
                    let mut place = place.clone();
                    match scope.parameters.get(&place.name) {
                        Some(Expression::Name(name)) => place.name.clone_from(name),
                        Some(_) => return Err(format!("'{}' is assigned to, and is no place", place.name)),
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
                        return Err(format!("macro '{name}': '{taken}' is the name of a modifier"));
                    }
                    if found.parameters.len() != arguments.len() {
                        return Err(format!("macro '{name}' has {} parameters", found.parameters.len()));
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

    /// A name of a macro's own is another one wherever the macro is put.
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
                // `a@64` of a macro whose `a` is a value that is wide already.
                Expression::Wide(one, _) => Expression::Wide(one, *width),
                other => Expression::Wide(Box::new(other), *width),
            },
            Expression::Lane(one, lane) => Expression::Lane(inner(one), *lane),
        }
    }
}

/// The operand that an argument is, whose signs a macro asks for.
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
    /// Widths of the program's own names.
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

    /// The slots that are modifiers of this operation.
    fn modifier(&self, slot: &str) -> bool {
        self.operation.modifiers.iter().any(|entry| entry.0 == slot)
    }

    /// The width of an expression, if it says one.
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

    /// Tests on several slots become tests on one each.
    fn when(&self, condition: &Expression, yes: Vec<Step>, no: Vec<Step>) -> Result<Vec<Step>, String> {
        Ok(match condition {
            Expression::Modifier(slot, value) => match self.known_value(slot, value)? {
                true => vec![Step::When(Test { slot: slot.clone(), values: vec![value.clone()] }, yes, no)],
                // A slot that the operation has not.
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
                // Two values of one slot are one test.
                if let ([Step::When(first, _, otherwise)], [Step::When(test, _, last)]) =
                    (&mut steps[..], &second[..])
                    && first.slot == test.slot
                {
                    first.values.extend(test.values.iter().cloned());
                    otherwise.clone_from(last);
                }
                steps
            }
            _ => return Err(String::from("'when' tests modifiers")),
        })
    }

    /// Whether the operation has this slot; an error if the slot has no such value.
    fn known_value(&self, slot: &str, value: &str) -> Result<bool, String> {
        if slot == BACKEND {
            return Ok(true);
        }
        if slot == "form" {
            return Ok(self.operation.forms.iter().any(|form| form.name == value));
        }
        if self.widths.contains_key(slot) {
            // A name of the program's own has no signs.
            return Ok(false);
        }
        if self.role(slot).is_some() {
            let part = SIGNS.iter().any(|sign| sign.0 == value);
            let select = self
                .isa
                .modifiers
                .iter()
                .any(|modifier| modifier.values.iter().any(|entry| entry.name == value));
            return if part || select { Ok(true) } else { Err(format!("'{slot}.{value}' is nothing")) };
        }
        let Some(entry) = self.operation.modifiers.iter().find(|entry| entry.0 == slot) else {
            return match self.isa.modifier(slot) {
                Some(_) => Ok(false),
                None if ["x", "test", "cmp", "size", "ta", "tb"].contains(&slot) => Ok(false),
                None => Err(format!("'{slot}' is no modifier")),
            };
        };
        // Several operations give one slot different sets of values; a macro may ask for those of any.
        let modifier = &self.isa.modifiers[entry.1];
        Ok(modifier.values.iter().any(|entry| entry.name == value))
    }

    fn assign(
        &mut self,
        place: &semantics::Place,
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
                return Err(format!("'{name}' is written, and is an operand that is read"));
            }
            let width = place.width.unwrap_or(if place.lane.is_some() { 32 } else { role_width(&role.ty) });
            Some(Value::Operand {
                slot: name.to_owned(),
                width,
                lane: place.lane.unwrap_or(0),
                class: Class::Raw,
            })
        } else {
            let width = *self.widths.get(name).ok_or_else(|| format!("how wide is '{name}'?"))?;
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
            Value::Choice(_) | Value::Select(_) | Value::Negated(_) => 8,
        }
    }

    /// Computes a value into a place.
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
                    return Err(format!("{has} bits where {wants} are wanted: {value:?}"));
                }
                steps.push(Step::Do(Pcode {
                    code: Code::Native(0),
                    output: Some(output),
                    inputs: vec![result],
                }));
            }
            (None, Some(_)) => return Err(String::from("a value is wanted")),
            (Some(_), None) if steps.len() == first => return Err(String::from("a value that nobody uses")),
            _ => {}
        }
        Ok(())
    }

    /// A value; of this width, if that is known.
    fn value(
        &mut self,
        expression: &Expression,
        wanted: Option<u32>,
        steps: &mut Vec<Step>,
    ) -> Result<Value, String> {
        let result = self.value_into(expression, wanted, None, steps)?.ok_or("a value is wanted")?;
        let has = self.width_of(&result);
        match wanted {
            Some(wanted) if wanted != has => {
                Err(format!("{has} bits where {wanted} are wanted: {expression:?}"))
            }
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
                let width = width.or(wanted).ok_or_else(|| format!("how wide is {value}?"))?;
                Value::Number(*value, width)
            }
            Expression::Name(name) => self.name(name)?,
            Expression::Modifier(..) => return Err(String::from("modifiers are tested by 'when'")),
            Expression::Wide(..) | Expression::Lane(..) => self.operand(expression)?,
            Expression::Unary(operator, one) => {
                let wanted = if *operator == "!" { Some(1) } else { self.width(one).or(wanted) };
                let input = self.value(one, wanted, steps)?;
                self.native(&format!("unary {operator}"), vec![input], None, output, steps)?
            }
            // p-code has no greater: the sides change places.
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
        // A modifier that the operation has not is the first of its values.
        if self.isa.modifier(name).is_some() {
            return Ok(Value::Number(0, 8));
        }
        Err(format!("'{name}' is nothing"))
    }

    /// `a`, `a@64`, `a[1]`, `raw(a)`, `raw(a)@64`
    fn operand(&self, expression: &Expression) -> Result<Value, String> {
        let (name, width, lane, raw) = match expression {
            Expression::Name(name) => (name, None, 0, false),
            Expression::Wide(one, width) => match &**one {
                Expression::Name(name) => (name, Some(*width), 0, false),
                Expression::Call(function, arguments) if function == "raw" => match arguments.as_slice() {
                    [Expression::Name(name)] => (name, Some(*width), 0, true),
                    _ => return Err(String::from("raw(operand)")),
                },
                _ => return Err(String::from("only operands have several widths")),
            },
            Expression::Lane(one, lane) => match &**one {
                Expression::Name(name) => (name, Some(32), *lane, true),
                _ => return Err(String::from("only operands have several registers")),
            },
            _ => return Err(String::from("an operand is expected")),
        };
        let role = self.role(name).ok_or_else(|| format!("'{name}' is no operand"))?;
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
            .ok_or_else(|| format!("there is no operator '{name}'"))?;
        let native = &NATIVE[index];
        if inputs.len() != native.inputs {
            return Err(format!("'{name}' has {} inputs", native.inputs));
        }
        let first = self.width_of(&inputs[0]);
        let width = match native.width {
            Width::Same => first,
            Width::Truth => 1,
            Width::Said => said.ok_or_else(|| format!("'{name}' to how many bits?"))?,
            Width::Half => first / 2,
            Width::Double => first * 2,
        };
        let output = match output {
            Some(output) if self.width_of(&output) == width => output,
            Some(output) => {
                return Err(format!(
                    "'{name}' gives {width} bits where {} are wanted",
                    self.width_of(&output)
                ));
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
                // What is no operand has no signs.
                let Some(role) = self.role(slot) else { return self.name(slot).map(Some) };
                let width = role_width(&role.ty);
                Ok(Some(Value::Operand { slot: slot.clone(), width, lane: 0, class: Class::Raw }))
            }
            // A macro's parameter may be a value that has no signs.
            ("raw", [Expression::Call(inner, arguments)]) if inner == "raw" => {
                self.call("raw", arguments, wanted, output, steps)
            }
            ("raw", [other]) => self.value(other, wanted, steps).map(Some),
            ("sel", [Expression::Name(slot)]) => Ok(Some(Value::Select(slot.clone()))),
            ("neg", [Expression::Name(slot)]) => Ok(Some(Value::Negated(slot.clone()))),
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
        let found = SPACES
            .iter()
            .find(|entry| entry.0 == space)
            .ok_or_else(|| format!("there is no space '{space}'"))?;
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
            .ok_or_else(|| format!("there is no function '{name}'"))?;
        if let (2, [left, right]) = (native.inputs, arguments) {
            return self.binary(name, left, right, wanted, output, steps);
        }
        let first = arguments.first().ok_or_else(|| format!("'{name}' of what?"))?;
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
            return Err(format!("'{}' has {} inputs", function.name, function.inputs.len()));
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

/// The bits of an operand of a type, where nothing else is said.
pub fn role_width(ty: &str) -> u32 {
    match ty {
        "f64" | "label" => 64,
        "pred" => 1,
        _ => 32,
    }
}
