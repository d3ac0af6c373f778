//! Unpacks the files of an embedded source archive: a POSIX tar archive compressed with bzip2.
//!
//! Reading stops at the end of the bzip2 stream (zeros may follow it) and at [`MAX_UNPACKED`] bytes.

use std::io::Read;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};
use unshade_metallib::sources::SourceArchive;

/// Maximum unpacked size in bytes; unpacking stops there. The largest real archive has 3 MB.
pub const MAX_UNPACKED: u64 = 1 << 30;

/// Maximum ratio of unpacked to packed bytes, for archives that unpack to more than [`RATIO_FREE`] bytes.
pub const MAX_RATIO: u64 = 1_000;

/// Unpacked size in bytes up to which the ratio does not matter.
pub const RATIO_FREE: u64 = 16 << 20;

/// A file in a source archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as the archive has it: often absolute, not to be trusted.
    pub path: Vec<u8>,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Unpacks an archive and hands each of its regular files to `visit`, one at a time.
///
/// # Errors
/// If the stream or archive is damaged, or unpacks to more than the limits allow. The files before the fault have been
/// visited.
pub fn visit_files(archive: &SourceArchive<'_>, visit: impl FnMut(SourceFile)) -> Result<()> {
    unpack(archive, visit).map(|_| ())
}

/// Unpacks an archive, and checks that only zeros follow its stream, to which linkers pad it.
pub(crate) fn check(archive: &SourceArchive<'_>, diagnostics: &mut Diagnostics) {
    let Some(end) = diagnostics.take("sources", unpack(archive, |_| ())) else { return };
    let padding = archive.compressed.rest().get(end..).unwrap_or_default();
    if let Some(at) = padding.iter().position(|byte| *byte != 0) {
        let at = archive.compressed.offset().saturating_add(end as u64).saturating_add(at as u64);
        let error =
            Error::new(ErrorKind::BadValue, at, "bytes other than zeros follow the compressed stream");
        diagnostics.warning("sources", error.within("source archive"));
    }
}

/// Unpacks an archive. Returns the size of its stream.
fn unpack(archive: &SourceArchive<'_>, mut visit: impl FnMut(SourceFile)) -> Result<usize> {
    let packed = archive.compressed.rest();
    let offset = archive.compressed.offset();
    let limit = MAX_UNPACKED.min(RATIO_FREE.max((packed.len() as u64).saturating_mul(MAX_RATIO)));
    let fault = |message: String| Error::new(ErrorKind::BadValue, offset, message).within("source archive");
    let mut unpacked = bzip2::read::BzDecoder::new(packed).take(limit);
    let result = read_tar(&mut unpacked, &mut visit);
    // Zeros follow the last file; the checksum of the stream is at its end.
    let result = result.and_then(|()| std::io::copy(&mut unpacked, &mut std::io::sink()));
    if unpacked.limit() == 0 {
        return Err(Error::new(ErrorKind::Limit, offset, "source archive unpacks to too much")
            .expected(format!("at most {limit} bytes")));
    }
    result.map_err(|error| fault(error.to_string()))?;
    Ok(usize::try_from(unpacked.get_ref().total_in()).unwrap_or(usize::MAX))
}

fn read_tar(unpacked: impl Read, visit: &mut impl FnMut(SourceFile)) -> std::io::Result<()> {
    for entry in tar::Archive::new(unpacked).entries()? {
        if let Some(file) = read_file(entry?)? {
            visit(file);
        }
    }
    Ok(())
}

fn read_file(mut entry: tar::Entry<'_, impl Read>) -> std::io::Result<Option<SourceFile>> {
    if !entry.header().entry_type().is_file() {
        return Ok(None);
    }
    let path = entry.path_bytes().into_owned();
    // The size in the header is not trusted: the buffer grows with the data that is there.
    let mut data = Vec::new();
    entry.read_to_end(&mut data)?;
    if (data.len() as u64) < entry.header().size()? {
        return Err(std::io::Error::other(format!(
            "{} is cut off after {} bytes",
            unshade_core::Escaped(&path),
            data.len()
        )));
    }
    Ok(Some(SourceFile { path, data }))
}
