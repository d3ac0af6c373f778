//! Tests edge cases of the command line that break scripts: output destinations, names that are not UTF-8, missing
//! arguments.

use std::collections::BTreeSet;
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
    // The number of the chip is in the flags of the ELF header.
    let mut bytes = fs::read(fixture("nvidia/switches_sm_50.cubin")).unwrap();
    bytes[0x30] = 21;
    fs::write(folder.join("sm_21.cubin"), bytes).unwrap();
    let cubin = String::from("sm_21.cubin");
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

/// Every verb returns the exit statuses that its help states: 0 for success, 1 for a finding, 2 for misuse and for inputs that
/// can't be read.
#[test]
fn every_verb_returns_the_documented_statuses() {
    let folder = folder("statuses");
    let copy = |name: &str, to: &str| fs::copy(fixture(name), folder.join(to)).unwrap();
    copy("metallib/vertex_fragment.metallib", "m.metallib");
    copy("metallib/linker_1_2_7.metallib", "other.metallib");
    copy("dxcontainer/compute.dxbc", "d.dxbc");
    copy("nvidia/kernels/sm_35/axpy.cubin", "c.cubin");
    copy("air/reduce.bc", "r.bc");
    let whole = fs::read(folder.join("m.metallib")).unwrap();
    fs::write(folder.join("cut.metallib"), &whole[..300]).unwrap();
    fs::create_dir(folder.join("nothing")).unwrap();
    let texts: [(&str, &str); 7] = [
        ("text", "hello\n"),
        ("empty", ""),
        ("good.sass", "MOV R1, R2;\n"),
        ("bad.sass", "FROB R1;\n"),
        ("good.asm", "ps_4_0\nret\n"),
        ("bad.asm", "ps_4_0\nfrob r0\n"),
        ("bad.yaml", "--- !dxcontainer\nHeader: 1\n"),
    ];
    for (name, text) in texts {
        fs::write(folder.join(name), text).unwrap();
    }
    for (file, yaml) in [("d.dxbc", "d.yaml"), ("m.metallib", "m.yaml")] {
        assert_eq!(run_in(&folder, ["to-yaml", file, "-o", yaml]).status.code(), Some(0));
    }
    let mut verbs = BTreeSet::new();
    for (number, (status, line)) in STATUSES.iter().enumerate() {
        let output = format!("out{number}");
        let arguments: Vec<&str> =
            line.split(' ').map(|word| if word == "OUT" { output.as_str() } else { word }).collect();
        verbs.insert((line.split(' ').next().unwrap(), *status));
        let result = run_in(&folder, &arguments);
        let (stdout, stderr) = (String::from_utf8_lossy(&result.stdout), stderr(&result));
        assert_eq!(result.status.code(), Some(*status), "unshade {line}\n{stderr}");
        let is_explained = *status == 0 || !stderr.is_empty() || !stdout.is_empty();
        assert!(is_explained, "unshade {line}: no message");
        assert!(*status == 0 || !line.contains("OUT") || !folder.join(&output).is_file(), "unshade {line}");
    }
    // Each status that the help of a verb states has a row.
    let help = String::from_utf8(run_in(&folder, ["--help"]).stdout).unwrap();
    let commands = help.split("Commands:\n").nth(1).unwrap().lines();
    let names = commands.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    let mut count = 0;
    for name in names.map(|line| line.split_whitespace().next().unwrap()).filter(|name| *name != "help") {
        let help = String::from_utf8(run_in(&folder, [name, "--help"]).stdout).unwrap();
        let statuses =
            help.split("Exit status:\n").nth(1).unwrap_or_else(|| panic!("{name}: no exit status"));
        for status in 0..3 {
            let is_stated = statuses.contains(&format!("  {status}  "));
            assert_eq!(verbs.contains(&(name, status)), is_stated, "{name}: {status}");
        }
        count += 1;
    }
    assert_eq!(count, 29);
}

