//! Registers that the compiler gives to resources whose declaration names none.
//!
//! FXC first gives registers to the resources that name one. The others follow in their order, each in the first gap that is
//! large enough. In pixel shaders before shader model 5.1, unordered access views come after the slots of render targets.
//!
//! Source: what FXC gives to declarations with and without registers; D3D_SIF_USERPACKED in RDEF says which named one.

use crate::ir::ResourceId;
use crate::ir::shader::interface::{ResourceClass, ShaderProgram, Stage};
use std::collections::BTreeSet;

/// The most registers that are counted through: more than any program of Direct3D 11 has.
const MAX_REGISTERS: u32 = 4096;

/// Returns the resources that need no register in their declaration, since the compiler gives them the ones that they have.
pub(super) fn counted(program: &ShaderProgram) -> BTreeSet<ResourceId> {
    let mut found = BTreeSet::new();
    if program.resources.iter().all(|resource| resource.has_register) {
        return found;
    }
    for class in [
        ResourceClass::ShaderResource,
        ResourceClass::UnorderedAccess,
        ResourceClass::ConstantBuffer,
        ResourceClass::Sampler,
    ] {
        of_class(program, class, &mut found);
    }
    found
}

/// Returns the registers before that of a constant buffer which no declaration names, where unused declarations must take
/// them so that the compiler gives the buffer its register. Up to shader model 5.0,
/// declarations take their registers even if nothing uses them.
pub(super) fn gaps_before(program: &ShaderProgram, id: ResourceId) -> Option<Vec<u32>> {
    let (register, _) = range(program, id).filter(|_| program.model < (5, 1))?;
    let buffers = program
        .resources
        .entries()
        .filter(|(other, resource)| *other != id && resource.class == ResourceClass::ConstantBuffer);
    let taken: Vec<(u32, u32)> = buffers.filter_map(|(other, _)| range(program, other)).collect();
    let mut gaps = Vec::new();
    let mut at = first_gap(0, 1, &taken);
    while at < register.min(MAX_REGISTERS) {
        gaps.push(at);
        at = first_gap(at + 1, 1, &taken);
    }
    (at == register).then_some(gaps)
}

/// Returns whether resources, in the order of their registers, have the ones that the compiler gives them if all others
/// name theirs, or come first.
pub(super) fn are_first_free(program: &ShaderProgram, ids: &[ResourceId]) -> bool {
    let classes: BTreeSet<ResourceClass> = ids.iter().map(|id| program.resources[*id].class).collect();
    classes.into_iter().all(|class| {
        let is_of_class = |id: &ResourceId| program.resources[*id].class == class;
        let mut free: Vec<ResourceId> = ids.iter().copied().filter(is_of_class).collect();
        free.sort_by_key(|id| range(program, *id));
        let others = others(program, class, &free);
        others.is_some_and(|taken| {
            first_wrong(program, first_register(program, class), &free, &taken).is_none()
        })
    })
}

/// Returns whether resources of one class are in the block of registers that the compiler gives their variable if all others
/// name theirs, or come first.
pub(super) fn is_first_free(
    program: &ShaderProgram,
    ids: &[ResourceId],
    (register, count): (u32, u32),
) -> bool {
    let Some(class) = ids.first().map(|id| program.resources[*id].class) else { return false };
    others(program, class, ids)
        .is_some_and(|taken| first_gap(first_register(program, class), count, &taken) == register)
}

/// Returns the registers of the other resources of a class. `None` if some of the resources name theirs, or don't come after
/// all that the compiler counts.
fn others(program: &ShaderProgram, class: ResourceClass, ids: &[ResourceId]) -> Option<Vec<(u32, u32)>> {
    let is_free = |id: &ResourceId| {
        let resource = &program.resources[*id];
        let is_in_space_0 = resource.binding.is_some_and(|binding| binding.space == 0);
        is_in_space_0 && !(program.model < (6, 0) && resource.has_register)
    };
    let first = ids.iter().filter_map(|id| range(program, *id)).min();
    let mut taken = Vec::new();
    for (id, resource) in program.resources.entries() {
        if let (true, Some(found)) = (resource.class == class && !ids.contains(&id), range(program, id)) {
            if !resource.has_register && Some(found) > first {
                return None;
            }
            taken.push(found);
        }
    }
    ids.iter().all(is_free).then_some(taken)
}

