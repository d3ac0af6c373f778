//! Tests of what DXC takes apart: operations on vectors, reads of elements, products, structures, and loops.

use super::tests::{compute, has, printed};

/// A pixel shader with an input of four lanes and an output of two.
fn pixel(code: &str) -> String {
    format!(
        r#"
declare float @dx.op.loadInput.f32(i32, i32, i32, i8, i32)
declare void @dx.op.storeOutput.f32(i32, i32, i32, i8, float)
{code}
  call void @dx.op.storeOutput.f32(i32 5, i32 0, i32 0, i8 0, float %a)
  call void @dx.op.storeOutput.f32(i32 5, i32 0, i32 0, i8 1, float %b)
  ret void
}}
!dx.entryPoints = !{{!2}}
!0 = !{{i32 1, i32 0}}
!1 = !{{!"ps", i32 6, i32 0}}
!7 = !{{!18, !8, null}}
!8 = !{{!9}}
!9 = !{{i32 0, !"SV_Target", i8 9, i8 16, !10, i8 0, i32 1, i8 2, i32 0, i8 0, null}}
!10 = !{{i32 0}}
!18 = !{{!19}}
!19 = !{{i32 0, !"A", i8 9, i8 0, !10, i8 2, i32 1, i8 4, i32 0, i8 0, null}}
"#
    )
}

const PLAIN: &str = "!2 = !{void ()* @main, !\"main\", !7, null, null}\n";

const DERIVATIVES: &str = r#"
declare float @dx.op.unary.f32(i32, float)
define void @main() {
  %x = call float @dx.op.loadInput.f32(i32 4, i32 0, i32 0, i8 2, i32 undef)
  %y = call float @dx.op.loadInput.f32(i32 4, i32 0, i32 0, i8 1, i32 undef)
  %a = call float @dx.op.unary.f32(i32 85, float %x)
  %b = call float @dx.op.unary.f32(i32 85, float %y)
"#;

#[test]
fn derivatives_of_lanes_are_one_of_the_vector() {
    let text = [pixel(DERIVATIVES).as_str(), PLAIN].concat();
    has(&printed(&text), &["return ddx_fine(a.zy);"]);
    // Two different operations stay two.
    let text = [pixel(&DERIVATIVES.replace("85, float %y", "86, float %y")).as_str(), PLAIN].concat();
    has(&printed(&text), &["float v0 = ddx_fine(a.z);", "return float2(v0, ddy_fine(a.y));"]);
}

#[test]
fn an_element_is_evaluated_once() {
    let code = r#"
declare float @dx.op.evalCentroid.f32(i32, i32, i32, i8)
define void @main() {
  %a = call float @dx.op.evalCentroid.f32(i32 89, i32 0, i32 0, i8 0)
  %b = call float @dx.op.evalCentroid.f32(i32 89, i32 0, i32 0, i8 1)
"#;
    let hlsl = printed(&[pixel(code).as_str(), PLAIN].concat());
    assert_eq!(hlsl.text().matches("EvaluateAttributeCentroid").count(), 1, "{}", hlsl.text());
}

/// `mul(v, m)`: each lane is a chain of sums over a column of the matrix, which is a row of the buffer.
const PRODUCT: &str = r#"
%class.matrix.float.2.2 = type { [2 x <2 x float>] }
%C = type { %class.matrix.float.2.2 }
%dx.types.CBufRet.f32 = type { float, float, float, float }
declare %dx.types.CBufRet.f32 @dx.op.cbufferLoadLegacy.f32(i32, %dx.types.Handle, i32)
declare float @dx.op.tertiary.f32(i32, float, float, float)
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 2, i32 0, i32 0, i1 false)
  %x = call float @dx.op.loadInput.f32(i32 4, i32 0, i32 0, i8 0, i32 undef)
  %y = call float @dx.op.loadInput.f32(i32 4, i32 0, i32 0, i8 1, i32 undef)
  %r0 = call %dx.types.CBufRet.f32 @dx.op.cbufferLoadLegacy.f32(i32 59, %dx.types.Handle %h, i32 0)
  %r1 = call %dx.types.CBufRet.f32 @dx.op.cbufferLoadLegacy.f32(i32 59, %dx.types.Handle %h, i32 1)
  %m00 = extractvalue %dx.types.CBufRet.f32 %r0, 0
  %m01 = extractvalue %dx.types.CBufRet.f32 %r0, 1
  %m10 = extractvalue %dx.types.CBufRet.f32 %r1, 0
  %m11 = extractvalue %dx.types.CBufRet.f32 %r1, 1
  %p = fmul fast float %m00, %x
  %c = call float @dx.op.tertiary.f32(i32 46, float %y, float %m01, float %p)
  %q = fmul fast float %m10, %x
  %d = call float @dx.op.tertiary.f32(i32 46, float %y, float %m11, float %q)
  %a = fdiv fast float %c, %d
  %b = fadd fast float %d, 1.000000e+00
"#;

const PRODUCT_DATA: &str = r#"
!dx.resources = !{!3}
!dx.typeAnnotations = !{!11}
!2 = !{void ()* @main, !"main", !7, !3, null}
!3 = !{null, null, !4, null}
!4 = !{!5}
!5 = !{i32 0, %C* undef, !"", i32 0, i32 0, i32 1, i32 24, null}
!11 = !{i32 0, %C undef, !15}
!15 = !{i32 24, !16}
!16 = !{i32 6, !"m", i32 2, !17, i32 3, i32 0, i32 7, i32 9}
!17 = !{i32 2, i32 2, i32 2}
"#;

#[test]
fn products_are_found_in_chains_of_sums() {
    let hlsl = printed(&[pixel(PRODUCT).as_str(), PRODUCT_DATA].concat());
    has(&hlsl, &["float2 v0 = mul(a.xy, m);", "return float2(v0.x / v0.y, v0.y + 1.0);"]);
    // The rows in another order, or another number in one lane, are no product.
    for (old, new) in [("%m11, float %q", "%m01, float %q"), ("%m10, %x", "%m10, %y")] {
        let hlsl = printed(&[pixel(&PRODUCT.replace(old, new)).as_str(), PRODUCT_DATA].concat());
        assert!(!hlsl.text().contains("mul("), "{}", hlsl.text());
    }
    let rows = PRODUCT.replace("%m01, float %p", "%m10, float %p").replace("%m10, %x", "%m01, %x");
    has(&printed(&[pixel(&rows).as_str(), PRODUCT_DATA].concat()), &["float2 v0 = mul(m, a.xy);"]);
}

/// A compute shader that uses two members of an element twice.
const ELEMENT: &str = r#"
%struct.P = type { <2 x float>, float }
%"class.RWStructuredBuffer<P>" = type { %struct.P }
declare void @dx.op.rawBufferStore.f32(i32, %dx.types.Handle, i32, i32, float, float, float, float, i8, i32)
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 1, i32 0, i32 0, i1 false)
  %p = call %dx.types.ResRet.f32 @dx.op.rawBufferLoad.f32(i32 139, %dx.types.Handle %h, i32 7, i32 0, i8 3, i32 4)
  %q = call %dx.types.ResRet.f32 @dx.op.rawBufferLoad.f32(i32 139, %dx.types.Handle %h, i32 7, i32 8, i8 1, i32 4)
  %x = extractvalue %dx.types.ResRet.f32 %p, 0
  %y = extractvalue %dx.types.ResRet.f32 %p, 1
  %z = extractvalue %dx.types.ResRet.f32 %q, 0
  %s = fadd float %x, %z
  %t = fadd float %y, %z
  call void @dx.op.rawBufferStore.f32(i32 140, %dx.types.Handle %h, i32 1, i32 0, float %t, float %s, float undef, float undef, i8 3, i32 4)
  call void @dx.op.rawBufferStore.f32(i32 140, %dx.types.Handle %h, i32 1, i32 8, float %z, float undef, float undef, float undef, i8 1, i32 4)
  ret void
}
!5 = !{i32 0, %"class.RWStructuredBuffer<P>"* undef, !"", i32 0, i32 0, i32 1, i32 12, i1 false, i1 false, i1 false, !6}
!6 = !{i32 1, i32 12}
"#;

