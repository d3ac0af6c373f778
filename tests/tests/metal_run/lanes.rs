//! Threads together: barriers, threadgroup memory, atomic operations, simdgroups and their matrices.

use super::{KERNEL, module, program, run, words};
use unshade_emulate::metal::{Argument, Grid, Limits, Machine};

#[test]
fn threadgroups_share_memory() {
    let body = "  %mine = getelementptr [64 x i32], [64 x i32] addrspace(3)* @shared, i64 0, i64 %wide
  store i32 %own, i32 addrspace(3)* %mine
  call void @air.wg.barrier(i32 2, i32 1)
  %next = xor i64 %wide, 63
  %other = getelementptr [64 x i32], [64 x i32] addrspace(3)* @shared, i64 0, i64 %next
  %result = load i32, i32 addrspace(3)* %other";
    let rest =
        "@shared = internal addrspace(3) global [64 x i32] undef\ndeclare void @air.wg.barrier(i32, i32)";
    let numbers: Vec<u32> = (0..64).collect();
    let reversed: Vec<u32> = (0..64).rev().collect();
    assert_eq!(words(body, rest, &numbers), reversed);
}

#[test]
fn atomic_operations() {
    let body = "  %old = call i32 @air.atomic.global.add.u.i32(i32 addrspace(1)* %words, i32 10, i32 0, i32 2, i1 true)
  %result = add i32 %old, 1";
    let rest = "declare i32 @air.atomic.global.add.u.i32(i32 addrspace(1)*, i32, i32, i32, i1)";
    // Threads run in order; the first one then stores to the word.
    assert_eq!(words(body, rest, &[5, 0, 0]), [6 + 20, 7, 17]);
    let body = "  %slot = alloca i32
  store i32 5, i32* %slot
  %old = call i32 @air.atomic.global.cmpxchg.weak.i32(i32 addrspace(1)* %place, i32* %slot, i32 8, i32 0, i32 0, i32 2, i1 true)
  %seen = load i32, i32* %slot
  %now = load i32, i32 addrspace(1)* %place
  %ten = mul i32 %now, 10
  %result = add i32 %ten, %seen";
    let rest =
        "declare i32 @air.atomic.global.cmpxchg.weak.i32(i32 addrspace(1)*, i32*, i32, i32, i32, i32, i1)";
    assert_eq!(words(body, rest, &[5, 6]), [85, 66]);
}

#[test]
fn reductions_and_scans() {
    let rest = "declare i32 @air.simd_sum.u.i32(i32)\ndeclare i32 @air.simd_prefix_exclusive_sum.u.i32(i32)\n\
                declare i32 @air.quad_max.s.i32(i32)";
    let numbers: Vec<u32> = (0..40).collect();
    let sum = words("  %result = call i32 @air.simd_sum.u.i32(i32 %own)", rest, &numbers);
    assert_eq!((sum[0], sum[31], sum[32]), (496, 496, (32..40).sum()));
    let scan = words("  %result = call i32 @air.simd_prefix_exclusive_sum.u.i32(i32 %own)", rest, &numbers);
    assert_eq!((scan[0], scan[5], scan[33]), (0, 10, 32));
    let signs = [u32::MAX, 3, 2, 1, 9, u32::MAX];
    let quad = words("  %result = call i32 @air.quad_max.s.i32(i32 %own)", rest, &signs);
    assert_eq!(quad, [3, 3, 3, 3, 9, 9]);
}

#[test]
fn shuffles() {
    let rest = "declare i32 @air.simd_shuffle_xor.u.i32(i32, i16)\ndeclare i32 @air.simd_shuffle_down.u.i32(i32, i16)\n\
                declare i32 @air.simd_shuffle_and_fill_up.u.i32(i32, i32, i16, i16)";
    let numbers: Vec<u32> = (10..18).collect();
    let pairs = words("  %result = call i32 @air.simd_shuffle_xor.u.i32(i32 %own, i16 1)", rest, &numbers);
    assert_eq!(pairs, [11, 10, 13, 12, 15, 14, 17, 16]);
    let filled = "  %result = call i32 @air.simd_shuffle_and_fill_up.u.i32(i32 %own, i32 0, i16 3, i16 4)";
    assert_eq!(words(filled, rest, &numbers), [0, 0, 0, 10, 0, 0, 0, 14]);
    // The last lane has no lane after it: it keeps its value, which is counted.
    let down = module("  %result = call i32 @air.simd_shuffle_down.u.i32(i32 %own, i16 1)", rest);
    let (words, summary) = run(&down, &numbers, 8).unwrap();
    assert_eq!((words[6], words[7], summary.undefined.lanes), (17, 17, 1));
}

