//! Declarations: structures, variables, parameters and results with their attributes.

use super::names::Names;
use super::spelling::{kind, literal};
use crate::ir::TypeId;
use crate::ir::metal::interface::{FunctionKind, Global, GlobalKind, Initial, MetalFunction, MetalProgram};
use crate::ir::metal::types::{AddressSpace, TypeTable, ValueType};
use std::collections::{BTreeMap, BTreeSet};

/// The most numbers on a line of an initial value.
const NUMBERS: usize = 16;

/// The types and variables that functions use, and so the text declares.
#[derive(Debug, Default)]
pub(super) struct UsedTypes {
    /// Numbers of structures, in the order in which they are declared.
    structs: Vec<(u32, TypeId)>,
    seen: BTreeSet<u32>,
    /// Vectors that have more lanes than those of the library, and structures whose members nothing knows.
    wide: BTreeSet<TypeId>,
    opaque: BTreeSet<TypeId>,
    /// Numbers of variables.
    pub(super) globals: BTreeSet<usize>,
    /// Names of types of memory that other types share, with the types.
    pub(super) aliases: BTreeMap<String, String>,
    /// Headers of the library.
    pub(super) includes: BTreeSet<&'static str>,
}

impl UsedTypes {
    /// Adds the structures of a type, those that it contains first.
    pub(super) fn add(&mut self, types: &TypeTable, ty: TypeId) {
        self.add_at(types, ty, 0);
    }

    fn add_at(&mut self, types: &TypeTable, ty: TypeId, depth: u32) {
        if depth > 64 {
            return;
        }
        match types.get(ty) {
            ValueType::Vector(_, lanes) if lanes > 4 && lanes != 64 => {
                self.wide.insert(ty);
            }
            ValueType::Named(_) if super::spelling::handle(types, ty).is_none() => {
                self.opaque.insert(ty);
            }
            ValueType::Array(inner, _) | ValueType::Vector(inner, _) | ValueType::Pointer(_, inner) => {
                self.add_at(types, inner, depth + 1);
            }
            ValueType::Struct(number) if self.seen.insert(number) => {
                if let Some(structure) = types.structs.get(number as usize) {
                    for field in &structure.fields {
                        self.add_at(types, field.ty, depth + 1);
                    }
                }
                self.structs.push((number, ty));
            }
            _ => {}
        }
    }
}

/// The names of a program.
pub(super) struct Naming {
    /// Of structures, by number.
    pub(super) structs: Vec<String>,
    /// Of the members of structures.
    pub(super) members: Vec<Vec<String>>,
    /// Of variables.
    pub(super) globals: Vec<String>,
    /// Of functions.
    pub(super) functions: Vec<String>,
    /// The structures that are results of entry points, with their function.
    results: Vec<(u32, usize)>,
}

impl Naming {
    /// Names what a program has.
    pub(super) fn new(program: &MetalProgram, names: &mut Names) -> Self {
        // Entry points keep their names.
        let mut functions = vec![String::new(); program.functions.len()];
        let is_entry = |function: &MetalFunction| function.kind.is_some() || function.is_declared;
        for entries in [true, false] {
            for (name, function) in functions.iter_mut().zip(&program.functions) {
                if is_entry(function) == entries {
                    let plain = if entries { function.name.as_str() } else { plain_name(&function.name) };
                    *name = names.take(plain);
                }
            }
        }
        let types = &program.types;
        let mut results = Vec::new();
        for (index, function) in program.functions.iter().enumerate() {
            if let ValueType::Struct(number) = types.get(function.result)
                && function.outputs.len() == types.structs[number as usize].fields.len()
                && !function.outputs.is_empty()
            {
                results.push((number, index));
            }
        }
        let structs = types.structs.iter().enumerate().map(|(number, structure)| {
            let result = results.iter().find(|row| row.0 as usize == number);
            let wanted = match (structure.name.as_str(), result) {
                (_, Some(result)) => format!("{}_out", functions[result.1]),
                ("", _) => "Struct".to_owned(),
                (name, _) => name.to_owned(),
            };
            names.take(&wanted)
        });
        let structs = structs.collect();
        let members = types.structs.iter().map(|structure| {
            let mut names = Names::members();
            let fields = structure.fields.iter().enumerate();
            fields
                .map(|(index, field)| match field.name.as_str() {
                    "" => names.take(&format!("m{index}")),
                    name => names.take(name),
                })
                .collect()
        });
        let members = members.collect();
        let globals = program.globals.iter().map(|global| names.take(&global.name)).collect();
        Self { structs, members, globals, functions, results }
    }

