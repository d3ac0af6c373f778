//! Checks each rule against the results of operators.
//!
//! Everything is generated from the table. For each operator of the root and each way to give widths to the values, the
//! left side is built in a function and the rule applied to it; then both sides are evaluated. Where no value has more than
//! 8 bits, up to two of them, with constants, have all numbers, and more have all combinations of a selection. Wider values
//! have random and special numbers. A rule that is restricted to a width for other reasons than its law is checked at all.

use super::matcher::Index;
use super::rules::RULES;
use super::term::*;
use crate::ir::Op::{
    Add, And, BoolAnd, BoolNot, BoolOr, BoolXor, Equal, FloatConvert, FloatSub, High, LessEqual, Low, Or,
    Sar, Select, Shl, Shr, SignExtend, Sub, ZeroExtend,
};
use crate::ir::evaluate::Expression;
use crate::ir::fold::masked;
use crate::ir::verify::verify;
use crate::ir::{Axis, BlockId, End, Function, NO_ADDRESS, OPERATORS, Op, Special, ValueId, Widths};

/// Widths of values inside a rule.
const WIDTHS: [u8; 7] = [1, 4, 8, 16, 24, 32, 64];

/// How many numbers of 8 bits each value has if one, two, three or more of them are needed.
const SELECTIONS: [usize; 4] = [256, 256, 40, 12];

/// How often wide constants are chosen at random, and how often values for each.
const RANDOM: [usize; 2] = [250, 16];

/// How the value of a name is built, so that the conditions about it may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Masked,
    Small,
    Negated,
    Extended,
}

/// A number to choose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    width: u8,
    /// What it is a multiple of.
    step: u64,
    /// Whether the highest bit is clear.
    is_small: bool,
}

impl Choice {
    pub(super) fn new(width: u8) -> Self {
        Self { width, step: 1, is_small: false }
    }

    fn limited(self, number: u64) -> u64 {
        let width = if self.is_small { self.width - 1 } else { self.width };
        masked(number.wrapping_mul(self.step), width)
    }
}

/// The left side of a rule in a function.
struct Side<'r> {
    rule: &'r Rule,
    root: Op,
    function: Function,
    /// Choices of widths and operators: which one, and of how many. Those beyond the end are the first.
    shape: Vec<(usize, usize)>,
    next: usize,
    /// Numbers for constants and masks, in the order in which they are needed.
    numbers: Vec<u64>,
    fixed: Vec<Choice>,
    leaves: Vec<(ValueId, Choice)>,
    values: [Option<ValueId>; 4],
    constants: [Option<u64>; 3],
}

impl<'r> Side<'r> {
    /// Builds the left side, with constants that are these numbers, or 0. Returns the root, too; `None` if the
    /// widths do not fit.
    fn new(
        rule: &'r Rule,
        root: Op,
        width: u8,
        shape: Vec<(usize, usize)>,
        numbers: Vec<u64>,
    ) -> (Self, Option<ValueId>) {
        let mut function = Function::default();
        function.block(0);
        let (fixed, leaves) = (Vec::new(), Vec::new());
        let (values, constants) = ([None; 4], [None; 3]);
        let mut side =
            Self { rule, root, function, shape, next: 0, numbers, fixed, leaves, values, constants };
        let id = side.operation(root, rule.inputs, width, true);
        (side, id)
    }

