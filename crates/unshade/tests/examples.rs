//! The examples run on fixtures.

#![allow(missing_docs)]

#[path = "../examples/call_graph.rs"]
#[allow(dead_code, reason = "its `main`")]
mod call_graph;
#[path = "../examples/edit_library.rs"]
#[allow(dead_code, reason = "its `main`")]
mod edit_library;
#[path = "../examples/function_text.rs"]
#[allow(dead_code, reason = "its `main`")]
mod function_text;
#[path = "../examples/list_functions.rs"]
#[allow(dead_code, reason = "its `main`")]
mod list_functions;
#[path = "../examples/unpack_fatbin.rs"]
#[allow(dead_code, reason = "its `main`")]
mod unpack_fatbin;

fn fixture(name: &str) -> String {
    format!("{}/../../tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn list_functions() {
    let text = list_functions::list(&fixture("metallib/vertex_fragment.metallib")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Metal library, macOS"), "{text}");
    assert!(lines[1].starts_with("  #0 vertex ") && lines[2].starts_with("  #1 fragment "), "{text}");
}

#[test]
fn function_text() {
    let text = function_text::explain(&fixture("nvidia/add_sm_35.cubin"), "add").unwrap();
    assert!(text.starts_with("// __global__ add("), "{text}");
    assert!(text.contains("EXIT") && text.contains("// Decompiled"), "{text}");
    let error = function_text::explain(&fixture("nvidia/add_sm_35.cubin"), "subtract").unwrap_err();
    assert!(error.to_string().ends_with("no function subtract"), "{error}");
}

#[test]
fn call_graph() {
    let text = call_graph::graph(&std::fs::read(fixture("air/reduce.bc")).unwrap()).unwrap();
    assert!(text.contains("\"reduce\" -> \"_ZN5tools6squareEf\"\n"), "{text}");
}

#[test]
fn edit_library() {
    let bytes = std::fs::read(fixture("metallib/sources_hsrd.metallib")).unwrap();
    let file = unshade::open_bytes("before", bytes.clone());
    let functions = file.programs().next().unwrap().functions().unwrap();
    let name = functions.last().unwrap().name();
    let edited = edit_library::keep_one(&bytes, name).unwrap();
    assert!(edited.len() < bytes.len());
    let file = unshade::open_bytes("after", edited);
    let program = file.programs().next().unwrap();
    let functions = program.functions().unwrap();
    assert_eq!((functions.len(), functions[0].name()), (1, name));
    assert_eq!(functions[0].source().unwrap().origin, unshade::file::SourceOrigin::Decompiled);
    assert!(!program.verify().unwrap().diagnostics.has_errors());
}

#[test]
fn unpack_fatbin() {
    let folder = std::env::temp_dir().join(format!("unshade-examples-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let bytes = std::fs::read(fixture("nvidia/packed_11_2.fatbin")).unwrap();
    let names = unpack_fatbin::unpack(&bytes, &folder).unwrap();
    assert!(names.iter().any(|name| name.ends_with(".cubin")), "{names:?}");
    for name in &names {
        assert!(std::fs::metadata(folder.join(name)).unwrap().len() > 0);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
