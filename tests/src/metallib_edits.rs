//! All edits of a Metal library, and the invariants after each: a check of the result finds nothing new, unaffected
//! parts are unchanged, reflections can be decoded, and an independent parser agrees.
//!
//! The tests run them on fixtures and on real files, `cargo xtask conformance metallib-write` on many more. Few real
//! libraries have sources, reflections or install names; `Edit::prepare` adds them where they are missing, so that even
//! these edits run on real modules.

use crate::reference_reader::{self, ReferenceFunction, ReferenceLibrary};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use unshade::build;
use unshade_core::Severity;
use unshade_metallib::edit::Strip;
use unshade_metallib::file::{OwnedArchive, OwnedReflection, OwnedSources, SectionData, SourceLocation};
use unshade_metallib::reflection::schema::{self, NodeType, Version};
use unshade_metallib::reflection::tables::{OwnedTable, Value};
use unshade_metallib::reflection::{NodeId, NodeList};
use unshade_metallib::{FunctionType, Library, LibraryFile, LibraryType, Platform, verify};

/// A library to edit.
pub struct Subject {
    /// The name in messages.
    pub name: String,
    /// The bytes.
    pub data: Vec<u8>,
    /// The result of the independent parser.
    pub plain: ReferenceLibrary,
    /// The findings before the edit.
    known: Vec<String>,
}

/// The number of successful edits, and of edits that correctly failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Successful.
    pub made: usize,
    /// Failed as expected.
    pub refused: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.made += other.made;
        self.refused += other.refused;
    }
}

/// A kind of edit.
pub struct Edit {
    /// The name.
    pub name: &'static str,
    /// Performs all variants of the edit on a library, with other libraries for merging, and checks the results.
    check: fn(&Subject, &[Subject]) -> Tally,
    /// Adds to a library what the edit needs.
    prepare: Option<fn(&mut LibraryFile<'_>)>,
}

impl Edit {
    /// Runs the edit on a library, and, if it had no effect, on a prepared copy of the library. Returns the tallies of
    /// both runs.
    ///
    /// # Panics
    /// If an edit violates an invariant.
    pub fn run(&self, subject: &Subject, others: &[Subject]) -> [Tally; 2] {
        let real = (self.check)(subject, others);
        let prepared = match self.prepare {
            Some(prepare) if real.made == 0 => (self.check)(&subject.prepared(prepare), others),
            _ => Tally::default(),
        };
        [real, prepared]
    }
}

/// All edits.
pub const EDITS: &[Edit] = &[
    Edit { name: "remove and keep", check: remove, prepare: None },
    Edit { name: "rename", check: rename, prepare: None },
    Edit { name: "merge", check: merge, prepare: None },
    Edit { name: "strip sources", check: strip_sources, prepare: Some(add_sources) },
    Edit { name: "strip debug paths", check: strip_debug_paths, prepare: Some(add_debug_paths) },
    Edit { name: "strip private metadata", check: strip_private, prepare: Some(add_debug_paths) },
    Edit { name: "strip reflection", check: strip_reflection, prepare: Some(add_reflections) },
    Edit { name: "rename in reflections", check: rename_in_reflection, prepare: Some(add_reflections) },
    Edit { name: "retarget to a platform", check: retarget_platform, prepare: None },
    Edit { name: "retarget to an OS version", check: retarget_os, prepare: None },
    Edit { name: "replace module", check: replace_module, prepare: None },
    Edit { name: "set install name", check: install_name, prepare: Some(make_dynamic) },
    Edit { name: "renew UUID", check: renew_uuid, prepare: Some(add_uuid) },
];

impl Subject {
    /// Creates a subject from the bytes of a library.
    ///
    /// # Panics
    /// If it is malformed or violates a rule.
    pub fn new(name: String, data: Vec<u8>) -> Self {
        let known = findings(&data);
        let plain = reference_reader::read(&data);
        Self { name, data, plain, known }
    }

