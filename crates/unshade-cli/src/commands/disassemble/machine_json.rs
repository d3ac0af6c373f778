//! `unshade dis --json`: NVIDIA machine code as data, instruction by instruction.

use super::code::{Opened, Request, each_code};
use super::json_stream::JsonStream;
use super::nvidia::each_machine_code;
use super::writer::Writer;
use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::Input;
use anyhow::{Result, bail};
use rayon::prelude::*;
use unshade::core::Diagnostics;
use unshade::nv::function::Function;
use unshade::program::{Code, Verb};
use unshade::sass_code::lives;
use unshade::select::Selection;
use unshade::view::sass::SassFunctionView;

/// So many functions are worked on before what came of them is written.
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
        let Code::Machine(nvidia) = code else { return Ok(()) };
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
