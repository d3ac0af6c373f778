//! The modules in the standard library of the installed Rust, which its compiler embeds in the object files.
//!
//! They are by LLVM 20 or later if the compiler is. They are cached in `rust/` of the cache folder, by the version of the
//! compiler; a folder without the file `done` is filled again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Input, Place};
use crate::{corpus, sh};

/// The first version of LLVM whose modules belong to the set.
const FIRST_VERSION: u32 = 20;

/// Returns the modules; none, with a notice, if the compiler or the tools for libraries are missing or too old.
pub(super) fn modules(sample: Option<usize>) -> Result<Vec<Input>> {
    let Some(version) = version() else {
        println!(
            "skipped: the installed rustc is not by LLVM {FIRST_VERSION} or later, or llvm-22 is not installed"
        );
        return Ok(Vec::new());
    };
    let folder = corpus::cache_dir(None)?.join("rust").join(version);
    if !folder.join("done").exists() {
        extract(&folder)?;
    }
    let mut files: Vec<PathBuf> = Vec::new();
    sh::files_below(&folder, &mut files)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "bc"));
    files.sort();
    files.truncate(sample.unwrap_or(usize::MAX));
    let input = |path: PathBuf| Input {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        place: Place::File(path),
    };
    Ok(files.into_iter().map(input).collect())
}

/// Returns the version of the compiler, if it and the tools are there and new enough.
fn version() -> Option<String> {
    let output = Command::new("rustc").arg("-vV").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let llvm = field("LLVM version:")?.split('.').next()?.parse::<u32>().ok()?;
    Command::new("llvm-objcopy-22").arg("--version").output().ok()?;
    (llvm >= FIRST_VERSION).then(|| field("release:").unwrap_or("unknown").to_owned())
}

/// Writes the modules of all libraries to a folder.
fn extract(folder: &Path) -> Result<()> {
    let output = sh::capture(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let root = String::from_utf8_lossy(&output.stdout).into_owned();
    let objects = folder.join("objects");
    fs::create_dir_all(&objects).with_context(|| format!("cannot make {}", objects.display()))?;
    let mut libraries = Vec::new();
    sh::files_below(Path::new(root.trim()), &mut libraries)?;
    libraries.retain(|path| path.extension().is_some_and(|extension| extension == "rlib"));
    for library in libraries {
        sh::capture(Command::new("llvm-ar-22").arg("x").arg(&library).current_dir(&objects))?;
        for entry in fs::read_dir(&objects)? {
            let object = entry?.path();
            if object.extension().is_some_and(|extension| extension == "o") {
                extract_one(&object, folder)?;
            }
            fs::remove_file(&object)?;
        }
    }
    fs::remove_dir(&objects)?;
    fs::write(folder.join("done"), "")?;
    Ok(())
}

/// Writes the module of an object file, if it has one.
fn extract_one(object: &Path, folder: &Path) -> Result<()> {
    let name = object.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let section = format!("--dump-section=.llvmbc={}", folder.join(format!("{name}.bc")).display());
    // The tool fails if there is no such section, which is not an error here.
    Command::new("llvm-objcopy-22").arg(section).arg(object).arg("/dev/null").output()?;
    Ok(())
}
