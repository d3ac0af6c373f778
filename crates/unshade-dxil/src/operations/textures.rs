//! Loads, stores and samples of textures.
//!
//! | shape | coordinates | offsets |
//! |---|---|---|
//! | 1D, 2D, 3D | 1, 2, 3 | as many |
//! | cube | 3 | none |
//! | array | one more: the layer | as without |

use super::mask;
use crate::body::{Handle, ShaderBody};
use crate::refused;
use crate::resources::{Resource, component_type};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_dxcontainer::dxil::{ResourceClass, SamplerKind};
use unshade_dxcontainer::psv0::ResourceKind;
use unshade_llvm::{TypeId, ValueId};

/// Where a texture is accessed.
#[derive(Clone, Copy, Debug, Default)]
pub struct TexturePlace<'v> {
    /// The coordinates, and the layer of an array.
    pub coordinates: &'v [ValueId],
    /// Offsets in texels, which are constants from -8 to 7 [default: none].
    pub offsets: &'v [ValueId],
    /// The least level of detail that is used [default: any].
    pub clamp: Option<ValueId>,
}

impl<'v> TexturePlace<'v> {
    /// Returns a place without offsets.
    pub fn at(coordinates: &'v [ValueId]) -> Self {
        Self { coordinates, offsets: &[], clamp: None }
    }
}

/// How a texture is sampled.
#[derive(Clone, Copy, Debug)]
pub enum Sampling<'v> {
    /// At the level that follows from the pixels around.
    Implicit,
    /// At that level and some more.
    Bias(ValueId),
    /// At a level.
    Level(ValueId),
    /// At the level that follows from derivatives.
    Gradient {
        /// Derivatives of the coordinates by x.
        dx: &'v [ValueId],
        /// Derivatives of the coordinates by y.
        dy: &'v [ValueId],
    },
    /// Compared with a value, at the level that follows from the pixels around.
    Compare(ValueId),
    /// Compared with a value, at level 0.
    CompareLevelZero(ValueId),
    /// Compared with a value, at a level; from shader model 6.7 on.
    CompareLevel {
        /// What is compared with.
        reference: ValueId,
        /// The level.
        level: ValueId,
    },
    /// Compared with a value, at the level that follows from the pixels around and some more; from shader model 6.8 on.
    CompareBias {
        /// What is compared with.
        reference: ValueId,
        /// How many levels more.
        bias: ValueId,
    },
    /// Compared with a value, at the level that follows from derivatives; from shader model 6.8 on.
    CompareGradient {
        /// What is compared with.
        reference: ValueId,
        /// Derivatives of the coordinates by x.
        dx: &'v [ValueId],
        /// Derivatives of the coordinates by y.
        dy: &'v [ValueId],
    },
}

impl Sampling<'_> {
    fn compares(&self) -> bool {
        matches!(
            self,
            Self::Compare(_)
                | Self::CompareLevelZero(_)
                | Self::CompareLevel { .. }
                | Self::CompareBias { .. }
                | Self::CompareGradient { .. }
        )
    }

    /// Returns the operation, and whether the level may be clamped.
    fn operation(&self) -> (&'static str, bool) {
        match self {
            Self::Implicit => ("Sample", true),
            Self::Bias(_) => ("SampleBias", true),
            Self::Level(_) => ("SampleLevel", false),
            Self::Gradient { .. } => ("SampleGrad", true),
            Self::Compare(_) => ("SampleCmp", true),
            Self::CompareLevelZero(_) => ("SampleCmpLevelZero", false),
            Self::CompareLevel { .. } => ("SampleCmpLevel", false),
            Self::CompareBias { .. } => ("SampleCmpBias", true),
            Self::CompareGradient { .. } => ("SampleCmpGrad", true),
        }
    }
}

