//! Listings: which a program or an item has, and their lines.
//!
//! A listing is printed as a whole and kept by the session, so that scrolling and links don't print it again.

use super::code_text::CodeText;
use super::decompiler::{DecompiledText, Decompiler, DecompilerInput};
use super::language::Language;
use super::recorder::{MAX_RECORDED, Printed, Recorder, entity};
use super::response::findings;
use super::rows::Table;
use super::session::{Parsed, Session};
use super::*;
use crate::disassembly::{ModuleOptions, Unit as Module, print_module, token_program};
use crate::nv_units::{Unit, is_packed, with_unit};
use crate::program::{Code, Piece};
use crate::sass_listing::{self, SassOptions};
use crate::source_files::SourceFile;
use crate::view::FindingView;
use std::ops::Range;
use std::sync::Arc;
use unshade_core::outline::{Field, OutlineSink};
use unshade_core::{Diagnostics, Escaped, TokenKind, TokenSink};
use unshade_nv::{Cubin, Ptx};

/// The maximum number of links in an answer.
const MAX_LINKS: usize = 10_000;

/// The maximum number of sources of one item.
const MAX_SOURCES: usize = 500;

/// The maximum number of lines of a listing of tags.
const MAX_TAGS: usize = 100_000;

/// The prefix of listings that are sources.
const SOURCE: &str = "source:";

/// Returns the listings of a program, or of an item of it.
pub(super) fn panes(parsed: &Parsed<'_>, table: &Table, item: Option<&Piece>) -> Vec<String> {
    let code = item.map_or(table.panes(), |item| item.panes);
    let mut panes: Vec<String> = code.iter().map(|pane| (*pane).to_owned()).collect();
    panes.extend(source_panes(parsed, item));
    if item.is_some_and(|item| !parsed.program.fields_of(item).is_empty()) {
        panes.push("tags".to_owned());
    }
    panes
}

/// Returns the listings that are embedded sources.
pub(super) fn source_panes(parsed: &Parsed<'_>, item: Option<&Piece>) -> Vec<String> {
    let mut panes = Vec::new();
    parsed.program.sources(item, &mut |file| {
        if panes.len() < MAX_SOURCES {
            panes.push(format!("{SOURCE}{}", Escaped(&file.path)));
        }
    });
    panes
}

/// Returns the source of this name, of an item or of the program.
pub(super) fn source(parsed: &Parsed<'_>, item: Option<&Piece>, name: &str) -> Answer<SourceFile> {
    let mut found = None;
    parsed.program.sources(item, &mut |file| {
        if found.is_none() && Escaped(&file.path).to_string() == name {
            found = Some(file);
        }
    });
    found.ok_or_else(|| Fault::new("no source of this name"))
}

/// Prints a listing.
pub(super) fn print(parsed: &Parsed<'_>, table: &Table, item: Option<&Piece>, pane: &str) -> Answer<Printed> {
    let mut recorder = Recorder::default();
    let mut diagnostics = Diagnostics::new();
    let mut found = Vec::new();
    if let Some(name) = pane.strip_prefix(SOURCE) {
        let file = source(parsed, item, name)?;
        match Language::of_source(parsed.format.format, &file.path) {
            Some(language) => put_source(&file.data, language, &mut recorder),
            None => put_text(&file.data, None, &mut recorder),
        }
    } else if let (Some(item), "tags") = (item, pane) {
        tags(parsed, item, &mut recorder)?;
    } else if item.map_or(table.panes(), |item| item.panes).contains(&pane) {
        found = print_code(parsed, item, pane, &mut recorder, &mut diagnostics)?;
    } else {
        return Err(no_pane(pane));
    }
    found.splice(..0, findings(&diagnostics));
    Ok(Printed { lines: recorder.finish(), findings: found })
}

