//! `unshade dis --json`: prints listings as data, machine code by instruction and other code by line.

use super::code::{Opened, Request, each_code, in_batches};
use super::json_stream::JsonStream;
use super::nvidia::each_machine_code;
use super::writer::Writer;
use super::{print_unit, token_programs};
use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::Input;
use anyhow::{Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use unshade::core::Diagnostics;
use unshade::disassembly::Unit;
use unshade::nv::function::Function;
use unshade::program::{Code, Verb};
use unshade::sass_code::lives;
use unshade::select::Selection;
use unshade::view::sass::SassFunctionView;

/// A listing: its title and its lines.
#[derive(Serialize)]
struct ListingJson {
    name: String,
    lines: Vec<String>,
}

impl ListingJson {
    fn new(name: &str, text: &[u8]) -> Self {
        let lines = String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
        Self { name: name.to_owned(), lines }
    }
}

/// Maximum number of functions that are processed before their results are written.
const BATCH: usize = 16;

pub(super) fn run(
    input: &Input,
    selection: &Selection,
    args: &DisassembleArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let mut writer = Writer::new(args, ".json", false)?;
    if writer.has_folder() {
        bail!("JSON of machine code is one file: -o takes a name with an extension");
    }
    let mut whole = JsonStream::new(input)?;
    let limits = global.limits();
    let request = Request { verb: Verb::CodeAsJson, selection, args, limits: &limits };
    let carving = each_code(input, request, |program| {
        let Opened { head, code, mut diagnostics } = program;
        let nvidia = match &code {
            Code::Machine(nvidia) => nvidia,
            Code::Modules(groups) => {
                let print = |unit: &Unit<'_>| print_unit(unit, selection, args, false);
                for group in groups {
                    in_batches(&group.units, "disassembling", print, |unit, text| {
                        let Some(text) = writer.take(&head.path, unit, text) else { return Ok(()) };
                        let listing = ListingJson::new(&unit.name(), text.as_bytes());
                        writer.add_counted(&whole.functions(&head, &group.slice, &[listing])?)
                    })?;
                    writer.add(whole.end_library())?;
                }
                return writer.add(&whole.end_program(&diagnostics)?);
            }
            Code::Tokens(source) => {
                let text = token_programs::text(&head.path, source, args, false, &mut diagnostics);
                if let Some(text) = diagnostics.take("dxbc-program", text) {
                    let listing = ListingJson::new(&head.path, text.as_bytes());
                    writer.add_counted(&whole.functions(&head, "", &[listing])?)?;
                }
                writer.add(whole.end_library())?;
                return writer.add(&whole.end_program(&diagnostics)?);
            }
            Code::Unread => {
                writer.note_unread();
                return Ok(());
            }
        };
        each_machine_code(nvidia, &mut diagnostics, |code, diagnostics| {
            let slice = format!("sm_{}", code.cubin().arch());
            let wanted = |function: &Function<'_>| selection.matches_name(function.index, function.name());
            for section in code.sections(&wanted, diagnostics) {
                let rows = if args.live.is_some() { lives(code, &section) } else { Vec::new() };
                let numbered: Vec<_> =
                    section.iter().enumerate().filter(|(_, function)| wanted(&function.function)).collect();
                for batch in numbered.chunks(BATCH) {
                    let describe = |(place, function): &(usize, &_)| {
                        let mut diagnostics = Diagnostics::new();
                        let rows = rows.get(*place).map(Vec::as_slice);
                        (SassFunctionView::new(function, rows, &mut diagnostics), diagnostics)
                    };
                    let described: Vec<_> = batch.par_iter().map(describe).collect();
                    for (view, faults) in described {
                        diagnostics.append(faults);
                        writer.add_counted(&whole.functions(&head, &slice, &[view])?)?;
                    }
                }
            }
            writer.add(whole.end_library())
        })?;
        writer.add(&whole.end_program(&diagnostics)?)
    })?;
    writer.add(&whole.end(&carving)?)?;
    writer.finish(input, selection)
}
