//! The metadata of DXIL: in the fixtures, and in damaged modules.

use std::panic::{AssertUnwindSafe, catch_unwind};
use unshade::dxil::assemble::{Lost, Options, assemble, container, replace};
use unshade::dxil::{DxilModule, ResourceClass};
use unshade::llvm::Module;
use unshade::llvm::assemble::{self as assembly, AssembleOptions, Version};
use unshade::llvm::print::{self, Dialect, PrintOptions};
use unshade::llvm::write::{self, WriteOptions};
use unshade::{check_dxcontainer, view::ContainerView};
use unshade_core::Severity;
use unshade_dxcontainer::digest::Digest;
use unshade_dxcontainer::file::OwnedPart;
use unshade_dxcontainer::psv0::{Interpolation, ResourceKind};
use unshade_dxcontainer::{Container, DxFile, PartData, program};
use unshade_tests::dxcontainers::{self, Fixture, exercise_program};
use unshade_tests::mutate::{self, Random};
use unshade_tests::parallel;

fn fixture(name: &str) -> Vec<u8> {
    dxcontainers::all().into_iter().find(|fixture| fixture.name == name).expect("the fixture").data
}

/// Parses the metadata of a part of a fixture.
fn dxil(name: &str, part: &[u8; 4]) -> DxilModule {
    let data = fixture(name);
    let container = Container::parse(&data).unwrap();
    let (_, bitcode) = program::bitcode(container.find(part).unwrap().data).unwrap();
    let module = Module::parse(bitcode.data(), bitcode.base()).unwrap();
    let dxil = DxilModule::read(&module, bitcode.base());
    assert!(dxil.diagnostics.is_empty(), "{name}");
    dxil
}

#[test]
fn a_compute_shader() {
    let program = dxil("compute", b"DXIL");
    assert_eq!((program.version, program.validator), (Some([1, 0]), Some([1, 10])));
    // The names are only in the reflection.
    assert!(program.resources.iter().all(|resource| resource.name.0.is_empty()));
    let dxil = dxil("compute", b"STAT");
    assert_eq!(dxil.entries[0].properties.threads, Some([8, 4, 2]));
    let buffer = dxil.resources_of(ResourceClass::UAV).next().unwrap();
    assert_eq!((buffer.kind, buffer.stride, buffer.space), (ResourceKind::STRUCTURED_BUFFER, Some(44), 2));
    let constants = dxil.resources_of(ResourceClass::CBUFFER).next().unwrap();
    assert_eq!((constants.size, constants.register_range().as_str()), (Some(20), "b3"));
    let names = dxil.annotations.values().flat_map(|known| &known.fields).map(|field| field.name.to_string());
    assert!(names.collect::<Vec<_>>().contains(&"idx".to_owned()));
}

#[test]
fn a_domain_shader_has_a_state_of_three_signatures() {
    let dxil = dxil("domain", b"DXIL");
    let [inputs, outputs, patch] = &dxil.entries[0].signatures;
    assert!(!inputs.is_empty() && !outputs.is_empty() && !patch.is_empty());
    let state = dxil.view_id.unwrap();
    assert!(state.patch_inputs.is_some_and(|count| count > 0));
    assert!(!state.patch_dependencies.is_empty());
}

#[test]
fn interpolation_is_shown_in_signature_rows() {
    let dxil = dxil("pixel_1_6", b"DXIL");
    assert!(dxil.entries[0].signatures[0].iter().any(|e| e.interpolation == Interpolation::LINEAR_SAMPLE));
    let data = fixture("pixel_1_6");
    let view = ContainerView::new(&Container::parse(&data).unwrap());
    let row = view.signatures.iter().find(|row| row.name == "SMP0").unwrap();
    assert_eq!(row.interpolation, "LinearSample");
}

#[test]
fn a_work_graph_has_nodes() {
    let dxil = dxil("work_graph", b"DXIL");
    assert!(dxil.is_library());
    let launches = dxil.entries.iter().filter_map(|entry| entry.properties.node.as_ref()?.launch_type);
    assert_eq!(launches.map(|launch| launch.0).collect::<Vec<_>>(), [1, 2, 3]);
}

/// Returns the rules that a container violates with severity error.
fn errors(file: &DxFile) -> Vec<&'static str> {
    let bytes = file.write().unwrap();
    let findings = check_dxcontainer(&Container::parse(&bytes).unwrap());
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| finding.rule).filter(|rule| *rule != "dx-digest").collect()
}

