//! The answers to every request about a file, in advance: a report shows them without a program to ask.
//!
//! Each answer has its request as the key: `facts 0 0 3` is the facts of item 3 of program 0 of file 0, a dash stands for no
//! item. Rows, the lines of a listing, the nodes of the outline and the bytes are complete: the page takes the requested part
//! from them and searches in them.
//!
//! A report has a maximum size. What there is no room for is left out, the least useful first: answers are added in the order
//! of [`PARTS`], and where the first does not fit, the others are left out as well. The report says so.

mod archive;

use super::outline::tree;
use super::*;
use crate::program::{ItemName, Piece};
use crate::select::Selection;
use crate::view::FindingView;
use archive::{Archive, Keys, with_lines};
use serde::Serialize;

pub use archive::Pack;

/// The maximum size of the packed answers, which makes a page of less than 20 MB.
pub const MAX_REPORT: usize = 13_900_000;

/// The maximum number of programs of a file in a report.
const MAX_PROGRAMS: u32 = 1_000;

/// The number of bytes of a program in one answer.
const BYTES: usize = 64 << 10;

/// The size of a program whose bytes and structure are in a report of some of its items.
const SMALL: usize = 1 << 20;

/// The size of a file in which a module is searched for.
const MAX_SEARCHED: usize = 4 << 20;

/// The answers that are added together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The default listing of each item.
    Code,
    /// Decompiled text and sources.
    Text,
    /// Control flow, and what bits mean.
    Structure,
    /// Bytes and fields.
    Bytes,
    /// Other listings.
    Raw,
}

/// The parts of a report in their order, after what each file needs.
pub const PARTS: [Part; 5] = [Part::Code, Part::Text, Part::Structure, Part::Bytes, Part::Raw];

/// The items of a program that are in the report.
struct Program {
    items: Vec<u32>,
    /// The number of them that have code.
    listings: usize,
    /// Whether not all of its items are.
    is_selection: bool,
}

/// Collects the answers of files.
pub struct Report {
    archive: Archive,
    /// By file and program.
    files: Vec<Vec<Program>>,
    listings: usize,
    notes: Vec<String>,
}

/// The answers of a report.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The compressed index, then the blocks.
    pub blocks: Vec<Vec<u8>>,
    /// What there was no room for.
    pub left_out: Option<String>,
}

/// What the page needs before it unpacks an answer.
#[derive(Serialize)]
struct Index<'i> {
    schema: u32,
    files: &'i [FileEntry],
    kinds: &'i [&'static str],
    blocks: Vec<Keys>,
    findings: Vec<FindingView>,
}

impl Report {
    /// Creates a report whose blocks this function compresses.
    pub fn new(pack: Pack) -> Self {
        Self { archive: Archive::new(MAX_REPORT, pack), files: Vec::new(), listings: 0, notes: Vec::new() }
    }

    /// Adds a file and what is known of it: programs, items, facts, faults. Returns how many items are selected, or of a
    /// selection of everything, programs.
    ///
    /// # Errors
    /// The file can't be read, or its programs and items alone make the report too large.
    pub fn add(&mut self, session: &mut Session, selection: &Selection) -> Answer<usize> {
        let file = self.files.len() as u32;
        session.ensure_all()?;
        let mut overview = session.overview(file, &Overview { file, program: None })?;
        let all = overview.programs.len();
        let count = (all as u32).min(MAX_PROGRAMS);
        if all as u32 > count {
            self.notes.push(format!("of {all} programs, the first {count} are in the report"));
        }
        for program in overview.programs.iter_mut().take(count as usize).filter(|program| program.brief) {
            *program = session.full_head(program.program)?;
        }
        self.put(format!("overview {file}"), &overview);
        let programs: Vec<Program> =
            (0..count).map(|program| self.program(file, program, session, selection)).collect();
        let found = programs.iter().map(|program| program.items.len()).sum();
        self.files.push(programs);
        self.archive.end_block();
        if self.archive.is_full() {
            return Err(Fault::new("the list of functions and their facts alone make the report too large")
                .hint(format!(
                    "make one of some: `unshade html '{}' '/NAME/' -o report.html`",
                    session.shown_name()
                )));
        }
        Ok(if selection.is_everything() { all } else { found })
    }

