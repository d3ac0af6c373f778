//! Lists the GPU programs in a file, and their functions.
//!
//! ```text
//! cargo run --example list_functions -- tests/fixtures/metallib/vertex_fragment.metallib
//! ```

use std::error::Error;
use std::fmt::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: list_functions FILE")?;
    print!("{}", list(&path)?);
    Ok(())
}

/// Returns one line per program and one per function.
pub(crate) fn list(path: &str) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    // Any file will do: a library, or an executable or archive with some in it.
    let file = unshade::open(path)?;
    for program in file.programs() {
        // The path within the file: `@0x1234`, `!member`.
        let target = program.target().unwrap_or_default();
        writeln!(text, "{}, {target}, {} bytes", program.format(), program.bytes().len())?;
        // A program that can't be read does not hide the others.
        let functions = match program.functions() {
            Ok(functions) => functions,
            Err(error) => {
                writeln!(text, "  {error}")?;
                continue;
            }
        };
        for function in functions {
            writeln!(text, "  #{} {:8} {}", function.index(), function.kind(), function.name())?;
        }
    }
    // What could not be searched: a damaged archive, or a limit that was reached.
    for diagnostic in file.diagnostics().iter() {
        writeln!(text, "{}", diagnostic.error)?;
    }
    Ok(text)
}
