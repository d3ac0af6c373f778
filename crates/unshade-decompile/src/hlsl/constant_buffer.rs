//! Members of constant buffers and structured buffers from offsets.
//!
//! An access has a constant offset and terms: values with a number of bytes that one step of the value is. The path
//! from the root type to the offset says which member it is; a term belongs to the outermost array whose elements are
//! no larger than its step.

use super::declaration::Naming;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, StructTypes};
use crate::ir::{Function, Op, ValueId};

/// An offset: a constant, and values times numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Offset {
    /// The constant part.
    pub(super) constant: u32,
    /// Values with the bytes that one of them counts for.
    pub(super) terms: Vec<(ValueId, u32)>,
}

impl Offset {
    /// Splits a value, in units of `scale` bytes, into a constant and terms.
    pub(super) fn of(function: &Function, id: ValueId, scale: u32) -> Self {
        let mut offset = Self::default();
        offset.add(function, id, scale, 0);
        offset
    }

    fn add(&mut self, function: &Function, id: ValueId, scale: u32, depth: usize) {
        if let Some(number) = function.number(id) {
            self.constant = self.constant.wrapping_add((number as u32).wrapping_mul(scale));
            return;
        }
        let (a, b) = (function.input_or_self(id, 0), function.input_or_self(id, 1));
        let factor = |id: ValueId| function.number(id).map(|number| number as u32);
        match function.op(id) {
            Op::Add if depth < 16 => {
                self.add(function, a, scale, depth + 1);
                self.add(function, b, scale, depth + 1);
            }
            // Bits that can't overlap are a sum.
            Op::Or
                if depth < 16
                    && factor(b).is_some_and(|bits| bits < 16 && is_multiple(function, a, bits + 1)) =>
            {
                self.add(function, a, scale, depth + 1);
                self.add(function, b, scale, depth + 1);
            }
            Op::Shl if factor(b).is_some_and(|shift| shift < 24) => {
                self.add(function, a, scale.wrapping_mul(1 << factor(b).unwrap_or(0)), depth + 1);
            }
            Op::Mul if factor(b).is_some() => {
                self.add(function, a, scale.wrapping_mul(factor(b).unwrap_or(1)), depth + 1);
            }
            _ => match self.terms.iter_mut().find(|term| term.0 == id) {
                Some(term) => term.1 = term.1.wrapping_add(scale),
                None => self.terms.push((id, scale)),
            },
        }
    }
}

/// Returns whether a value is a shift to the left that leaves the bits below a number zero.
fn is_multiple(function: &Function, id: ValueId, number: u32) -> bool {
    let shift = match function.op(id) {
        Op::Shl => function.number(function.input(id, 1)).unwrap_or(0),
        _ => return false,
    };
    1_u64 << shift.min(31) >= u64::from(number.next_power_of_two())
}

/// A part of a path to a member.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// A name, with a dot before it unless it is the first.
    Name(String),
    /// An index: values with factors, and a constant.
    Index(Vec<(ValueId, u32)>, u32),
    /// An entry of a matrix: row and column, each a constant or an index.
    Entry(Index, Index),
    /// A lane of a vector.
    Lane(u16),
}

/// A constant index, or one with values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Index {
    pub(super) terms: Vec<(ValueId, u32)>,
    pub(super) constant: u32,
}

impl Index {
    fn constant(number: u32) -> Self {
        Self { terms: Vec::new(), constant: number }
    }
}

/// Returns the path to the number at an offset, and its type; `None` if the type has no number there, or a value moves
/// the offset in a way that no array has.
pub(super) fn path(
    naming: &Naming,
    structs: &StructTypes,
    root: &DataType,
    packing: Packing,
    offset: &Offset,
) -> Option<(Vec<Step>, Scalar)> {
    let mut steps = Vec::new();
    let mut terms = offset.terms.clone();
    let (mut ty, mut rest) = (root, offset.constant);
    for _ in 0..64 {
        match ty {
            DataType::Scalar(scalar) => {
                return (rest == 0 && terms.is_empty()).then_some((steps, *scalar));
            }
            DataType::Vector(scalar, lanes) => {
                let bytes = scalar.bytes().max(1);
                let lane =
                    u16::try_from(rest / bytes).ok().filter(|lane| lane < lanes && rest % bytes == 0)?;
                if !terms.is_empty() {
                    let index = take_index(&mut terms, bytes)?;
                    steps.push(Step::Index(index, u32::from(lane)));
                    return terms.is_empty().then_some((steps, *scalar));
                }
                steps.push(Step::Lane(lane));
                return Some((steps, *scalar));
            }
            DataType::Matrix { scalar, rows, columns, is_row_major } => {
                let (major, minor) = if *is_row_major { (*rows, *columns) } else { (*columns, *rows) };
                let bytes = scalar.bytes().max(1);
                let line = match packing {
                    Packing::Constant => (bytes * u32::from(minor)).next_multiple_of(16),
                    Packing::Structured => bytes * u32::from(minor),
                };
                let (at, within) = (rest / line, rest % line / bytes);
                if at >= u32::from(major) || within >= u32::from(minor) || rest % line % bytes != 0 {
                    return None;
                }
                let mut outer = Index::constant(at);
                let mut inner = Index::constant(within);
                outer.terms = take_multiples(&mut terms, line);
                inner.terms = take_multiples(&mut terms, bytes);
                if !terms.is_empty() {
                    return None;
                }
                steps.push(if *is_row_major { Step::Entry(outer, inner) } else { Step::Entry(inner, outer) });
                return Some((steps, *scalar));
            }
            DataType::Array(element, count) => {
                let stride = packing.stride(element, structs).max(1);
                let index = rest / stride;
                if *count > 0 && index >= *count {
                    return None;
                }
                steps.push(Step::Index(take_multiples(&mut terms, stride), index));
                rest %= stride;
                ty = element;
            }
            DataType::Struct(id) => {
                let structure = structs.get(*id)?;
                let after = structure.fields.partition_point(|field| field.offset <= rest);
                let index = after.checked_sub(1)?;
                steps.push(Step::Name(naming.field(*id, index).to_owned()));
                rest -= structure.fields[index].offset;
                ty = &structure.fields[index].ty;
            }
            DataType::Named(_) => return None,
        }
    }
    None
}

/// Takes the terms whose steps are multiples of a number of bytes, divided by it.
fn take_multiples(terms: &mut Vec<(ValueId, u32)>, bytes: u32) -> Vec<(ValueId, u32)> {
    let mut taken = Vec::new();
    terms.retain(|term| {
        let fits = term.1 >= bytes && term.1.is_multiple_of(bytes);
        if fits {
            taken.push((term.0, term.1 / bytes));
        }
        !fits
    });
    taken
}

fn take_index(terms: &mut Vec<(ValueId, u32)>, bytes: u32) -> Option<Vec<(ValueId, u32)>> {
    let taken = take_multiples(terms, bytes);
    (!taken.is_empty()).then_some(taken)
}
