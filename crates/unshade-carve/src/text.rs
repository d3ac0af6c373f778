//! Reads programs that are written in text: arrays of numbers in source code, and base64.
//!
//! | form | example | written by |
//! |---|---|---|
//! | array of bytes | `unsigned char x[] = {0x4d, 0x54, …` | `xxd -i`, `fxc /Fh`, `dxc -Fh` |
//! | array of wider numbers, little-endian | `unsigned long long x[] = {0x00100001ba55ed50ull, …` | `bin2c`, `nvcc` |
//! | base64 (RFC 4648), of either alphabet, in one line or several | `"TVRMQgGAAgA…"` | Python, JSON, XML |
//!
//! A file is text if its first bytes are. An array or base64 counts if it has at least [`SMALLEST`] bytes, and these are
//! the beginning of a program or a container. It is a member, of the name `array_` or `base64_` and its offset.
//!
//! Numbers are decimal or hexadecimal, may be negative, and have suffixes such as `u`, `ull` or `u8`. Comments may be
//! between them. Base64 goes on after line breaks, also those of string literals: `"…\n"` and a next literal.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::compressed::{Method, is_zlib_header};
use crate::format::magic::MAGICS;
use crate::format::{begins_known, is_head};
use crate::scan::Scanner;
use crate::stream::{Decoder, Step};
use std::ops::ControlFlow::Continue;
use std::ops::Range;

/// Number of bytes that show whether a file is text.
const SAMPLE: usize = 4_096;

/// Number of bytes that are decoded to see what begins.
const PROBE: usize = 512;

/// Minimum number of bytes that an array or base64 has. Shorter ones are the magic numbers in the source code of other
/// readers.
const SMALLEST: usize = 40;

/// Minimum length of the first line of base64.
const SHORTEST: usize = 40;

/// Maximum number of bytes between two numbers, or between two parts of base64.
const MAX_GAP: usize = 1_024;

/// A form of text.
#[derive(Clone, Copy)]
enum Form {
    /// Numbers of this many bytes each.
    Array(usize),
    Base64,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Array(_) => "array",
            Self::Base64 => "base64",
        }
    }

    fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Self::Array(width) => Box::new(Numbers(width)),
            Self::Base64 => Box::new(Base64),
        }
    }

    /// Returns whether the text decodes to the beginning of a program or a container.
    fn begins_known(self, text: &[u8]) -> bool {
        let decoder = &mut *self.decoder();
        let mut probe = Vec::with_capacity(PROBE.saturating_add(decoder.room()));
        // Only text that can't be decoded is an error.
        let is_decoded = decoder.step(text, &mut probe).is_ok();
        is_decoded
            && probe.len() >= SMALLEST
            && (begins_known(&probe)
                || (is_zlib_header(&probe) && Scanner::default().begins_known(&probe, Method::Zlib)))
    }
}

/// Returns whether a file is text.
pub(crate) fn is_text(data: &[u8]) -> bool {
    let sample = data.get(..SAMPLE).unwrap_or(data);
    sample.len() >= SHORTEST / 2
        && sample.iter().all(|&byte| byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r'))
}

/// Visits the programs that are written in text.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let mut places: Vec<(usize, Form)> = arrays(data).chain(base64(data)).collect();
    places.sort_by_key(|&(start, _)| start);
    for (start, form) in places {
        if start < run.covered {
            continue;
        }
        if carver.is_deepest() {
            carver.report_depth(run);
            break;
        }
        if !carver.spend_stream() {
            break;
        }
        carver.cover(run, start)?;
        let name = format!("{}_{start:#x}", form.name());
        match carver.enter(name.as_bytes(), &mut Occurrences::default()) {
            Entry::Entered => {}
            Entry::Unwanted => continue,
            Entry::Refused => break,
        }
        let text = data.get(start..).unwrap_or_default();
        let mut output = Vec::new();
        let decoded = carver.unpack(&mut *form.decoder(), text, &mut output, text.len(), None);
        let flow = carver.run_unpacked(output);
        carver.leave();
        flow?;
        run.skip_to(start.saturating_add(decoded.consumed));
    }
    Continue(())
}

/// Returns the places of arrays: of the first number.
fn arrays(data: &[u8]) -> impl Iterator<Item = (usize, Form)> {
    let brackets = memchr::memchr2_iter(b'{', b'[', data).map(|at| at.saturating_add(1));
    brackets.filter_map(|start| {
        let text = data.get(start..)?;
        let width = narrowest(text)?;
        // Small numbers may be wide.
        let forms = [1, 2, 4, 8].into_iter().filter(|&wide| wide >= width).map(Form::Array);
        forms.map(|form| (start, form)).find(|(_, form)| form.begins_known(text))
    })
}

