//! Reads captures of Xcode's Metal debugger: folders named `….gputrace`.
//!
//! Such a folder contains `index`, which names pieces of data, and `store0`, which holds them one after another, each
//! as a zlib stream of its own. Shader libraries are pieces whose name is a hash. Apple does not document the format.
//! The layout is known from mos9527's fork of MetalLibraryExplorer (`site/gputrace.js`, 2026), which was tested against
//! captures of 4,663 and 13,574 pieces:
//!
//! | offset in `index` | field, little-endian |
//! |---|---|
//! | 0 | `xdic`, u32 version |
//! | 8 | u32 count of hash buckets, u32 count of pieces, the same again |
//! | 20 | u32 for each bucket |
//! | | 24 bytes for each piece: u32 size, u32 packed size, u64 offset in `store0`, u32, u32 |
//! | | u16 for each piece: length of its name |
//! | to the end | the names, each with a NUL |
//!
//! A piece whose two sizes are equal is not compressed. The layout is not known to the byte, so the table is also
//! searched for near the offset that counting back from the names gives: it is right where every piece is inside the
//! store. No capture was available for a test, only the layout.
//!
//! A store without its index is read from the start, stream by stream; its pieces are named by their offset.

use crate::carver::{Carver, Entry, Find, Flow, Occurrences, Run};
use crate::checks::compressed::is_zlib_header;
use crate::checks::{GPUTRACE_INDEX_HEADER as HEADER, GPUTRACE_INDEX_MAGIC as INDEX_MAGIC};
use crate::fields::{Fields, offset};
use crate::limits::Limits;
use crate::path::Selector;
use crate::stream::{End, Inflate};
use memchr::memmem;
use std::ops::ControlFlow::{self, Break, Continue};
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result};

const ENTRY: usize = 24;

/// The name of the index in a `.gputrace` folder.
pub const GPUTRACE_INDEX: &str = "index";
/// The name of the data store in a `.gputrace` folder.
pub const GPUTRACE_STORE: &str = "store0";

/// One piece of data in the store.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Piece<'a> {
    start: u64,
    packed_size: u32,
    size: u32,
    name: &'a [u8],
}

/// Reads the index.
fn read_index(index: &[u8], store_size: u64) -> Result<Vec<Piece<'_>>> {
    let mut reader = Reader::new(index);
    let magic = reader.bytes(4)?;
    if magic != INDEX_MAGIC {
        return Err(Error::new(ErrorKind::BadMagic, 0, "not the index of a .gputrace").expected("xdic"));
    }
    reader.skip(4)?;
    let buckets = reader.u32()?;
    let count = reader.u32()?;
    let impossible = || {
        Error::new(ErrorKind::OutOfRange, 12, "the index states more pieces than it has room for")
            .found(count.to_string())
    };
    let table_size = (count as usize).checked_mul(ENTRY).ok_or_else(impossible)?;
    let lengths_size = (count as usize).saturating_mul(2);
    if table_size > index.len() {
        return Err(impossible());
    }
    let names = names_start(index, count as usize);
    let from_start = HEADER.saturating_add((buckets as usize).saturating_mul(4));
    let from_names = names.saturating_sub(lengths_size).saturating_sub(table_size);
    // Nearest first; the slack covers the unknown parts of the layout.
    let near =
        (0..=64_usize).flat_map(|slack| [from_names.saturating_sub(slack), from_names.saturating_add(slack)]);
    let table = std::iter::once(from_start)
        .chain(near)
        .find(|&at| at >= HEADER && table_fits(index, at, count as usize, store_size))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::BadValue,
                from_start as u64,
                "the table of pieces was not found in the index",
            )
            .hint("the store may belong to another capture")
        })?;
    // The names directly follow the lengths if there are as many names as lengths.
    let behind = table.saturating_add(table_size).saturating_add(lengths_size);
    let is_names = |bytes: &&[u8]| memchr::memchr_iter(0, bytes).count() == count as usize;
    let mut rest = index.get(behind..).filter(is_names).or_else(|| index.get(names..)).unwrap_or_default();
    let fields = Fields::little(index);
    let mut pieces = Vec::new();
    for number in 0..count as usize {
        let Some((size, packed_size, start)) = entry(fields, table, number) else { break };
        let length = memchr::memchr(0, rest).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default();
        rest = rest.get(length.saturating_add(1)..).unwrap_or_default();
        pieces.push(Piece { start, packed_size, size, name });
    }
    pieces.sort_by_key(|piece| (piece.start, piece.packed_size));
    Ok(pieces)
}

fn entry(fields: Fields<'_>, table: usize, number: usize) -> Option<(u32, u32, u64)> {
    let at = table.checked_add(number.checked_mul(ENTRY)?)?;
    Some((fields.u32(at)?, fields.u32(at.checked_add(4)?)?, fields.u64(at.checked_add(8)?)?))
}

/// Returns whether all entries from here on are in the store, and few of them are empty.
fn table_fits(index: &[u8], table: usize, count: usize, store_size: u64) -> bool {
    let fields = Fields::little(index);
    let mut empty = 0_usize;
    let all_inside = (0..count).all(|number| {
        entry(fields, table, number).is_some_and(|(size, packed_size, start)| {
            empty = empty.saturating_add(usize::from(size == 0 || packed_size == 0));
            start.checked_add(u64::from(packed_size)).is_some_and(|end| end <= store_size)
        })
    });
    all_inside && empty <= count / 2
}

