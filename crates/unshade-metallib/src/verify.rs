//! Checks that a library is valid.
//!
//! A [`Check`] is divided into independent *units*, so that a caller can spread them over threads: one for the library
//! as a whole, and one for each batch of modules, functions and reflection buffers. [`library`] runs all of them in the
//! calling thread. [`RULES`] lists the rules; `docs/verify.md` describes them.
//!
//! The work is limited: a hostile list may refer to the same bytes any number of times, so the number of hashed bytes
//! is at most [`MAX_HASHED_RATIO`] times the size of the file.

mod header;
mod linking;
mod reflection;

use crate::function_list::Function;
use crate::header_extension::{section, section_name};
use crate::library::Library;
use crate::lists::Group;
use crate::metadata::{GroupSize, MetadataGroup};
use crate::module::{Module, Wrapper};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use unshade_core::{Diagnostics, Error, ErrorKind, FourCc, Result};
use unshade_sha256::Hash;

/// Maximum ratio of hashed bytes to the size of the file.
pub const MAX_HASHED_RATIO: u64 = 4;

/// Number of modules, functions or reflection buffers per unit.
const UNIT_SIZE: usize = 32;

/// The rules that a library may break, with a description of each.
pub const RULES: &[(&str, &str)] = &[
    ("file-size", "The file size in the header is correct; Metal rejects a library of any other size."),
    (
        "header-version",
        "The container version is known, and has the type, the platform and the OS that the header states.",
    ),
    ("section-range", "Every section is inside the file."),
    ("section-overlap", "No two sections share a byte."),
    ("section-gap", "Every byte belongs to a section."),
    ("function-list", "The function list contains as many groups as its count says, and nothing else."),
    ("function-tag", "A function's tags are well-formed and unique."),
    ("function-name", "A function has a unique name, in UTF-8."),
    ("function-required-tag", "A function has TYPE, HASH, OFFT and VERS."),
    ("function-type", "A function's type is known."),
    (
        "header-extension",
        "The header extension is a sequence of known tags that ends where the public metadata starts.",
    ),
    ("library-type", "The library has what its type says."),
    ("metadata", "A function's public and private metadata are well-formed, and no other function's."),
    ("metadata-size", "A metadata group's size follows the rule of the tool that wrote the library."),
    ("module-range", "A function's module is inside the bitcode section."),
    ("module-wrapper", "A module starts with a bitcode wrapper of matching size."),
    ("module-hash", "HASH is the SHA-256 of the module."),
    ("module-overlap", "Modules are shared entirely or not at all."),
    ("platform", "The platform matches the macOS flag."),
    ("reflection", "Every reflection buffer can be decoded, and every RFLT points to one."),
    ("reflection-layout", "A reflection is laid out as Apple's linker writes it."),
    ("reflection-version", "All reflections of a library have one version, which is known."),
    ("sources", "The embedded sources are well-formed, and every SOFF points to one of their archives."),
    ("symbol-list", "Imported symbols and exported variables are well-formed."),
    ("dynamic-header", "The dynamic header is a sequence of names."),
    ("source-link", "The source link is a sequence of tags, and zero as in all real files."),
    ("script-list", "The script list is well-formed."),
    ("unknown-tag", "Every tag is known."),
    ("verify-limit", "The check stopped at a limit that guards against hostile files."),
];

/// Runs all units of the check, one after the other.
pub fn library(library: &Library<'_>) -> Diagnostics {
    let mut check = Check::new(library);
    for unit in 0..check.unit_count() {
        check.absorb(check.run(unit));
    }
    check.finish().diagnostics
}

/// A check in progress.
pub struct Check<'a> {
    library: Library<'a>,
    functions: Vec<Function<'a>>,
    modules: Vec<Module<'a>>,
    reflections: Vec<Group<'a>>,
    /// The size rule that all metadata groups must follow: that of the first group.
    size_rule: Option<GroupSize>,
    /// The SHA-256 of each absorbed module.
    hashes: Vec<Hash>,
    diagnostics: Diagnostics,
}

