//! Reads what was built, by this crate and by LLVM's tools where they are installed.

use std::io::{Error, Write};
use std::process::{Command, Stdio};
use unshade_llvm::Module;
use unshade_llvm::build::Version;
use unshade_llvm::print::{self, Dialect, PrintOptions};

/// Returns a module as text, without findings.
pub(crate) fn printed(bitcode: &[u8]) -> Result<String, Box<dyn std::error::Error>> {
    let module = Module::parse(bitcode, 0)?;
    assert!(module.diagnostics.is_empty(), "{:?}", module.diagnostics);
    module.bodies()?;
    let mut text = String::new();
    let opaque = module.types.find(unshade_llvm::types::Type::OpaquePointer { address_space: 0 }).is_some();
    let dialect = if opaque { Dialect::Llvm19 } else { Dialect::Llvm14 };
    let found = print::module(&module, &PrintOptions { dialect, ..PrintOptions::default() }, &mut text);
    assert!(found.is_empty(), "{found:?}");
    Ok(text)
}

/// Checks that LLVM's verifier accepts a module and its disassembler prints the same text, if they are installed.
pub(crate) fn accepted(version: Version, bitcode: &[u8], text: &str) -> Result<(), Error> {
    let number = match version {
        Version::Llvm14 => 14,
        _ => 19,
    };
    if let Some(output) = run(
        &format!("opt-{number}"),
        &["-mtriple=x86_64", "-passes=verify", "-disable-output", "-"],
        bitcode,
    )? {
        assert!(output.0, "{}\n{text}", output.1);
    }
    if let Some((true, listing)) = run(&format!("llvm-dis-{number}"), &["-o", "-", "-"], bitcode)? {
        // A module without the name of a source has that of the file.
        let is_named =
            |line: &&str| !line.starts_with("; ModuleID") && *line != "source_filename = \"<stdin>\"";
        let text: String = text.lines().filter(is_named).map(with_end).collect();
        let listing: String = listing.lines().filter(is_named).map(with_end).collect();
        assert_eq!(listing, text);
    }
    Ok(())
}

fn with_end(line: &str) -> String {
    format!("{line}\n")
}

/// Runs a tool on standard input. Returns whether it succeeded and what it said, or nothing if it is not installed.
fn run(tool: &str, arguments: &[&str], input: &[u8]) -> Result<Option<(bool, String)>, Error> {
    let spawned = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else { return Ok(None) };
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let output = child.wait_with_output()?;
    let said = if output.status.success() { output.stdout } else { output.stderr };
    Ok(Some((output.status.success(), String::from_utf8_lossy(&said).into_owned())))
}
