//! Reads and writes of textures and surfaces, as calls of CUDA's functions.

use super::SymbolId;

/// The details of [`Op::ImageRead`](super::Op::ImageRead) and [`Op::ImageWrite`](super::Op::ImageWrite).
///
/// The inputs of the operation are the handle, unless there is a reference; then the coordinates and other arguments,
/// one per letter; then, for writes, the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The CUDA function.
    pub function: &'static str,
    /// The reference, which is declared globally. `None` if the first input is the handle of an object.
    pub reference: Option<SymbolId>,
    /// The shape in the type of a reference, such as `cudaTextureType2D`.
    pub shape: &'static str,
    /// The types of coordinates and other arguments, as letters of [`intrinsic`](super::intrinsic).
    pub letters: &'static str,
    /// Number of words of an element: 1, 2 or 4.
    pub words: u8,
    /// Bits of a word: 8, 16 or 32.
    pub bits: u8,
    /// Whether a word of fewer than 32 bits is signed.
    pub is_signed: bool,
    /// The boundary mode, as the last argument; empty for CUDA's default.
    pub outside: &'static str,
}

impl Image {
    /// Returns whether it is a surface.
    pub fn is_surface(&self) -> bool {
        self.function.starts_with("surf")
    }

    /// Returns whether its reads may be filtered, and so are floating point.
    pub fn is_filtered(&self) -> bool {
        !self.is_surface() && self.function != "tex1Dfetch"
    }

    /// Returns the number of inputs before the coordinates.
    pub fn first(&self) -> usize {
        usize::from(self.reference.is_none())
    }

    /// Returns the type letter of an input, or `None` for a word that is written.
    pub fn letter(&self, input: usize) -> Option<u8> {
        match input.checked_sub(self.first()) {
            None => Some(b'U'),
            Some(index) => self.letters.as_bytes().get(index).copied(),
        }
    }
}
