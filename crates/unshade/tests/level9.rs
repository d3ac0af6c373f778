//! Containers for feature level 9: listed as FXC lists them, and their programs put back.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use unshade::core::Diagnostics;
use unshade::disassembly::{TokenProgram, TokenSource, token_programs};
use unshade::dxbc::d3d9;
use unshade::dxbc_build::put_level9;
use unshade::dxcontainer::{Container, DxFile};
use unshade::fxc_listing::print_fxc;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/level9");
    let entries = std::fs::read_dir(folder).expect("the fixtures");
    let paths = entries.map(|entry| entry.expect("a fixture").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "dxbc")).collect()
}

#[test]
fn listings_are_those_of_fxc() {
    for path in fixtures() {
        let data = std::fs::read(&path).expect("a container");
        let container = Container::parse(&data).expect("a container");
        let (mut ours, mut diagnostics) = (String::new(), Diagnostics::new());
        print_fxc(&container, &mut ours, &mut diagnostics).expect("a program");
        let theirs = std::fs::read_to_string(path.with_extension("fxc.asm")).expect("FXC's text");
        let line = ours.lines().zip(theirs.lines()).position(|(ours, theirs)| ours != theirs);
        assert!(ours == theirs, "{}: line {line:?}", path.display());
        assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", path.display());
    }
}

#[test]
fn programs_are_put_back() {
    for path in fixtures().iter().filter(|path| !path.ends_with("library_9_3.dxbc")) {
        let data = std::fs::read(path).expect("a container");
        let container = Container::parse(&data).expect("a container");
        let source = TokenSource::Container(container);
        let programs = token_programs("", &source, &mut Diagnostics::new()).expect("programs");
        let level9 = programs.iter().filter_map(|(_, program)| match program {
            TokenProgram::Direct3d9(program) => Some(program),
            TokenProgram::Direct3d10(_) => None,
        });
        let mut file = DxFile::parse(&data).expect("a container");
        for (number, program) in level9.enumerate() {
            put_level9(&mut file, number, program).expect("a part for it");
        }
        assert!(file.write_signed().expect("a container") == data, "{}", path.display());
        let other = d3d9::assemble("ps_2_0\nmov oC0, c0").expect("a program");
        put_level9(&mut file, 0, &other).expect("a part for it");
        let changed = file.write_signed().expect("a container");
        let source = TokenSource::Container(Container::parse(&changed).expect("a container"));
        let programs = token_programs("", &source, &mut Diagnostics::new()).expect("programs");
        assert!(matches!(&programs[0].1, TokenProgram::Direct3d9(program) if *program == other));
    }
}
