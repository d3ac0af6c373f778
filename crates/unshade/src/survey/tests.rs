//! Tests surveys on synthetic outlines.

use super::*;
use crate::link::{LinkInput, LinkOptions, link};
use unshade_core::Value;
use unshade_metallib::LibraryFile;
use unshade_metallib::edit::Strip;

/// A program with a version in its header and items of (kind, size, flag).
fn program(survey: &mut Survey, version: u64, items: &[(u64, u64, Option<u64>)]) {
    survey.program("test", 100, |sink| {
        sink.open(Field::group("header", 0..4));
        sink.leaf(Field::new("version", Value::Number(version), 0..4));
        sink.close();
        sink.open(Field::group("list", 4..100));
        for (index, (kind, size, flag)) in items.iter().enumerate() {
            sink.open(Field::group(format!("item {index}"), 4..12));
            sink.leaf(Field::new("kind", Value::Hex(*kind), 4..5));
            sink.leaf(Field::new("length", Value::Number(*size), 5..6));
            if let Some(flag) = flag {
                let meaning = if *flag == 9 { "0x9 (unknown)" } else { "fine" };
                sink.leaf(Field::new("flag", Value::Hex(*flag), 6..7).meaning(meaning));
            }
            sink.leaf(Field::new("unknown", Value::Bytes(b"??"), 7..9));
            sink.close();
        }
        sink.close();
    });
}

fn sample() -> Survey {
    let mut survey = Survey::default();
    for round in 0..40 {
        program(&mut survey, 1, &[(1, round, None), (2, round + 100, None)]);
        program(&mut survey, 2, &[(1, round, Some(3)), (2, round + 500, Some(9)), (1, 7, Some(3))]);
    }
    survey
}

fn field<'r>(report: &'r SurveyReport, path: &str) -> &'r FieldReport {
    report.fields.iter().find(|field| field.path == path).unwrap()
}

#[test]
fn values_are_counted() {
    let report = sample().report(Show::All);
    assert_eq!((report.programs, report.bytes, report.unknown_bytes), (80, 8_000, 400));
    let version = field(&report, "test/header/version");
    assert_eq!((version.count, version.programs, version.range), (80, 80, Some((1, 2))));
    let kind = field(&report, "test/list/item/kind");
    let counts: Vec<_> = kind.values.iter().map(|value| (value.value.as_str(), value.count)).collect();
    assert_eq!(counts, [("0x1", 120), ("0x2", 80)]);
    let size = field(&report, "test/list/item/length");
    assert_eq!((size.values.len(), size.range), (MAX_VALUES, Some((0, 539))));
    let kept: u64 = size.values.iter().map(|value| value.count).sum();
    assert_eq!(kept + size.other_values, 200);
    assert_eq!(field(&report, "test/list/item").uncovered_bytes, 8 * 200 - (2 + 2) * 200 - 120);
}

#[test]
fn dependencies_are_found() {
    let report = sample().report(Show::All);
    let items = report.records.iter().find(|record| record.record == "test/list/item").unwrap();
    assert_eq!((items.count, items.signatures), (200, 4));
    let dependency =
        items.dependencies.iter().find(|one| one.field == "flag" && one.decides.ends_with("version"));
    let cases: Vec<_> = dependency
        .unwrap()
        .cases
        .iter()
        .map(|case| (case.when.as_str(), case.then.as_str(), case.count))
        .collect();
    assert_eq!(cases, [("absent", "1", 80), ("0x3 fine", "2", 80), ("0x9 0x9 (unknown)", "2", 40)]);
    // The kind does not decide the flag: it depends on the version, too.
    assert!(!items.dependencies.iter().any(|one| one.field == "kind" && one.decides == "flag"));
}

#[test]
fn exceptions_are_counted() {
    let mut survey = Survey::default();
    for round in 0..1_000 {
        let flag = if round == 500 { 5 } else { 3 };
        program(&mut survey, round % 3, &[(1, 0, Some(flag)), (2, 0, Some(5))]);
    }
    let report = survey.report(Show::All);
    let items = report.records.iter().find(|record| record.record == "test/list/item").unwrap();
    let found = items.dependencies.iter().find(|one| one.field == "kind" && one.decides == "flag").unwrap();
    assert_eq!(found.exceptions, 1);
}

