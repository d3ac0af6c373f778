//! Running kernels.

use super::size;
use clap::Args as ClapArgs;

/// A kernel, its grid and its arguments.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: std::ffi::OsString,
    /// The kernel, mangled or not, or `#12` as `unshade list` numbers it
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
