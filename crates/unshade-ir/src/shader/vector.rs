//! Vectors from scalars, without operations that only move lanes back and forth.
//!
//! Front ends keep each component of a register as a value of its own: a scalar, or a lane of a vector. [`gather`]
//! makes the vector that an instruction reads from such components:
//!
//! | components | vector |
//! |---|---|
//! | all the same | that scalar, which counts for all lanes |
//! | lanes of one vector | the vector itself if these are all of its lanes in order, otherwise [`Op::Lanes`] |
//! | others | [`Op::Vector`] with an input for each run of lanes of one vector, and for each other scalar |
//!
//! Phis are only known to be trivial when a function is complete; [`refold`] then folds again.

use crate::{BlockId, Function, Lanes, Op, ValueId};

/// Returns a lane of a vector; of a scalar, which counts for all lanes, the scalar itself.
pub fn lane(function: &mut Function, block: BlockId, address: u32, vector: ValueId, index: u8) -> ValueId {
    let vector = function.resolve(vector);
    if function.lanes(vector) == 1 {
        return vector;
    }
    let origin = origin(function, vector, index);
    if function.lanes(origin.0) == 1 {
        return origin.0;
    }
    let width = function.width(vector);
    function.add(Op::Lanes(Lanes::one(origin.1)), width, block, address, &[origin.0])
}

/// Returns the vector and the number of the lane that a scalar selects; `None` if it is no lane.
pub fn source(function: &Function, scalar: ValueId) -> Option<(ValueId, u8)> {
    match function.op(scalar) {
        Op::Lanes(lanes) if function.lanes(scalar) == 1 => {
            Some((function.input(scalar, 0), *lanes.numbers().first()?))
        }
        _ => None,
    }
}

/// Returns a value with these lanes. It is a scalar if all of them are the same.
pub fn gather(function: &mut Function, block: BlockId, address: u32, scalars: &[ValueId]) -> ValueId {
    let lanes: Vec<(ValueId, u8)> = scalars.iter().map(|scalar| origin(function, *scalar, 0)).collect();
    let Some(&first) = lanes.first() else { return ValueId::NONE };
    if lanes.iter().all(|lane| is_same(function, *lane, first)) {
        return function.resolve(scalars[0]);
    }
    let width = function.width(first.0);
    let mut pieces = Vec::new();
    for run in runs(function, &lanes) {
        pieces.push(piece(function, block, address, run));
    }
    if let [only] = pieces[..] {
        return only;
    }
    let vector = function.add(Op::Vector, width, block, address, &pieces);
    function.with_lanes(vector, lanes.len() as u16)
}

/// Returns a vector with this many lanes, also if all of them are the same.
pub fn broadcast(
    function: &mut Function,
    block: BlockId,
    address: u32,
    value: ValueId,
    lanes: u16,
) -> ValueId {
    if lanes == 1 || function.lanes(value) != 1 {
        return value;
    }
    let width = function.width(value);
    let vector = match Lanes::new(&[0; 4][..usize::from(lanes.min(4))]) {
        Some(selection) if lanes <= 4 && function.number(value).is_none() => {
            function.add(Op::Lanes(selection), width, block, address, &[value])
        }
        _ => function.add(Op::Vector, width, block, address, &vec![value; usize::from(lanes)]),
    };
    function.with_lanes(vector, lanes)
}

/// Folds the vectors of a function again, after values were replaced.
pub fn refold(function: &mut Function) {
    for vector in function.values.keys() {
        if !function.is_replaced(vector) {
            refold_one(function, vector);
        }
    }
    function.settle();
}

