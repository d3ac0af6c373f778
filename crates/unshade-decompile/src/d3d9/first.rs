//! Texture instructions of version 1 of pixel shaders, which compute the coordinates that they sample at.
//!
//! A register `t` holds coordinates until it is written. Instructions that multiply by a matrix do a row each: the
//! results of `…pad` wait for the last one. Displacements of `texbem` are scaled by a matrix that is state of the
//! texture stage: it is lifted as a constant beyond those that the version has.
//!
//! | instruction | samples at |
//! |---|---|
//! | `texreg2ar`, `texreg2gb`, `texreg2rgb` | components of a register |
//! | `texdp3tex` | one dot product |
//! | `texm3x2tex`, `texm3x3tex` | two or three dot products |
//! | `texm3x3spec`, `texm3x3vspec` | an eye vector, reflected at three dot products |
//! | `texbem`, `texbeml` | displaced coordinates |
//!
//! Source: Microsoft's reference of the pixel shader assembly.

use super::lifter::{Lifter, components};
use unshade_dxbc::d3d9::Program;
use unshade_dxbc::d3d9::operand::{Operand, RegisterKind};
use unshade_ir::shader::interface::Shape;
use unshade_ir::{Op, ShaderOp, ValueId};

/// Instructions that sample at components of a register.
const COMPONENTS: [(&str, &[u8]); 3] =
    [("texreg2ar", &[3, 0]), ("texreg2gb", &[1, 2]), ("texreg2rgb", &[0, 1, 2])];

/// Instructions that sample, with the shape of the texture unless the constant table says it.
pub(super) const SAMPLERS: [(&str, Shape); 12] = [
    ("tex", Shape::Texture2D),
    ("texld", Shape::Texture2D),
    ("texbem", Shape::Texture2D),
    ("texbeml", Shape::Texture2D),
    ("texreg2ar", Shape::Texture2D),
    ("texreg2gb", Shape::Texture2D),
    ("texreg2rgb", Shape::TextureCube),
    ("texm3x2tex", Shape::Texture2D),
    ("texm3x3tex", Shape::TextureCube),
    ("texm3x3spec", Shape::TextureCube),
    ("texm3x3vspec", Shape::TextureCube),
    ("texdp3tex", Shape::Texture1D),
];

/// The register of the first constant that stands for the state of a texture stage.
const FIRST_STATE: u32 = 8;

/// What a constant that stands for the state of a texture stage holds.
const STATES: [&str; 2] = ["bump_matrix", "bump_luminance"];

/// Returns the constants that stand for the state of texture stages: registers and names.
pub(super) fn states(program: &Program) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for instruction in &program.instructions {
        let mnemonic = instruction.opcode().row(program.version).map_or("", |row| row.mnemonic);
        let count = match mnemonic {
            "texbem" | "bem" => 1,
            "texbeml" => 2,
            _ => continue,
        };
        let stage = instruction.operands.first().map_or(0, Operand::number);
        for (kind, name) in (0..).zip(&STATES[..count]) {
            let state = (state(stage, kind), format!("{name}{stage}"));
            if !found.contains(&state) {
                found.push(state);
            }
        }
    }
    found
}

/// Returns whether instructions write the depth without naming its register.
pub(super) fn writes_depth(program: &Program) -> bool {
    let depths = ["texdepth", "texm3x2depth"];
    program.instructions.iter().any(|instruction| {
        instruction.opcode().row(program.version).is_some_and(|row| depths.contains(&row.mnemonic))
    })
}

fn state(stage: u32, kind: u32) -> u32 {
    FIRST_STATE.saturating_add(stage.saturating_mul(STATES.len() as u32)).saturating_add(kind)
}

