//! Recognises divisions that the compiler expanded, by the values they compute.
//!
//! A machine without a divide instruction computes a 32-bit quotient from a single-precision estimate of the
//! reciprocal and corrects it. The easy cases of 64-bit integers and doubles are computed inline, and only the hard
//! ones in a routine. The instruction sequences differ between compiler releases, but not their results. So
//! expressions that depend on an estimate, and selects with a quotient on one side, are evaluated for many kinds of
//! numbers: an expression that always gives the quotient of the same two leaves is replaced by it. `leaf` finds divisions by
//! constants.

mod leaf;

use crate::ir::dominators::Graph;
use crate::ir::evaluate::{Expression, operate};
use crate::ir::hash::FastMap;
use crate::ir::id_lists::IdLists;
use crate::ir::{Function, Intrinsic, Number, Op, Rounding, ValueId, ValueMap};
use crate::pass::graph::decided;
use leaf::{ByConstant, Origins, WideDivision, is_division_step};
use std::rc::Rc;

/// Maximum number of values to examine that depend on one estimate.
const MAX_DEPENDENTS: usize = 96;

/// Maximum number of leaves to expand while searching for the two that everything depends on.
const MAX_EXPANDED: usize = 24;

/// Maximum number of values to search for the dependencies of a leaf.
const MAX_NEAR: usize = 12;

/// Conversions whose result is the argument of a reciprocal estimate.
const ESTIMATED: [Intrinsic; 6] = [
    Intrinsic::Convert(Number::U32, Number::F32, Rounding::Up),
    Intrinsic::Convert(Number::U32, Number::F32, Rounding::Zero),
    Intrinsic::Convert(Number::U32, Number::F32, Rounding::Down),
    Intrinsic::Convert(Number::U64, Number::F32, Rounding::Up),
    Intrinsic::Convert(Number::I64, Number::F32, Rounding::Up),
    Intrinsic::Convert(Number::I32, Number::F32, Rounding::Up),
];

/// Maximum number of expressions per function. Those in the cache count, too: the result must not depend on what was found
/// in other functions.
const MAX_EXPRESSIONS: usize = 20_000;

/// Number of pairs of numbers to try, several of each kind.
const TRIALS: usize = 60;

/// Pairs of numbers.
type Pairs = Rc<[[u64; 2]]>;

/// Maximum number of expressions in the cache.
const MAX_CACHED: usize = 1024;

/// The cache of evaluated expressions: an equal expression, in this function or another, has the same result.
#[derive(Debug, Default)]
pub struct Cache {
    /// The division of two leaves that an expression equals, and whether the second leaf is the dividend.
    divisions: FastMap<Expression, Option<(Op, bool)>>,
    /// Whether an expression always equals another.
    choices: FastMap<(Expression, Expression), bool>,
    /// The division that an expression of one leaf equals.
    leaves: FastMap<Expression, Option<ByConstant>>,
    /// Numbers to try, by width and whether they are floats.
    pairs: Vec<(u8, bool, Pairs)>,
    /// Reused memory.
    values: Vec<Option<u64>>,
}

/// Replaces quotients. Returns whether there were any. All values must be used: see [`sweep`](crate::pass::sweep).
pub fn run(function: &mut Function, graph: &Graph, cache: &mut Cache) -> bool {
    if cache.divisions.len() + cache.choices.len() + cache.leaves.len() > MAX_CACHED {
        cache.divisions.clear();
        cache.choices.clear();
        cache.leaves.clear();
    }
    let mut search = QuotientSearch {
        function,
        graph,
        users: None,
        estimates: ValueMap::new(),
        origins: None,
        wide_divisions: None,
        budget: MAX_EXPRESSIONS,
        cache,
    };
    let mut found = Replacements::default();
    let has_steps = search.function.values.keys().any(|id| is_division_step(search.function, id));
    for id in search.function.values.keys() {
        if search.function.is_replaced(id) {
            continue;
        }
        if search.is_estimate(id) {
            search.search_estimate(id, &mut found);
        } else if matches!(search.function.op(id), Op::Select | Op::Phi) {
            search.search_choice(id, &mut found);
        } else if search.function.op(id) == Op::Sub {
            search.search_remainder(id, &mut found);
        }
        if has_steps {
            search.search_leaf(id, &mut found);
        }
    }
    let Replacements { mut values, leaves } = found;
    for (id, leaf, division) in leaves {
        let inputs = division.inputs(function, leaf);
        values.push((id, division.op(), inputs));
    }
    let has_found = !values.is_empty();
    for (id, op, inputs) in values {
        if function.is_replaced(id) {
            continue;
        }
        let value = function.values[id];
        let new = function.raw(op, value.width, value.block, value.address, &inputs);
        function.replace(id, new);
    }
    if has_found {
        function.settle();
    }
    has_found
}

