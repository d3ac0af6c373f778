//! C++ of code in which 32 bits hold a pointer: compiled without optimization, it calls functions through tables, passes
//! pointers to shared memory, and reads textures in functions.
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

/// The `//CASE` lines of the source, as a table.
const CASES: &str = "
pointers chosen 1 32 i32*32 f32*32 f64*32
pointers areas 1 32 i32*32 f32*32
pointers histogram 2 64 u8*500 u32*16 i32=500
pointers warp_sum 2 64 i32*128 i32*4
pointers sampled 1 32 @f32*8x8 f32{0..8}*32 f32*32
";

/// Number of inputs per kernel.
const ROUNDS: u64 = 3;

#[test]
fn cpp_of_code_without_optimization_does_what_the_machine_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia/decompile/pointers_debug.cubin");
    let bytes = std::fs::read(path).unwrap();
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
    let cases = cases::read(CASES);
    let sources = BTreeMap::from([(String::from("pointers"), decompile::text(&functions))]);
    let scratch = std::env::temp_dir().join(format!("unshade-pointers-{}", std::process::id()));
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
