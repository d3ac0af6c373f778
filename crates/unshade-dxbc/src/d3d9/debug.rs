//! Debug information of a program of Shader Model 1 to 3: a comment whose tag is `DBUG`.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | size of this header, 40 |
//! | 4 | u32 | offset of the name of the compiler |
//! | 12, 16 | u32 | number of source files, offset of the offsets of their names |
//! | 20, 24 | u32 | number of instruction records, their offset |
//! | 28, 32 | u32 | number of variables, their offset |
//! | 36 | u32 | offset of the name of the entry point |
//! | record | u16, u16, u32 | line, file index (`0xffff` for none), offset in the program |
//! | variable | 5 × u32 | scope (0 for none), name, type, number of locations, their offset |
//! | location | u32, 4 × u16 | record index, the component of the variable for each written component (`0xffff` for none) |
//!
//! Offsets are from the header, which follows the tag. FXC shows a line if it is more than two lines from the one
//! before, and for each written component the last variable with a location there.
//!
//! Source: no public description is known; derived from programs that FXC compiled with `/Zi`, with fields changed,
//! and FXC's text for them.

use super::program::{Instruction, Program};
use crate::operand::bits;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::Escaped;

/// The tag of the comment.
pub const TAG: [u8; 4] = *b"DBUG";

/// The file index of instructions without a file.
const NO_FILE: u32 = 0xffff;
/// Distance between lines up to which no new `#line` is shown.
const NEAR: u32 = 2;

/// Debug information of instructions, by their position in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugInfo {
    /// File and line of each instruction that has debug information.
    pub lines: BTreeMap<u32, (u32, u32)>,
    /// File names, safe to show.
    pub files: Vec<String>,
    /// The variable that each instruction writes.
    pub variables: BTreeMap<u32, String>,
    /// The `#line` directives.
    shown: BTreeMap<u32, String>,
}

impl DebugInfo {
    /// Parses the debug information of a program, as far as it is valid.
    pub fn of(program: &Program) -> Option<Self> {
        let words = program.comment(&TAG)?.values.get(1..)?;
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let table = DebugTable { data: &data };
        let mut info = Self::default();
        let records = info.read_lines(&table)?;
        info.read_variables(&table, &records);
        info.show_lines();
        Some(info)
    }

    /// Returns the text before and after the line of an instruction.
    pub fn notes(&self, instruction: &Instruction) -> (Option<String>, Option<String>) {
        let position = instruction.position;
        let after = self.variables.get(&position).map(|variable| format!("  // {variable}"));
        (self.shown.get(&position).cloned(), after)
    }

    /// Reads files and records; returns the positions of the records' instructions.
    fn read_lines(&mut self, table: &DebugTable<'_>) -> Option<Vec<u32>> {
        for start in table.entries(12, 4)? {
            let name = table.u32(start).and_then(|offset| table.text(offset)).unwrap_or_default();
            self.files.push(name);
        }
        let mut records = Vec::new();
        for start in table.entries(20, 8)? {
            let (file_and_line, offset) = (table.u32(start)?, table.u32(start.checked_add(4)?)?);
            let (line, file) = (bits(file_and_line, 0, 16), bits(file_and_line, 16, 16));
            records.push(offset / 4);
            if file != NO_FILE {
                self.lines.insert(offset / 4, (file, line));
            }
        }
        Some(records)
    }

    fn read_variables(&mut self, table: &DebugTable<'_>, records: &[u32]) -> Option<()> {
        let entry = table.u32(36)?;
        // The bytes of the table pay for each location, but several variables may share the same bytes.
        let mut locations_left = table.data.len();
        let mut names = Vec::new();
        let mut written: BTreeMap<u32, Written> = BTreeMap::new();
        for start in table.entries(28, 20)? {
            let field = |number: u32| table.u32(start.checked_add(number.checked_mul(4)?)?);
            let (scope, name) = (field(0)?, table.text(field(1)?)?);
            let name = match scope {
                0 => format!("::{name}"),
                scope if scope == entry => name,
                scope => format!("{}::{name}", table.text(scope)?),
            };
            for location in table.list(field(3)?, field(4)?, 12)? {
                locations_left = locations_left.checked_sub(1)?;
                let record = usize::try_from(table.u32(location)?).ok()?;
                let halves = [table.u32(location.checked_add(4)?)?, table.u32(location.checked_add(8)?)?];
                let Some(position) = records.get(record) else { continue };
                let slots = written.entry(*position).or_default();
                let components = halves.iter().flat_map(|half| [bits(*half, 0, 16), bits(*half, 16, 16)]);
                for (slot, component) in slots.iter_mut().zip(components) {
                    if component != NO_FILE {
                        *slot = Some((names.len(), component));
                    }
                }
            }
            names.push(name);
        }
        for (position, slots) in written {
            self.variables.insert(position, named(&slots, &names));
        }
        Some(())
    }

    /// Formats the `#line` directives.
    fn show_lines(&mut self) {
        let mut before: Option<(u32, u32)> = None;
        for (position, (file, line)) in &self.lines {
            let same_file = before.is_some_and(|(known, _)| known == *file);
            if !same_file {
                let name = usize::try_from(*file).ok().and_then(|file| self.files.get(file));
                let name = name.map_or("", String::as_str);
                self.shown.insert(*position, format!("\n#line {line} \"{name}\"\n"));
            } else if before.is_some_and(|(_, known)| known.abs_diff(*line) > NEAR) {
                self.shown.insert(*position, format!("\n#line {line}\n"));
            }
            before = Some((*file, *line));
        }
    }
}

/// For each component that an instruction writes, the index of the variable and the component of that variable.
type Written = [Option<(usize, u32)>; 4];

/// Formats the variables that an instruction writes, each with its components.
fn named(slots: &Written, names: &[String]) -> String {
    let mut variables: Vec<(usize, Vec<String>)> = Vec::new();
    for (variable, component) in slots.iter().flatten() {
        match variables.iter_mut().find(|(known, _)| known == variable) {
            Some((_, components)) => components.push(component.to_string()),
            None => variables.push((*variable, Vec::from([component.to_string()]))),
        }
    }
    let name = |variable: usize| names.get(variable).map_or("", String::as_str);
    let shown = variables
        .iter()
        .map(|(variable, components)| format!("{}<{}>", name(*variable), components.join(",")));
    shown.collect::<Vec<_>>().join(", ")
}

/// The contents of the comment.
struct DebugTable<'a> {
    data: &'a [u8],
}

impl DebugTable<'_> {
    fn u32(&self, offset: u32) -> Option<u32> {
        let at = usize::try_from(offset).ok()?;
        self.data.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
    }

    /// Returns a string, safe to show.
    fn text(&self, offset: u32) -> Option<String> {
        let bytes = self.data.get(usize::try_from(offset).ok()?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        bytes.get(..end).map(|name| Escaped(name).to_string().replace("\\\\", "\\"))
    }

    /// Returns the offsets of the entries of a list whose count and offset are in the header.
    fn entries(&self, field: u32, size: u32) -> Option<impl Iterator<Item = u32>> {
        self.list(self.u32(field)?, self.u32(field.checked_add(4)?)?, size)
    }

    /// Returns the offsets of the entries of a list; `None` if the list is out of range.
    fn list(&self, count: u32, start: u32, size: u32) -> Option<impl Iterator<Item = u32>> {
        let end = start.checked_add(count.checked_mul(size)?)?;
        (usize::try_from(end).ok()? <= self.data.len())
            .then(|| (0..count).map(move |number| start.wrapping_add(number.wrapping_mul(size))))
    }
}
