//! Metal libraries built from modules: with a manifest ([`metallib`]), or from a program ([`add_module`]).
//!
//! What a library says of its functions is taken from the modules themselves ([`crate::air`]). What needs more than the
//! format does is here: bitcode is read, and sources are packed as the linker packs them, a POSIX tar archive in
//! bzip2.
//!
//! ```
//! use unshade::build;
//! use unshade::metallib::target::Target;
//! use unshade::metallib::{LibraryFile, LibraryType, Platform};
//!
//! let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
//! let mut library = LibraryFile::new(target.header(LibraryType::EXECUTABLE));
//! // Bitcode as LLVM writes it: wrapper, padding, hash and every other fact are added.
//! let bitcode = include_bytes!("../../../tests/fixtures/air/kernel.bc");
//! build::add_module(&mut library, bitcode)?;
//! library.set_uuid(Some([0; 16]));
//! library.renew_uuid()?;
//! let file = library.write()?.to_vec();
//!
//! let read = unshade::metallib::Library::parse(&file)?;
//! assert_eq!(read.functions().next().unwrap()?.shown_name(), "scale");
//! # Ok::<(), unshade::core::Error>(())
//! ```

use crate::air;
use bzip2::Compression;
use bzip2::write::BzEncoder;
use std::io::Write;
use unshade_core::{Error, ErrorKind, Result};
use unshade_metallib::LibraryFile;
use unshade_metallib::document::{self, Environment};
use unshade_metallib::file::OwnedModule;

/// Builds a library from a manifest, whose form [`document::build`] tells; `load` reads the files that it names.
///
/// # Errors
/// As [`document::build`], and what `load` fails with.
pub fn metallib(
    manifest: &str,
    load: &mut dyn FnMut(&str) -> Result<Vec<u8>>,
) -> Result<LibraryFile<'static>> {
    let mut functions = |module: &[u8]| air::functions(module);
    let mut pack = pack_sources;
    let mut load = |name: &str| load(name);
    document::build(
        manifest,
        &mut Environment { load: &mut load, functions: &mut functions, pack: &mut pack },
    )
}

/// Adds a module and every function in it, and returns the number of the first of these.
///
/// `bitcode` may have its wrapper; if it has none, it gets one.
///
/// # Errors
/// If the bitcode can't be read, has no function, or has one of a name that the library has already.
pub fn add_module(library: &mut LibraryFile<'_>, bitcode: &[u8]) -> Result<usize> {
    let functions = air::functions(bitcode)?;
    if functions.is_empty() {
        return Err(Error::without_offset(ErrorKind::BadValue, "module has no functions"));
    }
    for function in &functions {
        if library.function_named(&function.name).is_some() {
            let name = unshade_core::Escaped(&function.name).quoted();
            return Err(Error::without_offset(
                ErrorKind::BadValue,
                format!("two functions of the name {name}"),
            ));
        }
    }
    let is_bare = bitcode.starts_with(&unshade_metallib::module::BITCODE_MAGIC);
    let module = library.modules.len();
    library.modules.push(match is_bare {
        true => OwnedModule::of_bitcode(bitcode)?,
        false => OwnedModule::of_bytes(bitcode.to_vec()),
    });
    let first = library.functions.len();
    for mut function in functions {
        function.module = module;
        library.functions.push(function);
    }
    Ok(first)
}

/// Packs files, paths and contents, as the linker packs sources.
///
/// # Errors
/// If a path is too long for a tar archive.
pub fn pack_sources(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let wrong = |error: std::io::Error| {
        Error::without_offset(ErrorKind::BadValue, format!("sources can't be packed: {error}"))
    };
    let mut archive = tar::Builder::new(BzEncoder::new(Vec::new(), Compression::best()));
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        // Paths of sources are absolute, which the safe way to set them refuses.
        let name = header.as_ustar_mut().map(|header| &mut header.name);
        let fits = name.filter(|name| path.len() <= name.len() && !path.contains('\0'));
        let name = fits.ok_or_else(|| wrong(std::io::Error::other(format!("path does not fit: {path}"))))?;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content.as_slice()).map_err(wrong)?;
    }
    let mut stream = archive.into_inner().map_err(wrong)?;
    stream.flush().map_err(wrong)?;
    stream.finish().map_err(wrong)
}
