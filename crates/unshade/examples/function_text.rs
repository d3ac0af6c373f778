//! Prints a function: its declaration, its disassembly, and its source if there is one.
//!
//! ```text
//! cargo run --example function_text -- tests/fixtures/nvidia/calls_sm_35.cubin NAME
//! ```

use std::error::Error;
use std::fmt::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: function_text FILE NAME";
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or(usage)?;
    let name = arguments.next().ok_or(usage)?;
    print!("{}", explain(&path, &name)?);
    Ok(())
}

/// Returns everything that can be read of the functions of this name, mangled or demangled.
pub(crate) fn explain(path: &str, name: &str) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let file = unshade::open(path)?;
    for program in file.programs() {
        for function in program.functions()? {
            if function.name() != name && function.demangled() != Some(name) {
                continue;
            }
            writeln!(text, "// {}", function.signature())?;
            // Of a damaged function the listing has what can be read, and its diagnostics the rest.
            let listing = function.listing()?;
            for diagnostic in listing.diagnostics.iter() {
                writeln!(text, "// {}", diagnostic.error)?;
            }
            text.push_str(&listing.text);
            // C for Kepler machine code, the embedded source of a Metal library or a container.
            match function.source() {
                Ok(source) => writeln!(text, "// {:?}\n{source}", source.origin)?,
                Err(error) => writeln!(text, "// no source: {error}")?,
            }
        }
    }
    if text.is_empty() { Err(format!("{path}: no function {name}").into()) } else { Ok(text) }
}
