//! Textures of DXIL.

use super::Dxil;
use crate::error::{Error, Result, unsupported};
use crate::images::image_type;
use crate::target::{Level, Query, Sample, Texel};
use naga::{GlobalVariable, Handle, ImageClass, ImageDimension, Scalar, ScalarKind, StorageFormat};
use unshade_dxil::body::ShaderBody;
use unshade_dxil::operations::{Sampling, TexturePlace};
use unshade_llvm::ValueId;

/// The number of coordinates that are sizes, of a dimension.
fn sizes(dimension: ImageDimension) -> usize {
    match dimension {
        ImageDimension::D1 => 1,
        ImageDimension::D2 | ImageDimension::Cube => 2,
        ImageDimension::D3 => 3,
    }
}

/// Formats with one and with two components; all others have four.
const SMALL_FORMATS: [(StorageFormat, u32); 22] = [
    (StorageFormat::R8Unorm, 1),
    (StorageFormat::R8Snorm, 1),
    (StorageFormat::R8Uint, 1),
    (StorageFormat::R8Sint, 1),
    (StorageFormat::R16Uint, 1),
    (StorageFormat::R16Sint, 1),
    (StorageFormat::R16Float, 1),
    (StorageFormat::R16Unorm, 1),
    (StorageFormat::R16Snorm, 1),
    (StorageFormat::R32Uint, 1),
    (StorageFormat::R32Sint, 1),
    (StorageFormat::R32Float, 1),
    (StorageFormat::Rg8Unorm, 2),
    (StorageFormat::Rg8Snorm, 2),
    (StorageFormat::Rg8Uint, 2),
    (StorageFormat::Rg8Sint, 2),
    (StorageFormat::Rg16Uint, 2),
    (StorageFormat::Rg16Sint, 2),
    (StorageFormat::Rg16Float, 2),
    (StorageFormat::Rg32Uint, 2),
    (StorageFormat::Rg32Sint, 2),
    (StorageFormat::Rg32Float, 2),
];

/// Returns the number of components of a texel, as a resource declares it.
pub(super) fn components(class: ImageClass) -> u32 {
    match class {
        ImageClass::Depth { .. } => 1,
        ImageClass::Storage { format, .. } => {
            SMALL_FORMATS.iter().find(|row| row.0 == format).map_or(4, |row| row.1)
        }
        _ => 4,
    }
}

/// Returns the scalar of a component.
pub(super) fn component_scalar(class: ImageClass) -> Result<Scalar> {
    let kind = match class {
        ImageClass::Sampled { kind, .. } => kind,
        ImageClass::Storage { format, .. } if Scalar::from(format).width == 8 => {
            return unsupported("textures of 64-bit integers");
        }
        ImageClass::Storage { format, .. } => Scalar::from(format).kind,
        _ => ScalarKind::Float,
    };
    Ok(Scalar { kind, width: 4 })
}

impl Dxil<'_> {
    pub(super) fn sample_texture(&mut self, b: &mut ShaderBody<'_>, sample: &Sample) -> Result<Vec<ValueId>> {
        let (texture, sampler) = (self.handle(b, sample.image)?, self.handle(b, sample.sampler)?);
        let mut coordinates = sample.coordinates.clone();
        if let Some(array) = sample.array {
            let float = b.float();
            coordinates.push(b.sitofp(array, float)?);
        }
        let offsets = sample.offset.clone().unwrap_or_default();
        let place = TexturePlace { offsets: &offsets, ..TexturePlace::at(&coordinates) };
        if let Some(component) = sample.gather {
            return Ok(b.gather(texture, sampler, component, sample.reference, &place)?);
        }
        let zero = b.f32(0.0)?;
        let how = match (&sample.level, sample.reference) {
            (Level::Automatic, None) => Sampling::Implicit,
            (Level::Zero, None) => Sampling::Level(zero),
            (Level::Bias(bias), None) => Sampling::Bias(*bias),
            (Level::Exact(level), None) => Sampling::Level(*level),
            (Level::Gradient(dx, dy), None) => Sampling::Gradient { dx, dy },
            (Level::Automatic, Some(reference)) => Sampling::Compare(reference),
            (Level::Zero, Some(reference)) => Sampling::CompareLevelZero(reference),
            _ => return unsupported("a comparison at this level"),
        };
        Ok(b.sample(texture, sampler, how, &place)?)
    }

    /// Returns the coordinates of a texel, with the layer of an array.
    fn texel_coordinates(texel: &Texel) -> Vec<ValueId> {
        texel.coordinates.iter().copied().chain(texel.array).collect()
    }

    pub(super) fn read_texture(&mut self, b: &mut ShaderBody<'_>, texel: &Texel) -> Result<Vec<ValueId>> {
        let texture = self.handle(b, texel.image)?;
        let (.., class) = image_type(self.module, texel.image)?;
        let level = match (texel.sample, texel.level, class) {
            (Some(sample), ..) => Some(sample),
            (None, _, ImageClass::Storage { .. }) => None,
            (None, Some(level), _) => Some(level),
            (None, None, _) => Some(b.i32(0)?),
        };
        let coordinates = Self::texel_coordinates(texel);
        let mut values = b.load_texture(texture, level, &TexturePlace::at(&coordinates))?;
        // What a format does not have is 0, or 1 for alpha.
        if !matches!(class, ImageClass::Depth { .. }) {
            let is_float = component_scalar(class)?.kind == ScalarKind::Float;
            for number in values.len() as u32..4 {
                let missing = u32::from(number == 3);
                values.push(if is_float { b.f32(missing as f32)? } else { b.i32(missing)? });
            }
        }
        Ok(values)
    }

    pub(super) fn write_texture(
        &mut self,
        b: &mut ShaderBody<'_>,
        texel: &Texel,
        values: &[ValueId],
    ) -> Result<()> {
        let texture = self.handle(b, texel.image)?;
        let (.., class) = image_type(self.module, texel.image)?;
        let stored = values.get(..components(class) as usize);
        let stored = stored.ok_or_else(|| Error::new("a texel of too few numbers"))?;
        Ok(b.store_texture(texture, &Self::texel_coordinates(texel), stored)?)
    }

    pub(super) fn query_texture(
        &mut self,
        b: &mut ShaderBody<'_>,
        image: Handle<GlobalVariable>,
        query: Query,
    ) -> Result<Vec<ValueId>> {
        let texture = self.handle(b, image)?;
        let (dimension, arrayed, class) = image_type(self.module, image)?;
        let level = match (query, class) {
            (Query::Levels | Query::Samples, _) => return Ok(vec![b.level_count(texture)?]),
            (
                Query::Size(level),
                ImageClass::Sampled { multi: false, .. } | ImageClass::Depth { multi: false },
            ) => level,
            _ => None,
        };
        let dimensions = b.dimensions(texture, level)?;
        let count = sizes(dimension);
        let selected = match query {
            Query::Layers if arrayed => dimensions.get(count..count + 1),
            _ => dimensions.get(..count),
        };
        match selected {
            Some(selected) => Ok(selected.to_vec()),
            None => Err(Error::new("a texture of other dimensions")),
        }
    }
}
