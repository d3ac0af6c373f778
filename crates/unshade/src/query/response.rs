//! Responses.

use super::launch::{ParametersAnswer, RunAnswer};
use super::relations::*;
use crate::edit::TextFault;
use crate::view::FindingView;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unshade_core::{Diagnostics, Error};

/// Start and end of bytes; the end is exclusive.
pub type ByteRange = [u64; 2];

/// Why a request has no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// The offset of the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Box<str>>,
    /// What was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Box<str>>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// Names of parts of the file, from the outside in.
    pub path: Vec<String>,
}

impl Fault {
    /// Returns a fault without a place in a file.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Adds what was expected.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into().into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into());
        self
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self {
            message: error.message().to_owned(),
            offset: error.offset(),
            expected: error.expectation().map(Into::into),
            found: error.finding().map(Into::into),
            hint: error.advice().map(Into::into),
            path: error.path().map(str::to_owned).collect(),
        }
    }
}

/// An answer, or why there is none.
pub type Answer<T> = Result<T, Fault>;

/// The answer to a request.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Response {
    /// To [`Request::Files`](super::Request::Files).
    Files(FilesAnswer),
    /// To [`Request::Overview`](super::Request::Overview).
    Overview(OverviewAnswer),
    /// To [`Request::Rows`](super::Request::Rows).
    Rows(RowsAnswer),
    /// To [`Request::Facts`](super::Request::Facts).
    Facts(FactsAnswer),
    /// To [`Request::Listing`](super::Request::Listing).
    Listing(ListingAnswer),
    /// To [`Request::Links`](super::Request::Links).
    Links(LinksAnswer),
    /// To [`Request::LineAt`](super::Request::LineAt).
    LineAt(LineAtAnswer),
    /// To [`Request::ItemAt`](super::Request::ItemAt).
    ItemAt(ItemAtAnswer),
    /// To [`Request::Hex`](super::Request::Hex).
    Hex(HexAnswer),
    /// To [`Request::Outline`](super::Request::Outline).
    Outline(OutlineAnswer),
    /// To [`Request::Search`](super::Request::Search).
    Search(SearchAnswer),
    /// To [`Request::Graph`](super::Request::Graph).
    Graph(GraphAnswer),
    /// To [`Request::Calls`](super::Request::Calls).
    Calls(CallsAnswer),
    /// To [`Request::Flow`](super::Request::Flow).
    Flow(FlowAnswer),
    /// To [`Request::Compare`](super::Request::Compare).
    Compare(CompareAnswer),
    /// To [`Request::Changes`](super::Request::Changes).
    Changes(ChangesAnswer),
    /// To [`Request::Bits`](super::Request::Bits).
    Bits(BitsAnswer),
    /// To [`Request::Extract`](super::Request::Extract).
    Extract(ExtractAnswer),
    /// To [`Request::Verify`](super::Request::Verify).
    Verify(VerifyAnswer),
    /// To [`Request::Edit`](super::Request::Edit).
    Edit(EditAnswer),
    /// To [`Request::Save`](super::Request::Save).
    Save(SaveAnswer),
    /// To [`Request::Close`](super::Request::Close).
    Close(CloseAnswer),
    /// To [`Request::Hash`](super::Request::Hash).
    Hash(HashAnswer),
    /// To [`Request::Parameters`](super::Request::Parameters).
    Parameters(ParametersAnswer),
    /// To [`Request::Run`](super::Request::Run).
    Run(RunAnswer),
    /// To [`Request::Sizes`](super::Request::Sizes).
    Sizes(SizesAnswer),
}

/// The files of a workspace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FilesAnswer {
    /// Each file.
    pub files: Vec<FileEntry>,
}

/// A file of a workspace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileEntry {
    /// Its number.
    pub file: u32,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it was searched for programs.
    pub opened: bool,
    /// Why it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// A file, and the programs in it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OverviewAnswer {
    /// The file.
    pub file: FileHead,
    /// Its programs.
    pub programs: Vec<ProgramHead>,
    /// What could not be searched.
    pub findings: Vec<FindingView>,
}

