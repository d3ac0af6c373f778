//! What a module for Apple GPUs (AIR) says about its functions: entry points with their types and declarations, versions,
//! target. `.air` files are such modules, and `.metalar` files are archives of them.

use super::Card;
use super::entry_point::{arguments_table, constants_table, thread_facts};
use crate::air;
use crate::load_check::{Target, Triple};
use crate::quantity::grouped;
use crate::view::{FindingView, ReflectionView, TypeCount, declare_structures};
use std::collections::BTreeMap;
use unshade_air::reflection::Source;
use unshade_core::{Result, Severity, TokenKind};
use unshade_llvm::Module;
use unshade_llvm::global::Function;
use unshade_metallib::Platform;
use unshade_metallib::function_list::FunctionVersions;

/// The AIR metadata of a module.
pub(super) struct AirModule {
    /// The entry points: name, and name of the type.
    entries: Vec<(Vec<u8>, String)>,
    /// The type of each entry point, by name.
    types: BTreeMap<Vec<u8>, String>,
    versions: Option<FunctionVersions>,
    triple: Triple,
    /// The reflection that its metadata makes, or why it makes none.
    source: Result<Option<Source<'static>>>,
}

impl AirModule {
    /// Reads the metadata of a module; `None` if it is not AIR.
    pub(super) fn new(module: &Module<'_>) -> Option<Self> {
        if !air::is_air(module) {
            return None;
        }
        let entries = air::kinds(module);
        Some(Self {
            types: entries.iter().cloned().collect(),
            entries,
            versions: air::versions(module),
            triple: Triple::new(&module.triple),
            source: Source::of_module(module),
        })
    }

    /// Returns the type of an entry point, such as `kernel`; `None` for other functions.
    pub(super) fn entry_type(&self, function: &Function) -> Option<&str> {
        self.types.get(&function.symbol.name).map(String::as_str)
    }

    /// Returns the number of entry points of each type, in the order of their first.
    pub(super) fn types(&self) -> Vec<TypeCount> {
        let mut types: Vec<TypeCount> = Vec::new();
        for (_, kind) in &self.entries {
            match types.iter_mut().find(|known| known.kind == *kind) {
                Some(known) => known.count += 1,
                None => types.push(TypeCount { kind: kind.clone(), count: 1 }),
            }
        }
        types
    }

    /// Returns the versions of AIR and of the Metal language.
    pub(super) fn versions(&self) -> Option<(String, String)> {
        self.versions.map(|versions| (versions.air.to_string(), versions.language.to_string()))
    }

    /// Returns the entry points: name, and name of the type.
    pub(super) fn entries(&self) -> &[(Vec<u8>, String)] {
        &self.entries
    }

    /// Returns the platform and its version, as far as the triple names them: `macOS 14.0`.
    pub(super) fn target(&self) -> Option<String> {
        let platform = self.triple.platform;
        (platform != Platform::UNKNOWN).then(|| match self.triple.version {
            Some(version) => Target { platform, version }.to_string(),
            None => platform.to_string(),
        })
    }

    /// Returns the target with the architecture: `macOS 26.0 (air64_v28)`.
    pub(super) fn full_target(&self) -> Option<String> {
        let architecture = self.triple.text.split('-').next().unwrap_or_default();
        self.target().map(|target| format!("{target} ({architecture})"))
    }

    /// Describes an entry point by the metadata. Adds what can't be read or expressed to `findings`.
    pub(super) fn entry(&self, name: &[u8], findings: &mut Vec<FindingView>) -> Option<Entry> {
        let source = match &self.source {
            Ok(source) => source.as_ref()?,
            Err(error) => {
                findings.push(FindingView::from_error(Severity::Error, "unreadable", error));
                return None;
            }
        };
        findings.extend(source.findings.iter().map(FindingView::from));
        let mut card = Card::default();
        declare_structures(source, name, &mut card);
        let reflection = ReflectionView::new(source, name, &mut card, findings)?;
        Some(Entry { declaration: card.declaration, reflection })
    }
}

/// An entry point.
#[derive(Clone)]
pub(super) struct Entry {
    /// Its declaration in the Metal language, as tokens.
    pub(super) declaration: Vec<(TokenKind, String)>,
    /// What the metadata says of it.
    pub(super) reflection: ReflectionView,
}

impl Entry {
    /// Returns its declaration as text.
    pub(super) fn text(&self) -> String {
        self.declaration.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Adds facts and tables to its card.
    pub(super) fn describe(&self, card: &mut Card) {
        card.facts.extend(thread_facts(&self.reflection));
        let arguments = arguments_table(&self.reflection);
        let constants = constants_table(&self.reflection.function_constants);
        card.tables.extend(arguments.into_iter().chain(constants));
    }
}

/// Returns the number of entry points of each type, as text.
pub(super) fn types_text(types: &[TypeCount]) -> String {
    let types: Vec<_> = types.iter().map(|row| format!("{} {}", grouped(row.count), row.kind)).collect();
    types.join(" · ")
}
