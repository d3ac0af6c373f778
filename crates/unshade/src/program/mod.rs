//! The program model: every format answers the same questions, and no other code depends on formats.
//!
//! A format is one file in this folder: a [`Format`] that says how programs are opened and which verbs it does not
//! support, and a type that implements [`Program`]. [`FORMATS`] has one line per format. The commands use a [`Program`]
//! and never check its format.
//!
//! | module | thing |
//! |---|---|
//! | `metallib` | Metal libraries, alone and in universal files |
//! | `dxcontainer` | DirectX shader containers |
//! | `direct3d9` | token programs of Shader Model 1 to 3 |
//! | `nvidia` | CUDA fat binaries, cubins, PTX |
//! | `bitcode` | modules of LLVM bitcode |
//! | `code` | the input of `dis`, `decompile` and similar commands: modules, token programs, machine code |
//! | `fact` | facts and tables for people |
//! | `piece` | the parts of a program that the Explorer lists |
//! | `verb` | the commands that take programs |
//! | `work` | spreading work over the caller's threads |
//!
//! Output for people is a [`Section`], a [`Card`] or a [`Table`], which callers lay out; output for programs is
//! [`Json`], in the shapes of [`crate::view`].

mod bitcode;
mod code;
mod direct3d9;
mod dxcontainer;
mod fact;
mod metallib;
mod nvidia;
mod piece;
mod verb;
mod work;

pub use code::{Code, CodeRequest, ModuleGroup};
pub(crate) use dxcontainer::DxProgram;
pub use fact::{Align, Card, Cell, Column, Fact, Group, Note, Row, Section, State, Table};
pub use metallib::NamedLibrary;
pub use piece::{Piece, PieceBytes, Pieces};
pub use verb::{Verb, refusal};
pub use work::{InOrder, Runner, map};

use crate::carve::{self, Find};
use crate::select::Selection;
use crate::source_files::SourceFile;
use std::ops::{ControlFlow, Range};
use std::sync::{PoisonError, RwLock};
use unshade_core::{Diagnostics, Error, ErrorKind, OutlineSink, Result};

/// A value that can be written as JSON.
#[cfg(not(target_family = "wasm"))]
pub type Json = Box<dyn erased_serde::Serialize + Send>;

/// Empty: the web page needs no JSON of programs and must stay small.
#[cfg(target_family = "wasm")]
pub type Json = ();

/// Converts a value to JSON.
#[cfg(not(target_family = "wasm"))]
fn json(value: impl serde::Serialize + Send + 'static) -> Json {
    Box::new(value)
}

/// Returns nothing: the web page needs no JSON of programs.
#[cfg(target_family = "wasm")]
fn json<T>(_: T) -> Json {}

/// A format of programs.
#[derive(Debug)]
pub struct Format {
    /// How programs of this format are recognised and named.
    pub format: carve::format::Format,
    /// The name in requests and responses of the query API: `metallib`.
    pub word: &'static str,
    /// The noun for an item: `function`, `part`.
    pub item: &'static str,
    /// The kinds of items that `--type` selects.
    pub kinds: &'static [&'static str],
    /// The verbs that the format does not support, each with the reason as a sentence without a full stop.
    pub refusals: &'static [(Verb, &'static str)],
    /// Returns the range of a file that can stay unread until its code is needed. Gets the first bytes of the file, or
    /// with `true` the whole file except that range. Unread bytes are zero.
    pub deferred: fn(&[u8], bool) -> Option<Range<u64>>,
    /// Opens a program that was found.
    pub open: for<'a> fn(&Find<'a>) -> Result<Box<dyn Program + 'a>>,
}

/// All built-in formats, in the order of the documentation.
pub static FORMATS: &[&Format] = &[
    &metallib::LIBRARY,
    &metallib::UNIVERSAL,
    &dxcontainer::FORMAT,
    &direct3d9::FORMAT,
    &nvidia::FATBIN,
    &nvidia::CUBIN,
    &nvidia::PTX,
    &bitcode::FORMAT,
];

