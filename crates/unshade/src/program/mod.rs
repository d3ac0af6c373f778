//! The program model: what every format answers, and nothing else asks about formats.
//!
//! A format is one file in this folder: a [`Format`] that says how programs are opened and which verbs mean nothing for
//! them, and a type that implements [`Program`]. [`FORMATS`] has one line per format. Verbs of the command line ask a
//! [`Program`] and never which format it is.
//!
//! | module | thing |
//! |---|---|
//! | `metallib` | Metal libraries, alone and in universal files |
//! | `dxcontainer` | DirectX shader containers |
//! | `direct3d9` | token programs of Shader Model 1 to 3 |
//! | `nvidia` | CUDA fat binaries, cubins, PTX |
//! | `bitcode` | modules of LLVM bitcode |
//! | `code` | what `dis`, `decompile` and their like work on: modules, token programs, machine code |
//! | `fact` | facts and tables for people |
//! | `piece` | what the Explorer lists of a program |
//! | `verb` | what can be asked of a file |
//! | `work` | spreading work over threads, where the caller has some |
//!
//! Everything for people is a [`Section`], a [`Card`] or a [`Table`], which callers lay out; everything for programs is
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

/// A page asks for no JSON of programs, and has to be small.
#[cfg(target_family = "wasm")]
pub type Json = ();

/// Returns a value as JSON.
#[cfg(not(target_family = "wasm"))]
fn json(value: impl serde::Serialize + Send + 'static) -> Json {
    Box::new(value)
}

/// Returns nothing: a page asks for no JSON of programs.
#[cfg(target_family = "wasm")]
fn json<T>(_: T) -> Json {}

/// A format of programs.
#[derive(Debug)]
pub struct Format {
    /// How programs of this format are recognised, and what they are called.
    pub format: carve::format::Format,
    /// Its name in requests and responses of the query API: `metallib`.
    pub word: &'static str,
    /// What its items are called: `function`, `part`.
    pub item: &'static str,
    /// The kinds of items that `--type` selects.
    pub kinds: &'static [&'static str],
    /// The verbs that mean nothing for this format, each with the reason as a sentence without a full stop.
    pub refusals: &'static [(Verb, &'static str)],
    /// Returns the range of a file that need not be read before its code is asked for, from its first bytes; with `true`,
    /// from all of the file but that range. What is not read yet is zero.
    pub deferred: fn(&[u8], bool) -> Option<Range<u64>>,
    /// Opens a program that was found.
    pub open: for<'a> fn(&Find<'a>) -> Result<Box<dyn Program + 'a>>,
}

/// The formats that are known, in the order in which they are documented.
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

/// What a program is in a few words: for rows of programs.
#[derive(Clone, Debug, Default)]
pub struct Brief {
    /// What it was made for: `macOS 14.0`, `ps_6_5`, `sm_90`.
    pub target: Option<String>,
    /// How many functions it has.
    pub functions: u64,
    /// Everything that fits into a few words after the format's name, the target included.
    pub summary: String,
}

/// What people look for first, and all of it as data.
pub struct Info {
    /// One section, or several if the program is made of parts that have facts of their own.
    pub sections: Vec<Section>,
    /// The same as JSON.
    pub json: Json,
}

/// The form in which items are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Rows for people.
    Rows {
        /// Whether names are demangled.
        demangled: bool,
    },
    /// JSON, in which all names are demangled.
    Json,
}

/// Items of a program.
pub struct Items {
    /// The number of items.
    pub count: usize,
    /// Items in groups: the libraries of a universal file have one each. They may be empty if JSON was asked for.
    pub groups: Vec<Group>,
    /// Tables beside the items, such as the resources of a container.
    pub tables: Vec<Table>,
    /// The same as JSON; it may be empty if rows were asked for.
    pub json: Json,
}

impl Items {
    /// Returns items in one group.
    #[cfg(not(target_family = "wasm"))]
    fn of(columns: &'static [Column], rows: Vec<Row>, json: Json) -> Self {
        let group = Group { slice: String::new(), columns, rows };
        Self { count: group.rows.len(), groups: vec![group], tables: Vec::new(), json }
    }
}

/// Everything known of items.
pub struct Descriptions {
    /// One card per item.
    pub cards: Vec<Card>,
    /// The same as JSON.
    pub json: Json,
}

/// An item's name and what selects it.
#[derive(Clone, Copy, Debug)]
pub struct ItemName<'n> {
    /// Its index, which `#index` selects.
    pub index: u32,
    /// The name as it is in the file.
    pub name: &'n [u8],
    /// What sort of item it is: `kernel`, `fragment`.
    pub kind: Option<&'n str>,
    /// Whether its source is embedded.
    pub has_source: bool,
}

/// Which of the things in a program are written by `extract`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractKind {
    /// Compiled code: bitcode modules, cubins.
    Module,
    /// Embedded sources, and PTX.
    Source,
}

impl ExtractKind {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Source => "source",
        }
    }
}

