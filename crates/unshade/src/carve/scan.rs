//! Finding GPU programs in the midst of other bytes.
//!
//! Each format is a row of [`MAGICS`]: the bytes that it begins with, and a function that looks at what follows and
//! says how long the program states to be, or that it's none. Another format is another row.
//!
//! The bytes are searched with `memchr::memmem`, one pass for each magic number over a window that stays in the
//! processor's cache. Measured on one thread of a small virtual machine: 9 to 17 GB/s for two magic numbers, 4.7 GB/s for
//! five, on random bytes as on large libraries. (The packed searcher of `aho-corasick` does 9 GB/s for either;
//! it is worth its place from about ten rows on, and has no SIMD on wasm, where `memmem` has.)
//!
//! # What is asked of a Metal library
//! From 531 real files, and no false positive in gigabytes of wheels, images and object code:
//!
//! | offset | field | rule |
//! |---|---|---|
//! | 0 | `MTLB` | |
//! | 4 | u16: bits 0–14 major version, bit 15 macOS | major is 0 or 1 |
//! | 16 | u64 size of the library | at least the header's 88 bytes |
//! | 24 | u64 offset and u64 size of function list, public metadata, private metadata, bitcode | each behind the header and inside of the size |
//!
//! If the size is more than there are bytes left, all the other rules still hold of a library that was cut off, so
//! it's reported as truncated.
//!
//! # What is asked of a universal library
//! Big-endian: u32 `0xCBFEBABE`, u32 count, then 20-byte entries {processor, its kind, offset, size, alignment as a
//! power of two}. Count is 1 to [`MAX_SLICES`], every entry is behind the table, not empty and aligned as it says.
//!
//! # What is asked of a DXContainer
//! `DXBC`, 16 bytes of digest, u16 major version 1, u16 minor version, u32 size, u32 count of parts, and so many u32
//! offsets. Count is 1 to [`MAX_PARTS`]; the size has room for the directory and a header for each part; every part
//! starts behind the directory and the part before it, and ends inside of the size. All of 3,817 real containers are so;
//! what begins like one and is not is compressed, as in DirectML's resources, which start with bytes as they are.
//!
//! # What is asked of a CUDA fat binary
//! u32 `0xBA55ED50`, u16 version 1, u16 size of the header 16, u64 size of what follows.
//!
//! # What is asked of a cubin
//! `\x7fELF`, class 1 or 2, machine 190, and a section table whose entries have the size of the class. A cubin has no
//! size of its own: it ends where the last of its tables and sections does.
//!
//! # What is asked of a program of Shader Model 1 to 3
//! It has no magic number but a version token, `0x0101FFFE` or the like, which is looked for at multiples of four: compilers
//! align what they embed. Behind it every instruction has to be one of that version with as many operands as it takes,
//! one of them has to compute something, and an end token has to follow. In 2.3 GB of wheels that finds 14, all of them
//! programs of ANGLE's and SDL's that draw with Direct3D 9.
//!
//! # What is asked of PTX
//! `.version`, a version, and `.target` within the next [`MAX_PTX_GAP`] bytes. It begins with the comment lines before it,
//! and ends before the first byte that is no text.

use super::fields::Fields;
use crate::format::Format;
use memchr::memmem::{Finder, FinderBuilder, Prefilter};
use std::ops::Range;
use std::sync::LazyLock;

/// A format that can be recognised by its first bytes.
pub(crate) struct Magic {
    /// The bytes that a program begins with.
    bytes: &'static [u8],
    /// What it is then.
    format: Format,
    /// How many bytes the program states to have, if what begins here looks like one. It is given all bytes from the
    /// magic number to the end of the run, and must not take longer for more of them.
    check: fn(&[u8]) -> Option<u64>,
    /// Whether a file that begins with the magic number can be nothing else, so that it's called by this name even
    /// if the check fails.
    unmistakable: bool,
    /// How many bytes before the magic number belong to the program. It is given all bytes before the magic number.
    lead: fn(&[u8]) -> usize,
}

/// What begins with its magic number.
fn no_lead(_: &[u8]) -> usize {
    0
}

