//! Compiles all shaders of this crate for both targets, and checks messages for what is not supported.

use std::path::{Path, PathBuf};
use unshade_core::Reader;
use unshade_metallib::Library;
use unshade_naga::{Bindings, Error, Options, Source};

fn shaders() -> Vec<(PathBuf, String)> {
    let mut list = Vec::new();
    for folder in ["compute", "emit"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders").join(folder);
        for entry in std::fs::read_dir(folder).expect("a folder of shaders") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "wgsl") {
                let text = std::fs::read_to_string(&path).expect("a shader");
                list.push((path, text));
            }
        }
    }
    list
}

#[test]
fn all_shaders_compile_for_both_targets() {
    let shaders = shaders();
    assert!(shaders.len() >= 40, "{} shaders", shaders.len());
    for (path, text) in shaders {
        let name = path.display().to_string();
        let shown = |error: Error| error.text(&name, &text);
        let source = Source::parse(&name, &text).map_err(shown).expect("valid source");
        for fast_math in [false, true] {
            let options = Options { fast_math, ..Options::default() };
            let library = source.metallib(&options).map_err(shown).expect("a library");
            let library = Library::parse(&library).expect("a library");
            assert_eq!(library.functions().count(), source.module.entry_points.len(), "{name}");
            for function in library.functions() {
                let function = function.expect("a function");
                let module = library.module(&function).expect("a module").expect("a module");
                let bitcode = module.bitcode().expect("bitcode").data();
                let findings = unshade_llvm::verify::bitcode(Reader::new(bitcode));
                assert!(findings.is_empty(), "{name}: {findings:?}");
            }
        }
        for shader_model in [0, 2, 6] {
            for point in &source.module.entry_points {
                let options = Options { entry: Some(point.name.clone()), shader_model, ..Options::default() };
                let container = source.container(&options).map_err(shown).expect("a container");
                assert!(container.starts_with(b"DXBC"), "{name}");
            }
        }
    }
}

/// Sources, each with what is not supported in it: for Metal, and for DirectX if that differs.
const REFUSED: [(&str, &str, &str); 7] = [
    (
        "@group(0) @binding(0) var<storage, read_write> a: atomic<u64>;
@compute @workgroup_size(1) fn f() { atomicMax(&a, 1lu); }",
        "x.wgsl:2:38: atomic u64: not supported",
        "",
    ),
    (
        "@group(0) @binding(0) var<storage, read_write> a: f64;
@compute @workgroup_size(1) fn f() { a = a * 2.0lf; }",
        "f64: not supported",
        "",
    ),
    ("@compute @workgroup_size(1) fn f() { _ = subgroupAdd(1u); }", "subgroup operations: not supported", ""),
    (
        "@fragment fn f(@builtin(barycentric) at: vec3f) -> @location(0) vec4f { return vec4f(at, 1); }",
        "at: the input Barycentric { perspective: true }: not supported",
        "",
    ),
    (
        "@group(0) @binding(0) var t: texture_storage_2d<r32uint, atomic>;
@compute @workgroup_size(1) fn f() { textureAtomicAdd(t, vec2i(), 1u); }",
        "x.wgsl:2:38: atomic operations on textures: not supported",
        "",
    ),
    (
        "override size: u32;
@compute @workgroup_size(1) fn f() { var x = size; x++; }",
        "Missing value for pipeline-overridable constant",
        "",
    ),
    ("fn f() {}", "no entry points", ""),
];

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    for (text, metal, directx) in REFUSED {
        let source =
            Source::parse("x.wgsl", text).map_err(|error| error.text("x.wgsl", text)).expect("valid source");
        let directx = if directx.is_empty() { metal } else { directx };
        let errors = [
            (source.metallib(&Options::default()).unwrap_err(), metal),
            (source.container(&Options::default()).unwrap_err(), directx),
        ];
        for (error, expected) in errors {
            let found = error.text("x.wgsl", text);
            assert!(found.contains(expected), "{text}\n{found}");
        }
    }
}

#[test]
fn values_of_overrides_change_the_module() {
    let text = "override count: u32 = 3;
@group(0) @binding(0) var<storage, read_write> out: u32;
@compute @workgroup_size(1) fn f() { out = count; }";
    let source = Source::parse("x.wgsl", text).expect("valid source");
    let of = |value: f64| {
        let constants = [("count".to_string(), value)].into();
        source.metallib(&Options { constants, ..Options::default() }).expect("a library")
    };
    assert_eq!(of(3.0), source.metallib(&Options::default()).expect("a library"));
    assert_ne!(of(4.0), of(3.0));
}

#[test]
fn slots_count_by_kind_in_the_order_of_bindings() {
    let text = "@group(1) @binding(0) var<uniform> u: vec4f;
@group(0) @binding(7) var<storage> list: array<f32>;
@group(0) @binding(2) var t: texture_2d<f32>;
@group(0) @binding(9) var s: sampler;
@group(2) @binding(0) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1) fn f() {
    out[0] = u.x + list[arrayLength(&list) - 1u] + textureSampleLevel(t, s, vec2f(), 0.0).x;
}";
    let source = Source::parse("x.wgsl", text).expect("valid source");
    let bindings = Bindings::new(&source.module);
    let found: Vec<_> =
        bindings.iter().map(|(at, kind, slot, size)| (at.group, at.binding, kind, slot, size)).collect();
    use unshade_naga::ResourceKind::{Buffer, Sampler, Texture};
    assert_eq!(
        found,
        [
            (0, 2, Texture, 0, None),
            (0, 7, Buffer, 0, Some(0)),
            (0, 9, Sampler, 0, None),
            (1, 0, Buffer, 1, None),
            (2, 0, Buffer, 2, Some(1)),
        ]
    );
}
