//! What a module says of itself, and its functions: what a listing of a bitcode file shows.
//!
//! [`ModuleFacts`] is read from the module's tables alone. [`functions`] lists functions without reading their bodies;
//! what only a body says is read on demand by [`body_size`].

use crate::bitstream::WRAPPER_MAGIC;
use crate::blocks;
use crate::body::FunctionBody;
use crate::global::{Function, Linkage};
use crate::module::Module;
use crate::outline;
use crate::print::{Dialect, TypeNames, push_name};
use crate::types::Type;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Reader, Result};

/// Darwin's wrapper around a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// The version: 0.
    pub version: u32,
    /// Where the stream starts, in bytes from the wrapper.
    pub offset: u32,
    /// The size of the stream in bytes.
    pub size: u32,
    /// A CPU type of Mach-O's.
    pub cpu_type: u32,
}

impl Wrapper {
    /// Reads the wrapper at the start of a file, if there is one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes.strip_prefix(&WRAPPER_MAGIC)?);
        let mut word = || reader.u32().ok();
        Some(Self { version: word()?, offset: word()?, size: word()?, cpu_type: word()? })
    }

    /// The name of the CPU type; empty if it has none.
    pub fn cpu_name(&self) -> &'static str {
        outline::cpu_type(self.cpu_type)
    }
}

/// The debug information of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugFacts {
    /// Number of compile units.
    pub compile_units: usize,
    /// The version of DWARF that is asked for.
    pub dwarf_version: Option<u64>,
    /// Whether CodeView is asked for.
    pub code_view: bool,
    /// The version of the metadata: 3 as of LLVM 3.7.
    pub metadata_version: Option<u64>,
}

/// What a module says of itself. Texts are bytes of the file, to be escaped when shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleFacts {
    /// What wrote the bitcode, such as `LLVM14.0.6`; empty if it is not stored.
    pub producer: Vec<u8>,
    /// The generation of the format: 0, if it is stored.
    pub epoch: Option<u64>,
    /// What compiled the source, such as `clang version 14.0.6`.
    pub compiler: Option<Vec<u8>>,
    /// The version of the records: from 1 on operands are relative, from 2 on names are in a table.
    pub version: u32,
    /// The name of the source file.
    pub source_file: Option<Vec<u8>>,
    /// The target triple.
    pub triple: Vec<u8>,
    /// The data layout.
    pub data_layout: Vec<u8>,
    /// Number of functions with a body.
    pub definitions: usize,
    /// Number of functions without a body.
    pub declarations: usize,
    /// Number of global variables.
    pub globals: usize,
    /// Number of aliases.
    pub aliases: usize,
    /// Number of indirect functions.
    pub indirect_functions: usize,
    /// Debug information, if there is any.
    pub debug: Option<DebugFacts>,
    /// The size of the string table in bytes, if the stream has one.
    pub string_table: Option<usize>,
    /// The size of the symbol table for linkers in bytes, if the stream has one.
    pub symbol_table: Option<usize>,
    /// The SHA-1 that the module states of itself.
    pub hash: Option<[u32; 5]>,
}

impl ModuleFacts {
    /// Reads the facts of a module.
    ///
    /// ```
    /// use unshade_llvm::facts::ModuleFacts;
    /// # let bytes = include_bytes!("../tests/fixtures/air_like.bc");
    /// let facts = ModuleFacts::new(&unshade_llvm::Module::parse(bytes, 0)?);
    /// assert_eq!((facts.producer.as_slice(), facts.epoch), (&b"LLVM14.0.6"[..], Some(0)));
    /// assert_eq!((facts.definitions, facts.declarations), (1, 3));
    /// # Ok::<(), unshade_core::Error>(())
    /// ```
    pub fn new(module: &Module<'_>) -> Self {
        let declarations = module.functions.iter().filter(|function| function.declaration).count();
        let indirect = module.aliases.iter().filter(|alias| alias.indirect).count();
        Self {
            producer: module.producer.clone(),
            epoch: module.epoch,
            compiler: module.ident().map(<[u8]>::to_vec),
            version: module.version,
            source_file: module.source_filename.clone(),
            triple: module.triple.clone(),
            data_layout: module.data_layout_text.clone(),
            definitions: module.functions.len().saturating_sub(declarations),
            declarations,
            globals: module.globals.len(),
            aliases: module.aliases.len().saturating_sub(indirect),
            indirect_functions: indirect,
            debug: debug(module),
            string_table: module.string_table.map(|table| table.bytes.len()),
            symbol_table: module.symbol_table.map(|table| table.bytes.len()),
            hash: module.hash,
        }
    }
}

