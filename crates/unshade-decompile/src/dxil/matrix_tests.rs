//! Tests of matrices: as parameters and variables of functions, in structured buffers, and structures of resources.

use super::tests::{LIBRARY, compute, has, printed};

/// A library function that takes and returns matrices.
const FUNCTION: &str = r#"
%class.matrix.float.2.3 = type { [2 x <3 x float>] }
%class.matrix.float.3.2 = type { [3 x <2 x float>] }
declare %class.matrix.float.2.3 @"\01?other@@YA?AV?$matrix@M$01$02@@AIAV1@@Z"(%class.matrix.float.2.3* dereferenceable(24))
define float @"\01?f@@YAMV?$matrix@M$02$01@@AIAV?$matrix@M$01$02@@@Z"(%class.matrix.float.3.2 %by_value, %class.matrix.float.2.3* noalias dereferenceable(24) %m) {
  %local = alloca <6 x float>, align 4
  %copy = alloca <6 x float>, align 4
  %p = bitcast %class.matrix.float.2.3* %m to <6 x float>*
  %v = load <6 x float>, <6 x float>* %p, align 4
  %swapped = shufflevector <6 x float> %v, <6 x float> undef, <6 x i32> <i32 0, i32 2, i32 4, i32 1, i32 3, i32 5>
  store <6 x float> %swapped, <6 x float>* %local, align 4
  %whole = bitcast <6 x float>* %local to %class.matrix.float.2.3*
  %result = call %class.matrix.float.2.3 @"\01?other@@YA?AV?$matrix@M$01$02@@AIAV1@@Z"(%class.matrix.float.2.3* dereferenceable(24) %whole)
  %q = bitcast <6 x float>* %copy to %class.matrix.float.2.3*
  store %class.matrix.float.2.3 %result, %class.matrix.float.2.3* %q, align 4
  %r = load <6 x float>, <6 x float>* %copy, align 4
  %a = extractelement <6 x float> %r, i32 3
  %b = extractelement <6 x float> %v, i32 4
  %line = extractvalue %class.matrix.float.3.2 %by_value, 0, 1
  %c = extractelement <2 x float> %line, i32 0
  %ab = fadd float %a, %b
  %sum = fadd float %ab, %c
  ret float %sum
}
"#;

#[test]
fn lanes_of_matrices_are_column_by_column() {
    let text = printed(&[FUNCTION, LIBRARY].concat()).text();
    let has = |part: &str| assert!(text.contains(part), "no {part:?} in\n{text}");
    has("export float f(float3x2 argument0, inout float2x3 argument1)");
    // Lane 3 of two rows is in row 1, column 1; lane 4 in row 0, column 2; lane 2 of three rows in row 2, column 0.
    has("._m11 + ");
    has("._m02 + argument0._m20;");
    has("float2x3 other(inout float2x3 argument0);");
    // The entries 0, 2, 4, 1, 3, 5 of the columns, put together row by row.
    has("= float2x3(v0._m00, v0._m02, v0._m11, v0._m01, v0._m10, v0._m12);");
}

/// A compute shader that transposes matrices in a buffer.
const BUFFER: &str = r#"
%"class.RWStructuredBuffer<matrix<float, 2, 2> >" = type { %class.matrix.float.2.2 }
%class.matrix.float.2.2 = type { [2 x <2 x float>] }
declare void @dx.op.rawBufferStore.f32(i32, %dx.types.Handle, i32, i32, float, float, float, float, i8, i32)
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 1, i32 0, i32 0, i1 false)
  %x = call %dx.types.ResRet.f32 @dx.op.rawBufferLoad.f32(i32 139, %dx.types.Handle %h, i32 0, i32 0, i8 3, i32 4)
  %y = call %dx.types.ResRet.f32 @dx.op.rawBufferLoad.f32(i32 139, %dx.types.Handle %h, i32 0, i32 8, i8 3, i32 4)
  %a = extractvalue %dx.types.ResRet.f32 %x, 0
  %b = extractvalue %dx.types.ResRet.f32 %x, 1
  %c = extractvalue %dx.types.ResRet.f32 %y, 0
  %d = extractvalue %dx.types.ResRet.f32 %y, 1
  call void @dx.op.rawBufferStore.f32(i32 140, %dx.types.Handle %h, i32 1, i32 0, float %a, float %c, float undef, float undef, i8 3, i32 4)
  call void @dx.op.rawBufferStore.f32(i32 140, %dx.types.Handle %h, i32 1, i32 8, float %b, float %d, float undef, float undef, i8 3, i32 4)
  ret void
}
!5 = !{i32 0, %"class.RWStructuredBuffer<matrix<float, 2, 2> >"* undef, !"", i32 0, i32 0, i32 1, i32 12, i1 false, i1 false, i1 false, !6}
!6 = !{i32 1, i32 16}
"#;

