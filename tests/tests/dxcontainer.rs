//! DXContainers: every fixture is parsed, written, verified and round-tripped through YAML; truncated at every byte,
//! and with every byte changed. Also damaged YAML.

mod counting;

use counting::Counting;
use std::panic::{AssertUnwindSafe, catch_unwind};
use unshade_core::{Severity, outline::Coverage};
use unshade_dxcontainer::msf::Msf;
use unshade_dxcontainer::part::PartData;
use unshade_dxcontainer::{Container, Digest, DxFile, document, outline, verify};
use unshade_tests::dx_edits::EDITS;
use unshade_tests::dxcontainers::{self, Fixture, exercise, exercise_database};
use unshade_tests::mutate::{self, Random};
use unshade_tests::parallel;

/// Fraction of the changes for which YAML is round-tripped, because that is by far the slowest step.
const YAML_EVERY: usize = 23;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the memory limit for a file of this size. Typed parts own their content, including names and numbers of a
/// few bytes, and a check holds several copies of the file: parsed, written, signed.
fn heap_limit(file_size: usize) -> u64 {
    12 * file_size as u64 + (1 << 20)
}

/// Returns the memory limit including YAML: a node for each number above 255, and the text.
fn yaml_heap_limit(file_size: usize) -> u64 {
    96 * file_size as u64 + (1 << 20)
}

fn check(what: &str, work: impl FnOnce() -> Vec<String>) {
    let faults =
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panic!("{what}: see the panic above"));
    assert!(faults.is_empty(), "{what}: {faults:#?}");
}

/// Calls the whole API on a file, with a memory limit in proportion to its size.
fn check_file(what: &str, data: &[u8], yaml: bool) {
    let mut peak = 0;
    check(what, || {
        let (faults, most) = counting::peak(|| exercise(data, yaml));
        peak = most;
        faults
    });
    let limit = if yaml { yaml_heap_limit(data.len()) } else { heap_limit(data.len()) };
    assert!(
        peak <= limit,
        "{what}: {peak} bytes of memory for {} of the file, more than {limit}",
        data.len()
    );
}

#[test]
fn fixtures_survive_a_round_trip() {
    let fixtures = dxcontainers::all();
    assert!(fixtures.len() > 15);
    for Fixture { name, data } in fixtures {
        check(&name, || exercise(&data, true));
        let file = DxFile::parse(&data).unwrap();
        assert!(file.layout.is_none(), "{name}");
        assert!(file.parts.iter().all(|part| part.fault.is_none()), "{name}");
    }
}

#[test]
fn fixtures_are_valid_and_have_no_unknown_bytes() {
    for Fixture { name, data } in dxcontainers::all() {
        let container = Container::parse(&data).unwrap();
        let findings = verify::container(&container);
        let errors: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let mut coverage = Coverage::starting_at(0);
        outline::container(&container, &mut coverage);
        assert_eq!(coverage.unknown_bytes(), 0, "{name}");
    }
}

/// Uses a file that is large compared to the constant part of the limits.
#[test]
fn memory_is_proportional_for_large_files() {
    for Fixture { name, data } in dxcontainers::all() {
        let mut file = DxFile::parse(&data).unwrap();
        let parts = file.parts.clone();
        while file.parts.len() < 2_000 {
            file.parts.extend(parts.iter().cloned());
        }
        file.layout = None;
        let large = file.write_signed().unwrap();
        let ((), read) = counting::peak(|| check_file(&name, &large, false));
        let ((), yaml) = counting::peak(|| check_file(&name, &large, true));
        let ratio = |peak: u64| peak / large.len() as u64;
        eprintln!("{name}: {} times the file, with YAML {} times", ratio(read), ratio(yaml));
    }
}

#[test]
fn signing_reproduces_the_digest_of_the_compiler() {
    let mut signed = 0;
    for Fixture { name, data } in dxcontainers::all() {
        let mut file = DxFile::parse(&data).unwrap();
        if file.digest.marker().is_some() {
            continue;
        }
        let digest = std::mem::take(&mut file.digest);
        assert!(file.write_signed().unwrap() == data, "{name}");
        assert_eq!(file.digest, digest, "{name}");
        signed += 1;
    }
    assert!(signed > 10);
}

#[test]
fn a_change_breaks_the_digest_and_signing_repairs_it() {
    let mut file = DxFile::parse(&dxcontainers::all()[0].data).unwrap();
    file.parts.retain(|part| part.name.0 != *b"STAT");
    let bytes = file.write().unwrap();
    let rules = |bytes: &[u8]| -> Vec<&str> {
        verify::container(&Container::parse(bytes).unwrap()).iter().map(|finding| finding.rule).collect()
    };
    assert!(rules(&bytes).contains(&"dx-digest"));
    let signed = file.write_signed().unwrap();
    assert!(!rules(&signed).contains(&"dx-digest"));
    assert_ne!(file.digest, Digest::UNSIGNED);
}

