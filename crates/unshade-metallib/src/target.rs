//! Targets of new libraries, and the container version that Apple's linker writes for each.
//!
//! | target | container |
//! |---|---|
//! | macOS up to 10.13, 10.14, 10.15, 11, 12, 13 and 14, 15, 26 | 1.2.2, 3, 4, 5, 6, 7, 8, 9 |
//! | iOS and tvOS up to 11, 12, 13, 14, 15, 16 to 18, 26 | 1.2.2, 3, 4, 5, 6, 7, 9 |
//! | visionOS 1, 2, 26 | 1.2.7, 8, 9 |
//!
//! The first row was checked against real macOS libraries written by the linker. In the second, iOS 17 and 18 were
//! seen; the other values follow from the releases of the same years.
//!
//! | container | what the linker writes from it on |
//! |---|---|
//! | 1.2.3 | a header extension: [`FIRST_WITH_EXTENSION`] |
//! | 1.2.4 | the type of the library: [`FIRST_WITH_TYPE`] |
//! | 1.2.5 | a UUID: [`FIRST_WITH_UUID`] |
//! | 1.2.6 | platform and OS: [`FIRST_WITH_PLATFORM`] |
//! | 1.2.7 | reflections: [`FIRST_WITH_REFLECTION`] |
//! | 1.2.9 | the name of the output of executables: [`FIRST_WITH_OUTPUT_NAME`] |
//!
//! Source of the second table: 531 real libraries.

use crate::header::{Header, LibraryType, Platform, Section};

/// A platform and the minimum version of its OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The platform.
    pub platform: Platform,
    /// The minimum OS version: major, minor and patch.
    pub os: (u16, u8, u8),
}

/// The first OS version (major, minor) that uses a container version, and the last number of that version.
type ContainerRow = ((u16, u8), u16);

const MACOS: [ContainerRow; 8] = [
    ((0, 0), 2),
    ((10, 14), 3),
    ((10, 15), 4),
    ((11, 0), 5),
    ((12, 0), 6),
    ((13, 0), 7),
    ((15, 0), 8),
    ((26, 0), 9),
];

const IOS: [ContainerRow; 7] =
    [((0, 0), 2), ((12, 0), 3), ((13, 0), 4), ((14, 0), 5), ((15, 0), 6), ((16, 0), 7), ((26, 0), 9)];

const VISIONOS: [ContainerRow; 3] = [((0, 0), 7), ((2, 0), 8), ((26, 0), 9)];

impl Target {
    /// Returns the last number of the container version 1.2.x.
    pub fn container(self) -> u16 {
        let rows: &[ContainerRow] = match self.platform {
            Platform::MACOS | Platform::UNKNOWN => &MACOS,
            Platform::VISIONOS | Platform::VISIONOS_SIMULATOR => &VISIONOS,
            _ => &IOS,
        };
        let os = (self.os.0, self.os.1);
        rows.iter().rev().find(|(first, _)| *first <= os).map_or(2, |(_, container)| *container)
    }

    /// Returns the header of a library for this target.
    ///
    /// ```
    /// use unshade_metallib::target::Target;
    /// use unshade_metallib::{LibraryType, Platform};
    ///
    /// let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
    /// let header = target.header(LibraryType::EXECUTABLE);
    /// assert_eq!((header.version().to_string(), header.target()), ("1.2.7".into(), "macOS 14.0".into()));
    /// ```
    pub fn header(self, kind: LibraryType) -> Header {
        let mut header = Header::of_version(self.container());
        self.write(&mut header);
        if header.patch >= FIRST_WITH_TYPE {
            header.raw_type = kind.0;
        }
        header
    }

    /// Writes the target to a header, as far as its container version can express it.
    pub fn write(self, header: &mut Header) {
        let is_mac = matches!(self.platform, Platform::MACOS | Platform::MAC_CATALYST);
        header.raw_major = header.raw_major & 0x7fff | if is_mac { 0x8000 } else { 0 };
        if header.patch >= FIRST_WITH_PLATFORM {
            header.raw_platform = self.platform.0 | 0x80;
            (header.os_major, header.os_minor, header.os_patch) = self.os;
        }
    }
}

/// The first container version (1.2.x) with a header extension.
pub const FIRST_WITH_EXTENSION: u16 = 3;

/// The first container version (1.2.x) that stores the type of the library.
pub const FIRST_WITH_TYPE: u16 = 4;

/// The first container version (1.2.x) with a UUID.
pub const FIRST_WITH_UUID: u16 = 5;

/// The first container version (1.2.x) that stores platform and OS.
pub const FIRST_WITH_PLATFORM: u16 = 6;

/// The first container version (1.2.x) with reflections.
pub const FIRST_WITH_REFLECTION: u16 = 7;

/// The first container version (1.2.x) in which executables have the name of their file, as dynamic libraries have an
/// install name.
pub const FIRST_WITH_OUTPUT_NAME: u16 = 9;

impl Header {
    /// Returns an otherwise empty header of container version 1.2.`patch`.
    pub fn of_version(patch: u16) -> Self {
        let none = Section::default();
        Self {
            raw_major: 1,
            minor: 2,
            patch,
            raw_type: 0,
            raw_platform: 0,
            os_major: 0,
            os_minor: 0,
            os_patch: 0,
            file_size: 0,
            function_list: none,
            public_metadata: none,
            private_metadata: none,
            bitcode: none,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_version_depends_on_the_target() {
        for (platform, os, container) in [
            (Platform::MACOS, (10, 13, 0), 2),
            (Platform::MACOS, (10, 15, 0), 4),
            (Platform::MACOS, (11, 3, 0), 5),
            (Platform::MACOS, (14, 4, 0), 7),
            (Platform::MACOS, (15, 0, 0), 8),
            (Platform::MACOS, (26, 2, 0), 9),
            (Platform::IOS, (17, 6, 0), 7),
            (Platform::IOS_SIMULATOR, (18, 2, 0), 7),
            (Platform::VISIONOS, (1, 0, 0), 7),
        ] {
            assert_eq!(Target { platform, os }.container(), container, "{platform} {os:?}");
        }
        let header = Target { platform: Platform::MACOS, os: (10, 13, 0) }.header(LibraryType::DYNAMIC);
        assert_eq!((header.raw_type, header.raw_platform, header.os_version()), (0, 0, None));
    }
}
