//! Writes signatures: inputs, outputs, patch constants, and parameters of library functions.

use super::{DOMAIN_SHADER, PIXEL, Parts, shown};
use std::fmt::Write;
use unshade_dxcontainer::library::{FunctionSignature, Parameter};
use unshade_dxcontainer::signature::{ComponentType, Element, MinPrecision, Signature, SystemValue};

/// Names of system values, by number.
const SYSTEM_VALUES: [(u32, &str); 23] = [
    (1, "POS"),
    (2, "CLIPDST"),
    (3, "CULLDST"),
    (4, "RTINDEX"),
    (5, "VPINDEX"),
    (6, "VERTID"),
    (7, "PRIMID"),
    (8, "INSTID"),
    (9, "FFACE"),
    (10, "SAMPLE"),
    (11, "QUADEDGE"),
    (12, "QUADINT"),
    (13, "TRIEDGE"),
    (14, "TRIINT"),
    (15, "LINEDET"),
    (16, "LINEDEN"),
    (64, "TARGET"),
    (65, "DEPTH"),
    (66, "COVERAGE"),
    (67, "DEPTHGE"),
    (68, "DEPTHLE"),
    (69, "STENCILREF"),
    (70, "INNERCOV"),
];

/// Values without a register: semantic, number, text in the register column. FXC aligns one of them differently.
const SPECIAL: [(&str, u32, &str); 7] = [
    ("SV_Target", 64, ""),
    ("SV_Depth", 65, "oDepth"),
    ("SV_Coverage", 66, "oMask"),
    ("SV_DepthGreaterEqual", 67, "oDepthGE"),
    ("SV_DepthLessEqual", 68, "oDepthLE"),
    ("SV_StencilRef", 69, "   oStencilRef"),
    ("SV_InnerCoverage", 70, ""),
];

/// Direction of a signature, which decides how the mask of used components is read.
#[derive(Clone, Copy)]
enum Direction {
    Read,
    Written,
}

pub(super) fn write(text: &mut String, parts: &Parts, kind: u32) {
    if let Some(function) = &parts.function {
        function_signature(text, function);
        return;
    }
    if let Some(patch) = &parts.patch {
        let direction = if kind == DOMAIN_SHADER { Direction::Read } else { Direction::Written };
        table(text, "Patch Constant", "Patch Constant", patch, direction, kind);
    }
    if let Some(input) = &parts.input {
        table(text, "Input", "Input", input, Direction::Read, kind);
    }
    if let Some(output) = &parts.output {
        table(text, "Output", "Output", output, Direction::Written, kind);
    }
}

fn table(text: &mut String, title: &str, none: &str, signature: &Signature, direction: Direction, kind: u32) {
    let _ = write!(text, "//\n// {title} signature:\n//\n");
    text.push_str("// Name                 Index   Mask Register SysValue  Format   Used\n");
    text.push_str("// -------------------- ----- ------ -------- -------- ------- ------\n");
    if signature.elements.is_empty() {
        let _ = writeln!(text, "// no {none}");
        return;
    }
    let streams = signature.elements.iter().any(|element| element.stream != 0);
    for element in &signature.elements {
        row(text, element, streams, direction, kind);
    }
    text.push_str("//\n");
}

fn row(text: &mut String, element: &Element, streams: bool, direction: Direction, kind: u32) {
    let core = &element.core;
    let mut name = shown(&element.name.0);
    if streams {
        name = format!("m{}:{name}", element.stream).into();
    }
    let used = match direction {
        Direction::Read => core.exclusive_mask,
        Direction::Written => !core.exclusive_mask,
    };
    let _ = write!(text, "// {name:20} {:5} ", core.index);
    let has_register = core.register != u32::MAX;
    if has_register {
        let _ = write!(text, "  {} {:8}", letters(core.mask), core.register);
    } else {
        let _ = write!(text, "   N/A {:>8}", special_register(element));
    }
    let _ = write!(text, " {:>8} {:>7}   ", system_value(element, kind), component_type(element));
    let _ = match (has_register, used & 15) {
        (true, used) => writeln!(text, "{}", letters(used)),
        (false, 0) => writeln!(text, " NO"),
        (false, _) => writeln!(text, " YES"),
    };
}

