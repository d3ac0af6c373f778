//! Assembles operands.

use super::text::Text;
use super::value::{double, is_value, value};
use crate::decode::MAX_OPERAND_DEPTH;
use crate::implied::{self, Modifiers, Position};
use crate::names::{PRECISIONS, number_of};
use crate::operand::{Index, Operand, OperandKind};
use alloc::boxed::Box;
use alloc::vec::Vec;
use unshade_core::Result;

/// Reads an operand.
pub(super) fn operand(text: &mut Text<'_>, position: Position) -> Result<Operand> {
    Parts::read(text, position, 0)?.finish(text, position)
}

/// Reads the operand of an interface call and the function number after its indices.
pub(super) fn called(text: &mut Text<'_>) -> Result<(u32, Operand)> {
    let mut parts = Parts::read(text, Position::Source, 0)?;
    if parts.tokens.is_some() {
        let operand = parts.finish(text, Position::Source)?;
        text.expect("[")?;
        let number = text.number32()?;
        text.expect("]")?;
        return Ok((number, operand));
    }
    let function = parts.indices.pop().filter(|index| index.relative.is_none());
    let Some(number) = function.and_then(|index| u32::try_from(index.number).ok()) else {
        return Err(text.unexpected("the number of a function"));
    };
    Ok((number, parts.finish(text, Position::Source)?))
}

/// The parts of an operand in text.
struct Parts<'a> {
    kind: OperandKind,
    indices: Vec<Index>,
    letters: Option<&'a str>,
    immediate: [u32; 4],
    /// The number of immediate values.
    count: usize,
    modifiers: Modifiers,
    tokens: Option<Vec<u32>>,
}

impl<'a> Parts<'a> {
    fn read(text: &mut Text<'a>, position: Position, depth: usize) -> Result<Self> {
        if depth > MAX_OPERAND_DEPTH {
            return Err(text.unexpected("fewer nested operands"));
        }
        let negated = text.eat("-");
        let absolute = text.eat("|");
        let name = text.take_while(|character| character.is_ascii_alphabetic());
        let kind = kind_of(text, name)?;
        let modifiers = Modifiers { negated, absolute, ..Modifiers::default() };
        let mut parts = Self {
            kind,
            indices: Vec::new(),
            letters: None,
            immediate: [0; 4],
            count: 0,
            modifiers,
            tokens: None,
        };
        if kind.is_immediate() {
            parts.values(text)?;
        } else {
            parts.register(text, position, depth)?;
        }
        parts.attributes(text)?;
        if absolute {
            text.expect("|")?;
        }
        parts.tokens = text.tokens()?;
        Ok(parts)
    }

    fn register(&mut self, text: &mut Text<'a>, position: Position, depth: usize) -> Result<()> {
        if text.rest().starts_with(|character: char| character.is_ascii_digit()) {
            let digits = text.take_here(|character| character.is_ascii_digit());
            let number = digits.parse().map_err(|_| text.unexpected_word("a 64-bit number", digits))?;
            self.indices.push(Index { number, relative: None });
        }
        let declared = matches!(position, Position::Declared { .. });
        while self.indices.len() < 4 && !self.has_declared_size(declared) && text.eat_here("[") {
            self.index(text, depth)?;
        }
        if text.eat_here(".") {
            self.letters = Some(text.take_here(|character| "xyzw".contains(character)));
        }
        Ok(())
    }

    /// Returns whether the next brackets hold the size of a constant buffer with a range, not an index.
    fn has_declared_size(&self, declared: bool) -> bool {
        declared && self.indices.len() == 3
    }

    fn index(&mut self, text: &mut Text<'a>, depth: usize) -> Result<()> {
        let next = text.skip();
        if next.starts_with(|character: char| character.is_ascii_digit()) {
            let number = text.number()?;
            self.indices.push(Index { number, relative: None });
            if text.eat(":") {
                let last = if text.eat("*") { u64::from(u32::MAX) } else { text.number()? };
                self.indices.push(Index { number: last, relative: None });
            }
            return text.expect("]");
        }
        let relative =
            Self::read(text, Position::Source, depth.saturating_add(1))?.finish(text, Position::Source)?;
        let mut number = 0;
        if text.eat("+") {
            let negative = text.eat("-");
            number = text.number()?;
            if negative {
                number = u64::from(u32::try_from(number).map_or(0, u32::wrapping_neg));
            }
        }
        self.indices.push(Index { number, relative: Some(Box::new(relative)) });
        text.expect("]")
    }

