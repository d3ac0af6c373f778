//! The reflection of a module's functions, from its `!air` metadata: what Apple's linker writes for them.
//!
//! Every entry point is a node of a named list, `!{function, !returns, !arguments, attributes…}`. An argument is
//! `!{index, keyword…, fields…}`, a return value the same without an index. Keywords and fields have the names of the
//! reflection's nodes and slots but for a few, so that this module only has to know which field follows which word
//! (`keys`).
//!
//! | list | functions |
//! |---|---|
//! | `air.kernel`, `air.vertex`, `air.fragment` | those of a pipeline |
//! | `air.mesh`, `air.object` | mesh shaders |
//! | `air.intersection`, `air.visible` | those in tables |
//!
//! ```
//! use unshade_air::entry::{Access, Argument, Signature};
//! use unshade_air::reflection;
//! use unshade_air::shader::Shader;
//! use unshade_air::types::MetalType;
//! use unshade_metallib::{Platform, reflection::Reflection, target::Target};
//!
//! let data = Argument::device(0, MetalType::FLOAT, Access::ReadWrite);
//! let signature = Signature::kernel("scale").argument("data", data);
//! let mut shader = Shader::new(Target { platform: Platform::MACOS, os: (14, 0, 0) }, &signature)?;
//! let mut body = shader.body()?;
//! body.ret_void()?;
//! body.finish()?;
//! let bitcode = shader.finish()?.write()?;
//!
//! let module = unshade_llvm::Module::parse(&bitcode, 0)?;
//! let converted = reflection::of_module(&module, reflection::LATEST)?;
//! assert!(converted.findings.is_empty());
//! let bytes = converted.root.write()?;
//! let function = Reflection::parse(&bytes)?.function(b"scale")?.expect("it is there");
//! assert_eq!(function.arguments[0].name, Some(&b"data"[..]));
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! Knowledge: the metadata and the reflection of 36,239 kernels of Apple's compilers, which agree to the byte; the
//! grammar of argument nodes of 824,839 arguments; the names of the reflection's schema for what those do not have.

mod difference;
mod function;
mod items;
mod keys;
mod structures;
mod version;

pub use difference::{Difference, difference};
pub use function::Source;
pub use version::{oldest_version, version_for};

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use items::{Item, Items};
use keys::{Form, KEYS, Key};
use unshade_core::{Diagnostics, Error, ErrorKind, Result};
use unshade_llvm::Module;
use unshade_llvm::ids::MetadataId;
use unshade_llvm::value::ValueKind;
use unshade_metallib::reflection::NodeId;
use unshade_metallib::reflection::schema::{self, FieldKind, NodeType, PrimitiveKind, Version};
use unshade_metallib::reflection::tables::{OwnedTable, Value};

/// The version of the schema that Apple's linkers write since AIR 2.6.
pub const LATEST: Version = Version { major: 0, minor: 4, sub_minor: 0 };

/// The named lists of functions, the type of their nodes, and the list of the reflection.
const LISTS: &[(&[u8], NodeType, &str)] = &[
    (b"air.fragment", NodeType::FRAGMENT_FUNCTION, "fragment_functions"),
    (b"air.intersection", NodeType::INTERSECTION_FUNCTION, "intersection_functions"),
    (b"air.kernel", NodeType::KERNEL_FUNCTION, "kernel_functions"),
    (b"air.vertex", NodeType::VERTEX_FUNCTION, "vertex_functions"),
    (b"air.visible", NodeType::VISIBLE_FUNCTION, "visible_functions"),
    (b"air.mesh", NodeType::MESH_FUNCTION, "mesh_functions"),
    (b"air.object", NodeType::OBJECT_FUNCTION, "object_functions"),
];

/// The words for how a value is interpolated.
const INTERPOLATION: &[&[u8]] =
    &[b"center", b"centroid", b"sample", b"perspective", b"flat", b"no_perspective"];

/// The most nodes of a reflection: structures may be shared many times by a hostile module.
const MAX_NODES: usize = 1 << 16;

/// A reflection made of metadata.
#[derive(Debug)]
#[non_exhaustive]
pub struct Converted<'m> {
    /// The root of the reflection.
    pub root: OwnedTable<'m>,
    /// What the metadata has that the reflection can't express.
    pub findings: Diagnostics,
    /// The names of the function constants that arguments and results depend on, by their nodes. Reflections have none.
    pub predicates: BTreeMap<NodeId, &'m [u8]>,
}

