//! Samplers that a shader states itself: `constexpr sampler`.
//!
//! | bits | holds |
//! |---|---|
//! | 0–2, 3–5, 6–8 | what is outside of the texture, for each coordinate |
//! | 9–10, 11–12, 13–14 | filters: magnified, minified, between levels |
//! | 15 | 1 if coordinates are pixels |
//! | 16–19 | comparison |
//! | 20–23 | maximum anisotropy less one |
//! | 24–39, 40–55 | the range of levels, as `half` |
//! | 56–57 | border colour |
//! | 63 | 1 |

use crate::entry::AddressSpace;
use crate::shader::{Shader, handle};
use alloc::format;
use alloc::string::String;
use unshade_core::Result;
use unshade_llvm::ValueId;
use unshade_llvm::build::GlobalOptions;
use unshade_llvm::global::Linkage;
use unshade_llvm::instruction::Opcode;

/// What is outside of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AddressMode {
    ClampToZero,
    #[default]
    ClampToEdge,
    Repeat,
    MirroredRepeat,
}

/// How a value is made of several texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Filter {
    #[default]
    Nearest,
    Linear,
    Bicubic,
}

/// How a value is made of two levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LevelFilter {
    #[default]
    None,
    Nearest,
    Linear,
}

/// How a depth is compared with the texture's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Compare {
    None,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Always,
    #[default]
    Never,
}

/// A sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplerState {
    /// What is outside of the texture, for each coordinate.
    pub address: [AddressMode; 3],
    /// The filter where a texel covers several pixels.
    pub magnified: Filter,
    /// The filter where a pixel covers several texels.
    pub minified: Filter,
    /// The filter between levels.
    pub levels: LevelFilter,
    /// Whether coordinates are pixels.
    pub pixels: bool,
    /// The comparison.
    pub compare: Compare,
    /// The maximum anisotropy, from 1 to 16.
    pub max_anisotropy: u8,
}

impl Default for SamplerState {
    fn default() -> Self {
        Self {
            address: [AddressMode::default(); 3],
            magnified: Filter::default(),
            minified: Filter::default(),
            levels: LevelFilter::default(),
            pixels: false,
            compare: Compare::default(),
            max_anisotropy: 1,
        }
    }
}

/// All levels: from 0 to the largest `half`.
const ALL_LEVELS: u64 = 0x7BFF << 40;
/// The bit of samplers that are constants.
const CONSTANT: u64 = 1 << 63;

impl SamplerState {
    /// Returns the number that AIR has for it.
    pub fn bits(&self) -> u64 {
        let [s, t, r] = self.address.map(|mode| mode as u64);
        let filters =
            (self.magnified as u64) << 9 | (self.minified as u64) << 11 | (self.levels as u64) << 13;
        let anisotropy = u64::from(self.max_anisotropy.clamp(1, 16) - 1) << 20;
        let compare = u64::from(self.pixels) << 15 | (self.compare as u64) << 16;
        s | t << 3 | r << 6 | filters | compare | anisotropy | ALL_LEVELS | CONSTANT
    }
}

impl Shader {
    /// Adds a sampler that the shader states itself, and returns its handle.
    ///
    /// # Errors
    /// If the module has too many values.
    pub fn constant_sampler(&mut self, state: &SamplerState) -> Result<ValueId> {
        let long = self.integer(64)?;
        let bits = self.const_int(long, state.bits())?;
        let count = self.module().named(b"air.sampler_states").len();
        let name = match count {
            0 => String::from("__air_sampler_state"),
            number => format!("__air_sampler_state.{number}"),
        };
        let options = GlobalOptions {
            constant: true,
            address_space: AddressSpace::Constant as u32,
            linkage: Linkage::Internal,
            initializer: Some(bits),
            ..GlobalOptions::default()
        };
        let global = self.add_global(&name, long, &options)?;
        self.set_alignment(global, 8)?;
        let node = [self.metadata_string("air.sampler_state"), self.metadata_value(global)?];
        let node = self.metadata_tuple(&node)?;
        self.add_named_metadata("air.sampler_states", &[node])?;
        let ty = handle(self, "sampler", AddressSpace::Constant)?;
        self.const_cast(Opcode::BitCast, global, ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_apples_compiler() {
        assert_eq!(SamplerState::default().bits(), 0x807B_FF00_0008_0049);
        let linear = SamplerState {
            magnified: Filter::Linear,
            minified: Filter::Linear,
            levels: LevelFilter::Linear,
            ..SamplerState::default()
        };
        assert_eq!(linear.bits() & 0xF_FFFF, 0x8_4A49);
        let pixels = SamplerState { pixels: true, ..SamplerState::default() };
        assert_eq!(pixels.bits() & 0xF_FFFF, 0x8_8049);
    }
}
