//! Files for the loaders of Apple and Microsoft: built and edited by us, with what their owners should say of each.
//!
//! Only the vendors' runtimes can say whether they take what we write. `cargo xtask loader-files` writes these to a folder
//! with a manifest; the programs in `tests/loaders` hand them to the runtimes and compare.

use crate::dx_edits;
use crate::dxcontainers;
use crate::fixtures;
use std::collections::BTreeSet;
use unshade_dxcontainer::Container;
use unshade_dxcontainer::program::ProgramVersion;
use unshade_metallib::edit::Strip;
use unshade_metallib::{FunctionType, Library, LibraryFile, LibraryType, Platform};

/// A file with what a loader should say of it.
pub struct Loaded {
    /// The name of the file.
    pub name: String,
    /// Its bytes.
    pub data: Vec<u8>,
    /// What it is handed to; see the manifests of `tests/loaders`.
    pub kind: &'static str,
    /// Whether the loader should take it.
    pub is_taken: bool,
    /// The names of functions that the loader should list, sorted.
    pub functions: Vec<String>,
}

impl Loaded {
    /// The line of the manifest: name, kind, `taken` or `refused`, functions with commas between them.
    pub fn line(&self) -> String {
        let taken = if self.is_taken { "taken" } else { "refused" };
        format!("{}\t{}\t{taken}\t{}", self.name, self.kind, self.functions.join(","))
    }
}

/// Fixtures that Apple's loader should take: executable libraries for macOS whose content is not made up.
const METAL: [&str; 22] = [
    "constants",
    "empty_96",
    "legacy_1_2_4",
    "legacy_1_2_5",
    "legacy_1_2_6",
    "legacy_1_2_7",
    "legacy_1_2_8",
    "linker_1_2_2",
    "linker_1_2_3",
    "linker_1_2_4",
    "linker_1_2_5",
    "linker_1_2_6",
    "linker_1_2_7",
    "linker_1_2_8",
    "linker_1_2_9",
    "mesh_object",
    "os_patch",
    "platform_macos",
    "sources_hsrc",
    "sources_hsrd",
    "sources_legacy",
    "vertex_fragment",
];

/// Libraries for `MTLDevice.makeLibrary`, each different.
///
/// # Panics
/// If a fixture can't be edited.
pub fn metal_libraries() -> Vec<Loaded> {
    let mut files = Files::default();
    for fixture in fixtures::all().iter().filter(|fixture| METAL.contains(&fixture.name.as_str())) {
        let data = fixture.build().0;
        files.add_library(&fixture.name, data.clone());
        for (name, edited) in edits(&data) {
            files.add_library(&format!("{}-{name}", fixture.name), edited);
        }
        let mut damaged = data.clone();
        damaged[0] ^= 0x20;
        files.add(format!("{}-no-magic.metallib", fixture.name), damaged, "library", false, Vec::new());
        let half = data.get(..60).unwrap_or_default().to_vec();
        files.add(format!("{}-cut.metallib", fixture.name), half, "library", false, Vec::new());
    }
    files.list
}

/// Every edit of a library that changes it.
fn edits(data: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let others = fixtures::all();
    let other = others.iter().find(|fixture| fixture.name == "vertex_fragment").expect("a fixture").build().0;
    let edited = [
        ("rename", edited(data, |file| file.rename_function(0, &b"renamed"[..]).is_ok())),
        ("first", edited(data, |file| file.keep_functions(|index, _| index == 0) > 0)),
        ("replace", edited(data, replace_kernel)),
        ("no-sources", edited(data, |file| file.strip(Strip::Sources))),
        ("no-reflection", edited(data, |file| file.strip(Strip::Reflection))),
        ("no-private", edited(data, |file| file.strip(Strip::PrivateMetadata))),
        ("new-uuid", edited(data, |file| file.renew_uuid().is_ok())),
        ("macos-12", edited(data, |file| file.retarget(None, Some((12, 0, 0))).is_ok())),
        ("ios", edited(data, |file| file.retarget(Some(Platform::IOS), None).is_ok())),
        (
            "merged",
            edited(data, |file| LibraryFile::parse(&other).and_then(|other| file.merge(other)).is_ok()),
        ),
    ];
    edited.into_iter().filter_map(|(name, data)| Some((name, data?))).collect()
}

/// Returns a library after an edit, or none if the edit says that it changed nothing. A library without functions has
/// nothing to edit.
fn edited<'d>(data: &'d [u8], edit: impl FnOnce(&mut LibraryFile<'d>) -> bool) -> Option<Vec<u8>> {
    let mut file = LibraryFile::parse(data).expect("a fixture");
    let is_edited = !file.functions.is_empty() && edit(&mut file);
    is_edited.then(|| file.write().expect("an edited library").to_vec())
}

