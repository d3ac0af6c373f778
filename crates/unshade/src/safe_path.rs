//! Makes safe file names of names from untrusted files.
//!
//! Every extracted file lands inside the output folder, whatever the archive says, on any system: no `..`, no absolute
//! path, no drive letter or device name of Windows, no reserved character, and no two names that differ only in case.
//! Each path says whether it was changed, so that callers can report it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use unshade_core::escape::is_plain;

/// Maximum length of a file name in bytes; file systems allow 255.
const MAX_NAME: usize = 200;

/// Maximum number of components of a path.
const MAX_DEPTH: usize = 64;

/// Device names that Windows reserves in every folder and with every extension.
const DEVICES: [&str; 7] = ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"];

/// Assigns relative paths, each only once.
///
/// ```
/// use unshade::safe_path::SafePaths;
///
/// let mut paths = SafePaths::default();
/// assert_eq!(paths.file(b"/src/a.metal").path.to_str(), Some("src/a.metal"));
/// let second = paths.file(b"../src/A.metal");
/// assert_eq!(second.path.to_str(), Some("src/A~2.metal"));
/// assert!(second.renamed);
/// ```
#[derive(Debug, Default)]
pub struct SafePaths {
    /// Every assigned path, case-folded.
    taken: HashSet<String>,
    /// Every folder of an assigned path, case-folded and exact.
    folders: HashSet<String>,
    /// The next number of a file whose path, case-folded, was taken: many may have the same.
    next: HashMap<String, u32>,
}

/// A path that is safe to write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafePath {
    /// Relative, without `..`.
    pub path: PathBuf,
    /// Whether it differs from the name in the archive by more than leading `/`.
    pub renamed: bool,
}

impl SafePaths {
    /// Returns the path to write an archive member to, with the folders of its name.
    pub fn file(&mut self, name: &[u8]) -> SafePath {
        let text = String::from_utf8_lossy(name);
        let wanted: Vec<&str> = text.split(['/', '\\']).collect();
        let mut parts: Vec<String> = wanted
            .iter()
            .filter(|part| !matches!(**part, "" | "." | ".."))
            .map(|part| safe_name(part))
            .collect();
        if parts.len() > MAX_DEPTH {
            parts.drain(..parts.len().saturating_sub(MAX_DEPTH));
        }
        let last = parts.pop().unwrap_or_else(|| "unnamed".into());
        self.assign(parts, last, text.trim_start_matches('/'))
    }

    /// Returns a path without folders for a name: every separator in the name is replaced.
    pub fn flat(&mut self, name: &[u8], extension: &str) -> SafePath {
        let text = String::from_utf8_lossy(name);
        let joined = text.replace(['/', '\\'], "_");
        let safe = format!("{}{extension}", safe_name(&joined));
        self.assign(Vec::new(), safe, &format!("{text}{extension}"))
    }

    /// Assigns a path, with numbers added until it is unique. `wanted` is the original name.
    fn assign(&mut self, folders: Vec<String>, name: String, wanted: &str) -> SafePath {
        let mut prefix = String::new();
        for folder in &folders {
            let mut candidate = format!("{prefix}{folder}");
            let mut number = 2;
            // Files may share a folder, but a folder can't have the name of a file, nor differ from another folder only
            // in case.
            while self.taken.contains(&fold(&candidate))
                || (self.folders.contains(&fold(&candidate)) && !self.folders.contains(&exact(&candidate)))
            {
                candidate = format!("{prefix}{}", numbered(folder, number));
                number += 1;
            }
            self.folders.insert(fold(&candidate));
            self.folders.insert(exact(&candidate));
            prefix = format!("{candidate}/");
        }
        let mut candidate = format!("{prefix}{name}");
        let next = self.next.entry(fold(&candidate)).or_insert(2);
        while self.taken.contains(&fold(&candidate)) || self.folders.contains(&fold(&candidate)) {
            candidate = format!("{prefix}{}", numbered(&name, *next));
            *next += 1;
        }
        self.taken.insert(fold(&candidate));
        SafePath { renamed: candidate != wanted, path: PathBuf::from(candidate) }
    }
}

/// Returns a key that is equal for paths that a case-insensitive file system treats as one.
fn fold(path: &str) -> String {
    path.to_lowercase()
}

/// Returns a key that is equal only for equal paths, and never equals a folded one.
fn exact(path: &str) -> String {
    format!("\0{path}")
}

/// Adds a number to a name: `name.ext` and 2 → `name~2.ext`.
fn numbered(name: &str, number: u32) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => format!("{stem}~{number}.{extension}"),
        _ => format!("{name}~{number}"),
    }
}

/// Replaces everything in a path component that some file system does not allow.
fn safe_name(name: &str) -> String {
    let replaced = name.chars().map(|c| if is_plain(c) && !r#"<>:"|?*/\"#.contains(c) { c } else { '_' });
    let mut safe = String::new();
    for c in replaced {
        if safe.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        safe.push(c);
    }
    // Windows drops trailing dots and spaces, which would make two names the same.
    let kept = safe.trim_end_matches(['.', ' ']).len();
    safe.replace_range(kept.., &"_".repeat(safe.len() - kept));
    let stem = safe.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let port = ["com", "lpt"].iter().any(|device| stem.strip_prefix(device).is_some_and(is_port_number));
    if port || DEVICES.contains(&stem.as_str()) || safe.is_empty() {
        safe.insert(0, '_');
    }
    safe
}

fn is_port_number(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c)) && chars.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> String {
        SafePaths::default().file(name.as_bytes()).path.to_str().unwrap().to_owned()
    }

    #[test]
    fn nothing_leaves_the_folder() {
        for (hostile, safe) in [
            ("../../etc/passwd", "etc/passwd"),
            ("/etc/passwd", "etc/passwd"),
            ("a/../../b", "a/b"),
            (r"..\..\windows\x", "windows/x"),
            (r"C:\x", "C_/x"),
            ("C:x", "C_x"),
            ("//server/share", "server/share"),
            ("", "unnamed"),
            ("..", "unnamed"),
            (".", "unnamed"),
            ("a\0b", "a_b"),
            ("x.", "x_"),
            (" . ", "___"),
            ("nul.txt", "_nul.txt"),
            ("COM1", "_COM1"),
            ("com10", "com10"),
            ("a/AUX.c/b", "a/_AUX.c/b"),
            ("\u{202e}cod.exe", "_cod.exe"),
        ] {
            assert_eq!(one(hostile), safe, "{hostile:?}");
            // Only a leading separator may be dropped without a report.
            let renamed = SafePaths::default().file(hostile.as_bytes()).renamed;
            assert_eq!(renamed, hostile.trim_start_matches('/') != safe, "{hostile:?}");
        }
    }

    #[test]
    fn names_are_given_once() {
        let mut paths = SafePaths::default();
        let mut place = |name: &str| paths.file(name.as_bytes()).path.to_str().unwrap().to_owned();
        assert_eq!(place("a/x.metal"), "a/x.metal");
        assert_eq!(place("a/x.metal"), "a/x~2.metal");
        assert_eq!(place("A/x.metal"), "A~2/x.metal");
        assert_eq!(place("a"), "a~3");
        assert_eq!(place("a/x.metal/y"), "a/x~3.metal/y");
        assert_eq!(place("a/y"), "a/y");
    }

    #[test]
    fn long_names_are_cut_at_characters() {
        assert!(one(&"ö".repeat(400)).len() <= MAX_NAME);
        assert!(one(&"d/".repeat(1_000)).split('/').count() <= MAX_DEPTH);
    }
}
