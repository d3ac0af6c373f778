//! DirectX shaders as HLSL.

use super::annotate::Known;
use super::{LineView, recompile};
use crate::Outcome;
use crate::args::{DecompileArgs, GlobalArgs};
use crate::paint;
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write as _;
use unshade::carve::Find;
use unshade::dxcontainer::Container;
use unshade::format::Format;
use unshade::hlsl::{self, Hlsl};
use unshade::select::Selection;

/// A shader as HLSL, or why there is none.
pub(super) struct Shader {
    /// Where it was found.
    path: String,
    result: Result<Hlsl, String>,
    /// The original, if it is to be compared.
    data: Vec<u8>,
}

/// A shader in the output of `--json`.
#[derive(Serialize)]
pub(super) struct ShaderView {
    path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    entry: String,
    profile: String,
    /// Options of the compiler that change what the text means.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    /// What has no form in HLSL.
    unknown: Vec<String>,
    gotos: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    lines: Vec<LineView>,
}

/// Returns whether the programs of a format are shaders.
pub(super) fn is_shader(format: Format) -> bool {
    matches!(format, Format::DxContainer | Format::Direct3d9)
}

/// Decompiles the container or the bare program of a find, and keeps the original if it is to be compared.
pub(super) fn decompile(
    find: &Find<'_>,
    path: String,
    selection: &Selection,
    args: &DecompileArgs,
    known: &Known,
) -> Shader {
    let options = hlsl::Options { without_source: args.no_debug_info };
    let result = if find.format == Format::Direct3d9 {
        hlsl::direct3d9(find.data)
    } else {
        let wanted = |index: usize, name: &str| selection.matches_name(index as u32, name.as_bytes());
        Container::parse(find.data).and_then(|container| hlsl::container_with(&container, &wanted, options))
    };
    let result = result.map(|mut hlsl| {
        known.shader(find, &mut hlsl);
        hlsl
    });
    let data = if args.recompile_with.is_some() { find.data.to_vec() } else { Vec::new() };
    Shader { path, result: result.map_err(|error| error.to_string()), data }
}

/// Compiles the texts again, and prints how the results compare with the originals.
pub(super) fn recompile(
    shaders: &[Shader],
    args: &DecompileArgs,
    command: &str,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let texts: Vec<_> = shaders
        .iter()
        .filter_map(|shader| {
            let hlsl = shader.result.as_ref().ok()?;
            Some((shader.path.as_str(), hlsl, shader.data.as_slice()))
        })
        .collect();
    if texts.is_empty() {
        anstream::eprintln!("{}: no shader that can be decompiled", paint::error("unshade"));
        return Ok(Outcome::Finding);
    }
    recompile::run(&texts, args, command, global)
}

/// Prints what has no form in HLSL, and which shaders could not be decompiled.
pub(super) fn report(shaders: &[Shader]) -> Outcome {
    let mut outcome = Outcome::Done;
    for shader in shaders {
        let path = &shader.path;
        match &shader.result {
            Err(fault) => anstream::eprintln!("{}: {path}: {fault}", paint::error("unshade")),
            Ok(hlsl) if !hlsl.unknown.is_empty() => {
                let names: Vec<&str> = hlsl.unknown_kinds().into_iter().collect();
                let count = hlsl.unknown.len();
                anstream::eprintln!(
                    "{}: {path}: no HLSL for {} ({})",
                    paint::error("unshade"),
                    if count == 1 { "1 operation".to_owned() } else { format!("{count} operations") },
                    names.join(", ")
                );
            }
            Ok(_) => continue,
        }
        outcome = outcome.and(Outcome::Finding);
    }
    outcome
}

/// Returns the text of all shaders; of several, each below its path.
pub(super) fn text(shaders: &[Shader], with_addresses: bool) -> String {
    let mut text = String::new();
    for shader in shaders {
        let Ok(hlsl) = &shader.result else { continue };
        if shaders.len() > 1 {
            let start = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{start}// {}: {}", shader.path.escape_debug(), hlsl.profile);
        }
        for line in &hlsl.lines {
            let addresses: Vec<String> =
                line.addresses.iter().map(|address| format!("{address:#x}")).collect();
            let _ = match with_addresses && !addresses.is_empty() {
                true => writeln!(text, "{:<60} // {}", line.text, addresses.join(" ")),
                false => writeln!(text, "{}", line.text),
            };
        }
    }
    text
}

/// Returns the shaders as they are in the output of `--json`.
pub(super) fn views(shaders: Vec<Shader>) -> Vec<ShaderView> {
    let view = |shader: Shader| {
        let (hlsl, error) = match shader.result {
            Ok(hlsl) => (hlsl, None),
            Err(error) => (Hlsl::default(), Some(error)),
        };
        let lines =
            hlsl.lines.into_iter().map(|line| LineView { text: line.text, addresses: line.addresses });
        ShaderView {
            path: shader.path,
            entry: hlsl.entry,
            profile: hlsl.profile,
            options: hlsl.options,
            unknown: hlsl.unknown,
            gotos: hlsl.gotos,
            error,
            lines: lines.collect(),
        }
    };
    shaders.into_iter().map(view).collect()
}
