//! The semantics of instructions, beside witnesses that do not come from the tables in `isa/`: an interpreter written from
//! the PTX ISA, and results that ptxas computed itself. Source: `fixtures/nvidia/witness`.

use unshade_tests::witness::exact::SINGLE;
use unshade_tests::witness::kernel::{self, Compiled};
use unshade_tests::witness::ptx::{Outcome, is_right};
use unshade_tests::witness::{ptx, rows};

/// Number of inputs per program.
const COUNT: usize = 512;

/// Where ptxas 11.2 evaluates wrongly: a program, and its first input. The differences are ties, of which ptxas takes the
/// odd number, and the selection by a negative number returns the value for others.
const WRONG: [(&str, u64); 4] = [
    ("neg.f32 %f5, %f1; add.f32 %f0, %f5, 0f3F9D70A4", 0x3380_0000),
    ("neg.ftz.f32 %f5, %f1; add.ftz.f32 %f0, %f5, 0f3F9D70A4", 0x3380_0000),
    ("abs.ftz.f32 %f5, %f1; neg.ftz.f32 %f6, %f5; add.ftz.f32 %f0, %f6, 0f3FC00000", 0x3380_0000),
    ("slct.s32.s32 %r0, %r1, %r2, %r3", 0xc581_e796),
];

/// Returns what is wrong with a program's results, if anything.
fn fault(compiled: &Compiled) -> Option<String> {
    let program = &compiled.program;
    let inputs = rows::inputs(program, COUNT);
    let letter = rows::register(program, 0).unwrap_or('r');
    let found = match kernel::run(&compiled.code, &compiled.constants, &inputs) {
        Ok(found) => found,
        Err(fault) => return Some(format!("{program}: {fault}")),
    };
    for (inputs, found) in inputs.iter().zip(&found) {
        match ptx::run(program, inputs) {
            Err(error) => return Some(format!("{program}: {error}")),
            Ok(expected) if !is_right(letter, expected, *found) => {
                return Some(format!(
                    "{program}: {inputs:x?} gives {found:x}, {:x} by the PTX ISA",
                    expected.bits
                ));
            }
            Ok(_) => {}
        }
    }
    None
}

#[test]
fn programs_do_what_the_ptx_isa_says() {
    let programs = kernel::all();
    assert!(programs.len() > 1000, "{}", programs.len());
    let faults: Vec<String> = programs.iter().filter_map(fault).collect();
    println!("{} programs", programs.len());
    assert!(faults.is_empty(), "{} programs\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn programs_compute_what_ptxas_computes() {
    let mut faults = Vec::new();
    let mut compared = 0;
    for compiled in kernel::all() {
        let program = compiled.program.as_str();
        let letter = rows::register(program, 0).unwrap_or('r');
        let inputs = rows::inputs(program, compiled.folded.len());
        let found = kernel::run(&compiled.code, &compiled.constants, &inputs).expect("the program ends");
        for ((inputs, found), constant) in inputs.iter().zip(&found).zip(&compiled.folded) {
            let Some(mut constant) = *constant else { continue };
            if WRONG.contains(&(program, inputs[0])) {
                continue;
            }
            // ptxas does not flush subnormal results of functions that it approximates.
            if program.contains(".approx.ftz.f32") {
                constant = SINGLE.flushed(constant);
            }
            compared += 1;
            let outcome = ptx::run(program, inputs).expect("the program is defined");
            if !is_right(letter, Outcome { bits: constant, ..outcome }, *found) {
                faults.push(format!("{program}: {inputs:x?} gives {found:x}, {constant:x} by ptxas"));
            }
        }
    }
    println!("{compared} constants");
    assert!(faults.is_empty(), "{} constants\n{}", faults.len(), faults.join("\n"));
}
