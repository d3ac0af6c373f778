//! The command line.

use anyhow::{Context, Result};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use unshade::carve::Limits;
use unshade::dxcontainer::document::Llvm;
use unshade::llvm::print::Dialect;
use unshade::load_check::Target;
use unshade::metallib::FunctionType;
use unshade::select::{Selection, Selector};

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  nothing found, or a check failed
  2  misuse, or an input that could not be read";

const EXAMPLES: &str = "\
Examples:
  unshade default.metallib                      what it is
  unshade list default.metallib --type kernel   its kernels, a row each
  unshade show default.metallib reduce_sum      everything known of a function
  unshade verify default.metallib               is it sound?
  unshade scan ~/wheels                         what is inside of all these files?
  unshade list 'torch.whl!torch/lib/libtorch_cpu.dylib!__TEXT,metal_40@0x4000'

FILE may be anything that holds a GPU program: a library, an executable, an archive, a
capture, at any depth; `-` is standard input. What `unshade` prints of a program's path
after `!` selects it.";

/// Open any compiled GPU program
#[derive(Debug, Parser)]
#[command(
    name = "unshade",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    subcommand_negates_reqs = true,
    after_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"),
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) info: FilesArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what files are: target, versions, functions, hashes (the default)
    #[command(after_help = EXIT_STATUS)]
    Info(FilesArgs),
    /// List functions, a row each
    #[command(after_help = format!("\
Examples:
  unshade list default.metallib
  unshade list default.metallib '/^reduce_/' --type kernel
  unshade list app.ipa --json | jq '.programs[].libraries[].functions[].name'

{EXIT_STATUS}"))]
    List(ListArgs),
    /// Look at files in the browser: everything linked, nothing uploaded
    ///
    /// Serves the page on this computer alone, at an address that nobody can guess, and opens the browser. Files stay
    /// where they are.
    #[command(after_help = format!("\
Examples:
  unshade explore default.metallib
  unshade explore before.metallib after.metallib
  unshade explore build/shaders                    every file that may hold a program
  unshade explore kernel.cubin --no-open           print the address only

{EXIT_STATUS}"))]
    Explore(ExploreArgs),
    /// Write files as one page that needs nothing else, to send to somebody
    ///
    /// The page is that of `unshade explore`, with all answers in it: functions, listings, decompiled C, facts, structure,
    /// control flow, bytes. It opens from the disk, fetches nothing, and runs nothing but itself.
    #[command(after_help = format!("\
Examples:
  unshade html default.metallib -o report.html
  unshade html shader.dxil kernel.cubin -o report.html
  unshade edit mlx.metallib --keep '/^softmax/' -o few.metallib && unshade html few.metallib -o softmax.html

{EXIT_STATUS}"))]
    Html(HtmlArgs),
    /// Show everything known of functions
    #[command(after_help = format!("\
Examples:
  unshade show default.metallib reduce_sum_f32
  unshade show default.metallib '#12' --json

{EXIT_STATUS}"))]
    Show(ShowArgs),
    /// Print, count or draw the code of functions: LLVM's, and NVIDIA's machine code
    #[command(name = "dis", after_help = format!("\
Examples:
  unshade dis default.metallib reduce_sum_f32
  unshade dis default.metallib -o out              a file for each function
  unshade dis default.metallib --stats             what functions are made of
  unshade dis default.metallib sort_f16 --cfg dot | dot -Tsvg -o sort.svg
  unshade dis default.metallib reduce_sum_f32 --bytes
  unshade dis shader.dxil                          under the tables that DXC prints
  unshade dis shaders/ -o listings                 a listing for each file below a folder
  unshade dis --raw a.dxbc b.dxbc                  one after the other
  unshade dis kernel.air --raw | diff - <(llvm-dis-14 < kernel.air)
  unshade dis kernel.cubin --raw | diff - <(cuobjdump -sass kernel.cubin)
  unshade dis kernel.cubin --cfg dot | dot -Tsvg -o kernel.svg
  unshade dis kernel.cubin --life                  live registers, where they begin and end
  unshade dis kernel.cubin --json                  instructions as data
  unshade dis --sm 30 --words 2800400110005de4 8000000000001de7

