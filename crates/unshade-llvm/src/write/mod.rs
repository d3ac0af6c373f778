//! Writes modules as LLVM bitcode, byte for byte as a given version of `llvm-as` does.
//!
//! | module | holds |
//! |---|---|
//! | `source` | what is written: a module and its bodies |
//! | `number` | the numbers of types, values, attributes and metadata |
//! | `operands` | the order of operands in LLVM |
//! | `stream` | blocks, records, and abbreviations |
//! | `block_info` | the abbreviations that all blocks of a kind share |
//! | `tables` | types, attributes, comdats and symbols |
//! | `constants`, `metadata` | the blocks of constants and metadata |
//! | `function`, `instruction` | the blocks of functions |
//! | `local_names`, `early_blocks`, `string_map` | the names of a function's values and blocks |
//! | `symbols` | the table of symbols for linkers |
//! | `summary`, `summary_records` | the ThinLTO summary |
//! | `use_lists` | orders of uses that a reader would not get by itself |
//! | `debug_records`, `block_addresses` | what LLVM 19 adds to functions |
//! | `dxc`, `old_debug_info` | what differs in the form of LLVM 3.7 that DXIL has |
//! | `fixed_names` | names that LLVM knows by number |
//! | `strings` | the string table |
//!
//! The numbers in what is written depend on nothing but the content of the module: the order of symbols, named
//! metadata, blocks, instructions and operands. Tables of the input may be in any order.
//!
//! ```
//! use unshade_llvm::write::{self, WriteInput, WriteOptions};
//! # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
//! let module = unshade_llvm::Module::parse(bytes, 0)?;
//! let bodies = module.bodies()?;
//! let written = write::module(&WriteInput::new(&module, &bodies), &WriteOptions::default())?;
//! let again = unshade_llvm::Module::parse(&written, 0)?;
//! assert_eq!(again.functions.len(), module.functions.len());
//! # Ok::<(), unshade_core::Error>(())
//! ```
//!
//! Knowledge: the blocks, abbreviations and orders of LLVM's `BitcodeWriter.cpp` (14 and 19), and the files that
//! `llvm-as` writes.

mod block_addresses;
mod block_info;
mod constants;
mod debug_records;
mod dxc;
mod early_blocks;
pub(crate) mod fixed_names;
mod function;
mod instruction;
mod library_calls;
mod local_names;
pub(crate) mod mangle;
mod metadata;
mod number;
mod old_debug_info;
mod operands;
mod origins;
mod source;
mod stream;
pub(crate) mod string_map;
mod strings;
mod summary;
mod summary_records;
pub(crate) mod symbols;
mod tables;
pub(crate) mod triple;
mod use_lists;
mod xxh3;

use crate::attribute_names::AttributeOrder;
use crate::blocks;
use crate::body::FunctionBody;
use crate::ids::ValueId;
use crate::metadata::Metadata;
use crate::module::Module;
use crate::summary::Summary;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use block_addresses::AddressUsers;
use block_info::Layouts;
use early_blocks::EarlyBlocks;
use fixed_names::Names;
use number::Numbering;
use stream::Stream;
use strings::StringTable;
use unshade_core::{Error, ErrorKind, Result};
use use_lists::UseLists;

pub(crate) use origins::Origins;

/// A version of LLVM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// LLVM 14, with typed pointers.
    #[default]
    Llvm14,
    /// LLVM 19, with opaque pointers.
    Llvm19,
    /// LLVM 3.7 as in DXC, the form of DXIL: with typed pointers, and without a string table.
    Dxc,
}

impl Version {
    /// Returns what the version writes as the producer of a file.
    fn producer(self) -> &'static str {
        match self {
            Self::Llvm14 => "LLVM14.0.6",
            Self::Llvm19 => "LLVM19.1.7",
            Self::Dxc => "LLVM3.7",
        }
    }

    /// Returns what is between the file and the name of a local symbol in the text whose digest is its GUID.
    pub(crate) fn guid_separator(self) -> u8 {
        if self == Self::Llvm19 { b';' } else { b':' }
    }

    /// Returns whether pointers have pointees.
    pub(crate) fn has_typed_pointers(self) -> bool {
        matches!(self, Self::Llvm14 | Self::Dxc)
    }

    /// Returns the order in which attributes are kept.
    pub(crate) fn attribute_order(self) -> AttributeOrder {
        match self {
            Self::Llvm14 => AttributeOrder::V14,
            Self::Llvm19 => AttributeOrder::V19,
            Self::Dxc => AttributeOrder::V3,
        }
    }
}

