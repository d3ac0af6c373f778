//! Trial runs: launches of kernels of which nothing is known but where their parameters have pointers and numbers.
//!
//! Arguments are made up: pointers lead to buffers of [`BUFFER`] bytes, and numbers have one of several sizes
//! ([`FILLINGS`]). What the caller does not know to be a pointer is inferred: when a kernel accesses something outside of
//! memory, each other field of 8 bytes is tried as a pointer, and the one with which the kernel gets furthest is kept.
//!
//! ```
//! use unshade_emulate::trial::{FILLINGS, Trials};
//! use unshade_ir::Parameter;
//! use unshade_ir::ty::Type;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia/kernels/sm_35/axpy.cubin");
//! # let cubin = std::fs::read(path)?;
//! let trials = Trials::new(&cubin)?;
//! // The kernel is y[i] = a * x[i]: a float and two pointers.
//! let known = [Parameter { offset: 0, size: 4, ty: Some(Type::Float(32)), name: None }];
//! let fields = trials.fields("axpy", &known).ok_or("too many fields")?;
//! let fields = trials.infer("axpy", &fields, FILLINGS[0]);
//! assert!(fields[1].is_pointer && fields[2].is_pointer);
//! let outcome = trials.run("axpy", &fields, FILLINGS[0], true);
//! assert!(outcome.result.is_ok() && outcome.changed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod filling;

use std::time::{Duration, Instant};

use unshade_core::Error;
use unshade_ir::Parameter;
use unshade_ir::ty::Type;

pub use self::filling::{Content, FILLINGS, Filling, Numbers, Shape, further_fillings};
use crate::fault::Memory;
use crate::interpret;
use crate::launch::{MAX_SHARED, PARAMETERS};
use crate::module::Variable;
use crate::sanitize::{self, Tool};
use crate::{Argument, Device, DevicePointer, Grid, Limits, Module, Reason};

/// The limits of a run.
const STEPS: u64 = 20_000;

/// Maximum duration of a run.
const TIME: Duration = Duration::from_secs(2);

/// Maximum number of runs for inferring fields.
const MAX_RUNS: usize = 200;

/// The size of a buffer in bytes.
pub const BUFFER: usize = 16 << 10;

/// How many times as large a buffer is in large runs, and how many times as many instructions they may take.
const LARGE: (usize, u64) = (64, 10);

/// Bytes of dynamic shared memory.
const SHARED: u64 = 8 << 10;

/// Maximum number of fields; kernels with more are skipped.
const MAX_FIELDS: usize = 128;

/// A field: some bytes of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its offset in the parameters.
    pub offset: u32,
    /// Its size in bytes, at most 8.
    pub size: u8,
    /// Whether it is a pointer.
    pub is_pointer: bool,
    /// Whether it is a floating-point number.
    pub is_float: bool,
}

impl Field {
    /// Returns a parameter, or part of one, as a field; `None` for more than 8 bytes.
    fn new(parameter: &Parameter) -> Option<Self> {
        let size = u8::try_from(parameter.size).ok().filter(|size| (1..=8).contains(size))?;
        Some(Self {
            offset: parameter.offset,
            size,
            is_pointer: parameter.ty.is_some_and(Type::is_pointer) && size == 8,
            is_float: matches!(parameter.ty, Some(Type::Float(_))),
        })
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Number of executed instructions, or steps of the interpreter.
    pub steps: u64,
    /// The fault that ended it.
    pub result: Result<(), Reason>,
    /// Whether an integer was divided by zero.
    pub divides_by_zero: bool,
    /// Whether any buffer changed.
    pub changed: bool,
    /// The memory before the run.
    pub before: Vec<(DevicePointer, Vec<u8>)>,
    /// The memory after the run; empty after a fault.
    pub after: Vec<(DevicePointer, Vec<u8>)>,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// The grid.
    pub grid: Grid,
    /// The number of buffers that are global variables of the program.
    pub variables: usize,
}

/// What a kernel is started with.
struct Launch {
    device: Device,
    arguments: Vec<Argument>,
    grid: Grid,
    limits: Limits,
}

/// A cubin loaded into the memory of a device, which is copied for each run.
#[derive(Clone, Debug)]
pub struct Trials {
    device: Device,
    /// The loaded cubin.
    pub module: Module,
    /// The limit of instructions.
    steps: u64,
}

impl Trials {
    /// Loads a cubin.
    ///
    /// # Errors
    /// Those of [`Module::load`].
    pub fn new(cubin: &[u8]) -> Result<Self, Error> {
        let mut device = Device::new();
        device.limit_memory(64 << 20);
        let mut module = Module::load(&mut device, cubin)?;
        for texture in filling::textures() {
            device.add_texture(texture);
        }
        for name in module.texture_references() {
            module.bind_texture(&name, filling::texture_handle(&name));
        }
        Ok(Self { device, module, steps: STEPS })
    }

