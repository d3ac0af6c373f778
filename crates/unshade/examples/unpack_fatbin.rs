//! Unpacks a CUDA fat binary: writes each cubin and each PTX text in it to a file.
//!
//! ```text
//! cargo run --example unpack_fatbin -- tests/fixtures/nvidia/packed_11_2.fatbin FOLDER
//! ```

use std::error::Error;
use std::path::Path;
use unshade::nv::Fatbin;
use unshade::nv::fatbin::EntryKind;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: unpack_fatbin FATBIN FOLDER";
    let mut arguments = std::env::args().skip(1);
    let bytes = std::fs::read(arguments.next().ok_or(usage)?)?;
    let folder = arguments.next().ok_or(usage)?;
    for name in unpack(&bytes, Path::new(&folder))? {
        println!("{name}");
    }
    Ok(())
}

/// Writes the entries of a fat binary into a folder; returns the names of the files.
pub(crate) fn unpack(bytes: &[u8], folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in Fatbin::parse(bytes)?.entries() {
        let entry = entry?;
        let extension = match entry.kind {
            EntryKind::ELF => "cubin",
            EntryKind::PTX => "ptx",
            // A kind that is not known is not left out.
            _ => "bin",
        };
        // LZ4 and Zstandard are unpacked; other entries are borrowed from the file.
        let data = entry.data()?;
        // Numbers and targets make the name: names in the file can't be trusted.
        let name = format!("{}.{}.{extension}", entry.index, entry.target());
        std::fs::write(folder.join(&name), &data)?;
        names.push(name);
    }
    Ok(names)
}
