//! The reflection of a function in a library, whether the library has one or not.

use super::{Converted, LATEST, of_module};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Result};
use unshade_llvm::Module;
use unshade_metallib::function_list::Function;
use unshade_metallib::library::Library;
use unshade_metallib::reflection::{FunctionReflection, NodeId, NodeList, Reflection};

/// The reflection of a function or a module, and what only the metadata says.
#[derive(Debug)]
pub struct Source<'a> {
    buffer: Buffer<'a>,
    /// What the metadata has that a reflection can't express.
    pub findings: Diagnostics,
    /// The names of the function constants that arguments and results depend on, by their nodes.
    predicates: BTreeMap<NodeId, Vec<u8>>,
}

/// Where the reflection is.
#[derive(Debug)]
enum Buffer<'a> {
    /// In the library.
    Library(Reflection<'a>),
    /// Made of the metadata of the function's module, as Apple's linker writes it.
    Metadata(Vec<u8>),
}

impl<'a> Source<'a> {
    /// Returns the reflection of a function; `None` if neither the library nor the module has one, as for what a dynamic
    /// library exports.
    ///
    /// # Errors
    /// If the library's reflection or the module is damaged.
    pub fn of(library: &Library<'a>, function: &Function<'_>) -> Result<Option<Self>> {
        let reflection = library.reflection(function)?;
        let needs_metadata = match &reflection {
            Some(reflection) => reflection
                .function(function.name.unwrap_or_default())?
                .is_some_and(|function| function.has_predicates()),
            None => true,
        };
        let module = if needs_metadata { library.module(function)? } else { None };
        let Some(module) = module else {
            return Ok(reflection.map(Self::of_reflection));
        };
        let bitcode = module.bitcode()?;
        let module = Module::parse(bitcode.data(), bitcode.base());
        match reflection {
            Some(reflection) => {
                let mut source = Self::of_reflection(reflection);
                // Without the names, a signature is still right: a damaged module is no reason to show none.
                if let Ok(module) = module {
                    source.predicates = names(&module, &reflection);
                }
                Ok(Some(source))
            }
            None => Self::of_module(&module?),
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
        let predicates = owned(&converted);
        Ok(Some(Self {
            buffer: Buffer::Metadata(converted.root.write()?),
            findings: converted.findings,
            predicates,
        }))
    }

    fn of_reflection(reflection: Reflection<'a>) -> Self {
        Self {
            buffer: Buffer::Library(reflection),
            findings: Diagnostics::new(),
            predicates: BTreeMap::new(),
        }
    }

    /// Returns the reflection.
    ///
    /// # Errors
    /// None that a real file causes: a buffer that was made of metadata can be read.
    pub fn reflection(&self) -> Result<Reflection<'_>> {
        match &self.buffer {
            Buffer::Library(reflection) => Ok(*reflection),
            Buffer::Metadata(buffer) => Reflection::parse(buffer),
        }
    }

    /// Returns the function of a name, with the names of its predicates.
    ///
    /// # Errors
    /// If the reflection of the function is malformed.
    pub fn function(&self, name: &[u8]) -> Result<Option<FunctionReflection<'_>>> {
        let mut function = self.reflection()?.function(name)?;
        if let Some(function) = &mut function {
            function.name_predicates(|id| self.predicates.get(&id).map(Vec::as_slice));
        }
        Ok(function)
    }

    /// Returns whether the reflection is made of metadata.
    pub fn is_from_metadata(&self) -> bool {
        matches!(self.buffer, Buffer::Metadata(_))
    }
}

/// Returns the names of predicates for the nodes of a library's reflection: none if the metadata would give another one.
fn names(module: &Module<'_>, reflection: &Reflection<'_>) -> BTreeMap<NodeId, Vec<u8>> {
    let Some(converted) = reflection.version().and_then(|version| of_module(module, version).ok()) else {
        return BTreeMap::new();
    };
    match converted.root.write() {
        Ok(bytes) if bytes == reflection.flatbuffer() => owned(&converted),
        _ => BTreeMap::new(),
    }
}

fn owned(converted: &Converted<'_>) -> BTreeMap<NodeId, Vec<u8>> {
    converted.predicates.iter().map(|(&id, name)| (id, name.to_vec())).collect()
}
