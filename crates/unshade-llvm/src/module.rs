//! A module: everything but the bodies of functions, which are read when asked for.
//!
//! At the top of a stream stand the blocks `IDENTIFICATION`, `MODULE`, and (from LLVM 5 on) `STRTAB` with the names
//! of symbols and `SYMTAB`, which holds nothing new. Names are needed while the module is read, so the string
//! table, which stands behind it, is looked up first.
//!
//! Knowledge: `ModuleCodes` of LLVM's `LLVMBitCodes.h` (3.2 to 19).

use crate::attributes::Attributes;
use crate::bitstream::{self, Abbreviations, Cursor, Entry, Record};
use crate::blocks;
use crate::body::{FunctionBody, UseList};
use crate::body_reader::BodyReader;
use crate::constants::{Constant, Constants};
use crate::data_layout::DataLayout;
use crate::global::{Alias, Comdat, Function, GlobalVariable};
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::{Extras, Metadata, MetadataTable, MetadataTypes, NamedMetadata, Node};
use crate::source_map::Setting;
use crate::types::{Type, TypeTable};
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

/// A module as read from bitcode.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    stream: &'a [u8],
    base: u64,
    /// Where the module's block stands in the stream, in bits.
    position: usize,
    abbreviations: Abbreviations,
    /// Where the module starts in the stream, in bits: its identification block, if it has one.
    pub(crate) start: usize,
    /// What wrote the file, from its identification block; empty if there is none.
    pub producer: Vec<u8>,
    /// The generation of the format, from its identification block; LLVM refuses all but 0.
    pub epoch: Option<u64>,
    /// The hash that the module states of itself: the SHA-1 of its block and of the names in it.
    pub hash: Option<[u32; 5]>,
    /// The version of the module's records: from 1 on operands are relative, from 2 on names are in a table.
    pub version: u32,
    /// The target triple.
    pub triple: Vec<u8>,
    /// The data layout as text.
    pub data_layout_text: Vec<u8>,
    /// The data layout.
    pub data_layout: DataLayout,
    /// The name of the source file, if it is stored.
    pub source_filename: Option<Vec<u8>>,
    /// Assembly on the level of the module.
    pub assembly: Vec<u8>,
    /// All types.
    pub types: TypeTable,
    /// All attributes.
    pub attributes: Attributes,
    /// Names of sections.
    pub sections: Vec<Vec<u8>>,
    /// Names of garbage collectors.
    pub(crate) collectors: Vec<Vec<u8>>,
    /// All comdats.
    pub comdats: Vec<Comdat>,
    /// Global variables.
    pub globals: Vec<GlobalVariable>,
    /// Functions, defined and declared.
    pub functions: Vec<Function>,
    /// Aliases and ifuncs.
    pub aliases: Vec<Alias>,
    /// The values of the module: globals, functions, aliases and constants.
    pub values: Vec<Value>,
    /// The constants of the module.
    pub constants: Constants,
    /// The metadata of the module.
    pub metadata: MetadataTable,
    /// Named metadata.
    pub named_metadata: Vec<NamedMetadata>,
    /// The names of kinds of attachments, by the numbers of the file.
    pub metadata_kinds: Vec<(u32, Vec<u8>)>,
    /// The tags of operand bundles.
    pub bundle_tags: Vec<Vec<u8>>,
    /// The names of synchronisation scopes.
    pub sync_scopes: Vec<Vec<u8>>,
    /// Orders of the uses of module-level values.
    pub use_lists: Vec<UseList>,
    /// Values that an upgrade added, numbered from [`Module::EXTRA`] on.
    pub(crate) extra: Vec<Value>,
    /// Where what its summary is read from stands.
    pub(crate) summary_parts: crate::summary::Parts,
    /// The string table, if the stream has one.
    pub(crate) string_table: Option<Blob<'a>>,
    /// The table of symbols for linkers, if the stream has one for its modules.
    pub(crate) symbol_table: Option<Blob<'a>>,
    /// The bytes of the string table.
    pub(crate) strings: &'a [u8],
    /// What was wrong.
    pub diagnostics: Diagnostics,
}

