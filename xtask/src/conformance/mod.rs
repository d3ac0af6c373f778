//! `cargo xtask conformance FORMAT`: processes every real file available and prints counts; fails if a result is wrong.

mod batch;
mod bitcode;
mod carve;
mod decompile;
mod dxbc;
mod dxcontainer;
mod emulate;
mod ghidra;
mod hlsl;
mod kernel_runs;
pub(crate) mod metal;
mod metallib;
mod metallib_edits;
mod metallib_flips;
mod metallib_write;
mod naga;
mod nv;
mod sass;
mod sleigh;
mod statements;
mod vkd3d_text;
mod witness;

use anyhow::Result;

/// Options of `cargo xtask conformance`.
#[derive(clap::Args)]
#[command(
    after_help = "Files come from `cargo xtask corpus` and from the folder in UNSHADE_CORPUS. Of bitcode, the \
                        sets c and llvm-tests need `cargo xtask corpus --set c` and `--set llvm-tests`, clang-14 \
                        and clang-19, bitcode-dump needs llvm-bcanalyzer-19, and bitcode-verify opt and llvm-as 14 and 19. Containers are compared with obj2yaml and yaml2obj 19, 22 and 24, as \
                        `yaml2obj-24` and so on, on PATH or in the folders of UNSHADE_LLVM_BIN; of nv, folders \
                        with cuobjdump come from UNSHADE_CUDA_TOOLS and PATH; of ghidra, Ghidra's decompiler from \
                        UNSHADE_GHIDRA_DECOMPILER or as decomp_opt from PATH; of naga, DXC's dxv from UNSHADE_DXV; of hlsl, DXC and FXC from UNSHADE_HLSL_ORACLE, and of hlsl-vulkan Python's package vulkan and Mesa's lavapipe as well; of metal-native, clang 15 or newer. What is not there is said and left \
                        out.\n\nExamples:\n  cargo xtask conformance metallib\n  cargo xtask conformance dx\n  \
                        cargo xtask conformance bitcode --set air --sample 1000\n  cargo \
                        xtask conformance bitcode --set dxil --set c"
)]
pub(crate) struct Args {
    /// The format to check.
    #[arg(value_enum)]
    format: Format,
    /// Only compare this set (bitcode); may be repeated [default: all].
    #[arg(long, value_enum, value_name = "SET")]
    set: Vec<bitcode::Set>,
    /// Only compare this many modules per set (bitcode), kernels (emulate), or kernels of cubins (decompile-loop), or
    /// every N-th function (decompile), shader (hlsl, hlsl-run, hlsl-vulkan) or kernel (metal-native), or the first sources
    /// (hlsl-readability), or a hundred times as many mutants per chip (sass), or change
    /// this many bytes (metallib-flips), or this many mutants (metal-mutants).
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Number of random cases (decompile-random) [default: 10000], or of planted heads (carve) [default: 100000].
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// Check these sources or cubins, or folders of them (decompile-loop), or cubins (decompile-types) [default: those of the
    /// corpus].
    #[arg(long, value_name = "PATH")]
    kernels: Vec<std::path::PathBuf>,
    /// Only compare these chips, such as `--chip 90` (sass) [default: all].
    #[arg(long, value_name = "NUMBER")]
    chip: Vec<u32>,
    /// Compare the machine code in these files, or folders of them, as well (sass): libraries, wheels, fat binaries;
    /// or the containers in these folders (dxil-parts, dxil-text, hlsl, hlsl-peers, hlsl-run, hlsl-vulkan), or the WGSL in these folders (naga); or list
    /// what carving finds in these folders (carve), or the kernels in these folders (metal-interpret, metal-native).
    #[arg(long, value_name = "PATH")]
    packages: Vec<std::path::PathBuf>,
    /// Compare whole listings of cubins in packages, up to this many megabytes of code per chip (sass).
    #[arg(long, value_name = "MB", default_value_t = 10)]
    listings: u64,
    /// Read this many random words per chip (sass).
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    random: u64,
    /// Search this many megabytes of random bytes (carve).
    #[arg(long, value_name = "MB", default_value_t = 1_000)]
    noise: u64,
    /// Only compile with these options of nvcc, such as `--options=-O3` (decompile-loop) [default: all].
    #[arg(long, value_name = "NAME")]
    options: Vec<String>,
    /// The language of the decompiler (decompile, decompile-run, decompile-loop).
    #[arg(long, value_enum, default_value_t = Language::Cuda)]
    language: Language,
    /// Write failures to this folder (decompile, hlsl, hlsl-run, hlsl-vulkan, metal-native).
    #[arg(long, value_name = "DIR")]
    failures: Option<std::path::PathBuf>,
    /// Compile the true sources instead of decompiled texts (hlsl, metal-native).
    #[arg(long)]
    sources: bool,
    /// Write the compiled programs and the page of the documentation (witness).
    #[arg(long)]
    write: bool,
}

