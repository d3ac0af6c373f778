//! What an OS version reads: the versions of AIR and of the Metal language that its compiler writes.
//!
//! | OS | AIR | language |
//! |---|---|---|
//! | macOS 12, iOS 15 | 2.4 | 2.4 |
//! | macOS 13, iOS 16 | 2.5 | 3.0 |
//! | macOS 14, iOS 17, visionOS 1 | 2.6 | 3.1 |
//! | macOS 15, iOS 18, visionOS 2 | 2.7 | 3.2 |
//! | all from 26 on | 2.8 | 4.0 |
//!
//! A later OS reads what is written for an earlier one.

use crate::refused;
use alloc::format;
use alloc::string::String;
use unshade_core::Result;
use unshade_metallib::Platform;
use unshade_metallib::target::Target;

/// A version of AIR or of the language: major and minor.
pub type Version = (u16, u16);

/// What the compiler of an OS version writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// The version of AIR.
    pub air: Version,
    /// The version of the Metal language.
    pub language: Version,
}

/// The first major version of macOS, of iOS and tvOS, and of visionOS; and what it reads.
const GENERATIONS: [(u16, u16, u16, Generation); 5] = [
    (12, 15, 1, Generation { air: (2, 4), language: (2, 4) }),
    (13, 16, 1, Generation { air: (2, 5), language: (3, 0) }),
    (14, 17, 1, Generation { air: (2, 6), language: (3, 1) }),
    (15, 18, 2, Generation { air: (2, 7), language: (3, 2) }),
    (26, 26, 26, Generation { air: (2, 8), language: (4, 0) }),
];

/// The platforms as a triple names them: OS, and what follows it.
const PLATFORMS: [(Platform, &str, &str); 9] = [
    (Platform::MACOS, "macosx", ""),
    (Platform::IOS, "ios", ""),
    (Platform::TVOS, "tvos", ""),
    (Platform::VISIONOS, "xros", ""),
    (Platform::IOS_SIMULATOR, "ios", "-simulator"),
    (Platform::TVOS_SIMULATOR, "tvos", "-simulator"),
    (Platform::VISIONOS_SIMULATOR, "xros", "-simulator"),
    (Platform::MAC_CATALYST, "ios", "-macabi"),
    (Platform::WATCHOS, "watchos", ""),
];

/// Returns what the compiler for a target writes.
///
/// # Errors
/// If the OS is older than macOS 12, iOS 15 or visionOS 1.
pub fn generation(target: Target) -> Result<Generation> {
    let first = |row: &(u16, u16, u16, Generation)| match target.platform {
        Platform::MACOS => row.0,
        Platform::VISIONOS | Platform::VISIONOS_SIMULATOR => row.2,
        _ => row.1,
    };
    let found = GENERATIONS.iter().rev().find(|row| first(row) <= target.os.0);
    found
        .map_or_else(|| refused("AIR is written for macOS 12, iOS 15, visionOS 1 and later"), |row| Ok(row.3))
}

/// Returns the target triple.
///
/// # Errors
/// If the platform has no name in triples.
pub fn triple(target: Target) -> Result<String> {
    let Some((_, os, suffix)) = PLATFORMS.iter().find(|(platform, ..)| *platform == target.platform) else {
        return refused("a platform without a target triple");
    };
    let (major, minor, patch) = target.os;
    Ok(format!("air64-apple-{os}{major}.{minor}.{patch}{suffix}"))
}

/// The data layout of all modules.
pub const DATA_LAYOUT: &str = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-\
    v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-\
    v512:512:512-v1024:1024:1024-n8:16:32";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_follow_the_os() {
        for (platform, os, air) in [
            (Platform::MACOS, (12, 3, 0), Some((2, 4))),
            (Platform::MACOS, (14, 0, 0), Some((2, 6))),
            (Platform::IOS, (16, 1, 0), Some((2, 5))),
            (Platform::VISIONOS, (1, 0, 0), Some((2, 6))),
            (Platform::MACOS, (26, 1, 0), Some((2, 8))),
            (Platform::MACOS, (10, 15, 0), None),
        ] {
            let found = generation(Target { platform, os }).ok().map(|generation| generation.air);
            assert_eq!(found, air, "{platform} {os:?}");
        }
        let target = Target { platform: Platform::IOS_SIMULATOR, os: (17, 2, 0) };
        assert_eq!(triple(target).ok().as_deref(), Some("air64-apple-ios17.2.0-simulator"));
    }
}
