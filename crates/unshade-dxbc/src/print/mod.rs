//! Prints programs of Shader Model 4 to 5.1.
//!
//! There are two dialects. [`Dialect::Fxc`] is byte for byte what `D3DDisassemble` of FXC writes. It loses digits and
//! omits some bits. [`Dialect::Exact`] writes floats with all the digits they need and, where the text implies other
//! tokens than those of the program, the tokens themselves in angle brackets. [`crate::assemble()`] reads both.
//!
//! Source: FXC's text for programs that have each opcode, operand and control.

mod declaration;
pub(crate) mod number;
mod operand;

pub(crate) use declaration::IMMEDIATE_CONSTANT_BUFFER;

use crate::decode::Instructions;
use crate::implied::{self, Position};
use crate::names::{MASKS, RETURN_TYPES, UNKNOWN_DIMENSION, UNKNOWN_RETURN_TYPE, name_of};
use crate::opcode::{Class, Controls, Opcode, OpcodeRow};
use crate::operand::{Components, OperandKind, bits};
use crate::program::{Extension, Instruction, Program, Version};
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt::Write;
use number::ImmediateFormat;
use operand::Context;
use unshade_core::token::{Link, Token};
use unshade_core::{TokenKind, TokenSink};

/// A dialect of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// FXC's, byte for byte.
    Fxc,
    /// FXC's, plus everything the assembler needs to give the same tokens again.
    Exact,
}

/// Returns the name of an operand of an instruction by its index, if it is known.
pub type OperandNames<'a> = &'a dyn Fn(&Instruction, usize) -> Option<String>;

/// Text to print around instructions, such as source lines and variables, by their position in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Whole lines before the line of an instruction.
    pub before: BTreeMap<u32, String>,
    /// Text at the end of the line.
    pub after: BTreeMap<u32, String>,
}

/// Print options.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The dialect.
    pub dialect: Dialect,
    /// Names of operands, for comments.
    pub names: Option<OperandNames<'a>>,
    /// Text to print around instructions.
    pub notes: Option<&'a Notes>,
    /// The file offset of the program, for the ranges that the sink receives.
    pub offset: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { dialect: Dialect::Exact, names: None, notes: None, offset: 0 }
    }
}

/// Writes a program: a line with its kind and version, then a line for each instruction.
///
/// ```
/// use unshade_core::{Diagnostics, Reader};
/// use unshade_dxbc::print::{Options, print};
///
/// let bytes: Vec<u8> = [0x50u32, 3, 0x0100_003e].iter().flat_map(|token| token.to_le_bytes()).collect();
/// let program = unshade_dxbc::decode(Reader::new(&bytes), &mut Diagnostics::default())?;
/// let mut text = String::new();
/// print(&program, Options::default(), &mut text);
/// assert_eq!(text, "ps_5_0\nret \n");
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub fn print(program: &Program, options: Options<'_>, sink: &mut dyn TokenSink) {
    let mut printer = Printer::new(program.version, options, sink);
    printer.head();
    printer.unusual_head(program);
    printer.put(TokenKind::Space, "\n");
    for instruction in &program.instructions {
        printer.statement(instruction);
    }
    printer.trailing(program);
    printer.finish();
}

/// Writes a program as [`print()`] does with [`Dialect::Fxc`], but streams it from its tokens without storing it: no
/// part of that text depends on what follows it.
///
/// ```
/// use unshade_core::{Diagnostics, Reader};
/// use unshade_dxbc::{decode::Instructions, print::print_fxc};
///
/// let bytes: Vec<u8> = [0x50u32, 3, 0x0100_003e].iter().flat_map(|token| token.to_le_bytes()).collect();
/// let mut text = String::new();
/// print_fxc(Instructions::read(Reader::new(&bytes), &mut Diagnostics::default())?, None, 0, &mut text);
/// assert_eq!(text, "ps_5_0\nret \n");
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub fn print_fxc(
    mut instructions: Instructions<'_>,
    notes: Option<&Notes>,
    offset: u64,
    sink: &mut dyn TokenSink,
) {
    let options = Options { dialect: Dialect::Fxc, names: None, notes, offset };
    let mut printer = Printer::new(instructions.version(), options, sink);
    printer.head();
    printer.put(TokenKind::Space, "\n");
    let mut instruction = Instruction::default();
    while instructions.next_into(&mut instruction) {
        printer.statement(&instruction);
    }
    printer.finish();
}

