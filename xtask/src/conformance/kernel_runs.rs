//! Runs kernels of packages in the emulator on invented inputs.
//!
//! Nothing describes the meaning of a kernel's parameters. The decompiled C shows which bytes are pointers and how wide
//! numbers are; the rest is inferred by running: when a kernel reads outside memory, each remaining field is tried as a
//! pointer, and the one with which the kernel gets furthest is kept. Numbers are tried in several sizes.

use std::time::Duration;

use unshade::decompiler::Line;
use unshade_emulate::interpret;
use unshade_emulate::module::Kernel;
use unshade_emulate::sanitize::{self, Tool};
use unshade_emulate::{Argument, Device, DevicePointer, Grid, Limits, Module, Reason};

/// The limits of a run.
const STEPS: u64 = 20_000;

/// Maximum duration of a run.
const TIME: Duration = Duration::from_secs(2);

/// Maximum number of runs for inferring fields.
const MOST_RUNS: usize = 200;

/// The size of a buffer in bytes.
const BUFFER: usize = 16 << 10;

/// Maximum number of fields; kernels with more are skipped.
const MOST_FIELDS: usize = 128;

/// A field: some bytes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    parameter: usize,
    offset: usize,
    size: usize,
    is_pointer: bool,
    is_float: bool,
}

/// How numbers and buffers are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filling {
    /// Whether buffers contain floats rather than small integers.
    pub(super) floats: bool,
    /// The numbers in the parameters.
    pub(super) numbers: Numbers,
    /// The value that a shuffle returns for an inactive lane.
    pub(super) absent: u64,
    /// Threads per block, unless the kernel requires a block size.
    pub(super) threads: u32,
}

/// The usual number of threads per block.
pub(super) const THREADS: u32 = 64;

/// The numbers in the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// All the same.
    Same(u32),
    /// From 3 to 25.
    Different,
}

/// The fillings, in the order in which they are tried.
pub(super) const FILLINGS: [Filling; 10] = {
    const fn of_floats(numbers: Numbers) -> Filling {
        Filling { floats: true, numbers, absent: 0, threads: THREADS }
    }
    const fn both(numbers: Numbers) -> [Filling; 2] {
        [of_floats(numbers), Filling { floats: false, ..of_floats(numbers) }]
    }
    let [a, b] = both(Numbers::Different);
    let [c, d] = both(Numbers::Same(64));
    let [e, f] = both(Numbers::Same(4));
    let [g, h] = both(Numbers::Same(1));
    let [i, j] = both(Numbers::Same(2));
    [a, b, c, d, e, f, g, h, i, j]
};

/// Hashes a name (FNV-1a), so that kernels are tried in an order unrelated to their names.
pub(super) fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the fields of a kernel's parameters: those in its C, and words where the C has none.
pub(super) fn fields(kernel: &Kernel, lines: &[Line]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let head = lines.iter().find(|line| line.text.contains("__global__ "));
    let list = head.and_then(|line| Some(line.text.split_once('(')?.1.rsplit_once(')')?.0)).unwrap_or("");
    let types: Vec<&str> = list.split(", ").collect();
    for (index, (_, parameter)) in kernel.parameters.iter().enumerate() {
        let size = usize::from(parameter.size);
        let ty = types.get(index).copied().unwrap_or("");
        let mut named = Vec::new();
        if let Some(name) = ty.strip_prefix("struct ").and_then(|rest| rest.split(' ').next()) {
            let head = format!("struct {name} {{");
            let body = lines.iter().skip_while(|line| line.text != head).skip(1);
            let body: String = body.map(|line| line.text.as_str()).take_while(|line| *line != "};").collect();
            for declared in body.split(';') {
                named.extend(members(declared, index));
            }
        } else {
            named.push(of_type(ty, index, 0, size));
        }
        // Bytes without a field are not read, or read as words.
        let mut at = 0;
        for field in named {
            while at < field.offset {
                let size = (field.offset - at).min(8 - at % 8);
                fields.push(of_type("", index, at, size));
                at += size;
            }
            at = field.offset + field.size;
            fields.push(field);
        }
        while at < size {
            let step = (size - at).min(8 - at % 8);
            fields.push(of_type("", index, at, step));
            at += step;
        }
    }
    (fields.len() <= MOST_FIELDS).then_some(fields)
}

/// Parses `    float *at_16, *at_24`.
fn members(declared: &str, parameter: usize) -> Vec<Field> {
    let names = declared.split(", ").filter_map(|name| name.rsplit_once("at_")?.1.parse().ok());
    let ty = declared.split("at_").next().unwrap_or("").trim();
    let size = match ty {
        _ if ty.ends_with('*') => 8,
        "double" | "long long" | "unsigned long long" => 8,
        "short" | "unsigned short" => 2,
        "bool" | "signed char" | "unsigned char" | "char" => 1,
        _ => 4,
    };
    names.map(|offset| of_type(ty, parameter, offset, size)).collect()
}

