//! The files of every published package that are copied or generated from one source in the repository.
//!
//! A package on crates.io contains only its folder. So each has copies of both licences, and a README generated from
//! its description and the first paragraphs of its documentation, if its manifest names one. The files are copies, not
//! links, because a checkout on Windows may have no links.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::{self, Member};

/// The files that are copied from the root into each package.
pub(crate) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The first line of a generated README.
const MADE: &str = "<!-- Made by `cargo xtask codegen` from Cargo.toml and the crate's documentation. -->";

/// Returns the path and the text of each file.
pub(crate) fn made(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for member in workspace::members()?.iter().filter(|member| member.is_published) {
        for name in LICENCES {
            let text = fs::read_to_string(root.join(name)).with_context(|| name.to_owned())?;
            files.push((member.folder.join(name), text));
        }
        if member.text("readme") == "README.md" {
            files.push((member.folder.join("README.md"), readme(member)?));
        }
    }
    Ok(files)
}

/// Returns the README of a package.
fn readme(member: &Member) -> Result<String> {
    let name = &member.name;
    let library = member.library().with_context(|| format!("{name} has no library to take a README from"))?;
    let source = fs::read_to_string(library).with_context(|| library.display().to_string())?;
    let introduction = introduction(&source);
    ensure!(!introduction.is_empty(), "{}: the crate has no documentation", library.display());
    let (repository, documentation) = (member.text("repository"), member.text("documentation"));
    Ok(format!(
        "{MADE}\n# {name}\n\n{introduction}\n\nA part of [unshade]({repository}), a toolkit for compiled GPU programs. The \
         [documentation]({documentation}) lists the modules and shows how to use them.\n\nLicensed under MIT or \
         Apache-2.0, at your option.\n"
    ))
}

/// Returns the paragraphs before the first table, heading or example of a crate's documentation, as plain Markdown.
fn introduction(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with(['|', '#', '`'])).collect();
    // Links to items work in rustdoc only.
    let text = text.join("\n").trim().replace("[`", "`").replace("`]", "`");
    match text.strip_suffix(':') {
        Some(text) => format!("{text}."),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::introduction;

    #[test]
    fn introductions_end_before_tables() {
        let source = "//! Reads [`Things`].\n//!\n//! And more:\n//!\n//! | a | b |\n\nmod things;\n";
        assert_eq!(introduction(source), "Reads `Things`.\n\nAnd more.");
        assert_eq!(introduction("mod things;\n"), "");
    }
}