    fn parse(&self) -> LibraryFile<'_> {
        LibraryFile::parse(&self.data).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Returns a copy of the library with what an edit needs.
    fn prepared(&self, prepare: fn(&mut LibraryFile<'_>)) -> Self {
        let mut file = self.parse();
        prepare(&mut file);
        Self::new(format!("{}, prepared", self.name), file.write().expect("a library").to_vec())
    }

    /// Writes an edited library and checks all invariants.
    fn written(&self, what: &str, file: &LibraryFile<'_>) -> (Vec<u8>, ReferenceLibrary) {
        self.written_with(what, file, None)
    }

    /// The same, where `verify` may report what starts like this.
    fn written_with(
        &self,
        what: &str,
        file: &LibraryFile<'_>,
        expected: Option<&str>,
    ) -> (Vec<u8>, ReferenceLibrary) {
        let name = &self.name;
        let after = file.write().unwrap_or_else(|error| panic!("{name}: {what}: {error}")).to_vec();
        let is_new = |finding: &String| {
            !self.known.contains(finding) && !expected.is_some_and(|rule| finding.starts_with(rule))
        };
        let new: Vec<_> = findings(&after).into_iter().filter(is_new).collect();
        assert!(new.is_empty(), "{name}: {what}: {new:#?}");
        let library = Library::parse(&after).expect("a library");
        for function in library.functions() {
            let function = function.expect("a function");
            if let Some(reflection) = library.reflection(&function).expect("a reflection") {
                assert_eq!(reflection.functions().filter(Result::is_err).count(), 0, "{name}: {what}");
            }
        }
        let plain = reference_reader::read(&after);
        assert_eq!(plain.functions.len(), file.functions.len());
        (after, plain)
    }
}

/// Returns the findings of a check, except notes.
fn findings(data: &[u8]) -> Vec<String> {
    let library = Library::parse(data).expect("a library");
    let findings = verify::library(&library);
    let serious = findings.iter().filter(|finding| finding.severity != Severity::Note);
    serious.map(|finding| format!("{}: {}", finding.rule, finding.error)).collect()
}

/// Returns the versions of the reflections of a library.
fn reflection_versions(data: &[u8]) -> BTreeSet<Version> {
    let library = Library::parse(data).expect("a library");
    let functions = library.functions().map(|function| function.expect("a function"));
    functions.filter_map(|function| library.reflection(&function).expect("a reflection")?.version()).collect()
}

/// Returns the functions of a library by name.
fn by_name(library: &ReferenceLibrary) -> BTreeMap<&[u8], &ReferenceFunction> {
    library.functions.iter().map(|function| (function.name.as_slice(), function)).collect()
}

fn made(count: usize) -> Tally {
    Tally { made: count, refused: 0 }
}

fn remove(subject: &Subject, _: &[Subject]) -> Tally {
    let (name, before) = (&subject.name, &subject.plain);
    let mut edited = 0;
    for parity in [0, 1] {
        let mut file = subject.parse();
        let removed = file.keep_functions(|index, _| index % 2 == parity);
        assert_eq!(removed + file.functions.len(), before.functions.len());
        let (after, plain) = subject.written("remove", &file);
        let expected = before.functions.iter().skip(parity).step_by(2);
        for (function, expected) in plain.functions.iter().zip(expected) {
            assert_eq!(function, expected, "{name}: remaining functions are unchanged");
        }
        assert!(removed == 0 || after.len() < subject.data.len(), "{name}");
        edited += usize::from(removed > 0);
    }
    made(edited)
}

fn rename(subject: &Subject, _: &[Subject]) -> Tally {
    let (name, before) = (&subject.name, &subject.plain);
    let mut tally = Tally::default();
    for index in 0..before.functions.len().min(3) {
        for new in [&b"r"[..], b"a_much_longer_name_than_any_of_the_functions_had_before_it_was_edited"] {
            let mut file = subject.parse();
            let renamed = file.rename_function(index, new);
            if file.header.library_type() == LibraryType::DYNAMIC {
                assert!(renamed.expect_err("refused").to_string().contains("dynamic library"));
                tally.refused += 1;
                continue;
            }
            renamed.unwrap_or_else(|error| panic!("{name}: {error}"));
            let (after, plain) = subject.written("rename", &file);
            let old = &before.functions[index];
            assert_eq!(
                (&plain.functions[index].name[..], &plain.functions[index].module),
                (new, &old.module)
            );
            for (at, (now, then)) in plain.functions.iter().zip(&before.functions).enumerate() {
                assert!(at == index || now == then, "{name}: function {at} is unchanged");
            }
            let library = Library::parse(&after).expect("a library");
            let function = library.function(index as u32).expect("the function");
            if let Some(reflection) = library.reflection(&function).expect("a reflection")
                && reflection.functions().count() > 0
            {
                let find = |name| reflection.function(name).expect("functions");
                assert!(find(new).is_some(), "{name}: renamed in the reflection");
                assert!(find(&old.name).is_none(), "{name}: the old name is gone");
            }
            tally.made += 1;
        }
    }
    if let [_, second, ..] = before.functions.as_slice() {
        let mut file = subject.parse();
        assert!(file.rename_function(0, second.name.clone()).is_err(), "{name}: the name is already used");
    }
    tally
}

/// As [`rename`], for libraries whose functions have reflections.
fn rename_in_reflection(subject: &Subject, others: &[Subject]) -> Tally {
    let has_names = subject.parse().reflections().iter().any(|buffer| {
        let root = buffer.tables();
        root.is_some_and(|root| NodeList::FUNCTIONS.iter().any(|list| root.get(list.slot_name()).is_some()))
    });
    if has_names { rename(subject, others) } else { Tally::default() }
}

fn strip(subject: &Subject, what: Strip, forget: fn(&mut ReferenceFunction)) -> Tally {
    let name = &subject.name;
    let mut file = subject.parse();
    let any = file.strip(what);
    let (after, plain) = subject.written(&format!("{what:?}"), &file);
    assert_eq!(any, after != subject.data, "{name}: {what:?}");
    for (now, then) in plain.functions.iter().zip(&subject.plain.functions) {
        let mut expected = then.clone();
        forget(&mut expected);
        assert_eq!(*now, expected, "{name}: {what:?}");
    }
    made(any.into())
}

fn strip_sources(subject: &Subject, _: &[Subject]) -> Tally {
    strip(subject, Strip::Sources, |function| function.source = None)
}

fn strip_debug_paths(subject: &Subject, _: &[Subject]) -> Tally {
    strip(subject, Strip::DebugPaths, |function| function.private = Vec::new())
}

fn strip_private(subject: &Subject, _: &[Subject]) -> Tally {
    strip(subject, Strip::PrivateMetadata, |function| function.private = Vec::new())
}

fn strip_reflection(subject: &Subject, _: &[Subject]) -> Tally {
    strip(subject, Strip::Reflection, |function| function.reflection = None)
}

fn retarget_platform(subject: &Subject, _: &[Subject]) -> Tally {
    let mut file = subject.parse();
    file.retarget(Some(Platform::IOS), None).unwrap_or_else(|error| panic!("{}: {error}", subject.name));
    assert!(!file.header.macos_flag());
    let (_, plain) = subject.written("retarget", &file);
    assert!(plain.functions == subject.plain.functions && plain.sections == subject.plain.sections);
    made(1)
}

fn retarget_os(subject: &Subject, _: &[Subject]) -> Tally {
    let mut file = subject.parse();
    match file.retarget(None, Some((17, 5, 0))) {
        Ok(()) => {
            let (after, plain) = subject.written("retarget", &file);
            let header = *Library::parse(&after).expect("a library").header();
            assert_eq!((header.os_major, header.os_minor, header.os_patch), (17, 5, 0));
            assert!(plain.functions == subject.plain.functions && plain.sections == subject.plain.sections);
            made(1)
        }
        Err(error) => {
            assert!(error.to_string().contains("can't store the OS version"), "{error}");
            Tally { made: 0, refused: 1 }
        }
    }
}

fn replace_module(subject: &Subject, _: &[Subject]) -> Tally {
    // No other library has this module.
    let kernel = include_bytes!("../fixtures/air/reduce.bc");
    let (name, before) = (&subject.name, &subject.plain);
    let count = before.functions.len().min(3);
    for index in 0..count {
        let mut file = subject.parse();
        let users = file.replace_module(index, kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (_, plain) = subject.written("replace", &file);
        let old = &before.functions[index].module;
        let pairs = || plain.functions.iter().zip(&before.functions);
        let changed = pairs().filter(|(now, then)| now.module != then.module).count();
        assert_eq!(changed, users, "{name}: the function and all others that share its module");
        for (now, then) in pairs() {
            assert!(then.module == *old || now == then, "{name}");
            assert_eq!((&now.public, &now.reflection), (&then.public, &then.reflection), "{name}");
        }
    }
    made(count)
}

fn install_name(subject: &Subject, _: &[Subject]) -> Tally {
    let mut file = subject.parse();
    match file.set_install_name(&b"@rpath/libNew.metallib"[..]) {
        Ok(()) => {
            let (after, plain) = subject.written("install name", &file);
            let library = Library::parse(&after).expect("a library");
            let dynamic = library.dynamic_header().expect("readable").expect("a dynamic header");
            assert_eq!(dynamic.install_name(), Some(&b"@rpath/libNew.metallib"[..]));
            assert!(plain.functions == subject.plain.functions, "{}", subject.name);
            made(1)
        }
        Err(error) => {
            assert!(error.to_string().contains("have no install name"), "{error}");
            Tally { made: 0, refused: 1 }
        }
    }
}

fn merge(subject: &Subject, others: &[Subject]) -> Tally {
    let mut tally = Tally::default();
    // Each library with a few others, so that all combinations occur. A copy of the same library has the same
    // functions.
    let start = others.iter().position(|other| other.name == subject.name).unwrap_or_default();
    for other in others.iter().cycle().skip(start * 8 + 1).step_by(5).take(6.min(others.len())) {
        if !other.known.is_empty() {
            continue;
        }
        let mut file = subject.parse();
        if file.merge(other.parse()).is_err() {
            assert!(file == subject.parse(), "{}: rejected, but changed", subject.name);
            tally.refused += 1;
            continue;
        }
        check_merged(subject, other, &file);
        tally.made += 1;
    }
    tally
}

fn check_merged(subject: &Subject, other: &Subject, file: &LibraryFile<'_>) {
    let what = format!("merge with {}", other.name);
    // Reflections of two compilers have two versions.
    let versions = &reflection_versions(&subject.data) | &reflection_versions(&other.data);
    let expected = (versions.len() > 1).then_some(
        "reflection-version: reflection: the reflection has another version than others of the library",
    );
    let (_, plain) = subject.written_with(&what, file, expected);
    let (one, two) = (&subject.plain.functions, &other.plain.functions);
    assert_eq!(plain.functions.len(), one.len() + two.len());
    let now = by_name(&plain);
    for function in one.iter().chain(two) {
        let mut now = now[&function.name[..]].clone();
        // The ID may have changed to be unique; the compressed data has not.
        if let (Some(now), Some(then)) = (&mut now.source, &function.source) {
            let compressed = |archive: &[u8]| archive.iter().position(|byte| *byte == 0).expect("a NUL");
            assert_eq!(now[compressed(now)..], then[compressed(then)..]);
            now.clone_from(then);
        }
        // The other library may use the other dialect, whose tags have a different order.
        now.tags.sort();
        let mut then = function.clone();
        then.tags.sort();
        assert_eq!(now, then, "{}: {what}", subject.name);
    }
}

fn renew_uuid(subject: &Subject, _: &[Subject]) -> Tally {
    let name = &subject.name;
    let mut file = subject.parse();
    let Some(old) = file.uuid().copied() else { return Tally::default() };
    let renewed = |file: &mut LibraryFile<'_>| {
        file.renew_uuid().unwrap_or_else(|error| panic!("{name}: {error}"));
        *file.uuid().expect("a UUID")
    };
    let new = renewed(&mut file);
    assert!(new != old && new[6] >> 4 == 8 && new[8] >> 6 == 2, "{name}");
    let (_, plain) = subject.written("UUID", &file);
    assert!(plain.functions == subject.plain.functions, "{name}");
    assert_eq!(renewed(&mut file), new, "{name}: equal content has an equal UUID");
    if file.keep_functions(|index, _| index > 0) > 0 {
        assert_ne!(renewed(&mut file), new, "{name}: different content has a different UUID");
    }
    made(1)
}

/// Adds a source archive for all functions.
fn add_sources(file: &mut LibraryFile<'_>) {
    let text = b"kernel void scale(device float* data [[buffer(0)]]) { data[0] *= 2; }".to_vec();
    let archive = build::pack_sources(&[("/src/scale.metal".to_owned(), text)]).expect("an archive");
    let is_new = file.header.patch >= 6;
    let sources = OwnedSources {
        link_command: Cow::Borrowed(b"metal scale.air"),
        working_directory: is_new.then_some(Cow::Borrowed(b"/src")),
        archives: vec![OwnedArchive { id: Cow::Borrowed(b"0"), compressed: Cow::Owned(archive) }],
    };
    file.set_section(if is_new { *b"HSRD" } else { *b"HSRC" }, SectionData::Sources(sources));
    file.functions.iter_mut().for_each(|function| function.source = Some(0));
}

/// Adds a source location and a linked file to all functions.
fn add_debug_paths(file: &mut LibraryFile<'_>) {
    for (index, function) in file.functions.iter_mut().enumerate() {
        let path = Cow::Borrowed(&b"/src/scale.metal"[..]);
        function.private.location = Some(SourceLocation { line: index as u32 + 1, path });
        function.private.dependencies = vec![Cow::Borrowed(b"/build/scale.air")];
    }
}

/// Adds a reflection to each function, with its name only.
fn add_reflections(file: &mut LibraryFile<'_>) {
    let mut buffers = Vec::new();
    for (index, function) in file.functions.iter_mut().enumerate() {
        let (kind, list) = match function.kind {
            Some(FunctionType::VERTEX) => (NodeType::VERTEX_FUNCTION, NodeList::VertexFunctions),
            Some(FunctionType::FRAGMENT) => (NodeType::FRAGMENT_FUNCTION, NodeList::FragmentFunctions),
            _ => (NodeType::KERNEL_FUNCTION, NodeList::KernelFunctions),
        };
        let version = Version { major: 0, minor: 4, sub_minor: 0 };
        let buffer = || {
            let mut node = OwnedTable::of_node(kind)?;
            node.set("name", Value::Text(function.name.to_vec().into()))?;
            let mut root = OwnedTable::new(&schema::ROOT);
            root.set("version", Value::Version(version))?;
            root.set("nodes", Value::Tables(vec![node]))?;
            root.set(list.slot_name(), Value::Nodes(vec![NodeId(0)]))?;
            OwnedReflection::of_tables(&root)
        };
        buffers.push(buffer().expect("a reflection"));
        function.reflection = Some(index);
    }
    file.set_section(*b"RLST", SectionData::Reflections(buffers));
}

/// Makes the library a dynamic one.
fn make_dynamic(file: &mut LibraryFile<'_>) {
    file.header.raw_type = file.header.raw_type & 0x80 | LibraryType::DYNAMIC.0;
}

fn add_uuid(file: &mut LibraryFile<'_>) {
    file.set_uuid(Some([7; 16]));
}
