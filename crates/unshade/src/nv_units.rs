//! Visits the compiled units of an NVIDIA program: a cubin or PTX file is one unit, a fat binary has one per entry.

use crate::program::{Runner, map};
use std::cell::Cell;
use unshade_core::{Diagnostics, Error, ErrorKind, OutlineSink, Result};
use unshade_nv::compression::Compression;
use unshade_nv::fatbin::{Entry, EntryKind};
use unshade_nv::{Cubin, Fatbin, Ptx, outline};
use unshade_sass::isa;
use unshade_sass::table::Isa;

/// An NVIDIA program.
#[derive(Clone, Debug)]
pub enum Nvidia<'a> {
    /// Cubins and PTX for several chips.
    Fatbin(Fatbin<'a>),
    /// Machine code for one chip.
    Cubin(Cubin<'a>),
    /// PTX assembly, as text.
    Ptx(Ptx<'a>),
}

impl Nvidia<'_> {
    /// Emits the outline: every field with its range of bytes.
    pub fn outline(&self, sink: &mut dyn OutlineSink) {
        match self {
            Self::Fatbin(fatbin) => outline::fatbin(fatbin, sink),
            Self::Cubin(cubin) => outline::cubin(cubin, sink),
            Self::Ptx(ptx) => outline::ptx(ptx, sink),
        }
    }
}

/// A unit of a program. An unpacked unit lives only during the visit.
#[derive(Clone, Debug)]
pub enum Unit<'d> {
    /// Machine code.
    Cubin(Cubin<'d>),
    /// PTX assembly, as text.
    Ptx(Ptx<'d>),
    /// PTX that was not to be unpacked, an entry that can't be read, or one of an unknown kind.
    Unread,
}

/// Calls `visit` for each unit of a program, with its entry if the program is a fat binary. Entries that can't be read
/// are reported to `diagnostics` and visited as [`Unit::Unread`]. PTX is unpacked only with `unpack_ptx`. Functions of
/// cubins are numbered through the program, as [`kernel_rows`](crate::view::nvidia::kernel_rows) does.
pub fn each_unit<'a>(
    program: &Nvidia<'a>,
    unpack_ptx: bool,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(Option<&Entry<'a>>, &Unit<'_>),
) {
    match program {
        Nvidia::Cubin(cubin) => visit(None, &Unit::Cubin(cubin.clone())),
        Nvidia::Ptx(ptx) => visit(None, &Unit::Ptx(*ptx)),
        Nvidia::Fatbin(fatbin) => {
            let mut first = 0_u32;
            let mut buffer = Vec::new();
            for entry in fatbin.entries() {
                let Some(entry) = diagnostics.take("nv-entry-header", entry) else { continue };
                let next = first;
                each_entry(&entry, unpack_ptx, next, &mut buffer, diagnostics, &mut |entry, unit| {
                    // PTX, and what can't be read, counts as one function.
                    let count = if let Unit::Cubin(cubin) = unit { cubin.function_count() } else { 1 };
                    first = first.saturating_add(count);
                    visit(entry, unit);
                });
            }
        }
    }
}

/// The unpacked size of the entries that [`map_units`] has in memory at once, unless one alone is larger.
const AT_ONCE: u64 = 1 << 30;

/// The number of entries that [`map_units`] visits at once.
const ENTRIES_AT_ONCE: usize = 1024;

/// The size of a thread's first buffer, and the maximum size of one that it keeps for other entries.
const MAX_KEPT: usize = 16 << 20;

/// Calls `make` for each unit of a program as [`each_unit`] does, but on the threads of `runner`, and `take` with the
/// results in order. Decompression takes most of the time that it takes to read a fat binary. Functions are numbered
/// within their unit.
pub fn map_units<'a, T: Send>(
    program: &Nvidia<'a>,
    unpack_ptx: bool,
    runner: &dyn Runner,
    diagnostics: &mut Diagnostics,
    make: &(dyn Fn(Option<&Entry<'a>>, &Unit<'_>) -> T + Sync),
    take: &mut dyn FnMut(T),
) {
    let Nvidia::Fatbin(fatbin) = program else {
        return each_unit(program, unpack_ptx, diagnostics, &mut |entry, unit| take(make(entry, unit)));
    };
    let make = |entry: &Entry<'a>| {
        let (mut faults, mut made) = (Diagnostics::new(), None);
        let mut visit = |entry: Option<&Entry<'a>>, unit: &Unit<'_>| made = Some(make(entry, unit));
        with_buffer(|buffer| each_entry(entry, unpack_ptx, 0, buffer, &mut faults, &mut visit));
        (faults, made)
    };
    each_batch(fatbin, diagnostics, &mut |entries, diagnostics| {
        let made = map(runner, "unpacking", entries.len(), |index| entries.get(index).map(make));
        for (faults, made) in made.into_iter().flatten() {
            diagnostics.append(faults);
            made.into_iter().for_each(&mut *take);
        }
    });
}

