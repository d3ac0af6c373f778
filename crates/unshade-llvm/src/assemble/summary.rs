//! Parses the ThinLTO summary of a module or a combined index: the entries that start with `^`.
//!
//! | entry | is |
//! |---|---|
//! | `^0 = module: (path: "a.o", hash: (0, 0, 0, 0, 0))` | a module |
//! | `^1 = gv: (name: "f", summaries: (…))` | a symbol, by name or by GUID |
//! | `^2 = typeid: (name: "t", summary: (…))` | how type tests are resolved |
//! | `^3 = typeidCompatibleVTable: (name: "t", summary: (…))` | the vtables of a type |
//! | `^4 = flags: 8`, `^5 = blockcount: 7` | properties of the whole summary |
//!
//! Entries refer to each other by number, also to later ones. So each number is kept with its place until the text
//! ends, and the [`Summary`] holds the index of that use until [`Parser::finish_summary`] puts the GUID in its place.
//!
//! Knowledge: what `llvm-as` of LLVM 14 and 19 accepts, and which of several entries with one number it takes.

use super::error::{Fault, Parsed};
use super::lexer::Token;
use super::parser::{Parser, shown};
use super::summary_symbols::for_each_guid;
use crate::global::Symbol;
use crate::ids::narrow;
use crate::summary::words::{KNOWN_FLAGS_14, KNOWN_FLAGS_19};
use crate::summary::{Summary, SummaryModule, SymbolSummary, symbols_by_name};
use crate::write::Version;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The file that a module is from whose text does not name one.
const UNNAMED_FILE: &[u8] = b"<stdin>";

/// What the entries of a text have given so far.
#[derive(Default)]
pub(super) struct SummaryState {
    pub(super) summary: Summary,
    /// The modules by the numbers of their entries.
    modules: BTreeMap<u32, u64>,
    symbols: Vec<SymbolEntry>,
    types: Vec<TypeEntry>,
    pub(super) uses: Vec<Use>,
    known_stack_ids: BTreeSet<u64>,
    /// How many entries there are.
    entries: u32,
}

/// `^5 = gv: …`
struct SymbolEntry {
    number: u32,
    /// Its place among all entries.
    place: u32,
    position: usize,
    identity: Identity,
    summaries: Vec<SymbolSummary>,
}

/// How an entry says which symbol it is.
enum Identity {
    Name(Vec<u8>),
    Guid(u64),
}

/// An entry of a type.
struct TypeEntry {
    number: u32,
    place: u32,
    guid: u64,
}

/// A reference to an entry.
pub(super) struct Use {
    target: Target,
    /// The place of the entry that refers.
    place: u32,
    position: usize,
}

/// What is referred to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Symbol(u32),
    Aliasee(u32),
    Type(u32),
    Guid(u64),
}

