//! DirectX shaders: registers, inputs, launches.

use super::{MAX_INSTRUCTIONS, MAX_MEMORY, RunJob, at_row, buffers, check_grid, recording, trace_view};
use crate::hlsl;
use crate::instruction_bytes::InstructionBytes;
use crate::query::{
    Answer, ByteRange, Fault, Launch, ParameterRow, ParametersAnswer, RunAnswer, RunFault, Table, TableRow,
};
use std::collections::{BTreeMap, BTreeSet};
use unshade_decompile::ir::shader::data_type::{DataType, ScalarKind};
use unshade_decompile::ir::shader::interface::{
    Element, Resource, ResourceClass, ShaderProgram, Shape, Stage,
};
use unshade_dxcontainer::Container;
use unshade_emulate::argument::{Given, Reader, Scalar};
use unshade_emulate::shader::{
    Inputs, Limits, Number, Outputs, Register, Semantic, StreamEvent, run, run_recorded,
};

/// The maximum number of calls and branches inside each other.
const MAX_DEPTH: usize = 1024;

/// The maximum number of rows of a table of outputs.
const MAX_ROWS: usize = 1024;

/// The prefix of names of inputs.
const INPUT: &str = "input ";

/// Parses the contents of a register.
///
/// # Errors
/// The text is no buffer.
pub fn contents(text: &str, reader: &Reader<'_>) -> Result<(Option<Scalar>, Vec<u8>), String> {
    match reader.read(text)? {
        Given::Buffer(scalar, bytes) => Ok((scalar, bytes)),
        Given::Unset(scalar, size) => Ok((Some(scalar), vec![0; size])),
        _ => Err("a register holds a buffer, such as f32[4]=1,2 or file:data.bin".into()),
    }
}

/// Parses `t0` or `u1.space2`.
///
/// # Errors
/// The text is no register.
pub fn register(text: &str) -> Result<Register, String> {
    let fault =
        |why: &dyn std::fmt::Display| format!("'{text}' is no register such as t0, u1 or b2.space1{why}");
    let (name, space) = text.split_once(".space").unwrap_or((text, "0"));
    let class = match name.get(..1) {
        Some("t") => ResourceClass::ShaderResource,
        Some("u") => ResourceClass::UnorderedAccess,
        Some("b") => ResourceClass::ConstantBuffer,
        _ => return Err(fault(&"")),
    };
    let number = |text: &str| text.parse::<u32>().map_err(|error| fault(&format!(": {error}")));
    Ok(Register { class, number: number(name.get(1..).unwrap_or_default())?, space: number(space)? })
}

/// Parses a semantic: `TEXCOORD1`.
///
/// # Errors
/// The index is too large.
pub fn semantic(name: &str) -> Result<(String, u32), String> {
    let semantic = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = name.get(semantic.len()..).unwrap_or_default();
    let index = if digits.is_empty() { Ok(0) } else { digits.parse() };
    Ok((semantic.to_owned(), index.map_err(|error| format!("'{name}': {error}"))?))
}

/// Parses numbers separated by commas.
///
/// # Errors
/// One is no number.
pub fn numbers(text: &str) -> Result<Vec<f64>, String> {
    let number = |text: &str| {
        text.trim().parse::<f64>().map_err(|error| format!("'{}' is no number: {error}", text.trim()))
    };
    text.split(',').map(number).collect()
}

/// Returns whether a shader has an input with a semantic.
pub fn has_input(program: &ShaderProgram, semantic: &str) -> bool {
    let elements =
        program.functions.iter().flat_map(|function| function.inputs.iter().chain(&function.patch));
    elements.into_iter().any(|element| element.semantic.eq_ignore_ascii_case(semantic))
}

fn lifted(job: &RunJob) -> Answer<(ShaderProgram, InstructionBytes)> {
    let container = Container::parse_at(&job.program, job.base.unwrap_or(0))?;
    let program = hlsl::lift(&container)?;
    if program.stage == Stage::Library {
        return Err(Fault::new("libraries of shaders (ray tracing, work graphs) are not run"));
    }
    Ok((program, InstructionBytes::of_container(&container)?))
}

