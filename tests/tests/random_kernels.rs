//! Random kernels as C: nothing panics or hangs, and the emulator and the C produce the same memory.
//! `cargo xtask conformance decompile-random` does the same for many more.

use std::time::{Duration, Instant};

use unshade_tests::closed_loop::same_addresses::{Case, HostCompiler, Verdict};
use unshade_tests::random_kernels::{Shape, Skipped, case, encodings};

/// Number of kernels of each shape.
const CASES: u64 = 34;

/// Maximum duration; a kernel that takes longer hangs.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn the_emulator_and_the_c_of_random_kernels_agree() {
    let encodings = encodings();
    let mut cases: Vec<Case> = Vec::new();
    for number in 0..3 * CASES {
        let shape = [Shape::Straight, Shape::Nested, Shape::Graph][(number % 3) as usize];
        let start = Instant::now();
        match case(&encodings, number, shape) {
            Ok(case) => cases.push(case),
            // There is nothing to compare, which counts as terminating.
            Err(Skipped::Refused(_) | Skipped::Faulted(_)) => {}
            Err(Skipped::Unlifted(name)) => panic!("{number}: {name} has no C equivalent"),
        }
        assert!(start.elapsed() < LONG, "{number} takes {:?}", start.elapsed());
    }
    assert!(cases.len() as u64 > 2 * CASES, "most can be compared");
    let scratch = std::env::temp_dir().join(format!("unshade-random-kernels-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a folder for programs");
    let verdicts = HostCompiler::new(&scratch, "-O0").expect("g++ is needed").run(&cases, 0);
    let _ = std::fs::remove_dir_all(&scratch);
    for (case, verdict) in cases.iter().zip(verdicts) {
        if let Verdict::Wrong(what) = verdict {
            panic!("{}: {what}\n{}", case.name, case.text);
        }
    }
}
