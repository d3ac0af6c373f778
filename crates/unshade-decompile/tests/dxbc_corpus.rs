//! Lifts the DXBC containers and Direct3D 9 programs of the folders in `UNSHADE_CORPUS` (separated by colons), and prints what was lifted.
//!
//! `UNSHADE_CORPUS=… cargo test --release -p unshade-decompile --test dxbc_corpus -- --ignored --nocapture`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use unshade_decompile::dxbc::{LiftError, lift};
use unshade_dxcontainer::Container;
use unshade_ir::{Op, verify::verify};

/// What was lifted.
#[derive(Default)]
struct Figures {
    containers: usize,
    lifted: usize,
    without_program: usize,
    faults: usize,
    unlifted: BTreeMap<String, usize>,
    times: Vec<Duration>,
}

#[test]
#[ignore = "needs real files"]
fn real_containers_are_lifted() {
    let Some(folders) = std::env::var_os("UNSHADE_CORPUS") else {
        println!("UNSHADE_CORPUS is not set: no real container was lifted");
        return;
    };
    let mut files = Vec::new();
    for folder in std::env::split_paths(&folders) {
        collect(&folder, &mut files);
    }
    files.sort();
    let mut figures = Figures::default();
    for file in &files {
        measure(file, &mut figures);
    }
    figures.times.sort();
    let Figures { containers, lifted, without_program, faults, unlifted, mut times } = figures;
    times.push(Duration::ZERO);
    let (middle, last) = (times[times.len() / 2], times.iter().max().copied().unwrap_or_default());
    println!("{containers} programs: {lifted} lifted, {without_program} without a token program");
    println!("{faults} with faults; median {middle:?}, longest {last:?}");
    for (mnemonic, count) in &unlifted {
        println!("unlifted: {count} {mnemonic}");
    }
    assert!(containers > 0, "no container in {}", folders.display());
    assert_eq!(faults, 0);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "dxbc" || extension == "d3d9") {
            files.push(path);
        }
    }
}

fn measure(path: &Path, figures: &mut Figures) {
    let Ok(bytes) = std::fs::read(path) else { return };
    let is_legacy = path.extension().is_some_and(|extension| extension == "d3d9");
    let start = Instant::now();
    let lifted = if is_legacy {
        let Ok(program) = unshade_dxbc::d3d9::Program::parse(&bytes) else { return };
        unshade_decompile::d3d9::lift(&program)
    } else {
        let Ok(container) = Container::parse(&bytes) else { return };
        lift(&container)
    };
    figures.containers += 1;
    let program = match lifted {
        Ok(program) => program,
        Err(LiftError::NoProgram | LiftError::Kind(_)) => {
            figures.without_program += 1;
            return;
        }
        Err(error) => {
            println!("{}: {error}", path.display());
            return;
        }
    };
    figures.times.push(start.elapsed());
    figures.lifted += 1;
    let mut is_faulty = false;
    for function in program.functions.iter().map(|function| &function.function) {
        for fault in verify(function) {
            println!("{}: {fault}", path.display());
            is_faulty = true;
        }
        for id in function.values.keys() {
            if let Op::Unlifted(note) = function.op(id) {
                let text = &function.notes[note];
                println!("{}: {text}", path.display());
                let mnemonic = text.split([' ', '(']).next().unwrap_or_default().to_owned();
                *figures.unlifted.entry(mnemonic).or_default() += 1;
            }
        }
    }
    figures.faults += usize::from(is_faulty);
}
