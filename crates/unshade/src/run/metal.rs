//! Kernels of Metal: function constants, arguments, launches.

use super::{
    MAX_INSTRUCTIONS, MAX_MEMORY, RunJob, SUGGESTED, at_row, buffers, check_grid, recording, trace_view,
};
use crate::instruction_bytes::InstructionBytes;
use crate::quantity::counted;
use crate::query::{Answer, ByteRange, Fault, Launch, ParameterRow, ParametersAnswer, RunAnswer, RunFault};
use crate::{air, msl};
use unshade_core::Escaped;
use unshade_decompile::ir::TypeId;
use unshade_decompile::ir::metal::interface::{FunctionKind, MetalFunction, MetalProgram, Parameter};
use unshade_decompile::ir::metal::types::{AddressSpace, IntegerSign, TypeTable, ValueType};
use unshade_emulate::argument::{self, Given, Reader, Scalar};
use unshade_emulate::metal::{Argument, Grid, Limits, Machine, is_position};
use unshade_llvm::Module;

/// The maximum number of calls inside each other.
const MAX_DEPTH: usize = 256;

/// The prefix of names of function constants.
const CONSTANT: &str = "constant ";

/// Places the value of a parameter. Returns it, and the type of the numbers of a buffer.
///
/// # Errors
/// The text is no value, or the type of the parameter is not modelled.
pub fn place(
    machine: &mut Machine<'_>,
    program: &MetalProgram,
    parameter: &Parameter,
    text: &str,
    reader: &Reader<'_>,
) -> Result<(Argument, Option<Scalar>), String> {
    let (space, pointee) = pointee(program, parameter)?;
    let size = usize::try_from(program.types.size(pointee)).unwrap_or(0);
    let (scalar, bytes) = match reader.read(text)? {
        Given::Buffer(scalar, bytes) => (scalar, bytes),
        Given::Unset(scalar, size) => (Some(scalar), vec![0; size]),
        Given::Value(bytes) => (None, bytes),
        Given::Number(number) => (None, argument::number(&number, size)?),
    };
    if space == AddressSpace::Threadgroup {
        return Ok((Argument::Threadgroup(bytes.len() as u64), None));
    }
    Ok((Argument::Buffer(machine.buffer(&parameter.name, bytes)), scalar))
}

/// Returns the memory and the type that a parameter points to.
fn pointee(program: &MetalProgram, parameter: &Parameter) -> Result<(AddressSpace, TypeId), String> {
    let (space, pointee) = program.types.pointee(parameter.ty).ok_or("values of this type can't be given")?;
    if !parameter.type_name.is_empty() || matches!(program.types.get(pointee), ValueType::Named(_)) {
        let name = &parameter.type_name;
        return Err(format!("{name} can't be given: textures, samplers and tables are not modelled"));
    }
    Ok((space, pointee))
}

/// Gives a function constant, by its index or name, a value: a number, `true` or `false`.
///
/// # Errors
/// There is no such constant, or the value does not fit.
pub fn set_constant(
    machine: &mut Machine<'_>,
    program: &MetalProgram,
    which: &str,
    value: &str,
    reader: &Reader<'_>,
) -> Result<(), String> {
    let known: Vec<(u32, String, usize)> =
        machine.function_constants().map(|(index, name, size)| (index, name.to_owned(), size)).collect();
    let found = known.iter().find(|(index, name, _)| name == which || index.to_string() == which);
    let Some((index, name, size)) = found else {
        let names: Vec<String> = known.iter().map(|(index, name, _)| format!("{index} ({name})")).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!("the module has {names}"));
    };
    let global = program.globals.iter().find(|global| global.name == *name);
    let is_truth = global.is_some_and(|global| program.types.get(global.ty) == ValueType::Bool);
    let bytes = match (value, reader.read(value)) {
        ("true", _) => vec![1],
        ("false", _) => vec![0],
        (_, Ok(Given::Value(bytes))) => bytes,
        (_, Ok(Given::Number(number))) => argument::number(&number, *size)?,
        _ => return Err("a number, true or false".into()),
    };
    if is_truth && !matches!(bytes[..], [0 | 1]) {
        return Err(format!("{name} is true or false"));
    }
    if !machine.set_function_constant(*index, &bytes) {
        return Err(format!("{name} has {size} bytes, not {}", bytes.len()));
    }
    Ok(())
}