#[test]
fn every_edit_preserves_the_other_parts_and_signs() {
    let fixtures = dxcontainers::all();
    for edit in EDITS {
        let mut edited = 0;
        for Fixture { name, data } in &fixtures {
            if let Some(faults) = edit.check(data) {
                assert!(faults.is_empty(), "{}: {name}: {faults:?}", edit.name);
                edited += 1;
            }
        }
        assert!(edited > 0, "{}: no fixture can be edited this way", edit.name);
    }
}

#[test]
fn a_name_can_be_changed_in_yaml() {
    let fixtures = dxcontainers::all();
    let data = &fixtures.iter().find(|fixture| fixture.name == "view_id").unwrap().data;
    let text = document::to_yaml(&DxFile::parse(data).unwrap()).unwrap();
    let file = document::from_yaml(&text.replace("SV_Position", "SV_PositionOfSomething")).unwrap();
    let bytes = file.write().unwrap();
    let read = DxFile::parse(&bytes).unwrap();
    let PartData::Signature(signature) = &read.find(b"OSG1").unwrap().data else { panic!("no signature") };
    assert!(signature.elements.iter().any(|element| element.name.0 == b"SV_PositionOfSomething"));
}

#[test]
fn invalid_yaml_is_reported_with_line_and_column() {
    let text = document::to_yaml(&DxFile::parse(&dxcontainers::all()[0].data).unwrap()).unwrap();
    let replaced = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        document::from_yaml(&changed).map(|_| ()).unwrap_err().to_string()
    };
    for (from, to, message) in [
        ("Major:           1", "Major:           x", "wrong kind of value"),
        ("Hash:            [ 0x", "Hash:            [ 0x1", "Hash"),
        ("Name:            SFI0", "Name:            SFI01", "four characters"),
        ("ShaderStage:", "ShaderStages:", "missing"),
        ("Parts:", "Partz:", "unknown key `Partz`"),
    ] {
        let error = replaced(from, to);
        assert!(error.contains(message) && error.contains("line "), "{from}: {error}");
    }
}

#[test]
fn yaml_with_anchors_is_rejected() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\n";
    assert!(document::from_yaml(bomb).unwrap_err().to_string().contains("anchors"));
}

#[test]
fn a_program_database_has_sources_and_arguments() {
    let database = &dxcontainers::program_databases()[0];
    let (_, container) = Msf::parse(&database.data).unwrap().container().unwrap();
    let file = DxFile::parse(&container).unwrap();
    let PartData::Sources(sources) = &file.find(b"SRCI").unwrap().data else { panic!("no sources") };
    let files = sources.files().unwrap();
    assert_eq!(files[0].name.as_str(), Some("Z:\\w\\hlsl\\rootsig.hlsl"));
    assert!(files[0].text.as_str().unwrap().contains("RootFlags"));
    assert!(sources.arguments().any(|(name, _)| name.0 == b"Qpdb_in_private"));
}

#[test]
fn fixtures_truncated_at_every_byte() {
    let fixtures = dxcontainers::all();
    parallel::for_each(&fixtures, |Fixture { name, data }| {
        for length in 0..data.len() {
            let yaml = length % YAML_EVERY == 0;
            check_file(&format!("{name} cut off at {length:#x}"), &data[..length], yaml);
        }
    });
}

#[test]
fn fixtures_with_every_byte_changed() {
    let exhaustive = std::env::var_os("UNSHADE_EXHAUSTIVE").is_some();
    let fixtures = dxcontainers::all();
    parallel::for_each(&fixtures, |Fixture { name, data }| {
        let mut changed = data.clone();
        let mut runs = 0;
        for at in 0..data.len() {
            // The parser does not interpret code, so only some of its bytes are changed.
            if !exhaustive && at > 1500 && at % 7 != 0 {
                continue;
            }
            for value in mutate::byte_values(data[at], exhaustive) {
                changed[at] = value;
                runs += 1;
                let what = format!("{name} with {value:#04x} at {at:#x}");
                check_file(&what, &changed, runs % YAML_EVERY == 0);
            }
            changed[at] = data[at];
        }
    });
}

#[test]
fn databases_truncated_and_changed() {
    for Fixture { name, data } in dxcontainers::program_databases() {
        let mut random = Random::new(7);
        for _ in 0..2_000 {
            let mut changed = data.clone();
            mutate::mutate(&mut changed, &[32..36, 40..44, 44..48, 52..56], &mut random);
            check(&name, || exercise_database(&changed));
        }
    }
}

#[test]
fn damaged_yaml_never_panics() {
    let fixtures = dxcontainers::all();
    parallel::for_each(&fixtures, |Fixture { name, data }| {
        let text = document::to_yaml(&DxFile::parse(data).unwrap()).unwrap();
        let mut random = Random::new(name.len() as u64);
        for _ in 0..150 {
            let mut changed = text.clone().into_bytes();
            mutate::mutate(&mut changed, &[], &mut random);
            let changed = String::from_utf8_lossy(&changed).into_owned();
            check(name, || {
                if let Ok(file) = document::from_yaml(&changed) {
                    let _ = file.write();
                }
                Vec::new()
            });
        }
    });
}
