//! The program `unshade` with one more format: the file beside this one, and the line that registers it.

mod toy;

use std::process::ExitCode;

fn main() -> ExitCode {
    unshade::program::register(&toy::FORMAT);
    unshade_cli::main()
}