impl Parser<'_> {
    /// Parses an entry of a summary.
    pub(super) fn summary_entry(&mut self) -> Parsed<()> {
        const KINDS: [&str; 6] = ["gv", "module", "typeid", "typeidCompatibleVTable", "flags", "blockcount"];
        let Token::Summary(number) = self.token else { return self.fault("expected a summary entry") };
        if self.version == Version::Dxc {
            return self.fault("DXC's dialect has no ThinLTO summaries");
        }
        self.advance();
        self.expect(b'=')?;
        let at = self.at;
        match self.summary_field(&KINDS)? {
            Some(0) => self.symbol_entry(number)?,
            Some(1) => self.module_entry(number)?,
            Some(2) => {
                let guid = self.type_entry()?;
                self.add_type_entry(number, guid);
            }
            Some(3) => {
                let guid = self.table_entry()?;
                self.add_type_entry(number, guid);
            }
            Some(4) => {
                let known = if self.version == Version::Llvm14 { KNOWN_FLAGS_14 } else { KNOWN_FLAGS_19 };
                self.summary.summary.flags |= self.u64()? & known;
            }
            Some(_) => self.summary.summary.block_count = self.u64()?,
            None => return self.fault_at(at, "unexpected kind of summary entry"),
        }
        self.summary.entries = self.summary.entries.saturating_add(1);
        Ok(())
    }

    fn add_type_entry(&mut self, number: u32, guid: u64) {
        let place = self.summary.entries;
        self.summary.types.push(TypeEntry { number, place, guid });
    }

    /// Skips the name of a field and its colon if the name is one of the list, and returns its index.
    pub(super) fn summary_field(&mut self, names: &[&str]) -> Parsed<Option<usize>> {
        let (name, has_colon) = match self.token {
            Token::Label(name) => (name.bytes(), true),
            Token::Word(name) => (name.into(), false),
            _ => return Ok(None),
        };
        let Some(at) = names.iter().position(|known| known.as_bytes() == &*name) else { return Ok(None) };
        self.advance();
        if !has_colon {
            self.expect(b':')?;
        }
        Ok(Some(at))
    }

    /// Skips the name of a field and its colon, which must be next.
    pub(super) fn expect_field(&mut self, name: &str) -> Parsed<()> {
        let at = self.at;
        match self.summary_field(&[name])? {
            Some(_) => Ok(()),
            None => self.fault_at(at, alloc::format!("expected '{name}:'")),
        }
    }

    /// Parses a word of a list, and returns its index.
    pub(super) fn summary_word(&mut self, words: &[&str]) -> Parsed<u64> {
        match self.eat_one_of(words) {
            Some(index) => Ok(index as u64),
            None => self.fault(alloc::format!("expected one of: {}", words.join(", "))),
        }
    }

    /// Parses `(item, item…)`, which has at least one item.
    pub(super) fn summary_list(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.expect(b'(')?;
        loop {
            item(self)?;
            if !self.eat(b',') {
                return self.expect(b')');
            }
        }
    }

    /// Parses `(5, 7…)`.
    pub(super) fn summary_numbers(&mut self) -> Parsed<Vec<u64>> {
        let mut numbers = Vec::new();
        self.summary_list(|parser| {
            numbers.push(parser.u64()?);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// Parses the stack ids of a call, and adds those that are new to the list of the summary.
    pub(super) fn stack_ids(&mut self) -> Parsed<Vec<u64>> {
        self.expect_field("stackIds")?;
        let stack = self.summary_numbers()?;
        for &id in &stack {
            if self.summary.known_stack_ids.insert(id) {
                self.summary.summary.stack_ids.push(id);
            }
        }
        Ok(stack)
    }

    /// Parses `^5`.
    fn entry_number(&mut self) -> Parsed<u32> {
        let Token::Summary(number) = self.token else { return self.fault("expected the number of an entry") };
        self.advance();
        Ok(number)
    }

    /// Keeps a reference until the text ends, and returns what takes its place until then.
    pub(super) fn use_of(&mut self, target: Target, position: usize) -> u64 {
        let place = self.summary.entries;
        self.summary.uses.push(Use { target, place, position });
        self.summary.uses.len() as u64 - 1
    }

    /// Parses a reference to a symbol.
    pub(super) fn gv_reference(&mut self) -> Parsed<u64> {
        let at = self.at;
        let number = self.entry_number()?;
        Ok(self.use_of(Target::Symbol(number), at))
    }

    /// Parses a reference to what an alias stands for.
    pub(super) fn gv_aliasee(&mut self) -> Parsed<u64> {
        let at = self.at;
        let number = self.entry_number()?;
        Ok(self.use_of(Target::Aliasee(number), at))
    }

    /// Parses a reference to a type if one is next.
    pub(super) fn type_reference(&mut self) -> Option<u64> {
        let Token::Summary(number) = self.token else { return None };
        let at = self.at;
        self.advance();
        Some(self.use_of(Target::Type(number), at))
    }

    fn module_entry(&mut self, number: u32) -> Parsed<()> {
        self.expect(b'(')?;
        self.expect_field("path")?;
        let path = self.string()?;
        self.expect(b',')?;
        self.expect_field("hash")?;
        self.expect(b'(')?;
        let mut hash = [0; 5];
        for (at, word) in hash.iter_mut().enumerate() {
            if at > 0 {
                self.expect(b',')?;
            }
            *word = self.u32()?;
        }
        self.expect(b')')?;
        self.expect(b')')?;
        let modules = &mut self.summary.summary.modules;
        let known = modules.iter().find(|(_, module)| module.path.as_ref() == Some(&path)).map(|(&id, _)| id);
        let id = known.unwrap_or(number.into());
        if known.is_none() {
            modules.insert(id, SummaryModule { path: Some(path), hash });
        }
        self.summary.modules.insert(number, id);
        Ok(())
    }

    /// Parses `module: ^0`.
    pub(super) fn module_reference(&mut self) -> Parsed<u64> {
        self.expect_field("module")?;
        let at = self.at;
        let number = self.entry_number()?;
        match self.summary.modules.get(&number) {
            Some(&id) => Ok(id),
            None => self.fault_at(at, alloc::format!("use of undefined module '^{number}'")),
        }
    }

    fn symbol_entry(&mut self, number: u32) -> Parsed<()> {
        let position = self.at;
        self.expect(b'(')?;
        let identity = match self.summary_field(&["name", "guid"])? {
            Some(0) => Identity::Name(self.string()?),
            Some(_) => match self.u64()? {
                // LLVM takes this for a name that is missing.
                0 => Identity::Name(Vec::new()),
                guid => Identity::Guid(guid),
            },
            None => return self.fault("expected 'name:' or 'guid:'"),
        };
        let mut summaries = Vec::new();
        if self.eat(b',') {
            self.expect_field("summaries")?;
            self.summary_list(|parser| {
                summaries.push(parser.symbol_summary()?);
                Ok(())
            })?;
        }
        self.expect(b')')?;
        let place = self.summary.entries;
        self.summary.symbols.push(SymbolEntry { number, place, position, identity, summaries });
        Ok(())
    }

    /// Resolves all references, and gives the module its summary.
    pub(super) fn finish_summary(&mut self) -> Parsed<()> {
        let SummaryState { mut summary, symbols, types, uses, entries, .. } =
            core::mem::take(&mut self.summary);
        if entries == 0 {
            return Ok(());
        }
        let named = symbols_by_name(&self.module);
        let guids = symbols.iter().map(|entry| self.guid_of(entry, &named));
        let guids: Vec<u64> = guids.collect::<Parsed<_>>()?;
        let resolved = resolve(&uses, &symbols, &guids, &types)?;
        let guid_of_use = |index: &mut u64| {
            let guid = usize::try_from(*index).ok().and_then(|index| resolved.get(index));
            *index = guid.copied().unwrap_or_default();
        };
        for (entry, guid) in symbols.into_iter().zip(guids) {
            let symbol = summary.symbols.entry(guid).or_default();
            if let Identity::Name(name) = entry.identity {
                symbol.name = name;
            }
            for mut of_symbol in entry.summaries {
                for_each_guid(&mut of_symbol, guid_of_use);
                symbol.summaries.push(of_symbol);
            }
        }
        for (_, table) in summary.tables.values_mut().flatten() {
            guid_of_use(table);
        }
        summary.types.sort_by_key(|(guid, ..)| *guid);
        self.module.summary_parts.assembled = Some(Box::new(summary));
        Ok(())
    }

    fn guid_of(&self, entry: &SymbolEntry, named: &BTreeMap<&[u8], &Symbol>) -> Parsed<u64> {
        let name = match &entry.identity {
            Identity::Guid(guid) => return Ok(*guid),
            Identity::Name(name) => name,
        };
        let Some(symbol) = named.get(&name[..]) else {
            let message = alloc::format!("reference to undefined symbol \"{}\"", shown(name));
            return self.fault_at(entry.position, message);
        };
        let file = self.module.source_filename.as_deref().unwrap_or(UNNAMED_FILE);
        Ok(symbol.guid(file, self.version.guid_separator()))
    }
}

/// Returns the GUID of each use.
fn resolve(uses: &[Use], symbols: &[SymbolEntry], guids: &[u64], types: &[TypeEntry]) -> Parsed<Vec<u64>> {
    let mut symbols_by_number = BTreeMap::<u32, Vec<(u32, u64)>>::new();
    for (entry, &guid) in symbols.iter().zip(guids) {
        symbols_by_number.entry(entry.number).or_default().push((entry.place, guid));
    }
    let mut types_by_number = BTreeMap::<u32, Vec<(u32, u64)>>::new();
    for entry in types {
        types_by_number.entry(entry.number).or_default().push((entry.place, entry.guid));
    }
    // The last entry before the use, or else the first after it.
    let of_symbol = |number: u32, place: u32| {
        let entries = symbols_by_number.get(&number)?;
        let before = entries.iter().rfind(|(at, _)| *at < place);
        before.or(entries.first()).map(|&(_, guid)| guid)
    };
    // Only entries after the use count.
    let of_type = |number: u32, place: u32| {
        types_by_number.get(&number)?.iter().find(|(at, _)| *at > place).map(|&(_, guid)| guid)
    };
    let guid = |used: &Use| match used.target {
        Target::Guid(guid) => Some(guid),
        Target::Symbol(number) | Target::Aliasee(number) => of_symbol(number, used.place),
        Target::Type(number) => of_type(number, used.place),
    };
    // LLVM reports the lowest number, symbols before aliasees before types.
    let unresolved = uses.iter().filter(|used| guid(used).is_none());
    if let Some(used) = unresolved.min_by_key(|used| used.target) {
        let number = match used.target {
            Target::Symbol(number) | Target::Aliasee(number) | Target::Type(number) => number,
            Target::Guid(guid) => narrow(guid),
        };
        let message = alloc::format!("use of undefined summary '^{number}'");
        return Err(Fault::new(used.position, message));
    }
    Ok(uses.iter().filter_map(guid).collect())
}
