//! Tags, the building blocks of function lists, metadata and the header extension.
//!
//! A tag is a four-character code, a length (16 bits, but 32 bits for the codes of [`WIDE`]) and that many bytes. The
//! code `ENDT` has no length and ends a sequence of tags. Most sequences form a *group*, which starts with a 32-bit
//! size; whether that size includes itself depends on the place and on the tool that wrote the file, so parsers read up
//! to `ENDT` and use the size only as a check, or to find the next group after a fault.

use core::ops::Range;
use unshade_core::{Error, ErrorKind, FourCc, Reader, Result};

/// Ends a sequence of tags.
pub const ENDT: FourCc = FourCc(*b"ENDT");

/// The codes of tags with a 32-bit length: source archives, reflection buffers (plain and compressed), scripts.
pub const WIDE: [FourCc; 4] = [FourCc(*b"SARC"), FourCc(*b"RBUF"), FourCc(*b"RBUZ"), FourCc(*b"SBUF")];

/// One tag.
#[derive(Clone, Debug)]
pub struct Tag<'a> {
    /// The code.
    pub code: FourCc,
    /// The content, without code and length.
    pub content: Reader<'a>,
    /// The range in the file, including code and length.
    pub range: Range<u64>,
}

impl<'a> Tag<'a> {
    /// Returns the content as a C string without its NUL.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there is no NUL, [`ErrorKind::BadValue`] if bytes follow the NUL.
    pub fn c_string(&self) -> Result<&'a [u8]> {
        let mut content = self.content;
        let text = content.c_string().map_err(|error| error.within(self.path_name()))?;
        self.expect_end(&content)?;
        Ok(text)
    }

    /// Parses the whole content with `read`.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if the content is shorter, [`ErrorKind::BadValue`] if it is longer.
    pub fn exactly<T>(&self, read: impl FnOnce(&mut Reader<'a>) -> Result<T>) -> Result<T> {
        let mut content = self.content;
        let value = read(&mut content).map_err(|error| error.within(self.path_name()))?;
        self.expect_end(&content)?;
        Ok(value)
    }

    fn expect_end(&self, content: &Reader<'_>) -> Result<()> {
        if content.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::BadValue, content.offset(), "extra bytes at the end of the tag")
            .expected(alloc::format!("{} bytes", content.position()))
            .found(alloc::format!("{}", content.data().len()))
            .within(self.path_name()))
    }

    fn path_name(&self) -> alloc::string::String {
        alloc::format!("tag {}", self.code)
    }
}

/// Iterates over tags up to `ENDT`; stops after an error.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    reader: Reader<'a>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Ended,
    Failed,
}

impl<'a> Tags<'a> {
    /// Creates an iterator over the tags from the reader's position.
    pub fn new(reader: Reader<'a>) -> Self {
        Self { reader, state: State::Running }
    }

    /// Returns whether `ENDT` was reached.
    pub fn ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns a reader of the data after the tags read so far, and after `ENDT` if [`Tags::ended`].
    pub fn reader(&self) -> Reader<'a> {
        self.reader
    }

    /// Checks all remaining tags up to `ENDT`.
    ///
    /// # Errors
    /// If a tag is malformed, `ENDT` is missing, or bytes follow it ([`ErrorKind::BadValue`]).
    pub fn check(mut self) -> Result<()> {
        for tag in &mut self {
            tag?;
        }
        match self.reader.remaining() {
            0 => Ok(()),
            rest => Err(Error::new(ErrorKind::BadValue, self.reader.offset(), "bytes follow ENDT")
                .found(alloc::format!("{rest} bytes"))),
        }
    }

    fn read(&mut self) -> Result<Option<Tag<'a>>> {
        // After a failure the reader stays at the tag that failed.
        let mut reader = self.reader;
        let start = reader.offset();
        let code = reader.fourcc().map_err(|error| error.hint("the sequence of tags has no ENDT"))?;
        if code == ENDT {
            self.reader = reader;
            self.state = State::Ended;
            return Ok(None);
        }
        let within = |error: Error| error.within(alloc::format!("tag {code}"));
        let size =
            if WIDE.contains(&code) { reader.u32() } else { reader.u16().map(u32::from) }.map_err(within)?;
        let content = reader.split(u64::from(size)).map_err(within)?;
        self.reader = reader;
        Ok(Some(Tag { code, content, range: start..reader.offset() }))
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Result<Tag<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state != State::Running {
            return None;
        }
        let result = self.read();
        if result.is_err() {
            self.state = State::Failed;
        }
        result.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iteration_stops_at_endt_or_at_the_first_fault() {
        let run = b"TYPE\x01\x00\x02RBUF\x02\x00\x00\x00hiENDTNAME";
        let mut tags = Tags::new(Reader::at(run, 0x40));
        let first = tags.next().unwrap().unwrap();
        assert_eq!((first.code, first.range.clone()), (FourCc(*b"TYPE"), 0x40..0x47));
        assert_eq!(first.exactly(|r| r.u8()).unwrap(), 2);
        assert_eq!(tags.next().unwrap().unwrap().content.rest(), b"hi");
        assert!(tags.next().is_none() && tags.ended());
        assert_eq!(tags.reader().rest(), b"NAME");

        let mut cut = Tags::new(Reader::new(&run[..12]));
        assert!(cut.next().unwrap().is_ok());
        assert_eq!(cut.next().unwrap().unwrap_err().kind(), ErrorKind::Truncated);
        assert!(cut.next().is_none() && !cut.ended());
        assert_eq!(cut.reader().offset(), 7);
    }

    #[test]
    fn lengths_must_fit() {
        let mut tags = Tags::new(Reader::new(b"OFFT\x04\x00abcdENDT"));
        let tag = tags.next().unwrap().unwrap();
        assert_eq!(tag.exactly(|r| r.u64()).unwrap_err().kind(), ErrorKind::Truncated);
        assert_eq!(tag.exactly(|r| r.u16()).unwrap_err().kind(), ErrorKind::BadValue);
        assert_eq!(tag.c_string().unwrap_err().kind(), ErrorKind::Truncated);
    }
}
