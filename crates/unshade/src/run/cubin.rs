//! Kernels of cubins: memory, arguments, launches.

use super::{
    MAX_INSTRUCTIONS, MAX_MEMORY, RunJob, SUGGESTED, at_row, buffers, check_grid, recording, trace_view,
};
use crate::quantity::{counted, grouped};
use crate::query::{Answer, ByteRange, Fault, Launch, ParameterRow, ParametersAnswer, RunAnswer, RunFault};
use std::collections::BTreeMap;
use std::time::Duration;
use unshade_core::Error;
use unshade_emulate::argument::{self, Given, Reader, Scalar};
use unshade_emulate::{Argument, Device, DevicePointer, Frame, Grid, Limits, Module};
use unshade_nv::Cubin;
use unshade_sass::listing::{Function, Word};

/// A buffer of an argument.
#[derive(Clone, Copy, Debug)]
pub struct PlacedBuffer {
    /// The number of the parameter.
    pub parameter: usize,
    /// Its address.
    pub pointer: DevicePointer,
    /// Its size in bytes.
    pub size: usize,
    /// The type of its elements, if the argument says it.
    pub scalar: Option<Scalar>,
}

/// Loads a cubin on a device with this much memory. One with 32-bit addresses needs memory at such addresses.
///
/// # Errors
/// Those of [`Module::load`].
pub fn load(cubin: &[u8], memory: u64) -> Result<(Module, Device), Error> {
    let mut device = Device::new();
    device.limit_memory(memory);
    let module = Module::load(&mut device, cubin)?;
    if module.has_64_bit_addresses() {
        return Ok((module, device));
    }
    device = Device::with_32_bit_addresses();
    device.limit_memory(memory);
    Ok((Module::load(&mut device, cubin)?, device))
}

/// Places the value of a parameter of this size in memory.
///
/// # Errors
/// The text is no value, or none of this size; or memory is full.
pub fn place(
    device: &mut Device,
    parameter: usize,
    size: usize,
    text: &str,
    reader: &Reader<'_>,
) -> Result<(Argument, Option<PlacedBuffer>), String> {
    let name = format!("the buffer of parameter {parameter}");
    let (bytes, buffer) = match reader.read(text)? {
        Given::Value(bytes) => (bytes, None),
        Given::Number(number) => (argument::number(&number, size)?, None),
        Given::Unset(scalar, length) => {
            let pointer = device.allocate(length as u64, &name).map_err(|reason| reason.to_string())?;
            device.mark_unset(pointer);
            (
                address(pointer, size),
                Some(PlacedBuffer { parameter, pointer, size: length, scalar: Some(scalar) }),
            )
        }
        Given::Buffer(scalar, contents) => {
            let length = contents.len();
            let pointer = device.allocate(length as u64, &name).map_err(|reason| reason.to_string())?;
            device.write(pointer, &contents).map_err(|reason| reason.to_string())?;
            (address(pointer, size), Some(PlacedBuffer { parameter, pointer, size: length, scalar }))
        }
    };
    if bytes.len() != size {
        return Err(format!("the value has {} bytes, the parameter {size}", bytes.len()));
    }
    Ok((Argument(bytes), buffer))
}

fn address(pointer: DevicePointer, size: usize) -> Vec<u8> {
    pointer.0.to_le_bytes().into_iter().take(size).collect()
}

pub(super) fn parameters(job: &RunJob, limits: ParametersAnswer) -> Answer<ParametersAnswer> {
    let (module, _) = load(&job.program, MAX_MEMORY)?;
    let kernel = module.kernel(&job.kernel).ok_or_else(|| Fault::new("the function is no kernel"))?;
    let shown = crate::demangle(job.kernel.as_bytes());
    let types = shown.as_deref().map(parameter_types).unwrap_or_default();
    let rows = kernel.parameters.iter().enumerate().map(|(index, (_, parameter))| {
        let size = usize::from(parameter.size);
        let ty = types.get(index).filter(|_| types.len() == kernel.parameters.len());
        let is_pointer = ty.map_or(size == 8, |ty| ty.ends_with(['*', '&']));
        let (form, suggestion) = suggested(is_pointer, ty.map_or("", String::as_str), size);
        ParameterRow {
            id: index.to_string(),
            name: format!("parameter {index}"),
            ty: ty.cloned().unwrap_or_else(|| format!("{size} bytes")),
            group: "argument",
            form,
            suggestion,
            ..ParameterRow::default()
        }
    });
    Ok(ParametersAnswer {
        name: shown.unwrap_or_else(|| job.kernel.clone()),
        kind: "cubin",
        rows: rows.collect(),
        grid: true,
        block: true,
        threads: vec![SUGGESTED, 1, 1],
        ..limits
    })
}

