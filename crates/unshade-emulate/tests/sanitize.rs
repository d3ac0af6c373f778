//! Checks of launches: each fault is found in a kernel that has it, and not in its corrected twin.

use unshade_emulate::sanitize::{Options, Report, Tool};
use unshade_emulate::{Argument, Device, Grid, Limits, Module};

/// What a kernel is run on.
enum Given {
    /// A buffer of zeros: the number of ints.
    Ints(u64),
    /// A buffer with these ints.
    Values(&'static [i32]),
    /// A buffer that was never written: the number of ints.
    Unset(u64),
    Number(i32),
}

use Given::{Ints, Number, Unset, Values};

fn load() -> (Device, Module) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia/sanitize/faults.cubin");
    let mut device = Device::new();
    let module = Module::load(&mut device, &std::fs::read(path).expect("a fixture")).expect("a cubin");
    (device, module)
}

fn sanitize(kernel: &str, grid: Grid, given: &[Given], options: &Options) -> Report {
    let (mut device, module) = load();
    let mut arguments = Vec::new();
    for given in given {
        let buffer = |device: &mut Device, count: u64| device.allocate(4 * count, "a buffer").unwrap();
        arguments.push(match given {
            Ints(count) => buffer(&mut device, *count).into(),
            Values(values) => {
                let pointer = buffer(&mut device, values.len() as u64);
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                device.write(pointer, &bytes).unwrap();
                pointer.into()
            }
            Unset(count) => {
                let pointer = buffer(&mut device, *count);
                device.mark_unset(pointer);
                pointer.into()
            }
            Number(number) => Argument::from(*number),
        });
    }
    let limits = Limits { steps: 10_000_000, ..Limits::default() };
    module.sanitize(&mut device, kernel, grid, &arguments, limits, options).expect("a launch")
}

/// (kernel, blocks, threads, arguments, findings as kind and number of faults)
type Case = (&'static str, u32, u32, &'static [Given], &'static [(&'static str, u64)]);

const BETWEEN: (&str, u64) = ("race-between-blocks", 1);

const CASES: &[Case] = &[
    ("outside", 1, 32, &[Ints(32)], &[("out-of-bounds", 1)]),
    ("misaligned", 1, 8, &[Ints(8)], &[("misaligned", 4)]),
    ("use_after_free", 1, 1, &[Ints(2)], &[("use-after-free", 1)]),
    ("double_free", 1, 2, &[Ints(3)], &[("double-free", 2)]),
    ("invalid_free", 1, 1, &[Ints(2)], &[("invalid-free", 1)]),
    ("leak", 1, 4, &[Ints(2)], &[("leak", 4)]),
    ("heap_unset", 1, 1, &[Values(&[7, 0, 2])], &[("uninitialized-read", 1)]),
    ("shared_unset", 1, 64, &[Ints(64)], &[("uninitialized-read", 33)]),
    ("global_unset", 1, 32, &[Unset(32), Ints(32)], &[("uninitialized-read", 16)]),
    ("diverged_warp", 1, 32, &[Ints(32)], &[("divergent-barrier", 1)]),
    ("diverged_block", 1, 64, &[Ints(64)], &[("divergent-barrier", 1)]),
    ("early_exit", 1, 64, &[Ints(64), Number(32)], &[("divergent-barrier", 1)]),
    ("stuck", 1, 64, &[Ints(64)], &[("stuck-barrier", 1)]),
    (
        "race_shared",
        1,
        64,
        &[Ints(64)],
        &[("uninitialized-read", 32), ("race-in-block", 32), ("race-in-block", 32)],
    ),
    ("race_lanes", 1, 32, &[Ints(32)], &[("race-in-warp", 31)]),
    (
        "race_sum",
        4,
        32,
        &[Ints(1), Values(&[1, 2, 3, 4])],
        &[("race-between-blocks", 3), ("race-between-blocks", 3)],
    ),
    ("last_block", 4, 32, &[Ints(1), Ints(4), Ints(1)], &[BETWEEN, BETWEEN, BETWEEN]),
    (
        "grid_barrier",
        4,
        64,
        &[Ints(512), Ints(1)],
        &[("race-between-blocks", 128), ("race-between-blocks", 128)],
    ),
    ("flag", 2, 1, &[Ints(1), Ints(1), Ints(1)], &[BETWEEN]),
    ("locked", 4, 32, &[Ints(1), Ints(2)], &[("race-between-blocks", 3), ("race-between-blocks", 3)]),
    ("stack", 1, 1, &[Ints(1)], &[("stack-overflow", 1)]),
];

#[test]
fn faults_are_found_and_their_twins_are_silent() {
    for (kernel, blocks, threads, given, expected) in CASES {
        let grid = Grid::new(*blocks, *threads);
        let report = sanitize(kernel, grid, given, &Options::default());
        let found: Vec<(&str, u64)> =
            report.findings.iter().map(|finding| (finding.kind().name, finding.count)).collect();
        assert_eq!(found, *expected, "{kernel}");
        let twin = sanitize(&format!("{kernel}_ok"), grid, given, &Options::default());
        assert_eq!(twin.findings, [], "{kernel}_ok");
        assert!(twin.is_complete, "{kernel}_ok");
    }
}

#[test]
fn a_fault_has_its_call_stack() {
    let report = sanitize("outside", Grid::new(1, 32), &[Ints(32)], &Options::default());
    let location = report.findings[0].fault.location.clone().unwrap();
    let functions: Vec<&str> = location.stack.iter().map(|frame| frame.function.as_str()).collect();
    assert_eq!(functions, ["_Z3putPiii", "_Z8put_nextPiii", "outside"]);
}

#[test]
fn freed_memory_has_its_history() {
    let report = sanitize("use_after_free", Grid::new(1, 1), &[Ints(2)], &Options::default());
    let related: Vec<&str> = report.findings[0].related.iter().map(|related| related.what).collect();
    assert_eq!(related, ["allocated by", "freed by"]);
}

#[test]
fn tools_and_limit_select() {
    let names = |tools: &[Tool], limit| {
        let options = Options { tools: tools.to_vec(), limit };
        let report = sanitize("race_shared", Grid::new(1, 64), &[Ints(64)], &options);
        let names: Vec<_> = report.findings.iter().map(|finding| finding.kind().name).collect();
        (names, report.omitted)
    };
    assert_eq!(names(&[Tool::Init], 9), (vec!["uninitialized-read"], 0));
    assert_eq!(names(&[Tool::Races], 1), (vec!["race-in-block"], 1));
    assert_eq!(names(&[Tool::Memory, Tool::Sync], 9), (vec![], 0));
}
