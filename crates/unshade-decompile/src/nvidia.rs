//! Decompiles NVIDIA machine code: the front end, with its idioms, and everything after it.

use crate::pass::idiom::Idioms;
use crate::pass::{self, Observer};
pub use crate::sass::{Functions, Source, idioms};
use crate::{Cache, DecompileError, Decompiled, Options, Prepared, sass};

/// Creates what the functions of a program share, with the idioms of NVIDIA's compilers.
pub fn cache() -> Cache {
    Cache::new(idioms())
}

/// Returns the passes in the order in which they first run: name, and what the pass does.
pub fn passes() -> Vec<(&'static str, &'static str)> {
    pass::passes(&idioms())
}

/// Infers how the device functions among `sources` are called. `sources` are all functions of a program that call device
/// functions, or are such.
pub fn device_functions(sources: &[&Source<'_>], options: &Options, cache: &mut Cache) -> Functions {
    let mut functions = Functions::infer(sources, options.budget);
    for name in functions.order().to_vec() {
        let Some(source) = sources.iter().find(|source| source.name == name) else { continue };
        let decompiled = decompile_cached(source, &functions, options, cache).ok();
        if let Some(mut prototype) = decompiled.and_then(|decompiled| decompiled.prototype) {
            let known = functions.get(&name).and_then(|callee| callee.parameters.first());
            let name = known.and_then(|first| first.name.clone());
            if let Some(first) = prototype.parameters.first_mut().filter(|first| first.size == 8) {
                first.name = name.or(first.name.take());
            }
            functions.insert(prototype);
        }
    }
    functions
}

/// Decompiles a function.
///
/// # Errors
///
/// Fails if it exceeds the budget, or its control flow cannot be followed.
pub fn decompile(source: &Source<'_>, options: &Options) -> Result<Decompiled, DecompileError> {
    decompile_cached(source, &Functions::default(), options, &mut cache())
}

/// Decompiles one of several functions, which may call the device functions in `functions`. The functions of a program
/// share a [`cache`].
///
/// # Errors
///
/// Fails as [`decompile`] does.
pub fn decompile_cached(
    source: &Source<'_>,
    functions: &Functions,
    options: &Options,
    cache: &mut Cache,
) -> Result<Decompiled, DecompileError> {
    decompile_observed(source, functions, options, cache, &mut |_, _| {})
}

/// Decompiles as [`decompile_cached`] does, and calls `observe` after each pass, with its name in [`passes`].
///
/// # Errors
///
/// Fails as [`decompile`] does.
pub fn decompile_observed(
    source: &Source<'_>,
    functions: &Functions,
    options: &Options,
    cache: &mut Cache,
    observe: &mut Observer<'_>,
) -> Result<Decompiled, DecompileError> {
    let prepared = prepare(source, functions, options, &mut cache.idioms, observe)?;
    Ok(cache.print(&prepared, options))
}

/// Does all of [`decompile_observed`] but printing, for which the functions of a program come one after the other.
///
/// # Errors
///
/// Fails as [`decompile`] does.
pub fn prepare<'s>(
    source: &'s Source<'_>,
    functions: &Functions,
    options: &Options,
    idioms: &mut Idioms,
    observe: &mut Observer<'_>,
) -> Result<Prepared<'s>, DecompileError> {
    let module = sass::lift(source, functions, options.budget)?;
    Ok(Prepared::new(module, options, idioms, observe))
}
