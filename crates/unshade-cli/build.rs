//! Puts the page of `unshade explore` into the program: a table of the files in `web/`, each as it is.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// The files that a browser is given, and how it is to take them.
const TYPES: [(&str, &str); 5] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("json", "application/json"),
];

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../web");
    // Not the folder: cargo would look at all that the page's tests fetch below it. A new module is imported by one that
    // is here.
    println!("cargo::rerun-if-changed=build.rs");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .map(|entries| {
            entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()).collect()
        })
        .unwrap_or_default();
    files.sort();
    let mut table = String::from("&[\n");
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((_, media_type)) = TYPES.iter().find(|(known, _)| *known == extension) {
            println!("cargo::rerun-if-changed={}", path.display());
            let path = path.canonicalize().expect("a file that is there");
            let path = path.display().to_string();
            writeln!(table, "    ({name:?}, {media_type:?}, include_bytes!({path:?})),").expect("a text");
        }
    }
    table.push_str("]\n");
    let out = env::var("OUT_DIR").expect("set by cargo");
    fs::write(Path::new(&out).join("page.rs"), table).expect("a folder to write to");
}
