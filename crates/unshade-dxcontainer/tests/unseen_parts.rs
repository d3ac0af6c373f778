//! Parts and forms that no real file at hand has, made here from their public description: docs/formats/dxcontainer.md,
//! "Seen only in our own fixtures".

use unshade_core::{FourCc, Reader};
use unshade_dxcontainer::bytes::Bytes;
use unshade_dxcontainer::document::{from_yaml, to_yaml};
use unshade_dxcontainer::file::{DxFile, OwnedPart};
use unshade_dxcontainer::part::{PartData, describe};
use unshade_dxcontainer::psv0::{Psv0, SIZES};
use unshade_dxcontainer::rdat::RdatKind;
use unshade_dxcontainer::{Container, Digest};

/// A container of one part, through bytes and through YAML.
fn comes_back(name: [u8; 4], bytes: &[u8]) -> OwnedPart {
    let mut file = DxFile::default();
    file.parts.push(OwnedPart::from_bytes(name, bytes));
    let written = file.write_signed().expect("a container");
    let read = DxFile::parse(&written).expect("what was written");
    let yaml = to_yaml(&read).expect("a document");
    assert_eq!(from_yaml(&yaml).expect("our own document").write().expect("a container"), written, "{yaml}");
    let container = Container::parse(&written).expect("a container");
    assert_eq!(container.find(&name).expect("the part").data.data(), bytes);
    read.parts.into_iter().next().expect("the part")
}

/// RDAT with one source in the table of a program database.
fn program_database() -> Vec<u8> {
    let strings = b"\0a.hlsl\0float4 main() : A;\0\0";
    assert_eq!(strings.len() % 4, 0);
    let mut tables = Vec::new();
    let mut offsets = Vec::new();
    let mut table = |kind: RdatKind, content: &[u8]| {
        offsets.push(8 + 2 * 4 + tables.len() as u32);
        tables.extend(kind.0.to_le_bytes());
        tables.extend((content.len() as u32).to_le_bytes());
        tables.extend(content);
    };
    table(RdatKind::STRING_BUFFER, strings);
    // One record of 8 bytes: the name at 1, the content at 8.
    let records: Vec<u8> = [1u32, 8, 1, 8].iter().flat_map(|word| word.to_le_bytes()).collect();
    table(RdatKind::PDB_SOURCE_TABLE, &records);
    let head = [0x10u32, 2].into_iter().chain(offsets);
    head.flat_map(u32::to_le_bytes).chain(tables).collect()
}

#[test]
fn pdbi_is_read_stored_and_compressed() {
    let rdat = program_database();
    let deflated = miniz_oxide::deflate::compress_to_vec_zlib(&rdat, 6);
    for (compression, stored) in [(0u16, rdat.clone()), (1, deflated)] {
        let mut part = Vec::new();
        part.extend(0u16.to_le_bytes());
        part.extend(compression.to_le_bytes());
        part.extend((stored.len() as u32).to_le_bytes());
        part.extend((rdat.len() as u32).to_le_bytes());
        part.extend(&stored);
        let PartData::PdbInfo(info) = comes_back(*b"PDBI", &part).data else { panic!("not read") };
        let inside = info.rdat().expect("the tables");
        assert_eq!(PartData::Rdat(inside).write().expect("the same tables"), rdat);

        // Cut off, it is kept as bytes, and the reader says why.
        let cut = OwnedPart::from_bytes(*b"PDBI", &part[..part.len() - 1]);
        assert!(cut.fault.is_some() && matches!(cut.data, PartData::Raw(_)));
    }
}

#[test]
fn parts_without_a_description_are_kept() {
    for name in [*b"IFCE", *b"FX10", *b"Aon9", *b"XNAP", *b"XNAS", *b"XHSH", *b"TEXT", *b"SDBG", *b"SPDB"] {
        assert!(describe(FourCc(name)).is_some());
        assert_eq!(comes_back(name, b"odd").data, PartData::Raw(Bytes::from(&b"odd"[..])));
    }
}

#[test]
fn every_size_of_runtime_information_comes_back() {
    for size in SIZES.into_iter().chain([60]) {
        // A pixel shader without resources and elements.
        let mut part = size.to_le_bytes().to_vec();
        part.extend((0..size).map(|_| 0u8));
        let words = if size == SIZES[0] { 1 } else { 3 };
        part.extend(vec![0u8; 4 * words]);
        let PartData::Psv0(psv0) = comes_back(*b"PSV0", &part).data else { panic!("{size}: not read") };
        let Psv0 { info, extra, .. } = *psv0;
        assert_eq!((info.size() as u32, extra.0.len()), (size, 0));
    }
}

#[test]
fn a_hull_shader_has_masks_of_the_view_id() {
    let mut part = 36u32.to_le_bytes().to_vec();
    part.extend([0; 24]);
    // Stage 3, view ID, 9 vectors of patch constants, no elements, 1 vector of inputs, 2 of outputs.
    part.extend([3, 1, 9, 0, 0, 0, 0, 1, 2, 0, 0, 0]);
    part.extend([0; 12]);
    // Outputs by view ID, patch constants by view ID (9 vectors: 2 words), outputs by input, patch constants by input.
    let masks: Vec<u32> = (1..=1 + 2 + 4 + 8).collect();
    part.extend(masks.iter().flat_map(|word| word.to_le_bytes()));
    let PartData::Psv0(psv0) = comes_back(*b"PSV0", &part).data else { panic!("not read") };
    let found = psv0.signatures.expect("version 1").dependencies;
    assert_eq!(found.view_id_outputs[0], [1]);
    assert_eq!(found.view_id_patch, [2, 3]);
    assert_eq!(found.input_to_output[0], [4, 5, 6, 7]);
    assert_eq!(found.input_to_patch, [8, 9, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn a_digest_may_ask_to_skip_the_check() {
    assert_eq!(Digest([1; 16]).marker(), Some("bypass"));
    let mut bytes = DxFile::default().write().expect("a container");
    bytes[4..20].fill(1);
    let container = Container::read(Reader::new(&bytes)).expect("a container");
    assert_eq!(container.header().digest, Digest([1; 16]));
    assert_eq!(DxFile::parse(&bytes).expect("a container").write().expect("the same"), bytes);
}
