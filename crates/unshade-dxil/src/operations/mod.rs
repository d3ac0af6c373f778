//! Operations with names of their own; all others are built by [`ShaderBody::operation`].
//!
//! | file | holds |
//! |---|---|
//! | `buffers` | loads and stores of buffers |
//! | `textures` | loads, stores and samples of textures |
//! | `threads` | threads, groups, barriers, atomics |
//! | `stages` | geometry, hull, domain, mesh and amplification shaders |
//!
//! [`ShaderBody::operation`]: crate::body::ShaderBody::operation

mod buffers;
mod stages;
mod textures;
mod threads;

pub use stages::Component;
pub use textures::{Sampling, TexturePlace};
pub use threads::{AtomicOperation, Barrier};

use crate::body::ShaderBody;
use crate::refused;
use unshade_core::Result;
use unshade_llvm::types::Type;
use unshade_llvm::{TypeId, ValueId};

impl ShaderBody<'_> {
    /// Returns the bits of a number that resources hold.
    fn number_bits(&self, ty: TypeId) -> Result<u32> {
        match self.module().types.get(ty) {
            Type::Integer(bits @ (16 | 32 | 64)) => Ok(bits),
            Type::Half => Ok(16),
            Type::Float => Ok(32),
            Type::Double => Ok(64),
            _ => refused("resources hold numbers of 16, 32 and 64 bits")
                .map_err(|error: unshade_core::Error| error.found(self.type_text(ty))),
        }
    }

    /// Returns values, and undefined ones of their type so that there are `count`.
    fn padded(&mut self, values: &[ValueId], count: usize, ty: TypeId) -> Result<alloc::vec::Vec<ValueId>> {
        let undefined = self.const_undef(ty)?;
        let mut padded = values.to_vec();
        padded.resize(count.max(values.len()), undefined);
        Ok(padded)
    }

    /// Returns the type of the first value.
    fn type_of_first(&self, values: &[ValueId]) -> Result<TypeId> {
        match values.first() {
            Some(&value) => self.type_of(value),
            None => refused("no values are stored"),
        }
    }
}

/// Returns the mask of so many components.
fn mask(count: usize) -> u8 {
    (1u8 << count.min(4)) - 1
}
