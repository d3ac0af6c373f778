//! How fast machine code is decoded and printed: `speed ARCHITECTURE FILE…`, files of words without a container.
//!
//! Prints megabytes of code a second, the best of several runs on one thread.

use std::hint::black_box;
use std::time::Instant;

use unshade_sass::isa;
use unshade_sass::listing::Function;

/// How many bytes of code a function is taken to have. Real ones seldom have more.
const FUNCTION: usize = 1 << 15;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let architecture = arguments.next().and_then(|text| text.parse().ok()).expect("an architecture: 35");
    let isa = isa::by_architecture(architecture).expect("an architecture whose table there is");
    for path in arguments {
        let bytes = std::fs::read(&path).expect("the file can be read");
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
            for bytes in bytes.chunks(FUNCTION) {
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
