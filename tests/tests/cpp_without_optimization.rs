//! C++ of code compiled without optimization. In `pointers`, 32 bits hold a pointer: it calls functions through tables, passes
//! pointers to shared memory, and reads textures in functions. In `prototypes`, functions have pointers to structures, shared
//! memory of their own, and numbers of 16 and 8 bits.
//!
//! Requires g++.

use std::collections::BTreeMap;
use std::path::Path;

use unshade::core::{Diagnostics, Reader};
use unshade::decompile;
use unshade::decompiler::Options;
use unshade::decompiler::c::CPP;
use unshade::nv::Cubin;
use unshade_tests::closed_loop::{cases, compare, emulated, host};

/// The `//CASE` lines of the sources, as a table.
const CASES: &str = "
pointers chosen 1 32 i32*32 f32*32 f64*32
pointers areas 1 32 i32*32 f32*32
pointers histogram 2 64 u8*500 u32*16 i32=500
pointers warp_sum 2 64 i32*128 i32*4
pointers sampled 1 32 @f32*8x8 f32{0..8}*32 f32*32
prototypes heaviest 1 32 i32{1..9}*128 i32*32 i32=4
prototypes balanced 1 32 f32*32 f32*32
prototypes halves 1 32 i32*32 i32*32 i32*32
prototypes reported 1 2 i32*32
";

/// Number of inputs per kernel.
const ROUNDS: u64 = 3;

#[test]
fn cpp_of_code_without_optimization_does_what_the_machine_code_does() {
    for name in ["pointers", "prototypes"] {
        check(name);
    }
}

/// Runs the C++ and the machine code of a fixture.
fn check(name: &str) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia/decompile");
    let bytes = std::fs::read(fixtures.join(format!("{name}_debug.cubin"))).unwrap();
    let cubin = Cubin::read(Reader::new(&bytes)).unwrap();
    let options = Options { language: &CPP, explicit_math: true, ..Options::default() };
    let mut functions = Vec::new();
    decompile::cubin(&cubin, &|_| true, &options, &mut Diagnostics::new(), &mut |function| {
        functions.push(function);
    });
    for function in &functions {
        let found = function.result.as_ref().unwrap_or_else(|fault| panic!("{}: {fault}", function.name));
        assert_eq!(found.unlifted, 0, "{}", found.text());
    }
    let mut cases = cases::read(CASES);
    cases.retain(|case| case.file == name);
    let sources = BTreeMap::from([(String::from(name), decompile::text(&functions))]);
    let scratch = std::env::temp_dir().join(format!("unshade-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let program = host::Program::new(&cases, &sources).compile(&scratch);
    let program = program.unwrap_or_else(|error| panic!("{error:?}"));
    let mut runs = Vec::new();
    for case in &cases {
        runs.extend((0..ROUNDS).map(|round| (case, case.inputs(round))));
    }
    let results = host::run(&program, &scratch, &runs).unwrap_or_else(|error| panic!("{error:?}"));
    for ((case, inputs), found) in runs.iter().zip(&results) {
        let (expected, _) = emulated::run(&bytes, case, inputs).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(compare::difference(case, &expected, found), None, "{}", case.kernel);
    }
    let _ = std::fs::remove_dir_all(&scratch);
}
