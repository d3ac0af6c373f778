//! The synthetic fixtures: small files of our own that cover what real files show rarely or never. None was written by
//! an Apple tool.

use crate::air_texts::{self as air, module};
use crate::metallib_builder::{
    ArchiveSpec, Built, ConstantSpec, Dialect, DynamicSpec, FunctionSpec, GpuObjectSpec, LibrarySpec,
    ModuleSpec, RawTag, ReflectionSpec, SliceSpec, SourceFile, SourcesSpec, UniversalSpec,
    VertexAttributeSpec, cpu_type, function_type, library_type, platform,
};
use crate::reflections;
use std::ops::Range;
use std::path::PathBuf;
use unshade_core::Severity;

/// A fixture.
pub struct Fixture {
    /// The name of its file, without `.metallib`.
    pub name: String,
    /// What it covers, for the README.
    pub stands_for: String,
    /// The specification that it is built from.
    pub content: Content,
    /// The expected findings of a check, in file order.
    pub findings: Vec<(Severity, &'static str)>,
    /// The number of bytes that an outline can't name.
    pub unknown_bytes: u64,
}

/// The specification of a fixture.
pub enum Content {
    /// A library.
    Library(Box<LibrarySpec>),
    /// A universal file, its libraries and their ranges.
    Universal(UniversalSpec, Vec<(LibrarySpec, Range<usize>)>),
}

impl Fixture {
    fn library(name: &str, stands_for: &str, spec: LibrarySpec) -> Self {
        let spec = air::assemble(spec);
        Self {
            name: name.into(),
            stands_for: stands_for.into(),
            findings: other_layouts(&spec),
            content: Content::Library(Box::new(spec)),
            unknown_bytes: 0,
        }
    }

    fn finding(mut self, severity: Severity, rule: &'static str) -> Self {
        self.findings.push((severity, rule));
        self
    }

    fn unknown(mut self, bytes: u64) -> Self {
        self.unknown_bytes = bytes;
        self
    }

    /// Builds the file. Also returns the positions of the numbers in it.
    pub fn build(&self) -> (Vec<u8>, Vec<Range<usize>>) {
        match &self.content {
            Content::Library(spec) => {
                let built = spec.build();
                (built.bytes, built.fields)
            }
            Content::Universal(spec, _) => {
                let (bytes, fields, _) = spec.build();
                (bytes, fields)
            }
        }
    }

    /// Returns the source section, if there is one, and whether it has a working directory (1) or not (0).
    pub fn source_section(&self) -> Option<(u8, Vec<u8>)> {
        let Content::Library(spec) = &self.content else { return None };
        let built = spec.build();
        let section = |code| built.named(code).map(|range| built.bytes[range].to_vec());
        section(b"HSRC").map(|bytes| (0, bytes)).or_else(|| section(b"HSRD").map(|bytes| (1, bytes)))
    }

    /// Returns the path of the committed file.
    pub fn path(&self) -> PathBuf {
        folder().join(format!("{}.metallib", self.name))
    }
}

/// Returns a finding for each reflection: the encoder of the fixtures lays them out in another way than Apple's linker.
fn other_layouts(spec: &LibrarySpec) -> Vec<(Severity, &'static str)> {
    let readable = spec.reflections.iter().filter(|reflection| reflection.code == *b"RBUF");
    readable.map(|_| (Severity::Note, "reflection-layout")).collect()
}

/// Returns the folder of the committed files.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/metallib")
}

const UUID: [u8; 16] = *b"unshade\x30fixture!";

/// Returns a kernel `scale` of the versions that match a container version.
fn scale_function(version_patch: u16) -> FunctionSpec {
    FunctionSpec { versions: versions_of(version_patch), ..FunctionSpec::new("scale", function_type::KERNEL) }
}

/// Returns a library with one kernel whose AIR and language versions match the container version.
fn scale(dialect: Dialect, version_patch: u16) -> LibrarySpec {
    LibrarySpec::new(dialect, version_patch).with(scale_function(version_patch), module(air::KERNEL))
}

/// Returns a library of the linker with a kernel with arguments of all kinds, and its reflection.
fn settings(version_patch: u16) -> LibrarySpec {
    let mut kernel = scale_function(version_patch);
    kernel.public.constants = vec![ConstantSpec { name: "fast", data_type: 0x35, index: 3, active: true }];
    LibrarySpec::new(Dialect::Linker, version_patch)
        .with(kernel, module(air::SETTINGS))
        .reflecting(reflections::kernel("scale", u32::from(version_patch) - 5))
}

