//! Metadata: strings, values and nodes, named metadata, and metadata kinds.
//!
//! All metadata of a module is numbered in one sequence: first the module's, then that of the function being read.
//! References inside nodes are stored as number plus one, where zero is null, and this table keeps them that way.
//! Every node is a run of words: first references, in the order in which LLVM 14 keeps operands (which decides the
//! order of numbering when printed), then plain numbers. [`crate::debug_info`] gives the layout of debug-info
//! nodes.
//!
//! Knowledge: `MetadataCodes` of LLVM's `LLVMBitCodes.h` (3.2 to 19).

use crate::write::fixed_names;
use alloc::borrow::Cow;
use crate::bitstream::{self, Cursor, Record};
use crate::debug_info::{self, NodeKind};
use crate::ids::{MetadataId, Slice, TypeId, ValueId, narrow};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

/// An entry of a metadata table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// A string, in [`MetadataTable::string`].
    String(Slice),
    /// A value of the program.
    Value {
        /// The type of the value, as stored in the record.
        ty: TypeId,
        /// The value.
        value: ValueId,
    },
    /// A node.
    Node(Node),
    /// A number without a record, or a record that could not be read.
    Missing,
}

impl Metadata {
    /// Returns whether the entry is `!{}`.
    pub(crate) fn is_empty_tuple(self) -> bool {
        matches!(self, Metadata::Node(node)
            if node.kind == NodeKind::Tuple && !node.distinct && node.words.is_empty())
    }
}

/// A node: a tuple or one of the specialised debug-info nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The kind of node.
    pub kind: NodeKind,
    /// Whether the node is `distinct`: not unified with equal nodes.
    pub distinct: bool,
    /// The number of words that are references.
    pub references: u32,
    /// References (number plus one, or zero), then numbers, in [`MetadataTable::words`].
    pub words: Slice,
}

/// A named list of nodes, such as `!air.kernel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMetadata {
    /// The name, without `!`.
    pub name: Vec<u8>,
    /// The nodes.
    pub nodes: Vec<MetadataId>,
}

/// Attachments of one global or function: metadata kind (by its number in the file) and node.
pub type Attachments = Vec<(u32, MetadataId)>;

/// The metadata of a module, or of one of its functions.
#[derive(Clone, Debug, Default)]
pub struct MetadataTable {
    /// The number of the first entry: 0 for a module, the module's count for a function.
    base: u32,
    entries: Vec<Metadata>,
    /// Entries without a number in the file: values that old records hold inline, and entries that an upgrade
    /// added.
    unnumbered: Vec<Metadata>,
    words: Vec<u64>,
    bytes: Vec<u8>,
    /// Whether each string has a record of its own, as before LLVM 3.9.
    pub(crate) old_strings: bool,
    /// Whether entries that an upgrade adds are numbered like all others.
    pub(crate) is_open: bool,
    /// References to tuples that an upgrade added, by content.
    added_tuples: BTreeMap<Vec<u64>, u64>,
    /// References to strings that an upgrade added, by content.
    added_strings: BTreeMap<Vec<u8>, u64>,
}

/// What a metadata block holds besides entries: named metadata, attachments of globals, and metadata kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetadataExtras {
    pub(crate) named: Vec<NamedMetadata>,
    pub(crate) globals: Vec<(ValueId, Attachments)>,
    pub(crate) kinds: Vec<(u32, Cow<'static, [u8]>)>,
}

/// The id of the first unnumbered entry.
const UNNUMBERED: u32 = 1 << 28;

pub(crate) mod code {
    pub(crate) const STRING_OLD: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
    pub(crate) const NODE: u32 = 3;
    pub(crate) const NAME: u32 = 4;
    pub(crate) const DISTINCT_NODE: u32 = 5;
    pub(crate) const KIND: u32 = 6;
    pub(crate) const OLD_NODE: u32 = 8;
    pub(crate) const OLD_FN_NODE: u32 = 9;
    pub(crate) const NAMED_NODE: u32 = 10;
    pub(crate) const STRINGS: u32 = 35;
    pub(crate) const GLOBAL_DECL_ATTACHMENT: u32 = 36;
    pub(crate) const INDEX_OFFSET: u32 = 38;
    pub(crate) const INDEX: u32 = 39;
    pub(crate) const ARG_LIST: u32 = 46;
}

