//! Which question is answered where, and the answers that need nothing but the file: its overview, bytes, rows, faults.

use super::bodies::Bodies;
use super::response::findings;
use super::session::{Session, no_program};
use super::*;
use crate::program::{InOrder, VerifyDepth};

/// The maximum number of programs of a file that are described in full without being asked for.
const MAX_FULL: u32 = 50;

impl Session {
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
            Request::Calls(request) => self.calls(request).map(Response::Calls),
            Request::Flow(request) => self.flow(request).map(Response::Flow),
            Request::Compare(request) => Self::compare(self, None, request).map(Response::Compare),
            Request::Changes(request) => Self::changes(self, None, request).map(Response::Changes),
            Request::Bits(request) => self.bits(request).map(Response::Bits),
            Request::Extract(request) => {
                let taken = self.extract(request)?;
                let size = taken.bytes.len() as u64;
                Ok(Response::Extract(ExtractAnswer { name: taken.name, size }))
            }
            Request::Verify(place) => self.verify(place).map(Response::Verify),
            Request::Hash(place) => self.hash(place).map(Response::Hash),
            Request::Parameters(request) => {
                let job = self.parameters_job(request)?;
                self.run(&job)
            }
            Request::Run(run) => {
                let job = self.run_job(run)?;
                self.run(&job)
            }
            Request::Edit(_) | Request::Save(_) | Request::Close(_) => {
                Err(Fault::new("these files are fixed").hint("`unshade explore` edits files"))
            }
            Request::Sizes(request) => self.sizes(request).map(Response::Sizes),
        }
    }

    /// Answers a request about this file and another. The files in the request are not looked at.
    ///
    /// # Errors
    /// There is no such program or item, or it can't be read, or the request is about one file.
    pub fn handle_with(&mut self, other: &mut Self, request: &Request) -> Answer<Response> {
        match request {
            Request::Compare(request) => Self::compare(self, Some(other), request).map(Response::Compare),
            Request::Changes(request) => Self::changes(self, Some(other), request).map(Response::Changes),
            _ => Err(Fault::new("the question is about one file")),
        }
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
        let FileEntry { name, size, .. } = self.entry(file);
        Ok(OverviewAnswer { file: FileHead { file, name, size }, programs, findings: self.findings() })
    }

    /// Describes a program, once.
    pub(super) fn full_head(&mut self, program: u32) -> Answer<ProgramHead> {
        if let Some(head) = self.kept_head(program)? {
            return Ok(head);
        }
        let head = self.program_head(program)?;
        self.keep_head(&head);
        Ok(head)
    }

    fn program_head(&mut self, program: u32) -> Answer<ProgramHead> {
        let brief = self.brief_head(program)?;
        let table = self.table(program);
        let parsed = match self.parsed(program) {
            Ok(parsed) => parsed,
            Err(fault) => {
                return Ok(ProgramHead {
                    format: "unread",
                    damaged: true,
                    brief: false,
                    error: Some(fault),
                    ..brief
                });
            }
        };
        let table = table?;
        Ok(ProgramHead {
            items: table.len(),
            item_name: table.noun(),
            kinds: table.kinds(),
            has_sources: table.items().iter().any(|item| item.row.has_source),
            panes: listing::panes(&parsed, &table, None),
            extracts: extract::of_program(&parsed, &table),
            edits: crate::edit::kinds(parsed.format.format).to_vec(),
            facts: facts::in_one_list(facts::of_program(&parsed)),
            brief: false,
            ..brief
        })
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

    pub(super) fn rows(&mut self, request: &Rows) -> Answer<RowsAnswer> {
        let table = self.table(request.program)?;
        let terms = filter::Terms::parse(&request.filter.terms, &table.comparables())?;
        let pending = match table.needs_bodies(request, &terms) {
            true => self.read_bodies(request.program)?,
            false => None,
        };
        let none = Bodies::default();
        let answer = table.answer(request, terms, self.bodies.get(&request.program).unwrap_or(&none))?;
        Ok(RowsAnswer { pending, ..answer })
    }

    fn hash(&mut self, place: &Place) -> Answer<HashAnswer> {
        self.ensure_all()?;
        let (data, _) = self.space_of(place.program)?;
        Ok(HashAnswer { sha256: crate::view::hex(&unshade_sha256::digest(data)) })
    }

    pub(super) fn verify(&mut self, place: &Place) -> Answer<VerifyAnswer> {
        self.ensure_all()?;
        let verdict = self.parsed(place.program)?.program.verify(&InOrder, VerifyDepth::Whole);
        let diagnostics = verdict.diagnostics;
        Ok(VerifyAnswer {
            errors: diagnostics.errors() as u64,
            warnings: diagnostics.warnings() as u64,
            findings: findings(&diagnostics),
        })
    }
}