/// What is replaced.
#[derive(Default)]
struct Replacements {
    /// Values, and the operators and inputs to replace them with.
    values: Vec<(ValueId, Op, Vec<ValueId>)>,
    /// Values, the number that each is computed from, and the division that it is.
    leaves: Vec<(ValueId, ValueId, ByConstant)>,
}

struct QuotientSearch<'a> {
    function: &'a Function,
    graph: &'a Graph,
    /// The users of values, once there is an estimate.
    users: Option<IdLists<ValueId>>,
    /// For each value, the last estimate that it was found to depend on.
    estimates: ValueMap<ValueId>,
    /// What values are computed from, once that was asked.
    origins: Option<Origins>,
    /// The 64-bit quotients by constants, once they were asked for.
    wide_divisions: Option<Vec<WideDivision>>,
    budget: usize,
    cache: &'a mut Cache,
}

impl QuotientSearch<'_> {
    fn find_users(&self) -> IdLists<ValueId> {
        let count = self.function.values.len();
        let mut parts = Vec::new();
        let mut pairs: Vec<(ValueId, ValueId)> = Vec::with_capacity(2 * count);
        for id in self.function.values.keys() {
            parts.clear();
            if self.parts(id, &mut parts).is_some() {
                pairs.extend(parts.iter().map(|input| (*input, id)));
            }
        }
        IdLists::new(count, &pairs)
    }

    fn parts(&self, id: ValueId, parts: &mut Vec<ValueId>) -> Option<Op> {
        parts_of(self.function, self.graph, id, parts)
    }

    /// Returns the condition of a phi, its value if that holds, and the other one.
    fn choice(&self, phi: ValueId) -> Option<[ValueId; 3]> {
        choice(self.function, self.graph, phi)
    }

    fn is_estimate(&self, id: ValueId) -> bool {
        is_estimate(self.function, id)
    }

    /// Searches for 32-bit quotients among the dependents of an estimate.
    fn search_estimate(&mut self, estimate: ValueId, found: &mut Replacements) {
        let users = self.users.take().unwrap_or_else(|| self.find_users());
        let mut dependents = vec![estimate];
        let mut estimates = std::mem::take(&mut self.estimates);
        estimates.resize(self.function.values.len(), ValueId::NONE);
        estimates[estimate] = estimate;
        let mut at = 0;
        while at < dependents.len() && dependents.len() < MAX_DEPENDENTS {
            for &user in users.of(dependents[at]) {
                if estimates[user] != estimate && !matches!(self.function.op(user), Op::Udiv | Op::Sdiv) {
                    estimates[user] = estimate;
                    dependents.push(user);
                }
            }
            at += 1;
        }
        self.estimates = estimates;
        self.users = Some(users);
        for &root in &dependents {
            let is_root = self.function.width(root) == 32
                && matches!(
                    self.function.op(root),
                    Op::Select | Op::Phi | Op::Add | Op::Sub | Op::Xor | Op::Neg
                );
            if is_root
                && let Some(leaves) = self.leaves(root, estimate)
                && let Some((op, inputs)) = self.division(root, &leaves)
            {
                found.values.push((root, op, inputs));
            }
        }
    }

    /// Returns the two values that an expression with an estimate depends on.
    fn leaves(&self, root: ValueId, estimate: ValueId) -> Option<Vec<ValueId>> {
        let mut leaves: Vec<ValueId> = Vec::new();
        let mut seen = vec![root];
        let mut inputs = Vec::new();
        let mut at = 0;
        while at < seen.len() {
            if seen.len() > 2 * MAX_DEPENDENTS {
                return None;
            }
            inputs.clear();
            self.parts(seen[at], &mut inputs)?;
            at += 1;
            for &input in &inputs {
                if self.function.number(input).is_some() {
                } else if self.estimates[input] == estimate {
                    if !seen.contains(&input) {
                        seen.push(input);
                    }
                } else if !leaves.contains(&input) {
                    leaves.push(input);
                }
            }
        }
        // A leaf that depends on other leaves is expanded; if too many remain, any leaf that can be.
        for _ in 0..MAX_EXPANDED {
            let expandable = leaves.iter().position(|leaf| self.rests_on(*leaf, &leaves, &mut inputs));
            let expandable = expandable.or_else(|| {
                let is_too_many = leaves.len() > 2;
                leaves.iter().position(|leaf| {
                    inputs.clear();
                    is_too_many && self.variables_of(*leaf, &mut inputs)
                })
            });
            let Some(index) = expandable else { break };
            let leaf = leaves.remove(index);
            inputs.clear();
            self.variables_of(leaf, &mut inputs).then_some(())?;
            for &input in &inputs {
                if !leaves.contains(&input) {
                    leaves.push(input);
                }
            }
        }
        (leaves.len() == 2).then_some(leaves)
    }

    /// Returns whether a value depends directly on one of the others; `list` is reused memory.
    fn rests_on(&self, leaf: ValueId, others: &[ValueId], list: &mut Vec<ValueId>) -> bool {
        list.clear();
        self.variables_of(leaf, list);
        for _ in 0..MAX_NEAR {
            let Some(id) = list.pop() else { return false };
            if others.contains(&id) {
                return true;
            }
            self.variables_of(id, list);
        }
        false
    }

    /// Recognises the remainder `a - b * (a / b)`.
    fn search_remainder(&self, id: ValueId, found: &mut Replacements) {
        let product = self.function.input(id, 1);
        if self.function.op(product) != Op::Mul {
            return;
        }
        let number = self.function.input(id, 0);
        let factors = [self.function.input(product, 0), self.function.input(product, 1)];
        for (quotient, divisor) in [(factors[0], factors[1]), (factors[1], factors[0])] {
            let op = match self.function.op(quotient) {
                Op::Udiv => Op::Urem,
                Op::Sdiv => Op::Srem,
                _ => continue,
            };
            if self.function.input(quotient, 0) == number && self.function.input(quotient, 1) == divisor {
                return found.values.push((id, op, vec![number, divisor]));
            }
        }
    }

    /// Appends the inputs of a value that are not constants to a list. Returns whether there are any.
    fn variables_of(&self, id: ValueId, list: &mut Vec<ValueId>) -> bool {
        let start = list.len();
        if self.parts(id, list).is_none() {
            list.truncate(start);
        }
        let mut end = start;
        for index in start..list.len() {
            if self.function.number(list[index]).is_none() {
                list[end] = list[index];
                end += 1;
            }
        }
        list.truncate(end);
        end > start
    }

    /// Returns the numbers to try.
    fn pairs(&mut self, width: u8, is_float: bool) -> Pairs {
        if let Some(known) = self.cache.pairs.iter().find(|known| (known.0, known.1) == (width, is_float)) {
            return Rc::clone(&known.2);
        }
        let pairs = Rc::from(if is_float { floats(width) } else { integers(width) });
        self.cache.pairs.push((width, is_float, Rc::clone(&pairs)));
        pairs
    }

    /// Returns how a value is computed from leaves; `None` if it needs others, or there were too many expressions.
    fn expression(&mut self, root: ValueId, leaves: &[ValueId]) -> Option<Expression> {
        self.budget = self.budget.checked_sub(1)?;
        Expression::new(self.function, root, leaves, &|id, parts| self.parts(id, parts))
    }

    /// Returns the division that an expression of two 32-bit leaves equals.
    fn division(&mut self, root: ValueId, leaves: &[ValueId]) -> Option<(Op, Vec<ValueId>)> {
        if leaves.iter().any(|leaf| self.function.width(*leaf) != 32) {
            return None;
        }
        let expression = self.expression(root, leaves)?;
        let found = match self.cache.divisions.get(&expression) {
            Some(found) => *found,
            None => {
                let found = self.try_division(&expression);
                self.cache.divisions.insert(expression, found);
                found
            }
        };
        let (op, is_turned) = found?;
        let inputs = if is_turned { vec![leaves[1], leaves[0]] } else { leaves.to_vec() };
        Some((op, inputs))
    }

    /// Finds the division that an expression equals, and whether the second leaf is the dividend.
    fn try_division(&mut self, expression: &Expression) -> Option<(Op, bool)> {
        let pairs = self.pairs(32, false);
        let mut open: Vec<(Op, bool)> = [Op::Udiv, Op::Urem, Op::Sdiv, Op::Srem]
            .iter()
            .flat_map(|op| [(*op, false), (*op, true)])
            .collect();
        for pair in pairs.iter().copied() {
            let given = expression.value(&pair, &mut self.cache.values);
            open.retain(|(op, is_turned)| {
                let pair = if *is_turned { [pair[1], pair[0]] } else { pair };
                operate(*op, &pair, 32, 32).is_none_or(|wanted| given == Some(wanted))
            });
            if open.is_empty() {
                return None;
            }
        }
        open.first().copied()
    }

    /// Replaces a select with a quotient or root on one side, if it always equals that.
    fn search_choice(&mut self, id: ValueId, found: &mut Replacements) {
        let sides = match self.function.op(id) {
            Op::Phi => self.choice(id).map(|[_, yes, no]| [yes, no]),
            _ => Some([1, 2].map(|index| self.function.input(id, index))),
        };
        let Some(sides) = sides.filter(|sides| !sides.contains(&ValueId::NONE)) else { return };
        let mut operands = Vec::new();
        for side in sides {
            let plain = self.unflushed(side);
            let op = self.function.op(plain);
            let is_float = matches!(op, Op::FloatDiv | Op::FloatSqrt);
            if !is_float && !matches!(op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem) {
                continue;
            }
            operands.clear();
            if self.parts(plain, &mut operands).is_none() {
                continue;
            }
            let mut leaves: Vec<ValueId> = operands.iter().map(|operand| self.unflushed(*operand)).collect();
            leaves.retain(|leaf| self.function.number(*leaf).is_none());
            leaves.dedup();
            if self.is_always(id, side, &leaves, is_float) {
                if plain != side {
                    operands.clear();
                    operands.push(plain);
                }
                found.values.push((id, self.function.op(side), operands));
                return;
            }
        }
    }

    /// Returns the input of a flush of subnormal numbers, or the value itself.
    fn unflushed(&self, id: ValueId) -> ValueId {
        match self.function.op(id) {
            Op::Call(Intrinsic::FlushToZero) => self.function.input(id, 0),
            _ => id,
        }
    }

    fn is_always(&mut self, choice: ValueId, side: ValueId, leaves: &[ValueId], is_float: bool) -> bool {
        let width = self.function.width(side);
        if leaves.iter().any(|leaf| self.function.width(*leaf) != width) {
            return false;
        }
        let (Some(whole), Some(wanted)) = (self.expression(choice, leaves), self.expression(side, leaves))
        else {
            return false;
        };
        let key = (whole, wanted);
        if let Some(known) = self.cache.choices.get(&key) {
            return *known;
        }
        let is_always = self.try_choice(&key.0, &key.1, width, is_float);
        self.cache.choices.insert(key, is_always);
        is_always
    }

    /// Returns whether an expression always equals another.
    fn try_choice(&mut self, whole: &Expression, wanted: &Expression, width: u8, is_float: bool) -> bool {
        let mut tried = 0;
        for pair in &*self.pairs(width, is_float) {
            let Some(wanted) = wanted.value(pair, &mut self.cache.values) else { continue };
            let Some(given) = whole.value(pair, &mut self.cache.values) else { return false };
            if given != wanted && !(is_float && is_nan(given, width) && is_nan(wanted, width)) {
                return false;
            }
            tried += 1;
        }
        tried >= TRIALS
    }
}

