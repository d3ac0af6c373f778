//! Conversion of libraries to and from YAML.
//!
//! A library is one document, `--- !metallib`. Derived values are omitted: counts, sizes, offsets, hashes that match,
//! the wrapper and padding of modules. Keys are also omitted for parts that a library does not have. Converting back
//! reproduces the library exactly.
//!
//! Modules and source archives are lists of bytes in the document. Modules can also be separate files: [`to_yaml_with`]
//! asks for the name of each, [`from_yaml_with`] for its content.
//!
//! | key | content |
//! |---|---|
//! | `Version`, `MacOS`, `Type`, `Stub`, `Platform`, `Bits64`, `OS` | the header |
//! | `Writer`, `SharedGroup` | which tool's conventions to follow |
//! | `Functions` | tags and metadata of each function ([`function`]) |
//! | `Modules` | `Bitcode`, `Bytes` (including the wrapper) or `File` (either) |
//! | `Extension` | sections, UUID and other tags, in order ([`section`]) |

mod build;
pub mod function;
pub mod reflection;
pub mod section;

pub use build::build;

use crate::file::{LibraryFile, OwnedFunction, OwnedModule};
use crate::header::{Header, LibraryType, Platform, Version};
use crate::library::Dialect;
use crate::module;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::bytes::Bytes;
use unshade_core::yaml::{Document, DocumentWriter, Kind, MapReader, MapWriter, Node, Yaml, parse};
use unshade_core::{Error, ErrorKind, Result};

/// The tag of the document.
pub const TAG: &str = "!metallib";

/// Returns the name of the file for a module; `None` to put its bytes into the document.
pub type NameModule<'n> = dyn FnMut(usize, &OwnedModule<'_>) -> Option<String> + 'n;

/// Reads a file that a document refers to.
pub type Load<'l> = dyn FnMut(&str) -> Result<Vec<u8>> + 'l;

/// Returns the functions of a module, as far as it describes them, with module index 0.
pub type DescribeModule<'d> = dyn FnMut(&[u8]) -> Result<Vec<OwnedFunction<'static>>> + 'd;

/// Packs files (paths and contents) into a source archive: a tar archive, compressed with bzip2.
pub type PackSources<'p> = dyn FnMut(&[(String, Vec<u8>)]) -> Result<Vec<u8>> + 'p;

/// The callbacks by which [`build`] reads files and inspects modules.
pub struct Environment<'e> {
    /// Reads a file that the manifest refers to.
    pub load: &'e mut Load<'e>,
    /// Returns the functions of a module.
    pub functions: &'e mut DescribeModule<'e>,
    /// Packs source files.
    pub pack: &'e mut PackSources<'e>,
}

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// Converts a library to YAML, including all bytes.
///
/// ```
/// use unshade_metallib::{LibraryFile, document};
///
/// # let mut file = vec![0; 92];
/// # file[..12].copy_from_slice(b"MTLB\x01\x80\x02\x00\x02\x00\x00\x00");
/// # file[16] = 92; file[24] = 88;
/// # for section in [40, 56, 72] { file[section] = 92; }
/// let text = document::to_yaml(&LibraryFile::parse(&file)?)?;
/// assert!(text.starts_with("--- !metallib\nVersion:         1.2.2\n"));
/// assert_eq!(document::from_yaml(&text)?.write()?.to_vec(), file);
/// # Ok::<(), unshade_core::Error>(())
/// ```
///
/// # Errors
/// None: values without a name are written as numbers.
pub fn to_yaml(file: &LibraryFile<'_>) -> Result<String> {
    to_yaml_with(file, &mut |_, _| None)
}

/// Converts a library to YAML, with modules in separate files.
///
/// # Errors
/// As [`to_yaml`].
pub fn to_yaml_with(file: &LibraryFile<'_>, name_module: &mut NameModule<'_>) -> Result<String> {
    let mut out = String::new();
    write_yaml(file, name_module, &mut out)?;
    Ok(out)
}

/// Writes a library as YAML in pieces: neither the text nor the nodes of a large library are ever all in memory.
///
/// # Errors
/// If `out` fails.
pub fn write_yaml(
    file: &LibraryFile<'_>,
    name_module: &mut NameModule<'_>,
    out: &mut dyn fmt::Write,
) -> Result<()> {
    let hashes = file.module_hashes();
    let mut map = MapWriter::default();
    put_header(&file.header, &mut map);
    if file.dialect == Dialect::Legacy {
        map.node("Writer", Node::plain("legacy"));
    }
    if file.shared_group {
        map.node("SharedGroup", Node::plain("true"));
    }
    let mut document = DocumentWriter::new(TAG, out);
    document.map(map);
    document.list("Functions", &mut file.functions.iter().map(|function| function::node(function, &hashes)));
    let modules = file.modules.iter().enumerate();
    let mut modules = modules.map(|(index, module)| module_node(module, name_module(index, module)));
    document.list("Modules", &mut modules);
    if let Some(tags) = &file.extension {
        document.list("Extension", &mut tags.iter().map(section::node));
    }
    document
        .finish()
        .and_then(|()| out.write_str("...\n"))
        .map_err(|_| Error::without_offset(ErrorKind::Unsupported, "can't write the YAML output"))
}

