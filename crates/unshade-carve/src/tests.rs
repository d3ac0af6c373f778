//! Tests carving on every kind of container with a program in it, nested, damaged and hostile.

mod false_heads;
mod kinds;
mod nested;

use super::samples::{self, Packing};
use super::{
    Condition, Find, Limits, Selector, carve, carve_gputrace, carve_gputrace_selected, carve_selected,
};
use crate::format::{Format, detect};
use kinds::{HIP, binary, compressed, embedded, every_kind};
use lzma_rust2::filter::FilterType;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use unshade_core::{Diagnostics, ErrorKind};

struct Found {
    text: String,
    selector: String,
    data: Vec<u8>,
    file_offset: Option<u64>,
    condition: Condition,
}

fn keep(found: &mut Vec<Found>, find: &Find<'_>) {
    found.push(Found {
        text: find.path.to_string(),
        selector: find.path.selector(),
        data: find.data.to_vec(),
        file_offset: find.file_offset,
        condition: find.condition,
    });
}

fn carve_with(input: &[u8], name: &str, limits: &Limits) -> (Vec<Found>, Diagnostics) {
    let mut found = Vec::new();
    let diagnostics = carve(input, name.as_bytes(), limits, &mut |find| {
        keep(&mut found, &find);
        ControlFlow::Continue(())
    });
    (found, diagnostics)
}

/// Returns the paths in a sound file. Each program must also be found by its selector and at its offset.
fn paths(input: &[u8], name: &str) -> Vec<String> {
    let (found, diagnostics) = carve_with(input, name, &Limits::default());
    assert!(diagnostics.is_empty(), "{:?}", diagnostics.iter().collect::<Vec<_>>());
    for program in &found {
        assert_eq!(program.condition, Condition::Whole);
        if let Some(offset) = program.file_offset {
            let offset = usize::try_from(offset).unwrap();
            assert_eq!(&input[offset..offset + program.data.len()], program.data, "{}", program.text);
        }
        let mut again = 0;
        let selector = Selector::parse(&program.selector).unwrap();
        carve_selected(input, name.as_bytes(), &selector, &Limits::default(), &mut |find| {
            assert_eq!(find.path.to_string(), program.text);
            again += 1;
        });
        assert_eq!(again, 1, "{}", program.selector);
    }
    found.into_iter().map(|program| program.text).collect()
}

fn rules(diagnostics: &Diagnostics) -> Vec<&'static str> {
    diagnostics.iter().map(|diagnostic| diagnostic.rule).collect()
}

#[test]
fn every_kind_of_container() {
    for (name, file, path) in every_kind() {
        assert_eq!(paths(&file, name), [path], "{name}: {}", detect(&file));
    }
}

#[test]
fn kinds_have_names() {
    let kinds: Vec<String> = every_kind().iter().map(|(_, file, _)| detect(file).to_string()).collect();
    for expected in [
        "Metal library",
        "Metal universal library",
        "zip archive",
        "tar archive",
        "gzip-compressed data",
        "bzip2-compressed data",
        "Zstandard-compressed data",
        "xz-compressed data",
        "LZMA-compressed data",
        "LZ4-compressed data",
        "zlib-compressed data",
        "static archive",
        "Mach-O 64-bit arm64",
        "Mach-O 32-bit i386",
        "Mach-O universal binary",
        "ELF 64-bit x86-64",
        "PE32+ x86-64",
        "LLVM bitcode",
        "Clang offload bundle",
        "compressed Clang offload bundle",
        "LLVM offload binary",
        "unknown data",
    ] {
        assert!(kinds.iter().any(|kind| kind == expected), "{expected} is not among {kinds:?}");
    }
    // A Java class begins like a universal file, but is none.
    assert_eq!(detect(b"\xca\xfe\xba\xbe\0\0\0\x41....").to_string(), "unknown data");
}

