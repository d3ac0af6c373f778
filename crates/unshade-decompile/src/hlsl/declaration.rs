//! Declarations of a program: structures, constant buffers, resources, variables; and the names of all of them.

use super::allocation;
use super::initializer::initializer;
use super::legacy;
use super::member_resources::MemberResources;
use super::names::{Names, identifier, is_function};
use super::offsets::{is_natural, packed_at, registers};
use super::resource_struct::{self, ResourceVariable};
use super::sequence;
use super::spelling;
use crate::ir::hash::FastMap;
use crate::ir::shader::Signedness;
use crate::ir::shader::data_type::{DataType, Packing, PayloadAccess, StructField, StructTypes};
use crate::ir::shader::interface::{
    Passing, Resource, ResourceClass, Sequence, ShaderFunction, ShaderParameter, ShaderProgram, Shape, Stage,
    VariableSpace,
};
use crate::ir::{Op, ResourceId, ShaderOp, StructId, VariableId};
use std::collections::BTreeSet;

/// The constant buffer of global variables.
const GLOBALS: &str = "$Globals";

/// The member that is the base of a structure.
const BASE: &str = "$super";

/// The constant buffer of uniform parameters.
const PARAMETERS: &str = "$Params";

/// The names of what a program declares.
#[derive(Clone, Debug, Default)]
pub(super) struct Naming {
    structs: FastMap<StructId, String>,
    fields: FastMap<StructId, Vec<String>>,
    resources: FastMap<ResourceId, String>,
    variables: FastMap<VariableId, String>,
    /// The identifiers of functions by their name in the program, where these are not the plain ones.
    functions: FastMap<String, String>,
    /// The structure whose members have the names of a constant buffer, if they are global.
    global_members: FastMap<ResourceId, StructId>,
    /// The buffers to which elements are only appended, or from which they are only consumed.
    sequences: BTreeSet<ResourceId>,
    /// The resources whose registers the compiler counts.
    counted: BTreeSet<ResourceId>,
    /// The global variables whose members are resources.
    resource_variables: Vec<ResourceVariable>,
    /// The resources that are members of structures of constants.
    member_resources: MemberResources,
    /// Names that other programs refer to and that can't be kept.
    pub(super) missing: Vec<String>,
}

impl Naming {
    /// Names everything.
    pub(super) fn new(program: &ShaderProgram, names: &mut Names) -> Self {
        let (counted, sequences) = (allocation::counted(program), sequence::buffers(program));
        let mut naming = Self { counted, sequences, ..Self::default() };
        naming.resource_variables = ResourceVariable::find(program, names, &mut naming.resources);
        naming.member_resources = MemberResources::find(program, &mut naming.resources);
        for (id, resource) in program.resources.entries() {
            if legacy::is_legacy(program) {
                if let Some(wanted) = legacy::wanted_name(program, resource) {
                    let (base, element) = legacy::split_element(&wanted);
                    // A texture may be in several pairs with samplers, and arrays have several elements.
                    let known = program.resources.entries().find(|(other, known)| {
                        let name = legacy::wanted_name(program, known).unwrap_or_default();
                        let is_same = legacy::split_element(&name).0 == base && known.class == resource.class;
                        is_same && naming.resources.contains_key(other)
                    });
                    let known =
                        known.map(|(other, _)| legacy::split_element(naming.resource(other)).0.to_owned());
                    let name = known.unwrap_or_else(|| names.take(base));
                    naming.resources.insert(id, format!("{name}{element}"));
                }
                continue;
            }
            if naming.resources.contains_key(&id) {
                continue;
            }
            let wanted = match resource.binding {
                _ if !resource.name.is_empty() => resource.name.clone(),
                Some(binding) => {
                    let space =
                        if binding.space == 0 { String::new() } else { format!("_space{}", binding.space) };
                    format!("{}{}{space}", resource.class.letter(), binding.register)
                }
                None => "heap".into(),
            };
            let wanted = wanted.trim_start_matches('$');
            if resource.binding.is_some() {
                let name = match has_own_scope(program, resource) {
                    true => identifier(wanted),
                    false if is_constant(resource) => names.take(wanted),
                    false => names.take_path(wanted),
                };
                naming.resources.insert(id, name);
            }
        }
        for (id, resource) in program.resources.entries() {
            if let (false, Some(DataType::Struct(structure))) = (resource.is_object, &resource.element)
                && is_constant(resource)
            {
                naming.global_members.insert(id, *structure);
                naming.name_fields(program, *structure, Some(names));
            }
        }
        // The names of functions that other libraries call have those of structures in them: these come first.
        let of_functions = parameter_structs(program);
        let others = program.structs.entries().map(|(id, _)| id).filter(|id| !of_functions.contains(id));
        for id in of_functions.iter().copied().chain(others) {
            let structure = &program.structs[id];
            if !naming.fields.contains_key(&id) {
                naming.name_fields(program, id, None);
            }
            let is_buffer = naming.global_members.values().any(|known| *known == id);
            let wanted = if structure.name.is_empty() { "Data" } else { plain_struct(&structure.name) };
            let name = if is_buffer { identifier(wanted) } else { names.take(&capitalised(wanted)) };
            naming.structs.insert(id, name);
        }
        for (id, variable) in program.variables.entries() {
            let wanted = match variable.space {
                _ if !variable.name.is_empty() => variable.name.as_str(),
                VariableSpace::Group => "group",
                VariableSpace::Constant => "table",
                VariableSpace::Thread | VariableSpace::Static => "array",
                VariableSpace::Record => "record",
            };
            naming.variables.insert(id, names.take(wanted));
        }
        naming.name_functions(program, names);
        naming
    }

