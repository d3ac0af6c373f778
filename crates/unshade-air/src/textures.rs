//! The types of textures.

use crate::entry::Access;
use crate::types::Scalar;
use alloc::format;
use alloc::string::String;

/// The shape of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TextureKind {
    Texture1d,
    Texture1dArray,
    Texture2d,
    Texture2dArray,
    Texture2dMultisampled,
    Texture3d,
    TextureCube,
    TextureCubeArray,
    TextureBuffer,
    Depth2d,
    Depth2dArray,
    Depth2dMultisampled,
    DepthCube,
    DepthCubeArray,
}

/// Each kind: its name in the language, its name in AIR, the number of coordinates when it is sampled, and whether it
/// is an array.
const KINDS: [(TextureKind, &str, &str, u32, bool); 14] = [
    (TextureKind::Texture1d, "texture1d", "texture_1d", 1, false),
    (TextureKind::Texture1dArray, "texture1d_array", "texture_1d_array", 1, true),
    (TextureKind::Texture2d, "texture2d", "texture_2d", 2, false),
    (TextureKind::Texture2dArray, "texture2d_array", "texture_2d_array", 2, true),
    (TextureKind::Texture2dMultisampled, "texture2d_ms", "texture_2d_ms", 2, false),
    (TextureKind::Texture3d, "texture3d", "texture_3d", 3, false),
    (TextureKind::TextureCube, "texturecube", "texture_cube", 3, false),
    (TextureKind::TextureCubeArray, "texturecube_array", "texture_cube_array", 3, true),
    (TextureKind::TextureBuffer, "texture_buffer", "texture_buffer_1d", 1, false),
    (TextureKind::Depth2d, "depth2d", "depth_2d", 2, false),
    (TextureKind::Depth2dArray, "depth2d_array", "depth_2d_array", 2, true),
    (TextureKind::Depth2dMultisampled, "depth2d_ms", "depth_2d_ms", 2, false),
    (TextureKind::DepthCube, "depthcube", "depth_cube", 3, false),
    (TextureKind::DepthCubeArray, "depthcube_array", "depth_cube_array", 3, true),
];

impl TextureKind {
    fn row(self) -> &'static (Self, &'static str, &'static str, u32, bool) {
        KINDS.iter().find(|row| row.0 == self).unwrap_or(const { &KINDS[2] })
    }

    /// Returns the name in the language.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the name in AIR: of its handle and its functions.
    pub fn air_name(self) -> &'static str {
        self.row().2
    }

    /// Returns the number of coordinates.
    pub fn coordinates(self) -> u32 {
        self.row().3
    }

    /// Returns whether it is an array.
    pub fn is_array(self) -> bool {
        self.row().4
    }

    /// Returns whether it holds depths.
    pub fn is_depth(self) -> bool {
        self.air_name().starts_with("depth")
    }

    /// Returns whether its pixels have several samples.
    pub fn is_multisampled(self) -> bool {
        matches!(self, Self::Texture2dMultisampled | Self::Depth2dMultisampled)
    }

    /// Returns whether it is a cube.
    pub fn is_cube(self) -> bool {
        self.air_name().contains("cube")
    }

    /// Returns whether it can have smaller levels.
    pub fn is_mipmapped(self) -> bool {
        !self.is_multisampled() && self != Self::TextureBuffer
    }
}

/// The type of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Texture {
    /// The shape.
    pub kind: TextureKind,
    /// The type of a component.
    pub scalar: Scalar,
    /// How it is accessed.
    pub access: Access,
}

impl Texture {
    /// Returns a texture that is sampled.
    pub fn sampled(kind: TextureKind, scalar: Scalar) -> Self {
        Self { kind, scalar, access: Access::Sample }
    }

    /// Returns the type in the language: `texture2d<float, sample>`.
    pub fn name(&self) -> String {
        format!("{}<{}, {}>", self.kind.name(), self.scalar.name(), self.access.keyword())
    }
}
