//! Encodes an owned library.
//!
//! Short parts are collected in buffers of our own; long parts (modules, archives, reflection buffers) are passed
//! through as slices. Once all parts before the sections are encoded, their sizes are known, and with them the absolute
//! offsets that determine the padding of reflection buffers; the offsets of reflections are patched into the function
//! list last.

use super::LibraryFile;
use super::encode::{
    check_no_nul, length_width, patch, put_bytes, put_c_string, put_group, put_list, put_numbers, put_tag,
    put_tags, put_text, to_u32, too_long,
};
use super::function::{OwnedFunction, PrivateTags, PublicTags};
use super::section::{ExtensionTag, OwnedDynamicHeader, OwnedReflection, OwnedSources, SectionData};
use crate::header::HEADER_SIZE;
use crate::library::Dialect;
use crate::tag::ENDT;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Escaped, FourCc, Result};

/// The order of a function's tags, as the linker writes them.
const LINKER_ORDER: [[u8; 4]; 10] =
    [*b"NAME", *b"TYPE", *b"HASH", *b"OFFT", *b"VERS", *b"TESS", *b"LAYR", *b"MDSZ", *b"SOFF", *b"RFLT"];

/// The order of a function's tags, as the older tool writes them.
const LEGACY_ORDER: [[u8; 4]; 10] =
    [*b"NAME", *b"TYPE", *b"HASH", *b"MDSZ", *b"OFFT", *b"VERS", *b"TESS", *b"LAYR", *b"SOFF", *b"RFLT"];

/// The order of the tags in public metadata.
pub(super) const PUBLIC_ORDER: [[u8; 4]; 3] = [*b"VATT", *b"VATY", *b"CNST"];

/// The order of the tags in private metadata.
pub(super) const PRIVATE_ORDER: [[u8; 4]; 2] = [*b"DEBI", *b"DEPF"];

/// The order of the tags in the dynamic header.
pub(super) const DYNAMIC_ORDER: [[u8; 4]; 2] = [*b"NAME", *b"DYNL"];

/// Slices shorter than this are copied, because a separate piece has a cost, too.
const BORROW_FROM: usize = 256;

/// The alignment of flatbuffers in the file.
pub(super) const REFLECTION_ALIGNMENT: u64 = 16;

/// Returns the order of a function's tags in a dialect.
pub(super) fn function_order(dialect: Dialect) -> &'static [[u8; 4]] {
    match dialect {
        Dialect::Linker => &LINKER_ORDER,
        Dialect::Legacy => &LEGACY_ORDER,
    }
}

/// An encoded library: its bytes, in pieces.
pub struct Written<'f> {
    front: Vec<u8>,
    own: Vec<u8>,
    pieces: Vec<Piece<'f>>,
    /// The number of pieces that contain modules.
    modules: usize,
}

enum Piece<'f> {
    Own(Range<usize>),
    Borrowed(&'f [u8]),
}

/// Prints sizes, not the data.
impl fmt::Debug for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written")
            .field("size", &self.size())
            .field("pieces", &self.pieces.len())
            .finish_non_exhaustive()
    }
}

impl Written<'_> {
    /// Returns the pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let body = self.pieces.iter().map(|piece| match piece {
            Piece::Own(range) => self.own.get(range.clone()).unwrap_or_default(),
            Piece::Borrowed(bytes) => bytes,
        });
        core::iter::once(self.front.as_slice()).chain(body)
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.pieces().fold(0, |sum, piece| sum.saturating_add(piece.len() as u64))
    }

    /// Returns a hash of everything but the modules themselves, whose hashes are in the function list.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let sections = self.pieces().skip(self.modules.saturating_add(1));
        let parts: Vec<&[u8]> = core::iter::once(self.front.as_slice()).chain(sections).collect();
        unshade_sha256::digest(unshade_sha256::digests(&parts).as_flattened())
    }

    /// Returns all bytes in one buffer.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.size()).unwrap_or_default());
        self.pieces().for_each(|piece| bytes.extend_from_slice(piece));
        bytes
    }
}

/// Modules and sections under construction.
#[derive(Default)]
struct Body<'f> {
    own: Vec<u8>,
    pieces: Vec<Piece<'f>>,
    /// Copied pieces that end at this offset in `own` must not be extended.
    closed: usize,
    /// The file offset of the next byte.
    at: u64,
}

