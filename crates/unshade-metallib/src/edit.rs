//! Edits of a library: removing, keeping, renaming and merging functions, stripping information, setting the target and
//! the install name, replacing modules.
//!
//! No edit leaves a dangling reference: whatever only a removed function referred to is removed as well, and an edit
//! for which that is impossible fails before it changes anything. Edits do not change the contents of modules: their
//! target triple, the names of their functions, their debug info.
//!
//! No edit changes the UUID; [`LibraryFile::renew_uuid`] does.

use crate::file::{
    ExtensionTag, LibraryFile, OwnedDynamicHeader, OwnedFunction, OwnedModule, OwnedReflection, OwnedSources,
    PrivateTags, SectionData, Text,
};
use crate::header::{LibraryType, Platform};
use crate::reflection;
use crate::target::{FIRST_WITH_EXTENSION, FIRST_WITH_OUTPUT_NAME, FIRST_WITH_PLATFORM, Target};
use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Escaped, FourCc, Result};

fn impossible_edit(message: impl Into<Cow<'static, str>>) -> Error {
    Error::without_offset(ErrorKind::Unsupported, message)
}

/// Information that can be stripped from a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strip {
    /// The embedded sources (`HSRD`, `HSRC`, `HSRP`) and the references to them (`SOFF`).
    Sources,
    /// The source locations of functions, and the files they were linked from (`DEBI`, `DEPF`).
    DebugPaths,
    /// All private metadata.
    PrivateMetadata,
    /// The reflection buffers (`RLST`) and the references to them (`RFLT`).
    Reflection,
}

/// Returns the new index of each item if only the items in `kept` stay. The values for other items are meaningless.
fn renumber(kept: &[bool]) -> Vec<usize> {
    let mut next = 0usize;
    let number = |kept: &bool| {
        let number = next;
        next = next.saturating_add(usize::from(*kept));
        number
    };
    kept.iter().map(number).collect()
}

fn retain<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    list.retain(|_| kept.next().copied().unwrap_or(true));
}

/// Returns which of `count` items stay: those that a remaining function refers to, and those that no function referred
/// to in the first place.
fn items_to_keep<'f, 'a: 'f>(
    count: usize,
    functions: &'f [OwnedFunction<'a>],
    stays: &[bool],
    reference: impl Fn(&'f OwnedFunction<'a>) -> Option<usize>,
) -> Vec<bool> {
    let mut used = alloc::vec![true; count];
    for wanted in [false, true] {
        let chosen = functions.iter().zip(stays).filter(|(_, stays)| **stays == wanted);
        for index in chosen.filter_map(|(function, _)| reference(function)) {
            if let Some(used) = used.get_mut(index) {
                *used = wanted;
            }
        }
    }
    used
}