fn is_nan(bits: u64, width: u8) -> bool {
    match width {
        64 => f64::from_bits(bits).is_nan(),
        _ => f32::from_bits(bits as u32).is_nan(),
    }
}

/// Appends the inputs of a value to a list and returns its operator: a phi of two edges is a select by the branch
/// condition.
fn parts_of(function: &Function, graph: &Graph, id: ValueId, parts: &mut Vec<ValueId>) -> Option<Op> {
    let op = function.op(id);
    match op {
        Op::Phi => {
            parts.extend(choice(function, graph, id)?);
            Some(Op::Select)
        }
        Op::Undefined
        | Op::Parameter(_)
        | Op::Special(_)
        | Op::Symbol(_)
        | Op::Load(_)
        | Op::Store(_)
        | Op::Unlifted(_)
        | Op::Result(_) => None,
        Op::Call(call) if !call.is_pure() => None,
        op => {
            let start = parts.len();
            let inputs = 0..function.inputs(id).len();
            parts.extend(inputs.map(|index| function.input(id, index)));
            (!parts[start..].contains(&ValueId::NONE)).then_some(op)
        }
    }
}

/// Returns the condition of a phi of two edges, its value if that holds, and the other one.
fn choice(function: &Function, graph: &Graph, phi: ValueId) -> Option<[ValueId; 3]> {
    let (condition, yes) = decided(function, graph, phi)?;
    Some([condition, function.input(phi, yes), function.input(phi, 1 - yes)])
}

