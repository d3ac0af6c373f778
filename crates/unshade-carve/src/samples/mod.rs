//! Builds small files of every kind for the tests. Each follows the layout in the modules' documentation, and uses none
//! of the code under test.

pub(crate) mod kinds;

use lzma_rust2::filter::FilterType;
use lzma_rust2::{LzmaOptions, LzmaWriter, Write as _, XzOptions, XzWriter};
use std::io::Write as _;

/// The smallest Metal library: no functions. Equal to the test fixture of MetalLibraryExplorer.
pub(crate) fn metallib() -> Vec<u8> {
    let mut library = vec![0; 92];
    library[..12].copy_from_slice(b"MTLB\x01\x80\x02\x00\x02\x00\x00\x00");
    library[16] = 92;
    library[24] = 88;
    for section in [40, 56, 72] {
        library[section] = 92;
    }
    library
}

/// A universal library with one slice.
pub(crate) fn universal() -> Vec<u8> {
    let mut data = vec![0; 48];
    data[..8].copy_from_slice(&[0xcb, 0xfe, 0xba, 0xbe, 0, 0, 0, 1]);
    data[8..28].copy_from_slice(&[1, 0, 0, 0x17, 0, 0, 0, 0xc, 0, 0, 0, 48, 0, 0, 0, 92, 0, 0, 0, 4]);
    data.extend(metallib());
    data
}

/// How a member of a zip archive is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Stored,
    Deflate,
    Bzip2,
    Zstd,
    /// Deflate, with sizes and checksum after the data.
    Streamed,
    /// Stored, with the flag for encryption.
    Encrypted,
    Xz,
    Lzma,
    /// LZMA that an end marker ends, as Python writes it.
    LzmaMarked,
    /// A method that carving does not support.
    Ppmd,
}

