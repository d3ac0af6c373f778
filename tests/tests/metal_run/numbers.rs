//! Values, control flow, memory, calls.

use super::{KERNEL, fault, module, program, run, words};
use unshade_emulate::metal::{Argument, Grid, Limits, Machine};

fn float(number: f32) -> u32 {
    number.to_bits()
}

#[test]
fn loops_and_phis() {
    // Factorials, with two phis that change together.
    let body = "  br label %loop
loop:
  %left = phi i32 [ %own, %entry ], [ %less, %loop ]
  %product = phi i32 [ 1, %entry ], [ %next, %loop ]
  %next = mul i32 %product, %left
  %less = sub i32 %left, 1
  %more = icmp ugt i32 %less, 1
  br i1 %more, label %loop, label %done
done:
  %result = add i32 %next, 0";
    assert_eq!(words(body, "", &[1, 3, 5]), [1, 6, 120]);
}

#[test]
fn phis_exchange() {
    let body = "  br label %loop
loop:
  %a = phi i32 [ 1, %entry ], [ %b, %loop ]
  %b = phi i32 [ 2, %entry ], [ %a, %loop ]
  %count = phi i32 [ 0, %entry ], [ %more, %loop ]
  %more = add i32 %count, 1
  %again = icmp ult i32 %more, %own
  br i1 %again, label %loop, label %done
done:
  %ten = mul i32 %a, 10
  %result = add i32 %ten, %b";
    assert_eq!(words(body, "", &[1, 2, 3]), [12, 21, 12]);
}

#[test]
fn switches() {
    let body = "  switch i32 %own, label %other [ i32 1, label %one  i32 -1, label %minus ]
one:
  br label %done
minus:
  br label %done
other:
  br label %done
done:
  %result = phi i32 [ 10, %one ], [ 20, %minus ], [ 30, %other ]";
    assert_eq!(words(body, "", &[1, u32::MAX, 7]), [10, 20, 30]);
}

#[test]
fn vectors_and_structures() {
    let body = "  %v = insertelement <4 x i32> <i32 1, i32 2, i32 3, i32 4>, i32 %own, i32 2
  %twice = add <4 x i32> %v, %v
  %s = shufflevector <4 x i32> %twice, <4 x i32> %v, <2 x i32> <i32 2, i32 7>
  %slot = alloca { i8, <2 x i32>, [2 x i16] }
  %inner = getelementptr { i8, <2 x i32>, [2 x i16] }, { i8, <2 x i32>, [2 x i16] }* %slot, i64 0, i32 1
  store <2 x i32> %s, <2 x i32>* %inner
  %all = load { i8, <2 x i32>, [2 x i16] }, { i8, <2 x i32>, [2 x i16] }* %slot
  %pair = extractvalue { i8, <2 x i32>, [2 x i16] } %all, 1
  %at = and i32 %index, 1
  %result = extractelement <2 x i32> %pair, i32 %at";
    assert_eq!(words(body, "", &[5, 6]), [10, 4]);
}

#[test]
fn bits_of_vectors() {
    let body = "  %halves = bitcast i32 %own to <2 x half>
  %sum = fadd <2 x half> %halves, <half 0xH3C00, half 0xH3C00>
  %bytes = bitcast <2 x half> %sum to <4 x i8>
  %result = bitcast <4 x i8> %bytes to i32";
    assert_eq!(words(body, "", &[0x4000_3c00]), [0x4200_4000]);
}

#[test]
fn bfloats() {
    let body = "  %low = trunc i32 %own to i16
  %a = bitcast i16 %low to bfloat
  %product = fmul bfloat %a, %a
  %long = fpext bfloat %product to float
  %result = bitcast float %long to i32";
    assert_eq!(words(body, "", &[0x3f81, 0x4000]), [0x3f82_0000, 0x4080_0000]);
}

#[test]
fn conversions_saturate() {
    let body = "  %number = bitcast i32 %own to float
  %byte = call i8 @air.convert.s.i8.f.f32(float %number)
  %result = sext i8 %byte to i32";
    let rest = "declare i8 @air.convert.s.i8.f.f32(float)";
    let numbers = [float(-3.75), float(1000.0), float(-1000.0), float(f32::NAN)];
    assert_eq!(words(body, rest, &numbers), [-3_i32 as u32, 127, -128_i32 as u32, 0]);
    let summary = run(&module(body, rest), &numbers, 4).unwrap().1;
    assert_eq!(summary.undefined.to_string(), "3 floats converted to integers that do not have them");
}

#[test]
fn functions_of_the_library() {
    let body = "  %x = bitcast i32 %own to float
  %root = call float @air.fast_sqrt.f32(float %x)
  %whole = call float @air.floor.f32(float %root)
  %both = call float @air.fma.f32(float %root, float %whole, float 1.0)
  %result = bitcast float %both to i32";
    let rest = "declare float @air.fast_sqrt.f32(float)\ndeclare float @air.floor.f32(float)\n\
                declare float @air.fma.f32(float, float, float)";
    assert_eq!(words(body, rest, &[float(4.0), float(6.25)]), [float(5.0), float(6.0)]);
}

