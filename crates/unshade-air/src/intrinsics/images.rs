//! Sampling, reading and writing of textures.
//!
//! The operands are in AIR's order: texture, sampler, 1 if it holds depths, coordinates, array index, offset, level,
//! access.

use super::{Effect, call};
use crate::entry::Access;
use crate::refused;
use crate::textures::{Texture, TextureKind};
use crate::types::{Class, Scalar};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::build::FunctionBuilder;
use unshade_llvm::{TypeId, ValueId};

/// Which level of a texture is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// That which the coordinates of the threads around need.
    #[default]
    Automatic,
    /// The same, with a bias: a `float`.
    Bias(ValueId),
    /// This one: a `float`.
    Exact(ValueId),
    /// That which coordinates with these derivatives in x and y need: numbers or vectors like the coordinates.
    Gradient(ValueId, ValueId),
}

/// Which texels are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The coordinates: a number or vector, of `float` to sample, of `uint` to read and write.
    pub coordinates: ValueId,
    /// The face of a cube that is read or written: a `uint`.
    pub face: Option<ValueId>,
    /// The index into an array: a `uint`.
    pub array: Option<ValueId>,
    /// The sample of a pixel with several: a `uint`.
    pub sample: Option<ValueId>,
    /// The level that is read or written: a `uint`, 0 if there is none.
    pub level: Option<ValueId>,
    /// A constant offset in texels from the coordinates that are sampled: an `int` or a vector of them.
    pub offset: Option<ValueId>,
}

impl Place {
    /// Returns a place that has only coordinates.
    pub fn at(coordinates: ValueId) -> Self {
        Self { coordinates, face: None, array: None, sample: None, level: None, offset: None }
    }
}

fn word(body: &mut FunctionBuilder<'_>, number: u32) -> Result<ValueId> {
    let ty = body.integer(32)?;
    body.const_int(ty, number)
}

fn access_number(access: Access) -> u32 {
    match access {
        Access::Sample => 0,
        Access::Read => 1,
        Access::Write => 2,
        Access::ReadWrite => 3,
    }
}

/// Returns the type of a texel, and how names encode it.
fn texel(body: &mut FunctionBuilder<'_>, texture: Texture) -> Result<(TypeId, String)> {
    let scalar = texture.scalar.llvm(body)?;
    let letter = match texture.scalar.class() {
        Class::Signed => "s.",
        Class::Unsigned => "u.",
        Class::Float => "",
    };
    if texture.scalar == Scalar::Bool || texture.scalar == Scalar::BFloat {
        return refused(format!("no texture has texels of {}", texture.scalar.name()));
    }
    let ty = if texture.kind.is_depth() { scalar } else { body.vector(4, scalar)? };
    let suffix = crate::shader::suffix(body, ty)?;
    Ok((ty, format!("{letter}{suffix}")))
}

/// Builds a call that returns a texel and whether it is resident, and returns the texel.
fn fetch(body: &mut FunctionBuilder<'_>, name: &str, ty: TypeId, arguments: &[ValueId]) -> Result<ValueId> {
    let byte = body.integer(8)?;
    let pair = body.struct_type(&[ty, byte])?;
    let pair = call(body, name, pair, arguments, Effect::ReadsTexture)?;
    body.extract_value(pair, &[0])
}

/// Checks that coordinates are a number or vector of as many elements as a texture has, of `float` or `uint`.
fn check_coordinates(
    body: &mut FunctionBuilder<'_>,
    coordinates: ValueId,
    count: u32,
    is_float: bool,
) -> Result<()> {
    let element = if is_float { body.float() } else { body.integer(32)? };
    let wanted = if count == 1 { element } else { body.vector(count, element)? };
    let found = body.type_of(coordinates)?;
    if found == wanted {
        return Ok(());
    }
    refused(format!("coordinates are {}, not {}", body.type_text(wanted), body.type_text(found)))
}

fn check_array(kind: TextureKind, place: &Place) -> Result<()> {
    if kind.is_array() != place.array.is_some() {
        return refused(format!(
            "{} {}",
            kind.name(),
            if kind.is_array() { "has an array index" } else { "is no array" }
        ));
    }
    if kind.is_multisampled() != place.sample.is_some() {
        return refused(format!("{} needs a sample exactly if it has several", kind.name()));
    }
    Ok(())
}

/// Checks what is sampled, and returns the operands up to the array index.
fn push_sampled(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    sampler: ValueId,
    place: &Place,
) -> Result<Vec<ValueId>> {
    let kind = texture.kind;
    if texture.access != Access::Sample || kind.is_multisampled() || kind == TextureKind::TextureBuffer {
        return refused(format!("{} can't be sampled", texture.name()));
    }
    check_coordinates(body, place.coordinates, kind.coordinates(), true)?;
    check_array(kind, place)?;
    let mut arguments = alloc::vec![handle, sampler];
    if kind.is_depth() {
        arguments.push(word(body, 1)?);
    }
    arguments.push(place.coordinates);
    arguments.extend(place.array);
    Ok(arguments)
}

