//! The source of a function: what its program carries, or else what the decompiler makes of its code.

use super::{Function, numbered};
use crate::carve::format::Format;
use crate::disassembly::Unit;
use crate::instruction_bytes::{InstructionBytes, words};
use crate::nv_units::{self, Nvidia, with_unit_of};
use crate::program::{Code, CodeRequest, ExtractKind, ModuleGroup, Program, Verb, format_of, refusal};
use crate::select::Selection;
use crate::{air, decompile, hlsl, msl, sass_listing};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{ControlFlow, Range};
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped, Result};
use unshade_decompile::{Decompiled, Options};
use unshade_dxcontainer::Container;
use unshade_nv::Cubin;

/// Maximum number of bytes of the sources of a function.
const MAX_SOURCE: usize = 256 << 20;

/// Where a source comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceOrigin {
    /// The program carries it.
    Embedded,
    /// It is made from the code.
    Decompiled,
}

/// The source of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it comes from.
    pub origin: SourceOrigin,
    /// Its files; at least one.
    pub files: Vec<SourceText>,
    /// What the decompiler has no form for, each kind once. The text names it where it is.
    pub unknown: Vec<String>,
}

/// A file of source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Its path, which comes from the program and must not be trusted.
    pub path: String,
    /// Its text. What is not UTF-8 is replaced.
    pub text: String,
    /// For each line of decompiled text, the bytes of the instructions that it comes from, neighbours together: offsets in
    /// the file, or in the program if it was unpacked. Empty for embedded sources.
    pub ranges: Vec<Vec<Range<u64>>>,
}

/// Writes the files; if there are several, each after a comment with its path.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            if self.files.len() > 1 {
                writeln!(f, "// {}", Escaped(file.path.as_bytes()))?;
            }
            f.write_str(&file.text)?;
        }
        Ok(())
    }
}

impl Source {
    fn decompiled(file: SourceText, unknown: BTreeSet<&str>) -> Self {
        let unknown = unknown.into_iter().map(str::to_owned).collect();
        Self { origin: SourceOrigin::Decompiled, files: vec![file], unknown }
    }
}

