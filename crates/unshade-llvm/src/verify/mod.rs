//! Is a bitcode file sound?
//!
//! [`bitcode`] checks the structure of the stream, then each module: its tables, its bodies, the positions that it
//! states of its parts, its hash, and the symbol table for linkers. It checks whether the program is valid, as LLVM's
//! verifier does. The rules are listed in [`RULES`] and explained in `docs/verify.md`;
//! what the readers of a module find comes under their own rules, which begin with `llvm-`. The work is proportional to
//! the file: every body is read once.

mod ir;
pub(crate) mod positions;
mod symbols;

use crate::assemble::TextMap;
use crate::body::FunctionBody;
use crate::ids::narrow;
use crate::module::Module;
use crate::outline::{self, Contents};
use crate::sha1::Sha1;
use crate::write::{Version, WriteInput};
use crate::{analyzer_names, bitstream};
use alloc::format;
pub(crate) use ir::{Signature, intrinsic_signatures};
use unshade_core::{Diagnostics, Error, ErrorKind, Escaped, Reader, Result};

/// The rules that a bitcode file may break, with what each says.
pub const RULES: &[(&str, &str)] = &[
    ("bitcode-stream", "Every block, abbreviation and record of a stream can be read, and blocks end where they say."),
    ("bitcode-wrapper", "The wrapper's content is inside of the file."),
    ("bitcode-trailing", "Nothing but zeros follows a stream."),
    ("bitcode-alignment", "The size of a stream is a multiple of four bytes; LLVM refuses others."),
    ("bitcode-unknown", "A block or record that nobody has described."),
    ("bitcode-epoch", "The generation of the format is 0; LLVM refuses others."),
    ("bitcode-offset", "The positions that a module states of its bodies, symbols and metadata are the real ones."),
    ("bitcode-hash", "The hash of a module is that of its content."),
    ("bitcode-symbols", "The symbol table for linkers lists the symbols of the modules."),
    ("ir-type", "The operands and results of instructions have the types that the operation takes and makes."),
    ("ir-constant", "Constants fit their types, and constant expressions follow the rules of instructions."),
    ("ir-dominance", "Every operand is defined on every path to its use."),
    ("ir-flow", "Blocks end with one terminator, and terminators have operands that fit."),
    ("ir-phi", "A phi is first in its block and has one entry per predecessor."),
    ("ir-token", "Tokens are made and used by intrinsics and pads only."),
    ("ir-exception", "Pads are where exceptions lead, and unwinding leaves them in order."),
    ("ir-memory", "Accesses to memory have addresses, types and alignments that fit."),
    ("ir-atomic", "Atomic accesses have orderings, sizes and types that exist."),
    ("ir-call", "Calls pass what the function takes."),
    ("ir-tail-call", "A call that must be a tail call can be one."),
    ("ir-bundle", "Operand bundles have the operands that they take."),
    ("ir-assembly", "Operands of inline assembly fit its constraints."),
    ("ir-swift-error", "Swift's error variables are only loaded, stored and passed on."),
    ("ir-intrinsic", "Intrinsics have their types, and arguments that they allow."),
    ("ir-attribute", "Attributes are where they may be and don't conflict."),
    ("ir-dropped", "LLVM drops something of the module when it reads it, such as an attribute that does not fit its type."),
    ("ir-function", "Functions have types and linkage that functions can have."),
    ("ir-convention", "Functions have what their calling convention allows."),
    ("ir-global", "Variables have initial values and linkage that fit."),
    ("ir-alias", "Aliases lead to definitions."),
    ("ir-comdat", "Comdats have definitions only."),
    ("ir-metadata", "Metadata that LLVM reads has the shape that it needs."),
    ("ir-debug-info", "Debug information has the shape that LLVM needs; it drops all if it has not."),
    ("air-module", "An AIR module states the versions of AIR and of its language."),
    ("air-entry", "Entry points of AIR describe every parameter of their functions."),
    ("air-call", "Functions of the Metal library have the types in their names."),
    ("dxil-module", "A DXIL module has the metadata and functions that DXIL has."),
    ("dxil-entry", "Entry points of DXIL have a function, a name and properties that exist."),
    ("dxil-operation", "DXIL operations exist for the shader model, stage and type."),
    ("dxil-instruction", "DXIL has the instruction."),
    ("dxil-type", "DXIL has the type."),
    ("dxil-recursion", "No function of DXIL calls itself."),
];

/// Checks the bytes of a reader; findings are in file order.
///
/// ```
/// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
/// assert!(unshade_llvm::verify::bitcode(unshade_core::Reader::new(bytes)).is_empty());
/// let cut = &bytes[..bytes.len() - 100];
/// assert!(unshade_llvm::verify::bitcode(unshade_core::Reader::new(cut)).has_errors());
/// ```
pub fn bitcode(data: Reader<'_>) -> Diagnostics {
    let (bytes, base) = (data.rest(), data.offset());
    let mut diagnostics = Diagnostics::new();
    let contents = outline::contents_with(data, &mut diagnostics);
    unknown(&contents, &mut diagnostics);
    alignment(bytes, base, &mut diagnostics);
    match Module::parse_all(bytes, base) {
        Err(error) => diagnostics.error("llvm-module", error),
        Ok(modules) => {
            let mut body = FunctionBody::default();
            let mut table = symbols::Table::default();
            for module in modules {
                let Some(mut module) = diagnostics.take("llvm-module", module) else { continue };
                diagnostics.append(core::mem::take(&mut module.diagnostics));
                check_module(&module, &mut body, &mut diagnostics);
                table.add(&module, &mut diagnostics);
            }
            table.finish(&mut diagnostics);
        }
    }
    diagnostics.sort_by_offset();
    diagnostics
}

