//! A file, its programs, and what is kept of them.
//!
//! Programs are found once. Each request parses what it needs anew, from slices of the file; kept are the table of each
//! program's items, the last listings, and programs that had to be unpacked.
//!
//! Of a Metal library that is read by ranges, everything but the bitcode is read at once, and a module when its function
//! is asked for. All other files are read as a whole.

use super::listing::Kept;
use super::response::findings;
use super::rows::{Row, Table};
use super::source::Source;
use super::workspace::Clock;
use super::*;
use crate::carve::{self, Condition, Find, FindPath, Limits};
use crate::format::{Format, Kind, detect};
use crate::opened::Opened;
use crate::view::FindingView;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use unshade_core::{Diagnostics, Escaped};
use unshade_llvm::{self as llvm, bitstream};
use unshade_metallib::{Function, Library};

/// Programs that had to be unpacked are kept up to this size in all.
const MAX_UNPACKED: usize = 1 << 30;

/// The most programs of a file.
const MAX_PROGRAMS: usize = 20_000;

/// So many programs of a file are told in full without being asked for.
const MAX_FULL: u32 = 50;

/// What a file is called that is modules of LLVM and nothing else.
const BITCODE: &str = "LLVM bitcode";

/// What of a file is read before anything is known of it.
const HEAD: u64 = 64 << 10;

/// An open file.
pub struct Session {
    name: String,
    source: Source,
    /// The index of an Xcode capture, whose store is the source.
    index: Option<Source>,
    opened: Option<OpenedFile>,
    pub(super) kept: Kept,
    pub(super) clock: Clock,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("name", &self.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// What was found in a file.
struct OpenedFile {
    programs: Vec<Entry>,
    findings: Vec<FindingView>,
    /// Whether the bitcode of its library is not there yet.
    is_partial: bool,
}

/// A program that was found.
struct Entry {
    /// What it is; a bitcode file if it is nothing else.
    format: Option<Format>,
    find_path: Option<FindPath>,
    path: String,
    held: Held,
    file_offset: Option<u64>,
    condition: Condition,
    table: Option<Arc<Table>>,
    head: Option<ProgramHead>,
}

/// Where the bytes of a program are.
enum Held {
    InFile(Range<usize>),
    Unpacked(Vec<u8>),
    /// There was no room for so many.
    Nowhere(usize),
}

/// A program, parsed for a request.
pub(super) struct Parsed<'a> {
    pub(super) content: Content<'a>,
    /// Where it was found, unless the file is bitcode.
    pub(super) find: Option<Find<'a>>,
    /// The file, and the way to the program.
    pub(super) path: &'a str,
    pub(super) format: Option<Format>,
    pub(super) data: &'a [u8],
    /// The offset of the first byte in ranges.
    pub(super) base: u64,
    pub(super) file_offset: Option<u64>,
    pub(super) condition: Condition,
}

/// What a program is.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Content<'a> {
    Program(Opened<'a>),
    /// Modules of LLVM.
    Bitcode(&'a [u8]),
}

impl<'a> Parsed<'a> {
    /// The offsets that its bytes have in ranges.
    pub(super) fn space(&self) -> ByteRange {
        [self.base, self.base.saturating_add(self.data.len() as u64)]
    }

    /// Its word in responses.
    pub(super) fn format_word(&self) -> &'static str {
        format_word(self.format)
    }

    /// Its name for people.
    pub(super) fn format_name(&self) -> &'static str {
        self.format.map_or(BITCODE, Format::name)
    }

    /// The name of the file or member that it is, without folders.
    pub(super) fn short_name(&self) -> &'a str {
        let name = self.path.rsplit(['/', '\\', '!']).next().unwrap_or_default();
        if name.is_empty() { self.path } else { name }
    }

    /// The function of a Metal library that a row is of, with its library.
    pub(super) fn with_function<T>(
        &self,
        row: &Row,
        then: impl FnOnce(&Library<'a>, &Function<'a>) -> Answer<T>,
    ) -> Answer<T> {
        let Content::Program(program) = &self.content else {
            return Err(Fault::new("no Metal library"));
        };
        let libraries = program.libraries(&mut Diagnostics::new());
        let library = libraries.get(row.unit as usize).map(|named| &named.library);
        let found = library.and_then(|library| Some((library, library.function(row.index)?)));
        let (library, function) = found.ok_or_else(|| Fault::new("the function can't be read"))?;
        then(library, &function)
    }
}