/// Writes one instruction, without indentation and line end.
pub fn print_instruction(
    version: Version,
    instruction: &Instruction,
    options: Options<'_>,
    sink: &mut dyn TokenSink,
) {
    let mut printer = Printer::new(version, options, sink);
    printer.instruction(instruction);
    printer.finish();
}

struct Printer<'s> {
    sink: &'s mut dyn TokenSink,
    options: Options<'s>,
    version: Version,
    /// Number of open blocks.
    depth: usize,
    /// The cross-reference of the next register.
    link: Option<Link>,
    /// A reused buffer for the text of a token.
    scratch: String,
    /// Whether the sink keeps only text, so that it may receive many tokens as one.
    is_plain: bool,
    /// Text that such a sink has not received yet.
    gathered: String,
}

/// Maximum indentation: blocks of hostile programs may never end.
const MAX_INDENT: usize = 500;

/// Size from which gathered text goes to the sink.
const GATHERED: usize = 8 << 10;

impl<'s> Printer<'s> {
    fn new(version: Version, options: Options<'s>, sink: &'s mut dyn TokenSink) -> Self {
        let is_plain = sink.is_plain_text() && !sink.wants_sources();
        let (scratch, gathered) = (String::new(), String::new());
        Self { sink, options, version, depth: 0, link: None, scratch, is_plain, gathered }
    }

    /// Passes the gathered text to the sink.
    fn finish(&mut self) {
        if !self.gathered.is_empty() {
            self.sink.put(TokenKind::Text, &self.gathered);
            self.gathered.clear();
        }
    }
}

