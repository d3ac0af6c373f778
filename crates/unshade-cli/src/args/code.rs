//! Disassembling, decompiling, assembling.

use super::{FolderArgs, SelectionArgs, part_name};
use anyhow::Result;
use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;
use unshade::llvm::print::Dialect;
use unshade::select::Selection;

#[derive(Debug, ClapArgs)]
pub(crate) struct DisassembleArgs {
    /// A file, `file!path/inside`, a folder, or `-` for standard input
    #[arg(required_unless_present = "words")]
    pub(crate) file: Option<String>,
    /// Functions: a name, /regular expression/ or #index; or more files and folders
    ///
    /// What has a `.` or a `/` in it and names a file or folder that is there is one more input, anything else a
    /// function: `./name` is the file, `name` the function.
    #[arg(value_name = "FUNCTION|FILE")]
    selectors: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Whose text to print [default: dxc for DXContainers, else llvm-14]
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// Which part of a DXContainer: DXIL, ILDB or STAT [default: ILDB if it is there, else DXIL, as DXC has it]
    #[arg(long, value_name = "PART", value_parser = part_name)]
    pub(crate) part: Option<[u8; 4]>,
    /// Print what that tool prints, and nothing of our own
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show behind each instruction of NVIDIA's what the scheduler is told
    #[arg(long, conflicts_with = "raw")]
    pub(crate) control: bool,
    /// Disassemble these words, in hexadecimal, of NVIDIA's machine code
    #[arg(long, value_name = "WORD", num_args = 1.., requires = "sm", conflicts_with = "json", value_parser = machine_word)]
    pub(crate) words: Vec<u128>,
    /// The chip of the words: 30 for sm_30
    #[arg(long, value_name = "N", requires = "words")]
    pub(crate) sm: Option<u32>,
    /// Show in front of each line which bytes of the file it was decoded from
    ///
    /// The offset in the file, and the first eight bytes of the record: records are not aligned, so that the first and
    /// the last byte may belong to its neighbours as well.
    #[arg(long, conflicts_with = "raw")]
    pub(crate) bytes: bool,
    /// Count instead: instructions, memory accesses, calls and types, of all and of each
    #[arg(long, conflicts_with_all = ["raw", "bytes", "output"])]
    pub(crate) stats: bool,
    /// Draw control-flow graphs instead
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["raw", "bytes", "stats"])]
    pub(crate) cfg: Option<GraphFormat>,
    /// Show how long values live in registers, and how many at a time, of NVIDIA's machine code
    ///
    /// In front of each instruction stands how many registers and predicates are occupied while it runs, and whether
    /// the condition code is; behind it what begins to live there (+R4) and what is read for the last time (-R2).
    /// `--life=columns` draws a column for each register instead: ^ written, v read, x both, : kept.
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "ranges",
        conflicts_with_all = ["raw", "bytes", "stats", "cfg", "control", "words"]
    )]
    pub(crate) life: Option<LifeFormat>,
    /// Write to a file (a name with an extension), or a file for each function into a folder
    ///
    /// Of several files or a folder, the folder gets a listing for each file, under the file's name and below the
    /// folders that it was found in.
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
}

impl DisassembleArgs {
    /// The inputs after the first one, and what selects functions.
    pub(crate) fn others(&self) -> (Vec<&str>, Vec<String>) {
        let is_input = |argument: &&String| {
            let is_expression = argument.len() > 1 && argument.starts_with('/') && argument.ends_with('/');
            argument.contains(['.', '/']) && !is_expression && crate::input::is_there(argument)
        };
        let (inputs, selectors): (Vec<_>, Vec<_>) = self.selectors.iter().partition(is_input);
        (inputs.into_iter().map(String::as_str).collect(), selectors.into_iter().cloned().collect())
    }

    /// What these select.
    pub(crate) fn selection(&self, selectors: &[String]) -> Result<Selection> {
        self.selection.with(selectors)
    }
}

/// How the lives of registers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LifeFormat {
    /// What begins and ends at each instruction
    Ranges,
    /// A column for each register
    Columns,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// The language of Graphviz
    Dot,
    /// JSON (docs/json.md)
    Json,
}

/// Whose text is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// As llvm-dis 14, with typed pointers
    #[value(name = "llvm-14")]
    Llvm14,
    /// As DXC's disassembler (LLVM 3.7)
    Dxc,
    /// As llvm-dis 19, with opaque pointers
    #[value(name = "llvm-19")]
    Llvm19,
}

impl From<DialectArg> for Dialect {
    fn from(dialect: DialectArg) -> Self {
        match dialect {
            DialectArg::Llvm14 => Self::Llvm14,
            DialectArg::Dxc => Self::Dxc,
            DialectArg::Llvm19 => Self::Llvm19,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DecompileArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    /// Functions: a name, /regular expression/ or #index
    #[arg(value_name = "FUNCTION")]
    selectors: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Show behind each line the addresses of the instructions that it comes from
    #[arg(long)]
    pub(crate) lines: bool,
    /// The most instructions of a function, those of functions that it calls counted at each call
    #[arg(long, value_name = "N", default_value_t = unshade::decompiler::DEFAULT_BUDGET)]
    pub(crate) budget: usize,
    /// Show each flush of a subnormal float as a call, also where `-ftz=true` says it of the whole function
    #[arg(long)]
    pub(crate) explicit_ftz: bool,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

impl DecompileArgs {
    pub(crate) fn selection(&self) -> Result<Selection> {
        self.selection.with(&self.selectors)
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AssembleArgs {
    /// A listing, or `-` for standard input
    pub(crate) listing: String,
    /// The chip of machine code: 35 for sm_35 [default: what the listing says]
    #[arg(long, value_name = "N")]
    pub(crate) sm: Option<u32>,
    /// Put the program into a copy of this cubin, under the functions that the listing names, or of this DXContainer
    #[arg(long, value_name = "FILE", requires = "output")]
    pub(crate) into: Option<String>,
    /// The file to write [default, of machine code: the words as text to standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GhidraArgs {
    /// Write no module, but of each kernel in this file a program that Ghidra imports
    #[arg(long, value_name = "FILE")]
    pub(crate) import: Option<String>,
    /// Functions: a name, /regular expression/ or #index
    #[arg(value_name = "FUNCTION", requires = "import")]
    selectors: Vec<String>,
    #[command(flatten)]
    pub(crate) output: FolderArgs,
}

impl GhidraArgs {
    pub(crate) fn selection(&self) -> Result<Selection> {
        SelectionArgs::default().with(&self.selectors)
    }
}

/// A word of machine code: up to 32 digits, with or without `0x`.
fn machine_word(text: &str) -> Result<u128, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u128::from_str_radix(digits, 16).map_err(|_| String::from("expected a word in hexadecimal"))
}
