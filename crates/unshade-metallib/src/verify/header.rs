//! Checks the header: the size of the file, the platform, the fields that the container version has, whether the library
//! has what its type says, and where empty sections are.
//!
//! Knowledge: the headers of 531 real libraries; `docs/formats/metallib.md`. No Core Image library and no stub was
//! available.

use crate::function_list::{Function, FunctionType};
use crate::header::{Header, LibraryType, Platform};
use crate::library::Library;
use crate::target::{FIRST_WITH_EXTENSION, FIRST_WITH_OUTPUT_NAME, FIRST_WITH_PLATFORM, FIRST_WITH_TYPE};
use alloc::format;
use alloc::string::String;
use core::ops::RangeInclusive;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// The last numbers of the container versions that are known.
const KNOWN: RangeInclusive<u16> = 2..=9;

/// Checks the fixed fields of the header.
pub(super) fn check(library: &Library<'_>, functions: &[Function<'_>], diagnostics: &mut Diagnostics) {
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
    version(library, diagnostics);
    library_type(library, functions, diagnostics);
    empty_sections(header, base, diagnostics);
}

/// Checks the container version, and the fields that it has.
fn version(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    let header = library.header();
    let base = library.file().base();
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
    // What is wrong with an extension that can't be read is reported elsewhere.
    let has_extension = library.extension().is_some() || library.extension_fault().is_some();
    if has_extension != (header.patch >= FIRST_WITH_EXTENSION) {
        let shown = |has: bool| if has { "a header extension" } else { "no header extension" };
        let message = "a container of this version has another header extension";
        report(8, message, shown(!has_extension), shown(has_extension).into());
    }
}

/// Checks that the library has what its type says. What a symbol companion has may be in its modules, which are checked
/// elsewhere.
fn library_type(library: &Library<'_>, functions: &[Function<'_>], diagnostics: &mut Diagnostics) {
    let header = library.header();
    let dynamic = library.dynamic_header().ok().flatten();
    let has_name = dynamic.is_some_and(|dynamic| dynamic.install_name().is_some());
    let is_extern = |function: &Function<'_>| function.kind == Some(FunctionType::EXTERN);
    let missing = match header.library_type() {
        LibraryType::EXECUTABLE if has_name && header.patch < FIRST_WITH_OUTPUT_NAME => "no install name",
        LibraryType::CORE_IMAGE if !functions.is_empty() && !functions.iter().any(is_extern) => {
            "extern functions"
        }
        LibraryType::DYNAMIC if !has_name => "an install name",
        _ => return,
    };
    let at = library.file().base().saturating_add(10);
    let error = Error::new(ErrorKind::BadValue, at, "the library does not have what its type says");
    let found = format!("{} library", header.library_type());
    diagnostics.warning("library-type", error.expected(missing).found(found));
}

/// Checks that each empty section is where the one before it ends. Those with bytes can only overlap or leave a gap.
fn empty_sections(header: &Header, base: u64, diagnostics: &mut Diagnostics) {
    let sections = [
        ("private metadata", header.private_metadata, header.public_metadata.end()),
        ("bitcode", header.bitcode, header.private_metadata.end()),
    ];
    for (name, section, expected) in sections {
        let Some(expected) = expected.filter(|end| section.size == 0 && section.offset != *end) else {
            continue;
        };
        let at = base.saturating_add(section.offset);
        let error =
            Error::new(ErrorKind::BadValue, at, "an empty section is in another place than its neighbours")
                .expected(format!("{expected:#x}"))
                .found(format!("{:#x}", section.offset));
        diagnostics.warning("section-gap", error.within(name));
    }
}
