//! Renames symbols: global variables, functions, aliases and ifuncs, and comdats of the same names.
//!
//! Until version 1 of a module's records, names are in its symbol table and in the records of comdats. From version 2 on,
//! they are in the string table of the stream, to which the table of symbols for linkers refers as well: by the name in the
//! module and by that of object files, which may have a prefix. Hash and positions are renewed. Names in debug information
//! and in assembly stay.
//!
//! Knowledge: LLVM's `BitcodeWriter.cpp`, `IRSymtab.cpp` and `Mangler.cpp` (14 and 19).

use super::names::{Names, Role, version};
use super::{Block, Stream, Tree, streams_mut};
use crate::bitstream::text;
use crate::blocks;
use crate::module::code;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Escaped, Result};

/// Records of a symbol table: code, and the number of operands before the characters.
const ENTRIES: [(u32, usize); 2] = [(1, 1), (3, 2)];

/// What a name begins with that is not to be changed for object files.
const VERBATIM: u8 = 1;

/// What was renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renamed {
    /// The number of symbols that had each of the old names.
    pub symbols: Vec<u64>,
    /// Whether assembly of a module mentions an old name, and still does.
    pub in_assembly: bool,
}

impl Tree {
    /// Renames the symbols of all modules: each pair is an old name and its new one. All are renamed at once, so that names
    /// can be exchanged.
    ///
    /// # Errors
    /// If a name is empty or has a NUL, if it is one of an intrinsic, whose name says what it does, or if a new name is
    /// already used. The tree may then be changed in part.
    ///
    /// ```
    /// use unshade_llvm::tree::Tree;
    ///
    /// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
    /// let module = unshade_llvm::Module::parse(bytes, 0)?;
    /// let old = &module.functions[0].symbol.name;
    /// let mut tree = Tree::read(bytes, 0)?;
    /// assert_eq!(tree.rename_symbols(&[(old, b"renamed")])?.symbols, [1]);
    /// let renamed = tree.write()?;
    /// assert_eq!(unshade_llvm::Module::parse(&renamed, 0)?.functions[0].symbol.name, b"renamed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename_symbols(&mut self, renames: &[(&[u8], &[u8])]) -> Result<Renamed> {
        let renames = Renames::new(renames)?;
        let mut renamed = Renamed { symbols: vec![0; renames.count], in_assembly: false };
        for stream in streams_mut(&mut self.parts) {
            renames.apply(stream, &mut renamed)?;
        }
        if renamed.symbols.iter().any(|count| *count > 0) {
            self.renew_positions()?;
            self.renew_hashes()?;
        }
        Ok(renamed)
    }
}

fn refuse(message: alloc::string::String) -> Error {
    Error::without_offset(ErrorKind::BadValue, message)
}

/// New names by the old ones, each with the number of its pair.
struct Renames<'r> {
    count: usize,
    new: BTreeMap<&'r [u8], (usize, &'r [u8])>,
}

impl<'r> Renames<'r> {
    fn new(pairs: &[(&'r [u8], &'r [u8])]) -> Result<Self> {
        let mut new = BTreeMap::new();
        for (index, (old, name)) in pairs.iter().enumerate() {
            for one in [old, name] {
                let shown = Escaped(one).quoted();
                if one.is_empty() || one.contains(&0) {
                    return Err(refuse(format!("{shown} is no name of a symbol")));
                }
                if one.starts_with(b"llvm.") {
                    return Err(refuse(format!("{shown} is a name that LLVM gives a meaning")));
                }
            }
            if new.insert(*old, (index, *name)).is_some() {
                return Err(refuse(format!("two new names for {}", Escaped(old).quoted())));
            }
        }
        Ok(Self { count: pairs.len(), new })
    }

    fn apply(&self, stream: &mut Stream, renamed: &mut Renamed) -> Result<()> {
        for mut names in Names::of(&stream.blocks)? {
            if self.in_table(&stream.blocks, &mut names, renamed)? {
                names.write(&mut stream.blocks);
            }
        }
        for module in stream.blocks.iter_mut().filter(|block| block.id == blocks::MODULE) {
            if version(module) < 2 {
                self.in_module(module, renamed)?;
            }
            let assembly = module.records().filter(|(_, record)| record.code == code::ASM);
            let mut texts = assembly.map(|(_, record)| text(record.operands));
            renamed.in_assembly |= texts.any(|text| self.new.keys().any(|old| mentions(&text, old)));
        }
        Ok(())
    }