    /// Names functions: a function that is no entry point may have the name of one.
    fn name_functions(&mut self, program: &ShaderProgram, names: &mut Names) {
        let plain = |function: &ShaderFunction| identifier(&super::function::plain_name(&function.name));
        let entries: Vec<String> =
            program.functions.iter().filter(|function| function.stage.is_some()).map(plain).collect();
        for entry in &entries {
            names.take(entry);
        }
        for function in program.functions.iter().filter(|function| function.stage.is_none()) {
            let name = plain(function);
            if entries.contains(&name) {
                self.functions.insert(function.name.clone(), names.take(&name));
                if function.is_exported {
                    self.missing.push(format!("the name {name} of a function, which an entry point has"));
                }
            }
        }
    }

    /// Returns the identifier of a function.
    pub(super) fn function(&self, name: &str) -> String {
        self.functions.get(name).cloned().unwrap_or_else(|| identifier(&super::function::plain_name(name)))
    }

    /// Names the members of a structure: among all global names, or among themselves.
    fn name_fields(&mut self, program: &ShaderProgram, id: StructId, global: Option<&mut Names>) {
        let mut own = Names::members();
        let is_shared = global.is_some() && legacy::is_legacy(program);
        let names = global.unwrap_or(&mut own);
        let fields = &program.structs[id].fields;
        let is_base = |index: usize| index == 0 && base(program, id).is_some();
        let name = |(field, names): (&StructField, &mut Names)| match field.name.is_empty() {
            true => names.take(&format!("m{}", field.offset)),
            false => names.take_path(field.name.trim_start_matches('$')),
        };
        let mut all = Vec::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            // The members of a base are those of the structure.
            if is_base(index) {
                all.push(String::new());
                continue;
            }
            // A constant of an old shader model may be in several sets.
            let known = if is_shared { self.global_name(program, id, &field.name) } else { None };
            all.push(known.unwrap_or_else(|| name((field, names))));
        }
        self.fields.insert(id, all);
    }

    /// Returns the name of a member of another structure whose members are global.
    fn global_name(&self, program: &ShaderProgram, id: StructId, name: &str) -> Option<String> {
        self.global_members.values().filter(|other| **other != id).find_map(|other| {
            let at = program.structs[*other].fields.iter().position(|field| field.name == name)?;
            self.fields.get(other)?.get(at).cloned()
        })
    }

    /// Returns whether elements of a buffer are only appended or consumed.
    pub(super) fn is_sequential(&self, id: ResourceId) -> bool {
        self.sequences.contains(&id)
    }

    pub(super) fn resource(&self, id: ResourceId) -> &str {
        self.resources.get(&id).map_or("resource", String::as_str)
    }

    pub(super) fn variable(&self, id: VariableId) -> &str {
        self.variables.get(&id).map_or("variable", String::as_str)
    }

    pub(super) fn structure(&self, id: StructId) -> &str {
        self.structs.get(&id).map_or("Data", String::as_str)
    }

    pub(super) fn field(&self, id: StructId, index: usize) -> &str {
        self.fields.get(&id).and_then(|fields| fields.get(index)).map_or("member", String::as_str)
    }

    /// Returns whether the members of a constant buffer are global names.
    pub(super) fn has_global_members(&self, id: ResourceId) -> bool {
        self.global_members.contains_key(&id)
    }

    /// Returns a declaration: type, name, dimensions.
    pub(super) fn declare(&self, ty: &DataType, name: &str) -> String {
        let counts: String = ty.counts().iter().map(|count| format!("[{count}]")).collect();
        format!("{} {name}{counts}", self.type_name(ty.innermost()))
    }

    /// Returns the name of a type that is no array.
    pub(super) fn type_name(&self, ty: &DataType) -> String {
        match ty {
            DataType::Scalar(scalar) => spelling::scalar(*scalar).to_owned(),
            DataType::Vector(scalar, 1) => format!("{}1", spelling::scalar(*scalar)),
            DataType::Vector(scalar, lanes) => spelling::vector(*scalar, *lanes),
            DataType::Matrix { scalar, rows, columns, is_row_major } => {
                let order = if *is_row_major { "row_major " } else { "" };
                format!("{order}{}{rows}x{columns}", spelling::scalar(*scalar))
            }
            DataType::Array(..) => {
                let counts: String = ty.counts().iter().map(|count| format!("[{count}]")).collect();
                format!("{}{counts}", self.type_name(ty.innermost()))
            }
            DataType::Struct(id) => self.structure(*id).to_owned(),
            DataType::Named(name) => name.clone(),
        }
    }
}

