//! Search: every way to ask finds what a look at each line of each listing finds.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use unshade::program::Runner;
use unshade::query::{Session, Source, Workspace};

const FILES: [&str; 7] = [
    "metallib/vertex_fragment.metallib",
    "metallib/linker_1_2_8.metallib",
    "metallib/sources_hsrd.metallib",
    "dxcontainer/compute.dxbc",
    "dxcontainer/fxc_ps_5_1.dxbc",
    "nvidia/calls_sm_35.cubin",
    "nvidia/add.ptx",
];

/// Runs each job on a thread of its own.
struct Threaded;

impl Runner for Threaded {
    fn run(&self, _what: &'static str, count: usize, job: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for number in 0..count {
                scope.spawn(move || job(number));
            }
        });
    }
}

fn ask(workspace: &mut Workspace, request: &Value) -> Value {
    let answer = serde_json::from_str(&workspace.handle_json(&request.to_string()));
    let answer: Value = answer.expect("JSON");
    assert!(answer.get("error").is_none(), "{request}: {answer}");
    answer
}

/// All files, resident and searched on one thread, by ranges, or on several threads.
fn workspaces() -> [Workspace; 3] {
    let mut all: [Workspace; 3] = Default::default();
    for name in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
        let bytes = fs::read(path).expect("a fixture");
        let [one, ranged, threaded] = &mut all;
        one.open_bytes(name, bytes.clone());
        threaded.open(Session::new(name, Source::resident(bytes.clone())).with_threads(&Threaded, 4));
        let size = bytes.len() as u64;
        let read = move |offset: u64, into: &mut [u8]| {
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            Ok(())
        };
        ranged.open(Session::new(name, Source::ranged(size, Box::new(read)).expect("a small file")));
    }
    all
}

/// What a look at every line of the default listing of every item finds: program, item, line, column, range.
fn by_lines(workspace: &mut Workspace, file: usize, needle: &str) -> Vec<Value> {
    let overview = ask(workspace, &json!({ "query": "overview", "file": file }));
    let mut found = Vec::new();
    for program in 0..overview["programs"].as_array().expect("programs").len() {
        let rows = ask(workspace, &json!({ "query": "rows", "file": file, "program": program }));
        for item in 0..rows["total"].as_u64().expect("a total") {
            let at = json!({ "file": file, "program": program, "item": item });
            let asked = |query: &str, more: Value| {
                let mut request = at.clone();
                request["query"] = query.into();
                for (key, value) in more.as_object().expect("fields") {
                    request[key] = value.clone();
                }
                request
            };
            let panes = ask(workspace, &asked("facts", json!({})))["panes"].clone();
            let has = |pane: &&str| panes.as_array().expect("panes").iter().any(|one| one == pane);
            let Some(pane) = ["assembly", "ptx"].iter().find(|pane| has(pane)) else { continue };
            let listing = ask(workspace, &asked("listing", json!({ "pane": pane, "count": 5000 })));
            for (number, line) in listing["lines"].as_array().expect("lines").iter().enumerate() {
                let tokens = line["tokens"].as_array().expect("tokens");
                let text: String = tokens.iter().map(|token| token[1].as_str().expect("a text")).collect();
                if let Some(start) = text.to_ascii_lowercase().find(needle) {
                    let column = text[..start].encode_utf16().count();
                    found.push(json!([program, item, pane, number, column, line["range"]]));
                }
            }
        }
    }
    found
}

/// Asks for the matches step by step.
fn all_matches(workspace: &mut Workspace, request: &Value) -> Vec<Value> {
    let (mut request, mut matches) = (request.clone(), Vec::new());
    loop {
        let answer = ask(workspace, &request);
        let some = answer["matches"].as_array().expect("matches");
        let is_named = |one: &Value| {
            let Some(items) = answer["items"].as_array() else { return false };
            items.iter().any(|item| item["item"] == one["item"] && item["program"] == one["program"])
        };
        let has_items = ["listings", "sources"].iter().any(|scope| request["scope"] == *scope);
        assert!(!has_items || some.iter().all(is_named), "{answer}");
        matches.extend(some.iter().cloned());
        if answer["cursor"].is_null() {
            assert_eq!(answer["searched"], answer["total"]);
            return matches;
        }
        request["cursor"] = answer["cursor"].clone();
    }
}

#[test]
fn listings_are_searched_as_they_are_shown() {
    let mut workspaces = workspaces();
    for (file, name) in FILES.iter().enumerate() {
        for needle in ["ret", "%0", "r1", "add.", ".global", "nowhere to be found"] {
            let expected = by_lines(&mut workspaces[0], file, needle);
            for (way, workspace) in workspaces.iter_mut().enumerate() {
                for limit in [1, 3, 1000] {
                    let request = json!({ "query": "search", "file": file, "scope": "listings", "text": needle,
                        "limit": limit, "budget_ms": 0 });
                    let found: Vec<Value> = all_matches(workspace, &request)
                        .iter()
                        .map(|one| {
                            json!([
                                one["program"],
                                one["item"],
                                one["pane"],
                                one["line"],
                                one["column"],
                                one["range"]
                            ])
                        })
                        .collect();
                    assert_eq!(found, expected, "{needle} in {name} {way} {limit}");
                }
            }
        }
    }
}

#[test]
fn spans_have_together_what_the_whole_has() {
    let mut workspaces = workspaces();
    for (file, scope, text) in [
        (0, "listings", "float"),
        (2, "sources", "kernel"),
        (3, "names", "s"),
        (5, "listings", "mov"),
        (0, "bytes", "00"),
        (4, "bytes", "\"SHEX\""),
    ] {
        let request = |span: Value| {
            json!({ "query": "search", "file": file, "scope": scope, "text": text, "context": 2, "limit": 100,
                "span": span })
        };
        let whole = all_matches(&mut workspaces[0], &request(json!([0, 1_000_000])));
        assert!(!whole.is_empty(), "{scope} {text}");
        let total =
            ask(&mut workspaces[0], &request(json!([0, 1_000_000])))["total"].as_u64().expect("total");
        for part in [1, 2, 5, 777] {
            let part = if scope == "bytes" { part * 100 } else { part };
            for workspace in &mut workspaces {
                let starts = (0..total).step_by(part as usize);
                let spans = starts.map(|start| request(json!([start, start + part])));
                let found: Vec<Value> = spans.flat_map(|span| all_matches(workspace, &span)).collect();
                assert_eq!(found, whole, "{scope} {text} by {part}");
            }
        }
    }
}

#[test]
fn lines_around_a_match_and_what_cannot_be_searched() {
    let [mut workspace, ..] = workspaces();
    let answer = ask(
        &mut workspace,
        &json!({ "query": "search", "file": 0, "scope": "listings", "text": "^define", "regex": true,
            "context": 1, "limit": 1 }),
    );
    let found = &answer["matches"][0];
    assert_eq!(
        (found["before"].as_array().map(Vec::len), found["after"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    assert_eq!(answer["items"], json!([{ "program": 0, "item": 0, "name": "corner", "kind": "vertex" }]));
    let text = r#"{"query":"search","file":5,"scope":"listings","text":"x","pane":"c"}"#;
    assert!(workspace.handle_json(text).contains("can't be searched"));
}