fn debug(module: &Module<'_>) -> Option<DebugFacts> {
    let compile_units = module.named(b"llvm.dbg.cu").len();
    let metadata_version = module.flag(b"Debug Info Version");
    (compile_units > 0).then(|| DebugFacts {
        compile_units,
        dwarf_version: module.flag(b"Dwarf Version"),
        code_view: module.flag(b"CodeView").is_some(),
        metadata_version,
    })
}

/// A function of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionFacts {
    /// Its index in [`Module::functions`].
    pub index: usize,
    /// The name, as bytes of the file; empty if it has none.
    pub name: Vec<u8>,
    /// Whether it has no body.
    pub declaration: bool,
    /// The linkage.
    pub linkage: Linkage,
    /// The bytes of the file that hold its body, if it has one.
    pub body: Option<Range<u64>>,
    /// Result, name and types of parameters, such as `i32 @main(i32, i8**)`, with pointers as the file has them.
    pub signature: String,
}

/// The functions of a module, in the order of the file.
///
/// ```
/// # let bytes = include_bytes!("../tests/fixtures/use_lists.bc");
/// let module = unshade_llvm::Module::parse(bytes, 0)?;
/// let functions = unshade_llvm::facts::functions(&module);
/// assert!(functions[0].signature.starts_with("i32 @"), "{}", functions[0].signature);
/// # Ok::<(), unshade_core::Error>(())
/// ```
pub fn functions(module: &Module<'_>) -> Vec<FunctionFacts> {
    let types = TypeNames::new(module, Dialect::Llvm14);
    // Symbols without a name are numbered: variables first, then aliases, then functions.
    let globals = module.globals.iter().map(|global| &global.symbol);
    let symbols = globals.chain(module.aliases.iter().map(|alias| &alias.symbol));
    let mut unnamed = symbols.filter(|symbol| symbol.name.is_empty()).count();
    let facts = |(index, function): (usize, &Function)| {
        let number = unnamed;
        unnamed = unnamed.saturating_add(usize::from(function.symbol.name.is_empty()));
        FunctionFacts {
            index,
            name: function.symbol.name.clone(),
            declaration: function.declaration,
            linkage: function.symbol.linkage,
            body: function.body.and_then(|position| body_range(module, position)),
            signature: signature(module, &types, function, number),
        }
    };
    module.functions.iter().enumerate().map(facts).collect()
}

/// The signature of a function, which is called by `number` if it has no name.
fn signature(module: &Module<'_>, types: &TypeNames, function: &Function, number: usize) -> String {
    let mut text = String::new();
    let ty = module.types.get(function.symbol.ty);
    let Type::Function { result, parameters, variadic } = ty else {
        return String::from(types.get(function.symbol.ty));
    };
    text.push_str(types.get(result));
    text.push_str(" @");
    match function.symbol.name.as_slice() {
        [] => text.push_str(&alloc::format!("{number}")),
        name => push_name(&mut text, name),
    }
    text.push('(');
    for (index, parameter) in module.types.elements(parameters).iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        text.push_str(types.get(*parameter));
    }
    if variadic {
        text.push_str(if module.types.elements(parameters).is_empty() { "..." } else { ", ..." });
    }
    text.push(')');
    text
}

/// The bytes of the file that hold the block of a body.
fn body_range(module: &Module<'_>, position: usize) -> Option<Range<u64>> {
    let mut cursor = module.cursor_at(position);
    let base = cursor.base();
    // Before the position are the id of the block in eight bits, and the id of its abbreviation in three.
    let start = position.saturating_sub(11) >> 3;
    let size = cursor.enter_sized_block(blocks::FUNCTION).ok()?;
    let end = cursor.position().saturating_add(size).div_ceil(8);
    Some(base.saturating_add(start as u64)..base.saturating_add(end as u64))
}

/// How much is in a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodySize {
    /// Number of basic blocks.
    pub blocks: usize,
    /// Number of instructions.
    pub instructions: usize,
}

/// Reads the body of a function into `body`, whose buffers are used again, and counts what is in it.
///
/// # Errors
/// If the function has no body. Of a damaged body what could be read is counted, and `body` says what is wrong.
pub fn body_size(module: &Module<'_>, function: usize, body: &mut FunctionBody) -> Result<BodySize> {
    module.read_body(function, body)?;
    Ok(BodySize { blocks: body.blocks.len(), instructions: body.instructions.len() })
}
