//! The program `unshade`.

use std::process::ExitCode;

fn main() -> ExitCode {
    unshade_cli::main()
}
