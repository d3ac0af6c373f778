//! Lays out descriptions of programs: sections of facts, cards, rows of items, tables.

use crate::output::Stdout;
use crate::paint::{self, PaintedTokens, bad, faint, good, name};
use crate::runner::in_parallel;
use anyhow::Result;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;
use unshade::core::TokenSink;
use unshade::metallib::FunctionType;
use unshade::program::{Align, Card, Cell, Column, Fact, Group, Note, Row, Section, State, Table};

/// Minimum width of the name column.
const MIN_NAME: usize = 24;

/// Number of characters of a cut name before the first difference from its neighbours.
const NAME_START: usize = 12;

/// Line width if the terminal's width is unknown.
const LINE_WIDTH: usize = 100;

/// Prints a path and its description, on one line if there is room.
pub(crate) fn heading(path: &str, text: &str, stdout: &mut Stdout) -> Result<()> {
    let width = path.chars().count() + text.chars().count() + 3;
    let room = paint::terminal_width().unwrap_or(LINE_WIDTH);
    let separator = if width > room { "\n  " } else { "   " };
    Ok(writeln!(stdout, "{}{separator}{text}", name(path))?)
}

/// Prints the description of a program and its most important facts. `path` selects the program on the command line.
pub(crate) fn section(path: &str, section: &Section, stdout: &mut Stdout) -> Result<()> {
    heading(path, &section.heading, stdout)?;
    facts(path, &section.facts, stdout)
}

/// Prints one line per fact.
pub(crate) fn facts(path: &str, facts: &[Fact], stdout: &mut Stdout) -> Result<()> {
    for fact in facts {
        let value = in_state(&fact.value, fact.state);
        let space = if fact.value.is_empty() { "" } else { "  " };
        let note = match &fact.note {
            None => String::new(),
            Some(Note::Verdict(state, text)) => format!("{space}{}", in_state(text, *state)),
            Some(Note::Command(verb, arguments)) => {
                let command = format!("unshade {verb} {} {arguments}", quoted(path));
                let space = if space.is_empty() { "" } else { "       " };
                format!("{space}{}", faint(command.trim_end()))
            }
        };
        writeln!(stdout, "  {} {value}{note}", faint(format!("{:<11}", fact.label)))?;
    }
    Ok(())
}

fn in_state(text: &str, state: State) -> String {
    match state {
        State::Plain => text.to_owned(),
        State::Good => good(text).to_string(),
        State::Bad => bad(text).to_string(),
    }
}

/// Prints all facts of an item.
pub(crate) fn card(path: &str, card: &Card, stdout: &mut Stdout) -> Result<()> {
    let mut tokens = PaintedTokens::default();
    for (kind, text) in &card.declaration {
        tokens.put(*kind, text);
    }
    if !tokens.0.is_empty() {
        writeln!(stdout, "{}", tokens.0.trim_end())?;
    }
    facts(path, &card.facts, stdout)?;
    Ok(card.tables.iter().try_for_each(|one| stdout.write_all(table(one).as_bytes()))?)
}

/// Returns the lines of a table below its title.
pub(crate) fn table(table: &Table) -> String {
    let mut text = format!("\n{}\n", name(&table.title));
    let cells: Vec<Vec<Cow<'_, str>>> =
        table.rows.iter().map(|row| row.iter().map(shown_in_table).collect()).collect();
    let used = |at: usize| cells.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()));
    let columns: Vec<(usize, &Column)> =
        table.columns.iter().enumerate().filter(|(at, _)| used(*at)).collect();
    let widths: Vec<usize> =
        columns.iter().map(|(at, column)| width(column, cells.iter().map(|row| &*row[*at]))).collect();
    if columns.len() > 1 {
        let mut labels = String::new();
        push_line(&mut labels, &columns, &widths, |at| columns[at].1.label);
        let labels = labels.trim_end();
        text += &format!("  {}\n", faint(labels));
    }
    let mut line = String::new();
    for row in &cells {
        line.clear();
        push_line(&mut line, &columns, &widths, |at| &row[columns[at].0]);
        text.extend(["  ", line.trim_end(), "\n"]);
    }
    text
}

/// In a table, an empty cell stays blank.
fn shown_in_table(cell: &Cell) -> Cow<'_, str> {
    if *cell == Cell::Empty { "".into() } else { cell.shown() }
}

fn width<'c>(column: &Column, cells: impl Iterator<Item = &'c str>) -> usize {
    cells.map(characters).max().unwrap_or(0).max(characters(column.label))
}

