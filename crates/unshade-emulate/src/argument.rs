//! Values as text, as people type them: numbers, and buffers with contents.
//!
//! | text | value |
//! |---|---|
//! | `12`, `-3`, `0x1e`, `2.5` | a number, with the size of the parameter |
//! | `f32:1.5`, `u8:255` | a number of a type |
//! | `hex:00ff` | bytes of a structure |
//! | `buf:256` | a buffer of zeros |
//! | `f32[256]`, `i32[4]=1,2` | a buffer of zeros, of numbers of which the last one is repeated |
//! | `u32[256]=range`, `f32[256]=random:7` | a buffer of 0, 1, 2…, of random numbers from a seed |
//! | `f32[256]=unset` | a buffer that was never written |
//! | `file:NAME`, `f32[]=file:NAME` | a buffer from a file |
//!
//! ```
//! use unshade_emulate::argument::{Given, Reader, Scalar};
//!
//! let reader = Reader { most_bytes: 1 << 20, file: &|name| Err(format!("can't read {name}")) };
//! let given = reader.read("u8[4]=1,2").unwrap();
//! assert_eq!(given, Given::Buffer(Some(Scalar::Unsigned(1)), vec![1, 2, 2, 2]));
//! assert!(reader.read("u8[2000000]").is_err());
//! ```

use std::fmt::Display;

/// Parses values.
#[derive(Clone, Copy)]
pub struct Reader<'r> {
    /// Maximum size of a buffer, checked before it is created.
    pub most_bytes: u64,
    /// Returns the contents of a file.
    pub file: &'r dyn Fn(&str) -> Result<Vec<u8>>,
}

/// A value, or what is wrong with the text.
pub type Result<T> = std::result::Result<T, String>;

fn because(what: impl Display, why: impl Display) -> String {
    format!("{what}: {why}")
}

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A signed integer of this many bytes.
    Signed(usize),
    /// An unsigned integer of this many bytes.
    Unsigned(usize),
    /// A float of 4 or 8 bytes.
    Float(usize),
}

impl Scalar {
    /// Returns the type with a name, such as `f32`.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = match text.get(1..)? {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => return None,
        };
        match (text.get(..1)?, bytes) {
            ("i", _) => Some(Self::Signed(bytes)),
            ("u", _) => Some(Self::Unsigned(bytes)),
            ("f", 4 | 8) => Some(Self::Float(bytes)),
            _ => None,
        }
    }

    /// Returns the number of bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Signed(bytes) | Self::Unsigned(bytes) | Self::Float(bytes) => bytes,
        }
    }

    /// Returns the name that selects it.
    pub fn name(self) -> String {
        let letter = match self {
            Self::Signed(_) => 'i',
            Self::Unsigned(_) => 'u',
            Self::Float(_) => 'f',
        };
        format!("{letter}{}", 8 * self.size())
    }

    /// Returns the bytes of a number.
    fn bytes(self, text: &str) -> Result<Vec<u8>> {
        let fits = || format!("'{text}' is no {}", self.name());
        if let Self::Float(size) = self {
            let value: f64 = text.parse().map_err(|error| because(fits(), error))?;
            return Ok(if size == 4 {
                (value as f32).to_le_bytes().to_vec()
            } else {
                value.to_le_bytes().to_vec()
            });
        }
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let magnitude = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse::<u64>(),
        }
        .map_err(|error| because(fits(), error))?;
        let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
        let bits = 8 * self.size();
        // Both readings of the bits are accepted: -1 and 0xffffffff are the same.
        if value >= 1_i128 << bits || value < -(1_i128 << (bits - 1)) {
            return Err(fits());
        }
        Ok(value.to_le_bytes().into_iter().take(self.size()).collect())
    }

    /// Formats a number of the type.
    pub fn show(self, bytes: &[u8]) -> String {
        let number = bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        match self {
            Self::Unsigned(_) => number.to_string(),
            Self::Signed(size) => {
                let unused = 64 - 8 * size as u32;
                ((number << unused).cast_signed() >> unused).to_string()
            }
            // As in `Debug`: with an exponent if there would be many digits.
            Self::Float(4) => whole(format!("{:?}", f32::from_bits(number as u32))),
            Self::Float(_) => whole(format!("{:?}", f64::from_bits(number))),
        }
    }
}

