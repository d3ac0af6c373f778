//! Runs of kernels: what they are given, threadgroups one after another, and the order of threads.
//!
//! A thread runs until it waits: for its threadgroup, or for other lanes of its simdgroup. When no thread can run, lanes
//! that wait in the same place go on, those first whose place comes first in the code: so lanes that took different ways
//! meet again. When none wait, all threads of the group have to be at the same barrier. The order is always the same.

use super::code::{Action, Code, Shape, Step, shape};
use super::effects::LANES;
use super::exchange;
use super::fault::{Fault, Reason};
use super::globals;
use super::kind::Kind;
use super::machine::{self, World};
use super::memory::{Allocation, Locals, Memory, Use};
use super::number::Undefined;
use super::thread::{Order, State, Thread, number};
use crate::shader::fault::{Budget, Limits};
use crate::trace::Recorder;
use unshade_ir::fold::masked;
use unshade_ir::metal::MetalOp;
use unshade_ir::metal::interface::{FunctionKind, GlobalKind, MetalFunction, MetalProgram, Parameter};

/// The most threads of a threadgroup.
const MAX_THREADS: u64 = 1024;

/// A buffer of a [`Machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer(u64);

impl Buffer {
    /// Returns its address, which other buffers may have as a pointer.
    pub fn address(self) -> u64 {
        self.0
    }
}

/// What a kernel is given for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Memory of the device.
    Buffer(Buffer),
    /// Memory of the threadgroup, with this many bytes.
    Threadgroup(u64),
    /// What the attribute of the parameter says: positions and sizes in the grid.
    Position,
}

/// The size of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of threadgroups.
    pub groups: [u32; 3],
    /// Number of threads of a threadgroup.
    pub threads: [u32; 3],
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of threadgroups.
    pub groups: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of steps of threads.
    pub steps: u64,
    /// What the language leaves open.
    pub undefined: Undefined,
}

/// How strict a machine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether a barrier only waits for threads that have not ended, as devices do. The language asks for all of them.
    pub barriers_pass_ended_threads: bool,
}

/// A program that is ready to run, and its memory, which stays from run to run. Memory of threadgroups is zeros at first;
/// each group finds what the one before it left.
#[derive(Debug)]
pub struct Machine<'p> {
    program: &'p MetalProgram,
    codes: Vec<Code>,
    world: World,
    limits: Limits,
    /// How strict it is.
    pub rules: Rules,
    globals: Vec<Option<u64>>,
    /// Memory of threadgroups that parameters were given, by parameter.
    shared: Vec<(usize, u64)>,
}

impl<'p> Machine<'p> {
    /// Prepares a program. Functions that can't be prepared are faults where they are called.
    pub fn new(program: &'p MetalProgram, limits: Limits) -> Self {
        let mut memory = Memory::default();
        let globals = globals::place(program, &mut memory, limits.memory as u64);
        let address = |index: usize| globals.get(index).copied().flatten();
        let mut room = limits.memory / 8;
        let mut codes = Vec::new();
        for info in &program.functions {
            let code = match info.is_declared {
                true => Err(Reason::Function(info.name.clone())),
                false => Code::new(program, info, &address, room),
            };
            room -= code.as_ref().map_or(0, |code| code.template.len());
            codes.push(code.unwrap_or_else(|reason| Code::failing(info, reason)));
        }
        let world = World {
            memory,
            budget: Budget::new(limits),
            undefined: Undefined::default(),
            counted: 0,
            recorder: None,
        };
        Self { program, codes, world, limits, rules: Rules::default(), globals, shared: Vec::new() }
    }

    /// Sets the recorder; returns the one before.
    pub(super) fn set_recorder(&mut self, recorder: Option<Box<Recorder>>) -> Option<Box<Recorder>> {
        std::mem::replace(&mut self.world.recorder, recorder)
    }

    /// Adds a buffer of the device.
    pub fn buffer(&mut self, name: &str, bytes: Vec<u8>) -> Buffer {
        Buffer(self.world.memory.add(Allocation::new(name, bytes, Use::ReadWrite)))
    }

