//! A library as a whole.

use super::{shown, uuid};
use serde::Serialize;
use std::collections::BTreeMap;
use unshade_metallib::{Function, Library};

/// A library as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LibraryView {
    /// The container version, such as `1.2.7`.
    pub container_version: String,
    /// `executable`, `dynamic`, `Core Image`, `symbol companion`.
    pub library_type: String,
    /// Declarations only.
    pub stub: bool,
    /// `macOS 14.0`, as exactly as the file tells.
    pub target: String,
    /// The platform by its name.
    pub platform: String,
    /// The version of the target OS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
    /// Bit 15 of the container version.
    pub macos_flag: bool,
    /// `air64` or `air32`; files older than 1.2.6 do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// `linker` or `legacy tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// The size that the header gives.
    pub stated_size: u64,
    /// The size that is there.
    pub size: u64,
    /// The UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// How many functions the list says that it has.
    pub function_count: u32,
    /// How many there are of each type.
    pub function_types: Vec<TypeCount>,
    /// How many there are of each pair of versions.
    pub versions: Vec<VersionCount>,
    /// The sum of the modules' sizes; modules that are shared count once for each function.
    pub module_bytes: u64,
    /// Embedded sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourcesView>,
    /// Names for linking.
    #[serde(skip_serializing_if = "LinkView::is_empty")]
    pub link: LinkView,
    /// How many reflection buffers there are.
    pub reflection_buffers: u32,
    /// How many hashes match, where they were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hashes: Option<HashesView>,
}

/// How many functions there are of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeCount {
    /// The type's name.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// How many functions there are of a pair of versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionCount {
    /// The version of AIR.
    pub air: String,
    /// The version of the Metal language.
    pub metal: String,
    /// How many.
    pub count: u64,
}

/// Embedded sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourcesView {
    /// The command line of the link.
    pub link_command: String,
    /// The directory in which the link ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// The ids of the archives.
    pub archives: Vec<String>,
    /// The packed size of all archives.
    pub packed_size: u64,
}

/// Names for linking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkView {
    /// The name by which others find this library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_name: Option<String>,
    /// The names of the libraries that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linked_libraries: Vec<String>,
    /// The symbols that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported_symbols: Vec<String>,
    /// The variables that it offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exported_variables: Vec<String>,
}

impl LinkView {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How many hashes match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HashesView {
    /// How many functions' hashes match their module.
    pub matching: u64,
    /// How many functions there are.
    pub total: u64,
}

/// How many names of a kind are listed in a view.
const MAX_NAMES: usize = 100_000;

impl LibraryView {
    /// Reads everything but the bitcode.
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

/// The size of a module that only its wrapper tells.
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