#[test]
fn nested_four_deep_and_more() {
    let object = samples::mach(true, false, &samples::metallib());
    let archive = samples::archive_bsd(&[("shaders.o", &object), ("other.o", b"nothing")]);
    let inner =
        samples::zip(&[("lib/libx.a", Packing::Deflate, &archive), ("README", Packing::Stored, b"hello")]);
    let outer = samples::tar(&[("first", b"x"), ("pkg.whl", &inner)]);
    let file = samples::gzip(None, &outer);
    assert_eq!(
        paths(&file, "dir/pkg.tar.gz"),
        ["dir/pkg.tar.gz!pkg.tar!pkg.whl!lib/libx.a!shaders.o!__TEXT,metal_40@0x118"]
    );
    // If everything is stored, nothing is copied, and the offset in the file is known.
    let stored = samples::zip(&[("p", Packing::Stored, &samples::tar(&[("q", &object)]))]);
    let stored = samples::zip(&[("o", Packing::Stored, &stored)]);
    let (found, _) = carve_with(&stored, "s.zip", &Limits::default());
    assert_eq!(found.len(), 1);
    assert!(found[0].file_offset.is_some());
    assert_eq!(paths(&stored, "s.zip"), ["s.zip!o!p!q!__TEXT,metal_40@0x118"]);
}

#[test]
fn several_in_file_order_and_each_once() {
    let library = samples::metallib();
    let section = [&library[..], &[0; 4], &samples::universal(), &library].concat();
    let file = samples::zip(&[
        ("same", Packing::Stored, &library),
        ("same", Packing::Deflate, &library),
        ("lib.so", Packing::Stored, &samples::elf(true, &section)),
    ]);
    let inside = [
        "f!same",
        "f!same#2",
        "f!lib.so!.rodata.shaders@0x40",
        "f!lib.so!.rodata.shaders@0xa0",
        "f!lib.so!.rodata.shaders@0x12c",
    ];
    assert_eq!(paths(&file, "f"), inside);
    // Other bytes around an archive neither hide it nor are hidden by it.
    let around = [&library[..], &file, &library].concat();
    let behind = format!("f@{:#x}", library.len() + file.len());
    let expected: Vec<String> =
        ["f@0x0"].into_iter().chain(inside).map(String::from).chain([behind]).collect();
    assert_eq!(paths(&around, "f"), expected);
}

#[test]
fn gaps_and_unreadable_members_are_searched_raw() {
    let library = samples::metallib();
    let file = samples::zip(&[
        ("odd", Packing::Ppmd, &library),
        ("secret", Packing::Encrypted, &library),
        ("good", Packing::Deflate, &library),
    ]);
    let file = [b"#!/bin/sh\n", &library[..], &file].concat();
    let (found, diagnostics) = carve_with(&file, "f", &Limits::default());
    let texts: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
    assert_eq!(texts, ["f@0xa", "f@0x87", "f@0x107", "f!good"]);
    assert_eq!(rules(&diagnostics), ["zip-method", "zip-encrypted"]);
    assert!(!diagnostics.has_errors());
}

#[test]
fn long_names_in_tar() {
    let library = samples::metallib();
    let long = "d/".repeat(80) + "x";
    let record = format!(" path={long}\n");
    let record = format!("{}{record}", record.len() + 3);
    for (kind, extension) in [(b'L', format!("{long}\0")), (b'x', record)] {
        let mut file = samples::tar_member(b"extension", kind, extension.as_bytes());
        file.extend(samples::tar_member(b"short", b'0', &library));
        file.extend(samples::tar_member(b"link", b'2', b""));
        file.extend(samples::tar_member(b"next", 0, &library));
        assert_eq!(paths(&file, "t"), [format!("t!{long}"), "t!next".into()]);
    }
    let mut prefixed = samples::tar_member(b"name", b'0', &library);
    prefixed[345..348].copy_from_slice(b"pre");
    prefixed[148..156].fill(b' ');
    let sum: u32 = prefixed[..512].iter().map(|&byte| u32::from(byte)).sum();
    prefixed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_eq!(paths(&prefixed, "t"), ["t!pre/name"]);
}

