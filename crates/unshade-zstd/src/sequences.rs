//! Sequences: literals to copy from the block, then a match to copy from what was decoded before.

use crate::bits::Backward;
use crate::fse::{Meaning, Probabilities, Table};
use crate::{Error, SLACK};
use alloc::vec::Vec;

/// The number of bytes that a copy writes at once. It may write up to 15 bytes too many, for which there is
/// [`SLACK`].
const STEP: usize = 16;

/// The length from which the library's copy is faster than steps.
const LONG: usize = 64;

/// The number of sequences that are decoded before they are executed.
const BATCH: usize = 64;

const LITERAL_LENGTHS: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1,
    -1, -1,
];

const MATCH_LENGTHS: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];

const OFFSETS: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];

/// Extra bits of the codes of literal lengths from 16 on.
const LITERAL_EXTRA: [u8; 20] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// The same of match lengths from code 32 on.
const MATCH_EXTRA: [u8; 21] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// Returns what the codes of lengths stand for: numbers from `first` on, the last codes of them ranges of numbers.
fn lengths(first: u32, plain: usize, extra: &[u8]) -> Vec<Meaning> {
    let mut base = first;
    let plain = core::iter::repeat_n(&0, plain);
    let meaning = |extra: &u8| {
        let start = base;
        base = base.wrapping_add(1 << extra);
        Meaning { base: start, extra: *extra }
    };
    plain.chain(extra).map(meaning).collect()
}

pub(crate) fn literal_lengths() -> Vec<Meaning> {
    lengths(0, 16, &LITERAL_EXTRA)
}

pub(crate) fn match_lengths() -> Vec<Meaning> {
    lengths(3, 32, &MATCH_EXTRA)
}

fn offsets() -> Vec<Meaning> {
    (0..32).map(|extra| Meaning { base: 1 << extra, extra }).collect()
}

/// The table of one kind of number, which later blocks can use again.
struct Kind {
    table: Table,
    is_set: bool,
    max_accuracy: u32,
    defined: Probabilities,
    meanings: Vec<Meaning>,
}

impl Kind {
    fn new(max_accuracy: u32, defined: Probabilities, meanings: Vec<Meaning>) -> Self {
        Self { table: Table::new(), is_set: false, max_accuracy, defined, meanings }
    }

    /// Reads how the numbers of a block are coded, from the start of `data`, and drops that from it.
    fn read(&mut self, mode: u8, data: &mut &[u8]) -> Result<(), Error> {
        match mode & 3 {
            0 => self.table.set(&self.defined, &self.meanings)?,
            1 => {
                let (symbol, rest) = data.split_first().ok_or(Error::Sequences)?;
                self.table.set_single(*self.meanings.get(usize::from(*symbol)).ok_or(Error::Sequences)?);
                *data = rest;
            }
            2 => {
                let (probabilities, size) =
                    Probabilities::read(data, self.max_accuracy, self.meanings.len())?;
                self.table.set(&probabilities, &self.meanings)?;
                *data = data.get(size..).unwrap_or_default();
            }
            _ if self.is_set => {}
            _ => return Err(Error::Sequences),
        }
        self.is_set = true;
        Ok(())
    }
}

/// A sequence: literals, then a match at a distance.
#[derive(Clone, Copy, Default)]
struct Sequence {
    literals: u32,
    length: u32,
    offset: u32,
}

/// What sequences take from earlier blocks.
pub(crate) struct Sequences {
    literal_lengths: Kind,
    offsets: Kind,
    match_lengths: Kind,
    /// The last three offsets.
    recent: [u32; 3],
}

impl Sequences {
    pub(crate) fn new() -> Self {
        Self {
            literal_lengths: Kind::new(9, Probabilities::defined(6, &LITERAL_LENGTHS), literal_lengths()),
            offsets: Kind::new(8, Probabilities::defined(5, &OFFSETS), offsets()),
            match_lengths: Kind::new(9, Probabilities::defined(6, &MATCH_LENGTHS), match_lengths()),
            recent: [1, 4, 8],
        }
    }

