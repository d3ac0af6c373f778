//! Parses LLVM assembly into a module: the text of LLVM 14 with typed pointers, of LLVM 15 to 19 with opaque ones, and of
//! DXC's disassembler, which is that of LLVM 3.7.
//!
//! | file | parses |
//! |---|---|
//! | `bitcode` | nothing: it does all that `llvm-as` does |
//! | `lexer` | tokens |
//! | `parser` | what all parts use |
//! | `types`, `attributes`, `numbers`, `constants` | the values of a module |
//! | `symbols`, `function` | variables, aliases, functions and their names |
//! | `instructions`, `memory`, `calls` | what is in blocks |
//! | `intrinsics` | the attributes of intrinsics, which LLVM knows |
//! | `implicit` | nothing: it declares intrinsics that a text does not |
//! | `checks` | what is valid besides the syntax |
//! | `positions` | nothing: it knows where in the text the parts of a module are, for the verifier |
//! | `early_folds` | nothing: it folds constants again whose symbols were not known |
//! | `labels` | addresses of blocks |
//! | `late` | nothing: it tells when constants are made that have placeholders at first |
//! | `metadata`, `debug_info`, `debug_values` | metadata |
//! | `debug_records` | debug records, source locations |
//! | `debug_calls` | nothing: it makes debug records of calls |
//! | `summary`, `summary_symbols`, `summary_types` | the ThinLTO summary |
//! | `strip` | nothing: it drops debug info that is not valid |
//! | `removal` | nothing: it removes instructions |
//! | `unite` | nothing: it makes equal metadata one |
//! | `upgrades` | nothing: it upgrades what is of older versions |
//! | `use_lists` | orders of uses |
//! | `uses` | when each use was set, for the order of uses |
//!
//! The result is the model that a bitcode file is read into ([`Module`], [`FunctionBody`]), with these differences:
//! all constants belong to the module, values of a function are numbered from 2²⁸ on and its metadata from 2²⁷ on, and
//! nothing is in the order of a file.
//!
//! ```
//! use unshade_llvm::assemble::{self, AssembleOptions};
//!
//! let text = b"define i32 @twice(i32 %x) {\n  %y = add i32 %x, %x\n  ret i32 %y\n}\n";
//! let assembled = assemble::assemble(text, &AssembleOptions::default())?;
//! assert_eq!(assembled.module.functions[0].symbol.name, b"twice");
//! assert_eq!(assembled.bodies[0].instructions.len(), 2);
//!
//! let error = assemble::assemble(b"define i32 @f() {\n  ret i32 %x\n}\n", &AssembleOptions::default()).unwrap_err();
//! assert_eq!((error.line, error.column), (2, 11));
//! # Ok::<(), assemble::SyntaxError>(())
//! ```
//!
//! Knowledge: LLVM's language reference, what `llvm-as` of LLVM 14 and 19 accepts, and what DXC's assembler does.

mod attributes;
mod bitcode;
mod calls;
mod checks;
mod constants;
mod debug_calls;
mod debug_info;
mod debug_records;
mod debug_values;
mod early_folds;
mod error;
mod function;
mod implicit;
mod instructions;
mod intrinsics;
mod labels;
mod late;
mod lexer;
mod memory;
mod metadata;
mod names;
mod numbers;
mod parser;
mod positions;
mod removal;
mod strip;
mod summary;
mod summary_symbols;
mod summary_types;
mod symbols;
mod types;
mod unite;
mod upgrades;
mod use_lists;
mod uses;

use crate::body::FunctionBody;
use crate::module::Module;
use crate::write::{UseOrder, WriteInput};
use alloc::vec::Vec;
use lexer::{Lexer, Token};
use memchr::memmem;
use parser::Parser;
use positions::Positions;

pub use crate::write::Version;
pub use bitcode::{Bitcode, Verify, Write, bitcode, bitcode_with};
pub use error::SyntaxError;
pub(crate) use lexer::parse_u64;
pub(crate) use positions::TextMap;

/// How a text is parsed.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssembleOptions {
    /// The version of LLVM that the module is for.
    pub version: Version,
}

/// A parsed module.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// Everything but the bodies of functions.
    pub module: Module<'static>,
    /// The bodies of the functions that are defined, in their order.
    pub bodies: Vec<FunctionBody>,
    /// When each use was set.
    pub uses: UseOrder,
    positions: Positions,
    /// Whether debug information was dropped, because the text does not state its version or has a wrong location.
    dropped_debug_info: bool,
}

impl Assembled {
    /// Returns what [`crate::write::module`] writes.
    pub fn input(&self) -> WriteInput<'_, 'static> {
        WriteInput::new(&self.module, &self.bodies).with_use_order(&self.uses)
    }
}

impl Version {
    /// Returns the version that a text is for: that of DXC if its target is DXIL, LLVM 19 if its pointers are opaque, else
    /// LLVM 14.
    pub fn of(text: &[u8]) -> Self {
        const TRIPLE: &[u8] = b"target triple";
        let targets_dxil = |at: usize| {
            let starts_line = at == 0 || text.get(at - 1) == Some(&b'\n');
            let triple = text.get(at + TRIPLE.len()..).map(<[u8]>::trim_ascii_start);
            let triple = triple.and_then(|triple| triple.strip_prefix(b"=")).map(<[u8]>::trim_ascii_start);
            starts_line && triple.is_some_and(|triple| triple.starts_with(b"\"dxil-"))
        };
        if memmem::find_iter(text, TRIPLE).any(targets_dxil) {
            return Self::Dxc;
        }
        let mut lexer = Lexer::new(text);
        loop {
            match lexer.token() {
                Token::Word(b"ptr") | Token::DebugRecord(_) => return Self::Llvm19,
                Token::Punctuation(b'*') | Token::End => return Self::Llvm14,
                _ => {}
            }
        }
    }
}

/// Parses a module.
///
/// # Errors
/// If the text is not valid assembly; the error says where.
pub fn assemble(text: &[u8], options: &AssembleOptions) -> Result<Assembled, SyntaxError> {
    Parser::new(text, options).parse().map_err(|fault| SyntaxError::new(text, fault))
}