mod code {
    pub(super) const VERSION: u32 = 1;
    pub(super) const TRIPLE: u32 = 2;
    pub(super) const DATALAYOUT: u32 = 3;
    pub(super) const ASM: u32 = 4;
    pub(super) const SECTIONNAME: u32 = 5;
    pub(super) const GLOBALVAR: u32 = 7;
    pub(super) const FUNCTION: u32 = 8;
    pub(super) const ALIAS_OLD: u32 = 9;
    pub(super) const GCNAME: u32 = 11;
    pub(super) const COMDAT: u32 = 12;
    pub(super) const ALIAS: u32 = 14;
    pub(super) const SOURCE_FILENAME: u32 = 16;
    pub(super) const HASH: u32 = 17;
    pub(super) const IFUNC: u32 = 18;
}

/// What a record of the module's block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A global, function or alias: the next value.
    Symbol,
    /// One of the module's own words.
    Setting(Setting),
    /// Something else.
    Other,
}

impl Kind {
    pub(crate) fn of(code: u32) -> Self {
        match code {
            code::GLOBALVAR | code::FUNCTION | code::ALIAS | code::ALIAS_OLD | code::IFUNC => Self::Symbol,
            code::SOURCE_FILENAME => Self::Setting(Setting::SourceFilename),
            code::DATALAYOUT => Self::Setting(Setting::DataLayout),
            code::TRIPLE => Self::Setting(Setting::Triple),
            _ => Self::Other,
        }
    }
}

/// The largest alignment, as an exponent plus one: 4 GiB.
const MAX_ALIGNMENT: u64 = 33;

fn text(values: &[u64]) -> Vec<u8> {
    values.iter().map(|&c| c.to_le_bytes()[0]).collect()
}

impl<'a> Module<'a> {
    /// Reads the first module of a stream whose first byte (or that of its wrapper) stands at `base` in a file.
    ///
    /// What can't be read is told in [`Module::diagnostics`]; bodies are not looked at.
    ///
    /// # Errors
    /// If this is no bitcode, or the stream breaks off before the module's tables are complete.
    pub fn parse(bytes: &'a [u8], base: u64) -> Result<Self> {
        let mut modules = Modules::find(bytes, base)?;
        let first = modules.next();
        first.unwrap_or_else(|| Err(Error::new(ErrorKind::BadValue, base, "bitcode without a module")))
    }