/// Returns the number of characters; most cells are ASCII.
fn characters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// Appends one line of a table, padded; `cell` returns the cell of the n-th column.
fn push_line<'c>(
    line: &mut String,
    columns: &[(usize, &Column)],
    widths: &[usize],
    cell: impl Fn(usize) -> &'c str,
) {
    for (at, ((_, column), width)) in columns.iter().zip(widths).enumerate() {
        if at > 0 {
            line.push_str("  ");
        }
        let cell = cell(at);
        let padding = width.saturating_sub(characters(cell));
        let (left, right) = match column.align {
            Align::Left => (0, padding),
            Align::Right => (padding, 0),
        };
        pad(line, left);
        line.push_str(cell);
        pad(line, right);
    }
}

/// Appends spaces.
fn pad(line: &mut String, mut count: usize) {
    const SPACES: &str = "                                ";
    while count > 0 {
        let some = count.min(SPACES.len());
        line.push_str(&SPACES[..some]);
        count -= some;
    }
}

/// The number of rows that a thread lays out at once.
const ROWS_AT_ONCE: usize = 1_024;

/// Room for what a row has besides its cells and its name: the paint of its kind.
const ROW_SLACK: usize = 16;

/// Returns one line per item, in pieces. On a terminal, long names are cut but stay distinct; elsewhere names are whole.
pub(crate) fn rows(group: &Group, mangled: bool) -> Vec<String> {
    let rows = &group.rows;
    let groups: Vec<&[Row]> = rows.chunks(ROWS_AT_ONCE).collect();
    let cells = in_parallel(groups.len(), |at| Cells::new(groups[at], group.columns));
    let is_used = |at: usize| cells.iter().any(|cells| cells.widths.get(at).is_some_and(Option::is_some));
    let width = |at: usize, column: &Column| {
        let widths = cells.iter().filter_map(|cells| *cells.widths.get(at)?);
        widths.max().unwrap_or(0).max(characters(column.label))
    };
    let columns: Vec<(usize, &Column)> =
        group.columns.iter().enumerate().filter(|(at, _)| is_used(*at)).collect();
    let widths: Vec<usize> = columns.iter().map(|(at, column)| width(*at, column)).collect();
    let index_width = rows.iter().map(|row| row.index).max().unwrap_or(0).to_string().len();
    let kind_width = rows.iter().map(|row| characters(&row.kind)).max().unwrap_or(0).max("type".len());
    // Few programs have sources, so the column appears only if one does.
    let has_sources = rows.iter().any(|row| row.has_source);
    let source_label = if has_sources { "source  " } else { "" };
    let mut line = format!("{:>index_width$}  {:<kind_width$}  ", "#", "type");
    push_line(&mut line, &columns, &widths, |at| columns[at].1.label);
    let space = if columns.is_empty() { "" } else { "  " };
    let heading = format!("{}\n", faint(format!("{line}{space}{source_label}name")));
    let labels_width = widths.iter().map(|width| width + 2).sum::<usize>();
    let fixed = index_width + kind_width + labels_width + source_label.len() + 4;
    let room = paint::terminal_width().map_or(usize::MAX, |width| width.saturating_sub(fixed).max(MIN_NAME));
    let names: Vec<&str> =
        rows.iter().map(|row| if mangled { row.name.as_str() } else { row.listed_name() }).collect();
    let names = cut_apart(&names, room);
    let lines = |rows: &[Row], cells: &Cells, names: &[Cow<'_, str>]| -> String {
        let names_size = names.iter().map(|name| name.len()).sum::<usize>();
        let mut text = String::with_capacity(names_size + rows.len() * (line.len() + ROW_SLACK));
        // Neighbours are mostly of one kind, which is painted once.
        let mut painted: Option<(&str, String)> = None;
        for ((number, row), name) in rows.iter().enumerate().zip(names.iter()) {
            if painted.as_ref().is_none_or(|(kind, _)| *kind != row.kind) {
                let shown = if row.kind.is_empty() { "–" } else { &row.kind };
                let shown = format!("{shown:<kind_width$}");
                let shown = paint::function_type(shown, FunctionType::from_name(&row.kind)).to_string();
                painted = Some((&row.kind, shown));
            }
            let kind = painted.as_ref().map_or("", |(_, shown)| shown);
            let source = match (has_sources, row.has_source) {
                (false, _) => "",
                (true, true) => "yes     ",
                (true, false) => "        ",
            };
            // Writing to a String does not fail.
            let _ = write!(text, "{:>index_width$}  {kind}  ", row.index);
            push_line(&mut text, &columns, &widths, |at| cells.get(number, columns[at].0));
            text.extend([space, source, name, "\n"]);
        }
        text
    };
    let names: Vec<&[Cow<'_, str>]> = names.chunks(ROWS_AT_ONCE).collect();
    let mut pieces = in_parallel(groups.len(), |at| lines(groups[at], &cells[at], names[at]));
    pieces.insert(0, heading);
    pieces
}

/// The cells of rows as text, in one buffer: a list may have many thousands.
struct Cells {
    text: String,
    /// The start of each cell in `text`, row by row, and the end of the last.
    starts: Vec<usize>,
    /// Of each column, the largest number of characters; none if all its cells are empty.
    widths: Vec<Option<usize>>,
}

impl Cells {
    /// A usual length of a cell.
    const USUAL_CELL: usize = 6;

    fn new(rows: &[Row], columns: &[Column]) -> Self {
        let count = rows.len() * columns.len();
        let mut cells = Self {
            text: String::with_capacity(count * Self::USUAL_CELL),
            starts: Vec::with_capacity(count + 1),
            widths: vec![None; columns.len()],
        };
        cells.starts.push(0);
        for row in rows {
            for (at, width) in cells.widths.iter_mut().enumerate() {
                let start = cells.text.len();
                let cell = row.cells.get(at).unwrap_or(&Cell::Empty);
                cell.push_to(&mut cells.text);
                cells.starts.push(cells.text.len());
                if *cell != Cell::Empty {
                    *width = (*width).max(Some(characters(&cells.text[start..])));
                }
            }
        }
        cells
    }

    fn get(&self, row: usize, column: usize) -> &str {
        let at = row * self.widths.len() + column;
        &self.text[self.starts[at]..self.starts[at + 1]]
    }
}

/// Cuts names to a number of columns so that they stay distinct: if a name first differs from the others after the cut,
/// its common prefix is omitted instead.
fn cut_apart<'n>(names: &[&'n str], room: usize) -> Vec<Cow<'n, str>> {
    let is_long = |name: &str| name.len() > room && name.chars().count() > room;
    if !names.iter().any(|name| is_long(name)) {
        return names.iter().map(|name| Cow::Borrowed(*name)).collect();
    }
    // In sorted order, the longest prefix that a name shares with any other is one that it shares with a neighbour.
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|at| names[*at]);
    let mut differs_at = vec![0; names.len()];
    for pair in order.windows(2) {
        let (one, other) = (names[pair[0]], names[pair[1]]);
        let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
        for at in pair {
            differs_at[*at] = common.max(differs_at[*at]);
        }
    }
    let cut = |(name, differs): (&&'n str, &usize)| {
        if is_long(name) { cut_around(name, *differs, room).into() } else { Cow::Borrowed(*name) }
    };
    names.iter().zip(&differs_at).map(cut).collect()
}

