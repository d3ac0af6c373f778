//! Reads files that are compressed as a whole: gzip, bzip2, Zstandard, xz, LZMA and LZ4.
//!
//! Each may be several consecutive streams, which unpack to one run of bytes. That run is a member. Its name is the one
//! in the gzip header, or the file's name without its extension: `kernels.tgz` contains `kernels.tar`.
//!
//! A stream in the middle of other bytes is a member as well, of the name `gzip_` or `zlib_` and its offset.
//!
//! gzip's header (RFC 1952): `1f 8b 08`, flags (2 checksum, 4 extra field, 8 name, 16 comment), u32 time, u8, u8; then
//! the fields that the flags announce; then deflate data, u32 CRC-32 and u32 size modulo 2^32. It is read here because
//! general readers discard streams with a wrong checksum, whose bytes are still of interest.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::compressed::{Method, is_zstd_frame};
use crate::fields::{Fields, offset};
use crate::lz4::Unlz4;
use crate::stream::{Bunzip2, Decoder, End, Inflate, Unlzma, Unzstd, unxz};
use std::ops::ControlFlow::{self, Continue};
use unshade_core::{Error, ErrorKind};

/// Unpacks the file and searches the result.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>, method: Method) -> Flow {
    let data = run.data;
    let name = inner_name(carver, data, method);
    match carver.enter(&name, &mut Occurrences::default()) {
        Entry::Entered => {}
        Entry::Unwanted | Entry::Refused => return Continue(()),
    }
    let (output, end) = unpack_all(carver, data, 0, method);
    let flow = carver.run_unpacked(output);
    carver.leave();
    // Bytes after the last sound stream are searched without unpacking.
    run.skip_to(end);
    flow
}

/// Unpacks the stream at an offset in other bytes, searches the result, and returns where the search continues.
pub(crate) fn carve_embedded(
    carver: &mut Carver<'_>,
    run: &mut Run<'_>,
    start: usize,
    method: Method,
) -> ControlFlow<(), usize> {
    let next = start.saturating_add(1);
    if carver.is_deepest() {
        carver.report_depth(run);
        return Continue(next);
    }
    if !carver.spend_stream() {
        return Continue(next);
    }
    let method_name = if method == Method::Gzip { "gzip" } else { "zlib" };
    let name = format!("{method_name}_{start:#x}");
    match carver.enter(name.as_bytes(), &mut Occurrences::default()) {
        Entry::Entered => {}
        Entry::Unwanted | Entry::Refused => return Continue(next),
    }
    let (output, end) = unpack_all(carver, run.data, start, method);
    let flow = carver.run_unpacked(output);
    carver.leave();
    flow?;
    Continue(end.max(next))
}

/// Unpacks all streams from an offset on, and returns the end of the sound ones.
fn unpack_all(carver: &mut Carver<'_>, data: &[u8], start: usize, method: Method) -> (Vec<u8>, usize) {
    let mut output = Vec::new();
    let mut at = start;
    loop {
        if at > start && (method == Method::Zlib || !carver.spend_stream()) {
            break;
        }
        let rest = data.get(at..).unwrap_or_default();
        if let Some(size) = gap(method, rest) {
            at = offset(at, size);
            continue;
        }
        let Some((header, mut decoder)) = begin(carver, rest, method) else {
            if at == start {
                let error = Error::new(ErrorKind::Truncated, at as u64, "the gzip header is cut off");
                carver.error("compressed-data", error);
            }
            break;
        };
        let before = output.len();
        let packed = rest.get(header..).unwrap_or_default();
        let unpacked = carver.unpack(&mut *decoder, packed, &mut output, data.len(), None);
        drop(decoder);
        let mut size = header.saturating_add(unpacked.consumed);
        if method == Method::Gzip && unpacked.end == End::Complete {
            check_gzip_trailer(carver, rest, at, size, output.get(before..).unwrap_or_default());
            size = size.saturating_add(8);
        }
        let begin = at as u64;
        // The unpacked bytes are searched, so the packed ones are skipped.
        at = at.saturating_add(size.max(1));
        match unpacked.end {
            End::Complete if at < data.len() => {}
            End::Complete | End::Limit => break,
            End::Damaged(fault) => {
                let error =
                    Error::new(ErrorKind::BadValue, begin, fault).hint("what could be unpacked is searched");
                carver.error("compressed-data", error);
                break;
            }
        }
    }
    (output, at.min(data.len()))
}

