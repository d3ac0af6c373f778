//! `cargo xtask conformance hlsl-readability`: counts the statements of decompiled shaders beside those of their true sources.
//!
//! Shaders are those of the development set that have a source: of each, the first DXIL container by name, and the last
//! token program. `--sample N` takes the first N sources. Names and comments do not count; statements are
//!
//! | text | statements |
//! |---|---|
//! | a declaration, an assignment, a call: what ends with `;` | 1 |
//! | `if`, `switch`, `while`, `do` | 1 |
//! | `for (…; …; …)` | 1 |

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use unshade::hlsl::target::Encoding;

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
    let number = statements(&source.text).max(1);
    Ok(Some((number, statements(&hlsl.text) as f64 / number as f64)))
}

/// Counts the statements of a text.
fn statements(text: &str) -> usize {
    let plain = without_comments(text);
    let mut count = plain.matches(';').count();
    for (at, word) in words(&plain) {
        let rest = plain[at + word.len()..].trim_start();
        count = match word {
            "if" | "switch" | "while" if rest.starts_with('(') => count + 1,
            // `while (…);` of it counts twice already.
            "do" => count.saturating_sub(1),
            "for" if rest.starts_with('(') => count.saturating_sub(1),
            _ => count,
        };
    }
    count
}

/// Returns the words of a text, with their places.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() || c == '_' {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            found.push((start, &text[start..at]));
        }
    }
    found
}

/// Returns a text without comments.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        plain.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        rest = rest[at + 2..].split_once(end).map_or("", |(_, after)| after);
        plain.push('\n');
    }
    plain.push_str(rest);
    plain
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_counted() {
        for (text, count) in [
            ("float a; // b;\na = 1; /* c; */", 2),
            ("for (int i = 0; i < 4; i++)\n{\n    f(i);\n}", 2),
            ("do\n{\n    f();\n} while (a);", 2),
            ("while (a) { f(); }", 2),
            ("if (a)\n{\n    return b;\n}\nelse\n{\n    discard;\n}", 3),
            ("format = 1;", 1),
        ] {
            assert_eq!(statements(text), count, "{text}");
        }
    }
}
