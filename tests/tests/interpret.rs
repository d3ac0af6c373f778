//! Our kernels leave the same memory in the emulator and in the interpreter of the intermediate representation: as the
//! front end lifted them, after every pass, and as the statements of the decompiled text.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unshade::core::{Diagnostics, Reader};
use unshade::decompile::{self, passes};
use unshade::decompiler::Options;
use unshade::decompiler::ir::code::Code;
use unshade::nv::Cubin;
use unshade_emulate::interpret::Function;
use unshade_tests::closed_loop::{cases, compare, emulated, folder};

/// Number of inputs per kernel.
const ROUNDS: u64 = 2;

/// The stage after all passes.
const TEXT: &str = "text";

/// The functions of a cubin at each stage: after the last run of each pass, and as statements.
fn stages(bytes: &[u8]) -> BTreeMap<String, Vec<Function>> {
    let cubin = Cubin::read(Reader::new(bytes)).unwrap();
    let mut stages: BTreeMap<String, Vec<Function>> = BTreeMap::new();
    let codes: RefCell<BTreeMap<String, Code>> = RefCell::default();
    decompile::cubin_with(
        &cubin,
        &|_| true,
        &Options { with_code: true, ..Options::default() },
        None,
        &mut Diagnostics::new(),
        Some(&mut |pass, module| {
            codes.borrow_mut().insert(pass.to_owned(), Code::new(module));
        }),
        &mut |function| {
            let mut codes = codes.take();
            let decompiled = function.result.unwrap_or_else(|fault| panic!("{}: {fault}", function.name));
            codes.extend(decompiled.code.map(|code| (TEXT.to_owned(), code)));
            // A pass that did not run changed nothing since the front end.
            for (pass, _) in passes() {
                if !codes.contains_key(pass) {
                    let lifted = codes["lift"].clone();
                    codes.insert(pass.to_owned(), lifted);
                }
            }
            for (pass, code) in codes {
                stages.entry(pass).or_default().push(Function { symbol: function.name.clone(), code });
            }
        },
    );
    stages
}

fn cubin_of(file: &str) -> PathBuf {
    folder().join("sm_35").join(format!("{file}.cubin"))
}

#[test]
fn the_emulator_and_the_interpreter_agree_after_every_pass() {
    let cases = cases::all();
    let files: BTreeSet<&str> = cases.iter().map(|case| case.file.as_str()).collect();
    let cubins = files.iter().map(|file| (*file, std::fs::read(cubin_of(file)).unwrap()));
    let cubins: BTreeMap<&str, Vec<u8>> = cubins.collect();
    let stages: BTreeMap<&str, _> = cubins.iter().map(|(file, bytes)| (*file, stages(bytes))).collect();
    let mut failures = Vec::new();
    let mut runs = 0;
    for case in &cases {
        let cubin = &cubins[case.file.as_str()];
        for round in 0..ROUNDS {
            let inputs = case.inputs(round);
            let expected = emulated::run(cubin, case, &inputs).unwrap_or_else(|fault| panic!("{fault}")).0;
            for (stage, functions) in &stages[case.file.as_str()] {
                runs += 1;
                let failure = match emulated::interpret(cubin, functions, case, &inputs) {
                    Err(fault) => Some(fault.to_string()),
                    Ok(found) => compare::difference(case, &expected, &found),
                };
                failures.extend(failure.map(|what| format!("{} after {stage}: {what}", case.kernel)));
            }
        }
    }
    println!("{} kernels, {runs} runs", cases.len());
    failures.dedup();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The `//CASE` lines of `choices.cu`, as a table.
const CHOICES: &str = "
choices summed 1 32 i32*32 i32*32
choices at_offsets 1 32 i32*32 i32*32
choices of_three 1 32 i32{-9..9}*32 i32*32
choices or_global 1 32 i32*32 i32*32
choices walk 1 32 i32*32 i32*32
";

#[test]
fn pointers_to_chosen_constants_lead_to_the_same_variables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia/decompile/choices.cubin");
    let cubin = std::fs::read(path).unwrap();
    let stages = stages(&cubin);
    for case in cases::read(CHOICES) {
        for round in 0..ROUNDS {
            let inputs = case.inputs(round);
            let expected = emulated::run(&cubin, &case, &inputs).unwrap_or_else(|fault| panic!("{fault}")).0;
            for (stage, functions) in &stages {
                let found = emulated::interpret(&cubin, functions, &case, &inputs);
                let found = found.unwrap_or_else(|fault| panic!("{} after {stage}: {fault}", case.kernel));
                let difference = compare::difference(&case, &expected, &found);
                assert_eq!(difference, None, "{} after {stage}", case.kernel);
            }
        }
    }
}