/// A language of the decompiler.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Language {
    Cuda,
    #[value(name = "c++", alias = "cpp")]
    Cpp,
}

impl From<Language> for &'static unshade::decompiler::c::Language {
    fn from(language: Language) -> Self {
        match language {
            Language::Cuda => &unshade::decompiler::c::CUDA,
            Language::Cpp => &unshade::decompiler::c::CPP,
        }
    }
}

/// The checks.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Bitcode,
    /// Compare the outline of bitcode with llvm-bcanalyzer.
    BitcodeDump,
    /// Strip debug information and rename symbols, beside opt, llvm-as and llvm-nm.
    BitcodeEdit,
    /// Read every module as a tree and write it.
    BitcodeTree,
    /// Write every module as llvm-as does.
    BitcodeWrite,
    /// Assemble the text of every module, and LLVM's own tests
    BitcodeAssemble,
    /// Verify the program of every module, and compare with opt.
    BitcodeVerify,
    /// Find programs in nested containers, and none in random bytes.
    Carve,
    /// Decompile NVIDIA machine code and compile the C with g++.
    Decompile,
    /// Run kernels of TensorFlow and CNTK in the emulator and as C.
    DecompileRun,
    /// Decompile kernels of TensorFlow and CNTK and compile the C with NVRTC.
    DecompileNvrtc,
    /// Run kernels in the emulator, and their decompiled functions in the interpreter.
    DecompileInterpret,
    /// Check the functions of the decompiler, and their text, after every pass.
    DecompilePasses,
    /// Decompile kernels without their debugging information, and compare types with those of the source code.
    DecompileTypes,
    /// Compile, decompile and recompile kernels with nvcc, and run both cubins in the emulator.
    DecompileLoop,
    /// Run random kernels in the emulator and as C.
    DecompileRandom,
    Dxbc,
    #[value(alias = "dx")]
    Dxcontainer,
    /// Derive the parts of DXIL containers from the modules in them.
    DxilParts,
    /// Assemble the text of DXIL containers, and compare the programs and parts.
    DxilText,
    /// Run kernels of TensorFlow for sm_30 and sm_35.
    Emulate,
    /// Run Ghidra's decompiler with the Ghidra module, beside ours.
    Ghidra,
    /// Decompile shaders to HLSL, compile the text with DXC and FXC, and compare the programs.
    Hlsl,
    /// Compare the decompiler with others on the same shaders: texts, what compiles, what stays the same.
    HlslPeers,
    /// Count the statements of decompiled shaders beside those of their true sources.
    HlslReadability,
    /// Run shaders in the interpreter, beside what the decompiler makes of them.
    HlslRun,
    /// Run compute shaders on lavapipe, beside what DXC makes of their texts.
    HlslVulkan,
    /// Decompile the functions of Metal libraries to Metal, and count what has no form
    MetalDecompile,
    /// Compare kernels of MLX with the headers from which they are compiled.
    MetalHeaders,
    /// Take Metal libraries apart, link them again, and compare symbols with llvm-nm.
    MetalLink,
    /// Run all verbs on changed Metal libraries and modules.
    MetalMutants,
    /// Compare decompiled kernels with their true sources: statements, loops, arguments, vectors.
    MetalReadability,
    /// Run kernels of Metal libraries in the interpreter, and natively.
    MetalInterpret,
    /// Run kernels on the host: their modules, beside their true or decompiled source.
    MetalNative,
    /// Run every operation of AIR on every type in the interpreter, and natively.
    MetalScalar,
    /// Compare signatures from metadata with the reflections of Metal libraries.
    MetalSignatures,
    /// Compile the structures of arguments with clang++, and check their layouts.
    MetalStructs,
    Metallib,
    /// Change single bytes of Metal libraries, and count what `verify` finds.
    MetallibFlips,
    MetallibWrite,
    /// Compile WGSL with `examples/naga`, and run it.
    Naga,
    /// Fat binaries, cubins and PTX.
    Nv,
    Sass,
    Sleigh,
    /// Check which forms of instructions have a witness of their semantics.
    Witness,
}