/// Prints the amount of work, not the data.
impl fmt::Debug for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("library", &self.library)
            .field("functions", &self.functions.len())
            .field("modules", &self.modules.len())
            .field("reflections", &self.reflections.len())
            .finish_non_exhaustive()
    }
}
/// An independent part of the check.
enum Unit<'c, 'a> {
    Whole,
    Modules(&'c [Module<'a>]),
    Functions(&'c [Function<'a>]),
    Reflections(&'c [Group<'a>]),
}

/// The findings of a unit.
#[derive(Debug)]
pub struct UnitResult {
    diagnostics: Diagnostics,
    /// The SHA-256 of each module in the unit.
    hashes: Vec<Hash>,
}

/// The result of a check.
#[derive(Debug)]
pub struct Verdict {
    /// The number of functions in the list.
    pub functions: u64,
    /// The number of functions whose hash matches their module.
    pub matching_hashes: u64,
    /// All findings, sorted by file offset.
    pub diagnostics: Diagnostics,
}

impl<'a> Check<'a> {
    /// Divides the check of a library into units.
    pub fn new(library: &Library<'a>) -> Self {
        let mut diagnostics = Diagnostics::new();
        let functions = function_list(library, &mut diagnostics);
        let reflections = reflection::list(library, &mut diagnostics);
        let modules = distinct_modules(library, &functions, &mut diagnostics);
        let first = functions.first().and_then(|first| library.public_metadata(first).ok().flatten());
        let size_rule = first.map(|metadata| metadata.group.group_size());
        Self {
            library: library.clone(),
            functions,
            modules,
            reflections,
            size_rule,
            hashes: Vec::new(),
            diagnostics,
        }
    }

    /// Returns the number of units.
    pub fn unit_count(&self) -> usize {
        let parts = [self.modules.len(), self.functions.len(), self.reflections.len()];
        parts.into_iter().map(|count| count.div_ceil(UNIT_SIZE)).fold(1, usize::saturating_add)
    }

    /// Runs a unit.
    pub fn run(&self, unit: usize) -> UnitResult {
        let mut diagnostics = Diagnostics::new();
        let mut hashes = Vec::new();
        match self.unit(unit) {
            Unit::Whole => self.whole(&mut diagnostics),
            Unit::Modules(modules) => {
                for module in modules {
                    if let Err(error) = check_wrapper(module) {
                        diagnostics.warning("module-wrapper", error.within("module"));
                    }
                }
                let contents: Vec<&[u8]> = modules.iter().map(Module::bytes).collect();
                hashes = unshade_sha256::digests(&contents);
            }
            Unit::Functions(functions) => {
                for function in functions {
                    check_function_tags(function, &mut diagnostics);
                    check_metadata(&self.library, function, self.size_rule, &mut diagnostics);
                }
            }
            Unit::Reflections(groups) => {
                groups.iter().for_each(|group| reflection::buffer(group, &mut diagnostics));
            }
        }
        UnitResult { diagnostics, hashes }
    }

    /// Returns the unit with this number. Unit 0 is the whole library; modules, functions and reflections follow.
    fn unit(&self, unit: usize) -> Unit<'_, 'a> {
        let Some(unit) = unit.checked_sub(1) else { return Unit::Whole };
        if let Some(modules) = self.modules.chunks(UNIT_SIZE).nth(unit) {
            return Unit::Modules(modules);
        }
        let unit = unit.saturating_sub(self.modules.len().div_ceil(UNIT_SIZE));
        if let Some(functions) = self.functions.chunks(UNIT_SIZE).nth(unit) {
            return Unit::Functions(functions);
        }
        let unit = unit.saturating_sub(self.functions.len().div_ceil(UNIT_SIZE));
        Unit::Reflections(self.reflections.chunks(UNIT_SIZE).nth(unit).unwrap_or_default())
    }

