//! A short run of each fuzz target in `cargo test`, with the same mutations of the fixtures on every machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use unshade::nv::Fatbin;
use unshade::nv::compression::Compression;
use unshade_tests::fuzz_targets::{ALL, Target};
use unshade_tests::metallib_builder::{ArchiveSpec, SourceFile, tar};
use unshade_tests::mutate::{Random, mutate};
use unshade_tests::{dx_debug, dxcontainers, fixtures, nvidia, parallel, reflections};

/// Mutations per seed; `UNSHADE_EXHAUSTIVE` multiplies them by a hundred.
const ITERATIONS: u64 = 100;

/// Our own modules.
const AIR: [&[u8]; 4] = [
    include_bytes!("../fixtures/air/kernel.bc"),
    include_bytes!("../fixtures/air/fragment.bc"),
    include_bytes!("../fixtures/air/library.bc"),
    include_bytes!("../fixtures/air/traced.bc"),
];

/// A seed: its bytes, and the positions of its numbers.
type Seed = (Vec<u8>, Vec<std::ops::Range<usize>>);

/// Returns the seeds of a target.
fn seeds(target: &str) -> Vec<Seed> {
    let fixtures = || fixtures::all().into_iter();
    let words = |data: Vec<u8>| {
        let fields = (0..data.len() / 4).map(|word| 4 * word..4 * word + 4).collect();
        (data, fields)
    };
    match target {
        "universal" => fixtures().filter(|f| f.name.starts_with("universal")).map(|f| f.build()).collect(),
        "reflection" => [
            reflections::kernel("scale", 2),
            reflections::vertex("corner"),
            reflections::patch("bend"),
            reflections::fragment("tint"),
            reflections::mesh("strips"),
            reflections::object("cull"),
            reflections::visible("twice"),
            reflections::intersection("sphere"),
            reflections::version_only(4),
        ]
        .map(words)
        .to_vec(),
        "sources" => fixtures::all()
            .iter()
            .filter_map(fixtures::Fixture::source_section)
            .map(|section| words([&[section.0], section.1.as_slice()].concat()))
            .collect(),
        "bitcode" | "bitcode_file" | "bitcode_tree" | "bitcode_write" => {
            AIR.iter().map(|module| words(module.to_vec())).collect()
        }
        "metal_source" => {
            let texts = llvm_texts().into_iter().take(AIR.len()).map(|text| (text, Vec::new()));
            texts.chain(AIR.iter().map(|module| words(module.to_vec()))).collect()
        }
        "link" => {
            AIR.iter().map(|module| words(module.to_vec())).chain(fixtures().map(|f| f.build())).collect()
        }
        "bitcode_build" | "dxil_build" => (0..8).map(|seed| (random_bytes(seed), Vec::new())).collect(),
        "llvm_text" => llvm_texts().into_iter().map(|text| (text, Vec::new())).collect(),
        "dxcontainer" => dxcontainers::all().into_iter().map(|fixture| words(fixture.data)).collect(),
        "dxil" => dxcontainers::programs().into_iter().map(|fixture| words(fixture.data)).collect(),
        "psv0" => dxcontainers::parts(b"PSV0").into_iter().map(words).collect(),
        "rdat" => dxcontainers::parts(b"RDAT").into_iter().map(words).collect(),
        "root_signature" => dxcontainers::parts(b"RTS0").into_iter().map(words).collect(),
        "rdef" => dxcontainers::parts(b"RDEF").into_iter().map(words).collect(),
        "dx_debug" => [dx_debug::spdb(), dx_debug::sdbg()].map(words).to_vec(),
        "dxbc_tokens" => token_programs().into_iter().map(words).collect(),
        "dxbc_text" => token_programs().iter().map(|program| (text_of(program), Vec::new())).collect(),
        "d3d9_tokens" => direct3d9_programs().into_iter().map(words).collect(),
        "d3d9_text" => DIRECT3D_9_TEXT.iter().map(|text| (text.as_bytes().to_vec(), Vec::new())).collect(),
        // Skip documents in which long lists of bytes would attract most of the mutations.
        "dx_yaml" => dxcontainers::all()
            .into_iter()
            .filter(|fixture| fixture.data.len() < 2_000)
            .map(|fixture| unshade_dxcontainer::DxFile::parse(&fixture.data).expect("a sound fixture"))
            .map(|file| unshade_dxcontainer::document::to_yaml(&file).expect("a sound fixture"))
            .map(|text| (text.into_bytes(), Vec::new()))
            .collect(),
        "compare" => {
            let names = ["linker_1_2_9", "dynamic_library", "vertex_fragment", "unknown_tags"];
            let libraries = fixtures()
                .filter(|fixture| names.contains(&fixture.name.as_str()))
                .map(|fixture| fixture.build());
            let containers = dxcontainers::all().into_iter().map(|fixture| words(fixture.data)).take(4);
            libraries.chain(containers).chain([words(AIR[1].to_vec())]).collect()
        }
        "query" => {
            let names = ["linker_1_2_9", "sources_hsrd", "universal_air", "vertex_fragment"];
            let libraries = fixtures()
                .filter(|fixture| names.contains(&fixture.name.as_str()))
                .map(|fixture| fixture.build());
            let containers = dxcontainers::all().into_iter().map(|fixture| words(fixture.data)).take(4);
            let cubins = nvidia::all("cubin").into_iter().map(|fixture| words(fixture.data)).take(2);
            libraries.chain(containers).chain(cubins).chain([words(AIR[2].to_vec())]).collect()
        }
        "metallib_yaml" => fixtures()
            .filter(|fixture| !fixture.name.starts_with("universal"))
            .map(|fixture| fixture.build().0)
            .filter(|data| data.len() < 4_000)
            .map(|data| yaml_of(&data))
            .collect(),
        "fatbin" => nvidia::all("fatbin").into_iter().map(|fixture| words(fixture.data)).collect(),
        "cubin" => nvidia::all("cubin").into_iter().map(|fixture| words(fixture.data)).collect(),
        "emulate" => sass_words().into_iter().step_by(4).map(words).collect(),
        "sass" | "decompile" => sass_words().into_iter().map(words).collect(),
        "sass_text" => sass_texts().into_iter().map(|text| (text, Vec::new())).collect(),
        "types_header" => vec![(TYPES_HEADER.to_vec(), Vec::new())],
        "ir_text" => ir_texts().into_iter().map(|text| (text.into_bytes(), Vec::new())).collect(),
        "zstd" => zstd_frames().into_iter().map(words).collect(),
        "carve" => containers().into_iter().map(words).collect(),
        _ => fixtures().filter(|f| !f.name.starts_with("universal")).map(|f| f.build()).collect(),
    }
}

