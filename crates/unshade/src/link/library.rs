//! The library around the modules.
//!
//! Which parts it has depends on its container version (`unshade_metallib::target`), the version of its reflections on the
//! compilers of its modules (`unshade_air::reflection`).

use super::inputs::Inputs;
use super::modules::{Built, BuiltModule};
use super::{LinkOptions, Linked};
use crate::air;
use crate::load_check::Triple;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use unshade_air::reflection;
use unshade_core::{Error, ErrorKind, Result};
use unshade_llvm::Module;
use unshade_llvm::symbols::table_order;
use unshade_metallib::file::{OwnedDynamicHeader, OwnedFunction, OwnedModule, OwnedReflection, SectionData};
use unshade_metallib::reflection::Reflection;
use unshade_metallib::reflection::schema::Version;
use unshade_metallib::target::{
    FIRST_WITH_OUTPUT_NAME, FIRST_WITH_REFLECTION, FIRST_WITH_TYPE, FIRST_WITH_UUID, Target,
};
use unshade_metallib::{LibraryFile, LibraryType, Platform};

pub(super) fn build<'o>(inputs: &Inputs<'_>, built: Built, options: &LinkOptions<'o>) -> Result<Linked<'o>> {
    let like = options.like.as_ref();
    let file = empty(inputs, options)?;
    let has_reflections = match like {
        Some(like) => !like.reflections().is_empty(),
        None => file.header.patch >= FIRST_WITH_REFLECTION,
    };
    let wants_uuid = match like {
        Some(like) => like.uuid().is_some(),
        None => file.header.patch >= FIRST_WITH_UUID,
    };
    let reflections = match has_reflections {
        true => Some(reflection_version(&built, like, file.header.patch)?),
        false => None,
    };
    let mut library = Library {
        file,
        options,
        reflection_version: reflections,
        reflections: Vec::new(),
        dynamic: OwnedDynamicHeader::default(),
        imports: Vec::new(),
        notes: built.notes,
    };
    let known = like.and_then(|like| like.dynamic_header()?.install_name.clone());
    library.dynamic.install_name = options.install_name.clone().map(Cow::Owned).or(known);
    library.link_against(options.libraries.iter().map(|library| library.install_name.as_slice()));
    for module in built.modules {
        if options.dynamic && library.dynamic.install_name.is_none() {
            let input = inputs.all.get(module.input);
            library.dynamic.install_name = input.map(|input| Cow::Owned(input.source_filename.clone()));
        }
        let name = inputs.all.get(module.input).map(|input| input.input.name.clone()).unwrap_or_default();
        library.add(module).map_err(|error| error.within(name))?;
    }
    library.add_sections();
    let Library { mut file, mut notes, .. } = library;
    if let Some(like) = like {
        take_from(&mut file, like, &mut notes);
    }
    if wants_uuid || options.uuid.is_some() {
        file.set_uuid(Some([0; 16]));
        file.renew_uuid()?;
        let is_same = |like: &&LibraryFile<'_>| {
            like.modules.iter().map(|one| &one.bytes).eq(file.modules.iter().map(|one| &one.bytes))
        };
        let same = like.filter(is_same).and_then(|like| like.uuid().copied());
        if let Some(uuid) = options.uuid.or(same) {
            file.set_uuid(Some(uuid));
        }
    }
    Ok(Linked { file, notes, unchanged: built.unchanged })
}

/// Creates the library without functions.
fn empty<'o>(inputs: &Inputs<'_>, options: &LinkOptions<'o>) -> Result<LibraryFile<'o>> {
    let kind = if options.dynamic { LibraryType::DYNAMIC } else { LibraryType::EXECUTABLE };
    let Some(like) = &options.like else {
        return Ok(LibraryFile::new(target(inputs, options)?.header(kind)));
    };
    let found = like.header.library_type();
    if found != kind && like.header.patch >= FIRST_WITH_TYPE {
        return Err(Error::without_offset(ErrorKind::BadValue, "the library to be like is of another type")
            .expected(kind.to_string())
            .found(found.to_string()));
    }
    let mut file = LibraryFile::new(like.header);
    (file.dialect, file.shared_group) = (like.dialect, like.shared_group);
    file.extension = like.extension.as_ref().map(|_| Vec::new());
    Ok(file)
}

