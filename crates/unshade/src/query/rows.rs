//! The items of a program as a table: functions of Metal libraries, parts of containers, kernels, modules.
//!
//! A table is made once. Rows are filtered and sorted for each request, which for 20,000 of them takes some milliseconds.

use super::session::{Content, Parsed, Session};
use super::*;
use crate::opened::Opened;
use crate::quantity::{grouped, natural};
use crate::view::nvidia::{KernelRow, kernel_rows};
use crate::view::{ContainerView, FunctionRow};
use regex_lite::RegexBuilder;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use unshade_core::{Diagnostics, Escaped};
use unshade_llvm as llvm;

/// The compiled size that a regular expression may have.
pub(super) const MAX_EXPRESSION: usize = 1 << 20;

/// The longest name in an answer.
const MAX_NAME: usize = 16 << 10;

/// The items of a program.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// What an item is called.
    pub(super) item_name: &'static str,
    columns: Vec<ColumnHead>,
    pub(super) rows: Vec<Row>,
}

/// An item.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// As people read it.
    pub(super) name: String,
    /// As it stands in the file, if that is another.
    pub(super) mangled: Option<String>,
    pub(super) kind: String,
    pub(super) has_source: bool,
    pub(super) range: Option<ByteRange>,
    /// Which library of a universal file, or entry of a fat binary.
    pub(super) unit: u32,
    /// Its place there.
    pub(super) index: u32,
    /// One for each column.
    cells: Vec<Cell>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Cell {
    #[default]
    Empty,
    Text(String),
    Number(u64),
    Offset(u64),
}

impl Cell {
    fn text(text: Option<String>) -> Self {
        text.filter(|text| !text.is_empty()).map_or(Self::Empty, Self::Text)
    }

    fn number(number: Option<impl Into<u64>>) -> Self {
        number.map_or(Self::Empty, |number| Self::Number(number.into()))
    }

    fn offset(offset: Option<u64>) -> Self {
        offset.map_or(Self::Empty, Self::Offset)
    }

    fn shown(&self) -> Option<String> {
        match self {
            Self::Empty => None,
            Self::Text(text) => Some(cut(text)),
            Self::Number(number) => Some(grouped(*number)),
            Self::Offset(offset) => Some(format!("{offset:#x}")),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => natural(one, other),
            (Self::Number(one) | Self::Offset(one), Self::Number(other) | Self::Offset(other)) => {
                one.cmp(other)
            }
            _ => (*self != Self::Empty).cmp(&(*other != Self::Empty)),
        }
    }
}

const fn left(key: &'static str, label: &'static str) -> ColumnHead {
    ColumnHead { key, label, align: "left" }
}

const fn right(key: &'static str, label: &'static str) -> ColumnHead {
    ColumnHead { key, label, align: "right" }
}

const FUNCTION_COLUMNS: [ColumnHead; 5] = [
    left("metal", "Metal"),
    left("air", "AIR"),
    right("size", "bytes"),
    right("offset", "offset"),
    left("slice", "slice"),
];

const KERNEL_COLUMNS: [ColumnHead; 9] = [
    left("chip", "chip"),
    right("registers", "registers"),
    right("stack", "stack"),
    right("shared", "shared"),
    right("constants", "constants"),
    right("parameters", "parameters"),
    right("size", "bytes"),
    right("offset", "offset"),
    right("entry", "entry"),
];

const PART_COLUMNS: [ColumnHead; 3] =
    [left("what", "what"), right("size", "bytes"), right("offset", "offset")];

const MODULE_COLUMNS: [ColumnHead; 3] =
    [right("functions", "functions"), right("globals", "globals"), left("target", "target")];

impl Table {
    /// The items of a program. What can't be read has no row.
    pub(super) fn of(parsed: &Parsed<'_>) -> Self {
        let mut table = match &parsed.content {
            Content::Bitcode(bytes) => Self::of_modules(bytes, parsed),
            Content::Program(program @ (Opened::Library(_) | Opened::Universal(_))) => {
                Self::of_functions(program)
            }
            Content::Program(Opened::DxContainer(container)) => {
                Self::of_parts(&ContainerView::new(container))
            }
            Content::Program(program) => Self::of_kernels(program),
        };
        table.leave_out_empty_columns();
        table
    }

