//! The answers to every request about a file, in advance: a report shows them without a program to ask.
//!
//! Each answer has its request as the key: `facts 0 0 3` is the facts of item 3 of program 0 of file 0, a dash stands for no
//! item. Rows, the lines of a listing, the nodes of the outline and the bytes are complete: the page takes the requested part
//! from them and searches in them.

use super::outline::tree;
use super::*;
use serde::Serialize;

/// The maximum size of a report's answers, before they are packed.
pub const MAX_REPORT: usize = 64 << 20;

/// The maximum number of programs of a file in a report.
const MAX_PROGRAMS: u32 = 200;

/// Writes the answers of files as JSON.
#[derive(Debug)]
pub struct Report {
    json: String,
}

impl Default for Report {
    fn default() -> Self {
        Self { json: format!("{{\"schema\":{},\"answers\":{{", crate::view::SCHEMA) }
    }
}

impl Report {
    /// Answers everything of a file, which has this number, and returns how many programs are in it.
    ///
    /// # Errors
    /// The file can't be read, or the report gets longer than [`MAX_REPORT`].
    pub fn add(&mut self, file: u32, session: &mut Session) -> Answer<u32> {
        session.ensure_all()?;
        let mut overview = session.overview(file, &Overview { file, program: None })?;
        let count = overview.programs.len() as u32;
        if count > MAX_PROGRAMS {
            return Err(Fault::new(format!("the file has {count} programs"))
                .expected(format!("at most {MAX_PROGRAMS}"))
                .hint("`unshade extract` takes them apart; make a report of some"));
        }
        for program in &mut overview.programs {
            if program.brief {
                *program = session.full_head(program.program)?;
            }
        }
        self.put(&format!("overview {file}"), &overview)?;
        for program in 0..count {
            self.program(file, program, session)?;
        }
        Ok(count)
    }

    /// The JSON: `{"schema":1,"answers":{…},"files":[…]}`.
    pub fn finish(mut self, files: &[FileEntry]) -> String {
        let files = serde_json::to_string(files).unwrap_or_default();
        self.json.push_str("\"end\":{}},\"files\":");
        self.json.push_str(&files);
        self.json.push('}');
        self.json
    }

    fn put(&mut self, key: &str, answer: &impl Serialize) -> Answer<()> {
        let text = serde_json::to_string(answer).unwrap_or_default();
        if self.json.len().saturating_add(text.len()) > MAX_REPORT {
            return Err(Fault::new(format!("the report would be longer than {} MB", MAX_REPORT >> 20))
                .hint("take less of the file, such as `unshade edit FILE --keep FUNCTION -o SMALLER` does, or show it with `unshade explore`"));
        }
        // Keys hold names from files: they are written as JSON, too.
        self.json.push_str(&serde_json::to_string(key).unwrap_or_default());
        self.json.push(':');
        self.json.push_str(&text);
        self.json.push(',');
        Ok(())
    }

    /// What can't be answered is not in the report; the page says so.
    fn put_if(&mut self, key: &str, answer: Answer<impl Serialize>) -> Answer<()> {
        match answer {
            Ok(answer) => self.put(key, &answer),
            Err(error) => self.put(key, &Failed { error }),
        }
    }

    fn program(&mut self, file: u32, program: u32, session: &mut Session) -> Answer<()> {
        let at = format!("{file} {program}");
        self.put_if(&format!("sizes {at}"), session.sizes(&Sizes { file, program, limit: None }))?;
        self.put_if(&format!("verify {at}"), session.verify(&Place { file, program, item: None }))?;
        self.put_if(&format!("outline {at}"), tree(session, program))?;
        let (data, _) = session.space_of(program)?;
        if data.len().saturating_mul(2) > MAX_REPORT {
            return Err(too_large(data.len()));
        }
        let hex = crate::view::hex(data);
        self.put(&format!("hex {at}"), &hex)?;
        let rows = all_rows(session, file, program, false);
        let with_source = all_rows(session, file, program, true);
        let items: Vec<u32> =
            rows.as_ref().map(|rows| rows.rows.iter().map(|row| row.item).collect()).unwrap_or_default();
        self.put_if(&format!("rows {at}"), rows)?;
        let with_source = with_source.map(|rows| rows.rows.iter().map(|row| row.item).collect::<Vec<_>>());
        self.put_if(&format!("sources {at}"), with_source)?;
        for item in std::iter::once(None).chain(items.into_iter().map(Some)) {
            self.item(Place { file, program, item }, session)?;
        }
        Ok(())
    }

