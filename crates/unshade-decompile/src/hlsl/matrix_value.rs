//! Matrices as values.
//!
//! Functions of libraries pass matrices around whole. In the code they are vectors, column by column: lane `k` of a
//! matrix of three rows is the entry of row `k % 3` and column `k / 3`. Before shader model 6.9, vectors of the language
//! have at most four lanes, so variables that hold matrices are declared as such, and their lanes are entries.
//!
//! Values that are matrices are loads of places that are ones, parameters, and results of functions; and vectors that
//! are put together to be stored there, returned, or passed on. In structured buffers, lanes are in the order of memory:
//! row by row if the matrix is row-major.
//!
//! Source: what DXC 1.6 to 1.10 write for `export` functions, compiled again.

use super::declaration::Naming;
use super::declared::place_type;
use super::expression::{LANES, Text, literal, precedence as p};
use super::function::Printer;
use crate::ir::hash::FastMap;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, MatrixAt, Scalar, ScalarKind};
use crate::ir::shader::interface::{ShaderFunction, ShaderProgram};
use crate::ir::{Function, Op, ValueId, ValueMap};
use crate::shader::kinds::Kind;
use crate::shader::matrices::{accesses_with_status, whole_matrix};
use std::collections::BTreeSet;

/// How often types of matrices spread over phis and selections.
const MAX_ROUNDS: usize = 8;

/// The type of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    scalar: Scalar,
    rows: u8,
    columns: u8,
    /// Whether lanes are row by row.
    is_row_major: bool,
}

impl Matrix {
    /// Returns a type as that of a matrix, if it is one.
    fn of(ty: &DataType) -> Option<Self> {
        match *ty {
            // Functions pass matrices of either order column by column.
            DataType::Matrix { scalar, rows, columns, .. } => {
                Some(Self { scalar, rows, columns, is_row_major: false })
            }
            _ => None,
        }
    }

    fn lanes(self) -> u16 {
        u16::from(self.rows) * u16::from(self.columns)
    }

    /// Returns the row and the column of a lane.
    fn entry(self, lane: u16) -> (u16, u16) {
        let (rows, columns) = (u16::from(self.rows.max(1)), u16::from(self.columns.max(1)));
        if self.is_row_major { (lane / columns, lane % columns) } else { (lane % rows, lane / rows) }
    }

    /// Returns the selection of lanes: `_m00_m10`.
    fn selection(self, lanes: impl Iterator<Item = u16>) -> String {
        lanes
            .map(|lane| {
                let (row, column) = self.entry(lane);
                format!("_m{row}{column}")
            })
            .collect()
    }

    /// Returns the lanes in the order in which constructors take them: row by row.
    fn by_rows(self) -> impl Iterator<Item = u16> {
        let (rows, columns) = (u16::from(self.rows), u16::from(self.columns));
        let lane =
            move |row, column| if self.is_row_major { row * columns + column } else { column * rows + row };
        (0..rows).flat_map(move |row| (0..columns).map(move |column| lane(row, column)))
    }
}

/// The values of a function that are matrices.
pub(super) type Matrices = FastMap<ValueId, Matrix>;

/// Finds the values of a function that are matrices.
pub(super) fn find(
    program: &ShaderProgram,
    info: &ShaderFunction,
    function: &Function,
    used: &ValueMap<bool>,
) -> Matrices {
    let with_status = accesses_with_status(function);
    let finder = Finder { program, info, function, with_status: &with_status };
    let mut found = Matrices::default();
    let live: Vec<ValueId> =
        function.values.keys().filter(|id| used[*id] && !function.is_replaced(*id)).collect();
    for &id in &live {
        if let Some(matrix) = finder.source(id).filter(|matrix| matrix.lanes() == function.lanes(id)) {
            found.insert(id, matrix);
        }
    }
    for &id in &live {
        finder.sinks(id, &mut |value, matrix| {
            if matrix.lanes() == function.lanes(value) && passes_on(function, value) {
                found.entry(value).or_insert(matrix);
            }
        });
    }
    if !found.is_empty() {
        spread(function, &live, &mut found);
    }
    found
}

/// Returns whether nothing says how the lanes of a value are arranged.
fn passes_on(function: &Function, id: ValueId) -> bool {
    matches!(function.op(id), Op::Vector | Op::Phi | Op::Select | Op::Undefined)
}