/// Something that was taken out of a program.
#[derive(Clone, Copy, Debug)]
pub struct Extracted<'d> {
    /// What it is.
    pub kind: ExtractKind,
    /// The path that it should have, which comes from the file and must not be trusted.
    pub path: &'d str,
    /// Its bytes.
    pub data: &'d [u8],
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// How many functions there are and how many of their hashes match, where functions have hashes.
    pub hashes: Option<Hashes>,
    /// What was found.
    pub diagnostics: Diagnostics,
}

/// Functions, and how many of their hashes match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// The number of functions.
    pub functions: u64,
    /// The number of hashes that match.
    pub matching: u64,
}

/// What a program can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// A Metal library.
    MetalLibrary,
    /// A DirectX shader container.
    DxContainer,
}

/// A program, opened. Each format implements it once.
pub trait Program: Send + Sync {
    /// Returns what the program is in a few words.
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief;

    /// Returns the facts that people look for first.
    #[cfg(not(target_family = "wasm"))]
    fn info(&self, runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info;

    /// Returns what people look for first, without what takes reading all of a large program: hashes, packed sources.
    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section>;

    /// Returns the tables of the program as a whole.
    fn tables(&self, _diagnostics: &mut Diagnostics) -> Vec<Table> {
        Vec::new()
    }

    /// Returns the pieces of the program. What can't be read is left out.
    fn pieces(&self) -> Pieces;

    /// Describes a piece.
    ///
    /// # Errors
    /// It can't be read.
    fn card(&self, piece: &Piece, diagnostics: &mut Diagnostics) -> Result<Card>;

    /// Returns the code of a piece. `path` is what the program is called in headings and messages.
    ///
    /// # Errors
    /// The piece can't be read.
    fn code_of(&self, piece: &Piece, path: &str, diagnostics: &mut Diagnostics) -> Result<Code<'_>>;

    /// Returns the bytes of a piece.
    ///
    /// # Errors
    /// They can't be read or unpacked.
    fn bytes_of(&self, piece: &Piece) -> Result<PieceBytes<'_>>;

    /// Visits the embedded sources of a piece, or of the program if it has any as a whole.
    fn sources(&self, _piece: Option<&Piece>, _visit: &mut dyn FnMut(SourceFile)) {}

    /// Returns whether the outline is made of fields that mean something each. Otherwise it has bits, such as records of
    /// bitcode, that `diff` and `survey` read from the code.
    fn has_fields(&self) -> bool {
        true
    }

    /// Returns the ranges whose fields belong to a piece.
    fn fields_of(&self, piece: &Piece) -> Vec<Range<u64>> {
        piece.row.range.iter().cloned().collect()
    }

    /// Visits the names of the items until `visit` breaks. It may be called again after that.
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

    /// Returns the code that is selected.
    fn code(&self, request: &CodeRequest<'_>, diagnostics: &mut Diagnostics) -> Code<'_>;

    /// Hands the selected things of `kinds` to `take` until it breaks.
    fn extract(
        &self,
        selection: &Selection,
        kinds: &[ExtractKind],
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Checks structure, sizes and hashes.
    fn verify(&self, runner: &dyn Runner) -> Verdict;

    /// Emits what is at every byte.
    fn outline(&self, sink: &mut dyn OutlineSink);

    /// Returns the Metal libraries in it, for what only they have: rules of loading, functions that `diff` matches.
    fn metal_libraries(&self) -> &[NamedLibrary<'_>] {
        &[]
    }

    /// Returns what the program can be written as.
    fn writable(&self) -> Option<Writable> {
        None
    }
}

/// Formats that were registered by callers.
static REGISTERED: RwLock<Vec<&'static Format>> = RwLock::new(Vec::new());

/// Adds a format of the caller's, which has to be [`carve::format::Format::Registered`]. A program does so once, before it
/// opens its first file.
pub fn register(format: &'static Format) {
    if let carve::format::Format::Registered(signature) = format.format {
        carve::format::register(signature);
    }
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(format);
}

/// Returns all formats: the built-in ones, then those that were registered.
pub fn formats() -> Vec<&'static Format> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    FORMATS.iter().chain(registered.iter()).copied().collect()
}

/// Returns the offset of a program's first byte in the file, or in the member that was unpacked.
fn base(find: &Find<'_>) -> u64 {
    find.file_offset.unwrap_or(find.path.offset())
}

/// Returns the format of a program that was found.
pub fn format_of(find: &Find<'_>) -> &'static Format {
    format(find.format)
}

/// Returns what is known of a format.
pub fn format(format: carve::format::Format) -> &'static Format {
    let built_in = FORMATS.iter().find(|known| known.format == format).copied();
    let found = built_in.or_else(|| formats().into_iter().find(|known| known.format == format));
    // A registered signature comes with its format.
    found.unwrap_or(&bitcode::FORMAT)
}

/// Returns the error that a piece could not be read again.
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