fn has_groups(program: &ShaderProgram) -> bool {
    matches!(program.stage, Stage::Compute | Stage::Mesh | Stage::Amplification)
}

pub(super) fn parameters(job: &RunJob, limits: ParametersAnswer) -> Answer<ParametersAnswer> {
    let (program, _) = lifted(job)?;
    let mut rows: Vec<ParameterRow> = program.resources.iter().filter_map(resource_row).collect();
    let mut known = BTreeSet::new();
    let elements =
        program.functions.iter().flat_map(|function| function.inputs.iter().chain(&function.patch));
    for element in elements {
        for row in 0..element.rows() {
            let index = element.indices.get(row).copied().unwrap_or(row as u32);
            let name = format!("{}{index}", element.semantic.to_ascii_uppercase());
            if known.insert(name.clone()) {
                rows.push(input_row(element, name));
            }
        }
    }
    let is_grouped = has_groups(&program);
    let threads = program.functions.first().and_then(|entry| entry.attributes.threads);
    Ok(ParametersAnswer {
        name: program.profile(),
        kind: "shader",
        rows,
        grid: is_grouped,
        count: !is_grouped,
        threads: threads.filter(|_| is_grouped).unwrap_or([1; 3]).to_vec(),
        ..limits
    })
}

fn resource_row(resource: &Resource) -> Option<ParameterRow> {
    let binding = resource.binding?;
    if resource.class == ResourceClass::Sampler {
        return None;
    }
    let register = Register { class: resource.class, number: binding.register, space: binding.space };
    let element = resource.element.as_ref().map(DataType::innermost).and_then(DataType::scalar);
    let scalar = match element.map(|scalar| (scalar.kind, scalar.bits)) {
        Some((ScalarKind::Float, 64)) => "f64",
        Some((ScalarKind::Float, _)) => "f32",
        Some((ScalarKind::Signed, _)) => "i32",
        Some(_) => "u32",
        None if resource.class == ResourceClass::ConstantBuffer => "f32",
        None => "u32",
    };
    let words = resource.size.div_ceil(4).max(1);
    let count =
        if resource.class == ResourceClass::ConstantBuffer { words } else { words.saturating_mul(64) };
    Some(ParameterRow {
        id: register.to_string(),
        name: if resource.name.is_empty() || resource.name == register.to_string() {
            register.to_string()
        } else {
            format!("{} : {register}", resource.name)
        },
        ty: shape_name(resource),
        group: "resource",
        form: "buffer",
        suggestion: format!("{scalar}[{count}]=range"),
        optional: true,
        refused: None,
    })
}

fn shape_name(resource: &Resource) -> String {
    let name = format!("{:?}", resource.shape);
    if resource.class == ResourceClass::UnorderedAccess && resource.shape != Shape::ConstantBuffer {
        format!("RW{name}")
    } else {
        name
    }
}

fn input_row(element: &Element, name: String) -> ParameterRow {
    let kind = match element.scalar.kind {
        ScalarKind::Float => "float",
        ScalarKind::Signed => "int",
        ScalarKind::Unsigned => "uint",
        ScalarKind::Bool => "bool",
    };
    let columns = if element.columns > 1 { element.columns.to_string() } else { String::new() };
    let numbers = vec!["1"; usize::from(element.columns.max(1))];
    ParameterRow {
        id: format!("{INPUT}{name}"),
        name,
        ty: format!("{kind}{columns}"),
        group: "input",
        form: "text",
        suggestion: numbers.join(","),
        optional: true,
        refused: None,
    }
}

/// The types of registers that a launch was given.
type Types = BTreeMap<Register, Option<Scalar>>;

