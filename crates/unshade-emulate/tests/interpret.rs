//! Kernels in the textual form of the intermediate representation, run by the interpreter.

use unshade_emulate::interpret::Function;
use unshade_emulate::{Argument, Device, Fault, Grid, Limits, Module, Reason, Summary};
use unshade_ir::code::Code;
use unshade_ir::text;
use unshade_ir::verify::verify;

/// Parses functions, the kernel first.
fn functions(texts: &[&str]) -> Vec<Function> {
    let function = |text: &&str| {
        let module = text::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(verify(&module.function), Vec::<String>::new());
        Function { symbol: module.name.clone(), code: Code::new(&module) }
    };
    texts.iter().map(function).collect()
}

/// Runs a kernel `k` with a pointer to 64 words that are all 7, and returns the words.
fn run(texts: &[&str], grid: Grid, limits: Limits) -> Result<(Vec<u32>, Summary), Fault> {
    let mut device = Device::new();
    device.limit_memory(64 << 20);
    let module = Module::of_code(35, "k", &[0; 8], &[8]).unwrap();
    let buffer = device.allocate(256, "buffer")?;
    device.write(buffer, &7_u32.to_le_bytes().repeat(64))?;
    let arguments = [Argument::from(buffer)];
    let summary = module.interpret(&mut device, &functions(texts), "k", grid, &arguments, limits)?;
    let bytes = device.read(buffer, 256)?;
    let words = bytes.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    Ok((words.collect(), summary))
}

/// A kernel that stores a value for each thread: `{body}` computes `v9`.
fn stores(body: &str) -> String {
    format!(
        "kernel \"k\" shared 0 local 0\nparameter 0 size 8\nb0 @0x0:\n    v1:64 = parameter 0\n    v2:32 = special \
         thread_index.x\n    v3:64 = zero_extend v2\n    v4:64 = mul v3, 4:64\n    v5:64 = add v1, v4\n{body}    \
         store.generic v5, v9\n    return\n"
    )
}

#[test]
fn clocks_advance_with_each_instruction() {
    let text = stores("    v9:32 = call time.clock\n");
    let clocks = |ticks| run(&[&text], Grid::new(1, 32), Limits { ticks, ..Limits::default() }).unwrap().0;
    let (slow, fast) = (clocks(1), clocks(7));
    assert!(slow[0] > 0);
    assert_eq!(fast[..32], slow[..32].iter().map(|time| 7 * time).collect::<Vec<_>>());
}

#[test]
fn lanes_that_part_meet_again() {
    // Odd threads leave the branch later; the ballot after it has all lanes.
    let text = stores(
        "    v6:32 = and v2, 1:32\n    v7:1 = equal v6, 1:32\n    branch v7, b1, b2\nb1 @0x8 <- b0:\n    goto b2\nb2 @0x10 \
         <- b0, b1:\n    v8:32 = phi 1:32, 2:32\n    v10:1 = less v8, 3:32\n    v9:32 = call ballot v10\n",
    );
    let (words, _) = run(&[&text], Grid::new(1, 64), Limits::default()).unwrap();
    assert_eq!(words, [u32::MAX; 64]);
}

#[test]
fn calls_have_arguments_results_and_recursion() {
    let kernel = stores("    v9:32 = invoke c0 v2\n")
        .replace("b0 @0x0", "callee c0 \"sum\" words 1 (0 size 4)\nb0 @0x0");
    // sum(n) = n == 0 ? 0 : n + sum(n - 1)
    let sum = "function \"sum\" shared 0 local 0\nparameter 0 size 4\ncallee c0 \"sum\" words 1 (0 size 4)\nb0 @0x0:\n    v0:32 = \
               parameter 0\n    v1:1 = equal v0, 0:32\n    branch v1, b2, b1\nb1 @0x8 <- b0:\n    v2:32 = sub v0, 1:32\n    v3:32 \
               = invoke c0 v2\n    v4:32 = add v0, v3\n    goto b2\nb2 @0x10 <- b0, b1:\n    v5:32 = phi 0:32, v4\n    \
               return_value v5\n    return\n";
    let (words, _) = run(&[&kernel, sum], Grid::new(1, 64), Limits::default()).unwrap();
    let expected: Vec<u32> = (0..64).map(|n| n * (n + 1) / 2).collect();
    assert_eq!(words, expected);
    let endless = sum.replace("equal v0, 0:32", "not_equal v0, v0");
    let fault = run(&[&kernel, &endless], Grid::new(1, 1), Limits::default()).unwrap_err();
    assert_eq!(fault.reason, Reason::StackOverflow);
}

#[test]
fn loops_without_an_end_reach_the_limit() {
    let text = "kernel \"k\" shared 0 local 0\nparameter 0 size 8\nb0 @0x0:\n    goto b1\nb1 @0x8 <- b0, b1:\n    goto b1\n";
    let limits = Limits { steps: 1000, ..Limits::default() };
    let fault = run(&[text], Grid::new(1, 32), limits).unwrap_err();
    assert_eq!(fault.reason, Reason::Steps(1000));
}

#[test]
fn faults_name_the_place_and_the_thread() {
    let text = stores("    v6:64 = add v5, 128:64\n    v9:32 = load.generic v6 @0x40\n");
    let fault = run(&[&text], Grid::new(1, 64), Limits::default()).unwrap_err();
    let location = fault.location.unwrap();
    assert!(matches!(fault.reason, Reason::OutOfBounds { .. }));
    assert_eq!((location.kernel.as_str(), location.address, location.thread), ("k", 0x40, [32, 0, 0]));
}

#[test]
fn races_and_divisions_by_zero_are_found() {
    let text = stores("    v6:64 = sub v5, v4\n    v9:32 = load.generic v6\n")
        .replace("store.generic v5", "store.generic v1");
    let text = text.replace("v9\n    return", "v2\n    return");
    let limits = Limits { ordered: true, ..Limits::default() };
    let fault = run(&[&text], Grid::new(1, 64), limits).unwrap_err();
    assert!(matches!(fault.reason, Reason::Order(_)), "{fault}");
    let text = stores("    v9:32 = udiv 5:32, v2\n");
    let (words, summary) = run(&[&text], Grid::new(1, 4), Limits::default()).unwrap();
    assert_eq!((&words[1..4], summary.divisions_by_zero), (&[5, 2, 1][..], 1));
}
