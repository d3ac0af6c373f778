//! What ends a launch early: what happened, and which instruction of which thread did it.

use std::fmt;
use std::time::Duration;

use unshade_core::Escaped;

/// A memory that instructions see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Memory of the device, which all threads share.
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

/// Why a launch ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There is nothing at this address.
    OutOfBounds {
        /// The memory that was meant.
        memory: Memory,
        /// The address in it.
        address: u64,
        /// How many bytes were to be read or written.
        bytes: u32,
        /// What is close by, in words.
        nearby: String,
    },
    /// The address is no multiple of what is moved.
    Misaligned {
        /// The memory that was meant.
        memory: Memory,
        /// The address in it.
        address: u64,
        /// How many bytes were to be read or written.
        bytes: u32,
    },
    /// No instruction has this word.
    Undecoded(u128),
    /// There is no code at the address.
    NoCode(u64),
    /// The coordinates are outside of the surface, and the instruction says that this is a fault.
    OutOfSurface,
    /// The encoding has no meaning.
    Undefined,
    /// What the instruction does is not emulated.
    Unsupported(String),
    /// An instruction took from the reconvergence stack what nobody had pushed.
    StackEmpty(&'static str),
    /// The reconvergence stack grew beyond the limit.
    StackTooDeep(usize),
    /// The program stopped itself (`__trap`, `BPT`).
    Trap,
    /// `assert` failed: its message, as the CUDA runtime words it.
    Assertion(String),
    /// A call to the host could not be answered.
    HostCall(String),
    /// More steps than the limit allows.
    Steps(u64),
    /// More time than the limit allows.
    Time(Duration),
    /// More memory than the limit allows.
    Memory(u64),
    /// Threads wait at barriers that can never be passed.
    Deadlock(String),
    /// The result depends on the order in which threads run: which threads, and what they do.
    Order(String),
    /// The launch itself is not possible.
    Launch(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { memory, address, bytes, nearby } => {
                write!(f, "{bytes} bytes at {address:#x} are outside of {memory}")?;
                if nearby.is_empty() { Ok(()) } else { write!(f, " ({nearby})") }
            }
            Self::Misaligned { memory, address, bytes } => {
                write!(f, "{address:#x} in {memory} is no multiple of the {bytes} bytes that are moved")
            }
            Self::Undecoded(word) => write!(f, "no instruction has the word {word:#018x}"),
            Self::NoCode(address) => write!(f, "there is no code at {address:#x}"),
            Self::OutOfSurface => f.write_str("the coordinates are outside of the surface"),
            Self::Undefined => f.write_str("the encoding has no meaning"),
            Self::Unsupported(what) => write!(f, "not emulated: {what}"),
            Self::StackEmpty(what) => {
                write!(f, "{what}, but nothing of the kind was pushed on the reconvergence stack")
            }
            Self::StackTooDeep(limit) => {
                write!(f, "the reconvergence stack has more than {limit} entries (--stack raises the limit)")
            }
            Self::Trap => f.write_str("the program trapped"),
            Self::Assertion(message) => f.write_str(message),
            Self::HostCall(message) => f.write_str(message),
            Self::Steps(limit) => {
                write!(f, "more than {limit} instructions were run (--steps raises the limit)")
            }
            Self::Time(limit) => {
                write!(f, "it took more than {} seconds (--time raises the limit)", limit.as_secs_f64())
            }
            Self::Memory(limit) => write!(f, "more than {limit} bytes of memory (--memory raises the limit)"),
            Self::Deadlock(what) => write!(f, "a barrier can never be passed: {what}"),
            Self::Order(what) => write!(f, "the order of threads matters: {what}"),
            Self::Launch(what) => f.write_str(what),
        }
    }
}

/// The instruction and the thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kernel's name.
    pub kernel: String,
    /// The address of the instruction, from the start of the kernel's code.
    pub address: u64,
    /// Its text.
    pub text: String,
    /// The block, in x, y and z.
    pub block: [u32; 3],
    /// The thread in its block, in x, y and z.
    pub thread: [u32; 3],
    /// Its warp in the block, and its lane in the warp.
    pub lane: (u32, u32),
}

impl fmt::Display for Place {
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

/// What ended a launch early, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub reason: Reason,
    /// Where; none for what no single thread did.
    pub place: Option<Box<Place>>,
}

impl Fault {
    pub(crate) fn launch(what: impl Into<String>) -> Self {
        Self { reason: Reason::Launch(what.into()), place: None }
    }
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self { reason, place: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.reason),
            None => self.reason.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}
