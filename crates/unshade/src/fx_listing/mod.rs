//! Lists effects (the contents of an FX10 part) as FXC's `D3DDisassemble` does.
//!
//! ```text
//! 0    u32 version                     0xfeff1001 fx_4_0, 0xfeff1011 fx_4_1, 0xfeff2001 fx_5_0
//! 4    u32 × 3 local buffers, variables, objects
//! 16   u32 × 3 the same for an effect pool, which are not listed yet
//! 28   u32 techniques
//! 32   u32 size of the data
//! 36   u32 × 10 counts of objects by kind
//! 76   u32 × 5 since fx_5_0: groups, unordered access views, interfaces, …
//! …    the data: names, types, values, shaders; offsets in the index are relative to its start
//! …    the index: buffers with their variables, objects, groups, techniques, passes with their assignments
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `data` | reads the data and the index |
//! | `values` | formats numbers and arrays |
//! | `states` | the table of states that can be assigned |
//! | `objects` | lists objects, shaders, assignments |
//!
//! Source: Wine's effect reader for the fields; FXC's listings of effects with every form for the text.

mod data;
mod objects;
mod states;
mod values;

use crate::fxc_listing::shown;
use data::{Data, Index, Type};
use std::fmt::Write;
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result, TokenKind, TokenSink};
use unshade_dxcontainer::container::Container;

/// Name of the part with an effect.
pub const PART: &[u8; 4] = b"FX10";

/// Maximum size of a listing: in hostile files many names may share one value.
const MAX_TEXT: usize = 16 << 20;

/// Column of the comments.
const COLUMN: usize = 40;

/// Lists an effect as FXC does.
///
/// # Errors
/// If it can't be read, or has something whose text is unknown: expressions, effect pools, interfaces.
pub fn print_fxc(effect: Reader<'_>, sink: &mut dyn TokenSink, diagnostics: &mut Diagnostics) -> Result<()> {
    let (header, data, index) = data::open(effect)?;
    let mut listing = Listing { header, data, index, text: String::new(), diagnostics };
    listing.effect()?;
    sink.put(TokenKind::Text, &listing.text);
    Ok(())
}

/// Returns the effect of a container.
pub fn effect<'a>(container: &Container<'a>) -> Option<Reader<'a>> {
    container.find(PART).map(|part| part.data)
}

/// Quotes a string as FXC does: unescaped, unless it is unsafe to show.
fn quoted(text: &[u8]) -> String {
    let is_safe = |c: char| unshade_core::escape::is_plain(c) || matches!(c, '\n' | '\t');
    match str::from_utf8(text) {
        Ok(text) if text.chars().all(is_safe) => text.to_owned(),
        _ => shown(text).into_owned(),
    }
}

struct Listing<'a, 'd> {
    header: data::Header,
    data: Data<'a>,
    index: Index<'a>,
    text: String,
    diagnostics: &'d mut Diagnostics,
}

impl Listing<'_, '_> {
    fn effect(&mut self) -> Result<()> {
        let version = self.header.version_name();
        let _ = write!(self.text, "//\n// FX Version: {version}\n");
        if !self.header.has_groups() {
            self.text.push_str("// Child effect (requires effect pool): false\n");
        }
        if self.header.buffers > 0 {
            let _ = write!(self.text, "//\n// {} local buffer(s)\n//\n", self.header.buffers);
            for _ in 0..self.header.buffers {
                self.buffer()?;
            }
        }
        if self.header.objects > 0 {
            let _ = write!(self.text, "//\n// {} local object(s)\n//\n", self.header.objects);
            for _ in 0..self.header.objects {
                self.object()?;
            }
            self.text.push('\n');
        }
        if self.header.has_groups() { self.groups() } else { self.techniques(self.header.techniques, 0) }
    }

