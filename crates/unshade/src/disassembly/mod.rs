//! Listings of what was compiled: the text of a module or token program with what belongs around it.
//!
//! | module | thing |
//! |---|---|
//! | `unit` | a module, and where it comes from |
//! | `parts` | the modules in the parts of a DXContainer |
//!
//! NVIDIA's machine code is listed by [`crate::sass_listing`].

mod parts;
mod unit;

pub use parts::{ProgramPart, program_parts};
pub use unit::Unit;

use crate::select::Selection;
use crate::{
    DemangledComments, dxbc_debug, dxbc_names, dxc_tables, fx_listing, fxc_listing, has_mangled_names,
};
use std::ops::Range;
use unshade_core::{Diagnostics, Reader, Result, TokenKind, TokenSink};
use unshade_dxbc::control_flow::ControlFlow;
use unshade_dxbc::d3d9::{self, Level9};
use unshade_dxbc::decode;
use unshade_dxbc::print::{Options, print, print_instruction};
use unshade_dxcontainer::Container;
use unshade_llvm::Module;
use unshade_llvm::print::{Dialect, PrintOptions, function, module};

/// How a module is printed.
#[derive(Clone, Copy, Debug)]
pub struct ModuleOptions {
    /// Whose text it is.
    pub dialect: Dialect,
    /// The text of that tool and nothing else: no heading, no meanings of names.
    pub raw: bool,
}

/// Prints a unit's module: under a heading, for the part of a container also under the tables that DXC prints.
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
    // DXC reads a container, and has no name for its module.
    let is_dxc = dialect == Dialect::Dxc && matches!(unit, Unit::Part(_));
    let name = (raw && !is_dxc).then(|| unit.name());
    let options = PrintOptions { dialect, module_id: name.as_deref() };
    diagnostics.append(if !raw && has_mangled_names(parsed) {
        // Through a pointer: looking names up takes longer than that, and the printer need not be there once more.
        let mut explained = DemangledComments::new(sink);
        let mut sink: &mut dyn TokenSink = &mut explained;
        module(parsed, &options, &mut sink)
    } else {
        module(parsed, &options, sink)
    });
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
        if !selection.matches_name(unit.index_of(at), &one.symbol.name) {
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

/// What holds token programs.
#[derive(Clone, Debug)]
pub enum TokenSource<'a> {
    /// A container, perhaps of functions of a library.
    Container(Container<'a>),
    /// A program of Shader Model 1 to 3 by itself.
    Direct3d9(Reader<'a>),
}

/// A token program.
#[derive(Clone, Debug)]
pub enum TokenProgram {
    /// Of Shader Model 4 to 5.1.
    Direct3d10(unshade_dxbc::Program),
    /// Of Shader Model 1 to 3.
    Direct3d9(d3d9::Program),
}

impl TokenProgram {
    /// Its blocks, and how they follow each other.
    pub fn control_flow(&self) -> ControlFlow {
        match self {
            Self::Direct3d10(program) => ControlFlow::of(program),
            Self::Direct3d9(program) => ControlFlow::of_d3d9(program),
        }
    }

    /// How many instructions it has, declarations and comments included.
    pub fn len(&self) -> usize {
        match self {
            Self::Direct3d10(program) => program.instructions.len(),
            Self::Direct3d9(program) => program.instructions.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The target profile, such as `ps_5_0`.
    pub fn profile(&self) -> String {
        match self {
            Self::Direct3d10(program) => {
                let (major, minor) = program.version.model();
                format!("{}_{major}_{minor}", program.version.kind_name().unwrap_or("unknown"))
            }
            Self::Direct3d9(program) => program.version.to_string(),
        }
    }

    /// The lines of a block, without indentation; comments of a program of Shader Model 1 to 3 have none.
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

/// Prints the token programs of a container, or with `raw` what FXC's disassembler writes of it.
///
/// # Errors
/// There is no token program, or it can't be read.
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
    // An effect is not assembled again: there is one text of it.
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

/// Prints a program of Shader Model 1 to 3 with names of constants, source lines and variables, as far as it has them.
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

/// The token programs that are meant, with their paths: those for feature level 9 before the others.
///
/// # Errors
/// One can't be read.
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

/// The containers whose programs are meant: the container, or those of a library's functions.
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
