//! Products of matrices and vectors.
//!
//! Compilers write a product as sums of products, or as dot products, of the rows of a constant buffer that the matrix
//! fills: a column each, or a row each if it is row-major.
//!
//! | code | in rows of columns | in rows of rows |
//! |---|---|---|
//! | `row 0 * v.x + row 1 * v.y + …` | `mul(m, v)` | `mul(v, m)` |
//! | `dot(row 0, v), dot(row 1, v), …` | `mul(v, m)` | `mul(m, v)` |
//!
//! Only whole rows are products: from the first lane on, from the first row on. With fewer rows or lanes than the matrix
//! has, it is cast to a smaller one. Where DXC left scalars, [`super::matrix_scalar`] finds the products first.

use super::constant_buffer::{Offset, Step, path};
use super::declaration::Naming;
use super::expression::{Text, precedence as p};
use super::function::Printer;
use super::member::type_at;
use super::spelling;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, ScalarKind, StructTypes};
use crate::ir::shader::interface::{ShaderProgram, resource_of};
use crate::ir::shader::vector::{gather, source};
use crate::ir::{Function, Op, ResourceId, ValueId};
use crate::shader::kinds::Kind;

/// Bits of the float 1.
pub(super) const ONE: u64 = 0x3f80_0000;

/// Finds the products in all functions of a program.
pub(super) fn run(program: &mut ShaderProgram, naming: &Naming) {
    for index in 0..program.functions.len() {
        let mut function = std::mem::take(&mut program.functions[index].function);
        let mut finder = Finder { program, naming, function: &mut function };
        if program.model >= (6, 0) && finder.scalar_products() {
            crate::shader::vectorize_again(finder.function, program.model);
        }
        for id in finder.function.values.keys().rev().collect::<Vec<_>>() {
            if !finder.function.is_replaced(id) && !finder.function.values[id].is_precise {
                finder.product(id);
            }
        }
        function.settle();
        crate::pass::sweep(&mut function);
        program.functions[index].function = function;
    }
}

/// A row of a constant buffer, from its first lane on.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) handle: ValueId,
    /// The value that selects the row.
    pub(super) row: ValueId,
    pub(super) resource: ResourceId,
    pub(super) offset: Offset,
    pub(super) lanes: u16,
}

pub(super) struct Finder<'f> {
    program: &'f ShaderProgram,
    naming: &'f Naming,
    pub(super) function: &'f mut Function,
}

