//! Operands that are read.
//!
//! A swizzle is indexed by the position of the component that is written: `add r0.yw, r1.xxyz, …` reads `r1.x` for `y`
//! and `r1.z` for `w`. Instructions with a result that has other components than their inputs, such as dot products
//! and coordinates, read the first positions.

use super::lifter::{Lifter, Phase};
use super::signature::{Elements, Place};
use unshade_dxbc::operand::{Components, Index, Operand, OperandKind};
use unshade_ir::shader::interface::{ResourceClass, Stage};
use unshade_ir::{Op, ShaderOp, Space, ValueId};

/// How the modifiers of an operand are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    Float,
    Integer,
}

/// Returns the components that an operand names, each once.
pub(super) fn used_components(operand: &Operand) -> Vec<u8> {
    match operand.components() {
        Components::Mask(mask) => (0..4).filter(|component| mask >> component & 1 == 1).collect(),
        Components::Swizzle(swizzle) => {
            let mut all = swizzle.to_vec();
            all.sort_unstable();
            all.dedup();
            all
        }
        Components::Select(component) => vec![component],
        Components::One => vec![0],
        Components::None | Components::Unknown => Vec::new(),
    }
}

/// Returns the component at a position.
fn component(operand: &Operand, position: u8) -> u8 {
    match operand.components() {
        Components::Swizzle(swizzle) => swizzle[usize::from(position & 3)],
        Components::Select(component) => component,
        Components::Mask(_) => position & 3,
        Components::None | Components::One | Components::Unknown => 0,
    }
}

/// The positions of the first components.
pub(super) const POSITIONS: [u8; 4] = [0, 1, 2, 3];

