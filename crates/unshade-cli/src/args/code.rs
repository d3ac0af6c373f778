//! Arguments of commands that disassemble, decompile and assemble.

use super::emulation::{Sizes, sizes};
use super::{FolderArgs, SelectionArgs, part_name, split_targets};
use anyhow::Result;
use clap::builder::PossibleValue;
use clap::{Args as ClapArgs, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use unshade::decompiler::c::{CPP, CUDA, Language};
use unshade::llvm::print::Dialect;
use unshade::sass_lines::LineInfo;
use unshade::select::Selection;

#[derive(Debug, ClapArgs)]
pub(crate) struct DisassembleArgs {
    /// Files, `file!path/inside`, folders, or `-` for standard input; then functions: a name, /regular expression/ or
    /// #index
    ///
    /// The first argument is a file or folder. Each later argument is a file too, as long as it exists and is `-` or
    /// contains `.`, `/`, `!` or `@`: `./name` is a file, `name` is a function. From the first function on, all
    /// arguments are functions.
    #[arg(required_unless_present = "words", value_name = "FILE|FUNCTION")]
    arguments: Vec<OsString>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Dialect to print [default: dxc for DXContainers, llvm-22 for bitcode by LLVM 20 or later, else llvm-14]
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// Part of a DXContainer: DXIL, ILDB or STAT [default: ILDB if present, else DXIL, as in DXC]
    #[arg(long, value_name = "PART", value_parser = part_name)]
    pub(crate) part: Option<[u8; 4]>,
    /// Print exactly what the original tool prints
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show the scheduling information after each NVIDIA instruction
    #[arg(long, conflicts_with = "raw")]
    pub(crate) control: bool,
    /// Show the source lines before the NVIDIA instructions that are compiled from them
    ///
    /// `--lines=inlined` adds the calls in whose place inlined functions are, `--lines=ptx` shows lines of PTX instead, with
    /// their text if the cubin has it. With `--raw` they have the format of nvdisasm -g, -gi and -gp.
    #[arg(
        short = 'g',
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "source",
        conflicts_with_all = ["bytes", "stats", "cfg", "live", "words"]
    )]
    pub(crate) lines: Option<LineArg>,
    /// Disassemble these hexadecimal words of NVIDIA machine code
    #[arg(long, value_name = "WORD", num_args = 1.., requires = "sm", conflicts_with = "json", value_parser = machine_word)]
    pub(crate) words: Vec<u128>,
    /// Chip of the words: 30 for sm_30
    #[arg(long, value_name = "N", requires = "words")]
    pub(crate) sm: Option<u32>,
    /// Show the bytes of the file that each line is decoded from
    ///
    /// Each line starts with the offset in the file and the first eight bytes of the record. Records are not aligned:
    /// neighbouring records may share the first and the last byte.
    #[arg(long, conflicts_with = "raw")]
    pub(crate) bytes: bool,
    /// Count instructions, memory accesses, calls and types, in total and per function
    #[arg(long, conflicts_with_all = ["raw", "bytes", "output"])]
    pub(crate) stats: bool,
    /// Draw control-flow graphs instead
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["raw", "bytes", "stats"])]
    pub(crate) cfg: Option<GraphFormat>,
    /// Show the live registers of NVIDIA machine code, and their number
    ///
    /// Each line begins with the number of registers and predicates that are live at the instruction, and whether the
    /// condition code is. It ends with the registers that become live there (+R4) and those that are read for the last
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
    /// Write to a file (a name with an extension), or one file per function into a folder
    ///
    /// For several files or a folder, writes one listing per file into the folder, under the file's name and the
    /// subfolders where the file is.
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

impl DisassembleArgs {
    /// Returns the files and folders, and the functions that are selected in them.
    pub(crate) fn split(&self) -> Result<(Vec<OsString>, Selection)> {
        let (files, functions) = split_targets(&self.arguments);
        Ok((files.to_vec(), self.selection.with(functions)?))
    }
}

/// The lines that a listing of machine code shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineArg {
    /// Lines of source files
    Source,
    /// The same, and the calls in whose place inlined functions are
    Inlined,
    /// Lines of PTX
    Ptx,
}

impl From<LineArg> for LineInfo {
    fn from(arg: LineArg) -> Self {
        match arg {
            LineArg::Source => Self::Source,
            LineArg::Inlined => Self::Inlined,
            LineArg::Ptx => Self::Ptx,
        }
    }
}

/// The form in which liveness is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LivenessFormat {
    /// Registers that become live or dead at each instruction
    Ranges,
    /// One column per register
    Columns,
}

/// The output format of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// The language of Graphviz
    Dot,
    /// JSON (docs/json.md)
    Json,
}

/// The tool whose syntax is printed.
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
    /// As llvm-dis 22, with what LLVM 20 to 22 added
    #[value(name = "llvm-22")]
    Llvm22,
}

