//! What the user knows of a program: the header of `--types`, or a file of notes from the Explorer.

use crate::Outcome;
use crate::args::DecompileArgs;
use crate::paint;
use anyhow::{Context as _, Result};
use std::cell::Cell;
use std::ops::Range;
use unshade::carve::Find;
use unshade::decompile::{FunctionC, Header};
use unshade::decompiler::Line;
use unshade::dxcontainer::Container;
use unshade::format::Format;
use unshade::hlsl::Hlsl;
use unshade::instruction_bytes::{InstructionBytes, words};
use unshade::llvm::Module;
use unshade::msl::Metal;
use unshade::notes::{FunctionNotes, Notes};
use unshade::nv::Cubin;
use unshade::sass_listing::instruction_set;

/// A header or notes, and whether anything in them does not apply.
#[derive(Default)]
pub(super) struct Known {
    pub(super) header: Option<Header>,
    notes: Option<Notes>,
    has_faults: Cell<bool>,
}

impl Known {
    /// Reads the file of `--types`, and prints what is left out of it.
    pub(super) fn read(args: &DecompileArgs) -> Result<Self> {
        let Some(path) = &args.types else { return Ok(Self::default()) };
        let name = path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| format!("can't read {name}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut known = Self::default();
        if Notes::is_notes(&text) {
            let notes = Notes::parse(&text).with_context(|| name.clone())?;
            notes.faults.iter().for_each(|fault| known.fault(&name, fault));
            known.notes = Some(notes);
        } else {
            let header = Header::parse(&text);
            header.faults.iter().for_each(|fault| known.fault(&name, fault));
            known.header = Some(header);
        }
        Ok(known)
    }

    /// Returns whether everything in the file applied.
    pub(super) fn outcome(&self) -> Outcome {
        if self.has_faults.get() { Outcome::Finding } else { Outcome::Done }
    }

    fn fault(&self, name: &str, fault: impl std::fmt::Display) {
        anstream::eprintln!("{}: {name}: {fault}", paint::error("unshade"));
        self.has_faults.set(true);
    }

    /// Applies notes to a function of a cubin, but for the names of definitions before it.
    pub(super) fn function(&self, cubin: &Cubin<'_>, function: &mut FunctionC) {
        let (Some(_), Ok(decompiled)) = (&self.notes, &mut function.result) else { return };
        let section = cubin.functions().find(|one| one.name() == function.name.as_bytes());
        let section = section.and_then(|one| cubin.elf().bytes(&one.section?).ok());
        let base = section.map_or(0, |section| section.base());
        let size = instruction_set(cubin).map_or(8, |isa| isa.word_bytes as u64);
        let ranges = decompiled.lines.iter().map(|line| words(&line.addresses, base, size)).collect();
        let Some(notes) = self.notes.as_ref().and_then(|notes| notes.function(&function.name)) else {
            return;
        };
        let mut notes = notes.clone();
        let _ = notes.take_names_in(&decompiled.prelude);
        self.apply(&function.name, &notes, &mut decompiled.lines, ranges);
    }

    /// Gives definitions before functions their names, in all functions.
    pub(super) fn shared(&self, functions: &mut [FunctionC]) {
        let Some(notes) = &self.notes else { return };
        let mut shared = FunctionNotes::default();
        for function in functions.iter() {
            let Ok(decompiled) = &function.result else { continue };
            let Some(own) = notes.function(&function.name) else { continue };
            for refused in shared.add_names(own.clone().take_names_in(&decompiled.prelude)) {
                self.fault(&function.name, refused);
            }
        }
        let texts = functions.iter_mut().filter_map(|function| function.result.as_mut().ok());
        let lines = texts.flat_map(|decompiled| {
            decompiled.prelude.iter_mut().chain(decompiled.lines.iter_mut().map(|line| &mut line.text))
        });
        for refused in shared.rename(lines) {
            self.fault("definitions", refused);
        }
    }

    /// Applies notes to a shader.
    pub(super) fn shader(&self, find: &Find<'_>, hlsl: &mut Hlsl) {
        if self.notes.is_none() {
            return;
        }
        let base = find.file_offset.unwrap_or(find.path.offset());
        let bytes = if find.format == Format::Direct3d9 {
            InstructionBytes::of_direct3d9(find.data, base)
        } else {
            Container::parse_at(find.data, base).and_then(|one| InstructionBytes::of_container(&one))
        };
        let ranges = bytes.map_or_else(|_| vec![Vec::new(); hlsl.lines.len()], |bytes| bytes.of_lines(hlsl));
        self.lines("", &mut hlsl.lines, ranges);
    }

    /// Applies notes to the functions of a module.
    pub(super) fn module(&self, module: &Module<'_>, metal: &mut Metal) {
        if self.notes.is_none() {
            return;
        }
        let ranges = InstructionBytes::of_module(module).of_metal(metal);
        for function in &metal.functions {
            let lines = metal.lines.get_mut(function.lines.clone()).unwrap_or_default();
            self.lines(
                &function.name,
                lines,
                ranges.get(function.lines.clone()).unwrap_or_default().to_vec(),
            );
        }
        self.lines("", &mut metal.lines, ranges);
    }

    fn lines(&self, name: &str, lines: &mut [Line], ranges: Vec<Vec<Range<u64>>>) {
        if let Some(notes) = self.notes.as_ref().and_then(|notes| notes.function(name)) {
            self.apply(name, notes, lines, ranges);
        }
    }

    fn apply(&self, name: &str, notes: &FunctionNotes, lines: &mut [Line], ranges: Vec<Vec<Range<u64>>>) {
        for refused in notes.rename(lines.iter_mut().map(|line| &mut line.text)) {
            self.fault(name, refused);
        }
        notes.comment_lines(lines.iter_mut().map(|line| &mut line.text).zip(ranges));
    }
}
