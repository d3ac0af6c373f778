//! Small files of every kind of container.

use crate::samples::{self, Packing};
use lzma_rust2::filter::FilterType;

/// Returns a file of every kind with one program each, and the expected path.
pub(super) fn every_kind() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let library = samples::metallib();
    let content = library.as_slice();
    let one = |packing| samples::zip(&[("a/b.metallib", packing, content)]);
    vec![
        ("a.metallib", library.clone(), "a.metallib"),
        ("a.bin", [&[7; 100], content, &[7; 9]].concat(), "a.bin@0x64"),
        ("u.metallib", samples::universal(), "u.metallib"),
        ("stored.zip", one(Packing::Stored), "stored.zip!a/b.metallib"),
        ("deflate.zip", one(Packing::Deflate), "deflate.zip!a/b.metallib"),
        ("bzip2.zip", one(Packing::Bzip2), "bzip2.zip!a/b.metallib"),
        ("zstd.zip", one(Packing::Zstd), "zstd.zip!a/b.metallib"),
        ("streamed.zip", one(Packing::Streamed), "streamed.zip!a/b.metallib"),
        ("wide.zip", samples::zip64("m", content), "wide.zip!m"),
        ("sfx.exe", [samples::pe(b"stub"), one(Packing::Deflate)].concat(), "sfx.exe!a/b.metallib"),
        ("a.tar", samples::tar(&[("d/x", content)]), "a.tar!d/x"),
        ("a.metallib.gz", samples::gzip(None, content), "a.metallib.gz!a.metallib"),
        ("b.gz", samples::gzip(Some("named"), content), "b.gz!named"),
        ("c.bz2", samples::bzip2(content), "c.bz2!c"),
        ("d.zst", samples::zstd(content), "d.zst!d"),
        ("d.xz", samples::xz(content), "d.xz!d"),
        ("d.lzma", samples::lzma(content, true), "d.lzma!d"),
        ("marked.lzma", samples::lzma(content, false), "marked.lzma!marked"),
        ("d.lz4", samples::lz4(content), "d.lz4!d"),
        ("x86.xz", samples::xz_filtered(&[(FilterType::BcjX86, 0)], content), "x86.xz!x86"),
        ("delta.xz", samples::xz_filtered(&[(FilterType::Delta, 4)], content), "delta.xz!delta"),
        (
            "three.xz",
            samples::xz_filtered(&[(FilterType::Delta, 4), (FilterType::BcjArm64, 0)], content),
            "three.xz!three",
        ),
        ("old.lz4", samples::lz4_legacy(content), "old.lz4!old"),
        ("a.deb", samples::deb(&[("./usr/x", content)]), "a.deb!data.tar.xz!data.tar!./usr/x"),
        ("xz.zip", one(Packing::Xz), "xz.zip!a/b.metallib"),
        ("lzma.zip", one(Packing::Lzma), "lzma.zip!a/b.metallib"),
        ("marked.zip", one(Packing::LzmaMarked), "marked.zip!a/b.metallib"),
        ("e", samples::zlib(content), "e!zlib_0x0"),
        ("a.h", samples::array(content, 1), "a.h!array_0x37"),
        ("b.h", samples::array(content, 4), "b.h!array_0x37"),
        ("c.h", samples::array(content, 2), "c.h!array_0x37"),
        ("d.h", samples::array(&samples::gzip(None, content), 1), "d.h!array_0x37!data"),
        ("a.json", samples::base64(content), "a.json!base64_0xc"),
        ("b.json", samples::base64(&samples::zlib(content)), "b.json!base64_0xc!zlib_0x0"),
        ("zlib.bin", [b"abc", &samples::zlib(content)[..], b"xyz"].concat(), "zlib.bin!zlib_0x3"),
        ("gzip.bin", [b"abc", &samples::gzip(Some("n"), content)[..], b"xyz"].concat(), "gzip.bin!gzip_0x3"),
        (
            "install.run",
            [b"#!/bin/sh\n", &samples::gzip(None, &samples::tar(&[("m", content)]))[..]].concat(),
            "install.run!gzip_0xa!m",
        ),
        ("f.tgz", samples::gzip(None, &samples::tar(&[("m", content)])), "f.tgz!f.tar!m"),
        (
            "bsd.a",
            samples::archive_bsd(&[("a_very_long_member_name.o", content)]),
            "bsd.a!a_very_long_member_name.o",
        ),
        (
            "gnu.a",
            samples::archive_gnu(&[("a_very_long_member_name.o", content)]),
            "gnu.a!a_very_long_member_name.o",
        ),
        ("short.a", samples::archive_gnu(&[("m.o", content)]), "short.a!m.o"),
        ("a.dylib", samples::mach(true, false, content), "a.dylib!__TEXT,metal_40@0x118"),
        ("b.dylib", samples::mach(false, false, content), "b.dylib!__TEXT,metal_40@0xec"),
        ("c.dylib", samples::mach(true, true, content), "c.dylib!__TEXT,metal_40@0x118"),
        ("d.dylib", samples::mach(false, true, content), "d.dylib!__TEXT,metal_40@0xec"),
        (
            "fat.dylib",
            samples::mach_universal([b"nothing at all", &samples::mach(true, false, content)]),
            "fat.dylib!arm64!__TEXT,metal_40@0x118",
        ),
        ("a.so", samples::elf(true, content), "a.so!.rodata.shaders@0x40"),
        ("b.so", samples::elf(false, content), "b.so!.rodata.shaders@0x34"),
        ("a.dll", samples::pe(content), "a.dll!a_very_long_name@0x168"),
        (
            "a.lib",
            samples::archive_gnu(&[("m.obj", &samples::coff_object(content))]),
            "a.lib!m.obj!a_very_long_name@0x74",
        ),
        ("a.bc", samples::bitcode(), "a.bc"),
        ("old.bc", samples::old_bitcode(), "old.bc"),
        ("wrapped.air", samples::wrapped_bitcode(), "wrapped.air"),
        ("b.bin", [&[7; 9][..], &samples::wrapped_bitcode(), &[7; 9]].concat(), "b.bin@0x9"),
        ("lto.a", samples::archive_gnu(&[("m.o", &samples::bitcode())]), "lto.a!m.o"),
        ("a.metalar", samples::archive_bsd(&[("m.air", &samples::wrapped_bitcode())]), "a.metalar!m.air"),
        ("embed.o", embedded(), "embed.o!.llvmbc@0x40"),
        (
            HIP,
            samples::offload_bundle(&[("host-", b""), (HIP, &samples::bitcode())]),
            "hip-amdgcn!hip-amdgcn",
        ),
        ("v1", compressed(1), "v1!bundle!hip-amdgcn"),
        ("v2", compressed(2), "v2!bundle!hip-amdgcn"),
        ("v3", compressed(3), "v3!bundle!hip-amdgcn"),
        ("pack.bin", binary(1), "pack.bin!hip-amdgcn-amd-amdhsa--gfx906"),
        ("pack2.bin", binary(2), "pack2.bin!hip-amdgcn-amd-amdhsa--gfx906"),
        (
            "offload.o",
            samples::elf_sections(&[(".text", b"text"), (".llvm.offloading", &binary(1))]),
            "offload.o!.llvm.offloading!hip-amdgcn-amd-amdhsa--gfx906",
        ),
    ]
}

/// The id of an entry of a bundle.
pub(super) const HIP: &str = "hip-amdgcn";

/// Builds an object file with bitcode and the compiler's options.
pub(super) fn embedded() -> Vec<u8> {
    samples::elf_sections(&[(".llvmbc", &samples::bitcode()), (".llvmcmd", b"-triple\0x86_64\0-O2\0")])
}

pub(super) fn compressed(version: u16) -> Vec<u8> {
    samples::compressed_bundle(version, &samples::offload_bundle(&[(HIP, &samples::bitcode())]))
}

pub(super) fn binary(version: u32) -> Vec<u8> {
    samples::offload_binary(version, &[(3, "amdgcn-amd-amdhsa", "gfx906", &samples::bitcode())])
}
