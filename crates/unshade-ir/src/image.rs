//! Reads and writes of textures and surfaces.

use super::vocabulary::vocabulary;
use super::{Number, Operand, SymbolId};

vocabulary! {
    /// How an image is accessed.
    ImageAccess {
        /// A filtered read of a texture.
        Sample "sample",
        /// The same with a level of detail.
        SampleLevel "sample_level",
        /// A read of one element of a texture.
        Fetch "fetch",
        /// A read of one component of four elements of a texture.
        Gather "gather",
        /// A read or write of an element of a surface.
        Surface "surface",
    }
}

vocabulary! {
    /// The dimensions of an image.
    ImageShape {
        /// One dimension.
        Line "1d",
        /// Layers of one dimension.
        LineArray "1d_array",
        /// Two dimensions.
        Plane "2d",
        /// Layers of two dimensions.
        PlaneArray "2d_array",
        /// Three dimensions.
        Volume "3d",
        /// The faces of a cube.
        Cube "cube",
        /// Layers of faces of a cube.
        CubeArray "cube_array",
    }
}

impl ImageShape {
    /// Returns the number of coordinates without the layer.
    pub fn dimensions(self) -> usize {
        match self {
            Self::Line | Self::LineArray => 1,
            Self::Plane | Self::PlaneArray => 2,
            Self::Volume | Self::Cube | Self::CubeArray => 3,
        }
    }

    /// Returns whether it has layers.
    pub fn is_layered(self) -> bool {
        matches!(self, Self::LineArray | Self::PlaneArray | Self::CubeArray)
    }
}

vocabulary! {
    /// What an access outside of a surface does.
    Boundary {
        /// It stops the program.
        Trap "trap",
        /// It accesses the nearest element.
        Clamp "clamp",
        /// It reads zero, and writes nothing.
        Zero "zero",
    }
}

/// The details of [`Op::ImageRead`](super::Op::ImageRead) and [`Op::ImageWrite`](super::Op::ImageWrite).
///
/// The inputs of the operation are the handle, unless there is a reference; then the coordinates and other arguments;
/// then, for writes, the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// How it is accessed.
    pub access: ImageAccess,
    /// Its dimensions.
    pub shape: ImageShape,
    /// The reference, which is declared globally. `None` if the first input is the handle of an object.
    pub reference: Option<SymbolId>,
    /// Number of words of an element: 1, 2 or 4.
    pub words: u8,
    /// Bits of a word: 8, 16 or 32.
    pub bits: u8,
    /// Whether a word of fewer than 32 bits is signed.
    pub is_signed: bool,
    /// What an access outside of it does.
    pub boundary: Boundary,
}

impl Image {
    /// Returns whether it is a surface.
    pub fn is_surface(&self) -> bool {
        self.access == ImageAccess::Surface
    }

    /// Returns whether its reads may be filtered, and so are floating point.
    pub fn is_filtered(&self) -> bool {
        !matches!(self.access, ImageAccess::Surface | ImageAccess::Fetch)
    }

    /// Returns the number of inputs before the coordinates.
    pub fn first(&self) -> usize {
        usize::from(self.reference.is_none())
    }

    /// Returns the type of an input, or `None` for a word that is written.
    pub fn input(&self, index: usize) -> Option<Operand> {
        let Some(index) = index.checked_sub(self.first()) else { return Some(Operand::Number(Number::U64)) };
        let (integer, float) = (Operand::Number(Number::I32), Operand::Number(Number::F32));
        let layer = self.shape.dimensions();
        let detail = layer + usize::from(self.shape.is_layered());
        match self.access {
            _ if index < layer => Some(if self.is_filtered() { float } else { integer }),
            _ if index < detail => Some(integer),
            ImageAccess::SampleLevel if index == detail => Some(float),
            ImageAccess::Gather if index == detail => Some(integer),
            _ => None,
        }
    }

    /// Returns the number of inputs before the words that are written.
    pub fn input_count(&self) -> usize {
        let has_detail = matches!(self.access, ImageAccess::SampleLevel | ImageAccess::Gather);
        self.first()
            + self.shape.dimensions()
            + usize::from(self.shape.is_layered())
            + usize::from(has_detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_as_many_inputs_as_types() {
        for access in ImageAccess::all() {
            for shape in ImageShape::all() {
                for boundary in Boundary::all() {
                    let (words, bits, is_signed) = (1, 32, false);
                    let image = Image { access, shape, reference: None, words, bits, is_signed, boundary };
                    assert!((0..image.input_count()).all(|index| image.input(index).is_some()));
                    assert_eq!(image.input(image.input_count()), None);
                }
            }
        }
    }
}
