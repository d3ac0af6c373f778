//! Tests the commands for DXContainers: YAML and back, signing, every kind of edit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use unshade::check_dxcontainer;
use unshade::core::Severity;
use unshade::dxcontainer::{Container, DxFile};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/dxcontainer").join(name)
}

/// Creates a folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dxcontainer-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn unshade(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unshade")).args(arguments).output().expect("the program runs")
}

fn succeeds(arguments: &[&str]) -> String {
    let output = unshade(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of plain characters")
}

#[test]
fn yaml_and_back_is_the_same_file() {
    let folder = folder("yaml");
    for name in ["pixel_1_6.dxbc", "work_graph.dxbc", "fxc_lib_5_0.dxbc", "sources.dxbc"] {
        for llvm in ["19", "22", "24"] {
            let (yaml, back) =
                (folder.join(format!("{name}.{llvm}.yaml")), folder.join(format!("{llvm}.{name}")));
            succeeds(&["to-yaml", text(&fixture(name)), "--llvm", llvm, "-o", text(&yaml)]);
            succeeds(&["from-yaml", text(&yaml), "-o", text(&back)]);
            assert!(fs::read(&back).unwrap() == fs::read(fixture(name)).unwrap(), "{name} {llvm}");
        }
    }
}

#[test]
fn every_edit_is_signed_and_leaves_the_other_parts_alone() {
    let folder = folder("edit");
    let note = folder.join("note.txt");
    fs::write(&note, b"odd").unwrap();
    let set = format!("SFI0={}", text(&note));
    let add = format!("ABCD={}", text(&note));
    let edits: [&[&str]; 7] = [
        &["--strip", "debug,reflection"],
        &["--strip", "root-signature,private"],
        &["--private", text(&note)],
        &["--set", &set],
        &["--add", &add],
        &["--remove", "HASH"],
        &["--order", "DXIL,PSV0"],
    ];
    for (number, edit) in edits.iter().enumerate() {
        for name in ["pixel_1_6.dxbc", "mesh.dxbc", "domain.dxbc", "view_id.dxbc"] {
            let out = folder.join(format!("{number}-{name}"));
            let input = fixture(name);
            let mut arguments = vec!["edit", text(&input), "-o", text(&out)];
            arguments.extend_from_slice(edit);
            succeeds(&arguments);
            let (before, after) = (fs::read(&input).unwrap(), fs::read(&out).unwrap());
            let container = Container::parse(&after).unwrap();
            assert_eq!(container.header().digest, container.computed_digest(), "{edit:?} {name}");
            let before = DxFile::parse(&before).unwrap();
            for part in DxFile::parse(&after).unwrap().parts {
                let touched = ["PRIV", "ABCD"].contains(&part.name.to_string().as_str())
                    || (edit[0] == "--set" && part.name.0 == *b"SFI0");
                assert!(touched || before.parts.contains(&part), "{edit:?} {name}: {}", part.name);
            }
        }
    }
}

#[test]
fn nothing_is_written_over_the_input() {
    let folder = folder("input");
    let file = folder.join("shader.dxbc");
    fs::copy(fixture("mesh.dxbc"), &file).unwrap();
    for arguments in [vec!["sign", text(&file)], vec!["edit", text(&file), "--strip", "debug"]] {
        let output = unshade(&[arguments, vec!["-o", text(&file), "--force"]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("is the input"));
    }
    assert!(fs::read(&file).unwrap() == fs::read(fixture("mesh.dxbc")).unwrap());
}

#[test]
fn a_container_is_built_from_parts_and_shown() {
    let folder = folder("build");
    let source = DxFile::parse(&fs::read(fixture("pixel_1_6.dxbc")).unwrap()).unwrap();
    let mut arguments = vec!["build".to_owned(), "dxcontainer".to_owned()];
    for part in &source.parts {
        let path = folder.join(part.name.to_string());
        fs::write(&path, part.data.write().unwrap()).unwrap();
        arguments.push(format!("{}={}", part.name, text(&path)));
    }
    let out = folder.join("built.dxbc");
    arguments.extend(["-o".to_owned(), text(&out).to_owned()]);
    succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    // The fixture is not signed, but the built file is.
    assert!(fs::read(&out).unwrap()[20..] == fs::read(fixture("pixel_1_6.dxbc")).unwrap()[20..]);
    let shown = succeeds(&["show", text(&out)]);
    assert!(shown.contains("ps_6_0 · DXIL 1.0") && shown.contains("SV_Target0"), "{shown}");
    assert!(succeeds(&["list", text(&out)]).contains("PSV0"));
    assert!(succeeds(&["verify", text(&out)]).contains("sound"));
}

#[test]
fn sources_come_out_of_a_program_database() {
    let folder = folder("pdb");
    succeeds(&["to-yaml", text(&fixture("program_database.pdb")), "-o", text(&folder.join("a.yaml"))]);
    assert!(fs::read_to_string(folder.join("a.yaml")).unwrap().contains("RootFlags"));
    succeeds(&["extract", text(&fixture("sources.dxbc")), "-o", text(&folder.join("out"))]);
    assert!(folder.join("out/sources/w/hlsl/hs.hlsl").exists());
}

#[test]
fn a_feature_that_the_module_does_not_need_is_found() {
    let mut file = DxFile::parse(&fs::read(fixture("pixel_1_6.dxbc")).unwrap()).unwrap();
    let faults = |bytes: &[u8]| -> Vec<&str> {
        let findings = check_dxcontainer(&Container::parse(bytes).unwrap());
        findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.rule)
            .collect()
    };
    assert!(faults(&file.write_signed().unwrap()).is_empty());
    file.set(*b"SFI0", &0xffu64.to_le_bytes());
    assert_eq!(faults(&file.write_signed().unwrap()), ["dx-features"]);
}

/// The 24 parts of the list in LLVM's page.
const LISTED_PARTS: [&[u8; 4]; 24] = [
    b"DXIL", b"HASH", b"ILDB", b"ILDN", b"ISG1", b"ISGN", b"OSG1", b"OSG5", b"OSGN", b"PCSG", b"PDBI",
    b"PRIV", b"PSG1", b"PSV0", b"RDAT", b"RDEF", b"RTS0", b"SFI0", b"SHDR", b"SHEX", b"DXBC", b"SRCI",
    b"STAT", b"VERS",
];

/// A container of a single `ret` in a part of this name: vs_4_0, three tokens.
fn token_program(name: [u8; 4]) -> DxFile {
    let tokens: Vec<u8> =
        [0x0001_0040u32, 3, 0x0100_003e].iter().flat_map(|token| token.to_le_bytes()).collect();
    let mut file = DxFile::default();
    file.set(name, &tokens);
    file
}

#[test]
fn every_listed_part_is_shown_by_what_it_is() {
    let folder = folder("parts");
    let (path, yaml, back) = (folder.join("all.dxbc"), folder.join("all.yaml"), folder.join("back.dxbc"));
    // One part of each name, from our own containers where they have one.
    let mut file = token_program(*b"DXBC");
    let mut own = Vec::new();
    for name in fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap().path()) {
        if name.extension().is_some_and(|extension| extension == "dxbc") {
            own.extend(DxFile::parse(&fs::read(name).unwrap()).unwrap().parts);
        }
    }
    for name in LISTED_PARTS {
        match own.iter().find(|part| part.name.0 == *name) {
            Some(part) if file.find(name).is_none() => file.parts.push(part.clone()),
            Some(_) => {}
            None if file.find(name).is_none() => file.set(*name, &[]),
            None => {}
        }
    }
    fs::write(&path, file.write_signed().unwrap()).unwrap();
    let listed = succeeds(&["list", text(&path)]);
    let shown = succeeds(&["show", text(&path)]);
    let dumped = String::from_utf8_lossy(&unshade(&["dump", text(&path)]).stdout).into_owned();
    for name in LISTED_PARTS {
        let name = String::from_utf8_lossy(name).into_owned();
        let line =
            listed.lines().find(|line| line.contains(&name)).unwrap_or_else(|| panic!("{name}: {listed}"));
        let what =
            unshade::dxcontainer::part::describe(unshade::core::FourCc(name.as_bytes().try_into().unwrap()));
        let what = what.unwrap_or_else(|| panic!("{name} is not described"));
        assert!(line.contains(what), "{line}");
        assert!(shown.contains(&name), "{name}: {shown}");
        assert!(dumped.contains(&format!("part {name}")) || dumped.contains(&name), "{name}: {dumped}");
    }
    succeeds(&["to-yaml", text(&path), "-o", text(&yaml)]);
    let document = fs::read_to_string(&yaml).unwrap();
    for name in LISTED_PARTS {
        let name = String::from_utf8_lossy(name);
        assert!(document.contains(&format!("Name:            {name}")), "{name}");
    }
    succeeds(&["from-yaml", text(&yaml), "-o", text(&back)]);
    assert!(fs::read(&back).unwrap() == fs::read(&path).unwrap());
}