/// Returns the components of a mask, with spaces for missing ones.
fn letters(mask: u8) -> &'static str {
    const LETTERS: [&str; 16] = [
        "    ", "x   ", " y  ", "xy  ", "  z ", "x z ", " yz ", "xyz ", "   w", "x  w", " y w", "xy w",
        "  zw", "x zw", " yzw", "xyzw",
    ];
    LETTERS.get(usize::from(mask & 15)).copied().unwrap_or_default()
}

fn special(element: &Element) -> Option<&'static (&'static str, u32, &'static str)> {
    let name = element.name.as_str()?;
    SPECIAL.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(name))
}

fn special_register(element: &Element) -> &'static str {
    if element.core.system_value == SystemValue::PRIMITIVE_ID {
        return "primID";
    }
    special(element)
        .map(|(_, _, register)| *register)
        .filter(|register| !register.is_empty())
        .unwrap_or("special")
}

fn system_value(element: &Element, kind: u32) -> &'static str {
    let mut number = element.core.system_value.0;
    // FXC stores no system values for outputs of pixel shaders.
    if number == 0 && kind == PIXEL {
        number = special(element).map_or(0, |(_, number, _)| *number);
    }
    SYSTEM_VALUES.iter().find(|(known, _)| *known == number).map_or("NONE", |(_, name)| name)
}

fn component_type(element: &Element) -> &'static str {
    match (element.core.component_type, element.min_precision) {
        (ComponentType::FLOAT32, MinPrecision::FLOAT16) => "min16f",
        (ComponentType::FLOAT32, MinPrecision::FLOAT2_8) => "min2_8f",
        (ComponentType::SINT32, MinPrecision::SINT16) => "min16i",
        (ComponentType::UINT32, MinPrecision::UINT16) => "min16u",
        (ComponentType::UINT32, _) => "uint",
        (ComponentType::SINT32, _) => "int",
        (ComponentType::FLOAT32, _) => "float",
        _ => "unknown",
    }
}

fn function_signature(text: &mut String, function: &FunctionSignature) {
    let returns = function.parameters.first().is_some_and(|first| first.fields.flags.0 & OUT != 0);
    let (word, count) = match returns {
        true => ("yes", function.parameters.len().saturating_sub(1)),
        false => ("no", function.parameters.len()),
    };
    let _ = write!(text, "//\n// Function parameter signature (return: {word}, parameters: {count}):\n//\n");
    let _ = writeln!(
        text,
        "// {:20} {:20} {:15} {:16} {:30} ",
        "Name", "SemanticName", "In 1st,Num,Mask", "Out 1st,Num,Mask", "Type"
    );
    let line = |length| "-".repeat(length);
    let _ = writeln!(text, "// {} {} {} {} {} ", line(20), line(20), line(15), line(16), line(30));
    for parameter in &function.parameters {
        parameter_row(text, parameter);
    }
    text.push_str("//\n");
}

/// Flags of parameters.
const IN: u32 = 1;
const OUT: u32 = 2;

fn parameter_row(text: &mut String, parameter: &Parameter) {
    let fields = &parameter.fields;
    let name = parameter.name.as_ref().map(|name| shown(&name.0)).unwrap_or_default();
    let semantic = parameter.semantic.as_ref().map(|name| shown(&name.0)).unwrap_or_default();
    let registers = |letter: char, register: u32, component: u32| {
        let mask = ((1u32 << fields.columns.min(4)) - 1) << component.min(3);
        let mask = letters(u8::try_from(mask & 15).unwrap_or(0));
        format!("{:>3} {:4}   {mask}", format!("{letter}{register}"), fields.rows)
    };
    let inputs = match fields.flags.0 & IN {
        0 => String::new(),
        _ => registers('v', fields.first_in_register, fields.first_in_component),
    };
    let outputs = match fields.flags.0 & OUT {
        0 => String::new(),
        _ => registers('o', fields.first_out_register, fields.first_out_component),
    };
    let way = match fields.flags.0 & (IN | OUT) {
        IN => "in ",
        OUT => "out ",
        3 => "inout ",
        _ => "",
    };
    let base = super::buffers::base_name(u16::try_from(fields.base).unwrap_or(u16::MAX));
    let data_type = match fields.class {
        0 => base.to_owned(),
        1 => format!("{base}{}", fields.columns),
        _ => format!("{base}{}x{}", fields.rows, fields.columns),
    };
    let _ = writeln!(text, "// {name:20} {semantic:20} {inputs:>15} {outputs:>16} {way}{data_type}");
}
