//! Decompiles texts of values and blocks, as `--print-after` writes them.

use crate::Outcome;
use crate::input::Input;
use crate::paint;
use anyhow::{Context, Result, bail};
use unshade::decompile::{FunctionC, Observer};
use unshade::decompiler::ir::{text, verify};
use unshade::decompiler::{Cache, Options, decompile_module};
use unshade::select::Selection;

/// What the text of a function begins with.
const HEADS: [&str; 2] = ["kernel \"", "function \""];

/// Returns whether bytes are such a text: whether the first line that is no comment begins a function.
pub(super) fn is_module(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b";"));
    first.is_some_and(|line| HEADS.iter().any(|head| line.starts_with(head.as_bytes())))
}

/// Decompiles the selected functions of a text.
pub(super) fn decompile(
    input: &Input,
    selection: &Selection,
    options: &Options,
    observe: &mut Observer<'_>,
    functions: &mut Vec<FunctionC>,
) -> Result<Outcome> {
    let text = std::str::from_utf8(input.bytes()).with_context(|| format!("{}: not UTF-8", input.name))?;
    let mut cache = Cache::default();
    let before = functions.len();
    for (index, part) in (0..).zip(parts(text)) {
        let module = text::parse(&part).with_context(|| input.name.clone())?;
        if let Some(fault) = verify::verify(&module.function).first() {
            bail!("{}: {}: {fault}", input.name, module.name.escape_debug());
        }
        let name = module.name.clone();
        if !selection.matches_name(index, name.as_bytes()) {
            continue;
        }
        let demangled = unshade::demangle(name.as_bytes());
        let instructions = module.function.values.len();
        let result = Ok(decompile_module(module, options, &mut cache, observe));
        functions.push(FunctionC { name, demangled, instructions, result });
    }
    if functions.len() == before {
        anstream::eprintln!("{}: {}: no such function", paint::error("unshade"), input.name);
        return Ok(Outcome::Finding);
    }
    Ok(Outcome::Done)
}

/// Splits a text into those of its functions, each after as many empty lines as there are lines before it: so positions in
/// messages are those of the file.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if HEADS.iter().any(|head| line.trim_start().starts_with(head)) {
            parts.push("\n".repeat(index));
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_recognised_by_their_first_line() {
        assert!(is_module(b"; f after lift\n\nkernel \"f\" shared 0 local 0\n"));
        assert!(is_module(b"function \"f\" shared 0 local 0\n"));
        for other in [&b""[..], b"; comment", b"\x7fELF", b"kernel void f() {}"] {
            assert!(!is_module(other), "{other:?}");
        }
    }

    #[test]
    fn functions_stay_at_their_lines() {
        let text = "; one\nkernel \"f\"\nb0:\n\n; two\nkernel \"g\"\nb0:\n";
        assert_eq!(parts(text), ["\nkernel \"f\"\nb0:\n\n; two\n", "\n\n\n\n\nkernel \"g\"\nb0:\n"]);
    }
}
