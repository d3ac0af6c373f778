//! Why a run of a kernel ended early: what happened, at which instruction, in which thread.

use crate::shader::fault;
use std::fmt::{Display, Formatter, Result};
use unshade_ir::NO_ADDRESS;

/// The reason of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Something that the interpreter does not have.
    Unmodelled(String),
    /// An instruction that the front end could not lift.
    Unlifted(String),
    /// A kernel that the program does not have.
    Kernel(String),
    /// A function that is called, and that the program does not have.
    Function(String),
    /// An argument of a kernel that is missing or does not fit.
    Argument(String),
    /// An access of memory outside of any variable.
    OutOfBounds(Box<Access>),
    /// A write to constant memory.
    Constant(String),
    /// A function constant that is read and was given no value.
    FunctionConstant(String),
    /// A division of an integer by zero.
    DivisionByZero,
    /// A quotient that its type does not have.
    DivisionOverflow,
    /// Threads of a threadgroup that wait at different barriers, or that ended while others wait.
    DivergentBarrier,
    /// A function that calls itself.
    Recursion(String),
    /// A trap of the program.
    Trap,
    /// The run was ended from outside.
    Interrupted,
    /// More steps than the limit.
    Steps,
    /// More memory than the limit.
    Memory,
    /// More calls inside each other than the limit.
    Depth,
    /// The code is unsound: a value is used where it is not available.
    Unsound,
}

/// An access of memory that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether it writes.
    pub is_write: bool,
    /// Number of bytes.
    pub size: u64,
    /// The variable that the address is closest to, with its size and the offset in it; none for other addresses.
    pub place: Option<(String, u64, i64)>,
    /// The address.
    pub address: u64,
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let verb = if self.is_write { "writes" } else { "reads" };
        let size = self.size;
        match &self.place {
            Some((name, length, offset)) => {
                write!(f, "{verb} {size} bytes at byte {offset} of {name}, which has {length}")
            }
            None => write!(f, "{verb} {size} bytes at {:#x}, where no variable is", self.address),
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Unmodelled(what) => write!(f, "not modelled: {what}"),
            Self::Unlifted(note) => write!(f, "an instruction was not lifted: {note}"),
            Self::Kernel(name) => write!(f, "there is no kernel {name}"),
            Self::Function(name) => write!(f, "the function {name} is not in the program"),
            Self::Argument(what) => f.write_str(what),
            Self::OutOfBounds(access) => access.fmt(f),
            Self::Constant(name) => write!(f, "writes to {name}, which is constant"),
            Self::FunctionConstant(name) => write!(f, "the function constant {name} has no value"),
            Self::DivisionByZero => f.write_str("divides an integer by zero"),
            Self::DivisionOverflow => f.write_str("divides the least integer by -1"),
            Self::DivergentBarrier => f.write_str("not all threads of the threadgroup get to the barrier"),
            Self::Recursion(name) => write!(f, "{name} calls itself"),
            Self::Trap => f.write_str("reaches a trap"),
            Self::Interrupted => f.write_str("stopped before the end"),
            Self::Steps => f.write_str("more steps than the limit"),
            Self::Memory => f.write_str("more memory than the limit"),
            Self::Depth => f.write_str("calls nest too deeply"),
            Self::Unsound => f.write_str("a value is used where it is not available"),
        }
    }
}

impl From<fault::Reason> for Reason {
    fn from(reason: fault::Reason) -> Self {
        match reason {
            fault::Reason::Interrupted => Self::Interrupted,
            fault::Reason::Steps => Self::Steps,
            fault::Reason::Memory => Self::Memory,
            fault::Reason::Depth => Self::Depth,
            fault::Reason::Unlifted(note) => Self::Unlifted(note),
            fault::Reason::Function(name) => Self::Function(name),
            fault::Reason::Unsupported(what) => Self::Unmodelled(what),
            fault::Reason::Stage(stage) => Self::Unmodelled(stage.to_owned()),
            fault::Reason::Unsound => Self::Unsound,
        }
    }
}

/// Where a thread was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The position of its threadgroup in the grid.
    pub group: [u32; 3],
    /// Its position in the threadgroup.
    pub thread: [u32; 3],
    /// The functions that it was in, the kernel first, with the numbers of the instructions in their bodies.
    pub calls: Vec<(String, Option<u32>)>,
}

/// The end of a run that failed: what happened where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub reason: Reason,
    /// The thread and the instruction, if there is one.
    pub place: Option<Box<Place>>,
}

impl Fault {
    /// Returns the fault with a place.
    pub(super) fn at(reason: Reason, place: Place) -> Self {
        Self { reason, place: Some(Box::new(place)) }
    }
}

/// Returns the number of an instruction; `None` for a value that comes from none.
pub(super) fn instruction(address: u32) -> Option<u32> {
    Some(address).filter(|address| *address != NO_ADDRESS)
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.reason.fmt(f)?;
        let Some(place) = &self.place else { return Ok(()) };
        for (index, (function, instruction)) in place.calls.iter().rev().enumerate() {
            f.write_str(if index == 0 { ", in " } else { ", called by " })?;
            match instruction {
                Some(number) => write!(f, "{function} at {number:#x}")?,
                None => f.write_str(function)?,
            }
        }
        let ([x, y, z], [gx, gy, gz]) = (place.thread, place.group);
        write!(f, ", thread ({x},{y},{z}) of group ({gx},{gy},{gz})")
    }
}

impl std::error::Error for Fault {}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self { reason, place: None }
    }
}
