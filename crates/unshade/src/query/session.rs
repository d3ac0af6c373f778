//! A file, its programs, and what is kept of them.
//!
//! Programs are found once. Each request parses what it needs anew, from slices of the file; kept are the table of each
//! program's items, the last listings, and programs that had to be unpacked.
//!
//! Of a Metal library that is read by ranges, everything but the bitcode is read at once, and a module when its function
//! is asked for. All other files are read as a whole.

use super::bodies::Bodies;
use super::changes::Sketches;
use super::decompiler::{DecompiledText, Decompiler, DecompilerInput};
use super::edit::{Editor, own_editor};
use super::recorder::Kept;
use super::response::{Answer, ByteRange, Fault, FileEntry, ProgramHead, findings};
use super::rows::Table;
use super::search::Threads;
use super::source::Source;
use crate::carve::{self, Condition, Find, FindPath, Limits};
use crate::format::{Format, Kind, detect};
use crate::program::{self, Code, CodeRequest, Piece, Program, Runner};
use crate::select::Selection;
use crate::view::FindingView;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use unshade_core::{Diagnostics, Escaped};

/// Returns the time in milliseconds, from any beginning.
pub type Clock = fn() -> f64;

/// The maximum size of all programs that had to be unpacked, which are kept.
const MAX_UNPACKED: usize = 1 << 30;

/// The default time of a step of a long request in milliseconds.
const BUDGET: f64 = 100.0;

/// The maximum time of such a step in milliseconds.
const MAX_BUDGET: f64 = 1_000.0;

/// The maximum number of programs of a file.
const MAX_PROGRAMS: usize = 20_000;

/// The bytes that are read to recognise a file.
const HEAD: u64 = 64 << 10;

/// An open file.
pub struct Session {
    name: String,
    source: Source,
    /// The index of an Xcode capture, whose store is the source.
    index: Option<Source>,
    opened: Option<OpenedFile>,
    pub(super) kept: Kept,
    /// Summaries of items that were compared with other programs.
    pub(super) sketches: Sketches,
    /// What the code of programs says, as far as it was read.
    pub(super) bodies: BTreeMap<u32, Bodies>,
    pub(super) clock: Clock,
    pub(super) threads: Threads,
    decompiler: Decompiler,
    editor: Editor,
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
    /// Whether the bitcode of its library is not read yet.
    is_partial: bool,
}

/// A program that was found.
struct Entry {
    format: Format,
    find_path: FindPath,
    path: String,
    data: Data,
    file_offset: Option<u64>,
    condition: Condition,
    table: Option<Arc<Table>>,
    head: Option<ProgramHead>,
}

/// Where the bytes of a program are.
enum Data {
    InFile(Range<usize>),
    Unpacked(Vec<u8>),
    /// There was no room for this many.
    TooLarge(usize),
}

/// A program, parsed for a request.
pub(super) struct Parsed<'a> {
    pub(super) program: Box<dyn Program + 'a>,
    pub(super) format: &'static program::Format,
    /// The path of the program: the file, and where it is in the file.
    pub(super) path: &'a str,
    pub(super) data: &'a [u8],
    /// The offset of the first byte in ranges.
    pub(super) base: u64,
    pub(super) condition: Condition,
    pub(super) decompiler: Decompiler,
}

impl<'a> Parsed<'a> {
    /// Returns the offsets that its bytes have in ranges.
    pub(super) fn space(&self) -> ByteRange {
        [self.base, self.base.saturating_add(self.data.len() as u64)]
    }

    /// Returns its format's name for people.
    pub(super) fn format_name(&self) -> &'static str {
        self.format.format.name()
    }

    /// Returns the name of the file or member that it is, without folders.
    pub(super) fn short_name(&self) -> &'a str {
        let name = self.path.rsplit(['/', '\\', '!']).next().unwrap_or_default();
        if name.is_empty() { self.path } else { name }
    }

    /// Returns the code of an item, or of the program.
    pub(super) fn code(&self, item: Option<&Piece>, diagnostics: &mut Diagnostics) -> Answer<Code<'_>> {
        let Some(item) = item else {
            let selection = Selection::default();
            let request = CodeRequest { selection: &selection, part: None, path: self.path };
            return Ok(self.program.code(&request, diagnostics));
        };
        Ok(self.program.code_of(item, self.path, diagnostics)?)
    }
}

impl Session {
    /// Returns a file of this name, which is not read yet.
    pub fn new(name: &str, source: Source) -> Self {
        Self {
            name: name.to_owned(),
            source,
            index: None,
            opened: None,
            kept: Kept::default(),
            sketches: Sketches::new(),
            bodies: BTreeMap::new(),
            clock: system_clock,
            threads: Threads::default(),
            decompiler: own_decompiler,
            editor: own_editor,
        }
    }

