//! All edits of a DXContainer, and the invariants after each: the digest is correct, parsing returns what was written,
//! and the parts that the edit does not affect keep their bytes and their order.

use unshade_dxcontainer::edit::{DEBUG_PARTS, PRIVATE_PARTS, REFLECTION_PARTS, ROOT_SIGNATURE_PARTS};
use unshade_dxcontainer::file::{OwnedPart, sign};
use unshade_dxcontainer::{Container, DxFile};

/// The name of a part that no compiler writes.
const NEW: [u8; 4] = *b"NEW0";

/// Private data of an odd size, as compilers write it.
const PRIVATE: &[u8] = b"odd";

/// An edit.
pub struct Edit {
    /// The name.
    pub name: &'static str,
    /// Edits the file. Returns the affected parts; `None` if there was nothing to edit.
    edit: fn(&mut DxFile) -> Option<Vec<[u8; 4]>>,
    /// Whether parts may change their order.
    moves: bool,
}

/// All edits.
pub const EDITS: &[Edit] = &[
    Edit { name: "add a part", edit: add, moves: false },
    Edit { name: "replace a part", edit: replace, moves: false },
    Edit { name: "remove a part", edit: remove, moves: false },
    Edit { name: "reorder the parts", edit: reorder, moves: true },
    Edit { name: "strip debug information", edit: |file| strip(file, DEBUG_PARTS), moves: false },
    Edit { name: "strip reflection", edit: |file| strip(file, REFLECTION_PARTS), moves: false },
    Edit { name: "strip the root signature", edit: |file| strip(file, ROOT_SIGNATURE_PARTS), moves: false },
    Edit { name: "set private data", edit: set_private, moves: false },
    Edit { name: "strip private data", edit: strip_private, moves: false },
    Edit { name: "sign", edit: |_| Some(Vec::new()), moves: false },
];

fn add(file: &mut DxFile) -> Option<Vec<[u8; 4]>> {
    file.add(OwnedPart::from_bytes(NEW, &[1, 2, 3, 4]));
    Some(vec![NEW])
}

/// Replaces the last part with one of a different size.
fn replace(file: &mut DxFile) -> Option<Vec<[u8; 4]>> {
    let name = file.parts.last()?.name.0;
    if file.parts.iter().filter(|part| part.name.0 == name).count() > 1 {
        return None;
    }
    file.set(name, &[0x5a; 36]);
    Some(vec![name])
}

fn remove(file: &mut DxFile) -> Option<Vec<[u8; 4]>> {
    let name = file.parts.first()?.name.0;
    file.remove(&[name]);
    Some(vec![name])
}

fn reorder(file: &mut DxFile) -> Option<Vec<[u8; 4]>> {
    let name = file.parts.last()?.name.0;
    file.reorder(&[name]).ok()?;
    Some(Vec::new())
}

fn strip(file: &mut DxFile, names: &[[u8; 4]]) -> Option<Vec<[u8; 4]>> {
    (file.remove(names) > 0).then(|| names.to_vec())
}

fn set_private(file: &mut DxFile) -> Option<Vec<[u8; 4]>> {
    file.set_private(Some(PRIVATE.to_vec()));
    Some(PRIVATE_PARTS.to_vec())
}

/// Strips private data after adding it, because few files have any.
fn strip_private(file: &mut DxFile) -> Option<Vec<[u8; 4]>> {
    file.set_private(Some(PRIVATE.to_vec()));
    strip(file, PRIVATE_PARTS)
}

impl Edit {
    /// Edits a container and signs it. None if there is nothing of the kind in it to edit.
    ///
    /// # Panics
    /// If the container can't be read, or not be written after the edit.
    pub fn apply(&self, data: &[u8]) -> Option<Vec<u8>> {
        let mut file = DxFile::parse(data).expect("a sound container");
        (self.edit)(&mut file)?;
        Some(file.write_signed().expect("an edited container is written"))
    }

    /// Edits a container. None if there is nothing of the kind in it to edit, otherwise what does not hold.
    ///
    /// # Panics
    /// If the container is malformed, or can't be written after the edit.
    pub fn check(&self, data: &[u8]) -> Option<Vec<String>> {
        let mut file = DxFile::parse(data).expect("a valid container");
        let touched = (self.edit)(&mut file)?;
        let written = file.write_signed().expect("an edited container can be written");
        let mut faults = Vec::new();
        let container = match Container::parse(&written) {
            Ok(container) => container,
            Err(error) => return Some(vec![format!("can't be parsed: {error}")]),
        };
        if container.header().digest != container.computed_digest() {
            faults.push("digest is wrong".into());
        }
        let mut signed = written.clone();
        if sign(&mut signed).is_err() || signed != written {
            faults.push("signing again changes it".into());
        }
        let expected: Vec<_> =
            file.parts.iter().map(|part| (part.name.0, part.data.write().unwrap_or_default())).collect();
        if other_parts(&written, &[]) != expected {
            faults.push("parsing returns something else".into());
        }
        let (mut before, mut after) = (other_parts(data, &touched), other_parts(&written, &touched));
        if self.moves {
            before.sort();
            after.sort();
        }
        if before != after {
            faults.push("other parts were changed".into());
        }
        Some(faults)
    }
}

/// Returns the parts whose names are not in `touched`.
fn other_parts(data: &[u8], touched: &[[u8; 4]]) -> Vec<([u8; 4], Vec<u8>)> {
    let container = Container::parse(data).expect("a valid container");
    let parts = container.found_parts().filter(|part| !touched.contains(&part.name.0));
    parts.map(|part| (part.name.0, part.data.data().to_vec())).collect()
}