fn inputs(job: &RunJob, launch: &Launch, program: &ShaderProgram) -> Answer<(Inputs, Types)> {
    let mut inputs = Inputs::generated(program, launch.seed);
    inputs.groups = launch.grid;
    inputs.count = launch.count;
    let mut types = Types::new();
    for (id, text) in &launch.values {
        let set = match id.strip_prefix(INPUT) {
            Some(name) => set_input(&mut inputs, program, name, text),
            None => set_register(&mut inputs, &mut types, job, id, text),
        };
        set.map_err(|message| at_row(id, message))?;
    }
    Ok((inputs, types))
}

fn set_input(inputs: &mut Inputs, program: &ShaderProgram, name: &str, text: &str) -> Result<(), String> {
    let (semantic, index) = semantic(name)?;
    if !has_input(program, &semantic) {
        return Err("the shader has no such input".into());
    }
    inputs.set_input(&semantic, index, numbers(text)?);
    Ok(())
}

fn set_register(
    inputs: &mut Inputs,
    types: &mut Types,
    job: &RunJob,
    id: &str,
    text: &str,
) -> Result<(), String> {
    let register = register(id)?;
    let (scalar, bytes) = job.with_reader(|reader| contents(text, reader))?;
    types.insert(register, scalar);
    inputs.set_bytes(register, bytes);
    Ok(())
}

pub(super) fn launch(job: &RunJob, launch: &Launch) -> Answer<RunAnswer> {
    let (program, map) = lifted(job)?;
    if has_groups(&program) {
        check_grid(launch, false)?;
    } else if !(1..=32).contains(&launch.count) {
        return Err(at_row("count", format!("1 to 32 run together, not {}", launch.count)));
    }
    let (inputs, types) = inputs(job, launch, &program)?;
    let memory = usize::try_from(MAX_MEMORY).unwrap_or(usize::MAX);
    let limits = Limits { steps: MAX_INSTRUCTIONS, memory, depth: MAX_DEPTH };
    let recording = recording(launch);
    let (result, trace) = match recording {
        Some(recording) => {
            let (result, trace) = run_recorded(&program, &inputs, limits, recording);
            (result, Some((recording.from, trace)))
        }
        None => (run(&program, &inputs, limits), None),
    };
    let place = |function: usize, address: u64| -> Option<ByteRange> {
        job.base?;
        let number = program.functions.get(function)?.number;
        let range = map.of_instruction(number, u32::try_from(address).ok()?)?;
        Some([range.start, range.end])
    };
    let mut answer = match &result {
        Ok(outputs) => written(&program, outputs, &types, launch),
        Err(fault) => RunAnswer {
            fault: Some(RunFault {
                message: fault.to_string(),
                range: fault.address.and_then(|address| place(0, address.into())),
                block: None,
                thread: fault.lane,
            }),
            ..RunAnswer::default()
        },
    };
    answer.trace = trace.map(|(from, trace)| {
        trace_view(trace, from, |function, address| (place(function as usize, address), String::new()))
    });
    Ok(answer)
}