/// Returns whether a value is the single-precision reciprocal of an integer.
fn is_estimate(function: &Function, id: ValueId) -> bool {
    if function.op(id) != Op::FloatDiv || function.width(id) != 32 {
        return false;
    }
    let divisor = function.input(id, 1);
    let is_integer = match function.op(divisor) {
        Op::UnsignedToFloat | Op::SignedToFloat => true,
        Op::Call(call) => ESTIMATED.contains(&call),
        _ => false,
    };
    is_integer && function.number(function.input(id, 0)) == Some(u64::from(1.0_f32.to_bits()))
}

/// Returns pairs of integers of every length.
fn integers(width: u8) -> Vec<[u64; 2]> {
    let top = 1_u64 << (width - 1);
    let special = [1, 2, 3, 7, 10, 255, 65536, top - 1, top, top + 1, u64::MAX, u64::MAX - 1];
    pairs(width, &special, u64::from(width))
}

/// Returns pairs of floats of every kind.
fn floats(width: u8) -> Vec<[u64; 2]> {
    let one = if width == 64 { 1.0_f64.to_bits() } else { u64::from(1.0_f32.to_bits()) };
    let (sign, infinity) = (1_u64 << (width - 1), if width == 64 { 0x7ff_u64 << 52 } else { 0xff << 23 });
    let special =
        [0, sign, 1, one, one + 1, one | sign, infinity - 1, infinity, infinity + 1, infinity | sign];
    pairs(width, &special, 8)
}

