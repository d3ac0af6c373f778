//! Tests `unshade explore --json` and `unshade html` with the answers of `tests/query/requests.txt`, and reports.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn unshade(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unshade"));
    command
        .current_dir(root())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // Answers arrive while requests are written.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

#[test]
fn answers_are_those_of_the_library() {
    let text = fs::read_to_string(root().join("tests/query/requests.txt")).unwrap();
    let files = text.lines().filter_map(|line| line.strip_prefix("# "));
    let arguments: Vec<&str> = ["explore", "--json"].into_iter().chain(files).collect();
    let mut lines = text.lines();
    let (mut requests, mut expected) = (String::new(), Vec::new());
    while let Some(line) = lines.next() {
        let Some(request) = line.strip_prefix("> ") else { continue };
        let answer = lines.next().unwrap();
        // A server does not reveal which file number is missing.
        if !answer.contains("\"error\":{\"message\":\"no file") {
            requests.push_str(request);
            requests.push('\n');
            expected.push(answer);
        }
    }
    let output = unshade(&arguments, &requests);
    assert!(output.status.success());
    let found = String::from_utf8(output.stdout).unwrap();
    for ((found, expected), request) in found.lines().zip(&expected).zip(requests.lines()) {
        assert_eq!(found, *expected, "{request}");
    }
    assert_eq!(found.lines().count(), expected.len());
}

#[test]
fn what_is_too_long_is_refused() {
    let file = "tests/fixtures/metallib/vertex_fragment.metallib";
    let output = unshade(&["explore", "--json", file], &"x".repeat((16 << 20) + 8));
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

/// The report's HTML contains data of the file only in the compressed answers.
#[test]
fn reports_hold_nothing_of_a_file_as_html() {
    let folder = std::env::temp_dir().join(format!("unshade-html-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let hostile = folder.join("<img src=x onerror=alert(1)>.metallib");
    fs::copy(root().join("tests/fixtures/metallib/vertex_fragment.metallib"), &hostile).unwrap();
    let report = folder.join("report.html");
    let arguments = ["html", hostile.to_str().unwrap(), "-o", report.to_str().unwrap()];
    assert!(unshade(&arguments, "").status.success());
    let html = fs::read_to_string(&report).unwrap();
    assert!(!html.contains("onerror=alert") && !html.contains("vertex_fragment"));
    let again = unshade(&arguments, "");
    assert_eq!(again.status.code(), Some(2), "a file that is there is not replaced");
    fs::remove_dir_all(&folder).unwrap();
}

/// A report has room for a large program, and for the functions that are selected.
#[test]
fn large_programs_have_reports_and_functions_their_own() {
    let folder = std::env::temp_dir().join(format!("unshade-large-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (file, report) = (folder.join("large.metallib"), folder.join("report.html"));
    let mut bytes = fs::read(root().join("tests/fixtures/metallib/vertex_fragment.metallib")).unwrap();
    // The file size in the header makes the zeros part of the library.
    bytes.resize(40 << 20, 0);
    bytes[16..24].copy_from_slice(&(40u64 << 20).to_le_bytes());
    fs::write(&file, bytes).unwrap();
    let (file, report) = (file.to_str().unwrap(), report.to_str().unwrap());
    assert!(unshade(&["html", file, "-o", report], "").status.success());
    let whole = fs::metadata(report).unwrap().len();
    assert!(whole < 20_000_000, "{whole} bytes");
    assert!(unshade(&["html", file, "corner", "-o", report, "--force"], "").status.success());
    let one = fs::metadata(report).unwrap().len();
    assert!(one < whole, "{one} of {whole} bytes");
    let output = unshade(&["html", file, "corners", "-o", report, "--force"], "");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("corner"), "{message}");
    fs::remove_dir_all(&folder).unwrap();
}
