//! Every fixture truncated at every byte, and with every byte changed: nothing panics, the outline covers every byte,
//! and memory stays in proportion to the file.

mod counting;

use counting::Counting;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use unshade_metallib::Library;

use unshade_tests::{corpus, exercise, fixtures, metallib_builder as builder, mutate, parallel};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the memory limit for a file of this size.
fn heap_limit(file_size: usize) -> u64 {
    4 * file_size as u64 + (1 << 20)
}

/// Calls the whole API on a file. Returns the peak memory.
fn measured(data: &[u8]) -> u64 {
    let (seen, peak) = counting::peak(|| exercise::any(data));
    let faults = seen.map(|seen| seen.outline_faults).unwrap_or_default();
    assert!(faults.is_empty(), "outline: {faults:#?}");
    peak
}

/// Statistics over all mutations of a test.
#[derive(Default)]
struct Total {
    runs: AtomicU64,
    /// The highest memory peak, with a description of its mutation.
    worst: Mutex<(u64, String)>,
}

impl Total {
    fn run(&self, data: &[u8], what: impl Fn() -> String) {
        let peak = catch_unwind(AssertUnwindSafe(|| measured(data)))
            .unwrap_or_else(|_| panic!("{}: see the panic above", what()));
        let limit = heap_limit(data.len());
        assert!(peak <= limit, "{}: {peak} bytes of memory, more than {limit}", what());
        self.runs.fetch_add(1, Ordering::Relaxed);
        let mut worst = self.worst.lock().expect("no thread panics with the lock");
        if peak > worst.0 {
            *worst = (peak, what());
        }
    }

    fn report(&self, what: &str) {
        let (peak, of) = &*self.worst.lock().expect("no thread panics with the lock");
        eprintln!(
            "{what}: {} runs, at most {peak} bytes of memory ({of})",
            self.runs.load(Ordering::Relaxed)
        );
    }
}

fn exhaustive() -> bool {
    std::env::var_os("UNSHADE_EXHAUSTIVE").is_some()
}

/// Splits files into pieces of work of similar duration.
fn pieces(files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>, std::ops::Range<usize>)> {
    const PIECE: usize = 512;
    let mut pieces = Vec::new();
    for (name, data) in files {
        for start in (0..data.len()).step_by(PIECE) {
            pieces.push((name.clone(), data.clone(), start..data.len().min(start + PIECE)));
        }
    }
    pieces
}

fn truncate_everywhere(what: &str, files: Vec<(String, Vec<u8>)>) {
    let total = Total::default();
    parallel::for_each(&pieces(files), |(name, data, range)| {
        for length in range.clone() {
            total.run(&data[..length], || format!("{name} cut off at {length:#x}"));
        }
    });
    total.report(what);
}

fn change_every_byte(what: &str, files: Vec<(String, Vec<u8>)>) {
    let total = Total::default();
    parallel::for_each(&pieces(files), |(name, data, range)| {
        let mut changed = data.clone();
        for at in range.clone() {
            for value in mutate::byte_values(data[at], exhaustive()) {
                changed[at] = value;
                total.run(&changed, || format!("{name} with {value:#04x} at {at:#x}"));
            }
            changed[at] = data[at];
        }
    });
    total.report(what);
}

fn synthetic_files() -> Vec<(String, Vec<u8>)> {
    fixtures::all().into_iter().map(|fixture| (fixture.name.clone(), fixture.build().0)).collect()
}

fn real_files(test: &str) -> Vec<(String, Vec<u8>)> {
    let has_functions = |data: &[u8]| {
        Library::parse(data)
            .is_ok_and(|library| library.functions().next().is_some_and(|first| first.is_ok()))
    };
    let files = corpus::smallest_libraries(10, test, has_functions);
    files.into_iter().map(|file| (file.name, file.data)).collect()
}

#[test]
fn fixtures_truncated_at_every_byte() {
    truncate_everywhere("fixtures cut off", synthetic_files());
}

#[test]
fn fixtures_with_every_byte_changed() {
    change_every_byte("fixtures changed", synthetic_files());
}

#[test]
fn real_files_truncated_at_every_byte() {
    truncate_everywhere("real files cut off", real_files("cutting off at every byte"));
}

#[test]
fn real_files_with_every_byte_changed() {
    change_every_byte("real files changed", real_files("changing every byte"));
}

/// Functions that are nearly empty in the file, but not in memory.
#[test]
fn lists_of_tiny_functions_stay_in_proportion() {
    let groups: [&[u8]; 3] = [b"\x04\0\0\0", b"\x08\0\0\0ENDT", b"\x10\0\0\0NAME\x02\0a\0ENDT"];
    for group in groups {
        let data = builder::with_function_list(u32::MAX, &group.repeat(100_000));
        let peak = measured(&data);
        let limit = 8 * data.len() as u64 + (1 << 20);
        assert!(peak <= limit, "{peak} bytes of memory for {} of the file, more than {limit}", data.len());
        eprintln!(
            "functions of {} bytes: {peak} bytes of memory for {} of the file",
            group.len(),
            data.len()
        );
    }
}
