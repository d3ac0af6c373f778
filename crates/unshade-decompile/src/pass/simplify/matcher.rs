//! Applies the [rules](RULES) of algebra to a value.
//!
//! When it is first used, the table is expanded: a rule has one entry for each operator of its root and each order of the
//! inputs of commutative operators. The operators of a root and of its inputs select few of them, which are compared in the
//! order of the table. Matching binds names, and allocates nothing.

use super::Rewriter;
use super::bits::DEPTH;
use super::rules::RULES;
use super::term::{Property, Rule, Term};
#[cfg(test)]
use crate::ir::Function;
use crate::ir::fold::{fold, masked, signed};
use crate::ir::{Op, ValueId};
use std::sync::LazyLock;

/// Maximum number of inputs of an operator in a rule.
const MAX_INPUTS: usize = 3;

/// Number of entries in a word of a set.
const WORD: usize = 64;

/// The width of the amount of a shift.
const AMOUNT_WIDTH: u8 = 32;

/// Numbers operators, for an index. Those that no rule has are [`Slot::Other`].
macro_rules! slots {
    ($($op:ident)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Slot { Other, Constant, Call, Special, $($op),+ }

        impl Slot {
            const ALL: &[Self] = &[Self::Other, Self::Constant, Self::Call, Self::Special, $(Self::$op),+];

            fn of(op: Op) -> Self {
                match op {
                    Op::Constant(_) => Self::Constant,
                    Op::Call(_) => Self::Call,
                    Op::Special(_) => Self::Special,
                    $(Op::$op => Self::$op,)+
                    _ => Self::Other,
                }
            }
        }
    };
}

slots! {
    Add Sub Mul And Or Xor Shl Shr Sar Neg Not
    Equal NotEqual Less LessEqual SignedLess SignedLessEqual Carry SignedCarry SignedBorrow
    BoolAnd BoolOr BoolXor BoolNot Select ZeroExtend SignExtend Low High Concat
    FloatAdd FloatNegate FloatAbs FloatEqual FloatConvert SignedToFloat UnsignedToFloat
}

/// A term to match.
#[derive(Clone, Debug)]
enum Pattern {
    Any(u8),
    Constant(u8),
    Window,
    Number(u64),
    Ones,
    Sign,
    Op(Op, Vec<Pattern>),
    OneOf(&'static [Op], Vec<Pattern>),
    /// What only a result or a condition may have.
    Never,
}

impl Pattern {
    fn new(term: &Term, root: Op) -> Self {
        let all = |terms: &[Term]| terms.iter().map(|term| Self::new(term, root)).collect();
        match *term {
            Term::Any(name) => Self::Any(name),
            Term::Constant(name) => Self::Constant(name),
            Term::Window => Self::Window,
            Term::Number(number) => Self::Number(number),
            Term::Ones => Self::Ones,
            Term::Sign => Self::Sign,
            Term::Op(op, inputs) => Self::Op(op, all(inputs)),
            Term::OneOf(ops, inputs) => Self::OneOf(ops, all(inputs)),
            Term::Same(inputs) => Self::Op(root, all(inputs)),
            _ => Self::Never,
        }
    }

    /// Returns whether it only matches constants, which are the last input of a commutative operator.
    fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_) | Self::Number(_) | Self::Ones | Self::Sign)
    }

    /// Returns whether it may match a value with such an operator.
    fn accepts(&self, slot: Slot) -> bool {
        match self {
            Self::Any(_) => true,
            Self::Never => false,
            Self::Window => slot == Slot::Special,
            Self::Op(op, _) => slot == Slot::of(*op),
            Self::OneOf(ops, _) => ops.iter().any(|op| slot == Slot::of(*op)),
            Self::Constant(_) | Self::Number(_) | Self::Ones | Self::Sign => slot == Slot::Constant,
        }
    }

    /// Returns the pattern with the inputs of commutative operators in all orders.
    fn orders(self) -> Vec<Self> {
        match self {
            Self::Op(op, inputs) => {
                let all = orders(op.is_commutative(), inputs);
                all.into_iter().map(|inputs| Self::Op(op, inputs)).collect()
            }
            Self::OneOf(ops, inputs) => {
                let all = orders(ops.iter().all(|op| op.is_commutative()), inputs);
                all.into_iter().map(|inputs| Self::OneOf(ops, inputs)).collect()
            }
            leaf => vec![leaf],
        }
    }
}

