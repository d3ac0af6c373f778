//! `unshade types`: prints the table of Metal data types.

use crate::Outcome;
use crate::args::{GlobalArgs, TypesArgs, TypesFormat};
use crate::output::write_text;
use anyhow::Result;
use std::fmt::Write;
use unshade::metallib::data_type::{DATA_TYPES, DataTypeRow};

pub(crate) fn run(args: &TypesArgs, global: &GlobalArgs) -> Result<Outcome> {
    let format = if global.json { TypesFormat::Json } else { args.format };
    let text = match format {
        TypesFormat::Markdown => markdown(usize::from(args.columns)),
        TypesFormat::Json => json()?,
        TypesFormat::Rust => lines("#[repr(u8)]\npub enum MetalDataType {\n", "}\n", |row| {
            let name = row.name.replace("_sRGB", "Srgb");
            format!("    /// `MTLDataType{}`: `{}`\n    {name} = {:#04x},\n", row.name, row.metal, row.value)
        }),
        TypesFormat::Swift => lines("enum MetalDataType: UInt8 {\n", "}\n", |row| {
            let name = lower_camel(row.name);
            let name = if ["none", "struct"].contains(&name.as_str()) { format!("`{name}`") } else { name };
            format!(
                "    /// `MTLDataType{}`: `{}`\n    case {name} = {:#04x}\n",
                row.name, row.metal, row.value
            )
        }),
        TypesFormat::C => lines("enum metal_data_type {\n", "};\n", |row| {
            let name = upper_snake(row.name);
            format!(
                "    METAL_DATA_TYPE_{name} = {:#04x}, /* MTLDataType{}: {} */\n",
                row.value, row.name, row.metal
            )
        }),
    };
    write_text(&args.output, &text)?;
    Ok(Outcome::Done)
}

/// Returns the types in pairs of columns, filled row by row, as in the table of MetalLibraryArchive.
fn markdown(columns: usize) -> String {
    let mut text = String::new();
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    text.push_str(&line(&["Value", "Type"].repeat(columns)));
    text.push_str(&line(&["---", "---"].repeat(columns)));
    for rows in DATA_TYPES.chunks(columns) {
        let numbers: Vec<_> = rows.iter().map(|row| format!("0x{:02X}", row.value)).collect();
        let mut cells: Vec<_> =
            numbers.iter().zip(rows).flat_map(|(number, row)| [number.as_str(), row.name]).collect();
        cells.resize(columns * 2, "");
        text.push_str(&line(&cells));
    }
    text
}

fn json() -> Result<String> {
    let rows: Vec<_> = DATA_TYPES
        .iter()
        .map(|row| serde_json::json!({ "value": row.value, "name": row.name, "metal": row.metal }))
        .collect();
    let value = serde_json::json!({ "schema": unshade::view::SCHEMA, "types": rows });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn lines(head: &str, tail: &str, line: impl Fn(&DataTypeRow) -> String) -> String {
    let mut text = head.to_owned();
    for row in DATA_TYPES {
        text.push_str(&line(row));
    }
    text + tail
}

/// Converts `RGBA8Unorm_sRGB` to `rgba8Unorm_sRGB`, `UInt2` to `uint2`, `Float4x4` to `float4x4`.
fn lower_camel(name: &str) -> String {
    let head = name.chars().take_while(|c| c.is_ascii_uppercase()).count();
    // In `UShort` and `BFloat` the second capital does not start a new word.
    let (head, rest) = name.split_at(head);
    format!("{}{rest}", head.to_lowercase())
}

fn upper_snake(name: &str) -> String {
    let mut text = String::new();
    let mut previous = ' ';
    for c in name.chars() {
        if c.is_ascii_uppercase() && previous.is_ascii_lowercase() && previous != 's' {
            text.push('_');
        }
        previous = c;
        // Writing to a String can't fail.
        let _ = write!(text, "{}", c.to_ascii_uppercase());
    }
    text
}
