//! The LLVM document for older versions of LLVM. Their `yaml2obj` rejects unknown keys, so these are omitted; the
//! unshade document has their contents instead.

use crate::psv0::{ResourceKind, ResourceType};
use crate::yaml::{Kind, Node};
use alloc::vec::Vec;

/// The version of LLVM that is to read the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Llvm {
    /// LLVM 19.
    V19,
    /// LLVM 22.
    V22,
    /// LLVM 24, which knows all keys.
    #[default]
    V24,
}

/// Part keys that LLVM 24 introduced.
const NEW_PART_KEYS: [&str; 4] = ["DebugName", "CompilerVersion", "SourceInfo", "PrivateData"];

/// PSVInfo keys that LLVM 24 introduced.
const NEW_PSV_KEYS: [&str; 2] = ["StringTable", "RuntimeInfoSize"];

/// Features without a key in LLVM 19.
const NEW_FEATURES: [&str; 2] = ["SampleCmpWithGradientOrBias", "ExtendedCommandInfo"];

/// Removes from a part what a version of LLVM does not know.
pub(super) fn restrict(part: &mut Node<'_>, llvm: Llvm) {
    if llvm == Llvm::V24 {
        return;
    }
    remove(part, &NEW_PART_KEYS);
    if let Some(psv) = value(part, "PSVInfo") {
        remove(psv, &NEW_PSV_KEYS);
    }
    if llvm == Llvm::V19 {
        remove(part, &["RootSignature"]);
        if let Some(flags) = value(part, "Flags") {
            remove(flags, &NEW_FEATURES);
        }
        if let Some(Kind::List { items, .. }) =
            value(part, "PSVInfo").and_then(|psv| value(psv, "Resources")).map(|list| &mut list.kind)
        {
            items.iter_mut().for_each(number_names);
        }
    }
}

/// Replaces type, shape and flags of a resource by numbers, which LLVM 19 expects.
fn number_names(resource: &mut Node<'_>) {
    let number = |node: &mut Node<'_>, number: Option<u32>| {
        if let Some(number) = number {
            *node = Node::number(number.into());
        }
    };
    if let Some(flags) = value(resource, "Flags") {
        let atomic = flags.get("UsedByAtomic64").and_then(Node::text) == Some("true");
        *flags = Node::number(atomic.into());
    }
    if let Some(node) = value(resource, "Type") {
        let named = ResourceType::from_name(node.text().unwrap_or_default()).map(|named| named.0);
        number(node, named);
    }
    if let Some(node) = value(resource, "Kind") {
        let named = ResourceKind::from_name(node.text().unwrap_or_default()).map(|named| named.0);
        number(node, named);
    }
}

fn value<'n, 'a>(node: &'n mut Node<'a>, key: &str) -> Option<&'n mut Node<'a>> {
    match &mut node.kind {
        Kind::Map(pairs) => pairs.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value),
        _ => None,
    }
}

fn remove(node: &mut Node<'_>, keys: &[&str]) {
    if let Kind::Map(pairs) = &mut node.kind {
        let kept: Vec<_> =
            core::mem::take(pairs).into_iter().filter(|(name, _)| !keys.contains(&name.as_ref())).collect();
        *pairs = kept;
    }
}
