//! Search in bytes. The longest run of known bytes finds candidates, which are compared as a whole.

use super::{Cursor, Needle, Step};
use crate::query::session::Session;
use crate::query::{Answer, Fault, Match};

/// How many bytes are searched between looks at the clock.
const CHUNK: u64 = 8 << 20;

/// The maximum length of a pattern of bytes.
const MAX_BYTES: usize = 4_096;

impl Session {
    /// Searches bytes from the cursor to `end`. Returns whether all were searched.
    pub(super) fn search_bytes(
        &mut self,
        step: &mut Step<'_>,
        cursor: &mut Cursor,
        end: u64,
    ) -> Answer<bool> {
        let Needle::Bytes(pattern) = &step.needle else { return Ok(true) };
        let pattern = pattern.clone();
        while cursor.at < end {
            let chunk_end = cursor.at.saturating_add(CHUNK).min(end);
            let (_, [base, _]) = self.space_of(cursor.program)?;
            let read_to = chunk_end.saturating_add(pattern.len() as u64);
            self.ensure(base.saturating_add(cursor.at)..base.saturating_add(read_to))?;
            let (data, _) = self.space_of(cursor.program)?;
            let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
            let window = data.get(place(cursor.at)..place(read_to)).unwrap_or_default();
            let limit = place(chunk_end) - place(cursor.at);
            for at in finds(window, &pattern).take_while(|at| *at < limit) {
                let start = base.saturating_add(cursor.at).saturating_add(at as u64);
                let found = window.get(at..at + pattern.len()).unwrap_or_default();
                step.answer.matches.push(Match {
                    program: cursor.program,
                    text: crate::view::hex(found.get(..32).unwrap_or(found)),
                    range: Some([start, start.saturating_add(pattern.len() as u64)]),
                    ..Match::default()
                });
                if step.answer.matches.len() >= step.limit {
                    cursor.at = cursor.at.saturating_add(at as u64).saturating_add(1);
                    return Ok(cursor.at >= end);
                }
            }
            cursor.at = chunk_end;
            if step.is_over((self.clock)()) && cursor.at < end {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Hex digits with `??` for any byte, or text in quotes.
pub(super) fn byte_pattern(text: &str) -> Answer<Vec<Option<u8>>> {
    let wrong = || {
        Fault::new("no bytes to look for").expected("hex digits such as `de c0 17 0b`, or \"text\" in quotes")
    };
    let pattern: Vec<Option<u8>> = if let Some(text) = text.strip_prefix('"') {
        text.strip_suffix('"').unwrap_or(text).bytes().map(Some).collect()
    } else {
        let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        let pairs = digits.chunks(2).map(|pair| match pair {
            ['?', '?'] => Ok(None),
            [high, low] => {
                let digit = |c: &char| c.to_digit(16).ok_or_else(wrong);
                Ok(Some((digit(high)? << 4 | digit(low)?) as u8))
            }
            _ => Err(wrong()),
        });
        pairs.collect::<Answer<_>>()?
    };
    let is_usable = pattern.iter().any(Option::is_some) && pattern.len() <= MAX_BYTES;
    if is_usable { Ok(pattern) } else { Err(wrong()) }
}

/// Returns the offsets of a pattern.
fn finds<'d>(data: &'d [u8], pattern: &'d [Option<u8>]) -> impl Iterator<Item = usize> + use<'d> {
    // The longest run of known bytes finds candidates.
    let mut run = 0..0;
    let mut start = 0;
    for (at, byte) in pattern.iter().enumerate() {
        if byte.is_none() {
            start = at + 1;
        } else if at + 1 - start > run.len() {
            run = start..at + 1;
        }
    }
    let literal: Vec<u8> = pattern.get(run.clone()).unwrap_or_default().iter().copied().flatten().collect();
    let finder = memchr::memmem::Finder::new(&literal).into_owned();
    let mut from = run.start;
    std::iter::from_fn(move || {
        loop {
            let found = from + finder.find(data.get(from..)?)?;
            from = found + 1;
            let at = found - run.start;
            let window = data.get(at..at.checked_add(pattern.len())?);
            let is_match = window.is_some_and(|window| {
                window.iter().zip(pattern).all(|(byte, wanted)| wanted.is_none_or(|one| one == *byte))
            });
            if is_match {
                return Some(at);
            }
            window?;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_with_gaps() {
        let pattern = byte_pattern("?? 01 02 ?? 04").unwrap();
        let data = [9, 1, 2, 3, 4, 1, 2, 7, 4, 1, 2];
        assert_eq!(finds(&data, &pattern).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(byte_pattern("\"MTLB\"").unwrap().len(), 4);
        for wrong in ["", "??", "1", "xy", "\"\""] {
            assert!(byte_pattern(wrong).is_err(), "{wrong}");
        }
    }
}
