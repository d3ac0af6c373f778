//! Requests.

use super::launch::{Launch, Parameters, Run};
use serde::{Deserialize, Serialize};

/// A question about a file of a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case", try_from = "Fields")]
#[non_exhaustive]
pub enum Request {
    /// Which files there are.
    Files {},
    /// What a file is and holds.
    Overview(Overview),
    /// The table of a program.
    Rows(Rows),
    /// What is known of a program or an item of it.
    Facts(Place),
    /// Lines of a listing.
    Listing(Listing),
    /// Where a word of a listing is defined and used.
    Links(Links),
    /// The line of a listing that was decoded from a byte.
    LineAt(LineAt),
    /// The item that a byte belongs to.
    ItemAt(ItemAt),
    /// Bytes.
    Hex(Hex),
    /// The fields of the program, with their bytes.
    Outline(Outline),
    /// Matches of a text or of bytes.
    Search(Search),
    /// The control flow of a function.
    Graph(Graph),
    /// Which functions call which.
    Calls(Calls),
    /// Where a value comes from and goes to.
    Flow(Flow),
    /// What is different between two places.
    Compare(Compare),
    /// Which items of two programs are different, and how much.
    Changes(Changes),
    /// The fields of an instruction's word.
    Bits(Bits),
    /// The name and size of bytes to save.
    Extract(Extract),
    /// The faults of a program.
    Verify(Place),
    /// A program after a change, as a new file.
    Edit(EditProgram),
    /// Writes a file that was made here to the disk, on the local server.
    Save(Save),
    /// Forgets a file that was made or dropped here.
    Close(CloseFile),
    /// The hash of a program.
    Hash(Place),
    /// What a launch of a kernel or shader takes.
    Parameters(Parameters),
    /// A launch of a kernel or shader.
    Run(Run),
    /// How large the parts of a program are.
    Sizes(Sizes),
}

impl Request {
    /// The file that is asked about; the left one of two.
    pub fn file(&self) -> u32 {
        match self {
            Self::Files {} => 0,
            Self::Overview(one) => one.file,
            Self::Rows(one) => one.file,
            Self::Facts(one) | Self::Verify(one) | Self::Hash(one) => one.file,
            Self::Parameters(one) => one.at.file,
            Self::Run(one) => one.at.file,
            Self::Listing(one) => one.at.file,
            Self::Links(one) => one.at.file,
            Self::LineAt(one) => one.at.file,
            Self::ItemAt(one) => one.file,
            Self::Hex(one) => one.file,
            Self::Outline(one) => one.file,
            Self::Search(one) => one.file,
            Self::Graph(one) => one.at.file,
            Self::Calls(one) => one.at.file,
            Self::Flow(one) => one.at.file,
            Self::Compare(one) => one.left.file,
            Self::Changes(one) => one.left.file,
            Self::Bits(one) => one.at.file,
            Self::Extract(one) => one.at.file,
            Self::Edit(one) => one.file,
            Self::Save(one) => one.file,
            Self::Close(one) => one.file,
            Self::Sizes(one) => one.file,
        }
    }
}

impl Request {
    /// The second file that is asked about, if it is not the first one: that of a comparison.
    pub fn other_file(&self) -> Option<u32> {
        let (left, right) = match self {
            Self::Compare(one) => (one.left.file, one.right.file),
            Self::Changes(one) => (one.left.file, one.right.file),
            _ => return None,
        };
        (left != right).then_some(right)
    }
}

/// A program or an item of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Which file of the workspace, from 0.
    pub file: u32,
    /// Which program of the file, from 0.
    pub program: u32,
    /// Which item of the program, from 0; all of the program without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// Asks what a file is and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// Which file.
    pub file: u32,
    /// Only this program, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<u32>,
}

/// Asks for rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rows {
    /// Which file.
    pub file: u32,
    /// Which program.
    pub program: u32,
    /// Which rows are selected.
    pub filter: Filter,
    /// Their order; that of the file without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<Sort>,
    /// The first, of those that are selected.
    pub from: u32,
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// An item that the rows must include, instead of `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub find: Option<u32>,
    /// Whether the instances of a template are together.
    pub families: bool,
}

