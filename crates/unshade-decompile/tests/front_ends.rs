//! The passes don't know the front ends: those describe the idioms of their compilers.

use std::path::{Path, PathBuf};

use unshade_decompile::ir::text::parse;
use unshade_decompile::{Cache, Options, decompile_module, nvidia};

/// The modules that know a front end: itself, and what joins it with the rest.
const FRONT: [&str; 3] = ["sass", "nvidia.rs", "lib.rs"];

/// A 64-bit sum computed in 32-bit registers.
const HALVES: &str = r#"kernel "sum" shared 0 local 0
parameter 0 size 8
parameter 8 size 8
parameter 16 size 8
b0 @0x0:
    v0:32 = parameter 0
    v1:32 = parameter 4
    v2:32 = parameter 8
    v3:32 = add v0, v2
    v4:1 = carry v0, v2
    v5:32 = zero_extend v4
    v6:32 = parameter 12
    v7:32 = add v1, v6
    v8:32 = add v7, v5
    v9:64 = parameter 16
    v10:64 = concat v8, v3
    store.generic v9, v10
    return
"#;

/// Returns the files of a folder and those below it.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn only_front_ends_are_named_by_front_ends() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    assert!(all.len() > FRONT.len());
    for path in all {
        let name = path.strip_prefix(&source).unwrap();
        if FRONT.iter().any(|front| name.starts_with(front)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let found = text.lines().find(|line| line.contains("sass"));
        assert_eq!(found, None, "{}", name.display());
    }
}

#[test]
fn the_caller_chooses_the_idioms() {
    let text = |mut cache: Cache| {
        let module = parse(HALVES).unwrap();
        decompile_module(module, &Options::default(), &mut cache, &mut |_, _| {}).text()
    };
    let with = text(nvidia::cache());
    assert!(with.contains("= param_1 + param_2;"), "{with}");
    let without = text(Cache::default());
    assert!(without.contains("(unsigned int)param_1 + (unsigned int)param_2"), "{without}");
}