/// A program in a few words, for rows of programs.
#[derive(Clone, Debug, Default)]
pub struct Brief {
    /// The target: `macOS 14.0`, `ps_6_5`, `sm_90`.
    pub target: Option<String>,
    /// The number of functions.
    pub functions: u64,
    /// A short summary to follow the format's name, including the target.
    pub summary: String,
}

/// The main facts of a program, and all its facts as JSON.
pub struct Info {
    /// One section, or several if parts of the program have their own facts.
    pub sections: Vec<Section>,
    /// The same as JSON.
    pub json: Json,
}

/// The form of a list of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Rows for people.
    Rows {
        /// Whether names are demangled.
        demangled: bool,
    },
    /// JSON with all names demangled.
    Json,
}

/// Items of a program.
pub struct Items {
    /// The number of items.
    pub count: usize,
    /// The items in groups, one per library of a universal file. May be empty if JSON was requested.
    pub groups: Vec<Group>,
    /// Tables shown with the items, such as the resources of a container.
    pub tables: Vec<Table>,
    /// The items as JSON. May be empty if rows were requested.
    pub json: Json,
}

impl Items {
    /// Creates items in one group.
    #[cfg(not(target_family = "wasm"))]
    fn of(columns: &'static [Column], rows: Vec<Row>, json: Json) -> Self {
        let group = Group { slice: String::new(), columns, rows };
        Self { count: group.rows.len(), groups: vec![group], tables: Vec::new(), json }
    }
}

/// The full descriptions of items.
pub struct Descriptions {
    /// One card per item.
    pub cards: Vec<Card>,
    /// The descriptions as JSON.
    pub json: Json,
}

/// The name of an item and its other selectors.
#[derive(Clone, Copy, Debug)]
pub struct ItemName<'n> {
    /// The index, which `#index` selects.
    pub index: u32,
    /// The name as stored in the file.
    pub name: &'n [u8],
    /// The kind of item: `kernel`, `fragment`.
    pub kind: Option<&'n str>,
    /// Whether the source is embedded.
    pub has_source: bool,
}

/// A kind of data that `extract` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractKind {
    /// Compiled code: bitcode modules, cubins.
    Module,
    /// Embedded sources and PTX.
    Source,
}

impl ExtractKind {
    /// Returns the word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Source => "source",
        }
    }
}

/// Data extracted from a program.
#[derive(Clone, Copy, Debug)]
pub struct Extracted<'d> {
    /// The kind of data.
    pub kind: ExtractKind,
    /// The suggested path. It comes from the file and must not be trusted.
    pub path: &'d str,
    /// The extracted bytes.
    pub data: &'d [u8],
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The number of functions and of matching hashes, if functions have hashes.
    pub hashes: Option<Hashes>,
    /// The findings.
    pub diagnostics: Diagnostics,
}

/// The number of functions and of matching hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// The number of functions.
    pub functions: u64,
    /// The number of hashes that match.
    pub matching: u64,
}

/// An output format for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// A Metal library.
    MetalLibrary,
    /// A DirectX shader container.
    DxContainer,
}

/// An open program. Each format implements this trait once.
pub trait Program: Send + Sync {
    /// Summarizes the program in a few words.
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief;