    fn choose<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        if self.next == self.shape.len() {
            self.shape.push((0, from.len()));
        }
        let chosen = self.shape[self.next].0;
        self.next += 1;
        from.get(chosen).copied()
    }

    fn raw(&mut self, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        self.function.raw(op, width, BlockId::ENTRY, NO_ADDRESS, inputs)
    }

    fn number(&mut self, width: u8) -> u64 {
        let number = self.numbers.get(self.fixed.len()).copied().unwrap_or(0);
        self.fixed.push(Choice::new(width));
        number
    }

    fn leaf(&mut self, op: Op, choice: Choice) -> ValueId {
        let id = self.raw(op, choice.width, &[]);
        self.leaves.push((id, choice));
        id
    }

    fn term(&mut self, term: &Term, width: u8) -> Option<ValueId> {
        Some(match *term {
            Term::Any(name) => return self.value(name, width),
            Term::Constant(name) => {
                let name = usize::from(name);
                let number = match self.constants[name] {
                    Some(number) => number,
                    None => self.number(width),
                };
                self.constants[name] = Some(number);
                self.function.constant(number, width)
            }
            Term::Window if width == 32 => {
                self.leaf(Op::Special(Special::LocalWindow), Choice { step: WINDOW, ..Choice::new(32) })
            }
            Term::Number(number) => self.function.constant(number, width),
            Term::Ones => self.function.constant(u64::MAX, width),
            Term::Sign => self.function.constant(1 << (width - 1), width),
            Term::Op(op, inputs) => return self.operation(op, inputs, width, false),
            Term::Same(inputs) => return self.operation(self.root, inputs, width, false),
            Term::OneOf(ops, inputs) => {
                let op = self.choose(ops)?;
                return self.operation(op, inputs, width, false);
            }
            _ => return None,
        })
    }

    fn value(&mut self, name: u8, width: u8) -> Option<ValueId> {
        if let Some(known) = self.values[usize::from(name)] {
            return (self.function.width(known) == width).then_some(known);
        }
        let parameter = Op::Parameter(u32::from(name) * 8);
        let id = match kind(self.rule, name) {
            Kind::Plain => self.leaf(parameter, Choice::new(width)),
            Kind::Small => {
                let choice = Choice { is_small: true, ..Choice::new(width) };
                self.leaf(Op::Special(Special::ThreadIndex(Axis::X)), choice)
            }
            Kind::Negated => {
                let inner = self.leaf(parameter, Choice::new(width));
                self.raw(BoolNot, width, &[inner])
            }
            Kind::Extended => {
                let inner = self.leaf(parameter, Choice::new(width / 2));
                self.raw(ZeroExtend, width, &[inner])
            }
            Kind::Masked => {
                let inner = self.leaf(parameter, Choice::new(width));
                let mask = self.number(width);
                let mask = self.function.constant(mask, width);
                self.raw(And, width, &[inner, mask])
            }
        };
        self.values[usize::from(name)] = Some(id);
        Some(id)
    }

    fn operation(&mut self, op: Op, inputs: &[Term], width: u8, is_root: bool) -> Option<ValueId> {
        let free = |fits: &dyn Fn(u8) -> bool| -> Vec<u8> {
            WIDTHS.into_iter().filter(|width| fits(*width)).collect()
        };
        let known = OPERATORS.iter().find(|known| known.0 == op).map(|known| known.2);
        let widths: [u8; 3] = match (known, op) {
            (Some(Widths::Shift), _) => [width, if width <= 8 { 4 } else { 32 }, 0],
            (Some(Widths::Widen), _) => {
                [self.choose(&free(&|inner| inner < width || is_root && inner == width))?, 0, 0]
            }
            (Some(Widths::Narrow), High) => [2 * width, 0, 0],
            (Some(Widths::Narrow), _) => {
                [self.choose(&free(&|inner| inner > width || is_root && inner == width))?, 0, 0]
            }
            (Some(Widths::Concat), _) => {
                let low = self.choose(&free(&|inner| inner < width))?;
                [width - low, low, 0]
            }
            (Some(Widths::Compare), op) if op.takes_float(0) => [self.choose(&[32, 64])?; 3],
            (Some(Widths::Compare), _) if width == 1 => [self.choose(&free(&|_| true))?; 3],
            (Some(Widths::Convert), FloatConvert) => [if width == 32 { 64 } else { 32 }, 0, 0],
            (Some(Widths::Convert), _) => [self.choose(&free(&|_| true))?, 0, 0],
            (Some(Widths::Select), _) => [1, width, width],
            (Some(Widths::Compare | Widths::Leaf | Widths::Test | Widths::Phi), _) => return None,
            _ => [width; 3],
        };
        let mut ids = Vec::new();
        for (input, width) in inputs.iter().zip(widths) {
            if width == 0 || width > 64 {
                return None;
            }
            ids.push(self.term(input, width)?);
        }
        Some(self.raw(op, width, &ids))
    }

    /// Returns what a value is computed by.
    fn computed(&self, id: ValueId) -> Computed {
        let leaves: Vec<ValueId> = self.leaves.iter().map(|leaf| leaf.0).collect();
        Computed::new(&self.function, id, &leaves)
    }

    /// Returns what is not sound in the function.
    fn faults(&mut self) -> Vec<String> {
        self.function.blocks[BlockId::ENTRY].end = End::Return;
        verify(&self.function)
    }
}

/// What a value is computed by.
pub(super) enum Computed {
    /// It is a leaf.
    Leaf(usize),
    /// It is an expression of leaves.
    Expression(Expression),
}

impl Computed {
    /// Returns the computation of a value from leaves.
    pub(super) fn new(function: &Function, id: ValueId, leaves: &[ValueId]) -> Self {
        if let Some(index) = leaves.iter().position(|leaf| *leaf == id) {
            return Self::Leaf(index);
        }
        let inputs = |id: ValueId, inputs: &mut Vec<ValueId>| {
            inputs.extend((0..function.inputs(id).len()).map(|index| function.input(id, index)));
            Some(function.op(id))
        };
        Self::Expression(Expression::new(function, id, leaves, &inputs).unwrap())
    }