fn of_type(ty: &str, parameter: usize, offset: usize, size: usize) -> Field {
    let is_pointer = ty.contains('*') && size == 8;
    let is_float = !is_pointer && (ty.starts_with("float") || ty.starts_with("double"));
    Field { parameter, offset, size, is_pointer, is_float }
}

/// The result of a run.
pub(super) struct Outcome {
    pub(super) steps: u64,
    pub(super) result: Result<(), Reason>,
    /// Whether any buffer changed.
    pub(super) changed: bool,
    /// The memory before and after the run.
    pub(super) before: Vec<(DevicePointer, Vec<u8>)>,
    pub(super) after: Vec<(DevicePointer, Vec<u8>)>,
    pub(super) arguments: Vec<Argument>,
    pub(super) grid: Grid,
    /// The number of buffers that are global variables of the program.
    pub(super) variables: usize,
}

/// What a kernel is started with.
struct Launch {
    device: Device,
    arguments: Vec<Argument>,
    grid: Grid,
    limits: Limits,
}

/// A cubin loaded into the memory of a device, which is copied for each run.
pub(super) struct Loaded {
    device: Device,
    pub(super) module: Module,
    /// The limit of instructions.
    steps: u64,
}

impl Loaded {
    pub(super) fn new(cubin: &[u8]) -> Option<Self> {
        let mut device = Device::new();
        device.limit_memory(64 << 20);
        let module = Module::load(&mut device, cubin).ok()?;
        Some(Self { device, module, steps: STEPS })
    }

    /// Allows the multiple of the usual number of instructions: other code may need more for the same.
    pub(super) fn with_patience(self, factor: u64) -> Self {
        Self { steps: STEPS * factor, ..self }
    }

    /// Infers further pointers among the fields, by running.
    pub(super) fn infer(&self, name: &str, fields: &[Field], filling: Filling) -> Vec<Field> {
        let mut fields = fields.to_vec();
        let mut best = self.attempt(name, &fields, filling, false);
        let mut runs = 0;
        loop {
            let is_outside =
                matches!(best.result, Err(Reason::OutOfBounds { .. } | Reason::Misaligned { .. }));
            if !is_outside || runs > MOST_RUNS {
                return fields;
            }
            let mut chosen = None;
            for index in 0..fields.len() {
                let Some(field) = fields.get_mut(index).filter(|field| field.size == 8 && !field.is_pointer)
                else {
                    continue;
                };
                field.is_pointer = true;
                runs += 1;
                let outcome = self.attempt(name, &fields, filling, false);
                if let Some(field) = fields.get_mut(index) {
                    field.is_pointer = false;
                }
                if outcome.result.is_ok() && best.result.is_err() || outcome.steps > best.steps {
                    best = outcome;
                    chosen = Some(index);
                }
            }
            match chosen.and_then(|index| fields.get_mut(index)) {
                Some(field) => field.is_pointer = true,
                None => return fields,
            }
        }
    }

    /// Runs a kernel.
    pub(super) fn attempt(&self, name: &str, fields: &[Field], filling: Filling, ordered: bool) -> Outcome {
        self.attempt_as(None, name, fields, filling, ordered)
    }

    /// Runs a kernel from the code of these functions, rather than from its instructions.
    pub(super) fn attempt_as(
        &self,
        functions: Option<&[interpret::Function]>,
        name: &str,
        fields: &[Field],
        filling: Filling,
        ordered: bool,
    ) -> Outcome {
        let mut outcome = Outcome {
            steps: 0,
            result: Ok(()),
            changed: false,
            before: Vec::new(),
            after: Vec::new(),
            arguments: Vec::new(),
            grid: Grid::new(2, 64),
            variables: self.device.memory().count(),
        };
        outcome.result = self.run(functions, name, fields, filling, ordered, &mut outcome);
        outcome
    }

    /// Prepares a launch: memory and arguments.
    fn launch(
        &self,
        name: &str,
        fields: &[Field],
        filling: Filling,
        ordered: bool,
    ) -> Result<Launch, Reason> {
        let mut device = self.device.clone();
        let kernel = self.module.kernel(name).ok_or(Reason::Launch("no such kernel".into()))?;
        let mut state = hash(name) | 1;
        let mut arguments: Vec<Vec<u8>> =
            kernel.parameters.iter().map(|(_, parameter)| vec![0; parameter.size.into()]).collect();
        for (index, field) in fields.iter().enumerate() {
            let value = if field.is_pointer {
                let pointer = device.allocate(BUFFER as u64, "buffer")?;
                device.write(pointer, &content(&mut state, filling.floats))?;
                pointer.0
            } else {
                number(field, index, filling.numbers)
            };
            let place = arguments.get_mut(field.parameter);
            let place = place.and_then(|bytes| bytes.get_mut(field.offset..field.offset + field.size));
            if let Some(place) = place {
                place.iter_mut().zip(value.to_le_bytes()).for_each(|(place, byte)| *place = byte);
            }
        }
        let arguments = arguments.into_iter().map(Argument).collect();
        let limits =
            Limits { steps: self.steps, time: TIME, ordered, absent: filling.absent, ..Limits::default() };
        // Kernels with a required block size depend on it.
        let shared = if kernel.shared == 0 { 8 << 10 } else { 0 };
        let grid =
            Grid { blocks: [2, 1, 1], threads: kernel.threads.unwrap_or([filling.threads, 1, 1]), shared };
        Ok(Launch { device, arguments, grid, limits })
    }