/// Returns the versions of AIR and of the language that the tools of a container version write.
fn versions_of(version_patch: u16) -> [u16; 4] {
    match version_patch {
        2 => [2, 0, 2, 0],
        3 => [2, 1, 2, 1],
        4 => [2, 2, 2, 2],
        5 => [2, 3, 2, 3],
        6 => [2, 4, 2, 4],
        7 => [2, 6, 3, 1],
        8 => [2, 7, 3, 2],
        _ => [2, 8, 4, 0],
    }
}

/// Returns all fixtures.
pub fn all() -> Vec<Fixture> {
    let mut fixtures = Vec::new();
    empty(&mut fixtures);
    versions(&mut fixtures);
    platforms(&mut fixtures);
    functions(&mut fixtures);
    linked(&mut fixtures);
    sources(&mut fixtures);
    oddities(&mut fixtures);
    universal(&mut fixtures);
    fixtures
}

/// Libraries without functions.
fn empty(fixtures: &mut Vec<Fixture>) {
    let linker = |version_patch| LibrarySpec::new(Dialect::Linker, version_patch);
    fixtures.push(Fixture::library("empty_92", "an empty library of 1.2.2: no header extension", linker(2)));
    fixtures.push(Fixture::library("empty_96", "an empty library since 1.2.3: only an ENDT", linker(3)));
    fixtures.push(Fixture::library(
        "empty_118",
        "an empty library with a UUID, for iOS",
        LibrarySpec {
            macos_flag: false,
            platform: platform::IOS,
            os: (17, 6, 0),
            uuid: Some(UUID),
            ..linker(7)
        },
    ));
    fixtures.push(Fixture::library(
        "empty_188",
        "an empty dynamic library: an install name and a UUID",
        LibrarySpec {
            library_type: library_type::DYNAMIC,
            os: (13, 0, 0),
            dynamic: Some(DynamicSpec {
                name: Some(b"@loader_path/libUnshadeTest7.metallib".to_vec()),
                linked: Vec::new(),
            }),
            uuid: Some(UUID),
            ..linker(7)
        },
    ));
}

/// Every container version, from both of Apple's tools.
fn versions(fixtures: &mut Vec<Fixture>) {
    for patch in 2..=9 {
        let mut spec = if patch >= 7 { settings(patch) } else { scale(Dialect::Linker, patch) };
        if patch >= 6 {
            spec.uuid = Some(UUID);
        }
        if patch == 9 {
            spec.dynamic = Some(DynamicSpec { name: Some(b"scale.metallib".to_vec()), linked: Vec::new() });
        }
        fixtures.push(Fixture::library(
            &format!("linker_1_2_{patch}"),
            &format!("a kernel in a library of 1.2.{patch}, as written by the linker"),
            spec,
        ));
        fixtures.push(Fixture::library(
            &format!("legacy_1_2_{patch}"),
            &format!("a kernel in a library of 1.2.{patch}, as written by the older tool"),
            scale(Dialect::LegacyTool, patch),
        ));
    }
    let mut old = scale(Dialect::Linker, 2);
    old.functions[0].states_module_size = false;
    old.functions[0].versions = [1, 8, 1, 1];
    fixtures.push(Fixture::library("no_mdsz", "AIR 1.8: a module whose size is only in its wrapper", old));
    let mut output = scale(Dialect::Linker, 9);
    output.dynamic = Some(DynamicSpec { name: Some(Vec::new()), linked: Vec::new() });
    fixtures.push(Fixture::library(
        "empty_output_name",
        "an executable library of 1.2.9 whose output name is empty",
        output,
    ));
}

