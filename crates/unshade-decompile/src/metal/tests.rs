//! Tests with modules of our own, as LLVM assembly.

use super::{Metal, print};
use crate::air;
use unshade_llvm::Module;
use unshade_llvm::assemble::{AssembleOptions, assemble};
use unshade_llvm::write::{Version, WriteOptions};

/// What all modules here declare.
const HEAD: &str = r#"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v96:128:128-n8:16:32"
target triple = "air64-apple-macosx14.0.0"
!air.version = !{!0}
!air.language_version = !{!1}
!0 = !{i32 2, i32 6, i32 0}
!1 = !{!"Metal", i32 3, i32 1, i32 0}
"#;

/// A buffer of floats that is read, one that is written, and the position of the thread: nodes 10 to 12.
const ARGUMENTS: &str = r#"
!10 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"in"}
!11 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
!12 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"index"}
!air.kernel = !{!5}
!5 = !{void (float addrspace(1)*, float addrspace(1)*, i32)* @f, !6, !7}
!6 = !{}
!7 = !{!10, !11, !12}
"#;

fn decompile(code: &str) -> Metal {
    let text = format!("{HEAD}{code}");
    let assembled = assemble(text.as_bytes(), &AssembleOptions::default()).expect("it is sound");
    let options = WriteOptions { version: Version::Llvm14, ..WriteOptions::default() };
    let bytes = unshade_llvm::write::module(&assembled.input(), &options).expect("it is written");
    print(air::lift(&Module::parse(&bytes, 0).expect("it is read")))
}

/// Returns the body of the only function.
fn body(code: &str) -> String {
    let metal = decompile(code);
    assert!(metal.unknown.is_empty(), "{:?}", metal.unknown);
    let text = metal.text();
    let start = text.find("\n{\n").expect("there is a body");
    text[start + 1..].trim_end().to_owned()
}

fn kernel(code: &str) -> String {
    format!(
        "define void @f(float addrspace(1)* %in, float addrspace(1)* %out, i32 %index) {{\n{code}\n}}\n{ARGUMENTS}"
    )
}

/// Returns a kernel that reads a variable, which an initialiser sets to what it computes from the function constant `%byte`.
fn with_function_constant(variable: &str, computation: &str, stored: &str) -> String {
    let code = kernel(&format!(
        "  %byte = load i8, i8 addrspace(2)* @{variable}
  %is = icmp ne i8 %byte, 0
  %number = select i1 %is, float 1.0, float 2.0
  store float %number, float addrspace(1)* %out
  ret void"
    ));
    format!(
        r#"
@_Z3add.MTL_FC_INIT_7_b = external addrspace(2) constant i8, section "air.fc_initializer"
@{variable} = internal addrspace(2) global i8 0
define internal void @init() section "air.static_init" {{
  %byte = load i8, i8 addrspace(2)* @_Z3add.MTL_FC_INIT_7_b
  {computation}
  store i8 {stored}, i8 addrspace(2)* @{variable}
  ret void
}}
!air.function_constants = !{{!20}}
!20 = !{{i8 addrspace(2)* @_Z3add.MTL_FC_INIT_7_b, !"bool", !"add", i32 7, i1 true}}
{code}"#
    )
}

#[test]
fn arguments_have_names_and_attributes() {
    let text = decompile(&kernel(
        "  %wide = zext i32 %index to i64
  %from = getelementptr inbounds float, float addrspace(1)* %in, i64 %wide
  %number = load float, float addrspace(1)* %from
  %twice = fadd float %number, %number
  %to = getelementptr inbounds float, float addrspace(1)* %out, i64 %wide
  store float %twice, float addrspace(1)* %to
  ret void",
    ));
    let expected = "#include <metal_stdlib>

using namespace metal;

kernel void f(
    const device float* in [[buffer(0)]],
    device float* out [[buffer(1)]],
    uint index [[thread_position_in_grid]])
{
    float v0 = in[index];
    out[index] = v0 + v0;
}
";
    assert_eq!(text.text(), expected);
}

#[test]
fn loops_count() {
    let text = body(&kernel(
        "  %some = icmp sgt i32 %index, 0
  br i1 %some, label %loop, label %end
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi float [ 0.0, %0 ], [ %more, %loop ]
  %wide = zext i32 %i to i64
  %from = getelementptr inbounds float, float addrspace(1)* %in, i64 %wide
  %number = load float, float addrspace(1)* %from
  %more = fadd float %sum, %number
  %next = add nuw nsw i32 %i, 1
  %done = icmp eq i32 %next, %index
  br i1 %done, label %end, label %loop
end:
  %total = phi float [ 0.0, %0 ], [ %more, %loop ]
  store float %total, float addrspace(1)* %out
  ret void",
    ));
    assert!(text.contains("for (int i = 0; i < int(index); i++)"), "{text}");
    assert!(text.contains("out[0] = "), "{text}");
}