/// Returns how many bytes each of the first numbers of an array needs, or [`None`] if there are fewer than two numbers.
fn narrowest(text: &[u8]) -> Option<usize> {
    const NUMBERS: usize = 4;
    let mut at = 0;
    let mut most = 0;
    for count in 0..NUMBERS {
        match number(text.get(at..)?) {
            Some((value, size)) => {
                // A negative number needs as many bytes as the positive one before it.
                most = most.max(if value > u64::MAX / 2 { !value } else { value });
                at = at.saturating_add(size);
            }
            None if count > 1 => break,
            None => return None,
        }
    }
    Some(match most {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    })
}

/// Reads a number, after blanks and comments, and a comma after it. Returns its value and where the next one begins.
fn number(text: &[u8]) -> Option<(u64, usize)> {
    let start = blanks(text)?;
    let rest = text.get(start..)?;
    let is_negative = rest.first() == Some(&b'-');
    let signed = rest.get(usize::from(is_negative)..)?;
    let hexadecimal = signed.strip_prefix(b"0x").or_else(|| signed.strip_prefix(b"0X"));
    let (digits, base) = hexadecimal.map_or((signed, 10), |digits| (digits, 16));
    let mut value = 0_u64;
    let mut length = 0_usize;
    while let Some(digit) = digits.get(length).and_then(|&byte| char::from(byte).to_digit(base)) {
        value = value.checked_mul(u64::from(base))?.checked_add(u64::from(digit))?;
        length = length.saturating_add(1);
    }
    if length == 0 {
        return None;
    }
    let suffix = digits.get(length..)?;
    let suffix_size = suffix.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let rest = suffix.get(suffix_size..)?;
    let after = blanks(rest).unwrap_or_default();
    let comma = usize::from(rest.get(after) == Some(&b','));
    let left = rest.len().saturating_sub(after).saturating_sub(comma);
    Some((if is_negative { value.wrapping_neg() } else { value }, text.len().saturating_sub(left)))
}

/// Returns the size of blanks and comments, [`None`] if there are too many.
fn blanks(text: &[u8]) -> Option<usize> {
    let text = text.get(..MAX_GAP).unwrap_or(text);
    let mut at = 0_usize;
    loop {
        let rest = text.get(at..)?;
        let size = match rest {
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest)?,
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/")?.saturating_add(2),
            [b'\\', b'\n', ..] => 2,
            [byte, ..] if byte.is_ascii_whitespace() => 1,
            _ => return Some(at),
        };
        at = at.saturating_add(size);
    }
}

/// Numbers of some bytes each, as little-endian bytes.
struct Numbers(usize);

impl Decoder for Numbers {
    fn room(&self) -> usize {
        size_of::<u64>()
    }

    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        let mut consumed = 0_usize;
        while output.capacity().saturating_sub(output.len()) >= self.room() {
            let Some((value, size)) = input.get(consumed..).and_then(number) else {
                return Ok(Step { consumed, finished: true });
            };
            output.extend(value.to_le_bytes().get(..self.0).unwrap_or_default());
            consumed = consumed.saturating_add(size);
        }
        Ok(Step { consumed, finished: false })
    }
}

/// Number of characters that show whether there may be a line of base64.
const GLANCE: usize = 8;

/// Maximum distance between two glances: every line of [`SHORTEST`] characters has one within it.
const STRIDE: usize = SHORTEST - GLANCE + 1;

/// Half of the characters of such a line besides those of the glance.
const HALF: usize = (SHORTEST - GLANCE) / 2;

/// Returns the places of base64: of the first line.
fn base64(data: &[u8]) -> impl Iterator<Item = (usize, Form)> {
    let mut previous_end = None;
    base64_lines(data).filter_map(move |line| {
        let text = data.get(line.start..)?;
        // Of base64 in many lines, the first one is looked at, and those with a likely first byte.
        let next = previous_end
            .replace(line.end)
            .and_then(|end: usize| line_break(data.get(end..)?)?.checked_add(end));
        let first = quantum(text).map_or(0, |([first, ..], ..)| first);
        let may_begin = is_head(first) || MAGICS.iter().any(|magic| magic.bytes.first() == Some(&first));
        let is_wanted = may_begin || first == 0x78 || next != Some(line.start);
        (is_wanted && Form::Base64.begins_known(text)).then_some((line.start, Form::Base64))
    })
}