/// Every platform, and related flags.
fn platforms(fixtures: &mut Vec<Fixture>) {
    let names = [
        "macos",
        "ios",
        "tvos",
        "watchos",
        "bridgeos",
        "maccatalyst",
        "ios_simulator",
        "tvos_simulator",
        "watchos_simulator",
        "driverkit",
        "visionos",
        "visionos_simulator",
    ];
    for (name, number) in names.into_iter().zip(1u8..) {
        let spec = LibrarySpec {
            macos_flag: number == platform::MACOS || number == platform::MAC_CATALYST,
            platform: number,
            os: (2, 1, 0),
            uuid: Some(UUID),
            ..LibrarySpec::new(Dialect::Linker, 7)
        };
        let what = format!("an empty library for platform {number}");
        fixtures.push(Fixture::library(&format!("platform_{name}"), &what, spec));
    }
    let visionos = LibrarySpec {
        macos_flag: false,
        platform: platform::VISIONOS,
        os: (2, 0, 0),
        uuid: Some(UUID),
        ..scale(Dialect::Linker, 7)
    };
    fixtures.push(Fixture::library("visionos_kernel", "a kernel for visionOS", visionos));
    let other = LibrarySpec {
        macos_flag: false,
        platform: platform::VISIONOS,
        os: (2, 0, 0),
        ..air::assemble(scale(Dialect::Linker, 7))
    };
    fixtures.push(Fixture::library(
        "other_target",
        "a kernel whose header says visionOS, and whose module says macOS",
        other,
    ));
    let unknown = LibrarySpec { macos_flag: false, platform: 0x7e, ..LibrarySpec::new(Dialect::Linker, 9) };
    fixtures.push(
        Fixture::library("platform_unknown", "an empty library for a platform without a name", unknown)
            .finding(Severity::Note, "platform"),
    );
    let wrong_flag = LibrarySpec { macos_flag: false, ..LibrarySpec::new(Dialect::Linker, 7) };
    fixtures.push(
        Fixture::library("platform_flag", "an empty library for macOS without the macOS flag", wrong_flag)
            .finding(Severity::Warning, "platform"),
    );
    let narrow = LibrarySpec { is_64_bit: false, ..LibrarySpec::new(Dialect::Linker, 6) };
    fixtures.push(Fixture::library("bits_32", "an empty library of 32-bit AIR", narrow));
    let patched = LibrarySpec { os: (14, 4, 1), ..LibrarySpec::new(Dialect::Linker, 7) };
    fixtures.push(Fixture::library("os_patch", "an empty library for macOS 14.4.1", patched));
}

