//! A module: everything except function bodies, which are read on demand.
//!
//! The top-level blocks of a stream are `IDENTIFICATION`, `MODULE` and, from LLVM 5 on, `STRTAB` with the names of
//! symbols and `SYMTAB`, which is redundant. The string table follows the module, but names are needed while the
//! module is read, so all top-level blocks are scanned first.
//!
//! Knowledge: `ModuleCodes` of LLVM's `LLVMBitCodes.h` (3.2 to 19).

use crate::attributes::Attributes;
use crate::bitstream::{self, Abbreviations, Cursor, Entry, Record, text};
use crate::blocks;
use crate::body::{FunctionBody, UseList};
use crate::constants::{Constant, Constants};
use crate::data_layout::DataLayout;
use crate::global::{Alias, Comdat, Function, GlobalVariable};
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::{MetadataExtras, Metadata, MetadataTable, MetadataTypes, NamedMetadata, Node};
use crate::read_memory::ReadMemory;
use crate::summary::{self, SummaryParts};
use crate::types::{Type, TypeTable};
use crate::value::{Value, ValueKind};
use crate::write::fixed_names;
use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

/// A module, without its function bodies.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    stream: &'a [u8],
    base: u64,
    /// The position of the module's block in the stream, in bits.
    position: usize,
    abbreviations: Arc<Abbreviations>,
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
    /// The data layout string.
    pub data_layout_text: Vec<u8>,
    /// The parsed data layout.
    pub data_layout: DataLayout,
    /// The name of the source file, if it is stored.
    pub source_filename: Option<Vec<u8>>,
    /// Module-level inline assembly.
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
    /// The module-level values: globals, functions, aliases and constants.
    pub values: Vec<Value>,
    /// The constants of the module.
    pub constants: Constants,
    /// The metadata of the module.
    pub metadata: MetadataTable,
    /// Named metadata.
    pub named_metadata: Vec<NamedMetadata>,
    /// Metadata kinds: the number of each in this file, and its name.
    pub metadata_kinds: Vec<(u32, Cow<'static, [u8]>)>,
    /// The tags of operand bundles.
    pub bundle_tags: Vec<Cow<'static, [u8]>>,
    /// The names of synchronisation scopes.
    pub sync_scopes: Vec<Vec<u8>>,
    /// Use-list orders of module-level values.
    pub use_lists: Vec<UseList>,
    /// Values that an upgrade added, numbered from [`Module::UPGRADE_BASE`] on.
    pub(crate) upgrade_values: Vec<Value>,
    /// Whether values and metadata that an upgrade adds are numbered like all others, because those of bodies have numbers
    /// far above.
    pub(crate) is_open: bool,
    /// Where what its summary is read from stands.
    pub(crate) summary_parts: SummaryParts,
    /// The string table, if the stream has one.
    pub(crate) string_table: Option<Blob<'a>>,
    /// The table of symbols for linkers, if the stream has one for its modules.
    pub(crate) symbol_table: Option<Blob<'a>>,
    /// The bytes of the string table.
    pub(crate) strings: &'a [u8],
    /// What could not be read.
    pub diagnostics: Diagnostics,
}

pub(crate) mod code {
    pub(crate) const VERSION: u32 = 1;
    pub(crate) const TRIPLE: u32 = 2;
    pub(crate) const DATALAYOUT: u32 = 3;
    pub(crate) const ASM: u32 = 4;
    pub(crate) const SECTIONNAME: u32 = 5;
    pub(crate) const GLOBALVAR: u32 = 7;
    pub(crate) const FUNCTION: u32 = 8;
    pub(crate) const ALIAS_OLD: u32 = 9;
    pub(crate) const GCNAME: u32 = 11;
    pub(crate) const COMDAT: u32 = 12;
    pub(crate) const VSTOFFSET: u32 = 13;
    pub(crate) const ALIAS: u32 = 14;
    pub(crate) const SOURCE_FILENAME: u32 = 16;
    pub(crate) const HASH: u32 = 17;
    pub(crate) const IFUNC: u32 = 18;
}

/// A property of a module that has a record of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleProperty {
    /// The name of the source file.
    SourceFilename,
    /// The data layout.
    DataLayout,
    /// The target triple.
    Triple,
}

/// The role of a record of the module's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A global, function or alias, which defines the next value.
    Symbol,
    /// A property of the module.
    Property(ModuleProperty),
    /// Any other record.
    Other,
}

