//! Names of what a token program's operands are, from RDEF: constants and bindings.

use std::fmt::Write;
use unshade_core::Escaped;
use unshade_dxbc::operand::{Operand, OperandKind};
use unshade_dxbc::{Instruction, Program};
use unshade_dxcontainer::Container;
use unshade_dxcontainer::part::PartData;
use unshade_dxcontainer::rdef::{Binding, InputType, ResourceDefinitions};

/// How deep structures are followed.
const MAX_DEPTH: usize = 8;

/// The names of a program's operands.
pub struct Names {
    resources: Option<Box<ResourceDefinitions>>,
    /// Whether operands name bindings by their number, not by their register.
    by_id: bool,
}

impl Names {
    /// What a container tells of the names of its program's operands.
    pub fn of(container: &Container<'_>, program: &Program) -> Self {
        let part = container.find(b"RDEF");
        let resources = match part.map(|part| PartData::read(part.name, part.data)) {
            Some(Ok(PartData::Resources(resources))) => Some(resources),
            _ => None,
        };
        Self { resources, by_id: program.version.has_spaces() }
    }

    /// The name of an operand of an instruction, where one is known.
    pub fn operand(&self, instruction: &Instruction, place: usize) -> Option<String> {
        let resources = self.resources.as_ref()?;
        let operand = instruction.operands.get(place)?;
        let register = u32::try_from(operand.used_indices().first()?.number).ok()?;
        let binding = self.binding(resources, operand.kind(), register)?;
        if operand.kind() != OperandKind::CONSTANT_BUFFER {
            return Some(Escaped(&binding.name.0).to_string());
        }
        let last = operand.used_indices().last()?;
        let (vector, is_relative) = (u32::try_from(last.number).ok()?, last.relative.is_some());
        let start = vector.checked_mul(16)?.checked_add(first_component(operand).checked_mul(4)?)?;
        let buffer = resources.buffers.iter().find(|buffer| buffer.name == binding.name)?;
        let variable = buffer.variables.iter().find(|variable| {
            let fields = &variable.fields;
            (fields.start..fields.start.saturating_add(fields.size)).contains(&start)
        })?;
        let mut name = Escaped(&variable.name.0).to_string();
        let offset = start.checked_sub(variable.fields.start)?;
        member(&mut name, resources, variable.fields.type_offset.0, offset, is_relative, 0);
        Some(name)
    }

    fn binding<'r>(
        &self,
        resources: &'r ResourceDefinitions,
        kind: OperandKind,
        register: u32,
    ) -> Option<&'r Binding> {
        resources.bindings.iter().find(|binding| {
            let fields = &binding.fields;
            let same_kind = match fields.input_type {
                InputType::CBUFFER => kind == OperandKind::CONSTANT_BUFFER,
                InputType::SAMPLER => kind == OperandKind::SAMPLER,
                InputType::TBUFFER | InputType::TEXTURE | InputType::STRUCTURED | InputType::BYTE_ADDRESS => {
                    kind == OperandKind::RESOURCE
                }
                _ => kind == OperandKind::UNORDERED_ACCESS_VIEW,
            };
            let same_place = match &binding.space {
                Some(space) if self.by_id => space.id == register,
                _ => register.checked_sub(fields.register).is_some_and(|number| number < fields.count.max(1)),
            };
            same_kind && same_place
        })
    }
}

/// The first component that is read.
fn first_component(operand: &Operand) -> u32 {
    use unshade_dxbc::operand::Components;
    match operand.components() {
        Components::Select(component) => component.into(),
        Components::Swizzle(order) => order.iter().copied().min().unwrap_or(0).into(),
        Components::Mask(mask) => mask.trailing_zeros() % 4,
        _ => 0,
    }
}

/// Appends the element and member of a variable that stands at an offset.
fn member(
    name: &mut String,
    resources: &ResourceDefinitions,
    type_offset: u32,
    mut offset: u32,
    is_relative: bool,
    depth: usize,
) {
    const ROW_MAJOR: u16 = 2;
    const COLUMN_MAJOR: u16 = 3;
    let Some(data_type) = resources.data_type(type_offset).filter(|_| depth < MAX_DEPTH) else { return };
    let fields = &data_type.fields;
    let vectors = match fields.class {
        ROW_MAJOR => u32::from(fields.rows),
        COLUMN_MAJOR => u32::from(fields.columns),
        _ => 1,
    };
    let is_array = fields.elements > 1;
    if is_array && fields.members_offset.0 == 0 {
        let stride = vectors.saturating_mul(16).max(16);
        let _ = if is_relative { write!(name, "[…]") } else { write!(name, "[{}]", offset / stride) };
        offset %= stride;
    }
    if fields.class == ROW_MAJOR || fields.class == COLUMN_MAJOR {
        let _ = write!(name, "[{}]", offset / 16);
    }
    // Of arrays of structures the size of an element is not told: the name of the variable will do.
    if is_array && !data_type.members.is_empty() {
        name.push_str("[…]");
        return;
    }
    let before = data_type.members.iter().filter(|member| member.fields.start <= offset);
    if let Some(found) = before.max_by_key(|member| member.fields.start) {
        let _ = write!(name, ".{}", Escaped(&found.name.0));
        member(
            name,
            resources,
            found.fields.type_offset.0,
            offset - found.fields.start,
            is_relative,
            depth + 1,
        );
    }
}
