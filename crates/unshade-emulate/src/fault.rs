//! Faults that end a launch: the reason, and the instruction and thread that caused it.

use std::fmt;
use std::time::Duration;

use unshade_core::Escaped;

use crate::symbols::Frame;

/// A memory that instructions access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Memory of the device.
    Global,
    /// Memory of the block.
    Shared,
    /// Memory of the thread.
    Local,
    /// A constant bank.
    Constant(u8),
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global memory"),
            Self::Shared => f.write_str("shared memory"),
            Self::Local => f.write_str("local memory"),
            Self::Constant(bank) => write!(f, "constant bank {bank}"),
        }
    }
}

/// Where two threads are whose accesses conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RaceScope {
    /// In the same warp.
    Warp,
    /// In different warps of a block.
    Block,
    /// In different blocks.
    Grid,
}

/// Why a launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The address is not in any allocation.
    OutOfBounds {
        /// The accessed memory.
        memory: Memory,
        /// The address in it.
        address: u64,
        /// The size of the access.
        bytes: u32,
        /// A description of what is close by.
        nearby: String,
    },
    /// The address is not a multiple of the access size.
    Misaligned {
        /// The accessed memory.
        memory: Memory,
        /// The address in it.
        address: u64,
        /// The size of the access.
        bytes: u32,
    },
    /// The bytes read were never written.
    Uninitialized {
        /// The accessed memory.
        memory: Memory,
        /// The address in it.
        address: u64,
        /// The size of the access.
        bytes: u32,
        /// A description of what contains the address.
        nearby: String,
    },
    /// The address is in memory that was freed.
    UseAfterFree {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: u32,
        /// The start and the size of the freed allocation.
        allocation: (u64, u64),
    },
    /// `free` of what was freed before.
    DoubleFree {
        /// The address.
        address: u64,
        /// The size of the allocation.
        bytes: u64,
    },
    /// `free` of an address that `malloc` did not return.
    InvalidFree(u64),
    /// Memory of the device's heap was not freed.
    Leak {
        /// The number of allocations.
        allocations: u64,
        /// Their size.
        bytes: u64,
    },
    /// The stack is larger than local memory.
    StackOverflow,
    /// Threads of a block don't wait at the same barrier.
    DivergentBarrier(String),
    /// Accesses of two threads conflict, and nothing orders them.
    Race {
        /// Where the threads are.
        scope: RaceScope,
        /// Whether this access writes, and whether the earlier one did.
        writes: (bool, bool),
        /// The accessed memory.
        memory: Memory,
        /// The first byte that both access.
        address: u64,
        /// A description of what contains the address.
        nearby: String,
    },
    /// The word is not a valid instruction.
    Undecoded(u128),
    /// There is no code at the address.
    NoCode(u64),
    /// The coordinates are outside the surface, and the instruction traps in this case.
    OutOfSurface,
    /// The encoding has no meaning.
    Undefined,
    /// The instruction is not emulated.
    Unsupported(String),
    /// An instruction needs an entry of the reconvergence stack that does not exist.
    StackEmpty(&'static str),
    /// The reconvergence stack grew beyond the limit.
    StackTooDeep(usize),
    /// The program stopped itself (`__trap`, `BPT`).
    Trap,
    /// `assert` failed, with the message of the CUDA runtime.
    Assertion(String),
    /// A call to the host failed.
    HostCall(String),
    /// The limit of instructions was reached.
    Steps(u64),
    /// The time limit was reached.
    Time(Duration),
    /// The launch was ended from outside.
    Interrupted,
    /// The memory limit was reached.
    Memory(u64),
    /// Threads wait at barriers that can never be passed.
    Deadlock(String),
    /// A data race: the result depends on the order in which threads run.
    Order(String),
    /// The launch is not valid.
    Launch(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { memory, address, bytes, nearby } => {
                write!(f, "{bytes} bytes at {address:#x} are outside {memory}")?;
                if nearby.is_empty() { Ok(()) } else { write!(f, " ({nearby})") }
            }
            Self::Misaligned { memory, address, bytes } => {
                write!(f, "{address:#x} in {memory} is not a multiple of the access size, {bytes} bytes")
            }
            Self::Uninitialized { memory, address, bytes, nearby } => {
                write!(f, "{bytes} bytes at {address:#x} in {memory} are read, but were never written")?;
                if nearby.is_empty() { Ok(()) } else { write!(f, " ({nearby})") }
            }
            Self::UseAfterFree { address, bytes, allocation: (start, size) } => write!(
                f,
                "{bytes} bytes at {address:#x} are in freed memory (byte {} of an allocation of {size} bytes at {start:#x})",
                address.wrapping_sub(*start)
            ),
            Self::DoubleFree { address, bytes } => {
                write!(f, "free of {address:#x}, an allocation of {bytes} bytes that was freed before")
            }
            Self::InvalidFree(address) => write!(f, "free of {address:#x}, which malloc did not return"),
            Self::Leak { allocations: 1, bytes } => write!(f, "{bytes} bytes were not freed"),
            Self::Leak { allocations, bytes } => {
                write!(f, "{bytes} bytes in {allocations} allocations were not freed")
            }
            Self::StackOverflow => f.write_str("the stack is larger than local memory"),
            Self::DivergentBarrier(what) => f.write_str(what),
            Self::Race { scope, writes: (is_write, other_wrote), memory, address, nearby } => {
                let verb = |is_write: bool| if is_write { "written" } else { "read" };
                write!(f, "{address:#x} in {memory} is {} here", verb(*is_write))?;
                match scope {
                    RaceScope::Warp => {
                        f.write_str(", and by another lane in the same instruction with another value")
                    }
                    RaceScope::Block => {
                        write!(f, " and {} by another warp, with no barrier between", verb(*other_wrote))
                    }
                    RaceScope::Grid => {
                        write!(
                            f,
                            " and {} by another block, with nothing that orders the two",
                            verb(*other_wrote)
                        )
                    }
                }?;
                if nearby.is_empty() { Ok(()) } else { write!(f, " ({nearby})") }
            }
            Self::Undecoded(word) => write!(f, "{word:#018x} is not a valid instruction"),
            Self::NoCode(address) => write!(f, "there is no code at {address:#x}"),
            Self::OutOfSurface => f.write_str("the coordinates are outside the surface"),
            Self::Undefined => f.write_str("the encoding has no meaning"),
            Self::Unsupported(what) => write!(f, "not emulated: {what}"),
            Self::StackEmpty(what) => {
                write!(f, "{what} without a matching entry on the reconvergence stack")
            }
            Self::StackTooDeep(limit) => {
                write!(f, "the reconvergence stack has more than {limit} entries (--stack raises the limit)")
            }
            Self::Trap => f.write_str("the program trapped"),
            Self::Assertion(message) => f.write_str(message),
            Self::HostCall(message) => f.write_str(message),
            Self::Steps(limit) => {
                write!(f, "more than {limit} instructions executed (--steps raises the limit)")
            }
            Self::Time(limit) => {
                write!(f, "it took more than {} seconds (--time raises the limit)", limit.as_secs_f64())
            }
            Self::Interrupted => f.write_str("stopped before the end"),
            Self::Memory(limit) => write!(f, "more than {limit} bytes of memory (--memory raises the limit)"),
            Self::Deadlock(what) => write!(f, "a barrier can never be passed: {what}"),
            Self::Order(what) => write!(f, "the order of threads matters: {what}"),
            Self::Launch(what) => f.write_str(what),
        }
    }
}

/// The instruction and thread that caused a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The kernel's name.
    pub kernel: String,
    /// The address of the instruction, from the start of the kernel's code.
    pub address: u64,
    /// Its text.
    pub text: String,
    /// The block, in x, y and z.
    pub block: [u32; 3],
    /// The thread's position in the block, in x, y and z.
    pub thread: [u32; 3],
    /// The thread's warp in the block, and lane in the warp.
    pub lane: (u32, u32),
    /// The call stack, innermost first; it starts with the instruction.
    pub stack: Vec<Frame>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            f,
            "{} at {:#06x}: {}: block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz}), warp {} lane {}",
            Escaped(self.kernel.as_bytes()),
            self.address,
            self.text,
            self.lane.0,
            self.lane.1
        )
    }
}

/// A fault that ended a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The reason.
    pub reason: Reason,
    /// The location; `None` if no single thread caused it.
    pub location: Option<Box<Location>>,
}

impl Fault {
    pub(crate) fn launch(what: impl Into<String>) -> Self {
        Self { reason: Reason::Launch(what.into()), location: None }
    }
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self { reason, location: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "{location}: {}", self.reason),
            None => self.reason.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}
