//! Compute shaders.

use super::{Built, shader};
use unshade_core::Result;
use unshade_dxil::ComponentType;
use unshade_dxil::body::ArrayIndex;
use unshade_dxil::operations::{AtomicOperation, Barrier, Sampling, TexturePlace};
use unshade_dxil::resources::{Binding, Resource, TextureShape};
use unshade_dxil::shader::Shader;
use unshade_dxil::target::{Stage, Target};
use unshade_llvm::build::{FastMath, FloatPredicate, IntPredicate};

const GROUP: Stage = Stage::compute([64, 1, 1]);

/// Doubles each word of a buffer of bytes.
pub(crate) fn raw(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let data = shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)).named("data"))?;
    let mut body = shader.body()?;
    let int = body.integer(32)?;
    let id = body.thread_id(0)?;
    let two = body.i32(2)?;
    let offset = body.shl(id, two)?;
    let buffer = body.handle(data)?;
    let word = body.load_buffer(buffer, offset, None, int, 1)?;
    let doubled = body.add(word[0], word[0])?;
    body.store_buffer(buffer, offset, None, &[doubled])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Adds structs of a buffer that is only read, with a scale from a constant buffer.
pub(crate) fn structured(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let constants = shader.resource(Resource::constant_buffer(Binding::at(0), 20).named("Parameters"))?;
    let source = shader.resource(Resource::structured_buffer(Binding::at(3).space(1), 32).named("source"))?;
    let result = shader.resource(Resource::rw_structured_buffer(Binding::at(1), 16).named("result"))?;
    let mut body = shader.body()?;
    let (int, float) = (body.integer(32)?, body.float());
    let id = body.thread_id(0)?;
    let (zero, one, sixteen) = (body.i32(0)?, body.i32(1)?, body.i32(16)?);
    let parameters = body.handle(constants)?;
    let row = body.load_constants(parameters, zero, float)?;
    let count = body.load_constants(parameters, one, int)?[0];
    let (then, end) = (body.block(""), body.block(""));
    let inside = body.icmp(IntPredicate::Ult, id, count)?;
    body.cond_br(inside, then, end)?;
    body.select_block(then)?;
    let from = body.handle(source)?;
    let first = body.load_buffer(from, id, Some(zero), float, 4)?;
    let second = body.load_buffer(from, id, Some(sixteen), float, 4)?;
    let mut sums = Vec::new();
    for at in 0..4 {
        let scaled = body.fmul(second[at], row[at])?;
        sums.push(body.fadd(first[at], scaled)?);
    }
    let to = body.handle(result)?;
    body.store_buffer(to, id, Some(zero), &sums)?;
    body.br(end)?;
    body.select_block(end)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Sums a group's values in shared memory, in a loop with barriers.
pub(crate) fn reduce(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "reduce")?;
    let source = shader.resource(Resource::buffer(Binding::at(0), ComponentType::F32, 1))?;
    let result = shader.resource(Resource::rw_buffer(Binding::at(0), ComponentType::F32, 1))?;
    let float = shader.float();
    let array = shader.array(64, float)?;
    let shared = shader.group_shared("partial", array)?;
    let mut body = shader.body()?;
    let int = body.integer(32)?;
    let (id, index, group) = (body.thread_id(0)?, body.thread_index_in_group()?, body.group_id(0)?);
    let (zero, one, half) = (body.i32(0)?, body.i32(1)?, body.i32(32)?);
    let from = body.handle(source)?;
    let value = body.load_typed_buffer(from, id)?;
    let mine = body.element_ptr(array, shared, &[zero, index])?;
    body.store(value[0], mine)?;
    body.barrier(Barrier::THREADS | Barrier::GROUP_SHARED)?;
    let entry = body.current_block().expect("a block");
    let blocks: Vec<_> = ["head", "add", "next", "exit", "write", "end"].map(|name| body.block(name)).into();
    let &[head, add, next, exit, write, end] = blocks.as_slice() else { unreachable!() };
    body.br(head)?;

    body.select_block(head)?;
    let stride = body.phi(int)?;
    let is_mine = body.icmp(IntPredicate::Ult, index, stride)?;
    body.cond_br(is_mine, add, next)?;

    body.select_block(add)?;
    let other = body.add(index, stride)?;
    let other = body.element_ptr(array, shared, &[zero, other])?;
    let (a, b) = (body.load(float, mine)?, body.load(float, other)?);
    let sum = body.fadd(a, b)?;
    body.store(sum, mine)?;
    body.br(next)?;

    body.select_block(next)?;
    body.barrier(Barrier::THREADS | Barrier::GROUP_SHARED)?;
    let halved = body.lshr(stride, one)?;
    let more = body.icmp(IntPredicate::Ne, halved, zero)?;
    body.cond_br(more, head, exit)?;
    body.add_incoming(stride, half, entry)?;
    body.add_incoming(stride, halved, next)?;

    body.select_block(exit)?;
    let is_first = body.icmp(IntPredicate::Eq, index, zero)?;
    body.cond_br(is_first, write, end)?;
    body.select_block(write)?;
    let first = body.element_ptr(array, shared, &[zero, zero])?;
    let total = body.load(float, first)?;
    let to = body.handle(result)?;
    body.store_typed_buffer(to, group, &[total])?;
    body.br(end)?;
    body.select_block(end)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Atomic operations on buffers, textures, and what a group shares.
pub(crate) fn atomics(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::compute([8, 8, 1]), "main")?;
    let bytes = shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)))?;
    let structs = shader.resource(Resource::rw_structured_buffer(Binding::at(1), 8).globally_coherent())?;
    let image = Resource::rw_texture(Binding::at(2), TextureShape::D2, ComponentType::U32, 1);
    let image = shader.resource(image)?;
    let typed = shader.resource(Resource::rw_buffer(Binding::at(3), ComponentType::I32, 1))?;
    let int = shader.integer(32)?;
    let shared = shader.group_shared("best", int)?;
    let mut body = shader.body()?;
    let (x, y) = (body.thread_id(0)?, body.thread_id(1)?);
    let (zero, one, four) = (body.i32(0)?, body.i32(1)?, body.i32(4)?);
    let old = body.atomic_shared(AtomicOperation::UMax, shared, x)?;
    let exchanged = body.atomic_compare_exchange_shared(shared, old, y)?;
    body.barrier(Barrier::THREADS | Barrier::GROUP_SHARED | Barrier::UAV)?;
    let handle = body.handle(bytes)?;
    body.atomic(handle, AtomicOperation::Add, &[four], exchanged)?;
    let before = body.atomic_compare_exchange(handle, &[zero], x, y)?;
    let handle = body.handle(structs)?;
    body.atomic(handle, AtomicOperation::Or, &[x, four], before)?;
    let handle = body.handle(image)?;
    body.atomic(handle, AtomicOperation::UMin, &[x, y], one)?;
    let handle = body.handle(typed)?;
    let last = body.atomic(handle, AtomicOperation::Exchange, &[y], one)?;
    body.atomic(handle, AtomicOperation::Max, &[x], last)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Loads, samples and stores of textures.
