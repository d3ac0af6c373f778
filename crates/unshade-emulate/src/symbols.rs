//! Names of code addresses: functions of the program, and call stacks.

use unshade_nv::Cubin;
use unshade_nv::function::Function;

use crate::host;
use crate::module::{Kernel, Module, OTHER_CODE};
use crate::program::Program;
use crate::stack::Token;
use crate::warp::Warp;

/// Maximum number of frames in a call stack; recursion can be much deeper.
const MAX_FRAMES: usize = 32;

/// An instruction of a call stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The mangled name of the function.
    pub function: String,
    /// The index of the code section in the cubin.
    pub section: u32,
    /// The offset in the section.
    pub offset: u64,
}

/// A function's range in its code section.
#[derive(Clone, Debug)]
pub(crate) struct FunctionRange {
    section: u32,
    start: u64,
    end: u64,
    name: String,
}

impl FunctionRange {
    pub(crate) fn new(function: &Function<'_>) -> Self {
        let start = function.symbol.value;
        Self {
            section: function.symbol.section.into(),
            start,
            end: start.saturating_add(function.symbol.size),
            name: String::from_utf8_lossy(function.own_name()).into_owned(),
        }
    }

    /// Returns the functions of a cubin.
    pub(crate) fn all(cubin: &Cubin<'_>) -> Vec<Self> {
        let mut all: Vec<Self> = cubin.functions().map(|function| Self::new(&function)).collect();
        all.sort_by_key(|function| (function.section, function.start));
        all
    }
}

impl Module {
    /// Returns the address of the code of a function, by the name of its symbol.
    pub(crate) fn function_address(&self, symbol: &str) -> Option<u64> {
        let name = symbol.rsplit('$').next().unwrap_or(symbol);
        let function = self.functions.iter().find(|function| function.name == name)?;
        let code = self.codes.iter().find(|code| code.section == function.section)?;
        Some(code.address.wrapping_add(function.start))
    }

    /// Returns the function and the section offset of an address, as a kernel sees it.
    pub(crate) fn frame(&self, kernel: &Kernel, address: u64) -> Frame {
        let code = if address < OTHER_CODE {
            self.codes.get(kernel.code).map(|code| (code, address))
        } else {
            let after = self.codes.partition_point(|code| code.address <= address);
            let code = after.checked_sub(1).and_then(|index| self.codes.get(index));
            code.map(|code| (code, address.wrapping_sub(code.address)))
        };
        let (section, offset) = code.map_or((0, address), |(code, offset)| (code.section, offset));
        let after = self
            .functions
            .partition_point(|function| (function.section, function.start) <= (section, offset));
        // The kernel encloses the functions in its section: the one that starts last is the innermost.
        let mut before = self.functions.iter().take(after).rev();
        let own = before
            .by_ref()
            .take_while(|function| function.section == section)
            .find(|function| offset < function.end);
        let function = own.map_or_else(|| kernel.name.clone(), |function| function.name.clone());
        Frame { function, section, offset }
    }
}

/// Returns the addresses of a lane's call stack, innermost first. Calls to the host are left out.
pub(crate) fn call_stack(warp: &Warp, lane: u32, program: &Program<'_>) -> Vec<u64> {
    let is_ours = host::by_address(warp.last).is_none();
    let entries = warp.stack.entries().iter().rev();
    let returns = entries.filter(|entry| entry.token == Token::Return && entry.lanes >> (lane & 31) & 1 != 0);
    let calls = returns.map(|entry| program.preceding(entry.address));
    is_ours.then_some(warp.last).into_iter().chain(calls).take(MAX_FRAMES).collect()
}
