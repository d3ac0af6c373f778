//! Describes a Metal library as a whole.

use super::{shown, uuid};
use serde::Serialize;
use std::collections::BTreeMap;
use unshade_metallib::{Function, Library};

/// Describes a Metal library as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LibraryView {
    /// The container version, such as `1.2.7`.
    pub container_version: String,
    /// `executable`, `dynamic`, `Core Image`, `symbol companion`.
    pub library_type: String,
    /// Whether it contains only declarations.
    pub stub: bool,
    /// `macOS 14.0`, as precisely as the file states it.
    pub target: String,
    /// Name of the platform.
    pub platform: String,
    /// Version of the target OS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
    /// Bit 15 of the container version.
    pub macos_flag: bool,
    /// `air64` or `air32`; absent in containers before 1.2.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// `linker` or `legacy tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Size in the header, in bytes.
    pub stated_size: u64,
    /// Size of the file, in bytes.
    pub size: u64,
    /// The UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Number of functions that the list states.
    pub function_count: u32,
    /// Number of functions by type.
    pub function_types: Vec<TypeCount>,
    /// Number of functions by versions.
    pub versions: Vec<VersionCount>,
    /// Total size of modules; a shared module counts once per function.
    pub module_bytes: u64,
    /// Embedded sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourcesView>,
    /// Names for linking.
    #[serde(skip_serializing_if = "LinkView::is_empty")]
    pub link: LinkView,
    /// Number of reflection buffers.
    pub reflection_buffers: u32,
    /// Number of matching hashes, if they were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hashes: Option<HashesView>,
}

/// Number of functions of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeCount {
    /// The type's name.
    #[serde(rename = "type")]
    pub kind: String,
    /// Number of functions.
    pub count: u64,
}

/// Number of functions of a pair of versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionCount {
    /// The version of AIR.
    pub air: String,
    /// The version of the Metal language.
    pub metal: String,
    /// Number of functions.
    pub count: u64,
}

/// Embedded sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourcesView {
    /// Command line of the linker.
    pub link_command: String,
    /// Working directory of the linker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// IDs of the archives.
    pub archives: Vec<String>,
    /// Compressed size of all archives, in bytes.
    pub packed_size: u64,
}

/// Names for linking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkView {
    /// Install name of this library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_name: Option<String>,
    /// Names of imported libraries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linked_libraries: Vec<String>,
    /// Imported symbols.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported_symbols: Vec<String>,
    /// Exported variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exported_variables: Vec<String>,
}

impl LinkView {
    /// Returns whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Number of matching hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HashesView {
    /// Number of functions whose hash matches their module.
    pub matching: u64,
    /// Number of functions.
    pub total: u64,
}

/// Maximum number of names in a list.
const MAX_NAMES: usize = 100_000;

impl LibraryView {
    /// Reads the library, without bitcode.
    pub fn new(library: &Library<'_>, functions: &[Function<'_>]) -> Self {
        let header = library.header();
        let mut types = BTreeMap::new();
        let mut versions = BTreeMap::new();
        for function in functions {
            if let Some(kind) = function.kind {
                *types.entry(kind).or_insert(0) += 1;
            }
            if let Some(version) = function.versions {
                *versions.entry((version.air, version.language)).or_insert(0) += 1;
            }
        }
        Self {
            container_version: header.version().to_string(),
            library_type: header.library_type().to_string(),
            stub: header.is_stub(),
            target: header.target(),
            platform: header.platform().to_string(),
            os_version: header.os_version().map(|version| version.to_string()),
            macos_flag: header.macos_flag(),
            architecture: (header.raw_platform != 0)
                .then(|| if header.is_64_bit() { "air64" } else { "air32" }.to_owned()),
            writer: library.dialect().map(|dialect| dialect.to_string()),
            stated_size: header.file_size,
            size: library.file().data().len() as u64,
            uuid: library.uuid().map(uuid),
            function_count: library.functions().declared_count(),
            function_types: types
                .into_iter()
                .map(|(kind, count)| TypeCount { kind: kind.to_string(), count })
                .collect(),
            versions: versions
                .into_iter()
                .map(|((air, metal), count)| VersionCount {
                    air: air.to_string(),
                    metal: metal.to_string(),
                    count,
                })
                .collect(),
            module_bytes: functions
                .iter()
                .filter_map(|function| function.module_size.or_else(|| measured_size(library, function)))
                .fold(0, u64::saturating_add),
            sources: library.sources().ok().flatten().map(|sources| SourcesView {
                link_command: shown(sources.link_command),
                working_directory: sources.working_directory.map(shown),
                archives: sources
                    .archives()
                    .filter_map(Result::ok)
                    .map(|archive| shown(archive.id))
                    .collect(),
                packed_size: sources
                    .archives()
                    .filter_map(Result::ok)
                    .map(|archive| archive.compressed.remaining() as u64)
                    .sum(),
            }),
            link: link(library),
            reflection_buffers: library.list(b"RLST").ok().flatten().map_or(0, |list| list.declared_count()),
            hashes: None,
        }
    }
}

/// Returns the size of a module from its wrapper.
fn measured_size(library: &Library<'_>, function: &Function<'_>) -> Option<u64> {
    let module = library.module(function).ok()??;
    Some(module.bytes().len() as u64)
}

fn link(library: &Library<'_>) -> LinkView {
    let dynamic = library.dynamic_header().ok().flatten();
    let install_name =
        dynamic.as_ref().and_then(|header| header.install_name()).filter(|name| !name.is_empty());
    LinkView {
        install_name: install_name.map(shown),
        linked_libraries: dynamic
            .iter()
            .flat_map(|header| header.linked_libraries())
            .take(MAX_NAMES)
            .map(shown)
            .collect(),
        imported_symbols: library
            .imported_symbols()
            .into_iter()
            .flatten()
            .take(MAX_NAMES)
            .map(shown)
            .collect(),
        exported_variables: library
            .exported_variables()
            .into_iter()
            .flatten()
            .take(MAX_NAMES)
            .map(shown)
            .collect(),
    }
}
