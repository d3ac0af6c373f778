//! Resources that are members of structures.
//!
//! The compiler takes the resources out of a global structure and names them by their path: `lights[0].map` is the
//! resource `lights.0.map`. The structure is declared again from these paths. The compiler gives its members registers in
//! their order, class by class; so it is declared only where that gives each resource the register that it has.
//!
//! Source: what DXC 1.10 makes of structures of resources, compiled again.

use super::allocation;
use super::declaration::{Naming, object};
use super::names::{Names, identifier};
use crate::ir::ResourceId;
use crate::ir::hash::FastMap;
use crate::ir::shader::data_type::DataType;
use crate::ir::shader::interface::{Binding, ResourceClass, ShaderProgram};
use std::collections::BTreeMap;

/// The longest path, and the most resources of a variable.
const MAX_DEPTH: usize = 16;
const MAX_LEAVES: usize = 1024;

/// The classes of members, in the order of their declaration.
const CLASSES: [ResourceClass; 3] =
    [ResourceClass::ShaderResource, ResourceClass::UnorderedAccess, ResourceClass::Sampler];

/// A resource and the parts of its path after the first.
pub(super) type Path<'p> = (ResourceId, Vec<&'p str>);

/// A global variable that has resources.
#[derive(Clone, Debug)]
pub(super) struct ResourceVariable {
    name: String,
    ty: Type,
    pub(super) resources: Vec<ResourceId>,
}

/// The type of a variable or member.
#[derive(Clone, Debug)]
pub(super) enum Type {
    /// That of a resource: one of those that have it.
    Object(ResourceId),
    /// A structure: its name, and its members in the order of their declaration.
    Struct(String, Vec<(String, Type)>),
    Array(usize, Box<Type>),
}

impl ResourceVariable {
    /// Finds the variables of a program. The texts of their resources are added to `texts`.
    pub(super) fn find(
        program: &ShaderProgram,
        names: &mut Names,
        texts: &mut FastMap<ResourceId, String>,
    ) -> Vec<Self> {
        let mut found = Vec::new();
        for (name, mut paths) in paths_of_variables(program) {
            if let Some(ty) = variable_type(program, name, &mut paths)
                && names.take_exactly(name)
            {
                let mut variable =
                    Self { name: name.into(), ty, resources: paths.iter().map(|path| path.0).collect() };
                name_structs(&mut variable.ty, name, names);
                texts.extend(paths.iter().map(|(id, path)| (*id, text(name, path))));
                found.push(variable);
            }
        }
        found
    }

    /// Adds the declarations of the structures and the variable.
    pub(super) fn declare(&self, program: &ShaderProgram, naming: &Naming, lines: &mut Vec<String>) {
        let (ty, counts) = declare_type(program, naming, &self.ty, lines);
        let mut leaves = Vec::new();
        list(&self.ty, String::new(), &mut leaves);
        let distances = distances(program, &leaves);
        let mut registers = String::new();
        // FXC takes the registers of all classes or of none.
        let mut is_counted = program.model < (6, 0);
        for class in CLASSES {
            let is_of_class = |id: &ResourceId| program.resources[*id].class == class;
            let of_class: Vec<ResourceId> = self.resources.iter().copied().filter(is_of_class).collect();
            // That of the first member, which may be absent.
            let first = of_class.iter().find_map(|id| {
                let path = naming.resource(*id).strip_prefix(self.name.as_str())?;
                let Binding { register, space, .. } = binding(program, *id)?;
                Some((register.checked_sub(*distances.get(path)?)?, space))
            });
            let count = leaves.iter().filter(|(_, id)| is_of_class(id)).count() as u32;
            if let Some((register, space)) = first {
                is_counted &= allocation::is_first_free(program, &of_class, (register, count));
                let space = if space == 0 { String::new() } else { format!(", space{space}") };
                registers.push_str(&format!(" : register({}{register}{space})", class.letter()));
            }
        }
        if is_counted {
            registers.clear();
        }
        lines.push(format!("{ty} {}{counts}{registers};", self.name));
    }
}

