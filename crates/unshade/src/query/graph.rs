//! Control flow: of LLVM's functions, NVIDIA's, and Direct3D's token programs.

use super::bits::function_at;
use super::recorder::{Lines, Recorder, lines_of};
use super::session::Session;
use super::*;
use crate::disassembly::{ModuleOptions, TokenSource, Unit, print_module, token_programs};
use crate::nv_units::{self, with_unit};
use crate::program::{Code, Piece};
use crate::view::ControlFlowView;
use std::ops::Range;
use unshade_core::token::Link;
use unshade_core::{Diagnostics, Escaped, Token, TokenKind, TokenSink};
use unshade_llvm::Module;
use unshade_llvm::print::Entity;
use unshade_sass::control_flow::ControlFlow;

/// The maximum number of blocks in an answer.
const MAX_BLOCKS: usize = 20_000;

/// The maximum number of functions in an answer.
const MAX_FUNCTIONS: usize = 10_000;

impl Session {
    pub(super) fn graph(&mut self, request: &Graph) -> Answer<GraphAnswer> {
        let place = &request.at;
        let table = self.table(place.program)?;
        let item = place.item.map(|item| table.item(item)).transpose()?;
        if let Some(item) = place.item {
            self.ensure_item(place.program, item)?;
        }
        if !item.map_or(table.panes(), |item| item.panes).contains(&"assembly") {
            return Err(no_graph());
        }
        // Blocks of machine code have the lines of its listing.
        let is_machine =
            matches!(self.parsed(place.program)?.code(item, &mut Diagnostics::new())?, Code::Machine(_));
        let Place { file, program, item: number } = *place;
        let pane = Pane { file, program, item: number, pane: "assembly".to_owned() };
        let printed = is_machine.then(|| self.printed(&pane)).transpose()?;
        let parsed = self.parsed(place.program)?;
        let answer = match (parsed.code(item, &mut Diagnostics::new())?, item, printed) {
            (Code::Modules(groups), ..) => {
                let unit = groups.iter().flat_map(|group| &group.units).next();
                of_module(unit.ok_or_else(no_graph)?, request.function)?
            }
            (Code::Tokens(source), ..) => of_token_programs(parsed.path, &source, request.function)?,
            (Code::Machine(code), Some(item), Some(printed)) => {
                with_unit(code, item.unit, |_, unit| match unit {
                    nv_units::Unit::Cubin(cubin) => of_kernel(cubin, item, &printed.lines),
                    _ => Err(no_graph()),
                })??
            }
            _ => return Err(no_graph()),
        };
        if answer.blocks.len() > MAX_BLOCKS {
            return Err(Fault::new(format!("the graph has {} blocks", answer.blocks.len()))
                .expected(format!("at most {MAX_BLOCKS}"))
                .hint("`unshade dis --cfg` writes it, however large it is"));
        }
        Ok(answer)
    }
}

fn no_graph() -> Fault {
    Fault::new("there is no control flow of this")
}

fn of_module(unit: &Unit<'_>, wanted: u32) -> Answer<GraphAnswer> {
    let module = unit.open()?;
    let bodies: Vec<usize> = (0..)
        .zip(&module.functions)
        .filter(|(_, function)| !function.declaration)
        .map(|(index, _)| index)
        .collect();
    let name = |index: &usize| {
        let name = module.functions.get(*index).map_or(&[][..], |function| &function.symbol.name);
        crate::demangle(name).unwrap_or_else(|| Escaped(name).to_string())
    };
    let functions = bodies.iter().take(MAX_FUNCTIONS).map(name).collect();
    let index = *bodies.get(wanted as usize).ok_or_else(|| Fault::new("no such function"))?;
    let mut faults = Diagnostics::new();
    let views = ControlFlowView::of_module(&module, unit.usual_dialect(), |one| one == index, &mut faults);
    let view = views.into_iter().next().ok_or_else(|| Fault::new("the function's body can't be read"))?;
    let mut answer = GraphAnswer { functions, ..GraphAnswer::default() };
    let mut listed = listed_blocks(unit, &module, index, view.blocks.len());
    for (at, block) in view.blocks.iter().enumerate() {
        answer.edges.extend(block.edges.iter().map(|edge| GraphEdge {
            from: block.index,
            to: edge.to,
            cause: edge.kind.clone(),
            value: edge.value.clone(),
            back: edge.back,
        }));
        let ListedBlock { lines, link } = listed.get_mut(at).map(std::mem::take).unwrap_or_default();
        answer.blocks.push(GraphBlock {
            label: block.label.clone(),
            range: around(&lines),
            lines,
            link,
            reached: block.reached,
            loop_depth: block.loop_depth,
        });
    }
    let loops = view.loops.iter();
    answer.loops =
        loops.map(|one| GraphLoop { header: one.header, depth: one.depth, parent: one.parent }).collect();
    Ok(answer)
}

/// What the listing has of a block.
#[derive(Default)]
struct ListedBlock {
    lines: Vec<Line>,
    /// The link of its label.
    link: Option<i64>,
}

