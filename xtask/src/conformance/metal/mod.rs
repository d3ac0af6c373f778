//! Checks of what is said of Metal's functions: signatures, structures, linking, and how damaged files are treated.
//!
//! | check | reference |
//! |---|---|
//! | `signatures` | the reflections of Apple's linker |
//! | `headers` | the headers of MLX, from which its kernels are compiled |
//! | `structs` | offsets and sizes of `clang++` |
//! | `decompile` | none: counts of what has a form in Metal |
//! | `link` | the libraries themselves; `llvm-nm` |
//! | `native` | the modules themselves, compiled and run on the host |
//! | `native::readability` | the true sources of kernels |
//! | `mutants` | a changed file neither crashes the program nor takes more time or memory than the real one |
//!
//! Libraries are those that were carved from the packages, and `metallib/` in UNSHADE_CORPUS. A check prints counts, and fails
//! on a difference without a named cause.

mod cxx;
pub(super) mod decompile;
pub(super) mod headers;
pub(super) mod link;
pub(crate) mod mutants;
pub(crate) mod native;
pub(super) mod signatures;
pub(super) mod structs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::metallib::Library;

use super::metallib::{NEGATIVE, collect, open};
use crate::sh;

/// Maximum number of printed faults.
const SHOWN_FAULTS: usize = 40;

/// The versions of clang that know all types that the structures need, the newest first.
const CLANG_VERSIONS: [u32; 8] = [22, 21, 20, 19, 18, 17, 16, 15];

/// Counts of a check that are added up over libraries.
trait Counts: Default + Send {
    fn add(&mut self, other: Self);
    fn fault(&mut self, fault: String);

    /// Returns the sum of both.
    fn sum(mut self, other: Self) -> Self {
        self.add(other);
        self
    }
}

/// Passes every library to `read`, with a name for messages, and adds up the counts.
fn each_library<C: Counts>(read: impl Fn(&str, &Library<'_>) -> C + Sync) -> Result<C> {
    let files = collect()?;
    println!("distinct files: {}", files.len());
    let counts = files.par_iter().map(|path| {
        let mut counts = C::default();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(NEGATIVE)
            && let Err(error) = each_library_of(path, &mut |slice, library| {
                counts.add(read(&format!("{name}{slice}"), library));
            })
        {
            counts.fault(format!("{name}: {error:#}"));
        }
        counts
    });
    Ok(counts.reduce(C::default, C::sum))
}

/// Passes the libraries of a file, with the name of their slice.
fn each_library_of(path: &Path, read: &mut dyn FnMut(&str, &Library<'_>)) -> Result<()> {
    let data = fs::read(path)?;
    let program = open(&data)?;
    for named in program.metal_libraries() {
        let slice = if named.slice.is_empty() { String::new() } else { format!("!{}", named.slice) };
        read(&slice, &named.library);
    }
    Ok(())
}

/// Returns the newest clang++ that knows all types; prints a notice if there is none.
fn clang() -> Option<PathBuf> {
    let found = CLANG_VERSIONS.iter().find_map(|version| sh::find(&format!("clang++-{version}")));
    if found.is_none() {
        println!("skipped: clang++-15 or newer is not installed");
    }
    found
}

/// Adds to the count of a key.
fn count<K: Ord>(map: &mut BTreeMap<K, u64>, key: K) {
    *map.entry(key).or_default() += 1;
}

/// Prints faults, and fails if there are any.
fn conclude(faults: &[String]) -> Result<()> {
    for fault in faults.iter().take(SHOWN_FAULTS) {
        println!("fault: {fault}");
    }
    ensure!(faults.is_empty(), "{} faults", faults.len());
    Ok(())
}
