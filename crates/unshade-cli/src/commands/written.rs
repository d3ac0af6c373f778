//! Commands that write programs. Each asks which file type a program can be written as.

use super::programs::only_program;
use super::{bitcode, dxcontainer, metallib, universal};
use crate::Outcome;
use crate::args::{
    BinaryArgs, BuildArgs, Built, EditArgs, FileArgs, FromYamlArgs, GlobalArgs, SignArgs, ToYamlArgs,
};
use crate::input::{Bytes, Input, NothingFound, file_of, shown};
use crate::output::{Folder, write_file_of};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use unshade::carve::Find;
use unshade::dxcontainer::msf::Msf;
use unshade::edit::Refusal;
use unshade::program::{Verb, Writable};
use unshade::safe_path::SafePaths;

/// Maximum size of YAML, that of the largest program.
const MAX_YAML: u64 = 4 << 30;

pub(crate) fn to_yaml(args: &ToYamlArgs, global: &GlobalArgs) -> Result<Outcome> {
    if let [file] = &args.files[..] {
        return one_to_yaml(file, args, &args.output, global);
    }
    // Several files: one document per file in a folder.
    let Some(folder) = &args.output.output else {
        bail!("of several files, -o names the folder for the documents")
    };
    Folder::create(folder, args.output.force)?;
    let mut names = SafePaths::default();
    let mut outcome = Outcome::Done;
    for file in &args.files {
        let name = names.flat(Path::new(file).file_name().unwrap_or(file).as_encoded_bytes(), ".yaml").path;
        let output = FileArgs { output: Some(folder.join(name)), force: args.output.force };
        outcome = outcome.and(match one_to_yaml(file, args, &output, global) {
            Ok(one) => one,
            Err(error) => Outcome::of_error(&error),
        });
    }
    Ok(outcome)
}

fn one_to_yaml(file: &OsStr, args: &ToYamlArgs, output: &FileArgs, global: &GlobalArgs) -> Result<Outcome> {
    one_program(file, Verb::ToYaml, global, |writable, data| match writable {
        Writable::DxContainer => dxcontainer::to_yaml(args, output, data.bytes),
        Writable::MetalLibrary => metallib::to_yaml(args, output, data.bytes),
        Writable::MetalUniversal => bail!("universal files have no YAML"),
        Writable::Bitcode => bail!("LLVM bitcode has no YAML"),
    })
}

pub(crate) fn from_yaml(args: &FromYamlArgs) -> Result<Outcome> {
    let text = read_text(&args.file)?;
    let tag = text.lines().find_map(|line| line.strip_prefix("--- ")).unwrap_or_default();
    if tag.trim_end() == unshade::metallib::document::TAG {
        metallib::from_yaml(args, &text)
    } else {
        dxcontainer::from_yaml(args, &text)
    }
}

pub(crate) fn sign(args: &SignArgs, global: &GlobalArgs) -> Result<Outcome> {
    one_program(&args.file, Verb::Sign, global, |_, data| dxcontainer::sign(args, data.bytes))
}

pub(crate) fn edit(args: &EditArgs, global: &GlobalArgs) -> Result<Outcome> {
    one_program(&args.file, Verb::Edit, global, |writable, data| match writable {
        Writable::DxContainer => dxcontainer::edit(args, data.bytes),
        Writable::MetalLibrary => metallib::edit(args, global, data.bytes),
        Writable::MetalUniversal => universal::edit(args, global, data.bytes),
        Writable::Bitcode => bitcode::edit(args, data),
    })
}

pub(crate) fn build(args: &BuildArgs, global: &GlobalArgs) -> Result<Outcome> {
    match args.format {
        Built::Dxcontainer => dxcontainer::build(args),
        Built::Metallib => metallib::build(args, global),
        Built::Universal => universal::build(args, global),
    }
}

/// Returns a refused edit as an error of the command line.
pub(super) fn refused(refusal: Refusal) -> anyhow::Error {
    match refusal {
        Refusal::NotFound(message) => NothingFound(message).into(),
        Refusal::Impossible(error) => error.into(),
        faults => faults.into(),
    }
}

/// Reads a text file, or standard input.
pub(super) fn read_text(file: &OsStr) -> Result<String> {
    if file == "-" {
        let mut text = String::new();
        let stdin = std::io::stdin().lock();
        stdin.take(MAX_YAML).read_to_string(&mut text).context("can't read standard input")?;
        return Ok(text);
    }
    let bytes = Bytes::open(Path::new(file)).with_context(|| format!("can't read {}", shown(file)))?;
    String::from_utf8(bytes.to_vec()).with_context(|| format!("{}: no text", shown(file)))
}

/// Runs `work` with the only program of an argument that can be written; it may be in a program database.
pub(super) fn one_program(
    argument: &OsStr,
    verb: Verb,
    global: &GlobalArgs,
    mut work: impl FnMut(Writable, Whole<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    let input = Input::open(argument)?;
    if Msf::is_msf(input.bytes()) {
        let (_, data) = Msf::parse(input.bytes())?.container()?;
        return work(Writable::DxContainer, Whole { bytes: &data, base: 0 });
    }
    let limits = global.limits();
    input.will_be_read();
    only_program(&input, verb, &limits, |find, program| {
        let writable =
            program.writable().with_context(|| format!("{}: {} is not written", find.path, find.format))?;
        work(writable, whole(&input, find)).with_context(|| shown(argument))
    })
}

/// The bytes of a program, and its offset in the file as `dump` prints it.
#[derive(Clone, Copy)]
pub(super) struct Whole<'d> {
    pub(super) bytes: &'d [u8],
    pub(super) base: u64,
}

/// Returns the bytes of a program. If the program begins a file, the bytes after it are included, so that nothing is
/// lost.
fn whole<'d>(input: &'d Input, find: &'d Find<'_>) -> Whole<'d> {
    // Compared by address: a comparison of bytes would read them twice.
    let start = input.bytes().get(..find.data.len());
    let is_file = find.file_offset == Some(0) && start.is_some_and(|start| std::ptr::eq(start, find.data));
    let base = find.file_offset.unwrap_or(find.path.offset());
    if is_file { Whole { bytes: input.bytes(), base: 0 } } else { Whole { bytes: find.data, base } }
}

/// Writes a file, but never over an input.
pub(super) fn write<'d>(
    output: &BinaryArgs,
    inputs: &[&OsStr],
    pieces: impl Iterator<Item = &'d [u8]> + Clone,
) -> Result<Outcome> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let target = real(&output.output);
    for input in inputs {
        if target.is_some() && target == real(Path::new(file_of(input))) {
            let which = if inputs.len() == 1 { "the" } else { "an" };
            bail!("{}: is {which} input; write to another file", output.output.display());
        }
    }
    write_file_of(&output.output, output.force, pieces)?;
    Ok(Outcome::Done)
}