/// Returns the resources of each variable, which is the first part of their names.
pub(super) fn paths_of_variables(program: &ShaderProgram) -> BTreeMap<&str, Vec<Path<'_>>> {
    let mut variables: BTreeMap<&str, Vec<Path<'_>>> = BTreeMap::new();
    for (id, resource) in program.resources.entries() {
        if let Some((first, rest)) = resource.name.split_once('.') {
            variables.entry(first).or_default().push((id, rest.split('.').collect()));
        }
    }
    variables
}

fn binding(program: &ShaderProgram, id: ResourceId) -> Option<Binding> {
    program.resources[id].binding
}

/// Returns the type of a variable that has these resources, if the compiler gives it their registers. They are put in the
/// order of its members.
fn variable_type(program: &ShaderProgram, name: &str, paths: &mut [Path<'_>]) -> Option<Type> {
    let is_alone = |(id, path): &Path<'_>| {
        let has_register =
            binding(program, *id).is_some_and(|found| found.count == Some(1) && found.register != u32::MAX);
        has_register && path.len() <= MAX_DEPTH && path.iter().any(|part| index_of(part).is_none())
    };
    if !is_member_name(name) || is_constant_member(program, name) || !paths.iter().all(is_alone) {
        return None;
    }
    let register = |id: ResourceId| binding(program, id).map_or(0, |binding| binding.register);
    let rank = |id: ResourceId| CLASSES.iter().position(|class| *class == program.resources[id].class);
    paths.sort_by_key(|(id, _)| (rank(*id), register(*id)));
    let mut ty = None;
    for (id, path) in paths.iter() {
        add(program, &mut ty, path, *id)?;
    }
    let ty = ty?;
    has_registers(program, &ty, paths).then_some(ty)
}

/// Returns whether a part of a path can be the name of a member.
pub(super) fn is_member_name(part: &str) -> bool {
    identifier(part) == part && Names::members().take_exactly(part)
}

/// Returns a part of a path as an index.
pub(super) fn index_of(part: &str) -> Option<usize> {
    part.parse().ok().filter(|index| *index < MAX_LEAVES)
}

/// Returns whether a member of a constant buffer has a name: they are global.
fn is_constant_member(program: &ShaderProgram, name: &str) -> bool {
    let has_member = |ty: &DataType| match ty {
        DataType::Struct(id) => program.structs[*id].fields.iter().any(|field| field.name == name),
        _ => false,
    };
    let buffers = program.resources.iter().filter(|resource| resource.class == ResourceClass::ConstantBuffer);
    buffers.filter_map(|buffer| buffer.element.as_ref()).any(has_member)
}

/// Adds a path to a type. Returns `None` if it does not fit.
pub(super) fn add(
    program: &ShaderProgram,
    ty: &mut Option<Type>,
    path: &[&str],
    id: ResourceId,
) -> Option<()> {
    let Some((first, rest)) = path.split_first() else {
        return match ty {
            None => {
                *ty = Some(Type::Object(id));
                Some(())
            }
            Some(Type::Object(known)) => {
                let (known, new) = (&program.resources[*known], &program.resources[id]);
                let is_same = known.class == new.class
                    && known.shape == new.shape
                    && known.element == new.element
                    && known.samples == new.samples;
                is_same.then_some(())
            }
            Some(_) => None,
        };
    };
    if let Some(index) = index_of(first) {
        let (count, element) = match ty.take() {
            None => (0, None),
            Some(Type::Array(count, element)) => (count, Some(*element)),
            Some(_) => return None,
        };
        let mut element = element;
        add(program, &mut element, rest, id)?;
        *ty = Some(Type::Array(count.max(index + 1), Box::new(element?)));
        return Some(());
    }
    if !is_member_name(first) {
        return None;
    }
    let Type::Struct(_, members) = ty.get_or_insert_with(|| Type::Struct(String::new(), Vec::new())) else {
        return None;
    };
    match members.iter_mut().find(|member| member.0 == *first) {
        Some((_, member)) => {
            let mut known = Some(member.clone());
            add(program, &mut known, rest, id)?;
            *member = known?;
        }
        None => {
            let mut new = None;
            add(program, &mut new, rest, id)?;
            members.push(((*first).to_owned(), new?));
        }
    }
    Some(())
}

