//! The decompiler, as a listing asks for it: the bytes of a program go in, lines of C, HLSL or Metal come out.
//!
//! Programs call it directly. The page has it in a WebAssembly module of its own, which it loads when decompiled text is
//! asked for the first time; there the bytes and the lines cross from one module to the other, the lines as JSON.

use super::response::{Answer, Fault, findings};
use crate::hlsl;
use crate::instruction_bytes::{InstructionBytes, words};
use crate::view::FindingView;
use crate::{air, decompile, msl, sass_listing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use unshade_core::{Diagnostics, Error, ErrorKind};
use unshade_decompile::{Line, Options};
use unshade_dxcontainer::Container;
use unshade_llvm::Module;
use unshade_nv::Cubin;
use unshade_nv::function::Function;

/// The maximum number of instructions of a function that is decompiled, with the functions that it calls.
const MAX_INSTRUCTIONS: usize = 20_000;

/// What bitcode begins with, without and with a wrapper.
const BITCODE: [[u8; 4]; 2] = [*b"BC\xc0\xde", [0xde, 0xc0, 0x17, 0x0b]];

/// What to decompile.
#[derive(Clone, Copy, Debug)]
pub struct DecompilerInput<'a> {
    /// The bytes of a cubin, a DirectX container, a program of shader model 1, 2 or 3, or bitcode.
    pub program: &'a [u8],
    /// The offset of the first byte.
    pub base: u64,
    /// The index of the symbol of a cubin's function, or of a module of bitcode; [`None`] for a shader.
    pub symbol: Option<u32>,
}

/// A function as C, a shader as HLSL, or a module as Metal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecompiledText {
    /// The text: definitions that it needs, and functions.
    pub lines: Vec<DecompiledLine>,
    /// What was found while decompiling.
    pub findings: Vec<FindingView>,
}

/// A line of decompiled text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecompiledLine {
    /// The line, without a line break.
    pub text: String,
    /// The bytes of its instructions, neighbours together.
    pub ranges: Vec<Range<u64>>,
}