/// Spreads types over phis and selections.
fn spread(function: &Function, live: &[ValueId], found: &mut Matrices) {
    for _ in 0..MAX_ROUNDS {
        let before = found.len();
        for &id in live.iter().filter(|id| matches!(function.op(**id), Op::Phi | Op::Select)) {
            let first = usize::from(function.op(id) == Op::Select);
            let inputs: Vec<ValueId> =
                (first..function.inputs(id).len()).map(|index| function.input(id, index)).collect();
            let known = inputs.iter().chain([&id]).find_map(|value| found.get(value)).copied();
            let Some(matrix) = known.filter(|matrix| matrix.lanes() == function.lanes(id)) else { continue };
            found.entry(id).or_insert(matrix);
            for input in inputs.into_iter().filter(|input| *input != ValueId::NONE) {
                if matrix.lanes() == function.lanes(input) && passes_on(function, input) {
                    found.entry(input).or_insert(matrix);
                }
            }
        }
        if found.len() == before {
            return;
        }
    }
}

/// Reads the types of places, parameters and results.
struct Finder<'f> {
    program: &'f ShaderProgram,
    info: &'f ShaderFunction,
    function: &'f Function,
    with_status: &'f BTreeSet<ValueId>,
}

impl Finder<'_> {
    /// Returns the matrix at a place; `None` for a line of it.
    fn place(&self, place: ValueId) -> Option<Matrix> {
        let ty_of = |place| place_type(self.program, self.info, self.function, place, 0).and_then(Matrix::of);
        let is_line = self.function.op(place) == Op::Shader(ShaderOp::Element)
            && ty_of(self.function.input(place, 0)).is_some();
        if is_line { None } else { ty_of(place) }
    }

    fn callee(&self, callee: crate::ir::CalleeId) -> Option<&ShaderFunction> {
        let name = &self.function.callees[callee].name;
        self.program.functions.iter().find(|function| function.name == *name)
    }

    /// Returns the matrix that an access to a structured buffer moves whole.
    fn structured(&self, id: ValueId, lanes: u16) -> Option<Matrix> {
        let (resources, structs) = (&self.program.resources, &self.program.structs);
        let found = whole_matrix(self.function, id, lanes, resources, structs)?;
        let MatrixAt { scalar, rows, columns, is_row_major, .. } = found;
        Some(Matrix { scalar, rows, columns, is_row_major })
    }

    /// Returns the type of a value that is read as a matrix.
    fn source(&self, id: ValueId) -> Option<Matrix> {
        match self.function.op(id) {
            Op::Load(_) => self.place(self.function.input(id, 0)),
            Op::Shader(ShaderOp::Argument) => {
                let number = self.function.number(self.function.input(id, 0))?;
                Matrix::of(&self.info.parameters.get(usize::try_from(number).ok()?)?.ty)
            }
            Op::Invoke(callee) => Matrix::of(self.callee(callee)?.result.as_ref()?),
            Op::Shader(ShaderOp::LoadStructured) if !self.with_status.contains(&id) => {
                self.structured(id, self.function.lanes(id))
            }
            _ => None,
        }
    }

    /// Visits the inputs that a value takes as matrices.
    fn sinks(&self, id: ValueId, visit: &mut dyn FnMut(ValueId, Matrix)) {
        let function = self.function;
        match function.op(id) {
            Op::Store(_) => {
                if let Some(matrix) = self.place(function.input(id, 0)) {
                    visit(function.input(id, 1), matrix);
                }
            }
            Op::Shader(ShaderOp::StoreStructured) => {
                let value = function.input(id, 3);
                if let Some(matrix) = self.structured(id, function.lanes(value)) {
                    visit(value, matrix);
                }
            }
            Op::Return => {
                if let Some(matrix) = self.info.result.as_ref().and_then(Matrix::of) {
                    visit(function.input(id, 0), matrix);
                }
            }
            Op::Invoke(callee) => {
                let parameters = self.callee(callee).map_or(&[][..], |found| &found.parameters);
                for (index, parameter) in parameters.iter().enumerate().take(function.inputs(id).len()) {
                    if let Some(matrix) = Matrix::of(&parameter.ty).filter(|_| !parameter.is_place) {
                        visit(function.input(id, index), matrix);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the name of the type of a matrix.
fn type_name(naming: &Naming, matrix: Matrix) -> String {
    let Matrix { scalar, rows, columns, .. } = matrix;
    naming.type_name(&DataType::Matrix { scalar, rows, columns, is_row_major: false })
}

impl Printer<'_> {
    /// Returns the type of a value that is a matrix.
    pub(super) fn matrix_type(&self, id: ValueId) -> Option<String> {
        self.matrices.get(&id).map(|matrix| type_name(self.naming, *matrix))
    }

    /// Returns the text of a value where a matrix is stored, returned or passed on.
    pub(super) fn matrix_input(&mut self, user: ValueId, index: usize) -> Option<String> {
        let (program, info, function) = (self.program, self.info, self.function);
        let value = function.input(user, index);
        let mut wanted = None;
        let with_status = BTreeSet::new();
        Finder { program, info, function, with_status: &with_status }.sinks(user, &mut |input, matrix| {
            if input == value {
                wanted = Some(matrix);
            }
        });
        let wanted = wanted?;
        let is_scalar = function.lanes(value) == 1;
        (is_scalar || function.lanes(value) == wanted.lanes()).then(|| self.as_matrix(value, wanted))
    }

    /// Returns the text of a value that a phi takes, if that is a matrix.
    pub(super) fn matrix_copy(&mut self, phi: ValueId, input: ValueId) -> Option<String> {
        let wanted = *self.matrices.get(&phi)?;
        Some(self.as_matrix(input, wanted))
    }

    /// Returns the text of a value as a matrix.
    fn as_matrix(&mut self, id: ValueId, wanted: Matrix) -> String {
        let ty = type_name(self.naming, wanted);
        match self.matrices.get(&id).copied() {
            Some(known) if known == wanted => self.whole_matrix(id).unwrap_or_default(),
            Some(known) if known == (Matrix { scalar: known.scalar, ..wanted }) => {
                format!("({ty}){}", self.whole_matrix(id).unwrap_or_default())
            }
            _ if self.function.lanes(id) == 1 => {
                let text = self.value(id, Kind::Known(wanted.scalar.kind), p::UNARY);
                format!("({ty}){text}")
            }
            _ => self.constructor(id, wanted),
        }
    }

    /// Returns the variable of a matrix, or the text that computes it.
    pub(super) fn whole_matrix(&mut self, id: ValueId) -> Option<String> {
        self.matrices.get(&id)?;
        if self.has_variable(id) {
            return Some(self.name(id));
        }
        self.computed_matrix(id)
    }

    /// Returns the text that computes a matrix.
    pub(super) fn computed_matrix(&mut self, id: ValueId) -> Option<String> {
        let matrix = *self.matrices.get(&id)?;
        Some(match self.function.op(id) {
            Op::Vector => self.constructor(id, matrix),
            Op::Undefined => format!("({})0", type_name(self.naming, matrix)),
            Op::Select => {
                let condition =
                    self.value(self.function.input(id, 0), Kind::Known(ScalarKind::Bool), p::CHOICE + 1);
                let [yes, no] = [1, 2].map(|index| self.as_matrix(self.function.input(id, index), matrix));
                format!("({condition} ? {yes} : {no})")
            }
            _ => self.computed(id, Kind::Any).text,
        })
    }

    /// Returns a matrix that is put together from the lanes of a value.
    fn constructor(&mut self, id: ValueId, matrix: Matrix) -> String {
        if let Some(same) = self.same_matrix(id, matrix) {
            return same;
        }
        let entry = |lane| {
            let (part, lane) = self.part_lane(id, lane).unwrap_or((id, lane));
            self.matrix_lane(part, lane, matrix.scalar.kind)
        };
        let lanes: Vec<String> = matrix.by_rows().map(entry).collect();
        format!("{}({})", type_name(self.naming, matrix), lanes.join(", "))
    }

    /// Returns the text of a matrix whose entries, or those of its transposed matrix, are all lanes of a value.
    fn same_matrix(&mut self, id: ValueId, wanted: Matrix) -> Option<String> {
        let (source, _) = self.source_lane(id, 0);
        let known = *self.matrices.get(&source).filter(|_| source != id)?;
        let positions = (0..wanted.lanes()).map(|lane| {
            let (from, lane_there) = self.source_lane(id, lane);
            (from == source).then(|| (wanted.entry(lane), known.entry(lane_there)))
        });
        let positions: Vec<_> = positions.collect::<Option<_>>()?;
        if known.scalar != wanted.scalar || known.lanes() != wanted.lanes() {
            return None;
        }
        let (rows, columns) = (known.rows, known.columns);
        if (rows, columns) == (wanted.rows, wanted.columns) && positions.iter().all(|(a, b)| a == b) {
            return self.whole_matrix(source);
        }
        let is_transposed = (columns, rows) == (wanted.rows, wanted.columns)
            && positions.iter().all(|(a, b)| (a.1, a.0) == *b);
        is_transposed.then(|| self.whole_matrix(source)).flatten().map(|text| format!("transpose({text})"))
    }

    /// Returns the value that a lane comes from, and its number there.
    fn source_lane(&self, id: ValueId, lane: u16) -> (ValueId, u16) {
        let (mut id, mut lane) = self.part_lane(id, lane).unwrap_or((id, lane));
        for _ in 0..MAX_ROUNDS {
            if self.has_variable(id) {
                break;
            }
            (id, lane) = match self.function.op(id) {
                Op::Lanes(lanes) => match lanes.numbers().get(usize::from(lane)) {
                    Some(number) => (self.function.input(id, 0), u16::from(*number)),
                    None => break,
                },
                _ => match self.part_lane(id, lane) {
                    Some(part) => part,
                    None => break,
                },
            };
        }
        (id, lane)
    }

    /// Returns the part of a vector that is put together which has a lane, and that lane's number there.
    fn part_lane(&self, id: ValueId, lane: u16) -> Option<(ValueId, u16)> {
        let function = self.function;
        let parts = (function.op(id) == Op::Vector).then(|| function.inputs(id).len())?;
        let mut first = 0;
        for index in 0..parts {
            let part = function.input(id, index);
            let next = first + function.lanes(part);
            if lane < next {
                return Some((part, lane - first));
            }
            first = next;
        }
        None
    }

    /// Returns the text of one lane of a vector or matrix.
    fn matrix_lane(&mut self, id: ValueId, lane: u16, kind: ScalarKind) -> String {
        let want = Kind::Known(kind);
        if self.function.lanes(id) == 1 {
            return self.value(id, want, 0);
        }
        if self.function.op(id) == Op::Undefined {
            return literal(0, kind, self.function.width(id));
        }
        if !self.has_variable(id)
            && let Some((part, lane)) = self.part_lane(id, lane)
        {
            return self.matrix_lane(part, lane, kind);
        }
        if let Op::Lanes(lanes) = self.function.op(id)
            && !self.has_variable(id)
            && let Some(number) = lanes.numbers().get(usize::from(lane))
        {
            let vector = self.function.input(id, 0);
            if self.function.op(vector) == Op::Shader(ShaderOp::LoadConstant) && !self.has_variable(vector) {
                let text = self.constant_lanes(vector, &[*number], want);
                let width = self.function.width(id);
                return self.converted(text, want, width, 1).text;
            }
            return self.matrix_lane(self.function.input(id, 0), u16::from(*number), kind);
        }
        let (text, from) = match self.matrices.get(&id).copied() {
            Some(matrix) => {
                let whole = self.whole_matrix(id).unwrap_or_default();
                (format!("{whole}.{}", matrix.selection([lane].into_iter())), matrix.scalar.kind)
            }
            None => {
                let text = self.value(id, want, p::POSTFIX);
                match LANES.get(usize::from(lane)).filter(|_| self.function.lanes(id) <= 4) {
                    Some(name) => (format!("{text}.{name}"), kind),
                    None => (format!("{text}[{lane}]"), kind),
                }
            }
        };
        let width = self.function.width(id);
        self.converted(Text::new(text, p::POSTFIX, from), want, width, 1).text
    }

    /// Returns lanes of a matrix as a number or vector.
    pub(super) fn matrix_lanes(&mut self, id: ValueId, numbers: &[u8]) -> Option<Text> {
        let matrix = *self.matrices.get(&id)?;
        let text = self.whole_matrix(id)?;
        let kind = matrix.scalar.kind;
        if numbers.len() <= 4 {
            let names = matrix.selection(numbers.iter().map(|number| u16::from(*number)));
            return Some(Text::new(format!("{text}.{names}"), p::POSTFIX, kind));
        }
        let entry = |number: &u8| format!("{text}.{}", matrix.selection([u16::from(*number)].into_iter()));
        let parts: Vec<String> = numbers.iter().map(entry).collect();
        let ty = self.type_of(kind, self.function.width(id), numbers.len() as u16);
        Some(Text::new(format!("{ty}({})", parts.join(", ")), p::POSTFIX, kind))
    }

    /// Returns a matrix as a vector, where an operator takes all of its lanes.
    pub(super) fn matrix_vector(&mut self, id: ValueId) -> Option<Text> {
        let matrix = *self.matrices.get(&id)?;
        if matrix.lanes() > 4 {
            self.unknown.push("a matrix as a vector".into());
        }
        let numbers: Vec<u8> = (0..matrix.lanes()).map(|lane| lane as u8).collect();
        self.matrix_lanes(id, &numbers)
    }
}
