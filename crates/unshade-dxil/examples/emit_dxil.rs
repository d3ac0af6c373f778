//! Emits three DirectX shaders as signed containers: what a shader compiler does.
//!
//! `cargo run -p unshade-dxil --example emit_dxil -- DIRECTORY`

use std::path::PathBuf;
use unshade_core::Result;
use unshade_dxil::ComponentType;
use unshade_dxil::body::ShaderBody;
use unshade_dxil::operations::{Barrier, Sampling, TexturePlace};
use unshade_dxil::resources::{Binding, Resource, TextureShape};
use unshade_dxil::shader::Shader;
use unshade_dxil::signature::Element;
use unshade_dxil::target::{Stage, Target};
use unshade_llvm::ValueId;
use unshade_llvm::build::IntPredicate;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_default());
    for (name, container) in containers()? {
        std::fs::write(directory.join(name), container)?;
    }
    Ok(())
}

/// Builds the containers.
pub(crate) fn containers() -> Result<Vec<(&'static str, Vec<u8>)>> {
    Ok(vec![
        ("sum.cs.dxil", sum()?.container()?),
        ("textured.vs.dxil", textured_vertex()?.container()?),
        ("textured.ps.dxil", textured_pixel()?.container()?),
    ])
}

/// ```hlsl
/// ByteAddressBuffer data : register(t0);
/// RWByteAddressBuffer sums : register(u0);
/// cbuffer Parameters : register(b0) { uint count; };
/// groupshared uint partial[64];
/// [numthreads(64, 1, 1)]
/// void sum(uint id : SV_DispatchThreadID, uint index : SV_GroupIndex, uint group : SV_GroupID) {
///     partial[index] = id < count ? data.Load(id * 4) : 0;
///     for (uint stride = 32; stride != 0; stride >>= 1) {
///         GroupMemoryBarrierWithGroupSync();
///         if (index < stride) partial[index] += partial[index + stride];
///     }
///     if (index == 0) sums.Store(group * 4, partial[0]);
/// }
/// ```
fn sum() -> Result<Shader> {
    let mut shader = Shader::new(Target::model(0), Stage::compute([64, 1, 1]), "sum")?;
    let data = shader.resource(Resource::byte_address_buffer(Binding::at(0)).named("data"))?;
    let sums = shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)).named("sums"))?;
    let parameters = shader.resource(Resource::constant_buffer(Binding::at(0), 4).named("Parameters"))?;
    let int = shader.integer(32)?;
    let array = shader.array(64, int)?;
    let partial = shader.group_shared("partial", array)?;

    let mut body = shader.body()?;
    let (id, index, group) = (body.thread_id(0)?, body.thread_index_in_group()?, body.group_id(0)?);
    let (zero, one, two, half) = (body.i32(0)?, body.i32(1)?, body.i32(2)?, body.i32(32)?);
    let parameters = body.handle(parameters)?;
    let count = body.load_constants(parameters, zero, int)?[0];
    let inside = body.icmp(IntPredicate::Ult, id, count)?;
    let data = body.handle(data)?;
    // What is outside of the buffer is 0, so that the load needs no branch.
    let offset = body.shl(id, two)?;
    let loaded = body.load_buffer(data, offset, None, int, 1)?[0];
    let value = body.select(inside, loaded, zero)?;
    let mine = body.element_ptr(array, partial, &[zero, index])?;
    body.store(value, mine)?;
    let (head, add, next) = (body.block("head"), body.block("add"), body.block("next"));
    let (last, write, end) = (body.block("last"), body.block("write"), body.block("end"));
    let entry = body.current_block().expect("the entry");
    body.br(head)?;

    body.select_block(head)?;
    let stride = body.phi(int)?;
    body.barrier(Barrier::THREADS | Barrier::GROUP_SHARED)?;
    let takes_part = body.icmp(IntPredicate::Ult, index, stride)?;
    body.cond_br(takes_part, add, next)?;

    body.select_block(add)?;
    let other = body.add(index, stride)?;
    let other = body.element_ptr(array, partial, &[zero, other])?;
    let (a, b) = (body.load(int, mine)?, body.load(int, other)?);
    let sum = body.add(a, b)?;
    body.store(sum, mine)?;
    body.br(next)?;

    body.select_block(next)?;
    let halved = body.lshr(stride, one)?;
    let more = body.icmp(IntPredicate::Ne, halved, zero)?;
    body.cond_br(more, head, last)?;
    body.add_incoming(stride, half, entry)?;
    body.add_incoming(stride, halved, next)?;

    body.select_block(last)?;
    let is_first = body.icmp(IntPredicate::Eq, index, zero)?;
    body.cond_br(is_first, write, end)?;

    body.select_block(write)?;
    let total = body.load(int, mine)?;
    let sums = body.handle(sums)?;
    let offset = body.shl(group, two)?;
    body.store_buffer(sums, offset, None, &[total])?;
    body.br(end)?;

    body.select_block(end)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Loads the first components of an input.
