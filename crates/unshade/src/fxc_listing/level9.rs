//! Writes the program for feature level 9, and the tables that map its constants and samplers.

use std::fmt::Write;
use unshade_core::{Diagnostics, Reader, Result, TokenKind, TokenSink};
use unshade_dxbc::d3d9::Level9;
use unshade_dxbc::d3d9::level9::Scalar;
use unshade_dxbc::d3d9::listing::print_code;

/// Names of component conversions, by number.
const CONVERSIONS: [&str; 4] = ["FLT", "BOOL", "INT", "UINT"];
/// Names of constants that the runtime generates, by number.
const GENERATED: [&str; 2] = ["Vertex Shader position offset", "Instance ID"];

/// Parts with such a program, and FXC's name for it. XNAS and XNAP come from compilers for feature level 9.0; FXC's
/// text
/// for XNAP has not been observed.
pub(super) const PARTS: [(&[u8; 4], &str); 3] = [(b"Aon9", "Level9"), (b"XNAS", "XNA"), (b"XNAP", "XNA")];

/// Writes a part. `what` is FXC's name for the program.
///
/// # Errors
/// If its header or its program can't be read.
pub(super) fn write(
    data: Reader<'_>,
    what: &str,
    sink: &mut dyn TokenSink,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    let part = Level9::read(data)?;
    let mut text = String::new();
    constants(&mut text, &part);
    if !part.runtime_constants.is_empty() {
        text.push_str("//\n// Runtime generated constant mappings:\n//\n");
        text.push_str("// Target Reg                               Constant Description\n");
        text.push_str("// ---------- --------------------------------------------------\n");
        for constant in &part.runtime_constants {
            let what = GENERATED.get(usize::from(constant.kind)).unwrap_or(&"Unknown Value");
            let _ = writeln!(text, "// {:10} {what:>50}", format!("c{}", constant.target));
        }
        text.push_str("//\n");
    }
    if !part.samplers.is_empty() {
        text.push_str("//\n// Sampler/Resource to DX9 shader sampler mappings:\n//\n");
        text.push_str("// Target Sampler Source Sampler  Source Resource\n");
        text.push_str("// -------------- --------------- ----------------\n");
        for sampler in &part.samplers {
            let [target, source] = [sampler.target, sampler.sampler].map(|number| format!("s{number}"));
            let _ = writeln!(text, "// {target:14} {source:15} {:17}", format!("t{}", sampler.texture));
        }
        text.push_str("//\n");
    }
    let _ = write!(text, "//\n// {what} shader bytecode:\n//\n");
    sink.put(TokenKind::Comment, &text);
    let code = part.code(data)?;
    let program = part.program(data, diagnostics)?;
    print_code(&program, code.offset(), sink);
    Ok(())
}

fn constants(text: &mut String, part: &Level9) {
    if part.constants.is_empty() && part.integers.is_empty() && part.bools.is_empty() {
        return;
    }
    text.push_str("//\n// Constant buffer to DX9 shader constant mappings:\n//\n");
    scalars(text, 'b', &part.bools);
    scalars(text, 'i', &part.integers);
    if part.constants.is_empty() {
        return;
    }
    text.push_str("// Target Reg Buffer  Start Reg # of Regs        Data Conversion\n");
    text.push_str("// ---------- ------- --------- --------- ----------------------\n");
    for run in &part.constants {
        let (target, buffer) = (format!("c{}", run.target), format!("cb{}", run.buffer));
        let [x, y, z, w] =
            run.conversions.map(|number| CONVERSIONS.get(usize::from(number)).copied().unwrap_or("UNKN"));
        let _ = writeln!(
            text,
            "// {target:10} {buffer:7} {:9} {:9}  ({x:>4},{y:>4},{z:>4},{w:>4})",
            run.start, run.count
        );
    }
    text.push_str("//\n");
}

fn scalars(text: &mut String, letter: char, scalars: &[Scalar]) {
    if scalars.is_empty() {
        return;
    }
    text.push_str("// Target Reg Buffer  Source Reg Component\n");
    text.push_str("// ---------- ------- ---------- ---------\n");
    for scalar in scalars {
        let (target, buffer) = (format!("{letter}{}", scalar.target), format!("cb{}", scalar.buffer));
        let _ = writeln!(text, "// {target:10} {buffer:7} {:>10} {:>9}", scalar.register, scalar.component);
    }
    text.push_str("//\n");
}
