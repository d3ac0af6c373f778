//! Accesses of textures and surfaces by coordinates.

use unshade_ir::code::Code;
use unshade_ir::{Boundary, Image, ImageAccess, SymbolId};

use super::program::Program;
use crate::device::DevicePointer;
use crate::environment::Environment;
use crate::fault::Reason;
use crate::surface;
use crate::texture;

/// Reads or writes an element for one lane; returns the words that are read.
pub(super) fn access(
    image: &Image,
    is_write: bool,
    inputs: &[u64],
    code: &Code,
    program: &Program<'_>,
    env: &mut Environment<'_>,
) -> Result<[u32; 4], Reason> {
    let at = |index: usize| inputs.get(image.first() + index).copied().unwrap_or(0);
    let handle = match image.reference {
        Some(symbol) => bound(symbol, code, program)?,
        None => inputs.first().copied().unwrap_or(0),
    };
    if image.is_surface() {
        if image.shape.is_layered() || image.shape.dimensions() > 2 {
            return Err(Reason::Unsupported(format!("surfaces of shape {}", image.shape)));
        }
        let y = if image.shape.dimensions() == 2 { word(at(1)) } else { 0 };
        return element(image, is_write, handle, [word(at(0)), y], inputs, env);
    }
    let dimensions = image.shape.dimensions();
    let Some(texture) = env.device.texture(handle) else {
        return Err(Reason::HostCall(format!("{handle:#x} is not the handle of a texture")));
    };
    if dimensions == 3 && image.shape != unshade_ir::ImageShape::Volume {
        return Err(Reason::Unsupported(String::from("cube maps")));
    }
    let layer = if image.shape.is_layered() { i64::from(word(at(dimensions)) & 0xffff) } else { 0 };
    let mut coordinates = [0; 3];
    (0..dimensions).for_each(|index| coordinates[index] = word(at(index)));
    Ok(match image.access {
        ImageAccess::Fetch => {
            let mut place = coordinates.map(|coordinate| i64::from(coordinate.cast_signed()));
            if image.shape.is_layered() {
                place[2] = layer;
            }
            texture.texel(place)
        }
        ImageAccess::Gather => {
            texture::gather(texture, coordinates.map(f32::from_bits), layer, at(dimensions))
        }
        _ => texture.sample(coordinates.map(f32::from_bits), dimensions, layer),
    })
}

/// Returns the handle that is bound to a reference.
fn bound(symbol: SymbolId, code: &Code, program: &Program<'_>) -> Result<u64, Reason> {
    let name = &code.symbols[symbol].name;
    let bound = program.module.bound_handle(name);
    bound.ok_or_else(|| Reason::HostCall(format!("nothing is bound to {name}")))
}

/// Reads or writes an element of a surface.
fn element(
    image: &Image,
    is_write: bool,
    handle: u64,
    [x, y]: [u32; 2],
    inputs: &[u64],
    env: &mut Environment<'_>,
) -> Result<[u32; 4], Reason> {
    let bytes = usize::from(image.words) * usize::from(image.bits / 8);
    let descriptor = surface::Descriptor::read(env.device, DevicePointer(handle))?;
    let (x, y) = match image.boundary {
        Boundary::Clamp => descriptor.clamped(x, y, bytes),
        _ => (x, y),
    };
    let Some(address) = descriptor.address(x, y, bytes) else {
        return match image.boundary {
            Boundary::Zero => Ok([0; 4]),
            _ => Err(Reason::OutOfSurface),
        };
    };
    if is_write {
        let words = inputs.iter().skip(image.input_count());
        let data: Vec<u8> = words.flat_map(|word| word.to_le_bytes().into_iter().take(4)).collect();
        env.device.write(address, data.get(..bytes).unwrap_or(&data))?;
        return Ok([0; 4]);
    }
    let found = env.device.read(address, bytes)?;
    Ok(surface::words(&found, image.is_signed))
}

#[expect(clippy::cast_possible_truncation, reason = "a 32-bit value in a u64")]
fn word(value: u64) -> u32 {
    value as u32
}
