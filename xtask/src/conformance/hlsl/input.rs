//! The compiled shaders to decompile: each distinct one among the files of the corpus and of given folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use unshade::hlsl::target::Target;

use crate::sh;

/// A compiled shader.
#[derive(Clone)]
pub(super) struct Shader {
    /// The set of files that it belongs to.
    pub(super) set: String,
    /// Its name in the set.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) data: Vec<u8>,
    pub(super) target: Target,
}

/// The shaders, and how many files are something else.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) shaders: Vec<Shader>,
    /// Containers without a program, such as root signatures and effects.
    pub(super) without_program: usize,
    /// Containers whose program is damaged.
    pub(super) damaged: Vec<String>,
    /// Files that repeat another one.
    pub(super) repeated: usize,
    seen: HashSet<String>,
}

/// Collects the shaders of the corpus and of more folders.
pub(super) fn collect(folders: &[PathBuf]) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    match sh::env_path("UNSHADE_CORPUS") {
        Some(corpus) => {
            inputs.add("dev", &corpus.join("hlsl/dev"))?;
            for part in ["carved", "dxilconv", "gen", "hlsl"] {
                inputs.add(&format!("dx/{part}"), &corpus.join("dx").join(part))?;
            }
        }
        None => println!("skipped: UNSHADE_CORPUS is not set"),
    }
    for folder in folders {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        inputs.add(&name, folder)?;
    }
    Ok(inputs)
}

impl Inputs {
    fn add(&mut self, set: &str, folder: &Path) -> Result<()> {
        let mut files = Vec::new();
        sh::files_below(folder, &mut files)?;
        files.sort();
        for path in files {
            let data = std::fs::read(&path).with_context(|| path.display().to_string())?;
            let is_container = data.starts_with(b"DXBC");
            let is_program = path.extension().is_some_and(|extension| extension == "d3d9");
            if !is_container && !is_program {
                continue;
            }
            if !self.seen.insert(sh::sha256_hex(&data)) {
                self.repeated += 1;
                continue;
            }
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            match Target::of(&data) {
                Ok(Some(target)) => self.shaders.push(Shader { set: set.into(), name, path, data, target }),
                Ok(None) => self.without_program += 1,
                Err(error) => self.damaged.push(format!("{set}/{name}: {error}")),
            }
        }
        Ok(())
    }
}