    /// Checks the library as a whole.
    fn whole(&self, diagnostics: &mut Diagnostics) {
        header::check(&self.library, &self.functions, diagnostics);
        check_extension(&self.library, diagnostics);
        check_sections(&self.library, diagnostics);
        check_function_names(&self.functions, diagnostics);
        check_sources(&self.library, &self.functions, diagnostics);
        check_shared_metadata(&self.library, &self.functions, diagnostics);
        linking::dynamic_header(&self.library, diagnostics);
        linking::symbol_lists(&self.library, diagnostics);
        linking::source_link(&self.library, diagnostics);
        reflection::offsets(&self.library, &self.functions, &self.reflections, diagnostics);
        reflection::versions(&self.reflections, diagnostics);
    }

    /// Adds the result of a unit. Results must be added in the order of the units, and should be added soon: the
    /// findings of all units of a hostile file together are many times its size.
    pub fn absorb(&mut self, result: UnitResult) {
        self.hashes.extend(result.hashes);
        if !result.diagnostics.is_empty() {
            self.diagnostics.append(result.diagnostics);
        }
    }

    /// Runs the checks that involve several units, after all units were absorbed.
    pub fn finish(mut self) -> Verdict {
        let hashes = core::mem::take(&mut self.hashes);
        let matching_hashes = self.compare_hashes(&hashes);
        self.diagnostics.sort_by_offset();
        Verdict { functions: self.functions.len() as u64, matching_hashes, diagnostics: self.diagnostics }
    }

    /// Compares the hashes of functions with those of their modules. Returns the number of matches.
    fn compare_hashes(&mut self, hashes: &[Hash]) -> u64 {
        let mut by_hash: Option<BTreeMap<&Hash, &Function<'_>>> = None;
        let mut matching = 0u64;
        for function in &self.functions {
            let (Some(expected), Ok(Some(module))) = (function.hash, self.library.module(function)) else {
                continue;
            };
            let range = module.range();
            let ends = |module: &Module<'_>| (module.range().start, module.range().end);
            let place = self.modules.binary_search_by_key(&(range.start, range.end), ends);
            let Some(found) = place.ok().and_then(|place| hashes.get(place)) else { continue };
            if found == expected {
                matching = matching.saturating_add(1);
                continue;
            }
            let by_hash = by_hash.get_or_insert_with(|| {
                self.functions.iter().filter_map(|other| Some((other.hash?, other))).collect()
            });
            let hint = match by_hash.get(found) {
                Some(other) => format!("OFFT points to the module of {}", other.label()),
                None => "the module was modified after the library was written".into(),
            };
            let size = range.end.saturating_sub(range.start);
            self.diagnostics.error(
                "module-hash",
                Error::new(
                    ErrorKind::BadChecksum,
                    range.start,
                    format!("HASH does not match the module of {size} bytes"),
                )
                .expected(short_hex(expected))
                .found(short_hex(found))
                .hint(hint)
                .within(function.label()),
            );
        }
        matching
    }
}

fn check_extension(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    if let Some(fault) = library.extension_fault() {
        diagnostics.error("header-extension", fault.clone());
    }
    let Some(extension) = library.extension() else { return };
    let mut tags = extension.tags();
    let mut seen = BTreeSet::new();
    for tag in &mut tags {
        let Some(tag) = diagnostics.take("header-extension", tag.map_err(|e| e.within("header extension")))
        else {
            continue;
        };
        if !seen.insert(tag.code) {
            diagnostics.warning(
                "header-extension",
                repeated_tag(tag.code, tag.range.start).within("header extension"),
            );
        }
        let known = section_name(tag.code).is_some() || tag.code.0 == *b"UUID";
        if !known {
            diagnostics
                .note("unknown-tag", unknown_tag(tag.code, tag.range.start).within("header extension"));
        } else if section(&tag).is_none() && tag.exactly(|r| r.array_ref::<16>()).is_err() {
            diagnostics.error(
                "header-extension",
                Error::new(ErrorKind::BadValue, tag.range.start, "tag has the wrong size")
                    .expected("16 bytes")
                    .found(format!("{}", tag.content.data().len()))
                    .within(format!("tag {}", tag.code))
                    .within("header extension"),
            );
        }
    }
    if tags.ended() && !tags.reader().is_empty() {
        diagnostics.warning(
            "header-extension",
            Error::new(ErrorKind::BadValue, tags.reader().offset(), "bytes follow the header extension")
                .found(format!("{} bytes", tags.reader().remaining())),
        );
    }
}

