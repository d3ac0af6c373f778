//! Metal libraries: conversion to and from YAML, editing, building.

use super::bitcode::{self, note};
use super::programs::print_diagnostics;
use super::written::{one_program, refused, write};
use crate::Outcome;
use crate::args::{
    BinaryArgs, BuildArgs, EditArgs, FileArgs, FromYamlArgs, GlobalArgs, ModuleFile, Stripped, ToYamlArgs,
};
use crate::input::{Bytes, Input, NothingFound, shown};
use crate::output::{Folder, ensure_free, write_pieces};
use crate::paint::counted;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use unshade::bitcode_edit::BitcodeEdit;
use unshade::build::LostMetadata;
use unshade::carve::format::Format;
use unshade::core::{Error, ErrorKind, Escaped};
use unshade::edit;
use unshade::metallib::edit::Strip;
use unshade::metallib::header;
use unshade::metallib::target::FIRST_WITH_UUID;
use unshade::metallib::{LibraryFile, LibraryType, document};
use unshade::program::{Verb, Writable};
use unshade::safe_path::SafePaths;
use unshade::{build as library_builder, companion, load_check, retarget};

pub(super) fn to_yaml(args: &ToYamlArgs, output: &FileArgs, data: &[u8]) -> Result<Outcome> {
    let file = LibraryFile::parse(data)?;
    let Some(folder) = &args.modules else {
        write_pieces(output, |out| Ok(document::write_yaml(&file, &mut |_, _| None, out)?))?;
        return Ok(Outcome::Done);
    };
    let names = module_names(&file);
    // Modules are written first, and so not before it is known that the document can be.
    if let Some(path) = &output.output {
        ensure_free(path, output.force)?;
    }
    let written = Folder::create(folder, output.force)?;
    for name in &names {
        ensure_free(&folder.join(name), output.force)?;
    }
    for (module, name) in file.modules.iter().zip(&names) {
        written.write_flat(name, &module.bytes)?;
    }
    let shown = |name: &PathBuf| folder.join(name).to_string_lossy().into_owned();
    write_pieces(output, |out| {
        Ok(document::write_yaml(&file, &mut |index, _| names.get(index).map(shown), out)?)
    })?;
    Ok(Outcome::Done)
}

/// Returns the files of the modules, each named by the first function that uses it, as `extract` names them.
fn module_names(file: &LibraryFile<'_>) -> Vec<PathBuf> {
    let mut users: Vec<&[u8]> = vec![b"module"; file.modules.len()];
    for function in file.functions.iter().rev() {
        if let Some(user) = users.get_mut(function.module) {
            *user = &function.name;
        }
    }
    let mut paths = SafePaths::default();
    users.into_iter().map(|name| paths.flat(name, ".air").path).collect()
}

pub(super) fn from_yaml(args: &FromYamlArgs, text: &str) -> Result<Outcome> {
    ensure!(!args.sign, "{}: Metal libraries are not signed", shown(&args.file));
    let mut load = loader(&args.file);
    let file = document::from_yaml_with(text, &mut load).with_context(|| shown(&args.file))?;
    write(&args.output, &[&args.file], file.write().with_context(|| shown(&args.file))?.pieces())
}

/// Reads the files that a document names: at their path, or relative to the document.
fn loader(document: &OsStr) -> impl FnMut(&str) -> unshade::core::Result<Vec<u8>> {
    let folder = Path::new(document).parent().map(Path::to_path_buf).unwrap_or_default();
    move |name| {
        let beside: PathBuf = folder.join(name);
        let path = if beside.exists() { beside } else { PathBuf::from(name) };
        let bytes = Bytes::open(&path).map(|bytes| bytes.to_vec());
        bytes.map_err(|error| {
            let name = Escaped(name.as_bytes()).quoted();
            Error::without_offset(ErrorKind::Unsupported, format!("can't read {name}: {error:#}"))
        })
    }
}

