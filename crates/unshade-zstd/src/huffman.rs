//! Huffman codes of literals.

use crate::Error;
use crate::bits::Backward;
use crate::fse::{Meaning, Probabilities, Table};

/// The maximum length of a code.
const MAX_BITS: u32 = 11;

/// The maximum accuracy of the table of weights.
const WEIGHTS_ACCURACY: u32 = 6;

/// The number of distinct weights: 0 to 12, of which 12 is not valid.
const WEIGHTS: usize = 13;

/// A table that decodes: one entry for each value of the next bits.
pub(crate) struct Codes {
    /// The symbol in the low byte, the length of its code in the high byte.
    entries: [u16; 1 << MAX_BITS],
    /// The number of bits that select an entry; 0 before the first table was read.
    bits: u32,
}

impl Codes {
    pub(crate) fn new() -> Self {
        Self { entries: [0; 1 << MAX_BITS], bits: 0 }
    }

    /// Returns whether a table was read.
    pub(crate) fn is_set(&self) -> bool {
        self.bits > 0
    }

    /// Reads the description of a table. Returns its size in bytes.
    pub(crate) fn read(&mut self, data: &[u8]) -> Result<usize, Error> {
        let (head, rest) = data.split_first().ok_or(Error::Huffman)?;
        let mut weights = [0_u8; 256];
        let (count, size) = match usize::from(*head) {
            packed @ 0..128 => {
                let packed_weights = rest.get(..packed).ok_or(Error::Huffman)?;
                (unpack_weights(packed_weights, &mut weights)?, packed)
            }
            direct => {
                let count = direct.wrapping_sub(127);
                let size = count.div_ceil(2);
                let nibbles = rest.get(..size).ok_or(Error::Huffman)?.iter().flat_map(|b| [b >> 4, b & 15]);
                weights.iter_mut().zip(nibbles.take(count)).for_each(|(to, from)| *to = from);
                (count, size)
            }
        };
        self.set(&mut weights, count)?;
        Ok(size.wrapping_add(1))
    }

    /// Makes the table of `count` weights. The weight of one more symbol follows from them.
    fn set(&mut self, weights: &mut [u8; 256], count: usize) -> Result<(), Error> {
        let mut sum = 0_u32;
        for weight in weights.iter().filter(|weight| **weight > 0) {
            let weight = u32::from(*weight).wrapping_sub(1);
            if weight >= MAX_BITS {
                return Err(Error::Huffman);
            }
            sum = sum.wrapping_add(1 << weight);
        }
        let bits = sum.checked_ilog2().ok_or(Error::Huffman)?.wrapping_add(1);
        let left = (1_u32 << bits).wrapping_sub(sum);
        if bits > MAX_BITS || !left.is_power_of_two() {
            return Err(Error::Huffman);
        }
        let last = weights.get_mut(count).ok_or(Error::Huffman)?;
        *last = u8::try_from(left.ilog2().wrapping_add(1)).map_err(|_| Error::Huffman)?;
        // Symbols of equal weight are in order; those of low weight, which have long codes, come first.
        let mut starts = [0_usize; WEIGHTS];
        let mut next = 0_usize;
        for (weight, start) in (0_u8..).zip(&mut starts).skip(1) {
            *start = next;
            let symbols = weights.iter().filter(|one| **one == weight).count();
            next = next.wrapping_add(symbols << weight.wrapping_sub(1));
        }
        for (symbol, weight) in (0_u16..).zip(weights.iter()).filter(|(_, weight)| **weight > 0) {
            let start = starts.get_mut(usize::from(*weight)).ok_or(Error::Huffman)?;
            let end = start.wrapping_add(1 << weight.wrapping_sub(1));
            let length = (bits.wrapping_add(1).wrapping_sub(u32::from(*weight)) & 15) as u16;
            self.entries.get_mut(*start..end).ok_or(Error::Huffman)?.fill(symbol | length << 8);
            *start = end;
        }
        self.bits = bits;
        Ok(())
    }

    /// Decodes one stream, which must have exactly as many symbols as `output`.
    pub(crate) fn decode_one(&self, data: &[u8], output: &mut [u8]) -> Result<(), Error> {
        let mut stream = Backward::new(data)?;
        let bits = self.bits;
        let mut fives = output.chunks_exact_mut(5);
        for five in &mut fives {
            stream.refill();
            five.iter_mut().for_each(|symbol| *symbol = self.next(&mut stream, bits));
        }
        stream.refill();
        fives.into_remainder().iter_mut().for_each(|symbol| *symbol = self.next(&mut stream, bits));
        if stream.left() == 0 { Ok(()) } else { Err(Error::Huffman) }
    }

