//! The page of the Explorer: the files that a browser loads, as bytes in the program that serves them.
//!
//! The files lie beside this crate's manifest and are embedded unchanged. `unshade explore` serves them, `unshade html`
//! puts them into a report, and `cargo xtask web` copies them to a folder for a static host.
//!
//! ```
//! let page = unshade_page::file("index.html").unwrap();
//! assert_eq!(page.media_type, "text/html; charset=utf-8");
//! assert!(page.bytes.starts_with(b"<!doctype html>"));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod base64;
mod bundle;

pub use base64::push_base64;
pub use bundle::bundle;

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    /// Its name: the page is flat, so the name has no folder.
    pub name: &'static str,
    /// The media type that a server sends with it.
    pub media_type: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(PageFile {
            name: $name,
            media_type: media_type($name),
            bytes: include_bytes!(concat!("../", $name)),
        }),*]
    };
}

/// All files of the page, sorted by name. A file that is missing here does not reach the browser; a test compares this
/// list with the folder.
pub static FILES: &[PageFile] = files![
    "ahead.js",
    "app.css",
    "app.js",
    "archive.js",
    "beside.js",
    "bits.js",
    "calls.js",
    "changes.js",
    "column.js",
    "commands.js",
    "compare.js",
    "diagram.js",
    "dialogs.js",
    "dom.js",
    "drop.js",
    "edit_dialogs.js",
    "editing.js",
    "embed.js",
    "facts.js",
    "families.js",
    "files.js",
    "flow.js",
    "found.js",
    "frame.js",
    "from-disk.js",
    "graph.js",
    "graphbar.js",
    "headings.js",
    "hex.js",
    "index.html",
    "keys.js",
    "layered.js",
    "list.js",
    "listing.js",
    "minimap.js",
    "names.js",
    "notes.js",
    "notes_dialog.js",
    "notice.js",
    "offline.js",
    "outline.js",
    "overview.js",
    "packed.js",
    "pages.js",
    "picture.js",
    "protocol.js",
    "recent.js",
    "remote.js",
    "report.js",
    "rows.js",
    "run.js",
    "runform.js",
    "runoutput.js",
    "runsteps.js",
    "runtrace.js",
    "runvalues.js",
    "runworker.js",
    "search.js",
    "service.js",
    "splitter.js",
    "steps.js",
    "store.js",
    "terms.js",
    "theme.js",
    "thread.js",
    "transport.js",
    "tree.js",
    "treemap.js",
    "virtual.js",
    "welcome.js",
    "worker.js",
];

/// Returns the file of this name.
pub fn file(name: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.name == name)
}

/// Returns the media type that belongs to a name. A name without one is a fault of the list, found at compile time.
const fn media_type(name: &str) -> &'static str {
    let name = name.as_bytes();
    match name {
        [.., b'.', b'h', b't', b'm', b'l'] => "text/html; charset=utf-8",
        [.., b'.', b'c', b's', b's'] => "text/css; charset=utf-8",
        [.., b'.', b'j', b's'] => "text/javascript; charset=utf-8",
        _ => panic!("the page has HTML, CSS and JavaScript only"),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::FILES;
    use std::path::Path;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn the_list_is_what_the_folder_has() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries
            .map(|name| name.into_string().unwrap())
            .filter(|name| [".html", ".css", ".js"].iter().any(|end| name.ends_with(end)))
            .collect();
        names.sort();
        let listed: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        assert_eq!(listed, names);
        assert!(FILES.iter().all(|file| !file.bytes.is_empty()));
    }
}
