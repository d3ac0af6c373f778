//! Parses a library into its owned form.

use super::function::{
    FunctionConstant, OwnedFunction, PrivateTags, PublicTags, SourceLocation, VertexAttribute,
};
use super::section::{
    ExtensionTag, OwnedArchive, OwnedDynamicHeader, OwnedReflection, OwnedSources, SectionData,
};
use super::write::{
    DYNAMIC_ORDER, PRIVATE_ORDER, PUBLIC_ORDER, function_order, put_private, put_public, reflection_padding,
};
use super::{LibraryFile, Original, OwnedModule, RawTag};
use crate::function_list::{Function, FunctionOffsets};
use crate::header_extension;
use crate::library::{Dialect, Library};
use crate::lists::Groups;
use crate::metadata::{MetadataGroup, PrivateMetadata, PublicMetadata};
use crate::sources::Sources;
use crate::tag::{Tag, Tags};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, FourCc, Reader, Result};

/// Returns whether a field of [`OwnedFunction`] represents the tag.
fn is_function_tag(code: FourCc) -> bool {
    function_order(Dialect::Linker).contains(&code.0)
}

impl<'a> LibraryFile<'a> {
    /// Parses a library, and checks that writing it reproduces the file.
    ///
    /// # Errors
    /// If a part is malformed, or the layout cannot be reproduced; the error has the offset.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a library at offset `base` of a larger file.
    ///
    /// # Errors
    /// As [`LibraryFile::parse`].
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        Self::from_library(&Library::parse_at(data, base)?)
    }

    /// Converts a borrowed library to its owned form.
    ///
    /// # Errors
    /// As [`LibraryFile::parse`].
    pub fn from_library(library: &Library<'a>) -> Result<Self> {
        let file = decode(library)?;
        check_round_trip(&file, library)?;
        Ok(file)
    }
}

fn decode<'a>(library: &Library<'a>) -> Result<LibraryFile<'a>> {
    if let Some(fault) = library.extension_fault() {
        return Err(fault.clone());
    }
    let dialect = library.dialect().unwrap_or(Dialect::Linker);
    let mut file = LibraryFile::new(*library.header());
    file.original = Original(library.file().data());
    file.dialect = dialect;
    file.shared_group = library.functions().declared_count() > 1 && states_whole_list(library);
    let mut references = References::default();
    file.extension = library.extension().map(|extension| {
        let mut seen = Vec::new();
        let tags = extension.tags().filter_map(Result::ok);
        tags.map(|tag| extension_tag(library, &tag, &mut seen, &mut references)).collect()
    });
    // The functions are parsed twice rather than stored: a small file may list many nearly empty ones.
    let (modules, count) = Modules::find(library)?;
    file.modules = modules.read(library)?;
    file.functions.reserve_exact(count);
    let mut next = FunctionOffsets { public_metadata: 0, private_metadata: 0, bitcode: 0 };
    for function in library.functions() {
        let function = function?;
        let owned = owned_function(library, &function, dialect, &modules, &references, &mut next)
            .map_err(|error| error.within(function.label()))?;
        file.functions.push(owned);
    }
    Ok(file)
}

#[cold]
fn missing_tag(function: &Function<'_>, tag: &str) -> Error {
    let message = alloc::format!("missing {tag}, which is required to rewrite the library");
    Error::new(ErrorKind::Unsupported, function.range.start, message)
}

/// Returns whether the size before the first group is that of the whole list.
fn states_whole_list(library: &Library<'_>) -> bool {
    let list = library.header().function_list;
    let start = list.offset.saturating_add(4);
    let first = library.file().part(start, 4).and_then(|mut reader| reader.u32());
    first.is_ok_and(|first| u64::from(first) == list.size)
}

/// The ranges of the modules in the bitcode section, sorted.
struct Modules(Vec<(u64, u64)>);

impl Modules {
    /// Finds the modules, and counts the functions.
    fn find(library: &Library<'_>) -> Result<(Self, usize)> {
        let base = library.file().base().saturating_add(library.header().bitcode.offset);
        let mut ranges = Vec::new();
        for function in library.functions() {
            let function = function?;
            let module = library.module(&function)?;
            let range =
                module.ok_or_else(|| missing_tag(&function, "OFFT").within(function.label()))?.range();
            ranges.push((range.start.saturating_sub(base), range.end.saturating_sub(base)));
        }
        let count = ranges.len();
        ranges.sort_unstable();
        ranges.dedup();
        Ok((Self(ranges), count))
    }