/// Parses a library from YAML that contains all bytes.
///
/// # Errors
/// If the text is not such a document, or a value is invalid; the message has line and column.
pub fn from_yaml(text: &str) -> Result<LibraryFile<'static>> {
    from_yaml_with(text, &mut |name| {
        let message = format!(
            "the document refers to file `{}`, but files can't be read here",
            unshade_core::Escaped(name.as_bytes())
        );
        Err(Error::without_offset(ErrorKind::Unsupported, message))
    })
}

/// Parses a library from YAML; `load` reads the files that it refers to.
///
/// # Errors
/// As [`from_yaml`], and the errors of `load`.
pub fn from_yaml_with(text: &str, load: &mut Load<'_>) -> Result<LibraryFile<'static>> {
    let documents = parse(text)?;
    let document =
        documents.iter().find(|document| document.tag == TAG).ok_or_else(|| no_document(&documents))?;
    let mut map = MapReader::new(&document.root)?;
    if map.take("Version").is_none() {
        return Err(document.root.fault("key `Version` is missing").expected("such as 1.2.7"));
    }
    let mut file = LibraryFile::new(header_of(&mut map, Header::of_version(0))?);
    file.dialect = dialect(&mut map)?;
    file.shared_group = map.field_or("SharedGroup", false)?;
    for (index, node) in list(&mut map, "Functions")?.iter().enumerate() {
        let read = function::read(node).map_err(|error| error.within(format!("Functions[{index}]")))?;
        file.functions.push(read);
    }
    for (index, node) in list(&mut map, "Modules")?.iter().enumerate() {
        let read = read_module(node, load).map_err(|error| error.within(format!("Modules[{index}]")))?;
        file.modules.push(read);
    }
    file.extension = match map.take("Extension") {
        None => None,
        Some(node) => Some(node.items()?.iter().map(section::read).collect::<Result<_>>()?),
    };
    map.finish()?;
    Ok(file)
}

fn no_document(documents: &[Document<'_>]) -> Error {
    let found = documents.first().map_or_else(|| "nothing".into(), |document| format!("`{}`", document.tag));
    Error::without_offset(ErrorKind::BadMagic, "no Metal library document")
        .expected(format!("--- {TAG}"))
        .found(found)
}

/// Returns the items of the list at a key; an empty list if the key is missing.
pub(crate) fn list<'n>(map: &mut MapReader<'n, '_>, key: &'static str) -> Result<Vec<Node<'n>>> {
    map.take(key).map(Node::items).transpose().map(Option::unwrap_or_default)
}

fn put_header(header: &Header, map: &mut MapWriter<'_>) {
    map.node("Version", Node::plain(format!("{}", header.version())));
    map.node("MacOS", Node::plain(if header.macos_flag() { "true" } else { "false" }));
    map.node("Type", named(header.library_type().name(), header.library_type().0.into()));
    if header.is_stub() {
        map.node("Stub", Node::plain("true"));
    }
    if header.raw_platform != 0 {
        map.node("Platform", named(header.platform().name(), header.platform().0.into()));
        map.node("Bits64", Node::plain(if header.is_64_bit() { "true" } else { "false" }));
    }
    if let Some(version) = header.os_version() {
        map.node(
            "OS",
            Node::plain(match version {
                Version { major, minor, patch: 0 } => format!("{major}.{minor}"),
                _ => format!("{version}"),
            }),
        );
    }
}

/// Parses the header. Values that are missing default to those in `usual`.
fn header_of(map: &mut MapReader<'_, '_>, usual: Header) -> Result<Header> {
    let flag = |map: &mut MapReader<'_, '_>, key, usual: bool| {
        map.field_or(key, usual).map(|set| if set { 0x80 } else { 0 })
    };
    let mut header = usual;
    if let Some(node) = map.take("Version") {
        let version = read_version(node)?;
        (header.raw_major, header.minor, header.patch) =
            (version.major & 0x7fff, version.minor, version.patch);
    }
    let mac: u8 = flag(map, "MacOS", usual.macos_flag())?;
    header.raw_major = header.raw_major & 0x7fff | u16::from(mac) << 8;
    let named = map.take("Type").map(|node| read_named(node, LibraryType::from_name, |kind| kind.0));
    let kind = named.transpose()?.unwrap_or(usual.library_type().0);
    header.raw_type = kind & 0x7f | flag(map, "Stub", usual.is_stub())?;
    let named = map.take("Platform").map(|node| read_named(node, Platform::from_name, |platform| platform.0));
    let platform = named.transpose()?.unwrap_or(usual.platform().0);
    header.raw_platform = platform & 0x7f | flag(map, "Bits64", usual.is_64_bit())?;
    if let Some(node) = map.take("OS") {
        (header.os_major, header.os_minor, header.os_patch) = narrow_os(read_version(node)?, node)?;
    }
    Ok(header)
}

