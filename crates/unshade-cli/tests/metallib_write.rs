//! Tests the commands that write Metal libraries: YAML and back, every kind of edit, builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use unshade::metallib::Library;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

/// Creates a folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("metallib-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn unshade(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unshade")).args(arguments).output().expect("the program runs")
}

fn succeeds(arguments: &[&str]) {
    let output = unshade(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Checks that the command fails with this on standard error, and leaves no file at the path after `-o`.
fn fails(arguments: &[&str], expected: &str) {
    let output = unshade(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // A name that selects nothing is a finding.
    let status = if expected.starts_with("no function") { 1 } else { 2 };
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {stderr}");
    assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    let target = arguments.iter().skip_while(|argument| **argument != "-o").nth(1).expect("an output");
    assert!(!Path::new(target).exists(), "{target} was written");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of plain characters")
}

fn names(path: &Path) -> Vec<String> {
    let data = fs::read(path).unwrap();
    let library = Library::parse(&data).unwrap();
    library.functions().map(|function| function.unwrap().shown_name()).collect()
}

#[test]
fn yaml_and_back_is_the_same_file() {
    let folder = folder("yaml");
    for name in ["linker_1_2_7", "legacy_1_2_5", "sources_hsrd", "dynamic_library", "empty_118"] {
        let original = fixture(&format!("metallib/{name}.metallib"));
        let (yaml, back) = (folder.join(format!("{name}.yaml")), folder.join(format!("{name}.metallib")));
        succeeds(&["to-yaml", text(&original), "-o", text(&yaml)]);
        succeeds(&["from-yaml", text(&yaml), "-o", text(&back)]);
        assert!(fs::read(&back).unwrap() == fs::read(&original).unwrap(), "{name}");

        let modules = folder.join(name);
        succeeds(&["to-yaml", text(&original), "-o", text(&yaml), "--modules", text(&modules), "--force"]);
        succeeds(&["from-yaml", text(&yaml), "-o", text(&back), "--force"]);
        assert!(fs::read(&back).unwrap() == fs::read(&original).unwrap(), "{name} with modules beside");
    }
}

#[test]
fn edits() {
    let folder = folder("edit");
    let library = fixture("metallib/vertex_fragment.metallib");
    let original = names(&library);
    let (first, second) = (original[0].as_str(), original[1].as_str());
    let out = folder.join("out.metallib");
    let edited = |options: &[&str]| {
        succeeds(&[&["edit", text(&library), "-o", text(&out), "--force"], options].concat());
        assert_eq!(unshade(&["verify", "--strict", text(&out)]).status.code(), Some(0), "{options:?}");
        names(&out)
    };
    assert_eq!(edited(&[]), original);
    assert!(fs::read(&out).unwrap() == fs::read(&library).unwrap(), "without an edit nothing changes");
    assert_eq!(edited(&["--keep", first]), [first]);
    assert_eq!(edited(&["--remove", "#0"]), original[1..]);
    assert_eq!(edited(&["--rename", &format!("{second}=other"), "--keep", second]), ["other"]);
    for what in ["debug", "reflection", "private", "sources"] {
        assert_eq!(edited(&["--strip", what]), original);
    }
    assert_eq!(edited(&["--os", "ios-17.0"]), original);
    let target = Library::parse(&fs::read(&out).unwrap()).unwrap().header().target();
    assert_eq!(target, "iOS 17.0");
    let both = edited(&["--merge", text(&fixture("metallib/linker_1_2_7.metallib"))]);
    assert!(both.len() > original.len() && both.starts_with(&original));
    let other = fs::read(fixture("metallib/linker_1_2_7.metallib")).unwrap();
    let inside = folder.join("inside.bin");
    fs::write(&inside, [&[1; 100][..], &other, b"and more"].concat()).unwrap();
    assert_eq!(edited(&["--merge", text(&inside)]), both, "a library that is inside of another file");
}

#[test]
fn edits_that_can_not_be_done_write_nothing() {
    let folder = folder("refused");
    let library = fixture("metallib/vertex_fragment.metallib");
    let original = names(&library);
    let out = folder.join("out.metallib");
    let fails = |options: &[&str], expected: &str| {
        fails(&[&["edit", text(&library), "-o", text(&out)], options].concat(), expected);
    };
    fails(&["--keep", "nobody"], "no function nobody");
    fails(&["--rename", &format!("{}={}", original[0], original[1])], "another function is already named");
    fails(&["--rename", "#0"], "OLD=NEW");
    fails(&["--merge", text(&library)], "both libraries have a function");
    fails(&["--install-name", "x"], "have no install name");
    fails(&["--order", "DXIL"], "--order is for DXContainers");
    fails(&["--strip", "root-signature"], "for DXContainers");
    fails(&["--os", "windows-11"], "windows");
    let other = text(&fixture("air/kernel.bc")).to_owned();
    fails(&["--module", &format!("#0={other}")], "module has no function");
    let container = fixture("dxcontainer/compute.dxbc");
    let arguments = ["edit", text(&container), "-o", text(&out), "--keep", "main"];
    self::fails(&arguments, "--keep is for Metal libraries");
}

#[test]
fn builds_from_modules_and_from_manifests() {
    let folder = folder("build");
    let (kernel, vertex) = (fixture("air/kernel.bc"), fixture("air/vertex.bc"));
    let out = folder.join("modules.metallib");
    succeeds(&["build", "metallib", text(&kernel), text(&vertex), "--os", "macos-14.0", "-o", text(&out)]);
    assert_eq!(names(&out), ["scale", "corner"]);
    assert_eq!(unshade(&["verify", "--strict", text(&out)]).status.code(), Some(0));

    let manifest = folder.join("manifest.yaml");
    let source = folder.join("scale.metal");
    fs::write(&source, "kernel void scale() {}\n").unwrap();
    fs::write(
        &manifest,
        format!(
            "Platform: macOS\nOS: 14.0\nFunctions:\n  - File: '{}'\n    Source: 0\n    Location:\n      Line: 1\n      \
             Path: scale.metal\n  - File: '{}'\n    Attributes: none\nExtension:\n  - Section: HSRD\n    \
             LinkCommand: unshade\n    WorkingDirectory: '/'\n    Archives:\n      - Id: '0'\n        Files:\n          \
             - Path: /scale.metal\n            File: scale.metal\n          - Path: metal-options.txt\n            \
             Text: '-O2'\n",
            text(&kernel),
            text(&vertex)
        ),
    )
    .unwrap();
    let built = folder.join("manifest.metallib");
    succeeds(&["build", "metallib", text(&manifest), "-o", text(&built)]);
    assert_eq!(names(&built), ["scale", "corner"]);
    // The manifest leaves out the attributes of the vertex function.
    let verdict = unshade(&["verify", text(&built)]);
    assert_eq!(verdict.status.code(), Some(1));
    let verdict = String::from_utf8_lossy(&verdict.stdout).into_owned();
    assert!(
        verdict.contains("VATT has another number of entries") && verdict.contains("1 error in"),
        "{verdict}"
    );
    let unpacked = folder.join("unpacked");
    succeeds(&["extract", text(&built), "-o", text(&unpacked), "--only", "sources"]);
    let data = fs::read(&built).unwrap();
    let library = Library::parse(&data).unwrap();
    let corner = library.function(1).unwrap();
    assert!(library.public_metadata(&corner).unwrap().unwrap().vertex_attributes().unwrap().is_empty());
}

#[test]
fn faults_of_manifests_have_file_and_line() {
    let folder = folder("manifest");
    let kernel = fixture("air/kernel.bc");
    let kernel = text(&kernel);
    let head = "Platform: macOS\nOS: 14.0\nFunctions:\n";
    let manifest = folder.join("manifest.yaml");
    let out = folder.join("out.metallib");
    for (body, expected) in [
        (
            format!("{head}  - File: '{kernel}'\n  - File: '{kernel}'\n"),
            "line 5, column 5: duplicate function",
        ),
        (format!("{head}  - File: nothing.air\n"), "line 4, column 11"),
        (format!("{head}  - Module: 3\n"), "line 4, column 5: no such module"),
        (format!("{head}  - File: '{kernel}'\n    Reflection: 2\n"), "no such reflection"),
        (format!("{head}  - File: '{kernel}'\n    Typ: kernel\n"), "line 5, column 10: unknown key `Typ`"),
        (format!("{head}  - File: '{kernel}'\n    Type: colonel\n"), "line 5, column 11"),
        (format!("{head}  - Name: a\n"), "one of the keys `File` and `Module`"),
        ("Platform: macOS\nOS: 14.300\n".into(), "line 2, column 5"),
        ("Functions:\n".into(), "missing keys: either `Platform` and `OS`, or `Version`"),
        ("Platform: macOS\nPlatform: iOS\nOS: 14.0\n".into(), "line 2"),
    ] {
        fs::write(&manifest, &body).unwrap();
        fails(&["build", "metallib", text(&manifest), "-o", text(&out)], expected);
        let output = unshade(&["build", "metallib", text(&manifest), "-o", text(&out)]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("manifest.yaml"), "{body}");
    }
}

/// An `ar` archive as `metal-ar` writes it.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in members {
        bytes.extend(
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, data.len())
                .bytes(),
        );
        bytes.extend_from_slice(data);
        bytes.extend((data.len() % 2 == 1).then_some(b'\n'));
    }
    bytes
}