#[test]
fn members_of_one_element_are_read_from_a_copy() {
    let hlsl = printed(&compute(2, ELEMENT));
    assert!(hlsl.text().contains("P element = u0[7];"), "{}", hlsl.text());
    assert_eq!(hlsl.text().matches("u0[7]").count(), 1, "{}", hlsl.text());
    // A store between the loads may change the second member.
    let store = "  call void @dx.op.rawBufferStore.f32(i32 140, %dx.types.Handle %h, i32 7, i32 8, float 0.000000e+00, float undef, float undef, float undef, i8 1, i32 4)\n  %q =";
    let hlsl = printed(&compute(2, &ELEMENT.replace("  %q =", store)));
    assert!(!hlsl.text().contains("element"), "{}", hlsl.text());
}

/// A compute shader that sums squares in a loop that LLVM rotated.
const LOOP: &str = r#"
%struct.RWByteAddressBuffer = type { i32 }
define void @main() {
  %h = call %dx.types.Handle @dx.op.createHandle(i32 57, i8 1, i32 0, i32 0, i1 false)
  %load = call %dx.types.ResRet.i32 @dx.op.bufferLoad.i32(i32 68, %dx.types.Handle %h, i32 0, i32 undef)
  %n = extractvalue %dx.types.ResRet.i32 %load, 0
  %none = icmp eq i32 %n, 0
  br i1 %none, label %end, label %before
before:
  br label %body
body:
  %i = phi i32 [ 0, %before ], [ %next, %body ]
  %s = phi i32 [ 0, %before ], [ %more, %body ]
  %square = mul i32 %i, %i
  %more = add i32 %s, %square
  %next = add i32 %i, 1
  %is_last = icmp eq i32 %next, %n
  br i1 %is_last, label %after, label %body
after:
  %last = phi i32 [ %more, %body ]
  br label %end
end:
  %sum = phi i32 [ 0, %0 ], [ %last, %after ]
  call void @dx.op.bufferStore.i32(i32 69, %dx.types.Handle %h, i32 4, i32 undef, i32 %sum, i32 undef, i32 undef, i32 undef, i8 1)
  ret void
}
!5 = !{i32 0, %struct.RWByteAddressBuffer* undef, !"", i32 0, i32 0, i32 1, i32 11, i1 false, i1 false, i1 false, null}
"#;

#[test]
fn rotated_loops_test_at_the_top() {
    let text = printed(&compute(0, LOOP)).text();
    assert!(text.contains("for (uint n1 = 0; n1 < v0; n1++)"), "{text}");
    assert!(!text.contains("if (") && !text.contains("do\n"), "{text}");
    // Where the counter may start beyond its limit, the loop is not the same.
    let text =
        printed(&compute(0, &LOOP.replace("[ 0, %before ], [ %next", "[ 1, %before ], [ %next"))).text();
    assert!(!text.contains("for ("), "{text}");
}