/// A file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileHead {
    /// Its number.
    pub file: u32,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProgramHead {
    /// Its number.
    pub program: u32,
    /// The path of the program: the file, and where it is in the file.
    pub path: String,
    /// What it is, as a word: `metallib`.
    pub format: &'static str,
    /// What it is, for people: `Metal library`.
    pub format_name: &'static str,
    /// How many bytes there are.
    pub size: u64,
    /// Its offset in the file, if it did not have to be unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The offsets that its bytes have in ranges.
    pub space: ByteRange,
    /// Whether its header states a larger size.
    pub truncated: bool,
    /// Whether only its beginning is that of a program.
    pub damaged: bool,
    /// How many items it has.
    pub items: u32,
    /// What an item is called.
    pub item_name: &'static str,
    /// How many items there are of each kind.
    pub kinds: BTreeMap<String, u32>,
    /// Whether sources are embedded.
    pub has_sources: bool,
    /// The listings of the program as a whole.
    pub panes: Vec<String>,
    /// What `extract` returns of the program as a whole.
    pub extracts: Vec<&'static str>,
    /// The kinds of edits that it takes.
    pub edits: Vec<&'static str>,
    /// What people look for first.
    pub facts: Vec<Fact>,
    /// Whether the other fields are empty because there are many programs: request this one alone.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub brief: bool,
    /// Why it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// A label and a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What it is.
    pub label: String,
    /// The text of the value.
    pub value: String,
    /// The bytes that say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
    /// `good` or `bad`, where it is one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
}

/// Rows of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RowsAnswer {
    /// How many there are.
    pub total: u32,
    /// How many match the filter.
    pub matched: u32,
    /// The index of the first row, among those that match.
    pub from: u32,
    /// The index of the item in `find`, among those that match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// The columns.
    pub columns: Vec<ColumnHead>,
    /// The rows.
    pub rows: Vec<RowEntry>,
    /// The texts that the filter looks for in names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// Whether no name has the texts of the filter, and the rows have names with their letters.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub fuzzy: bool,
    /// The families of all rows that match, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<Family>>,
    /// How far the calls were read, if that is not finished: the answer is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

/// The instances of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Family {
    /// The name, with a `*` for each parameter.
    pub name: String,
    /// The index of the first row, among those that match.
    pub from: u32,
    /// How many there are.
    pub count: u32,
    /// Their size in bytes.
    pub size: u64,
    /// What is different between them.
    pub parameters: Vec<FamilyParameter>,
}

/// A parameter of a family.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FamilyParameter {
    /// Its name: `type`, or the letters before a number; empty if there are none.
    pub name: String,
    /// The length of the longest argument in characters.
    pub width: u32,
}

/// How far something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// How many items are done.
    pub done: u32,
    /// How many there are.
    pub total: u32,
}

/// The sizes of a program's parts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SizesAnswer {
    /// The size of the program.
    pub total: u64,
    /// The parts of the file, from the top of its outline.
    pub sections: Vec<SectionSize>,
    /// The items, by family, the largest family first.
    pub families: Vec<FamilySize>,
    /// The items of further families.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<Rest>,
    /// The largest items.
    pub largest: Vec<ItemSize>,
    /// The smallest items.
    pub smallest: Vec<ItemSize>,
    /// Groups of items with the same bytes, those first that take the most. Left out if they were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Vec<Duplicates>>,
    /// Items by chip, if they are for several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chips: Vec<ChipSize>,
    /// How many items have an embedded source, and the first of them.
    pub sources: Sources,
}

/// A part of a file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SectionSize {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub range: ByteRange,
    /// How many items are in it.
    #[serde(skip_serializing_if = "is_zero")]
    pub items: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The size of a family.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FamilySize {
    /// Its name.
    pub name: String,
    /// How many items it has.
    pub count: u32,
    /// Their size.
    pub size: u64,
    /// The largest of them.
    pub items: Vec<ItemSize>,
}

