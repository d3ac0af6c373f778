//! Reads the bundles of device code that LLVM's compilers write for HIP, OpenMP, SYCL and CUDA.
//!
//! # Bundles of `clang-offload-bundler`
//! | offset | field, little-endian |
//! |---|---|
//! | 0 | `__CLANG_OFFLOAD_BUNDLE__` |
//! | 24 | u64 count of entries |
//! | 32 | for each entry: u64 offset in the bundle, u64 size, u64 length of the id, the id: `hip-amdgcn-amd-amdhsa--gfx906` |
//!
//! # Compressed bundles
//! `CCOB`, u16 version, u16 method (0 zlib, 1 Zstandard), file size (from version 2 on), unpacked size, u64 hash of the
//! unpacked bytes. Both sizes are u32, from version 3 on u64. The unpacked bytes are a bundle as above.
//!
//! # Binaries of `clang-offload-packager`
//! | offset | field, little-endian |
//! |---|---|
//! | 0 | `10 ff 10 ad`, u32 version |
//! | 8 | u64 size of the whole binary |
//! | 16 | u64 offset of the entries, u64 their size (version 1, which has one) or count (version 2) |
//!
//! An entry is u16 kind of image, u16 kind of offloading, u32 flags, u64 offset and count of strings, u64 offset and
//! size of the image. A string is {u64 offset of the key, u64 offset of the value}; version 2 adds u64 size of the
//! value. Only `triple` and `arch` are read. They give the program the name that the bundler would give it.
//!
//! # Where they occur
//! Bundles are files of their own, or fill a section of an object file: `.hip_fatbin`, `.llvm.offloading`. The linker
//! concatenates the sections of its inputs, with zeros between them. The text bundles of `.ll` and `.s` files contain
//! no program; the bundles of object files are sections with the id in their names.
//!
//! Source: Clang's `ClangOffloadBundler.rst` and `OffloadBundler.h`, LLVM's `Object/OffloadBinary.h`; files of Clang
//! 19. Version 2 of binaries and version 3 of compressed bundles are newer than Clang 19, and known from these sources
//! only.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::offload::{BUNDLE_MAGIC, Bundle};
use crate::fields::{Fields, offset};
use crate::limits::Limit;
use crate::path::PathSegment;
use crate::stream::{Decoder, End, Inflate, Unzstd};
use std::borrow::Cow;
use std::ops::ControlFlow::{self, Continue};
use std::ops::Range;
use unshade_core::{Error, ErrorKind};

/// Maximum length of an id.
const MAX_ID: usize = 1_024;

/// Maximum number of strings that are read of an entry. Real entries have a handful.
const MAX_STRINGS: u64 = 32;

/// The name of the member that a compressed bundle unpacks to.
const UNPACKED: &[u8] = b"bundle";

/// A program of a bundle: its range in the run, and its name.
struct Image<'a> {
    start: usize,
    size: u64,
    id: Id<'a>,
}

/// The name of a program of a bundle.
enum Id<'a> {
    /// The bundle states it.
    Stated(&'a [u8]),
    /// The fields of a binary's entry that make up the name.
    Parts { kind: u16, triple: &'a [u8], arch: &'a [u8] },
}

impl<'a> Id<'a> {
    fn text(&self) -> Cow<'a, [u8]> {
        match *self {
            Self::Stated(id) => Cow::Borrowed(id),
            Self::Parts { kind, triple, arch } => Cow::Owned(binary_id(kind, triple, arch)),
        }
    }
}

/// Where bundles are: directly in the run, or in one of its sections, which adds a step to the path.
#[derive(Default)]
struct Place {
    section: Option<PathSegment>,
    occurrences: Occurrences,
}

impl Place {
    fn enter(&mut self, carver: &mut Carver<'_>, name: &[u8]) -> Entry {
        carver.segments.extend(self.section.clone());
        let entry = carver.enter(name, &mut self.occurrences);
        if entry != Entry::Entered {
            self.leave_section(carver);
        }
        entry
    }

    fn leave(&self, carver: &mut Carver<'_>) {
        carver.leave();
        self.leave_section(carver);
    }

    fn leave_section(&self, carver: &mut Carver<'_>) {
        if self.section.is_some() {
            carver.leave();
        }
    }
}

/// Visits the bundles of a run, of which there may be several in a row.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    carve_range(carver, run, 0..run.data.len(), Place::default())
}

/// Visits the sections of an object file that contain bundles.
pub(crate) fn carve_sections(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let holds_bundle = |start: usize| data.get(start..).is_some_and(|rest| Bundle::of(rest).is_some());
    let found = run.sections().select(holds_bundle);
    if !found.is_empty() && carver.is_deepest() {
        carver.report_limit(Limit::Depth);
        return Continue(());
    }
    let mut occurrences = Occurrences::default();
    for (range, name) in found {
        // Overlapping sections would be searched many times.
        if range.start < run.covered {
            continue;
        }
        match carver.enter(&name.read(data).unwrap_or_default(), &mut occurrences) {
            Entry::Entered => {
                let section = carver.segments.pop();
                let place = Place { section, occurrences: Occurrences::default() };
                carve_range(carver, run, range.start..range.end.min(data.len()), place)?;
            }
            // The section may contain programs between its bundles, so it is also searched raw.
            Entry::Unwanted => {}
            Entry::Refused => return Continue(()),
        }
    }
    Continue(())
}