    fn of_functions(program: &Opened<'_>) -> Self {
        let mut table = Self { item_name: "function", columns: FUNCTION_COLUMNS.to_vec(), rows: Vec::new() };
        for (unit, named) in (0..).zip(program.libraries(&mut Diagnostics::new())) {
            for function in named.library.functions().map_while(Result::ok) {
                let row = FunctionRow::new(&named.library, &function);
                let range = row.offset.zip(row.size);
                table.rows.push(Row {
                    kind: row.kind.unwrap_or_else(|| "function".to_owned()),
                    has_source: row.has_source,
                    range: range.map(|(start, size)| [start, start.saturating_add(size)]),
                    unit,
                    index: row.index,
                    cells: vec![
                        Cell::text(row.metal),
                        Cell::text(row.air),
                        Cell::number(row.size),
                        Cell::offset(row.offset),
                        Cell::text(Some(named.slice.clone())),
                    ],
                    ..Row::named(row.name, row.demangled)
                });
            }
        }
        table
    }

    fn of_kernels(program: &Opened<'_>) -> Self {
        let mut table = Self { item_name: "function", columns: KERNEL_COLUMNS.to_vec(), rows: Vec::new() };
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let Some(program) = program.nvidia() else { return table };
        kernel_rows(&program, false, &mut Diagnostics::new(), &|_, _| true, &mut |mut row: KernelRow| {
            row.demangle();
            let unit = row.entry.unwrap_or(0);
            let count = counts.entry(unit).or_insert(0);
            let index = *count;
            *count = count.saturating_add(1);
            let constants: u64 =
                row.constants.iter().map(|(_, size)| size).fold(0, |sum, size| sum.saturating_add(*size));
            table.rows.push(Row {
                range: row
                    .offset
                    .filter(|_| row.size > 0)
                    .map(|start| [start, start.saturating_add(row.size)]),
                kind: row.kind,
                unit,
                index,
                cells: vec![
                    Cell::text(Some(row.target)),
                    Cell::number(row.registers),
                    Cell::number(row.stack),
                    Cell::number(row.shared),
                    Cell::number((!row.constants.is_empty()).then_some(constants)),
                    Cell::number(row.parameter_count),
                    Cell::number((row.size > 0).then_some(row.size)),
                    Cell::offset(row.offset),
                    Cell::number(row.entry),
                ],
                ..Row::named(row.name, row.demangled)
            });
        });
        table
    }

    fn of_parts(view: &ContainerView) -> Self {
        let rows = (0..).zip(&view.parts).map(|(index, part)| Row {
            kind: part_kind(&part.name).to_owned(),
            has_source: part.name == "SRCI",
            range: Some([part.offset, part.offset.saturating_add(part.size)]),
            index,
            cells: vec![
                Cell::text(Some(part.what.clone())),
                Cell::Number(part.size),
                Cell::Offset(part.offset),
            ],
            ..Row::named(part.name.clone(), None)
        });
        Self { item_name: "part", columns: PART_COLUMNS.to_vec(), rows: rows.collect() }
    }

    fn of_modules(bytes: &[u8], parsed: &Parsed<'_>) -> Self {
        let mut table = Self { item_name: "module", columns: MODULE_COLUMNS.to_vec(), rows: Vec::new() };
        let modules = llvm::Module::parse_all(bytes, parsed.base).into_iter().flatten();
        for (index, module) in (0..).zip(modules.map_while(Result::ok)) {
            let name = Escaped(module.source_filename.as_deref().unwrap_or_default()).to_string();
            let name = if name.is_empty() { parsed.short_name().to_owned() } else { name };
            table.rows.push(Row {
                kind: "module".to_owned(),
                range: (index == 0).then(|| parsed.space()),
                index,
                cells: vec![
                    Cell::Number(module.functions.len() as u64),
                    Cell::Number(module.globals.len() as u64),
                    Cell::text(Some(Escaped(&module.triple).to_string())),
                ],
                ..Row::named(name, None)
            });
        }
        table
    }