    /// Fails if the listing has become too long.
    fn check_length(&self) -> Result<()> {
        if self.text.len() <= MAX_TEXT {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Limit, self.index.offset(), "the listing of the effect is too long"))
    }

    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    fn buffer(&mut self) -> Result<()> {
        let (name, _size) = (self.index.next()?, self.index.next()?);
        let word = if self.index.next()? == 0 { "cbuffer" } else { "tbuffer" };
        let (count, register) = (self.index.next()?, self.index.next()?);
        let _ = write!(self.text, "{word} {}", self.name(name)?);
        if register != u32::MAX {
            let prefix = if word == "cbuffer" { "b" } else { "t" };
            let _ = write!(self.text, " : register({prefix}{register})");
        }
        self.text.push('\n');
        self.annotations(0, true)?;
        self.text.push_str("{\n");
        for _ in 0..count {
            self.variable()?;
        }
        self.text.push_str("}\n\n");
        self.check_length()
    }

    fn variable(&mut self) -> Result<()> {
        let mut line = String::from("    ");
        let name = self.index.next()?;
        let data_type = self.data.data_type(self.index.next()?)?;
        let semantic = self.index.next()?;
        let (offset, default, _flags) = (self.index.next()?, self.index.next()?, self.index.next()?);
        let _ = write!(line, "{:<7} {}", shown(data_type.name), self.name(name)?);
        self.extent(&mut line, &data_type, semantic)?;
        if default != 0 {
            let words = self.data.words(default, data_type.packed_size / 4)?;
            let _ = write!(line, " = {}", values::initializer(&data_type, &words));
        }
        let before = self.text.len();
        self.text.push_str(&line);
        self.text.push('\n');
        let has_annotations = self.annotations(4, false)?;
        if has_annotations {
            line = String::from("    >");
        } else {
            self.text.truncate(before);
        }
        line.push(';');
        let _ = writeln!(self.text, "{line:COLUMN$}// Offset: {offset:4}, size: {:4}", data_type.size);
        self.check_length()
    }

    /// Appends the number of elements and the semantic.
    fn extent(&self, line: &mut String, data_type: &Type<'_>, semantic: u32) -> Result<()> {
        if data_type.elements > 0 {
            let _ = write!(line, "[{}]", data_type.elements);
        }
        if semantic != 0 {
            let _ = write!(line, " : {}", self.name(semantic)?);
        }
        Ok(())
    }

    fn name(&self, offset: u32) -> Result<String> {
        Ok(shown(self.data.string(offset)?).into_owned())
    }

    /// Writes annotations in angle brackets, with the closing one if `closed`. Returns whether there are any.
    fn annotations(&mut self, indent: usize, closed: bool) -> Result<bool> {
        let count = self.index.next()?;
        if count == 0 {
            return Ok(false);
        }
        self.line(indent, "<");
        for _ in 0..count {
            let name = self.index.next()?;
            let data_type = self.data.data_type(self.index.next()?)?;
            let mut line = format!("{} {}", shown(data_type.name), self.name(name)?);
            self.extent(&mut line, &data_type, 0)?;
            line.push_str(" = ");
            if data_type.is_string() {
                line.push_str(&self.strings(&data_type)?);
            } else {
                let words = self.data.words(self.index.next()?, data_type.packed_size / 4)?;
                line.push_str(&values::initializer(&data_type, &words));
            }
            line.push(';');
            self.line(indent + 4, &line);
            self.check_length()?;
        }
        if closed {
            self.line(indent, ">");
        }
        Ok(true)
    }

    /// Returns the strings of an object or annotation.
    fn strings(&mut self, data_type: &Type<'_>) -> Result<String> {
        let mut all = Vec::new();
        for _ in 0..data_type.elements.max(1) {
            let offset = self.index.next()?;
            all.push(format!("\"{}\"", quoted(self.data.string(offset)?)));
        }
        Ok(if data_type.elements > 0 { format!("{{ {} }}", all.join(", ")) } else { all.concat() })
    }

    fn groups(&mut self) -> Result<()> {
        let _ = write!(self.text, "//\n// {} groups(s)\n//\n", self.header.groups);
        for _ in 0..self.header.groups {
            let (name, count) = (self.index.next()?, self.index.next()?);
            let name = self.name(name)?;
            let space = if name.is_empty() { "" } else { " " };
            let _ = writeln!(self.text, "fxgroup{space}{name}");
            self.annotations(0, true)?;
            self.text.push_str("{\n");
            self.techniques(count, 4)?;
            self.text.push_str("}\n\n");
            self.check_length()?;
        }
        Ok(())
    }

    fn techniques(&mut self, count: u32, indent: usize) -> Result<()> {
        self.line(indent, "//");
        self.line(indent, &format!("// {count} technique(s)"));
        self.line(indent, "//");
        let word = if self.header.has_groups() { "technique11" } else { "technique10" };
        for _ in 0..count {
            let passes = self.named(indent, word)?;
            self.annotations(indent, true)?;
            self.line(indent, "{");
            for _ in 0..passes {
                let states = self.named(indent + 4, "pass")?;
                self.annotations(indent + 4, true)?;
                self.line(indent + 4, "{");
                for _ in 0..states {
                    self.assignment(indent + 8)?;
                }
                self.line(indent + 4, "}");
                self.text.push('\n');
            }
            self.line(indent, "}");
            self.text.push('\n');
            self.check_length()?;
        }
        Ok(())
    }

    /// Writes the line with the name of a technique or pass, and returns the number of its items.
    fn named(&mut self, indent: usize, word: &str) -> Result<u32> {
        let (name, count) = (self.index.next()?, self.index.next()?);
        let name = self.name(name)?;
        let space = if name.is_empty() { "" } else { " " };
        self.line(indent, &format!("{word}{space}{name}"));
        Ok(count)
    }
}
