//! Lists modules and token programs, with headings and tables.
//!
//! | module | contents |
//! |---|---|
//! | `unit` | a module and its origin |
//! | `parts` | finds the modules in the parts of a DXContainer |
//!
//! [`crate::sass_listing`] lists NVIDIA machine code.

mod parts;
mod unit;

pub use parts::{ProgramPart, program_parts};
pub use unit::Unit;

use crate::select::Selection;
use crate::{
    DemangledComments, dxbc_debug, dxbc_names, dxc_tables, fx_listing, fxc_listing, has_mangled_names,
};
use std::cell::RefCell;
use std::ops::Range;
use unshade_core::{Diagnostics, Reader, Result, TokenKind, TokenSink};
use unshade_dxbc::control_flow::ControlFlow;
use unshade_dxbc::d3d9::{self, Level9};
use unshade_dxbc::decode;
use unshade_dxbc::print::{Options, print, print_instruction};
use unshade_dxbc::subroutines::{self, Subroutine};
use unshade_dxcontainer::Container;
use unshade_llvm::Module;
use unshade_llvm::print::{Dialect, PrintMemory, PrintOptions, function, module_with};

thread_local! {
    /// The memory of the printer of each thread, for the next of a library's modules.
    static MEMORY: RefCell<PrintMemory> = RefCell::default();
}

/// Options for printing a module.
#[derive(Clone, Copy, Debug)]
pub struct ModuleOptions {
    /// Dialect of the text.
    pub dialect: Dialect,
    /// Prints exactly that tool's text: no heading, no demangled names.
    pub raw: bool,
}

/// Prints a unit's module after a heading; for the part of a container also after the tables that DXC prints.
pub fn print_module(
    unit: &Unit<'_>,
    parsed: &Module<'_>,
    options: ModuleOptions,
    sink: &mut impl TokenSink,
) -> Diagnostics {
    let ModuleOptions { dialect, raw } = options;
    let mut diagnostics = Diagnostics::new();
    if !raw {
        sink.put(TokenKind::Comment, &unit.heading());
    }
    if let Unit::Part(part) = unit
        && (dialect == Dialect::Dxc || !raw)
    {
        diagnostics.append(dxc_tables::put(&part.container, parsed, part.bitcode.base(), sink));
    }
    // DXC reads a container, so its module has no name.
    let is_dxc = dialect == Dialect::Dxc && matches!(unit, Unit::Part(_));
    let name = (raw && !is_dxc).then(|| unit.module_id());
    let options = PrintOptions { dialect, module_id: name.as_deref() };
    let mut memory = MEMORY.take();
    diagnostics.append(if !raw && has_mangled_names(parsed) {
        // Dynamic dispatch costs less than looking names up, and avoids another copy of the printer.
        let mut explained = DemangledComments::new(sink);
        let mut sink: &mut dyn TokenSink = &mut explained;
        module_with(parsed, &options, &mut sink, &mut memory)
    } else {
        module_with(parsed, &options, sink, &mut memory)
    });
    MEMORY.set(memory);
    diagnostics
}

/// Prints the selected functions of a unit's module, each as in the text of the whole module. Globals, attribute groups and
/// metadata are left out. Returns what could not be read, and how many functions were printed.
pub fn print_functions(
    unit: &Unit<'_>,
    parsed: &Module<'_>,
    options: ModuleOptions,
    selection: &Selection,
    sink: &mut dyn TokenSink,
) -> (Diagnostics, usize) {
    let mut diagnostics = Diagnostics::new();
    let mut count = 0;
    let print_options = PrintOptions { dialect: options.dialect, module_id: None };
    for (at, one) in parsed.functions.iter().enumerate() {
        if !selection.matches_name(unit.index_of(at, &one.symbol.name), &one.symbol.name) {
            continue;
        }
        if count > 0 {
            sink.put(TokenKind::Space, "\n");
        }
        let printed = if !options.raw && has_mangled_names(parsed) {
            let mut inner: &mut dyn TokenSink = &mut *sink;
            let mut explained = DemangledComments::new(&mut inner);
            let mut sink: &mut dyn TokenSink = &mut explained;
            function(parsed, at, &print_options, &mut sink)
        } else {
            let mut sink = &mut *sink;
            function(parsed, at, &print_options, &mut sink)
        };
        if let Some(printed) = diagnostics.take("llvm-function", printed) {
            diagnostics.append(printed);
            count += 1;
        }
    }
    (diagnostics, count)
}