/// Returns whether a parameter is given a value: positions in the grid have none.
pub fn is_given(parameter: &Parameter) -> bool {
    !is_position(&parameter.attribute)
}

/// Returns a parameter's name with its attribute.
pub fn shown(parameter: &Parameter) -> String {
    let name = if parameter.name.is_empty() { "?" } else { &parameter.name };
    format!("{name} [[{}]]", parameter.attribute)
}

fn with_module<T>(job: &RunJob, function: impl FnOnce(&Module<'_>, &MetalProgram) -> Answer<T>) -> Answer<T> {
    let mut modules = Module::parse_all(&job.program, job.base.unwrap_or(0))?;
    let module = modules.nth(job.module as usize).ok_or_else(|| Fault::new("there is no such module"))??;
    if !air::is_air(&module) {
        return Err(Fault::new("the module is LLVM bitcode, but not AIR"));
    }
    function(&module, &msl::lift(&module))
}

fn kernel<'p>(job: &RunJob, program: &'p MetalProgram) -> Answer<&'p MetalFunction> {
    let is_wanted = |function: &&MetalFunction| job.kernel.is_empty() || escaped(function) == job.kernel;
    kernels(program).find(is_wanted).ok_or_else(|| Fault::new("the function is no kernel"))
}

fn kernels(program: &MetalProgram) -> impl Iterator<Item = &MetalFunction> {
    program.functions.iter().filter(|function| function.kind == Some(FunctionKind::Kernel))
}

fn escaped(function: &MetalFunction) -> String {
    Escaped(function.name.as_bytes()).to_string()
}

pub(super) fn parameters(job: &RunJob, limits: ParametersAnswer) -> Answer<ParametersAnswer> {
    with_module(job, |_, program| {
        let info = kernel(job, program)?;
        let given = info.parameters.iter().filter(|parameter| is_given(parameter));
        let mut rows: Vec<ParameterRow> =
            (0..).zip(given).map(|(index, parameter)| row(program, index, parameter)).collect();
        let machine = Machine::new(program, machine_limits());
        rows.extend(machine.function_constants().map(|(index, name, _)| {
            let global = program.globals.iter().find(|global| global.name == name);
            let ty = global.map_or(String::new(), |global| type_name(&program.types, global.ty));
            ParameterRow {
                id: format!("{CONSTANT}{index}"),
                name: name.to_owned(),
                suggestion: if ty == "bool" { "true" } else { "1" }.to_owned(),
                ty,
                group: "constant",
                form: "value",
                optional: true,
                refused: None,
            }
        }));
        let names: Vec<String> = kernels(program).map(escaped).collect();
        Ok(ParametersAnswer {
            name: escaped(info),
            names: if names.len() > 1 { names } else { Vec::new() },
            kind: "metal",
            rows,
            grid: true,
            block: true,
            threads: vec![SUGGESTED, 1, 1],
            ..limits
        })
    })
}

fn row(program: &MetalProgram, index: u32, parameter: &Parameter) -> ParameterRow {
    let mut row = ParameterRow {
        id: index.to_string(),
        name: shown(parameter),
        ty: parameter.type_name.clone(),
        group: "argument",
        form: "buffer",
        ..ParameterRow::default()
    };
    let (space, pointee) = match pointee(program, parameter) {
        Ok(found) => found,
        Err(why) => return ParameterRow { refused: Some(why), ..row },
    };
    let word = match space {
        AddressSpace::Constant => "constant ",
        AddressSpace::Threadgroup => "threadgroup ",
        AddressSpace::Device => "device ",
        _ => "",
    };
    let sign = if parameter.is_reference { '&' } else { '*' };
    row.ty = format!("{word}{}{sign}", type_name(&program.types, pointee));
    let (scalar, lanes) = scalar_of(&program.types, pointee);
    let size = program.types.size(pointee);
    let is_number = matches!(size, 1 | 2 | 4 | 8) && lanes == 1;
    if parameter.is_reference && is_number && scalar.is_some() && space != AddressSpace::Threadgroup {
        row.form = "value";
        row.suggestion = if matches!(scalar, Some(Scalar::Float(_))) { "1.0" } else { "1" }.to_owned();
        return row;
    }
    let count = if parameter.is_reference { 1 } else { u64::from(SUGGESTED) };
    row.suggestion = match scalar {
        Some(scalar) => {
            let fill = if space == AddressSpace::Threadgroup { "" } else { "=range" };
            format!("{}[{}]{fill}", scalar.name(), count * u64::from(lanes))
        }
        None => format!("buf:{}", count.saturating_mul(size.max(1))),
    };
    row
}