pub(super) fn build(args: &BuildArgs, global: &GlobalArgs) -> Result<Outcome> {
    let paths: Vec<&OsStr> = args.inputs.iter().map(OsString::as_os_str).collect();
    let inputs: Vec<Input> = paths.iter().map(Input::open).collect::<Result<_>>()?;
    let modules: Vec<Vec<NamedModule>> =
        inputs.iter().map(|input| modules_of(input, global)).collect::<Result<_>>()?;
    let (file, outcome) = match &inputs[..] {
        [manifest] if modules.iter().all(Vec::is_empty) => {
            ensure!(args.os.is_none(), "--os goes with modules; a manifest has the keys `Platform` and `OS`");
            let text = std::str::from_utf8(manifest.bytes());
            let text = text.with_context(|| format!("{}: neither bitcode nor a manifest", manifest.name))?;
            let built = library_builder::metallib(text, &mut loader(paths[0]));
            (built.with_context(|| manifest.name.clone())?, Outcome::Done)
        }
        _ => {
            if let Some((input, _)) = inputs.iter().zip(&modules).find(|(_, found)| found.is_empty()) {
                bail!(
                    "{}: no bitcode; one manifest, or modules and archives of them, are wanted",
                    input.name
                );
            }
            from_modules(args, &modules.concat())?
        }
    };
    Ok(write(&args.output, &paths, file.write()?.pieces())?.and(outcome))
}

/// A module to build from.
#[derive(Clone)]
struct NamedModule {
    /// The path that messages name.
    path: String,
    bitcode: Vec<u8>,
}

/// Returns the modules of an input: a module, or all members of an archive. None if it is a manifest.
fn modules_of(input: &Input, global: &GlobalArgs) -> Result<Vec<NamedModule>> {
    let mut modules = Vec::new();
    let mut others = Vec::new();
    let diagnostics = input.programs(&global.limits(), &mut |find| {
        let path = find.path.to_string();
        match find.format {
            Format::Bitcode => modules.push(NamedModule { path, bitcode: find.data.to_vec() }),
            _ => others.push(path),
        }
        ControlFlow::Continue(())
    });
    print_diagnostics(&input.name, &diagnostics);
    if let Some(other) = others.first() {
        bail!(
            "{other}: is no bitcode, and only modules become a library; `unshade edit --merge` joins libraries"
        );
    }
    Ok(modules)
}

fn from_modules(args: &BuildArgs, modules: &[NamedModule]) -> Result<(LibraryFile<'static>, Outcome)> {
    let os = match args.os {
        Some(target) => target,
        None => library_builder::target(modules.iter().map(|module| module.bitcode.as_slice()))?
            .context("the modules do not say for what they are; --os does, such as --os macos-14.0")?,
    };
    let target = retarget::format_target(os)?;
    let mut file = LibraryFile::new(target.header(LibraryType::EXECUTABLE));
    for module in modules {
        library_builder::add_module(&mut file, &module.bitcode).with_context(|| module.path.clone())?;
    }
    let outcome = print_lost(&library_builder::add_reflections(&mut file)?);
    let retargeted = retarget::library(&mut file, os)?.modules;
    if retargeted > 0 {
        note(&format!("{} had another target, and {os} now", counted(retargeted as u64, "module")));
    }
    if file.header.patch >= FIRST_WITH_UUID {
        file.set_uuid(Some([0; 16]));
        file.renew_uuid()?;
    }
    Ok((file, outcome))
}

pub(super) fn edit(args: &EditArgs, global: &GlobalArgs, data: &[u8]) -> Result<Outcome> {
    if let Some(option) = args.universal_option() {
        bail!("{option} is for universal files, and this is a Metal library");
    }
    let mut inputs = vec![args.file.as_os_str()];
    inputs.extend(args.merge.iter().chain(&args.join_symbols).map(OsString::as_os_str));
    inputs.extend(args.split_symbols.iter().map(|path| path.as_os_str()));
    let (written, outcome) =
        edited(args, global, data, |file| write(&args.output, &inputs, file.write()?.pieces()))?;
    Ok(written.and(outcome))
}