/// Returns the lines of a function's blocks as they are in the listing of its module, so that links are the same.
fn listed_blocks(unit: &Unit<'_>, module: &Module<'_>, function: usize, count: usize) -> Vec<ListedBlock> {
    let mut recorder = Recorder::default();
    let mut marks = BlockMarks { recorder: &mut recorder, function: function as u32 };
    let mut sink: &mut dyn TokenSink = &mut marks;
    let options = ModuleOptions { dialect: unit.usual_dialect(), raw: false };
    print_module(unit, module, options, &mut sink);
    let listing = recorder.finish();
    let mut blocks: Vec<ListedBlock> = (0..count).map(|_| ListedBlock::default()).collect();
    let marks = listing.blocks();
    let ends = marks.iter().skip(1).map(|(_, line, _)| *line).chain([listing.len()]);
    for (&(block, from, has_label), end) in marks.iter().zip(ends) {
        let Some(listed) = blocks.get_mut(block as usize) else { continue };
        // The label, or a comment in its place, has a line of its own, which is not part of the block. The entry may have
        // neither.
        let head = usize::from(has_label || block != 0);
        if head == 1 {
            let defines = |token: &TokenEntry| match token {
                TokenEntry::Linked(_, _, link) if *link < 0 => Some(*link),
                _ => None,
            };
            listed.link = listing.line(from).tokens.iter().find_map(defines);
        }
        let lines = (from + head..end).map(|line| listing.line(line));
        listed.lines =
            lines.take_while(|line| line.text() != "}").filter(|line| !line.tokens.is_empty()).collect();
    }
    blocks
}

/// Returns the bytes of consecutive lines.
fn around(lines: &[Line]) -> Option<ByteRange> {
    let start = lines.iter().filter_map(|line| line.range).map(|range| range[0]).min()?;
    let end = lines.iter().filter_map(|line| line.range).map(|range| range[1]).max()?;
    Some([start, end])
}

/// Marks on the recorder where the blocks of a function begin.
struct BlockMarks<'t> {
    recorder: &'t mut Recorder,
    function: u32,
}

impl TokenSink for BlockMarks<'_> {
    fn token(&mut self, token: Token<'_>) {
        if let Some(link @ Link::Definition(_)) = token.link
            && let Some(Entity::Block { function, id }) = Entity::of(link)
            && function == self.function
        {
            self.recorder.block(id.0, !token.text.is_empty());
        }
        self.recorder.token(token);
    }

    fn source(&mut self, range: Range<u64>) {
        self.recorder.source(range);
    }

    fn wants_sources(&self) -> bool {
        true
    }

    fn mark(&self) -> usize {
        self.recorder.mark()
    }

    fn truncate(&mut self, mark: usize) {
        self.recorder.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        self.recorder.insert(mark, write);
    }
}

fn of_token_programs(path: &str, source: &TokenSource<'_>, wanted: u32) -> Answer<GraphAnswer> {
    let programs = token_programs(path, source, &mut Diagnostics::new())?;
    let functions = programs.iter().take(MAX_FUNCTIONS).map(|(path, _)| path.clone()).collect();
    let (_, program) = programs.get(wanted as usize).ok_or_else(no_graph)?;
    let flow = program.control_flow();
    let graph = flow.graph();
    let (dominators, mut answer) = (graph.dominators(0), GraphAnswer { functions, ..GraphAnswer::default() });
    let loops = graph.loops(&dominators);
    for (index, block) in (0..).zip(&flow.blocks) {
        answer.blocks.push(GraphBlock {
            label: index.to_string(),
            lines: lines_of(|recorder| {
                for line in program.lines(block) {
                    recorder.put(TokenKind::Text, &line);
                    recorder.put(TokenKind::Space, "\n");
                }
            }),
            link: None,
            reached: dominators.is_reached(index) || flow.entries.contains(&index),
            loop_depth: loops.depth(index),
            range: None,
        });
    }
    answer.edges = flow
        .edges
        .iter()
        .map(|&(from, to)| GraphEdge { from, to, back: loops.is_back_edge(from, to), ..GraphEdge::default() })
        .collect();
    answer.loops = loops_of(&loops);
    Ok(answer)
}

fn loops_of(loops: &unshade_core::graph::Loops) -> Vec<GraphLoop> {
    let one = |one: &unshade_core::graph::Loop| GraphLoop {
        header: one.header,
        depth: one.depth,
        parent: one.parent,
    };
    loops.all().iter().map(one).collect()
}

/// Blocks of words, with the lines of the listing that were decoded from them.
fn of_kernel(cubin: &unshade_nv::Cubin<'_>, item: &Piece, lines: &Lines) -> Answer<GraphAnswer> {
    let name = item.row.readable_name();
    let function = function_at(cubin, item.index, name).ok_or_else(no_graph)?;
    let flow = ControlFlow::new(&function, &[]);
    let mut answer = GraphAnswer { functions: vec![name.to_owned()], ..GraphAnswer::default() };
    let ranges: Vec<Option<ByteRange>> = (0..lines.len()).map(|line| lines.range(line)).collect();
    for (index, block) in (0..).zip(flow.blocks()) {
        let place =
            |address: u64| function.file_offset.saturating_add(address.saturating_sub(function.address));
        let (start, end) = (place(block.addresses.start), place(block.addresses.end));
        // Lines are in the order of the words.
        let is_inside =
            |range: &Option<ByteRange>| range.is_some_and(|range| start <= range[0] && range[1] <= end);
        let inside =
            (0..).zip(&ranges).filter(|(_, range)| is_inside(range)).map(|(line, _)| lines.line(line));
        answer.blocks.push(GraphBlock {
            label: format!("{:#06x}", block.addresses.start),
            lines: inside.collect(),
            link: None,
            reached: flow.dominators().is_reached(index),
            loop_depth: flow.loops().depth(index),
            range: Some([start, end]),
        });
    }
    answer.edges = flow
        .edges()
        .iter()
        .map(|edge| GraphEdge {
            from: edge.from,
            to: edge.to,
            cause: edge.cause.name().to_owned(),
            value: None,
            back: flow.is_back_edge(edge),
        })
        .collect();
    answer.loops = loops_of(flow.loops());
    Ok(answer)
}
