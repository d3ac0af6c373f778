//! The control flow of one function: as data, and in the language of Graphviz.

use super::shown;
use crate::demangle;
use serde::Serialize;
use std::fmt::Write as _;
use unshade_core::escape::is_plain;
use unshade_core::graph::Loops;
use unshade_core::token::Link;
use unshade_core::{Diagnostics, Token, TokenSink};
use unshade_llvm::control_flow::{ControlFlow, Edge, EdgeKind};
use unshade_llvm::print::{self, Dialect, Entity, PrintOptions};
use unshade_llvm::{BlockId, FunctionBody, Module};

/// What leads along an edge that needs no word.
const ALWAYS: [&str; 2] = ["always", "next"];

/// The control flow of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ControlFlowView {
    /// The function's place in the module.
    pub index: u32,
    /// The function's name as it stands in the file.
    pub function: String,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// The basic blocks in the order of the file; the first is the entry.
    pub blocks: Vec<BlockView>,
    /// The natural loops, outer ones before those in them.
    pub loops: Vec<LoopView>,
    /// Edges back into a cycle that has several ways in, which is no natural loop: from, to.
    pub irreducible: Vec<[u32; 2]>,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockView {
    /// Its place among the blocks.
    pub index: u32,
    /// Its label as a listing has it, or the number that it would have there.
    pub label: String,
    /// How many instructions it has.
    pub instructions: u64,
    /// Whether the entry leads to it.
    pub reached: bool,
    /// The blocks that lead to it, each once.
    pub predecessors: Vec<u32>,
    /// The last block before it that stands on every way from the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immediate_dominator: Option<u32>,
    /// In how many loops it is.
    pub loop_depth: u32,
    /// Whether it is the header of a loop.
    pub loop_header: bool,
    /// Where it leads.
    pub edges: Vec<EdgeView>,
    /// How the function is left in it, of machine code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<LeaveView>,
    /// The address of its first word, of machine code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Its instructions as a listing has them, a line each or more.
    pub lines: Vec<String>,
}

/// A way to another block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeView {
    /// The block that is entered.
    pub to: u32,
    /// What leads there.
    pub kind: String,
    /// The constant of a `case`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it leads back to the header of its loop.
    pub back: bool,
}

/// How a function is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaveView {
    /// How.
    pub kind: String,
    /// The address that is branched to, if it is outside of the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
}

impl LeaveView {
    /// Whether an instruction says so by itself.
    fn is_plain(&self) -> bool {
        matches!(self.kind.as_str(), "exit" | "return")
    }
}

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopView {
    /// The block through which it is entered.
    pub header: u32,
    /// The blocks that lead back to the header.
    pub latches: Vec<u32>,
    /// The place among the loops of the one around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// How many loops it is in, itself included.
    pub depth: u32,
}

impl LoopView {
    /// The loops of a graph.
    pub(super) fn all(loops: &Loops) -> Vec<Self> {
        let view = |one: &unshade_core::graph::Loop| Self {
            header: one.header,
            latches: one.latches.clone(),
            parent: one.parent,
            depth: one.depth,
        };
        loops.all().iter().map(view).collect()
    }
}