/// Returns the types of parameters that a demangled name has.
fn parameter_types(name: &str) -> Vec<String> {
    let Some(list) = name.rsplit_once(')').and_then(|(front, _)| Some(front.split_once('(')?.1)) else {
        return Vec::new();
    };
    let (mut types, mut depth) = (vec![String::new()], 0_i32);
    for letter in list.chars() {
        match letter {
            ',' if depth == 0 => types.push(String::new()),
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            _ => {}
        }
        if let Some(last) = types.last_mut().filter(|_| letter != ',' || depth > 0) {
            last.push(letter);
        }
    }
    types.iter().map(|ty| ty.trim().to_owned()).filter(|ty| !ty.is_empty() && ty != "void").collect()
}

/// Returns the form of a parameter and a value to start with.
fn suggested(is_pointer: bool, ty: &str, size: usize) -> (&'static str, String) {
    let base = ty.trim_end_matches(['*', '&', ' ']).trim_end_matches(" const");
    let scalar = match base {
        "double" => "f64",
        "int" | "long" if size != 8 || is_pointer => "i32",
        "unsigned int" | "unsigned" => "u32",
        "long long" => "i64",
        "unsigned long long" | "unsigned long" => "u64",
        "short" => "i16",
        "unsigned short" | "__half" => "u16",
        "char" | "signed char" | "bool" => "i8",
        "unsigned char" => "u8",
        _ => "f32",
    };
    if is_pointer {
        return ("buffer", format!("{scalar}[{SUGGESTED}]=range"));
    }
    match (base, size) {
        ("float" | "double", _) => ("value", "1.0".to_owned()),
        (_, 1 | 2 | 4 | 8) => ("value", SUGGESTED.to_string()),
        (_, size) => ("value", format!("hex:{}", "00".repeat(size))),
    }
}

pub(super) fn launch(job: &RunJob, launch: &Launch) -> Answer<RunAnswer> {
    check_grid(launch, true)?;
    let (module, mut device) = load(&job.program, MAX_MEMORY)?;
    let kernel = module.kernel(&job.kernel).ok_or_else(|| Fault::new("the function is no kernel"))?;
    let (mut arguments, mut placed) = (Vec::new(), Vec::new());
    for (index, (_, parameter)) in kernel.parameters.iter().enumerate() {
        let id = index.to_string();
        let text = launch.values.get(&id).ok_or_else(|| at_row(&id, "this parameter needs a value"))?;
        let size = usize::from(parameter.size);
        let (argument, buffer) = job
            .with_reader(|reader| place(&mut device, index, size, text, reader))
            .map_err(|message| at_row(&id, message))?;
        arguments.push(argument);
        placed.extend(buffer);
    }
    let grid = Grid { blocks: launch.grid, threads: launch.block, shared: launch.shared };
    let limits = Limits { steps: MAX_INSTRUCTIONS, time: Duration::MAX, ..Limits::default() };
    let recording = recording(launch);
    let (result, trace) = match recording {
        Some(recording) => {
            let (result, trace) =
                module.launch_recorded(&mut device, &job.kernel, grid, &arguments, limits, recording);
            (result, Some((recording.from, trace)))
        }
        None => (module.launch(&mut device, &job.kernel, grid, &arguments, limits, None), None),
    };
    let mut code = CodePlaces::new(&job.program, job.base);
    let mut answer = RunAnswer {
        printed: String::from_utf8_lossy(&device.take_printed()).into_owned(),
        ..RunAnswer::default()
    };
    match result {
        Ok(summary) => {
            let instructions = grouped(summary.steps);
            answer.summary =
                format!("{}, {instructions} instructions of warps", counted(summary.blocks, "block"));
        }
        Err(fault) => {
            let location = fault.location.as_deref();
            let place = location.and_then(|location| location.stack.first());
            answer.fault = Some(RunFault {
                message: fault.to_string(),
                range: place.and_then(|frame| code.range(frame)),
                block: location.map(|location| location.block.to_vec()),
                thread: location.map(|location| location.lane.0 * 32 + location.lane.1),
            });
        }
    }
    let contents: Vec<Vec<u8>> =
        placed.iter().map(|buffer| device.read(buffer.pointer, buffer.size).unwrap_or_default()).collect();
    let rows = placed.iter().zip(&contents).map(|(buffer, bytes)| {
        let id = buffer.parameter.to_string();
        let name = format!("parameter {id}");
        (id, name, buffer.scalar, bytes.as_slice())
    });
    answer.buffers = buffers(rows.collect());
    answer.trace = trace.map(|(from, trace)| {
        trace_view(trace, from, |section, offset| {
            let frame = Frame { function: String::new(), section, offset };
            (code.range(&frame), code.text(&frame))
        })
    });
    Ok(answer)
}