    /// Decodes four streams after their sizes, each of which has a quarter of the symbols. They are decoded in
    /// turn, because the codes of one stream depend on each other.
    pub(crate) fn decode_four(&self, data: &[u8], output: &mut [u8]) -> Result<(), Error> {
        let (sizes, rest) = data.split_first_chunk::<6>().ok_or(Error::Huffman)?;
        let [a, b, c, d, e, f] = *sizes;
        let size = |bytes| usize::from(u16::from_le_bytes(bytes));
        let (first, rest) = rest.split_at_checked(size([a, b])).ok_or(Error::Huffman)?;
        let (second, rest) = rest.split_at_checked(size([c, d])).ok_or(Error::Huffman)?;
        let (third, fourth) = rest.split_at_checked(size([e, f])).ok_or(Error::Huffman)?;
        let quarter = output.len().div_ceil(4);
        let (output_1, rest) = output.split_at_mut_checked(quarter).ok_or(Error::Huffman)?;
        let (output_2, rest) = rest.split_at_mut_checked(quarter).ok_or(Error::Huffman)?;
        let (output_3, output_4) = rest.split_at_mut_checked(quarter).ok_or(Error::Huffman)?;
        let (mut one, mut two) = (Backward::new(first)?, Backward::new(second)?);
        let (mut three, mut four) = (Backward::new(third)?, Backward::new(fourth)?);
        let bits = self.bits;
        // Five codes of at most 11 bits are available after a refill.
        let fives = output_4.len() / 5;
        let together = fives.wrapping_mul(5);
        let (head_1, tail_1) = output_1.split_at_mut_checked(together).ok_or(Error::Huffman)?;
        let (head_2, tail_2) = output_2.split_at_mut_checked(together).ok_or(Error::Huffman)?;
        let (head_3, tail_3) = output_3.split_at_mut_checked(together).ok_or(Error::Huffman)?;
        let (head_4, tail_4) = output_4.split_at_mut_checked(together).ok_or(Error::Huffman)?;
        let chunks = head_1
            .chunks_exact_mut(5)
            .zip(head_2.chunks_exact_mut(5))
            .zip(head_3.chunks_exact_mut(5).zip(head_4.chunks_exact_mut(5)));
        for ((chunk_1, chunk_2), (chunk_3, chunk_4)) in chunks {
            one.refill();
            two.refill();
            three.refill();
            four.refill();
            let symbols = chunk_1.iter_mut().zip(chunk_2).zip(chunk_3.iter_mut().zip(chunk_4));
            for ((symbol_1, symbol_2), (symbol_3, symbol_4)) in symbols {
                *symbol_1 = self.next(&mut one, bits);
                *symbol_2 = self.next(&mut two, bits);
                *symbol_3 = self.next(&mut three, bits);
                *symbol_4 = self.next(&mut four, bits);
            }
        }
        // The first three have at most seven symbols more.
        for (stream, tail) in [(one, tail_1), (two, tail_2), (three, tail_3), (four, tail_4)] {
            let mut stream = stream;
            for symbol in tail {
                stream.refill();
                *symbol = self.next(&mut stream, bits);
            }
            if stream.left() != 0 {
                return Err(Error::Huffman);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn next(&self, stream: &mut Backward<'_>, bits: u32) -> u8 {
        let index = stream.peek(bits) & ((1 << MAX_BITS) - 1);
        let [symbol, length] = self.entries.get(index).copied().unwrap_or_default().to_le_bytes();
        stream.skip(u32::from(length));
        symbol
    }
}

/// Unpacks weights, which two states of one table give in turn until the bits end. Returns their number.
fn unpack_weights(data: &[u8], weights: &mut [u8; 256]) -> Result<usize, Error> {
    let (probabilities, size) = Probabilities::read(data, WEIGHTS_ACCURACY, WEIGHTS)?;
    let mut table = Table::new();
    let mut meanings = [Meaning::default(); WEIGHTS];
    (0..).zip(&mut meanings).for_each(|(weight, meaning)| meaning.base = weight);
    table.set(&probabilities, &meanings)?;
    let mut bits = Backward::new(data.get(size..).unwrap_or_default())?;
    let mut state = table.state(bits.read(table.accuracy) as usize);
    let mut other = table.state(bits.read(table.accuracy) as usize);
    let mut count = 0_usize;
    // The weight of the last symbol isn't stated.
    let mut slots = weights.iter_mut().take(255);
    let mut put = |state: crate::fse::State| -> Result<(), Error> {
        *slots.next().ok_or(Error::Huffman)? = u8::try_from(state.base()).map_err(|_| Error::Huffman)?;
        count = count.wrapping_add(1);
        Ok(())
    };
    if bits.left() < 0 {
        return Err(Error::Huffman);
    }
    loop {
        put(state)?;
        bits.refill();
        let more = bits.read(state.bits()) as usize;
        if bits.left() < 0 {
            put(other)?;
            return Ok(count);
        }
        state = table.state(state.next().wrapping_add(more));
        core::mem::swap(&mut state, &mut other);
    }
}
