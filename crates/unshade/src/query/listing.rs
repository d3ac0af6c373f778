//! Listings: which there are, and their lines.
//!
//! A listing is printed as a whole and kept ([`Kept`]), so that scrolling, links and lines of bytes cost nothing more.

use super::c_text::CText;
use super::response::findings;
use super::session::{Content, Parsed, Session};
use super::tape::{Lines, MAX_TAPE, Tape, entity};
use super::*;
use crate::decompile;
use crate::disassembly::{
    ModuleOptions, TokenSource, Unit, has_token_program, print_module, program_parts, token_program,
};
use crate::format::Format;
use crate::opened::Opened;
use crate::sass_listing::{self, SassOptions};
use crate::source_files::{SourceFile, visit_files};
use crate::view::FindingView;
use rows::Row;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use unshade_core::outline::{Field, OutlineSink};
use unshade_core::{Diagnostics, Escaped, FourCc, TokenKind, TokenSink};
use unshade_decompile::Options;
use unshade_dxcontainer::part::is_token_program;
use unshade_dxcontainer::{Container, PartData};
use unshade_llvm as llvm;
use unshade_metallib::{Function, Library};
use unshade_nv::{Cubin, Ptx};

/// So many listings are kept, if they are not too large.
const MAX_KEPT: usize = 16;

/// The most links in an answer.
const MAX_LINKS: usize = 10_000;

/// The most sources that are told of one item.
const MAX_SOURCES: usize = 500;

/// The most lines of a listing of tags.
const MAX_TAGS: usize = 100_000;

/// Functions of more instructions, with those that they call, are not decompiled here.
const MAX_DECOMPILED: usize = 20_000;

/// A name that begins so is that of a source.
const SOURCE: &str = "source:";

/// A printed listing.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) lines: Lines,
    pub(super) findings: Vec<FindingView>,
}

type Key = (u32, Option<u32>, String);

/// The last listings.
#[derive(Debug, Default)]
pub(super) struct Kept(VecDeque<(Key, Arc<Printed>)>);

impl Kept {
    fn get(&mut self, key: &Key) -> Option<Arc<Printed>> {
        let at = self.0.iter().position(|kept| kept.0 == *key)?;
        let kept = self.0.remove(at)?;
        let printed = Arc::clone(&kept.1);
        self.0.push_front(kept);
        Some(printed)
    }

    /// Keeps a listing, and those before it as long as they fit.
    fn put(&mut self, key: Key, printed: Arc<Printed>) {
        self.0.push_front((key, printed));
        let mut weight = 0usize;
        let fits = self.0.iter().take(MAX_KEPT).take_while(|(_, printed)| {
            weight = weight.saturating_add(printed.lines.weight());
            weight <= MAX_TAPE
        });
        let count = fits.count().max(1);
        self.0.truncate(count);
    }
}

/// The listings of a program, or of an item of it.
pub(super) fn panes(parsed: &Parsed<'_>, row: Option<&Row>) -> Vec<String> {
    let mut panes: Vec<String> = Vec::new();
    let code = ["assembly", "raw"];
    match (&parsed.content, row) {
        (Content::Bitcode(_), _) => panes.extend(code.map(str::to_owned)),
        (Content::Program(Opened::Library(_) | Opened::Universal(_)), Some(row)) => {
            if row.range.is_some() {
                panes.extend(code.map(str::to_owned));
            }
            let _ = parsed.with_function(row, |library, function| {
                each_source(library, function, |file| {
                    if panes.len() < MAX_SOURCES {
                        panes.push(format!("{SOURCE}{}", Escaped(&file.path)));
                    }
                });
                Ok(())
            });
        }
        (Content::Program(Opened::Direct3d9(_)), _) => panes.extend(code.map(str::to_owned)),
        (Content::Program(Opened::DxContainer(container)), row) => {
            let has_code = match row {
                None => has_token_program(container) || crate::dxil::main_part(container).is_some(),
                Some(row) => is_code(container, row),
            };
            if has_code {
                panes.extend(code.map(str::to_owned));
            }
            if row.is_none_or(|row| row.has_source) {
                for file in container_sources(container).into_iter().take(MAX_SOURCES) {
                    panes.push(format!("{SOURCE}{}", Escaped(&file.path)));
                }
            }
        }
        (Content::Program(Opened::Cubin(cubin)), _) if sass_listing::instruction_set(cubin).is_some() => {
            panes.extend(code.map(str::to_owned));
            panes.extend(row.filter(|row| is_decompiled(row)).map(|_| "c".to_owned()));
        }
        (Content::Program(Opened::Ptx(_)), _) => panes.push("ptx".to_owned()),
        (Content::Program(Opened::Fatbin(_)), Some(row)) => {
            let _ = with_unit(parsed, row, |unit, _| {
                match unit {
                    Opened::Cubin(cubin) if sass_listing::instruction_set(cubin).is_some() => {
                        panes.extend(code.map(str::to_owned));
                        panes.extend(is_decompiled(row).then(|| "c".to_owned()));
                    }
                    Opened::Ptx(_) => panes.push("ptx".to_owned()),
                    _ => {}
                }
                Ok(())
            });
        }
        _ => {}
    }
    if row.is_some() && !matches!(parsed.content, Content::Bitcode(_)) {
        panes.push("tags".to_owned());
    }
    panes
}