/// Bytes that select calls of a builder.
fn random_bytes(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..512).map(|_| random.number().to_le_bytes()[3]).collect()
}

/// LLVM assembly: a text with most of its syntax, and that of AIR modules.
fn llvm_texts() -> Vec<Vec<u8>> {
    let air = AIR.iter().map(|module| {
        let module = unshade::llvm::Module::parse(module, 0).expect("a sound fixture");
        let mut text = String::new();
        let _ =
            unshade::llvm::print::module(&module, &unshade::llvm::print::PrintOptions::default(), &mut text);
        text.into_bytes()
    });
    let dxc = include_bytes!("../../crates/unshade-llvm/tests/fixtures/dxc.ll");
    air.chain([include_bytes!("llvm/syntax.ll").to_vec(), dxc.to_vec()]).chain(dxil_texts()).collect()
}

/// The programs of containers in DXC's dialect.
fn dxil_texts() -> Vec<Vec<u8>> {
    let options =
        unshade::llvm::print::PrintOptions { dialect: unshade::llvm::print::Dialect::Dxc, module_id: None };
    let text_of = |fixture: dxcontainers::Fixture| {
        let container = unshade::dxcontainer::Container::parse(&fixture.data).ok()?;
        let (_, bitcode) = unshade::dxcontainer::program::bitcode(container.find(b"DXIL")?.data).ok()?;
        let module = unshade::llvm::Module::parse(bitcode.data(), 0).ok()?;
        let mut text = String::new();
        let _ = unshade::llvm::print::module(&module, &options, &mut text);
        Some(text.into_bytes())
    };
    dxcontainers::programs().into_iter().filter_map(text_of).collect()
}