impl Session {
    /// A file of this name, which is not looked at yet.
    pub fn new(name: &str, source: Source) -> Self {
        Self {
            name: name.to_owned(),
            source,
            index: None,
            opened: None,
            kept: Kept::default(),
            clock: system_clock,
        }
    }

    /// An Xcode capture: its index and its store.
    pub fn of_capture(name: &str, index: Source, store: Source) -> Self {
        Self { index: Some(index), ..Self::new(name, store) }
    }

    /// Tells the time by this clock, for the budget of searches.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The file among those of a workspace.
    pub fn entry(&self, file: u32) -> FileEntry {
        let size = self.source.bytes().len() as u64;
        FileEntry { file, name: self.shown_name(), size, opened: self.opened.is_some(), error: None }
    }

    /// Answers a request about this file, which has this number. The file in the request is not looked at.
    ///
    /// # Errors
    /// There is no such program or item, or it can't be read.
    pub fn handle(&mut self, file: u32, request: &Request) -> Answer<Response> {
        match request {
            Request::Files {} => Ok(Response::Files(FilesAnswer { files: vec![self.entry(file)] })),
            Request::Overview(request) => self.overview(file, request).map(Response::Overview),
            Request::Rows(request) => self.rows(request).map(Response::Rows),
            Request::Facts(place) => self.facts(place).map(Response::Facts),
            Request::Listing(request) => self.listing(request).map(Response::Listing),
            Request::Links(request) => self.links(request).map(Response::Links),
            Request::LineAt(request) => self.line_at(request).map(Response::LineAt),
            Request::ItemAt(request) => self.item_at(request).map(Response::ItemAt),
            Request::Hex(request) => self.hex(request).map(Response::Hex),
            Request::Outline(request) => self.outline(request).map(Response::Outline),
            Request::Search(request) => self.search(request).map(Response::Search),
            Request::Graph(request) => self.graph(request).map(Response::Graph),
            Request::Compare(request) => Self::compare(self, None, request).map(Response::Compare),
            Request::Bits(request) => self.bits(request).map(Response::Bits),
            Request::Extract(request) => {
                let taken = self.extract(request)?;
                let size = taken.bytes.len() as u64;
                Ok(Response::Extract(ExtractAnswer { name: taken.name, size }))
            }
            Request::Verify(place) => self.verify(place).map(Response::Verify),
        }
    }

    pub(super) fn shown_name(&self) -> String {
        Escaped(self.name.as_bytes()).to_string()
    }

