//! Linking of the modules of real libraries.

use std::collections::BTreeSet;
use unshade_llvm::Module;
use unshade_llvm::link::{LinkInput, LinkRules, Linker, Root};
use unshade_llvm::print::{self, PrintOptions};
use unshade_metallib::Library;
use unshade_tests::corpus;

/// Maximum number of modules.
const MODULES: usize = 2000;

fn text(module: &Module<'_>) -> Vec<String> {
    let mut text = String::new();
    print::module(module, &PrintOptions::default(), &mut text);
    // Lists of symbols are the last variables of a linked module, and a declaration that nothing uses is left out, so that
    // groups of attributes have other numbers.
    let is_kept =
        |line: &&str| !["declare ", "attributes #", "; Function"].iter().any(|start| line.starts_with(start));
    let unnumbered = |line: &str| {
        line.split('#').map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect()
    };
    let mut lines: Vec<String> = text.lines().filter(is_kept).map(unnumbered).collect();
    lines.sort_unstable();
    lines
}

/// A module of which everything is reached is the same module.
#[test]
fn modules_of_which_all_is_reached_stay_as_they_are() {
    let mut seen = BTreeSet::new();
    let (mut count, mut refused) = (0, Vec::new());
    for file in corpus::smallest_libraries(usize::MAX, "linking real modules", |data| data.len() < 2 << 20) {
        let Ok(library) = Library::parse(&file.data) else { continue };
        for function in library.functions().map_while(Result::ok) {
            let Ok(Some(module)) = library.module(&function) else { continue };
            if count >= MODULES || !seen.insert(module.sha256()) {
                continue;
            }
            count += 1;
            let module = Module::parse(module.bytes(), 0).expect("a module");
            let bodies = module.bodies().expect("bodies");
            let linker = Linker::new(vec![LinkInput { module: &module, bodies: &bodies }]);
            let globals = module.globals.iter().map(|global| &global.symbol);
            let functions = module.functions.iter().map(|function| &function.symbol);
            let roots = globals.chain(functions).map(|symbol| Root { input: 0, name: &symbol.name });
            let reach = linker.reach(&roots.collect::<Vec<_>>());
            let linked = linker.link(&reach, &LinkRules::default()).and_then(|linked| linked.write());
            let name = format!("{}: {}", file.name, function.shown_name());
            let linked = match linked {
                Ok(linked) => linked,
                Err(error) => {
                    refused.push(format!("{name}: {error}"));
                    continue;
                }
            };
            let again = Module::parse(&linked, 0).expect("a module");
            let (before, after) = (text(&module), text(&again));
            let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).take(3).collect();
            let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).take(3).collect();
            assert!(lost.is_empty() && new.is_empty(), "{name}\n{lost:#?}\n{new:#?}");
        }
    }
    eprintln!("{count} modules linked, {} refused: {refused:#?}", refused.len());
}