/// The frames of a fat binary.
fn zstd_frames() -> Vec<Vec<u8>> {
    let fixtures = nvidia::all("fatbin");
    let fatbins = fixtures.iter().filter_map(|fixture| Fatbin::parse(&fixture.data).ok());
    let entries = fatbins.flat_map(|fatbin| fatbin.entries().filter_map(Result::ok).collect::<Vec<_>>());
    let packed = entries.filter(|entry| entry.compression() == Compression::Zstd);
    packed.map(|entry| entry.packed().data().to_vec()).collect()
}

/// A header for the decompiler.
const TYPES_HEADER: &[u8] = include_bytes!("../fixtures/nvidia/decompile/structures.h");

/// Functions as the front end lifts them, and after all passes.
fn ir_texts() -> Vec<String> {
    use unshade::core::{Diagnostics, Reader};
    use unshade::decompile::cubin_with;
    use unshade::decompiler::Options;
    let mut texts = Vec::new();
    for fixture in nvidia::all("cubin").into_iter().filter(|fixture| fixture.data.len() < 8_000) {
        let Ok(cubin) = unshade::nv::Cubin::read(Reader::new(&fixture.data)) else { continue };
        let mut observe = |pass: &str, module: &unshade::decompiler::ir::Module<'_>| {
            if matches!(pass, "lift" | "hoist") {
                texts.push(module.to_string());
            }
        };
        let (options, mut ignored) = (Options::default(), Diagnostics::new());
        cubin_with(&cubin, &|_| true, &options, None, &mut ignored, Some(&mut observe), &mut |_| {});
    }
    texts.retain(|text| text.len() < 6_000);
    texts.truncate(24);
    texts
}

/// Returns the examples of the instruction tables: the chip, and lines of a word in hexadecimal, its address and its text.
fn sass_examples() -> Vec<(u8, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/unshade-sass/tests/examples");
    let mut examples = Vec::new();
    for file in std::fs::read_dir(folder).expect("the folder of the examples") {
        let path = file.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let chip = name.strip_prefix("sm_").and_then(|chip| chip.parse().ok()).expect("the name of a chip");
        examples.push((chip, std::fs::read_to_string(&path).expect("a text")));
    }
    examples.sort();
    examples
}

/// Machine code of every instruction set, 16 words per seed, after the chip.
fn sass_words() -> Vec<Vec<u8>> {
    let seed = |chip: u8, lines: &[&str]| {
        let mut seed = vec![chip];
        for line in lines {
            let word = line.split(' ').next().expect("an example starts with its word");
            let number = u128::from_str_radix(word, 16).expect("hexadecimal digits");
            seed.extend(&number.to_le_bytes()[..word.len() / 2]);
        }
        seed
    };
    sass_seeds(16, &seed)
}

/// The same as text.
fn sass_texts() -> Vec<Vec<u8>> {
    let text = |line: &&str| line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
    sass_seeds(16, &|chip, lines| {
        let lines: Vec<String> = lines.iter().map(text).collect();
        [&[chip], lines.join(";\n").as_bytes()].concat()
    })
}

