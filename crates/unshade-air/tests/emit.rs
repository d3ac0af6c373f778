//! Libraries that are emitted are sound, say what Apple's compiler says, and LLVM's verifier accepts their modules where
//! it is installed.

#[allow(dead_code)]
#[path = "../examples/emit_metallib.rs"]
mod emit_metallib;

use std::io::Write;
use std::process::{Command, Stdio};
use unshade_air::entry::{Access, Argument, Builtin, Signature};
use unshade_air::intrinsics::{self, AtomicOperation, Level, MemoryFlags, Place};
use unshade_air::library::LibraryBuilder;
use unshade_air::shader::Shader;
use unshade_air::textures::{Texture, TextureKind};
use unshade_air::types::{Class, MetalType, Scalar};
use unshade_core::{Reader, Result};
use unshade_llvm::print::{self, PrintOptions};
use unshade_metallib::target::Target;
use unshade_metallib::{Library, Platform};

const TARGET: Target = Target { platform: Platform::MACOS, os: (14, 0, 0) };

/// Returns the modules of a library, which must be sound, as text.
fn modules(library: &[u8]) -> Result<Vec<String>> {
    let library = Library::parse(library)?;
    let mut texts = Vec::new();
    for function in library.functions() {
        let function = function?;
        let Some(module) = library.module(&function)? else { panic!("a function without a module") };
        assert_eq!(function.hash, Some(&module.sha256()));
        let bitcode = module.bitcode()?.data();
        let findings = unshade_llvm::verify::bitcode(Reader::new(bitcode));
        assert!(findings.is_empty(), "{findings:?}");
        let module = unshade_llvm::Module::parse(bitcode, 0)?;
        let mut text = String::new();
        let findings = print::module(&module, &PrintOptions::default(), &mut text);
        assert!(findings.is_empty(), "{findings:?}");
        accepted_by_llvm(bitcode, &text);
        texts.push(text);
    }
    Ok(texts)
}

