//! The reflection of a function in a library, whether the library has one or not.

use super::{LATEST, of_module};
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Result};
use unshade_llvm::Module;
use unshade_metallib::function_list::Function;
use unshade_metallib::library::Library;
use unshade_metallib::reflection::{NodeList, Reflection};

/// Where the reflection of a function is.
#[derive(Debug)]
pub enum Source<'a> {
    /// In the library.
    Library(Reflection<'a>),
    /// In the metadata of the function's module.
    Metadata {
        /// The buffer that Apple's linker would write.
        buffer: Vec<u8>,
        /// What the metadata has that a reflection can't express.
        findings: Diagnostics,
    },
}

impl<'a> Source<'a> {
    /// Returns the reflection of a function; `None` if neither the library nor the module has one, as for what a dynamic
    /// library exports.
    ///
    /// # Errors
    /// If the library's reflection or the module is damaged.
    pub fn of(library: &Library<'a>, function: &Function<'_>) -> Result<Option<Self>> {
        if let Some(reflection) = library.reflection(function)? {
            return Ok(Some(Self::Library(reflection)));
        }
        match library.module(function)? {
            Some(module) => {
                let bitcode = module.bitcode()?;
                Self::of_module(&Module::parse(bitcode.data(), bitcode.base())?)
            }
            None => Ok(None),
        }
    }

    /// Returns the reflection of a module's functions; `None` if its metadata has none.
    ///
    /// # Errors
    /// If it has more parts than that of a real module.
    pub fn of_module(module: &Module<'_>) -> Result<Option<Self>> {
        let converted = of_module(module, LATEST)?;
        if NodeList::FUNCTIONS.iter().all(|list| converted.root.get(list.slot_name()).is_none()) {
            return Ok(None);
        }
        Ok(Some(Self::Metadata { buffer: converted.root.write()?, findings: converted.findings }))
    }

    /// Returns the reflection.
    ///
    /// # Errors
    /// None that a real file causes: a buffer that was made of metadata can be read.
    pub fn reflection(&self) -> Result<Reflection<'_>> {
        match self {
            Self::Library(reflection) => Ok(*reflection),
            Self::Metadata { buffer, .. } => Reflection::parse(buffer),
        }
    }

    /// Returns whether the reflection is made of metadata.
    pub fn is_from_metadata(&self) -> bool {
        matches!(self, Self::Metadata { .. })
    }

    /// Returns what could not be expressed.
    pub fn findings(&self) -> Option<&Diagnostics> {
        match self {
            Self::Library(_) => None,
            Self::Metadata { findings, .. } => Some(findings),
        }
    }
}