impl From<DialectArg> for Dialect {
    fn from(dialect: DialectArg) -> Self {
        match dialect {
            DialectArg::Llvm14 => Self::Llvm14,
            DialectArg::Dxc => Self::Dxc,
            DialectArg::Llvm19 => Self::Llvm19,
            DialectArg::Llvm22 => Self::Llvm22,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DecompileArgs {
    /// Files, `file!path/inside`, or `-` for standard input; then functions: a name, /regular expression/ or #index
    ///
    /// The first argument is a file. Each later argument is a file too, as long as it exists and is `-` or contains
    /// `.`, `/`, `!` or `@`: `./name` is a file, `name` is a function. From the first function on, all arguments are
    /// functions. A file may also be a text that --print-after has written.
    #[arg(required_unless_present = "header", value_name = "FILE|FUNCTION")]
    arguments: Vec<OsString>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// The language to print
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value_t = LanguageArg::Cuda)]
    pub(crate) language: LanguageArg,
    /// Print the header that C++ includes, instead of functions
    #[arg(long, conflicts_with_all = ["arguments", "lines", "calls", "print_after", "verify"])]
    pub(crate) header: bool,
    /// Show after each line the addresses of its instructions
    #[arg(long)]
    pub(crate) lines: bool,
    /// Maximum number of instructions of a function, including its callees at each call
    #[arg(long, value_name = "N", default_value_t = unshade::decompiler::DEFAULT_BUDGET)]
    pub(crate) budget: usize,
    /// Show each flush of a subnormal float as a call, even if `-ftz=true` applies to the whole function
    #[arg(long)]
    pub(crate) explicit_ftz: bool,
    /// Show functions of CUDA's mathematical library as the operations that the compiler inlined, for the same bits with
    /// any library
    #[arg(long)]
    pub(crate) explicit_math: bool,
    /// Ignore the names and types of the source code that the file's debugging information gives
    #[arg(long)]
    pub(crate) no_debug_info: bool,
    /// Use the names and types of a C header (structures, prototypes of functions, variables), or the names and comments of
    /// notes that the Explorer has exported (docs/decompiler.md)
    #[arg(long, value_name = "HEADER|NOTES")]
    pub(crate) types: Option<PathBuf>,
    /// Show the functions, and below each those that it calls or refers to
    #[arg(long, conflicts_with = "lines")]
    pub(crate) calls: bool,
    /// Show the values and blocks after each run of a pass, in place of C
    #[arg(long, value_name = "PASS", value_parser = pass_names(), conflicts_with_all = ["lines", "calls"])]
    pub(crate) print_after: Option<String>,
    /// In place of C, check it: run its statements beside the machine code, on invented inputs or on those of --arg
    #[arg(long, conflicts_with_all = ["lines", "calls", "print_after", "output"])]
    pub(crate) verify: bool,
    /// With --verify, an argument of the kernel, in the order of its parameters, as `unshade run` takes it
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true, requires = "verify")]
    pub(crate) values: Vec<String>,
    /// With --arg, the number of blocks in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes, default_value = "1", requires = "values")]
    pub(crate) grid: Sizes,
    /// With --arg, the number of threads per block in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes, default_value = "1", requires = "values")]
    pub(crate) block: Sizes,
    /// With --arg, bytes of shared memory per block, in addition to what the kernel declares
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "values")]
    pub(crate) shared: u32,
    /// In place of HLSL, check it: compile it with this command, and compare the result with the original
    ///
    /// `dxc` and `fxc` need no arguments, nor does `wine fxc.exe`. Arguments of another compiler have placeholders: {input}
    /// and {output} are files, {target} is the profile (ps_5_0, lib_6_6), {entry} the entry point, which is empty for a library.
    /// {options} are those that the original says it was compiled with, such as -Od or -enable-16bit-types; each is an argument.
    /// No shell runs the command: quotes keep blanks, and all else is as it stands.
    #[arg(
        long,
        value_name = "COMMAND",
        conflicts_with_all = ["lines", "calls", "print_after", "output", "verify", "header"]
    )]
    pub(crate) recompile_with: Option<String>,
    /// With --recompile-with, the seconds after which a compiler is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "recompile_with")]
    pub(crate) time_limit: u64,
    /// The file to write; of several modules of Metal libraries, the folder for a file each [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

impl DecompileArgs {
    /// Returns the files, and the functions that are selected in them.
    pub(crate) fn targets(&self) -> Result<(&[OsString], Selection)> {
        let (files, functions) = split_targets(&self.arguments);
        Ok((files, self.selection.with(functions)?))
    }
}

/// A language to decompile to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LanguageArg {
    /// CUDA C
    Cuda,
    /// C++11 for any computer, with a header (--header)
    #[value(name = "c++", alias = "cpp")]
    Cpp,
}

impl From<LanguageArg> for &'static Language {
    fn from(language: LanguageArg) -> Self {
        match language {
            LanguageArg::Cuda => &CUDA,
            LanguageArg::Cpp => &CPP,
        }
    }
}

/// Returns the passes of the decompiler, with what they do.
fn pass_names() -> Vec<PossibleValue> {
    let every = PossibleValue::new("all").help("every pass");
    let passes = unshade::decompile::passes().into_iter().map(|pass| PossibleValue::new(pass.0).help(pass.1));
    std::iter::once(every).chain(passes).collect()
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AssembleArgs {
    /// A listing, or `-` for standard input
    pub(crate) listing: OsString,
    /// Chip of the machine code: 35 for sm_35 [default: as stated in the listing]
    #[arg(long, value_name = "N")]
    pub(crate) sm: Option<u32>,
    /// Dialect of LLVM assembly [default: dxc if its target is DXIL, llvm-19 if it has opaque pointers, else llvm-14]
    #[arg(long)]
    pub(crate) dialect: Option<DialectArg>,
    /// Write the program into a copy of this cubin, in the functions that the listing names, of this DXContainer, or of
    /// this Metal library
    #[arg(long, value_name = "FILE", requires = "output")]
    pub(crate) into: Option<OsString>,
    /// The function of a Metal library whose module is replaced: a name, /regular expression/ or #index
    #[arg(long, value_name = "FUNCTION", requires = "into")]
    pub(crate) function: Option<String>,
    /// The file to write [default for machine code: print the words as text]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GhidraArgs {
    /// Write one program per kernel of this file for import into Ghidra, instead of the module
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

/// Parses a word of machine code: up to 32 digits, with or without `0x`.
fn machine_word(text: &str) -> Result<u128, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u128::from_str_radix(digits, 16).map_err(|_| String::from("expected a word in hexadecimal"))
}