/// Which rows are selected: those that match every field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// A part of the name, demangled or mangled, in any case.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether `text` is a regular expression.
    pub regex: bool,
    /// The selected kinds; all if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Only what has an embedded source.
    pub has_source: bool,
    /// Terms in the language of the filter: `gemv !half size>4k`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub terms: String,
}

/// An order of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Sort {
    /// The key of a column, or `item`, `name`, `kind`.
    pub column: String,
    /// Whether the highest comes first.
    pub descending: bool,
}

/// A listing: of a place, in a pane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Pane {
    /// Which file.
    pub file: u32,
    /// Which program.
    pub program: u32,
    /// Which item; the program itself without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Which listing of it.
    pub pane: String,
}

fn assembly() -> String {
    "assembly".to_owned()
}

impl Default for Pane {
    fn default() -> Self {
        Self { file: 0, program: 0, item: None, pane: assembly() }
    }
}

impl Pane {
    /// What it is of.
    pub fn place(&self) -> Place {
        Place { file: self.file, program: self.program, item: self.item }
    }
}

/// Asks how large the parts of a program are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Which file.
    pub file: u32,
    /// Which program.
    pub program: u32,
    /// How many items are named; the others are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Asks for lines of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Which listing.
    #[serde(flatten)]
    pub at: Pane,
    /// The first line.
    pub from: u32,
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// Asks where a word is defined and used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Links {
    /// Which listing.
    #[serde(flatten)]
    pub at: Pane,
    /// The number of a link, of a reference or of the definition.
    pub link: i64,
}

/// Asks for the line of a byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineAt {
    /// Which listing.
    #[serde(flatten)]
    pub at: Pane,
    /// Where the byte is.
    pub offset: u64,
}

/// Asks for the item of a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ItemAt {
    /// Which file.
    pub file: u32,
    /// Which program.
    pub program: u32,
    /// Where the byte is.
    pub offset: u64,
}

/// Asks for bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hex {
    /// Which file.
    pub file: u32,
    /// Which program.
    pub program: u32,
    /// The first.
    pub from: u64,
    /// How many.
    pub count: u64,
}

/// Asks for nodes of the outline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outline {
    /// Which file.
    pub file: u32,
    /// Which program.
    pub program: u32,
    /// The path from the root to a node, by the indices of children.
    pub node: Vec<u32>,
    /// The first child.
    pub from: u32,
    /// How many children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// A byte whose nodes are wanted, instead of a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// Names of items.
    #[default]
    Names,
    /// The lines of listings.
    Listings,
    /// The lines of embedded sources.
    Sources,
    /// Bytes.
    Bytes,
}

/// Asks for matches of a text or of bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Search {
    /// Which file.
    pub file: u32,
    /// Which program, all without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<u32>,
    /// What is searched.
    pub scope: Scope,
    /// What is looked for.
    pub text: String,
    /// Whether that is a regular expression.
    pub regex: bool,
    /// Whether capital and small letters are different.
    pub case: bool,
    /// Which listings are searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
    /// Where to go on, from the last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// After how many milliseconds to answer with what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u32>,
    /// After how many finds to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How many lines before and after each match to return.
    pub context: u32,
    /// The part to search, in items or bytes counted over all programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<[u64; 2]>,
}

/// Asks for the control flow of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// Which item.
    #[serde(flatten)]
    pub at: Place,
    /// Which function of its module, of those that have bodies; without one, the one that the item is named after, or the
    /// first entry point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<u32>,
    /// A block whose surroundings are drawn if there are too many blocks; the entry without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub around: Option<u32>,
    /// The maximum number of blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Asks which functions call which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Which item; all of the program without one.
    #[serde(flatten)]
    pub at: Place,
    /// Where to go on, from the last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// After how many milliseconds to answer with what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u32>,
}