/// The size of an item.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ItemSize {
    /// Its number.
    pub item: u32,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its size.
    pub size: u64,
}

/// What was not named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rest {
    /// How many families.
    pub families: u32,
    /// How many items.
    pub count: u32,
    /// Their size.
    pub size: u64,
}

/// Items with the same bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Duplicates {
    /// How many there are.
    pub count: u32,
    /// The size of one.
    pub size: u64,
    /// The first of them.
    pub items: Vec<ItemSize>,
}

/// The items for a chip.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChipSize {
    /// The chip.
    pub chip: String,
    /// How many items.
    pub count: u32,
    /// Their size.
    pub size: u64,
}

/// Which items have an embedded source.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sources {
    /// How many.
    pub count: u32,
    /// The first of them.
    pub items: Vec<ItemSize>,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnHead {
    /// Its name in cells.
    pub key: &'static str,
    /// Its heading.
    pub label: &'static str,
    /// `left` or `right`.
    pub align: &'static str,
}

/// A row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RowEntry {
    /// The number of the item.
    pub item: u32,
    /// Its name, demangled.
    pub name: String,
    /// Its name in the file, if that is mangled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mangled: Option<String>,
    /// Its kind.
    pub kind: String,
    /// The values by column; empty ones are left out.
    pub cells: BTreeMap<&'static str, String>,
    /// The arguments of the parameters of its family.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
}

/// What is known of a program or an item.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FactsAnswer {
    /// Its name.
    pub title: String,
    /// What it is.
    pub subtitle: String,
    /// Its declaration.
    pub declaration: Vec<Line>,
    /// Facts, in groups.
    pub cards: Vec<Card>,
    /// Lists.
    pub tables: Vec<Table>,
    /// Its listings.
    pub panes: Vec<String>,
    /// What `extract` returns of it.
    pub extracts: Vec<&'static str>,
    /// Whether it can be run, as far as is known without lifting it.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub runs: bool,
    /// Its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
    /// What could not be read.
    pub findings: Vec<FindingView>,
}

/// Facts under a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Card {
    /// The heading.
    pub title: String,
    /// The facts.
    pub rows: Vec<Fact>,
}

/// A list under a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The heading.
    pub title: String,
    /// The headings of columns.
    pub columns: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<TableRow>,
    /// How many rows were left out.
    pub more: u64,
}

/// A row of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableRow {
    /// A text for each column.
    pub cells: Vec<String>,
    /// The bytes that say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
}

/// A line of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its tokens.
    pub tokens: Vec<TokenEntry>,
    /// The bytes that it was decoded from; the first range, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
    /// The other ranges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<ByteRange>,
}

impl Line {
    /// The text of the tokens.
    pub fn text(&self) -> String {
        self.tokens.iter().map(TokenEntry::text).collect()
    }
}

/// A token: kind, text and, if it defines or refers to something, its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TokenEntry {
    /// Kind and text.
    Plain(&'static str, String),
    /// Kind, text, and *n* for a reference to entity *n*, −*n* − 1 for its definition.
    Linked(&'static str, String, i64),
}

impl TokenEntry {
    /// The text.
    pub fn text(&self) -> &str {
        let (Self::Plain(_, text) | Self::Linked(_, text, _)) = self;
        text
    }
}

/// Lines of a listing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ListingAnswer {
    /// How many lines there are.
    pub total: u32,
    /// The index of the first line.
    pub from: u32,
    /// The lines.
    pub lines: Vec<Line>,
    /// What could not be read.
    pub findings: Vec<FindingView>,
    /// Whether the listing is longer than what is kept.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub cut: bool,
}

/// A place in a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line, from 0.
    pub line: u32,
    /// The column in UTF-16 units.
    pub column: u32,
    /// The length in UTF-16 units.
    pub length: u32,
}