/// Every function type and every tag of a function.
fn functions(fixtures: &mut Vec<Fixture>) {
    let linker = || LibrarySpec { uuid: Some(UUID), ..LibrarySpec::new(Dialect::Linker, 7) };
    let attribute = |name, index, usage, active| VertexAttributeSpec {
        name,
        index,
        usage,
        active,
        data_type: [0x06, 0x24, 0x10][usize::from(usage)],
    };

    let mut corner = FunctionSpec::new("corner", function_type::VERTEX);
    corner.public.vertex_attributes =
        vec![attribute("position", 0, 0, true), attribute("colour", 1, 0, true)];
    corner.private.source_location = Some((12, "/unshade/corner.metal"));
    let mut tint = FunctionSpec::new("shading::tint", function_type::FRAGMENT);
    tint.private.source_location = Some((30, "build//unshade/tint.metal"));
    let pipeline = linker()
        .with(corner, module(air::VERTEX))
        .reflecting(reflections::vertex("corner"))
        .with(tint, module(air::TINT))
        .reflecting(reflections::fragment("shading::tint"));
    fixtures.push(Fixture::library(
        "vertex_fragment",
        "a vertex and a fragment function with attributes, source locations and reflection",
        pipeline,
    ));

    let mut triangle = FunctionSpec::new("bend_triangle", function_type::VERTEX);
    triangle.tessellation = Some(1 | 3 << 2);
    triangle.public.vertex_attributes = vec![
        attribute("corner", 0, 2, true),
        attribute("height", 0x1fff, 1, true),
        attribute("unused", 2, 1, false),
    ];
    let mut quad = FunctionSpec::new("bend_quad", function_type::VERTEX);
    quad.tessellation = Some(2 | 16 << 2);
    quad.layer_type = Some(0x29);
    let mut layered = FunctionSpec::new("layered", function_type::VERTEX);
    layered.layer_type = Some(0x21);
    let tessellation = linker()
        .with(triangle, module(air::BEND_TRIANGLE))
        .with(quad, module(air::BEND_QUAD))
        .reflecting(reflections::patch("bend_quad"))
        .with(layered, module(air::LAYERED));
    fixtures.push(Fixture::library(
        "tessellation",
        "post-tessellation vertex functions (TESS) and functions that write the layer (LAYR), with per-patch and \
        control point attributes",
        tessellation,
    ));

    let constant = |name, data_type, index, active| ConstantSpec { name, data_type, index, active };
    let mut specialised = FunctionSpec::new("scale", function_type::KERNEL);
    specialised.public.constants = vec![
        constant("fast", 0x35, 3, true),
        constant("bias", 0x25, 0, true),
        constant("count", 0x1d, 1, false),
        constant("width", 0x21, 2, true),
        constant("mask", 0x29, 0xffff, true),
        constant("gain", 0x03, 4, true),
        constant("tiny", 0x79, 5, true),
    ];
    let constants = linker().with(specialised, module(air::CONSTANTS));
    fixtures.push(Fixture::library(
        "constants",
        "a kernel with function constants of seven types",
        constants,
    ));

    let newest = |name, kind| FunctionSpec { versions: versions_of(9), ..FunctionSpec::new(name, kind) };
    let mesh = LibrarySpec { uuid: Some(UUID), ..LibrarySpec::new(Dialect::Linker, 9) }
        .with(newest("strips", function_type::MESH), module(air::STRIPS))
        .reflecting(reflections::mesh("strips"))
        .with(newest("cull", function_type::OBJECT), module(air::CULL))
        .reflecting(reflections::object("cull"));
    fixtures.push(Fixture::library("mesh_object", "a mesh and an object function", mesh));

    let visible = linker()
        .with(FunctionSpec::new("twice", function_type::VISIBLE), module(air::VISIBLE))
        .reflecting(reflections::visible("twice"))
        .with(FunctionSpec::new("sphere", function_type::INTERSECTION), module(air::SPHERE))
        .reflecting(reflections::intersection("sphere"))
        .with(FunctionSpec::new("nothing", function_type::NONE), module(air::EXTERN));
    fixtures.push(Fixture::library(
        "visible_intersection",
        "a visible function, an intersection function, and a function of type none",
        visible,
    ));

    let mut invert = FunctionSpec::new("invert", function_type::EXTERN);
    invert.public.other_tags = vec![RawTag::new(b"RETR", &[6, 1]), RawTag::new(b"ARGR", &[2, 6, 1, 7, 0])];
    let core_image = LibrarySpec { library_type: library_type::CORE_IMAGE, ..linker() };
    fixtures.push(Fixture::library(
        "core_image",
        "a library for Core Image: an extern function with RETR and ARGR, whose content is invented",
        core_image.with(invert, module(air::EXTERN)),
    ));
}

/// Dynamic libraries and their clients.
fn linked(fixtures: &mut Vec<Fixture>) {
    let dynamic = || LibrarySpec {
        library_type: library_type::DYNAMIC,
        uuid: Some(UUID),
        dynamic: Some(DynamicSpec {
            name: Some(b"@rpath/libTools.metallib".to_vec()),
            linked: vec![b"@rpath/libMore.metallib".to_vec()],
        }),
        ..LibrarySpec::new(Dialect::Linker, 7)
    };
    let tools = |states_module_size| {
        ["_Z6brightDv4_f", "_Z4halff"].map(|name| FunctionSpec {
            reflection: Some(0),
            states_module_size,
            ..FunctionSpec::new(name, function_type::UNQUALIFIED)
        })
    };
    let shared = ReflectionSpec { code: *b"RBUF", content: reflections::version_only(2) };
    let library = LibrarySpec {
        functions: tools(true).to_vec(),
        modules: vec![module(air::LIBRARY)],
        reflections: vec![shared.clone()],
        exported_variables: vec![b"_ZL5gamma".to_vec()],
        ..dynamic()
    };
    fixtures.push(Fixture::library(
        "dynamic_library",
        "a dynamic library: functions that share a module and a reflection, an exported variable (VLST)",
        library.clone(),
    ));
    fixtures.push(Fixture::library(
        "stub",
        "a dynamic library with the stub bit set",
        LibrarySpec { stub: true, ..library },
    ));

    let mut client = scale(Dialect::Linker, 7);
    client.imported_symbols = vec![b"_Z6brightDv4_f".to_vec(), b"_Z4halff".to_vec()];
    client.dynamic = Some(DynamicSpec {
        name: None,
        linked: vec![b"@rpath/libTools.metallib".to_vec(), b"/usr/lib/libMore.metallib".to_vec()],
    });
    client.uuid = Some(UUID);
    fixtures.push(Fixture::library(
        "client",
        "an executable library linked against two dynamic ones, with imported symbols (ILST)",
        client,
    ));

    let mut companion = LibrarySpec { library_type: library_type::SYMBOL_COMPANION, ..dynamic() };
    companion.modules = vec![module(air::LIBRARY)];
    companion.functions = tools(true).to_vec();
    for function in &mut companion.functions {
        function.source_archive = Some(0);
        function.private.source_location = Some((3, "/unshade/tools.metal"));
        function.private.dependencies = vec!["/unshade/tools.air", "/unshade/more.air"];
    }
    companion.sources = Some(source_section(Some("/unshade"), vec![archive("0", 6, 1)]));
    companion.reflections = vec![shared];
    fixtures.push(Fixture::library(
        "companion",
        "a symbol companion (.metallibsym): sources, source locations and dependencies (DEPF)",
        companion,
    ));
}