/// Checks that sections are inside the file, do not overlap, and leave no gaps.
fn check_sections(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    let base = library.file().base();
    let length = library.file().data().len() as u64;
    let mut sections: Vec<(Range<u64>, String)> =
        alloc::vec![(0..crate::header::HEADER_SIZE.min(length), "header".into())];
    let mut add = |name: String, range: Range<u64>, diagnostics: &mut Diagnostics| {
        if range.end > length {
            diagnostics.error(
                "section-range",
                Error::new(
                    ErrorKind::OutOfRange,
                    base.saturating_add(range.start.min(length)),
                    "section reaches beyond the end of the file",
                )
                .expected(format!("an end of at most {length:#x}"))
                .found(format!("{:#x}..{:#x}", range.start, range.end))
                .within(name.clone()),
            );
        }
        if range.start < range.end && range.start < length {
            sections.push((range.start..range.end.min(length), name));
        }
    };
    for (name, range) in library.header().sections() {
        add(name.into(), range, diagnostics);
    }
    if let Some(extension) = library.extension() {
        let range = extension.range.start.saturating_sub(base)..extension.range.end.saturating_sub(base);
        add("header extension".into(), range, diagnostics);
        for tag in extension.tags().filter_map(Result::ok) {
            if let Some(section) = section(&tag) {
                let name = section_name(tag.code).unwrap_or_default();
                add(format!("{name} ({})", tag.code), section.range(), diagnostics);
            }
        }
    }
    sections.sort_by_key(|(range, _)| (range.start, range.end));
    let mut end = 0;
    let mut previous = "start of the file";
    for (range, name) in &sections {
        let at = base.saturating_add(range.start);
        if range.start > end {
            diagnostics.warning(
                "section-gap",
                Error::new(ErrorKind::BadValue, base.saturating_add(end), "bytes outside all sections")
                    .found(format!(
                        "{} bytes between {previous} and {name}",
                        range.start.saturating_sub(end)
                    )),
            );
        } else if range.start < end {
            diagnostics.error(
                "section-overlap",
                Error::new(ErrorKind::OutOfRange, at, format!("{name} overlaps {previous}")),
            );
        }
        if range.end > end {
            end = range.end;
            previous = name;
        }
    }
    if end < length {
        diagnostics.warning(
            "section-gap",
            Error::new(ErrorKind::BadValue, base.saturating_add(end), "bytes outside all sections")
                .found(format!("{} bytes after {previous}", length.saturating_sub(end))),
        );
    }
}

/// A function with all required tags is larger than this in the file. Limits the memory for the list of functions,
/// which are several times as large in memory.
const MIN_FUNCTION_SIZE: usize = 96;

fn function_list<'a>(library: &Library<'a>, diagnostics: &mut Diagnostics) -> Vec<Function<'a>> {
    let mut list = library.functions();
    let limit = library.file().data().len() / MIN_FUNCTION_SIZE;
    let mut functions = Vec::with_capacity(limit.min(list.declared_count() as usize));
    for function in &mut list {
        if functions.len() > limit {
            diagnostics.error(
                "verify-limit",
                Error::new(
                    ErrorKind::Limit,
                    list.reader().offset(),
                    "too many functions for a file of this size",
                )
                .expected(format!("at most {limit}"))
                .within("function list"),
            );
            break;
        }
        let Some(function) =
            diagnostics.take("function-list", function.map_err(|e| e.within("function list")))
        else {
            continue;
        };
        functions.push(function);
    }
    let rest = list.reader();
    if functions.len() as u64 == u64::from(list.declared_count()) && !rest.is_empty() {
        diagnostics.warning(
            "function-list",
            Error::new(ErrorKind::BadValue, rest.offset(), "bytes follow the last function")
                .found(format!("{} bytes", rest.remaining()))
                .within("function list"),
        );
    }
    functions
}

