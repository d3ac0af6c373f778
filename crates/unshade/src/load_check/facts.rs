//! What a loader looks at, gathered from a library: its header, the versions of its functions, and of every module
//! the target triple and the kind of pointers.

use super::target::parse_version;
use std::collections::BTreeMap;
use std::fmt;
use unshade_metallib::function_list::{FunctionVersions, ShortVersion};
use unshade_metallib::header::{Header, Platform, Version};
use unshade_metallib::{Function, Library};

/// The operating systems that triples name, without what stands behind for simulators and Catalyst.
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
    /// As it stands in the module, escaped.
    pub text: String,
    /// The platform; [`Platform::UNKNOWN`] if the triple has none that is known.
    pub platform: Platform,
    /// The version of its OS, where the triple tells.
    pub version: Option<Version>,
}

impl Triple {
    /// Takes a triple apart: `ARCHITECTURE-VENDOR-SYSTEM[-ENVIRONMENT]`.
    pub fn new(text: &[u8]) -> Self {
        let text = unshade_core::Escaped(text).to_cow().into_owned();
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

/// How a module's pointers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pointers {
    /// There are none.
    None,
    /// They say what they point to, as Apple's compiler writes them.
    Typed,
    /// They don't, as in LLVM 15 and newer.
    Opaque,
}

/// What a module tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFacts {
    /// Its target.
    pub triple: Triple,
    /// Its pointers.
    pub pointers: Pointers,
}

impl ModuleFacts {
    /// Reads the tables of a function's module; `None` if there is no module, or if it can't be read.
    pub fn read(library: &Library<'_>, function: &Function<'_>) -> Option<Self> {
        let module = library.module(function).ok()??;
        let module = unshade_llvm::Module::parse(module.bytes(), module.range().start).ok()?;
        let mut pointers = Pointers::None;
        for index in 0..module.types.len() {
            let id = unshade_llvm::TypeId(u32::try_from(index).ok()?);
            pointers = pointers.max(match module.types.get(id) {
                unshade_llvm::types::Type::OpaquePointer { .. } => Pointers::Opaque,
                unshade_llvm::types::Type::Pointer { .. } => Pointers::Typed,
                _ => Pointers::None,
            });
        }
        Some(Self { triple: Triple::new(&module.triple), pointers })
    }
}

/// Functions that have something in common: how many, and the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many there are.
    pub count: u64,
    /// The name of the first of them.
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

/// Functions by what they have in common.
pub(super) type Groups<K> = BTreeMap<K, Group>;

/// What a library tells. See the module.
#[derive(Clone, Debug)]
pub struct LibraryFacts {
    pub(super) header: Header,
    /// The size that is there.
    pub(super) size: u64,
    pub(super) function_count: u64,
    /// The versions of the first function, which stand for the library when it is loaded.
    pub(super) first_versions: Option<FunctionVersions>,
    pub(super) languages: Groups<ShortVersion>,
    pub(super) airs: Groups<ShortVersion>,
    pub(super) triples: Groups<Triple>,
    /// Functions with opaque pointers by their version of AIR.
    pub(super) opaque: Groups<Option<ShortVersion>>,
    /// Functions whose module can't be read.
    pub(super) unreadable: Option<Group>,
}

impl LibraryFacts {
    /// Reads everything, one module after the other. Where there are many, read them on several threads with
    /// [`ModuleFacts::read`], and hand them to [`LibraryFacts::new`].
    pub fn read(library: &Library<'_>) -> Self {
        let functions = library.functions().map_while(Result::ok);
        Self::new(library, functions.map(|function| (ModuleFacts::read(library, &function), function)))
    }

    /// Puts together what the functions tell, given in their order.
    pub fn new<'a>(
        library: &Library<'_>,
        functions: impl IntoIterator<Item = (Option<ModuleFacts>, Function<'a>)>,
    ) -> Self {
        let mut facts = Self {
            header: *library.header(),
            size: library.file().data().len() as u64,
            function_count: 0,
            first_versions: None,
            languages: Groups::new(),
            airs: Groups::new(),
            triples: Groups::new(),
            opaque: Groups::new(),
            unreadable: None,
        };
        for (module, function) in functions {
            facts.add(module, &function);
        }
        facts
    }

    fn add(&mut self, module: Option<ModuleFacts>, function: &Function<'_>) {
        let name = || function.shown_name();
        let put = |group: &mut Option<Group>| match group {
            Some(group) => group.count += 1,
            None => *group = Some(Group { count: 1, first: name() }),
        };
        if let Some(versions) = function.versions {
            if self.function_count == 0 {
                self.first_versions = Some(versions);
            }
            add_to(&mut self.languages, versions.language, name);
            add_to(&mut self.airs, versions.air, name);
        }
        match module {
            Some(module) => {
                if module.pointers == Pointers::Opaque {
                    add_to(&mut self.opaque, function.versions.map(|versions| versions.air), name);
                }
                add_to(&mut self.triples, module.triple, name);
            }
            // A stub has declarations only.
            None if self.header.is_stub() => {}
            None => put(&mut self.unreadable),
        }
        self.function_count += 1;
    }
}

/// A hostile library may have a triple of its own in every module.
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
