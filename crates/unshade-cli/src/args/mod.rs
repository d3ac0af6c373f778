//! Defines the command line.
//!
//! | module | commands that |
//! |---|---|
//! | `reading` | describe, search, extract and compare |
//! | `code` | disassemble, decompile and assemble |
//! | `emulation` | run and check kernels |
//! | `writing` | create or change files |
//! | `shared` | arguments that several or all commands share |

mod code;
mod emulation;
mod reading;
mod shared;
mod writing;

pub(crate) use code::*;
pub(crate) use emulation::*;
pub(crate) use reading::*;
pub(crate) use shared::*;
pub(crate) use writing::*;

use clap::error::Error;
use clap::{ArgMatches, Args as ClapArgs, FromArgMatches, Parser, Subcommand};
use unshade::load_check::Target;

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  nothing found, or a check failed
  2  misuse, or an input that could not be read";

/// The exit statuses of commands that look for nothing.
const WRITE_STATUS: &str = "\
Exit status:
  0  done
  2  misuse, an input that can't be used, or an output that can't be written";

/// The forms of `--arg`.
const KERNEL_ARGUMENTS: &str = "\
Arguments, one --arg per parameter:
  5, -1, 0x10, 1.5        a number of the parameter's size; a float with a point or exponent
  i32:5, u64:1, f64:0.5   a number of a type
  hex:0100000000000040    the bytes of a structure passed by value
  buf:4096                the address of 4096 zero bytes
  f32[64]                 the address of 64 zeros of a type: i8 to i64, u8 to u64, f32, f64
  f32[64]=0.5,1           … of these numbers, the last one repeated
  u32[64]=range           … of 0, 1, 2 and so on
  i32[64]=random:7        … of random numbers from a seed; floats from -1 to 1
  f32[]=file:data.bin     … of a file's contents; file:data.bin without a type
  f32[64]=unset           … never written: zeros for `run`; `sanitize` reports reads
";

const ENVIRONMENT: &str = "\
Environment:
  UNSHADE_PAGER, PAGER  the pager of long output in a terminal (less);
                        an empty UNSHADE_PAGER is none
  NO_COLOR              no colour, unless --color says otherwise
  CLICOLOR_FORCE        colour also where the output is no terminal";

const EXAMPLES: &str = "\
Examples:
  unshade default.metallib                     what it is
  unshade list default.metallib --type kernel  its kernels, one row each
  unshade show default.metallib reduce_sum     all about a function
  unshade verify default.metallib              is it sound?
  unshade scan ~/wheels                        what is inside these files?
  unshade list 'torch.whl!torch/lib/libtorch.dylib!__TEXT,metal_40@0x4000'

FILE may be anything that contains a GPU program: a library, an executable, an archive, a
capture, at any depth; `-` is standard input. The path after `!` that `unshade` prints for a
program selects it.";

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
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}\n\n{ENVIRONMENT}"),
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
    #[command(after_help = format!("\
Examples:
  unshade info default.metallib
  unshade info app.ipa shader.dxil --json

{EXIT_STATUS}"))]
    Info(Deferred<FilesArgs>),
    /// List functions, one row per function
    #[command(after_help = format!("\
Examples:
  unshade list default.metallib
  unshade list default.metallib '/^reduce_/' --type kernel
  unshade list app.ipa --json |
      jq '.programs[].libraries[].functions[].name'

{EXIT_STATUS}"))]
    List(Deferred<ListArgs>),
    /// Look at files in the browser: everything linked, nothing uploaded
    ///
    /// Serves the page on localhost only, at an address that nobody can guess, and opens the browser. Files stay where
    /// they are. With --json, no server starts: requests are read from standard input and answered, one line of JSON
    /// each (docs/query.md).
    #[command(after_help = format!("\
Examples:
  unshade explore default.metallib
  unshade explore before.metallib after.metallib
  unshade explore build/shaders           every file below a folder
  unshade explore kernel.cubin --no-open  print the address only
  unshade explore kernel.cubin --json     answer one question per line