pub(crate) fn textures(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::compute([8, 8, 1]), "main")?;
    let image = Resource::texture(Binding::at(0), TextureShape::D2, ComponentType::F32, 4).named("image");
    let image = shader.resource(image)?;
    let layers = Resource::texture(Binding::at(1), TextureShape::D2Array, ComponentType::U32, 2);
    let layers = shader.resource(layers)?;
    let sampler = shader.resource(Resource::sampler(Binding::at(0)))?;
    let target_image = Resource::rw_texture(Binding::at(0), TextureShape::D2, ComponentType::UNORM_F32, 4);
    let target_image = shader.resource(target_image)?;
    let volume = Resource::rw_texture(Binding::at(1), TextureShape::D3, ComponentType::U32, 1);
    let volume = shader.resource(volume)?;
    let mut body = shader.body()?;
    let float = body.float();
    let (x, y) = (body.thread_id(0)?, body.thread_id(1)?);
    let zero = body.i32(0)?;
    let from = body.handle(image)?;
    let size = body.dimensions(from, Some(zero))?;
    let level = body.f32(0.0)?;
    let mut coordinates = Vec::new();
    for (position, size) in [(x, size[0]), (y, size[1])] {
        let (position, size) = (body.uitofp(position, float)?, body.uitofp(size, float)?);
        coordinates.push(body.fdiv(position, size)?);
    }
    let filter = body.handle(sampler)?;
    let smooth = body.sample(from, filter, Sampling::Level(level), &TexturePlace::at(&coordinates))?;
    let offsets = [body.i32(-1)?, body.i32(2)?];
    let coordinates = [x, y];
    let place = TexturePlace { offsets: &offsets, ..TexturePlace::at(&coordinates) };
    let texel = body.load_texture(from, Some(zero), &place)?;
    let mut sums = Vec::new();
    for at in 0..4 {
        sums.push(body.fadd(smooth[at], texel[at])?);
    }
    let to = body.handle(target_image)?;
    body.store_texture(to, &[x, y], &sums)?;
    let from = body.handle(layers)?;
    let pair = body.load_texture(from, Some(zero), &TexturePlace::at(&[x, y, zero]))?;
    let sum = body.xor(pair[0], pair[1])?;
    let to = body.handle(volume)?;
    let known = body.load_texture(to, None, &TexturePlace::at(&[x, y, zero]))?;
    let sum = body.add(sum, known[0])?;
    body.store_texture(to, &[x, y, zero], &[sum])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Mathematical operations, by name.
