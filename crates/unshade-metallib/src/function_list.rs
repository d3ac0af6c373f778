//! The function list: a 32-bit count, then a group of tags for each function.
//!
//! The size before a group counts itself. The tags, in the order in which Apple's linker writes them:
//!
//! | tag | bytes | content |
//! |---|---|---|
//! | `NAME` | n | C string |
//! | `TYPE` | 1 | [`FunctionType`] |
//! | `HASH` | 32 | SHA-256 of the module, padding included |
//! | `OFFT` | 24 | three offsets into public metadata, private metadata and bitcode |
//! | `VERS` | 8 | AIR version and language version, two 16-bit numbers each |
//! | `TESS` | 1 | bits 0–1 patch type, bits 2–7 control points |
//! | `LAYR` | 1 | [`DataType`] of `render_target_array_index` |
//! | `MDSZ` | 8 | size of the module; absent in some files of 1.2.2 and 1.2.5 |
//! | `SOFF` | 8 | offset into the sources, to the code of this function's `SARC` |
//! | `RFLT` | 8 | offset into the reflection list, to this function's group |
//!
//! The older `metallib` tool writes `MDSZ` before `OFFT`. Another writer (dxmt) puts the size of the *whole* list in
//! place of the first group's size and omits the sizes of the other groups; both forms are parsed.
//!
//! Source: 275,345 functions of 531 real files; `TESS` from public documents, as no real file has it.

use crate::data_type::DataType;
use crate::tag::{Tag, Tags};
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Escaped, Reader, Result, open_enum};

open_enum! {
    /// The type of a function (tag `TYPE`).
    pub struct FunctionType(u8) {
        VERTEX = 0 => "vertex",
        FRAGMENT = 1 => "fragment",
        KERNEL = 2 => "kernel",
        /// An ordinary function of a dynamic library.
        UNQUALIFIED = 3 => "unqualified",
        VISIBLE = 4 => "visible",
        /// A function for Core Image.
        EXTERN = 5 => "extern",
        INTERSECTION = 6 => "intersection",
        MESH = 7 => "mesh",
        OBJECT = 8 => "object",
        NONE = 255 => "none",
    }
}

/// The offsets of a function's parts, each from the start of its section (tag `OFFT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionOffsets {
    /// Offset in public metadata.
    pub public_metadata: u64,
    /// Offset in private metadata.
    pub private_metadata: u64,
    /// Offset in the bitcode.
    pub bitcode: u64,
}

/// A version of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortVersion {
    /// The first number.
    pub major: u16,
    /// The second number. Some documents describe its upper byte as a third number; it is 0 in every real file.
    pub minor: u16,
}

impl fmt::Display for ShortVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.major, self.minor))
    }
}

/// The versions that a function targets (tag `VERS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionVersions {
    /// The version of AIR, Apple's dialect of LLVM bitcode.
    pub air: ShortVersion,
    /// The version of the Metal language.
    pub language: ShortVersion,
}

/// The patches of a post-tessellation vertex function (tag `TESS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tessellation(pub u8);

impl Tessellation {
    /// Returns the patch type: `triangle`, `quad`, or `None` if unknown.
    pub fn patch_type(self) -> Option<&'static str> {
        match self.0 & 3 {
            1 => Some("triangle"),
            2 => Some("quad"),
            _ => None,
        }
    }

    /// Returns the number of control points of a patch.
    pub fn control_points(self) -> u8 {
        self.0 >> 2
    }
}

impl fmt::Display for Tessellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.patch_type() {
            Some(patch) => write!(f, "{patch} patches, {} control points", self.control_points()),
            None => write!(f, "{:#x} (unknown), {} control points", self.0 & 3, self.control_points()),
        }
    }
}

/// A function, as described by the function list.
#[derive(Clone)]
pub struct Function<'a> {
    /// The index in the list, from 0.
    pub index: u32,
    /// The range of its group in the file.
    pub range: Range<u64>,
    /// The name: as in the source, or mangled. `None` if there is no `NAME`.
    pub name: Option<&'a [u8]>,
    /// The type.
    pub kind: Option<FunctionType>,
    /// The SHA-256 of its module.
    pub hash: Option<&'a [u8; 32]>,
    /// The offsets of its parts.
    pub offsets: Option<FunctionOffsets>,
    /// The versions that it targets.
    pub versions: Option<FunctionVersions>,
    /// The size of its module in bytes, if the file has it. See [`crate::Library::module`].
    pub module_size: Option<u64>,
    /// The patches of a post-tessellation vertex function.
    pub tessellation: Option<Tessellation>,
    /// The type of its `render_target_array_index`.
    pub layer_type: Option<DataType>,
    /// The offset of its sources in the source section.
    pub source_offset: Option<u64>,
    /// The offset of its reflection in the reflection list.
    pub reflection_offset: Option<u64>,
    /// The first fault of the group; the other fields hold what could be parsed.
    pub fault: Option<Error>,
    tags: Reader<'a>,
}