/// Prints code. Returns what the decompiler found.
fn print_code(
    parsed: &Parsed<'_>,
    item: Option<&Piece>,
    pane: &str,
    recorder: &mut Recorder,
    diagnostics: &mut Diagnostics,
) -> Answer<Vec<FindingView>> {
    if pane == "hlsl" {
        let input = DecompilerInput { program: parsed.data, base: parsed.base, symbol: None };
        return Ok(decompiled((parsed.decompiler)(&input)?, Language::Hlsl, true, recorder));
    }
    match parsed.code(item, diagnostics)? {
        Code::Modules(groups) if pane == "metal" => {
            let mut found = Vec::new();
            for (at, module) in groups.iter().flat_map(|group| &group.units).enumerate() {
                if at > 0 {
                    recorder.put(TokenKind::Space, "\n");
                }
                let text = metal_of(module, parsed.decompiler)?;
                found.extend(decompiled(text, Language::Metal, true, recorder));
            }
            Ok(found)
        }
        Code::Machine(program) if pane == "c" => {
            with_unit(program, item.map_or(0, |item| item.unit), |entry, unit| {
                let (Unit::Cubin(cubin), Some(item)) = (unit, item) else { return Err(no_pane(pane)) };
                let text = c_of(cubin, item, parsed.decompiler)?;
                Ok(decompiled(text, Language::C, !is_packed(entry), recorder))
            })?
        }
        code => {
            disassemble(parsed, code, item, pane, recorder, diagnostics)?;
            Ok(Vec::new())
        }
    }
}

/// Prints the listing of code in a low-level language. The sink is a pointer, so that the page has to load only one
/// instance of the printers.
fn disassemble(
    parsed: &Parsed<'_>,
    code: Code<'_>,
    item: Option<&Piece>,
    pane: &str,
    mut sink: &mut dyn TokenSink,
    diagnostics: &mut Diagnostics,
) -> Answer<()> {
    let raw = pane == "raw";
    match code {
        Code::Modules(groups) => {
            for (at, module) in groups.iter().flat_map(|group| &group.units).enumerate() {
                if at > 0 {
                    sink.put(TokenKind::Space, "\n");
                }
                module_lines(module, raw, &mut sink, diagnostics)?;
            }
            Ok(())
        }
        Code::Tokens(source) => Ok(token_program(parsed.path, &source, raw, sink, diagnostics)?),
        Code::Machine(program) => with_unit(program, item.map_or(0, |item| item.unit), |entry, unit| {
            let mut sink = Sourced { sink, drops: is_packed(entry) };
            match unit {
                Unit::Ptx(ptx) => ptx_lines(ptx, &mut sink),
                Unit::Cubin(cubin) => machine_code(cubin, item, raw, &mut sink, diagnostics)?,
                Unit::Unread => return Err(no_pane(pane)),
            }
            Ok(())
        })?,
        Code::Unread => Err(no_pane(pane)),
    }
}

/// Prints a listing as text, without kinds, links and ranges. It is not decompiled, nor a source.
pub(super) fn print_text(
    parsed: &Parsed<'_>,
    item: Option<&Piece>,
    pane: &str,
    text: &mut PlainText,
) -> Answer<()> {
    let mut diagnostics = Diagnostics::new();
    let code = parsed.code(item, &mut diagnostics)?;
    disassemble(parsed, code, item, pane, text, &mut diagnostics)
}

/// The text of a listing, cut off as the listing is.
#[derive(Debug, Default)]
pub(super) struct PlainText(String);

impl PlainText {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Drops the text and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl TokenSink for PlainText {
    fn token(&mut self, token: unshade_core::Token<'_>) {
        if self.0.len() <= MAX_RECORDED {
            self.0.push_str(token.text);
        }
    }

    fn is_plain_text(&self) -> bool {
        true
    }

