//! Tests with programs of our own, as LLVM assembly.

use super::{DxilModule, ShaderProgram, function, options};
use crate::hlsl::{self, Hlsl};
use unshade_llvm::Module;
use unshade_llvm::assemble::{AssembleOptions, assemble};
use unshade_llvm::write::{Version, WriteOptions};

/// What all programs here declare.
const TYPES: &str = r#"
target datalayout = "e-m:e-p:32:32-i1:32-i8:32-i16:32-i32:32-i64:64-f16:32-f32:32-f64:64-n8:16:32:64"
target triple = "dxil-ms-dx"
%dx.types.Handle = type { i8* }
%dx.types.ResRet.i32 = type { i32, i32, i32, i32, i32 }
%dx.types.ResRet.f32 = type { float, float, float, float, i32 }
declare %dx.types.Handle @dx.op.createHandle(i32, i8, i32, i32, i1)
declare %dx.types.ResRet.i32 @dx.op.bufferLoad.i32(i32, %dx.types.Handle, i32, i32)
declare %dx.types.ResRet.f32 @dx.op.rawBufferLoad.f32(i32, %dx.types.Handle, i32, i32, i8, i32)
declare void @dx.op.bufferStore.i32(i32, %dx.types.Handle, i32, i32, i32, i32, i32, i32, i8)
declare i1 @dx.op.checkAccessFullyMapped.i32(i32, i32)
!dx.version = !{!0}
!dx.shaderModel = !{!1}
"#;

/// The metadata of a library without entry points.
pub(super) const LIBRARY: &str = r#"
!dx.entryPoints = !{!2}
!0 = !{i32 1, i32 3}
!1 = !{!"lib", i32 6, i32 3}
!2 = !{null, !"", null, null, null}
"#;

/// Returns a compute shader of one thread. Metadata node 5 of `code` is its unordered access view.
pub(super) fn compute(minor: u32, code: &str) -> String {
    format!(
        r#"{code}
!dx.entryPoints = !{{!2}}
!dx.resources = !{{!3}}
!0 = !{{i32 1, i32 {minor}}}
!1 = !{{!"cs", i32 6, i32 {minor}}}
!2 = !{{void ()* @main, !"main", null, !3, !7}}
!3 = !{{null, !4, null, null}}
!4 = !{{!5}}
!7 = !{{i32 4, !8}}
!8 = !{{i32 1, i32 1, i32 1}}
"#
    )
}

/// Returns the program of a module, whose metadata nodes 0 and 1 are the version of DXIL and the shader model.
pub(super) fn lifted(text: &str) -> ShaderProgram {
    let assembled = assemble(format!("{TYPES}{text}").as_bytes(), &AssembleOptions::default()).unwrap();
    let options = WriteOptions { version: Version::Dxc, ..WriteOptions::default() };
    let bytes = unshade_llvm::write::module(&assembled.input(), &options).unwrap();
    let module = Module::parse(&bytes, 0).unwrap();
    let dxil = DxilModule::read(&module, 0);
    let mut program = function::lift_all(&module, &dxil, None, true);
    options::add(&module, &dxil, &mut program);
    program
}

pub(super) fn printed(text: &str) -> Hlsl {
    let hlsl = hlsl::print(lifted(text));
    assert_eq!(hlsl.unknown, Vec::<String>::new(), "{}", hlsl.text());
    hlsl
}

/// Checks that a text has some lines.
pub(super) fn has(hlsl: &Hlsl, lines: &[&str]) {
    let found = hlsl.text();
    for line in lines {
        assert!(found.lines().any(|one| one.trim() == *line), "no {line:?} in\n{found}");
    }
}