{EXIT_STATUS}"))]
    Explore(Deferred<ExploreArgs>),
    /// Write a report as one self-contained page
    ///
    /// The page is that of `unshade explore` with all data included: functions, listings, decompiled C, facts,
    /// structure, control flow, bytes. It opens from disk and loads nothing else.
    ///
    /// A report stays below 20 MB. Of a larger file, what is needed least is left out: other listings, bytes, graphs, decompiled
    /// text, then listings of the last functions. Reports of some functions have room for all of that.
    #[command(after_help = format!("\
Examples:
  unshade html default.metallib -o report.html
  unshade html shader.dxil kernel.cubin -o report.html
  unshade html mlx.metallib '/softmax/' -o some.html  a report of some

{EXIT_STATUS}"))]
    Html(Deferred<HtmlArgs>),
    /// Show all facts of functions
    #[command(after_help = format!("\
Examples:
  unshade show default.metallib reduce_sum_f32
  unshade show default.metallib '#12' --json

{EXIT_STATUS}"))]
    Show(Deferred<ShowArgs>),
    /// List the symbols of modules: defined, undefined, kind, visibility
    ///
    /// Lists what `llvm-nm` lists of a module, with its letters: T code, D variable, S constant, W weak, C common, U
    /// undefined; small letters are for symbols that no other module sees. In a library, each module is listed once,
    /// under the name of its function.
    #[command(name = "nm", after_help = format!("\
Examples:
  unshade nm kernel.air
  unshade nm default.metallib reduce_sum_f32
  unshade nm libTools.metallib --defined-only   what does it export?
  unshade nm tools.metalar --undefined-only     what does it need?
  unshade nm kernel.air --json

{EXIT_STATUS}"))]
    Symbols(Deferred<SymbolsArgs>),
    /// Print, count or draw the code of functions: LLVM bitcode, tokens, machine code
    #[command(name = "dis", after_help = format!("\
Examples:
  unshade dis default.metallib reduce_sum_f32
  unshade dis default.metallib -o out       one file per function
  unshade dis default.metallib --stats      what functions are made of
  unshade dis default.metallib sort_f16 --cfg dot | dot -Tsvg -o sort.svg
  unshade dis default.metallib reduce_sum_f32 --bytes
  unshade dis shader.dxil                   with the tables that DXC prints
  unshade dis shaders/ -o listings          one listing per file
  unshade dis --raw a.dxbc b.dxbc           one after the other
  unshade dis kernel.air --raw | diff - <(llvm-dis-14 < kernel.air)
  unshade dis kernel.cubin --raw | diff - <(cuobjdump -sass kernel.cubin)
  unshade dis kernel.cubin --cfg dot | dot -Tsvg -o kernel.svg
  unshade dis kernel.cubin --live           live registers
  unshade dis kernel.cubin --json           instructions as data
  unshade dis --sm 30 --words 2800400110005de4 8000000000001de7

{EXIT_STATUS}"))]
    Disassemble(Deferred<DisassembleArgs>),
    /// Decompile NVIDIA machine code to CUDA C or C++, DirectX shaders to HLSL, Metal libraries to Metal
    ///
    /// Kepler kernels (sm_30 to sm_37) become C that CUDA compilers accept and that does what the machine code does.
    /// DirectX shaders (shader models 1 to 6.10) become HLSL that DXC and FXC accept. What the language can't express becomes a
    /// comment in its place. Functions of Metal libraries and AIR modules become Metal. docs/decompiler.md, docs/hlsl.md and
    /// docs/metal.md describe the method.
    #[command(after_help = format!("\
Examples:
  unshade decompile kernel.cubin
  unshade decompile libtorch.so /softmax/ -o softmax.cu
  unshade decompile kernel.cubin axpy --lines  with addresses for each line
  unshade decompile kernel.cubin axpy --json
  unshade decompile kernel.cubin --verify      run C and code side by side
  unshade decompile kernel.cubin --language c++ -o kernel.cpp
  unshade decompile --header -o unshade_host.h for the C++ above
  unshade decompile kernel.cubin axpy --verify --block 32 \\
      --arg 2.0 --arg 'f32[32]' --arg 'f32[32]=range'
  unshade decompile shader.dxil
  unshade decompile default.metallib vertexMain
  unshade decompile default.metallib -o sources
  unshade decompile shader.dxil --recompile-with dxc
  unshade decompile shaders.zip --recompile-with 'wine tools/fxc.exe /O1'
  unshade decompile shader.dxil --recompile-with \\
      'dxc {{options}} -O1 -T {{target}} -E {{entry}} -Fo {{output}} {{input}}'
  unshade decompile shader.dxbc --recompile-with \\
      'fxc {{options}} /T {{target}} /E {{entry}} /Fo {{output}} {{input}}'