    /// Decodes the sequences of a block to `output` from `start` on. Returns where they end. `literals` has
    /// `literal_count` bytes and [`SLACK`]; `output` has [`SLACK`], too.
    pub(crate) fn decode(
        &mut self,
        data: &[u8],
        literals: &[u8],
        literal_count: usize,
        output: &mut [u8],
        start: usize,
    ) -> Result<usize, Error> {
        let (count, mut data) = count(data)?;
        let (mut literal, mut at) = (0_usize, start);
        // No copy begins after this; one that ends after it is refused.
        let end = output.len().checked_sub(SLACK).ok_or(Error::Size)?;
        if count > 0 {
            let (modes, rest) = data.split_first().ok_or(Error::Sequences)?;
            if modes & 3 != 0 {
                return Err(Error::Sequences);
            }
            data = rest;
            self.literal_lengths.read(modes >> 6, &mut data)?;
            self.offsets.read(modes >> 4, &mut data)?;
            self.match_lengths.read(modes >> 2, &mut data)?;
            let mut bits = Backward::new(data)?;
            let literal_lengths = &self.literal_lengths.table;
            let (offsets, match_lengths) = (&self.offsets.table, &self.match_lengths.table);
            let mut literal_state = literal_lengths.state(bits.read(literal_lengths.accuracy) as usize);
            let mut offset_state = offsets.state(bits.read(offsets.accuracy) as usize);
            let mut match_state = match_lengths.state(bits.read(match_lengths.accuracy) as usize);
            let mut recent = self.recent;
            let mut left = count;
            let mut batch = [Sequence::default(); BATCH];
            while left > 0 {
                // Copies wait for memory; decoded in batches, the next sequences do not wait for them.
                let size = BATCH.min(left as usize);
                let batch = batch.get_mut(..size).unwrap_or_default();
                for sequence in &mut *batch {
                    left = left.wrapping_sub(1);
                    bits.refill();
                    // At most 31 and 16 bits, of 57.
                    let value = offset_state.base().wrapping_add(bits.read(offset_state.extra()));
                    let extra = bits.read(match_state.extra());
                    let length = match_state.base().wrapping_add(extra);
                    let used = offset_state
                        .extra()
                        .wrapping_add(match_state.extra())
                        .wrapping_add(literal_state.extra());
                    if used > 57 - 26 {
                        bits.refill();
                    }
                    let extra = bits.read(literal_state.extra());
                    let literals = literal_state.base().wrapping_add(extra);
                    if left > 0 {
                        // At most 9, 9 and 8 bits.
                        let more = bits.read(literal_state.bits()) as usize;
                        literal_state = literal_lengths.state(literal_state.next().wrapping_add(more));
                        let more = bits.read(match_state.bits()) as usize;
                        match_state = match_lengths.state(match_state.next().wrapping_add(more));
                        let more = bits.read(offset_state.bits()) as usize;
                        offset_state = offsets.state(offset_state.next().wrapping_add(more));
                    }
                    let offset = offset_of(value, literals == 0, &mut recent);
                    *sequence = Sequence { literals, length, offset };
                }
                for sequence in &*batch {
                    let (length, offset) = (sequence.length as usize, sequence.offset as usize);
                    let literal_end = literal.wrapping_add(sequence.literals as usize);
                    let match_start = at.wrapping_add(sequence.literals as usize);
                    let match_end = match_start.wrapping_add(length);
                    if literal_end > literal_count || offset == 0 || offset > match_start {
                        return Err(Error::Sequences);
                    }
                    if match_end > end {
                        return Err(Error::Size);
                    }
                    copy_literals(literals, literal, sequence.literals as usize, output, at)
                        .ok_or(Error::Sequences)?;
                    let from = match_start.wrapping_sub(offset);
                    copy_match(output, from, match_start, length).ok_or(Error::Sequences)?;
                    literal = literal_end;
                    at = match_end;
                }
            }
            self.recent = recent;
            if bits.left() != 0 {
                return Err(Error::Sequences);
            }
        } else if !data.is_empty() {
            return Err(Error::Sequences);
        }
        let rest = literals.get(literal..literal_count).ok_or(Error::Sequences)?;
        let rest_end = at.wrapping_add(rest.len());
        if rest_end > end {
            return Err(Error::Size);
        }
        output.get_mut(at..rest_end).ok_or(Error::Size)?.copy_from_slice(rest);
        Ok(rest_end)
    }
}

