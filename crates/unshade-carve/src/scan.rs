//! Finds GPU programs in the middle of other bytes.
//!
//! The search looks for the rows of [`MAGICS`], for the version tokens of Direct3D 9 shaders, which have no magic
//! number, and for gzip and zlib streams whose first bytes unpack to the beginning of a program or a container.
//!
//! One pass of `aho_corasick::packed` finds all of them. Measured on one thread of a small virtual machine, on random
//! bytes: 5 GB/s. One pass of `memchr::memmem` for each magic number, and one of `memchr` for zlib, reach 1.4 GB/s. The
//! packed searcher has no SIMD on WebAssembly, where `memmem` does, so there it is not used.

use crate::checks::compressed::{GZIP_MAGIC, Method, is_gzip_header, may_be_deflate};
use crate::checks::fatbin;
use crate::compressed::gzip_header;
use crate::format::magic::{MAGICS, Magic, no_lead};
use crate::format::{Format, begins_known};
use aho_corasick::Span;
use aho_corasick::packed::Searcher;
use flate2::{Decompress, FlushDecompress};
use memchr::memmem::Finder;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;
use unshade_zstd::Decoder as Unzstd;

/// Size of the window whose hits are collected at a time: it should stay in the first-level cache for several passes.
/// The rest of a window after a program is searched again.
const WINDOW: usize = 16 << 10;

/// Programs of Shader Model 1 to 3, which are found by [`version_tokens`].
static DIRECT3D9: Magic = Magic {
    bytes: &[],
    format: Format::Direct3d9,
    check: |data| unshade_dxbc::d3d9::measure_embedded(data).0.map(|size| size as u64),
    unmistakable: false,
    lead: no_lead,
};

/// Returns the offsets of version tokens of such programs, at multiples of four.
fn version_tokens(data: &[u8], range: Range<usize>) -> impl Iterator<Item = usize> {
    // Number of words that SIMD instructions compare at a time.
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

/// Number of tokens that are read after possible version tokens, for each searched byte. Real files need a hundredth of
/// one, but in a hostile file every token may begin a long program without an end.
const TOKENS_FOR_A_BYTE: usize = 1;

/// Number of bytes that are unpacked of frames of Zstandard in fat binaries that are none or cut off, for each searched
/// byte. Once they are used up, the header of a frame is enough.
const FRAME_BYTES_FOR_A_BYTE: usize = 4;

/// Returns the size of a fat binary. If its first entry is a frame of Zstandard, the first block of that has to unpack.
/// One that is cut off before the block ends would have nothing that can be unpacked.
fn fatbin_size(data: &[u8], left: &mut usize) -> Option<u64> {
    let size = fatbin::size(data)?;
    let Some(frame) = fatbin::frame(data).filter(|_| *left > 0) else { return Some(size) };
    let mut output = Vec::with_capacity(Unzstd::ROOM);
    let is_sound = match Unzstd::new().step(frame, &mut output) {
        Ok(_) => true,
        Err(_) => !output.is_empty(),
    };
    if size > data.len() as u64 || !is_sound {
        *left = left.saturating_sub(Unzstd::ROOM);
    }
    is_sound.then_some(size)
}

/// The start of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The offset in the searched bytes.
    pub(crate) start: usize,
    /// Its format.
    pub(crate) format: Format,
    /// The size that it states; [`None`] if only the first bytes of the file or member look like a program.
    pub(crate) stated: Option<u64>,
}

/// What may begin at an offset.
#[derive(Clone, Copy)]
enum Start {
    Program(&'static Magic),
    Stream(Method),
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A program.
    Program(Hit),
    /// A stream of gzip or zlib that unpacks to the beginning of a program or a container.
    Stream {
        /// The offset in the searched bytes.
        start: usize,
        /// Its method.
        method: Method,
    },
}

/// Number of false starts that unpacking the first bytes of a stream counts as.
const PROBE_COST: u64 = 8;

/// The first bytes of streams: of gzip, and of zlib for each level.
const STREAMS: [(&[u8], Method); 5] = [
    (GZIP_MAGIC, Method::Gzip),
    (&[0x78, 0x01], Method::Zlib),
    (&[0x78, 0x5e], Method::Zlib),
    (&[0x78, 0x9c], Method::Zlib),
    (&[0x78, 0xda], Method::Zlib),
];

/// What is searched for, with its first bytes.
static STARTS: LazyLock<Vec<(&'static [u8], Start)>> = LazyLock::new(|| {
    let programs = MAGICS.iter().map(|magic| (magic.bytes, Start::Program(magic)));
    programs.chain(STREAMS.map(|(bytes, method)| (bytes, Start::Stream(method)))).collect()
});

