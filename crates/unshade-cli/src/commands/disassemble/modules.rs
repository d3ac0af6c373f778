//! The modules that are meant: those of the functions of a library, of a part of a DXContainer, or a bitcode file by
//! itself.

use super::super::ProgramJson;
use super::parts::{self, ProgramPart};
use super::token_programs;
use crate::args::DialectArg;
use crate::input::Input;
use crate::paint;
use crate::progress::Progress;
use anyhow::Result;
use rayon::prelude::*;
use unshade::carve::{Find, Limits};
use unshade::core::{Diagnostics, Error, ErrorKind, Escaped, FourCc};
use unshade::dxcontainer::Container;
use unshade::llvm::{self, bitstream};
use unshade::metallib::{Function, Library};
use unshade::program::Program;
use unshade::select::Selection;
use unshade::view::FunctionView;

/// So many modules are worked on before what came of them is written.
const BATCH: usize = 256;

/// A module, and where it comes from.
pub(super) enum Unit<'a> {
    /// That of a function.
    Function {
        /// The library.
        library: &'a Library<'a>,
        /// Which of its functions.
        function: Function<'a>,
    },
    /// That of a part of a DXContainer.
    Part(ProgramPart<'a>),
    /// A file that is bitcode and nothing else.
    File {
        /// What the file is called.
        name: &'a str,
        /// Its bytes.
        bytes: &'a [u8],
        /// Which of its modules.
        index: usize,
        /// How many it has, mostly one.
        count: usize,
    },
}

impl<'a> Unit<'a> {
    /// What it is called in the names of files and in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Function { function, .. } => match function.name {
                Some(name) => Escaped(name).to_string(),
                None => format!("function-{}", function.index),
            },
            Self::Part(part) => part.label.clone(),
            Self::File { name, count: 1, .. } => (*name).to_owned(),
            Self::File { name, index, .. } => format!("{name}#{index}"),
        }
    }

    /// Its bytes, and where they stand in the file.
    pub(super) fn bytes(&self) -> unshade::core::Result<(&'a [u8], u64)> {
        match self {
            Self::Function { library, function } => match library.module(function)? {
                Some(module) => Ok((module.bytes(), module.range().start)),
                None => Err(self.within(Error::new(
                    ErrorKind::BadValue,
                    function.range.start,
                    "the function has no module",
                ))),
            },
            Self::Part(part) => Ok((part.bitcode.data(), part.bitcode.base())),
            Self::File { bytes, .. } => Ok((bytes, 0)),
        }
    }

    /// The module, without its bodies.
    pub(super) fn open(&self) -> unshade::core::Result<llvm::Module<'a>> {
        let (bytes, offset) = self.bytes()?;
        let index = if let Self::File { index, .. } = self { *index } else { 0 };
        let module =
            llvm::Module::parse_all(bytes, offset).and_then(|mut modules| modules.nth(index).transpose());
        match module.map_err(|error| self.within(error))? {
            Some(module) => Ok(module),
            None => Err(self.within(Error::new(ErrorKind::BadValue, offset, "bitcode without a module"))),
        }
    }

    /// An error in this module.
    fn within(&self, error: Error) -> Error {
        match self {
            Self::Function { function, .. } => error.within(function.label()),
            Self::Part(part) => error.within(format!("part {}", part.name)),
            Self::File { .. } => error,
        }
    }

    /// Whose text is printed, if nothing else is asked for.
    pub(super) fn usual_dialect(&self) -> DialectArg {
        match self {
            Self::Part(_) => DialectArg::Dxc,
            _ => DialectArg::Llvm14,
        }
    }

    /// Comments that say what it is: the declaration, and where that stands in its source.
    pub(super) fn heading(&self) -> String {
        let (library, function) = match self {
            Self::Function { library, function } => (library, function),
            Self::Part(part) => return part.heading(),
            Self::File { count: 1, .. } => return String::new(),
            Self::File { index, count, .. } => return format!("; module {} of {count}\n", index + 1),
        };
        let view = FunctionView::new(library, function);
        let declaration = view.signature.unwrap_or_else(|| {
            format!("{} {}", view.row.kind.as_deref().unwrap_or("function"), view.row.readable_name())
        });
        let mut lines: Vec<String> = declaration.lines().map(str::to_owned).collect();
        if let (Some(line), Some(path)) = (view.metadata.line, &view.metadata.source_path) {
            lines.push(format!("{path}:{line}"));
        }
        lines.iter().map(|line| format!("; {line}\n")).collect()
    }
}

/// Modules of a library, with the name of its slice if it is in a universal file.
pub(super) struct Units<'a> {
    pub(super) slice: String,
    pub(super) units: Vec<Unit<'a>>,
}

