//! After every pass of the decompiler, functions are sound, and their text is read as the same function.

use std::collections::BTreeSet;
use std::path::Path;

use unshade::core::{Diagnostics, Reader};
use unshade::decompile::{self, passes};
use unshade::decompiler::ir::text::parse;
use unshade::decompiler::ir::verify::verify;
use unshade::decompiler::{Decompiled, Options, decompile_module, nvidia};
use unshade::nv::Cubin;

/// Returns the cubins for which there is a decompiler.
fn cubins() -> Vec<Vec<u8>> {
    let nvidia = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia");
    let mut cubins = Vec::new();
    for folder in
        [nvidia.clone(), nvidia.join("decompile"), nvidia.join("kernels/sm_35"), nvidia.join("sanitize")]
    {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "cubin") {
                cubins.push(std::fs::read(path).unwrap());
            }
        }
    }
    cubins
}

#[test]
fn functions_are_sound_after_every_pass_and_print_as_text_that_reads_back() {
    let mut seen = BTreeSet::new();
    for bytes in cubins() {
        let cubin = Cubin::read(Reader::new(&bytes)).unwrap();
        decompile::cubin_with(
            &cubin,
            &|_| true,
            &Options::default(),
            None,
            &mut Diagnostics::new(),
            Some(&mut |pass, module| {
                seen.insert(pass.to_owned());
                let faults = verify(&module.function);
                assert!(faults.is_empty(), "{} after {pass}: {faults:#?}", module.name);
                let text = module.to_string();
                let read =
                    parse(&text).unwrap_or_else(|error| panic!("{} after {pass}: {error}", module.name));
                assert_eq!(read.to_string(), text, "{} after {pass}", module.name);
                assert_eq!(verify(&read.function), Vec::<String>::new(), "{} after {pass}", module.name);
            }),
            &mut |_| {},
        );
    }
    let all: BTreeSet<String> = passes().into_iter().map(|pass| String::from(pass.0)).collect();
    assert_eq!(seen, all, "the table of passes");
}

/// Workers take functions in any order, and each remembers other searches.
#[test]
fn workers_print_what_one_after_the_other_does() {
    for bytes in cubins() {
        let cubin = Cubin::read(Reader::new(&bytes)).unwrap();
        let text = |observe: Option<&mut decompile::Observer<'_>>| {
            let (options, mut functions) = (Options::default(), Vec::new());
            let (mut faults, mut take) = (Diagnostics::new(), |function| functions.push(function));
            decompile::cubin_with(&cubin, &|_| true, &options, None, &mut faults, observe, &mut take);
            decompile::text(&functions)
        };
        assert_eq!(text(None), text(Some(&mut |_, _| {})));
    }
}

#[test]
fn text_is_a_front_end() {
    for bytes in cubins() {
        let cubin = Cubin::read(Reader::new(&bytes)).unwrap();
        let mut lifted = Vec::new();
        let mut printed = Vec::new();
        let mut observe = |pass: &str, module: &unshade::decompiler::ir::Module<'_>| {
            if pass == "lift" {
                lifted.push(module.to_string());
            }
        };
        decompile::cubin_with(
            &cubin,
            &|_| true,
            &Options::default(),
            None,
            &mut Diagnostics::new(),
            Some(&mut observe),
            &mut |function| printed.extend(function.result),
        );
        let mut cache = nvidia::cache();
        for (text, expected) in lifted.iter().zip(printed) {
            let module = parse(text).unwrap();
            let found = decompile_module(module, &Options::default(), &mut cache, &mut |_, _| {});
            // Values are in another order, so variables may have other numbers, and share a declaration or not.
            let counts = |one: &Decompiled| (one.casts, one.gotos, one.unlifted, one.flushes);
            let texts = || format!("{}\n{}", found.text(), expected.text());
            assert_eq!(counts(&found), counts(&expected), "{}", texts());
            assert!(found.body.abs_diff(expected.body) <= expected.body / 100, "{}", texts());
        }
    }
}
