//! LLVM's obj2yaml and yaml2obj in all available versions: `yaml2obj-24` and so on, on PATH or in a folder of
//! UNSHADE_LLVM_BIN.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use unshade::dxcontainer::document::Llvm;

use crate::sh;

/// The supported versions, oldest first, with the dialect for each.
const VERSIONS: [(u32, Llvm); 3] = [(19, Llvm::V19), (22, Llvm::V22), (24, Llvm::V24)];

/// The tools of one version.
pub(super) struct Tools {
    /// The version.
    pub(super) version: u32,
    /// The dialect with the keys that it knows.
    pub(super) llvm: Llvm,
    yaml2obj: PathBuf,
    obj2yaml: PathBuf,
}

/// Finds the tools, oldest version first. Prints a notice for missing ones.
pub(super) fn find() -> Vec<Tools> {
    let mut found = Vec::new();
    for (version, llvm) in VERSIONS {
        match (
            sh::find_llvm_tool(&format!("yaml2obj-{version}")),
            sh::find_llvm_tool(&format!("obj2yaml-{version}")),
        ) {
            (Some(yaml2obj), Some(obj2yaml)) => found.push(Tools { version, llvm, yaml2obj, obj2yaml }),
            _ => println!(
                "skipped: yaml2obj-{version} and obj2yaml-{version} are neither on PATH nor in a folder of \
                 UNSHADE_LLVM_BIN"
            ),
        }
    }
    found
}

impl Tools {
    /// Returns whether yaml2obj accepts a document.
    pub(super) fn accepts(&self, text: &str) -> bool {
        run(Command::new(&self.yaml2obj).args(["-", "-o", "-"]), text.as_bytes())
            .is_some_and(|output| output.starts_with(b"DXBC"))
    }

    /// Returns the output of obj2yaml for a container; none if it rejects it.
    pub(super) fn yaml(&self, data: &[u8]) -> Option<String> {
        let output = run(Command::new(&self.obj2yaml).arg("-"), data)?;
        Some(String::from_utf8_lossy(&output).into_owned())
    }
}

/// Runs a program on an input; none if it fails.
fn run(command: &mut Command, input: &[u8]) -> Option<Vec<u8>> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let input = input.to_vec();
    // The tool may answer before it has read all of its input.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().ok()?;
    let _ = writer.join();
    output.status.success().then_some(output.stdout)
}
