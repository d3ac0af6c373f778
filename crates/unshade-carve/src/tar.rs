//! Reads the members of a tar archive.
//!
//! Blocks of 512 bytes: a header, then the member's data, padded. Numbers are octal text, or binary if the first bit
//! is set. The sources are POSIX `pax` and GNU tar's manual.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 100 | name |
//! | 124 | 12 | size |
//! | 148 | 8 | checksum: the sum of all bytes of the header, with spaces in this field |
//! | 156 | 1 | type: `0`, NUL and `7` are files; `L` a long name for the next member; `x` records for the next member, of which `path` and `size` matter here; `g` records for all |
//! | 257 | 6 | `ustar` |
//! | 345 | 155 | what precedes the name, in `ustar` |
//!
//! The headers are read here because the crate `tar` reads a stream and has to copy each member.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::tar::{BLOCK, is_header, number};
use crate::fields::{Fields, offset};
use std::borrow::Cow;
use std::ops::ControlFlow::Continue;
use unshade_core::{Error, ErrorKind};

/// Visits the members.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let mut occurrences = Occurrences::default();
    let mut at = 0_usize;
    let mut next_name: Option<Cow<'_, [u8]>> = None;
    let mut next_size: Option<u64> = None;
    loop {
        let Some(header) = at.checked_add(BLOCK).and_then(|end| data.get(at..end)) else {
            if at < data.len() {
                carver.error(
                    "tar-header",
                    Error::new(ErrorKind::Truncated, at as u64, "a header of the tar archive is cut off"),
                );
            }
            return Continue(());
        };
        if header.iter().all(|&byte| byte == 0) {
            // The end, unless archives were concatenated; what follows is searched in any case.
            return Continue(());
        }
        if !is_header(header) {
            let error =
                Error::new(ErrorKind::BadChecksum, at as u64, "a header of the tar archive is damaged")
                    .hint("what follows is searched without the members' names");
            carver.error("tar-header", error);
            return Continue(());
        }
        let start = at.saturating_add(BLOCK);
        let kind = Fields::little(header).u8(156).unwrap_or_default();
        let own_size = number(header.get(124..136).unwrap_or_default()).unwrap_or_default();
        let is_extension = matches!(kind, b'L' | b'K' | b'x' | b'X' | b'g');
        let size = if is_extension { own_size } else { next_size.take().unwrap_or(own_size) };
        let end = offset(start, size);
        let content = data.get(start..end).or_else(|| data.get(start..)).unwrap_or_default();
        match kind {
            b'L' => next_name = Some(Cow::Borrowed(before_nul(content))),
            b'x' | b'X' => {
                for (key, value) in PaxRecords(content) {
                    match key {
                        b"path" => next_name = Some(Cow::Borrowed(value)),
                        b"size" => {
                            next_size = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                        }
                        _ => {}
                    }
                }
            }
            b'K' | b'g' => {}
            // Everything that isn't a link, a device or a folder has its data after it.
            b'1'..=b'6' => next_name = None,
            _ => {
                let name = next_name.take().unwrap_or_else(|| own_name(header));
                if end > data.len() {
                    let error = Error::new(ErrorKind::Truncated, start as u64, "the member is cut off")
                        .expected(format!("{size} bytes"))
                        .found(content.len().to_string())
                        .within(carver.place_of(&name));
                    carver.error("tar-member", error);
                }
                carver.cover(run, start)?;
                match carver.enter(&name, &mut occurrences) {
                    Entry::Entered => {
                        let flow = carver.run(content, run.file_offset(start));
                        carver.leave();
                        flow?;
                        run.skip_to(end);
                    }
                    Entry::Unwanted => run.skip_to(end),
                    Entry::Refused => return Continue(()),
                }
            }
        }
        // Links and devices may state a size and have no data nevertheless.
        let occupied = if matches!(kind, b'1'..=b'6') { 0 } else { size };
        let blocks = occupied.div_ceil(BLOCK as u64);
        at = offset(start, blocks.saturating_mul(BLOCK as u64));
    }
}

fn own_name(header: &[u8]) -> Cow<'_, [u8]> {
    let name = before_nul(header.get(..100).unwrap_or_default());
    // GNU's header has times where POSIX's has the prefix.
    let is_posix = header.get(257..263) == Some(b"ustar\0");
    let prefix = before_nul(header.get(345..500).unwrap_or_default());
    if is_posix && !prefix.is_empty() {
        Cow::Owned([prefix, b"/", name].concat())
    } else {
        Cow::Borrowed(name)
    }
}

fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Records of the form `"<size> <key>=<value>\n"`, where the size counts all of it.
struct PaxRecords<'a>(&'a [u8]);

impl<'a> Iterator for PaxRecords<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // A size has at most 20 digits.
        let space = memchr::memchr(b' ', self.0.get(..21).unwrap_or(self.0))?;
        let size: usize = std::str::from_utf8(self.0.get(..space)?).ok()?.parse().ok()?;
        let (record, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        let record = record.get(space.checked_add(1)?..record.len().checked_sub(1)?)?;
        let equals = memchr::memchr(b'=', record)?;
        Some((record.get(..equals)?, record.get(equals.checked_add(1)?..)?))
    }
}
