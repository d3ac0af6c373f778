//! `cargo xtask conformance hlsl-readability`: counts the statements of decompiled shaders beside those of their true sources.
//!
//! Shaders are those of the development set that have a source: of each, the first DXIL container by name, and the last
//! token program. `--sample N` takes the first N sources.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use unshade::hlsl::target::Encoding;

use super::super::statements::{self, median};
use super::Options;
use super::decompiled::decompile;
use super::input::{self, Shader};
use super::sources::Sources;

/// The programs of one source.
#[derive(Default)]
struct Programs {
    dxil: Option<Shader>,
    tokens: Option<Shader>,
}

pub(in super::super) fn run(options: &Options<'_>) -> Result<()> {
    let sources = Sources::default();
    let mut found: BTreeMap<String, Programs> = BTreeMap::new();
    for shader in input::collect(&[])?.shaders {
        let Some((folder, _)) = shader.name.split_once(['/', '\\']) else { continue };
        if shader.set != "dev" || sources.of(&shader).is_none() {
            continue;
        }
        let programs = found.entry(folder.to_owned()).or_default();
        if shader.target.encoding != Encoding::Dxil {
            programs.tokens = Some(shader);
        } else if programs.dxil.is_none() {
            programs.dxil = Some(shader);
        }
    }
    ensure!(!found.is_empty(), "the corpus has no shaders with sources");
    let mut ratios = [Vec::new(), Vec::new()];
    println!("{:<24} {:>6} {:>6} {:>6}", "source", "number", "DXIL", "tokens");
    for (name, programs) in found.iter().take(options.sample.unwrap_or(usize::MAX)) {
        let mut row = format!("{name:<24}");
        for (index, shader) in [&programs.dxil, &programs.tokens].into_iter().enumerate() {
            let ratio = shader.as_ref().map(|shader| ratio(&sources, shader)).transpose()?.flatten();
            let Some((number, ratio)) = ratio else {
                row.push_str(&format!(" {:>6}", "–"));
                continue;
            };
            if row.len() == name.len().max(24) {
                row.push_str(&format!(" {number:>6}"));
            }
            row.push_str(&format!(" {ratio:>6.2}"));
            ratios[index].push(ratio);
        }
        println!("{row}");
    }
    let mut all = ratios.concat();
    println!(
        "\nmedian {:.2}; of DXIL {:.2}, of token programs {:.2}",
        median(&mut all),
        median(&mut ratios[0]),
        median(&mut ratios[1])
    );
    Ok(())
}

/// Returns the number of statements in the source, and how many the text has for each.
fn ratio(sources: &Sources, shader: &Shader) -> Result<Option<(usize, f64)>> {
    let Some(source) = sources.of(shader).transpose()? else { return Ok(None) };
    let Ok(hlsl) = decompile(shader) else { return Ok(None) };
    let number = statements::count(&source.text).max(1);
    Ok(Some((number, statements::count(&hlsl.text) as f64 / number as f64)))
}