impl Function<'_> {
    /// Returns its source: the files that its program carries, otherwise what the decompiler makes of it.
    ///
    /// | code | source |
    /// |---|---|
    /// | AIR | Metal, with the functions that it calls |
    /// | DXIL, DXBC, Direct3D 9 | HLSL, with the functions that it calls |
    /// | Kepler machine code | CUDA C |
    /// | PTX | its text |
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/metallib/vertex_fragment.metallib");
    /// let file = unshade::open(path)?;
    /// for program in file.programs() {
    ///     for function in program.functions()? {
    ///         for file in function.source()?.files {
    ///             for (line, ranges) in file.text.lines().zip(&file.ranges) {
    ///                 println!("{line:60} {ranges:x?}");
    ///             }
    ///         }
    ///     }
    /// }
    /// # Ok::<(), unshade::core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The program carries none and is not decompiled; the hint says why.
    pub fn source(&self) -> Result<Source> {
        self.find_source().map_err(|error| self.program.within(error))
    }

    fn find_source(&self) -> Result<Source> {
        let program = self.program.contents()?;
        let everything = Selection::default();
        let request = CodeRequest { selection: &everything, part: None, path: "" };
        let mut diagnostics = Diagnostics::new();
        let code = program.code(&request, &mut diagnostics);
        if let Code::Machine(nvidia) = code {
            return self.machine_source(nvidia);
        }
        if let Some(found) = self.embedded_source(program)? {
            return Ok(found);
        }
        match code {
            _ if self.is_shader() => self.shader_source(),
            Code::Modules(groups) => self.module_source(&groups),
            _ => {
                let first = diagnostics.iter().next().map(|diagnostic| diagnostic.error.clone());
                Err(first.unwrap_or_else(|| self.no_source()))
            }
        }
    }

    /// Decompiles a function of a cubin; of PTX its text is the source.
    fn machine_source(&self, nvidia: &Nvidia<'_>) -> Result<Source> {
        let place = self.place.ok_or_else(|| self.fault("it has no place in the program"))?;
        let (mut diagnostics, mut faults) = (Diagnostics::new(), Diagnostics::new());
        let mut source = None;
        with_unit_of(nvidia, place, &mut diagnostics, &mut |unit| match unit {
            nv_units::Unit::Cubin(cubin) => {
                let wanted = |one: &unshade_nv::function::Function<'_>| Some(one.index) == place.index;
                decompile::cubin(cubin, &wanted, &Options::default(), &mut faults, &mut |one| {
                    source = Some(match one.result {
                        Ok(decompiled) => Ok(self.c_source(cubin, place.index, &decompiled)),
                        Err(fault) => Err(self.fault(format!("can't be decompiled: {fault}"))),
                    });
                });
            }
            nv_units::Unit::Ptx(ptx) => {
                let text = String::from_utf8_lossy(ptx.text()).into_owned();
                let file = SourceText { path: format!("{}.ptx", self.name()), text, ranges: Vec::new() };
                let origin = SourceOrigin::Embedded;
                source = Some(Ok(Source { origin, files: vec![file], unknown: Vec::new() }));
            }
            nv_units::Unit::Unread => {}
        });
        diagnostics.append(faults);
        source.unwrap_or_else(|| {
            let first = diagnostics.iter().next().map(|diagnostic| diagnostic.error.clone());
            Err(first.unwrap_or_else(|| {
                self.fault("is not decompiled by itself")
                    .hint("it is part of the C of the functions that call it")
            }))
        })
    }

    /// Returns the C of a function of a cubin, after the definitions that it needs.
    fn c_source(&self, cubin: &Cubin<'_>, index: Option<u32>, decompiled: &Decompiled) -> Source {
        let section = cubin.functions().find(|one| Some(one.index) == index).and_then(|one| one.section);
        let base = section.and_then(|section| cubin.elf().bytes(&section).ok()).map(|bytes| bytes.base());
        let size = sass_listing::instruction_set(cubin).map_or(8, |isa| isa.word_bytes as u64);
        let text = decompiled.text();
        let definitions = text.lines().count().saturating_sub(decompiled.lines.len());
        let mut ranges = vec![Vec::new(); definitions];
        ranges.extend(
            decompiled
                .lines
                .iter()
                .map(|line| base.map_or_else(Vec::new, |base| words(&line.addresses, base, size))),
        );
        let count = decompiled.unlifted;
        let shown = if count == 1 { "1 operation".to_owned() } else { format!("{count} operations") };
        let unknown = (count > 0).then_some(shown.as_str());
        let file = SourceText { path: format!("{}.cu", self.name()), text, ranges };
        Source::decompiled(file, unknown.into_iter().collect())
    }

    fn is_shader(&self) -> bool {
        matches!(self.program.format(), Format::DxContainer | Format::Direct3d9)
    }

    /// Decompiles a shader, or a function of a library of shaders.
    fn shader_source(&self) -> Result<Source> {
        let (data, base) = (self.program.bytes(), self.program.offset().unwrap_or(0));
        let (hlsl, bytes) = if self.program.format() == Format::Direct3d9 {
            (hlsl::direct3d9(data)?, InstructionBytes::of_direct3d9(data, base)?)
        } else {
            let container = Container::parse_at(data, base)?;
            let wanted = |index: usize, _: &str| u32::try_from(index) == Ok(self.index());
            (hlsl::container(&container, &wanted)?, InstructionBytes::of_container(&container)?)
        };
        let (path, ranges) = (format!("{}.hlsl", self.name()), bytes.of_lines(&hlsl));
        Ok(Source::decompiled(SourceText { path, text: hlsl.text(), ranges }, hlsl.unknown_kinds()))
    }

    /// Decompiles a function of an AIR module, or the module of a function of a library.
    fn module_source(&self, groups: &[ModuleGroup<'_>]) -> Result<Source> {
        // Bitcode has one group; a universal file has one per library.
        let group = if groups.len() > 1 { groups.get(self.library) } else { groups.first() };
        let units = group.map(|group| group.units.as_slice()).unwrap_or_default();
        let is_own = |unit: &&Unit<'_>| match unit {
            Unit::Function { function, .. } => function.index == self.index(),
            Unit::Part(_) => false,
            Unit::File { .. } => true,
        };
        let unit = units.iter().find(is_own).ok_or_else(|| self.no_source())?;
        let (module, only) = match unit {
            Unit::File { bytes, base, .. } => match numbered(bytes, *base, self.index())? {
                Some((module, index)) => (module, Some(index)),
                None => return Err(self.no_source()),
            },
            Unit::Function { .. } | Unit::Part(_) => (unit.open()?.into_owned(), None),
        };
        if !air::is_air(&module) {
            return Err(self.no_source());
        }
        let metal = msl::module(&module, &|index, _| only.is_none_or(|only| only == index));
        if metal.functions.is_empty() {
            return Err(self.fault("it has no code"));
        }
        let ranges = InstructionBytes::of_module(&module).of_metal(&metal);
        let path = format!("{}.metal", self.name());
        Ok(Source::decompiled(SourceText { path, text: metal.text(), ranges }, metal.unknown_kinds()))
    }

    /// Returns the files that the program carries for the function, if there are some.
    fn embedded_source(&self, program: &dyn Program) -> Result<Option<Source>> {
        let mut diagnostics = Diagnostics::new();
        let (mut files, mut size) = (Vec::new(), 0_usize);
        // The libraries of a universal file all have a function of this index.
        let prefix = if self.slice.is_empty() { String::new() } else { format!("{}/", self.slice) };
        let _ = program.extract(&self.selection(), &[ExtractKind::Source], &mut diagnostics, &mut |one| {
            let Some(path) = one.path.strip_prefix(&prefix) else { return ControlFlow::Continue(()) };
            size = size.saturating_add(one.data.len());
            if size > MAX_SOURCE {
                return ControlFlow::Break(());
            }
            let path = path.strip_prefix("sources/").unwrap_or(path).to_owned();
            let text = String::from_utf8_lossy(one.data).into_owned();
            files.push(SourceText { path, text, ranges: Vec::new() });
            ControlFlow::Continue(())
        });
        if size > MAX_SOURCE {
            let error = Error::without_offset(ErrorKind::Limit, "its sources unpack to too much");
            return Err(error.expected(format!("at most {MAX_SOURCE} bytes")).within(self.label()));
        }
        if files.is_empty() {
            return Ok(None);
        }
        Ok(Some(Source { origin: SourceOrigin::Embedded, files, unknown: Vec::new() }))
    }

    /// Says that there is no source, and why.
    fn no_source(&self) -> Error {
        let reason = refusal(format_of(&self.program.0.find), Verb::Decompile);
        self.fault("the program carries no source").hint(reason.unwrap_or("it is no code that is decompiled"))
    }
}
