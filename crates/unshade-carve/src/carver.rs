//! Searches one file: its runs, its members, and the programs in them.

use crate::checks::compressed::Method;
use crate::checks::{bitcode, direct3d9, object};
use crate::format::{Container, Format, detect_container};
use crate::limits::{Limit, Limits};
use crate::path::{FindPath, PathSegment, Selector};
use crate::scan::{Found, Hit, Scanner};
use crate::sections::Sections;
use crate::{archive, compressed, gputrace, offload, tar, text, universal, zip};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow::{self, Break, Continue};
use unshade_core::{Diagnostics, Error, ErrorKind};

/// Maximum length of a member's name, more than any file system allows. A name is copied for each program under it.
const NAME_LIMIT: usize = 4_096;

/// Cost of a magic number that begins no program, from the budget for unpacked bytes. Real files have some dozens; a
/// hostile file can consist of them and take a hundred times as long to search.
const FALSE_START_COST: u64 = 256;

/// Whether to continue.
pub(crate) type Flow = ControlFlow<()>;

/// A GPU program that carving found.
#[derive(Clone, Debug)]
pub struct Find<'a> {
    /// Its format.
    pub format: Format,
    /// Its path.
    pub path: FindPath,
    /// Its bytes: as many as it states, or all that are left.
    pub data: &'a [u8],
    /// Its offset in the file, if it was not unpacked.
    pub file_offset: Option<u64>,
    /// Whether it is complete.
    pub condition: Condition,
    /// The compiler's options, each followed by a NUL, for bitcode in an object file with a section `.llvmcmd` or
    /// `__LLVM,__cmdline`. A linker concatenates those of all modules.
    pub options: Option<&'a [u8]>,
}

impl<'a> Find<'a> {
    /// Returns the compiler's options one by one; none if they are unknown.
    pub fn compiler_options(&self) -> impl Iterator<Item = &'a [u8]> {
        let text = self.options.unwrap_or_default();
        let text = text.strip_suffix(b"\0").unwrap_or(text);
        text.split(|&byte| byte == 0).filter(move |_| !text.is_empty())
    }

    /// Returns whether the program is shorter than it states.
    pub fn is_truncated(&self) -> bool {
        matches!(self.condition, Condition::Truncated { .. })
    }
}

/// Whether a program is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// All stated bytes exist.
    Whole,
    /// It states more bytes than exist.
    Truncated {
        /// Number of bytes that it states.
        stated: u64,
    },
    /// A file or member begins like a program but can't be one. The data are the whole file or member.
    Damaged,
}

/// Finds every GPU program in a file, and calls `visit` for each, in the order of the file.
///
/// `name` is the file's name, for paths. Unpacked members live only during the visit. `visit` can end the search. The
/// diagnostics report everything that could not be searched; each has a path, and offsets relative to its bytes.
///
/// ```
/// use std::ops::ControlFlow;
/// use unshade_carve::{Limits, carve};
///
/// let file = [&[0; 16][..], &[0xcb, 0xfe, 0xba, 0xbe, 0, 0, 0, 1], &[0, 0, 0, 23, 0, 0, 0, 0, 0, 0, 0, 28],
///     &[0, 0, 0, 4, 0, 0, 0, 2], b"MTLB"].concat();
/// let mut found = Vec::new();
/// let diagnostics = carve(&file, b"image.bin", &Limits::default(), &mut |find| {
///     found.push(format!("{}: {}, {} bytes", find.path, find.format, find.data.len()));
///     ControlFlow::Continue(())
/// });
/// assert_eq!(found, ["image.bin@0x10: Metal universal library, 32 bytes"]);
/// assert!(diagnostics.is_empty());
/// ```
pub fn carve(
    input: &[u8],
    name: &[u8],
    limits: &Limits,
    visit: &mut dyn FnMut(Find<'_>) -> ControlFlow<()>,
) -> Diagnostics {
    let mut carver = Carver::new(name, limits, None, visit);
    let _ = carver.run(input, Some(0));
    carver.finish()
}

/// Finds the program that a selector selects, without unpacking members that can't contain it. Calls `visit` at most
/// once.
pub fn carve_selected(
    input: &[u8],
    name: &[u8],
    selector: &Selector,
    limits: &Limits,
    visit: &mut dyn FnMut(Find<'_>),
) -> Diagnostics {
    let mut visit = |find: Find<'_>| {
        visit(find);
        Break(())
    };
    let mut carver = Carver::new(name, limits, Some(selector), &mut visit);
    let _ = carver.run(input, Some(0));
    carver.finish()
}

/// Bytes that are searched together: the file, or an unpacked member.
pub(crate) struct Run<'a> {
    pub(crate) data: &'a [u8],
    /// Offset of the first byte in the file, if the run is part of the file as it is.
    base: Option<u64>,
    /// Everything before this offset has been searched, directly or as a member.
    pub(crate) covered: usize,
    /// The sections, read when a program is found outside of any member.
    sections: Option<Sections>,
    /// Whether bitcode in this run belongs to an incomplete program that was found before.
    is_claimed: bool,
    /// Whether it was reported that the maximum depth is reached here.
    is_depth_reported: bool,
}