impl<'a> LibraryFile<'a> {
    /// Keeps the functions for which `keep` returns true, given their index. Also removes modules, source archives and
    /// reflection buffers that only removed functions referred to. Returns the number of removed functions.
    pub fn keep_functions(&mut self, mut keep: impl FnMut(usize, &OwnedFunction<'a>) -> bool) -> usize {
        let stays: Vec<bool> =
            self.functions.iter().enumerate().map(|(index, function)| keep(index, function)).collect();
        let functions = &self.functions;
        let modules = items_to_keep(self.modules.len(), functions, &stays, |function| Some(function.module));
        let archives = self.sources().map_or(0, |sources| sources.archives.len());
        let archives = items_to_keep(archives, functions, &stays, |function| function.source);
        let reflections =
            items_to_keep(self.reflections().len(), functions, &stays, |function| function.reflection);

        let old_count = self.functions.len();
        retain(&mut self.functions, &stays);
        retain(&mut self.modules, &modules);
        if let Some(SectionData::Sources(sources)) = self.section_mut(&SOURCES) {
            retain(&mut sources.archives, &archives);
            if sources.archives.is_empty() && !archives.is_empty() {
                self.remove_section(&SOURCES);
            }
        }
        if let Some(SectionData::Reflections(list)) = self.section_mut(&[*b"RLST"]) {
            retain(list, &reflections);
            if list.is_empty() && !reflections.is_empty() {
                self.remove_section(&[*b"RLST"]);
            }
        }
        let (modules, archives, reflections) =
            (renumber(&modules), renumber(&archives), renumber(&reflections));
        for function in &mut self.functions {
            function.module = modules.get(function.module).copied().unwrap_or(function.module);
            function.source = function.source.and_then(|source| archives.get(source).copied());
            function.reflection = function.reflection.and_then(|index| reflections.get(index).copied());
        }
        old_count.saturating_sub(self.functions.len())
    }

    /// Returns the index of the function with this name.
    pub fn function_named(&self, name: &[u8]) -> Option<usize> {
        self.functions.iter().position(|function| *function.name == *name)
    }

    /// Renames a function, in its reflection as well. The symbol in its module keeps the old name.
    ///
    /// # Errors
    /// If there is no such function, the name is already used, empty or contains a NUL, or the library is a dynamic
    /// one, whose clients find functions by their symbols.
    pub fn rename_function(&mut self, index: usize, name: impl Into<Text<'a>>) -> Result<()> {
        let name = name.into();
        let shown = Escaped(&name).quoted();
        let taken = self.function_named(&name).is_some_and(|other| other != index);
        let is_dynamic = self.header.library_type() == LibraryType::DYNAMIC;
        let count = self.functions.len();
        let function = self.functions.get_mut(index).ok_or_else(|| {
            impossible_edit("no such function")
                .expected(format!("a number below {count}"))
                .found(format!("{index}"))
        })?;
        let within = |error: Error| error.within(function.label(index));
        if name.is_empty() || name.contains(&0) {
            return Err(within(impossible_edit(format!("{shown} is not a valid function name"))));
        }
        if taken {
            return Err(within(impossible_edit(format!("another function is already named {shown}"))));
        }
        if is_dynamic {
            return Err(within(impossible_edit(
                "functions of a dynamic library are found by the symbols in their modules, which would keep the old name",
            )));
        }
        let old = core::mem::replace(&mut function.name, name.clone());
        let reflection = function.reflection;
        if let Some(SectionData::Reflections(list)) = self.section_mut(&[*b"RLST"])
            && let Some(buffer) = reflection.and_then(|reflection| list.get_mut(reflection))
            && let Some(renamed) = reflection::renamed(&buffer.content, &old, &name)
        {
            buffer.content = Cow::Owned(renamed);
        }
        Ok(())
    }

    /// Replaces the module of a function, and thereby of all functions that share it. Their hashes will be recomputed.
    /// Returns the number of these functions.
    ///
    /// # Errors
    /// If there is no such function, or the bitcode is too large.
    pub fn replace_module(&mut self, index: usize, bitcode: &[u8]) -> Result<usize> {
        let count = self.functions.len();
        let function = self.functions.get(index).ok_or_else(|| {
            impossible_edit("no such function")
                .expected(format!("a number below {count}"))
                .found(format!("{index}"))
        })?;
        let module = function.module;
        let replacement = if bitcode.starts_with(&crate::module::BITCODE_MAGIC) {
            OwnedModule::of_bitcode(bitcode)?
        } else {
            OwnedModule::of_bytes(bitcode.to_vec())
        };
        if let Some(place) = self.modules.get_mut(module) {
            place.bytes = replacement.bytes;
        }
        let users = self.functions.iter_mut().filter(|function| function.module == module);
        Ok(users.map(|function| function.hash = None).count())
    }

    /// Removes information. Returns whether there was any.
    pub fn strip(&mut self, what: Strip) -> bool {
        let mut any = false;
        match what {
            Strip::Sources => {
                any |= self.remove_section(&SOURCES) | self.remove_section(&[*b"HSRP"]);
                for function in &mut self.functions {
                    any |= function.source.take().is_some();
                }
            }
            Strip::DebugPaths => {
                for private in self.functions.iter_mut().map(|function| &mut function.private) {
                    any |= private.location.take().is_some() | !private.dependencies.is_empty();
                    private.dependencies.clear();
                }
            }
            Strip::PrivateMetadata => {
                for function in &mut self.functions {
                    any |= function.private != PrivateTags::default();
                    function.private = PrivateTags::default();
                }
            }
            Strip::Reflection => {
                any |= self.remove_section(&[*b"RLST"]);
                for function in &mut self.functions {
                    any |= function.reflection.take().is_some();
                }
            }
        }
        any
    }

    /// Sets the reflection of all functions of a module.
    pub fn set_reflection(&mut self, module: usize, reflection: OwnedReflection<'a>) {
        let of_module = |function: &&OwnedFunction<'_>| function.module == module;
        let known = self.functions.iter().filter(of_module).find_map(|function| function.reflection);
        let is_shared = |index| {
            let mut others = self.functions.iter().filter(|function| function.module != module);
            others.any(|function| function.reflection == Some(index))
        };
        let own = known.filter(|&index| !is_shared(index));
        if self.section_mut(&[*b"RLST"]).is_none() {
            self.set_section(*b"RLST", SectionData::Reflections(Vec::new()));
        }
        let Some(SectionData::Reflections(list)) = self.section_mut(&[*b"RLST"]) else { return };
        let index = match own.and_then(|index| Some((index, list.get_mut(index)?))) {
            Some((index, place)) => {
                *place = reflection;
                index
            }
            None => {
                list.push(reflection);
                list.len().saturating_sub(1)
            }
        };
        for function in self.functions.iter_mut().filter(|function| function.module == module) {
            function.reflection = Some(index);
        }
    }

    /// Sets platform and OS in the header, as far as the container version can express them. Does not change the target
    /// triples inside the modules.
    ///
    /// # Errors
    /// If an OS version is given but the container is older than 1.2.6, which cannot express it.
    pub fn retarget(&mut self, platform: Option<Platform>, os: Option<(u16, u8, u8)>) -> Result<()> {
        let header = &mut self.header;
        if header.patch < FIRST_WITH_PLATFORM && os.is_some() {
            let message = format!("container version {} can't store the OS version", header.version());
            return Err(impossible_edit(message).expected("1.2.6 or later"));
        }
        let old_bits = header.raw_platform & 0x80;
        let target = Target {
            platform: platform.unwrap_or(header.platform()),
            os: os.unwrap_or((header.os_major, header.os_minor, header.os_patch)),
        };
        // In an old container, the macOS flag is all there is; it only changes if a platform is given.
        if platform.is_some() || header.patch >= FIRST_WITH_PLATFORM {
            target.write(header);
            header.raw_platform = header.raw_platform & 0x7f | old_bits;
        }
        Ok(())
    }

    /// Sets the install name.
    ///
    /// # Errors
    /// If the library is not dynamic and older than 1.2.9 (newer executables have a name, too), or the name contains a
    /// NUL.
    pub fn set_install_name(&mut self, name: impl Into<Text<'a>>) -> Result<()> {
        let name = name.into();
        if name.contains(&0) {
            return Err(impossible_edit("an install name can't contain a NUL"));
        }
        let kind = self.header.library_type();
        let needed = if kind == LibraryType::DYNAMIC { FIRST_WITH_EXTENSION } else { FIRST_WITH_OUTPUT_NAME };
        if self.header.patch < needed {
            let version = self.header.version();
            return Err(impossible_edit(format!("{kind} libraries of {version} have no install name"))
                .expected("a dynamic library of 1.2.3 or later, or 1.2.9 or later"));
        }
        match self.section_mut(&[*b"HDYN"]) {
            Some(SectionData::Dynamic(dynamic)) => dynamic.install_name = Some(name),
            Some(_) => return Err(impossible_edit("the dynamic header has an unknown layout")),
            None => {
                let dynamic =
                    OwnedDynamicHeader { install_name: Some(name), ..OwnedDynamicHeader::default() };
                self.set_section(*b"HDYN", SectionData::Dynamic(dynamic));
            }
        }
        Ok(())
    }

    /// Adds all functions of another library, with their modules, sources and reflections, and its imports, exports and
    /// linked libraries. Keeps the header, the dialect and the install name; the container version becomes the higher
    /// of the two.
    ///
    /// # Errors
    /// If both libraries have a function of the same name, their platforms or types differ, or the other library has
    /// sections that can't be merged.
    pub fn merge(&mut self, mut other: LibraryFile<'a>) -> Result<()> {
        self.check_mergeable(&other)?;
        let module_base = self.modules.len();
        let archive_base = self.sources().map_or(0, |sources| sources.archives.len());
        let reflection_base = self.reflections().len();
        for function in &mut other.functions {
            function.module = function.module.saturating_add(module_base);
            function.source = function.source.map(|source| source.saturating_add(archive_base));
            function.reflection = function.reflection.map(|index| index.saturating_add(reflection_base));
        }
        if self.header.patch < FIRST_WITH_PLATFORM {
            self.header.raw_platform = other.header.raw_platform;
        }
        self.header.patch = self.header.patch.max(other.header.patch);
        let os = |header: &crate::Header| (header.os_major, header.os_minor, header.os_patch);
        let newest = os(&self.header).max(os(&other.header));
        (self.header.os_major, self.header.os_minor, self.header.os_patch) = newest;
        if other.extension.is_some() {
            self.extension.get_or_insert_default();
        }
        for tag in other.extension.into_iter().flatten() {
            if let ExtensionTag::Section { code, data } = tag {
                self.merge_section(code, data);
            }
        }
        self.modules.append(&mut other.modules);
        self.functions.append(&mut other.functions);
        Ok(())
    }

    fn check_mergeable(&self, other: &LibraryFile<'a>) -> Result<()> {
        // An old container only stores whether it is for macOS.
        let (ours, theirs) = (self.header.raw_platform, other.header.raw_platform);
        let same = ours == theirs || ours == 0 || theirs == 0;
        if !same || self.header.macos_flag() != other.header.macos_flag() {
            return Err(impossible_edit("libraries are for different platforms")
                .expected(self.header.target())
                .found(other.header.target()));
        }
        if self.header.library_type() != other.header.library_type() {
            return Err(impossible_edit("libraries are of different types")
                .expected(format!("{}", self.header.library_type()))
                .found(format!("{}", other.header.library_type())));
        }
        let names: BTreeSet<&[u8]> = self.functions.iter().map(|function| function.name.as_ref()).collect();
        let shared = other.functions.iter().filter(|function| names.contains(function.name.as_ref()));
        let shared: Vec<String> = shared.take(4).map(|function| Escaped(&function.name).quoted()).collect();
        if !shared.is_empty() {
            return Err(impossible_edit(format!("both libraries have a function {}", shared.join(", ")))
                .hint("remove or rename it in one of them"));
        }
        for tag in other.extension.iter().flatten() {
            let is_raw = |code: FourCc| matches!(self.section(&[code.0]), Some(SectionData::Raw(_)));
            let code = match tag {
                ExtensionTag::Section { code, data: SectionData::Raw(_) } => *code,
                ExtensionTag::Section { code, .. } if is_raw(*code) => *code,
                ExtensionTag::Other(tag) => tag.code,
                _ => continue,
            };
            return Err(impossible_edit(format!(
                "section {code} can't be merged because its content is unknown"
            )));
        }
        // HSRC belongs to containers up to 1.2.5, HSRD to later ones.
        let is_new = |sources: Option<&OwnedSources<'_>>| sources.map(|one| one.working_directory.is_some());
        let (ours, theirs) = (is_new(self.sources()), is_new(other.sources()));
        let newest = self.header.patch.max(other.header.patch) >= FIRST_WITH_PLATFORM;
        let crosses = self.header.patch != other.header.patch;
        let misplaced = |one: Option<bool>| crosses && one.is_some_and(|is_new| is_new != newest);
        if misplaced(ours) || misplaced(theirs) || (ours.is_some() && theirs.is_some() && ours != theirs) {
            return Err(impossible_edit("sources in HSRC can't be merged with sources in HSRD")
                .hint("strip the sources of the older library"));
        }
        Ok(())
    }

    fn merge_section(&mut self, code: FourCc, data: SectionData<'a>) {
        let Some(own) = self.section_mut(&[code.0]) else { return self.set_section(code.0, data) };
        match (own, data) {
            (SectionData::Sources(own), SectionData::Sources(other)) => merge_sources(own, other),
            (SectionData::Reflections(own), SectionData::Reflections(mut other)) => own.append(&mut other),
            (SectionData::Scripts(own), SectionData::Scripts(mut other)) => own.append(&mut other),
            (SectionData::Symbols(own), SectionData::Symbols(other)) => add_new(own, other),
            (SectionData::Dynamic(own), SectionData::Dynamic(other)) => {
                add_new(&mut own.linked, other.linked);
            }
            // The source link is the same in all files.
            _ => {}
        }
    }

    /// Replaces the UUID, if there is one, by a UUID of version 8 (RFC 9562): a hash of everything but the UUID.
    ///
    /// # Errors
    /// If the library can't be written.
    pub fn renew_uuid(&mut self) -> Result<()> {
        let Some(place) = self.uuid_mut() else { return Ok(()) };
        *place = [0; 16];
        let digest = self.write()?.digest();
        if let (Some(place), Some(bytes)) = (self.uuid_mut(), digest.first_chunk::<16>()) {
            *place = *bytes;
            let [.., version, _, variant, _, _, _, _, _, _, _] = place;
            *version = *version & 0x0f | 0x80;
            *variant = *variant & 0x3f | 0x80;
        }
        Ok(())
    }

    fn uuid_mut(&mut self) -> Option<&mut [u8; 16]> {
        self.extension.as_mut()?.iter_mut().find_map(|tag| match tag {
            ExtensionTag::Uuid(uuid) => Some(uuid),
            _ => None,
        })
    }
}

const SOURCES: [[u8; 4]; 2] = crate::file::SOURCES;

/// Adds archives. An archive whose ID is already used gets the next free number.
fn merge_sources<'a>(own: &mut OwnedSources<'a>, other: OwnedSources<'a>) {
    for mut archive in other.archives {
        let taken = |id: &[u8]| own.archives.iter().any(|archive| *archive.id == *id);
        if taken(&archive.id) {
            let free = (0..=own.archives.len()).map(|number| format!("{number}").into_bytes());
            archive.id = Cow::Owned(free.into_iter().find(|id| !taken(id)).unwrap_or_default());
        }
        own.archives.push(archive);
    }
}

/// Adds the names that are not in the list yet.
fn add_new<'a>(own: &mut Vec<Text<'a>>, other: Vec<Text<'a>>) {
    let known: BTreeSet<Text<'a>> = own.iter().cloned().collect();
    own.extend(other.into_iter().filter(|name| !known.contains(name)));
}
