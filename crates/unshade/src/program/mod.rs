//! The program model: the interface that every format implements.
//!
//! A format is one file in this folder: a [`Format`] that opens programs and lists the verbs that do not apply, and a
//! type that implements [`Program`]. [`FORMATS`] has one line per format. Verbs of the command line use [`Program`] and
//! never check for a format.
//!
//! | module | thing |
//! |---|---|
//! | `metallib` | Metal libraries, alone and in universal files |
//! | `dxcontainer` | DirectX shader containers |
//! | `direct3d9` | token programs of Shader Model 1 to 3 |
//! | `nvidia` | CUDA fat binaries, cubins, PTX |
//! | `bitcode` | modules of LLVM bitcode |
//! | `entry_point` | what both show of an entry point |
//! | `air_module` | what `bitcode` shows of a module for Apple GPUs |
//! | `code` | the code for `dis`, `decompile` and related verbs: modules, token programs, machine code |
//! | `fact` | facts and tables for people |
//! | `piece` | the parts of a program that the Explorer lists |
//! | `verb` | the verbs that take a program |
//! | `work` | work that callers may spread over threads |
//!
//! Output for people is a [`Section`], a [`Card`] or a [`Table`], which callers lay out. Output for programs is
//! [`Json`], in the shapes of [`crate::view`].

mod air_module;
mod bitcode;
mod code;
mod direct3d9;
mod dxcontainer;
mod entry_point;
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

/// The page needs no JSON of programs, and has to be small.
#[cfg(target_family = "wasm")]
pub type Json = ();

/// Converts a value to JSON.
#[cfg(not(target_family = "wasm"))]
fn json(value: impl serde::Serialize + Send + 'static) -> Json {
    Box::new(value)
}

/// Returns nothing: the page needs no JSON of programs.
#[cfg(target_family = "wasm")]
fn json<T>(_: T) -> Json {}

/// A format of programs.
#[derive(Debug)]
pub struct Format {
    /// The format's signature and names.
    pub format: carve::format::Format,
    /// The name in requests and responses of the query API: `metallib`.
    pub word: &'static str,
    /// The name of its items: `function`, `part`.
    pub item: &'static str,
    /// The kinds of items that `--type` selects.
    pub kinds: &'static [&'static str],
    /// The verbs that do not apply to this format, each with the reason as a sentence without a full stop.
    pub refusals: &'static [(Verb, &'static str)],
    /// Returns the range of a file that can stay unread until its code is needed. Gets the first bytes of the file, or
    /// with `true` the whole file except that range. Unread bytes are zero.
    pub deferred: fn(&[u8], bool) -> Option<Range<u64>>,
    /// Opens a program that was found.
    pub open: for<'a> fn(&Find<'a>) -> Result<Box<dyn Program + 'a>>,
}

/// The built-in formats, in the order of the documentation.
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

/// A short description of a program, for a row in a list of programs.
#[derive(Clone, Debug, Default)]
pub struct Brief {
    /// The target: `macOS 14.0`, `ps_6_5`, `sm_90`.
    pub target: Option<String>,
    /// The number of functions.
    pub functions: u64,
    /// The short description after the format's name, with the target.
    pub summary: String,
}

/// The facts for the top of a report, for people and as data.
pub struct Info {
    /// One section, or several if parts of the program have facts of their own.
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

/// All facts of items.
pub struct Descriptions {
    /// One card per item.
    pub cards: Vec<Card>,
    /// The descriptions as JSON.
    pub json: Json,
}

/// The name of an item, and the properties that select it.
#[derive(Clone, Copy, Debug)]
pub struct ItemName<'n> {
    /// The index, which `#index` selects.
    pub index: u32,
    /// The name as stored in the file.
    pub name: &'n [u8],
    /// Its kind: `kernel`, `fragment`.
    pub kind: Option<&'n str>,
    /// Whether the source is embedded.
    pub has_source: bool,
}

/// A kind of content that `extract` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractKind {
    /// Compiled code: bitcode modules, cubins.
    Module,
    /// Embedded sources and PTX.
    Source,
    /// Slices of universal files.
    Slice,
}

impl ExtractKind {
    /// Returns the word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Source => "source",
            Self::Slice => "slice",
        }
    }
}

/// A file extracted from a program.
#[derive(Clone, Copy, Debug)]
pub struct Extracted<'d> {
    /// Its kind.
    pub kind: ExtractKind,
    /// Its suggested path, which comes from the file and must not be trusted.
    pub path: &'d str,
    /// The extracted bytes.
    pub data: &'d [u8],
}

/// How much a check covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyDepth {
    /// Structure, sizes and hashes.
    Quick,
    /// These, and whether a library agrees with its modules.
    #[default]
    Whole,
}