/// Gives the first function another kernel's module.
fn replace_kernel(file: &mut LibraryFile<'_>) -> bool {
    let is_kernel = file.functions.first().is_some_and(|one| one.kind == Some(FunctionType::KERNEL));
    is_kernel && file.replace_module(0, include_bytes!("../fixtures/air/reduce.bc")).is_ok()
}

/// Edits of containers that leave the program what it is.
const HARMLESS: [&str; 6] = [
    "add a part",
    "reorder the parts",
    "strip debug information",
    "strip reflection",
    "set private data",
    "sign",
];

/// Containers for Direct3D 11 and 12, each different. The kind is the profile, such as `ps_4_0`, or `root_signature`; of
/// each one that is taken there is a copy with a wrong digest, which is refused.
///
/// # Panics
/// If a fixture can't be edited.
pub fn direct3d_containers() -> Vec<Loaded> {
    let mut files = Files::default();
    for fixture in dxcontainers::all() {
        let Some(kind) = kind(&fixture.data) else { continue };
        let mut add = |name: String, data: Vec<u8>| {
            let mut damaged = data.clone();
            damaged[4] ^= 1;
            files.add(format!("{name}.dxbc"), data, kind, true, Vec::new());
            // The digest of a root signature by itself is not looked at by every version of the runtime.
            if kind != "root_signature" {
                files.add(format!("{name}-wrong-digest.dxbc"), damaged, kind, false, Vec::new());
            }
        };
        add(fixture.name.clone(), fixture.data.clone());
        for edit in dx_edits::EDITS.iter().filter(|edit| HARMLESS.contains(&edit.name)) {
            if let Some(data) = edit.apply(&fixture.data) {
                add(format!("{}-{}", fixture.name, edit.name.replace(' ', "-")), data);
            }
        }
    }
    files.list
}

/// Returns what a container is handed to, or none if no runtime takes it by itself: later models than those that every
/// system has, libraries, interfaces.
fn kind(data: &[u8]) -> Option<&'static str> {
    const PROFILES: [&str; 6] = ["cs_6_0", "gs_5_0", "hs_5_0", "ps_4_0", "ps_5_0", "vs_5_0"];
    let container = Container::parse(data).ok()?;
    let has = |name: &[u8; 4]| container.find(name).is_some();
    if container.header().digest != container.computed_digest() || has(b"IFCE") {
        return None;
    }
    if has(b"RTS0") && container.found_parts().count() == 1 {
        return Some("root_signature");
    }
    let part = [b"DXIL", b"SHEX", b"SHDR"].into_iter().find_map(|name| container.find(name))?;
    let version = ProgramVersion(u32::from_le_bytes(*part.data.data().first_chunk()?));
    let version = format!("{}_{}_{}", version.kind().prefix(), version.major(), version.minor());
    PROFILES.into_iter().find(|profile| *profile == version)
}

/// Files, each of which is in the list once.
#[derive(Default)]
struct Files {
    list: Vec<Loaded>,
    seen: BTreeSet<Vec<u8>>,
}

impl Files {
    fn add(
        &mut self,
        name: String,
        data: Vec<u8>,
        kind: &'static str,
        is_taken: bool,
        functions: Vec<String>,
    ) {
        if self.seen.insert(data.clone()) {
            self.list.push(Loaded { name, data, kind, is_taken, functions });
        }
    }

    /// Adds a library, which is taken if it is for macOS.
    fn add_library(&mut self, name: &str, data: Vec<u8>) {
        let library = Library::parse(&data).expect("a library");
        let header = library.header();
        let is_taken = header.library_type() == LibraryType::EXECUTABLE && header.macos_flag();
        let functions = library.functions().map(|function| function.expect("a function").shown_name());
        let mut functions: Vec<String> = if is_taken { functions.collect() } else { Vec::new() };
        functions.sort();
        self.add(format!("{name}.metallib"), data, "library", is_taken, functions);
    }
}

#[cfg(test)]
mod tests {
    use super::{direct3d_containers, metal_libraries};

    #[test]
    fn there_are_enough_of_each() {
        for (files, least) in [(metal_libraries(), 50), (direct3d_containers(), 20)] {
            let taken = files.iter().filter(|file| file.is_taken).count();
            assert!(taken >= least, "{taken} of {} are taken", files.len());
            assert!(files.len() > taken);
            let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), files.len());
        }
    }
}
