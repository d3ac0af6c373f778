//! Renames functions in a reflection buffer.
//!
//! The buffer is parsed and rebuilt. This is impossible if it contains something that the schema does not describe;
//! then the new name is appended and the function's offset is redirected to it, so that nothing moves. The bytes of
//! the old name remain, because other tables may share them.

use super::tables::OwnedTable;
use super::{FieldValue, NodeList, Reflection};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// The alignment of strings.
const ALIGNMENT: usize = 4;

/// Renames a function in a reflection buffer that has no padding. `None` if it has no function of the old name, or
/// can't be parsed.
pub fn renamed(content: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    match OwnedTable::read(content) {
        Ok(mut root) => match root.rename_functions(old, &Cow::Borrowed(new)) {
            0 => None,
            _ => root.write().ok(),
        },
        Err(_) => append_name(content, old, new),
    }
}

fn append_name(content: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let reflection = Reflection::parse(content).ok().filter(|reflection| reflection.padding() == 0)?;
    let mut references = Vec::new();
    for list in NodeList::FUNCTIONS {
        for id in reflection.list(list).ok()?.iter() {
            let node = reflection.node(id).ok()?;
            let name = node.fields().filter_map(Result::ok).find(|field| field.name == "name");
            if let Some(field) = name
                && matches!(field.value, FieldValue::Text(text) if text == old)
            {
                references.push(usize::try_from(field.range.start).ok()?);
            }
        }
    }
    if references.is_empty() {
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
    for reference in references {
        let offset = u32::try_from(start.checked_sub(reference)?).ok()?;
        renamed.get_mut(reference..)?.get_mut(..ALIGNMENT)?.copy_from_slice(&offset.to_le_bytes());
    }
    Some(renamed)
}