/// What a loader looks at, and the name of the slice.
#[derive(Clone, Debug)]
pub struct NamedFacts {
    /// The slice's architecture; empty if the code is not in a universal file.
    pub slice: String,
    /// What the loader looks at.
    pub facts: crate::load_check::LibraryFacts,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The number of functions and of matching hashes, if functions have hashes.
    pub hashes: Option<Hashes>,
    /// The findings.
    pub diagnostics: Diagnostics,
}

/// The number of functions, and of their hashes that match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// The number of functions.
    pub functions: u64,
    /// The number of hashes that match.
    pub matching: u64,
}

/// A file type that a program can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// A Metal library.
    MetalLibrary,
    /// A universal file of Metal libraries.
    MetalUniversal,
    /// A DirectX shader container.
    DxContainer,
    /// LLVM bitcode.
    Bitcode,
}

/// An open program. Each format implements this trait once.
pub trait Program: Send + Sync {
    /// Returns a short description of the program.
    #[cfg(not(target_family = "wasm"))]
    fn brief(&self) -> Brief;

    /// Returns the facts for the top of a report.
    #[cfg(not(target_family = "wasm"))]
    fn info(&self, runner: &dyn Runner, diagnostics: &mut Diagnostics) -> Info;

    /// Returns the facts for the top of a report, except those that require reading all of a large program: hashes,
    /// packed sources.
    fn sections(&self, diagnostics: &mut Diagnostics) -> Vec<Section>;

    /// Returns the tables of the whole program.
    fn tables(&self, _diagnostics: &mut Diagnostics) -> Vec<Table> {
        Vec::new()
    }

    /// Returns the pieces of the program, without those that can't be read.
    fn pieces(&self) -> Pieces;

    /// Describes a piece.
    ///
    /// # Errors
    /// The piece can't be read.
    fn card(&self, piece: &Piece, diagnostics: &mut Diagnostics) -> Result<Card>;

    /// Returns the code of a piece. `path` is the name of the program in headings and messages.
    ///
    /// # Errors
    /// The piece can't be read.
    fn code_of(&self, piece: &Piece, path: &str, diagnostics: &mut Diagnostics) -> Result<Code<'_>>;

    /// Returns the bytes of a piece.
    ///
    /// # Errors
    /// The bytes can't be read or unpacked.
    fn bytes_of(&self, piece: &Piece) -> Result<PieceBytes<'_>>;

    /// Visits the embedded sources of a piece, or of the program if they belong to it as a whole.
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

    /// Passes the selected contents of the given `kinds` to `take` until it breaks.
    fn extract(
        &self,
        selection: &Selection,
        kinds: &[ExtractKind],
        diagnostics: &mut Diagnostics,
        take: &mut dyn FnMut(Extracted<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Checks structure, sizes and hashes, and whether the parts agree.
    fn verify(&self, runner: &dyn Runner, depth: VerifyDepth) -> Verdict;

    /// Emits a field for every byte.
    fn outline(&self, sink: &mut dyn OutlineSink);

    /// Returns what the rules of [`crate::load_check`] look at, per Metal library or loose AIR module. Empty if no rules are
    /// known.
    #[cfg(not(target_family = "wasm"))]
    fn load_facts(&self, _runner: &dyn Runner) -> Vec<NamedFacts> {
        Vec::new()
    }

    /// Returns the Metal libraries in it, for features that only they have: functions that `diff` matches.
    fn metal_libraries(&self) -> &[NamedLibrary<'_>] {
        &[]
    }

    /// Returns the file type that the program can be written as.
    fn writable(&self) -> Option<Writable> {
        None
    }
}

/// The formats that callers registered.
static REGISTERED: RwLock<Vec<&'static Format>> = RwLock::new(Vec::new());

/// Adds a format of the caller, which has to be [`carve::format::Format::Registered`]. A program calls this once,
/// before it opens its first file.
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

/// Returns the format of a program that carving found.
pub fn format_of(find: &Find<'_>) -> &'static Format {
    format(find.format)
}

/// Returns the entry of a format in the table.
pub fn format(format: carve::format::Format) -> &'static Format {
    let built_in = FORMATS.iter().find(|known| known.format == format).copied();
    let found = built_in.or_else(|| formats().into_iter().find(|known| known.format == format));
    // A registered signature always has a format.
    found.unwrap_or(&bitcode::FORMAT)
}

/// Returns the error for a piece that could not be read again.
fn no_piece(offset: u64) -> Error {
    Error::new(ErrorKind::BadValue, offset, "this can't be read")
}

/// Opens a program that carving found. Offsets in errors are offsets in the file, or in the unpacked member if the
/// program was compressed.
///
/// # Errors
/// The program's header can't be read.
pub fn open<'a>(find: &Find<'a>) -> Result<Box<dyn Program + 'a>> {
    (format_of(find).open)(find)
}