/// A zip archive.
pub(crate) fn zip(members: &[(&str, Packing, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, packing, data) in members {
        let (method, packed): (u16, Vec<u8>) = match packing {
            Packing::Stored | Packing::Encrypted => (0, data.to_vec()),
            Packing::Deflate | Packing::Streamed => (8, deflate(data)),
            Packing::Bzip2 => (12, bzip2(data)),
            Packing::Zstd => (93, zstd(data)),
            Packing::Xz => (95, xz(data)),
            Packing::Lzma => (14, zip_lzma(data, false)),
            Packing::LzmaMarked => (14, zip_lzma(data, true)),
            Packing::Ppmd => (98, data.to_vec()),
        };
        let flags: u16 = match packing {
            Packing::Encrypted => 1,
            Packing::Streamed => 8,
            Packing::LzmaMarked => 2,
            _ => 0,
        };
        let mut crc = flate2::Crc::new();
        crc.update(data);
        let header = out.len();
        let sizes = [crc.sum(), packed.len() as u32, data.len() as u32].map(u32::to_le_bytes).concat();
        let early = if flags == 8 { vec![0; 12] } else { sizes.clone() };
        let time = [0_u8; 4];
        out.extend(
            [b"PK\x03\x04\x14\0".as_slice(), &flags.to_le_bytes(), &method.to_le_bytes(), &time, &early]
                .concat(),
        );
        out.extend([(name.len() as u16).to_le_bytes(), [0, 0]].concat());
        out.extend(name.as_bytes());
        out.extend(&packed);
        if flags == 8 {
            out.extend([b"PK\x07\x08".as_slice(), &sizes].concat());
        }
        directory.extend(
            [
                b"PK\x01\x02\x14\0\x14\0".as_slice(),
                &flags.to_le_bytes(),
                &method.to_le_bytes(),
                &time,
                &sizes,
            ]
            .concat(),
        );
        directory.extend(
            [&(name.len() as u16).to_le_bytes()[..], &[0; 12], &(header as u32).to_le_bytes()].concat(),
        );
        directory.extend(name.as_bytes());
    }
    let end = zip_end(members.len() as u16, directory.len() as u32, out.len() as u32);
    [out, directory, end].concat()
}

/// The end record of a zip archive.
pub(crate) fn zip_end(count: u16, size: u32, start: u32) -> Vec<u8> {
    let count = count.to_le_bytes();
    [b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &size.to_le_bytes(), &start.to_le_bytes(), &[0, 0]]
        .concat()
}

/// Builds the same archive, of one stored member, with all its numbers in the wide fields of Zip64.
pub(crate) fn zip64(name: &str, data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(data);
    let wide = |numbers: &[u64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        [&[1, 0][..], &(bytes.len() as u16).to_le_bytes(), &bytes].concat()
    };
    let name_size = (name.len() as u16).to_le_bytes();
    let size = data.len() as u64;
    let sizes = [&crc.sum().to_le_bytes()[..], &[0xff; 8], &name_size].concat();
    let local_extra = wide(&[size, size]);
    let local =
        [b"PK\x03\x04\x2d\0\0\0\0\0\0\0\0\0".as_slice(), &sizes, &(local_extra.len() as u16).to_le_bytes()];
    let local = [local.concat(), name.as_bytes().to_vec(), local_extra, data.to_vec()].concat();
    let extra = wide(&[size, size, 0]);
    let mut entry = [b"PK\x01\x02\x2d\0\x2d\0\0\0\0\0\0\0\0\0".as_slice(), &sizes].concat();
    entry.extend(
        [&(extra.len() as u16).to_le_bytes()[..], &[0; 10], &[0xff; 4], name.as_bytes(), &extra].concat(),
    );
    let (start, size) = (local.len() as u64, entry.len() as u64);
    let record = [1, 1, size, start].map(u64::to_le_bytes).concat();
    let record =
        [b"PK\x06\x06".as_slice(), &44_u64.to_le_bytes(), &[0x2d, 0, 0x2d, 0], &[0; 8], &record].concat();
    let locator = [b"PK\x06\x07\0\0\0\0".as_slice(), &(start + size).to_le_bytes(), &[1, 0, 0, 0]].concat();
    let end = zip_end(0xffff, u32::MAX, u32::MAX);
    [local, entry, record, locator, end].concat()
}

/// Bare deflate data.
pub(crate) fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A zlib stream.
pub(crate) fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Builds a gzip stream, with the name in its header if there is one.
pub(crate) fn gzip(name: Option<&str>, data: &[u8]) -> Vec<u8> {
    let builder = flate2::GzBuilder::new();
    let builder = match name {
        Some(name) => builder.filename(name).comment("a comment").extra(vec![1, 2, 3]),
        None => builder,
    };
    let mut encoder = builder.write(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A bzip2 stream.
pub(crate) fn bzip2(data: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A Zstandard frame.
pub(crate) fn zstd(data: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Builds a stream of xz.
pub(crate) fn xz(data: &[u8]) -> Vec<u8> {
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Builds a stream of xz whose blocks have these filters before LZMA2.
pub(crate) fn xz_filtered(filters: &[(FilterType, u32)], data: &[u8]) -> Vec<u8> {
    let mut options = XzOptions::with_preset(1);
    filters.iter().rev().for_each(|&(filter, property)| options.prepend_pre_filter(filter, property));
    let mut encoder = XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Builds a file of LZMA, of a size that is stated or not.
pub(crate) fn lzma(data: &[u8], states_size: bool) -> Vec<u8> {
    let size = states_size.then_some(data.len() as u64);
    let options = LzmaOptions::with_preset(1);
    let mut encoder = LzmaWriter::new_use_header(Vec::new(), &options, size).unwrap();
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Builds the data of a zip member: LZMA with a header of another layout.
fn zip_lzma(data: &[u8], is_marked: bool) -> Vec<u8> {
    let file = lzma(data, !is_marked);
    [&[9, 20, 5, 0], &file[..5], &file[13..]].concat()
}

/// Builds a frame of LZ4 of independent blocks.
pub(crate) fn lz4(data: &[u8]) -> Vec<u8> {
    let mut frame = b"\x04\x22\x4d\x18\x60\x40\x82".to_vec();
    for block in data.chunks(64 << 10) {
        let packed = lz4_flex::block::compress(block);
        frame.extend((packed.len() as u32).to_le_bytes());
        frame.extend(packed);
    }
    frame.extend([0; 4]);
    frame
}

/// Builds a frame of LZ4 in the legacy format.
pub(crate) fn lz4_legacy(data: &[u8]) -> Vec<u8> {
    let mut frame = b"\x02\x21\x4c\x18".to_vec();
    for block in data.chunks(8 << 20) {
        let packed = lz4_flex::block::compress(block);
        frame.extend((packed.len() as u32).to_le_bytes());
        frame.extend(packed);
    }
    frame
}

/// Builds the source code of an array in C, of numbers of some bytes each.
pub(crate) fn array(data: &[u8], width: usize) -> Vec<u8> {
    let mut text = String::from("/* A shader. */\nstatic const unsigned char shader[] = {\n");
    for (index, bytes) in data.chunks(width).enumerate() {
        let value = bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        text += &if index % 2 == 0 { format!("  {value:#x}, // {index}\n") } else { format!("{value},") };
    }
    (text + "\n};\n").into_bytes()
}

/// Builds base64 in lines of 76 characters.
pub(crate) fn base64(data: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = b"{\"shader\": \"".to_vec();
    let start = out.len();
    for bytes in data.chunks(3) {
        let bits = bytes.iter().chain(&[0; 2]).take(3).fold(0, |bits, &byte| bits << 8 | usize::from(byte));
        let letters = [18, 12, 6, 0].map(|shift| LETTERS[bits >> shift & 63]);
        out.extend(&letters[..=bytes.len()]);
        out.extend(&b"=="[..3 - bytes.len()]);
        if (out.len() - start) % 77 == 76 {
            out.push(b'\n');
        }
    }
    out.extend(b"\"}\n");
    out
}

/// Builds a Debian package.
pub(crate) fn deb(members: &[(&str, &[u8])]) -> Vec<u8> {
    let control = xz(&tar(&[("./control", b"Package: shaders\n")]));
    let data = xz(&tar(members));
    let mut out = b"!<arch>\n".to_vec();
    for (name, content) in
        [("debian-binary", &b"2.0\n"[..]), ("control.tar.xz", &control), ("data.tar.xz", &data)]
    {
        out.extend(archive_member(name, content));
    }
    out
}

/// Builds a header of a tar archive, followed by its data.
pub(crate) fn tar_member(name: &[u8], kind: u8, data: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", data.len()).as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend(data);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

/// A tar archive.
pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out: Vec<u8> =
        members.iter().flat_map(|(name, data)| tar_member(name.as_bytes(), b'0', data)).collect();
    out.extend([0; 1_024]);
    out
}

/// Builds a header of a static archive, followed by its data.
fn archive_member(name: &str, data: &[u8]) -> Vec<u8> {
    let mut out = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).into_bytes();
    out.extend(data);
    if !data.len().is_multiple_of(2) {
        out.push(b'\n');
    }
    out
}

/// Builds a static archive as Apple's tools write it.
pub(crate) fn archive_bsd(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    out.extend(archive_member("#1/12", b"__.SYMDEF\0\0\0\0\0\0\0"));
    for (name, data) in members {
        let mut content = name.as_bytes().to_vec();
        content.resize(content.len().next_multiple_of(8), 0);
        let field = format!("#1/{}", content.len());
        content.extend(*data);
        out.extend(archive_member(&field, &content));
    }
    out
}

/// Builds a static archive as GNU's tools write it.
pub(crate) fn archive_gnu(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = String::new();
    let mut tail = Vec::new();
    for (name, data) in members {
        if name.len() < 16 {
            tail.extend(archive_member(&format!("{name}/"), data));
        } else {
            tail.extend(archive_member(&format!("/{}", names.len()), data));
            names.push_str(name);
            names.push_str("/\n");
        }
    }
    let mut out = b"!<arch>\n".to_vec();
    out.extend(archive_member("/", &[0; 4]));
    out.extend(archive_member("//", names.as_bytes()));
    out.extend(tail);
    out
}

/// Returns the four bytes of a number, in either order.
fn word(value: usize, is_big: bool) -> [u8; 4] {
    if is_big { (value as u32).to_be_bytes() } else { (value as u32).to_le_bytes() }
}

/// Builds a Mach-O file with a section `__TEXT,__text` of 16 bytes and a section `__TEXT,metal_40`.
pub(crate) fn mach(is_64: bool, is_big: bool, content: &[u8]) -> Vec<u8> {
    let (header, segment, section) = if is_64 { (32, 72, 80) } else { (28, 56, 68) };
    let commands = segment + 2 * section;
    let start = header + commands;
    let mut out = word(if is_64 { 0xfeed_facf } else { 0xfeed_face }, is_big).to_vec();
    let cpu = if is_64 { 0x0100_000c } else { 7 };
    for value in [cpu, 0, 6, 1, commands, 0] {
        out.extend(word(value, is_big));
    }
    out.resize(header, 0);
    out.extend(word(if is_64 { 0x19 } else { 1 }, is_big));
    out.extend(word(commands, is_big));
    out.extend(b"__TEXT\0\0\0\0\0\0\0\0\0\0");
    out.resize(header + segment, 0);
    out[header + segment - 8..][..4].copy_from_slice(&word(2, is_big));
    for (name, offset, size) in [("__text", start, 16), ("metal_40", start + 16, content.len())] {
        let at = out.len();
        out.resize(at + section, 0);
        out[at..at + name.len()].copy_from_slice(name.as_bytes());
        out[at + 16..at + 22].copy_from_slice(b"__TEXT");
        let (size_at, offset_at) =
            if is_64 { (at + 40 + if is_big { 4 } else { 0 }, at + 48) } else { (at + 36, at + 40) };
        out[size_at..size_at + 4].copy_from_slice(&word(size, is_big));
        out[offset_at..offset_at + 4].copy_from_slice(&word(offset, is_big));
    }
    out.extend([0x90; 16]);
    out.extend(content);
    out
}

/// Builds a Mach-O universal file for x86_64 and arm64.
pub(crate) fn mach_universal(slices: [&[u8]; 2]) -> Vec<u8> {
    let starts = [64, 64 + slices[0].len().next_multiple_of(16)];
    let mut out = [0xcafe_babe_u32, 2].map(u32::to_be_bytes).concat();
    for (index, cpu) in [(0, 0x0100_0007_u32), (1, 0x0100_000c)] {
        let fields = [cpu, 3, starts[index] as u32, slices[index].len() as u32, 4];
        out.extend(fields.map(u32::to_be_bytes).concat());
    }
    for (start, slice) in starts.into_iter().zip(slices) {
        out.resize(start, 0);
        out.extend(slice);
    }
    out
}

/// Builds an ELF file with a section `.rodata.shaders`.
pub(crate) fn elf(is_64: bool, content: &[u8]) -> Vec<u8> {
    let header = if is_64 { 64 } else { 52 };
    let entry = if is_64 { 64 } else { 40 };
    let names = b"\0.rodata.shaders\0.shstrtab\0";
    let names_at = header + content.len();
    let table = (names_at + names.len()).next_multiple_of(8);
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out[4] = if is_64 { 2 } else { 1 };
    out.resize(header, 0);
    out[16..20].copy_from_slice(&[3, 0, 62, 0]);
    let (table_at, sizes_at) = if is_64 { (40, 58) } else { (32, 46) };
    out[table_at..table_at + 4].copy_from_slice(&word(table, false));
    out[sizes_at..sizes_at + 6].copy_from_slice(&[entry as u8, 0, 3, 0, 2, 0]);
    out.extend(content);
    out.extend(names);
    out.resize(table, 0);
    for (name, kind, start, size) in
        [(0, 0, 0, 0), (1, 1, header, content.len()), (17, 3, names_at, names.len())]
    {
        let at = out.len();
        out.resize(at + entry, 0);
        let fields = if is_64 { [0, 4, 24, 32] } else { [0, 4, 16, 20] };
        for (field, value) in fields.into_iter().zip([name, kind, start, size]) {
            out[at + field..at + field + 4].copy_from_slice(&word(value, false));
        }
    }
    out
}

/// Builds a COFF header and a section table with `.rdata` and a section whose name is in the string table, the data,
/// and the string table. `before` is the number of bytes before the header, `optional` the optional header.
fn coff(before: usize, optional: &[u8], content: &[u8]) -> Vec<u8> {
    let data = before + 20 + optional.len() + 80;
    let strings = data + 16 + content.len();
    let mut out = [0x64, 0x86, 2, 0, 0, 0, 0, 0].to_vec();
    out.extend(word(strings, false));
    out.extend([0; 4]);
    out.extend((optional.len() as u16).to_le_bytes());
    out.extend([0; 2]);
    out.extend(optional);
    for (name, start, size) in [(b".rdata\0\0", data, 16), (b"/4\0\0\0\0\0\0", data + 16, content.len())] {
        out.extend(name);
        out.extend([0; 8]);
        out.extend(word(size, false));
        out.extend(word(start, false));
        out.extend([0; 16]);
    }
    out.extend([0x90; 16]);
    out.extend(content);
    out.extend(word(21, false));
    out.extend(b"a_very_long_name\0");
    out
}

/// A PE32+ file.
pub(crate) fn pe(content: &[u8]) -> Vec<u8> {
    let mut out = b"MZ".to_vec();
    out.resize(0x80, 0);
    out[0x3c] = 0x80;
    out.extend(b"PE\0\0");
    let mut optional = vec![0; 112];
    optional[..2].copy_from_slice(&[0x0b, 0x02]);
    out.extend(coff(0x84, &optional, content));
    out
}

/// A COFF object.
pub(crate) fn coff_object(content: &[u8]) -> Vec<u8> {
    coff(0, &[], content)
}

/// Builds the index and the store of a `.gputrace`. Each piece is a name, its data, and whether they are compressed.
pub(crate) fn gputrace(pieces: &[(&str, &[u8], bool)]) -> (Vec<u8>, Vec<u8>) {
    let mut store = Vec::new();
    let mut table = Vec::new();
    let mut lengths = Vec::new();
    let mut names = Vec::new();
    for (name, data, is_packed) in pieces {
        let packed = if *is_packed { zlib(data) } else { data.to_vec() };
        table.extend([data.len() as u32, packed.len() as u32].map(u32::to_le_bytes).concat());
        table.extend((store.len() as u64).to_le_bytes());
        table.extend([0; 8]);
        lengths.extend((name.len() as u16).to_le_bytes());
        names.extend([name.as_bytes(), b"\0"].concat());
        store.extend(packed);
    }
    let count = pieces.len() as u32;
    let buckets = 5_u32;
    let mut index = b"xdic".to_vec();
    index.extend([1, buckets, count, count].map(u32::to_le_bytes).concat());
    index.extend(vec![0xee; buckets as usize * 4]);
    index.extend([table, lengths, names].concat());
    (index, store)
}

/// Builds the header of a block of bitcode, and as many zero words as it states.
fn bitcode_block(id: u32, width: u32, words: u32) -> Vec<u8> {
    let mut out = [1 | id << 2 | width << 10, words].map(u32::to_le_bytes).concat();
    out.resize(out.len() + 4 * words as usize, 0);
    out
}

/// Builds bitcode with empty blocks `IDENTIFICATION`, `MODULE` and `STRTAB`: 56 bytes.
pub(super) fn bitcode() -> Vec<u8> {
    let blocks = [bitcode_block(13, 5, 2), bitcode_block(8, 3, 4), bitcode_block(23, 3, 1)];
    [&b"BC\xc0\xde"[..], &blocks.concat()].concat()
}

/// Builds bitcode with two modules, as LLVM wrote it before there were other blocks.
pub(super) fn old_bitcode() -> Vec<u8> {
    [&b"BC\xc0\xde"[..], &bitcode_block(8, 3, 4), &bitcode_block(8, 3, 1)].concat()
}

/// Builds bitcode in a wrapper, padded to a multiple of 16 bytes.
pub(super) fn wrapped_bitcode() -> Vec<u8> {
    let stream = bitcode();
    let mut out = [0x0b17_c0de, 0, 20, stream.len() as u32, u32::MAX].map(u32::to_le_bytes).concat();
    out.extend(stream);
    out.resize(out.len().next_multiple_of(16), 0);
    out
}

/// Builds a bundle as `clang-offload-bundler` writes it.
pub(super) fn offload_bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut table = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    table.extend((entries.len() as u64).to_le_bytes());
    let mut start = table.len() + entries.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
    for (id, content) in entries {
        table.extend([start, content.len(), id.len()].map(|number| (number as u64).to_le_bytes()).concat());
        table.extend(id.as_bytes());
        start += content.len();
    }
    entries.iter().for_each(|(_, content)| table.extend(*content));
    table
}

/// Builds a compressed bundle of each version, with zlib or Zstandard.
pub(super) fn compressed_bundle(version: u16, bundle: &[u8]) -> Vec<u8> {
    let is_zstd = version > 1;
    let packed = if is_zstd { zstd(bundle) } else { zlib(bundle) };
    let mut out = b"CCOB".to_vec();
    out.extend([version, u16::from(is_zstd)].map(u16::to_le_bytes).concat());
    let header = [20, 24, 32][usize::from(version) - 1];
    let sizes = [(header + packed.len()) as u64, bundle.len() as u64];
    match version {
        1 => out.extend((bundle.len() as u32).to_le_bytes()),
        2 => out.extend(sizes.map(|size| (size as u32).to_le_bytes()).concat()),
        _ => out.extend(sizes.map(u64::to_le_bytes).concat()),
    }
    out.extend([0xee; 8]);
    out.extend(packed);
    out
}

/// Builds a binary as `clang-offload-packager` writes it: kind of offloading, triple, architecture, image. Version 1
/// has one entry.
pub(super) fn offload_binary(version: u32, entries: &[(u16, &str, &str, &[u8])]) -> Vec<u8> {
    let count = entries.len();
    let pair = if version == 1 { 16 } else { 24 };
    let mut maps = Vec::new();
    let mut tail = b"triple\0arch\0".to_vec();
    let tail_at = 32 + count * 40 + count * 2 * pair;
    let mut out =
        [&[0x10, 0xff, 0x10, 0xad][..], &version.to_le_bytes(), &[0; 8], &32_u64.to_le_bytes()].concat();
    out.extend((if version == 1 { 40 } else { count as u64 }).to_le_bytes());
    for (index, (kind, triple, arch, image)) in entries.iter().enumerate() {
        for (key, value) in [(0, triple), (7, arch)] {
            maps.extend([tail_at + key, tail_at + tail.len()].map(|at| (at as u64).to_le_bytes()).concat());
            if version > 1 {
                maps.extend((value.len() as u64).to_le_bytes());
            }
            tail.extend([value.as_bytes(), b"\0"].concat());
        }
        tail.resize(tail.len().next_multiple_of(8), 0);
        out.extend([2_u16, *kind].map(u16::to_le_bytes).concat());
        out.extend([0; 4]);
        let strings = 32 + count * 40 + index * 2 * pair;
        let fields = [strings, 2, tail_at + tail.len(), image.len()];
        out.extend(fields.map(|field| (field as u64).to_le_bytes()).concat());
        tail.extend(*image);
    }
    out.extend([maps, tail].concat());
    out.resize(out.len().next_multiple_of(8), 0);
    let size = out.len() as u64;
    out[8..16].copy_from_slice(&size.to_le_bytes());
    out
}

/// Builds an ELF file for 64-bit machines with these sections.
pub(super) fn elf_sections(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(64, 0);
    out[16..20].copy_from_slice(&[1, 0, 62, 0]);
    let mut names = b"\0.shstrtab\0".to_vec();
    let mut rows = vec![[0; 4]];
    for (name, content) in sections {
        rows.push([names.len(), 1, out.len(), content.len()]);
        names.extend([name.as_bytes(), b"\0"].concat());
        out.extend(*content);
    }
    rows.push([1, 3, out.len(), names.len()]);
    out.extend(names);
    out.resize(out.len().next_multiple_of(8), 0);
    let table = (out.len() as u64).to_le_bytes();
    out[40..48].copy_from_slice(&table);
    out[58..64].copy_from_slice(&[64, 0, rows.len() as u8, 0, rows.len() as u8 - 1, 0]);
    for row in rows {
        let at = out.len();
        out.resize(at + 64, 0);
        for (field, value) in [0, 4, 24, 32].into_iter().zip(row) {
            out[at + field..at + field + 4].copy_from_slice(&word(value, false));
        }
    }
    out
}
