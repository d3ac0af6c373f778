//! `cargo xtask conformance hlsl-peers`: the decompiler beside others, on the same shaders.
//!
//! Of the shaders of `--packages`, 200 of DXIL and 200 token programs are drawn, so many of each stage: those whose names have
//! the smallest hashes. Each route gives a text, which is compiled by the compiler of the original with the original's profile and
//! flags, and compared as in `conformance hlsl`:
//!
//! | route | tools |
//! |---|---|
//! | vkd3d | Debian's vkd3d-compiler for token programs, then SPIRV-Cross |
//! | dxil-spirv | dxil-spirv, then SPIRV-Cross |
//! | unshade | this decompiler |
//!
//! SPIRV-Cross is that of the crate spirv-cross2. Lines are those with more than a brace; placeholders are distinct names of a
//! text that only number things: `_12`, `_12_m0`, `v3`. Medians of a peer are beside ours for the shaders that it has a text for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use rayon::prelude::*;
use unshade::hlsl::target::Encoding;

use super::super::batch::{self, Outcome};
use super::input::{self, Shader};
use super::oracle::Oracle;
use super::recompile::Hlsl;
use super::rung::Rung;
use super::vulkan::tools::{self, Tools};
use super::{Options, Record, State, decompiled, recompile};
use crate::sh;

/// How many shaders of a stage are drawn.
type Stages = &'static [(&'static str, usize)];

/// What is drawn of each encoding.
const DRAWN: [(Encoding, &str, Stages); 2] = [
    (
        Encoding::Dxbc,
        "token programs",
        &[("vs", 57), ("ps", 57), ("cs", 45), ("gs", 25), ("hs", 8), ("ds", 8)],
    ),
    (
        Encoding::Dxil,
        "DXIL",
        &[
            ("cs", 45),
            ("ps", 35),
            ("vs", 30),
            ("gs", 20),
            ("hs", 15),
            ("ds", 15),
            ("ms", 15),
            ("lib", 15),
            ("as", 10),
        ],
    ),
];

pub(in crate::conformance) fn run(options: &Options<'_>) -> Result<()> {
    let (Some(oracle), Some(tools)) = (Oracle::find()?, Tools::find()?) else { return Ok(()) };
    let cross = tools::built("cross", include_str!("cross.rs"), "spirv-cross2 = \"=0.7.2\"")?;
    let shaders = input::collect(options.folders)?.shaders;
    for (encoding, name, stages) in DRAWN {
        let drawn = draw(&shaders, encoding, stages);
        println!("\n{name}: {} shaders", drawn.len());
        let ours = compiled(&oracle, &drawn, own_texts(&drawn))?;
        println!(
            "{:24} {:>6} {:>9} {:>10} {:>8} {:>5} {:>12} {:>12}  by stage: recompiled of drawn",
            "", "texts", "recompile", "signatures", "multiset", "same", "lines", "placeholders"
        );
        for (route, first) in
            [("vkd3d", Some(First::Vkd3d)), ("dxil-spirv", Some(First::DxilSpirv)), ("unshade", None)]
        {
            let Some(first) = first else {
                print(route, &ours, &ours);
                continue;
            };
            if first == First::Vkd3d && encoding == Encoding::Dxil {
                continue;
            }
            let folder = sh::temporary("peers");
            std::fs::create_dir_all(&folder)?;
            let texts = peer_texts(first, &drawn, &tools, &cross, &folder);
            std::fs::remove_dir_all(&folder)?;
            match texts? {
                Some(texts) => print(route, &compiled(&oracle, &drawn, texts)?, &ours),
                None => println!("skipped: {route}: vkd3d-compiler is not on PATH"),
            }
        }
    }
    Ok(())
}

/// Draws shaders of one encoding: of each stage those whose names have the smallest hashes.
fn draw(shaders: &[Shader], encoding: Encoding, stages: Stages) -> Vec<Shader> {
    let mut drawn = Vec::new();
    for &(stage, count) in stages {
        let is_wanted = |shader: &&Shader| {
            shader.target.encoding == encoding && shader.target.profile.starts_with(&format!("{stage}_"))
        };
        let mut all: Vec<(String, &Shader)> = shaders
            .iter()
            .filter(is_wanted)
            .map(|shader| (sh::sha256_hex(shader.name.as_bytes()), shader))
            .collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        drawn.extend(all.into_iter().take(count).map(|(_, shader)| shader.clone()));
    }
    drawn
}

fn own_texts(drawn: &[Shader]) -> Vec<Option<Hlsl>> {
    drawn
        .par_iter()
        .map(|shader| decompiled::decompile(shader).ok().filter(|hlsl| hlsl.unknown == 0))
        .collect()
}

/// What makes SPIR-V of a container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Vkd3d,
    DxilSpirv,
}

