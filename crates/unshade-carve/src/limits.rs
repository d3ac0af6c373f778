//! Limits the time and memory that hostile files can take.

use std::borrow::Cow;
use unshade_core::{Error, ErrorKind};

/// Limits on the work for one file. Data beyond a limit are skipped with a diagnostic; the rest continues.
///
/// Each has a command-line option.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum nesting depth of members (`--max-depth`), at most [`Limits::DEEPEST`].
    pub max_depth: usize,
    /// Maximum unpacked size of a member (`--max-member-size`).
    pub max_member_size: u64,
    /// Maximum total of unpacked bytes (`--max-total-size`).
    pub max_total_size: u64,
    /// Maximum unpacked bytes in memory at a time (`--max-held-size`), for nested archives.
    pub max_held_size: u64,
    /// Maximum ratio of a member's unpacked to compressed size (`--max-ratio`), beyond its first
    /// [`Limits::RATIO_FREE`] bytes.
    pub max_ratio: u64,
    /// Maximum number of members of a file, in total (`--max-members`).
    pub max_members: u64,
    /// Maximum number of reported programs (`--max-finds`).
    pub max_finds: u64,
}

impl Limits {
    /// The default of [`Limits::max_depth`]: a wheel in a gzip-compressed tar archive has depth 3.
    pub const MAX_DEPTH: usize = 8;
    /// Upper bound of [`Limits::max_depth`], which protects the stack.
    pub const DEEPEST: usize = 64;
    /// The default of [`Limits::max_member_size`]: 2 GiB, the default of [`Limits::max_held_size`].
    pub const MAX_MEMBER_SIZE: u64 = 2 << 30;
    /// The default of [`Limits::max_total_size`]: 16 GiB.
    pub const MAX_TOTAL_SIZE: u64 = 16 << 30;
    /// The default of [`Limits::max_held_size`]: 2 GiB.
    pub const MAX_HELD_SIZE: u64 = 2 << 30;
    /// The default of [`Limits::max_ratio`]: a quarter of what deflate can reach, far above real programs.
    pub const MAX_RATIO: u64 = 250;
    /// Number of bytes of a member that [`Limits::max_ratio`] ignores, because small files of zeros are common.
    pub const RATIO_FREE: u64 = 16 << 20;
    /// The default of [`Limits::max_members`].
    pub const MAX_MEMBERS: u64 = 1_000_000;
    /// The default of [`Limits::max_finds`].
    pub const MAX_FINDS: u64 = 1_000_000;

    /// Returns the effective maximum depth.
    pub(crate) fn depth(&self) -> usize {
        self.max_depth.min(Self::DEEPEST)
    }

    /// Returns the maximum unpacked size for a compressed size.
    pub(crate) fn ratio_allowance(&self, packed_size: usize) -> u64 {
        (packed_size as u64).saturating_mul(self.max_ratio).max(Self::RATIO_FREE)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: Self::MAX_DEPTH,
            max_member_size: Self::MAX_MEMBER_SIZE,
            max_total_size: Self::MAX_TOTAL_SIZE,
            max_held_size: Self::MAX_HELD_SIZE,
            max_ratio: Self::MAX_RATIO,
            max_members: Self::MAX_MEMBERS,
            max_finds: Self::MAX_FINDS,
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Depth,
    MemberSize,
    TotalSize,
    HeldSize,
    Ratio,
    Members,
    Finds,
    /// The system is out of memory.
    Memory,
}

impl Limit {
    /// Returns whether it applies to the whole file, so that it is reported once.
    pub(crate) fn is_for_all(self) -> bool {
        matches!(self, Self::TotalSize | Self::Members | Self::Finds)
    }

    pub(crate) fn error(self, limits: &Limits) -> Error {
        let size = |bytes: u64| Cow::Owned(format!("at most {bytes} bytes"));
        let (message, expected, option) = match self {
            Self::Depth => (
                "archives inside of archives are not opened beyond this depth",
                Cow::Owned(format!("a depth of at most {}", limits.depth())),
                "--max-depth",
            ),
            Self::MemberSize => (
                "the member is too large and searched in part only",
                size(limits.max_member_size),
                "--max-member-size",
            ),
            Self::TotalSize => (
                "the file unpacks to too much; the rest of it is not unpacked",
                size(limits.max_total_size),
                "--max-total-size",
            ),
            Self::HeldSize => (
                "archives inside of archives take too much memory; the member is searched in part only",
                size(limits.max_held_size),
                "--max-held-size",
            ),
            Self::Ratio => (
                "the member is compressed suspiciously well and searched in part only",
                Cow::Owned(format!("at most {} times its compressed size", limits.max_ratio)),
                "--max-ratio",
            ),
            Self::Members => (
                "the file has too many members; the rest is searched without being unpacked",
                Cow::Owned(format!("at most {}", limits.max_members)),
                "--max-members",
            ),
            Self::Finds => (
                "too many programs were found; the search ends here",
                Cow::Owned(format!("at most {}", limits.max_finds)),
                "--max-finds",
            ),
            Self::Memory => {
                return Error::without_offset(
                    ErrorKind::Limit,
                    "there is not enough memory to unpack the member",
                )
                .hint("it's searched in part only");
            }
        };
        Error::without_offset(ErrorKind::Limit, message).expected(expected).hint(format!("raise {option}"))
    }
}
