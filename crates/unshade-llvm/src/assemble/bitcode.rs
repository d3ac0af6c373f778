//! Turns a text into bitcode, as `llvm-as` does: it is parsed, verified and written.
//!
//! The verifier looks at the module as it was parsed, which can happen while that is written. If it finds anything, it
//! looks again at what was written, to know the positions.

use super::error::Fault;
use super::positions::TextMap;
use super::strip::{states_version, strip};
use super::{AssembleOptions, Assembled, SyntaxError, assemble};
use crate::verify;
use crate::write::{self, WriteOptions};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::{Diagnostic, Diagnostics};

/// The rule of debug information, which is dropped if it breaks it.
const DEBUG_INFO: &str = "ir-debug-info";

/// Returns whether the verifier finds nothing in a module.
pub type Verify<'a> = dyn Fn() -> bool + Sync + 'a;

/// Writes a module.
pub type Write<'a> = dyn Fn() -> unshade_core::Result<Vec<u8>> + Sync + 'a;

/// The bitcode of a text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bitcode {
    /// The file.
    pub bytes: Vec<u8>,
    /// What was dropped of the text, as `llvm-as` says it.
    pub warnings: Vec<String>,
}

/// Assembles a text to a bitcode file. `name` is that of its source, for a text that does not give it.
///
/// # Errors
/// What `llvm-as` refuses the text for: the first mistake of its syntax, or all that its verifier finds.
///
/// ```
/// use unshade_llvm::assemble::{AssembleOptions, bitcode};
///
/// let text = b"define i32 @f(i1 %x) {\n  br i1 %x, label %a, label %b\na:\n  %y = add i32 1, 2\n  br label %b\n\
///     b:\n  ret i32 %y\n}\n";
/// let errors = bitcode(text, b"f.ll", &AssembleOptions::default()).unwrap_err();
/// assert_eq!((errors[0].line, errors[0].column), (7, 3));
/// ```
pub fn bitcode(text: &[u8], name: &[u8], options: &AssembleOptions) -> Result<Bitcode, Vec<SyntaxError>> {
    bitcode_with(text, name, options, |verify, write| (verify(), write()))
}

/// As [`bitcode`]; `both` runs the verifier and the writer, one after the other or at once.
///
/// # Errors
/// As [`bitcode`].
pub fn bitcode_with(
    text: &[u8],
    name: &[u8],
    options: &AssembleOptions,
    both: impl Fn(&Verify<'_>, &Write<'_>) -> (bool, unshade_core::Result<Vec<u8>>),
) -> Result<Bitcode, Vec<SyntaxError>> {
    let mut assembled = assemble(text, options).map_err(|error| alloc::vec![error])?;
    assembled.module.source_filename.get_or_insert_with(|| name.to_vec());
    let mut warnings = Vec::new();
    if assembled.dropped_debug_info {
        warnings.push(
            "debug info is ignored: its version is not stated, or the location of an instruction is none"
                .to_string(),
        );
    }
    let options = WriteOptions { version: options.version, ..WriteOptions::default() };
    let (mut bytes, mut findings) = assembled.verified(text, &options, &both)?;
    let is_of_debug_info = |finding: &Diagnostic| finding.rule == DEBUG_INFO;
    if findings.iter().any(is_of_debug_info) && states_version(&assembled.module) {
        strip(&mut assembled);
        warnings.extend(findings.iter().filter(|finding| is_of_debug_info(finding)).map(message));
        warnings.push("invalid debug info is ignored".to_string());
        (bytes, findings) = assembled.verified(text, &options, &both)?;
    }
    if findings.has_errors() {
        return Err(findings.iter().map(|finding| error(text, finding)).collect());
    }
    Ok(Bitcode { bytes, warnings })
}

impl Assembled {
    /// Writes the module, and returns what the verifier finds in it, with positions in the text.
    fn verified(
        &self,
        text: &[u8],
        options: &WriteOptions<'_>,
        both: impl Fn(&Verify<'_>, &Write<'_>) -> (bool, unshade_core::Result<Vec<u8>>),
    ) -> Result<(Vec<u8>, Diagnostics), Vec<SyntaxError>> {
        let input = self.input();
        let (is_sound, written) =
            both(&|| verify::is_sound(&input, options.version), &|| write::module(&input, options));
        let written =
            written.map_err(|error| alloc::vec![SyntaxError::new(text, Fault::new(0, error.to_string()))])?;
        let findings = match is_sound {
            true => Diagnostics::new(),
            false => verify::text(&written, &TextMap::new(self, options)),
        };
        Ok((written, findings))
    }
}

fn error(text: &[u8], finding: &Diagnostic) -> SyntaxError {
    let position = finding.error.offset().and_then(|offset| usize::try_from(offset).ok()).unwrap_or(0);
    SyntaxError::new(text, Fault::new(position, message(finding)))
}

fn message(finding: &Diagnostic) -> String {
    let found = finding.error.finding().map_or_else(String::new, |found| alloc::format!(": found {found}"));
    alloc::format!("{}{found}", finding.error.message())
}