impl Printer<'_> {
    fn dialect(&self) -> Dialect {
        self.options.dialect
    }

    fn version(&self) -> Version {
        self.version
    }

    #[inline(always)]
    fn put(&mut self, kind: TokenKind, text: &str) {
        if self.is_plain {
            self.gathered.push_str(text);
        } else {
            self.sink.put(kind, text);
        }
    }

    /// Writes a token and clears its text.
    fn put_text(&mut self, kind: TokenKind, text: &mut String) {
        if text.is_empty() {
            return;
        }
        if self.is_plain {
            self.gathered.push_str(text);
        } else {
            let link = if kind == TokenKind::Register { self.link.take() } else { None };
            self.sink.token(Token { kind, text, link });
        }
        text.clear();
    }

    fn number(&mut self, number: u32) {
        let mut text = core::mem::take(&mut self.scratch);
        text.clear();
        number::write_decimal(&mut text, number.into());
        self.put_text(TokenKind::Number, &mut text);
        self.scratch = text;
    }

    /// Writes the profile.
    fn head(&mut self) {
        let (major, minor) = self.version.model();
        let mut text = String::new();
        let _ = match self.version.kind_name() {
            Some(name) => write!(text, "{name}_{major}_{minor}"),
            None => write!(text, "kind{}_{major}_{minor}", self.version.kind()),
        };
        self.put_text(TokenKind::Keyword, &mut text);
    }

    /// Writes the first two tokens if the text implies others.
    fn unusual_head(&mut self, program: &Program) {
        if self.dialect() == Dialect::Exact && program.has_unusual_head() {
            let mut text = String::new();
            let _ = write!(text, "<0x{:08x},0x{:08x}>", program.version.0, program.length);
            self.put_text(TokenKind::Attribute, &mut text);
        }
    }

    fn trailing(&mut self, program: &Program) {
        if program.trailing.is_empty() || self.dialect() == Dialect::Fxc {
            return;
        }
        self.put(TokenKind::Keyword, "trailing");
        let mut text = String::new();
        for byte in &program.trailing {
            let _ = write!(text, " 0x{byte:02x}");
        }
        self.put_text(TokenKind::Number, &mut text);
        self.put(TokenKind::Space, "\n");
    }

    fn statement(&mut self, instruction: &Instruction) {
        let notes = self.options.notes;
        if let Some(before) = notes.and_then(|notes| notes.before.get(&instruction.position)) {
            self.put(TokenKind::Comment, before);
        }
        if self.sink.wants_sources() {
            let start = self.options.offset.saturating_add(u64::from(instruction.position).saturating_mul(4));
            let size = instruction.size_in_tokens().saturating_mul(4);
            self.sink.source(start..start.saturating_add(size));
        }
        let opcode = instruction.opcode();
        if matches!(opcode, Opcode::ELSE | Opcode::ENDIF | Opcode::ENDLOOP | Opcode::ENDSWITCH) {
            self.depth = self.depth.saturating_sub(1);
        }
        if self.gathered.len() >= GATHERED {
            self.finish();
        }
        for _ in 0..self.depth.min(MAX_INDENT) {
            self.put(TokenKind::Space, "  ");
        }
        self.instruction(instruction);
        if let Some(after) = notes.and_then(|notes| notes.after.get(&instruction.position)) {
            self.put(TokenKind::Comment, after);
        }
        self.put(TokenKind::Space, "\n");
        if matches!(opcode, Opcode::IF | Opcode::ELSE | Opcode::LOOP | Opcode::SWITCH) {
            self.depth = self.depth.saturating_add(1);
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        if self.dialect() == Dialect::Exact && !is_expressible(self.version, instruction) {
            return self.bare_tokens(instruction);
        }
        match instruction.opcode().row() {
            Some(row) if row.controls == Controls::CustomData => self.custom_data(instruction),
            Some(row) if row.class == Class::Declaration => self.declaration(instruction, row),
            Some(row) => self.operation(instruction, row),
            // FXC writes only the space after the mnemonic, if it does not fail.
            None if self.dialect() == Dialect::Fxc => self.put(TokenKind::Keyword, " "),
            None => {
                let mut text = String::new();
                let _ = write!(text, "unknown_{}", instruction.opcode().0);
                self.put_text(TokenKind::Keyword, &mut text);
                self.opcode_tokens(instruction, None, &Extension::default());
            }
        }
        self.rest(instruction);
    }

    fn operation(&mut self, instruction: &Instruction, row: &OpcodeRow) {
        let extension = instruction.extension();
        let mut text = core::mem::take(&mut self.scratch);
        text.clear();
        text.push_str(row.mnemonic);
        if extension.offsets.is_some() {
            text.push_str("_aoffimmi");
        }
        if extension.dimension.is_some() || extension.return_types.is_some() {
            text.push_str("_indexable");
        }
        if instruction.is_saturated() {
            text.push_str("_sat");
        }
        self.put_text(TokenKind::Keyword, &mut text);
        self.scratch = text;
        self.precise(instruction);
        self.extension(&extension);
        self.put(TokenKind::Keyword, control_suffix(instruction, row.controls));
        self.sync(instruction, row);
        if self.dialect() == Dialect::Exact {
            self.opcode_tokens(instruction, Some(row), &extension);
        }
        if row.controls != Controls::Sync {
            self.put(TokenKind::Space, " ");
        }
        if instruction.opcode() == Opcode::FCALL {
            self.call(instruction);
        } else {
            self.operands(instruction, row);
        }
    }

    fn precise(&mut self, instruction: &Instruction) {
        let mask = instruction.precise();
        let mut text = String::new();
        match mask {
            0 => return,
            15 => text.push_str(" [precise]"),
            _ => {
                let letters = usize::try_from(mask).ok().and_then(|mask| MASKS.get(mask)).copied();
                let _ = write!(text, " [precise({})]", letters.unwrap_or_default());
            }
        }
        self.put_text(TokenKind::Attribute, &mut text);
    }

    fn extension(&mut self, extension: &Extension) {
        let mut text = String::new();
        if let Some([u, v, w]) = extension.offsets {
            let _ = write!(text, "({u},{v},{w})");
        }
        if let Some((dimension, stride)) = extension.dimension {
            let _ = write!(text, "({}", self.dimension_name(dimension));
            if stride != 0 {
                let _ = write!(text, ", stride={stride}");
            }
            text.push(')');
        }
        self.put_text(TokenKind::Attribute, &mut text);
        if let Some(types) = extension.return_types {
            self.return_types(types);
        }
    }

    /// Returns the name of a dimension.
    fn dimension_name(&self, dimension: u32) -> &'static str {
        let unknown = if self.dialect() == Dialect::Fxc { UNKNOWN_DIMENSION } else { "unknown" };
        name_of(crate::names::DIMENSIONS, dimension).unwrap_or(unknown)
    }

    fn return_types(&mut self, types: [u32; 4]) {
        let mut text = String::from("(");
        for (position, number) in types.into_iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            let _ = match (name_of(RETURN_TYPES, number), self.dialect()) {
                (Some(name), _) => text.write_str(name),
                (None, Dialect::Fxc) => text.write_str(UNKNOWN_RETURN_TYPE),
                (None, Dialect::Exact) => write!(text, "{number}"),
            };
        }
        text.push(')');
        self.put_text(TokenKind::Type, &mut text);
    }

    fn sync(&mut self, instruction: &Instruction, row: &OpcodeRow) {
        if row.controls != Controls::Sync {
            return;
        }
        let flag = |bit| bits(instruction.token, bit, 1) == 1;
        if flag(14) {
            self.put(TokenKind::Keyword, "_uglobal");
        } else if flag(13) {
            self.put(TokenKind::Keyword, "_ugroup");
        }
        if flag(12) {
            self.put(TokenKind::Keyword, "_g");
        }
        if flag(11) {
            self.put(TokenKind::Keyword, "_t");
        }
    }

    /// Writes the opcode's tokens if the text implies others.
    fn opcode_tokens(&mut self, instruction: &Instruction, row: Option<&OpcodeRow>, extension: &Extension) {
        let token = instruction.token_without_length();
        let implied = row.map(|row| {
            let extended = u32::from(*extension != Extension::default()) << 31;
            let controls = instruction.token & implied::written_controls(row.controls, instruction.token);
            u32::from(row.number) | controls | extended
        });
        let long = instruction.is_long();
        let same_extension = long || instruction.extended == implied::extension_tokens(extension);
        if implied == Some(token) && same_extension {
            return;
        }
        let mut text = String::new();
        let _ = write!(text, "<0x{token:08x}");
        for extended in instruction.extended.iter().filter(|_| !long) {
            let _ = write!(text, ",0x{extended:08x}");
        }
        text.push('>');
        self.put_text(TokenKind::Attribute, &mut text);
    }

    /// Writes a call of an interface function.
    fn call(&mut self, instruction: &Instruction) {
        if let Some(operand) = instruction.operands.first() {
            self.operand(operand, Context::INDEX);
        }
        let mut text = String::new();
        let _ = write!(text, "[{}]", instruction.values.first().copied().unwrap_or(0));
        self.put_text(TokenKind::Register, &mut text);
        self.operand_name(instruction, 0);
    }

    fn operands(&mut self, instruction: &Instruction, row: &OpcodeRow) {
        let target = row
            .body
            .starts_with('d')
            .then(|| instruction.operands.first().map_or(0, crate::operand::Operand::precision));
        for (index, (operand, letter)) in instruction.operands.iter().zip(row.operand_letters()).enumerate() {
            if index > 0 {
                self.put(TokenKind::Punctuation, ", ");
            }
            let converts =
                u32::try_from(index).is_ok_and(|index| bits(u32::from(row.converts), index, 1) == 1);
            let position = if letter == b'd' { Position::Destination } else { Position::Source };
            let converted_to = target.filter(|_| converts);
            self.operand(operand, Context { position, format: ImmediateFormat::of(letter), converted_to });
            self.operand_name(instruction, index);
        }
    }

    /// Writes the name of an operand, as a comment.
    fn operand_name(&mut self, instruction: &Instruction, index: usize) {
        let Some(name) = self.options.names.and_then(|names| names(instruction, index)) else { return };
        let mut text = String::new();
        // A name must not end the comment that it is in.
        let _ = write!(text, " /*{}*/", unshade_core::Escaped(name.as_bytes()));
        let mut text = text.replacen("*/", "* /", text.matches("*/").count().saturating_sub(1));
        self.put_text(TokenKind::Comment, &mut text);
    }

    /// Writes an instruction as its tokens.
    fn bare_tokens(&mut self, instruction: &Instruction) {
        let mut tokens = alloc::vec::Vec::new();
        // The error is that its length does not fit the opcode token; its tokens are all there.
        let _ = instruction.write(&mut tokens);
        let mut text = String::new();
        let token = instruction.token_without_length();
        let _ = write!(text, "unknown_{}<0x{token:08x}> <rest", instruction.opcode().0);
        for token in tokens.iter().skip(1) {
            let _ = write!(text, " 0x{token:08x}");
        }
        text.push('>');
        self.put_text(TokenKind::Number, &mut text);
    }

    /// Writes the tokens that the opcode has no use for.
    fn rest(&mut self, instruction: &Instruction) {
        if self.dialect() == Dialect::Fxc || instruction.rest.is_empty() {
            return;
        }
        let mut text = String::from(" <rest");
        for token in &instruction.rest {
            let _ = write!(text, " 0x{token:08x}");
        }
        text.push('>');
        self.put_text(TokenKind::Attribute, &mut text);
    }
}

