//! `unshade types` in every format, against the table in MetalLibraryArchive's README, which its own tool
//! (`metal-data-type-tools gen-markdown`, `gen-swift`) writes: the values, and the names after `MTLDataType`.

use std::process::Command;

/// Runs of names by the value of the first. 0x39 and 0x3D are unused.
const TABLE: [(u8, &str); 3] = [
    (
        0x00,
        "None Struct Array Float Float2 Float3 Float4 Float2x2 Float2x3 Float2x4 Float3x2 Float3x3 \
         Float3x4 Float4x2 Float4x3 Float4x4 Half Half2 Half3 Half4 Half2x2 Half2x3 Half2x4 Half3x2 \
         Half3x3 Half3x4 Half4x2 Half4x3 Half4x4 Int Int2 Int3 Int4 UInt UInt2 UInt3 UInt4 Short Short2 \
         Short3 Short4 UShort UShort2 UShort3 UShort4 Char Char2 Char3 Char4 UChar UChar2 UChar3 UChar4 \
         Bool Bool2 Bool3 Bool4",
    ),
    (0x3a, "Texture Sampler Pointer"),
    (
        0x3e,
        "R8Unorm R8Snorm R16Unorm R16Snorm RG8Unorm RG8Snorm RG16Unorm RG16Snorm RGBA8Unorm \
         RGBA8Unorm_sRGB RGBA8Snorm RGBA16Unorm RGBA16Snorm RGB10A2Unorm RG11B10Float RGB9E5Float \
         RenderPipeline ComputePipeline IndirectCommandBuffer Long Long2 Long3 Long4 ULong ULong2 ULong3 \
         ULong4 Double Double2 Double3 Double4 Float8 Float16 Half8 Half16 Int8 Int16 UInt8 UInt16 Short8 \
         Short16 UShort8 UShort16 Char8 Char16 UChar8 UChar16 Long8 Long16 ULong8 ULong16 Double8 \
         Double16 VisibleFunctionTable IntersectionFunctionTable PrimitiveAccelerationStructure \
         InstanceAccelerationStructure Bool8 Bool16",
    ),
];

fn types(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_unshade")).arg("types").args(arguments).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The values and names of the table.
fn rows() -> Vec<(u8, &'static str)> {
    let rows = TABLE.iter().flat_map(|(first, names)| (*first..).zip(names.split_whitespace()));
    rows.collect()
}

#[test]
fn the_table_has_all_rows_of_the_document() {
    assert_eq!(rows().len(), 119);
    assert_eq!((rows()[0], rows()[rows().len() - 1]), ((0, "None"), (0x78, "Bool16")));
}

#[test]
fn markdown_is_the_table_of_the_document() {
    // Two pairs of columns, filled row by row: the document's own layout, down to the case of the digits.
    let markdown = types(&[]);
    let mut lines = markdown.lines();
    assert_eq!(lines.next(), Some("| Value | Type | Value | Type |"));
    assert_eq!(lines.next(), Some("| --- | --- | --- | --- |"));
    for (line, pair) in lines.zip(rows().chunks(2)) {
        let cells: Vec<_> = pair.iter().map(|(value, name)| format!("0x{value:02X} | {name}")).collect();
        assert!(line.starts_with(&format!("| {}", cells.join(" | "))), "{line}");
    }
    assert_eq!(types(&["--columns", "1"]).lines().count(), 2 + rows().len() + 6, "six newer types");
}

#[test]
fn every_format_has_every_value_and_name() {
    let formats =
        ["markdown", "json", "rust", "swift", "c"].map(|format| (format, types(&["--format", format])));
    for (value, name) in rows() {
        let in_code = format!("MTLDataType{name}: ");
        for (format, text) in &formats {
            let found = match *format {
                "markdown" => text.contains(&format!("| 0x{value:02X} | {name} |")),
                "json" => {
                    let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
                    let rows = json["types"].as_array().expect("a list");
                    rows.iter().any(|row| row["value"] == value && row["name"] == name)
                }
                // A comment before or after the value, which has the name as Metal's headers spell it.
                "c" => text
                    .lines()
                    .any(|line| line.contains(&in_code) && line.contains(&format!(" = {value:#04x},"))),
                _ => text.replace('`', "").split_once(&in_code).is_some_and(|(_, rest)| {
                    rest.lines().nth(1).is_some_and(|line| line.contains(&format!(" = {value:#04x}")))
                }),
            };
            assert!(found, "{format}: {value:#04x} {name}");
        }
    }
}
