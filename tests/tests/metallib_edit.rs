//! All edits, on fixtures and on real libraries: a check of the result finds nothing, unaffected parts are unchanged,
//! and an independent parser agrees.

use std::collections::BTreeMap;
use unshade::build;
use unshade_metallib::file::{ExtensionTag, OwnedFunction};
use unshade_metallib::{Library, LibraryFile, document};
use unshade_tests::metallib_edits::{EDITS, Subject, Tally};
use unshade_tests::{corpus, fixtures, reference_reader};

/// Returns fixtures that real linkers and tools could have written, and real libraries.
fn libraries(test: &str) -> Vec<(String, Vec<u8>)> {
    const ODD: [&str; 8] = [
        "dxmt",
        "universal_air",
        "universal_archive",
        "stray_nul",
        "module_unpadded",
        "unknown_tags",
        "reflection_compressed",
        "scripts",
    ];
    let fixtures = fixtures::all().into_iter().filter(|fixture| !ODD.contains(&fixture.name.as_str()));
    let fixtures = fixtures.map(|fixture| (fixture.name.clone(), fixture.build().0));
    let real = corpus::smallest_libraries(usize::MAX, test, |data| data.len() > 8);
    fixtures.chain(real.into_iter().map(|file| (file.name, file.data))).collect()
}

#[test]
fn the_reference_reader_accepts_unedited_libraries() {
    let mut count = 0;
    for (name, data) in libraries("reading with the second reader") {
        let file = LibraryFile::parse(&data).unwrap();
        let plain = reference_reader::read(&data);
        assert_eq!(plain.functions.len(), file.functions.len(), "{name}");
        for (plain, owned) in plain.functions.iter().zip(&file.functions) {
            assert_eq!(plain.name, *owned.name);
            assert_eq!(plain.module, *file.modules[owned.module].bytes);
        }
        count += 1;
    }
    eprintln!("{count} libraries");
}

#[test]
fn every_edit_preserves_all_invariants() {
    let subjects = libraries("editing");
    let subjects: Vec<Subject> = subjects.into_iter().map(|(name, data)| Subject::new(name, data)).collect();
    for edit in EDITS {
        let mut tally = Tally::default();
        for subject in &subjects {
            edit.run(subject, &subjects).into_iter().for_each(|one| tally += one);
        }
        assert!(tally.made > 10, "{}: {tally:?}", edit.name);
        let refuses = ["rename", "merge", "retarget to an OS version", "set install name"];
        assert!(tally.refused > 0 || !refuses.contains(&edit.name), "{}: {tally:?}", edit.name);
        eprintln!("{:<28} {:>5} succeeded, {:>5} rejected", edit.name, tally.made, tally.refused);
    }
}

/// Removes what the module describes as well, so that the manifest omits it. Returns the number of removed facts.
fn silent(function: &mut OwnedFunction<'_>, module: &[u8]) -> usize {
    let known = unshade::air::functions(module).unwrap_or_default();
    let Some(known) = known.into_iter().find(|known| known.name == function.name) else { return 0 };
    let mut facts = 0;
    let mut forget = |same: bool| {
        facts += usize::from(same);
        same
    };
    if forget(known.kind == function.kind) {
        function.kind = None;
    }
    if forget(known.versions == function.versions) {
        function.versions = None;
    }
    if forget(known.layer_type == function.layer_type) {
        function.layer_type = None;
    }
    if forget(known.tessellation == function.tessellation) {
        function.tessellation = None;
    }
    if forget(known.public.attributes == function.public.attributes) {
        function.public.attributes = None;
    }
    if forget(known.public.constants == function.public.constants) {
        function.public.constants = None;
    }
    facts
}

/// Returns whether the module describes something about a function that the library omits; no real library does.
fn lacks_what_is_said(function: &OwnedFunction<'_>, module: &[u8]) -> bool {
    let known = unshade::air::functions(module).unwrap_or_default();
    let known = known.iter().find(|known| known.name == function.name).or(known.first());
    known.is_some_and(|known| {
        known.public.attributes.is_some() && function.public.attributes.is_none()
            || known.public.constants.is_some() && function.public.constants.is_none()
    })
}

#[test]
fn real_libraries_are_built_from_their_modules() {
    let mut versions: BTreeMap<String, usize> = BTreeMap::new();
    let mut facts = 0;
    for (name, data) in libraries("building") {
        let original = LibraryFile::parse(&data).unwrap();
        if original
            .functions
            .iter()
            .any(|function| lacks_what_is_said(function, &original.modules[function.module].bytes))
        {
            // The modules of fixtures are few, and are also used for functions of other types.
            assert_eq!(name, "tessellation");
            continue;
        }
        let mut described = original.clone();
        for function in &mut described.functions {
            facts += silent(function, &original.modules[function.module].bytes);
        }
        for tag in described.extension.iter_mut().flatten() {
            if let ExtensionTag::Uuid(uuid) = tag {
                *uuid = [0; 16];
            }
        }
        let manifest =
            document::to_yaml_with(&described, &mut |index, _| Some(format!("{index}.air"))).unwrap();
        let mut load = |file: &str| {
            let index: usize = file.strip_suffix(".air").unwrap().parse().unwrap();
            Ok(original.modules[index].bytes.to_vec())
        };
        let mut built = build::metallib(&manifest, &mut load)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{manifest}"));
        // The UUID of the original can't be recomputed.
        if let Some(uuid) = original.uuid() {
            for tag in built.extension.iter_mut().flatten() {
                if let ExtensionTag::Uuid(place) = tag {
                    *place = *uuid;
                }
            }
        } else {
            built.set_uuid(None);
        }
        assert!(
            built.write().unwrap().to_vec() == data,
            "building {name} gives a different file:\n{manifest}"
        );
        let dialect = Library::parse(&data).unwrap().dialect();
        let dialect = dialect.map_or_else(|| "empty".into(), |dialect| dialect.to_string());
        *versions.entry(format!("{} {dialect}", original.header.version())).or_default() += 1;
    }
    eprintln!("{facts} facts taken from modules; reproduced exactly: {versions:?}");
}
