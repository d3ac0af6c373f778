//! Prints programs of Shader Model 1 to 3, as FXC does or so that they assemble to the same tokens.
//!
//! FXC's text omits comments, lengths and bits without a meaning. The exact dialect writes comments as their tokens.
//! It replaces an instruction by its tokens (`tokens 0x02000001 …`) if the text would not express all of them.
//!
//! Source: FXC's text for programs that have each opcode, operand and control in each version.

use super::constants::ConstantTable;
use super::debug::DebugInfo;
use super::implied::{self, SAMPLE_CONTROLS, declared};
use super::number::write_float;
use super::opcode::{COMPARISONS, Opcode, OpcodeRow};
use super::operand::{
    IDENTITY, Operand, PRECISIONS, RESULT_MODIFIERS, SHIFTS, SOURCE_MODIFIERS, TEXTURES, USAGES,
    register_bits,
};
use super::program::{Instruction, Program, Version};
use crate::names::{COMPONENTS, MASKS, name_of};
use crate::print::Dialect;
use alloc::string::String;
use core::fmt::Write;
use unshade_core::token::{Link, Token};
use unshade_core::{TokenKind, TokenSink};

/// Print options.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The dialect.
    pub dialect: Dialect,
    /// Names of constants, for comments.
    pub constants: Option<&'a ConstantTable>,
    /// Source lines and variables.
    pub debug: Option<&'a DebugInfo>,
    /// The file offset of the program, for the ranges that the sink receives.
    pub offset: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { dialect: Dialect::Exact, constants: None, debug: None, offset: 0 }
    }
}

/// Writes a program: a line with its kind and version, then a line for each instruction.
///
/// ```
/// use unshade_dxbc::d3d9::{assemble, print};
///
/// let program = assemble("ps_2_0\ndcl t0.xy\ndcl_2d s0\ntexld r0, t0, s0\nmov oC0, -r0.w")?;
/// let mut text = String::new();
/// print::print(&program, print::Options::default(), &mut text);
/// assert!(text.ends_with("    texld r0, t0, s0\n    mov oC0, -r0.w\n"));
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub fn print(program: &Program, options: Options<'_>, sink: &mut dyn TokenSink) {
    let mut printer = Printer { sink, options, version: program.version, depth: 0 };
    printer.line_start("    ");
    printer.put(TokenKind::Keyword, &alloc::format!("{}", program.version));
    printer.put(TokenKind::Space, "\n");
    for instruction in &program.instructions {
        printer.statement(instruction);
    }
    if options.dialect == Dialect::Exact {
        printer.end(program);
    }
}

/// Writes one instruction, without indentation and line end.
pub fn print_instruction(
    version: Version,
    instruction: &Instruction,
    options: Options<'_>,
    sink: &mut dyn TokenSink,
) {
    Printer { sink, options, version, depth: 0 }.instruction(instruction);
}

struct Printer<'s> {
    sink: &'s mut dyn TokenSink,
    options: Options<'s>,
    version: Version,
    /// Number of open blocks.
    depth: usize,
}

/// Maximum indentation: blocks of hostile programs may never end.
const MAX_INDENT: usize = 500;
/// Tokens per line of a comment.
const TOKENS_A_LINE: usize = 8;