/// A program with what is meant of it.
pub(super) struct Opened<'a> {
    pub(super) head: ProgramJson,
    pub(super) libraries: Vec<Units<'a>>,
    pub(super) diagnostics: Diagnostics,
    /// Whether it holds programs that are not read, which was told.
    pub(super) is_unread: bool,
    /// Where it was found, if it is one of NVIDIA's, which have no modules.
    pub(super) nvidia: Option<&'a Find<'a>>,
    /// A container with a token program.
    pub(super) token_program: Option<Container<'a>>,
}

/// Whether an input is bitcode and nothing else.
pub(super) fn is_bitcode(input: &Input) -> bool {
    bitstream::locate(input.bytes(), 0).is_ok()
}

/// Says that nothing was meant.
pub(super) fn tell_no_match(input: &Input) {
    let hint = if is_bitcode(input) { "" } else { "; `unshade list` shows them" };
    anstream::eprintln!("{}: no function matches{hint}", paint::error("unshade"));
}

/// Visits every program of an input. A bitcode file counts as one, with one module.
pub(super) fn each_program(
    input: &Input,
    selection: &Selection,
    part: Option<FourCc>,
    limits: &Limits,
    mut visit: impl FnMut(Opened<'_>) -> Result<()>,
) -> Result<Diagnostics> {
    if is_bitcode(input) {
        let bytes = input.bytes();
        let count = llvm::Module::parse_all(bytes, 0).map_or(1, |modules| modules.len().max(1));
        let units = (0..count).map(|index| Unit::File { name: &input.name, bytes, index, count }).collect();
        visit(Opened {
            head: ProgramJson::of_bitcode(&input.name, bytes.len() as u64),
            libraries: vec![Units { slice: String::new(), units }],
            diagnostics: Diagnostics::new(),
            is_unread: false,
            nvidia: None,
            token_program: None,
        })?;
        return Ok(Diagnostics::new());
    }
    input.each_program(limits, |find| {
        let mut diagnostics = Diagnostics::new();
        if find.format.is_nvidia() {
            let (head, libraries, nvidia) = (ProgramJson::new(find), Vec::new(), Some(find));
            return visit(Opened {
                head,
                libraries,
                diagnostics,
                is_unread: false,
                nvidia,
                token_program: None,
            });
        }
        let program = diagnostics.take("program", Program::open(find));
        if let Some(Program::DxContainer(container)) = program {
            return visit(of_container(find, container, part, diagnostics));
        }
        let named = program.map(|program| program.libraries(&mut diagnostics)).unwrap_or_default();
        let libraries = named.iter().map(|named| {
            let library = &named.library;
            let functions = library.functions().map_while(Result::ok);
            let selected = functions.filter(|function| selection.matches(function));
            let units = selected.map(|function| Unit::Function { library, function }).collect();
            Units { slice: named.slice.clone(), units }
        });
        let libraries = libraries.collect();
        visit(Opened {
            head: ProgramJson::new(find),
            libraries,
            diagnostics,
            is_unread: false,
            nvidia: None,
            token_program: None,
        })
    })
}

fn of_container<'a>(
    find: &Find<'_>,
    container: Container<'a>,
    part: Option<FourCc>,
    mut diagnostics: Diagnostics,
) -> Opened<'a> {
    let has_module = unshade::dxil::main_part(&container).is_some();
    if part.is_none() && !has_module && token_programs::has_one(&container) {
        let token_program = Some(container);
        return Opened {
            head: ProgramJson::new(find),
            libraries: Vec::new(),
            diagnostics,
            is_unread: false,
            nvidia: None,
            token_program,
        };
    }
    let found = parts::find(&container, part, &find.path.to_string(), &mut diagnostics);
    let is_unread = found.is_empty();
    let units = found.into_iter().map(Unit::Part).collect();
    let libraries = vec![Units { slice: String::new(), units }];
    Opened {
        head: ProgramJson::new(find),
        libraries,
        diagnostics,
        is_unread,
        nvidia: None,
        token_program: None,
    }
}

/// Makes something of every module on all processors, and takes what came of them in their order.
pub(super) fn in_batches<T: Send>(
    units: &[Unit<'_>],
    what: &'static str,
    make: impl Fn(&Unit<'_>) -> T + Sync,
    mut take: impl FnMut(&Unit<'_>, T) -> Result<()>,
) -> Result<()> {
    let progress = Progress::new(what, units.len() as u64);
    for batch in units.chunks(BATCH) {
        // One module needs no threads, nor the time to start them.
        let made: Vec<T> =
            if let [unit] = batch { vec![make(unit)] } else { batch.par_iter().map(&make).collect() };
        for (unit, made) in batch.iter().zip(made) {
            progress.advance(1);
            take(unit, made)?;
        }
    }
    Ok(())
}
