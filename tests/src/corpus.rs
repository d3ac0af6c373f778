//! Real files, which are not part of the repository: they are in the folder named by `UNSHADE_CORPUS`.

use std::fs;
use std::path::PathBuf;

/// A real file.
pub struct RealFile {
    /// The name of the file.
    pub name: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Returns the smallest real libraries that `wanted` accepts, sorted by size. Prints a notice if there is no corpus.
///
/// # Panics
/// If `UNSHADE_CORPUS` names a folder that can't be read.
pub fn smallest_libraries(count: usize, test: &str, wanted: impl Fn(&[u8]) -> bool) -> Vec<RealFile> {
    files_in("metallib", "metallib", test).into_iter().filter(|file| wanted(&file.data)).take(count).collect()
}

/// Returns the real binary archives. Prints a notice if there is no corpus.
///
/// # Panics
/// If `UNSHADE_CORPUS` names a folder that can't be read.
pub fn binary_archives(test: &str) -> Vec<RealFile> {
    files_in("metallib/archives", "bin", test)
}

/// Returns the files in a folder of the corpus, sorted by size.
fn files_in(folder: &str, extension: &str, test: &str) -> Vec<RealFile> {
    let Some(corpus) = std::env::var_os("UNSHADE_CORPUS") else {
        eprintln!(
            "SKIPPED on real files: {test}. Set UNSHADE_CORPUS to the folder that contains `metallib/`."
        );
        return Vec::new();
    };
    let folder = PathBuf::from(corpus).join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<RealFile> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| RealFile {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            data: fs::read(&path).expect("a readable file"),
        })
        .collect();
    files.sort_by(|a, b| (a.data.len(), &a.name).cmp(&(b.data.len(), &b.name)));
    files
}
