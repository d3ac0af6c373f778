//! Written modules: byte for byte as `llvm-as` wrote them, and without loss if something else did. Damaged ones either can't
//! be written, or are read again as they were.
//!
//! `UNSHADE_ROUNDS` sets the number of rounds per module.

use std::path::{Path, PathBuf};
use unshade_core::ErrorKind;
use unshade_llvm::Module;
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::types::Type;
use unshade_llvm::write::{self, Version, WriteInput, WriteOptions};

/// Modules that `llvm-as-14` wrote.
const ASSEMBLED: [&str; 9] = [
    "instructions",
    "exceptions",
    "symbols",
    "debug_info",
    "air_like",
    "expressions",
    "use_lists",
    "equal_metadata",
    "broken_dominance",
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(format!("{name}.bc"))).unwrap()
}

fn options(module: &Module<'_>) -> WriteOptions<'static> {
    let is_opaque = module.types.find(Type::OpaquePointer { address_space: 0 }).is_some();
    WriteOptions {
        version: if is_opaque { Version::Llvm19 } else { Version::Llvm14 },
        ..WriteOptions::default()
    }
}

fn write(module: &Module<'_>) -> unshade_core::Result<Vec<u8>> {
    let bodies = module.bodies()?;
    write::module(&WriteInput::new(module, &bodies), &options(module))
}

/// Returns the text of a module; none if there are findings.
fn text(module: &Module<'_>) -> Option<String> {
    let dialect = match options(module).version {
        Version::Llvm14 => Dialect::Llvm14,
        _ => Dialect::Llvm19,
    };
    let mut text = String::new();
    let findings = print::module(module, &PrintOptions { dialect, module_id: Some("x") }, &mut text);
    (module.diagnostics.is_empty() && findings.is_empty()).then_some(text)
}

#[test]
fn what_later_versions_added_is_refused() {
    for name in ["newest", "newest_debug_info"] {
        let bytes = read(name);
        let module = Module::parse(&bytes, 0).unwrap();
        let bodies = module.bodies().unwrap();
        for version in [Version::Llvm14, Version::Llvm19] {
            let options = WriteOptions { version, ..WriteOptions::default() };
            let error = write::module(&WriteInput::new(&module, &bodies), &options).err();
            assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Unsupported), "{name} {version:?}");
        }
    }
}

#[test]
fn assembled_modules_are_written_byte_for_byte() {
    for name in ASSEMBLED {
        let bytes = read(name);
        let module = Module::parse(&bytes, 0).unwrap();
        assert!(write(&module).unwrap() == bytes, "{name}");
    }
}

/// Returns a text without the hash of the module, which like `llvm-as` the writer leaves out.
fn without_hash(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines.map(|line| line.split_once(", hash: (").map_or(line, |(before, _)| before)).collect()
}

/// Written modules of other producers are printed as before.
#[test]
fn other_modules_keep_their_text() {
    let air = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/air");
    let files = std::fs::read_dir(air).unwrap().chain(std::fs::read_dir(fixtures()).unwrap());
    let mut count = 0;
    for path in
        files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "bc"))
    {
        let bytes = std::fs::read(&path).unwrap();
        let module = Module::parse(&bytes, 0).unwrap();
        let Some(before) = text(&module) else { continue };
        match write(&module) {
            Ok(written) => {
                let again = Module::parse(&written, 0).unwrap();
                let after = text(&again).unwrap_or_default();
                assert!(without_hash(&after) == without_hash(&before), "{}", path.display());
                count += 1;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{}: {error}", path.display()),
        }
    }
    assert!(count >= 20, "{count}");
}

/// Without orders of use lists the constants are sorted, which changes no text.
#[test]
fn sorted_constants_change_no_text() {
    for name in ["instructions", "expressions", "symbols"] {
        let bytes = read(name);
        let module = Module::parse(&bytes, 0).unwrap();
        let bodies = module.bodies().unwrap();
        let options = WriteOptions { use_list_orders: false, ..WriteOptions::default() };
        let written = write::module(&WriteInput::new(&module, &bodies), &options).unwrap();
        assert_eq!(text(&Module::parse(&written, 0).unwrap()), text(&module), "{name}");
    }
}

#[test]
fn what_a_version_lacks_is_refused() {
    let bytes = read("instructions");
    let module = Module::parse(&bytes, 0).unwrap();
    let bodies = module.bodies().unwrap();
    let options = WriteOptions { version: Version::Llvm19, ..WriteOptions::default() };
    let error = write::module(&WriteInput::new(&module, &bodies), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = write::module(&WriteInput::new(&module, &[]), &WriteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadValue);
}

/// A xorshift generator, so that all runs are the same.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

/// Writes a module if it can be read. If it was sound, it must be read as before.
fn check(bytes: &[u8]) -> Result<(), String> {
    let Ok(module) = Module::parse(bytes, 0) else { return Ok(()) };
    let Ok(written) = write(&module) else { return Ok(()) };
    let Some(before) = text(&module) else { return Ok(()) };
    let again =
        Module::parse(&written, 0).map_err(|error| format!("a written module can't be read: {error}"))?;
    let after = text(&again).ok_or_else(|| {
        let mut text = String::new();
        let findings = print::module(&again, &PrintOptions::default(), &mut text);
        let mut findings = again.diagnostics.iter().chain(findings.iter());
        format!(
            "a written module has findings: {:?}",
            findings.next().map(|finding| finding.error.to_string())
        )
    })?;
    match before.lines().zip(after.lines()).find(|(one, other)| one != other) {
        None => Ok(()),
        Some(lines) => Err(format!("the text differs: {lines:?}")),
    }
}

#[test]
fn damaged_modules() {
    let rounds = std::env::var("UNSHADE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let mut faults = Vec::new();
    for name in ASSEMBLED.iter().chain(&["later", "upgrades", "wrong_subprogram"]) {
        let original = read(name);
        let mut random = Random(0x2545_F491_4F6C_DD1D);
        for round in 0..rounds {
            let mut bytes = original.clone();
            for _ in 0..=random.next(3) {
                let at = random.next(bytes.len());
                bytes[at] ^= 1 << random.next(8);
            }
            faults.extend(check(&bytes).err().map(|fault| format!("{name}, round {round}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{} faults: {:#?}", faults.len(), &faults[..faults.len().min(10)]);
}
