//! RTS0 in LLVM's document. Offsets are written as LLVM writes them; reading a document assigns new offsets, as DXC
//! and LLVM do.

use crate::bytes::len32;
use crate::image::Slack;
use crate::root_signature::{
    Constants, DESCRIPTOR_FLAGS, Descriptor, Flag, Parameter, ParameterHeader, ParameterType, Payload,
    RANGE_FLAGS, ROOT_FLAGS, Range, RootSignature, SAMPLER_FLAGS, Sampler, SamplerFields,
};
use crate::yaml::{MapReader, MapWriter, Node, Yaml};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::Result;

/// The keys of a sampler, which match its record.
const SAMPLER_KEYS: [&str; 13] = [
    "Filter",
    "AddressU",
    "AddressV",
    "AddressW",
    "MipLODBias",
    "MaxAnisotropy",
    "ComparisonFunc",
    "BorderColor",
    "MinLOD",
    "MaxLOD",
    "ShaderRegister",
    "RegisterSpace",
    "ShaderVisibility",
];

fn number<'a>(value: u32) -> Node<'a> {
    Node::number(value.into())
}

/// Returns the node of a number that LLVM treats as signed.
fn signed<'a>(value: u32) -> Node<'a> {
    Node::plain(format!("{}", value.cast_signed()))
}

fn flag_nodes(flags: u32, known: &[Flag], map: &mut MapWriter<'_>) {
    for (bit, name) in known {
        if flags & bit != 0 {
            map.node(name, Node::plain("true"));
        }
    }
}

fn read_flags(known: &[Flag], map: &mut MapReader<'_, '_>) -> Result<u32> {
    let mut flags = 0;
    for (bit, name) in known {
        if map.field_or(name, false)? {
            flags |= bit;
        }
    }
    Ok(flags)
}

pub(super) fn node(root: &RootSignature) -> Node<'_> {
    let mut map = MapWriter::default();
    map.field("Version", &root.version);
    map.node("NumRootParameters", number(len32(root.parameters.len())));
    map.field("RootParametersOffset", &root.parameters_offset);
    map.node("NumStaticSamplers", number(len32(root.samplers.len())));
    map.field("StaticSamplersOffset", &root.samplers_offset);
    map.node("Parameters", Node::list(root.parameters.iter().map(parameter_node).collect()));
    if !root.samplers.is_empty() {
        map.node("Samplers", Node::list(root.samplers.iter().map(sampler_node).collect()));
    }
    flag_nodes(root.flags, ROOT_FLAGS, &mut map);
    map.finish()
}

fn parameter_node(parameter: &Parameter) -> Node<'_> {
    let mut map = MapWriter::default();
    map.field("ParameterType", &parameter.header.parameter_type);
    map.field("ShaderVisibility", &parameter.header.visibility);
    let mut inner = MapWriter::default();
    match &parameter.payload {
        Payload::Constants(constants) => {
            inner.field("Num32BitValues", &constants.count);
            inner.field("RegisterSpace", &constants.space);
            inner.field("ShaderRegister", &constants.register);
            map.node("Constants", inner.finish());
        }
        Payload::Descriptor(descriptor) => {
            inner.field("RegisterSpace", &descriptor.space);
            inner.field("ShaderRegister", &descriptor.register);
            flag_nodes(descriptor.flags, DESCRIPTOR_FLAGS, &mut inner);
            map.node("Descriptor", inner.finish());
        }
        Payload::Table { ranges_offset, ranges } => {
            inner.node("NumRanges", number(len32(ranges.len())));
            inner.field("RangesOffset", ranges_offset);
            inner.node("Ranges", Node::list(ranges.iter().map(range_node).collect()));
            map.node("Table", inner.finish());
        }
        Payload::Unknown => {}
    }
    map.finish()
}

fn range_node(range: &Range) -> Node<'_> {
    let mut map = MapWriter::default();
    map.field("RangeType", &range.range_type);
    map.node("NumDescriptors", signed(range.count));
    map.field("BaseShaderRegister", &range.register);
    map.field("RegisterSpace", &range.space);
    map.field("OffsetInDescriptorsFromTableStart", &range.offset_in_table);
    flag_nodes(range.flags, RANGE_FLAGS, &mut map);
    map.finish()
}

fn sampler_node(sampler: &Sampler) -> Node<'_> {
    let mut map = MapWriter::default();
    let fields = sampler.fields.node();
    for key in SAMPLER_KEYS {
        if let Some(value) = fields.get(key) {
            map.node(key, value.clone());
        }
    }
    flag_nodes(sampler.flags, SAMPLER_FLAGS, &mut map);
    map.finish()
}