#[test]
fn unknown_fields_are_found() {
    let report = sample().report(Show::Unknown);
    let paths: Vec<&str> = report.fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(paths, ["test/list", "test/list/item", "test/list/item/unknown", "test/list/item/flag"]);
    let flag = field(&report, "test/list/item/flag");
    assert!(flag.values.iter().any(|value| value.unknown) && !flag.values.iter().all(|value| value.unknown));
}

#[test]
fn merging_equals_counting_at_once() {
    let whole = sample().report(Show::All);
    let mut merged = Survey::default();
    for round in 0..40 {
        let mut one = Survey::default();
        program(&mut one, 2, &[(1, round, Some(3)), (2, round + 500, Some(9)), (1, 7, Some(3))]);
        let mut other = Survey::default();
        program(&mut other, 1, &[(1, round, None), (2, round + 100, None)]);
        merged.merge(other);
        merged.merge(one);
    }
    let merged = merged.report(Show::All);
    assert_eq!(whole.bytes, merged.bytes);
    assert_eq!(format!("{:?}", whole.records), format!("{:?}", merged.records));
    let counts = |report: &SurveyReport| -> Vec<(String, u64, u64)> {
        report.fields.iter().map(|field| (field.path.clone(), field.count, field.programs)).collect()
    };
    assert_eq!(counts(&whole), counts(&merged));
}

#[test]
fn memory_is_bounded() {
    let mut survey = Survey::default();
    survey.program("hostile", 1, |sink| {
        for number in 0..MAX_FIELDS + 100 {
            sink.leaf(Field::new(format!("f{number}x"), Value::Number(number as u64), 0..1));
        }
        for _ in 0..1_000 {
            sink.open(Field::group("deep", 0..1));
        }
        for _ in 0..1_000 {
            sink.close();
        }
    });
    assert_eq!(survey.entries.len(), MAX_FIELDS);
    let mut survey = Survey::default();
    survey.program("hostile", 1, |sink| {
        for record in 0..MAX_SIGNATURES as u64 * 4 {
            sink.open(Field::group(format!("record {record}"), 0..1));
            for bit in 0..15 {
                sink.leaf(Field::new(format!("bit{bit}"), Value::Number(record >> bit & 1), 0..1));
            }
            sink.close();
        }
    });
    assert!(survey.signatures.len() <= MAX_SIGNATURES && survey.dropped > 0);
    let mut ever_deeper = Survey::default();
    ever_deeper.program("hostile", 1, |sink| (0..1_000).for_each(|_| sink.open(Field::group("deep", 0..1))));
    assert!(ever_deeper.entries.len() < 100);
}

/// What a library's reflection would say is counted from the metadata of its modules if it has none.
#[test]
fn metadata_is_counted_where_there_is_no_reflection() {
    let bytes = &include_bytes!("../../../../tests/fixtures/air/kernel.bc")[..];
    let input = LinkInput { name: "kernel.air".into(), bytes: bytes.into(), is_member: false };
    let mut file = link(&[input], &LinkOptions::default()).expect("nothing is missing").file;
    let names = |file: &LibraryFile<'_>| {
        let bytes = file.write().expect("a library").to_vec();
        let mut survey = Survey::default();
        survey.metadata(&Library::parse(&bytes).expect("a library"));
        let report = survey.report(Show::All);
        assert_eq!((report.bytes, report.uncovered_bytes, report.unknown_bytes), (0, 0, 0));
        report.fields.into_iter().map(|field| field.path).collect::<Vec<_>>()
    };
    assert!(names(&file).is_empty(), "the library has a reflection");
    file.strip(Strip::Reflection);
    let names = names(&file);
    assert!(names.iter().any(|path| path.ends_with("access_qualifier")), "{names:?}");
}
