//! The blocks of metadata: kinds, that of the module, that of each function, and what is attached to instructions.

use super::source::{Key, Scope};
use super::stream::{Layout, Shape, sign_extended_64};
use super::{Version, Writer, old_debug_info, unsupported};
use crate::bitstream::Scalar::{Fixed, Literal, Variable};
use crate::bitstream::{BitWriter, Tail};
use crate::blocks;
use crate::body::FunctionBody;
use crate::debug_info::{self, NodeKind};
use crate::global::Function;
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node, code};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Minimum number of entries that are not strings, less one, of a block with an index.
const INDEX_THRESHOLD: usize = 25;

/// The abbreviations of nodes. Those of functions are defined when they are first needed.
#[derive(Default)]
pub(super) struct NodeLayouts {
    pub(super) location: Option<Layout>,
    pub(super) generic: Option<Layout>,
}

impl Writer<'_, '_> {
    /// Writes the kinds of metadata, in a block of this kind.
    pub(super) fn metadata_kinds(&mut self, block: u32) -> Result<()> {
        self.stream.enter(block, 3, 0);
        for (number, name) in (0u64..).zip(&self.numbering.kinds.all) {
            let name = name.iter().map(|&byte| sign_extended_64(byte));
            let record: Vec<u64> = core::iter::once(number).chain(name).collect();
            self.stream.record(code::KIND, &record);
        }
        self.stream.leave()
    }