#[test]
fn concatenated_streams_are_one() {
    let library = samples::metallib();
    let (head, tail) = library.split_at(50);
    type Pack = fn(&[u8]) -> Vec<u8>;
    let packs: [Pack; 7] = [
        samples::bzip2,
        samples::zstd,
        samples::xz,
        |data| samples::xz_filtered(&[(FilterType::Delta, 1), (FilterType::BcjX86, 0)], data),
        samples::lz4,
        samples::lz4_legacy,
        |data| samples::gzip(None, data),
    ];
    for pack in packs {
        assert_eq!(paths(&[pack(head), pack(tail)].concat(), "x"), ["x!data"]);
        // Bytes after the last stream are searched raw.
        let file = [&pack(head)[..], &pack(tail), &[0; 20], &library].concat();
        assert_eq!(paths(&file, "x").len(), 2);
    }
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3], &samples::zstd(&library)[..]].concat();
    assert_eq!(paths(&skippable, "x.zst"), ["x.zst!x"]);
    let padded = [samples::xz(head), vec![0; 8], samples::xz(tail), vec![0; 4]].concat();
    assert_eq!(paths(&padded, "x.txz"), ["x.txz!x.tar"]);
}

#[test]
fn blocks_before_a_fault_are_searched() {
    let library = samples::metallib();
    let noise: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
    let packed = samples::zstd(&[&library[..], &noise].concat());
    let mut wrong = packed.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let cut_off = &packed[..packed.len() / 2];
    for (file, fault) in [(&wrong[..], "the checksum does not match"), (cut_off, "a block is truncated")] {
        let (found, diagnostics) = carve_with(file, "x.zst", &Limits::default());
        assert_eq!(found[0].text, "x.zst!x@0x0");
        let text = diagnostics.iter().map(|found| found.error.to_string()).collect::<String>();
        assert!(text.contains(&format!("the Zstandard data is damaged: {fault}")), "{text}");
    }
}

#[test]
fn gputrace_folder_and_bare_store() {
    let library = samples::metallib();
    let zeros = vec![0; 5_000];
    let (index, store) = samples::gputrace(&[
        ("MTLBuffer-12-0", &zeros, true),
        ("0123456789abcdef", &library, true),
        ("stored", &samples::universal(), false),
        ("fedcba9876543210", &[&zeros[..], &library].concat(), true),
    ]);
    let expected = [
        "t.gputrace!store0!0123456789abcdef",
        "t.gputrace!store0!stored",
        "t.gputrace!store0!fedcba9876543210@0x1388",
    ];
    let whole = |index: &[u8], store: &[u8]| {
        let mut found = Vec::new();
        let diagnostics = carve_gputrace(index, store, b"t.gputrace", &Limits::default(), &mut |find| {
            keep(&mut found, &find);
            ControlFlow::Continue(())
        });
        (found, diagnostics)
    };
    let (found, diagnostics) = whole(&index, &store);
    assert_eq!(found.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), expected);
    assert!(diagnostics.is_empty());
    assert_eq!(found[1].file_offset.map(|at| store[at as usize]), Some(0xcb));
    for program in &found {
        let selector = Selector::parse(&program.selector).unwrap();
        let mut again = 0;
        let limits = Limits::default();
        carve_gputrace_selected(&index, &store, b"t.gputrace", &selector, &limits, &mut |_| again += 1);
        assert_eq!(again, 1);
    }

    // Without the index, pieces are named by their offset.
    let texts = paths(&store, "store0");
    assert_eq!(texts.len(), 3);
    assert!(texts[0].starts_with("store0!zlib_0x") && texts[1].starts_with("store0@0x"), "{texts:?}");
    let (found, diagnostics) = whole(b"no index", &store);
    assert_eq!((found.len(), rules(&diagnostics)), (3, vec!["gputrace-index"]));
    // The table is found even if the header states a wrong count of buckets.
    let mut odd = index.clone();
    odd[8] = 9;
    assert_eq!(whole(&odd, &store).0.len(), 3);
    assert!(whole(&odd, &store).1.is_empty());
    let (_, diagnostics) = carve_with(&index, "index", &Limits::default());
    assert_eq!(rules(&diagnostics), ["gputrace-index"]);

    for size in 0..index.len() {
        whole(&index[..size], &store);
        whole(&index, &store[..size.min(store.len())]);
        let mut changed = index.clone();
        changed[size] ^= 0xff;
        whole(&changed, &store);
    }
}

