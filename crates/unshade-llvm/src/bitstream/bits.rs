//! Bits of a stream, least significant first.
//!
//! A window of up to 64 bits is loaded at once and shifted out, so that a number costs a mask and a shift, and one in
//! ten a load. Bits past the end are zero; that some were read is asked once for each record, so that the hot loops
//! have no error path.

/// A position in the bits of a stream. Loops work on a copy of it, which stays in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitReader<'a> {
    data: &'a [u8],
    /// Bits that were loaded and not taken.
    window: u64,
    /// How many bits are in the window.
    available: u32,
    /// The first bit that is not in the window.
    next: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(data: &'a [u8], position: usize) -> Self {
        Self { data, window: 0, available: 0, next: position }
    }

    pub(crate) fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The next bit's position, which is past the end if that many bits were read.
    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        self.next.wrapping_sub(self.available as usize)
    }

    /// The first bit that is not there.
    #[inline(always)]
    fn end(&self) -> usize {
        self.data.len().saturating_mul(8)
    }

    /// How many bits are left.
    #[inline(always)]
    pub(crate) fn remaining(&self) -> usize {
        self.end().saturating_sub(self.position())
    }

    /// Whether bits past the end were read.
    #[inline(always)]
    pub(crate) fn overrun(&self) -> bool {
        self.position() > self.end()
    }

    /// Goes to a bit, or to the end if it is not there.
    pub(crate) fn seek(&mut self, position: usize) {
        *self = Self::new(self.data, position.min(self.end()));
    }

    /// Loads the window anew: at least 57 bits.
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

    /// A number of at most 57 bits.
    #[inline(always)]
    pub(crate) fn small(&mut self, width: u32) -> u64 {
        if self.available < width {
            self.refill();
        }
        let value = self.window & (1u64 << width).wrapping_sub(1);
        self.window >>= width;
        self.available = self.available.wrapping_sub(width);
        value
    }

    /// A number of at most 64 bits.
    #[inline(always)]
    pub(crate) fn fixed(&mut self, width: u32) -> u64 {
        if width <= 57 {
            self.small(width)
        } else {
            let low = self.small(32);
            low | (self.small(width.wrapping_sub(32)) << 32)
        }
    }

    /// A number in groups of `width` bits, at most 32, the top bit of each saying that another follows.
    #[inline(always)]
    pub(crate) fn variable(&mut self, width: u32) -> u64 {
        if width < 2 {
            // Width 0 is written for a literal zero; width 1 has no room for a value.
            self.small(width);
            return 0;
        }
        let payload = width.wrapping_sub(1);
        let more = 1u64 << payload;
        let group = self.small(width);
        if group & more == 0 {
            return group;
        }
        let mut value = group ^ more;
        let mut shift = payload;
        loop {
            let group = self.small(width);
            if shift < 64 {
                value |= (group & more.wrapping_sub(1)) << shift;
            }
            if group & more == 0 {
                return value;
            }
            shift = shift.saturating_add(payload);
        }
    }

    /// Goes on to a multiple of 32 bits.
    pub(crate) fn align(&mut self) {
        // The last block of a stream of odd size may end where the padding is cut off.
        if !self.overrun() {
            self.seek(self.position().saturating_add(31) & !31);
        }
    }
}

/// The last bytes of a stream, with zeros behind them.
#[cold]
fn last_word(data: &[u8], byte: usize) -> u64 {
    let rest = data.get(byte..).unwrap_or_default();
    rest.iter().take(8).rev().fold(0, |word, &next| (word << 8) | u64::from(next))
}
