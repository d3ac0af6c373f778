//! Lifts the shaders of the shared corpus, and verifies their functions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use unshade_decompile::{dxil, ir};
use unshade_dxcontainer::Container;

/// Returns all files with an extension below a folder.
fn files(folder: &Path, extension: &str, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, extension, out);
        } else if path.extension().is_some_and(|found| found == extension) {
            out.push(path);
        }
    }
}

#[test]
fn shaders_of_the_corpus_lift_to_sound_functions() {
    let Ok(corpus) = std::env::var("UNSHADE_CORPUS") else {
        println!("skipped: UNSHADE_CORPUS is not set");
        return;
    };
    let mut paths = Vec::new();
    for folder in ["hlsl", "dx"] {
        files(&Path::new(&corpus).join(folder), "dxil", &mut paths);
    }
    let mut notes: BTreeMap<String, usize> = BTreeMap::new();
    let (mut functions, mut faults) = (0, Vec::new());
    for path in &paths {
        let bytes = std::fs::read(path).expect("the file can be read");
        let Ok(container) = Container::parse(&bytes) else { continue };
        let Ok(program) = dxil::lift(&container) else { continue };
        for function in &program.functions {
            functions += 1;
            for note in &function.function.notes {
                *notes.entry(note.clone()).or_default() += 1;
            }
            let found = ir::verify::verify(&function.function);
            if !found.is_empty() {
                faults.push(format!("{}: {}: {found:?}", path.display(), function.name));
            }
        }
    }
    println!("{} files, {functions} functions, not lifted: {notes:#?}", paths.len());
    assert!(faults.is_empty(), "{} faults: {:#?}", faults.len(), &faults[..faults.len().min(20)]);
}
