//! Looks up the names of a token program's operands in RDEF: constants and bindings.

use std::fmt::Write;
use unshade_core::Escaped;
use unshade_dxbc::operand::{Operand, OperandKind};
use unshade_dxbc::{Instruction, Program};
use unshade_dxcontainer::Container;
use unshade_dxcontainer::part::PartData;
use unshade_dxcontainer::rdef::{Binding, InputType, ResourceDefinitions};

/// Maximum nesting depth of structures.
const MAX_DEPTH: usize = 8;

/// The names of a program's operands.
pub struct Names {
    resources: Option<Box<ResourceDefinitions>>,
    /// Whether operands refer to bindings by ID instead of by register.
    by_id: bool,
}

impl Names {
    /// Reads the names from a program's container.
    pub fn of(container: &Container<'_>, program: &Program) -> Self {
        let part = container.find(b"RDEF");
        let resources = match part.map(|part| PartData::read(part.name, part.data)) {
            Some(Ok(PartData::Resources(resources))) => Some(resources),
            _ => None,
        };
        Self { resources, by_id: program.version.has_spaces() }
    }

    /// Returns the name of the operand with an index, if it is known.
    pub fn operand(&self, instruction: &Instruction, index: usize) -> Option<String> {
        let resources = self.resources.as_ref()?;
        let operand = instruction.operands.get(index)?;
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
        append_member(&mut name, resources, variable.fields.type_offset.0, offset, is_relative, 0);
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
            let same_register = match &binding.space {
                Some(space) if self.by_id => space.id == register,
                _ => register.checked_sub(fields.register).is_some_and(|number| number < fields.count.max(1)),
            };
            same_kind && same_register
        })
    }
}

/// Returns the first component that an operand reads.
fn first_component(operand: &Operand) -> u32 {
    use unshade_dxbc::operand::Components;
    match operand.components() {
        Components::Select(component) => component.into(),
        Components::Swizzle(order) => order.iter().copied().min().unwrap_or(0).into(),
        Components::Mask(mask) => mask.trailing_zeros() % 4,
        _ => 0,
    }
}

/// Appends the element and member at a byte offset in a variable.
fn append_member(
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
    // RDEF does not give the element size of an array of structures, so the member is unknown.
    if is_array && !data_type.members.is_empty() {
        name.push_str("[…]");
        return;
    }
    let preceding = data_type.members.iter().filter(|member| member.fields.start <= offset);
    if let Some(found) = preceding.max_by_key(|member| member.fields.start) {
        let _ = write!(name, ".{}", Escaped(&found.name.0));
        append_member(
            name,
            resources,
            found.fields.type_offset.0,
            offset - found.fields.start,
            is_relative,
            depth + 1,
        );
    }
}