/// Changes a part of a fixture, and expects a violation of `rule`.
fn changed(name: &str, part: &[u8; 4], rule: &str, change: impl FnOnce(&mut PartData)) {
    let mut file = DxFile::parse(&fixture(name)).unwrap();
    assert!(errors(&file).is_empty(), "{name}: {:?}", errors(&file));
    let found = file.parts.iter_mut().find(|found: &&mut OwnedPart| found.name.0 == *part).unwrap();
    change(&mut found.data);
    assert!(errors(&file).contains(&rule), "{name}: {:?}", errors(&file));
}

#[test]
fn parts_are_checked_against_the_module() {
    changed("mesh", b"SFI0", "dx-features", |part| {
        if let PartData::Features(features) = part {
            features.flags |= 1 << 14;
        }
    });
    changed("library", b"SFI0", "dx-features", |part| {
        if let PartData::Features(features) = part {
            features.flags |= 1;
        }
    });
    changed("pixel_1_6", b"ISG1", "dx-signature", |part| {
        if let PartData::Signature(signature) = part {
            signature.elements[0].core.index = 7;
        }
    });
    changed("compute", b"PSV0", "dx-psv", |part| {
        if let PartData::Psv0(psv0) = part {
            psv0.info.threads = Some([1, 1, 1]);
        }
    });
    changed("compute", b"PSV0", "dx-psv", |part| {
        if let PartData::Psv0(psv0) = part {
            psv0.resources[0].binding.space = 9;
        }
    });
    changed("compute", b"DXIL", "dx-program", |part| {
        if let PartData::Program(program) = part {
            program.header.version = 0x0005_0066;
        }
    });
}

#[test]
fn tables_of_every_fixture() {
    let fixtures = dxcontainers::programs();
    assert!(fixtures.len() > 8);
    for Fixture { name, data } in fixtures {
        let text = exercise_program(&data).unwrap();
        assert!(text.contains("; Resource Bindings:\n"), "{name}: {text}");
    }
}

#[test]
fn damaged_modules() {
    let fixtures = dxcontainers::programs();
    parallel::for_each(&fixtures, |Fixture { name, data }| {
        let container = Container::parse(data).unwrap();
        let parts: Vec<_> = [b"DXIL", b"STAT"].into_iter().filter_map(|part| container.find(part)).collect();
        let mut random = Random::new(name.len() as u64);
        for run in 0..300 {
            // Damage the bitcode only: damaged containers are tested with their parts.
            let part = &parts[run % parts.len()];
            let start = part.data.base() as usize + 24;
            let end = start + part.data.data().len() - 24;
            let mut bitcode = data[start..end].to_vec();
            mutate::mutate(&mut bitcode, &[], &mut random);
            bitcode.resize(end - start, 0);
            let changed = [&data[..start], &bitcode, &data[end..]].concat();
            catch_unwind(AssertUnwindSafe(|| exercise_program(&changed)))
                .unwrap_or_else(|_| panic!("{name}, run {run}: see the panic above"));
        }
    });
}

/// Returns the text of the program in a part.
fn program_text(container: &Container<'_>, part: &[u8; 4]) -> String {
    let (_, bitcode) = program::bitcode(container.find(part).unwrap().data).unwrap();
    text_of(bitcode.data())
}

fn text_of(bitcode: &[u8]) -> String {
    let module = Module::parse(bitcode, 0).unwrap();
    let mut text = String::new();
    let options = PrintOptions { dialect: Dialect::Dxc, ..PrintOptions::default() };
    assert!(print::module(&module, &options, &mut text).is_empty());
    text
}

/// Assembles a text of DXC's dialect.
fn bitcode_of(text: &str) -> Vec<u8> {
    let assembled =
        assembly::assemble(text.as_bytes(), &AssembleOptions { version: Version::of(text.as_bytes()) });
    let options = WriteOptions { version: Version::Dxc, ..WriteOptions::default() };
    write::module(&assembled.unwrap().input(), &options).unwrap()
}

const FROM_TEXT: Options = Options {
    root_signature: None,
    subobjects: None,
    parts: Vec::new(),
    reflection: true,
    split_debug: true,
};

#[test]
fn a_container_is_made_of_text() {
    for Fixture { name, data } in dxcontainers::programs() {
        let theirs = Container::parse(&data).unwrap();
        let text = program_text(&theirs, b"DXIL");
        let bitcode = bitcode_of(&text);
        let ours = container(&bitcode, &FROM_TEXT).unwrap();
        let ours = Container::parse(&ours).unwrap();
        assert_eq!(program_text(&ours, b"DXIL"), text, "{name}");
        assert!(errors(&DxFile::parse(ours.file().data()).unwrap()).is_empty(), "{name}");
        for part in [b"SFI0", b"ISG1", b"OSG1", b"PSG1", b"PSV0"] {
            let data = |container: &Container<'_>| container.find(part).map(|part| part.data.data().to_vec());
            assert!(data(&ours) == data(&theirs), "{name}: {}", String::from_utf8_lossy(part));
        }
        // All is there but the names, which are in no other part.
        let statistics = dxil_of(&ours, b"STAT");
        assert_eq!(
            (statistics.validator, statistics.entries.len()),
            (Some([0, 0]), dxil(&name, b"DXIL").entries.len())
        );
    }
}