    /// Finds the programs, if that was not done yet.
    pub(super) fn open(&mut self) -> Answer<()> {
        if self.opened.is_some() {
            return Ok(());
        }
        let is_partial = self.ensure_outside_of_bitcode()?;
        if let Some(index) = &mut self.index {
            index.ensure(0..u64::MAX)?;
        }
        let bytes = self.source.bytes();
        if self.index.is_none() && bitstream::locate(bytes, 0).is_ok() {
            let program = Entry {
                format: None,
                find_path: None,
                path: self.shown_name(),
                held: Held::InFile(0..bytes.len()),
                file_offset: Some(0),
                condition: Condition::Whole,
                table: None,
                head: None,
            };
            self.opened =
                Some(OpenedFile { programs: vec![program], findings: Vec::new(), is_partial: false });
            return Ok(());
        }
        let mut programs = Vec::new();
        let mut unpacked = 0usize;
        let mut limits = Limits::default();
        limits.max_finds = MAX_PROGRAMS as u64;
        let name = self.name.as_bytes();
        let mut visit = |find: Find<'_>| {
            programs.push(Entry::new(&find, &mut unpacked));
            ControlFlow::Continue(())
        };
        let diagnostics = match &self.index {
            Some(index) => carve::carve_gputrace(index.bytes(), bytes, name, &limits, &mut visit),
            None => carve::carve(bytes, name, &limits, &mut visit),
        };
        self.opened = Some(OpenedFile { programs, findings: findings(&diagnostics), is_partial });
        Ok(())
    }

    /// Of a file that is read by ranges and is a Metal library, reads everything but the bitcode; reads all of any other.
    /// Whether the bitcode is missing now.
    fn ensure_outside_of_bitcode(&mut self) -> Answer<bool> {
        let size = self.source.bytes().len() as u64;
        if !self.source.is_ranged() {
            return Ok(false);
        }
        self.source.ensure(0..HEAD)?;
        let bytes = self.source.bytes();
        let library =
            (detect(bytes) == Kind::Program(Format::MetalLibrary)).then(|| Library::parse(bytes).ok());
        let header = library.flatten().map(|library| *library.header());
        let Some(header) = header.filter(|header| header.file_size == size) else {
            return self.source.ensure(0..size).map(|()| false);
        };
        let bitcode = header.bitcode.range();
        self.source.ensure(0..bitcode.start)?;
        self.source.ensure(bitcode.end..size)?;
        // Where the list does not tell how long modules are, they do.
        let is_told = Library::parse(self.source.bytes()).is_ok_and(|library| {
            library.functions().map_while(Result::ok).all(|function| function.module_size.is_some())
        });
        if !is_told {
            self.source.ensure(0..size)?;
        }
        Ok(is_told)
    }

    /// Reads all of the file.
    pub(super) fn ensure_all(&mut self) -> Answer<()> {
        self.open()?;
        if self.is_partial() {
            self.source.ensure(0..u64::MAX)?;
            if let Some(opened) = &mut self.opened {
                opened.is_partial = false;
            }
        }
        Ok(())
    }

    /// Whether not all bytes of the file are there.
    pub(super) fn is_partial(&self) -> bool {
        self.opened.as_ref().is_some_and(|opened| opened.is_partial)
    }

    /// Reads the bytes of a program that are in this range.
    pub(super) fn ensure(&mut self, range: Range<u64>) -> Answer<()> {
        self.open()?;
        // Only a library that is the whole file is read in part, so that its offsets are those of the file.
        if self.is_partial() { self.source.ensure(range) } else { Ok(()) }
    }

    /// Reads the module of an item.
    pub(super) fn ensure_item(&mut self, program: u32, item: u32) -> Answer<()> {
        let table = self.table(program)?;
        match table.row(item)?.range {
            Some([start, end]) => self.ensure(start..end),
            None => Ok(()),
        }
    }

    fn program(&self, program: u32) -> Answer<&Entry> {
        let programs = self.opened.as_ref().map_or(&[][..], |opened| &opened.programs);
        programs.get(program as usize).ok_or_else(|| no_program(program, programs.len()))
    }

    /// How many programs there are.
    pub(super) fn program_count(&mut self) -> Answer<u32> {
        self.open()?;
        Ok(self.opened.as_ref().map_or(0, |opened| opened.programs.len() as u32))
    }

    /// Parses a program of a file that was opened.
    pub(super) fn parsed(&self, program: u32) -> Answer<Parsed<'_>> {
        let entry = self.program(program)?;
        let data = match &entry.held {
            Held::InFile(range) => self.source.bytes().get(range.clone()).unwrap_or_default(),
            Held::Unpacked(bytes) => bytes,
            Held::Nowhere(size) => {
                return Err(Fault::new(format!(
                    "the program has {size} bytes when unpacked, for which there is no room beside the others"
                ))
                .hint(format!("open it alone: `unshade explore '{}'`", entry.path)));
            }
        };
        let base = entry.file_offset.or(entry.find_path.as_ref().map(FindPath::offset)).unwrap_or(0);
        let find = entry.format.zip(entry.find_path.clone()).map(|(format, path)| {
            let (file_offset, condition) = (entry.file_offset, entry.condition);
            Find { format, path, data, file_offset, condition, options: None }
        });
        let content = match &find {
            Some(find) => Content::Program(Opened::open(find)?),
            None => Content::Bitcode(data),
        };
        Ok(Parsed {
            content,
            find,
            path: &entry.path,
            format: entry.format,
            data,
            base,
            file_offset: entry.file_offset,
            condition: entry.condition,
        })
    }

    /// The items of a program.
    pub(super) fn table(&mut self, program: u32) -> Answer<Arc<Table>> {
        self.open()?;
        if let Some(table) = &self.program(program)?.table {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(Table::of(&self.parsed(program)?));
        if let Some(entry) = self.opened.as_mut().and_then(|opened| opened.programs.get_mut(program as usize))
        {
            entry.table = Some(Arc::clone(&table));
        }
        Ok(table)
    }

    pub(super) fn overview(&mut self, file: u32, request: &Overview) -> Answer<OverviewAnswer> {
        let count = self.program_count()?;
        let wanted = match request.program {
            Some(program) if program < count => program..program + 1,
            Some(program) => return Err(no_program(program, count as usize)),
            None => 0..count,
        };
        let mut programs = Vec::new();
        for program in wanted {
            let is_brief = request.program.is_none() && program >= MAX_FULL;
            programs.push(if is_brief { self.brief_head(program)? } else { self.full_head(program)? });
        }
        let size = self.source.bytes().len() as u64;
        let findings = self.opened.as_ref().map(|opened| opened.findings.clone()).unwrap_or_default();
        Ok(OverviewAnswer { file: FileHead { file, name: self.shown_name(), size }, programs, findings })
    }

    /// Everything of a program, kept once it was told.
    pub(super) fn full_head(&mut self, program: u32) -> Answer<ProgramHead> {
        if let Some(head) = &self.program(program)?.head {
            return Ok(head.clone());
        }
        let head = self.program_head(program)?;
        if let Some(entry) = self.opened.as_mut().and_then(|opened| opened.programs.get_mut(program as usize))
        {
            entry.head = Some(head.clone());
        }
        Ok(head)
    }

    fn program_head(&mut self, program: u32) -> Answer<ProgramHead> {
        let table = self.table(program);
        let parsed = match self.parsed(program) {
            Ok(parsed) => parsed,
            Err(fault) => return self.unread_head(program, fault),
        };
        let table = table?;
        Ok(ProgramHead {
            program,
            path: parsed.path.to_owned(),
            format: parsed.format_word(),
            format_name: parsed.format_name(),
            size: parsed.data.len() as u64,
            offset: parsed.file_offset,
            space: parsed.space(),
            truncated: matches!(parsed.condition, Condition::Truncated { .. }),
            damaged: parsed.condition == Condition::Damaged,
            items: table.rows.len() as u32,
            item_name: table.item_name,
            kinds: table.kinds(),
            has_sources: table.rows.iter().any(|row| row.has_source),
            panes: listing::panes(&parsed, None),
            extracts: extract::of_program(&parsed),
            facts: facts::of_program(&parsed),
            brief: false,
            error: None,
        })
    }

    /// What is known of a program without parsing it.
    fn brief_head(&self, program: u32) -> Answer<ProgramHead> {
        let entry = self.program(program)?;
        let size = match &entry.held {
            Held::InFile(range) => range.len(),
            Held::Unpacked(bytes) => bytes.len(),
            Held::Nowhere(size) => *size,
        } as u64;
        let base = entry.file_offset.unwrap_or(0);
        Ok(ProgramHead {
            program,
            path: entry.path.clone(),
            format: format_word(entry.format),
            format_name: entry.format.map_or(BITCODE, Format::name),
            size,
            offset: entry.file_offset,
            space: [base, base.saturating_add(size)],
            truncated: matches!(entry.condition, Condition::Truncated { .. }),
            damaged: entry.condition == Condition::Damaged,
            item_name: "item",
            brief: true,
            ..ProgramHead::default()
        })
    }

    /// The head of a program that can't be parsed.
    fn unread_head(&self, program: u32, fault: Fault) -> Answer<ProgramHead> {
        let head = self.brief_head(program)?;
        Ok(ProgramHead { format: "unread", damaged: true, brief: false, error: Some(fault), ..head })
    }

    fn item_at(&mut self, request: &ItemAt) -> Answer<ItemAtAnswer> {
        Ok(ItemAtAnswer { item: self.table(request.program)?.at(request.offset) })
    }

    fn hex(&mut self, request: &Hex) -> Answer<HexAnswer> {
        let from = request.from;
        let end = from.saturating_add(request.count.min(MAX_HEX));
        self.ensure(from..end)?;
        let (data, [start, stop]) = self.space_of(request.program)?;
        let place = |offset: u64| usize::try_from(offset.clamp(start, stop) - start).unwrap_or(usize::MAX);
        let bytes = data.get(place(from)..place(end)).unwrap_or_default();
        Ok(HexAnswer { from: from.clamp(start, stop), bytes: crate::view::hex(bytes), space: [start, stop] })
    }

    /// The bytes of a program, which need not be one that can be parsed, and their offsets.
    pub(super) fn space_of(&self, program: u32) -> Answer<(&[u8], ByteRange)> {
        let entry = self.program(program)?;
        let data = match &entry.held {
            Held::InFile(range) => self.source.bytes().get(range.clone()).unwrap_or_default(),
            Held::Unpacked(bytes) => bytes,
            Held::Nowhere(_) => &[],
        };
        let base = entry.file_offset.or(entry.find_path.as_ref().map(FindPath::offset)).unwrap_or(0);
        Ok((data, [base, base.saturating_add(data.len() as u64)]))
    }

    pub(super) fn verify(&mut self, place: &Place) -> Answer<VerifyAnswer> {
        self.ensure_all()?;
        let parsed = self.parsed(place.program)?;
        let mut diagnostics = Diagnostics::new();
        match &parsed.content {
            Content::Bitcode(bytes) => match llvm::Module::parse_all(bytes, parsed.base) {
                Ok(modules) => {
                    for module in modules {
                        if let Some(module) = diagnostics.take("llvm-module", module) {
                            diagnostics.append(module.diagnostics.clone());
                        }
                    }
                }
                Err(error) => diagnostics.error("llvm-module", error),
            },
            Content::Program(Opened::DxContainer(container)) => {
                diagnostics.append(crate::check_dxcontainer(container));
            }
            Content::Program(Opened::Library(_) | Opened::Universal(_)) => {
                if let Content::Program(program) = &parsed.content {
                    for named in program.libraries(&mut diagnostics) {
                        diagnostics.append(unshade_metallib::verify::library(&named.library));
                    }
                }
            }
            Content::Program(Opened::Fatbin(fatbin)) => {
                diagnostics.append(unshade_nv::verify::fatbin(fatbin));
            }
            Content::Program(Opened::Cubin(cubin)) => diagnostics.append(unshade_nv::verify::cubin(cubin)),
            Content::Program(Opened::Ptx(ptx)) => diagnostics.append(unshade_nv::verify::ptx(ptx)),
            Content::Program(Opened::Direct3d9(data)) => {
                let view = crate::view::Direct3d9View::new(*data, &mut diagnostics);
                diagnostics.take("dxbc-legacy-tokens", view);
            }
        }
        diagnostics.sort_by_offset();
        Ok(VerifyAnswer {
            errors: diagnostics.errors() as u64,
            warnings: diagnostics.warnings() as u64,
            findings: findings(&diagnostics),
        })
    }
}

