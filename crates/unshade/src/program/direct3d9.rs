//! Opens token programs of Shader Model 1 to 3 outside of a container.

use super::{
    Brief, Card, Cell, Code, CodeRequest, Column, Descriptions, ExtractKind, Extracted, Fact, Form, Format,
    Info, ItemName, Items, Piece, PieceBytes, Pieces, Program, Row, Runner, Section, Table, Verb, Verdict,
    VerifyDepth, piece,
};
use crate::carve;
use crate::d3d9_outline;
use crate::disassembly::TokenSource;
use crate::select::Selection;
use crate::view::Direct3d9View;
use serde::Serialize;
use std::ops::ControlFlow;
use unshade_core::{Diagnostics, OutlineSink, Reader, Result, TokenKind, TokenSink};

const NO_MACHINE_CODE: &str = "holds a Direct3D token program, no NVIDIA machine code";
const NO_CONTAINER: &str =
    "a bare Direct3D 9 program has no container; `unshade dis` and `unshade asm` write and read its text";

pub(super) static FORMAT: Format = Format {
    format: carve::format::Format::Direct3d9,
    word: "direct3d9",
    item: "function",
    kinds: &["vertex", "pixel"],
    refusals: &[
        (Verb::Symbols, "token programs have no symbols for a linker"),
        (Verb::Link, "only the modules of Metal are linked"),
        (Verb::Liveness, NO_MACHINE_CODE),
        (Verb::Run, NO_MACHINE_CODE),
        (Verb::Sanitize, NO_MACHINE_CODE),
        (Verb::AssembleInto, NO_CONTAINER),
        (Verb::Ghidra, NO_MACHINE_CODE),
        (Verb::Extract, "the program is the file; there is nothing in it to extract"),
        (Verb::Check, "no rules are known for where Direct3D 9 programs load"),
        (Verb::ToYaml, NO_CONTAINER),
        (Verb::Edit, NO_CONTAINER),
        (Verb::Sign, "Direct3D 9 programs are not signed"),
    ],
    deferred: |_, _| None,
    open: |find| Ok(Box::new(Direct3d9(Reader::at(find.data, super::base(find))))),
};

const CONSTANTS: &[Column] =
    &[Column::left("registers", "registers"), Column::left("type", "type"), Column::left("name", "name")];

#[derive(Debug)]
struct Direct3d9<'a>(Reader<'a>);

#[derive(Serialize)]
struct Direct3d9Json {
    #[serde(skip_serializing_if = "Option::is_none")]
    direct3d9: Option<Direct3d9View>,
}

impl Direct3d9<'_> {
    fn view(&self, diagnostics: &mut Diagnostics) -> Option<Direct3d9View> {
        let view = Direct3d9View::new(self.0, diagnostics);
        diagnostics.take("dxbc-legacy-tokens", view)
    }

    /// Such a program is one function without a name.
    fn name(&self) -> ItemName<'static> {
        let is_pixel = self.0.data().get(2..4) == Some(&[0xff, 0xff]);
        let kind = Some(if is_pixel { "pixel" } else { "vertex" });
        ItemName { index: 0, name: b"main", kind, has_source: false }
    }

    fn row(&self, view: &Direct3d9View) -> Row {
        Row {
            name: "main".to_owned(),
            kind: self.name().kind.unwrap_or_default().to_owned().into(),
            range: Some(self.0.range()),
            cells: vec![Cell::Text(view.profile.clone().into()), Cell::Size(self.0.data().len() as u64)],
            ..Row::default()
        }
    }
}

fn section(view: Option<&Direct3d9View>) -> Section {
    let Some(view) = view else {
        return Section { heading: FORMAT.format.to_string(), facts: Vec::new() };
    };
    let mut facts = facts(view);
    facts.push(Fact::command("more", "dis", ""));
    Section { heading: format!("{}, {}", FORMAT.format, heading(view)), facts }
}

/// Returns all facts of the program.
fn card(view: &Direct3d9View) -> Card {
    let mut card =
        Card { facts: facts(view), tables: constants(view).into_iter().collect(), ..Card::default() };
    card.put(TokenKind::Keyword, &view.profile);
    card.put(TokenKind::Space, " ");
    card.put(TokenKind::Function, "main");
    card
}

/// Returns the profile and the compiler.
fn heading(view: &Direct3d9View) -> String {
    let compiler = view.compiler.as_ref().map(|compiler| format!(" · {compiler}")).unwrap_or_default();
    format!("{}{compiler}", view.profile)
}

