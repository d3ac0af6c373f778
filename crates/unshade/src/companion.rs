//! Joins a Metal library with its symbol companion (`.metallibsym`), which has the sources and debug information that were
//! split off ([`unshade_metallib::companion`]).

use crate::bitcode_edit::BitcodeEdit;
use unshade_core::{Error, ErrorKind, Escaped, Result};
use unshade_metallib::LibraryFile;

/// Puts the sources and debug information of a companion back into its library.
///
/// ```
/// use unshade::metallib::LibraryFile;
/// use unshade::metallib::edit::Strip;
///
/// let file = include_bytes!("../../../tests/fixtures/metallib/sources_hsrd.metallib");
/// let mut library = LibraryFile::parse(file)?;
/// let companion = library.companion()?;
/// library.strip(Strip::Sources);
/// unshade::companion::join(&mut library, companion)?;
/// assert_eq!(library.write()?.to_vec(), file);
/// # Ok::<(), unshade::core::Error>(())
/// ```
///
/// # Errors
/// As [`LibraryFile::join`], or if a module differs in more than debug information.
pub fn join<'a>(library: &mut LibraryFile<'a>, companion: LibraryFile<'a>) -> Result<()> {
    // The companion has to be that of the library before modules are compared.
    let mut joined = library.clone();
    joined.join(companion)?;
    let (ours, theirs) = (without_debug(library)?, without_debug(&joined)?);
    for (own, other) in ours.functions.iter().zip(&theirs.functions) {
        let module =
            |file: &LibraryFile<'_>, index: usize| file.modules.get(index).map(|one| one.bytes.to_vec());
        if module(&ours, own.module) != module(&theirs, other.module) {
            let message = "the companion's module differs in more than debug information";
            return Err(Error::without_offset(ErrorKind::BadValue, message)
                .within(Escaped(&own.name).quoted())
                .hint("the library was edited after the companion was split off"));
        }
    }
    *library = joined;
    Ok(())
}

/// Returns a copy whose modules have no debug information.
fn without_debug<'a>(library: &LibraryFile<'a>) -> Result<LibraryFile<'a>> {
    let mut copy = library.clone();
    BitcodeEdit { strip_debug: true, ..BitcodeEdit::default() }.library(&mut copy, |_| true)?;
    Ok(copy)
}
