//! Describes the control flow of one function, as data and in Graphviz's DOT language.

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

/// Kinds of edges that are shown without a label.
const ALWAYS: [&str; 2] = ["always", "next"];

/// The control flow of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ControlFlowView {
    /// Index of the function in the module.
    pub index: u32,
    /// Name of the function as in the file.
    pub function: String,
    /// Its demangled name, if it is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// Basic blocks in file order; the first is the entry.
    pub blocks: Vec<BlockView>,
    /// Natural loops, outer before inner ones.
    pub loops: Vec<LoopView>,
    /// Back edges of irreducible cycles, which have several entries and are not natural loops: from, to.
    pub irreducible: Vec<[u32; 2]>,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockView {
    /// Index of the block.
    pub index: u32,
    /// Label as in a listing, or the number that it would have there.
    pub label: String,
    /// Number of instructions.
    pub instructions: u64,
    /// Whether it is reachable from the entry.
    pub reached: bool,
    /// Predecessors, each once.
    pub predecessors: Vec<u32>,
    /// Immediate dominator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immediate_dominator: Option<u32>,
    /// Number of loops that contain it.
    pub loop_depth: u32,
    /// Whether it is the header of a loop.
    pub loop_header: bool,
    /// Outgoing edges.
    pub edges: Vec<EdgeView>,
    /// How it leaves the function, for machine code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<LeaveView>,
    /// Address of its first word, for machine code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Lines of its instructions as in a listing; at least one per instruction.
    pub lines: Vec<String>,
}

/// An edge to another block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeView {
    /// Target block.
    pub to: u32,
    /// Kind of the edge.
    pub kind: String,
    /// Value of a `case`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it is a back edge to the header of its loop.
    pub back: bool,
}

/// An exit of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaveView {
    /// Kind of exit.
    pub kind: String,
    /// Target address, if it is outside the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
}

impl LeaveView {
    /// Returns whether the instruction itself shows the exit.
    fn is_plain(&self) -> bool {
        matches!(self.kind.as_str(), "exit" | "return")
    }
}

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopView {
    /// Header block, through which the loop is entered.
    pub header: u32,
    /// Latches: blocks with an edge back to the header.
    pub latches: Vec<u32>,
    /// Index of the enclosing loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Nesting depth; 1 for an outermost loop.
    pub depth: u32,
}

impl LoopView {
    /// Describes the loops of a graph.
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
    /// Describes the functions of a module whose index `wanted` accepts. Reports bodies that can't be read.
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
            // Printing the module reports faults in bodies.
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

    /// Returns the demangled name, or the name itself if it is not mangled.
    pub fn readable_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.function)
    }

    /// Returns the graph in Graphviz's DOT language: blocks are boxes with their instructions, edges are labelled with
    /// their condition, back edges are dashed. Names from the file are escaped, and nodes are named by block number.
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
                // Unconditional edges need no label.
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

/// Appends quoted lines, each followed by `end`. Escapes everything that Graphviz would interpret: its own escapes,
/// character entities, and unprintable characters.
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

/// Collects the lines of each block from a listing.
struct BlockLines<'v> {
    views: &'v mut [ControlFlowView],
    /// Index of the view, by function.
    places: &'v [Option<usize>],
    /// Current view and block.
    at: Option<(usize, u32)>,
    /// Whether the rest of the current line belongs to the label.
    skips: bool,
    line: String,
}

impl BlockLines<'_> {
    fn begin(&mut self, function: u32, block: u32, has_label: bool) {
        let view = self.places.get(function as usize).copied().flatten();
        self.at = view.map(|view| (view, block));
        // Each block but the entry starts with a line that has a comment, with or without a label.
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

    /// Inserted text belongs to no block.
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
        for dialect in [Dialect::Llvm14, Dialect::Dxc, Dialect::Llvm19, Dialect::Llvm22] {
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
