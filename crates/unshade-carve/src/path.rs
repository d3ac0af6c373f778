//! The path of a GPU program: nested members, section and offset.
//!
//! The text of a path can be read, pasted into a command, and compared:
//!
//! ```text
//! torch.whl!torch/lib/libtorch_cpu.dylib!__TEXT,metal_40@0x1234
//! └─ file ─┘└────────── member ─────────┘└── section ───┘└ offset in the innermost run of bytes
//! ```
//!
//! An entry of an offload bundle is a step too: `bundle.o!hip-amdgcn-amd-amdhsa--gfx906`. If the bundle is in a
//! section, the section precedes it: `lib.so!.hip_fatbin!hip-amdgcn-amd-amdhsa--gfx906`.
//!
//! A *run* is a file or an unpacked member. A program that fills its run has no offset in its path. Within one input no
//! two programs have the same path:
//!
//! * names are shown by [`Escaped`]; besides, a `!` in a name is `\x21`, and a `#` or `@` in it is escaped where it
//!   could be taken for one of ours; an empty name is `\-`;
//! * the second member of the same name in one container has `#2` after its name, the third `#3`.

use std::borrow::Cow;

use std::fmt::{self, Write};
use unshade_core::{Error, ErrorKind, Escaped, Result};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathSegment {
    /// A member of an archive, an architecture of a universal file, the contents of a compressed file, an entry of a
    /// bundle of device code, or a section that contains such bundles.
    Member {
        /// Its name, as the container has it.
        name: Vec<u8>,
        /// 1 for the first member of this name in its container, 2 for the second, and so on.
        occurrence: u32,
    },
    /// A section of an object file; always the last step.
    Section {
        /// Its name; in a Mach-O file the segment's name, a comma and the section's name.
        name: Vec<u8>,
        /// The offset of the program in the section.
        offset: u64,
    },
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { name, occurrence } => {
                write_name(name, f)?;
                if *occurrence > 1 { write!(f, "#{occurrence}") } else { Ok(()) }
            }
            Self::Section { name, .. } => write_name(name, f),
        }
    }
}

/// The path of a GPU program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindPath {
    /// The name under which the input was given.
    pub(crate) file: Vec<u8>,
    pub(crate) segments: Vec<PathSegment>,
    pub(crate) offset: u64,
    pub(crate) whole: bool,
}

impl FindPath {
    /// Returns the path of a program that is a whole file.
    pub fn of_file(name: &[u8]) -> Self {
        Self { file: name.to_vec(), segments: Vec::new(), offset: 0, whole: true }
    }

    /// Returns the name under which the input was given.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Returns the steps from the file to the program, outermost first; none if it is directly in the file.
    pub fn segments(&self) -> &[PathSegment] {
        &self.segments
    }

    /// Returns the offset in the innermost run of bytes: the last member, unpacked, or the file if there is no member.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether the program is the whole of its innermost run of bytes.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the program's section and the offset in it, if it is in one.
    pub fn section(&self) -> Option<(&[u8], u64)> {
        match self.segments.last() {
            Some(PathSegment::Section { name, offset }) => Some((name, *offset)),
            _ => None,
        }
    }

    /// Returns the text that identifies the program in its file, without the file's name. It is unique in the file, and
    /// [`Selector::parse`] parses it.
    pub fn selector(&self) -> String {
        let mut text = String::new();
        for (index, segment) in self.segments.iter().enumerate() {
            let separator = if index == 0 { "" } else { "!" };
            let _ = write!(text, "{separator}{segment}");
        }
        if !self.whole || self.segments.is_empty() {
            let _ = write!(text, "@{:#x}", self.offset);
        }
        text
    }
}

/// Writes the whole path, with the file's name in front.
impl fmt::Display for FindPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&self.file, f)?;
        for segment in &self.segments {
            write!(f, "!{segment}")?;
        }
        if self.whole { Ok(()) } else { write!(f, "@{:#x}", self.offset) }
    }
}