/// Returns the longest ranges of characters of base64, of those that have at least [`SHORTEST`].
///
/// Most text is skipped: every such range contains one of the glances, and reaches beyond it by half of its other
/// characters, before or after.
fn base64_lines(data: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_odd = |byte: &u8| sextet(*byte).is_none();
    let mut at = 0_usize;
    let mut previous_end = 0_usize;
    std::iter::from_fn(move || {
        while let Some(glance) = data.get(at..at.saturating_add(GLANCE)) {
            let before = data.get(at.saturating_sub(HALF)..at).unwrap_or_default();
            let after = || data.get(at.saturating_add(GLANCE)..)?.get(..HALF);
            if !is_base64(glance) || !(is_base64(before) || after().is_some_and(is_base64)) {
                at = at.saturating_add(STRIDE);
                continue;
            }
            let before = data.get(previous_end..at).unwrap_or_default();
            let first = before.iter().rposition(is_odd).map_or(0, |odd| odd.saturating_add(1));
            let start = previous_end.saturating_add(first);
            let text = data.get(start..).unwrap_or_default();
            let length = text.iter().position(is_odd).unwrap_or(text.len());
            previous_end = start.saturating_add(length);
            at = previous_end.saturating_add(STRIDE);
            if length >= SHORTEST {
                return Some(start..previous_end);
            }
        }
        None
    })
}

/// Returns whether all of the characters are of base64.
fn is_base64(text: &[u8]) -> bool {
    // Sextets have at most six bits, so that only the entry of other characters sets all eight.
    text.iter().fold(0, |all, &byte| all | entry(byte)) != NO_SEXTET
}

/// The six bits of each character of base64; [`NO_SEXTET`] for other characters. Most bytes of text are looked up.
static SEXTETS: [u8; 256] = sextets();

/// The entry of characters that are not of base64.
const NO_SEXTET: u8 = 0xff;

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "computed by the compiler"
)]
const fn sextets() -> [u8; 256] {
    const ALPHABETS: [&[u8; 64]; 2] = [
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ];
    let mut table = [NO_SEXTET; 256];
    let mut value = 0;
    while value < 64 {
        table[ALPHABETS[0][value] as usize] = value as u8;
        table[ALPHABETS[1][value] as usize] = value as u8;
        value += 1;
    }
    table
}

/// Returns the entry of a character in [`SEXTETS`].
#[inline]
fn entry(byte: u8) -> u8 {
    SEXTETS.get(usize::from(byte)).copied().unwrap_or(NO_SEXTET)
}

/// Returns the six bits that a character of base64 stands for.
#[inline]
fn sextet(byte: u8) -> Option<u8> {
    Some(entry(byte)).filter(|value| *value != NO_SEXTET)
}

/// Reads four characters of base64, or fewer at the end. Returns the bytes, how many of them there are, and the size of
/// the text.
fn quantum(text: &[u8]) -> Option<([u8; 3], usize, usize)> {
    // Most have no line break.
    if let Some(characters) = text.first_chunk::<4>()
        && is_base64(characters)
    {
        let bits = characters.iter().fold(0, |bits, &byte| bits << 6 | u32::from(entry(byte)));
        let [_, first, second, third] = bits.to_be_bytes();
        return Some(([first, second, third], 3, characters.len()));
    }
    let mut at = 0_usize;
    let mut bits = 0_u32;
    let mut count = 0_u32;
    while let Some(rest) = text.get(at..).filter(|_| count < 4) {
        if let Some(value) = rest.first().and_then(|&byte| sextet(byte)) {
            bits = bits << 6 | u32::from(value);
            count = count.saturating_add(1);
            at = at.saturating_add(1);
        } else {
            let Some(size) = line_break(rest) else { break };
            at = at.saturating_add(size);
        }
    }
    // Two characters have one byte, three have two, four have three.
    let bytes = usize::try_from(count).ok()?.checked_sub(1).filter(|&bytes| bytes > 0)?;
    let missing = 4_u32.saturating_sub(count).saturating_mul(6);
    let [_, first, second, third] = bits.checked_shl(missing)?.to_be_bytes();
    Some(([first, second, third], bytes, at))
}

