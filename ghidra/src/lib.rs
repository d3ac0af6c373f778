//! A Ghidra processor module for NVIDIA machine code, as the text of its files.
//!
//! `cargo xtask codegen` writes the files of the folder `NVIDIA` from the tables of instruction sets in `isa/nvidia`. They
//! are embedded unchanged; `unshade ghidra -o DIR` writes them to a folder that Ghidra reads as a module.
//!
//! ```
//! let manifest = unshade_ghidra::FILES.iter().find(|file| file.path == "Module.manifest");
//! assert!(manifest.is_some());
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// A file of the module.
#[derive(Clone, Copy, Debug)]
pub struct ModuleFile {
    /// Its path in the module's folder, with `/` between names.
    pub path: &'static str,
    /// Its content.
    pub text: &'static str,
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(ModuleFile { path: $path, text: include_str!(concat!("../NVIDIA/", $path)) }),*]
    };
}

/// The name of the module's folder.
pub const FOLDER: &str = "NVIDIA";

/// All files of the module, sorted by path; a test compares this list with the folder.
pub static FILES: &[ModuleFile] = files![
    "Module.manifest",
    "data/languages/functions.sinc",
    "data/languages/nvidia.ldefs",
    "data/languages/nvidia.opinion",
    "data/languages/nvidia_140.cspec",
    "data/languages/nvidia_160.cspec",
    "data/languages/nvidia_210.cspec",
    "data/languages/nvidia_380.cspec",
    "data/languages/sm_100.pspec",
    "data/languages/sm_100.slaspec",
    "data/languages/sm_103.pspec",
    "data/languages/sm_103.slaspec",
    "data/languages/sm_107.pspec",
    "data/languages/sm_107.slaspec",
    "data/languages/sm_110.pspec",
    "data/languages/sm_110.slaspec",
    "data/languages/sm_120.pspec",
    "data/languages/sm_120.slaspec",
    "data/languages/sm_30.pspec",
    "data/languages/sm_30.slaspec",
    "data/languages/sm_35.pspec",
    "data/languages/sm_35.slaspec",
    "data/languages/sm_50.pspec",
    "data/languages/sm_50.slaspec",
    "data/languages/sm_52.pspec",
    "data/languages/sm_52.slaspec",
    "data/languages/sm_60.pspec",
    "data/languages/sm_60.slaspec",
    "data/languages/sm_61.pspec",
    "data/languages/sm_61.slaspec",
    "data/languages/sm_70.pspec",
    "data/languages/sm_70.slaspec",
    "data/languages/sm_75.pspec",
    "data/languages/sm_75.slaspec",
    "data/languages/sm_80.pspec",
    "data/languages/sm_80.slaspec",
    "data/languages/sm_86.pspec",
    "data/languages/sm_86.slaspec",
    "data/languages/sm_89.pspec",
    "data/languages/sm_89.slaspec",
    "data/languages/sm_90.pspec",
    "data/languages/sm_90.slaspec",
];

#[cfg(test)]
mod tests {
    extern crate std;

    use super::{FILES, FOLDER};
    use std::path::Path;
    use std::string::String;
    use std::vec::Vec;

    fn add_files(folder: &Path, prefix: &str, paths: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let path = std::format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                add_files(&entry.path(), &std::format!("{path}/"), paths);
            } else {
                paths.push(path);
            }
        }
    }

    #[test]
    fn the_list_is_what_the_folder_has() {
        let mut paths = Vec::new();
        add_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER), "", &mut paths);
        paths.sort();
        let listed: Vec<&str> = FILES.iter().map(|file| file.path).collect();
        assert_eq!(listed, paths);
    }
}
