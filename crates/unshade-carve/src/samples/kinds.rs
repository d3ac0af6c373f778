//! The kinds of containers, and which of them can be in each other.

use super::Packing;
use lzma_rust2::filter::FilterType;

/// Makes a container of some bytes.
pub(crate) type Wrap = fn(&[u8]) -> Vec<u8>;

/// Every kind of container around some bytes.
pub(crate) const KINDS: [(&str, Wrap); 36] = [
    ("zip, stored", |data| zip(data, Packing::Stored)),
    ("zip, deflate", |data| zip(data, Packing::Deflate)),
    ("zip, streamed", |data| zip(data, Packing::Streamed)),
    ("zip, bzip2", |data| zip(data, Packing::Bzip2)),
    ("zip, Zstandard", |data| zip(data, Packing::Zstd)),
    ("zip, LZMA", |data| zip(data, Packing::Lzma)),
    ("zip, xz", |data| zip(data, Packing::Xz)),
    ("zip after a program", |data| [super::pe(b"stub"), zip(data, Packing::Deflate)].concat()),
    ("zip64", |data| super::zip64("m", data)),
    ("tar", |data| super::tar(&[("m", data)])),
    ("gzip", |data| super::gzip(None, data)),
    ("gzip with a name", |data| super::gzip(Some("m"), data)),
    ("gzip after a script", |data| [b"#!/bin/sh\n", &super::gzip(None, data)[..]].concat()),
    ("bzip2", super::bzip2),
    ("Zstandard", super::zstd),
    ("xz", super::xz),
    ("xz with a filter", |data| super::xz_filtered(&[(FilterType::BcjX86, 0)], data)),
    ("xz with two filters", |data| {
        super::xz_filtered(&[(FilterType::Delta, 4), (FilterType::BcjArm64, 0)], data)
    }),
    ("LZMA", |data| super::lzma(data, true)),
    ("LZ4", super::lz4),
    ("LZ4, legacy", super::lz4_legacy),
    ("zlib", super::zlib),
    ("zlib between other bytes", |data| [&[7; 9][..], &super::zlib(data), &[7; 9]].concat()),
    ("static archive, BSD", |data| super::archive_bsd(&[("m.o", data)])),
    ("static archive, GNU", |data| super::archive_gnu(&[("m.o", data)])),
    ("Debian package", |data| super::deb(&[("./m", data)])),
    ("Mach-O", |data| super::mach(true, false, data)),
    ("Mach-O, universal", |data| super::mach_universal([b"nothing", data])),
    ("ELF", |data| super::elf(true, data)),
    ("PE", super::pe),
    ("COFF object", super::coff_object),
    ("offload bundle", |data| super::offload_bundle(&[("hip-amdgcn", data)])),
    ("compressed offload bundle", |data| {
        super::compressed_bundle(2, &super::offload_bundle(&[("hip-amdgcn", data)]))
    }),
    ("offload binary", |data| super::offload_binary(2, &[(3, "amdgcn-amd-amdhsa", "gfx906", data)])),
    ("array in C", |data| super::array(data, 1)),
    ("base64", super::base64),
];

fn zip(data: &[u8], packing: Packing) -> Vec<u8> {
    super::zip(&[("a", Packing::Stored, b"another member"), ("m", packing, data)])
}

/// Kinds that are recognised only if the contents begin with a magic number.
const EMBEDDED: [&str; 4] = ["gzip after a script", "zlib between other bytes", "array in C", "base64"];

/// Kinds that begin with no magic number. These are in no embedded one.
const NAMELESS: [&str; 7] = [
    "gzip after a script",
    "zlib between other bytes",
    "array in C",
    "base64",
    "zlib",
    "LZMA",
    "COFF object",
];

/// Kinds whose contents are searched as any other bytes are, so they hold programs and embedded streams only.
const OBJECTS: [&str; 4] = ["Mach-O", "ELF", "PE", "COFF object"];

/// Returns the kinds that may be around a kind.
pub(crate) fn holders(inner: &str) -> impl Iterator<Item = (&'static str, Wrap)> {
    let is_nameless = NAMELESS.contains(&inner);
    KINDS
        .into_iter()
        .filter(move |(kind, _)| !(OBJECTS.contains(kind) || is_nameless && EMBEDDED.contains(kind)))
}