    /// Returns the declarations of structures and variables that functions use.
    pub(super) fn declarations(
        &self,
        program: &MetalProgram,
        used: &UsedTypes,
        unknown: &mut Vec<String>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let types = &program.types;
        lines.extend(used.wide.iter().flat_map(|ty| self.wide_vectors(types, *ty)));
        lines.extend(used.opaque.iter().map(|ty| format!("struct {};", self.type_name(types, *ty, false))));
        if !lines.is_empty() {
            lines.push(String::new());
        }
        for &(number, ty) in &used.structs {
            if self.library_name(types, ty).is_some() {
                continue;
            }
            let structure = &types.structs[number as usize];
            lines.push(format!("struct {}", self.structs[number as usize]));
            lines.push("{".into());
            let result = self.results.iter().find(|row| row.0 == number).map(|row| &program.functions[row.1]);
            for (index, field) in structure.fields.iter().enumerate() {
                let name = &self.members[number as usize][index];
                let attribute =
                    result.map(|function| function.outputs[index].attribute.as_str()).unwrap_or_default();
                let attribute =
                    if attribute.is_empty() { String::new() } else { format!(" [[{attribute}]]") };
                lines.push(format!("    {}{attribute};", self.declare_field(types, field.ty, name)));
            }
            let is_padded = structure.is_packed && result.is_none() && has_padding(types, &structure.fields);
            lines.push(if is_padded { "} __attribute__((packed));".into() } else { "};".into() });
            lines.push(String::new());
        }
        let mut has_globals = false;
        for &number in &used.globals {
            let Some(global) = program.globals.get(number) else { continue };
            lines.extend(self.global(types, global, &self.globals[number], unknown));
            has_globals |= global.kind != GlobalKind::Threadgroup;
        }
        if has_globals {
            lines.push(String::new());
        }
        lines
    }

    fn declare_field(&self, types: &TypeTable, ty: TypeId, name: &str) -> String {
        match types.pointee(ty) {
            Some((space, pointee)) => self.declare_pointer(types, space, pointee, false, name),
            None => self.declare(types, ty, name),
        }
    }

    fn global(
        &self,
        types: &TypeTable,
        global: &Global,
        name: &str,
        unknown: &mut Vec<String>,
    ) -> Option<String> {
        match &global.kind {
            // Those are variables of the functions that use them.
            GlobalKind::Threadgroup => None,
            GlobalKind::FunctionConstant(index) => {
                let declared = self.declare(types, global.ty, name);
                Some(format!("constant {declared} [[function_constant({index})]];"))
            }
            GlobalKind::Sampler(words) => {
                Some(format!("constexpr sampler {name}{};", super::texture::sampler(words)))
            }
            GlobalKind::Constant(value) => {
                let mut texts = Vec::new();
                let is_whole = self.initial(types, value, global.ty, &mut texts, 0);
                if !is_whole {
                    unknown.push(format!("the initial value of {name}"));
                }
                let declared = self.declare(types, global.ty, name);
                Some(format!("constant {declared} = {};", texts.concat()))
            }
        }
    }

