//! Detects the format of a run from its first bytes.

use super::{Container, Kind, magic};
use crate::checks::compressed::{self, Method};
use crate::checks::offload::Bundle;
use crate::checks::{self, effect, object, tar};

/// Returns the format of a run, detected from its first bytes.
///
/// ```
/// use unshade_carve::format::{Format, Kind, detect};
///
/// assert_eq!(detect(b"MTLB..."), Kind::Program(Format::MetalLibrary));
/// assert_eq!(detect(b"PK\x03\x04...").to_string(), "zip archive");
/// assert_eq!(detect(b"some text"), Kind::Unknown);
/// ```
pub fn detect(bytes: &[u8]) -> Kind {
    if let Some(format) = magic::format_at_start(bytes) {
        return Kind::Program(format);
    }
    detect_container(bytes).map_or(Kind::Unknown, Kind::Container)
}

/// Returns whether something unpacked begins like a program or a container that is worth a search. Kinds without a magic
/// number don't count: they are too common at random.
pub(crate) fn begins_known(bytes: &[u8]) -> bool {
    match detect(bytes) {
        Kind::Program(_) => true,
        Kind::Container(container) => !matches!(container, Container::Zlib | Container::Lzma),
        Kind::Unknown => false,
    }
}

/// Returns the kind of container that the bytes begin like.
pub(crate) fn detect_container(data: &[u8]) -> Option<Container> {
    if data.starts_with(checks::ZIP_LOCAL_HEADER) || data.starts_with(checks::ZIP_END_RECORD) {
        return Some(Container::Zip);
    }
    if data.starts_with(checks::ARCHIVE_MAGIC) {
        return Some(Container::Archive);
    }
    if data.starts_with(checks::THIN_ARCHIVE_MAGIC) {
        return Some(Container::ThinArchive);
    }
    match Bundle::of(data) {
        Some(Bundle::Plain) => return Some(Container::OffloadBundle { is_compressed: false }),
        Some(Bundle::Compressed) => return Some(Container::OffloadBundle { is_compressed: true }),
        Some(Bundle::Binary) => return Some(Container::OffloadBinary),
        None => {}
    }
    match Method::of(data) {
        Some(Method::Gzip) => return Some(Container::Gzip),
        Some(Method::Bzip2) => return Some(Container::Bzip2),
        Some(Method::Zstd) => return Some(Container::Zstd),
        Some(Method::Xz) => return Some(Container::Xz),
        Some(Method::Lzma) => return Some(Container::Lzma),
        Some(Method::Lz4) => return Some(Container::Lz4),
        Some(Method::Zlib) | None => {}
    }
    if let Some(object) = detect_object(data) {
        return Some(object);
    }
    if let Some(profile) = effect::profile(data) {
        return Some(Container::Effect { profile });
    }
    if data.starts_with(checks::GPUTRACE_INDEX_MAGIC) && data.len() >= checks::GPUTRACE_INDEX_HEADER {
        return Some(Container::GpuTraceIndex);
    }
    if tar::starts_archive(data) {
        return Some(Container::Tar);
    }
    compressed::starts_zlib(data).then_some(Container::Zlib)
}

/// Returns the kind of object file that the bytes begin like.
fn detect_object(data: &[u8]) -> Option<Container> {
    if let Some(elf) = object::elf(data) {
        return Some(Container::Elf { is_64: elf.is_64, machine: elf.machine });
    }
    if let Some(mach) = object::mach(data) {
        return Some(Container::MachO { is_64: mach.is_64, cpu: mach.cpu });
    }
    if object::is_mach_universal(data) {
        return Some(Container::MachOUniversal);
    }
    let pe = object::pe(data)?;
    Some(Container::Pe { is_64: pe.is_64, machine: pe.machine })
}