    fn mark(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self::default();
        write(&mut part);
        self.0.insert_str(mark.min(self.0.len()), &part.0);
    }
}

fn no_pane(pane: &str) -> Fault {
    Fault::new(format!("there is no listing \"{}\" of this", Escaped(pane.as_bytes())))
        .hint("`facts` names those that there are in `panes`")
}

fn module_lines(
    unit: &Module<'_>,
    raw: bool,
    sink: &mut &mut dyn TokenSink,
    diagnostics: &mut Diagnostics,
) -> Answer<()> {
    let module = unit.open()?;
    diagnostics.append(module.diagnostics.clone());
    let options = ModuleOptions { dialect: unit.usual_dialect(), raw };
    diagnostics.append(print_module(unit, &module, options, sink));
    Ok(())
}

/// The machine code of a cubin, or of one of its functions.
pub(super) fn machine_code<S: TokenSink>(
    cubin: &Cubin<'_>,
    item: Option<&Piece>,
    raw: bool,
    sink: &mut S,
    diagnostics: &mut Diagnostics,
) -> Answer<()> {
    let wanted = item.map(|item| {
        let function = cubin.functions().nth(item.index as usize);
        function.map(|function| function.index).ok_or_else(|| Fault::new("the function can't be read"))
    });
    let wanted = wanted.transpose()?;
    let options = SassOptions { raw, ..SassOptions::default() };
    let is_wanted =
        |function: &unshade_nv::function::Function<'_>| wanted.is_none_or(|one| one == function.index);
    sass_listing::cubin(cubin, &is_wanted, options, diagnostics, sink);
    Ok(())
}

/// Decompiles a function of a cubin.
fn c_of(cubin: &Cubin<'_>, item: &Piece, decompiler: Decompiler) -> Answer<DecompiledText> {
    let function = cubin.functions().nth(item.index as usize);
    let function = function.ok_or_else(|| Fault::new("the function can't be read"))?;
    let file = cubin.file();
    decompiler(&DecompilerInput { program: file.data(), base: file.base(), symbol: Some(function.index) })
}

/// Decompiles a module.
fn metal_of(module: &Module<'_>, decompiler: Decompiler) -> Answer<DecompiledText> {
    let (program, base) = module.bytes()?;
    let index = match module {
        Module::File { index, .. } => u32::try_from(*index).ok(),
        Module::Function { .. } | Module::Part(_) => None,
    };
    decompiler(&DecompilerInput { program, base, symbol: index })
}

/// Prints decompiled text, with the bytes that each line was decompiled from if these are offsets in the file. Returns
/// what was found.
fn decompiled(
    decompiled: DecompiledText,
    language: Language,
    has_bytes: bool,
    recorder: &mut Recorder,
) -> Vec<FindingView> {
    let mut text = CodeText::new(language, recorder);
    for line in &decompiled.lines {
        if has_bytes {
            text.sources(&line.ranges);
        }
        text.line(&shown_line(line.text.as_bytes()));
    }
    decompiled.findings
}

fn ptx_lines(ptx: &Ptx<'_>, sink: &mut dyn TokenSink) {
    put_text(ptx.text(), Some(ptx.file().base()), sink);
}

/// Puts a source with the colours of its language.
fn put_source(text: &[u8], language: Language, recorder: &mut Recorder) {
    let mut code = CodeText::of_source(language, recorder);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let parts: Vec<String> = line.split(|byte| *byte == b'\t').map(shown_line).collect();
        code.line(&parts.join("\t"));
    }
}

/// Puts text as it is. Each line has its range of bytes if `base`, the offset of the first byte, is given.
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

/// Passes tokens on. Drops their source ranges if these are not offsets in the file.
struct Sourced<'s> {
    sink: &'s mut dyn TokenSink,
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
        !self.drops && self.sink.wants_sources()
    }

    fn is_plain_text(&self) -> bool {
        self.sink.is_plain_text()
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

/// The fields of an item, with their bytes.
fn tags(parsed: &Parsed<'_>, item: &Piece, recorder: &mut Recorder) -> Answer<()> {
    let ranges = parsed.program.fields_of(item);
    if ranges.is_empty() {
        return Err(no_pane("tags"));
    }
    let mut sink = FieldLines { ranges, depth: 0, base_depth: None, count: 0, is_near: true, recorder };
    parsed.program.outline(&mut sink);
    Ok(())
}

/// Prints the fields inside of some ranges, one line per field.
struct FieldLines<'t> {
    ranges: Vec<Range<u64>>,
    depth: usize,
    /// The depth of the outermost field that is printed now.
    base_depth: Option<usize>,
    count: usize,
    /// Whether the innermost open field has bytes of the ranges.
    is_near: bool,
    recorder: &'t mut Recorder,
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
                self.recorder.put(TokenKind::Space, "\n");
            }
            self.base_depth = Some(self.depth);
        }
        if let Some(base) = self.base_depth
            && self.count < MAX_TAGS
        {
            self.count += 1;
            self.recorder.source(field.range.clone());
            self.recorder.put(TokenKind::Space, &"  ".repeat((self.depth - base).min(32)));
            self.recorder.put(TokenKind::Variable, &Escaped(field.name.as_bytes()).to_cow());
            let value = field.value.to_text();
            if !value.is_empty() {
                let kind = if value.starts_with('"') { TokenKind::String } else { TokenKind::Number };
                self.recorder.put(TokenKind::Punctuation, " = ");
                self.recorder.put(kind, &value);
            }
            if !field.meaning.is_empty() {
                self.recorder.put(TokenKind::Comment, &format!("  {}", field.meaning.replace('\n', " ")));
            }
            self.recorder.put(TokenKind::Space, "\n");
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
        let piece = item.map(|item| table.item(item)).transpose()?;
        if let Some(item) = item {
            self.ensure_item(program, item)?;
        }
        print(&self.parsed(program)?, &table, piece, pane)
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
