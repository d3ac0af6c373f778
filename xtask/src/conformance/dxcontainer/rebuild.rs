//! Rebuilds names, tables and offsets from the typed fields only, without using the file's own buffers, and compares
//! them with the output of the compiler that wrote the file.

use std::collections::BTreeMap;

use unshade::dxcontainer::DxFile;
use unshade::dxcontainer::bytes::Text;
use unshade::dxcontainer::part::PartData;
use unshade::dxcontainer::psv0::Psv0;
use unshade::dxcontainer::signature::{Form, NamePolicy, Signature};

/// Parts that are identical when rebuilt, and their total, by kind; the last is for containers with any such part.
#[derive(Clone, Default)]
pub(super) struct Rebuilt {
    counts: BTreeMap<&'static str, (u64, u64)>,
}

impl Rebuilt {
    /// Rebuilds all parts of a container. Returns the parts that differ.
    pub(super) fn container(&mut self, file: &DxFile) -> Vec<String> {
        let mut differ = Vec::new();
        let mut any = false;
        let has_state = file.find(b"PSV0").is_some();
        for part in &file.parts {
            let (what, same) = match &part.data {
                PartData::Psv0(psv0) if psv0.signatures.is_some() => ("PSV0", psv0_is_same(psv0)),
                PartData::Rdat(rdat) => {
                    let mut built = rdat.clone();
                    built.rebuild();
                    ("RDAT", built == *rdat)
                }
                PartData::Signature(signature) if signature.form == Form::Full && has_state => {
                    ("signatures", signature_is_same(signature))
                }
                _ => continue,
            };
            any = true;
            self.count(what, same);
            if !same {
                differ.push(part.name.to_string());
            }
        }
        if any {
            self.count("containers", differ.is_empty());
        }
        differ
    }

    fn count(&mut self, what: &'static str, same: bool) {
        let row = self.counts.entry(what).or_default();
        row.0 += u64::from(same);
        row.1 += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (what, (same, of)) in &other.counts {
            let row = self.counts.entry(what).or_default();
            row.0 += same;
            row.1 += of;
        }
    }

    /// Formats the counts on one line.
    pub(super) fn line(&self) -> String {
        let column = |what| {
            let (same, of) = self.counts.get(what).copied().unwrap_or_default();
            if of == 0 { "–".to_owned() } else { format!("{same} of {of}") }
        };
        let columns =
            ["containers", "PSV0", "signatures", "RDAT"].map(|what| format!("{:>14}", column(what)));
        columns.concat()
    }
}

fn psv0_is_same(psv0: &Psv0) -> bool {
    let mut built = psv0.clone();
    let Some(signatures) = &psv0.signatures else { return true };
    let text = |bytes: Option<&[u8]>| Text::from(bytes.unwrap_or_default());
    let names: Vec<Text> = signatures.all().map(|element| text(psv0.string(element.name_offset))).collect();
    let indices: Vec<Vec<u32>> =
        signatures.all().map(|element| psv0.indices(element).unwrap_or_default().to_vec()).collect();
    let entry = psv0.info.entry_name.map(|_| text(psv0.entry_name()));
    if let Some(signatures) = &mut built.signatures {
        built.info.entry_name = signatures.rebuild_tables(&names, &indices, entry.as_ref());
    }
    built == *psv0
}

/// Rebuilds a signature. The order of the names is the order of declaration, which the signature does not store, so it
/// is taken from the file.
fn signature_is_same(signature: &Signature) -> bool {
    let order = signature.name_order();
    NamePolicy::ALL.iter().any(|(policy, _)| {
        let mut built = signature.clone();
        built.lay_out_in_order(*policy, &order);
        built == *signature
    })
}
