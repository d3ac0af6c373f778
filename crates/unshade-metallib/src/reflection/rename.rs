//! Renaming functions in a reflection buffer.
//!
//! The buffer is taken apart and written anew. One that holds what the schema has no place for can't be: there the new
//! name is put behind everything else and the function's offset is turned to it, so that nothing moves. The bytes of the
//! old name stay then, with nothing pointing at them: other tables may share them.

use super::tables::OwnedTable;
use super::{FieldValue, NodeList, Reflection};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Strings and their lengths stand at multiples of this.
const ALIGNMENT: usize = 4;

/// A reflection buffer, without the zeros before it, in which a function has another name; `None` if it has no function
/// of the old one, or can't be read.
pub fn renamed(content: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    match OwnedTable::read(content) {
        Ok(mut root) => match root.rename_functions(old, &Cow::Borrowed(new)) {
            0 => None,
            _ => root.write().ok(),
        },
        Err(_) => patched(content, old, new),
    }
}

fn patched(content: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let reflection = Reflection::parse(content, 0).ok().filter(|reflection| reflection.padding() == 0)?;
    let mut places = Vec::new();
    for list in NodeList::FUNCTIONS {
        for id in reflection.list(list).ok()?.iter() {
            let node = reflection.node(id).ok()?;
            let name = node.fields().filter_map(Result::ok).find(|field| field.name == "name");
            if let Some(field) = name
                && matches!(field.value, FieldValue::Text(text) if text == old)
            {
                places.push(usize::try_from(field.range.start).ok()?);
            }
        }
    }
    if places.is_empty() {
        return None;
    }
    let mut renamed = content.to_vec();
    let align = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    align(&mut renamed);
    let start = renamed.len();
    renamed.extend_from_slice(&u32::try_from(new.len()).ok()?.to_le_bytes());
    renamed.extend_from_slice(new);
    renamed.push(0);
    align(&mut renamed);
    for place in places {
        let offset = u32::try_from(start.checked_sub(place)?).ok()?;
        renamed.get_mut(place..)?.get_mut(..ALIGNMENT)?.copy_from_slice(&offset.to_le_bytes());
    }
    Some(renamed)
}
