//! Planted faults: whether a difference would be seen.
//!
//! The last arithmetic operation of a kernel whose two sides agree becomes another one on the module's side. The runtime has
//! to find a difference; where it does not, the operation has no effect for the inputs that are made up.

use std::fs;
use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

use super::{Files, Record, Tools, build_module, host_kernel, job, run_jobs};

/// Operations, and what they become.
const SWAPS: [(&str, &str); 10] = [
    (" = fadd ", " = fsub "),
    (" = fsub ", " = fadd "),
    (" = fmul ", " = fadd "),
    (" = fdiv ", " = fmul "),
    (" = xor ", " = or "),
    (" = and ", " = or "),
    (" = mul nuw ", " = add nuw "),
    (" = mul ", " = add "),
    (" = sub ", " = add "),
    (" = add ", " = sub "),
];

/// The most kernels that get a fault.
const MOST: usize = 300;

/// Plants a fault in each of the kernels with these numbers, and counts those that are found.
pub(super) fn run(
    tools: &Tools,
    records: &[Record],
    numbers: &[usize],
    files: &(impl Fn(usize) -> Files + Sync),
    folder: &Path,
) -> Result<()> {
    let step = numbers.len().div_ceil(MOST).max(1);
    let chosen: Vec<usize> = numbers.iter().copied().step_by(step).collect();
    let built = chosen.par_iter().map(|&number| {
        let Ok(kernel) = host_kernel(&records[number].case) else { return Ok(None) };
        let Some(text) = plant(&kernel.text) else { return Ok(None) };
        let files = files(number);
        if build_module(tools, &text, &files.path("bc"), &files.path("planted.so"))?.is_some() {
            return Ok(None);
        }
        let job = job::text(&kernel, &files.path("planted.so"), &files.path("source.so"));
        fs::write(files.path("job"), job)?;
        Ok(Some(number))
    });
    let planted: Vec<usize> = built.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let verdicts = run_jobs(tools, &planted, files, folder)?;
    let unseen: Vec<&str> = planted
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| verdict.is_right())
        .map(|(&number, _)| records[number].case.name.as_str())
        .collect();
    println!("\nplanted faults: {} of {} are found", planted.len() - unseen.len(), planted.len());
    for name in unseen.iter().take(20) {
        println!("  not found: {name}");
    }
    Ok(())
}

/// Changes the last operation of the functions that the module itself has.
pub(super) fn plant(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    // Definitions of `air.*` and of the entry are not the module's.
    let mut is_own = false;
    let mut found = None;
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("define ") {
            is_own = !line.contains("@air.") && !line.contains("@host_entry(");
        }
        if is_own && let Some(swap) = SWAPS.iter().find(|(from, _)| line.contains(from)) {
            found = Some((number, swap));
        }
    }
    let (number, (from, to)) = found?;
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    lines[number] = lines[number].replacen(from, to, 1).replace(" exact ", " ");
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::plant;

    #[test]
    fn the_last_operation_of_the_module_is_changed() {
        let text = "define void @k() {\n  %1 = fadd float 1.0, 2.0\n  %2 = fmul float %1, 2.0\n}\n\
                    define internal float @air.x(float %a0) {\n  %t = fadd float %a0, 1.0\n}\n";
        let planted = plant(text).unwrap();
        assert!(planted.contains("%2 = fadd float %1, 2.0") && planted.contains("%1 = fadd"));
        assert_eq!(plant("define void @k() {\n}\n"), None);
    }
}
