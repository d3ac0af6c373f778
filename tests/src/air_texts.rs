//! The modules of synthetic libraries: texts of our own in `fixtures/air`, assembled for the target, the versions and the
//! names of functions that their library states.

use crate::metallib_builder::{LibrarySpec, ModuleSpec, platform};
use unshade_llvm::assemble::{AssembleOptions, bitcode};
use unshade_llvm::write::Version;

pub(crate) const KERNEL: &str = include_str!("../fixtures/air/kernel.ll");
pub(crate) const SETTINGS: &str = include_str!("../fixtures/air/settings.ll");
pub(crate) const CONSTANTS: &str = include_str!("../fixtures/air/constants.ll");
pub(crate) const VERTEX: &str = include_str!("../fixtures/air/vertex.ll");
pub(crate) const TINT: &str = include_str!("../fixtures/air/tint.ll");
pub(crate) const BEND_TRIANGLE: &str = include_str!("../fixtures/air/bend_triangle.ll");
pub(crate) const BEND_QUAD: &str = include_str!("../fixtures/air/bend_quad.ll");
pub(crate) const LAYERED: &str = include_str!("../fixtures/air/layered.ll");
pub(crate) const SHADERS: &str = include_str!("../fixtures/air/shaders.ll");
pub(crate) const LIBRARY: &str = include_str!("../fixtures/air/library.ll");
pub(crate) const STRIPS: &str = include_str!("../fixtures/air/strips.ll");
pub(crate) const CULL: &str = include_str!("../fixtures/air/cull.ll");
pub(crate) const VISIBLE: &str = include_str!("../fixtures/air/visible.ll");
pub(crate) const SPHERE: &str = include_str!("../fixtures/air/sphere.ll");
pub(crate) const EXTERN: &str = include_str!("../fixtures/air/extern.ll");

/// What all texts state.
const TRIPLE: &str = "air64-apple-macosx14.0.0";
const AIR_VERSION: &str = "!{i32 2, i32 6, i32 0}";
const LANGUAGE_VERSION: &str = "!{!\"Metal\", i32 3, i32 1, i32 0}";

/// Returns a module with a text, which [`assemble`] assembles.
pub(crate) fn module(text: &'static str) -> ModuleSpec {
    ModuleSpec { text: Some(text), bitcode: Vec::new(), padded: true, stray_bytes: Vec::new() }
}

/// Assembles the modules of a library that have a text.
///
/// # Panics
/// If a text is none, or does not state what all do.
pub(crate) fn assemble(mut spec: LibrarySpec) -> LibrarySpec {
    let triple = triple(&spec);
    for (index, module) in spec.modules.iter_mut().enumerate() {
        let Some(text) = module.text.take() else { continue };
        let functions: Vec<_> = spec.functions.iter().filter(|function| function.module == index).collect();
        let [air, air_minor, language, language_minor] = functions[0].versions;
        let mut text = text.replace(TRIPLE, &triple);
        text = text.replace(AIR_VERSION, &format!("!{{i32 {air}, i32 {air_minor}, i32 0}}"));
        let language = format!("!{{!\"Metal\", i32 {language}, i32 {language_minor}, i32 0}}");
        text = text.replace(LANGUAGE_VERSION, &language);
        if let [function] = functions[..] {
            let name = std::str::from_utf8(&function.name).expect("names of fixtures are text");
            text = renamed(&text, name);
        }
        let options = AssembleOptions { version: Version::Llvm14 };
        let file = bitcode(text.as_bytes(), b"fixture.ll", &options).expect("the text is valid");
        module.bitcode = ModuleSpec::assembled(&file.bytes).bitcode;
    }
    spec
}

/// Returns the triple of a library's target. Old libraries have none; the texts keep theirs.
fn triple(spec: &LibrarySpec) -> String {
    let (major, minor, patch) = spec.os;
    let system = match spec.platform {
        platform::MACOS => "macosx",
        platform::VISIONOS => "xros",
        _ => return TRIPLE.to_owned(),
    };
    format!("air64-apple-{system}{major}.{minor}.{patch}")
}

/// Renames the only function that a text defines.
fn renamed(text: &str, name: &str) -> String {
    let definition =
        text.lines().find(|line| line.starts_with("define ")).expect("a text defines a function");
    let (_, after) = definition.split_once('@').expect("a function has a name");
    let (old, _) = after.split_once('(').expect("a function has parameters");
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let new = if is_plain { format!("@{name}") } else { format!("@\"{name}\"") };
    let ends = ["(", ",", "}"];
    ends.iter()
        .fold(text.to_owned(), |text, end| text.replace(&format!("@{old}{end}"), &format!("{new}{end}")))
}
