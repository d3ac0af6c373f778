//! Control flow: of LLVM's functions, NVIDIA's, and Direct3D's token programs.

use super::bits::function_at;
use super::listing::machine_code;
use super::recorder::{Lines, Recorder, lines_of};
use super::session::Session;
use super::*;
use crate::disassembly::{ModuleOptions, TokenSource, Unit, print_module, token_programs};
use crate::nv_units::{self, is_packed, with_unit};
use crate::program::{Code, Piece};
use crate::view::ControlFlowView;
use std::ops::Range;
use unshade_core::token::Link;
use unshade_core::{Diagnostics, Escaped, Token, TokenKind, TokenSink};
use unshade_llvm::Module;
use unshade_llvm::global::Linkage;
use unshade_llvm::print::Entity;
use unshade_sass::control_flow::ControlFlow;

/// The maximum number of blocks in an answer.
const MAX_BLOCKS: usize = 20_000;

/// The maximum number of functions in an answer.
const MAX_FUNCTIONS: usize = 10_000;

/// The maximum number of lines in an answer: a page reads those of larger graphs from the listing, as it shows them.
const MAX_GRAPH_LINES: usize = 6_000;

/// Beginnings of the names of functions that compilers make, which nobody looks for first.
const MADE: [&[u8]; 6] = [b"_GLOBAL__", b"__cxx_global", b"__cxa_", b"__clang", b"__llvm", b"__asan"];

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
        let name = item.map(|item| item.row.name.as_str());
        let mut answer = match (parsed.code(item, &mut Diagnostics::new())?, item, printed) {
            (Code::Modules(groups), ..) => {
                let unit = groups.iter().flat_map(|group| &group.units).next();
                of_module(unit.ok_or_else(no_graph)?, request.function, name)?
            }
            (Code::Tokens(source), ..) => {
                of_token_programs(parsed.path, &source, request.function.unwrap_or(0))?
            }
            (Code::Machine(code), Some(item), Some(printed)) => {
                with_unit(code, item.unit, |entry, unit| match unit {
                    nv_units::Unit::Cubin(cubin) if is_packed(entry) => of_packed_kernel(cubin, item),
                    nv_units::Unit::Cubin(cubin) => of_kernel(cubin, item, &printed.lines),
                    _ => Err(no_graph()),
                })??
            }
            _ => return Err(no_graph()),
        };
        answer.find_loops();
        answer.keep_near(request.around, request.limit.map_or(MAX_BLOCKS, |limit| limit as usize));
        answer.limit_lines();
        Ok(answer)
    }
}

fn no_graph() -> Fault {
    Fault::new("there is no control flow of this")
}

impl GraphAnswer {
    /// Finds loops, back edges, and what is reached from the entry or from an inner function.
    fn find_loops(&mut self) {
        let root = self.blocks.len() as u32;
        let entries = self.inner.iter().map(|inner| inner.block).chain([0]);
        let mut pairs: Vec<(u32, u32)> = entries.map(|entry| (root, entry)).collect();
        pairs.extend(self.edges.iter().map(|edge| (edge.from, edge.to)));
        let graph = unshade_core::graph::Graph::new(self.blocks.len() + 1, &pairs);
        let dominators = graph.dominators(root);
        let loops = graph.loops(&dominators);
        let one = |one: &unshade_core::graph::Loop| GraphLoop {
            header: one.header,
            depth: one.depth,
            parent: one.parent,
            blocks: Vec::new(),
        };
        self.loops = loops.all().iter().map(one).collect();
        for (index, block) in (0..).zip(&mut self.blocks) {
            block.reached = dominators.is_reached(index);
            block.loop_depth = loops.depth(index);
            let own = loops.innermost(index).and_then(|own| self.loops.get_mut(own as usize));
            own.into_iter().for_each(|own| own.blocks.push(index));
        }
        for edge in &mut self.edges {
            edge.back = loops.is_back_edge(edge.from, edge.to);
        }
    }