/// Checks the program in a module that was assembled: what `llvm-as` refuses a text for, at the positions in the text.
pub(crate) fn text(bytes: &[u8], map: &TextMap<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    if let Ok(module) = Module::parse(bytes, 0) {
        let mut body = FunctionBody::default();
        let mut verifier = ir::Verifier::of_written(&module, map);
        verifier.module(&mut diagnostics);
        for (index, _) in module.functions.iter().enumerate().filter(|(_, function)| function.body.is_some()) {
            if module.read_body(index, &mut body).is_ok() {
                verifier.body(&body, &mut diagnostics);
            }
        }
        verifier.finish(&mut diagnostics);
    }
    diagnostics.sort_by_offset();
    diagnostics
}

/// Returns whether [`text`] finds nothing in a module, as it was parsed for a version of LLVM. It may be wrong about a module
/// that is sound, because a file only has what is used.
pub(crate) fn is_sound(input: &WriteInput<'_, '_>, version: Version) -> bool {
    let mut found = Diagnostics::new();
    let mut verifier = ir::Verifier::of_text(input.module, version);
    verifier.module(&mut found);
    for body in input.bodies {
        verifier.body(body, &mut found);
    }
    verifier.finish(&mut found);
    found.is_empty()
}

fn check_module(module: &Module<'_>, body: &mut FunctionBody, diagnostics: &mut Diagnostics) {
    if let Some(epoch) = module.epoch.filter(|&epoch| epoch != 0) {
        let error = Error::new(ErrorKind::Unsupported, module.offset(), "bitcode of another generation")
            .expected("epoch 0")
            .found(format!("{epoch}"));
        diagnostics.error("bitcode-epoch", error);
    }
    positions::check(module, diagnostics);
    if let Err(error) = hash(module) {
        diagnostics.warning("bitcode-hash", error);
    }
    let mut verifier = ir::Verifier::new(module);
    verifier.module(diagnostics);
    for (index, function) in module.functions.iter().enumerate().filter(|(_, function)| function.body.is_some()) {
        let within = |error: Error| {
            let name = Escaped(&function.symbol.name).quoted();
            error.within(format!("function {index} {name}"))
        };
        let read = module.read_body(index, body).map_err(within);
        diagnostics.take("llvm-function", read);
        for finding in &body.diagnostics {
            let error = within(finding.error.clone());
            diagnostics.push(unshade_core::Diagnostic { error, ..finding.clone() });
        }
        verifier.body(body, diagnostics);
    }
    verifier.finish(diagnostics);
}

/// Warns of blocks and records that have no name.
fn unknown(contents: &Contents, diagnostics: &mut Diagnostics) {
    for (kind, unknown) in &contents.unknown {
        let block = analyzer_names::any_block(kind.block);
        let what = match kind.code {
            Some(code) => format!("record {code} of {block} is unknown"),
            None => format!("block {} is unknown", kind.block),
        };
        let error = Error::new(ErrorKind::Unsupported, unknown.offset, what)
            .found(format!("{} of them", unknown.count))
            .hint("a newer compiler than LLVM 19 may have written it");
        diagnostics.warning("bitcode-unknown", error);
    }
}

/// Warns of a stream that LLVM refuses for its size.
fn alignment(bytes: &[u8], base: u64, diagnostics: &mut Diagnostics) {
    let Ok(range) = bitstream::locate(bytes, base) else { return };
    let size = range.end.saturating_sub(range.start);
    if size % 4 != 0 {
        let offset = base.saturating_add(range.start as u64);
        let error = Error::new(ErrorKind::BadValue, offset, "the size of the stream is no multiple of four bytes")
            .found(format!("{size:#x} bytes"))
            .hint("LLVM refuses it; filled up with zeros it is read");
        diagnostics.warning("bitcode-alignment", error);
    }
}

/// Compares the hash that a module states: that of the names of its symbols, in the order of the records, and of the
/// words of its block before the hash.
fn hash(module: &Module<'_>) -> Result<()> {
    let Some(stated) = module.hash.filter(|_| module.version >= 2) else { return Ok(()) };
    let Some((content, offset)) = positions::hashed(module) else { return Ok(()) };
    let mut hash = Sha1::new();
    module.comdats.iter().for_each(|comdat| hash.update(&comdat.name));
    let globals = module.globals.iter().map(|global| &global.symbol);
    let functions = module.functions.iter().map(|function| &function.symbol);
    let aliases = module.aliases.iter().map(|alias| &alias.symbol);
    for symbol in globals.chain(functions).chain(aliases) {
        hash.update(&symbol.name);
        hash.update(&symbol.partition);
    }
    hash.update(content);
    let computed = hash.finish();
    if computed == stated {
        return Ok(());
    }
    let text = |words: [u32; 5]| words.map(|word| format!("{word:08x}")).concat();
    Err(Error::new(ErrorKind::BadChecksum, offset, "HASH does not match the module")
        .expected(text(computed))
        .found(text(stated)))
}

impl Module<'_> {
    /// The file offset of the module: of its identification block, if it has one.
    fn offset(&self) -> u64 {
        self.cursor_at(self.start).offset()
    }

    /// The index of the function that a value of the file is.
    fn function_of(&self, value: u64) -> Option<usize> {
        match self.values.get(narrow(value) as usize)?.kind {
            crate::value::ValueKind::Function(index) => Some(index as usize),
            _ => None,
        }
    }
}