/// Whether a part of a container has a listing of its own.
fn is_code(container: &Container<'_>, row: &Row) -> bool {
    let part = container.found_parts().nth(row.index as usize);
    part.is_some_and(|part| {
        is_token_program(part.name, part.data.data())
            || unshade_dxcontainer::program::bitcode(part.data).is_ok()
    })
}

/// Opens the entry of a fat binary that a row is of, and says whether it had to be unpacked; of a cubin or PTX itself.
pub(super) fn with_unit<T>(
    parsed: &Parsed<'_>,
    row: &Row,
    then: impl FnOnce(&Opened<'_>, bool) -> Answer<T>,
) -> Answer<T> {
    let fatbin = match &parsed.content {
        Content::Program(Opened::Fatbin(fatbin)) => fatbin,
        Content::Program(program) => return then(program, false),
        Content::Bitcode(_) => return Err(Fault::new("no program of NVIDIA's")),
    };
    let entry = fatbin.entries().filter_map(Result::ok).find(|entry| entry.index == row.unit);
    let entry = entry.ok_or_else(|| Fault::new("the entry can't be read"))?;
    let data = entry.data()?;
    let is_unpacked = entry.compression() != unshade_nv::compression::Compression::None;
    if entry.kind == unshade_nv::fatbin::EntryKind::PTX {
        return then(&Opened::Ptx(entry.ptx(&data)), is_unpacked);
    }
    let cubin = entry.cubin(&data)?;
    then(&Opened::Cubin(cubin), is_unpacked)
}

/// Calls `visit` with each source of the archive that a function names.
fn each_source(library: &Library<'_>, function: &Function<'_>, visit: impl FnMut(SourceFile)) {
    let sources = library.sources().ok().flatten();
    let archive = function.source_offset.and_then(|offset| sources?.archive_at(offset).ok());
    if let Some(archive) = archive {
        // Of a damaged archive what comes before the fault is shown; `verify` tells of it.
        let _ = visit_files(&archive, visit);
    }
}

/// The sources in a container.
fn container_sources(container: &Container<'_>) -> Vec<SourceFile> {
    let mut sources = Vec::new();
    for part in container.found_parts().filter(|part| part.name.0 == *b"SRCI") {
        if let Ok(PartData::Sources(info)) = PartData::read(part.name, part.data) {
            let files = info.files().unwrap_or_default().into_iter();
            sources.extend(
                files.map(|file| SourceFile { path: file.name.0.to_vec(), data: file.text.0.to_vec() }),
            );
        }
    }
    sources
}

/// The source of this name, of an item or of the program.
pub(super) fn source(parsed: &Parsed<'_>, row: Option<&Row>, name: &str) -> Answer<SourceFile> {
    let mut found = None;
    let mut take = |file: SourceFile| {
        if found.is_none() && Escaped(&file.path).to_string() == name {
            found = Some(file);
        }
    };
    match (&parsed.content, row) {
        (Content::Program(Opened::DxContainer(container)), _) => {
            container_sources(container).into_iter().for_each(take);
        }
        (_, Some(row)) => parsed.with_function(row, |library, function| {
            each_source(library, function, &mut take);
            Ok(())
        })?,
        _ => {}
    }
    found.ok_or_else(|| Fault::new("no source of this name"))
}

/// Prints a listing.
pub(super) fn print(parsed: &Parsed<'_>, row: Option<&Row>, pane: &str) -> Answer<Printed> {
    let mut tape = Tape::default();
    let mut diagnostics = Diagnostics::new();
    let raw = match pane {
        "assembly" => Some(false),
        "raw" => Some(true),
        _ => None,
    };
    if let Some(name) = pane.strip_prefix(SOURCE) {
        let file = source(parsed, row, name)?;
        put_text(&file.data, None, &mut tape);
        return Ok(Printed { lines: tape.finish(), findings: Vec::new() });
    }
    match (&parsed.content, row, raw, pane) {
        (_, Some(row), _, "tags") => tags(parsed, row, &mut tape)?,
        (Content::Bitcode(bytes), row, Some(raw), _) => {
            let index = row.map_or(0, |row| row.index as usize);
            let count = llvm::Module::parse_all(bytes, parsed.base).map_or(1, |modules| modules.len().max(1));
            let base = parsed.base;
            let unit = Unit::File { name: parsed.short_name(), bytes, base, index, first_function: 0, count };
            unit_lines(&unit, raw, &mut tape, &mut diagnostics)?;
        }
        (Content::Program(Opened::Library(_) | Opened::Universal(_)), Some(row), Some(raw), _) => {
            parsed.with_function(row, |library, function| {
                let unit = Unit::Function { library, function: function.clone() };
                unit_lines(&unit, raw, &mut tape, &mut diagnostics)
            })?;
        }
        (Content::Program(Opened::Direct3d9(data)), _, Some(raw), _) => {
            token_program(parsed.path, &TokenSource::Direct3d9(*data), raw, &mut tape, &mut diagnostics)?;
        }
        (Content::Program(Opened::DxContainer(container)), row, Some(raw), _) => {
            container_lines(parsed, container, row, raw, &mut tape, &mut diagnostics)?;
        }
        (Content::Program(Opened::Fatbin(_) | Opened::Cubin(_) | Opened::Ptx(_)), Some(row), _, _) => {
            with_unit(parsed, row, |unit, is_unpacked| {
                let mut sink = Sourced { sink: &mut tape, drops: is_unpacked };
                match (unit, raw) {
                    (Opened::Cubin(cubin), Some(raw)) => {
                        machine_code(cubin, Some(row), raw, &mut sink, &mut diagnostics)
                    }
                    (Opened::Cubin(cubin), None) if pane == "c" && is_decompiled(row) => {
                        decompiled(cubin, row, is_unpacked, sink.sink, &mut diagnostics)
                    }
                    (Opened::Ptx(ptx), None) if pane == "ptx" => {
                        ptx_lines(ptx, &mut sink);
                        Ok(())
                    }
                    _ => Err(no_pane(pane)),
                }
            })?;
        }
        (Content::Program(Opened::Cubin(cubin)), None, Some(raw), _) => {
            machine_code(cubin, None, raw, &mut tape, &mut diagnostics)?;
        }
        (Content::Program(Opened::Ptx(ptx)), None, None, "ptx") => ptx_lines(ptx, &mut tape),
        _ => return Err(no_pane(pane)),
    }
    Ok(Printed { lines: tape.finish(), findings: findings(&diagnostics) })
}

fn no_pane(pane: &str) -> Fault {
    Fault::new(format!("there is no listing \"{}\" of this", Escaped(pane.as_bytes())))
        .hint("`facts` names those that there are in `panes`")
}

fn unit_lines(unit: &Unit<'_>, raw: bool, tape: &mut Tape, diagnostics: &mut Diagnostics) -> Answer<()> {
    let module = unit.open()?;
    diagnostics.append(module.diagnostics.clone());
    let options = ModuleOptions { dialect: unit.usual_dialect(), raw };
    // Through a pointer, so that there is one printer for all who are not in a hurry: a page has to load it.
    let mut sink: &mut dyn TokenSink = tape;
    diagnostics.append(print_module(unit, &module, options, &mut sink));
    Ok(())
}

/// The program of a container, or a part that is one.
fn container_lines(
    parsed: &Parsed<'_>,
    container: &Container<'_>,
    row: Option<&Row>,
    raw: bool,
    tape: &mut Tape,
    diagnostics: &mut Diagnostics,
) -> Answer<()> {
    let part = row.and_then(|row| container.found_parts().nth(row.index as usize));
    let wanted = match &part {
        Some(part) if unshade_dxcontainer::program::bitcode(part.data).is_ok() => Some(FourCc(part.name.0)),
        Some(part) if !is_token_program(part.name, part.data.data()) => return Err(no_pane("assembly")),
        _ => None,
    };
    let has_module = crate::dxil::main_part(container).is_some();
    if wanted.is_none() && (part.is_some() || !has_module) && has_token_program(container) {
        let source = TokenSource::Container(container.clone());
        return Ok(token_program(parsed.path, &source, raw, tape, diagnostics)?);
    }
    let programs = program_parts(container, wanted, parsed.path, diagnostics);
    for (index, program) in programs.into_iter().enumerate() {
        if index > 0 {
            tape.put(TokenKind::Space, "\n");
        }
        unit_lines(&Unit::Part(program), raw, tape, diagnostics)?;
    }
    Ok(())
}

/// The machine code of a cubin, or of one of its functions.
fn machine_code<S: TokenSink>(
    cubin: &Cubin<'_>,
    row: Option<&Row>,
    raw: bool,
    sink: &mut S,
    diagnostics: &mut Diagnostics,
) -> Answer<()> {
    let wanted = row.map(|row| {
        let function = cubin.functions().nth(row.index as usize);
        function.map(|function| function.index).ok_or_else(|| Fault::new("the function can't be read"))
    });
    let wanted = wanted.transpose()?;
    let options = SassOptions { raw, control: false };
    let is_wanted =
        |function: &unshade_nv::function::Function<'_>| wanted.is_none_or(|one| one == function.index);
    sass_listing::cubin(cubin, &is_wanted, options, diagnostics, sink);
    Ok(())
}

/// Functions inside of others are decompiled where these call them.
fn is_decompiled(row: &Row) -> bool {
    matches!(row.kind.as_str(), "kernel" | "device")
}

/// The C of a function, with the runs of words that each line came of.
fn decompiled(
    cubin: &Cubin<'_>,
    row: &Row,
    is_unpacked: bool,
    tape: &mut Tape,
    diagnostics: &mut Diagnostics,
) -> Answer<()> {
    let no_function = || Fault::new("the function can't be read");
    let function = cubin.functions().nth(row.index as usize).ok_or_else(no_function)?;
    let section = function.section.as_ref().ok_or_else(no_function)?;
    let base = cubin.elf().bytes(section)?.base();
    let size = sass_listing::instruction_set(cubin).map_or(8, |isa| isa.word_bytes as u64);
    let wanted = function.index;
    let mut found = None;
    let is_wanted = |function: &unshade_nv::function::Function<'_>| function.index == wanted;
    let options = Options { budget: MAX_DECOMPILED, ..Options::default() };
    decompile::cubin(cubin, &is_wanted, &options, diagnostics, &mut |one| found = Some(one.result));
    let decompiled = found.ok_or_else(no_function)?.map_err(|fault| Fault::new(fault.to_string()))?;
    let mut text = CText::new(tape);
    for line in decompiled.prelude.iter().flat_map(|definition| definition.lines()) {
        text.line(&shown_line(line.as_bytes()));
    }
    if !decompiled.prelude.is_empty() {
        text.line("");
    }
    for line in &decompiled.lines {
        if !is_unpacked {
            text.sources(&runs(&line.addresses, base, size));
        }
        text.line(&shown_line(line.text.as_bytes()));
    }
    Ok(())
}

/// The bytes of the words at these addresses, neighbours together.
fn runs(addresses: &[u32], base: u64, size: u64) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for address in addresses {
        let start = base.saturating_add((*address).into());
        match runs.last_mut() {
            Some(run) if run.end == start => run.end = start.saturating_add(size),
            _ => runs.push(start..start.saturating_add(size)),
        }
    }
    runs
}