/// Where a word is defined and used.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LinksAnswer {
    /// Its definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Position>,
    /// Its uses.
    pub uses: Vec<Position>,
    /// How many uses were left out.
    pub more: u32,
}

/// The line of a byte.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LineAtAnswer {
    /// The line, if one was decoded from the byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// All bytes of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
}

/// The item of a byte.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ItemAtAnswer {
    /// The item, if the byte belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// Bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HexAnswer {
    /// The first.
    pub from: u64,
    /// Two digits each.
    pub bytes: String,
    /// The offsets of the program.
    pub space: ByteRange,
}

/// A node of an outline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutlineNode {
    /// Its place among its siblings; left out for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// What it is called.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What the value means.
    pub meaning: String,
    /// Its bytes.
    pub range: ByteRange,
    /// How many children it has.
    pub children: u32,
}

/// Nodes of an outline.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum OutlineAnswer {
    /// A node and some of its children.
    Children {
        /// The node.
        node: OutlineNode,
        /// Its children, from the one that was asked for.
        children: Vec<OutlineNode>,
        /// The first of them.
        from: u32,
    },
    /// The nodes that hold a byte, from the outside in.
    Path {
        /// These nodes.
        path: Vec<OutlineNode>,
    },
}

/// A match of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Match {
    /// In which program.
    pub program: u32,
    /// In which item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// In which listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
    /// In which line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in UTF-16 units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Its length in UTF-16 units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// The line, the name, or the bytes.
    pub text: String,
    /// The column in `text`, if that is a part of the line or has tabs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// The lines before it, as many as the request asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// The lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteRange>,
}

/// An item with matches in its listing or sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FoundItem {
    /// In which program.
    pub program: u32,
    /// Which item.
    pub item: u32,
    /// Its readable name.
    pub name: String,
    /// Its kind.
    pub kind: String,
}

/// What was found so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SearchAnswer {
    /// What was found in this step.
    pub matches: Vec<Match>,
    /// The items with matches in listings or sources, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<FoundItem>,
    /// How many items, or bytes, of the span were searched.
    pub searched: u64,
    /// How many there are in the span.
    pub total: u64,
    /// Where the next step begins; none at the end.
    pub cursor: Option<String>,
}

/// An instruction's word.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BitsAnswer {
    /// Its bytes.
    pub range: ByteRange,
    /// The word.
    pub word: String,
    /// The instruction.
    pub text: String,
    /// What it does.
    pub meaning: String,
    /// Its fields.
    pub fields: Vec<BitField>,
}

/// A field of an instruction's word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BitField {
    /// Its bits, the highest first: `60:58 5`.
    pub bits: String,
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub value: String,
    /// What that means.
    pub meaning: String,
}

/// What `extract` returns as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExtractAnswer {
    /// A safe file name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A file after an edit, or the faults of its text.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EditAnswer {
    /// The new file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileEntry>,
    /// What was renewed besides, or is lost.
    pub notes: Vec<String>,
    /// The faults of the text.
    pub faults: Vec<TextFault>,
}

/// Where a file was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SaveAnswer {
    /// The path of the file.
    pub path: String,
}

/// Whether a file was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CloseAnswer {
    /// Whether it was; files of the disk stay in the list.
    pub closed: bool,
}

/// The hash of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HashAnswer {
    /// The SHA-256 of its bytes, in hex digits.
    pub sha256: String,
}

/// The faults of a program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VerifyAnswer {
    /// How many errors there are.
    pub errors: u64,
    /// How many warnings there are.
    pub warnings: u64,
    /// What was found, in the order of the file.
    pub findings: Vec<FindingView>,
}

/// Returns findings as responses have them.
pub(super) fn findings(diagnostics: &Diagnostics) -> Vec<FindingView> {
    diagnostics.iter().take(super::MAX_FINDINGS).map(FindingView::from).collect()
}