/// Returns lists of inputs with those of commutative operators in all orders.
fn orders(is_commutative: bool, inputs: Vec<Pattern>) -> Vec<Vec<Pattern>> {
    let mut all = vec![Vec::new()];
    for input in inputs {
        let ends = input.orders();
        let longer = all.iter().flat_map(|start: &Vec<Pattern>| {
            ends.iter().map(move |end| [start.as_slice(), std::slice::from_ref(end)].concat())
        });
        all = longer.collect();
    }
    if is_commutative {
        let turned: Vec<Vec<Pattern>> = all
            .iter()
            .filter(|inputs| matches!(&inputs[..], [_, last] if !last.is_constant()))
            .map(|inputs| inputs.iter().rev().cloned().collect())
            .collect();
        all.extend(turned);
    }
    all
}

/// A rule for one operator of its root, with its inputs in one order.
#[derive(Debug)]
struct Entry {
    rule: &'static Rule,
    root: Op,
    inputs: Vec<Pattern>,
}

/// The entries, grouped by the operators of their roots, each group in the order of the table.
pub(super) struct Index {
    entries: Vec<Entry>,
    /// By [`Slot`].
    groups: Vec<Group>,
}

/// The entries for one operator of the root. Sets of them are bits, in words.
struct Group {
    first_entry: usize,
    words: usize,
    /// For each input, the entries that accept each operator there.
    by_input: [Vec<u64>; MAX_INPUTS],
    /// Those that may be applied before sums are reassociated.
    early: Vec<u64>,
}

impl Group {
    fn new(first_entry: usize, entries: &[Entry]) -> Self {
        let words = entries.len().div_ceil(WORD);
        let set = |fits: &dyn Fn(&Entry) -> bool| -> Vec<u64> {
            let word = |entries: &[Entry]| {
                let bits = (0..).zip(entries).filter(|(_, entry)| fits(entry));
                bits.fold(0, |word, (bit, _)| word | 1_u64 << bit)
            };
            entries.chunks(WORD).map(word).collect()
        };
        let by_input = |index: usize| {
            let sets = Slot::ALL.iter().flat_map(|slot| {
                set(&|entry| entry.inputs.get(index).is_none_or(|input| input.accepts(*slot)))
            });
            sets.collect()
        };
        Self {
            first_entry,
            words,
            by_input: [0, 1, 2].map(by_input),
            early: set(&|entry| !entry.rule.policy.is_late),
        }
    }

    /// Returns the numbers of the entries that may match, in their order.
    fn possible(&self, inputs: [Slot; MAX_INPUTS], is_late: bool) -> impl Iterator<Item = usize> {
        (0..self.words).flat_map(move |word| {
            let early = if is_late { u64::MAX } else { self.early[word] };
            let accepting = self.by_input.iter().zip(inputs);
            let sets = accepting.map(|(sets, slot)| sets[slot as usize * self.words + word]);
            let mut bits = sets.fold(early, |both, set| both & set);
            std::iter::from_fn(move || {
                let bit = (bits != 0).then_some(bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(self.first_entry + word * WORD + bit)
            })
        })
    }
}

static INDEX: LazyLock<Index> = LazyLock::new(|| Index::new(RULES));

impl Index {
    /// Expands rules.
    pub(super) fn new(rules: &'static [Rule]) -> Self {
        let mut entries = Vec::new();
        for rule in rules {
            for &root in rule.roots {
                let inputs = rule.inputs.iter().map(|input| Pattern::new(input, root)).collect();
                let all = orders(root.is_commutative(), inputs);
                entries.extend(all.into_iter().map(|inputs| Entry { rule, root, inputs }));
            }
        }
        entries.sort_by_key(|entry| Slot::of(entry.root) as usize);
        let mut groups = Vec::new();
        for &root in Slot::ALL {
            let first = entries.partition_point(|entry| (Slot::of(entry.root) as usize) < root as usize);
            let end = entries.partition_point(|entry| Slot::of(entry.root) as usize <= root as usize);
            groups.push(Group::new(first, &entries[first..end]));
        }
        Self { entries, groups }
    }