impl Finder<'_> {
    fn product(&mut self, id: ValueId) {
        let found = match self.function.op(id) {
            Op::FloatAdd | Op::Shader(ShaderOp::MultiplyAdd) if self.function.lanes(id) > 1 => self.sum(id),
            Op::Vector => self.dots(id),
            _ => None,
        };
        if let Some((op, first, vector)) = found {
            self.function.set_op(id, Op::Shader(op), &[first.handle, first.row, vector]);
        }
    }

    /// Returns a value as a row.
    fn row(&self, id: ValueId) -> Option<Row> {
        let function = &*self.function;
        let (load, lanes) = match function.op(id) {
            Op::Lanes(lanes) => {
                let is_start = (0..).zip(lanes.numbers()).all(|(at, lane)| at == *lane);
                (function.input(id, 0), is_start.then(|| lanes.numbers().len() as u16)?)
            }
            _ => (id, function.lanes(id)),
        };
        if function.op(load) != Op::Shader(ShaderOp::LoadConstant) || function.width(load) != 32 {
            return None;
        }
        let (handle, row) = (function.input(load, 0), function.input(load, 1));
        let resource = resource_of(function, handle).filter(|_| lanes > 1)?;
        Some(Row { handle, row, resource, offset: Offset::of(function, row, 16), lanes })
    }

    /// Returns the matrix that starts at a row: rows and lanes of each.
    pub(super) fn matrix(&self, row: &Row) -> Option<(u8, u8)> {
        let element = self.program.resources.get(row.resource)?.element.as_ref()?;
        let structs = &self.program.structs;
        let (steps, scalar) = path(self.naming, structs, element, Packing::Constant, &row.offset)?;
        let Some(Step::Entry(at_row, at_column)) = steps.last() else { return None };
        let is_start = [at_row, at_column].iter().all(|index| index.terms.is_empty() && index.constant == 0);
        if !is_start || scalar != Scalar::FLOAT {
            return None;
        }
        let DataType::Matrix { rows, columns, is_row_major, .. } =
            matrix_type(structs, self.naming, element, &steps)?
        else {
            return None;
        };
        Some(if *is_row_major { (*rows, *columns) } else { (*columns, *rows) })
    }

    /// Recognises a sum of rows times numbers.
    fn sum(&mut self, id: ValueId) -> Option<(ShaderOp, Row, ValueId)> {
        let lanes = self.function.lanes(id);
        let mut terms: Vec<(Row, Option<ValueId>)> = Vec::new();
        let mut at = id;
        loop {
            let inputs: Vec<ValueId> =
                (0..self.function.inputs(at).len()).map(|index| self.function.input(at, index)).collect();
            match (self.function.op(at), &inputs[..]) {
                (Op::Shader(ShaderOp::MultiplyAdd), &[a, b, rest]) => {
                    terms.push(self.term(a, b)?);
                    at = rest;
                }
                (Op::FloatMul, &[a, b]) => {
                    terms.push(self.term(a, b)?);
                    break;
                }
                (Op::FloatAdd, &[a, b]) => {
                    let (row, rest) = match (self.row(a), self.row(b)) {
                        (Some(row), _) => (row, b),
                        (_, Some(row)) => (row, a),
                        _ => return None,
                    };
                    terms.push((row, None));
                    at = rest;
                }
                _ => {
                    terms.push((self.row(at)?, None));
                    break;
                }
            }
            if terms.len() > 4 {
                return None;
            }
        }
        terms.sort_by_key(|term| term.0.offset.constant);
        let first = terms.first()?.0.clone();
        let (count, minor) = self.matrix(&first)?;
        let is_matrix = terms.len() > 1
            && terms.len() <= usize::from(count)
            && lanes <= u16::from(minor)
            && self.are_rows(&first, terms.iter().map(|term| &term.0))
            && terms.iter().all(|term| term.0.lanes == lanes);
        if !is_matrix {
            return None;
        }
        let scalars: Vec<ValueId> =
            terms.iter().map(|term| term.1.unwrap_or_else(|| self.function.constant(ONE, 32))).collect();
        let vector = self.vector(id, &scalars);
        Some((ShaderOp::CombineRows, first, vector))
    }

    /// Returns a product as a row and a number.
    fn term(&self, a: ValueId, b: ValueId) -> Option<(Row, Option<ValueId>)> {
        let is_number = |id: ValueId| self.function.lanes(id) == 1;
        match (self.row(a), self.row(b)) {
            (Some(row), _) if is_number(b) => Some((row, Some(b))),
            (_, Some(row)) if is_number(a) => Some((row, Some(a))),
            _ => None,
        }
    }

    /// Returns whether rows follow each other.
    pub(super) fn are_rows<'r>(&self, first: &Row, rows: impl Iterator<Item = &'r Row>) -> bool {
        (0..).zip(rows).all(|(index, row)| {
            row.resource == first.resource
                && row.offset.terms.len() == first.offset.terms.len()
                && row
                    .offset
                    .terms
                    .iter()
                    .zip(&first.offset.terms)
                    .all(|(a, b)| a.1 == b.1 && self.is_same(a.0, b.0))
                && row.offset.constant == first.offset.constant.wrapping_add(16 * index)
                && (row.handle == first.handle || self.is_same_handle(row.handle, first.handle))
        })
    }

    /// Returns whether two values are the same lane.
    pub(super) fn is_same(&self, a: ValueId, b: ValueId) -> bool {
        a == b || source(self.function, a).is_some_and(|found| Some(found) == source(self.function, b))
    }

    fn is_same_handle(&self, a: ValueId, b: ValueId) -> bool {
        let (a, b) = (self.function.input(a, 1), self.function.input(b, 1));
        a == b || self.function.number(a).is_some() && self.function.number(a) == self.function.number(b)
    }

    /// Puts a vector together; with as many lanes as scalars, even if they are all the same.
    pub(super) fn vector(&mut self, at: ValueId, scalars: &[ValueId]) -> ValueId {
        let (block, address) = (self.function.values[at].block, self.function.values[at].address);
        let found = gather(self.function, block, address, scalars);
        crate::ir::shader::vector::broadcast(self.function, block, address, found, scalars.len() as u16)
    }

    /// Recognises dot products of rows with one vector.
    fn dots(&mut self, id: ValueId) -> Option<(ShaderOp, Row, ValueId)> {
        let mut rows = Vec::new();
        let mut vector = None;
        for index in 0..self.function.inputs(id).len() {
            let dot = self.function.input(id, index);
            if self.function.op(dot) != Op::Shader(ShaderOp::Dot) || self.function.values[dot].is_precise {
                return None;
            }
            let (a, b) = (self.function.input(dot, 0), self.function.input(dot, 1));
            let (row, other) = match (self.row(a), self.row(b)) {
                (Some(row), _) => (row, b),
                (_, Some(row)) => (row, a),
                _ => return None,
            };
            let is_same = vector.is_none_or(|known| known == other || self.is_same_selection(known, other));
            if !is_same || row.lanes != self.function.lanes(other) {
                return None;
            }
            vector.get_or_insert(other);
            rows.push(row);
        }
        let first = rows.first()?.clone();
        let (count, minor) = self.matrix(&first)?;
        let fits = rows.len() > 1 && rows.len() <= usize::from(count) && first.lanes <= u16::from(minor);
        let is_matrix =
            fits && rows.iter().all(|row| row.lanes == first.lanes) && self.are_rows(&first, rows.iter());
        is_matrix.then_some((ShaderOp::DotRows, first, vector?))
    }

    /// Returns whether two values select the same lanes of the same vector.
    fn is_same_selection(&self, a: ValueId, b: ValueId) -> bool {
        let function = &*self.function;
        let is_equal = function.op(a) == function.op(b);
        match function.op(a) {
            Op::Lanes(_) => is_equal && function.input(a, 0) == function.input(b, 0),
            Op::Vector => {
                let count = function.inputs(a).len();
                is_equal
                    && count == function.inputs(b).len()
                    && (0..count).all(|index| {
                        let (x, y) = (function.input(a, index), function.input(b, index));
                        x == y
                            || source(function, x).is_some() && source(function, x) == source(function, y)
                            || function.number(x).is_some() && function.number(x) == function.number(y)
                    })
            }
            _ => false,
        }
    }
}