fn ptx_lines(ptx: &Ptx<'_>, sink: &mut dyn TokenSink) {
    put_text(ptx.text(), Some(ptx.file().base()), sink);
}

/// Puts text as it is, a range of bytes to each line if the first byte's offset is told.
fn put_text(text: &[u8], base: Option<u64>, sink: &mut dyn TokenSink) {
    let mut offset = base.unwrap_or(0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = offset.saturating_add(line.len() as u64);
        if base.is_some() {
            sink.source(offset..end);
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Tabs stay what they are: every other character that can't be shown is escaped.
        for (at, part) in line.split(|byte| *byte == b'\t').enumerate() {
            if at > 0 {
                sink.put(TokenKind::Space, "\t");
            }
            sink.put(TokenKind::Text, &shown_line(part));
        }
        sink.put(TokenKind::Space, "\n");
        offset = end;
    }
}

/// A part of a line. Backslashes stay single where nothing has to be escaped.
fn shown_line(part: &[u8]) -> String {
    match std::str::from_utf8(part) {
        Ok(text) if text.chars().all(unshade_core::escape::is_plain) => text.to_owned(),
        _ => Escaped(part).to_string(),
    }
}

/// Passes tokens on; leaves out where they come from, if that is no place in the program.
struct Sourced<'s> {
    sink: &'s mut Tape,
    drops: bool,
}

