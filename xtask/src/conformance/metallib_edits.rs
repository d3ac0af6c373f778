//! All edits, on real Metal libraries of every shape.
//!
//! The shape of a library is its version, its writer, its type, and which tags and sections it has.
//! [`unshade_tests::metallib_edits`] checks the results, as in the tests. Edits that need what few real libraries have
//! are also performed on real libraries that were prepared for them; these are counted separately.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::metallib::file::{ExtensionTag, LibraryFile};
use unshade_tests::metallib_edits::{EDITS, Edit, Subject, Tally};

use super::metallib::{NEGATIVE, open};

/// Maximum size of a library: each edit is performed and checked several times.
const MAX_SIZE: usize = 16 << 20;

/// Number of libraries per shape, the smallest first.
const OF_A_SHAPE: usize = 3;

/// Minimum number of libraries for each edit.
const WANTED: usize = 20;

/// The results of an edit: on libraries as they are, and on prepared ones.
#[derive(Default)]
struct EditCounts {
    libraries: [usize; 2],
    tallies: [Tally; 2],
    faults: Vec<String>,
}

/// Performs all edits. Returns the number of violations.
pub(super) fn run(files: &[PathBuf]) -> Result<usize> {
    let (subjects, shapes) = collect(files)?;
    println!("\nedits: {} libraries of {shapes} shapes", subjects.len());
    println!("edit, libraries and edits, the same on prepared libraries, correctly rejected");
    let mut broken = 0;
    for edit in EDITS {
        let rows = subjects.par_iter().map(|subject| perform(edit, subject, &subjects));
        let row = rows.reduce(EditCounts::default, EditCounts::add);
        let [real, prepared] = row.tallies;
        println!(
            "  {:<28} {:>4} {:>6}   {:>4} {:>6}   {:>6}",
            edit.name,
            row.libraries[0],
            real.made,
            row.libraries[1],
            prepared.made,
            real.refused + prepared.refused
        );
        row.faults.iter().take(10).for_each(|fault| println!("fault: {}: {fault}", edit.name));
        broken += row.faults.len();
        let reached = row.libraries.iter().sum::<usize>();
        ensure!(
            reached >= WANTED || subjects.len() < WANTED,
            "{}: only performed on {reached} libraries",
            edit.name
        );
    }
    Ok(broken)
}

/// Returns the smallest libraries of each shape, and the number of shapes.
fn collect(files: &[PathBuf]) -> Result<(Vec<Subject>, usize)> {
    let mut by_shape: BTreeMap<String, Vec<(usize, String, Vec<u8>)>> = BTreeMap::new();
    for path in files {
        for (name, data) in libraries(path)? {
            let Ok(file) = LibraryFile::parse(&data) else { continue };
            let known = by_shape.entry(shape(&file)).or_default();
            known.push((data.len(), name, data));
            known.sort();
            known.truncate(OF_A_SHAPE);
        }
    }
    let shapes = by_shape.len();
    let chosen: Vec<_> = by_shape.into_values().flatten().collect();
    Ok((chosen.into_par_iter().map(|(_, name, data)| Subject::new(name, data)).collect(), shapes))
}

/// Returns all libraries in a file.
fn libraries(path: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.starts_with(NEGATIVE) {
        return Ok(Vec::new());
    }
    let data = fs::read(path)?;
    let program = open(&data)?;
    let named = program.metal_libraries();
    let bytes = named.iter().map(|named| named.library.file().data()).filter(|data| data.len() <= MAX_SIZE);
    Ok(bytes.enumerate().map(|(index, data)| (format!("{name} {index}"), data.to_vec())).collect())
}

fn shape(file: &LibraryFile<'_>) -> String {
    let extension = file.extension.iter().flatten().map(|tag| match tag {
        ExtensionTag::Section { code, .. } => code.to_string(),
        ExtensionTag::Uuid(_) => "UUID".into(),
        ExtensionTag::Other(tag) => tag.code.to_string(),
    });
    let mut features: BTreeSet<String> = extension.collect();
    for function in &file.functions {
        let private = &function.private;
        let has = [
            ("MDSZ", function.states_module_size),
            ("SOFF", function.source.is_some()),
            ("RFLT", function.reflection.is_some()),
            ("VATT", function.public.attributes.is_some()),
            ("CNST", function.public.constants.is_some()),
            ("DEBI", private.location.is_some()),
            ("DEPF", !private.dependencies.is_empty()),
        ];
        features.extend(has.into_iter().filter(|(_, has)| *has).map(|(tag, _)| tag.to_owned()));
        features.extend(function.kind.map(|kind| kind.to_string()));
    }
    let header = &file.header;
    let (version, kind, writer) = (header.version(), header.library_type(), file.dialect);
    format!("{version} {kind} {writer} {:#x} {features:?}", header.raw_platform)
}

/// Performs an edit on a library. A violation panics, with a message.
fn perform(edit: &Edit, subject: &Subject, others: &[Subject]) -> EditCounts {
    let mut row = EditCounts::default();
    match catch_unwind(AssertUnwindSafe(|| edit.run(subject, others))) {
        Ok(tallies) => {
            row.libraries = tallies.map(|tally| usize::from(tally.made > 0));
            row.tallies = tallies;
        }
        Err(_) => row.faults.push(subject.name.clone()),
    }
    row
}

impl EditCounts {
    fn add(mut self, other: Self) -> Self {
        for (sum, addend) in self.libraries.iter_mut().zip(other.libraries) {
            *sum += addend;
        }
        for (sum, addend) in self.tallies.iter_mut().zip(other.tallies) {
            *sum += addend;
        }
        self.faults.extend(other.faults);
        self
    }
}
