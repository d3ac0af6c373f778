//! Describes the control flow of NVIDIA machine code.

use super::control_flow::{BlockView, ControlFlowView, EdgeView, LeaveView, LoopView};
use super::shown;
use crate::demangle;
use crate::sass_code::{Code, FunctionCode};
use unshade_sass::control_flow::{ControlFlow, FunctionExit};
use unshade_sass::listing::{Word, label};

impl ControlFlowView {
    /// Describes a function of a cubin.
    pub fn of_code(code: &Code<'_>, function: &FunctionCode<'_>) -> Self {
        let flow = code.control_flow(function);
        let mut view = Self {
            index: function.function.index,
            function: shown(function.function.name()),
            demangled: demangle(function.function.own_name()),
            blocks: Vec::new(),
            loops: LoopView::all(flow.loops()),
            irreducible: flow.loops().irreducible().iter().map(|&(from, to)| [from, to]).collect(),
        };
        let mut words = function.words().words();
        for (block, index) in flow.blocks().iter().zip(0..) {
            let count = block.addresses.end.wrapping_sub(block.addresses.start);
            let count = count / function.words().isa.word_bytes.max(1) as u64;
            let mut lines = Vec::new();
            for (address, word) in words.by_ref().take(usize::try_from(count).unwrap_or(0)) {
                match word {
                    Word::Schedule(_) => {}
                    Word::Instruction(instruction) => lines.push(format!("{};", instruction.text(address))),
                    Word::Unknown(bits) => lines.push(format!(".word {bits:#x};")),
                }
            }
            let start = block.addresses.start;
            let text = if index == 0 { function.name.clone() } else { label(start) };
            view.blocks.push(block_view(&flow, index, text, start, lines));
        }
        view
    }
}

fn block_view(flow: &ControlFlow, index: u32, label: String, address: u64, lines: Vec<String>) -> BlockView {
    let mut predecessors = flow.graph().predecessors(index).to_vec();
    predecessors.sort_unstable();
    predecessors.dedup();
    let edges = flow.edges_from(index).iter().map(|edge| EdgeView {
        to: edge.to,
        kind: edge.cause.name().to_owned(),
        value: None,
        back: flow.is_back_edge(edge),
    });
    let leaves = flow.exits_of(index).map(|leaving| LeaveView {
        kind: leaving.name().to_owned(),
        address: if let FunctionExit::Outside(address) = leaving { Some(address) } else { None },
    });
    let innermost = flow.loops().innermost(index).and_then(|at| flow.loops().all().get(at as usize));
    BlockView {
        index,
        label,
        instructions: lines.len() as u64,
        reached: flow.dominators().is_reached(index),
        predecessors,
        immediate_dominator: flow.dominators().immediate(index),
        loop_depth: flow.loops().depth(index),
        loop_header: innermost.is_some_and(|one| one.header == index),
        edges: edges.collect(),
        leaves: leaves.collect(),
        address: Some(address),
        lines,
    }
}
