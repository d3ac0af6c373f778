//! Containers of our own shaders; calls the whole API of the parser on any bytes.

use std::fs;
use std::path::Path;
use unshade_core::outline::Coverage;
use unshade_dxcontainer::msf::Msf;
use unshade_dxcontainer::{Container, DxFile, document, outline, verify};

/// A committed container.
pub struct Fixture {
    /// The base name of the file.
    pub name: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Returns the committed containers, sorted by name.
///
/// # Panics
/// If the folder can't be read.
pub fn all() -> Vec<Fixture> {
    files("dxbc")
}

/// Returns the committed program databases.
///
/// # Panics
/// If the folder can't be read.
pub fn program_databases() -> Vec<Fixture> {
    files("pdb")
}

/// Returns the content of all parts with a name in the committed containers, and in containers nested in those.
///
/// # Panics
/// If a fixture is malformed.
pub fn parts(name: &[u8; 4]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    for fixture in all() {
        let container = Container::parse(&fixture.data).expect("a valid fixture");
        for part in container.found_parts() {
            if part.name.0 == *name {
                parts.push(part.data.data().to_vec());
            }
            if let Ok(inner) = Container::read(part.data) {
                parts.extend(
                    inner.found_parts().filter(|p| p.name.0 == *name).map(|p| p.data.data().to_vec()),
                );
            }
        }
    }
    parts
}

fn files(extension: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dxcontainer");
    let mut fixtures: Vec<Fixture> = fs::read_dir(folder)
        .expect("the fixtures")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| Fixture {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            data: fs::read(&path).expect("a readable file"),
        })
        .collect();
    fixtures.sort_by(|a, b| a.name.cmp(&b.name));
    fixtures
}

/// Calls the whole API on a possibly damaged file. Returns faults in the results: bytes that the outline does not
/// attribute, bytes that do not survive a round trip. `yaml` includes a round trip through YAML.
pub fn exercise(data: &[u8], yaml: bool) -> Vec<String> {
    let Ok(container) = Container::parse(data) else { return Vec::new() };
    let findings = verify::container(&container);
    let mut coverage = Coverage::starting_at(0);
    outline::container(&container, &mut coverage);
    let mut faults = coverage.finish(data.len() as u64);
    for finding in &findings {
        let known = verify::RULES.iter().any(|(rule, _)| *rule == finding.rule);
        if !known || finding.error.to_string().is_empty() {
            faults.push(format!("finding of an unknown rule: {}", finding.rule));
        }
    }
    let Ok(mut file) = DxFile::parse(data) else { return faults };
    match file.write() {
        Ok(written) if written == data => {}
        Ok(_) => faults.push("writing changes the file".into()),
        Err(error) => faults.push(format!("can't be written: {error}")),
    }
    if yaml {
        let back = document::to_yaml(&file).and_then(|text| document::from_yaml(&text)?.write());
        match back {
            Ok(written) if written == data => {}
            Ok(_) => faults.push("a round trip through YAML changes the file".into()),
            Err(error) => faults.push(format!("does not survive a round trip through YAML: {error}")),
        }
    }
    if let Err(error) = file.write_signed() {
        faults.push(format!("can't be signed: {error}"));
    }
    faults
}

/// Returns the committed containers that contain a DXIL module.
///
/// # Panics
/// If a fixture is malformed.
pub fn programs() -> Vec<Fixture> {
    let mut fixtures = all();
    fixtures.retain(|fixture| {
        let container = Container::parse(&fixture.data).expect("a valid fixture");
        container.find(b"DXIL").is_some()
    });
    fixtures
}

/// Calls everything that needs the module of a file. Returns the tables that DXC prints before the module.
///
/// # Panics
/// If the tables contain a line that is not a comment, or are too large for the file.
pub fn exercise_program(data: &[u8]) -> Option<String> {
    let container = Container::parse(data).ok()?;
    unshade::check_dxcontainer(&container);
    unshade::view::ContainerView::new(&container);
    let part = unshade::dxil::main_part(&container)?;
    let (_, bitcode) = unshade_dxcontainer::program::bitcode(part.data).ok()?;
    let module = unshade_llvm::Module::parse(bitcode.data(), bitcode.base()).ok()?;
    if let Ok(assembler) = unshade::dxil::assemble::Assembler::new(&module) {
        let flags = assembler.computed_flags().unwrap_or_default();
        let _ = assembler.computed_view_id_state(flags);
    }
    let mut text = String::new();
    unshade::dxc_tables::put(&container, &module, bitcode.base(), &mut text);
    assert!(text.lines().all(|line| line.starts_with(';')), "{text}");
    assert!(text.len() < (4 << 20) + 256 * data.len(), "{} bytes of text", text.len());
    Some(text)
}

/// Parses a program database and the container in it.
pub fn exercise_database(data: &[u8]) -> Vec<String> {
    match Msf::parse(data).and_then(|msf| msf.container()) {
        Ok((_, container)) => exercise(&container, false),
        Err(_) => Vec::new(),
    }
}