/// Appends whether there may be an offset, and the offset. Cubes have none.
fn push_offset(
    body: &mut FunctionBuilder<'_>,
    kind: TextureKind,
    place: &Place,
    arguments: &mut Vec<ValueId>,
) -> Result<()> {
    if kind.is_cube() {
        return match place.offset {
            Some(_) => refused("cubes are sampled without an offset"),
            None => Ok(()),
        };
    }
    let (int, count) = (body.integer(32)?, kind.coordinates());
    let ty = if count == 1 { int } else { body.vector(count, int)? };
    let offset = match place.offset {
        Some(offset) => offset,
        None => body.const_null(ty)?,
    };
    if body.type_of(offset)? != ty {
        return refused(format!("an offset in {} is of another type", kind.name()));
    }
    arguments.push(body.const_bool(count > 1 || place.offset.is_some()));
    arguments.push(offset);
    Ok(())
}

/// Appends whether a level is exact, the level or bias, and the smallest level.
fn push_sampled_level(
    body: &mut FunctionBuilder<'_>,
    level: Level,
    arguments: &mut Vec<ValueId>,
) -> Result<()> {
    let float = body.float();
    let zero = body.const_float(float, 0.0)?;
    let (is_exact, number) = match level {
        Level::Automatic => (false, zero),
        Level::Bias(bias) => (false, bias),
        Level::Exact(level) => (true, level),
        Level::Gradient(..) => return refused("a comparison has no derivatives"),
    };
    if body.type_of(number)? != float {
        return refused("a level or bias is a float");
    }
    arguments.push(body.const_bool(is_exact));
    arguments.extend([number, zero]);
    Ok(())
}

/// Builds `texture.sample(sampler, coordinates)`.
///
/// # Errors
/// If the texture can't be sampled, or the coordinates are not its own.
pub fn sample(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    sampler: ValueId,
    place: &Place,
    level: Level,
) -> Result<ValueId> {
    let kind = texture.kind;
    let mut arguments = push_sampled(body, texture, handle, sampler, place)?;
    let (ty, suffix) = texel(body, texture)?;
    let mut form = "";
    if let Level::Gradient(x, y) = level {
        for derivative in [x, y] {
            check_coordinates(body, derivative, kind.coordinates(), true)?;
        }
        let float = body.float();
        arguments.extend([x, y, body.const_float(float, 0.0)?]);
        push_offset(body, kind, place, &mut arguments)?;
        form = "_grad";
    } else {
        push_offset(body, kind, place, &mut arguments)?;
        push_sampled_level(body, level, &mut arguments)?;
    }
    arguments.push(word(body, access_number(texture.access))?);
    fetch(body, &format!("air.sample_{}{form}.{suffix}", kind.air_name()), ty, &arguments)
}

/// Builds `texture.sample_compare(sampler, coordinates, reference)` of a texture of depths.
///
/// # Errors
/// If the texture holds no depths or can't be sampled, or the operands are not its own.
pub fn sample_compare(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    sampler: ValueId,
    place: &Place,
    reference: ValueId,
    level: Level,
) -> Result<ValueId> {
    let mut arguments = push_sampled(body, texture, handle, sampler, place)?;
    push_reference(body, texture, reference, &mut arguments)?;
    push_offset(body, texture.kind, place, &mut arguments)?;
    push_sampled_level(body, level, &mut arguments)?;
    arguments.push(word(body, access_number(texture.access))?);
    let (ty, suffix) = texel(body, texture)?;
    fetch(body, &format!("air.sample_compare_{}.{suffix}", texture.kind.air_name()), ty, &arguments)
}

/// Appends the number that depths are compared with.
fn push_reference(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    reference: ValueId,
    arguments: &mut Vec<ValueId>,
) -> Result<()> {
    if !texture.kind.is_depth() || body.type_of(reference)? != body.float() {
        return refused(format!("{} is compared with no such value", texture.kind.name()));
    }
    arguments.push(reference);
    Ok(())
}

/// Builds `texture.gather(sampler, coordinates, offset, component)`: one component of four texels. A texture of depths
/// has only one.
///
/// # Errors
/// If the texture can't be gathered from, or the operands are not its own.
pub fn gather(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    sampler: ValueId,
    place: &Place,
    component: u32,
) -> Result<ValueId> {
    let mut arguments = push_sampled(body, texture, handle, sampler, place)?;
    push_offset(body, texture.kind, place, &mut arguments)?;
    if !texture.kind.is_depth() {
        arguments.push(word(body, component)?);
    }
    gathered(body, "gather", texture, arguments)
}

/// Builds `texture.gather_compare(sampler, coordinates, reference)`: how the depths of four texels compare.
///
/// # Errors
/// If the texture holds no depths or can't be gathered from, or the operands are not its own.
pub fn gather_compare(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    sampler: ValueId,
    place: &Place,
    reference: ValueId,
) -> Result<ValueId> {
    let mut arguments = push_sampled(body, texture, handle, sampler, place)?;
    push_reference(body, texture, reference, &mut arguments)?;
    push_offset(body, texture.kind, place, &mut arguments)?;
    gathered(body, "gather_compare", texture, arguments)
}