/// Command lines and their exit statuses. `OUT` is a path that is not there.
const STATUSES: &[(i32, &str)] = &[
    (0, "info m.metallib"),
    (1, "info text"),
    (1, "info empty"),
    (2, "info missing"),
    (2, "info nothing"),
    (2, "info m.metallib missing"),
    (2, "info"),
    (0, "list m.metallib"),
    (1, "list text"),
    (1, "list cut.metallib"),
    (1, "list m.metallib no_such"),
    (1, "list m.metallib --type kernel"),
    (2, "list m.metallib --type no_such"),
    (2, "list m.metallib /(/"),
    (2, "list missing"),
    (2, "list --no-such-option m.metallib"),
    (0, "show m.metallib"),
    (1, "show text"),
    (1, "show m.metallib #99"),
    (2, "show missing"),
    (0, "explore --json m.metallib"),
    (1, "explore --json nothing"),
    (2, "explore --json missing"),
    (0, "html m.metallib -o OUT"),
    (1, "html text -o OUT"),
    (1, "html nothing -o OUT"),
    (1, "html m.metallib missing -o OUT"),
    (2, "html m.metallib -o text"),
    (0, "dis m.metallib"),
    (1, "dis text"),
    (1, "dis cut.metallib"),
    (1, "dis nothing"),
    (1, "dis --stats m.metallib no_such"),
    (2, "dis missing"),
    (2, "dis --words 0 --sm 99"),
    (0, "decompile c.cubin"),
    (1, "decompile text"),
    (1, "decompile c.cubin no_such"),
    (0, "decompile m.metallib"),
    (2, "decompile missing"),
    (0, "run c.cubin axpy --arg 1.0 --arg f32[1] --arg f32[1]"),
    (1, "run c.cubin axpy --arg 1.0 --arg 0 --arg 0"),
    (1, "run c.cubin axpy --steps 1 --arg 1.0 --arg f32[1] --arg f32[1]"),
    (2, "run c.cubin axpy"),
    (1, "run c.cubin no_such"),
    (2, "run missing axpy"),
    (0, "sanitize c.cubin axpy --arg 1.0 --arg f32[1] --arg f32[1]"),
    (1, "sanitize c.cubin axpy --arg 1.0 --arg 0 --arg 0"),
    (1, "sanitize c.cubin axpy --steps 1 --arg 1.0 --arg f32[1] --arg f32[1]"),
    (2, "sanitize c.cubin axpy"),
    (2, "sanitize c.cubin axpy --tool no_such"),
    (1, "sanitize c.cubin no_such"),
    (2, "sanitize missing axpy"),
    (0, "asm --sm 35 good.sass"),
    (0, "asm good.asm -o OUT"),
    (1, "asm --sm 35 bad.sass -o OUT"),
    (1, "asm --sm 35 empty -o OUT"),
    (1, "asm bad.asm -o OUT"),
    (2, "asm good.sass"),
    (2, "asm --sm 99 good.sass"),
    (2, "asm --sm 35 missing"),
    (0, "isa ISCADD"),
    (1, "isa FROB"),
    (2, "isa ISCADD FADD"),
    (0, "ghidra -o OUT"),
    (0, "ghidra --import c.cubin -o OUT"),
    (1, "ghidra --import text -o OUT"),
    (1, "ghidra --import c.cubin no_such -o OUT"),
    (2, "ghidra --import d.dxbc -o OUT"),
    (2, "ghidra -o text"),
    (0, "extract m.metallib -o OUT"),
    (1, "extract text -o OUT"),
    (1, "extract cut.metallib -o OUT"),
    (2, "extract missing -o OUT"),
    (0, "nm m.metallib"),
    (1, "nm text"),
    (2, "nm missing"),
    (0, "link m.metallib -o OUT"),
    (1, "link r.bc -o OUT"),
    (2, "link missing -o OUT"),
    (0, "verify m.metallib"),
    (1, "verify text"),
    (1, "verify cut.metallib"),
    (2, "verify m.metallib missing"),
    (0, "check m.metallib"),
    (1, "check text"),
    (1, "check m.metallib --os macos-10.13"),
    (2, "check m.metallib --os beos-1"),
    (2, "check c.cubin"),
    (0, "diff m.metallib m.metallib"),
    (1, "diff m.metallib other.metallib"),
    (1, "diff m.metallib text"),
    (2, "diff m.metallib d.dxbc"),
    (2, "diff m.metallib missing"),
    (0, "dump m.metallib"),
    (1, "dump text"),
    (2, "dump missing"),
    (2, "dump m.metallib --range 9..8"),
    (0, "scan m.metallib"),
    (1, "scan text"),
    (1, "scan nothing"),
    (2, "scan m.metallib missing"),
    (0, "survey m.metallib"),
    (1, "survey text"),
    (2, "survey m.metallib missing"),
    (0, "to-yaml m.metallib"),
    (1, "to-yaml text -o OUT"),
    (2, "to-yaml c.cubin -o OUT"),
    (2, "to-yaml m.metallib d.dxbc"),
    (0, "from-yaml d.yaml -o OUT"),
    (0, "from-yaml m.yaml -o OUT"),
    (2, "from-yaml bad.yaml -o OUT"),
    (2, "from-yaml empty -o OUT"),
    (2, "from-yaml missing -o OUT"),
    (0, "sign d.dxbc -o OUT"),
    (1, "sign text -o OUT"),
    (2, "sign m.metallib -o OUT"),
    (2, "sign d.dxbc -o text"),
    (2, "sign d.dxbc"),
    (0, "edit m.metallib --remove #0 -o OUT"),
    (0, "edit d.dxbc --strip debug -o OUT"),
    (1, "edit text -o OUT"),
    (1, "edit m.metallib --remove no_such -o OUT"),
    (1, "edit m.metallib --keep no_such -o OUT"),
    (1, "edit m.metallib --rename no_such=new -o OUT"),
    (1, "edit m.metallib --merge text -o OUT"),
    (1, "edit d.dxbc --remove ABCD -o OUT"),
    (1, "edit d.dxbc --order ABCD -o OUT"),
    (2, "edit d.dxbc --remove ABC -o OUT"),
    (2, "edit m.metallib --set RTS0=text -o OUT"),
    (2, "edit m.metallib -o m.metallib"),
    (2, "edit missing -o OUT"),
    (0, "build metallib r.bc --os macos-14.0 -o OUT"),
    (0, "build dxcontainer SFI0=text -o OUT"),
    (0, "build metallib r.bc -o OUT"),
    (2, "build metallib r.bc text -o OUT"),
    (2, "build metallib missing --os macos-14.0 -o OUT"),
    (2, "build dxcontainer SFI0=missing -o OUT"),
    (2, "build no_such text -o OUT"),
    (0, "types"),
    (2, "types --format no_such"),
    (2, "types -o text"),
    (0, "completions bash"),
    (2, "completions no_such"),
    (0, "man -o OUT"),
    (2, "man"),
    (2, "man -o text"),
];

/// `asm` refuses a module that parses but is not valid, at the place of the instruction.
#[test]
fn asm_verifies_what_it_assembles() {
    let folder = folder("asm-verifies");
    let body = "\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 2\n  br label %b\nb:\n  ret i32 ";
    for (returned, message) in [("%x", "text.ll:7:3: error: "), ("3", "")] {
        fs::write(folder.join("text.ll"), format!("define i32 @f(i1 %c) {{{body}{returned}\n}}\n")).unwrap();
        let _ = fs::remove_file(folder.join("text.bc"));
        let result = run_in(&folder, ["asm", "text.ll", "-o", "text.bc"]);
        let is_valid = message.is_empty();
        assert_eq!(result.status.code(), Some(i32::from(!is_valid)), "{}", stderr(&result));
        assert!(stderr(&result).contains(message), "{}", stderr(&result));
        assert_eq!(folder.join("text.bc").exists(), is_valid);
    }
}