    /// Keeps the blocks that are fewest edges away from one.
    fn keep_near(&mut self, around: Option<u32>, limit: usize) {
        let count = self.blocks.len();
        let limit = limit.clamp(1, MAX_BLOCKS);
        if count <= limit {
            return;
        }
        let start = around.filter(|block| (*block as usize) < count).unwrap_or(0);
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); count];
        for edge in &self.edges {
            for (one, other) in [(edge.from, edge.to), (edge.to, edge.from)] {
                near.get_mut(one as usize).into_iter().for_each(|near| near.push(other));
            }
        }
        let mut is_kept = vec![false; count];
        let mut kept = vec![start];
        is_kept.get_mut(start as usize).into_iter().for_each(|is_kept| *is_kept = true);
        let mut next = 0;
        while let Some(block) = kept.get(next).copied().filter(|_| kept.len() < limit) {
            next += 1;
            for other in near.get(block as usize).into_iter().flatten() {
                if let Some(is_kept) = is_kept.get_mut(*other as usize)
                    && !*is_kept
                    && kept.len() < limit
                {
                    *is_kept = true;
                    kept.push(*other);
                }
            }
        }
        kept.sort_unstable();
        let place = |block: u32| kept.binary_search(&block).ok().map(|at| at as u32);
        let edges = self.edges.iter().filter_map(|edge| {
            Some(GraphEdge { from: place(edge.from)?, to: place(edge.to)?, ..edge.clone() })
        });
        self.edges = edges.collect();
        let inner = self
            .inner
            .iter()
            .filter_map(|inner| Some(GraphInner { block: place(inner.block)?, name: inner.name.clone() }));
        self.inner = inner.collect();
        // Loops whose header was left out are not drawn, and nor is their place in others.
        let mut places: Vec<Option<u32>> = Vec::with_capacity(self.loops.len());
        let mut loops: Vec<GraphLoop> = Vec::new();
        for one in &self.loops {
            let parent = one.parent.and_then(|parent| places.get(parent as usize).copied().flatten());
            let header = place(one.header);
            places.push(header.map(|_| loops.len() as u32).or(parent));
            if let Some(header) = header {
                let blocks = one.blocks.iter().filter_map(|block| place(*block)).collect();
                loops.push(GraphLoop { header, depth: one.depth, parent, blocks });
            }
        }
        self.loops = loops;
        for (number, block) in (0..).zip(&mut self.blocks) {
            block.number = Some(number);
        }
        let mut at = is_kept.into_iter();
        self.blocks.retain(|_| at.next().unwrap_or(false));
        self.left_out = (count - kept.len()) as u32;
    }

    /// Leaves the lines of a large graph out.
    fn limit_lines(&mut self) {
        let mut count = 0usize;
        for block in &mut self.blocks {
            block.count = block.lines.len() as u32;
            count = count.saturating_add(block.lines.len());
        }
        if count > MAX_GRAPH_LINES {
            self.blocks.iter_mut().for_each(|block| block.lines.clear());
        }
    }
}

/// Returns how late a function is shown: that of the item first, then what others can call, and last what compilers made.
fn rank(module: &Module<'_>, function: usize, item: Option<&str>) -> u8 {
    let Some(function) = module.functions.get(function) else { return 4 };
    let symbol = &function.symbol;
    if item.is_some_and(|item| Escaped(&symbol.name).to_string() == item) {
        return 0;
    }
    if MADE.iter().any(|made| symbol.name.starts_with(made)) {
        return 3;
    }
    if matches!(symbol.linkage, Linkage::Internal | Linkage::Private) { 2 } else { 1 }
}

fn of_module(unit: &Unit<'_>, wanted: Option<u32>, item: Option<&str>) -> Answer<GraphAnswer> {
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
    let wanted = wanted.unwrap_or_else(|| {
        let first = (0..).zip(&bodies).min_by_key(|(at, index)| (rank(&module, **index, item), *at));
        first.map_or(0, |(at, _)| at)
    });
    let index = *bodies.get(wanted as usize).ok_or_else(|| Fault::new("no such function"))?;
    let mut faults = Diagnostics::new();
    let views = ControlFlowView::of_module(&module, unit.usual_dialect(), |one| one == index, &mut faults);
    let view = views.into_iter().next().ok_or_else(|| Fault::new("the function's body can't be read"))?;
    let mut answer = GraphAnswer { functions, function: wanted, ..GraphAnswer::default() };
    let mut listed = listed_blocks(unit, &module, index, view.blocks.len());
    for (at, block) in view.blocks.iter().enumerate() {
        answer.edges.extend(block.edges.iter().map(|edge| GraphEdge {
            from: block.index,
            to: edge.to,
            cause: edge.kind.clone(),
            value: edge.value.clone(),
            back: edge.back,
        }));
        let ListedBlock { lines, link, line } = listed.get_mut(at).map(std::mem::take).unwrap_or_default();
        answer.blocks.push(GraphBlock {
            label: block.label.clone(),
            range: around(&lines),
            lines,
            link,
            line,
            ..GraphBlock::default()
        });
    }
    Ok(answer)
}