/// Converts the metadata of a module's functions to a reflection of a version.
///
/// # Errors
/// If the reflection would have more nodes than a real one.
pub fn of_module<'m>(module: &'m Module<'_>, version: Version) -> Result<Converted<'m>> {
    let mut converter = Converter {
        module,
        nodes: Vec::new(),
        findings: Diagnostics::new(),
        predicates: BTreeMap::new(),
        structures: BTreeMap::new(),
        depth: 0,
    };
    let mut root = OwnedTable::new(&schema::ROOT);
    root.set("version", Value::Version(version))?;
    for &(list, kind, slot) in LISTS {
        let mut functions = Vec::new();
        for &node in module.named(list) {
            functions.extend(converter.function(node, kind)?);
        }
        if !functions.is_empty() {
            root.set(slot, Value::Nodes(functions))?;
        }
    }
    let mut constants = Vec::new();
    for &node in module.named(b"air.function_constants") {
        constants.extend(converter.function_constant(node)?);
    }
    if !constants.is_empty() {
        root.set("function_constants", Value::Nodes(constants))?;
    }
    let allocations = converter.local_allocations()?;
    if !allocations.is_empty() {
        root.set("static_local_allocations", Value::Tables(allocations))?;
    }
    if !converter.nodes.is_empty() {
        root.set("nodes", Value::Tables(converter.nodes))?;
    }
    Ok(Converted { root, findings: converter.findings, predicates: converter.predicates })
}

/// The state of a conversion.
struct Converter<'m, 'a> {
    module: &'m Module<'a>,
    nodes: Vec<OwnedTable<'m>>,
    findings: Diagnostics,
    predicates: BTreeMap<NodeId, &'m [u8]>,
    /// The nodes of the structures that were converted.
    structures: BTreeMap<MetadataId, NodeId>,
    /// How deep structures nest.
    depth: u32,
}

