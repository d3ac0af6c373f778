//! `unshade ghidra`: writes the Ghidra processor module; with `--import`, writes kernels as programs for Ghidra.

use super::programs::{Visited, each_program, print_diagnostics, require_selected};
use crate::Outcome;
use crate::args::{GhidraArgs, GlobalArgs};
use crate::input::Input;
use crate::output::{Folder, Stdout};
use crate::paint::{counted, faint};
use anyhow::Result;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use unshade::ghidra;
use unshade::nv_units::each_known_cubin;
use unshade::program::{Code, CodeRequest, Verb};
use unshade::safe_path::SafePaths;
use unshade::select::Selection;

pub(crate) fn run(args: &GhidraArgs, global: &GlobalArgs) -> Result<Outcome> {
    if let Some(file) = &args.import {
        return import(file, args, global);
    }
    let mut folder = Folder::create(&args.output.output, args.output.force)?;
    for file in unshade_ghidra::FILES {
        folder.write(&Path::new(unshade_ghidra::FOLDER).join(file.path), file.text.as_bytes())?;
    }
    Ok(Outcome::Done)
}

/// The programs being written.
struct Import<'a> {
    selection: Selection,
    folder: Folder,
    paths: SafePaths,
    stdout: &'a mut Stdout,
    programs: u64,
    findings: usize,
}

fn import(file: &OsStr, args: &GhidraArgs, global: &GlobalArgs) -> Result<Outcome> {
    let input = Input::open(file)?;
    let selection = args.selection()?;
    require_selected(std::slice::from_ref(&input), &selection, Verb::Ghidra, &global.limits())?;
    let mut stdout = Stdout::new(false);
    let mut import = Import {
        selection,
        folder: Folder::create(&args.output.output, args.output.force)?,
        paths: SafePaths::default(),
        stdout: &mut stdout,
        programs: 0,
        findings: 0,
    };
    each_program(&input, Verb::Ghidra, &global.limits(), |visited| import.program(visited))?;
    let (programs, findings) = (import.programs, import.findings);
    writeln!(stdout, "{}", faint(format!("{} for Ghidra", counted(programs, "program"))))?;
    stdout.finish()?;
    Ok(if programs == 0 || findings > 0 { Outcome::Finding } else { Outcome::Done })
}

impl Import<'_> {
    fn program(&mut self, visited: Visited<'_, '_>) -> Result<()> {
        let mut diagnostics = visited.diagnostics;
        let path = visited.find.path.to_string();
        let selection = self.selection.clone();
        let request = CodeRequest { selection: &selection, part: None, path: &path };
        let mut result = Ok(());
        if let Some(Code::Machine(nvidia)) =
            visited.program.map(|program| program.code(&request, &mut diagnostics))
        {
            let wanted = |function: &unshade::nv::function::Function<'_>| {
                selection.matches_name(function.index, function.name())
            };
            each_known_cubin(nvidia, &mut diagnostics, &mut |cubin, _, diagnostics| {
                let programs = ghidra::programs(cubin, &wanted, diagnostics);
                for program in programs {
                    if result.is_ok() {
                        result = self.write(&program);
                    }
                }
            });
        }
        self.findings = self.findings.saturating_add(diagnostics.len());
        print_diagnostics(&path, &diagnostics);
        result
    }

    fn write(&mut self, program: &ghidra::ImportProgram<'_>) -> Result<()> {
        let path = self.paths.flat(program.name, ".xml").path;
        let bytes = path.with_extension("bytes");
        self.folder.write(&bytes, &program.bytes)?;
        let xml = program.xml(&bytes.to_string_lossy());
        self.folder.write(&path, xml.as_bytes())?;
        writeln!(self.stdout, "{}", path.display())?;
        self.programs = self.programs.saturating_add(1);
        Ok(())
    }
}