/// Returns the size of what may be between two lines: blanks, `\n` and `\r` of string literals, quotes around them.
fn line_break(text: &[u8]) -> Option<usize> {
    let text = text.get(..MAX_GAP).unwrap_or(text);
    let mut at = 0_usize;
    loop {
        at = match text.get(at..)? {
            [b'\\', b'n' | b'r' | b'\n', ..] => at.saturating_add(2),
            [b'"' | b'\'' | b' ' | b'\t' | b'\r' | b'\n', ..] => at.saturating_add(1),
            [byte, ..] if at > 0 && sextet(*byte).is_some() => return Some(at),
            _ => return None,
        };
    }
}

/// Base64.
struct Base64;

impl Decoder for Base64 {
    fn room(&self) -> usize {
        3
    }

    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        let mut consumed = 0_usize;
        while output.capacity().saturating_sub(output.len()) >= self.room() {
            let Some((bytes, count, size)) = input.get(consumed..).and_then(quantum) else {
                return Ok(Step { consumed, finished: true });
            };
            output.extend(bytes.get(..count).unwrap_or_default());
            consumed = consumed.saturating_add(size);
            if count < 3 {
                return Ok(Step { consumed, finished: true });
            }
        }
        Ok(Step { consumed, finished: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        let read = |text: &str| number(text.as_bytes());
        assert_eq!(read("0x4d, 1"), Some((0x4d, 5)));
        assert_eq!(read(" /* a */ 255u8 // b\n,7"), Some((255, 21)));
        assert_eq!(read("-34}"), Some((34_u64.wrapping_neg(), 3)));
        assert_eq!(read("0x00100001ba55ed50ull}"), Some((0x0010_0001_ba55_ed50, 21)));
        for none in ["", "x", "0x", "}", "-", "/* open", "99999999999999999999", &" ".repeat(2_000)] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    /// Many beginnings of arrays and of base64, comments without an end, and blanks.
    #[test]
    fn false_beginnings_take_no_longer() {
        let blanks = format!("{{{}", " ".repeat(900));
        let texts = ["{/*", "{0,1,2,3,", "[", "{77,84,76,66,", "TVRMQg{", "TVRMQgGAAgACAAAA\n", &blanks];
        for text in texts {
            let file = text.repeat((2 << 20) / text.len());
            let begun = std::time::Instant::now();
            let places = arrays(file.as_bytes()).chain(base64(file.as_bytes())).count();
            assert!(begun.elapsed() < std::time::Duration::from_secs(4), "{text}: {:?}", begun.elapsed());
            assert!(places < 2, "{text}: {places}");
        }
    }

    /// Ranges of all lengths around the smallest, at all distances from each other, as a plain search finds them.
    #[test]
    fn lines_of_base64_are_found() {
        fn plain(data: &[u8]) -> Vec<Range<usize>> {
            let mut start = 0;
            let mut found = Vec::new();
            for run in data.split(|&byte| sextet(byte).is_none()) {
                if run.len() >= SHORTEST {
                    found.push(start..start + run.len());
                }
                start += run.len() + 1;
            }
            found
        }
        let mut data = Vec::new();
        for length in (0..=SHORTEST + GLANCE).chain([200, SHORTEST, SHORTEST - 1, SHORTEST]) {
            for gap in 0..=STRIDE + 1 {
                data.extend([b'a'; 200].get(..length).unwrap());
                data.extend([b' '; 200].get(..gap).unwrap());
            }
        }
        for start in 0..STRIDE {
            let data = data.get(start..).unwrap();
            assert_eq!(base64_lines(data).collect::<Vec<_>>(), plain(data), "{start}");
        }
        assert_eq!(base64_lines(&[b'a'; SHORTEST]).collect::<Vec<_>>(), plain(&[b'a'; SHORTEST]));
        assert_eq!(base64_lines(&[b'a'; SHORTEST - 1]).count(), 0);
    }

    #[test]
    fn base64_is_read() {
        let read = |text: &str| {
            let mut output = Vec::with_capacity(64);
            Base64.step(text.as_bytes(), &mut output).unwrap();
            String::from_utf8(output).unwrap()
        };
        assert_eq!(read("bGlnaHQgdw=="), "light w");
        assert_eq!(read("bGlnaHQgd28="), "light wo");
        assert_eq!(read("bGlnaHQgd29y;"), "light wor");
        assert_eq!(read("bGln\r\n  aHQg\"\n\"d29y\\nay4"), "light work.");
        assert_eq!(read("bGln, aHQg"), "lig");
        assert_eq!(read("YWI-YWI_"), "ab>ab?");
        assert_eq!(read("b"), "");
    }
}
