//! Tables of finite state entropy: their description, and the tables that decode.

use crate::Error;
use crate::bits::Forward;

/// The maximum number of symbols of an alphabet: lengths of matches.
const MAX_SYMBOLS: usize = 53;

/// The maximum number of states of a table.
pub(crate) const MAX_STATES: usize = 512;

/// The probabilities of the symbols of an alphabet. A symbol of probability "less than 1" has the value -1.
#[derive(Clone, Copy)]
pub(crate) struct Probabilities {
    /// The binary logarithm of the number of states.
    pub(crate) accuracy: u32,
    values: [i16; MAX_SYMBOLS],
}

impl Probabilities {
    /// Returns probabilities that the format defines.
    pub(crate) fn defined(accuracy: u32, values: &[i16]) -> Self {
        let mut all = [0; MAX_SYMBOLS];
        all.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
        Self { accuracy, values: all }
    }

    /// Reads a description. Returns the probabilities, and the number of bytes that it has.
    pub(crate) fn read(data: &[u8], max_accuracy: u32, symbols: usize) -> Result<(Self, usize), Error> {
        let mut bits = Forward::new(data);
        let accuracy = bits.read(4).wrapping_add(5);
        if accuracy > max_accuracy {
            return Err(Error::Table);
        }
        let mut values = [0; MAX_SYMBOLS];
        let mut slots = values.iter_mut().take(symbols);
        let mut left = 1_u32 << accuracy;
        while left > 0 {
            // A value has one bit less if it is below the number of values that need no more.
            let size = left.wrapping_add(1).ilog2().wrapping_add(1);
            let low = (1_u32 << size.wrapping_sub(1)).wrapping_sub(1);
            let short = (1_u32 << size).wrapping_sub(2).wrapping_sub(left);
            let mut value = bits.peek(size);
            if value & low < short {
                value &= low;
                bits.skip(size.wrapping_sub(1));
            } else {
                value = if value > low { value.wrapping_sub(short) } else { value };
                bits.skip(size);
            }
            let probability = i16::try_from(value).map_err(|_| Error::Table)?.wrapping_sub(1);
            *slots.next().ok_or(Error::Table)? = probability;
            left = left.checked_sub(u32::from(probability.unsigned_abs())).ok_or(Error::Table)?;
            // Two bits state how many symbols after it have probability 0 as well; 3 is followed by two more.
            let mut more = if probability == 0 { 3 } else { 0 };
            while more == 3 {
                more = bits.read(2);
                for _ in 0..more {
                    slots.next().ok_or(Error::Table)?;
                }
            }
        }
        Ok((Self { accuracy, values }, bits.bytes_read()?))
    }
}

/// What a symbol of sequences stands for: a number and extra bits that are added to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meaning {
    pub(crate) base: u32,
    pub(crate) extra: u8,
}

/// A state of a table, in one word, because the decoder keeps three of them in registers.
///
/// | bits | meaning |
/// |---|---|
/// | 0–31 | the number that its symbol stands for |
/// | 32–47 | the next state, without the bits that are to be read |
/// | 48–55 | the number of bits to read for the next state |
/// | 56–63 | the number of extra bits of the symbol |
#[derive(Clone, Copy, Default)]
pub(crate) struct State(u64);

impl State {
    fn new(meaning: Meaning, next: u16, bits: u8) -> Self {
        let [extra, base] = [u64::from(meaning.extra), u64::from(meaning.base)];
        Self(extra << 56 | u64::from(bits) << 48 | u64::from(next) << 32 | base)
    }

    #[inline(always)]
    pub(crate) fn base(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }

    #[inline(always)]
    pub(crate) fn next(self) -> usize {
        (self.0 >> 32 & 0xffff) as usize
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        (self.0 >> 48 & 0xff) as u32
    }

    #[inline(always)]
    pub(crate) fn extra(self) -> u32 {
        (self.0 >> 56) as u32
    }
}

/// A table that decodes.
pub(crate) struct Table {
    states: [State; MAX_STATES],
    pub(crate) accuracy: u32,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { states: [State::default(); MAX_STATES], accuracy: 0 }
    }

    #[inline(always)]
    pub(crate) fn state(&self, index: usize) -> State {
        self.states.get(index & (MAX_STATES - 1)).copied().unwrap_or_default()
    }

    /// Makes the table of one symbol that takes no bits.
    pub(crate) fn set_single(&mut self, meaning: Meaning) {
        let state = State::new(meaning, 0, 0);
        self.states.iter_mut().take(1).for_each(|first| *first = state);
        self.accuracy = 0;
    }

    /// Makes the table of an alphabet, of which each symbol has a meaning.
    pub(crate) fn set(&mut self, probabilities: &Probabilities, meanings: &[Meaning]) -> Result<(), Error> {
        let accuracy = probabilities.accuracy;
        let size = 1_usize << accuracy;
        let mask = size.wrapping_sub(1);
        let states = self.states.get_mut(..size).ok_or(Error::Table)?;
        let mut symbols = [0_u8; MAX_STATES];
        // Symbols that are less probable than one state are at the end.
        let mut high = size;
        for (symbol, value) in (0_u8..).zip(&probabilities.values) {
            if *value == -1 {
                high = high.checked_sub(1).ok_or(Error::Table)?;
                *symbols.get_mut(high).ok_or(Error::Table)? = symbol;
            }
        }
        let step = (size >> 1).wrapping_add(size >> 3).wrapping_add(3);
        let mut position = 0;
        for (symbol, value) in (0_u8..).zip(&probabilities.values) {
            for _ in 0..*value {
                *symbols.get_mut(position).ok_or(Error::Table)? = symbol;
                position = position.wrapping_add(step) & mask;
                // The step is odd, so every position below `high` comes once.
                while position >= high && high > 0 {
                    position = position.wrapping_add(step) & mask;
                }
            }
        }
        let mut counts = probabilities.values.map(i16::unsigned_abs);
        for (state, symbol) in states.iter_mut().zip(symbols) {
            let count =
                counts.get_mut(usize::from(symbol)).filter(|count| **count > 0).ok_or(Error::Table)?;
            let bits = accuracy.checked_sub(count.ilog2()).ok_or(Error::Table)?;
            let next = (usize::from(*count) << bits).wrapping_sub(size);
            *count = count.wrapping_add(1);
            let meaning = *meanings.get(usize::from(symbol)).ok_or(Error::Table)?;
            let next = u16::try_from(next).map_err(|_| Error::Table)?;
            *state = State::new(meaning, next, u8::try_from(bits).map_err(|_| Error::Table)?);
        }
        self.accuracy = accuracy;
        Ok(())
    }
}
