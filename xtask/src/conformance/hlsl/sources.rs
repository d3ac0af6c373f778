//! The true sources of shaders, to see how far a perfect decompiler would get: flags and levels of optimization that are not
//! in a program make it differ even so.
//!
//! Sources are found in two ways: in folders of the development set, where `NAME.hlsl` is beside `PROFILE.…`; and by
//! `index.tsv` in a given folder, with the columns file, source, entry point, profile, flags. FXC's flags are a number, then
//! macros.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use unshade::hlsl::target::Encoding;

use super::input::Shader;
use super::recompile::Hlsl;

/// Lines of indices, by file.
#[derive(Default)]
pub(super) struct Sources {
    indexed: HashMap<PathBuf, Line>,
}

struct Line {
    source: PathBuf,
    entry: String,
    options: Vec<String>,
}

impl Sources {
    /// Reads the indices of folders.
    pub(super) fn read(folders: &[PathBuf]) -> Result<Self> {
        let mut sources = Self::default();
        for folder in folders {
            let path = folder.join("index.tsv");
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            for line in text.lines().skip(1) {
                let fields: Vec<&str> = line.split('\t').collect();
                let [file, source, entry, _, flags, ..] = fields.as_slice() else {
                    anyhow::bail!("{}: {line}", path.display());
                };
                let line = Line {
                    source: folder.join(source),
                    entry: (*entry).into(),
                    options: flags.split_whitespace().map(str::to_owned).collect(),
                };
                sources.indexed.insert(folder.join(file), line);
            }
        }
        Ok(sources)
    }

    /// Returns the source of a shader.
    pub(super) fn of(&self, shader: &Shader) -> Option<Result<Hlsl>> {
        if let Some(line) = self.indexed.get(&shader.path) {
            return Some(line.hlsl(shader));
        }
        let folder = shader.path.parent()?;
        let file = folder.join(folder.file_name()?).with_extension("hlsl");
        file.is_file().then(|| hlsl(shader, &file, "main", Vec::new(), 0))
    }
}

impl Line {
    fn hlsl(&self, shader: &Shader) -> Result<Hlsl> {
        let (mut options, mut flags) = (self.options.clone(), 0);
        if shader.target.encoding != Encoding::Dxil && !options.is_empty() {
            let number = options.remove(0);
            let digits = number.trim_start_matches("0x");
            flags = u32::from_str_radix(digits, 16).with_context(|| format!("flags {number}"))?;
        }
        hlsl(shader, &self.source, &self.entry, options, flags)
    }
}

fn hlsl(shader: &Shader, file: &Path, entry: &str, options: Vec<String>, flags: u32) -> Result<Hlsl> {
    let text = std::fs::read(file).with_context(|| file.display().to_string())?;
    Ok(Hlsl {
        text: String::from_utf8_lossy(&text).into_owned(),
        entry: entry.into(),
        profile: shader.target.profile.clone(),
        options,
        flags,
        unknown: 0,
        gotos: 0,
        file: Some(file.into()),
    })
}
