//! Root signatures in the syntax of HLSL's `[RootSignature("…")]`.
//!
//! Values that the compiler assumes by default are omitted: visibility all, space 0, flags 0, ranges that follow the
//! one before, the defaults of samplers. Source: Microsoft's "Specifying Root Signatures in HLSL".

use crate::root_signature::{
    AddressMode, BorderColor, Comparison, DESCRIPTOR_FLAGS, Filter, Flag, Parameter, ParameterType, Payload,
    RANGE_FLAGS, ROOT_FLAGS, Range, RangeType, RootSignature, SAMPLER_FLAGS, Sampler, Visibility,
};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Converts LLVM's name of a root signature flag to HLSL's.
fn root_flag(name: &str) -> String {
    snake(&name.replace("CBVSRVUAVHeap", "CbvSrvUavHeap"))
}

/// Converts `AllowStreamOutput` to `ALLOW_STREAM_OUTPUT`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut previous = ' ';
    for character in name.chars() {
        let word =
            character.is_ascii_uppercase() && (previous.is_ascii_lowercase() || previous.is_ascii_digit());
        if word {
            out.push('_');
        }
        out.push(character.to_ascii_uppercase());
        previous = character;
    }
    out
}

fn flags(flags: u32, known: &[Flag], name: impl Fn(&str) -> String) -> Option<String> {
    let mut rest = flags;
    let mut names = Vec::new();
    for (bit, known) in known {
        if flags & bit != 0 {
            names.push(name(known));
            rest &= !bit;
        }
    }
    if rest != 0 {
        names.push(format!("{rest:#x}"));
    }
    (!names.is_empty()).then(|| names.join(" | "))
}

fn visibility(visibility: Visibility) -> Option<String> {
    (visibility != Visibility::ALL).then(|| match visibility.name() {
        Some(name) => format!("visibility = SHADER_VISIBILITY_{}", name.to_ascii_uppercase()),
        None => format!("visibility = {}", visibility.0),
    })
}

fn space(space: u32) -> Option<String> {
    (space != 0).then(|| format!("space = {space}"))
}

fn call(name: &str, arguments: impl IntoIterator<Item = Option<String>>) -> String {
    let arguments: Vec<String> = arguments.into_iter().flatten().collect();
    format!("{name}({})", arguments.join(", "))
}

/// Returns the clauses of a root signature, without the commas between them.
pub fn clauses(root: &RootSignature) -> Vec<String> {
    let mut clauses = Vec::new();
    if let Some(flags) = flags(root.flags, ROOT_FLAGS, root_flag) {
        clauses.push(format!("RootFlags({flags})"));
    }
    clauses.extend(root.parameters.iter().map(parameter));
    clauses.extend(root.samplers.iter().map(sampler));
    clauses
}

fn parameter(parameter: &Parameter) -> String {
    let seen = visibility(parameter.header.visibility);
    match &parameter.payload {
        Payload::Constants(constants) => call(
            "RootConstants",
            [
                Some(format!("num32BitConstants = {}", constants.count)),
                Some(format!("b{}", constants.register)),
                space(constants.space),
                seen,
            ],
        ),
        Payload::Descriptor(descriptor) => {
            let class = match parameter.header.parameter_type {
                ParameterType::CBV => 'b',
                ParameterType::SRV => 't',
                _ => 'u',
            };
            let flags = flags(descriptor.flags, DESCRIPTOR_FLAGS, ToString::to_string);
            call(
                &parameter.header.parameter_type.to_string(),
                [
                    Some(format!("{class}{}", descriptor.register)),
                    space(descriptor.space),
                    seen,
                    flags.map(|flags| format!("flags = {flags}")),
                ],
            )
        }
        Payload::Table { ranges, .. } => {
            call("DescriptorTable", ranges.iter().map(|found| Some(range(found))).chain([seen]))
        }
        Payload::Unknown => format!("/* parameter of type {} */", parameter.header.parameter_type),
    }
}

fn range(range: &Range) -> String {
    let (name, class) = match range.range_type {
        RangeType::SRV => ("SRV", 't'),
        RangeType::UAV => ("UAV", 'u'),
        RangeType::CBV => ("CBV", 'b'),
        _ => ("Sampler", 's'),
    };
    let count = match range.count {
        1 => None,
        u32::MAX => Some("numDescriptors = unbounded".into()),
        count => Some(format!("numDescriptors = {count}")),
    };
    let offset = (range.offset_in_table != u32::MAX).then(|| format!("offset = {}", range.offset_in_table));
    let flags = flags(range.flags, RANGE_FLAGS, ToString::to_string);
    call(
        name,
        [
            Some(format!("{class}{}", range.register)),
            count,
            space(range.space),
            offset,
            flags.map(|flags| format!("flags = {flags}")),
        ],
    )
}

/// Converts LLVM's name of a filter to HLSL's: `MinMagMipLinear` to `MIN_MAG_MIP_LINEAR`.
fn filter(filter: Filter) -> String {
    filter.name().map_or_else(|| filter.0.to_string(), |name| format!("FILTER_{}", snake(name)))
}

fn address(mode: AddressMode, name: &str) -> Option<String> {
    (mode != AddressMode::WRAP).then(|| match mode.name() {
        Some(value) => format!("{name} = TEXTURE_ADDRESS_{}", snake(value)),
        None => format!("{name} = {}", mode.0),
    })
}

fn sampler(sampler: &Sampler) -> String {
    let fields = &sampler.fields;
    let number = |name: &str, value: f32, default: f32| {
        (value.to_bits() != default.to_bits()).then(|| format!("{name} = {value:?}"))
    };
    let comparison = fields
        .comparison
        .name()
        .map_or_else(|| fields.comparison.0.to_string(), |name| format!("COMPARISON_{}", snake(name)));
    let border = fields.border_color.name().map_or_else(
        || fields.border_color.0.to_string(),
        |name| format!("STATIC_BORDER_COLOR_{}", snake(name)),
    );
    let flags = flags(sampler.flags, SAMPLER_FLAGS, ToString::to_string);
    call(
        "StaticSampler",
        [
            Some(format!("s{}", fields.register)),
            (fields.filter != Filter::ANISOTROPIC).then(|| format!("filter = {}", filter(fields.filter))),
            address(fields.address_u, "addressU"),
            address(fields.address_v, "addressV"),
            address(fields.address_w, "addressW"),
            number("mipLODBias", fields.mip_lod_bias, 0.0),
            (fields.max_anisotropy != 16).then(|| format!("maxAnisotropy = {}", fields.max_anisotropy)),
            (fields.comparison != Comparison::LESS_EQUAL).then(|| format!("comparisonFunc = {comparison}")),
            (fields.border_color != BorderColor::OPAQUE_WHITE).then(|| format!("borderColor = {border}")),
            number("minLOD", fields.min_lod, 0.0),
            number("maxLOD", fields.max_lod, f32::MAX),
            space(fields.space),
            visibility(fields.visibility),
            flags.map(|flags| format!("flags = {flags}")),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_hlsl() {
        assert_eq!(snake("MinMagMipLinear"), "MIN_MAG_MIP_LINEAR");
        assert_eq!(root_flag("CBVSRVUAVHeapDirectlyIndexed"), "CBV_SRV_UAV_HEAP_DIRECTLY_INDEXED");
        assert_eq!(root_flag("AllowInputAssemblerInputLayout"), "ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT");
    }
}
