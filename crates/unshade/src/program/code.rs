//! Code: what `dis`, its forms, `decompile`, `run` and `diff` work on.
//!
//! Formats are many, kinds of code are few: an LLVM module, a Direct3D token program, NVIDIA's machine code.

use crate::disassembly::{TokenSource, Unit};
use crate::nv_units::Nvidia;
use crate::select::Selection;
use unshade_core::FourCc;

/// Which code is asked for.
#[derive(Clone, Copy, Debug)]
pub struct CodeRequest<'r> {
    /// The functions.
    pub selection: &'r Selection,
    /// The part of a DXContainer.
    pub part: Option<FourCc>,
    /// What the program is called in headings and messages.
    pub path: &'r str,
}

/// Modules of a library.
#[derive(Clone, Debug)]
pub struct ModuleGroup<'p> {
    /// The slice of a universal file that the library is in; empty if there is none.
    pub slice: String,
    /// The modules.
    pub units: Vec<Unit<'p>>,
}

/// The code of a program.
#[derive(Clone, Debug)]
pub enum Code<'p> {
    /// LLVM modules, by library.
    Modules(Vec<ModuleGroup<'p>>),
    /// A Direct3D token program, or a container with some.
    Tokens(TokenSource<'p>),
    /// NVIDIA's machine code.
    Machine(&'p Nvidia<'p>),
    /// The code could not be found; why is in the diagnostics.
    Unread,
}
