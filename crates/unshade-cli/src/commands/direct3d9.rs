//! Views of programs of Shader Model 1 to 3 outside of a container.

use crate::output::Stdout;
use crate::paint::{faint, name};
use anyhow::Result;
use std::io::Write;
use unshade::carve::Find;
use unshade::core::Diagnostics;
use unshade::program::Program;
use unshade::view::Direct3d9View;

/// Returns the view of a program in one of these formats.
pub(crate) fn view(find: &Find<'_>, diagnostics: &mut Diagnostics) -> Option<Direct3d9View> {
    match Program::open(find) {
        Ok(Program::Direct3d9(data)) => {
            let view = Direct3d9View::new(data, diagnostics);
            diagnostics.take("dxbc-legacy-tokens", view)
        }
        _ => None,
    }
}

/// Returns the profile and the compiler.
pub(crate) fn summary(view: &Direct3d9View) -> String {
    match &view.compiler {
        Some(compiler) => format!("{} · {compiler}", view.profile),
        None => view.profile.clone(),
    }
}

/// Returns the facts for the top of a report.
pub(crate) fn print_facts(view: &Direct3d9View, stdout: &mut Stdout) -> Result<()> {
    let mut fact = |label: &str, text: &str| writeln!(stdout, "  {} {text}", faint(format!("{label:<11}")));
    let slots = format!(
        "{}, {} slots of arithmetic, {} of textures",
        view.instructions, view.arithmetic_slots, view.texture_slots
    );
    fact("instructions", &slots)?;
    if !view.constants.is_empty() {
        fact("constants", &view.constants.len().to_string())?;
    }
    for source in &view.sources {
        fact("source", source)?;
    }
    Ok(())
}

/// Returns one row per constant.
pub(crate) fn print_list(view: &Direct3d9View, stdout: &mut Stdout) -> Result<()> {
    writeln!(stdout, "{}", faint("registers  type                  name"))?;
    for constant in &view.constants {
        let shown = name(&constant.name);
        writeln!(stdout, "{:<10} {:<21} {shown}", constant.registers, constant.data_type)?;
    }
    Ok(())
}