#[test]
fn cut_off_archives_give_what_is_left() {
    let library = samples::metallib();
    let members: Vec<(String, Packing)> =
        [Packing::Deflate, Packing::Stored, Packing::Streamed, Packing::Zstd, Packing::Deflate]
            .into_iter()
            .enumerate()
            .map(|(number, packing)| (format!("m{number}"), packing))
            .collect();
    let members: Vec<(&str, Packing, &[u8])> =
        members.iter().map(|(name, packing)| (name.as_str(), *packing, library.as_slice())).collect();
    let file = samples::zip(&members);
    let (found, diagnostics) = carve_with(&file[..file.len() - 5], "f.whl", &Limits::default());
    let texts: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
    assert_eq!(texts, ["f.whl!m0", "f.whl!m1", "f.whl!m2", "f.whl!m3", "f.whl!m4"]);
    assert_eq!(rules(&diagnostics), ["zip-directory"]);

    let file = samples::tar(&[("a", &library), ("b", &library)]);
    let (found, diagnostics) = carve_with(&file[..512 + 512 + 512 + 50], "t", &Limits::default());
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].condition, Condition::Damaged, "50 bytes are too few for a header");
    assert_eq!(rules(&diagnostics), ["tar-member", "program-damaged"]);
    let (found, diagnostics) = carve_with(&file[..512 + 512 + 512 + 90], "t", &Limits::default());
    assert_eq!(found[1].condition, Condition::Truncated { stated: 92 });
    assert_eq!(found[1].data.len(), 90);
    assert_eq!(rules(&diagnostics), ["tar-member", "program-truncated"]);
}

#[test]
fn wrong_checksums_are_told_and_the_bytes_searched() {
    let library = samples::metallib();
    let mut zip = samples::zip(&[("m", Packing::Deflate, &library)]);
    let directory = memchr::memmem::find(&zip, b"PK\x01\x02").unwrap();
    zip[directory + 16] ^= 1;
    let mut gzip = samples::gzip(None, &library);
    let trailer = gzip.len() - 8;
    gzip[trailer] ^= 1;
    for (file, rule) in [(zip, "zip-checksum"), (gzip, "compressed-data")] {
        let (found, diagnostics) = carve_with(&file, "x.gz", &Limits::default());
        assert_eq!(found.len(), 1);
        assert_eq!(rules(&diagnostics), [rule]);
        assert_eq!(diagnostics.iter().next().unwrap().error.kind(), ErrorKind::BadChecksum);
    }
}

