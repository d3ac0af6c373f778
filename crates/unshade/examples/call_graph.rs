//! Prints the call graph of an LLVM module in the language of Graphviz.
//!
//! ```text
//! cargo run --example call_graph -- tests/fixtures/air/reduce.bc | dot -Tsvg > calls.svg
//! ```

use std::error::Error;
use std::fmt::Write;
use unshade::llvm::Module;
use unshade::llvm::uses::{CallGraph, Callee};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: call_graph FILE.bc")?;
    print!("{}", graph(&std::fs::read(path)?)?);
    Ok(())
}

/// Returns the call graph of the first module in a bitcode file.
pub(crate) fn graph(bytes: &[u8]) -> Result<String, Box<dyn Error>> {
    // Declarations are read at once, bodies when they are asked for.
    let module = Module::parse(bytes, 0)?;
    let defined = (0..module.functions.len()).filter(|index| !module.functions[*index].declaration);
    let bodies = defined.map(|index| module.body(index)).collect::<Result<Vec<_>, _>>()?;
    let calls = CallGraph::new(&module, &bodies);

    let name = |index: u32| String::from_utf8_lossy(&module.functions[index as usize].symbol.name);
    let mut text = String::from("digraph calls {\n");
    for body in &bodies {
        writeln!(text, "  {:?}", name(body.function))?;
        for callee in calls.callees(body.function) {
            let callee = match callee {
                Callee::Function(index) => name(index),
                Callee::Assembly => "inline assembly".into(),
                Callee::Indirect => "function pointer".into(),
            };
            writeln!(text, "  {:?} -> {callee:?}", name(body.function))?;
        }
    }
    text.push_str("}\n");
    Ok(text)
}