    fn item(&mut self, place: Place, session: &mut Session) -> Answer<()> {
        let shown = place.item.map_or_else(|| "-".to_owned(), |item| item.to_string());
        let at = format!("{} {} {shown}", place.file, place.program);
        let facts = session.facts(&place);
        let (panes, extracts) = match &facts {
            Ok(facts) => (facts.panes.clone(), facts.extracts.clone()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        self.put_if(&format!("facts {at}"), facts)?;
        for pane in &panes {
            let pane =
                Pane { file: place.file, program: place.program, item: place.item, pane: pane.clone() };
            let listing = session.printed(&pane).map(|printed| ListingAnswer {
                total: printed.lines.len() as u32,
                from: 0,
                lines: printed.lines.some(0, usize::MAX),
                findings: printed.findings.clone(),
                cut: printed.lines.is_cut,
            });
            self.put_if(&format!("listing {at} {}", pane.pane), listing)?;
        }
        if panes.iter().any(|pane| pane == "assembly") {
            self.put_if(&format!("graph {at}"), session.graph(&Graph { at: place, ..Graph::default() }))?;
            self.bits(&place, &at, session)?;
        }
        for extract in extracts.iter().filter(|name| **name == "module") {
            let module = module_place(session, &place);
            self.put_if(&format!("extract {at} {extract}"), module)?;
        }
        Ok(())
    }

    /// What the bits of NVIDIA's instructions mean.
    fn bits(&mut self, place: &Place, at: &str, session: &mut Session) -> Answer<()> {
        let pane =
            Pane { file: place.file, program: place.program, item: place.item, pane: "assembly".to_owned() };
        if place.item.is_none() {
            return Ok(());
        }
        let Ok(printed) = session.printed(&pane) else { return Ok(()) };
        let places = (0..printed.lines.len()).filter_map(|line| printed.lines.range(line));
        let mut found = Vec::new();
        for [offset, _] in places {
            match session.bits(&Bits { at: *place, offset }) {
                Ok(bits) => found.push(bits),
                // The first line decides: the listing is not machine code.
                Err(_) if found.is_empty() => break,
                Err(_) => {}
            }
        }
        if found.is_empty() { Ok(()) } else { self.put(&format!("bits {at}"), &found) }
    }
}

#[derive(Serialize)]
struct Failed {
    error: Fault,
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
    let (data, [base, _]) = session.space_of(place.program)?;
    let offset = memchr::memmem::find(data, &taken.bytes)
        .ok_or_else(|| Fault::new("the module is packed in the file").hint("`unshade extract` unpacks it"))?;
    let start = base.saturating_add(offset as u64);
    let size = taken.bytes.len() as u64;
    Ok(ModulePlace { name: taken.name, size, range: [start, start.saturating_add(size)] })
}

fn all_rows(session: &mut Session, file: u32, program: u32, has_source: bool) -> Answer<RowsAnswer> {
    let filter = Filter { has_source, ..Filter::default() };
    let ask = |from: u32| Rows {
        file,
        program,
        filter: filter.clone(),
        from,
        count: Some(MAX_ROWS as u32),
        ..Rows::default()
    };
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

fn too_large(size: usize) -> Fault {
    Fault::new(format!("the program has {size} bytes, too many for a report"))
        .expected(format!("at most {}", MAX_REPORT / 2))
        .hint("take less of the file, such as `unshade edit FILE --keep FUNCTION -o SMALLER` does, or show it with `unshade explore`")
}
