//! Checks whether bytes have the header of one kind of file, and how long the file is by that header.
//!
//! Detection and carving use the checks; the checks depend on neither.

pub(crate) mod bitcode;
pub(crate) mod compressed;
pub(crate) mod cubin;
pub(crate) mod direct3d9;
pub(crate) mod dxcontainer;
pub(crate) mod effect;
pub(crate) mod fatbin;
pub(crate) mod metal;
mod module;
pub(crate) mod object;
pub(crate) mod offload;
pub(crate) mod ptx;
pub(crate) mod tar;

/// The magic number of a zip member's local header, with which most archives begin.
pub(crate) const ZIP_LOCAL_HEADER: &[u8] = b"PK\x03\x04";
/// The magic number of a zip archive's end record, with which an empty archive begins.
pub(crate) const ZIP_END_RECORD: &[u8] = b"PK\x05\x06";
/// The first bytes of a static archive.
pub(crate) const ARCHIVE_MAGIC: &[u8] = b"!<arch>\n";
/// The first bytes of a thin archive, which only names its members.
pub(crate) const THIN_ARCHIVE_MAGIC: &[u8] = b"!<thin>\n";
/// The first bytes of the index of a `.gputrace`.
pub(crate) const GPUTRACE_INDEX_MAGIC: &[u8] = b"xdic";
/// The size of the header of that index.
pub(crate) const GPUTRACE_INDEX_HEADER: usize = 20;
