//! What a shader wrote, as tables and as data.

use super::shader::Wanted;
use crate::output::Stdout;
use crate::paint::{faint, grouped, name};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use unshade::decompiler::ir::shader::interface::ShaderProgram;
use unshade::run::shader::lane_name;
use unshade::view::SCHEMA;
use unshade_emulate::argument::Scalar;
use unshade_emulate::shader::{Mesh, Number, Outputs, Register, Semantic, StreamEvent};

/// Components of elements, by semantic with index.
type Elements = BTreeMap<String, Vec<String>>;

#[derive(Serialize)]
pub(super) struct ShaderJson {
    schema: u32,
    entry: String,
    profile: String,
    /// Vertices, pixels or control points; `null` for pixels that were discarded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lanes: Vec<Option<Elements>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    patch: Elements,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    primitives: Vec<Vec<VertexJson>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    meshes: Vec<MeshJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dispatches: Vec<[u32; 3]>,
    buffers: Vec<BufferJson>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    counters: BTreeMap<String, u32>,
}

/// A vertex of a stream; without elements, the end of a strip.
#[derive(Serialize)]
struct VertexJson {
    stream: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<Elements>,
}

#[derive(Serialize)]
struct MeshJson {
    counts: [u32; 2],
    vertices: BTreeMap<u32, Elements>,
    primitives: BTreeMap<u32, Elements>,
    indices: BTreeMap<u32, [u64; 3]>,
}

#[derive(Serialize)]
struct BufferJson {
    register: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texels: Vec<TexelJson>,
}

#[derive(Serialize)]
struct TexelJson {
    at: [u32; 5],
    values: [String; 4],
}

