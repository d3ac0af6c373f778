//! Analyses of the fixtures: control flow, uses, calls and counts.

use std::path::PathBuf;
use unshade_core::graph::Graph;
use unshade_llvm::control_flow::{ControlFlow, EdgeKind};
use unshade_llvm::statistics::{Access, Statistics};
use unshade_llvm::uses::{CallGraph, Callee, User, Uses};
use unshade_llvm::value::{OperandKind, ValueKind};
use unshade_llvm::{BlockId, FunctionBody, Module, Opcode};

const NAMES: [&str; 5] = ["instructions", "exceptions", "symbols", "debug_info", "air_like"];

fn read(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(format!("{name}.bc"))).unwrap()
}

fn find(module: &Module<'_>, name: &str) -> usize {
    module.functions.iter().position(|f| f.symbol.name == name.as_bytes()).unwrap()
}

fn bodies(module: &Module<'_>) -> Vec<FunctionBody> {
    let defined = (0..module.functions.len()).filter(|&at| !module.functions[at].declaration);
    defined.map(|at| module.body(at).unwrap()).collect()
}

/// Returns the edges of a function: from, to, kind.
fn edges(name: &str, function: &str) -> Vec<(u32, u32, &'static str)> {
    let bytes = read(name);
    let module = Module::parse(&bytes, 0).unwrap();
    let flow = ControlFlow::new(&module.body(find(&module, function)).unwrap());
    for block in 0..flow.graph().len() as u32 {
        let from: Vec<u32> = flow.edges_from(BlockId(block)).iter().map(|edge| edge.to.0).collect();
        assert_eq!(from, flow.graph().successors(block));
    }
    flow.edges().iter().map(|edge| (edge.from.0, edge.to.0, edge.kind.name())).collect()
}

#[test]
fn edges_have_kinds() {
    assert_eq!(
        edges("exceptions", "itanium"),
        [(0, 1, "normal"), (0, 2, "unwind"), (1, 3, "normal"), (1, 2, "unwind")]
    );
    assert_eq!(
        edges("exceptions", "windows"),
        [(0, 4, "normal"), (0, 1, "unwind"), (1, 2, "handler"), (1, 3, "unwind"), (2, 4, "always")]
    );
    assert_eq!(edges("exceptions", "goto"), [(0, 1, "normal"), (0, 2, "indirect")]);
    let jumps = edges("instructions", "jumps");
    assert_eq!(
        jumps,
        [
            (0, 1, "indirect"),
            (0, 2, "indirect"),
            (1, 2, "always"),
            (2, 4, "default"),
            (2, 3, "case"),
            (2, 4, "case"),
            (3, 2, "true"),
            (3, 4, "false"),
            (5, 4, "always"),
        ]
    );
}

#[test]
fn dominators_and_loops_of_a_function() {
    let bytes = read("instructions");
    let module = Module::parse(&bytes, 0).unwrap();
    let body = module.body(find(&module, "jumps")).unwrap();
    let flow = ControlFlow::new(&body);
    let immediate: Vec<Option<u32>> = (0..6).map(|block| flow.dominators().immediate(block)).collect();
    assert_eq!(immediate, [None, Some(0), Some(0), Some(2), Some(2), None]);
    assert!(!flow.dominators().is_reached(5));
    let back: Vec<_> = flow.edges().iter().filter(|edge| flow.is_back_edge(edge)).collect();
    assert_eq!(back.len(), 1);
    assert_eq!((back[0].from, back[0].to, back[0].kind), (BlockId(3), BlockId(2), EdgeKind::True));
    assert_eq!(flow.loops().all()[0].header, 2);
    assert_eq!(ControlFlow::new(&FunctionBody::default()).graph(), &Graph::new(0, &[]));
}

#[test]
fn every_operand_is_a_use() {
    for name in NAMES {
        let bytes = read(name);
        let module = Module::parse(&bytes, 0).unwrap();
        for body in bodies(&module) {
            let uses = Uses::of_body(&body);
            for (index, instruction) in (0u32..).zip(&body.instructions) {
                for (operand, used) in (0u32..).zip(body.operands_of(instruction)) {
                    let user = User::Instruction { index, operand };
                    let count = uses.of(used.kind()).filter(|one| *one == user).count();
                    assert_eq!(count, 1, "{name}: {user:?}");
                }
            }
        }
    }
}