    /// Reads all modules of a stream, as clang writes two for ThinLTO with virtual tables and `llvm-cat -b` puts many
    /// into one file.
    ///
    /// # Errors
    /// If this is no bitcode, or holds no module. A module that can't be read is an error of its own.
    pub fn parse_all(bytes: &'a [u8], base: u64) -> Result<Modules<'a>> {
        Modules::find(bytes, base)
    }

    fn read(stream: &'a [u8], base: u64, found: Found<'a>) -> Result<Self> {
        let mut module = Self {
            stream,
            base,
            position: found.position,
            start: found.start,
            producer: found.producer,
            epoch: found.epoch,
            strings: found.strings.map(|strings| strings.bytes).unwrap_or_default(),
            string_table: found.strings,
            symbol_table: found.symbols,
            ..Self::default()
        };
        let mut cursor = module.cursor_at_module();
        cursor.enter_block(blocks::MODULE)?;
        let read = module.read_module(&mut cursor);
        module.abbreviations = cursor.abbreviations().clone();
        match read {
            // Without types nothing can be said; with them, whatever follows may be told apart.
            Err(error) if module.types.is_empty() => Err(error),
            Err(error) => {
                module.diagnostics.error("llvm-module", error);
                Ok(module)
            }
            Ok(()) => Ok(module),
        }
    }

    fn read_module(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let mut record = Record::default();
        let mut extras = Extras::default();
        let mut bodies = Vec::new();
        let outcome = loop {
            match cursor.advance_entry() {
                Ok(Entry::EndBlock) => break Ok(()),
                Ok(Entry::Block(block)) => {
                    if let Err(error) = self.read_block(cursor, block, &mut extras, &mut bodies) {
                        break Err(error);
                    }
                }
                Ok(Entry::Record(id)) => {
                    if let Err(error) = cursor.read_record(id, &mut record) {
                        break Err(error);
                    }
                    self.take(&record);
                }
                Err(error) => break Err(error),
            }
        };
        self.finish(extras, &bodies);
        outcome
    }

    fn read_block(
        &mut self,
        cursor: &mut Cursor<'a>,
        block: u32,
        extras: &mut Extras,
        bodies: &mut Vec<usize>,
    ) -> Result<()> {
        match block {
            blocks::BLOCKINFO => cursor.read_block_info(),
            blocks::PARAMATTR => self.attributes.read_lists(cursor, block),
            blocks::PARAMATTR_GROUP => self.attributes.read_groups(cursor, block, &mut self.diagnostics),
            blocks::TYPE_NEW => {
                self.types = TypeTable::read(cursor, block, &mut self.diagnostics)?;
                Ok(())
            }
            blocks::CONSTANTS => {
                self.constants.read(cursor, block, &self.types, &mut self.values, &mut self.diagnostics)
            }
            blocks::METADATA => {
                let types = self.metadata_types();
                self.metadata.read(cursor, block, types, extras, &mut self.diagnostics)
            }
            blocks::METADATA_KIND => for_records(cursor, block, |record| {
                if record.code == crate::metadata::code::KIND {
                    extras.kinds.extend(crate::metadata::kind_of(&record.values));
                }
            }),
            blocks::VALUE_SYMTAB => for_records(cursor, block, |record| self.take_name(record)),
            blocks::OPERAND_BUNDLE_TAGS => {
                for_records(cursor, block, |record| self.bundle_tags.push(text(&record.values)))
            }
            blocks::SYNC_SCOPE_NAMES => {
                for_records(cursor, block, |record| self.sync_scopes.push(text(&record.values)))
            }
            blocks::USELIST => for_records(cursor, block, |record| {
                if let Some((&id, order)) = record.values.split_last() {
                    let order = order.iter().map(|&index| narrow(index)).collect();
                    self.use_lists.push(UseList { block: record.code == 2, id: narrow(id), order });
                }
            }),
            blocks::FUNCTION => {
                bodies.push(cursor.position());
                cursor.skip_block()
            }
            blocks::MODULE_STRTAB => for_records(cursor, block, |record| self.summary_parts.add_module(record)),
            block if crate::summary::is_summary(block) => {
                self.summary_parts.add_block(block, cursor.position());
                cursor.skip_block()
            }
            _ => cursor.skip_block(),
        }
    }

    fn take(&mut self, record: &Record) {
        let values = record.values.as_slice();
        self.check(record);
        let taken = match record.code {
            code::VERSION => {
                self.version = values.first().map_or(0, |&version| narrow(version));
                Some(())
            }
            code::TRIPLE => {
                self.triple = text(values);
                Some(())
            }
            code::DATALAYOUT => {
                self.data_layout_text = text(values);
                self.data_layout = DataLayout::parse(&self.data_layout_text);
                Some(())
            }
            code::ASM => {
                self.assembly = text(values);
                Some(())
            }
            code::SECTIONNAME => {
                self.sections.push(text(values));
                Some(())
            }
            code::GCNAME => {
                self.collectors.push(text(values));
                Some(())
            }
            code::SOURCE_FILENAME => {
                self.source_filename = Some(text(values));
                Some(())
            }
            code::GLOBALVAR => self.take_global(values),
            code::FUNCTION => self.take_function(values),
            code::ALIAS | code::ALIAS_OLD | code::IFUNC => {
                self.take_alias(values, record.code == code::ALIAS_OLD, record.code == code::IFUNC)
            }
            code::COMDAT => self.take_comdat(values),
            code::HASH => {
                self.summary_parts.set_hash(values);
                self.hash = Some(crate::summary::hash_of(values));
                Some(())
            }
            // Libraries to link, positions of tables: nothing that is printed.
            _ => Some(()),
        };
        if taken.is_none() {
            let error = Error::new(ErrorKind::BadValue, record.offset, "record of the module that can't be read")
                .found(alloc::format!("code {} of {} operands", record.code, values.len()));
            self.diagnostics.error("llvm-module", error);
            if Kind::of(record.code) == Kind::Symbol {
                // It has a number all the same.
                self.values.push(Value { kind: ValueKind::Unresolved, ty: crate::ids::TypeId::NONE });
            }
        }
    }

    /// Tells of what a record refers to and is not there, or can't be: names, comdats, alignments.
    fn check(&mut self, record: &Record) {
        let names = matches!(
            record.code,
            code::GLOBALVAR | code::FUNCTION | code::ALIAS | code::IFUNC | code::COMDAT
        );
        let (mut rest, mut wrong) = (record.values.as_slice(), None);
        if names
            && self.version >= 2
            && let Some((&[offset, size], fields)) = rest.split_first_chunk::<2>()
        {
            rest = fields;
            if offset.saturating_add(size) > self.strings.len() as u64 {
                wrong = Some("a name outside of the string table");
            }
        }
        let comdat = match record.code {
            code::GLOBALVAR => rest.get(11),
            code::FUNCTION => rest.get(12),
            _ => None,
        };
        if comdat.is_some_and(|&number| number > self.comdats.len() as u64) {
            wrong = Some("a comdat that does not exist");
        }
        let alignment = match record.code {
            code::GLOBALVAR => rest.get(4),
            code::FUNCTION => rest.get(5),
            _ => None,
        };
        if alignment.is_some_and(|&exponent| exponent > MAX_ALIGNMENT) {
            wrong = Some("an alignment that is too large");
        }
        if record.code == code::DATALAYOUT && !DataLayout::is_sound(&text(&record.values)) {
            wrong = Some("a data layout with an alignment that is no power of two");
        }
        if let Some(message) = wrong {
            self.diagnostics.error("llvm-module", Error::new(ErrorKind::OutOfRange, record.offset, message));
        }
    }

    /// `[value, characters…]`, or `[value, offset, characters…]` for functions.
    fn take_name(&mut self, record: &Record) {
        let skip = match record.code {
            1 => 1,
            3 => 2,
            // Indices of summaries have numbers instead of names.
            5 => {
                if let &[value, number] = record.values.as_slice() {
                    self.summary_parts.add_number(value, number);
                }
                return;
            }
            _ => return,
        };
        let (Some(&value), Some(name)) = (record.values.first(), record.values.get(skip..)) else { return };
        let name = text(name);
        let symbol = match self.values.get(narrow(value) as usize).map(|value| value.kind) {
            Some(ValueKind::Global(index)) => self.globals.get_mut(index as usize).map(|g| &mut g.symbol),
            Some(ValueKind::Function(index)) => self.functions.get_mut(index as usize).map(|f| &mut f.symbol),
            Some(ValueKind::Alias(index)) => self.aliases.get_mut(index as usize).map(|a| &mut a.symbol),
            _ => {
                let message = "a name of a value that does not exist";
                let error = Error::new(ErrorKind::OutOfRange, record.offset, message);
                self.diagnostics.error("llvm-module", error);
                return;
            }
        };
        // Later versions have the names in a table.
        if let Some(symbol) = symbol.filter(|_| self.version < 2) {
            symbol.name = name;
        }
    }

    fn finish(&mut self, extras: Extras, bodies: &[usize]) {
        self.named_metadata = extras.named;
        self.metadata_kinds = extras.kinds;
        for (value, attachments) in extras.globals {
            let symbol = match self.values.get(value.index()).map(|value| value.kind) {
                Some(ValueKind::Global(index)) => self.globals.get_mut(index as usize).map(|g| &mut g.symbol),
                Some(ValueKind::Function(index)) => self.functions.get_mut(index as usize).map(|f| &mut f.symbol),
                _ => None,
            };
            if let Some(symbol) = symbol {
                symbol.attachments.extend(attachments);
            }
        }
        let mut positions = bodies.iter();
        for function in self.functions.iter_mut().filter(|function| !function.declaration) {
            function.body = positions.next().copied();
        }
        let missing = self.functions.iter().filter(|f| !f.declaration && f.body.is_none()).count();
        if missing > 0 || positions.next().is_some() {
            let message = "the functions with bodies and the bodies are not equal in number";
            self.diagnostics.error("llvm-module", Error::new(ErrorKind::BadValue, self.base, message));
        }
    }

    /// A cursor at the module's block, which knows no abbreviations yet.
    pub(crate) fn cursor_at_module(&self) -> Cursor<'a> {
        Cursor::resume(self.stream, self.base, &Abbreviations::default(), self.position)
    }