    /// Appends an initial value. Returns whether it has a form.
    fn initial(
        &self,
        types: &TypeTable,
        value: &Initial,
        ty: TypeId,
        out: &mut Vec<String>,
        depth: u32,
    ) -> bool {
        let scalar = types.get(ty);
        match value {
            _ if depth > 32 => false,
            Initial::Number(number) => {
                out.push(literal(*number, scalar, kind(scalar)));
                true
            }
            Initial::Zero => {
                let is_number = !matches!(
                    scalar,
                    ValueType::Array(..)
                        | ValueType::Struct(_)
                        | ValueType::Vector(..)
                        | ValueType::Pointer(..)
                );
                out.push(if is_number { literal(0, scalar, kind(scalar)) } else { "{}".into() });
                true
            }
            Initial::Unknown => {
                out.push("{}".into());
                false
            }
            Initial::List(parts) => {
                out.push("{".into());
                let mut is_whole = true;
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        let is_break = index % NUMBERS == 0 && matches!(part, Initial::Number(_));
                        out.push(if is_break { ",\n    ".into() } else { ", ".into() });
                    }
                    let inner = match scalar {
                        ValueType::Array(element, _) | ValueType::Vector(element, _) => element,
                        ValueType::Struct(number) => types.structs[number as usize]
                            .fields
                            .get(index)
                            .map_or(TypeId::NONE, |field| field.ty),
                        _ => TypeId::NONE,
                    };
                    is_whole &= self.initial(types, part, inner, out, depth + 1);
                }
                out.push("}".into());
                is_whole
            }
        }
    }

    /// Returns the first line of a function; `read_only` says which parameters nothing is written through.
    pub(super) fn prototype(&self, program: &MetalProgram, index: usize, read_only: &[bool]) -> String {
        let function = &program.functions[index];
        let mut names = Names::global();
        let parameters: Vec<String> = function
            .parameters
            .iter()
            .enumerate()
            .map(|(number, parameter)| {
                let name = names.take(if parameter.name.is_empty() { "a" } else { &parameter.name });
                self.parameter(program, index, number, &name, read_only.get(number) == Some(&true))
            })
            .collect();
        let head = self.head(program, function, &self.functions[index]);
        // Functions of the compiler have names that are no identifiers. Those of other modules have their symbols.
        let (linkage, label) = match (function.is_declared, is_intrinsic(&function.name)) {
            (true, true) => ("", format!(" __asm(\"{}\")", function.name.escape_debug())),
            (true, false) => ("extern \"C\" ", String::new()),
            (false, _) => ("", String::new()),
        };
        format!("{linkage}{head}({}){label};", parameters.join(", "))
    }

    /// Returns attributes, result and name of a function.
    pub(super) fn head(&self, program: &MetalProgram, function: &MetalFunction, name: &str) -> String {
        let kind = match function.kind {
            Some(FunctionKind::Kernel) => "kernel ",
            Some(FunctionKind::Vertex) => "vertex ",
            Some(FunctionKind::Fragment) => "fragment ",
            Some(FunctionKind::Visible) => "[[visible]] ",
            Some(FunctionKind::Intersection) => "[[intersection]] ",
            Some(FunctionKind::Mesh) => "[[mesh]] ",
            Some(FunctionKind::Object) => "[[object]] ",
            None => "",
        };
        let mut attributes: String = function.attributes.iter().map(|text| format!("[[{text}]]\n")).collect();
        // Pipelines find entry points by their names.
        if function.kind.is_some() && name != function.name {
            attributes.push_str(&format!("[[host_name(\"{}\")]]\n", function.name.escape_debug()));
        }
        let result = match program.types.pointee(function.result) {
            Some((space, pointee)) => self.pointer_name(&program.types, space, pointee, false),
            None => self.type_name(&program.types, function.result, false),
        };
        format!("{attributes}{kind}{result} {name}")
    }

    /// Returns a parameter with its attribute.
    pub(super) fn parameter(
        &self,
        program: &MetalProgram,
        function: usize,
        number: usize,
        name: &str,
        is_const: bool,
    ) -> String {
        let parameter = &program.functions[function].parameters[number];
        let types = &program.types;
        let attribute = if parameter.attribute.is_empty() {
            String::new()
        } else {
            format!(" [[{}]]", parameter.attribute)
        };
        if !parameter.type_name.is_empty() {
            return format!("{} {name}{attribute}", parameter.type_name);
        }
        match types.pointee(parameter.ty) {
            Some((space, pointee)) if parameter.is_reference => {
                let target = self.type_name(types, pointee, false);
                let is_const = if is_const && space != AddressSpace::Constant { "const " } else { "" };
                format!("{is_const}{} {target}& {name}{attribute}", super::spelling::space(space))
            }
            Some((space, pointee)) => {
                format!("{}{attribute}", self.declare_pointer(types, space, pointee, is_const, name))
            }
            None => format!("{} {name}{attribute}", self.type_name(types, parameter.ty, false)),
        }
    }
}

/// Returns whether a function is one of the compiler, whose meaning it knows by the name.
pub(super) fn is_intrinsic(name: &str) -> bool {
    name.contains('.')
}

/// Returns the name of a type that may share memory with other types.
pub(super) fn alias(ty: &str) -> String {
    let words = ty.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    format!("{}_alias", words.collect::<Vec<_>>().join("_"))
}

/// Returns whether members of a structure would not follow each other without being packed.
fn has_padding(types: &TypeTable, fields: &[crate::ir::metal::types::Field]) -> bool {
    let mut end = 0_u64;
    let mut most = 1;
    for field in fields {
        let alignment = types.alignment(field.ty).max(1);
        if !end.is_multiple_of(alignment) {
            return true;
        }
        end = end.saturating_add(types.size(field.ty));
        most = most.max(alignment);
    }
    !end.is_multiple_of(most)
}

/// Returns the plain name of a function with a mangled name.
fn plain_name(symbol: &str) -> &str {
    crate::air::plain_name(symbol)
}
