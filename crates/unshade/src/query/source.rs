//! The bytes of a file: resident, or read by ranges when they are needed.
//!
//! Parsers take a slice of the whole file. A file that is read by ranges therefore has a zeroed buffer of its size, whose
//! blocks are filled before a parser reads them ([`Source::ensure`]). Pages of their own would not do: finds, readers and
//! modules borrow slices of any length at any offset of the file.

use super::{Answer, Fault};
use std::fmt;
use std::ops::Range;

/// The maximum size of a file that is read by ranges: the memory of a page has room for one, and for its listings.
pub const MAX_RANGED: u64 = 1_500_000_000;

/// The unit in which a file is read.
const BLOCK: usize = 64 << 10;

/// Reads the bytes from an offset on into the slice, all of it.
pub type ReadRange = Box<dyn FnMut(u64, &mut [u8]) -> Result<(), String> + Send>;

/// The bytes of a file.
pub struct Source(Kind);

enum Kind {
    Resident(Box<dyn AsRef<[u8]> + Send>),
    Ranged(Ranged),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match &self.0 {
            Kind::Resident(_) => "resident",
            Kind::Ranged(_) => "by ranges",
        };
        write!(f, "Source({} bytes, {how})", self.bytes().len())
    }
}

struct Ranged {
    bytes: Vec<u8>,
    /// Which blocks are filled, one bit per block.
    filled: Vec<u64>,
    read: ReadRange,
}

impl Source {
    /// Returns a source whose bytes are in memory, or mapped.
    pub fn resident(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self(Kind::Resident(Box::new(bytes)))
    }

    /// Returns a source of this size that is read by ranges.
    ///
    /// # Errors
    /// It is larger than [`MAX_RANGED`], or than memory.
    pub fn ranged(size: u64, read: ReadRange) -> Answer<Self> {
        let too_large = || {
            Fault::new(format!("the file has {size} bytes, which is too large for the page"))
                .expected(format!("at most {MAX_RANGED} bytes"))
                .hint("`unshade explore FILE` opens files of any size")
        };
        let length = usize::try_from(size).ok().filter(|_| size <= MAX_RANGED).ok_or_else(too_large)?;
        let blocks = length.div_ceil(BLOCK).div_ceil(64);
        Ok(Self(Kind::Ranged(Ranged { bytes: vec![0; length], filled: vec![0; blocks], read })))
    }

    /// Returns the bytes. Those of ranges that were not ensured are zeros.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::Resident(bytes) => (**bytes).as_ref(),
            Kind::Ranged(ranged) => &ranged.bytes,
        }
    }

    /// Returns whether bytes have to be ensured.
    pub fn is_ranged(&self) -> bool {
        matches!(self.0, Kind::Ranged(_))
    }

    /// Reads the bytes of a range, unless they were read already. What is after the end of the file is left out.
    ///
    /// # Errors
    /// They can't be read.
    pub fn ensure(&mut self, range: Range<u64>) -> Answer<()> {
        match &mut self.0 {
            Kind::Resident(_) => Ok(()),
            Kind::Ranged(ranged) => ranged.ensure(range),
        }
    }
}

impl Ranged {
    fn ensure(&mut self, range: Range<u64>) -> Answer<()> {
        let size = self.bytes.len();
        let place = |offset: u64| usize::try_from(offset).unwrap_or(size).min(size);
        let (start, end) = (place(range.start), place(range.end));
        if start >= end {
            return Ok(());
        }
        let (first, end) = (start / BLOCK, end.div_ceil(BLOCK));
        let mut block = first;
        while block < end {
            if self.is_filled(block) {
                block += 1;
                continue;
            }
            // Neighbours that are missing as well are read together.
            let start = block;
            while block < end && !self.is_filled(block) {
                block += 1;
            }
            let bytes = start * BLOCK..(block * BLOCK).min(size);
            let offset = bytes.start as u64;
            let into = self.bytes.get_mut(bytes).unwrap_or_default();
            (self.read)(offset, into).map_err(|message| Fault {
                offset: Some(offset),
                ..Fault::new(format!("the file can't be read: {message}"))
                    .hint("open it again: it may have been changed or moved")
            })?;
            (start..block).for_each(|block| self.note_filled(block));
        }
        Ok(())
    }

    fn is_filled(&self, block: usize) -> bool {
        self.filled.get(block / 64).is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    fn note_filled(&mut self, block: usize) {
        if let Some(word) = self.filled.get_mut(block / 64) {
            *word |= 1 << (block % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn blocks_are_read_once_and_neighbours_together() {
        let file: Vec<u8> = (0..BLOCK * 5 + 7).map(|at| (at / 251) as u8).collect();
        let reads = Arc::new(Mutex::new(Vec::new()));
        let (bytes, log) = (file.clone(), Arc::clone(&reads));
        let mut source = Source::ranged(
            file.len() as u64,
            Box::new(move |offset, into| {
                log.lock().unwrap().push((offset, into.len()));
                into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
                Ok(())
            }),
        )
        .unwrap();
        let block = BLOCK as u64;
        source.ensure(block..block + 1).unwrap();
        source.ensure(0..file.len() as u64 + 100).unwrap();
        source.ensure(3..block * 4).unwrap();
        assert_eq!(source.bytes(), file);
        assert_eq!(*reads.lock().unwrap(), [(block, BLOCK), (0, BLOCK), (2 * block, 3 * BLOCK + 7)]);
    }

    #[test]
    fn what_is_too_large_or_fails_is_reported() {
        let fails = || -> ReadRange { Box::new(|_, _| Err("gone".into())) };
        assert!(Source::ranged(MAX_RANGED + 1, fails()).unwrap_err().hint.unwrap().contains("explore"));
        let mut source = Source::ranged(10, fails()).unwrap();
        assert_eq!(source.ensure(0..1).unwrap_err().message, "the file can't be read: gone");
        assert!(source.ensure(10..12).is_ok());
    }
}