    /// Returns why a kernel's results may depend on the order of its threads, or on memory that it never wrote.
    pub(super) fn reason_to_differ(&self, name: &str, fields: &[Field], filling: Filling) -> Option<String> {
        let Launch { mut device, arguments, grid, limits } =
            self.launch(name, fields, filling, false).ok()?;
        let options = sanitize::Options { tools: vec![Tool::Races, Tool::Init], ..Default::default() };
        let report = self.module.sanitize(&mut device, name, grid, &arguments, limits, &options).ok()?;
        report.findings.first().map(|finding| finding.fault.reason.to_string())
    }

    fn run(
        &self,
        functions: Option<&[interpret::Function]>,
        name: &str,
        fields: &[Field],
        filling: Filling,
        ordered: bool,
        outcome: &mut Outcome,
    ) -> Result<(), Reason> {
        let Launch { mut device, arguments, grid, limits } = self.launch(name, fields, filling, ordered)?;
        (outcome.arguments, outcome.grid) = (arguments, grid);
        let copy = |device: &Device| -> Vec<(DevicePointer, Vec<u8>)> {
            device.memory().map(|(pointer, bytes)| (pointer, bytes.to_vec())).collect()
        };
        outcome.before = copy(&device);
        let mut steps = 0;
        let mut count = |_: &unshade_emulate::Step<'_>| steps += 1;
        let (module, grid, arguments) = (&self.module, outcome.grid, &outcome.arguments);
        let launched = match functions {
            None => module.launch(&mut device, name, grid, arguments, limits, Some(&mut count)),
            Some(functions) => module.interpret(&mut device, functions, name, grid, arguments, limits),
        };
        outcome.steps = steps;
        launched.map_err(|fault| fault.reason)?;
        outcome.after = copy(&device);
        outcome.changed = outcome.before != outcome.after;
        Ok(())
    }
}

fn number(field: &Field, index: usize, numbers: Numbers) -> u64 {
    let small = match numbers {
        Numbers::Same(number) => number,
        Numbers::Different => 3 + (index as u32 + 1) * 7 % 23,
    };
    match (field.is_float, field.size) {
        (true, 8) => f64::from(small).to_bits(),
        (true, _) => f32::to_bits(small as f32).into(),
        _ => small.into(),
    }
}

/// Generates floats from 0.5 to 2, or numbers below 16.
fn content(state: &mut u64, floats: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BUFFER);
    while bytes.len() < BUFFER {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let bits = (*state >> 32) as u32;
        let word = if floats { 0x3f00_0000 | bits & 0x00ff_ffff } else { bits & 15 };
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

impl Outcome {
    /// Returns the buffers after the run.
    pub(super) fn buffers(&self) -> &[(DevicePointer, Vec<u8>)] {
        self.after.get(self.variables..).unwrap_or(&[])
    }

    /// Returns the contents of these buffers. Their addresses depend on the size of the program's variables.
    pub(super) fn contents(&self) -> impl Iterator<Item = &[u8]> {
        self.buffers().iter().map(|(_, bytes)| bytes.as_slice())
    }
}

/// Summarises a reason.
pub(super) fn kind(reason: &Reason) -> String {
    match reason {
        Reason::OutOfBounds { memory, .. } => format!("outside of {memory}"),
        Reason::Misaligned { memory, .. } => format!("misaligned in {memory}"),
        Reason::Steps(_) => "too many steps".into(),
        Reason::Time(_) => "too much time".into(),
        Reason::Order(_) => "the order of threads matters".into(),
        Reason::Deadlock(_) => "a barrier can't be passed".into(),
        other => other.to_string(),
    }
}

/// Describes the first difference of two memories.
pub(super) fn first_difference(
    left: &[(DevicePointer, Vec<u8>)],
    right: &[(DevicePointer, Vec<u8>)],
) -> String {
    for ((pointer, left), (_, right)) in left.iter().zip(right) {
        if let Some(at) = left.iter().zip(right).position(|(left, right)| left != right) {
            let at = at & !3;
            let word = |bytes: &[u8]| {
                let bytes = bytes.get(at..at + 4).unwrap_or(&[]);
                bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            };
            return format!("{:#010x} and {:#010x} at {:#x}", word(left), word(right), pointer.0 + at as u64);
        }
    }
    String::from("memory of other sizes")
}