/// Checks that function names are unique.
fn check_function_names(functions: &[Function<'_>], diagnostics: &mut Diagnostics) {
    let mut names = BTreeMap::new();
    for function in functions {
        if let Some(name) = function.name
            && let Some(first) = names.insert(name, function.index)
        {
            diagnostics.warning(
                "function-name",
                Error::new(ErrorKind::BadValue, function.range.start, "another function has the same name")
                    .found(format!("function {first}"))
                    .within(function.label()),
            );
        }
    }
}

/// The tags that the group of a function may contain.
const FUNCTION_TAGS: [&[u8; 4]; 10] =
    [b"NAME", b"TYPE", b"HASH", b"OFFT", b"VERS", b"MDSZ", b"TESS", b"LAYR", b"SOFF", b"RFLT"];

fn check_function_tags(function: &Function<'_>, diagnostics: &mut Diagnostics) {
    if let Some(fault) = &function.fault {
        diagnostics.error("function-tag", fault.clone());
    }
    let mut seen = [false; FUNCTION_TAGS.len()];
    let mut tags = function.tags();
    for tag in tags.by_ref().filter_map(Result::ok) {
        let place = FUNCTION_TAGS.iter().position(|code| **code == tag.code.0);
        match place.and_then(|place| seen.get_mut(place)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => {
                let error = repeated_tag(tag.code, tag.range.start).within(function.label());
                diagnostics.error("function-tag", error);
            }
            None => {
                let error = unknown_tag(tag.code, tag.range.start).within(function.label());
                diagnostics.note("unknown-tag", error);
            }
        }
    }
    let end = tags.reader().offset();
    if tags.ended() && end < function.range.end {
        diagnostics.warning(
            "function-tag",
            Error::new(ErrorKind::BadValue, end, "bytes follow ENDT")
                .found(format!("{} bytes", function.range.end.saturating_sub(end)))
                .within(function.label()),
        );
    }
    let start = function.range.start;
    let mut missing = |rule, tag: &'static str| {
        diagnostics.error(
            rule,
            Error::new(ErrorKind::BadValue, start, "missing tag").expected(tag).within(function.label()),
        );
    };
    if function.name.is_none() {
        missing("function-name", "NAME");
    }
    for (present, tag) in [
        (function.kind.is_some(), "TYPE"),
        (function.hash.is_some(), "HASH"),
        (function.offsets.is_some(), "OFFT"),
        (function.versions.is_some(), "VERS"),
    ] {
        if !present {
            missing("function-required-tag", tag);
        }
    }
    if let Some(name) = function.name
        && core::str::from_utf8(name).is_err()
    {
        diagnostics.error(
            "function-name",
            Error::new(ErrorKind::BadValue, start, "name is not UTF-8").within(function.label()),
        );
    }
    if let Some(kind) = function.kind
        && kind.name().is_none()
    {
        diagnostics.warning(
            "function-type",
            Error::new(ErrorKind::BadValue, start, "unknown function type")
                .found(format!("{kind}"))
                .within(function.label()),
        );
    }
}

