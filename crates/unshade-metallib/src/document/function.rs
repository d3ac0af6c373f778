//! Functions as YAML.
//!
//! | key | tag |
//! |---|---|
//! | `Name`, `Type` | `NAME`, `TYPE` |
//! | `Module` | `OFFT`: the index of the module |
//! | `Hash` | `HASH`, if it does not match the module |
//! | `ModuleSize` | `false` if there is no `MDSZ` |
//! | `AIR`, `Language` | `VERS` |
//! | `Tessellation`, `LayerType` | `TESS`, `LAYR` |
//! | `Source`, `Reflection` | `SOFF`, `RFLT`: the index of the archive, and of the buffer |
//! | `Attributes`, `Constants` | `VATT` and `VATY`, `CNST` |
//! | `Location`, `Dependencies` | `DEBI`, `DEPF` |
//! | `Tags`, `PublicTags`, `PrivateTags` | other tags |
//! | `Order`, `PublicOrder`, `PrivateOrder` | the order of the tags, if it is not the usual one |

use super::{bytes_node, list, named, read_named};
use crate::data_type::DataType;
use crate::file::{
    FunctionConstant, OwnedFunction, PrivateTags, PublicTags, RawTag, SourceLocation, Text, VertexAttribute,
};
use crate::function_list::{FunctionType, FunctionVersions, ShortVersion, Tessellation};
use crate::metadata::AttributeUse;
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::bytes::Bytes;
use unshade_core::yaml::{MapReader, MapWriter, Node, Yaml};
use unshade_core::{FourCc, Result};

pub(super) fn node<'a>(function: &'a OwnedFunction<'_>, hashes: &[[u8; 32]]) -> Node<'a> {
    let mut map = MapWriter::default();
    map.node("Name", function.name.node());
    if let Some(kind) = function.kind {
        map.node("Type", named(kind.name(), kind.0.into()));
    }
    map.node("Module", Node::number(function.module as u64));
    if let Some(hash) = &function.hash
        && hashes.get(function.module) != Some(hash)
    {
        map.node("Hash", bytes_node(hash));
    }
    if !function.states_module_size {
        map.node("ModuleSize", Node::plain("false"));
    }
    if let Some(versions) = function.versions {
        map.node("AIR", Node::plain(format!("{}", versions.air)));
        map.node("Language", Node::plain(format!("{}", versions.language)));
    }
    if let Some(tessellation) = function.tessellation {
        map.node("Tessellation", tessellation_node(tessellation));
    }
    if let Some(layer) = function.layer_type {
        map.node("LayerType", data_type_node(layer));
    }
    for (key, index) in [("Source", function.source), ("Reflection", function.reflection)] {
        if let Some(index) = index {
            map.node(key, Node::number(index as u64));
        }
    }
    put_public(&function.public, &mut map);
    put_private(&function.private, &mut map);
    put_other("Tags", &function.other, &mut map);
    put_order("Order", &function.order, &mut map);
    map.finish()
}

fn data_type_node<'a>(data_type: DataType) -> Node<'a> {
    named(data_type.row().map(|row| row.metal), data_type.0.into())
}

fn tessellation_node<'a>(tessellation: Tessellation) -> Node<'a> {
    let mut map = MapWriter::default();
    map.node("Patch", named(tessellation.patch_type(), u64::from(tessellation.0 & 3)));
    map.node("ControlPoints", Node::number(tessellation.control_points().into()));
    map.finish()
}

fn put_public<'a>(tags: &'a PublicTags<'_>, map: &mut MapWriter<'a>) {
    if let Some(attributes) = &tags.attributes {
        let attribute = |attribute: &'a VertexAttribute<'_>| {
            let mut map = MapWriter::default();
            map.node("Name", attribute.name.node());
            map.node("Index", Node::number(attribute.index.into()));
            if let Some(data_type) = attribute.data_type {
                map.node("Type", data_type_node(data_type));
            }
            if attribute.usage != AttributeUse::PER_VERTEX {
                map.node("Use", named(attribute.usage.name(), attribute.usage.0.into()));
            }
            put_inactive(attribute.active, &mut map);
            map.finish()
        };
        map.node("Attributes", Node::list(attributes.iter().map(attribute).collect()));
    }
    if let Some(constants) = &tags.constants {
        let constant = |constant: &'a FunctionConstant<'_>| {
            let mut map = MapWriter::default();
            map.node("Name", constant.name.node());
            map.node("Index", Node::number(constant.index.into()));
            map.node("Type", data_type_node(constant.data_type));
            put_inactive(constant.active, &mut map);
            map.finish()
        };
        map.node("Constants", Node::list(constants.iter().map(constant).collect()));
    }
    put_other("PublicTags", &tags.other, map);
    put_order("PublicOrder", &tags.order, map);
}