    fn index_at(&self, offset: u64) -> Option<usize> {
        self.0.binary_search_by_key(&offset, |(start, _)| *start).ok()
    }

    fn read<'a>(&self, library: &Library<'a>) -> Result<Vec<OwnedModule<'a>>> {
        let crate::header::Section { offset, size } = library.header().bitcode;
        let section = library.file().part(offset, size).map_err(|error| error.within("bitcode"))?;
        let mut modules = Vec::with_capacity(self.0.len());
        for (index, (start, end)) in self.0.iter().enumerate() {
            let next = self.0.get(index.saturating_add(1)).map_or(size, |(next, _)| *next);
            let stray = next.checked_sub(*end).ok_or_else(|| {
                let at = section.base().saturating_add(next);
                Error::new(ErrorKind::BadValue, at, "modules overlap")
            })?;
            modules.push(OwnedModule {
                bytes: section.part(*start, end.saturating_sub(*start))?.data().into(),
                stray: section.part(*end, stray)?.data().into(),
            });
        }
        Ok(modules)
    }
}

/// The offsets in their sections by which functions refer to source archives and reflection buffers.
#[derive(Default)]
struct References {
    archives: Vec<u64>,
    reflections: Vec<u64>,
}

/// Returns a tag of the extension, including its section. Only the first tag with a code refers to its section.
fn extension_tag<'a>(
    library: &Library<'a>,
    tag: &Tag<'a>,
    seen: &mut Vec<FourCc>,
    references: &mut References,
) -> ExtensionTag<'a> {
    if tag.code.0 == *b"UUID"
        && let Ok(uuid) = tag.exactly(|reader| reader.array())
    {
        return ExtensionTag::Uuid(uuid);
    }
    let section = header_extension::section(tag).filter(|_| !seen.contains(&tag.code));
    match section.and_then(|section| library.file().part(section.offset, section.size).ok()) {
        Some(reader) => {
            seen.push(tag.code);
            ExtensionTag::Section {
                code: tag.code,
                data: section_data(tag.code, reader, library.file().base(), references),
            }
        }
        None => ExtensionTag::Other(raw(tag)),
    }
}

fn raw<'a>(tag: &Tag<'a>) -> RawTag<'a> {
    RawTag { code: tag.code, content: tag.content.data().into() }
}

/// Parses a section. A section of unknown layout is kept as bytes.
fn section_data<'a>(
    code: FourCc,
    section: Reader<'a>,
    base: u64,
    references: &mut References,
) -> SectionData<'a> {
    let typed = match &code.0 {
        b"HSRD" | b"HSRC" => {
            let found = sources(section, code.0 == *b"HSRD");
            found.map(|(sources, archives)| {
                references.archives = archives;
                SectionData::Sources(sources)
            })
        }
        b"HSRP" => bare_tags(section).map(|tags| SectionData::SourceLink(tags.iter().map(raw).collect())),
        b"HDYN" => dynamic(section).map(SectionData::Dynamic),
        b"RLST" => reflections(section, base).map(|(reflections, offsets)| {
            references.reflections = offsets;
            SectionData::Reflections(reflections)
        }),
        b"SLST" => single_tags(section).and_then(|tags| {
            let script = |(tag, _): (Tag<'a>, u64)| {
                (tag.code.0 == *b"SBUF").then(|| Cow::Borrowed(tag.content.data()))
            };
            tags.into_iter().map(script).collect::<Option<_>>().map(SectionData::Scripts)
        }),
        _ => single_tags(section).and_then(|tags| {
            let name = |(tag, _): (Tag<'a>, u64)| {
                let is_name = tag.code.0 == *b"NAME";
                is_name.then(|| tag.c_string().ok()).flatten().map(Cow::Borrowed)
            };
            tags.into_iter().map(name).collect::<Option<_>>().map(SectionData::Symbols)
        }),
    };
    typed.unwrap_or_else(|| SectionData::Raw(section.data().into()))
}

