//! `unshade ghidra`: the Ghidra processor module, as files.

use crate::Outcome;
use crate::args::FolderArgs;
use crate::output::Folder;
use anyhow::Result;
use std::path::Path;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../ghidra/NVIDIA/", $name)))),*]
    };
}

/// The files of the module, which are made from the tables of instruction sets.
static FILES: [(&str, &str); 9] = files![
    "Module.manifest",
    "data/languages/functions.sinc",
    "data/languages/nvidia.cspec",
    "data/languages/nvidia.ldefs",
    "data/languages/nvidia.opinion",
    "data/languages/sm_30.pspec",
    "data/languages/sm_30.slaspec",
    "data/languages/sm_35.pspec",
    "data/languages/sm_35.slaspec",
];

pub(crate) fn run(args: &FolderArgs) -> Result<Outcome> {
    let mut folder = Folder::create(&args.output, args.force)?;
    for (name, text) in FILES {
        folder.write(&Path::new("NVIDIA").join(name), text.as_bytes())?;
    }
    Ok(Outcome::Done)
}