impl Printer<'_> {
    fn put(&mut self, kind: TokenKind, text: &str) {
        self.sink.put(kind, text);
    }

    fn line_start(&mut self, start: &str) {
        self.put(TokenKind::Space, start);
        for _ in 0..self.depth.min(MAX_INDENT) {
            self.put(TokenKind::Space, "  ");
        }
    }

    /// Writes what follows the instructions: an unusual end token, and the bytes after it.
    fn end(&mut self, program: &Program) {
        self.depth = 0;
        let mut text = String::new();
        match program.end {
            None => text.push_str("    unended\n"),
            Some(END) => {}
            Some(token) => {
                let _ = writeln!(text, "    end 0x{token:08x}");
            }
        }
        for (position, line) in program.trailing.chunks(TOKENS_A_LINE).enumerate() {
            text.push_str(if position == 0 { "    trailing" } else { "     " });
            for byte in line {
                let _ = write!(text, " 0x{byte:02x}");
            }
            text.push('\n');
        }
        self.put(TokenKind::Number, &text);
    }

    fn statement(&mut self, instruction: &Instruction) {
        let opcode = instruction.opcode();
        if opcode == Opcode::COMMENT && self.options.dialect == Dialect::Fxc {
            return;
        }
        let (before, after) = self.options.debug.map_or((None, None), |debug| debug.notes(instruction));
        if let Some(before) = before {
            self.put(TokenKind::Comment, &before);
        }
        if self.sink.wants_sources() {
            let start = self.options.offset.saturating_add(u64::from(instruction.position).saturating_mul(4));
            let size = instruction.size_in_tokens().saturating_mul(4);
            self.sink.source(start..start.saturating_add(size));
        }
        if matches!(opcode, Opcode::ELSE | Opcode::END_IF | Opcode::END_LOOP | Opcode::END_REPEAT) {
            self.depth = self.depth.saturating_sub(1);
        }
        self.line_start(if instruction.is_co_issued() && opcode != Opcode::COMMENT { "  " } else { "    " });
        self.instruction(instruction);
        if let Some(after) = after {
            self.put(TokenKind::Comment, &after);
        }
        self.put(TokenKind::Space, "\n");
        let opens = [Opcode::IF, Opcode::IF_COMPARE, Opcode::ELSE, Opcode::LOOP, Opcode::REPEAT];
        if opens.contains(&opcode) {
            self.depth = self.depth.saturating_add(1);
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        if self.options.dialect == Dialect::Exact {
            let is_comment = instruction.opcode() == Opcode::COMMENT;
            if !implied::is_expressible(self.version, instruction) {
                return self.bare_tokens(instruction);
            }
            if is_comment {
                return self.comment(instruction);
            }
        }
        self.operation(instruction);
    }

    /// Writes a comment as its tokens, with its tag as letters.
    fn comment(&mut self, instruction: &Instruction) {
        self.put(TokenKind::Keyword, "comment");
        let tag = instruction.values.first().map(|tag| tag.to_le_bytes());
        let tag = tag.filter(|tag| tag.iter().all(u8::is_ascii_uppercase));
        let mut text = String::new();
        if let Some(tag) = tag {
            text.push(' ');
            text.extend(tag.iter().map(|letter| char::from(*letter)));
        }
        self.put(TokenKind::Attribute, &text);
        let values = instruction.values.get(usize::from(tag.is_some())..).unwrap_or_default();
        self.tokens(values);
    }

    fn tokens(&mut self, tokens: &[u32]) {
        let mut text = String::new();
        for (position, line) in tokens.chunks(TOKENS_A_LINE).enumerate() {
            if position > 0 {
                text.push_str("\n     ");
            }
            for token in line {
                let _ = write!(text, " 0x{token:08x}");
            }
        }
        self.put(TokenKind::Number, &text);
    }

    /// Writes an instruction as its tokens, with FXC's text in a comment.
    fn bare_tokens(&mut self, instruction: &Instruction) {
        let mut tokens = alloc::vec::Vec::new();
        // The error is that its length does not fit the opcode token; its tokens are all there.
        let _ = instruction.write(self.version, &mut tokens);
        self.put(TokenKind::Keyword, "tokens");
        self.tokens(&tokens);
        if instruction.opcode() == Opcode::COMMENT {
            return;
        }
        let mut text = String::from("  // ");
        let options = Options { dialect: Dialect::Fxc, constants: None, debug: None, ..self.options };
        print_instruction(self.version, instruction, options, &mut text);
        self.put(TokenKind::Comment, &text);
    }

    fn operation(&mut self, instruction: &Instruction) {
        let row = instruction.opcode().row(self.version);
        if instruction.is_co_issued() {
            self.put(TokenKind::Punctuation, "+ ");
        }
        let is_definition = row.is_some_and(|row| row.values() > 0);
        let position = instruction.predicate_index(self.version);
        if let Some(predicate) = position.and_then(|position| instruction.operands.get(position)) {
            self.put(TokenKind::Punctuation, if predicate.source_modifier() == NOT { "(!" } else { "(" });
            self.register(predicate, Link::Reference);
            self.swizzle(predicate);
            self.put(TokenKind::Punctuation, ") ");
        } else if instruction.is_predicated() && is_definition {
            self.put(TokenKind::Punctuation, "(p0) ");
        }
        self.mnemonic(instruction, row);
        let is_written = |number| number == 0 && self.first_is_written(instruction);
        let written: alloc::vec::Vec<bool> = (0..instruction.operands.len().min(1)).map(is_written).collect();
        let mut separator = " ";
        for (number, operand) in instruction.operands.iter().enumerate() {
            if Some(number) == position {
                continue;
            }
            self.put(TokenKind::Punctuation, separator);
            separator = ", ";
            if written.get(number) == Some(&true) {
                self.destination(operand);
            } else {
                self.source(operand);
            }
        }
        self.values(instruction, row);
    }

    /// Returns whether the first operand is shown as a destination. FXC treats that of `break` with a predicate as
    /// one.
    fn first_is_written(&self, instruction: &Instruction) -> bool {
        let is_taken =
            self.options.dialect == Dialect::Fxc && instruction.opcode() == Opcode::BREAK_PREDICATE;
        is_taken || instruction.has_destination(self.version)
    }

    fn mnemonic(&mut self, instruction: &Instruction, row: Option<&OpcodeRow>) {
        let mut text = String::from(row.map_or("???", |row| row.mnemonic));
        let controls = instruction.controls();
        match instruction.opcode() {
            Opcode::DECLARE => self.usage(instruction, &mut text),
            Opcode::SAMPLE if text == "texld" => {
                let letter = SAMPLE_CONTROLS.iter().find(|(known, _)| *known == controls);
                text.push_str(letter.map_or("", |(_, letter)| letter));
            }
            opcode if opcode.compares() => {
                if let Some(name) = name_of(COMPARISONS, controls) {
                    let _ = write!(text, "_{name}");
                }
            }
            _ => {}
        }
        if let Some(operand) = instruction.operands.first().filter(|_| self.first_is_written(instruction)) {
            let shift = SHIFTS.iter().find(|(known, _)| *known == operand.shift());
            let modifiers = operand.result_modifiers();
            let names = RESULT_MODIFIERS.iter().filter(|(bit, _)| modifiers & bit != 0).map(|(_, name)| name);
            for name in shift.iter().map(|(_, name)| name).chain(names) {
                let _ = write!(text, "_{name}");
            }
        }
        self.put(TokenKind::Keyword, &text);
    }

    /// Appends the usage of a declaration, as a suffix.
    fn usage(&self, instruction: &Instruction, text: &mut String) {
        let (texture, usage, index) = declared(instruction.values.first().copied().unwrap_or(0));
        if texture != 0 {
            let _ = write!(text, "_{}", name_of(TEXTURES, texture).unwrap_or("unknown"));
        } else if usage != 0 || index != 0 || !self.version.is_pixel() {
            let _ = write!(text, "_{}", name_of(USAGES, usage).unwrap_or("unknown"));
            if index != 0 {
                let _ = write!(text, "{index}");
            }
        }
    }

    fn destination(&mut self, operand: &Operand) {
        self.register(operand, Link::Definition);
        if operand.mask() != 15 {
            let letters = usize::try_from(operand.mask()).ok().and_then(|mask| MASKS.get(mask)).copied();
            let mut text = String::from(".");
            text.push_str(letters.unwrap_or_default());
            self.put(TokenKind::Register, &text);
        }
        self.precision(operand);
    }

    fn precision(&mut self, operand: &Operand) {
        if let Some(name) = name_of(PRECISIONS, operand.precision()) {
            self.put(TokenKind::Attribute, &alloc::format!(" {{{name}}}"));
        }
    }

    fn source(&mut self, operand: &Operand) {
        let modifier = usize::try_from(operand.source_modifier()).unwrap_or(0);
        let (before, after) = SOURCE_MODIFIERS.get(modifier).copied().unwrap_or_default();
        self.put(TokenKind::Punctuation, before);
        self.register(operand, Link::Reference);
        self.put(TokenKind::Attribute, after);
        self.swizzle(operand);
        self.precision(operand);
        self.name(operand);
    }

    fn swizzle(&mut self, operand: &Operand) {
        let order = operand.swizzle();
        if order == IDENTITY {
            return;
        }
        let mut text = String::from(".");
        let is_one = order.iter().all(|component| Some(component) == order.first());
        for component in order.iter().take(if is_one { 1 } else { 4 }) {
            text.push_str(COMPONENTS.get(usize::from(*component)).copied().unwrap_or_default());
        }
        self.put(TokenKind::Register, &text);
    }

    /// Writes the register, linked by kind and number, and its address register in brackets.
    fn register(&mut self, operand: &Operand, link: fn(u64) -> Link) {
        let mut text = String::new();
        operand.write_register(self.version, &mut text);
        let number = register_bits(operand.kind(), operand.number());
        self.sink.token(Token { kind: TokenKind::Register, text: &text, link: Some(link(number.into())) });
        if let Some(address) = operand.address(self.version) {
            self.put(TokenKind::Punctuation, "[");
            self.register(&address, Link::Reference);
            self.swizzle(&address);
            self.put(TokenKind::Punctuation, "]");
        }
    }

    /// Writes the name of a constant or sampler, as a comment.
    fn name(&mut self, operand: &Operand) {
        let Some(name) = self.options.constants.and_then(|table| table.name_of(operand)) else { return };
        self.put(TokenKind::Comment, &alloc::format!(" /*{name}*/"));
    }

    fn values(&mut self, instruction: &Instruction, row: Option<&OpcodeRow>) {
        let Some(letter) = row.filter(|row| row.values() > 0).and_then(|row| row.body.bytes().last()) else {
            return;
        };
        let mut text = String::new();
        for value in &instruction.values {
            text.push_str(", ");
            match letter {
                b'f' if self.options.dialect == Dialect::Exact && !f32::from_bits(*value).is_finite() => {
                    let _ = write!(text, "0x{value:08x}");
                }
                b'f' => write_float(&mut text, *value),
                b'b' => text.push_str(if *value == 0 { "false" } else { "true" }),
                _ => {
                    let _ = write!(text, "{}", value.cast_signed());
                }
            }
        }
        self.put(TokenKind::Number, &text);
    }
}

/// The source modifier that negates a predicate.
pub(super) const NOT: u32 = 13;

/// The end token.
pub(super) const END: u32 = 0xffff;