    /// Returns the result of the first rule that applies to a value, whatever the policies are.
    #[cfg(test)]
    pub(super) fn apply(&self, function: &mut Function, id: ValueId) -> Option<ValueId> {
        let mut at = Rewriter { function, id };
        let inputs = [0, 1, 2].map(|index| at.input(id, index));
        let (op, width) = (at.op(id), at.width(id));
        let mut entries = self.entries.iter().filter(|entry| entry.root == op);
        let (rule, bound) =
            entries.find_map(|entry| Some((entry.rule, at.matched(entry, &inputs, width)?)))?;
        Some(at.result(rule, &bound))
    }
}

/// What the names of a rule stand for.
struct Bindings {
    values: [ValueId; 4],
    window: ValueId,
    /// Number and width.
    constants: [Option<(u64, u8)>; 3],
    chosen: Op,
    root: Op,
    width: u8,
}

impl Bindings {
    fn new(root: Op, width: u8) -> Self {
        let (values, window) = ([ValueId::NONE; 4], ValueId::NONE);
        Self { values, window, constants: [None; 3], chosen: root, root, width }
    }

    fn constant(&self, name: u8) -> (u64, u8) {
        self.constants[usize::from(name)].unwrap_or((0, self.width))
    }

    /// Returns the value that a term stands for, of which there is a property.
    fn value(&self, term: &Term) -> ValueId {
        match term {
            Term::Any(name) => self.values[usize::from(*name)],
            Term::Window => self.window,
            _ => ValueId::NONE,
        }
    }
}

/// A part of a result.
#[derive(Clone, Copy)]
enum Built {
    Number(u64),
    Value(ValueId),
}

impl Rewriter<'_> {
    /// Returns the result of the first rule that applies.
    pub(super) fn apply_rules(&mut self, is_late: bool) -> Option<ValueId> {
        let (op, width) = (self.op(self.id), self.width(self.id));
        let inputs = [0, 1, 2].map(|index| self.input(self.id, index));
        let slots = inputs.map(|input| Slot::of(self.op(input)));
        let index = &*INDEX;
        for number in index.groups[Slot::of(op) as usize].possible(slots, is_late) {
            let entry = &index.entries[number];
            if entry.root == op
                && entry.rule.policy.width.is_none_or(|only| only == width)
                && let Some(bound) = self.matched(entry, &inputs, width)
            {
                return Some(self.result(entry.rule, &bound));
            }
        }
        None
    }

    /// Returns what the names of a rule stand for if it applies.
    fn matched(&self, entry: &Entry, inputs: &[ValueId], width: u8) -> Option<Bindings> {
        let mut bound = Bindings::new(entry.root, width);
        let is_match =
            entry.inputs.iter().zip(inputs).all(|(input, id)| self.matches(input, *id, &mut bound));
        let holds = |condition: &Term| self.calculate(condition, &bound) == Some(1);
        (is_match && entry.rule.conditions.iter().all(holds)).then_some(bound)
    }

