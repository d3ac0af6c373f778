//! Metal libraries and AIR modules as Metal.

use super::LineView;
use super::annotate::Known;
use crate::Outcome;
use crate::output::write_file;
use crate::paint;
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use unshade::disassembly::Unit;
use unshade::msl::{self, Metal, MetalFolder};
use unshade::program::ModuleGroup;
use unshade::safe_path::SafePaths;
use unshade::select::Selection;
use unshade::view::distinct_modules;

/// A module as Metal, or why there is none.
pub(super) struct MetalModule {
    /// Where it was found.
    path: String,
    /// The name of its file among those of a folder.
    name: String,
    result: Result<Metal, String>,
}

/// A module in the output of `--json`.
#[derive(Serialize)]
pub(super) struct ModuleView {
    path: String,
    /// The names of its functions with code.
    functions: Vec<String>,
    /// What has no form in Metal.
    unknown: Vec<String>,
    gotos: usize,
    casts: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    lines: Vec<LineView>,
}

/// Decompiles the modules of a program.
pub(super) fn decompile(
    groups: &[ModuleGroup<'_>],
    path: &str,
    selection: &Selection,
    known: &Known,
    modules: &mut Vec<MetalModule>,
) {
    for (unit, _) in groups.iter().flat_map(distinct_modules) {
        let is_library = matches!(unit, Unit::Function { .. });
        let result = unit.open().map_err(|error| error.to_string()).and_then(|module| {
            if !unshade::air::is_air(&module) {
                return Err("the module is LLVM bitcode, but not AIR".to_owned());
            }
            let wanted = |index: usize, name: &str| {
                is_library || selection.matches_name(unit.index_of(index, name.as_bytes()), name.as_bytes())
            };
            let mut metal = msl::module(&module, &wanted);
            known.module(&module, &mut metal);
            Ok(metal)
        });
        // Functions that are not selected leave nothing.
        if result.as_ref().is_ok_and(|metal| metal.functions.is_empty()) && !selection.is_everything() {
            continue;
        }
        let name = unit.name();
        let shown = if is_library { format!("{path}: {name}") } else { path.to_owned() };
        modules.push(MetalModule { path: shown, name, result });
    }
}

/// Prints what has no form in Metal, and which modules could not be decompiled.
pub(super) fn report(modules: &[MetalModule]) -> Outcome {
    let mut outcome = Outcome::Done;
    for module in modules {
        let path = module.path.escape_debug();
        match &module.result {
            Err(fault) => anstream::eprintln!("{}: {path}: {fault}", paint::error("unshade")),
            Ok(metal) if !metal.unknown.is_empty() => {
                let names: Vec<&str> = metal.unknown_kinds().into_iter().collect();
                let count = metal.unknown.len();
                anstream::eprintln!(
                    "{}: {path}: no Metal for {} ({})",
                    paint::error("unshade"),
                    if count == 1 { "1 operation".to_owned() } else { format!("{count} operations") },
                    names.join(", ").escape_debug()
                );
            }
            Ok(_) => continue,
        }
        outcome = outcome.and(Outcome::Finding);
    }
    outcome
}

/// Returns the text of all modules; of several, each below its path.
pub(super) fn text(modules: &[MetalModule], with_addresses: bool) -> String {
    let mut text = String::new();
    for module in modules {
        let Ok(metal) = &module.result else { continue };
        if modules.len() > 1 {
            let start = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{start}// {}", module.path.escape_debug());
        }
        append(&mut text, metal, with_addresses);
    }
    text
}

fn append(text: &mut String, metal: &Metal, with_addresses: bool) {
    for line in &metal.lines {
        let addresses: Vec<String> = line.addresses.iter().map(|address| format!("{address:#x}")).collect();
        let _ = match with_addresses && !addresses.is_empty() {
            true => writeln!(text, "{:<60} // {}", line.text, addresses.join(" ")),
            false => writeln!(text, "{}", line.text),
        };
    }
}

/// The name of the header of a folder.
const SHARED: &str = "shared.h";

/// Writes one file per module to a folder, and a header with what several of them define alike. Lines with addresses are
/// different in each module, so that nothing is shared.
pub(super) fn write_all(
    modules: &[MetalModule],
    folder: &Path,
    force: bool,
    with_addresses: bool,
) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    let mut paths = SafePaths::default();
    let header = paths.flat(SHARED.as_bytes(), "").path;
    let read = modules.iter().filter_map(|module| Some((&module.name, module.result.as_ref().ok()?)));
    let (names, read): (Vec<&String>, Vec<&Metal>) = read.unzip();
    let texts = if with_addresses {
        let texts = read.iter().map(|metal| {
            let mut text = String::new();
            append(&mut text, metal, true);
            text
        });
        MetalFolder { modules: texts.collect(), header: None }
    } else {
        msl::folder(&read, SHARED)
    };
    for (name, text) in names.into_iter().zip(&texts.modules) {
        let name = name.trim_end_matches(".air").trim_end_matches(".bc");
        let path = paths.flat(name.as_bytes(), ".metal");
        write_file(&folder.join(path.path), force, text.as_bytes())?;
    }
    match &texts.header {
        Some(text) => write_file(&folder.join(header), force, text.as_bytes()),
        None => Ok(()),
    }
}

/// Returns the modules as they are in the output of `--json`.
pub(super) fn views(modules: Vec<MetalModule>) -> Vec<ModuleView> {
    let view = |module: MetalModule| {
        let (metal, error) = match module.result {
            Ok(metal) => (metal, None),
            Err(error) => (Metal::default(), Some(error)),
        };
        let lines =
            metal.lines.into_iter().map(|line| LineView { text: line.text, addresses: line.addresses });
        ModuleView {
            path: module.path,
            functions: metal.functions.into_iter().map(|function| function.name).collect(),
            unknown: metal.unknown,
            gotos: metal.gotos,
            casts: metal.casts,
            error,
            lines: lines.collect(),
        }
    };
    modules.into_iter().map(view).collect()
}
