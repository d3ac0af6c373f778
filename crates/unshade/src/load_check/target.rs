//! The target that a library is to be loaded on: a platform and the version of its OS.

use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use unshade_metallib::header::{Platform, Version};

/// A platform and the version of its OS.
///
/// ```
/// use unshade::load_check::Target;
///
/// let target: Target = "ios-simulator-17.2".parse()?;
/// assert_eq!(target.to_string(), "iOS simulator 17.2");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The platform.
    pub platform: Platform,
    /// The version of its OS.
    pub version: Version,
}

/// Names of platforms on the command line; the first for each platform is the usual one.
const NAMES: &[(&str, Platform)] = &[
    ("macos", Platform::MACOS),
    ("macosx", Platform::MACOS),
    ("osx", Platform::MACOS),
    ("ios", Platform::IOS),
    ("ipados", Platform::IOS),
    ("tvos", Platform::TVOS),
    ("watchos", Platform::WATCHOS),
    ("bridgeos", Platform::BRIDGEOS),
    ("maccatalyst", Platform::MAC_CATALYST),
    ("catalyst", Platform::MAC_CATALYST),
    ("ios-simulator", Platform::IOS_SIMULATOR),
    ("tvos-simulator", Platform::TVOS_SIMULATOR),
    ("watchos-simulator", Platform::WATCHOS_SIMULATOR),
    ("driverkit", Platform::DRIVERKIT),
    ("visionos", Platform::VISIONOS),
    ("xros", Platform::VISIONOS),
    ("visionos-simulator", Platform::VISIONOS_SIMULATOR),
    ("xros-simulator", Platform::VISIONOS_SIMULATOR),
];

impl Target {
    /// Returns the usual name of each platform.
    pub fn platform_names() -> impl Iterator<Item = &'static str> {
        let is_first =
            |at: usize, platform: Platform| NAMES.iter().position(|row| row.1 == platform) == Some(at);
        NAMES.iter().enumerate().filter(move |(at, row)| is_first(*at, row.1)).map(|(_, row)| row.0)
    }

    /// Returns the target as written on the command line: `macos-13.0`.
    pub fn argument(self) -> String {
        let name =
            NAMES.iter().find(|(_, platform)| *platform == self.platform).map_or("unknown", |row| row.0);
        format!("{name}-{}", short(self.version))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.platform, short(self.version))
    }
}

/// Serializes the target as written on the command line.
impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.argument())
    }
}

/// Formats a version, without the third number if that is 0.
pub(crate) fn short(version: Version) -> String {
    match version {
        Version { major, minor, patch: 0 } => format!("{major}.{minor}"),
        version => version.to_string(),
    }
}

/// Parses up to three numbers separated by dots.
pub(crate) fn parse_version(text: &str) -> Option<Version> {
    let mut numbers = [0u16; 3];
    for (place, part) in text.split('.').enumerate() {
        *numbers.get_mut(place)? = part.parse().ok()?;
    }
    let [major, minor, patch] = numbers;
    Some(Version { major, minor, patch })
}

impl FromStr for Target {
    type Err = String;

    /// Reads `PLATFORM-VERSION`, such as `macos-13.0`.
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let at = lower.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |at| at + 1);
        let (name, version) = lower.split_at(at);
        let name = name.trim_end_matches(['-', ' ']).replace([' ', '_'], "-");
        let platform = NAMES.iter().find(|(known, _)| *known == name).map(|(_, platform)| *platform);
        let version = parse_version(version).filter(|version| version.major != 0);
        match (platform, version) {
            (Some(platform), Some(version)) => Ok(Self { platform, version }),
            (None, _) => {
                let known: Vec<&str> = Self::platform_names().collect();
                Err(format!("no platform {name:?}; known are {}", known.join(", ")))
            }
            (_, None) => Err(format!("expected a version after the platform, such as {name}-17.0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Target>().map(|target| target.to_string());
        assert_eq!(read("macos-13.0").as_deref(), Ok("macOS 13.0"));
        assert_eq!(read("macOS 10.15.7").as_deref(), Ok("macOS 10.15.7"));
        assert_eq!(read("ios17").as_deref(), Ok("iOS 17.0"));
        assert_eq!(read("visionos-simulator-2.1").as_deref(), Ok("visionOS simulator 2.1"));
        assert_eq!(read("iOS simulator 17").as_deref(), Ok("iOS simulator 17.0"));
        assert!(read("macos").is_err_and(|error| error.contains("version")));
        assert!(read("macos-1.2.3.4").is_err() && read("macos-99999").is_err() && read("").is_err());
        assert!(read("linux-6.1").is_err_and(|error| error.contains("known are macos")));
        for name in Target::platform_names() {
            let text = format!("{name}-9.0");
            assert_eq!(text.parse::<Target>().map(Target::argument), Ok(text));
        }
    }
}
