//! Attributes of functions, parameters, results and globals (`PARAMATTR_GROUP_BLOCK_ID`, `PARAMATTR_BLOCK_ID`).
//!
//! An attribute group record is `[group, index, attributes…]`, where the index says what the attributes belong to:
//! `u32::MAX` the function, 0 the result, `n + 1` parameter `n`. Every attribute starts with its form: 0 kind; 1
//! kind, integer; 3 name, NUL; 4 name, NUL, value, NUL; 5 kind; 6 kind, type; 7 kind, width, range; 8 kind, count,
//! width, ranges. An attribute list is a record of group ids, or, before LLVM 3.3, of pairs of index and bit mask.
//!
//! Equal sets are interned as one set, because the printer numbers them by content.
//!
//! Knowledge: LLVM's `LLVMBitCodes.h` (3.3 to 19); the bit masks of LLVM before 3.3.

use crate::attribute_names::name;
use crate::bitstream::{Cursor, Record};
use crate::hash::{Hash, HashIndex};
use crate::ids::{AttributeListId, AttributeSetId, Slice, TypeId, narrow, unrotate};
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

/// An attribute. Kinds are numbered as in bitcode, see [`crate::attribute_name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// A kind without a value.
    Flag(u32),
    /// A kind with an integer.
    Integer(u32, u64),
    /// A kind with a type, which old files omit.
    Type(u32, Option<TypeId>),
    /// A name, and a value which may be empty, in [`Attributes::text`].
    Text {
        /// The name.
        name: Slice,
        /// The value.
        value: Slice,
    },
    /// Ranges of integers of one width. The words in [`Attributes::words`] are the lower and upper bound of each
    /// range in turn, each as many words as the width needs, least significant first.
    Ranges {
        /// The kind.
        kind: u32,
        /// The width in bits.
        width: u32,
        /// Lower and upper bounds in turn.
        bounds: Slice,
    },
}

impl Attribute {
    /// Returns the kind; a text attribute has none.
    pub fn kind(&self) -> Option<u32> {
        match *self {
            Attribute::Flag(kind) | Attribute::Integer(kind, _) | Attribute::Type(kind, _) => Some(kind),
            Attribute::Ranges { kind, .. } => Some(kind),
            Attribute::Text { .. } => None,
        }
    }
}

/// What a set of attributes in a list belongs to.
pub mod index {
    /// The result of a function.
    pub const RESULT: u32 = 0;
    /// The function itself.
    pub const FUNCTION: u32 = u32::MAX;

    /// Returns the index of parameter `n`.
    pub fn parameter(n: usize) -> u32 {
        u32::try_from(n).unwrap_or(u32::MAX - 2).saturating_add(1)
    }
}

/// All attributes of a module.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    sets: Vec<Slice>,
    attributes: Vec<Attribute>,
    lists: Vec<Slice>,
    entries: Vec<(u32, AttributeSetId)>,
    bytes: Vec<u8>,
    words: Vec<u64>,
    index: HashIndex,
    groups: Vec<(u64, u32, AttributeSetId)>,
}

/// Maximum width of the integers of a range, in bits.
const MAX_RANGE_WIDTH: u32 = 1 << 10;

/// Attribute kinds that are treated specially.
pub(crate) mod kind {
    pub(crate) const ALIGN: u32 = 1;
    pub(crate) const BY_VALUE: u32 = 3;
    pub(crate) const STACK_ALIGNMENT: u32 = 25;
    pub(crate) const STRUCT_RESULT: u32 = 29;
    pub(crate) const IN_ALLOCA: u32 = 38;
    pub(crate) const PREALLOCATED: u32 = 65;
    pub(crate) const NULL_POINTER_IS_VALID: u32 = 67;
    pub(crate) const MEMORY: u32 = 86;
}

/// The kinds of bits 0 to 15 of the masks before LLVM 3.3.
const OLD_LOW: [u32; 16] = [34, 24, 17, 5, 29, 18, 9, 3, 8, 20, 21, 14, 2, 19, 26, 27];
/// The kinds of bits 21 to 63, counted after [`decode_mask`] has moved them down; 0 is none.
const OLD_HIGH: [u32; 43] = [
    11, 16, 13, 7, 4, 0, 0, 0, 23, 33, 15, 30, 6, 12, 28, 31, 32, 10, 22, 36, 35, 37, 38, 39, 40, 43, 44, 48, 49,
    50, 46, 47, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
];

