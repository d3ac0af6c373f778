//! What is built is sound, and says what DXC says.
//!
//! The containers are written to the directory that `UNSHADE_DXIL_OUTPUT` names, if it does: for another validator.

#[allow(dead_code)]
#[path = "../examples/emit_dxil.rs"]
mod emit_dxil;
mod shaders;

use shaders::{Built, compute, graphics, stages};
use unshade_core::Reader;
use unshade_dxcontainer::{Container, verify};
use unshade_llvm::Module;
use unshade_llvm::print::{self, PrintOptions};

fn checked(all: &[Built]) {
    for built in all {
        let findings = unshade_llvm::verify::bitcode(Reader::new(&built.bitcode));
        assert!(findings.is_empty(), "{}: {findings:?}", built.name);
        let container = Container::parse(&built.container).expect("a container");
        let findings = verify::container(&container);
        assert!(findings.is_empty(), "{}: {findings:?}", built.name);
        let module = Module::parse(&built.bitcode, 0).expect("a module");
        let mut text = String::new();
        let findings = print::module(&module, &PrintOptions::default(), &mut text);
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

#[test]
fn the_example_is_sound() {
    let containers = emit_dxil::containers().expect("containers");
    assert_eq!(containers.len(), 3);
    for (name, container) in containers {
        let container = Container::parse(&container).expect("a container");
        let findings = verify::container(&container);
        assert!(findings.is_empty(), "{name}: {findings:?}");
    }
}

#[test]
fn shaders_of_other_stages_are_sound() {
    checked(&stages::all());
}
