//! Reads the bits of a stream, least significant first.
//!
//! Up to 64 bits are loaded into a window and shifted out, so that a number costs a mask and a shift, and one
//! number in ten a load. Bits past the end read as zero; the caller checks for an overrun once per record, so that
//! the hot loops have no error path.

/// The widest group of a variable-bit-rate number of which two fit into the window.
const MAX_GROUP: u32 = 28;

/// A position in the bits of a stream. Hot loops work on a local copy, which stays in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitReader<'a> {
    data: &'a [u8],
    /// Bits that are loaded but not yet read.
    window: u64,
    /// The number of bits in the window.
    available: u32,
    /// The position of the first bit after the window.
    next: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(data: &'a [u8], position: usize) -> Self {
        Self { data, window: 0, available: 0, next: position }
    }

    pub(crate) fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Returns the position of the next bit, which is past the end after an overrun.
    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        self.next.wrapping_sub(self.available as usize)
    }

    /// Returns the position of the end of the stream.
    #[inline(always)]
    fn end(&self) -> usize {
        self.data.len().saturating_mul(8)
    }

    /// Returns the number of bits left.
    #[inline(always)]
    pub(crate) fn remaining(&self) -> usize {
        self.end().saturating_sub(self.position())
    }

    /// Returns whether bits past the end were read.
    #[inline(always)]
    pub(crate) fn overrun(&self) -> bool {
        self.position() > self.end()
    }

    /// Goes to a bit, or to the end if it is not there.
    pub(crate) fn seek(&mut self, position: usize) {
        *self = Self::new(self.data, position.min(self.end()));
    }

    /// Reloads the window with at least 57 bits.
    #[inline(always)]
    fn refill(&mut self) {
        let position = self.position();
        let shift = (position as u64 & 7) as u32;
        let word = match self.data.get(position >> 3..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => last_word(self.data, position >> 3),
        };
        self.window = word >> shift;
        self.available = 64u32.wrapping_sub(shift);
        self.next = position.wrapping_add(self.available as usize);
    }

    /// Reads a number of at most 57 bits.
    #[inline(always)]
    pub(crate) fn fixed57(&mut self, width: u32) -> u64 {
        if self.available < width {
            self.refill();
        }
        let value = self.window & (1u64 << width).wrapping_sub(1);
        self.consume(width);
        value
    }

    /// Reads a number of at most 64 bits.
    #[inline(always)]
    pub(crate) fn fixed(&mut self, width: u32) -> u64 {
        if width <= 57 {
            self.fixed57(width)
        } else {
            let low = self.fixed57(32);
            low | (self.fixed57(width.wrapping_sub(32)) << 32)
        }
    }

    /// Reads a variable-bit-rate number: groups of `width` bits, at most 32, whose top bit means that another
    /// follows.
    #[inline(always)]
    pub(crate) fn variable(&mut self, width: u32) -> u64 {
        // Width 0 encodes a zero, width 1 has no payload.
        match width {
            2..=MAX_GROUP => self.groups(width),
            _ => self.apart(|bits| bits.rare_variable(width)),
        }
    }

    /// Reads a variable-bit-rate number of groups of 2 to [`MAX_GROUP`] bits.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn groups(&mut self, width: u32) -> u64 {
        if self.available < width.wrapping_mul(2) {
            self.refill();
        }
        let payload = width.wrapping_sub(1);
        let more = 1u64 << payload;
        let mask = (1u64 << width).wrapping_sub(1);
        let first = self.window & mask;
        self.consume(width);
        if first & more == 0 {
            return first;
        }
        // Most numbers have one or two groups.
        let second = self.window & mask;
        self.consume(width);
        let value = (first ^ more) | (second & !more) << payload;
        if second & more == 0 {
            return value;
        }
        self.apart(|bits| bits.more_groups(width, value, payload.wrapping_mul(2)))
    }

    /// Reads with a copy. What takes the reader by reference keeps it in memory, where the copies of hot loops then are,
    /// too; and these are slow where a field was just written.
    #[inline(always)]
    fn apart(&mut self, read: impl FnOnce(&mut Self) -> u64) -> u64 {
        let mut copy = *self;
        let number = read(&mut copy);
        *self = copy;
        number
    }

    #[cold]
    #[inline(never)]
    fn rare_variable(&mut self, width: u32) -> u64 {
        if width < 2 {
            self.fixed57(width);
            return 0;
        }
        self.more_groups(width, 0, 0)
    }

    /// Reads the groups of a number from bit `shift` on.
    #[cold]
    #[inline(never)]
    fn more_groups(&mut self, width: u32, mut value: u64, mut shift: u32) -> u64 {
        let payload = width.wrapping_sub(1);
        let more = 1u64 << payload;
        loop {
            let group = self.fixed57(width);
            if shift < 64 {
                value |= (group & more.wrapping_sub(1)) << shift;
            }
            if group & more == 0 {
                return value;
            }
            shift = shift.saturating_add(payload);
        }
    }

    /// Drops bits that are in the window.
    #[inline(always)]
    fn consume(&mut self, width: u32) {
        self.window >>= width;
        self.available = self.available.wrapping_sub(width);
    }

    /// Goes on to a multiple of 32 bits.
    pub(crate) fn align(&mut self) {
        // The last block of a stream of odd size may end where the padding is cut off.
        if !self.overrun() {
            self.seek(self.position().saturating_add(31) & !31);
        }
    }
}

/// Loads the last bytes of a stream, padded with zeros.
#[cold]
fn last_word(data: &[u8], byte: usize) -> u64 {
    let rest = data.get(byte..).unwrap_or_default();
    rest.iter().take(8).rev().fold(0, |word, &next| (word << 8) | u64::from(next))
}