/// Calls `work` with the buffer of this thread, which keeps it for the next entry unless it has become too large: new memory
/// costs nearly as much time as decompressing into it. The first one already has the size that a thread may keep: it is
/// memory that the system zeroes a page at a time, when the page is used, while a buffer that grows is cleared as well.
fn with_buffer<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    // A visit that unpacks another entry meanwhile has a new buffer.
    let mut buffer = BUFFER.take();
    if buffer.is_empty() {
        buffer = vec![0; MAX_KEPT];
    }
    let made = work(&mut buffer);
    if buffer.capacity() <= MAX_KEPT {
        BUFFER.set(buffer);
    }
    made
}

/// Calls `visit` with the entries of a fat binary, as many at once as may be unpacked at once.
pub fn each_batch<'a>(
    fatbin: &Fatbin<'a>,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(&[Entry<'a>], &mut Diagnostics),
) {
    let mut batch = Vec::new();
    let mut size = 0_u64;
    for entry in fatbin.entries() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // It is the last one; findings are in file order.
                visit(&core::mem::take(&mut batch), diagnostics);
                diagnostics.error("nv-entry-header", error);
                continue;
            }
        };
        let more = if is_packed(Some(&entry)) { entry.unpacked_size } else { 0 };
        let is_full = size.saturating_add(more) > AT_ONCE || batch.len() >= ENTRIES_AT_ONCE;
        if is_full {
            visit(&core::mem::take(&mut batch), diagnostics);
            size = 0;
        }
        size = size.saturating_add(more);
        batch.push(entry);
    }
    visit(&batch, diagnostics);
}

/// Where a function of a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionPlace {
    /// The entry of the fat binary, if it is one.
    pub entry: Option<u32>,
    /// Its index in the cubin or PTX; none for PTX of a fat binary, which counts as one function.
    pub index: Option<u32>,
}

/// Returns the place of each function, in the order in which [`kernel_rows`](crate::view::nvidia::kernel_rows) numbers them.
pub fn function_places(program: &Nvidia<'_>) -> Vec<FunctionPlace> {
    let mut places = Vec::new();
    each_unit(program, false, &mut Diagnostics::new(), &mut |entry, unit| {
        let entry = entry.map(|entry| entry.index);
        match unit {
            Unit::Cubin(cubin) => {
                places.extend(
                    (0..)
                        .zip(cubin.functions())
                        .map(|(index, _)| FunctionPlace { entry, index: Some(index) }),
                );
            }
            Unit::Ptx(ptx) if entry.is_none() => {
                places.extend(
                    (0..).zip(ptx.functions()).map(|(index, _)| FunctionPlace { entry, index: Some(index) }),
                );
            }
            Unit::Ptx(_) | Unit::Unread => places.push(FunctionPlace { entry, index: None }),
        }
    });
    places
}

/// Calls `visit` with the unit that a function is in; no other is unpacked.
pub fn with_unit_of(
    program: &Nvidia<'_>,
    place: FunctionPlace,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(&Unit<'_>),
) {
    let mut take = |_: Option<&Entry<'_>>, unit: &Unit<'_>| visit(unit);
    match (program, place.entry) {
        (Nvidia::Fatbin(fatbin), Some(index)) => {
            let mut entries = fatbin.entries().filter_map(Result::ok);
            if let Some(entry) = entries.find(|entry| entry.index == index) {
                each_entry(&entry, true, 0, &mut Vec::new(), diagnostics, &mut take);
            }
        }
        _ => each_unit(program, true, diagnostics, &mut take),
    }
}

fn each_entry<'a>(
    entry: &Entry<'a>,
    unpack_ptx: bool,
    first_function: u32,
    buffer: &mut Vec<u8>,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(Option<&Entry<'a>>, &Unit<'_>),
) {
    let is_wanted = match entry.kind {
        EntryKind::ELF => true,
        EntryKind::PTX => unpack_ptx,
        _ => false,
    };
    if !is_wanted {
        return visit(Some(entry), &Unit::Unread);
    }
    let Some(data) = diagnostics.take("nv-entry-data", entry.data_in(buffer)) else {
        return visit(Some(entry), &Unit::Unread);
    };
    if entry.kind == EntryKind::PTX {
        return visit(Some(entry), &Unit::Ptx(entry.ptx(data)));
    }
    match diagnostics.take("nv-elf-header", entry.cubin(data)) {
        Some(cubin) => visit(Some(entry), &Unit::Cubin(cubin.numbered_from(first_function))),
        None => visit(Some(entry), &Unit::Unread),
    }
}

