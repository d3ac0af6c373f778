//! Arguments of commands that create and change files.

use super::{BinaryArgs, FileArgs};
use anyhow::{Context, Result};
use clap::{Args as ClapArgs, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use unshade::dxcontainer::document::Llvm;
use unshade::llvm::tree::Patch;
use unshade::load_check::Target;
use unshade::metallib::architecture::Architecture;

#[derive(Debug, ClapArgs)]
pub(crate) struct ToYamlArgs {
    /// Files, `file!path/inside`, or `-` for standard input; several with `-o DIR`
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<OsString>,
    #[command(flatten)]
    pub(crate) output: FileArgs,
    /// LLVM version whose yaml2obj reads the first document
    #[arg(long, value_enum, default_value = "24", value_name = "VERSION")]
    pub(crate) llvm: LlvmArg,
    /// Write the modules of a Metal library into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,
}

/// A version of LLVM, which determines the known YAML keys.
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
    /// A YAML file, or `-` for standard input
    pub(crate) file: OsString,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// Recompute the digest of a DXContainer instead of using the document's
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
    /// Remove functions (a name, /regular expression/ or #index) or parts
    #[arg(long, value_name = "FUNCTION|PART", value_delimiter = ',')]
    pub(crate) remove: Vec<String>,
    /// Remove debug information, reflection and other optional data
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) strip: Vec<Stripped>,
    /// Rename a symbol of bitcode or of the modules in a container; in a Metal library, the function as well
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) rename: Vec<String>,
    /// Strip debug information from bitcode, and from the modules in a container
    #[arg(long)]
    pub(crate) strip_debug: bool,
    /// Set an operand of a record of bitcode; the offset is that of the record in `unshade dump`
    #[arg(long, value_name = "OFFSET:opN=VALUE", help_heading = "LLVM bitcode")]
    pub(crate) patch: Vec<Patch>,
    /// Keep only these functions
    #[arg(long, value_name = "FUNCTION", help_heading = "Metal libraries")]
    pub(crate) keep: Vec<String>,
    /// Add all functions of another library; like FILE, it may be inside another file
    #[arg(long, value_name = "LIBRARY", help_heading = "Metal libraries")]
    pub(crate) merge: Vec<OsString>,
    /// Replace the module of a function, and recompute its hash
    #[arg(long, value_name = "FUNCTION=FILE", value_parser = module_file, help_heading = "Metal libraries")]
    pub(crate) module: Vec<ModuleFile>,
    /// Set platform and minimum OS version, such as macos-14.0 or ios-17.0, of the library and its modules, or of a module
    #[arg(long, value_name = "OS", help_heading = "Metal libraries")]
    pub(crate) os: Option<Target>,
    /// Set the install name
    #[arg(long, value_name = "NAME", help_heading = "Metal libraries")]
    pub(crate) install_name: Option<String>,
    /// Keep the UUID despite changes
    #[arg(long, help_heading = "Metal libraries")]
    pub(crate) keep_uuid: bool,
    /// Write sources and debug information to this symbol companion (.metallibsym), and remove the sources from the library
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["join_symbols", "keep", "remove", "merge", "rename", "module", "os", "install_name"],
        help_heading = "Metal libraries"
    )]
    pub(crate) split_symbols: Option<PathBuf>,
    /// Add the sources and debug information of this symbol companion
    #[arg(long, value_name = "FILE", help_heading = "Metal libraries")]
    pub(crate) join_symbols: Option<OsString>,
    /// Edit only this slice, such as air64_v28 [default: all libraries in the file]
    #[arg(long, value_name = "ARCHITECTURE", value_parser = architecture, help_heading = "Metal universal files")]
    pub(crate) slice: Vec<Architecture>,
    /// Set the contents of a slice from a file, or add the slice
    #[arg(long, value_name = "ARCHITECTURE=FILE", value_parser = slice_file, help_heading = "Metal universal files")]
    pub(crate) set_slice: Vec<SliceFile>,
    /// Remove a slice
    #[arg(long, value_name = "ARCHITECTURE", value_parser = architecture, help_heading = "Metal universal files")]
    pub(crate) remove_slice: Vec<Architecture>,
    /// Write only this slice, as a file of its own
    #[arg(long, value_name = "ARCHITECTURE", value_parser = architecture, help_heading = "Metal universal files")]
    pub(crate) thin: Option<Architecture>,
    /// Set the contents of a part from a file, or add the part
    #[arg(long, value_name = "PART=FILE", value_parser = part_file, help_heading = "DXContainers")]
    pub(crate) set: Vec<PartFile>,
    /// Add a part even if one with its name exists
    #[arg(long, value_name = "PART=FILE", value_parser = part_file, help_heading = "DXContainers")]
    pub(crate) add: Vec<PartFile>,
    /// Move these parts to the front, in this order
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
    /// Keep the digest, right or wrong
    #[arg(long, help_heading = "DXContainers")]
    pub(crate) keep_digest: bool,
}

/// The data that `edit --strip` removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stripped {
    /// ILDB, ILDN, SRCI, PDBI, SDBG, SPDB; for a Metal library, source paths and lines (DEBI, DEPF)
    Debug,
    /// STAT, RDEF; for a Metal library, the reflection buffers (RLST)
    Reflection,
    /// RTS0
    RootSignature,
    /// PRIV; for a Metal library, all private metadata
    Private,
    /// For a Metal library, the embedded sources (HSRD, HSRC, HSRP)
    Sources,
}