fn refold_one(function: &mut Function, vector: ValueId) {
    let selected: Vec<u8> = match function.op(vector) {
        Op::Vector => (0..function.lanes(vector)).filter_map(|lane| u8::try_from(lane).ok()).collect(),
        Op::Lanes(lanes) => lanes.numbers().to_vec(),
        _ => return,
    };
    let source = if function.op(vector) == Op::Vector { vector } else { function.input(vector, 0) };
    let lanes: Vec<(ValueId, u8)> = selected.iter().map(|lane| origin(function, source, *lane)).collect();
    let (block, address, width) = {
        let value = &function.values[vector];
        (value.block, value.address, value.width)
    };
    let mut runs = runs(function, &lanes).into_iter();
    match (runs.next(), runs.next()) {
        (Some(run), None) => {
            if is_whole(function, run) {
                function.replace(vector, run[0].0);
            } else if let Some(selection) = selection(run) {
                function.set_op(vector, Op::Lanes(selection), &[run[0].0]);
            }
        }
        (Some(first), Some(second)) if function.op(vector) == Op::Vector => {
            let all = [first, second].into_iter().chain(runs);
            let pieces: Vec<ValueId> = all.map(|run| piece(function, block, address, run)).collect();
            if pieces.iter().all(|piece| function.width(*piece) == width) {
                function.set_inputs(vector, &pieces);
            }
        }
        _ => {}
    }
}

/// Returns the value that a lane comes from, and the number of the lane in it.
pub fn origin(function: &Function, value: ValueId, lane: u8) -> (ValueId, u8) {
    let (mut value, mut lane) = (function.resolve(value), lane);
    loop {
        match function.op(value) {
            Op::Lanes(lanes) => {
                let Some(&number) = lanes.numbers().get(usize::from(lane)) else { return (value, lane) };
                (value, lane) = (function.input(value, 0), number);
            }
            Op::Vector => {
                let Some((input, number)) = part(function, value, lane) else { return (value, lane) };
                (value, lane) = (input, number);
            }
            _ => return (value, lane),
        }
    }
}

/// Returns the input of a vector that a lane is in, and the number of the lane in it.
fn part(function: &Function, vector: ValueId, lane: u8) -> Option<(ValueId, u8)> {
    let mut rest = u16::from(lane);
    for index in 0..function.inputs(vector).len() {
        let input = function.input(vector, index);
        let lanes = function.lanes(input);
        if rest < lanes {
            return Some((input, u8::try_from(rest).ok()?));
        }
        rest -= lanes;
    }
    None
}

fn is_same(function: &Function, a: (ValueId, u8), b: (ValueId, u8)) -> bool {
    a == b
        || function.number(a.0).is_some()
            && function.number(a.0) == function.number(b.0)
            && function.width(a.0) == function.width(b.0)
}

/// Splits lanes into runs from one vector, of at most four lanes. Scalars are runs of their own, unless they are all the
/// same.
fn runs<'l>(function: &Function, lanes: &'l [(ValueId, u8)]) -> Vec<&'l [(ValueId, u8)]> {
    let mut runs = Vec::new();
    let mut rest = lanes;
    while let Some(first) = rest.first() {
        let is_scalar = function.lanes(first.0) == 1;
        let same = rest.iter().take_while(|lane| lane.0 == first.0).count();
        let mut count = match same {
            _ if is_scalar && (same < lanes.len() || function.number(first.0).is_some()) => 1,
            // A whole vector may have more than four lanes.
            same if is_whole(function, &rest[..same]) => same,
            same => same.min(4),
        };
        // Lanes of a vector that fill it in order are the vector: they end a run.
        let whole = usize::from(function.lanes(first.0));
        if !is_scalar && count > whole && is_whole(function, &rest[..whole]) {
            count = whole;
        }
        let (run, after) = rest.split_at(count);
        runs.push(run);
        rest = after;
    }
    runs
}

/// Returns whether lanes are all lanes of their vector, in order.
fn is_whole(function: &Function, run: &[(ValueId, u8)]) -> bool {
    usize::from(function.lanes(run[0].0)) == run.len()
        && run.iter().enumerate().all(|(index, lane)| usize::from(lane.1) == index)
}

fn selection(run: &[(ValueId, u8)]) -> Option<Lanes> {
    let numbers: Vec<u8> = run.iter().map(|lane| lane.1).collect();
    Lanes::new(&numbers)
}

