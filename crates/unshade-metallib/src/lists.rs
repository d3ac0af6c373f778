//! Lists of tag groups: imported symbols (`ILST`), exported variables (`VLST`), reflection buffers (`RLST`) and
//! pipeline scripts (`SLST`).
//!
//! All four consist of a 32-bit count and that many groups `{u32 size, including itself; tags; ENDT}`. The group of a
//! symbol has a `NAME`, that of a reflection an `RBUF` (`RBUZ`: compressed, never seen), that of a script an `SBUF`.

use crate::tag::{Tag, Tags};
use alloc::format;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// One group of a list.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The range in the file, starting with its size.
    pub range: Range<u64>,
    tags: Reader<'a>,
}

impl<'a> Group<'a> {
    /// Reads a group at the reader's position.
    ///
    /// # Errors
    /// [`ErrorKind::BadValue`] for a size below 4, [`ErrorKind::Truncated`] for a size beyond the end of the data.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let start = reader.offset();
        let mut ahead = *reader;
        let size = ahead.u32()?;
        let content = size.checked_sub(4).ok_or_else(|| {
            Error::new(ErrorKind::BadValue, start, "group is smaller than its own size field")
                .expected("at least 8")
                .found(format!("{size}"))
        })?;
        let tags = ahead.split(u64::from(content))?;
        *reader = ahead;
        Ok(Self { range: start..ahead.offset(), tags })
    }

    /// Returns the tags, in file order.
    pub fn tags(&self) -> Tags<'a> {
        Tags::new(self.tags)
    }

    /// Returns the first tag with one of these codes.
    pub fn find(&self, codes: &[&[u8; 4]]) -> Option<Tag<'a>> {
        self.tags().filter_map(Result::ok).find(|tag| codes.iter().any(|code| **code == tag.code.0))
    }

    /// Returns the name in the `NAME` tag.
    pub fn name(&self) -> Option<&'a [u8]> {
        self.find(&[b"NAME"]).and_then(|tag| tag.c_string().ok())
    }
}

/// Iterates over the groups of a list; stops after an error.
#[derive(Clone, Debug)]
pub struct Groups<'a> {
    reader: Reader<'a>,
    left: u32,
    declared: u32,
}

impl<'a> Groups<'a> {
    /// Reads the count at the reader's position.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there is no count.
    pub fn new(mut reader: Reader<'a>) -> Result<Self> {
        let declared = reader.u32()?;
        Ok(Self { reader, left: declared, declared })
    }

    /// Returns the number of groups that the list declares. Untrusted: do not allocate by it.
    pub fn declared_count(&self) -> u32 {
        self.declared
    }

    /// Returns a reader of the data after the groups read so far.
    pub fn reader(&self) -> Reader<'a> {
        self.reader
    }
}

impl<'a> Iterator for Groups<'a> {
    type Item = Result<Group<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let group = Group::read(&mut self.reader);
        if group.is_err() {
            self.left = 0;
        }
        Some(group)
    }
}