/// Returns a float without a fraction of zero.
fn whole(text: String) -> String {
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A parsed argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// The bytes of a number or a structure.
    Value(Vec<u8>),
    /// A number that takes the type of the parameter's size.
    Number(String),
    /// Memory: the type of its elements, and its contents.
    Buffer(Option<Scalar>, Vec<u8>),
    /// Memory that was never written: the type of its elements, and its size in bytes.
    Unset(Scalar, usize),
}

impl Reader<'_> {
    /// Parses a value.
    ///
    /// # Errors
    /// The text has none of the forms, the buffer is too large, or the file can't be read.
    pub fn read(&self, text: &str) -> Result<Given> {
        if let Some(size) = text.strip_prefix("buf:") {
            return Ok(Given::Buffer(None, vec![0; self.length(size, 1)?]));
        }
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(Given::Buffer(None, self.contents(path)?));
        }
        if let Some(digits) = text.strip_prefix("hex:") {
            return Ok(Given::Value(hexadecimal(digits)?));
        }
        if let Some((ty, rest)) = text.split_once('[')
            && let Some(scalar) = Scalar::read(ty)
        {
            let (count, content) =
                rest.split_once(']').ok_or("a buffer is TYPE[COUNT] or TYPE[COUNT]=CONTENT")?;
            let content = match content.strip_prefix('=') {
                Some(content) => content,
                None if content.is_empty() => "0",
                None => return Err("the count is followed by =CONTENT or nothing".into()),
            };
            return self.buffer(scalar, count, content);
        }
        if let Some((ty, value)) = text.split_once(':')
            && let Some(scalar) = Scalar::read(ty)
        {
            return Ok(Given::Value(scalar.bytes(value)?));
        }
        if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            || matches!(text, "inf" | "nan")
        {
            return Ok(Given::Number(text.to_owned()));
        }
        Err("neither a number nor a buffer; `unshade run --help` shows the forms".into())
    }

    fn length(&self, text: &str, size: usize) -> Result<usize> {
        let count: u64 = text.parse().map_err(|error| because(format!("'{text}' is no size"), error))?;
        let bytes = count.saturating_mul(size as u64);
        if bytes > self.most_bytes {
            return Err(format!("a buffer has at most {} bytes", self.most_bytes));
        }
        usize::try_from(bytes).map_err(|error| error.to_string())
    }

    fn contents(&self, path: &str) -> Result<Vec<u8>> {
        let bytes = (self.file)(path)?;
        if bytes.len() as u64 > self.most_bytes {
            return Err(format!("a buffer has at most {} bytes", self.most_bytes));
        }
        Ok(bytes)
    }

    /// Parses `TYPE[COUNT]=CONTENT`: numbers (the last one repeated), `range`, `random:SEED`, `unset` or `file:PATH`.
    fn buffer(&self, scalar: Scalar, count: &str, content: &str) -> Result<Given> {
        if let Some(path) = content.strip_prefix("file:") {
            let mut bytes = self.contents(path)?;
            if !count.is_empty() {
                bytes.resize(self.length(count, scalar.size())?, 0);
            }
            return Ok(Given::Buffer(Some(scalar), bytes));
        }
        let size = self.length(count, scalar.size())?;
        if content == "unset" {
            return Ok(Given::Unset(scalar, size));
        }
        let mut bytes = Vec::with_capacity(size);
        if let Some(seed) = content.strip_prefix("random:") {
            let mut state =
                seed.parse::<u64>().map_err(|error| because(format!("'{seed}' is no seed"), error))?;
            while bytes.len() < size {
                bytes.extend(random(scalar, &mut state));
            }
        } else if content == "range" {
            for number in 0..size / scalar.size() {
                let value = number as u64;
                match scalar {
                    Scalar::Float(4) => bytes.extend((value as f32).to_le_bytes()),
                    Scalar::Float(_) => bytes.extend((value as f64).to_le_bytes()),
                    _ => bytes.extend(value.to_le_bytes().into_iter().take(scalar.size())),
                }
            }
        } else {
            let numbers =
                content.split(',').map(|number| scalar.bytes(number.trim())).collect::<Result<Vec<_>>>()?;
            let last = numbers.last().cloned().unwrap_or_default();
            let rest = std::iter::repeat_n(last, (size / scalar.size()).saturating_sub(numbers.len()));
            bytes.extend(numbers.into_iter().chain(rest).flatten().take(size));
        }
        Ok(Given::Buffer(Some(scalar), bytes))
    }
}