/// Prefix of the names of structures that are declared as classes.
const CLASS: &str = "class.";

/// Returns the name of a structure without [`CLASS`].
fn plain_struct(name: &str) -> &str {
    name.strip_prefix(CLASS).unwrap_or(name)
}

/// Returns the structures of parameters and results of functions.
fn parameter_structs(program: &ShaderProgram) -> Vec<StructId> {
    let mut order = Vec::new();
    for function in program.functions.iter().filter(|function| function.stage.is_none()) {
        let parameters = function.parameters.iter().map(|parameter| &parameter.ty);
        for ty in parameters.chain(&function.result) {
            collect(ty, &program.structs, &mut order, 0);
        }
    }
    order
}

fn capitalised(name: &str) -> String {
    name.rsplit("::").next().unwrap_or(name).to_owned()
}

/// Returns whether a resource is a constant or texture buffer.
pub(super) fn is_constant(resource: &Resource) -> bool {
    matches!(resource.shape, Shape::ConstantBuffer | Shape::TextureBuffer)
}

/// Returns whether the name of a resource conflicts with no other one: that of a constant buffer whose members are global,
/// for DXC.
fn has_own_scope(program: &ShaderProgram, resource: &Resource) -> bool {
    let has_members = matches!(resource.element, Some(DataType::Struct(_))) && !resource.is_object;
    program.model.0 >= 6 && is_constant(resource) && has_members
}

/// Returns the global names of a program that are functions of the language.
pub(super) fn function_names(program: &ShaderProgram) -> BTreeSet<String> {
    let members = program.resources.iter().filter(|resource| is_constant(resource) && !resource.is_object);
    let members = members.filter_map(|resource| match &resource.element {
        Some(DataType::Struct(id)) => program.structs.get(*id),
        _ => None,
    });
    let fields = members.flat_map(|structure| &structure.fields).map(|field| &field.name);
    let names = program.resources.iter().map(|resource| &resource.name).chain(fields);
    names.filter(|name| is_function(name)).cloned().collect()
}