/// Reads the number of sequences.
fn count(data: &[u8]) -> Result<(u32, &[u8]), Error> {
    let (first, rest) = data.split_first().ok_or(Error::Sequences)?;
    Ok(match (*first, rest) {
        (0..128, _) => (u32::from(*first), rest),
        (128..255, [second, rest @ ..]) => ((u32::from(*first) & 0x7f) << 8 | u32::from(*second), rest),
        (255, [second, third, rest @ ..]) => {
            (u32::from(u16::from_le_bytes([*second, *third])).wrapping_add(0x7f00), rest)
        }
        _ => return Err(Error::Sequences),
    })
}

/// Returns the offset that a value stands for: 1 to 3 are recent ones, shifted by one if there are no literals.
#[inline(always)]
fn offset_of(value: u32, no_literals: bool, recent: &mut [u32; 3]) -> u32 {
    let [first, second, third] = *recent;
    if value > 3 {
        let offset = value.wrapping_sub(3);
        *recent = [offset, first, second];
        return offset;
    }
    match value.wrapping_add(u32::from(no_literals)) {
        1 => first,
        2 => {
            *recent = [second, first, third];
            second
        }
        3 => {
            *recent = [third, first, second];
            third
        }
        _ => {
            // An offset of 0 is refused by the caller.
            let offset = first.wrapping_sub(1);
            *recent = [offset, first, second];
            offset
        }
    }
}

#[inline(always)]
fn copy_literals(literals: &[u8], from: usize, length: usize, output: &mut [u8], at: usize) -> Option<()> {
    let source = literals.get(from..from.wrapping_add(STEP))?;
    output.get_mut(at..at.wrapping_add(STEP))?.copy_from_slice(source);
    if length > STEP {
        let source = literals.get(from..from.wrapping_add(length))?;
        output.get_mut(at..at.wrapping_add(length))?.copy_from_slice(source);
    }
    Some(())
}

/// Copies within the output. The match may overlap what it writes, and then repeats.
#[inline(always)]
fn copy_match(output: &mut [u8], from: usize, to: usize, length: usize) -> Option<()> {
    let offset = to.wrapping_sub(from);
    if offset < STEP {
        return copy_repeated(output, from, to, length);
    }
    if length > LONG && offset >= length {
        let (source, target) = output.split_at_mut_checked(to)?;
        target.get_mut(..length)?.copy_from_slice(source.get(from..from.wrapping_add(length))?);
        return Some(());
    }
    let mut done = 0_usize;
    while done < length {
        let source = from.wrapping_add(done);
        let step: [u8; STEP] = *output.get(source..)?.first_chunk()?;
        *output.get_mut(to.wrapping_add(done)..)?.first_chunk_mut()? = step;
        done = done.wrapping_add(STEP);
    }
    Some(())
}

/// Copies a match that repeats fewer bytes than a step.
#[inline(never)]
fn copy_repeated(output: &mut [u8], from: usize, to: usize, length: usize) -> Option<()> {
    let end = to.wrapping_add(length);
    let mut at = to;
    // Each round doubles what is repeated.
    while at < end {
        let size = at.wrapping_sub(from).min(end.wrapping_sub(at));
        let (source, target) = output.split_at_mut_checked(at)?;
        target.get_mut(..size)?.copy_from_slice(source.get(from..from.wrapping_add(size))?);
        at = at.wrapping_add(size);
    }
    Some(())
}