    fn values(&mut self, text: &mut Text<'a>) -> Result<()> {
        text.expect("(")?;
        while !text.eat(")") {
            let written = text.take_while(is_value);
            let position = self.count;
            if self.kind == OperandKind::IMMEDIATE64 && (!written.starts_with("0x") || written.ends_with('l'))
            {
                let bits = double(written).ok_or_else(|| text.unexpected_word("a double", written))?;
                self.set(text, position, bits & u64::from(u32::MAX))?;
                self.set(text, position.saturating_add(1), bits >> 32)?;
            } else {
                let bits = value(written).ok_or_else(|| text.unexpected_word("a value", written))?;
                self.set(text, position, u64::from(bits))?;
            }
            text.eat(",");
        }
        Ok(())
    }

    fn set(&mut self, text: &Text<'_>, position: usize, bits: u64) -> Result<()> {
        let slot = self.immediate.get_mut(position).ok_or_else(|| text.unexpected("at most four values"))?;
        *slot = u32::try_from(bits).unwrap_or(0);
        self.count = position.saturating_add(1);
        Ok(())
    }

    /// Reads precision and uniformity, in braces.
    fn attributes(&mut self, text: &mut Text<'a>) -> Result<()> {
        while text.eat("{") {
            let word = text.word();
            if word == "nonuniform" {
                self.modifiers.non_uniform = true;
            } else {
                self.modifiers.precision = number_of(PRECISIONS, word)
                    .ok_or_else(|| text.unexpected_word("a precision or nonuniform", word))?;
                if text.eat("as ") {
                    text.word();
                }
            }
            text.expect("}")?;
        }
        Ok(())
    }

    fn finish(self, text: &Text<'_>, position: Position) -> Result<Operand> {
        let mut operand = Operand { immediate: self.immediate, ..Operand::default() };
        match self.tokens {
            Some(tokens) => {
                operand.token = tokens.first().copied().unwrap_or(0);
                operand.extended = tokens.get(1..).unwrap_or_default().to_vec();
                check_tokens(&operand, text)?;
            }
            None => {
                let modifier = self.modifiers.token();
                let components = match (self.kind.is_immediate(), self.count) {
                    (true, 4) => Some(2),
                    (true, 1) if self.kind == OperandKind::IMMEDIATE32 => Some(1),
                    (true, 1) => Some(1),
                    (true, _) => None,
                    (false, _) => implied::components(self.kind, self.letters, position),
                };
                let components = components.ok_or_else(|| text.unexpected("valid components"))?;
                if self.indices.len() > 3 {
                    return Err(text.unexpected("at most three indices"));
                }
                operand.token =
                    implied::operand_token(self.kind, components, &self.indices, modifier.is_some());
                operand.extended = modifier.into_iter().collect();
            }
        }
        for (dimension, index) in self.indices.into_iter().enumerate().take(operand.dimensions()) {
            let form = operand.index_form(dimension).parts();
            if form.map(|(_, relative)| relative) != Some(index.relative.is_some()) {
                return Err(text.unexpected("an index with the encoding of the operand's tokens"));
            }
            if let Some(slot) = operand.indices.get_mut(dimension) {
                *slot = index;
            }
        }
        for dimension in 0..operand.dimensions() {
            let relative = operand.indices.get(dimension).is_some_and(|index| index.relative.is_some());
            if operand.index_form(dimension).parts().map(|(_, wanted)| wanted) != Some(relative) {
                return Err(text.unexpected("as many indices as the operand's tokens have"));
            }
        }
        Ok(operand)
    }
}

/// Checks that bit 31 of each token of an operand announces the next one.
fn check_tokens(operand: &Operand, text: &Text<'_>) -> Result<()> {
    let chain = core::iter::once(&operand.token).chain(&operand.extended);
    let last = operand.extended.len();
    for (position, token) in chain.enumerate() {
        if (token >> 31 == 1) != (position < last) {
            return Err(text.unexpected("tokens whose highest bit is set if another one follows"));
        }
    }
    Ok(())
}

fn kind_of(text: &mut Text<'_>, name: &str) -> Result<OperandKind> {
    let capital =
        OperandKind::NAMED.iter().map(|(kind, _)| *kind).find(|kind| kind.capital_name() == Some(name));
    if let Some(kind) = OperandKind::from_name(name).or(capital) {
        return Ok(kind);
    }
    if name == "kind" {
        let digits = text.take_here(|character| character.is_ascii_digit());
        if let Ok(number) = digits.parse() {
            text.eat_here("_");
            return Ok(OperandKind(number));
        }
    }
    Err(text.unexpected_word("an operand", name))
}
