//! Arguments and results of entry points, from metadata.
//!
//! A node of an argument is `{index, keyword…, fields…}`, one of a result the same without an index. Keywords that are not in
//! the table below are attributes of the language, such as `air.thread_position_in_grid`.

use super::node::{Item, items};
use super::shared::Shared;
use crate::ir::metal::interface::{Attributed, FunctionKind, MeshOutput, MetalFunction};
use crate::ir::metal::types::{AddressSpace, ValueType};
use unshade_llvm::ids::MetadataId;

/// Keywords of resources, with the attribute that takes the location.
const RESOURCES: [(&str, &str); 8] = [
    ("air.buffer", "buffer"),
    ("air.indirect_buffer", "buffer"),
    ("air.texture", "texture"),
    ("air.sampler", "sampler"),
    ("air.visible_function_table", "buffer"),
    ("air.intersection_function_table", "buffer"),
    ("air.instance_acceleration_structure", "buffer"),
    ("air.primitive_acceleration_structure", "buffer"),
];

/// Inputs that a stage gets from the one before.
const STAGE_INPUTS: [&str; 4] =
    ["air.vertex_input", "air.fragment_input", "air.position", "air.render_target_array_index"];

/// How values are interpolated, if it is not the default: keywords and the attribute.
const INTERPOLATION: [(&[&str], &str); 6] = [
    (&["air.flat"], "flat"),
    (&["air.center", "air.no_perspective"], "center_no_perspective"),
    (&["air.centroid", "air.perspective"], "centroid_perspective"),
    (&["air.centroid", "air.no_perspective"], "centroid_no_perspective"),
    (&["air.sample", "air.perspective"], "sample_perspective"),
    (&["air.sample", "air.no_perspective"], "sample_no_perspective"),
];

/// The type of a texture whose values no code reads.
const ACCESSES: [(&str, &str); 3] =
    [("write", "access::write"), ("read_write", "access::read_write"), ("read", "access::read")];