    fn leave_out_empty_columns(&mut self) {
        let used: Vec<bool> = (0..self.columns.len())
            .map(|at| self.rows.iter().any(|row| row.cells.get(at).is_some_and(|cell| *cell != Cell::Empty)))
            .collect();
        let mut flags = used.iter();
        self.columns.retain(|_| flags.next() == Some(&true));
        for row in &mut self.rows {
            let mut flags = used.iter();
            row.cells.retain(|_| flags.next() == Some(&true));
        }
    }

    /// An item.
    pub(super) fn row(&self, item: u32) -> Answer<&Row> {
        let no_item = || Fault::new(format!("no {} {item}", self.item_name));
        self.rows
            .get(item as usize)
            .ok_or_else(|| no_item().expected(format!("less than {}", self.rows.len())))
    }

    /// The first item of the fewest bytes that hold an offset.
    pub(super) fn at(&self, offset: u64) -> Option<u32> {
        let sizes = (0..).zip(&self.rows).filter_map(|(item, row)| {
            let [start, end] = row.range.filter(|[start, end]| (*start..*end).contains(&offset))?;
            Some((end - start, item))
        });
        sizes.min().map(|(_, item)| item)
    }

    /// How many items there are of each kind.
    pub(super) fn kinds(&self) -> BTreeMap<String, u32> {
        let mut kinds = BTreeMap::new();
        for row in &self.rows {
            *kinds.entry(row.kind.clone()).or_insert(0) += 1;
        }
        kinds
    }

    /// The items that are meant, in order.
    fn selected(&self, filter: &Filter, sort: Option<&Sort>) -> Answer<Vec<u32>> {
        let pattern = Pattern::new(&filter.text, filter.regex, false)?;
        let is_meant = |row: &Row| {
            (filter.kinds.is_empty() || filter.kinds.contains(&row.kind))
                && (!filter.has_source || row.has_source)
                && (pattern.finds(&row.name) || row.mangled.as_ref().is_some_and(|name| pattern.finds(name)))
        };
        let mut items: Vec<u32> =
            (0..).zip(&self.rows).filter(|(_, row)| is_meant(row)).map(|(item, _)| item).collect();
        let Some(sort) = sort else { return Ok(items) };
        let column = self.columns.iter().position(|column| column.key == sort.column);
        let row = |item: u32| self.rows.get(item as usize);
        let compare = |one: &u32, other: &u32| {
            let (Some(left), Some(right)) = (row(*one), row(*other)) else { return Ordering::Equal };
            let order = match (sort.column.as_str(), column) {
                ("name", _) => natural(&left.name, &right.name),
                ("kind", _) => left.kind.cmp(&right.kind),
                ("item", _) => one.cmp(other),
                (_, Some(column)) => match (left.cells.get(column), right.cells.get(column)) {
                    (Some(left), Some(right)) => left.compare(right),
                    _ => Ordering::Equal,
                },
                _ => Ordering::Equal,
            };
            if sort.descending { order.reverse() } else { order }
        };
        if column.is_none() && !["name", "kind", "item"].contains(&sort.column.as_str()) {
            return Err(Fault::new("no such column"));
        }
        items.sort_by(compare);
        Ok(items)
    }

    fn entry(&self, item: u32) -> Option<RowEntry> {
        let row = self.rows.get(item as usize)?;
        let cells = self.columns.iter().zip(&row.cells);
        Some(RowEntry {
            item,
            name: cut(&row.name),
            mangled: row.mangled.as_deref().map(cut),
            kind: row.kind.clone(),
            cells: cells.filter_map(|(column, cell)| Some((column.key, cell.shown()?))).collect(),
            range: row.range,
        })
    }
}

impl Row {
    fn named(name: String, demangled: Option<String>) -> Self {
        match demangled {
            Some(readable) => Self { name: readable, mangled: Some(name), ..Self::default() },
            None => Self { name, ..Self::default() },
        }
    }
}

/// A name that an answer has room for.
fn cut(name: &str) -> String {
    if name.len() <= MAX_NAME {
        return name.to_owned();
    }
    let mut end = MAX_NAME;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &name[..end])
}

/// What sort of part a name means.
fn part_kind(name: &str) -> &'static str {
    match name {
        "DXIL" | "ILDB" | "SHDR" | "SHEX" | "Aon9" => "program",
        "DXBC" | "LIBF" => "container",
        name if name.starts_with("ISG")
            || name.starts_with("OSG")
            || name.starts_with("PSG")
            || name == "PCSG" =>
        {
            "signature"
        }
        "SRCI" | "ILDN" | "PDBI" | "SDBG" | "SPDB" => "debug",
        _ => "part",
    }
}

