//! Questions about files, and their answers as data: what the local server, the page and reports show.
//!
//! A [`Workspace`] has files, each a [`Session`]; a [`Request`] asks one of them, a [`Response`] is serialised as JSON.
//! `docs/query.md` documents the shapes. Each request parses what it asks for and drops it; kept are a table of rows for
//! each program, and the last listings, within bounds. Programs are asked through [`crate::program::Program`]; nothing here
//! knows formats.
//!
//! | module | thing |
//! |---|---|
//! | `request`, `response`, `relations` | the shapes |
//! | `source` | the bytes of a file: resident, or read by ranges when they are needed |
//! | `rows` | the items of a program as a table |
//! | `filter` | the language in which rows are selected |
//! | `families` | rows that are instances of one template |
//! | `bodies` | the functions that items call, and the numbers of their instructions |
//! | `sizes` | how large parts, items and families are, and which are the same |
//! | `recorder` | printed listings, packed |
//! | `session` | a file, its programs, and what is kept of them |
//! | `facts` | what is known of a program or of one of its items, for people |
//! | `listing` | listings as token lines |
//! | `decompiler` | functions as C, HLSL or Metal, from this program or another module of the page |
//! | `edit` | a program after a change, as a new file |
//! | `code_text`, `language`, `lexeme` | decompiled text as tokens; keywords and types; the lexical grammar |
//! | `outline` | fields with their bytes, one level at a time |
//! | `search` | names, listings, sources and bytes, in steps |
//! | `graph` | control flow |
//! | `calls` | which functions call which |
//! | `flow` | where a value comes from and goes to |
//! | `compare` | what is different between two items |
//! | `changes` | which items of two programs are different |
//! | `bits` | the fields of an instruction's word |
//! | `extract` | bytes to save |
//! | `launch`, `run` | launches of kernels and shaders: the shapes; the program of an item |
//! | `answers` | which question is answered where |
//! | `workspace` | several files, asked by number |
//! | `report` | every answer, in advance |
//!
//! ```
//! use unshade::query::Workspace;
//!
//! let mut workspace = Workspace::default();
//! let file = include_bytes!("../../../../tests/fixtures/metallib/vertex_fragment.metallib");
//! workspace.open_bytes("two.metallib", file.to_vec());
//! let answer = workspace.handle_json(r#"{"query":"rows","file":0,"program":0,"filter":{"kinds":["vertex"]}}"#);
//! assert!(answer.contains(r#""matched":1"#));
//! ```

mod answers;
mod bits;
mod bodies;
mod calls;
mod changes;
mod code_text;
mod compare;
mod decompiler;
mod edit;
mod extract;
mod facts;
mod families;
mod filter;
mod flow;
mod graph;
mod language;
mod launch;
pub(crate) mod lexeme;
mod listing;
mod outline;
mod recorder;
mod relations;
mod report;
mod request;
mod response;
mod rows;
mod run;
mod search;
mod session;
mod sizes;
mod source;
mod workspace;

pub use decompiler::{
    DecompiledLine, DecompiledText, Decompiler, DecompilerInput, decompile, decompile_json, parse_decompiled,
};
pub use edit::{
    EditedFile, Editor, EditorInput, EditorOutput, edit_program, edit_program_json, parse_edited,
};
pub use extract::Taken;
pub use launch::*;
pub use relations::*;
pub use report::{MAX_REPORT, PARTS, Pack, Packed, Part, Report};
pub use request::*;
pub use response::*;
pub use run::answer as run_answer;
pub use session::{Clock, Session, system_clock};
pub use source::{MAX_RANGED, ReadRange, Source};
pub use workspace::{Workspace, fault_json, parse_request, response_json};

/// The longest request that is read.
pub const MAX_REQUEST: usize = 16 << 20;

/// The longest response that is written.
pub const MAX_RESPONSE: usize = 16 << 20;

/// The maximum number of rows of a table in a response.
pub const MAX_ROWS: usize = 2_000;

/// The maximum number of lines of a listing in a response.
pub const MAX_LINES: usize = 5_000;

/// The maximum number of bytes in a response.
pub const MAX_HEX: u64 = 65_536;

/// The maximum number of nodes of an outline in a response.
pub const MAX_NODES: usize = 1_000;

/// The maximum number of findings in a response.
pub const MAX_FINDINGS: usize = 1_000;
