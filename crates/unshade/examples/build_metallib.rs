//! Puts AIR modules together to a Metal library, as a shader compiler would.
//!
//! ```console
//! $ cargo run -p unshade --example build_metallib -- out.metallib kernel.bc vertex.bc
//! ```

use std::error::Error;
use std::fs;
use unshade::build;
use unshade::metallib::target::Target;
use unshade::metallib::{LibraryFile, LibraryType, Platform};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let output = arguments.next().ok_or("usage: build_metallib OUT MODULE…")?;

    // The target decides the version of the container; the triple inside of the modules has to agree with it.
    let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
    let mut library = LibraryFile::new(target.header(LibraryType::EXECUTABLE));

    for path in arguments {
        // Names, types, versions, vertex attributes and function constants come from the module's own metadata.
        let first = build::add_module(&mut library, &fs::read(&path)?)?;
        // What the module can't say may be added here.
        for function in &mut library.functions[first..] {
            println!("{path}: {}", String::from_utf8_lossy(&function.name));
        }
    }

    // Apple's linker gives every library a UUID; nothing is known to check it.
    library.set_uuid(Some([0; 16]));
    library.renew_uuid()?;

    // Sizes, offsets and hashes are computed now. The pieces may be written one by one, or joined.
    fs::write(&output, library.write()?.to_vec())?;
    Ok(())
}