pub(super) fn read(node: &Node<'_>) -> Result<RootSignature> {
    let mut map = MapReader::new(node)?;
    let version = map.field("Version")?;
    if !(1..=3).contains(&version) {
        return Err(node.fault("unknown version").expected("1, 2 or 3").found(format!("{version}")));
    }
    for computed in ["NumRootParameters", "RootParametersOffset", "NumStaticSamplers", "StaticSamplersOffset"]
    {
        map.field::<Option<u32>>(computed)?;
    }
    let parameters = map.take("Parameters").map(Node::items).transpose()?.unwrap_or_default();
    let samplers = map.take("Samplers").map(Node::items).transpose()?.unwrap_or_default();
    let mut root = RootSignature {
        version,
        parameters_offset: 0,
        parameters: read_all(&parameters, "Parameters", read_parameter)?,
        samplers_offset: 0,
        samplers: read_all(&samplers, "Samplers", read_sampler)?,
        flags: read_flags(ROOT_FLAGS, &mut map)?,
        slack: Slack::new(0, 0),
    };
    map.finish()?;
    root.lay_out();
    Ok(root)
}

fn read_all<T>(nodes: &[Node<'_>], key: &str, read: impl Fn(&Node<'_>) -> Result<T>) -> Result<Vec<T>> {
    let one = |(index, node)| read(node).map_err(|error| error.within(format!("{key}[{index}]")));
    nodes.iter().enumerate().map(one).collect()
}

fn read_parameter(node: &Node<'_>) -> Result<Parameter> {
    let mut map = MapReader::new(node)?;
    let parameter_type: ParameterType = map.field("ParameterType")?;
    let visibility = map.field("ShaderVisibility")?;
    let key = match parameter_type {
        ParameterType::CONSTANTS_32BIT => "Constants",
        ParameterType::DESCRIPTOR_TABLE => "Table",
        ParameterType::CBV | ParameterType::SRV | ParameterType::UAV => "Descriptor",
        _ => "",
    };
    let payload = match map.take(key) {
        Some(content) => read_payload(key, content).map_err(|error| error.within(key))?,
        None if key.is_empty() => Payload::Unknown,
        None => return Err(node.fault(format!("key `{key}` is missing"))),
    };
    map.finish()?;
    Ok(Parameter { header: ParameterHeader { parameter_type, visibility, offset: 0 }, payload })
}

fn read_payload(key: &str, node: &Node<'_>) -> Result<Payload> {
    let mut map = MapReader::new(node)?;
    let payload = match key {
        "Constants" => Payload::Constants(Constants {
            count: map.field("Num32BitValues")?,
            space: map.field("RegisterSpace")?,
            register: map.field("ShaderRegister")?,
        }),
        "Descriptor" => Payload::Descriptor(Descriptor {
            space: map.field("RegisterSpace")?,
            register: map.field("ShaderRegister")?,
            flags: read_flags(DESCRIPTOR_FLAGS, &mut map)?,
        }),
        _ => {
            map.field::<Option<u32>>("NumRanges")?;
            map.field::<Option<u32>>("RangesOffset")?;
            let ranges = map.take("Ranges").map(Node::items).transpose()?.unwrap_or_default();
            Payload::Table { ranges_offset: 0, ranges: read_all(&ranges, "Ranges", read_range)? }
        }
    };
    map.finish()?;
    Ok(payload)
}

fn read_range(node: &Node<'_>) -> Result<Range> {
    let mut map = MapReader::new(node)?;
    let range = Range {
        range_type: map.field("RangeType")?,
        count: map.field("NumDescriptors")?,
        register: map.field("BaseShaderRegister")?,
        space: map.field("RegisterSpace")?,
        offset_in_table: map.field_or("OffsetInDescriptorsFromTableStart", u32::MAX)?,
        flags: read_flags(RANGE_FLAGS, &mut map)?,
    };
    map.finish()?;
    Ok(range)
}

fn read_sampler(node: &Node<'_>) -> Result<Sampler> {
    let mut map = MapReader::new(node)?;
    let fields = SamplerFields {
        filter: map.field("Filter")?,
        address_u: map.field("AddressU")?,
        address_v: map.field("AddressV")?,
        address_w: map.field("AddressW")?,
        mip_lod_bias: map.field("MipLODBias")?,
        max_anisotropy: map.field("MaxAnisotropy")?,
        comparison: map.field("ComparisonFunc")?,
        border_color: map.field("BorderColor")?,
        min_lod: map.field("MinLOD")?,
        max_lod: map.field("MaxLOD")?,
        register: map.field("ShaderRegister")?,
        space: map.field("RegisterSpace")?,
        visibility: map.field("ShaderVisibility")?,
    };
    let flags = read_flags(SAMPLER_FLAGS, &mut map)?;
    map.finish()?;
    Ok(Sampler { fields, flags })
}