fn bare_tags(section: Reader<'_>) -> Option<Vec<Tag<'_>>> {
    Tags::new(section).check().ok()?;
    Some(Tags::new(section).filter_map(Result::ok).collect())
}

/// Returns the tags of a list whose groups have one tag each, with the offsets of the groups in the section.
fn single_tags(section: Reader<'_>) -> Option<Vec<(Tag<'_>, u64)>> {
    let mut groups = Groups::new(section).ok()?;
    let mut tags = Vec::new();
    for group in &mut groups {
        let group = group.ok()?;
        let mut group_tags = group.tags();
        let tag = group_tags.next()?.ok()?;
        group_tags.check().ok()?;
        tags.push((tag, group.range.start.saturating_sub(section.base())));
    }
    groups.reader().is_empty().then_some(tags)
}

fn sources(section: Reader<'_>, has_directory: bool) -> Option<(OwnedSources<'_>, Vec<u64>)> {
    let read = Sources::read(section, has_directory).ok()?;
    let mut sources = OwnedSources {
        link_command: read.link_command.into(),
        working_directory: read.working_directory.map(Cow::Borrowed),
        archives: Vec::new(),
    };
    let mut offsets = Vec::new();
    for archive in read.archives() {
        let archive = archive.ok()?;
        offsets.push(archive.code_offset.saturating_sub(section.base()));
        sources
            .archives
            .push(OwnedArchive { id: archive.id.into(), compressed: archive.compressed.rest().into() });
    }
    Some((sources, offsets))
}

fn dynamic(section: Reader<'_>) -> Option<OwnedDynamicHeader<'_>> {
    let tags = bare_tags(section)?;
    let mut dynamic = OwnedDynamicHeader::default();
    for tag in &tags {
        match (&tag.code.0, tag.c_string()) {
            (b"NAME", Ok(name)) if dynamic.install_name.is_none() => dynamic.install_name = Some(name.into()),
            (b"DYNL", Ok(name)) => dynamic.linked.push(name.into()),
            _ => dynamic.other.push(raw(tag)),
        }
    }
    let rank =
        |tag: &Tag<'_>| DYNAMIC_ORDER.iter().position(|code| *code == tag.code.0).unwrap_or(usize::MAX);
    tags.is_sorted_by_key(rank).then_some(dynamic)
}

fn reflections(section: Reader<'_>, base: u64) -> Option<(Vec<OwnedReflection<'_>>, Vec<u64>)> {
    let tags = single_tags(section)?;
    let mut reflections = Vec::with_capacity(tags.len());
    let mut offsets = Vec::with_capacity(tags.len());
    for (tag, offset) in tags {
        if !matches!(&tag.code.0, b"RBUF" | b"RBUZ") {
            return None;
        }
        let content = tag.content.data();
        // Padding depends on the offset in the library, which may itself be at an offset in a larger file.
        let padding = content.get(..reflection_padding(tag.content.base().saturating_sub(base)));
        let zeros = padding.filter(|padding| padding.iter().all(|byte| *byte == 0));
        let skipped = zeros.map_or(0, <[u8]>::len);
        reflections.push(OwnedReflection {
            code: tag.code,
            content: content.get(skipped..).unwrap_or_default().into(),
            padded: zeros.is_some(),
        });
        offsets.push(offset);
    }
    Some((reflections, offsets))
}

fn owned_function<'a>(
    library: &Library<'a>,
    function: &Function<'a>,
    dialect: Dialect,
    modules: &Modules,
    references: &References,
    next: &mut FunctionOffsets,
) -> Result<OwnedFunction<'a>> {
    if let Some(fault) = &function.fault {
        return Err(fault.clone());
    }
    let dangling = |tag: &'static str| {
        let message = alloc::format!("{tag} does not point to a known item");
        Error::new(ErrorKind::OutOfRange, function.range.start, message)
    };
    let resolve = |offset: Option<u64>, known: &[u64], tag: &'static str| {
        offset.map(|offset| known.binary_search(&offset).map_err(|_| dangling(tag))).transpose()
    };
    let offsets = function.offsets.ok_or_else(|| missing_tag(function, "OFFT"))?;
    // Groups must be in the order of the functions. Without this check, a small file of functions that all point to one
    // large group would take unlimited memory.
    if (offsets.public_metadata, offsets.private_metadata) != (next.public_metadata, next.private_metadata) {
        return Err(unsupported_layout(function.range.start));
    }
    let (public, private) = (library.public_metadata(function)?, library.private_metadata(function)?);
    let size = |group: &MetadataGroup<'_>| group.range.end.saturating_sub(group.range.start);
    let public_size = public.as_ref().map_or(0, |metadata| size(&metadata.group));
    let private_size = private.as_ref().map_or(0, |metadata| size(&metadata.group));
    next.public_metadata = next.public_metadata.saturating_add(public_size);
    next.private_metadata = next.private_metadata.saturating_add(private_size);
    let mut owned = OwnedFunction {
        name: function.name.ok_or_else(|| missing_tag(function, "NAME"))?.into(),
        kind: function.kind,
        hash: Some(*function.hash.ok_or_else(|| missing_tag(function, "HASH"))?),
        module: modules.index_at(offsets.bitcode).ok_or_else(|| dangling("OFFT"))?,
        states_module_size: function.module_size.is_some(),
        versions: function.versions,
        tessellation: function.tessellation,
        layer_type: function.layer_type,
        source: resolve(function.source_offset, &references.archives, "SOFF")?,
        reflection: resolve(function.reflection_offset, &references.reflections, "RFLT")?,
        other: Vec::new(),
        order: None,
        public: public.map(|metadata| public_tags(&metadata)).unwrap_or_default(),
        private: private.map(|metadata| private_tags(&metadata)).unwrap_or_default(),
    };
    let other = function.tags().filter_map(Result::ok).filter(|tag| !is_function_tag(tag.code));
    owned.other = other.map(|tag| raw(&tag)).collect();
    owned.order = unusual_order(function.tags(), function_order(dialect), function_order(dialect));
    Ok(owned)
}

