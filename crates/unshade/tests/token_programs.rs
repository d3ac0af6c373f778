//! Token programs of both formats are compared and surveyed, and their control flow is found.

#![allow(missing_docs)]

use std::path::Path;
use unshade::core::{Diagnostics, Reader};
use unshade::diff::ContainerDiff;
use unshade::disassembly::{TokenSource, token_programs};
use unshade::dxbc::d3d9;
use unshade::dxcontainer::Container;
use unshade::survey::{Show, Survey};

fn bytes_of(text: &str) -> Vec<u8> {
    d3d9::assemble(text).expect("a program").write().expect("a program")
}

fn container(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(name)).expect("a container")
}

const ONE: &str = "ps_2_0\ndcl t0.xy\ndcl_2d s0\ntexld r0, t0, s0\nmov oC0, r0\n";
const TWO: &str = "ps_2_0\ndcl t0.xy\ndcl_2d s0\ntexld r0, t0, s0\nmul r0, r0, c0\nmov_sat oC0, r0\n";

#[test]
fn direct3d9_programs_are_compared() {
    let (one, two) = (bytes_of(ONE), bytes_of(TWO));
    let compare = |one: &[u8], two: &[u8]| {
        let files = [one, two].map(|bytes| unshade::open_bytes("program", bytes.to_vec()));
        let [one, two] = files.each_ref().map(|file| file.programs().next().expect("a program"));
        let [one, two] = [&one, &two].map(|program| program.contents().expect("it opens"));
        ContainerDiff::of_programs(one, two, false, 0)
    };
    let diff = compare(&one, &two);
    let code = diff.parts.iter().find(|part| part.part == "code").expect("the code has changed");
    assert_eq!((code.code.added, code.code.removed), (2, 1));
    assert!(compare(&one, &one).parts.is_empty());
}

#[test]
fn programs_of_containers_are_compared() {
    let (one, two) = (container("level9/level9_ps_9_1.dxbc"), container("level9/precision_ps_9_3.dxbc"));
    let [before, after] = [&one, &two].map(|bytes| Container::parse(bytes).expect("a container"));
    let diff = ContainerDiff::new(&before, &after, 0);
    let changed =
        |name: &str| diff.parts.iter().any(|part| part.part.contains(name) && !part.code.is_empty());
    assert!(changed("code of Aon9"), "{diff:?}");
    assert!(diff.parts.iter().any(|part| part.part == "code" && !part.code.is_empty()), "{diff:?}");
}

#[test]
fn instructions_are_surveyed() {
    let mut survey = Survey::default();
    let bytes = bytes_of(TWO);
    survey.token_programs(&TokenSource::Direct3d9(Reader::new(&bytes)));
    let bytes = container("debug/compute_cs_5_1.dxbc");
    survey.token_programs(&TokenSource::Container(Container::parse(&bytes).expect("a container")));
    let report = survey.report(Show::All);
    let count = |path: &str| report.fields.iter().find(|field| field.path == path).map(|field| field.count);
    assert_eq!(count("token program ps_2_0/dcl"), Some(2));
    assert_eq!(count("token program ps_2_0/mul"), Some(1));
    assert_eq!(count("token program ps_2_0/mul/operand"), Some(3));
    assert_eq!(count("token program cs_5_1/if"), Some(1));
    assert_eq!(count("token program cs_5_1/if/controls"), Some(1));
    assert_eq!(report.programs, 2);
}

#[test]
fn control_flow_is_found() {
    let text = "vs_2_0\ndcl_position v0\nmov r0, v0\nif b0\nadd r0, r0, c0\nelse\nmul r0, r0, c1\nendif\nmov oPos, r0\n";
    let bytes = bytes_of(text);
    let source = TokenSource::Direct3d9(Reader::new(&bytes));
    let programs = token_programs("p", &source, &mut Diagnostics::new()).expect("a program");
    let [(path, program)] = &programs[..] else { panic!("one program") };
    let flow = program.control_flow();
    assert_eq!((path.as_str(), program.profile().as_str(), flow.blocks.len()), ("p", "vs_2_0", 4));
    let mut edges = flow.edges;
    edges.sort_unstable();
    assert_eq!(edges, [(0, 1), (0, 2), (1, 3), (2, 3)]);
}