    /// Sets the new names of symbols whose names are in the string table. Returns whether there are any.
    fn in_table(&self, blocks: &[Block], names: &mut Names, renamed: &mut Renamed) -> Result<bool> {
        let mut used: BTreeMap<Role, Uses> = BTreeMap::new();
        let mangling = names.modules.first().and_then(|module| blocks.get(*module)).map(mangling).unwrap_or_default();
        let mut new = vec![None; names.names.len()];
        let mut has_any = false;
        for (index, (name, place)) in names.names.iter().zip(&mut new).enumerate() {
            let old = names.text(name);
            match name.role {
                Role::Symbol(_) | Role::Comdat(_) => {
                    let found = self.new.get(old);
                    let uses = used.entry(name.role).or_default();
                    uses.add(old, found.map(|(_, new)| *new))?;
                    if let (Some((pair, _)), Role::Symbol(_)) = (found, name.role) {
                        count(renamed, *pair);
                    }
                    *place = found.map(|(_, new)| new.to_vec());
                }
                Role::InModule => *place = self.new.get(old).map(|(_, new)| new.to_vec()),
                Role::Mangled => {
                    let in_module = names.names.get(index.saturating_add(1)).map(|name| names.text(name));
                    let found = in_module.and_then(|old| Some((old, self.new.get(old)?.1)));
                    *place = found.map(|(in_module, new)| remangle(old, in_module, new, mangling));
                }
                // As object files have it, or as the module has it.
                Role::Other => {
                    let pairs = self.new.iter().map(|(old, (_, new))| (*old, *new));
                    let found = pairs.clone().find(|(in_module, _)| *in_module == old);
                    let mangled = || pairs.clone().find(|(in_module, _)| mangle(in_module, mangling) == old);
                    *place = match found {
                        Some((_, new)) => Some(new.to_vec()),
                        None => mangled().map(|(_, new)| mangle(new, mangling)),
                    };
                }
                Role::Text => {}
            }
            has_any |= place.is_some();
        }
        used.into_values().try_for_each(Uses::check)?;
        names.names.iter_mut().zip(new).for_each(|(name, new)| name.new = new);
        Ok(has_any)
    }

    /// Renames in a module that has the names itself.
    fn in_module(&self, module: &mut Block, renamed: &mut Renamed) -> Result<()> {
        let mut comdats = Uses::default();
        for index in 0..module.items.len() {
            let Some(record) = module.record(index).filter(|record| record.code == code::COMDAT) else { continue };
            let [selection, _, name @ ..] = record.operands else { continue };
            let (selection, old) = (*selection, text(name));
            let new = self.new.get(old.as_slice()).map(|(_, new)| *new);
            comdats.add(&old, new)?;
            if let Some(new) = new {
                let head = [selection, new.len() as u64];
                replace(module, index, &head, new);
            }
        }
        comdats.check()?;
        let mut symbols = Uses::default();
        for table in module.blocks_mut().filter(|block| block.id == blocks::VALUE_SYMTAB) {
            for index in 0..table.items.len() {
                let Some(record) = table.record(index) else { continue };
                let Some((_, skip)) = ENTRIES.iter().find(|(code, _)| *code == record.code) else { continue };
                let Some((head, name)) = record.operands.split_at_checked(*skip) else { continue };
                let (head, old) = (head.to_vec(), text(name));
                let found = self.new.get(old.as_slice());
                symbols.add(&old, found.map(|(_, new)| *new))?;
                if let Some((pair, new)) = found {
                    count(renamed, *pair);
                    replace(table, index, &head, new);
                }
            }
        }
        symbols.check()
    }
}

fn count(renamed: &mut Renamed, pair: usize) {
    if let Some(count) = renamed.symbols.get_mut(pair) {
        *count = count.saturating_add(1);
    }
}