#[test]
fn the_visitor_can_break_off() {
    let library = samples::metallib();
    let file = samples::tar(&[("a", &library), ("b", &samples::gzip(None, &library)), ("c", &library)]);
    for wanted in 1..=3 {
        let mut seen = 0;
        carve(&file, b"t", &Limits::default(), &mut |_| {
            seen += 1;
            if seen == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(seen, wanted);
    }
}

/// Cuts every sample off at every byte, and changes every byte: nothing may panic, be slow, or be found twice.
#[test]
fn damaged_samples() {
    for (name, file, _) in every_kind() {
        let begun = Instant::now();
        let mut runs = 0_u32;
        let mut check = |input: &[u8]| {
            let (found, _) = carve_with(input, name, &Limits::default());
            let mut texts: Vec<String> = found.into_iter().map(|found| found.selector).collect();
            let count = texts.len();
            texts.sort();
            texts.dedup();
            assert_eq!(texts.len(), count, "{name}");
            runs += 1;
        };
        for size in 0..file.len() {
            check(&file[..size]);
            check(&file[size..]);
        }
        let mut changed = file.clone();
        for at in 0..file.len() {
            // Runs of zeros, as in tar archives, are all alike.
            if file[at] == 0 && at % 16 != 0 && file.len() > 1_024 {
                continue;
            }
            let original = changed[at];
            for value in [0, 1, 0x7f, 0x80, 0xff, original ^ 1, original ^ 0x10, original.wrapping_add(1)] {
                changed[at] = value;
                check(&changed);
            }
            changed[at] = original;
        }
        assert!(
            begun.elapsed() < Duration::from_millis(5) * runs,
            "{name}: {:?} for {runs}",
            begun.elapsed()
        );
    }
}

fn hint(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(|diagnostic| diagnostic.error.advice().unwrap_or_default()).collect()
}

#[test]
fn each_limit() {
    let library = samples::metallib();
    let mut limits = Limits::default();

    let mut nested = samples::gzip(None, &library);
    for _ in 0..9 {
        nested = samples::zip(&[("n", Packing::Deflate, &nested)]);
    }
    let (found, diagnostics) = carve_with(&nested, "n", &limits);
    assert_eq!((found.len(), hint(&diagnostics).as_str()), (0, "raise --max-depth"));
    limits.max_depth = 10;
    assert_eq!(carve_with(&nested, "n", &limits).0.len(), 1);
    // A stored member is still found in the raw bytes.
    limits.max_depth = 0;
    let stored = samples::zip(&[("m", Packing::Stored, &library)]);
    assert_eq!(carve_with(&stored, "n", &limits).0[0].text, "n@0x1f");

    let large = [&library[..], &[1; 50_000], &library].concat();
    let file = samples::zip(&[("a", Packing::Deflate, &large), ("b", Packing::Deflate, &large)]);
    type Option = (&'static str, fn(&mut Limits), usize);
    let options: [Option; 6] = [
        ("raise --max-member-size", |limits| limits.max_member_size = 1_000, 2),
        ("raise --max-held-size", |limits| limits.max_held_size = 1_000, 2),
        ("raise --max-total-size", |limits| limits.max_total_size = 1_000, 1),
        ("raise --max-members", |limits| limits.max_members = 1, 2),
        ("raise --max-finds", |limits| limits.max_finds = 3, 3),
        ("", |limits| limits.max_ratio = 1, 4),
    ];
    for (option, set, count) in options {
        let mut limits = Limits::default();
        set(&mut limits);
        let (found, diagnostics) = carve_with(&file, "f", &limits);
        assert_eq!(found.len(), count, "{option}");
        assert!(hint(&diagnostics).starts_with(option), "{}", hint(&diagnostics));
        assert!(diagnostics.iter().all(|diagnostic| diagnostic.error.kind() == ErrorKind::Limit));
    }

    let huge = [&vec![0; 20 << 20][..], &library].concat();
    let zipped = samples::zip(&[("m", Packing::Deflate, &huge)]);
    for file in
        [samples::gzip(None, &huge), samples::bzip2(&huge), samples::zstd(&huge), samples::xz(&huge), zipped]
    {
        let (found, diagnostics) = carve_with(&file, "f", &Limits::default());
        assert_eq!((found.len(), hint(&diagnostics).as_str()), (0, "raise --max-ratio"));
    }
}

/// Members that share their data: the total unpacked size grows with the square of the archive's size.
#[test]
fn overlapping_members() {
    let kernel = samples::zip(&[("k", Packing::Stored, &vec![b'x'; 1 << 20])]);
    let directory = memchr::memmem::rfind(&kernel, b"PK\x01\x02").unwrap();
    let entry = &kernel[directory..kernel.len() - 22];
    let mut file = kernel[..directory].to_vec();
    let count = 20_000_u16;
    for _ in 0..count {
        file.extend(entry);
    }
    file.extend(samples::zip_end(count, u32::from(count) * entry.len() as u32, directory as u32));
    let limits = Limits { max_total_size: 100 << 20, ..Limits::default() };
    let begun = Instant::now();
    let (_, diagnostics) = carve_with(&file, "f", &limits);
    assert_eq!(hint(&diagnostics), "raise --max-total-size");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// Millions of streams that unpack to nothing, and bytes that all look like the beginning of a stream.
#[test]
fn empty_streams_and_false_starts_end() {
    let empty = [samples::gzip(None, b""), samples::bzip2(b""), samples::zstd(b"")];
    let limits = Limits { max_total_size: 256 << 20, ..Limits::default() };
    for stream in &empty {
        let begun = Instant::now();
        let (_, diagnostics) = carve_with(&stream.repeat(50_000), "x", &limits);
        assert_eq!(hint(&diagnostics), "raise --max-total-size");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
    let starts = [&samples::zlib(b"one")[..], &b"\x78\x9c".repeat(1 << 20)].concat();
    let begun = Instant::now();
    let (_, diagnostics) = carve_with(&starts, "x", &limits);
    assert_eq!(hint(&diagnostics), "raise --max-total-size");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn long_names_stay_apart() {
    let library = samples::metallib();
    let mut file = Vec::new();
    for last in ["x", "y"] {
        let name = "n".repeat(10_000) + last;
        file.extend(samples::tar_member(b"extension", b'L', format!("{name}\0").as_bytes()));
        file.extend(samples::tar_member(b"short", b'0', &library));
    }
    let texts = paths(&file, "t");
    assert_eq!(texts, [format!("t!{}", "n".repeat(4_096)), format!("t!{}#2", "n".repeat(4_096))]);
}

/// A universal file that names itself as its architecture would be searched endlessly.
#[test]
fn universal_file_in_itself() {
    let library = samples::metallib();
    let mut file = samples::mach_universal([&library, &library]);
    assert_eq!(paths(&file, "f"), ["f!x86_64", "f!arm64"]);
    file[16..20].fill(0);
    file[20..24].copy_from_slice(&300_u32.to_be_bytes());
    let (found, diagnostics) = carve_with(&file, "f", &Limits::default());
    assert_eq!(found.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), ["f@0x40", "f!arm64"]);
    assert_eq!(rules(&diagnostics), ["mach-o-architecture"]);
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert!(!format.name().is_empty());
    }
}

/// Builds a Metal library with bitcode in it.
fn library_with_module() -> Vec<u8> {
    let module = samples::wrapped_bitcode();
    let mut library = samples::metallib();
    library[16] += module.len() as u8;
    library[80] = module.len() as u8;
    library.extend(module);
    library
}

#[test]
fn modules_of_other_programs_are_not_found_again() {
    let library = library_with_module();
    let bitcode = samples::bitcode();
    let behind = format!("f@{:#x}", library.len());
    assert_eq!(paths(&[&library[..], &bitcode].concat(), "f"), ["f@0x0", behind.as_str()]);
    // Nor are the modules of a library that is cut off or damaged.
    let mut damaged = library.clone();
    damaged[4] = 7;
    for file in [&library[..library.len() - 1], &damaged, &samples::wrapped_bitcode()[..70]] {
        let (found, _) = carve_with(file, "f", &Limits::default());
        assert_eq!(found.len(), 1);
        assert_ne!(found[0].condition, Condition::Whole);
    }
    // The contents of a wrapper with a wrong header are found only if it does not begin the file.
    let mut wrapper = samples::wrapped_bitcode();
    wrapper[4] = 1;
    let (found, _) = carve_with(&wrapper, "f", &Limits::default());
    assert_eq!((found.len(), found[0].condition), (1, Condition::Damaged));
    assert_eq!(paths(&[&[1], &wrapper[..]].concat(), "f"), ["f@0x15"]);
}

#[test]
fn real_bitcode_is_found_whole() {
    let modules: [&[u8]; 3] = [
        include_bytes!("../../unshade-llvm/tests/fixtures/air_like.bc"),
        include_bytes!("../../unshade-llvm/tests/fixtures/two_modules.bc"),
        include_bytes!("../../unshade-llvm/tests/fixtures/thinlto.bc"),
    ];
    for module in modules {
        assert_eq!(paths(module, "m.bc"), ["m.bc"]);
        assert_eq!(paths(&[&[9; 11], module, &[9; 40]].concat(), "f"), ["f@0xb"]);
        for size in 0..module.len() {
            let (found, _) = carve_with(&module[..size], "m.bc", &Limits::default());
            assert!(found.len() <= 1, "{size}");
        }
    }
    // A linker puts the streams of all objects into one section.
    let section = modules.concat();
    let file = samples::elf_sections(&[(".llvmbc", &section)]);
    let starts = [0, modules[0].len(), modules[0].len() + modules[1].len()];
    assert_eq!(paths(&file, "f"), starts.map(|start| format!("f!.llvmbc@{:#x}", 0x40 + start)));
}

#[test]
fn options_of_the_compiler() {
    let mut options = Vec::new();
    carve(&embedded(), b"e.o", &Limits::default(), &mut |find| {
        options.extend(find.compiler_options().map(|option| String::from_utf8_lossy(option).into_owned()));
        ControlFlow::Continue(())
    });
    assert_eq!(options, ["-triple", "x86_64", "-O2"]);
    for file in [samples::bitcode(), samples::elf_sections(&[(".llvmbc", &samples::bitcode())])] {
        carve(&file, b"f", &Limits::default(), &mut |find| {
            assert_eq!((find.options, find.compiler_options().count()), (None, 0));
            ControlFlow::Continue(())
        });
    }
}

#[test]
fn bundles_behind_one_another() {
    let bitcode = samples::bitcode();
    let bundle = samples::offload_bundle(&[("host-x86_64", b""), (HIP, &bitcode), ("hip-a!b", &bitcode)]);
    let mut section = bundle.clone();
    section.resize(4096, 0);
    section.extend(compressed(2));
    section.resize(section.len().next_multiple_of(8), 0);
    section.extend(binary(1));
    section.extend(bundle);
    section.extend([&[5; 3][..], &bitcode].concat());
    let other = [&binary(2)[..], &[5; 3], &bitcode].concat();
    let file = samples::elf_sections(&[(".hip_fatbin", &section), (".hip_fatbin", &other)]);
    let gaps = [64 + section.len(), 64 + section.len() + other.len()].map(|end| end - bitcode.len());
    assert_eq!(
        paths(&file, "lib.so"),
        [
            "lib.so!.hip_fatbin!hip-amdgcn".into(),
            "lib.so!.hip_fatbin!hip-a\\x21b".into(),
            "lib.so!.hip_fatbin!bundle!hip-amdgcn".into(),
            "lib.so!.hip_fatbin!hip-amdgcn-amd-amdhsa--gfx906".into(),
            "lib.so!.hip_fatbin!hip-amdgcn#2".into(),
            "lib.so!.hip_fatbin!hip-a\\x21b#2".into(),
            format!("lib.so!.hip_fatbin@{:#x}", gaps[0]),
            "lib.so!.hip_fatbin#2!hip-amdgcn-amd-amdhsa--gfx906".into(),
            format!("lib.so!.hip_fatbin@{:#x}", gaps[1]),
        ]
    );
    // Two of the oldest version, which state no size.
    let twice = [compressed(1), compressed(1)].concat();
    assert_eq!(paths(&twice, "f"), ["f!bundle!hip-amdgcn", "f!bundle#2!hip-amdgcn"]);
}

#[test]
fn kinds_of_offloading_have_names() {
    let image = samples::bitcode();
    let entries: [(u16, &str, &str, &[u8]); 4] = [
        (1, "amdgcn-amd-amdhsa", "gfx90a:xnack+", &image),
        (4, "spirv64-unknown-unknown-x", "", &image),
        (8, "", "", &image),
        (99, "nvptx64-nvidia-cuda", "sm_70", &image),
    ];
    assert_eq!(
        paths(&samples::offload_binary(2, &entries), "f"),
        [
            "f!openmp-amdgcn-amd-amdhsa--gfx90a:xnack+",
            "f!hip-spirv64-unknown-unknown-x",
            "f!sycl-",
            "f!none-nvptx64-nvidia-cuda--sm_70"
        ]
    );
}

#[test]
fn damaged_bundles() {
    let bitcode = samples::bitcode();
    // Two entries with the same bytes, and one outside the file.
    let mut bundle = samples::offload_bundle(&[("a", &bitcode), ("b", &bitcode), ("c", &bitcode)]);
    let first = bundle[32..40].to_vec();
    bundle[57..65].copy_from_slice(&first);
    bundle[82..90].copy_from_slice(&9_999_u64.to_le_bytes());
    let (found, diagnostics) = carve_with(&bundle, "f", &Limits::default());
    let texts: Vec<&str> = found.iter().map(|found| found.text.as_str()).collect();
    assert_eq!(texts, ["f!a", "f@0xa3", "f@0xdb"]);
    assert_eq!(rules(&diagnostics), ["offload-bundle", "offload-bundle"]);
    // An id that is too long: the bytes after it have no names.
    let mut bundle = samples::offload_bundle(&[("a", &bitcode)]);
    bundle[48..56].fill(0xff);
    let (found, diagnostics) = carve_with(&bundle, "f", &Limits::default());
    assert_eq!((found.len(), rules(&diagnostics)), (1, vec!["offload-bundle"]));
    // A stream that breaks off.
    let whole = compressed(2);
    let (_, diagnostics) = carve_with(&whole[..whole.len() - 8], "f", &Limits::default());
    assert_eq!(rules(&diagnostics)[0], "offload-bundle");
    let limits = Limits { max_depth: 1, ..Limits::default() };
    let file = samples::elf_sections(&[(".llvm.offloading", &binary(1))]);
    let (found, diagnostics) = carve_with(&file, "f", &Limits { max_depth: 0, ..limits });
    assert!(found[0].text.starts_with("f!.llvm.offloading@0x"), "{}", found[0].text);
    assert_eq!(hint(&diagnostics), "raise --max-depth");
    assert_eq!(hint(&carve_with(&compressed(2), "f", &limits).1), "raise --max-depth");
}

/// Headers that promise many blocks, entries and sections, each overlapping the others.
#[test]
fn bitcode_and_bundles_that_repeat_take_no_longer() {
    let limits = Limits { max_members: 50_000, max_total_size: 64 << 20, ..Limits::default() };
    let module = [&b"BC\xc0\xde"[..], &[1 | 8 << 2 | 3 << 10, 1, 0].map(u32::to_le_bytes).concat()].concat();
    // A truncated module after many empty blocks, each of which begins a stream.
    let blocks = [0x0c21_u32, 1, 0xdec0_4342].map(u32::to_le_bytes).concat().repeat(200_000);
    let chain = [&module[..], &blocks, &[0x21, 0x0c, 0, 0, 0xff, 0xff, 0xff, 0xff]].concat();
    let mut binaries = Vec::new();
    for _ in 0..40_000 {
        let header = [0x10ff_10ad_u32.swap_bytes(), 2, 32, 0, 0, 0, u32::MAX, 0];
        binaries.extend(header.map(u32::to_le_bytes).concat());
    }
    let mut wide = binaries.clone();
    wide.chunks_exact_mut(32).for_each(|header| header[8..16].fill(0xff));
    let entry = [0_u64, u64::MAX, 0].map(u64::to_le_bytes).concat();
    let count = 1_000_000_u64.to_le_bytes();
    let bundle = [&b"__CLANG_OFFLOAD_BUNDLE__"[..], &count, &entry.repeat(100_000)].concat();
    let streams = [&b"CCOB\x02\0\x01\0"[..], &[0; 16]].concat().repeat(40_000);
    let bundles = [&b"__CLANG_OFFLOAD_BUNDLE__"[..], &[0; 8]].concat().repeat(40_000);
    let sections = {
        let content = binary(1);
        let name = "n".repeat(900);
        let rows: Vec<(&str, &[u8])> = vec![(name.as_str(), &content); 200];
        let mut file = samples::elf_sections(&rows);
        // All sections have the range of the first.
        let table = usize::try_from(u64::from_le_bytes(file[40..48].try_into().unwrap())).unwrap();
        for row in 2..201 {
            file.copy_within(table + 88..table + 104, table + row * 64 + 24);
        }
        file
    };
    for (name, file) in [
        ("chain", chain),
        ("binaries", binaries),
        ("wide", wide),
        ("bundle", bundle),
        ("streams", streams),
        ("bundles", bundles),
        ("sections", sections),
    ] {
        let begun = Instant::now();
        carve_with(&file, name, &limits);
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn thin_archives_are_noted() {
    let mut file = samples::archive_gnu(&[("m.o", b"")]);
    file[2..6].copy_from_slice(b"thin");
    let (found, diagnostics) = carve_with(&file, "thin.a", &Limits::default());
    assert_eq!((found.len(), rules(&diagnostics)), (0, vec!["archive-thin"]));
    assert!(!diagnostics.has_errors());
}