/// Whether a container has a token program, or is a library of such.
pub fn has_token_program(container: &Container<'_>) -> bool {
    fxc_listing::token_program(container).is_some() || container.find(b"LIBH").is_some()
}

/// A source of token programs.
#[derive(Clone, Debug)]
pub enum TokenSource<'a> {
    /// A container, which may be a library of functions.
    Container(Container<'a>),
    /// A bare program of Shader Model 1 to 3.
    Direct3d9(Reader<'a>),
}

/// A token program.
#[derive(Clone, Debug)]
pub enum TokenProgram {
    /// Shader Model 4 to 5.1.
    Direct3d10(unshade_dxbc::Program),
    /// Shader Model 1 to 3.
    Direct3d9(d3d9::Program),
}

impl TokenProgram {
    /// Returns its control-flow graph.
    pub fn control_flow(&self) -> ControlFlow {
        match self {
            Self::Direct3d10(program) => ControlFlow::of(program),
            Self::Direct3d9(program) => ControlFlow::of_d3d9(program),
        }
    }

    /// Returns the number of instructions, including declarations and comments.
    pub fn len(&self) -> usize {
        match self {
            Self::Direct3d10(program) => program.instructions.len(),
            Self::Direct3d9(program) => program.instructions.len(),
        }
    }

    /// Returns the number of instructions without declarations and comments.
    pub fn instruction_count(&self) -> u32 {
        match self {
            Self::Direct3d10(program) => unshade_dxbc::statistics::Statistics::of(program).instructions(),
            Self::Direct3d9(program) => d3d9::statistics::Statistics::of(program).instructions,
        }
    }

    /// Returns whether it has no instructions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the main program and the subroutines, with their calls.
    pub fn subroutines(&self) -> Vec<Subroutine> {
        match self {
            Self::Direct3d10(program) => subroutines::of(program),
            Self::Direct3d9(program) => subroutines::of_d3d9(program),
        }
    }

    /// Returns the target profile, such as `ps_5_0`.
    pub fn profile(&self) -> String {
        match self {
            Self::Direct3d10(program) => {
                let (major, minor) = program.version.model();
                format!("{}_{major}_{minor}", program.version.kind_name().unwrap_or("unknown"))
            }
            Self::Direct3d9(program) => program.version.to_string(),
        }
    }

    /// Returns the lines of a block, without indentation and, for Shader Model 1 to 3, without comments.
    pub fn lines(&self, block: &Range<usize>) -> Vec<String> {
        let line = |write: &dyn Fn(&mut String)| {
            let mut line = String::new();
            write(&mut line);
            line.trim_end().to_owned()
        };
        match self {
            Self::Direct3d10(program) => {
                let inside = program.instructions.get(block.clone()).unwrap_or_default();
                let text =
                    |one| line(&|out| print_instruction(program.version, one, Options::default(), out));
                inside.iter().map(text).collect()
            }
            Self::Direct3d9(program) => {
                let inside = program.instructions.get(block.clone()).unwrap_or_default();
                let options = d3d9::print::Options::default;
                let shown = inside.iter().filter(|one| one.opcode() != d3d9::opcode::Opcode::COMMENT);
                let text =
                    |one| line(&|out| d3d9::print::print_instruction(program.version, one, options(), out));
                shown.map(text).collect()
            }
        }
    }
}

/// Prints the token programs of a container; with `raw`, as FXC's disassembler does.
///
/// # Errors
/// If there is no token program, or it can't be read.
pub fn token_program(
    path: &str,
    source: &TokenSource<'_>,
    raw: bool,
    sink: &mut dyn TokenSink,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    let container = match source {
        TokenSource::Container(container) => container,
        TokenSource::Direct3d9(data) => {
            let program = d3d9::decode(*data, diagnostics)?;
            if raw {
                d3d9::listing::print_fxc(&program, data.offset(), sink, diagnostics);
            } else {
                print_d3d9(&program, data.offset(), sink, diagnostics);
            }
            return Ok(());
        }
    };
    // Effects can't be assembled, so they have only FXC's format.
    if raw || fx_listing::effect(container).is_some() {
        return fxc_listing::print_fxc(container, sink, diagnostics);
    }
    for (path, container) in containers(path, container) {
        for part in fxc_listing::level9_programs(&container) {
            let level9 = Level9::read(part.data).map_err(|error| error.within(part.label()))?;
            let program = level9.program(part.data, diagnostics)?;
            let code = level9.code(part.data)?;
            sink.put(TokenKind::Comment, &format!("// part {} of {path}\n", part.name));
            print_d3d9(&program, code.offset(), sink, diagnostics);
        }
        let Some(part) = fxc_listing::token_program(&container) else { continue };
        let program = decode(part.data, diagnostics).map_err(|error| error.within(part.label()))?;
        sink.put(TokenKind::Comment, &format!("// part {} of {path}\n", part.name));
        let names = dxbc_names::Names::of(&container, &program);
        let name = |instruction: &_, operand| names.operand(instruction, operand);
        let options = Options::default();
        let notes = dxbc_debug::notes(&container, || &program, options.dialect, diagnostics);
        let options =
            Options { names: Some(&name), notes: Some(&notes), offset: part.data.offset(), ..options };
        print(&program, options, sink);
    }
    Ok(())
}

/// Prints a program of Shader Model 1 to 3, with names of constants, source lines and variables if it has them.
fn print_d3d9(program: &d3d9::Program, offset: u64, sink: &mut dyn TokenSink, diagnostics: &mut Diagnostics) {
    let constants = d3d9::ConstantTable::of(program);
    let constants = constants.and_then(|table| diagnostics.take("dxbc-legacy-constants", table));
    let debug = d3d9::DebugInfo::of(program);
    let options = d3d9::print::Options {
        constants: constants.as_ref(),
        debug: debug.as_ref(),
        offset,
        ..d3d9::print::Options::default()
    };
    d3d9::print::print(program, options, sink);
}

/// Returns the token programs of a source with their paths; those for feature level 9 come first.
///
/// # Errors
/// If one can't be read.
pub fn token_programs(
    path: &str,
    source: &TokenSource<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<(String, TokenProgram)>> {
    let container = match source {
        TokenSource::Container(container) => container,
        TokenSource::Direct3d9(data) => {
            let program = d3d9::decode(*data, diagnostics)?;
            return Ok(vec![(path.to_owned(), TokenProgram::Direct3d9(program))]);
        }
    };
    let mut programs = Vec::new();
    for (path, container) in containers(path, container) {
        for part in fxc_listing::level9_programs(&container) {
            let level9 = Level9::read(part.data).map_err(|error| error.within(part.label()))?;
            let program = level9.program(part.data, diagnostics)?;
            let path = format!("{path}!{}#{}", part.name, part.index);
            programs.push((path, TokenProgram::Direct3d9(program)));
        }
        if let Some(part) = fxc_listing::token_program(&container) {
            programs.push((path, TokenProgram::Direct3d10(decode(part.data, diagnostics)?)));
        }
    }
    Ok(programs)
}

/// Returns the containers with programs: the container itself, or those of a library's functions.
fn containers<'a>(path: &str, container: &Container<'a>) -> Vec<(String, Container<'a>)> {
    if fxc_listing::token_program(container).is_some() {
        return vec![(path.to_owned(), container.clone())];
    }
    let functions = container.found_parts().filter(|part| part.name.0 == *b"LIBF");
    let inner = functions.filter_map(|part| {
        let inner = Container::read(part.data).ok()?;
        Some((format!("{path}!{}#{}", part.name, part.index), inner))
    });
    inner.collect()
}
