//! Arguments that several or all commands share: files, outputs, selections, limits.

use crate::input::names_input;
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use unshade::carve::Limits;
use unshade::program::formats;
use unshade::select::{Selection, Selector};

#[derive(Debug, ClapArgs)]
pub(crate) struct FilesArgs {
    /// Files, `file!path/inside`, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<OsString>,
}

/// Files, then functions of them.
#[derive(Debug, ClapArgs)]
pub(crate) struct TargetArgs {
    /// Files, `file!path/inside`, or `-` for standard input; then functions: a name, /regular expression/ or #index
    ///
    /// The first argument is a file. Each later argument is a file too, as long as it exists and is `-` or contains
    /// `.`, `/`, `!` or `@`: `./name` is a file, `name` is a function. From the first function on, all arguments are
    /// functions.
    #[arg(required = true, value_name = "FILE|FUNCTION")]
    arguments: Vec<OsString>,
    #[command(flatten)]
    selection: SelectionArgs,
}

impl TargetArgs {
    /// Returns the files, and the functions that are selected in them.
    pub(crate) fn split(&self) -> Result<(Vec<OsString>, Selection)> {
        let (files, functions) = split_targets(&self.arguments);
        Ok((files.to_vec(), self.selection.with(functions)?))
    }
}

/// Splits the arguments into files and functions.
pub(crate) fn split_targets(arguments: &[OsString]) -> (&[OsString], &[OsString]) {
    let more = arguments.iter().skip(1).take_while(|argument| names_input(argument)).count();
    arguments.split_at(arguments.len().min(1 + more))
}

/// The output file, which is never an input.
#[derive(Debug, ClapArgs)]
pub(crate) struct BinaryArgs {
    /// The file to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FolderArgs {
    /// The folder to write into; created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FileArgs {
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct SelectionArgs {
    /// A function, even if a file has this name; may be given several times
    #[arg(short = 'f', long = "function", value_name = "FUNCTION")]
    functions: Vec<OsString>,
    /// Only functions of this type
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = function_kind)]
    kinds: Vec<String>,
    /// Only functions whose source is embedded
    #[arg(long)]
    has_source: bool,
}

impl SelectionArgs {
    /// Returns the selection, including the selectors among the arguments.
    pub(crate) fn with(&self, arguments: &[OsString]) -> Result<Selection> {
        let parse = |argument: &OsString| {
            let Some(text) = argument.to_str() else {
                bail!("a selector of functions is UTF-8: {argument:?}")
            };
            Selector::parse(text)
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("bad selector {text:?}"))
        };
        Ok(Selection {
            selectors: self.functions.iter().chain(arguments).map(parse).collect::<Result<_>>()?,
            kinds: self.kinds.clone(),
            has_source: self.has_source,
        })
    }
}

fn function_kind(text: &str) -> Result<String, String> {
    let known: BTreeSet<&str> = formats().into_iter().flat_map(|format| format.kinds).copied().collect();
    if known.contains(text) {
        return Ok(text.to_owned());
    }
    let known: Vec<&str> = known.into_iter().collect();
    Err(format!("no function type; known are {}", known.join(", ")))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GlobalArgs {
    /// Print JSON, one object per file (docs/json.md)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour
    #[command(flatten)]
    pub(crate) color: colorchoice_clap::Color,
    /// Never page the output
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Limits for hostile archives.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum nesting depth of containers
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::MAX_DEPTH, hide_short_help = true)]
    max_depth: usize,
    /// Maximum unpacked size of a member, such as 512MiB
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, default_value_t = Limits::MAX_MEMBER_SIZE, hide_short_help = true)]
    max_member_size: u64,
    /// Maximum total of unpacked bytes per input
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, default_value_t = Limits::MAX_TOTAL_SIZE, hide_short_help = true)]
    max_total_size: u64,
    /// Maximum unpacked bytes in memory at a time
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, default_value_t = Limits::MAX_HELD_SIZE, hide_short_help = true)]
    max_held_size: u64,
    /// Maximum ratio of a member's unpacked to packed size
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::MAX_RATIO, hide_short_help = true)]
    max_ratio: u64,
    /// Maximum number of members per input
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::MAX_MEMBERS, hide_short_help = true)]
    max_members: u64,
    /// Maximum number of reported programs
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::MAX_FINDS, hide_short_help = true)]
    max_finds: u64,
}

impl GlobalArgs {
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_depth = self.limits.max_depth;
        limits.max_member_size = self.limits.max_member_size;
        limits.max_total_size = self.limits.max_total_size;
        limits.max_held_size = self.limits.max_held_size;
        limits.max_ratio = self.limits.max_ratio;
        limits.max_members = self.limits.max_members;
        limits.max_finds = self.limits.max_finds;
        limits
    }
}

/// Parses a number of bytes: decimal or `0x…`, with an optional unit (`kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`).
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("", 1),
    ];
    let (digits, factor) = UNITS
        .iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits.trim_end(), factor)))
        .unwrap_or((text, &1));
    let number = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.replace('_', "").parse(),
    };
    let bad = || "expected a number of bytes such as 4096, 0x1000 or 4KiB".to_owned();
    number.map_err(|_| bad())?.checked_mul(*factor).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("0x40"), Ok(64));
        assert_eq!(size("4KiB"), Ok(4096));
        assert_eq!(size("2 MB"), Ok(2_000_000));
        assert!(size("four").is_err() && size("99999999999GiB").is_err() && size("").is_err());
    }
}
