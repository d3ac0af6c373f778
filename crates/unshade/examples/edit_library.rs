//! Edits a Metal library: keeps one function, strips the embedded sources, and writes it under another name.
//!
//! ```text
//! cargo run --example edit_library -- tests/fixtures/metallib/sources_hsrd.metallib NAME smaller.metallib
//! ```

use std::error::Error;
use unshade::metallib::LibraryFile;
use unshade::metallib::edit::Strip;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: edit_library LIBRARY FUNCTION OUTPUT";
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or(usage);
    let (library, function, output) = (next()?, next()?, next()?);
    let bytes = std::fs::read(library)?;
    std::fs::write(output, keep_one(&bytes, &function)?)?;
    Ok(())
}

/// Returns the library with one of its functions.
pub(crate) fn keep_one(bytes: &[u8], name: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    // An owned library, whose parts are changed freely: sizes, offsets and hashes are computed when it is written.
    let mut library = LibraryFile::parse(bytes)?;
    let index = library.function_named(name.as_bytes()).ok_or("no such function")?;
    library.keep_functions(|at, _| at == index);
    library.strip(Strip::Sources);
    // Another library must not have the same UUID.
    library.renew_uuid()?;
    Ok(library.write()?.to_vec())
}
