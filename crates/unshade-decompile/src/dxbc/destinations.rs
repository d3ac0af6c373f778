//! Operands that are written.

use super::lifter::{Lifter, Phase};
use super::sources::used_components;
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::{Operand, OperandKind};
use unshade_ir::{Op, ShaderOp, Space, ValueId};

/// The semantics of outputs that have a kind of operand of their own.
const NAMED_OUTPUTS: [(OperandKind, &str); 5] = [
    (OperandKind::OUTPUT_DEPTH, "SV_Depth"),
    (OperandKind::OUTPUT_DEPTH_GREATER_EQUAL, "SV_DepthGreaterEqual"),
    (OperandKind::OUTPUT_DEPTH_LESS_EQUAL, "SV_DepthLessEqual"),
    (OperandKind::OUTPUT_COVERAGE_MASK, "SV_Coverage"),
    (OperandKind::OUTPUT_STENCIL_REFERENCE, "SV_StencilRef"),
];

/// Part of an output: the element, the row, the first column, and the values of the columns.
struct Run {
    element: usize,
    row: ValueId,
    column: u8,
    values: Vec<ValueId>,
}

impl Lifter<'_> {
    /// Writes a value with a lane for each component of an operand, or a scalar for all of them.
    pub(super) fn write(&mut self, operand: &Operand, value: ValueId) {
        let components = used_components(operand);
        let scalars = self.lanes(value, components.len());
        self.write_scalars(operand, &components, &scalars);
    }

    /// Writes a result, saturated if the instruction says so, precise if it does.
    pub(super) fn write_result(&mut self, instruction: &Instruction, operand: &Operand, value: ValueId) {
        let mut value = value;
        let is_precise = instruction.precise() != 0;
        self.function().values[value].is_precise |= is_precise;
        if instruction.is_saturated() {
            let width = self.function().width(value);
            value = self.lanewise(Op::Shader(ShaderOp::Saturate), width, &[value]);
            self.function().values[value].is_precise |= is_precise;
        }
        self.write(operand, value);
    }

    /// Writes the value of each component.
    pub(super) fn write_scalars(&mut self, operand: &Operand, components: &[u8], scalars: &[ValueId]) {
        let Some(block) = self.block else { return };
        match operand.kind() {
            OperandKind::TEMP => {
                for (component, scalar) in components.iter().zip(scalars) {
                    if let Some(variable) = self.register(operand.indices[0].number, *component) {
                        self.builder.write(block, variable, *scalar);
                    }
                }
            }
            OperandKind::NULL => {}
            OperandKind::INDEXABLE_TEMP => self.write_array(operand, components, scalars),
            OperandKind::OUTPUT => {
                if !self.write_output(operand, components, scalars) {
                    self.unknown_destination(operand);
                }
            }
            kind => {
                let semantic = NAMED_OUTPUTS.iter().find(|row| row.0 == kind).map(|row| row.1);
                let place = semantic.and_then(|semantic| self.interface.outputs.named(semantic));
                match (place, scalars.first()) {
                    (Some(place), Some(value)) => {
                        let zero = self.number(0);
                        let element = self.number(place.element as u32);
                        self.effect(ShaderOp::StoreOutput, &[element, zero, zero, *value]);
                    }
                    _ => self.unknown_destination(operand),
                }
            }
        }
    }

    fn unknown_destination(&mut self, operand: &Operand) {
        let kind = operand.kind();
        let name = OperandKind::NAMED.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name);
        let name = name.map_or_else(|| format!("of kind {}", kind.0), str::to_owned);
        let number = operand.used_indices().last().map_or(0, |index| index.number);
        let note = format!("destination {name} {number}: it is not declared, or cannot be written");
        let note = self.function().notes.push(note);
        self.add(Op::Unlifted(note), 32, 1, &[]);
    }

    /// Writes components of an element of an array of registers.
    fn write_array(&mut self, operand: &Operand, components: &[u8], scalars: &[ValueId]) {
        let Some((place, count)) = self.array_place(operand) else {
            return self.unknown_destination(operand);
        };
        if components.iter().copied().eq(0..count) {
            let value = self.gather_all(scalars);
            self.add(Op::Store(Space::Local), 0, 1, &[place, value]);
            return;
        }
        for (component, scalar) in components.iter().zip(scalars) {
            let lane = self.number(u32::from(*component));
            let place = self.shader(ShaderOp::Element, 1, &[place, lane]);
            self.add(Op::Store(Space::Local), 0, 1, &[place, *scalar]);
        }
    }

    /// Writes components of an output, each run of columns of an element at once. Returns whether there are such.
    fn write_output(&mut self, operand: &Operand, components: &[u8], scalars: &[ValueId]) -> bool {
        let Some(index) = operand.used_indices().last() else { return false };
        let elements = self.outputs();
        let mut runs: Vec<Run> = Vec::new();
        for (component, scalar) in components.iter().zip(scalars) {
            let Some((place, row)) = self.place(elements, index, *component) else { return false };
            match runs.last_mut() {
                Some(run)
                    if run.element == place.element
                        && run.column + run.values.len() as u8 == place.column =>
                {
                    run.values.push(*scalar);
                }
                _ => runs.push(Run {
                    element: place.element,
                    row,
                    column: place.column,
                    values: vec![*scalar],
                }),
            }
        }
        let op = match self.phase {
            Phase::Main => ShaderOp::StoreOutput,
            Phase::Patch(_) => ShaderOp::StorePatchConstant,
        };
        for run in runs {
            let value = self.gather_all(&run.values);
            let element = self.number(run.element as u32);
            let column = self.number(u32::from(run.column));
            self.effect(op, &[element, run.row, column, value]);
        }
        true
    }
}