    /// Returns an Xcode capture: its index and its store.
    pub fn of_capture(name: &str, index: Source, store: Source) -> Self {
        Self { index: Some(index), ..Self::new(name, store) }
    }

    /// Uses a clock for the time limits of searches.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Searches listings on so many threads at a time.
    #[must_use]
    pub fn with_threads(mut self, runner: &'static dyn Runner, count: usize) -> Self {
        self.threads = Threads { runner, count: count.max(1) };
        self
    }

    /// Uses a decompiler that is elsewhere.
    #[must_use]
    pub fn with_decompiler(mut self, decompiler: Decompiler) -> Self {
        self.decompiler = decompiler;
        self
    }

    /// Uses an editor that is elsewhere.
    #[must_use]
    pub fn with_editor(mut self, editor: Editor) -> Self {
        self.editor = editor;
        self
    }

    /// Returns another file with the clock, the decompiler and the editor of this one.
    pub(super) fn with_same_modules(&self, other: Self) -> Self {
        other.with_clock(self.clock).with_decompiler(self.decompiler).with_editor(self.editor)
    }

    /// Returns when a step ends that may take this many milliseconds.
    pub(super) fn deadline(&self, budget_ms: Option<u32>) -> f64 {
        (self.clock)() + budget_ms.map_or(BUDGET, f64::from).min(MAX_BUDGET)
    }

    pub(super) fn editor(&self) -> Editor {
        self.editor
    }

    /// Returns the bytes of the file. Those that were not read yet are zeros.
    pub(super) fn bytes(&self) -> &[u8] {
        self.source.bytes()
    }

    /// Returns whether the file is an Xcode capture, which consists of two files.
    pub(super) fn is_capture(&self) -> bool {
        self.index.is_some()
    }

    /// Returns the offset of a program in the file, unless it was unpacked.
    pub(super) fn file_offset(&self, program: u32) -> Answer<Option<usize>> {
        let offset = self.program(program)?.file_offset;
        Ok(offset.and_then(|offset| usize::try_from(offset).ok()))
    }

    /// Returns the file's entry in a workspace.
    pub fn entry(&self, file: u32) -> FileEntry {
        let size = self.source.bytes().len() as u64;
        FileEntry { file, name: self.shown_name(), size, opened: self.opened.is_some(), error: None }
    }

    /// Returns the size of the file.
    pub(super) fn size(&self) -> u64 {
        self.source.bytes().len() as u64
    }

    /// Reads all of the file, which need not have programs, and returns its bytes.
    pub(super) fn all_bytes(&mut self) -> Answer<&[u8]> {
        self.source.ensure(0..u64::MAX)?;
        Ok(self.source.bytes())
    }

    pub(super) fn shown_name(&self) -> String {
        Escaped(self.name.as_bytes()).to_string()
    }

