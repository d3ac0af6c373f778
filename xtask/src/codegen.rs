//! `cargo xtask codegen`: generates files from the tables in `isa/` and from the query API, and the files of every
//! package; or checks that they are up to date.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{package_files, protocol, sh};

/// Options of `cargo xtask codegen`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask codegen\n  cargo xtask codegen --check")]
pub(crate) struct Args {
    /// Write nothing; fail if a generated file is out of date.
    #[arg(long)]
    check: bool,
}

/// The files of operations.
const OPERATIONS: [&str; 5] =
    ["operations", "operations-volta", "operations-maxwell", "operations-hopper", "operations-blackwell"];

/// The tables of generations, each after the one that it builds on.
const GENERATIONS: [&str; 17] = [
    "sm_30", "sm_35", "sm_50", "sm_52", "sm_60", "sm_61", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100",
    "sm_103", "sm_107", "sm_110", "sm_120", "sm_75", "sm_70",
];

const GENERATED: &str = "crates/unshade-sass/src/generated";
const EXAMPLES: &str = "crates/unshade-sass/tests/examples";
const GHIDRA: &str = "ghidra/NVIDIA";
const FUNCTIONS: &str = "docs/isa-functions.md";
const PROTOCOL: &str = "web/protocol.js";
const PAGES: &str = "crates/unshade-sass/reference";

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = sh::root().to_path_buf();
    let files = generated_files(&root)?;
    let mut stale = Vec::new();
    for (path, text) in &files {
        if fs::read(path).ok().as_ref() != Some(text) {
            stale.push(path);
            if !args.check {
                fs::create_dir_all(path.parent().unwrap_or(&root))?;
                fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
            }
        }
    }
    let mut left = left_over(&root.join(PAGES), "md", &files);
    left.extend(left_over(&root.join(GENERATED), "bin", &files));
    if args.check {
        for path in stale.iter().copied().chain(&left) {
            eprintln!("out of date: {}", path.strip_prefix(&root).unwrap_or(path).display());
        }
        if !stale.is_empty() || !left.is_empty() {
            bail!("generated files are out of date; run `cargo xtask codegen`");
        }
    }
    for path in left {
        fs::remove_file(path)?;
    }
    println!("{} files, {} written", files.len(), if args.check { 0 } else { stale.len() });
    Ok(())
}

/// Generates the path and text of every file.
fn generated_files(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let isa = load(root)?;
    let mut files = vec![
        (root.join(GENERATED).join("names.rs"), isa_gen::rust_tables::names()),
        (root.join(GENERATED).join("tables.rs"), isa_gen::rust_tables::tables(&isa)),
    ];
    for generation in &isa.generations {
        let path = root.join(EXAMPLES).join(format!("{}.txt", generation.name));
        files.push((path, isa_gen::rust_tables::examples(generation)));
    }
    files.push((root.join(GENERATED).join("semantics.rs"), isa_gen::rust_semantics::semantics(&isa)));
    files.extend(
        isa_gen::sleigh::module(&isa).into_iter().map(|(name, text)| (root.join(GHIDRA).join(name), text)),
    );
    files.push((root.join(FUNCTIONS), isa_gen::pages::functions(&isa)));
    files.push((root.join(PROTOCOL), protocol::text(root)?));
    let pages = isa_gen::pages::pages(&isa);
    files.push((root.join(GENERATED).join("reference.rs"), isa_gen::rust_tables::reference(&pages)));
    files.extend(pages.into_iter().map(|(name, text)| (root.join(PAGES).join(format!("{name}.md")), text)));
    files.extend(package_files::made(root)?);
    let families = isa_gen::packed::Family::all(&isa);
    let packed = families.iter().map(|family| {
        let path = root.join(GENERATED).join(format!("{}.bin", family.name()));
        (path, family.pack(&isa))
    });
    Ok(files.into_iter().map(|(path, text)| (path, text.into_bytes())).chain(packed).collect())
}

/// Loads and checks the tables of this repository.
pub(crate) fn load(root: &Path) -> Result<isa_gen::Isa> {
    let read = |name: &str| -> Result<(String, String)> {
        let path = root.join("isa/nvidia").join(name);
        Ok((name.to_owned(), fs::read_to_string(&path).with_context(|| path.display().to_string())?))
    };
    let read_all = |names: &[&str]| -> Result<Vec<(String, String)>> {
        names.iter().map(|name| read(&format!("{name}.isa"))).collect()
    };
    let (operations, generations) = (read_all(&OPERATIONS)?, read_all(&GENERATIONS)?);
    isa_gen::load(&borrowed(&operations), &borrowed(&generations)).map_err(|errors| {
        errors.iter().for_each(|error| eprintln!("isa/nvidia/{error}"));
        anyhow::anyhow!("{} errors in the tables", errors.len())
    })
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

/// Returns the files of a folder with this extension that are no longer generated.
fn left_over(folder: &Path, extension: &str, files: &[(PathBuf, Vec<u8>)]) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut left: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|of_path| of_path == extension))
        .filter(|path| !files.iter().any(|file| &file.0 == path))
        .collect();
    left.sort();
    left
}