    /// Evaluates it.
    pub(super) fn value(&self, numbers: &[u64], buffer: &mut Vec<Option<u64>>) -> Option<u64> {
        match self {
            Self::Leaf(index) => Some(numbers[*index]),
            Self::Expression(expression) => expression.value(numbers, buffer),
        }
    }
}

/// Returns how the value of a name must be built.
fn kind(rule: &Rule, name: u8) -> Kind {
    fn find(term: &Term, name: u8) -> Option<Kind> {
        let is_it = |of: &Term| matches!(of, Term::Any(other) if *other == name);
        match *term {
            Term::Bits(of) if is_it(of) => Some(Kind::Masked),
            Term::Is(property, of) if is_it(of) => match property {
                Property::Unknown => None,
                Property::Small => Some(Kind::Small),
                Property::Negatable => Some(Kind::Negated),
                Property::Halved | Property::Split | Property::PlainlyHalved => Some(Kind::Extended),
            },
            Term::Op(_, inputs) => inputs.iter().find_map(|input| find(input, name)),
            _ => None,
        }
    }
    rule.conditions.iter().find_map(|condition| find(condition, name)).unwrap_or(Kind::Plain)
}

/// Returns the widths of the root at which a rule is checked.
fn root_widths(rule: &Rule, root: Op) -> Vec<u8> {
    let known = OPERATORS.iter().find(|known| known.0 == root).map(|known| known.2);
    let has_type = |op: Op| matches!(op, Op::Call(_)) || op.gives_float();
    let is_typed = has_type(root) || matches!(rule.result, Term::Op(op, _) if has_type(op));
    match (rule.policy.width, known) {
        (Some(1), _) | (_, Some(Widths::Compare | Widths::Test)) => vec![1],
        (Some(only), _) if is_typed => vec![only],
        _ if matches!(root, BoolAnd | BoolOr | BoolXor | BoolNot) => vec![1],
        _ if root.gives_float() => vec![32, 64],
        (_, Some(Widths::Narrow)) => vec![4, 8, 16, 32],
        _ => vec![8, 16, 32, 64],
    }
}

/// Returns the numbers of a choice, at most so many: all, or those near powers of two and some between them.
fn selection(choice: Choice, most: usize) -> Vec<u64> {
    let count = 1_usize << choice.width.min(8);
    if count <= most {
        return (0..count as u64).map(|number| choice.limited(number)).collect();
    }
    let near = (0..choice.width).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, (1 << bit) + 1]);
    let other = (0..count as u64).map(|number| number.wrapping_mul(0x9d));
    let mut all: Vec<u64> = Vec::new();
    for number in near.chain([u64::MAX, u64::MAX - 1]).chain(other) {
        let number = choice.limited(number);
        if !all.contains(&number) && all.len() < most {
            all.push(number);
        }
    }
    all
}

/// Returns all combinations of numbers.
fn combinations(choices: &[Choice], most: usize) -> Vec<Vec<u64>> {
    choices.iter().fold(vec![Vec::new()], |all, choice| {
        let numbers = selection(*choice, most);
        let longer = all.iter().flat_map(|start| numbers.iter().map(|last| [&start[..], &[*last]].concat()));
        longer.collect()
    })
}

/// A generator of random numbers (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number of some kind: any, small, a power of two or next to one, or a mask.
    pub(super) fn number(&mut self, choice: Choice) -> u64 {
        let (number, bit) = (self.next(), self.next() % u64::from(choice.width));
        choice.limited(match self.next() % 6 {
            0 => number,
            1 => number % 9,
            2 => number % 70,
            3 => 1 << bit,
            4 => (1 << bit) - 1,
            _ => (u64::MAX << bit).wrapping_sub(number % 2),
        })
    }

    fn numbers(&mut self, choices: &[Choice]) -> Vec<u64> {
        choices.iter().map(|choice| self.number(*choice)).collect()
    }
}

/// The number of times that a rule applied.
#[derive(Clone, Copy, Default)]
struct Applied {
    /// With all numbers, or a selection of them, of at most 8 bits.
    narrow: usize,
    /// With random numbers.
    wide: usize,
}

