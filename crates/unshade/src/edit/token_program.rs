//! Assembles token programs of Direct3D from a listing.
//!
//! A listing may have several programs: that of a container for feature level 9 has a program of Shader Model 2 before
//! the one of Shader Model 4. Each starts with a line that consists of its shader model.

use super::Refusal;
use crate::dxbc_build::{put_level9, put_program};
use unshade_core::Result;
use unshade_dxbc::d3d9;
use unshade_dxcontainer::DxFile;

/// The last shader model in the format of Direct3D 9.
const LAST_OF_DIRECT3D_9: u32 = 3;

/// Returns the major version of the shader model that a line names, if it names one.
fn model(line: &str) -> Option<u32> {
    let code = line.split("//").next().unwrap_or_default().trim();
    let (kind, model) = match code.strip_prefix("lib_4_0_") {
        Some(code) => code.split_once('_')?,
        None => code.split_once('_')?,
    };
    let is_kind = matches!(kind, "ps" | "vs" | "gs" | "hs" | "ds" | "cs" | "lib");
    let major = model.split('_').next()?.parse().ok()?;
    (is_kind && !code.contains(char::is_whitespace)).then_some(major)
}

/// Returns whether the first line of code names a shader model.
pub fn is_listing(text: &str) -> bool {
    let code = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//"));
    code.is_some_and(|line| model(line).is_some())
}

/// The programs of a listing.
#[derive(Debug, Default)]
pub struct Programs {
    /// Programs of Shader Model 1 to 3.
    pub direct3d9: Vec<d3d9::Program>,
    /// The program of Shader Model 4 to 5.1.
    pub direct3d10: Option<unshade_dxbc::Program>,
}

impl Programs {
    /// Assembles the programs of a listing.
    ///
    /// # Errors
    /// The listing has a fault, or two programs from Shader Model 4 on.
    pub fn assemble(text: &str) -> Result<Self, Refusal> {
        let mut programs = Self::default();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let models: Vec<Option<u32>> = lines.iter().map(|line| model(line)).collect();
        let starts: Vec<usize> = (0..lines.len()).filter(|line| models[*line].is_some()).collect();
        for (place, start) in starts.iter().enumerate() {
            let end = starts.get(place + 1).copied().unwrap_or(lines.len());
            // Earlier lines become blank, so that line numbers in messages stay right.
            let text = format!("{}{}", "\n".repeat(*start), lines[*start..end].concat());
            if models[*start].is_some_and(|major| major <= LAST_OF_DIRECT3D_9) {
                programs.direct3d9.push(d3d9::assemble(&text)?);
            } else if programs.direct3d10.replace(unshade_dxbc::assemble(&text)?).is_some() {
                return Err(Refusal::new(format!(
                    "line {}: a second program; of those from Shader Model 4 on a container has one",
                    start + 1
                )));
            }
        }
        Ok(programs)
    }

    /// Writes the programs into a container.
    ///
    /// # Errors
    /// The container has no place for one of them.
    pub fn put(&self, file: &mut DxFile) -> Result<()> {
        for (number, program) in self.direct3d9.iter().enumerate() {
            put_level9(file, number, program)?;
        }
        self.direct3d10.iter().try_for_each(|program| put_program(file, program))
    }
}