impl RecordKind {
    pub(crate) fn of(code: u32) -> Self {
        match code {
            code::GLOBALVAR | code::FUNCTION | code::ALIAS | code::ALIAS_OLD | code::IFUNC => Self::Symbol,
            code::SOURCE_FILENAME => Self::Property(ModuleProperty::SourceFilename),
            code::DATALAYOUT => Self::Property(ModuleProperty::DataLayout),
            code::TRIPLE => Self::Property(ModuleProperty::Triple),
            _ => Self::Other,
        }
    }
}

/// The largest alignment, 4 GiB, stored as its exponent plus one.
const MAX_ALIGNMENT: u64 = 33;

impl<'a> Module<'a> {
    /// Parses the first module of a stream whose first byte, or that of its wrapper, is at offset `base` of a
    /// file.
    ///
    /// What can't be read is reported in [`Module::diagnostics`]. Bodies are not read.
    ///
    /// # Errors
    /// If this is not bitcode, or the stream ends before the type table is complete.
    pub fn parse(bytes: &'a [u8], base: u64) -> Result<Self> {
        Self::parse_with(bytes, base, &mut ReadMemory::default())
    }

    /// Parses the first module of a stream as [`Module::parse`] does, with what the module before had in common with it.
    ///
    /// # Errors
    /// As [`Module::parse`].
    ///
    /// ```
    /// use unshade_llvm::{Module, ReadMemory, assemble};
    ///
    /// let text = b"define void @f() {\n  ret void\n}\n";
    /// let file = assemble::bitcode(text, b"f.ll", &assemble::AssembleOptions::default()).expect("it is valid").bytes;
    /// let mut memory = ReadMemory::default();
    /// for _ in 0..2 {
    ///     assert_eq!(Module::parse_with(&file, 0, &mut memory)?.functions.len(), 1);
    /// }
    /// # Ok::<(), unshade_core::Error>(())
    /// ```
    pub fn parse_with(bytes: &'a [u8], base: u64, memory: &mut ReadMemory) -> Result<Self> {
        let mut modules = Modules::find(bytes, base)?;
        match modules.locations.next() {
            Some(location) => Self::read(modules.stream, modules.base, location, memory),
            None => Err(Error::new(ErrorKind::BadValue, base, "bitcode without a module")),
        }
    }