#[test]
fn a_dxbc_part_is_disassembled_as_a_token_program() {
    let folder = folder("tokens");
    for name in [*b"SHDR", *b"SHEX", *b"DXBC"] {
        let path = folder.join(String::from_utf8_lossy(&name).into_owned());
        fs::write(&path, token_program(name).write_signed().unwrap()).unwrap();
        let listing = succeeds(&["dis", text(&path)]);
        assert!(listing.contains("vs_4_0") && listing.contains("ret"), "{listing}");
        assert!(succeeds(&["verify", text(&path)]).contains("sound"));
        assert!(succeeds(&["info", text(&path)]).contains("vs_4_0"));
        assert!(!succeeds(&["dump", text(&path)]).contains("unknown"));
    }
}

#[test]
fn text_is_assembled_into_containers() {
    let folder = folder("asm");
    let (listing, out, into) = (folder.join("a.ll"), folder.join("a.dxil"), folder.join("into.dxbc"));
    succeeds(&["dis", text(&fixture("compute.dxbc")), "-o", text(&listing)]);
    succeeds(&["asm", text(&listing), "-o", text(&out)]);
    assert!(succeeds(&["verify", text(&out)]).contains("sound"));
    assert!(succeeds(&["list", text(&out)]).contains("STAT"));
    // The names of resources are only in the reflection of the original.
    succeeds(&["asm", text(&listing), "--into", text(&fixture("compute.dxbc")), "-o", text(&into)]);
    // The program has other numbers of metadata kinds, so that its size, hash and digest differ.
    let shown = |file: &Path| {
        let text = succeeds(&["show", text(file)]);
        let same = |line: &&str| !["digest", "DXIL", "HASH"].iter().any(|word| line.contains(word));
        text.lines().filter(same).skip(1).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(shown(&into), shown(&fixture("compute.dxbc")));
    // Bitcode alone.
    let module = folder.join("a.bc");
    succeeds(&["asm", text(&listing), "-o", text(&module)]);
    assert!(fs::read(&module).unwrap().starts_with(b"BC\xC0\xDE"));
    let wrong = unshade(&["asm", text(&listing), "--into", text(&module), "-o", text(&folder.join("b.bc"))]);
    assert_eq!(wrong.status.code(), Some(2));
    // Faults have a place.
    fs::write(&listing, "target triple = \"dxil-ms-dx\"\ndefine void @main() {\n  frob\n}\n").unwrap();
    let fault = unshade(&["asm", text(&listing), "-o", text(&out), "--force"]);
    assert_eq!(fault.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&fault.stderr).contains("a.ll:3:3: error: unknown instruction"));
}