/// A library under construction.
struct Library<'l, 'o> {
    file: LibraryFile<'o>,
    options: &'l LinkOptions<'o>,
    /// The version of the reflections, if the library has any.
    reflection_version: Option<Version>,
    reflections: Vec<OwnedReflection<'o>>,
    dynamic: OwnedDynamicHeader<'o>,
    imports: Vec<Vec<u8>>,
    notes: Vec<String>,
}

impl Library<'_, '_> {
    /// Adds the names of dynamic libraries that are not in the list yet.
    fn link_against<'n>(&mut self, names: impl IntoIterator<Item = &'n [u8]>) {
        for name in names {
            if !self.dynamic.linked.iter().any(|known| **known == *name) {
                self.dynamic.linked.push(Cow::Owned(name.to_vec()));
            }
        }
    }

    /// Adds a module with its functions, their reflection, and what they import.
    fn add(&mut self, built: BuiltModule) -> Result<()> {
        self.link_against(built.tables.libraries.iter().map(Vec::as_slice));
        self.imports.extend(built.tables.imports);
        let BuiltModule { bytes, functions, .. } = built;
        if functions.is_empty() {
            return Err(Error::without_offset(ErrorKind::Unsupported, "a module has no function")
                .hint("a library finds its modules by their functions: leave the module out"));
        }
        let module = Module::parse(&bytes, 0)?;
        let reflection = match self.reflection_version {
            Some(version) => Some(self.reflect(&module, version)?),
            None => None,
        };
        let index = self.file.modules.len();
        for mut function in functions {
            function.module = index;
            function.reflection = reflection;
            function.private.location = air::source_location(&module, &function.name);
            self.file.functions.push(function);
        }
        drop(module);
        self.file.modules.push(owned(bytes)?);
        Ok(())
    }

    /// Adds the reflection of a module, and returns its index.
    fn reflect(&mut self, module: &Module<'_>, version: Version) -> Result<usize> {
        let converted = reflection::of_module(module, version)?;
        self.notes.extend(converted.findings.iter().map(|finding| format!("reflection: {}", finding.error)));
        self.reflections.push(OwnedReflection::of_tables(&converted.root)?);
        Ok(self.reflections.len() - 1)
    }

    /// Adds the sections of the header extension.
    fn add_sections(&mut self) {
        let like = self.options.like.as_ref();
        let header = like.and_then(LibraryFile::dynamic_header);
        self.link_against(header.iter().flat_map(|header| &header.linked).map(AsRef::as_ref));
        let is_dynamic = self.options.dynamic;
        if !is_dynamic && self.file.header.patch < FIRST_WITH_OUTPUT_NAME {
            self.dynamic.install_name = None;
        } else {
            self.dynamic.install_name.get_or_insert_default();
        }
        // The legacy tool writes no dynamic header.
        let has_name = self.dynamic.install_name.is_some() && (like.is_none() || header.is_some());
        if is_dynamic || has_name || !self.dynamic.linked.is_empty() {
            let dynamic = std::mem::take(&mut self.dynamic);
            self.file.set_section(*b"HDYN", SectionData::Dynamic(dynamic));
        }
        let mut seen = BTreeSet::new();
        self.imports.retain(|import| seen.insert(import.clone()));
        if !self.imports.is_empty() {
            let names: Vec<&[u8]> = self.imports.iter().map(Vec::as_slice).collect();
            let order = table_order(&names).into_iter().filter_map(|at| self.imports.get(at).cloned());
            let names = order.map(Cow::Owned).collect();
            self.file.set_section(*b"ILST", SectionData::Symbols(names));
        }
        if !self.reflections.is_empty() {
            let reflections = std::mem::take(&mut self.reflections);
            self.file.set_section(*b"RLST", SectionData::Reflections(reflections));
        }
    }
}

/// Returns the target of the library.
fn target(inputs: &Inputs<'_>, options: &LinkOptions<'_>) -> Result<Target> {
    if let Some(target) = options.target {
        return Ok(target);
    }
    let first = inputs.all.iter().find(|input| !input.input.is_member).or(inputs.all.first());
    let triple = first.map(|input| Triple::new(&input.triple));
    let known = triple.as_ref().filter(|triple| triple.platform != Platform::UNKNOWN).and_then(|triple| {
        let version = triple.version?;
        let (minor, patch) = (u8::try_from(version.minor).ok()?, u8::try_from(version.patch).ok()?);
        Some(Target { platform: triple.platform, os: (version.major, minor, patch) })
    });
    match known {
        Some(target) => Ok(target),
        None => Err(Error::without_offset(ErrorKind::BadValue, "the target triple names no OS and version")
            .found(triple.map(|triple| triple.text).unwrap_or_default())
            .hint("--os says for what the library is")),
    }
}

