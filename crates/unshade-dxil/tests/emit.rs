//! What is built is sound, and says what DXC says.
//!
//! The containers are written to the directory that `UNSHADE_DXIL_OUTPUT` names, if it does: for another validator.

#[allow(dead_code)]
#[path = "../examples/emit_dxil.rs"]
mod emit_dxil;
mod shaders;

use shaders::{Built, compute, graphics, libraries, stages};
use unshade_core::Reader;
use unshade_dxcontainer::{Container, verify};
use unshade_llvm::Module;
use unshade_llvm::print::{self, Dialect, PrintOptions};

fn checked(all: &[Built]) {
    for built in all {
        let findings = unshade_llvm::verify::bitcode(Reader::new(&built.bitcode));
        assert!(findings.is_empty(), "{}: {findings:?}", built.name);
        let container = Container::parse(&built.container).expect("a container");
        let findings = verify::container(&container);
        assert!(findings.is_empty(), "{}: {findings:?}", built.name);
        let module = Module::parse(&built.bitcode, 0).expect("a module");
        let mut text = String::new();
        let findings = print::module(
            &module,
            &PrintOptions { dialect: Dialect::Dxc, ..PrintOptions::default() },
            &mut text,
        );
        assert!(findings.is_empty(), "{}: {findings:?}", built.name);
        if let Some(directory) = std::env::var_os("UNSHADE_DXIL_OUTPUT") {
            let path = std::path::Path::new(&directory).join(&built.name);
            std::fs::write(path.with_extension("dxil"), &built.container).expect("a file");
            std::fs::write(path.with_extension("ll"), &text).expect("a file");
        }
    }
}

#[test]
fn compute_shaders_are_sound() {
    checked(&compute::all());
}

#[test]
fn vertex_and_pixel_shaders_are_sound() {
    checked(&graphics::all());
}

/// Returns the text of the program in a container.
fn text(container: &[u8]) -> String {
    let container = Container::parse(container).expect("a container");
    let part = container.find(b"DXIL").expect("a program");
    let (_, bitcode) = unshade_dxcontainer::program::bitcode(part.data).expect("bitcode");
    let module = Module::parse(bitcode.data(), 0).expect("a module");
    let mut text = String::new();
    let findings =
        print::module(&module, &PrintOptions { dialect: Dialect::Dxc, ..PrintOptions::default() }, &mut text);
    assert!(findings.is_empty(), "{findings:?}");
    text
}

/// The example, as DXC's disassembler prints it. `UNSHADE_BLESS` writes the files anew.
#[test]
fn the_example_has_the_expected_text() {
    let containers = emit_dxil::containers().expect("containers");
    assert_eq!(containers.len(), 3);
    for (name, container) in containers {
        let findings = verify::container(&Container::parse(&container).expect("a container"));
        assert!(findings.is_empty(), "{name}: {findings:?}");
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
        let (path, text) = (path.with_extension("ll"), text(&container));
        if std::env::var_os("UNSHADE_BLESS").is_some() {
            std::fs::write(&path, &text).expect("a file");
        }
        let expected = std::fs::read_to_string(&path).expect("a file");
        assert!(text == expected, "{} differs:\n{text}", path.display());
    }
}

#[test]
fn shaders_of_other_stages_are_sound() {
    checked(&stages::all());
}

#[test]
fn libraries_are_sound() {
    checked(&libraries::all());
}
