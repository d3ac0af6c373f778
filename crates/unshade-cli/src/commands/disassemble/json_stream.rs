//! Streaming JSON output for a file.

use super::super::findings;
use super::super::programs::ProgramJson;
use crate::input::Input;
use anyhow::Result;
use serde::Serialize;
use unshade::core::Diagnostics;
use unshade::view::SCHEMA;

/// The JSON of a file, written function by function because a whole library may not fit into memory. Each function is
/// on its own line.
pub(super) struct JsonStream {
    /// The text before the first program.
    start: String,
    has_programs: bool,
    in_program: bool,
    in_library: bool,
    has_libraries: bool,
}

impl JsonStream {
    pub(super) fn new(input: &Input) -> Result<Self> {
        let start =
            format!("{{\"schema\":{SCHEMA},\"file\":{},\"programs\":[", serde_json::to_string(&input.name)?);
        Ok(Self { start, has_programs: false, in_program: false, in_library: false, has_libraries: false })
    }

    /// Returns the next functions of a library, with the text that must precede them.
    pub(super) fn functions(
        &mut self,
        head: &ProgramJson,
        slice: &str,
        functions: &[impl Serialize],
    ) -> Result<String> {
        let mut text = std::mem::take(&mut self.start);
        if !std::mem::replace(&mut self.in_program, true) {
            text.push_str(if std::mem::replace(&mut self.has_programs, true) { ",\n" } else { "\n" });
            let head = serde_json::to_string(head)?;
            text.push_str(head.trim_end_matches('}'));
            text.push_str(",\"libraries\":[");
            self.has_libraries = false;
        }
        let mut is_first = false;
        if !std::mem::replace(&mut self.in_library, true) {
            is_first = true;
            text.push_str(if std::mem::replace(&mut self.has_libraries, true) { ",\n{" } else { "\n{" });
            if !slice.is_empty() {
                text.push_str(&format!("\"slice\":{},", serde_json::to_string(slice)?));
            }
            text.push_str("\"functions\":[");
        }
        for function in functions {
            text.push_str(if std::mem::take(&mut is_first) { "\n" } else { ",\n" });
            text.push_str(&serde_json::to_string(function)?);
        }
        Ok(text)
    }

    pub(super) fn end_library(&mut self) -> &'static str {
        if std::mem::take(&mut self.in_library) { "]}" } else { "" }
    }

    pub(super) fn end_program(&mut self, diagnostics: &Diagnostics) -> Result<String> {
        if !std::mem::take(&mut self.in_program) {
            return Ok(String::new());
        }
        Ok(format!("]{}}}", Self::findings(diagnostics)?))
    }

    pub(super) fn end(&mut self, carving: &Diagnostics) -> Result<String> {
        let start = std::mem::take(&mut self.start);
        Ok(format!("{start}]{}}}\n", Self::findings(carving)?))
    }

    fn findings(diagnostics: &Diagnostics) -> Result<String> {
        if diagnostics.is_empty() {
            return Ok(String::new());
        }
        Ok(format!(",\"findings\":{}", serde_json::to_string(&findings(diagnostics))?))
    }
}
