//! `unshade ghidra`: the Ghidra processor module, as files; with `--import`, kernels as programs that Ghidra imports.

use crate::Outcome;
use crate::args::{GhidraArgs, GlobalArgs};
use crate::input::Input;
use crate::output::{Folder, Stdout};
use crate::paint::{self, counted, faint};
use anyhow::Result;
use std::io::Write;
use std::path::Path;
use unshade::carve::Find;
use unshade::core::Diagnostics;
use unshade::ghidra;
use unshade::nv_units::{Unit, each_unit};
use unshade::program::Program;
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

/// Programs that are being written.
struct Import<'a> {
    selection: Selection,
    folder: Folder,
    paths: SafePaths,
    stdout: &'a mut Stdout,
    programs: u64,
    findings: usize,
}

fn import(file: &str, args: &GhidraArgs, global: &GlobalArgs) -> Result<Outcome> {
    let input = Input::open(file)?;
    let mut stdout = Stdout::new(false);
    let mut import = Import {
        selection: args.selection()?,
        folder: Folder::create(&args.output.output, args.output.force)?,
        paths: SafePaths::default(),
        stdout: &mut stdout,
        programs: 0,
        findings: 0,
    };
    input.each_program(&global.limits(), |find| import.program(find))?;
    let (programs, findings) = (import.programs, import.findings);
    writeln!(stdout, "{}", faint(format!("{} for Ghidra", counted(programs, "program"))))?;
    stdout.finish()?;
    Ok(if programs == 0 || findings > 0 { Outcome::Finding } else { Outcome::Done })
}

impl Import<'_> {
    fn program(&mut self, find: &Find<'_>) -> Result<()> {
        let mut diagnostics = Diagnostics::new();
        let mut result = Ok(());
        if let Some(program) = diagnostics.take("program", Program::open(find)) {
            let mut faults = Diagnostics::new();
            each_unit(&program, false, &mut diagnostics, &mut |_, unit| {
                if let (Unit::Cubin(cubin), true) = (unit, result.is_ok()) {
                    let wanted = |function: &unshade::nv::function::Function<'_>| {
                        self.selection.matches_name(function.index, function.name())
                    };
                    for program in ghidra::programs(cubin, &wanted, &mut faults) {
                        result = self.write(&program);
                        if result.is_err() {
                            break;
                        }
                    }
                }
            });
            diagnostics.append(faults);
        }
        for diagnostic in &diagnostics {
            self.findings = self.findings.saturating_add(1);
            anstream::eprintln!("{}", paint::diagnostic(&find.path.to_string(), diagnostic));
        }
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