fn pairs(width: u8, special: &[u64], shifts: u64) -> Vec<[u64; 2]> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut all = Vec::new();
    for index in 0..TRIALS {
        let mut small = || next() >> (64 - u32::from(width)) >> (next() % shifts);
        all.push([small(), small()]);
        let chosen = special[index % special.len()];
        all.push([chosen, next()]);
        all.push([next(), chosen]);
        all.push([next(), next()]);
    }
    for &a in special {
        all.extend(special.iter().map(|b| [a, *b]));
    }
    let mask = u64::MAX >> (64 - u32::from(width));
    all.into_iter().map(|pair| pair.map(|number| number & mask)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::BlockId;

    #[test]
    fn selects_that_always_equal_a_quotient() {
        // If both upper halves are zero, the quotient of the lower halves.
        let mut function = Function::default();
        function.block(0);
        let a = function.raw(Op::Parameter(0), 64, BlockId::ENTRY, 0, &[]);
        let b = function.raw(Op::Parameter(8), 64, BlockId::ENTRY, 0, &[]);
        let value = |function: &mut Function, op, width, inputs: &[ValueId]| {
            function.raw(op, width, BlockId::ENTRY, 0, inputs)
        };
        let both = value(&mut function, Op::Or, 64, &[a, b]);
        let high = value(&mut function, Op::High, 32, &[both]);
        let zero = function.constant(0, 32);
        let is_small = value(&mut function, Op::Equal, 1, &[high, zero]);
        let (low_a, low_b) =
            (value(&mut function, Op::Low, 32, &[a]), value(&mut function, Op::Low, 32, &[b]));
        let small = value(&mut function, Op::Udiv, 32, &[low_a, low_b]);
        let small = value(&mut function, Op::ZeroExtend, 64, &[small]);
        for (op, is_quotient) in [(Op::Sdiv, true), (Op::Udiv, true), (Op::Srem, false)] {
            let large = value(&mut function, op, 64, &[a, b]);
            let chosen = value(&mut function, Op::Select, 64, &[is_small, small, large]);
            let graph = Graph::new(&function);
            assert_eq!(run(&mut function, &graph, &mut Cache::default()), is_quotient, "{op:?}");
            assert_eq!(function.op(function.resolve(chosen)) == op, is_quotient);
        }
    }
}
