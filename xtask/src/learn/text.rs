//! The structure of an instruction's text: guard, mnemonic, suffixes and operands, with the values in them.
//!
//! ```text
//! @!P0 FFMA.FTZ.RM R1, -|R2|.reuse, c[0x0][0x160], R3
//!  │    │    │     │   ││ │    │     │
//!  │    │    │     │   signs   │     shape `c[#][#]` with two values
//!  │    │    suffixes  └─value └─reuse
//!  guard└─mnemonic └─operand
//! ```
//!
//! What bits of a word change are [`Attribute`]s of the text.

use std::collections::BTreeMap;
use std::fmt;

/// The number of the predicate that is always true.
const TRUE: i128 = 7;

/// The number of the register that is always zero.
const ZERO: i128 = 255;

/// An instruction's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub guard: Guard,
    pub mnemonic: String,
    /// What follows the mnemonic: `.FTZ`, `.RM`.
    pub suffixes: Vec<String>,
    pub operands: Vec<Operand>,
}

/// The predicate before an instruction; none is `PT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    pub is_uniform: bool,
    pub number: i128,
    pub not: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    /// What separates it from the operand before: a comma, a space or both.
    pub separator: String,
    /// The signs before it, of `-`, `~`, `!` and `|`.
    pub signs: String,
    /// The text with `#` for each value.
    pub shape: String,
    pub values: Vec<Value>,
    pub is_reused: bool,
    /// What follows it: `.H0_H0`.
    pub suffix: String,
}

/// A register or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub class: Class,
    /// The number of the register, or the integer; of a floating-point number nothing.
    pub number: i128,
    pub text: String,
    /// What follows it inside of an operand: `.64`, `.X4`.
    pub suffix: String,
}

/// The class of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Register,
    UniformRegister,
    Predicate,
    UniformPredicate,
    Barrier,
    Scoreboard,
    Integer,
    Float,
}

/// Prefixes of registers, with the name of the last one and its number.
const REGISTERS: [(&str, &str, i128, Class); 6] = [
    // The number of URZ differs between chips.
    ("UR", "Z", -1, Class::UniformRegister),
    ("UP", "T", TRUE, Class::UniformPredicate),
    ("SB", "-", 0, Class::Scoreboard),
    ("R", "Z", ZERO, Class::Register),
    ("P", "T", TRUE, Class::Predicate),
    ("B", "-", 0, Class::Barrier),
];

/// A part of a text that bits of the word determine. Operands and values are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attribute {
    Guard,
    GuardNot,
    GuardClass,
    Mnemonic,
    Suffixes,
    /// The number of operands.
    Count,
    Shape(usize),
    Sign(usize, char),
    Suffix(usize),
    Value(usize, usize),
    ValueSuffix(usize, usize),
}

impl Attribute {
    /// Returns whether words that differ in this belong to different rows.
    pub(super) fn is_structure(self) -> bool {
        matches!(self, Self::Mnemonic | Self::Count | Self::Shape(_) | Self::GuardClass)
    }
}

/// Attributes and their values.
pub(super) type Attributes = BTreeMap<Attribute, String>;

impl Text {
    /// Parses a text.
    pub(super) fn parse(text: &str) -> Self {
        let (guard, rest) = match text.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
            Some((guard, rest)) => (Guard::parse(guard), rest),
            None => (Guard { is_uniform: false, number: TRUE, not: false }, text),
        };
        let (head, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut parts = head.split('.');
        let mnemonic = parts.next().unwrap_or("").to_owned();
        let suffixes = parts.map(|part| format!(".{part}")).collect();
        let operands = operand_texts(rest).map(|(separator, text)| Operand::parse(separator, text)).collect();
        Self { guard, mnemonic, suffixes, operands }
    }

    /// Returns all attributes.
    pub(super) fn attributes(&self) -> Attributes {
        let mut all = BTreeMap::from([
            (Attribute::Guard, self.guard.number.to_string()),
            (Attribute::GuardNot, self.guard.not.to_string()),
            (Attribute::Mnemonic, self.mnemonic.clone()),
            (Attribute::Suffixes, self.suffixes.concat()),
            (Attribute::Count, self.operands.len().to_string()),
        ]);
        if self.guard.number != TRUE || self.guard.not {
            all.insert(Attribute::GuardClass, self.guard.is_uniform.to_string());
        }
        for (index, operand) in self.operands.iter().enumerate() {
            for sign in SIGNS {
                all.insert(Attribute::Sign(index, sign), operand.signs.contains(sign).to_string());
            }
            let separator = if index == 0 { "" } else { &operand.separator };
            all.insert(Attribute::Shape(index), format!("{separator}{}", operand.shape));
            all.insert(Attribute::Suffix(index), operand.suffix.clone());
            for (place, value) in operand.values.iter().enumerate() {
                all.insert(Attribute::Value(index, place), value.text.clone());
                all.insert(Attribute::ValueSuffix(index, place), value.suffix.clone());
            }
        }
        all
    }