/// Returns what a shader wrote.
fn written(program: &ShaderProgram, outputs: &Outputs, types: &Types, launch: &Launch) -> RunAnswer {
    let mut answer = RunAnswer { summary: summary(program, launch), ..RunAnswer::default() };
    let lanes = outputs.lanes.iter().enumerate();
    let lanes = lanes.map(|(number, lane)| (number.to_string(), lane.as_ref()));
    answer.tables.extend(table(lane_name(program.stage), lanes));
    answer.tables.extend(table("patch", [(String::new(), Some(&outputs.patch))].into_iter()));
    for (number, events) in outputs.streams.iter().enumerate() {
        let rows = events.iter().map(|event| match event {
            StreamEvent::Vertex(stream, vertex) => (format!("stream {stream}"), Some(vertex)),
            StreamEvent::Cut(stream) => (format!("end of the strip of stream {stream}"), None),
        });
        answer.tables.extend(table(&format!("primitive {number}"), rows));
    }
    for (number, mesh) in outputs.meshes.iter().enumerate() {
        for (what, all) in [("vertices", &mesh.vertices), ("primitives", &mesh.primitives)] {
            let mut rows: BTreeMap<u32, BTreeMap<Semantic, Number>> = BTreeMap::new();
            for ((index, semantic), value) in all {
                rows.entry(*index).or_default().insert(semantic.clone(), *value);
            }
            let rows = rows.iter().map(|(index, row)| (index.to_string(), Some(row)));
            answer.tables.extend(table(&format!("group {number}, {what}"), rows));
        }
        let rows = mesh.indices.iter().map(|(primitive, indices)| {
            row([primitive.to_string()].into_iter().chain(indices.map(|index| index.to_string())))
        });
        answer.tables.extend(plain(&format!("group {number}, indices"), vec!["", "", "", ""], rows));
    }
    let dispatches = outputs
        .dispatches
        .iter()
        .map(|(groups, payload)| row(groups.iter().map(u32::to_string).chain([payload.len().to_string()])));
    answer.tables.extend(plain("dispatches", vec!["x", "y", "z", "bytes of payload"], dispatches));
    for (register, texels) in &outputs.texels {
        let rows = texels.iter().map(|([x, y, z, ..], texel)| {
            let place = format!("{x}, {y}, {z}");
            row([place].into_iter().chain(texel.map(|number| number.to_string())))
        });
        let columns = vec!["place", "r", "g", "b", "a"];
        answer.tables.extend(plain(&format!("texels of {register}"), columns, rows));
    }
    let counters = outputs
        .counters
        .iter()
        .map(|(register, count)| row([register.to_string(), count.to_string()].into_iter()));
    answer.tables.extend(plain("counters", vec!["register", "count"], counters));
    let rows = outputs.buffers.iter().map(|(register, bytes)| {
        let resource = program.resources.iter().find(|resource| {
            let first = resource.binding.map(|binding| (binding.register, binding.space));
            resource.class == register.class && first == Some((register.number, register.space))
        });
        let scalar = types.get(register).copied().flatten().unwrap_or_else(|| scalar_of(resource));
        (register.to_string(), register.to_string(), Some(scalar), bytes.as_slice())
    });
    answer.buffers = buffers(rows.collect());
    answer
}

/// Returns the type that numbers of a resource are shown with.
fn scalar_of(resource: Option<&Resource>) -> Scalar {
    let element = resource.and_then(|resource| resource.element.as_ref());
    match element.map(DataType::innermost).and_then(DataType::scalar).map(|scalar| scalar.kind) {
        Some(ScalarKind::Float) => Scalar::Float(4),
        Some(ScalarKind::Signed) => Scalar::Signed(4),
        _ => Scalar::Unsigned(4),
    }
}

fn summary(program: &ShaderProgram, launch: &Launch) -> String {
    if has_groups(program) {
        let [x, y, z] = launch.grid;
        return format!("{}, {x} × {y} × {z} groups", program.profile());
    }
    format!("{}, {} × {}", program.profile(), launch.count, lane_name(program.stage))
}

/// Returns what lanes of a stage are called.
pub fn lane_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Vertex => "vertex",
        Stage::Pixel => "pixel",
        Stage::Hull => "control point",
        _ => "point",
    }
}

fn row(cells: impl Iterator<Item = String>) -> TableRow {
    TableRow { cells: cells.collect(), range: None }
}

/// Returns a table of rows; `None` without rows.
fn plain(title: &str, columns: Vec<&'static str>, rows: impl Iterator<Item = TableRow>) -> Option<Table> {
    let mut rows: Vec<TableRow> = rows.collect();
    let more = rows.len().saturating_sub(MAX_ROWS) as u64;
    rows.truncate(MAX_ROWS);
    (!rows.is_empty()).then(|| Table { title: title.to_owned(), columns, rows, more })
}