#[test]
fn matrices_in_buffers_are_moved_whole() {
    let hlsl = printed(&compute(2, BUFFER));
    has(&hlsl, &["u0[1] = transpose(u0[0]);"]);
    let copied = BUFFER
        .replace("float %a, float %c,", "float %a, float %b,")
        .replace("float %b, float %d,", "float %c, float %d,");
    has(&printed(&compute(2, &copied)), &["u0[1] = u0[0];"]);
}

#[test]
fn a_store_in_between_keeps_parts_apart() {
    let store = "  call void @dx.op.rawBufferStore.f32(i32 140, %dx.types.Handle %h, i32 0, i32 8, float %a, float undef, float undef, float undef, i8 1, i32 4)\n  %y";
    let code = BUFFER
        .replace("  %a = extractvalue %dx.types.ResRet.f32 %x, 0\n", "")
        .replace("  %y", &format!("  %a = extractvalue %dx.types.ResRet.f32 %x, 0\n{store}"));
    let hlsl = printed(&compute(2, &code));
    has(&hlsl, &["float v0 = u0[0][0][0];", "u0[0][0][1] = v0;"]);
    assert!(!hlsl.text().contains("float2x2 v"), "{}", hlsl.text());
}

/// A pixel shader with textures in a structure.
const RESOURCES: &str = r#"
%"class.Texture2D<vector<float, 4> >" = type { <4 x float> }
%struct.SamplerState = type { i32 }
declare %dx.types.ResRet.f32 @dx.op.sample.f32(i32, %dx.types.Handle, %dx.types.Handle, float, float, float, float, i32, i32, i32, float)
declare void @dx.op.storeOutput.f32(i32, i32, i32, i8, float)
define void @main() {
  %t = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 0, i32 1, i32 6, i1 false)
  %s = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 3, i32 0, i32 1, i1 false)
  %all = call %dx.types.ResRet.f32 @dx.op.sample.f32(i32 60, %dx.types.Handle %t, %dx.types.Handle %s, float 0.000000e+00, float 0.000000e+00, float undef, float undef, i32 0, i32 0, i32 undef, float undef)
  %n = extractvalue %dx.types.ResRet.f32 %all, 0
  call void @dx.op.storeOutput.f32(i32 5, i32 0, i32 0, i8 0, float %n)
  ret void
}
!dx.entryPoints = !{!2}
!dx.resources = !{!3}
!0 = !{i32 1, i32 0}
!1 = !{!"ps", i32 6, i32 0}
!2 = !{void ()* @main, !"main", !10, !3, null}
!3 = !{!4, null, null, !8}
!4 = !{!5, !7}
!5 = !{i32 0, %"class.Texture2D<vector<float, 4> >"* undef, !"lights.0.map", i32 0, i32 5, i32 1, i32 2, i32 0, !6}
!6 = !{i32 0, i32 9}
!7 = !{i32 1, %"class.Texture2D<vector<float, 4> >"* undef, !"lights.1.map", i32 0, i32 6, i32 1, i32 2, i32 0, !6}
!8 = !{!9}
!9 = !{i32 0, %struct.SamplerState* undef, !"lights.0.filtered", i32 0, i32 1, i32 1, i32 0, null}
!10 = !{null, !11, null}
!11 = !{!12}
!12 = !{i32 0, !"SV_Target", i8 9, i8 16, !13, i8 0, i32 1, i8 1, i32 0, i8 0, null}
!13 = !{i32 0}
"#;

#[test]
fn resources_of_structures_keep_their_paths() {
    let hlsl = printed(RESOURCES);
    has(
        &hlsl,
        &[
            "struct lights_resources",
            "Texture2D<float4> map;",
            "SamplerState filtered;",
            "lights_resources lights[2] : register(t5) : register(s1);",
            "return lights[1].map.Sample(lights[0].filtered, (float2)0.0).x;",
        ],
    );
}

#[test]
fn registers_count_from_members_that_are_absent() {
    let hlsl = printed(
        &RESOURCES
            .replace("!\"lights.0.map\"", "!\"lights.2.map\"")
            .replace("i32 0, i32 5, i32 1, i32 2", "i32 0, i32 7, i32 1, i32 2"),
    );
    has(&hlsl, &["lights_resources lights[3] : register(t5) : register(s1);"]);
}

#[test]
fn structures_with_other_registers_are_taken_apart() {
    let hlsl = printed(
        &RESOURCES
            .replace("i32 0, i32 6, i32 1, i32 2", "i32 0, i32 8, i32 1, i32 2")
            .replace("i32 1, i32 6, i1", "i32 1, i32 8, i1"),
    );
    has(
        &hlsl,
        &["Texture2D<float4> lights_0_map : register(t5);", "Texture2D<float4> lights_1_map : register(t8);"],
    );
}