    /// Surrounds a buffer with zeros that may be accessed, as far as this distance from its start on both sides, so that
    /// accesses out of bounds are no faults.
    pub fn set_margin(&mut self, buffer: Buffer, margin: u64) {
        if let Some(found) = self.world.memory.allocation_mut(buffer.0) {
            found.margin = margin.min(1 << 32);
        }
    }

    /// Returns the contents of a buffer.
    pub fn bytes(&self, buffer: Buffer) -> &[u8] {
        self.world.memory.allocation(buffer.0).map_or(&[], |found| &found.bytes)
    }

    /// Returns the contents of a buffer, to change them.
    pub fn bytes_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        self.world.memory.allocation_mut(buffer.0).map_or(&mut [], |found| &mut found.bytes)
    }

    /// Returns what was written around a buffer: offsets and bytes of pages.
    pub fn around(&self, buffer: Buffer) -> impl Iterator<Item = (i64, &[u8])> {
        let found = self.world.memory.allocation(buffer.0);
        found
            .into_iter()
            .flat_map(|found| &found.around)
            .map(|(page, bytes)| (page * bytes.len() as i64, &**bytes))
    }

    /// Forgets what was written around a buffer.
    pub fn clear_around(&mut self, buffer: Buffer) {
        if let Some(found) = self.world.memory.allocation_mut(buffer.0) {
            found.around.clear();
        }
    }

    /// Sets memory of threadgroups that parameters were given to zeros.
    pub fn clear_threadgroup_arguments(&mut self) {
        for (_, address) in &self.shared {
            if let Some(found) = self.world.memory.allocation_mut(*address) {
                found.bytes.fill(0);
            }
        }
    }

    /// Returns the indices of the function constants of the program, with their names and the number of their bytes.
    pub fn function_constants(&self) -> impl Iterator<Item = (u32, &str, usize)> {
        self.program.globals.iter().filter_map(|global| match global.kind {
            GlobalKind::FunctionConstant(index) => {
                Some((index, global.name.as_str(), self.program.types.size(global.ty) as usize))
            }
            _ => None,
        })
    }

    /// Gives a function constant a value. Returns whether there is one with this index and size.
    pub fn set_function_constant(&mut self, index: u32, bytes: &[u8]) -> bool {
        let wanted = GlobalKind::FunctionConstant(index);
        let mut is_set = false;
        for (global, address) in self.program.globals.iter().zip(&self.globals) {
            let found = address.filter(|_| global.kind == wanted);
            if let Some(found) = found.and_then(|address| self.world.memory.allocation_mut(address))
                && found.bytes.len() == bytes.len()
            {
                found.bytes.copy_from_slice(bytes);
                found.usage = Use::Constant;
                is_set = true;
            }
        }
        is_set
    }

    /// Returns a kernel with its number.
    fn kernel(&self, name: &str) -> Result<(usize, &'p MetalFunction), Fault> {
        let functions = self.program.functions.iter().enumerate();
        let mut kernels = functions.filter(|(_, info)| info.kind == Some(FunctionKind::Kernel));
        kernels.find(|(_, info)| info.name == name).ok_or_else(|| Reason::Kernel(name.to_owned()).into())
    }

    /// Runs a kernel.
    pub fn run(&mut self, name: &str, grid: Grid, arguments: &[Argument]) -> Result<Summary, Fault> {
        let (function, info) = self.kernel(name)?;
        let count: u64 = grid.threads.iter().map(|size| u64::from(*size)).product();
        if count == 0 || count > MAX_THREADS {
            return Err(Reason::Argument(format!(
                "a threadgroup of {count} threads, of at most {MAX_THREADS}"
            ))
            .into());
        }
        if arguments.len() != info.parameters.len() {
            let message =
                format!("{name} takes {} arguments, not {}", info.parameters.len(), arguments.len());
            return Err(Reason::Argument(message).into());
        }
        self.world.budget = Budget::new(self.limits);
        self.world.undefined = Undefined::default();
        let given = self.given(info, arguments)?;
        let mut summary = Summary::default();
        let [x, y, z] = grid.groups;
        for gz in 0..z {
            for gy in 0..y {
                for gx in 0..x {
                    if let Some(recorder) = &mut self.world.recorder {
                        recorder.set_block([gx, gy, gz]);
                    }
                    let mut group = Threadgroup { machine: self, group: [gx, gy, gz], threads: Vec::new() };
                    group.start(function, info, grid, &given)?;
                    group.run()?;
                    summary.groups += 1;
                    summary.threads += count;
                }
            }
        }
        summary.steps = self.world.budget.steps();
        summary.undefined = self.world.undefined;
        Ok(summary)
    }

    /// Returns the addresses that parameters are given; none for those that are different for each thread.
    fn given(&mut self, info: &MetalFunction, arguments: &[Argument]) -> Result<Vec<Option<u64>>, Fault> {
        let mut given = Vec::new();
        for (index, (argument, parameter)) in arguments.iter().zip(&info.parameters).enumerate() {
            given.push(match argument {
                Argument::Buffer(buffer) => Some(buffer.0),
                Argument::Threadgroup(size) => {
                    let known = self.shared.iter().find(|(known, _)| *known == index).map(|known| known.1);
                    let size = usize::try_from(*size).map_err(|_| Reason::Memory)?;
                    self.world.budget.allocate(size).map_err(Reason::from)?;
                    match known.and_then(|known| Some((known, self.world.memory.allocation_mut(known)?))) {
                        Some((address, found)) => {
                            found.bytes.resize(size, 0);
                            Some(address)
                        }
                        None => {
                            let allocation = Allocation::new(&parameter.name, vec![0; size], Use::ReadWrite);
                            let address = self.world.memory.add(allocation);
                            self.shared.push((index, address));
                            Some(address)
                        }
                    }
                }
                Argument::Position if is_position(&parameter.attribute) => None,
                Argument::Position => {
                    let message =
                        format!("no value for the argument {} [[{}]]", parameter.name, parameter.attribute);
                    return Err(Reason::Argument(message).into());
                }
            });
        }
        Ok(given)
    }

    /// Calls a function in one thread, with the bytes of its arguments as in memory. Returns those of its result.
    pub fn call(&mut self, name: &str, arguments: &[Vec<u8>]) -> Result<Vec<u8>, Fault> {
        let found = self.codes.iter().position(|code| code.name == name);
        let function = found.ok_or_else(|| Reason::Function(name.to_owned()))?;
        let code = &self.codes[function];
        let mut values = Vec::new();
        for (parameter, bytes) in code.parameters.iter().zip(arguments) {
            values.push(match parameter {
                Some(Shape::Lanes(kind, lanes)) => {
                    let chunks = bytes.chunks(kind.bytes()).take(usize::from(*lanes));
                    chunks.map(|chunk| masked(number(chunk), kind.width())).collect()
                }
                _ => bytes.chunks(8).map(number).collect(),
            });
        }
        let result = code.result;
        self.world.budget = Budget::new(self.limits);
        self.world.undefined = Undefined::default();
        let mut group = Threadgroup { machine: self, group: [0; 3], threads: Vec::new() };
        let mut thread = Thread::new([0; 3], 0);
        let world = &mut group.machine.world;
        machine::enter(&group.machine.codes, world, &mut thread, function, values, None)?;
        group.threads.push(thread);
        group.run()?;
        let returned = group.threads.first().map_or(&[][..], |thread| &thread.returned);
        Ok(match result {
            Some(Shape::Lanes(kind, _)) => {
                returned.iter().flat_map(|slot| slot.to_le_bytes().into_iter().take(kind.bytes())).collect()
            }
            Some(Shape::Bytes(size)) => {
                let mut bytes: Vec<u8> = returned.iter().flat_map(|slot| slot.to_le_bytes()).collect();
                bytes.truncate(size as usize);
                bytes
            }
            None => Vec::new(),
        })
    }

    /// Returns what the last run or call did that the language leaves open.
    pub fn undefined(&self) -> Undefined {
        self.world.undefined
    }
}