impl<'f> Body<'f> {
    /// Adds a module. Modules that are adjacent in the input become a single slice, which is written at once: this
    /// makes a copy of a large library as fast as copying the file.
    fn module(&mut self, bytes: &'f [u8], original: &'f [u8]) {
        if let Some(Piece::Borrowed(last)) = self.pieces.last_mut()
            && let Some(both) = join(original, last, bytes)
        {
            *last = both;
            self.at = self.at.saturating_add(bytes.len() as u64);
        } else if !bytes.is_empty() {
            self.slice(bytes);
        }
    }

    /// Adds bytes by reference.
    fn slice(&mut self, bytes: &'f [u8]) {
        if bytes.len() < BORROW_FROM {
            return self.copy(bytes);
        }
        self.at = self.at.saturating_add(bytes.len() as u64);
        self.pieces.push(Piece::Borrowed(bytes));
    }

    /// Adds a copy of bytes.
    fn copy(&mut self, bytes: &[u8]) {
        let start = self.own.len();
        self.own.extend_from_slice(bytes);
        self.at = self.at.saturating_add(bytes.len() as u64);
        match self.pieces.last_mut() {
            Some(Piece::Own(range)) if range.end > self.closed => range.end = self.own.len(),
            _ => self.pieces.push(Piece::Own(start..self.own.len())),
        }
    }

    /// Makes the next bytes start a new piece.
    fn split(&mut self) {
        self.closed = self.own.len();
    }

    fn u32(&mut self, value: u32) {
        self.copy(&value.to_le_bytes());
    }
}

/// The index of a function, and the position in the function list at which to patch the offset of its reflection.
type ReflectionSlot = (usize, usize);

/// Returns two adjacent slices of `whole` as one; `None` if they are not adjacent slices of it.
fn join<'f>(whole: &'f [u8], first: &[u8], second: &[u8]) -> Option<&'f [u8]> {
    let start = first.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let middle = start.checked_add(first.len())?;
    let end = middle.checked_add(second.len())?;
    let is = |start: usize, end: usize, part: &[u8]| {
        whole.get(start..end).is_some_and(|found| core::ptr::eq(found, part))
    };
    if is(start, middle, first) && is(middle, end, second) { whole.get(start..end) } else { None }
}

/// The offsets of the parts that functions refer to, from the start of their sections.
#[derive(Default)]
struct PartOffsets {
    public: Vec<u64>,
    private: Vec<u64>,
    modules: Vec<u64>,
    archives: Vec<u64>,
}