/// Returns the declarations of a program. What has no form is added to `unknown`.
pub(super) fn print(program: &ShaderProgram, naming: &Naming, unknown: &mut Vec<String>) -> Vec<String> {
    let mut lines = Vec::new();
    let payloads = payloads(program);
    let is_payload_type = |id: &StructId| {
        let is_known = |field: &StructField| field.access.is_some();
        payloads.contains(id) || program.structs[*id].fields.iter().any(is_known)
    };
    for id in used_structs(program, naming) {
        let structure = &program.structs[id];
        let is_payload = is_payload_type(&id);
        let attribute = match is_payload {
            true => "[raypayload] ",
            false if tracks_sharing(program, id) => "[NodeTrackRWInputSharing] ",
            false => "",
        };
        let keyword = if structure.name.starts_with(CLASS) { "class" } else { "struct" };
        let base = base(program, id);
        let bases = base.map_or_else(String::new, |base| format!(" : {}", naming.structure(base)));
        lines.push(format!("{keyword} {attribute}{}{bases}", naming.structure(id)));
        lines.push("{".into());
        for (index, field) in structure.fields.iter().enumerate().skip(usize::from(base.is_some())) {
            let semantic =
                field.semantic.as_ref().map_or_else(String::new, |semantic| format!(" : {semantic}"));
            let declared = naming.declare(&field.ty, naming.field(id, index));
            // A structure in a payload says itself who accesses its members.
            let is_plain = !matches!(field.ty.innermost(), DataType::Struct(inner) if is_payload_type(inner));
            let access = match field.access.unwrap_or(ANY_ACCESS) {
                access if is_payload && is_plain => qualifiers(access),
                _ => String::new(),
            };
            lines.push(format!("    {declared}{semantic}{access};"));
        }
        for (name, ty) in naming.member_resources.of(id) {
            let (ty, counts) = resource_struct::declare_type(program, naming, ty, &mut Vec::new());
            lines.push(format!("    {ty} {name}{counts};"));
        }
        lines.push("};".into());
        lines.push(String::new());
    }
    if legacy::is_legacy(program) {
        lines.extend(legacy::resources(program, naming));
    }
    for (id, resource) in program.resources.entries() {
        let is_member = naming.member_resources.contains(id);
        if resource.binding.is_none() || is_member || legacy::is_legacy(program) {
            continue;
        }
        if let Some(variable) = naming.resource_variables.iter().find(|found| found.resources.contains(&id)) {
            // The first of its resources declares the variable.
            if variable.resources.iter().min() == Some(&id) {
                variable.declare(program, naming, &mut lines);
            }
            continue;
        }
        if is_constant(resource) {
            constant_buffer(program, naming, id, &mut lines);
        } else {
            match object(naming, resource) {
                Some(ty) => {
                    let ty = match resource.sequence.filter(|_| naming.is_sequential(id)) {
                        Some(Sequence::Append) => ty.replacen("RW", "Append", 1),
                        Some(Sequence::Consume) => ty.replacen("RW", "Consume", 1),
                        None => ty,
                    };
                    let ty = with_named_element(program, naming, resource, ty, &mut lines);
                    let (suffix, register) = binding(program, naming, id);
                    lines.push(in_namespace(naming.resource(id), |name| {
                        format!("{ty} {name}{suffix}{register};")
                    }));
                }
                None => unknown.push(format!("the resource {}", naming.resource(id))),
            }
        }
    }
    if lines.last().is_some_and(|last| !last.is_empty()) {
        lines.push(String::new());
    }
    let count = lines.len();
    for (id, variable) in program.variables.entries() {
        let name = naming.variable(id);
        match variable.space {
            VariableSpace::Group => {
                lines.push(format!("groupshared {};", naming.declare(&variable.ty, name)));
            }
            VariableSpace::Constant => {
                lines.push(format!("static const {};", initialized(program, naming, id)));
            }
            VariableSpace::Static if is_used(program, id) => {
                lines.push(format!("static {};", initialized(program, naming, id)));
            }
            VariableSpace::Thread | VariableSpace::Static | VariableSpace::Record => {}
        }
    }
    if lines.len() > count {
        lines.push(String::new());
    }
    lines
}

