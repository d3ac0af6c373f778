//! Layouts of structures and meshes, and memory of a threadgroup.
//!
//! A layout is a flat list: for each member `[!"air.struct_type_info", !nested] offset, size of an element, number of
//! elements (0 if it is not an array), type, name`, and for members of argument buffers `!"air.indirect_argument"` and
//! an argument or an index.

use super::items::{Item, Items};
use super::{Converter, NodeId};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::ids::MetadataId;
use unshade_metallib::reflection::schema::{self, FieldKind, NodeType, TableSchema, Topology};
use unshade_metallib::reflection::tables::{OwnedTable, Value};

/// Maximum nesting depth of structures: a hostile one may contain itself.
const MAX_DEPTH: u32 = 32;
/// The address space of a threadgroup's memory.
const THREADGROUP: u32 = 3;

impl<'m, 'a> Converter<'m, 'a> {
    /// Converts the layout of a structure, which arguments may share.
    pub(super) fn structure(&mut self, node: MetadataId) -> Result<NodeId> {
        if let Some(&known) = self.structures.get(&node) {
            return Ok(known);
        }
        if self.depth >= MAX_DEPTH {
            return Err(Error::without_offset(ErrorKind::Limit, "structures of arguments nest too deeply"));
        }
        self.depth += 1;
        let id = self.add(NodeType::STRUCT_TYPE_INFO)?;
        self.structures.insert(node, id);
        let mut members = Vec::new();
        if let (Some(mut items), Some(schema)) = (Items::of(self.module, node), member_schema()) {
            while let Some(member) = self.member(&mut items, schema)? {
                members.push(member);
            }
        }
        self.set(id, "fields", Value::Tables(members))?;
        self.depth -= 1;
        Ok(id)
    }

    /// Converts the next member of a structure.
    fn member(
        &mut self,
        items: &mut Items<'m, 'a>,
        schema: &'static TableSchema,
    ) -> Result<Option<OwnedTable<'m>>> {
        let mut member = OwnedTable::new(schema);
        if items.peek() == Some(Item::Text(b"air.struct_type_info")) {
            items.take();
            if let Some(node) = items.node() {
                member.set("struct_type_info", Value::Node(self.structure(node)?))?;
            }
        }
        let Some(offset) = items.number() else {
            if let Some(Item::Text(word)) = items.take() {
                self.report("a structure has an unknown part", word);
            }
            return Ok(None);
        };
        for (slot, number) in
            [("offset", Some(offset)), ("size", items.number()), ("array_entries", items.number())]
        {
            if let Some(number) = number.filter(|&number| number != 0) {
                member.set(slot, Value::Number(number))?;
            }
        }
        for slot in ["type_name", "field_name"] {
            // A member without a name has an empty one, which Apple's writer leaves out.
            if let Some(text) = items.text().filter(|text| !text.is_empty()) {
                member.set(slot, Value::Text(text.into()))?;
            }
        }
        while let Some(Item::Text(word)) = items.peek() {
            match word {
                b"air.indirect_argument" => {
                    items.take();
                    match items.take() {
                        Some(Item::Node(node)) => {
                            if let Some(argument) = self.value(node, false)? {
                                member.set("indirect_argument", Value::Node(argument))?;
                            }
                        }
                        Some(Item::Number(index)) => member.set("indirect_location", Value::Number(index))?,
                        _ => {}
                    }
                }
                b"air.raster_order_group" | b"air.render_target" => {
                    items.take();
                    let is_group = word == b"air.raster_order_group";
                    let slot = if is_group { "raster_order_group" } else { "render_target_index" };
                    if let Some(number) = items.number() {
                        member.set(slot, Value::Number(number))?;
                    }
                }
                // The next member is a structure.
                _ => break,
            }
        }
        Ok(Some(member))
    }

    /// Converts the type of a mesh: `!{"air.mesh_type_info", !vertex, !primitive, vertices, primitives, topology}`.
    pub(super) fn mesh(&mut self, node: MetadataId) -> Result<NodeId> {
        let id = self.add(NodeType::MESH_TYPE_INFO)?;
        let Some(mut items) = Items::of(self.module, node) else { return Ok(id) };
        items.text();
        for slot in ["vertex_types", "primitive_types"] {
            let Some(list) = items.node() else { continue };
            let mut values = Vec::new();
            let mut list = Items::of(self.module, list);
            while let Some(item) = list.as_mut().and_then(Items::take) {
                if let Item::Node(node) = item {
                    values.extend(self.value(node, true)?);
                }
            }
            if !values.is_empty() {
                self.set(id, slot, Value::Nodes(values))?;
            }
        }
        for slot in ["max_vertices", "max_primitives"] {
            if let Some(number) = items.number() {
                self.set(id, slot, Value::Number(number))?;
            }
        }
        if let Some(text) = items.text() {
            let name = text.strip_prefix(b"air.").unwrap_or(text);
            match Topology::NAMED.iter().find(|(_, known)| known.as_bytes() == name) {
                Some((topology, _)) => self.set_unless_default(id, "topology", topology.0)?,
                None => self.report("a mesh has an unknown topology", text),
            }
        }
        Ok(id)
    }

    /// Returns the variables in a threadgroup's memory: size and alignment of each.
    pub(super) fn local_allocations(&self) -> Result<Vec<OwnedTable<'m>>> {
        let Some(FieldKind::Tables(schema)) = schema::ROOT
            .slot_named("static_local_allocations")
            .and_then(|slot| schema::ROOT.slots.get(slot).map(|slot| slot.kind))
        else {
            return Ok(Vec::new());
        };
        let module = self.module;
        let mut allocations = Vec::new();
        for global in module.globals.iter().filter(|global| global.symbol.address_space == THREADGROUP) {
            let size = module.data_layout.allocation_size(&module.types, global.symbol.ty);
            let mut allocation = OwnedTable::new(schema);
            allocation.set("size", Value::Number(u32::try_from(size).unwrap_or(u32::MAX)))?;
            let alignment = match global.symbol.alignment {
                0 => module.data_layout.required_alignment(&module.types, global.symbol.ty),
                exponent => 1 << (exponent - 1).min(31),
            };
            allocation.set("alignment", Value::Number(u32::try_from(alignment).unwrap_or(1)))?;
            allocations.push(allocation);
        }
        Ok(allocations)
    }
}

/// Returns the schema of a structure's members.
fn member_schema() -> Option<&'static TableSchema> {
    let schema = NodeType::STRUCT_TYPE_INFO.schema()?;
    match schema.table.slots.first()?.kind {
        FieldKind::Tables(members) => Some(members),
        _ => None,
    }
}