#[test]
fn narrow_integers_keep_their_width() {
    let text = body(&kernel(
        "  %byte = trunc i32 %index to i8
  %sum = add i8 %byte, 100
  %wide = zext i8 %sum to i32
  %number = uitofp i32 %wide to float
  store float %number, float addrspace(1)* %out
  ret void",
    ));
    assert!(text.contains("out[0] = float(uint(uchar(uchar(index) + 100)));"), "{text}");
}

#[test]
fn operations_have_their_names() {
    let code = kernel(
        "  %number = load float, float addrspace(1)* %in
  %power = call float @air.fast_pow.f32(float %number, float 2.0)
  %sum = call float @air.simd_sum.f32(float %power)
  %product = call float @llvm.fmuladd.f32(float %sum, float %number, float 1.0)
  call void @air.wg.barrier(i32 2, i32 1)
  store float %product, float addrspace(1)* %out
  ret void",
    );
    let declared = "declare float @air.fast_pow.f32(float, float)\ndeclare float @air.simd_sum.f32(float)
declare float @llvm.fmuladd.f32(float, float, float)\ndeclare void @air.wg.barrier(i32, i32)\n";
    let text = body(&format!("{declared}{code}"));
    assert!(text.contains("simd_sum(fast::pow(v0, 2.0f))"), "{text}");
    assert!(text.contains("threadgroup_barrier(mem_flags::mem_threadgroup);"), "{text}");
    assert!(text.contains(" * v0 + 1.0f;"), "{text}");
}

#[test]
fn vectors_are_put_together() {
    let text = body(&kernel(
        "  %wide = bitcast float addrspace(1)* %in to <4 x float> addrspace(1)*
  %all = load <4 x float>, <4 x float> addrspace(1)* %wide
  %swapped = shufflevector <4 x float> %all, <4 x float> poison, <2 x i32> <i32 1, i32 0>
  %first = insertelement <4 x float> undef, float 1.0, i64 0
  %second = insertelement <4 x float> %first, float 2.0, i64 1
  %low = shufflevector <2 x float> %swapped, <2 x float> poison, <4 x i32> <i32 0, i32 1, i32 undef, i32 undef>
  %both = shufflevector <4 x float> %second, <4 x float> %low, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %target = bitcast float addrspace(1)* %out to <4 x float> addrspace(1)*
  store <4 x float> %both, <4 x float> addrspace(1)* %target
  ret void",
    ));
    assert!(text.contains("float4(1.0f, 2.0f, (*(const device float4*)in).yx)"), "{text}");
}

#[test]
fn threadgroup_variables_have_the_names_of_their_symbols() {
    let code = kernel(
        "  %wide = zext i32 %index to i64
  %place = getelementptr [8 x float], [8 x float] addrspace(3)* @_ZZ1fE6shared, i64 0, i64 %wide
  store float 1.0, float addrspace(3)* %place
  ret void",
    );
    let text = body(&format!("@_ZZ1fE6shared = internal addrspace(3) global [8 x float] undef\n{code}"));
    assert!(text.contains("threadgroup float shared[8];"), "{text}");
    assert!(text.contains("shared[index] = 1.0f;"), "{text}");
}

#[test]
fn function_constants_are_declared() {
    let code = with_function_constant("_ZL3add", "", "%byte");
    let text = decompile(&code).text();
    assert!(text.contains("constant bool add [[function_constant(7)]];"), "{text}");
    assert!(text.contains("out[0] = add ? 1.0f : 2.0f;"), "{text}");
}

#[test]
fn unknown_functions_are_counted() {
    let code = kernel("  call void @air.no_such_function()\n  ret void");
    let metal = decompile(&format!("declare void @air.no_such_function()\n{code}"));
    assert_eq!(metal.unknown, ["the function air.no_such_function"]);
    let declared = "void air_no_such_function() __asm(\"air.no_such_function\");";
    assert!(metal.text().contains(declared), "{}", metal.text());
}

#[test]
fn helpers_are_functions() {
    let code = kernel(
        "  %number = call float @_ZL5twicef(float 3.0)
  store float %number, float addrspace(1)* %out
  ret void",
    );
    let helper =
        "define internal float @_ZL5twicef(float %x) {\n  %sum = fadd float %x, %x\n  ret float %sum\n}\n";
    let text = decompile(&format!("{helper}{code}")).text();
    assert!(text.contains("float twice(float a0)\n{\n    return a0 + a0;\n}"), "{text}");
    assert!(text.contains("= twice(3.0f);"), "{text}");
}