pub(crate) fn math(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let data = shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)))?;
    let mut body = shader.body()?;
    let (int, float) = (body.integer(32)?, body.float());
    let id = body.thread_id(0)?;
    let offset = body.i32(16)?;
    let offset = body.mul(id, offset)?;
    let buffer = body.handle(data)?;
    let values = body.load_buffer(buffer, offset, None, float, 4)?;
    let mut sum = values[0];
    for name in [
        "FAbs", "Saturate", "Cos", "Sin", "Tan", "Acos", "Asin", "Atan", "Hcos", "Hsin", "Htan", "Exp",
        "Frc", "Log", "Sqrt", "Rsqrt", "Round_ne", "Round_ni", "Round_pi", "Round_z",
    ] {
        let value = body.operation(name, &[values[1]])?;
        sum = body.fadd(sum, value)?;
    }
    for name in ["FMax", "FMin"] {
        sum = body.operation(name, &[sum, values[2]])?;
    }
    sum = body.operation("FMad", &[sum, values[2], values[3]])?;
    let dot = body.operation("Dot2", &[sum, values[0], values[1], values[2]])?;
    let is_nan = body.operation("IsNaN", &[dot])?;
    let dot = body.select(is_nan, sum, dot)?;
    let mut bits = body.bitcast(dot, int)?;
    for name in ["Bfrev", "Countbits", "FirstbitLo", "FirstbitHi", "FirstbitSHi"] {
        let value = body.operation(name, &[bits])?;
        bits = body.xor(bits, value)?;
    }
    for name in ["IMax", "IMin", "UMax", "UMin"] {
        bits = body.operation(name, &[bits, id])?;
    }
    for name in ["IMad", "UMad", "Ibfe", "Ubfe"] {
        bits = body.operation(name, &[bits, id, bits])?;
    }
    bits = body.operation("Bfi", &[id, id, bits, bits])?;
    let carried = body.operation("UAddc", &[bits, id])?;
    let bits = body.extract_value(carried, &[0])?;
    body.store_buffer(buffer, offset, None, &[bits])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Wave operations.
