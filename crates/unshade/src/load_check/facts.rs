//! Gathers what a loader looks at from a library: the header, the versions of functions, and the target triple and kind
//! of pointers of every module. Loose modules have all of it but the header.

use super::target::parse_version;
use crate::air;
use std::collections::BTreeMap;
use std::fmt;
use unshade_core::Escaped;
use unshade_llvm::types::Type;
use unshade_llvm::{Module, TypeId};
use unshade_metallib::function_list::{FunctionVersions, ShortVersion};
use unshade_metallib::header::{Header, Platform, Version};
use unshade_metallib::{Function, Library};

/// Names of operating systems in triples, for devices. The environment distinguishes simulators and Catalyst.
const SYSTEMS: &[(&str, Platform)] = &[
    ("macosx", Platform::MACOS),
    ("macos", Platform::MACOS),
    ("ios", Platform::IOS),
    ("tvos", Platform::TVOS),
    ("watchos", Platform::WATCHOS),
    ("visionos", Platform::VISIONOS),
    ("xros", Platform::VISIONOS),
    ("bridgeos", Platform::BRIDGEOS),
    ("driverkit", Platform::DRIVERKIT),
];

/// A module's target triple, such as `air64_v26-apple-macosx14.0.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Triple {
    /// Text as in the module, escaped.
    pub text: String,
    /// Platform, or [`Platform::UNKNOWN`] if the triple names no known one.
    pub platform: Platform,
    /// Version of the OS, if the triple has one.
    pub version: Option<Version>,
}

impl Triple {
    /// Parses a triple: `ARCHITECTURE-VENDOR-SYSTEM[-ENVIRONMENT]`.
    pub fn new(text: &[u8]) -> Self {
        let text = Escaped(text).to_cow().into_owned();
        let mut parts = text.split('-').skip(2);
        let system = parts.next().unwrap_or_default();
        let environment = parts.next().unwrap_or_default();
        let digits = system.find(|c: char| c.is_ascii_digit()).unwrap_or(system.len());
        let (name, version) = system.split_at_checked(digits).unwrap_or((system, ""));
        let base = SYSTEMS.iter().find(|(known, _)| *known == name).map(|(_, platform)| *platform);
        let platform = match (base, environment) {
            (Some(Platform::IOS), "simulator") => Platform::IOS_SIMULATOR,
            (Some(Platform::TVOS), "simulator") => Platform::TVOS_SIMULATOR,
            (Some(Platform::WATCHOS), "simulator") => Platform::WATCHOS_SIMULATOR,
            (Some(Platform::VISIONOS), "simulator") => Platform::VISIONOS_SIMULATOR,
            (Some(Platform::IOS), "macabi") => Platform::MAC_CATALYST,
            (Some(platform), _) => platform,
            (None, _) => Platform::UNKNOWN,
        };
        let version = parse_version(version);
        Self { text, platform, version }
    }
}

/// Kind of pointer types in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pointers {
    /// The module has no pointers.
    None,
    /// Pointers with a pointee type, as Apple's compiler writes them.
    Typed,
    /// Opaque pointers, as in LLVM 15 and newer.
    Opaque,
}

/// Properties of a module that matter for loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFacts {
    /// Its target.
    pub triple: Triple,
    /// Its pointers.
    pub pointers: Pointers,
}

impl ModuleFacts {
    /// Reads a function's module, without bodies. `None` if there is no module, or if it can't be read.
    pub fn read(library: &Library<'_>, function: &Function<'_>) -> Option<Self> {
        let module = library.module(function).ok()??;
        Module::parse(module.bytes(), module.range().start).ok().map(|module| Self::of(&module))
    }

    /// Returns the properties of a module.
    pub fn of(module: &Module<'_>) -> Self {
        let kind = |index: usize| match u32::try_from(index).map(|index| module.types.get(TypeId(index))) {
            Ok(Type::OpaquePointer { .. }) => Pointers::Opaque,
            Ok(Type::Pointer { .. }) => Pointers::Typed,
            _ => Pointers::None,
        };
        let pointers = (0..module.types.len()).map(kind).max().unwrap_or(Pointers::None);
        Self { triple: Triple::new(&module.triple), pointers }
    }
}

/// Functions with a common property: how many, and the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of functions.
    pub count: u64,
    /// Name of the first function.
    pub first: String,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "{}", self.first),
            count => write!(f, "{} and {} more", self.first, count - 1),
        }
    }
}

/// Functions grouped by a property.
pub(super) type Groups<K> = BTreeMap<K, Group>;

/// The file of a library, which loose modules do not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    pub(super) header: Header,
    /// Size of the file in bytes.
    pub(super) size: u64,
}