/// Returns a table of outputs, with a column for each lane and a cell for each component.
fn table<'o>(
    title: &str,
    lanes: impl Iterator<Item = (String, Option<&'o BTreeMap<Semantic, Number>>)>,
) -> Option<Table> {
    let rows = lanes.flat_map(|(label, lane)| {
        let Some(lane) = lane else { return vec![row([label, "discarded".into()].into_iter())] };
        let mut elements: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for ((semantic, index, column), number) in lane {
            let values = elements.entry(format!("{semantic}{index}")).or_default();
            values.resize(values.len().max(usize::from(*column)), "?".into());
            values.push(number.to_string());
        }
        let cells =
            |(name, values): (String, Vec<String>)| row([label.clone(), name, values.join("  ")].into_iter());
        elements.into_iter().map(cells).collect()
    });
    plain(title, vec!["", "output", "value"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{RunTrace, TraceWindow};
    use crate::run::RunResult;

    #[test]
    fn registers_have_a_class_a_number_and_a_space() {
        let found = register("u12.space3").unwrap();
        assert_eq!((found.class, found.number, found.space), (ResourceClass::UnorderedAccess, 12, 3));
        assert_eq!(register("t0").unwrap().to_string(), "t0");
        assert!(register("x0").is_err());
        assert!(register("é").is_err());
        assert!(register("u").is_err());
    }

    #[test]
    fn inputs_have_an_index() {
        assert_eq!(semantic("TEXCOORD1").unwrap(), ("TEXCOORD".into(), 1));
        assert_eq!(semantic("POSITION").unwrap(), ("POSITION".into(), 0));
        assert_eq!(numbers("0.5, -2").unwrap(), [0.5, -2.0]);
        assert!(numbers("x").is_err());
    }

    /// Runs a shader, and records its second thread.
    fn recorded(program: &[u8]) -> (RunJob, RunTrace) {
        let trace = Some(TraceWindow { thread: 1, count: 200, ..TraceWindow::default() });
        let launch = Some(Launch { trace, ..Launch::default() });
        let job = RunJob { program: program.to_vec(), base: Some(0), launch, ..RunJob::default() };
        let RunResult::Launched(answer) = job.run(|| 0.0, || false).unwrap() else { panic!("no launch") };
        assert_eq!(answer.fault, None);
        (job, answer.trace.unwrap())
    }

    fn accesses(trace: &RunTrace) -> Vec<String> {
        let accesses = trace.steps.iter().flat_map(|step| &step.accesses).map(|access| {
            let (verb, end) =
                (if access.writes { "writes" } else { "reads" }, access.offset + u64::from(access.size));
            format!("{verb} {} {}..{end}", access.memory, access.offset)
        });
        accesses.collect()
    }

    #[test]
    fn accesses_of_a_group_are_recorded() {
        let (_, trace) = recorded(include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc"));
        let accesses = accesses(&trace);
        // Shared memory, constants in the program, constant buffers, and a buffer.
        for expected in ["writes g 4..8", "reads lut 28..32", "reads b3 16..32", "writes u0.space2 44..60"] {
            assert!(accesses.iter().any(|access| access == expected), "{expected}: {accesses:?}");
        }
        // An atomic operation reads and writes. The bytes are those after it.
        let atomic = trace.steps.iter().find(|step| step.accesses.len() == 2).unwrap();
        let [read, written] = &atomic.accesses[..] else { panic!("no two accesses") };
        assert!((!read.writes, written.writes) == (true, true) && read.bytes == written.bytes);
    }

    #[test]
    fn a_pixel_is_recorded() {
        let (job, trace) = recorded(include_bytes!("../../../../tests/fixtures/dxcontainer/fxc_ps_5_1.dxbc"));
        assert!(trace.total > 0 && trace.places.iter().all(|place| place.range.is_some()));
        let accesses = accesses(&trace);
        // ld_structured of t5, an element of a texture, and atomic_iadd of u2.
        for expected in
            ["reads t5 48..64", "reads texel (1, 0) of t3 0..16", "reads u2 12..16", "writes u2 12..16"]
        {
            assert!(accesses.iter().any(|access| access == expected), "{expected}: {accesses:?}");
        }
        let job = RunJob { launch: None, ..job };
        let RunResult::Parameters(answer) = job.run(|| 0.0, || false).unwrap() else { panic!("launched") };
        assert!(answer.count && !answer.grid);
    }
}