#[test]
fn lanes_that_part_meet_again() {
    // Each side of a branch has a sum of its own lanes; after it, all lanes have one.
    let body = "  %is_odd = trunc i32 %index to i1
  br i1 %is_odd, label %odd, label %even
odd:
  %a = call i32 @air.simd_sum.u.i32(i32 1)
  br label %done
even:
  %b = call i32 @air.simd_sum.u.i32(i32 100)
  br label %done
done:
  %c = phi i32 [ %a, %odd ], [ %b, %even ]
  %all = call i32 @air.simd_sum.u.i32(i32 %c)
  %more = mul i32 %c, 10000
  %result = add i32 %more, %all";
    let rest = "declare i32 @air.simd_sum.u.i32(i32)";
    let all = 2 + 300 * 3 + 2;
    assert_eq!(
        words(body, rest, &[0; 5]),
        [3_000_000 + all, 20_000 + all, 3_000_000 + all, 20_000 + all, 3_000_000 + all]
    );
}

#[test]
fn votes() {
    let body = "  %is_large = icmp ugt i32 %own, 4
  %votes = call i64 @air.simd_ballot.i64(i1 %is_large)
  %low = trunc i64 %votes to i32
  %every = call i1 @air.simd_all(i1 %is_large)
  %bit = zext i1 %every to i32
  %up = shl i32 %bit, 31
  %result = or i32 %low, %up";
    let rest = "declare i64 @air.simd_ballot.i64(i1)\ndeclare i1 @air.simd_all(i1)";
    assert_eq!(words(body, rest, &[5, 1, 9]), [0b101; 3]);
    assert_eq!(words(body, rest, &[5, 7, 9]), [0x8000_0007; 3]);
}

#[test]
fn matrices() {
    // 2 times the matrix in memory, plus ones.
    let text = format!(
        "define void @f(i32 addrspace(1)* %words, i32 %index) {{
  %at = bitcast i32 addrspace(1)* %words to float addrspace(1)*
  %a = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(float addrspace(1)* %at, i64 8, <2 x i64> zeroinitializer, i1 true)
  %two = call <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float 2.0)
  %one = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 1.0)
  %d = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %a, <64 x float> %two, <64 x float> %one)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %d, float addrspace(1)* %at, i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void
}}
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(float addrspace(1)*, i64, <2 x i64>, i1)
declare <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float>, <64 x float>, <64 x float>)
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, float addrspace(1)*, i64, <2 x i64>, i1)
{KERNEL}"
    );
    let numbers: Vec<u32> = (0..64).map(|number| (number as f32).to_bits()).collect();
    let (words, _) = run(&text, &numbers, 32).unwrap();
    let expected: Vec<u32> =
        (0..64).map(|place| ((place % 8 * 8 + place / 8) as f32 * 2.0 + 1.0).to_bits()).collect();
    assert_eq!(words, expected);
}

#[test]
fn grids_have_positions() {
    let text = "define void @f(<3 x i32> addrspace(1)* %out, <3 x i32> %grid, <2 x i16> %group, i32 %lane) {
  %x = extractelement <3 x i32> %grid, i32 0
  %y = extractelement <3 x i32> %grid, i32 1
  %row = mul i32 %y, 8
  %at = add i32 %row, %x
  %wide = zext i32 %at to i64
  %place = getelementptr <3 x i32>, <3 x i32> addrspace(1)* %out, i64 %wide
  %g = extractelement <2 x i16> %group, i32 1
  %gy = zext i16 %g to i32
  %a = insertelement <3 x i32> undef, i32 %at, i32 0
  %b = insertelement <3 x i32> %a, i32 %gy, i32 1
  %c = insertelement <3 x i32> %b, i32 %lane, i32 2
  store <3 x i32> %c, <3 x i32> addrspace(1)* %place
  ret void
}
!air.kernel = !{!5}
!5 = !{void (<3 x i32> addrspace(1)*, <3 x i32>, <2 x i16>, i32)* @f, !6, !7}
!6 = !{}
!7 = !{!10, !11, !12, !13}
!10 = !{i32 0, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read_write\", !\"air.address_space\", i32 1, !\"air.arg_type_size\", i32 16, !\"air.arg_type_name\", !\"uint3\", !\"air.arg_name\", !\"out\"}
!11 = !{i32 1, !\"air.thread_position_in_grid\", !\"air.arg_type_name\", !\"uint3\", !\"air.arg_name\", !\"grid\"}
!12 = !{i32 2, !\"air.threadgroup_position_in_grid\", !\"air.arg_type_name\", !\"ushort2\", !\"air.arg_name\", !\"group\"}
!13 = !{i32 3, !\"air.thread_index_in_simdgroup\", !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", !\"lane\"}
";
    let program = program(text);
    let mut machine = Machine::new(&program, Limits::default());
    let out = machine.buffer("out", vec![0xff; 16 * 32]);
    let position = Argument::Position;
    let arguments = [Argument::Buffer(out), position.clone(), position.clone(), position];
    let grid = Grid { groups: [2, 2, 1], threads: [4, 2, 1] };
    let summary = machine.run("f", grid, &arguments).unwrap();
    assert_eq!((summary.groups, summary.threads), (4, 32));
    let element = |at: usize| &machine.bytes(out)[16 * at..16 * (at + 1)];
    assert_eq!(element(0), [[0; 4], [0; 4], [0; 4], [0xff; 4]].concat());
    // Thread (1,1) of group (1,1).
    assert_eq!(element(29), [[29, 0, 0, 0], [1, 0, 0, 0], [5, 0, 0, 0], [0xff; 4]].concat());
}