/// Returns whether a record of this code defines the next entry. `STRINGS` defines several and is not included.
pub(crate) fn is_entry(code: u32) -> bool {
    !matches!(
        code,
        code::NAME
            | code::NAMED_NODE
            | code::KIND
            | code::GLOBAL_DECL_ATTACHMENT
            | code::INDEX_OFFSET
            | code::INDEX
            | code::STRINGS
    )
}

impl MetadataTable {
    /// Clears the table. Its first entry will have the number `base`.
    pub(crate) fn clear(&mut self, base: u32) {
        self.base = base;
        self.entries.clear();
        self.unnumbered.clear();
        self.words.clear();
        self.bytes.clear();
    }

    /// Returns the number of the first entry.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Returns the number of numbered entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no numbered entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entry with this number, if it is in this table.
    #[inline]
    pub fn get(&self, id: MetadataId) -> Option<Metadata> {
        match self.entries.get(id.0.wrapping_sub(self.base) as usize) {
            Some(entry) => Some(*entry),
            None => self.unnumbered.get(id.0.checked_sub(self.unnumbered_base())? as usize).copied(),
        }
    }

    /// Returns all numbered entries with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (MetadataId, Metadata)> + '_ {
        (self.base..).zip(&self.entries).map(|(id, entry)| (MetadataId(id), *entry))
    }

    /// Returns the bytes of a string.
    #[inline]
    pub fn string(&self, string: Slice) -> &[u8] {
        string.of(&self.bytes)
    }

    /// Returns the bytes of all strings.
    pub(crate) fn all_strings(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns all words of a node.
    #[inline]
    pub fn words(&self, node: Node) -> &[u64] {
        node.words.of(&self.words)
    }

    /// Returns the references of a node: number plus one, or zero.
    pub fn references(&self, node: Node) -> &[u64] {
        self.words(node).get(..node.references as usize).unwrap_or_default()
    }

    /// Returns an operand of a node by its index in the order of numbering: number plus one, or zero.
    pub(crate) fn operand(&self, node: Node, at: usize, old: bool) -> Option<u64> {
        let at = match debug_info::operand_order(node.kind, old) {
            Some(order) => usize::from(*order.get(at)?),
            None => at,
        };
        self.references(node).get(at).copied()
    }

    /// Returns the plain numbers of a node.
    pub fn numbers(&self, node: Node) -> &[u64] {
        self.words(node).get(node.references as usize..).unwrap_or_default()
    }

    /// Returns the id of the first unnumbered entry, which differs between modules and functions to keep their
    /// entries apart.
    fn unnumbered_base(&self) -> u32 {
        if self.base == 0 { UNNUMBERED } else { UNNUMBERED.wrapping_mul(2) }
    }

    /// Returns the number of entries without a number in the file.
    pub(crate) fn unnumbered_len(&self) -> usize {
        self.unnumbered.len()
    }

    /// Returns an entry by its index: numbered ones first.
    pub(crate) fn by_index(&self, index: usize) -> Option<Metadata> {
        match self.entries.get(index) {
            Some(entry) => Some(*entry),
            None => self.unnumbered.get(index.checked_sub(self.entries.len())?).copied(),
        }
    }

    /// Returns the index of an unnumbered entry.
    pub(crate) fn unnumbered_index(&self, id: MetadataId) -> Option<usize> {
        let at = id.0.checked_sub(self.unnumbered_base())? as usize;
        (at < self.unnumbered.len()).then_some(at)
    }

    /// Replaces a reference (number plus one, or zero) of a node.
    pub(crate) fn set_reference(&mut self, node: Node, at: usize, reference: u64) {
        if at < node.references as usize {
            let at = (node.words.start as usize).saturating_add(at);
            if let Some(word) = self.words.get_mut(at) {
                *word = reference;
            }
        }
    }

    /// Replaces a numbered entry.
    pub(crate) fn replace(&mut self, id: MetadataId, entry: Metadata) {
        if let Some(slot) = self.entries.get_mut(id.0.wrapping_sub(self.base) as usize) {
            *slot = entry;
        }
    }

    /// Adds an unnumbered entry and returns a reference to it.
    pub(crate) fn add_unnumbered(&mut self, entry: Metadata) -> u64 {
        if self.is_open {
            return u64::from(self.add(entry).0).saturating_add(1);
        }
        let id = self.unnumbered_base().saturating_add(narrow(self.unnumbered.len() as u64));
        self.unnumbered.push(entry);
        u64::from(id).saturating_add(1)
    }

    /// Returns a reference to a string, which is added unless it was added before.
    pub(crate) fn add_string_reference(&mut self, text: &[u8]) -> u64 {
        if let Some(&reference) = self.added_strings.get(text) {
            return reference;
        }
        let string = Slice::extend(&mut self.bytes, text.iter().copied());
        let reference = self.add_unnumbered(Metadata::String(string));
        self.added_strings.insert(text.to_vec(), reference);
        reference
    }

    /// Returns a reference to a tuple, which is added unless it was added before.
    pub(crate) fn add_tuple(&mut self, references: &[u64]) -> u64 {
        if let Some(&reference) = self.added_tuples.get(references) {
            return reference;
        }
        // Reuse the empty tuple of the file, which most files have.
        let listed = self.iter().filter(|_| references.is_empty()).find(|(_, entry)| entry.is_empty_tuple());
        let reference = match listed {
            Some((id, _)) => u64::from(id.0).saturating_add(1),
            None => {
                let node = self.node(NodeKind::Tuple, false, references, &[]);
                self.add_unnumbered(node)
            }
        };
        self.added_tuples.insert(references.to_vec(), reference);
        reference
    }

    /// Adds a numbered entry and returns its number.
    pub(crate) fn add(&mut self, entry: Metadata) -> MetadataId {
        let id = self.base.saturating_add(narrow(self.entries.len() as u64));
        self.entries.push(entry);
        MetadataId(id)
    }

    /// Stores a string and returns its entry.
    pub(crate) fn text(&mut self, text: &[u8]) -> Metadata {
        Metadata::String(Slice::extend(&mut self.bytes, text.iter().copied()))
    }

    /// Stores the words of a node and returns the node.
    pub(crate) fn node(&mut self, kind: NodeKind, distinct: bool, references: &[u64], numbers: &[u64]) -> Metadata {
        let words = Slice::extend(&mut self.words, references.iter().chain(numbers).copied());
        Metadata::Node(Node { kind, distinct, references: narrow(references.len() as u64), words })
    }

    /// Reads the metadata block that `cursor` is at.
    ///
    /// # Errors
    /// If the stream is damaged. Records that can't be decoded become [`Metadata::Missing`] and are reported in
    /// `findings`.
    pub(crate) fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: u32,
        types: MetadataTypes,
        extras: &mut MetadataExtras,
        findings: &mut Diagnostics,
    ) -> Result<()> {
        if self.entries.is_empty() {
            // What a small module takes, so that the tables do not grow step by step.
            self.entries.reserve(128);
            self.words.reserve(256);
        }
        let mut name = Vec::new();
        cursor.for_records(block, |cursor, record| {
            if self.read_record(cursor, record, types, &mut name, extras).is_none() {
                let error = Error::new(ErrorKind::BadValue, record.offset, "metadata record can't be read")
                    .found(alloc::format!("code {} of {} operands", record.code, record.values.len()));
                findings.error("llvm-metadata", error);
                self.entries.push(Metadata::Missing);
            }
            Ok(())
        })
    }

    fn read_record(
        &mut self,
        cursor: &Cursor<'_>,
        record: &Record,
        types: MetadataTypes,
        name: &mut Vec<u8>,
        extras: &mut MetadataExtras,
    ) -> Option<()> {
        let values = record.values.as_slice();
        let entry = match record.code {
            code::NODE | code::DISTINCT_NODE => {
                self.node(NodeKind::Tuple, record.code == code::DISTINCT_NODE, values, &[])
            }
            code::VALUE => {
                let (ty, value) = (narrow(*values.first()?), narrow(*values.get(1)?));
                Metadata::Value { ty: TypeId(ty), value: ValueId(value) }
            }
            code::STRINGS => return self.read_strings(cursor, record),
            code::STRING_OLD => {
                self.old_strings = true;
                Metadata::String(self.add_string(values))
            }
            code::OLD_NODE => self.old_node(values, types)?,
            code::OLD_FN_NODE => match *values {
                [ty, value] if !types.is_metadata_or_void(narrow(ty)) => {
                    Metadata::Value { ty: TypeId(narrow(ty)), value: ValueId(narrow(value)) }
                }
                // Function-local nodes with several values are no longer valid.
                _ => self.node(NodeKind::Tuple, false, &[], &[]),
            },
            code::ARG_LIST => {
                let references: Vec<u64> = values.iter().map(|&id| id.saturating_add(1)).collect();
                self.node(NodeKind::ArgList, false, &references, &[])
            }
            code::NAME => {
                *name = bitstream::text(values);
                return Some(());
            }
            code::NAMED_NODE => {
                let nodes = values.iter().map(|&id| MetadataId(narrow(id))).collect();
                extras.named.push(NamedMetadata { name: core::mem::take(name), nodes });
                return Some(());
            }
            code::KIND => {
                extras.kinds.push(kind_of(values)?);
                return Some(());
            }
            code::GLOBAL_DECL_ATTACHMENT => {
                let (&global, rest) = values.split_first()?;
                extras.globals.push((ValueId(narrow(global)), attachments(rest).collect()));
                return Some(());
            }
            code::INDEX_OFFSET | code::INDEX => return Some(()),
            code => {
                let parts = debug_info::decode(code, values)?;
                self.node(parts.kind, parts.distinct, &parts.references, &parts.numbers)
            }
        };
        self.entries.push(entry);
        Some(())
    }

    fn add_string(&mut self, characters: &[u64]) -> Slice {
        Slice::extend(&mut self.bytes, bitstream::characters(characters))
    }

    /// Decodes pairs of type and value. With type `metadata` the value is a reference, with `void` it is null.
    fn old_node(&mut self, values: &[u64], types: MetadataTypes) -> Option<Metadata> {
        if !values.len().is_multiple_of(2) {
            return None;
        }
        let mut references = Vec::new();
        for pair in values.chunks_exact(2) {
            let [ty, value] = *pair else { return None };
            let ty = narrow(ty);
            references.push(if ty == types.metadata {
                value.saturating_add(1)
            } else if ty == types.void {
                0
            } else {
                self.add_unnumbered(Metadata::Value { ty: TypeId(ty), value: ValueId(narrow(value)) })
            });
        }
        Some(self.node(NodeKind::Tuple, false, &references, &[]))
    }

    /// Decodes `[count, offset]` and a blob: the lengths as a bitstream of vbr6, then the characters from `offset`
    /// on.
    fn read_strings(&mut self, cursor: &Cursor<'_>, record: &Record) -> Option<()> {
        let &[count, offset] = record.values.as_slice() else { return None };
        let blob = cursor.data().get(record.blob.clone())?;
        let (lengths, characters) = blob.split_at_checked(usize::try_from(offset).ok()?)?;
        let mut lengths = Vbr6::new(lengths);
        let mut start = narrow(self.bytes.len() as u64);
        let end = start.saturating_add(narrow(characters.len() as u64));
        self.bytes.extend_from_slice(characters);
        for _ in 0..count {
            let length = lengths.next()?;
            if u64::from(end.saturating_sub(start)) < length {
                return None;
            }
            let length = narrow(length);
            self.entries.push(Metadata::String(Slice { start, count: length }));
            start = start.saturating_add(length);
        }
        Some(())
    }
}