/// Returns the texts of a route through SPIR-V; `None` if its program is missing.
fn peer_texts(
    first: First,
    drawn: &[Shader],
    tools: &Tools,
    cross: &Path,
    folder: &Path,
) -> Result<Option<Vec<Option<Hlsl>>>> {
    let mut files = Vec::new();
    for (number, shader) in drawn.iter().enumerate() {
        let container = folder.join(format!("{number}.container"));
        std::fs::write(&container, &shader.data)?;
        files.push((container, folder.join(format!("{number}.spv"))));
    }
    match first {
        First::DxilSpirv => {
            batch::run(|| Command::new(&tools.translator), &["plain"], &files, folder)?;
        }
        First::Vkd3d => {
            let Some(compiler) = sh::find("vkd3d-compiler") else { return Ok(None) };
            files.par_iter().for_each(|(container, spirv)| {
                let mut command = Command::new(&compiler);
                command.args(["-x", "dxbc-tpf", "-b", "spirv-binary", "-o"]).arg(spirv).arg(container);
                // What fails leaves no file.
                let _ = command.output();
            });
        }
    }
    let mut jobs = Vec::new();
    let mut of_shaders = Vec::new();
    for (number, (_, spirv)) in files.into_iter().enumerate() {
        if std::fs::metadata(&spirv).is_ok_and(|found| found.len() > 0) {
            let text = folder.join(format!("{number}.{}", model(&drawn[number])));
            jobs.push((spirv, text));
            of_shaders.push(number);
        }
    }
    let outcomes = batch::run(|| Command::new(cross), &[], &jobs, folder)?;
    let mut texts: Vec<Option<Hlsl>> = Vec::new();
    texts.resize_with(drawn.len(), || None);
    for ((number, (_, file)), outcome) in of_shaders.into_iter().zip(jobs).zip(outcomes) {
        if matches!(outcome, Outcome::Said(said) if said == "ok") {
            texts[number] = Some(text(&drawn[number], file)?);
        }
    }
    Ok(Some(texts))
}

/// Returns the shader model of a shader as `50`; SPIRV-Cross has none after 6.8.
fn model(shader: &Shader) -> String {
    let digits: String = shader.target.profile.chars().filter(char::is_ascii_digit).collect();
    if digits.len() == 2 && digits.as_str() < "68" { digits } else { "68".into() }
}

fn text(shader: &Shader, file: PathBuf) -> Result<Hlsl> {
    let profile = shader.target.profile.clone();
    let entry = if profile.starts_with("lib_") { String::new() } else { "main".into() };
    Ok(Hlsl {
        text: std::fs::read_to_string(file)?,
        entry,
        profile,
        options: Vec::new(),
        flags: 0,
        unknown: 0,
        gotos: 0,
        file: None,
    })
}

fn compiled(oracle: &Oracle, drawn: &[Shader], texts: Vec<Option<Hlsl>>) -> Result<Vec<Record>> {
    let mut records: Vec<Record> = drawn
        .iter()
        .zip(texts)
        .map(|(shader, hlsl)| Record {
            shader: shader.clone(),
            hlsl,
            state: State::NoCompiler,
            panicked: false,
        })
        .collect();
    recompile(oracle, &mut records)?;
    Ok(records)
}

fn print(route: &str, records: &[Record], ours: &[Record]) {
    let texts = records.iter().filter(|record| record.hlsl.is_some()).count();
    let is_compiled = |record: &&Record| matches!(record.state, State::Compiled(_) | State::NotCompared(_));
    let count = |rung: Rung| {
        let has = |record: &&Record| match &record.state {
            State::Compiled(comparison) => rung.difference(comparison).is_none(),
            _ => false,
        };
        records.iter().filter(has).count()
    };
    // Of the shaders that both have a text for.
    let both =
        || records.iter().zip(ours).filter_map(|(one, own)| Some((one.hlsl.as_ref()?, own.hlsl.as_ref()?)));
    let beside = |measure: fn(&str) -> usize| {
        let one = median(both().map(|(one, _)| measure(&one.text)));
        let own = median(both().map(|(_, own)| measure(&own.text)));
        if route == "unshade" { own.to_string() } else { format!("{one} ({own})") }
    };
    let mut stages: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for record in records {
        let stage = record.shader.target.profile.split('_').next().unwrap_or_default();
        let counts = stages.entry(stage).or_default();
        counts[0] += usize::from(is_compiled(&record));
        counts[1] += 1;
    }
    let stages: Vec<String> =
        stages.into_iter().map(|(stage, [compiled, all])| format!("{stage} {compiled}/{all}")).collect();
    println!(
        "{route:24} {texts:6} {:9} {:10} {:8} {:5} {:>12} {:>12}  {}",
        records.iter().filter(is_compiled).count(),
        count(Rung::Signatures),
        count(Rung::Multiset),
        count(Rung::Same),
        beside(lines),
        beside(placeholders),
        stages.join(", ")
    );
    if route == "unshade" {
        for record in records.iter().filter(|record| !is_compiled(record)) {
            let what = if record.hlsl.is_some() { "does not compile" } else { "has no whole text" };
            println!("  {} {what}", record.shader.name);
        }
    }
}

fn median(values: impl Iterator<Item = usize>) -> usize {
    let mut values: Vec<usize> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Returns how many lines of a text have more than a brace.
fn lines(text: &str) -> usize {
    text.lines().filter(|line| !matches!(line.trim(), "" | "{" | "}" | "};")).count()
}

/// Returns how many distinct names of a text only number things.
fn placeholders(text: &str) -> usize {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| is_placeholder(word)).collect::<BTreeSet<&str>>().len()
}

fn is_placeholder(word: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    match word.strip_prefix('_') {
        Some(rest) => is_number(rest),
        None => {
            let mut letters = word.chars();
            letters.next().is_some_and(|letter| letter.is_ascii_lowercase())
                && !letters.as_str().is_empty()
                && letters.all(|letter| letter.is_ascii_digit())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{lines, placeholders};

    #[test]
    fn names_that_number_things_are_counted_once() {
        assert_eq!(placeholders("_12 = _12_m0 + v3.x * v3.y + t0 + uv1 + float4(1.0) + x"), 4);
        assert_eq!(lines("void main()\n{\n    x;\n\n}\n"), 2);
    }
}