/// How to write a module.
#[derive(Clone, Debug)]
pub struct WriteOptions<'o> {
    /// The version of LLVM whose form is written.
    pub version: Version,
    /// What wrote the file, such as `LLVM14.0.6` [default: that of the version].
    pub producer: Option<&'o str>,
    /// Whether orders of use lists are written. As in LLVM, constants then are not sorted.
    pub use_list_orders: bool,
}

impl Default for WriteOptions<'_> {
    fn default() -> Self {
        Self { version: Version::default(), producer: None, use_list_orders: true }
    }
}

/// A module to write, with the bodies of its functions.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteInput<'i, 'a> {
    /// The module.
    pub module: &'i Module<'a>,
    /// The bodies of all functions that are defined.
    pub bodies: &'i [FunctionBody],
    /// When the uses of values were made, for a module that was not read. Without it the orders of use lists that the
    /// module has are written.
    pub use_order: Option<&'i UseOrder>,
}

/// The times at which the uses of values were made, from which the orders of use lists follow.
///
/// In memory the list of a value's uses begins with the last one. What is missing was made at time 0; of uses of the same
/// time, those of higher operands are later.
#[derive(Clone, Debug, Default)]
pub struct UseOrder {
    /// The time at which each constant was made, by its index in [`Module::constants`].
    pub constants: Vec<u32>,
    /// The time at which operands of constants that were forward references got their value: by the index of the
    /// constant, and of the operand.
    pub constant_operands: BTreeMap<(u32, u32), u32>,
    /// The time at which a symbol got its initializer, target, personality, prefix or prologue.
    pub symbols: BTreeMap<ValueId, u32>,
    /// The time at which operands of symbols that were forward references got their value: by symbol, and by operand,
    /// which of a function are personality, prefix and prologue.
    pub symbol_operands: BTreeMap<(ValueId, u32), u32>,
    /// The time at which each instruction was made: by body, and by its index in [`FunctionBody::instructions`].
    pub instructions: Vec<Vec<u32>>,
    /// The time at which operands that were forward references got their value: by body, and by their index in
    /// [`FunctionBody::operands`].
    pub forward: BTreeMap<(u32, u32), u32>,
    /// The time at which each order in [`Module::use_lists`] was given, which permutes the uses made before.
    pub module_lists: Vec<u32>,
    /// The time at which each order in [`FunctionBody::use_lists`] was given, by body.
    pub body_lists: Vec<Vec<u32>>,
}

impl<'i, 'a> WriteInput<'i, 'a> {
    /// Creates an input of a module and the bodies of its functions.
    pub fn new(module: &'i Module<'a>, bodies: &'i [FunctionBody]) -> Self {
        Self { module, bodies, use_order: None }
    }

    /// Sets when the uses of values were made.
    pub fn with_use_order(self, order: &'i UseOrder) -> Self {
        Self { use_order: Some(order), ..self }
    }
}

