//! Checks of a root signature: D3D12's limits, unknown flags and values, conflicting registers.

use super::ParsedPart;
use super::parts::finding;
use crate::root_signature::{
    DESCRIPTOR_FLAGS, Flag, ParameterType, Payload, RANGE_FLAGS, ROOT_FLAGS, RangeType, RootSignature,
    SAMPLER_FLAGS, Sampler, Visibility,
};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error};

/// Maximum size of a root signature, in words.
pub(super) const MAX_WORDS: u32 = 64;

/// Maximum anisotropy.
const MAX_ANISOTROPY: u32 = 16;

/// A range of registers that something binds.
struct BoundRange {
    class: char,
    space: u32,
    first: u32,
    last: u32,
    visibility: Visibility,
    label: String,
}

/// Checks a root signature.
pub(super) fn part(found: &ParsedPart<'_>, root: &RootSignature, diagnostics: &mut Diagnostics) {
    let error = |message: &'static str| finding(found, 0, message);
    unknown_flags(root.flags, ROOT_FLAGS, "flags", &error, diagnostics);
    let mut words = 0u32;
    let mut taken: Vec<BoundRange> = Vec::new();
    for (index, parameter) in root.parameters.iter().enumerate() {
        let label = format!("parameter {index}");
        let visibility = parameter.header.visibility;
        if visibility.name().is_none() {
            let fault = error("unknown visibility").found(format!("{visibility}"));
            diagnostics.error("dx-root-signature", fault.within(label.clone()));
        }
        let mut take = |class, space, first, count: u32| {
            let last = first_plus(first, count);
            taken.push(BoundRange { class, space, first, last, visibility, label: label.clone() });
        };
        words = words.saturating_add(match &parameter.payload {
            Payload::Constants(constants) => {
                take('b', constants.space, constants.register, 1);
                constants.count
            }
            Payload::Descriptor(descriptor) => {
                unknown_flags(descriptor.flags, DESCRIPTOR_FLAGS, &label, &error, diagnostics);
                let class = match parameter.header.parameter_type {
                    ParameterType::CBV => 'b',
                    ParameterType::SRV => 't',
                    _ => 'u',
                };
                take(class, descriptor.space, descriptor.register, 1);
                2
            }
            Payload::Table { ranges, .. } => {
                for range in ranges {
                    unknown_flags(range.flags, RANGE_FLAGS, &label, &error, diagnostics);
                    let class = match range.range_type {
                        RangeType::SRV => 't',
                        RangeType::UAV => 'u',
                        RangeType::CBV => 'b',
                        _ => 's',
                    };
                    if range.count == 0 || range.range_type.name().is_none() {
                        let fault = error("empty descriptor range, or unknown range type");
                        diagnostics.error("dx-root-signature", fault.within(label.clone()));
                    }
                    take(class, range.space, range.register, range.count);
                }
                let samplers = ranges.iter().filter(|range| range.range_type == RangeType::SAMPLER).count();
                if samplers != 0 && samplers != ranges.len() {
                    let fault = error("table mixes samplers and resources");
                    diagnostics.error("dx-root-signature", fault.within(label.clone()));
                }
                1
            }
            Payload::Unknown => {
                let fault =
                    error("unknown parameter type").found(format!("{}", parameter.header.parameter_type));
                diagnostics.error("dx-root-signature", fault.within(label.clone()));
                0
            }
        });
    }
    if words > MAX_WORDS {
        diagnostics.error(
            "dx-root-signature",
            error("root signature is too large")
                .expected(format!("at most {MAX_WORDS} words"))
                .found(format!("{words}")),
        );
    }
    for (index, sampler) in root.samplers.iter().enumerate() {
        let label = format!("static sampler {index}");
        check_sampler(sampler, &label, &error, diagnostics);
        let fields = &sampler.fields;
        let (space, first, visibility) = (fields.space, fields.register, fields.visibility);
        taken.push(BoundRange { class: 's', space, first, last: first, visibility, label });
    }
    clashes(taken, &error, diagnostics);
}

fn first_plus(first: u32, count: u32) -> u32 {
    match count {
        u32::MAX => u32::MAX,
        count => first.saturating_add(count.saturating_sub(1)),
    }
}

fn unknown_flags(
    flags: u32,
    known: &[Flag],
    label: &str,
    error: &dyn Fn(&'static str) -> Error,
    diagnostics: &mut Diagnostics,
) {
    let unknown = known.iter().fold(flags, |flags, (bit, _)| flags & !bit);
    if unknown != 0 {
        let fault = error("unknown flags").found(format!("{unknown:#x}"));
        diagnostics.error("dx-root-signature", fault.within(String::from(label)));
    }
}

fn check_sampler(
    sampler: &Sampler,
    label: &str,
    error: &dyn Fn(&'static str) -> Error,
    diagnostics: &mut Diagnostics,
) {
    unknown_flags(sampler.flags, SAMPLER_FLAGS, label, error, diagnostics);
    let fields = &sampler.fields;
    let faults = [
        (fields.filter.name().is_none(), "unknown filter"),
        (
            [fields.address_u, fields.address_v, fields.address_w].iter().any(|mode| mode.name().is_none()),
            "unknown address mode",
        ),
        (fields.comparison.name().is_none() && fields.comparison.0 != 0, "unknown comparison"),
        (fields.border_color.name().is_none(), "unknown border color"),
        (fields.visibility.name().is_none(), "unknown visibility"),
        (fields.max_anisotropy > MAX_ANISOTROPY, "anisotropy above 16"),
        (
            fields.min_lod.is_nan() || fields.max_lod.is_nan() || fields.mip_lod_bias.is_nan(),
            "level of detail is not a number",
        ),
        (
            !(-16.0..16.0).contains(&fields.mip_lod_bias) && !fields.mip_lod_bias.is_nan(),
            "level of detail bias is out of range",
        ),
    ];
    for (_, message) in faults.iter().filter(|(wrong, _)| *wrong) {
        diagnostics.error("dx-root-signature", error(message).within(String::from(label)));
    }
}

/// Finds registers that are bound twice for the same stage.
fn clashes(mut taken: Vec<BoundRange>, error: &dyn Fn(&'static str) -> Error, diagnostics: &mut Diagnostics) {
    taken.sort_by_key(|range| (range.class, range.space, range.first));
    // Of the earlier ranges, the one that reaches furthest for each visibility.
    let mut reach: Vec<&BoundRange> = Vec::new();
    for range in &taken {
        reach.retain(|before| {
            (before.class, before.space) == (range.class, range.space) && before.last >= range.first
        });
        let both = |other: &BoundRange| {
            other.visibility == range.visibility
                || other.visibility == Visibility::ALL
                || range.visibility == Visibility::ALL
        };
        if let Some(before) = reach.iter().find(|before| both(before)) {
            let fault = error("registers are bound twice")
                .expected(format!("none of those of {}", before.label))
                .found(format!("{}{}..={} in space {}", range.class, range.first, range.last, range.space));
            diagnostics.error("dx-root-signature", fault.within(range.label.clone()));
        }
        // The range that reaches furthest for each visibility is enough to find a conflict.
        match reach.iter_mut().find(|before| before.visibility == range.visibility) {
            Some(before) if before.last < range.last => *before = range,
            Some(_) => {}
            None => reach.push(range),
        }
    }
}
