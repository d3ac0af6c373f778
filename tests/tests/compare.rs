//! Libraries load on their target, and every file is equal to itself and different from all others.

use std::collections::BTreeMap;
use unshade::diff::{ContainerDiff, LibraryDiff};
use unshade::load_check::{LibraryFacts, Outcome, check, made_for, minimum};
use unshade::survey::{Show, Survey};
use unshade_dxcontainer::Container;
use unshade_metallib::{Library, outline};
use unshade_tests::{corpus, dxcontainers, fixtures};

/// Checks whether a library loads on its target OS; `None` if it has no target.
fn loads_at_home(data: &[u8]) -> Option<Outcome> {
    let facts = LibraryFacts::read(&Library::parse(data).expect("a library"));
    let home = made_for(&facts)?;
    let outcome = check(&facts, home).outcome;
    let oldest = minimum(&facts, home.platform);
    assert!(outcome.is_failure() || oldest.is_some_and(|oldest| oldest <= home), "{home}: {oldest:?}");
    Some(outcome)
}

#[test]
fn real_libraries_load_where_they_were_made_for() {
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    for file in corpus::smallest_libraries(usize::MAX, "judging every real library", |data| data.len() > 8) {
        let outcome = loads_at_home(&file.data);
        assert!(!outcome.is_some_and(Outcome::is_failure), "{}: {outcome:?}", file.name);
        *outcomes.entry(format!("{outcome:?}")).or_default() += 1;
    }
    eprintln!("{outcomes:?}");
}

#[test]
fn fixtures_load_where_they_were_made_for() {
    // The first has a wrong target on purpose, and a stub is only for linking. The header of the last says visionOS,
    // but its module says macOS.
    let wrong = ["platform_flag", "stub", "other_target"];
    let mut judged = 0;
    for fixture in fixtures::all().iter().filter(|fixture| !fixture.name.starts_with("universal")) {
        let outcome = loads_at_home(&fixture.build().0);
        let fails = outcome.is_some_and(Outcome::is_failure);
        assert_eq!(fails, wrong.contains(&fixture.name.as_str()), "{}: {outcome:?}", fixture.name);
        judged += u32::from(outcome.is_some());
    }
    assert!(judged > 30, "{judged}");
}

#[test]
fn libraries_differ_from_others_and_not_from_themselves() {
    let all = fixtures::all();
    let libraries: Vec<_> = all
        .iter()
        .filter(|fixture| !fixture.name.starts_with("universal"))
        .map(|fixture| (fixture.name.clone(), fixture.build().0))
        .collect();
    for (index, (name, before)) in libraries.iter().enumerate() {
        let parse = |data| Library::parse(data).expect("a library");
        let same = LibraryDiff::new(parse(before), parse(before));
        assert!(same.identical && same.is_empty(), "{name}: {same:?}");
        for (other, after) in libraries.get(index + 1..).unwrap_or_default() {
            let diff = LibraryDiff::new(parse(before), parse(after));
            assert!(!diff.is_empty() || before == after, "{name} {other}");
            for pair in diff.changed.iter().chain(&diff.renamed) {
                let change = diff.change(pair, 3);
                let differs =
                    !change.fields.is_empty() || change.module_changed || !change.declaration.is_empty();
                assert!(differs || pair.before.name != pair.after.name, "{name} {other}: {change:?}");
            }
        }
    }
}

#[test]
fn containers_differ_from_others_and_not_from_themselves() {
    let all = dxcontainers::all();
    for (index, before) in all.iter().enumerate() {
        let parse = |data| Container::parse(data).expect("a container");
        let same = ContainerDiff::new(&parse(&before.data), &parse(&before.data), 3);
        assert!(same.identical && same.parts.is_empty() && same.same > 0, "{}: {same:?}", before.name);
        for after in all.get(index + 1..).unwrap_or_default() {
            let diff = ContainerDiff::new(&parse(&before.data), &parse(&after.data), 3);
            assert!(!diff.parts.is_empty(), "{} {}", before.name, after.name);
        }
    }
}

#[test]
fn every_byte_is_counted_once() {
    for fixture in fixtures::all().iter().filter(|fixture| !fixture.name.starts_with("universal")) {
        let data = fixture.build().0;
        let library = Library::parse(&data).expect("a library");
        let mut survey = Survey::default();
        survey.program("library", data.len() as u64, |sink| outline::library(&library, sink));
        let report = survey.report(Show::All);
        let top: u64 = report.fields.iter().filter(|field| field.depth == 1).map(|field| field.bytes).sum();
        assert_eq!((report.bytes, top), (data.len() as u64, data.len() as u64), "{}", fixture.name);
    }
}
