//! Benchmark of decoding and printing: `speed ARCHITECTURE FILE…`, with files of bare instruction words.
//!
//! Prints megabytes of code per second, the best of several runs on one thread.

use std::hint::black_box;
use std::time::Instant;

use unshade_sass::isa;
use unshade_sass::listing::Function;

/// The assumed size of a function in bytes. Real ones are seldom larger.
const FUNCTION_SIZE: usize = 1 << 15;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let architecture =
        arguments.next().and_then(|text| text.parse().ok()).expect("an architecture, such as 35");
    let isa = isa::by_architecture(architecture).expect("a supported architecture");
    for path in arguments {
        let bytes = std::fs::read(&path).expect("a readable file");
        let rate = |seconds: f64| bytes.len() as f64 / 1e6 / seconds;
        let function = Function { name: "speed", isa, bytes: &bytes, address: 0, file_offset: 0 };
        let (mut decoded, mut printed) = (f64::MAX, f64::MAX);
        let mut text = String::new();
        for _ in 0..7 {
            let start = Instant::now();
            black_box(function.undecoded().count());
            decoded = decoded.min(start.elapsed().as_secs_f64());
            text.clear();
            let start = Instant::now();
            for bytes in bytes.chunks(FUNCTION_SIZE) {
                Function { bytes, ..function }.raw(&mut text);
            }
            printed = printed.min(start.elapsed().as_secs_f64());
        }
        println!(
            "{path}: {} bytes, decode {:.0} MB/s, listing {:.1} MB/s",
            bytes.len(),
            rate(decoded),
            rate(printed)
        );
    }
}
