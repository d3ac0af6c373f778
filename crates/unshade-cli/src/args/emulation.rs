//! Arguments of the commands that run kernels.

use super::size;
use clap::Args as ClapArgs;

/// A kernel, its grid and its arguments.
#[derive(Debug, ClapArgs)]
pub(crate) struct LaunchArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: std::ffi::OsString,
    /// The kernel, mangled or not, or `#12` as `unshade list` numbers it; shaders need none
    pub(crate) kernel: Option<String>,
    /// Number of blocks in x, y and z; of a shader or in Metal, of groups
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes, default_value = "1")]
    pub(crate) grid: Sizes,
    /// Number of threads per block in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes, default_value = "1")]
    pub(crate) block: Sizes,
    /// Bytes of shared memory per block, in addition to what the kernel declares
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) shared: u32,
    /// An argument, in the order of the parameters (syntax below)
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
    /// Chip, if the file has code for several: 30, 35, 37
    #[arg(long, value_name = "N")]
    pub(crate) sm: Option<u32>,
    /// Maximum number of warp instructions; in Metal, of instructions of threads
    #[arg(long, value_name = "N", default_value_t = 1 << 32)]
    pub(crate) steps: u64,
    /// Maximum run time in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "600")]
    pub(crate) time: std::time::Duration,
    /// Size of memory, such as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1GiB")]
    pub(crate) memory: u64,
    /// Local memory per thread, if the kernel requests less
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16KiB")]
    pub(crate) local: u64,
    /// Maximum number of entries of a warp's reconvergence stack
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) stack: usize,
}

/// A kernel to run, and what to print.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) launch: LaunchArgs,
    /// Print the buffer of parameter N (from 0) with `N=print`, or write it with `N=PATH`; of a shader, N is a register
    #[arg(long, value_name = "N=WHERE")]
    pub(crate) out: Vec<String>,
    /// What a register of a shader holds: t0, u1, b0, u2.space1 (syntax below)
    #[arg(long, value_name = "REGISTER=VALUE")]
    pub(crate) bind: Vec<String>,
    /// The components of an input of a shader, for all vertices or pixels
    #[arg(long, value_name = "SEMANTIC=NUMBERS", allow_hyphen_values = true)]
    pub(crate) input: Vec<String>,
    /// The value of a function constant of Metal, by its index or name; true and false are numbers, too
    #[arg(long, value_name = "WHICH=NUMBER")]
    pub(crate) constant: Vec<String>,
    /// Invent what is not given of a shader from another seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of vertices, primitives or pixels of a shader
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) count: u32,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print each instruction: block, warp, active lanes, address, result
    #[arg(long)]
    pub(crate) trace: bool,
    /// Trace only this warp of each block
    #[arg(long, value_name = "N", requires = "trace")]
    pub(crate) trace_warp: Option<u32>,
    /// Trace only this lane and show its registers [default: registers of the first active lane]
    #[arg(long, value_name = "N", requires = "trace")]
    pub(crate) trace_lane: Option<u32>,
    /// Stop if the result depends on the order in which the threads of a block run
    #[arg(long)]
    pub(crate) ordered: bool,
}

/// A kernel to check, and what to look for.
#[derive(Debug, ClapArgs)]
pub(crate) struct SanitizeArgs {
    #[command(flatten)]
    pub(crate) launch: LaunchArgs,
    /// Look only for what this tool finds; may be given several times [default: all]
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Vec<SanitizeTool>,
    /// Maximum number of findings
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}

/// A group of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SanitizeTool {
    /// Accesses outside of memory, misaligned, after free; free twice; leaks; stack overflow
    Memcheck,
    /// Accesses of different threads that conflict, and that nothing orders
    Racecheck,
    /// Reads of shared memory, heap memory and buffers that were never written
    Initcheck,
    /// Threads of a block that don't meet at the same barrier
    Synccheck,
}

/// Sizes in x, y and z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes(pub(crate) [u32; 3]);

/// Parses `X`, `X,Y` or `X,Y,Z`; missing sizes are 1.
pub(super) fn sizes(text: &str) -> Result<Sizes, String> {
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