impl Attributes {
    /// Returns the attributes of a set.
    pub fn set(&self, id: AttributeSetId) -> &[Attribute] {
        self.sets.get(id.index()).map_or(&[], |slice| slice.of(&self.attributes))
    }

    /// Returns the number of distinct sets.
    pub fn set_count(&self) -> usize {
        self.sets.len()
    }

    /// Returns the number of lists.
    pub(crate) fn list_count(&self) -> usize {
        self.lists.len()
    }

    /// Returns the sets of a list, each with the index of what it belongs to.
    pub fn list(&self, id: AttributeListId) -> &[(u32, AttributeSetId)] {
        self.lists.get(id.index()).map_or(&[], |slice| slice.of(&self.entries))
    }

    /// Returns the set of a list that belongs to the function, its result or a parameter; see [`index`].
    #[inline]
    pub fn of(&self, list: AttributeListId, index: u32) -> Option<AttributeSetId> {
        let entries = self.list(list);
        let at = entries.binary_search_by_key(&place(index), |&(of, _)| place(of)).ok()?;
        entries.get(at).map(|&(_, set)| set)
    }

    /// Returns the bytes of a name or value.
    pub fn text(&self, text: Slice) -> &[u8] {
        text.of(&self.bytes)
    }

    /// Returns the bounds of ranges.
    pub fn words(&self, words: Slice) -> &[u64] {
        words.of(&self.words)
    }

    /// Reads the block of attribute groups that `cursor` is at.
    pub(crate) fn read_groups(&mut self, cursor: &mut Cursor<'_>, block: u32, findings: &mut Diagnostics) -> Result<()> {
        self.reserve();
        let mut set = Vec::new();
        cursor.for_records(block, |_, record| {
            if record.code == 3 {
                let error = |message| Error::new(ErrorKind::BadValue, record.offset, message);
                if self.read_group(record, &mut set).is_none() {
                    findings.error("llvm-attribute", error("attribute group ends early"));
                }
                let last = self.groups.last().map_or(&[][..], |&(.., set)| self.set(set));
                if let Some(kind) = last.iter().filter_map(Attribute::kind).find(|&kind| name(kind).is_none()) {
                    let error = error("attribute of an unknown kind").found(alloc::format!("{kind}"));
                    findings.error("llvm-attribute", error);
                }
            }
            Ok(())
        })
    }

    /// Reserves what the attributes of a small module take, so that the tables do not grow step by step.
    fn reserve(&mut self) {
        self.sets.reserve(16);
        self.groups.reserve(16);
        self.lists.reserve(16);
        self.entries.reserve(64);
        self.attributes.reserve(128);
        self.bytes.reserve(2048);
    }

    /// Reads a group; `set` is a buffer.
    fn read_group(&mut self, record: &Record, set: &mut Vec<Attribute>) -> Option<()> {
        let mut values = record.values.iter().copied();
        let (group, index) = (values.next()?, narrow(values.next()?));
        set.clear();
        let complete = self.read_attributes(&mut values, set);
        let set = self.intern(set);
        self.groups.push((group, index, set));
        complete
    }

    fn read_attributes(&mut self, values: &mut impl Iterator<Item = u64>, set: &mut Vec<Attribute>) -> Option<()> {
        while let Some(form) = values.next() {
            let attribute = match form {
                3 | 4 => {
                    let name = self.read_text(values);
                    let value = if form == 4 { self.read_text(values) } else { Slice::default() };
                    Attribute::Text { name, value }
                }
                _ => {
                    let kind = narrow(values.next()?);
                    match form {
                        0 | 5 => match kind {
                            kind::BY_VALUE | kind::STRUCT_RESULT | kind::IN_ALLOCA => Attribute::Type(kind, None),
                            _ if form == 5 => Attribute::Type(kind, None),
                            _ => Attribute::Flag(kind),
                        },
                        1 => Attribute::Integer(kind, values.next()?),
                        6 => Attribute::Type(kind, Some(TypeId(narrow(values.next()?)))),
                        7 => {
                            let width = narrow(values.next()?);
                            self.read_ranges(kind, width, 1, values)?
                        }
                        8 => {
                            let count = values.next()?;
                            let width = narrow(values.next()?);
                            self.read_ranges(kind, width, count, values)?
                        }
                        _ => return None,
                    }
                }
            };
            set.push(attribute);
        }
        Some(())
    }

    fn read_text(&mut self, values: &mut impl Iterator<Item = u64>) -> Slice {
        Slice::extend(&mut self.bytes, values.take_while(|&c| c != 0).map(|c| c.to_le_bytes()[0]))
    }

