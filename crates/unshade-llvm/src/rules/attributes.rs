//! The order of the attributes of a set.

use crate::attribute_names::rank;
use crate::attributes::{Attribute, Attributes};
use crate::ids::AttributeSetId;
use crate::write::Version;
use alloc::vec::Vec;

/// Returns the set of attributes in LLVM's order; of several of one kind the last counts.
pub(crate) fn attribute_set(
    table: &mut Attributes,
    version: Version,
    attributes: Vec<Attribute>,
) -> AttributeSetId {
    let order = version.attribute_order();
    let mut set: Vec<Attribute> = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        match set.iter().position(|other| table.is_same_name(other, &attribute)) {
            Some(at) => set.splice(at..=at, [attribute]).for_each(drop),
            None => set.push(attribute),
        }
    }
    set.sort_by(|one, two| {
        let key = |attribute: &Attribute| match *attribute {
            Attribute::Text { .. } => (1, 0),
            _ => (0, attribute.kind().map_or(u8::MAX, |kind| rank(kind, order))),
        };
        key(one).cmp(&key(two)).then_with(|| table.name_of(one).cmp(table.name_of(two)))
    });
    table.intern(&set)
}