/// The formats that are found.
pub(crate) const MAGICS: &[Magic] = &[
    Magic {
        bytes: b"MTLB",
        format: Format::MetalLibrary,
        check: check_metal_library,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: &[0xcb, 0xfe, 0xba, 0xbe],
        format: Format::MetalUniversal,
        check: check_metal_universal,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: b"DXBC",
        format: Format::DxContainer,
        check: check_dxcontainer,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: &[0x50, 0xed, 0x55, 0xba],
        format: Format::Fatbin,
        check: check_fatbin,
        unmistakable: true,
        lead: no_lead,
    },
    Magic {
        bytes: b"\x7fELF",
        format: Format::Cubin,
        check: check_cubin,
        unmistakable: false,
        lead: no_lead,
    },
    Magic { bytes: PTX_MAGIC, format: Format::Ptx, check: check_ptx, unmistakable: false, lead: ptx_lead },
];

/// The directive that every PTX file begins with, behind comments.
const PTX_MAGIC: &[u8] = b".version";

/// How far `.target` may be from `.version`.
const MAX_PTX_GAP: usize = 256;

/// How long the comments before `.version` may be.
const MAX_PTX_LEAD: usize = 4_096;

/// The most entries that a universal library is believed to have. Real ones have a handful.
const MAX_SLICES: u32 = 256;

/// How many bytes are searched for one magic number before the next one's turn: they should stay in the second-level
/// cache.
const WINDOW: usize = 256 << 10;

/// Programs of Shader Model 1 to 3, which are found by [`version_tokens`].
static DIRECT3D9: Magic = Magic {
    bytes: &[],
    format: Format::Direct3d9,
    check: |data| unshade_dxbc::d3d9::measure_embedded(data).0.map(|size| size as u64),
    unmistakable: false,
    lead: no_lead,
};

/// Where a run of bytes has the version token of such a program, at multiples of four.
fn version_tokens(data: &[u8], range: Range<usize>) -> impl Iterator<Item = usize> {
    // So many at a time are looked at by instructions for many words.
    const GROUP: usize = 64;
    // Major version 0 to 3 and minor version 0 to 7 of a pixel or vertex shader.
    let may_be_one = |word: &[u8]| {
        word.first_chunk().is_some_and(|word| u32::from_le_bytes(*word) & 0xfffe_fcf8 == 0xfffe_0000)
    };
    let start = range.start.next_multiple_of(4);
    let groups = data.get(start..range.end).unwrap_or_default().chunks(GROUP);
    let is_wanted =
        move |group: &&[u8]| group.chunks_exact(4).fold(false, |any, word| any | may_be_one(word));
    let places = (start..).step_by(GROUP).zip(groups).filter(move |(_, group)| is_wanted(group));
    places.flat_map(move |(start, group)| {
        let words = (start..).step_by(4).zip(group.chunks_exact(4));
        words.filter(move |(_, word)| may_be_one(word)).map(|(at, _)| at)
    })
}

/// How many tokens are looked at behind what may be version tokens, for each byte that is searched: real files take a
/// hundredth of one, but in hostile ones every token may begin a long program without an end.
const TOKENS_FOR_A_BYTE: usize = 1;

/// Whether a run of bytes is a program of Shader Model 1 to 3 and nothing else. Of a whole run less is asked than in the
/// midst of other bytes.
pub(crate) fn is_direct3d9(bytes: &[u8]) -> bool {
    unshade_dxbc::d3d9::measure(bytes) == Some(bytes.len())
}

/// The format of a run of bytes that begins with a program, or with something that can be nothing else.
pub(crate) fn format_at_start(bytes: &[u8]) -> Option<Format> {
    if starts_ptx(bytes) {
        return Some(Format::Ptx);
    }
    if is_direct3d9(bytes) {
        return Some(Format::Direct3d9);
    }
    let magic = MAGICS.iter().find(|magic| bytes.starts_with(magic.bytes))?;
    (magic.unmistakable || (magic.check)(bytes).is_some()).then_some(magic.format)
}

/// A place where a program begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The offset in the searched bytes.
    pub(crate) start: usize,
    /// What it is.
    pub(crate) format: Format,
    /// The size that it states; [`None`] if it only begins like a program, which is said of the first bytes alone.
    pub(crate) stated: Option<u64>,
}

/// A searcher for each of [`MAGICS`], made once: of small files it takes longer to make than to search.
static FINDERS: LazyLock<Vec<(Finder<'static>, &'static Magic)>> = LazyLock::new(|| {
    let builder = |magic: &'static Magic| {
        (FinderBuilder::new().prefilter(Prefilter::Auto).build_forward(magic.bytes), magic)
    };
    MAGICS.iter().map(builder).collect()
});

