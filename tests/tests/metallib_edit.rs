//! Every kind of edit, on fixtures and on real libraries: a check of the result finds nothing, what was not touched is
//! the same, and a second reader, which shares nothing with ours, agrees.

use std::collections::BTreeMap;
use unshade::build;
use unshade_core::Severity;
use unshade_metallib::edit::Strip;
use unshade_metallib::file::{ExtensionTag, OwnedFunction};
use unshade_metallib::{Library, LibraryFile, LibraryType, Platform, document, verify};
use unshade_tests::plain_reader::{self, PlainFunction, PlainLibrary};
use unshade_tests::{corpus, fixtures};

/// Fixtures that real linkers and tools could have written, and real libraries.
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

/// What a check finds, but for notes.
fn findings(data: &[u8]) -> Vec<String> {
    let library = Library::parse(data).expect("a library");
    let findings = verify::library(&library);
    let serious = findings.iter().filter(|finding| finding.severity != Severity::Note);
    serious.map(|finding| format!("{}: {}", finding.rule, finding.error)).collect()
}

/// The functions of a library that were there before, by name.
fn by_name(library: &PlainLibrary) -> BTreeMap<&[u8], &PlainFunction> {
    library.functions.iter().map(|function| (function.name.as_slice(), function)).collect()
}

/// Writes an edited library and holds it against every rule.
fn written(name: &str, what: &str, before: &[u8], file: &LibraryFile<'_>) -> (Vec<u8>, PlainLibrary) {
    let after = file.write().unwrap_or_else(|error| panic!("{name}: {what}: {error}")).to_vec();
    let known = findings(before);
    let new: Vec<_> = findings(&after).into_iter().filter(|finding| !known.contains(finding)).collect();
    assert!(new.is_empty(), "{name}: {what}: {new:#?}");
    for function in Library::parse(&after).unwrap().functions() {
        let function = function.unwrap();
        let reflection = Library::parse(&after).unwrap().reflection(&function).unwrap();
        if let Some(reflection) = reflection {
            assert_eq!(reflection.functions().filter(Result::is_err).count(), 0, "{name}: {what}");
        }
    }
    let plain = plain_reader::read(&after);
    assert_eq!(plain.functions.len(), file.functions.len());
    (after, plain)
}