/// A compute shader that adds 1 to numbers of 64 bits in a typed buffer.
const WIDE: &str = r#"
%"class.RWBuffer<unsigned long long>" = type { i64 }
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 1, i32 0, i32 0, i1 false)
  %load = call %dx.types.ResRet.i32 @dx.op.bufferLoad.i32(i32 68, %dx.types.Handle %h, i32 3, i32 undef)
  %low = extractvalue %dx.types.ResRet.i32 %load, 0
  %high = extractvalue %dx.types.ResRet.i32 %load, 1
  call void @dx.op.bufferStore.i32(i32 69, %dx.types.Handle %h, i32 4, i32 undef, i32 %low, i32 %high, i32 %low, i32 %high, i8 15)
  ret void
}
!5 = !{i32 0, %"class.RWBuffer<unsigned long long>"* undef, !"", i32 0, i32 0, i32 1, i32 10, i1 false, i1 false, i1 false, !6}
!6 = !{i32 0, i32 5}
"#;

#[test]
fn numbers_of_64_bits_are_stored_whole() {
    has(&printed(&compute(0, WIDE)), &["RWBuffer<uint64_t> u0 : register(u0);", "u0[4] = u0[3];"]);
}

#[test]
fn properties_of_resources_are_kept() {
    let reordered = WIDE.replace("!6 = !{i32 0, i32 5}", "!6 = !{i32 0, i32 5, i32 4, i1 true}");
    has(&printed(&compute(0, &reordered)), &["reordercoherent RWBuffer<uint64_t> u0 : register(u0);"]);
    let normalized = WIDE
        .replace("!6 = !{i32 0, i32 5}", "!6 = !{i32 0, i32 14}")
        .replace("type { i64 }", "type { <4 x float> }");
    has(&printed(&compute(0, &normalized)), &["RWBuffer<unorm float4> u0 : register(u0);"]);
}

#[test]
fn options_are_those_that_the_module_keeps() {
    let text = compute(0, WIDE).replace("define void @main() {", "define void @main() #0 {")
        + "attributes #0 = { \"fp32-denorm-mode\"=\"ftz\" }\n";
    let hlsl =
        printed(&text.replace("!{i32 4, !8}", "!{i32 0, i64 8388608, i32 4, !8, i32 5, !9}\n!9 = !{i32 7}"));
    assert_eq!(hlsl.options, ["-enable-16bit-types", "-denorm", "ftz", "-auto-binding-space", "7"]);
    has(&hlsl, &["// options: -enable-16bit-types -denorm ftz -auto-binding-space 7"]);
}

/// A pixel shader that reads two members of an element at once.
const STATUS: &str = r#"
%struct.Pair = type { float, float }
%"class.StructuredBuffer<Pair>" = type { %struct.Pair }
declare void @dx.op.storeOutput.f32(i32, i32, i32, i8, float)
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 0, i32 0, i32 0, i1 false)
  %load = call %dx.types.ResRet.f32 @dx.op.rawBufferLoad.f32(i32 139, %dx.types.Handle %h, i32 3, i32 0, i8 3, i32 4)
  %a = extractvalue %dx.types.ResRet.f32 %load, 0
  %b = extractvalue %dx.types.ResRet.f32 %load, 1
  %s = extractvalue %dx.types.ResRet.f32 %load, 4
  %ok = call i1 @dx.op.checkAccessFullyMapped.i32(i32 71, i32 %s)
  %n = uitofp i1 %ok to float
  %sum = fadd float %a, %b
  %all = fadd float %sum, %n
  call void @dx.op.storeOutput.f32(i32 5, i32 0, i32 0, i8 0, float %all)
  ret void
}
!dx.entryPoints = !{!2}
!dx.resources = !{!3}
!0 = !{i32 1, i32 2}
!1 = !{!"ps", i32 6, i32 2}
!2 = !{void ()* @main, !"main", !7, !3, null}
!3 = !{!4, null, null, null}
!4 = !{!5}
!5 = !{i32 0, %"class.StructuredBuffer<Pair>"* undef, !"", i32 0, i32 0, i32 1, i32 12, i32 0, !6}
!6 = !{i32 1, i32 8}
!7 = !{null, !8, null}
!8 = !{!9}
!9 = !{i32 0, !"SV_Target", i8 9, i8 16, !10, i8 0, i32 1, i8 1, i32 0, i8 0, null}
!10 = !{i32 0}
"#;

