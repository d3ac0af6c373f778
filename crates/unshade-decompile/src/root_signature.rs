//! Root signatures, as the clauses of HLSL's text.
//!
//! Version 1.0 has no flags: descriptors and what they refer to may change at any time. Text without flags says the
//! opposite in version 1.1, which compilers assume, so these flags are written.
//!
//! Source: Microsoft's "Root Signature Version 1.1"; `unshade_dxcontainer::root_signature_text` has the syntax.

use unshade_core::{Error, ErrorKind, FourCc, Reader, Result};
use unshade_dxcontainer::root_signature::{ParameterType, Payload, RangeType, RootSignature};
use unshade_dxcontainer::{Container, PartData, root_signature_text};

/// The name of the part.
const PART: [u8; 4] = *b"RTS0";

/// `DESCRIPTORS_VOLATILE` of a range.
const DESCRIPTORS_VOLATILE: u32 = 1;

/// `DATA_VOLATILE` of a range or descriptor.
const DATA_VOLATILE: u32 = 2;

/// `LOCAL_ROOT_SIGNATURE`.
const LOCAL: u32 = 0x80;

/// Returns the clauses of the root signature of a container, if it has one. What has no text is added to `missing`.
pub(crate) fn of_container(container: &Container<'_>, missing: &mut Vec<String>) -> Option<Vec<String>> {
    let part = container.find(&PART)?;
    reported(clauses(part.data, false), missing)
}

/// Returns the clauses of a root signature of a library. `is_local` says that the text is that of a local one.
pub(crate) fn of_bytes(bytes: &[u8], is_local: bool, missing: &mut Vec<String>) -> Vec<String> {
    reported(clauses(Reader::new(bytes), is_local), missing).unwrap_or_default()
}

fn reported(found: Result<Vec<String>>, missing: &mut Vec<String>) -> Option<Vec<String>> {
    found.map_err(|error| missing.push(format!("a root signature: {error}"))).ok()
}

fn clauses(data: Reader<'_>, is_local: bool) -> Result<Vec<String>> {
    let PartData::RootSignature(mut root) = PartData::read(FourCc(PART), data)? else {
        return Ok(Vec::new());
    };
    let is_known = |payload: &Payload| !matches!(payload, Payload::Unknown);
    if !root.parameters.iter().all(|parameter| is_known(&parameter.payload)) {
        return Err(Error::without_offset(ErrorKind::Unsupported, "a parameter of an unknown type"));
    }
    if !root.has_flags() {
        set_volatile(&mut root);
    }
    if is_local {
        root.flags &= !LOCAL;
    }
    Ok(root_signature_text::clauses(&root))
}

/// Gives everything the flags that mean what version 1.0 means.
fn set_volatile(root: &mut RootSignature) {
    for parameter in &mut root.parameters {
        match &mut parameter.payload {
            Payload::Descriptor(descriptor) if parameter.header.parameter_type != ParameterType::UAV => {
                descriptor.flags = DATA_VOLATILE;
            }
            Payload::Table { ranges, .. } => {
                for range in ranges {
                    // Data of unordered access views is volatile by default.
                    let is_data = matches!(range.range_type, RangeType::SRV | RangeType::CBV);
                    range.flags = DESCRIPTORS_VOLATILE | if is_data { DATA_VOLATILE } else { 0 };
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a root signature with one table of one range.
    fn table(version: u32) -> Vec<u8> {
        let header = [version, 1, 24, 0, 0, LOCAL];
        let parameter = [0, 0, 36, 1, 44];
        // Three textures from t1 on, with their flags in version 1.1, after the ranges before.
        let mut range = vec![0, 3, 1, 0];
        range.extend((version > 1).then_some(0));
        range.push(u32::MAX);
        let words = header.iter().chain(&parameter).chain(&range);
        words.flat_map(|word: &u32| word.to_le_bytes()).collect()
    }

    #[test]
    fn versions_differ_in_flags() {
        let mut missing = Vec::new();
        let text = |version, is_local, missing: &mut Vec<String>| {
            of_bytes(&table(version), is_local, missing).join(", ")
        };
        assert_eq!(text(2, true, &mut missing), "DescriptorTable(SRV(t1, numDescriptors = 3))");
        assert_eq!(
            text(1, false, &mut missing),
            "RootFlags(LOCAL_ROOT_SIGNATURE), DescriptorTable(SRV(t1, numDescriptors = 3, \
             flags = DESCRIPTORS_VOLATILE | DATA_VOLATILE))"
        );
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn what_has_no_text_is_named() {
        let mut missing = Vec::new();
        let mut bytes = table(2);
        bytes[24] = 9;
        assert!(of_bytes(&bytes, false, &mut missing).is_empty());
        assert_eq!(missing.len(), 1, "{missing:?}");
    }
}