#[test]
fn variables_that_may_be_unset_start_with_zeros() {
    let text = body(&kernel(
        "  switch i32 %index, label %end [
    i32 0, label %one
    i32 1, label %two
  ]
one:
  br label %end
two:
  br label %end
end:
  %number = phi float [ undef, %0 ], [ 1.0, %one ], [ 2.0, %two ]
  store float %number, float addrspace(1)* %out
  ret void",
    ));
    assert!(text.contains(" = 0.0f;"), "{text}");
}

#[test]
fn memory_of_two_types_may_be_shared() {
    let text = body(&kernel(
        "  %bits = bitcast float addrspace(1)* %out to i32 addrspace(1)*
  store i32 %index, i32 addrspace(1)* %bits
  ret void",
    ));
    assert!(text.contains("*(device uint_alias*)out = index;"), "{text}");
}

#[test]
fn entry_points_keep_their_names_for_pipelines() {
    let code = kernel("  ret void").replace("@f", "@max");
    let text = decompile(&code).text();
    assert!(text.contains("[[host_name(\"max\")]]\nkernel void max_2("), "{text}");
}

#[test]
fn signed_bits_are_negative() {
    let text = body(&kernel(
        "  %set = icmp ugt i32 %index, 3
  %all = sext i1 %set to i32
  %number = sitofp i1 %set to float
  %other = sitofp i32 %all to float
  %sum = fadd float %number, %other
  store float %sum, float addrspace(1)* %out
  ret void",
    ));
    assert!(text.contains("-float(v0)"), "{text}");
    assert!(text.contains("-int(v0)"), "{text}");
}

#[test]
fn offsets_that_begin_with_a_number_keep_its_sign() {
    let text = body(&kernel(
        "  %wide = zext i32 %index to i64
  %before = getelementptr inbounds float, float addrspace(1)* %in, i64 -2
  %from = getelementptr inbounds float, float addrspace(1)* %before, i64 %wide
  %number = load float, float addrspace(1)* %from
  store float %number, float addrspace(1)* %out
  ret void",
    ));
    assert!(text.contains("in[long(index) - 2]"), "{text}");
}

#[test]
fn pointers_in_variables_are_set_to_what_computes_them() {
    let text = body(&kernel(
        "  %all = alloca [4 x float]
  %first = getelementptr [4 x float], [4 x float]* %all, i64 0, i64 1
  %last = getelementptr [4 x float], [4 x float]* %all, i64 0, i64 3
  br label %loop
loop:
  %at = phi float* [ %first, %0 ], [ %next, %loop ]
  store float 0.0, float* %at
  %next = getelementptr float, float* %at, i64 1
  %done = icmp eq float* %next, %last
  br i1 %done, label %end, label %loop
end:
  ret void",
    ));
    assert!(text.contains("thread float* v0 = &all[1];"), "{text}");
}

#[test]
fn memory_of_a_size_that_is_computed_is_allocated() {
    let code = kernel(
        "  %bytes = alloca i8, i32 %index
  call void @use(i8* %bytes)
  ret void",
    );
    let metal = decompile(&format!("{code}\ndeclare void @use(i8*)"));
    let text = metal.text();
    assert!(metal.unknown.is_empty(), "{:?}", metal.unknown);
    assert!(text.contains("(thread uchar*)__builtin_alloca(index)"), "{text}");
    // A function of another module has its symbol.
    assert!(text.contains("extern \"C\" void use("), "{text}");
}

#[test]
fn pointers_to_rows_and_to_pointers_have_their_types() {
    let code = "define internal float @rows([4 x float]* %all, float addrspace(1)** %way, i64 %i) noinline {
  %at = getelementptr [4 x float], [4 x float]* %all, i64 %i, i64 2
  %row = load float, float* %at
  %to = load float addrspace(1)*, float addrspace(1)** %way
  %other = load float, float addrspace(1)* %to
  %sum = fadd float %row, %other
  ret float %sum
}
";
    let text = decompile(code).text();
    assert!(text.contains("const thread float (*a0)[4]"), "{text}");
    assert!(text.contains("device float* const thread* a1"), "{text}");
    assert!(text.contains("a0[a2][2]"), "{text}");
}

