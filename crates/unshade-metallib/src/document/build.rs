//! Builds a library from modules and a manifest.
//!
//! A manifest is a document (`--- !metallib`, optional) in which most keys are optional:
//!
//! | missing key | default |
//! |---|---|
//! | `Version`, `MacOS`, `Bits64` | what Apple's linker writes for `Platform` and `OS` ([`crate::target`]) |
//! | `Type` | executable |
//! | `Functions` | all functions of all modules |
//! | of a function: `Name`, `Type`, `AIR`, `Language`, `Tessellation`, `LayerType`, `Attributes`, `Constants` | as described by the module |
//! | `UUID` | computed; `UUID: none` omits it |
//!
//! `Tessellation`, `LayerType`, `Attributes` and `Constants` may be `none` to override the module.
//!
//! A function has a `Module`, the index of its module, or a `File` that contains it. A file without a `Name` stands for
//! all of its functions. Instead of `Compressed`, a source archive may have `Files`, each with a `Path` in the archive
//! and its content as `File` or `Text`.

use super::{Environment, TAG, dialect, function, header_of, list, read_module, read_version, section};
use crate::file::{ExtensionTag, LibraryFile, OwnedFunction, OwnedModule};
use crate::header::{Header, LibraryType, Platform};
use crate::target::{FIRST_WITH_PLATFORM, FIRST_WITH_UUID, Target};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::yaml::{MapReader, Node, parse};
use unshade_core::{Error, Escaped, Result};

/// Builds a library from a manifest.
///
/// # Errors
/// If the manifest is invalid, with line and column: unknown or duplicate keys, functions of the same name, unknown
/// modules and functions, invalid values. Also the errors of the callbacks in [`Environment`].
pub fn build(text: &str, environment: &mut Environment<'_>) -> Result<LibraryFile<'static>> {
    let documents = parse(text)?;
    let fits = |tag: &str| tag == TAG || tag.is_empty();
    let document = documents.iter().find(|document| fits(document.tag));
    let document = document.ok_or_else(|| super::no_document(&documents))?;
    let mut map = MapReader::new(&document.root)?;
    let mut builder = Builder {
        file: LibraryFile::new(read_header(&mut map, &document.root)?),
        known: Vec::new(),
        files: BTreeMap::new(),
        names: BTreeSet::new(),
        environment,
    };
    builder.file.dialect = dialect(&mut map)?;
    builder.file.shared_group = map.field_or("SharedGroup", false)?;
    for (index, node) in list(&mut map, "Modules")?.iter().enumerate() {
        let within = |error: Error| error.within(format!("Modules[{index}]"));
        let module = read_module(node, builder.environment.load).map_err(within)?;
        builder.add_module(module).map_err(|error| at_node(node, error)).map_err(within)?;
    }
    match map.take("Functions") {
        Some(node) => {
            for (index, node) in node.items()?.iter().enumerate() {
                builder.add_functions(node).map_err(|error| error.within(format!("Functions[{index}]")))?;
            }
        }
        None => builder.add_all_functions(&document.root)?,
    }
    if let Some(node) = map.take("Extension") {
        for node in &node.items()? {
            let tag = section::read_with(node, Some(&mut *builder.environment))?;
            builder.file.extension.get_or_insert_default().push(tag);
        }
    }
    let uuid = map.take("UUID");
    map.finish()?;
    let mut file = builder.file;
    set_uuid(&mut file, uuid)?;
    // Checks the references of functions to archives and reflection buffers.
    file.write()?;
    Ok(file)
}

/// Adds line and column to an error that does not come from the manifest.
fn at_node(node: &Node<'_>, error: Error) -> Error {
    error.within(format!("line {}, column {}", node.line, node.column))
}

struct Builder<'e, 'm> {
    file: LibraryFile<'static>,
    /// The functions of each module.
    known: Vec<Vec<OwnedFunction<'static>>>,
    /// The files read so far, with the indices of their modules.
    files: BTreeMap<String, usize>,
    names: BTreeSet<Vec<u8>>,
    environment: &'e mut Environment<'m>,
}

impl Builder<'_, '_> {
    /// Adds a module. Returns its index.
    fn add_module(&mut self, module: OwnedModule<'static>) -> Result<usize> {
        let index = self.file.modules.len();
        let mut known = (self.environment.functions)(&module.bytes)?;
        known.iter_mut().for_each(|function| function.module = index);
        self.known.push(known);
        self.file.modules.push(module);
        Ok(index)
    }

    /// Returns the index of the module in a file. Reads each file once.
    fn module_of_file(&mut self, node: &Node<'_>) -> Result<usize> {
        let name = node.text().ok_or_else(|| node.expected("the name of a file"))?;
        if let Some(index) = self.files.get(name) {
            return Ok(*index);
        }
        let bytes = (self.environment.load)(name).map_err(|error| at_node(node, error))?;
        let module = super::module_of(bytes).map_err(|error| at_node(node, error))?;
        let index =
            self.add_module(module).map_err(|error| at_node(node, error.within(String::from(name))))?;
        self.files.insert(name.into(), index);
        Ok(index)
    }

    /// Adds the functions that one entry of `Functions` stands for.
    fn add_functions(&mut self, node: &Node<'_>) -> Result<()> {
        let mut map = MapReader::new(node)?;
        let module = match (map.take("File"), map.take("Module")) {
            (Some(file), None) => self.module_of_file(file)?,
            (None, Some(_)) => map.field::<u32>("Module")? as usize,
            _ => return Err(node.fault("a function needs exactly one of the keys `File` and `Module`")),
        };
        let known = self.known.get(module).ok_or_else(|| {
            let count = self.known.len();
            node.fault("no such module")
                .expected(format!("a number below {count}"))
                .found(format!("{module}"))
        })?;
        let selected = match map.take("Name").and_then(Node::text) {
            Some(name) => {
                let same = |function: &&OwnedFunction<'_>| *function.name == *name.as_bytes();
                let only = (known.len() == 1).then(|| known.first()).flatten();
                let found = known.iter().find(same).or(only);
                alloc::vec![found.cloned().ok_or_else(|| no_function(node, name, known))?]
            }
            None if map.take("Type").is_some() && known.len() != 1 => {
                return Err(node.fault("key `Name` is required, because the module has several functions"));
            }
            None => known.clone(),
        };
        if selected.is_empty() {
            return Err(node.fault("module has no functions"));
        }
        for function in selected {
            let function = function::fill(&mut map, function)?;
            self.add(function, node)?;
        }
        map.finish()
    }

    fn add_all_functions(&mut self, root: &Node<'_>) -> Result<()> {
        for function in core::mem::take(&mut self.known).into_iter().flatten() {
            self.add(function, root)?;
        }
        Ok(())
    }

    fn add(&mut self, function: OwnedFunction<'static>, node: &Node<'_>) -> Result<()> {
        if !self.names.insert(function.name.to_vec()) {
            let name = Escaped(&function.name).quoted();
            return Err(node.fault(format!("duplicate function {name}")));
        }
        self.file.functions.push(function);
        Ok(())
    }
}

fn no_function(node: &Node<'_>, name: &str, known: &[OwnedFunction<'_>]) -> Error {
    let names: Vec<String> =
        known.iter().take(8).map(|known| Escaped(&known.name).to_cow().into_owned()).collect();
    node.fault(format!("module has no function {}", Escaped(name.as_bytes()).quoted()))
        .expected(names.join(", "))
}