{EXIT_STATUS}; with
     --recompile-with, also a text that its compiler refuses"))]
    Decompile(Deferred<DecompileArgs>),
    /// Run a kernel of a cubin or in Metal, or a DirectX shader, without a GPU
    ///
    /// Runs Kepler machine code (sm_30 to sm_37) with every block, warp and lane, as the instruction tables define it.
    /// Reports errors of the kernel, such as a read outside its buffers, with the instruction and the thread.
    ///
    /// Runs the first shader of DXIL or DXBC in a file (all stages but libraries), and prints what it writes. Resources and
    /// inputs that are not given are invented: small numbers, the same in each run. Samples are a function of the coordinates.
    ///
    /// Runs a kernel of a Metal library or an AIR module, in threadgroups of --block threads. Positions in the grid have no
    /// --arg; memory of the threadgroup is as large as the buffer that is given for it.
    /// docs/emulator.md describes how closely all match the chip.
    #[command(after_help = format!("\
Examples:
  unshade run axpy.cubin axpy --block 32 --arg 2.0 --arg 'f32[32]' \\
      --arg 'f32[32]=range' --out 1=print
  unshade run kernels.cubin matmul --grid 2,2 --block 16,16 \\
      --arg 'f32[1024]=random:1' --arg 'f32[1024]=random:2' \\
      --arg 'f32[1024]' --arg 32 --out 2=c.bin
  unshade run app.exe reduce --block 256 --arg 'i32[256]=file:in.bin' \\
      --arg buf:4 --trace --trace-lane 3
  unshade run vertex.dxil --input POSITION=1,2,3 --bind 'b0=f32[16]=1'
  unshade run blur.dxbc --grid 4,4 --bind 'u0=u32[4096]' --out u0=out.bin
  unshade run default.metallib scale --block 8 --arg 'f32[8]=range' \\
      --arg 2.5 --out 0=print
  unshade run reduce.air sum --grid 4 --block 64 --constant is_fast=true \\
      --arg 'f32[256]=random:1' --arg 'f32[4]' --arg buf:256 --out 1=print

{KERNEL_ARGUMENTS}
A shader's --bind takes the forms with an address, a register for each.

Exit status:
  0  the kernel or shader ended
  1  a fault, no such kernel, something that is not supported, or a limit was
     reached
  2  misuse, or an input that could not be read"))]
    Run(Deferred<RunArgs>),
    /// Run a kernel of a cubin and find its faults: invalid accesses, races, barriers
    ///
    /// Runs Kepler machine code as `unshade run` does, and looks for what the four tools of NVIDIA's compute-sanitizer look
    /// for. An invalid access is left out and the kernel goes on, so that all faults are found; those of one kind at one
    /// instruction are one finding. docs/sanitizer.md describes the rules.
    #[command(after_help = format!("\
Examples:
  unshade sanitize sum.cubin sum --grid 4 --block 64 \\
      --arg 'i32[256]=range' --arg 'i32[4]'
  unshade sanitize sum.cubin sum --block 64 --tool racecheck \\
      --arg 'i32[64]=range' --arg 'i32[1]'
  unshade sanitize sum.cubin sum --block 64 --tool initcheck \\
      --arg 'i32[64]=unset' --arg 'i32[1]' --json

Findings name the source line if the cubin was compiled with -lineinfo or -G.