/// Attributes of positions, and sizes that are the same for all threads.
const POSITIONS: [&str; 18] = [
    "thread_position_in_grid",
    "threadgroup_position_in_grid",
    "thread_position_in_threadgroup",
    "threads_per_grid",
    "threads_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "threadgroups_per_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "threads_per_simdgroup",
    "thread_execution_width",
    "thread_index_in_quadgroup",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "grid_origin",
];

/// Returns an attribute without the function constant that decides whether the argument exists.
fn plain(attribute: &str) -> &str {
    attribute.split(", ").next().unwrap_or(attribute)
}

/// Returns whether an attribute is that of a position in the grid or of a size.
pub fn is_position(attribute: &str) -> bool {
    POSITIONS.contains(&plain(attribute))
}

/// Returns the numbers of a position.
fn position(attribute: &str, grid: Grid, group: [u32; 3], thread: &Thread) -> [u32; 3] {
    let count: u32 = grid.threads.iter().product();
    let each = |of: &dyn Fn(usize) -> u32| [of(0), of(1), of(2)];
    let lanes = LANES as u32;
    match plain(attribute) {
        "thread_position_in_grid" => {
            each(&|axis| group[axis].wrapping_mul(grid.threads[axis]).wrapping_add(thread.position[axis]))
        }
        "threadgroup_position_in_grid" => group,
        "thread_position_in_threadgroup" => thread.position,
        "threads_per_grid" => each(&|axis| grid.groups[axis].wrapping_mul(grid.threads[axis])),
        "threads_per_threadgroup" | "dispatch_threads_per_threadgroup" => grid.threads,
        "threadgroups_per_grid" => grid.groups,
        "thread_index_in_threadgroup" => [thread.index, 0, 0],
        "thread_index_in_simdgroup" => [thread.index % lanes, 0, 0],
        "simdgroup_index_in_threadgroup" => [thread.index / lanes, 0, 0],
        "simdgroups_per_threadgroup" | "dispatch_simdgroups_per_threadgroup" => [count.div_ceil(lanes), 0, 0],
        "threads_per_simdgroup" | "thread_execution_width" => [lanes, 0, 0],
        "thread_index_in_quadgroup" => [thread.index % 4, 0, 0],
        "quadgroup_index_in_threadgroup" => [thread.index / 4, 0, 0],
        "quadgroups_per_threadgroup" => [count.div_ceil(4), 0, 0],
        _ => [0; 3],
    }
}