/// Adds those of a class. Where one can't be counted, its declaration names the register, and the rest is counted anew.
fn of_class(program: &ShaderProgram, class: ResourceClass, found: &mut BTreeSet<ResourceId>) {
    let mut free: Vec<ResourceId> = Vec::new();
    let mut taken: Vec<(u32, u32)> = Vec::new();
    for (id, resource) in program.resources.entries().filter(|(_, resource)| resource.class == class) {
        let Some(binding) = resource.binding else { continue };
        let is_plain = binding.space == 0 && binding.register < MAX_REGISTERS;
        if resource.has_register || !is_plain {
            taken.extend(range(program, id));
        } else {
            free.push(id);
        }
    }
    // From shader model 5.1 on, the order of arrays is not that of their declarations.
    let is_array =
        |id: &ResourceId| program.resources[*id].binding.is_some_and(|found| found.count != Some(1));
    if program.model >= (5, 1) && free.iter().filter(|id| is_array(id)).count() > 1 {
        taken.extend(free.extract_if(.., |id| is_array(id)).filter_map(|id| range(program, id)));
    }
    let start = first_register(program, class);
    // The compiler counts in the order of the declarations.
    while let Some(wrong) = first_wrong(program, start, &free, &taken) {
        let id = free.remove(wrong);
        taken.extend(range(program, id));
    }
    found.extend(free);
}

/// Returns the first register that the compiler may give to a class.
fn first_register(program: &ShaderProgram, class: ResourceClass) -> u32 {
    match (class, program.stage) {
        (ResourceClass::UnorderedAccess, Stage::Pixel) if program.model < (5, 1) => render_targets(program),
        _ => 0,
    }
}

/// Returns the first resource that would get another register than it has.
fn first_wrong(
    program: &ShaderProgram,
    start: u32,
    free: &[ResourceId],
    taken: &[(u32, u32)],
) -> Option<usize> {
    let mut taken = taken.to_vec();
    for (index, id) in free.iter().enumerate() {
        let Some((register, count)) = range(program, *id) else { return Some(index) };
        if first_gap(start, count, &taken) != register {
            return Some(index);
        }
        taken.push((register, count));
    }
    None
}

fn range(program: &ShaderProgram, id: ResourceId) -> Option<(u32, u32)> {
    let binding = program.resources[id].binding?;
    // An array without an end takes all registers that follow.
    Some((binding.register, binding.count.unwrap_or(u32::MAX - binding.register)))
}

/// Returns the first register from which on this many are free.
fn first_gap(start: u32, count: u32, taken: &[(u32, u32)]) -> u32 {
    let mut at = start;
    // Each step passes one range.
    for _ in 0..=taken.len() {
        let end = at.saturating_add(count);
        let in_the_way =
            taken.iter().find(|(first, length)| *first < end && at < first.saturating_add(*length));
        match in_the_way {
            Some((first, length)) => at = first.saturating_add(*length),
            None => return at,
        }
    }
    u32::MAX
}

/// Returns the number of slots that the render targets of a pixel shader take.
fn render_targets(program: &ShaderProgram) -> u32 {
    let outputs = program.functions.first().map_or(&[][..], |entry| &entry.outputs);
    let is_target = |name: &str| name.eq_ignore_ascii_case("SV_Target");
    let last = outputs.iter().filter(|output| is_target(&output.semantic)).map(|output| {
        let first = output.indices.first().copied().unwrap_or(0);
        first.saturating_add(output.rows() as u32)
    });
    last.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::shader::interface::{Binding, Resource, Shape};

    fn textures(list: &[(u32, u32, bool)]) -> Vec<u32> {
        let mut program = ShaderProgram::new(Stage::Compute, (5, 0));
        for &(register, count, has_register) in list {
            program.resources.push(Resource {
                binding: Some(Binding { register, space: 0, count: Some(count) }),
                has_register,
                ..Resource::new(ResourceClass::ShaderResource, Shape::Texture2D)
            });
        }
        let found = counted(&program);
        found.into_iter().map(|id| program.resources[id].binding.unwrap().register).collect()
    }

    #[test]
    fn resources_fill_the_gaps_between_those_with_registers() {
        assert_eq!(textures(&[(0, 1, false), (1, 4, false), (5, 1, false)]), [0, 1, 5]);
        assert_eq!(textures(&[(0, 1, true), (1, 1, false), (2, 1, true), (3, 2, false)]), [1, 3]);
        // Two do not fit between 0 and 2.
        assert_eq!(textures(&[(0, 1, true), (1, 2, false), (2, 1, true)]), [] as [u32; 0]);
        // One that is elsewhere names its register; the others are counted around it.
        assert_eq!(textures(&[(2, 1, false), (0, 1, false), (1, 1, false)]), [0, 1]);
    }
}
