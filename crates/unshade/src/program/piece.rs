//! Pieces: the parts of a program that the Explorer lists.
//!
//! Items of the command line are functions. The page lists everything with bytes and a listing of its own: the
//! functions of a Metal library, the parts of a container, the kernels of a fat binary, the modules of a bitcode file.

use super::{Column, Row};
use std::borrow::Cow;
use std::ops::Range;

/// The listings of other LLVM modules, and of machine code without a decompiler.
pub(super) const CODE: &[&str] = &["assembly", "raw"];

/// The listings of machine code that is decompiled.
pub(super) const DECOMPILED: &[&str] = &["assembly", "raw", "c"];

/// The listings of shaders.
pub(super) const SHADER: &[&str] = &["assembly", "raw", "hlsl"];

/// The listings of AIR.
pub(super) const AIR: &[&str] = &["assembly", "raw", "metal"];

/// The listing of PTX.
pub(super) const PTX: &[&str] = &["ptx"];

/// A piece of a program.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// The index, name, kind, range and cells.
    pub row: Row,
    /// The index of the library in a universal file or the entry in a fat binary, from 0.
    pub unit: u32,
    /// The index in the unit.
    pub index: u32,
    /// The available listings: `assembly`, `raw`, `c`, `hlsl`, `metal`, `ptx`.
    pub panes: &'static [&'static str],
    /// The range of its entry in the list of pieces, if the format finds it faster with that.
    pub entry: Option<Range<u64>>,
    /// Whether [`Program::bytes_of`](super::Program::bytes_of) returns bytes.
    pub has_bytes: bool,
}

/// The pieces of a program.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// The word for a piece, in the singular.
    pub noun: &'static str,
    /// The columns of the cells.
    pub columns: &'static [Column],
    /// The pieces in file order.
    pub all: Vec<Piece>,
    /// The listings of the whole program.
    pub panes: &'static [&'static str],
}

/// The bytes of a piece: a module, a cubin, a part.
#[derive(Clone, Debug)]
pub struct PieceBytes<'p> {
    /// The file extension, with the full stop.
    pub extension: &'static str,
    /// The bytes.
    pub data: Cow<'p, [u8]>,
}