#[test]
fn uses_of_a_global_go_through_constants() {
    let bytes = read("exceptions");
    let module = Module::parse(&bytes, 0).unwrap();
    let body = module.body(find(&module, "itanium")).unwrap();
    let global = module.globals.iter().find(|global| global.symbol.name == b"type_info").unwrap();
    let used = OperandKind::Value(global.symbol.value);
    // The landing pad uses it, and a constant that casts it.
    let in_body: Vec<User> = Uses::of_body(&body).of(used).collect();
    let by_constants: Vec<User> = in_body
        .iter()
        .copied()
        .chain(Uses::of_module(&module).of(used))
        .filter(|user| matches!(user, User::Constant(_)))
        .collect();
    assert!(in_body.iter().any(|user| matches!(user, User::Instruction { .. })), "{in_body:?}");
    let [User::Constant(cast)] = by_constants[..] else { panic!("{by_constants:?}") };
    assert!(matches!(module.value(Some(&body), cast).unwrap().kind, ValueKind::Constant(_)));
    assert!(Uses::of_body(&body).is_unused(OperandKind::Block(BlockId(0))));
}

#[test]
fn uses_of_the_module() {
    let bytes = read("symbols");
    let module = Module::parse(&bytes, 0).unwrap();
    let uses = Uses::of_module(&module);
    let zero = module.globals.iter().find(|global| global.symbol.name == b"zero").unwrap();
    let users: Vec<User> = uses.of(OperandKind::Value(zero.symbol.value)).collect();
    assert!(users.iter().any(|user| matches!(user, User::Alias(_))), "{users:?}");
    let personality = read("exceptions");
    let personality = Module::parse(&personality, 0).unwrap();
    let index = find(&personality, "__gxx_personality_v0");
    let value = personality.functions[index].symbol.value;
    let users: Vec<User> = Uses::of_module(&personality).of(OperandKind::Value(value)).collect();
    assert_eq!(users, [User::Function(find(&personality, "itanium") as u32)]);
}

#[test]
fn call_graph() {
    let bytes = read("air_like");
    let module = Module::parse(&bytes, 0).unwrap();
    let bodies = bodies(&module);
    let graph = CallGraph::new(&module, &bodies);
    let scale = find(&module, "scale") as u32;
    let names: Vec<_> = graph.calls_of(scale).iter().map(|site| site.callee).collect();
    let expected: Vec<_> = ["air.sample_texture_2d.v4f32", "air.wg.barrier", "llvm.fmuladd.f32"]
        .map(|name| Callee::Function(find(&module, name) as u32))
        .to_vec();
    assert_eq!(names, expected);
    assert_eq!(graph.callees(scale), expected);
    assert_eq!(graph.callers(expected[1]), [scale]);
    assert_eq!(graph.calls_to(Callee::Indirect).count(), 0);

    let bytes = read("instructions");
    let module = Module::parse(&bytes, 0).unwrap();
    let graph = CallGraph::new(&module, &self::bodies(&module));
    let calls = find(&module, "calls") as u32;
    assert_eq!(graph.callers(Callee::Indirect), [calls]);
    assert_eq!(graph.calls_to(Callee::Function(find(&module, "callee") as u32)).count(), 2);
    assert!(graph.sites().iter().any(|site| site.callee == Callee::Assembly));
}

#[test]
fn counts() {
    let bytes = read("air_like");
    let module = Module::parse(&bytes, 0).unwrap();
    let mut statistics = Statistics::new(&module);
    bodies(&module).iter().for_each(|body| statistics.add(&module, body));
    assert_eq!((statistics.functions, statistics.blocks, statistics.loops), (1, 4, 0));
    assert_eq!(statistics.opcode(Opcode::GetElementPtr), 3);
    let sum: u64 = statistics.opcodes().map(|(_, count)| count).sum();
    assert_eq!(sum, statistics.instructions);
    let memory = |access, space| statistics.memory.get(&(access, space)).map(|one| (one.count, one.bytes));
    assert_eq!(memory(Access::Load, 2), Some((1, 4)));
    assert_eq!(memory(Access::Load, 3), Some((1, 4)));
    assert_eq!(memory(Access::Store, 1), Some((1, 4)));
    assert_eq!(memory(Access::Atomic, 1), None);
    assert_eq!(statistics.calls.values().sum::<u64>(), 3);
}
