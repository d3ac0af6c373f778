//! `unshade link`: makes a Metal library of modules, archives and libraries.

use super::bitcode::note;
use super::programs::{each_program, only_program};
use super::written::{one_program, write};
use crate::Outcome;
use crate::args::{GlobalArgs, LinkArgs};
use crate::input::{Input, shown};
use crate::paint;
use anyhow::{Context, Result, bail, ensure};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use unshade::disassembly::Unit;
use unshade::link::{self, DynamicLibrary, LinkInput, LinkOptions};
use unshade::metallib::{Library, LibraryFile};
use unshade::program::{Code, CodeRequest, Verb, Writable};
use unshade::retarget;
use unshade::select::Selection;
use unshade::view::distinct_modules;

/// Maximum number of faults that are printed.
const MAX_FAULTS: usize = 100;

pub(crate) fn run(args: &LinkArgs, global: &GlobalArgs) -> Result<Outcome> {
    if args.install_name.is_some() {
        ensure!(args.dynamic, "--install-name is for a dynamic library: --dynamic");
    }
    let mut inputs = Vec::new();
    for argument in &args.inputs {
        read(argument, global, &mut inputs)?;
    }
    let libraries: Vec<DynamicLibrary> =
        args.library.iter().map(|argument| dynamic_library(argument, global)).collect::<Result<_>>()?;
    let mut like = Vec::new();
    if let Some(argument) = &args.like {
        one_program(argument, Verb::Link, global, |writable, whole| {
            ensure!(writable == Writable::MetalLibrary, "--like takes a Metal library");
            like = whole.bytes.to_vec();
            Ok(Outcome::Done)
        })?;
    }
    let options = LinkOptions {
        target: args.os.map(retarget::format_target).transpose()?,
        dynamic: args.dynamic,
        install_name: install_name(args),
        libraries,
        uuid: args.uuid,
        like: match &args.like {
            Some(argument) => Some(LibraryFile::parse(&like).with_context(|| shown(argument))?),
            None => None,
        },
    };
    let linked = match link::link(&inputs, &options) {
        Ok(linked) => linked,
        Err(faults) => {
            for fault in faults.iter().take(MAX_FAULTS) {
                let found = fault.finding().map(|found| format!("\n    {found}")).unwrap_or_default();
                let hint = fault.advice().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
                let path: String = fault.path().map(|part| format!("{part}: ")).collect();
                anstream::eprintln!("{}: {path}{}{found}{hint}", paint::error("unshade"), fault.message());
            }
            let count = paint::counted(faults.len() as u64, "fault");
            anstream::eprintln!("unshade: {count}; nothing is written");
            return Ok(Outcome::Finding);
        }
    };
    let mut paths: Vec<&OsStr> = args.inputs.iter().map(OsString::as_os_str).collect();
    paths.extend(args.library.iter().chain(&args.like).map(OsString::as_os_str));
    write(&args.output, &paths, linked.file.write()?.pieces())?;
    linked.notes.iter().for_each(|text| note(text));
    Ok(if linked.notes.is_empty() { Outcome::Done } else { Outcome::Finding })
}

/// Returns the name in the library: the install name, or the name of an executable's file.
fn install_name(args: &LinkArgs) -> Option<Vec<u8>> {
    match (&args.install_name, args.dynamic || args.like.is_some()) {
        (Some(name), _) => Some(name.as_bytes().to_vec()),
        (None, true) => None,
        (None, false) => {
            let name = Path::new(&args.output.output).file_name()?;
            Some(name.to_string_lossy().into_owned().into_bytes())
        }
    }
}

/// Reads the modules of an argument: of a module, an archive, or a library.
fn read(argument: &OsStr, global: &GlobalArgs, inputs: &mut Vec<LinkInput<'static>>) -> Result<()> {
    let input = Input::open(argument)?;
    let before = inputs.len();
    each_program(&input, Verb::Link, &global.limits(), |mut visited| {
        let path = visited.find.path.to_string();
        let Some(program) = visited.program else {
            bail!("{path}: can't be read; `unshade verify` says why")
        };
        let selection = Selection::default();
        let request = CodeRequest { selection: &selection, part: None, path: &path };
        let code = program.code(&request, &mut visited.diagnostics);
        let Code::Modules(groups) = &code else { return Ok(()) };
        for group in groups {
            for (unit, _) in distinct_modules(group) {
                let (name, is_member) = match unit {
                    Unit::File { .. } => (path.clone(), path != input.name),
                    _ => (format!("{path}: {}", unit.name()), false),
                };
                let bytes = Cow::Owned(unit.bytes().with_context(|| name.clone())?.0.to_vec());
                inputs.push(LinkInput { name, bytes, is_member });
            }
        }
        Ok(())
    })?;
    ensure!(inputs.len() > before || input.bytes().len() < 512, "{}: no module in it", input.name);
    Ok(())
}

/// Reads a dynamic library to link against.
fn dynamic_library(argument: &OsStr, global: &GlobalArgs) -> Result<DynamicLibrary> {
    let input = Input::open(argument)?;
    only_program(&input, Verb::Link, &global.limits(), |find, _| {
        let library = Library::parse(find.data)?;
        Ok(DynamicLibrary::read(&library)?)
    })
    .with_context(|| shown(argument))
}
