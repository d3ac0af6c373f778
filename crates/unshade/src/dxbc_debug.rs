//! Writes the source lines and variables of a token program, from the debug information of its container, in FXC's
//! format or in our own.
//!
//! FXC writes a line number before an instruction where it differs from that of the previous instruction, and the file
//! name where the file differs. Variables in registers at the start of the program are in a table, and variables that
//! an instruction writes are in a comment at the end of its line. Our format also shows the text of the source line,
//! where the file is embedded.
//!
//! Source: FXC's listings of programs that it compiled with `/Zi`.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::Write;
use unshade_core::{Diagnostics, Escaped};
use unshade_dxbc::opcode::{Class, Opcode};
use unshade_dxbc::operand::OperandKind;
use unshade_dxbc::print::{Dialect, Notes};
use unshade_dxbc::{Instruction, Program};
use unshade_dxcontainer::Container;
use unshade_dxcontainer::debug::{DebugInfo, Lines, Location, SourceLine};

/// Maximum ratio of text to the container's size: any number of instructions may share one long name.
const MAX_RATIO: usize = 16;

/// Returns the notes on a program's instructions from its container's debug information. If there is none, the notes
/// are empty and `program` is not called.
pub(crate) fn notes<P: Borrow<Program>>(
    container: &Container<'_>,
    program: impl FnOnce() -> P,
    dialect: Dialect,
    diagnostics: &mut Diagnostics,
) -> Notes {
    let mut notes = Notes::default();
    let Some(info) = read(container, diagnostics) else { return notes };
    let program = program();
    let program = program.borrow();
    let mut room = container.bytes().len().saturating_mul(MAX_RATIO);
    let writer = Writer { info: &info, dialect };
    add_variables(&mut notes, &mut room, program, &writer);
    add_lines(&mut notes, &mut room, program, &writer);
    notes
}

fn add_lines(notes: &mut Notes, room: &mut usize, program: &Program, writer: &Writer<'_>) {
    let texts = writer.info.files.iter().map(|file| file.text.as_deref().unwrap_or_default());
    let sources: Vec<Vec<&[u8]>> = texts.map(|text| text.split(|byte| *byte == b'\n').collect()).collect();
    let mut previous: Option<SourceLine> = None;
    let code = program.instructions.iter().filter(|one| !is_declaration(one));
    for (number, instruction) in code.enumerate() {
        // Each function starts with its file and line.
        if instruction.opcode() == Opcode::LABEL {
            previous = None;
        }
        let line = match &writer.info.lines {
            Lines::ByOffset(lines) => lines.get(&offset(instruction.position)).copied(),
            Lines::ByNumber(lines) => lines.get(number).copied().flatten(),
        };
        let Some(line) = line.filter(|line| previous != Some(*line)) else { continue };
        let text = notes.before.entry(instruction.position).or_default();
        writer.line(text, line, previous, &sources);
        previous = Some(line);
        match room.checked_sub(text.len()) {
            Some(left) => *room = left,
            None => return,
        }
    }
}

fn add_variables(notes: &mut Notes, room: &mut usize, program: &Program, writer: &Writer<'_>) {
    let mut starting: BTreeMap<u32, Vec<&Location>> = BTreeMap::new();
    for location in &writer.info.locations {
        for start in &location.starts {
            starting.entry(*start).or_default().push(location);
        }
    }
    let nexts = program.instructions.iter().skip(1).map(|next| next.position).chain([program.length]);
    for (instruction, next) in program.instructions.iter().zip(nexts).filter(|(one, _)| !is_declaration(one))
    {
        let start = offset(instruction.position);
        let starts_here = starting.get(&start).filter(|_| writer.info.entry == Some(start));
        if let Some(found) = starts_here {
            let found = found.iter().filter(|location| location.scope.is_none());
            notes.before.insert(instruction.position, writer.initial_locations(found.copied()));
        }
        let Some(found) = starting.get(&offset(next)) else { continue };
        let found = found.iter().filter(|location| writer.info.is_in_scope(location, start));
        let text = writer.written_locations(instruction, found.copied());
        match room.checked_sub(text.len()) {
            Some(left) => *room = left,
            None => return,
        }
        if !text.is_empty() {
            notes.after.insert(instruction.position, text);
        }
    }
}

/// Reads the debug information of a container.
fn read(container: &Container<'_>, diagnostics: &mut Diagnostics) -> Option<DebugInfo> {
    let found = match container.find(b"SPDB") {
        Some(part) => (DebugInfo::read_spdb(part.data), part),
        None => {
            let part = container.find(b"SDBG")?;
            (DebugInfo::read_sdbg(part.data), part)
        }
    };
    let (info, part) = found;
    diagnostics.take("dxbc-debug", info.map_err(|error| error.within(part.label())))
}

/// Returns the offset of a token in the part, in bytes.
fn offset(position: u32) -> u32 {
    position.saturating_mul(4)
}

fn is_declaration(instruction: &Instruction) -> bool {
    instruction.opcode().row().is_some_and(|row| row.class == Class::Declaration)
}