impl TokenSink for Sourced<'_> {
    fn token(&mut self, token: unshade_core::Token<'_>) {
        self.sink.token(token);
    }

    fn source(&mut self, range: Range<u64>) {
        if !self.drops {
            self.sink.source(range);
        }
    }

    fn wants_sources(&self) -> bool {
        !self.drops
    }

    fn mark(&self) -> usize {
        self.sink.mark()
    }

    fn truncate(&mut self, mark: usize) {
        self.sink.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        self.sink.insert(mark, write);
    }
}

/// The fields of an item, with their bytes: of a function's groups, a part, or a section.
fn tags(parsed: &Parsed<'_>, row: &Row, tape: &mut Tape) -> Answer<()> {
    let Content::Program(program) = &parsed.content else { return Err(no_pane("tags")) };
    let ranges: Vec<Range<u64>> = match program {
        Opened::Library(_) | Opened::Universal(_) => parsed.with_function(row, |library, function| {
            let mut ranges = vec![function.range.clone()];
            let groups = [
                library.public_metadata(function).ok().flatten().map(|public| public.group.range),
                library.private_metadata(function).ok().flatten().map(|private| private.group.range),
            ];
            ranges.extend(groups.into_iter().flatten());
            Ok(ranges)
        })?,
        _ => row.range.map(|[start, end]| start..end).into_iter().collect(),
    };
    let mut sink = FieldLines { ranges, depth: 0, base_depth: None, count: 0, is_near: true, tape };
    program.outline(&mut sink);
    Ok(())
}

