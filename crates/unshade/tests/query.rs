//! The query API, asked as in `tests/query/requests.txt`: files that are all there, and files that are read by ranges.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use unshade::llvm::print::{self, Dialect, PrintOptions};
use unshade::query::{Request, Session, Source, Workspace, parse_request};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files, with the names that they are opened by, and the requests.
fn questions(text: &str) -> (Vec<(String, Vec<u8>)>, Vec<&str>) {
    let files = text.lines().filter_map(|line| line.strip_prefix("# ")).map(|path| {
        let name = path.rsplit('/').next().unwrap().to_owned();
        (name, fs::read(root().join(path)).expect("a fixture"))
    });
    (files.collect(), text.lines().filter_map(|line| line.strip_prefix("> ")).collect())
}

fn resident(files: &[(String, Vec<u8>)]) -> Workspace {
    let mut workspace = Workspace::default();
    for (name, bytes) in files {
        workspace.open_bytes(name, bytes.clone());
    }
    workspace
}

/// A source that reads what is asked for, as a page does, and notes how much that was.
fn source(bytes: &[u8], read: &Arc<Mutex<usize>>) -> Source {
    let (file, count) = (bytes.to_vec(), Arc::clone(read));
    let read = move |offset: u64, into: &mut [u8]| {
        let at = usize::try_from(offset).map_err(|error| error.to_string())?;
        into.copy_from_slice(file.get(at..at + into.len()).ok_or("behind the end")?);
        *count.lock().map_err(|error| error.to_string())? += into.len();
        Ok(())
    };
    Source::ranged(bytes.len() as u64, Box::new(read)).expect("a small file")
}

fn ranged(files: &[(String, Vec<u8>)]) -> Workspace {
    let mut workspace = Workspace::default();
    for (name, bytes) in files {
        workspace.open(Session::new(name, source(bytes, &Arc::default())));
    }
    workspace
}

#[test]
fn answers() {
    let path = root().join("tests/query/requests.txt");
    let text = fs::read_to_string(&path).expect("the requests");
    let (files, requests) = questions(&text);
    let (mut whole, mut by_ranges) = (resident(&files), ranged(&files));
    let is_head = |line: &&str| line.starts_with("//") || line.starts_with("# ");
    let mut found = text.lines().take_while(is_head).collect::<Vec<_>>().join("\n") + "\n";
    for request in requests {
        let answer = whole.handle_json(request);
        assert_eq!(by_ranges.handle_json(request), answer, "by ranges: {request}");
        writeln!(found, "\n> {request}\n{answer}").expect("a text");
    }
    if found == text {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, found).expect("the requests can be written");
        return;
    }
    let line = found.lines().zip(text.lines()).position(|(one, other)| one != other).unwrap_or(0);
    let at = |text: &str| text.lines().nth(line).unwrap_or_default().to_owned();
    panic!("line {}:\n  expected {}\n  found    {}\n(BLESS=1 rewrites)", line + 1, at(&text), at(&found));
}

#[test]
fn what_is_taken_away_is_what_stands_in_the_file() {
    let text = fs::read_to_string(root().join("tests/query/requests.txt")).expect("the requests");
    let (files, _) = questions(&text);
    let mut workspace = ranged(&files);
    let mut take = |request: &str| {
        let Ok(Request::Extract(extract)) = parse_request(request) else {
            panic!("no extraction: {request}")
        };
        workspace.extract(&extract).expect("something to take")
    };
    assert_eq!(take(r#"{"query":"extract","file":0}"#).bytes, files[0].1);
    let module = take(r#"{"query":"extract","file":0,"item":1,"what":"module"}"#);
    let stands_there = files[0].1.windows(module.bytes.len()).any(|one| one == module.bytes);
    assert!(module.name.ends_with(".air") && stands_there);
    let listing = take(r#"{"query":"extract","file":7,"what":"listing","pane":"raw"}"#);
    let module = unshade::llvm::Module::parse(&files[7].1, 0).expect("a sound fixture");
    let options = PrintOptions { dialect: Dialect::Llvm14, module_id: Some("reduce.bc") };
    let mut expected = String::new();
    print::module(&module, &options, &mut expected);
    assert_eq!(listing.name, "reduce.bc.ll");
    assert_eq!(String::from_utf8(listing.bytes).expect("text"), expected);
}

/// Only the module of the function that is asked for is read, and that once.
#[test]
fn bitcode_is_read_when_it_is_asked_for() {
    let small = fs::read(root().join("tests/fixtures/metallib/vertex_fragment.metallib")).expect("a fixture");
    let file = with_large_modules(&small, 300_000);
    let count = Arc::default();
    let mut workspace = Workspace::default();
    workspace.open(Session::new("library", source(&file, &count)));
    let read = || *count.lock().expect("a count");
    let answer = workspace.handle_json(r#"{"query":"rows"}"#);
    assert!(answer.contains("\"matched\":2"), "{answer}");
    let before = read();
    assert!(before < 200_000, "{before} bytes for the list");
    for _ in 0..2 {
        let answer = workspace.handle_json(r#"{"query":"facts","item":0}"#);
        assert!(answer.contains("\"panes\":[\"assembly\""), "{answer}");
        assert!((200_000..500_000).contains(&(read() - before)), "{} bytes for a function", read() - before);
    }
}

/// The library with its modules made longer by zeros.
fn with_large_modules(file: &[u8], size: usize) -> Vec<u8> {
    let mut library = unshade::metallib::LibraryFile::parse(file).expect("a sound fixture");
    for (number, module) in (0..).zip(&mut library.modules) {
        let mut longer = module.bytes.to_vec();
        longer.resize(size, number);
        module.bytes = longer.into();
    }
    library.functions.iter_mut().for_each(|function| function.hash = None);
    library.write().expect("a library").to_vec()
}