    /// Returns the fields of a kernel: the known ones, and words where there are none. `None` if there are too many.
    pub fn fields(&self, kernel: &str, known: &[Parameter]) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        let known: Vec<Field> = known.iter().filter_map(Field::new).collect();
        for (start, parameter) in &self.module.kernel(kernel)?.parameters {
            let start = start.saturating_sub(u32::try_from(PARAMETERS).unwrap_or(0));
            let end = start.saturating_add(parameter.size.into());
            let inside = known.iter().filter(|field| (start..end).contains(&field.offset));
            let last = Field { offset: end, size: 0, is_pointer: false, is_float: false };
            let mut at = start;
            for field in inside.chain([&last]) {
                // Bytes without a field are not read, or read as words.
                while at < field.offset {
                    let size = (field.offset - at).min(8 - (at - start) % 8);
                    let size = u8::try_from(size).unwrap_or(8);
                    fields.push(Field { offset: at, size, is_pointer: false, is_float: false });
                    at += u32::from(size);
                }
                at = field.offset + u32::from(field.size);
                if field.size > 0 {
                    fields.push(*field);
                }
            }
        }
        (fields.len() <= MAX_FIELDS).then_some(fields)
    }

    /// Allows a multiple of the number of instructions: other code may need more for the same.
    #[must_use]
    pub fn with_patience(self, factor: u64) -> Self {
        Self { steps: self.steps.saturating_mul(factor), ..self }
    }

    /// Infers further pointers among the fields, by running.
    pub fn infer(&self, name: &str, fields: &[Field], filling: Filling) -> Vec<Field> {
        self.infer_until(None, name, fields, filling)
    }