/// What is looked for in texts.
pub(super) enum Pattern {
    /// Everything.
    Any,
    /// A text, in capital and small letters alike if it is not `exact`.
    Text { text: String, exact: bool },
    /// Letters, digits and capitals in it are those of ASCII.
    Expression(regex_lite::Regex),
}

impl Pattern {
    pub(super) fn new(text: &str, is_expression: bool, exact: bool) -> Answer<Self> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        if !is_expression {
            let text = if exact { text.to_owned() } else { text.to_lowercase() };
            return Ok(Self::Text { text, exact });
        }
        let expression = RegexBuilder::new(text).case_insensitive(!exact).size_limit(MAX_EXPRESSION).build();
        expression.map(Self::Expression).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            Fault::new(format!("the regular expression: {}", reason.trim_start_matches("error: ")))
        })
    }

    /// Where it stands first: start and end in bytes.
    pub(super) fn find(&self, within: &str) -> Option<(usize, usize)> {
        match self {
            Self::Any => Some((0, 0)),
            Self::Text { text, exact: true } => within.find(text.as_str()).map(|at| (at, at + text.len())),
            Self::Text { text, exact: false } if within.is_ascii() => {
                let at = find_ascii(within.as_bytes(), text.as_bytes())?;
                Some((at, at + text.len()))
            }
            // Small letters may be longer or shorter than their capitals: the place is told as far as it is right.
            Self::Text { text, exact: false } => {
                let small = within.to_lowercase();
                let at = small.find(text.as_str())?;
                let end = at + text.len();
                let is_place = small.len() == within.len()
                    && within.is_char_boundary(at)
                    && within.is_char_boundary(end);
                Some(if is_place { (at, end) } else { (0, 0) })
            }
            Self::Expression(expression) => expression.find(within).map(|found| (found.start(), found.end())),
        }
    }

    pub(super) fn finds(&self, within: &str) -> bool {
        self.find(within).is_some()
    }
}

/// Where small letters stand in a text of any letters.
fn find_ascii(within: &[u8], small: &[u8]) -> Option<usize> {
    let (first, rest) = small.split_first()?;
    let last = within.len().checked_sub(small.len())?;
    let mut at = 0;
    while at <= last {
        let found = memchr::memchr2(*first, first.to_ascii_uppercase(), within.get(at..=last)?)?;
        at += found;
        if within.get(at + 1..at + small.len()).is_some_and(|text| text.eq_ignore_ascii_case(rest)) {
            return Some(at);
        }
        at += 1;
    }
    None
}

impl Session {
    pub(super) fn rows(&mut self, request: &Rows) -> Answer<RowsAnswer> {
        let table = self.table(request.program)?;
        let items = table.selected(&request.filter, request.sort.as_ref())?;
        let count = request.count.map_or(200, |count| count as usize).min(MAX_ROWS);
        let at = request.find.and_then(|item| items.iter().position(|one| *one == item));
        let from = match (request.find, at) {
            (Some(_), Some(at)) => at.saturating_sub(count / 2),
            (Some(_), None) => 0,
            (None, _) => (request.from as usize).min(items.len()),
        };
        let some = items.iter().skip(from).take(count);
        Ok(RowsAnswer {
            total: table.rows.len() as u32,
            matched: items.len() as u32,
            from: from as u32,
            at: at.map(|at| at as u32),
            columns: table.columns.clone(),
            rows: some.filter_map(|item| table.entry(*item)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_any_size() {
        let pattern = Pattern::new("SofT", false, false).unwrap();
        assert_eq!(pattern.find("block_SOFTmax"), Some((6, 10)));
        assert_eq!(pattern.find("sof soft"), Some((4, 8)));
        assert!(!pattern.finds("sof"));
        assert!(Pattern::new("É", false, false).unwrap().finds("caf\u{e9}"));
        assert!(!Pattern::new("Soft", false, true).unwrap().finds("soft"));
        assert!(Pattern::new("^k[0-9]$", true, false).unwrap().finds("K7"));
        assert!(Pattern::new("(", true, false).is_err());
    }
}