fn hexadecimal(digits: &str) -> Result<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err("a byte has two digits".into());
    }
    let byte = |start: usize| {
        let pair = digits.get(start..start + 2).unwrap_or_default();
        u8::from_str_radix(pair, 16).map_err(|error| because("no hexadecimal digits", error))
    };
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Returns random integers of all bits, or floats from -1 to 1. A seed gives the same numbers on every machine.
fn random(scalar: Scalar, state: &mut u64) -> Vec<u8> {
    // SplitMix64.
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    let fraction = (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    match scalar {
        Scalar::Float(4) => (fraction as f32).to_le_bytes().to_vec(),
        Scalar::Float(_) => fraction.to_le_bytes().to_vec(),
        _ => bits.to_le_bytes().into_iter().take(scalar.size()).collect(),
    }
}

/// Returns the bytes of a number without a type: a float if it is written as one, with the parameter's size.
///
/// # Errors
/// The text is no number, or no number has this size.
pub fn number(text: &str, size: usize) -> Result<Vec<u8>> {
    let digits = text.trim_start_matches(['-', '+']);
    let is_float = !digits.starts_with("0x") && digits.contains(['.', 'e', 'E', 'n']);
    match (is_float, size) {
        (true, 4 | 8) => Scalar::Float(size).bytes(text),
        (false, 1 | 2 | 4 | 8) => Scalar::Signed(size).bytes(text.trim_start_matches('+')),
        _ => Err(format!("no number has {size} bytes; give them as hex:…")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Given> {
        Reader { most_bytes: 1 << 20, file: &|name| Ok(name.as_bytes().to_vec()) }.read(text)
    }

    #[test]
    fn numbers() {
        assert_eq!(read("f32:1.5").unwrap(), Given::Value(1.5_f32.to_le_bytes().to_vec()));
        assert_eq!(read("u64:0xffffffffffffffff").unwrap(), Given::Value(vec![255; 8]));
        assert_eq!(read("-3").unwrap(), Given::Number("-3".into()));
        assert_eq!(number("-3", 4).unwrap(), (-3_i32).to_le_bytes());
        assert_eq!(number("2.5", 8).unwrap(), 2.5_f64.to_le_bytes());
        assert_eq!(number("0x1e", 4).unwrap(), 30_i32.to_le_bytes());
        assert!(number("1", 24).is_err());
        assert!(read("i8:300").is_err());
        assert!(read("what").is_err());
        assert_eq!(Scalar::Float(4).show(&2.0_f32.to_le_bytes()), "2");
        assert_eq!(Scalar::Float(4).show(&1e-20_f32.to_le_bytes()), "1e-20");
        assert_eq!(Scalar::Signed(2).show(&(-7_i16).to_le_bytes()), "-7");
    }

    #[test]
    fn buffers() {
        assert_eq!(read("buf:3").unwrap(), Given::Buffer(None, vec![0; 3]));
        assert_eq!(read("u8[4]=1,2").unwrap(), Given::Buffer(Some(Scalar::Unsigned(1)), vec![1, 2, 2, 2]));
        assert_eq!(read("u16[2]=range").unwrap(), Given::Buffer(Some(Scalar::Unsigned(2)), vec![0, 0, 1, 0]));
        assert_eq!(read("i32[3]=unset").unwrap(), Given::Unset(Scalar::Signed(4), 12));
        let Given::Buffer(_, bytes) = read("f32[100]=random:7").unwrap() else { panic!() };
        assert_eq!(bytes.len(), 400);
        assert_eq!(read("f32[100]=random:7").unwrap(), read("f32[100]=random:7").unwrap());
        assert!(read("u8[99999999999999]").is_err());
        assert!(read("u8[4").is_err());
        assert_eq!(read("u8[4]=file:ab"), Ok(Given::Buffer(Some(Scalar::Unsigned(1)), vec![97, 98, 0, 0])));
    }
}
