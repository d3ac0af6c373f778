//! `cargo xtask licences`: checks the licences and the sources of the dependencies against `deny.toml`.
//!
//! Applies the rules of cargo-deny, from the same file, on a machine with only cargo. Advisories and yanked versions
//! need a download, so cargo-deny checks them (`.github/workflows/ci.yml`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::{sh, workspace};

/// The lock files to check: those of the workspace and of the fuzz targets.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

/// The file with the rules.
const RULES: &str = "deny.toml";

/// Options of `cargo xtask licences`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask licences\n\nExit status: 0 if every dependency is allowed, 1 otherwise."
)]
pub(crate) struct Args {}

/// The licences and sources that `deny.toml` allows.
struct Rules {
    licences: BTreeSet<String>,
    registries: BTreeSet<String>,
}

/// Checks every package of every lock file.
pub(crate) fn run(_: &Args) -> Result<()> {
    let rules = fs::read_to_string(sh::root().join(RULES)).context(RULES)?;
    let rules = Rules { licences: list(&rules, "allow")?, registries: list(&rules, "allow-registry")? };
    let mut faults = BTreeSet::new();
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for manifest in MANIFESTS {
        let metadata = workspace::metadata(manifest, &["--all-features"])?;
        for package in metadata["packages"].as_array().context("cargo lists no packages")? {
            let text = |field: &str| package[field].as_str().unwrap_or_default();
            if !seen.insert(text("id").to_owned()) {
                continue;
            }
            let name = format!("{} {}", text("name"), text("version"));
            faults.extend(fault(package, &rules).map(|fault| format!("{name}: {fault}")));
            if !package["source"].is_null() {
                *used.entry(text("license").to_owned()).or_default() += 1;
                versions.entry(text("name").to_owned()).or_default().insert(text("version").to_owned());
            }
        }
    }
    for (licence, count) in &used {
        println!("{count:>4}  {licence}");
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        println!("twice: {name} {}", versions.iter().cloned().collect::<Vec<_>>().join(", "));
    }
    faults.iter().for_each(|fault| eprintln!("{fault}"));
    ensure!(faults.is_empty(), "{} packages are not allowed by {RULES}", faults.len());
    println!("{} packages, all allowed by {RULES}", seen.len());
    Ok(())
}

/// Returns why a package is not allowed, if it is not.
fn fault(package: &Value, rules: &Rules) -> Option<String> {
    match package["source"].as_str() {
        None => {
            let path = package["manifest_path"].as_str().unwrap_or_default();
            if !Path::new(path).starts_with(sh::root()) {
                return Some(format!("comes from {path}, outside of this repository"));
            }
        }
        Some(source)
            if source.strip_prefix("registry+").is_some_and(|url| rules.registries.contains(url)) => {}
        Some(source) => return Some(format!("comes from {source}, which `allow-registry` does not list")),
    }
    let Some(expression) = package["license"].as_str() else {
        return Some("has no licence expression".to_owned());
    };
    match is_allowed(expression, &rules.licences) {
        Ok(true) => None,
        Ok(false) => Some(format!("is licensed under {expression}, which `allow` does not satisfy")),
        Err(error) => Some(format!("has the licence expression {expression:?}: {error}")),
    }
}

/// Returns the texts of a list in `deny.toml`, which is `name = ["…", …]` over one or more lines.
fn list(rules: &str, name: &str) -> Result<BTreeSet<String>> {
    let start = format!("{name} = [");
    let mut lines = rules.lines().skip_while(|line| !line.starts_with(&start)).peekable();
    ensure!(lines.peek().is_some(), "{RULES} has no list `{name}`");
    let mut texts = BTreeSet::new();
    for line in lines {
        let line = line.strip_prefix(&start).unwrap_or(line).split('#').next().unwrap_or_default();
        texts.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        if line.trim_end().ends_with(']') {
            return Ok(texts);
        }
    }
    bail!("{RULES}: the list `{name}` has no end")
}

/// Returns whether allowed licences alone satisfy an SPDX expression. Old manifests have `/` for `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> Result<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut parser = Parser { words: spaced.split_whitespace().collect(), next: 0, allowed };
    let result = parser.either(0)?;
    ensure!(parser.next == parser.words.len(), "unexpected `{}`", parser.words[parser.next]);
    Ok(result)
}

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 32;

/// A recursive-descent parser: `WITH` binds tightest, then `AND`, then `OR`.
struct Parser<'a> {
    words: Vec<&'a str>,
    next: usize,
    allowed: &'a BTreeSet<String>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.next += usize::from(is_next);
        is_next
    }

    fn either(&mut self, depth: usize) -> Result<bool> {
        let mut result = self.all(depth)?;
        while self.takes("OR") {
            result |= self.all(depth)?;
        }
        Ok(result)
    }

    fn all(&mut self, depth: usize) -> Result<bool> {
        let mut result = self.one(depth)?;
        while self.takes("AND") {
            result &= self.one(depth)?;
        }
        Ok(result)
    }

    fn one(&mut self, depth: usize) -> Result<bool> {
        ensure!(depth < MAX_DEPTH, "more than {MAX_DEPTH} parentheses");
        if self.takes("(") {
            let result = self.either(depth + 1)?;
            ensure!(self.takes(")"), "a parenthesis is not closed");
            return Ok(result);
        }
        let name = self.name()?;
        let licence =
            if self.takes("WITH") { format!("{name} WITH {}", self.name()?) } else { name.to_owned() };
        Ok(self.allowed.contains(&licence))
    }

    fn name(&mut self) -> Result<&'a str> {
        let word = self.peek().context("a licence is missing at the end")?;
        let is_operator =
            ["AND", "OR", "WITH", "(", ")"].iter().any(|operator| operator.eq_ignore_ascii_case(word));
        ensure!(!is_operator, "a licence is missing before `{word}`");
        self.next += 1;
        Ok(word)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{is_allowed, list};

    fn allows(expression: &str) -> Option<bool> {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
        let allowed: BTreeSet<String> = allowed.into_iter().map(str::to_owned).collect();
        is_allowed(expression, &allowed).ok()
    }

    #[test]
    fn expressions() {
        for expression in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/GPL-3.0",
            "MIT AND Apache-2.0",
            "(MIT OR GPL-3.0) AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-3.0 AND BSD-3-Clause OR MIT",
            "Apache-2.0 with LLVM-exception",
        ] {
            assert_eq!(allows(expression), Some(true), "{expression}");
        }
        for expression in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT WITH LLVM-exception",
            "MIT AND (GPL-3.0 OR MPL-2.0)",
            "(MIT OR GPL-3.0) AND MPL-2.0",
        ] {
            assert_eq!(allows(expression), Some(false), "{expression}");
        }
        for expression in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT MIT", &"(".repeat(1000)] {
            assert_eq!(allows(expression), None, "{expression}");
        }
    }

    #[test]
    fn lists() {
        let rules = "a = 1\nallow = [\n    \"MIT\", # why\n    \"ISC\",\n]\nallow-git = []\n";
        assert_eq!(list(rules, "allow").unwrap().into_iter().collect::<Vec<_>>(), ["ISC", "MIT"]);
        assert!(list(rules, "allow-git").unwrap().is_empty());
        assert!(list(rules, "other").is_err());
    }
}