    /// A cursor at a block of the stream.
    pub(crate) fn cursor_at(&self, position: usize) -> Cursor<'a> {
        Cursor::resume(self.stream, self.base, &self.abbreviations, position)
    }

    /// Types that old metadata records treat apart.
    pub(crate) fn metadata_types(&self) -> MetadataTypes {
        let find = |ty| self.types.find(ty).map_or(u32::MAX, |id| id.0);
        MetadataTypes { metadata: find(Type::Metadata), void: find(Type::Void) }
    }

    /// Reads the body of a function, given by its index in [`Module::functions`].
    ///
    /// # Errors
    /// If the function has no body. What can't be read inside of it is told in [`FunctionBody::diagnostics`].
    pub fn body(&self, function: usize) -> Result<FunctionBody> {
        let mut body = FunctionBody::default();
        self.read_body(function, &mut body)?;
        Ok(body)
    }

    /// As [`Module::body`], into a body whose buffers are used again: reading many functions takes memory once.
    ///
    /// # Errors
    /// As [`Module::body`].
    pub fn read_body(&self, function: usize, body: &mut FunctionBody) -> Result<()> {
        BodyReader::read(self, narrow(function as u64), body)
    }

    /// A value of the module, or of a function of it.
    #[inline]
    pub fn value(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<Value> {
        match self.values.get(id.index()) {
            Some(value) => Some(*value),
            None => body.and_then(|body| body.value(id)).or_else(|| self.extra_value(id)),
        }
    }

    /// Where the numbers of values start that no record defines: above those of every function.
    pub(crate) const EXTRA: u32 = 3 << 28;

    #[cold]
    fn extra_value(&self, id: ValueId) -> Option<Value> {
        self.extra.get(id.0.checked_sub(Self::EXTRA)? as usize).copied()
    }

    /// Adds a value that no record defines.
    pub(crate) fn add_extra(&mut self, value: Value) -> ValueId {
        let id = ValueId(Self::EXTRA.saturating_add(narrow(self.extra.len() as u64)));
        self.extra.push(value);
        id
    }

    /// The value of this number among those that no function defines.
    pub(crate) fn value_mut(&mut self, id: ValueId) -> Option<&mut Value> {
        match id.0.checked_sub(Self::EXTRA) {
            Some(at) => self.extra.get_mut(at as usize),
            None => self.values.get_mut(id.index()),
        }
    }

    /// The constant that a value is, with the table it belongs to.
    #[inline]
    pub fn constant<'s>(&'s self, body: Option<&'s FunctionBody>, id: ValueId) -> Option<(Constant, &'s Constants)> {
        let (value, constants) = match self.values.get(id.index()) {
            Some(value) => (*value, &self.constants),
            None => match body.and_then(|body| Some((body.value(id)?, &body.constants))) {
                Some(local) => local,
                None => (self.extra_value(id)?, &self.constants),
            },
        };
        match value.kind {
            ValueKind::Constant(index) => Some((constants.get(index), constants)),
            _ => None,
        }
    }

    /// The value of an integer constant of at most 64 bits.
    pub fn integer(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<u64> {
        match self.constant(body, id)?.0 {
            Constant::Integer(value) => Some(value),
            Constant::Null => Some(0),
            // Indices of vectors are the same in every lane.
            Constant::Aggregate(slice) => {
                let (_, constants) = self.constant(body, id)?;
                match self.constant(body, *constants.values(slice).first()?)?.0 {
                    Constant::Integer(value) => Some(value),
                    Constant::Null => Some(0),
                    _ => None,
                }
            }
            Constant::Data(slice) => {
                let (_, constants) = self.constant(body, id)?;
                constants.words(slice).first().copied()
            }
            _ => None,
        }
    }

    /// Metadata of the module, or of a function of it.
    #[inline]
    pub fn metadata<'s>(
        &'s self,
        body: Option<&'s FunctionBody>,
        id: MetadataId,
    ) -> Option<(Metadata, &'s MetadataTable)> {
        match self.metadata.get(id) {
            Some(entry) => Some((entry, &self.metadata)),
            None => {
                let table = &body?.metadata;
                Some((table.get(id)?, table))
            }
        }
    }

    /// The nodes of a named list, such as `air.kernel`.
    pub fn named(&self, name: &[u8]) -> &[MetadataId] {
        self.named_metadata.iter().find(|one| one.name == name).map_or(&[], |one| &one.nodes)
    }

    /// A node of the module.
    pub fn node(&self, id: MetadataId) -> Option<Node> {
        match self.metadata.get(id)? {
            Metadata::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The operands of a node of the module.
    pub fn node_operands(&self, id: MetadataId) -> impl Iterator<Item = Option<MetadataId>> + '_ {
        let references = self.node(id).map_or(&[][..], |node| self.metadata.references(node));
        references.iter().map(|&reference| reference.checked_sub(1).map(|id| MetadataId(narrow(id))))
    }

    /// A metadata string of the module.
    pub fn metadata_string(&self, id: MetadataId) -> Option<&[u8]> {
        match self.metadata.get(id)? {
            Metadata::String(string) => Some(self.metadata.string(string)),
            _ => None,
        }
    }

    /// The value of a module flag, such as `Dwarf Version`, if it is an integer.
    pub fn flag(&self, name: &[u8]) -> Option<u64> {
        self.named(b"llvm.module.flags").iter().find_map(|&flag| {
            let mut operands = self.node_operands(flag).skip(1);
            let (key, value) = (operands.next()??, operands.next()??);
            match self.metadata.get(value)? {
                Metadata::Value { value, .. } if self.metadata_string(key)? == name => self.integer(None, value),
                _ => None,
            }
        })
    }

    /// What compiled the module, from `!llvm.ident`.
    pub fn ident(&self) -> Option<&[u8]> {
        let &node = self.named(b"llvm.ident").first()?;
        let first = self.node_operands(node).next()??;
        self.metadata_string(first)
    }
}

