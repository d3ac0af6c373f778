//! Making and changing files.

use super::{BinaryArgs, FileArgs};
use anyhow::{Context, Result};
use clap::{Args as ClapArgs, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use unshade::dxcontainer::document::Llvm;
use unshade::load_check::Target;

#[derive(Debug, ClapArgs)]
pub(crate) struct ToYamlArgs {
    /// Files, `file!path/inside`, or `-` for standard input; several with `-o DIR`
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<OsString>,
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
    pub(crate) file: OsString,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// Compute the digest of a DXContainer rather than taking it from the document
    #[arg(long)]
    pub(crate) sign: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SignArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: OsString,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EditArgs {
    /// A file, `file!path/inside`, or `-` for standard input
    pub(crate) file: OsString,
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
    pub(crate) merge: Vec<OsString>,
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

/// Splits `PART=FILE`, as it is given to `build`.
pub(crate) fn part_argument(argument: &OsString) -> Result<PartFile> {
    part_file(argument.to_str().context("the name of a file of a part is UTF-8")?)
}

pub(crate) fn part_file(text: &str) -> Result<PartFile> {
    let (name, file) = text.split_once('=').with_context(|| format!("PART=FILE is wanted: {text}"))?;
    Ok(PartFile { name: part_name(name)?, file: file.into() })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BuildArgs {
    /// What to make
    #[arg(value_enum)]
    pub(crate) format: Built,
    /// The parts of a DXContainer in their order; of a Metal library modules of bitcode, or a manifest
    #[arg(required = true, value_name = "PART=FILE|MODULE|MANIFEST")]
    pub(crate) inputs: Vec<OsString>,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// The platform of modules and the oldest version of its OS, such as macos-14.0
    #[arg(long, value_name = "OS")]
    pub(crate) os: Option<Target>,
}

/// What `build` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Built {
    /// A DirectX shader container
    Dxcontainer,
    /// A Metal library
    Metallib,
}