#[test]
fn results_in_memory() {
    let body = "  %slot = alloca i32
  %x = bitcast i32 %own to float
  %fraction = call float @air.frexp.f32(float %x, i32* %slot)
  %power = load i32, i32* %slot
  %bits = bitcast float %fraction to i32
  %result = add i32 %bits, %power";
    let rest = "declare float @air.frexp.f32(float, i32*)";
    assert_eq!(words(body, rest, &[float(12.0)]), [float(0.75) + 4]);
}

#[test]
fn packed_colours() {
    let body = "  %colour = call <4 x float> @air.unpack.unorm4x8.v4f32(i32 %own)
  %half = fmul <4 x float> %colour, <float 0.5, float 1.0, float 2.0, float 1.0>
  %result = call i32 @air.pack.unorm4x8.v4f32(<4 x float> %half)";
    let rest = "declare <4 x float> @air.unpack.unorm4x8.v4f32(i32)\n\
                declare i32 @air.pack.unorm4x8.v4f32(<4 x float>)";
    assert_eq!(words(body, rest, &[0x04ff_80fe]), [0x04ff_807f]);
}

#[test]
fn calls_have_variables_of_their_own() {
    let body = "  %slot = alloca i32
  store i32 7, i32* %slot
  %sum = call i32 @add(i32 %own, i32* %slot)
  %seven = load i32, i32* %slot
  %result = add i32 %sum, %seven";
    let rest = "define internal i32 @add(i32 %a, i32* %b) {
  %mine = alloca i32
  %other = load i32, i32* %b
  %sum = add i32 %a, %other
  store i32 %sum, i32* %mine
  store i32 100, i32* %b
  %result = load i32, i32* %mine
  ret i32 %result
}";
    assert_eq!(words(body, rest, &[1]), [108]);
}

#[test]
fn constants_in_memory() {
    let body = "  %at = and i32 %index, 3
  %long = zext i32 %at to i64
  %place2 = getelementptr [4 x i16], [4 x i16] addrspace(2)* @table, i64 0, i64 %long
  %short = load i16, i16 addrspace(2)* %place2
  %result = sext i16 %short to i32";
    let rest = "@table = internal addrspace(2) constant [4 x i16] [i16 1, i16 -2, i16 3, i16 -4]";
    assert_eq!(words(body, rest, &[0; 4]), [1, -2_i32 as u32, 3, -4_i32 as u32]);
}

#[test]
fn function_constants() {
    let body = "  %result = load i32, i32 addrspace(2)* @_Z1n.MTL_FC_INIT_3_i";
    let rest = "@_Z1n.MTL_FC_INIT_3_i = internal addrspace(2) externally_initialized constant i32 undef, \
                section \"air.fc_initializer\"\n!air.function_constants = !{!20}\n\
                !20 = !{i32 addrspace(2)* @_Z1n.MTL_FC_INIT_3_i, !\"int\", !\"n\", i32 3, i1 true}";
    let text = module(body, rest);
    let program = program(&text);
    let mut machine = Machine::new(&program, Limits::default());
    assert_eq!(machine.function_constants().collect::<Vec<_>>(), [(3, "n", 4)]);
    let buffer = machine.buffer("words", vec![0; 4]);
    let grid = Grid { groups: [1; 3], threads: [1; 3] };
    let arguments = [Argument::Buffer(buffer), Argument::Position];
    let fault = machine.run("f", grid, &arguments).unwrap_err();
    assert!(fault.to_string().starts_with("the function constant n has no value, in f at 0x"), "{fault}");
    assert!(!machine.set_function_constant(2, &[0; 4]));
    assert!(machine.set_function_constant(3, &9_u32.to_le_bytes()));
    machine.run("f", grid, &arguments).unwrap();
    assert_eq!(machine.bytes(buffer), [9, 0, 0, 0]);
}

#[test]
fn unknown_functions_are_named() {
    let body = "  %result = call i32 @air.made_up.i32(i32 %own)";
    let message = fault(body, "declare i32 @air.made_up.i32(i32)", &[1]);
    assert!(message.starts_with("not modelled: the function air.made_up.i32, in f"), "{message}");
    let body = "  %result = call i32 @elsewhere(i32 %own)";
    let message = fault(body, "declare i32 @elsewhere(i32)", &[1]);
    assert!(message.starts_with("the function elsewhere is not in the program"), "{message}");
}

#[test]
fn functions_are_called_alone() {
    let text = format!(
        "define <2 x float> @twice(<2 x float> %a, half %b) {{\n  %c = fpext half %b to float\n  \
         %d = insertelement <2 x float> %a, float %c, i32 1\n  %e = fadd <2 x float> %d, %d\n  ret <2 x float> %e\n}}\n\
         define void @f(i32 addrspace(1)* %words, i32 %index) {{\n  ret void\n}}\n{KERNEL}"
    );
    let program = program(&text);
    let mut machine = Machine::new(&program, Limits::default());
    let vector = [1.5_f32, 0.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    let bytes = machine.call("twice", &[vector, 0x3c00_u16.to_le_bytes().to_vec()]).unwrap();
    assert_eq!(bytes, [3.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat());
}
