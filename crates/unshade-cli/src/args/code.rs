//! Disassembling, decompiling, assembling.

use super::{FolderArgs, SelectionArgs, TargetArgs, part_name, split_targets};
use anyhow::Result;
use clap::{Args as ClapArgs, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use unshade::llvm::print::Dialect;
use unshade::select::Selection;

#[derive(Debug, ClapArgs)]
pub(crate) struct DisassembleArgs {
    /// Files, `file!path/inside`, folders, or `-` for standard input; then functions: a name, /regular expression/ or
    /// #index
    ///
    /// The first argument is a file or folder. So is each one after it, as long as it is `-` or has a `.`, `/`, `!` or `@`
    /// in it and names something that is there: `./name` is a file, `name` a function. The first argument that is not a
    /// file is a function, and so are all that follow it.
    #[arg(required_unless_present = "words", value_name = "FILE|FUNCTION")]
    arguments: Vec<OsString>,
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
    /// Show which registers are live, and how many, of NVIDIA machine code
    ///
    /// Each line begins with the number of registers and predicates that are live while the instruction runs, and whether
    /// the condition code is. It ends with the registers that become live there (+R4) and those that are read for the last
    /// time (-R2). `--live=columns` draws one column per register instead: ^ written, v read, x both, : live.
    #[arg(
        long,
        value_enum,
        alias = "life",
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "ranges",
        conflicts_with_all = ["raw", "bytes", "stats", "cfg", "control", "words"]
    )]
    pub(crate) live: Option<LivenessFormat>,
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
    /// Returns the files and folders, and what is selected in them.
    pub(crate) fn split(&self) -> Result<(Vec<OsString>, Selection)> {
        let (files, functions) = split_targets(&self.arguments);
        Ok((files.to_vec(), self.selection.with(functions)?))
    }
}

/// How liveness is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LivenessFormat {
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
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
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

#[derive(Debug, ClapArgs)]
pub(crate) struct AssembleArgs {
    /// A listing, or `-` for standard input
    pub(crate) listing: OsString,
    /// The chip of machine code: 35 for sm_35 [default: what the listing says]
    #[arg(long, value_name = "N")]
    pub(crate) sm: Option<u32>,
    /// Put the program into a copy of this cubin, under the functions that the listing names, or of this DXContainer
    #[arg(long, value_name = "FILE", requires = "output")]
    pub(crate) into: Option<OsString>,
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
    pub(crate) import: Option<OsString>,
    /// Functions: a name, /regular expression/ or #index
    #[arg(value_name = "FUNCTION", requires = "import")]
    selectors: Vec<OsString>,
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