/// Formats debug information as comments.
struct Writer<'a> {
    info: &'a DebugInfo,
    dialect: Dialect,
}

impl Writer<'_> {
    /// Writes a source line. `previous` is the line that was written before.
    fn line(
        &self,
        text: &mut String,
        line: SourceLine,
        previous: Option<SourceLine>,
        sources: &[Vec<&[u8]>],
    ) {
        // The table of variables ends with an empty comment.
        if text.is_empty() {
            text.push('\n');
        }
        let file = self.info.files.get(line.file);
        let is_same_file = previous.is_some_and(|previous| previous.file == line.file);
        let name = file.map(|file| Escaped(&file.name).to_string().replace("\\\\", "\\")).unwrap_or_default();
        let number = line.line;
        let _ = match (self.dialect, is_same_file) {
            (Dialect::Fxc, true) => writeln!(text, "#line {number}"),
            (Dialect::Fxc, false) => writeln!(text, "#line {number} \"{name}\""),
            (Dialect::Exact, true) => write!(text, "// {number}"),
            (Dialect::Exact, false) => write!(text, "// {name}:{number}"),
        };
        if self.dialect == Dialect::Exact {
            let index = usize::try_from(number).unwrap_or(0).saturating_sub(1);
            let shown = sources.get(line.file).and_then(|lines| lines.get(index));
            if let Some(shown) = shown.map(|line| line.trim_ascii()).filter(|line| !line.is_empty()) {
                let _ = write!(text, ": {}", Escaped(shown));
            }
            text.push('\n');
        }
    }

    /// Formats the variables in registers at the start of the program, one row per register.
    fn initial_locations<'l>(&self, locations: impl Iterator<Item = &'l Location>) -> String {
        let mut text = String::from("//\n// Initial variable locations:\n//   ");
        let mut previous: Option<&Location> = None;
        for location in locations {
            match previous {
                Some(previous) if is_same_register(previous, location) => text.push_str("; "),
                Some(_) => text.push_str("; \n//   "),
                None => {}
            }
            previous = Some(location);
            if !self.location(&mut text, location) {
                break;
            }
        }
        text.push_str("\n//\n");
        text
    }

    /// Formats the variables in registers after an instruction.
    fn written_locations<'l>(
        &self,
        instruction: &Instruction,
        locations: impl Iterator<Item = &'l Location>,
    ) -> String {
        let mut text = String::new();
        for location in locations {
            match (text.is_empty(), instruction.opcode()) {
                // `else` writes nothing: the variables are those at the condition.
                (true, Opcode::ELSE) => text.push_str("  // Prior locations: "),
                (true, _) => text.push_str("  // "),
                (false, _) => text.push_str("; "),
            }
            if !self.location(&mut text, location) {
                break;
            }
        }
        text
    }

    /// Writes a register and its variable. Returns false where FXC stops with an internal error.
    fn location(&self, text: &mut String, location: &Location) -> bool {
        let _ = write!(text, "{} <- {}", register(location), location.name);
        match location.fault.filter(|_| self.dialect == Dialect::Fxc) {
            Some(fault) => {
                let _ = write!(text, "\n// <internal error> {fault}\n");
                false
            }
            None => true,
        }
    }
}

/// Bytes of a register.
const REGISTER_SIZE: u32 = 16;

fn is_same_register(left: &Location, right: &Location) -> bool {
    let number = |location: &Location| {
        let mut indices = location.indices.clone();
        indices.first_mut().iter_mut().for_each(|first| **first /= REGISTER_SIZE);
        indices
    };
    left.register_kind == right.register_kind && number(left) == number(right)
}

/// Returns the name of a register with its component.
fn register(location: &Location) -> String {
    let kind = OperandKind(u8::try_from(location.register_kind).unwrap_or(u8::MAX));
    let mut text = kind.name().map_or_else(|| format!("unknown{}", location.register_kind), str::to_owned);
    let Some((first, outer)) = location.indices.split_first() else { return text };
    let number = first / REGISTER_SIZE;
    let is_numbered = matches!(
        kind,
        OperandKind::TEMP
            | OperandKind::INPUT
            | OperandKind::OUTPUT
            | OperandKind::INPUT_CONTROL_POINT
            | OperandKind::OUTPUT_CONTROL_POINT
            | OperandKind::PATCH_CONSTANT
    );
    // The first index of an array or stream is its number, not a byte offset.
    if matches!(kind, OperandKind::INDEXABLE_TEMP | OperandKind::STREAM) {
        let _ = write!(text, "{first}");
        return text;
    }
    for index in outer.iter().rev() {
        let _ = write!(text, "[{index}]");
    }
    let _ = match (is_numbered, outer.is_empty()) {
        (false, _) => Ok(()),
        (true, true) => write!(text, "{number}"),
        (true, false) => write!(text, "[{number}]"),
    };
    let component = usize::try_from(first % REGISTER_SIZE / 4).unwrap_or(0);
    let _ = write!(text, ".{}", ["x", "y", "z", "w"].get(component).unwrap_or(&"x"));
    text
}