/// A threadgroup that runs.
struct Threadgroup<'m, 'p> {
    machine: &'m mut Machine<'p>,
    group: [u32; 3],
    threads: Vec<Thread>,
}

impl Threadgroup<'_, '_> {
    fn start(
        &mut self,
        function: usize,
        info: &MetalFunction,
        grid: Grid,
        given: &[Option<u64>],
    ) -> Result<(), Fault> {
        let [x, y, z] = grid.threads;
        let mut index = 0;
        for tz in 0..z {
            for ty in 0..y {
                for tx in 0..x {
                    let mut thread = Thread::new([tx, ty, tz], index);
                    index += 1;
                    let mut arguments = Vec::new();
                    for (parameter, given) in info.parameters.iter().zip(given) {
                        arguments.push(match given {
                            Some(address) => vec![*address],
                            None => self.position(parameter, grid, &thread)?,
                        });
                    }
                    let machine = &mut *self.machine;
                    machine::enter(
                        &machine.codes,
                        &mut machine.world,
                        &mut thread,
                        function,
                        arguments,
                        None,
                    )?;
                    self.threads.push(thread);
                }
            }
        }
        Ok(())
    }

    /// Returns the lanes of a position as a parameter has them.
    fn position(&self, parameter: &Parameter, grid: Grid, thread: &Thread) -> Result<Vec<u64>, Fault> {
        let numbers = position(&parameter.attribute, grid, self.group, thread);
        match shape(&self.machine.program.types, parameter.ty)? {
            Some(Shape::Lanes(kind @ Kind::Integer(_), lanes @ 1..=3)) => {
                let numbers = numbers.iter().take(usize::from(lanes));
                Ok(numbers.map(|number| masked(u64::from(*number), kind.width())).collect())
            }
            _ => Err(Reason::Argument(format!("the argument {} is no position", parameter.name)).into()),
        }
    }

