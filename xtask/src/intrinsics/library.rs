//! The attributes of intrinsics, as LLVM's library has them.
//!
//! LLVM 22 replaces the attributes of a declaration only where its types fit, so declarations with made-up types
//! ([`super::observed`]) show nothing. `attributes.cpp`, linked with the library, asks it without types.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::names;
use super::observed::{Attributes, Observed};
use crate::sh;

/// Returns the attributes of all names.
pub(super) fn attributes(version: u32, names: &[String]) -> Result<Observed> {
    let library = names::library(version).with_context(|| format!("no shared library of LLVM {version}"))?;
    let folder = sh::root().join("target/conformance");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let program = folder.join("attributes");
    let mut compiler = Command::new("c++");
    compiler
        .arg(sh::root().join("xtask/src/intrinsics/attributes.cpp"))
        .arg(&library)
        .arg("-o")
        .arg(&program);
    sh::capture(&mut compiler)?;
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("no standard input")?;
    let listing = names.join("\n");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(listing.as_bytes()));
        child.wait_with_output()
    })?;
    ensure!(output.status.success(), "{} fails", program.display());
    let mut result = Observed::new();
    let mut add = |name: &str, attributes: Attributes| {
        if let Some((target, rest)) = name.strip_prefix("llvm.").and_then(|name| name.split_once('.')) {
            result.entry(target.to_owned()).or_default().insert(rest.to_owned(), attributes);
        }
    };
    for name in names {
        add(name, Attributes::default());
    }
    for (name, attributes) in String::from_utf8(output.stdout)?.lines().filter_map(of_line) {
        add(name, attributes);
    }
    Ok(result)
}

/// Parses a line: the name, the attributes of the function, of the result, and of each parameter.
fn of_line(line: &str) -> Option<(&str, Attributes)> {
    let mut fields = line.split('\t');
    let (name, function, result) = (fields.next()?, fields.next()?, fields.next()?);
    let parameters = fields.enumerate().filter(|(_, parameter)| !parameter.is_empty());
    let mut parts: Vec<String> = parameters.map(|(at, parameter)| format!("{at}:{parameter}")).collect();
    if !result.is_empty() {
        parts.push(format!("r:{result}"));
    }
    Some((name, Attributes { function: Some(function.to_owned()), parameters: parts.join("|") }))
}

#[cfg(test)]
mod tests {
    use super::of_line;

    #[test]
    fn places_without_attributes_are_left_out() {
        let (name, attributes) = of_line("llvm.x.y\tnounwind\tnoundef\t\timmarg\t").unwrap();
        assert_eq!((name, attributes.function.as_deref()), ("llvm.x.y", Some("nounwind")));
        assert_eq!(attributes.parameters, "1:immarg|r:noundef");
    }
}
