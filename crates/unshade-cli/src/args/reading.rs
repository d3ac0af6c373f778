//! Arguments of commands that read.

use super::{FileArgs, FilesArgs, FolderArgs, TargetArgs, size};
use clap::{Args as ClapArgs, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use unshade::load_check::Target;
use unshade::program::{ExtractKind, Verb};
use unshade::view::SymbolFilter;

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    /// Show mangled names
    #[arg(long)]
    pub(crate) mangled: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SymbolsArgs {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    /// Show mangled names
    #[arg(long)]
    pub(crate) mangled: bool,
    /// Only symbols that the module does not define
    #[arg(long, short, conflicts_with = "defined_only")]
    undefined_only: bool,
    /// Only symbols that the module defines
    #[arg(long, short = 'U')]
    defined_only: bool,
    /// Only symbols that other modules see
    #[arg(long, short = 'g')]
    extern_only: bool,
    /// Also private symbols, and LLVM's own such as `llvm.used`
    #[arg(long, short = 'a')]
    debug_syms: bool,
    /// In the order of the module, not of the names
    #[arg(long, short = 'p')]
    no_sort: bool,
}

impl SymbolsArgs {
    /// Returns which symbols are listed.
    pub(crate) fn filter(&self) -> SymbolFilter {
        SymbolFilter {
            undefined_only: self.undefined_only,
            defined_only: self.defined_only,
            extern_only: self.extern_only,
            debug_symbols: self.debug_syms,
            unsorted: self.no_sort,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) output: FolderArgs,
    /// Kinds of content to write [default: modules and sources]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<Extracted>,
}

impl ExtractArgs {
    /// Returns whether this kind of content is to be written.
    pub(crate) fn wants(&self, what: Extracted) -> bool {
        let default = [Extracted::Modules, Extracted::Sources];
        if self.only.is_empty() { default.contains(&what) } else { self.only.contains(&what) }
    }

    /// Returns the kinds of content to extract from programs.
    pub(crate) fn kinds(&self) -> Vec<ExtractKind> {
        let kinds = [
            (Extracted::Modules, ExtractKind::Module),
            (Extracted::Sources, ExtractKind::Source),
            (Extracted::Slices, ExtractKind::Slice),
        ];
        kinds.into_iter().filter(|(what, _)| self.wants(*what)).map(|(_, kind)| kind).collect()
    }

    /// Returns the verb that selects programs: with `programs`, all formats are extracted, as in `scan`.
    pub(crate) fn verb(&self) -> Verb {
        if self.wants(Extracted::Programs) { Verb::Scan } else { Verb::Extract }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Extracted {
    /// The bitcode module of each function, as NAME.air; the cubins of fat binaries
    Modules,
    /// Embedded sources, one folder per archive; the PTX of fat binaries
    Sources,
    /// The slices of Metal universal files, named by architecture
    Slices,
    /// The programs themselves, out of the files that contain them
    Programs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// Fail on warnings too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Check structure, sizes and hashes only, not whether a Metal library agrees with its modules
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// Target OS, such as macos-13.0; may be given several times [default: the library's own target]
    #[arg(long, value_name = "PLATFORM-VERSION", value_delimiter = ',')]
    pub(crate) os: Vec<Target>,
    /// Also show rules that hold, and the source of each rule
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    #[arg(value_name = "BEFORE")]
    pub(crate) before: OsString,
    /// Another file
    #[arg(value_name = "AFTER")]
    pub(crate) after: OsString,
    /// Show only the amount of change
    #[arg(long)]
    pub(crate) stat: bool,
    /// Compare what the decompiler makes of the code: Metal of libraries and AIR, HLSL of shaders
    #[arg(long)]
    pub(crate) source: bool,
    /// Number of context lines around each change of code
    #[arg(long, short = 'U', value_name = "N", default_value_t = 3)]
    pub(crate) context: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DumpArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: OsString,
    /// Show fields down to this depth
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    pub(crate) depth: usize,
    /// Show only fields that touch these bytes: START..END, START..+SIZE, or one offset
    #[arg(long, value_name = "RANGE", value_parser = byte_range)]
    pub(crate) range: Option<std::ops::Range<u64>>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExploreArgs {
    /// Files and folders [default: those dropped on the page]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print the address without opening a browser
    #[arg(long, conflicts_with = "json")]
    pub(crate) no_open: bool,
    /// Port to listen on [default: any free port]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "json"
    )]
    pub(crate) port: u16,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct HtmlArgs {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) output: FileArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ScanArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Number of threads [default: number of processors]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Also report problems of files, such as damaged archives
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SurveyArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Show only unknown fields, and the fields related to them
    #[arg(long)]
    pub(crate) unknown: bool,
    /// Also count bitcode records in programs, and NVIDIA instructions
    #[arg(long, visible_alias = "code")]
    pub(crate) bitcode: bool,
    /// Show fields down to this depth
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    pub(crate) depth: usize,
    /// Number of values shown per field
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) values: usize,
    /// Number of threads [default: number of processors]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TypesArgs {
    /// Output format of the table
    #[arg(long, value_enum, default_value_t = TypesFormat::Markdown)]
    pub(crate) format: TypesFormat,
    /// Number of column pairs side by side, for markdown
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) columns: u8,
    #[command(flatten)]
    pub(crate) output: FileArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TypesFormat {
    Markdown,
    Json,
    Rust,
    Swift,
    C,
}

/// Parses `START..END`, `START..+SIZE`, or one offset.
fn byte_range(text: &str) -> Result<std::ops::Range<u64>, String> {
    let bad = || "expected START..END, START..+SIZE, or an offset".to_owned();
    let Some((start, end)) = text.split_once("..") else {
        let start = size(text)?;
        return Ok(start..start.checked_add(1).ok_or_else(bad)?);
    };
    let start = if start.is_empty() { 0 } else { size(start)? };
    let end = match end.strip_prefix('+') {
        Some(count) => start.checked_add(size(count)?).ok_or_else(bad)?,
        None if end.is_empty() => u64::MAX,
        None => size(end)?,
    };
    if start < end { Ok(start..end) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(byte_range("0x58..0x60"), Ok(0x58..0x60));
        assert_eq!(byte_range("16..+4"), Ok(16..20));
        assert_eq!(byte_range("7"), Ok(7..8));
        assert_eq!(byte_range("8.."), Ok(8..u64::MAX));
        assert!(byte_range("9..8").is_err());
    }
}
