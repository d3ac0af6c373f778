//! Reads files that are compressed as a whole: gzip, bzip2 and Zstandard.
//!
//! Each may be several consecutive streams, which unpack to one run of bytes. That run is a member. Its name is the one
//! in the gzip header, or the file's name without its extension: `kernels.tgz` contains `kernels.tar`.
//!
//! gzip's header (RFC 1952): `1f 8b 08`, flags (2 checksum, 4 extra field, 8 name, 16 comment), u32 time, u8, u8; then
//! the fields that the flags announce; then deflate data, u32 CRC-32 and u32 size modulo 2^32. It is read here because
//! general readers discard streams with a wrong checksum, whose bytes are still of interest.

use crate::carver::{Carver, Entry, Flow, Occurrences, Run};
use crate::checks::compressed::{Method, is_zstd_frame};
use crate::fields::{Fields, offset};
use crate::stream::{Bunzip2, Decoder, End, Inflate, Unpacked, Unzstd};
use std::ops::ControlFlow::Continue;
use unshade_core::{Error, ErrorKind};

/// Unpacks the file and searches the result.
pub(crate) fn carve(carver: &mut Carver<'_>, run: &mut Run<'_>, method: Method) -> Flow {
    let data = run.data;
    let name = inner_name(carver, data, method);
    match carver.enter(&name, &mut Occurrences::default()) {
        Entry::Entered => {}
        Entry::Unwanted | Entry::Refused => return Continue(()),
    }
    let (output, end) = unpack_all(carver, data, method);
    let flow = carver.run_unpacked(output);
    carver.leave();
    // Bytes after the last sound stream are searched without unpacking.
    run.skip_to(end);
    flow
}

/// Unpacks all streams, and returns the end of the sound ones.
fn unpack_all(carver: &mut Carver<'_>, data: &[u8], method: Method) -> (Vec<u8>, usize) {
    let mut output = Vec::new();
    let mut at = 0_usize;
    loop {
        if at > 0 && !carver.spend_stream() {
            break;
        }
        let rest = data.get(at..).unwrap_or_default();
        let begin = at;
        let before = output.len();
        let (unpacked, size) = match method {
            Method::Gzip => {
                let Some(header) = gzip_header(rest) else {
                    if at == 0 {
                        let error = Error::new(ErrorKind::Truncated, 0, "the gzip header is cut off");
                        carver.error("compressed-data", error);
                    }
                    break;
                };
                let unpacked = unpack_from(
                    carver,
                    &mut Inflate::raw(),
                    data,
                    at.saturating_add(header.size),
                    &mut output,
                );
                let trailer = header.size.saturating_add(unpacked.consumed);
                if unpacked.end == End::Complete {
                    let content = output.get(before..).unwrap_or_default();
                    check_gzip_trailer(carver, rest, at, trailer, content);
                }
                let size = if unpacked.end == End::Complete { trailer.saturating_add(8) } else { trailer };
                (unpacked, size)
            }
            Method::Bzip2 => {
                if !matches!(Method::of(rest), Some(Method::Bzip2)) {
                    break;
                }
                let unpacked = unpack_from(carver, &mut Bunzip2::new(), data, at, &mut output);
                let size = unpacked.consumed;
                (unpacked, size)
            }
            Method::Zstd => {
                let fields = Fields::little(rest);
                if !is_zstd_frame(fields, 0) {
                    break;
                }
                if rest.first() != Some(&0x28) {
                    // A skippable frame: its size, then that many bytes.
                    at = offset(at.saturating_add(8), fields.u32(4).map_or(u64::MAX, u64::from));
                    continue;
                }
                let unpacked = unpack_from(carver, &mut Unzstd::new(), data, at, &mut output);
                let size = unpacked.consumed;
                (unpacked, size)
            }
        };
        match unpacked.end {
            End::Complete => at = at.saturating_add(size.max(1)),
            // The unpacked bytes are searched, so the packed ones are skipped.
            End::Damaged(fault) => {
                at = at.saturating_add(size);
                let error = Error::new(ErrorKind::BadValue, begin as u64, fault)
                    .hint("what could be unpacked is searched");
                carver.error("compressed-data", error);
                break;
            }
            End::Limit => {
                at = at.saturating_add(size);
                break;
            }
        }
        if at >= data.len() {
            break;
        }
    }
    (output, at.min(data.len()))
}

fn unpack_from(
    carver: &mut Carver<'_>,
    decoder: &mut dyn Decoder,
    data: &[u8],
    at: usize,
    output: &mut Vec<u8>,
) -> Unpacked {
    carver.unpack(decoder, data.get(at..).unwrap_or_default(), output, data.len(), None)
}

struct GzipHeader<'a> {
    size: usize,
    name: Option<&'a [u8]>,
}

fn gzip_header(data: &[u8]) -> Option<GzipHeader<'_>> {
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
        Method::Gzip => &[(b".tgz", b".tar"), (b".gz", b"")],
        Method::Bzip2 => &[(b".tbz2", b".tar"), (b".tbz", b".tar"), (b".bz2", b"")],
        Method::Zstd => &[(b".tzst", b".tar"), (b".zstd", b""), (b".zst", b"")],
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
