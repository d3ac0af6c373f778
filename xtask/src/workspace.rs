//! The packages of the workspace, as cargo describes them. New crates are included automatically.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::sh;

/// A member of the workspace.
pub(crate) struct Member {
    /// The name of the package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The folder of its manifest.
    pub folder: PathBuf,
    /// Whether it may be published.
    pub is_published: bool,
    /// All other fields that cargo prints.
    pub metadata: Value,
}

impl Member {
    /// Returns a field of the manifest as text, or an empty text.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.metadata[field].as_str().unwrap_or_default()
    }

    /// Returns the number of entries in a list of the manifest.
    pub(crate) fn count(&self, field: &str) -> usize {
        self.metadata[field].as_array().map_or(0, Vec::len)
    }

    /// Returns the root file of the library, if the package has one.
    pub(crate) fn library(&self) -> Option<&Path> {
        self.metadata["targets"].as_array()?.iter().find_map(|target| {
            let is_library = target["kind"].as_array()?.iter().any(|kind| kind == "lib" || kind == "rlib");
            is_library.then(|| target["src_path"].as_str().map(Path::new)).flatten()
        })
    }
}

/// Returns all members of the workspace, sorted by name.
pub(crate) fn members() -> Result<Vec<Member>> {
    let metadata = metadata("Cargo.toml", &["--no-deps"])?;
    let packages = metadata["packages"].as_array().context("cargo lists no packages")?;
    let mut members = packages
        .iter()
        .map(|package| {
            let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
            let mut folder = PathBuf::from(text("manifest_path"));
            folder.pop();
            Member {
                name: text("name"),
                version: text("version"),
                folder,
                is_published: package["publish"].is_null(),
                metadata: package.clone(),
            }
        })
        .collect::<Vec<_>>();
    members.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(members)
}

/// Returns what `cargo metadata` prints for a manifest of this repository.
pub(crate) fn metadata(manifest: &str, args: &[&str]) -> Result<Value> {
    let mut command = sh::cargo();
    command.args(["metadata", "--locked", "--format-version", "1", "--manifest-path", manifest]).args(args);
    let output = sh::capture(&mut command)?;
    serde_json::from_slice(&output.stdout).context("cargo metadata prints no JSON")
}
