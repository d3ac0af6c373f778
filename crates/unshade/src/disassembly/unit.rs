//! A module and its origin.

use super::ProgramPart;
use crate::view::FunctionHeading;
use std::borrow::Cow;
use std::cell::RefCell;
use unshade_core::{Error, ErrorKind, Escaped, Result};
use unshade_llvm::print::Dialect;
use unshade_llvm::{self as llvm, ReadMemory};
use unshade_metallib::{Function, Library};

thread_local! {
    /// What each thread's last module has in common with the next of a library.
    static MEMORY: RefCell<ReadMemory> = RefCell::default();
}

/// A module and its origin.
#[derive(Clone, Debug)]
pub enum Unit<'a> {
    /// The module of a function.
    Function {
        /// The library.
        library: &'a Library<'a>,
        /// The function.
        function: Function<'a>,
    },
    /// The module in a part of a DXContainer.
    Part(ProgramPart<'a>),
    /// A module in a bitcode file.
    File {
        /// Name of the file.
        name: &'a str,
        /// Its bytes.
        bytes: &'a [u8],
        /// The offset of the first byte in the file.
        base: u64,
        /// The module.
        module: &'a llvm::Module<'a>,
        /// Index of the module.
        index: usize,
        /// The index of the module's first function in the file, counted through all modules.
        first_function: u32,
        /// Number of modules in the file, usually one.
        count: usize,
    },
}

impl<'a> Unit<'a> {
    /// Returns its name in file names and messages.
    pub fn name(&self) -> String {
        match self {
            Self::Function { function, .. } => match function.name {
                Some(name) => Escaped(name).to_string(),
                None => format!("function-{}", function.index),
            },
            Self::Part(part) => part.label.clone(),
            Self::File { name, count: 1, .. } => (*name).to_owned(),
            Self::File { name, index, .. } => format!("{name}#{index}"),
        }
    }

    /// Returns the name in the first line of its text: as LLVM has it, that of the file for all modules in one.
    pub fn module_id(&self) -> String {
        match self {
            Self::File { name, .. } => (*name).to_owned(),
            _ => self.name(),
        }
    }

    /// Returns its bytes and their offset in the file.
    pub fn bytes(&self) -> Result<(&'a [u8], u64)> {
        match self {
            Self::Function { library, function } => match library.module(function)? {
                Some(module) => Ok((module.bytes(), module.range().start)),
                None => Err(self.within(Error::new(
                    ErrorKind::BadValue,
                    function.range.start,
                    "the function has no module",
                ))),
            },
            Self::Part(part) => Ok((part.bitcode.data(), part.bitcode.base())),
            Self::File { bytes, base, .. } => Ok((bytes, *base)),
        }
    }

    /// Returns the index that selects a function, from its index in the module and its name. Functions that a container
    /// does not export follow those that it does.
    pub fn index_of(&self, function: usize, name: &[u8]) -> u32 {
        let (first, exported) = match self {
            Self::File { first_function, .. } => (*first_function, None),
            Self::Part(part) => {
                let name = Escaped(name).to_cow();
                let exported = part.exports.iter().position(|export| *export == name);
                (u32::try_from(part.exports.len()).unwrap_or(u32::MAX), exported)
            }
            Self::Function { .. } => (0, None),
        };
        let place = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        exported.map_or_else(|| first.saturating_add(place(function)), place)
    }

    /// Returns the module, without function bodies. That of a library or container is parsed.
    pub fn open(&self) -> Result<Cow<'a, llvm::Module<'a>>> {
        if let Self::File { module, .. } = self {
            return Ok(Cow::Borrowed(module));
        }
        let (bytes, offset) = self.bytes()?;
        let parse = |memory: &mut ReadMemory| llvm::Module::parse_with(bytes, offset, memory);
        let module = MEMORY.with_borrow_mut(parse);
        module.map(Cow::Owned).map_err(|error| self.within(error))
    }

    /// Adds the name of this module to an error.
    fn within(&self, error: Error) -> Error {
        match self {
            Self::Function { function, .. } => error.within(function.label()),
            Self::Part(part) => error.within(format!("part {}", part.name)),
            Self::File { .. } => error,
        }
    }

    /// Returns the default dialect of its text, which fits what wrote the module.
    pub fn usual_dialect(&self) -> Dialect {
        match self {
            Self::Part(_) => Dialect::Dxc,
            Self::Function { .. } => Dialect::default(),
            Self::File { bytes, base, index, .. } => {
                let modules = llvm::Module::parse_all(bytes, *base).ok();
                let producer = modules.as_ref().and_then(|modules| modules.producer(*index));
                producer.map_or_else(Dialect::default, Dialect::of_producer)
            }
        }
    }

    /// Returns comments that describe it: the declaration, and its location in the source.
    pub fn heading(&self) -> String {
        let (library, function) = match self {
            Self::Function { library, function } => (library, function),
            Self::Part(part) => return part.heading(),
            Self::File { count: 1, .. } => return String::new(),
            Self::File { index, count, .. } => return format!("; module {} of {count}\n", index + 1),
        };
        let heading = FunctionHeading::new(library, function);
        let lines = heading.declaration.lines().chain(heading.location.as_deref());
        lines.map(|line| format!("; {line}\n")).collect()
    }
}