    /// Returns the main facts of the program.
    #[cfg(not(target_family = "wasm"))]
    fn info(&self, runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info;

    /// Returns the main facts, except those that need all of a large program: hashes and packed sources.
    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section>;

    /// Returns the tables of the whole program.
    fn tables(&self, _diagnostics: &mut Diagnostics) -> Vec<Table> {
        Vec::new()
    }

    /// Returns the pieces of the program. Unreadable pieces are left out.
    fn pieces(&self) -> Pieces;

    /// Describes a piece.
    ///
    /// # Errors
    /// It can't be read.
    fn card(&self, piece: &Piece, diagnostics: &mut Diagnostics) -> Result<Card>;

    /// Returns the code of a piece. `path` names the program in headings and messages.
    ///
    /// # Errors
    /// The piece can't be read.
    fn code_of(&self, piece: &Piece, path: &str, diagnostics: &mut Diagnostics) -> Result<Code<'_>>;

    /// Returns the bytes of a piece.
    ///
    /// # Errors
    /// They can't be read or unpacked.
    fn bytes_of(&self, piece: &Piece) -> Result<PieceBytes<'_>>;

    /// Visits the embedded sources of a piece, or without one those of the whole program.
    fn sources(&self, _piece: Option<&Piece>, _visit: &mut dyn FnMut(SourceFile)) {}

    /// Returns whether the outline has meaningful fields. Otherwise it has raw bits, such as bitcode records, and
    /// `diff` and `survey` use the code instead.
    fn has_fields(&self) -> bool {
        true
    }

    /// Returns the ranges whose fields belong to a piece.
    fn fields_of(&self, piece: &Piece) -> Vec<Range<u64>> {
        piece.row.range.iter().cloned().collect()
    }

    /// Visits the names of the items until `visit` breaks. May be called again afterwards.
    fn names(&self, visit: &mut dyn FnMut(ItemName<'_>) -> ControlFlow<()>);

    /// Returns the selected items in one form.
    #[cfg(not(target_family = "wasm"))]
    fn items(
        &self,
        selection: &Selection,
        form: Form,
        runner: &dyn Runner,
        diagnostics: &mut Diagnostics,
    ) -> Items;

    /// Describes the selected items.
    #[cfg(not(target_family = "wasm"))]
    fn describe(&self, selection: &Selection, diagnostics: &mut Diagnostics) -> Descriptions;

    /// Returns the selected code.
    fn code(&self, request: &CodeRequest<'_>, diagnostics: &mut Diagnostics) -> Code<'_>;

    /// Passes the selected data of `kinds` to `take` until it breaks.
    fn extract(
        &self,
        selection: &Selection,
        kinds: &[ExtractKind],
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Checks structure, sizes and hashes.
    fn verify(&self, runner: &dyn Runner) -> Verdict;

    /// Emits the meaning of every byte.
    fn outline(&self, sink: &mut dyn OutlineSink);

    /// Returns the Metal libraries of the program, for features that only they have: load rules and function matching
    /// in `diff`.
    fn metal_libraries(&self) -> &[NamedLibrary<'_>] {
        &[]
    }

    /// Returns the output format that can write the program, if any.
    fn writable(&self) -> Option<Writable> {
        None
    }
}

/// Formats registered by callers.
static REGISTERED: RwLock<Vec<&'static Format>> = RwLock::new(Vec::new());

/// Adds a format, which must be [`carve::format::Format::Registered`]. Call this once per format, before the first file
/// is opened.
pub fn register(format: &'static Format) {
    if let carve::format::Format::Registered(signature) = format.format {
        carve::format::register(signature);
    }
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(format);
}

/// Returns all formats: the built-in ones first, then the registered ones.
pub fn formats() -> Vec<&'static Format> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    FORMATS.iter().chain(registered.iter()).copied().collect()
}

/// Returns the offset of a program's first byte in the file, or in the unpacked member.
fn base(find: &Find<'_>) -> u64 {
    find.file_offset.unwrap_or(find.path.offset())
}

/// Returns the format of a find.
pub fn format_of(find: &Find<'_>) -> &'static Format {
    format(find.format)
}

/// Returns the description of a format.
pub fn format(format: carve::format::Format) -> &'static Format {
    let built_in = FORMATS.iter().find(|known| known.format == format).copied();
    let found = built_in.or_else(|| formats().into_iter().find(|known| known.format == format));
    // A registered signature comes with its format.
    found.unwrap_or(&bitcode::FORMAT)
}

/// Returns the error for a piece that can't be read again.
fn no_piece(offset: u64) -> Error {
    Error::new(ErrorKind::BadValue, offset, "this can't be read")
}

/// Opens a program that was found. Offsets in errors are those of the file if the program is in it as it is, and of the
/// unpacked member otherwise.
///
/// # Errors
/// Its header can't be read.
pub fn open<'a>(find: &Find<'a>) -> Result<Box<dyn Program + 'a>> {
    (format_of(find).open)(find)
}
