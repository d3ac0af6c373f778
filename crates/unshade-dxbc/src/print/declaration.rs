//! Prints declarations and custom data.

use super::number::{ImmediateFormat, write_float, write_value};
use super::operand::Context;
use super::{Dialect, Printer};
use crate::decode::operands_of;
use crate::implied::Position;
use crate::names::{
    ACCESS_PATTERNS, DOMAINS, FIRST_PATCH, GLOBAL_FLAGS, INTERPOLATIONS, OUTPUT_PRIMITIVES, PARTITIONINGS,
    PATCHES, PRIMITIVES, SAMPLER_MODES, SYSTEM_VALUES, TOPOLOGIES, VIEW_FLAGS, is_multisampled, name_of,
};
use crate::opcode::{Controls, Opcode, OpcodeRow};
use crate::operand::bits;
use crate::program::{Extension, Instruction, return_types};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use unshade_core::TokenKind;

/// Classes of custom data.
pub(crate) const COMMENT: u32 = 0;
pub(crate) const IMMEDIATE_CONSTANT_BUFFER: u32 = 3;
const SHADER_MESSAGE: u32 = 4;

/// FXC's text for a number without a name.
const UNKNOWN: &str = "???";

impl Printer<'_> {
    pub(super) fn declaration(&mut self, instruction: &Instruction, row: &OpcodeRow) {
        self.put(TokenKind::Keyword, row.mnemonic);
        let token = instruction.token;
        match row.controls {
            Controls::Resource => self.resource_dimension(token),
            Controls::TypedView => {
                self.put(TokenKind::Keyword, "_");
                self.put(TokenKind::Keyword, self.dimension_name(bits(token, 11, 5)));
                self.view_flags(token);
            }
            Controls::View => self.view_flags(token),
            Controls::Interface if bits(token, 11, 1) == 1 => self.put(TokenKind::Keyword, "_dynamicindexed"),
            _ => {}
        }
        if self.dialect() == Dialect::Exact {
            self.opcode_tokens(instruction, Some(row), &Extension::default());
        }
        self.controls(token, row);
        if row.body.contains('y')
            && let Some(token) = instruction.values.first()
        {
            self.return_types(return_types(*token, 0));
            self.put(TokenKind::Space, " ");
        }
        self.fields(instruction, row);
    }

    fn resource_dimension(&mut self, token: u32) {
        let dimension = bits(token, 11, 5);
        self.put(TokenKind::Keyword, "_");
        self.put(TokenKind::Keyword, self.dimension_name(dimension));
        if is_multisampled(dimension) {
            self.put(TokenKind::Punctuation, "(");
            self.number(bits(token, 16, 7));
            self.put(TokenKind::Punctuation, ")");
        }
    }

    fn view_flags(&mut self, token: u32) {
        for (bit, suffix) in VIEW_FLAGS {
            if bits(token, *bit, 1) == 1 {
                self.put(TokenKind::Keyword, suffix);
            }
        }
    }

    /// Writes the control bits, as words before the fields.
    fn controls(&mut self, token: u32, row: &OpcodeRow) {
        let mut text = String::new();
        match row.controls {
            Controls::GlobalFlags => self.global_flags(token),
            Controls::Interpolation => {
                text.push(' ');
                text.push_str(name_of(INTERPOLATIONS, bits(token, 11, 4)).unwrap_or(UNKNOWN));
                text.push(' ');
            }
            Controls::Primitive => write_primitive(&mut text, bits(token, 11, 6)),
            Controls::Topology => {
                let _ = write!(text, " {} ", name_of(TOPOLOGIES, bits(token, 11, 6)).unwrap_or(UNKNOWN));
            }
            Controls::ControlPoints => {
                let _ = write!(text, " {}", bits(token, 11, 6));
            }
            Controls::Domain => {
                let _ = write!(text, " {}", name_of(DOMAINS, bits(token, 11, 2)).unwrap_or(UNKNOWN));
            }
            Controls::Partitioning => {
                let _ = write!(text, " {}", name_of(PARTITIONINGS, bits(token, 11, 3)).unwrap_or(UNKNOWN));
            }
            Controls::OutputPrimitive => {
                if let Some(name) = name_of(OUTPUT_PRIMITIVES, bits(token, 11, 3)) {
                    let _ = write!(text, " {name}");
                }
            }
            _ => text.push(' '),
        }
        self.put_text(TokenKind::Attribute, &mut text);
    }

    fn global_flags(&mut self, token: u32) {
        let mut named =
            GLOBAL_FLAGS.iter().filter(|(bit, _)| bits(token, *bit, 1) == 1).map(|(_, name)| *name);
        let Some(first) = named.next() else {
            // FXC omits the space here.
            self.put(TokenKind::Attribute, if self.dialect() == Dialect::Fxc { "none" } else { " none" });
            return;
        };
        self.put(TokenKind::Space, " ");
        self.put(TokenKind::Attribute, first);
        for name in named {
            self.put(TokenKind::Punctuation, " | ");
            self.put(TokenKind::Attribute, name);
        }
    }

    fn fields(&mut self, instruction: &Instruction, row: &OpcodeRow) {
        // A declaration whose fields could not be decoded has all of its tokens in the rest.
        let mut operands = instruction.operands.iter();
        let mut values = instruction.values.iter().copied();
        let mut separator = "";
        let is_buffer = row.controls == Controls::ConstantBuffer;
        for letter in row.body.bytes() {
            match letter {
                b'o' => {
                    if let Some(operand) = operands.next() {
                        let position = Position::Declared { ranges: self.version().has_spaces() };
                        let context =
                            Context { position, format: ImmediateFormat::Integer, converted_to: None };
                        self.put(TokenKind::Punctuation, separator);
                        self.operand(operand, context);
                    }
                    separator = if instruction.opcode() == Opcode::DCL_INDEX_RANGE { " " } else { ", " };
                }
                b'x' => self.indexable(&mut values),
                b'b' => {
                    if let Some(number) = values.next() {
                        self.put(TokenKind::Label, "fb");
                        self.number(number);
                    }
                }
                b't' => self.function_table(&instruction.values),
                b'j' => self.interface(&instruction.values),
                _ => {
                    let Some(value) = values.next() else { continue };
                    // The return types come before the operand.
                    if letter == b'y' {
                        continue;
                    }
                    self.value(letter, value, separator, is_buffer);
                    separator = ", ";
                }
            }
            if letter == b'o' {
                self.sampler_mode(instruction, row);
                if is_buffer && !self.version().has_spaces() {
                    self.access_pattern(instruction.token);
                }
            }
            if letter == b'q' && is_buffer && !instruction.values.is_empty() {
                self.access_pattern(instruction.token);
            }
        }
    }

    fn value(&mut self, letter: u8, value: u32, separator: &str, is_buffer: bool) {
        if letter == b'q' && is_buffer {
            self.put(TokenKind::Punctuation, "[");
            self.number(value);
            self.put(TokenKind::Punctuation, "]");
            return;
        }
        self.put(TokenKind::Punctuation, separator);
        match letter {
            b'p' => {
                self.put(TokenKind::Attribute, "space=");
                self.number(value);
            }
            b'v' => match (name_of(SYSTEM_VALUES, value), self.dialect()) {
                (Some(name), _) => self.put(TokenKind::Attribute, name),
                (None, Dialect::Fxc) => {}
                (None, Dialect::Exact) => self.number(value),
            },
            b'g' => {
                let mut text = String::new();
                self.put(TokenKind::Punctuation, "l(");
                write_float(&mut text, value, self.dialect());
                self.put_text(TokenKind::Number, &mut text);
                self.put(TokenKind::Punctuation, ")");
            }
            _ => self.number(value),
        }
    }

    fn sampler_mode(&mut self, instruction: &Instruction, row: &OpcodeRow) {
        let mode = name_of(SAMPLER_MODES, bits(instruction.token, 11, 4));
        if let (Controls::Sampler, Some(mode)) = (row.controls, mode) {
            self.put(TokenKind::Punctuation, ", ");
            self.put(TokenKind::Attribute, mode);
        }
    }

    fn access_pattern(&mut self, token: u32) {
        self.put(TokenKind::Punctuation, ", ");
        self.put(TokenKind::Attribute, name_of(ACCESS_PATTERNS, bits(token, 11, 1)).unwrap_or_default());
    }

    fn indexable(&mut self, values: &mut dyn Iterator<Item = u32>) {
        let (Some(register), Some(count), Some(components)) = (values.next(), values.next(), values.next())
        else {
            return;
        };
        // FXC shows at least one and at most four components.
        let shown = if self.dialect() == Dialect::Fxc { components.clamp(1, 4) } else { components };
        let mut text = String::new();
        let _ = write!(text, "x{register}[{count}]");
        self.put_text(TokenKind::Register, &mut text);
        let _ = write!(text, ", {shown}");
        self.put_text(TokenKind::Number, &mut text);
    }

    fn function_table(&mut self, values: &[u32]) {
        if let [number, _, functions @ ..] = values {
            let mut text = String::new();
            let _ = write!(text, "ft{number} = ");
            self.put_text(TokenKind::Label, &mut text);
            self.list("fb", functions);
        }
    }

    fn interface(&mut self, values: &[u32]) {
        if let [number, length, counts, tables @ ..] = values {
            let mut text = String::new();
            let _ = write!(text, "fp{number}[{}][{length}] = ", bits(*counts, 16, 16));
            self.put_text(TokenKind::Label, &mut text);
            self.list("ft", tables);
        }
    }

    fn list(&mut self, prefix: &str, numbers: &[u32]) {
        self.put(TokenKind::Punctuation, "{");
        let mut text = String::new();
        for (position, number) in numbers.iter().enumerate() {
            if position > 0 {
                self.put(TokenKind::Punctuation, ", ");
            }
            let _ = write!(text, "{prefix}{number}");
            self.put_text(TokenKind::Label, &mut text);
        }
        self.put(TokenKind::Punctuation, "}");
    }

    pub(super) fn custom_data(&mut self, instruction: &Instruction) {
        let class = instruction.custom_data_class();
        let values = &instruction.values;
        let whole = values.len().is_multiple_of(4);
        match (class, self.dialect()) {
            (IMMEDIATE_CONSTANT_BUFFER, Dialect::Fxc) => self.constants(values),
            (IMMEDIATE_CONSTANT_BUFFER, Dialect::Exact) if whole => self.constants(values),
            (COMMENT, Dialect::Fxc) => self.comment(values),
            (SHADER_MESSAGE, Dialect::Fxc) => {
                if self.message(values).is_none() {
                    self.put(TokenKind::Text, UNDECIPHERABLE);
                }
            }
            (_, Dialect::Fxc) => self.put(TokenKind::Text, UNDECIPHERABLE),
            (_, Dialect::Exact) => {
                self.put(TokenKind::Keyword, "customdata ");
                self.number(class);
                let mut text = String::new();
                for value in values {
                    let _ = write!(text, ", 0x{value:08x}");
                }
                self.put_text(TokenKind::Number, &mut text);
            }
        }
    }

    fn constants(&mut self, values: &[u32]) {
        self.put(TokenKind::Keyword, "dcl_immediateConstantBuffer");
        self.put(TokenKind::Punctuation, " { ");
        let mut text = String::new();
        for (row, vector) in values.chunks_exact(4).enumerate() {
            if row > 0 {
                self.put(TokenKind::Space, ",\n                              ");
            }
            text.push_str("{ ");
            for (position, value) in vector.iter().enumerate() {
                if position > 0 {
                    text.push_str(", ");
                }
                write_value(&mut text, *value, ImmediateFormat::Guessed, self.dialect());
            }
            text.push('}');
            self.put_text(TokenKind::Number, &mut text);
        }
        self.put(TokenKind::Punctuation, " }");
    }

    /// Writes a comment: the characters up to the first NUL, or up to the last character if there is none.
    fn comment(&mut self, values: &[u32]) {
        let mut characters = bytes_of(values);
        characters.pop();
        let end = characters.iter().position(|byte| *byte == 0).unwrap_or(characters.len());
        let text = String::from_utf8_lossy(characters.get(..end).unwrap_or_default());
        self.put(TokenKind::Comment, "// COMMENT: ");
        self.put(TokenKind::Comment, &text);
    }

    /// Writes a shader message: number, format, length of the text, operand count and length, operands, text.
    fn message(&mut self, values: &[u32]) -> Option<()> {
        let [id, form, _, count, length, rest @ ..] = values else { return None };
        let (operands, text) = rest.split_at_checked(usize::try_from(*length).ok()?)?;
        let operands = operands_of(operands, *count)?;
        let characters = bytes_of(text);
        let end = characters.iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(characters.get(..end)?).into_owned();
        let name = match (*id, *form) {
            (PRINT, FORMATTED) => "printf",
            (FAIL, FORMATTED) => "errorf",
            _ => "<unknown>",
        };
        self.put(TokenKind::Keyword, name);
        let mut quoted = String::from(" \"");
        for character in text.chars() {
            match character {
                '\n' if name != "<unknown>" => quoted.push_str("\\n"),
                '\t' if name != "<unknown>" => quoted.push_str("\\t"),
                '\\' if name != "<unknown>" => quoted.push_str("\\\\"),
                _ => quoted.push(character),
            }
        }
        quoted.push('"');
        self.put_text(TokenKind::String, &mut quoted);
        for operand in &operands {
            self.put(TokenKind::Punctuation, ", ");
            self.operand(operand, Context::INDEX);
        }
        Some(())
    }
}

/// FXC's text for unknown custom data.
const UNDECIPHERABLE: &str = "undecipherable custom data";
/// Numbers of shader messages.
const PRINT: u32 = 0x0020_0102;
const FAIL: u32 = 0x0020_0103;
/// The format of messages whose text has placeholders for operands.
const FORMATTED: u32 = 1;

fn bytes_of(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn write_primitive(text: &mut String, primitive: u32) {
    let patch = primitive.checked_sub(FIRST_PATCH).filter(|patch| *patch < PATCHES);
    let _ = match (patch, name_of(PRIMITIVES, primitive)) {
        (Some(patch), _) => write!(text, " patch{} ", patch.saturating_add(1)),
        (None, Some(name)) => write!(text, " {name} "),
        (None, None) => write!(text, " {UNKNOWN} "),
    };
}
