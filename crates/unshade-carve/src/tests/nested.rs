//! Tests containers in containers, three deep.

use super::carve_with;
use crate::samples::{self, Packing};
use crate::{Condition, Limits};

type Wrap = fn(&[u8]) -> Vec<u8>;

/// Every kind of container around some bytes.
const KINDS: [(&str, Wrap); 30] = [
    ("zip, stored", |data| zip(data, Packing::Stored)),
    ("zip, deflate", |data| zip(data, Packing::Deflate)),
    ("zip, streamed", |data| zip(data, Packing::Streamed)),
    ("zip, bzip2", |data| zip(data, Packing::Bzip2)),
    ("zip, Zstandard", |data| zip(data, Packing::Zstd)),
    ("zip, LZMA", |data| zip(data, Packing::Lzma)),
    ("zip, xz", |data| zip(data, Packing::Xz)),
    ("zip after a program", |data| [samples::pe(b"stub"), zip(data, Packing::Deflate)].concat()),
    ("zip64", |data| samples::zip64("m", data)),
    ("tar", |data| samples::tar(&[("m", data)])),
    ("gzip", |data| samples::gzip(None, data)),
    ("gzip with a name", |data| samples::gzip(Some("m"), data)),
    ("gzip after a script", |data| [b"#!/bin/sh\n", &samples::gzip(None, data)[..]].concat()),
    ("bzip2", samples::bzip2),
    ("Zstandard", samples::zstd),
    ("xz", samples::xz),
    ("LZMA", |data| samples::lzma(data, true)),
    ("LZ4", samples::lz4),
    ("zlib", samples::zlib),
    ("zlib between other bytes", |data| [&[7; 9][..], &samples::zlib(data), &[7; 9]].concat()),
    ("static archive, BSD", |data| samples::archive_bsd(&[("m.o", data)])),
    ("static archive, GNU", |data| samples::archive_gnu(&[("m.o", data)])),
    ("Debian package", |data| samples::deb(&[("./m", data)])),
    ("Mach-O", |data| samples::mach(true, false, data)),
    ("Mach-O, universal", |data| samples::mach_universal([b"nothing", data])),
    ("offload bundle", |data| samples::offload_bundle(&[("hip-amdgcn", data)])),
    ("compressed offload bundle", |data| {
        samples::compressed_bundle(2, &samples::offload_bundle(&[("hip-amdgcn", data)]))
    }),
    ("offload binary", |data| samples::offload_binary(2, &[(3, "amdgcn-amd-amdhsa", "gfx906", data)])),
    ("array in C", |data| samples::array(data, 1)),
    ("base64", samples::base64),
];

fn zip(data: &[u8], packing: Packing) -> Vec<u8> {
    samples::zip(&[("a", Packing::Stored, b"another member"), ("m", packing, data)])
}

fn assert_found(file: &[u8], program: &[u8], kinds: &[&str]) {
    let (found, diagnostics) = carve_with(file, "f", &Limits::default());
    let faults: Vec<String> = diagnostics.iter().map(|diagnostic| diagnostic.error.to_string()).collect();
    assert!(faults.is_empty(), "{kinds:?}: {faults:?}");
    assert_eq!(found.len(), 1, "{kinds:?}");
    assert_eq!((found[0].condition, &found[0].data[..]), (Condition::Whole, program), "{kinds:?}");
}

/// Kinds that are recognised only if the contents begin with a magic number.
const EMBEDDED: [&str; 4] = ["gzip after a script", "zlib between other bytes", "array in C", "base64"];

/// Kinds that begin with no magic number. These are in no embedded one.
const NAMELESS: [&str; 6] =
    ["gzip after a script", "zlib between other bytes", "array in C", "base64", "zlib", "LZMA"];

/// Returns the kinds that may be around a kind. The sections of a Mach-O file are searched as any other bytes are, so it
/// holds programs and embedded streams only.
fn holders(inner: &str) -> impl Iterator<Item = (&'static str, Wrap)> {
    let is_nameless = NAMELESS.contains(&inner);
    KINDS.into_iter().filter(move |(kind, _)| *kind != "Mach-O" && !(is_nameless && EMBEDDED.contains(kind)))
}

/// Every kind, in every other kind, in every seventh kind, around a real program.
#[test]
fn containers_three_deep() {
    let program = include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib");
    let mut count = 0;
    for (index, (inner, wrap_inner)) in KINDS.into_iter().enumerate() {
        let one = wrap_inner(program);
        for (place, (middle, wrap_middle)) in holders(inner).enumerate() {
            let two = wrap_middle(&one);
            assert_found(&two, program, &[inner, middle]);
            for (outer, wrap_outer) in holders(middle).skip((index + place) % 7).step_by(7) {
                assert_found(&wrap_outer(&two), program, &[inner, middle, outer]);
                count += 1;
            }
        }
    }
    assert!(count > 3_000, "{count} combinations");
}

/// Every format of programs, in every kind.
#[test]
fn each_format_in_each_kind() {
    let programs: [&[u8]; 6] = [
        include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib"),
        include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc"),
        include_bytes!("../../../../tests/fixtures/nvidia/packed_11_2.fatbin"),
        include_bytes!("../../../../tests/fixtures/nvidia/add_sm_35.cubin"),
        include_bytes!("../../../../tests/fixtures/nvidia/add.ptx"),
        include_bytes!("../../../unshade-llvm/tests/fixtures/air_like.bc"),
    ];
    for program in programs {
        for (kind, wrap) in KINDS {
            assert_found(&wrap(program), program, &[kind]);
        }
    }
}