/// Checks a module with LLVM's verifier, if it is installed.
fn accepted_by_llvm(bitcode: &[u8], text: &str) {
    let spawned = Command::new("opt-14")
        .args(["-mtriple=x86_64", "-passes=verify", "-disable-output", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else { return };
    child.stdin.take().expect("a pipe").write_all(bitcode).expect("the tool reads");
    let output = child.wait_with_output().expect("the tool ends");
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_example_says_what_apples_compiler_says() -> Result<()> {
    let library = emit_metallib::library()?;
    let texts = modules(&library)?;
    let [kernel, vertex, fragment] = texts.as_slice() else { panic!("three modules") };
    for (text, parts) in [
        (
            kernel,
            &[
                "target triple = \"air64-apple-macosx14.0.0\"",
                "!{i32 0, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read\", \
                 !\"air.address_space\", i32 1, !\"air.arg_type_size\", i32 4, !\"air.arg_type_align_size\", i32 4, \
                 !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", !\"data\"}",
                "!{i32 2, !\"air.buffer\", !\"air.buffer_size\", i32 4, !\"air.location_index\", i32 2, i32 1, \
                 !\"air.read\", !\"air.address_space\", i32 2,",
                "!{i32 3, !\"air.thread_position_in_grid\", !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", \
                 !\"id\"}",
                "!{!\"air.max_work_group_size\", i32 256}",
                "!{!\"Metal\", i32 3, i32 1, i32 0}",
                "@_ZZ3sumE7partial = internal addrspace(3) global [256 x i32] undef, align 4",
                "call void @air.wg.barrier(i32 2, i32 1)",
            ][..],
        ),
        (
            vertex,
            &[
                "define <{ <4 x float>, <2 x float> }> @textured_vertex(",
                "!{!\"air.position\", !\"air.arg_type_name\", !\"float4\", !\"air.arg_name\", !\"position\"}",
                "!{!\"air.vertex_output\", !\"generated(8texCoordDv2_f)\", !\"air.arg_type_name\", !\"float2\", \
                 !\"air.arg_name\", !\"texCoord\"}",
                "!{i32 1, !\"air.vertex_input\", !\"air.location_index\", i32 1, i32 1, ",
                "!{i32 0, i32 8, i32 0, !\"float2\", !\"scale\", i32 8, i32 8, i32 0, !\"float2\", !\"offset\"}",
                "fmul fast <2 x float>",
            ],
        ),
        (
            fragment,
            &[
                "!{!\"air.render_target\", i32 0, i32 0, !\"air.arg_type_name\", !\"float4\"}",
                "!{i32 0, !\"air.position\", !\"air.center\", !\"air.no_perspective\", ",
                "!{i32 1, !\"air.fragment_input\", !\"generated(8texCoordDv2_f)\", !\"air.center\", \
                 !\"air.perspective\", ",
                "!{i32 2, !\"air.texture\", !\"air.location_index\", i32 0, i32 1, !\"air.sample\", \
                 !\"air.arg_type_name\", !\"texture2d<float, sample>\", !\"air.arg_name\", !\"image\"}",
                "!air.sampler_states = !{",
                "{ <4 x float>, i8 } @air.sample_texture_2d.v4f32(%struct._texture_2d_t addrspace(1)*, \
                 %struct._sampler_t addrspace(2)*, <2 x float>, i1, <2 x i32>, i1, float, float, i32)",
            ],
        ),
    ] {
        for part in parts {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }
    let library = Library::parse(&library)?;
    assert!(unshade_metallib::verify::library(&library).is_empty());
    let vertex = library.function(1).expect("the vertex function");
    let public = library.public_metadata(&vertex)?.expect("public metadata");
    let names: Vec<_> = public.vertex_attributes()?.iter().map(|attribute| attribute.name).collect();
    assert_eq!(names, [&b"position"[..], b"texCoord"]);
    Ok(())
}

/// The declarations of AIR's functions in real modules.
#[test]
fn functions_have_the_types_of_apples() -> Result<()> {
    let image = Texture { kind: TextureKind::Texture2d, scalar: Scalar::UInt, access: Access::Read };
    let target = Texture { kind: TextureKind::Texture2dArray, scalar: Scalar::Float, access: Access::Write };
    let signature = Signature::kernel("f")
        .argument("floats", Argument::device(0, MetalType::Atomic(Scalar::Float), Access::ReadWrite))
        .argument("image", Argument::texture(0, image))
        .argument("target", Argument::texture(1, target))
        .argument("shared", Argument::threadgroup(0, MetalType::Atomic(Scalar::Int)))
        .argument("id", Argument::builtin(Builtin::ThreadPositionInGrid, MetalType::UINT2))
        .precise_math();
    let mut shader = Shader::new(TARGET, &signature)?;
    let generation = shader.generation();
    let mut body = shader.body()?;
    let (float, half, int, short) = (body.float(), body.half(), body.integer(32)?, body.integer(16)?);
    let x = body.const_float(float, 0.3)?;
    let h = body.const_float(half, 0.3)?;
    let n = body.const_int(int, 7)?;
    let lane = body.const_int(short, 1)?;
    let v = body.const_splat(4, x)?;
    let b = &mut body;
    for (name, class, operands) in [
        ("fast_sqrt", Class::Float, &[x][..]),
        ("sqrt", Class::Float, &[h]),
        ("fmax", Class::Float, &[v, v]),
        ("clamp", Class::Signed, &[n, n, n]),
        ("fast_clamp", Class::Float, &[x, x, x]),
        ("dot", Class::Float, &[v, v]),
        ("clz", Class::Float, &[n]),
        ("popcount", Class::Float, &[n]),
        ("mul_hi", Class::Unsigned, &[n, n]),
        ("ldexp", Class::Float, &[x, n]),
    ] {
        intrinsics::math(b, name, class, operands)?;
    }
    assert!(intrinsics::math(b, "fast_sqrt", Class::Float, &[h]).is_err());
    assert!(intrinsics::math(b, "sqrt", Class::Float, &[n]).is_err());
    assert!(intrinsics::math(b, "nothing", Class::Float, &[x]).is_err());
    intrinsics::convert(b, n, Class::Signed, float, Class::Float)?;
    intrinsics::convert(b, x, Class::Float, int, Class::Unsigned)?;
    intrinsics::convert(b, lane, Class::Signed, int, Class::Signed)?;
    intrinsics::convert(b, h, Class::Float, float, Class::Float)?;
    intrinsics::simd(b, "sum", Class::Signed, &[n])?;
    intrinsics::simd(b, "shuffle_xor", Class::Float, &[x, lane])?;
    intrinsics::quad(b, "sum", Class::Float, &[x])?;
    intrinsics::simdgroup_barrier(b, generation, MemoryFlags::NONE)?;
    let parameter = |b: &mut unshade_llvm::build::FunctionBuilder<'_>, at| b.parameter(at);
    let (floats, shared) = (parameter(b, 0)?, parameter(b, 3)?);
    intrinsics::atomic(b, AtomicOperation::Add, floats, x, Class::Float)?;
    intrinsics::atomic(b, AtomicOperation::Max, shared, n, Class::Signed)?;
    intrinsics::atomic_load(b, shared)?;
    intrinsics::atomic_store(b, shared, n)?;
    let expected = b.alloca(int)?;
    intrinsics::atomic_compare_exchange(b, shared, expected, n)?;
    let cosine = b.alloca(float)?;
    intrinsics::sincos(b, x, cosine, false)?;
    let (image_handle, target_handle, id) = (parameter(b, 1)?, parameter(b, 2)?, parameter(b, 4)?);
    intrinsics::read(b, image, image_handle, &Place::at(id))?;
    let place = Place { array: Some(n), ..Place::at(id) };
    intrinsics::write(b, target, target_handle, v, &place)?;
    intrinsics::size(b, image, image_handle, "width", None)?;
    assert!(intrinsics::size(b, image, image_handle, "depth", None).is_err());
    assert!(intrinsics::sample(b, image, image_handle, image_handle, &place, Level::Automatic).is_err());
    body.ret_void()?;
    body.finish()?;
    let mut library = LibraryBuilder::new(TARGET)?;
    library.add(shader)?;
    let texts = modules(&library.write()?)?;
    for part in [
        "float @air.fast_sqrt.f32(float)",
        "half @air.sqrt.f16(half)",
        "<4 x float> @air.fmax.v4f32(<4 x float>, <4 x float>)",
        "i32 @air.clamp.s.i32(i32, i32, i32)",
        "float @air.fast_clamp.f32(float, float, float)",
        "float @air.dot.v4f32(<4 x float>, <4 x float>)",
        "i32 @air.clz.i32(i32, i1)",
        "i32 @air.popcount.i32(i32)",
        "i32 @air.mul_hi.u.i32(i32, i32)",
        "float @air.ldexp.f32(float, i32)",
        "float @air.convert.f.f32.s.i32(i32)",
        "i32 @air.convert.u.i32.f.f32(float)",
        "i32 @air.simd_sum.s.i32(i32)",
        "float @air.simd_shuffle_xor.f32(float, i16)",
        "float @air.quad_sum.f32(float)",
        "void @air.simdgroup.barrier(i32, i32)",
        "float @air.atomic.global.add.f32(float addrspace(1)*, float, i32, i32, i1)",
        "i32 @air.atomic.local.max.s.i32(i32 addrspace(3)*, i32, i32, i32, i1)",
        "i32 @air.atomic.local.load.i32(i32 addrspace(3)*, i32, i32, i1)",
        "void @air.atomic.local.store.i32(i32 addrspace(3)*, i32, i32, i32, i1)",
        "i32 @air.atomic.local.cmpxchg.weak.i32(i32 addrspace(3)*, i32*, i32, i32, i32, i32, i1)",
        "float @air.sincos.f32(float, float*)",
        "{ <4 x i32>, i8 } @air.read_texture_2d.u.v4i32(%struct._texture_2d_t addrspace(1)*, <2 x i32>, i32, i32)",
        "void @air.write_texture_2d_array.v4f32(%struct._texture_2d_array_t addrspace(1)*, <2 x i32>, i32, \
         <4 x float>, i32, i32)",
        "i32 @air.get_width_texture_2d(%struct._texture_2d_t addrspace(1)*, i32)",
    ] {
        assert!(texts[0].contains(part), "{part} is not in:\n{}", texts[0]);
    }
    Ok(())
}

/// The names and operands that other writers of AIR give to what no module of Apple's compiler at hand has.
#[test]
fn textures_are_compared_and_gathered() -> Result<()> {
    let image = Texture::sampled(TextureKind::Texture2d, Scalar::Float);
    let depths = Texture::sampled(TextureKind::Depth2dArray, Scalar::Float);
    let cube = Texture::sampled(TextureKind::TextureCube, Scalar::Float);
    let signature = Signature::fragment("f")
        .argument("image", Argument::texture(0, image))
        .argument("depths", Argument::texture(1, depths))
        .argument("cube", Argument::texture(2, cube))
        .argument("s", Argument::sampler(0))
        .argument("at", Argument::fragment_input(MetalType::FLOAT2));
    let mut shader = Shader::new(TARGET, &signature)?;
    let mut body = shader.body()?;
    let b = &mut body;
    let (int, float) = (b.integer(32)?, b.float());
    let [image_handle, depths_handle, cube_handle, s, at] = [0, 1, 2, 3, 4].map(|index| b.parameter(index));
    let (image_handle, depths_handle, cube_handle, s, at) =
        (image_handle?, depths_handle?, cube_handle?, s?, at?);
    let (one, half) = (b.const_int(int, 1)?, b.const_float(float, 0.5)?);
    let (offset, direction) = (b.const_splat(2, one)?, b.const_splat(3, half)?);
    let place = Place { offset: Some(offset), ..Place::at(at) };
    let layer = Place { array: Some(one), ..Place::at(at) };
    intrinsics::sample(b, image, image_handle, s, &place, Level::Gradient(at, at))?;
    intrinsics::sample_compare(b, depths, depths_handle, s, &layer, half, Level::Exact(half))?;
    intrinsics::gather(b, image, image_handle, s, &place, 2)?;
    intrinsics::gather(b, depths, depths_handle, s, &layer, 0)?;
    intrinsics::gather(b, cube, cube_handle, s, &Place::at(direction), 0)?;
    intrinsics::gather_compare(b, depths, depths_handle, s, &layer, half)?;
    intrinsics::size(b, depths, depths_handle, "array_size", None)?;
    intrinsics::size(b, image, image_handle, "num_mip_levels", None)?;
    let shifted = Place { offset: Some(offset), ..Place::at(direction) };
    assert!(intrinsics::gather(b, cube, cube_handle, s, &shifted, 0).is_err());
    assert!(intrinsics::gather_compare(b, image, image_handle, s, &place, half).is_err());
    let gradient = Level::Gradient(at, at);
    assert!(intrinsics::sample_compare(b, depths, depths_handle, s, &layer, half, gradient).is_err());
    assert!(intrinsics::size(b, image, image_handle, "array_size", None).is_err());
    body.ret_void()?;
    body.finish()?;
    let mut library = LibraryBuilder::new(TARGET)?;
    library.add(shader)?;
    let texts = modules(&library.write()?)?;
    for part in [
        "@air.sample_texture_2d_grad.v4f32(%struct._texture_2d_t addrspace(1)*, %struct._sampler_t addrspace(2)*, \
         <2 x float>, <2 x float>, <2 x float>, float, i1, <2 x i32>, i32)",
        "{ float, i8 } @air.sample_compare_depth_2d_array.f32(%struct._depth_2d_array_t addrspace(1)*, \
         %struct._sampler_t addrspace(2)*, i32, <2 x float>, i32, float, i1, <2 x i32>, i1, float, float, i32)",
        "@air.gather_texture_2d.v4f32(%struct._texture_2d_t addrspace(1)*, %struct._sampler_t addrspace(2)*, \
         <2 x float>, i1, <2 x i32>, i32, i32)",
        "{ <4 x float>, i8 } @air.gather_depth_2d_array.v4f32(%struct._depth_2d_array_t addrspace(1)*, \
         %struct._sampler_t addrspace(2)*, i32, <2 x float>, i32, i1, <2 x i32>, i32)",
        "@air.gather_texture_cube.v4f32(%struct._texture_cube_t addrspace(1)*, %struct._sampler_t addrspace(2)*, \
         <3 x float>, i32, i32)",
        "{ <4 x float>, i8 } @air.gather_compare_depth_2d_array.f32(%struct._depth_2d_array_t addrspace(1)*, \
         %struct._sampler_t addrspace(2)*, i32, <2 x float>, i32, float, i1, <2 x i32>, i32)",
        "i32 @air.get_array_size_depth_2d_array(%struct._depth_2d_array_t addrspace(1)*)",
        "i32 @air.get_num_mip_levels_texture_2d(%struct._texture_2d_t addrspace(1)*)",
    ] {
        assert!(texts[0].contains(part), "{part} is not in:\n{}", texts[0]);
    }
    Ok(())
}

#[test]
fn signatures_that_make_no_sense_are_refused() {
    let refused = |signature: &Signature| Shader::new(TARGET, signature).unwrap_err().to_string();
    let vertex_id = Argument::builtin(Builtin::VertexId, MetalType::UINT);
    assert!(refused(&Signature::kernel("f").argument("id", vertex_id)).contains("stage"));
    let buffer = || Argument::device(0, MetalType::FLOAT, Access::Read);
    assert!(
        refused(&Signature::kernel("f").argument("a", buffer()).argument("b", buffer())).contains("taken")
    );
    let mut library = LibraryBuilder::new(TARGET).expect("a library");
    let shader = Shader::new(TARGET, &Signature::kernel("f")).expect("a shader");
    assert!(library.add(shader).unwrap_err().to_string().contains("no body"));
    let old = Target { platform: Platform::MACOS, os: (10, 15, 0) };
    assert!(Shader::new(old, &Signature::kernel("f")).is_err());
}
