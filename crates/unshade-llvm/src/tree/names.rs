//! The names of the modules of a stream: what refers to the string table (`STRTAB`), which is written anew when names
//! change.
//!
//! A string table belongs to all modules before it that have none yet, and so does the table of symbols for linkers
//! (`SYMTAB`) between them; its layout is in `verify/symbols.rs`. Two references to the same text may share it, so that a
//! text that changes for one of them only is written twice. Texts that overlap otherwise stay as they are, and new ones
//! follow them. What no reference leads to is kept.
//!
//! Knowledge: LLVM's `BitcodeWriter.cpp`, `IRSymtab.h` (versions 1 to 3).

use super::{Block, Tree, streams_mut};
use crate::blocks;
use crate::ids::narrow;
use crate::module::code;
use crate::summary;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Result};

/// The record of `STRTAB` and `SYMTAB` that holds the blob.
const BLOB: u32 = 1;

/// The newest version of the table of symbols whose layout is known.
const MAX_VERSION: u32 = 3;

/// Sizes of entries of the table of symbols, in words.
const MODULE_WORDS: usize = 3;
const SYMBOL_WORDS: usize = 6;
const UNCOMMON_WORDS: usize = 6;

/// The place of the target triple in the header of the table of symbols, in words.
const TRIPLE: usize = 11;

/// Places of the offsets of lists in the header of the table of symbols, in words; each is followed by the count.
const MODULES: usize = 3;
const COMDATS: usize = 5;
const SYMBOLS: usize = 7;
const UNCOMMON: usize = 9;
/// From version 2 on.
const LIBRARIES: usize = 15;

/// References from a module's records: code, and the places of offsets besides that of the name, 0.
const PARTITIONS: [(u32, Option<usize>); 6] = [
    (code::COMDAT, None),
    (code::GLOBALVAR, Some(16)),
    (code::FUNCTION, Some(19)),
    (code::ALIAS_OLD, Some(11)),
    (code::ALIAS, Some(12)),
    (code::IFUNC, Some(9)),
];

/// Records of summaries that refer to the string table: code, and whether all operands do or only the first two.
const SUMMARIES: [(u32, bool); 4] = [(17, true), (18, true), (21, false), (22, false)];

/// Where the offset and the size of a name are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In operands of a record, maybe of an inner block.
    Record { block: usize, inner: Option<usize>, item: usize, operand: usize },
    /// In words of the table of symbols.
    Symbols { word: usize },
    /// Nowhere any more.
    Nowhere,
}

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// A global variable, function, alias or ifunc, and the module.
    Symbol(usize),
    /// A comdat, and the module.
    Comdat(usize),
    /// A symbol of the table, as object files have it. The name that follows is that in the module.
    Mangled,
    /// The same symbol's name in the module.
    InModule,
    /// A name in the table that is one of object files.
    Other,
    /// No name of a symbol.
    Text,
}

/// A reference to the string table.
#[derive(Clone, Debug)]
pub(super) struct Name {
    place: Place,
    pub(super) role: Role,
    range: (u64, u64),
    /// The new text, if it changes.
    pub(super) new: Option<Vec<u8>>,
}

/// The names of the modules that share a string table.
pub(super) struct Names {
    /// The blocks, the last of which is the string table.
    pub(super) blocks: Range<usize>,
    /// The module blocks among them.
    pub(super) modules: Vec<usize>,
    symbols: Option<usize>,
    strings: Vec<u8>,
    pub(super) names: Vec<Name>,
}

/// Returns the words of the table of symbols.
fn words(blob: &[u8]) -> Vec<u32> {
    blob.chunks_exact(4).filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?))).collect()
}

fn word(words: &[u32], at: usize) -> usize {
    words.get(at).map_or(0, |word| *word as usize)
}

/// Returns the blob of a block that holds one, and the item that it is.
fn blob(block: &Block) -> Option<(usize, &[u8])> {
    block.records().find_map(|(index, record)| Some((index, record.blob.filter(|_| record.code == BLOB)?)))
}

