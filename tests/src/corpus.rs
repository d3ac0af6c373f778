//! Real files, which are not part of the repository: the folder that `UNSHADE_CORPUS` names has them.

use std::fs;
use std::path::PathBuf;

/// A real file.
pub struct RealFile {
    /// The name of the file.
    pub name: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// The smallest real libraries of which `wanted` says yes, by their size; says on stderr if there is no corpus.
///
/// # Panics
/// If `UNSHADE_CORPUS` names a folder that can't be read.
pub fn smallest_libraries(count: usize, test: &str, wanted: impl Fn(&[u8]) -> bool) -> Vec<RealFile> {
    let Some(folder) = std::env::var_os("UNSHADE_CORPUS") else {
        eprintln!("SKIPPED on real files: {test}. Set UNSHADE_CORPUS to the folder that holds `metallib/`.");
        return Vec::new();
    };
    let folder = PathBuf::from(folder).join("metallib");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<(u64, PathBuf)> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "metallib"))
        .map(|path| (fs::metadata(&path).expect("a readable file").len(), path))
        .collect();
    files.sort();
    let read = |path: PathBuf| RealFile {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        data: fs::read(&path).expect("a readable file"),
    };
    files.into_iter().map(|(_, path)| read(path)).filter(|file| wanted(&file.data)).take(count).collect()
}