/// Returns a value with the lanes of a run.
fn piece(function: &mut Function, block: BlockId, address: u32, run: &[(ValueId, u8)]) -> ValueId {
    let source = run[0].0;
    if is_whole(function, run) {
        return source;
    }
    let Some(selection) = selection(run) else { return source };
    let width = function.width(source);
    let value = function.add(Op::Lanes(selection), width, block, address, &[source]);
    function.with_lanes(value, run.len() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a function with a vector of four lanes and a scalar.
    fn function() -> (Function, ValueId, ValueId) {
        let mut function = Function::default();
        function.block(0);
        let vector = function.add(Op::Undefined, 32, BlockId::ENTRY, 0, &[]);
        function.with_lanes(vector, 4);
        let scalar = function.add(Op::Undefined, 32, BlockId::ENTRY, 0, &[]);
        (function, vector, scalar)
    }

    fn lanes_of(function: &mut Function, vector: ValueId, numbers: &[u8]) -> Vec<ValueId> {
        numbers.iter().map(|number| lane(function, BlockId::ENTRY, 0, vector, *number)).collect()
    }

    #[test]
    fn lanes_in_order_are_the_vector() {
        let (mut function, vector, _) = function();
        let scalars = lanes_of(&mut function, vector, &[0, 1, 2, 3]);
        assert_eq!(gather(&mut function, BlockId::ENTRY, 0, &scalars), vector);
        let swapped = [scalars[1], scalars[0]];
        let pair = gather(&mut function, BlockId::ENTRY, 0, &swapped);
        assert_eq!(function.op(pair), Op::Lanes(Lanes::new(&[1, 0]).unwrap()));
        assert_eq!((function.lanes(pair), function.input(pair, 0)), (2, vector));
    }

    #[test]
    fn equal_scalars_stay_scalar() {
        let (mut function, vector, scalar) = function();
        assert_eq!(gather(&mut function, BlockId::ENTRY, 0, &[scalar; 3]), scalar);
        let one = [function.constant(1, 32), function.constant(1, 32)];
        assert_eq!(gather(&mut function, BlockId::ENTRY, 0, &one), one[0]);
        let same = lanes_of(&mut function, vector, &[2, 2]);
        let found = gather(&mut function, BlockId::ENTRY, 0, &same);
        assert_eq!((function.op(found), function.lanes(found)), (Op::Lanes(Lanes::one(2)), 1));
    }

    #[test]
    fn runs_are_inputs() {
        let (mut function, vector, scalar) = function();
        let mut scalars = lanes_of(&mut function, vector, &[2, 3]);
        scalars.push(scalar);
        let found = gather(&mut function, BlockId::ENTRY, 0, &scalars);
        assert_eq!((function.op(found), function.lanes(found)), (Op::Vector, 3));
        assert_eq!(function.inputs(found).len(), 2);
        // A lane of this vector is a lane of the first one.
        let again = lane(&mut function, BlockId::ENTRY, 0, found, 1);
        assert_eq!(function.op(again), Op::Lanes(Lanes::one(3)));
        assert_eq!(lane(&mut function, BlockId::ENTRY, 0, found, 2), scalar);
    }

    #[test]
    fn scalars_are_repeated_where_their_number_counts() {
        let (mut function, _, scalar) = function();
        let vector = broadcast(&mut function, BlockId::ENTRY, 0, scalar, 3);
        assert_eq!(function.op(vector), Op::Lanes(Lanes::new(&[0, 0, 0]).unwrap()));
        assert_eq!(function.lanes(vector), 3);
        let one = function.constant(1, 32);
        let ones = broadcast(&mut function, BlockId::ENTRY, 0, one, 2);
        assert_eq!((function.op(ones), function.lanes(ones)), (Op::Vector, 2));
    }

    #[test]
    fn vectors_are_folded_again() {
        let (mut function, vector, _) = function();
        let unknown: Vec<ValueId> =
            (0..4).map(|_| function.add(Op::Undefined, 32, BlockId::ENTRY, 0, &[])).collect();
        let found = gather(&mut function, BlockId::ENTRY, 0, &unknown);
        let sum = function.add(Op::FloatAbs, 32, BlockId::ENTRY, 0, &[found]);
        function.with_lanes(sum, 4);
        for (index, lane) in lanes_of(&mut function, vector, &[0, 1, 2, 3]).into_iter().enumerate() {
            function.replace(unknown[index], lane);
        }
        refold(&mut function);
        assert_eq!(function.input(sum, 0), vector);
    }
}
