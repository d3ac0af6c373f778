//! Finds the start and end of PTX text.
//!
//! PTX is `.version`, a version, and `.target` within the next [`MAX_GAP`] bytes. It begins with the comment lines
//! before `.version`, and ends before the first byte that is not text. In its first [`MAX_HEAD`] bytes,
//! statements follow a declaration, unless it is a short text that ends with the file. A single statement has to close
//! its brackets.

/// The directive that every PTX file begins with, after comments.
pub(crate) const MAGIC: &[u8] = b".version";

/// Maximum distance of `.target` from `.version` in bytes.
const MAX_GAP: usize = 256;

/// Maximum size of the text before the first declaration in bytes.
const MAX_HEAD: usize = 4_096;

/// What declares functions and variables.
const DECLARATIONS: [&[u8]; 4] = [b".entry", b".func", b".global", b".const"];

/// Maximum size of the comments before `.version` in bytes.
const MAX_LEAD: usize = 4_096;

/// Returns the size of PTX.
pub(crate) fn size(data: &[u8]) -> Option<u64> {
    let head = data.get(..MAX_GAP).unwrap_or(data);
    let rest = head.strip_prefix(MAGIC)?.trim_ascii_start();
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let major = digits(rest);
    let minor = rest.get(major..)?.strip_prefix(b".")?;
    if major == 0 || digits(minor) == 0 {
        return None;
    }
    let is_text = |byte: &u8| *byte >= 0x20 || matches!(*byte, b'\n' | b'\r' | b'\t');
    let target = memchr::memmem::find(minor, b".target")?;
    if !minor.get(..target)?.iter().all(is_text) {
        return None;
    }
    let end = |data: &[u8]| data.iter().position(|byte| !is_text(byte)).unwrap_or(data.len());
    let head = data.get(..MAX_HEAD).unwrap_or(data);
    let head = head.get(..end(head)).unwrap_or(head);
    // The text ends with the data, or as a C string does.
    let is_ended = data.get(head.len()).is_none_or(|&byte| byte == 0);
    let declared = declared(head);
    let statements = statements(declared);
    let is_whole = head.len() == data.len();
    (is_whole || statements > 1 || (is_ended && statements == 1 && is_balanced(declared)))
        .then_some(end(data) as u64)
}

/// Returns the text from the first declaration on, as far as it is ASCII.
fn declared(text: &[u8]) -> &[u8] {
    let first = DECLARATIONS.iter().filter_map(|word| memchr::memmem::find(text, word)).min();
    let declared = first.and_then(|at| text.get(at..)).unwrap_or_default();
    declared.split(|byte| !byte.is_ascii()).next().unwrap_or_default()
}

/// Returns whether as many brackets of each kind close as open.
fn is_balanced(text: &[u8]) -> bool {
    let count = |wanted: u8| text.iter().filter(|&&byte| byte == wanted).count();
    [(b'(', b')'), (b'[', b']'), (b'{', b'}')].into_iter().all(|(open, close)| count(open) == count(close))
}

/// Returns the number of statements and bodies that end in a text.
fn statements(ascii: &[u8]) -> usize {
    let mut open = 0_usize;
    let mut count = 0_usize;
    for (at, &byte) in ascii.iter().enumerate() {
        let after = at.checked_add(1).and_then(|next| ascii.get(next));
        let is_end = match byte {
            b';' => true,
            // Of a body that has begun.
            b'}' => open > 0,
            _ => false,
        };
        match byte {
            b'{' => open = open.saturating_add(1),
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if is_end && after.is_none_or(|&after| after.is_ascii_whitespace() || after == b'}') {
            count = count.saturating_add(1);
        }
    }
    count
}

/// Returns whether the bytes are PTX from the first one on.
pub(crate) fn starts(data: &[u8]) -> bool {
    let head = data.get(..MAX_LEAD).unwrap_or(data);
    if !head.trim_ascii_start().starts_with(b"//") {
        return false;
    }
    memchr::memmem::find(head, MAGIC).is_some_and(|at| {
        lead(data.get(..at).unwrap_or_default()) == at
            && data.get(at..).is_some_and(|rest| size(rest).is_some())
    })
}

/// Returns the number of bytes of comment lines and blank lines before the directive at `at`, down to `free`, and the
/// size with them.
pub(crate) fn with_lead(data: &[u8], free: usize, at: usize, size: u64) -> (usize, u64) {
    let lead = lead(data.get(free..at).unwrap_or_default());
    (lead, size.saturating_add(lead as u64))
}

/// Returns the number of bytes of comment lines and blank lines at the end of the text.
fn lead(before: &[u8]) -> usize {
    let from = before.len().saturating_sub(MAX_LEAD);
    let near = before.get(from..).unwrap_or_default();
    // Embedded text starts after the last byte that is not text.
    let is_odd = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\n' | b'\r' | b'\t');
    let text = near.iter().rposition(is_odd).map_or(0, |odd| odd.saturating_add(1));
    let near = near.get(text..).unwrap_or_default();
    let mut lead = 0_usize;
    // Lines from last to first; the last one is the text before the directive on its own line.
    for line in near.rsplit(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        let is_comment = text.starts_with(b"//") && text.iter().all(|byte| *byte >= 0x20 || *byte == b'\t');
        if !text.is_empty() && !is_comment {
            break;
        }
        // Counts the line break that ends each line but the last.
        lead = lead.saturating_add(line.len()).saturating_add(1);
    }
    lead.saturating_sub(1).min(near.len())
}
