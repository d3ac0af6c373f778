//! Members of constant buffers and structured buffers from offsets.
//!
//! An access has a constant offset and terms: values with a number of bytes that one step of the value is. The path
//! from the root type to the offset says which member it is; a term belongs to the outermost array whose elements are
//! no larger than its step.

use super::declaration::Naming;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, StructTypes};
use crate::ir::shader::vector;
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

    /// Returns the offset in an element of a structured buffer. The code leaves it undefined where an element is a number.
    pub(super) fn in_element(function: &Function, id: ValueId) -> Self {
        match function.op(id) {
            Op::Undefined => Self::default(),
            _ => Self::of(function, id, 1),
        }
    }

    fn add(&mut self, function: &Function, id: ValueId, scale: u32, depth: usize) {
        if let Some(number) = function.number(id) {
            self.constant = self.constant.wrapping_add((number as u32).wrapping_mul(scale));
            return;
        }
        let (op, a, b) = scalar_operation(function, id);
        let factor = |id: ValueId| function.number(id).map(|number| number as u32);
        match op {
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

/// Returns the operator of a value and its first inputs. Of a lane of a vector, these are the operator of that and the scalars
/// that the lane is computed from, if there are any.
fn scalar_operation(function: &Function, id: ValueId) -> (Op, ValueId, ValueId) {
    let (source, lane) = vector::origin(function, id, 0);
    if source != id && function.inputs(source).len() == 2 {
        let parts = [0, 1].map(|index| vector::origin(function, function.input(source, index), lane).0);
        if parts.iter().all(|part| function.lanes(*part) == 1) {
            return (function.op(source), parts[0], parts[1]);
        }
    }
    (function.op(id), function.input_or_self(id, 0), function.input_or_self(id, 1))
}

/// Returns whether the bits of a value below a number are zero.
fn is_multiple(function: &Function, id: ValueId, number: u32) -> bool {
    1_u64 << low_zeros(function, id, 0).min(31) >= u64::from(number.next_power_of_two())
}

/// Returns how many of the lowest bits of a value are zero, as far as shifts, products and sums tell.
fn low_zeros(function: &Function, id: ValueId, depth: usize) -> u32 {
    let number = |id: ValueId| function.number(id);
    if let Some(number) = number(id) {
        return number.trailing_zeros();
    }
    let (a, b) = (function.input_or_self(id, 0), function.input_or_self(id, 1));
    match function.op(id) {
        _ if depth > 8 => 0,
        Op::Shl => number(b).map_or(0, |shift| low_zeros(function, a, depth + 1) + (shift & 31) as u32),
        Op::Mul => low_zeros(function, a, depth + 1) + low_zeros(function, b, depth + 1),
        Op::Add | Op::Or => low_zeros(function, a, depth + 1).min(low_zeros(function, b, depth + 1)),
        _ => 0,
    }
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
    /// A lane of a vector with names of its lanes.
    Lane(u16),
    /// A lane of a vector with more than four lanes.
    LongLane(u16),
}

impl Step {
    /// Returns the number of a lane.
    pub(super) fn lane(&self) -> Option<u16> {
        match self {
            Self::Lane(lane) | Self::LongLane(lane) => Some(*lane),
            _ => None,
        }
    }
}

/// A constant index, or one with values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Index {
    pub(super) terms: Vec<(ValueId, u32)>,
    pub(super) constant: u32,
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
    let (steps, scalar, within) = path_within(naming, structs, root, packing, offset)?;
    (within == 0).then_some((steps, scalar))
}

/// Returns the path to the number that an offset is in, its type, and the offset in it.
pub(super) fn path_within(
    naming: &Naming,
    structs: &StructTypes,
    root: &DataType,
    packing: Packing,
    offset: &Offset,
) -> Option<(Vec<Step>, Scalar, u32)> {
    let mut steps = Vec::new();
    let mut terms = offset.terms.clone();
    let (mut ty, mut rest) = (root, offset.constant);
    for _ in 0..64 {
        match ty {
            DataType::Scalar(scalar) => {
                return (rest < scalar.bytes() && terms.is_empty()).then_some((steps, *scalar, rest));
            }
            DataType::Vector(scalar, lanes) => {
                let bytes = scalar.bytes().max(1);
                if !terms.is_empty() {
                    let index = take_index(&mut terms, bytes)?;
                    // A step over all lanes leads to another member.
                    if index.iter().any(|term| term.1 >= u32::from(*lanes)) {
                        return None;
                    }
                    let (lane, within) = divided(rest, bytes);
                    steps.push(Step::Index(index, lane));
                    return terms.is_empty().then_some((steps, *scalar, within));
                }
                let lane = u16::try_from(rest / bytes).ok().filter(|lane| lane < lanes)?;
                steps.push(if *lanes > 4 { Step::LongLane(lane) } else { Step::Lane(lane) });
                return Some((steps, *scalar, rest % bytes));
            }
            DataType::Matrix { scalar, rows, columns, is_row_major } => {
                let (major, minor) = if *is_row_major { (*rows, *columns) } else { (*columns, *rows) };
                let bytes = scalar.bytes().max(1);
                let line = match packing {
                    Packing::Constant => (bytes * u32::from(minor)).next_multiple_of(16),
                    Packing::Structured => bytes * u32::from(minor),
                };
                let outer_terms = take_multiples(&mut terms, line);
                let inner_terms = take_multiples(&mut terms, bytes);
                let (at, in_line) =
                    if outer_terms.is_empty() { (rest / line, rest % line) } else { divided(rest, line) };
                let (within, in_number) = (in_line / bytes, in_line % bytes);
                let steps_over = |terms: &[(ValueId, u32)], count: u8| {
                    terms.iter().any(|term| term.1 >= u32::from(count.max(2)))
                };
                if steps_over(&outer_terms, major) || steps_over(&inner_terms, minor) {
                    return None;
                }
                let is_outside = outer_terms.is_empty() && at >= u32::from(major)
                    || inner_terms.is_empty() && within >= u32::from(minor);
                if is_outside || !terms.is_empty() {
                    return None;
                }
                let outer = Index { terms: outer_terms, constant: at };
                let inner = Index { terms: inner_terms, constant: within };
                steps.push(if *is_row_major { Step::Entry(outer, inner) } else { Step::Entry(inner, outer) });
                return Some((steps, *scalar, in_number));
            }
            DataType::Array(element, count) => {
                let stride = packing.stride(element, structs).max(1);
                let own = take_multiples(&mut terms, stride);
                // With a value in the index, the constant alone may lie outside of the array, on both sides.
                let index;
                (index, rest) =
                    if own.is_empty() { (rest / stride, rest % stride) } else { divided(rest, stride) };
                if own.is_empty() && *count > 0 && index >= *count {
                    return None;
                }
                steps.push(Step::Index(own, index));
                ty = element;
            }
            DataType::Struct(id) => {
                let structure = structs.get(*id)?;
                // A negative constant with a value: the first member is an array.
                let index =
                    if terms.is_empty() || (rest as i32) >= 0 { structure.field_at(rest)? } else { 0 };
                if structure.fields.is_empty() {
                    return None;
                }
                steps.push(Step::Name(naming.field(*id, index).to_owned()));
                rest = rest.wrapping_sub(structure.fields[index].offset);
                ty = &structure.fields[index].ty;
            }
            DataType::Named(name) => {
                // The description of a ray: two vectors of three floats, each with a float after it.
                let (field, ty) =
                    super::stage::builtin_field(name, (rest / 16 * 2 + rest % 16 / 12) as usize)?;
                if !terms.is_empty() || rest >= 32 {
                    return None;
                }
                steps.push(Step::Name(field.to_owned()));
                let in_field = if rest % 16 >= 12 { rest % 4 } else { rest % 16 };
                if matches!(ty, DataType::Vector(..)) {
                    steps.push(Step::Lane((in_field / 4) as u16));
                }
                return Some((steps, Scalar::FLOAT, in_field % 4));
            }
        }
    }
    None
}

/// Divides an offset, which may be negative, by the size of an element, downwards.
fn divided(offset: u32, size: u32) -> (u32, u32) {
    let (offset, size) = (i64::from(offset as i32), i64::from(size));
    (offset.div_euclid(size) as u32, offset.rem_euclid(size) as u32)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_over_a_whole_vector_are_no_lanes() {
        let id = ValueId::new(0);
        let has_path = |ty: &DataType, step: u32| {
            let offset = Offset { constant: 0, terms: vec![(id, step)] };
            let (naming, structs) = (Naming::default(), StructTypes::default());
            path(&naming, &structs, ty, Packing::Constant, &offset).is_some()
        };
        let vector = DataType::Vector(Scalar::FLOAT, 4);
        assert!(has_path(&vector, 4));
        assert!(!has_path(&vector, 16));
        assert!(has_path(&DataType::Array(Box::new(vector), 2), 16));
        let matrix = DataType::Matrix { scalar: Scalar::FLOAT, rows: 4, columns: 4, is_row_major: true };
        assert!(has_path(&matrix, 16));
        assert!(!has_path(&matrix, 64));
    }
}
