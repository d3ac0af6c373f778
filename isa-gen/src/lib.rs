//! The tables of instruction sets in `isa/`: read, checked, and turned into what is checked in.
//!
//! An *operation* (`FFMA`, `LD`) is described once, in `operations.isa`: how it is written, what its operands are, what
//! it does. A *generation's* file (`sm_35.isa`) only says which bits are which. `docs/isa.md` tells both grammars.
//!
//! | module | thing |
//! |---|---|
//! | [`model`] | what the tables say, as data: the one source for every back end |
//! | [`lex`] | lines and words with their places |
//! | [`parse_operations`], [`parse_generation`] | text → model; layouts and forms are expanded here |
//! | [`semantics`] | the language in which operations say what they do |
//! | [`lower`] | the same, typed and as p-code: what both back ends write |
//! | [`check`] | bits claimed twice or by nobody, words that two rows match, slots that no template names |
//! | [`rust_tables`] | the static tables of `unshade-sass` |
//! | [`rust_semantics`] | what operations do, for `unshade-sass` |
//! | [`sleigh`] | the Ghidra processor module |
//! | [`pages`] | reference pages with bit diagrams |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod check;
pub mod lex;
pub mod lower;
pub mod model;
pub mod pages;
pub mod parse_generation;
pub mod parse_operations;
pub mod rust_semantics;
pub mod rust_tables;
pub mod semantics;
pub mod sleigh;

pub use model::Isa;

/// What is wrong with a table, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for Error {}

/// A result whose error names a line of a table.
pub type Result<T> = std::result::Result<T, Error>;

/// Reads the operations and then each generation, and checks them.
///
/// # Errors
///
/// Every fault that was found, in the order of the files.
pub fn load(operations: (&str, &str), generations: &[(&str, &str)]) -> std::result::Result<Isa, Vec<Error>> {
    let mut isa = parse_operations::parse(operations.0, operations.1).map_err(|error| vec![error])?;
    let mut errors = check::operations(&isa);
    let (programs, faults) = check::programs(&isa);
    isa.programs = programs;
    errors.extend(faults);
    for (file, text) in generations {
        match parse_generation::parse(&isa, file, text) {
            Ok(generation) => {
                errors.extend(check::generation(&isa, &generation));
                isa.generations.push(generation);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(isa) } else { Err(errors) }
}
