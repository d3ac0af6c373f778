//! Resources that are members of structures with constants.
//!
//! The compiler takes the resources out of a structure in a constant buffer and names them by their path: `light.shadow.map`
//! is the resource `map` of the member `shadow` of the variable `light`. They are declared as members of the structure again,
//! after its constants. No register can be given to them: the compiler takes the first one that no other resource has, so
//! they are members only where that is the one that the program has.
//!
//! Source: what DXC 1.10 and FXC make of such structures, compiled again.

use super::allocation;
use super::names::is_function;
use super::resource_struct::{self, Type, index_of, is_member_name};
use crate::ir::hash::FastMap;
use crate::ir::shader::data_type::{DataType, Packing, StructField};
use crate::ir::shader::interface::{Resource, ShaderProgram, Shape};
use crate::ir::{ResourceId, StructId};
use std::collections::BTreeSet;

/// Resources with their names and types, by the structure that they are members of.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberResources {
    members: FastMap<StructId, Vec<(String, Type)>>,
    resources: BTreeSet<ResourceId>,
}

impl MemberResources {
    /// Finds those of a program. The texts of the resources are added to `texts`.
    pub(super) fn find(program: &ShaderProgram, texts: &mut FastMap<ResourceId, String>) -> Self {
        let mut found = Self::default();
        for (name, paths) in resource_struct::paths_of_variables(program) {
            let Some(field) = variable(program, name).filter(|_| is_member_name(name) && !is_function(name))
            else {
                continue;
            };
            let ids: Vec<ResourceId> = paths.iter().map(|path| path.0).collect();
            if !allocation::are_first_free(program, &ids) {
                continue;
            }
            let mut members = found.members.clone();
            if paths.iter().all(|(id, path)| add(program, &mut members, &field.ty, path, *id).is_some()) {
                found.members = members;
                found.resources.extend(ids);
                texts.extend(paths.iter().map(|(id, path)| (*id, resource_struct::text(name, path))));
            }
        }
        found
    }

    /// Returns whether a resource is declared as a member.
    pub(super) fn contains(&self, id: ResourceId) -> bool {
        self.resources.contains(&id)
    }

    /// Returns the resources of a structure with their names and types.
    pub(super) fn of(&self, id: StructId) -> &[(String, Type)] {
        self.members.get(&id).map_or(&[], Vec::as_slice)
    }
}

/// Returns the member of a constant buffer whose name is global. One with a value has no resources, and neither has one
/// without constants.
fn variable<'p>(program: &'p ShaderProgram, name: &str) -> Option<&'p StructField> {
    // A `tbuffer` has no resources.
    let is_cbuffer = |resource: &&Resource| resource.shape == Shape::ConstantBuffer && !resource.is_object;
    let mut buffers = program.resources.iter().filter(is_cbuffer);
    buffers.find_map(|buffer| {
        let Some(DataType::Struct(id)) = buffer.element else { return None };
        let field = program.structs.get(id)?.fields.iter().find(|field| field.name == name)?;
        let has_constants = Packing::Constant.size(&field.ty, &program.structs) > 0;
        (has_constants && !buffer.initial_values.contains_key(&field.offset)).then_some(field)
    })
}

/// Adds a resource by its path from a type. Returns `None` if the path leads to no structure.
fn add<'t>(
    program: &'t ShaderProgram,
    members: &mut FastMap<StructId, Vec<(String, Type)>>,
    mut ty: &'t DataType,
    path: &[&str],
    id: ResourceId,
) -> Option<()> {
    for (position, part) in path.iter().enumerate() {
        match ty {
            DataType::Array(element, count) => {
                index_of(part).filter(|index| *index < *count as usize)?;
                ty = element;
            }
            DataType::Struct(structure) => {
                let fields = &program.structs.get(*structure)?.fields;
                if !is_member_name(part) {
                    return None;
                }
                if let Some(field) = fields.iter().find(|field| field.name == *part) {
                    ty = &field.ty;
                    continue;
                }
                let indices = &path[position + 1..];
                if !indices.iter().all(|part| index_of(part).is_some()) {
                    return None;
                }
                let own = members.entry(*structure).or_default();
                let at = own.iter().position(|member| member.0 == *part);
                let mut known = at.map(|at| own[at].1.clone());
                resource_struct::add(program, &mut known, indices, id)?;
                match at {
                    Some(at) => own[at].1 = known?,
                    None => own.push(((*part).to_owned(), known?)),
                }
                return Some(());
            }
            _ => return None,
        }
    }
    None
}