    fn read_ranges(
        &mut self,
        kind: u32,
        width: u32,
        count: u64,
        values: &mut impl Iterator<Item = u64>,
    ) -> Option<Attribute> {
        if width > MAX_RANGE_WIDTH {
            return None;
        }
        let mut bounds = Vec::new();
        for _ in 0..count {
            // Wide bounds are preceded by their word counts: low half the lower bound's, high half the upper
            // bound's.
            let words = if width > 64 { values.next()? } else { 1 << 32 | 1 };
            for stored in [words & 0xFFFF_FFFF, words >> 32] {
                let size = u64::from(width.div_ceil(64).max(1));
                for at in 0..size {
                    bounds.push(if at < stored { unrotate(values.next()?) } else { 0 });
                }
                if stored > size {
                    return None;
                }
            }
        }
        Some(Attribute::Ranges { kind, width, bounds: Slice::extend(&mut self.words, bounds) })
    }

    /// Reads the block of attribute lists that `cursor` is at.
    pub(crate) fn read_lists(&mut self, cursor: &mut Cursor<'_>, block: u32) -> Result<()> {
        let mut entries = Vec::new();
        cursor.for_records(block, |_, record| {
            match record.code {
                1 => self.read_old_list(record),
                2 => self.read_list(record, &mut entries),
                _ => {}
            }
            Ok(())
        })
    }

    /// Reads a list; `entries` is a buffer.
    fn read_list(&mut self, record: &Record, entries: &mut Vec<(u32, AttributeSetId)>) {
        entries.clear();
        for &number in record.values.iter() {
            let Some((index, set)) = self.group(number) else { continue };
            match entries.iter().position(|(of, _)| *of == index) {
                None => entries.push((index, set)),
                Some(at) => {
                    let earlier = entries.get(at).map_or(set, |&(_, earlier)| earlier);
                    let mut union = self.set(earlier).to_vec();
                    union.extend_from_slice(self.set(set));
                    let union = self.intern(&union);
                    if let Some(entry) = entries.get_mut(at) {
                        entry.1 = union;
                    }
                }
            }
        }
        let _ = self.add_list(entries);
    }

    /// Returns a group by its number: where it belongs and its set. Groups are usually numbered from 1 on.
    fn group(&self, number: u64) -> Option<(u32, AttributeSetId)> {
        let at = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
        let group = match self.groups.get(at) {
            Some(group) if group.0 == number => Some(group),
            _ => self.groups.iter().find(|(group, ..)| *group == number),
        };
        group.map(|&(_, index, set)| (index, set))
    }

    fn read_old_list(&mut self, record: &Record) {
        let sets = record.values.chunks_exact(2).filter_map(|pair| match *pair {
            [index, mask] => Some((narrow(index), self.intern(&decode_mask(mask)))),
            _ => None,
        });
        let mut entries = sets.collect();
        let _ = self.add_list(&mut entries);
    }

    /// Adds a list without its empty sets, and returns its id. Sorts the entries.
    pub(crate) fn add_list(&mut self, entries: &mut Vec<(u32, AttributeSetId)>) -> AttributeListId {
        entries.retain(|&(_, set)| !self.set(set).is_empty());
        entries.sort_by_key(|&(of, _)| place(of));
        let slice = Slice::extend(&mut self.entries, entries.iter().copied());
        let id = narrow(self.lists.len() as u64);
        self.lists.push(slice);
        AttributeListId(id)
    }

    /// Adds a copy of a list in which `edit` has changed the set at `index`, and returns its id.
    pub(crate) fn with_changed_set(
        &mut self,
        list: AttributeListId,
        index: u32,
        edit: impl FnOnce(&mut Vec<Attribute>),
    ) -> AttributeListId {
        let mut entries = self.list(list).to_vec();
        let mut set = self.of(list, index).map_or_else(Vec::new, |set| self.set(set).to_vec());
        edit(&mut set);
        let set = self.intern(&set);
        match entries.iter_mut().find(|(of, _)| *of == index) {
            Some(entry) => entry.1 = set,
            None => entries.push((index, set)),
        }
        self.add_list(&mut entries)
    }

    /// Creates a text attribute.
    pub(crate) fn text_attribute(&mut self, name: &[u8], value: &[u8]) -> Attribute {
        let name = Slice::extend(&mut self.bytes, name.iter().copied());
        let value = Slice::extend(&mut self.bytes, value.iter().copied());
        Attribute::Text { name, value }
    }