fn archive(id: &'static str, level: u32, padded_to: usize) -> ArchiveSpec {
    let file = |path: &str, content: &str| SourceFile { path: path.into(), content: content.into() };
    let files = vec![
        file("metal-options.txt", "-O2 -std=metal3.1"),
        file("original-input-filename.txt", "/unshade/scale.metal"),
        file("/unshade/scale.metal", "kernel void scale(device float* data [[buffer(0)]]) { *data *= 2; }\n"),
    ];
    ArchiveSpec { id, files, level, padded_to }
}

fn source_section(working_directory: Option<&'static str>, archives: Vec<ArchiveSpec>) -> SourcesSpec {
    SourcesSpec {
        link_command: "metal -frecord-sources -o scale.metallib scale.metal",
        working_directory,
        archives,
    }
}

/// Embedded sources as written by each tool.
fn sources(fixtures: &mut Vec<Fixture>) {
    let mut add = |name: &str, stands_for: &str, mut spec: LibrarySpec, sources: SourcesSpec| {
        spec.functions[0].source_archive = Some(0);
        spec.functions[0].private.source_location = Some((1, "/unshade/scale.metal"));
        spec.sources = Some(sources);
        fixtures.push(Fixture::library(name, stands_for, spec));
    };
    add(
        "sources_legacy",
        "sources of the older tool (HSRC): an ID that is a name, padded to 10 KiB",
        scale(Dialect::LegacyTool, 4),
        source_section(None, vec![archive("scale", 9, 10 * 1024)]),
    );
    add(
        "sources_hsrc",
        "sources of the linker up to 1.2.5 (HSRC), padded to 16 KiB",
        scale(Dialect::Linker, 5),
        source_section(None, vec![archive("0", 9, 16 * 1024)]),
    );
    let runtime = ArchiveSpec {
        files: vec![SourceFile { path: "libmetal_rt_osx.a".into(), content: b"!<arch>\n".to_vec() }],
        ..archive("1", 6, 1)
    };
    add(
        "sources_hsrd",
        "sources of the newest linker (HSRD): two archives, not padded, the function uses the last",
        LibrarySpec { uuid: Some(UUID), ..scale(Dialect::Linker, 9) },
        source_section(Some("/unshade/build"), vec![archive("1", 6, 1), ArchiveSpec { id: "0", ..runtime }]),
    );
}