impl Names {
    /// Returns the names of each string table among blocks of a stream.
    pub(super) fn of(all: &[Block]) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        let mut start = 0;
        let ends = all.iter().enumerate().filter(|(_, block)| block.id == blocks::STRTAB);
        for end in ends.map(|(index, _)| index) {
            found.push(Self::of_table(all, start..end.saturating_add(1))?);
            start = end.saturating_add(1);
        }
        Ok(found)
    }

    fn of_table(all: &[Block], range: Range<usize>) -> Result<Self> {
        let strings = range.clone().next_back().and_then(|last| blob(all.get(last)?)).map(|(_, bytes)| bytes.to_vec());
        let mut names = Self {
            blocks: range.clone(),
            modules: Vec::new(),
            symbols: None,
            strings: strings.unwrap_or_default(),
            names: Vec::new(),
        };
        for (index, block) in range.clone().zip(all.get(range).unwrap_or_default()) {
            match block.id {
                blocks::MODULE => {
                    names.add_module(index, block);
                    names.modules.push(index);
                }
                blocks::SYMTAB => {
                    names.symbols = Some(index);
                    names.add_symbols(&words(blob(block).map_or(&[], |(_, bytes)| bytes)))?;
                }
                _ => {}
            }
        }
        Ok(names)
    }

    /// Returns the text of a name as it was; empty if it is outside of the table.
    pub(super) fn text(&self, name: &Name) -> &[u8] {
        self.text_at(name.range)
    }

    pub(super) fn text_at(&self, (offset, size): (u64, u64)) -> &[u8] {
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(size)).ok());
        range.and_then(|(start, end)| self.strings.get(start..end)).unwrap_or_default()
    }

    fn add(&mut self, place: Place, role: Role, range: (u64, u64)) {
        self.names.push(Name { place, role, range, new: None });
    }

    fn add_module(&mut self, block: usize, module: &Block) {
        let number = self.modules.len();
        if version(module) >= 2 {
            for (item, record) in module.records() {
                let Some((_, partition)) = PARTITIONS.iter().find(|(code, _)| *code == record.code) else { continue };
                let role = if record.code == code::COMDAT { Role::Comdat(number) } else { Role::Symbol(number) };
                for (operand, role) in [(Some(0), role), (*partition, Role::Text)] {
                    let Some(operand) = operand else { continue };
                    let Some(&[offset, size, ..]) = record.operands.get(operand..) else { continue };
                    self.add(Place::Record { block, inner: None, item, operand }, role, (offset, size));
                }
            }
        }
        for (inner, item) in module.items.iter().enumerate() {
            let super::Item::Block(summary) = item else { continue };
            if !summary::is_summary(summary.id) {
                continue;
            }
            for (item, record) in summary.records() {
                let Some((_, all)) = SUMMARIES.iter().find(|(code, _)| *code == record.code) else { continue };
                let pairs = record.operands.chunks_exact(2).enumerate();
                for (number, pair) in pairs.take(if *all { usize::MAX } else { 1 }) {
                    let &[offset, size] = pair else { continue };
                    let operand = number.saturating_mul(2);
                    let place = Place::Record { block, inner: Some(inner), item, operand };
                    self.add(place, Role::Text, (offset, size));
                }
            }
        }
    }

    fn add_symbols(&mut self, table: &[u32]) -> Result<()> {
        let version = table.first().copied().unwrap_or(0);
        if version > MAX_VERSION {
            let message = "the symbol table for linkers has an unknown version";
            return Err(Error::without_offset(ErrorKind::Unsupported, message)
                .expected(format!("at most {MAX_VERSION}"))
                .found(format!("{version}")));
        }
        let mut add = |at: usize, role: Role| {
            let (offset, size) = (word(table, at) as u64, word(table, at.saturating_add(1)) as u64);
            self.add(Place::Symbols { word: at }, role, (offset, size));
        };
        [1, TRIPLE, 13].into_iter().for_each(|at| add(at, Role::Text));
        let comdat_words = if version >= 3 { 3 } else { 2 };
        entries(table, COMDATS, comdat_words).for_each(|at| add(at, Role::Other));
        for at in entries(table, SYMBOLS, SYMBOL_WORDS) {
            add(at, Role::Mangled);
            add(at.saturating_add(2), Role::InModule);
        }
        for at in entries(table, UNCOMMON, UNCOMMON_WORDS) {
            add(at.saturating_add(2), Role::Other);
            add(at.saturating_add(4), Role::Text);
        }
        if version >= 2 {
            entries(table, LIBRARIES, 2).for_each(|at| add(at, Role::Text));
        }
        Ok(())
    }

    /// Sets the triple of the table of symbols. Returns whether it changes.
    pub(super) fn set_triple(&mut self, new: impl Fn(&[u8]) -> Vec<u8>) -> bool {
        let Some(index) = self.names.iter().position(|name| name.place == Place::Symbols { word: TRIPLE }) else {
            return false;
        };
        let Some(old) = self.names.get(index).map(|name| self.text(name).to_vec()) else { return false };
        let triple = new(&old);
        let changes = triple != old;
        if let Some(name) = self.names.get_mut(index).filter(|_| changes) {
            name.new = Some(triple);
        }
        changes
    }

    /// Writes the string table anew, and the references to it.
    pub(super) fn write(&self, all: &mut [Block]) {
        let (strings, ranges) = Texts::of(self).write();
        let mut table = self.symbols.and_then(|index| Some(words(blob(all.get(index)?)?.1)));
        for (name, (offset, size)) in self.names.iter().zip(ranges) {
            match name.place {
                Place::Record { block, inner, item, operand } => {
                    let Some(mut block) = all.get_mut(block) else { continue };
                    if let Some(inner) = inner {
                        let Some(super::Item::Block(found)) = block.items.get_mut(inner) else { continue };
                        block = found;
                    }
                    block.rewrite(item, |operands| {
                        if let Some([first, second, ..]) = operands.get_mut(operand..) {
                            (*first, *second) = (offset, size);
                        }
                    });
                }
                Place::Symbols { word } => {
                    let place = table.as_mut().and_then(|table| table.get_mut(word..));
                    if let Some([first, second, ..]) = place {
                        (*first, *second) = (narrow(offset), narrow(size));
                    }
                }
                Place::Nowhere => {}
            }
        }
        if let Some((index, table)) = self.symbols.zip(table) {
            all.get_mut(index).into_iter().for_each(|block| set_words(block, &table));
        }
        let last = self.blocks.clone().next_back();
        if let Some(block) = last.and_then(|last| all.get_mut(last))
            && let Some((item, _)) = blob(block)
        {
            block.replace_blob(item, &strings);
        }
    }
}