/// The modules of a stream, which are read one by one.
#[derive(Clone, Debug)]
pub struct Modules<'a> {
    stream: &'a [u8],
    base: u64,
    found: alloc::vec::IntoIter<Found<'a>>,
}

/// Where a module stands, and what belongs to it outside of its block.
#[derive(Clone, Debug)]
struct Found<'a> {
    position: usize,
    start: usize,
    producer: Vec<u8>,
    epoch: Option<u64>,
    strings: Option<Blob<'a>>,
    symbols: Option<Blob<'a>>,
}

/// The content of a block that is one blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blob<'a> {
    pub(crate) bytes: &'a [u8],
    /// Its file offset.
    pub(crate) offset: u64,
}

impl<'a> Modules<'a> {
    /// Passes over the top level. A string table belongs to all modules before it that have none yet.
    fn find(bytes: &'a [u8], base: u64) -> Result<Self> {
        let range = bitstream::locate(bytes, base)?;
        let base = base.saturating_add(range.start as u64);
        let stream = bytes.get(range).unwrap_or_default();
        let mut cursor = Cursor::new(stream, base);
        let mut found: Vec<Found<'a>> = Vec::new();
        let mut identification = None;
        let mut symbols = None;
        while !cursor.at_end() {
            let at = cursor.position();
            let block = match cursor.advance_entry() {
                Ok(Entry::Block(block)) => block,
                // Padding, or a damaged tail: what was found before it stands.
                _ if !found.is_empty() => break,
                Ok(_) => {
                    let message = "bitcode that does not start with a block";
                    return Err(Error::new(ErrorKind::BadValue, cursor.offset(), message));
                }
                Err(error) => return Err(error),
            };
            let outcome = match block {
                blocks::MODULE => {
                    let Identification { start, producer, epoch } =
                        identification.take().unwrap_or(Identification { start: at, ..Default::default() });
                    let position = cursor.position();
                    found.push(Found { position, start, producer, epoch, strings: None, symbols: None });
                    cursor.skip_block()
                }
                blocks::STRTAB => read_blob(&mut cursor, blocks::STRTAB).map(|strings| {
                    for module in found.iter_mut().rev().take_while(|module| module.strings.is_none()) {
                        module.strings = Some(strings);
                        module.symbols = symbols;
                    }
                    symbols = None;
                }),
                blocks::SYMTAB => read_blob(&mut cursor, blocks::SYMTAB).map(|blob| symbols = Some(blob)),
                blocks::IDENTIFICATION => {
                    read_identification(&mut cursor, at).map(|known| identification = Some(known))
                }
                _ => cursor.skip_block(),
            };
            match outcome {
                Ok(()) => {}
                Err(error) if found.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        if found.is_empty() {
            return Err(Error::new(ErrorKind::BadValue, base, "bitcode without a module"));
        }
        Ok(Self { stream, base, found: found.into_iter() })
    }
}

impl<'a> Iterator for Modules<'a> {
    type Item = Result<Module<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.found.next()?;
        Some(Module::read(self.stream, self.base, found))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.found.size_hint()
    }
}

impl ExactSizeIterator for Modules<'_> {}

/// Reads a block that holds a blob.
fn read_blob<'a>(cursor: &mut Cursor<'a>, block: u32) -> Result<Blob<'a>> {
    let data = cursor.data();
    let mut blob = Blob { bytes: &[], offset: cursor.offset() };
    let base = cursor.base();
    for_records(cursor, block, |record| {
        if record.code == 1 {
            blob.bytes = data.get(record.blob.clone()).unwrap_or_default();
            blob.offset = base.saturating_add(record.blob.start as u64);
        }
    })?;
    Ok(blob)
}

/// What an identification block says, and where it starts in the stream.
#[derive(Default)]
struct Identification {
    start: usize,
    producer: Vec<u8>,
    epoch: Option<u64>,
}

fn read_identification(cursor: &mut Cursor<'_>, start: usize) -> Result<Identification> {
    let mut identification = Identification { start, ..Identification::default() };
    for_records(cursor, blocks::IDENTIFICATION, |record| match record.code {
        1 => identification.producer = text(&record.values),
        2 => identification.epoch = record.values.first().copied(),
        _ => {}
    })?;
    Ok(identification)
}

/// Calls `take` for every record of a block.
fn for_records(cursor: &mut Cursor<'_>, block: u32, mut take: impl FnMut(&Record)) -> Result<()> {
    cursor.for_records(block, |_, record| {
        take(record);
        Ok(())
    })
}