#[test]
fn functions_that_call_each_other_are_declared_first() {
    let code = "define internal i32 @even(i32 %n) noinline {
  %r = call i32 @odd(i32 %n)
  ret i32 %r
}
define internal i32 @odd(i32 %n) noinline {
  %r = call i32 @even(i32 %n)
  ret i32 %r
}
";
    let text = decompile(code).text();
    let declared = text.find("(uint a);").expect("one is declared");
    assert!(declared < text.find("\n{\n").expect("there are bodies"), "{text}");
}

#[test]
fn vectors_of_eight_lanes_are_declared() {
    let text = decompile(&kernel(
        "  %room = alloca <8 x float>
  store <8 x float> zeroinitializer, <8 x float>* %room
  %at = bitcast <8 x float>* %room to float*
  %number = load float, float* %at
  store float %number, float addrspace(1)* %out
  ret void",
    ));
    let text = text.text();
    assert!(text.contains("typedef float vector_float_8 __attribute__((ext_vector_type(8)));"), "{text}");
}

#[test]
fn members_of_vertices_of_meshes_are_set_together() {
    let code = r#"%struct._mesh_t = type opaque
define void @m(%struct._mesh_t addrspace(7)* %mesh, i32 %i) {
  call void @air.set_primitive_count_mesh(%struct._mesh_t addrspace(7)* %mesh, i32 1)
  call void @air.set_position_mesh(%struct._mesh_t addrspace(7)* %mesh, i32 %i, <4 x float> zeroinitializer)
  call void @air.set_vertex_data_mesh.f32(%struct._mesh_t addrspace(7)* %mesh, i32 0, i32 %i, float 2.0)
  call void @air.set_index_mesh(%struct._mesh_t addrspace(7)* %mesh, i32 0, i8 1)
  ret void
}
declare void @air.set_primitive_count_mesh(%struct._mesh_t addrspace(7)*, i32)
declare void @air.set_position_mesh(%struct._mesh_t addrspace(7)*, i32, <4 x float>)
declare void @air.set_vertex_data_mesh.f32(%struct._mesh_t addrspace(7)*, i32, i32, float)
declare void @air.set_index_mesh(%struct._mesh_t addrspace(7)*, i32, i8)
!air.mesh = !{!5}
!5 = !{void (%struct._mesh_t addrspace(7)*, i32)* @m, !6, !7}
!6 = !{}
!7 = !{!8, !13}
!8 = !{i32 0, !"air.mesh", !9, !"air.arg_type_name", !"mesh<Point, void, 3, 1, triangle>", !"air.arg_name", !"out"}
!9 = !{!"air.mesh_type_info", !10, !6, i32 3, i32 1, !"air.triangle"}
!10 = !{!11, !12}
!11 = !{!"air.position", !"air.arg_type_name", !"float4", !"air.arg_name", !"position"}
!12 = !{!"air.vertex_output", !"user(locn0)", !"air.arg_type_name", !"float", !"air.arg_name", !"weight"}
!13 = !{i32 1, !"air.thread_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"i"}
"#;
    let metal = decompile(code);
    let text = metal.text();
    assert!(metal.unknown.is_empty(), "{:?}", metal.unknown);
    assert!(
        text.contains(
            "struct Point\n{\n    float4 position [[position]];\n    float weight [[user(locn0)]];\n};"
        ),
        "{text}"
    );
    assert!(text.contains("mesh<Point, void, 3, 1, topology::triangle> out"), "{text}");
    assert!(text.contains("    out.set_primitive_count(1);\n    out.set_vertex(i, Point{float4(0.0f), 2.0f});\n    out.set_index(0, 1);"), "{text}");
}

#[test]
fn matrices_have_a_distance_of_rows() {
    let code = kernel(
        "  %m = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(float addrspace(1)* %in, <2 x i64> <i64 24, i64 8>, <2 x i64> <i64 1, i64 24>, <2 x i64> zeroinitializer)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %m, float addrspace(1)* %out, i64 8, <2 x i64> zeroinitializer, i1 true)
  ret void",
    );
    let declared = "declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(float addrspace(1)*, <2 x i64>, <2 x i64>, <2 x i64>)
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, float addrspace(1)*, i64, <2 x i64>, i1)";
    let text = body(&format!("{code}\n{declared}"));
    assert!(text.contains("simdgroup_load(v0, in, 24);"), "{text}");
    assert!(text.contains("simdgroup_store(v0, out, 8, ulong2(0), true);"), "{text}");
}

#[test]
fn variables_that_initialisers_compute_are_unknown() {
    let code = with_function_constant("_ZL4both", "%more = add i8 %byte, 3", "%more");
    assert_eq!(decompile(&code).unknown, ["the initial value of both"]);
}
