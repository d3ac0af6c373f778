//! Numbers of memory that code reads and writes in pieces of another size.
//!
//! Before shader model 6.3, structured buffers have no loads of 64 bits: a double is two words. Texture buffers are read
//! in rows of four words, whatever lies there: a word may be half of a double, or two numbers of 16 bits. The language
//! reads whole members, so the text takes words from them, or puts members together from words.

use super::constant_buffer::{Offset, Step, path_within};
use super::expression::{Text, precedence as p};
use super::function::Printer;
use super::member::vector_at;
use super::spelling::{Helper, HelperFunction, helper_name};
use crate::ir::ValueId;
use crate::ir::shader::data_type::{DataType, Packing, Scalar, ScalarKind};
use crate::shader::kinds::Kind;

/// A number of memory: its path, its type, and the offset in it.
pub(super) type Number = (Vec<Step>, Scalar, u32);

impl Printer<'_> {
    /// Returns the number at some bytes after an offset.
    pub(super) fn number_at(
        &self,
        ty: &DataType,
        packing: Packing,
        base: &Offset,
        byte: u32,
    ) -> Option<Number> {
        let offset = Offset { constant: base.constant.wrapping_add(byte), terms: base.terms.clone() };
        path_within(self.naming, &self.program.structs, ty, packing, &offset)
    }

    /// Returns the text of a word that is a part of a number, or of two numbers. Its kind is unsigned.
    pub(super) fn word(
        &mut self,
        root: &str,
        ty: &DataType,
        packing: Packing,
        base: &Offset,
        byte: u32,
    ) -> Option<Text> {
        let (steps, scalar, within) = self.number_at(ty, packing, base, byte)?;
        let text = self.path_text(root, &steps);
        match (scalar.bytes(), within) {
            (4, 0) => {
                let text = Text::new(text, p::POSTFIX, scalar.kind);
                Some(self.converted(text, Kind::Known(ScalarKind::Unsigned), 32, 1))
            }
            (8, 0 | 4) => Some(self.word_of_double(text, scalar.kind, within == 4)),
            (2, 0) => {
                let low = self.half(text, scalar);
                // Nothing may follow the last half.
                let high = match self.number_at(ty, packing, base, byte + 2) {
                    Some((steps, next, 0)) if next.bytes() == 2 => Some((self.path_text(root, &steps), next)),
                    _ => None,
                };
                Some(match high {
                    Some((text, next)) => {
                        let high = self.half(text, next);
                        Text::new(format!("({low} | {high} << 16)"), p::POSTFIX, ScalarKind::Unsigned)
                    }
                    None => Text::new(low, p::UNARY, ScalarKind::Unsigned),
                })
            }
            _ => None,
        }
    }

    /// Returns one half of a number of 64 bits.
    fn word_of_double(&mut self, text: String, kind: ScalarKind, is_high: bool) -> Text {
        if kind == ScalarKind::Float {
            let helper = if is_high { HelperFunction::HighWord } else { HelperFunction::LowWord };
            self.helpers.push(Helper::of_words(helper));
            return Text::new(format!("{}({text})", helper_name(helper)), p::POSTFIX, ScalarKind::Unsigned);
        }
        let text = if is_high { format!("(uint)({text} >> 32)") } else { format!("(uint){text}") };
        Text::new(text, p::UNARY, ScalarKind::Unsigned)
    }

    /// Returns a number of 16 bits as the lower half of a word.
    fn half(&mut self, text: String, scalar: Scalar) -> String {
        let text = Text::new(text, p::POSTFIX, scalar.kind);
        let bits = self.converted(text, Kind::Known(ScalarKind::Unsigned), 16, 1);
        format!("(uint){}", bits.wrapped(p::UNARY))
    }

    /// Stores words to numbers of 64 bits of an element: two words for each. Returns whether all words are such halves.
    pub(super) fn store_words(
        &mut self,
        root: &str,
        element: &DataType,
        base: &Offset,
        value: ValueId,
    ) -> bool {
        let lanes = self.function.lanes(value);
        let mut pairs = Vec::new();
        for lane in (0..lanes).step_by(2) {
            let low = self.number_at(element, Packing::Structured, base, u32::from(lane) * 4);
            let high = self.number_at(element, Packing::Structured, base, u32::from(lane + 1) * 4);
            match (low, high) {
                (Some((steps, scalar, 0)), Some((same, _, 4))) if steps == same && lane + 1 < lanes => {
                    pairs.push((steps, scalar, lane));
                }
                _ => return false,
            }
        }
        for (steps, scalar, lane) in pairs {
            let target = self.path_text(root, &steps);
            let [low, high] =
                [lane, lane + 1].map(|lane| self.part(value, lane, 1, Kind::Known(ScalarKind::Unsigned)));
            let text = match scalar.kind {
                ScalarKind::Float => format!("asdouble({low}, {high})"),
                _ => format!("(uint64_t)({low}) | (uint64_t)({high}) << 32"),
            };
            self.line(&format!("{target} = {text};"));
        }
        true
    }

    /// Returns the text of numbers of which some are pieces of others, as a vector of words.
    pub(super) fn words(
        &mut self,
        root: &str,
        ty: &DataType,
        packing: Packing,
        base: &Offset,
        bytes: &[u32],
    ) -> Option<(String, ScalarKind)> {
        let mut parts = Vec::new();
        for byte in bytes {
            let text = self.word(root, ty, packing, base, *byte)?;
            parts.push(text.text);
        }
        if let [one] = &parts[..] {
            return Some((format!("({one})"), ScalarKind::Unsigned));
        }
        Some((format!("uint{}({})", parts.len(), parts.join(", ")), ScalarKind::Unsigned))
    }

    /// Returns whether the vector at a path has this many lanes.
    pub(super) fn has_lanes(&self, root: &DataType, steps: &[Step], count: usize) -> bool {
        vector_at(&self.program.structs, root, steps, self.naming)
            .is_some_and(|lanes| usize::from(lanes) == count)
    }
}