/// Finds the bytes and texts of instructions.
struct CodePlaces<'a> {
    cubin: Option<Cubin<'a>>,
    /// Whether the bytes are in the file.
    is_in_file: bool,
    /// The texts of sections, by address.
    texts: BTreeMap<u32, BTreeMap<u64, String>>,
}

impl<'a> CodePlaces<'a> {
    fn new(program: &'a [u8], base: Option<u64>) -> Self {
        let cubin = Cubin::parse_at(program, base.unwrap_or(0)).ok();
        Self { cubin, is_in_file: base.is_some(), texts: BTreeMap::new() }
    }

    fn range(&self, frame: &Frame) -> Option<ByteRange> {
        let cubin = self.cubin.as_ref().filter(|_| self.is_in_file)?;
        let section = cubin.elf().section(frame.section).ok()?;
        let start = cubin.elf().bytes(&section).ok()?.base().checked_add(frame.offset)?;
        let size = crate::sass_listing::instruction_set(cubin)?.word_bytes as u64;
        Some([start, start.checked_add(size)?])
    }

    fn text(&mut self, frame: &Frame) -> String {
        let Self { cubin: Some(cubin), texts, .. } = self else { return String::new() };
        let texts = texts.entry(frame.section).or_insert_with(|| section_texts(cubin, frame.section));
        texts.get(&frame.offset).cloned().unwrap_or_default()
    }
}

