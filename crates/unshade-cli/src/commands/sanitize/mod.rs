//! `unshade sanitize`: runs a kernel of a cubin in the emulator and finds its faults.

mod json;
mod source;
mod text;

use super::run::launch::Launch;
use crate::Outcome;
use crate::args::{GlobalArgs, SanitizeArgs, SanitizeTool};
use crate::output::Stdout;
use crate::paint;
use anyhow::Result;
use source::SourceLines;
use unshade::program::Verb;
use unshade_emulate::sanitize::{Options, Tool};

/// The tools by the names of the command line.
const TOOLS: &[(SanitizeTool, Tool)] = &[
    (SanitizeTool::Memcheck, Tool::Memory),
    (SanitizeTool::Racecheck, Tool::Races),
    (SanitizeTool::Initcheck, Tool::Init),
    (SanitizeTool::Synccheck, Tool::Sync),
];

pub(crate) fn run(args: &SanitizeArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut launch = Launch::new(&args.launch, Verb::Sanitize, global)?;
    let is_wanted = |tool: &SanitizeTool| args.tool.is_empty() || args.tool.contains(tool);
    let tools = TOOLS.iter().filter(|(name, _)| is_wanted(name)).map(|(_, tool)| *tool).collect();
    let options = Options { tools, limit: args.limit };
    let Launch { device, module, kernel, grid, arguments, limits, .. } = &mut launch;
    let report = match module.sanitize(device, kernel, *grid, arguments, *limits, &options) {
        Ok(report) => report,
        Err(fault) => {
            anstream::eprintln!("{}: {fault}", paint::error("unshade"));
            return Ok(Outcome::Finding);
        }
    };
    let printed = device.take_printed();
    let lines = SourceLines::new(&launch.cubin, !report.findings.is_empty());
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    if global.json {
        json::print(&launch.kernel, &report, &printed, &lines, &mut stdout)?;
    } else {
        text::print(&launch.kernel, &report, &printed, &lines, &mut stdout)?;
    }
    stdout.finish()?;
    let is_clean = report.findings.is_empty() && report.omitted == 0;
    Ok(if is_clean { Outcome::Done } else { Outcome::Finding })
}