#[test]
fn loads_of_elements_have_a_status() {
    let text = printed(STATUS).text();
    assert!(text.contains("t0.Load(3, status).m0"), "{text}");
    assert!(text.contains("CheckAccessFullyMapped(status)"), "{text}");
}

/// A library with two static variables: one is initialised with a number, the other with code.
const STATIC: &str = r#"
@x = internal global float undef
@y = internal global [2 x float] [float 1.000000e+00, float 2.000000e+00]
@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 65535, void ()* @construct, i8* null }]
define internal void @construct() {
  %p = getelementptr [2 x float], [2 x float]* @y, i32 0, i32 1
  %n = load float, float* %p
  store float %n, float* @x
  ret void
}
define float @"\01?f@@YAMXZ"() {
  %n = load float, float* @x
  ret float %n
}
"#;

#[test]
fn static_variables_have_initial_values() {
    let hlsl = printed(&[STATIC, LIBRARY].concat());
    has(
        &hlsl,
        &[
            "static float x;",
            "static float y[2] = { 1.0, 2.0 };",
            "int construct()",
            "x = y[1];",
            "return 0;",
            "static int constructed = construct();",
            "export float f()",
            "return x;",
        ],
    );
    assert!(!hlsl.text().contains("float x;\n    "), "{}", hlsl.text());
}

#[test]
fn constructors_with_other_effects_are_named() {
    let text = STATIC.replace("store float %n, float* @x", "call void @dx.op.barrier(i32 80, i32 2)")
        + "declare void @dx.op.barrier(i32, i32)\n"
        + LIBRARY;
    let hlsl = hlsl::print(lifted(&text));
    assert_eq!(hlsl.unknown, ["that construct computes initial values"]);
}

/// A library with the payload of a ray.
const PAYLOAD: &str = r#"
%struct.Payload = type { float, float }
define void @"\01?miss@@YAXUPayload@@@Z"(%struct.Payload* noalias nocapture %p) {
  ret void
}
!dx.entryPoints = !{!2, !3}
!dx.dxrPayloadAnnotations = !{!5}
!0 = !{i32 1, i32 6}
!1 = !{!"lib", i32 6, i32 6}
!2 = !{null, !"", null, null, null}
!3 = !{void (%struct.Payload*)* @"\01?miss@@YAXUPayload@@@Z", !"\01?miss@@YAXUPayload@@@Z", null, null, !4}
!4 = !{i32 8, i32 11, i32 6, i32 8}
!5 = !{i32 0, %struct.Payload undef, !6}
!6 = !{!7, !8}
!7 = !{i32 0, i32 33}
!8 = !{i32 0, i32 8706}
"#;

#[test]
fn payloads_say_who_accesses_their_members() {
    let hlsl = printed(PAYLOAD);
    has(
        &hlsl,
        &[
            "struct [raypayload] Payload",
            "float m0 : read(caller) : write(closesthit);",
            "float m4 : read() : write(caller, miss, anyhit);",
        ],
    );
    assert_eq!(hlsl.options, ["-enable-payload-qualifiers"]);
}

/// A geometry shader of patches.
const PATCHES: &str = r#"
declare void @dx.op.cutStream(i32, i8)
define void @main() {
  call void @dx.op.cutStream(i32 98, i8 0)
  ret void
}
!dx.entryPoints = !{!2}
!0 = !{i32 1, i32 0}
!1 = !{!"gs", i32 6, i32 0}
!2 = !{void ()* @main, !"main", !3, null, !4}
!3 = !{!6, null, null}
!4 = !{i32 1, !5}
!5 = !{i32 9, i32 3, i32 1, i32 1, i32 1}
!6 = !{!7}
!7 = !{i32 0, !"A", i8 9, i8 0, !8, i8 2, i32 1, i8 1, i32 0, i8 0, null}
!8 = !{i32 0}
"#;