/// Replaces the words of the table of symbols. What follows whole words stays.
fn set_words(block: &mut Block, table: &[u32]) {
    let Some((item, old)) = blob(block) else { return };
    let rest = old.get(old.len() & !3..).unwrap_or_default();
    let mut bytes: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend_from_slice(rest);
    if bytes != old {
        block.replace_blob(item, &bytes);
    }
}

/// Returns the places of the entries of a list of the table of symbols, in words.
fn entries(table: &[u32], list: usize, words: usize) -> impl Iterator<Item = usize> {
    let start = word(table, list) / 4;
    let count = word(table, list.saturating_add(1));
    let end = start.saturating_add(count.saturating_mul(words)).min(table.len());
    (start..end).step_by(words)
}

/// Returns the version of a module's records.
pub(super) fn version(module: &Block) -> u64 {
    let record = module.records().find(|(_, record)| record.code == code::VERSION);
    record.and_then(|(_, record)| record.operands.first().copied()).unwrap_or(0)
}

/// The ranges of a string table, in order, each with the names that are there.
struct Texts<'n> {
    names: &'n Names,
    ranges: BTreeMap<(u64, u64), Vec<usize>>,
}

impl<'n> Texts<'n> {
    fn of(names: &'n Names) -> Self {
        let mut ranges: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
        let size = names.strings.len() as u64;
        for (index, name) in names.names.iter().enumerate() {
            let (start, length) = name.range;
            let end = start.saturating_add(length);
            if length > 0 && end <= size {
                ranges.entry((start, end)).or_default().push(index);
            }
        }
        Self { names, ranges }
    }

    /// Returns the new table, and the offset and size of each name in it.
    fn write(self) -> (Vec<u8>, Vec<(u64, u64)>) {
        let old = &self.names.strings;
        let part = |start: u64, end: u64| {
            let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
            range.and_then(|(start, end)| old.get(start..end)).unwrap_or_default()
        };
        let mut strings = Vec::new();
        let mut places: Vec<(u64, u64)> = self.names.names.iter().map(|name| name.range).collect();
        // Where texts are that stay: a new name that is one of them shares it.
        let stays = |name: &&Name| name.new.is_none() && name.place != Place::Nowhere;
        let mut kept: BTreeMap<&[u8], u64> =
            self.names.names.iter().filter(stays).map(|name| (self.names.text(name), 0)).collect();
        let mut at = 0_u64;
        let ranges: Vec<_> = self.ranges.iter().collect();
        let mut rest = ranges.as_slice();
        while let Some((((start, first_end), _), _)) = rest.split_first() {
            // Ranges that overlap.
            let mut end = *first_end;
            let mut count = 0_usize;
            for ((start, other), _) in rest.iter().copied() {
                if *start >= end {
                    break;
                }
                end = end.max(*other);
                count = count.saturating_add(1);
            }
            let (cluster, others) = rest.split_at(count);
            rest = others;
            strings.extend_from_slice(part(at, *start));
            at = end;
            let moved = strings.len() as u64;
            if count > 1 {
                strings.extend_from_slice(part(*start, end));
            }
            let mut texts: BTreeMap<&[u8], u64> = BTreeMap::new();
            for ((from, to), indices) in cluster.iter().copied() {
                for index in indices {
                    let Some((name, place)) = self.names.names.get(*index).zip(places.get_mut(*index)) else { continue };
                    let text = match &name.new {
                        Some(new) if kept.contains_key(new.as_slice()) => continue,
                        Some(new) => new.as_slice(),
                        None if count > 1 => {
                            *place = (moved.saturating_add(from.saturating_sub(*start)), name.range.1);
                            kept.insert(part(*from, *to), place.0);
                            continue;
                        }
                        None if name.place == Place::Nowhere => continue,
                        None => part(*from, *to),
                    };
                    let offset = *texts.entry(text).or_insert_with(|| {
                        let offset = strings.len() as u64;
                        strings.extend_from_slice(text);
                        offset
                    });
                    *place = (offset, text.len() as u64);
                    if name.new.is_none() {
                        kept.insert(text, offset);
                    }
                }
            }
        }
        for (name, place) in self.names.names.iter().zip(&mut places) {
            let new = name.new.as_deref();
            if let Some((new, offset)) = new.and_then(|new| Some((new, kept.get(new)?))) {
                *place = (*offset, new.len() as u64);
            }
        }
        strings.extend_from_slice(part(at, old.len() as u64));
        (strings, places)
    }
}

