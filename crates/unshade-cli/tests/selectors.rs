//! `#N` selects what `list` numbers N, in every verb: over the cubins of a fat binary, the slices of a universal file, the
//! modules of a stream.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("selectors-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// What `unshade` prints, and its exit status.
fn unshade(words: &[&str]) -> (String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_unshade")).args(words).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

/// The numbers and names of the functions that a verb prints as JSON.
fn functions(words: &[&str]) -> Vec<(u64, String)> {
    fn collect(value: &serde_json::Value, found: &mut Vec<(u64, String)>) {
        let inner: Vec<_> = match value {
            serde_json::Value::Array(values) => values.iter().collect(),
            serde_json::Value::Object(fields) => {
                if let (Some(index), Some(name)) = (fields.get("index"), fields.get("name")) {
                    found.push((index.as_u64().unwrap(), name.as_str().unwrap().to_owned()));
                    return;
                }
                fields.values().collect()
            }
            _ => return,
        };
        inner.into_iter().for_each(|value| collect(value, found));
    }
    let (text, _) = unshade(words);
    let mut found = Vec::new();
    collect(&serde_json::from_str(&text).unwrap(), &mut found);
    found
}

/// Asserts that `list` numbers functions without gaps, and that each number selects one function in each of `verbs`.
fn assert_numbered(file: &Path, expected: &[&str], verbs: &[&[&str]]) {
    let file = file.to_str().unwrap();
    let listed = functions(&["list", "--json", file]);
    let numbered: Vec<_> = (0..).zip(expected.iter().map(|name| (*name).to_owned())).collect();
    assert_eq!(listed, numbered, "{file}");
    for function in &listed {
        let selector = format!("#{}", function.0);
        for verb in verbs {
            let words = [verb, &[file, &selector][..]].concat();
            let found: Vec<u64> = functions(&words).iter().map(|(number, _)| *number).collect();
            assert_eq!(found, [function.0], "{words:?}");
        }
    }
}

/// The bytes of a fat binary of version 1 with these cubins.
fn fatbin(cubins: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (chip, cubin) in cubins {
        let padded = cubin.len().next_multiple_of(8);
        payload.extend(2_u16.to_le_bytes());
        payload.extend(0x101_u16.to_le_bytes());
        payload.extend(64_u32.to_le_bytes());
        payload.extend((padded as u64).to_le_bytes());
        payload.extend([0; 8]);
        payload.extend([7_u16, 1].map(u16::to_le_bytes).concat());
        payload.extend(chip.to_le_bytes());
        payload.extend([0; 8]);
        payload.extend(0x11_u64.to_le_bytes());
        payload.extend([0; 16]);
        payload.extend(cubin);
        payload.resize(payload.len() + padded - cubin.len(), 0);
    }
    let mut bytes = 0xba55_ed50_u32.to_le_bytes().to_vec();
    bytes.extend([1_u16, 16].map(u16::to_le_bytes).concat());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(payload);
    bytes
}

const DATA: [&[&str]; 5] = [
    &["list", "--json"],
    &["show", "--json"],
    &["dis", "--stats", "--json"],
    &["dis", "--cfg", "json"],
    &["dis", "--json"],
];

#[test]
fn cubins_of_a_fat_binary() {
    let folder = folder("fatbin");
    let cubin = |name: &str| fs::read(fixture(name)).unwrap();
    let path = folder.join("several.fatbin");
    let cubins = ["nvidia/add_sm_35.cubin", "nvidia/calls_sm_35.cubin", "nvidia/add_sm_35.cubin"];
    let names: Vec<String> = cubins
        .iter()
        .flat_map(|name| functions(&["list", "--json", fixture(name).to_str().unwrap()]))
        .map(|(_, name)| name)
        .collect();
    fs::write(&path, fatbin(&cubins.map(|name| (35, cubin(name))))).unwrap();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(names.len() > 4, "{names:?}");
    assert_numbered(&path, &names, &DATA);
    let (file, last) = (path.to_str().unwrap(), format!("#{}", names.len() - 1));
    let (text, _) = unshade(&["dis", file, &last]);
    assert_eq!(text.matches("// add, sm_35").count(), 1, "{text}");
    let (text, _) = unshade(&["dis", "--live", file, &last]);
    assert_eq!(text.matches("// add, sm_35").count(), 1, "{text}");
    let (text, _) = unshade(&["decompile", file, &last]);
    assert_eq!((text.matches("__global__").count(), text.contains("add(")), (1, true), "{text}");
    let out = folder.join("extracted");
    assert_eq!(unshade(&["extract", file, &last, "-o", out.to_str().unwrap()]).1, 0);
    let written: Vec<_> =
        fs::read_dir(out.join("modules")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(written, ["2.sm_35.cubin"]);
    let out = folder.join("ghidra");
    assert_eq!(unshade(&["ghidra", "--import", file, &last, "-o", out.to_str().unwrap()]).1, 0);
    let xml = fs::read_dir(out)
        .unwrap()
        .filter(|one| one.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "xml"));
    assert_eq!(xml.count(), 1);
    let run = ["run", file, &last, "--block", "1", "--arg", "f32[1]=1", "--arg", "2.0"];
    assert_eq!(unshade(&run).1, 0);
    assert_eq!(unshade(&["list", file, &format!("#{}", names.len())]), (String::new(), 1));
}

/// A universal file: big-endian, 20 bytes for each slice.
fn universal(slices: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = [0xcbfe_babe, slices.len() as u32].map(u32::to_be_bytes).concat();
    let mut offset = 4096_u32;
    for (place, slice) in slices.iter().enumerate() {
        let fields = [0x0100_0017, place as u32, offset, slice.len() as u32, 12];
        bytes.extend(fields.map(u32::to_be_bytes).concat());
        offset += (slice.len() as u32).next_multiple_of(4096);
    }
    for slice in slices {
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        bytes.extend(slice);
    }
    bytes
}

#[test]
fn slices_of_a_universal_file() {
    let path = folder("universal").join("several.metallib");
    let library = |name: &str| fs::read(fixture(name)).unwrap();
    let slices = ["metallib/vertex_fragment.metallib", "metallib/mesh_object.metallib"];
    fs::write(&path, universal(&slices.map(library))).unwrap();
    let names: Vec<String> = slices
        .iter()
        .flat_map(|name| functions(&["list", "--json", fixture(name).to_str().unwrap()]))
        .map(|(_, name)| name)
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_numbered(&path, &names, &DATA[..4]);
    let out = path.with_extension("out");
    let words = ["extract", path.to_str().unwrap(), "#2", "-o", out.to_str().unwrap()];
    assert_eq!(unshade(&words).0.lines().count(), 1);
}

#[test]
fn modules_of_a_stream() {
    let path = fixture("../../crates/unshade-llvm/tests/fixtures/two_modules.bc");
    let file = path.to_str().unwrap();
    let listed = functions(&["list", "--json", file]);
    let names: Vec<&str> = listed.iter().map(|(_, name)| name.as_str()).collect();
    assert_numbered(&path, &names, &DATA[..2]);
    for (number, name) in &listed {
        let (text, _) = unshade(&["dis", file, &format!("#{number}")]);
        let lines = text.lines().filter(|line| line.starts_with("define") || line.starts_with("declare"));
        let lines: Vec<_> = lines.collect();
        assert!(matches!(lines[..], [line] if line.contains(&format!("@{name}("))), "{text}");
    }
}

/// Modules keep their numbers where one before them can't be read.
#[test]
fn modules_after_a_damaged_one() {
    let path = folder("damaged").join("damaged.bc");
    let mut stream = fs::read(fixture("../../crates/unshade-llvm/tests/fixtures/two_modules.bc")).unwrap();
    stream[40..44].fill(0xff);
    fs::write(&path, stream).unwrap();
    let file = path.to_str().unwrap();
    let (text, _) = unshade(&["show", "--json", file, "#0"]);
    let text: serde_json::Value = serde_json::from_str(&text).unwrap();
    let function = &text["programs"][0]["functions"][0];
    assert_eq!(function["module"], 1);
    let (text, _) = unshade(&["dis", file, "#0"]);
    assert!(text.contains(&format!("@{}(", function["name"].as_str().unwrap())), "{text}");
    assert!(unshade(&[file]).0.contains("module 2 of 2"));
}

/// Functions of a DXContainer have the numbers of its exports.
#[test]
fn exports_of_a_library() {
    let path = fixture("dxcontainer/library.dxbc");
    let (text, _) = unshade(&["dis", path.to_str().unwrap(), "#1"]);
    assert_eq!((text.matches("define ").count(), text.contains("@\"\\01?g@@")), (1, true), "{text}");
}