/// Asks where a value comes from and goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Which listing.
    #[serde(flatten)]
    pub at: Pane,
    /// The line that defines or uses the value.
    pub line: u32,
    /// The link of the value; without one, what the line defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<i64>,
    /// The maximum number of steps from the value, back and forth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
}

/// Asks what is different.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compare {
    /// One place.
    pub left: Place,
    /// The other.
    pub right: Place,
    /// Which listings are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
}

/// Asks which items of two programs are different, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// One program.
    pub left: Place,
    /// The other.
    pub right: Place,
    /// Where to go on, from the last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// After how many milliseconds to answer with what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u32>,
}

/// Asks for the fields of an instruction's word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bits {
    /// Which item.
    #[serde(flatten)]
    pub at: Place,
    /// A byte of the word.
    pub offset: u64,
}

/// What `extract` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Extracted {
    /// The program as it is.
    #[default]
    Program,
    /// The module or code of an item.
    Module,
    /// A listing, as text.
    Listing,
    /// An embedded source.
    Source,
    /// The program as YAML.
    Yaml,
    /// All modules of the program.
    Zip,
    /// The file that the program is in.
    File,
}

impl Extracted {
    /// The name that requests and responses have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Module => "module",
            Self::Listing => "listing",
            Self::Source => "source",
            Self::Yaml => "yaml",
            Self::Zip => "zip",
            Self::File => "file",
        }
    }
}

/// Asks for bytes to save.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extract {
    /// Of which place; its pane for a listing.
    #[serde(flatten)]
    pub at: Pane,
    /// What.
    pub what: Extracted,
    /// Which source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Asks for a program after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditProgram {
    /// Which file.
    pub file: u32,
    /// Which program.
    pub program: u32,
    /// The change: an [`Edit`](crate::edit::Edit) as JSON, which only the editor reads.
    pub edit: serde_json::Value,
}

/// Asks to write a file that was made here to the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Save {
    /// Which file.
    pub file: u32,
    /// Its name there, without folders. No file may have it.
    pub name: String,
}

/// Asks to forget a file that was made or dropped here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CloseFile {
    /// Which file.
    pub file: u32,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Query {
    Files,
    Overview,
    Rows,
    Facts,
    Listing,
    Links,
    LineAt,
    ItemAt,
    Hex,
    Outline,
    Search,
    Graph,
    Calls,
    Flow,
    Compare,
    Changes,
    Bits,
    Extract,
    Verify,
    Edit,
    Save,
    Close,
    Hash,
    Parameters,
    Run,
    Sizes,
}

/// A request as it is written, with the fields of all kinds: code that reads these is a third of what it would be for each
/// kind, of which each has some of the same fields.
#[derive(Debug, Deserialize)]
struct Fields {
    query: Query,
    #[serde(default)]
    file: u32,
    program: Option<u32>,
    item: Option<u32>,
    pane: Option<String>,
    #[serde(default)]
    from: u64,
    count: Option<u64>,
    #[serde(default)]
    filter: Filter,
    sort: Option<Sort>,
    find: Option<u32>,
    #[serde(default)]
    families: bool,
    link: Option<i64>,
    offset: Option<u64>,
    #[serde(default)]
    node: Vec<u32>,
    at: Option<u64>,
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    text: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    case: bool,
    cursor: Option<String>,
    budget_ms: Option<u32>,
    limit: Option<u32>,
    #[serde(default)]
    context: u32,
    span: Option<[u64; 2]>,
    function: Option<u32>,
    around: Option<u32>,
    line: Option<u32>,
    steps: Option<u32>,
    left: Option<Place>,
    right: Option<Place>,
    #[serde(default)]
    what: Extracted,
    name: Option<String>,
    edit: Option<serde_json::Value>,
    #[serde(default)]
    launch: Launch,
}

impl Fields {
    /// The first, where there are no more than a number of 32 bits counts.
    fn first(&self) -> Result<u32, String> {
        narrow(self.from, "from")
    }

    fn count(&self) -> Result<Option<u32>, String> {
        self.count.map(|count| narrow(count, "count")).transpose()
    }
}