/// A symbol that was removed from a module: its name's place in the string table.
pub(super) type Removed = (u64, u64);

/// Takes symbols that were removed from modules out of the tables of names. `removed` has a list for each module of the tree.
pub(super) fn remove_symbols(tree: &mut Tree, removed: &[Vec<Removed>]) -> Result<()> {
    let mut rest = removed;
    for stream in streams_mut(&mut tree.parts) {
        let modules = stream.blocks.iter().enumerate().filter(|(_, block)| block.id == blocks::MODULE);
        let lists: BTreeMap<usize, &Vec<Removed>> = modules.map(|(index, _)| index).zip(rest).collect();
        rest = rest.get(lists.len()..).unwrap_or_default();
        for mut names in Names::of(&stream.blocks)? {
            let lists: Vec<&Vec<Removed>> =
                names.modules.iter().filter_map(|module| lists.get(module).copied()).collect();
            if lists.iter().all(|list| list.is_empty()) {
                continue;
            }
            if let Some(index) = names.symbols {
                let mut table = words(stream.blocks.get(index).and_then(blob).map_or(&[], |(_, bytes)| bytes));
                remove_entries(&mut table, &lists, &names);
                stream.blocks.get_mut(index).into_iter().for_each(|block| set_words(block, &table));
                // The places in the table are other ones now.
                names = Names::of_table(&stream.blocks, names.blocks)?;
            }
            for range in lists.into_iter().flatten() {
                names.add(Place::Nowhere, Role::Text, *range);
            }
            names.write(&mut stream.blocks);
        }
    }
    Ok(())
}

/// Removes entries of the table of symbols: those of each module whose names are listed.
fn remove_entries(table: &mut Vec<u32>, removed: &[&Vec<Removed>], names: &Names) {
    let modules: Vec<usize> = entries(table, MODULES, MODULE_WORDS).collect();
    let symbols: Vec<usize> = entries(table, SYMBOLS, SYMBOL_WORDS).collect();
    let mut gone = Vec::new();
    for (module, list) in modules.iter().zip(removed) {
        let listed: Vec<&[u8]> = list.iter().map(|range| names.text_at(*range)).collect();
        let (begin, end) = (word(table, *module), word(table, module.saturating_add(1)));
        for index in begin..end.min(symbols.len()) {
            let Some(at) = symbols.get(index) else { continue };
            let place = at.saturating_add(2);
            let range = (word(table, place) as u64, word(table, place.saturating_add(1)) as u64);
            if listed.contains(&names.text_at(range)) {
                gone.push((index, *at));
            }
        }
    }
    let before = |limit: usize| gone.iter().filter(|(index, _)| *index < limit).count();
    for module in modules {
        for at in [module, module.saturating_add(1)] {
            let new = word(table, at).saturating_sub(before(word(table, at)));
            table.get_mut(at).into_iter().for_each(|word| *word = narrow(new as u64));
        }
    }
    // Lists that follow the symbols move up.
    let size = gone.len().saturating_mul(SYMBOL_WORDS).saturating_mul(4);
    let start = word(table, SYMBOLS);
    for list in [MODULES, COMDATS, UNCOMMON, LIBRARIES] {
        let is_known = list != LIBRARIES || table.first().is_some_and(|version| *version >= 2);
        if is_known && word(table, list) > start {
            let new = word(table, list).saturating_sub(size);
            table.get_mut(list).into_iter().for_each(|word| *word = narrow(new as u64));
        }
    }
    let count = word(table, SYMBOLS.saturating_add(1)).saturating_sub(gone.len());
    table.get_mut(SYMBOLS.saturating_add(1)).into_iter().for_each(|word| *word = narrow(count as u64));
    for (_, at) in gone.into_iter().rev() {
        let end = at.saturating_add(SYMBOL_WORDS).min(table.len());
        table.drain(at.min(end)..end);
    }
}
