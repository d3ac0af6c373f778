//! Checks the header: the size of the file, the platform, and the fields that the container version has.
//!
//! Knowledge: the headers of 531 real libraries; `docs/formats/metallib.md`.

use crate::header::{Header, Platform};
use crate::library::Library;
use crate::target::{FIRST_WITH_PLATFORM, FIRST_WITH_TYPE};
use alloc::format;
use alloc::string::String;
use core::ops::RangeInclusive;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// The last numbers of the container versions that are known.
const KNOWN: RangeInclusive<u16> = 2..=9;

/// Checks the fixed fields of the header.
pub(super) fn check(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    let header = library.header();
    let base = library.file().base();
    let real = library.file().data().len() as u64;
    if header.file_size != real {
        let hint = if header.file_size > real { "the file is truncated" } else { "bytes follow the library" };
        diagnostics.error(
            "file-size",
            Error::new(ErrorKind::OutOfRange, base.saturating_add(16), "wrong file size in the header")
                .expected(format!("{real}"))
                .found(format!("{}", header.file_size))
                .hint(hint),
        );
    }
    let mac = matches!(header.platform(), Platform::MACOS | Platform::MAC_CATALYST);
    if header.platform() != Platform::UNKNOWN && mac != header.macos_flag() {
        diagnostics.warning(
            "platform",
            Error::new(ErrorKind::BadValue, base.saturating_add(5), "macOS flag contradicts the platform")
                .found(format!(
                    "macOS flag {}, platform {}",
                    if header.macos_flag() { "set" } else { "not set" },
                    header.platform()
                )),
        );
    }
    if header.platform().name().is_none() {
        diagnostics.note(
            "platform",
            Error::new(ErrorKind::BadValue, base.saturating_add(11), "unknown platform")
                .found(format!("{}", header.platform())),
        );
    }
    version(header, base, diagnostics);
}

/// Checks the container version, and the fields that it has.
fn version(header: &Header, base: u64, diagnostics: &mut Diagnostics) {
    let mut report = |offset: u64, message: &'static str, expected: &str, found: String| {
        let error = Error::new(ErrorKind::BadValue, base.saturating_add(offset), message);
        diagnostics.warning("header-version", error.expected(String::from(expected)).found(found));
    };
    let version = header.version();
    if (version.major, version.minor) != (1, 2) || !KNOWN.contains(&header.patch) {
        return report(4, "unknown container version", "1.2.2 to 1.2.9", format!("{version}"));
    }
    if header.patch < FIRST_WITH_TYPE && header.raw_type != 0 {
        report(10, "a container of this version states no type", "0", format!("{:#x}", header.raw_type));
    } else if header.library_type().name().is_none() {
        report(10, "unknown type of library", "0 to 3", format!("{}", header.library_type()));
    }
    let states_target = header.raw_platform != 0 || header.os_version().is_some();
    if header.patch < FIRST_WITH_PLATFORM && states_target {
        report(11, "a container of this version states no platform and no OS", "0", header.target());
    }
}