    /// Adds a part of the answers about a file.
    pub fn fill(&mut self, part: Part, file: u32, session: &mut Session) {
        let programs = self.files.get_mut(file as usize).map(std::mem::take).unwrap_or_default();
        for (program, one) in (0..).zip(&programs) {
            if self.archive.is_full() {
                break;
            }
            if part == Part::Bytes {
                self.bytes(file, program, one, session);
                continue;
            }
            let whole = std::iter::once(None).filter(|_| !one.is_selection);
            for item in whole.chain(one.items.iter().copied().map(Some)) {
                if self.archive.is_full() {
                    break;
                }
                self.item(part, Place { file, program, item }, session);
            }
        }
        if let Some(kept) = self.files.get_mut(file as usize) {
            *kept = programs;
        }
    }

    /// Returns what is not in the report, if something had to be left out.
    fn left_out(&self) -> Option<String> {
        let items: usize = self.files.iter().flatten().map(|program| program.listings).sum();
        let is_code = |key: &&String| key.ends_with(" assembly") || key.ends_with(" ptx");
        let dropped = self.archive.dropped().iter().filter(is_code).count();
        let kept = self.listings.saturating_sub(dropped);
        let size = match self.archive.is_full() {
            true if kept < items => {
                format!("to stay below 20 MB, it has the listings of {kept} of {items} items")
            }
            true => String::from("to stay below 20 MB, bytes, graphs or other listings are left out"),
            false => String::new(),
        };
        let notes = self.notes.iter().cloned().chain((!size.is_empty()).then_some(size));
        let notes: Vec<String> = notes.collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// Completes the report.
    pub fn finish(mut self, files: &[FileEntry]) -> Packed {
        self.archive.end_block();
        let left_out = self.left_out();
        let finding = left_out.as_ref().map(|note| FindingView {
            severity: "note".into(),
            rule: "report-size".into(),
            path: Vec::new(),
            message: format!("the report is not complete: {note}"),
            offset: None,
            expected: None,
            found: None,
            hint: Some("`unshade html FILE FUNCTION… -o REPORT` makes one of some functions".into()),
        });
        let (pack, blocks, packed) = self.archive.finish();
        let index = Index {
            schema: crate::view::SCHEMA,
            files,
            kinds: &recorder::KIND_NAMES,
            blocks,
            findings: finding.into_iter().collect(),
        };
        let index = pack(&serde_json::to_vec(&index).unwrap_or_default());
        Packed { blocks: std::iter::once(index).chain(packed).collect(), left_out }
    }

    fn put(&mut self, key: String, answer: &impl Serialize) {
        let json = serde_json::to_vec(answer).unwrap_or_default();
        self.archive.put(key, &json);
    }

    /// What can't be answered is not in the report; the page says so.
    fn put_if(&mut self, key: String, answer: Answer<impl Serialize>) {
        match answer {
            Ok(answer) => self.put(key, &answer),
            Err(error) => self.put(key, &Failed { error }),
        }
    }

    /// Adds the rows and facts of a program, and returns which of its items are selected.
    fn program(&mut self, file: u32, program: u32, session: &mut Session, selection: &Selection) -> Program {
        let at = format!("{file} {program}");
        self.put_if(format!("sizes {at}"), session.sizes(&Sizes { file, program, limit: None }));
        self.put_if(format!("verify {at}"), session.verify(&Place { file, program, item: None }));
        let rows = all_rows(session, file, program);
        let table = session.table(program);
        let is_selected = |item: u32| {
            let piece = table.as_ref().ok().and_then(|table| table.item(item).ok());
            piece.is_some_and(|piece| selection.is_everything() || matches(selection, piece))
        };
        let has_source = |item: &u32| {
            table.as_ref().ok().and_then(|table| table.item(*item).ok()).is_some_and(|one| one.row.has_source)
        };
        let mut items = Vec::new();
        let mut is_selection = false;
        let rows = rows.map(|mut rows| {
            rows.rows.retain(|row| is_selected(row.item));
            items = rows.rows.iter().map(|row| row.item).collect();
            is_selection = (items.len() as u32) < rows.total;
            (rows.total, rows.matched) = (items.len() as u32, items.len() as u32);
            rows
        });
        let with_source: Vec<u32> = items.iter().copied().filter(has_source).collect();
        self.put_if(format!("rows {at}"), rows);
        self.put(format!("sources {at}"), &with_source);
        for item in std::iter::once(None).chain(items.iter().copied().map(Some)) {
            let place = Place { file, program, item };
            self.put_if(format!("facts {}", key(&place)), session.facts(&place));
            if self.archive.is_full() {
                break;
            }
        }
        let has_code = |item: &&u32| {
            let piece = table.as_ref().ok().and_then(|table| table.item(**item).ok());
            piece.is_some_and(|piece| piece.panes.iter().any(|pane| is_code(pane)))
        };
        let listings = items.iter().filter(has_code).count();
        Program { items, listings, is_selection }
    }

    /// Adds some answers about an item.
    fn item(&mut self, part: Part, place: Place, session: &mut Session) {
        let Ok(facts) = session.facts(&place) else { return };
        let is_text = |pane: &str| matches!(pane, "c" | "hlsl" | "metal") || pane.starts_with("source:");
        let is_wanted = |pane: &&String| match part {
            Part::Code => is_code(pane),
            Part::Text => is_text(pane),
            Part::Raw => !is_code(pane) && !is_text(pane),
            Part::Structure | Part::Bytes => false,
        };
        for pane in facts.panes.iter().filter(is_wanted) {
            self.listing(&place, pane, session);
        }
        let has_code = facts.panes.iter().any(|pane| pane == "assembly");
        if part == Part::Structure && has_code {
            self.graph(&place, session);
            self.bits(&place, session);
        }
        if part == Part::Code && facts.extracts.contains(&"module") {
            let module = module_place(session, &place);
            self.put_if(format!("extract {} module", key(&place)), module);
        }
    }

    fn listing(&mut self, place: &Place, pane: &str, session: &mut Session) {
        let key = format!("listing {} {pane}", key(place));
        let at = Pane { file: place.file, program: place.program, item: place.item, pane: pane.to_owned() };
        match session.printed(&at) {
            Ok(printed) => {
                let lines = printed.lines.some(0, usize::MAX);
                let answer = ListingAnswer {
                    total: lines.len() as u32,
                    findings: printed.findings.clone(),
                    cut: printed.lines.is_cut,
                    ..ListingAnswer::default()
                };
                self.archive.put(key, &with_lines(&answer, lines.iter()));
            }
            Err(error) => self.archive.put(key, &with_lines(&Failed { error }, std::iter::empty())),
        }
        self.listings += usize::from(place.item.is_some() && is_code(pane));
    }

    /// Adds the graph; the page divides the lines among its blocks.
    fn graph(&mut self, place: &Place, session: &mut Session) {
        let name = format!("graph {}", key(place));
        match session.graph(&Graph { at: *place, ..Graph::default() }) {
            Ok(mut graph) => {
                let mut lines = Vec::new();
                let mut counts = Vec::new();
                for block in &mut graph.blocks {
                    counts.push(block.lines.len());
                    lines.append(&mut block.lines);
                }
                self.archive.put(name, &with_lines(&GraphWithCounts { graph, counts }, lines.iter()));
            }
            Err(error) => self.archive.put(name, &with_lines(&Failed { error }, std::iter::empty())),
        }
    }

    /// What the bits of NVIDIA's instructions mean.
    fn bits(&mut self, place: &Place, session: &mut Session) {
        let pane =
            Pane { file: place.file, program: place.program, item: place.item, pane: "assembly".to_owned() };
        if place.item.is_none() {
            return;
        }
        let Ok(printed) = session.printed(&pane) else { return };
        let offsets = (0..printed.lines.len()).filter_map(|line| printed.lines.range(line));
        let mut offsets: Vec<u64> = offsets.map(|[offset, _]| offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let found = session.all_bits(place, &offsets).unwrap_or_default();
        if !found.is_empty() {
            self.put(format!("bits {}", key(place)), &found);
        }
    }

    /// Adds the bytes of a program and their fields; of some items of a large program, only their bytes.
    fn bytes(&mut self, file: u32, program: u32, one: &Program, session: &mut Session) {
        let table = session.table(program).ok();
        let Ok((data, [base, _])) = session.space_of(program) else { return };
        let is_whole = !one.is_selection || data.len() <= SMALL;
        let range = |item: &u32| table.as_ref()?.item(*item).ok()?.row.range.clone();
        let ranges: Vec<_> = one.items.iter().filter_map(range).collect();
        for (number, bytes) in data.chunks(BYTES).enumerate() {
            let start = base.saturating_add((number * BYTES) as u64);
            let end = start.saturating_add(bytes.len() as u64);
            let is_near = |range: &std::ops::Range<u64>| range.start < end && start < range.end;
            if is_whole || number == 0 || ranges.iter().any(is_near) {
                self.archive.put(format!("bytes {file} {program} {number}"), bytes);
            }
        }
        if is_whole {
            self.put_if(format!("outline {file} {program}"), tree(session, program));
        }
    }
}

/// Returns whether it is the default listing of an item.
fn is_code(pane: &str) -> bool {
    matches!(pane, "assembly" | "ptx")
}

fn matches(selection: &Selection, piece: &Piece) -> bool {
    selection.matches(&ItemName {
        index: piece.row.index,
        name: piece.row.name.as_bytes(),
        kind: Some(&*piece.row.kind),
        has_source: piece.row.has_source,
    })
}

/// Returns the key of an item.
fn key(place: &Place) -> String {
    let item = place.item.map_or_else(|| "-".to_owned(), |item| item.to_string());
    format!("{} {} {item}", place.file, place.program)
}

#[derive(Serialize)]
struct Failed {
    error: Fault,
}

/// A graph whose lines are stored apart, with their number in each block.
#[derive(Serialize)]
struct GraphWithCounts {
    #[serde(flatten)]
    graph: GraphAnswer,
    counts: Vec<usize>,
}

/// The place of a module in its program, and the name under which it is saved.
#[derive(Serialize)]
struct ModulePlace {
    name: String,
    size: u64,
    range: ByteRange,
}

fn module_place(session: &mut Session, place: &Place) -> Answer<ModulePlace> {
    let at = Pane { file: place.file, program: place.program, item: place.item, pane: String::new() };
    let taken = session.extract(&Extract { at, what: Extracted::Module, name: None })?;
    let table = session.table(place.program)?;
    let (data, [base, end]) = session.space_of(place.program)?;
    let range = place.item.and_then(|item| table.item(item).ok()?.row.range.clone()).unwrap_or(base..end);
    let offset = |offset: u64| usize::try_from(offset.saturating_sub(base)).unwrap_or(usize::MAX);
    let within = data.get(offset(range.start)..offset(range.end).min(data.len())).unwrap_or_default();
    let find = |within: &[u8]| memchr::memmem::find(within, &taken.bytes);
    let found = find(within).map(|at| at + offset(range.start));
    let found = found.or_else(|| (data.len() <= MAX_SEARCHED).then(|| find(data))?);
    let found = found
        .ok_or_else(|| Fault::new("the module is packed in the file").hint("`unshade extract` unpacks it"))?;
    let start = base.saturating_add(found as u64);
    let size = taken.bytes.len() as u64;
    Ok(ModulePlace { name: taken.name, size, range: [start, start.saturating_add(size)] })
}

fn all_rows(session: &mut Session, file: u32, program: u32) -> Answer<RowsAnswer> {
    let ask = |from: u32| Rows { file, program, from, count: Some(MAX_ROWS as u32), ..Rows::default() };
    if session.table(program)?.is_counted() {
        // Where code can't be read, its rows lack the number.
        while let Ok(Some(_)) = session.read_bodies(program) {}
    }
    let mut all = session.rows(&ask(0))?;
    while (all.rows.len() as u32) < all.matched {
        let more = session.rows(&ask(all.rows.len() as u32))?;
        if more.rows.is_empty() {
            break;
        }
        all.rows.extend(more.rows);
    }
    Ok(all)
}