/// Returns the declaration of a variable with its initial value, if it has one.
fn initialized(program: &ShaderProgram, naming: &Naming, id: VariableId) -> String {
    let variable = &program.variables[id];
    let declared = naming.declare(&variable.ty, naming.variable(id));
    if variable.values.is_empty() && variable.space != VariableSpace::Constant {
        return declared;
    }
    let mut values = variable.values.iter().copied();
    let initial = initializer(&variable.ty, &program.structs, &mut values);
    format!("{declared} = {initial}")
}

/// Returns whether a function refers to a variable.
fn is_used(program: &ShaderProgram, id: VariableId) -> bool {
    let number = u64::from(id.number());
    program.functions.iter().any(|shader| {
        let code = &shader.function;
        let used = code.used();
        code.values.entries().any(|(value, found)| {
            found.op == Op::Shader(ShaderOp::Variable)
                && used[value]
                && code.number(code.input(value, 0)) == Some(number)
        })
    })
}

/// Returns whether a structure is a record of which the groups that finished with it are counted.
fn tracks_sharing(program: &ShaderProgram, id: StructId) -> bool {
    let nodes = program.functions.iter().filter_map(|function| function.attributes.node.as_ref());
    let mut ports = nodes.flat_map(|node| node.inputs.iter().chain(&node.outputs));
    ports.any(|port| port.tracks_sharing && port.record == Some(DataType::Struct(id)))
}

/// The access of a member of a payload of which the program says nothing.
const ANY_ACCESS: PayloadAccess = PayloadAccess { readers: 0xf, writers: 0xf };

/// The stages that may access a member of a payload, by the bits of [`PayloadAccess`].
const PAYLOAD_STAGES: [&str; 4] = ["caller", "closesthit", "miss", "anyhit"];

/// Returns the qualifiers of a member of a payload.
fn qualifiers(access: PayloadAccess) -> String {
    let list = |stages: u8| {
        let set = PAYLOAD_STAGES.iter().enumerate().filter(|(index, _)| stages >> index & 1 != 0);
        set.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    };
    format!(" : read({}) : write({})", list(access.readers), list(access.writers))
}

/// Returns the structures that are payloads of rays, from the shader model on in which they say who accesses them.
fn payloads(program: &ShaderProgram) -> Vec<StructId> {
    if program.model < (6, 7) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for function in &program.functions {
        let is_hit = matches!(function.stage, Some(Stage::AnyHit | Stage::ClosestHit | Stage::Miss));
        if let (true, Some(DataType::Struct(id))) =
            (is_hit, function.parameters.first().map(|parameter| &parameter.ty))
        {
            found.push(*id);
        }
        let code = &function.function;
        for (id, value) in code.values.entries() {
            let place = match value.op {
                Op::Shader(ShaderOp::TraceRay | ShaderOp::TraceHit) => code.input(id, 10),
                Op::Shader(ShaderOp::InvokeHit) => code.input(id, 1),
                _ => continue,
            };
            let variable = code.number(code.input(place, 0)).map(|number| VariableId::new(number as u32));
            let ty =
                variable.and_then(|variable| program.variables.get(variable)).map(|variable| &variable.ty);
            if let Some(DataType::Struct(id)) = ty {
                found.push(*id);
            }
        }
    }
    found
}

/// Returns the structure that another one inherits from: its first member has a name of the compiler's own.
fn base(program: &ShaderProgram, id: StructId) -> Option<StructId> {
    let fields = &program.structs.get(id)?.fields;
    let (first, own) = fields.split_first()?;
    let DataType::Struct(base) = first.ty else { return None };
    let inherited = &program.structs.get(base)?.fields;
    // A name that both have would be that of the structure itself.
    let is_hidden = |field: &StructField| own.iter().any(|own| own.name == field.name);
    (first.name == BASE && first.offset == 0 && !inherited.iter().any(is_hidden)).then_some(base)
}