fn put_private<'a>(tags: &'a PrivateTags<'_>, map: &mut MapWriter<'a>) {
    if let Some(location) = &tags.location {
        let mut place = MapWriter::default();
        place.node("Line", Node::number(location.line.into()));
        place.node("Path", location.path.node());
        map.node("Location", place.finish());
    }
    map.field("Dependencies", &tags.dependencies);
    put_other("PrivateTags", &tags.other, map);
    put_order("PrivateOrder", &tags.order, map);
}

fn put_inactive(active: bool, map: &mut MapWriter<'_>) {
    if !active {
        map.node("Active", Node::plain("false"));
    }
}

fn put_other<'a>(key: &'static str, tags: &'a [RawTag<'_>], map: &mut MapWriter<'a>) {
    if !tags.is_empty() {
        map.node(key, Node::list(tags.iter().map(raw_node).collect()));
    }
}

fn put_order<'a>(key: &'static str, order: &'a Option<Vec<FourCc>>, map: &mut MapWriter<'a>) {
    if let Some(order) = order {
        map.node(key, Node::list(order.iter().map(Yaml::node).collect()));
    }
}

/// Creates a node for a raw tag.
pub(super) fn raw_node<'a>(tag: &'a RawTag<'_>) -> Node<'a> {
    let mut map = MapWriter::default();
    map.node("Tag", tag.code.node());
    map.node("Content", bytes_node(&tag.content));
    map.finish()
}