{EXIT_STATUS}"))]
    Disassemble(DisassembleArgs),
    /// CUDA C of NVIDIA's machine code
    ///
    /// Kernels of Kepler (sm_30 to sm_37) are written as C that compilers of CUDA accept and that does what the machine
    /// code does. What can't be expressed is a comment in its place. docs/decompiler.md tells how it is made.
    #[command(after_help = format!("\
Examples:
  unshade decompile kernel.cubin
  unshade decompile libtorch.so /softmax/ -o softmax.cu
  unshade decompile kernel.cubin axpy --lines        which instructions each line comes from
  unshade decompile kernel.cubin axpy --json

{EXIT_STATUS}"))]
    Decompile(DecompileArgs),
    /// Run a kernel of a cubin, without a GPU
    ///
    /// Kepler's machine code (sm_30 to sm_37) is run as the tables of instructions have it: every block, warp and lane.
    /// What a kernel does that it should not, such as reading outside of its buffers, is told with the instruction and
    /// the thread. docs/emulator.md tells how far it is the chip.
    #[command(after_help = format!("\
Examples:
  unshade run axpy.cubin axpy --block 32 --arg 2.0 --arg 'f32[32]' --arg 'f32[32]=range' --out 1=print
  unshade run kernels.cubin matmul --grid 2,2 --block 16,16 --arg 'f32[1024]=random:1' \\
      --arg 'f32[1024]=random:2' --arg 'f32[1024]' --arg 32 --out 2=c.bin
  unshade run app.exe reduce --block 256 --arg 'i32[256]=file:in.bin' --arg buf:4 --trace --trace-lane 3

Arguments, one --arg for each parameter:
  5, -1, 0x10, 1.5        a number of the parameter's size; with a point or an exponent a float
  i32:5, u64:1, f64:0.5   a number of a type
  hex:0100000000000040    bytes, of a structure passed by value
  buf:4096                the address of so many zero bytes
  f32[64]                 the address of zeros of a type: i8 to i64, u8 to u64, f32, f64
  f32[64]=0.5,1           … of numbers, the last one repeated
  u32[64]=range           … of 0, 1, 2 and so on
  i32[64]=random:7        … of random numbers of a seed; floats from -1 to 1
  f32[]=file:data.bin     … of what is in a file; file:data.bin if its type is of no interest

Exit status:
  0  the kernel ended
  1  a fault, or a limit was reached
  2  misuse, no such kernel, or an input that could not be read"))]
    Run(RunArgs),
    /// Assemble a listing: NVIDIA's machine code, or a token program of Direct3D
    ///
    /// Reads what `dis` prints, with --raw or without. Machine code becomes words, or goes into a copy of the cubin. A
    /// token program (Shader Model 4 to 5.1) becomes a DXContainer, or goes into a copy of one, with STAT counted anew
    /// and signed.
    #[command(name = "asm", after_help = format!("\
Examples:
  echo 'FMUL R0, R2, c[0x0][0x140];' | unshade asm --sm 35 -
  unshade dis kernel.cubin --raw > kernel.sass
  unshade asm kernel.sass --into kernel.cubin -o changed.cubin
  unshade dis shader.dxbc -o shader.asm
  unshade asm shader.asm --into shader.dxbc -o changed.dxbc

{EXIT_STATUS}"))]
    Assemble(AssembleArgs),
    /// Show the reference page of an instruction of NVIDIA's, or name them all
    #[command(after_help = format!("\
Examples:
  unshade isa
  unshade isa ISCADD

{EXIT_STATUS}"))]
    Isa {
        /// The mnemonic
        mnemonic: Option<String>,
    },
    /// Write the processor module for Ghidra that knows Kepler's machine code
    #[command(after_help = format!("\