#[test]
fn archives_of_modules() {
    let folder = folder("archive");
    let modules = ["kernel", "vertex"].map(|name| fixture(&format!("air/{name}.bc")));
    let [kernel, vertex] = modules.each_ref().map(|path| fs::read(path).unwrap());
    let shaders = folder.join("shaders.metalar");
    fs::write(&shaders, archive(&[("kernel.air", &kernel), ("vertex.air", &vertex)])).unwrap();
    let shown = |arguments: &[&str]| {
        succeeds(arguments);
        String::from_utf8(unshade(arguments).stdout).unwrap()
    };
    let list = shown(&["list", text(&shaders)]);
    assert!(list.contains("shaders.metalar!kernel.air") && list.contains("corner"), "{list}");
    let kernels = shown(&["list", text(&shaders), "--type", "kernel"]);
    assert!(kernels.contains("scale") && !kernels.contains("corner"), "{kernels}");
    let member = format!("{}!vertex.air", text(&shaders));
    assert!(shown(&["show", &member, "corner"]).contains("float4 position [[attribute(0)]];"));
    let check = shown(&["check", text(&shaders)]);
    assert_eq!(check.matches("loads on macOS 14.0").count(), 2, "{check}");

    let (all, both) = (folder.join("all.metallib"), folder.join("both.metallib"));
    succeeds(&["build", "metallib", text(&shaders), "-o", text(&all)]);
    succeeds(&["build", "metallib", text(&modules[0]), text(&modules[1]), "-o", text(&both)]);
    assert_eq!(names(&all), ["scale", "corner"]);
    assert!(fs::read(&all).unwrap() == fs::read(&both).unwrap(), "an archive is its modules");
    let target = Library::parse(&fs::read(&all).unwrap()).unwrap().header().target();
    assert_eq!(target, "macOS 14.0");
    let out = folder.join("refused.metallib");
    fails(&["build", "metallib", text(&shaders), &member, "-o", text(&out)], "two functions of the name");
    fails(&["build", "metallib", text(&all), "-o", text(&out)], "only modules become a library");
}