    /// Writes the metadata of the module.
    pub(super) fn module_metadata(&mut self) -> Result<()> {
        let module = self.numbering.source.module;
        if self.numbering.metadata.is_empty() && module.named_metadata.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::METADATA, 4, 0);
        let mut layouts =
            NodeLayouts { location: Some(self.location_layout()), generic: Some(self.generic_layout()) };
        let literal = |code: u32| Literal(code.into());
        let offset =
            self.stream.define(&Shape(&[literal(code::INDEX_OFFSET), Fixed(32), Fixed(32)], Tail::None));
        let index = self.stream.define(&Shape(&[literal(code::INDEX)], Tail::Array(Variable(6))));
        let lists = self.numbering.metadata.of_module();
        let (strings, others) = (lists.strings.to_vec(), lists.others.to_vec());
        self.metadata_strings(&strings)?;
        let has_index = others.len() > INDEX_THRESHOLD;
        if has_index {
            self.stream.record_as(Some(&offset), code::INDEX_OFFSET, &[0, 0]);
        }
        let start = self.stream.position();
        let positions = self.metadata_records(&others, &mut layouts)?;
        if has_index {
            let distance = (self.stream.position() - start) as u64;
            self.stream.patch(start - 64, (distance & 0xFFFF_FFFF) as usize)?;
            self.stream.patch(start - 32, (distance >> 32) as usize)?;
            let before = core::iter::once(&start).chain(&positions);
            let distances: Vec<u64> =
                positions.iter().zip(before).map(|(position, before)| (position - before) as u64).collect();
            self.stream.record_as(Some(&index), code::INDEX, &distances);
        }
        let name = (!module.named_metadata.is_empty())
            .then(|| self.stream.define(&Shape(&[literal(code::NAME)], Tail::Array(Fixed(8)))));
        self.named_metadata(name.as_ref())?;
        self.attachments_of_symbols()?;
        self.stream.leave()
    }

    pub(super) fn location_layout(&mut self) -> Layout {
        let scalars = [Literal(7), Fixed(1), Variable(6), Variable(8), Variable(6), Variable(6), Fixed(1)];
        // Before LLVM 8 no location was implicit.
        let count = if self.version == Version::Dxc { 6 } else { 7 };
        self.stream.define(&Shape(scalars.get(..count).unwrap_or(&scalars), Tail::None))
    }

    pub(super) fn generic_layout(&mut self) -> Layout {
        let scalars = [Literal(12), Fixed(1), Variable(6), Fixed(1), Variable(6)];
        self.stream.define(&Shape(&scalars, Tail::Array(Variable(6))))
    }

    /// Writes named metadata; `layout` is that of the names.
    pub(super) fn named_metadata(&mut self, layout: Option<&Layout>) -> Result<()> {
        let module = self.numbering.source.module;
        for named in &module.named_metadata {
            let name: Vec<u64> = named.name.iter().map(|&byte| byte.into()).collect();
            self.stream.record_as(layout, code::NAME, &name);
            let number = |&id: &MetadataId| Ok(self.numbering.metadata_number(Scope::MODULE, id)? - 1);
            let nodes: Vec<u64> = named.nodes.iter().map(number).collect::<Result<_>>()?;
            self.stream.record(code::NAMED_NODE, &nodes);
        }
        Ok(())
    }

    /// Writes what is attached to declarations and to global variables.
    fn attachments_of_symbols(&mut self) -> Result<()> {
        let module = self.numbering.source.module;
        let declared = module.functions.iter().filter(|function| function.declaration);
        let declared = declared.map(|function| &function.symbol);
        for symbol in declared.chain(module.globals.iter().map(|global| &global.symbol)) {
            if !symbol.attachments.is_empty() {
                let value = self.numbering.value(Scope::MODULE, symbol.value)?;
                let mut record = alloc::vec![u64::from(value)];
                self.attached(Scope::MODULE, &symbol.attachments, &mut record)?;
                self.stream.record(code::GLOBAL_DECL_ATTACHMENT, &record);
            }
        }
        Ok(())
    }

    /// Appends pairs of kind and node.
    fn attached(&self, scope: Scope, attachments: &[(u32, MetadataId)], record: &mut Vec<u64>) -> Result<()> {
        for (kind, id) in self.numbering.kinds.sorted(attachments)? {
            record.extend([kind, self.numbering.metadata_number(scope, id)? - 1]);
        }
        Ok(())
    }

    /// Writes the metadata of a function.
    pub(super) fn function_metadata(&mut self, owner: u32) -> Result<()> {
        let lists = self.numbering.metadata.of_function(owner);
        let (strings, others) = (lists.strings.to_vec(), lists.others.to_vec());
        if strings.is_empty() && others.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::METADATA, 3, 0);
        self.metadata_strings(&strings)?;
        self.metadata_records(&others, &mut NodeLayouts::default())?;
        self.stream.leave()
    }

    /// Writes strings as one record: their number, and a blob of their lengths and of their characters.
    fn metadata_strings(&mut self, strings: &[Key]) -> Result<()> {
        if strings.is_empty() {
            return Ok(());
        }
        let mut lengths = BitWriter::new();
        let mut characters = Vec::new();
        for &key in strings {
            if let (Metadata::String(string), table) = self.numbering.source.metadata(key)? {
                let string = table.string(string);
                lengths.variable(string.len() as u64, 6);
                characters.extend_from_slice(string);
            }
        }
        lengths.align();
        let mut blob = lengths.finish();
        let record = [strings.len() as u64, blob.len() as u64];
        blob.append(&mut characters);
        let scalars = [Literal(code::STRINGS.into()), Variable(6), Variable(6)];
        let layout = self.stream.define(&Shape(&scalars, Tail::Blob));
        self.stream.record_with_blob(&layout, code::STRINGS, &record, &blob);
        Ok(())
    }

    /// Writes values and nodes, and returns the position of each.
    pub(super) fn metadata_records(&mut self, list: &[Key], layouts: &mut NodeLayouts) -> Result<Vec<usize>> {
        let mut positions = Vec::with_capacity(list.len());
        let mut record = Vec::new();
        for &key in list {
            positions.push(self.stream.position());
            record.clear();
            match self.numbering.source.metadata(key)? {
                (Metadata::Node(node), table) => self.node(key, node, table, layouts, &mut record)?,
                (Metadata::Value { value, .. }, _) => {
                    let source = &self.numbering.source;
                    let wrapped = source.value_key(key.scope, value)?;
                    let ty = source.value(wrapped)?.ty;
                    record.extend([self.numbering.ty(ty)?, self.numbering.value_of_key(wrapped)?.into()]);
                    self.stream.record(code::VALUE, &record);
                }
                (Metadata::String(_) | Metadata::Missing, _) => {
                    return Err(Error::without_offset(
                        ErrorKind::BadValue,
                        "metadata that nothing defines is used",
                    ));
                }
            }
        }
        Ok(positions)
    }

    fn node(
        &mut self,
        key: Key,
        node: Node,
        table: &MetadataTable,
        layouts: &mut NodeLayouts,
        record: &mut Vec<u64>,
    ) -> Result<()> {
        let mut references = Vec::with_capacity(node.references as usize);
        for &reference in table.references(node) {
            references.push(self.numbering.reference(key.scope, reference)?);
        }
        let code = match node.kind {
            NodeKind::Tuple => {
                record.append(&mut references);
                if node.distinct { code::DISTINCT_NODE } else { code::NODE }
            }
            NodeKind::ArgList => {
                record.extend(references.iter().map(|reference| reference.saturating_sub(1)));
                code::ARG_LIST
            }
            _ => {
                let numbers = table.numbers(node);
                let code = match self.version {
                    Version::Dxc => old_debug_info::encode(node, &references, numbers, record),
                    version => {
                        let is_14 = version == Version::Llvm14;
                        debug_info::encode(node, &references, numbers, is_14, record)
                    }
                };
                code.ok_or_else(|| {
                    unsupported("a debug-info node can't be written in the form of this version")
                })?
            }
        };
        let layout = match node.kind {
            NodeKind::Location => {
                if layouts.location.is_none() {
                    layouts.location = Some(self.location_layout());
                }
                layouts.location.as_ref()
            }
            NodeKind::GenericDebug => {
                if layouts.generic.is_none() {
                    layouts.generic = Some(self.generic_layout());
                }
                layouts.generic.as_ref().filter(|_| record.len() > 3)
            }
            _ => None,
        };
        self.stream.record_as(layout, code, record);
        Ok(())
    }

    /// Writes what is attached to a function and to its instructions, if anything is.
    pub(super) fn function_attachments(
        &mut self,
        scope: Scope,
        function: &Function,
        body: &FunctionBody,
    ) -> Result<()> {
        let of_function = [&function.symbol.attachments[..], &body.function_attachments].concat();
        let count: usize = body.attachments.iter().map(|(_, attached)| attached.len()).sum();
        if of_function.is_empty() && count == 0 {
            return Ok(());
        }
        self.stream.enter(blocks::METADATA_ATTACHMENT, 3, 0);
        if !of_function.is_empty() {
            let mut record = Vec::new();
            self.attached(scope, &of_function, &mut record)?;
            self.stream.record(ATTACHMENT, &record);
        }
        let mut attachments = body.attachments.iter().peekable();
        for (number, (index, _)) in body.listed_instructions().enumerate() {
            while let Some((_, attached)) = attachments.next_if(|(at, _)| *at <= index) {
                let mut record = alloc::vec![u64::from(narrow(number as u64))];
                self.attached(scope, attached.of(&body.attached), &mut record)?;
                self.stream.record(ATTACHMENT, &record);
            }
        }
        self.stream.leave()
    }
}

/// `ATTACHMENT` of the block of attachments.
const ATTACHMENT: u32 = 11;