impl Lifter<'_> {
    /// Lifts an instruction of version 1 that computes coordinates. Returns the value of its destination.
    pub(super) fn first(
        &mut self,
        mnemonic: &str,
        target: &Operand,
        sources: &[&Operand],
    ) -> Option<ValueId> {
        let number = target.number();
        if let Some((_, positions)) = COMPONENTS.iter().find(|row| row.0 == mnemonic) {
            let place = self.read(sources.first()?, positions);
            return self.fetched(target, place);
        }
        match mnemonic {
            "texdepth" => {
                let [red, green] = [0, 1].map(|component| self.get(target.kind(), number, component));
                self.store_depth(red, green)
            }
            "bem" => {
                let [base, change] =
                    [sources.first()?, sources.get(1)?].map(|operand| self.read(operand, &[0, 1]));
                self.displaced(number, base, change)
            }
            "texbem" | "texbeml" => {
                let base = self.read_input(number, &[0, 1])?;
                let change = self.read(sources.first()?, &[0, 1]);
                let place = self.displaced(number, base, change)?;
                let value = self.fetched(target, place)?;
                if mnemonic == "texbem" {
                    return Some(value);
                }
                let blue = self.read(sources.first()?, &[2]);
                let [scale, offset] = [0, 1].map(|component| self.state(number, 1, component));
                let scale = self.add(Op::Shader(ShaderOp::MultiplyAdd), 32, 1, &[blue, scale?, offset?]);
                Some(self.lanewise(Op::FloatMul, 32, &[value, scale]))
            }
            "texm3x2pad" | "texm3x3pad" | "texdp3" | "texdp3tex" | "texm3x2tex" | "texm3x3tex"
            | "texm3x3" | "texm3x3spec" | "texm3x3vspec" | "texm3x2depth" => {
                self.product(mnemonic, target, sources)
            }
            _ => None,
        }
    }

    /// Lifts a row of a product with a matrix, or the last one.
    fn product(&mut self, mnemonic: &str, target: &Operand, sources: &[&Operand]) -> Option<ValueId> {
        let row = self.read_input(target.number(), &[0, 1, 2])?;
        let vector = self.read(sources.first()?, &[0, 1, 2]);
        let [row, vector] = [row, vector].map(|value| self.broadcast(value, 3));
        let dot = self.add(Op::Shader(ShaderOp::Dot), 32, 1, &[row, vector]);
        match mnemonic {
            "texm3x2pad" | "texm3x3pad" => {
                self.rows.push((target.number(), dot));
                return Some(dot);
            }
            "texdp3" => return Some(dot),
            "texdp3tex" => return self.fetched(target, dot),
            _ => {}
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.push((target.number(), dot));
        let values: Vec<ValueId> = rows.iter().map(|row| row.1).collect();
        let count = if mnemonic.starts_with("texm3x2") { 2 } else { 3 };
        if values.len() != count {
            return None;
        }
        let place = self.gather(&values);
        match mnemonic {
            "texm3x2depth" => self.store_depth(values[0], values[1]),
            "texm3x3" => {
                let one = self.float(1.0);
                let all = [values[0], values[1], values[2], one];
                Some(self.gather_components(target, all))
            }
            "texm3x3spec" | "texm3x3vspec" => {
                let eye = match sources.get(1) {
                    Some(constant) => self.read(constant, &[0, 1, 2]),
                    None => {
                        let parts: Vec<ValueId> =
                            rows.iter().map(|row| self.get(RegisterKind::ADDRESS, row.0, 3)).collect();
                        self.gather(&parts)
                    }
                };
                let place = self.reflected(place, eye);
                self.fetched(target, place)
            }
            _ => self.fetched(target, place),
        }
    }

    /// Returns `2 * dot(n, e) / dot(n, n) * n - e`.
    fn reflected(&mut self, normal: ValueId, eye: ValueId) -> ValueId {
        let [normal, eye] = [normal, eye].map(|value| self.broadcast(value, 3));
        let [part, square] =
            [eye, normal].map(|other| self.add(Op::Shader(ShaderOp::Dot), 32, 1, &[normal, other]));
        let two = self.float(2.0);
        let part = self.add(Op::FloatMul, 32, 1, &[two, part]);
        let part = self.add(Op::FloatDiv, 32, 1, &[part, square]);
        let along = self.lanewise(Op::FloatMul, 32, &[normal, part]);
        self.lanewise(Op::FloatSub, 32, &[along, eye])
    }

    /// Samples the texture of the number of a destination.
    fn fetched(&mut self, target: &Operand, place: ValueId) -> Option<ValueId> {
        let value = self.sample_at(target.number(), place)?;
        let scalars = [0, 1, 2, 3].map(|channel| self.lane(value, channel));
        Some(self.gather_components(target, scalars))
    }

    fn gather_components(&mut self, target: &Operand, scalars: [ValueId; 4]) -> ValueId {
        let wanted: Vec<ValueId> =
            components(target).iter().map(|component| scalars[usize::from(*component)]).collect();
        self.gather(&wanted)
    }

    /// Returns coordinates that a bump map displaces.
    fn displaced(&mut self, stage: u32, base: ValueId, change: ValueId) -> Option<ValueId> {
        let mut parts = Vec::new();
        for column in 0..2 {
            let [red, green] = [0, 1].map(|lane| self.lane(change, lane));
            let [first, second] = [self.state(stage, 0, column)?, self.state(stage, 0, column + 2)?];
            let start = self.lane(base, column);
            let sum = self.add(Op::Shader(ShaderOp::MultiplyAdd), 32, 1, &[first, red, start]);
            parts.push(self.add(Op::Shader(ShaderOp::MultiplyAdd), 32, 1, &[second, green, sum]));
        }
        Some(self.gather(&parts))
    }

    /// Reads a component of the state of a texture stage.
    fn state(&mut self, stage: u32, kind: u32, component: u8) -> Option<ValueId> {
        let row = self.row(RegisterKind::CONSTANT, state(stage, kind))?;
        Some(self.lane(row, component))
    }

    /// Writes the depth, a quotient that is one where the divisor is zero.
    fn store_depth(&mut self, value: ValueId, divisor: ValueId) -> Option<ValueId> {
        let [zero, one] = [0.0, 1.0].map(|number| self.float(number));
        let is_zero = self.add(Op::FloatEqual, 1, 1, &[divisor, zero]);
        let quotient = self.add(Op::FloatDiv, 32, 1, &[value, divisor]);
        let depth = self.add(Op::Select, 32, 1, &[is_zero, one, quotient]);
        self.store(RegisterKind::DEPTH, 0, &[0], &[depth])?;
        Some(depth)
    }
}