/// Parses the header. Its defaults follow from platform and OS.
fn read_header(map: &mut MapReader<'_, '_>, root: &Node<'_>) -> Result<Header> {
    let platform = match map.take("Platform") {
        Some(node) => Some(Platform(super::read_named(node, Platform::from_name, |platform| platform.0)?)),
        None => None,
    };
    let os = map.take("OS").map(|node| super::narrow_os(read_version(node)?, node)).transpose()?;
    let usual = match (platform, os) {
        (Some(platform), Some(os)) => Target { platform, os }.header(LibraryType::EXECUTABLE),
        _ if map.take("Version").is_some() => Header::of_version(0),
        _ => return Err(root.fault("missing keys: either `Platform` and `OS`, or `Version`")),
    };
    let header = header_of(map, usual)?;
    if header.patch < FIRST_WITH_PLATFORM && (header.raw_platform != 0 || header.os_major != 0) {
        let message = format!("container version {} can't store platform and OS", header.version());
        return Err(root.fault(message).expected("1.2.6 or later"));
    }
    Ok(header)
}

fn set_uuid(file: &mut LibraryFile<'static>, given: Option<&Node<'_>>) -> Result<()> {
    match given.map(|node| (node, node.text())) {
        Some((_, Some("none"))) => return Ok(()),
        Some((node, text)) => {
            let uuid =
                text.and_then(section::parse_uuid).ok_or_else(|| node.expected("32 hex digits, or none"))?;
            file.set_uuid(Some(uuid));
        }
        None => {
            let has_tags = file.extension.is_some() && file.dialect == crate::library::Dialect::Linker;
            let has_uuid = file.extension.iter().flatten().any(|tag| matches!(tag, ExtensionTag::Uuid(_)));
            // Before 1.2.5, the linker writes no UUID.
            if has_tags && !has_uuid && file.header.patch >= FIRST_WITH_UUID {
                file.set_uuid(Some([0; 16]));
                file.renew_uuid()?;
            }
        }
    }
    Ok(())
}
