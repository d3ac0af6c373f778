//! Textures: what is sampled, read, written and asked, in the form that targets take.

use crate::error::{Error, Result, unsupported};
use crate::lower::{Lower, Operand};
use crate::target::{Level, Query, Sample, Target, Texel};
use naga::{
    Expression, GlobalVariable, Handle, ImageClass, ImageDimension, ImageQuery, SampleLevel, Scalar,
    Statement, TypeInner,
};
use unshade_llvm::ValueId;

/// Returns the dimension, whether it is an array, and the class of a texture.
///
/// # Errors
/// If the variable is no texture.
pub fn image_type(
    module: &naga::Module,
    image: Handle<GlobalVariable>,
) -> Result<(ImageDimension, bool, ImageClass)> {
    match module.types[module.global_variables[image].ty].inner {
        TypeInner::Image { class: ImageClass::External, .. } => unsupported("external textures"),
        TypeInner::Image { dim, arrayed, class } => Ok((dim, arrayed, class)),
        TypeInner::BindingArray { .. } => unsupported("binding arrays"),
        _ => Err(Error::new("a texture that is none")),
    }
}

impl<'m, T: Target<'m>> Lower<'m, '_, T> {
    /// Returns the variable of a texture or sampler.
    fn resource(&mut self, expression: Handle<Expression>) -> Result<Handle<GlobalVariable>> {
        match self.operand(expression)? {
            Operand::Resource(resource) => Ok(resource),
            _ => unsupported("a texture or sampler that is no variable"),
        }
    }

    fn optional(&mut self, expression: Option<Handle<Expression>>) -> Result<Option<ValueId>> {
        expression.map(|expression| self.value(expression)).transpose()
    }

    /// Builds `textureSample` and the like, and `textureGather`.
    pub fn image_sample(&mut self, expression: &Expression) -> Result<Vec<ValueId>> {
        let &Expression::ImageSample {
            image,
            sampler,
            gather,
            coordinate,
            array_index,
            offset,
            level,
            depth_ref,
            clamp_to_edge,
        } = expression
        else {
            return Err(Error::new("no sampling"));
        };
        let (image, sampler) = (self.resource(image)?, self.resource(sampler)?);
        let (.., class) = image_type(self.module, image)?;
        let is_depth = matches!(class, ImageClass::Depth { .. });
        let mut coordinates = self.values(coordinate)?;
        if clamp_to_edge {
            coordinates = self.clamp_to_edge(image, &coordinates)?;
        }
        let level = match level {
            SampleLevel::Auto => Level::Automatic,
            SampleLevel::Zero => Level::Zero,
            SampleLevel::Bias(bias) => Level::Bias(self.value(bias)?),
            SampleLevel::Gradient { x, y } => Level::Gradient(self.values(x)?, self.values(y)?),
            SampleLevel::Exact(level) => {
                let (scalar, value) = (self.scalar(level)?, self.value(level)?);
                Level::Exact(self.convert_scalar(value, scalar, Scalar::F32)?)
            }
        };
        let offset = match offset {
            Some(offset) => Some(self.values(offset)?),
            None => None,
        };
        let sample = Sample {
            image,
            sampler,
            coordinates,
            array: self.optional(array_index)?,
            offset,
            level,
            reference: self.optional(depth_ref)?,
            gather: gather.map(|component| component as u32),
        };
        let values = self.target.sample(&mut self.b, &sample)?;
        let is_single = sample.gather.is_none() && is_depth;
        Ok(if is_single { values[..1].to_vec() } else { values })
    }

    /// Keeps coordinates half a texel away from the edge.
    fn clamp_to_edge(
        &mut self,
        image: Handle<GlobalVariable>,
        coordinates: &[ValueId],
    ) -> Result<Vec<ValueId>> {
        let zero = self.word(0)?;
        let size = self.target.query(&mut self.b, image, Query::Size(Some(zero)))?;
        let (half, one) = (self.float(Scalar::F32, 0.5)?, self.float(Scalar::F32, 1.0)?);
        let mut clamped = Vec::new();
        for (&coordinate, &size) in coordinates.iter().zip(&size) {
            let size = self.target.convert(&mut self.b, size, Scalar::U32, Scalar::F32)?;
            let least = self.b.fdiv(half, size)?;
            let most = self.b.fsub(one, least)?;
            clamped.push(self.clamp(Scalar::F32, coordinate, least, most)?);
        }
        Ok(clamped)
    }

    /// Builds `textureLoad`.
    pub fn image_load(&mut self, expression: &Expression) -> Result<Vec<ValueId>> {
        let &Expression::ImageLoad { image, coordinate, array_index, sample, level } = expression else {
            return Err(Error::new("no load of a texel"));
        };
        let image = self.resource(image)?;
        let (.., class) = image_type(self.module, image)?;
        let texel = Texel {
            image,
            coordinates: self.values(coordinate)?,
            array: self.optional(array_index)?,
            level: self.optional(level)?,
            sample: self.optional(sample)?,
        };
        let values = self.target.read(&mut self.b, &texel)?;
        Ok(if matches!(class, ImageClass::Depth { .. }) { values[..1].to_vec() } else { values })
    }

    /// Builds `textureStore`.
    pub fn image_store(&mut self, statement: &Statement) -> Result<()> {
        let &Statement::ImageStore { image, coordinate, array_index, value } = statement else {
            return Err(Error::new("no store of a texel"));
        };
        let texel = Texel {
            image: self.resource(image)?,
            coordinates: self.values(coordinate)?,
            array: self.optional(array_index)?,
            level: None,
            sample: None,
        };
        let values = self.values(value)?;
        self.target.write(&mut self.b, &texel, &values)
    }

    /// Builds `textureDimensions` and the like.
    pub fn image_query(&mut self, image: Handle<Expression>, query: ImageQuery) -> Result<Vec<ValueId>> {
        let image = self.resource(image)?;
        let query = match query {
            ImageQuery::Size { level } => Query::Size(self.optional(level)?),
            ImageQuery::NumLevels => Query::Levels,
            ImageQuery::NumLayers => Query::Layers,
            ImageQuery::NumSamples => Query::Samples,
        };
        self.target.query(&mut self.b, image, query)
    }
}
