//! Writes resource bindings: textures, samplers, views, buffers.

use super::shown;
use std::fmt::Write;
use unshade_dxcontainer::rdef::{Binding, InputType, ResourceDefinitions};

/// Flag of a comparison sampler.
const COMPARES: u32 = 2;

pub(super) fn write(text: &mut String, resources: &ResourceDefinitions) {
    let Some(first) = resources.bindings.first() else { return };
    let (id, line) = if first.space.is_some() { ("ID      ", "------- ") } else { ("", "") };
    text.push_str("//\n// Resource Bindings:\n//\n");
    let _ = writeln!(
        text,
        "// Name                                 Type  Format         Dim      {id}HLSL Bind  Count"
    );
    let _ = writeln!(
        text,
        "// ------------------------------ ---------- ------- ----------- {line}-------------- ------"
    );
    for binding in &resources.bindings {
        row(text, binding);
    }
    text.push_str("//\n");
}

fn row(text: &mut String, binding: &Binding) {
    let fields = &binding.fields;
    let kind = match fields.input_type {
        InputType::CBUFFER => "cbuffer",
        InputType::TBUFFER => "tbuffer",
        InputType::SAMPLER if fields.flags.0 & COMPARES != 0 => "sampler_c",
        InputType::SAMPLER => "sampler",
        InputType::TEXTURE | InputType::STRUCTURED | InputType::BYTE_ADDRESS => "texture",
        _ => "UAV",
    };
    let prefix = match kind {
        "cbuffer" => "cb",
        "tbuffer" | "texture" => "t",
        "UAV" => "u",
        _ => "s",
    };
    let name = shown(&binding.name.0);
    let _ = write!(text, "// {name:30} {kind:>10} {:>7} {:>11} ", format(binding), dimension(binding));
    let mut place = format!("{prefix}{}", fields.register);
    if let Some(space) = &binding.space {
        let _ = write!(text, "{:>7} ", format!("{}{}", prefix.to_ascii_uppercase(), space.id));
        if space.space != 0 {
            let _ = write!(place, ",space{}", space.space);
        }
    }
    let _ = match fields.count {
        0 => writeln!(text, "{place:>14} unbounded "),
        count => writeln!(text, "{place:>14} {count:6} "),
    };
}

/// Returns the format of its elements.
fn format(binding: &Binding) -> String {
    let fields = &binding.fields;
    match fields.input_type {
        InputType::CBUFFER | InputType::TBUFFER | InputType::SAMPLER => "NA".to_owned(),
        InputType::BYTE_ADDRESS | InputType::UAV_RW_BYTE_ADDRESS => "byte".to_owned(),
        InputType::TEXTURE | InputType::UAV_RW_TYPED => {
            let name = match fields.return_type {
                1 => "unorm",
                2 => "snorm",
                3 => "sint",
                4 => "uint",
                5 => "float",
                6 => "mixed",
                7 => "double",
                _ => "unknown",
            };
            match fields.flags.0 >> 2 & 3 {
                0 => name.to_owned(),
                components => format!("{name}{}", components + 1),
            }
        }
        _ => "struct".to_owned(),
    }
}

/// Returns its dimension, or its kind of access.
fn dimension(binding: &Binding) -> String {
    let fields = &binding.fields;
    let name = match fields.input_type {
        InputType::CBUFFER | InputType::TBUFFER | InputType::SAMPLER => "NA",
        InputType::STRUCTURED | InputType::BYTE_ADDRESS => "r/o",
        InputType::UAV_RW_STRUCTURED | InputType::UAV_RW_BYTE_ADDRESS => "r/w",
        InputType::UAV_APPEND_STRUCTURED => "append",
        InputType::UAV_CONSUME_STRUCTURED => "consume",
        InputType::UAV_RW_STRUCTURED_WITH_COUNTER => "r/w+cnt",
        _ => match fields.dimension {
            1 => "buf",
            2 => "1d",
            3 => "1darray",
            4 => "2d",
            5 => "2darray",
            6 => "2dMS",
            7 => "2darrayMS",
            8 => "3d",
            9 => "cube",
            10 => "cubearray",
            _ => "unknown",
        },
    };
    match (name, fields.samples) {
        ("2dMS" | "2darrayMS", samples) if samples != 0 && samples != u32::MAX => format!("{name}{samples}"),
        _ => name.to_owned(),
    }
}