    fn matches(&self, pattern: &Pattern, id: ValueId, bound: &mut Bindings) -> bool {
        match pattern {
            Pattern::Any(name) => {
                let known = &mut bound.values[usize::from(*name)];
                if *known == ValueId::NONE {
                    *known = id;
                    return id != ValueId::NONE;
                }
                let known = *known;
                known == id
                    || self.num(id).is_some_and(|number| self.num(known) == Some(number))
                        && self.width(known) == self.width(id)
            }
            Pattern::Constant(name) => {
                let Some(number) = self.num(id) else { return false };
                let (known, _) = *bound.constants[usize::from(*name)].get_or_insert((number, self.width(id)));
                known == number
            }
            Pattern::Never => false,
            Pattern::Window => {
                bound.window = id;
                self.is_window(id)
            }
            Pattern::Number(number) => self.num(id) == Some(*number),
            Pattern::Ones => self.num(id) == Some(ones(self.width(id))),
            Pattern::Sign => self.num(id) == Some(sign(self.width(id))),
            Pattern::Op(op, inputs) => self.op(id) == *op && self.all_match(inputs, id, bound),
            Pattern::OneOf(ops, inputs) => {
                bound.chosen = self.op(id);
                ops.contains(&bound.chosen) && self.all_match(inputs, id, bound)
            }
        }
    }

    fn all_match(&self, inputs: &[Pattern], id: ValueId, bound: &mut Bindings) -> bool {
        (0..).zip(inputs).all(|(index, input)| self.matches(input, self.input(id, index), bound))
    }

    /// Returns a term of a condition as a 64-bit number.
    fn calculate(&self, term: &Term, bound: &Bindings) -> Option<u64> {
        Some(match *term {
            Term::Number(number) => number,
            Term::Constant(name) => bound.constant(name).0,
            Term::Ones => ones(bound.width),
            Term::Sign => sign(bound.width),
            Term::RootWidth => bound.width.into(),
            Term::Width(Term::Constant(name)) => bound.constant(*name).1.into(),
            Term::Width(of) => self.width(bound.value(of)).into(),
            Term::Bits(of) => self.possible(bound.value(of), DEPTH),
            Term::TrailingZeros(of) => self.calculate(of, bound)?.trailing_zeros().into(),
            Term::SignedFits(constant, value) => {
                let Term::Constant(name) = *constant else { return None };
                let (number, wide) = bound.constant(name);
                let narrow = signed(number, self.width(bound.value(value)));
                u64::from(masked(narrow.cast_unsigned(), wide) == number)
            }
            Term::Is(property, of) => u64::from(self.has(property, bound.value(of))),
            Term::Op(op, inputs) => {
                let mut numbers = [0; MAX_INPUTS];
                for (number, input) in numbers.iter_mut().zip(inputs) {
                    *number = self.calculate(input, bound)?;
                }
                fold(op, &numbers[..inputs.len()], 64, 64)?
            }
            // A value is no number.
            Term::Any(_) | Term::Window | Term::OneOf(..) | Term::Same(_) | Term::Chosen(_) => return None,
        })
    }

    fn has(&self, property: Property, id: ValueId) -> bool {
        let op = self.op(id);
        match (property, op) {
            (Property::Unknown, op) => !matches!(op, Op::Constant(_)),
            (Property::Small, Op::Special(special)) => special.is_small(),
            (Property::Small, Op::Constant(number)) => number < sign(self.width(id).min(32)),
            (Property::Negatable, op) => op.contrary().is_some() || op == Op::BoolNot,
            (Property::PlainlyHalved, Op::Neg) => self.has(Property::Halved, self.input(id, 0)),
            (Property::PlainlyHalved, _) => self.has(Property::Halved, id),
            (Property::Halved | Property::Split, Op::ZeroExtend | Op::SignExtend | Op::Concat) => true,
            (Property::Halved, Op::Constant(_)) | (Property::Split, Op::Select) => true,
            _ => false,
        }
    }