/// What the listing has of a block.
#[derive(Default)]
struct ListedBlock {
    lines: Vec<Line>,
    /// The link of its label.
    link: Option<i64>,
    /// The number of its first line, if no other line is between its lines.
    line: Option<u32>,
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
        let lines = (from + head..end).map(|line| listing.line(line)).take_while(|line| line.text() != "}");
        let mut lines: Vec<Line> = lines.collect();
        let end = lines.iter().rposition(|line| !line.tokens.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(end);
        listed.line = lines.iter().all(|line| !line.tokens.is_empty()).then_some((from + head) as u32);
        lines.retain(|line| !line.tokens.is_empty());
        listed.lines = lines;
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
    let mut answer = GraphAnswer { functions, function: wanted, ..GraphAnswer::default() };
    for (index, block) in (0..).zip(&flow.blocks) {
        let lines = program.lines(block);
        // Phases and subroutines begin with an instruction that names them.
        if index != 0 && flow.entries.contains(&index) {
            let name = lines.first().cloned().unwrap_or_default();
            answer.inner.push(GraphInner { block: index, name });
        }
        answer.blocks.push(GraphBlock {
            label: index.to_string(),
            lines: lines_of(|recorder| {
                for line in lines {
                    recorder.put(TokenKind::Text, &line);
                    recorder.put(TokenKind::Space, "\n");
                }
            }),
            ..GraphBlock::default()
        });
    }
    answer.edges =
        flow.edges.iter().map(|&(from, to)| GraphEdge { from, to, ..GraphEdge::default() }).collect();
    Ok(answer)
}

/// The graph of a kernel whose bytes have no place in the file: its listing has no ranges.
fn of_packed_kernel(cubin: &unshade_nv::Cubin<'_>, item: &Piece) -> Answer<GraphAnswer> {
    let mut recorder = Recorder::default();
    machine_code(cubin, Some(item), false, &mut recorder, &mut Diagnostics::new())?;
    let mut answer = of_kernel(cubin, item, &recorder.finish())?;
    for block in &mut answer.blocks {
        block.range = None;
        block.lines.iter_mut().for_each(|line| line.range = None);
    }
    Ok(answer)
}

/// Blocks of words, with the lines of the listing that were decoded from them.
fn of_kernel(cubin: &unshade_nv::Cubin<'_>, item: &Piece, lines: &Lines) -> Answer<GraphAnswer> {
    let name = item.row.readable_name();
    let function = function_at(cubin, item.index, name).ok_or_else(no_graph)?;
    let flow = ControlFlow::new(&function, &[]);
    let mut answer = GraphAnswer { functions: vec![name.to_owned()], ..GraphAnswer::default() };
    answer.inner = inner_functions(cubin, item.index, &flow);
    // Lines are in the order of the words.
    let mut ranges: Vec<(ByteRange, usize)> =
        (0..lines.len()).filter_map(|line| Some((lines.range(line)?, line))).collect();
    ranges.sort_unstable();
    for (index, block) in (0..).zip(flow.blocks()) {
        let place =
            |address: u64| function.file_offset.saturating_add(address.saturating_sub(function.address));
        let (start, end) = (place(block.addresses.start), place(block.addresses.end));
        let first = ranges.partition_point(|([from, _], _)| *from < start);
        let inside = ranges.get(first..).unwrap_or_default().iter().take_while(|([_, to], _)| *to <= end);
        let inside: Vec<usize> = inside.map(|(_, line)| *line).collect();
        let is_run = inside.windows(2).all(|pair| matches!(pair, [one, two] if one + 1 == *two));
        let inner = answer.inner.iter().find(|inner| inner.block == index);
        let address = format!("{:#06x}", block.addresses.start);
        answer.blocks.push(GraphBlock {
            label: inner.map_or(address.clone(), |inner| format!("{} {address}", inner.name)),
            line: inside.first().filter(|_| is_run).map(|line| *line as u32),
            lines: inside.into_iter().map(|line| lines.line(line)).collect(),
            range: Some([start, end]),
            ..GraphBlock::default()
        });
    }
    let edge = |edge: &unshade_sass::control_flow::Edge| GraphEdge {
        from: edge.from,
        to: edge.to,
        cause: edge.cause.name().to_owned(),
        ..GraphEdge::default()
    };
    answer.edges = flow.edges().iter().map(edge).collect();
    Ok(answer)
}

/// Returns the functions that begin inside of another, and their first blocks.
fn inner_functions(cubin: &unshade_nv::Cubin<'_>, index: u32, flow: &ControlFlow) -> Vec<GraphInner> {
    let Some(outer) = cubin.functions().nth(index as usize) else { return Vec::new() };
    let functions = cubin.functions().filter(|other| {
        other.symbol.section == outer.symbol.section && other.symbol.value > outer.symbol.value
    });
    let inner = functions.filter_map(|function| {
        let block = flow.block_at(function.symbol.value).filter(|block| *block != 0)?;
        let name = function.own_name();
        let name = crate::demangle(name).unwrap_or_else(|| Escaped(name).to_string());
        Some(GraphInner { block, name })
    });
    inner.take(MAX_FUNCTIONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of blocks, with a loop around some of them.
    fn chain(count: u32, looped: Range<u32>) -> GraphAnswer {
        let edge = |from, to| GraphEdge { from, to, ..GraphEdge::default() };
        let blocks = (0..count).map(|block| GraphBlock { label: block.to_string(), ..GraphBlock::default() });
        let mut answer = GraphAnswer { blocks: blocks.collect(), ..GraphAnswer::default() };
        answer.edges = (1..count).map(|block| edge(block - 1, block)).collect();
        answer.edges.push(edge(looped.end - 1, looped.start));
        answer.find_loops();
        answer
    }

    #[test]
    fn loops_have_their_blocks() {
        let answer = chain(10, 3..7);
        let expected = GraphLoop { header: 3, depth: 1, parent: None, blocks: (3..7).collect() };
        assert_eq!(answer.loops, [expected]);
        assert!(answer.edges.last().unwrap().back && answer.blocks[5].loop_depth == 1);
        assert!(answer.blocks.iter().all(|block| block.reached));
    }

    #[test]
    fn the_surroundings_of_a_block_are_kept() {
        let mut answer = chain(100, 45..52);
        answer.keep_near(Some(50), 21);
        assert_eq!((answer.blocks.len(), answer.left_out), (21, 79));
        let numbers: Vec<u32> = answer.blocks.iter().filter_map(|block| block.number).collect();
        assert!(
            numbers.contains(&50)
                && numbers.contains(&45)
                && numbers.windows(2).all(|pair| pair[0] < pair[1])
        );
        let labels: Vec<String> = numbers.iter().map(u32::to_string).collect();
        assert!(answer.blocks.iter().map(|block| &block.label).eq(&labels));
        let count = answer.blocks.len() as u32;
        assert!(answer.edges.iter().all(|edge| edge.from < count && edge.to < count));
        assert_eq!(numbers[answer.loops[0].header as usize], 45);
        // A graph that is small enough stays as it is.
        let mut small = chain(10, 3..7);
        small.keep_near(None, 20);
        assert!(small.left_out == 0 && small.blocks[0].number.is_none());
    }

    #[test]
    fn inner_functions_are_entries() {
        let mut answer = chain(6, 4..6);
        answer.edges.retain(|edge| (edge.from, edge.to) != (3, 4));
        answer.inner.push(GraphInner { block: 4, name: "inner".to_owned() });
        answer.find_loops();
        assert!(answer.blocks.iter().all(|block| block.reached));
        assert_eq!(answer.loops[0].blocks, [4, 5]);
    }
}