/// Searches for every magic number.
#[derive(Default)]
pub(crate) struct Scanner {
    /// The places of one window, in order.
    hits: Vec<(usize, &'static Magic)>,
    /// Whether there were so many beginnings of programs of Shader Model 1 to 3 that no more were looked at.
    pub(crate) is_overtaxed: bool,
}

impl Scanner {
    /// Calls `found` for every program that begins in a range of the data, in order. What `found` returns is where
    /// the search goes on; [`None`] ends it. Tells how many magic numbers turned out to begin nothing.
    pub(crate) fn scan(
        &mut self,
        data: &[u8],
        range: Range<usize>,
        found: &mut dyn FnMut(Hit) -> Option<usize>,
    ) -> u64 {
        let mut false_starts = 0_u64;
        let end = range.end.min(data.len());
        let mut tokens_left = range.len().saturating_mul(TOKENS_FOR_A_BYTE);
        let mut at = range.start;
        while at < end {
            let window_end = at.saturating_add(WINDOW).min(end);
            self.collect(data, at..window_end);
            for &(start, magic) in &self.hits {
                if start < at {
                    continue;
                }
                let bytes = data.get(start..).unwrap_or_default();
                let stated = if magic.format == Format::Direct3d9 {
                    if tokens_left == 0 {
                        self.is_overtaxed = true;
                        continue;
                    }
                    let (size, looked_at) = unshade_dxbc::d3d9::measure_embedded(bytes);
                    tokens_left = tokens_left.saturating_sub(looked_at);
                    size.map(|size| size as u64)
                } else {
                    (magic.check)(bytes)
                };
                // The whole run was made to be this, but is damaged.
                let damaged = start == 0 && magic.unmistakable;
                if stated.is_none() && !damaged {
                    false_starts = false_starts.saturating_add(1);
                    continue;
                }
                // What stands before the magic number, but not what was found or passed over already.
                let before = data.get(at..start).unwrap_or_default();
                let lead = (magic.lead)(before).min(before.len());
                let hit = Hit {
                    start: start.saturating_sub(lead),
                    format: magic.format,
                    stated: stated.map(|stated| stated.saturating_add(lead as u64)),
                };
                match found(hit) {
                    Some(next) => at = next.max(start.saturating_add(1)),
                    None => return false_starts,
                }
            }
            at = at.max(window_end);
        }
        false_starts
    }