/// Returns the type of the numbers that a type consists of, as far as values of it can be written, and their number.
fn scalar_of(types: &TypeTable, ty: TypeId) -> (Option<Scalar>, u16) {
    match types.get(ty) {
        ValueType::Bool => (Some(Scalar::Unsigned(1)), 1),
        ValueType::Integer(bits @ (8 | 16 | 32 | 64), sign) => {
            let bytes = usize::from(bits / 8);
            let is_unsigned = sign == IntegerSign::Unsigned;
            (Some(if is_unsigned { Scalar::Unsigned(bytes) } else { Scalar::Signed(bytes) }), 1)
        }
        ValueType::Float(32) => (Some(Scalar::Float(4)), 1),
        ValueType::Float(64) => (Some(Scalar::Float(8)), 1),
        ValueType::Float(16) | ValueType::BFloat => (Some(Scalar::Unsigned(2)), 1),
        ValueType::Vector(element, lanes) => {
            // A vector of three has the room of four.
            (scalar_of(types, element).0, if lanes == 3 { 4 } else { lanes })
        }
        _ => (None, 1),
    }
}

/// Returns a type as in the language, as far as its layout says it.
fn type_name(types: &TypeTable, ty: TypeId) -> String {
    match types.get(ty) {
        ValueType::Bool => "bool".into(),
        ValueType::Integer(bits, sign) => {
            let unsigned = if sign == IntegerSign::Unsigned { "u" } else { "" };
            let name = match bits {
                8 => "char",
                16 => "short",
                64 => "long",
                _ => "int",
            };
            format!("{unsigned}{name}")
        }
        ValueType::Float(16) => "half".into(),
        ValueType::Float(64) => "double".into(),
        ValueType::Float(_) => "float".into(),
        ValueType::BFloat => "bfloat".into(),
        ValueType::Vector(element, lanes) => format!("{}{lanes}", type_name(types, element)),
        ValueType::Struct(number) => {
            let name = types.structs.get(number as usize).map_or("", |structure| &structure.name);
            if name.is_empty() { "struct".into() } else { name.to_owned() }
        }
        _ => format!("{} bytes", types.size(ty)),
    }
}

fn machine_limits() -> Limits {
    let memory = usize::try_from(MAX_MEMORY).unwrap_or(usize::MAX);
    Limits { steps: MAX_INSTRUCTIONS, memory, depth: MAX_DEPTH }
}

pub(super) fn launch(job: &RunJob, launch: &Launch) -> Answer<RunAnswer> {
    check_grid(launch, true)?;
    with_module(job, |module, program| {
        let info = kernel(job, program)?;
        let mut machine = Machine::new(program, machine_limits());
        for (id, value) in &launch.values {
            let Some(which) = id.strip_prefix(CONSTANT) else { continue };
            job.with_reader(|reader| set_constant(&mut machine, program, which, value, reader))
                .map_err(|message| at_row(id, message))?;
        }
        let (mut arguments, mut placed, mut number) = (Vec::new(), Vec::new(), 0_u32);
        for parameter in &info.parameters {
            if !is_given(parameter) {
                arguments.push(Argument::Position);
                continue;
            }
            let id = number.to_string();
            number += 1;
            let text = launch.values.get(&id).ok_or_else(|| at_row(&id, "this argument needs a value"))?;
            let (argument, scalar) = job
                .with_reader(|reader| place(&mut machine, program, parameter, text, reader))
                .map_err(|message| at_row(&id, message))?;
            // Constant memory is as it was.
            let is_constant =
                pointee(program, parameter).is_ok_and(|(space, _)| space == AddressSpace::Constant);
            if let (Argument::Buffer(buffer), false) = (&argument, is_constant) {
                placed.push((id, shown(parameter), scalar, *buffer));
            }
            arguments.push(argument);
        }
        let grid = Grid { groups: launch.grid, threads: launch.block };
        let recording = recording(launch);
        let (result, trace) = match recording {
            Some(recording) => {
                let (result, trace) = machine.run_recorded(&info.name, grid, &arguments, recording);
                (result, Some((recording.from, trace)))
            }
            None => (machine.run(&info.name, grid, &arguments), None),
        };
        let mut places = Places { program, map: InstructionBytes::of_module(module), job };
        let mut answer = RunAnswer::default();
        match result {
            Ok(summary) => {
                answer.summary =
                    [(summary.groups, "threadgroup"), (summary.threads, "thread"), (summary.steps, "step")]
                        .map(|(count, noun)| counted(count, noun))
                        .join(", ");
                let open = summary.undefined.rows();
                answer.notes =
                    open.map(|(what, count)| format!("Metal leaves open: {what}, {count} times")).collect();
            }
            Err(fault) => {
                let place = fault.place.as_deref();
                let [width, height, _] = launch.block;
                answer.fault = Some(RunFault {
                    message: fault.to_string(),
                    range: place.and_then(|place| places.of_call(place.calls.last()?)),
                    block: place.map(|place| place.group.to_vec()),
                    thread: place.map(|place| {
                        let [x, y, z] = place.thread;
                        x + width * (y + height * z)
                    }),
                });
            }
        }
        let rows =
            placed.into_iter().map(|(id, name, scalar, buffer)| (id, name, scalar, machine.bytes(buffer)));
        answer.buffers = buffers(rows.collect());
        answer.trace = trace.map(|(from, trace)| {
            trace_view(trace, from, |function, address| {
                (places.of(function as usize, address), String::new())
            })
        });
        Ok(answer)
    })
}