/// Returns the order of tags, unless it is the usual order followed by the tags that are not `typed`.
fn unusual_order(tags: Tags<'_>, usual: &[[u8; 4]], typed: &[[u8; 4]]) -> Option<Vec<FourCc>> {
    let is_typed = |code: FourCc| typed.contains(&code.0);
    let rank = |tag: &Tag<'_>| match usual.iter().position(|code| *code == tag.code.0) {
        Some(rank) if is_typed(tag.code) => rank,
        _ => usize::MAX,
    };
    let tags = tags.filter_map(Result::ok);
    if tags.clone().is_sorted_by_key(|tag| rank(&tag)) {
        return None;
    }
    let mut codes: Vec<FourCc> = tags.map(|tag| tag.code).collect();
    // Consecutive tags that are stored in one field are written together.
    codes.dedup_by(|next, code| next == code && is_typed(*code));
    Some(codes)
}

/// Converts public metadata. A tag stays raw if its typed form would not reproduce it.
fn public_tags<'a>(metadata: &PublicMetadata<'a>) -> PublicTags<'a> {
    let has = |code: &[u8; 4]| find(&metadata.group, code).is_some();
    let mut tags = PublicTags::default();
    if has(b"VATT")
        && let Ok(attributes) = metadata.vertex_attributes()
    {
        let owned = attributes.iter().map(|attribute| VertexAttribute {
            name: attribute.name.into(),
            index: attribute.index,
            usage: attribute.usage,
            active: attribute.active,
            data_type: attribute.data_type,
        });
        tags.attributes = Some(owned.collect());
    }
    if has(b"CNST")
        && let Ok(constants) = metadata.function_constants()
    {
        let owned = constants.iter().map(|constant| FunctionConstant {
            name: constant.name.into(),
            data_type: constant.data_type,
            index: constant.index,
            active: constant.active,
        });
        tags.constants = Some(owned.collect());
    }
    let mut written = Vec::new();
    if put_public(&tags, &mut written).is_ok() && metadata.group.content() == written {
        return tags;
    }
    // VATY without VATT, flags other than 0 and 1, other tags: check each typed tag separately.
    let round_trips = |tags: &PublicTags<'_>, codes: &[[u8; 4]]| {
        let mut written = Vec::new();
        put_public(tags, &mut written).is_ok() && written == contents(&metadata.group, codes)
    };
    let attributes = PublicTags { attributes: tags.attributes.take(), ..PublicTags::default() };
    let constants = PublicTags { constants: tags.constants.take(), ..PublicTags::default() };
    let mut typed: Vec<[u8; 4]> = Vec::new();
    if attributes.attributes.is_some() && round_trips(&attributes, &[*b"VATT", *b"VATY"]) {
        tags.attributes = attributes.attributes;
        typed.extend([*b"VATT", *b"VATY"]);
    }
    if constants.constants.is_some() && round_trips(&constants, &[*b"CNST"]) {
        tags.constants = constants.constants;
        typed.push(*b"CNST");
    }
    tags.other = other_tags(&metadata.group, &typed);
    tags.order = unusual_order(metadata.group.tags(), &PUBLIC_ORDER, &typed);
    tags
}