/// The searchers. They are created once, which takes longer than the search of a small file.
static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let bytes = || STARTS.iter().map(|&(bytes, _)| bytes);
    match Searcher::new(bytes()) {
        Some(searcher) => Search::Packed(Box::new(searcher)),
        None => Search::Each(bytes().map(Finder::new).collect()),
    }
});

/// How the first bytes are searched for.
enum Search {
    /// All at once, with SIMD instructions.
    Packed(Box<Searcher>),
    /// One after another.
    Each(Vec<Finder<'static>>),
}

impl Search {
    /// Calls `found` for offsets in the bytes where something may begin.
    fn each(&self, bytes: &[u8], mut found: impl FnMut(usize)) {
        match self {
            Self::Packed(searcher) => {
                let mut at = 0;
                // First bytes may overlap, so the search goes on after the first byte.
                while let Some(hit) = searcher.find_in(bytes, Span { start: at, end: bytes.len() }) {
                    found(hit.start());
                    at = hit.start().saturating_add(1);
                }
            }
            Self::Each(finders) => {
                // What begins alike is found several times.
                let places: BTreeSet<usize> =
                    finders.iter().flat_map(|finder| finder.find_iter(bytes)).collect();
                places.into_iter().for_each(found);
            }
        }
    }
}

/// Searches for every magic number.
#[derive(Default)]
pub(crate) struct Scanner {
    /// The hits of one window, in order.
    hits: Vec<(usize, Start)>,
    /// The decoders of the beginnings of streams, for gzip and zlib.
    probes: [Option<Decompress>; 2],
    /// Whether the budget for programs of Shader Model 1 to 3 ran out, so that later ones are not read.
    pub(crate) is_overtaxed: bool,
}

impl Scanner {
    /// Calls `found` for every program that begins in a range of the data, in order. `found` returns where the search
    /// continues, or [`None`] to end it. Returns the number of magic numbers that begin nothing.
    pub(crate) fn scan(
        &mut self,
        data: &[u8],
        range: Range<usize>,
        found: &mut dyn FnMut(Found) -> Option<usize>,
    ) -> u64 {
        let mut false_starts = 0_u64;
        let end = range.end.min(data.len());
        let mut tokens_left = range.len().saturating_mul(TOKENS_FOR_A_BYTE);
        let mut frames_left = range.len().saturating_mul(FRAME_BYTES_FOR_A_BYTE).saturating_add(Unzstd::ROOM);
        let mut at = range.start;
        while at < end {
            let window_end = at.saturating_add(WINDOW).min(end);
            self.collect(data, at..window_end);
            for index in 0..self.hits.len() {
                let Some(&(start, kind)) = self.hits.get(index) else { break };
                if start < at {
                    continue;
                }
                let bytes = data.get(start..).unwrap_or_default();
                let magic = match kind {
                    Start::Program(magic) => magic,
                    Start::Stream(method) => {
                        if !self.begins_known(bytes, method) {
                            false_starts = false_starts.saturating_add(PROBE_COST);
                            continue;
                        }
                        match found(Found::Stream { start, method }) {
                            Some(next) => at = next.max(start.saturating_add(1)),
                            None => return false_starts,
                        }
                        continue;
                    }
                };
                let stated = match magic.format {
                    Format::Direct3d9 if tokens_left == 0 => {
                        self.is_overtaxed = true;
                        continue;
                    }
                    Format::Direct3d9 => {
                        let (size, looked_at) = unshade_dxbc::d3d9::measure_embedded(bytes);
                        tokens_left = tokens_left.saturating_sub(looked_at);
                        size.map(|size| size as u64)
                    }
                    Format::Fatbin => fatbin_size(bytes, &mut frames_left),
                    _ => (magic.check)(bytes),
                };
                // The whole run is meant to be this format, but is damaged.
                let damaged = start == 0 && magic.unmistakable;
                if stated.is_none() && !damaged {
                    false_starts = false_starts.saturating_add(1);
                    continue;
                }
                // Bytes before the magic number, but none that were found or skipped already.
                let (lead, stated) = match stated.map(|stated| (magic.lead)(data, at, start, stated)) {
                    Some((lead, stated)) => (lead, Some(stated)),
                    None => (0, None),
                };
                let hit = Hit { start: start.saturating_sub(lead), format: magic.format, stated };
                match found(Found::Program(hit)) {
                    Some(next) => at = next.max(start.saturating_add(1)),
                    None => return false_starts,
                }
            }
            at = at.max(window_end);
        }
        false_starts
    }

