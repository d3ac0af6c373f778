//! Four-character codes: tags and magic numbers.

use core::fmt;

/// Four bytes that are usually letters.
///
/// ```
/// use unshade_core::FourCc;
///
/// assert_eq!(FourCc(*b"NAME").to_string(), "NAME");
/// assert_eq!(FourCc([0x4e, 0, 0x1b, 0x41]).to_string(), r"N\x00\x1bA");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FourCc(pub [u8; 4]);

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.iter().all(u8::is_ascii_graphic) {
            return f.pad(core::str::from_utf8(&self.0).unwrap_or_default());
        }
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{self}'")
    }
}