impl Lifter<'_> {
    /// Reads components of an operand, with its modifiers.
    pub(super) fn read(&mut self, operand: &Operand, positions: &[u8], numbers: Numbers) -> ValueId {
        let scalars = self.scalars(operand, positions);
        let value = self.gather(&scalars);
        self.modified(operand, value, numbers)
    }

    /// Reads the component that an operand selects, or its first one.
    pub(super) fn read_one(&mut self, operand: &Operand, numbers: Numbers) -> ValueId {
        self.read(operand, &[0], numbers)
    }

    /// Reads as many components as there are lanes, also if all of them are the same.
    pub(super) fn read_vector(&mut self, operand: &Operand, count: usize, numbers: Numbers) -> ValueId {
        // Resources of hostile programs may have shapes without coordinates.
        let count = count.clamp(1, 4);
        let value = self.read(operand, &POSITIONS[..count], numbers);
        self.broadcast(value, count)
    }

    /// Applies the modifiers of an operand.
    pub(super) fn modified(&mut self, operand: &Operand, value: ValueId, numbers: Numbers) -> ValueId {
        let mut value = value;
        let width = self.function().width(value);
        if operand.is_absolute() {
            let op = match numbers {
                Numbers::Float => Op::FloatAbs,
                Numbers::Integer => Op::Shader(ShaderOp::SignedAbs),
            };
            value = self.lanewise(op, width, &[value]);
        }
        if operand.is_negated() {
            value = match numbers {
                Numbers::Float => self.lanewise(Op::FloatNegate, width, &[value]),
                Numbers::Integer => self.negated(value),
            };
        }
        value
    }

    /// Returns the values of components, without modifiers.
    pub(super) fn scalars(&mut self, operand: &Operand, positions: &[u8]) -> Vec<ValueId> {
        if operand.kind().is_immediate() {
            let values = operand.values();
            let value = |position: &u8| {
                values.get(usize::from(*position)).or(values.first()).copied().unwrap_or_default()
            };
            let values: Vec<u32> = positions.iter().map(value).collect();
            return values.into_iter().map(|value| self.number(value)).collect();
        }
        let components: Vec<u8> = positions.iter().map(|position| component(operand, *position)).collect();
        let vector = match operand.kind() {
            OperandKind::TEMP => {
                let register = operand.indices[0].number;
                return components.iter().map(|component| self.temporary(register, *component)).collect();
            }
            OperandKind::CONSTANT_BUFFER => self.constant_row(operand),
            OperandKind::INDEXABLE_TEMP => self.array_element(operand),
            OperandKind::IMMEDIATE_CONSTANT_BUFFER => self.immediate_row(operand),
            _ => {
                let scalars: Option<Vec<ValueId>> =
                    components.iter().map(|component| self.input(operand, *component)).collect();
                return scalars.unwrap_or_else(|| vec![self.unknown(operand); positions.len()]);
            }
        };
        let Some(vector) = vector else { return vec![self.unknown(operand); positions.len()] };
        components.iter().map(|component| self.lane(vector, *component)).collect()
    }

    /// Reports an operand that has no meaning here, and returns a value for it.
    fn unknown(&mut self, operand: &Operand) -> ValueId {
        let kind = operand.kind();
        let note = match OperandKind::NAMED.iter().find(|(known, _)| *known == kind) {
            Some((_, name)) => format!("operand {name}: it is not declared, or cannot be read"),
            None => format!("operand of kind {}", kind.0),
        };
        let note = self.function().notes.push(note);
        self.add(Op::Unlifted(note), 32, 1, &[])
    }

    fn temporary(&mut self, register: u64, component: u8) -> ValueId {
        match (self.register(register, component), self.block) {
            (Some(variable), Some(block)) => self.builder.read(block, variable),
            _ => self.undefined(),
        }
    }

    /// Returns the value of an index.
    pub(super) fn index(&mut self, index: &Index) -> ValueId {
        let number = index.number as u32;
        let Some(relative) = &index.relative else { return self.number(number) };
        let scalars = self.scalars(relative, &[0]);
        match number {
            0 => scalars[0],
            _ => {
                let number = self.number(number);
                self.lanewise(Op::Add, 32, &[scalars[0], number])
            }
        }
    }

    /// Returns the handle of the resource that an operand names; `None` if it is not declared.
    pub(super) fn bound(&mut self, operand: &Operand) -> Option<(ValueId, unshade_ir::ResourceId)> {
        let class = match operand.kind() {
            OperandKind::RESOURCE => ResourceClass::ShaderResource,
            OperandKind::UNORDERED_ACCESS_VIEW => ResourceClass::UnorderedAccess,
            OperandKind::CONSTANT_BUFFER => ResourceClass::ConstantBuffer,
            OperandKind::SAMPLER => ResourceClass::Sampler,
            _ => return None,
        };
        let number = operand.used_indices().first()?.number as u32;
        let bound = *self.interface.bindings.get(&(class, number))?;
        let binding = self.resources[bound.id].binding?;
        if binding.count == Some(1) {
            return Some((self.handle(bound.id, None), bound.id));
        }
        let index = if self.program.version.has_spaces() {
            let index = operand.used_indices().get(1)?;
            // The index of a register; that of the language starts at the first one.
            let number = (index.number as u32).wrapping_sub(bound.first);
            let index = Index { number: u64::from(number), relative: index.relative.clone() };
            self.index(&index)
        } else {
            self.number(number.wrapping_sub(bound.first))
        };
        let index = match operand.is_non_uniform() {
            true => self.shader(ShaderOp::NonUniform, 1, &[index]),
            false => index,
        };
        Some((self.handle(bound.id, Some(index)), bound.id))
    }

    fn constant_row(&mut self, operand: &Operand) -> Option<ValueId> {
        let (handle, _) = self.bound(operand)?;
        let row = self.index(operand.used_indices().last()?);
        Some(self.row(handle, row))
    }

    /// Reads an element of an array of registers.
    fn array_element(&mut self, operand: &Operand) -> Option<ValueId> {
        let (place, components) = self.array_place(operand)?;
        Some(self.add(Op::Load(Space::Local), 32, u16::from(components), &[place]))
    }

    /// Returns the place of an element of an array of registers, and its number of components.
    pub(super) fn array_place(&mut self, operand: &Operand) -> Option<(ValueId, u8)> {
        let [array, index] = operand.used_indices() else { return None };
        let (variable, components) = *self.interface.arrays.get(&(array.number as u32))?;
        let base = self.once(ShaderOp::Variable, &[variable.number()]);
        let index = self.index(index);
        Some((self.shader(ShaderOp::Element, 1, &[base, index]), components))
    }

    fn immediate_row(&mut self, operand: &Operand) -> Option<ValueId> {
        let variable = self.interface.constants?;
        let index = self.index(operand.used_indices().last()?);
        let base = self.once(ShaderOp::Variable, &[variable.number()]);
        let place = self.shader(ShaderOp::Element, 1, &[base, index]);
        Some(self.add(Op::Load(Space::Constant(0)), 32, 4, &[place]))
    }

    /// Reads a component of an input; `None` if there is no such input.
    fn input(&mut self, operand: &Operand, component: u8) -> Option<ValueId> {
        let component_of = |lifter: &mut Self, op| lifter.once(op, &[u32::from(component)]);
        Some(match operand.kind() {
            OperandKind::THREAD_ID => component_of(self, ShaderOp::DispatchThreadId),
            OperandKind::THREAD_GROUP_ID => component_of(self, ShaderOp::GroupId),
            OperandKind::THREAD_ID_IN_GROUP => component_of(self, ShaderOp::GroupThreadId),
            OperandKind::DOMAIN_POINT => component_of(self, ShaderOp::DomainLocation),
            OperandKind::THREAD_ID_IN_GROUP_FLATTENED => self.once(ShaderOp::GroupIndex, &[]),
            OperandKind::INPUT_PRIMITIVE_ID => self.once(ShaderOp::PrimitiveId, &[]),
            OperandKind::INPUT_COVERAGE_MASK => self.once(ShaderOp::Coverage, &[]),
            OperandKind::INNER_COVERAGE => self.once(ShaderOp::InnerCoverage, &[]),
            OperandKind::GEOMETRY_INSTANCE_ID => self.once(ShaderOp::GeometryInstanceId, &[]),
            OperandKind::OUTPUT_CONTROL_POINT_ID => self.once(ShaderOp::OutputControlPointId, &[]),
            OperandKind::FORK_INSTANCE_ID | OperandKind::JOIN_INSTANCE_ID => match self.phase {
                Phase::Patch(instance) => self.number(instance),
                Phase::Main => return None,
            },
            OperandKind::INPUT | OperandKind::INPUT_CONTROL_POINT => {
                let inputs = &self.interface.inputs;
                return self.element(inputs, ShaderOp::LoadInput, operand, component);
            }
            OperandKind::OUTPUT_CONTROL_POINT => {
                let outputs = &self.interface.outputs;
                return self.element(outputs, ShaderOp::LoadOutputControlPoint, operand, component);
            }
            OperandKind::PATCH_CONSTANT => {
                let patch = &self.interface.patch;
                return self.element(patch, ShaderOp::LoadPatchConstant, operand, component);
            }
            _ => return None,
        })
    }

    /// Reads a component of an element of a signature.
    fn element(
        &mut self,
        elements: &Elements,
        op: ShaderOp,
        operand: &Operand,
        component: u8,
    ) -> Option<ValueId> {
        let indices = operand.used_indices();
        let (place, row) = self.place(elements, indices.last()?, component)?;
        let vertex = if indices.len() > 1 { Some(self.index(&indices[0])) } else { None };
        let number = |lifter: &Self, value: ValueId| lifter.builder.function.number(value).map(|n| n as u32);
        let constant_row = number(self, row);
        let constant_vertex = vertex.map(|vertex| number(self, vertex));
        let column = u32::from(place.column);
        // The input of another stage is a constant: it is read once.
        if op == ShaderOp::LoadInput
            && let Some(row) = constant_row
            && constant_vertex != Some(None)
        {
            let mut key = vec![place.element as u32, row, column];
            key.extend(constant_vertex.flatten());
            return Some(self.once(op, &key));
        }
        let vertex = vertex.unwrap_or_else(|| self.undefined());
        let (element, column) = (self.number(place.element as u32), self.number(column));
        let inputs = [element, row, column, vertex];
        Some(self.shader(op, 1, &inputs[..op.input_count()]))
    }

    /// Returns the element that a component of a register is, and the value of its row.
    pub(super) fn place(
        &mut self,
        elements: &Elements,
        index: &Index,
        component: u8,
    ) -> Option<(Place, ValueId)> {
        let stream = self.stream.filter(|_| self.stage == Stage::Geometry);
        let place = elements.find(index.number as u32, component, stream)?;
        let row = Index { number: u64::from(place.row), relative: index.relative.clone() };
        Some((place, self.index(&row)))
    }
}