/// Replaces a record whose last operands are the characters of a name. Abbreviations of names have an array of characters of
/// seven or eight bits, or of `char6`; where the new ones don't fit, none is used.
fn replace(block: &mut Block, index: usize, head: &[u64], name: &[u8]) {
    let Some(code) = block.record(index).map(|record| record.code) else { return };
    let operands: Vec<u64> = head.iter().copied().chain(name.iter().map(|byte| u64::from(*byte))).collect();
    block.replace(index, code, &operands);
}

/// Returns whether a text has a name that is no part of a longer one.
fn mentions(text: &[u8], name: &[u8]) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(byte));
    text.windows(name.len().max(1)).enumerate().any(|(at, found)| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        found == name && !is_part(before) && !is_part(text.get(at.saturating_add(name.len())))
    })
}

/// The names that are used in a module, to find out whether two become the same.
#[derive(Default)]
struct Uses {
    kept: BTreeSet<Vec<u8>>,
    new: BTreeSet<Vec<u8>>,
}

impl Uses {
    /// Adds a name, and its new one.
    fn add(&mut self, old: &[u8], new: Option<&[u8]>) -> Result<()> {
        match new {
            None => {
                self.kept.insert(old.to_vec());
            }
            Some(new) if !self.new.insert(new.to_vec()) => return Err(taken(new)),
            Some(_) => {}
        }
        Ok(())
    }

    fn check(self) -> Result<()> {
        match self.new.intersection(&self.kept).next() {
            Some(name) => Err(taken(name)),
            None => Ok(()),
        }
    }
}

fn taken(name: &[u8]) -> Error {
    refuse(format!("another symbol is already named {}", Escaped(name).quoted()))
}

/// Returns the letter of the data layout that says how names of object files are made: `o` for Mach-O, `x` for 32-bit COFF.
fn mangling(module: &Block) -> u8 {
    let layout = module.records().find(|(_, record)| record.code == code::DATALAYOUT);
    let layout = layout.map(|(_, record)| text(record.operands)).unwrap_or_default();
    let part = layout.split(|byte| *byte == b'-').find_map(|part| part.strip_prefix(b"m:"));
    part.and_then(|part| part.first()).copied().unwrap_or_default()
}

/// Returns the name that object files have for a symbol.
fn mangle(name: &[u8], mangling: u8) -> Vec<u8> {
    match (name, mangling) {
        ([VERBATIM, rest @ ..], _) => rest.to_vec(),
        (_, b'o') => [b"_", name].concat(),
        (_, b'x') if !name.starts_with(b"?") => [b"_", name].concat(),
        _ => name.to_vec(),
    }
}

/// Returns the new name that object files have for a symbol. What is before and after the old one stays: the prefix of a private
/// symbol, or what a calling convention adds.
fn remangle(mangled: &[u8], old: &[u8], new: &[u8], mangling: u8) -> Vec<u8> {
    let is_plain = |name: &[u8]| !name.starts_with(&[VERBATIM]) && (mangling != b'x' || !name.starts_with(b"?"));
    if !is_plain(old) || !is_plain(new) {
        return mangle(new, mangling);
    }
    let before = mangled.strip_suffix(old);
    let after = mangled.strip_prefix(mangle(old, mangling).as_slice());
    match (before, after) {
        (Some(before), _) => [before, new].concat(),
        (None, Some(after)) => [&mangle(new, mangling), after].concat(),
        (None, None) => mangle(new, mangling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_object_files() {
        assert_eq!(remangle(b"_old", b"old", b"new", b'o'), b"_new");
        assert_eq!(remangle(b".L.str", b".str", b"text", b'e'), b".Ltext");
        assert_eq!(remangle(b"_old@8", b"old", b"new", b'x'), b"_new@8");
        assert_eq!(remangle(b"?old@@YAXXZ", b"?old@@YAXXZ", b"new", b'x'), b"_new");
        assert_eq!(remangle(b"old", b"\x01old", b"new", b'o'), b"_new");
        assert_eq!(remangle(b"_old", b"old", b"\x01new", b'o'), b"new");
    }

    #[test]
    fn mentions_of_names() {
        assert!(mentions(b".globl f\n", b"f") && mentions(b"f", b"f") && mentions(b"call f, g", b"g"));
        assert!(!mentions(b".globl ff", b"f") && !mentions(b"a.f", b"f") && !mentions(b"", b"f"));
    }
}