fn gathered(
    body: &mut FunctionBuilder<'_>,
    name: &str,
    texture: Texture,
    mut arguments: Vec<ValueId>,
) -> Result<ValueId> {
    let kind = texture.kind;
    if kind.coordinates() == 1 || kind == TextureKind::Texture3d {
        return refused(format!("nothing is gathered from {}", kind.name()));
    }
    arguments.push(word(body, access_number(texture.access))?);
    let scalar = texture.scalar.llvm(body)?;
    let ty = body.vector(4, scalar)?;
    let suffix = match texel(body, texture)? {
        (texel, suffix) if texel == ty || name == "gather_compare" => suffix,
        _ => crate::shader::suffix(body, ty)?,
    };
    fetch(body, &format!("air.{name}_{}.{suffix}", kind.air_name()), ty, &arguments)
}

/// Appends the operands that say which texels are read or written, up to the value that is written.
fn push_place(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    place: &Place,
    arguments: &mut Vec<ValueId>,
) -> Result<()> {
    let kind = texture.kind;
    let count = if kind.is_cube() { 2 } else { kind.coordinates() };
    check_coordinates(body, place.coordinates, count, false)?;
    check_array(kind, place)?;
    if kind.is_cube() != place.face.is_some() {
        return refused(format!("{} needs a face exactly if it is a cube", kind.name()));
    }
    arguments.push(place.coordinates);
    arguments.extend(place.face);
    arguments.extend(place.array);
    arguments.extend(place.sample);
    Ok(())
}

fn push_level(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    place: &Place,
    arguments: &mut Vec<ValueId>,
) -> Result<()> {
    if texture.kind.is_mipmapped() {
        arguments.push(match place.level {
            Some(level) => level,
            None => word(body, 0)?,
        });
    }
    arguments.push(word(body, access_number(texture.access))?);
    Ok(())
}

/// Builds `texture.read(coordinates)`.
///
/// # Errors
/// If the texture can't be read, or the coordinates are not its own.
pub fn read(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    place: &Place,
) -> Result<ValueId> {
    if texture.access == Access::Write {
        return refused(format!("{} can't be read", texture.name()));
    }
    let (ty, suffix) = texel(body, texture)?;
    let mut arguments = alloc::vec![handle];
    if texture.kind.is_depth() {
        arguments.push(word(body, 1)?);
    }
    push_place(body, texture, place, &mut arguments)?;
    push_level(body, texture, place, &mut arguments)?;
    fetch(body, &format!("air.read_{}.{suffix}", texture.kind.air_name()), ty, &arguments)
}

/// Builds `texture.write(value, coordinates)`.
///
/// # Errors
/// If the texture can't be written, or coordinates or value are not its own.
pub fn write(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    value: ValueId,
    place: &Place,
) -> Result<()> {
    if !matches!(texture.access, Access::Write | Access::ReadWrite) || texture.kind.is_depth() {
        return refused(format!("{} can't be written", texture.name()));
    }
    let (ty, suffix) = texel(body, texture)?;
    if body.type_of(value)? != ty {
        return refused(format!("{} has other texels", texture.name()));
    }
    let mut arguments = alloc::vec![handle];
    push_place(body, texture, place, &mut arguments)?;
    arguments.push(value);
    push_level(body, texture, place, &mut arguments)?;
    let void = body.void();
    let name = format!("air.write_{}.{suffix}", texture.kind.air_name());
    call(body, &name, void, &arguments, Effect::Memory).map(drop)
}

/// Builds `texture.get_width()` and the like, by what is asked for: `width`, `height`, `depth`, `array_size`,
/// `num_mip_levels` or `num_samples`. The level is a `uint`, 0 if there is none.
///
/// # Errors
/// If a texture has no such size.
pub fn size(
    body: &mut FunctionBuilder<'_>,
    texture: Texture,
    handle: ValueId,
    what: &str,
    level: Option<ValueId>,
) -> Result<ValueId> {
    let kind = texture.kind;
    let fits = match what {
        "width" => true,
        "height" => kind.coordinates() > 1,
        "depth" => kind == TextureKind::Texture3d,
        "num_samples" => kind.is_multisampled(),
        "array_size" => kind.is_array(),
        "num_mip_levels" => kind.is_mipmapped(),
        _ => false,
    };
    if !fits {
        return refused(format!("{} has no {what}", kind.name()));
    }
    let mut arguments = alloc::vec![handle];
    if matches!(what, "width" | "height" | "depth") && kind.is_mipmapped() {
        arguments.push(match level {
            Some(level) => level,
            None => word(body, 0)?,
        });
    }
    let int = body.integer(32)?;
    call(body, &format!("air.get_{what}_{}", kind.air_name()), int, &arguments, Effect::ReadsTexture)
}
