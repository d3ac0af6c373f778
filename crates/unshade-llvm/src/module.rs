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
use crate::types::{Type, TypeTable};
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

/// A module as read from bitcode.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    stream: &'a [u8],
    base: u64,
    abbreviations: Abbreviations,
    /// What wrote the file, from its identification block; empty if there is none.
    pub producer: Vec<u8>,
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
    /// The string table.
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
    pub(super) const IFUNC: u32 = 18;
}

fn text(values: &[u64]) -> Vec<u8> {
    values.iter().map(|&c| c.to_le_bytes()[0]).collect()
}

impl<'a> Module<'a> {
    /// Reads a module whose first byte (of the stream or of its wrapper) stands at `base` in a file.
    ///
    /// What can't be read is told in [`Module::diagnostics`]; bodies are not looked at.
    ///
    /// # Errors
    /// If this is no bitcode, or the stream breaks off before the module's tables are complete.
    pub fn parse(bytes: &'a [u8], base: u64) -> Result<Self> {
        let range = bitstream::locate(bytes, base)?;
        let base = base.saturating_add(range.start as u64);
        let stream = bytes.get(range).unwrap_or_default();
        let mut module = Self { stream, base, ..Self::default() };
        let position = module.scan()?;
        let mut cursor = Cursor::resume(stream, base, &Abbreviations::default(), position);
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

    /// Passes over the top level: finds the module and takes the string table and the producer.
    fn scan(&mut self) -> Result<usize> {
        let mut cursor = Cursor::new(self.stream, self.base);
        let mut module = None;
        while !cursor.at_end() {
            let entry = match cursor.advance_entry() {
                Ok(Entry::Block(block)) => block,
                // Padding, or a damaged tail: what was found before it stands.
                _ if module.is_some() => break,
                Ok(_) => {
                    let message = "bitcode that does not start with a block";
                    return Err(Error::new(ErrorKind::BadValue, cursor.offset(), message));
                }
                Err(error) => return Err(error),
            };
            match entry {
                blocks::MODULE if module.is_none() => {
                    module = Some(cursor.position());
                    if cursor.skip_block().is_err() {
                        break;
                    }
                }
                blocks::STRTAB => self.read_strings(&mut cursor)?,
                blocks::IDENTIFICATION if module.is_none() => self.read_identification(&mut cursor)?,
                _ => {
                    if cursor.skip_block().is_err() {
                        break;
                    }
                }
            }
        }
        module.ok_or_else(|| Error::new(ErrorKind::BadValue, self.base, "bitcode without a module"))
    }

    fn read_strings(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let data = cursor.data();
        for_records(cursor, blocks::STRTAB, |record| {
            if record.code == 1 {
                self.strings = data.get(record.blob.clone()).unwrap_or_default();
            }
        })
    }

    fn read_identification(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        for_records(cursor, blocks::IDENTIFICATION, |record| {
            if record.code == 1 {
                self.producer = text(&record.values);
            }
        })
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
            _ => cursor.skip_block(),
        }
    }

    fn take(&mut self, record: &Record) {
        let values = record.values.as_slice();
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
            // Libraries to link, positions of tables, hashes: nothing that is printed.
            _ => Some(()),
        };
        if taken.is_none() {
            let error = Error::new(ErrorKind::BadValue, record.offset, "record of the module that can't be read")
                .found(alloc::format!("code {} of {} operands", record.code, values.len()));
            self.diagnostics.error("llvm-module", error);
            if matches!(record.code, code::GLOBALVAR | code::FUNCTION | code::ALIAS | code::ALIAS_OLD | code::IFUNC) {
                // It has a number all the same.
                self.values.push(Value { kind: ValueKind::Unresolved, ty: crate::ids::TypeId::NONE });
            }
        }
    }

    /// `[value, characters…]`, or `[value, offset, characters…]` for functions.
    fn take_name(&mut self, record: &Record) {
        let skip = match record.code {
            1 => 1,
            3 => 2,
            _ => return,
        };
        let (Some(&value), Some(name)) = (record.values.first(), record.values.get(skip..)) else { return };
        if self.version >= 2 {
            return;
        }
        let name = text(name);
        let symbol = match self.values.get(narrow(value) as usize).map(|value| value.kind) {
            Some(ValueKind::Global(index)) => self.globals.get_mut(index as usize).map(|g| &mut g.symbol),
            Some(ValueKind::Function(index)) => self.functions.get_mut(index as usize).map(|f| &mut f.symbol),
            Some(ValueKind::Alias(index)) => self.aliases.get_mut(index as usize).map(|a| &mut a.symbol),
            _ => None,
        };
        if let Some(symbol) = symbol {
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
        BodyReader::read(self, narrow(function as u64))
    }

    /// A value of the module, or of a function of it.
    #[inline]
    pub fn value(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<Value> {
        match self.values.get(id.index()) {
            Some(value) => Some(*value),
            None => body?.value(id),
        }
    }

    /// The constant that a value is, with the table it belongs to.
    #[inline]
    pub fn constant<'s>(&'s self, body: Option<&'s FunctionBody>, id: ValueId) -> Option<(Constant, &'s Constants)> {
        let (value, constants) = match self.values.get(id.index()) {
            Some(value) => (*value, &self.constants),
            None => {
                let body = body?;
                (body.value(id)?, &body.constants)
            }
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

    /// What compiled the module, from `!llvm.ident`.
    pub fn ident(&self) -> Option<&[u8]> {
        let &node = self.named(b"llvm.ident").first()?;
        let first = self.node_operands(node).next()??;
        self.metadata_string(first)
    }
}

/// Calls `take` for every record of a block.
fn for_records(cursor: &mut Cursor<'_>, block: u32, mut take: impl FnMut(&Record)) -> Result<()> {
    cursor.for_records(block, |_, record| {
        take(record);
        Ok(())
    })
}