/// Rare and invalid content.
fn oddities(fixtures: &mut Vec<Fixture>) {
    let mut unknown = scale(Dialect::Linker, 7);
    unknown.functions[0].other_tags = vec![RawTag::new(b"WHAT", &[1, 2, 3])];
    unknown.functions[0].public.other_tags = vec![RawTag::new(b"PUBX", &[4, 5])];
    unknown.functions[0].private.other_tags = vec![RawTag::new(b"PRVX", &[6])];
    unknown.other_extension_tags = vec![RawTag::new(b"EXTX", &[7; 5])];
    fixtures.push(
        Fixture::library("unknown_tags", "unknown tags in all four places", unknown)
            .finding(Severity::Note, "unknown-tag")
            .finding(Severity::Note, "unknown-tag")
            .finding(Severity::Note, "unknown-tag")
            .finding(Severity::Note, "unknown-tag")
            .unknown(3 + 2 + 1 + 5),
    );

    let mut stray = LibrarySpec::new(Dialect::LegacyTool, 2);
    for (name, file) in [("scale", air::KERNEL), ("scale_again", air::KERNEL)] {
        let mut function = FunctionSpec::new(name, function_type::KERNEL);
        function.states_module_size = false;
        function.versions = [1, 8, 1, 1];
        stray = stray.with(function, ModuleSpec { stray_bytes: vec![0], ..module(file) });
    }
    fixtures.push(Fixture::library("stray_nul", "a NUL after each module, and no MDSZ", stray));

    let mut dxmt = LibrarySpec { os: (14, 4, 0), ..LibrarySpec::new(Dialect::SharedGroup, 7) };
    let mut corner = FunctionSpec::new("shader_main", function_type::VERTEX);
    corner.public.vertex_attributes =
        vec![VertexAttributeSpec { name: "attr0", index: 0, usage: 0, active: true, data_type: 6 }];
    dxmt.functions = vec![corner, FunctionSpec::new("shader_tint", function_type::FRAGMENT)];
    dxmt.modules = vec![module(air::SHADERS)];
    fixtures.push(Fixture::library(
        "dxmt",
        "the layout of dxmt: one group size for the whole function list, one module for all functions",
        dxmt,
    ));

    let mut bare = scale(Dialect::Linker, 7);
    bare.modules[0].padded = false;
    fixtures.push(
        Fixture::library("module_unpadded", "a module without padding", bare)
            .finding(Severity::Warning, "module-wrapper"),
    );

    let mut scripts = scale(Dialect::Linker, 9);
    scripts.scripts = vec![b"a pipeline script".to_vec(), Vec::new()];
    fixtures.push(Fixture::library(
        "scripts",
        "pipeline scripts (SLST with SBUF), whose content is invented",
        scripts,
    ));

    let mut compressed = scale(Dialect::Linker, 9).reflecting(b"not really compressed".to_vec());
    compressed.reflections[0].code = *b"RBUZ";
    fixtures.push(
        Fixture::library(
            "reflection_compressed",
            "a compressed reflection (RBUZ), whose content is invented",
            compressed,
        )
        .finding(Severity::Error, "reflection"),
    );
}

/// Universal files.
fn universal(fixtures: &mut Vec<Fixture>) {
    let slice = |cpu_type, cpu_subtype, data| SliceSpec { cpu_type, cpu_subtype, data };
    let library = air::assemble(scale(Dialect::Linker, 7));
    let Built { bytes, .. } = library.build();
    let spec = UniversalSpec { slices: vec![slice(cpu_type::AIR64, 0xc, bytes)] };
    let (_, _, places) = spec.build();
    fixtures.push(Fixture {
        name: "universal_air".into(),
        stands_for: "a universal file with only an AIR slice".into(),
        content: Content::Universal(spec, vec![(library, places[0].clone())]),
        findings: Vec::new(),
        unknown_bytes: 0,
    });

    let mut library = settings(9);
    library.source_link = true;
    library.uuid = Some(UUID);
    let library = air::assemble(library);
    let built = library.build();
    let object = GpuObjectSpec {
        cpu_subtype: 0x212,
        module_hash: built.module_hash(0),
        library: built.bytes.clone(),
        reflection: reflections::kernel("scale", 4),
        uuid: UUID,
    };
    let built_object = object.build();
    let spec = UniversalSpec {
        slices: vec![
            slice(cpu_type::AIR64, 0xc, built.bytes.clone()),
            slice(cpu_type::APPLE_GPU, object.cpu_subtype, built_object.bytes),
        ],
    };
    let (_, _, places) = spec.build();
    let inside = places[1].start + built_object.library;
    let findings = [other_layouts(&library), other_layouts(&library)].concat();
    fixtures.push(Fixture {
        name: "universal_archive".into(),
        stands_for:
            "a binary archive: an AIR slice with a source link (HSRP), and a GPU Mach-O with notes and \
            the library padded to 16"
                .into(),
        content: Content::Universal(
            spec,
            vec![(library.clone(), places[0].clone()), (library, inside..inside + built.bytes.len())],
        ),
        findings,
        unknown_bytes: 0,
    });
}
