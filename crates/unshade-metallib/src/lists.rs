//! Lists of tag groups: imported symbols (`ILST`), exported variables (`VLST`), reflection buffers (`RLST`) and
//! pipeline scripts (`SLST`).
//!
//! All four are a 32-bit count and as many groups `{u32 size, counting itself; tags; ENDT}`. A symbol's group has a
//! `NAME`; a reflection's `RBUF` (`RBUZ`: compressed, never seen); a script's `SBUF`.

use crate::tag::{Tag, Tags};
use alloc::format;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// One group of a list.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The bytes of the file from its size on.
    pub range: Range<u64>,
    tags: Reader<'a>,
}

impl<'a> Group<'a> {
    /// Reads a group at the reader's position.
    ///
    /// # Errors
    /// [`ErrorKind::BadValue`] for a size below 4, [`ErrorKind::Truncated`] for one past the end.
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

    /// The tags, in file order.
    pub fn tags(&self) -> Tags<'a> {
        Tags::new(self.tags)
    }

    /// The first tag with one of these codes.
    pub fn find(&self, codes: &[&[u8; 4]]) -> Option<Tag<'a>> {
        self.tags().filter_map(Result::ok).find(|tag| codes.iter().any(|code| **code == tag.code.0))
    }

    /// The name in the group's `NAME`.
    pub fn name(&self) -> Option<&'a [u8]> {
        self.find(&[b"NAME"]).and_then(|tag| tag.c_string().ok())
    }
}

/// Walks the groups of a list; ends after an error.
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
    /// [`ErrorKind::Truncated`] if there is none.
    pub fn new(mut reader: Reader<'a>) -> Result<Self> {
        let declared = reader.u32()?;
        Ok(Self { reader, left: declared, declared })
    }

    /// How many groups the list says that it has. Nothing bounds it: do not allocate by it.
    pub fn declared_count(&self) -> u32 {
        self.declared
    }

    /// What follows the groups walked so far.
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