/// Selects a program of a file: the parsed text of [`FindPath::selector`].
///
/// ```
/// use unshade_carve::Selector;
///
/// let selector = Selector::parse("lib/libtorch_cpu.dylib!__TEXT,metal_40@0x1234")?;
/// assert_eq!(selector.to_string(), "lib/libtorch_cpu.dylib!__TEXT,metal_40@0x1234");
/// assert!(Selector::parse("").is_err());
/// # Ok::<(), unshade_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The texts of the steps. They are compared as texts, so no name has to be unescaped.
    segments: Vec<String>,
    offset: Option<u64>,
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// [`ErrorKind::BadValue`] if the text is empty or its offset is too large.
    pub fn parse(text: &str) -> Result<Self> {
        let (names, offset) = match text.rsplit_once("@0x") {
            Some((names, digits)) if !digits.contains('!') => {
                let offset = u64::from_str_radix(digits, 16).map_err(|_| {
                    Error::without_offset(ErrorKind::BadValue, "the offset of a selector is no number")
                        .expected("hexadecimal digits after @0x")
                        .found(Escaped(digits.as_bytes()).to_string())
                })?;
                (names, Some(offset))
            }
            _ => (text, None),
        };
        if names.is_empty() && offset.is_none() {
            return Err(Error::without_offset(ErrorKind::BadValue, "the selector is empty"));
        }
        let segments =
            if names.is_empty() { Vec::new() } else { names.split('!').map(String::from).collect() };
        Ok(Self { segments, offset })
    }

    /// Returns whether the program at this path is selected. A program that is the whole of its run is
    /// also selected by its offset 0.
    pub fn selects(&self, path: &FindPath) -> bool {
        let offset = match self.offset {
            Some(offset) => offset == path.offset,
            None => path.whole,
        };
        offset
            && self.segments.len() == path.segments.len()
            && path.segments.iter().enumerate().all(|(i, s)| self.admits(i, s))
    }

    /// Returns whether the step with this index can lead to the selected program.
    pub(crate) fn admits(&self, index: usize, segment: &PathSegment) -> bool {
        self.segments.get(index).is_some_and(|wanted| *wanted == segment.to_string())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segments.join("!"))?;
        match self.offset {
            Some(offset) => write!(f, "@{offset:#x}"),
            None => Ok(()),
        }
    }
}

/// A name, with everything escaped that has a meaning in a path.
fn write_name(name: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if name.is_empty() {
        // No name's escape looks like this: a backslash in a name is doubled.
        return f.write_str("\\-");
    }
    let text: Cow<'_, str> = Escaped(name).to_cow();
    let mut rest = text.as_ref();
    while let Some(at) = rest.find(['!', '#', '@']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        f.write_str(before)?;
        let mut tail = from.chars();
        let mark = tail.next();
        rest = tail.as_str();
        match mark {
            Some('!') => f.write_str("\\x21")?,
            Some('#') if !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) => {
                f.write_str("\\x23")?;
            }
            Some('@') if rest.starts_with("0x") => f.write_str("\\x40")?,
            Some(other) => f.write_char(other)?,
            None => {}
        }
    }
    f.write_str(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &[u8], occurrence: u32) -> PathSegment {
        PathSegment::Member { name: name.to_vec(), occurrence }
    }

    fn path(segments: Vec<PathSegment>, offset: u64, whole: bool) -> FindPath {
        FindPath { file: b"in.zip".to_vec(), segments, offset, whole }
    }

    #[test]
    fn texts() {
        let section = PathSegment::Section { name: b"__TEXT,metal_40".to_vec(), offset: 4 };
        let in_section = path(vec![member(b"a/b.dylib", 1), section], 0x1234, false);
        assert_eq!(in_section.to_string(), "in.zip!a/b.dylib!__TEXT,metal_40@0x1234");
        assert_eq!(in_section.section(), Some((&b"__TEXT,metal_40"[..], 4)));
        assert_eq!(path(vec![member(b"x", 3)], 0, true).to_string(), "in.zip!x#3");
        assert_eq!(path(Vec::new(), 0, true).to_string(), "in.zip");
        assert_eq!(path(Vec::new(), 0, true).selector(), "@0x0");
        assert_eq!(path(vec![member(b"", 1)], 8, false).selector(), "\\-@0x8");
    }

    #[test]
    fn no_name_can_be_taken_for_another_path() {
        let names: [&[u8]; 14] = [
            b"", b"a", b"a!b", b"a#2", b"a#b", b"a@0x10", b"a@b", b"\\-", b"a\\x21b", b"\xff", b"#", b"@0x",
            b"!", b"a#2!",
        ];
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            for occurrence in [1, 2] {
                for (offset, whole) in [(0, true), (0x10, false)] {
                    let path = path(vec![member(name, occurrence)], offset, whole);
                    let text = path.selector();
                    assert!(seen.insert(text.clone()), "{text} twice");
                    let selector = Selector::parse(&text).unwrap();
                    assert_eq!(selector.to_string(), text);
                    assert!(selector.selects(&path), "{text}");
                    assert_eq!(selector.segments.len(), 1, "{text}");
                }
            }
        }
    }

    #[test]
    fn selectors_tell_apart() {
        let wanted = path(vec![member(b"a", 1), member(b"b", 1)], 0x10, false);
        let selector = Selector::parse(&wanted.selector()).unwrap();
        for other in [
            path(vec![member(b"a", 1), member(b"b", 1)], 0x11, false),
            path(vec![member(b"a", 1), member(b"b", 2)], 0x10, false),
            path(vec![member(b"a", 1)], 0x10, false),
            path(Vec::new(), 0x10, false),
        ] {
            assert!(!selector.selects(&other), "{other}");
        }
        assert!(Selector::parse("a@0x0").unwrap().selects(&path(vec![member(b"a", 1)], 0, true)));
        assert!(Selector::parse("a@0x1ffffffffffffffff").is_err());
        assert!(Selector::parse("a@0xzz").is_err());
    }
}
