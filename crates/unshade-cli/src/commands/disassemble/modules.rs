//! The modules that are meant: those of the functions of a library, of a part of a DXContainer, or a bitcode file by
//! itself.

use super::super::ProgramJson;
use crate::input::Input;
use crate::paint;
use crate::progress::Progress;
use anyhow::Result;
use rayon::prelude::*;
use unshade::carve::{Find, Limits};
use unshade::core::{Diagnostics, FourCc};
use unshade::disassembly::{self, TokenSource, Unit};
use unshade::dxcontainer::Container;
use unshade::format::Format;
use unshade::fx_listing;
use unshade::llvm::{self, bitstream};
use unshade::program::Program;
use unshade::select::Selection;

/// So many modules are worked on before what came of them is written.
const BATCH: usize = 256;

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
    /// A token program, or a container with some.
    pub(super) token_program: Option<TokenSource<'a>>,
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

/// Visits every program of an input, and prints what is odd about the file. A bitcode file counts as one, with one
/// module.
pub(super) fn each_program(
    input: &Input,
    selection: &Selection,
    part: Option<FourCc>,
    limits: &Limits,
    visit: impl FnMut(Opened<'_>) -> Result<()>,
) -> Result<Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let result = each_program_untold(input, selection, part, limits, &mut diagnostics, visit);
    for diagnostic in &diagnostics {
        anstream::eprintln!("{}", paint::diagnostic(&input.name, diagnostic));
    }
    result.map(|()| diagnostics)
}

/// Opens a stream of bitcode with all its modules.
fn bitcode<'a>(head: ProgramJson, name: &'a str, bytes: &'a [u8]) -> Opened<'a> {
    let count = llvm::Module::parse_all(bytes, 0).map_or(1, |modules| modules.len().max(1));
    let units = (0..count).map(|index| Unit::File { name, bytes, index, count }).collect();
    Opened {
        head,
        libraries: vec![Units { slice: String::new(), units }],
        diagnostics: Diagnostics::new(),
        is_unread: false,
        nvidia: None,
        token_program: None,
    }
}

/// The same; what is odd about the file goes to `diagnostics`.
pub(super) fn each_program_untold(
    input: &Input,
    selection: &Selection,
    part: Option<FourCc>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
    mut visit: impl FnMut(Opened<'_>) -> Result<()>,
) -> Result<()> {
    if is_bitcode(input) {
        let bytes = input.bytes();
        let head = ProgramJson::of_bitcode(&input.name, bytes.len() as u64);
        return visit(bitcode(head, &input.name, bytes));
    }
    input.each_program_untold(limits, diagnostics, |find| {
        let mut diagnostics = Diagnostics::new();
        if find.format == Format::Bitcode {
            return visit(bitcode(ProgramJson::new(find), &find.path.to_string(), find.data));
        }
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
        if let Some(Program::Direct3d9(data)) = program {
            return visit(Opened {
                head: ProgramJson::new(find),
                libraries: Vec::new(),
                diagnostics,
                is_unread: false,
                nvidia: None,
                token_program: Some(TokenSource::Direct3d9(data)),
            });
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
    let has_tokens = disassembly::has_token_program(&container) || fx_listing::effect(&container).is_some();
    if part.is_none() && !has_module && has_tokens {
        let token_program = Some(TokenSource::Container(container));
        return Opened {
            head: ProgramJson::new(find),
            libraries: Vec::new(),
            diagnostics,
            is_unread: false,
            nvidia: None,
            token_program,
        };
    }
    let found = disassembly::program_parts(&container, part, &find.path.to_string(), &mut diagnostics);
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