/// Makes a seed of every `count` examples of a chip.
fn sass_seeds(count: usize, seed: &dyn Fn(u8, &[&str]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (chip, examples) in sass_examples() {
        let lines: Vec<&str> = examples.lines().collect();
        seeds.extend(lines.chunks(count).map(|lines| seed(chip, lines)));
    }
    seeds
}

/// Returns the token programs of the fixtures.
fn token_programs() -> Vec<Vec<u8>> {
    [dxcontainers::parts(b"SHEX"), dxcontainers::parts(b"SHDR")].concat()
}

/// Listings of Shader Model 1 to 3.
const DIRECT3D_9_TEXT: [&str; 2] = [
    include_str!("../../crates/unshade-dxbc/tests/fixtures/d3d9/lines_ps_3_0.fxc.asm"),
    include_str!("../../crates/unshade-dxbc/tests/fixtures/d3d9/vertex_vs_1_1.fxc.asm"),
];

/// Programs of Shader Model 1 to 3, and the part of a container.
fn direct3d9_programs() -> Vec<Vec<u8>> {
    let container = include_bytes!("../../crates/unshade/tests/fixtures/level9/precision_ps_9_3.dxbc");
    let container = unshade_dxcontainer::Container::parse(container).expect("a sound fixture");
    let part = container.find(b"Aon9").expect("a part for feature level 9");
    vec![
        include_bytes!("../../crates/unshade-dxbc/tests/fixtures/d3d9/lines_ps_3_0.cso").to_vec(),
        include_bytes!("../../crates/unshade-dxbc/tests/fixtures/d3d9/vertex_vs_1_1.cso").to_vec(),
        part.data.data().to_vec(),
    ]
}

/// Prints a token program as text.
fn text_of(program: &[u8]) -> Vec<u8> {
    let mut diagnostics = unshade_core::Diagnostics::new();
    let program =
        unshade::dxbc::decode(unshade_core::Reader::new(program), &mut diagnostics).expect("a sound fixture");
    let mut text = String::new();
    unshade::dxbc::print::print(&program, Default::default(), &mut text);
    text.into_bytes()
}

/// Converts a library to YAML.
fn yaml_of(library: &[u8]) -> Seed {
    let file = unshade_metallib::LibraryFile::parse(library).expect("a sound fixture");
    (unshade_metallib::document::to_yaml(&file).expect("a sound fixture").into_bytes(), Vec::new())
}

/// Files that contain programs: at an odd offset, in a tar archive, and in a compressed archive.
fn containers() -> Vec<Vec<u8>> {
    let files: Vec<SourceFile> = ["empty_118", "universal_air", "dxmt"]
        .into_iter()
        .filter_map(|name| fixtures::all().into_iter().find(|fixture| fixture.name == name))
        .map(|fixture| SourceFile { path: format!("{}.metallib", fixture.name), content: fixture.build().0 })
        .collect();
    let all =
        files.iter().map(|file| [b"between", file.content.as_slice()].concat()).collect::<Vec<_>>().concat();
    let compressed = ArchiveSpec { id: "", files: files.clone(), level: 1, padded_to: 1 }.compress();
    vec![all, tar(&files), compressed]
}

fn run(&(name, target): &Target) {
    let exhaustive = std::env::var_os("UNSHADE_EXHAUSTIVE").is_some();
    let iterations = if exhaustive { 100 * ITERATIONS } else { ITERATIONS };
    let seeds = seeds(name);
    assert!(!seeds.is_empty(), "{name} has no seeds");
    for (index, (data, fields)) in seeds.iter().enumerate() {
        target(data);
        for iteration in 0..iterations {
            let mut random = Random::new((index as u64) << 32 | iteration);
            let mut changed = data.clone();
            mutate(&mut changed, fields, &mut random);
            catch_unwind(AssertUnwindSafe(|| target(&changed))).unwrap_or_else(|_| {
                panic!("{name}: seed {index}, iteration {iteration}; see the panic above")
            });
        }
    }
}

#[test]
fn every_target_survives_a_hundred_mutations_of_each_seed() {
    parallel::for_each(ALL, run);
}

#[test]
fn every_target_survives_arbitrary_bytes() {
    for (_, target) in ALL {
        for data in
            [&b""[..], b"M", b"MTLB", b"MTLIB...", b"\xcb\xfe\xba\xbe\0\0\0\x02", &[0xff; 300], &[0; 300]]
        {
            target(data);
        }
    }
}
