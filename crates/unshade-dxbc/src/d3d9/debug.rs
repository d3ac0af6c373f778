//! Debug information of a program of Shader Model 1 to 3: a comment whose tag is `DBUG`.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | size of this header, 40 |
//! | 4 | u32 | where the name of the compiler stands |
//! | 12, 16 | u32 | number of source files, where the offsets of their names stand |
//! | 20, 24 | u32 | number of records of instructions, where they stand |
//! | 28, 32 | u32 | number of variables, where they stand |
//! | 36 | u32 | where the name of the entry point stands |
//! | record | u16, u16, u32 | line, number of the file (`0xffff` for none), offset in the program |
//! | variable | 5 × u32 | scope (0 for none), name, type, number of places, where these stand |
//! | place | u32, 4 × u16 | number of the record, which component of the variable each written one is (`0xffff` for none) |
//!
//! Offsets are from the header, which stands after the tag. FXC shows a line where it is more than two lines from the
//! one before, and of each written component the last variable that has a place there.
//!
//! Source: no public description is known; told from programs that FXC compiled with `/Zi`, with fields changed, beside
//! its text.

use super::program::{Instruction, Program};
use crate::operand::bits;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::Escaped;

/// The tag of the comment.
pub const TAG: [u8; 4] = *b"DBUG";

/// The number of a file for instructions that come from none.
const NO_FILE: u32 = 0xffff;
/// How far lines may be apart without being told anew.
const NEAR: u32 = 2;

/// What is told of instructions, by their place in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugInfo {
    /// File and line of each instruction that has them.
    pub lines: BTreeMap<u32, (u32, u32)>,
    /// Names of the files, safe to show.
    pub files: Vec<String>,
    /// The variable that each instruction writes.
    pub variables: BTreeMap<u32, String>,
    /// Lines as they are shown.
    shown: BTreeMap<u32, String>,
}

impl DebugInfo {
    /// What the comment of a program tells, as far as it is sound.
    pub fn of(program: &Program) -> Option<Self> {
        let words = program.comment(&TAG)?.values.get(1..)?;
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let table = Table { data: &data };
        let mut info = Self::default();
        let records = info.read_lines(&table)?;
        info.read_variables(&table, &records);
        info.show_lines();
        Some(info)
    }

    /// What stands before and after the line of an instruction.
    pub fn notes(&self, instruction: &Instruction) -> (Option<String>, Option<String>) {
        let position = instruction.position;
        let after = self.variables.get(&position).map(|variable| format!("  // {variable}"));
        (self.shown.get(&position).cloned(), after)
    }

    /// Files and records; gives the places of the records' instructions.
    fn read_lines(&mut self, table: &Table<'_>) -> Option<Vec<u32>> {
        for start in table.entries(12, 4)? {
            let name = table.u32(start).and_then(|offset| table.text(offset)).unwrap_or_default();
            self.files.push(name);
        }
        let mut records = Vec::new();
        for start in table.entries(20, 8)? {
            let (place, offset) = (table.u32(start)?, table.u32(start.checked_add(4)?)?);
            let (line, file) = (bits(place, 0, 16), bits(place, 16, 16));
            records.push(offset / 4);
            if file != NO_FILE {
                self.lines.insert(offset / 4, (file, line));
            }
        }
        Some(records)
    }

    fn read_variables(&mut self, table: &Table<'_>, records: &[u32]) -> Option<()> {
        let entry = table.u32(36)?;
        // A place is paid for by its bytes, but several variables may share them.
        let mut places_left = table.data.len();
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
            for place in table.list(field(3)?, field(4)?, 12)? {
                places_left = places_left.checked_sub(1)?;
                let record = usize::try_from(table.u32(place)?).ok()?;
                let halves = [table.u32(place.checked_add(4)?)?, table.u32(place.checked_add(8)?)?];
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

    /// Which lines are shown, and how.
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

/// Of each component that an instruction writes the number of the variable and which component of it that is.
type Written = [Option<(usize, u32)>; 4];

/// The variables that an instruction writes, each with its components.
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
struct Table<'a> {
    data: &'a [u8],
}

impl Table<'_> {
    fn u32(&self, offset: u32) -> Option<u32> {
        let at = usize::try_from(offset).ok()?;
        self.data.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
    }

    /// A text, safe to show.
    fn text(&self, offset: u32) -> Option<String> {
        let bytes = self.data.get(usize::try_from(offset).ok()?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        bytes.get(..end).map(|name| Escaped(name).to_string().replace("\\\\", "\\"))
    }

    /// Where the entries of a list stand whose number and place the header tells.
    fn entries(&self, field: u32, size: u32) -> Option<impl Iterator<Item = u32>> {
        self.list(self.u32(field)?, self.u32(field.checked_add(4)?)?, size)
    }

    /// Where the entries of a list stand; none if they are not all there.
    fn list(&self, count: u32, start: u32, size: u32) -> Option<impl Iterator<Item = u32>> {
        let end = start.checked_add(count.checked_mul(size)?)?;
        (usize::try_from(end).ok()? <= self.data.len())
            .then(|| (0..count).map(move |number| start.wrapping_add(number.wrapping_mul(size))))
    }
}
