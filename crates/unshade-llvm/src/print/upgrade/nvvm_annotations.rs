//! Turns the annotations of NVIDIA's kernels into attributes and a calling convention.
//!
//! Since LLVM 22 most pairs of a key and a value in `!nvvm.annotations`, whose nodes are `!{ptr @f, !"key", i32 1, …}`,
//! are properties of the function:
//!
//! | key | property |
//! |---|---|
//! | `kernel` | the calling convention `ptx_kernel`, unless the value is zero |
//! | `align` | `alignstack` of the result or a parameter: alignment, and the index times 65536 |
//! | `grid_constant` | `"nvvm.grid_constant"` on parameters, whose indices, counted from 1, are a node |
//! | `maxntidx` to `z`, `reqntidx`, `cluster_dim_x` | `"nvvm.maxntid"="x,y,z"` and so on; what is not given is 1 |
//! | `maxnreg`, `minctasm`, `maxclusterrank`, `cluster_max_blocks` | attributes with a number |
//!
//! Other pairs stay, and nodes without a pair are dropped.
//!
//! Knowledge: the output of `llvm-dis` 22 for modules of earlier versions; the NVPTX guide on these attributes.

use super::super::Dialect;
use crate::attributes::{Attribute, index, kind};
use crate::ids::{MetadataId, narrow};
use crate::metadata::Metadata;
use crate::module::Module;
use crate::value::ValueKind;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

const ANNOTATIONS: &[u8] = b"nvvm.annotations";
const PTX_KERNEL: u32 = 71;
const GRID_CONSTANT: &[u8] = b"nvvm.grid_constant";

/// Keys whose number becomes an attribute.
const NUMBERS: [(&[u8], &[u8]); 4] = [
    (b"cluster_max_blocks", b"nvvm.maxclusterrank"),
    (b"maxclusterrank", b"nvvm.maxclusterrank"),
    (b"maxnreg", b"nvvm.maxnreg"),
    (b"minctasm", b"nvvm.minctasm"),
];

/// Keys that end in a dimension, `x` to `z`, whose numbers become one attribute.
const DIMENSIONS: [(&[u8], &[u8]); 3] =
    [(b"cluster_dim_", b"nvvm.cluster_dim"), (b"maxntid", b"nvvm.maxntid"), (b"reqntid", b"nvvm.reqntid")];

pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    dialect == Dialect::Llvm22 && !module.named(ANNOTATIONS).is_empty()
}

pub(super) fn upgrade(module: &mut Module<'_>) {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for id in module.named(ANNOTATIONS).to_vec() {
        if seen.insert(id) {
            kept.extend(upgrade_node(module, id));
        }
    }
    if let Some(named) = module.named_metadata.iter_mut().find(|named| named.name == ANNOTATIONS) {
        named.nodes = kept;
    }
}

/// Upgrades a node, and returns the one that remains of it.
fn upgrade_node(module: &mut Module<'_>, id: MetadataId) -> Option<MetadataId> {
    let node = module.node(id)?;
    let references = module.metadata.references(node).to_vec();
    let (&symbol, pairs) = references.split_first()?;
    let Metadata::Value { value, .. } = entry(module, symbol)? else { return None };
    let function = match module.value(None, value)?.kind {
        ValueKind::Function(at) => Some(at as usize),
        ValueKind::Global(_) | ValueKind::Alias(_) => None,
        _ => return None,
    };
    let mut kept = alloc::vec![symbol];
    for pair in pairs.chunks(2) {
        let upgraded = match (function, pair) {
            (Some(function), &[key, value]) => upgrade_pair(module, function, key, value),
            _ => None,
        };
        if upgraded.is_none() {
            kept.extend_from_slice(pair);
        }
    }
    match kept.len() {
        1 => None,
        count if count == references.len() => Some(id),
        _ => Some(MetadataId(narrow(module.metadata.add_tuple(&kept).saturating_sub(1)))),
    }
}

/// Returns the entry that a reference refers to.
fn entry(module: &Module<'_>, reference: u64) -> Option<Metadata> {
    module.metadata.get(MetadataId(narrow(reference.checked_sub(1)?)))
}

/// Returns the number that a reference refers to.
fn number(module: &Module<'_>, reference: u64) -> Option<u64> {
    match entry(module, reference)? {
        Metadata::Value { value, .. } => module.integer(None, value),
        _ => None,
    }
}