pub(super) fn read_raw(node: &Node<'_>) -> Result<RawTag<'static>> {
    let mut map = MapReader::new(node)?;
    let code = map.field("Tag")?;
    let content: Bytes = map.field("Content")?;
    map.finish()?;
    Ok(RawTag { code, content: Cow::Owned(content.0) })
}

/// Parses a function.
pub(super) fn read(node: &Node<'_>) -> Result<OwnedFunction<'static>> {
    let mut map = MapReader::new(node)?;
    let module: u32 = map.field("Module")?;
    let name: Text<'static> = map.field("Name")?;
    let empty = OwnedFunction { kind: None, ..OwnedFunction::new(name, FunctionType::NONE, module as usize) };
    let function = fill(&mut map, empty)?;
    map.finish()?;
    Ok(function)
}

/// Parses a function. Missing keys default to the values in `known`.
pub(super) fn fill(
    map: &mut MapReader<'_, '_>,
    known: OwnedFunction<'static>,
) -> Result<OwnedFunction<'static>> {
    let index = |map: &mut MapReader<'_, '_>, key| {
        map.field::<Option<u32>>(key).map(|index| index.map(|index| index as usize))
    };
    Ok(OwnedFunction {
        name: map.field_or("Name", known.name)?,
        kind: read_kind(map)?.or(known.kind),
        hash: map.field("Hash")?,
        module: index(map, "Module")?.unwrap_or(known.module),
        states_module_size: map.field_or("ModuleSize", true)?,
        versions: read_versions(map)?.or(known.versions),
        tessellation: field_or_known(map, "Tessellation", known.tessellation, read_tessellation)?,
        layer_type: field_or_known(map, "LayerType", known.layer_type, read_data_type)?,
        source: index(map, "Source")?.or(known.source),
        reflection: index(map, "Reflection")?.or(known.reflection),
        other: read_other(map, "Tags")?,
        order: read_order(map, "Order")?,
        public: read_public(map, known.public)?,
        private: read_private(map)?,
    })
}

/// Returns the value of a key; `known` if the key is missing; `None` if the value is `none`.
fn field_or_known<T>(
    map: &mut MapReader<'_, '_>,
    key: &'static str,
    known: Option<T>,
    read: impl FnOnce(&Node<'_>) -> Result<T>,
) -> Result<Option<T>> {
    match map.take(key) {
        None => Ok(known),
        Some(node) if node.text() == Some("none") => Ok(None),
        Some(node) => read(node).map(Some),
    }
}

fn read_kind(map: &mut MapReader<'_, '_>) -> Result<Option<FunctionType>> {
    let kind = map.take("Type").map(|node| read_named(node, FunctionType::from_name, |kind| kind.0));
    kind.transpose().map(|kind| kind.map(FunctionType))
}

fn read_versions(map: &mut MapReader<'_, '_>) -> Result<Option<FunctionVersions>> {
    let air = map.take("AIR").map(read_short_version).transpose()?;
    let language = map.take("Language");
    let language = match (language, &air) {
        (Some(node), Some(_)) => Some(read_short_version(node)?),
        (Some(node), None) => return Err(node.fault("key `Language` requires key `AIR`")),
        (None, _) => None,
    };
    let zero = ShortVersion { major: 0, minor: 0 };
    Ok(air.map(|air| FunctionVersions { air, language: language.unwrap_or(zero) }))
}

fn read_short_version(node: &Node<'_>) -> Result<ShortVersion> {
    let numbers = node.text().and_then(|text| text.split_once('.'));
    let version = numbers.and_then(|(major, minor)| {
        Some(ShortVersion { major: major.parse().ok()?, minor: minor.parse().ok()? })
    });
    version.ok_or_else(|| node.expected("a version of two numbers, such as 2.6"))
}

fn read_tessellation(node: &Node<'_>) -> Result<Tessellation> {
    let mut map = MapReader::new(node)?;
    let patch = match map.take("Patch") {
        Some(node) => match node.text() {
            Some("triangle") => 1,
            Some("quad") => 2,
            _ => u8::from_node(node)
                .ok()
                .filter(|patch| *patch < 4)
                .ok_or_else(|| node.expected("triangle or quad"))?,
        },
        None => return Err(node.fault("key `Patch` is missing")),
    };
    let points: u8 = map.field("ControlPoints")?;
    if points > 63 {
        return Err(node.fault("too many control points").expected("at most 63").found(format!("{points}")));
    }
    map.finish()?;
    Ok(Tessellation(patch | points << 2))
}

fn read_data_type(node: &Node<'_>) -> Result<DataType> {
    read_named(node, DataType::from_name, |data_type| data_type.0).map(DataType)
}

fn read_public(map: &mut MapReader<'_, '_>, known: PublicTags<'static>) -> Result<PublicTags<'static>> {
    let attributes = field_or_known(map, "Attributes", known.attributes, |node| {
        node.items()?.iter().map(read_attribute).collect::<Result<_>>()
    })?;
    let constants = field_or_known(map, "Constants", known.constants, |node| {
        node.items()?.iter().map(read_constant).collect::<Result<_>>()
    })?;
    Ok(PublicTags {
        attributes,
        constants,
        other: read_other(map, "PublicTags")?,
        order: read_order(map, "PublicOrder")?,
    })
}

fn read_attribute(node: &Node<'_>) -> Result<VertexAttribute<'static>> {
    let mut map = MapReader::new(node)?;
    let attribute = VertexAttribute {
        name: map.field("Name")?,
        index: map.field("Index")?,
        data_type: map.take("Type").map(read_data_type).transpose()?,
        usage: match map.take("Use") {
            Some(node) => AttributeUse(read_named(node, AttributeUse::from_name, |usage| usage.0)?),
            None => AttributeUse::PER_VERTEX,
        },
        active: map.field_or("Active", true)?,
    };
    map.finish()?;
    if attribute.index > 0x1fff || attribute.usage.0 > 3 {
        return Err(node
            .fault("attribute does not fit in its 16 bits")
            .expected("an index below 8192, a use below 4"));
    }
    Ok(attribute)
}

fn read_constant(node: &Node<'_>) -> Result<FunctionConstant<'static>> {
    let mut map = MapReader::new(node)?;
    let data_type = map.take("Type").map(read_data_type).transpose()?;
    let constant = FunctionConstant {
        name: map.field("Name")?,
        index: map.field("Index")?,
        data_type: data_type.ok_or_else(|| node.fault("key `Type` is missing"))?,
        active: map.field_or("Active", true)?,
    };
    map.finish()?;
    Ok(constant)
}

fn read_private(map: &mut MapReader<'_, '_>) -> Result<PrivateTags<'static>> {
    let location = map.take("Location").map(|node| {
        let mut map = MapReader::new(node)?;
        let place = SourceLocation { line: map.field("Line")?, path: map.field("Path")? };
        map.finish()?;
        Ok(place)
    });
    Ok(PrivateTags {
        location: location.transpose()?,
        dependencies: map.field("Dependencies")?,
        other: read_other(map, "PrivateTags")?,
        order: read_order(map, "PrivateOrder")?,
    })
}

pub(super) fn read_other(map: &mut MapReader<'_, '_>, key: &'static str) -> Result<Vec<RawTag<'static>>> {
    list(map, key)?.iter().map(read_raw).collect()
}

fn read_order(map: &mut MapReader<'_, '_>, key: &'static str) -> Result<Option<Vec<FourCc>>> {
    map.field(key)
}
