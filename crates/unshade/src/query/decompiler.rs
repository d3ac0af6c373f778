//! The decompiler, as a listing asks for it: the bytes of a program go in, lines of C come out.
//!
//! Programs call it directly. The page has it in a WebAssembly module of its own, which it loads when C is asked for the
//! first time; there the bytes and the lines cross from one module to the other, the lines as JSON.

use super::response::{Answer, Fault, findings};
use crate::decompile;
use crate::view::FindingView;
use serde::{Deserialize, Serialize};
use unshade_core::Diagnostics;
use unshade_decompile::Options;
use unshade_nv::Cubin;
use unshade_nv::function::Function;

/// The maximum number of instructions of a function that is decompiled, with the functions that it calls.
const MAX_INSTRUCTIONS: usize = 20_000;

/// A function of a cubin.
#[derive(Clone, Copy, Debug)]
pub struct CubinFunction<'a> {
    /// The bytes of the cubin.
    pub cubin: &'a [u8],
    /// The offset of the first byte, for what is found.
    pub base: u64,
    /// The index of the function's symbol.
    pub symbol: u32,
}

/// A function as C.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecompiledFunction {
    /// The text: definitions that it needs, an empty line, and the function.
    pub lines: Vec<DecompiledLine>,
    /// What was found while decompiling.
    pub findings: Vec<FindingView>,
}

/// A line of C.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecompiledLine {
    /// The line, without a line break.
    pub text: String,
    /// The addresses of its instructions in the function's section, ascending.
    pub addresses: Vec<u32>,
}

/// Decompiles a function: [`decompile()`], or what passes the function on to another module.
pub type Decompiler = fn(&CubinFunction<'_>) -> Answer<DecompiledFunction>;

/// Decompiles a function.
///
/// # Errors
/// There is no such function, or it can't be decompiled.
pub fn decompile(function: &CubinFunction<'_>) -> Answer<DecompiledFunction> {
    let cubin = Cubin::parse_at(function.cubin, function.base)?;
    let options = Options { budget: MAX_INSTRUCTIONS, ..Options::default() };
    let is_wanted = |candidate: &Function<'_>| candidate.index == function.symbol;
    let (mut found, mut diagnostics) = (None, Diagnostics::new());
    decompile::cubin(&cubin, &is_wanted, &options, &mut diagnostics, &mut |one| found = Some(one.result));
    let decompiled = found
        .ok_or_else(|| Fault::new("the function can't be read"))?
        .map_err(|fault| Fault::new(fault.to_string()))?;
    let definitions = decompiled.prelude.iter().flat_map(|definition| definition.lines());
    let separator = (!decompiled.prelude.is_empty()).then_some("");
    let without_code = definitions.chain(separator);
    let mut lines: Vec<DecompiledLine> =
        without_code.map(|text| DecompiledLine { text: text.to_owned(), addresses: Vec::new() }).collect();
    lines.extend(
        decompiled
            .lines
            .into_iter()
            .map(|line| DecompiledLine { text: line.text, addresses: line.addresses }),
    );
    Ok(DecompiledFunction { lines, findings: findings(&diagnostics) })
}

/// Decompiles a function; returns the answer as JSON, for [`parse_decompiled`] in another module.
pub fn decompile_json(function: &CubinFunction<'_>) -> String {
    serde_json::to_string(&decompile(function)).unwrap_or_default()
}

/// Reads the answer of [`decompile_json`].
///
/// # Errors
/// The text is none, or the function could not be decompiled.
pub fn parse_decompiled(json: &str) -> Answer<DecompiledFunction> {
    let answer = serde_json::from_str::<Answer<DecompiledFunction>>(json);
    answer.unwrap_or_else(|error| Err(Fault::new(format!("the decompiler's answer can't be read: {error}"))))
}

#[cfg(test)]
mod tests {
    use super::{CubinFunction, decompile, decompile_json, parse_decompiled};
    use unshade_nv::Cubin;

    #[test]
    fn answers_pass_through_json() {
        let bytes = include_bytes!("../../../../tests/fixtures/nvidia/calls_sm_35.cubin");
        let cubin = Cubin::parse(bytes).unwrap();
        let symbols: Vec<u32> = cubin.functions().map(|function| function.index).collect();
        assert!(symbols.len() > 1);
        for symbol in symbols.into_iter().chain([u32::MAX]) {
            let function = CubinFunction { cubin: bytes, base: 0, symbol };
            assert_eq!(parse_decompiled(&decompile_json(&function)), decompile(&function));
        }
    }

    #[test]
    fn other_text_is_a_fault() {
        assert!(parse_decompiled("").unwrap_err().message.contains("can't be read"));
    }
}
