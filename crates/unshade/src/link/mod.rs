//! Links Metal modules into a library, as Apple's `air-lld` does.
//!
//! | module | holds |
//! |---|---|
//! | `inputs` | what each input defines and needs |
//! | `modules` | the modules of the library, and what is missing |
//! | `library` | the library around them: functions, reflection, dynamic header |
//! | `tables` | the tables of modules that name dynamic libraries |
//!
//! An executable library has one module for each entry point, with what it reaches in all inputs. A dynamic library has
//! one module, and exports its visible functions. A module that needs nothing from others and has nothing that is not
//! reached is taken as it is, so that the modules of a library become the same library again. Nothing is optimised.
//!
//! The library repeats what its modules say: names, types and versions of functions, vertex attributes, function
//! constants, reflection, target. Functions of a dynamic library and imports are in the order of LLVM's table of strings.
//!
//! ```
//! use unshade::link::{self, LinkInput, LinkOptions};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/air/kernel.bc");
//! # let bytes = std::fs::read(path)?;
//! let input = LinkInput { name: "kernel.air".into(), bytes: bytes.as_slice().into(), is_member: false };
//! let linked = link::link(&[input], &LinkOptions::default()).expect("nothing is missing");
//! let file = linked.file.write()?.to_vec();
//! assert_eq!(unshade::metallib::Library::parse(&file)?.functions().count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: 407 libraries of Apple's linker and the modules in them, 28 of them dynamic ones and 15 linked against these.

mod inputs;
mod library;
mod modules;
mod tables;

use std::borrow::Cow;
use unshade_core::Error;
use unshade_metallib::target::Target;
use unshade_metallib::{Library, LibraryFile};

/// A module to link.
#[derive(Clone, Debug)]
pub struct LinkInput<'i> {
    /// Its name in messages.
    pub name: String,
    /// Its bitcode, with or without a wrapper.
    pub bytes: Cow<'i, [u8]>,
    /// Whether it is the member of an archive. Of members of archives a dynamic library only has what other inputs need.
    pub is_member: bool,
}

/// A dynamic library that provides symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicLibrary {
    /// Its install name.
    pub install_name: Vec<u8>,
    /// The names of its functions and variables.
    pub exports: Vec<Vec<u8>>,
}

impl DynamicLibrary {
    /// Reads the install name and the exports of a library.
    ///
    /// # Errors
    /// If the library can't be read, or has no install name.
    pub fn read(library: &Library<'_>) -> unshade_core::Result<Self> {
        use unshade_core::ErrorKind;
        let name = library.dynamic_header()?.and_then(|header| header.install_name());
        let is_dynamic = library.header().library_type() == unshade_metallib::LibraryType::DYNAMIC;
        let Some(name) = name.filter(|_| is_dynamic) else {
            let found = library.header().library_type().to_string();
            return Err(Error::without_offset(
                ErrorKind::BadValue,
                "only a dynamic library can be linked against",
            )
            .found(format!("a library that is {found}")));
        };
        let functions = library.functions().collect::<unshade_core::Result<Vec<_>>>()?;
        let functions = functions.iter().filter_map(|function| function.name);
        let variables = library.exported_variables()?;
        Ok(Self {
            install_name: name.to_vec(),
            exports: functions.chain(variables).map(<[u8]>::to_vec).collect(),
        })
    }
}

/// How to link.
#[derive(Debug, Default)]
pub struct LinkOptions<'o> {
    /// The platform and its OS [default: those of the first module's triple].
    pub target: Option<Target>,
    /// Whether the library is a dynamic one.
    pub dynamic: bool,
    /// The install name of a dynamic library; of an executable library for OS versions of 2025 and later, the name of the file.
    pub install_name: Option<Vec<u8>>,
    /// The dynamic libraries that provide symbols, in their order in the library.
    pub libraries: Vec<DynamicLibrary>,
    /// The UUID [default: one made of the content].
    pub uuid: Option<[u8; 16]>,
    /// A library whose header, order of functions, sources, source locations and form the result has, as far as its
    /// functions have the same names; and its UUID, if all modules are the same.
    pub like: Option<LibraryFile<'o>>,
}

/// A linked library.
#[derive(Debug)]
#[non_exhaustive]
pub struct Linked<'o> {
    /// The library.
    pub file: LibraryFile<'o>,
    /// What the metadata of functions has that their reflection can't express, and what of the inputs is not used.
    pub notes: Vec<String>,
    /// The number of modules that are in the library as they were.
    pub unchanged: usize,
}

/// Links modules into a library.
///
/// # Errors
/// All faults: modules that can't be read, symbols that nothing defines, symbols that two modules define, functions of one
/// name.
pub fn link<'o>(inputs: &[LinkInput<'_>], options: &LinkOptions<'o>) -> Result<Linked<'o>, Vec<Error>> {
    let inputs = inputs::Inputs::read(inputs)?;
    let built = modules::build(&inputs, options)?;
    library::build(&inputs, built, options).map_err(|error| vec![error])
}

#[cfg(test)]
mod tests;