#[test]
fn the_second_reader_reads_what_is_not_edited() {
    let mut count = 0;
    for (name, data) in libraries("reading with the second reader") {
        let file = LibraryFile::parse(&data).unwrap();
        let plain = plain_reader::read(&data);
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
fn functions_are_removed_and_kept() {
    let mut edited = 0;
    for (name, data) in libraries("removing functions") {
        let before = plain_reader::read(&data);
        for parity in [0, 1] {
            let mut file = LibraryFile::parse(&data).unwrap();
            let removed = file.keep_functions(|index, _| index % 2 == parity);
            assert_eq!(removed + file.functions.len(), before.functions.len());
            let (after, plain) = written(&name, "remove", &data, &file);
            let expected: Vec<_> =
                before.functions.iter().enumerate().filter(|(index, _)| index % 2 == parity).collect();
            for (function, (_, expected)) in plain.functions.iter().zip(expected) {
                assert_eq!(function, expected, "{name}: what stays is the same");
            }
            assert!(removed == 0 || after.len() < data.len(), "{name}");
            edited += usize::from(removed > 0);
        }
    }
    eprintln!("{edited} libraries with functions removed");
}

#[test]
fn functions_are_renamed() {
    let mut edited = 0;
    for (name, data) in libraries("renaming functions") {
        let before = plain_reader::read(&data);
        for index in 0..before.functions.len().min(3) {
            for new in [&b"r"[..], b"a_much_longer_name_than_any_of_the_functions_had_before_it_was_edited"] {
                let mut file = LibraryFile::parse(&data).unwrap();
                let renamed = file.rename_function(index, new);
                if file.header.library_type() == LibraryType::DYNAMIC {
                    assert!(renamed.unwrap_err().to_string().contains("dynamic library"));
                    continue;
                }
                renamed.unwrap();
                let (after, plain) = written(&name, "rename", &data, &file);
                let old = &before.functions[index];
                assert_eq!(
                    (&plain.functions[index].name[..], &plain.functions[index].module),
                    (new, &old.module)
                );
                for (at, (now, then)) in plain.functions.iter().zip(&before.functions).enumerate() {
                    assert!(at == index || now == then, "{name}: function {at} is the same");
                }
                let library = Library::parse(&after).unwrap();
                let function = library.function(index as u32).unwrap();
                if let Some(reflection) = library.reflection(&function).unwrap()
                    && reflection.functions().count() > 0
                {
                    assert!(reflection.function(new).unwrap().is_some(), "{name}: renamed in the reflection");
                    assert!(reflection.function(&old.name).unwrap().is_none());
                }
                edited += 1;
            }
        }
        if before.functions.len() > 1 {
            let mut file = LibraryFile::parse(&data).unwrap();
            let taken = before.functions[1].name.clone();
            assert!(file.rename_function(0, taken).is_err(), "{name}: a name that is taken");
        }
    }
    eprintln!("{edited} functions renamed");
}

#[test]
fn information_is_stripped() {
    let mut edited: BTreeMap<String, usize> = BTreeMap::new();
    for (name, data) in libraries("stripping") {
        let before = plain_reader::read(&data);
        for what in [Strip::Sources, Strip::DebugPaths, Strip::PrivateMetadata, Strip::Reflection] {
            let mut file = LibraryFile::parse(&data).unwrap();
            let any = file.strip(what);
            let (after, plain) = written(&name, &format!("{what:?}"), &data, &file);
            assert_eq!(any, after != data, "{name}: {what:?}");
            for (now, then) in plain.functions.iter().zip(&before.functions) {
                let mut expected = then.clone();
                match what {
                    Strip::Sources => expected.source = None,
                    Strip::DebugPaths | Strip::PrivateMetadata => expected.private = Vec::new(),
                    Strip::Reflection => expected.reflection = None,
                }
                assert_eq!(*now, expected, "{name}: {what:?}");
            }
            *edited.entry(format!("{what:?}")).or_default() += usize::from(any);
        }
    }
    eprintln!("{edited:?}");
}

#[test]
fn targets_are_changed() {
    let (mut edited, mut refused) = (0, 0);
    for (name, data) in libraries("retargeting") {
        let before = plain_reader::read(&data);
        let mut file = LibraryFile::parse(&data).unwrap();
        if let Err(error) = file.retarget(None, Some((17, 5, 0))) {
            assert!(error.to_string().contains("no room for the version of the OS"), "{error}");
            refused += 1;
        }
        file.retarget(Some(Platform::IOS), None).unwrap();
        assert!(!file.header.macos_flag());
        let (_, plain) = written(&name, "retarget", &data, &file);
        assert_eq!((plain.functions, plain.sections), (before.functions, before.sections), "{name}");
        edited += 1;
    }
    eprintln!("{edited} libraries retargeted, of {refused} the OS refused");
}

#[test]
fn modules_are_replaced_and_hashed() {
    // No fixture has this one.
    let kernel = include_bytes!("../fixtures/air/reduce.bc");
    let mut edited = 0;
    for (name, data) in libraries("replacing modules") {
        let before = plain_reader::read(&data);
        for index in 0..before.functions.len().min(3) {
            let mut file = LibraryFile::parse(&data).unwrap();
            let users = file.replace_module(index, kernel).unwrap();
            let (_, plain) = written(&name, "replace", &data, &file);
            let old = &before.functions[index].module;
            let changed =
                plain.functions.iter().zip(&before.functions).filter(|(now, then)| now.module != then.module);
            assert_eq!(changed.count(), users, "{name}: the function and those that share its module");
            for (now, then) in plain.functions.iter().zip(&before.functions) {
                assert!(then.module == *old || now == then, "{name}");
                assert_eq!((&now.public, &now.reflection), (&then.public, &then.reflection), "{name}");
            }
            edited += 1;
        }
    }
    eprintln!("{edited} modules replaced");
}

#[test]
fn install_names_are_set() {
    let (mut edited, mut refused) = (0, 0);
    for (name, data) in libraries("setting install names") {
        let before = plain_reader::read(&data);
        let mut file = LibraryFile::parse(&data).unwrap();
        match file.set_install_name(&b"@rpath/libNew.metallib"[..]) {
            Ok(()) => {
                let (after, plain) = written(&name, "install name", &data, &file);
                let library = Library::parse(&after).unwrap();
                let dynamic = library.dynamic_header().unwrap().unwrap();
                assert_eq!(dynamic.install_name(), Some(&b"@rpath/libNew.metallib"[..]));
                assert_eq!(plain.functions, before.functions, "{name}");
                edited += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("have no install name"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(edited > 0 && refused > 0);
    eprintln!("{edited} install names set, {refused} refused");
}

#[test]
fn libraries_are_merged() {
    let libraries = libraries("merging");
    let (mut merged, mut refused) = (0, 0);
    for (index, (name, data)) in libraries.iter().enumerate() {
        // Each with a few others, so that all shapes meet.
        for (other_name, other) in libraries.iter().cycle().skip(index * 7 + 1).step_by(5).take(6) {
            if !findings(other).is_empty() {
                continue;
            }
            let (one, two) = (plain_reader::read(data), plain_reader::read(other));
            let mut file = LibraryFile::parse(data).unwrap();
            let what = format!("merge with {other_name}");
            if file.merge(LibraryFile::parse(other).unwrap()).is_err() {
                assert!(file == LibraryFile::parse(data).unwrap(), "{name}: {what}: refused, but changed");
                refused += 1;
                continue;
            }
            let (_, plain) = written(name, &what, data, &file);
            assert_eq!(plain.functions.len(), one.functions.len() + two.functions.len());
            let now = by_name(&plain);
            for function in one.functions.iter().chain(&two.functions) {
                let mut now = now[&function.name[..]].clone();
                // An archive whose id was taken has another one; what is compressed is the same.
                if let (Some(now), Some(then)) = (&mut now.source, &function.source) {
                    let compressed = |archive: &[u8]| archive.iter().position(|byte| *byte == 0).unwrap();
                    assert_eq!(now[compressed(now)..], then[compressed(then)..]);
                    now.clone_from(then);
                }
                // The other library may be of the other dialect, whose order of tags is another.
                now.tags.sort();
                let mut then = function.clone();
                then.tags.sort();
                assert_eq!(now, then, "{name}: {what}");
            }
            merged += 1;
        }
    }
    assert!(merged > 20 && refused > 20, "{merged} merged, {refused} refused");
    eprintln!("{merged} pairs merged, {refused} refused");
}

#[test]
fn uuids_are_renewed_and_tell_libraries_apart() {
    let mut renewed = 0;
    for (name, data) in libraries("renewing UUIDs") {
        let mut file = LibraryFile::parse(&data).unwrap();
        let Some(old) = file.uuid().copied() else { continue };
        file.renew_uuid().unwrap();
        let new = *file.uuid().unwrap();
        assert!(new != old && new[6] >> 4 == 8 && new[8] >> 6 == 2, "{name}");
        let (_, plain) = written(&name, "UUID", &data, &file);
        assert_eq!(plain.functions, plain_reader::read(&data).functions);
        file.renew_uuid().unwrap();
        assert_eq!(*file.uuid().unwrap(), new, "{name}: the same content has the same UUID");
        if file.keep_functions(|index, _| index > 0) > 0 {
            file.renew_uuid().unwrap();
            assert_ne!(*file.uuid().unwrap(), new, "{name}: other content has another one");
        }
        renewed += 1;
    }
    eprintln!("{renewed} UUIDs renewed");
}

/// Takes away what the module says as well; the manifest is silent about it.
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

/// Whether the module says of a function what the library leaves out, which no real one does.
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
            // The modules of fixtures are few, and serve functions of other types, too.
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
        // The UUID of the original can't be computed.
        if let Some(uuid) = original.uuid() {
            for tag in built.extension.iter_mut().flatten() {
                if let ExtensionTag::Uuid(place) = tag {
                    *place = *uuid;
                }
            }
        } else {
            built.set_uuid(None);
        }
        assert!(built.write().unwrap().to_vec() == data, "{name} is built otherwise:\n{manifest}");
        let dialect = Library::parse(&data).unwrap().dialect();
        let dialect = dialect.map_or_else(|| "empty".into(), |dialect| dialect.to_string());
        *versions.entry(format!("{} {dialect}", original.header.version())).or_default() += 1;
    }
    eprintln!("{facts} facts taken from modules; built to the byte: {versions:?}");
}