/// Prints what identifies the function.
impl fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("index", &self.index)
            .field("name", &self.name.map(Escaped))
            .field("kind", &self.kind)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl<'a> Function<'a> {
    /// Parses the tags of a function. Also returns the data after their ENDT, if there is one.
    fn read(index: u32, start: u64, tags: Reader<'a>) -> (Self, Option<Reader<'a>>) {
        let mut function = Self {
            index,
            range: start..start,
            name: None,
            kind: None,
            hash: None,
            offsets: None,
            versions: None,
            module_size: None,
            tessellation: None,
            layer_type: None,
            source_offset: None,
            reflection_offset: None,
            fault: None,
            tags,
        };
        let mut walk = Tags::new(tags);
        let mut fault = None;
        for tag in &mut walk {
            if let Err(error) = tag.and_then(|tag| function.read_tag(&tag)) {
                fault.get_or_insert(error);
            }
        }
        function.range.end = walk.reader().offset();
        function.fault = fault.map(|error| error.within(function.label()));
        (function, walk.ended().then(|| walk.reader()))
    }

    fn read_tag(&mut self, tag: &Tag<'a>) -> Result<()> {
        match &tag.code.0 {
            b"NAME" => {
                let name = tag.c_string();
                // A name without its NUL is still useful.
                self.name = Some(name.as_ref().map_or(tag.content.rest(), |name| *name));
                name?;
            }
            b"TYPE" => self.kind = Some(FunctionType(tag.exactly(|r| r.u8())?)),
            b"HASH" => self.hash = Some(tag.exactly(|r| r.array_ref())?),
            b"OFFT" => {
                self.offsets = Some(tag.exactly(|r| {
                    Ok(FunctionOffsets {
                        public_metadata: r.u64()?,
                        private_metadata: r.u64()?,
                        bitcode: r.u64()?,
                    })
                })?);
            }
            b"VERS" => {
                self.versions = Some(tag.exactly(|r| {
                    Ok(FunctionVersions {
                        air: ShortVersion { major: r.u16()?, minor: r.u16()? },
                        language: ShortVersion { major: r.u16()?, minor: r.u16()? },
                    })
                })?);
            }
            b"MDSZ" => self.module_size = Some(tag.exactly(|r| r.u64())?),
            b"TESS" => self.tessellation = Some(Tessellation(tag.exactly(|r| r.u8())?)),
            b"LAYR" => self.layer_type = Some(DataType(tag.exactly(|r| r.u8())?)),
            b"SOFF" => self.source_offset = Some(tag.exactly(|r| r.u64())?),
            b"RFLT" => self.reflection_offset = Some(tag.exactly(|r| r.u64())?),
            _ => {}
        }
        Ok(())
    }

    /// Returns all tags in file order, including unknown ones.
    pub fn tags(&self) -> Tags<'a> {
        Tags::new(self.tags)
    }

    /// Returns the escaped name; `?` if there is none.
    pub fn shown_name(&self) -> String {
        self.name.map_or_else(|| "?".into(), |name| Escaped(name).to_cow().into_owned())
    }

    /// Returns the function's label in messages: `function 3 "vs_main"`.
    pub fn label(&self) -> String {
        match self.name {
            Some(name) => format!("function {} {}", self.index, Escaped(name).quoted()),
            None => format!("function {}", self.index),
        }
    }
}

/// Iterates over the functions of a library. An `Err` is a fault of the list itself and ends the iteration; a fault
/// inside a function is in [`Function::fault`].
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    reader: Reader<'a>,
    /// The rest of a group that contains several functions.
    shared_group: Option<Reader<'a>>,
    next: u32,
    count: u32,
    failed: Option<Error>,
}

impl<'a> Functions<'a> {
    /// Creates an iterator over the list that starts with its count at the reader's position.
    pub(crate) fn new(list: Result<Reader<'a>>) -> Self {
        let start = list.and_then(|mut reader| Ok((reader.u32()?, reader)));
        match start {
            Ok((count, reader)) => Self { reader, shared_group: None, next: 0, count, failed: None },
            Err(error) => Self {
                reader: Reader::new(&[]),
                shared_group: None,
                next: 0,
                count: 0,
                failed: Some(error.within("function list")),
            },
        }
    }

    /// Returns the function of this index whose group is at the reader's position.
    pub(crate) fn at(index: u32, reader: Reader<'a>) -> Option<Function<'a>> {
        let count = index.saturating_add(1);
        let mut one = Self { reader, shared_group: None, next: index, count, failed: None };
        one.read().ok().filter(|_| one.shared_group.is_none())
    }

    /// Returns the number of functions that the list declares. Untrusted: do not allocate by it.
    pub fn declared_count(&self) -> u32 {
        self.count
    }

    /// Returns a reader of the data after the functions read so far.
    pub fn reader(&self) -> Reader<'a> {
        self.reader
    }

    fn read(&mut self) -> Result<Function<'a>> {
        let index = self.next;
        if let Some(group) = self.shared_group.take() {
            let (function, rest) = Function::read(index, group.offset(), group);
            self.shared_group = next_in_group(rest);
            return Ok(function);
        }
        let start = self.reader.offset();
        let mut reader = self.reader;
        let within = |error: Error| error.within(format!("function {index}"));
        let size = reader.u32().map_err(within)?;
        let content = size.checked_sub(4).ok_or_else(|| {
            within(Error::new(ErrorKind::BadValue, start, "group is smaller than its own size field"))
                .expected("at least 8")
                .found(format!("{size}"))
        })?;
        let group = reader.split(u64::from(content)).map_err(within)?;
        self.reader = reader;
        let (mut function, rest) = Function::read(index, start, group);
        self.shared_group = next_in_group(rest);
        if self.shared_group.is_none() {
            function.range.end = reader.offset();
        }
        Ok(function)
    }
}

/// Returns the data after a function's ENDT if it is another function of the same group. It gets shorter with each
/// function, so the iteration ends whatever the count is.
fn next_in_group(rest: Option<Reader<'_>>) -> Option<Reader<'_>> {
    rest.filter(|rest| rest.rest().starts_with(b"NAME"))
}

impl<'a> Iterator for Functions<'a> {
    type Item = Result<Function<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            self.count = 0;
            return Some(Err(error));
        }
        if self.next >= self.count {
            return None;
        }
        let result = self.read();
        if result.is_ok() {
            self.next = self.next.saturating_add(1);
        } else {
            self.count = self.next;
        }
        Some(result)
    }
}
