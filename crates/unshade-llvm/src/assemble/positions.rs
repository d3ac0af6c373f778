//! Where the parts of a parsed module are in its text, and what is wrong with its program.
//!
//! The verifier checks the module that was written and read again, because a file has only what is used. Its symbols and
//! instructions are in the order of the parsed module; what its other numbers mean, the writer knows.

use super::error::Fault;
use super::{Assembled, SyntaxError};
use crate::global::Symbol;
use crate::ids::{MetadataId, ValueId};
use crate::verify;
use crate::write::{Origins, WriteOptions};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use unshade_core::Diagnostic;

/// Positions in a text, as the number of bytes before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions {
    /// The names of symbols where they are defined.
    pub(super) symbols: BTreeMap<ValueId, usize>,
    /// The instructions of each body, in their order.
    pub(super) instructions: Vec<Vec<usize>>,
    /// The ends of nodes, in the order in which they are complete.
    pub(super) nodes: Vec<(MetadataId, usize)>,
    /// The first node of each named metadata, in its order.
    pub(super) named: Vec<usize>,
    /// The ends of constants, by index.
    pub(super) constants: Vec<usize>,
}

impl Assembled {
    /// Checks the program: what LLVM's verifier refuses of a text. `bitcode` is what [`crate::write::module`] wrote of this
    /// module with these options, and `text` what it was parsed from. The errors are in the order of the module; each
    /// names the function and instruction, and is at their place in the text. Nothing is checked without the feature
    /// `program-rules`.
    ///
    /// ```
    /// use unshade_llvm::assemble::{self, AssembleOptions};
    /// use unshade_llvm::write::{self, WriteOptions};
    ///
    /// let text = b"define i32 @f(i1 %x) {\n  br i1 %x, label %a, label %b\na:\n  %y = add i32 1, 2\n  br label %b\n\
    ///     b:\n  ret i32 %y\n}\n";
    /// let assembled = assemble::assemble(text, &AssembleOptions::default())?;
    /// let bitcode = write::module(&assembled.input(), &WriteOptions::default())?;
    /// let errors = assembled.verify(text, &bitcode, &WriteOptions::default());
    /// assert_eq!((errors[0].line, errors[0].column), (7, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self, text: &[u8], bitcode: &[u8], options: &WriteOptions<'_>) -> Vec<SyntaxError> {
        let map = TextMap { assembled: self, options, origins: OnceCell::new() };
        let error = |one: &Diagnostic| {
            let found = one.error.finding().map_or_else(String::new, |found| alloc::format!(": found {found}"));
            let message = alloc::format!("{}{found}", one.error.message());
            let position = one.error.offset().and_then(|offset| usize::try_from(offset).ok()).unwrap_or(0);
            SyntaxError::new(text, Fault::new(position, message))
        };
        verify::text(bitcode, &map).iter().map(error).collect()
    }
}

/// The positions of the parts of a module that was written, by their numbers in the file.
pub(crate) struct TextMap<'m> {
    assembled: &'m Assembled,
    options: &'m WriteOptions<'m>,
    /// What numbers in the file mean; known once they are asked for.
    origins: OnceCell<Origins>,
}

impl TextMap<'_> {
    fn origins(&self) -> &Origins {
        self.origins.get_or_init(|| Origins::of(&self.assembled.input(), self.options).unwrap_or_default())
    }

    fn symbol(&self, symbol: Option<&Symbol>) -> Option<usize> {
        self.assembled.positions.symbols.get(&symbol?.value).copied()
    }

    /// Returns the position of a variable.
    pub(crate) fn global(&self, index: usize) -> Option<usize> {
        self.symbol(self.assembled.module.globals.get(index).map(|global| &global.symbol))
    }

    /// Returns the position of a function.
    pub(crate) fn function(&self, index: usize) -> Option<usize> {
        self.symbol(self.assembled.module.functions.get(index).map(|function| &function.symbol))
    }

    /// Returns the position of an alias or ifunc.
    pub(crate) fn alias(&self, index: usize) -> Option<usize> {
        self.symbol(self.assembled.module.aliases.get(index).map(|alias| &alias.symbol))
    }

    /// Returns the position of an instruction of a function.
    pub(crate) fn instruction(&self, function: u32, index: u32) -> Option<usize> {
        let body = self.assembled.bodies.iter().position(|body| body.function == function)?;
        self.assembled.positions.instructions.get(body)?.get(index as usize).copied()
    }

    /// Returns the position of a node of the module, or of a function.
    pub(crate) fn metadata(&self, function: u32, id: MetadataId) -> Option<usize> {
        let origin = self.origins().metadata(function, id)?;
        let nodes = &self.assembled.positions.nodes;
        nodes.iter().find(|(node, _)| *node == origin).map(|(_, position)| *position)
    }

    /// Returns the position of named metadata.
    pub(crate) fn named(&self, index: usize) -> Option<usize> {
        self.assembled.positions.named.get(index).copied()
    }

    /// Returns the position of a constant of the module.
    pub(crate) fn constant(&self, id: ValueId) -> Option<usize> {
        let index = self.assembled.module.constant_index(self.origins().constant(id)?)?;
        self.assembled.positions.constants.get(index as usize).copied()
    }
}
