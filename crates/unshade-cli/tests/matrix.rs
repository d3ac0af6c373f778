//! Tests every verb on every format: it works, or states in one sentence why it does not apply.
//!
//! The table in `docs/verbs.md` is generated from the contract; `BLESS=1` rewrites it. `examples/made_up` is the program
//! with one more format: one file, and one line that registers it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use unshade::program::{FORMATS, Format, Verb, refusal};

/// A file of each format, its path below the fixtures and a function in it.
const FILES: [(&str, &str, &str); 8] = [
    ("Metal library", "metallib/vertex_fragment.metallib", "#0"),
    ("Metal universal library", "metallib/universal_air.metallib", "#0"),
    ("DXContainer", "dxcontainer/compute.dxbc", "main"),
    ("Direct3D 9 shader", "dxcontainer/../direct3d9", "main"),
    // Its first item is PTX.
    ("CUDA fat binary", "nvidia/options_11_2.fatbin", "#1"),
    ("cubin", "nvidia/kernels/sm_35/axpy.cubin", "axpy"),
    ("PTX", "nvidia/add.ptx", "#0"),
    ("LLVM bitcode", "air/reduce.bc", "reduce"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("matrix-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// `mov oC0, c0` of a pixel shader.
const DIRECT3D9: [u32; 5] = [0xffff_0200, 0x0200_0001, 0x800f_0800, 0xa0e4_0000, 0xffff];

fn fixture(format: &Format, folder: &Path) -> (PathBuf, &'static str) {
    let (_, path, function) =
        FILES.iter().find(|(name, ..)| *name == format.format.name()).expect("a fixture");
    if format.format.name() == "Direct3D 9 shader" {
        let path = folder.join("shader.cso");
        fs::write(&path, DIRECT3D9.map(u32::to_le_bytes).concat()).unwrap();
        return (path, function);
    }
    (root().join("tests/fixtures").join(path), function)
}

/// The command line of a verb.
fn arguments(verb: Verb, file: &str, function: &str, folder: &Path) -> Vec<String> {
    let out = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let listing = out("listing.txt");
    fs::write(&listing, "ps_5_0\nret\n").unwrap();
    let sass = out("listing.sass");
    fs::write(&sass, "\tcode for sm_35\n").unwrap();
    let words: Vec<String> = match verb {
        Verb::Info => vec![file.into()],
        Verb::List | Verb::Show | Verb::Symbols | Verb::Decompile => {
            vec![verb.name().into(), file.into(), function.into()]
        }
        Verb::Disassemble => vec!["dis".into(), file.into(), function.into()],
        Verb::Statistics => vec!["dis".into(), "--stats".into(), file.into(), function.into()],
        Verb::ControlFlow => vec!["dis".into(), "--cfg".into(), "dot".into(), file.into(), function.into()],
        Verb::Liveness => vec!["dis".into(), "--live".into(), file.into(), function.into()],
        Verb::CodeAsJson => vec!["dis".into(), "--json".into(), file.into(), function.into()],
        Verb::Run | Verb::Sanitize => vec![verb.name().into(), file.into(), function.into()],
        Verb::AssembleInto => {
            let mut words = vec!["asm".into(), listing, "--into".into(), file.into()];
            if file.ends_with(".cubin") {
                words[1] = sass;
            } else if file.ends_with(".metallib") {
                words[1] = out("listing.ll");
                let dis = ["dis", "--raw", "--force", file, function, "-o", &words[1]].map(String::from);
                run(Path::new(env!("CARGO_BIN_EXE_unshade")), &dis);
                words.extend(["--function".into(), function.into()]);
            }
            words.extend(["-o".into(), out("assembled")]);
            words
        }
        Verb::Ghidra => vec!["ghidra".into(), "--import".into(), file.into(), "-o".into(), out("ghidra")],
        Verb::Extract => vec!["extract".into(), file.into(), "-o".into(), out("extracted")],
        Verb::Verify | Verb::Check | Verb::Dump | Verb::Scan | Verb::Survey => {
            vec![verb.name().into(), file.into()]
        }
        Verb::Diff => vec!["diff".into(), file.into(), file.into()],
        Verb::Explore => vec!["explore".into(), "--json".into(), file.into()],
        Verb::Html => vec!["html".into(), file.into(), "-o".into(), out("page.html")],
        Verb::ToYaml => vec!["to-yaml".into(), file.into()],
        Verb::Link => {
            let kind = if file.ends_with(".bc") { vec!["--dynamic".into()] } else { Vec::new() };
            [vec!["link".into(), file.into(), "-o".into(), out("linked.metallib")], kind].concat()
        }
        Verb::Edit => vec!["edit".into(), file.into(), "-o".into(), out("edited")],
        Verb::Sign => vec!["sign".into(), file.into(), "-o".into(), out("signed")],
    };
    words
}

fn run(program: &Path, arguments: &[String]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("NO_COLOR", "1").stdin(std::process::Stdio::null());
    command.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a verb on a format, and returns the problem with the outcome, if any.
fn fault(
    program: &Path,
    format: &Format,
    verb: Verb,
    file: &str,
    function: &str,
    folder: &Path,
) -> Option<String> {
    let arguments = arguments(verb, file, function, folder);
    let output = run(program, &arguments);
    let (stdout, stderr, code) = (text(&output.stdout), text(&output.stderr), output.status.code());
    let fault =
        |what: &str| Some(format!("{}: {what}\n  {arguments:?}\n  {stdout}\n  {stderr}", verb.name()));
    if code.is_none() || code == Some(101) || stderr.contains("panicked") {
        return fault("panics");
    }
    match refusal(format, verb) {
        Some(reason) if code != Some(2) => fault(&format!("exit {code:?} instead of 2: {reason}")),
        Some(reason) if !stdout.is_empty() => fault(&format!("prints something: {reason}")),
        Some(reason) if !stderr.contains(reason) => fault(&format!("the wrong message: {reason}")),
        Some(_) => None,
        None if code == Some(2) && !matches!(verb, Verb::Run | Verb::Sanitize) => fault("exit 2"),
        // `run` and `sanitize` need arguments for the kernel, `asm --into` a listing of the same functions.
        None if code == Some(1) && !matches!(verb, Verb::Run | Verb::Sanitize | Verb::AssembleInto) => {
            fault("exit 1")
        }
        None => None,
    }
}

#[test]
fn every_verb_on_every_format() {
    let folder = folder("all");
    let program = Path::new(env!("CARGO_BIN_EXE_unshade"));
    let mut faults = Vec::new();
    for (number, format) in FORMATS.iter().enumerate() {
        for verb in Verb::ALL {
            let folder = folder.join(format!("{number}-{}", verb.name().replace(' ', "")));
            fs::create_dir_all(&folder).unwrap();
            let (file, function) = fixture(format, &folder);
            let found = fault(program, format, verb, file.to_str().unwrap(), function, &folder);
            faults.extend(found.map(|fault| format!("{}: {fault}", format.format)));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// A missing name: exit status 1, and only the message.
#[test]
fn a_name_that_is_not_there() {
    let folder = folder("names");
    let program = Path::new(env!("CARGO_BIN_EXE_unshade"));
    let verbs = [
        Verb::List,
        Verb::Show,
        Verb::Symbols,
        Verb::Disassemble,
        Verb::Statistics,
        Verb::ControlFlow,
        Verb::Liveness,
        Verb::CodeAsJson,
        Verb::Decompile,
        Verb::Extract,
    ];
    for format in FORMATS {
        for verb in verbs.into_iter().filter(|verb| refusal(format, *verb).is_none()) {
            let (file, _) = fixture(format, &folder);
            let mut arguments = arguments(verb, file.to_str().unwrap(), "no_such_function", &folder);
            if verb == Verb::Extract {
                arguments.insert(2, "no_such_function".into());
            }
            let output = run(program, &arguments);
            let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
            assert!(
                stdout.is_empty() && stderr.contains("no function no_such_function"),
                "{arguments:?}: {stdout}{stderr}"
            );
        }
    }
}

/// `programs` of a file with several formats come in the order of the file.
#[test]
fn programs_are_in_the_order_of_the_file() {
    let folder = folder("order");
    let read = |path: &str| fs::read(root().join("tests/fixtures").join(path)).unwrap();
    let file = folder.join("several.bin");
    let parts =
        ["dxcontainer/compute.dxbc", "nvidia/kernels/sm_35/axpy.cubin", "metallib/linker_1_2_7.metallib"];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| [vec![0; 64], read(part)].concat()).collect();
    fs::write(&file, bytes).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_unshade"));
    for verb in [&[][..], &["list"], &["verify"]] {
        let mut arguments: Vec<String> = verb.iter().map(|word| (*word).to_owned()).collect();
        arguments.extend([file.to_str().unwrap().to_owned(), "--json".to_owned()]);
        let json: serde_json::Value = serde_json::from_slice(&run(program, &arguments).stdout).unwrap();
        let formats: Vec<&str> =
            json["programs"].as_array().unwrap().iter().map(|one| one["format"].as_str().unwrap()).collect();
        assert_eq!(formats, ["DXContainer", "cubin", "Metal library"], "{arguments:?}");
    }
}

#[test]
fn one_more_format_is_one_file_and_one_line() {
    let program = Path::new(env!("CARGO_BIN_EXE_unshade")).with_file_name("examples");
    let program = program.join(format!("made_up{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "`cargo test` builds {}; `cargo build --examples` does, too",
        program.display()
    );
    let main = fs::read_to_string(root().join("crates/unshade-cli/examples/made_up/main.rs")).unwrap();
    assert_eq!(main.matches("register(").count(), 1);
    let folder = folder("toy");
    let file = folder.join("box.toy");
    let mut bytes = b"TOYS\0\0\0\0\x04ball\x03abc\x05train\x02de".to_vec();
    let size = u32::try_from(bytes.len()).unwrap();
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    fs::write(&file, &bytes).unwrap();
    let path = file.to_str().unwrap();
    let runs = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let output = run(&program, &arguments);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, stdout, _) = runs(&[path]);
    assert!(code == Some(0) && stdout.contains("toy") && stdout.contains("functions   2"), "{stdout}");
    let (code, stdout, _) = runs(&["list", path]);
    assert!(code == Some(0) && stdout.contains("ball") && stdout.contains("train"), "{stdout}");
    let (code, stdout, _) = runs(&["show", path, "train"]);
    assert!(code == Some(0) && stdout.contains("2 bytes") && !stdout.contains("ball"), "{stdout}");
    let (code, _, stderr) = runs(&["show", path, "trian"]);
    assert!(code == Some(1) && stderr.contains("did you mean train?"), "{stderr}");
    let (code, stdout, _) = runs(&["verify", path]);
    assert!(code == Some(0) && stdout.contains("sound"), "{stdout}");
    let (code, stdout, _) = runs(&["dump", path]);
    assert!(code == Some(0) && stdout.contains("function \"ball\""), "{stdout}");
    let (code, stdout, _) = runs(&["scan", path]);
    assert!(code == Some(0) && stdout.contains("toy, toys, 2 functions"), "{stdout}");
    let (code, stdout, _) = runs(&["list", path, "--json"]);
    assert!(code == Some(0) && stdout.contains("\"name\": \"ball\""), "{stdout}");
    let (code, ..) = runs(&["extract", path, "-o", folder.join("out").to_str().unwrap()]);
    assert!(code == Some(0) && fs::read(folder.join("out/modules/ball.bin")).unwrap() == b"abc");
    let (code, stdout, stderr) = runs(&["dis", path]);
    assert!(
        code == Some(2) && stdout.is_empty() && stderr.contains("nobody knows the instructions of toys"),
        "{stderr}"
    );
    let (code, ..) = runs(&["diff", path, path]);
    assert_eq!(code, Some(0));
    // It is found inside other files too.
    let inside = folder.join("other.bin");
    fs::write(&inside, [&[7; 100][..], &bytes, &[9; 50]].concat()).unwrap();
    let (code, stdout, _) = runs(&["scan", inside.to_str().unwrap()]);
    assert!(code == Some(0) && stdout.contains("@0x64"), "{stdout}");
}

/// `docs/verbs.md` agrees with the contract.
#[test]
fn the_documented_table_is_that_of_the_contract() {
    let path = root().join("docs/verbs.md");
    let documented = fs::read_to_string(&path).unwrap_or_default();
    let generated = table();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, generated).unwrap();
    } else {
        assert!(documented == generated, "docs/verbs.md is stale (BLESS=1 rewrites it)");
    }
}

fn table() -> String {
    let mut text = String::from(
        "# Verbs and formats\n\n\
         Generated from the formats' own descriptions in `crates/unshade/src/program` by `crates/unshade-cli/tests/matrix.rs`, \
         which also runs every cell.\n\n\
         A verb works on a format (✓), or exits with status 2 and says why not. A name that selects nothing exits with status 1 \
         and suggests the nearest one (`run` and `sanitize` exit with 2: their 1 is a fault of the kernel).\n\n| |",
    );
    for format in FORMATS {
        let _ = write!(text, " {} |", format.format);
    }
    let _ = write!(text, "\n|---|{}\n", "---|".repeat(FORMATS.len()));
    let mut notes: Vec<&str> = Vec::new();
    for verb in Verb::ALL {
        let _ = write!(text, "| `{}` |", verb.name());
        for format in FORMATS {
            match refusal(format, verb) {
                None => text.push_str(" ✓ |"),
                Some(reason) => {
                    let place = notes.iter().position(|note| *note == reason).unwrap_or_else(|| {
                        notes.push(reason);
                        notes.len() - 1
                    });
                    let _ = write!(text, " ({}) |", place + 1);
                }
            }
        }
        text.push('\n');
    }
    text.push('\n');
    for (number, note) in notes.iter().enumerate() {
        let _ = writeln!(text, "{}. {}{}.", number + 1, note[..1].to_uppercase(), &note[1..]);
    }
    text
}