/// Returns the version of the reflections: that of the library to be like, or of the newest compiler.
fn reflection_version(built: &Built, like: Option<&LibraryFile<'_>>, container: u16) -> Result<Version> {
    let known = like.and_then(|like| like.reflections().first());
    let version = |first: &OwnedReflection<'_>| Reflection::parse(&first.content).ok()?.version();
    if let Some(version) = known.and_then(version) {
        return Ok(version);
    }
    let mut newest = None;
    for module in &built.modules {
        newest = newest.max(reflection::oldest_version(&Module::parse(&module.bytes, 0)?));
    }
    Ok(reflection::version_for(newest, container).unwrap_or(reflection::LATEST))
}

fn owned(bytes: Vec<u8>) -> Result<OwnedModule<'static>> {
    match bytes.starts_with(&unshade_metallib::module::BITCODE_MAGIC) {
        true => OwnedModule::of_bitcode(&bytes),
        false => Ok(OwnedModule::of_bytes(bytes)),
    }
}

/// Gives the functions the order, source locations and sources of those of the same names in another library, and the
/// library its other sections.
fn take_from<'o>(file: &mut LibraryFile<'o>, like: &LibraryFile<'o>, notes: &mut Vec<String>) {
    let places: BTreeMap<&[u8], usize> =
        like.functions.iter().enumerate().map(|(at, function)| (function.name.as_ref(), at)).collect();
    let place = |function: &OwnedFunction<'_>| places.get(function.name.as_ref()).copied();
    let unknown = file.functions.iter().filter(|function| place(function).is_none()).count();
    if unknown > 0 {
        notes.push(format!("functions that the other library does not have: {unknown}, which come last"));
    }
    file.functions.sort_by_key(|function| place(function).unwrap_or(usize::MAX));
    for function in &mut file.functions {
        let Some(other) = place(function).and_then(|at| like.functions.get(at)) else { continue };
        function.source = other.source;
        function.private.clone_from(&other.private);
        function.order.clone_from(&other.order);
        function.other.clone_from(&other.other);
        function.states_module_size = other.states_module_size;
        if other.versions.is_none() {
            function.versions = None;
        }
    }
    order_modules(file, like);
    for code in [*b"HSRD", *b"HSRC", *b"HSRP", *b"SLST", *b"VLST"] {
        if let Some(data) = like.section(&[code]) {
            file.set_section(code, data.clone());
        }
    }
}

/// Brings modules and reflections into the order of the functions.
fn order_modules(file: &mut LibraryFile<'_>, like: &LibraryFile<'_>) {
    let mut modules = Vec::new();
    let mut reflections = Vec::new();
    for function in &file.functions {
        if !modules.contains(&function.module) {
            modules.push(function.module);
        }
        if let Some(reflection) = function.reflection.filter(|reflection| !reflections.contains(reflection)) {
            reflections.push(reflection);
        }
    }
    let new = |list: &[usize], old: usize| list.iter().position(|&at| at == old);
    for function in &mut file.functions {
        function.module = new(&modules, function.module).unwrap_or(function.module);
        function.reflection = function.reflection.and_then(|reflection| new(&reflections, reflection));
    }
    let mut old: Vec<Option<OwnedModule<'_>>> =
        std::mem::take(&mut file.modules).into_iter().map(Some).collect();
    for (at, index) in modules.into_iter().enumerate() {
        let mut module = old.get_mut(index).and_then(Option::take);
        if let (Some(module), Some(other)) = (&mut module, like.modules.get(at)) {
            module.stray = Cow::Owned(other.stray.to_vec());
        }
        file.modules.extend(module);
    }
    if let Some(SectionData::Reflections(list)) = file.section_mut(&[*b"RLST"]) {
        let mut old: Vec<Option<OwnedReflection<'_>>> = std::mem::take(list).into_iter().map(Some).collect();
        list.extend(reflections.into_iter().filter_map(|index| old.get_mut(index).and_then(Option::take)));
    }
}