/// Returns the structures that declarations need, each after those that it contains.
fn used_structs(program: &ShaderProgram, naming: &Naming) -> Vec<StructId> {
    let mut order = Vec::new();
    let mut add = |ty: &DataType| collect(ty, &program.structs, &mut order, 0);
    for (id, resource) in program.resources.entries() {
        match &resource.element {
            Some(DataType::Struct(structure)) if naming.has_global_members(id) => {
                for field in &program.structs[*structure].fields {
                    add(&field.ty);
                }
            }
            Some(ty) => add(ty),
            None => {}
        }
    }
    for variable in &program.variables {
        add(&variable.ty);
    }
    for function in &program.functions {
        for parameter in &function.parameters {
            add(&parameter.ty);
        }
        if let Some(result) = &function.result {
            add(result);
        }
        if let Some(payload) = &function.attributes.payload {
            add(payload);
        }
        for port in function.attributes.node.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs)) {
            port.record.iter().for_each(&mut add);
        }
    }
    order
}

fn collect(ty: &DataType, structs: &StructTypes, order: &mut Vec<StructId>, depth: usize) {
    let DataType::Struct(id) = ty.innermost() else { return };
    if order.contains(id) || depth > 32 {
        return;
    }
    for field in structs.get(*id).map_or(&[][..], |structure| &structure.fields) {
        collect(&field.ty, structs, order, depth + 1);
    }
    order.push(*id);
}

/// Prints a constant or texture buffer.
fn constant_buffer(program: &ShaderProgram, naming: &Naming, id: ResourceId, lines: &mut Vec<String>) {
    let resource = &program.resources[id];
    let (suffix, register) = binding(program, naming, id);
    let name = naming.resource(id);
    let word = if resource.shape == Shape::TextureBuffer { "tbuffer" } else { "cbuffer" };
    let members = match &resource.element {
        Some(DataType::Struct(structure)) => Some(*structure),
        _ => None,
    };
    if let (Some(structure), true) = (members, naming.has_global_members(id)) {
        let fields = &program.structs[structure].fields;
        // Uniform parameters of the entry point.
        if is_parameters(program, resource) {
            return;
        }
        let is_named_globals = resource.name == GLOBALS;
        let is_natural = is_natural(fields, &program.structs);
        let registers = is_named_globals.then(|| registers(fields, &program.structs)).flatten();
        // Where no registers give the offsets, the members are in a buffer with a name.
        let has_its_register = program.model >= (6, 0) || !is_named_globals || naming.counted.contains(&id);
        let gaps = if has_its_register { Some(Vec::new()) } else { allocation::gaps_before(program, id) };
        let is_globals = is_named_globals && (is_natural || registers.is_some()) && gaps.is_some();
        for register in gaps.iter().flatten().filter(|_| is_globals) {
            lines.push(format!("cbuffer reserved_b{register} : register(b{register})"));
            lines.extend([
                "{".into(),
                format!("    float4 reserved_b{register}_row;"),
                "};".into(),
                String::new(),
            ]);
        }
        let indent = if is_globals { "" } else { "    " };
        if !is_globals {
            lines.push(format!("{word} {name}{register}"));
            lines.push("{".into());
        }
        for (index, field) in fields.iter().enumerate() {
            // A structure without members takes no place, and has none.
            if !is_natural && Packing::Constant.size(&field.ty, &program.structs) == 0 {
                continue;
            }
            let place = match &registers {
                _ if is_natural => String::new(),
                Some(limit) if is_globals && field.offset >= *limit => String::new(),
                _ if is_globals => format!(" : register(c{})", field.offset / 16),
                _ => packed_at(field.offset),
            };
            let value = match resource.initial_values.get(&field.offset) {
                Some(values) => {
                    format!(" = {}", initializer(&field.ty, &program.structs, &mut values.iter().copied()))
                }
                None => String::new(),
            };
            let text = in_namespace(naming.field(structure, index), |name| {
                format!("{}{place}{value};", naming.declare(&field.ty, name))
            });
            lines.push(format!("{indent}{text}"));
        }
        if !is_globals {
            lines.push("};".into());
        }
        lines.push(String::new());
        return;
    }
    match &resource.element {
        Some(ty) => {
            let object = if word == "cbuffer" { "ConstantBuffer" } else { "TextureBuffer" };
            lines.push(format!("{object}{} {name}{suffix}{register};", template(&naming.type_name(ty))));
        }
        // Without reflection it is rows of words.
        None => {
            lines.push(format!("{word} {name}_buffer{register}"));
            lines.push("{".into());
            lines.push(format!("    uint4 {name}[{}];", resource.size.div_ceil(16).max(1)));
            lines.push("};".into());
        }
    }
    lines.push(String::new());
}