    fn fault(&self, thread: usize, reason: Reason) -> Fault {
        match self.threads.get(thread) {
            Some(thread) => Fault::at(reason, thread.place(&self.machine.codes, self.group)),
            None => reason.into(),
        }
    }

    fn run(&mut self) -> Result<(), Fault> {
        loop {
            for index in 0..self.threads.len() {
                if self.threads[index].state != State::Ready {
                    continue;
                }
                let machine = &mut *self.machine;
                let ran = machine::run(&machine.codes, &mut machine.world, &mut self.threads[index]);
                ran.map_err(|reason| self.fault(index, reason))?;
            }
            if self.threads.iter().all(|thread| thread.state == State::Done) {
                return Ok(());
            }
            let mut is_released = false;
            for first in (0..self.threads.len()).step_by(LANES) {
                is_released |= self.release_lanes(first)?;
            }
            if !is_released {
                self.release_group()?;
            }
        }
    }

    /// Lets lanes of a simdgroup go on that wait for each other. Returns whether there are any.
    fn release_lanes(&mut self, first: usize) -> Result<bool, Fault> {
        let last = (first + LANES).min(self.threads.len());
        let codes = &self.machine.codes;
        let waiting: Vec<(usize, Order)> = (first..last)
            .filter(|index| self.threads[*index].state == State::WithLanes)
            .map(|index| (index, self.threads[index].order(codes)))
            .collect();
        let Some(place) = waiting.iter().map(|lane| &lane.1).min() else { return Ok(false) };
        let lanes: Vec<usize> =
            waiting.iter().filter(|lane| lane.1 == *place).map(|lane| lane.0 - first).collect();
        let number = first + lanes[0];
        let world = &mut self.machine.world;
        let done = match self.threads[number].waits_at(codes) {
            Some((code, step, op)) => {
                let threads = &mut self.threads[first..last];
                exchange::operate(code, threads, lanes.clone(), step, op, &mut world.undefined)
            }
            None => Err(Reason::Unsound),
        };
        done.map_err(|reason| self.fault(number, reason))?;
        for lane in lanes {
            self.threads[first + lane].state = State::Ready;
        }
        Ok(true)
    }

    /// Lets the threads of the group go on, which all wait at a barrier.
    fn release_group(&mut self) -> Result<(), Fault> {
        let codes = &self.machine.codes;
        let at = self.threads.iter().enumerate().filter(|(_, thread)| thread.state == State::AtBarrier);
        let places: Vec<_> = at.map(|(index, thread)| (index, thread.order(codes))).collect();
        let Some((_, place)) = places.first() else { return Err(Reason::Unsound.into()) };
        let other = places.iter().find(|other| other.1 != *place).map(|other| other.0);
        let ended = self.threads.iter().position(|thread| thread.state == State::Done);
        let ended = ended.filter(|_| !self.machine.rules.barriers_pass_ended_threads);
        if other.is_some() || ended.is_some() {
            return Err(self.fault(other.unwrap_or(places[0].0), Reason::DivergentBarrier));
        }
        for thread in &mut self.threads {
            if thread.state == State::AtBarrier {
                thread.state = State::Ready;
            }
        }
        Ok(())
    }
}

impl Thread {
    /// Creates a thread that is in no function.
    fn new(position: [u32; 3], index: u32) -> Self {
        Self {
            state: State::Ready,
            frames: Vec::new(),
            locals: Locals::default(),
            position,
            index,
            returned: Vec::new(),
        }
    }

    /// Returns the step that it waits at.
    fn waits_at<'c>(&self, codes: &'c [Code]) -> Option<(&'c Code, &'c Step, MetalOp)> {
        let frame = self.frames.last()?;
        let code = codes.get(frame.function)?;
        let step = code.blocks.get(frame.block as usize)?.steps.get(frame.step.checked_sub(1)?)?;
        match step.action {
            Action::Library(op) => Some((code, step, op)),
            _ => None,
        }
    }
}
