//! Reads the state objects of a library: `dx.subobjects`.
//!
//! A subobject is a tuple of name, kind, and values that depend on the kind: numbers, texts, a tuple of texts, or a
//! tuple with the bytes of a root signature. DXC moves them to RDAT, so that a program in a container has none.
//!
//! Source: DXC's `DxilMetadataHelper.cpp`.

use super::Faults;
use super::nodes::Nodes;
use crate::bytes::Text;
use alloc::format;
use alloc::vec::Vec;
use unshade_llvm::MetadataId;

/// Kinds of subobjects with a root signature: global and local. Its text follows its bytes.
const ROOT_SIGNATURES: [u32; 2] = [1, 2];

/// A subobject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subobject {
    /// Its name.
    pub name: Text,
    /// Its kind, numbered as in RDAT.
    pub kind: u32,
    /// Its values.
    pub values: Vec<SubobjectValue>,
}

/// A value of a subobject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubobjectValue {
    /// A number.
    Number(u32),
    /// A text.
    Text(Text),
    /// A list of texts.
    Texts(Vec<Text>),
    /// A root signature.
    Bytes(Vec<u8>),
}

/// Reads all subobjects.
pub(super) fn read_all(nodes: &Nodes<'_, '_>, faults: &mut Faults) -> Vec<Subobject> {
    let mut all = Vec::new();
    for (index, &id) in nodes.module().named(b"dx.subobjects").iter().enumerate() {
        if nodes.is_exhausted() {
            break;
        }
        all.extend(faults.take(read(nodes, id), || format!("subobject {index}")));
    }
    all
}

fn read(nodes: &Nodes<'_, '_>, id: MetadataId) -> Option<Subobject> {
    let operands = nodes.operands(id)?;
    let (&[name, kind], values) = operands.split_first_chunk()?;
    let kind = nodes.number(kind)?;
    let values = if ROOT_SIGNATURES.contains(&kind) { values.get(..1)? } else { values };
    let values = values.iter().map(|value| read_value(nodes, *value)).collect::<Option<_>>()?;
    Some(Subobject { name: nodes.text(name)?, kind, values })
}

fn read_value(nodes: &Nodes<'_, '_>, value: Option<MetadataId>) -> Option<SubobjectValue> {
    if let Some(number) = nodes.number(value) {
        return Some(SubobjectValue::Number(number));
    }
    if let Some(text) = nodes.text(value) {
        return Some(SubobjectValue::Text(text));
    }
    if let Some(bytes) = nodes.bytes(value) {
        return Some(SubobjectValue::Bytes(bytes));
    }
    let texts = nodes.operands(value?)?.into_iter().map(|text| nodes.text(text));
    Some(SubobjectValue::Texts(texts.collect::<Option<_>>()?))
}