impl LibraryFile<'_> {
    /// Encodes the library. The result borrows long parts from `self`.
    ///
    /// # Errors
    /// If a part is too large for its size field, or a function refers to a part that does not exist.
    pub fn write(&self) -> Result<Written<'_>> {
        let mut parts = PartOffsets::default();
        let (mut public, mut private) = (Vec::new(), Vec::new());
        for (index, function) in self.functions.iter().enumerate() {
            let within = |error: Error| error.within(function.label(index));
            parts.public.push(public.len() as u64);
            let inclusive = self.dialect == Dialect::Linker;
            put_group(&mut public, inclusive, |out| put_public(&function.public, out)).map_err(within)?;
            parts.private.push(private.len() as u64);
            put_group(&mut private, inclusive, |out| put_private(&function.private, out)).map_err(within)?;
        }
        let bitcode_size = self.lay_out_modules(&mut parts);
        parts.archives = self.archive_offsets();
        let hashes = self.hashes();
        let (mut list, reflection_slots) = self.function_list(&parts, &hashes)?;

        let extension_size = self.extension_size();
        let starts =
            |sizes: &[usize]| sizes.iter().fold(HEADER_SIZE, |sum, size| sum.saturating_add(*size as u64));
        let public_start = starts(&[list.len(), extension_size]);
        let private_start = starts(&[list.len(), extension_size, public.len()]);
        let bitcode_start = starts(&[list.len(), extension_size, public.len(), private.len()]);

        let mut body = Body { at: bitcode_start, ..Body::default() };
        for module in &self.modules {
            body.module(&module.bytes, self.original.0);
            body.module(&module.stray, self.original.0);
        }
        let modules = body.pieces.len();
        body.split();
        let mut extension = Vec::with_capacity(extension_size);
        let mut reflections = Vec::new();
        self.sections(&mut extension, &mut body, &mut reflections)?;
        self.link_reflections(&mut list, &reflection_slots, &reflections)?;

        let mut front = Vec::with_capacity(usize::try_from(bitcode_start).unwrap_or_default());
        let list_size = (list.len() as u64).saturating_sub(4);
        self.put_header(
            &mut front,
            body.at,
            [
                (HEADER_SIZE, list_size),
                (public_start, public.len() as u64),
                (private_start, private.len() as u64),
                (bitcode_start, bitcode_size),
            ],
        );
        for part in [list, extension, public, private] {
            front.extend_from_slice(&part);
        }
        Ok(Written { front, own: body.own, pieces: body.pieces, modules })
    }

    fn put_header(&self, out: &mut Vec<u8>, file_size: u64, sections: [(u64, u64); 4]) {
        let header = &self.header;
        out.extend_from_slice(b"MTLB");
        for number in [header.raw_major, header.minor, header.patch] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&[header.raw_type, header.raw_platform]);
        out.extend_from_slice(&header.os_major.to_le_bytes());
        out.extend_from_slice(&[header.os_minor, header.os_patch]);
        out.extend_from_slice(&file_size.to_le_bytes());
        for (offset, size) in sections {
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&size.to_le_bytes());
        }
    }

    /// Computes the offsets of the modules. Returns their total size.
    fn lay_out_modules(&self, parts: &mut PartOffsets) -> u64 {
        let mut at = 0u64;
        for module in &self.modules {
            parts.modules.push(at);
            at = at.saturating_add(module.bytes.len() as u64).saturating_add(module.stray.len() as u64);
        }
        at
    }

    /// Returns the offset of the code of each archive's `SARC`.
    fn archive_offsets(&self) -> Vec<u64> {
        let Some(sources) = self.sources() else { return Vec::new() };
        let mut at = sources_head(sources, 0).len() as u64;
        let offset = |archive: &super::OwnedArchive<'_>| {
            let offset = at.saturating_add(4);
            at = offset.saturating_add(archive_size(archive));
            offset
        };
        sources.archives.iter().map(offset).collect()
    }

    /// Returns the hashes of the modules of functions whose hash must be computed; `None` for the other modules.
    fn hashes(&self) -> Vec<Option<[u8; 32]>> {
        let mut wanted = alloc::vec![false; self.modules.len()];
        for function in self.functions.iter().filter(|function| function.hash.is_none()) {
            if let Some(wanted) = wanted.get_mut(function.module) {
                *wanted = true;
            }
        }
        let modules = self.modules.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
        let messages: Vec<&[u8]> = modules.map(|(module, _)| module.bytes.as_ref()).collect();
        let mut digests = unshade_sha256::digests(&messages).into_iter();
        wanted.iter().map(|wanted| if *wanted { digests.next() } else { None }).collect()
    }

    /// Encodes the function list, including its count. Also returns where to patch the offsets of reflections.
    fn function_list(
        &self,
        parts: &PartOffsets,
        hashes: &[Option<[u8; 32]>],
    ) -> Result<(Vec<u8>, Vec<ReflectionSlot>)> {
        let mut out = Vec::new();
        let mut slots = Vec::new();
        out.extend_from_slice(&to_u32(self.functions.len(), "functions")?.to_le_bytes());
        if self.shared_group && !self.functions.is_empty() {
            out.extend_from_slice(&[0; 4]);
        }
        let order = function_order(self.dialect);
        for (index, function) in self.functions.iter().enumerate() {
            let writer = FunctionWriter { file: self, parts, hashes, index };
            let mut put = |out: &mut Vec<u8>| {
                put_tags(function.order.as_deref(), order, &function.other, out, &mut |code, out| {
                    writer.put(function, code, out, &mut slots)
                })
            };
            let result = if self.shared_group {
                put(&mut out).map(|()| out.extend_from_slice(&ENDT.0))
            } else {
                put_group(&mut out, true, put)
            };
            result.map_err(|error| error.within(function.label(index)))?;
        }
        if self.shared_group && !self.functions.is_empty() {
            let size = to_u32(out.len().saturating_sub(4), "function list")?;
            patch(&mut out, 4, &size.to_le_bytes());
        }
        Ok((out, slots))
    }

    fn link_reflections(&self, list: &mut [u8], slots: &[ReflectionSlot], offsets: &[u64]) -> Result<()> {
        for (index, slot) in slots {
            let function = self.functions.get(*index);
            let offset = function.and_then(|function| offsets.get(function.reflection?));
            let offset = offset.ok_or_else(|| {
                let label = function.map(|function| function.label(*index)).unwrap_or_default();
                missing("reflection", function.and_then(|f| f.reflection), offsets.len()).within(label)
            })?;
            patch(list, *slot, &offset.to_le_bytes());
        }
        Ok(())
    }

    fn extension_size(&self) -> usize {
        let Some(tags) = &self.extension else { return 0 };
        let size = |tag: &ExtensionTag<'_>| match tag {
            ExtensionTag::Section { .. } | ExtensionTag::Uuid(_) => 22,
            ExtensionTag::Other(tag) => {
                length_width(tag.code).saturating_add(4).saturating_add(tag.content.len())
            }
        };
        tags.iter().fold(4, |sum: usize, tag| sum.saturating_add(size(tag)))
    }

    /// Encodes the header extension and the sections that it refers to.
    fn sections<'f>(
        &'f self,
        extension: &mut Vec<u8>,
        body: &mut Body<'f>,
        reflections: &mut Vec<u64>,
    ) -> Result<()> {
        let Some(tags) = &self.extension else { return Ok(()) };
        for entry in tags {
            match entry {
                ExtensionTag::Section { code, data } => {
                    let start = body.at;
                    put_section(data, body, reflections)
                        .map_err(|error| error.within(format!("section {code}")))?;
                    let size = body.at.saturating_sub(start);
                    put_tag(extension, *code, |out| {
                        out.extend_from_slice(&start.to_le_bytes());
                        out.extend_from_slice(&size.to_le_bytes());
                        Ok(())
                    })?;
                }
                ExtensionTag::Uuid(uuid) => put_bytes(extension, *b"UUID", uuid)?,
                ExtensionTag::Other(raw) => put_bytes(extension, raw.code.0, &raw.content)?,
            }
        }
        extension.extend_from_slice(&ENDT.0);
        Ok(())
    }
}