fn check_metadata(
    library: &Library<'_>,
    function: &Function<'_>,
    size_rule: Option<GroupSize>,
    diagnostics: &mut Diagnostics,
) {
    let check_size = |name: &'static str, group: &MetadataGroup<'_>, diagnostics: &mut Diagnostics| {
        let rule = group.group_size();
        let expected = size_rule.unwrap_or(rule);
        if rule == GroupSize::Wrong || rule != expected {
            let real = group.range.end.saturating_sub(group.range.start);
            diagnostics.warning(
                "metadata-size",
                Error::new(ErrorKind::BadValue, group.range.start, "wrong size of the group")
                    .expected(format!(
                        "{}",
                        if expected == GroupSize::Exclusive { real.saturating_sub(4) } else { real }
                    ))
                    .found(format!("{}", group.stated_size))
                    .within(name)
                    .within(function.label()),
            );
        }
    };
    let unknown_tags = |group: &MetadataGroup<'_>, known: &[&[u8; 4]], diagnostics: &mut Diagnostics| {
        for tag in group.tags().filter_map(Result::ok).filter(|tag| !known.contains(&&tag.code.0)) {
            diagnostics.note("unknown-tag", unknown_tag(tag.code, tag.range.start).within(function.label()));
        }
    };
    if let Some(public) = diagnostics.take("metadata", library.public_metadata(function)).flatten() {
        check_size("public metadata", &public.group, diagnostics);
        unknown_tags(&public.group, &[b"VATT", b"VATY", b"CNST", b"RETR", b"ARGR"], diagnostics);
        let within = |error: Error| error.within("public metadata").within(function.label());
        diagnostics.take("metadata", public.vertex_attributes().map_err(within));
        diagnostics.take("metadata", public.function_constants().map_err(within));
    }
    if let Some(private) = diagnostics.take("metadata", library.private_metadata(function)).flatten() {
        check_size("private metadata", &private.group, diagnostics);
        unknown_tags(&private.group, &[b"DEBI", b"DEPF"], diagnostics);
        let within = |error: Error| error.within("private metadata").within(function.label());
        diagnostics.take("metadata", private.source_location().map_err(within));
        for dependency in private.dependencies() {
            diagnostics.take("metadata", dependency.map_err(within));
        }
    }
}

/// Checks that no two functions share a group of metadata. They may share modules and reflections, but linkers write a group
/// for each function, even an empty one.
fn check_shared_metadata(library: &Library<'_>, functions: &[Function<'_>], diagnostics: &mut Diagnostics) {
    let header = library.header();
    let mut seen = [BTreeSet::new(), BTreeSet::new()];
    for function in functions {
        let Some(offsets) = function.offsets else { continue };
        let groups = [
            ("public metadata", header.public_metadata, offsets.public_metadata),
            ("private metadata", header.private_metadata, offsets.private_metadata),
        ];
        for ((name, section, offset), seen) in groups.into_iter().zip(&mut seen) {
            if !seen.insert(offset) {
                let at = library.file().base().saturating_add(section.offset).saturating_add(offset);
                let error =
                    Error::new(ErrorKind::BadValue, at, "OFFT points to the group of another function");
                diagnostics.warning("metadata", error.within(name).within(function.label()));
            }
        }
    }
}

/// Checks the source section and the offsets into it. Does not unpack the archives.
fn check_sources(library: &Library<'_>, functions: &[Function<'_>], diagnostics: &mut Diagnostics) {
    let Some(sources) = diagnostics.take("sources", library.sources()).flatten() else {
        let has_section =
            |code| library.extension().is_some_and(|extension| extension.section(code).is_some());
        if !has_section(b"HSRD") && !has_section(b"HSRC") {
            report_dangling(functions, |function| function.source_offset, "sources", "SOFF", diagnostics);
        }
        return;
    };
    let mut starts = BTreeSet::new();
    for archive in sources.archives() {
        if let Some(archive) = diagnostics.take("sources", archive) {
            starts.insert(archive.code_offset);
            let size = archive.range.end.saturating_sub(archive.range.start).saturating_sub(4);
            if size != u64::from(archive.stated_size) {
                let error =
                    Error::new(ErrorKind::BadValue, archive.range.start, "wrong size of a source archive")
                        .expected(format!("{size}"))
                        .found(format!("{}", archive.stated_size))
                        .within("sources");
                diagnostics.warning("sources", error);
            }
            if !archive.compressed.rest().starts_with(b"BZh") {
                diagnostics.error(
                    "sources",
                    Error::new(
                        ErrorKind::BadMagic,
                        archive.compressed.offset(),
                        "archive is not a bzip2 stream",
                    )
                    .expected("BZh")
                    .within("sources"),
                );
            }
        }
    }
    for function in functions {
        let Some(offset) = function.source_offset else { continue };
        let at = sources.offset().saturating_add(offset);
        if !starts.contains(&at) {
            diagnostics.error(
                "sources",
                Error::new(ErrorKind::OutOfRange, at, "SOFF does not point to a source archive")
                    .within(function.label()),
            );
        }
    }
}

