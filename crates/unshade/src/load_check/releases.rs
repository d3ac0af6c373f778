//! Lists what each year's OS releases accept: the newest version of the Metal language, of AIR and of the container.
//!
//! Sources: for the language, the availability of `MTLLanguageVersion` in Apple's documentation; for AIR and container,
//! what Apple's linker writes for that deployment target, in 531 real files and in Metal.jl's table. For macOS 27 they
//! come from one library (kiwi-array-metal 0.4.1).

use unshade_metallib::function_list::ShortVersion;
use unshade_metallib::header::{Platform, Version};

/// The OS releases of one year.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// macOS.
    macos: (u16, u16),
    /// iOS, tvOS, Mac Catalyst, and their simulators.
    ios: u16,
    /// visionOS; 0 before its first release.
    visionos: u16,
    /// The newest version of the Metal language.
    pub language: ShortVersion,
    /// The newest version of AIR, where it is known.
    pub air: Option<ShortVersion>,
    /// The third number of the container version that Apple's linker writes, where it is known.
    pub container_patch: Option<u16>,
}

const fn row(
    macos: (u16, u16),
    ios: u16,
    visionos: u16,
    language: (u16, u16),
    air: Option<(u16, u16)>,
    container_patch: Option<u16>,
) -> Release {
    let air = match air {
        Some((major, minor)) => Some(ShortVersion { major, minor }),
        None => None,
    };
    let language = ShortVersion { major: language.0, minor: language.1 };
    Release { macos, ios, visionos, language, air, container_patch }
}

/// All known releases, oldest first.
#[rustfmt::skip]
pub const RELEASES: &[Release] = &[
    //  macOS     iOS visionOS language AIR             container 1.2.x
    row((10, 11),  9,  0, (1, 1), Some((1, 8)),  Some(2)),
    row((10, 12), 10,  0, (1, 2), Some((1, 11)), Some(2)),
    row((10, 13), 11,  0, (2, 0), Some((2, 0)),  Some(2)),
    row((10, 14), 12,  0, (2, 1), Some((2, 1)),  Some(3)),
    row((10, 15), 13,  0, (2, 2), Some((2, 2)),  Some(4)),
    row((11, 0),  14,  0, (2, 3), Some((2, 3)),  Some(5)),
    row((12, 0),  15,  0, (2, 4), Some((2, 4)),  Some(6)),
    row((13, 0),  16,  0, (3, 0), Some((2, 5)),  Some(7)),
    row((14, 0),  17,  1, (3, 1), Some((2, 6)),  Some(7)),
    row((15, 0),  18,  2, (3, 2), Some((2, 7)),  Some(8)),
    row((26, 0),  26, 26, (4, 0), Some((2, 8)),  Some(9)),
    row((27, 0),  27, 27, (4, 1), Some((2, 9)),  Some(9)),
];

impl Release {
    /// Returns the version of a platform's OS in this year, or `None` for platforms without Metal apps and before the
    /// first release.
    pub fn os(&self, platform: Platform) -> Option<Version> {
        let (major, minor) = match platform {
            Platform::MACOS => self.macos,
            Platform::IOS
            | Platform::TVOS
            | Platform::MAC_CATALYST
            | Platform::IOS_SIMULATOR
            | Platform::TVOS_SIMULATOR => (self.ios, 0),
            Platform::VISIONOS | Platform::VISIONOS_SIMULATOR if self.visionos > 0 => (self.visionos, 0),
            _ => return None,
        };
        Some(Version { major, minor, patch: 0 })
    }

    /// Returns the oldest known release of a platform.
    pub fn oldest(platform: Platform) -> Option<&'static Self> {
        RELEASES.iter().find(|release| release.os(platform).is_some())
    }

    /// Returns the release that a version of an OS belongs to, or `None` if it is older than all known releases.
    pub fn of(platform: Platform, version: Version) -> Option<&'static Self> {
        RELEASES.iter().rev().find(|release| release.os(platform).is_some_and(|first| first <= version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_grow() {
        for pair in RELEASES.windows(2) {
            let [one, next] = pair else { unreachable!() };
            assert!(one.macos < next.macos && one.ios < next.ios && one.language < next.language);
            assert!(next.air.is_none() || one.air < next.air);
            assert!(next.container_patch.is_none() || one.container_patch <= next.container_patch);
        }
        let version = |major, minor| Version { major, minor, patch: 0 };
        let language =
            |platform, version| Release::of(platform, version).map(|found| found.language.to_string());
        assert_eq!(language(Platform::MACOS, version(14, 4)).as_deref(), Some("3.1"));
        assert_eq!(language(Platform::VISIONOS, version(1, 0)).as_deref(), Some("3.1"));
        assert_eq!(language(Platform::IOS, version(8, 0)), None);
        assert_eq!(language(Platform::WATCHOS, version(10, 0)), None);
    }
}