/// Gives a function the property that a pair stands for; `None` if it stays a pair.
fn upgrade_pair(module: &mut Module<'_>, function: usize, key: u64, value: u64) -> Option<()> {
    let Metadata::String(key) = entry(module, key)? else { return None };
    let key = module.metadata.string(key).to_vec();
    match key.as_slice() {
        b"kernel" => {
            if number(module, value)? != 0 {
                module.functions.get_mut(function)?.calling_convention = PTX_KERNEL;
            }
            return Some(());
        }
        b"align" => {
            let value = number(module, value)?;
            let alignment = Attribute::Integer(kind::STACK_ALIGNMENT, value & 0xFFFF);
            let of = u32::try_from(value >> 16).ok()?;
            return set(module, function, of, alignment);
        }
        b"grid_constant" => return set_grid_constants(module, function, value),
        _ => {}
    }
    let value = number(module, value)?;
    if let Some((_, name)) = NUMBERS.iter().find(|(known, _)| *known == key) {
        let attribute = module.attributes.text_attribute(name, value.to_string().as_bytes());
        return set(module, function, index::FUNCTION, attribute);
    }
    let (&dimension, prefix) = key.split_last()?;
    let at = usize::from(dimension.checked_sub(b'x').filter(|at| *at < 3)?);
    let (_, name) = DIMENSIONS.iter().find(|(known, _)| *known == prefix)?;
    let text = with_dimension(&text_of(module, function, name), at, value);
    let attribute = module.attributes.text_attribute(name, text.as_bytes());
    set(module, function, index::FUNCTION, attribute)
}

fn set_grid_constants(module: &mut Module<'_>, function: usize, list: u64) -> Option<()> {
    let node = module.node(MetadataId(narrow(list.checked_sub(1)?)))?;
    let indices = module.metadata.references(node).to_vec();
    for reference in indices {
        let Some(parameter) = number(module, reference).and_then(|parameter| parameter.checked_sub(1)) else {
            continue;
        };
        let attribute = module.attributes.text_attribute(GRID_CONSTANT, b"");
        set(module, function, index::parameter(parameter as usize), attribute)?;
    }
    Some(())
}

/// Sets an attribute of a function, which may have another value.
fn set(module: &mut Module<'_>, function: usize, of: u32, attribute: Attribute) -> Option<()> {
    let list = module.functions.get(function)?.attributes;
    let mut set =
        module.attributes.of(list, of).map_or_else(Vec::new, |set| module.attributes.set(set).to_vec());
    set.retain(|other| !module.attributes.is_same_name(other, &attribute));
    set.push(attribute);
    let list = module.attributes.with_changed_set(list, of, |old| *old = set);
    module.functions.get_mut(function)?.attributes = list;
    Some(())
}

/// Returns the text of a function's attribute; empty if it has none.
fn text_of(module: &Module<'_>, function: usize, name: &[u8]) -> String {
    let attributes = &module.attributes;
    let list = module.functions.get(function).map(|function| function.attributes);
    let set = list.and_then(|list| attributes.of(list, index::FUNCTION));
    let found = set.and_then(|set| attributes.set(set).iter().find(|one| attributes.name_of(one) == name));
    match found {
        Some(Attribute::Text { value, .. }) => String::from_utf8_lossy(attributes.text(*value)).into_owned(),
        _ => String::new(),
    }
}

/// Returns the numbers `x,y,z` of all dimensions up to the last one, with one of them replaced.
fn with_dimension(old: &str, at: usize, number: u64) -> String {
    let mut numbers = ["1", "1", "1"];
    let parts = old.split(',').filter(|part| !part.is_empty());
    let mut count = 0;
    for (slot, part) in numbers.iter_mut().zip(parts) {
        *slot = part.trim();
        count += 1;
    }
    let text = format!("{number}");
    if let Some(slot) = numbers.get_mut(at) {
        *slot = &text;
    }
    numbers.get(..count.max(at + 1)).unwrap_or_default().join(",")
}

#[cfg(test)]
mod tests {
    use super::with_dimension;

    #[test]
    fn dimensions_that_are_not_given_are_one() {
        assert_eq!(with_dimension("", 0, 128), "128");
        assert_eq!(with_dimension("128", 2, 4), "128,1,4");
        assert_eq!(with_dimension("9, 2", 1, 3), "9,3");
    }
}