impl OwnedFunction<'_> {
    /// Returns the function's label in messages: `function 3 "vs_main"`.
    pub fn label(&self, index: usize) -> alloc::string::String {
        format!("function {index} {}", Escaped(&self.name).quoted())
    }
}

/// Writes the tags of the function at `index`.
struct FunctionWriter<'f> {
    file: &'f LibraryFile<'f>,
    parts: &'f PartOffsets,
    hashes: &'f [Option<[u8; 32]>],
    index: usize,
}

impl FunctionWriter<'_> {
    /// Writes the tag with this code, if the function has it.
    fn put(
        &self,
        function: &OwnedFunction<'_>,
        code: [u8; 4],
        out: &mut Vec<u8>,
        slots: &mut Vec<ReflectionSlot>,
    ) -> Result<()> {
        let module = function.module;
        let missing_module = || missing("module", Some(module), self.file.modules.len());
        match &code {
            b"NAME" => put_text(out, code, &function.name),
            b"TYPE" => function.kind.map_or(Ok(()), |kind| put_bytes(out, code, &[kind.0])),
            b"HASH" => {
                let computed = self.hashes.get(module).copied().flatten();
                put_bytes(out, code, &function.hash.or(computed).ok_or_else(missing_module)?)
            }
            b"OFFT" => {
                let own = |offsets: &[u64]| offsets.get(self.index).copied().unwrap_or_default();
                let module = self.parts.modules.get(module).ok_or_else(missing_module)?;
                let offsets = [own(&self.parts.public), own(&self.parts.private), *module];
                put_numbers(out, code, &offsets.map(u64::to_le_bytes))
            }
            b"VERS" => function.versions.map_or(Ok(()), |versions| {
                let [air, language] = [versions.air, versions.language];
                let numbers = [air.major, air.minor, language.major, language.minor];
                put_numbers(out, code, &numbers.map(u16::to_le_bytes))
            }),
            b"TESS" => function.tessellation.map_or(Ok(()), |value| put_bytes(out, code, &[value.0])),
            b"LAYR" => function.layer_type.map_or(Ok(()), |value| put_bytes(out, code, &[value.0])),
            b"MDSZ" if function.states_module_size => {
                let module = self.file.modules.get(module).ok_or_else(missing_module)?;
                put_bytes(out, code, &(module.bytes.len() as u64).to_le_bytes())
            }
            b"SOFF" => function.source.map_or(Ok(()), |source| {
                let archives = &self.parts.archives;
                let offset = archives.get(source);
                let offset = offset.ok_or_else(|| missing("source archive", Some(source), archives.len()))?;
                put_bytes(out, code, &offset.to_le_bytes())
            }),
            b"RFLT" if function.reflection.is_some() => {
                put_bytes(out, code, &[0; 8])?;
                slots.push((self.index, out.len().saturating_sub(8)));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cold]
fn missing(what: &str, index: Option<usize>, count: usize) -> Error {
    Error::without_offset(ErrorKind::OutOfRange, format!("no such {what}"))
        .expected(format!("a number below {count}"))
        .found(index.map_or_else(Default::default, |index| format!("{index}")))
}

/// Writes public metadata.
pub(super) fn put_public(tags: &PublicTags<'_>, out: &mut Vec<u8>) -> Result<()> {
    put_tags(tags.order.as_deref(), &PUBLIC_ORDER, &tags.other, out, &mut |code, out| match &code {
        b"CNST" => tags.constants.as_ref().map_or(Ok(()), |constants| {
            put_list(out, code, constants, |out, constant| {
                put_c_string(out, &constant.name)?;
                out.push(constant.data_type.0);
                out.extend_from_slice(&constant.index.to_le_bytes());
                out.push(constant.active.into());
                Ok(())
            })
        }),
        b"VATT" => tags.attributes.as_ref().map_or(Ok(()), |attributes| {
            put_list(out, code, attributes, |out, attribute| {
                put_c_string(out, &attribute.name)?;
                let info = attribute.index & 0x1fff
                    | u16::from(attribute.usage.0 & 3) << 13
                    | u16::from(attribute.active) << 15;
                out.extend_from_slice(&info.to_le_bytes());
                Ok(())
            })
        }),
        _ => {
            let attributes = tags.attributes.as_deref().unwrap_or_default();
            if !attributes.iter().any(|attribute| attribute.data_type.is_some()) {
                return Ok(());
            }
            put_list(out, code, attributes, |out, attribute| {
                out.push(attribute.data_type.map_or(0, |data_type| data_type.0));
                Ok(())
            })
        }
    })
}

/// Writes private metadata.
pub(super) fn put_private(tags: &PrivateTags<'_>, out: &mut Vec<u8>) -> Result<()> {
    put_tags(tags.order.as_deref(), &PRIVATE_ORDER, &tags.other, out, &mut |code, out| match &code {
        b"DEBI" => tags.location.as_ref().map_or(Ok(()), |location| {
            put_tag(out, FourCc(code), |out| {
                out.extend_from_slice(&location.line.to_le_bytes());
                put_c_string(out, &location.path)
            })
        }),
        _ => tags.dependencies.iter().try_for_each(|path| put_text(out, code, path)),
    })
}

fn put_section<'f>(data: &'f SectionData<'_>, body: &mut Body<'f>, reflections: &mut Vec<u64>) -> Result<()> {
    match data {
        SectionData::Sources(sources) => put_sources(sources, body),
        SectionData::SourceLink(tags) => {
            let mut out = Vec::new();
            tags.iter().try_for_each(|tag| put_bytes(&mut out, tag.code.0, &tag.content))?;
            out.extend_from_slice(&ENDT.0);
            body.copy(&out);
            Ok(())
        }
        SectionData::Dynamic(dynamic) => {
            let mut out = Vec::new();
            put_dynamic(dynamic, &mut out)?;
            body.copy(&out);
            Ok(())
        }
        SectionData::Symbols(names) => {
            body.u32(to_u32(names.len(), "symbols")?);
            let mut out = Vec::new();
            for name in names {
                out.clear();
                put_group(&mut out, true, |out| put_text(out, *b"NAME", name))?;
                body.copy(&out);
            }
            Ok(())
        }
        SectionData::Reflections(list) => put_reflections(list, body, reflections),
        SectionData::Scripts(scripts) => {
            body.u32(to_u32(scripts.len(), "scripts")?);
            scripts.iter().try_for_each(|script| put_wide_group(body, FourCc(*b"SBUF"), 0, script))
        }
        SectionData::Raw(bytes) => {
            body.slice(bytes);
            Ok(())
        }
    }
}

fn put_dynamic(dynamic: &OwnedDynamicHeader<'_>, out: &mut Vec<u8>) -> Result<()> {
    put_tags(None, &DYNAMIC_ORDER, &dynamic.other, out, &mut |code, out| match &code {
        b"NAME" => dynamic.install_name.iter().try_for_each(|name| put_text(out, code, name)),
        _ => dynamic.linked.iter().try_for_each(|name| put_text(out, code, name)),
    })?;
    out.extend_from_slice(&ENDT.0);
    Ok(())
}

/// Encodes the part of the source section before the archives.
fn sources_head(sources: &OwnedSources<'_>, count: u32) -> Vec<u8> {
    let mut out = count.to_le_bytes().to_vec();
    for text in core::iter::once(&sources.link_command).chain(&sources.working_directory) {
        out.extend_from_slice(text);
        out.push(0);
    }
    out
}

/// Returns the size of an archive's group, without its size field.
fn archive_size(archive: &super::OwnedArchive<'_>) -> u64 {
    // Code and length of the tag, the NUL, ENDT.
    13u64.saturating_add(archive.id.len() as u64).saturating_add(archive.compressed.len() as u64)
}

fn put_sources<'f>(sources: &'f OwnedSources<'_>, body: &mut Body<'f>) -> Result<()> {
    for text in core::iter::once(&sources.link_command).chain(&sources.working_directory) {
        check_no_nul(text)?;
    }
    body.copy(&sources_head(sources, to_u32(sources.archives.len(), "source archives")?));
    for archive in &sources.archives {
        check_no_nul(&archive.id)?;
        let size = archive_size(archive);
        let narrow = |size: u64| u32::try_from(size).map_err(|_| too_long("source archive", size));
        body.u32(narrow(size)?);
        body.copy(b"SARC");
        body.u32(narrow(size.saturating_sub(12))?);
        body.copy(&archive.id);
        body.copy(&[0]);
        body.slice(&archive.compressed);
        body.copy(&ENDT.0);
    }
    Ok(())
}