/// Writes a module as a bitcode file, or its summary alone if it has no function and no variable.
///
/// The hash of the module, if it has one, is not written.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if the module has something that can't be written, or not in the form of this version;
/// [`ErrorKind::BadValue`] or [`ErrorKind::OutOfRange`] if it refers to what does not exist.
pub fn module(input: &WriteInput<'_, '_>, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    check(input.module)?;
    let use_list_orders =
        options.use_list_orders && (options.version != Version::Dxc || dxc::keeps_use_lists(input));
    let options = &WriteOptions { use_list_orders, ..options.clone() };
    let summary = summary::of(input, options.version)?;
    if let Some(summary) = summary.as_ref().filter(|_| summary::is_combined(input.module)) {
        return summary::combined(summary, options.version);
    }
    let mut writer = Writer {
        numbering: Numbering::new(input, options)?,
        stream: Stream::new(),
        layouts: Layouts::default(),
        strings: StringTable::default(),
        tags: Names::tags(options.version, input.module)?,
        scopes: Names::scopes(input.module)?,
        version: options.version,
        use_list_orders: options.use_list_orders,
        address_users: AddressUsers::default(),
        early_blocks: EarlyBlocks::default(),
        predicted: None,
        summary,
    };
    if let Some(order) = input.use_order.filter(|_| options.use_list_orders) {
        writer.predicted = Some(use_lists::predict(&writer.numbering.source, order, options.version)?);
    }
    writer.early_blocks = EarlyBlocks::of(&writer.numbering.source)?;
    if options.version == Version::Llvm19 {
        writer.address_users = AddressUsers::of(&writer.numbering.source)?;
    }
    if options.version == Version::Dxc {
        writer.dxc_module()?;
        return Ok(writer.stream.finish());
    }
    let producer = options.producer.unwrap_or(options.version.producer());
    stream::identification(&mut writer.stream, producer.as_bytes(), input.module.epoch.unwrap_or(0))?;
    writer.module_block()?;
    symbols::write(&mut writer, producer)?;
    stream::blob_block(&mut writer.stream, blocks::STRTAB, writer.strings.bytes())?;
    Ok(symbols::wrapped(&input.module.triple, options.version, writer.stream.finish()))
}

/// Reports what can't be written yet.
fn check(module: &Module<'_>) -> Result<()> {
    let is_old_hint = |entry: Metadata| match entry {
        Metadata::String(string) => module.metadata.string(string).starts_with(b"llvm.vectorizer."),
        _ => false,
    };
    if module.metadata.old_strings && module.metadata.iter().any(|(_, entry)| is_old_hint(entry)) {
        // Readers only understand them in files as old as they are.
        return Err(unsupported("loop hints of LLVM 3.5 can't be written"));
    }
    if !module.upgrade_values.is_empty() {
        return Err(unsupported("an upgraded module can't be written"));
    }
    Ok(())
}

fn unsupported(message: &'static str) -> Error {
    Error::without_offset(ErrorKind::Unsupported, message)
}

/// The state of writing a module.
struct Writer<'i, 'a> {
    numbering: Numbering<'i, 'a>,
    stream: Stream,
    layouts: Layouts,
    strings: StringTable,
    tags: Names,
    scopes: Names,
    address_users: AddressUsers,
    early_blocks: EarlyBlocks,
    /// The orders of use lists, if they follow from times.
    predicted: Option<UseLists>,
    version: Version,
    use_list_orders: bool,
    summary: Option<Summary>,
}

impl Writer<'_, '_> {
    fn module_block(&mut self) -> Result<()> {
        let module = self.numbering.source.module;
        self.stream.enter(blocks::MODULE, 3, 0);
        self.stream.record(crate::module::code::VERSION, &[2]);
        self.layouts = Layouts::write(&mut self.stream, self.version, self.numbering.type_list().len())?;
        self.type_table()?;
        self.attribute_groups()?;
        self.attribute_lists()?;
        self.comdats();
        let symbol_table_at = self.module_info()?;
        self.module_constants()?;
        self.metadata_kinds(blocks::METADATA_KIND)?;
        self.module_metadata()?;
        self.use_lists(source::Scope::MODULE, &module.use_lists)?;
        self.names_block(blocks::OPERAND_BUNDLE_TAGS, 3)?;
        self.names_block(blocks::SYNC_SCOPE_NAMES, 2)?;
        let mut positions = Vec::new();
        for (at, function) in module.functions.iter().enumerate() {
            if let Some(scope) = self.numbering.source.body_of(at) {
                positions.push((function.symbol.value, self.stream.position()));
                self.function(scope, function)?;
            }
        }
        if let Some(summary) = self.summary.take() {
            summary::write(self, &summary)?;
        }
        self.function_positions(symbol_table_at, &positions)?;
        self.stream.leave()
    }

    /// Writes a block that lists the tags of operand bundles or the synchronisation scopes.
    fn names_block(&mut self, block: u32, width: u32) -> Result<()> {
        let names = if block == blocks::OPERAND_BUNDLE_TAGS { &self.tags } else { &self.scopes };
        self.stream.enter(block, width, 0);
        for name in &names.all {
            let characters: Vec<u64> = name.iter().map(|&byte| stream::sign_extended_64(byte)).collect();
            self.stream.record(1, &characters);
        }
        self.stream.leave()
    }
}