    /// Parses all modules of a stream: clang writes two for ThinLTO with vtables, and `llvm-cat -b` combines many
    /// into one file.
    ///
    /// # Errors
    /// If this is not bitcode, or holds no module. The iterator returns an error for each module that can't be
    /// read.
    pub fn parse_all(bytes: &'a [u8], base: u64) -> Result<Modules<'a>> {
        Modules::find(bytes, base)
    }

    fn read(
        stream: &'a [u8],
        base: u64,
        location: ModuleLocation<'a>,
        memory: &mut ReadMemory,
    ) -> Result<Self> {
        let mut module = Self {
            stream,
            base,
            position: location.position,
            start: location.start,
            producer: location.producer,
            epoch: location.epoch,
            strings: location.strings.map(|strings| strings.bytes).unwrap_or_default(),
            string_table: location.strings,
            symbol_table: location.symbols,
            ..Self::default()
        };
        let mut cursor = module.cursor_at_module();
        cursor.enter_block(blocks::MODULE)?;
        let read = module.read_module(&mut cursor, memory);
        module.abbreviations = Arc::clone(cursor.abbreviations());
        match read {
            // Nothing can be decoded without types; with them, what was read so far is usable.
            Err(error) if module.types.is_empty() => Err(error),
            Err(error) => {
                module.diagnostics.error("llvm-module", error);
                Ok(module)
            }
            Ok(()) => Ok(module),
        }
    }

    fn read_module(&mut self, cursor: &mut Cursor<'a>, memory: &mut ReadMemory) -> Result<()> {
        let mut record = Record::default();
        let mut extras = MetadataExtras::default();
        let mut bodies = Vec::new();
        let outcome = loop {
            match cursor.advance_entry() {
                Ok(Entry::EndBlock) => break Ok(()),
                Ok(Entry::Block(block)) => {
                    if let Err(error) = self.read_block(cursor, block, &mut extras, &mut bodies, memory) {
                        break Err(error);
                    }
                }
                Ok(Entry::Record(id)) => {
                    if let Err(error) = cursor.read_record(id, &mut record) {
                        break Err(error);
                    }
                    self.parse_record(&record, memory);
                }
                Err(error) => break Err(error),
            }
        };
        if self.data_layout_text.is_empty() {
            self.types.add_default_pointers();
        } else if self.diagnostics.is_empty() {
            memory.set_layout(&self.data_layout_text, &self.data_layout);
        }
        self.finish(extras, &bodies);
        outcome
    }

    fn read_block(
        &mut self,
        cursor: &mut Cursor<'a>,
        block: u32,
        extras: &mut MetadataExtras,
        bodies: &mut Vec<usize>,
        memory: &mut ReadMemory,
    ) -> Result<()> {
        match block {
            blocks::BLOCKINFO => memory.block_info(cursor),
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
            blocks::METADATA_KIND => read_kinds(cursor, &mut extras.kinds, memory),
            blocks::VALUE_SYMTAB => for_records(cursor, block, |record| self.parse_name(record)),
            blocks::OPERAND_BUNDLE_TAGS => for_records(cursor, block, |record| {
                self.bundle_tags.push(fixed_names::tag_of(self.bundle_tags.len(), &record.values));
            }),
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
            block if summary::is_summary(block) => {
                self.summary_parts.add_block(block, cursor.position());
                cursor.skip_block()
            }
            _ => cursor.skip_block(),
        }
    }

    fn parse_record(&mut self, record: &Record, memory: &mut ReadMemory) {
        let values = record.values.as_slice();
        if record.code == code::DATALAYOUT
            && let Some((text, layout)) = memory.layout(values)
        {
            (self.data_layout_text, self.data_layout) = (text.to_vec(), layout.clone());
            return;
        }
        self.check_record(record);
        let parsed = match record.code {
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
            code::GLOBALVAR => self.parse_global(values),
            code::FUNCTION => self.parse_function(values),
            code::ALIAS | code::ALIAS_OLD | code::IFUNC => {
                self.parse_alias(values, record.code == code::ALIAS_OLD, record.code == code::IFUNC)
            }
            code::COMDAT => self.parse_comdat(values),
            code::HASH => {
                self.summary_parts.set_hash(values);
                self.hash = Some(summary::hash_of(values));
                Some(())
            }
            // Dependent libraries and offsets of tables are not printed.
            _ => Some(()),
        };
        if parsed.is_none() {
            let error = Error::new(ErrorKind::BadValue, record.offset, "module record can't be read")
                .found(alloc::format!("code {} of {} operands", record.code, values.len()));
            self.diagnostics.error("llvm-module", error);
            if RecordKind::of(record.code) == RecordKind::Symbol {
                // The record defines a value number even if it can't be read.
                self.values.push(Value { kind: ValueKind::Unresolved, ty: crate::ids::TypeId::NONE });
            }
        }
    }

    /// Reports names and comdats that do not exist, and alignments that are invalid.
    fn check_record(&mut self, record: &Record) {
        let has_name = matches!(
            record.code,
            code::GLOBALVAR | code::FUNCTION | code::ALIAS | code::IFUNC | code::COMDAT
        );
        let (mut rest, mut problem) = (record.values.as_slice(), None);
        if has_name
            && self.version >= 2
            && let Some((&[offset, size], fields)) = rest.split_first_chunk::<2>()
        {
            rest = fields;
            if offset.saturating_add(size) > self.strings.len() as u64 {
                problem = Some("symbol name is outside of the string table");
            }
        }
        let comdat = match record.code {
            code::GLOBALVAR => rest.get(11),
            code::FUNCTION => rest.get(12),
            _ => None,
        };
        if comdat.is_some_and(|&number| number > self.comdats.len() as u64) {
            problem = Some("symbol refers to a comdat that does not exist");
        }
        let alignment = match record.code {
            code::GLOBALVAR => rest.get(4),
            code::FUNCTION => rest.get(5),
            _ => None,
        };
        if alignment.is_some_and(|&exponent| exponent > MAX_ALIGNMENT) {
            problem = Some("alignment of a symbol is larger than 4 GiB");
        }
        if record.code == code::DATALAYOUT && !DataLayout::is_sound(&text(&record.values)) {
            problem = Some("data layout has an alignment that is not a power of two");
        }
        if let Some(message) = problem {
            self.diagnostics.error("llvm-module", Error::new(ErrorKind::OutOfRange, record.offset, message));
        }
    }

    /// Parses a symbol table entry: `[value, characters…]`, or `[value, offset, characters…]` for functions.
    fn parse_name(&mut self, record: &Record) {
        let skip = match record.code {
            1 => 1,
            3 => 2,
            // A combined index has GUIDs instead of names.
            5 => {
                if let &[value, number] = record.values.as_slice() {
                    self.summary_parts.add_guid(value, number);
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
                let message = "symbol table names a value that does not exist";
                let error = Error::new(ErrorKind::OutOfRange, record.offset, message);
                self.diagnostics.error("llvm-module", error);
                return;
            }
        };
        // From version 2 on names are in the string table.
        if let Some(symbol) = symbol.filter(|_| self.version < 2) {
            symbol.name = name;
        }
    }

    fn finish(&mut self, extras: MetadataExtras, bodies: &[usize]) {
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
            let message = "number of function bodies differs from the number of defined functions";
            self.diagnostics.error("llvm-module", Error::new(ErrorKind::BadValue, self.base, message));
        }
    }

    /// Returns the size of the stream in bytes.
    pub(crate) fn data_size(&self) -> usize {
        self.stream.len()
    }

    /// Returns a cursor at the module's block, without abbreviations.
    pub(crate) fn cursor_at_module(&self) -> Cursor<'a> {
        Cursor::resume(self.stream, self.base, &Arc::default(), self.position)
    }