pub(crate) fn waves(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let data = shader.resource(Resource::rw_structured_buffer(Binding::at(0), 4).with_counter())?;
    let mut body = shader.body()?;
    let int = body.integer(32)?;
    let byte = body.integer(8)?;
    let id = body.thread_id(0)?;
    let zero = body.i32(0)?;
    let buffer = body.handle(data)?;
    let value = body.load_buffer(buffer, id, Some(zero), int, 1)?[0];
    let (none, two) = (body.const_int(byte, 0)?, body.const_int(byte, 2)?);
    let sum = body.operation("WaveActiveOp", &[value, none, none])?;
    let prefix = body.operation("WavePrefixOp", &[value, none, none])?;
    let bits = body.operation("WaveActiveBit", &[value, two])?;
    let first = body.operation("WaveReadLaneFirst", &[value])?;
    let lane = body.operation("WaveGetLaneIndex", &[])?;
    let count = body.operation("WaveGetLaneCount", &[])?;
    let is_first = body.operation("WaveIsFirstLane", &[])?;
    let ballot = body.operation("WaveActiveBallot", &[is_first])?;
    let ballot = body.extract_value(ballot, &[0])?;
    let all = body.operation("WaveAllBitCount", &[is_first])?;
    let across = body.operation("QuadReadLaneAt", &[value, zero])?;
    let mut result = sum;
    for value in [prefix, bits, first, lane, count, ballot, all, across] {
        result = body.xor(result, value)?;
    }
    let slot = body.update_counter(buffer, true)?;
    body.store_buffer(buffer, slot, Some(zero), &[result])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Arrays of resources, with an index that is not uniform.
pub(crate) fn arrays(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let images =
        Resource::texture(Binding::at(4).space(2).unbounded(), TextureShape::D2, ComponentType::F32, 4);
    let images = shader.resource(images.named("images"))?;
    let constants = shader.resource(Resource::constant_buffer(Binding::at(2).array(3), 64))?;
    let results = shader.resource(Resource::rw_buffer(Binding::at(1).array(2), ComponentType::F32, 4))?;
    let mut body = shader.body()?;
    let id = body.thread_id(0)?;
    let (zero, one, three) = (body.i32(0)?, body.i32(1)?, body.i32(3)?);
    let float = body.float();
    let which = body.and(id, one)?;
    let constants = body.handle_at(constants, ArrayIndex { index: one, non_uniform: false })?;
    let scale = body.load_constants(constants, three, float)?;
    let image = body.handle_at(images, ArrayIndex { index: id, non_uniform: true })?;
    let texel = body.load_texture(image, Some(zero), &TexturePlace::at(&[id, zero]))?;
    let mut scaled = Vec::new();
    for at in 0..4 {
        scaled.push(body.fmul(texel[at], scale[at])?);
    }
    let result = body.handle_at(results, ArrayIndex { index: which, non_uniform: true })?;
    body.store_typed_buffer(result, id, &scaled)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Numbers of 16 bits.
pub(crate) fn halves(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let constants = shader.resource(Resource::constant_buffer(Binding::at(0), 16))?;
    let source = shader.resource(Resource::structured_buffer(Binding::at(0), 8))?;
    let result = shader.resource(Resource::rw_structured_buffer(Binding::at(0), 8))?;
    let mut body = shader.body()?;
    let half = body.half();
    let (id, zero) = (body.thread_id(0)?, body.i32(0)?);
    let from = body.handle(source)?;
    let loaded = body.load_buffer(from, id, Some(zero), half, 4)?;
    let parameters = body.handle(constants)?;
    let scales = body.load_constants(parameters, zero, half)?;
    let mut scaled = Vec::new();
    for at in 0..4 {
        let product = body.fmul(loaded[at], scales[at + 4])?;
        scaled.push(body.operation("Sqrt", &[product])?);
    }
    let to = body.handle(result)?;
    body.store_buffer(to, id, Some(zero), &scaled)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Numbers of 64 bits.
pub(crate) fn doubles(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let data = shader.resource(Resource::rw_structured_buffer(Binding::at(0), 16))?;
    let mut body = shader.body()?;
    let (long, double) = (body.integer(64)?, body.double());
    let (id, zero, eight) = (body.thread_id(0)?, body.i32(0)?, body.i32(8)?);
    let buffer = body.handle(data)?;
    let number = body.load_buffer(buffer, id, Some(zero), double, 1)?[0];
    let bits = body.load_buffer(buffer, id, Some(eight), long, 1)?[0];
    let product = body.operation("Fma", &[number, number, number])?;
    let halves = body.operation("SplitDouble", &[product])?;
    let (low, high) = (body.extract_value(halves, &[0])?, body.extract_value(halves, &[1])?);
    let joined = body.operation("MakeDouble", &[high, low])?;
    let sum = body.add(bits, bits)?;
    body.store_buffer(buffer, id, Some(zero), &[joined])?;
    body.store_buffer(buffer, id, Some(eight), &[sum])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// A function that is called, and local memory.
pub(crate) fn calls(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let data = shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)))?;
    let (int, float) = (shader.integer(32)?, shader.float());
    let ty = shader.function_type(float, &[float, int])?;
    let square = shader.add_function("square", ty)?;
    shader.set_linkage(square, unshade_llvm::global::Linkage::Internal)?;
    let mut body = shader.body_of(square)?;
    let (x, n) = (body.parameter(0)?, body.parameter(1)?);
    let array = body.array(4, float)?;
    let memory = body.alloca(array)?;
    let (zero, three) = (body.i32(0)?, body.i32(3)?);
    let at = body.and(n, three)?;
    for index in 0..4 {
        let index = body.i32(index)?;
        let slot = body.element_ptr(array, memory, &[zero, index])?;
        body.store(x, slot)?;
    }
    let slot = body.element_ptr(array, memory, &[zero, at])?;
    let y = body.load(float, slot)?;
    let product = body.fmul(x, y)?;
    body.ret(product)?;
    body.finish()?;
    let mut body = shader.body()?;
    let id = body.thread_id(0)?;
    let x = body.uitofp(id, float)?;
    let y = body.call(square, &[x, id])?;
    let buffer = body.handle(data)?;
    let two = body.i32(2)?;
    let offset = body.shl(id, two)?;
    body.store_buffer(buffer, offset, None, &[y])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Resources in heaps, and a number of lanes.
fn heaps(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    shader.set_wave_lanes(32, 32, 0)?;
    let none = Binding::at(0);
    let image = Resource::texture(none, TextureShape::D2, ComponentType::F32, 4).in_heap();
    let image = shader.resource(image)?;
    let smooth = shader.resource(Resource::sampler(none).in_heap())?;
    let data = shader.resource(Resource::rw_structured_buffer(none, 16).in_heap())?;
    let mut body = shader.body()?;
    assert!(body.handle(data).is_err());
    let (id, zero, three, level) = (body.thread_id(0)?, body.i32(0)?, body.i32(3)?, body.f32(0.0)?);
    let image = body.handle_at(image, ArrayIndex { index: id, non_uniform: true })?;
    let smooth = body.handle_at(smooth, ArrayIndex { index: zero, non_uniform: false })?;
    let data = body.handle_at(data, ArrayIndex { index: three, non_uniform: false })?;
    let texel = body.sample(image, smooth, Sampling::Level(level), &TexturePlace::at(&[level, level]))?;
    body.store_buffer(data, id, Some(zero), &texel)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// A range of lanes, and atomic operations of 64 bits.
fn wide(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    shader.set_wave_lanes(16, 64, 32)?;
    let data = shader.resource(Resource::rw_structured_buffer(Binding::at(0), 8))?;
    let image = Resource::rw_texture(Binding::at(1), TextureShape::D2, ComponentType::U64, 1);
    let image = shader.resource(image)?;
    let long = shader.integer(64)?;
    let shared = shader.group_shared("all", long)?;
    let mut body = shader.body()?;
    let (id, zero) = (body.thread_id(0)?, body.i32(0)?);
    let value = body.zext(id, long)?;
    let data = body.handle(data)?;
    let before = body.atomic(data, AtomicOperation::Add, &[id, zero], value)?;
    let image = body.handle(image)?;
    let before = body.atomic(image, AtomicOperation::Max, &[id, zero], before)?;
    body.atomic_shared(AtomicOperation::Or, shared, before)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Whether a ray hits anything.
fn rays(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let scene = shader.resource(Resource::acceleration_structure(Binding::at(0)))?;
    let hits = shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)))?;
    let mut body = shader.body()?;
    let scene = body.handle(scene)?.value();
    let hits = body.handle(hits)?;
    let (id, zero, all, two) = (body.thread_id(0)?, body.i32(0)?, body.i32(255)?, body.i32(2)?);
    let (near, far, none) = (body.f32(0.1)?, body.f32(100.0)?, body.f32(0.0)?);
    let query = body.operation("AllocateRayQuery", &[zero])?;
    let ray = [query, scene, zero, all, none, none, none, near, none, none, far, far];
    body.operation("RayQuery_TraceRayInline", &ray)?;
    body.operation("RayQuery_Proceed", &[query])?;
    let status = body.operation("RayQuery_CommittedStatus", &[query])?;
    let offset = body.shl(id, two)?;
    body.store_buffer(hits, offset, None, &[status])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Arithmetic that may be reordered.
fn fast(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, GROUP, "main")?;
    let data = shader.resource(Resource::rw_buffer(Binding::at(0), ComponentType::F32, 2))?;
    let mut body = shader.body()?;
    body.set_fast_math(FastMath::FAST);
    let id = body.thread_id(0)?;
    let data = body.handle(data)?;
    let values = body.load_typed_buffer(data, id)?;
    let sum = body.fadd(values[0], values[1])?;
    let is_less = body.fcmp(FloatPredicate::Olt, sum, values[0])?;
    let chosen = body.select(is_less, sum, values[1])?;
    body.set_fast_math(FastMath::NO_NANS | FastMath::CONTRACT);
    let root = body.operation("Sqrt", &[chosen])?;
    let product = body.fmul(root, sum)?;
    body.store_typed_buffer(data, id, &[product, root])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// All compute shaders, for several shader models.
pub(crate) fn all() -> Vec<Built> {
    let mut built = Vec::new();
    for target in super::targets() {
        let model = target.model;
        for (name, make) in [
            ("raw", raw as fn(Target) -> Result<Shader>),
            ("structured", structured),
            ("reduce", reduce),
            ("atomics", atomics),
            ("textures", textures),
            ("math", math),
            ("waves", waves),
            ("arrays", arrays),
            ("calls", calls),
            ("fast", fast),
        ] {
            built.push(shader(name, target, make));
        }
        built.push(shader("unused", target, |target| {
            let mut shader = Shader::new(target, GROUP, "main")?;
            shader.resource(Resource::rw_buffer(Binding::at(0), ComponentType::F32, 1))?;
            let mut body = shader.body()?;
            body.ret_void()?;
            body.finish()?;
            Ok(shader)
        }));
        built.push(shader("aliased", target, |target| {
            let mut shader = raw(target)?;
            shader.set_resources_may_alias();
            Ok(shader)
        }));
        if model >= 2 {
            built.push(shader("halves", target.native_16_bit(), halves));
        }
        for (name, make, first) in [
            ("doubles", doubles as fn(Target) -> Result<Shader>, 3),
            ("rays", rays, 5),
            ("heaps", heaps, 6),
            ("wide", wide, 8),
        ] {
            if model >= first {
                built.push(shader(name, target, make));
            }
        }
    }
    built
}
