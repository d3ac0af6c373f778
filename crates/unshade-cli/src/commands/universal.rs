//! Metal universal files: building them of slices, editing slices and the libraries in them.

use super::bitcode::note;
use super::metallib::{edited, refuse_options};
use super::programs::print_diagnostics;
use super::written::write;
use crate::Outcome;
use crate::args::{BuildArgs, EditArgs, GlobalArgs};
use crate::input::{Input, NothingFound};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::iter;
use std::ops::ControlFlow;
use unshade::carve::format::Format;
use unshade::metallib::architecture::Architecture;
use unshade::metallib::gpu_object;
use unshade::metallib::universal_file::{OwnedSlice, UniversalFile};

pub(super) fn build(args: &BuildArgs, global: &GlobalArgs) -> Result<Outcome> {
    ensure!(args.os.is_none(), "--os goes with modules; a library names its own target");
    let inputs: Vec<_> = args.inputs.iter().map(BuildArgs::slice_input).collect();
    let mut file = UniversalFile::default();
    for (architecture, path) in &inputs {
        for slice in slices_of(*architecture, path, global)? {
            file.add(slice).with_context(|| crate::input::shown(path))?;
        }
    }
    let paths: Vec<&OsStr> = inputs.iter().map(|(_, path)| path.as_os_str()).collect();
    write(&args.output, &paths, iter::once(file.write()?.as_slice()))
}

/// Returns the slices of a file: a library, a GPU Mach-O file, or all of a universal file.
fn slices_of(
    architecture: Option<Architecture>,
    path: &OsStr,
    global: &GlobalArgs,
) -> Result<Vec<OwnedSlice<'static>>> {
    let input = Input::open(path)?;
    let slice = |data: &[u8]| match architecture {
        Some(architecture) => Ok(OwnedSlice::for_architecture(architecture, data.to_vec())),
        None => OwnedSlice::of(data.to_vec()),
    };
    // Nothing is carved out of machine code that holds a library.
    if !input.has_selector() && input.bytes().starts_with(&gpu_object::MAGIC.to_le_bytes()) {
        return Ok(vec![slice(input.bytes()).with_context(|| input.name.clone())?]);
    }
    let mut found = Vec::new();
    let diagnostics = input.programs(&global.limits(), &mut |find| {
        found.push(match find.format {
            Format::MetalLibrary => slice(find.data).map(|slice| vec![slice]),
            Format::MetalUniversal if architecture.is_none() => UniversalFile::parse(find.data)
                .map(|file| file.slices.iter().map(OwnedSlice::to_static).collect()),
            _ => Ok(Vec::new()),
        });
        ControlFlow::Continue(())
    });
    print_diagnostics(&input.name, &diagnostics);
    match found.pop() {
        Some(slices) if found.is_empty() => {
            let slices = slices.with_context(|| input.name.clone())?;
            ensure!(!slices.is_empty(), "{}: no library, no GPU Mach-O file", input.name);
            Ok(slices)
        }
        Some(_) => {
            bail!("{} holds {} programs; name one of them: '{}!…'", input.name, found.len() + 1, input.name)
        }
        None => bail!("{}: no library, no GPU Mach-O file", input.name),
    }
}

pub(super) fn edit(args: &EditArgs, global: &GlobalArgs, data: &[u8]) -> Result<Outcome> {
    refuse_options(args)?;
    if let Some(option) = args.companion_option() {
        bail!("{option} is for one library; --thin takes a slice out");
    }
    let mut file = UniversalFile::parse(data)?;
    for architecture in &args.remove_slice {
        let index = find(&file, *architecture)?;
        file.slices.remove(index);
    }
    for set in &args.set_slice {
        let slices = slices_of(Some(set.architecture), &set.file, global)?;
        slices.into_iter().for_each(|slice| file.set(slice));
    }
    ensure!(!file.slices.is_empty(), "a universal file has one slice at least");
    let outcome = match args.edits_libraries() {
        true => edit_libraries(args, global, &mut file)?,
        false => Outcome::Done,
    };
    let mut inputs = vec![args.file.as_os_str()];
    inputs.extend(args.set_slice.iter().map(|set| set.file.as_os_str()));
    inputs.extend(args.merge.iter().map(OsString::as_os_str));
    let bytes = match args.thin {
        Some(architecture) => file.slices.swap_remove(find(&file, architecture)?).data.into_owned(),
        None => file.write()?,
    };
    Ok(write(&args.output, &inputs, iter::once(bytes.as_slice()))?.and(outcome))
}

/// Edits the libraries of the selected slices, each as a library of its own.
fn edit_libraries(args: &EditArgs, global: &GlobalArgs, file: &mut UniversalFile<'_>) -> Result<Outcome> {
    let selected = match &args.slice[..] {
        [] => (0..file.slices.len()).filter(|at| file.slices[*at].is_library()).collect(),
        named => named.iter().map(|architecture| find(file, *architecture)).collect::<Result<Vec<_>>>()?,
    };
    ensure!(!selected.is_empty(), "no slice is a library, and machine code is not edited");
    let mut outcome = Outcome::Done;
    for index in selected {
        let slice = &mut file.slices[index];
        let name = shown(slice.architecture);
        ensure!(slice.is_library(), "{name}: is machine code, which is not edited");
        let edited = edited(args, global, &slice.data, |library| {
            Ok(library.write()?.pieces().collect::<Vec<_>>().concat())
        });
        let (data, found) = edited.with_context(|| name)?;
        slice.data = data.into();
        outcome = outcome.and(found);
    }
    let others = file.slices.iter().filter(|slice| !slice.is_library());
    let others: Vec<String> = others.map(|slice| shown(slice.architecture)).collect();
    if !others.is_empty() && args.thin.is_none() {
        note(&format!("machine code stays as it is: {}", others.join(", ")));
    }
    Ok(outcome)
}

/// Returns the index of a slice.
fn find(file: &UniversalFile<'_>, architecture: Architecture) -> Result<usize> {
    file.find(architecture).ok_or_else(|| {
        let known: Vec<String> = file.slices.iter().map(|slice| shown(slice.architecture)).collect();
        NothingFound(format!("no slice {}; there are {}", shown(architecture), known.join(", "))).into()
    })
}

/// Returns the name that Apple's tools use, or family and number.
fn shown(architecture: Architecture) -> String {
    architecture.name().unwrap_or_else(|| architecture.to_string())
}
