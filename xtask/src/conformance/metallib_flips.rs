//! Single-byte changes of Metal libraries: how many of them `unshade verify` finds.
//!
//! Libraries of every container version are chosen, those first that have parts which no other has. The outline of a
//! library says where its fields are. Of each part of the file (header, function list, …) equally many fields are drawn
//! at random, and of each field one byte, which gets another value. The bodies of strings are left out: any text is as
//! good as another there. A change is found if a finding appears that the unchanged file does not have, or if the file
//! is no Metal library any more. The numbers are the same in every run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::carve::Condition;
use unshade::carve::format::Format;
use unshade::core::outline::unnumbered;
use unshade::core::{Diagnostics, Field, OutlineSink, Severity, Value};
use unshade::metallib::Library;
use unshade::metallib::outline;
use unshade_tests::mutate::Random;

use super::metallib::{NEGATIVE, collect};

/// The number of libraries.
const LIBRARIES: usize = 20;

/// The number of changes, unless the options give another.
const CHANGES: usize = 2_000;

/// Maximum size of a library: it is verified once for each change.
const MAX_SIZE: u64 = 2 << 20;

/// The share of changes in percent that must be found.
const WANTED: usize = 99;

/// Fields that nothing can contradict, with the reason.
const HARMLESS: &[(&str, &str)] =
    &[("UUID / UUID", "nothing derives from the UUID, and no tool compares it")];

/// A library, and what can be changed in it.
struct Subject {
    name: String,
    version: u16,
    data: Vec<u8>,
    parts: BTreeSet<String>,
}

/// A field without parts.
struct Leaf {
    /// The names of the fields that it is in and its own, without numbers.
    place: String,
    /// Its bytes, without the body of a string.
    start: usize,
    end: usize,
}

/// A change of one byte.
struct Change<'s> {
    subject: &'s Subject,
    known: &'s BTreeSet<String>,
    part: &'s str,
    place: &'s str,
    at: usize,
    value: u8,
}

/// How a change was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// By findings of this severity at most, the first of which broke this rule.
    Found(Severity, String),
    /// The file is no Metal library any more.
    Unrecognised,
    Missed,
}

/// The counts of a part of the file.
#[derive(Default)]
struct Row {
    changes: usize,
    found: usize,
    harmless: usize,
}

pub(crate) fn run(changes: Option<usize>) -> Result<()> {
    let subjects = choose(candidates()?);
    ensure!(!subjects.is_empty(), "no Metal libraries");
    let known: Vec<BTreeSet<String>> =
        subjects.par_iter().map(|subject| findings(&subject.name, &subject.data)).collect::<Result<_>>()?;
    let leaves: Vec<BTreeMap<String, Vec<Leaf>>> =
        subjects.iter().map(|subject| leaves(&subject.data)).collect::<Result<_>>()?;
    let count = changes.unwrap_or(CHANGES);
    let mut random = Random::new(22);
    let mut all = Vec::with_capacity(count);
    for (index, subject) in subjects.iter().enumerate() {
        let own = count / subjects.len() + usize::from(index < count % subjects.len());
        all.extend(draw(subject, &known[index], &leaves[index], own, &mut random));
    }
    print_subjects(&subjects);
    let outcomes: Vec<Outcome> = all.par_iter().map(Change::outcome).collect();
    print(&all, &outcomes)
}

/// Returns all libraries that are files of their own and small enough.
fn candidates() -> Result<Vec<Subject>> {
    let read = |path: &std::path::PathBuf| candidate(path).transpose();
    collect()?.par_iter().filter_map(read).collect()
}

fn candidate(path: &Path) -> Result<Option<Subject>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.starts_with(NEGATIVE) || fs::metadata(path)?.len() > MAX_SIZE {
        return Ok(None);
    }
    let data = fs::read(path)?;
    let Ok(library) = Library::parse(&data) else { return Ok(None) };
    let mut parts = Parts::default();
    outline::library(&library, &mut parts);
    let version = library.header().patch;
    let kind = format!("{} {:?}", library.header().library_type(), library.dialect());
    parts.names.insert(kind);
    Ok(Some(Subject { name, version, parts: parts.names, data }))
}