/// Visits the bundles in a range of the run, and searches the bytes between them as part of the run.
fn carve_range(carver: &mut Carver<'_>, run: &mut Run<'_>, range: Range<usize>, mut place: Place) -> Flow {
    let data = run.data.get(..range.end).unwrap_or(run.data);
    let mut at = range.start;
    while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
        let (images, end) = match Bundle::of(rest) {
            Some(Bundle::Compressed) => (Vec::new(), carve_compressed(carver, run, rest, at, &mut place)?),
            Some(Bundle::Plain) => read_bundle(carver, rest, at),
            Some(Bundle::Binary) => read_binary(carver, rest, at),
            None => break,
        };
        carve_images(carver, run, data, images, &mut place)?;
        // Whatever size the bundle states, the next one is after its magic number, and after the searched bytes.
        let next = end.max(at.saturating_add(4)).max(run.covered);
        let padding = data.get(next..).and_then(|rest| rest.iter().position(|&byte| byte != 0));
        let Some(padding) = padding else { break };
        at = next.saturating_add(padding);
    }
    Continue(())
}

/// Unpacks a bundle, searches it, and returns where it ends.
fn carve_compressed(
    carver: &mut Carver<'_>,
    run: &mut Run<'_>,
    data: &[u8],
    at: usize,
    place: &mut Place,
) -> ControlFlow<(), usize> {
    let fields = Fields::little(data);
    let version = fields.u16(4).unwrap_or_default();
    let (file_size, size, header) = match version {
        1 => (None, fields.u32(8).map(u64::from), 20),
        2 => (fields.u32(8).map(u64::from), fields.u32(12).map(u64::from), 24),
        _ => (fields.u64(8), fields.u64(16), 32),
    };
    let packed = data.get(header..).unwrap_or_default();
    // The oldest version states no size: the end is where the stream ends.
    let packed = file_size
        .and_then(|size| packed.get(..usize::try_from(size).ok()?.checked_sub(header)?))
        .unwrap_or(packed);
    let stated_end =
        file_size.map(|size| offset(at, size)).filter(|&end| end <= at.saturating_add(data.len()));
    carver.cover(run, at)?;
    let entry = place.enter(carver, UNPACKED);
    match (entry, stated_end) {
        (Entry::Refused, _) => return Continue(run.data.len()),
        (Entry::Unwanted, Some(end)) => {
            run.skip_to(end);
            return Continue(end);
        }
        // The end of a bundle without a stated size is known only after decompression.
        (Entry::Entered, _) | (Entry::Unwanted, None) => {}
    }
    let mut decoder: Box<dyn Decoder> = match fields.u16(6) {
        Some(0) => Box::new(Inflate::zlib()),
        _ => Box::new(Unzstd::new()),
    };
    let mut output = Vec::new();
    let unpacked = carver.unpack(&mut *decoder, packed, &mut output, packed.len(), size);
    drop(decoder);
    if let End::Damaged(fault) = unpacked.end {
        let error =
            Error::new(ErrorKind::BadValue, at as u64, fault).hint("what could be unpacked is searched");
        carver.error("offload-bundle", error);
    }
    if entry == Entry::Entered {
        let flow = carver.run_unpacked(output);
        place.leave(carver);
        flow?;
    }
    let end = at.saturating_add(header).saturating_add(unpacked.consumed);
    run.skip_to(end);
    Continue(stated_end.unwrap_or(end).max(end))
}

/// Reads the table of the bundle at `base`, and returns where the bundle ends.
fn read_bundle<'a>(carver: &mut Carver<'_>, data: &'a [u8], base: usize) -> (Vec<Image<'a>>, usize) {
    let fields = Fields::little(data);
    let table = BUNDLE_MAGIC.len();
    let count = fields.u64(table).unwrap_or_default().min(carver.limits.max_members);
    let mut at = table.saturating_add(8);
    let mut images = Vec::new();
    for _ in 0..count {
        let entry = read_bundle_entry(fields, at);
        let Some((start, size, id)) = entry else {
            let error = Error::new(
                ErrorKind::Truncated,
                base.saturating_add(at) as u64,
                "the bundle's table is damaged or cut off",
            )
            .hint("the bytes are searched without the names of its entries");
            carver.error("offload-bundle", error);
            break;
        };
        at = at.saturating_add(24).saturating_add(id.len());
        images.push(Image { start: offset(base, start), size, id: Id::Stated(id) });
    }
    let end = images.iter().map(|image| offset(image.start, image.size)).max();
    (images, end.unwrap_or_default().max(base.saturating_add(at)))
}

