//! Builds Metal libraries from modules: from a manifest ([`metallib`]), or one module at a time ([`add_module`]).
//!
//! A library's description of its functions is read from the modules themselves ([`crate::air`]). This module adds what
//! the format crate does not depend on: reading bitcode, and packing sources as the linker does, as a POSIX tar archive
//! compressed with bzip2.
//!
//! ```
//! use unshade::build;
//! use unshade::metallib::target::Target;
//! use unshade::metallib::{LibraryFile, LibraryType, Platform};
//!
//! let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
//! let mut library = LibraryFile::new(target.header(LibraryType::EXECUTABLE));
//! // Bitcode as LLVM writes it: the wrapper, padding, hash and all other fields are added.
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
use crate::load_check::{Target, Triple};
use bzip2::Compression;
use bzip2::write::BzEncoder;
use std::io::Write;
use unshade_air::reflection::{LATEST, of_module, oldest_version, version_for};
use unshade_core::{Diagnostics, Error, ErrorKind, Result};
use unshade_llvm::Module;
use unshade_metallib::document::{self, Environment};
use unshade_metallib::file::{OwnedModule, OwnedReflection};
use unshade_metallib::reflection::schema::Version;
use unshade_metallib::reflection::tables::Value;
use unshade_metallib::target::FIRST_WITH_REFLECTION;
use unshade_metallib::{LibraryFile, Platform};

/// Builds a library from a manifest in the format that [`document::build`] describes. `load` reads the files that the
/// manifest names.
///
/// # Errors
/// Those of [`document::build`] and of `load`.
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

/// Returns the platform that the triples of modules name, and the newest of its OS versions; `None` if no triple names both.
///
/// # Errors
/// If a module can't be read, or two modules are for different platforms.
pub fn target<'m>(modules: impl IntoIterator<Item = &'m [u8]>) -> Result<Option<Target>> {
    let mut newest: Option<Target> = None;
    for module in modules {
        let Triple { platform, version, .. } = Triple::new(&air::triple(module)?);
        let Some(version) = version.filter(|_| platform != Platform::UNKNOWN) else { continue };
        if let Some(other) = newest.filter(|other| other.platform != platform) {
            return Err(Error::without_offset(ErrorKind::BadValue, "modules are for different platforms")
                .expected(other.to_string())
                .found(Target { platform, version }.to_string()));
        }
        newest = newest.max(Some(Target { platform, version }));
    }
    Ok(newest)
}

/// Adds a module and all of its functions, and returns the index of the first of these.
///
/// `bitcode` may be wrapped; bare bitcode gets a wrapper.
///
/// # Errors
/// If the bitcode can't be read, has no function, or has a function whose name is already in the library.
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

/// What the metadata of a module has that its reflection can't express.
#[derive(Clone, Debug)]
pub struct LostMetadata {
    /// The module, named after its first function.
    pub module: String,
    /// What is lost: one error per part.
    pub findings: Diagnostics,
}

/// Adds the reflection of each module whose functions have none, as the linker does. Containers before 1.2.7 have no
/// reflections. Returns what reflections can't express, of each module with such metadata.
///
/// # Errors
/// If a module can't be read, or its metadata has more parts than that of a real module.
pub fn add_reflections(library: &mut LibraryFile<'_>) -> Result<Vec<LostMetadata>> {
    let mut lost = Vec::new();
    if library.header.patch < FIRST_WITH_REFLECTION {
        return Ok(lost);
    }
    let mut newest = None;
    for module in &library.modules {
        newest = newest.max(oldest_version(&Module::parse(&module.bytes, 0)?));
    }
    let version = version_for(newest, library.header.patch).unwrap_or(LATEST);
    for index in 0..library.modules.len() {
        let mut users = library.functions.iter().filter(|function| function.module == index);
        if users.clone().count() > 0 && users.all(|function| function.reflection.is_none()) {
            lost.extend(set_reflection(library, index, version)?);
        }
    }
    Ok(lost)
}

/// Makes the reflection of a module anew, if its functions have one. Returns what it can't express, if there is such
/// metadata.
///
/// # Errors
/// As [`add_reflections`].
pub fn renew_reflection(library: &mut LibraryFile<'_>, module: usize) -> Result<Option<LostMetadata>> {
    let mut users = library.functions.iter().filter(|function| function.module == module);
    let known = users.find_map(|function| function.reflection);
    let old = known.and_then(|index| library.reflections().get(index)?.tables()?.get("version").cloned());
    match old {
        Some(Value::Version(version)) => set_reflection(library, module, version),
        _ => Ok(None),
    }
}

fn set_reflection(
    library: &mut LibraryFile<'_>,
    index: usize,
    version: Version,
) -> Result<Option<LostMetadata>> {
    let Some(module) = library.modules.get(index) else { return Ok(None) };
    let parsed = Module::parse(&module.bytes, 0)?;
    let converted = of_module(&parsed, version)?;
    let reflection = OwnedReflection::of_tables(&converted.root)?;
    let mut users = library.functions.iter().enumerate().filter(|(_, function)| function.module == index);
    let module = users.next().map(|(at, function)| function.label(at)).unwrap_or_default();
    let lost = LostMetadata { module, findings: converted.findings };
    library.set_reflection(index, reflection);
    Ok(Some(lost).filter(|lost| !lost.findings.is_empty()))
}

/// Packs files, given as paths and contents, as the linker packs sources.
///
/// # Errors
/// If a path is too long for a tar archive.
pub fn pack_sources(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let packing_error = |error: std::io::Error| {
        Error::without_offset(ErrorKind::BadValue, format!("sources can't be packed: {error}"))
    };
    let mut archive = tar::Builder::new(BzEncoder::new(Vec::new(), Compression::best()));
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        // Paths of sources are absolute, which `set_path` refuses.
        let name = header.as_ustar_mut().map(|header| &mut header.name);
        let fits = name.filter(|name| path.len() <= name.len() && !path.contains('\0'));
        let name =
            fits.ok_or_else(|| packing_error(std::io::Error::other(format!("path does not fit: {path}"))))?;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content.as_slice()).map_err(packing_error)?;
    }
    let mut stream = archive.into_inner().map_err(packing_error)?;
    stream.flush().map_err(packing_error)?;
    stream.finish().map_err(packing_error)
}