/// Prints the fields that lie in some ranges, a line each.
struct FieldLines<'t> {
    ranges: Vec<Range<u64>>,
    depth: usize,
    /// The depth of the outermost field that is printed now.
    base_depth: Option<usize>,
    count: usize,
    /// Whether the innermost open field has bytes of the ranges.
    is_near: bool,
    tape: &'t mut Tape,
}

impl OutlineSink for FieldLines<'_> {
    fn open(&mut self, field: Field<'_>) {
        let is_inside = |range: &Range<u64>| {
            range.start <= field.range.start
                && field.range.end <= range.end
                && field.range.start < field.range.end
        };
        if self.base_depth.is_none() && self.ranges.iter().any(is_inside) {
            if self.count > 0 && self.depth == 0 {
                self.tape.put(TokenKind::Space, "\n");
            }
            self.base_depth = Some(self.depth);
        }
        if let Some(base) = self.base_depth
            && self.count < MAX_TAGS
        {
            self.count += 1;
            self.tape.source(field.range.clone());
            self.tape.put(TokenKind::Space, &"  ".repeat((self.depth - base).min(32)));
            self.tape.put(TokenKind::Variable, &Escaped(field.name.as_bytes()).to_cow());
            let value = field.value.to_text();
            if !value.is_empty() {
                let kind = if value.starts_with('"') { TokenKind::String } else { TokenKind::Number };
                self.tape.put(TokenKind::Punctuation, " = ");
                self.tape.put(kind, &value);
            }
            if !field.meaning.is_empty() {
                self.tape.put(TokenKind::Comment, &format!("  {}", field.meaning.replace('\n', " ")));
            }
            self.tape.put(TokenKind::Space, "\n");
        }
        let meets = |range: &Range<u64>| range.start < field.range.end && field.range.start < range.end;
        self.is_near = self.ranges.iter().any(meets);
        self.depth += 1;
    }

    /// Asked directly after a field was opened.
    fn wants_inside(&self) -> bool {
        self.is_near
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.base_depth == Some(self.depth) {
            self.base_depth = None;
        }
    }
}

