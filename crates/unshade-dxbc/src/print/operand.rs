//! Prints operands.

use super::number::{ImmediateFormat, write_decimal, write_double, write_value};
use super::{Dialect, Printer};
use crate::implied::{self, Modifiers, Position};
use crate::names::{COMPONENTS, MASKS, PRECISIONS, name_of};
use crate::operand::{Brackets, Components, Index, Operand, OperandKind};
use alloc::string::String;
use core::fmt::Write;
use unshade_core::TokenKind;
use unshade_core::token::Link;

/// The context of an operand.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) position: Position,
    pub(super) format: ImmediateFormat,
    /// The precision that it is converted to, if any.
    pub(super) converted_to: Option<u32>,
}

impl Context {
    /// A source operand in an index.
    pub(super) const INDEX: Self =
        Self { position: Position::Source, format: ImmediateFormat::Integer, converted_to: None };
}

/// Appends the components as they are written; returns whether there are any.
pub(super) fn component_letters(components: Components, buffer: &mut String) -> bool {
    match components {
        Components::Mask(mask) => buffer.push_str(MASKS.get(usize::from(mask)).copied().unwrap_or_default()),
        Components::Swizzle(order) => {
            let letters = order.map(|component| b"xyzw".get(usize::from(component)).copied().unwrap_or(b'x'));
            buffer.push_str(core::str::from_utf8(&letters).unwrap_or_default());
        }
        Components::Select(component) => {
            buffer.push_str(COMPONENTS.get(usize::from(component)).copied().unwrap_or_default());
        }
        Components::None | Components::One | Components::Unknown => return false,
    }
    true
}

