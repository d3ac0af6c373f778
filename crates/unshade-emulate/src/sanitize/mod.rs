//! Checks of a launch, in the manner of `compute-sanitizer`: all faults are found and named, not only the first.
//!
//! | module | contents |
//! |---|---|
//! | `watch` | what instructions report to the checks |
//! | `heap`, `unset` | memory of `malloc`, bytes that were never written |
//! | `access`, `clocks`, `races` | the race check and its rule |
//! | `barriers` | threads that don't meet at the same barrier |
//! | `kinds`, `findings` | names and advice, what was found |
//!
//! A faulty access is left out: a load returns 0, a store is dropped, and the kernel goes on. Traps, failed assertions and
//! limits end the launch.

pub(crate) mod access;
pub(crate) mod barriers;
mod clocks;
mod findings;
mod heap;
mod kinds;
mod races;
pub(crate) mod unset;
mod watch;

pub use findings::{Finding, Related};
pub use kinds::Kind;

use crate::context::Limits;
use crate::device::Device;
use crate::environment::BlockState;
use crate::fault::{Fault, Reason};
use crate::launch::{Argument, Grid, Observers, Summary};
use crate::module::Module;
use access::AccessKind;
use barriers::Generation;
use clocks::Clocks;
use findings::Findings;
use heap::Heap;
use races::{Budget, History, Stamp};
use unset::UnsetBytes;

/// A group of checks, named as in `compute-sanitizer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Invalid accesses, the heap, the stack.
    Memory,
    /// Conflicting accesses that nothing orders.
    Races,
    /// Reads of what was never written.
    Init,
    /// Barriers.
    Sync,
}

impl Tool {
    /// All tools.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Races, Self::Init, Self::Sync];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memcheck",
            Self::Races => "racecheck",
            Self::Init => "initcheck",
            Self::Sync => "synccheck",
        }
    }
}

/// What to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The tools. Faults that end the launch are found by all.
    pub tools: Vec<Tool>,
    /// Maximum number of findings.
    pub limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { tools: Tool::ALL.to_vec(), limit: 100 }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The findings, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// The number of findings beyond the limit.
    pub omitted: u64,
    /// Statistics of the launch.
    pub summary: Summary,
    /// Whether the launch ended regularly.
    pub is_complete: bool,
    /// Whether accesses were left out of the race check, because they would have needed too much memory.
    pub is_partial: bool,
}

impl Module {
    /// Runs a kernel and checks it.
    ///
    /// # Errors
    /// If the kernel can't be started. What happens later is in the report.
    ///
    /// ```
    /// use unshade_emulate::sanitize::Options;
    /// use unshade_emulate::{Argument, Device, Grid, Limits, Module};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia/kernels/sm_35/axpy.cubin");
    /// # let cubin = std::fs::read(path)?;
    /// let mut device = Device::new();
    /// let module = Module::load(&mut device, &cubin)?;
    /// let (y, x) = (device.allocate(128, "y")?, device.allocate(64, "x")?);
    /// let arguments = [Argument::from(2.0_f32), y.into(), x.into()];
    /// let (grid, limits) = (Grid::new(1, 32), Limits::default());
    /// let report = module.sanitize(&mut device, "axpy", grid, &arguments, limits, &Options::default())?;
    /// assert_eq!(report.findings[0].kind().name, "out-of-bounds");
    /// assert_eq!(report.findings[0].count, 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sanitize(
        &self,
        device: &mut Device,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
        limits: Limits,
        options: &Options,
    ) -> Result<Report, Fault> {
        let checks = Some(Box::new(Checks::new(options, device.memory_limit())));
        let mut observers = Observers { checks, recorder: None };
        let result = self.launch_with(device, kernel, grid, arguments, limits, None, &mut observers);
        let Some(checks) = observers.checks.filter(|checks| checks.has_started) else {
            return result.map(|summary| Report {
                findings: Vec::new(),
                omitted: 0,
                summary,
                is_complete: true,
                is_partial: false,
            });
        };
        let is_complete = result.is_ok();
        let summary = checks.summary;
        let is_partial = checks.budget.is_exhausted;
        let mut findings = checks.findings;
        if let Err(fault) = result {
            let address = fault.location.as_ref().map_or(0, |location| location.address);
            let key = (Kind::of(&fault.reason).name, address, 0);
            findings.add(key, None, || Finding { fault, count: 1, related: Vec::new() });
        }
        let (findings, omitted) = findings.finish(&checks.budget.looks);
        Ok(Report { findings, omitted, summary, is_complete, is_partial })
    }
}

/// The checks of a launch.
#[derive(Debug)]
pub(crate) struct Checks {
    tools: Vec<Tool>,
    /// Whether the launch has started, and what it has done.
    pub(crate) has_started: bool,
    pub(crate) summary: Summary,
    /// The instruction that executes.
    current: Current,
    /// Faults of the current instruction.
    pending: Vec<Pending>,
    heap: Heap,
    global: History,
    budget: Budget,
    findings: Findings,
}

/// The instruction that executes.
#[derive(Clone, Debug, Default)]
struct Current {
    address: u64,
    kind: AccessKind,
    /// Whether it accesses 16 bytes, in four parts, and how many parts each lane has accessed.
    is_vector: bool,
    parts: [u8; 32],
    /// The call stack of a call to the host.
    stack: Vec<u64>,
}

/// A fault of the current instruction.
#[derive(Clone, Debug)]
struct Pending {
    lane: u32,
    reason: Reason,
    /// The conflicting access, with what it did.
    other: Option<(&'static str, Stamp)>,
    /// The load that one of the two accesses is, if the other is an atomic operation.
    look: Option<u32>,
}

impl Checks {
    fn new(options: &Options, memory: u64) -> Self {
        Self {
            tools: options.tools.clone(),
            has_started: false,
            summary: Summary::default(),
            current: Current::default(),
            pending: Vec::new(),
            heap: Heap::default(),
            global: History::default(),
            budget: Budget { left: memory, ..Budget::default() },
            findings: Findings::new(options.limit),
        }
    }

    fn has(&self, tool: Tool) -> bool {
        self.tools.contains(&tool)
    }
}

/// The checks of a block.
#[derive(Debug)]
pub(crate) struct BlockChecks {
    clocks: Clocks,
    shared: History,
    unset: UnsetBytes,
    /// By barrier: the warps that have arrived since it was last passed.
    barriers: [Option<Generation>; 16],
}

impl BlockState {
    /// Prepares the checks for the block that starts, the `number`th of the grid.
    pub(crate) fn start_checks(&mut self, number: u64) {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let warps = self.position.thread_count().div_ceil(32) as usize;
        self.checks = Some(Box::new(BlockChecks {
            clocks: Clocks::new(number, warps),
            shared: History::default(),
            unset: UnsetBytes::new(self.shared.len()),
            barriers: [const { None }; 16],
        }));
    }
}