fn narrow_os(os: Version, node: &Node<'_>) -> Result<(u16, u8, u8)> {
    match (u8::try_from(os.minor), u8::try_from(os.patch)) {
        (Ok(minor), Ok(patch)) => Ok((os.major, minor, patch)),
        _ => Err(node.expected("a version whose second and third numbers are below 256")),
    }
}

fn dialect(map: &mut MapReader<'_, '_>) -> Result<Dialect> {
    let Some(node) = map.take("Writer") else { return Ok(Dialect::Linker) };
    match node.text() {
        Some("linker") => Ok(Dialect::Linker),
        Some("legacy") => Ok(Dialect::Legacy),
        _ => Err(node.expected("linker or legacy")),
    }
}

/// Parses up to three numbers separated by dots; missing numbers are 0.
fn read_version(node: &Node<'_>) -> Result<Version> {
    let text = node.text().unwrap_or_default();
    let mut numbers = text.split('.').map(|number| number.parse::<u16>().ok());
    let wrong = || node.expected("a version, such as 14.0");
    let mut next = || numbers.next().unwrap_or(Some(0)).ok_or_else(wrong);
    let version = Version { major: next()?, minor: next()?, patch: next()? };
    if numbers.next().is_some() { Err(wrong()) } else { Ok(version) }
}

/// Returns a node with the name of a value, or the number if it has no name.
fn named<'a>(name: Option<&'static str>, value: u64) -> Node<'a> {
    name.map_or_else(|| Node::number(value), Node::string)
}

/// Parses a value given as its name or as a number.
fn read_named<T>(
    node: &Node<'_>,
    from_name: impl Fn(&str) -> Option<T>,
    number: impl Fn(T) -> u8,
) -> Result<u8> {
    match node.text().and_then(from_name) {
        Some(named) => Ok(number(named)),
        None => u8::from_node(node)
            .map_err(|_| node.expected("a number below 256, or its name in docs/formats/metallib.md")),
    }
}

fn module_node<'a>(module: &'a OwnedModule<'_>, file: Option<String>) -> Node<'a> {
    let mut map = MapWriter::default();
    match file {
        Some(name) => map.node("File", Node::string(name)),
        None => match module::canonical_bitcode(&module.bytes) {
            Some(bitcode) => map.node("Bitcode", bytes_node(bitcode)),
            None => map.node("Bytes", bytes_node(&module.bytes)),
        },
    }
    if !module.stray.is_empty() {
        map.node("Stray", bytes_node(&module.stray));
    }
    map.finish()
}

fn read_module(node: &Node<'_>, load: &mut Load<'_>) -> Result<OwnedModule<'static>> {
    let mut map = MapReader::new(node)?;
    let (bitcode, bytes) = (map.take("Bitcode"), map.take("Bytes"));
    let file = map.take("File");
    let module = match (bitcode, bytes, file) {
        (Some(bitcode), None, None) => OwnedModule::of_bitcode(Bytes::from_node(bitcode)?.0)?,
        (None, Some(bytes), None) => OwnedModule::of_bytes(Bytes::from_node(bytes)?.0),
        (None, None, Some(file)) => {
            let name = file.text().ok_or_else(|| file.expected("the name of a file"))?;
            let place = format!("line {}, column {}", file.line, file.column);
            let bytes = load(name).map_err(|error| error.within(place))?;
            module_of(bytes)?
        }
        _ => return Err(node.fault("a module needs exactly one of the keys `Bitcode`, `Bytes` and `File`")),
    };
    let stray: Bytes = map.field("Stray")?;
    map.finish()?;
    Ok(OwnedModule { stray: Cow::Owned(stray.0), ..module })
}

/// Creates a module from the content of a file, which may have a wrapper or not.
fn module_of(bytes: Vec<u8>) -> Result<OwnedModule<'static>> {
    if bytes.starts_with(&module::BITCODE_MAGIC) {
        OwnedModule::of_bitcode(bytes)
    } else {
        Ok(OwnedModule::of_bytes(bytes))
    }
}

/// Creates a list of bytes.
pub(crate) fn bytes_node(bytes: &[u8]) -> Node<'_> {
    Kind::Bytes(Cow::Borrowed(bytes)).into()
}