/// Returns a declaration in the namespaces that are in its name, by its name without them.
fn in_namespace(name: &str, declared: impl FnOnce(&str) -> String) -> String {
    let Some((namespaces, name)) = name.rsplit_once("::") else { return declared(name) };
    let namespaces = namespaces.split("::");
    let open: String = namespaces.clone().map(|namespace| format!("namespace {namespace} {{ ")).collect();
    format!("{open}{}{}", declared(name), " }".repeat(namespaces.count()))
}

/// Returns whether a constant buffer is that of the uniform parameters of the entry point.
fn is_parameters(program: &ShaderProgram, resource: &Resource) -> bool {
    // Hull shaders have two functions that may read them.
    program.model < (6, 0) && resource.name == PARAMETERS && program.functions.len() == 1
}

/// Returns the uniform parameters of the entry point, which the compiler puts into a constant buffer.
pub(super) fn uniform_parameters(program: &ShaderProgram, naming: &Naming) -> Vec<String> {
    let mut found = Vec::new();
    for resource in program.resources.iter().filter(|resource| is_parameters(program, resource)) {
        let Some(DataType::Struct(structure)) = resource.element else { continue };
        let fields = program.structs[structure].fields.iter().enumerate();
        found.extend(fields.map(|(index, field)| {
            format!("uniform {}", naming.declare(&field.ty, naming.field(structure, index)))
        }));
    }
    found
}

/// Returns the dimension and the register of a resource.
fn binding(program: &ShaderProgram, naming: &Naming, id: ResourceId) -> (String, String) {
    let resource = &program.resources[id];
    let Some(binding) = resource.binding else { return Default::default() };
    let suffix = match binding.count {
        Some(1) if !resource.is_array => String::new(),
        Some(count) => format!("[{count}]"),
        None => "[]".into(),
    };
    if naming.counted.contains(&id) {
        return (suffix, String::new());
    }
    // Libraries have resources whose register, and perhaps its space, is not assigned yet.
    if binding.register == u32::MAX {
        let is_assigned = binding.space != 0 && binding.space != u32::MAX;
        let space = if is_assigned { format!(" : register(space{})", binding.space) } else { String::new() };
        return (suffix, space);
    }
    let space = if binding.space == 0 { String::new() } else { format!(", space{}", binding.space) };
    (suffix, format!(" : register({}{}{space})", resource.class.letter(), binding.register))
}

/// Returns the type of a resource with the name of a type in place of an array or of the order of a matrix: FXC takes these
/// only by a name, which is declared before.
fn with_named_element(
    program: &ShaderProgram,
    naming: &Naming,
    resource: &Resource,
    ty: String,
    lines: &mut Vec<String>,
) -> String {
    let is_unnamed =
        |ty: &&DataType| matches!(ty, DataType::Matrix { is_row_major: true, .. } | DataType::Array(..));
    let element = resource.element.as_ref().filter(is_unnamed).filter(|_| program.model < (6, 0));
    let Some(element) = element else { return ty };
    let plain = naming.type_name(element);
    let name = plain.replace([' ', '['], "_").replace(']', "");
    let declaration = format!("typedef {};", naming.declare(element, &name));
    if !lines.contains(&declaration) {
        lines.push(declaration);
    }
    ty.replace(&plain, &name)
}