/// Returns whether the text of an instruction expresses all of its tokens; some that no compiler writes have no text.
fn is_expressible(version: Version, instruction: &Instruction) -> bool {
    let Some(row) = instruction.opcode().row().filter(|row| row.controls != Controls::CustomData) else {
        return true;
    };
    // Tokens that could not be decoded are in the rest.
    let wants = row.body.bytes().any(|letter| !matches!(letter, b'p' | b'q'));
    let lacks = wants && instruction.operands.is_empty() && instruction.values.is_empty();
    let unknown_length = instruction.is_long() && instruction.extended.is_empty();
    // Return types are four bits each.
    let wide_types =
        row.body.contains('y') && instruction.values.first().is_some_and(|types| *types > 0xffff);
    let dimension = instruction.extension().dimension;
    let unnamed =
        dimension.is_some_and(|(dimension, _)| name_of(crate::names::DIMENSIONS, dimension).is_none());
    let operand = instruction.operands.first();
    let is_called_otherwise = instruction.opcode() == Opcode::FCALL
        && operand.is_some_and(|operand| !operand.kind().brackets_function() || has_letters(operand));
    let is_bindable = operand.is_some_and(|one| one.kind().capital_name().is_some());
    let is_bound = row.class == Class::Declaration && (is_bindable || row.body.contains(['p', 'q']));
    let is_bound_otherwise =
        is_bound && (!is_bindable || operand.is_some_and(|one| !has_plain_range(version, one)));
    !(lacks || unknown_length || wide_types || unnamed || is_called_otherwise || is_bound_otherwise)
}