impl Args {
    /// Returns whether the check does so much work that only a release build is fast enough.
    pub(crate) fn needs_release(&self) -> bool {
        !matches!(
            self.format,
            Format::Naga | Format::MetalNative | Format::MetalInterpret | Format::MetalScalar
        )
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let language = args.language.into();
    match args.format {
        Format::Bitcode => bitcode::run(&args.set, args.sample),
        Format::BitcodeDump => bitcode::dump::run(args.sample),
        Format::BitcodeEdit => bitcode::edit::run(args.sample),
        Format::BitcodeTree => bitcode::tree::run(args.sample),
        Format::BitcodeWrite => bitcode::write::run(args.sample),
        Format::BitcodeAssemble => bitcode::assemble::run(args.sample),
        Format::BitcodeVerify => bitcode::verify::run(args.sample),
        Format::Carve => carve::run(args.noise, args.cases, &args.packages),
        Format::Decompile => decompile::run(args.sample, language, args.failures.as_deref()),
        Format::DecompileLoop => {
            let (kernels, names, failures) = (&args.kernels, &args.options, args.failures.as_deref());
            decompile::closed_loop::run(kernels, names, args.sample, language, failures)
        }
        Format::DecompileInterpret => decompile::interpret::run(args.sample),
        Format::DecompileTypes => decompile::types::run(&args.kernels),
        Format::DecompilePasses => decompile::passes::run(args.sample),
        Format::DecompileNvrtc => decompile::nvrtc::run(args.sample, args.failures.as_deref()),
        Format::DecompileRun => decompile::agree::run(args.sample, language, args.failures.as_deref()),
        Format::DecompileRandom => decompile::random::run(args.cases, args.failures.as_deref()),
        Format::Dxbc => dxbc::run(),
        Format::Dxcontainer => dxcontainer::run(),
        Format::DxilParts => dxcontainer::run_parts(&args.packages),
        Format::DxilText => dxcontainer::run_text(&args.packages),
        Format::Emulate => emulate::run(args.sample),
        Format::Ghidra => ghidra::run(),
        Format::Hlsl => hlsl::run(&hlsl::Options {
            folders: &args.packages,
            sample: args.sample,
            sources: args.sources,
            failures: args.failures.as_deref(),
        }),
        Format::HlslPeers => hlsl::peers::run(&hlsl::Options {
            folders: &args.packages,
            sample: None,
            sources: false,
            failures: None,
        }),
        Format::HlslReadability => hlsl::readability::run(&hlsl::Options {
            folders: &[],
            sample: args.sample,
            sources: true,
            failures: None,
        }),
        Format::HlslRun => hlsl::runs::run(&hlsl::Options {
            folders: &args.packages,
            sample: args.sample,
            sources: false,
            failures: args.failures.as_deref(),
        }),
        Format::HlslVulkan => hlsl::vulkan::run(&hlsl::Options {
            folders: &args.packages,
            sample: args.sample,
            sources: false,
            failures: args.failures.as_deref(),
        }),
        Format::MetalDecompile => metal::decompile::run(args.sample),
        Format::MetalHeaders => metal::headers::run(),
        Format::MetalLink => metal::link::run(),
        Format::MetalMutants => metal::mutants::run(args.sample),
        Format::MetalNative => metal::native::run(&metal::native::Options {
            sample: args.sample,
            sources: args.sources,
            folders: &args.packages,
            interpreter: false,
            failures: args.failures.as_deref(),
        }),
        Format::MetalInterpret => metal::native::run(&metal::native::Options {
            sample: args.sample,
            sources: false,
            folders: &args.packages,
            interpreter: true,
            failures: args.failures.as_deref(),
        }),
        Format::MetalReadability => metal::native::readability::run(args.sample),
        Format::MetalScalar => metal::native::scalar::run(args.sample),
        Format::MetalSignatures => metal::signatures::run(),
        Format::MetalStructs => metal::structs::run(),
        Format::Metallib => metallib::run(),
        Format::Sass => sass::run(&sass::Options {
            sample: args.sample.unwrap_or(2_000),
            chips: &args.chip,
            packages: &args.packages,
            listings: args.listings * 1_000_000,
            random: args.random,
        }),
        Format::Sleigh => sleigh::run(),
        Format::MetallibFlips => metallib_flips::run(args.sample),
        Format::MetallibWrite => metallib_write::run(),
        Format::Naga => naga::run(&args.packages),
        Format::Nv => nv::run(),
        Format::Witness => witness::run(args.write),
    }
}