Examples:
  unshade ghidra -o ~/ghidra/Ghidra/Processors
  unshade ghidra --import kernels.cubin -o programs
  analyzeHeadless /tmp project -import programs/*.xml

docs/ghidra.md tells how to install and use it.

{EXIT_STATUS}"))]
    Ghidra(GhidraArgs),
    /// Write modules as .air and .cubin files, embedded sources as the files that they were, and .ptx
    #[command(after_help = format!("\
Examples:
  unshade extract default.metallib -o out
  unshade extract default.metallib -o out --only sources
  unshade extract torch.whl -o out --only programs

{EXIT_STATUS}"))]
    Extract(ExtractArgs),
    /// Check structure, sizes and every hash
    #[command(after_help = format!("\
Examples:
  unshade verify default.metallib
  unshade verify --strict *.metallib

The rules are told in docs/verify.md.

Exit status:
  0  sound (warnings and notes may have been printed)
  1  an error was found, or nothing to check
  2  misuse, or an input that could not be read"))]
    Verify(VerifyArgs),
    /// Say whether Metal libraries load on an OS, and why not
    #[command(after_help = format!("\
Examples:
  unshade check default.metallib                    what it was made for, and needs
  unshade check default.metallib --os macos-13.0    and there?
  unshade check app.ipa --os ios-16.0 --os ios-simulator-16.0
  unshade check default.metallib --os macos-13.0 --verbose

Platforms: {}.
The rules, and how sure each is, are told in docs/check.md.

Exit status:
  0  no rule is broken (some may be unclear)
  1  a library will not load, or not all of its functions will; or there is none
  2  misuse, or an input that could not be read", Target::platform_names().collect::<Vec<_>>().join(", ")))]
    Check(CheckArgs),
    /// Show what is different between two programs: fields, functions, code
    #[command(after_help = "\
Examples:
  unshade diff old.metallib new.metallib
  unshade diff old.metallib new.metallib --stat
  unshade diff old.dxil new.dxil --context 0
  unshade diff a.whl!mlx/lib/mlx.metallib b.whl!mlx/lib/mlx.metallib --json

Functions are matched by name, parts of containers by theirs. What only says where things
stand is left out, and so are numbers of values and metadata that only shifted.

Exit status:
  0  the same, to the byte
  1  different, or nothing to compare
  2  misuse, or an input that could not be read")]
    Diff(DiffArgs),
    /// Attribute every byte of a file
    #[command(after_help = format!("\
Examples:
  unshade dump default.metallib | less
  unshade dump default.metallib --depth 1
  unshade dump default.metallib --range 0x58..0x120

{EXIT_STATUS}"))]
    Dump(DumpArgs),
    /// Find GPU programs in files and folders, a row each
    #[command(after_help = format!("\
Examples:
  unshade scan /Applications
  unshade scan ~/wheels --json > finds.jsonl

Links are not followed; devices and pipes are skipped; what can't be read is told on
standard error.

{EXIT_STATUS}"))]
    Scan(ScanArgs),
    /// Count what many files have in common: the values of each field, and what goes together
    #[command(after_help = format!("\
Examples:
  unshade survey ~/wheels | less
  unshade survey a.metallib b.metallib --depth 3
  unshade survey ~/shaders --unknown            what has nobody named yet?
  unshade survey ~/shaders --json | jq '.fields[] | select(.path | endswith(\"TYPE/function type\"))'
  unshade survey *.air                          records of bitcode

A field decides another one if each of its values comes with one value of the other only.

{EXIT_STATUS}"))]
    Survey(SurveyArgs),
    /// Write a DXContainer or a Metal library as YAML
    ///
    /// Of a DXContainer the first document is that of LLVM's obj2yaml, the second what that leaves out.
    #[command(after_help = format!("\
Examples:
  unshade to-yaml shader.dxil | less
  unshade to-yaml shader.dxil -o shader.yaml
  unshade to-yaml default.metallib -o default.yaml --modules modules

What is read back with `from-yaml` is the same to the byte.

{EXIT_STATUS}"))]
    ToYaml(ToYamlArgs),
    /// Make a DXContainer or a Metal library from YAML
    #[command(after_help = format!("\
Examples:
  unshade from-yaml shader.yaml -o shader.dxil
  unshade from-yaml changed.yaml -o changed.dxil --sign
  unshade from-yaml default.yaml -o default.metallib

{EXIT_STATUS}"))]
    FromYaml(FromYamlArgs),
    /// Compute the digest of a DXContainer anew
    #[command(after_help = format!("\
Examples:
  unshade sign shader.dxil -o signed.dxil

{EXIT_STATUS}"))]
    Sign(SignArgs),
    /// Change a DXContainer or a Metal library: parts, functions, target, what is stripped
    ///
    /// Parts of a DXContainer are added, replaced, removed and reordered, and it is signed. Functions of a Metal
    /// library are merged, kept, removed and renamed, in this order, and modules replaced; then things are stripped and
    /// the target is set. It gets a new UUID. Without an edit the file comes back as it is.
    #[command(after_help = format!("\
Examples:
  unshade edit default.metallib --keep '/^reduce_/' --strip sources,debug -o small.metallib
  unshade edit default.metallib --rename sum=sum_f32 --os macos-13.0 -o other.metallib
  unshade edit a.metallib --merge b.metallib -o both.metallib
  unshade edit shader.dxil --strip debug,reflection -o small.dxil
  unshade edit shader.dxil --set RTS0=root_signature.bin -o bound.dxil
  unshade edit shader.dxil --private note.txt -o noted.dxil

{EXIT_STATUS}"))]
    Edit(EditArgs),
    /// Make a file from its parts: a Metal library from modules or a manifest, a DXContainer from parts
    ///
    /// Of a module of a Metal library only the file is needed: what the library says of its functions is read from
    /// it. A manifest is YAML (docs/formats/metallib.md).
    #[command(after_help = format!("\
Examples:
  unshade build metallib kernel.bc vertex.bc --os macos-14.0 -o default.metallib
  unshade build metallib manifest.yaml -o default.metallib
  unshade build dxcontainer SFI0=sfi0.bin DXIL=program.bin -o shader.dxil

{EXIT_STATUS}"))]
    Build(BuildArgs),
    /// Print the table of Metal data types
    #[command(after_help = "\
Examples:
  unshade types --columns 2
  unshade types --format swift > MetalDataType.swift")]
    Types(TypesArgs),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  unshade completions bash > /etc/bash_completion.d/unshade
  unshade completions zsh > ~/.zfunc/_unshade")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    Man {
        #[command(flatten)]
        output: FolderArgs,
    },
}

/// A kernel, its grid and its arguments.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    /// The kernel, mangled or not
    pub(crate) kernel: String,
    /// Blocks in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes, default_value = "1")]
    pub(crate) grid: Sizes,
    /// Threads of a block in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes, default_value = "1")]
    pub(crate) block: Sizes,
    /// Bytes of shared memory of a block, besides what the kernel declares
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) shared: u32,
    /// An argument, in the order of the parameters (forms below)
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
    /// What becomes of the buffer of parameter N, from 0: `N=print`, or `N=PATH` to write it
    #[arg(long, value_name = "N=WHERE")]
    pub(crate) out: Vec<String>,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// The chip, if the file has code for several: 30, 35, 37
    #[arg(long, value_name = "N")]
    pub(crate) sm: Option<u32>,
    /// Print each instruction: block, warp, active lanes, address, what it wrote
    #[arg(long)]
    pub(crate) trace: bool,
    /// Trace this warp of each block only
    #[arg(long, value_name = "N", requires = "trace")]
    pub(crate) trace_warp: Option<u32>,
    /// Trace this lane only, and show its registers; otherwise those of the first active lane
    #[arg(long, value_name = "N", requires = "trace")]
    pub(crate) trace_lane: Option<u32>,
    /// How many instructions of warps may be run
    #[arg(long, value_name = "N", default_value_t = 1 << 32)]
    pub(crate) steps: u64,
    /// How many seconds it may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "600")]
    pub(crate) time: std::time::Duration,
    /// How much memory there is, such as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1GiB")]
    pub(crate) memory: u64,
    /// Local memory of a thread, if the kernel asks for less
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16KiB")]
    pub(crate) local: u64,
    /// How many entries the reconvergence stack of a warp may have
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) stack: usize,
    /// Stop where the result depends on the order in which the threads of a block run
    #[arg(long)]
    pub(crate) ordered: bool,
}

/// Sizes in x, y and z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes(pub(crate) [u32; 3]);

/// `X`, `X,Y` or `X,Y,Z`; what is left out is 1.
fn sizes(text: &str) -> Result<Sizes, String> {
    let mut sizes = [1; 3];
    let mut words = text.split([',', 'x']);
    for (size, word) in sizes.iter_mut().zip(&mut words) {
        *size = word.trim().parse().map_err(|_| format!("'{word}' is no number"))?;
    }
    if words.next().is_some() { Err("at most three numbers".into()) } else { Ok(Sizes(sizes)) }
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds = text.parse::<f64>().map_err(|_| format!("'{text}' is no number"))?;
    std::time::Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

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
pub(crate) struct ToYamlArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) output: FileArgs,
    /// The LLVM whose yaml2obj is to read the first document
    #[arg(long, value_enum, default_value = "24", value_name = "VERSION")]
    pub(crate) llvm: LlvmArg,
    /// Write the modules of a Metal library as files into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,
}

/// A version of LLVM that knows some keys and not others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LlvmArg {
    #[value(name = "19")]
    V19,
    #[value(name = "22")]
    V22,
    #[value(name = "24")]
    V24,
}

impl From<LlvmArg> for Llvm {
    fn from(version: LlvmArg) -> Self {
        match version {
            LlvmArg::V19 => Self::V19,
            LlvmArg::V22 => Self::V22,
            LlvmArg::V24 => Self::V24,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FromYamlArgs {
    /// A file of YAML, or `-` for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// Compute the digest of a DXContainer rather than taking it from the document
    #[arg(long)]
    pub(crate) sign: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SignArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
}

/// What `edit --strip` takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stripped {
    /// ILDB, ILDN, SRCI, PDBI, SDBG, SPDB; of a Metal library the paths and lines of sources (DEBI, DEPF)
    Debug,
    /// STAT, RDEF; of a Metal library the reflection buffers (RLST)
    Reflection,
    /// RTS0
    RootSignature,
    /// PRIV; of a Metal library all private metadata
    Private,
    /// Of a Metal library the embedded sources (HSRD, HSRC, HSRP)
    Sources,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EditArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// Take functions (a name, /regular expression/ or #index) or parts out
    #[arg(long, value_name = "FUNCTION|PART", value_delimiter = ',')]
    pub(crate) remove: Vec<String>,
    /// Take out what a sort of reader needs
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) strip: Vec<Stripped>,
    /// Keep these functions and no other
    #[arg(long, value_name = "FUNCTION", help_heading = "Metal libraries")]
    pub(crate) keep: Vec<String>,
    /// Give a function another name
    #[arg(long, value_name = "OLD=NEW", help_heading = "Metal libraries")]
    pub(crate) rename: Vec<String>,
    /// Add all functions of another library, which may be one inside of another file, as FILE may
    #[arg(long, value_name = "LIBRARY", help_heading = "Metal libraries")]
    pub(crate) merge: Vec<String>,
    /// Replace the module of a function by another, which is hashed
    #[arg(long, value_name = "FUNCTION=FILE", value_parser = module_file, help_heading = "Metal libraries")]
    pub(crate) module: Vec<ModuleFile>,
    /// Set platform and version of the OS, such as macos-14.0 or ios-17.0
    #[arg(long, value_name = "OS", help_heading = "Metal libraries")]
    pub(crate) os: Option<Target>,
    /// Set the install name
    #[arg(long, value_name = "NAME", help_heading = "Metal libraries")]
    pub(crate) install_name: Option<String>,
    /// Keep the UUID although something changed
    #[arg(long, help_heading = "Metal libraries")]
    pub(crate) keep_uuid: bool,
    /// Replace a part by the bytes of a file, or add it
    #[arg(long, value_name = "PART=FILE", value_parser = part_file, help_heading = "DXContainers")]
    pub(crate) set: Vec<PartFile>,
    /// Add a part even if there is one of its name
    #[arg(long, value_name = "PART=FILE", value_parser = part_file, help_heading = "DXContainers")]
    pub(crate) add: Vec<PartFile>,
    /// Put parts first, in this order
    #[arg(
        long,
        value_name = "PART",
        value_delimiter = ',',
        value_parser = part_name,
        help_heading = "DXContainers"
    )]
    pub(crate) order: Vec<[u8; 4]>,
    /// Set the private data
    #[arg(long, value_name = "FILE", help_heading = "DXContainers")]
    pub(crate) private: Option<PathBuf>,
    /// Keep the digest as it is, right or not
    #[arg(long, help_heading = "DXContainers")]
    pub(crate) keep_digest: bool,
}

/// What `build` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Built {
    /// A DirectX shader container
    Dxcontainer,
    /// A Metal library
    Metallib,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BuildArgs {
    /// What to make
    #[arg(value_enum)]
    pub(crate) format: Built,
    /// The parts of a DXContainer in their order; of a Metal library modules of bitcode, or a manifest
    #[arg(required = true, value_name = "PART=FILE|MODULE|MANIFEST")]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// The platform of modules and the oldest version of its OS, such as macos-14.0
    #[arg(long, value_name = "OS")]
    pub(crate) os: Option<Target>,
}

/// The name of a part and the file with its bytes.
#[derive(Clone, Debug)]
pub(crate) struct PartFile {
    pub(crate) name: [u8; 4],
    pub(crate) file: PathBuf,
}

/// A function and the file with its module.
#[derive(Clone, Debug)]
pub(crate) struct ModuleFile {
    pub(crate) function: String,
    pub(crate) file: PathBuf,
}

fn module_file(text: &str) -> Result<ModuleFile> {
    let (function, file) =
        text.rsplit_once('=').with_context(|| format!("FUNCTION=FILE is wanted: {text}"))?;
    Ok(ModuleFile { function: function.into(), file: file.into() })
}

pub(crate) fn part_name(text: &str) -> Result<[u8; 4]> {
    text.as_bytes().try_into().with_context(|| format!("the name of a part has four characters: {text}"))
}

pub(crate) fn part_file(text: &str) -> Result<PartFile> {
    let (name, file) = text.split_once('=').with_context(|| format!("PART=FILE is wanted: {text}"))?;
    Ok(PartFile { name: part_name(name)?, file: file.into() })
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

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    /// Functions: a name, /regular expression/ or #index
    #[arg(value_name = "FUNCTION")]
    selectors: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Show names as they stand in the file
    #[arg(long)]
    pub(crate) mangled: bool,
}

impl ListArgs {
    pub(crate) fn selection(&self) -> Result<Selection> {
        self.selection.with(&self.selectors)
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    /// Functions: a name, /regular expression/ or #index; a DXContainer is shown as a whole
    #[arg(value_name = "FUNCTION")]
    selectors: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
}

impl ShowArgs {
    /// Whether functions were named.
    pub(crate) fn names_functions(&self) -> bool {
        !self.selectors.is_empty()
    }

    pub(crate) fn selection(&self) -> Result<Selection> {
        self.selection.with(&self.selectors)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Extracted {
    /// The bitcode module of each function, as NAME.air; the cubins of fat binaries
    Modules,
    /// Embedded sources, in a folder for each archive; the PTX of fat binaries
    Sources,
    /// The libraries themselves, out of what they are embedded in
    Programs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExtractArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    /// Functions: a name, /regular expression/ or #index
    #[arg(value_name = "FUNCTION")]
    selectors: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) output: FolderArgs,
    /// What to write [default: modules and sources]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<Extracted>,
}

impl ExtractArgs {
    pub(crate) fn selection(&self) -> Result<Selection> {
        self.selection.with(&self.selectors)
    }

    pub(crate) fn wants(&self, what: Extracted) -> bool {
        if self.only.is_empty() { what != Extracted::Programs } else { self.only.contains(&what) }
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
    #[arg(long, value_name = "WORD", num_args = 1.., requires = "sm", value_parser = machine_word)]
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
pub(crate) struct FolderArgs {
    /// The folder to write into; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace files that are there
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

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// Fail on warnings, too
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// Where it is to be loaded, such as macos-13.0; may be given several times [default: where it was made for]
    #[arg(long, value_name = "PLATFORM-VERSION", value_delimiter = ',')]
    pub(crate) os: Vec<Target>,
    /// Show rules that are kept, too, and where each is known from
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    #[arg(value_name = "BEFORE")]
    pub(crate) before: String,
    /// Another one
    #[arg(value_name = "AFTER")]
    pub(crate) after: String,
    /// Show how much has changed rather than what
    #[arg(long)]
    pub(crate) stat: bool,
    /// How many lines are shown around each change of code
    #[arg(long, short = 'U', value_name = "N", default_value_t = 3)]
    pub(crate) context: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DumpArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: String,
    /// Show fields down to this depth
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    pub(crate) depth: usize,
    /// Show only fields that touch these bytes: START..END, START..+SIZE, or one offset
    #[arg(long, value_name = "RANGE", value_parser = byte_range)]
    pub(crate) range: Option<std::ops::Range<u64>>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExploreArgs {
    /// Files and folders [default: those that are dropped on the page]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print the address, and start no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Start no server: answer questions from standard input, a line of JSON each (docs/query.md)
    #[arg(long, conflicts_with_all = ["no_open", "port"])]
    pub(crate) json: bool,
    /// The port to listen on [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct HtmlArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: FileArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ScanArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Tell also what is odd about files, such as archives that are damaged
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SurveyArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Show only what nobody has named yet, and what goes together with it
    #[arg(long)]
    pub(crate) unknown: bool,
    /// Count the records of bitcode inside of programs, and the instructions of NVIDIA's machine code, too
    #[arg(long, visible_alias = "code")]
    pub(crate) bitcode: bool,
    /// Show fields down to this depth
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    pub(crate) depth: usize,
    /// How many values are shown of a field
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) values: usize,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TypesFormat {
    Markdown,
    Json,
    Rust,
    Swift,
    C,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TypesArgs {
    /// The form of the table
    #[arg(long, value_enum, default_value_t = TypesFormat::Markdown)]
    pub(crate) format: TypesFormat,
    /// Pairs of columns side by side, for markdown
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) columns: u8,
    #[command(flatten)]
    pub(crate) output: FileArgs,
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

impl SelectionArgs {
    fn with(&self, selectors: &[String]) -> Result<Selection> {
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

/// `START..END`, `START..+SIZE`, or one offset.
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

/// A word of machine code: up to 32 digits, with or without `0x`.
fn machine_word(text: &str) -> Result<u128, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u128::from_str_radix(digits, 16).map_err(|_| String::from("expected a word in hexadecimal"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn sizes_and_ranges() {
        assert_eq!(size("0x40"), Ok(64));
        assert_eq!(size("4KiB"), Ok(4096));
        assert_eq!(size("2 MB"), Ok(2_000_000));
        assert!(size("four").is_err() && size("99999999999GiB").is_err() && size("").is_err());
        assert_eq!(byte_range("0x58..0x60"), Ok(0x58..0x60));
        assert_eq!(byte_range("16..+4"), Ok(16..20));
        assert_eq!(byte_range("7"), Ok(7..8));
        assert_eq!(byte_range("8.."), Ok(8..u64::MAX));
        assert!(byte_range("9..8").is_err());
    }
}
