//! Changed modules: whatever they are, they run to an end or a fault.

use unshade::decompiler::air;
use unshade::llvm::Module;
use unshade_emulate::metal::{Argument, Grid, Limits, Machine, is_position};

/// Modules of ours.
const FILES: [&str; 4] = ["kernel.bc", "reduce.bc", "library.bc", "mesh.bc"];

/// Runs all functions of a module.
fn run(bytes: &[u8]) -> usize {
    let Ok(module) = Module::parse(bytes, 0) else { return 0 };
    let program = air::lift(&module);
    let limits = Limits { steps: 2_000, memory: 1 << 22, depth: 8 };
    let mut machine = Machine::new(&program, limits);
    let buffer = machine.buffer("buffer", vec![1; 256]);
    for function in &program.functions {
        let argument = |attribute: &str| match is_position(attribute) {
            true => Argument::Position,
            false => Argument::Buffer(buffer),
        };
        let arguments: Vec<Argument> =
            function.parameters.iter().map(|parameter| argument(&parameter.attribute)).collect();
        let _ = machine.run(&function.name, Grid { groups: [2, 1, 1], threads: [34, 1, 1] }, &arguments);
        let _ = machine.call(&function.name, &vec![vec![1; 16]; arguments.len()]);
    }
    program.functions.len()
}

#[test]
fn changed_modules_end() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/air/");
    let mut functions = 0;
    let mut state = 1_u64;
    for file in FILES {
        let bytes = std::fs::read(format!("{folder}{file}")).unwrap();
        functions += run(&bytes);
        for _ in 0..500 {
            let mut changed = bytes.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % changed.len();
                changed[at] ^= 1 << (state >> 60 & 7);
            }
            functions += run(&changed);
        }
    }
    assert!(functions > 1_000, "{functions}");
}
