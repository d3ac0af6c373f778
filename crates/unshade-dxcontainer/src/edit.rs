//! Changing a container: parts are added, replaced, taken out and put into another order.
//!
//! No method signs; [`DxFile::write_signed`] does. A layout that was kept as read is given up by every change.

use crate::bytes::Bytes;
use crate::file::{DxFile, OwnedPart};
use crate::part::PartData;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, FourCc, Result};

/// Parts that only a debugger reads.
pub const DEBUG_PARTS: &[[u8; 4]] = &[*b"ILDB", *b"ILDN", *b"SRCI", *b"PDBI", *b"SDBG", *b"SPDB"];

/// Parts that only reflection reads.
pub const REFLECTION_PARTS: &[[u8; 4]] = &[*b"STAT", *b"RDEF"];

/// The part that holds a root signature.
pub const ROOT_SIGNATURE_PARTS: &[[u8; 4]] = &[*b"RTS0"];

/// The part for anything; DXC wants it last.
pub const PRIVATE_PARTS: &[[u8; 4]] = &[PRIVATE];

const PRIVATE: [u8; 4] = *b"PRIV";

impl DxFile {
    /// Adds a part at the end, but before private data, which DXC wants last.
    pub fn add(&mut self, part: OwnedPart) {
        self.layout = None;
        let last_is_private = self.parts.last().is_some_and(|last| last.name.0 == PRIVATE);
        let place = self.parts.len().saturating_sub(usize::from(last_is_private));
        self.parts.insert(place, part);
    }

    /// Replaces the first part of this name, or adds it.
    pub fn set(&mut self, name: [u8; 4], bytes: &[u8]) {
        let part = OwnedPart::from_bytes(name, bytes);
        match self.parts.iter_mut().find(|part| part.name.0 == name) {
            Some(place) => {
                *place = part;
                self.layout = None;
            }
            None => self.add(part),
        }
    }

    /// Takes all parts of these names out; returns how many there were.
    pub fn remove(&mut self, names: &[[u8; 4]]) -> usize {
        let before = self.parts.len();
        self.parts.retain(|part| !names.contains(&part.name.0));
        let removed = before.saturating_sub(self.parts.len());
        if removed > 0 {
            self.layout = None;
        }
        removed
    }

    /// Puts parts of these names first, in this order; the others follow as they were.
    ///
    /// # Errors
    /// If there is no part of one of the names.
    pub fn reorder(&mut self, names: &[[u8; 4]]) -> Result<()> {
        if let Some(missing) = names.iter().find(|name| self.find(name).is_none()) {
            return Err(Error::without_offset(ErrorKind::BadValue, format!("no part {}", FourCc(*missing))));
        }
        let rank =
            |part: &OwnedPart| names.iter().position(|name| *name == part.name.0).unwrap_or(names.len());
        self.parts.sort_by_key(rank);
        self.layout = None;
        Ok(())
    }

    /// Sets the private data; none takes the part out.
    pub fn set_private(&mut self, bytes: Option<Vec<u8>>) {
        self.remove(&[PRIVATE]);
        if let Some(bytes) = bytes {
            self.add(OwnedPart::new(PRIVATE, PartData::Raw(Bytes(bytes))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn names(file: &DxFile) -> Vec<&[u8; 4]> {
        file.parts.iter().map(|part| &part.name.0).collect()
    }

    #[test]
    fn private_data_stays_last() {
        let mut file = DxFile::default();
        file.set_private(Some(vec![1, 2, 3]));
        file.set(*b"SFI0", &[0; 8]);
        file.set(*b"ABCD", &[1]);
        assert_eq!(names(&file), [b"SFI0", b"ABCD", b"PRIV"]);
        file.reorder(&[*b"ABCD"]).unwrap();
        assert_eq!(names(&file), [b"ABCD", b"SFI0", b"PRIV"]);
        assert!(file.reorder(&[*b"NONE"]).is_err());
        assert_eq!(file.remove(&[*b"PRIV", *b"NONE"]), 1);
        let bytes = file.write_signed().unwrap();
        assert_eq!(DxFile::parse(&bytes).unwrap(), file);
    }
}
