//! Emits a Metal library without Apple's compiler: `emit_metallib OUT.metallib`.
//!
//! A kernel adds up an array, in threadgroup memory first; a vertex and a fragment function draw a textured mesh. The
//! source that each stands for is above its function.

use std::error::Error;
use unshade_air::entry::{Access, Argument, Builtin, Output, Signature};
use unshade_air::intrinsics::{self, AtomicOperation, Level, MemoryFlags, Place};
use unshade_air::library::LibraryBuilder;
use unshade_air::samplers::{AddressMode, Filter, SamplerState};
use unshade_air::shader::Shader;
use unshade_air::textures::{Texture, TextureKind};
use unshade_air::types::{Class, MetalType, Scalar};
use unshade_core::Result;
use unshade_llvm::build::{FunctionBuilder, IntPredicate};
use unshade_llvm::{TypeId, ValueId};
use unshade_metallib::Platform;
use unshade_metallib::target::Target;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: emit_metallib OUT.metallib")?;
    std::fs::write(path, library()?)?;
    Ok(())
}

/// Returns the library.
pub(crate) fn library() -> Result<Vec<u8>> {
    let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
    let mut library = LibraryBuilder::new(target)?;
    for shader in [sum(target)?, textured_vertex(target)?, textured_fragment(target)?] {
        library.add(shader)?;
    }
    library.write()
}

/// Threads in a threadgroup of the kernel.
const THREADS: u32 = 256;

