//! Vectors from scalars: [`gather`] finds the shortest form of a vector whose lanes are known one by one.
//!
//! Front ends keep each lane of a register or result as a value of its own. Where an operation takes several lanes, they
//! are gathered: lanes of one vector become a selection, a repeated scalar stays a scalar, and all else is a
//! [`Op::Vector`] of such parts.

use crate::{BlockId, Function, Lanes, Op, ValueId};

/// Returns a value whose lanes are these scalars; a scalar if all of them are the same.
///
/// ```
/// use unshade_ir::shader::vector::{gather, lane};
/// use unshade_ir::{BlockId, Function, NO_ADDRESS, Op, ShaderOp};
///
/// let mut function = Function::default();
/// let block = function.block(0);
/// let number = function.constant(0, 32);
/// let loaded = function.raw(Op::Shader(ShaderOp::LoadConstant), 32, block, 0, &[number, number]);
/// function.with_lanes(loaded, 4);
/// let lanes: Vec<_> = (0..4).map(|index| lane(&mut function, block, NO_ADDRESS, loaded, index)).collect();
/// assert_eq!(gather(&mut function, block, NO_ADDRESS, &lanes), loaded);
/// let swizzled = gather(&mut function, block, NO_ADDRESS, &[lanes[2], lanes[0]]);
/// assert!(matches!(function.op(swizzled), Op::Lanes(found) if found.numbers() == [2, 0]));
/// assert_eq!(gather(&mut function, block, NO_ADDRESS, &[lanes[1], lanes[1]]), lanes[1]);
/// ```
pub fn gather(function: &mut Function, block: BlockId, address: u32, scalars: &[ValueId]) -> ValueId {
    let scalars: Vec<ValueId> = scalars.iter().map(|id| function.resolve(*id)).collect();
    let Some(&first) = scalars.first() else {
        return function.raw(Op::Undefined, 32, block, address, &[]);
    };
    if scalars.iter().all(|id| is_same(function, first, *id)) {
        return first;
    }
    let mut parts: Vec<ValueId> = Vec::new();
    let mut at = 0;
    while let Some(&scalar) = scalars.get(at) {
        let run = scalars[at..].iter().take(4).take_while(|id| is_from_one(function, scalar, **id)).count();
        if run < 2 {
            parts.push(scalar);
            at += 1;
            continue;
        }
        let numbers: Vec<u8> =
            scalars[at..at + run].iter().filter_map(|id| source(function, *id)).map(|found| found.1).collect();
        if let (Some((vector, _)), Some(lanes)) = (source(function, scalar), Lanes::new(&numbers)) {
            parts.push(select(function, block, address, vector, lanes));
        }
        at += run;
    }
    match parts[..] {
        [whole] => whole,
        _ => {
            let width = function.width(first);
            let vector = function.raw(Op::Vector, width, block, address, &parts);
            function.with_lanes(vector, u16::try_from(scalars.len()).unwrap_or(u16::MAX))
        }
    }
}

/// Returns some lanes of a vector; the vector itself if these are all of its lanes in order.
pub fn select(function: &mut Function, block: BlockId, address: u32, vector: ValueId, lanes: Lanes) -> ValueId {
    let count = function.lanes(vector);
    if usize::from(count) == lanes.numbers().len() && (0..).zip(lanes.numbers()).all(|(at, lane)| at == *lane) {
        return vector;
    }
    let (vector, lanes) = match function.op(vector) {
        Op::Lanes(inner) => match inner.then(lanes) {
            Some(both) => (function.input(vector, 0), both),
            None => (vector, lanes),
        },
        _ => (vector, lanes),
    };
    let id = function.raw(Op::Lanes(lanes), function.width(vector), block, address, &[vector]);
    function.with_lanes(id, lanes.numbers().len() as u16)
}

/// Returns one lane of a value; the value itself if it is a scalar.
pub fn lane(function: &mut Function, block: BlockId, address: u32, vector: ValueId, number: u8) -> ValueId {
    let vector = function.resolve(vector);
    if function.lanes(vector) == 1 {
        return vector;
    }
    if function.op(vector) == Op::Vector {
        let mut before = 0;
        for index in 0..function.inputs(vector).len() {
            let part = function.input(vector, index);
            let lanes = function.lanes(part);
            if u16::from(number) < before + lanes {
                return lane(function, block, address, part, (u16::from(number) - before) as u8);
            }
            before += lanes;
        }
    }
    select(function, block, address, vector, Lanes::one(number))
}

/// Returns the vector and the number of the lane that a scalar is.
pub fn source(function: &Function, scalar: ValueId) -> Option<(ValueId, u8)> {
    match function.op(scalar) {
        Op::Lanes(lanes) if function.lanes(scalar) == 1 => {
            Some((function.input(scalar, 0), *lanes.numbers().first()?))
        }
        _ => None,
    }
}

fn is_from_one(function: &Function, a: ValueId, b: ValueId) -> bool {
    match (source(function, a), source(function, b)) {
        (Some(a), Some(b)) => a.0 == b.0,
        _ => false,
    }
}

/// Returns whether two scalars are equal: the same value, the same lane, or the same constant.
fn is_same(function: &Function, a: ValueId, b: ValueId) -> bool {
    a == b
        || source(function, a).is_some() && source(function, a) == source(function, b)
        || function.width(a) == function.width(b)
            && function.number(a).is_some()
            && function.number(a) == function.number(b)
}