/// Returns the numbers of coordinates with the layer, and of offsets, of a kind of texture.
fn dimensions(kind: ResourceKind) -> Option<(usize, usize)> {
    Some(match kind {
        ResourceKind::TEXTURE1D => (1, 1),
        ResourceKind::TEXTURE2D | ResourceKind::TEXTURE2DMS => (2, 2),
        ResourceKind::TEXTURE3D => (3, 3),
        ResourceKind::TEXTURE_CUBE => (3, 0),
        ResourceKind::TEXTURE1D_ARRAY => (2, 1),
        ResourceKind::TEXTURE2D_ARRAY | ResourceKind::TEXTURE2DMS_ARRAY => (3, 2),
        ResourceKind::TEXTURE_CUBE_ARRAY => (4, 0),
        _ => return None,
    })
}

impl ShaderBody<'_> {
    /// Loads all components of a texel. `level` is the mip level of a texture that is only read, or the sample of a
    /// multisampled one; others have none.
    ///
    /// # Errors
    /// If this is no texture, or the coordinates or the level don't fit it.
    pub fn load_texture(
        &mut self,
        texture: Handle,
        level: Option<ValueId>,
        place: &TexturePlace<'_>,
    ) -> Result<Vec<ValueId>> {
        let resource = self.texture(texture)?;
        let is_multisampled = resource.is_multisampled();
        if level.is_some() != (is_multisampled || resource.class == ResourceClass::SRV) {
            return refused(format!("{}: the level or sample does not fit the texture", resource.shown()));
        }
        if matches!(resource.kind, ResourceKind::TEXTURE_CUBE | ResourceKind::TEXTURE_CUBE_ARRAY) {
            return refused(format!("{}: texels of cubes can't be loaded", resource.shown()));
        }
        let word = self.integer(32)?;
        let level = match level {
            Some(level) => level,
            None => self.undefined_i32()?,
        };
        let mut arguments = alloc::vec![texture.value, level];
        arguments.extend(self.coordinates(&resource, place.coordinates, 3, word)?);
        arguments.extend(self.offsets(&resource, place.offsets, 3)?);
        let ty = component_type(self, resource.component)?;
        let loaded = self.operation_of("TextureLoad", ty, &arguments)?;
        self.fields(loaded, resource.components)
    }

    /// Stores all components of a texel.
    ///
    /// # Errors
    /// If this is no texture that can be written, or coordinates or values don't fit it.
    pub fn store_texture(
        &mut self,
        texture: Handle,
        coordinates: &[ValueId],
        values: &[ValueId],
    ) -> Result<()> {
        let resource = self.texture(texture)?;
        self.check_store(&resource, values)?;
        let (ty, values) = self.whole_element(&resource, values)?;
        let word = self.integer(32)?;
        let mut arguments = alloc::vec![texture.value];
        arguments.extend(self.coordinates(&resource, coordinates, 3, word)?);
        arguments.extend(values);
        arguments.push(self.i8(mask(4))?);
        self.operation_of("TextureStore", ty, &arguments).map(drop)
    }

    /// Samples a texture. A comparison gives one value, and all else as many as an element has components.
    ///
    /// # Errors
    /// If resource or sampler are others, the coordinates don't fit, or the stage does not have the operation.
    pub fn sample(
        &mut self,
        texture: Handle,
        sampler: Handle,
        how: Sampling<'_>,
        place: &TexturePlace<'_>,
    ) -> Result<Vec<ValueId>> {
        let (operation, may_clamp) = how.operation();
        let (resource, mut arguments) = self.sampled(texture, sampler, how.compares(), place, 3)?;
        if place.clamp.is_some() && !may_clamp {
            return refused(format!("{operation} has a level that can't be clamped"));
        }
        let float = self.float();
        match how {
            Sampling::Implicit => {}
            Sampling::Bias(value)
            | Sampling::Level(value)
            | Sampling::Compare(value)
            | Sampling::CompareLevelZero(value) => arguments.push(value),
            Sampling::CompareLevel { reference, level } => arguments.extend([reference, level]),
            Sampling::CompareBias { reference, bias } => arguments.extend([reference, bias]),
            Sampling::Gradient { dx, dy } => arguments.extend(self.gradient(&resource, dx, dy)?),
            Sampling::CompareGradient { reference, dx, dy } => {
                arguments.push(reference);
                arguments.extend(self.gradient(&resource, dx, dy)?);
            }
        }
        if may_clamp {
            arguments.push(match place.clamp {
                Some(clamp) => clamp,
                None => self.const_undef(float)?,
            });
        }
        let ty = component_type(self, resource.component)?;
        let sampled = self.operation_of(operation, ty, &arguments)?;
        self.fields(sampled, if how.compares() { 1 } else { resource.components })
    }

    /// Returns the three derivatives by x, and by y, of which a texture may have less.
    fn gradient(&mut self, resource: &Resource, dx: &[ValueId], dy: &[ValueId]) -> Result<Vec<ValueId>> {
        let count = coordinates_without_layer(resource.kind);
        if dx.len() != count || dy.len() != count {
            return refused(format!("{}: the gradient has {count} components", resource.shown()));
        }
        let float = self.float();
        Ok([self.padded(dx, 3, float)?, self.padded(dy, 3, float)?].concat())
    }

    /// Gathers a component, from 0 to 3, of the four texels around; compared with a value if there is one.
    ///
    /// # Errors
    /// If resource or sampler are others, or the coordinates don't fit.
    pub fn gather(
        &mut self,
        texture: Handle,
        sampler: Handle,
        channel: u32,
        compare: Option<ValueId>,
        place: &TexturePlace<'_>,
    ) -> Result<Vec<ValueId>> {
        if channel > 3 || place.clamp.is_some() {
            return refused("a gather is of a component from 0 to 3, without a level");
        }
        let (resource, mut arguments) = self.sampled(texture, sampler, compare.is_some(), place, 2)?;
        arguments.push(self.i32(channel)?);
        arguments.extend(compare);
        let operation = if compare.is_some() { "TextureGatherCmp" } else { "TextureGather" };
        let ty = component_type(self, resource.component)?;
        let gathered = self.operation_of(operation, ty, &arguments)?;
        self.fields(gathered, 4)
    }

    /// Returns width, height, and depth or number of layers of a level of a texture, as far as its shape has them; of a
    /// buffer the number of its elements or bytes, and the stride if it is structured.
    ///
    /// # Errors
    /// If the level does not fit the resource.
    pub fn dimensions(&mut self, resource: Handle, level: Option<ValueId>) -> Result<Vec<ValueId>> {
        let description = self.describe(resource.resource)?;
        let count = match description.kind {
            ResourceKind::TYPED_BUFFER | ResourceKind::RAW_BUFFER => 1,
            ResourceKind::STRUCTURED_BUFFER | ResourceKind::TEXTURE_CUBE => 2,
            ResourceKind::TEXTURE_CUBE_ARRAY => 3,
            kind => match dimensions(kind) {
                Some((coordinates, _)) => u32::try_from(coordinates).unwrap_or(0),
                None => return refused(format!("{}: it has no dimensions", description.shown())),
            },
        };
        let dimensions = self.get_dimensions(&description, resource, level)?;
        self.fields(dimensions, count)
    }

    /// Returns the number of levels of a texture, or of samples of a multisampled one.
    ///
    /// # Errors
    /// If the resource has no levels or samples.
    pub fn level_count(&mut self, texture: Handle) -> Result<ValueId> {
        let description = self.texture(texture)?;
        if description.class != ResourceClass::SRV && !description.is_multisampled() {
            return refused(format!("{}: it has no levels", description.shown()));
        }
        let dimensions = self.get_dimensions(&description, texture, None)?;
        self.extract_value(dimensions, &[3])
    }

    fn get_dimensions(&mut self, of: &Resource, handle: Handle, level: Option<ValueId>) -> Result<ValueId> {
        let has_levels = of.class == ResourceClass::SRV && of.is_texture() && !of.is_multisampled();
        let level = match (level, has_levels) {
            (Some(_), false) => return refused(format!("{}: it has no levels", of.shown())),
            (Some(level), true) => level,
            (None, true) => self.i32(0)?,
            (None, false) => self.undefined_i32()?,
        };
        self.operation("GetDimensions", &[handle.value, level])
    }

    /// Returns the level of detail at which a texture would be sampled, clamped to those that there are or not.
    ///
    /// # Errors
    /// If resource or sampler are others, the coordinates don't fit, or the stage does not have the operation.
    pub fn level_of_detail(
        &mut self,
        texture: Handle,
        sampler: Handle,
        coordinates: &[ValueId],
        clamped: bool,
    ) -> Result<ValueId> {
        let resource = self.texture(texture)?;
        let float = self.float();
        let count = coordinates_without_layer(resource.kind);
        if coordinates.len() != count {
            return refused(format!("{}: it has {count} coordinates without a layer", resource.shown()));
        }
        let mut arguments = alloc::vec![texture.value, sampler.value];
        arguments.extend(self.padded(coordinates, 3, float)?);
        arguments.push(self.const_bool(clamped));
        self.operation("CalculateLOD", &arguments)
    }

    fn texture(&self, texture: Handle) -> Result<Resource> {
        let resource = self.describe(texture.resource)?;
        match resource.is_texture() {
            true => Ok(resource),
            false => refused(format!("{}: it is no texture", resource.shown())),
        }
    }

    /// Returns the texture and the arguments that all samples have: handles, four coordinates, and offsets.
    fn sampled(
        &mut self,
        texture: Handle,
        sampler: Handle,
        compares: bool,
        place: &TexturePlace<'_>,
        offsets: usize,
    ) -> Result<(Resource, Vec<ValueId>)> {
        let resource = self.texture(texture)?;
        let description = self.describe(sampler.resource)?;
        if description.class != ResourceClass::SAMPLER {
            return refused(format!("{}: it is no sampler", description.shown()));
        }
        if (description.sampler == SamplerKind::COMPARISON) != compares {
            return refused(format!(
                "{}: only samplers that compare are used to compare",
                description.shown()
            ));
        }
        if resource.class != ResourceClass::SRV || resource.is_multisampled() {
            return refused(format!("{}: it can't be sampled", resource.shown()));
        }
        let float = self.float();
        let mut arguments = alloc::vec![texture.value, sampler.value];
        arguments.extend(self.coordinates(&resource, place.coordinates, 4, float)?);
        arguments.extend(self.offsets(&resource, place.offsets, offsets)?);
        Ok((resource, arguments))
    }

    /// Returns so many coordinates, of which a texture may have less.
    pub(super) fn coordinates(
        &mut self,
        resource: &Resource,
        coordinates: &[ValueId],
        count: usize,
        ty: TypeId,
    ) -> Result<Vec<ValueId>> {
        let needed = dimensions(resource.kind).map_or(0, |(coordinates, _)| coordinates);
        if coordinates.len() != needed || needed > count {
            return refused(format!("{}: it has {needed} coordinates", resource.shown()));
        }
        self.padded(coordinates, count, ty)
    }

    /// Returns so many offsets; all are undefined if there are none.
    fn offsets(&mut self, resource: &Resource, offsets: &[ValueId], count: usize) -> Result<Vec<ValueId>> {
        let (_, needed) = dimensions(resource.kind).unwrap_or_default();
        if !(offsets.is_empty() || offsets.len() == needed) || needed > count.max(2) && !offsets.is_empty() {
            return refused(format!("{}: it has {needed} offsets", resource.shown()));
        }
        let word = self.integer(32)?;
        self.padded(offsets, count, word)
    }
}

fn coordinates_without_layer(kind: ResourceKind) -> usize {
    let is_array = matches!(
        kind,
        ResourceKind::TEXTURE1D_ARRAY
            | ResourceKind::TEXTURE2D_ARRAY
            | ResourceKind::TEXTURE2DMS_ARRAY
            | ResourceKind::TEXTURE_CUBE_ARRAY
    );
    dimensions(kind).map_or(0, |(count, _)| count).saturating_sub(usize::from(is_array))
}