pub(super) fn json(program: &ShaderProgram, outputs: &Outputs, wanted: &[Wanted<'_>]) -> ShaderJson {
    let vertex = |event: &StreamEvent| match event {
        StreamEvent::Vertex(stream, vertex) => {
            VertexJson { stream: *stream, elements: Some(elements(vertex)) }
        }
        StreamEvent::Cut(stream) => VertexJson { stream: *stream, elements: None },
    };
    let mesh = |mesh: &Mesh| MeshJson {
        counts: mesh.counts,
        vertices: by_number(&mesh.vertices),
        primitives: by_number(&mesh.primitives),
        indices: mesh.indices.clone(),
    };
    let mut buffers: Vec<BufferJson> = outputs
        .buffers
        .iter()
        .map(|(register, bytes)| {
            let scalar = scalar_of(wanted, *register);
            BufferJson {
                register: register.to_string(),
                ty: scalar.map(Scalar::name),
                size: Some(bytes.len()),
                values: scalar.map_or_else(Vec::new, |scalar| {
                    bytes.chunks_exact(scalar.size()).map(|number| scalar.show(number)).collect()
                }),
                texels: Vec::new(),
            }
        })
        .collect();
    buffers.extend(outputs.texels.iter().map(|(register, texels)| {
        BufferJson {
            register: register.to_string(),
            ty: None,
            size: None,
            values: Vec::new(),
            texels: texels
                .iter()
                .map(|(at, texel)| TexelJson { at: *at, values: texel.map(|number| number.to_string()) })
                .collect(),
        }
    }));
    ShaderJson {
        schema: SCHEMA,
        entry: entry(program),
        profile: program.profile(),
        lanes: outputs.lanes.iter().map(|lane| lane.as_ref().map(elements)).collect(),
        patch: elements(&outputs.patch),
        primitives: outputs.streams.iter().map(|events| events.iter().map(vertex).collect()).collect(),
        meshes: outputs.meshes.iter().map(mesh).collect(),
        dispatches: outputs.dispatches.iter().map(|dispatch| dispatch.0).collect(),
        buffers,
        counters: outputs.counters.iter().map(|(register, count)| (register.to_string(), *count)).collect(),
    }
}

fn entry(program: &ShaderProgram) -> String {
    program.functions.first().map(|entry| entry.name.clone()).unwrap_or_default()
}

/// Returns the type that a register is printed with; `None` if it is not to be printed.
fn scalar_of(wanted: &[Wanted<'_>], register: Register) -> Option<Scalar> {
    let wanted = wanted.iter().find(|wanted| wanted.register == register && wanted.path.is_none())?;
    Some(wanted.scalar.unwrap_or(Scalar::Unsigned(4)))
}

/// Returns components by element. Columns that were not written are `?`.
fn elements(numbers: &BTreeMap<Semantic, Number>) -> Elements {
    let mut found = Elements::new();
    for ((semantic, index, column), number) in numbers {
        let values = found.entry(format!("{semantic}{index}")).or_default();
        values.resize(values.len().max(usize::from(*column)), "?".into());
        values.push(number.to_string());
    }
    found
}

fn by_number(numbers: &BTreeMap<(u32, Semantic), Number>) -> BTreeMap<u32, Elements> {
    let mut found: BTreeMap<u32, BTreeMap<Semantic, Number>> = BTreeMap::new();
    for ((number, semantic), value) in numbers {
        found.entry(*number).or_default().insert(semantic.clone(), *value);
    }
    found.iter().map(|(number, all)| (*number, elements(all))).collect()
}

pub(super) fn print(
    program: &ShaderProgram,
    outputs: &Outputs,
    wanted: &[Wanted<'_>],
    stdout: &mut Stdout,
) -> Result<()> {
    writeln!(stdout, "{}   {}", name(entry(program)), program.profile())?;
    let rows = outputs.lanes.iter().enumerate();
    let rows: Vec<_> = rows.map(|(number, lane)| (number.to_string(), lane.as_ref().map(elements))).collect();
    table(lane_name(program.stage), &rows, "discarded", stdout)?;
    if !outputs.patch.is_empty() {
        table("patch", &[(String::new(), Some(elements(&outputs.patch)))], "", stdout)?;
    }
    for (number, events) in outputs.streams.iter().enumerate() {
        let row = |event: &StreamEvent| match event {
            StreamEvent::Vertex(stream, vertex) => (format!("stream {stream}"), Some(elements(vertex))),
            StreamEvent::Cut(stream) => (format!("stream {stream}"), None),
        };
        let rows: Vec<_> = events.iter().map(row).collect();
        table(&format!("primitive {number}"), &rows, "end of the strip", stdout)?;
    }
    for (number, mesh) in outputs.meshes.iter().enumerate() {
        let [vertices, primitives] = mesh.counts;
        writeln!(stdout, "group {number}: {vertices} vertices, {primitives} primitives")?;
        for (what, all) in [("vertex", &mesh.vertices), ("primitive", &mesh.primitives)] {
            let rows: Vec<_> =
                by_number(all).into_iter().map(|(number, row)| (number.to_string(), Some(row))).collect();
            table(what, &rows, "", stdout)?;
        }
        for (primitive, indices) in &mesh.indices {
            writeln!(stdout, "  primitive {primitive}: {}, {}, {}", indices[0], indices[1], indices[2])?;
        }
    }
    for (groups, payload) in &outputs.dispatches {
        let [x, y, z] = groups;
        writeln!(
            stdout,
            "dispatches {x} × {y} × {z} groups, payload of {} bytes",
            grouped(payload.len() as u64)
        )?;
    }
    memory(outputs, wanted, stdout)
}

fn memory(outputs: &Outputs, wanted: &[Wanted<'_>], stdout: &mut Stdout) -> Result<()> {
    for (register, bytes) in &outputs.buffers {
        let Some(scalar) = scalar_of(wanted, *register) else {
            writeln!(stdout, "{register}: {} bytes", grouped(bytes.len() as u64))?;
            continue;
        };
        writeln!(stdout, "{register}: {}[{}]", scalar.name(), bytes.len() / scalar.size())?;
        for (line, numbers) in bytes.chunks(8 * scalar.size()).enumerate() {
            write!(stdout, "  {}", faint(format!("{:>6}", line * 8)))?;
            for number in numbers.chunks_exact(scalar.size()) {
                write!(stdout, " {:>12}", scalar.show(number))?;
            }
            writeln!(stdout)?;
        }
    }
    for (register, texels) in &outputs.texels {
        writeln!(stdout, "{register}: {} texels", grouped(texels.len() as u64))?;
        if !wanted.iter().any(|wanted| wanted.register == *register && wanted.path.is_none()) {
            continue;
        }
        for ([x, y, z, ..], texel) in texels {
            let [red, green, blue, alpha] = texel.map(|number| number.to_string());
            writeln!(stdout, "  {}  {red} {green} {blue} {alpha}", faint(format!("{x:>4},{y},{z}")))?;
        }
    }
    for (register, count) in &outputs.counters {
        writeln!(stdout, "{register}: counter {count}")?;
    }
    Ok(())
}

/// Prints rows of elements. The columns are those of all rows.
fn table(title: &str, rows: &[(String, Option<Elements>)], missing: &str, stdout: &mut Stdout) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut widths: BTreeMap<&str, usize> = BTreeMap::new();
    for (semantic, values) in rows.iter().filter_map(|row| row.1.as_ref()).flatten() {
        let width = values.join(" ").len().max(semantic.len());
        let known = widths.entry(semantic).or_default();
        *known = width.max(*known);
    }
    let first = rows.iter().map(|row| row.0.len()).max().unwrap_or(0).max(title.len());
    let mut head = format!("{title:<first$}");
    for (semantic, width) in &widths {
        head.push_str(&format!("  {semantic:<width$}"));
    }
    writeln!(stdout, "{}", faint(head.trim_end()))?;
    for (label, row) in rows {
        let mut line = format!("{label:>first$}");
        match row {
            Some(row) => {
                for (semantic, width) in &widths {
                    let text = row.get(*semantic).map(|values| values.join(" ")).unwrap_or_default();
                    line.push_str(&format!("  {text:<width$}"));
                }
            }
            None => line.push_str(&format!("  {missing}")),
        }
        writeln!(stdout, "{}", line.trim_end())?;
    }
    Ok(())
}
