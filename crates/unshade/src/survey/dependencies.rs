//! Finds dependencies between fields from the signatures of records.
//!
//! Fields whose values always change together are *alike*. A field *decides* another one if each of its values occurs
//! with only one value of the other. A few exceptions are allowed and counted, because they are often of interest.

use super::collect::{PRESENT, SEVERAL, Survey};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of dependencies that are reported per kind of record.
const MAX_DEPENDENCIES: usize = 100;
/// Maximum number of cases that are reported per dependency.
const MAX_CASES: usize = 16;
/// A dependency may have at most one exception per this number of records.
const EXCEPTION_RATE: u64 = 500;
/// Always guessing the most frequent value must be wrong at least this many times as often as the dependency.
const GAIN: u64 = 10;
/// Minimum number of records of a kind.
const MIN_RECORDS: u64 = 4;

/// A kind of record, with the dependencies between its fields.
#[derive(Clone, Debug, Serialize)]
pub struct RecordReport {
    /// Path of the record: names from the outermost field.
    pub record: String,
    /// Number of records.
    pub count: u64,
    /// Number of distinct combinations of values.
    pub signatures: u64,
    /// Groups of fields whose values change together. The first of each group represents it in `dependencies`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<Vec<String>>,
    /// Dependencies between fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
}

/// A field whose value decides that of another one.
#[derive(Clone, Debug, Serialize)]
pub struct Dependency {
    /// The field that decides.
    pub field: String,
    /// The field that follows.
    pub decides: String,
    /// Pairs of values, most frequent first.
    pub cases: Vec<Case>,
    /// Number of cases that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_cases: usize,
    /// Number of records that are exceptions.
    pub exceptions: u64,
}

/// A pair of values.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Value of the deciding field; or `absent`, `present` or `several`.
    pub when: String,
    /// Value of the other field.
    pub then: String,
    /// Number of records.
    pub count: u64,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Fields with their values, and the number of records that have them.
type Signature = (Vec<(u32, u32)>, u64);

/// The value of a field in a signature, or `None` if the field is absent.
type Class = Option<u32>;

/// A field with its class in each signature of a kind of record.
struct Column {
    field: u32,
    classes: Vec<Class>,
}

/// Finds all dependencies. With `wanted`, reports only those that involve such a field.
pub(super) fn records(survey: &Survey, wanted: Option<&dyn Fn(u32) -> bool>) -> Vec<RecordReport> {
    let mut kinds: BTreeMap<u32, Vec<Signature>> = BTreeMap::new();
    for ((kind, features), count) in survey.categorical() {
        kinds.entry(kind).or_default().push((features, count));
    }
    let mut reports = Vec::new();
    for (kind, mut signatures) in kinds {
        signatures.sort();
        let report = record(survey, kind, &signatures, wanted);
        if report.count >= MIN_RECORDS && !(report.alike.is_empty() && report.dependencies.is_empty()) {
            reports.push(report);
        }
    }
    reports
}

fn record(
    survey: &Survey,
    kind: u32,
    signatures: &[Signature],
    wanted: Option<&dyn Fn(u32) -> bool>,
) -> RecordReport {
    let counts: Vec<u64> = signatures.iter().map(|(_, count)| *count).collect();
    let (columns, groups) = distinct_columns(signatures);
    let is_wanted = |fields: &[u32]| wanted.is_none_or(|wanted| fields.iter().any(|field| wanted(*field)));
    let path = |field: u32| survey.path_below(field, Some(kind));
    let mut found: BTreeMap<(usize, usize), Decision> = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        for (other, follower) in columns.iter().enumerate() {
            // A child implies its parent, and the header is reported with its own record.
            let is_trivial = survey.is_inside(column.field, follower.field)
                || !(survey.is_inside(column.field, kind) || survey.is_inside(follower.field, kind));
            let decision =
                if index == other || is_trivial { None } else { decides(column, follower, &counts) };
            if let Some(decision) = decision {
                found.insert((index, other), decision);
            }
        }
    }
    let mut dependencies = Vec::new();
    for (&(index, other), decision) in &found {
        let concerns = groups.get(index).zip(groups.get(other));
        let follows = is_exact(&found, index, other)
            && (0..columns.len()).any(|by| is_exact(&found, index, by) && is_exact(&found, by, other));
        if let (Some(column), Some(follower), false) = (columns.get(index), columns.get(other), follows)
            && concerns.is_some_and(|(one, two)| is_wanted(one) || is_wanted(two))
        {
            dependencies.push(decision.describe(survey, column.field, follower.field, &path));
        }
    }
    dependencies.sort_by(|a, b| {
        (a.exceptions > 0, &a.field, &a.decides).cmp(&(b.exceptions > 0, &b.field, &b.decides))
    });
    dependencies.truncate(MAX_DEPENDENCIES);
    let concerns =
        |group: &[u32]| group.iter().any(|&field| survey.is_inside(field, kind)) && is_wanted(group);
    let alike = groups.iter().filter(|group| group.len() > 1 && concerns(group));
    RecordReport {
        record: survey.path(kind),
        count: counts.iter().sum(),
        signatures: counts.len() as u64,
        alike: alike.map(|group| group.iter().map(|&field| path(field)).collect()).collect(),
        dependencies,
    }
}

