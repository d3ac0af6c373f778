//! `unshade sanitize` on damaged cubins: it never panics, and says what it can't read.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn sanitize(folder: &Path, cubin: &[u8], arguments: &[&str]) -> Output {
    let path = folder.join("damaged.cubin");
    fs::write(&path, cubin).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_unshade"));
    command.arg("sanitize").arg(path).args(arguments).args(["--steps", "100000"]).env("NO_COLOR", "1");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns file offset and size of `.debug_line`.
fn line_table(cubin: &[u8]) -> (usize, usize) {
    let cubin = unshade::nv::Cubin::parse(cubin).unwrap();
    let section = cubin.elf().section_named(b".debug_line").unwrap();
    (section.offset as usize, section.size as usize)
}

#[test]
fn damaged_line_tables_and_cubins_are_survived() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitize-damaged");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia/sanitize/faults.cubin");
    let whole = fs::read(fixture).unwrap();
    let arguments = ["outside", "--block", "32", "--arg", "i32[32]"];
    let (start, size) = line_table(&whole);
    // A table that ends too early: the fault is found all the same.
    let mut cut = whole.clone();
    cut[start..start + 4].copy_from_slice(&u32::MAX.wrapping_sub(20).to_le_bytes());
    let output = sanitize(&folder, &cut, &arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("out-of-bounds (memcheck)"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("no source lines"), "{}", text(&output.stderr));
    let mut seed = 7_u64;
    let mut random = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % bound
    };
    for round in 0..60 {
        let mut damaged = whole.clone();
        match round % 3 {
            0 => damaged[start + random(size)] = random(256) as u8,
            1 => (0..20).for_each(|_| damaged[random(whole.len())] = random(256) as u8),
            _ => damaged.truncate(random(whole.len())),
        }
        let output = sanitize(&folder, &damaged, &arguments);
        let stderr = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code <= 2), "{round}: {stderr}");
        assert!(!stderr.contains("panicked"), "{round}: {stderr}");
    }
}