fn put_reflections<'f>(
    list: &'f [OwnedReflection<'_>],
    body: &mut Body<'f>,
    offsets: &mut Vec<u64>,
) -> Result<()> {
    let start = body.at;
    body.u32(to_u32(list.len(), "reflection buffers")?);
    for reflection in list {
        offsets.push(body.at.saturating_sub(start));
        let padding = if reflection.padded { reflection_padding(body.at.saturating_add(12)) } else { 0 };
        put_wide_group(body, reflection.code, padding, &reflection.content)?;
    }
    Ok(())
}

/// Returns the size of the padding before a flatbuffer, given the file offset of the content of its tag.
pub(super) fn reflection_padding(offset: u64) -> usize {
    let padding = offset.next_multiple_of(REFLECTION_ALIGNMENT).saturating_sub(offset);
    usize::try_from(padding).unwrap_or_default()
}

/// Writes a group of a single tag with a 32-bit length, with `padding` zeros before its content.
fn put_wide_group<'f>(body: &mut Body<'f>, code: FourCc, padding: usize, content: &'f [u8]) -> Result<()> {
    let length = to_u32(content.len().saturating_add(padding), "tag")?;
    let size = length.checked_add(16).ok_or_else(|| too_long("group", length.into()))?;
    body.u32(size);
    body.copy(&code.0);
    body.u32(length);
    const ZEROS: [u8; 16] = [0; 16];
    body.copy(ZEROS.get(..padding).unwrap_or_default());
    body.slice(content);
    body.copy(&ENDT.0);
    Ok(())
}