    /// Gathers the places in a window where a magic number begins.
    fn collect(&mut self, data: &[u8], window: Range<usize>) {
        self.hits.clear();
        for (finder, magic) in FINDERS.iter() {
            // A magic number that begins in the window may end behind it.
            let end = window.end.saturating_add(magic.bytes.len().saturating_sub(1)).min(data.len());
            let bytes = data.get(window.start..end).unwrap_or_default();
            self.hits.extend(finder.find_iter(bytes).map(|at| (window.start.saturating_add(at), *magic)));
        }
        self.hits.extend(version_tokens(data, window).map(|at| (at, &DIRECT3D9)));
        self.hits.sort_by_key(|&(start, _)| start);
    }
}

/// How long a Metal library is. See the rules at the top of the module.
fn check_metal_library(data: &[u8]) -> Option<u64> {
    const HEADER: u64 = 88;
    let fields = Fields::little(data);
    let size = fields.u64(16)?;
    if fields.u16(4)? & 0x7fff > 1 || size < HEADER {
        return None;
    }
    for section in [24, 40, 56, 72] {
        let (start, length) = (fields.u64(section)?, fields.u64(section.checked_add(8)?)?);
        if start < HEADER || start.checked_add(length)? > size {
            return None;
        }
    }
    Some(size)
}

/// How long a universal library is: up to the end of its last slice.
fn check_metal_universal(data: &[u8]) -> Option<u64> {
    let fields = Fields::big(data);
    let count = fields.u32(4)?;
    if count == 0 || count > MAX_SLICES {
        return None;
    }
    let table_end = u64::from(count).checked_mul(20)?.checked_add(8)?;
    let mut end = table_end;
    let mut at = 8_usize;
    for _ in 0..count {
        let (start, size) = (fields.u32(at.checked_add(8)?)?, fields.u32(at.checked_add(12)?)?);
        let alignment = fields.u32(at.checked_add(16)?)?;
        if u64::from(start) < table_end || size == 0 || alignment > 31 || start.trailing_zeros() < alignment {
            return None;
        }
        end = end.max(u64::from(start).checked_add(u64::from(size))?);
        at = at.checked_add(20)?;
    }
    Some(end)
}

/// The most parts that a container is believed to have. Real ones have up to ten, libraries one more a function.
const MAX_PARTS: u32 = 4096;

/// How long a DXContainer is. See the rules at the top of the module.
fn check_dxcontainer(data: &[u8]) -> Option<u64> {
    const HEADER: u64 = 32;
    const PART_HEADER: u64 = 8;
    let fields = Fields::little(data);
    let (major, size, count) = (fields.u16(20)?, u64::from(fields.u32(24)?), fields.u32(28)?);
    if major != 1 || count == 0 || count > MAX_PARTS {
        return None;
    }
    let directory_end = u64::from(count).checked_mul(4)?.checked_add(HEADER)?;
    let mut at = 32_usize;
    let mut free = directory_end;
    for _ in 0..count {
        let start = u64::from(fields.u32(at)?);
        // Of a container that is cut off the part may not be there.
        let part_size = usize::try_from(start).ok().and_then(|start| fields.u32(start.checked_add(4)?));
        let end = start.checked_add(PART_HEADER)?.checked_add(part_size.unwrap_or_default().into())?;
        if start < free || end > size {
            return None;
        }
        free = end;
        at = at.checked_add(4)?;
    }
    Some(size)
}

/// How long a fat binary is.
fn check_fatbin(data: &[u8]) -> Option<u64> {
    const HEADER: u16 = 16;
    let fields = Fields::little(data);
    if fields.u16(4)? != 1 || fields.u16(6)? != HEADER {
        return None;
    }
    fields.u64(8)?.checked_add(u64::from(HEADER))
}

/// How long a cubin is: up to the end of its last table or section. Sections that lie outside of the data do not count,
/// so that what is found is always behind the table that was read for it, and no table is read twice.
fn check_cubin(data: &[u8]) -> Option<u64> {
    let fields = Fields::little(data);
    let is_64 = match fields.u8(4)? {
        1 => false,
        2 => true,
        _ => return None,
    };
    if fields.u16(18)? != unshade_nv::elf::MACHINE {
        return None;
    }
    let (header, section, segment, tables) = if is_64 { (64, 64, 56, 32) } else { (52, 40, 32, 28) };
    let word = if is_64 { 8 } else { 4 };
    let segments = fields.word(tables, is_64)?;
    let sections = fields.word(tables.checked_add(word)?, is_64)?;
    let counts = if is_64 { 54 } else { 42 };
    let number = |index: usize| fields.u16(index.checked_mul(2)?.checked_add(counts)?).map(u64::from);
    let (segment_size, segment_count, section_size, section_count) =
        (number(0)?, number(1)?, number(2)?, number(3)?);
    if section_size != section || sections < header || (segment_count > 0 && segment_size != segment) {
        return None;
    }
    let mut end = sections.checked_add(section_count.checked_mul(section)?)?;
    end = end.max(segments.checked_add(segment_count.checked_mul(segment)?)?).max(header);
    if end > data.len() as u64 {
        return Some(end);
    }
    let mut at = usize::try_from(sections).ok()?;
    for _ in 0..section_count {
        // Type, offset and size.
        let kind = fields.u32(at.checked_add(4)?)?;
        let (offset, size) = if is_64 { (24, 32) } else { (16, 20) };
        let start = fields.word(at.checked_add(offset)?, is_64)?;
        let section_end = start.saturating_add(fields.word(at.checked_add(size)?, is_64)?);
        if unshade_nv::elf::SectionType(kind).has_bytes() && section_end <= data.len() as u64 {
            end = end.max(section_end);
        }
        at = at.checked_add(usize::try_from(section).ok()?)?;
    }
    Some(end)
}

/// How long PTX is.
fn check_ptx(data: &[u8]) -> Option<u64> {
    let head = data.get(..MAX_PTX_GAP).unwrap_or(data);
    let rest = head.strip_prefix(PTX_MAGIC)?.trim_ascii_start();
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let major = digits(rest);
    let minor = rest.get(major..)?.strip_prefix(b".")?;
    if major == 0 || digits(minor) == 0 {
        return None;
    }
    let is_text = |byte: &u8| *byte >= 0x20 || matches!(*byte, b'\n' | b'\r' | b'\t');
    let target = memchr::memmem::find(minor, b".target")?;
    if !minor.get(..target)?.iter().all(is_text) {
        return None;
    }
    let end = data.iter().position(|byte| !is_text(byte)).unwrap_or(data.len());
    Some(end as u64)
}

/// Whether the bytes are PTX from the first one on.
fn starts_ptx(data: &[u8]) -> bool {
    let head = data.get(..MAX_PTX_LEAD).unwrap_or(data);
    if !head.trim_ascii_start().starts_with(b"//") {
        return false;
    }
    memchr::memmem::find(head, PTX_MAGIC).is_some_and(|at| {
        ptx_lead(data.get(..at).unwrap_or_default()) == at
            && data.get(at..).is_some_and(|rest| check_ptx(rest).is_some())
    })
}

/// How many bytes of comment lines and blank lines stand directly before.
fn ptx_lead(before: &[u8]) -> usize {
    let from = before.len().saturating_sub(MAX_PTX_LEAD);
    let near = before.get(from..).unwrap_or_default();
    // Text that a program holds starts behind something that is none.
    let is_odd = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\n' | b'\r' | b'\t');
    let text = near.iter().rposition(is_odd).map_or(0, |odd| odd.saturating_add(1));
    let near = near.get(text..).unwrap_or_default();
    let mut lead = 0_usize;
    // Lines from the last to the first; the last one is what stands before the directive on its own line.
    for line in near.rsplit(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        let is_comment = text.starts_with(b"//") && text.iter().all(|byte| *byte >= 0x20 || *byte == b'\t');
        if !text.is_empty() && !is_comment {
            break;
        }
        // The line break that ended it is counted, too, for all but the last.
        lead = lead.saturating_add(line.len()).saturating_add(1);
    }
    lead.saturating_sub(1).min(near.len())
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn hits(data: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        Scanner::default().scan(data, 0..data.len(), &mut |hit| {
            hits.push(hit);
            Some(hit.start + usize::try_from(hit.stated.unwrap_or(1)).unwrap())
        });
        hits
    }

    #[test]
    fn metal_library_rules() {
        let library = samples::metallib();
        assert_eq!(check_metal_library(&library), Some(92));
        assert_eq!(check_metal_library(&library[..88]), Some(92), "the header is enough");
        assert_eq!(check_metal_library(&library[..87]), None);
        for (at, value, good) in
            [(4, 0, true), (5, 0, true), (4, 2, false), (5, 1, false), (16, 91, false), (16, 87, false)]
        {
            let mut changed = library.clone();
            changed[at] = value;
            assert_eq!(check_metal_library(&changed).is_some(), good, "{value} at {at}");
        }
        for section in [24, 40, 56, 72] {
            let mut changed = library.clone();
            changed[section + 8] = 200;
            assert_eq!(check_metal_library(&changed), None);
            changed[section..section + 16].fill(0xff);
            assert_eq!(check_metal_library(&changed), None);
        }
    }

    /// `mov oC0, c0` of a pixel shader.
    const PIXEL: [u32; 5] = [0xffff_0200, 0x0200_0001, 0x800f_0800, 0xa0e4_0000, 0xffff];

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn direct3d_9_rules() {
        let program = bytes(&PIXEL);
        let found = |before: usize, program: &[u8]| {
            let data = [&vec![7; before], program, &[0xff; 70]].concat();
            hits(&data).iter().map(|hit| (hit.format, hit.start, hit.stated)).collect::<Vec<_>>()
        };
        for before in [0, 4, 60, 64, 1_000] {
            assert_eq!(found(before, &program), [(Format::Direct3d9, before, Some(20))]);
        }
        assert_eq!(found(6, &program), [], "compilers align them");
        // A version that never was, an opcode of another version, an operand too few, no end, nothing that is computed.
        for (at, word) in
            [(0, 0xffff_0400), (0, 0xfffe_0100), (1, 0x0200_0040), (1, 0x0100_0001), (4, 0x1_ffff)]
        {
            let mut changed = PIXEL;
            changed[at] = word;
            assert_eq!(found(4, &bytes(&changed)), [], "{word:#x} at {at}");
        }
        assert_eq!(found(4, &bytes(&[0xffff_0200, 0, 0xffff])), []);
        assert_eq!(found(4, &bytes(&[0xffff_0200, 0xffff])), []);
    }

    #[test]
    fn many_beginnings_without_an_end_take_no_longer() {
        const STARTS: u32 = 8_000;
        // Each is a version token and a comment that ends where a long program does.
        let starts = (0..STARTS).flat_map(|start| [0xffff_0200, (2 * (STARTS - start) - 2) << 16 | 0xfffe]);
        let program = [0x0200_0001, 0x800f_0800, 0xa0e4_0000].repeat(8_000);
        let data = bytes(&starts.chain(program).collect::<Vec<_>>());
        let mut scanner = Scanner::default();
        let looked_at = scanner.scan(&data, 0..data.len(), &mut |_| None);
        assert!(looked_at > 0 && looked_at < 100 && scanner.is_overtaxed, "{looked_at} were looked at");
    }

    #[test]
    fn every_version_token_is_seen() {
        let data = bytes(&[0xfffe_0101; 50]);
        assert_eq!(
            version_tokens(&data, 3..data.len()).collect::<Vec<_>>(),
            (4..200).step_by(4).collect::<Vec<_>>()
        );
        assert_eq!(version_tokens(&data, 8..12).collect::<Vec<_>>(), [8]);
        assert_eq!(version_tokens(&bytes(&[0xffff_ffff, 0xfffd_0200, 0x200]), 0..12).count(), 0);
    }

    const CUBIN: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/add_sm_35.cubin");
    const FATBIN: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/packed_11_2.fatbin");
    const PTX: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/add.ptx");

    #[test]
    fn nvidia_rules() {
        assert_eq!(check_fatbin(FATBIN), Some(FATBIN.len() as u64));
        assert_eq!(check_cubin(CUBIN), Some(CUBIN.len() as u64));
        assert_eq!(check_ptx(PTX), Some(PTX.len() as u64));
        for (at, value) in [(4, 3), (18, 191), (58, 63)] {
            let mut changed = CUBIN.to_vec();
            changed[at] = value;
            assert_eq!(check_cubin(&changed), None, "{value} at {at}");
        }
        assert_eq!(check_fatbin(&[&FATBIN[..4], &[2]].concat()), None);
        assert_eq!(check_ptx(b".version of something else"), None);
        // The size is that of the tables if the file was cut off before them.
        assert_eq!(check_cubin(&CUBIN[..CUBIN.len() - 1]), Some(CUBIN.len() as u64));
    }

    #[test]
    fn nvidia_programs_between_other_bytes() {
        let text = [b"// a comment\n// another\n", PTX, b"\0"].concat();
        let data = [&[1; 40][..], FATBIN, b"some text\n\0", &text, &[0; 5], CUBIN, &[7; 20]].concat();
        let found: Vec<_> = hits(&data).iter().map(|hit| (hit.start, hit.format, hit.stated)).collect();
        let ptx = 40 + FATBIN.len() + 11;
        let cubin = ptx + text.len() + 5;
        assert_eq!(
            found,
            [
                (40, Format::Fatbin, Some(FATBIN.len() as u64)),
                (ptx, Format::Ptx, Some(text.len() as u64 - 1)),
                (cubin, Format::Cubin, Some(CUBIN.len() as u64))
            ]
        );
        assert_eq!(format_at_start(&text), Some(Format::Ptx));
        assert_eq!(format_at_start(PTX), Some(Format::Ptx));
        assert_eq!(format_at_start(b"// no PTX\n.section x"), None);
    }

    #[test]
    fn universal_rules() {
        let universal = samples::universal();
        assert_eq!(check_metal_universal(&universal), Some(universal.len() as u64));
        for (at, value) in [(7, 0), (6, 2), (4, 1), (19, 1), (27, 200), (23, 0)] {
            let mut changed = universal.clone();
            changed[at] = value;
            assert_eq!(check_metal_universal(&changed), None, "{value} at {at}");
        }
    }

    #[test]
    fn found_across_every_window_border() {
        let library = samples::metallib();
        for distance in -100_i64..=10 {
            let at = usize::try_from(i64::try_from(WINDOW).unwrap() + distance).unwrap();
            let mut data = vec![0x4d_u8; 3 * WINDOW];
            data[at..at + library.len()].copy_from_slice(&library);
            assert_eq!(hits(&data), [Hit { start: at, format: Format::MetalLibrary, stated: Some(92) }]);
        }
    }

    #[test]
    fn a_bare_magic_counts_only_at_the_start() {
        assert_eq!(hits(b"MTLB"), [Hit { start: 0, format: Format::MetalLibrary, stated: None }]);
        assert_eq!(
            hits(
                b" MTLB and so on, for at least eighty-eight bytes that are no header of any library at all"
            ),
            []
        );
        assert_eq!(hits(&[b"MTLB".as_slice(), &[0; 200]].concat()).len(), 1);
        assert_eq!(hits(&[b"  MTLB".as_slice(), &[0; 200]].concat()), []);
    }
}