impl Entry {
    fn new(find: &Find<'_>, unpacked: &mut usize) -> Self {
        let size = find.data.len();
        let held = match find.file_offset.and_then(|offset| usize::try_from(offset).ok()) {
            Some(offset) => Held::InFile(offset..offset.saturating_add(size)),
            None if unpacked.saturating_add(size) <= MAX_UNPACKED => {
                *unpacked = unpacked.saturating_add(size);
                Held::Unpacked(find.data.to_vec())
            }
            None => Held::Nowhere(size),
        };
        Self {
            // Bitcode is no program with a header: it is read as it is in a file by itself.
            format: (find.format != Format::Bitcode).then_some(find.format),
            find_path: Some(find.path.clone()),
            path: find.path.to_string(),
            held,
            file_offset: find.file_offset,
            condition: find.condition,
            table: None,
            head: None,
        }
    }
}

fn format_word(format: Option<Format>) -> &'static str {
    match format {
        Some(Format::MetalLibrary) => "metallib",
        Some(Format::MetalUniversal) => "metallib-universal",
        Some(Format::DxContainer) => "dxcontainer",
        Some(Format::Fatbin) => "fatbin",
        Some(Format::Cubin) => "cubin",
        Some(Format::Ptx) => "ptx",
        Some(Format::Direct3d9) => "direct3d9",
        Some(Format::Bitcode) | None => "bitcode",
        Some(Format::Registered(signature)) => signature.extension,
    }
}

fn no_program(program: u32, count: usize) -> Fault {
    if count == 0 {
        return Fault::new("no GPU program in this file");
    }
    Fault::new(format!("no program {program}")).expected(format!("less than {count}"))
}

/// Milliseconds since the first call. Where the system tells no time, none passes.
fn system_clock() -> f64 {
    #[cfg(target_family = "wasm")]
    return 0.0;
    #[cfg(not(target_family = "wasm"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1_000.0
    }
}
