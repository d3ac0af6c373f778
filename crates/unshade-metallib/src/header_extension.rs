//! The header extension: tags between the function list and the public metadata.
//!
//! Each tag gives the 64-bit offset and size of a section, except for `UUID`, which contains its 16 bytes. There is no
//! size before the tags. Libraries of version 1.2.2 have no extension; the older `metallib` tool writes only `ENDT`
//! unless there are sources.

use crate::header::{Header, Section};
use crate::tag::{Tag, Tags};
use core::ops::Range;
use unshade_core::{FourCc, Reader, Result};

/// The codes of the sections that the extension can refer to, in file order, with descriptions.
pub const SECTION_NAMES: [(FourCc, &str); 8] = [
    (FourCc(*b"HSRC"), "sources"),
    (FourCc(*b"HSRD"), "sources"),
    (FourCc(*b"HSRP"), "source link"),
    (FourCc(*b"HDYN"), "dynamic header"),
    (FourCc(*b"VLST"), "exported variables"),
    (FourCc(*b"ILST"), "imported symbols"),
    (FourCc(*b"RLST"), "reflection list"),
    (FourCc(*b"SLST"), "script list"),
];

/// The header extension.
#[derive(Clone, Debug)]
pub struct HeaderExtension<'a> {
    /// The range in the file: from the end of the function list to the public metadata.
    pub range: Range<u64>,
    tags: Reader<'a>,
    /// The first section of each of [`SECTION_NAMES`]. Found once, because a hostile extension may have a million tags.
    sections: [Option<Section>; SECTION_NAMES.len()],
}

impl<'a> HeaderExtension<'a> {
    /// Finds the extension: the bytes between the function list and the public metadata.
    pub(crate) fn find(header: &Header, file: &Reader<'a>) -> Result<Option<Self>> {
        let start = header.function_list_range().end;
        let Some(size) = header.public_metadata.offset.checked_sub(start).filter(|size| *size > 0) else {
            return Ok(None);
        };
        let tags = file.part(start, size).map_err(|error| error.within("header extension"))?;
        let mut sections = [None; SECTION_NAMES.len()];
        for tag in Tags::new(tags).filter_map(Result::ok) {
            let place = SECTION_NAMES.iter().position(|(code, _)| *code == tag.code);
            if let Some(slot @ None) = place.and_then(|place| sections.get_mut(place)) {
                *slot = section(&tag);
            }
        }
        Ok(Some(Self { range: tags.range(), tags, sections }))
    }

    /// Returns the tags, in file order.
    pub fn tags(&self) -> Tags<'a> {
        Tags::new(self.tags)
    }

    /// Returns the section with this code.
    pub fn section(&self, code: &[u8; 4]) -> Option<Section> {
        self.sections().find(|(known, _)| known.0 == *code).map(|(_, section)| section)
    }

    /// Returns the sections, one per code: the first, if a code occurs more than once.
    pub fn sections(&self) -> impl Iterator<Item = (FourCc, Section)> {
        SECTION_NAMES.iter().zip(self.sections).filter_map(|((code, _), section)| Some((*code, section?)))
    }

    /// Returns the UUID, if there is one. No known tool checks it.
    pub fn uuid(&self) -> Option<&'a [u8; 16]> {
        let tag = self.tags().filter_map(Result::ok).find(|tag| tag.code.0 == *b"UUID")?;
        tag.exactly(|r| r.array_ref()).ok()
    }
}

/// Returns the section that a tag of the extension refers to; `None` for tags of other kinds.
pub fn section(tag: &Tag<'_>) -> Option<Section> {
    SECTION_NAMES.iter().any(|(code, _)| *code == tag.code).then(|| tag.exactly(Section::read).ok()).flatten()
}

/// Returns the description of a section's code.
pub fn section_name(code: FourCc) -> Option<&'static str> {
    SECTION_NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}