/// The ids of the types that old metadata records treat specially.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetadataTypes {
    pub(crate) metadata: u32,
    pub(crate) void: u32,
}

impl MetadataTypes {
    fn is_metadata_or_void(self, ty: u32) -> bool {
        ty == self.metadata || ty == self.void
    }
}

/// Decodes pairs of metadata kind and node.
pub(crate) fn attachments(values: &[u64]) -> impl Iterator<Item = (u32, MetadataId)> + '_ {
    values.chunks_exact(2).filter_map(|pair| match *pair {
        [kind, node] => Some((narrow(kind), MetadataId(narrow(node)))),
        _ => None,
    })
}

/// Decodes a metadata kind: number and name.
pub(crate) fn kind_of(values: &[u64]) -> Option<(u32, Cow<'static, [u8]>)> {
    let (&number, name) = values.split_first()?;
    let number = narrow(number);
    Some((number, fixed_names::kind_of(number as usize, name)))
}

/// Reads vbr6 numbers, as which the lengths of strings are stored.
pub(crate) struct Vbr6<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> Vbr6<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }

    fn group(&mut self) -> Option<u64> {
        let byte = self.position >> 3;
        let low = u64::from(*self.data.get(byte)?);
        let high = self.data.get(byte.wrapping_add(1)).copied().map_or(0, u64::from);
        let group = ((high << 8 | low) >> (self.position & 7)) & 63;
        self.position = self.position.wrapping_add(6);
        Some(group)
    }

    pub(crate) fn next(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..60u32).step_by(5) {
            let group = self.group()?;
            value |= (group & 31) << shift;
            if group & 32 == 0 {
                return Some(value);
            }
        }
        None
    }
}
