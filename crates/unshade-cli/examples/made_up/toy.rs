//! A made-up format: a magic number, the size of the file, and functions with a name and some bytes of code.
//!
//! | offset | field |
//! |---|---|
//! | 0 | `TOYS` |
//! | 4 | size of the file, 32 bits, little-endian |
//! | 8 | functions: the length of the name, the name, the length of the code, the code; lengths are one byte |

use serde::Serialize;
use std::ops::ControlFlow;
use unshade::carve::Find;
use unshade::carve::format::{Format as CarvedFormat, Signature};
use unshade::core::{
    Diagnostics, Error, ErrorKind, Field, FourCc, OutlineSink, Reader, Result, TokenKind, TokenSink, Value,
};
use unshade::program::{
    Brief, Card, Cell, Code, CodeRequest, Column, Descriptions, ExtractKind, Extracted, Fact, Form, Format,
    Group, Info, ItemName, Items, Piece, PieceBytes, Pieces, Program, Row, Runner, Section, Verb, Verdict,
    VerifyDepth,
};
use unshade::select::Selection;

const NO_CODE: &str = "nobody knows the instructions of toys";
const NOT_WRITTEN: &str = "toys are not written";

/// The format.
pub(crate) static FORMAT: Format = Format {
    format: CarvedFormat::Registered(&Signature { name: "toy", extension: "toy", magic: b"TOYS", size }),
    word: "toy",
    item: "function",
    kinds: &["toy"],
    refusals: &[
        (Verb::Disassemble, NO_CODE),
        (Verb::Statistics, NO_CODE),
        (Verb::ControlFlow, NO_CODE),
        (Verb::Liveness, NO_CODE),
        (Verb::CodeAsJson, NO_CODE),
        (Verb::Decompile, NO_CODE),
        (Verb::Run, NO_CODE),
        (Verb::Sanitize, NO_CODE),
        (Verb::AssembleInto, NO_CODE),
        (Verb::Ghidra, NO_CODE),
        (Verb::Check, "no rules are known for where toys load"),
        (Verb::ToYaml, NOT_WRITTEN),
        (Verb::Edit, NOT_WRITTEN),
        (Verb::Sign, NOT_WRITTEN),
    ],
    deferred: |_, _| None,
    open: |find| Toy::open(find).map(|toy| -> Box<dyn Program> { Box::new(toy) }),
};

/// Returns the size that a toy states.
fn size(bytes: &[u8]) -> Option<u64> {
    Some(u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?).into())
}

struct Toy<'a> {
    data: Reader<'a>,
    functions: Vec<Function<'a>>,
}

struct Function<'a> {
    name: &'a [u8],
    code: Reader<'a>,
    start: u64,
}

#[derive(Serialize)]
struct FunctionsJson {
    functions: Vec<FunctionJson>,
}

#[derive(Serialize)]
struct FunctionJson {
    index: u32,
    name: String,
    offset: u64,
    size: u64,
}

impl<'a> Toy<'a> {
    fn open(find: &Find<'a>) -> Result<Self> {
        let data = Reader::at(find.data, find.file_offset.unwrap_or(0));
        let mut reader = data;
        reader.skip(8)?;
        let mut functions = Vec::new();
        while reader.remaining() > 0 {
            let start = reader.offset();
            let length = reader.u8()?;
            let name = reader.bytes(length.into())?;
            let length = reader.u8()?;
            let at = reader.offset();
            functions.push(Function { name, code: Reader::at(reader.bytes(length.into())?, at), start });
        }
        Ok(Self { data, functions })
    }

    fn missing(&self) -> Error {
        Error::new(ErrorKind::BadValue, self.data.base(), "no such function")
    }

    fn selected(&self, selection: &Selection) -> Vec<FunctionJson> {
        let numbered = (0..).zip(&self.functions);
        let selected = numbered.filter(|(index, function)| selection.matches(&item(*index, function)));
        let json = |(index, function): (u32, &Function<'_>)| FunctionJson {
            index,
            name: String::from_utf8_lossy(function.name).into_owned(),
            offset: function.code.base(),
            size: function.code.data().len() as u64,
        };
        selected.map(json).collect()
    }
}

fn item<'n>(index: u32, function: &Function<'n>) -> ItemName<'n> {
    ItemName { index, name: function.name, kind: Some("toy"), has_source: false }
}

fn row(one: &FunctionJson) -> Row {
    Row {
        index: one.index,
        name: one.name.clone(),
        kind: "toy".into(),
        range: Some(one.offset..one.offset + one.size),
        cells: vec![Cell::Size(one.size), Cell::Offset(one.offset)],
        ..Row::default()
    }
}

