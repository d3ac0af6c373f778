//! Times the disassembly of one module against `llvm-dis`, in alternation, with one thread each.
//!
//! ```text
//! speed FILE [--program llvm-dis-14] [--rounds 9] [--only-ours]
//! ```
//!
//! Our time is that of parsing and printing into a reused string. Theirs is that of the whole process with its
//! output discarded, minus its start-up time (measured with `--version`). Prints rates and the median of the
//! ratios.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use unshade_llvm::Module;
use unshade_llvm::print::{self, PrintOptions};

fn run(program: &str, arguments: &[&str]) -> Duration {
    let start = Instant::now();
    let _ = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    start.elapsed()
}

fn ours(bytes: &[u8], text: &mut String) -> Option<(Duration, Duration)> {
    text.clear();
    let start = Instant::now();
    let module = Module::parse(bytes, 0).ok()?;
    let parsed = start.elapsed();
    print::module(&module, &PrintOptions::default(), text);
    Some((parsed, start.elapsed()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut program, mut rounds, mut alone) = (None, String::from("llvm-dis-14"), 9, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--program" => program = arguments.next().unwrap_or_default(),
            "--rounds" => rounds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(rounds),
            "--only-ours" => alone = true,
            _ => file = Some(argument),
        }
    }
    let Some(file) = file else {
        eprintln!("usage: speed FILE [--program P] [--rounds N] [--only-ours]");
        return ExitCode::from(2);
    };
    let Ok(bytes) = std::fs::read(&file) else { return ExitCode::from(2) };
    let mut text = String::new();
    let (mut rates, mut ratios, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let mut parse = Duration::MAX;
    for _ in 0..rounds {
        let Some((parsed, time)) = ours(&bytes, &mut text) else { return ExitCode::from(2) };
        parse = parse.min(parsed);
        rates.push(text.len() as f64 / 1e6 / time.as_secs_f64());
        if !alone {
            let start_up = run(&program, &["--version"]);
            let their = run(&program, &[&file, "-o", "/dev/null"]).saturating_sub(start_up);
            theirs.push(text.len() as f64 / 1e6 / their.as_secs_f64());
            ratios.push(their.as_secs_f64() / time.as_secs_f64());
        }
    }
    println!(
        "{} bytes in, {} bytes out; tables in {:.2} ms",
        bytes.len(),
        text.len(),
        parse.as_secs_f64() * 1e3
    );
    println!("ours   {:.0} MB/s out (median)", median(rates));
    if !alone {
        println!("theirs {:.0} MB/s out (median)\nmedian of ratios {:.2}", median(theirs), median(ratios));
    }
    ExitCode::SUCCESS
}