/// Returns the type of a resource that is no constant buffer.
pub(super) fn object(naming: &Naming, resource: &Resource) -> Option<String> {
    let is_written = resource.class == ResourceClass::UnorderedAccess;
    let name = match resource.shape {
        Shape::Buffer => "Buffer",
        Shape::ByteAddressBuffer => "ByteAddressBuffer",
        Shape::StructuredBuffer => "StructuredBuffer",
        Shape::Texture1D => "Texture1D",
        Shape::Texture1DArray => "Texture1DArray",
        Shape::Texture2D => "Texture2D",
        Shape::Texture2DArray => "Texture2DArray",
        Shape::Texture2DMS => "Texture2DMS",
        Shape::Texture2DMSArray => "Texture2DMSArray",
        Shape::Texture3D => "Texture3D",
        Shape::TextureCube => "TextureCube",
        Shape::TextureCubeArray => "TextureCubeArray",
        Shape::FeedbackTexture2D | Shape::FeedbackTexture2DArray => {
            let array = if resource.shape == Shape::FeedbackTexture2DArray { "Array" } else { "" };
            let kind = if resource.tracks_used_regions { "MIP_REGION_USED" } else { "MIN_MIP" };
            return Some(format!("FeedbackTexture2D{array}<SAMPLER_FEEDBACK_{kind}>"));
        }
        Shape::AccelerationStructure => return Some("RaytracingAccelerationStructure".into()),
        Shape::Sampler => return Some("SamplerState".into()),
        Shape::ComparisonSampler => return Some("SamplerComparisonState".into()),
        Shape::ConstantBuffer | Shape::TextureBuffer => return None,
    };
    let order = match (is_written, resource.is_ordered) {
        (true, true) => "RasterizerOrdered",
        (true, false) => "RW",
        _ => "",
    };
    let coherent = match (resource.is_coherent, resource.is_reorder_coherent) {
        // The first includes the second.
        (true, _) => "globallycoherent ",
        (false, true) => "reordercoherent ",
        (false, false) => "",
    };
    let normalized = match resource.is_normalized {
        Some(Signedness::Signed) => "snorm ",
        Some(Signedness::Unsigned) => "unorm ",
        None => "",
    };
    let element = match (&resource.element, resource.shape) {
        (_, Shape::ByteAddressBuffer) => String::new(),
        (Some(ty), _) if resource.shape.is_multisampled() && resource.samples > 0 => {
            format!("<{normalized}{}, {}>", naming.type_name(ty), resource.samples)
        }
        (Some(ty), _) => template(&format!("{normalized}{}", naming.type_name(ty))),
        (None, Shape::StructuredBuffer) => format!("<Words{}>", resource.size / 4),
        (None, _) => "<float4>".into(),
    };
    Some(format!("{coherent}{order}{name}{element}"))
}

/// Returns the declaration of a function whose code is elsewhere.
pub(super) fn prototype(naming: &Naming, function: &ShaderFunction) -> String {
    let numbered = (0..).zip(&function.parameters);
    let parameters: Vec<String> =
        numbered.filter_map(|(index, known)| parameter(naming, known, &format!("argument{index}"))).collect();
    let ((result, counts), name) = (result_type(naming, function), naming.function(&function.name));
    format!("{result} {name}({}){counts};", parameters.join(", "))
}

/// Returns the type of the result of a function, and the dimensions of an array, which follow the parameters.
pub(super) fn result_type(naming: &Naming, function: &ShaderFunction) -> (String, String) {
    let place = function.parameters.iter().find(|parameter| parameter.passing == Passing::Result);
    match place.map(|parameter| &parameter.ty).or(function.result.as_ref()) {
        Some(ty) => {
            let counts = ty.counts().iter().map(|count| format!("[{count}]")).collect();
            (naming.type_name(ty.innermost()), counts)
        }
        None => ("void".into(), String::new()),
    }
}

/// Returns the declaration of a parameter; `None` if it takes the result.
pub(super) fn parameter(naming: &Naming, parameter: &ShaderParameter, name: &str) -> Option<String> {
    let direction = match parameter.passing {
        Passing::Value => "",
        Passing::Reference => "inout ",
        Passing::Result => return None,
    };
    Some(format!("{direction}{}", naming.declare(&parameter.ty, name)))
}

/// Returns an argument of a template in brackets.
pub(super) fn template(argument: &str) -> String {
    let space = if argument.ends_with('>') { " " } else { "" };
    format!("<{argument}{space}>")
}