/// Reports the functions that have an offset into a section which the library does not have.
fn report_dangling(
    functions: &[Function<'_>],
    offset: impl Fn(&Function<'_>) -> Option<u64>,
    rule: &'static str,
    tag: &str,
    diagnostics: &mut Diagnostics,
) {
    for function in functions.iter().filter(|function| offset(function).is_some()) {
        let error = Error::new(
            ErrorKind::OutOfRange,
            function.range.start,
            format!("{tag} points into a section that does not exist"),
        );
        diagnostics.error(rule, error.within(function.label()));
    }
}

/// Returns the distinct modules of the functions, in file order. Reports modules that are out of range or overlap.
fn distinct_modules<'a>(
    library: &Library<'a>,
    functions: &[Function<'a>],
    diagnostics: &mut Diagnostics,
) -> Vec<Module<'a>> {
    let mut modules = Vec::new();
    for function in functions {
        let Some(module) = diagnostics.take("module-range", library.module(function)).flatten() else {
            continue;
        };
        modules.push(module);
    }
    modules.sort_by_key(|module| (module.range().start, module.range().end));
    modules.dedup_by_key(|module| module.range());
    let budget = (library.file().data().len() as u64).saturating_mul(MAX_HASHED_RATIO);
    let mut total = 0u64;
    let mut previous: Option<Range<u64>> = None;
    let mut hashed = modules.len();
    for (index, module) in modules.iter().enumerate() {
        let Range { start, end } = module.range();
        if previous.is_some_and(|previous| previous.end > start) {
            diagnostics.warning(
                "module-overlap",
                Error::new(ErrorKind::OutOfRange, start, "module overlaps the previous one"),
            );
        }
        previous = Some(start..end);
        total = total.saturating_add(end.saturating_sub(start));
        if total > budget {
            diagnostics.error(
                "verify-limit",
                Error::new(
                    ErrorKind::Limit,
                    start,
                    "overlapping modules are too large in total; the rest is not hashed",
                )
                .expected(format!("at most {MAX_HASHED_RATIO} times the file")),
            );
            hashed = index;
            break;
        }
    }
    modules.truncate(hashed);
    modules
}

fn check_wrapper(module: &Module<'_>) -> Result<()> {
    let wrapper: Wrapper = module.wrapper()?;
    module.bitcode()?;
    let size = module.bytes().len() as u64;
    if wrapper.padded_size() != size {
        return Err(Error::new(
            ErrorKind::BadValue,
            module.range().start,
            "size of the module does not match its wrapper",
        )
        .expected(format!("{}", wrapper.padded_size()))
        .found(format!("{size}")));
    }
    Ok(())
}

fn short_hex(hash: &Hash) -> String {
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    match (digits.get(..8), digits.get(56..)) {
        (Some(head), Some(tail)) => format!("{head}…{tail}"),
        _ => digits,
    }
}

fn repeated_tag(code: FourCc, offset: u64) -> Error {
    Error::new(ErrorKind::BadValue, offset, format!("duplicate tag {code}"))
}

fn unknown_tag(code: FourCc, offset: u64) -> Error {
    Error::new(ErrorKind::Unsupported, offset, format!("unknown tag {code}"))
}
