//! The code of a program, as `dis`, its other forms, `decompile`, `run` and `diff` need it.
//!
//! There are many formats but few kinds of code: an LLVM module, a Direct3D token program, NVIDIA machine code.

use crate::disassembly::{TokenSource, Unit};
use crate::nv_units::Nvidia;
use crate::select::Selection;
use unshade_core::FourCc;

/// Selects the code of a program.
#[derive(Clone, Copy, Debug)]
pub struct CodeRequest<'r> {
    /// The selected functions.
    pub selection: &'r Selection,
    /// The selected part of a DXContainer.
    pub part: Option<FourCc>,
    /// The name of the program in headings and messages.
    pub path: &'r str,
}

/// The modules of a library.
#[derive(Clone, Debug)]
pub struct ModuleGroup<'p> {
    /// The library's slice of a universal file; empty if there is none.
    pub slice: String,
    /// The modules.
    pub units: Vec<Unit<'p>>,
}

/// The code of a program.
#[derive(Clone, Debug)]
pub enum Code<'p> {
    /// LLVM modules, by library.
    Modules(Vec<ModuleGroup<'p>>),
    /// A Direct3D token program, or a container of token programs.
    Tokens(TokenSource<'p>),
    /// NVIDIA machine code.
    Machine(&'p Nvidia<'p>),
    /// The code could not be found; the diagnostics say why.
    Unread,
}
