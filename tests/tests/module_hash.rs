//! A change of any byte of a module is detected, and attributed to the functions in that module.

use unshade_metallib::{Library, verify};
use unshade_tests::metallib_builder::{Dialect, FunctionSpec, LibrarySpec, ModuleSpec, function_type};
use unshade_tests::{corpus, mutate, parallel};

/// Changes every byte of every module, and expects rule `module-hash` exactly for the functions in that module.
fn every_change_is_attributed_to_the_right_functions(name: &str, data: &[u8]) -> usize {
    let library = Library::parse(data).expect("a library");
    let functions: Vec<(String, std::ops::Range<usize>)> = library
        .functions()
        .map(|function| {
            let function = function.expect("a function");
            let range = library.module(&function).expect("a module").expect("OFFT").range();
            (function.label(), range.start as usize..range.end as usize)
        })
        .collect();
    let mut bytes: Vec<usize> = functions.iter().flat_map(|(_, range)| range.clone()).collect();
    bytes.sort_unstable();
    bytes.dedup();
    let pieces: Vec<&[usize]> = bytes.chunks(256).collect();
    parallel::for_each(&pieces, |piece| {
        let mut changed = data.to_vec();
        for &at in *piece {
            for value in mutate::byte_values(data[at], false) {
                changed[at] = value;
                let expected: Vec<&str> = functions
                    .iter()
                    .filter(|(_, range)| range.contains(&at))
                    .map(|(label, _)| label.as_str())
                    .collect();
                let found = blamed(&changed);
                assert_eq!(found, expected, "{name} with {value:#04x} at {at:#x}");
            }
            changed[at] = data[at];
        }
    });
    bytes.len()
}

/// Returns the functions for which rule `module-hash` is reported.
fn blamed(data: &[u8]) -> Vec<String> {
    let library = Library::parse(data).expect("the header is unchanged");
    let mut blamed: Vec<(u32, String)> = verify::library(&library)
        .iter()
        .filter(|finding| finding.rule == "module-hash")
        .map(|finding| {
            let label = finding.error.path().next().expect("a function").to_owned();
            let index = library.functions().flatten().find(|function| function.label() == label);
            (index.expect("a function of that label").index, label)
        })
        .collect();
    blamed.sort();
    blamed.into_iter().map(|(_, label)| label).collect()
}

fn kernel(name: &str) -> FunctionSpec {
    FunctionSpec::new(name, function_type::KERNEL)
}

/// Returns a module that is not even valid bitcode, which does not matter for its hash.
fn module(byte: u8, size: usize) -> ModuleSpec {
    ModuleSpec {
        text: None,
        bitcode: [b"BC\xc0\xde", vec![byte; size].as_slice()].concat(),
        padded: true,
        stray_bytes: Vec::new(),
    }
}

#[test]
fn in_a_library_of_several_functions() {
    let mut spec = LibrarySpec::new(Dialect::Linker, 7)
        .with(kernel("first"), module(1, 40))
        .with(kernel("second"), module(2, 100))
        .with(kernel("third"), module(3, 7));
    // Two functions share a module: both hashes become wrong.
    spec.functions.push(FunctionSpec { module: 1, ..kernel("second_again") });
    let changed = every_change_is_attributed_to_the_right_functions("synthetic", &spec.build().bytes);
    assert_eq!(changed, 64 + 128 + 32);
}

#[test]
fn in_a_library_without_module_sizes() {
    let without = |name: &str| FunctionSpec { states_module_size: false, ..kernel(name) };
    let built = LibrarySpec::new(Dialect::LegacyTool, 2)
        .with(without("first"), module(1, 40))
        .with(without("second"), module(2, 60))
        .build();
    // Changing the size in the wrapper may move the end of the module, so only change its content.
    let intact = Library::parse(&built.bytes).expect("a library");
    assert!(verify::library(&intact).is_empty());
    for (range, label) in built.modules.iter().zip(["function 0 \"first\"", "function 1 \"second\""]) {
        for at in range.start + 20..range.end {
            let mut changed = built.bytes.clone();
            changed[at] ^= 0x40;
            assert_eq!(blamed(&changed), [label], "at {at:#x}");
        }
    }
}

#[test]
fn in_a_real_file() {
    let files = corpus::smallest_libraries(1, "changing every byte of a module", |data| {
        Library::parse(data).is_ok_and(|library| library.functions().count() > 1)
    });
    for file in files {
        let changed = every_change_is_attributed_to_the_right_functions(&file.name, &file.data);
        eprintln!("{}: changed each of {changed} module bytes", file.name);
    }
}