/// Passes an edited library to `finish`. Returns its result, and whether anything could not be expressed.
pub(super) fn edited<T>(
    args: &EditArgs,
    global: &GlobalArgs,
    data: &[u8],
    finish: impl FnOnce(&LibraryFile<'_>) -> Result<T>,
) -> Result<(T, Outcome)> {
    refuse_options(args)?;
    let others: Vec<Bytes> =
        args.merge.iter().map(|argument| library_of(argument, global)).collect::<Result<_>>()?;
    let symbols = args.join_symbols.as_deref().map(|argument| library_of(argument, global)).transpose()?;
    let mut file = LibraryFile::parse(data)?;
    if let Some((symbols, argument)) = symbols.as_ref().zip(args.join_symbols.as_ref()) {
        let joined = LibraryFile::parse(symbols).and_then(|symbols| companion::join(&mut file, symbols));
        joined.with_context(|| shown(argument))?;
    }
    let companion = args.split_symbols.as_ref().map(|_| file.companion()).transpose()?;
    let before = file.uuid().copied();
    let mut changed = !others.is_empty();
    for (other, argument) in others.iter().zip(&args.merge) {
        let merged = LibraryFile::parse(other).and_then(|other| file.merge(other));
        merged.with_context(|| shown(argument))?;
    }
    changed |= edit::library::choose(&mut file, &args.keep, &args.remove).map_err(refused)?;
    for rename in &args.rename {
        let (old, new) = rename.split_once('=').context("--rename takes OLD=NEW")?;
        if let Some(text) = edit::library::rename(&mut file, old, new).map_err(refused)? {
            note(&text);
        }
        changed = true;
    }
    let mut outcome = Outcome::Done;
    for replacement in &args.module {
        outcome = outcome.and(replace_module(&mut file, replacement)?);
        changed = true;
    }
    if companion.is_some() {
        changed |= file.strip(Strip::Sources);
    }
    for stripped in &args.strip {
        changed |= file.strip(strip(*stripped)?);
    }
    if args.strip_debug {
        let edit = BitcodeEdit { strip_debug: true, ..BitcodeEdit::default() };
        let stripped = edit.library(&mut file, |_| true)?.stripped;
        bitcode::note_stripped(&stripped);
        changed |= !stripped.is_empty();
    }
    if let Some(target) = args.os {
        set_target(&mut file, target)?;
        changed = true;
    }
    if let Some(name) = &args.install_name {
        file.set_install_name(name.as_bytes().to_vec())?;
        changed = true;
    }
    match args.split_symbols.as_ref().zip(companion) {
        // The companion is found by the UUID.
        Some((path, companion)) => {
            ensure_split(changed, before.is_some())?;
            write_companion(args, path, &companion)?;
        }
        None if changed && before.is_some() && !args.keep_uuid => file.renew_uuid()?,
        None => {}
    }
    Ok((finish(&file)?, outcome))
}

/// Fails if nothing was removed from a library whose symbols are split off.
fn ensure_split(changed: bool, has_uuid: bool) -> Result<()> {
    if !changed {
        let what = "no sources, and no debug information that --strip debug or --strip-debug removes";
        bail!(NothingFound(format!("nothing to split off: {what}")));
    }
    if !has_uuid {
        note("the library has no UUID, by which debuggers find its symbol companion");
    }
    Ok(())
}

/// Writes a symbol companion, but not before it is known that the library can be written.
fn write_companion(args: &EditArgs, path: &Path, companion: &LibraryFile<'_>) -> Result<()> {
    let BinaryArgs { output, force } = &args.output;
    ensure!(path != output, "{}: is the output, too; the companion is another file", path.display());
    ensure_free(output, *force)?;
    let output = BinaryArgs { output: path.into(), force: *force };
    write(&output, &[&args.file], companion.write()?.pieces())?;
    Ok(())
}

/// Returns the only library of an argument. A library that is a whole file stays mapped.
fn library_of(argument: &OsStr, global: &GlobalArgs) -> Result<Bytes> {
    if let Ok(bytes) = Bytes::open(Path::new(argument))
        && bytes.starts_with(&header::MAGIC.0)
    {
        return Ok(bytes);
    }
    let mut copy = Vec::new();
    one_program(argument, Verb::Edit, global, |writable, data| {
        ensure!(writable == Writable::MetalLibrary, "is no Metal library");
        copy = data.bytes.to_vec();
        Ok(Outcome::Done)
    })?;
    Ok(Bytes::Read(copy))
}

/// Options for DXContainers and bitcode.
pub(super) fn refuse_options(args: &EditArgs) -> Result<()> {
    let given = [
        ("--set", !args.set.is_empty()),
        ("--add", !args.add.is_empty()),
        ("--order", !args.order.is_empty()),
        ("--private", args.private.is_some()),
        ("--keep-digest", args.keep_digest),
        ("--patch", !args.patch.is_empty()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some(("--patch", _)) => bail!(
            "--patch is for LLVM bitcode, and this is a Metal library; `unshade extract` writes its modules"
        ),
        Some((option, _)) => bail!("{option} is for DXContainers, and this is a Metal library"),
        None => Ok(()),
    }
}

fn strip(what: Stripped) -> Result<Strip> {
    Ok(match what {
        Stripped::Debug => Strip::DebugPaths,
        Stripped::Reflection => Strip::Reflection,
        Stripped::Private => Strip::PrivateMetadata,
        Stripped::Sources => Strip::Sources,
        Stripped::RootSignature => bail!("--strip root-signature is for DXContainers"),
    })
}

/// Returns a library in which the module of a function is replaced, and whether anything could not be expressed.
pub(super) fn replaced_module(library: &[u8], function: &str, module: &[u8]) -> Result<(Vec<u8>, Outcome)> {
    let mut file = LibraryFile::parse(library)?;
    let outcome = put_module(&mut file, function, module, "the listing")?;
    if file.uuid().is_some() {
        file.renew_uuid()?;
    }
    Ok((file.write()?.pieces().collect::<Vec<_>>().concat(), outcome))
}

/// Replaces a module by that of a file.
fn replace_module(file: &mut LibraryFile<'_>, replacement: &ModuleFile) -> Result<Outcome> {
    let ModuleFile { function, file: path } = replacement;
    let shown = path.display().to_string();
    let bytes = Bytes::open(path).with_context(|| format!("can't read {shown}"))?;
    put_module(file, function, &bytes, &shown)
}

/// Replaces the module of a function.
fn put_module(file: &mut LibraryFile<'_>, function: &str, bytes: &[u8], shown: &str) -> Result<Outcome> {
    let lost = edit::library::put_module(file, function, bytes, shown).map_err(refused)?;
    Ok(print_lost(lost.as_slice()))
}

/// Prints what reflections can't express of the metadata of their modules, and how much that is.
fn print_lost(lost: &[LostMetadata]) -> Outcome {
    lost.iter().for_each(|lost| print_diagnostics(&lost.module, &lost.findings));
    let count: usize = lost.iter().map(|lost| lost.findings.errors()).sum();
    if count == 0 {
        return Outcome::Done;
    }
    note(&format!("reflections can't express {} of metadata", counted(count as u64, "part")));
    Outcome::Finding
}

fn set_target(file: &mut LibraryFile<'_>, target: load_check::Target) -> Result<()> {
    let version = file.header.version();
    if !retarget::library(file, target)?.header_has_version {
        note(&format!("a container of {version} says no more than whether it is for macOS"));
    }
    Ok(())
}