impl Printer<'_> {
    pub(super) fn operand(&mut self, operand: &Operand, context: Context) {
        let modifiers = Modifiers::of(operand);
        if modifiers.negated {
            self.put(TokenKind::Punctuation, "-");
        }
        if modifiers.absolute {
            self.put(TokenKind::Punctuation, "|");
        }
        let declares_binding =
            matches!(context.position, Position::Declared { .. }) && operand.kind().capital_name().is_some();
        let written = if operand.kind().is_immediate() {
            self.immediate(operand, context.format);
            None
        } else {
            if !self.is_plain {
                self.link = Some(link(operand, context.position));
            }
            self.register(operand, declares_binding)
        };
        self.precision(modifiers, context);
        if modifiers.non_uniform {
            self.put(TokenKind::Attribute, " { nonuniform }");
        }
        if modifiers.absolute {
            self.put(TokenKind::Punctuation, "|");
        }
        if self.dialect() == Dialect::Exact {
            self.operand_tokens(operand, written.as_deref(), modifiers, context.position);
        }
    }

    /// Writes name, indices and components; returns the components if the exact dialect compares tokens with them.
    fn register(&mut self, operand: &Operand, declares_binding: bool) -> Option<String> {
        let kind = operand.kind();
        let capitals =
            declares_binding && kind == OperandKind::CONSTANT_BUFFER || self.version().has_spaces();
        let name = kind.capital_name().filter(|_| capitals).or(kind.name());
        let mut text = core::mem::take(&mut self.scratch);
        text.clear();
        match name {
            Some(name) => text.push_str(name),
            None => {
                let _ = write!(text, "kind{}_", kind.0);
            }
        }
        let indices = operand.used_indices();
        let ranges = declares_binding && indices.len() == 3;
        for (dimension, index) in indices.iter().enumerate() {
            if ranges && dimension == 1 {
                self.range(&mut text, indices);
                break;
            }
            self.index(&mut text, operand, dimension, index);
        }
        self.put_text(TokenKind::Register, &mut text);
        text.push('.');
        let has_components = !declares_binding && component_letters(operand.components(), &mut text);
        let letters = (has_components && self.dialect() == Dialect::Exact)
            .then(|| String::from(text.get(1..).unwrap_or_default()));
        if has_components {
            self.put_text(TokenKind::Register, &mut text);
        }
        self.scratch = text;
        letters
    }

    /// Appends a declared range of bindings.
    fn range(&mut self, text: &mut String, indices: &[Index]) {
        if let [_, first, last] = indices {
            let _ = match u32::try_from(last.number) {
                Ok(u32::MAX) => write!(text, "[{}:*]", first.number),
                _ => write!(text, "[{}:{}]", first.number, last.number),
            };
        }
    }

    fn index(&mut self, text: &mut String, operand: &Operand, dimension: usize, index: &Index) {
        let count = operand.dimensions();
        if let Some(relative) = &index.relative {
            text.push('[');
            self.put_text(TokenKind::Register, text);
            self.operand(relative, Context::INDEX);
            // 32-bit numbers are signed and longer ones unsigned, so that they can be distinguished.
            let _ = match u32::try_from(index.number) {
                Ok(offset) => write!(text, " + {}]", offset.cast_signed()),
                Err(_) => write!(text, " + {}]", index.number),
            };
            return;
        }
        let wide = operand.index_form(dimension) == crate::operand::IndexForm::IMMEDIATE64;
        if wide && self.dialect() == Dialect::Fxc {
            return;
        }
        let brackets = match operand.kind().brackets() {
            // FXC's text is ambiguous; `r7[8]` is not.
            Brackets::Never => dimension > 0 && self.dialect() == Dialect::Exact,
            Brackets::AfterFirst => dimension > 0,
            Brackets::IfSeveral => count > 1,
            Brackets::IfSingle => dimension > 0 || count == 1,
        };
        if brackets {
            text.push('[');
        }
        write_decimal(text, index.number);
        if brackets {
            text.push(']');
        }
    }

    fn immediate(&mut self, operand: &Operand, format: ImmediateFormat) {
        let dialect = self.dialect();
        let mut text = core::mem::take(&mut self.scratch);
        text.clear();
        if operand.kind() == OperandKind::IMMEDIATE64 {
            self.put(TokenKind::Punctuation, "d(");
            match operand.values() {
                [low, high, next_low, next_high] => {
                    write_double(&mut text, u64::from(*high) << 32 | u64::from(*low), dialect);
                    text.push_str(", ");
                    write_double(&mut text, u64::from(*next_high) << 32 | u64::from(*next_low), dialect);
                }
                [half] if dialect == Dialect::Exact => {
                    let _ = write!(text, "0x{half:08x}");
                }
                _ => text.push_str("0.000000"),
            }
        } else {
            self.put(TokenKind::Punctuation, "l(");
            // FXC shows four values even for an operand without values.
            let values = match operand.values() {
                [] if dialect == Dialect::Fxc => &operand.immediate,
                values => values,
            };
            for (position, value) in values.iter().enumerate() {
                if position > 0 {
                    text.push_str(if format == ImmediateFormat::Guessed { "," } else { ", " });
                }
                write_value(&mut text, *value, format, dialect);
            }
        }
        self.put_text(TokenKind::Number, &mut text);
        self.scratch = text;
        self.put(TokenKind::Punctuation, ")");
    }

    fn precision(&mut self, modifiers: Modifiers, context: Context) {
        let named = |precision| name_of(PRECISIONS, precision).unwrap_or("def32");
        let mut text = String::new();
        match context.converted_to {
            Some(target) if target != modifiers.precision => {
                let _ = write!(text, " {{{} as {}}}", named(modifiers.precision), named(target));
            }
            Some(_) | None if modifiers.precision != 0 => {
                let _ = write!(text, " {{{}}}", named(modifiers.precision));
            }
            _ => {}
        }
        self.put_text(TokenKind::Attribute, &mut text);
    }

    /// Writes the operand's tokens if the text implies others.
    fn operand_tokens(
        &mut self,
        operand: &Operand,
        letters: Option<&str>,
        modifiers: Modifiers,
        position: Position,
    ) {
        let extended = Modifiers { precision: nameable(modifiers.precision), ..modifiers }.token();
        let components = if operand.kind().is_immediate() {
            match (operand.values().len(), operand.kind()) {
                (4, _) => Some(2),
                (_, _) => Some(1),
            }
        } else {
            implied::components(operand.kind(), letters, position)
        };
        let implied = components.map(|components| {
            implied::operand_token(operand.kind(), components, operand.used_indices(), extended.is_some())
        });
        let known = operand.kind().name().is_some();
        if known && implied == Some(operand.token) && operand.extended.as_slice() == extended.as_slice() {
            return;
        }
        let mut text = String::new();
        let _ = write!(text, "<0x{:08x}", operand.token);
        for token in &operand.extended {
            let _ = write!(text, ",0x{token:08x}");
        }
        text.push('>');
        self.put_text(TokenKind::Attribute, &mut text);
    }
}

/// Returns what cross-references a register: its kind and number. If a register has two indices, that is the second
/// for inputs (the first is the vertex) and the first for constants (the second is the position in the buffer).
fn link(operand: &Operand, position: Position) -> Link {
    let indices = operand.used_indices();
    let index = match operand.kind().brackets() {
        Brackets::IfSeveral => indices.last(),
        _ => indices.first(),
    };
    let number = index.map_or(0, |index| low_half(index.number));
    let register = u64::from(operand.kind().0) << 32 | u64::from(number);
    match position {
        Position::Source => Link::Reference(register),
        Position::Destination | Position::Declared { .. } => Link::Definition(register),
    }
}

/// Returns a precision if it has a name, else zero.
fn nameable(precision: u32) -> u32 {
    name_of(PRECISIONS, precision).map_or(0, |_| precision)
}

#[allow(clippy::cast_possible_truncation)]
fn low_half(number: u64) -> u32 {
    number as u32
}
