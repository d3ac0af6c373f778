//! Reads the members of a static archive (`.a`, `.lib`).
//!
//! `!<arch>\n`, then members at even offsets: a header of 60 characters (name 16, time 12, owner 6, group 6, mode 8,
//! size 10, `` `\n ``), then the data. Two ways to write longer names are in use:
//!
//! * BSD and Apple: the name `#1/20` says that the first 20 bytes of the data are the name;
//! * GNU and Microsoft: the name `/1234` is an offset in the data of the member `//`; short names end with `/`.
//!
//! `/`, `/SYM64/` and `__.SYMDEF…` are symbol tables. A thin archive (`!<thin>\n`) contains file names only. Sources:
//! `ar(5)` of the BSDs, GNU binutils' manual and Microsoft's PE specification.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::ARCHIVE_MAGIC as MAGIC;
use crate::fields::{Fields, offset};
use std::ops::ControlFlow::Continue;
use unshade_core::{Error, ErrorKind};

const HEADER: u64 = 60;

/// Reports a thin archive, which contains only the names of its members.
pub(crate) fn note_thin(carver: &mut Carver<'_>, _: &mut Run<'_>) -> Flow {
    let error = Error::new(ErrorKind::Unsupported, 0, "a thin archive has the names of its members only")
        .hint("open the files that are its members, or the folder that they are in");
    carver.note("archive-thin", error);
    Continue(())
}

/// Visits the members.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let fields = Fields::little(data);
    let mut occurrences = Occurrences::default();
    let mut long_names: &[u8] = &[];
    let mut at = MAGIC.len();
    while at < data.len() {
        let header = fields.bytes(at as u64, HEADER).filter(|header| header.ends_with(b"`\n"));
        let Some((header, size)) = header.and_then(|header| Some((header, decimal(header.get(48..58)?)?)))
        else {
            let error = Error::new(
                ErrorKind::BadValue,
                at as u64,
                "a header of the static archive is damaged or cut off",
            )
            .hint("what follows is searched without the members' names");
            carver.error("archive-header", error);
            return Continue(());
        };
        let start = offset(at, HEADER);
        let end = offset(start, size);
        let mut content = data.get(start..end).or_else(|| data.get(start..)).unwrap_or_default();
        let mut content_start = start;
        let short = header.get(..16).unwrap_or_default().trim_ascii_end();
        let name = if let Some(length) = short.strip_prefix(b"#1/").and_then(decimal) {
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(content.len());
            let (name, rest) = content.split_at_checked(length).unwrap_or((content, &[]));
            content = rest;
            content_start = start.saturating_add(length);
            trim_nul(name)
        } else if short == b"//" {
            long_names = content;
            short
        } else if let Some(place) = short.strip_prefix(b"/").and_then(decimal) {
            long_name(long_names, place).unwrap_or(short)
        } else if short.len() > 1 && short != b"/SYM64/" {
            short.strip_suffix(b"/").unwrap_or(short)
        } else {
            short
        };
        if end > data.len() {
            let error = Error::new(ErrorKind::Truncated, start as u64, "the member is cut off")
                .expected(format!("{size} bytes"))
                .found(data.len().saturating_sub(start).to_string())
                .within(carver.place_of(name));
            carver.error("archive-member", error);
        }
        let is_table = matches!(short, b"/" | b"//" | b"/SYM64/") || name.starts_with(b"__.SYMDEF");
        if !is_table {
            carver.cover(run, content_start)?;
            match carver.enter(name, &mut occurrences) {
                Entry::Entered => {
                    let flow = carver.run(content, run.file_offset(content_start));
                    carver.leave();
                    flow?;
                    run.skip_to(end);
                }
                Entry::Unwanted => run.skip_to(end),
                Entry::Refused => return Continue(()),
            }
        }
        at = end.saturating_add(end & 1);
    }
    Continue(())
}

/// Parses a decimal number with optional trailing spaces.
fn decimal(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_end();
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, &digit| {
        let digit = digit.checked_sub(b'0').filter(|&digit| digit < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn trim_nul(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
    name.get(..end).unwrap_or_default()
}

/// Returns a name from the table `//`, which ends with `/` and a line feed (GNU) or a NUL (Microsoft).
fn long_name(table: &[u8], place: u64) -> Option<&[u8]> {
    // No file system has longer names, and a hostile table must not be read from end to end for each member.
    const LIMIT: usize = 4_096;
    let rest = table.get(usize::try_from(place).ok()?..)?;
    let rest = rest.get(..LIMIT).unwrap_or(rest);
    let name = rest.get(..memchr::memchr2(b'\n', 0, rest).unwrap_or(rest.len()))?;
    Some(name.strip_suffix(b"/").unwrap_or(name))
}