{KERNEL_ARGUMENTS}
Exit status:
  0  nothing was found
  1  a fault, no such kernel, or a limit was reached
  2  misuse, or an input that could not be read"))]
    Sanitize(Deferred<SanitizeArgs>),
    /// Assemble NVIDIA machine code, a Direct3D token program, or LLVM assembly
    ///
    /// Reads the output of `dis`, with or without --raw. Machine code becomes words, or replaces the code in a copy of
    /// the cubin. A token program (Shader Model 4 to 5.1) becomes a DXContainer, or replaces the program in a copy of
    /// one; STAT and the digest are recomputed. LLVM assembly (of LLVM 14, or of LLVM 19 with opaque pointers) becomes
    /// bitcode, byte for byte as llvm-as writes it, or replaces the module of a function in a copy of a Metal library;
    /// its hashes and sizes are recomputed. DXIL (of DXC's disassembler) becomes a signed DXContainer with all parts
    /// that follow from it, bitcode if the output ends in .bc, or replaces the program in a copy of a DXContainer.
    #[command(name = "asm", after_help = format!("\
Examples:
  echo 'FMUL R0, R2, c[0x0][0x140];' | unshade asm --sm 35 -
  unshade dis kernel.cubin --raw > kernel.sass
  unshade asm kernel.sass --into kernel.cubin -o changed.cubin
  unshade dis shader.dxbc -o shader.asm
  unshade asm shader.asm --into shader.dxbc -o changed.dxbc
  unshade asm module.ll -o module.bc
  unshade dis a.metallib blur > blur.ll
  unshade asm blur.ll --into a.metallib --function blur -o b.metallib
  unshade asm shader.ll -o shader.dxil

Exit status:
  0  assembled
  1  a fault in the listing, printed with its line, or nothing to assemble
  2  misuse, or an input that could not be read"))]
    Assemble(Deferred<AssembleArgs>),
    /// Show the reference page of an NVIDIA instruction, or list all instructions
    #[command(after_help = format!("\
Examples:
  unshade isa
  unshade isa ISCADD

{EXIT_STATUS}"))]
    Isa {
        /// The mnemonic
        mnemonic: Option<String>,
    },
    /// Write the Ghidra processor module for Kepler machine code
    #[command(after_help = format!("\