fn private_tags<'a>(metadata: &PrivateMetadata<'a>) -> PrivateTags<'a> {
    let mut tags = PrivateTags::default();
    if let Ok(Some(location)) = metadata.source_location() {
        tags.location = Some(SourceLocation { line: location.line, path: location.path.into() });
    }
    if let Ok(paths) = metadata.dependencies().collect::<Result<Vec<_>>>() {
        tags.dependencies = paths.into_iter().map(Cow::Borrowed).collect();
    }
    let mut written = Vec::new();
    if put_private(&tags, &mut written).is_ok() && metadata.group.content() == written {
        return tags;
    }
    let mut typed: Vec<[u8; 4]> = Vec::new();
    if tags.location.is_some() {
        typed.push(*b"DEBI");
    }
    if !tags.dependencies.is_empty() {
        typed.push(*b"DEPF");
    }
    tags.other = other_tags(&metadata.group, &typed);
    tags.order = unusual_order(metadata.group.tags(), &PRIVATE_ORDER, &typed);
    tags
}

fn find<'a>(group: &MetadataGroup<'a>, code: &[u8; 4]) -> Option<Tag<'a>> {
    group.tags().filter_map(Result::ok).find(|tag| tag.code.0 == *code)
}

/// Returns the encoded tags with these codes.
fn contents(group: &MetadataGroup<'_>, codes: &[[u8; 4]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for tag in group.tags().filter_map(Result::ok).filter(|tag| codes.contains(&tag.code.0)) {
        bytes.extend_from_slice(&tag.code.0);
        let length = tag.content.data().len() as u64;
        bytes.extend_from_slice(length.to_le_bytes().get(..2).unwrap_or_default());
        bytes.extend_from_slice(tag.content.data());
    }
    bytes
}

/// Returns the tags whose codes are not in `typed`.
fn other_tags<'a>(group: &MetadataGroup<'a>, typed: &[[u8; 4]]) -> Vec<RawTag<'a>> {
    let tags = group.tags().filter_map(Result::ok);
    tags.filter(|tag| !typed.contains(&tag.code.0)).map(|tag| raw(&tag)).collect()
}

/// Checks that writing the library reproduces its file.
fn check_round_trip(file: &LibraryFile<'_>, library: &Library<'_>) -> Result<()> {
    let written = file.write()?;
    let mut rest = library.file().data();
    let mut at = library.file().base();
    for piece in written.pieces() {
        let same = rest.get(..piece.len());
        // Most pieces are slices of the input itself.
        let is_same = same.is_some_and(|same| core::ptr::eq(same, piece) || same == piece);
        if !is_same {
            let equal = piece.iter().zip(rest).take_while(|(a, b)| a == b).count();
            return Err(unsupported_layout(at.saturating_add(equal as u64)));
        }
        rest = rest.get(piece.len()..).unwrap_or_default();
        at = at.saturating_add(piece.len() as u64);
    }
    if rest.is_empty() { Ok(()) } else { Err(unsupported_layout(at)) }
}

#[cold]
fn unsupported_layout(offset: u64) -> Error {
    let message = "unsupported layout: rewriting the library would change these bytes";
    Error::new(ErrorKind::Unsupported, offset, message)
        .hint("`unshade verify` reports what is wrong with the library, `unshade dump` shows its contents")
}
