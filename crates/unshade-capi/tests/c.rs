//! C programs: the header compiles and names what the library exports, and an example lists a fixture.

#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HEADER: &str = include_str!("../include/unshade.h");
const SOURCES: [&str; 4] = [
    include_str!("../src/error.rs"),
    include_str!("../src/file.rs"),
    include_str!("../src/findings.rs"),
    include_str!("../src/function.rs"),
];
const STRINGS: &str = include_str!("../src/string.rs");

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the names that follow `extern "C" fn`.
fn exported(source: &str) -> impl Iterator<Item = &str> {
    source.split("extern \"C\" fn ").skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name)
}

/// Returns the names that are declared: those that begin with `unshade_`, outside of comments, before a parenthesis.
fn declared(header: &str) -> BTreeSet<&str> {
    let code = header.split("/*").flat_map(|part| part.split_once("*/").map(|(_, code)| code));
    let calls = code.flat_map(|code| code.split("unshade_").skip(1).filter_map(|rest| rest.split_once('(')));
    calls.map(|(name, _)| name).collect()
}

#[test]
fn the_header_declares_what_is_exported() {
    let exported: BTreeSet<&str> = SOURCES
        .iter()
        .chain([&STRINGS])
        .flat_map(|source| exported(source))
        .filter_map(|name| name.strip_prefix("unshade_"))
        .collect();
    assert!(exported.len() > 30, "{exported:?}");
    assert_eq!(declared(HEADER), exported);
}

/// Runs the C compiler; none if the system has none.
fn compile(arguments: &[&str]) -> Option<Output> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let include = folder().join("include");
    let run = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(include)
        .args(arguments)
        .output();
    match run {
        Ok(output) => Some(output),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "NOT TESTED: no C compiler: {compiler}: {error}");
            None
        }
    }
}

/// Asserts that a program succeeded; returns its output.
fn succeeded(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn the_header_compiles_as_c_and_cpp() {
    let header = folder().join("include/unshade.h");
    let header = header.to_str().expect("a path in UTF-8");
    let Some(output) = compile(&["-fsyntax-only", "-x", "c", header]) else { return };
    succeeded(&output);
    // Compilers without C++ refuse the language; the header is not to blame.
    let output = compile(&["-fsyntax-only", "-std=c++11", "-x", "c++", header]).expect("it ran before");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || text.contains("cc1plus"), "{text}");
}

/// Compiles and links the example, once per test.
#[cfg(unix)]
fn example(name: &str) -> Option<PathBuf> {
    // The shared library is beside the tests.
    let test = std::env::current_exe().expect("the test");
    let libraries = test.parent().expect("its folder");
    let program = libraries.join(format!("unshade-capi-{name}"));
    let source = folder().join("examples/list.c");
    let (libraries, path) = (libraries.to_str().expect("UTF-8"), program.to_str().expect("UTF-8"));
    let output = compile(&[
        source.to_str().expect("UTF-8"),
        "-o",
        path,
        "-L",
        libraries,
        "-lunshade_capi",
        &format!("-Wl,-rpath,{libraries}"),
    ])?;
    succeeded(&output);
    Some(program)
}

#[cfg(unix)]
#[test]
fn the_example_lists_a_library() {
    let Some(program) = example("sound") else { return };
    let list = |name| {
        let fixture = folder().join("../../tests/fixtures/metallib").join(name);
        succeeded(&Command::new(&program).arg(fixture).output().expect("it runs"))
    };
    assert_eq!(list("vertex_fragment.metallib"), include_str!("list.txt"));
    let text = list("platform_flag.metallib");
    assert!(text.contains("\n  warning: platform: "), "{text}");
}

#[cfg(unix)]
#[test]
fn the_example_reports_errors() {
    let Some(program) = example("errors") else { return };
    let output = Command::new(program).arg("no such file").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.starts_with("no such file: can't be read"), "{text}");
}
