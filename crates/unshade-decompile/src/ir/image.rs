//! Reads and writes of textures and surfaces, as CUDA's functions for them.

/// What [`Op::ImageRead`](super::Op::ImageRead) and [`Op::ImageWrite`](super::Op::ImageWrite) do.
///
/// The inputs of the operation are the handle, where there is no reference, then the coordinates and what else the function
/// takes, one for each letter, then, of a write, the words that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// CUDA's function.
    pub function: &'static str,
    /// The reference that is declared outside of the function: into [`Function::symbols`](super::Function::symbols).
    /// None if the first input is the handle of an object.
    pub reference: Option<u32>,
    /// How the type of a reference says its shape: `cudaTextureType2D`.
    pub shape: &'static str,
    /// The letters of the types of coordinates and what else there is, as in [`intrinsic`](super::intrinsic).
    pub letters: &'static str,
    /// Words of an element: 1, 2 or 4.
    pub words: u8,
    /// Bits of such a word: 8, 16 or 32.
    pub bits: u8,
    /// Whether a word of fewer than 32 bits has a sign.
    pub is_signed: bool,
    /// What is outside, as the last argument; nothing for what CUDA takes where nothing is said.
    pub outside: &'static str,
}

impl Image {
    /// Whether it is of a surface.
    pub fn is_surface(&self) -> bool {
        self.function.starts_with("surf")
    }

    /// Whether what it reads may be filtered: then it is floating point.
    pub fn is_filtered(&self) -> bool {
        !self.is_surface() && self.function != "tex1Dfetch"
    }

    /// How many inputs are in front of the coordinates.
    pub fn first(&self) -> usize {
        usize::from(self.reference.is_none())
    }

    /// The letter of an input's type; none for a word that is written.
    pub fn letter(&self, input: usize) -> Option<u8> {
        match input.checked_sub(self.first()) {
            None => Some(b'U'),
            Some(place) => self.letters.as_bytes().get(place).copied(),
        }
    }
}
