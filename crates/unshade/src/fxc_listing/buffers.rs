//! Writes constant buffers and the elements of structured buffers, including members of structures.

use super::shown;
use std::borrow::Cow;
use std::fmt::Write;
use unshade_dxcontainer::rdef::{Buffer, DataType, ResourceDefinitions, Variable};

/// Column of the comments.
const COLUMN: usize = 40;
/// Flag of a used variable.
const USED: u32 = 2;
/// Maximum nesting depth of structures: in hostile files they may contain themselves.
const MAX_DEPTH: usize = 16;
/// Maximum size of the table: in hostile files structures may expand exponentially.
const MAX_TEXT: usize = 16 << 20;
/// Classes of types.
const SCALAR: u16 = 0;
const VECTOR: u16 = 1;
const ROW_MAJOR: u16 = 2;
const COLUMN_MAJOR: u16 = 3;
const STRUCTURE: u16 = 5;
const CLASS: u16 = 6;
const INTERFACE: u16 = 7;

pub(super) fn write(text: &mut String, resources: &ResourceDefinitions) {
    if resources.buffers.is_empty() {
        return;
    }
    text.push_str("//\n// Buffer Definitions: \n//\n");
    for buffer in &resources.buffers {
        head(text, buffer);
        for (number, variable) in buffer.variables.iter().enumerate() {
            Writer { text, resources }.variable(variable, number == 0);
        }
        text.push_str("//\n// }\n//\n");
    }
}

fn head(text: &mut String, buffer: &Buffer) {
    let word = match buffer.fields.buffer_type {
        0 => "cbuffer",
        1 => "tbuffer",
        2 => "interfaces",
        _ => "Resource bind info for",
    };
    let _ = write!(text, "// {word} {}\n// {{\n//\n", shown(&buffer.name.0));
}

struct Writer<'a> {
    text: &'a mut String,
    resources: &'a ResourceDefinitions,
}

impl Writer<'_> {
    fn variable(&mut self, variable: &Variable, is_first: bool) {
        let fields = &variable.fields;
        let name = shown(&variable.name.0);
        self.declaration(fields.type_offset.0, &name, fields.start, 0, is_first);
        let _ = write!(self.text, " Size: {:5}", fields.size);
        if fields.flags.0 & USED == 0 {
            self.text.push_str(" [unused]");
        }
        self.text.push('\n');
        self.default_value(&variable.default.0);
    }

    fn default_value(&mut self, value: &[u8]) {
        for (row, line) in value.chunks(16).enumerate() {
            self.text.push_str(if row == 0 { "//      = " } else { "//        " });
            for word in line.chunks_exact(4) {
                let bits = word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
                let _ = write!(self.text, "0x{bits:08x} ");
            }
            self.text.push('\n');
        }
    }

    /// Writes a variable or member, up to its offset.
    fn declaration(&mut self, type_offset: u32, name: &str, start: u32, depth: usize, is_first: bool) {
        let Some(data_type) = self.resources.data_type(type_offset) else { return };
        let indent = " ".repeat(2 + 4 * depth);
        let is_structure = matches!(data_type.fields.class, STRUCTURE | CLASS);
        let mut line = format!("// {indent}");
        if is_structure && depth < MAX_DEPTH && self.text.len() < MAX_TEXT {
            // Types have names since Shader Model 5.
            let class = data_type.name.as_ref().map(|_| format!(" {}", type_name(data_type, "<unnamed>")));
            let class = class.unwrap_or_default();
            if !is_first {
                let _ = writeln!(self.text, "// {indent}");
            }
            let _ = write!(self.text, "// {indent}struct{class}\n// {indent}{{\n// {indent}    \n");
            for (number, member) in data_type.members.iter().enumerate() {
                let start = start.wrapping_add(member.fields.start);
                let name = shown(&member.name.0);
                self.declaration(member.fields.type_offset.0, &name, start, depth + 1, number == 0);
                self.text.push('\n');
            }
            self.text.push_str("//\n");
            let _ = write!(line, "}} {name}");
        } else {
            let _ = write!(line, "{} {name}", type_text(data_type));
        }
        // FXC shows an array with one element as its element.
        if data_type.fields.elements > 1 {
            let _ = write!(line, "[{}]", data_type.fields.elements);
        }
        line.push(';');
        let _ = write!(self.text, "{line:COLUMN$}// Offset: {start:4}");
    }
}

/// Returns the name of a class, structure or interface, or `otherwise` if it has none.
fn type_name<'a>(data_type: &'a DataType, otherwise: &'a str) -> Cow<'a, str> {
    match &data_type.name {
        Some(name) if !name.0.is_empty() => shown(&name.0),
        _ => otherwise.into(),
    }
}

/// Returns a type in HLSL syntax.
fn type_text(data_type: &DataType) -> Cow<'_, str> {
    let fields = &data_type.fields;
    let base = base_name(fields.base);
    match fields.class {
        SCALAR => base.into(),
        VECTOR => format!("{base}{}", fields.columns).into(),
        ROW_MAJOR => format!("row_major {base}{}x{}", fields.rows, fields.columns).into(),
        COLUMN_MAJOR => format!("{base}{}x{}", fields.rows, fields.columns).into(),
        INTERFACE => format!("interface {}", type_name(data_type, "")).into(),
        STRUCTURE | CLASS => format!("struct {}", type_name(data_type, "")).into(),
        _ => type_name(data_type, base),
    }
}

/// Returns the name of a component type.
pub(super) fn base_name(base: u16) -> &'static str {
    match base {
        0 => "void",
        1 => "bool",
        2 => "int",
        3 => "float",
        4 => "string",
        5 => "texture",
        6 => "Texture1D",
        7 => "Texture2D",
        8 => "Texture3D",
        9 => "TextureCube",
        10 => "SamplerState",
        19 => "uint",
        20 => "uint8",
        39 => "double",
        52 => "min8float",
        53 => "min10float",
        54 => "min16float",
        55 => "min12int",
        56 => "min16int",
        57 => "min16uint",
        _ => "<unknown>",
    }
}