/// Returns whether the registers that the compiler gives the members of a type are those of the resources.
fn has_registers(program: &ShaderProgram, ty: &Type, paths: &[Path<'_>]) -> bool {
    let mut leaves = Vec::new();
    list(ty, String::new(), &mut leaves);
    if leaves.len() >= MAX_LEAVES {
        return false;
    }
    let distances = distances(program, &leaves);
    let mut bases: FastMap<ResourceClass, (u32, u32)> = FastMap::default();
    paths.iter().all(|(id, path)| {
        let Some(binding) = binding(program, *id) else { return false };
        let distance = distances.get(text("", path).as_str()).copied();
        let Some(base) = distance.and_then(|distance| binding.register.checked_sub(distance)) else {
            return false;
        };
        *bases.entry(program.resources[*id].class).or_insert((base, binding.space)) == (base, binding.space)
    })
}

/// Returns the distance of each leaf's register from that of the first one of its class, by path.
fn distances<'l>(program: &ShaderProgram, leaves: &'l [(String, ResourceId)]) -> FastMap<&'l str, u32> {
    let mut next: FastMap<ResourceClass, u32> = FastMap::default();
    let mut distances = FastMap::default();
    for (path, id) in leaves {
        let count = next.entry(program.resources[*id].class).or_default();
        distances.insert(path.as_str(), *count);
        *count += 1;
    }
    distances
}

/// Lists the resources of a type with the texts that follow the variable's name.
fn list(ty: &Type, path: String, leaves: &mut Vec<(String, ResourceId)>) {
    if leaves.len() >= MAX_LEAVES {
        return;
    }
    match ty {
        Type::Object(id) => leaves.push((path, *id)),
        Type::Struct(_, members) => {
            for (name, member) in members {
                list(member, format!("{path}.{name}"), leaves);
            }
        }
        Type::Array(count, element) => {
            for index in 0..*count {
                list(element, format!("{path}[{index}]"), leaves);
            }
        }
    }
}

/// Returns the text of a resource: `lights[0].map`.
pub(super) fn text(name: &str, path: &[&str]) -> String {
    let mut text = name.to_owned();
    for part in path {
        match index_of(part) {
            Some(index) => text.push_str(&format!("[{index}]")),
            None => text.push_str(&format!(".{part}")),
        }
    }
    text
}

/// Names the structures of a type after the variable or member that has it.
fn name_structs(ty: &mut Type, of: &str, names: &mut Names) {
    match ty {
        Type::Object(_) => {}
        Type::Array(_, element) => name_structs(element, of, names),
        Type::Struct(name, members) => {
            *name = names.take(&format!("{of}_resources"));
            for (of, member) in members {
                name_structs(member, of, names);
            }
        }
    }
}

/// Adds the structures of a type. Returns its name and dimensions.
pub(super) fn declare_type(
    program: &ShaderProgram,
    naming: &Naming,
    ty: &Type,
    lines: &mut Vec<String>,
) -> (String, String) {
    match ty {
        Type::Object(id) => (object(naming, &program.resources[*id]).unwrap_or_default(), String::new()),
        Type::Array(count, element) => {
            let (ty, counts) = declare_type(program, naming, element, lines);
            (ty, format!("[{count}]{counts}"))
        }
        Type::Struct(name, members) => {
            let mut declared = Vec::with_capacity(members.len());
            for (member, ty) in members {
                let (ty, counts) = declare_type(program, naming, ty, lines);
                declared.push(format!("    {ty} {member}{counts};"));
            }
            lines.extend([format!("struct {name}"), "{".into()]);
            lines.extend(declared);
            lines.extend(["};".into(), String::new()]);
            (name.clone(), String::new())
        }
    }
}