impl<'a> Run<'a> {
    pub(crate) fn new(data: &'a [u8], base: Option<u64>) -> Self {
        Self { data, base, covered: 0, sections: None, is_claimed: false, is_depth_reported: false }
    }

    /// Returns the sections of the run, for object files.
    pub(crate) fn sections(&mut self) -> &Sections {
        self.sections.get_or_insert_with(|| Sections::read(self.data))
    }

    /// Marks everything before `end` as searched.
    pub(crate) fn skip_to(&mut self, end: usize) {
        self.covered = self.covered.max(end);
    }

    /// Converts an offset in the run to one in the file.
    pub(crate) fn file_offset(&self, at: usize) -> Option<u64> {
        self.base?.checked_add(at as u64)
    }
}

/// Counts the members of each name in a container. Names are kept as hashes, so memory is bounded by their number; two
/// names with one hash are counted together.
#[derive(Default)]
pub(crate) struct Occurrences(HashMap<u64, u32>);

impl Occurrences {
    pub(crate) fn next(&mut self, name: &[u8]) -> u32 {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let count = self.0.entry(hasher.finish()).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

/// The result of entering a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The caller searches its bytes next, then calls [`Carver::leave`].
    Entered,
    /// The selector does not lead there.
    Unwanted,
    /// A limit was reached, and has been reported.
    Refused,
}

/// The search of one file.
pub(crate) struct Carver<'c> {
    pub(crate) limits: &'c Limits,
    selector: Option<&'c Selector>,
    visit: &'c mut dyn FnMut(Find<'_>) -> ControlFlow<()>,
    scanner: Option<Scanner>,
    diagnostics: Diagnostics,
    file: Vec<u8>,
    pub(crate) segments: Vec<PathSegment>,
    /// Total bytes that were unpacked or searched a second time.
    pub(crate) unpacked_total: u64,
    /// Unpacked bytes that are in memory now.
    pub(crate) held: u64,
    pub(crate) members: u64,
    finds: u64,
    /// Limits of the whole file that have been reported.
    reported: Vec<Limit>,
}