impl From<Stripped> for unshade::edit::Stripped {
    fn from(stripped: Stripped) -> Self {
        match stripped {
            Stripped::Debug => Self::Debug,
            Stripped::Reflection => Self::Reflection,
            Stripped::RootSignature => Self::RootSignature,
            Stripped::Private => Self::Private,
            Stripped::Sources => Self::Sources,
        }
    }
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

/// The architecture of a slice and the file with its contents.
#[derive(Clone, Debug)]
pub(crate) struct SliceFile {
    pub(crate) architecture: Architecture,
    pub(crate) file: OsString,
}

fn architecture(text: &str) -> Result<Architecture> {
    Architecture::from_name(text)
        .context("no such architecture; `unshade FILE` shows those of a file, such as air64_v28")
}

fn slice_file(text: &str) -> Result<SliceFile> {
    let (name, file) =
        text.split_once('=').with_context(|| format!("ARCHITECTURE=FILE is wanted: {text}"))?;
    Ok(SliceFile { architecture: architecture(name)?, file: file.into() })
}

impl EditArgs {
    /// Returns the option about symbol companions.
    pub(crate) fn companion_option(&self) -> Option<&'static str> {
        let split = self.split_symbols.as_ref().map(|_| "--split-symbols");
        split.or(self.join_symbols.as_ref().map(|_| "--join-symbols"))
    }

    /// Returns whether there are edits of libraries.
    pub(crate) fn edits_libraries(&self) -> bool {
        let lists = [&self.keep, &self.remove, &self.rename];
        lists.iter().any(|list| !list.is_empty())
            || !(self.strip.is_empty() && self.merge.is_empty() && self.module.is_empty())
            || self.strip_debug
            || self.os.is_some()
            || self.install_name.is_some()
    }

    /// Returns the first option that only applies to universal files.
    pub(crate) fn universal_option(&self) -> Option<&'static str> {
        let given = [
            ("--slice", !self.slice.is_empty()),
            ("--set-slice", !self.set_slice.is_empty()),
            ("--remove-slice", !self.remove_slice.is_empty()),
            ("--thin", self.thin.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }
}

impl BuildArgs {
    /// Splits an input of a universal file, which may begin with the architecture.
    pub(crate) fn slice_input(input: &OsString) -> (Option<Architecture>, OsString) {
        let named = input.to_str().and_then(|text| slice_file(text).ok());
        match named {
            Some(SliceFile { architecture, file }) => (Some(architecture), file),
            None => (None, input.clone()),
        }
    }
}

fn module_file(text: &str) -> Result<ModuleFile> {
    let (function, file) =
        text.rsplit_once('=').with_context(|| format!("FUNCTION=FILE is wanted: {text}"))?;
    Ok(ModuleFile { function: function.into(), file: file.into() })
}

pub(crate) fn part_name(text: &str) -> Result<[u8; 4]> {
    text.as_bytes().try_into().with_context(|| format!("the name of a part has four characters: {text}"))
}

/// Splits `PART=FILE`, as in the arguments of `build`.
pub(crate) fn part_argument(argument: &OsString) -> Result<PartFile> {
    part_file(argument.to_str().context("the name of a file of a part is UTF-8")?)
}

pub(crate) fn part_file(text: &str) -> Result<PartFile> {
    let (name, file) = text.split_once('=').with_context(|| format!("PART=FILE is wanted: {text}"))?;
    Ok(PartFile { name: part_name(name)?, file: file.into() })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BuildArgs {
    /// The kind of file to build
    #[arg(value_enum)]
    pub(crate) format: Built,
    /// For a DXContainer, its parts in order; for a Metal library, bitcode modules and archives of them, or a manifest; for
    /// a Metal universal file, libraries and GPU Mach-O files, as FILE or ARCHITECTURE=FILE
    #[arg(required = true, value_name = "PART=FILE|MODULE|MANIFEST|LIBRARY")]
    pub(crate) inputs: Vec<OsString>,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// Platform and minimum OS version of the library, such as macos-14.0 [default: what the triples of its modules name];
    /// modules for others are retargeted
    #[arg(long, value_name = "OS")]
    pub(crate) os: Option<Target>,
}

/// The kind of file that `build` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Built {
    /// A DirectX shader container
    Dxcontainer,
    /// A Metal library
    Metallib,
    /// A Metal universal file
    Universal,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LinkArgs {
    /// Modules, archives of modules, libraries; `file!path/inside` is one of several
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<OsString>,
    #[command(flatten)]
    pub(crate) output: BinaryArgs,
    /// Make a dynamic library
    #[arg(long)]
    pub(crate) dynamic: bool,
    /// The install name of a dynamic library [default: the source name of its module]
    #[arg(long, value_name = "NAME")]
    pub(crate) install_name: Option<String>,
    /// A dynamic library that provides symbols; may be given several times
    #[arg(long, short = 'l', value_name = "LIBRARY")]
    pub(crate) library: Vec<OsString>,
    /// Platform and minimum OS version, such as macos-14.0 [default: those of the first module]
    #[arg(long, value_name = "OS")]
    pub(crate) os: Option<Target>,
    /// The UUID of the library [default: one made of its content]
    #[arg(long, value_name = "UUID", value_parser = uuid)]
    pub(crate) uuid: Option<[u8; 16]>,
    /// Take the header, the order of functions, sources and source locations of this library
    #[arg(long, value_name = "LIBRARY", conflicts_with = "os")]
    pub(crate) like: Option<OsString>,
}

/// Parses a UUID: 32 hexadecimal digits, with or without hyphens.
fn uuid(text: &str) -> Result<[u8; 16], String> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let number = (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok()).flatten();
    number.map(u128::to_be_bytes).ok_or_else(|| "expected 32 hexadecimal digits".to_owned())
}