impl<'m, 'a> Converter<'m, 'a> {
    /// Adds a node, whose number is that of its place among the nodes. What it refers to follows it.
    fn add(&mut self, kind: NodeType) -> Result<NodeId> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Error::without_offset(ErrorKind::Limit, "metadata of functions has too many parts"));
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(OwnedTable::of_node(kind)?);
        Ok(id)
    }

    /// Sets a field of a node.
    fn set(&mut self, id: NodeId, slot: &str, value: Value<'m>) -> Result<()> {
        match self.nodes.get_mut(id.0 as usize) {
            Some(node) => node.set(slot, value),
            None => Ok(()),
        }
    }

    /// Reports what can't be expressed.
    fn report(&mut self, message: &'static str, found: &[u8]) {
        let found = String::from_utf8_lossy(found).into_owned();
        self.findings.error("air-metadata", Error::without_offset(ErrorKind::BadValue, message).found(found));
    }

    /// Converts a function: `!{function, !returns, !arguments, attributes…}`.
    fn function(&mut self, node: MetadataId, kind: NodeType) -> Result<Option<NodeId>> {
        let Some(mut items) = Items::of(self.module, node) else { return Ok(None) };
        let symbol = match items.take() {
            Some(Item::Value(value)) => match self.module.value(None, value).map(|value| value.kind) {
                Some(ValueKind::Function(index)) => self.module.functions.get(index as usize),
                _ => None,
            },
            _ => None,
        };
        let Some(symbol) = symbol else {
            self.report("a list of functions has what is no function", b"");
            return Ok(None);
        };
        let id = self.add(kind)?;
        self.set(id, "name", Value::Text(symbol.symbol.name.as_slice().into()))?;
        for (slot, is_return) in [("return_types", true), ("arguments", false)] {
            let Some(list) = items.node() else { break };
            let mut values = Vec::new();
            let mut list = Items::of(self.module, list);
            while let Some(item) = list.as_mut().and_then(Items::take) {
                if let Item::Node(node) = item {
                    values.extend(self.value(node, is_return)?);
                }
            }
            if !values.is_empty() && self.has_slot(id, slot) {
                self.set(id, slot, Value::Nodes(values))?;
            }
        }
        self.attributes(id, items)?;
        Ok(Some(id))
    }

    /// Converts the attributes of a function: nodes of a word and numbers, or bare words.
    fn attributes(&mut self, id: NodeId, mut items: Items<'m, 'a>) -> Result<()> {
        while let Some(item) = items.take() {
            match item {
                Item::Node(node) => {
                    let Some(mut parts) = Items::of(self.module, node) else { continue };
                    match parts.text() {
                        Some(word) => self.attribute(id, word, parts)?,
                        None => self.report("an attribute of a function has no name", b""),
                    }
                }
                Item::Text(word) => self.attribute(id, word, items)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Converts an attribute and the numbers after it.
    fn attribute(&mut self, id: NodeId, word: &'m [u8], mut parts: Items<'m, 'a>) -> Result<()> {
        let name = word.strip_prefix(b"air.").unwrap_or(word);
        let (kind, slot) = match name {
            b"max_work_group_size" => (NodeType::WORKGROUP_MAX_SIZE_FN_ATTR, "workgroup_max_size"),
            b"work_group_size" | b"reqd_work_group_size" => {
                (NodeType::WORKGROUP_SIZE_FN_ATTR, "workgroup_size")
            }
            b"work_group_size_hint" => (NodeType::WORKGROUP_SIZE_HINT_FN_ATTR, "workgroup_size_hint"),
            b"max_mesh_work_groups" => (NodeType::MAX_MESH_WORKGROUPS_FN_ATTR, "max_mesh_workgroups"),
            b"vec_type_hint" => (NodeType::VEC_TYPE_HINT_FN_ATTR, "vec_type_hint"),
            b"patch" => (NodeType::PATCH_FN_ATTR, "patch"),
            b"user_annotation" => (NodeType::USER_ANNOTATION_FN_ATTR, "user_annotation"),
            b"early_fragment_tests" if self.has_slot(id, "early_fragment_tests") => {
                return self.set(id, "early_fragment_tests", Value::Bool(true));
            }
            _ => return self.bare_attribute(id, name),
        };
        if !self.has_slot(id, slot) {
            self.report("a function of this kind has no such attribute", word);
            return Ok(());
        }
        let attribute = self.add(kind)?;
        let slots = kind.schema().map_or(&[][..], |schema| schema.table.slots);
        for part in slots {
            // A number may follow a word of its own.
            let is_number = matches!(part.kind, FieldKind::UIntValue | FieldKind::U32);
            if is_number && matches!(parts.peek(), Some(Item::Text(word)) if word.starts_with(b"air.")) {
                parts.take();
            }
            match (part.kind, parts.peek()) {
                (FieldKind::UIntValue | FieldKind::U32, Some(Item::Number(number))) => {
                    self.set(attribute, part.name, Value::Number(number))?;
                }
                (FieldKind::Text, Some(Item::Text(text))) => {
                    self.set(attribute, part.name, Value::Text(text.into()))?;
                }
                (FieldKind::Enum(names), Some(Item::Text(text))) => {
                    let text = text.strip_prefix(b"air.").unwrap_or(text);
                    let named =
                        |value: &u8| (names.value_name)(*value).is_some_and(|name| name.as_bytes() == text);
                    match (0..=u8::MAX).find(named) {
                        Some(value) => self.set(attribute, part.name, Value::Enum(value))?,
                        None => self.report("an attribute has an unknown value", text),
                    }
                }
                _ => break,
            }
            parts.take();
        }
        self.set(id, slot, Value::Node(attribute))
    }

    /// Converts the attribute of an intersection function that is a word of its own.
    fn bare_attribute(&mut self, id: NodeId, name: &'m [u8]) -> Result<()> {
        let text = core::str::from_utf8(name).unwrap_or_default();
        if let Some(&(kind, _)) = PrimitiveKind::NAMED.iter().find(|(_, name)| *name == text)
            && self.has_slot(id, "primitive_kind")
        {
            return match kind {
                PrimitiveKind::TRIANGLE => Ok(()),
                _ => self.set(id, "primitive_kind", Value::Enum(kind.0)),
            };
        }
        match self.slot_kind(id, text) {
            Some(FieldKind::Bool) => self.set(id, text, Value::Bool(true)),
            _ => {
                self.report("a function has an unknown attribute", name);
                Ok(())
            }
        }
    }

    /// Converts an argument, or a return value.
    fn value(&mut self, node: MetadataId, is_return: bool) -> Result<Option<NodeId>> {
        let Some(mut items) = Items::of(self.module, node) else { return Ok(None) };
        if !is_return {
            items.number();
        }
        let mut word = items.text();
        let is_conditional = word == Some(b"air.function_constant");
        let mut predicate = None;
        if is_conditional {
            predicate = items.node().and_then(|node| self.predicate(node));
            word = items.text();
        }
        let Some(word) = word else {
            self.report("an argument does not say what it is", b"");
            return Ok(None);
        };
        let name = core::str::from_utf8(word.strip_prefix(b"air.").unwrap_or(word)).unwrap_or_default();
        let kind = if is_return { NodeType::return_value(name) } else { NodeType::argument(name) };
        let Some(kind) = kind else {
            self.report("an argument is of an unknown kind", word);
            return Ok(None);
        };
        let id = self.add(kind)?;
        if is_conditional {
            self.set(id, "function_constant", Value::Bool(true))?;
            self.predicates.extend(predicate.map(|name| (id, name)));
        }
        self.positional(id, &mut items)?;
        self.fields(id, &mut items, is_return)?;
        Ok(Some(id))
    }

    /// Returns the name of the function constant that an argument depends on: `!{value, type, name}`.
    fn predicate(&self, node: MetadataId) -> Option<&'m [u8]> {
        let mut items = Items::of(self.module, node)?;
        items.take();
        items.text();
        items.text()
    }

    /// Converts what follows the kind of an argument without a word of its own.
    fn positional(&mut self, id: NodeId, items: &mut Items<'m, 'a>) -> Result<()> {
        let numbers = ["render_target_index", "blend_source_index"];
        for slot in numbers.into_iter().filter(|slot| self.slot_kind(id, slot).is_some()).collect::<Vec<_>>()
        {
            if let Some(number) = items.number() {
                self.set(id, slot, Value::Number(number))?;
            }
        }
        if let Some(Item::Node(node)) = items.peek()
            && self.has_slot(id, "mesh_type_info")
        {
            items.take();
            let mesh = self.mesh(node)?;
            self.set(id, "mesh_type_info", Value::Node(mesh))?;
        }
        Ok(())
    }

    /// Converts the fields of an argument or return value.
    fn fields(&mut self, id: NodeId, items: &mut Items<'m, 'a>, is_return: bool) -> Result<()> {
        while let Some(item) = items.take() {
            let Item::Text(word) = item else {
                self.report("an argument has a part without a name", b"");
                continue;
            };
            let Some(name) = word.strip_prefix(b"air.") else {
                // `generated(…)` and `user(…)`: what connects two stages.
                if self.has_slot(id, "attribute_name") {
                    self.set(id, "attribute_name", Value::Text(word.into()))?;
                }
                continue;
            };
            let key = KEYS.iter().find(|(key, slot, _)| key.as_bytes() == name && self.has_slot(id, slot));
            match key {
                Some(key) => self.field(id, key, items)?,
                // How a value of a vertex function is interpolated is said where a fragment function takes it.
                None if is_return && INTERPOLATION.contains(&name) => {}
                None => self.report("an argument has an unknown part", word),
            }
        }
        Ok(())
    }

    fn field(&mut self, id: NodeId, &(_, slot, form): &Key, items: &mut Items<'m, 'a>) -> Result<()> {
        match form {
            Form::Flag => self.set(id, slot, Value::Bool(true)),
            Form::Is(value) => self.set_unless_default(id, slot, value),
            Form::Number => match items.number() {
                Some(number) if matches!(self.slot_kind(id, slot), Some(FieldKind::Enum(_))) => {
                    self.set_unless_default(id, slot, u8::try_from(number).unwrap_or(u8::MAX))
                }
                Some(number) => self.set(id, slot, Value::Number(number)),
                None => Ok(()),
            },
            Form::Pair(second) => {
                for slot in [slot, second] {
                    if let Some(number) = items.number() {
                        self.set(id, slot, Value::Number(number))?;
                    }
                }
                Ok(())
            }
            Form::Text => match items.text() {
                Some(text) => self.set(id, slot, Value::Text(text.into())),
                None => Ok(()),
            },
            Form::Structure => match items.node() {
                Some(node) => {
                    let structure = self.structure(node)?;
                    self.set(id, slot, Value::Node(structure))
                }
                None => Ok(()),
            },
            Form::Marker => Ok(()),
        }
    }

    /// Sets a field of an enumeration, which Apple's writer leaves out if it has its default.
    fn set_unless_default(&mut self, id: NodeId, slot: &str, value: u8) -> Result<()> {
        let default = self.slot(id, slot).map_or(0, |slot| slot.default);
        if value == default { Ok(()) } else { self.set(id, slot, Value::Enum(value)) }
    }

    /// Converts a function constant: `!{variable, type, name, index, is required}`.
    fn function_constant(&mut self, node: MetadataId) -> Result<Option<NodeId>> {
        let Some(mut items) = Items::of(self.module, node) else { return Ok(None) };
        items.take();
        let id = self.add(NodeType::FUNCTION_CONSTANT)?;
        for slot in ["type_name", "name"] {
            if let Some(text) = items.text() {
                self.set(id, slot, Value::Text(text.into()))?;
            }
        }
        if let Some(index) = items.number().filter(|&index| index != 0) {
            self.set(id, "index", Value::Number(index))?;
        }
        if items.number().is_some_and(|required| required != 0) {
            self.set(id, "required", Value::Bool(true))?;
        }
        Ok(Some(id))
    }

    fn slot(&self, id: NodeId, name: &str) -> Option<&'static schema::Slot> {
        let schema = self.nodes.get(id.0 as usize)?.schema();
        schema.slots.get(schema.slot_named(name)?)
    }

    fn slot_kind(&self, id: NodeId, name: &str) -> Option<FieldKind> {
        self.slot(id, name).map(|slot| slot.kind)
    }

    fn has_slot(&self, id: NodeId, name: &str) -> bool {
        self.slot(id, name).is_some()
    }
}