    /// Finds the programs, once.
    pub(super) fn open(&mut self) -> Answer<()> {
        if self.opened.is_some() {
            return Ok(());
        }
        let is_partial = self.ensure_outside_of_code()?;
        if let Some(index) = &mut self.index {
            index.ensure(0..u64::MAX)?;
        }
        let bytes = self.source.bytes();
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

    /// Of a file that is read by ranges, reads everything but the code that its format defers. Returns whether that is not
    /// read yet.
    fn ensure_outside_of_code(&mut self) -> Answer<bool> {
        let size = self.source.bytes().len() as u64;
        if !self.source.is_ranged() {
            return Ok(false);
        }
        self.source.ensure(0..HEAD)?;
        let bytes = self.source.bytes();
        let format =
            if let Kind::Program(format) = detect(bytes) { Some(program::format(format)) } else { None };
        let deferred =
            |bytes: &[u8], is_rest_read| format.and_then(|format| (format.deferred)(bytes, is_rest_read));
        let Some(code) = deferred(bytes, false) else {
            return self.source.ensure(0..size).map(|()| false);
        };
        self.source.ensure(0..code.start)?;
        self.source.ensure(code.end..size)?;
        let can_wait = deferred(self.source.bytes(), true).is_some();
        if !can_wait {
            self.source.ensure(0..size)?;
        }
        Ok(can_wait)
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

    /// Returns whether some bytes of the file are not read yet.
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
        match &table.item(item)?.row.range {
            Some(range) => self.ensure(range.clone()),
            None => Ok(()),
        }
    }

    fn program(&self, program: u32) -> Answer<&Entry> {
        let programs = self.opened.as_ref().map_or(&[][..], |opened| &opened.programs);
        programs.get(program as usize).ok_or_else(|| no_program(program, programs.len()))
    }

    /// Returns the head of a program, if it was kept.
    pub(super) fn kept_head(&self, program: u32) -> Answer<Option<ProgramHead>> {
        Ok(self.program(program)?.head.clone())
    }

    /// Keeps the head of a program.
    pub(super) fn keep_head(&mut self, head: &ProgramHead) {
        let programs = self.opened.as_mut().map(|opened| &mut opened.programs);
        if let Some(entry) = programs.and_then(|programs| programs.get_mut(head.program as usize)) {
            entry.head = Some(head.clone());
        }
    }

    /// Returns what is known of a program without parsing it.
    pub(super) fn brief_head(&self, program: u32) -> Answer<ProgramHead> {
        let entry = self.program(program)?;
        let (_, [base, end]) = self.space_of(program)?;
        let size = match entry.data {
            Data::TooLarge(size) => size as u64,
            _ => end - base,
        };
        let format = program::format(entry.format);
        Ok(ProgramHead {
            program,
            path: entry.path.clone(),
            format: format.word,
            format_name: entry.format.name(),
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

    /// Returns what could not be searched in the file, once it is open.
    pub(super) fn findings(&self) -> Vec<FindingView> {
        self.opened.as_ref().map(|opened| opened.findings.clone()).unwrap_or_default()
    }

    /// Returns the number of programs.
    pub(super) fn program_count(&mut self) -> Answer<u32> {
        self.open()?;
        Ok(self.opened.as_ref().map_or(0, |opened| opened.programs.len() as u32))
    }

    /// Parses a program of a file that was opened.
    pub(super) fn parsed(&self, program: u32) -> Answer<Parsed<'_>> {
        let entry = self.program(program)?;
        if let Data::TooLarge(size) = entry.data {
            return Err(Fault::new(format!(
                "the program has {size} bytes when unpacked, for which there is no room beside the others"
            ))
            .hint(format!("open it alone: `unshade explore '{}'`", entry.path)));
        }
        let (data, [base, _]) = self.space_of(program)?;
        let Entry { format, file_offset, condition, .. } = *entry;
        let find =
            Find { format, path: entry.find_path.clone(), data, file_offset, condition, options: None };
        let program = program::open(&find)?;
        let format = program::format_of(&find);
        Ok(Parsed { program, format, path: &entry.path, data, base, condition, decompiler: self.decompiler })
    }

    /// Returns the items of a program.
    pub(super) fn table(&mut self, program: u32) -> Answer<Arc<Table>> {
        self.open()?;
        if let Some(table) = &self.program(program)?.table {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(Table::new(self.parsed(program)?.program.pieces()));
        if let Some(entry) = self.opened.as_mut().and_then(|opened| opened.programs.get_mut(program as usize))
        {
            entry.table = Some(Arc::clone(&table));
        }
        Ok(table)
    }

    /// Returns the bytes of a program, which need not be one that can be parsed, and their offsets.
    pub(super) fn space_of(&self, program: u32) -> Answer<(&[u8], ByteRange)> {
        let entry = self.program(program)?;
        let data = match &entry.data {
            Data::InFile(range) => self.source.bytes().get(range.clone()).unwrap_or_default(),
            Data::Unpacked(bytes) => bytes,
            Data::TooLarge(_) => &[],
        };
        let base = entry.file_offset.unwrap_or(entry.find_path.offset());
        Ok((data, [base, base.saturating_add(data.len() as u64)]))
    }
}

impl Entry {
    fn new(find: &Find<'_>, unpacked: &mut usize) -> Self {
        let size = find.data.len();
        let data = match find.file_offset.and_then(|offset| usize::try_from(offset).ok()) {
            Some(offset) => Data::InFile(offset..offset.saturating_add(size)),
            None if unpacked.saturating_add(size) <= MAX_UNPACKED => {
                *unpacked = unpacked.saturating_add(size);
                Data::Unpacked(find.data.to_vec())
            }
            None => Data::TooLarge(size),
        };
        Self {
            format: find.format,
            find_path: find.path.clone(),
            path: find.path.to_string(),
            data,
            file_offset: find.file_offset,
            condition: find.condition,
            table: None,
            head: None,
        }
    }
}

pub(super) fn no_program(program: u32, count: usize) -> Fault {
    if count == 0 {
        return Fault::new("no GPU program in this file");
    }
    Fault::new(format!("no program {program}")).expected(format!("less than {count}"))
}

/// Returns milliseconds since the first call; 0 where the system has no clock.
pub fn system_clock() -> f64 {
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

/// Decompiles with the decompiler of this program. A page has none in this module.
fn own_decompiler(input: &DecompilerInput<'_>) -> Answer<DecompiledText> {
    #[cfg(target_family = "wasm")]
    {
        let _ = input;
        Err(Fault::new("there is no decompiler"))
    }
    #[cfg(not(target_family = "wasm"))]
    super::decompile(input)
}