/// Returns whether one field decides another without exception. Fields that change together count as one, so this is
/// a partial order, and dependencies that follow by transitivity are not reported.
fn is_exact(found: &BTreeMap<(usize, usize), Decision>, index: usize, other: usize) -> bool {
    found.get(&(index, other)).is_some_and(|decision| decision.exceptions == 0)
}

/// Returns one column per group of fields that change together, and the fields of each group. Constant fields are left
/// out.
fn distinct_columns(signatures: &[Signature]) -> (Vec<Column>, Vec<Vec<u32>>) {
    let mut columns: BTreeMap<u32, Vec<Class>> = BTreeMap::new();
    for (row, (features, _)) in signatures.iter().enumerate() {
        for &(field, value) in features {
            let classes = columns.entry(field).or_insert_with(|| vec![None; signatures.len()]);
            if let Some(class) = classes.get_mut(row) {
                *class = Some(value);
            }
        }
    }
    let mut by_partition: HashMap<Vec<u32>, usize> = HashMap::new();
    let (mut distinct, mut groups): (Vec<Column>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
    for (field, classes) in columns {
        let partition = partition(&classes);
        if partition.iter().all(|&class| class == 0) {
            continue;
        }
        let index = *by_partition.entry(partition).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(field),
            None => {
                groups.push(vec![field]);
                distinct.push(Column { field, classes });
            }
        }
    }
    (distinct, groups)
}

/// Numbers classes in order of first occurrence, so that fields that change together get equal lists.
fn partition(classes: &[Class]) -> Vec<u32> {
    let mut numbers: HashMap<Class, u32> = HashMap::new();
    classes
        .iter()
        .map(|class| {
            let next = numbers.len() as u32;
            *numbers.entry(*class).or_insert(next)
        })
        .collect()
}

/// A dependency: the class of the decided field for each class of the deciding field.
struct Decision {
    /// Class of the deciding field, class of the decided field, number of records.
    cases: Vec<(Class, Class, u64)>,
    exceptions: u64,
}

fn decides(column: &Column, follower: &Column, counts: &[u64]) -> Option<Decision> {
    let mut seen: BTreeMap<Class, BTreeMap<Class, u64>> = BTreeMap::new();
    let mut rows: BTreeMap<Class, usize> = BTreeMap::new();
    for ((class, other), count) in column.classes.iter().zip(&follower.classes).zip(counts) {
        *seen.entry(*class).or_default().entry(*other).or_default() += count;
        *rows.entry(*class).or_default() += 1;
    }
    // A field with a different value in every record decides everything, which is not informative.
    if rows.values().all(|&rows| rows < 2) {
        return None;
    }
    let total: u64 = counts.iter().sum();
    let mut cases = Vec::new();
    let mut exceptions = 0;
    for (class, others) in seen {
        let sum: u64 = others.values().sum();
        let (other, most) = others.into_iter().max_by_key(|&(other, count)| (count, other))?;
        exceptions += sum - most;
        cases.push((class, other, most));
    }
    let is_constant = cases.iter().all(|case| Some(case.1) == cases.first().map(|first| first.1));
    // Errors of always guessing the most frequent value.
    let mut by_other: BTreeMap<Class, u64> = BTreeMap::new();
    for (other, count) in follower.classes.iter().zip(counts) {
        *by_other.entry(*other).or_default() += count;
    }
    let guess = total - by_other.into_values().max().unwrap_or(0);
    let says_little =
        exceptions.saturating_mul(EXCEPTION_RATE) > total || exceptions.saturating_mul(GAIN) > guess;
    if is_constant || says_little {
        return None;
    }
    cases.sort_by_key(|&(class, _, count)| (std::cmp::Reverse(count), class));
    Some(Decision { cases, exceptions })
}

impl Decision {
    /// Describes the dependency by the names of fields and values.
    fn describe(
        &self,
        survey: &Survey,
        field: u32,
        decides: u32,
        path: &dyn Fn(u32) -> String,
    ) -> Dependency {
        let word = |field: u32, class: Class| match class {
            None => "absent".to_owned(),
            Some(PRESENT) => "present".to_owned(),
            Some(SEVERAL) => "several".to_owned(),
            Some(value) => {
                let entry = survey.entries.get(field as usize);
                entry
                    .and_then(|entry| entry.values.get(value))
                    .map_or_else(|| "other".to_owned(), |known| known.shown())
            }
        };
        let case = |&(class, other, count): &(Class, Class, u64)| Case {
            when: word(field, class),
            then: word(decides, other),
            count,
        };
        Dependency {
            field: path(field),
            decides: path(decides),
            cases: self.cases.iter().take(MAX_CASES).map(case).collect(),
            more_cases: self.cases.len().saturating_sub(MAX_CASES),
            exceptions: self.exceptions,
        }
    }
}
