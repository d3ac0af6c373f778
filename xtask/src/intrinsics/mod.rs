//! `cargo xtask intrinsics`: generates the attributes of the intrinsics of all targets, as LLVM's own programs print
//! them.
//!
//! The names come from the string tables of every installed LLVM library ([`names`]). Each is declared in a module that
//! `llvm-as` and `llvm-dis` of the version to describe read ([`observed`]): they replace the attributes of what they
//! know. The library of LLVM 22 is asked itself ([`library`]). What is seen is compressed to the shortest list of name prefixes ([`prefixes`]), in which a name has the
//! attributes of its longest prefix. Names of other versions are part of it, as names to leave alone.

pub(crate) mod names;
pub(crate) use self::observed::{TYPES, declarations};

mod library;
mod observed;
mod prefixes;
mod written;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::sh;

/// Options of `cargo xtask intrinsics`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask intrinsics\n  cargo xtask intrinsics --check 19")]
pub(crate) struct Args {
    /// Write nothing; fail if a generated file is out of date.
    #[arg(long)]
    check: bool,
    /// The versions of LLVM whose tables are generated; all by default.
    versions: Vec<u32>,
}

/// The versions with a table, which are the dialects of the printer.
const VERSIONS: [u32; 3] = [14, 19, 22];

/// The folder of the generated files.
const FOLDER: &str = "crates/unshade-llvm/src/print";

pub(crate) fn run(args: &Args) -> Result<()> {
    let names = names::of_targets()?;
    println!("{} names", names.len());
    let versions = if args.versions.is_empty() { &VERSIONS[..] } else { &args.versions };
    let mut stale = Vec::new();
    for &version in versions {
        let observed = match version {
            22.. => library::attributes(version, &names)?,
            _ => observed::attributes(version, &names)?,
        };
        let targets: Vec<_> =
            observed.iter().map(|(target, names)| (target.as_str(), prefixes::shortest(names))).collect();
        let text = written::module(version, &targets);
        let path = sh::root().join(FOLDER).join(format!("targets_{version}.rs"));
        let names: usize = observed.values().map(BTreeMap::len).sum();
        let prefixes: usize = targets.iter().map(|(_, prefixes)| prefixes.len()).sum();
        println!("LLVM {version}: {names} names, {prefixes} prefixes, {} bytes", text.len());
        if fs::read_to_string(&path).ok().as_ref() == Some(&text) {
            continue;
        }
        stale.push(path.display().to_string());
        if !args.check {
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    ensure!(!args.check || stale.is_empty(), "out of date: {}", stale.join(", "));
    Ok(())
}