#[test]
fn geometry_shaders_may_read_patches() {
    let text = printed(PATCHES).text();
    assert!(text.contains("void main(InputPatch<Vertex, 2> input, inout PointStream<"), "{text}");
    let undefined = hlsl::print(lifted(&PATCHES.replace("!{i32 9, i32 3,", "!{i32 0, i32 3,")));
    assert_eq!(undefined.unknown, ["the kind of the primitives that come in"]);
}

#[test]
fn attributes_of_functions_are_kept_or_named() {
    let text = compute(0, WIDE).replace("define void @main() {", "define void @main() #0 {")
        + "attributes #0 = { \"waveops-include-helper-lanes\" \"exp-foo\"=\"bar\" }\n";
    let hlsl = hlsl::print(lifted(&text));
    has(&hlsl, &["[WaveOpsIncludeHelperLanes]", "// not in this text: the attribute exp-foo of a function"]);
    assert_eq!(hlsl.unknown, ["the attribute exp-foo of a function"]);
}

#[test]
fn members_of_constant_buffers_keep_their_offsets() {
    const BUFFER: &str = r#"
%struct.Pair = type { <2 x float>, float }
%Constants = type { %struct.Pair }
%dx.types.CBufRet.f32 = type { float, float, float, float }
declare %dx.types.CBufRet.f32 @dx.op.cbufferLoadLegacy.f32(i32, %dx.types.Handle, i32)
declare void @dx.op.storeOutput.f32(i32, i32, i32, i8, float)
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 2, i32 0, i32 0, i1 false)
  %row = call %dx.types.CBufRet.f32 @dx.op.cbufferLoadLegacy.f32(i32 59, %dx.types.Handle %h, i32 1)
  %n = extractvalue %dx.types.CBufRet.f32 %row, 0
  call void @dx.op.storeOutput.f32(i32 5, i32 0, i32 0, i8 0, float %n)
  ret void
}
!dx.entryPoints = !{!2}
!dx.resources = !{!3}
!dx.typeAnnotations = !{!11}
!0 = !{i32 1, i32 0}
!1 = !{!"ps", i32 6, i32 0}
!2 = !{void ()* @main, !"main", !7, !3, null}
!3 = !{null, null, !4, null}
!4 = !{!5}
!5 = !{i32 0, %Constants* undef, !"", i32 0, i32 0, i32 1, i32 20, null}
!7 = !{null, !8, null}
!8 = !{!9}
!9 = !{i32 0, !"SV_Target", i8 9, i8 16, !10, i8 0, i32 1, i8 1, i32 0, i8 0, null}
!10 = !{i32 0}
!11 = !{i32 0, %struct.Pair undef, !12, %Constants undef, !15}
!12 = !{i32 20, !13, !14}
!13 = !{i32 6, !"a", i32 3, i32 0, i32 7, i32 9}
!14 = !{i32 6, !"b", i32 3, i32 16, i32 7, i32 9}
!15 = !{i32 20, !16}
!16 = !{i32 6, !"pair", i32 3, i32 0}
"#;
    let hlsl = printed(BUFFER);
    has(&hlsl, &["float2 a;", "uint gap8;", "uint gap12;", "float b;", "Pair pair;", "return pair.b;"]);
}