/// Returns where the names begin: as many NULs before the end as there are pieces.
fn names_start(index: &[u8], count: usize) -> usize {
    let mut start = index.len();
    for at in memchr::memrchr_iter(0, index).take(count) {
        start = at;
    }
    // The NUL after the first name is found. Before that name is the length of the last one, whose high byte is NUL.
    let before = index.get(..start).unwrap_or_default();
    memchr::memrchr(0, before).map_or(0, |at| at.saturating_add(1))
}

/// Finds the GPU programs of an Xcode `.gputrace`. `index` and `store` are the contents of its files [`GPUTRACE_INDEX`]
/// and [`GPUTRACE_STORE`]; `name` is the name of the folder.
///
/// [`carve`](crate::carve) reads the other files of the folder. If the index can't be read, the store is read without
/// it, with a diagnostic. [`Find::file_offset`] is the offset in the store.
pub fn carve_gputrace(
    index: &[u8],
    store: &[u8],
    name: &[u8],
    limits: &Limits,
    visit: &mut dyn FnMut(Find<'_>) -> ControlFlow<()>,
) -> Diagnostics {
    carve_capture(Carver::new(name, limits, None, visit), index, store)
}

/// Finds the one program of an Xcode `.gputrace` that a selector selects. Calls `visit` at most once.
pub fn carve_gputrace_selected(
    index: &[u8],
    store: &[u8],
    name: &[u8],
    selector: &Selector,
    limits: &Limits,
    visit: &mut dyn FnMut(Find<'_>),
) -> Diagnostics {
    let mut visit = |find: Find<'_>| {
        visit(find);
        Break(())
    };
    carve_capture(Carver::new(name, limits, Some(selector), &mut visit), index, store)
}

fn carve_capture(mut carver: Carver<'_>, index: &[u8], store: &[u8]) -> Diagnostics {
    let mut occurrences = Occurrences::default();
    if carver.enter(GPUTRACE_STORE.as_bytes(), &mut occurrences) == Entry::Entered {
        let mut run = Run::new(store, Some(0));
        let flow = match read_index(index, store.len() as u64) {
            Ok(pieces) => carve_pieces(&mut carver, &mut run, &pieces),
            Err(error) => {
                carver.error("gputrace-index", error.within(GPUTRACE_INDEX));
                carve_store(&mut carver, &mut run)
            }
        };
        if flow.is_continue() {
            let _ = carver.cover(&mut run, store.len());
        }
        carver.leave();
    }
    carver.finish()
}

fn carve_pieces(carver: &mut Carver<'_>, run: &mut Run<'_>, pieces: &[Piece<'_>]) -> Flow {
    let data = run.data;
    let mut occurrences = Occurrences::default();
    let mut previous = None;
    for piece in pieces {
        // Names may share a piece: it is searched once, under the first name.
        if previous == Some((piece.start, piece.packed_size)) {
            continue;
        }
        previous = Some((piece.start, piece.packed_size));
        let start = offset(0, piece.start);
        let end = offset(start, u64::from(piece.packed_size));
        let packed = data.get(start..end).unwrap_or_default();
        carver.cover(run, start)?;
        match carver.enter(piece.name, &mut occurrences) {
            Entry::Entered => {}
            Entry::Unwanted => {
                run.skip_to(end);
                continue;
            }
            Entry::Refused => return Continue(()),
        }
        let flow = if piece.packed_size == piece.size {
            if carver.spend_overlap(run, start, end) {
                carver.run(packed, run.file_offset(start))
            } else {
                Continue(())
            }
        } else {
            let mut output = Vec::new();
            let stated = Some(u64::from(piece.size));
            let unpacked = carver.unpack(&mut Inflate::zlib(), packed, &mut output, packed.len(), stated);
            if let End::Damaged(fault) = unpacked.end {
                carver.error("gputrace-piece", Error::new(ErrorKind::BadValue, piece.start, fault));
            }
            carver.run_unpacked(output)
        };
        carver.leave();
        flow?;
        run.skip_to(end);
    }
    Continue(())
}

/// Visits consecutive zlib streams, which may have other bytes between them.
pub(crate) fn carve_store(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let mut occurrences = Occurrences::default();
    let mut decoder = Inflate::zlib();
    let finder = memmem::Finder::new(b"\x78");
    let mut at = 0_usize;
    while let Some(found) = data.get(at..).and_then(|rest| finder.find(rest)) {
        at = at.saturating_add(found);
        let rest = data.get(at..).unwrap_or_default();
        if !is_zlib_header(rest) {
            at = at.saturating_add(1);
            continue;
        }
        decoder.reset_zlib();
        let mut output = Vec::new();
        let unpacked = carver.unpack(&mut decoder, rest, &mut output, rest.len(), None);
        // A stream that breaks off is kept if it begins the file or was cut off at the end; any other is most likely no
        // stream.
        let end = at.saturating_add(unpacked.consumed);
        let is_stream = match &unpacked.end {
            End::Complete | End::Limit => true,
            End::Damaged(_) => at == 0 || (end >= data.len() && output.len() >= 88),
        };
        if !is_stream {
            if !carver.spend_stream() {
                break;
            }
            at = at.saturating_add(1);
            continue;
        }
        carver.cover(run, at)?;
        let name = format!("zlib_{at:#x}");
        match carver.enter(name.as_bytes(), &mut occurrences) {
            Entry::Entered => {
                if let End::Damaged(fault) = unpacked.end {
                    carver.error("compressed-data", Error::new(ErrorKind::BadValue, at as u64, fault));
                }
                let flow = carver.run_unpacked(output);
                carver.leave();
                flow?;
            }
            Entry::Unwanted => {}
            Entry::Refused => return Continue(()),
        }
        run.skip_to(end);
        at = end.max(at.saturating_add(1));
    }
    Continue(())
}