    /// Collects the offsets of magic numbers in a window.
    fn collect(&mut self, data: &[u8], window: Range<usize>) {
        self.hits.clear();
        // First bytes that begin in the window may end after it.
        let longest = STARTS.iter().map(|(bytes, _)| bytes.len()).max().unwrap_or_default();
        let end = window.end.saturating_add(longest.saturating_sub(1)).min(data.len());
        let bytes = data.get(window.start..end).unwrap_or_default();
        SEARCH.each(bytes, |at| {
            let start = window.start.saturating_add(at);
            let rest = data.get(start..).unwrap_or_default();
            // Several may have the same first bytes.
            let kinds = STARTS.iter().filter(|(first, _)| start < window.end && rest.starts_with(first));
            let is_plausible = |kind: &Start| match kind {
                Start::Program(_) => true,
                Start::Stream(Method::Gzip) => is_gzip_header(rest),
                Start::Stream(_) => rest.get(2..).is_some_and(may_be_deflate),
            };
            self.hits.extend(kinds.map(|&(_, kind)| (start, kind)).filter(|(_, kind)| is_plausible(kind)));
        });
        self.hits.extend(version_tokens(data, window).map(|at| (at, Start::Program(&DIRECT3D9))));
        self.hits.sort_by_key(|&(start, _)| start);
    }

    /// Returns whether the first bytes of a stream unpack to the beginning of a program or a container.
    pub(crate) fn begins_known(&mut self, data: &[u8], method: Method) -> bool {
        /// Maximum number of bytes that are read; most streams have the code of their first block in it.
        const INPUT: usize = 1_024;
        /// Number of bytes that are unpacked, enough for the header of a tar archive.
        const OUTPUT: usize = 512;
        let input = data.get(..INPUT).unwrap_or(data);
        let is_zlib = method == Method::Zlib;
        let header = if is_zlib { 0 } else { gzip_header(input).map_or(INPUT, |header| header.size) };
        let Some(packed) = input.get(header..).filter(|packed| is_zlib || may_be_deflate(packed)) else {
            return false;
        };
        let [gzip, zlib] = &mut self.probes;
        let slot = if is_zlib { zlib } else { gzip };
        let decoder = slot.get_or_insert_with(|| Decompress::new(is_zlib));
        decoder.reset(is_zlib);
        let mut output = Vec::with_capacity(OUTPUT);
        // What was unpacked before a fault is enough.
        let _ = decoder.decompress_vec(packed, &mut output, FlushDecompress::None);
        begins_known(&output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::magic::format_at_start;
    use crate::samples;

    fn hits(data: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        Scanner::default().scan(data, 0..data.len(), &mut |found| {
            let Found::Program(hit) = found else { panic!("{found:?}") };
            hits.push(hit);
            Some(hit.start + usize::try_from(hit.stated.unwrap_or(1)).unwrap())
        });
        hits
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
        // An unknown version, another version's opcode, a missing operand, no end, no computation.
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

    const CUBIN: &[u8] = include_bytes!("../../../tests/fixtures/nvidia/add_sm_35.cubin");
    const FATBIN: &[u8] = include_bytes!("../../../tests/fixtures/nvidia/packed_11_2.fatbin");
    const PTX: &[u8] = include_bytes!("../../../tests/fixtures/nvidia/add.ptx");

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

    /// A frame has to unpack; one that does not is charged, and beyond the budget its header is enough.
    #[test]
    fn frames_of_fat_binaries_are_unpacked() {
        let file = include_bytes!("../../../tests/fixtures/nvidia/zstandard_13_5.fatbin");
        let stated = Some(file.len() as u64);
        let mut left = 1;
        assert_eq!(fatbin_size(file, &mut left), stated);
        assert_eq!(left, 1, "a whole file costs nothing");
        let mut changed = file.to_vec();
        changed[160..400].iter_mut().for_each(|byte| *byte ^= 0x55);
        assert_eq!(fatbin_size(&changed, &mut left), None);
        assert_eq!((left, fatbin_size(&changed, &mut left)), (0, stated));
        assert_eq!(hits(&[&[7; 9][..], &changed].concat()), []);
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