/// Decompiles a program: [`decompile()`], or what passes it on to another module.
pub type Decompiler = fn(&DecompilerInput<'_>) -> Answer<DecompiledText>;

/// Decompiles a function of a cubin, a shader, or a module.
///
/// # Errors
/// There is no such function or module, or it can't be decompiled.
pub fn decompile(input: &DecompilerInput<'_>) -> Answer<DecompiledText> {
    let is_bitcode = BITCODE.iter().any(|magic| input.program.starts_with(magic));
    match input.symbol {
        symbol if is_bitcode => module(input, symbol.unwrap_or(0)),
        Some(symbol) => function(input, symbol),
        None => shader(input),
    }
}

/// Decompiles a function of a cubin to C: definitions that it needs, an empty line, and the function.
fn function(input: &DecompilerInput<'_>, symbol: u32) -> Answer<DecompiledText> {
    let no_function = || Fault::new("the function can't be read");
    let cubin = Cubin::parse_at(input.program, input.base)?;
    let options = Options { budget: MAX_INSTRUCTIONS, ..Options::default() };
    let is_wanted = |candidate: &Function<'_>| candidate.index == symbol;
    let (mut found, mut diagnostics) = (None, Diagnostics::new());
    decompile::cubin(&cubin, &is_wanted, &options, &mut diagnostics, &mut |one| found = Some(one.result));
    let decompiled = found.ok_or_else(no_function)?.map_err(|fault| Fault::new(fault.to_string()))?;
    let section = cubin.functions().find(is_wanted).and_then(|function| function.section);
    let base = cubin.elf().bytes(&section.ok_or_else(no_function)?)?.base();
    let size = sass_listing::instruction_set(&cubin).map_or(8, |isa| isa.word_bytes as u64);
    let definitions = decompiled.prelude.iter().flat_map(|definition| definition.lines());
    let separator = (!decompiled.prelude.is_empty()).then_some("");
    let without_code = definitions.chain(separator);
    let mut lines: Vec<DecompiledLine> =
        without_code.map(|text| DecompiledLine { text: text.to_owned(), ranges: Vec::new() }).collect();
    lines.extend(
        decompiled
            .lines
            .into_iter()
            .map(|line| DecompiledLine { text: line.text, ranges: words(&line.addresses, base, size) }),
    );
    Ok(DecompiledText { lines, findings: findings(&diagnostics) })
}

/// Decompiles a shader to HLSL.
fn shader(input: &DecompilerInput<'_>) -> Answer<DecompiledText> {
    let DecompilerInput { program, base, .. } = *input;
    let (hlsl, bytes) = if program.starts_with(b"DXBC") {
        let container = Container::parse_at(program, base)?;
        (hlsl::container(&container, &|_, _| true)?, InstructionBytes::of_container(&container)?)
    } else {
        (hlsl::direct3d9(program)?, InstructionBytes::of_direct3d9(program, base)?)
    };
    let (findings, ranges) = (
        unknown("HLSL", &hlsl.unknown_kinds(), |found, error| found.warning("hlsl", error)),
        bytes.of_lines(&hlsl),
    );
    Ok(DecompiledText { lines: with_ranges(hlsl.lines, ranges), findings })
}

/// Decompiles a module to Metal.
fn module(input: &DecompilerInput<'_>, index: u32) -> Answer<DecompiledText> {
    let mut modules = Module::parse_all(input.program, input.base)?;
    let module = modules.nth(index as usize).ok_or_else(|| Fault::new("there is no such module"))??;
    if !air::is_air(&module) {
        return Err(Fault::new("the module is LLVM bitcode, but not AIR"));
    }
    let metal = msl::module(&module, &|_, _| true);
    let ranges = InstructionBytes::of_module(&module).of_metal(&metal);
    let findings = unknown("Metal", &metal.unknown_kinds(), |found, error| found.warning("metal", error));
    Ok(DecompiledText { lines: with_ranges(metal.lines, ranges), findings })
}

/// Reports what has no form in a language, each kind once.
fn unknown(
    language: &str,
    kinds: &BTreeSet<&str>,
    report: impl Fn(&mut Diagnostics, Error),
) -> Vec<FindingView> {
    let mut diagnostics = Diagnostics::new();
    for kind in kinds {
        let text = format!("{language} has no form for {kind}");
        report(&mut diagnostics, Error::without_offset(ErrorKind::Unsupported, text));
    }
    findings(&diagnostics)
}

fn with_ranges(lines: Vec<Line>, ranges: Vec<Vec<Range<u64>>>) -> Vec<DecompiledLine> {
    lines.into_iter().zip(ranges).map(|(line, ranges)| DecompiledLine { text: line.text, ranges }).collect()
}

/// Decompiles a program; returns the answer as JSON, for [`parse_decompiled`] in another module.
pub fn decompile_json(input: &DecompilerInput<'_>) -> String {
    serde_json::to_string(&decompile(input)).unwrap_or_default()
}

/// Reads the answer of [`decompile_json`].
///
/// # Errors
/// The text is none, or the program could not be decompiled.
pub fn parse_decompiled(json: &str) -> Answer<DecompiledText> {
    let answer = serde_json::from_str::<Answer<DecompiledText>>(json);
    answer.unwrap_or_else(|error| Err(Fault::new(format!("the decompiler's answer can't be read: {error}"))))
}

#[cfg(test)]
mod tests {
    use super::{DecompilerInput, decompile, decompile_json, parse_decompiled};
    use unshade_nv::Cubin;

    #[test]
    fn answers_pass_through_json() {
        let bytes = include_bytes!("../../../../tests/fixtures/nvidia/calls_sm_35.cubin");
        let cubin = Cubin::parse(bytes).unwrap();
        let symbols: Vec<u32> = cubin.functions().map(|function| function.index).collect();
        assert!(symbols.len() > 1);
        for symbol in symbols.into_iter().chain([u32::MAX]) {
            let input = DecompilerInput { program: bytes, base: 0, symbol: Some(symbol) };
            assert_eq!(parse_decompiled(&decompile_json(&input)), decompile(&input));
        }
    }

    /// Lines of Metal come from instructions inside of the module.
    #[test]
    fn lines_of_modules_have_bytes() {
        let program = include_bytes!("../../../../tests/fixtures/air/kernel.bc");
        let input = DecompilerInput { program, base: 1_000, symbol: Some(0) };
        let text = decompile(&input).unwrap();
        assert!(text.lines.iter().any(|line| line.text.starts_with("kernel void ")));
        let ranges: Vec<_> = text.lines.iter().flat_map(|line| &line.ranges).collect();
        assert!(!ranges.is_empty());
        let end = 1_000 + program.len() as u64;
        assert!(
            ranges.iter().all(|range| 1_000 < range.start && range.start < range.end && range.end <= end)
        );
        assert_eq!(parse_decompiled(&decompile_json(&input)), Ok(text));
        let second = DecompilerInput { symbol: Some(1), ..input };
        assert!(decompile(&second).unwrap_err().message.contains("no such module"));
    }

    /// Lines of shaders come from instructions inside of the program, in each encoding.
    #[test]
    fn lines_of_shaders_have_bytes() {
        let text = "ps_2_0\ndcl t0.xy\ndcl_2d s0\ntexld r0, t0, s0\nmov oC0, r0\n";
        let direct3d9 = unshade_dxbc::d3d9::assemble(text).unwrap().write().unwrap();
        let shaders: [&[u8]; 4] = [
            include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc"),
            include_bytes!("../../../../tests/fixtures/dxcontainer/library.dxbc"),
            include_bytes!("../../../../tests/fixtures/dxcontainer/fxc_ps_5_1.dxbc"),
            &direct3d9,
        ];
        for program in shaders {
            let input = DecompilerInput { program, base: 1_000, symbol: None };
            let text = decompile(&input).unwrap();
            let ranges: Vec<_> = text.lines.iter().flat_map(|line| &line.ranges).collect();
            assert!(!ranges.is_empty());
            let end = 1_000 + program.len() as u64;
            assert!(
                ranges.iter().all(|range| 1_000 < range.start && range.start < range.end && range.end <= end)
            );
            assert_eq!(parse_decompiled(&decompile_json(&input)), Ok(text));
        }
    }

    #[test]
    fn other_text_is_a_fault() {
        assert!(parse_decompiled("").unwrap_err().message.contains("can't be read"));
    }
}