fn has_letters(operand: &crate::operand::Operand) -> bool {
    !matches!(operand.components(), Components::None | Components::One | Components::Unknown)
}

/// Returns whether a declared binding has the indices that its shader model requires, and these are plain numbers.
fn has_plain_range(version: Version, operand: &crate::operand::Operand) -> bool {
    let indices = operand.used_indices();
    let plain = indices.iter().all(|index| index.relative.is_none() && u32::try_from(index.number).is_ok());
    let is_buffer = operand.kind() == OperandKind::CONSTANT_BUFFER;
    let count = if version.has_spaces() { 3 } else { 1usize.saturating_add(usize::from(is_buffer)) };
    plain && indices.len() == count
}

/// Returns the mnemonic suffix for the control bits.
fn control_suffix(instruction: &Instruction, controls: Controls) -> &'static str {
    match (controls, bits(instruction.token, 11, 2)) {
        (Controls::Test, _) if instruction.tests_not_zero() => "_nz",
        (Controls::Test, _) => "_z",
        (Controls::ResourceInfo, 1) => "_rcpfloat",
        (Controls::ResourceInfo, 2) | (Controls::SampleInfo, 1) => "_uint",
        _ => "",
    }
}

impl Program {
    /// Returns whether the first two tokens differ from those that the text implies.
    fn has_unusual_head(&self) -> bool {
        let mut renewed = Self { instructions: self.instructions.clone(), ..Self::default() };
        let length = renewed.update_length().map(|()| renewed.length);
        let (major, minor) = self.version.model();
        let implied = self.version.kind() << 16 | major << 4 | minor;
        self.version.kind_name().is_none() || implied != self.version.0 || length != Ok(self.length)
    }
}
