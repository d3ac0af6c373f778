//! Code: the input of `dis`, its forms, `decompile`, `run` and `diff`.
//!
//! There are many formats but few kinds of code: LLVM modules, Direct3D token programs and NVIDIA machine code.

use crate::disassembly::{TokenSource, Unit};
use crate::nv_units::Nvidia;
use crate::select::Selection;
use unshade_core::FourCc;

/// Selects code of a program.
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
    /// The slice of the universal file that contains the library, or empty.
    pub slice: String,
    /// The modules.
    pub units: Vec<Unit<'p>>,
}

/// The code of a program.
#[derive(Clone, Debug)]
pub enum Code<'p> {
    /// LLVM modules, by library.
    Modules(Vec<ModuleGroup<'p>>),
    /// A Direct3D token program, or a container with token programs.
    Tokens(TokenSource<'p>),
    /// NVIDIA machine code.
    Machine(&'p Nvidia<'p>),
    /// The code was not found; the diagnostics say why.
    Unread,
}