impl ControlFlowView {
    /// Describes the functions of a module that `wanted` names by their index. What can't be read is told.
    ///
    /// ```
    /// use unshade::view::ControlFlowView;
    /// # use unshade::llvm::{self, print::Dialect};
    /// # let bytes = include_bytes!("../../../../tests/fixtures/air/kernel.bc");
    /// let module = llvm::Module::parse(bytes, 0)?;
    /// let mut diagnostics = unshade::core::Diagnostics::new();
    /// let views = ControlFlowView::of_module(&module, Dialect::Llvm14, |_| true, &mut diagnostics);
    /// assert!(views[0].dot().starts_with("digraph \"scale\" {"));
    /// # Ok::<(), unshade::core::Error>(())
    /// ```
    pub fn of_module(
        module: &Module<'_>,
        dialect: Dialect,
        wanted: impl Fn(usize) -> bool,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Self> {
        let mut views = Vec::new();
        let mut places = vec![None; module.functions.len()];
        for (index, function) in module.functions.iter().enumerate() {
            // Printing the module tells what is wrong with bodies.
            if !function.declaration
                && wanted(index)
                && let Ok(body) = module.body(index)
            {
                places[index] = Some(views.len());
                views.push(Self::new(module, &body));
            }
        }
        let mut lines =
            BlockLines { views: &mut views, places: &places, at: None, skips: false, line: String::new() };
        let options = PrintOptions { dialect, module_id: None };
        let mut sink: &mut dyn TokenSink = &mut lines;
        diagnostics.append(print::module(module, &options, &mut sink));
        views
    }

    fn new(module: &Module<'_>, body: &FunctionBody) -> Self {
        let flow = ControlFlow::new(body);
        let name =
            module.functions.get(body.function as usize).map_or(&[][..], |function| &function.symbol.name);
        let blocks = (0u32..).zip(print::block_labels(module, body));
        Self {
            index: body.function,
            function: shown(name),
            demangled: demangle(name),
            blocks: blocks.map(|(index, label)| BlockView::new(module, body, &flow, index, label)).collect(),
            loops: LoopView::all(flow.loops()),
            irreducible: flow.loops().irreducible().iter().map(|&(from, to)| [from, to]).collect(),
        }
    }

    /// The name that people read: demangled if it is mangled.
    pub fn readable_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.function)
    }

    /// The graph in the language of Graphviz: blocks are boxes with their instructions, edges say when they are taken,
    /// those that close a loop are dashed. Names are escaped; what blocks are called there follows from their number.
    pub fn dot(&self) -> String {
        let mut dot = String::from("digraph ");
        push_quoted(&mut dot, [self.function.as_str()], "");
        dot.push_str(" {\n  label=");
        push_quoted(&mut dot, [self.readable_name()], "");
        dot.push_str("\n  labelloc=t\n  fontname=monospace\n  node [shape=box, fontname=monospace]\n  edge [fontname=monospace]\n");
        for block in &self.blocks {
            let _ = write!(dot, "  b{} [label=", block.index);
            let head = format!("{}:", block.label);
            let lines = block.lines.iter().map(String::as_str);
            push_quoted(&mut dot, std::iter::once(head.as_str()).chain(lines), "\\l");
            dot.push_str(if block.reached { "]\n" } else { " style=dotted]\n" });
        }
        for block in &self.blocks {
            for edge in &block.edges {
                let _ = write!(dot, "  b{} -> b{}", block.index, edge.to);
                // What always happens needs no word.
                if !ALWAYS.contains(&edge.kind.as_str()) {
                    dot.push_str(" [label=");
                    push_quoted(&mut dot, [edge.value.as_deref().unwrap_or(&edge.kind)], "");
                    dot.push(']');
                }
                dot.push_str(if edge.back { " [style=dashed]\n" } else { "\n" });
            }
            for (number, leave) in block.leaves.iter().enumerate().filter(|(_, leave)| !leave.is_plain()) {
                let name = format!("o{}_{number}", block.index);
                let address = leave.address.map_or(String::new(), |address| format!(" {address:#x}"));
                let _ = write!(dot, "  {name} [shape=plaintext label=");
                push_quoted(&mut dot, [format!("{}{address}", leave.kind).as_str()], "");
                let _ = writeln!(dot, "]\n  b{} -> {name}", block.index);
            }
        }
        dot.push_str("}\n");
        dot
    }
}

/// Appends text in quotes, each line of it with `end` behind it, so that Graphviz shows it as it is: neither its
/// escapes nor its character entities nor anything that can't be shown get through.
fn push_quoted<'a>(dot: &mut String, lines: impl IntoIterator<Item = &'a str>, end: &str) {
    dot.push('"');
    for line in lines {
        for c in line.chars() {
            match c {
                '"' => dot.push_str("\\\""),
                '\\' => dot.push_str("\\\\"),
                '&' => dot.push_str("&amp;"),
                c if is_plain(c) => dot.push(c),
                c => {
                    let _ = write!(dot, "\\\\u{{{:x}}}", u32::from(c));
                }
            }
        }
        dot.push_str(end);
    }
    dot.push('"');
}

impl BlockView {
    fn new(module: &Module<'_>, body: &FunctionBody, flow: &ControlFlow, index: u32, label: String) -> Self {
        let mut predecessors = flow.graph().predecessors(index).to_vec();
        predecessors.sort_unstable();
        predecessors.dedup();
        let edge = |edge: &Edge| EdgeView {
            to: edge.to.0,
            kind: edge.kind.name().to_owned(),
            value: match edge.kind {
                EdgeKind::Case(value) => print::plain_constant(module, body, value),
                _ => None,
            },
            back: flow.is_back_edge(edge),
        };
        let innermost = flow.loops().innermost(index).and_then(|at| flow.loops().all().get(at as usize));
        Self {
            index,
            label,
            instructions: body.block(BlockId(index)).len() as u64,
            reached: flow.dominators().is_reached(index),
            predecessors,
            immediate_dominator: flow.dominators().immediate(index),
            loop_depth: flow.loops().depth(index),
            loop_header: innermost.is_some_and(|one| one.header == index),
            edges: flow.edges_from(BlockId(index)).iter().map(edge).collect(),
            leaves: Vec::new(),
            address: None,
            lines: Vec::new(),
        }
    }
}