    /// Returns mnemonic and shapes of the operands, which all words of a row share.
    pub(super) fn shape(&self) -> String {
        let shapes = self.operands.iter().map(|operand| format!("{}{}", operand.separator, operand.shape));
        format!("{} {}", self.mnemonic, shapes.collect::<String>())
    }

    /// Returns a value.
    pub(super) fn value(&self, attribute: Attribute) -> Option<&Value> {
        let Attribute::Value(operand, value) = attribute else { return None };
        self.operands.get(operand)?.values.get(value)
    }

    /// Sets an attribute other than the guard, the suffixes of the mnemonic and the structure.
    pub(super) fn set(&mut self, attribute: Attribute, text: &str) {
        match attribute {
            Attribute::GuardNot => self.guard.not = text == "true",
            Attribute::Sign(operand, sign) => {
                if let Some(operand) = self.operands.get_mut(operand) {
                    let has = |other: &char| {
                        if *other == sign { text == "true" } else { operand.signs.contains(*other) }
                    };
                    operand.signs = SIGNS.into_iter().filter(has).collect();
                }
            }
            Attribute::Suffix(operand) => {
                if let Some(operand) = self.operands.get_mut(operand) {
                    text.clone_into(&mut operand.suffix);
                }
            }
            Attribute::Value(operand, value) | Attribute::ValueSuffix(operand, value) => {
                let operand = self.operands.get_mut(operand);
                if let Some(value) = operand.and_then(|operand| operand.values.get_mut(value)) {
                    let is_value = matches!(attribute, Attribute::Value(..));
                    text.clone_into(if is_value { &mut value.text } else { &mut value.suffix });
                }
            }
            _ => {}
        }
    }
}

/// The signs of operands, in the order in which they are printed.
const SIGNS: [char; 4] = ['!', '-', '~', '|'];

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guard { is_uniform, number, not } = self.guard;
        if number != TRUE || not {
            write!(f, "@{}{}", if not { "!" } else { "" }, if is_uniform { "UP" } else { "P" })?;
            if number == TRUE { f.write_str("T ")? } else { write!(f, "{number} ")? }
        }
        write!(f, "{}{}", self.mnemonic, self.suffixes.concat())?;
        for (index, operand) in self.operands.iter().enumerate() {
            let separator = if index == 0 { " " } else { &operand.separator };
            write!(f, "{separator}{operand}")?;
        }
        Ok(())
    }
}

impl Guard {
    fn parse(text: &str) -> Self {
        let (not, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let is_uniform = text.starts_with('U');
        let number = text.trim_start_matches(['U', 'P']).parse().unwrap_or(TRUE);
        Self { is_uniform, number, not }
    }
}

/// Splits operands at commas and spaces outside of brackets, and returns each with what is before it.
fn operand_texts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut starts = vec![0];
    let mut ends = Vec::new();
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        let is_separator = matches!(byte, b',' | b' ') && depth == 0;
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !is_separator {
            if ends.len() == starts.len() {
                // `c[0x0] [0x160]` is one operand.
                if byte == b'[' && text[..at].ends_with("] ") {
                    ends.pop();
                } else {
                    starts.push(at);
                }
            }
        } else if ends.len() < starts.len() {
            ends.push(at);
        }
    }
    if ends.len() < starts.len() {
        ends.push(text.len());
    }
    let before = [0].into_iter().chain(ends.clone());
    let parts: Vec<_> = before.zip(starts).zip(ends).collect();
    parts
        .into_iter()
        .map(|((before, start), end)| (&text[before..start], &text[start..end]))
        .filter(|(_, text)| !text.is_empty())
}

impl Operand {
    fn parse(separator: &str, text: &str) -> Self {
        let mut rest = text;
        let mut signs = String::new();
        while let Some(sign) = rest.chars().next().filter(|sign| SIGNS.contains(sign)) {
            if sign == '-' && number(rest).is_some() {
                break;
            }
            signs.push(sign);
            rest = &rest[1..];
        }
        let mut body = rest.to_owned();
        let bar = if signs.contains('|') { body.find('|') } else { None };
        if let Some(bar) = bar {
            body.remove(bar);
        }
        // Where the suffix begins.
        let end = match (body.rfind(']'), register(&body)) {
            (Some(bracket), _) => bracket + 1,
            (None, Some(register)) => register.text.len(),
            (None, None) => body.len(),
        };
        let suffix = body.split_off(end);
        let is_reused = suffix.contains(".reuse");
        let suffix = suffix.replacen(".reuse", "", 1);
        let (shape, values) = values(&body);
        Self { separator: separator.to_owned(), signs, shape, values, is_reused, suffix }
    }
}