/// Chooses libraries: of each version in turn the one with most parts that no chosen library of the version has; the
/// smallest of these, but one with functions.
fn choose(candidates: Vec<Subject>) -> Vec<Subject> {
    let mut versions: BTreeMap<u16, Vec<Subject>> = BTreeMap::new();
    for subject in candidates {
        versions.entry(subject.version).or_default().push(subject);
    }
    let mut seen: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    let mut chosen = Vec::new();
    while chosen.len() < LIBRARIES && versions.values().any(|left| !left.is_empty()) {
        for (version, left) in &mut versions {
            let seen = seen.entry(*version).or_default();
            let rank = |subject: &Subject| {
                let new = subject.parts.difference(seen).count();
                let has_functions = subject.parts.contains("bitcode");
                (new, has_functions, usize::MAX - subject.data.len(), subject.name.clone())
            };
            let best = (0..left.len()).max_by_key(|&index| rank(&left[index]));
            let Some(best) = best.filter(|_| chosen.len() < LIBRARIES) else { continue };
            let subject = left.swap_remove(best);
            seen.extend(subject.parts.iter().cloned());
            chosen.push(subject);
        }
    }
    chosen.sort_by(|one, other| (one.version, &one.name).cmp(&(other.version, &other.name)));
    chosen
}

/// Draws changes of a library: equally many in each part, and of a part equally likely in each field.
fn draw<'s>(
    subject: &'s Subject,
    known: &'s BTreeSet<String>,
    parts: &'s BTreeMap<String, Vec<Leaf>>,
    count: usize,
    random: &mut Random,
) -> Vec<Change<'s>> {
    let parts: Vec<(&String, &Vec<Leaf>)> = parts.iter().collect();
    let first = random.below(parts.len());
    let mut changes = Vec::with_capacity(count);
    for index in 0..count {
        let (part, leaves) = parts[(first + index) % parts.len()];
        let leaf = &leaves[random.below(leaves.len())];
        let at = leaf.start + random.below(leaf.end - leaf.start);
        // Half of the changes are of one bit: the neighbouring values are those that look right.
        let change = match random.below(2) {
            0 => 1 << random.below(8),
            _ => 1 + random.below(255) as u8,
        };
        let value = subject.data[at] ^ change;
        changes.push(Change { subject, known, part, place: &leaf.place, at, value });
    }
    changes
}

impl Change<'_> {
    fn outcome(&self) -> Outcome {
        let mut data = self.subject.data.clone();
        data[self.at] = self.value;
        let file = unshade::open_bytes(&self.subject.name, data);
        let mut is_library = false;
        let mut new: Vec<(Severity, String)> = Vec::new();
        let mut add = |diagnostics: &Diagnostics| {
            let unknown = diagnostics.iter().filter(|one| !self.known.contains(&key(one)));
            new.extend(unknown.map(|one| (one.severity, one.rule.to_string())));
        };
        add(file.diagnostics());
        for program in file.programs() {
            is_library |= program.format() == Format::MetalLibrary && program.offset() == Some(0);
            match program.verify() {
                Ok(verdict) if program.condition() != Condition::Damaged => add(&verdict.diagnostics),
                _ => return Outcome::Found(Severity::Error, "header".into()),
            }
        }
        match new.into_iter().max_by_key(|(severity, _)| *severity) {
            Some((severity, rule)) => Outcome::Found(severity, rule),
            None if !is_library => Outcome::Unrecognised,
            None => Outcome::Missed,
        }
    }
}

/// Returns the findings of an unchanged library.
fn findings(name: &str, data: &[u8]) -> Result<BTreeSet<String>> {
    let file = unshade::open_bytes(name, data.to_vec());
    let mut found: BTreeSet<String> = file.diagnostics().iter().map(key).collect();
    for program in file.programs() {
        found.extend(program.verify()?.diagnostics.iter().map(key));
    }
    Ok(found)
}

fn key(diagnostic: &unshade::core::Diagnostic) -> String {
    format!("{} {} {:?}", diagnostic.severity, diagnostic.rule, diagnostic.error)
}

/// Returns the fields of a library, by part.
fn leaves(data: &[u8]) -> Result<BTreeMap<String, Vec<Leaf>>> {
    let mut leaves = Leaves::default();
    outline::library(&Library::parse(data)?, &mut leaves);
    Ok(leaves.by_part)
}

