//! Editing of containers: adding, replacing, removing and reordering parts.
//!
//! These methods do not sign; [`DxFile::write_signed`] does. Every change discards a non-standard layout.

use crate::bytes::Bytes;
use crate::digest::md5;
use crate::file::{DxFile, OwnedPart};
use crate::part::PartData;
use crate::simple_parts::ShaderHash;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, FourCc, Result};

/// Parts that only debuggers read.
pub const DEBUG_PARTS: &[[u8; 4]] = &[*b"ILDB", *b"ILDN", *b"SRCI", *b"PDBI", *b"SDBG", *b"SPDB"];

/// Parts that only reflection reads.
pub const REFLECTION_PARTS: &[[u8; 4]] = &[*b"STAT", *b"RDEF"];

/// The part with a root signature.
pub const ROOT_SIGNATURE_PARTS: &[[u8; 4]] = &[*b"RTS0"];

/// The part with private data.
pub const PRIVATE_PARTS: &[[u8; 4]] = &[PRIVATE];

const PRIVATE: [u8; 4] = *b"PRIV";

impl DxFile {
    /// Appends a part, but before private data, which DXC expects last.
    pub fn add(&mut self, part: OwnedPart) {
        self.layout = None;
        let last_is_private = self.parts.last().is_some_and(|last| last.name.0 == PRIVATE);
        let index = self.parts.len().saturating_sub(usize::from(last_is_private));
        self.parts.insert(index, part);
    }

    /// Replaces the first part of this name, or appends it.
    pub fn set(&mut self, name: [u8; 4], bytes: &[u8]) {
        let part = OwnedPart::from_bytes(name, bytes);
        match self.parts.iter_mut().find(|part| part.name.0 == name) {
            Some(existing) => {
                *existing = part;
                self.layout = None;
            }
            None => self.add(part),
        }
    }

    /// Removes all parts with these names; returns their number.
    pub fn remove(&mut self, names: &[[u8; 4]]) -> usize {
        let before = self.parts.len();
        self.parts.retain(|part| !names.contains(&part.name.0));
        let removed = before.saturating_sub(self.parts.len());
        if removed > 0 {
            self.layout = None;
        }
        removed
    }

    /// Moves the parts with these names to the front, in this order; the others follow in their old order.
    ///
    /// # Errors
    /// Fails if there is no part with one of the names.
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

    /// Computes the hash of the program (`HASH`). A hash that includes the source can't be computed, and stays. Returns
    /// whether there is one that is left as it was.
    pub fn renew_hash(&mut self) -> bool {
        let program = self.find(b"DXIL").and_then(|part| match &part.data {
            PartData::Program(program) => Some(md5(&program.bitcode.0)),
            _ => None,
        });
        let mut is_left = false;
        for part in &mut self.parts {
            if let (PartData::Hash(hash), Some(computed)) = (&mut part.data, program) {
                if hash.flags & ShaderHash::INCLUDES_SOURCE == 0 {
                    hash.digest = computed.0;
                } else {
                    is_left = true;
                }
            }
        }
        is_left
    }

    /// Sets the private data; `None` removes the part.
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