/// Returns the size of bytes between two streams that belong to neither: a skippable frame, or padding.
fn gap(method: Method, rest: &[u8]) -> Option<u64> {
    match method {
        Method::Zstd if rest.first() != Some(&0x28) && is_zstd_frame(Fields::little(rest), 0) => {
            // The size of a skippable frame, then that many bytes.
            Some(Fields::little(rest).u32(4).map_or(u64::MAX, |size| u64::from(size).saturating_add(8)))
        }
        Method::Xz if rest.starts_with(&[0; 4]) => {
            let zeros = rest.iter().position(|&byte| byte != 0).unwrap_or(rest.len());
            Some(zeros as u64 & !3)
        }
        _ => None,
    }
}

/// Returns the size of the header that precedes the packed bytes, and a decoder for them, if a stream begins here.
fn begin<'a>(carver: &Carver<'_>, rest: &'a [u8], method: Method) -> Option<(usize, Box<dyn Decoder + 'a>)> {
    if method != Method::Zlib && Method::of(rest) != Some(method) {
        return None;
    }
    Some(match method {
        Method::Zlib => (0, Box::new(Inflate::zlib())),
        Method::Gzip => (gzip_header(rest)?.size, Box::new(Inflate::raw())),
        Method::Bzip2 => (0, Box::new(Bunzip2::new())),
        Method::Zstd => (0, Box::new(Unzstd::new())),
        Method::Xz => (0, unxz(rest, carver.limits)),
        Method::Lzma => (0, Box::new(Unlzma::file(carver.limits))),
        Method::Lz4 => (0, Box::new(Unlz4::default())),
    })
}

/// The header of a gzip stream.
pub(crate) struct GzipHeader<'a> {
    pub(crate) size: usize,
    name: Option<&'a [u8]>,
}

/// Reads the header of a gzip stream.
pub(crate) fn gzip_header(data: &[u8]) -> Option<GzipHeader<'_>> {
    if !data.starts_with(&[0x1f, 0x8b, 8]) {
        return None;
    }
    let fields = Fields::little(data);
    let flags = fields.u8(3)?;
    let mut at = 10_usize;
    if flags & 4 != 0 {
        at = at.checked_add(2)?.checked_add(usize::from(fields.u16(at)?))?;
    }
    let mut c_string = || {
        let rest = data.get(at..)?;
        let length = memchr::memchr(0, rest)?;
        at = at.checked_add(length)?.checked_add(1)?;
        rest.get(..length)
    };
    let name = if flags & 8 != 0 { Some(c_string()?) } else { None };
    if flags & 16 != 0 {
        c_string()?;
    }
    if flags & 2 != 0 {
        at = at.checked_add(2)?;
    }
    Some(GzipHeader { size: at, name })
}

fn check_gzip_trailer(carver: &mut Carver<'_>, stream: &[u8], start: usize, trailer: usize, content: &[u8]) {
    let place = start.saturating_add(trailer) as u64;
    let Some(stated) = Fields::little(stream).u32(trailer) else {
        carver
            .error("compressed-data", Error::new(ErrorKind::Truncated, place, "the gzip trailer is cut off"));
        return;
    };
    let mut crc = crate::crc32::Crc::new();
    crc.update(content);
    if crc.sum() != stated {
        let error = Error::new(ErrorKind::BadChecksum, place, "the CRC-32 of the gzip stream does not match")
            .expected(format!("{stated:#010x}"))
            .found(format!("{:#010x}", crc.sum()));
        carver.error("compressed-data", error);
    }
}

/// Returns extensions of file names, and their replacements.
fn endings(method: Method) -> &'static [(&'static [u8], &'static [u8])] {
    match method {
        Method::Zlib => &[],
        Method::Gzip => &[(b".tgz", b".tar"), (b".gz", b"")],
        Method::Bzip2 => &[(b".tbz2", b".tar"), (b".tbz", b".tar"), (b".bz2", b"")],
        Method::Zstd => &[(b".tzst", b".tar"), (b".zstd", b""), (b".zst", b"")],
        Method::Xz => &[(b".txz", b".tar"), (b".xz", b"")],
        Method::Lzma => &[(b".tlz", b".tar"), (b".lzma", b"")],
        Method::Lz4 => &[(b".lz4", b"")],
    }
}

/// Returns the name of the unpacked file.
fn inner_name(carver: &Carver<'_>, data: &[u8], method: Method) -> Vec<u8> {
    if method == Method::Gzip
        && let Some(name) = gzip_header(data).and_then(|header| header.name)
        && !name.is_empty()
    {
        return name.to_vec();
    }
    let name = carver.innermost_name();
    let name = name.rsplit(|&byte| byte == b'/' || byte == b'\\').next().unwrap_or_default();
    for (ending, replacement) in endings(method) {
        if let Some(at) = name.len().checked_sub(ending.len())
            && let Some((stem, end)) = name.split_at_checked(at)
            && end.eq_ignore_ascii_case(ending)
            && !stem.is_empty()
        {
            return [stem, replacement].concat();
        }
    }
    b"data".to_vec()
}