    /// Infers pointers until a time, if there is one.
    fn infer_until(
        &self,
        end: Option<Instant>,
        name: &str,
        fields: &[Field],
        filling: Filling,
    ) -> Vec<Field> {
        let mut fields = fields.to_vec();
        let mut best = self.run(name, &fields, filling, false);
        let mut runs = 0;
        loop {
            let is_outside =
                matches!(best.result, Err(Reason::OutOfBounds { .. } | Reason::Misaligned { .. }));
            if !is_outside || runs > MAX_RUNS || end.is_some_and(|end| Instant::now() > end) {
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
                let outcome = self.run(name, &fields, filling, false);
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
    pub fn run(&self, name: &str, fields: &[Field], filling: Filling, ordered: bool) -> Outcome {
        self.run_as(None, name, fields, filling, ordered)
    }

    /// Runs a kernel from the code of these functions, rather than from its instructions.
    pub fn run_as(
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
            divides_by_zero: false,
            changed: false,
            before: Vec::new(),
            after: Vec::new(),
            arguments: Vec::new(),
            grid: Grid::new(2, 64),
            variables: self.device.memory().count(),
        };
        outcome.result = self.launch_as(functions, name, fields, filling, ordered, &mut outcome);
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
        let (larger, longer) = if filling.is_large { LARGE } else { (1, 1) };
        let buffer = BUFFER * larger;
        let mut bytes = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            let value = if field.is_pointer {
                let pointer = device.allocate(buffer as u64, "buffer")?;
                device.write(pointer, &filling::buffer(&mut state, filling.content, buffer))?;
                pointer.0
            } else {
                filling::number(field, index, filling.numbers)
            };
            let end = field.offset as usize + usize::from(field.size);
            bytes.resize(bytes.len().max(end), 0);
            let place = bytes.iter_mut().skip(field.offset as usize).take(field.size.into());
            place.zip(value.to_le_bytes()).for_each(|(place, byte)| *place = byte);
        }
        let argument = |offset: u32, size: u16| {
            let start = offset.saturating_sub(u32::try_from(PARAMETERS).unwrap_or(0)) as usize;
            let end = start + usize::from(size);
            Argument((start..end).map(|at| bytes.get(at).copied().unwrap_or(0)).collect())
        };
        let parameters = kernel.parameters.iter();
        let arguments = parameters.map(|(offset, parameter)| argument(*offset, parameter.size)).collect();
        let steps = self.steps.saturating_mul(longer);
        let Filling { absent, ticks, unwritten, .. } = filling;
        let limits = Limits { steps, time: TIME, ordered, absent, ticks, unwritten, ..Limits::default() };
        // Kernels with a required block size depend on it. Few have both kinds of shared memory.
        let room = MAX_SHARED.saturating_sub(kernel.shared).min(SHARED);
        let has_dynamic = kernel.shared == 0 || filling.is_large;
        let shared = if has_dynamic { u32::try_from(room).unwrap_or(0) } else { 0 };
        let Shape { blocks, .. } = filling.shape;
        let grid = Grid { blocks, threads: filling.shape.within(kernel.threads), shared };
        Ok(Launch { device, arguments, grid, limits })
    }

    /// Returns why a kernel's results may depend on the time, on the order of its threads, or on memory that it never
    /// wrote.
    pub fn reason_to_differ(&self, name: &str, fields: &[Field], filling: Filling) -> Option<String> {
        let expected = self.run(name, fields, filling, false);
        let others = [
            (Filling { ticks: OTHER_TICKS, ..filling }, "a clock"),
            (Filling { unwritten: OTHER_UNWRITTEN, ..filling }, "local memory that was never written"),
        ];
        for (other, what) in others {
            if self.run(name, fields, other, false).after != expected.after {
                return Some(format!("its results depend on {what}"));
            }
        }
        // Warps share shared memory in step; in global memory, they seldom mean to.
        if let Err(reason @ Reason::Order(_)) = self.run(name, fields, filling, true).result
            && reason.to_string().contains(&Memory::Global.to_string())
        {
            return Some(reason.to_string());
        }
        let Launch { mut device, arguments, grid, limits } =
            self.launch(name, fields, filling, false).ok()?;
        let options = sanitize::Options { tools: vec![Tool::Races, Tool::Init], ..Default::default() };
        let report = self.module.sanitize(&mut device, name, grid, &arguments, limits, &options).ok()?;
        report.findings.first().map(|finding| finding.fault.reason.to_string())
    }

    /// Returns the name of a global variable that two runs change differently, the second one a run of `other`. Programs
    /// place and lay out their variables as they like: those with the same name and size in both count.
    pub fn different_variable(&self, run: &Outcome, other: &Self, other_run: &Outcome) -> Option<String> {
        let differs = |name: &str, at: DevicePointer, size: u64| {
            let Some(Variable::Global(other_at, other_size)) = other.module.variables().get(name) else {
                return false;
            };
            let changes = (run.change(at, size), other_run.change(*other_at, *other_size));
            let (Some((before, after)), Some((other_before, other_after))) = changes else { return false };
            // Addresses in initial values may differ.
            let mut bytes = before.iter().zip(after).zip(other_before.iter().zip(other_after));
            size == *other_size
                && bytes.any(|((before, after), (other_before, other_after))| {
                    after != other_after && (before != after || other_before != other_after)
                })
        };
        self.module.variables().iter().find_map(|(name, variable)| match variable {
            Variable::Global(at, size) if differs(name, *at, *size) => Some(name.clone()),
            _ => None,
        })
    }

    fn launch_as(
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
        let mut count = |_: &crate::Step<'_>| steps += 1;
        let (module, grid, arguments) = (&self.module, outcome.grid, &outcome.arguments);
        let launched = match functions {
            None => module.launch(&mut device, name, grid, arguments, limits, Some(&mut count)),
            Some(functions) => module.interpret(&mut device, functions, name, grid, arguments, limits),
        };
        outcome.steps = steps;
        let summary = launched.map_err(|fault| fault.reason)?;
        outcome.divides_by_zero = summary.divisions_by_zero > 0;
        outcome.after = copy(&device);
        outcome.changed = outcome.before != outcome.after;
        Ok(())
    }
}

/// Hashes a name (FNV-1a): the contents of a kernel's buffers depend on its name.
pub fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The comparison of a kernel's machine code with the code of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They leave the same memory, on this many launches.
    Same(usize),
    /// They don't: how.
    Different(String),
    /// No launch could be compared: the machine code does not end, does not write anything, or depends on the order of
    /// threads.
    None(String),
}