/// Cuts a name to a number of columns that include the character at `differs`.
fn cut_around(name: &str, differs: usize, room: usize) -> String {
    if differs + 4 < room {
        return paint::cut(name, room).into_owned();
    }
    let start = NAME_START.min(room / 3);
    let kept: String = name.chars().take(start).chain(['…']).collect();
    let rest = room.saturating_sub(start + 1);
    let length = name.chars().count();
    // A few characters before the difference, and as many after it as fit.
    let from = differs.saturating_sub(4).min(length.saturating_sub(rest)).max(start);
    let tail: String = name.chars().skip(from).collect();
    kept + &paint::cut(&tail, rest)
}

/// Returns an argument in shell syntax.
pub(crate) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%~".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart() {
        let names = [
            "void mlx::steel::gemm_splitk<float, 32, 32, 16, 2, 2, false, false>(float const*)",
            "void mlx::steel::gemm_splitk<float, 32, 32, 16, 2, 2, true, false>(float const*)",
            "short",
        ];
        let cut = cut_apart(&names, 30);
        assert_eq!(cut[2], "short");
        assert!(cut[0] != cut[1] && cut.iter().all(|name| name.chars().count() <= 30), "{cut:?}");
        assert!(cut[0].contains("false, false") && cut[1].contains("true, false"), "{cut:?}");
        assert_eq!(cut_apart(&names, usize::MAX), names);
    }

    #[test]
    fn arguments_for_a_shell() {
        assert_eq!(quoted("a/b-c.metallib"), "a/b-c.metallib");
        assert_eq!(quoted("a b!c"), "'a b!c'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