/// Returns the type of the matrix whose entry a path leads to.
fn matrix_type<'t>(
    structs: &'t StructTypes,
    naming: &Naming,
    root: &'t DataType,
    steps: &[Step],
) -> Option<&'t DataType> {
    let (last, outer) = steps.split_last()?;
    let ty = type_at(structs, root, outer, naming).filter(|_| matches!(last, Step::Entry(..)))?;
    matches!(ty, DataType::Matrix { .. }).then_some(ty)
}

impl Printer<'_> {
    /// Returns a product of a matrix and a vector.
    pub(super) fn product(&mut self, id: ValueId, op: ShaderOp) -> Option<Text> {
        if !matches!(op, ShaderOp::CombineRows | ShaderOp::DotRows) {
            return None;
        }
        let function = self.function;
        let [handle, row, vector] = [0, 1, 2].map(|index| function.input(id, index));
        let resource = self.resource_of(handle)?;
        let element = self.program.resources[resource].element.clone()?;
        let offset = Offset::of(function, row, 16);
        let structs = &self.program.structs;
        let (steps, _) = path(self.naming, structs, &element, Packing::Constant, &offset)?;
        let matrix = matrix_type(structs, self.naming, &element, &steps)?.clone();
        let DataType::Matrix { scalar, rows, columns, is_row_major } = matrix else { return None };
        let root = if self.naming.has_global_members(resource) { String::new() } else { self.handle(handle) };
        let mut text = self.path_text(&root, &steps[..steps.len() - 1]);
        // How many rows of the buffer take part, and how many lanes of each.
        let (used, width) = match op {
            ShaderOp::CombineRows => (function.lanes(vector), function.lanes(id)),
            _ => (function.lanes(id), function.lanes(vector)),
        };
        let (used_rows, used_columns) = if is_row_major { (used, width) } else { (width, used) };
        if (used_rows, used_columns) != (u16::from(rows), u16::from(columns)) {
            text = format!("({}{used_rows}x{used_columns}){text}", spelling::scalar(scalar));
        }
        let vector = self.value(vector, Kind::Known(ScalarKind::Float), 0);
        let is_matrix_first = (op == ShaderOp::CombineRows) != is_row_major;
        let text =
            if is_matrix_first { format!("mul({text}, {vector})") } else { format!("mul({vector}, {text})") };
        Some(Text::new(text, p::POSTFIX, ScalarKind::Float))
    }
}