fn card(one: &FunctionJson) -> Card {
    let mut card = Card::default();
    card.put(TokenKind::Function, &one.name);
    card.facts.push(Fact::new("code", format!("{} bytes", one.size)).at(one.offset, one.size));
    card
}

const COLUMNS: &[Column] = &[Column::right("size", "size"), Column::right("offset", "offset")];

impl Program for Toy<'_> {
    fn brief(&self) -> Brief {
        let functions = self.functions.len() as u64;
        Brief { target: Some("toys".into()), functions, summary: format!("{functions} functions") }
    }

    fn sections(&self, _diagnostics: &mut Diagnostics) -> Vec<Section> {
        let count = self.functions.len().to_string();
        let facts = vec![Fact::new("functions", count), Fact::command("more", "list", "")];
        vec![Section { heading: "toy".into(), facts }]
    }

    fn pieces(&self) -> Pieces {
        let functions = self.selected(&Selection::default());
        let piece = |one: &FunctionJson| Piece {
            row: row(one),
            index: one.index,
            has_bytes: true,
            ..Piece::default()
        };
        Pieces { noun: "function", columns: COLUMNS, all: functions.iter().map(piece).collect(), panes: &[] }
    }

    fn card(&self, piece: &Piece, _diagnostics: &mut Diagnostics) -> Result<Card> {
        let functions = self.selected(&Selection::default());
        functions.get(piece.index as usize).map(card).ok_or_else(|| self.missing())
    }

    fn code_of(&self, _piece: &Piece, _path: &str, _diagnostics: &mut Diagnostics) -> Result<Code<'_>> {
        Ok(Code::Unread)
    }

    fn bytes_of(&self, piece: &Piece) -> Result<PieceBytes<'_>> {
        let function = self.functions.get(piece.index as usize).ok_or_else(|| self.missing())?;
        Ok(PieceBytes { extension: ".bin", data: function.code.data().into() })
    }

    fn info(&self, _runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info {
        let functions = self.selected(&Selection::default());
        Info { sections: self.sections(diagnostics), json: Box::new(FunctionsJson { functions }) }
    }

    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>) -> ControlFlow<()>) {
        let _ = (0..).zip(&self.functions).try_for_each(|(index, function)| visit(item(index, function)));
    }

    fn items(
        &self,
        selection: &Selection,
        _form: Form,
        _runner: &dyn Runner,
        _diagnostics: &mut Diagnostics,
    ) -> Items {
        let functions = self.selected(selection);
        let group =
            Group { slice: String::new(), columns: COLUMNS, rows: functions.iter().map(row).collect() };
        let (count, json) = (functions.len(), Box::new(FunctionsJson { functions }));
        Items { count, groups: vec![group], tables: Vec::new(), json }
    }

    fn describe(&self, selection: &Selection, _diagnostics: &mut Diagnostics) -> Descriptions {
        let functions = self.selected(selection);
        Descriptions {
            cards: functions.iter().map(card).collect(),
            json: Box::new(FunctionsJson { functions }),
        }
    }

    fn code(&self, _request: &CodeRequest<'_>, _diagnostics: &mut Diagnostics) -> Code<'_> {
        Code::Unread
    }

    fn extract(
        &self,
        selection: &Selection,
        kinds: &[ExtractKind],
        _diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for one in self.selected(selection).iter().filter(|_| kinds.contains(&ExtractKind::Module)) {
            let data = self.functions[one.index as usize].code.data();
            take(Extracted { kind: ExtractKind::Module, path: &format!("modules/{}.bin", one.name), data })?;
        }
        ControlFlow::Continue(())
    }

    fn verify(&self, _runner: &dyn Runner, _depth: VerifyDepth) -> Verdict {
        let mut verdict = Verdict::default();
        for function in self.functions.iter().filter(|function| function.name.is_empty()) {
            verdict.diagnostics.error(
                "toy-name",
                Error::new(ErrorKind::BadValue, function.start, "a function without a name"),
            );
        }
        verdict
    }

    fn outline(&self, sink: &mut dyn OutlineSink) {
        let start = self.data.base();
        sink.leaf(Field::new("magic", Value::FourCc(FourCc(*b"TOYS")), start..start + 4));
        sink.leaf(Field::new("size", Value::Number(self.data.data().len() as u64), start + 4..start + 8));
        for function in &self.functions {
            sink.leaf(Field::new(
                "function",
                Value::Text(function.name),
                function.start..function.code.range().end,
            ));
        }
    }
}