/// Checks one shape of the left side of a rule. Returns the next shape, or why the law does not hold.
fn check_shape(
    index: &Index,
    (rule, root, width): (&Rule, Op, u8),
    shape: Vec<(usize, usize)>,
    applied: &mut Applied,
) -> Result<Vec<(usize, usize)>, String> {
    let (side, id) = Side::new(rule, root, width, shape, Vec::new());
    let shape = side.shape;
    if id.is_none() {
        return Ok(shape);
    }
    let leaves: Vec<Choice> = side.leaves.iter().map(|leaf| leaf.1).collect();
    let is_narrow = leaves.iter().chain(&side.fixed).all(|choice| choice.width <= 8);
    let count = leaves.len() + side.fixed.len();
    let most = SELECTIONS[count.clamp(1, SELECTIONS.len()) - 1];
    let mut random = Random::new();
    let fixed = match is_narrow {
        true => combinations(&side.fixed, most),
        false => (0..RANDOM[0]).map(|_| random.numbers(&side.fixed)).collect(),
    };
    let narrow = if is_narrow { combinations(&leaves, most) } else { Vec::new() };
    let mut buffer = Vec::new();
    for numbers in fixed {
        let (mut side, id) = Side::new(rule, root, width, shape.clone(), numbers);
        let id = id.unwrap();
        let is_sound = side.faults().is_empty();
        let Some(result) = index.apply(&mut side.function, id) else { continue };
        if side.function.width(result) != width {
            return Err(format!("{}: the result has {} bits", rule.text, side.function.width(result)));
        }
        let (left, right) = (side.computed(id), side.computed(result));
        *(if is_narrow { &mut applied.narrow } else { &mut applied.wide }) += 1;
        let after = side.faults();
        if is_sound && !after.is_empty() {
            return Err(format!("{}: {after:?}", rule.text));
        }
        let wide = (0..if is_narrow { 0 } else { RANDOM[1] }).map(|_| random.numbers(&leaves));
        let wide: Vec<Vec<u64>> = wide.collect();
        for numbers in narrow.iter().chain(&wide) {
            let Some(wanted) = left.value(numbers, &mut buffer) else { continue };
            let found = right.value(numbers, &mut buffer);
            let is_nan = |bits: u64| match width {
                64 => f64::from_bits(bits).is_nan(),
                _ => f32::from_bits(bits as u32).is_nan(),
            };
            let are_nan = root.gives_float() && is_nan(wanted) && found.is_some_and(is_nan);
            if found != Some(wanted) && !are_nan {
                let constants: Vec<u64> = side.numbers.clone();
                return Err(format!(
                    "{}: {wanted:#x} at {width} bits is {found:x?} for {numbers:x?} with {constants:x?}",
                    rule.text
                ));
            }
        }
    }
    Ok(shape)
}

/// Checks a rule for all operators of its root, widths and shapes. Returns how often it applied, or why the law does not
/// hold.
fn check(index: &Index, rule: &Rule) -> Result<Vec<(Op, Applied)>, String> {
    let mut all = Vec::new();
    for &root in rule.roots {
        let mut applied = Applied::default();
        for width in root_widths(rule, root) {
            let mut shape = Vec::new();
            loop {
                shape = check_shape(index, (rule, root, width), shape, &mut applied)?;
                // The next shape: the last choice that has another one.
                while shape.last().is_some_and(|(chosen, count)| chosen + 1 >= *count) {
                    shape.pop();
                }
                match shape.last_mut() {
                    Some(last) => last.0 += 1,
                    None => break,
                }
            }
        }
        all.push((root, applied));
    }
    Ok(all)
}

#[test]
fn all_rules_hold() {
    let mut faults = Vec::new();
    let (mut count, mut narrow) = (0, 0);
    for rule in RULES {
        let index = Index::new(std::slice::from_ref(rule));
        match check(&index, rule) {
            Err(fault) => faults.push(fault),
            Ok(all) => {
                for (root, applied) in all {
                    count += 1;
                    narrow += usize::from(applied.narrow > 0);
                    if applied.narrow + applied.wide == 0 {
                        faults.push(format!("{} never applied to {root:?}", rule.text));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // Not floats, minima, memory windows and comparisons of values that were extended from 8 bits.
    assert!(narrow * 4 > count * 3, "{narrow} of {count} were checked with all small numbers");
}

#[test]
fn a_wrong_rule_is_found() {
    static WRONG: &[Rule] = rules! {
        ([And] x x) => (Or x 1);
        ([Add] (Sub x y) y) => (Sub x y);
        ([Shl] (Shl x c) d) => (Shl x (Add c d));
        ([Sar] x y) => (Shr x y) if (LessEqual (Bits x) sign);
        ([SignExtend] (Low x)) => x if (Equal (Width x) w);
        ([Select] x y z) => (Select x z y);
        ([FloatSub] x x) => 0;
        ([Low] (Shr (ZeroExtend x) y)) => (Sar x y) if (Equal (Width x) w);
    };
    for rule in WRONG {
        let index = Index::new(std::slice::from_ref(rule));
        assert!(check(&index, rule).is_err(), "{}", rule.text);
    }
}