/// ```metal
/// [[max_total_threads_per_threadgroup(256)]]
/// kernel void sum(const device uint* data, device atomic_uint* total, constant uint& count,
///                 uint id [[thread_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {
///     threadgroup uint partial[256];
///     partial[lane] = id < count ? data[id] : 0;
///     threadgroup_barrier(mem_flags::mem_threadgroup);
///     for (uint stride = 128; stride > 0; stride /= 2) {
///         if (lane < stride) partial[lane] += partial[lane + stride];
///         threadgroup_barrier(mem_flags::mem_threadgroup);
///     }
///     if (lane == 0) atomic_fetch_add_explicit(total, partial[0], memory_order_relaxed);
/// }
/// ```
fn sum(target: Target) -> Result<Shader> {
    let signature = Signature::kernel("sum")
        .argument("data", Argument::device(0, MetalType::UINT, Access::Read))
        .argument("total", Argument::device(1, MetalType::Atomic(Scalar::UInt), Access::ReadWrite))
        .argument("count", Argument::constant_reference(2, MetalType::UINT))
        .argument("id", Argument::builtin(Builtin::ThreadPositionInGrid, MetalType::UINT))
        .argument("lane", Argument::builtin(Builtin::ThreadIndexInThreadgroup, MetalType::UINT))
        .max_threads(THREADS);
    let mut shader = Shader::new(target, &signature)?;
    let tile_type = MetalType::array(MetalType::UINT, THREADS);
    let tile = shader.threadgroup_variable("partial", &tile_type)?;
    let tile_type = tile_type.llvm_in_memory(&mut shader)?;

    let mut body = shader.body()?;
    let int = body.integer(32)?;
    let [data, total, count, id, lane] = parameters(&body)?;
    let (zero, one) = (body.const_int(int, 0)?, body.const_int(int, 1)?);
    let entry = body.current_block().expect("the entry");
    let (read, head) = (body.block("read"), body.block("loop"));
    let (begin, add, next) = (body.block("begin"), body.block("add"), body.block("next"));
    let (last, total_block, exit) = (body.block("last"), body.block("total"), body.block("exit"));

    let count = body.load(int, count)?;
    let is_inside = body.icmp(IntPredicate::Ult, id, count)?;
    body.cond_br(is_inside, read, begin)?;

    body.select_block(read)?;
    let element = element(&mut body, int, data, id)?;
    let value = body.load(int, element)?;
    body.br(begin)?;

    body.select_block(begin)?;
    let own = body.phi(int)?;
    body.add_incoming(own, zero, entry)?;
    body.add_incoming(own, value, read)?;
    let place = partial(&mut body, tile_type, tile, lane)?;
    body.store(own, place)?;
    intrinsics::threadgroup_barrier(&mut body, MemoryFlags::THREADGROUP)?;
    body.br(head)?;

    body.select_block(head)?;
    let stride = body.phi(int)?;
    let half = body.const_int(int, THREADS / 2)?;
    body.add_incoming(stride, half, begin)?;
    let is_active = body.icmp(IntPredicate::Ult, lane, stride)?;
    body.cond_br(is_active, add, next)?;

    body.select_block(add)?;
    let other = body.add(lane, stride)?;
    let other = partial(&mut body, tile_type, tile, other)?;
    let (left, right) = (body.load(int, place)?, body.load(int, other)?);
    let both = body.add(left, right)?;
    body.store(both, place)?;
    body.br(next)?;

    body.select_block(next)?;
    intrinsics::threadgroup_barrier(&mut body, MemoryFlags::THREADGROUP)?;
    let halved = body.lshr(stride, one)?;
    body.add_incoming(stride, halved, next)?;
    let is_done = body.icmp(IntPredicate::Eq, halved, zero)?;
    body.cond_br(is_done, last, head)?;

    body.select_block(last)?;
    let is_first = body.icmp(IntPredicate::Eq, lane, zero)?;
    body.cond_br(is_first, total_block, exit)?;

    body.select_block(total_block)?;
    let first = partial(&mut body, tile_type, tile, zero)?;
    let value = body.load(int, first)?;
    intrinsics::atomic(&mut body, AtomicOperation::Add, total, value, Class::Unsigned)?;
    body.br(exit)?;

    body.select_block(exit)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// The parameters of a function, by pattern.
fn parameters<const COUNT: usize>(body: &FunctionBuilder<'_>) -> Result<[ValueId; COUNT]> {
    let mut list = [ValueId::NONE; COUNT];
    for (at, slot) in (0..).zip(&mut list) {
        *slot = body.parameter(at)?;
    }
    Ok(list)
}

/// `&pointer[index]`, with an index of 32 bits.
fn element(body: &mut FunctionBuilder<'_>, ty: TypeId, pointer: ValueId, index: ValueId) -> Result<ValueId> {
    let long = body.integer(64)?;
    let index = body.zext(index, long)?;
    body.element_ptr(ty, pointer, &[index])
}

/// `&partial[index]`
fn partial(body: &mut FunctionBuilder<'_>, ty: TypeId, tile: ValueId, index: ValueId) -> Result<ValueId> {
    let long = body.integer(64)?;
    let (zero, index) = (body.const_int(long, 0)?, body.zext(index, long)?);
    body.element_ptr(ty, tile, &[zero, index])
}

/// ```metal
/// struct Vertex { float2 position [[attribute(0)]]; float2 texCoord [[attribute(1)]]; };
/// struct Uniforms { float2 scale; float2 offset; };
/// struct Varyings { float4 position [[position]]; float2 texCoord; };
/// vertex Varyings textured_vertex(Vertex in [[stage_in]], constant Uniforms& uniforms [[buffer(1)]]) {
///     return {float4(in.position * uniforms.scale + uniforms.offset, 0, 1), in.texCoord};
/// }
/// ```
fn textured_vertex(target: Target) -> Result<Shader> {
    let uniforms =
        MetalType::structure("Uniforms", &[("scale", MetalType::FLOAT2), ("offset", MetalType::FLOAT2)]);
    let signature = Signature::vertex("textured_vertex")
        .argument("position", Argument::vertex_input(0, MetalType::FLOAT2))
        .argument("texCoord", Argument::vertex_input(1, MetalType::FLOAT2))
        .argument("uniforms", Argument::constant_reference(1, uniforms.clone()))
        .output("position", Output::Position)
        .output("texCoord", Output::Varying(MetalType::FLOAT2));
    let mut shader = Shader::new(target, &signature)?;
    let uniforms = uniforms.llvm_in_memory(&mut shader)?;
    let (float, float2) = (shader.float(), MetalType::FLOAT2.llvm(&mut shader)?);
    let (zero, one) = (shader.const_float(float, 0.0)?, shader.const_float(float, 1.0)?);
    let rest = shader.const_vector(&[zero, one])?;

    let mut body = shader.body()?;
    let [position, tex_coord, pointer] = parameters(&body)?;
    let scale = body.field_ptr(uniforms, pointer, 0)?;
    let offset = body.field_ptr(uniforms, pointer, 1)?;
    let (scale, offset) = (body.load(float2, scale)?, body.load(float2, offset)?);
    let scaled = body.fmul(position, scale)?;
    let moved = body.fadd(scaled, offset)?;
    let clip = body.shuffle_vector(moved, rest, &[0, 1, 2, 3].map(Some))?;
    let result = MetalType::FLOAT4.llvm(&mut body)?;
    let result = body.packed_struct(&[result, float2])?;
    let empty = body.const_undef(result)?;
    let first = body.insert_value(empty, clip, &[0])?;
    let both = body.insert_value(first, tex_coord, &[1])?;
    body.ret(both)?;
    body.finish()?;
    Ok(shader)
}

/// ```metal
/// fragment float4 textured_fragment(Varyings in [[stage_in]], texture2d<float> image [[texture(0)]]) {
///     constexpr sampler bilinear(filter::linear, address::repeat);
///     return image.sample(bilinear, in.texCoord);
/// }
/// ```
fn textured_fragment(target: Target) -> Result<Shader> {
    let texture = Texture::sampled(TextureKind::Texture2d, Scalar::Float);
    let signature = Signature::fragment("textured_fragment")
        .argument("position", Argument::builtin(Builtin::Position, MetalType::FLOAT4))
        .argument("texCoord", Argument::fragment_input(MetalType::FLOAT2))
        .argument("image", Argument::texture(0, texture))
        .output("color", Output::Color(0, MetalType::FLOAT4));
    let mut shader = Shader::new(target, &signature)?;
    let bilinear = shader.constant_sampler(&SamplerState {
        address: [AddressMode::Repeat; 3],
        magnified: Filter::Linear,
        minified: Filter::Linear,
        ..SamplerState::default()
    })?;
    let mut body = shader.body()?;
    let [_, tex_coord, image] = parameters(&body)?;
    let color =
        intrinsics::sample(&mut body, texture, image, bilinear, &Place::at(tex_coord), Level::Automatic)?;
    body.ret(color)?;
    body.finish()?;
    Ok(shader)
}