/// Takes from a listing the lines of blocks.
struct BlockLines<'v> {
    views: &'v mut [ControlFlowView],
    /// By function, which view is of it.
    places: &'v [Option<usize>],
    /// The view and block that lines belong to.
    at: Option<(usize, u32)>,
    /// Whether the rest of the line is the label's.
    skips: bool,
    line: String,
}

impl BlockLines<'_> {
    fn begin(&mut self, function: u32, block: u32, has_label: bool) {
        let view = self.places.get(function as usize).copied().flatten();
        self.at = view.map(|view| (view, block));
        // Behind the label of a block stands a comment, and there it does even without a label, but for the entry.
        self.skips = has_label || block != 0;
        self.line.clear();
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.skips) {
            return;
        }
        if line == "}" {
            self.at = None;
        }
        let block =
            self.at.and_then(|(view, block)| self.views.get_mut(view)?.blocks.get_mut(block as usize));
        if let Some(block) = block.filter(|_| !line.is_empty()) {
            block.lines.push(line.strip_prefix("  ").unwrap_or(&line).to_owned());
        }
    }
}

impl TokenSink for BlockLines<'_> {
    fn token(&mut self, token: Token<'_>) {
        if let Some(link @ Link::Definition(_)) = token.link
            && let Some(Entity::Block { function, id }) = Entity::of(link)
        {
            return self.begin(function, id.0, !token.text.is_empty());
        }
        if self.at.is_none() {
            return;
        }
        let mut parts = token.text.split('\n');
        self.line.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.end_line();
            self.line.push_str(part);
        }
    }

    fn mark(&self) -> usize {
        0
    }

    fn truncate(&mut self, _mark: usize) {
        self.at = None;
        let blocks = self.views.iter_mut().flat_map(|view| &mut view.blocks);
        blocks.for_each(|block| block.lines.clear());
    }

    /// What is put in late belongs to no block.
    fn insert(&mut self, _mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        self.at = None;
        write(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views(bytes: &[u8], dialect: Dialect) -> Vec<ControlFlowView> {
        let module = Module::parse(bytes, 0).unwrap();
        let mut diagnostics = Diagnostics::new();
        let views = ControlFlowView::of_module(&module, dialect, |_| true, &mut diagnostics);
        assert!(diagnostics.is_empty());
        views
    }

    #[test]
    fn blocks_have_their_lines() {
        let bytes = include_bytes!("../../../unshade-llvm/tests/fixtures/instructions.bc");
        for dialect in [Dialect::Llvm14, Dialect::Dxc, Dialect::Llvm19] {
            for view in views(bytes, dialect) {
                for block in &view.blocks {
                    let first =
                        block.lines.iter().filter(|line| !line.starts_with(' ') && *line != "]").count();
                    assert_eq!(
                        first as u64, block.instructions,
                        "{dialect:?} {}: {:?}",
                        view.function, block.lines
                    );
                }
            }
        }
        let view = views(bytes, Dialect::Llvm14).into_iter().find(|view| view.function == "jumps").unwrap();
        let labels: Vec<&str> = view.blocks.iter().map(|block| block.label.as_str()).collect();
        assert_eq!(labels, ["entry", "left", "right", "0", "done", "dead"]);
        assert_eq!(view.blocks[4].lines, ["unreachable"]);
        assert_eq!(view.blocks[2].predecessors, [0, 1, 3]);
        let edges: Vec<_> =
            view.blocks[2].edges.iter().map(|edge| (edge.to, edge.value.as_deref())).collect();
        assert_eq!(edges, [(4, None), (3, Some("0")), (4, Some("-5"))]);
        assert!(view.blocks[2].loop_header && !view.blocks[5].reached);
    }

    #[test]
    fn hostile_names_stay_text() {
        let mut text = String::new();
        push_quoted(&mut text, ["a\"];\\N&lt;\u{202e}\n\x1b"], "\\l");
        assert_eq!(text, r#""a\"];\\N&amp;lt;\\u{202e}\\u{a}\\u{1b}\l""#);
    }
}