impl<'c> Carver<'c> {
    pub(crate) fn new(
        name: &[u8],
        limits: &'c Limits,
        selector: Option<&'c Selector>,
        visit: &'c mut dyn FnMut(Find<'_>) -> ControlFlow<()>,
    ) -> Self {
        Self {
            limits,
            selector,
            visit,
            scanner: Some(Scanner::default()),
            diagnostics: Diagnostics::new(),
            file: name.to_vec(),
            segments: Vec::new(),
            unpacked_total: 0,
            held: 0,
            members: 0,
            finds: 0,
            reported: Vec::new(),
        }
    }

    pub(crate) fn finish(self) -> Diagnostics {
        self.diagnostics
    }

    /// Searches a run of bytes. A container is first split into members.
    pub(crate) fn run(&mut self, data: &[u8], base: Option<u64>) -> Flow {
        let mut run = Run::new(data, base);
        let container = detect_container(data);
        let is_divided = match container {
            Some(Container::GpuTraceIndex) => {
                let error = Error::new(ErrorKind::Unsupported, 0, "this is only the index of a .gputrace")
                    .hint("the programs are in store0 beside it: open that, or the folder");
                self.note("gputrace-index", error);
                false
            }
            Some(container) if container.is_object() => zip::ends_archive(data),
            Some(_) => true,
            None => zip::ends_archive(data),
        };
        if is_divided {
            if self.is_deepest() {
                self.report_depth(&mut run);
            } else {
                self.divide(&mut run, container)?;
            }
        } else if container.is_some_and(Container::is_object) || object::is_coff_object(data) {
            offload::carve_sections(self, &mut run)?;
        } else if container.is_none() && text::is_text(data) {
            text::carve(self, &mut run)?;
        }
        self.cover(&mut run, data.len())
    }

    fn divide(&mut self, run: &mut Run<'_>, container: Option<Container>) -> Flow {
        match container {
            Some(Container::Tar) => tar::carve(self, run),
            Some(Container::Archive) => archive::carve(self, run),
            Some(Container::ThinArchive) => archive::note_thin(self, run),
            Some(Container::OffloadBundle { .. } | Container::OffloadBinary) => offload::carve(self, run),
            Some(Container::MachOUniversal) => universal::carve(self, run),
            Some(Container::Gzip) => compressed::carve(self, run, Method::Gzip),
            Some(Container::Bzip2) => compressed::carve(self, run, Method::Bzip2),
            Some(Container::Zstd) => compressed::carve(self, run, Method::Zstd),
            Some(Container::Xz) => compressed::carve(self, run, Method::Xz),
            Some(Container::Lzma) => compressed::carve(self, run, Method::Lzma),
            Some(Container::Lz4) => compressed::carve(self, run, Method::Lz4),
            Some(Container::Zlib) => gputrace::carve_store(self, run),
            // An archive that begins at the first byte, or one after a program that unpacks it.
            _ => zip::carve(self, run),
        }
    }

    /// Searches an unpacked run, then drops it.
    pub(crate) fn run_unpacked(&mut self, data: Vec<u8>) -> Flow {
        let size = data.capacity() as u64;
        self.held = self.held.saturating_add(size);
        let flow = self.run(&data, None);
        self.held = self.held.saturating_sub(size);
        flow
    }

    /// Searches everything before `end` that no search has covered yet.
    pub(crate) fn cover(&mut self, run: &mut Run<'_>, end: usize) -> Flow {
        let range = run.covered..end.min(run.data.len());
        if range.is_empty() {
            return Continue(());
        }
        if range.start == 0 && direct3d9::is_program(run.data) {
            let stated = Some(run.data.len() as u64);
            self.found(run, Hit { start: 0, format: Format::Direct3d9, stated })?;
            run.skip_to(range.end);
            return Continue(());
        }
        if range.start == 0 && bitcode::starts_wrapper(run.data) {
            let hit = Hit { start: 0, format: Format::Bitcode, stated: bitcode::wrapper_size(run.data) };
            let next = self.found(run, hit)?;
            run.skip_to(next);
            return self.cover(run, end);
        }
        // The scanner is moved out of `self`, so that hits can be reported through `self`. What is unpacked meanwhile
        // is searched by another.
        let mut scanner = self.scanner.take().unwrap_or_default();
        let mut flow = Continue(());
        let mut covered = range.end;
        let false_starts = scanner.scan(run.data, range, &mut |found| {
            let next = match found {
                Found::Program(hit) => self.found(run, hit),
                Found::Stream { start, method } => compressed::carve_embedded(self, run, start, method),
            };
            let next = match next {
                Continue(next) => next,
                Break(()) => {
                    flow = Break(());
                    return None;
                }
            };
            covered = covered.max(next);
            Some(next)
        });
        if std::mem::take(&mut scanner.is_overtaxed) {
            let message = "too many beginnings of Direct3D 9 shaders: not all were looked at";
            let error = self.within(Error::new(ErrorKind::Limit, covered as u64, message));
            self.diagnostics.error("carve-limit", error);
        }
        self.scanner = Some(scanner);
        self.unpacked_total =
            self.unpacked_total.saturating_add(false_starts.saturating_mul(FALSE_START_COST));
        run.skip_to(covered);
        flow
    }

    /// Reports a hit, and returns the offset where the search continues.
    fn found(&mut self, run: &mut Run<'_>, hit: Hit) -> ControlFlow<(), usize> {
        let rest = run.data.get(hit.start..).unwrap_or_default();
        let whole = hit.stated.and_then(|stated| rest.get(..usize::try_from(stated).ok()?));
        let (data, condition, next) = match (whole, hit.stated) {
            (Some(data), _) => (data, Condition::Whole, hit.start.saturating_add(data.len())),
            // It may not be a program: the search continues after its first byte.
            (None, Some(stated)) => (rest, Condition::Truncated { stated }, hit.start.saturating_add(1)),
            (None, None) => (rest, Condition::Damaged, hit.start.saturating_add(1)),
        };
        if hit.format == Format::Bitcode && run.is_claimed {
            return Continue(next);
        }
        // The remaining modules of an incomplete program are not programs of their own.
        let holds_bitcode = match hit.format {
            Format::MetalLibrary | Format::MetalUniversal | Format::DxContainer => true,
            Format::Bitcode => hit.start == 0,
            Format::Fatbin | Format::Cubin | Format::Ptx | Format::Direct3d9 | Format::Registered(_) => false,
        };
        run.is_claimed |= holds_bitcode && condition != Condition::Whole;
        let mut segments = self.segments.clone();
        let bytes = run.data;
        let sections = run.sections();
        let mut options = None;
        if let Some((name, offset)) = sections.at(bytes, hit.start) {
            segments.push(PathSegment::Section { name, offset });
            options = sections.compiler_options(bytes).filter(|_| hit.format == Format::Bitcode);
        }
        let path = FindPath {
            file: self.file.clone(),
            segments,
            offset: hit.start as u64,
            whole: data.len() == run.data.len(),
        };
        if self.selector.is_some_and(|selector| !selector.selects(&path)) {
            return Continue(next);
        }
        if self.finds >= self.limits.max_finds {
            self.report_limit(Limit::Finds);
            return Break(());
        }
        self.finds = self.finds.saturating_add(1);
        let place = hit.start as u64;
        match condition {
            Condition::Whole => {}
            Condition::Truncated { stated } => {
                let error =
                    Error::new(ErrorKind::Truncated, place, format!("the {} is cut off", hit.format.name()))
                        .expected(format!("{stated} bytes"))
                        .found(data.len().to_string());
                self.warning("program-truncated", error);
            }
            Condition::Damaged => {
                let message =
                    format!("this begins like a {}, but what follows can't be one", hit.format.name());
                self.warning("program-damaged", Error::new(ErrorKind::BadValue, place, message));
            }
        }
        let file_offset = run.file_offset(hit.start);
        (self.visit)(Find { format: hit.format, path, data, file_offset, condition, options })?;
        Continue(next)
    }

    /// Begins a member.
    pub(crate) fn enter(&mut self, name: &[u8], occurrences: &mut Occurrences) -> Entry {
        if self.members >= self.limits.max_members {
            self.report_limit(Limit::Members);
            return Entry::Refused;
        }
        self.members = self.members.saturating_add(1);
        let name = name.get(..NAME_LIMIT).unwrap_or(name);
        let segment = PathSegment::Member { name: name.to_vec(), occurrence: occurrences.next(name) };
        if self.selector.is_some_and(|selector| !selector.admits(self.segments.len(), &segment)) {
            return Entry::Unwanted;
        }
        self.segments.push(segment);
        Entry::Entered
    }

    /// Returns whether the maximum depth is reached.
    pub(crate) fn is_deepest(&self) -> bool {
        self.segments.len() >= self.limits.depth()
    }

    /// Reports, once for a run, that the maximum depth is reached.
    pub(crate) fn report_depth(&mut self, run: &mut Run<'_>) {
        if !std::mem::replace(&mut run.is_depth_reported, true) {
            self.report_limit(Limit::Depth);
        }
    }

    /// Ends the member that was entered last.
    pub(crate) fn leave(&mut self) {
        self.segments.pop();
    }

    /// Charges the budget for bytes that an earlier member already covered, and returns whether enough is left.
    pub(crate) fn spend_overlap(&mut self, run: &Run<'_>, start: usize, end: usize) -> bool {
        let again = run.covered.min(end).saturating_sub(start) as u64;
        self.unpacked_total = self.unpacked_total.saturating_add(again);
        let is_affordable = again == 0 || self.unpacked_total <= self.limits.max_total_size;
        if !is_affordable {
            self.report_limit(Limit::TotalSize);
        }
        is_affordable
    }

    /// Returns the name of the innermost member, or of the file.
    pub(crate) fn innermost_name(&self) -> &[u8] {
        match self.segments.last() {
            Some(PathSegment::Member { name, .. } | PathSegment::Section { name, .. }) => name,
            None => &self.file,
        }
    }

    /// Returns the name of a member that is not entered, for diagnostics.
    pub(crate) fn place_of(&self, name: &[u8]) -> String {
        let name = name.get(..NAME_LIMIT).unwrap_or(name);
        PathSegment::Member { name: name.to_vec(), occurrence: 1 }.to_string()
    }

    /// Adds the path of the current run to an error.
    fn within(&self, error: Error) -> Error {
        if self.diagnostics.len() >= Diagnostics::LIMIT {
            // The error is only counted, so its path is not needed.
            return error;
        }
        let whole = true;
        let path = FindPath { file: self.file.clone(), segments: self.segments.clone(), offset: 0, whole };
        error.within(path.to_string())
    }

    pub(crate) fn error(&mut self, rule: &'static str, error: Error) {
        let error = self.within(error);
        self.diagnostics.error(rule, error);
    }

    pub(crate) fn warning(&mut self, rule: &'static str, error: Error) {
        let error = self.within(error);
        self.diagnostics.warning(rule, error);
    }

    pub(crate) fn note(&mut self, rule: &'static str, error: Error) {
        let error = self.within(error);
        self.diagnostics.note(rule, error);
    }

    /// Reports that a limit was reached.
    pub(crate) fn report_limit(&mut self, limit: Limit) {
        if limit.is_for_all() {
            if self.reported.contains(&limit) {
                return;
            }
            self.reported.push(limit);
        }
        let error = self.within(limit.error(self.limits));
        self.diagnostics.error("carve-limit", error);
    }
}