/// Properties of a library, or of loose modules, that matter for loading; see the module.
#[derive(Clone, Debug)]
pub struct LibraryFacts {
    /// The library's file; `None` for loose modules.
    pub(super) container: Option<Container>,
    pub(super) function_count: u64,
    /// Versions of the first function, which the loader takes as those of the library.
    pub(super) first_versions: Option<FunctionVersions>,
    pub(super) languages: Groups<ShortVersion>,
    pub(super) airs: Groups<ShortVersion>,
    pub(super) triples: Groups<Triple>,
    /// Functions with opaque pointers, by version of AIR.
    pub(super) opaque: Groups<Option<ShortVersion>>,
    /// Functions whose module can't be read.
    pub(super) unreadable: Option<Group>,
}

impl LibraryFacts {
    /// Reads a library and its modules, one after the other. To use several threads, read the modules with
    /// [`ModuleFacts::read`] and pass them to [`LibraryFacts::new`].
    pub fn read(library: &Library<'_>) -> Self {
        let functions = library.functions().map_while(Result::ok);
        Self::new(library, functions.map(|function| (ModuleFacts::read(library, &function), function)))
    }

    /// Combines the properties of a library's functions, given in their order.
    pub fn new<'a>(
        library: &Library<'_>,
        functions: impl IntoIterator<Item = (Option<ModuleFacts>, Function<'a>)>,
    ) -> Self {
        let size = library.file().data().len() as u64;
        let mut facts = Self::empty(Some(Container { header: *library.header(), size }));
        for (module, function) in functions {
            facts.add(module, function.versions, || function.shown_name());
        }
        facts
    }

    /// Returns the properties of modules that are in no library yet. Functions are those that a library of the modules has.
    pub fn of_modules<'m, 'a: 'm>(modules: impl IntoIterator<Item = &'m Module<'a>>) -> Self {
        let mut facts = Self::empty(None);
        for module in modules {
            let properties = ModuleFacts::of(module);
            let versions = air::versions(module);
            let names = air::names(module);
            if names.is_empty() {
                facts.add(Some(properties), versions, || "a module without functions".to_owned());
                continue;
            }
            for name in names {
                facts.add(Some(properties.clone()), versions, || Escaped(&name).to_string());
            }
        }
        facts
    }

    fn empty(container: Option<Container>) -> Self {
        Self {
            container,
            function_count: 0,
            first_versions: None,
            languages: Groups::new(),
            airs: Groups::new(),
            triples: Groups::new(),
            opaque: Groups::new(),
            unreadable: None,
        }
    }

    /// Returns whether the library only has declarations.
    pub(super) fn is_stub(&self) -> bool {
        self.container.is_some_and(|container| container.header.is_stub())
    }

    fn add(
        &mut self,
        module: Option<ModuleFacts>,
        versions: Option<FunctionVersions>,
        name: impl Fn() -> String,
    ) {
        let put = |group: &mut Option<Group>| match group {
            Some(group) => group.count += 1,
            None => *group = Some(Group { count: 1, first: name() }),
        };
        if let Some(versions) = versions {
            if self.function_count == 0 {
                self.first_versions = Some(versions);
            }
            add_to(&mut self.languages, versions.language, &name);
            add_to(&mut self.airs, versions.air, &name);
        }
        match module {
            Some(module) => {
                if module.pointers == Pointers::Opaque {
                    add_to(&mut self.opaque, versions.map(|versions| versions.air), &name);
                }
                add_to(&mut self.triples, module.triple, &name);
            }
            // A stub contains only declarations.
            None if self.is_stub() => {}
            None => put(&mut self.unreadable),
        }
        self.function_count += 1;
    }
}

/// Maximum number of groups: a hostile library may have a different triple in every module.
const MAX_GROUPS: usize = 1_000;

fn add_to<K: Ord>(groups: &mut Groups<K>, key: K, name: impl Fn() -> String) {
    if let Some(group) = groups.get_mut(&key) {
        group.count += 1;
    } else if groups.len() < MAX_GROUPS {
        groups.insert(key, Group { count: 1, first: name() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_are_taken_apart() {
        let read = |text: &str| {
            let triple = Triple::new(text.as_bytes());
            (triple.platform, triple.version.map(|version| version.to_string()))
        };
        assert_eq!(read("air64_v26-apple-macosx14.0.0"), (Platform::MACOS, Some("14.0.0".into())));
        assert_eq!(read("air64-apple-ios17.2.0-simulator"), (Platform::IOS_SIMULATOR, Some("17.2.0".into())));
        assert_eq!(read("air64-apple-ios14.0-macabi"), (Platform::MAC_CATALYST, Some("14.0.0".into())));
        assert_eq!(read("air64-apple-xros1.0.0"), (Platform::VISIONOS, Some("1.0.0".into())));
        assert_eq!(read("air64-apple-macosx"), (Platform::MACOS, None));
        for odd in ["", "-", "air64-apple-", "air64-apple-é9", "dxil-ms-dx"] {
            assert_eq!(read(odd).0, Platform::UNKNOWN);
        }
    }
}