fn load(body: &mut ShaderBody<'_>, element: u32, count: u8) -> Result<Vec<ValueId>> {
    (0..count).map(|column| body.load_input(element, column)).collect()
}

/// ```hlsl
/// cbuffer Placement : register(b0) { float2 scale; float2 offset; };
/// void main(float2 position : POSITION, inout float2 coordinates : TEXCOORD, out float4 clip : SV_Position) {
///     clip = float4(position * scale + offset, 0, 1);
/// }
/// ```
fn textured_vertex() -> Result<Shader> {
    let mut shader = Shader::new(Target::model(0), Stage::Vertex, "main")?;
    let placement = shader.resource(Resource::constant_buffer(Binding::at(0), 16).named("Placement"))?;
    let position = shader.input(Element::new("POSITION", 0, ComponentType::F32, 2))?;
    let coordinates = shader.input(Element::new("TEXCOORD", 0, ComponentType::F32, 2))?;
    let passed = shader.output(Element::new("TEXCOORD", 0, ComponentType::F32, 2))?;
    let clip = shader.output(Element::new("SV_Position", 0, ComponentType::F32, 4))?;

    let mut body = shader.body()?;
    let float = body.float();
    let (zero, one, first) = (body.f32(0.0)?, body.f32(1.0)?, body.i32(0)?);
    let placement = body.handle(placement)?;
    let placement = body.load_constants(placement, first, float)?;
    let position = load(&mut body, position, 2)?;
    let coordinates = load(&mut body, coordinates, 2)?;
    for column in [0, 1] {
        let at = usize::from(column);
        let moved = body.operation("FMad", &[position[at], placement[at], placement[at + 2]])?;
        body.store_output(clip, column, moved)?;
        body.store_output(passed, column, coordinates[at])?;
    }
    body.store_output(clip, 2, zero)?;
    body.store_output(clip, 3, one)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// ```hlsl
/// Texture2D image : register(t0);
/// SamplerState smooth : register(s0);
/// float4 main(float2 coordinates : TEXCOORD) : SV_Target { return image.Sample(smooth, coordinates); }
/// ```
fn textured_pixel() -> Result<Shader> {
    let mut shader = Shader::new(Target::model(0), Stage::pixel(), "main")?;
    let image = Resource::texture(Binding::at(0), TextureShape::D2, ComponentType::F32, 4);
    let image = shader.resource(image.named("image"))?;
    let smooth = shader.resource(Resource::sampler(Binding::at(0)).named("smooth"))?;
    let coordinates = shader.input(Element::new("TEXCOORD", 0, ComponentType::F32, 2))?;
    let result = shader.output(Element::new("SV_Target", 0, ComponentType::F32, 4))?;

    let mut body = shader.body()?;
    let coordinates = load(&mut body, coordinates, 2)?;
    let (image, smooth) = (body.handle(image)?, body.handle(smooth)?);
    let texel = body.sample(image, smooth, Sampling::Implicit, &TexturePlace::at(&coordinates))?;
    for (column, &value) in (0..).zip(&texel) {
        body.store_output(result, column, value)?;
    }
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}