    /// Returns a cursor at a block of the stream.
    pub(crate) fn cursor_at(&self, position: usize) -> Cursor<'a> {
        Cursor::resume(self.stream, self.base, &self.abbreviations, position)
    }

    /// Returns the number that a metadata kind has in this module.
    pub fn metadata_kind(&self, name: &[u8]) -> Option<u32> {
        self.metadata_kinds.iter().find(|(_, known)| **known == *name).map(|&(number, _)| number)
    }

    /// Returns the types that old metadata records treat specially.
    pub(crate) fn metadata_types(&self) -> MetadataTypes {
        let find = |ty| self.types.find(ty).map_or(u32::MAX, |id| id.0);
        MetadataTypes { metadata: find(Type::Metadata), void: find(Type::Void) }
    }

    /// Returns a value of the module, or of one of its functions.
    #[inline]
    pub fn value(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<Value> {
        match self.values.get(id.index()) {
            Some(value) => Some(*value),
            None => body.and_then(|body| body.value(id)).or_else(|| self.upgrade_value(id)),
        }
    }

    /// The id of the first value that an upgrade adds, above those of every function.
    pub(crate) const UPGRADE_BASE: u32 = 3 << 28;

    #[cold]
    fn upgrade_value(&self, id: ValueId) -> Option<Value> {
        self.upgrade_values.get(id.0.checked_sub(Self::UPGRADE_BASE)? as usize).copied()
    }

    /// Adds a value that no record defines, and returns its id.
    pub(crate) fn add_upgrade_value(&mut self, value: Value) -> ValueId {
        if self.is_open {
            let id = ValueId(narrow(self.values.len() as u64));
            self.values.push(value);
            return id;
        }
        let id = ValueId(Self::UPGRADE_BASE.saturating_add(narrow(self.upgrade_values.len() as u64)));
        self.upgrade_values.push(value);
        id
    }

    /// Returns a module-level or added value for modification.
    pub(crate) fn value_mut(&mut self, id: ValueId) -> Option<&mut Value> {
        match id.0.checked_sub(Self::UPGRADE_BASE) {
            Some(at) => self.upgrade_values.get_mut(at as usize),
            None => self.values.get_mut(id.index()),
        }
    }

    /// Returns the constant that a value is, with the table that it belongs to.
    #[inline]
    pub fn constant<'s>(&'s self, body: Option<&'s FunctionBody>, id: ValueId) -> Option<(Constant, &'s Constants)> {
        let (value, constants) = match self.values.get(id.index()) {
            Some(value) => (*value, &self.constants),
            None => match body.and_then(|body| Some((body.value(id)?, &body.constants))) {
                Some(local) => local,
                None => (self.upgrade_value(id)?, &self.constants),
            },
        };
        match value.kind {
            ValueKind::Constant(index) => Some((constants.get(index), constants)),
            _ => None,
        }
    }

    /// Returns the index of a constant of the module among [`Module::constants`].
    pub(crate) fn constant_index(&self, id: ValueId) -> Option<u32> {
        match self.value(None, id)?.kind {
            ValueKind::Constant(index) => Some(index),
            _ => None,
        }
    }

    /// Returns the value of an integer constant of at most 64 bits; for a vector, that of its first lane.
    pub fn integer(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<u64> {
        match self.constant(body, id)?.0 {
            Constant::Integer(value) => Some(value),
            Constant::Null => Some(0),
            // Struct indices in vectors are the same in every lane.
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

    /// Returns metadata of the module, or of one of its functions, with the table that it belongs to.
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

    /// Returns the nodes of named metadata, such as `air.kernel`.
    pub fn named(&self, name: &[u8]) -> &[MetadataId] {
        self.named_metadata.iter().find(|named| named.name == name).map_or(&[], |named| &named.nodes)
    }

    /// Returns a metadata node of the module.
    pub fn node(&self, id: MetadataId) -> Option<Node> {
        match self.metadata.get(id)? {
            Metadata::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Returns the operands of a metadata node of the module.
    pub fn node_operands(&self, id: MetadataId) -> impl Iterator<Item = Option<MetadataId>> + '_ {
        let references = self.node(id).map_or(&[][..], |node| self.metadata.references(node));
        references.iter().map(|&reference| reference.checked_sub(1).map(|id| MetadataId(narrow(id))))
    }

    /// Returns a metadata string of the module.
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

/// An iterator over the modules of a stream, which parses each on demand.
#[derive(Clone, Debug)]
pub struct Modules<'a> {
    stream: &'a [u8],
    base: u64,
    locations: alloc::vec::IntoIter<ModuleLocation<'a>>,
    memory: ReadMemory,
}

/// The position of a module, and what belongs to it outside of its block.
#[derive(Clone, Debug)]
struct ModuleLocation<'a> {
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
    /// Scans the top-level blocks. A string table belongs to all preceding modules that have none yet.
    fn find(bytes: &'a [u8], base: u64) -> Result<Self> {
        let range = bitstream::locate(bytes, base)?;
        let base = base.saturating_add(range.start as u64);
        let stream = bytes.get(range).unwrap_or_default();
        let mut cursor = Cursor::new(stream, base);
        let mut locations: Vec<ModuleLocation<'a>> = Vec::new();
        let mut identification = None;
        let mut symbols = None;
        while !cursor.at_end() {
            let at = cursor.position();
            let block = match cursor.advance_entry() {
                Ok(Entry::Block(block)) => block,
                // Padding or a damaged tail: keep the modules found so far.
                _ if !locations.is_empty() => break,
                Ok(_) => {
                    let message = "bitcode does not start with a block";
                    return Err(Error::new(ErrorKind::BadValue, cursor.offset(), message));
                }
                Err(error) => return Err(error),
            };
            let outcome = match block {
                blocks::MODULE => {
                    let Identification { start, producer, epoch } =
                        identification.take().unwrap_or(Identification { start: at, ..Default::default() });
                    let position = cursor.position();
                    locations.push(ModuleLocation { position, start, producer, epoch, strings: None, symbols: None });
                    cursor.skip_block()
                }
                blocks::STRTAB => read_blob(&mut cursor, blocks::STRTAB).map(|strings| {
                    for module in locations.iter_mut().rev().take_while(|module| module.strings.is_none()) {
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
                Err(error) if locations.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        if locations.is_empty() {
            return Err(Error::new(ErrorKind::BadValue, base, "bitcode without a module"));
        }
        Ok(Self { stream, base, locations: locations.into_iter(), memory: ReadMemory::default() })
    }
}

impl Modules<'_> {
    /// Returns what wrote a module, by its index among those not read yet, as its identification block says; empty if
    /// it has none.
    pub fn producer(&self, index: usize) -> Option<&[u8]> {
        self.locations.as_slice().get(index).map(|location| location.producer.as_slice())
    }
}

impl<'a> Iterator for Modules<'a> {
    type Item = Result<Module<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let location = self.locations.next()?;
        Some(Module::read(self.stream, self.base, location, &mut self.memory))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.locations.size_hint()
    }
}

impl ExactSizeIterator for Modules<'_> {}

/// Reads the kinds of metadata, or takes them from the module before if they are the same.
fn read_kinds(
    cursor: &mut Cursor<'_>,
    kinds: &mut Vec<(u32, Cow<'static, [u8]>)>,
    memory: &mut ReadMemory,
) -> Result<()> {
    let can_be_known = kinds.is_empty() && !cursor.abbreviations().is_given_to(blocks::METADATA_KIND);
    if can_be_known && let Some(known) = memory.kinds.take(cursor) {
        *kinds = known;
        return Ok(());
    }
    let block = cursor.block_bytes();
    for_records(cursor, blocks::METADATA_KIND, |record| {
        if record.code == crate::metadata::code::KIND {
            kinds.extend(crate::metadata::kind_of(&record.values));
        }
    })?;
    if can_be_known {
        memory.kinds.set(block, cursor, kinds.clone());
    }
    Ok(())
}

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