/// No rule is known for bitcode that is not AIR.
#[test]
fn modules_that_are_no_air_are_not_checked() {
    let folder = folder("no_air");
    let module = folder.join("module.bc");
    let source = folder.join("module.ll");
    fs::write(&source, "target triple = \"x86_64-unknown-linux-gnu\"\n\ndefine void @f() {\n  ret void\n}\n")
        .unwrap();
    succeeds(&["asm", text(&source), "-o", text(&module)]);
    let output = unshade(&["check", text(&module)]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && stderr.contains("no AIR in it"), "{stderr}");
}

/// Debug information of modules is in the companion, and a library that was edited since is not joined.
#[test]
fn symbols_of_modules() {
    let folder = folder("symbols");
    let path = |name: &str| folder.join(name);
    let (whole, small, symbols) = (path("whole.metallib"), path("small.metallib"), path("small.metallibsym"));
    let module = fixture("air/traced.bc");
    succeeds(&["build", "metallib", text(&module), "-o", text(&whole)]);
    let split = ["--split-symbols", text(&symbols), "--strip-debug", "-o", text(&small)];
    succeeds(&[&["edit", text(&whole)], &split[..]].concat());
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&small) < size(&whole) && size(&symbols) == size(&whole));
    for file in [&small, &symbols] {
        assert_eq!(unshade(&["verify", "--strict", text(file)]).status.code(), Some(0));
    }
    let joined = path("joined.metallib");
    succeeds(&["edit", text(&small), "--join-symbols", text(&symbols), "-o", text(&joined)]);
    assert!(fs::read(&joined).unwrap() == fs::read(&whole).unwrap());

    let other = path("other.metallib");
    let changed = format!("traced={}", text(&path("changed.bc")));
    succeeds(&["edit", text(&module), "--patch", "168:op0=65", "-o", text(&path("changed.bc"))]);
    succeeds(&["edit", text(&small), "--module", &changed, "--keep-uuid", "-o", text(&other)]);
    let out = path("refused.metallib");
    let join = ["edit", text(&other), "--join-symbols", text(&symbols), "-o", text(&out)];
    fails(&join, "differs in more than debug information");
    let join = ["edit", text(&small), "--split-symbols", text(&out), "--keep", "traced", "-o", text(&out)];
    fails(&join, "cannot be used with");
}