/// Finds the bytes of instructions.
struct Places<'p> {
    program: &'p MetalProgram,
    map: InstructionBytes,
    job: &'p RunJob,
}

impl Places<'_> {
    fn of(&mut self, function: usize, address: u64) -> Option<ByteRange> {
        self.job.base?;
        let number = self.program.functions.get(function)?.number;
        let range = self.map.of_instruction(number, u32::try_from(address).ok()?)?;
        Some([range.start, range.end])
    }

    fn of_call(&mut self, (name, address): &(String, Option<u32>)) -> Option<ByteRange> {
        let function = self.program.function_index(name)?;
        self.of(function, u64::from((*address)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::TraceWindow;
    use crate::run::RunResult;

    fn scale(values: &[(&str, &str)]) -> RunJob {
        let values = values.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect();
        let trace = Some(TraceWindow { thread: 2, count: 100, ..TraceWindow::default() });
        let launch = Some(Launch { values, block: [8, 1, 1], trace, ..Launch::default() });
        let program = include_bytes!("../../../../tests/fixtures/air/kernel.bc").to_vec();
        RunJob { program, base: Some(0), kernel: "scale".into(), launch, ..RunJob::default() }
    }

    #[test]
    fn parameters_have_types_and_suggestions() {
        let job = RunJob { launch: None, ..scale(&[]) };
        let RunResult::Parameters(answer) = job.run(|| 0.0, || false).unwrap() else { panic!("launched") };
        let rows: Vec<_> = answer.rows.iter().map(|row| (&*row.ty, row.form, &*row.suggestion)).collect();
        assert_eq!(rows[0], ("device float*", "buffer", "f32[32]=range"));
        assert!(rows[1].0.starts_with("constant float"));
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn a_thread_is_recorded_with_its_values_and_accesses() {
        let result = scale(&[("0", "f32[8]=range"), ("1", "2.5")]).run(|| 0.0, || false).unwrap();
        let RunResult::Launched(answer) = result else { panic!("no launch") };
        assert_eq!(answer.fault, None);
        let trace = answer.trace.unwrap();
        let store =
            trace.steps.iter().rfind(|step| step.accesses.iter().any(|access| access.writes)).unwrap();
        assert_eq!((store.accesses[0].offset, &*store.accesses[0].memory), (8, "data"));
        assert!(trace.places[store.at as usize].range.is_some());
        assert!(trace.steps.iter().any(|step| step.written.iter().any(|value| value.value == "5.0")));
    }

    #[test]
    fn a_fault_has_its_instruction_and_thread() {
        let result = scale(&[("0", "f32[4]"), ("1", "2.5")]).run(|| 0.0, || false).unwrap();
        let RunResult::Launched(answer) = result else { panic!("no launch") };
        let fault = answer.fault.unwrap();
        assert_eq!((fault.block, fault.thread), (Some(vec![0, 0, 0]), Some(4)));
        assert!(fault.range.is_some());
    }
}