fn narrow(number: u64, field: &str) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("field `{field}` has {number}, which is too large"))
}

fn needed<T>(value: Option<T>, field: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("missing field `{field}`"))
}

impl TryFrom<Fields> for Request {
    type Error = String;

    fn try_from(mut fields: Fields) -> Result<Self, String> {
        let Fields { query, file, item, find, at: byte, offset, function, .. } = fields;
        let program = fields.program.unwrap_or_default();
        let place = Place { file, program, item };
        let pane = fields.pane.take();
        let at = |pane: Option<String>| Pane { file, program, item, pane: pane.unwrap_or_else(assembly) };
        Ok(match query {
            Query::Files => Self::Files {},
            Query::Overview => Self::Overview(Overview { file, program: fields.program }),
            Query::Rows => {
                let (from, count) = (fields.first()?, fields.count()?);
                let Fields { filter, sort, families, .. } = fields;
                Self::Rows(Rows { file, program, filter, sort, from, count, find, families })
            }
            Query::Facts => Self::Facts(place),
            Query::Verify => Self::Verify(place),
            Query::Hash => Self::Hash(place),
            Query::Parameters => Self::Parameters(Parameters { at: place, name: fields.name }),
            Query::Run => Self::Run(Run { at: place, name: fields.name, launch: fields.launch }),
            Query::Sizes => Self::Sizes(Sizes { file, program, limit: fields.limit }),
            Query::Listing => {
                Self::Listing(Listing { at: at(pane), from: fields.first()?, count: fields.count()? })
            }
            Query::Links => Self::Links(Links { at: at(pane), link: needed(fields.link, "link")? }),
            Query::LineAt => Self::LineAt(LineAt { at: at(pane), offset: needed(offset, "offset")? }),
            Query::ItemAt => Self::ItemAt(ItemAt { file, program, offset: offset.unwrap_or_default() }),
            Query::Hex => {
                Self::Hex(Hex { file, program, from: fields.from, count: fields.count.unwrap_or_default() })
            }
            Query::Outline => {
                let (from, count) = (fields.first()?, fields.count()?);
                Self::Outline(Outline { file, program, node: fields.node, from, count, at: byte })
            }
            Query::Search => {
                let Fields { program, scope, text, regex, case, cursor, budget_ms, limit, .. } = fields;
                let Fields { context, span, .. } = fields;
                Self::Search(Search {
                    file,
                    program,
                    scope,
                    text,
                    regex,
                    case,
                    pane,
                    cursor,
                    budget_ms,
                    limit,
                    context,
                    span,
                })
            }
            Query::Graph => {
                let Fields { around, limit, .. } = fields;
                Self::Graph(Graph { at: place, function, around, limit })
            }
            Query::Calls => {
                let Fields { cursor, budget_ms, .. } = fields;
                Self::Calls(Calls { at: place, cursor, budget_ms })
            }
            Query::Flow => {
                let line = needed(fields.line, "line")?;
                Self::Flow(Flow { at: at(pane), line, link: fields.link, steps: fields.steps })
            }
            Query::Changes => {
                let (left, right) = (needed(fields.left, "left")?, needed(fields.right, "right")?);
                let Fields { cursor, budget_ms, .. } = fields;
                Self::Changes(Changes { left, right, cursor, budget_ms })
            }
            Query::Compare => {
                let (left, right) = (needed(fields.left, "left")?, needed(fields.right, "right")?);
                Self::Compare(Compare { left, right, pane })
            }
            Query::Bits => Self::Bits(Bits { at: place, offset: needed(offset, "offset")? }),
            Query::Extract => Self::Extract(Extract { at: at(pane), what: fields.what, name: fields.name }),
            Query::Edit => Self::Edit(EditProgram { file, program, edit: needed(fields.edit, "edit")? }),
            Query::Save => Self::Save(Save { file, name: needed(fields.name, "name")? }),
            Query::Close => Self::Close(CloseFile { file }),
        })
    }
}