    /// Makes the result of a rule.
    fn result(&mut self, rule: &Rule, bound: &Bindings) -> ValueId {
        let built = self.build(&rule.result, bound.width, bound);
        self.value_of(built, bound.width)
    }

    /// Makes a part of a result, of some width. What consists of numbers is a number.
    fn build(&mut self, term: &Term, width: u8, bound: &Bindings) -> Built {
        let (op, inputs) = match *term {
            Term::Any(_) | Term::Window => return Built::Value(bound.value(term)),
            Term::Ones => return Built::Number(ones(width)),
            Term::Sign => return Built::Number(sign(width)),
            Term::Op(op, inputs) => (op, inputs),
            Term::Same(inputs) => (bound.root, inputs),
            Term::Chosen(inputs) => (bound.chosen, inputs),
            _ => return Built::Number(self.calculate(term, bound).unwrap_or(0)),
        };
        let mut parts = [Built::Number(0); MAX_INPUTS];
        let mut widths = [0; MAX_INPUTS];
        for (index, input) in inputs.iter().enumerate() {
            widths[index] = self.input_width(op, index, inputs, width, bound);
            parts[index] = self.build(input, widths[index], bound);
        }
        let count = inputs.len();
        let number = |part: Built| if let Built::Number(number) = part { Some(number) } else { None };
        if let [Some(a), Some(b), Some(_)] = parts.map(number)
            && let Some(known) = fold(op, &[a, b][..count.min(2)], widths[0], width)
        {
            return Built::Number(known);
        }
        let mut ids = [ValueId::NONE; MAX_INPUTS];
        for index in 0..count {
            ids[index] = self.value_of(parts[index], widths[index]);
        }
        Built::Value(self.make(op, width, &ids[..count]))
    }

    fn value_of(&mut self, built: Built, width: u8) -> ValueId {
        match built {
            Built::Value(id) => id,
            Built::Number(number) => self.constant(number, width),
        }
    }

    /// Returns the width of an input of an operator in a result.
    fn input_width(&self, op: Op, index: usize, inputs: &[Term], width: u8, bound: &Bindings) -> u8 {
        match op {
            Op::Select if index == 0 => 1,
            Op::Shl | Op::Shr | Op::Sar if index == 1 => {
                self.natural_width(&inputs[1], bound).unwrap_or(AMOUNT_WIDTH)
            }
            Op::ZeroExtend | Op::SignExtend | Op::Low | Op::SignedToFloat | Op::UnsignedToFloat => {
                self.natural_width(&inputs[0], bound).unwrap_or(width)
            }
            op if op.is_comparison() => {
                // A constant may have had another width on the left side.
                let is_constant = |input: &&Term| matches!(input, Term::Constant(_));
                let (constants, others) =
                    (inputs.iter().filter(is_constant), inputs.iter().filter(|input| !is_constant(input)));
                let mut all = others.chain(constants);
                all.find_map(|input| self.natural_width(input, bound)).unwrap_or(width)
            }
            _ => width,
        }
    }

    /// Returns the width that a term has by itself; a number has any.
    fn natural_width(&self, term: &Term, bound: &Bindings) -> Option<u8> {
        match term {
            Term::Any(_) | Term::Window => Some(self.width(bound.value(term))),
            Term::Constant(name) => Some(bound.constant(*name).1),
            Term::Op(op, _) if op.is_comparison() => Some(1),
            Term::Op(_, inputs) | Term::Same(inputs) | Term::Chosen(inputs) => {
                self.natural_width(inputs.first()?, bound)
            }
            _ => None,
        }
    }

    /// Returns whether it is the start of the local or shared window in the generic address space.
    fn is_window(&self, id: ValueId) -> bool {
        matches!(self.op(id), Op::Special(special) if special.window().is_some()) && self.width(id) == 32
    }
}

fn ones(width: u8) -> u64 {
    masked(u64::MAX, width)
}

fn sign(width: u8) -> u64 {
    1 << ((width.max(1) - 1) & 63)
}