/// Calls `then` with one unit of a program: the entry of this index of a fat binary, or the program itself.
///
/// # Errors
/// There is no such entry, or it can't be read or unpacked.
pub fn with_unit<'a, T>(
    program: &Nvidia<'a>,
    entry: u32,
    then: impl FnOnce(Option<&Entry<'a>>, &Unit<'_>) -> T,
) -> Result<T> {
    let fatbin = match program {
        Nvidia::Cubin(cubin) => return Ok(then(None, &Unit::Cubin(cubin.clone()))),
        Nvidia::Ptx(ptx) => return Ok(then(None, &Unit::Ptx(*ptx))),
        Nvidia::Fatbin(fatbin) => fatbin,
    };
    let found = fatbin.entries().filter_map(Result::ok).find(|one| one.index == entry);
    let entry = found
        .ok_or_else(|| Error::without_offset(ErrorKind::BadValue, format!("entry {entry} can't be read")))?;
    let data = entry.data()?;
    Ok(match entry.kind {
        EntryKind::PTX => then(Some(&entry), &Unit::Ptx(entry.ptx(&data))),
        EntryKind::ELF => then(Some(&entry), &Unit::Cubin(entry.cubin(&data)?)),
        _ => then(Some(&entry), &Unit::Unread),
    })
}

/// Returns whether an entry has to be unpacked, so that its code has no place in the file.
pub fn is_packed(entry: Option<&Entry<'_>>) -> bool {
    entry.is_some_and(|entry| entry.compression() != Compression::None)
}

/// Calls `visit` for each cubin of a program whose instruction set is known. The chips of the others are reported once.
pub fn each_known_cubin(
    program: &Nvidia<'_>,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(&Cubin<'_>, &'static Isa, &mut Diagnostics),
) {
    let mut faults = Diagnostics::new();
    let mut unknown = Vec::new();
    each_unit(program, false, diagnostics, &mut |_, unit| {
        let Unit::Cubin(cubin) = unit else { return };
        match isa::by_architecture(cubin.arch()) {
            Some(isa) => visit(cubin, isa, &mut faults),
            None => unknown.push(cubin.arch()),
        }
    });
    report_unknown_chips(unknown, diagnostics);
    diagnostics.append(faults);
}

/// Reports that a cubin can't be decompiled or run, because the semantics of its chip's instructions are not known.
pub fn report_unknown_semantics(cubin: &Cubin<'_>, diagnostics: &mut Diagnostics) {
    let message = format!("sm_{}: the semantics of this chip's instructions are not known", cubin.arch());
    let error = Error::new(ErrorKind::Unsupported, cubin.file().base(), message);
    let known: Vec<String> = isa::architectures_with_semantics().map(|chip| format!("sm_{chip}")).collect();
    diagnostics.warning("sass-semantics", error.expected(known.join(", ")));
}

/// Reports chips with an unknown instruction set, in one warning.
pub fn report_unknown_chips(mut chips: Vec<u32>, diagnostics: &mut Diagnostics) {
    if chips.is_empty() {
        return;
    }
    chips.sort_unstable();
    chips.dedup();
    let names = |chips: &[u32]| chips.iter().map(|chip| format!("sm_{chip}")).collect::<Vec<_>>().join(", ");
    let known: Vec<u32> = isa::architectures().collect();
    let message = format!(
        "{}: the encoding of {} is not known",
        names(&chips),
        if chips.len() == 1 { "this chip" } else { "these chips" }
    );
    let error = Error::without_offset(ErrorKind::Unsupported, message);
    diagnostics.warning("sass-arch", error.expected(names(&known)));
}