fn facts(view: &Direct3d9View) -> Vec<Fact> {
    let slots = format!(
        "{}, {} slots of arithmetic, {} of textures",
        view.instructions, view.arithmetic_slots, view.texture_slots
    );
    let mut facts = vec![Fact::new("instructions", slots)];
    if !view.constants.is_empty() {
        facts.push(Fact::new("constants", view.constants.len().to_string()));
    }
    facts.extend(view.sources.iter().map(|source| Fact::new("source", source)));
    facts
}

fn constants(view: &Direct3d9View) -> Option<Table> {
    Table::of("constants", CONSTANTS, &view.constants, |one| {
        vec![
            Cell::text(one.registers.clone()),
            Cell::text(one.data_type.clone()),
            Cell::text(one.name.clone()),
        ]
    })
}

impl Program for Direct3d9<'_> {
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief {
        let view = self.view(&mut Diagnostics::new());
        let summary = view.as_ref().map(heading).unwrap_or_default();
        Brief { target: view.map(|view| view.profile), functions: 1, summary }
    }

    #[cfg(not(target_family = "wasm"))]
    fn info(&self, _runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info {
        let view = self.view(diagnostics);
        Info { sections: vec![section(view.as_ref())], json: super::json(Direct3d9Json { direct3d9: view }) }
    }

    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section> {
        vec![section(self.view(diagnostics).as_ref())]
    }

    fn tables(&self, diagnostics: &mut Diagnostics) -> Vec<Table> {
        self.view(diagnostics).as_ref().and_then(constants).into_iter().collect()
    }

    fn pieces(&self) -> Pieces {
        let view = self.view(&mut Diagnostics::new());
        let piece =
            |view| Piece { row: self.row(view), panes: piece::SHADER, has_bytes: true, ..Piece::default() };
        let all = view.iter().map(piece).collect();
        Pieces { noun: "function", columns: PROGRAM, all, panes: piece::SHADER }
    }

    fn card(&self, _piece: &Piece, diagnostics: &mut Diagnostics) -> Result<Card> {
        let card = self.view(diagnostics).as_ref().map(card);
        card.ok_or_else(|| super::no_piece(self.0.base()))
    }

    fn code_of(&self, _piece: &Piece, _path: &str, _diagnostics: &mut Diagnostics) -> Result<Code<'_>> {
        Ok(Code::Tokens(TokenSource::Direct3d9(self.0)))
    }

    fn bytes_of(&self, _piece: &Piece) -> Result<PieceBytes<'_>> {
        Ok(PieceBytes { extension: ".cso", data: self.0.data().into() })
    }

    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>) -> ControlFlow<()>) {
        let _ = visit(self.name());
    }

    #[cfg(not(target_family = "wasm"))]
    fn items(
        &self,
        selection: &Selection,
        _form: Form,
        _runner: &dyn Runner,
        diagnostics: &mut Diagnostics,
    ) -> Items {
        let view = self.view(diagnostics).filter(|_| selection.matches(&self.name()));
        let rows: Vec<Row> = view.iter().map(|view| self.row(view)).collect();
        let tables = view.as_ref().and_then(constants).into_iter().collect();
        Items { tables, ..Items::of(PROGRAM, rows, super::json(Direct3d9Json { direct3d9: view })) }
    }

    #[cfg(not(target_family = "wasm"))]
    fn describe(&self, selection: &Selection, diagnostics: &mut Diagnostics) -> Descriptions {
        let view = self.view(diagnostics).filter(|_| selection.matches(&self.name()));
        Descriptions {
            cards: view.iter().map(card).collect(),
            json: super::json(Direct3d9Json { direct3d9: view }),
        }
    }

    fn code(&self, _request: &CodeRequest<'_>, _diagnostics: &mut Diagnostics) -> Code<'_> {
        Code::Tokens(TokenSource::Direct3d9(self.0))
    }

    fn extract(
        &self,
        _selection: &Selection,
        _kinds: &[ExtractKind],
        _diagnostics: &mut Diagnostics,
        _take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn verify(&self, _runner: &dyn Runner, _depth: VerifyDepth) -> Verdict {
        let mut verdict = Verdict::default();
        self.view(&mut verdict.diagnostics);
        verdict.diagnostics.sort_by_offset();
        verdict
    }

    fn outline(&self, sink: &mut dyn OutlineSink) {
        d3d9_outline::program(self.0, sink);
    }
}

const PROGRAM: &[Column] = &[Column::left("profile", "profile"), Column::right("size", "size")];
