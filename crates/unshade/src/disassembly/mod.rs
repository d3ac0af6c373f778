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

use crate::{DemangledComments, dxbc_names, dxc_tables, fxc_listing, has_mangled_names};
use unshade_core::{Diagnostics, Result, TokenKind, TokenSink};
use unshade_dxbc::decode;
use unshade_dxbc::print::{Options, print};
use unshade_dxcontainer::Container;
use unshade_llvm::Module;
use unshade_llvm::print::{Dialect, PrintOptions, module};

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
        module(parsed, &options, &mut DemangledComments::new(sink))
    } else {
        module(parsed, &options, sink)
    });
    diagnostics
}

/// Whether a container has a token program, or is a library of such.
pub fn has_token_program(container: &Container<'_>) -> bool {
    fxc_listing::token_program(container).is_some() || container.find(b"LIBH").is_some()
}

/// Prints the token programs of a container, or with `raw` what FXC's disassembler writes of it.
///
/// # Errors
/// There is no token program, or it can't be read.
pub fn token_program(
    path: &str,
    container: &Container<'_>,
    raw: bool,
    sink: &mut dyn TokenSink,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    if raw {
        return fxc_listing::print_fxc(container, sink, diagnostics);
    }
    for (path, container) in token_programs(path, container) {
        let Some(part) = fxc_listing::token_program(&container) else { continue };
        let program = decode(part.data, diagnostics).map_err(|error| error.within(part.label()))?;
        sink.put(TokenKind::Comment, &format!("// part {} of {path}\n", part.name));
        let names = dxbc_names::Names::of(&container, &program);
        let name = |instruction: &_, operand| names.operand(instruction, operand);
        print(
            &program,
            Options { names: Some(&name), offset: part.data.offset(), ..Options::default() },
            sink,
        );
    }
    Ok(())
}

/// The containers whose programs are meant: the container, or those of a library's functions.
pub fn token_programs<'a>(path: &str, container: &Container<'a>) -> Vec<(String, Container<'a>)> {
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