fn dxil_of(container: &Container<'_>, part: &[u8; 4]) -> DxilModule {
    let (_, bitcode) = program::bitcode(container.find(part).unwrap().data).unwrap();
    DxilModule::read(&Module::parse(bitcode.data(), 0).unwrap(), 0)
}

/// The container of a program that was assembled from its own text is the same but for the numbers of metadata kinds.
#[test]
fn a_program_is_replaced_with_its_text() {
    for Fixture { name, data } in dxcontainers::programs() {
        let theirs = Container::parse(&data).unwrap();
        let bitcode = bitcode_of(&program_text(&theirs, b"DXIL"));
        let replaced = replace(&DxFile::parse(&data).unwrap(), &bitcode).unwrap();
        let ours = Container::parse(&replaced.bytes).unwrap();
        // A shader model that is not released yet has a marker instead.
        assert!([ours.computed_digest(), Digest::PREVIEW_BYPASS].contains(&ours.header().digest), "{name}");
        let debug = theirs.find(b"ILDB").is_some();
        assert_eq!(replaced.lost.contains(&Lost::DebugInfo), debug, "{name}");
        assert!(!replaced.lost.contains(&Lost::Reflection), "{name}");
        let program = [*b"DXIL", *b"HASH", *b"ILDB", *b"ILDN"];
        for part in theirs.found_parts().filter(|part| !program.contains(&part.name.0)) {
            let found = ours.find(&part.name.0).unwrap_or_else(|| panic!("{name}: {}", part.name));
            assert!(found.data.data() == part.data.data(), "{name}: {}", part.name);
        }
    }
}

#[test]
fn another_program_renews_the_parts() {
    let data = fixture("compute");
    let file = DxFile::parse(&data).unwrap();
    let text = program_text(&Container::parse(&data).unwrap(), b"DXIL");
    let changed = text.replacen("i32 8, i32 4, i32 2", "i32 16, i32 4, i32 2", 1);
    assert_ne!(changed, text);
    let replaced = replace(&file, &bitcode_of(&changed)).unwrap();
    assert_eq!(replaced.lost, [Lost::Reflection]);
    let container = Container::parse(&replaced.bytes).unwrap();
    assert_eq!(dxil_of(&container, b"DXIL").entries[0].properties.threads, Some([16, 4, 2]));
    assert_eq!(dxil_of(&container, b"STAT").entries[0].properties.threads, Some([16, 4, 2]));
    let file = DxFile::parse(&replaced.bytes).unwrap();
    assert!(errors(&file).is_empty());
    // A container without a program has nothing to replace.
    let empty = DxFile::parse(&fixture("root_signature")).unwrap();
    assert!(replace(&empty, &bitcode_of(&text)).is_err());
}

#[test]
fn debug_information_becomes_a_part() {
    let text = include_str!("../../crates/unshade-llvm/tests/fixtures/dxc.ll");
    let bitcode = bitcode_of(text);
    let file = assemble(&bitcode, &FROM_TEXT).unwrap();
    let names: Vec<String> = file.parts.iter().map(|part| part.name.to_string()).collect();
    assert_eq!(names, ["SFI0", "RDAT", "ILDB", "STAT", "ILDN", "HASH", "DXIL"]);
    let bytes = file.write().unwrap();
    let container = Container::parse(&bytes).unwrap();
    assert_eq!(program_text(&container, b"ILDB"), text);
    let stripped = program_text(&container, b"DXIL");
    assert!(
        !stripped.contains("DIFile") && !stripped.contains("llvm.dbg") && !stripped.contains("Dwarf Version")
    );
    // The name is that of the hash, which includes the source.
    let part = |name: &[u8; 4]| container.find(name).unwrap().data.data().to_vec();
    let digest: String = part(b"HASH")[4..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(part(b"HASH")[0], 1);
    assert!(part(b"ILDN").windows(36).any(|name| name == format!("{digest}.pdb").as_bytes()));
    // Without the option it stays in the program.
    let file = assemble(&bitcode, &Options::default()).unwrap();
    assert!(file.parts.iter().all(|part| part.name.0 != *b"ILDB"));
}