    /// Creates an attribute with ranges of integers.
    pub(crate) fn range_attribute(&mut self, kind: u32, width: u32, bounds: &[u64]) -> Attribute {
        Attribute::Ranges { kind, width, bounds: Slice::extend(&mut self.words, bounds.iter().copied()) }
    }

    /// Returns the name of a text attribute; empty for others.
    pub(crate) fn name_of(&self, attribute: &Attribute) -> &[u8] {
        match *attribute {
            Attribute::Text { name, .. } => self.text(name),
            _ => &[],
        }
    }

    /// Returns whether two attributes have one name, so that a set can't hold both.
    pub(crate) fn is_same_name(&self, one: &Attribute, two: &Attribute) -> bool {
        one.kind() == two.kind() && self.name_of(one) == self.name_of(two)
    }

    /// Returns the id of a set, which is added if there is no equal one.
    pub(crate) fn intern(&mut self, set: &[Attribute]) -> AttributeSetId {
        let hash = self.hash_of(set);
        let same = |id: u32| {
            let other = self.set(AttributeSetId(id));
            other.len() == set.len() && other.iter().zip(set).all(|(one, two)| self.same(one, two))
        };
        if let Some(id) = self.index.find(hash, same) {
            return AttributeSetId(id);
        }
        let id = narrow(self.sets.len() as u64);
        let slice = Slice::extend(&mut self.attributes, set.iter().copied());
        self.sets.push(slice);
        let mut index = core::mem::take(&mut self.index);
        index.insert(hash, id, |id| self.hash_of(self.set(AttributeSetId(id))));
        self.index = index;
        AttributeSetId(id)
    }

    fn same(&self, one: &Attribute, two: &Attribute) -> bool {
        match (*one, *two) {
            (Attribute::Text { name: n1, value: v1 }, Attribute::Text { name: n2, value: v2 }) => {
                self.text(n1) == self.text(n2) && self.text(v1) == self.text(v2)
            }
            (
                Attribute::Ranges { kind: k1, width: w1, bounds: b1 },
                Attribute::Ranges { kind: k2, width: w2, bounds: b2 },
            ) => k1 == k2 && w1 == w2 && self.words(b1) == self.words(b2),
            (one, two) => one == two,
        }
    }

    fn hash_of(&self, set: &[Attribute]) -> u64 {
        set.iter()
            .fold(Hash::new(), |hash, attribute| match *attribute {
                Attribute::Flag(kind) => hash.word(u64::from(kind)),
                Attribute::Integer(kind, value) => hash.word(u64::from(kind)).word(value),
                Attribute::Type(kind, ty) => {
                    hash.word(u64::from(kind)).word(ty.map_or(u64::MAX, |ty| u64::from(ty.0)))
                }
                Attribute::Text { name, value } => hash.bytes(self.text(name)).bytes(self.text(value)),
                Attribute::Ranges { kind, bounds, .. } => {
                    self.words(bounds).iter().fold(hash.word(u64::from(kind)), |hash, &word| hash.word(word))
                }
            })
            .0
    }
}

/// Returns the place of an index in a list: the function is first, as LLVM writes it.
fn place(index: u32) -> u32 {
    index.wrapping_add(1)
}

/// Decodes a mask as LLVM wrote it before 3.3: bits 0 to 15 flags, 16 to 31 alignment, then the other flags.
fn decode_mask(mask: u64) -> Vec<Attribute> {
    let mut set = Vec::new();
    let alignment = mask >> 16 & 0xFFFF;
    let flags = ((mask & (0xF_FFFF << 32)) >> 11) | (mask & 0xFFFF);
    let mut add = |kind: u32| match kind {
        0 => {}
        kind::BY_VALUE | kind::STRUCT_RESULT | kind::IN_ALLOCA => set.push(Attribute::Type(kind, None)),
        _ => set.push(Attribute::Flag(kind)),
    };
    for (bit, &kind) in OLD_LOW.iter().enumerate() {
        if flags >> bit & 1 != 0 {
            add(kind);
        }
    }
    for (bit, &kind) in OLD_HIGH.iter().enumerate() {
        if flags >> 21 >> bit & 1 != 0 {
            add(kind);
        }
    }
    if alignment != 0 {
        set.push(Attribute::Integer(kind::ALIGN, alignment));
    }
    let stack = flags >> 26 & 7;
    if stack != 0 {
        set.push(Attribute::Integer(kind::STACK_ALIGNMENT, 1 << stack.wrapping_sub(1)));
    }
    set
}