/// Returns the instructions of a section by address.
fn section_texts(cubin: &Cubin<'_>, section: u32) -> BTreeMap<u64, String> {
    let Some(isa) = crate::sass_listing::instruction_set(cubin) else { return BTreeMap::new() };
    let section = cubin.elf().section(section).and_then(|section| cubin.elf().bytes(&section));
    let Ok(bytes) = section else { return BTreeMap::new() };
    let function = Function { name: "", isa, bytes: bytes.data(), address: 0, file_offset: bytes.base() };
    let words = function.words().filter_map(|(address, word)| match word {
        Word::Instruction(instruction) => Some((address, instruction.text(address))),
        _ => None,
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::TraceWindow;
    use crate::run::RunResult;

    fn job(kernel: &str, launch: Launch) -> RunJob {
        let program = include_bytes!("../../../../tests/fixtures/nvidia/kernels/sm_35/loops.cubin").to_vec();
        let (base, kernel, launch) = (Some(0), kernel.to_owned(), Some(launch));
        RunJob { program, base, kernel, launch, ..RunJob::default() }
    }

    fn run(job: &RunJob) -> Answer<RunAnswer> {
        job.run(|| 0.0, || false).map(|result| match result {
            RunResult::Launched(answer) => answer,
            RunResult::Parameters(_) => panic!("no launch"),
        })
    }

    fn sum_loop(from: u64, count: u32) -> RunJob {
        let values = [("0", "i32[64]=range"), ("1", "i32[32]"), ("2", "64")];
        let values = values.map(|(id, text)| (id.to_owned(), text.to_owned())).into();
        let trace = Some(TraceWindow { thread: 3, from, count, ..TraceWindow::default() });
        job("sum_loop", Launch { values, block: [32, 1, 1], trace, ..Launch::default() })
    }

    #[test]
    fn types_come_from_the_name() {
        assert_eq!(
            parameter_types("void f<int, 3>(float*, S<a, b> const&, int)"),
            ["float*", "S<a, b> const&", "int"]
        );
        assert!(parameter_types("f").is_empty());
        assert_eq!(suggested(true, "float const*", 8), ("buffer", "f32[32]=range".into()));
        assert_eq!(suggested(false, "int", 4), ("value", "32".into()));
        assert_eq!(suggested(false, "", 12).1, format!("hex:{}", "00".repeat(12)));
    }

    #[test]
    fn a_launch_leaves_sums_and_a_trace() {
        let answer = run(&sum_loop(0, 4096)).unwrap();
        assert_eq!(answer.fault, None);
        // Thread 3 adds 3 and 35.
        assert_eq!(&answer.buffers[1].bytes[24..32], "26000000");
        let trace = answer.trace.unwrap();
        assert_eq!(trace.total, trace.steps.len() as u64);
        let place = |step: &crate::query::RunStep| &trace.places[step.at as usize];
        let load = trace.steps.iter().find(|step| place(step).text.starts_with("LD.E")).unwrap();
        assert_eq!((load.accesses[0].offset, load.accesses[0].writes), (12, false));
        assert!(load.accesses[0].memory.contains("parameter 0"));
        let store = trace.steps.iter().rfind(|step| place(step).text.starts_with("ST.E")).unwrap();
        assert_eq!((store.accesses[0].offset, store.accesses[0].writes), (12, true));
        assert!(place(store).range.is_some());
    }

    /// The values at the start of a window are those after the steps before it.
    #[test]
    fn windows_continue_each_other() {
        let whole = run(&sum_loop(0, 4096)).unwrap().trace.unwrap();
        let part = run(&sum_loop(10, 5)).unwrap().trace.unwrap();
        assert_eq!((part.from, part.total, part.steps.len()), (10, whole.total, 5));
        let mut state = BTreeMap::new();
        for value in whole.steps[..10].iter().flat_map(|step| &step.written) {
            state.insert(value.name.clone(), value.value.clone());
        }
        let start = part.start.iter().map(|value| (value.name.clone(), value.value.clone()));
        assert_eq!(start.collect::<BTreeMap<_, _>>(), state);
        let text = |trace: &crate::query::RunTrace, step: usize| {
            let step = &trace.steps[step];
            (trace.places[step.at as usize].text.clone(), step.written.clone(), step.accesses.clone())
        };
        assert!((0..5).all(|step| text(&part, step) == text(&whole, step + 10)));
    }

    #[test]
    fn wrong_values_name_their_row() {
        let mut job = sum_loop(0, 0);
        let values = &mut job.launch.as_mut().unwrap().values;
        values.insert("1".into(), "i32[99999999]".into());
        assert_eq!(run(&job).unwrap_err().path, ["1"]);
        job.launch.as_mut().unwrap().values.remove("2");
        job.launch.as_mut().unwrap().values.insert("1".into(), "i32[32]".into());
        assert_eq!(run(&job).unwrap_err().path, ["2"]);
        job.launch.as_mut().unwrap().block = [2048, 1, 1];
        assert_eq!(run(&job).unwrap_err().path, ["block"]);
    }

    /// Returns a time that passes with each call.
    fn passing() -> f64 {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NOW: AtomicU32 = AtomicU32::new(0);
        f64::from(NOW.fetch_add(1_000, Ordering::Relaxed))
    }

    /// 3 n + 1 of 0 is never 1.
    #[test]
    fn a_launch_without_an_end_is_stopped() {
        let launch = Launch { values: [("0".into(), "u32[32]".into())].into(), ..Launch::default() };
        let result = job("collatz", launch).run(passing, || false).unwrap();
        let RunResult::Launched(answer) = result else { panic!("no launch") };
        let fault = answer.fault.unwrap();
        assert!(fault.message.ends_with(": it did not end within 10 seconds"), "{}", fault.message);
        assert!(fault.range.is_some() && fault.thread.is_some());
    }
}
