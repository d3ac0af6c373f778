//! Tests edge cases of the command line that break scripts: output destinations, names that are not UTF-8, missing
//! arguments.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("edges-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn run_in<A: Into<OsString>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unshade"));
    command.args(arguments.into_iter().map(Into::into)).env("NO_COLOR", "1").current_dir(folder);
    command.stdin(Stdio::null()).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `-o -` and `-o /dev/stdout` are standard output, and no file or folder of that name appears.
#[test]
fn a_dash_is_standard_output() {
    let folder = folder("dash");
    let metallib = fixture("metallib/linker_1_2_7.metallib").to_str().unwrap().to_owned();
    let dxil = fixture("dxcontainer/compute.dxbc").to_str().unwrap().to_owned();
    let cubin = fixture("nvidia/kernels/sm_35/axpy.cubin").to_str().unwrap().to_owned();
    fs::write(folder.join("dxil.yaml"), run_in(&folder, ["to-yaml", &dxil]).stdout).unwrap();
    let listing = fixture("air/reduce.bc").to_str().unwrap().to_owned();
    let commands: [(&[&str], &[u8]); 8] = [
        (&["edit", &metallib], b"MTLB"),
        (&["sign", &dxil], b"DXBC"),
        (&["from-yaml", "dxil.yaml"], b"DXBC"),
        (&["to-yaml", &dxil], b"--- "),
        (&["decompile", &cubin], b""),
        (&["dis", &listing], b""),
        (&["dis", &cubin], b"// "),
        (&["extract", &metallib], b""),
    ];
    for (command, start) in commands {
        for output in ["-", "/dev/stdout"] {
            let arguments: Vec<&str> = command.iter().copied().chain(["-o", output]).collect();
            let result = run_in(&folder, &arguments);
            assert_eq!(result.status.code(), Some(0), "{arguments:?}: {}", stderr(&result));
            assert!(result.stdout.starts_with(start) && !result.stdout.is_empty(), "{arguments:?}");
        }
    }
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["dxil.yaml"]);
}

/// Several files don't go to standard output.
#[test]
fn a_dash_takes_one_file() {
    let folder = folder("one");
    let file = fixture("metallib/vertex_fragment.metallib");
    let output = run_in(&folder, [OsString::from("extract"), file.into(), "-o".into(), "-".into()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("standard output takes one file"), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn names_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStringExt;
    let folder = folder("names");
    let name = OsString::from_vec(b"caf\xe9.metallib".to_vec());
    fs::copy(fixture("metallib/linker_1_2_7.metallib"), folder.join(&name)).unwrap();
    for command in [&[][..], &["list"], &["show"], &["verify"], &["dump"], &["check"], &["dis"]] {
        let arguments: Vec<OsString> = command.iter().map(OsString::from).chain([name.clone()]).collect();
        let output = run_in(&folder, &arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    }
    let output = run_in(&folder, [OsString::from("list"), name.clone(), "--json".into()]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["file_bytes"], "636166e92e6d6574616c6c6962");
    let output =
        run_in(&folder, [OsString::from("edit"), name, "-o".into(), OsString::from_vec(b"\xff".to_vec())]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn what_is_not_there_is_named() {
    let folder = folder("missing");
    let good = fixture("metallib/linker_1_2_7.metallib").to_str().unwrap().to_owned();
    let cubin = fixture("nvidia/add_sm_90.cubin").to_str().unwrap().to_owned();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["scan", &good, "missing"], 2, "can't read missing: No such file or directory"),
        (&["scan", "-"], 2, "files and folders are wanted here"),
        (&["diff", "-", "-"], 2, "standard input can be only one of the two"),
        (&["lst", &good], 2, "did you mean `unshade list`?"),
        (&["list", &good, "no_such"], 1, "no function no_such"),
        (&["dis", &cubin], 1, "the encoding of this chip is not known"),
        (&["dis", "--stats", &cubin], 1, "the encoding of this chip is not known"),
        (&["check", &cubin], 2, "no rules are known"),
    ];
    for (arguments, code, message) in cases {
        let output = run_in(&folder, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("no function matches"), "{arguments:?}: {}", stderr(&output));
    }
}

/// Files come first, then functions; an existing file after the first function is a function.
#[test]
fn files_end_where_functions_begin() {
    let folder = folder("arguments");
    for name in ["a.metallib", "b.metallib"] {
        fs::copy(fixture("metallib/linker_1_2_7.metallib"), folder.join(name)).unwrap();
    }
    let names = String::from_utf8(run_in(&folder, ["list", "a.metallib", "--json"]).stdout).unwrap();
    let json: serde_json::Value = serde_json::from_str(&names).unwrap();
    let function = json["programs"][0]["libraries"][0]["functions"][0]["name"].as_str().unwrap();
    let output = run_in(&folder, ["list", "a.metallib", "b.metallib", function]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(text.matches(function).count(), 2, "{text}");
    // A folder whose path looks like a regular expression.
    for name in ["one", "two"] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::copy(fixture("metallib/linker_1_2_7.metallib"), folder.join(name).join("c.metallib")).unwrap();
    }
    let path = |name: &str| format!("{}/{name}/", folder.display());
    let output = run_in(&folder, ["dis", &path("one"), &path("two")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("==> ").count(), 2);
}

/// Standard input works like a file, whatever its length.
#[test]
fn standard_input_is_a_file() {
    let file = fs::read(fixture("metallib/linker_1_2_7.metallib")).unwrap();
    // Longer than the limit in memory.
    let padding = vec![0_u8; 70 << 20];
    let mut command = Command::new(env!("CARGO_BIN_EXE_unshade"));
    let mut child = command
        .args(["list", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        stdin.write_all(&padding).unwrap();
        stdin.write_all(&file).unwrap();
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("@0x4600000"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_unshade"));
    let output = command.args(["completions", "bash"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(!stderr(&output).contains("panicked"));
}