impl<'m> Shared<'m, '_> {
    /// Describes the parameters of an entry point.
    pub(super) fn describe_arguments(&mut self, function: &mut MetalFunction, node: MetadataId) {
        for item in items(self.module, node) {
            let Some(node) = item.node() else { continue };
            let items = items(self.module, node);
            let index = items.first().and_then(|item| item.number());
            let Some(index) = index.map(|index| index as usize) else { continue };
            if index < function.parameters.len() {
                self.describe_argument(function, index, &items);
            }
        }
    }

    fn describe_argument(&mut self, function: &mut MetalFunction, index: usize, items: &[Item<'m>]) {
        let text_after = |word: &str| {
            let at = items.iter().position(|item| *item == Item::Text(word))?;
            items.get(at + 1)?.text()
        };
        let has = |word: &str| items.contains(&Item::Text(word));
        let type_name = text_after("air.arg_type_name").unwrap_or_default();
        let name = text_after("air.arg_name").unwrap_or_default().to_owned();
        let is_fragment = function.kind == Some(FunctionKind::Fragment);
        let parameter = &mut function.parameters[index];
        parameter.name = name;
        if let Some((word, attribute)) = RESOURCES.iter().find(|row| has(row.0)) {
            let space = match self.program.types.pointee(parameter.ty) {
                Some((AddressSpace::Threadgroup, _)) => "threadgroup",
                _ => attribute,
            };
            parameter.attribute = format!("{space}({})", location(items));
            if *attribute == "buffer" && word.ends_with("buffer") {
                parameter.is_reference = has("air.buffer_size") && is_one(items);
                parameter.is_read_only = has("air.read");
                self.describe_buffer(function, index, type_name, items);
            } else {
                parameter.type_name = resource_type(type_name);
            }
        } else if let Some(keyword) =
            items.iter().filter_map(|item| item.text()).find(|word| STAGE_INPUTS.contains(word))
        {
            parameter.is_stage_input = true;
            parameter.attribute = stage_attribute(keyword, items);
            if !is_fragment && keyword == "air.position" {
                parameter.is_stage_input = false;
            }
            parameter.ty = self.with_name(parameter.ty, type_name);
        } else {
            let keyword = items.iter().skip(1).find_map(|item| item.text()).unwrap_or_default();
            parameter.attribute = keyword.strip_prefix("air.").unwrap_or(keyword).to_owned();
            if parameter.attribute == "mesh" {
                parameter.attribute.clear();
                parameter.type_name = mesh_type(type_name);
                let node = items.iter().find_map(|item| item.node());
                function.mesh = node.map(|node| self.mesh_output(node));
            } else {
                parameter.ty = self.with_name(parameter.ty, type_name);
            }
        }
        self.add_predicate(function, index, items);
    }

    /// Returns the members of what a mesh function writes.
    fn mesh_output(&self, node: MetadataId) -> MeshOutput {
        let lists: Vec<MetadataId> =
            items(self.module, node).into_iter().filter_map(|item| item.node()).collect();
        let members = |list: Option<&MetadataId>| -> Vec<Attributed> {
            let nodes = list.map(|list| items(self.module, *list)).unwrap_or_default();
            nodes.into_iter().filter_map(|item| item.node()).map(|node| self.output(node)).collect()
        };
        MeshOutput { vertex: members(lists.first()), primitive: members(lists.get(1)) }
    }

    /// Describes one result.
    fn output(&self, node: MetadataId) -> Attributed {
        let items = items(self.module, node);
        let text_after = |word: &str| {
            let at = items.iter().position(|item| *item == Item::Text(word))?;
            items.get(at + 1)?.text().map(str::to_owned)
        };
        let keyword =
            items.iter().filter_map(|item| item.text()).find(|word| *word != "air.function_constant");
        Attributed {
            name: text_after("air.arg_name").unwrap_or_default(),
            type_name: text_after("air.arg_type_name").unwrap_or_default(),
            attribute: output_attribute(keyword.unwrap_or_default(), &items),
        }
    }

    /// Adds the function constant that decides whether an argument exists.
    fn add_predicate(&mut self, function: &mut MetalFunction, index: usize, items: &[Item<'m>]) {
        let at = items.iter().position(|item| *item == Item::Text("air.function_constant"));
        let Some(Item::Node(predicate)) = at.and_then(|at| items.get(at + 1)) else { return };
        let names: Vec<&str> =
            super::node::items(self.module, *predicate).iter().filter_map(|item| item.text()).collect();
        if let Some(name) = names.last() {
            let attribute = &mut function.parameters[index].attribute;
            let separator = if attribute.is_empty() { "" } else { ", " };
            attribute.push_str(&format!("{separator}function_constant({name})"));
        }
    }

    fn describe_buffer(
        &mut self,
        function: &mut MetalFunction,
        index: usize,
        type_name: &str,
        items: &[Item<'m>],
    ) {
        let ty = function.parameters[index].ty;
        let Some((space, pointee)) = self.program.types.pointee(ty) else { return };
        let at = items.iter().position(|item| *item == Item::Text("air.struct_type_info"));
        if let Some(Item::Node(node)) = at.and_then(|at| items.get(at + 1)) {
            self.describe(pointee, type_name, *node, 0);
        }
        let named = self.with_name(pointee, type_name);
        function.parameters[index].ty = self.program.types.intern(ValueType::Pointer(space, named));
    }

    /// Describes the results of an entry point.
    pub(super) fn describe_outputs(&mut self, function: &mut MetalFunction, node: MetadataId) {
        for item in items(self.module, node) {
            let Some(node) = item.node() else { continue };
            function.outputs.push(self.output(node));
        }
        // Signs of members.
        if let ValueType::Struct(number) = self.program.types.get(function.result) {
            let count = self.program.types.structs[number as usize].fields.len().min(function.outputs.len());
            for index in 0..count {
                let field = self.program.types.structs[number as usize].fields[index].ty;
                let signed = self.with_name(field, &function.outputs[index].type_name.clone());
                let field = &mut self.program.types.structs[number as usize].fields[index];
                field.ty = signed;
                field.name.clone_from(&function.outputs[index].name);
            }
        } else if let [output] = &function.outputs[..] {
            function.result = self.with_name(function.result, &output.type_name.clone());
        }
    }

    /// Describes further properties of an entry point.
    pub(super) fn describe_properties(&mut self, function: &mut MetalFunction, nodes: &[MetadataId]) {
        for node in nodes {
            match items(self.module, *node)[..] {
                [Item::Text("air.max_work_group_size"), Item::Number(threads), ..] => {
                    function.attributes.push(format!("max_total_threads_per_threadgroup({threads})"));
                }
                [Item::Text("early_fragment_tests"), ..] => {
                    function.attributes.push("early_fragment_tests".to_owned());
                }
                _ => {}
            }
        }
        let size = self.string_attribute(function.number as usize, b"max-work-group-size");
        if let Some(threads) = size.and_then(|size| std::str::from_utf8(size).ok())
            && function.attributes.is_empty()
        {
            function.attributes.push(format!("max_total_threads_per_threadgroup({threads})"));
        }
    }
}

/// Returns the number of the first location of a node.
fn location(items: &[Item<'_>]) -> u32 {
    let at = items.iter().position(|item| *item == Item::Text("air.location_index"));
    at.and_then(|at| items.get(at + 1)?.number()).unwrap_or(0)
}

/// Returns whether the memory of a buffer is one value of its type: else it is an array.
fn is_one(items: &[Item<'_>]) -> bool {
    let number_after = |word: &str| {
        let at = items.iter().position(|item| *item == Item::Text(word))?;
        items.get(at + 1)?.number()
    };
    number_after("air.buffer_size") == number_after("air.arg_type_size")
}

/// Returns the type of a resource: `texture2d<float, sample>` is `texture2d<float>`.
fn resource_type(name: &str) -> String {
    let Some((start, access)) = name.strip_suffix('>').and_then(|name| name.rsplit_once(", ")) else {
        return name.to_owned();
    };
    if access == "sample" {
        return format!("{start}>");
    }
    match ACCESSES.iter().find(|row| row.0 == access) {
        Some((_, access)) => format!("{start}, {access}>"),
        None => name.to_owned(),
    }
}

/// Returns the type of a mesh: `mesh<V, P, 3, 1, triangle>` has a topology at the end.
fn mesh_type(name: &str) -> String {
    match name.rsplit_once(", ") {
        Some((start, topology)) if name.starts_with("mesh<") => format!("{start}, topology::{topology}"),
        _ => name.to_owned(),
    }
}

/// Returns the attribute of a member of the structure of inputs.
fn stage_attribute(keyword: &str, items: &[Item<'_>]) -> String {
    match keyword {
        "air.vertex_input" => format!("attribute({})", location(items)),
        "air.fragment_input" => {
            let user = items.iter().filter_map(|item| item.text()).find(|text| text.starts_with("user("));
            let has = |word: &&str| items.contains(&Item::Text(word));
            let kind = INTERPOLATION.iter().find(|row| row.0.iter().all(has)).map(|row| row.1);
            let parts: Vec<&str> = user.into_iter().chain(kind).collect();
            parts.join(", ")
        }
        keyword => keyword.strip_prefix("air.").unwrap_or(keyword).to_owned(),
    }
}

/// Returns the attribute of a result.
fn output_attribute(keyword: &str, items: &[Item<'_>]) -> String {
    let texts = || items.iter().filter_map(|item| item.text());
    match keyword {
        "air.vertex_output" | "air.mesh_vertex_data" | "air.mesh_primitive_data" | "air.primitive_data" => {
            texts().find(|text| text.starts_with("user(")).unwrap_or_default().to_owned()
        }
        "air.render_target" => {
            let numbers: Vec<u32> = items.iter().filter_map(|item| item.number()).collect();
            match numbers[..] {
                [color, index, ..] if index > 0 => format!("color({color}), index({index})"),
                [color, ..] => format!("color({color})"),
                [] => "color(0)".to_owned(),
            }
        }
        "air.depth" => {
            let kind = texts().find(|text| matches!(*text, "air.any" | "air.greater" | "air.less"));
            format!("depth({})", kind.map_or("any", |kind| &kind[4..]))
        }
        "air.position" if texts().any(|text| text == "air.invariant") => "position, invariant".to_owned(),
        keyword => keyword.strip_prefix("air.").unwrap_or(keyword).to_owned(),
    }
}
