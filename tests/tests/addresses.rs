//! Kernels whose addresses the compiler computes in a way of its own, `tests/fixtures/nvidia/decompile/addresses.cu`: their
//! text is complete, and it leaves the memory that the machine code leaves.

use unshade::core::{Diagnostics, Reader};
use unshade::decompile;
use unshade::decompiler::Options;
use unshade::nv::Cubin;
use unshade_emulate::interpret::Function;
use unshade_emulate::trial::{Comparison, Trials};

#[test]
fn addresses_are_found() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nvidia/decompile/addresses.cubin");
    let bytes = std::fs::read(path).unwrap();
    let cubin = Cubin::read(Reader::new(&bytes)).unwrap();
    let options = Options { with_code: true, ..Options::default() };
    let mut functions = Vec::new();
    decompile::cubin(&cubin, &|_| true, &options, &mut Diagnostics::new(), &mut |function| {
        functions.push(function);
    });
    assert_eq!(functions.len(), 6);
    let trials = Trials::new(&bytes).unwrap();
    for function in functions {
        let text = function.result.unwrap();
        assert_eq!(text.unlifted, 0, "{}", text.text());
        let code = vec![Function { symbol: function.name.clone(), code: text.code.clone().unwrap() }];
        let found = trials.compare(&function.name, &text.parameters, &code);
        assert!(matches!(found, Comparison::Same(_)), "{}: {found:?}", function.name);
    }
}