/// A pixel shader that adds floats of a byte address buffer over the wave, and counts in another.
const WAVE: &str = r#"
%struct.RWByteAddressBuffer = type { i32 }
declare float @dx.op.waveActiveOp.f32(i32, float, i8, i8)
declare i32 @dx.op.atomicBinOp.i32(i32, %dx.types.Handle, i32, i32, i32, i32, i32)
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 1, i32 0, i32 0, i1 false)
  %load = call %dx.types.ResRet.i32 @dx.op.bufferLoad.i32(i32 68, %dx.types.Handle %h, i32 0, i32 undef)
  %bits = extractvalue %dx.types.ResRet.i32 %load, 0
  %number = bitcast i32 %bits to float
  %sum = call float @dx.op.waveActiveOp.f32(i32 119, float %number, i8 0, i8 0)
  %back = bitcast float %sum to i32
  call void @dx.op.bufferStore.i32(i32 69, %dx.types.Handle %h, i32 4, i32 undef, i32 %back, i32 undef, i32 undef, i32 undef, i8 1)
  %old = call i32 @dx.op.atomicBinOp.i32(i32 78, %dx.types.Handle %h, i32 8, i32 8, i32 undef, i32 undef, i32 7)
  %float = bitcast i32 %old to float
  %more = fadd float %float, 1.000000e+00
  %stored = bitcast float %more to i32
  call void @dx.op.bufferStore.i32(i32 69, %dx.types.Handle %h, i32 12, i32 undef, i32 %stored, i32 undef, i32 undef, i32 undef, i8 1)
  %least = call i32 @dx.op.atomicBinOp.i32(i32 78, %dx.types.Handle %h, i32 4, i32 16, i32 undef, i32 undef, i32 1)
  ret void
}
!5 = !{i32 0, %struct.RWByteAddressBuffer* undef, !"", i32 0, i32 0, i32 1, i32 11, i1 false, i1 false, i1 false, null}
"#;

#[test]
fn reductions_of_floats_are_of_floats_whatever_gives_the_bits() {
    let text = printed(&compute(0, WAVE)).text();
    assert!(text.contains("u0.Store(4, asuint(WaveActiveSum(asfloat(v0))));"), "{text}");
}

#[test]
fn earlier_values_of_atomics_are_bits() {
    has(
        &printed(&compute(0, WAVE)),
        &["uint original;", "u0.InterlockedExchange(8, 7, original);", "u0.InterlockedMin(16, (int)1);"],
    );
    let text = printed(&compute(0, WAVE)).text();
    assert!(text.contains("float v1 = asfloat(original);"), "{text}");
}

/// A compute shader with a shared array, whose name says that its numbers are unsigned.
const SHARED: &str = r#"
@"\01?least@@3PA_KA" = external addrspace(3) global [2 x i64], align 8
define void @main() {
  %old = atomicrmw umin i64 addrspace(3)* getelementptr inbounds ([2 x i64], [2 x i64] addrspace(3)* @"\01?least@@3PA_KA", i32 0, i32 1), i64 5 seq_cst
  ret void
}
!dx.entryPoints = !{!2}
!0 = !{i32 1, i32 6}
!1 = !{!"cs", i32 6, i32 6}
!2 = !{void ()* @main, !"main", null, null, !6}
!6 = !{i32 4, !7}
!7 = !{i32 1, i32 1, i32 1}
"#;

#[test]
fn the_smallest_number_depends_on_the_sign() {
    has(&printed(SHARED), &["groupshared uint64_t least[2];", "InterlockedMin(least[1], 5);"]);
    // Without types in the names, the operation says it.
    let unnamed = SHARED.replace("\\01?least@@3PA_KA", "least");
    has(&printed(&unnamed), &["groupshared uint64_t least[2];"]);
}

/// A library function of truths.
const TRUTHS: &str = r#"
define float @"\01?f@@YAMMM@Z"(float %a, float %b) {
  %x = fcmp olt float %a, 1.000000e+00
  %y = fcmp olt float %b, 2.000000e+00
  %less = icmp slt i1 %x, %y
  %n = sitofp i1 %less to float
  ret float %n
}
"#;

#[test]
fn a_truth_is_minus_one_as_a_signed_number() {
    has(
        &printed(&[TRUTHS, LIBRARY].concat()),
        &["return (float)(argument1 < 2.0 < (argument0 < 1.0) ? -1 : 0);"],
    );
}
