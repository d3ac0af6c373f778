//! `cargo xtask conformance decompile-passes`: every function that `conformance decompile` decompiles is sound after
//! every pass, and its text is read as the same function. `--sample N` takes every N-th function.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompile;
use unshade::decompiler::Options;
use unshade::decompiler::ir::Module;
use unshade::decompiler::ir::text::parse;
use unshade::decompiler::ir::verify::verify;
use unshade::nv::Cubin;

use super::{all_cubins, short};

/// The faults of a pass: their number, and the first one.
type Faults = BTreeMap<String, (usize, String)>;

pub(in super::super) fn run(sample: Option<usize>) -> Result<()> {
    let sample = sample.unwrap_or(1).max(1);
    let cubins = all_cubins()?;
    let faults = Mutex::new(Faults::new());
    let (functions, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let number = AtomicUsize::new(0);
    cubins.par_iter().with_max_len(1).for_each(|data| {
        let Ok(cubin) = Cubin::read(Reader::new(data)) else { return };
        let wanted = |_: &unshade::nv::function::Function<'_>| {
            number.fetch_add(1, Ordering::Relaxed).is_multiple_of(sample)
        };
        let mut observe = |pass: &str, module: &Module<'_>| {
            runs.fetch_add(1, Ordering::Relaxed);
            if let Some(fault) = fault(module) {
                let mut faults = faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let name = format!("{}: {fault}", short(&module.name));
                faults.entry(pass.to_owned()).or_insert((0, name)).0 += 1;
            }
        };
        let (options, mut ignored) = (Options::default(), Diagnostics::new());
        let count = decompile::cubin_with(
            &cubin,
            &wanted,
            &options,
            None,
            &mut ignored,
            Some(&mut observe),
            &mut |_| {},
        );
        functions.fetch_add(count, Ordering::Relaxed);
    });
    let faults = faults.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (pass, (count, first)) in &faults {
        println!("{pass}: {count} functions are unsound or read as others; the first: {first}");
    }
    let (functions, runs) = (functions.into_inner(), runs.into_inner());
    println!("{functions} functions, {runs} runs of passes, {} passes with faults", faults.len());
    ensure!(faults.is_empty(), "a pass breaks functions");
    Ok(())
}

/// Returns what is wrong with a function or its text.
fn fault(module: &Module<'_>) -> Option<String> {
    if let Some(fault) = verify(&module.function).into_iter().next() {
        return Some(fault);
    }
    let text = module.to_string();
    match parse(&text) {
        Err(error) => Some(error.to_string()),
        Ok(read) if read.to_string() != text => Some("its text is read as another function".to_owned()),
        Ok(_) => None,
    }
}
