//! Parses and checks the tables of instruction sets in `isa/`, and generates the committed files from them.
//!
//! An *operation* (`FFMA`, `LD`) is described once, in `operations.isa`: its text, its operands and its semantics. The
//! file of a *generation* (`sm_35.isa`) only defines the encoding. `docs/isa.md` describes both grammars.
//!
//! | module | contents |
//! |---|---|
//! | [`model`] | the data model of the tables, the input of all back ends |
//! | [`lex`] | lines and words with their line numbers |
//! | [`parse_operations`], [`parse_generation`] | parsers; the second expands layouts and forms |
//! | [`semantics`] | the language for the semantics of operations |
//! | [`lower`] | typed semantics as p-code, the input of both back ends |
//! | [`check`] | bits in two fields or none, words that match two encodings, slots that no template uses |
//! | [`packed`] | the binary tables of `unshade-sass` |
//! | [`rust_tables`] | lists of `unshade-sass` as Rust source |
//! | [`rust_semantics`] | the semantics of operations for `unshade-sass` |
//! | [`sleigh`] | the Ghidra processor module |
//! | [`pages`] | reference pages with bit diagrams |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod check;
pub mod lex;
pub mod lower;
pub mod model;
pub mod packed;
pub mod pages;
pub mod parse_generation;
pub mod parse_operations;
pub mod rust_semantics;
pub mod rust_tables;
pub mod semantics;
pub mod sleigh;

pub use model::Isa;

/// An error in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The name of the file.
    pub file: String,
    /// The line number, from 1.
    pub line: usize,
    /// The message.
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for Error {}

/// A result whose error has a line of a table.
pub type Result<T> = std::result::Result<T, Error>;

/// Parses the files of operations and then those of generations, each with its name, and checks them.
///
/// # Errors
///
/// All errors, in the order of the files.
pub fn load(
    operations: &[(&str, &str)],
    generations: &[(&str, &str)],
) -> std::result::Result<Isa, Vec<Error>> {
    let mut isa = parse_operations::parse(operations).map_err(|error| vec![error])?;
    let mut errors = check::operations(&isa);
    let (programs, faults) = check::programs(&isa);
    isa.programs = programs;
    errors.extend(faults);
    let mut parsed = Vec::new();
    for (file, text) in generations {
        match parse_generation::parse(&isa, file, text, &parsed) {
            Ok(one) => {
                errors.extend(check::generation(&isa, &one.generation));
                isa.generations.push(one.generation.clone());
                parsed.push(one);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(isa) } else { Err(errors) }
}