fn read_bundle_entry(fields: Fields<'_>, at: usize) -> Option<(u64, u64, &[u8])> {
    let (start, size) = (fields.u64(at)?, fields.u64(at.checked_add(8)?)?);
    let length = fields.u64(at.checked_add(16)?).filter(|&length| length <= MAX_ID as u64)?;
    Some((start, size, fields.bytes(at.checked_add(24)? as u64, length)?))
}

/// Reads the entries of the binary at `base`, and returns where the binary ends.
fn read_binary<'a>(carver: &mut Carver<'_>, data: &'a [u8], base: usize) -> (Vec<Image<'a>>, usize) {
    let size = Fields::little(data).u64(8).unwrap_or_default();
    // Limit each binary to its own bytes, so that entries of the next one are not read repeatedly.
    let fields = Fields::little(data.get(..offset(0, size)).unwrap_or(data));
    let version = fields.u32(4).unwrap_or_default();
    let count = if version == 1 { Some(1) } else { fields.u64(24) };
    let mut images = Vec::new();
    for index in 0..count.unwrap_or_default().min(carver.limits.max_members) {
        let entry = offset(offset(0, fields.u64(16).unwrap_or(u64::MAX)), index.saturating_mul(40));
        let Some(mut image) = read_binary_entry(fields, entry, version) else {
            let error = Error::new(
                ErrorKind::OutOfRange,
                base as u64,
                "an entry extends past the end of the offload binary",
            )
            .hint("the bytes are searched without the names of its entries");
            carver.error("offload-bundle", error);
            break;
        };
        image.start = image.start.saturating_add(base);
        images.push(image);
    }
    (images, offset(base, size))
}

fn read_binary_entry(fields: Fields<'_>, entry: usize, version: u32) -> Option<Image<'_>> {
    let field = |distance: usize| entry.checked_add(distance);
    let kind = fields.u16(field(2)?)?;
    let (strings, count) = (fields.u64(field(8)?)?, fields.u64(field(16)?)?);
    let (start, size) = (fields.u64(field(24)?)?, fields.u64(field(32)?)?);
    let stride = if version == 1 { 16 } else { 24 };
    let (mut triple, mut arch): (&[u8], &[u8]) = (&[], &[]);
    for index in 0..count.min(MAX_STRINGS) {
        let pair = offset(0, strings.saturating_add(index.saturating_mul(stride)));
        let (Some(key), Some(value)) = (fields.u64(pair), fields.u64(pair.saturating_add(8))) else { break };
        // Each is read once: many entries may share one offset.
        let text = || fields.c_string(value, MAX_ID).unwrap_or_default();
        if triple.is_empty() && fields.bytes(key, 7) == Some(b"triple\0") {
            triple = text();
        } else if arch.is_empty() && fields.bytes(key, 5) == Some(b"arch\0") {
            arch = text();
        }
    }
    Some(Image { start: usize::try_from(start).ok()?, size, id: Id::Parts { kind, triple, arch } })
}

/// Returns the id that the bundler gives such an entry: kind, triple of four parts, architecture.
fn binary_id(kind: u16, triple: &[u8], arch: &[u8]) -> Vec<u8> {
    // HIP was 3 before the kinds became flags.
    let kind: &[u8] = match kind {
        1 => b"openmp",
        2 => b"cuda",
        3 | 4 => b"hip",
        8 => b"sycl",
        _ => b"none",
    };
    let mut id = [kind, b"-", triple].concat();
    let has_environment = triple.iter().filter(|&&byte| byte == b'-').count() >= 3;
    if !has_environment && !arch.is_empty() {
        id.push(b'-');
    }
    if !arch.is_empty() {
        id.push(b'-');
        id.extend(arch);
    }
    id
}

/// Visits the programs of a bundle.
fn carve_images(
    carver: &mut Carver<'_>,
    run: &mut Run<'_>,
    data: &[u8],
    mut images: Vec<Image<'_>>,
    place: &mut Place,
) -> Flow {
    images.sort_by_key(|image| image.start);
    for image in images.iter().filter(|image| image.size > 0) {
        let end = offset(image.start, image.size);
        let content = data.get(image.start..end).or_else(|| data.get(image.start..));
        // Overlapping entries would be searched many times.
        let Some(content) = content.filter(|bytes| image.start >= run.covered && !bytes.is_empty()) else {
            let message = "the entry is outside of the file or overlaps another";
            let error = Error::new(ErrorKind::OutOfRange, image.start as u64, message)
                .within(carver.place_of(&image.id.text()));
            carver.error("offload-bundle", error);
            continue;
        };
        if end > data.len() {
            let error = Error::new(ErrorKind::Truncated, image.start as u64, "the entry is cut off")
                .expected(format!("{} bytes", image.size))
                .found(content.len().to_string())
                .within(carver.place_of(&image.id.text()));
            carver.error("offload-bundle", error);
        }
        carver.cover(run, image.start)?;
        match place.enter(carver, &image.id.text()) {
            Entry::Entered => {
                let flow = carver.run(content, run.file_offset(image.start));
                place.leave(carver);
                flow?;
                run.skip_to(end);
            }
            Entry::Unwanted => run.skip_to(end),
            Entry::Refused => return Continue(()),
        }
    }
    Continue(())
}