Examples:
  unshade ghidra -o ~/ghidra/Ghidra/Processors
  unshade ghidra --import kernels.cubin -o programs
  analyzeHeadless /tmp project -import programs/*.xml

docs/ghidra.md describes how to install and use it.

{EXIT_STATUS}"))]
    Ghidra(Deferred<GhidraArgs>),
    /// Extract modules (.air, .cubin), embedded sources and PTX
    #[command(after_help = format!("\
Examples:
  unshade extract default.metallib -o out
  unshade extract default.metallib -o out --only sources
  unshade extract fat.metallib -o out --only slices
  unshade extract torch.whl -o out --only programs

{EXIT_STATUS}"))]
    Extract(Deferred<ExtractArgs>),
    /// Check structure, sizes and every hash
    #[command(after_help = format!("\
Examples:
  unshade verify default.metallib
  unshade verify --strict *.metallib

docs/verify.md describes the rules.

Exit status:
  0  sound (warnings and notes may have been printed)
  1  an error was found, or nothing to check
  2  misuse, or an input that could not be read"))]
    Verify(Deferred<VerifyArgs>),
    /// Check whether Metal libraries load on an OS, and explain why not
    #[command(after_help = format!("\
Examples:
  unshade check default.metallib                  what it was made for
  unshade check default.metallib --os macos-13.0  and there?
  unshade check app.ipa --os ios-16.0 --os ios-simulator-16.0
  unshade check kernel.air shaders.metalar --os macos-13.0
  unshade check default.metallib --os macos-13.0 --verbose

Platforms: {}.
docs/check.md describes the rules, and how certain each is.

Exit status:
  0  no rule is broken (some may be unclear)
  1  a library will not load, or not all of its functions will; or there is none
  2  misuse, or an input that could not be read", Target::platform_names().collect::<Vec<_>>().join(", ")))]
    Check(Deferred<CheckArgs>),
    /// Show the differences between two programs: fields, functions, code
    #[command(after_help = "\
Examples:
  unshade diff old.metallib new.metallib
  unshade diff old.metallib new.metallib --stat
  unshade diff old.dxil new.dxil --context 0
  unshade diff old.metallib new.metallib --source
  unshade diff a.whl!mlx/lib/mlx.metallib b.whl!mlx/lib/mlx.metallib --json

Functions and parts are matched by name. Offsets are ignored, and so are renumbered values
and metadata.

Exit status:
  0  identical, byte for byte
  1  different, or nothing to compare
  2  misuse, programs of different formats, or an input that could not be
     read")]
    Diff(Deferred<DiffArgs>),
    /// Attribute every byte of a file
    #[command(after_help = format!("\
Examples:
  unshade dump default.metallib | less
  unshade dump default.metallib --depth 1
  unshade dump default.metallib --range 0x58..0x120

{EXIT_STATUS}"))]
    Dump(Deferred<DumpArgs>),
    /// Find GPU programs in files and folders, one row per program
    #[command(after_help = format!("\
Examples:
  unshade scan /Applications
  unshade scan ~/wheels --json > finds.jsonl

Links are not followed; devices and pipes are skipped; unreadable files are reported on
standard error.

{EXIT_STATUS}"))]
    Scan(Deferred<ScanArgs>),
    /// Count the values of each field in many files, and find related fields
    #[command(after_help = format!("\
Examples:
  unshade survey ~/wheels | less
  unshade survey a.metallib b.metallib --depth 3
  unshade survey ~/shaders --unknown      what has nobody named yet?
  unshade survey ~/shaders --json |
      jq '.fields[] | select(.path | endswith(\"TYPE/function type\"))'
  unshade survey *.air                    records of bitcode

A field determines another if each of its values occurs with only one value of the other.

{EXIT_STATUS}"))]
    Survey(Deferred<SurveyArgs>),
    /// Write a DXContainer or a Metal library as YAML
    ///
    /// For a DXContainer, the first document is that of LLVM's obj2yaml; the second has what obj2yaml omits.
    #[command(after_help = format!("\
Examples:
  unshade to-yaml shader.dxil | less
  unshade to-yaml shader.dxil -o shader.yaml
  unshade to-yaml default.metallib -o default.yaml --modules modules

`from-yaml` restores the file byte for byte.

{EXIT_STATUS}"))]
    ToYaml(Deferred<ToYamlArgs>),
    /// Make a DXContainer or a Metal library from YAML
    #[command(after_help = format!("\
Examples:
  unshade from-yaml shader.yaml -o shader.dxil
  unshade from-yaml changed.yaml -o changed.dxil --sign
  unshade from-yaml default.yaml -o default.metallib

{WRITE_STATUS}"))]
    FromYaml(Deferred<FromYamlArgs>),
    /// Recompute the digest of a DXContainer
    #[command(after_help = format!("\
Examples:
  unshade sign shader.dxil -o signed.dxil

{EXIT_STATUS}"))]
    Sign(Deferred<SignArgs>),
    /// Edit a DXContainer, a Metal library or LLVM bitcode: parts, functions, symbols, target, stripping
    ///
    /// In a DXContainer, adds, replaces, removes and reorders parts, edits its modules, and signs the result. In a Metal
    /// library, merges, keeps, removes and renames functions, in this order, and replaces modules; then strips, sets the
    /// target, and assigns a new UUID. Sources and debug information can be split off to a symbol companion, which keeps the UUID,
    /// and joined again. In a Metal universal file, removes and sets slices, edits the libraries in them, and
    /// writes all slices or one. In bitcode, patches records, strips debug information and renames symbols, in this
    /// order, and renews what the file states of itself: positions, hashes, symbol tables. Without an edit, the output equals
    /// the input.
    ///
    /// A patch names a record by the offset that `unshade dump` prints before it, in hexadecimal, and an operand as it is
    /// printed there, or `code`: `--patch 2f4:op1=7`. Of several records that begin in one byte, `2f4#0` is the first. Its
    /// value is decimal, negative, or hexadecimal after 0x. What the result breaks is printed, with exit status 1.
    #[command(after_help = format!("\
Examples:
  unshade edit default.metallib --keep '/^reduce_/' \\
      --strip sources,debug -o small.metallib
  unshade edit default.metallib --rename sum=sum_f32 --os macos-13.0 \\
      -o other.metallib
  unshade edit a.metallib --merge b.metallib -o both.metallib
  unshade edit debug.metallib --split-symbols default.metallibsym \\
      --strip debug --strip-debug -o default.metallib
  unshade edit default.metallib --join-symbols default.metallibsym \\
      -o debug.metallib
  unshade edit fat.metallib --keep sum --slice air64_v28 -o few.metallib
  unshade edit fat.metallib --thin air64_v28 -o thin.metallib
  unshade edit shader.dxil --strip debug,reflection -o small.dxil
  unshade edit shader.dxil --set RTS0=root_signature.bin -o bound.dxil
  unshade edit shader.dxil --private note.txt -o noted.dxil
  unshade edit kernel.bc --strip-debug --rename sum=sum_f32 -o small.bc
  unshade edit kernel.bc --patch 2f4:op1=7 -o patched.bc

{EXIT_STATUS}"))]
    Edit(Box<Deferred<EditArgs>>),
    /// Build a file from its parts: a Metal library from modules or a manifest, a DXContainer from parts
    ///
    /// A Metal library needs only its modules, which describe their functions and name their target. Of an archive, all
    /// modules are taken. A manifest is YAML (docs/formats/metallib.md). A Metal universal file gets a slice per input: a
    /// library, whose architecture is its newest version of AIR, or a GPU Mach-O file. Of a universal file, all slices are taken.
    #[command(after_help = format!("\
Examples:
  unshade build metallib kernel.air vertex.air -o default.metallib
  unshade build metallib shaders.metalar --os macos-14.0 \\
      -o default.metallib
  unshade build metallib manifest.yaml -o default.metallib
  unshade build universal air64_v26.metallib applegpu_g13s.macho \\
      -o fat.metallib
  unshade build dxcontainer SFI0=sfi0.bin DXIL=program.bin -o shader.dxil

{WRITE_STATUS}"))]
    Build(Deferred<BuildArgs>),
    /// Link Metal modules into a library, and say what is missing
    ///
    /// Takes modules (.air, .bc), archives of modules (.metalar, .a) and libraries, whose modules are linked again. Resolves
    /// symbols across all of them, and drops what nothing reaches. An executable library has one module for each entry point;
    /// one that needs nothing else is taken as it is. A dynamic library has one module, and exports its visible functions.
    /// Types, versions, vertex attributes, constants and reflection of functions follow from the modules.
    ///
    /// Modules are linked, not optimised: functions of other modules are called, not inlined.
    #[command(after_help = format!("\
Examples:
  unshade link kernel.air tools.air -o default.metallib
  unshade link main.air tools.metalar -o default.metallib
  unshade link tools.air --dynamic \\
      --install-name @rpath/libTools.metallib -o libTools.metallib
  unshade link kernel.air --library libTools.metallib -o client.metallib
  unshade extract old.metallib -o out
  unshade link out/modules/*.air --like old.metallib -o again.metallib

Exit status:
  0  linked
  1  a symbol is missing or defined twice; or linked, but a note says what
     the reflection lacks
  2  misuse, or an input that could not be read"))]
    Link(Deferred<LinkArgs>),
    /// Print the table of Metal data types
    #[command(after_help = format!("\
Examples:
  unshade types --columns 2
  unshade types --format swift > MetalDataType.swift

{WRITE_STATUS}"))]
    Types(Deferred<TypesArgs>),
    /// Print a completion script for a shell
    #[command(after_help = format!("\
Examples:
  unshade completions bash > /etc/bash_completion.d/unshade
  unshade completions zsh > ~/.zfunc/_unshade

{WRITE_STATUS}"))]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    #[command(after_help = format!("\
Examples:
  unshade man -o ~/.local/share/man/man1
  man unshade-list

{WRITE_STATUS}"))]
    Man {
        #[command(flatten)]
        output: FolderArgs,
    },
}

/// Arguments of a command that are described only when the command is given, because describing all of them takes
/// longer than reading many a file.
#[derive(Debug)]
pub(crate) struct Deferred<A>(pub(crate) A);

impl<A: ClapArgs> Deferred<A> {
    /// Adds the arguments, and keeps the command's description.
    fn described(command: clap::Command) -> clap::Command {
        let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
        let mut command = A::augment_args(command);
        if let Some(about) = about {
            command = command.about(about);
        }
        if let Some(long_about) = long_about {
            command = command.long_about(long_about);
        }
        command
    }
}

impl<A: ClapArgs> ClapArgs for Deferred<A> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.defer(Self::described)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        A::augment_args_for_update(command)
    }
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