/// Where a program's code is listed as one item, what is listed of the program is listed of it.
pub(super) fn has_pane(parsed: &Parsed<'_>, row: &Row, pane: &str) -> bool {
    match (pane, parsed.format) {
        ("assembly" | "raw", Some(Format::MetalLibrary | Format::MetalUniversal)) => row.range.is_some(),
        ("assembly" | "raw", Some(Format::Fatbin)) => row.kind != "PTX",
        _ => panes(parsed, Some(row)).iter().any(|known| known == pane),
    }
}

impl Session {
    /// A listing, printed or kept.
    pub(super) fn printed(&mut self, at: &Pane) -> Answer<Arc<Printed>> {
        let key = (at.program, at.item, at.pane.clone());
        if let Some(printed) = self.kept.get(&key) {
            return Ok(printed);
        }
        let printed = Arc::new(self.print_now(at.program, at.item, &at.pane)?);
        self.kept.put(key, Arc::clone(&printed));
        Ok(printed)
    }

    /// A listing, printed and not kept.
    pub(super) fn print_now(&mut self, program: u32, item: Option<u32>, pane: &str) -> Answer<Printed> {
        let table = self.table(program)?;
        let row = item.map(|item| table.row(item)).transpose()?;
        if let Some(item) = item {
            self.ensure_item(program, item)?;
        }
        print(&self.parsed(program)?, row, pane)
    }

    pub(super) fn listing(&mut self, request: &Listing) -> Answer<ListingAnswer> {
        let printed = self.printed(&request.at)?;
        let count = request.count.map_or(500, |count| count as usize).min(MAX_LINES);
        let from = (request.from as usize).min(printed.lines.len());
        Ok(ListingAnswer {
            total: printed.lines.len() as u32,
            from: from as u32,
            lines: printed.lines.some(from, count),
            findings: printed.findings.clone(),
            cut: printed.lines.is_cut,
        })
    }

    pub(super) fn links(&mut self, request: &Links) -> Answer<LinksAnswer> {
        let printed = self.printed(&request.at)?;
        let mut answer = LinksAnswer::default();
        printed.lines.each_link(entity(request.link), |place, is_definition| {
            if is_definition && answer.definition.is_none() {
                answer.definition = Some(place);
            } else if answer.uses.len() < MAX_LINKS {
                answer.uses.push(place);
            } else {
                answer.more = answer.more.saturating_add(1);
            }
        });
        Ok(answer)
    }

    pub(super) fn line_at(&mut self, request: &LineAt) -> Answer<LineAtAnswer> {
        let printed = self.printed(&request.at)?;
        let line = printed.lines.at(request.offset);
        Ok(LineAtAnswer {
            line: line.map(|line| line as u32),
            range: line.and_then(|line| printed.lines.range(line)),
        })
    }
}

/// The lines of a declaration.
pub(super) fn lines_of(write: impl FnOnce(&mut Tape)) -> Vec<Line> {
    let mut tape = Tape::default();
    write(&mut tape);
    let lines = tape.finish();
    lines.some(0, MAX_LINES)
}
