//! What several commands have: files, places to write to, selections; and what all have.

use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use std::path::PathBuf;
use unshade::carve::Limits;
use unshade::metallib::FunctionType;
use unshade::select::{Selection, Selector};

#[derive(Debug, ClapArgs)]
pub(crate) struct FilesArgs {
    /// Files, `file!path/inside`, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

/// Where a file is written; nothing is written over an input.
#[derive(Debug, ClapArgs)]
pub(crate) struct BinaryArgs {
    /// The file to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FolderArgs {
    /// The folder to write into; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FileArgs {
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct SelectionArgs {
    /// Only functions of this type
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = function_type)]
    types: Vec<FunctionType>,
    /// Only functions whose source is embedded
    #[arg(long)]
    has_source: bool,
}

impl SelectionArgs {
    pub(super) fn with(&self, selectors: &[String]) -> Result<Selection> {
        let parse = |text: &String| {
            Selector::parse(text)
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("bad selector {text:?}"))
        };
        Ok(Selection {
            selectors: selectors.iter().map(parse).collect::<Result<_>>()?,
            types: self.types.clone(),
            has_source: self.has_source,
        })
    }
}

fn function_type(text: &str) -> Result<FunctionType, String> {
    FunctionType::from_name(text).ok_or_else(|| {
        let known: Vec<_> = FunctionType::NAMED.iter().map(|(_, name)| *name).collect();
        format!("no function type; known are {}", known.join(", "))
    })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GlobalArgs {
    /// Print JSON, one object a file (docs/json.md)
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

/// The guards against hostile archives.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// How deep containers may nest
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::MAX_DEPTH, hide_short_help = true)]
    max_depth: usize,
    /// How large a member may unpack, such as 512MiB
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, default_value_t = Limits::MAX_MEMBER_SIZE, hide_short_help = true)]
    max_member_size: u64,
    /// How much an input may unpack to in all
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, default_value_t = Limits::MAX_TOTAL_SIZE, hide_short_help = true)]
    max_total_size: u64,
    /// How much may be unpacked at a time
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, default_value_t = Limits::MAX_HELD_SIZE, hide_short_help = true)]
    max_held_size: u64,
    /// How many times its packed size a member may have
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::MAX_RATIO, hide_short_help = true)]
    max_ratio: u64,
    /// How many members an input may have
    #[arg(long, global = true, value_name = "N", default_value_t = Limits::MAX_MEMBERS, hide_short_help = true)]
    max_members: u64,
    /// How many programs are reported
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

/// A number of bytes: decimal or `0x…`, with an optional unit (`kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB`).
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