/// Why a launch is not compared whose memory differs.
const DIVIDES_BY_ZERO: &str = "it divides by zero, which C leaves undefined";

/// Describes why a launch is not compared.
fn described(reason: &Reason) -> String {
    match reason {
        Reason::Steps(limit) => format!("it executes more than {limit} instructions"),
        Reason::Time(_) => String::from("it takes too long"),
        reason => reason.to_string(),
    }
}

/// The time after which a comparison makes no further launches.
const COMPARISON_TIME: Duration = Duration::from_secs(3);

/// How many times as many steps as instructions the interpreter may execute.
const PATIENCE: u64 = 8;

/// The value of inactive lanes with which a kernel is run again, to see whether it depends on them.
const OTHER_ABSENT: u64 = 0x5a5a_5a5a;

/// The speed of clocks with which a kernel is run again, to see whether it depends on them.
const OTHER_TICKS: u64 = 7;

/// The bytes in local memory with which it is run again.
const OTHER_UNWRITTEN: u8 = 0x3f;

impl Trials {
    /// Compares a kernel with the code of functions on all fillings, as time permits; with fewer threads if none of them ends.
    /// `known` are the parameters, or parts of them, whose
    /// type is known.
    pub fn compare(
        &self,
        kernel: &str,
        known: &[Parameter],
        functions: &[interpret::Function],
    ) -> Comparison {
        let Some(all) = self.fields(kernel, known) else {
            return Comparison::None(String::from("it has too many parameters"));
        };
        let patient = self.clone().with_patience(PATIENCE);
        let mut launches = 0;
        let mut why = String::from("it writes nothing");
        let end = Instant::now() + COMPARISON_TIME;
        for (index, filling) in FILLINGS.into_iter().chain(further_fillings()).enumerate() {
            if launches > 0 && index >= FILLINGS.len() || Instant::now() > end {
                break;
            }
            let fields = self.infer_until(Some(end), kernel, &all, filling);
            let expected = match self.reliable(kernel, &fields, filling) {
                Ok(Some(outcome)) => outcome,
                Ok(None) => continue,
                Err(reason) => {
                    why = described(&reason);
                    continue;
                }
            };
            let found = patient.run_as(Some(functions), kernel, &fields, filling, false);
            let Some(what) = expected.difference(&found) else {
                launches += 1;
                continue;
            };
            match self.reason_to_differ(kernel, &fields, filling) {
                Some(reason) => why = reason,
                None if found.divides_by_zero => why = String::from(DIVIDES_BY_ZERO),
                None => return Comparison::Different(what),
            }
        }
        if launches > 0 { Comparison::Same(launches) } else { Comparison::None(why) }
    }

    /// Runs a kernel; `None` if it writes nothing.
    ///
    /// # Errors
    /// If it faults, or what it writes is not the same in every run.
    pub fn reliable(
        &self,
        kernel: &str,
        fields: &[Field],
        filling: Filling,
    ) -> Result<Option<Outcome>, Reason> {
        let outcome = self.run(kernel, fields, filling, true);
        outcome.result.clone()?;
        if !outcome.changed {
            return Ok(None);
        }
        let other = Filling { absent: OTHER_ABSENT, ..filling };
        if self.run(kernel, fields, other, true).after != outcome.after {
            return Err(Reason::Order(String::from("a shuffle depends on inactive lanes")));
        }
        Ok(Some(outcome))
    }
}

