//! Functions that are compiled apart from their callers, `relocatable.cu`, `templates.cu` and `textures.cu` in
//! `tests/fixtures/nvidia/decompile`: their text is complete, and it leaves the memory that the machine code leaves.

use unshade::core::{Diagnostics, Reader};
use unshade::decompile;
use unshade::decompiler::Options;
use unshade::nv::Cubin;
use unshade_emulate::interpret::Function;
use unshade_emulate::trial::{Comparison, Trials};

/// Compares the kernels of a fixture, and returns the text of the file.
fn compared(name: &str, kernels: usize) -> String {
    let path = format!("{}/fixtures/nvidia/decompile/{name}.cubin", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let cubin = Cubin::read(Reader::new(&bytes)).unwrap();
    let options = Options { with_code: true, ..Options::default() };
    let mut functions = Vec::new();
    decompile::cubin(&cubin, &|_| true, &options, &mut Diagnostics::new(), &mut |function| {
        functions.push(function);
    });
    let code: Vec<Function> = functions
        .iter()
        .filter_map(|function| {
            let text = function.result.as_ref().unwrap();
            assert_eq!(text.unlifted, 0, "{}", text.text());
            Some(Function { symbol: function.name.clone(), code: text.code.clone()? })
        })
        .collect();
    let trials = Trials::new(&bytes).unwrap();
    for kernel in trials.module.kernels() {
        let function = functions.iter().find(|function| function.name == kernel.name).unwrap();
        let parameters = &function.result.as_ref().unwrap().parameters;
        let found = trials.compare(&kernel.name, parameters, &code);
        assert!(matches!(found, Comparison::Same(_)), "{}: {found:?}", kernel.name);
    }
    assert_eq!(trials.module.kernels().len(), kernels);
    decompile::text(&functions)
}

#[test]
fn pointers_to_constant_memory_are_passed() {
    let text = compared("relocatable", 9);
    assert!(text.contains("(unsigned char *)\"hello\""), "{text}");
    // Copies of functions for constant memory read through their parameters.
    assert!(!text.contains("constant_window"), "{text}");
}

#[test]
fn textures_of_linked_functions_have_their_names() {
    let text = compared("textures_debug", 2);
    assert!(text.contains("tex1Dfetch(line, ") && text.contains("tex2D(picture, "), "{text}");
}

#[test]
fn each_kernel_has_its_shared_variables() {
    let text = compared("templates_relocatable", 2);
    assert!(text.contains("int shared[64];") && text.contains("float shared[128];"), "{text}");
    assert!(text.contains("shared[threadIdx.x + 64] = f1;\n    shared[threadIdx.x] = f1;"), "{text}");
}
