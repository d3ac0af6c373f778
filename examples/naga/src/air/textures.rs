//! Textures of AIR.

use super::{Air, elements, vector};
use crate::error::{Error, Result, unsupported};
use crate::images::image_type;
use crate::target::{Level, Query, Sample, Texel};
use naga::{
    GlobalVariable, Handle, ImageClass, ImageDimension, Module, Scalar, ScalarKind, StorageAccess,
    StorageFormat,
};
use unshade_air::entry::Access;
use unshade_air::intrinsics::{self, Place};
use unshade_air::textures::{Texture, TextureKind};
use unshade_air::types::Scalar as MetalScalar;
use unshade_llvm::ValueId;
use unshade_llvm::build::FunctionBuilder;

/// The kinds of textures: dimension, whether it is an array, has several samples, holds depths.
const KINDS: [(ImageDimension, bool, bool, bool, TextureKind); 13] = [
    (ImageDimension::D1, false, false, false, TextureKind::Texture1d),
    (ImageDimension::D1, true, false, false, TextureKind::Texture1dArray),
    (ImageDimension::D2, false, false, false, TextureKind::Texture2d),
    (ImageDimension::D2, true, false, false, TextureKind::Texture2dArray),
    (ImageDimension::D2, false, true, false, TextureKind::Texture2dMultisampled),
    (ImageDimension::D3, false, false, false, TextureKind::Texture3d),
    (ImageDimension::Cube, false, false, false, TextureKind::TextureCube),
    (ImageDimension::Cube, true, false, false, TextureKind::TextureCubeArray),
    (ImageDimension::D2, false, false, true, TextureKind::Depth2d),
    (ImageDimension::D2, true, false, true, TextureKind::Depth2dArray),
    (ImageDimension::D2, false, true, true, TextureKind::Depth2dMultisampled),
    (ImageDimension::Cube, false, false, true, TextureKind::DepthCube),
    (ImageDimension::Cube, true, false, true, TextureKind::DepthCubeArray),
];

/// Returns the type of a texture.
///
/// # Errors
/// If Metal does not have it.
pub(super) fn texture_type(module: &Module, image: Handle<GlobalVariable>) -> Result<Texture> {
    let (dimension, arrayed, class) = image_type(module, image)?;
    let (multi, depth, kind, access) = match class {
        ImageClass::Sampled { kind, multi } => (multi, false, kind, Access::Sample),
        ImageClass::Depth { multi } => (multi, true, ScalarKind::Float, Access::Sample),
        ImageClass::Storage { format, access } => (false, false, storage_scalar(format)?.kind, {
            match (access.contains(StorageAccess::LOAD), access.contains(StorageAccess::STORE)) {
                (true, true) => Access::ReadWrite,
                (true, false) => Access::Read,
                _ => Access::Write,
            }
        }),
        ImageClass::External => return unsupported("external textures"),
    };
    // Textures with several samples can't be sampled; they are read.
    let access = if multi { Access::Read } else { access };
    let scalar = match kind {
        ScalarKind::Sint => MetalScalar::Int,
        ScalarKind::Uint => MetalScalar::UInt,
        _ => MetalScalar::Float,
    };
    let wanted = (dimension, arrayed, multi, depth);
    match KINDS.iter().find(|row| (row.0, row.1, row.2, row.3) == wanted) {
        Some(row) => Ok(Texture { kind: row.4, scalar, access }),
        None => unsupported(format!("{dimension:?} textures of this kind")),
    }
}

/// Returns the scalar of the texels of a format.
fn storage_scalar(format: StorageFormat) -> Result<Scalar> {
    let scalar = Scalar::from(format);
    match scalar.width {
        8 => unsupported("textures of 64-bit integers"),
        _ => Ok(scalar),
    }
}

impl Air<'_> {
    pub(super) fn sample_texture(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        sample: &Sample,
    ) -> Result<Vec<ValueId>> {
        let texture = texture_type(self.module, sample.image)?;
        let (handle, sampler) = (self.resource(b, sample.image)?, self.resource(b, sample.sampler)?);
        let mut place = Place::at(vector(b, &sample.coordinates)?);
        place.array = sample.array;
        if let Some(offset) = &sample.offset {
            place.offset = Some(vector(b, offset)?);
        }
        let float = b.float();
        let level = match &sample.level {
            Level::Automatic => intrinsics::Level::Automatic,
            Level::Zero => intrinsics::Level::Exact(b.const_float(float, 0.0)?),
            Level::Bias(bias) => intrinsics::Level::Bias(*bias),
            Level::Exact(level) => intrinsics::Level::Exact(*level),
            Level::Gradient(x, y) => intrinsics::Level::Gradient(vector(b, x)?, vector(b, y)?),
        };
        let texel = match (sample.gather, sample.reference) {
            (None, None) => intrinsics::sample(b, texture, handle, sampler, &place, level)?,
            (None, Some(reference)) => {
                intrinsics::sample_compare(b, texture, handle, sampler, &place, reference, level)?
            }
            (Some(component), None) => intrinsics::gather(b, texture, handle, sampler, &place, component)?,
            (Some(_), Some(reference)) => {
                intrinsics::gather_compare(b, texture, handle, sampler, &place, reference)?
            }
        };
        elements(b, texel)
    }

    /// Returns the place of a texel.
    fn texel_place(&self, b: &mut FunctionBuilder<'_>, texel: &Texel) -> Result<Place> {
        let mut place = Place::at(vector(b, &texel.coordinates)?);
        (place.array, place.level, place.sample) = (texel.array, texel.level, texel.sample);
        Ok(place)
    }

    pub(super) fn read_texture(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        texel: &Texel,
    ) -> Result<Vec<ValueId>> {
        let texture = texture_type(self.module, texel.image)?;
        let (handle, place) = (self.resource(b, texel.image)?, self.texel_place(b, texel)?);
        let value = intrinsics::read(b, texture, handle, &place)?;
        elements(b, value)
    }

    pub(super) fn write_texture(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        texel: &Texel,
        values: &[ValueId],
    ) -> Result<()> {
        let texture = texture_type(self.module, texel.image)?;
        let (handle, place) = (self.resource(b, texel.image)?, self.texel_place(b, texel)?);
        let value = vector(b, values)?;
        Ok(intrinsics::write(b, texture, handle, value, &place)?)
    }

    pub(super) fn query_texture(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        image: Handle<GlobalVariable>,
        query: Query,
    ) -> Result<Vec<ValueId>> {
        let texture = texture_type(self.module, image)?;
        let handle = self.resource(b, image)?;
        let (names, level): (&[&str], _) = match query {
            Query::Size(level) => (
                match image_type(self.module, image)?.0 {
                    ImageDimension::D1 => &["width"],
                    ImageDimension::D2 | ImageDimension::Cube => &["width", "height"],
                    ImageDimension::D3 => &["width", "height", "depth"],
                },
                level,
            ),
            Query::Levels => (&["num_mip_levels"], None),
            Query::Layers => (&["array_size"], None),
            Query::Samples => (&["num_samples"], None),
        };
        if names.is_empty() {
            return Err(Error::new("nothing is asked for"));
        }
        let mut values = Vec::new();
        for name in names {
            values.push(intrinsics::size(b, texture, handle, name, level)?);
        }
        Ok(values)
    }
}