/// Takes the values out of an operand.
fn values(body: &str) -> (String, Vec<Value>) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let (mut shape, mut values) = (String::new(), Vec::new());
    let mut rest = body;
    let mut is_inside = false;
    while let Some(c) = rest.chars().next() {
        let found = if is_inside { None } else { register(rest).or_else(|| number(rest)) };
        if let Some(mut value) = found {
            rest = &rest[value.text.len()..];
            if rest.starts_with('.') {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                rest[..end].clone_into(&mut value.suffix);
                rest = &rest[end..];
            }
            values.push(value);
            shape.push('#');
            is_inside = true;
        } else {
            shape.push(c);
            rest = &rest[c.len_utf8()..];
            is_inside = is_word(c);
        }
    }
    (shape, values)
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.signs)?;
        let mut values = self.values.iter();
        for c in self.shape.chars() {
            match (c, values.as_slice()) {
                ('#', [value, rest @ ..]) => {
                    write!(f, "{}{}", value.text, value.suffix)?;
                    values = rest.iter();
                }
                _ => write!(f, "{c}")?,
            }
        }
        if self.signs.contains('|') {
            f.write_str("|")?;
        }
        if self.is_reused {
            f.write_str(".reuse")?;
        }
        f.write_str(&self.suffix)
    }
}

/// Returns the register at the beginning of a text.
fn register(text: &str) -> Option<Value> {
    REGISTERS.iter().find_map(|&(prefix, last, last_number, class)| {
        let rest = text.strip_prefix(prefix)?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        let number = if name == last { last_number } else { name.parse().ok()? };
        let text = text[..prefix.len() + end].to_owned();
        Some(Value { class, number, text, suffix: String::new() })
    })
}

/// Returns the number at the beginning of a text.
fn number(text: &str) -> Option<Value> {
    let digits = text.trim_start_matches(['-', '+']);
    let sign = text.len() - digits.len();
    let value = |class, length: usize, number| {
        (sign < 2).then(|| Value {
            class,
            number,
            text: text[..sign + length].to_owned(),
            suffix: String::new(),
        })
    };
    if let Some(hex) = digits.strip_prefix("0x") {
        let length = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        let number = i128::from_str_radix(&hex[..length], 16).ok()?;
        return value(Class::Integer, 2 + length, if text.starts_with('-') { -number } else { number });
    }
    if let Some(name) = ["INF", "QNAN", "SNAN"].into_iter().find(|name| digits.starts_with(name)) {
        return value(Class::Float, name.len(), 0);
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let bytes = digits.as_bytes();
    let is_digit = |at: &usize| match bytes[*at] {
        b'0'..=b'9' | b'.' | b'e' => true,
        b'-' | b'+' => bytes[*at - 1] == b'e',
        _ => false,
    };
    let length = (0..bytes.len()).find(|at| !is_digit(at)).unwrap_or(bytes.len());
    // `2D` and `16dp` are words.
    if bytes.get(length).is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    value(Class::Float, length, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_printed_as_they_were_parsed() {
        for text in [
            "NOP",
            "@!UP3 UIADD3 UR4, UR5, -0x10, URZ",
            "@P0 FFMA.FTZ.RM R1, -|R2|.reuse.H0_H0, c[0x0][0x160], RZ",
            "LDG.E.LTC128B.128.CONSTANT P1, R64, desc[UR6][R52.64+-0x10], !P6",
            "FSETP.GT.AND P0, PT, |R1|, +INF , PT",
            "DEPBAR.LE SB0, 0x1, {3,2}",
            "RET.REL.NODEC R4 0x7baa0",
            "TEX.SCR.LL R0, R1, R2, R3, 0x0, 0x50, ARRAY_2D, P0",
            "HFMA2 R3, -R4.H0_H0, 1, 1.5e-06, c[0x0] [0x16c].H1_H1",
            "S2R R0, SR_TID.X",
            "UTCHMMA gdesc[UR22], tmem[UR68+0x10], idesc[UR63], UPT",
        ] {
            assert_eq!(Text::parse(text).to_string(), text);
        }
    }

    #[test]
    fn operands_are_taken_apart() {
        let text = Text::parse("LDG.E R64, desc[UR6][R52.64+-0x10], !P6");
        assert_eq!(text.shape(), "LDG #, desc[#][#+#], #");
        let address = &text.operands[1];
        assert_eq!(address.values[1].suffix, ".64");
        assert_eq!(address.values[2].number, -16);
        assert_eq!(text.operands[2].signs, "!");
        let text = Text::parse("FADD R1, -|R2|.reuse.H0_H0, 2.5");
        let operand = &text.operands[1];
        assert!(operand.is_reused && operand.suffix == ".H0_H0" && operand.signs == "-|");
        assert_eq!(text.operands[2].values[0].class, Class::Float);
    }
}