/// Compares one launch of a kernel with the code of functions. `device` has the memory before it.
pub fn compare_launch(
    module: &Module,
    device: &Device,
    functions: &[interpret::Function],
    kernel: &str,
    grid: Grid,
    arguments: &[Argument],
    limits: Limits,
) -> Comparison {
    let copy = |device: &Device| device.memory().map(|(at, bytes)| (at, bytes.to_vec())).collect();
    let mut outcome = Outcome {
        steps: 0,
        result: Ok(()),
        divides_by_zero: false,
        changed: true,
        before: Vec::new(),
        after: Vec::new(),
        arguments: arguments.to_vec(),
        grid,
        variables: 0,
    };
    let mut first = device.clone();
    if let Err(fault) = module.launch(&mut first, kernel, grid, arguments, limits, None) {
        return Comparison::None(fault.to_string());
    }
    let expected = Outcome { after: copy(&first), ..outcome.clone() };
    let limits = Limits { steps: limits.steps.saturating_mul(PATIENCE), ..limits };
    let mut second = device.clone();
    match module.interpret(&mut second, functions, kernel, grid, arguments, limits) {
        Ok(summary) => {
            outcome.after = copy(&second);
            outcome.divides_by_zero = summary.divisions_by_zero > 0;
        }
        Err(fault) => outcome.result = Err(fault.reason),
    }
    match expected.difference(&outcome) {
        None => Comparison::Same(1),
        Some(_) if outcome.divides_by_zero => Comparison::None(String::from(DIVIDES_BY_ZERO)),
        Some(what) => Comparison::Different(what),
    }
}

impl Outcome {
    /// Describes how another run of the same launch differs. All NaNs are equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if let Err(reason) = &other.result {
            return Some(reason.to_string());
        }
        let mut pairs = self.after.iter().zip(&other.after);
        let are_equal = self.after.len() == other.after.len()
            && pairs.all(|((_, one), (_, other))| same_but_for_nans(one, other));
        (!are_equal).then(|| first_difference(&self.after, &other.after))
    }

    /// Returns the buffers after the run.
    pub fn buffers(&self) -> &[(DevicePointer, Vec<u8>)] {
        self.after.get(self.variables..).unwrap_or(&[])
    }

    /// Returns the memory at an address before and after the run; `None` if there is less.
    fn change(&self, at: DevicePointer, size: u64) -> Option<(&[u8], &[u8])> {
        let ((start, before), (_, after)) = self
            .before
            .iter()
            .zip(&self.after)
            .find(|((start, bytes), _)| (start.0..start.0 + bytes.len() as u64).contains(&at.0))?;
        let first = usize::try_from(at.0 - start.0).ok()?;
        let range = first..first.checked_add(usize::try_from(size).ok()?)?;
        Some((before.get(range.clone())?, after.get(range)?))
    }

    /// Returns the contents of these buffers. Their addresses depend on the size of the program's variables.
    pub fn contents(&self) -> impl Iterator<Item = &[u8]> {
        self.buffers().iter().map(|(_, bytes)| bytes.as_slice())
    }
}

/// Returns whether two memories are the same, except for the bits of NaNs of one size.
pub fn same_but_for_nans(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && [4, 8].into_iter().any(|size| are_same(one, other, size))
}

/// Returns whether two memories are the same, where floats of some size may be different NaNs.
fn are_same(one: &[u8], other: &[u8], size: usize) -> bool {
    let is_nan = |bytes: &[u8]| match bytes {
        [a, b, c, d] => f32::from_le_bytes([*a, *b, *c, *d]).is_nan(),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]).is_nan(),
        _ => false,
    };
    let mut pairs = one.chunks(size).zip(other.chunks(size));
    one == other || pairs.all(|(one, other)| one == other || is_nan(one) && is_nan(other))
}

/// Describes the first difference of two memories.
pub fn first_difference(left: &[(DevicePointer, Vec<u8>)], right: &[(DevicePointer, Vec<u8>)]) -> String {
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