/// Collects the names of the parts.
#[derive(Default)]
struct Parts {
    names: BTreeSet<String>,
    depth: usize,
}

impl OutlineSink for Parts {
    fn open(&mut self, field: Field<'_>) {
        if self.depth == 0 {
            self.names.insert(field.name.into_owned());
        }
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
    }

    fn wants_inside(&self) -> bool {
        false
    }
}

/// Collects fields without parts.
#[derive(Default)]
struct Leaves {
    path: Vec<String>,
    by_part: BTreeMap<String, Vec<Leaf>>,
}

impl OutlineSink for Leaves {
    fn open(&mut self, field: Field<'_>) {
        self.path.push(place_name(&field.name).to_owned());
    }

    fn close(&mut self) {
        self.path.pop();
    }

    fn leaf(&mut self, field: Field<'_>) {
        let range = field.range.start as usize..field.range.end as usize;
        let body = match field.value {
            Value::Text(text) => text.len(),
            _ => 0,
        };
        let start = range.start + body;
        if start >= range.end {
            return;
        }
        let name = place_name(&field.name);
        let place = [&self.path.iter().skip(1).map(String::as_str).collect::<Vec<_>>()[..], &[name]].concat();
        let part = self.path.first().map_or(name, String::as_str).to_owned();
        let leaf = Leaf { place: place.join(" / "), start, end: range.end };
        self.by_part.entry(part).or_default().push(leaf);
    }
}

/// Returns the name of a field without a number or an index.
fn place_name(name: &str) -> &str {
    if name.starts_with('[') { "element" } else { unnumbered(name) }
}

fn print_subjects(subjects: &[Subject]) {
    println!("libraries: {}", subjects.len());
    for subject in subjects {
        println!("  1.2.{} {:>9} bytes  {}", subject.version, subject.data.len(), subject.name);
    }
}

fn print(changes: &[Change<'_>], outcomes: &[Outcome]) -> Result<()> {
    let mut parts: BTreeMap<&str, Row> = BTreeMap::new();
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    let mut harmless: BTreeMap<&str, usize> = BTreeMap::new();
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (change, outcome) in changes.iter().zip(outcomes) {
        let row = parts.entry(change.part).or_default();
        row.changes += 1;
        let rule = match outcome {
            Outcome::Found(severity, rule) => Some(format!("{severity} {rule}")),
            Outcome::Unrecognised => Some("no Metal library any more".into()),
            Outcome::Missed => None,
        };
        let reason = HARMLESS.iter().find(|(place, _)| *place == change.place).map(|(_, reason)| *reason);
        match (rule, reason) {
            (Some(rule), _) => {
                row.found += 1;
                *rules.entry(rule).or_default() += 1;
            }
            (None, Some(reason)) => {
                row.harmless += 1;
                *harmless.entry(reason).or_default() += 1;
            }
            (None, None) => {
                let (at, old, value) = (change.at, change.subject.data[change.at], change.value);
                let example = format!("{} {at:#x}: {old:#04x} to {value:#04x}", change.subject.name);
                missed.entry(format!("{}: {}", change.part, change.place)).or_default().push(example);
            }
        }
    }
    println!("\nfound by, changes");
    for (rule, count) in &rules {
        println!("  {rule:<32} {count:>6}");
    }
    println!("\npart, changes, found, harmless");
    for (part, row) in &parts {
        println!("  {part:<20} {:>6} {:>6} {:>6}", row.changes, row.found, row.harmless);
    }
    println!("\nharmless, changes");
    for (reason, count) in &harmless {
        println!("  {reason}: {count}");
    }
    println!("\nnot found, changes");
    for (place, examples) in &missed {
        println!("  {place}: {}", examples.len());
        examples.iter().take(3).for_each(|example| println!("    {example}"));
    }
    let found: usize = parts.values().map(|row| row.found).sum();
    let share = |all: usize| found as f64 * 100.0 / all.max(1) as f64;
    println!("\nfound: {found} of {} changes, {:.2} %", changes.len(), share(changes.len()));
    ensure!(found * 100 >= changes.len() * WANTED, "less than {WANTED} % of the changes are found");
    Ok(())
}
